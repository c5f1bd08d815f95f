#!/bin/bash
# around.sh - what surrounds a process and must not matter: locale, time zone, umask, file systems, /proc, memory, address layout
. "${0%/*}/../tools/tap.sh"
lib=${BLOOMERY%/*}/../lib	# where there is no /proc the program cannot tell where it lies

answers()
{
	seq 1000 | "$@" "$BLOOMERY" add ./f > /dev/null
	seq 500 1500 | "$@" "$BLOOMERY" test -c ./f
	"$@" "$BLOOMERY" info ./f --json | sed 's/"created":[^,]*,//; s/"synced":[^,]*,//'
}

is_root_with_mounts()
{
	[ "$(id -u)" = 0 ] && unshare -m true 2> /dev/null
}

locale_time_zone_and_umask_change_no_answer() {
	bloomery create ./f -n 1000 -p 0.001 --seed 5
	answers env > want
	for locale in C C.UTF-8 de_DE.UTF-8 tr_TR.UTF-8; do
		answers env LC_ALL=$locale TZ=Asia/Kolkata > got; cmp want got
	done
	(umask 077; bloomery create ./private -n 10); same "$(stat -c %a private)" 600
	(umask 0; bloomery create ./open -n 10); same "$(stat -c %a open)" 644
}

without_proc_home_or_environment_it_works() {
	[ -z "${SANITIZED-}" ] || { echo '# SKIP sanitizers want /proc'; return 0; }
	bloomery create ./f -n 1000 -p 0.001; answers env > want
	answers env -i LD_LIBRARY_PATH="$lib" > got; cmp want got
	is_root_with_mounts || { echo '# SKIP root with mounts is needed'; return 0; }
	export LD_LIBRARY_PATH=$lib
	answers unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh > got; cmp want got
	unshare -m sh -c 'mount -t tmpfs none /proc && "$0" create a -n 10 --store s && "$0" verify --store s && "$0" ls --store s' "$BLOOMERY"
}

with_its_streams_closed_it_harms_no_file() {
	bloomery create ./f -n 1000; cp f before
	exits 2 bash -c '"$0" info ./f >&-' "$BLOOMERY" || true
	"$BLOOMERY" info ./f <&- > /dev/null
	"$BLOOMERY" info ./f > /dev/null 2>&-
	"$BLOOMERY" add ./f <&- > /dev/null 2>&1 || true
	cmp f before
}

randomised_addresses_and_huge_pages_change_no_answer() {
	bloomery create ./f -n 1000 -p 0.001; answers env > want
	if setarch -R true 2> /dev/null; then
		answers setarch -R > got; cmp want got
	fi
	answers python3 -c 'import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])' > got
	cmp want got
}

each_file_system_that_can_be_made_here_holds_filters_and_stores() {
	is_root_with_mounts || { echo '# SKIP root with mounts is needed'; return 0; }
	for sort in tmpfs ext4 xfs btrfs; do
		[ $sort = tmpfs ] || command -v mkfs.$sort > /dev/null || continue
		rm -f image; truncate -s 400M image; mkdir -p at
		[ $sort = tmpfs ] || mkfs.$sort -q image > /dev/null 2>&1 || continue
		unshare -m bash -c '
			if [ "$1" = tmpfs ]; then mount -t tmpfs -o size=400m none at; else mount -o loop image at; fi || exit 77
			set -e
			"$0" create a -n 100k --store at/s; seq 5000 | "$0" add a --store at/s; "$0" sync a --store at/s
			"$0" create at/f -n 100k; seq 5000 | "$0" claim at/f > /dev/null; "$0" verify --store at/s
			[ "$1" = tmpfs ] || { umount at; mount -o loop image at; }
			[ "$(seq 5000 | "$0" test -c a --store at/s)" = 5000 ]; [ "$(seq 5000 | "$0" test -c at/f)" = 5000 ]
			"$0" verify --store at/s; "$0" create at/big -n 1g -p 0.001 2> at/err && exit 1
			grep -qi "space" at/err; [ ! -e at/big ]; umount at' "$BLOOMERY" $sort || [ $? = 77 ] || { echo $sort; return 1; }
	done
}

a_filter_four_times_as_large_as_the_memory_of_its_group_is_used() {
	group=/sys/fs/cgroup/memory/bloomery-test-$$
	[ "$(stat -f -c %T .)" != tmpfs ] && mkdir $group 2> /dev/null || { echo '# SKIP memory groups of version 1, and a disk, are needed'; return 0; }
	echo $((64 << 20)) > $group/memory.limit_in_bytes
	bloomery create ./f -m 2147483648 -k 4 --kind classic --sparse
	code=0
	bash -c 'echo $$ > '$group'/tasks; seq 2000 | timeout 60 "$0" add ./f && seq 2000 | timeout 60 "$0" test -c ./f > out' "$BLOOMERY" || code=$?
	rmdir $group 2> /dev/null || true
	same $code 0; same "$(cat out)" 2000
}

prove_all
