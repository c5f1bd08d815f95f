#!/bin/bash
# recent.sh - filters that keep when each key was seen, as a person types them
. "${0%/*}/tap.sh"

days_ago()
{
	date -u -d "$1 days ago" +%Y-%m-%dT%H:%M:%SZ
}

a_key_is_claimed_again_after_the_given_age() {
	bloomery create ./r -n 1000 --rate 1e-6 --kind recent --span 90d --tick 2h
	bloomery info ./r --json | holds '"span=7.776e+06,tick=7200" in j["options"]'
	same "$(echo old | bloomery claim ./r --again-after 7d)" old
	exits 1 bloomery claim ./r --again-after 7d --key old
	echo older | bloomery add ./r --at "$(days_ago 8)"
	echo newer | bloomery add ./r --at "$(days_ago 6)"
	same "$(printf '%s\n' older newer | bloomery claim ./r --again-after 7d)" older
	same "$(printf '%s\n' older newer | bloomery claim ./r --again-after 5d)" newer
	exits 1 bloomery claim ./r --key older --key newer --key old
}

ages_are_asked_for_and_told() {
	bloomery create ./r -n 1000 -p 1e-6 --kind recent --with span=90d,tick=2h
	seq 3 | bloomery add ./r --at "$(days_ago 2)"
	seq 4 5 | bloomery add ./r --at "$(($(date +%s) - 20 * 86400))"
	same "$(seq 9 | bloomery test ./r --within 3d)" "$(seq 3)"
	same "$(seq 5 | bloomery test ./r --within 3d -v)" "$(seq 4 5)"
	same "$(seq 9 | bloomery test ./r --within 30d)" "$(seq 5)"
	same "$(seq 9 | bloomery get ./r | awk '{ print $1, int(($2 + 43200) / 86400) }')" "$(printf '%s\n' '1 2' '2 2' '3 2' '4 20' '5 20')"
	bloomery add ./r --key 4 --at "$(days_ago 40)"
	same "$(bloomery get ./r --key 4 | awk '{ print int(($2 + 43200) / 86400) }')" 20
	bloomery remove ./r --key 4
	exits 1 bloomery get ./r --key 4
	same "$(seq 9 | bloomery add ./r --count --at "$(days_ago 91)")" 0
}

a_full_filter_says_so_and_grows_without_its_keys() {
	bloomery create ./r -n 200 -p 1e-6 --kind recent --with spare=1
	seq 150 | bloomery add ./r --at "$(days_ago 30)"
	exits 2 bloomery add ./r <(seq 1000 2000); says 'bloomery grow'
	bloomery grow ./r
	seq 1000 1100 | bloomery add ./r
	same "$(seq 150 | bloomery test -c ./r)" 150
	same "$(bloomery get ./r --key 1 | awk '{ print int(($2 + 43200) / 86400) }')" 30
	bloomery info ./r --json | holds 'j["capacity"] == 400 and j["facts"]["time bits"] == 8'
	bloomery verify ./r
}

of_four_processes_one_claims_each_key() {
	bloomery create ./r -n 20000 -p 1e-9 --kind recent
	seq 10000 | bloomery add ./r --at "$(days_ago 8)"
	for p in 1 2 3 4; do seq 20000 | bloomery claim ./r --again-after 7d --batch 64 > won.$p & done; wait
	same "$(cat won.* | sort -n)" "$(seq 20000)"
}

conflicting_options_are_refused() {
	bloomery create ./b -n 10
	exits 2 bloomery claim ./b --again-after 7d --key a; says recent
	exits 2 bloomery test ./b --within 7d --key a; says recent
	exits 2 bloomery add ./b --at 2026-01-01 --key a; says recent
	bloomery create ./r -n 10 --kind recent --with span=7d
	exits 2 bloomery claim ./r --again-after 8d --key a; says 'longer span'
	exits 64 bloomery claim ./r --again-after soon --key a; says '90s, 15m, 24h or 7d'
	exits 64 bloomery claim ./r --again-after 0x10 --key a; says '90s, 15m, 24h or 7d'
	exits 64 bloomery add ./r --at yesterday --key a; says '2026-11-26'
	exits 64 bloomery add ./r --at 2026-02-31 --key a; says '2026-11-26'
	exits 64 bloomery add ./r --at 0x10 --key a; says '2026-11-26'
	exits 64 bloomery create ./q -n 10 --kind recent --with span=90d,tick=1s; says 'tick of at least'
	exits 64 bloomery create ./q -n 10 --kind recent --with span=1h,tick=2h; says 'more than the span'
}

prove_all
