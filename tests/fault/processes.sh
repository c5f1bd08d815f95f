#!/bin/bash
# processes.sh - tests of many processes that are longer than the suite's: kills, adds, opens; with
# --soak the model of replacing, too
#
# usage: tests/fault/processes.sh BUILD [--long | --soak]; half a minute, four minutes, or a day on
# two processors. The last line counts.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
build=$(cd "$1" && pwd)/tests/fault || exit 2
cycles=200 kinds=40 keys=40000000 seconds=7200 opens=1000
case ${2-} in
--long) cycles=2000 kinds=300 keys=1000000000 opens=10000 ;;
--soak) cycles=50000 kinds=20000 keys=4000000000 opens=200000 ;;
esac
passed=0 failed=0 skipped=0
export CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT

run()
{
	echo "== $*"
	"$@" 2>&1 | tee "$out"
	[ "${PIPESTATUS[0]}" = 0 ] || grep -q '^not ok' "$out" || failed=$((failed + 1))
	passed=$((passed + $(grep '^ok' "$out" | grep -vc '# SKIP'))) failed=$((failed + $(grep -c '^not ok' "$out")))
	skipped=$((skipped + $(grep -cE '^(ok .*|1\.\.0 )# SKIP' "$out")))
}

run "$build/test-kill" $cycles
run "$build/test-kill_claims" $cycles
run "$build/test-kill_kinds" $kinds
run "$build/test-kill_built" $kinds
run "$build/test-many" $keys $seconds $opens
[ "${2-}" != --soak ] || run "${BASH_SOURCE[0]%/*}/model/run.sh" "$2"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
