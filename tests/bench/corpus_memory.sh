#!/bin/bash
# corpus_memory.sh - `corpus dedup` with a filter three times the memory, and the same in partitions
#
# usage: tests/bench/corpus_memory.sh [DOCUMENTS (1000000)]; as root, $BLOOMERY names the program, $TMPDIR is on a disk
#
# A cgroup of 512 MiB, page cache included, runs it with a filter of 1.5 GiB, and then with four filters of 384 MiB, one after the other,
# and merge. 10 % of the documents are copies. A line of output has the documents a second. Fails if a document is lost or kept twice,
# except by false positives. The last line of a success is "finished".
. "${BASH_SOURCE[0]%/*}/../setup.sh"
documents=${1:-1000000} memory=$((512 << 20))
: "${BLOOMERY:?must be the path of the program}"
BLOOMERY=$(realpath "$BLOOMERY")
top=$(mktemp -d) && cd "$top" || exit 2

# The cgroup of this process in the hierarchy that limits memory: version 2, or 1.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup) limit=memory.max
else
	group=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup) limit=memory.limit_in_bytes
fi
[ -d "$group" ] || group=${group%%/memory/*}/memory	# a container can show the groups of its host
group=$group/bloomery-corpus-$$
if ! mkdir "$group" 2> /dev/null || ! echo $memory > "$group/$limit"; then
	echo "skipped: no cgroup can be made at $group"
	rmdir "$group" 2> /dev/null
	rm -rf "$top"
	exit 77
fi
trap 'cd /; rm -rf "$top"; rmdir "$group"' EXIT
trap 'exit 130' INT TERM HUP

# Runs the command in the cgroup, and says how long it took.
limited()
{
	local begun=$EPOCHREALTIME what=$1
	shift
	(echo $BASHPID > "$group/cgroup.procs" && exec "$@") > said || { echo "$what: failed" >&2; exit 1; }
	awk -v w="$what" -v n="$documents" -v a="$begun" -v b="$EPOCHREALTIME" \
		'BEGIN { printf "%-46s %8.1f s %10.0f documents/s\n", w, b - a, n / (b - a) }'
}

# At a rate of 1e-3 at most one document in a thousand is removed by mistake; here the filters are almost empty.
check()
{
	local kept distinct
	kept=$(wc -l < "$1") distinct=$(sort -u "$1" | wc -l)
	[ "$kept" = "$distinct" ] && [ "$kept" -ge $((wanted - wanted / 1000)) ] ||
		{ echo "$1: $kept documents kept, $distinct of these different, wanted are $wanted" >&2; exit 1; }
}

# Texts that differ, then copies of the first tenth of them.
wanted=$((documents - documents / 10))
{ seq -f '{"text":"document %.0f of a corpus whose filter is larger than the memory"}' $wanted
	seq -f '{"text":"document %.0f of a corpus whose filter is larger than the memory"}' $((documents / 10)); } > in.jsonl

"$BLOOMERY" create ./whole -m $((12 << 30)) -k 8 || exit 1
echo "memory: $((memory >> 20)) MiB; filter: $(($(stat -c %s whole) >> 20)) MiB; $documents documents"
limited 'one filter' "$BLOOMERY" corpus dedup --pages small -F ./whole -o one in.jsonl
check one/in.jsonl
rm whole
merge=()
for part in 1 2 3 4; do
	"$BLOOMERY" create ./part$part -m $((3 << 30)) -k 8 || exit 1
	limited "partition $part of 4" "$BLOOMERY" corpus dedup --pages small -F ./part$part --partition $part/4 --attributes seen -o parts/$part in.jsonl
	rm part$part
	merge+=(--part parts/$part)
done
limited 'merge' "$BLOOMERY" corpus merge "${merge[@]}" -o four in.jsonl
check four/in.jsonl
echo finished
