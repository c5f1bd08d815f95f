#!/bin/bash
# corpus.sh - what `corpus dedup` takes, against reading, unpacking, parsing and cutting alone: `corpus count`
#
# usage: tests/bench/corpus.sh [MEGABYTES (200)]; $BLOOMERY names a program that is there, $BUILD the folder of the build
# (build-bench), $ROUNDS how often each is run (7), $ROWS a part of the names of the rows that are wanted. The corpus is made from
# the texts of the packages that are installed (corpus_texts.py). A round runs both, so that other work on the machine changes both.
# A row has the medians of the rounds: the CPU time of `count`, that of `dedup`, and the share that the one takes of the other. With
# 2 processes each has a half of the documents, and they share the filter.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
rounds=${ROUNDS:-7}

if [ -z "${BLOOMERY-}" ]; then
	build=${BUILD:-build-bench}
	# shellcheck disable=SC2086
	install_missing $build_packages $text_packages || exit 2
	log=$(mktemp) || exit 2
	{
		configure "$build" -Dbenchmarks=true -Dtests=disabled && ninja -C "$root/$build" tools/bloomery tools/bloomery-json.so
	} > "$log" 2>&1 < /dev/null || { cat "$log" >&2; rm -f "$log"; exit 2; }
	rm -f "$log"
	BLOOMERY=$root/$build/tools/bloomery
fi
install_missing python3 zstd >&2 || exit 2
BLOOMERY=$(realpath "$BLOOMERY") top=$(mktemp -d) && cd "$top" || exit 2
trap 'rm -rf "$top"' EXIT
trap 'exit 130' INT TERM HUP

# Milliseconds of CPU time of a command for each of the files, all at once.
spent()
{
	local file
	TIMEFORMAT='%U %S'
	{ time { for file in $files; do "$BLOOMERY" corpus "$@" "$file" > /dev/null 2>> errors & done; wait; }; } 2> spent
	[ ! -s errors ] || { cat errors >&2; return 1; }
	awk '{ printf "%d", ($1 + $2) * 1000 }' spent
}

# of a column that awk makes of each round
median()
{
	awk "{ print $1 }" measured | sort -n | sed -n "$(((rounds + 1) / 2))p"
}

# row NAME FILTER OPTIONS...; the filter is new each time. $to: an option of dedup alone
row()
{
	local name=$1 filter=$2 round
	shift 2
	[[ $name == *${ROWS-}* ]] || return 0
	for ((round = 0; round < rounds; round++)); do
		rm -rf f f.claims out
		# shellcheck disable=SC2086
		"$BLOOMERY" create ./f $filter || exit 1
		echo "$(spent count "$@") $(spent dedup -F ./f ${to-} "$@")"
	done > measured
	[ "$(grep -c '^[0-9]* [0-9]*$' measured)" = "$rounds" ] || exit 1
	printf '| %s | %s | %d | %d | %d | %.2f |\n' "$name" "$packing" "$(wc -w <<< "$files")" "$(median '$1')" "$(median '$2')" "$(median '$1 / $2')"
}

python3 "$root/tests/bench/corpus_texts.py" "${1:-200}" all.jsonl || exit 1
split -n l/2 -d -a 1 --additional-suffix=.jsonl all.jsonl half
for file in all half0 half1; do
	gzip -k $file.jsonl && zstd -q $file.jsonl || exit 1
done
echo '| by | packing | processes | count, ms | dedup, ms | share |'
echo '|---|---|--:|--:|--:|--:|'
for packing in none gzip zstd; do
	case $packing in
	none) end='' ;;
	gzip) end=.gz ;;
	zstd) end=.zst ;;
	esac
	for files in all.jsonl$end "half0.jsonl$end half1.jsonl$end"; do
		row 'document, by its text' '-n 1m -p 1e-6'
		row 'document, by its URL' '-n 1m -p 1e-6' --key /metadata/url
		row paragraph '-n 10m -p 1e-3' --by paragraph
		row 'paragraph, split-block' '-n 10m -p 1e-3 --kind split-block --hash xxh3' --by paragraph
		# `count` does not pack
		[ $packing != none ] || to='-o out' row 'paragraph, to files' '-n 10m -p 1e-3' --by paragraph
		row '13-gram' '-n 30m -p 1e-2' --by ngram
	done
done
