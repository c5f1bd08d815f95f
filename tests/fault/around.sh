#!/bin/bash
# around.sh - what surrounds a process and must not matter: locale, time zone, umask, file systems, /proc, memory, address layout
. "${0%/*}/../tools/tap.sh"
source=$(cd "${0%/*}/../.." && pwd)
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
	for locale in C C.UTF-8; do
		answers env LC_ALL=$locale TZ=Asia/Kolkata > got; cmp want got
	done
	(umask 077; bloomery create ./private -n 10); same "$(stat -c %a private)" 600
	(umask 0; bloomery create ./open -n 10); same "$(stat -c %a open)" 644
}

# With a comma for a point, and with an i that has its own capitals.
locales_of_other_lands_change_no_answer() {
	local locale there=0 lands='de_DE tr_TR'
	[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || lands=tr_TR	# it has both the comma and the letter i without a dot
	mkdir locales
	for locale in $lands; do
		localedef -i $locale -f UTF-8 "$PWD/locales/$locale.UTF-8" > /dev/null 2>&1 || true	# it warns by its exit code
		[ ! -d "locales/$locale.UTF-8" ] || there=$((there + 1))
	done
	[ $there = $(wc -w <<< "$lands") ] || { echo '# SKIP locales that localedef makes are needed: package locales'; return 0; }
	export LOCPATH=$PWD/locales
	same "$(LC_ALL=tr_TR.UTF-8 bash -c 'printf %.1f 1,5')" 1,5
	bloomery create ./f -n 1000 -p 0.001 --seed 5
	answers env > want; bloomery plan -n 1234567 -p 0.0123 > want.plan; bloomery info ./f > want.info
	for locale in $lands; do
		answers env LC_ALL=$locale.UTF-8 > got; cmp want got
		LC_ALL=$locale.UTF-8 bloomery plan -n 1234567 -p 0.0123 > got; cmp want.plan got
		LC_ALL=$locale.UTF-8 bloomery info ./f > got; cmp want.info got
	done
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

without_proc_no_synced_key_is_lost() {
	[ -z "${SANITIZED-}" ] || { echo '# SKIP sanitizers want /proc'; return 0; }
	is_root_with_mounts || { echo '# SKIP root with mounts is needed'; return 0; }
	export LD_LIBRARY_PATH=$lib
	for kind in cuckoo redis-cuckoo iblt counting; do
		rm -f f new sealed; bloomery create ./f --kind $kind -n 20000
		seq 9000 | bloomery add ./f; bloomery sync ./f; seq 9001 9100 | bloomery add ./f
		exits 2 unshare -m sh -c 'mount -t tmpfs none /proc && echo x | "$0" add ./f' "$BLOOMERY"; says 'mount /proc'
		exits 2 unshare -m sh -c 'mount -t tmpfs none /proc && "$0" create ./new -n 10 --kind $1' "$BLOOMERY" $kind; says 'mount /proc'
		[ ! -e new ]
		# as a program of before left it there
		python3 -c 'import sys; f = open("f", "r+b"); f.seek(4096 + 256); f.write((1).to_bytes(8, "little"))'
		same "$(seq 9000 | unshare -m sh -c 'mount -t tmpfs none /proc && exec "$0" test -c ./f' "$BLOOMERY")" 9000
		bloomery info ./f > said; grep -q "power cut\|cut" said || { cat said; return 1; }
	done
}

with_its_streams_closed_it_harms_no_file() {
	bloomery create ./f -n 1000; cp f before
	exits 2 bash -c '"$0" info ./f >&-' "$BLOOMERY" || true
	"$BLOOMERY" info ./f <&- > /dev/null
	"$BLOOMERY" info ./f > /dev/null 2>&-
	"$BLOOMERY" add ./f <&- > /dev/null 2>&1 || true
	cmp f before
}

# The program and its library, where a loader takes them that obeys no $ORIGIN: a copy of its owner's rights and a plain one.
copy_with_rights_of_nobody()
{
	python3 - "$1" "$BLOOMERY" "$lib"/libbloomery.so.0 <<'P' || return 77
import re, shutil, sys
where, program, library = sys.argv[1:]
bytes = open(program, 'rb').read()
path = re.findall(rb'\$ORIGIN/\.\./lib(?::X*)?\0', bytes)	# X: room for the path of the installed one
if len(path) != 1 or len(where) >= len(path[0]):
	sys.exit(77)
for name in 'plain', 'given':
	with open(f'{where}/{name}', 'wb') as out:
		out.write(bytes.replace(path[0], where.encode().ljust(len(path[0]), b'\0')))
shutil.copy(library, where + '/libbloomery.so.0')
P
	cp /usr/bin/id "$1"/id; chown 65534:65534 "$1"/given "$1"/id; chmod 755 "$1" "$1"/plain; chmod 4755 "$1"/given "$1"/id
}

of_its_owners_rights_the_program_obeys_no_variable() {
	local where sort why
	[ -z "${SANITIZED-}" ] || { echo '# SKIP sanitizers take the environment for themselves'; return 0; }
	why=$(no_other_user) && { echo "# SKIP $why"; return 0; }
	where=$(mktemp -d /tmp/bXXXXXX)
	trap "rm -rf $where" EXIT
	copy_with_rights_of_nobody "$where" || { [ $? = 77 ]; echo '# SKIP the program is not built to look for its library beside it'; return 0; }
	as() { (cd "$where" && env -i setpriv --reuid 65533 --regid 65533 --clear-groups env "$@"); }
	[ "$(as ./id -u)" = 65534 ] || [ "$(as ./id -un)" = nobody ] || { echo '# SKIP set-uid programs are not given their rights here'; return 0; }

	# all that are read, each as the loops below have them
	same "$(grep -rhoE '(getenv|environment)\("[A-Z_]+"' "$source"/lib "$source"/tools --include=*.c | sed 's/.*("//; s/"//' | sort -u | xargs)" \
		'BLOOMERY_SIMD BLOOMERY_STORE COLUMNS HOME NO_COLOR REDISCLI_AUTH TERM TMPDIR XDG_DATA_HOME'
	same "$(grep -rnE '(^|[^_])getenv\(' "$source"/lib "$source"/tools --include=*.c)" ''

	for sort in BLOOMERY_STORE=$where/s XDG_DATA_HOME=$where/data HOME=$where/home; do
		bloomery create found -n 10 --store "$where"/s; mkdir -p "$where"/data "$where"/home/.local/share
		cp -r "$where"/s "$where"/data/bloomery; cp -r "$where"/s "$where"/home/.local/share/bloomery
		chmod -R a+rX "$where"/s "$where"/data "$where"/home
		as "$sort" ./plain ls > plain; grep -q found plain
		exits 2 as "$sort" ./given ls; says 'no store'
		rm -r "$where"/s "$where"/data "$where"/home
	done
	as ./plain --version > want; as BLOOMERY_SIMD=scalar ./given --version > got; cmp want got
	as BLOOMERY_SIMD=scalar ./plain --version > got; grep -q scalar got
	printf 'a\na\nb\n' > "$where"/keys; chmod a+r "$where"/keys
	same "$(as TMPDIR=/nosuch ./given dedup --blocks 8Ki keys)" "$(as ./plain dedup --blocks 8Ki keys)"
	not as TMPDIR=/nosuch ./plain dedup --blocks 8Ki keys
}

randomised_addresses_and_huge_pages_change_no_answer() {
	bloomery create ./f -n 1000 -p 0.001; answers env > want
	if setarch -R true 2> /dev/null; then
		answers setarch -R > got; cmp want got
	fi
	answers python3 -c 'import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])' > got
	cmp want got
}

# also one in user space, where it warns that what it promises is up to that
each_available_file_system_holds_filters_and_stores() {
	is_root_with_mounts || { echo '# SKIP root with mounts is needed'; return 0; }
	local sort made missing=
	for sort in tmpfs ext4 fuse2fs xfs btrfs; do
		made=mkfs.$sort
		case $sort in
		tmpfs) made=true ;;
		fuse2fs) made=mkfs.ext4; command -v fuse2fs > /dev/null || { missing+=" fuse2fs"; continue; } ;;
		esac
		command -v $made > /dev/null || { missing+=" $made"; continue; }
		rm -f image; truncate -s 400M image; mkdir -p at
		$made -q image > /dev/null 2>&1 || { missing+=" a-working-$made"; continue; }
		unshare -m bash -c '
			mounted()
			{
				case $1 in
				tmpfs) mount -t tmpfs -o size=400m none at ;;
				fuse2fs)
					fuse2fs -f image at > server 2>&1 & server=$!
					for ((until = SECONDS + 600; SECONDS < until; )); do
						if mountpoint -q at; then return; fi
						kill -0 $server || break
						sleep 0.05
					done
					return 1 ;;
				*) mount -o loop image at ;;
				esac
			}
			unmounted() { umount at; wait; server=; }	# of FUSE the server has the last word
			trap "{ umount -l at; [ -z \"\$server\" ] || kill \$server; } 2> /dev/null || :" EXIT
			mounted $1 || exit 77
			set -e
			"$0" create a -n 100k --store at/s; seq 5000 | "$0" add a --store at/s; "$0" sync a --store at/s
			"$0" create at/f -n 100k; seq 5000 | "$0" claim at/f > /dev/null; "$0" verify --store at/s
			[ "$1" = tmpfs ] || { unmounted; mounted $1; }
			[ "$(seq 5000 | "$0" test -c a --store at/s)" = 5000 ]; [ "$(seq 5000 | "$0" test -c at/f)" = 5000 ]
			"$0" verify --store at/s; "$0" create at/big -n 1g -p 0.001 2> at/err && exit 1
			grep -qi "space" at/err; [ ! -e at/big ]; unmounted' "$BLOOMERY" $sort || { [ $? = 77 ] || { echo $sort; return 1; }; missing+=" a-mount-of-$sort"; }
	done
	[ -z "$missing" ] || echo "# SKIP of some file systems, for want of$missing"
}

a_filter_four_times_its_groups_memory_is_usable() {
	group=/sys/fs/cgroup/memory/bloomery-test-$$
	[ "$(stat -f -c %T .)" != tmpfs ] && mkdir $group 2> /dev/null || { echo '# SKIP memory groups of version 1, and a disk, are needed'; return 0; }
	echo $((64 << 20)) > $group/memory.limit_in_bytes
	bloomery create ./f -m 2147483648 -k 4 --kind classic --sparse
	code=0
	bash -c 'echo $$ > '$group'/tasks; seq 2000 | timeout 600 "$0" add ./f && seq 2000 | timeout 600 "$0" test -c ./f > out' "$BLOOMERY" || code=$?
	rmdir $group 2> /dev/null || true
	same $code 0; same "$(cat out)" 2000
}

prove_all
