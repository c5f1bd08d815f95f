#!/bin/bash
# long.sh - bloomery-mpi with both MPI implementations of Debian, at full length, and in a real Slurm
#
# usage: tests/mpi/long.sh BUILD
#
# BUILD has bloomery-mpi with OpenMPI, and tests. The last line counts.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
build=$(cd "${1:?the folder of a build}" && pwd) || exit 2
passed=0 failed=0
export BLOOMERY_TEST_SCALE=full BLOOMERY_SLURM=wanted BLOOMERY_SLOW=$build/tests/mpi/libslow.so
export BLOOMERY_DIES=$build/tests/mpi/libdies.so

install_missing openmpi-bin libopenmpi-dev mpich libmpich-dev zstd munge slurmctld slurmd slurm-client || exit 2
configure build-mpich -Dtests=disabled -Dmpi=enabled -Dmpi_library=mpich > /dev/null &&
	ninja -C "$root/build-mpich" --quiet tools/mpi/bloomery-mpi tools/bloomery-json.so || exit 2

# prove BUILD TEST
prove()
{
	local said
	said=$(python3 "$root/tests/mpi/run.py" "$1/tools/mpi/bloomery-mpi" "$build/tools/bloomery" "$2") || :
	printf '%s\n' "$said"
	passed=$((passed + $(grep -c '^ok' <<< "$said")))
	failed=$((failed + $(grep -c '^not ok' <<< "$said")))
	[[ $said == *1..* ]] || failed=$((failed + 1))
}

for name in test_build test_claim test_corpus test_tasks; do
	prove "$build" $name
	prove "$root/build-mpich" $name
done
prove "$build" test_slurm
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
