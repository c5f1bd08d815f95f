#!/bin/bash
# corpus_right.sh - `corpus dedup` of a large corpus against exact sets, with 1, 2 and 4 processes
#
# usage: tests/bench/corpus_right.sh [MEGABYTES (200)]; $BLOOMERY names the program, $ROWS
# the rows that are wanted (document paragraph ngram)
#
# The corpus is made from the texts of the packages that are installed (corpus_texts.py), in 8 files. The filters are hardly larger
# than what goes into them, so that some units are removed by mistake. A row has the units with a key, those that were removed, and
# how many of these by mistake: as the program expected it, with its error, and as corpus_exact.py counts it. The program states no
# expectation for n-grams. Fails if a copy was kept, or if the count is further than four errors from the expectation. The last line
# of a success is "finished". For 200 MB it takes 3 GB of memory.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
megabytes=${1:-200}
: "${BLOOMERY:?must be the path of the program}"
install_missing python3 python3-icu >&2 || exit 2
BLOOMERY=$(realpath "$BLOOMERY") python=/usr/bin/python3	# the one that python3-icu is for
top=$(mktemp -d) && cd "$top" || exit 2
trap 'rm -rf "$top"' EXIT
trap 'exit 130' INT TERM HUP

# row BY PROCESSES FILTER OPTIONS...; FILTER: keys of 200 MB and the rate
row()
{
	local by=$1 processes=$2 filter=($3) i pid pids=() counts failed=0
	shift 3
	[[ " ${ROWS-document paragraph ngram} " == *" $by "* ]] || return 0
	rm -rf f f.claims out log?
	"$BLOOMERY" create ./f -n $((filter[0] * megabytes / 200 + 1000)) -p "${filter[1]}" --seed 3 || exit 1
	for ((i = 0; i < processes; i++)); do
		"$BLOOMERY" corpus dedup -F ./f --by "$by" "$@" --attributes seen -o out --json -q part?.jsonl > log$i & pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || exit 1; done
	counts=$($python "$root/tests/bench/corpus_exact.py" "$by" "$processes" out part?.jsonl) || failed=1
	cat log? | $python -c '
import json, sys
by, processes, counts = sys.argv[1:]
units, removed, mistakes, copies = map(int, counts.split())
wanted = sum(line.get("by_mistake", 0) for line in map(json.loads, sys.stdin) if str(line.get("file")).startswith("part"))
print(f"| {by} | {processes} | {units} | {removed} |", "" if by == "ngram" else f"{wanted:.0f} ± {wanted**.5:.0f}", f"| {mistakes} | {copies} |")
sys.exit(by != "ngram" and abs(mistakes - wanted) > 4 * max(wanted, 1)**.5)' "$by" "$processes" "$counts" || failed=1
	[ $failed = 0 ] || exit 1
}

$python "$root/tests/bench/corpus_texts.py" "$megabytes" all.jsonl && split -n l/8 -d -a 1 --additional-suffix=.jsonl all.jsonl part || exit 1
rm all.jsonl
echo '| by | processes | units | removed | by mistake, expected | by mistake | copies kept |'
echo '|---|--:|--:|--:|--:|--:|--:|'
for processes in 1 2 4; do
	row document $processes '17000 1e-2'
	row paragraph $processes '1600000 1e-3'
	row ngram $processes '2200000 1e-2' --stride 4
done
echo finished
