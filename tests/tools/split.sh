#!/bin/bash
# split.sh - filters in parts: split, build --partition, join, and the recipes of bloomery-examples(7)
. "${0%/*}/tap.sh"
: "${TOOLS:?must be the folder of the sources of the program}"

# The data are at the end of a file of every kind but those with a checkpoint image.
data() { tail -c "$(bloomery info "$1" --json | json 'j["data_bytes"]')" "$1"; }
same_data() { data "$1" > data.1; data "$2" | cmp - data.1; }
# The lines are in the page as they are here.
recipe() { while read -r line; do grep -qF -- "$line" "$TOOLS/man/bloomery-examples.7" || { echo "not in the page: $line"; return 1; }; done; }
keys() { seq 20000 | gzip > keys-1.gz; seq 15001 30000 | gzip > keys-2.gz; }

parts_of_every_splitting_kind_join_to_equal_data() {
	for kind in $(bloomery kinds --json | json '" ".join(k["name"] for k in all if "split" in k["can"])'); do
		case $kind in
		bitmap) seq 2000 | bloomery build ./f --kind bitmap ;;
		bloomier) seq 2000 | sed 's/.*/&\t1/' | bloomery build ./f --kind bloomier ;;
		*) seq 2000 | bloomery build ./f --kind "$kind" ;;
		esac
		bloomery split ./f --into 3; bloomery join ./f.part-* -o ./g
		[ "$kind" = cuckoo ] || same_data ./f ./g
		same "$(seq 2000 | bloomery test -c ./g)" 2000
		same "$(bloomery info ./g --json | json 'j["keys"]')" "$(bloomery info ./f --json | json 'j["keys"]')"
		echo "$kind" >> seen; rm -f f f.* g
	done
	test -s seen
}

a_part_says_which_it_is() {
	bloomery create ./f -n 1k; bloomery split ./f --into 12 -o ./p
	bloomery info ./p.part-03-of-12 | grep -qxE ' *part +3 of 12 of a split filter'
	bloomery info ./p.part-03-of-12 --json | holds 'j["part"] == 3 and j["parts"] == 12 and "fold" not in j["can"]'
	bloomery info ./f --json | holds '"part" not in j and "split" in j["can"]'
	bloomery verify ./p.part-03-of-12 2> err
}

names_without_a_slash_are_of_the_store() {
	bloomery create f -n 1k; bloomery split f --into 2
	bloomery ls | grep -qx f.part-1-of-2; bloomery join f.part-1-of-2 f.part-2-of-2 -o g; bloomery ls | grep -qx g
}

a_part_takes_its_own_keys_and_refuses_others() {
	for i in 1 2 3; do bloomery create ./p.$i --partition $i/3 -n 1k --seed 4; done
	for key in a b c d e f g h; do
		taken=
		for i in 1 2 3; do
			if echo $key | bloomery claim ./p.$i > out 2> err; then
				taken=$taken$i; same "$(< out)" $key; same "$(echo $key | bloomery test ./p.$i)" $key
			else
				grep -qE "part $i of 3 of a filter, and a key belongs to part [123]: ask or add it there" err
				echo $key | exits 2 bloomery test ./p.$i; says 'join the parts (`bloomery join`)'
			fi
		done
		same ${#taken} 1
	done
	bloomery join ./p.? -o ./whole; same "$(printf '%s\n' a b c d e f g h | bloomery test -c ./whole)" 8
}

a_command_stops_at_a_key_of_another_part() {
	bloomery create ./p.1 --partition 1/2 -n 100k --seed 4; bloomery create ./p.2 --partition 2/2 -n 100k --seed 4
	for i in 1 2; do seq 100000 | bloomery build ./p.$i --partition $i/2 -n 100k --seed 4 --force; done
	for i in 1 2; do
		seq 100000 | exits 2 bloomery claim ./p.$i; says "belongs to part $((3 - i))"
		seq 100000 | exits 2 bloomery add ./p.$i; says "belongs to part $((3 - i))"
		seq 100000 | exits 2 bloomery test ./p.$i; says "belongs to part $((3 - i))"
		seq 100000 | sort > all; exits 2 bloomery guard ./p.$i --exact all all; says "belongs to part $((3 - i))"
	done
}

a_part_is_not_measured_by_keys_of_other_parts() {
	bloomery create ./p --partition 1/2 -n 1k --seed 4; exits 2 bloomery measure ./p; says 'belongs to part 2'; same "$(< exits.out)" ''
}

parts_that_do_not_fit_are_refused_without_output() {
	seq 1000 | bloomery build ./f -n 1k --seed 1; bloomery split ./f --into 3; bloomery split ./f --into 2 -o ./two
	seq 1000 | bloomery build ./o -n 1k --seed 2; bloomery split ./o --into 3
	exits 2 bloomery join ./f.part-[12]* -o ./g; says '1 of 3 parts are missing, the first of them is part 3'
	exits 2 bloomery join ./f.part-* ./f.part-2* -o ./g; says 'part 2 of 3, which came before'
	exits 2 bloomery join ./f.part-[12]* ./o.part-3* -o ./g; says 'seed: 1 and 2'
	exits 2 bloomery join ./f.part-[12]* ./two.part-2* -o ./g; says 'is of 3 parts'
	exits 2 bloomery join ./f -o ./g; says 'a whole filter, not a part'
	exits 2 bloomery join ./f.part-* -o ./f; says f
	head -c 20000 < f.part-1-of-3 > cut; exits 2 bloomery join ./cut -o ./g
	[ ! -e g ]; same "$(find . -name '.bloomery*')" ''
	exits 2 bloomery fold ./f.part-1-of-3 --by 2 -o ./g; says 'knows the keys of no other part'
	exits 2 bloomery union ./f.part-1-of-3 ./f.part-2-of-3 -o ./g; says 'different parts of a split filter'
	exits 2 bloomery split ./f --into 3; says f.part-1-of-3
	exits 64 bloomery split ./f; says '--into N'
}

files_of_secrets_among_the_parts_are_skipped() {
	echo 000102030405060708090a0b0c0d0e0f > secret
	for i in 1 2; do seq 1000 | bloomery build ./p.part-$i-of-2 --partition $i/2 --hash siphash -n 1k --key-file secret; done
	bloomery join ./p.part-* -o ./g 2> err; grep -q 'part-1-of-2.key: skipped; it is the secret of a part' err
	same "$(seq 1000 | bloomery test -c ./g)" 1000
	bloomery join ./p.part-*[0-9] -o ./h 2> err; same "$(< err)" ''
	exits 2 bloomery join ./p.part-1-of-2.key ./p.part-2-of-2 -o ./i; says p.part-1-of-2.key
}

tables_join_as_before_and_missing_outputs_are_reported() {
	printf 'a\t1\n' > small; printf 'a\t2\n' > big
	same "$(bloomery join small big)" "$(printf 'a\t1\t2')"
	bloomery create ./f -n 1k; bloomery split ./f --into 2
	exits 64 bloomery join ./f.part-1-of-2 ./f.part-2-of-2; says 'give -o F to join the parts'
	exits 2 bloomery join small big -o ./g
}

partitions_need_a_size_and_a_seed_that_all_share() {
	exits 64 bloomery build ./p --partition 4/3 -n 1k < /dev/null; says 'numbered from 1 to N'
	exits 64 bloomery build ./p --partition 3 -n 1k < /dev/null; says 'write it like 3/16'
	exits 2 bloomery build ./p --partition 1/3 -n 1k < /dev/null; says '--seed'
	exits 2 bloomery build ./p --partition 1/3 --seed 1 < /dev/null; says '-n'
	exits 2 bloomery build ./p --partition 1/3 --kind cuckoo -n 1k --seed 1 < /dev/null; says 'bloomery split'
	exits 2 bloomery build ./p --partition 1/3 --kind stable -n 1k --seed 1 < /dev/null; says 'these kinds can: classic, blocked'
	[ ! -e p ]
}

the_page_says_which_kinds_are_built_in_parts() {
	sed -n '/^kind  *a key is in/,/^\.Ed/p' "$TOOLS/man/bloomery-kinds.7" | grep -E ' (yes|no)$' > rows
	bloomery kinds --json | json '"\n".join(k["name"] for k in all if "split" in k["can"])' > splitting
	for kind in $(< splitting); do
		grep -q "^$kind " rows || { echo "the table \"kind, a key is in, split, join\" in tools/man/bloomery-kinds.7 lacks a row for $kind, which has splits = true"; return 1; }
	done
	same "$(sed 's/ .*//' rows | sort)" "$(sort splitting)"
	while read -r kind in _ _ partition ranks claim; do
		case $kind in bitmap | split-block) seed=() ;; *) seed=(--seed 1) ;; esac
		same "$kind $(bloomery create ./p --force --kind "$kind" -n 1k --partition 1/2 ${seed[@]+"${seed[@]}"} > out 2>&1 && echo one || echo several)" "$kind $in"
		same "$kind $(bloomery build ./p --force --kind "$kind" -n 1k --partition 1/2 ${seed[@]+"${seed[@]}"} < /dev/null > out 2>&1 && echo yes || echo no)" "$kind $partition"
		[ "$partition" = yes ] || grep -q 'bloomery split' out
		same "$kind $(bloomery plan --ranks 2 --kind "$kind" -n 1k > out 2>&1 && echo yes || echo no)" "$kind $ranks"
		same "$kind $([ "$in" = one ] && echo yes || echo no)" "$kind $claim"
	done < rows
}

jobs_of_an_array_build_what_one_build_does() {
	keys; bloomery build ./whole -n 1m -p 0.001 --seed 42 keys-*.gz
	for i in 1 2 3 4; do
		bloomery build ./seen.part-$i --partition $i/4 -n 1m -p 0.001 --seed 42 keys-*.gz
	done
	bloomery join ./seen.part-* -o ./seen
	same_data ./whole ./seen; bloomery info ./seen --json | holds 'j["keys"] >= 29900 and not j["keys_estimated"]'
	recipe << 'END'
for i in 1 2 3 4; do
bloomery build ./seen.part-$i --partition $i/4 -n 1m -p 0.001 --seed 42 keys-*.gz
bloomery join ./seen.part-* -o ./seen
END
}

parts_of_built_kinds_join_to_one_build() {
	seq 3000 | sed 's/.*/&\t7/' > keys
	for kind in golomb fuse ribbon bloomier; do
		bloomery build ./whole --force --kind $kind -p 0.001 --seed 42 keys
		for i in 1 2 3; do bloomery build ./p.part-$i --force --partition $i/3 --kind $kind -p 0.001 --seed 42 --memory 64Ki keys; done
		rm -f seen; bloomery join ./p.part-* -o ./seen
		same_data ./whole ./seen; bloomery verify ./p.part-2 2> err
		bloomery info ./seen --json | holds 'j["keys"] == 3000 and not j["keys_estimated"]'
	done
}

parallel_gives_one_stream_to_all_parts() {
	command -v parallel > /dev/null || { echo '# SKIP GNU parallel is not installed'; return; }
	parallel --version 2>&1 | grep -q 'GNU parallel' || { echo '# SKIP parallel is not that of GNU'; return; }
	keys; mkdir bin home; ln -s "$BLOOMERY" bin/bloomery; bloomery build ./whole -n 1m -p 0.001 --seed 42 keys-*.gz
	zcat keys-*.gz |
		HOME=$PWD/home PATH=$PWD/bin:$PATH parallel --will-cite --pipe --tee -j4 bloomery build ./seen.part-{} --partition {}/4 -n 1m -p 0.001 --seed 42 ::: 1 2 3 4
	bloomery join ./seen.part-* -o ./seen; same_data ./whole ./seen
	recipe << 'END'
zcat keys-*.gz |
parallel --pipe --tee -j4 bloomery build ./seen.part-{} --partition {}/4 -n 1m -p 0.001 --seed 42 ::: 1 2 3 4
END
}

a_split_that_is_killed_leaves_whole_parts_or_none() {
	seq 100000 | bloomery build ./f -n 1m; for wait in 0 0.005 0.01 0.02 0.04; do
		bloomery split ./f --into 40 & job=$!; sleep $wait; kill -9 $job 2> err || :; wait $job 2> err || :
		for part in ./f.part-*; do [ ! -e "$part" ] || bloomery info "$part" > out; done
		rm -f ./f.part-*
	done
}

prove_all
