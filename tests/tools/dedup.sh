#!/bin/bash
# dedup.sh - blocks that were seen before, against an exact count by Python
. "${0%/*}/tap.sh"

# Files of 4 KiB blocks: a has 400 different ones, b 300 of those, 200 of its own and 100 twice, and each ends with a short one.
files()
{
	python3 -c '
import random
r = random.Random(7)
block = [r.randbytes(4096) for i in range(600)]
a = block[:400]
b = block[100:400] + block[400:600] + block[500:600]
r.shuffle(b)
open("a", "wb").write(b"".join(a) + b"end of a")
open("b", "wb").write(b"".join(b) + b"end of b")'
}
# What Python's set says: blocks and seen before of each file, in turn.
exactly()
{
	python3 -c '
import sys
seen = set()
for name in sys.argv[2:]:
    bytes, old, n = open(name, "rb").read(), 0, int(sys.argv[1])
    blocks = [bytes[i:i + n] for i in range(0, len(bytes), n)]
    for block in blocks:
        old += block in seen
        seen.add(block)
    print(len(blocks), old)' "$@"
}
counts() { sed -n 's/.*\t\([0-9]*\) blocks, \([0-9]*\) seen before.*/\1 \2/p'; }
number() { sed -n "s/.*[^0-9]\([0-9]*\) $1.*/\1/p" exits.err; }

blocks_are_counted_across_files_and_runs() {
	files; exactly 4096 a b a > want; same "$(tail -1 want)" '401 401'; same "$(sed -n 2p want)" '601 400'
	bloomery dedup --index i --blocks 4Ki a b a | sed -n 1,3p | counts | cmp - want
	for f in a b a; do bloomery dedup --index j --blocks 4Ki $f; done | counts | cmp - want
	bloomery dedup --index j b | counts | grep -qx '601 601'
	bloomery dedup --index k --blocks 4Ki - < a | counts | grep -qx '401 0'
	bloomery dedup --index k --blocks 4Ki a b --json > o; same "$(json 'all[0]["seen"], all[1]["seen"], all[2]["blocks"], all[2]["file"]' < o)" '(401, 400, 1002, None)'
	same "$(json 'all[1]["new_bytes"]' < o)" $((200 * 4096 + 8))
	exactly 100 a b > want; bloomery dedup --index m --blocks 100 a b | sed -n 1,2p | counts | cmp - want
	exactly 5000000 a b > want; bloomery dedup --index n --blocks 5m a b | sed -n 1,2p | counts | cmp - want
}

the_list_says_where_each_seen_block_stands() {
	files
	bloomery dedup --index i --blocks 4Ki a > /dev/null; bloomery dedup --index i --list b > seen
	same "$(wc -l < seen)" 400
	while IFS=$'\t' read -r name at bytes; do
		same "$name $((at % 4096)) $bytes" 'b 0 4096'
	done < seen
	bloomery dedup --index i --list --json b > o; same "$(json 'len(all), j["file"], j["bytes"]' < o)" "(601, 'b', 4096)"
	same "$(json '[x["offset"] for x in all] == [4096 * i for i in range(601)]' < o)" true
	: > empty; same "$(bloomery dedup --index i empty | counts)" '0 0'
}

no_stored_block_is_new_whatever_the_filters_state() {
	files; bloomery dedup --index i --blocks 4Ki a > /dev/null; cp i/filter.blm old
	bloomery dedup --index i b > /dev/null
	stored() { same "$(bloomery dedup --index i a b | sed -n 1,2p | counts | tr '\n' ,)" '401 401,601 601,'; }
	stored
	rm i/filter.blm; stored
	cp old i/filter.blm; stored
	head -c 5000 old > i/filter.blm; stored
	head -c 50000 /dev/urandom > i/filter.blm; stored
	bloomery create ./other -n 1000; cp other i/filter.blm; stored
	: > i/filter.blm; stored
}

a_run_that_is_killed_leaves_what_was_stored_stored() {
	files; bloomery dedup --index i --blocks 4Ki a > /dev/null; mkfifo p
	for i in 1 2 3; do
		"$BLOOMERY" dedup --index i - < p > /dev/null & pid=$!
		exec 8> p; cat b >&8; sleep 0.2; kill -9 $pid; exec 8>&-; wait $pid || true
		same "$(bloomery dedup --index i a | counts)" '401 401'
	done
}

without_an_index_a_run_knows_its_own_blocks() {
	files; mkdir tmp; exactly 4096 a b a > want
	for i in 1 2; do TMPDIR=$PWD/tmp bloomery dedup --blocks 4Ki a b a | sed -n 1,3p | counts | cmp - want; done
	TMPDIR=$PWD/tmp exits 2 bloomery dedup --blocks 4Ki a nosuch; same "$(ls tmp)" ''
	TMPDIR=$PWD/nosuch exits 2 bloomery dedup --blocks 4Ki a; says nosuch
	mkfifo p; TMPDIR=$PWD/tmp "$BLOOMERY" dedup --blocks 4Ki - < p & pid=$!
	exec 8> p; cat a >&8; sleep 0.5; kill -TERM $pid; exec 8>&-; code=0; wait $pid || code=$?; same $code 143; same "$(ls tmp)" ''
}

blocks_read_before_a_run_is_stopped_are_stored() {
	python3 -c '
import random
open("big", "wb").write(random.Random(8).randbytes(8 << 20))'
	mkfifo p; "$BLOOMERY" dedup --index i --blocks 4Ki - < p & pid=$!
	exec 8> p; cat big >&8; sleep 1; kill -TERM $pid; exec 8>&-; code=0; wait $pid || code=$?; same $code 143
	bloomery dedup --index i big | counts > seen; read -r blocks old < seen
	same "$blocks" 2048; [ "$old" -ge 1024 ]; same $((old % 1024)) 0
}

# The digests that a table has, one a line.
stored() { python3 -c '
import sys
file, none = open(sys.argv[1], "rb").read()[4096:], bytes(32)
for page in range(0, len(file), 4096):
    for at in range(page, page + 127 * 32, 32):
        if file[at:at + 32] != none: print(file[at:at + 32].hex())' "$1"; }

# Blocks of 64 bytes of which some are stored, and what dedup lists as seen: the stored ones are.
none_of_the_stored_is_called_new()
{
	stored i/hashes > stored
	bloomery dedup --index i --list $1 > listed
	python3 -c '
import hashlib, sys
bytes = open(sys.argv[1], "rb").read()
stored = set(open("stored").read().split())
seen = {int(line.split("\t")[1]) for line in open("listed")}
for at in range(0, len(bytes), 64):
    assert at in seen or hashlib.blake2b(bytes[at:at + 64], digest_size=32).hexdigest() not in stored' $1
}

whenever_it_is_killed_no_stored_block_is_called_new() {
	killed=0 times='20 50 90 140 200 270 350 440 600 800' a_ms=750 blocks=600000
	[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || times='20 90' blocks=67500
	if [ -n "${SANITIZED:-}" ]; then	# they are for each path once, and slow
		times='90 600' a_ms=150 blocks=120000
	fi
	python3 -c '
import random, sys
open("big", "wb").write(random.Random(5).randbytes(64 * int(sys.argv[1])))' $blocks
	mkfifo p
	for ms in $times; do
		head -c $((ms * 64 * a_ms)) big > part	# whole blocks
		"$BLOOMERY" dedup --index i --blocks 64 part p > /dev/null & pid=$!
		exec 8<> p	# open until the kill, so that no machine is so fast that the run ends before
		(exec cat big >&8) & feeder=$!
		sleep 0.$(printf %03d $ms); kill -9 $pid; wait $pid || true
		kill $feeder || true; wait $feeder || true; exec 8>&-
		[ -e i/hashes ] || continue
		killed=$((killed + 1))
		none_of_the_stored_is_called_new big
		rm -r i
	done
	[ $killed -ge 1 ]
	bloomery dedup --index i --blocks 64 big > /dev/null
	stored i/hashes > stored; same "$(wc -l < stored)" $blocks; exits 1 bloomery diff --hex i/filter.blm stored
}

damage_is_reported_and_forgets_no_block() {
	python3 -c '
import random
open("big", "wb").write(random.Random(6).randbytes(64 * 60000))'
	bloomery dedup --index whole --blocks 64 big > /dev/null
	bytes=$(stat -c %s whole/hashes)
	damage() { rm -rf i; cp -r whole i; dd if=$1 of=i/$2 bs=64K seek=$3 count=$4 oflag=seek_bytes iflag=count_bytes,fullblock conv=notrunc status=none; }
	for at in 8 24 40 4096 $((bytes / 2)) $((bytes - 28)); do	# a byte of the header, of a page, of a checksum
		damage <(printf '\377') hashes $at 1; exits 2 bloomery dedup --index i big; says damaged
	done
	damage /dev/zero hashes 4096 60000; exits 2 bloomery dedup --index i big; says damaged
	rm -r i; cp -r whole i; dd if=whole/hashes of=i/hashes bs=4096 skip=1 seek=9 count=1 conv=notrunc status=none
	exits 2 bloomery dedup --index i big; says damaged
	damage /dev/zero filter.blm 30000 60000
	same "$(bloomery dedup --index i big | counts)" '60000 60000'
	damage <(yes) filter.blm 20480 60000
	same "$(bloomery dedup --index i big | counts)" '60000 60000'
}

damage_found_while_storing_is_no_power_cut() {
	python3 -c '
import random
for n in 6, 7: open("big%d" % n, "wb").write(random.Random(n).randbytes(64 * 2000))'
	bloomery dedup --index i --blocks 64 big6 > /dev/null
	dd if=/dev/zero of=i/hashes bs=4096 seek=3 count=5 conv=notrunc status=none
	for run in 1 2; do exits 2 bloomery dedup --index i big7; says damaged; done
	exits 2 bloomery dedup --index i big6; says damaged
}

an_index_truncated_under_a_run_ends_it() {
	files; mkfifo p
	for bytes in 0 4096 20000; do
		bloomery dedup --index i --blocks 4Ki a > /dev/null
		"$BLOOMERY" dedup --index i p > /dev/null 2> exits.err & pid=$!
		exec 8> p; sleep 0.2; truncate -s $bytes i/hashes; cat a b >&8; exec 8>&-
		code=0; wait $pid || code=$?; same $code 2; same "$(wc -l < exits.err)" 1; says i/hashes; says damaged
		exits 2 bloomery dedup --index i a; says damaged
		rm -r i
	done
}

a_foreign_file_is_no_index_and_stays() {
	files; mkdir own; bloomery create ./own/filter.blm -n 1000; seq 1000 | bloomery add ./own/filter.blm
	exits 2 bloomery dedup --index own --blocks 8k a; says own/filter.blm; says 'another folder'
	same "$(ls own)" filter.blm; same "$(seq 1000 | bloomery test ./own/filter.blm -c)" 1000
	for name in filter.blm hashes.new; do
		mkdir text; echo mine > text/$name; exits 2 bloomery dedup --index text --blocks 8k a; says text/$name
		same "$(ls text)" $name; same "$(cat text/$name)" mine; rm -r text
	done
	ln -s nosuch own/hashes; rm own/filter.blm; exits 2 bloomery dedup --index own --blocks 8k a; says own/hashes; [ -L own/hashes ]
	mkdir empty; bloomery dedup --index empty --blocks 4Ki a | counts | grep -qx '401 0'
}

# By a user who may write in the folder; the filter is rebuilt, because there are more blocks than it has space for.
a_link_in_the_filters_place_leads_nowhere() {
	files; mkfifo p; bloomery create ./other -n 1000; seq 1000 | bloomery add ./other; cp other before
	bloomery dedup --index i --blocks 64 a > /dev/null
	"$BLOOMERY" dedup --index i p > log & pid=$!
	exec 8> p; seq -f %063.0f 1000 >&8
	rm i/filter.blm; ln -s ../other i/filter.blm
	head -c $((64 * 1100000)) /dev/urandom >&8; exec 8>&-
	wait $pid; cmp other before; [ ! -L i/filter.blm ]
	same "$(seq 1000 | bloomery test ./other -c)" 1000
}

an_index_without_its_table_is_not_restarted() {
	files; bloomery dedup --index i --blocks 4Ki a > /dev/null; cp i/hashes table; cp i/filter.blm filter
	rm i/hashes; exits 2 bloomery dedup --index i --blocks 4Ki a; says i/filter.blm; says i/hashes
	same "$(ls i)" filter.blm; cmp i/filter.blm filter
	rm i/filter.blm; cp table i/hashes.new		# of a run that was killed while it made the table larger
	exits 2 bloomery dedup --index i --blocks 4Ki a; says i/hashes.new; cmp i/hashes.new table
	cp table i/hashes; same "$(bloomery dedup --index i a | counts)" '401 401'
}

# What a kill leaves before the first table has its name: no header, some checksums, all of it.
an_index_whose_making_was_killed_is_made() {
	files; : > empty; bloomery dedup --index i --blocks 4Ki empty > /dev/null; cp i/hashes table; bytes=$(stat -c %s table)
	half() { rm -rf i; mkdir i; cat > i/hashes.new; same "$(bloomery dedup --index i --blocks 4Ki a | counts)" '401 0'; [ ! -e i/hashes.new ]; }
	half < /dev/null; head -c 5000 /dev/zero | half; head -c $bytes /dev/zero | half
	{ head -c 4096 /dev/zero; tail -c +4097 table; } | half
	{ head -c 4096 /dev/zero; may_be_cut tail -c +4097 table | head -c 8192; head -c $((bytes - 12288)) /dev/zero; } | half
	half < table
	rm -r i; mkdir i; cp table i/hashes; same "$(bloomery dedup --index i a | counts)" '401 0'
}

the_table_grows_and_the_filter_spares_looks_into_it() {
	local blocks=300000
	[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || blocks=100000
	python3 -c '
import random, sys
for n in 3, 4: open("big%d" % n, "wb").write(random.Random(n).randbytes(64 * int(sys.argv[1])))' $blocks
	for n in 3 4; do
		exits 0 bloomery dedup --index i --blocks 64 big$n --stats; same "$(counts < exits.out)" "$blocks 0"
		[ "$(number 'looked up')" -le $((blocks * 11 / 1000)) ]; same "$(number 'of these')" "$(number 'looked up')"
	done
	exits 0 bloomery dedup --index i big3 --stats; same "$(counts < exits.out)" "$blocks $blocks"
	same "$(number 'looked up')" $blocks; same "$(number 'of these')" 0
	[ "$(stat -c %s i/hashes)" -ge $((blocks * 2 * 32)) ]
	[ ! -e i/hashes.new ]
}

help_says_what_a_k_is() {
	files; bloomery dedup --index i --blocks 8K a > /dev/null; exits 2 bloomery dedup --index i --blocks 8Ki a; says '8000 bytes, not 8192'
	bloomery dedup --help | grep -e --blocks | grep -q '8Ki, which is 8192'
}

misuse_and_damage_are_one_line() {
	files; exits 64 bloomery dedup a; says --blocks
	exits 64 bloomery dedup --index i a; says --blocks; exits 64 bloomery dedup --index i --blocks 63 a
	exits 64 bloomery dedup --index i
	bloomery dedup --index i --blocks 4Ki a > /dev/null; exits 2 bloomery dedup --index i --blocks 8Ki a; says 4096
	exits 2 bloomery dedup --index i nosuch; says nosuch; exits 2 bloomery dedup --index i .; says directory
	exits 2 bloomery dedup --index a a; exits 2 bloomery dedup --index nosuch/i --blocks 4Ki a
	exec 9< i; flock 9; exits 2 bloomery dedup --index i a 9<&-; says 'another dedup'; exec 9<&-
	for bytes in 0 10 4095 4096 100000; do
		rm -r i; mkdir i; head -c $bytes /dev/urandom > i/hashes; exits 2 bloomery dedup --index i --blocks 4Ki a; says damaged
	done
}

prove_all
