#!/bin/bash
# claim.sh - add, test and claim: answers, exit codes, and what happens to those who are stopped
. "${0%/*}/tap.sh"

a_claimed_line_is_printed_once() {
	same "$(printf 'a\nb\na\n' | bloomery claim f --create -n 100 -p 1e-9 | tr '\n' ' ')" 'a b '
	printf 'a\nb\n' | exits 1 bloomery claim f
	same "$(printf 'a\nc\n' | bloomery claim f)" c
}

four_processes_print_each_line_once() {
	seq 200000 > n
	for i in 1 2 3 4; do
		shuf --random-source=<(yes $i) n | bloomery claim f --create -n 200k -p 0.001 > out$i &
	done
	wait
	sort out? > all
	same "$(uniq -d all | wc -l)" 0
	[ "$(wc -l < all)" -gt 199400 ]
	same "$(bloomery info f --json | json 'j["keys"]')" "$(wc -l < all)"
	same "$(bloomery test -c f n)" 200000
}

one_of_many_creators_creates_and_all_claim() {
	for i in $(seq 16); do
		echo "$i" | bloomery claim f --create -n 1000 -p 1e-6 > out"$i" &
	done
	wait
	same "$(cat out* | sort -n | tr '\n' ' ')" "$(seq -s ' ' 16) "
	for i in $(seq 16); do
		echo "$i" | bloomery claim ./path --create -n 1000 -p 1e-6 > out"$i" &
	done
	wait
	same "$(cat out* | wc -l)" 16
}

create_takes_what_is_there_as_it_is() {
	bloomery create f -n 100 -p 0.5
	echo a | bloomery claim f --create -n 1m -p 0.001 > /dev/null
	same "$(bloomery info f --json | json 'j["capacity"]')" 100
	echo b | exits 64 bloomery claim f -n 100; says --create
}

create_warns_once_of_options_that_differ() {
	bloomery create seen -n 1m -p 0.01 --kind classic --seed 7
	echo a | bloomery claim seen --create -n 100m -p 0.0001 2> err
	same "$(cat err)" 'bloomery: warning: seen: exists with capacity 1000000, rate 0.01; -n, -p were not used'
	warns() {
		local want=$1
		shift
		echo b | bloomery claim seen --create "$@" > out 2> err || same $? 1
		same "$(cat err)" "bloomery: warning: seen: exists with $want not used"
	}
	warns 'kind classic; --kind was' -n 1m --kind blocked
	warns 'hash xxh3; --hash was' -n 1m --kind classic --hash mm3_64
	warns 'hash xxh3; --hash was' -n 1m --untrusted
	warns 'seed 7; --seed was' -n 1m --seed 8
	warns "m $(bloomery info seen --json | json 'j["m"]'), k 7; -m, -k were" -m 4096 -k 3
	bloomery create gone -n 1000 --kind counting
	echo b | bloomery claim gone --create -n 1000 --kind counting --with bits=3 2> err
	bloomery info gone --json | holds '"bits=4" in j["options"]'
	same "$(cat err)" 'bloomery: warning: gone: exists with bits 4; --with was not used'
	echo c | bloomery claim seen --create -q -n 100m > out 2> err; same "$(cat err)" ''
}

create_says_nothing_of_options_that_hold() {
	make() { date +%N | bloomery claim "$@" > out 2> err; same "$(cat err)" ''; }
	for i in 1 2; do
		make a --create -n 1000 -p 0.001
		make b --create -m 4096 -k 3
		make c --create -n 1000 --kind counting --with bits=3
		make d --create -n 1000 --hash siphash
		make e --create-same -n 1k -p 1e-3 --kind split-block
		make f --create -n 1000 --kind classic --scheme double --hash md5_digest
		make g --create -n 1000 --kind window --with span=1h
	done
	make a --create -n 1000; make h --create -n 10 --seed 5; make h --create -n 10 --seed 5
}

options_of_the_file_are_obeyed_and_compared() {
	echo a | bloomery claim ./f --create-same -n 1000 --kind cuckoo --mode 0640 --sparse > /dev/null
	same "$(stat -c %a ./f)" 640; bloomery info ./f --json | holds 'j["sparse"] and j["checkpoint_bytes"] > 0'
	same "$(echo b | bloomery claim ./f --create-same -n 1000 --mode 0640 --sparse)" b
	echo c | exits 2 bloomery claim ./f --create-same -n 1000 --mode 0600
	says './f: exists with mode 0640; --mode was not used, which --create-same refuses'
	echo c | exits 2 bloomery claim ./f --create-same -n 1000 --no-checkpoint
	says './f: exists with a checkpoint image of'; says '--no-checkpoint was not used, which --create-same refuses'
	same "$(echo c | bloomery claim ./f --create -n 1000 --mode 0600 --no-checkpoint 2> err)" c
	grep -q 'mode 0640; --no-checkpoint, --mode were not used' err; same "$(stat -c %a ./f)" 640
	echo a | bloomery claim ./g --create-same -n 1000 --kind cuckoo --no-checkpoint > /dev/null
	bloomery info ./g --json | holds 'not j["sparse"] and j["checkpoint_bytes"] == 0'
	same "$(echo b | bloomery claim ./g --create-same -n 1000 --no-checkpoint)" b
	echo c | exits 2 bloomery claim ./g --create-same -n 1000 --sparse
	says './g: exists with space allocated; --sparse was not used, which --create-same refuses'
}

create_needs_a_size_only_where_there_is_no_filter() {
	echo a | exits 64 bloomery claim ./f --create; says capacity; [ ! -e f ]
	echo a | exits 64 bloomery claim first --create; says capacity; [ ! -e store ]
	bloomery create other -n 10
	echo a | exits 64 bloomery claim gone --create; says capacity; same "$(bloomery ls)" other
	bloomery create ./f -n 1000
	same "$(echo a | bloomery claim ./f --create 2>&1)" a
	same "$(echo b | bloomery claim ./f --create-same 2>&1)" b
	same "$(echo c | bloomery claim ./f --create-same -p 0.01 2>&1)" c
	echo d | exits 2 bloomery claim ./f --create-same -p 0.5; says './f: exists with rate 0.01'
}

create_same_refuses_a_filter_that_differs() {
	bloomery create ./f -n 1m -p 0.01
	echo a | exits 2 bloomery claim ./f --create-same -n 100m -p 0.0001
	says './f: exists with capacity 1000000, rate 0.01; -n, -p were not used, which --create-same refuses'
	same "$(echo a | bloomery test -c ./f || true)" 0
	same "$(echo a | bloomery claim ./f --create-same -n 1m -p 0.01)" a
}

test_selects_inverts_counts_and_is_quiet() {
	bloomery create f -n 1000 -p 1e-9; printf 'a\nb\n' | bloomery add f
	same "$(printf 'a\nx\n' | bloomery test f)" a
	same "$(printf 'a\nx\n' | bloomery test -v f)" x
	same "$(printf 'a\nb\nx\n' | bloomery test -c f)" 2
	same "$(printf 'a\nb\nx\n' | bloomery test -vc f)" 1
	same "$(printf 'a\n' | bloomery test -s f)" ''
	printf 'x\n' | exits 1 bloomery test f
	printf 'a\n' | exits 1 bloomery test -v f
	printf 'x\n' | exits 1 bloomery test -s f
	printf 'x\n' | exits 1 bloomery test -c f
	same "$(cat exits.out)" 0
}

add_counts_what_was_new() {
	bloomery create f -n 1000 -p 1e-9
	same "$(printf 'Apple\nApple\norange\n' | bloomery add f --count)" 2
	same "$(printf 'Apple\nApple\norange\n' | bloomery add f --count)" 0
	same "$(echo x | bloomery add f)" ''
}

adding_beyond_capacity_warns_once_and_succeeds() {
	bloomery create f -n 100 -p 0.01
	seq 50 | bloomery add f 2> err; same "$(wc -l < err)" 0
	seq 100000 | bloomery add f 2> err; same "$(wc -l < err)" 1; grep -q 'rate is' err
	seq 3000 | bloomery claim f > /dev/null 2> err || true; same "$(wc -l < err)" 1
	seq 50 | bloomery add -q f 2> err; same "$(wc -l < err)" 0
	same "$(seq 100000 | bloomery test -c f)" 100000
}

kill_9_loses_one_batch_at_most() {
	bloomery create f -n 2m -p 1e-6
	may_be_cut yes | head -1000000 | nl -ba > n
	for round in 1 2 3 4 5 6; do
		"$BLOOMERY" claim f n --batch 500 > out$round & pid=$!
		sleep 0.0$((round * 5 % 9 + 1)); kill -9 $pid 2> /dev/null || true
		wait $pid 2> /dev/null || true
	done
	bloomery claim f n --batch 500 > out7 || true
	# a last line may be cut by the kill; it belongs to the batch in hand
	cat out? | grep -c '^ *[0-9]*	y$' > lines
	[ "$(cat lines)" -ge $((1000000 - 6 * 500 - 20)) ]
	same "$(cat out? | sort | uniq -d | wc -l)" 0
	same "$(bloomery test -c f n)" 1000000
}

a_signal_ends_a_silent_stream_at_once() {
	bloomery create f -n 1000
	# a shell starts what it puts behind with SIGINT ignored, so Python starts it
	python3 - "$BLOOMERY" <<-'P'
		import signal, subprocess, sys, time
		signal.signal(signal.SIGINT, signal.SIG_DFL)	# who runs the tests may have them ignored
		signal.signal(signal.SIGHUP, signal.SIG_DFL)
		for s in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
		    pipe = subprocess.PIPE
		    p = subprocess.Popen([sys.argv[1], "claim", "f"], stdin=pipe, stdout=pipe, stderr=pipe)
		    p.stdin.write(s.name.encode() + b"\nhalf a line")
		    p.stdin.flush()
		    assert p.stdout.readline() == s.name.encode() + b"\n"
		    p.send_signal(s)
		    assert p.wait() == -s, p.returncode
		    assert p.stdout.read() == b"" and p.stderr.read() == b""
	P
	echo 'half a line' | exits 1 bloomery test f
}

keys_claimed_before_a_signal_are_printed() {
	bloomery create f -n 3m -p 1e-6; mkfifo keys
	for round in 1 2 3; do
		"$BLOOMERY" claim f keys > out$round & pid=$!
		exec 8> keys	# open until the end, so that it has no end of its own
		(exec seq $((round * 1000000 - 999999)) $((round * 1000000))) >&8 2> /dev/null & feeder=$!
		while [ ! -s out$round ] && kill -0 $pid; do sleep 0.01; done
		kill -TERM $pid; code=0; wait $pid || code=$?
		kill $feeder 2> /dev/null || :; wait $feeder || :; exec 8>&-
		same $code 143
	done
	same "$(bloomery info f --json | json 'j["keys"]')" "$(cat out? | wc -l)"
}

a_stuck_reader_cannot_hold_a_stopped_process() {
	bloomery create f -n 3m -p 1e-6; seq 1000000 > n; mkfifo out
	"$BLOOMERY" claim f n > out 2> err & pid=$!
	exec 9< out
	sleep 0.3; kill -TERM $pid
	for i in $(seq 100); do kill -0 $pid 2> /dev/null || break; sleep 0.1; done
	code=0; wait $pid || code=$?
	exec 9<&-
	same $code 143
}

a_reader_that_leaves_is_no_error() {
	bloomery create f -n 3m -p 1e-6
	may_be_cut seq 1000000 | may_be_cut bloomery claim f 2> err | head -1 > first
	same "$(cat first)" 1; same "$(wc -c < err)" 0
	python3 - "$BLOOMERY" <<-'P'
		import os, signal, subprocess, sys
		r, w = os.pipe()
		os.close(r)
		for args in (["test", "f", "n"], ["ls"]):
		    open("n", "w").write("1\n" * 100)
		    p = subprocess.run([sys.argv[1], *args], stdout=w, stderr=subprocess.PIPE,
		                       preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
		    assert p.returncode == -signal.SIGPIPE and p.stderr == b"", p
	P
}

a_full_disk_under_the_output_is_an_error() {
	bloomery create f -n 1000
	for verb in 'claim f' 'test f' 'info f' 'ls' 'test -c f' 'help' 'kinds' 'plan -n 10'; do
		code=0; seq 10 | bloomery $verb > /dev/full 2> err || code=$?
		same $code 2; same "$(wc -l < err)" 1; grep -q 'standard output: No space' err
	done
	code=0; seq 10 | bloomery test f >&- 2> err || code=$?
	same $code 2
}

a_closed_output_never_becomes_the_filter() {
	bloomery create ./f -n 1000; seq 10 | bloomery add ./f; bloomery copy ./f ./g
	seq 10 | bloomery test ./f >&- 2>&- || true
	seq 20 30 | bloomery claim ./f >&- 2>&- || true
	bloomery verify ./f
	same "$(seq 10 | bloomery test -c ./f)" 10
}

progress_shows_rate_and_part_where_it_is_asked_for() {
	bloomery create f -n 100k; seq 100000 > n
	bloomery add f n 2> err; same "$(wc -c < err)" 0
	bloomery add f n --progress 2> err; grep -q '100000 keys .*100 %' err
	bloomery add f n --progress < /dev/null 2>&1 >/dev/null | grep -q 'million/s'
}

on_a_terminal_a_summary_line_stays() {
	no_terminal && return
	bloomery create f -n 100k; seq 100000 > n
	python3 -S "${0%/*}/on_terminal.py" --stderr "$BLOOMERY" add f n --progress | tr '\r' '\n' | sed 's/\x1b\[K//' | grep . > err
	sed -n 1p err > first; grep -qE '^\[#+\.+\]  [0-9]+,[0-9]{3} keys  [0-9.e+-]+ million/s +[0-9]+ %  [0-9]+:[0-9]+ left$' first || { cat first; return 1; }
	sed -n '$p' err > last
	grep -qE '^100,000 keys, 575(\.[0-9])? KiB, [0-9.]+ s, [0-9.e+-]+ million/s$' last || { cat last; return 1; }
	python3 -S "${0%/*}/on_terminal.py" --stderr "$BLOOMERY" build ./b --kind golomb n --progress | tr '\r' '\n' | sed 's/\x1b\[K//' | grep . > err
	sed -n '$p' err | grep -qE '^100,000 keys, [0-9.]+ KiB, [0-9.]+ s, '
	python3 -S "${0%/*}/on_terminal.py" --stderr "$BLOOMERY" measure -n 1000 --questions 10000 --progress | tr '\r' '\n' > err
	grep -q '^filling: ' err; sed -n '$p' err | grep -q '^10,000 keys, '
	python3 -S "${0%/*}/on_terminal.py" --columns 40 --stderr "$BLOOMERY" add f n --progress | tr '\r' '\n' | sed 's/\x1b\[K//' | awk 'length > 39 && !/MiB|KiB/' > wide
	same "$(wc -c < wide)" 0
	python3 -S "${0%/*}/on_terminal.py" --stderr "$BLOOMERY" dedup --blocks 512 n --progress | tr '\r' '\n' > err; sed -n '$p' err | grep -q '^1,151 blocks, 575'
	python3 -S "${0%/*}/on_terminal.py" --stderr "$BLOOMERY" add f n -q > err
	same "$(wc -c < err)" 0
}

batches_of_any_size_give_the_same_lines() {
	seq 10000 > n
	for batch in 1 7 64 65 4096 1Mi; do
		bloomery claim f$batch n --create -n 10k -p 1e-9 --batch $batch | cmp - n
	done
}

prove_all
