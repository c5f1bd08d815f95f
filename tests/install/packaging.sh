#!/bin/bash
# packaging.sh - the Debian packaging says what the tree says; packages.sh builds the packages and installs them
. "${TAP:?must be tests/tools/tap.sh}"
: "${MESON:?}" "${BUILD:?}" "${ROOT:?}" "${PREFIX:?}" "${LIBDIR:?}"
packaging=$ROOT/tools/packaging
debian=$packaging/debian

version() { sed -n "s/.*version: '\([0-9.]*\)', license.*/\1/p" "$1"; }

all_files_of_the_project_have_one_version() {
	local version
	version=$(version "$ROOT/meson.build")
	[[ $version =~ ^[0-9]+[.][0-9]+[.][0-9]+$ ]]
	same "$(version "$ROOT/tools/python/meson.build")" "$version"
	sed -n '1s/^bloomery (\([0-9.]*\)-.*) .*/\1/p' "$debian/changelog" > first
	same "$(< first)" "$version"
}

the_symbols_file_has_the_versions_of_the_map() {
	sed -n 's/^\(BLOOMERY_[0-9_]*\) {$/\1/p' "$ROOT/lib/bloomery.map" | sort > map
	sed -n 's/^ (symver)\(BLOOMERY_[0-9_]*\) [0-9.]*$/\1/p' "$debian/libbloomery0.symbols" | sort > symbols
	diff map symbols
	[ -s map ]
	soname=$(readelf -d "$BUILD/lib/libbloomery.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
	same "$(sed -n 1p "$debian/libbloomery0.symbols")" "$soname libbloomery${soname##*.} #MINVER#"
}

# The notes against what the linker would have written down.
notes_name_the_libraries_that_are_loaded_on_use() {
	echo 'int main(void) { return 0; }' > none.c
	$CC -o none none.c -Wl,--no-as-needed -lz -lzstd -lmd
	readelf -d none | sed -n 's/.*NEEDED.*\[\(.*\)\]/recommended \1/p' | grep -v 'libc[.]' | sort > want
	same "$(wc -l < want)" 3
	python3 "$packaging/dlopen-depends" --print "$BUILD/lib/libbloomery.so" | sort | diff want -
	for soname in TOKENS REMOTE; do
		sed -n "s/.*${soname}_SONAME=\"\([^\"\\\\]*\).*/recommended \\1/p" "$BUILD/build.ninja" | sort -u >> want
	done
	python3 "$packaging/dlopen-depends" --print "$BLOOMERY" | sort | diff <(sort want) -
	not python3 "$packaging/dlopen-depends" --print none 2> said
	grep -q 'no note names a library' said
}

# Each file goes to one package, so that none is lost and no two packages fight.
each_installed_file_is_in_one_package() {
	local file list pattern count
	DESTDIR=$PWD/tree $MESON install -C "$BUILD" --no-rebuild > log 2>&1 || { cat log; return 1; }
	for list in "$debian"/*.install; do sed "s|^|${list##*/} |" "$list"; done > patterns
	(cd "tree$PREFIX" && find . ! -type d) | cut -c3- > files
	[ "$(wc -l < files)" -gt 100 ]
	while read -r file; do
		[[ $file == "$LIBDIR"/* ]] && file=lib/triplet${file#"$LIBDIR"}
		[[ $file != share/doc/bloomery/LICENSE ]] || continue	# debian/copyright has it
		[[ $file != *python* || $file == share/man/* ]] || continue
		count=0
		while read -r list pattern; do
			# shellcheck disable=SC2053
			[[ usr/$file == $pattern || usr/$file == $pattern/* ]] && count=$((count + 1))
		done < patterns
		[ $count = 1 ] || { echo "$file: in $count packages"; return 1; }
	done < files
}

each_test_of_the_packages_is_a_program() {
	sed -n 's/^Tests: //p' "$debian/tests/control" > tests
	[ "$(wc -l < tests)" -ge 3 ]
	while read -r name; do [ -x "$debian/tests/$name" ] || { echo "$name"; return 1; }; done < tests
	ls "$debian/tests" | grep -vxF -f tests > others
	same "$(< others)" control
}

the_first_steps_of_the_packages_work_with_this_build() {
	mkdir bin user
	ln -s "$BLOOMERY" bin/bloomery
	AUTOPKGTEST_TMP=$PWD/user PATH=$PWD/bin:$PATH bash "$debian/tests/first-steps"
}

the_packaging_is_not_at_the_top() {
	[ ! -e "$ROOT/debian" ]
	local code=0
	bash "$packaging/build" --none 2> said || code=$?
	same $code 64
	grep -q '^usage: ' said
}

debian_reads_the_metadata() {
	command -v dpkg-source > /dev/null && perl -MDpkg -e 1 || { echo '# SKIP dpkg-dev is not installed'; return 0; }
	mkdir "bloomery-$(version "$ROOT/meson.build")"
	cd bloomery-*
	cp "$ROOT/README.md" .
	printf '%600s\n' | tr ' ' a > table	# as the overrides expect
	tar -C .. -cJf "../bloomery_${PWD##*-}.orig.tar.xz" "${PWD##*/}"
	cp -r "$debian" debian
	dpkg-source --build . > ../log 2>&1 || { cat ../log; return 1; }
	[ -s ../bloomery_*.dsc ]
	cd ..
	[ "${BLOOMERY_TEST_SCALE:-full}" = full ] && command -v lintian > /dev/null || return 0
	lintian --allow-root -EIL +pedantic --fail-on none bloomery_*.dsc > said
	cat said
	not grep -v '^N:' said
}

prove_all
