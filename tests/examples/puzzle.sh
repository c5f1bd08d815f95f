#!/bin/bash
# puzzle.sh - the states of the 8-puzzle that a search misses: as many as the literature and the formulas say
. "${TAP:?must be tests/tools/tap.sh}"
: "${PUZZLE:?must be the path of the example}"

missed() { sed -n "s/^$1 .* $2 bits a state: .* \([0-9]*\) missed$/\1/p" out; }
lies() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || { echo "$1, not $2 to $3"; return 1; }; }

bits_a_state_against_states_missed_the_same_each_time() {
	"$PUZZLE" > out
	same "$(wc -l < out)" 16
	lies "$(missed 'classic, k = 3' 4.0)" 8400 9200
	lies "$(missed 'classic, k = 3' 8.0)" 1450 1700
	lies "$(missed 'classic, k = 3' 10.0)" 750 950
	lies "$(missed 'classic, k = 3' 16.0)" 190 310
	lies "$(missed 'hash-compact, 10 bits' 11.9)" 600 820
	lies "$(missed 'hash-compact, 16 bits' 17.8)" 2 26		# 12.5 +- 3.5 by the formula
	lies "$(missed 'hash-compact, 24 bits' 35.6)" 0 1
	lies "$(missed 'hash-compact, 32 bits' 35.6)" 0 0
	if [ "${BLOOMERY_TEST_SCALE:-full}" = full ]; then "$PUZZLE" | cmp - out; fi
}

prove_all
