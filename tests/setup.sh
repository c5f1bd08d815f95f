# setup.sh - what the scripts of this repository share: install missing packages, configure a build; sourced by bash
#
# A program that is missing ends the script, wherever it is called: in a condition, in a pipe, in $( ). A script that can do without a
# program asks `command -v` first.
set -u
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 2

build_packages='gcc libc6-dev meson ninja-build pkg-config liblmdb-dev libxxhash-dev libsodium-dev libmd-dev libzstd-dev zlib1g-dev'

# Programs whose filters we read and write, for the tests of both ways.
peer_packages='golang-github-dcso-bloom-cli libbloom-dev libleveldb-dev libguava-java default-jdk-headless'

# The package of Python, and what its tests compare it with.
python_packages='python3-dev python3-numpy python3-scrapy mypy'

# What reads lines of JSON and finds the words of texts.
text_packages='g++ libsimdjson-dev libunistring-dev'

# The server that the module of Redis is tested in, and a client of it.
redis_packages='redis-server redis-tools python3-redis libhiredis-dev'

# The header of SQLite for extensions. Python's sqlite3 loads the extension in the tests.
sqlite_packages='libsqlite3-dev'

# bash calls this for a program that is not found, in a process of its own.
command_not_found_handle()
{
	echo "${0##*/}: $1: command not found; install it" >&2
	kill -s TERM $$
	exit 127
}

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
	underway "installing ${missing[*]}" apt_install "$sudo" "${missing[@]}"
}

apt_install()
{
	local sudo=$1
	shift
	$sudo apt-get -qq update &&
		$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -y --no-install-recommends install "$@"
}

# underway WHAT COMMAND... - says what is done, and while it lasts every few seconds how far it is; all the words of what failed
underway()
{
	local what=$1 log ticker code=0 begun=$SECONDS
	shift
	echo "$what"
	log=$(mktemp) || return 2
	while sleep "${EVERY:-5}" > /dev/null 2>&1 && kill -0 $$ 2> /dev/null; do
		printf '  %3d s: %s\n' $((SECONDS - begun)) "$(tail -n 1 "$log" 2> /dev/null | tr -cd '[:print:]' | cut -c 1-90)"
	done &
	ticker=$!
	"$@" > "$log" 2>&1 < /dev/null || code=$?
	kill $ticker 2> /dev/null
	wait $ticker 2> /dev/null
	[ $code = 0 ] || cat "$log" >&2
	rm -f "$log"
	return $code
}

# configure DIR OPTION... - makes or renews the build in that folder of the repository
configure()
{
	local dir=$root/$1 again=
	shift
	if [ -f "$dir/build.ninja" ]; then
		again=--reconfigure	# packages may have come since
	fi
	[ "${CC:-}" != clang ] || local -x CXX=clang++	# they link together
	meson setup $again "$@" "$dir" "$root" < /dev/null
}

# extensions - the options that build what other programs load, one on a line: where their headers are
extensions()
{
	local python=disabled sqlite=disabled

	compgen -G '/usr/include/python3.*/Python.h' > /dev/null && python=enabled
	[ -f /usr/include/sqlite3ext.h ] && sqlite=enabled
	printf '%s\n' -Dpython=$python -Dredis=enabled -Dsqlite=$sqlite -Dmpi=auto
}

# counting BUILD - the options by which clang counts the branches that the tests take, one on a line. The counters are in files that
# processes share, so that killed processes count as well. clang often counts only one of two outcomes: the other one is the rest of the
# sum. A count that is lost, because two threads add one at once, would make it zero, or make up an outcome that there never was. So each
# count is an atomic instruction, and each program has sixteen files, for processes by their numbers, so that few of them wait for each
# other. Inline functions are counted in each program. Reports need only the lines of the debugging information: the rest is a quarter of
# the time that these builds take.
counting()
{
	mkdir -p -m 777 "$root/$1/profiles" && chmod 777 "$root/$1/profiles"
	echo -Ddebug=false
	echo "-Dc_args=['-gline-tables-only','-fprofile-instr-generate=$root/$1/profiles/%16m%c.profraw','-fprofile-update=atomic','-fcoverage-mapping','-mllvm','-runtime-counter-relocation']"
	echo "-Dc_link_args=['-fprofile-instr-generate=$root/$1/profiles/%16m%c.profraw']"
}
