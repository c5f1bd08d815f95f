#!/bin/bash
# guard.sh - a filter in front of an exact table: the table's answers, and few questions to it
. "${0%/*}/tap.sh"
: "${TABLE:?must be the program that makes LMDB tables}"

# 2000 hosts of a blacklist with a number each, the filter of them, and a log: 500 of them and 9500 others.
make_lists()
{
	seq 2000 | awk '{ print "host" $1 ".example\t" 7 * $1 }' | sort -t $'\t' -k 1,1 > rows
	cut -f 1 rows > keys
	"$TABLE" rows.mdb < rows
	"$TABLE" many.mdb hosts < rows
	bloomery create ./f -n 2000 -p 0.01 --seed 7; bloomery add ./f keys
	seq 1501 11500 | sed 's/.*/host&.example/' > log
	head -n 500 log > bad; tail -n +501 log > good
}

guard_prints_the_tables_keys_and_no_false_alarm() {
	make_lists
	not cmp -s bad <(bloomery test ./f log)		# the filter alone is wrong of some
	for db in keys 'keys --sorted' rows.mdb 'many.mdb --database hosts'; do
		bloomery guard ./f --exact $db log | cmp - bad
		bloomery guard ./f --exact $db -v < log | cmp - good
		same "$(bloomery guard ./f --exact $db -c log)" 500
		same "$(bloomery guard ./f --exact $db -c -v log)" 9500
		bloomery guard ./f --exact $db -s log; exits 1 bloomery guard ./f --exact $db good
	done
}

a_folder_of_lmdb_is_a_table_too() {
	make_lists
	mkdir folder; mv rows.mdb folder/data.mdb; rm rows.mdb-lock
	bloomery guard ./f --exact folder log | cmp - bad
	mkdir none; exits 2 bloomery guard ./f --exact none log; says data.mdb
}

it_counts_what_was_asked_and_what_was_avoided() {
	make_lists
	bloomery test ./f log -c > maybe
	for db in keys rows.mdb; do
		bloomery guard ./f --exact $db log --stats --json > stats
		holds "j['asked'] == 10000 and j['found'] == 500 and j['looked_up'] == $(cat maybe)" < stats
		holds 'j["avoided"] + j["looked_up"] == j["asked"] and j["false_alarms"] == j["looked_up"] - j["found"]' < stats
		holds 'j["false_alarms"] > 0 and j["false_alarm_rate"] == j["false_alarms"] / 9500' < stats
		bloomery guard ./f --exact $db log --stats | grep -qx 'looked up     '"$(cat maybe)"
	done
	exits 1 bloomery guard ./f --exact keys --stats --json < /dev/null; holds 'j["asked"] == 0 and j["false_alarm_rate"] == 0' < exits.out
}

learned_false_alarms_are_none_in_the_next_filter() {
	make_lists
	bloomery test ./f good > alarms; [ -s alarms ]
	for db in keys rows.mdb; do
		rm -f learned; bloomery guard ./f --exact $db --learn learned log | cmp - bad
		cmp learned alarms
	done
	printf 'half a key' > learned	# of a guard that was killed
	sed 's/^/x,/' log | bloomery guard ./f --exact keys --learn learned --stats --field 2 --delimiter , > stats
	cmp learned <(echo 'half a key'; cat alarms)
	bloomery build ./e -p 0.01 keys --not learned --seed 1
	exits 1 bloomery guard ./e --exact keys --learn more -c good; same "$(comm -12 <(sort learned) <(sort more))" ''
	bloomery build ./e --force -p 0.01 keys --not learned --not more --seed 1
	bloomery guard ./e --exact keys --learn last log | cmp - bad
	same "$(comm -12 <(sort learned) <(sort last))" ''; same "$(comm -12 <(sort more) <(sort last))" ''
	bloomery build ./e --force -p 0.01 keys --not good --seed 1
	bloomery guard ./e --exact keys --learn none log | cmp - bad
	[ ! -s none ]
	rm -f learned; tr '\n' '\0' < log | bloomery guard ./f -0 --exact rows.mdb --learn learned -c > count; tr '\0' '\n' < learned | cmp - alarms
	sed -n 1p alarms | tr -d '\n' | od -An -v -tx1 | tr -d ' \n' > hex; echo >> hex
	rm learned; exits 1 bloomery guard ./f --exact keys --learn learned --hex -c hex; cmp learned hex
	exits 2 bloomery guard ./f --exact keys --learn missing/learned log; says 'missing/learned'
	[ ! -w /dev/full ] || exits 2 bloomery guard ./f --exact keys --learn /dev/full log
}

two_guards_append_whole_keys_to_one_file() {
	make_lists; bloomery test ./f good > alarms
	mkfifo in; exec 5<> in; bloomery guard ./f --exact keys --learn learned in -c > count 5>&- &
	until [ -e learned ]; do sleep 0.01; done
	printf 'half a key' > learned	# of another guard, while this one has the file open
	cat alarms >&5; exec 5>&-; wait $! || same $? 1
	cmp learned <(echo 'half a key'; cat alarms); rm learned
	for _ in $(seq 20); do cat alarms; done > many
	for _ in 1 2 3; do bloomery guard ./f --exact keys --learn learned many -c > count & done; wait
	cmp <(sort learned) <(cat many many many | sort)
}

learned_keys_never_go_into_a_file_being_read() {
	make_lists; cp f filter; cp keys table; cp log input; mkdir db; cp rows.mdb db/data.mdb; ln log second
	exits 64 bloomery guard ./f --exact keys --learn f log; says 'is the filter'; exits 64 bloomery guard ./f --exact keys --learn ./keys log; says 'is the table'
	exits 64 bloomery guard ./f --exact db --learn db/data.mdb log; says 'is the table'; exits 64 bloomery guard ./f --exact keys --learn second good log; says 'read as keys'
	exits 64 bloomery guard ./f --exact keys --learn log < log; says 'read as keys'; exits 64 bloomery guard ./f --exact keys --learn - log; says 'no file'
	cmp f filter; cmp keys table; cmp log input; cmp db/data.mdb rows.mdb; [ ! -e ./- ]
}

values_come_from_the_table() {
	make_lists
	join -t $'\t' <(sort bad) rows > want
	for db in rows rows.mdb 'many.mdb --database hosts'; do
		bloomery guard ./f --exact $db --values log | sort | cmp - want
	done
	tr '\t' , < rows > rows.csv
	bloomery guard ./f --exact rows.csv --values --field 2 --delimiter , <<< 'x,host7.example' > out
	same "$(cat out)" 'x,host7.example,49'
	exits 64 bloomery guard ./f --exact rows --values -c; says --values
}

packed_files_are_refused_and_not_searched() {
	make_lists
	gzip -k keys; exits 2 bloomery guard ./f --exact keys.gz log; says 'packed with gzip, and what is packed cannot be searched: unpack it first with gzip -d'
	if command -v zstd > /dev/null; then zstd -q keys; exits 2 bloomery guard ./f --exact keys.zst log --sorted; says 'packed with zstd'; fi
}

lines_of_the_table_may_end_in_crlf_too() {
	make_lists
	sed 's/$/\r/' keys > keys.crlf; sed 's/$/\r/' log > log.crlf; sed 's/$/\r/' rows > rows.crlf
	same "$(bloomery guard ./f --exact keys.crlf --crlf -c log.crlf)" 500
	same "$(bloomery guard ./f --exact keys --crlf -c log.crlf)" 500
	bloomery guard ./f --exact rows.crlf --crlf --values log | cmp - <(bloomery guard ./f --exact rows --values log)
	exits 1 bloomery guard ./f --exact keys.crlf log
}

nothing_found_is_exit_1_whatever_is_printed() {
	make_lists
	for o in '' -c -q --stats --json '-q --stats'; do
		bloomery guard ./f --exact keys $o log > /dev/null; exits 1 bloomery guard ./f --exact keys $o good
	done
	exits 1 bloomery guard ./f --exact keys --stats -v bad
}

filters_that_forget_are_refused() {
	make_lists
	for kind in window stable; do
		bloomery create ./forgets -n 1000 --kind $kind --force; exits 2 bloomery guard ./forgets --exact keys log; says "kind $kind"
	done
}

help_says_how_lines_with_values_are_sorted() {
	bloomery guard --help | tr -s ' \n' ' ' | grep -qF 'a key, a tab (or --delimiter) and the value'
}

a_filter_that_lacks_a_key_hides_it() {
	make_lists
	bloomery create ./empty -n 10
	exits 1 bloomery guard ./empty --exact keys log
	exits 1 bloomery guard ./empty --exact keys log --stats --json; holds 'j["looked_up"] == 0 and j["avoided"] == 10000' < exits.out
}

lines_of_any_length_are_found_in_sorted_files() {
	head -c 100000 /dev/zero | tr '\0' b > long
	{ echo; echo a; cat long; echo; sed 's/b/c/g' long; echo; seq 1000 1999 | sed 's/^/d/'; printf z; } > sorted
	LC_ALL=C sort -c sorted
	{ cat sorted; echo; } > lines
	bloomery create ./all -n 1 -m 64; seq 10000 | bloomery add ./all -q	# says "maybe" of all
	bloomery guard ./all --exact sorted lines | cmp - lines
	bloomery guard ./all --exact sorted --sorted lines | cmp - lines
	printf '%s\n' aa b bb d d0 d1 d10000 d2000 e zz ' ' > absent
	exits 1 bloomery guard ./all --exact sorted absent
	for n in 0 1 2; do	# and in very short ones
		head -n $n lines > short
		bloomery guard ./all --exact short lines > out || [ $n = 0 ]
		cmp out short
	done
	tr '\n' '\0' < lines > null; bloomery guard ./all --exact null -0 null | cmp - null
}

keys_that_a_table_cannot_have_are_not_in_it() {
	make_lists
	bloomery create ./all -n 1 -m 64; seq 10000 | bloomery add ./all -q
	{ echo; head -c 3000 /dev/zero | tr '\0' h; echo; } | exits 1 bloomery guard ./all --exact rows.mdb
}

an_unsorted_file_is_refused_with_its_line() {
	make_lists
	seq 100 > numbers
	exits 2 bloomery guard ./f --exact numbers log; says 'line 10'; says sort
}

a_file_that_is_no_table_is_refused() {
	make_lists
	exits 64 bloomery guard ./f log; says --exact
	exits 2 bloomery guard ./f --exact nosuch log; says nosuch
	exits 2 bloomery guard ./f --exact /dev/null log
	exits 2 bloomery guard ./f --exact rows.mdb --database nosuch log; says nosuch
	exits 2 bloomery guard ./f --exact keys --database hosts log; says LMDB
	exits 2 bloomery guard ./nosuch --exact keys log; says nosuch
}

# Each way of damage in a copy: cut, garbage in a page, numbers of its first two pages, heads of others.
a_damaged_table_gives_a_message_and_no_crash() {
	make_lists
	python3 -c '
import os, random, subprocess, sys
good = open("rows.mdb", "rb").read()
pages = len(good) // 4096
random.seed(3)
for i in range(50):
	bad = bytearray(good)
	page = random.randrange(2, pages) * 4096
	if i % 5 == 0:
		del bad[random.randrange(len(bad)):]
	elif i % 5 == 1:
		bad[page:page + 4096] = random.randbytes(4096)
	elif i % 5 == 2:
		bad[page:page + 4096] = b"\xff" * 4096
	elif i % 5 == 3:
		for at in (random.randrange(40, 160), random.randrange(4136, 4256)):
			bad[at] ^= 1 << random.randrange(8)
	else:
		for _ in range(40):
			bad[random.randrange(2, pages) * 4096 + random.randrange(64)] = random.randrange(256)
	open("bad.mdb", "wb").write(bad)
	r = subprocess.run([os.environ["BLOOMERY"], "guard", "./f", "--exact", "bad.mdb", "keys", "-c"], capture_output=True, timeout=600)
	if r.returncode not in (0, 1, 2) or (r.returncode == 2 and b"bad.mdb" not in r.stderr):
		sys.exit("%d: %d %s" % (i, r.returncode, r.stderr))'
	head -c 30000 rows.mdb > cut.mdb; exits 2 bloomery guard ./f --exact cut.mdb keys; says cut
}

prove_all
