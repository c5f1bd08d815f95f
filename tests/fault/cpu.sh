#!/bin/bash
# cpu.sh - this machine's build on processors without its vector instructions, by qemu: the same answers, the same bytes
#
# usage: cpu.sh BUILD [--long]; exits 77 where there is no qemu. The loops without vector instructions are tried on this machine, too
# ($BLOOMERY_SIMD); with --long the laws are asked of the oldest processor itself.
. "${0%/*}/../setup.sh"
build=$(cd "${1:?the folder of a build}" && pwd) || exit 2
long=${2:-}
if [ "$(uname -m)" != x86_64 ] || ! install_missing qemu-user python3 >&2; then
	echo '1..0 # skipped: not an x86-64, or qemu cannot be installed'
	exit 77
fi
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
export BLOOMERY=$folder/bloomery PYTHONDONTWRITEBYTECODE=1 BLOOMERY_TEST_SCALE=0.02 CK_DEFAULT_TIMEOUT=0 CK_VERBOSITY=normal
count=0 failed=0

prove()
{
	local name=$1
	shift
	count=$((count + 1))
	if "$@" > "$folder/out" 2>&1 < /dev/null; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		grep -E '^not ok|:[FE]:|^#|%:|qemu' "$folder/out" | head -20 | sed 's/^/# /'
		failed=$((failed + 1))
	fi
}

simd_is()
{
	[ "$(QEMU_CPU=$1 qemu-x86_64 "$build/tools/bloomery" --version | sed 's/.*, \(.*\))$/\1/')" = "$2" ]
}

while read -r cpu simd rounds; do
	for name in reader-driver golden-make bloomery; do
		printf '#!/bin/sh\nexec qemu-x86_64 -cpu %s "%s" "$@"\n' "$cpu" "$(find "$build" -name $name -type f)" > "$folder/$name"
		chmod +x "$folder/$name"
	done
	prove "$cpu: the loops are those of $simd" simd_is "$cpu" "$simd"
	prove "$cpu: golden files answer as they say, fresh ones are those of the second reader byte for byte" \
		python3 "$root/tests/reader/test_c.py" "$root/tests/golden" "$folder/reader-driver" "$folder/golden-make" "$rounds" answers
	prove "$cpu: every hash gives its published vectors" qemu-x86_64 -cpu "$cpu" "$build/tests/test-hash-vectors"
	[ "$cpu$long" = core2duo--long ] || continue
	for laws in laws laws_many laws_algebra; do
		prove "$cpu: the $laws of every kind hold" qemu-x86_64 -cpu "$cpu" "$build/tests/test-kind-$laws"
	done
done <<-END
	core2duo scalar 10
	Nehalem scalar 2
	Haswell avx2 2
	max avx2 10
END
echo "1..$count"
[ $failed = 0 ]
