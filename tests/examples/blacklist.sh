#!/bin/bash
# blacklist.sh - after one replay of the log no false alarm is repeated, and all that is on the list is still refused
. "${TAP:?must be tests/tools/tap.sh}"
: "${BLACKLIST:?must be the path of the example}"

# 100,000 domains on the list, 300,000 lines of which every third is on it.
no_false_alarm_repeats_and_listed_domains_are_refused() {
	seq 100000 | sed 's/.*/mail&.example/' > list
	seq 300000 | awk '{ print $1 % 3 ? "other" $1 ".example" : "mail" $1 / 3 ".example" }' > log
	bash "$BLACKLIST" list log > out
	read -r alarms _ < out
	[ "$alarms" -ge 1700 ]; [ "$alarms" -le 2200 ]
	same "$(sed 1d out)" $'0 at the second\n100000 of the 100000 on the list are refused'
}

a_log_without_a_false_alarm_is_no_failure() {
	echo a.example > list; echo a.example > log; echo b.example >> log
	bash "$BLACKLIST" list log > out; same "$(sed -n 2p out)" '0 at the second'
}

prove_all
