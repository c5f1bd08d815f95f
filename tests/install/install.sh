#!/bin/bash
# install.sh - what is installed is whole, exports what the header declares, and serves users in C and C++
. "${TAP:?must be tests/tools/tap.sh}"
: "${MESON:?}" "${BUILD:?}" "${PREFIX:?}" "${LIBDIR:?}" "${HEADER:?}" "${USER_C:?}" "${CC:?}"
tree=$(mktemp -d)
lib=$tree$PREFIX/$LIBDIR
trouble=$(DESTDIR=$tree $MESON install -C "$BUILD" --no-rebuild 2>&1) || echo "# $trouble"
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$tree

declared() { sed -n 's/^BLM_API .*[ *]\(blm_[a-z0-9_]*\)(.*/\1/p' "$HEADER" | sort; }

# Compile the example as a person would, with these flags, and run it.
works()
{
	rm -f user.blm
	"$@" || return 1
	LD_LIBRARY_PATH=$lib ./user > out
	same "$(cat out)" "$(pkg-config --modversion bloomery) ok"
}

the_header_libraries_program_man_page_and_completions_are_there() {
	for file in include/bloomery.h "$LIBDIR/libbloomery.so" "$LIBDIR/libbloomery.so.0" "$LIBDIR/libbloomery.a" \
		"$LIBDIR/pkgconfig/bloomery.pc" bin/bloomery share/man/man1/bloomery.1 \
		share/bash-completion/completions/bloomery; do
		[ -s "$tree$PREFIX/$file" ] || { echo "no $file"; return 1; }
	done
	cmp "$HEADER" "$tree$PREFIX/include/bloomery.h"
}

the_soname_is_libbloomery_so_0() {
	same "$(readelf -d "$lib/libbloomery.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" libbloomery.so.0
	same "$(objdump -p "$tree$PREFIX/bin/bloomery" | awk '$1 == "NEEDED" && /bloomery/ { print $2 }')" libbloomery.so.0
}

the_shared_library_exports_exactly_what_the_header_declares() {
	nm -D --defined-only "$lib/libbloomery.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort > exported
	declared > declared
	[ "$(wc -l < declared)" -gt 40 ]
	diff declared exported
}

every_global_name_in_the_static_library_begins_with_blm() {
	nm -g --defined-only "$lib/libbloomery.a" | awk 'NF == 3 && $3 !~ /^blm_/ { print $3 }' > foreign
	cat foreign
	[ ! -s foreign ]
	nm -g --defined-only "$lib/libbloomery.a" | awk 'NF == 3 { print $3 }' | sort -u > there
	declared | comm -23 - there > lacking
	cat lacking
	[ ! -s lacking ]
}

the_program_runs_from_where_it_is_installed() {
	same "$(LD_LIBRARY_PATH=$lib "$tree$PREFIX/bin/bloomery" --version | grep -c "$(pkg-config --modversion bloomery)")" 1
}

pkg_config_names_what_a_user_of_the_shared_library_needs() {
	pkg-config --libs bloomery | grep -q -- '-lbloomery'
	pkg-config --libs bloomery > libs
	for private in lmdb sodium; do
		if grep -q -- "-l$private" libs; then cat libs; return 1; fi
		pkg-config --static --libs bloomery | grep -q -- "-l$private" || { echo "no -l$private for static users"; return 1; }
	done
}

a_c_user_compiles_links_and_runs() {
	works $CC -std=gnu11 -Wall -Wextra -Werror -o user "$USER_C" $(pkg-config --cflags --libs bloomery)
}

a_c_user_links_the_static_library_alone() {
	works $CC -std=gnu11 -Wall -Wextra -Werror -static -o user "$USER_C" $(pkg-config --static --cflags --libs bloomery)
	! readelf -d user | grep -q NEEDED
}

a_cpp_user_compiles_links_and_runs() {
	if ! command -v g++ > /dev/null; then return; fi
	for standard in c++11 c++17; do
		works g++ -std=$standard -Wall -Wextra -pedantic -Werror -x c++ -o user "$USER_C" -x none \
			$(pkg-config --cflags --libs bloomery)
		works g++ -std=$standard -static -x c++ -o user "$USER_C" -x none $(pkg-config --static --cflags --libs bloomery)
	done
}

without_cpp=''
if ! command -v g++ > /dev/null; then
	without_cpp='s/^ok .* a cpp user .*/& # SKIP no g++/'
fi
set -o pipefail
prove_all | sed "$without_cpp"
code=$?
rm -rf "$tree"
exit $code
