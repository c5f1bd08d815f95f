#!/bin/bash
# progress.sh - long calls of the library say how far they are
. "${0%/*}/tap.sh"

# The phase of a command, and the command; {} is replaced by a name that is new each time.
calls='copying|copy ./a ./{}
combining|union ./a ./b -o ./{}
combining|intersect ./a ./b -o ./{}
combining|union ./a ./b --in-place
exporting|export ./a -o ./{}
exporting|export ./small --format redisbloom -o ./{}
checking|verify ./a
checking|verify
checking|verify ./bank
splitting|split ./a --into 2 -o ./{}
joining|join ./part.part-1-of-2 ./part.part-2-of-2 -o ./{}
converting|convert ./counts ./{}
folding|fold ./blocked --by 2 -o ./{}
importing|import ./theirs ./{}
copying|seal ./seal1 ./seal2
copying|publish ./a {}
checking|merge ./golomb ./golomb -o ./{}
checking|sync ./a
comparing|compare ./a ./b
counting|info ./a --full
comparing|diff ./counts ./counts --estimate
doubling|grow ./double
combining|advance ./hops ./hops
clearing|rotate ./week
creating|create --names-from names -n 1000000
comparing|diff --tables ./table1 ./table2
writing|bank ./{} ./tiny
searching|similar ./bank ./tiny --top 1
comparing|export ./exact --delta ./before -o ./{}
checking|apply ./before ./delta'

filters()
{
	bloomery create ./a -m 10000000 -k 3 -n 100000; seq 1000 | bloomery add ./a; bloomery sync ./a
	bloomery template ./a ./b
	bloomery split ./a --into 2 -o ./part
	bloomery create ./counts -n 100000 --kind counting
	bloomery create ./blocked -m 8388608 -n 100000 --kind blocked
	bloomery create ./small -n 10000 -p 0.01 --format redisbloom
	bloomery create stored -n 100000
	bloomery create ./week -n 1000 --kind window; bloomery rotate ./week
	seq -f many%g 3 > names
	bloomery create ./table1 -n 100 --kind iblt; bloomery template ./table1 ./table2; seq 9 | bloomery add ./table1
	bloomery create ./tiny -n 10; bloomery bank ./bank ./tiny
}

more_filters()
{
	bloomery export ./small -o ./theirs; bloomery copy ./tiny ./seal1; bloomery copy ./tiny ./seal2
	seq 1000 | bloomery build ./golomb -n 2000 -p 0.01 --kind golomb
	bloomery create ./double -n 1000 --kind d-left --with spare=1
	bloomery create ./hops -n 1000 --kind attenuated
	seq 1000 > in; seq 1001 2000 > out; bloomery build ./exact in --not out; bloomery copy ./exact ./before
	seq 1000 > more; seq 2001 2010 >> more; bloomery update ./exact --add more --not out; bloomery export ./exact --delta ./before -o ./delta
}

each_long_command_ends_with_bytes_and_rate() {
	local phase command n=0
	filters; more_filters
	while IFS='|' read -r phase command; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		bloomery ${command//\{\}/new$n} --progress 2> err > /dev/null || [ $? = 1 ]
		grep -Eq '^[0-9.]+ ([KM]iB|bytes)(  [0-9.]+ ([KMGT]iB|bytes)/s)?  100 %  0:00 left$' err || { echo "$command"; cat err; return 1; }
	done <<< "$calls"
	same $n 30
}

on_a_terminal_the_last_phases_line_stays() {
	local phase command n=0
	no_terminal && return
	filters; more_filters
	while IFS='|' read -r phase command; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		python3 -S "${0%/*}/on_terminal.py" --columns 60 --stderr "$BLOOMERY" ${command//\{\}/new$n} --progress | tr '\r' '\n' | sed 's/\x1b\[K//' | grep -v '^bloomery: ' > err
		sed -n '2s/: .*//p' err > first; same "$(< first)" "$phase"
		grep -Eq '^[0-9.]+ ([KM]iB|bytes), [0-9.]+ s(, [0-9.]+ ([KMGT]iB|bytes)/s)?$' <(sed -n '$p' err) || { echo "$command"; cat err; return 1; }
		awk 'length > 59 { print; bad = 1 } END { exit bad }' err
	done <<< "$calls"
	same $n 30
}

the_last_line_is_about_all_calls_of_a_command() {
	bloomery create ./a -m 800000 -k 3; bloomery create ./b -m 800000 -k 3
	bloomery sync ./a ./b --progress 2> err; grep -q '^235.5 KiB  ' err || { cat err; return 1; }
}

an_update_shows_the_passes_over_the_filter() {
	seq 1000 | bloomery build ./golomb -n 2000 -p 0.01 --kind golomb; seq 1001 1100 > more
	bloomery update ./golomb --add more --progress 2> err; same "$(grep -Ec '^[0-9.]+ KiB  .*100 %  0:00 left$' err)" 1
	no_terminal && return
	python3 -S "${0%/*}/on_terminal.py" --columns 60 --stderr "$BLOOMERY" update ./golomb --add more --progress | tr '\r' '\n' | sed 's/\x1b\[K//' > err
	grep -q '^checking: ' err; grep -q '^merging: ' err; grep -Eq '^[0-9.]+ KiB, [0-9.]+ s' err
}

a_report_says_how_many_filters_it_has_read() {
	bloomery create a -n 100; bloomery create b -n 100; bloomery add a --key x
	bloomery report -o page.html --progress 2> err; grep -Eq '^writing: 2 filters  [0-9.e+]+/s  100 %  0:00 left$' err || { cat err; return 1; }
	no_terminal && return
	python3 -S "${0%/*}/on_terminal.py" --columns 60 --stderr "$BLOOMERY" report -o page.html --progress | tr '\r' '\n' | sed 's/\x1b\[K//' > err
	grep -q '^reading: 0 filters' err; grep -q '^checking: ' err; grep -Eq '^2 filters, [0-9.]+ s' err
}

a_call_that_does_nothing_leaves_no_line() {
	no_terminal && return
	filters
	python3 -S "${0%/*}/on_terminal.py" --stderr "$BLOOMERY" copy ./none ./new --progress > err; same "$(wc -l < err)" 1; grep -q '^bloomery: ./none' err
	python3 -S "${0%/*}/on_terminal.py" --stderr "$BLOOMERY" copy ./a ./new > err; [ ! -s err ]
}

a_failed_call_leaves_no_line_of_success() {
	filters
	bloomery export ./a -o /dev/full --progress 2> err || same $? 2; not grep -q '%' err
	no_terminal && return
	python3 -S "${0%/*}/on_terminal.py" --stderr "$BLOOMERY" export ./a -o /dev/full --progress | tr '\r' '\n' > err
	grep -q '^.\[Kbloomery: ' err; not grep -q '%' err
}

a_message_does_not_stand_in_the_line_of_progress() {
	no_terminal && return
	filters
	touch ./part.part-1-of-2.key
	python3 -S "${0%/*}/on_terminal.py" --stderr "$BLOOMERY" join ./part.part-1-of-2 ./part.part-1-of-2.key ./part.part-2-of-2 -o ./whole --progress | tr '\r' '\n' > err
	grep -q '^.\[Kbloomery: ./part.part-1-of-2.key: skipped' err
}

# SIGNAL WORD COMMAND...: it waits for the rest of `pipe` when the signal comes.
killed_on_terminal()
{
	local signal=$1 word=$2 writer code=0
	shift 2
	rm -f pipe; mkfifo pipe
	{ cat head; exec sleep 100; } > pipe & writer=$!
	python3 -S "${0%/*}/on_terminal.py" --stderr --kill "$signal" "$word" "$BLOOMERY" "$@" --progress > err || code=$?
	kill $writer; wait $writer || :
	return $code
}

a_signal_ends_the_line_and_kills() {
	local signal code
	no_terminal && return
	bloomery create ./small -m 8000000 -k 3 --format redisbloom; bloomery export ./small -o whole; head -c 200000 whole > head
	for signal in INT:130 TERM:143 HUP:129; do
		code=0; killed_on_terminal "${signal%:*}" importing import pipe ./new || code=$?
		same $code "${signal#*:}"; same "$(tail -c 1 err | od -An -c | tr -d ' ')" '\n'; same "$(grep -c '' err)" 1; grep -q importing err
	done
	bloomery create ./f -n 100000; seq 20000 > head
	code=0; killed_on_terminal INT keys add ./f pipe || code=$?
	same $code 130; same "$(tail -c 1 err | od -An -c | tr -d ' ')" '\n'; tr '\r' '\n' < err | grep -q '^[0-9,]* keys, .* s'
}

another_signal_does_not_take_the_end_of_the_line() {
	local code=0
	no_terminal && return
	[ -z "${SANITIZED:-}" ] || { echo '# SKIP sanitizers come before all other libraries'; return 0; }
	bloomery create ./small -m 8000000 -k 3 --format redisbloom; bloomery export ./small -o whole; head -c 200000 whole > head
	LD_PRELOAD=$LAST_WORDS killed_on_terminal INT importing import pipe ./new || code=$?
	same $code 130; same "$(tail -c 1 err | od -An -c | tr -d ' ')" '\n'; same "$(grep -c '' err)" 1
}

a_dumb_terminal_gets_no_codes() {
	local term
	no_terminal && return
	filters
	for term in dumb ''; do
		TERM=$term python3 -S "${0%/*}/on_terminal.py" --columns 60 --stderr "$BLOOMERY" export ./a -o ./new-$term --progress > err
		not grep -q $'\e' err; grep -q 'exporting: ' err
		# what is left of a longer line is overwritten
		tr '\r' '\n' < err | awk '{ n = length; sub(/ *$/, ""); if (n < most) bad = 1; if (length > most) most = length } END { exit bad }'
		TERM=$term python3 -S "${0%/*}/on_terminal.py" --stderr "$BLOOMERY" export ./a -o /dev/full --progress > err
		not grep -q $'\e' err; tr '\r' '\n' < err | grep -q '^bloomery: '
	done
}

a_build_shows_checksums_and_a_closing_line() {
	seq 20000 > keys
	bloomery build ./f keys -p 0.01 --kind golomb --progress 2> err; grep -Eq '20000 keys  [0-9.e-]+ million/s' <(tail -n 1 err)
	no_terminal && return
	python3 -S "${0%/*}/on_terminal.py" --columns 70 --stderr "$BLOOMERY" build ./g keys -p 0.01 --kind golomb --progress | tr '\r' '\n' | sed 's/\x1b\[K//' > err
	grep -q '^adding checksums: ' err; grep -Eq '^20,000 keys, [0-9.]+ KiB, [0-9.]+ s(, [0-9.e-]+ million/s)?$' <(tail -n 1 err) || { cat err; return 1; }
}

text_on_a_terminal_has_no_progress_in_it() {
	no_terminal && return
	filters
	bloomery export ./small --base64 > text; [ -s text ]
	python3 -S "${0%/*}/on_terminal.py" --both "$BLOOMERY" export ./small --base64 --progress > seen
	cmp seen <(cat text; echo)
}

prove_all
