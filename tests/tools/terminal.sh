#!/bin/bash
# terminal.sh - bytes of other people on a terminal, in a pipe, and in messages
. "${0%/*}/tap.sh"

on_terminal() { python3 -S "${0%/*}/on_terminal.py" ${columns:+--columns $columns} "$BLOOMERY" "$@"; }

# An escape, a C1 control in UTF-8 and as a byte, marks of direction, a line separator, DEL, a byte that is no UTF-8; between letters.
bad=$'a\e[31mb\302\233c\233d\342\200\256e\342\201\246f\342\200\250g\177h\330\234i\342\200\217j\377k'
good='a\x1b[31mb\u009bc\x9bd\u202ee\u2066f\u2028g\x7fh\u061ci\u200fj\xffk'

# Is there nothing but what is seen?
is_harmless()
{
	python3 -c '
import re, sys
text = sys.stdin.buffer.read().decode()
wrong = re.findall("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]", text)
sys.exit(f"{wrong!r} in {text!r}" if wrong else 0)'
}

labels_are_escaped_on_a_terminal_alone() {
	no_terminal && return
	bloomery create f -n 10
	bloomery label f "note=$bad"
	same "$(bloomery label f)" "note=$bad"
	same "$(on_terminal label f)" "note=$good"
	bloomery info f | is_harmless; bloomery info f | grep -qF "$good"
	on_terminal info f --json | is_harmless; on_terminal ls --json | is_harmless; bloomery info f --json | grep -vq $'\302\233'
}

keys_are_escaped_on_a_terminal_alone() {
	no_terminal && return
	bloomery create f -n 10
	printf '%s\n' "$bad" ümlaut > keys
	bloomery claim f keys > out; cmp out keys
	bloomery test f keys > out; cmp out keys
	same "$(on_terminal test f keys)" "$(printf '%s\n' "$good" ümlaut)"
	same "$(on_terminal claim f --batch 1 keys)" ''
	same "$(on_terminal filter --in f keys)" "$(printf '%s\n' "$good" ümlaut)"
}

ids_of_banks_are_escaped_on_a_terminal_alone() {
	no_terminal && return
	path=./${bad}
	bloomery create "$path" -n 10; echo 1 | bloomery add "$path"
	bloomery bank ./b "$path"
	for words in 'which ./b --key 1' 'bank --list ./b' 'similar ./b'; do
		set -- $words
		[ "$1" != similar ] || set -- "$@" "$path"
		bloomery "$@" | grep -aqF "$bad"
		on_terminal "$@" | is_harmless; on_terminal "$@" > out; grep -qF "$good" out
		same "$(wc -l < out)" 1
	done
}

paths_are_escaped_in_info_verify_dedup_and_messages() {
	no_terminal && return
	path=./$bad
	bloomery create "$path" -n 10
	on_terminal info "$path" > out; grep -qF "$good" out; is_harmless < out
	bloomery info "$path" | is_harmless
	printf x | dd of="$path" bs=1 seek=100 conv=notrunc status=none
	for command in info verify test add export sync 'rebuild --from' import; do
		bloomery $command "$path" "$path" < /dev/null 2> err || :
		is_harmless < err
	done
	on_terminal dedup --blocks 64 "$path" | is_harmless
	exits 2 bloomery info "./none$bad"; says "none$good"
	exits 64 bloomery "$bad"; says "$good"
	exits 64 bloomery ls "--$bad"; says "$good"
	exits 2 bloomery test --store "./none$bad" a; says "$good"
}

# Has the file of that name no line of more letters?
fits()
{
	local line lines
	mapfile -t lines < "$1"
	for line in "${lines[@]}"; do
		[ ${#line} -le "$1" ] || { echo "$screen, $1: $line"; return 1; }
	done
}

# Each screen as it is outside a window, and in one of 80, 120 and 200 columns.
screens='ls -l|info seen|info counts|kinds|kinds -l|hashes|schemes|formats|plan -n 10m -p 0.001|plan -n 10m -p 0.001 --compare
plan -n 1m -m 14m|plan --table|plan -n 1m --kind counting|compare seen seen'

each_screen_fits_the_window() {
	local screen
	no_terminal && return
	seq 2000 | bloomery claim seen --create -n 1000 -p 0.001 --seed 12345678901234567 > new 2>&1
	bloomery create counts -n 100000 --kind counting; seq 100 | bloomery add counts
	tr '|' '\n' <<< "$screens" > list; [ "$(wc -l < list)" = 14 ]
	while read -r screen; do
		# shellcheck disable=SC2086
		bloomery $screen | tr -d ',' | tr -s ' \n' ' ' > whole
		# shellcheck disable=SC2086
		python3 -S "${0%/*}/on_terminal.py" --columns 80,120,200 "$BLOOMERY" $screen
		for width in 80 120 200; do
			fits $width
			# nothing is lost, except what `ls -l` and the head of a table say otherwise
			case $screen in
			'ls -l' | 'plan --table') ;;
			*) sed '/^  full  *\[/d' $width | tr -d ',' | tr -s ' \n' ' ' | cmp - whole ;;
			esac
		done
	done < list
}

# Down to 20 columns, where tables leave columns out; lists lose nothing.
each_screen_fits_a_narrow_window() {
	local screen
	no_terminal && return
	seq 2000 | bloomery claim seen --create -n 1000 -p 0.001 --seed 12345678901234567 > new 2>&1
	bloomery create counts -n 100000 --kind counting; seq 100 | bloomery add counts
	bloomery create a-filter-of-a-long-name-that-is-cut -n 1000
	{ tr '|' '\n' <<< "$screens"; printf '%s\n' 'ls --live' 'plan -n 1m --plot' 'measure seen --questions 1000' --version; } > list
	while read -r screen; do
		# shellcheck disable=SC2086
		bloomery $screen | tr -d ', \n' > whole
		# shellcheck disable=SC2086
		python3 -S "${0%/*}/on_terminal.py" --columns 20,30,40,60 "$BLOOMERY" $screen
		for width in 20 30 40 60; do
			fits $width
			case $screen in
			ls* | plan* | measure*) ;;
			*) sed '/^  full *\[/d; /^  full$/,/%$/d' $width | tr -d ', \n' | cmp - whole ;;
			esac
		done
	done < list
	python3 -S "${0%/*}/on_terminal.py" --columns 20,40 "$BLOOMERY" ls -l
	same "$(sed '1d; s,[0-9]\{3\}%,200%,' 20)" $'   0%  a-filter-o...\n   0%  counts\n 200%  seen'
	same "$(sed -n 1p 40)" '         keys    full  name'
}

# Many shells export COLUMNS, so it says nothing of where the output goes.
output_into_a_pipe_is_whole_with_columns_set() {
	local screen
	bloomery create "$(printf 'n%.0s' {1..90})" -n 1234567; bloomery create seen -n 1000; bloomery create counts -n 100000 --kind counting
	tr '|' '\n' <<< "$screens" > list
	while read -r screen; do
		# shellcheck disable=SC2086
		env -u COLUMNS "$BLOOMERY" $screen > whole
		# shellcheck disable=SC2086
		COLUMNS=72 bloomery $screen > narrow
		# the sentences of plan are broken into lines everywhere
		[[ $screen != 'plan -n'* ]] || for file in whole narrow; do tr -s ' \n' ' ' < $file > words; mv words $file; done
		cmp narrow whole
	done < list
	no_terminal && return
	COLUMNS=72 on_terminal ls -l > narrow; python3 -S "${0%/*}/on_terminal.py" --columns 72 "$BLOOMERY" ls -l | cmp - narrow
	awk 'length > 72 { print; bad = 1 } END { exit bad }' narrow
}

numbers_have_commas_in_a_window_alone() {
	bloomery create f -n 1234567
	no_terminal && return
	bloomery info f > o; grep -q ' 1234567 keys' o
	columns=80 on_terminal info f > o; grep -q ' 1,234,567 keys' o
	columns=80 on_terminal info f --json | holds 'j["capacity"] == 1234567'
}

bars_say_how_full_a_filter_is() {
	no_terminal && return
	bloomery create half -n 100; seq 1000 | bloomery add half 2> warning; keys=$(bloomery info half --json | json 'j["keys"]')
	bloomery create grows -n 10 --kind scalable
	seq 200 | bloomery build fixed -n 400 --kind classic
	python3 -S "${0%/*}/on_terminal.py" --columns 80,119,120 "$BLOOMERY" info half fixed grows
	same "$(sed -n 's/^  full *//p' 80)" "$(printf '[%s> %d %%\n[%s%s] 50 %%' "$(printf '#%.0s' {1..40})" "$keys" "$(printf '#%.0s' {1..20})" "$(printf '.%.0s' {1..20})")"
	python3 -S "${0%/*}/on_terminal.py" --columns 80,119,120 "$BLOOMERY" ls -l
	grep -q '50% \[######[.]\{6\}\] ' 120; grep -q '% \[############> ' 120; not grep -q '\[' 119
	not grep -q '\[' <(bloomery info half; bloomery ls -l)
}

a_share_is_shown_in_per_cent() {
	bloomery create f -m 1000 -k 1 -n 1000 --kind classic
	for i in {1..300}; do echo $i; done | bloomery add f
	want=$(bloomery info f --full --json | json '"%.4g" % (100 * j["fill"])')
	grep -q "^  fill        $want % (all of the data read)$" <(bloomery info f --full)
}

the_published_table_is_cut_into_fitting_columns() {
	no_terminal && return
	bloomery plan --table --mn 20..22 > whole
	python3 -S "${0%/*}/on_terminal.py" --columns 80 "$BLOOMERY" plan --table --mn 20..22 > cut
	same "$(grep -c '^m/n' whole)" 1; same "$(grep -c '^m/n' cut)" 4
	sed -n 's/^m\/n     k//p' cut | tr -s ' \n' ' ' > heads
	same "$(< heads)" "$(sed -n 's/^m\/n     k//p' whole | tr -s ' ') "
	grep '^ 22' cut | cut -c10- | tr -s ' \n' ' ' > row; grep '^ 22' whole | cut -c10- | tr -s ' \n' ' ' | cmp - row
}

a_character_is_never_taken_apart() {
	no_terminal && return
	bloomery create f -n 10
	python3 -c 'for i in range(40000): print("x" * (i % 7) + "üß€😀" * 3)' > keys
	bloomery add f keys
	on_terminal test f keys > out; cmp out keys
	bloomery label f "long=$(python3 -c 'print("€" * 400)')"
	same "$(on_terminal label f)" "$(bloomery label f)"
}

names_that_act_on_a_terminal_are_refused() {
	for name in $'a\u202eb' $'a\u2028b' $'a\u200fb' $'a\u061cb' $'a\u2066b' $'a\u009bb' $'a\eb' $'a\377b'; do
		exits 2 bloomery create "$name" -n 10; is_harmless < exits.err
	done
	for point in 00ad 180e 200b 2060 2064 feff fffb; do
		printf -v name "a\\u${point}b"
		exits 2 bloomery create "$name" -n 10; is_harmless < exits.err
		says "a\\u${point}b: a name has no marks of direction"; says "leave out U+${point^^}"
	done
	bloomery create $'می\u200cخواهم' -n 10; bloomery drop $'می\u200cخواهم'
	bloomery create f -n 10
	exits 2 bloomery mv f $'a\u202eb'; says 'U+202E'
	exits 2 bloomery publish ./none $'a\u202eb'
	exits 2 bloomery copy f $'a\u202eb'
	echo 1 | exits 2 bloomery build --force $'a\u202eb' -p 0.1
	same "$(bloomery ls)" f
}

prove_all
