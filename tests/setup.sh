# setup.sh - what the scripts of this repository share: install missing packages, configure a build; sourced by bash
set -u
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 2

build_packages='gcc libc6-dev meson ninja-build pkg-config liblmdb-dev libxxhash-dev libsodium-dev libmd-dev libzstd-dev zlib1g-dev'

# Programs whose filters we read and write, for the tests of both ways.
peer_packages='golang-github-dcso-bloom-cli libbloom-dev libleveldb-dev libguava-java default-jdk-headless'

# Installs those of the packages that are not there. Needs no network and no rights where all of them are.
install_missing()
{
	local package missing=() sudo=

	if ! command -v dpkg-query > /dev/null; then
		echo "not a Debian system: going on with what is here; needed are $*" >&2
		return 0
	fi
	for package; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ]; then
		sudo=sudo
		if ! command -v sudo > /dev/null; then
			echo "missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2
			return 1
		fi
	fi
	echo "installing ${missing[*]}"
	{
		$sudo apt-get -qq update &&
			$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -y --no-install-recommends \
				install "${missing[@]}"
	} < /dev/null > "${TMPDIR:-/tmp}/bloomery-apt.$$" 2>&1 || {
		cat "${TMPDIR:-/tmp}/bloomery-apt.$$" >&2
		rm -f "${TMPDIR:-/tmp}/bloomery-apt.$$"
		return 1
	}
	rm -f "${TMPDIR:-/tmp}/bloomery-apt.$$"
}

# configure DIR OPTION... - makes or renews the build in that folder of the repository
configure()
{
	local dir=$root/$1 again=
	shift
	if [ -f "$dir/build.ninja" ]; then
		again=--reconfigure	# packages may have come since
	fi
	meson setup $again "$@" "$dir" "$root" < /dev/null
}

# counting BUILD - the options by which clang counts what the tests take, one on a line. The counters lie in files that processes
# share, so that those that are killed count as well, and cost little. But two that add one at once add one, and of two outcomes clang often counts
# only one: the other is what is left of the sum, which what is lost of that can make zero. So there are sixteen files of each program,
# for processes by their numbers. Inline functions are counted in each program. Of what debuggers want, reports need the lines: the rest is
# a quarter of the time that these builds take.
counting()
{
	mkdir -p -m 777 "$root/$1/profiles" && chmod 777 "$root/$1/profiles"
	echo -Ddebug=false
	echo "-Dc_args=['-gline-tables-only','-fprofile-instr-generate=$root/$1/profiles/%16m%c.profraw','-fcoverage-mapping','-mllvm','-runtime-counter-relocation']"
	echo "-Dc_link_args=['-fprofile-instr-generate=$root/$1/profiles/%16m%c.profraw']"
}
