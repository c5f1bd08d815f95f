#!/bin/bash
# arguments.sh - whatever stands on the command line gives an answer or one clear line
. "${0%/*}/tap.sh"

# Results go to a filter, a file or a folder, so the value of -o has several names.
an_option_has_one_letter_and_one_sort_of_value() {
	local command
	bloomery help --all | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' > commands; [ "$(wc -l < commands)" -gt 50 ]
	while read -r command; do
		COLUMNS=100 bloomery help "$command" | sed -nE 's/^  (-(.), |    )--([a-z0-9-]+) ?([^ ]*).*/\3 \2 \4/p' | sed 's/  / - /'
	done < commands | sort -u > options; [ "$(wc -l < options)" -gt 100 ]
	awk '$1 != "output" && $1 in letter && (letter[$1] != $2 || value[$1] != $3) { print $1 ": " letter[$1], value[$1] " and " $2, $3; bad = 1 }
		$2 != "-" && $2 in name && name[$2] != $1 { print "-" $2 ": " name[$2] " and " $1; bad = 1 }
		{ letter[$1] = $2; value[$1] = $3; name[$2] = $1 } END { exit bad }' options
}

impossible_numbers_name_the_option_and_the_value() {
	while read -r option value; do
		exits 64 bloomery create ./f "$option" "$value"; says "$option $value"
		[ ! -e f ]
	done <<-'E'
		-n 0
		-n -1
		-n 1e30
		-n 10x
		-n 1.5
		-n ten
		-n nan
		-n inf
		-n 0x10
		-n 18446744073709551615
		-n 18446744073709551616
		-n 10000000000000000000
		-n 140737488355329
		-n 99999999999999999999999999999999999999999999999999
		-n 1e999999
		-n 10kk
		-n 10kib
		-n .
		-n -
		-p 0
		-p 1
		-p 2
		-p -0.5
		-p nan
		-p inf
		-p -inf
		-p 0.01x
		-p x
		-m 0
		-m -5
		-m 281474976710656
		-m 18446744073709551616
		-k 0
		-k 257
		-k -1
		-k 1e8
		-k 4294967297
		--seed -1
		--seed 18446744073709551616
		--seed x
		--tweak x
		--mode 888
		--mode 0
		--mode 7777
		--mode rw
	E
}

empty_values_are_refused() {
	for option in -n -p -m -k --seed --tweak --mode; do
		exits 64 bloomery create ./f $option ''
	done
	exits 64 bloomery add ./f --delimiter ''
	exits 64 bloomery add ./f --delimiter ab
	exits 64 bloomery add ./f --field 0
	exits 64 bloomery claim ./f --batch 0
	exits 2 bloomery ls --store ''
}

a_number_may_be_written_in_many_ways() {
	while read -r text value; do
		same "$(bloomery plan -n "$text" --kind classic --json | json 'j["capacity"]')" "$value"
	done <<-'E'
		1 1
		10k 10000
		1.5m 1500000
		0.3m 300000
		4.35m 4350000
		0.1g 100000000
		1000.0 1000
		4Ki 4096
		4ki 4096
		1e6 1000000
		1e3k 1000000
		2g 2000000000
		1t 1000000000000
		1Gi 1073741824
		010 10
	E
}

rates_out_of_reach_are_refused_in_words() {
	exits 64 bloomery create ./f -n 10 -p 1e-300
	exits 64 bloomery create ./f -n 140737488355328 -p 1e-15
	[ ! -e f ]
}

unknown_options_and_missing_values_are_named() {
	exits 64 bloomery create --nosuch ./f; says --nosuch
	exits 64 bloomery create -X ./f; says -X
	exits 64 bloomery create ./f -n; says -n; says KEYS
	exits 64 bloomery create ./f --capacity; says KEYS
	exits 64 bloomery info --json=yes ./f; says --json
	exits 64 bloomery ls --force
	exits 64 bloomery test ./f -Z
	exits 64 bloomery test ./f "-$(printf '\001')"
}

a_wrong_number_of_arguments_shows_what_is_due() {
	exits 64 bloomery create -n 10; says 'create F'
	exits 64 bloomery create -n 10 ./a ./b; says './b'
	exits 64 bloomery template ./a; exits 64 bloomery mv a; exits 64 bloomery compare a
	exits 64 bloomery add; exits 64 bloomery test; exits 64 bloomery claim; exits 64 bloomery info
	exits 64 bloomery union a -o b; exits 64 bloomery sync; exits 64 bloomery drop; exits 64 bloomery kinds x
}

options_that_exclude_each_other_say_so() {
	exits 64 bloomery create ./f; says '-n'
	exits 64 bloomery create ./f -p 0.01; says '-n'
	exits 64 bloomery create ./f -n 10 --untrusted --hash xxh3; says siphash
	exits 64 bloomery union a b; says --in-place
	exits 64 bloomery union a b -o c --in-place; says --in-place
	exits 64 bloomery plan; exits 64 bloomery plan -n 10 -m 10 -p 0.1; exits 64 bloomery plan --table -n 10
	exits 64 bloomery plan -n 10 -k 1..3; exits 64 bloomery plan --table --mn 5..3; exits 64 bloomery plan --table --mn 5..x
	bloomery create ./f -n 10
	exits 64 bloomery add ./f -0 --crlf; says --crlf
}

unknown_kinds_and_hashes_are_named() {
	exits 64 bloomery create ./f -n 10 --kind nosuch; says nosuch
	exits 64 bloomery create ./f -n 10 --hash nosuch; says nosuch
	exits 64 bloomery create ./f -n 10 --kind blocked --hash murmur3-bip37
	exits 64 bloomery create ./f -n 10 --kind blocked --hash mm3_64; says classic
	exits 64 bloomery create ./f -m 5g --hash djb; says '2^32'
	exits 64 bloomery create ./f -n 10 -k 3 --hash md5 --seed 1; says 'one for each probe'
	exits 64 bloomery create ./f -n 10 --hash md5 --seed 4294967296; says 4294967296
	exits 64 bloomery plan -n 10 --kind nosuch; says nosuch
}

an_unknown_command_suggests_the_nearest() {
	exits 64 bloomery ad; says "'add'"
	exits 64 bloomery crate; says "'create'"
	exits 64 bloomery unoin; says "'union'"
	exits 64 bloomery frobnicate; says "frobnicate"
	exits 64 bloomery ''
	exits 64 bloomery "$(head -c 5000 /dev/zero | tr '\0' x)"
	exits 64 bloomery help creat; says "'create'"
	exits 64 bloomery --nosuch
	code=0; bloomery 2> err || code=$?; same $code 64; grep -q usage err
}

names_that_are_none_are_refused() {
	bloomery create good -n 10
	long=$(head -c 256 /dev/zero | tr '\0' a)
	for name in '' . .. "$(printf 'a\nb')" "$(printf '\377x')" "$(printf 'a\033[31m')" "$long"; do
		exits 2 bloomery create "$name" -n 10
		exits 2 bloomery info "$name"
		exits 2 bloomery mv good "$name"
	done
	same "$(bloomery ls)" good
	exits 64 bloomery mv good ./x; exits 64 bloomery drop ./x; exits 64 bloomery label ./x a=b
	exits 64 bloomery publish good ./x
	bloomery create "${long%a}" -n 10; bloomery create 'spaces and ünïcode' -n 10; bloomery create -n 10 -- -dash
	same "$(bloomery ls | wc -l)" 4
}

paths_that_are_no_filters_are_refused_at_once() {
	mkdir d; mkfifo p; : > empty; echo text > text; ln -s nowhere dangling; head -c 100000 /dev/urandom > noise
	for path in ./d ./p ./empty ./text ./dangling ./noise /dev/null /dev/zero ./nosuch ./no/such /proc/self/mem; do
		exits 2 timeout 600 "$BLOOMERY" info "$path"; says "$path"
		exits 2 timeout 600 "$BLOOMERY" add "$path"
		code=0; timeout 600 "$BLOOMERY" verify "$path" > verified 2>&1 || code=$?; [ $code = 1 ] || [ $code = 2 ]
	done
	for path in ./d ./p ./text ./dangling /dev/null ./no/such; do
		exits 2 timeout 600 "$BLOOMERY" create "$path" -n 10
	done
	[ ! -e nowhere ]; same "$(cat text)" text
}

no_filter_appears_where_one_could_not_be_made() {
	exits 2 bloomery template ./nosuch ./b; exits 2 bloomery union ./x ./y -o ./c; exits 2 bloomery copy nosuch ./b
	exits 2 bloomery create ./huge -n 1t -p 1e-6
	same "$(ls -A | grep -v exits)" ''
}

sizes_larger_than_the_limit_of_files_fail_clean() {
	(ulimit -f 100; exits 2 bloomery create ./f -n 10m -p 0.01)
	same "$(ls -A | grep -v exits)" ''
}

small_filters_work() {
	for m in 1 2 3 7 8 63 64 65 127 1000; do
		bloomery create ./m$m -m $m -k 3
		same "$(seq 5 | bloomery add ./m$m -q; seq 5 | bloomery test -c ./m$m)" 5
		same "$(bloomery info ./m$m --json | json 'j["m"], j["k"], j["kind"]')" "($m, 3, 'classic')"
	done
	for n in 1 2 10; do for p in 0.99 0.5 1e-15; do
		bloomery create ./n$n-$p -n $n -p $p; seq $n | bloomery add ./n$n-$p
		same "$(seq $n | bloomery test -c ./n$n-$p)" $n
	done; done
}

an_unsuitable_scheme_names_the_hashs_own() {
	exits 64 bloomery create ./f --scheme slices -n 1000 -p 0.01; says 'these hashes go with them: sha256-digest, sha384-digest, sha512-digest'
	bloomery create ./f --scheme slices -n 1000 -p 0.01 --hash sha512-digest
	exits 64 bloomery create ./g --scheme slices -m 1000 -k 100; says 'its digest has fewer slices than probes'; not grep -q 'these hashes' exits.err
	exits 64 bloomery create ./g --scheme slices -n 1e9 -p 0.01; says 'do not go with the hash xxh3'; not grep -q 'these hashes' exits.err
}

messages_stay_on_one_line_whatever_the_name() {
	exits 2 bloomery info "$(printf './a\nb\033c')"
	exits 64 bloomery "$(printf 'x\ny')"
	exits 64 bloomery create ./f -n "$(printf '1\n2')"
	exits 2 bloomery info "./$(head -c 3000 /dev/zero | tr '\0' a)"
}

the_store_may_stand_before_the_command() {
	bloomery --store ./other create a -n 10
	same "$(bloomery --store ./other ls)" a; same "$(bloomery --store=./other --anyone ls)" a
	same "$(bloomery ls --store ./other)" a; same "$(bloomery --store ./none ls --store ./other)" a
	bloomery --store ./other kinds > out
	exits 64 bloomery --store; says 'needs a value, DIR'
	exits 64 bloomery --stor=x --frob ls; says '--frob stands where a command is due'
	exits 64 bloomery --json ls; says '--json stands where a command is due'
}

a_rate_can_be_in_per_cent() {
	bloomery plan -n 1000 -p 0.1% > out; bloomery plan -n 1000 -p 0.001 | cmp - out
	exits 64 bloomery plan -n 1000 -p 100%; says '-p 100%: not a rate'
	exits 64 bloomery plan -n 1000 -p %; exits 64 bloomery plan -n 1000 -p 0.1%%
}

help_names_the_pages_of_kinds_hashes_and_formats() {
	exits 64 bloomery help ribbon; says 'a kind of filter'
	exits 64 bloomery help murmur3-bip37; says 'a hash'
	exits 64 bloomery help guava; says 'a file format'
}

only_a_near_command_is_proposed() {
	for word in foo xyz lst2 cluster; do
		exits 64 bloomery "$word"; same "$(cat exits.err)" "bloomery: no command '$word'; see 'bloomery help'"
	done
	exits 64 bloomery adn; says "did you mean 'add'"
	exits 64 bloomery help clam; says "did you mean 'claim'"
	exits 64 bloomery intresect; says "did you mean 'intersect'"
	exits 64 bloomery rm; says "did you mean 'drop'"
	exits 64 bloomery help list; says "did you mean 'ls'"
}

names_that_look_like_calls_stay_as_given() {
	bloomery create label -n 10; bloomery drop label
	exits 2 bloomery info './blm_copy()'; says './blm_copy(): '; not grep -q 'bloomery copy' exits.err
	exits 2 bloomery info 'blm_copy()'; says 'blm_copy(): '; not grep -q 'bloomery copy' exits.err
	bloomery create ./f -n 10
	exits 2 bloomery add ./f 'blm_verify()'; says 'blm_verify(): no such file'; not grep -q 'bloomery verify' exits.err
	echo text > 'blm_fold()'
	exits 2 bloomery import 'blm_fold()' ./g; says 'blm_fold(): text, not a filter; `bloomery add` adds its keys to a filter'
	exits 64 bloomery create ./g -n 10 --hash nosuch; says 'there is no hash "nosuch"; see `bloomery hashes`'
	exits 2 bloomery info label; says '`bloomery ls`'
	printf 'a\n300\n' > keys; bloomery create ./b --kind bitmap -m 100
	exits 2 bloomery add ./b keys; says 'is refused: '
}

prove_all
