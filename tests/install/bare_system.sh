# bare_system.sh - a bare Debian in a folder, for tests of installations; sourced by bash after setup.sh
#
# make_bare sets $top, a temporary folder with the system in $top/bare. The script ends with 77 where
# the system cannot be made: it needs root, namespaces, and a mirror in this machine's apt configuration.
passed=0 failed=0 skipped=0

skip()
{
	echo "1..0 # SKIP $1"
	exit 77
}

# The first mirror of apt with this release of Debian.
mirror()
{
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
		awk -v name="$1" '$1 == "Debian" && $2 == name && $3 == "main" { print $4; exit }'
}

# make_bare [FOLDER] - FOLDER keeps the system packed for the next run
make_bare()
{
	local release from keep packed
	[ "$(id -u)" = 0 ] || skip 'root is needed'
	unshare --mount --pid --fork true 2> /dev/null || skip 'namespaces of mounts and processes are needed'
	install_missing debootstrap git >&2 || skip 'debootstrap cannot be installed'
	release=$(. /etc/os-release && echo "$VERSION_CODENAME") || exit 2
	from=$(mirror "$release")
	[ -n "$from" ] || skip "apt knows no mirror of $release"
	top=$(mktemp -d) || exit 2
	trap 'rm -rf --one-file-system "$top"' EXIT
	trap 'exit 130' INT TERM HUP
	keep=${1:-$top}
	mkdir -p "$keep" "$top/bare" || exit 2
	packed=$(cd "$keep" && pwd)/bare-$release.tar
	if [ ! -f "$packed" ]; then
		underway 'making a bare system' debootstrap --variant=minbase "$release" "$top/bare" "$from" || exit 2
		tar -C "$top/bare" -cf "$packed.new" . && mv "$packed.new" "$packed" || exit 2
	else
		tar -C "$top/bare" -xf "$packed" || exit 2
	fi
	cp /etc/resolv.conf "$top/bare/etc/resolv.conf" || exit 2
}

# in_bare FOLDER LINES - types the lines in the bare system, in that folder of it
in_bare()
{
	unshare --mount --pid --fork --kill-child bash -c 'mount -t proc none "$0/proc" && exec chroot "$0" env -i HOME=/root TERM=dumb \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -e -o pipefail -c "cd $1; $2"' \
		"$top/bare" "$1" "$2" < /dev/null
}

# prove NAME COMMAND... - a test of that name
prove()
{
	local name=$1 code=0
	shift
	"$@" > "$top/said" 2>&1 || code=$?
	if [ $code = 0 ]; then
		echo "ok - $name"
		passed=$((passed + 1))
	else
		echo "not ok - $name"
		sed 's/^/# /' "$top/said" | tail -40
		failed=$((failed + 1))
	fi
}

# The last line of the script, and its exit code.
count_tests()
{
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $failed = 0 ]
}
