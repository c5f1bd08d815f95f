#!/bin/bash
# durable.sh - syncs, seals, filters made anew, and damaged blocks
TAP_DISK=1	# a sync in memory syncs nothing
. "${0%/*}/tap.sh"

# make FILE KEYS [OPTION...]: a filter of several blocks, synced
make()
{
	local file=$1 keys=$2
	shift 2
	bloomery create "$file" -m 1572864 -k 5 --kind blocked --seed 1 "$@"
	seq "$keys" | bloomery add "$file"; bloomery sync "$file"
}

# spoil FILE BLOCK [BYTES]: zeros in a block of its data, which begins at 20544 in a file of three blocks
spoil()
{
	dd if=/dev/zero of="$1" bs="${3:-512}" seek=$((20544 + 65536 * $2)) count=1 oflag=seek_bytes conv=notrunc status=none
}

info() { bloomery info --json "$1"; }

verify_finds_a_damaged_block_and_says_which() {
	make ./f 20000; bloomery verify ./f
	same "$(bloomery verify ./f)" ''
	spoil ./f 1
	exits 1 bloomery verify ./f; says '1 thing is wrong; --repair mends what can be mended'
	grep -q '^./f: part 0, block 1, bytes 86080 to 151615: damaged, of [0-9]* bits only [0-9]* are left$' exits.out
	spoil ./f 2 65536
	exits 1 bloomery verify ./f; says '2 things are wrong'
	same "$(wc -l < exits.out)" 2
	exits 1 bloomery verify -q ./f; same "$(cat exits.err)" ''
	same "$(bloomery verify ./f --json | json 'len(all), j["repaired"], "block 1" in j["what"]')" "(2, False, True)"
}

syncs_report_lost_bits_until_the_block_is_repaired() {
	make ./f 20000; spoil ./f 1 65536
	seq 20001 20100 > more
	exits 2 bloomery add ./f more --sync-every 50; says './f: synced, but part 0, block 1, bytes 86080 to 151615 lost bits'
	exits 2 bloomery sync ./f; says 'verify --repair'
	exits 0 bloomery verify ./f --repair
	bloomery sync ./f; bloomery add ./f more --sync-every 50
	same "$(seq 20100 | bloomery test -c ./f)" 20100
}

# with enough keys after the first thousand that no count of its bits shows the loss of the block
lost_bits_stop_no_input_and_are_reported_last() {
	make ./damaged 20000; spoil ./damaged 1 65536
	seq 20001 80000 > more
	keys() { bloomery info "$1" --json | json 'j["keys"]'; }
	enough=$(($(keys ./damaged) + 900))	# some of the first thousand are false positives
	slowly() { head -1000 more; until [ "$(keys ./f)" -gt $enough ]; do sleep 0.05; done; sleep 0.3; tail -n +1001 more; }
	for every in 50 0.1s; do
		cp damaged f
		slowly | exits 2 bloomery add ./f --sync-every $every; says './f: synced, but part 0, block 1, bytes 86080 to 151615 lost bits'
		same "$(bloomery test -c ./f more)" 60000
		cp damaged f
		slowly | exits 2 bloomery claim ./f --sync-every $every; says 'block 1'
		same "$(bloomery test -c ./f more)" 60000
	done
}

# [to=FILE lines=N] cut_under SIZE COMMAND [OPTION...]: the command with keys that come when it has ./f mapped, and ./f is cut
cut_under()
{
	local size=$1 code=0
	shift
	rm -f ./f ./f.key keys; mkfifo keys
	case $1 in
	remove) make ./f 1000 --kind counting ;;
	*) make ./f 1000 ;;
	esac
	"$BLOOMERY" "$1" ./f keys "${@:2}" > "${to-cut.out}" 2> exits.err & pid=$!
	exec 3> keys		# which it opens when it has mapped ./f
	truncate -s "$size" ./f
	seq 5000 >&3 || :	# it may end before it has read them all
	exec 3>&-
	wait $pid || code=$?
	same "$code" 2
	same "$(wc -l < exits.err)" "${lines-1}"
	says './f: I/O error on the mapped file (truncated, unreadable, or disk full): do not trust the answers; free disk space, or restore a copy'
}

a_file_truncated_under_its_map_is_one_error() {
	for size in 30000 8192 0; do
		cut_under $size test; cut_under $size add; cut_under $size add --sync-every 10; cut_under $size claim; cut_under $size remove
	done
}

what_goes_wrong_after_that_line_is_said_after_it() {
	to=/dev/full lines=2 cut_under 8192 test -c
	[[ $(tail -1 exits.err) = 'bloomery: standard output: '* ]]
}

lost_bits_are_reported_after_bad_input_too() {
	make ./f 20000; spoil ./f 1 65536
	seq 20001 20100 > more; code=0
	bloomery add ./f more no-such-file --sync-every 50 2> err || code=$?
	same "$code" 2; same "$(wc -l < err)" 2
	grep -q no-such-file err; grep -q 'part 0, block 1, bytes 86080 to 151615 lost bits' err
	same "$(bloomery test -c ./f more)" 100
}

verify_names_a_file_that_is_no_filter_once() {
	make ./f 2000; head -c 30000 f > g; mv g f
	exits 1 bloomery verify ./f; grep -q '^\./f: ' exits.out; not grep -q '^\./f: \./f' exits.out
}

of_damaged_sync_records_info_says_what_follows() {
	bloomery create ./f -n 1000; seq 10 | bloomery add ./f; bloomery sync ./f; bloomery sync ./f
	for at in 4608 4544; do		# the two of them, the older one first
		info ./f | holds 'not j["suspect"] and j["synced"] is not None'
		printf '\377' | dd of=./f bs=1 seek=$((at + 8)) conv=notrunc status=none
	done
	info ./f | holds 'j["suspect"] and j["suspect_epoch"] == 0 and j["synced"] is None'
	bloomery info ./f | grep '^ *created' > created
	grep -q 'its sync records are damaged, so which keys are on the disk is not known, .*: sync it again$' created
	not grep -qE 'never|epoch' created
	exits 1 bloomery verify ./f; bloomery sync ./f; bloomery verify ./f
	info ./f | holds 'not j["suspect"] and j["synced"] is not None'
	same "$(seq 10 | bloomery test -c ./f)" 10
}

create_warns_once_about_a_network_file_system() {
	[ -z "${SANITIZED-}" ] && command -v cc > /dev/null || { echo '# SKIP a compiler, and no sanitizers, are needed'; return; }
	cat > fuse.c <<-'END'
		#include <string.h>
		static int fuse(long *ret) { memset(ret, 0, 64); *ret = 0x65735546; return 0; }
		int fstatfs(int fd, long *ret) { return fuse(ret); }
		int fstatfs64(int fd, long *ret) { return fuse(ret); }
	END
	cc -shared -fPIC -o fuse.so fuse.c
	on_fuse() { LD_PRELOAD=$PWD/fuse.so "$BLOOMERY" "$@" 2> err; }
	on_fuse create ./f -n 100
	same "$(grep -c '^bloomery: warning: ./f: it is on a FUSE file system' err)" 1; same "$(wc -l < err)" 1
	echo x | on_fuse claim ./g --create -n 100 > out; same "$(grep -c warning err)" 1
	on_fuse create a -n 100; same "$(grep -c 'warning: a: it is on' err)" 1
	bloomery create ./h -n 100 2> err; same "$(cat err)" ''
}

verify_says_what_damage_it_cannot_see() {
	for kind in counting cuckoo d-left window hash-compact redis-cuckoo; do
		bloomery create ./f -n 10000 --kind $kind --force; seq 1000 | bloomery add ./f; bloomery sync ./f
		bloomery verify ./f > out 2> err
		same "$(cat out)" ''; same "$(cat err)" \
			"bloomery: ./f: its data was not checked: in a filter of the kind $kind damage is found only if it is sealed"
		bloomery verify -q ./f 2> err; same "$(cat err)" ''
		bloomery seal ./f; bloomery verify ./f 2> err; same "$(cat err)" ''
	done
	of_ones='bloomery: ./f: is not sealed, so bits that damage turned on cannot be found'
	for kind in classic blocked split-block scalable removable attenuated; do
		bloomery create ./f -n 10000 --kind $kind --force; bloomery verify ./f 2> err; same "$(cat err)" "$of_ones"
	done
	bloomery create ./f -m 10000 --kind bitmap --force; bloomery verify ./f 2> err; same "$(cat err)" "$of_ones"
	bloomery verify -q ./f 2> err; same "$(cat err)" ''
	bloomery create a -n 100; bloomery verify 2> err; same "$(grep -c 'not sealed' err)" 1; same "$(wc -l < err)" 1
	bloomery verify -q 2> err; same "$(cat err)" ''
	bloomery seal a; bloomery verify 2> err; same "$(cat err)" ''
}

bits_that_changed_places_are_found() {
	make ./f 20000
	at=90000 byte=0
	while [ $byte = 0 ] || [ $byte = 255 ]; do
		at=$((at + 1)) byte=$(($(od -An -tu1 -j $at -N 1 ./f)))
	done
	printf "\\x$(printf %x $(((byte << 1 | byte >> 7) & 255)))" | dd of=./f bs=1 seek=$at conv=notrunc status=none
	exits 1 bloomery verify ./f
	grep -q 'block 1, .*damaged, as many bits as recorded, but others$' exits.out
}

keys_that_are_not_synced_yet_are_no_damage() {
	make ./f 100; seq 101 5000 | bloomery add ./f; bloomery verify ./f
	cp ./f ./copy; bloomery verify ./copy
	same "$(seq 5000 | bloomery test -c ./copy)" 5000
}

repair_fills_a_damaged_block_and_reports_the_rate() {
	make ./f 20000; spoil ./f 0; spoil ./f 2 65536
	[ "$(seq 20000 | bloomery test -c ./f)" -lt 20000 ]
	exits 0 bloomery verify ./f --repair
	same "$(grep -vc "not sealed" exits.err)" 0
	same "$(grep -c 'all are set now, so that no key is denied (repaired)$' exits.out)" 2
	grep -q '^./f: 2 damaged blocks are full of ones: the false-positive rate is 0.6[0-9]* now (repaired)$' exits.out
	same "$(seq 20000 | bloomery test -c ./f)" 20000
	bloomery verify ./f
	info ./f | holds '0.66 < j["predicted_rate"] < 0.69 and not j["dirty"]'
	echo new | bloomery add ./f; bloomery sync ./f; bloomery verify ./f
}

repairing_a_store_repairs_its_filters_too() {
	make seen 20000
	file=$(echo store/filters/*.blm); spoil "$file" 1
	exits 1 bloomery verify; grep -q 'block 1' exits.out
	exits 0 bloomery verify --repair; grep -q 'block 1.*(repaired)$' exits.out; says 'no other damage was found'
	exits 0 bloomery verify; says ' no damage was found'
	same "$(seq 20000 | bloomery test -c seen)" 20000
	spoil "$file" 2; exits 1 bloomery verify seen; exits 0 bloomery verify seen --repair; exits 0 bloomery verify
}

a_stores_damaged_file_is_named_by_filter_and_path() {
	make seen 20000; file=$PWD/$(echo store/filters/*.blm); spoil "$file" 1
	exits 1 bloomery verify; grep -q "^$file (seen): part 0, block 1, bytes 86080 to 151615: damaged" exits.out
	exits 1 bloomery verify --json; json 'j["name"]' < exits.out | grep -qx seen
	truncate -s 100 "$file"
	exits 1 bloomery verify
	same "$(cat exits.out)" "$file (seen): 100 bytes, shorter than a filter's header (20480): it is truncated, or no filter: put a \
copy in its place, or make it again from its keys"
}

messages_have_the_path_that_was_given() {
	bloomery create ./f -n 1m; bloomery create ./c -n 10 --kind cuckoo; seq 100000 > keys
	clear_with_small_files() { (ulimit -f 8; bloomery clear ./f); }
	exits 2 clear_with_small_files; grep -q '^bloomery: \./f: ' exits.err
	exits 2 bloomery rebuild ./c --from keys; grep -q '^bloomery: \./c: ' exits.err
}

an_impossible_repair_says_what_to_do() {
	seq 20000 > keys; bloomery build ./b --kind fuse keys; spoil ./b 0
	exits 1 bloomery verify ./b --repair; grep -q 'it cannot be repaired: put a copy in its place, or make it anew .*bloomery build' exits.out
	exits 1 bloomery verify ./b; not grep -q 'anew' exits.out
}

repairing_what_is_whole_changes_nothing() {
	make ./f 500; sha256sum ./f > sum
	same "$(bloomery verify ./f --repair)" ''
	sha256sum -c --quiet sum
}

a_sealed_filter_answers_and_refuses_changes() {
	make ./f 20000; bloomery seal ./f
	info ./f | holds 'j["sealed"] and not j["dirty"] and not j["suspect"]'
	bloomery info ./f | grep -q 'sealed$'
	same "$(seq 20001 | bloomery test -c ./f)" 20000
	echo x | exits 2 bloomery add ./f; says sealed
	echo x | exits 2 bloomery claim ./f; says sealed
	exits 2 bloomery clear ./f; exits 2 bloomery seal ./f; says sealed
	bloomery copy ./f ./g; echo x | bloomery add ./g
	exits 2 bloomery union ./f ./g --in-place; exits 2 bloomery intersect ./f ./g --in-place
	echo x | bloomery test -s ./g; echo x | exits 1 bloomery test -s ./f
	info ./g | holds 'not j["sealed"]'
}

in_a_sealed_filter_every_bit_is_checked() {
	make ./f 2000; bloomery seal ./f; bloomery verify ./f
	printf '\xff' | dd of=./f bs=1 seek=100000 conv=notrunc status=none
	exits 1 bloomery verify ./f; grep -q 'block 1, .*damaged, not as it was sealed$' exits.out
	exits 0 bloomery verify ./f --repair; bloomery verify ./f
	same "$(seq 2000 | bloomery test -c ./f)" 2000
	info ./f | holds 'j["sealed"]'
	printf '\1' | dd of=./f bs=1 seek=20490 conv=notrunc status=none
	exits 1 bloomery verify ./f; grep -q 'what was sealed$' exits.out
	exits 1 bloomery verify ./f --repair
}

several_filters_are_sealed_at_once_also_in_a_store() {
	bloomery create a -n 100; bloomery create ./b -n 100; seq 50 | bloomery add a
	bloomery label a source=test
	bloomery seal a ./b
	info a | holds 'j["sealed"] and "add" not in j["can"] and "test" in j["can"] and j["labels"] == ["source=test"] and j["keys"] == 50'
	echo x | exits 2 bloomery add ./b
	bloomery ls --json | holds 'j["sealed"]'
	exits 2 bloomery seal a; exits 2 bloomery seal ./none
	bloomery mv a c; bloomery drop c
}

one_faulty_filter_does_not_stop_the_next() {
	for f in a b c; do make ./$f 20000; done; spoil ./b 1 65536
	for f in a b c; do seq 20001 20100 | bloomery add ./$f; done
	code=0; bloomery sync ./none ./a ./b ./c none 2> err || code=$?
	same "$code" 2; same "$(wc -l < err)" 3; same "$(grep -c './b: synced, but part 0, block 1' err)" 1
	for f in a b c; do info ./$f | holds 'not j["dirty"]'; done
	code=0; bloomery clear ./none ./a ./c 2> err || code=$?
	same "$code" 2; same "$(wc -l < err)" 1
	same "$(seq 20000 | bloomery test -c ./a)$(seq 20000 | bloomery test -c ./c)" 00
	exits 2 bloomery seal ./none ./a; info ./a | holds 'j["sealed"]'
	exits 2 bloomery sync ./a ./c --key-file none
}

a_filter_is_made_anew_from_its_keys() {
	bloomery create seen -n 100 -p 0.003 --kind classic; seq 100 | bloomery add seen; bloomery label seen a=b
	seq 50 150 > keys
	bloomery rebuild seen --from keys -n 1000
	info seen | holds 'j["capacity"] == 1000 and j["rate"] == 0.003 and j["kind"] == "classic" and j["keys"] == 101 and j["labels"] == ["a=b"]'
	same "$(bloomery test -c seen keys)" 101
	echo 1 | exits 1 bloomery test -s seen
	gzip keys; bloomery rebuild seen --from keys.gz --kind blocked; zcat keys.gz | bloomery rebuild seen --from -
	info seen | holds 'j["capacity"] == 1000 and j["kind"] == "blocked"'
	printf 'a\tb\n' | bloomery rebuild seen --from - --field 2 -p 1e-6; same "$(echo b | bloomery test seen)" b
	same "$(echo store/filters/* | wc -w)" 1
	bloomery verify
}

a_rebuild_keeps_what_its_file_is() {
	bloomery create ./f -n 1m --mode 600 --sparse; bloomery create ./c -n 1000 --kind cuckoo --no-checkpoint --mode 604
	seq 9 > keys; bloomery rebuild ./f --from keys; bloomery rebuild ./c --from keys
	same "$(stat -c %a f c | xargs)" "600 604"
	info ./f | holds 'j["sparse"] and j["keys"] == 9'; info ./c | holds 'j["checkpoint_bytes"] == 0'
	bloomery rebuild ./c --from keys --mode 640; same "$(stat -c %a c)" 640
}

a_rebuild_that_fails_leaves_the_filter_as_it_was() {
	bloomery create ./f -n 100; seq 100 | bloomery add ./f; sha256sum ./f > sum
	exits 64 bloomery rebuild ./f; says --from
	exits 2 bloomery rebuild ./f --from none; exits 2 bloomery rebuild ./none --from sum; says none
	printf 'a\n' | exits 2 bloomery rebuild ./f --from - --field 2
	seq 100 | gzip > whole.gz; head -c 100 whole.gz > cut.gz; exits 2 bloomery rebuild ./f --from cut.gz
	exits 2 bloomery rebuild ./f --from sum -p 2 || exits 64 bloomery rebuild ./f --from sum -p 2
	sha256sum -c --quiet sum
	same "$(ls -A | grep -c '\.bloomery')" 0
}

a_filter_is_no_file_of_keys() {
	bloomery create ./f -n 100; bloomery create ./a -n 100 --kind approximator; seq 100 | bloomery add ./f; sha256sum f a > sum
	exits 2 bloomery rebuild ./f --from f; says 'f: is a filter, and keys cannot be read out of it: --from takes the keys themselves'
	exits 2 bloomery rebuild ./f --from - < ./f; says 'standard input: is a filter'
	exits 2 bloomery rebuild ./f --from - --field 1 < ./a; exits 2 bloomery rebuild ./a --from f; says 'is a filter'
	sha256sum -c --quiet sum
	printf 'BLOOMERY\nis a name\n' > keys; bloomery rebuild ./f --from keys; same "$(bloomery test ./f keys | wc -l)" 2
}

a_keyed_filter_keeps_its_secret_when_made_anew() {
	bloomery create ./f -n 100 --untrusted; cp f.key key; seq 100 | bloomery add ./f
	before=$(info ./f | json 'j["key_id"]')
	seq 7 | bloomery rebuild ./f --from - -n 200
	cmp f.key key
	same "$(info ./f | json 'j["key_id"]')" "$before"
	same "$(seq 100 | bloomery test -c ./f)" 7
	bloomery seal ./f; same "$(seq 100 | bloomery test -c ./f)" 7
}

adding_and_claiming_sync_as_often_as_asked() {
	bloomery create ./f -n 100000
	seq 10 | bloomery add ./f; info ./f | holds 'j["synced"] is None and j["dirty"]'
	seq 20 | bloomery add ./f --sync-every 1000000; info ./f | holds 'j["synced"] and not j["dirty"]'
	seq 30 | bloomery claim ./f --sync-every 1 > out; info ./f | holds 'not j["dirty"]'; same "$(wc -l < out)" 10
	seq 40 | bloomery add ./f --sync-every 0.5s; info ./f | holds 'not j["dirty"]'
	seq 50 | bloomery add ./f; info ./f | holds 'j["dirty"]'
	seq 10 > keys	# a pipe would end by a signal where nobody reads it
	for bad in 0 0s -1 x 5m5 s 1e99 1e10s 1e-9s 0.0009s ''; do
		exits 64 bloomery add ./f --sync-every "$bad" < keys; says --sync-every
	done
}

what_ends_badly_is_synced_too() {
	bloomery create ./f -n 100000; seq 10 > keys
	exits 2 bloomery add ./f keys none --sync-every 1000000; says none
	info ./f | holds 'j["keys"] == 10 and j["synced"] and not j["dirty"]'
	for every in 1000000 1h; do
		rm f; bloomery create ./f -n 1m
		may_be_cut seq 500000 | may_be_cut "$BLOOMERY" claim ./f --sync-every $every 2> err | head -1 > out
		same "$(cat out)$(cat err)" 1
		info ./f | holds 'j["keys"] > 0 and j["synced"] and not j["dirty"]'
	done
	mkfifo answers; { head -1 > out; } < answers &
	code=0; may_be_cut seq 500000 | { "$BLOOMERY" claim ./f --sync-every 1h > answers || code=$?; echo "$code" > code; }
	same "$(cat code)" 141
}

adding_to_a_lost_file_is_no_success() {
	for how in '--sync-every 0.2s' '--sync-every 5' ''; do
		for gone in 'rm q' 'mv q2 q'; do
			bloomery create ./q -n 10000; bloomery create ./q2 -n 10000; rm -f keys; mkfifo keys
			code=0; "$BLOOMERY" add ./q $how < keys 2> err & pid=$!
			exec 3> keys; seq 3 >&3
			until bloomery info ./q --json | holds 'j["keys"] == 3' > /dev/null; do
				kill -0 $pid; sleep 0.1
			done
			$gone; seq 100 200 >&3 || true; exec 3>&-
			wait $pid || code=$?
			same "$code" 2; same "$(wc -l < err)" 1
			[[ $gone == rm* ]] && why='the file was deleted' || why='another file took its place'
			grep -q "^bloomery: ./q: $why while it was open" err
			rm -f q q2
		done
	done
	bloomery create ./q -n 10000; rm keys; mkfifo keys		# as it is replaced by ourselves, or has another name
	bloomery add ./q --sync-every 0.1s < keys & pid=$!
	exec 3> keys; seq 3 >&3; sleep 0.5; bloomery clear ./q; seq 10 >&3; sleep 0.5; ln q other; seq 20 >&3; exec 3>&-
	wait $pid; same "$(seq 4 20 | bloomery test -c ./q)" 17
}

# opened COMMAND...: the command by the name q, with keys that come through descriptor 3 when it has the file open
opened()
{
	rm -f keys; mkfifo keys
	"$BLOOMERY" "$1" q "${@:2}" < keys > out 2> err & pid=$!
	exec 3> keys; seq 3 >&3
	while ! bloomery info q --json | holds 'j["keys"] == 3' > /dev/null; do sleep 0.05; done
}

a_missing_file_ends_adds_by_name_with_an_error() {
	for command in add claim; do
		for how in '' '--sync-every 50'; do
			bloomery create q -n 10000
			opened $command $how
			rm store/filters/*.blm; seq 100 200 >&3 || true; exec 3>&-
			code=0; wait $pid || code=$?
			same "$code" 2; same "$(wc -l < err)" 1
			grep -q '^bloomery: q .*: the file was deleted while it was open' err
			rm -r store
		done
	done
}

minutes_between_syncs_are_not_taken_for_millions_of_keys() {
	bloomery create ./f -n 100000
	seq 10 | exits 64 bloomery add ./f --sync-every 5m; says '--sync-every 5m: 5 million keys, or minutes? Write 5M or 5min'
	same "$(seq 10 | bloomery test -c ./f)" 0
	for every in 5M 5min 1.5h 2Mi; do
		seq 20 | bloomery add ./f --sync-every "$every"; info ./f | holds 'not j["dirty"]'
	done
}


a_filter_is_synced_while_keys_still_come() {
	bloomery create ./f -n 1000000
	mkfifo keys; bloomery add ./f --sync-every 1000 < keys &
	exec 3> keys; seq 5000 >&3
	until_it 'j["synced"] is not None'
	exec 3>&-; wait
	info ./f | holds 'j["keys"] > 4900 and not j["dirty"]'
}

# until_it CONDITION: waits until it holds of ./f; the time limit of the test is the only one
until_it()
{
	until info ./f | holds "$1" > /dev/null; do sleep 0.1; done
}

keys_are_synced_by_the_clock_while_the_input_pauses() {
	for every in 0.5s 0.01min; do
		rm -f f keys; bloomery create ./f -n 100000; mkfifo keys
		bloomery add ./f --sync-every $every < keys &
		exec 3> keys; seq 100 >&3
		until_it 'j["synced"] is not None and not j["dirty"] and j["keys"] >= 99'
		exec 3>&-; wait
	done
}

keys_are_synced_by_the_clock_while_none_is_new() {
	bloomery create ./f -n 100000; seq 100 | bloomery add ./f; mkfifo keys
	bloomery add ./f --sync-every 0.2s < keys &
	exec 3> keys
	until info ./f | holds 'j["synced"] is not None' > /dev/null; do
		seq 100 >&3; sleep 0.1
	done
	exec 3>&-; wait
}

a_sync_that_fails_swallows_no_claim() {
	bloomery create seen -n 100000; mkfifo keys
	"$BLOOMERY" claim seen --sync-every 500 < keys > out 2> err &
	exec 3> keys; echo first >&3
	while [ ! -s out ]; do sleep 0.05; done		# it is in the middle of it
	python3 -c 'import fcntl, sys, time
f = open("store/catalog/lock"); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); time.sleep(100)' > held &
	while [ ! -s held ]; do sleep 0.05; done
	seq 1000 >&3; exec 3>&-
	code=0; wait %1 || code=$?
	kill %2
	same "$code" 2; grep -q locked err
	same "$(wc -l < out)" 1001
}

prove_all
