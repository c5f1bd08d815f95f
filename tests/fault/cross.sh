#!/bin/bash
# cross.sh - the library built for another machine and run by qemu: golden files read, written and refused as here, hashes, laws
#
# usage: cross.sh [--long | --build TARGET] s390x|aarch64 [FOLDER]; --long: also what is made anew after damage, which takes minutes;
# --build: builds that target alone, and runs nothing. Exits 77 where the packages cannot be had. Nothing is installed here but the compiler and qemu; the other machine's libraries are unpacked in FOLDER (a
# temporary one), which can be used again.
. "${0%/*}/../setup.sh"
long= target=
if [ "${1:-}" = --long ]; then
	long=yes
	shift
elif [ "${1:-}" = --build ] && [ $# -ge 3 ]; then
	target=$2
	shift 2
fi
case ${1:-} in
s390x) machine=s390x debian=s390x endian=big ;;
aarch64) machine=aarch64 debian=arm64 endian=little ;;
*) echo "usage: cross.sh [--long | --build TARGET] s390x|aarch64 [FOLDER]" >&2; exit 64 ;;
esac
triple=$machine-linux-gnu
if [ -n "${2:-}" ]; then
	folder=$2
	mkdir -p "$folder" || exit 2
else
	folder=$(mktemp -d) || exit 2
	trap 'rm -rf "$folder"' EXIT
fi
folder=$(cd "$folder" && pwd)
sysroot=$folder/sysroot

skip()
{
	echo "1..0 # skipped: $1"
	exit 77
}

# The libraries of that machine, by apt with lists of its own, so that this one's stay as they are.
fetch_libraries()
{
	local apt=$folder/apt

	[ ! -e "$sysroot/done" ] || return 0
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$folder/debs" "$sysroot"
	: > "$apt/status"
	cat > "$apt/conf" <<-END
		APT::Architecture "$debian";
		APT::Architectures { "$debian"; };
		Dir::State "$apt/state";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt/cache";
		Acquire::Languages "none";
		APT::Sandbox::User "root";
	END
	export APT_CONFIG=$apt/conf
	# other repositories of this machine need not know that one
	apt-get -qq update 2> "$apt/log"
	(cd "$folder/debs" && apt-get -qq download liblmdb-dev liblmdb0 libxxhash-dev libsodium-dev libsodium23 libmd-dev libmd0 \
		libzstd-dev libzstd1 zlib1g-dev zlib1g check libsubunit-dev libsubunit0) 2>> "$apt/log" || { cat "$apt/log" >&2; return 1; }
	unset APT_CONFIG
	for deb in "$folder"/debs/*.deb; do
		dpkg -x "$deb" "$sysroot" || return 1
	done
	touch "$sysroot/done"
}

tested='tools/bloomery tests/reader/reader-driver tests/golden/golden-make tests/test-hash-vectors'
tested+=' tests/test-kind-laws tests/test-kind-laws_many tests/test-kind-laws_algebra'
tested+=' tests/test-simd tests/test-single tests/store/test-files tests/store/test-repair'

build()
{
	local lib=$sysroot/usr/lib/$triple
	cat > "$folder/cross.ini" <<-END
		[binaries]
		c = '$triple-gcc'
		ar = '$triple-ar'
		strip = '$triple-strip'
		pkgconfig = 'pkg-config'
		exe_wrapper = '$folder/run'
		[properties]
		pkg_config_libdir = '$lib/pkgconfig'
		sys_root = '$sysroot'
		[built-in options]
		c_args = ['-idirafter', '$sysroot/usr/include']
		c_link_args = ['-L$lib', '-Wl,-rpath-link,$lib:$sysroot/lib/$triple']
		[host_machine]
		system = 'linux'
		cpu_family = '$machine'
		cpu = '$machine'
		endian = '$endian'
	END
	cat > "$folder/run" <<-END
		#!/bin/sh
		exec qemu-$machine -L /usr/$triple -E LD_LIBRARY_PATH=$lib:$sysroot/lib/$triple:$folder/build/lib "\$@"
	END
	chmod +x "$folder/run"
	for name in reader-driver golden-make bloomery; do	# for scripts that start them
		printf '#!/bin/sh\nexec %s "$(find %s/build -name %s -type f)" "$@"\n' "$folder/run" "$folder" "$name" > "$folder/$name"
		chmod +x "$folder/$name"
	done
	{
		[ -f "$folder/build/build.ninja" ] ||
			meson setup --cross-file "$folder/cross.ini" -Dtests=enabled -Dbenchmarks=true "$folder/build" "$root"
		# shellcheck disable=SC2086
		ninja -C "$folder/build" ${target:-$tested}
	} < /dev/null > "$folder/log" 2>&1 || { tail -30 "$folder/log" >&2; return 1; }
}

count=0 failed=0
# Does the command exit with 0? Its last line, as it counts its own.
prove()
{
	local name=$1
	shift
	count=$((count + 1))
	if "$@" > "$folder/out" 2>&1 < /dev/null; then
		echo "ok $count - $machine: $name"
		grep -E '^[0-9]+%: |^1\.\.' "$folder/out" | sed 's/^/# /'
	else
		echo "not ok $count - $machine: $name"
		grep -E '^not ok|:[FE]:|^#|%:' "$folder/out" | head -40 | sed 's/^/# /'
		failed=$((failed + 1))
	fi
}

# shellcheck disable=SC2086
install_missing $build_packages qemu-user gcc-$machine-linux-gnu libc6-dev-$debian-cross python3 >&2 || skip 'the cross compiler or qemu cannot be installed'
fetch_libraries || skip "the libraries for $machine cannot be had"
build || { echo "1..1"; echo "not ok 1 - $machine: the library builds"; exit 1; }
[ ! "$target" ] || exit 0
export BLOOMERY=$folder/bloomery PYTHONDONTWRITEBYTECODE=1 BLOOMERY_TEST_SCALE=${BLOOMERY_TEST_SCALE:-0.02} CK_VERBOSITY=normal
export BLOOMERY_TEST_RUN=$folder/run
export CK_DEFAULT_TIMEOUT=0 CK_TIMEOUT_MULTIPLIER=20	# qemu takes ten times as long, and a busy machine longer
prove 'golden files answer as they say, broken ones are refused, fresh ones are those of the second reader byte for byte' \
	python3 "$root/tests/reader/test_c.py" "$root/tests/golden" "$folder/reader-driver" "$folder/golden-make" 10
prove 'every hash gives its published vectors' "$folder/run" "$folder/build/tests/test-hash-vectors"
if [ $machine = aarch64 ]; then	# which has loops of its own
	prove 'each instruction set gives the same bits as plain C' "$folder/run" "$folder/build/tests/test-simd"
	prove 'a call with one key answers, and changes, what a batch does' "$folder/run" "$folder/build/tests/test-single"
fi
for laws in laws laws_many laws_algebra; do
	prove "the $laws of every kind hold" "$folder/run" "$folder/build/tests/test-kind-$laws"
done
prove 'cut, flipped and foreign files are refused' "$folder/run" "$folder/build/tests/store/test-files"
[ ! "$long" ] || prove 'lost and damaged catalogs are made anew' "$folder/run" "$folder/build/tests/store/test-repair"
echo "1..$count"
[ $failed = 0 ]
