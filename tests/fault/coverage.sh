#!/bin/bash
# coverage.sh - which branches of lib/ the tests take, by file; each that they do not take stands in uncovered.txt, with the reason
#
# usage: tests/fault/coverage.sh [LEAST [OPTION OF meson setup...]]; fails where fewer than LEAST percent of the branches are taken
# (95), where more than a few of those that are not are not listed, or where a call fails and that is not told. $COUNTED names another
# build with counters (counting() in setup.sh), in which the suites have run already, with sanitizers.
#
# `.ci/run --long` counts. That every call says so when something fails is checked by the gate itself;
# here those failures are made for their branches.
#
# clang counts the outcomes of the conditions in the source: `a && b` has four. gcc counts the jumps that it makes, some of which are in no
# source. Assertions are left out; inline functions are taken together. Every call of every case of inject.c fails once, and from then on,
# because failures are half of the branches; code for one instruction set runs with each.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
least=${1:-95}
shift $(($# > 0))
build=${BUILD:-build-coverage}
dir=$root/$build
# shellcheck disable=SC2086
install_missing $build_packages check clang llvm libclang-rt-14-dev python3 || exit 2
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
rm -rf "$dir/profiles"
mapfile -t options < <(counting "$build")
if [ -z "${COUNTED:-}" ]; then	# all that the suites of the other build test, as tests/run and .ci/run configure it
	mapfile -t -O ${#options[@]} options < <(extensions)
	options+=(-Dmpi=disabled)
	[ ! -d "$root/../shared/vectors" ] || options+=(-Dvectors="$(cd "$root/../shared/vectors" && pwd)")
fi
CC=clang configure "$build" -Dtests=enabled -Dbuildtype=debugoptimized -Db_lundef=false -Dfuzz=false "${options[@]}" "$@" > "$log" ||
	{ cat "$log"; exit 2; }
ninja -C "$dir" --quiet || exit 2
cd "$dir" || exit 2
umask 0		# other users' processes count, too
export BLOOMERY_TEST_SCALE=${BLOOMERY_TEST_SCALE:-0.1}

# Runs these tests; which of them pass is only told.
tests()
{
	meson test --no-rebuild --num-processes $(($(nproc) * 3 / 2)) --timeout-multiplier 8 "$@" < /dev/null | grep -E 'FAIL|ERROR|TIMEOUT'
}

if [ -n "${COUNTED:-}" ]; then
	builds=("$root/$COUNTED" "$dir")
	tests file/sigbus kind/torn limits load	# sanitizers leave these out, or some of what they ask
else
	# These are slow and use nothing of the library that the others do not.
	builds=("$dir")
	mapfile -t all < <(meson test --list 2> /dev/null | sed -n 's|.* / ||p' |
		grep -vxE 'model|inject|fault/attack|fault/cases|reader-(hashes|spec|golden)|.*install.*|.*bench.*|.*measure.*')
	tests "${all[@]}" | tee failed
	# again those that refuse files which every user may write
	mapfile -t all < <(sed -n 's|^[ 0-9/]* [^ ]* / \([^ ]*\) .*|\1|p' failed)
	[ ${#all[@]} = 0 ] || (umask 022; tests "${all[@]}")
fi
BLOOMERY_SIMD=scalar tests simd kind/laws kind/laws_many kind/laws_algebra claim		# the rest asks nothing of the instructions
BLOOMERY_SIMD=avx2 tests simd
code=0
BLOOMERY_TEST_SCALE=10 tests/fuzz/again-import "$root/tests/fuzz/corpus/import" > again.log &
BLOOMERY_TEST_SCALE=0 tests/fault/test-inject -e -j "$(nproc)" > inject.log || { grep -vE '^ok' inject.log; code=1; }
tail -1 inject.log
wait

mapfile -t programs < <(cd / && find "${builds[@]/%//tests}" "${builds[@]/%//tools}" "${builds[@]/%//lib}" -type f -perm -u+x ! -name '*.sh' | sort)
{ llvm-profdata merge -o all.profdata "${builds[@]/%//profiles}"/*.profraw &&
	llvm-cov export -instr-profile=all.profdata "${programs[0]}" "${programs[@]/#/-object=}" > coverage.json; } 2> coverage.log ||
	{ cat coverage.log; exit 2; }
python3 "$root/tests/fault/uncovered.py" coverage.json "$root" "$root/tests/fault/uncovered.txt" "$least" | tee uncovered
[ "${PIPESTATUS[0]}" = 0 ] && exit $code
