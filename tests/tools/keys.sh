#!/bin/bash
# keys.sh - which keys the lines of an input are
. "${0%/*}/tap.sh"

make() { bloomery create ./f -n 1000 -p 1e-9 "$@"; }
has() { printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n' | bloomery test --hex -s ./f; }

each_line_is_a_key() {
	make; printf 'one\ntwo\n' | bloomery add ./f
	has one; has two; not has 'one
two'
}

the_last_line_needs_no_newline() {
	make; printf 'one\ntwo' | bloomery add ./f
	has two; same "$(printf 'two' | bloomery test ./f)" two
}

an_empty_line_is_the_empty_key() {
	make; same "$(printf '' | bloomery add ./f --count)" 0
	printf '' | exits 1 bloomery test ./f
	printf '\n' | exits 1 bloomery test ./f
	same "$(printf '\n\n' | bloomery add ./f --count)" 1
	printf '\n' | bloomery test -s ./f
}

a_carriage_return_belongs_to_the_key_without_crlf() {
	make; printf 'a\r\n' | bloomery add ./f
	has "$(printf 'a\r')"; not has a
	printf 'b\r\n' | bloomery add --crlf ./f
	has b
	same "$(printf 'b\r\n' | bloomery test --crlf ./f | od -An -tx1 | tr -d ' ')" 620d0a
}

with_0_lines_end_in_nul_and_may_hold_newlines() {
	make; printf 'a\nb\0c\0' | bloomery add -0 ./f
	has 'a
b'; has c; not has a
	same "$(printf 'c\0x\0' | bloomery test -0 ./f | od -An -tx1 | tr -d ' ')" 6300
}

hexadecimal_keys_may_be_any_bytes() {
	make; printf '00ff0A\n' | bloomery add --hex ./f
	same "$(printf '00FF0a\n' | bloomery test --hex ./f)" 00FF0a
	printf 'abc\n' | exits 2 bloomery add --hex ./f; says 'line 1'
	printf 'ab\nxy\n' | exits 2 bloomery add --hex ./f; says 'line 2'
	printf 'ab\n' | bloomery test -s --hex ./f
}

a_column_is_the_key_of_its_line() {
	make; printf 'x\tkey\ty\n' | bloomery add --field 2 ./f
	has key
	same "$(printf '1,key,z\n2,other,z\n' | bloomery test --field 2 --delimiter , ./f)" 1,key,z
	printf 'key\n' | bloomery test -s --field 1 ./f
	printf 'a\tb\n' | exits 2 bloomery add --field 3 ./f; says 'too few columns'
}

columns_of_csv_may_stand_in_quotes() {
	make; printf '1,"a,b",x\n2,"say ""hi""",x\n' | bloomery add --field 2 --delimiter , ./f
	has 'a,b'; has 'say "hi"'
	printf '1,"a,b\n' | exits 2 bloomery add --field 2 --delimiter , ./f; says quotes
	printf 'z\t"q"\n' | bloomery add --field 2 ./f
	has '"q"'
}

keys_of_the_command_line_are_taken_as_they_are() {
	make; same "$(bloomery add ./f --key one --key 'two
lines' --key '' --key -dash --key 'a	b' --count < /dev/null)" 5
	has one; has 'two
lines'; has -dash; printf '\n' | bloomery test -s ./f; has 'a	b'; not has two
	bloomery test ./f --key no --key 'two
lines' --key -dash > got; printf 'two\nlines\n-dash\n' | cmp - got
	exits 1 bloomery test ./f --key no
}

command_line_keys_come_before_files_and_stdin() {
	make; printf 'c\nb\n' > file; bloomery add ./f --key a file <<< d
	same "$(echo d | bloomery test ./f --key a file | tr '\n' ' ')" 'a c b '
	not has d; echo d | bloomery add ./f --key x -; has d
	same "$(echo d | bloomery test ./f - --key x | tr '\n' ' ')" 'x d '
}

line_options_hold_for_given_keys_where_possible() {
	make; bloomery add ./f --hex --key 00ff0A; same "$(printf '00FF0a\n' | bloomery test --hex ./f)" 00FF0a
	exits 2 bloomery add ./f --hex --key 31 --key xy; says '--key xy is not a key in hexadecimal digits'
	has 1; not has xy
	bloomery add ./f --field 3 --delimiter , --key 'a,b'; has 'a,b'
	bloomery add ./f --crlf --key "$(printf 'x\r')"; has "$(printf 'x\r')"; not has x
	same "$(bloomery test --crlf ./f --key 'a,b' | od -An -tx1 | tr -d ' ')" 612c620d0a
	same "$(bloomery test -0 ./f --key 'a,b' | od -An -tx1 | tr -d ' ')" 612c6200
}

every_command_with_keys_takes_them_from_the_command_line() {
	bloomery create s -n 100; bloomery create c -n 100 --kind counting; bloomery create v -n 100 --kind approximator --with bits=8
	same "$(bloomery claim s --key a --key b --key a | tr '\n' ' ')" 'a b '
	bloomery allow add s --key a; exits 1 bloomery test s --key a
	same "$(bloomery diff s --key b --key c)" c
	bloomery add c --key a --key b; bloomery remove c --key a; same "$(bloomery test c --key a --key b)" b
	bloomery put v --key a --value 3 --key b --value 0x10
	same "$(bloomery get v --key a --key b --key none | tr '\n\t' '  ')" 'a 3 b 16 '
	echo b > table; same "$(bloomery guard c --exact table --key a --key b)" b
	bloomery build ./b --kind fuse --key a --key b; same "$(bloomery test -c ./b --key a --key b)" 2
	bloomery build ./m --kind bloomier --value-bits 8 --key a --value 7; same "$(bloomery get ./m --key a)" "$(printf 'a\t7')"
	bloomery rebuild s --key new; bloomery test -s s --key new; exits 1 bloomery test s --key b
	bloomery rebuild v --key z --value 9; same "$(bloomery get v --key z)" "$(printf 'z\t9')"
	bloomery build ./g --kind golomb --with counted=1 -p 0.0001 --key a --key b
	bloomery update ./g --add-key c --remove-key a; same "$(bloomery test ./g --key a --key b --key c | tr '\n' ' ')" 'b c '
	bloomery bank ./one.bank s; same "$(bloomery which ./one.bank --key new)" s
}

a_given_key_and_its_value_stand_together() {
	bloomery create v -n 100 --kind approximator --with bits=8
	exits 64 bloomery put v --key a; says '--key a has no value; write --key a --value V'
	exits 64 bloomery put v --key a --key b --value 2; says '--key a has no value'
	exits 64 bloomery put v --value 2 --key a; says '--value 2: follows no --key that lacks a value'
	exits 64 bloomery put v --key a --value 1 --value 2; says '--value 2'
	exits 2 bloomery put v --key a --value x; says '--key a has "x" where its value is to be'
	exits 2 bloomery put v --key a --value 256; says '--key a: '
	exits 1 bloomery get v --key a
	exits 64 bloomery build ./b --kind fuse --key a --value 3; says 'takes keys without values'; test ! -e b
	exits 64 bloomery build ./b --kind bloomier --key a; says 'has no value'; test ! -e b
	exits 64 bloomery rebuild v --key a; says 'has no value'
}

a_key_instead_of_a_file_suggests_key() {
	make; bloomery create c -n 100 --kind counting; touch file
	for command in 'test ./f' 'add ./f' 'claim ./f' 'remove c' 'get c' 'rebuild ./f --from' 'build ./b' 'diff ./f'; do
		exits 2 bloomery $command 42; says '42: no such file; to give it as a key: --key 42'
	done
	exits 2 bloomery test ./f "it's"; says "it's: no such file; to give it as a key: --key KEY"
	exits 2 bloomery test ./f file/x; says 'to give it as a key: --key file/x'
	exits 2 bloomery test ./f "$(printf '%0300d' 0)"; says 'to give it as a key: --key KEY'
	exits 64 bloomery update ./f --key 42; says '--add-key or --remove-key'
	exits 64 bloomery allow list c --key 1; says 'leave --key 1 out'
	exits 64 bloomery diff c c --estimate --key 1; says 'leave --key 1 out'
	exits 2 bloomery join none; says 'none: No such file'; not says 'as a key'
	exits 2 bloomery filter none --in ./f; says 'none: No such file'; not says 'as a key'
}

packed_files_are_unpacked_by_their_content() {
	make; seq 500 > n; gzip -c n > g; zstd -qc n > z; cp n plain.gz
	same "$(bloomery add --count ./f g)" 500
	same "$(bloomery test -c ./f z)" 500
	same "$(bloomery test -c ./f plain.gz)" 500
	same "$(bloomery test -c ./f n g z)" 1500
	same "$(bloomery test -c ./f < g)" 500
}

packed_members_put_together_are_one_input() {
	make; seq 100 | gzip > g; seq 101 200 | gzip >> g; seq 100 | zstd -q > z; seq 101 200 | zstd -q >> z
	same "$(bloomery add --count ./f g)" 200
	same "$(bloomery test -c ./f z)" 200
}

truncated_or_damaged_packed_input_is_an_error() {
	make; seq 5000 | gzip > g; seq 5000 | zstd -q > z
	for p in g z; do
		for n in 5 20 100 1000; do
			head -c $n $p > cut; exits 2 bloomery test ./f cut; says cut
		done
		{ cat $p; echo rubbish; } > more; exits 2 bloomery test ./f more
		{ head -c 300 $p; head -c 300 /dev/zero; tail -c +601 $p; } > bad; exits 2 bloomery test ./f bad
	done
	head -c -1 g > cut; exits 2 bloomery test ./f cut
	head -c -1 z > cut; exits 2 bloomery test ./f cut
}

the_beginning_of_a_magic_number_is_plain_text() {
	make
	printf '\037\213' | bloomery add ./f; same "$(printf '\037\213' | bloomery test -c ./f)" 1
	printf '\050\265' | bloomery add ./f; same "$(printf '\050\265' | bloomery test -c ./f)" 1
}

lines_may_be_longer_than_any_block() {
	make
	{ head -c 3000000 /dev/zero | tr '\0' a; printf '\nb\n'; head -c 700000 /dev/zero | tr '\0' c; } > long
	same "$(bloomery add --count ./f long)" 3
	bloomery test ./f long | cmp - <(cat long; echo)
}

lines_are_printed_in_input_order() {
	make; seq 30000 | shuf > n; sed -n '1~3p' n | bloomery add -q ./f
	bloomery create ./g -n 30000 -p 1e-9; sed -n '1~3p' n | bloomery add ./g
	bloomery test ./g n | cmp - <(sed -n '1~3p' n)
	bloomery test -v ./g n | cmp - <(sed -n '1~3!p' n)
}

lines_of_a_slow_pipe_are_answered_as_they_come() {
	make; mkfifo in out
	bloomery claim ./f < in > out &
	exec 8> in 9< out
	for i in 1 2 3; do
		echo "line $i" >&8
		read -r -t 10 answer <&9
		same "$answer" "line $i"
	done
	exec 8>&-
	wait
}

a_whole_option_name_is_no_abbreviation() {
	make; head -c 16 /dev/zero | od -An -v -tx1 | tr -d ' \n' > a
	for command in 'info ./f' 'sync ./f' 'measure -n 100' 'create ./g -n 10' 'export ./f --format text' 'filter --in ./f'; do
		exits 64 bloomery $command --key a
		says ': --key is an option of other commands, like '; says '; for --key-file write it in full'
		exits 64 bloomery $command --key=a; says ': --key is an option of other commands'
	done
	exits 64 bloomery seal ./f --create x; [ ! -e g ]
	exits 64 bloomery hashes --value
	exits 64 bloomery bank b ./f --key a
	bloomery info ./f --key-file a > /dev/null
	bloomery info ./f --key-f a > /dev/null
	bloomery info ./f --key-f=a > /dev/null
	same "$(bloomery claim ./f --create --key new)" new
	same "$(bloomery claim ./f --key=newer --batc 7 --batc=8)" newer
	exits 64 bloomery update ./f --key a; says '--add-key or --remove-key'
}

several_files_and_stdin_are_read_in_turn() {
	make; echo a > a; echo c > c
	same "$(echo b | bloomery claim ./f a - c | tr '\n' ' ')" 'a b c '
}

a_missing_or_unreadable_input_is_named() {
	make; exits 2 bloomery add ./f nosuch; says nosuch
	exits 2 bloomery add ./f .; says 'directory'
	exits 2 bloomery add ./f <&-; says 'standard input'
}

any_input_gets_an_answer_or_one_error() {
	local i rounds=60
	[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || rounds=16
	make
	for ((i = 1; i <= rounds; i++)); do
		magic=('' '\037\213\010' '\050\265\057\375' '\122\052\115\030')
		{ printf "${magic[i % 4]}"; head -c $((RANDOM * 10)) /dev/urandom; } > noise
		for options in '' -0 --hex '--field 2 --delimiter ,' '--crlf --field 1'; do
			code=0; timeout 600 "$BLOOMERY" claim -q ./f $options noise > out 2> err || code=$?
			[ $code -le 2 ] || { echo "exit $code: $options"; return 1; }
			[ $code != 2 ] || same "$(wc -l < err)" 1
		done
	done
}

prove_all
