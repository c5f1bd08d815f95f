#!/bin/bash
# abi.sh - the binary interface serves every program that was linked with the last release
#
# usage: tests/install/abi.sh [--renew]
#
# Builds the shared library with debugging information, and compares its interface with the one in
# libbloomery.abi by abidiff (Debian's abigail-tools). Additions are good; a removal or a change
# fails. --renew writes libbloomery.abi: after a release, or before the first one.
# bloomery-versioning(7) has the rules.
. "${BASH_SOURCE[0]%/*}/../setup.sh"	# sets $root and $build_packages
last=$root/tests/install/libbloomery.abi
# shellcheck disable=SC2086
install_missing $build_packages abigail-tools || exit 2
top=$(mktemp -d) || exit 2
trap 'rm -rf "$top"' EXIT
trap 'exit 130' INT TERM HUP

# The compiler's optimizations change no interface.
build_library()
{
	meson setup -Dtests=disabled -Dbuildtype=debug -Dwerror=false "$top/build" "$root" &&
		meson compile -C "$top/build" bloomery:shared_library
}
underway 'building the library' build_library || exit 2
cd "$root/lib" && abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-write-default-sizes \
	--type-id-style hash --drop-private-types --drop-undefined-syms --exported-interfaces-only \
	--header-file bloomery.h --out-file "$top/now.abi" \
	"$top/build/lib/libbloomery.so.0" || exit 2
sed -i -E "s|path='[^']*/lib/|path='lib/|" "$top/now.abi"	# and not of this machine
if [ "${1-}" = --renew ]; then
	cp "$top/now.abi" "$last"
	exit
fi

# 4: something changed that is not harmless, 8: it is known to be incompatible.
code=0
abidiff --no-added-syms --suppressions "$root/tests/install/libbloomery.abignore" "$last" \
	"$top/now.abi" > "$top/said" || code=$?
if [ $code = 0 ]; then
	echo 'ok - the interface serves programs of the last release'
	exit
fi
sed 's/^/# /' "$top/said" | head -60
echo 'not ok - the interface serves programs of the last release'
echo '# bloomery-versioning(7) says what may change'
exit 1
