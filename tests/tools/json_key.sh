#!/bin/bash
# json_key.sh - --json-key: the key is a value in the JSON of a line, for every command with lines
. "${0%/*}/tap.sh"

make() { bloomery create ./f -n 100k -p 1e-9; }

function docs {
	cat > docs <<-'end'
		{"id": 1, "url": "https://a.example/", "text": "one"}
		{"id": 2, "meta": {"url": "x"}, "url" : "https:\/\/a.example\/", "text": "two"}
		{"id": 3, "url": "https://b.example/\u00e9", "text": "three"}
	end
}

the_value_at_the_pointer_is_the_key() {
	docs; make
	bloomery claim ./f --json-key /url docs | diff <(sed -n '1p;3p' docs) -
	bloomery test ./f --key https://a.example/ --key https://b.example/é --key x > found
	printf 'https://a.example/\nhttps://b.example/é\n' | diff - found
	bloomery test ./f --json-key /url docs | diff docs -
	exits 1 bloomery test ./f --json-key /text docs
}

# The copy has no parser in its folder. A system with an installed parser is not refused.
a_missing_parser_is_named_with_advice() {
	make; cp "$BLOOMERY" bloomery
	printf '{"a":1}\n' | LD_LIBRARY_PATH=${BLOOMERY%/*}/../lib ./bloomery claim ./f --json-key /a > out 2> err && return
	grep -q 'bloomery-json.so: .*; build it with .*, or install libsimdjson$' err || { cat err; return 1; }
}

# Each further folder costs every start of the program a dozen system calls.
the_loader_looks_for_libraries_in_one_folder() {
	local folders
	folders=$(LC_ALL=C readelf -dW "$BLOOMERY" | sed -n 's/.*(RUNPATH).*\[\(.*\)\]/\1/p' | tr : '\n' | grep -v '^X*$')
	same "$(wc -l <<< "$folders")" 1
}

numbers_and_words_are_keys_as_they_are_written() {
	make; printf '{"a":1}\n{"a":"1"}\n{"a":1.0}\n{"a":true}\n{"a":98765432109876543210}\n' > n
	same "$(bloomery add ./f --json-key /a --count n)" 4
	bloomery test -s ./f --key 1; bloomery test -s ./f --key 1.0; bloomery test -s ./f --key true
	bloomery test -s ./f --key 98765432109876543210
	printf '[["k"],2]\n' | bloomery add ./f --json-key /0/0; bloomery test -s ./f --key k
	printf '"top"\n' | bloomery add ./f --json-key ''; bloomery test -s ./f --key top
}

a_key_may_have_any_character_or_byte() {
	make; printf '{"a":"x\\ny\\u0000z"}\n{"a":"tab\\t"}\n' | bloomery add ./f --json-key /a
	same "$(bloomery test -c --hex ./f --key 780a79007a --key 74616209)" 2
	printf '{"a":"00ff"}\n' | bloomery add ./f --json-key /a --hex
	bloomery test -s ./f --hex --key 00ff
	printf '{"a":"0g"}\n' | exits 2 bloomery add ./f --json-key /a --hex; says 'hexadecimal'
	printf '{"a":"nul"}\0{"a":"end"}' | bloomery add ./f --json-key /a -0
	same "$(bloomery test -c ./f --key nul --key end)" 2
	printf '{"a":"cr"}\r\n' | bloomery add ./f --json-key /a --crlf; bloomery test -s ./f --key cr
}

every_command_with_lines_takes_the_pointer() {
	docs; head -1 docs > one
	bloomery build ./b -p 1e-6 --json-key /url docs; bloomery test -s ./b --key https://a.example/
	bloomery build ./first -p 1e-6 --json-key /url one
	bloomery filter docs --in ./first --json-key /url | diff <(head -2 docs) -
	bloomery filter -v docs --in ./first --json-key /url | diff <(tail -1 docs) -
	bloomery diff ./first --json-key /url docs | diff <(tail -1 docs) -
	echo https://a.example/ > table
	bloomery guard ./first --exact table --json-key /url docs | diff <(head -2 docs) -
	tail -1 docs > three
	bloomery build ./exact --kind exact --json-key /url --not three one
	bloomery test ./exact --json-key /url docs | diff <(head -2 docs) -
	bloomery create ./d -n 100 -p 1e-6 --kind d-left
	bloomery add ./d --json-key /url docs; bloomery remove ./d --json-key /url <(head -2 docs)
	bloomery test ./d --json-key /url docs | diff <(tail -1 docs) -
	bloomery build ./r -p 1e-6 --keys uint --json-key /id docs
	same "$(printf '{"r":"3..9"}\n{"r":"4..9"}\n' | bloomery test --range ./r --json-key /r)" '{"r":"3..9"}'
}

join_prints_both_lines_with_the_delimiter_between() {
	printf '{"k":"a","v":1}\n{"v":2, "k":"\\u0061"}\n{"k":"b"}\n' > small
	printf '{"n":1,"k":"a"}\n{"k":"c"}\n{"n":2,"k":"b"}\n' > big
	bloomery join small big --json-key /k > out
	printf '%s\t%s\n' '{"k":"a","v":1}' '{"n":1,"k":"a"}' '{"v":2, "k":"\u0061"}' '{"n":1,"k":"a"}' \
		'{"k":"b"}' '{"n":2,"k":"b"}' | diff - out
	bloomery join small big --json-key /k --delimiter ' ' | diff <(tr '\t' ' ' < out) -
}

# bad LINE WORDS - as the third line of a file
function bad {
	printf '{"a":"1"}\n{"a":"2"}\n%s\n{"a":"4"}\n' "$1" > bad
	exits 2 bloomery claim ./f --json-key /a bad > out
	says "bad: line 3 $2"
	same "$(bloomery claim ./f --json-key /a --skip-bad bad 2> said)" '{"a":"4"}'
	grep -q "1 lines without a key were skipped; the first is bad: line 3 $2" said
	bloomery clear ./f
}

a_bad_line_is_named_or_skipped_and_counted() {
	make
	bad '{"a":' 'is not JSON'; bad '' 'is empty'; bad '{"a":1} 2' 'is not JSON'
	bad '{"b":1}' 'has no value at /a'; bad '{"a":null}' 'has no value at /a'
	bad '{"a":[]}' 'has an array or an object at /a'; bad '{"a":{"a":"x"}}' 'has an array or an object'
	bad '{"a":"\ud800"}' 'is not JSON: an escape in a string is wrong, or a surrogate'; bad '{"a":1,"a":1}' 'has the name "a" twice'
	bad "{\"a\":\"$(printf '\377')\"}" 'is not JSON: it is not UTF-8'
	bad "$(printf '[%.0s' {1..2000})$(printf ']%.0s' {1..2000})" 'is nested more than 1024 levels'
	bad "{\"a\":\"$(printf '\1')\"}" 'is not JSON: a string has a control character'
	printf '{"a":"x"}\n{"a":"\0"}\n' | exits 2 bloomery test ./f --json-key /a; says 'line 2 is not JSON'
}

skipped_lines_are_counted_over_all_files_and_threads() {
	make
	seq 100000 | awk '{ print $1 % 10 ? "{\"a\":\"" $1 "\"}" : "bad " $1 }' > a
	grep -v bad a > good; cp a b
	for j in 1 4; do
		bloomery clear ./f
		bloomery claim -j $j ./f --json-key /a --skip-bad a b 2> said | cmp - good
		grep -q '20000 lines without a key were skipped; the first is a: line 10 is not JSON' said
		bloomery test -j $j ./f --json-key /a --skip-bad -q a 2> said | cmp - good
		[ ! -s said ]
		exits 2 bloomery test -j $j -c ./f --json-key /a a; says 'a: line 10 is'
	done
	printf 'x\ty\nz\nx\tw\n' > columns
	same "$(bloomery test -c -v ./f --field 2 --skip-bad columns 2> said)" 2
	grep -q '1 lines.*columns: line 2 has too few columns' said
}

lines_behind_skipped_ones_have_their_numbers() {
	bloomery create ./v --kind approximator -n 100k --with bits=8
	seq 10000 70000 | awk '{ print ($1 % 4 ? "" : "z") $1 "0\t1" } END { print "aa\tnone" }' > lines
	for j in 1 4; do
		exits 2 bloomery put ./v -j $j --hex --skip-bad lines; says 'lines: line 60002 has "none"'
		exits 2 bloomery put ./v -j $j --hex --skip-bad lines lines; says 'lines: line 60002 has "none"'
	done
}

every_thread_finds_every_key() {
	seq 50000 | awk '{ print "{\"n\":" $1 ",\"t\":\"k\\u00e9" $1 "\\n\"}" }' > lines
	for j in 1 2 8; do
		rm -f ./f; make
		bloomery claim -j $j ./f --json-key /t lines | cmp - lines
		same "$(bloomery test -j $j -c ./f --json-key /t lines)" 50000
		exits 1 bloomery test -j $j -s ./f --json-key /n lines
	done
}

the_values_of_options_are_checked() {
	make
	exits 64 bloomery test ./f --json-key url < /dev/null; says 'is not a JSON Pointer'
	exits 64 bloomery test ./f --json-key '/a~2' < /dev/null; says 'is written ~0'
	exits 64 bloomery test ./f --json-key /a --field 2 < /dev/null; says 'exclude each other'
	exits 64 bloomery join x y --json-key /a --on 2 < /dev/null; says 'exclude each other'
	exits 64 bloomery build ./v --kind bloomier --json-key /a < /dev/null; says 'without values'
	exits 64 bloomery update ./f --json; says 'is an option of other commands'
}

a_learned_key_is_one_line() {
	printf 'b\n' > table; bloomery build ./f --kind exact -p 0.5 table
	printf '{"a":"line\\nend%d"}\n' $(seq 64) > lines
	bloomery guard ./f --exact table --learn learned --json-key /a lines || [ $? = 1 ]
	[ ! -s learned ]
}

if [ "${JSON:?must be yes or no}" = no ]; then
	echo '1..0 # SKIP this build has no parser of JSON'
	exit
fi
prove_all
