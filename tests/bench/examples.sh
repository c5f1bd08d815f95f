#!/bin/bash
# examples.sh - the sizes of filters of two real lists and of the lists themselves: the table of bloomery-performance(7); and its blacklist,
# with a list of false alarms and as an exact filter
#
# usage: tests/bench/examples.sh; $BLOOMERY names a program that is there, $BUILD the folder of the build (build-bench)
# The words are those of Debian's wamerican-insane, the domains those of npm's disposable-email-domains 1.0.62 (MIT), where there is npm.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
rate=0.001
ways=('classic' 'golomb' 'fuse' 'fuse -k 4' 'ribbon')

if [ -z "${BLOOMERY-}" ]; then
	build=${BUILD:-build-bench}
	# shellcheck disable=SC2086
	install_missing $build_packages || exit 2
	log=$(mktemp) || exit 2
	{
		configure "$build" -Dbenchmarks=true -Dtests=disabled && ninja -C "$root/$build" tools/bloomery
	} > "$log" 2>&1 < /dev/null || { cat "$log" >&2; rm -f "$log"; exit 2; }
	rm -f "$log"
	BLOOMERY=$root/$build/tools/bloomery
fi
install_missing wamerican-insane python3 >&2 || exit 2
BLOOMERY=$(realpath "$BLOOMERY") top=$(mktemp -d) && cd "$top" || exit 2
trap 'rm -rf "$top"' EXIT
trap 'exit 130' INT TERM HUP

bytes() { wc -c < "$1"; }

# Distinct lines, a row of the table.
row()
{
	local keys way row
	keys=$(wc -l < "$2")
	row="| $1, $keys | $(bytes "$2") | $(gzip -9 < "$2" | wc -c) |"
	for way in "${ways[@]}"; do
		# shellcheck disable=SC2086
		"$BLOOMERY" build ./filter --force -q -n "$keys" -p $rate --kind $way "$2" && "$BLOOMERY" info --json ./filter > info || return
		[ "$("$BLOOMERY" test -c ./filter "$2")" = "$keys" ] || { echo "$way: a line is missing" >&2; return 1; }
		python3 -c "import json; assert json.load(open('info'))['predicted_rate'] < $rate * 1.01" || return	# as the bits fell
		row+=" $(python3 -c "import json; b = json.load(open('info'))['data_bytes']; print('%d, %.2f' % (b, b * 8 / $keys))") |"
	done
	echo "$row"
}

echo "| list, lines | text | gzip -9 | $(IFS='|'; sed 's/|/ | /g' <<< "${ways[*]}") |"
echo "|---$(printf '|--:%.0s' text gzip "${ways[@]}")|"
sort -u /usr/share/dict/american-english-insane > words && row 'words' words || exit 1
if ! command -v npm > /dev/null; then
	echo 'npm was not found: the domains are left out' >&2
elif npm pack --silent disposable-email-domains@1.0.62 > /dev/null && tar -xzf disposable-email-domains-1.0.62.tgz package/index.json; then
	python3 -c 'import json; print("\n".join(sorted(json.load(open("package/index.json")))))' > domains && row 'domains' domains || exit 1
	echo
	seq 1000000 | sed 's/.*/mail&.example/' > others
	cat others domains > log
	BLOOMERY=$BLOOMERY "$root/tools/examples/blacklist.sh" domains log || exit 1
	"$BLOOMERY" build ./exact -q --kind exact --seed 1 domains --not others && "$BLOOMERY" info --json ./exact > info || exit 1
	echo "exact: $(python3 -c 'import json; print(json.load(open("info"))["data_bytes"])') bytes," \
		"$("$BLOOMERY" test -c ./exact others) false alarms at the first replay, $("$BLOOMERY" test -c ./exact domains) found"
else
	echo 'disposable-email-domains 1.0.62 cannot be had: the domains are left out' >&2
fi
