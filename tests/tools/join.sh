#!/bin/bash
# join.sh - tables through filters: filter, join against join(1), diff
. "${0%/*}/tap.sh"

tab=$'\t'
# BIG has 300,000 rows, SMALL 20,000 of which half are in BIG; columns: key, other.
tables()
{
	seq 1 300000 | shuf --random-source=<(yes 1) | sed 's/.*/k&\tbig &/' > big
	seq 290001 310000 | shuf --random-source=<(yes 2) | sed 's/.*/k&\tsmall &/' > small
}
sorted_join() { join -t "$tab" "$@"; }
by() { sort -t "$tab" -k "$1,$1" "$2"; }
number() { sed -n "s/.*[^0-9]\([0-9]*\) $1.*/\1/p" exits.err; }	# the number before a word of the last message of `exits`

filter_prints_rows_with_present_keys_and_few_others() {
	tables; bloomery build ./f -p 0.01 --field 1 small
	exits 0 bloomery filter big --in ./f --on 1 --stats; mv exits.out out
	same "$(number rows)" 300000; same "$(number passed)" "$(wc -l < out)"
	[ "$(number passed)" -ge 10000 ]; [ "$(number passed)" -le $((10000 + 290000 * 11 / 1000)) ]
	bloomery filter --in ./f < big | cmp - out
	grep -Fxf out big | cmp - out
	sort big > a; sort out > b; same "$(comm -13 a b | wc -l)" 0
	sorted_join -o 2.1,2.2 <(by 1 small) <(by 1 big) | sort > want; same "$(comm -23 want b | wc -l)" 0
	bloomery filter -v --in ./f big | sort - out | cmp - a
}

filter_exits_1_without_rows_and_names_missing_options() {
	bloomery create ./f -n 100 -p 1e-9; printf 'a\tb\n' | exits 1 bloomery filter --in ./f --stats
	same "$(number rows)" 1; same "$(number passed)" 0
	printf 'a\tb\n' | exits 64 bloomery filter; says --in
	printf 'a\tb\n' | exits 2 bloomery filter --in ./nosuch
	printf 'a\tb\n' | exits 2 bloomery filter --in ./f --on 3; says 'too few columns'
	printf 'a\tb\n' | exits 64 bloomery filter --in ./f --on 0
}

join_prints_what_join_prints_of_the_sorted_tables() {
	tables; sorted_join <(by 1 small) <(by 1 big) > want; same "$(wc -l < want)" 10000
	bloomery join small big --on 1 | sort > got; sort want | cmp - got
	bloomery join <(by 1 small) <(by 1 big) | cmp - want
	bloomery join small < big | sort | cmp - got
	bloomery join - big < small | sort | cmp - got
}

join_lets_few_rows_pass_that_have_no_match() {
	tables; exits 0 bloomery join small big --on 1 --stats
	same "$(number rows)" 300000; same "$(sed -n 's/.*of them had a match; \([0-9]*\) joined/\1/p' exits.err)" 10000
	[ "$(number passed)" -ge 10000 ]; [ "$(number passed)" -le $((10000 + 290000 * 11 / 1000)) ]
	exits 0 bloomery join small big -p 0.0001 --stats
	[ "$(number passed)" -le $((10000 + 290000 * 2 / 10000)) ]
}

the_halves_on_two_machines_make_the_join() {
	tables; bloomery build ./f -p 0.01 --field 1 small
	bloomery filter big --in ./f --on 1 | bloomery join small - --on 1 > a
	bloomery join small big --on 1 | cmp - a
}

each_pair_of_rows_with_one_key_is_printed() {
	printf 'a\t1\nb\t2\na\t3\n\t4\n' > small; printf 'a\tx\nc\ty\na\tz\nb\tw\n\tv\n' > big
	bloomery join small big > out; sort out > got
	sorted_join <(by 1 small) <(by 1 big) | sort | cmp - got
	same "$(head -2 out)" "$(printf 'a\t1\tx\na\t3\tx')"
}

join_takes_another_column_delimiter_and_end() {
	printf '1\ta\tp\n2\tb\tq\n' > small; printf 'x\ta\ty\nx\tc\ty\nz\ta\n' > big
	sorted_join -j 2 <(by 2 small) <(by 2 big) > want; bloomery join small big --on 2 | cmp - want
	same "$(bloomery join --on 3 <(echo "1${tab}2${tab}k") <(echo "3${tab}4${tab}k"))" "k${tab}1${tab}2${tab}3${tab}4"
	same "$(bloomery join --delimiter , <(printf '"a,b",1\n') <(printf '"a,b","x"",y"\n'))" '"a,b",1,"x"",y"'
	same "$(bloomery join --delimiter , --on 2 <(printf '"1,2","k"\n') <(printf 'x,k,y\n'))" '"k","1,2",x,y'
	same "$(bloomery join --crlf <(printf 'a\t1\r\nb\r\n') <(printf 'a\t2\r\nb\r\n') | od -An -tx1 | tr -d ' \n')" 61093109320d0a620d0a
	same "$(bloomery join -0 <(printf 'a\t1\n1\0') <(printf 'a\t2\0') | od -An -tx1 | tr -d ' \n')" 6109310a31093200
}

join_reads_packed_tables_with_any_threads() {
	tables; gzip -k small; zstd -q big; bloomery join small big -j 1 > want
	for j in 2 5; do bloomery join small.gz big.zst -j $j | cmp - want; done
	{ printf 'k1\t'; head -c 1000000 /dev/zero | tr '\0' x; echo; } > long
	same "$(bloomery join long long | wc -c)" 2000005
	may_be_cut yes "k${tab}1" | head -300 > many; same "$(bloomery join many many | wc -l)" 90000
}

join_of_tables_without_a_match_prints_nothing() {
	printf 'a\n' > a; printf 'b\n' > b; : > empty
	exits 1 bloomery join a b; same "$(cat exits.out)" ''
	exits 1 bloomery join empty b; exits 1 bloomery join a empty --stats; same "$(number rows)" 0
	exits 64 bloomery join; exits 64 bloomery join -; says 'standard input'; exits 64 bloomery join - a -; says 'standard input'
	exits 2 bloomery join nosuch b; exits 2 bloomery join a nosuch; exits 2 bloomery join a b --on 2; says 'too few columns'
	head -c 100000 /dev/urandom > noise; code=0; bloomery join noise noise > /dev/null 2>&1 || code=$?; [ $code -le 2 ]
	exits 2 bloomery join a b a b --delimiter , --on 2
}

diff_prints_nearly_all_keys_the_peer_lacks() {
	seq 1 200000 | bloomery build ./peer -p 0.01; seq 100001 300000 > own
	exits 0 bloomery diff ./peer own --stats; mv exits.out out
	same "$(awk '$1 <= 200000' out | wc -l)" 0; grep -Fxf out own | cmp - out
	[ "$(wc -l < out)" -ge 98900 ]; [ "$(wc -l < out)" -lt 100000 ]
	same "$(number keys)" 200000; same "$(number 'are not in ..peer')" "$(wc -l < out)"
	more=$(sed -n 's/.* about \([0-9]*\) others .*/\1/p' exits.err); hidden=$((100000 - $(wc -l < out)))
	[ $((more - hidden)) -lt 200 ]; [ $((hidden - more)) -lt 200 ]
	same "$(bloomery diff -c ./peer own)" "$(wc -l < out)"
	seq 1 200000 | bloomery build ./again -p 0.01; comm -13 <(sort out) <(sort own) | bloomery diff ./again > rest
	same "$(awk '$1 <= 200000' rest | wc -l)" 0; [ "$(sort -u out rest | wc -l)" -ge 99960 ]
	seq 1 200000 | exits 1 bloomery diff ./peer
}

# 1,000 times 600 objects of more than 500 bytes are 300 MB.
objects_of_one_batch_are_not_all_kept() {
	command -v python3 > /dev/null || { echo '# SKIP python3 is not installed'; return 0; }
	[ -z "${SANITIZED:-}" ] || { echo '# SKIP sanitizers take memory of their own'; return 0; }
	for i in {1..300}; do printf 'k\t%0250d\n' $i; done > small; for i in {1..1000}; do printf 'k\t%0250d\n' $i; done > big
	python3 -c '
import resource, subprocess, sys
out = subprocess.Popen([*sys.argv[1:], "join", "--json", "-j", "1", "small", "big"], stdout=subprocess.PIPE)
lines = sum(piece.count(b"\n") for piece in iter(lambda: out.stdout.read(1 << 20), b""))
assert (out.wait(), lines) == (0, 300000), lines
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert most < 100 << 10, most' "$BLOOMERY" 2> wrong || cat wrong
	same "$(< wrong)" ''
}

diff_refuses_filters_that_forget_their_own_keys() {
	for kind in stable window removable; do
		bloomery create ./f -n 1000 --kind $kind; echo a | exits 2 bloomery diff ./f; says $kind
		bloomery seal ./f; echo a | exits 2 bloomery diff ./f; says $kind; bloomery info ./f | grep -q 'forgets by design'; rm f
	done
	for kind in blocked classic counting cuckoo d-left scalable split-block; do
		seq 500 | { bloomery create ./f -n 1000 -p 1e-6 --kind $kind; bloomery add ./f; }
		seq 500 | exits 1 bloomery diff ./f; same "$(seq 499 501 | bloomery diff ./f)" 501; rm f
	done
}

diff_takes_the_filter_of_another_program() {
	bloomery create ./f --format guava -n 1000 -p 1e-6; seq 100 | bloomery add ./f; bloomery export ./f --format guava -o ./g
	same "$(seq 99 102 | bloomery diff ./g --format guava | tr '\n' ' ')" '101 102 '
}

prove_all
