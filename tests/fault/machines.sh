#!/bin/bash
# machines.sh - the suite on machines of other kinds, as far as this one can play them
#
# usage: tests/fault/machines.sh BUILD [MACHINE...]; without a MACHINE all of the following but here.
# The last line counts. A MACHINE that cannot be played here is skipped, with the reason.
#
#   here          as it is
#   avx512, avx2, scalar
#                 our loops are those, and glibc uses no better instructions
#   one           one processor
#   load          two busy loops for each processor
#   late          what the tests of the program write to pipes comes late
#   chroot        / is no mount point
#   container     namespaces of its own, few devices (no loop devices, no FUSE), /sys is read-only
#   user          a container in a user namespace: root is not root outside
#   ordinary      the user nobody, who may write the logs of the tests and temporary files
#
# $BLOOMERY_TEST_SCALE is the share of the work (0.1; here: 1).
. "${BASH_SOURCE[0]%/*}/../setup.sh"
build=$(cd "${1:?the folder of a build}" && pwd) || exit 2
shift
[ $# -gt 0 ] || set -- avx512 avx2 scalar one load late chroot container user ordinary
passed=0 failed=0 skipped=0
folder=$(mktemp -d) || exit 2
loops=()

finish()
{
	[ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2> /dev/null
	loops=()
}
trap 'finish; rm -rf "$folder"' EXIT

# The tests, in whatever machine this runs. inject is left out: its full length is a night's.
suite()
{
	local names
	mapfile -t names < <(meson test -C "$build" --list 2> /dev/null | sed -n 's|.* / ||p' |
		grep -vx inject)
	meson test -C "$build" --num-processes $(($(nproc) * 3 / 2)) --no-rebuild \
		--print-errorlogs --timeout-multiplier 40 --logbase "$logbase" "${names[@]}" < /dev/null
}

# In namespaces of its own: a root that is a plain folder, with the folders of this one in it.
in_chroot()
{
	local root=$folder/root one
	mkdir "$root"
	for one in /*; do
		if [ -L "$one" ]; then
			cp -P "$one" "$root/"
		elif [ -d "$one" ]; then
			mkdir "$root$one" && mount --rbind "$one" "$root$one" || return 1
		fi
	done
	exec chroot "$root" bash "$script" "$build" --inside "$logbase"
}

# In namespaces of its own: the devices that every container has, and no others.
in_container()
{
	local dev=$folder/dev one
	mkdir -p "$dev" && mount -t tmpfs -o mode=755 none "$dev" || return 1
	for one in null zero full random urandom tty; do
		: > "$dev/$one" && mount --bind "/dev/$one" "$dev/$one" || return 1
	done
	mkdir "$dev/shm" "$dev/pts" && mount -t tmpfs -o mode=1777 none "$dev/shm" || return 1
	mount -t devpts -o newinstance,ptmxmode=0666 none "$dev/pts" || return 1
	ln -s pts/ptmx "$dev/ptmx" && ln -s /proc/self/fd "$dev/fd" || return 1
	for one in 0:stdin 1:stdout 2:stderr; do
		ln -s "/proc/self/fd/${one%:*}" "$dev/${one#*:}"
	done
	mount --rbind "$dev" /dev || return 1
	mount --bind /sys /sys && mount -o remount,bind,ro /sys ||
		mount -t tmpfs -o ro none /sys || return 1
	exec bash "$script" "$build" --inside "$logbase"
}

# As a user without rights. The logs belong to this user until the suite ends. Every user must be able
# to read Python and the tests' programs.
as_nobody()
{
	local logs=$build/meson-logs code=0
	mkdir -p "$logs" "$folder/home" && chmod 755 "$folder" &&
		chown -R 65534:65534 "$logs" "$folder/home" || return 1
	(cd "$folder/home" && exec env HOME="$folder/home" PATH=/usr/local/bin:/usr/bin:/bin \
		setpriv --reuid 65534 --regid 65534 --clear-groups bash "$script" "$build" --inside "$logbase") || code=$?
	chown -R "$(id -u):$(id -g)" "$logs"
	return $code
}

script=$(cd "${BASH_SOURCE[0]%/*}" && pwd)/machines.sh
if [ "$1" = --inside ]; then
	logbase=$2
	suite
	exit
elif [ "$1" = --in ]; then
	folder=$4 logbase=$3
	trap - EXIT
	"in_$2"
	echo 'machines.sh: the machine cannot be made' >&2
	exit 1
fi

# Why that machine cannot be played here; nothing if it can.
reason()
{
	case $1 in
	avx512) grep -qw avx512f /proc/cpuinfo || echo 'the processor has no AVX-512' ;;
	avx2) grep -qw avx2 /proc/cpuinfo || echo 'the processor has no AVX2' ;;
	chroot | container) unshare -mpf true 2> /dev/null || echo 'no right to make namespaces' ;;
	ordinary)
		setpriv --reuid 65534 --regid 65534 --clear-groups test -r "$build/build.ninja" 2> /dev/null ||
			echo 'no right to become another user, or that user may not read the build' ;;
	user) unshare -rmpf true 2> /dev/null || echo 'no right to make user namespaces' ;;
	esac
}

no_avx512=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-AVX512ER
no_avx=$no_avx512,-AVX2,-AVX,-BMI2,-BMI1,-FMA,-SSE4_2,-SSE4_1,-SSSE3

# Runs the suite there.
play()
{
	case $1 in
	here) suite ;;
	late) TAP_LATE=1 suite ;;
	avx512) BLOOMERY_SIMD=avx512 suite ;;
	avx2) BLOOMERY_SIMD=avx2 GLIBC_TUNABLES=glibc.cpu.hwcaps=$no_avx512 suite ;;
	scalar) BLOOMERY_SIMD=scalar GLIBC_TUNABLES=glibc.cpu.hwcaps=$no_avx suite ;;
	one)
		taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" \
			bash "$script" "$build" --inside "$logbase"
		;;
	load)
		for ((i = 0; i < 2 * $(nproc); i++)); do
			(while :; do :; done) &
			loops+=($!)
		done
		suite
		finish
		;;
	chroot | container)
		unshare -mpf --mount-proc --kill-child \
			bash "$script" "$build" --in "$1" "$logbase" "$folder"
		;;
	user)
		unshare -rmpf --mount-proc --kill-child \
			bash "$script" "$build" --in container "$logbase" "$folder"
		;;
	ordinary) as_nobody ;;
	*)
		echo "$1: no such machine" >&2
		return 1
		;;
	esac
}

for machine; do
	echo "== the suite on a machine of the kind: $machine"
	why=$(reason "$machine")
	if [ "$why" ]; then
		echo "skipped - $machine: $why"
		skipped=$((skipped + 1))
		continue
	fi
	logbase=machine-$machine
	rm -f "$build/meson-logs/$logbase".*
	[ "$machine" = here ] || export BLOOMERY_TEST_SCALE="${BLOOMERY_TEST_SCALE:-0.1}"
	code=0
	play "$machine" || code=$?
	said=$(python3 "$root/tests/count.py" "$build/meson-logs" "$logbase") || echo "not ok - $machine"
	printf '%s\n' "$said"
	read -r p _ f _ s _ < <(tail -n 1 <<< "$said")
	if [[ $p =~ ^[0-9]+$ ]]; then
		passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
		if [ "$code" != 0 ] && [ "$f" = 0 ]; then
			echo "not ok - $machine: the suite did not come to its end"
			failed=$((failed + 1))
		fi
	else
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
