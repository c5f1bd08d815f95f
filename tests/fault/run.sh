#!/bin/bash
# run.sh - the faults of the machine, at any length
#
# usage: tests/fault/run.sh [--cuts N] [--images N] [--states N] [--seed N] [--soak]; $BUILD names the folder of the build (build)
#
# Cuts the power N times on ext4 and XFS (500), makes N disks as a cut can leave them (600), and N files as one can (4600); each prints TAP.
# --soak: 10000, 20000, 100000. Needs root, loop devices, e2fsprogs, xfsprogs, libfuse3-dev; what cannot run says so and is skipped.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
built=$root/${BUILD:-build}/tests/fault
cuts=500 images=600 states=4600 rounds=4 seed=()

while [ $# -gt 0 ]; do
	case $1 in
	--cuts | --images | --states) [ $# -ge 2 ] || exit 64; printf -v "${1#--}" %s "$2"; shift 2 ;;
	--seed) [ $# -ge 2 ] || exit 64; seed=(--seed "$2"); shift 2 ;;
	--soak) cuts=10000 images=20000 states=100000 rounds=50; shift ;;
	*) sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 64 ;;
	esac
done

passed=0 failed=0 skipped=0

# Runs a program of this folder, and counts its lines of TAP.
fault()
{
	local name=$1 out code
	shift
	echo "== $name $*"
	out=$(mktemp) || exit 2
	"$built/fault-$name" "$@" | tee "$out"
	code=${PIPESTATUS[0]}
	skipped=$((skipped + $(grep -ciE '^(ok .*|1\.\.0 )# SKIP' "$out")))
	passed=$((passed + $(grep -E '^ok ' "$out" | grep -civE '# SKIP')))
	failed=$((failed + $(grep -c '^not ok ' "$out")))
	if [ "$code" != 0 ] && ! grep -q '^not ok ' "$out"; then
		failed=$((failed + 1))
	fi
	rm -f "$out"
}

fault pageloss --states "$states" "${seed[@]}"
fault writeback --rounds "$rounds"
fault cut --cuts "$cuts" "${seed[@]}"
fault images --images "$images" "${seed[@]}"

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
