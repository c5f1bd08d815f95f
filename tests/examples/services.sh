#!/bin/bash
# services.sh - the example of service discovery finds what it must, where it must
. "${TAP:?must be tests/tools/tap.sh}"
: "${SERVICES:?must be the path of the example}"

the_service_is_two_hops_away_behind_n2() {
	bash "$SERVICES" . > out
	diff - out << 'END'
n1: a printer is 2 hops away; next hop n2
n2: a printer is 1 hops away; next hop n3
n3: here it is
END
}

its_pattern_is_bits_0_1_and_3() {
	bash "$SERVICES" . > out
	for n in 'n1 0 0 11' 'n2 0 11 0' 'n3 11 0 11' 'n4 0 11 0'; do	# n3 is two hops from itself
		set -- $n
		same "$(echo printer | bloomery test ./$1)" printer
		bloomery info ./$1 --json | holds 'j["m"] == 5 and j["k"] == 3 and j["can"].count("advance") == 1'
		same "$(for level in 3 2 1; do may_be_cut tail -c $((level * 64 + (level - 1) * 64)) ./$1 | head -c 1 | od -An -tu1; done | xargs)" "$2 $3 $4"
	done
}

prove_all
