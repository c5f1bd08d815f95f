#!/bin/bash
# blacklist.sh - a blacklist whose false alarms, once they are reported, are not repeated: blacklist.sh LIST LOG
#
# LIST has what is refused, LOG what comes in, each a line. LOG is replayed twice: what is refused the first time and is not on the
# list is reported, as those would do whom it hit, and goes on the filter's list of what is allowed.
set -euo pipefail
bloomery=${BLOOMERY:-bloomery}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export BLOOMERY_STORE=$folder/store LC_ALL=C
sort -u "$1" > "$folder/list"
listed=$(wc -l < "$folder/list")

# Of the lines of the log those that are refused; 1 is an answer: none of them.
replay()
{
	local code=0
	"$bloomery" test blacklist "$1" > "$folder/refused" || code=$?
	[ $code -le 1 ] || return $code
	sort -u "$folder/refused" | comm -23 - "$folder/list" > "$folder/wrong"
}

"$bloomery" create blacklist -n "$listed" -p 0.01 --seed 1
"$bloomery" add blacklist "$folder/list"
replay "$2"
echo "$(wc -l < "$folder/wrong") false alarms at the first replay of $(wc -l < "$2") lines"
"$bloomery" allow add blacklist "$folder/wrong"
replay "$2"
echo "$(wc -l < "$folder/wrong") at the second"
echo "$("$bloomery" test -c blacklist "$folder/list") of the $listed on the list are refused"
