#!/bin/bash
# packages.sh - the Debian packages of this tree install in a bare Debian, serve a user, and leave nothing behind
#
# usage: tests/install/packages.sh [FOLDER]
#
# Builds the packages twice, the second time with a higher version. Needs root and a mirror, as bare.sh, and exits 77 where it
# cannot run. FOLDER keeps the bare system packed for the next run. It takes about five minutes. The last line counts.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
. "$root/tests/install/bare_system.sh"
make_bare "$@"
install_missing lintian >&2 || skip 'lintian cannot be installed'
debs=$top/bare/debs
mkdir -p "$debs/first" "$debs/second" || exit 2
cp -r "$root/tools/packaging/debian/tests" "$debs/" || exit 2
tests=$root/tools/packaging/debian/tests
export DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS:-nocheck parallel=2}

# What the tree is: the state of each file that git knows or would add.
state() { git -C "$root" status --porcelain; git -C "$root" diff HEAD | sha256sum; }

the_packages_are_built_and_the_tree_does_not_change()
{
	local before
	before=$(state)
	"$root/tools/packaging/build" --source "$debs/first" || return 1
	"$root/tools/packaging/build" --version 0.1.0-0upstream1+next1 "$debs/second" || return 1
	[ "$before" = "$(state)" ] || { state; return 1; }
	ls "$debs/first"
	for package in bloomery libbloomery0 libbloomery-dev python3-bloomery bloomery-mpi bloomery-redis bloomery-sqlite postgresql-15-bloomery; do
		[ "$(find "$debs/first" "$debs/second" -name "${package}_*.deb" | wc -l)" = 2 ] || return 1
	done
}

lintian_has_nothing_to_say()
{
	lintian --allow-root -EIL +pedantic --fail-on error,warning,info,pedantic,experimental "$debs"/first/*.changes | grep -v '^N:' &&
		return 1
	lintian --allow-root "$debs"/first/*.changes
}

the_symbols_of_the_package_are_those_of_the_map()
{
	dpkg-deb -I "$debs"/first/libbloomery0_*.deb symbols | sed -n 's/^ \(.*\) 0.1.0$/\1/p' | sort > "$top/symbols"
	sed -n '/global:/,/local:/{/:/d;s/;/\n/g;p}' "$root/lib/bloomery.map" | sed 's/[[:space:]]//g;/./!d;s/$/@BLOOMERY_0/' > "$top/map"
	echo BLOOMERY_0@BLOOMERY_0 >> "$top/map"
	sort "$top/map" | diff - "$top/symbols" && [ "$(wc -l < "$top/map")" -gt 100 ]
}

what_is_loaded_on_use_is_recommended()
{
	local package field
	for package in bloomery libbloomery0; do
		field=$(dpkg-deb -f "$debs/first/${package}"_*.deb Recommends)
		echo "$package: $field"
		for library in libmd0 libzstd1 zlib1g; do
			[[ ", $field" == *", $library (>= "* ]] || return 1
		done
	done
}

apt_installs_the_program()
{
	in_bare / 'apt-get update; apt-get install -y --no-install-recommends /debs/first/bloomery_*.deb /debs/first/libbloomery0_*.deb' &&
		[ "$(in_bare / 'command -v bloomery')" = /usr/bin/bloomery ]
}

# An ordinary user runs it, with a home of its own.
as_user() { in_bare / "rm -rf /tmp/user; install -d -o nobody /tmp/user; setpriv --reuid nobody --clear-groups env HOME=/tmp/user AUTOPKGTEST_TMP=/tmp/user $1"; }

the_first_ten_commands_of_a_new_user_work() { as_user /debs/tests/first-steps; }

programs_are_compiled_with_the_packages_and_run()
{
	in_bare / "apt-get install -y --no-install-recommends /debs/first/*.deb g++ pkg-config" && as_user /debs/tests/compile
}

the_module_of_python_works() { as_user /debs/tests/python; }

the_extension_of_postgresql_works() { as_user /debs/tests/postgresql; }

the_extension_of_sqlite_works() { in_bare / 'apt-get install -y --no-install-recommends sqlite3' && as_user /debs/tests/sqlite; }

the_module_of_redis_works() { in_bare / 'apt-get install -y --no-install-recommends libhiredis0.14 redis-server redis-tools' && as_user /debs/tests/redis; }

the_program_of_mpi_works() { in_bare / 'apt-get install -y --no-install-recommends mpi-default-bin' && as_user /debs/tests/mpi; }

each_test_of_the_packages_is_run_here()
{
	[ "$(sed -n 's/^Tests: //p' "$tests/control" | sort | xargs)" = 'compile first-steps mpi postgresql python redis sqlite' ]
}

an_upgrade_keeps_the_filters()
{
	as_user "sh -c \"seq 1000 | bloomery claim /tmp/user/seen.blm --create -n 1k | wc -l\"" || return 1
	cp "$top/bare/tmp/user/seen.blm" "$top/seen.blm" && in_bare / 'apt-get install -y --no-install-recommends /debs/second/*.deb' || return 1
	[ "$(in_bare / "dpkg-query -W -f '\${Version}\n' bloomery libbloomery0 libbloomery-dev python3-bloomery" | sort -u)" = \
		0.1.0-0upstream1+next1 ] || return 1
	cmp "$top/seen.blm" "$top/bare/tmp/user/seen.blm" &&
		[ "$(in_bare / 'seq 1000 | bloomery test /tmp/user/seen.blm -c')" = 1000 ] && as_user /debs/tests/first-steps
}

a_purge_leaves_nothing()
{
	in_bare / 'rm -rf /tmp/user; apt-get purge -y bloomery libbloomery0 libbloomery-dev python3-bloomery bloomery-mpi bloomery-redis bloomery-sqlite \
		postgresql-15-bloomery \
		postgresql-15' || return 1	# has files of its own that are called bloom
	not_ours=(-path ./debs -o -path ./proc -o -path ./var/log -o -path ./var/cache)
	(cd "$top/bare" && find . \( "${not_ours[@]}" \) -prune -o -iname '*bloom*' -print) > "$top/left"
	cat "$top/left"
	[ ! -s "$top/left" ] || return 1
	in_bare / 'dpkg-query -W "*bloomery*" 2> /dev/null || :; dpkg --audit' > "$top/known"
	cat "$top/known"
	[ ! -s "$top/known" ]
}

# What the image says of how to start it: an expression about its config.
configured()
{
	python3 -c 'import json, sys; at = sys.argv[1] + "/"; m = json.load(open(at + "manifest.json"))[0]
c = json.load(open(at + m["Config"]))["config"]; print(eval(sys.argv[2]))' "$top/image" "$1"
}

# As a container runs it: the files of the image, its user, entry point and environment, and the folder $top/volume as its volume.
contained()
{
	local program user store environment
	program=$(configured 'c["Entrypoint"][0]') user=$(configured 'c["User"].split(":")[0]') store=$(configured 'list(c["Volumes"])[0]')
	environment=$(configured 'c["Env"][0]')
	# shellcheck disable=SC2016
	env -i "$environment" unshare --mount --pid --fork --kill-child bash -c 'mount --bind "$1" "$2$3" && exec chroot --userspec="$4:$4" "$2" "${@:5}"' \
		bash "$top/volume" "$top/container" "$store" "$user" "$program" "$@"
}

the_container_image_is_small_and_reproducible()
{
	"$root/tools/packaging/container" "$top/one.tar" "$debs/first" && "$root/tools/packaging/container" "$top/two.tar" "$debs/first" &&
		cmp "$top/one.tar" "$top/two.tar" || return 1
	mkdir "$top/image" "$top/container" "$top/volume" && tar -C "$top/image" -xf "$top/one.tar" &&
		tar -C "$top/container" -xzf "$top/image/$(configured 'm["Layers"][0]')" || return 1
	du -sk --apparent-size "$top/container"
	[ "$(du -sk --apparent-size "$top/container" | cut -f1)" -lt 20000 ] || return 1
	[ ! -e "$top/container/bin/sh" ] && [ ! -e "$top/container/usr/bin/sh" ] || return 1
	if command -v skopeo > /dev/null; then
		skopeo inspect "oci-archive:$top/one.tar" && skopeo inspect "docker-archive:$top/one.tar"
	fi
}

two_containers_share_the_filter_in_a_volume()
{
	chown 65532:65532 "$top/volume"
	[ "$(configured 'c["Entrypoint"]')" = "['/usr/bin/bloomery']" ] || return 1
	[ "$(seq 1000 | contained claim seen --create -n 1m -p 0.001 | wc -l)" = 1000 ] || return 1
	[ "$(seq 500 1500 | gzip | contained claim seen | wc -l)" = 500 ] || return 1
	[ "$(stat -c %u "$top/volume"/filters/*.blm)" = 65532 ] && contained verify
}

for name in the_packages_are_built_and_the_tree_does_not_change lintian_has_nothing_to_say the_symbols_of_the_package_are_those_of_the_map \
	what_is_loaded_on_use_is_recommended apt_installs_the_program the_first_ten_commands_of_a_new_user_work \
	programs_are_compiled_with_the_packages_and_run the_module_of_python_works the_extension_of_sqlite_works \
	the_extension_of_postgresql_works the_module_of_redis_works the_program_of_mpi_works \
	each_test_of_the_packages_is_run_here \
	an_upgrade_keeps_the_filters a_purge_leaves_nothing the_container_image_is_small_and_reproducible \
	two_containers_share_the_filter_in_a_volume; do
	prove "${name//_/ }" $name
done
count_tests
