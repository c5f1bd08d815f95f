#!/bin/bash
# corpus.sh - what `corpus dedup` takes, against reading, unpacking, parsing and cutting alone: `corpus count`
#
# usage: tests/bench/corpus.sh [MEGABYTES (200)]; $BLOOMERY names a program that is there, $BUILD the folder of the build
# (build-bench), $ROUNDS how often each is run (5). The corpus is made from the texts of the packages that are installed
# (corpus_texts.py). A row has the least CPU time of the rounds, which other work on the machine changes less than the time that
# passes, and the share that `count` takes of it. With 2 processes each has a half of the documents, and they share the filter.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
rounds=${ROUNDS:-5}

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

# Milliseconds of CPU time of a command for each of the files, all at once, with the filter new each time.
least()
{
	local filter=$1 best=0 ms round file
	shift
	local command=("$BLOOMERY" corpus "$@")
	for ((round = 0; round < rounds; round++)); do
		rm -f f f.claims
		[ -z "$filter" ] || "$BLOOMERY" create ./f $filter || return
		TIMEFORMAT='%U %S'
		{ time { for file in $files; do "${command[@]}" "$file" > /dev/null 2>> errors & done; wait; }; } 2> spent
		[ ! -s errors ] || { cat errors >&2; return 1; }
		ms=$(awk '{ printf "%d", ($1 + $2) * 1000 }' spent)
		[ $best != 0 ] && [ "$ms" -ge $best ] || best=$ms
	done
	echo $best
}

# row NAME FILTER OPTIONS...
row()
{
	local name=$1 filter=$2 alone all
	shift 2
	alone=$(least '' count "$@") && all=$(least "$filter" dedup -F ./f "$@") || exit 1
	awk -v n="$name" -v p="$packing" -v c="$(wc -w <<< "$files")" -v a="$alone" -v b="$all" \
		'BEGIN { printf "| %s | %s | %d | %d | %d | %.2f |\n", n, p, c, a, b, a / b }'
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
		row '13-gram' '-n 30m -p 1e-2' --by ngram
	done
done
