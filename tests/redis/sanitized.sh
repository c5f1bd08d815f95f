#!/bin/bash
# sanitized.sh - the module of Redis with ASan and UBSan in a real server: hostile payloads and all other tests
#
# usage: tests/redis/sanitized.sh PROGRAM [SHARE]
#
# PROGRAM is build/tools/bloomery of a build without sanitizers. SHARE is that of the 10^6 hostile commands, 0.05 if it is
# not given. The last line counts. A report of a sanitizer is one failure.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
program=$(realpath "${1:?the program bloomery}") share=${2:-0.05}
passed=0 failed=0
runtime=$(gcc -print-file-name=libasan.so)
runtime=$(realpath "$runtime") || exit 2

install_missing redis-server python3-redis || exit 2
configure build-redis-asan -Dtests=disabled -Dredis=enabled -Dwerror=false -Db_sanitize=address,undefined -Db_lundef=false > /dev/null &&
	ninja -C "$root/build-redis-asan" --quiet tools/redis/bloomery.so || exit 2
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT

export BLOOMERY_REDIS_PRELOAD=$runtime LD_LIBRARY_PATH=${program%/tools/bloomery}/lib PYTHONDONTWRITEBYTECODE=1
# the server keeps its own memory to its end; the first report of UBSan ends it
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=32:allocator_may_return_null=1:log_path=$reports/asan
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:log_path=$reports/ubsan

for name in hostile commands exchange store combine persist threads copy both_ways valkey; do
	scale=0.05
	[ $name != hostile ] || scale=$(awk -v share="$share" 'BEGIN { print 4.2 * share }')
	said=$(BLOOMERY_TEST_SCALE=$scale /usr/bin/python3 -W ignore "$root/tests/redis/run.py" "$root" \
		"$root/build-redis-asan/tools/redis/bloomery.so" "$program" test_$name) || :
	printf '%s\n' "$said"
	passed=$((passed + $(grep -c '^ok' <<< "$said")))
	failed=$((failed + $(grep -c '^not ok' <<< "$said")))
	[[ $said == *1..* ]] || failed=$((failed + 1))
done
for report in "$reports"/*; do
	# the server asks whether it gets the memory that a payload promises: a warning, and no error
	grep -qE 'ERROR: |runtime error' "$report" 2> /dev/null || continue
	failed=$((failed + 1))
	head -60 "$report"
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
