#!/bin/bash
# tsan.sh - threads that share handles, filters and mappings, with ThreadSanitizer: what one changes the others touch by atomic operations only
#
# usage: tests/fault/tsan.sh [OPTION OF meson setup...]; $BUILD names the folder of the build (build-tsan); exits 77 where clang has no such
# sanitizer. It runs the cases called "threads" of the programs below. Every report must be mended; there is no list of exceptions. A test
# that starts threads goes into a case of that name, and its program into the list.
#
# The loops are those without vector instructions, for the sanitizer does not look at accesses of more than 16 bytes. It sees only what was
# compiled with it, and threads of one process only: what processes do to each other is the same code on the same words.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
build=${BUILD:-build-tsan}
programs='test-writers test-claim test-single test-reclaim test-memory test-build test-kind-counting test-kind-hash_compact test-kind-approximator test-kind-cuckoo
	store/test-allow test-file-writer_word test-kind-threads'
# shellcheck disable=SC2086
programs=$(printf 'tests/%s\n' $programs)
# shellcheck disable=SC2086
install_missing $build_packages check clang libclang-rt-14-dev || exit 2
log=$(mktemp -d) || exit 2
trap 'rm -rf "$log"' EXIT
if ! echo 'int main(void) { return 0; }' | clang -fsanitize=thread -x c -o "$log/none" - 2> /dev/null || ! "$log/none"; then
	echo '1..0 # SKIP clang has no ThreadSanitizer that runs here'
	exit 77
fi
CC=clang configure "$build" -Dtests=enabled -Dbuildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false "$@" > "$log/setup" ||
	{ cat "$log/setup"; exit 2; }
# shellcheck disable=SC2086
ninja -C "$root/$build" --quiet $programs || exit 2

# A program's own lines, and those of its reports; a program that did not run is a failure, too.
code=0
for program in $programs; do
	file=$root/$build/$program
	BLOOMERY_SIMD=scalar BLOOMERY_TEST_SCALE=${BLOOMERY_TEST_SCALE:-0.05} CK_RUN_CASE=threads CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent \
		CK_DEFAULT_TIMEOUT=0 TSAN_OPTIONS=exitcode=66 "$file" > "$log/out" 2> "$log/err" < /dev/null || code=1
	grep -E '^(not )?ok' "$log/out" || { echo "not ok - $program: none of its tests ran"; code=1; }
	! grep -q ThreadSanitizer "$log/err" || { cat "$log/err"; code=1; }
done
exit $code
