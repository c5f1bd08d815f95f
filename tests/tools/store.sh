#!/bin/bash
# store.sh - publish, mv, drop, label, verify, sync, create --force, secrets
. "${0%/*}/tap.sh"

ls_counts_the_keys_in_the_files() {
	bloomery create a -n 10000; seq 1500 | bloomery add a
	seq 2201 | bloomery build b -n 10000
	same "$(bloomery ls -l | awk 'NR > 1 { print $2 }' | tr '\n' ' ')" "$(bloomery info a b --json | json '" ".join(str(f["keys"]) for f in all)') "
	bloomery ls --json | holds 'all[0]["keys"] > 1400 and all[0]["dirty"] and not all[0]["durable"] and all[0]["from_catalog"] is False'
	seq 1501 1600 | bloomery add a --sync-every 1M; seq 1601 1700 | bloomery add a
	mv store/filters .; mkdir store/filters		# then the catalog knows
	bloomery ls -l > out 2> err
	same "$(awk 'NR > 1 { print $2 }' out | tr '\n' ' ' | tr -d 0-9)" '* * '
	grep -q '^bloomery: \* keys and size as of the last sync' err
	bloomery ls --json | holds 'all[0]["keys"] > 1500 and all[0]["from_catalog"] and all[1]["from_catalog"]'
}

ls_marks_numbers_of_keys_that_are_estimated() {
	bloomery create a -n 1000; bloomery template a b; seq 100 | bloomery add a; seq 51 150 | bloomery add b
	bloomery union a b -o both
	bloomery ls -l > out 2> err
	same "$(awk 'NR > 1 { print $NF, $2 }' out | tr -d 0-9)" $'a \nb \nboth ~'
	grep -q '^bloomery: ~ keys are estimated' err
	bloomery sync both; mv store/filters .; mkdir store/filters
	same "$(bloomery ls -l both 2> err | awk 'NR > 1 { print $2 }' | tr -d 0-9)" '~*'
	bloomery ls -l a > out 2> err; not grep '~' err out
}

built_and_published_filters_are_written_durably() {
	seq 1000 | bloomery build b --seal -n 1000; seq 1000 | bloomery build ./b --kind fuse
	bloomery create c -n 1000; bloomery publish c d
	for f in b ./b c d; do
		bloomery info $f | grep '^  created' > created
		grep -q ', written durably then$' created
		bloomery info $f --json | holds 'j["durable"] and not j["dirty"] and j["synced"] is None'
	done
	echo x | bloomery add c
	bloomery info c | grep -q 'never synced, changed since$'
	bloomery info c --json | holds 'not j["durable"]'
}

publishing_replaces_in_one_step() {
	bloomery create seen -n 100; echo old | bloomery add seen
	bloomery create ./new -n 200; echo new | bloomery add ./new
	bloomery publish ./new seen
	same "$(printf 'old\nnew\n' | bloomery test seen)" new
	bloomery publish ./new fresh; same "$(bloomery ls | tr '\n' ' ')" 'fresh seen '
	exits 2 bloomery publish ./nosuch seen
}

published_filters_are_sealed_by_default() {
	bloomery create ./new -n 200; echo new | bloomery add ./new
	bloomery publish ./new seen
	bloomery info seen --json | holds 'j["sealed"] and "add" not in j["can"]'
	echo more | exits 2 bloomery add seen; says sealed
	bloomery publish seen seen --writable; echo more | bloomery add seen
	same "$(printf 'new\nmore\nother\n' | bloomery test seen | tr '\n' ' ')" 'new more '
	bloomery verify
}

moving_never_destroys() {
	bloomery create a -n 10; bloomery create b -n 10
	exits 2 bloomery mv a b; says b
	exits 2 bloomery mv nosuch c; says nosuch
	bloomery mv a c; same "$(bloomery ls | tr '\n' ' ')" 'b c '
}

a_world_writable_filter_is_not_moved() {
	bloomery create k -n 10; chmod 666 store/filters/*.blm
	exits 2 bloomery mv k k2; says '/store): its file has the mode 666, so every user may change what is in it'
	same "$(bloomery ls)" k
	for repair in '' --repair; do
		exits 1 bloomery verify $repair
		grep -q '^k: its file .*store/filters/[-0-9a-f]*.blm has the mode 666, so every user may change what is in it; .*(--anyone)$' exits.out
		same "$(wc -l < exits.out)" 1
	done
	bloomery verify --anyone; bloomery mv --anyone k k2; bloomery verify --anyone
	chmod 664 store/filters/*.blm; bloomery mv k2 k; bloomery verify
	chmod o+w store/filters; exits 1 bloomery verify; grep -q 'store/filters: every user may write there' exits.out
	exits 2 bloomery verify --repair; says 'chmod o-w'; bloomery verify --anyone --repair
}

a_lost_catalog_shows_by_secrets_only() {
	mkdir -p store/catalog store/filters store/keys
	exits 2 bloomery ls; says 'no complete store'
	echo secret > store/keys/0123456789abcdef
	exits 2 bloomery ls; not says 'no complete store' > said
	rm store/keys/0123456789abcdef; rmdir store/keys
	exits 2 bloomery ls; says 'no complete store'
}

dropping_deletes_the_file() {
	bloomery create a -n 10; bloomery create b -n 10; bloomery create c -n 10
	bloomery drop a b
	same "$(bloomery ls)" c; same "$(ls store/filters | wc -l)" 1
	exits 2 bloomery drop a; says a
}

labels_are_set_shown_and_taken_away() {
	bloomery create a -n 10; bloomery label a source=crawl 'owner=the ops = team'
	same "$(bloomery label a | sort | tr '\n' ';')" 'owner=the ops = team;source=crawl;'
	bloomery label a source=again; bloomery label a -d owner
	same "$(bloomery label a)" source=again
	bloomery info a --json | holds 'j["labels"] == ["source=again"]'
	exits 64 bloomery label a nonsense; exits 64 bloomery label a =x
	exits 2 bloomery label nosuch a=b
}

creating_never_overwrites_unless_forced() {
	for f in named ./path; do
		bloomery create $f -n 100; echo key | bloomery add $f
		exits 2 bloomery create $f -n 200; says "${f#./}"
		echo key | bloomery test -s $f
		bloomery create $f -n 200 --force
		echo key | exits 1 bloomery test $f
		same "$(bloomery info $f --json | json 'j["capacity"]')" 200
	done
	echo text > other; exits 2 bloomery create ./other -n 10
	bloomery create absent -n 10 --force
	same "$(bloomery ls | tr '\n' ' ')" 'absent named '
	exits 64 bloomery create named -n 0 --force; bloomery info named > /dev/null
	exits 2 bloomery create named -n 1t -p 1e-6 --force; bloomery info named > /dev/null
}

filters_of_a_list_of_names_appear_together() {
	seq -f 'day %.0f' 40 > names
	bloomery create --names-from names -n 1000 --hash siphash
	same "$(bloomery ls | sort)" "$(sort names)"
	same "$(for f in 'day 1' 'day 40'; do bloomery info "$f" --json | json 'j["template"]'; done | sort -u | wc -l)" 1
	same "$(ls store/keys | wc -l)" 1
	echo key | bloomery add 'day 7'; bloomery union 'day 7' 'day 8' -o both; bloomery test -s both --key key
	printf 'new\n\0day 3\n' > bad; exits 2 bloomery create --names-from bad -n 10; says 'line 2 has a NUL'
	printf 'new\nday 3\n' | exits 2 bloomery create --names-from - -n 10; says 'day 3 '; says 'exists already'
	printf 'new\n\nnewer\n' | exits 2 bloomery create --names-from - -n 10; says 'line 2 is empty'
	printf 'new\na/b\n' | exits 2 bloomery create --names-from - -n 10; says 'a/b'
	printf 'new\nnew\n' | exits 2 bloomery create --names-from - -n 10; says 'new: given twice'
	exits 64 bloomery create new --names-from names -n 10; exits 64 bloomery create -n 10
	exits 64 bloomery create --names-from names -n 10 --force; exits 2 bloomery create --names-from absent -n 10; says absent
	same "$(bloomery ls | wc -l)" 41; same "$(ls store/filters | wc -l)" 41
	printf 'with\nno end' | gzip | bloomery create --names-from - -n 10; bloomery info 'no end' > out
	bloomery create --names-from /dev/null -n 10
	bloomery verify
}

a_filter_renamed_during_a_publication_is_not_lost() {
	bloomery create ./b -n 1000; seq 100 | bloomery add ./b
	bloomery publish ./b n
	local times=300
	[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || times=60
	( for ((p = 0; p < times / 2; p++)); do bloomery publish ./b n; done ) &
	for ((i = 1; i <= times; i++)); do
		if bloomery mv n m$i 2> /dev/null; then
			bloomery label m$i at=$i
		fi
	done
	wait $!
	[ "$(bloomery ls 'm*' | wc -l)" -ge 5 ]
	for f in $(bloomery ls 'm*'); do
		same "$(seq 100 | bloomery test -c $f)" 100
		same "$(bloomery label $f)" "at=${f#m}"
	done
	bloomery verify
}

labels_outlive_publications() {
	bloomery create ./b -n 1000; bloomery publish ./b n
	local times=100
	[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || times=25
	( for ((p = 0; p < times; p++)); do bloomery publish ./b n; done ) &
	for ((i = 1; i <= times; i++)); do
		bloomery label n at=$i
		same "$(bloomery label n)" at=$i
	done
	wait $!
	same "$(bloomery label n)" at=$times
}

a_links_target_is_replaced_and_the_link_stays() {
	bloomery create ./real -n 1000; seq 10 | bloomery add ./real; bloomery copy ./real ./b
	ln -s real link; ln -s nothing dangling
	bloomery intersect ./link ./b --in-place
	[ -L link ]; same "$(seq 10 | bloomery test -c ./real)" 10
	exits 2 timeout 600 "$BLOOMERY" create ./dangling -n 10 --force
	[ ! -e nothing ]
}

a_healthy_store_verifies() {
	bloomery create a -n 1000; bloomery create b -n 10 --kind classic; seq 1000 | bloomery add a
	bloomery verify > out; same "$(cat out)" ''
	bloomery verify a; bloomery verify --json
	exits 2 bloomery verify nosuch; exits 2 bloomery verify --store /nonexistent/x
}

a_lost_catalog_is_rebuilt_with_its_names() {
	bloomery create a -n 1000; bloomery create b -n 1000; seq 100 | bloomery add a; bloomery sync a
	rm -rf store/catalog/*
	exits 1 bloomery verify; [ -s exits.out ]
	bloomery verify --repair > out
	same "$(bloomery ls | tr '\n' ' ')" 'a b '
	same "$(seq 100 | bloomery test -c a)" 100
	bloomery verify
}

a_catalog_that_crashes_lmdb_is_rebuilt_by_repair() {
	[ -z "${SANITIZED-}" ] && command -v cc > /dev/null && ldd "$BLOOMERY" | grep -q liblmdb.so ||
		{ echo '# SKIP a compiler, LMDB as a shared library, and no sanitizers, are needed'; return; }
	cat > crash.c <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <signal.h>
		#include <stdlib.h>
		#include <string.h>
		int mdb_dbi_open(void *txn, const char *name, unsigned flags, void *ret)
		{
			int (*open)(void *, const char *, unsigned, void *) = dlsym(RTLD_NEXT, "mdb_dbi_open");
			return strcmp(name, "gone") ? open(txn, name, flags, ret) : raise(atoi(getenv("CRASH")));
		}
	END
	cc -shared -fPIC -o crash.so crash.c -ldl
	crashing() { CRASH=$(kill -l $signal) LD_PRELOAD=$PWD/crash.so "$BLOOMERY" "$@"; }
	bloomery create a -n 100; bloomery create b -n 100; bloomery label b kind=second; seq 10 | bloomery add b; bloomery sync b
	for signal in SEGV BUS ABRT FPE ILL; do
		same "$(crashing ls | tr '\n' ' ')" 'a b '; crashing verify	# what only reads does without LMDB
		code=0; crashing drop a > out 2> err || code=$?; same $code $((128 + $(kill -l $signal)))
		crashing verify --repair > out 2> err; grep -q "catalog: reading it crashed (SIG$signal): only the filters' files are checked" err
		grep -q 'store/catalog: .*reading it crashed' out; grep -q 'repaired' out
		bloomery verify; same "$(bloomery ls | tr '\n' ' ')" 'a b '; bloomery info b | grep -q second
	done
	signal=TERM; exits 2 crashing verify --repair; says 'ended by the signal TERM'
}

damage_is_found_and_exits_1() {
	bloomery create ./f -n 1000 --kind classic; seq 1000 | bloomery add ./f
	printf 'XXXX' | dd of=f bs=1 seek=64 conv=notrunc status=none
	code=0; bloomery verify ./f > out 2> err || code=$?
	[ $code = 1 ] || [ $code = 2 ]
	exits 2 bloomery test ./f; says ./f
}

a_lost_file_is_found() {
	bloomery create a -n 1000; bloomery create b -n 1000; rm store/filters/*
	exits 1 bloomery verify; [ -s exits.out ]
	bloomery verify --json 2> /dev/null > j || true
	holds 'len(all[0]["file"]) > 0 and len(all[0]["what"]) > 0 and not all[0]["repaired"]' < j
	exits 2 bloomery info a
}

sync_makes_clean() {
	bloomery create a -n 100; seq 10 | bloomery add a
	bloomery info a --json | holds 'j["dirty"] and j["synced"] is None'
	bloomery sync a
	bloomery info a --json | holds 'not j["dirty"] and j["synced"] is not None'
	holds 'j["keys"] == 10' < <(bloomery ls --json)
	exits 2 bloomery sync nosuch
}

a_keyed_filter_needs_its_secret() {
	bloomery create ./f --untrusted -n 100; echo key | bloomery add ./f
	bloomery info ./f --json | holds 'j["hash"] == "siphash" and len(j["key_id"]) == 16 and j["seeds"] == []'
	same "$(stat -c %a f.key)" 600
	echo key | bloomery test -s ./f
	mv f.key kept; exits 2 bloomery test ./f; says --key-file
	echo key | bloomery test -s ./f --key-file kept
	printf '%032d\n' 7 > wrong; exits 2 bloomery test ./f --key-file wrong
	echo short > bad; exits 2 bloomery test ./f --key-file bad; says bad
	exits 2 bloomery test ./f --key-file nosuch; says nosuch
	not grep -qr "$(cat kept)" f exits.err
}

a_given_secret_makes_the_same_filter_twice() {
	printf '%032d\n' 5 > key
	bloomery create a --hash siphash --key-file key -n 100; bloomery create b --hash siphash --key-file key -n 100
	bloomery info a b --json | holds 'all[0]["template"] == all[1]["template"]'
	ls store/keys | grep -q .
}

a_create_that_fails_leaves_no_store_that_is_damaged() {
	for blocks in 0 2 8 12 21 24 30; do		# of 1024 bytes
		rm -rf store
		(ulimit -f $blocks; bloomery create a -n 1000) 2> err || { [ $? = 2 ] && not grep -q lost err; }
		[ ! -s err ] || grep -q 'RLIMIT_FSIZE\|or a limit, allows no file' err
		bloomery ls > out 2> err || { [ $? = 2 ] && grep -q 'no complete store' err; }
		bloomery info a > out 2>&1 || bloomery create a -n 1000
		echo x | bloomery add a; bloomery verify; bloomery ls | grep -q '^a'
	done
}

a_lost_catalog_is_reported_where_filters_exist() {
	bloomery create a -n 1000; rm store/catalog/data.mdb
	exits 2 bloomery ls; says 'the catalog is lost'
	code=0; bloomery verify > out 2> err || code=$?; same $code 1
	grep -q "^$PWD/store/catalog: the catalog is lost; " out; same "$(grep -o "$PWD" out | wc -l)" 1
	exits 0 bloomery verify --repair; bloomery info a > /dev/null
}

# full: no block is free where we are
full() { cat /dev/zero > "filler$RANDOM$RANDOM" 2> /dev/null || true; }

# drop_on_a_full_disk: filters of a young store, one after another
drop_on_a_full_disk()
{
	set -e
	mount -t tmpfs -o size=1m none .; cd .
	cd "$PWD"; export BLOOMERY_STORE=$PWD/store
	for i in $(seq 6); do bloomery create "f$i" -n 1000; done
	for i in $(seq 6); do
		full
		bloomery drop "f$i"
	done
	bloomery ls | wc -l > left; rm -f filler*; bloomery verify
}

filters_are_dropped_on_a_full_disk() {
	mkdir at
	[ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs none at 2> /dev/null || { echo '# SKIP root with mounts is needed'; return; }
	bloomery() { "$BLOOMERY" "$@"; }
	export -f drop_on_a_full_disk full bloomery; export BLOOMERY
	(cd at; unshare -m bash -c drop_on_a_full_disk)
}

a_restored_older_file_is_reported_until_accepted() {
	bloomery create a -n 10000 --seed 1; seq 1000 | bloomery add a; bloomery sync a
	cp store/filters/*.blm backup; seq 3000 | bloomery add a; bloomery sync a
	mv backup store/filters/*.blm
	bloomery info a > out; grep -q '^ *older .* has 3000 keys, synced ' out; grep -q '^ *keys .*1000' out
	bloomery info a --json | holds 'j["older"] and j["keys"] == 1000 and j["catalog_keys"] == 3000 and j["catalog_synced"] is not None'
	exits 1 bloomery verify; grep -q 'older than the catalog: the file has 1000 keys, synced .* the catalog 3000, synced ' exits.out
	echo new | bloomery add a 2> err; same "$(grep -c 'older than the catalog' err)" 1
	bloomery verify --repair; bloomery verify
	echo new | bloomery add a 2> err; not grep -q older err
	bloomery info a --json | holds 'not j["older"] and "catalog_keys" not in j'
}

repair_says_that_a_lost_filters_name_was_removed() {
	bloomery create lost -n 10; bloomery label lost day=1
	rm store/filters/*.blm
	bloomery mv lost gone 2> err; grep -q "gone: its file is missing or cannot be opened; 'bloomery verify' says" err
	bloomery mv gone lost 2> err
	exits 1 bloomery verify; same "$(wc -l < exits.out)" 1
	grep -q '^lost: its file is missing, with its keys: put a copy of it back before a repair' exits.out
	exits 1 bloomery verify --json; holds 'j["lost"] and not j["repaired"]' < exits.out
	exits 0 bloomery verify --repair
	same "$(cat exits.out)" 'lost: its file is missing: its keys are lost, and its name and labels were removed from the catalog'
	same "$(bloomery ls)" ''; bloomery verify
}

a_store_is_readable_without_write_access() {
	bloomery create a -n 100; echo x | bloomery add a
	chmod -R a-w store
	bloomery ls > /dev/null; echo x | bloomery test -s a; bloomery info a > /dev/null; bloomery verify
	if [ "$(id -u)" != 0 ]; then exits 2 bloomery create b -n 10; fi
	chmod -R u+w store
}

prove_all
