#!/bin/bash
# json.sh - what --json prints is as the schemas of bloomery-json(7) say
. "${0%/*}/tap.sh"
: "${TOOLS:?must be the folder of the sources of the program}"
page=$TOOLS/man/bloomery-json.7

# valid COMMAND FILE: each line, by the schema of the page's section of that name
valid()
{
	printf '%s\t%s\n' "$1" "$PWD/$2" >> valid.list
	[ -s "$2" ] || { echo "$1 printed nothing"; return 1; }
}

check_all()
{
	/usr/bin/python3 - "$page" valid.list << 'P'
import json, os, re, sys
import jsonschema
page = open(sys.argv[1]).read()
blocks = re.findall(r"^\.Ss (.*?)\n(?:.*?)^\.Bd -literal[^\n]*\n(.*?)^\.Ed$", page, re.M | re.S)
schemas = {name: json.loads(text) for names, text in blocks for name in names.replace('"', "").split(", ")}
for name, schema in schemas.items():
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["additionalProperties"] is False and schema["type"] == "object", name
seen = {}
for line in open(sys.argv[2]):
    name, file = line.rstrip("\n").split("\t")
    for text in open(file):
        value = json.loads(text)
        seen.setdefault(name, set()).update(value)
        for error in jsonschema.Draft7Validator(schemas[name]).iter_errors(value):
            sys.exit(f"{name}: {error.message} at {list(error.path)}: {text}")
# a field that no output has would be a field that nothing prints
for name, schema in schemas.items():
    if name.startswith("corpus") and not os.path.exists("corpus"):
        continue    # a build that reads no JSON
    assert name in seen, f"{name} was not tried"
    assert set(schema["properties"]) == seen[name], f"{name}: {set(schema['properties']) ^ seen[name]}"
P
}

each_output_is_as_its_schema_says() {
	/usr/bin/python3 -c 'import jsonschema' 2> /dev/null || { echo '# SKIP python3-jsonschema is not installed'; return 0; }
	seq 900 | bloomery claim seen --create -n 1000 -p 0.001 > new; bloomery label seen a=b
	bloomery template seen other; seq 801 1100 | bloomery add other; bloomery sync other
	bloomery create counts -n 100 --kind counting; seq 50 | bloomery build fixed -n 50 --kind ribbon
	bloomery create keyed -n 10 --untrusted; bloomery create ./old -n 10
	for kind in $(bloomery kinds --json | sed 's/^{"name":"\([^"]*\)".*/\1/'); do
		bloomery create "./$kind.blm" -n 100 --kind "$kind" 2> err && bloomery info "./$kind.blm" --json >> info
	done
	bloomery info seen other counts fixed keyed --json >> info
	cp store/filters/*"$(bloomery info other --json | json 'j["uuid"]').blm" copy; seq 5000 5010 | bloomery add other; bloomery sync other
	cp copy "$(bloomery info other --json | json 'j["path"]')"; bloomery info other --json >> info
	theirs=${TOOLS%/*}/tests/exchange/p3-fruit-100-10pct.bloom; bloomery info "$theirs" --json >> info 2> err || bloomery info "$theirs" --probe apple --json >> info
	valid info info
	bloomery split seen --into 2; bloomery info seen.part-1-of-2 --json >> info; bloomery drop seen.part-1-of-2 seen.part-2-of-2
	bloomery ls --json > ls; valid ls ls
	bloomery top --json > top; valid top top; bloomery ls --live --json > live; valid 'ls --live' live
	bloomery label seen --json > label; valid label label
	bloomery compare seen seen --json > compare; valid compare compare
	bloomery union seen other -o both --json > union; valid union union; bloomery intersect seen other -o some --json > some; valid intersect some
	bloomery plan -n 1m -p 0.001 --compare --json > all; grep '"kind"' all > plan; valid plan plan; grep '"structure"' all > compared; valid 'plan --compare' compared
	bloomery plan -n 1m -m 10m --json > rate; bloomery plan -n 1m -m 10m -k 3 --json >> rate; valid 'plan -m' rate
	bloomery plan --table --mn 8..9 --json > table; valid 'plan --table' table
	bloomery measure seen --questions 10000 --json > measure; bloomery measure -n 100 --kind cuckoo --questions 10000 --json >> measure; valid measure measure
	keys_of_all_bytes
	for list in kinds hashes schemes formats; do bloomery $list --json > $list; valid $list $list; done
	other=./$(printf 'o\377'); bloomery template seen "$other"; seq 801 1100 | bloomery add "$other"
	bloomery bank ./b seen "$other"; bloomery bank --list ./b --json > bank; valid bank bank; bloomery bank ./b2 seen other --json > made; valid 'bank FILTER' made
	bloomery which ./b --key 850 --json > which; valid which which
	bloomery similar ./b --id seen --json > similar; valid similar similar
	seq 20 > keys; bloomery create d1 -n 100 --kind iblt --seed 1; bloomery template d1 d2; seq 5 | bloomery add d1; bloomery diff d1 d2 --estimate --json > estimate; valid 'diff --estimate' estimate
	bloomery diff d1 d2 --tables --json > tables; (seq 6 9; printf '\377\n') | bloomery diff d1 --json >> tables; valid 'diff --tables' tables
	seq 5000 > blocks; bloomery dedup --blocks 4Ki blocks --json > dedup 2> err || :; valid dedup dedup; truncate -s 4096 zeros; bloomery dedup --blocks 512 zeros --list --json > list 2> err || :; valid 'dedup --list' list
	printf '{"text":"a b c"}\n{"text":"a b d"}\n' > a.jsonl; cp a.jsonl b.jsonl
	if bloomery corpus index -F ./t --create -n 100 a.jsonl > err 2>&1; then
		bloomery corpus plan a.jsonl --json > corpus-plan; valid 'corpus plan' corpus-plan
		bloomery corpus decontaminate --against ./t a.jsonl b.jsonl -o out --json > said
		grep '"file"' said > corpus; valid corpus corpus; grep '"against"' said > against; valid 'corpus decontaminate' against
	fi
	seq 900 | LC_ALL=C sort > exact; seq 1000 | bloomery guard seen --exact exact --stats --json > stats 2> err || :; valid 'guard --stats' stats
	rm "$(bloomery info fixed --json | json 'j["path"]')"; bloomery verify --json > verify 2> err || :; valid verify verify
	check_all
}

# Keys that are text, and one that is none; alone in their lines, and in a column.
make_keys()
{
	printf 'b\\"\tx\xfe\n\xff\tv\nz\xc3\xbc\t\n' > rows; cut -f 1 rows > keys
}

keys_of_all_bytes()
{
	make_keys
	for command in claim test remove; do bloomery create $command -n 100 --kind counting; done
	bloomery add --count --json test keys > added; valid 'add --count' added
	bloomery claim claim keys --json > claim; bloomery clear claim; bloomery claim claim --field 1 rows --json >> claim; valid claim claim
	bloomery remove remove keys --json > remove || [ $? = 1 ]; bloomery remove remove --field 1 rows --json >> remove || [ $? = 1 ]; valid remove remove
	bloomery test test keys --json > test; bloomery test test --field 1 rows --json >> test; valid test test
	bloomery filter --in test rows --json > filter; valid filter filter
	bloomery filter --in remove -v rows --json | sed 's/false/true/' | diff filter -
	bloomery diff remove keys --json > diff; bloomery diff remove --field 1 rows --json >> diff; valid diff diff
	bloomery test -c test keys --json > count; valid 'test -c' count
	bloomery diff -c remove keys --json > diffs; valid 'diff -c' diffs
	LC_ALL=C sort rows > pairs; cut -f 1 pairs > mine
	bloomery guard test --exact mine keys --json > guard; bloomery guard test --exact mine --field 1 rows --json >> guard; valid guard guard
	bloomery guard test --exact mine -c keys --json > guards; valid 'guard -c' guards
	bloomery guard test --exact pairs --values keys --json > values; bloomery guard test --exact pairs --values --field 1 rows --json >> values; valid 'guard --values' values
	bloomery allow add test keys -c --json > allowed; valid 'allow -c' allowed; bloomery allow list test --json > listed; valid 'allow list' listed
	bloomery join rows rows --json > join; valid join join
	bloomery create numbers -n 100 --kind approximator --with bits=8
	LC_ALL=C sed 's/\t.*/\t7/' rows | bloomery put numbers; bloomery get numbers keys --json > get; bloomery get numbers --field 1 rows --json >> get; valid get get
}

# What an object's key was: by its digits, or as UTF-8.
BYTES='import sys, json
for line in sys.stdin:
    o = json.loads(line)
    for name in sys.argv[1:]:
        sys.stdout.buffer.write(bytes.fromhex(o[name + "_hex"]) if name + "_hex" in o else o[name].encode())
        sys.stdout.buffer.write(b"\n")'

a_value_that_doubles_round_is_text() {
	printf 'a\t9007199254740991\nb\t9007199254740992\nc\t18446744073709551615\n' | bloomery build ./f -p 0.001 --kind bloomier --with value-bits=64
	same "$(bloomery get ./f --key a --key b --key c --json | sed 's/.*"value"://')" \
		"$(printf '9007199254740991}\n"9007199254740992"}\n"18446744073709551615"}')"
}

the_bytes_of_keys_and_lines_come_back() {
	make_keys
	bloomery create seen -n 100; bloomery create numbers -n 100 --kind approximator --with bits=8
	bloomery claim seen keys --json > claimed; python3 -c "$BYTES" key < claimed | cmp - keys
	bloomery test seen --field 1 rows --json > found; python3 -c "$BYTES" line < found | cmp - rows
	python3 -c "$BYTES" key < found | cmp - keys; same "$(grep -c '"key_hex":"ff"' found)" 1
	bloomery test seen --hex --json --key ff > found; same "$(cat found)" '{"key_hex":"ff","line":"ff","present":true}'
	bloomery join rows rows > joined; bloomery join rows rows --json | python3 -c "$BYTES" row | cmp - joined
	printf 'a\0b\n' > zero; bloomery add seen zero; bloomery test seen zero --json | python3 -c "$BYTES" key | cmp - zero
	printf 'no\0b\\"\0' | bloomery test seen -0 --json > found; same "$(cat found)" '{"key":"b\\\"","present":true}'
	exits 1 bloomery test seen --key no --json; same "$(wc -c < exits.out)" 0
	same "$(bloomery test seen --key no -v --json)" '{"key":"no","present":false}'
	seq 100000 > many; bloomery claim seen many --create -n 1m --batch 77 -q --json > claimed; bloomery test seen many --json -j 4 | sed 's/present/claimed/' > found
	python3 -c "$BYTES" key < found | cmp - many; [ "$(wc -l < claimed)" -gt 50 ]
}

each_command_that_takes_json_has_a_schema() {
	bloomery help --words | cut -f1 > commands; [ "$(wc -l < commands)" -gt 40 ]
	while read -r command; do
		bloomery help "$command" > text; not grep -q -- '^      --json ' text || echo "$command"
	done < commands | sort > takes
	sed -n 's/^\.Ss "*\([a-z, -]*\)"*$/\1/p' "$page" | sed 's/, /\n/g' | awk '{ print $1 }' | sort -u > has
	diff takes has
}

prove_all
