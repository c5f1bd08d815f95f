#!/bin/bash
# differ.sh - invertible tables: diff lists both sides, says when too many differ, and estimates how many do
. "${0%/*}/tap.sh"
: "${TOOLS:?must be the folder of the sources of the program}"

files() { seq 100000 > mine; (seq 99990; seq 200001 200003) > theirs; }
sides() { comm -23 <(sort "$1") <(sort "$2") | sed 's/^/< /'; comm -13 <(sort "$1") <(sort "$2") | sed 's/^/> /'; }

a_table_and_a_file_list_exactly_their_differences() {
	files; bloomery build ./theirs.iblt -n 100 --kind iblt --with key-bytes=16 theirs
	exits 0 bloomery diff ./theirs.iblt mine --stats; says '13 keys differ: 3 are only in the first, 10 only in the second'
	same "$(sort exits.out)" "$(sides theirs mine | sort)"
	same "$(bloomery diff -c ./theirs.iblt mine)" 13
	exits 1 bloomery diff ./theirs.iblt theirs; same "$(cat exits.out)" ''
}

two_tables_list_100_or_1000_of_100000_keys() {
	seq 100000 > common
	for seed in 1 2 3 4 5 6; do
		n=$((seed % 2 ? 100 : 1000))
		(cat common; seq 1000001 $((1000000 + n / 4))) > a; (cat common; seq 2000001 $((2000000 + n * 3 / 4))) > b
		bloomery build ./a.iblt -n $n --kind iblt --seed $seed a; bloomery template ./a.iblt ./b.iblt; bloomery add ./b.iblt b
		bloomery diff --tables ./a.iblt ./b.iblt > out; same "$(sort out)" "$(sides a b | sort)"
		bloomery diff --tables ./b.iblt ./a.iblt | tr '<>' '><' | cmp - out
		rm ./*.iblt
	done
}

a_sealed_or_published_table_lists_both_sides() {
	files; bloomery build seen -n 100 --kind iblt theirs; bloomery build next -n 100 --kind iblt theirs; bloomery publish next seen
	bloomery build ./sealed -n 100 --kind iblt theirs; bloomery seal ./sealed; bloomery export ./sealed --base64 -o text
	bloomery import --base64 text ./read
	for f in seen ./sealed ./read; do
		bloomery info "$f" --json | holds '"diff" in j["can"]'
		bloomery info "$f" | grep -q '100 keys that two of them differ by'
		same "$(bloomery diff "$f" mine | sort)" "$(sides theirs mine | sort)"
	done
}

a_damaged_table_lists_no_wrong_key() {
	files; bloomery build ./f -n 100 --kind iblt theirs; bloomery template ./f ./own; bloomery add ./own mine; bloomery seal ./f
	printf '\xff\xfe' | dd of=./f bs=1 seek=22000 conv=notrunc status=none; sha256sum ./f > sum
	exits 2 bloomery diff --tables ./f ./own; same "$(cat exits.out)" ''; says 'is damaged'
	exits 2 bloomery diff ./f mine; same "$(cat exits.out)" ''; says 'is damaged'
	exits 1 bloomery verify ./f --repair; grep -q damaged exits.out; sha256sum -c --quiet sum
}

too_many_differences_print_a_sufficient_table_size() {
	files; bloomery build ./theirs.iblt -n 100 --kind iblt theirs; seq 95000 > few
	exits 2 bloomery diff ./theirs.iblt few; same "$(cat exits.out)" ''; says 'keys differ'
	n=$(sed -n 's/.* make them for \([0-9]*\) keys, unless.*/\1/p' exits.err)
	bloomery build ./larger.iblt -n "$n" --kind iblt theirs
	same "$(bloomery diff ./larger.iblt few | sort)" "$(sides theirs few | sort)"
}

two_small_tables_tell_the_size_needed() {
	files; seq 95000 > few
	bloomery build ./a -n 100 --kind iblt theirs; bloomery template ./a ./b; bloomery add ./b few
	bloomery diff --estimate ./a ./b --json > j; holds 'abs(j["difference"] - 4993) < 5 * j["difference_error"] and j["capacity"] > j["difference"]' < j
	bloomery diff --estimate ./a ./b | grep -q '^an iblt for them -n [0-9]*,'
	bloomery create ./c -n 100k --kind counting; bloomery template ./c ./d; bloomery add ./c theirs; bloomery add ./d few
	bloomery diff --estimate ./c ./d --json | holds 'abs(j["difference"] - 4993) < 50'
	exits 64 bloomery diff --tables ./a; exits 64 bloomery diff --tables --estimate ./a ./b; exits 2 bloomery diff --tables ./c ./d; says iblt
}

counts_that_no_adds_made_are_refused_with_their_sum() {
	bloomery create ./f -n 20 --kind iblt --no-checkpoint; bloomery template ./f ./g
	for ((i = 0; i < 50; i++)); do printf '\377\377\377\377\377\177' | dd of=./f bs=1 seek=$((20544 + 256 + 96 * i)) conv=notrunc status=none; done
	exits 2 bloomery diff --estimate ./f ./g; says 'is more than'; same "$(cat exits.out)" ''
	exits 2 bloomery diff --tables ./f ./g; says 'keys differ'
}

json_names_the_side_of_each_key() {
	bloomery create ./f -n 20 --kind iblt; bloomery template ./f ./g; seq 3 | bloomery add ./f; seq 2 4 | bloomery add ./g
	for how in '--tables ./f ./g' './f own'; do
		seq 2 4 > own; bloomery diff $how --json | LC_ALL=C sort > sides
		same "$(cat sides)" '{"key":"1","only_in":"first"}
{"key":"4","only_in":"second"}'
	done
	same "$(bloomery diff --tables ./f ./g -c --json)" '{"count":2}'; exits 1 bloomery diff --tables ./f ./f --json
}

a_table_rebuilt_for_more_keys_is_large_enough() {
	seq 100 > k; bloomery create ./f -n 20 --kind iblt; bloomery create ./g -n 10000 --kind iblt
	bloomery rebuild ./f --from k -n 10000
	same "$(bloomery info ./f --json | json 'j["m"]')" "$(bloomery info ./g --json | json 'j["m"]')"
	bloomery create ./h -n 20 --kind iblt -p 1e-3; bloomery rebuild ./h --from k -n 100
	bloomery info ./h --json | holds 'j["rate"] == 1e-3 and j["rate_at_capacity"] <= 1e-3'
	exits 2 bloomery rebuild ./h --from k --with key-bytes=0; says 'is 1 to 4096'
}

keys_are_printed_as_they_are_read() {
	bloomery create ./f -n 20 --kind iblt; printf '00ff\n0a\n' | bloomery add ./f --hex
	same "$(printf '0a\n31\n' | bloomery diff ./f --hex | tr '\n' ' ')" '< 00ff > 31 '
	same "$(printf '\n\0' | bloomery diff ./f -0 | tr '\0\377' '|_')" "$(printf '< |_|')"
	seq -s '' 100 > long; exits 2 bloomery add ./f long; says 'key-bytes'
}

a_table_for_few_keys_takes_many_without_a_warning() {
	bloomery create ./f -n 20 --kind iblt; seq 100000 | bloomery add ./f 2> err; [ ! -s err ]
	bloomery info ./f | grep -q '20 keys that two of them differ by'
	exits 2 bloomery build ./g --kind iblt long < /dev/null; says 'give the number of keys that differ'
}

the_manual_shows_what_is_printed() {
	files; sed -n '/^\.Sh RECONCILE/,/^\.Sh COUNT/p' "$TOOLS/man/bloomery-examples.7" > recipe
	bloomery build ./theirs.iblt -n 100 --kind iblt --with key-bytes=16 --no-checkpoint theirs
	bloomery diff ./theirs.iblt mine | sort -k 2n | sed -n 1,5p > out; wc -c < theirs >> out; wc -c < ./theirs.iblt >> out
	while read -r line; do grep -qxF -- "$line" recipe || { echo "$line"; return 1; }; done < out
}

prove_all
