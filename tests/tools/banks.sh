#!/bin/bash
# banks.sh - bank, which, similar
. "${0%/*}/tap.sh"

week()
{
	bloomery create mon -n 1k -p 0.0001 --seed 1
	for day in tue wed; do bloomery template mon $day; done
	seq 1000 | bloomery add mon; seq 501 800 | bloomery add tue; seq 700 1500 | bloomery add wed
	bloomery bank ./week.bank mon tue wed
}

which_prints_the_filters_that_may_hold_a_key() {
	week
	same "$(bloomery which ./week.bank --key 1)" mon
	same "$(bloomery which ./week.bank --key 750 | sort | tr '\n' ' ')" 'mon tue wed '
	same "$(bloomery which ./week.bank --key 550 --key 750 | sort | tr '\n' ' ')" 'mon tue '
	exits 1 bloomery which ./week.bank --key none
}

which_range_prints_filters_that_may_hold_its_keys() {
	seq 1000 2000 | bloomery build ./mon --keys uint -n 2k -p 1e-6 --width 100 --seed 3
	seq 5000 5500 | bloomery build ./tue --keys uint -n 2k -p 1e-6 --width 100 --seed 3
	seq 1900 5 5100 | bloomery build ./wed --keys uint -n 2k -p 1e-6 --width 100 --seed 3
	bloomery bank ./week.bank ./mon ./tue ./wed
	same "$(bloomery which --range ./week.bank <<< 1000..1050)" ./mon
	same "$(bloomery which --range ./week.bank <<< 4990..5010 | sort | tr '\n' ' ')" './tue ./wed '
	same "$(printf '1950\t2050\n1990..2000\n' | bloomery which --range ./week.bank | sort | tr '\n' ' ')" './mon ./wed '
	same "$(bloomery which ./week.bank --key 5499)" ./tue; same "$(bloomery which --range ./week.bank --key 5400..5500)" ./tue
	exits 1 bloomery which --range ./week.bank <<< 6000..6010; bloomery verify ./week.bank
	exits 2 bloomery which --range ./week.bank <<< "$(printf '1..2\n9..3')"; says 'line 2 is refused'; says 'ends before it begins'
	exits 2 bloomery which --range ./week.bank <<< a..b; says 'line 1 is refused'; exits 64 bloomery which --range --hex ./week.bank; says 'exclude each other'
	exits 2 bloomery similar ./week.bank --id ./mon; says 'range filters'
	seq 9 | bloomery build ./other --keys uint -n 2k -p 1e-6 --width 100 --seed 4; exits 2 bloomery bank ./x.bank ./mon ./other; says 'range filters of one hash, seed'
	week2=$(bloomery create c -n 100; bloomery bank ./c.bank c; echo ./c.bank); exits 2 bloomery which --range $week2 <<< 1..2; says 'range filters'
}

which_reads_keys_from_files_like_every_other_command() {
	week; seq 700 2 720 > keys; seq 710 1 715 | gzip > more
	same "$(bloomery which ./week.bank keys more | sort | tr '\n' ' ')" 'mon tue wed '
	same "$(bloomery which ./week.bank keys --key 600 | sort | tr '\n' ' ')" 'mon tue '
	same "$(seq 1000 1100 | bloomery which ./week.bank)" wed
	same "$(printf '373031\n' | bloomery which ./week.bank --hex --key 353939 - | sort | tr '\n' ' ')" 'mon tue '
	exits 1 bloomery which ./week.bank < /dev/null; same "$(cat exits.out)" ''
	exits 2 bloomery which ./week.bank 700; says '700: no such file; to give it as a key: --key 700'
}

similar_ranks_by_the_bits_that_are_set() {
	week
	same "$(bloomery similar ./week.bank mon | sed -n 1p)" "$(printf '1\tmon')"
	same "$(bloomery similar ./week.bank --id mon | cut -f 2 | sed -n 1p)" mon
	same "$(bloomery similar ./week.bank tue --measure containment --top 2 | sort -k 2 | tr '\n\t' '  ')" '1 mon 1 tue '
	bloomery compare mon wed --json > j
	same "$(bloomery similar ./week.bank mon --threshold 0.2 | grep -c wed)" "$(json 'int(j["tanimoto"] >= 0.2)' < j)"
	exits 1 bloomery similar ./week.bank --id tue --threshold 1.01
	exits 64 bloomery similar ./week.bank; exits 64 bloomery similar ./week.bank mon --id tue
	exits 64 bloomery similar ./week.bank mon --threshold many
	exits 2 bloomery similar ./week.bank mon --measure dice; says tanimoto
	exits 2 bloomery similar ./week.bank --id sun; says sun
	bloomery create c -n 10 --kind cuckoo; exits 2 bloomery bank ./c.bank c; says 'classic, blocked, split-block, bitmap'
}

fingerprints_are_searched_as_they_come() {
	printf '#FPS1\n#num_bits=16\n0301\tone\n0303\ttwo\tmore\n0000\tnone\n' > set.fps
	bloomery bank ./set.bank --fps set.fps
	same "$(bloomery similar ./set.bank --id one | tr '\n\t' '  ')" '1 one 0.75 two 0 none '
	same "$(bloomery similar ./set.bank --id one --threshold 0.7 --top 1 | cut -f 2)" one
	same "$(bloomery which ./set.bank --key 9)" two
	bloomery import set.fps f --record two
	same "$(bloomery similar ./set.bank f --top 1)" "$(printf '1\ttwo')"
	bloomery bank ./set.bank --to-fps | cmp - set.fps
	gzip -c set.fps | bloomery bank ./set.bank --fps - --force
	same "$(bloomery which ./set.bank --key 9)" two
}

molecules_have_the_scores_that_rdkit_gives_them() {
	bloomery bank ./molecules.bank --fps "$TOOLS/../tests/format/data/fps/rdkit-rdk1024.fps"
	same "$(bloomery similar ./molecules.bank --id 1 --top 6 | tr '\n\t' '  ')" \
		'1 1 0.755814 2068 0.58296 2228 0.43771 3071 0.382979 4787 0.37931 845 '
	same "$(bloomery similar ./molecules.bank --id 1 --threshold 0.4 | wc -l)" 4
}

the_recipes_print_what_the_readme_says() {
	bloomery create mon -n 2k -p 0.0001 --seed 7; for day in tue wed; do bloomery template mon $day; done
	seq 1000 | bloomery add mon; seq 501 1500 | bloomery add tue; seq 1001 2000 | bloomery add wed
	bloomery bank ./week.bank mon tue wed
	same "$(bloomery which ./week.bank --key 700 | sort | tr '\n' ' ')" 'mon tue '
	same "$(bloomery similar ./week.bank mon | tr '\n\t' '  ')" '1 mon 0.422201 tue 0.133112 wed '
	seq 0 7 100000 | LC_ALL=C sort > sevens && bloomery build ./sevens.blm -p 0.01 --seed 7 sevens
	seq 100000 | bloomery guard ./sevens.blm --exact sevens --stats > got
	grep -qx 'avoided       84851' got && grep -qx 'found         14285' got && grep -q '^false alarms  864,' got
}

each_line_is_an_object_with_json() {
	week
	same "$(bloomery which ./week.bank --key 550 --key 750 --json | json '" ".join(sorted(x["id"] for x in all))')" 'mon tue'
	bloomery similar ./week.bank mon --top 1 --json > j
	same "$(json 'j["id"], j["score"], j["ones"] == j["common"] > 0' < j)" "('mon', 1, True)"
	bloomery bank ./again.bank mon tue --json > j
	same "$(json 'j["path"], j["rows"], j["kind"], j["bytes"] > 2 * j["row_bytes"]' < j)" "('./again.bank', 2, 'blocked', True)"
	bloomery bank ./again.bank --list | sort | tr '\n' ' ' > got; same "$(cat got)" 'mon tue '
	same "$(bloomery bank ./again.bank --list --json | json '" ".join(sorted(x["id"] for x in all))')" 'mon tue'
	exits 64 bloomery bank ./again.bank --list mon; exits 64 bloomery bank ./again.bank --list --to-fps
	exits 2 bloomery bank ./none.bank --list; says 'no such bank'
}

a_file_that_is_no_bank_is_refused() {
	week
	exits 2 bloomery bank ./week.bank mon; says exists
	bloomery bank ./week.bank mon --force; exits 1 bloomery which ./week.bank --key 1400
	bloomery create other -n 1k; exits 2 bloomery bank ./b mon other; says template; test ! -e b
	bloomery create c -n 100 --kind counting; exits 2 bloomery bank ./b c; says counting
	bloomery copy mon ./mon; exits 2 bloomery bank ./mon tue --force; says 'not a bank'
	exits 2 bloomery which ./mon --key 1; says BLOOMBNK
	for name in mon tue; do exits 2 bloomery which $name --key wed; says '`bloomery bank`'; done
	exits 2 bloomery bank ./b c; says 'classic, blocked, split-block, bitmap'
	for command in info test; do exits 2 bloomery $command ./week.bank; says 'a bank'; says similar; done
	for o in --alpha --beta '--measure jaccard --alpha'; do
		exits 64 bloomery similar ./week.bank mon $o 0.5; says 'measure tversky'
	done
	bloomery similar ./week.bank mon --measure tversky --alpha 0.5 | grep -q mon
	exits 64 bloomery bank ./b; exits 64 bloomery bank ./b mon --fps set.fps
}

damage_is_found_by_verify() {
	week; bloomery verify ./week.bank
	printf x | dd of=week.bank bs=1 seek=9000 conv=notrunc 2> /dev/null
	exits 1 bloomery verify ./week.bank; says 'wrong'
	head -c 5000 week.bank > cut; exits 2 bloomery verify ./cut; exits 2 bloomery which ./cut --key 1
}

prove_all
