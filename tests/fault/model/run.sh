#!/bin/bash
# run.sh - swap.pml in every variant: as it is built, no order of steps does harm; without one of its precautions, some does
#
# usage: tests/fault/model/run.sh [--soak]; two minutes of one processor, or 10 s and the first three variants if
# $BLOOMERY_TEST_SCALE is a share. With --soak what is built is tried with three places for files, so that what replaced one
# is itself replaced, and with the lock at the gate, too: three minutes more, and 4 GB of memory.
. "${BASH_SOURCE[0]%/*}/../../setup.sh"
if ! command -v spin > /dev/null || ! command -v cc > /dev/null; then
	echo '1..0 # SKIP spin, or a compiler, is not installed'
	exit 0
fi
model=$(cd "$(dirname "$0")" && pwd)/swap.pml
soak=${1:-} all=
[ "$soak" != --soak ] && [ "${BLOOMERY_TEST_SCALE:-full}" != full ] || all=yes
dir=$(mktemp -d) && cd "$dir" || exit 1
trap 'rm -rf "$dir"' EXIT
number=0

# The result of the model with these options: holds; lost: an acknowledged result is not true; blocked: a process waits for ever
outcome()
{
	local expected=$1
	local -a ends=()
	local optimize=-O2
	shift
	if [ "$expected" = lost ]; then
		ends=(-E)	# else the first that waits for ever would be all that is told of
	fi
	if [ "$expected" != holds ]; then
		optimize=-O0	# found soon
	fi
	if ! spin -a "$@" "$model" > log 2>&1 || ! cc $optimize -w -DSAFETY -DMEMLIM=12000 -o pan pan.c > log 2>&1; then
		echo broken
		return
	fi
	./pan -m100000 -w24 "${ends[@]}" > log 2>&1
	if grep -q 'assertion violated' log; then
		echo lost
	elif grep -q 'pan:1: invalid end state' log; then
		echo blocked
	elif grep -q 'errors: 0' log && ! grep -qiE 'reached -DMEMLIM|max search depth too small|out of memory' log; then
		echo holds
	else
		echo 'broken, or not searched to the end'
	fi
}

# NAME holds|lost|blocked OPTION...
variant()
{
	local name=$1 expected=$2 got
	shift 2
	number=$((number + 1))
	got=$(outcome "$expected" "$@")
	if [ "$got" = "$expected" ]; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		echo "# expected that it is: $expected; it is: $got"
		sed 's/^/# /' log
	fi
}

variant 'replacing what lies at a path does neither' holds -DPATH
variant 'without the fence a key is lost' lost -DNO_FENCE
variant 'with the state looked at before the bit is set a key is lost' lost -DLOOK_FIRST
if [ "$all" ]; then
	variant 'without the shared lock a claim is doubled, or lost' lost -DCLAIMERS -DNO_LOCK
	variant 'if dead processes kept their locks, others would wait for ever' blocked -DLOCKS_STAY
	variant 'replacing loses no acknowledged key and blocks nobody, whoever dies or fails where' holds
	variant 'of two adders, each of which may die, neither loses its key or blocks the other' holds -DADDERS
	variant 'replacing doubles no claim, and one that was told stays, whoever dies or fails where' holds -DCLAIMERS
	variant 'dropping is seen by every reader, whoever dies or fails where' holds -DDROP
	variant 'without the fence a key is lost, dropping' lost -DDROP -DNO_FENCE
	variant 'with the state set only after the copy a key is lost' lost -DNO_FENCE_REPLACING
	variant 'without looking up what became of the name a key is lost' lost -DNO_LOOK_UP
	variant 'without looking up what came of a failed publish a key is lost' lost -DPATH -DNO_LOOK_AFTER_FAILURE
	variant 'with a lock on what the name does not lead to any more a claim is doubled, or lost' lost -DCLAIMERS -DNO_LOOK_IN_CLAIM
	variant 'with a new file that nobody has locked a key is lost' lost -DPLACES=3 -DNO_LOCK_OF_NEW
	variant 'without the count a state is taken for an earlier one' lost -DNO_COUNT
	variant 'with the question for life after the look-up a replacement is missed' lost -DLATE
	variant 'without the question for life a drop is missed' lost -DDROP -DREPLACING_ONLY
fi
if [ "$soak" = --soak ]; then
	variant 'replaced twice, no key is lost and nobody blocked' holds -DPLACES=3
	variant 'replaced twice at a path, no key is lost and nobody blocked' holds -DPLACES=3 -DPATH
	variant 'replaced twice, no claim is doubled' holds -DPLACES=3 -DCLAIMERS
	variant 'replaced and dropped, that is seen' holds -DPLACES=3 -DDROP
	variant 'the gate blocks nobody' holds -DGATE
	variant 'the gate blocks no claimer' holds -DGATE -DCLAIMERS
fi
echo "1..$number"
