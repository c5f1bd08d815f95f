#!/bin/bash
# range.sh - filters that answer for ranges, and prefixes of keys
. "${0%/*}/tap.sh"

a_range_with_a_key_is_printed_in_either_form() {
	printf '10\n200\n18446744073709551615\n0\n' | bloomery build ./f --keys uint --width 16 -p 0.0001 --seed 3
	bloomery info ./f --json | holds 'j["kind"] == "range" and j["hash"] == "ordered-uint" and j["options"] == "width=16,nest=0" and j["sealed"]'
	printf '0..5\n1..9\n5..15\n11\t199\n100\t300\n201..18446744073709551614\n18446744073709551615\n10\n' > asked
	bloomery test --range ./f asked > out; same "$(sed -n 1,3p out)" "$(printf '0..5\n5..15\n100\t300')"
	same "$(bloomery test --range -c ./f asked)" 6	# and the longest one, which is not looked through
	printf '1,9,a\n9,11,b\n' > columns
	same "$(bloomery test --range --delimiter , ./f columns)" '9,11,b'
	same "$(bloomery test --range --field 2 --delimiter , ./f <<< 'x,8..12')" 'x,8..12'
	same "$(printf 'x,1..9,11\nx,8..12,y\n' | bloomery test --range --field 2 --delimiter , ./f)" x,8..12,y
	same "$(printf 'x\t1\t9\nx\t9\t11\ty\nx\t10\n' | bloomery test --range --field 2 ./f)" "$(printf 'x\t9\t11\ty\nx\t10')"
	same "$(printf '9,11\r\n' | bloomery test --range -c --crlf --delimiter , ./f)" 1
	for field in '' '--field 1'; do
		exits 2 bloomery test --range $field --delimiter , ./f <<< '"9","11"'; says 'line 1 has a range in columns with quotes'
		exits 2 bloomery test --range $field --delimiter , ./f <<< '9,"11"'; says 'columns with quotes'
		exits 2 bloomery test --range $field --delimiter , ./f <<< '"9,11"'; says 'a delimiter in the quotes'
		same "$(bloomery test --range $field --delimiter , ./f <<< '"9..11"')" '"9..11"'
	done
	same "$(bloomery test --range -v ./f <<< 1..9)" 1..9
	exits 1 bloomery test --range -s ./f --key 1..9
	bloomery test --range -s ./f --key 1..10
	same "$(printf '10\n11\nten\n' | bloomery test ./f)" 10
}

its_space_is_compared_with_that_of_ranges() {
	seq 1 1000 10000000 | bloomery build ./f --keys uint --width 16 -p 0.0078125 --seed 3
	bloomery info ./f | grep -q 'space .* bits a key; log2(width/rate) is 11$'
	bloomery plan --kind range --with width=16 -n 10000 -p 0.0078125 --json | holds 'j["lower_bound"] == 11 and j["bits_per_key"] / 11 == j["over_lower_bound"]'
	same "$(bloomery plan --kind range -n 10000 | grep -c 'no filter takes fewer')" 0
	bloomery plan -n 10000 -p 0.0078125 > out; grep -q 'no filter takes fewer than 7 bits/key' out; grep -q '^range .* 1\.1[0-9]* .* 0\.0077' out
}

each_length_of_network_counts_for_the_rate() {
	for length in {27..32}; do printf "%s/$length\n" 10.{1..64}.0.0; done > nets
	bloomery build ./f --keys cidr -n 384 -p 0.01 --width 1 nets
	bloomery info ./f --json | holds 'abs(j["predicted_rate"] - 0.0582) < 0.0003 and j["facts"]["lengths of keys"] == 6'
	bloomery info ./f | grep -q '^ *capacity .*0.01 promised, 0.058'
	grep '/32$' nets | bloomery build ./g --keys cidr -n 384 -p 0.01 --width 1
	bloomery info ./g --json | holds 'abs(j["predicted_rate"] - 0.01 / 6) < 0.0001'
}

numbers_have_signs_and_ends() {
	printf '%s\n' -9223372036854775808 -5 9223372036854775807 | bloomery build ./f --keys int -p 1e-6 --width 100
	same "$(printf -- '-10..-1\n-4..50\n0\t9223372036854775807\n-9223372036854775808..-9223372036854775800\n' | bloomery test --range -c ./f)" 3
	exits 2 bloomery test --range ./f <<< 9223372036854775808..9223372036854775809; says 'no whole number'
	: | bloomery build ./none --keys int
	exits 1 bloomery test --range ./none <<< -9223372036854775808..9223372036854775807
}

a_network_answers_for_addresses_and_overlapping_ranges() {
	printf '10.0.0.0/8\n192.168.1.0/24\n2001:db8::/32\n1.2.3.4\n' | bloomery build ./f --keys cidr -p 0.0001 --seed 3
	printf '%s\n' 10.1.2.3 11.0.0.0 192.168.0.0/16 192.168.2.0/24 2001:db8:1::5 2001:db9:: 1.2.3.4 1.2.3.5 ::ffff:10.9.9.9 0.0.0.0/0 > asked
	same "$(bloomery test ./f asked | tr '\n' ' ')" '10.1.2.3 192.168.0.0/16 2001:db8:1::5 1.2.3.4 ::ffff:10.9.9.9 0.0.0.0/0 '
	same "$(printf '9.255.255.0..10.0.0.0\n11.0.0.0..11.0.0.200\n1.2.3.0\t1.2.3.9\n' | bloomery test --range -c ./f)" 2
	same "$(bloomery test --range ./f --key 192.168.1.128/25)" 192.168.1.128/25
	bloomery info ./f --json | holds 'j["facts"]["lengths of keys"] == 4 and j["facts"]["rate of one key"] < 1e-5'
	exits 2 bloomery build ./g --keys ip <<< ::/0; says 'all addresses'
	exits 2 bloomery build ./g --keys ip <<< ::/64; says 'around all mapped addresses'
	exits 2 bloomery test --range ./f <<< ::/64; says 'around all mapped addresses'
	exits 2 bloomery build ./g --keys ip <<< 10.0.0.0/33; says 'line 1 is refused'
}

times_are_seconds_in_two_forms() {
	printf '2024-05-01T12:00:00Z\n1700000000\n' | bloomery build ./f --keys time -p 1e-6
	same "$(printf '2024-05-01 13:00+01:00\n1714564800.7\n2024-05-01T12:00:01Z\n' | bloomery test -c ./f)" 2
	bloomery test --range -s ./f <<< 2024-05-01..2024-05-02
	exits 1 bloomery test --range -s ./f <<< 2024-05-02T00:00..2024-05-02T00:15
	exits 2 bloomery build ./g --keys time <<< yesterday; says 'no time'
}

urls_are_asked_by_their_host_reversed() {
	printf 'https://www.example.org/a\nhttp://foo.de/x\n' | bloomery build ./f --keys surt -p 1e-6
	same "$(printf 'www.example.org\nfoo.de/x\nbar.de/x\n' | bloomery test ./f | tr '\n' ' ')" 'www.example.org foo.de/x '
	same "$(bloomery test --range -c ./f <<< 'a.de..z.de')" 1
	printf 'apple\npear\n' | bloomery build ./g -p 1e-3 --width 1Ti --seed 3
	bloomery info ./g --json | holds 'j["kind"] == "range" and j["hash"] == "ordered-string"'
	same "$(printf 'peas..peat\npea..peas\n' | bloomery test --range ./g)" pea..peas
}

an_invalid_range_is_refused_with_its_line() {
	seq 100 200 | bloomery build ./f --keys uint
	exits 2 bloomery test --range ./f < <(printf '150..160\n9..5\n'); says 'line 2 is refused' && says 'ends before it begins'
	same "$(bloomery test --range ./f < <(printf '150..160\n9..5\n150..151\n') 2> /dev/null)" 150..160
	exits 2 bloomery test --range ./f <<< 10..x; says '"x" is no whole number'
	seq 10 | bloomery build ./g --kind golomb
	exits 2 bloomery test --range ./g <<< 1..2; says 'these kinds can: range'
	exits 64 bloomery test --range --hex ./f; says exclude
	exits 64 bloomery test --range --prefix ./f; says exclude
	exits 64 bloomery test --prefix ./f; says 'test --range'
	exits 64 bloomery build ./h --keys float; says 'no such type'
	exits 64 bloomery build ./h --keys int --hash xxh3; says exclude
	exits 2 bloomery build ./h --kind range --hash xxh3; says 'cannot use the hash'
	exits 2 bloomery build ./h --keys uint <<< -1; says 'line 1 is refused'
}

range_filters_are_merged_and_take_more_keys() {
	seq 1 1000 1000000 | bloomery build ./a --keys uint -n 4000 --seed 3 -p 0.0001 --width 8
	seq 2 1000 1000000 | bloomery build ./b --keys uint -n 4000 --seed 3 -p 0.0001 --width 8
	bloomery merge ./a ./b -o ./c
	same "$(seq 1 1000 1000000 | bloomery test -c ./c)" 1000
	same "$(seq 2 1000 1000000 | bloomery test -c ./c)" 1000
	bloomery update ./c --add <(seq 3 1000 1000000)
	same "$(seq 3 1000 1000000 | bloomery test -c ./c)" 1000
	[ "$(seq 500 1000 1000000 | bloomery test -c ./c)" -lt 5 ]
	exits 2 bloomery update ./c --remove <(echo 1); says 'does not know how often'
	exits 2 bloomery update ./c --add <(printf '3\nx\n4\n'); says 'line 2 is refused: "x" is no whole number'
	seq 5 1000 1000000 | bloomery build ./d --keys uint -n 4000 --seed 4 -p 0.0001 --width 8
	exits 2 bloomery merge ./a ./d -o ./e
}

a_listed_range_in_other_words_is_unlisted_when_given() {
	for i in {1..100}; do echo 192.168.$i.1; done | bloomery build net --keys cidr -p 0.9 --width 1 -n 200 --seed 3
	for i in {1..250}; do echo 10.1.2.$i; done | bloomery test net > wrong
	bloomery allow add net wrong; exits 1 bloomery test net wrong
	cp wrong was
	bloomery update net --add <(echo 10.0.0.0/8); bloomery test net wrong | cmp - was
	seq 1000 1100 | bloomery build number --keys uint -p 0.9 --width 1 --seed 3
	seq 200 999 | bloomery test number > wrong; head -n 1 wrong > one
	bloomery allow add number wrong; exits 1 bloomery test number one
	sed s/^/0/ one | cat - <(seq 1000 1100) | bloomery build number --keys uint -p 0.9 --width 1 --seed 3 --force
	bloomery test number one | cmp - one
	bloomery allow add number one; bloomery update number --add <(sed s/^/00/ one)
	bloomery test number one | cmp - one
}

prefixes_tell_whether_there_is_a_page_below_a_path() {
	bloomery create ./f -n 1000 -p 1e-6
	same "$(printf 'https://e.org/a/b/c?q=/z\nhttps://e.org/d/\n' | bloomery add --count --prefixes / ./f)" 2
	same "$(printf 'https://e.org\nhttps://e.org/a\nhttps://e.org/d/\n' | bloomery test ./f)" https://e.org/d/
	printf '%s\n' https://e.org https://e.org/ https://e.org/a/ https://e.org/a/b https://e.org/a/b/c https://e.org/a/x https://e.or \
		https://e.org/a/b/c?else https://e.org/d https:// > asked
	same "$(bloomery test --prefix ./f asked | tr '\n' ' ')" \
		'https://e.org https://e.org/ https://e.org/a/ https://e.org/a/b https://e.org/a/b/c https://e.org/a/b/c?else https://e.org/d https:// '
	bloomery create ./g -n 1000 -p 1e-6
	bloomery add --prefixes . ./g <<< org.example.www
	same "$(printf 'org\norg.example\norg.exam\norg.example.www.\n' | bloomery test --prefixes . ./g | tr '\n' ' ')" 'org org.example org.example.www. '
}

the_root_is_above_all_keys() {
	bloomery create ./f -n 1000 -p 1e-6
	printf '/\n\nhttp://\n' > asked
	exits 1 bloomery test --prefix ./f asked
	printf '/a/b\n/c\n' | bloomery add --prefixes / ./f
	same "$(bloomery test --prefix ./f asked)" "$(printf '/\n\n')"
	bloomery add --prefixes / ./f <<< http://e.org
	bloomery test --prefix ./f asked | cmp - asked
	same "$(printf 'http:\nhttp:/\nhttps://\n' | bloomery test --prefix -c ./f)" 2
	bloomery create ./g -n 1000 -p 1e-6
	bloomery add --prefixes . ./g <<< org.example
	bloomery test -s --prefixes . ./g <<< ''
}

prefixes_are_refused_where_keys_can_be_removed() {
	bloomery create ./bitmap --kind bitmap -n 5000
	exits 64 bloomery add --prefixes / ./bitmap <<< 5; says 'its keys are numbers'
	for kind in cuckoo d-left counting removable iblt redis-cuckoo recent; do
		bloomery create ./$kind --kind $kind -n 5000
		exits 64 bloomery add --prefixes / ./$kind <<< http://e.org/a; says 'cannot remove, like blocked'
		exits 1 bloomery test ./$kind <<< http://e.org/a
	done
}

a_prefix_of_many_keys_is_in_the_filter() {
	for kind in classic blocked split-block scalable; do
		bloomery create ./$kind --kind $kind -n 5000 -p 0.001
		seq -f 'http://e.org/a/%g' 1000 | bloomery add --prefixes / ./$kind
		same "$(printf 'http://e.org/a\nhttp://e.org\nhttp://e.org/a/7\n' | bloomery test --prefix -c ./$kind)" 3
	done
}

a_long_key_with_many_prefixes_takes_little_memory() {
	bloomery create ./f -n 100000 -p 1e-6
	printf 'http://e.org%s\n' "$(printf '/%0199d' {1..4000})" > long
	([ "${SANITIZED:-}" ] || ulimit -d 400000; bloomery add --prefixes / ./f long)
	same "$(cut -c 1-50000 long | bloomery test --prefix -c ./f)" 0
	cut -c 1-50199 long | sed 's,/[^/]*$,,' > part; same "$(bloomery test --prefix -c ./f part)" 1
	printf 'http://e.org/x\nhttp://e.org%s\nhttp://e.org/y\n' "$(printf '/%d' {1..4096})" > many
	exits 2 bloomery add --prefixes / ./f many; says 'line 2 is refused: its key has more than 4096 prefixes'
	same "$(printf 'http://e.org/x\nhttp://e.org/y\nhttp://e.org/1/2\n' | bloomery test --prefix ./f)" http://e.org/x
}

prove_all
