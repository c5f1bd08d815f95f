#!/bin/bash
# colour.sh - colours on a terminal, which say nothing that the text does not say
. "${0%/*}/tap.sh"
command -v python3 > /dev/null || { echo '1..0 # SKIP python3 is not installed'; exit 0; }

on_terminal() { python3 -S "${0%/*}/on_terminal.py" "$@"; }
plain() { sed 's/\x1b\[[0-9;]*m//g' "$@"; }
coloured() { unset NO_COLOR; export TERM=xterm; }
bold=$'\e[1m' caution=$'\e[1;33m' alarm=$'\e[1;31m' end=$'\e[0m'

# A filter below 80 %, one above, and one beyond its capacity.
three()
{
	bloomery create below -n 1000; seq 100 | bloomery add below
	bloomery create above -n 1000; seq 850 | bloomery add above
	bloomery create beyond -n 100; seq 300 | bloomery add beyond 2> warning
}

messages_begin_in_colour() {
	no_terminal && return
	coloured
	on_terminal --stderr "$BLOOMERY" info ./none > err; [[ $(< err) == "${alarm}bloomery:$end ./none: "* ]]
	on_terminal --stderr "$BLOOMERY" nonsense > err; [[ $(< err) == "${alarm}bloomery:$end "* ]]
	bloomery create f -n 10
	on_terminal --stderr "$BLOOMERY" verify f > err; [[ $(< err) == "${caution}bloomery:$end f: "* ]]
	exits 2 bloomery info ./none; says 'bloomery: ./none: '
}

headings_of_help_are_bold() {
	local words
	no_terminal && return
	for words in 'help claim' 'claim --help' 'help --all'; do
		# shellcheck disable=SC2086
		on_terminal --columns 80 "$BLOOMERY" $words > plain; not grep -q $'\e' plain
		coloured
		# shellcheck disable=SC2086
		on_terminal --columns 80 "$BLOOMERY" $words > bold; plain bold | cmp - plain
		export NO_COLOR=1
		same "$(grep -c "^$(printf '\033\\[1m')[A-Z][A-Za-z ,']*$(printf '\033\\[0m')\$" bold)" "$(grep -c $'\e\[1m' bold)"
		[ "$(grep -c $'\e\[1m' bold)" -ge 4 ]
	done
}

no_colours_where_they_are_not_wanted() {
	no_terminal && return
	coloured
	on_terminal "$BLOOMERY" help claim > out; grep -q $'\e' out
	NO_COLOR='' on_terminal "$BLOOMERY" help claim > out; grep -q $'\e' out
	NO_COLOR=1 on_terminal "$BLOOMERY" help claim > out; not grep -q $'\e' out
	TERM=dumb on_terminal "$BLOOMERY" help claim > out; not grep -q $'\e' out
	TERM='' on_terminal "$BLOOMERY" help claim > out; not grep -q $'\e' out
	env -u TERM python3 -S "${0%/*}/on_terminal.py" "$BLOOMERY" help claim > out; not grep -q $'\e' out
	bloomery help claim > out; not grep -q $'\e' out
	three
	on_terminal "$BLOOMERY" ls -l --json > out; not grep -q $'\e' out
	on_terminal "$BLOOMERY" top --json > out; not grep -q $'\e' out
}

full_filters_are_marked_in_ls() {
	local words
	no_terminal && return
	three
	for words in 'ls -l' 'ls --live'; do
		# shellcheck disable=SC2086
		on_terminal --columns 100 "$BLOOMERY" $words > plain
		coloured
		# shellcheck disable=SC2086
		on_terminal --columns 100 "$BLOOMERY" $words > seen; plain seen | sed -E 's/ +[0-9]+ s / /' | cmp - <(sed -E 's/ +[0-9]+ s / /' plain)
		export NO_COLOR=1
		grep -q "$(printf '\033\\[1;33m') *8[0-9]% *!*$(printf '\033\\[0m') .* above\$" seen
		grep -q "$(printf '\033\\[1;31m') *[23][0-9][0-9]% *!*$(printf '\033\\[0m') .* beyond\$" seen
		not grep -q $'\e.* below$' seen
	done
}

a_filter_without_a_limit_is_never_marked() {
	no_terminal && return
	bloomery create grows -n 100 --kind scalable; seq 300 | bloomery add grows
	coloured
	on_terminal --columns 100 "$BLOOMERY" ls -l > seen; grep -q ' - .* grows$' seen; not grep -q $'\e' seen
}

a_narrow_window_cuts_no_colour() {
	no_terminal && return
	three
	for width in 15 17 20 21 22 23 30; do
		python3 -S "${0%/*}/on_screen.py" $width 24 q "$BLOOMERY" top --every 1h > plain
		coloured
		python3 -S "${0%/*}/on_screen.py" $width 24 q "$BLOOMERY" top --every 1h > seen
		export NO_COLOR=1
		plain seen | cmp - plain
		sed -E 's/\x1b\[1;3[13]m[^\x1b]*\x1b\[0m//g' seen > rest; not grep -q $'\e\[1' rest
	done
}

top_marks_full_filters_and_fits_the_window() {
	no_terminal && return
	three
	python3 -S "${0%/*}/on_screen.py" 80 24 q "$BLOOMERY" top --every 1h > plain
	coloured
	python3 -S "${0%/*}/on_screen.py" 80 24 q "$BLOOMERY" top --every 1h > seen
	plain seen | cmp - plain
	grep -q "$(printf '\033\\[1;31m') *[23][0-9][0-9]% !!$(printf '\033\\[0m') .* beyond\$" seen
	not grep -q $'\e.* below$' seen
}

prove_all
