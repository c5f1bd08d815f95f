#!/bin/bash
# processes.sh - the long forms of the tests of many processes: kills, adds, opens; with --soak of the model of replacing, too
#
# usage: tests/fault/processes.sh BUILD [--soak]; about four minutes, or a day. The last line counts.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
build=$(cd "$1" && pwd)/tests/fault || exit 2
cycles=2000 kinds=300 keys=1000000000 seconds=900 opens=10000
if [ "${2:-}" = --soak ]; then
	cycles=50000 kinds=20000 keys=4000000000 seconds=7200 opens=200000
fi
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
run "$build/test-kill_kinds" $kinds
run "$build/test-kill_built" $kinds
run "$build/test-many" $keys $seconds $opens
[ -z "${2:-}" ] || run "${BASH_SOURCE[0]%/*}/model/run.sh" "$2"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
