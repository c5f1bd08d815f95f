#!/bin/bash
# top.sh - a live view of a store
. "${0%/*}/tap.sh"
command -v python3 > /dev/null || { echo '1..0 # SKIP python3 is not installed'; exit 0; }
on_screen() { python3 -S "${0%/*}/on_screen.py" "$@"; }

# Rows of the N-th screen of the file.
screen() { awk -v n="$1" '$0 == "---" { at++; next } at == n - 1' "$2"; }

# A filter below 80 %, one above, and one beyond its capacity.
# Does the kernel not show what a process of bloomery maps? It shows that to root only, because the program keeps secrets.
maps_hidden()
{
	[ "$(id -u)" != 0 ] || return 1
	echo '# SKIP only root sees what a process of bloomery maps'
}

three()
{
	bloomery create below -n 1000; seq 100 | bloomery add below
	bloomery create above -n 1000; seq 850 | bloomery add above
	bloomery create beyond -n 100; seq 300 | bloomery add beyond 2> warning
}

one_look_is_printed_where_stdout_is_no_terminal() {
	three
	bloomery top > out
	same "$(sed -n 1p out)" '3 filters, 0 keys/s, by name'
	same "$(awk 'NR > 2 { print $NF }' out | tr '\n' ' ')" 'above below beyond '
	same "$(awk '$NF == "below" { print $1, $2, $4, $5, $6, $7 }' out)" "$(bloomery info below --json | json 'j["keys"]') 10% 0.01 0 0 never"
	grep -q '%  ! .* above$' out; grep -q '% !! .* beyond$' out; grep -q '%    .* below$' out
	bloomery sync below; bloomery top > out; grep -q ' [0-9]* s  below$' out
	bloomery top 'a*' > out; same "$(wc -l < out)" 3
	exits 64 bloomery top --sort size; says keys
	exits 64 bloomery top --every 5; says 2s
	exits 2 bloomery top --store ./none
}

ls_live_prints_one_look() {
	three
	bloomery ls --live > out; bloomery top > top
	same "$(sed 1d out)" "$(sed 1d top)"; same "$(sed -n 1p out)" '3 filters, 0 keys/s, by name'
	bloomery ls 'a*' --live > out; same "$(awk 'NR > 2 { print $NF }' out)" above
	exits 1 bloomery ls 'x*' --live; exits 2 bloomery ls --live --store ./none
	exits 64 bloomery ls --live -l; says --live
	bloomery ls --live --json > out; bloomery top --json > top; bloomery ls --json > ls
	sed -i 's/"resident_bytes":[^,]*,//' out top; cmp out top	# the kernel may take pages in between
	cat ls out | holds 'len(all) == 6 and min(a[k] == b[k] for a, b in zip(all, all[3:]) for k in ("name", "kind", "keys", "capacity", "rate", "bytes", "synced", "dirty", "from_catalog"))'
	holds '[x["processes"] for x in all] == [0, 0, 0]' < out
	no_terminal && return
	bloomery create "$(printf 'n%.0s' {1..90})" -n 10
	python3 -S "${0%/*}/on_terminal.py" --columns 80,120,200 "$BLOOMERY" ls --live
	for width in 80 120 200; do
		same "$(wc -l < $width)" 6
		awk -v width=$width 'length > width { print; bad = 1 } END { exit bad }' $width
	done
	grep -q 'n\{90\}$' 200; not grep -q 'n\{90\}$' 120
}

a_narrow_window_shows_how_full_each_filter_is() {
	no_terminal && return
	three
	for columns in 20 40 60; do
		on_screen $columns 12 q "$BLOOMERY" top > out
		screen 1 out > seen; [ "$(wc -l < seen)" = 5 ]
		awk -v width=$columns 'length > width { print; bad = 1 } END { exit bad }' seen
		same "$(awk 'NR > 2 { print $NF }' seen | tr '\n' ' ')" 'above below beyond '
		sed -n 2p seen >> heads
	done
	same "$(tr -s ' ' < heads)" $' full name\n full keys/s name\n keys full rate now keys/s open name'
}

a_terminal_without_a_size_is_drawn_at_80_columns() {
	no_terminal && return
	three
	on_screen 0 0 q "$BLOOMERY" top > out; on_screen 80 24 q "$BLOOMERY" top > usual
	cmp out usual; screen 1 out | grep -q ' beyond$'
}

a_letter_in_the_last_column_stays() {
	no_terminal && return
	bloomery create "$(printf 'n%.0s' {1..90})" -n 10
	for columns in 20 80; do
		on_screen $columns 12 q "$BLOOMERY" top > out	# which looks at what is cleared
		same "$(screen 1 out | awk 'NR == 3 { print length, substr($0, length - 3) }')" "$columns n..."
	done
}

the_order_is_what_is_asked_for() {
	three
	for pair in name:above,below,beyond keys:above,beyond,below full:beyond,above,below; do
		bloomery top --sort "${pair%:*}" > out
		same "$(awk 'NR > 2 { print $NF }' out | tr '\n' ',')" "${pair#*:},"
	done
}

processes_that_have_a_filter_open_are_counted() {
	no_terminal && return
	maps_hidden && return
	three
	mkfifo lines
	bloomery add below lines & exec 3> lines; pid=$!
	bloomery add below /dev/null lines 3>&- & other=$!
	until bloomery top | grep -q ' 2 *never  below$'; do kill -0 $pid $other; sleep 0.05; done
	bloomery top > out; grep -q ' 0 *never  above$' out
	bloomery top --who > out; grep -q '^2 processes have filters open' out
	same "$(awk 'NR > 2 { print $1, $2, $3, $4, $5 }' out | sort)" "$(printf '%s '"$(id -un)"' bloomery 1 below\n' $pid $other | sort)"
	bloomery top below --json > out; holds "sorted(p['process'] for p in j['open_by']) == sorted(($pid, $other)) and j['processes'] == 2" < out
	holds '{(p["user"], p["command"]) for p in j["open_by"]} == {("'"$(id -un)"'", "bloomery")}' < out
	on_screen 130 24 q "$BLOOMERY" top > wide; screen 1 wide | grep ' below$' | grep -Eq " bloomery ($pid|$other) .* \+1 +below\$"
	exec 3>&-; wait $pid $other
	bloomery top > out; grep -q ' 0 *never  below$' out
}

processes_of_a_copy_of_the_store_are_not_counted() {
	maps_hidden && return
	three
	cp -a "$BLOOMERY_STORE" copy
	mkfifo lines
	bloomery add --store ./copy below lines & exec 3> lines; pid=$!
	until bloomery top --store ./copy --json below | holds "j['processes'] == 1"; do kill -0 $pid; sleep 0.05; done
	bloomery top --json below | holds "j['processes'] == 0"
	exec 3>&-; wait $pid
}

a_filter_that_grows_is_never_full() {
	bloomery create grows -n 100 --kind scalable; seq 1000 | bloomery add grows
	bloomery create leaves -n 1000 --kind removable; seq 900 | bloomery add leaves
	bloomery top --sort full > out
	same "$(awk 'NR > 2 { print $NF, $2 }' out)" $'leaves 90%\ngrows -'
	not grep '!.* grows$' out; grep -q ' ! .* leaves$' out
	bloomery ls -l > out; same "$(awk 'NR > 1 { print $NF, $4 }' out)" $'grows -\nleaves 90%'
}

a_screen_fits_its_window_and_the_terminal_is_restored() {
	no_terminal && return
	three
	for i in {1..40}; do bloomery create "$(printf 'a-filter-with-a-long-name-%060d' $i)" -n 10; done
	on_screen 80 24 'kfnq' "$BLOOMERY" top --every 1h > seen
	same "$(tail -n 1 seen)" '0 restored'
	same "$(grep -c '^---$' seen)" 4
	awk 'length > 80 { print; bad = 1 } END { exit bad }' seen
	for n in 1 2 3 4; do [ "$(screen $n seen | wc -l)" -le 23 ]; done
	screen 1 seen > one; screen 2 seen > two; screen 3 seen > three; screen 4 seen > four
	cmp one four
	same "$(sed -n 3p two | awk '{ print $NF }')" above; same "$(sed -n 3p three | awk '{ print $NF }')" beyond
	same "$(tail -n 1 one)" '... 23 more'
	on_screen 200 60 q "$BLOOMERY" top > seen; same "$(grep -c 'a-filter-with' seen)" 40
	not grep -q ' more$' seen
}

w_shows_the_processes_and_back() {
	no_terminal && return
	three
	on_screen 80 24 'wwq' "$BLOOMERY" top --every 1h > seen
	same "$(tail -n 1 seen)" '0 restored'
	screen 2 seen > two; grep -q '^[0-9]* processes have filters open' two; grep -q ' below' <(screen 1 seen); cmp <(screen 1 seen) <(screen 3 seen)
}

# What did not change is not read again; a catalog with an old time is taken for one that did not.
changes_are_seen_where_nothing_else_changes() {
	no_terminal && return
	three
	find store -name data.mdb -exec touch -d '1 hour ago' {} +
	export BETWEEN='if [ -e once ]; then "$BLOOMERY" create another -n 10; "$BLOOMERY" drop above; else touch once; seq 5001 5020 | "$BLOOMERY" add below; fi'
	on_screen 80 24 '..!..!..q' "$BLOOMERY" top --every 0.01s > seen
	same "$(tail -n 1 seen)" '0 restored'
	screen 1 seen | awk '$NF == "below" { print $1 }' > first; screen 6 seen | awk '$NF == "below" { print $1 }' > then
	[ "$(cat then)" -gt "$(cat first)" ]; same "$(cat then)" "$(bloomery info below --json | json 'j["keys"]')"
	screen 6 seen > then; grep -q ' above$' then; not grep -q ' another$' then
	screen 9 seen > then; grep -q ' another$' then; not grep -q ' above$' then; same "$(grep -c ' below$' then)" 1
}

another_file_under_the_name_of_a_filter_is_seen() {
	no_terminal && return
	three
	find store -name data.mdb -exec touch -d '1 hour ago' {} +
	path=$(bloomery info below --json | json 'j["path"]'); cp "$path" before
	seq 6001 6050 | bloomery add below; cp "$path" after; cp before "$path.new"; mv "$path.new" "$path"
	export BETWEEN='cp after '"$path"'.new; mv '"$path"'.new '"$path"
	on_screen 80 24 '.!..............q' "$BLOOMERY" top --every 0.01s > seen
	same "$(tail -n 1 seen)" '0 restored'
	screen 1 seen | awk '$NF == "below" { print $1 }' > first; screen 15 seen | awk '$NF == "below" { print $1 }' > then
	[ "$(cat then)" -gt "$(cat first)" ]; same "$(cat then)" "$(bloomery info below --json | json 'j["keys"]')"
}

pages_in_memory_are_those_of_the_file() {
	three; bloomery create hole -n 10m --sparse
	cat "$(bloomery info below --json | json 'j["path"]')" > read
	bloomery top --json > out
	holds 'not [x for x in all if x["name"] != "hole" and not 0 < x["resident_bytes"] <= x["bytes"]]' < out
	holds '[x for x in all if x["name"] == "hole"][0]["resident_bytes"] < 1e6' < out
	no_terminal && return
	python3 -S "${0%/*}/on_terminal.py" --columns 99,100 "$BLOOMERY" ls --live
	not grep -q memory 99; grep -q memory 100; grep -q ' [0-9]*%  below' 100; grep -q ' [0-4]%  hole' 100
}

a_signal_ends_it_and_restores_the_terminal() {
	no_terminal && return
	three
	on_screen 80 24 '~' "$BLOOMERY" top --every 1h > seen
	same "$(tail -n 1 seen)" '-15 restored'
	on_screen 20 3 'q' "$BLOOMERY" top --every 1h > seen
	same "$(tail -n 1 seen)" '0 restored'
}

# As long as keys come, each look finds some. Some hundred keys a second are enough; without the waits the loop takes a processor.
the_pace_of_writers_is_shown() {
	no_terminal && return
	maps_hidden && return
	three
	mkfifo lines silent
	bloomery create busy -n 100m -p 0.1
	(exec 4<> silent; while echo $RANDOM.$RANDOM.$RANDOM; do read -r -t 0.005 -u 4 || :; done > lines 2> gone) & writer=$!
	bloomery add busy lines 2> warning & adder=$!
	trap 'kill $writer $adder 2> /dev/null || :' EXIT	# also where a check fails
	on_screen 80 24 '....q' "$BLOOMERY" top --every 1s > seen
	same "$(tail -n 1 seen)" '0 restored'
	screen 4 seen | grep ' busy$' > row
	read -r keys full now promised pace open rest < row
	same "$open" 1
	python3 -c 'import sys; sys.exit(float(sys.argv[1]) <= 0)' "$pace"
	screen 4 seen | grep -q '^4 filters, [1-9]'
	kill $writer; wait $writer $adder || :
}

prove_all
