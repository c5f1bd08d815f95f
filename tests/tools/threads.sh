#!/bin/bash
# threads.sh - with any number of threads the answers are the same, in the order of the input
. "${0%/*}/tap.sh"

threads='1 2 3 8'
lines=90000	# of which there are more than one long one, and many blocks
[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || threads='1 3 8' lines=30000
[ -z "${SANITIZED:-}" ] || threads='1 3'	# which are for each path once

# Lines that differ, most short, some longer than a block; empty ones; after each block of 256 KiB one that ends about there.
text()
{
	python3 - "$@" <<-'P'
		import random, sys
		rnd, end, n = random.Random(int(sys.argv[1])), eval(sys.argv[2]), 0
		out = open(sys.argv[3], "wb")
		for i in range(int(sys.argv[4])):
		    size = rnd.choice((0, 3, 20, 20, 60)) if i % 20000 else 600000
		    border = (n // 262144 + 1) * 262144
		    if 100 < border - n < 300:
		        size = border - n - len(str(i)) - rnd.randrange(len(end) + 2)
		    line = (str(i) + "." * size).encode() + end
		    n += out.write(line)
	P
}

make() { bloomery create ./f -n 200k -p 1e-9 --seed 1 "$@"; }

test_answers_the_same() {
	text 1 'b"\n"' n $lines; make; sed -n '1~3p' n | bloomery add -j 1 ./f
	for j in $threads; do
		bloomery test -j $j ./f n | cmp - <(sed -n '1~3p' n)
		bloomery test -j $j -v ./f n | cmp - <(sed -n '1~3!p' n)
		bloomery test -j $j -v ./f < n | cmp - <(sed -n '1~3!p' n)
		cat n | bloomery test -j $j -v ./f | cmp - <(sed -n '1~3!p' n)
		same "$(bloomery test -j $j -c ./f n n)" $((2 * lines / 3))
		same "$(bloomery test -j $j -vc ./f n)" $((2 * lines / 3))
		bloomery test -j $j -s ./f n; exits 1 bloomery test -j $j -s ./f /dev/null
	done
}

adding_leaves_the_same_bits_and_the_same_count() {
	text 2 'b"\n"' n $lines; cat n n > twice
	for j in $threads; do
		rm -f ./f; make
		same "$(bloomery add -j $j --count ./f twice)" $lines
		cp f counted; rm -f ./f; make
		bloomery add -j $j ./f twice
		bloomery compare ./f ./counted --json | holds 'j["tanimoto"] == 1'
		same "$(bloomery test -c ./f n)" $lines
	done
}

the_first_of_equal_lines_is_claimed_in_order() {
	text 3 'b"\n"' n $lines; { cat n; shuf --random-source=n n; sed 's/^/x/' n; } > many
	awk '!seen[$0]++' many > wanted
	for j in $threads; do
		for batch in 100 4096 1Mi; do
			rm -f ./f; make
			bloomery claim -j $j --batch $batch ./f many | cmp - wanted
			exits 1 bloomery claim -j $j ./f many
		done
	done
}

a_family_hashing_each_probe_claims_the_first_line() {
	text 6 'b"\n"' n 30000; { cat n; shuf --random-source=n n; } > many
	for j in 1 3; do
		rm -f ./f; bloomery create ./f -n 200k -p 1e-6 --hash murmur3-bip37
		bloomery claim -j $j ./f many | cmp - n
	done
}

every_line_is_claimed_despite_replacements_with_new_seeds() {
	text 7 'b"\n"' n 60000; make
	bloomery claim -j 3 ./f n n n n n n > out &
	while kill -0 $! 2> /dev/null; do
		bloomery create --force ./f -n 200k -p 1e-9
	done
	wait $!
	sort -u out | cmp - <(sort n)
}

of_equal_columns_the_first_line_is_claimed() {
	seq 200000 | awk '{ print $1 % 1000 "\t" $1 }' > n; seq 1000 | sort > keys
	for j in 1 2 8; do
		rm -f ./f; make
		bloomery claim -j $j --field 1 ./f n > out
		cmp out <(head -1000 n)
	done
}

processes_with_threads_print_each_line_once() {
	text 4 'b"\n"' n 60000
	for i in 1 2 3 4; do
		bloomery claim -j 3 f n --create -n 200k -p 1e-6 > out$i &
	done
	wait
	cat out? | sort | cmp - <(sort n)
}

ends_of_lines_on_the_borders_of_blocks_are_ends() {
	make
	seeds='1 2 3 4 5'
	[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || seeds='1 2'
	for seed in $seeds; do
		text $seed 'b"\n"' lf 20000; text $seed 'b"\r\n"' crlf 20000; text $seed 'b"\0"' nul 20000
		tr -d '\r' < crlf > from-crlf; tr '\0' '\n' < nul > from-nul
		for j in 1 4; do
			bloomery test -j $j -v ./f lf | cmp - lf
			bloomery test -j $j -v --crlf ./f crlf | cmp - crlf
			bloomery test -j $j -v -0 ./f nul | cmp - nul
		done
	done
	bloomery add -j 4 --crlf ./f crlf; same "$(bloomery test -c ./f from-crlf)" 20000
	bloomery create ./g -n 200k -p 1e-9; bloomery add -j 4 -0 ./g nul; same "$(bloomery test -c ./g from-nul)" 20000
}

columns_and_digits_are_found_in_every_batch() {
	seq 100000 | awk '{ print $1 ",\"k, " $1 "\",end" }' > csv; seq 100000 | awk '{ print "k, " $1 }' > keys
	od -An -v -tx1 -w6 <(seq 100000 199999 | tr -d '\n') | tr -d ' ' > hex; seq 100000 199999 > plain
	for j in 1 4; do
		rm -f ./f; make
		bloomery add -j $j --field 2 --delimiter , ./f csv
		same "$(bloomery test -c ./f keys)" 100000
		bloomery add -j $j --hex ./f hex
		same "$(bloomery test -c ./f plain)" 100000
		bloomery test -j $j --hex ./f hex | cmp - hex
	done
}

packed_files_and_many_files_are_one_input() {
	make; text 5 'b"\n"' n 60000; gzip -1 -c n > g; zstd -q -c n > z; seq 300000 300100 > few
	for j in 1 2 8; do
		bloomery test -j $j -v ./f few g few z - n few < n | cmp - <(cat few n few n n n few)
	done
}

a_bad_line_is_named_after_earlier_answers() {
	seq 200000 | awk '{ printf "%08d\n", $1 }' > n; sed -i '150001s/.*/xx/;170000s/.*/yy/' n; make
	for j in 1 2 8; do
		rm -f ./f; make
		exits 2 bloomery claim -j $j --hex ./f n; says 'n: line 150001 is not a key'
		cmp exits.out <(head -150000 n)
		exits 2 bloomery test -j $j -v --hex ./f n n nosuch; says 'line 150001'
		exits 2 bloomery test -j $j -v ./f n nosuch n; says nosuch
		exits 2 bloomery add -j $j --hex ./f n; says 'n: line 150001'
	done
	may_be_cut gzip -c n | head -c 300000 > cut.gz
	exits 2 bloomery test -j 4 -v ./f n cut.gz; says 'cut short'
}

keys_claimed_before_a_signal_are_printed() {
	bloomery create f -n 3m -p 1e-6; mkfifo keys
	for round in 1 2 3; do
		"$BLOOMERY" claim -j 4 f keys > out$round & pid=$!
		exec 8> keys	# open until the end, so that it has no end of its own
		(exec seq $((round * 1000000))) >&8 2> /dev/null & feeder=$!
		while [ ! -s out$round ] && kill -0 $pid; do sleep 0.01; done
		kill -TERM $pid; code=0; wait $pid || code=$?
		kill $feeder 2> /dev/null || :; wait $feeder || :; exec 8>&-
		same $code 143
	done
	same "$(bloomery info f --json | json 'j["keys"]')" "$(cat out? | wc -l)"
	same "$(cat out? | sort | uniq -d | wc -l)" 0
}

a_process_that_is_killed_takes_one_batch_at_most() {
	bloomery create f -n 3m -p 1e-6; seq 2000000 > n; mkfifo out
	"$BLOOMERY" claim -j 8 --batch 200 f n > out & pid=$!
	exec 9< out
	for i in 1 2 3 4 5 6 7 8; do	# until it is stuck in its output, or long enough
		before=$(bloomery info f --json | json 'j["keys"]'); sleep 0.1
		[ "$before" = 0 ] || [ "$before" != "$(bloomery info f --json | json 'j["keys"]')" ] || break
	done
	kill -9 $pid; wait $pid 2> /dev/null || true
	cat <&9 > printed; exec 9<&-
	same "$(head -n "$(wc -l < printed)" n | cmp - printed 2>&1 | grep -v EOF)" ''
	[ "$(bloomery info f --json | json 'j["keys"]')" -le $(($(wc -l < printed) + 200)) ]
}

a_stuck_reader_cannot_hold_a_stopped_process() {
	bloomery create f -n 3m -p 1e-6; seq 1000000 > n; mkfifo out
	"$BLOOMERY" claim -j 4 f n > out 2> err & pid=$!
	exec 9< out
	sleep 0.3; kill -TERM $pid
	for i in $(seq 100); do kill -0 $pid 2> /dev/null || break; sleep 0.1; done
	code=0; wait $pid || code=$?
	exec 9<&-
	same $code 143
}

a_signal_ends_threads_that_wait_for_input() {
	bloomery create f -n 1m
	python3 - "$BLOOMERY" <<-'P'
		import os, signal, subprocess, sys
		signal.signal(signal.SIGINT, signal.SIG_DFL)	# who runs the tests may have them ignored
		signal.signal(signal.SIGHUP, signal.SIG_DFL)
		pipe = subprocess.PIPE
		text = b"".join(b"%d\n" % i for i in range(100000))
		os.mkfifo("fifo")
		for s in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
		    for late in b"", b"half a line":
		        p = subprocess.Popen([sys.argv[1], "test", "-v", "-j", "4", "f"], stdin=pipe, stdout=pipe, stderr=pipe)
		        if os.fork() == 0:
		            p.stdin.write(text + late)
		            p.stdin.flush()
		            os._exit(0)
		        assert p.stdout.read(len(text)) == text
		        p.send_signal(s)
		        assert p.wait() == -s, p.returncode
		        assert p.stdout.read() == b"" and p.stderr.read() == b""
		    # a FIFO that is never opened
		    open("n", "wb").write(text)
		    p = subprocess.Popen([sys.argv[1], "test", "-v", "-j", "4", "f", "n", "fifo"], stdout=pipe)
		    assert p.stdout.read(len(text)) == text
		    p.send_signal(s)
		    assert p.wait() == -s, p.returncode
	P
}

lines_that_come_late_are_answered_as_they_come() {
	bloomery create f -n 1m -p 1e-9
	python3 - "$BLOOMERY" <<-'P'
		import subprocess, sys, threading
		pipe = subprocess.PIPE
		text = b"".join(b"%d\n" % i for i in range(100000))
		for command in ["claim", "-j", "4", "f"], ["test", "-j", "4", "f"]:
		    p = subprocess.Popen([sys.argv[1], *command], stdin=pipe, stdout=pipe)
		    writer = threading.Thread(target=lambda: (p.stdin.write(text), p.stdin.flush()))
		    writer.start()
		    assert p.stdout.read(len(text)) == text	# threads run by now
		    writer.join()
		    for i in range(200):
		        line = b"late %d\n" % i if command[0] == "claim" else b"%d\n" % i
		        p.stdin.write(line)
		        p.stdin.flush()
		        assert p.stdout.readline() == line
		    p.stdin.close()
		    assert p.wait() == 0
	P
}

a_reader_that_leaves_ends_it_during_silent_input() {
	bloomery create f -n 3m -p 1e-6
	for j in 1 4; do
		rm -f in; mkfifo in
		(seq 300000 || true; exec sleep 1000) > in & feeder=$!
		code=0; timeout 600 "$BLOOMERY" test -v -j $j f < in 2> err | sed 1q > first || code=$?
		same $code 141; same "$(cat first)" 1; same "$(wc -c < err)" 0
		kill $feeder
	done
}

enough_is_enough_of_an_endless_input() {
	bloomery create f -n 1000; echo y | bloomery add f
	may_be_cut yes | timeout 600 "$BLOOMERY" test -s -j 4 f
	may_be_cut yes | timeout 600 "$BLOOMERY" test -s -j 1 f
}

a_full_disk_under_the_output_is_an_error() {
	bloomery create f -n 1m; seq 300000 > n
	for verb in 'claim -j 4 f n' 'test -v -j 4 f n' 'test -j 2 f n -'; do
		code=0; yes | timeout 600 "$BLOOMERY" $verb > /dev/full 2> err || code=$?
		same $code 2; same "$(wc -l < err)" 1; grep -q 'standard output: No space' err
	done
}

keys_are_synced_as_they_come_by_any_thread() {
	bloomery create f -n 1m; seq 300000 > n
	bloomery add -j 4 --sync-every 10k f n
	bloomery info f --json | holds 'j["synced"] is not None'
	bloomery create g -n 1m -p 1e-9
	bloomery claim -j 4 --sync-every 10k g n | cmp - n
	bloomery info g --json | holds 'j["synced"] is not None'
}

numbers_of_threads_out_of_range_are_refused() {
	bloomery create f -n 1000
	exits 64 bloomery test -j 65 f; says 'out of its range, 0 to 64'
	exits 64 bloomery test -j -1 f
	echo a | bloomery add -j 0 f
	echo a | bloomery test --jobs=3 f
}

prove_all
