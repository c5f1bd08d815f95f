#!/bin/bash
# screens.sh - the main screens in windows of 80, 120 and 200 columns are the texts in screens/
# MAKE_SCREENS=1 meson test -C build tools/screens: writes the texts anew. Look at the difference (git diff) before you commit it.
. "${0%/*}/tap.sh"
command -v python3 > /dev/null || { echo '1..0 # SKIP python3 is not installed'; exit 0; }
golden=$(cd "${0%/*}/screens" && pwd)

# The arguments of the program, one screen a line. usage() and damage() make two more.
screens='help claim
info seen
ls -l
plan --table
kinds
formats
ls --live'

# Names, seeds and numbers of keys are fixed. The names are those of four kinds, one of them longer than a narrow window has room for.
four()
{
	local keys
	keys=$(seq 2000)
	bloomery claim seen --create -n 1000000 -p 0.001 --seed 1 <<< "$keys" > new
	bloomery create counts -n 100000 --kind counting --seed 2; seq 90000 | bloomery add counts
	seq 400 | bloomery build done -p 0.01 --kind ribbon --seed 3
	bloomery create "pages-of-the-crawl-of-november-that-were-fetched-by-the-second-node" -n 1000 --kind classic --seed 4
}

# What differs by time and machine, replaced by text of the same width: dates, uuids, and the share of pages in memory.
steady()
{
	sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/2026-01-02T03:04:05Z/
		s/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/00000000-0000-0000-0000-000000000000/
		s/( never  ) *([0-9]+%|-)(  )/\1   50%\3/'
}

# The program alone says how it is used on stderr, which is a pipe here, so COLUMNS has the width.
usage()
{
	local code=0
	COLUMNS=$1 bloomery 2> usage < /dev/null || code=$?
	same $code 64
	cat usage
}

# A new kind and a new format come last and a new command counts, so these change no screen.
stable_rows()
{
	case $1 in
	kinds) sed '/^range /,$d' ;;
	formats) sed '/^redisbloom-cf /,$d' ;;
	*) sed -E 's/all [0-9]+ commands/all 55 commands/' ;;
	esac
}

# A filter whose file is gone. A message is one line in every window, because programs read it, too.
damage()
{
	local code=0
	bloomery verify > verify.out 2> verify.err || code=$?
	same $code 1
	sed "s|$PWD/|/|; s|[0-9a-f-]\{36\}|00000000-0000-0000-0000-000000000000|" verify.out verify.err
}

screens_are_as_stored_at_80_120_200_columns() {
	local screen width
	no_terminal && return
	unset COLUMNS
	four
	for width in 80 120 200; do
		{ echo '$ bloomery'; usage $width | stable_rows usage; } > $width.txt
	done
	while read -r screen; do
		# shellcheck disable=SC2086
		python3 -S "${0%/*}/on_terminal.py" --columns 80,120,200 "$BLOOMERY" $screen
		for width in 80 120 200; do
			{ printf '\n$ bloomery %s\n' "$screen"; steady < $width | stable_rows "$screen"; } >> $width.txt
		done
	done <<< "$screens"
	rm "$(bloomery info done --json | json 'j["path"]')"
	for width in 80 120 200; do
		{ printf '\n$ bloomery verify\n'; damage; } >> $width.txt
	done
	for width in 80 120 200; do
		[ -z "${MAKE_SCREENS:-}" ] || cp $width.txt "$golden/"
		diff -u "$golden/$width.txt" $width.txt
	done
}

no_stored_screen_is_wider_than_its_window() {
	local width
	for width in 80 120 200; do
		python3 -c '
import sys
lines = open(sys.argv[2], encoding="utf-8").read().split("\n")
wide = [line for line in lines[:lines.index("$ bloomery verify")] if len(line) > int(sys.argv[1])]
sys.exit("\n".join(wide) or (0 if sum(line.startswith("$ ") for line in lines) == 9 else "not nine screens"))' $width "$golden/$width.txt"
	done
}

prove_all
