#!/bin/bash
# install.sh - what is installed is whole, exports what the header declares, and serves users in C and C++
. "${TAP:?must be tests/tools/tap.sh}"
: "${MESON:?}" "${BUILD:?}" "${ROOT:?}" "${PREFIX:?}" "${LIBDIR:?}" "${HEADER:?}" "${USER_C:?}" "${CC:?}"
tree=$(mktemp -d)
lib=$tree$PREFIX/$LIBDIR
under_usr=$([ "$PREFIX" != /usr ] || echo yes)	# there the program relies on the loader
trouble=$(DESTDIR=$tree $MESON install -C "$BUILD" --no-rebuild 2>&1) || echo "# $trouble"
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$tree

declared() { sed -n 's/^BLM_API .*[ *]\(blm_[a-z0-9_]*\)(.*/\1/p' "$HEADER" | sort; }

# Compile the example as a person would, with these flags, and run it.
works()
{
	rm -f user.blm
	"$@" || return 1
	LD_LIBRARY_PATH=$lib ./user > out	# the tree is not where the loader looks; bare.sh does without
	same "$(cat out)" "$(pkg-config --modversion bloomery) ok"
}

all_files_are_there() {
	local examples=$ROOT/tools/examples docs=share/doc/bloomery
	for file in include/bloomery.h "$LIBDIR/libbloomery.so" "$LIBDIR/libbloomery.so.0" "$LIBDIR/libbloomery.a" \
		"$LIBDIR/pkgconfig/bloomery.pc" bin/bloomery share/man/man1/bloomery.1 share/man/man5/bloomery.5 share/bash-completion/completions/bloomery \
		share/zsh/site-functions/_bloomery share/fish/vendor_completions.d/bloomery.fish; do
		[ -s "$tree$PREFIX/$file" ] || { echo "no $file"; return 1; }
	done
	cmp "$HEADER" "$tree$PREFIX/include/bloomery.h"
	for file in "$ROOT"/tools/man/commands/*.mdoc; do
		file=${file##*/}
		[ -s "$tree$PREFIX/share/man/man1/bloomery-${file%.mdoc}.1" ] || { echo "no page of $file"; return 1; }
	done
	for file in libbloomery libbloomery-keys blm_claim; do
		[ -s "$tree$PREFIX/share/man/man3/$file.3" ] || { echo "no page of $file"; return 1; }
	done
	for file in "$ROOT"/tools/man/*.[0-9]; do
		[ -s "$tree$PREFIX/share/man/man${file##*.}/${file##*/}" ] || { echo "no $file"; return 1; }
	done
	for file in LICENSE README.md format-spec.md; do cmp "$ROOT/$file" "$tree$PREFIX/$docs/$file"; done
	find "$examples" -type f ! -name meson.build ! -path '*__pycache__*' -printf '%P %m\n' | sort > want
	(cd "$tree$PREFIX/$docs/examples" && find . -type f -printf '%P %m\n' | sort) > got
	cut -d' ' -f1 want | cmp - <(cut -d' ' -f1 got)
	grep '[.]sh' got > scripts; not grep -v ' 755$' scripts
	while read -r file _; do cmp "$examples/$file" "$tree$PREFIX/$docs/examples/$file"; done < want
}

# Meson's own choice depends on which packages are there, and is lib64 on a Debian without dpkg-dev.
the_library_goes_to_lib_wherever_it_is_installed() {
	$MESON introspect --buildoptions "$ROOT/meson.build" > options
	same "$(python3 -c 'import json; print([o["value"] for o in json.load(open("options")) if o["name"] == "libdir"])')" "['lib']"
}

fish_looks_where_its_completion_is() {
	command -v fish > /dev/null || { echo '# SKIP fish is not installed'; return 0; }
	[ "$PREFIX" = /usr/local ] || { echo '# SKIP the prefix is another'; return 0; }
	env -i HOME="$PWD" PATH="$PATH" fish -c 'printf "%s\n" $fish_complete_path' > folders
	while read -r folder; do [ ! -e "$tree$folder/bloomery.fish" ] || return 0; done < folders
	cat folders; return 1
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
	[ "$PREFIX" != /usr ] || { echo '# SKIP under /usr the loader finds the library'; return 0; }
	same "$(env -u LD_LIBRARY_PATH "$tree$PREFIX/bin/bloomery" --version | grep -c "$(pkg-config --modversion bloomery)")" 1
}

# The program that is installed; libraries of the folder `damaged`, where there is one, come first.
installed() { LD_LIBRARY_PATH=damaged${under_usr:+:$lib} "$tree$PREFIX/bin/bloomery" "$@"; }

rarely_used_libraries_are_loaded_on_first_use() {
	objdump -p "$lib/libbloomery.so" "$tree$PREFIX/bin/bloomery" | awk '$1 == "NEEDED"' > needed
	grep -q lmdb needed
	not grep -E 'libz|libmd' needed
	seq 1000 | gzip > keys.gz
	installed create ./few.blm -n 1k
	installed add ./few.blm keys.gz
	installed export ./few.blm --base64 -o few.b64
	installed import few.b64 ./again.blm --base64
	same "$(seq 1000 | installed test ./again.blm | wc -l)" 1000
	same "$(echo key | installed claim ./md5.blm --create -n 100 --hash md5)" key
}

a_missing_library_fails_only_the_functions_using_it() {
	seq 1000 | gzip > keys.gz
	seq 1000 | installed claim ./few.blm --create -n 1k > claimed
	echo key | installed claim ./md5.blm --create -n 100 --hash md5 > claimed
	mkdir damaged
	touch damaged/libz.so.1 damaged/libzstd.so.1 damaged/libmd.so.0
	same "$(seq 1000 | installed test ./few.blm | wc -l)" 1000
	exits 2 installed add ./few.blm keys.gz; says 'packed with gzip: damaged/libz.so.1'
	exits 2 installed export ./few.blm --base64 -o not.b64; says 'zstd: damaged/libzstd.so.1'
	[ ! -e not.b64 ]
	exits 2 installed test ./md5.blm < /dev/null; says 'the hash md5: damaged/libmd.so.0'
}

pkg_config_names_what_the_shared_library_needs() {
	pkg-config --libs bloomery | grep -q -- '-lbloomery'
	pkg-config --libs bloomery > libs
	for private in lmdb sodium z zstd md; do
		if grep -q -- "-l$private" libs; then cat libs; return 1; fi
		pkg-config --static --libs bloomery | grep -q -- "-l$private" || { echo "no -l$private for static users"; return 1; }
	done
}

a_c_user_compiles_links_and_runs() {
	works $CC -std=gnu11 -Wall -Wextra -Werror -o user "$USER_C" $(pkg-config --cflags --libs bloomery)
}

a_c_user_links_the_static_library_alone() {
	works $CC -std=gnu11 -Wall -Wextra -Werror -static -o user "$USER_C" $(pkg-config --static --cflags --libs bloomery)
	readelf -d user > linked; not grep -q NEEDED linked
}

a_cpp_user_compiles_links_and_runs() {
	if ! command -v g++ > /dev/null; then return; fi
	for standard in c++11 c++17; do
		works g++ -std=$standard -Wall -Wextra -pedantic -Werror -x c++ -o user "$USER_C" -x none \
			$(pkg-config --cflags --libs bloomery)
		works g++ -std=$standard -static -x c++ -o user "$USER_C" -x none $(pkg-config --static --cflags --libs bloomery)
	done
}

# block HEADING LANGUAGE: the first block of that language below the heading of README
block()
{
	awk -v heading="## $1" -v fence="\`\`\`$2" '$0 == heading { on = 1 } in_it && /^```/ { exit } in_it { print } on && $0 == fence { in_it = 1 }' \
		"$ROOT/README.md"
}

the_readmes_example_links_in_each_documented_way() {
	block 'From C' c > example.c
	block 'From C' sh > ways
	same "$(grep -c . ways)" 5; same "$(grep -c '^c++ ' ways)" 2
	while read -r line; do
		[[ $line != c++* ]] || command -v c++ > /dev/null || { echo "# without: $line"; continue; }
		rm -f a.out seen.blm
		eval "$line"
		same "$(LD_LIBRARY_PATH=$lib ./a.out)" 'first to see https://example.org/'
	done < ways
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
