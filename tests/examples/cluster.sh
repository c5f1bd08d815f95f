#!/bin/bash
# cluster.sh - the model of bloomery-cluster(7) prints the table of the page
. "${TAP:?must be tests/tools/tap.sh}"
: "${CLUSTER:?must be the path of the example}" "${PAGE:?must be the path of the manual page}"

the_table_of_the_page_is_what_the_script_prints() {
	python3 "$CLUSTER" > out
	sed -n '/^machines  way/,/^\.Ed/{/^\.Ed/!p}' "$PAGE" | diff - out
}

more_machines_take_less_memory_each_where_they_own_parts() {
	python3 "$CLUSTER" --keys 1e9 --ranks 4 > out
	same "$(grep -c '^ *[0-9]* *owners ' out)" 6
	same "$(awk '$2 == "owners" && $1 == 1 { print $NF, ($(NF - 1) > 600) }' out)" 'GiB 0'
	same "$(awk '$2 == "owners" && $1 == 1000 { print $NF, ($(NF - 1) < 900) }' out)" 'MiB 1'
}

prove_all
