#!/bin/bash
# runs.sh - the example of sorted runs misses no row and looks up almost nothing that is absent
. "${TAP:?must be tests/tools/tap.sh}"
: "${RUNS:?must be the path of the example}" "${TABLE:?must be the program that makes tables}" "${MANUAL:?}"

every_row_is_found_with_few_useless_look_ups() {
	bash "$RUNS" . | tee out
	grep -qx '1000000 rows of 1000000 found, each with its value' out
	grep -q '^1000000 keys that are in none: [0-9]* of 20000000 look-ups, .*, 0 found$' out
	sed -n 's/.*: \([0-9]*\) of 20000000 look-ups.*/\1/p' out | awk '{ ok = $1 > 0 && $1 <= 204000 } END { exit !ok }'
	while read -r line; do grep -qF "$line" "$MANUAL"; done < out	# what it tells is this output
}

prove_all
