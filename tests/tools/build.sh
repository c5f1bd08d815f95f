#!/bin/bash
# build.sh - filters made from all their keys at once
. "${0%/*}/tap.sh"

a_filter_is_made_for_the_keys_that_are_there() {
	seq 20000 > keys; cat keys keys | shuf > twice
	for kind in blocked classic cuckoo golomb fuse ribbon; do
		bloomery build ./$kind --kind $kind -p 0.001 twice
		bloomery info ./$kind --json | holds 'j["capacity"] == 20000 and j["keys"] > 19900'
		same "$(bloomery test -c ./$kind keys)" 20000
		[ "$(seq 20001 120000 | bloomery test -c ./$kind)" -lt 160 ]
	done
	bloomery info ./golomb --json | holds 'j["keys"] == 20000 and j["sealed"]'
}

the_same_keys_and_seed_give_the_same_data() {
	seq 30000 > keys
	data() { bloomery export "$1" --format bloomery -o out --force; tail -c +20481 out | md5sum; }
	for kind in blocked golomb fuse ribbon; do
		bloomery build ./a --kind $kind --seed 5 keys --force; first=$(data ./a)
		shuf keys | bloomery build ./b --kind $kind --seed 5 --memory 64Ki -j 3 --force; same "$(data ./b)" "$first"
		split -n l/3 keys part.; bloomery build ./c --kind $kind --seed 5 --threads 2 --force part.ac part.aa part.ab; same "$(data ./c)" "$first"
		bloomery build ./d --kind $kind --seed 6 keys --force; not same "$(data ./d)" "$first" 2> /dev/null
	done
}

more_keys_than_stated_are_reported() {
	for kind in blocked classic counting removable split-block; do
		seq 3000 | bloomery build ./$kind --kind $kind -n 100 2> err; grep -q 'keys, but was made for 100' err
		seq 100 | bloomery build ./$kind --kind $kind -n 100 --force 2> err; same "$(cat err)" ''
	done
	seq 10 | bloomery build ./fuse --kind fuse -n 5; seq 10 | bloomery build ./other --kind fuse
	exits 2 bloomery union ./fuse ./other -o ./both; says '`bloomery build` makes one from all keys'
	exits 2 bloomery merge ./fuse ./other -o ./both; says 'they do not say which keys they have'
	seq 10 | bloomery build ./golomb --kind golomb
	exits 2 bloomery union ./golomb ./golomb -o ./both; says '`bloomery merge` makes one of several'
}

keys_are_found_in_lines_as_everywhere() {
	printf 'a,1\nb,2\n' | gzip | bloomery build ./f --field 1 --delimiter ,
	same "$(printf 'a\nb\n' | bloomery test -c ./f)" 2
	printf '61\n62\n' | bloomery build ./g --hex --kind golomb
	same "$(printf 'a\nb\n' | bloomery test -c ./g)" 2
	printf 'a\nc\0b\0' | bloomery build ./h -0 --kind golomb
	same "$(printf 'a\nc\0b\0' | bloomery test -0 -c ./h)" 2
	: | bloomery build ./i --kind golomb
	echo a > keys; exits 1 bloomery test -s ./i keys
}

it_appears_whole_or_not_at_all() {
	seq 1000 | bloomery build ./f --kind golomb
	exits 2 bloomery build ./f --kind golomb /dev/null; says 'exists'
	exits 2 bloomery build ./f --kind golomb --force no-such-file; says 'no-such-file'
	same "$(seq 1000 | bloomery test -c ./f)" 1000
	seq 2000 3000 | bloomery build ./f --kind blocked --force
	same "$(seq 2000 3000 | bloomery test -c ./f)" 1001
	mkdir empty; mkfifo p; "$BLOOMERY" build ./empty/g --memory 64Ki p & pid=$!
	exec 8> p; seq 100000 >&8; sleep 0.5; [ -z "$(ls -A empty)" ]; kill $pid; wait $pid || true; exec 8>&-
	[ -z "$(ls -A empty)" ]
}

what_cannot_be_built_is_refused() {
	seq 1000 > many; exits 2 bloomery build ./c --kind cuckoo -n 100 --seed 1 many; says 'c: the filter is full; give a larger -n'
	[ ! -e c ]
	seq 10 > keys
	exits 2 bloomery build ./f --kind stable keys; says 'cannot be sorted and counted first: give -n'
	exits 2 bloomery build ./f --kind approximator keys; says 'approximator filters cannot be built'
	exits 2 bloomery build ./f --hash mm3-64 --kind classic keys; says 'is computed for each probe'
	exits 2 bloomery build ./f --scheme salted --hash sha256-digest keys; says 'is computed for each probe'
	exits 2 bloomery build ./f --format guava keys; says 'needs its number of keys: give -n'
	bloomery help build | tr -s ' \n' ' ' | grep -q 'kinds stable, window and iblt, for --format'
	exits 2 bloomery build ./f --kind golomb -p 1e-19 -n 1g keys; says 'range'
	exits 64 bloomery build ./f --memory 1k keys
	exits 2 bloomery create ./f --kind golomb -n 10; says 'bloomery build'
	: | bloomery build ./g --kind golomb
	exits 2 bloomery add ./g keys; says 'these kinds can: '
	exits 2 bloomery template ./g ./h; says 'bloomery build'
	[ ! -e f ]
}

values_come_from_another_column() {
	printf '%s\t%s\n' alice 17 bob 0 carol 127 > table
	bloomery build ./f --kind bloomier --field 1 --value-field 2 --value-bits 7 --check-bits 40 table
	same "$(printf 'dave\ncarol\nbob\n' | bloomery get ./f)" "$(printf 'carol\t127\nbob\t0')"
	same "$(printf 'dave\ncarol\nbob\n' | bloomery test ./f)" "$(printf 'carol\nbob')"
	printf '18446744073709551615,x,a b\n3,x,c\n' | bloomery build ./g --kind bloomier --with value-bits=64 -k 4 --delimiter , --field 3 --value-field 1
	same "$(echo 'a b' | bloomery get ./g)" "$(printf 'a b\t18446744073709551615')"
	exits 2 bloomery build ./h --kind bloomier --value-bits 6 table; says "table: line 3 is refused: the value 127 is not 0 to 63"; says 'value-bits=6'
	printf 'a\t1\na\t2\n' > two; exits 2 bloomery build ./h --kind bloomier two; says 'two values'
	printf 'a\n' > none; exits 2 bloomery build ./h --kind bloomier none; says 'none: line 1 has too few columns'
	exits 64 bloomery build ./h --kind bloomier --check-bits 65 table
	exits 64 bloomery build ./h --kind bloomier --check-bits 0 table
	[ ! -e h ]
}

two_lists_make_a_filter_without_a_wrong_answer() {
	seq 3000 > keys; seq 2901 60000 > others; gzip -k others; seq 60001 70000 > more
	bloomery build ./f --kind exact keys --not others.gz --not more --seed 3
	same "$(bloomery test -c ./f keys)" 3000
	same "$(bloomery test ./f others more)" "$(seq 2901 3000)"
	bloomery info ./f | grep -q 'others *67000 that it denies, and 100 that are keys too'
	bloomery info ./f | grep -q '^  strangers '
	bloomery build ./g keys --not others --not more --seed 3 -j 3 --memory 64Ki	# the kind follows
	same "$(bloomery export ./g -o - | tail -c +20481 | sha256sum)" "$(bloomery export ./f -o - | tail -c +20481 | sha256sum)"
	bloomery verify ./f; bloomery verify ./g
	bloomery build ./h -p 0.001 keys --not others; same "$(bloomery test -c ./h others)" 100
	seq 1000001 1200000 > strangers; [ "$(bloomery test -c ./h strangers)" -lt 300 ]
	cat others | bloomery build ./i keys --not -; same "$(bloomery test -c ./i others)" 100
	bloomery build ./i --force --key a --not others; same "$(bloomery test -c ./i --key a)" 1
	: > none; bloomery build ./j --kind exact none --not others; bloomery info ./j --json | grep -q '"keys": *0'
	exits 64 bloomery build ./k --kind ribbon keys --not others; says 'use --kind exact'
	exits 64 bloomery build ./k - --not - < keys; says 'one pipe'
	exits 64 bloomery build ./k --not - < keys; says 'one pipe'
	exits 64 bloomery build ./k keys --not - --not - < others; says 'twice'
	exits 2 bloomery build ./k keys --not missing; says 'missing'
	[ ! -e k ]
	bloomery plan -n 121570 --kind exact --with others=1000000 | grep -q "classic: 145657 bytes"
}

an_exact_filter_is_updated_by_both_lists() {
	seq 3000 > keys; seq 3001 60000 > others; { seq 2001 3000; seq 60001 60010; } > now; { seq 2000; cat others; } > then
	bloomery build ./f keys --not others --seed 3; cp f before
	bloomery update ./f --add now --not then
	same "$(bloomery test -c ./f now)" 1010; exits 1 bloomery test -c ./f then; same "$(cat exits.out)" 0
	bloomery info ./f --json | holds 'j["keys"] == 1010 and j["options"] == "others=59000,updates=1"'
	bloomery info ./f | grep -q '^  updates *1, of 20[01][0-9] answers and'; bloomery verify ./f
	bloomery update ./f --add keys --not others --remove <(seq 60001 60010)
	same "$(bloomery test -c ./f keys)" 3000; exits 1 bloomery test -c ./f others
	cp f same; exits 2 bloomery update ./f --add now --not others; says 'on neither list'; cmp -i 8192 f same
	exits 64 bloomery update ./f --add now; says 'all that it denies with --not'
	exits 64 bloomery update ./f --add - --not - < now; says 'both read standard input'
	bloomery build ./g --kind golomb keys; exits 64 bloomery update ./g --add now --not others; says 'golomb filter'
	exits 2 bloomery merge ./f ./f -o ./h; says 'cannot be merged'
}

two_lists_are_divided_by_a_helpful_column() {
	{ seq -f 'h%.0f,org' 3000; seq -f 'h%.0f,net' 40; } > keys; { seq -f 'h%.0f,com' 30000; seq -f 'h%.0f,net' 41 30000; } > others
	columns='--delimiter , --field 1 --partition-field 2'
	bloomery build ./f keys --not others $columns --seed 3; bloomery build ./g keys --not others --delimiter , --seed 3
	same "$(bloomery test ./f $columns keys others)" "$(cat keys)"; bloomery verify ./f
	bloomery info ./f > info; grep -q '^  parts *[23], by the columns of keys; they save' info
	bloomery info ./f --json | holds 'j["hash"] == "xxh3-column" and j["facts"]["parts"] in (2, 3)'
	[ "$(bloomery info ./f --json | json 'j["data_bytes"]')" -lt $(($(bloomery info ./g --json | json 'j["data_bytes"]') / 2)) ]
	same "$(bloomery test -c ./f --key "$(printf 'org\th7')" --key "$(printf 'com\th7')")" 1	# as the library has them
	for x in keys others; do awk -F , '{ print $2 "\t" $1 }' $x > $x.tsv; done
	bloomery build ./h --kind exact --hash xxh3-column keys.tsv --not others.tsv --seed 3; cmp <(tail -c +20545 f) <(tail -c +20545 h)
	same "$(bloomery test -c ./h keys.tsv)" 3040; exits 1 bloomery test -c ./h others.tsv
}

a_key_without_its_column_is_an_error() {
	seq -f 'h%.0f,org' 300 > keys; seq -f 'h%.0f,com' 3000 > others
	columns='--delimiter , --field 1 --partition-field 2'
	bloomery build ./f keys --not others $columns; bloomery build ./g keys --not others --delimiter ,
	exits 2 bloomery test ./f --key h7; says 'a key has no column'; exits 2 bloomery test ./f --field 1 --delimiter , keys; says 'a key has no column'
	exits 2 bloomery test ./f $columns <<< h7; says 'too few columns'; exits 64 bloomery test ./g $columns keys; says 'have no column'
	exits 2 bloomery test ./f $columns <<< "$(printf 'h7,o\trg')"; says 'a tab in the column'
	exits 2 bloomery build ./i --kind exact --hash xxh3-column keys --not others; says 'line 1 is refused'; says 'first tab: exact filters take no other keys'
	exits 2 bloomery measure ./f; says 'each column has its own rate'
	exits 64 bloomery build ./i keys --not others --delimiter , --partition-field 2; says '--field'
	exits 64 bloomery build ./i keys --not others --delimiter , --field 2 --partition-field 2; says '--field'
	exits 64 bloomery build ./i keys --not others $columns --hash xxh3; says 'exclude each other'
	exits 2 bloomery build ./i keys $columns --kind ribbon; says xxh3-column
	exits 64 bloomery update ./g --add keys --not others $columns; says 'have no column'
	[ ! -e i ]
}

a_divided_filter_is_updated_only_where_needed() {
	seq -f 'h%.0f,org' 3000 > keys; seq -f 'h%.0f,com' 30000 > others
	columns='--delimiter , --field 1 --partition-field 2'
	bloomery build ./f keys --not others $columns
	{ tail -n +101 keys; head -n 50 others; } > now; { head -n 100 keys; tail -n +51 others; } > then
	bloomery update ./f --add now --not then $columns; same "$(bloomery test -c ./f $columns now)" 2950; exits 1 bloomery test -c ./f $columns then
	for i in 0 1 2 3; do seq -f "h%.0f,c$i" 1000; done > keys; for i in 0 1 2 3; do seq -f "h%.0f,c$i" 1001 9000; done > others
	bloomery build ./k keys --not others $columns; same "$(bloomery test -c ./k $columns keys others)" 4000
	bloomery info ./k --json | holds '"parts" not in j["facts"]'
	printf '"a,b","x ""y""",6b\n' > row; bloomery build ./l row --delimiter , --field 3 --partition-field 2 --hex
	same "$(bloomery test -c ./l --key "$(printf 'x "y"\tk')")" 1
}

a_delta_brings_a_copy_up_to_date() {
	seq 5000 > k1; seq 5001 60000 > o1; seq 51 5050 > k2; { seq 50; seq 5051 60000; } > o2; seq 101 5100 > k3; { seq 100; seq 5101 60000; } > o3
	bloomery build ./f k1 --not o1 --seed 3; cp f far; cp f first; cp f far2
	bloomery update ./f --add k2 --not o2; cp f second; bloomery export ./f --delta ./first -o d1
	bloomery update ./f --add k3 --not o3; bloomery export ./f --delta ./second > d2; bloomery export ./f --delta ./first > d12
	[ "$(wc -c < d1)" -lt 700 ]; same "$(wc -c < d12)" $(($(wc -c < d1) + $(wc -c < d2) - 112))
	exits 2 bloomery apply ./far d2; says 'in their order'; same "$(bloomery test -c ./far k1)" 5000
	bloomery apply ./far d1; same "$(bloomery test -c ./far k2)" 5000; exits 1 bloomery test -c ./far o2
	bloomery apply ./far d1; bloomery apply ./far - < d2; bloomery apply ./far2 d12; bloomery verify ./far
	for x in far far2; do
		cmp <(tail -c +20545 $x) <(tail -c +20545 f); same "$(bloomery test -c ./$x k3)" 5000; exits 1 bloomery test -c ./$x o3
		same "$(bloomery info ./$x --json | json 'j["keys"], j["capacity"], j["options"], j["rate"]')" "$(bloomery info ./f --json | json 'j["keys"], j["capacity"], j["options"], j["rate"]')"
	done
	for byte in 0 9 20 30 60 100 108 150 300; do	# whatever is damaged
		cp d12 bad; printf '\377' | dd of=bad bs=1 seek=$byte conv=notrunc 2> log; cmp -s bad d12 || { cp first far; exits 2 bloomery apply ./far bad; }
	done
	same "$(bloomery test -c ./far k1)" 5000
	for size in 0 50 112 250; do head -c $size d12 > bad; exits 2 bloomery apply ./far bad; says delta; done
	{ cat d12; echo; } > bad; exits 2 bloomery apply ./far bad; says 'longer'
	exits 2 bloomery export ./first --delta ./f -o x; says 'not an update of'; exits 2 bloomery export ./f --delta ./first -o d1; says 'exists'; says 'name another one'; same "$(compgen -G '*.tmp' || :)" ''
	bloomery build ./g k1 --kind ribbon; exits 2 bloomery export ./g --delta ./g -o x; says 'exact'; exits 2 bloomery apply ./g d1; says 'exact'
	exits 64 bloomery export ./f --delta ./first --base64 -o x; says --delta; exits 2 bloomery apply ./f missing; says 'missing'; [ ! -e x ]
}

a_delta_unlists_its_keys_as_false_alarms() {
	seq 500 > k1; seq 501 3000 > o1; seq 5001 6000 > strangers
	bloomery build black --kind exact k1 --not o1 -p 0.2 --seed 3; bloomery test black strangers > alarms; [ "$(wc -l < alarms)" -gt 100 ]
	bloomery allow add black alarms; exits 1 bloomery test -c black strangers
	bloomery copy black ./far; cp far before; head -n 20 alarms > come; cat k1 come > k2
	bloomery update ./far --add k2 --not o1; bloomery export ./far --delta ./before -o d1
	bloomery apply black d1; same "$(bloomery test -c black k2)" 520
}

a_delta_brings_numbers_also_if_no_answer_changes() {
	seq 500 > k1; seq 501 3000 > o1; seq 5001 5100 > more
	bloomery build ./f --kind exact k1 --not o1 --seed 3; cp f far; bloomery test -v ./f more > no; bloomery test ./f more > yes
	cp f before; cat k1 yes > k2; cat o1 no > o2; bloomery update ./f --add k2 --not o2
	bloomery export ./f --delta ./before -o d; same "$(wc -c < d)" 112
	bloomery apply ./far d; bloomery apply ./far d
	for x in f far; do bloomery info ./$x --json | holds "j['keys'] == 500 + $(wc -l < yes) and j['options'] == 'others=$((2500 + $(wc -l < no))),updates=0'"; done
}

a_delta_fits_no_filter_with_another_hash() {
	: > none; seq 100 > keys; seq 101 3000 > others; cat keys others > all
	for seed in 1 2; do bloomery build ./f$seed --kind exact none --not all --seed $seed; cp f$seed before$seed; done
	cmp <(tail -c +20545 f1) <(tail -c +20545 f2)	# data without a key
	bloomery update ./f1 --add keys --not others; bloomery export ./f1 --delta ./before1 -o d
	exits 2 bloomery apply ./f2 d; says 'another state'; exits 1 bloomery test -c ./f2 all
	bloomery apply ./before1 d; same "$(bloomery test -c ./before1 keys)" 100
}

# However many lines, threads and files there are before it, and whatever is wrong behind it.
a_bad_line_of_a_build_is_named() {
	seq 200000 | sed 's/$/\t5/' > many; seq 10 | sed 's/$/\t6/' > few
	for j in 1 4; do
		for wrong in seven -1 1.5 0x 18446744073709551616 ''; do
			{ cat many; printf 'x\t%s\ny\t9999\nz\n' "$wrong"; cat many; } > table
			exits 2 bloomery build ./f --kind bloomier -j $j few table
			says 'table: line 200001 has '; says 'whole number'; [ -z "$wrong" ] || says "has \"$wrong\""
		done
		{ cat many; printf 'x\t256\ny\tseven\nz\n'; cat many; } > table
		exits 2 bloomery build ./f --kind bloomier -j $j few table
		says 'table: line 200001 is refused: the value 256 is not 0 to 255'
		{ cut -f 1 many; printf 'x\n18446744073709551617\n'; cut -f 1 many; } > numbers
		for size in '-n 300000' ''; do
			exits 2 bloomery build ./f --kind bitmap $size -j $j numbers
			says 'numbers: line 200001 is refused: "x" is no number'
		done
	done
	exits 2 bloomery build ./f --kind bloomier - < table; says 'standard input: line 200001'
	[ ! -e f ]
}

a_fuse_filter_says_which_rate_results() {
	seq 1000 | bloomery build ./f --kind fuse -p 0.01
	bloomery info ./f > info; grep -q 'at a rate of 0.01 promised' info; grep -q '^  resulting rate *0.007812: 1 in 2^7' info
	seq 1000 | bloomery build ./g --kind fuse -k 4 --with fingerprint-bits=16
	bloomery info ./g --json | holds 'j["k"] == 4 and abs(j["rate"] * 65536 - 1) < 0.001'
	exits 2 bloomery build ./h --kind fuse -p 1e-12 /dev/null; says 'fingerprint-bits'
	exits 2 bloomery build ./h --kind fuse -k 5 /dev/null; says '3 or 4'
}

progress_shows_what_is_done() {
	seq 200000 | bloomery build ./f --kind golomb --memory 1Mi --progress 2> err
	grep -q 'million/s' err; grep -q '^building: 200000 keys' err
}

a_store_has_it_under_its_name() {
	seq 100 | bloomery build seen --kind golomb
	bloomery ls | grep -q seen
	same "$(seq 100 | bloomery test -c seen)" 100
	bloomery verify seen
	bloomery verify
}

# It waits for the catalog when it is to get its name, and has its file's name already: where a signal comes then, that goes.
# A build that has made its file and waits for the catalog, which is locked; it would not wait for ever.
end_a_build_by()
{
	local signal=$1 pid got=0
	( trap - INT; exec env --default-signal=HUP,INT,TERM "$BLOOMERY" build seen --kind golomb keys 2> err ) & pid=$!
	exec 8> keys 9>> "$BLOOMERY_STORE/catalog/lock"
	flock 9
	seq 1000 >&8; exec 8>&-
	for _ in $(seq 300); do
		[ "$(ls "$BLOOMERY_STORE/filters" | wc -l)" = 1 ] || break
		sleep 0.01
	done
	kill -"$signal" $pid
	wait $pid || got=$?
	exec 9>&-
	same "$(ls -A "$BLOOMERY_STORE/filters" | wc -l)" 1
	same "$(bloomery ls)" first
	bloomery verify
	ended=$got
}

a_build_that_is_interrupted_leaves_nothing() {
	seq 3 | bloomery build first --kind golomb
	mkfifo keys
	for signal in TERM INT HUP; do
		for _ in 1 2 3 4 5; do		# on a busy machine the signal may come when it has given up
			end_a_build_by $signal
			grep -q 'has locked the catalog' err || break
		done
		same "$ended" $((128 + $(kill -l $signal)))
	done
}

sets_are_merged_and_brought_up_to_date() {
	seq 1 6000 > a; seq 5001 10000 > b
	for x in a b; do bloomery build ./$x.g --kind golomb -n 10k -p 0.001 --seed 3 $x; done
	bloomery merge ./a.g ./b.g -o ./c
	same "$(cat a b | sort -u | bloomery test -c ./c)" 10000
	[ "$(seq 10001 110000 | bloomery test -c ./c)" -lt 160 ]
	bloomery update ./a.g --add b; same "$(seq 10000 | bloomery test -c ./a.g)" 10000
	exits 2 bloomery update ./a.g --remove b; says 'counted=1'
	bloomery build ./small --kind golomb -n 10 -p 0.001 /dev/null
	bloomery update ./small --add b 2> err; grep -q '5000 keys, but was made for 10' err
	bloomery merge ./small ./small -o ./twice 2> err; grep -q 'made for 10' err; bloomery info ./small | grep -q 'beyond its capacity'
	bloomery info ./small | grep -q '^  rate now    0.39'
	bloomery build ./d --kind golomb -n 20k -p 0.001 --with counted=1 a b
	bloomery info ./d --json | holds 'j["keys"] == 11000'
	bloomery update ./d --remove b --add - <<< new
	same "$(bloomery test -c ./d a)" 6000; bloomery test -s ./d <<< new
	[ "$(seq 6001 10000 | bloomery test -c ./d)" -lt 20 ]
	bloomery info ./d --json | holds 'j["keys"] == 6001'
	bloomery verify ./d
	bloomery build ./e --kind golomb -n 10k -p 0.001 --seed 4 a
	exits 2 bloomery merge ./a.g ./e -o ./f; says 'options and seed'
	exits 64 bloomery update ./d; exits 2 bloomery update ./d --add no-such-file
	bloomery create ./g -n 10; exits 2 bloomery merge ./g ./g -o ./h; says 'bloomery union'; exits 2 bloomery compare ./a.g ./d; says 'these kinds can: classic'
}

a_keyed_set_is_updated_with_its_secret() {
	seq 100 | bloomery build ./f --kind golomb --hash siphash
	mv f.key secret
	exits 2 bloomery update ./f --add - <<< new; says '--key-file'
	bloomery update ./f --key-file secret --add - <<< new
	same "$({ seq 100; echo new; } | bloomery test --key-file secret -c ./f)" 101
}

one_stream_is_not_read_for_two_options() {
	seq 100 | bloomery build ./f --kind golomb --with counted=1 --seed 7
	cp f before; mkfifo pipe; ln -s pipe other
	echo 1 | exits 64 bloomery update ./f --add - --remove -
	says '--add - and --remove - both read standard input'
	echo 1 | exits 64 bloomery update ./f --add /dev/stdin --remove -; says 'both read standard input'
	exits 64 bloomery update ./f --add pipe --remove ./other; says 'one pipe'
	cmp f before
	echo new > in; echo 1 > out
	bloomery update ./f --add - --remove out < in
	same "$(bloomery test ./f in out)" new
	head -c 16 /dev/zero | od -An -v -tx1 | tr -d ' \n' > secret
	bloomery create ./g -n 10 --untrusted --key-file secret
	cat secret | exits 64 bloomery add ./g --key-file /dev/stdin; says '--key-file /dev/stdin: it and the keys of - are one stream'
	cat secret | bloomery add ./g --key-file /dev/stdin in
	bloomery test -s ./g --key-file secret in
}

damage_of_built_filters_is_reported_and_not_repaired() {
	for kind in golomb fuse ribbon; do
		seq 5000 | bloomery build ./f --kind $kind --force
		bloomery verify ./f
		for at in 20544 20564 21000; do	# its first numbers, and what they lead to
			cp f damaged
			printf "\\x$(printf %x $(($(od -An -tu1 -j $at -N 1 f) ^ 0xa5)))" | dd of=damaged bs=1 seek=$at conv=notrunc status=none
			cp damaged before
			exits 1 bloomery verify ./damaged
			exits 1 bloomery verify ./damaged --repair
			tail -c +20545 damaged > a; tail -c +20545 before > b; cmp a b
			code=0; seq 5000 | bloomery test -c ./damaged > out || code=$?; [ $code -le 1 ]
		done
	done
}

block_filters_of_bitcoin_come_and_go() {
	printf '\001\104\150\260' > filter
	exits 2 bloomery import filter ./f --format bip158; says 'block'
	bloomery import filter ./f --format bip158 --hash-key c96779567050c3588848b84d2828214a
	bloomery export ./f -o out; cmp filter out
	bloomery info ./f --json | holds 'j["keys"] == 1 and j["hash"] == "siphash64" and j["origin"] == "bip158"'
	printf 'ab\ncd\n' | bloomery build ./g --kind golomb --hash siphash64 --with modulus=784931 --hex \
		--block-hash 000000000000000000000000000000000000000000000000000000000000000a
	bloomery export ./g --format bip158 -o out --force
	bloomery import out ./h --format bip158 --block-hash 000000000000000000000000000000000000000000000000000000000000000a
	bloomery test -s ./h --hex <<< ab
	exits 1 bloomery test -s ./h --hex <<< ef
	exits 2 bloomery info ./filter --format bip158; says 'block-hash'
	bloomery info ./filter --format bip158 --hash-key c96779567050c3588848b84d2828214a --json | holds 'j["capacity"] == 1 and j["hash"] == "siphash64"'
	for key in '--block-hash 000000000000000000000000000000000000000000000000000000000000000a' '--hash-key 0a000000000000000000000000000000'; do
		bloomery info ./out --format bip158 $key --json | holds 'j["capacity"] == 2 and j["seeds"] == ["10", "0"]'
		bloomery test -s ./out --format bip158 $key --hex <<< cd
		bloomery copy ./out ./copied --format bip158 $key; bloomery test -s ./copied --hex <<< ab; rm copied
	done
	bloomery create ./c -n 10 --format bip37; bloomery export ./c --format bip37 -o wallet
	exits 2 bloomery info ./wallet --format bip37 --hash-key 0a000000000000000000000000000000; says 'takes no seeds'
	exits 64 bloomery import out ./i --format bip158 --block-hash 12
	exits 2 bloomery import filter ./i --block-hash 000000000000000000000000000000000000000000000000000000000000000a
}

prove_all
