#!/bin/bash
# coverage.sh - which branches of lib/ the tests take, by file; each that they do not take stands in uncovered.txt, with the reason
#
# usage: tests/fault/coverage.sh [LEAST [OPTION OF meson setup...]]; fails where fewer than LEAST percent of the branches are taken
# (95), or where more than a few of those that are not are not listed. Which tests pass is not asked here, only told.
#
# Counted are the outcomes of the conditions in the source, by clang: `a && b` has four. gcc counts the jumps that it makes, of which
# some are in no source. The counters lie in files that all processes share, so those that are killed count as well. Assertions are
# left out; inline functions are taken together. The suites run in short forms, once for each instruction set that this machine has,
# and every call of every case of inject.c fails at least once, for failures are half of the branches.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
least=${1:-95}
shift $(($# > 0))
build=${BUILD:-build-coverage}
dir=$root/$build
# shellcheck disable=SC2086
install_missing $build_packages check clang llvm libclang-rt-14-dev python3 || exit 2
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
counting='-fprofile-instr-generate -fcoverage-mapping -fprofile-update=atomic -mllvm -runtime-counter-relocation'
CC=clang configure "$build" -Dtests=enabled -Dbuildtype=plain -Db_ndebug=true -Db_lundef=false -Dfuzz=false \
	"-Dc_args=-O1 $counting" -Dc_link_args=-fprofile-instr-generate "$@" > "$log" || { cat "$log"; exit 2; }
ninja -C "$dir" --quiet || exit 2
cd "$dir" || exit 2
rm -rf profiles
mkdir -m 777 profiles
umask 0		# other users' processes count, too
export LLVM_PROFILE_FILE=$dir/profiles/%m%c.profraw BLOOMERY_TEST_SCALE=${BLOOMERY_TEST_SCALE:-0.1}

# Of what takes long, these ask nothing of the library that the others do not.
mapfile -t tests < <(meson test --list 2> /dev/null | sed -n 's|.* / ||p' |
	grep -vxE 'model|fault/attack|fault/cases|reader-(hashes|spec|golden)|.*install.*|.*bench.*|.*measure.*')
BLOOMERY_TEST_SCALE=2 tests/fault/test-inject -e > inject.log &
BLOOMERY_TEST_SCALE=10 tests/fuzz/again-import "$root/tests/fuzz/corpus/import" > again.log &
for simd in scalar avx2 avx512; do
	[ $simd = scalar ] || tests=(simd kind/laws claim)	# the rest asks nothing of the instructions
	echo "== the suites, $simd"
	BLOOMERY_SIMD=$simd meson test --no-rebuild --timeout-multiplier 8 "${tests[@]}" < /dev/null | grep -E 'FAIL|ERROR|TIMEOUT'
done
wait
tail -1 inject.log

mapfile -t programs < <(find tests tools lib -type f -perm -u+x ! -name '*.sh' | sort)
{ llvm-profdata merge -o all.profdata profiles/*.profraw &&
	llvm-cov export -instr-profile=all.profdata "${programs[0]}" "${programs[@]/#/-object=}" > coverage.json; } 2> coverage.log ||
	{ cat coverage.log; exit 2; }
python3 "$root/tests/fault/uncovered.py" coverage.json "$root" "$root/tests/fault/uncovered.txt" "$least" | tee uncovered
exit "${PIPESTATUS[0]}"
