#!/bin/bash
# random.sh - the program where the system has no random numbers
. "${0%/*}/tap.sh"

# ENOSYS, EAGAIN, EINTR, EPERM: of an old kernel, one that never gets ready, signals without end, and a sandbox.
numbers='38 11 4 1'
without() { LD_PRELOAD=$NO_RANDOM GETRANDOM=$number timeout -k 1 100 "$BLOOMERY" "$@" < keys; }
skipped()
{
	[ -n "${SANITIZED:-}" ] || return 1
	echo '# SKIP sanitizers come before all other libraries'
}

prepare()
{
	seq 100 > keys; bloomery create a -n 1000 -p 0.01; bloomery template a b; bloomery create counts -n 1000 --kind counting; bloomery add a keys; bloomery create ./f -n 1000
	bloomery create ./secret -n 1000 --untrusted; bloomery add ./secret keys; bloomery export a --format bloomery -o exported
	printf '%s\n' 200 300 | bloomery allow add a
}

where_there_are_no_random_numbers_each_command_says_so() {
	skipped && return
	prepare
	number=38
	while read -r command; do
		exits 2 without $command; says 'no random numbers'
	done <<-'END'
		create new -n 1000
		create ./new -n 1000 -p 0.001 --kind classic
		create new -n 1000 --untrusted
		claim new --create -n 1000
		export a --format bloomery -o new
		export a --format bloomery -o exported --force
		build new -p 0.01 keys
		build ./new -p 0.01 --kind golomb keys
		template a new
		copy a new
		convert counts new
		union a b -o new
		import exported new
		publish ./f new
		clear a
		clear ./f
		seal ./f
		rebuild ./f --from keys
		bank ./new ./f
		dedup --index new --blocks 4Ki keys
		dedup --blocks 4Ki keys
	END
	for number in $numbers; do
		exits 2 without claim new --create -n 1000; says 'no random numbers'; exits 2 without clear ./f; says 'no random numbers'
	done
	rm -rf new
	same "$(bloomery ls | wc -l)" 3; same "$(ls -A | tr '\n' ' ')" 'exits.err exits.out exported f keys secret secret.key store '
	same "$(bloomery test -c a keys)" 100
}

commands_without_random_numbers_work_without_them() {
	skipped && return
	prepare; number=38
	for command in 'test -c a' 'add ./f' 'claim b' 'test -c ./secret' 'info a' 'ls' 'sync a' 'verify' 'mv b c' 'label a k=v' 'compare a c' \
		       'drop c' 'plan -n 1000 -p 0.01'; do
		exits 0 without $command
	done
}

the_device_serves_where_the_call_does_not() {
	skipped && return
	prepare; export URANDOM=/dev/urandom
	[ -c /dev/urandom ] || { echo '# SKIP there is no /dev/urandom here'; return 0; }
	for number in $numbers; do
		exits 0 without create new$number -n 1000 --untrusted; exits 0 without add new$number
		exits 0 without dedup --index i$number --blocks 4Ki keys
	done
	same "$(bloomery ls --json | json 'len({x["uuid"] for x in all})')" 7
}

another_device_or_file_is_not_believed() {
	skipped && return
	prepare; number=38; head -c 10000 /dev/zero > zeros
	for device in /dev/zero /dev/null zeros; do
		[ -e $device ] || { echo "# SKIP there is no $device here"; return 0; }
		export URANDOM=$device
		exits 2 without create ./new -n 1000; says '/dev/urandom: No such device'; [ ! -e new ]
	done
}

tests_draw_the_same_numbers_in_each_run() {
	[ -e "${SAME_RANDOM:-}" ] || { echo '# SKIP nothing gives the same numbers here'; return 0; }
	mkdir x y runs
	drawn() { (cd $1; bloomery create ./f -n 1000; bloomery info ./f --json | json 'j["uuid"]'); }
	SAME_RANDOM_RUNS=$PWD/runs drawn x > first
	rm runs/* x/f
	SAME_RANDOM_RUNS=$PWD/runs drawn y > again
	SAME_RANDOM_RUNS=$PWD/runs drawn x > second
	cmp first again
	not cmp -s first second
	bloomery create ./g -n 1000
	[ "$(bloomery info ./g --json | json 'j["uuid"]')" != "$(< first)" ]
}

prove_all
