#!/bin/bash
# load.sh - how a filter is placed in memory: --prefault, --lock, --pages
. "${0%/*}/tap.sh"

# Sanitizers let no memory be locked, and have much of their own.
sanitized()
{
	grep -qa __asan_init "$BLOOMERY"
}

answers_do_not_depend_on_pages_in_memory() {
	bloomery create ./f -n 3m --seed 1; seq 1000 | bloomery add ./f
	seq 20000 | bloomery test ./f > expected
	for how in --prefault --lock '--pages huge' '--pages small' '--prefault --lock --pages small'; do
		# shellcheck disable=SC2086
		seq 20000 | bloomery test $how ./f > out; cmp out expected
		# shellcheck disable=SC2086
		same "$(seq 1000 | bloomery add --count $how ./f)" 0
		# shellcheck disable=SC2086
		seq 1000 | exits 1 bloomery claim $how ./f
	done
	same "$(seq 10 | bloomery claim --create -n 1000 --lock --pages small ./g | wc -l)" 10
}

pages_are_huge_or_small() {
	bloomery create ./f -n 1000
	for bad in big 4k ''; do
		seq 10 | exits 64 bloomery test --pages "$bad" ./f; says '--pages'; says 'huge or small'
	done
}

a_refused_memory_lock_names_the_limit() {
	bloomery create ./f -n 3m; seq 10 | bloomery add ./f
	# Root may lock what it likes. Root of a user namespace has the limit of others.
	as_nobody=()
	no_other_user || as_nobody=(setpriv --reuid 65534 --clear-groups)
	chmod 755 . ..
	if [ ${#as_nobody[@]} = 0 ] && (ulimit -l 64; bloomery test --lock ./f < /dev/null; [ $? = 1 ]); then
		echo '# SKIP no limit of locked memory holds here, and this process cannot become another user'
	elif ! sanitized; then
		seq 10 | (ulimit -l 64; exits 2 "${as_nobody[@]}" "$BLOOMERY" test --lock ./f)
		says 'may lock 65536 bytes'; says 'ulimit -l'
	fi
	same "$(seq 10 | bloomery test -c ./f)" 10
}

# KiB of memory of its own that `bloomery test` has, while it waits for its second key.
own_memory()
{
	rm -f pipe; mkfifo pipe
	"$BLOOMERY" test "$1" < pipe > out & pid=$!
	exec 7> pipe
	echo 1 >&7
	while [ ! -s out ] && kill -0 $pid; do sleep 0.05; done
	sed -n 's/^RssAnon:[^0-9]*\([0-9]*\) kB$/\1/p' /proc/$pid/status
	exec 7>&-
	wait $pid
}

a_reader_has_no_copy_of_the_filter() {
	bloomery create ./small -n 1000; bloomery create ./large -n 50m
	seq 1000 | bloomery add ./small; seq 1000 | bloomery add ./large
	small=$(own_memory ./small) large=$(own_memory ./large)
	echo "KiB: $small, $large"
	[ "$large" -lt $((small + 512)) ]
	sanitized || [ "$large" -lt 2048 ]
}

prove_all
