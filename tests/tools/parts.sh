#!/bin/bash
# parts.sh - kinds of several parts, as a person types them
. "${0%/*}/tap.sh"

a_scalable_filter_grows_and_rebuilds_to_one_stage() {
	seq 20000 > keys
	bloomery create ./f -n 100 -p 0.01 --kind scalable
	same "$(bloomery add ./f keys 2>&1)" ''
	same "$(bloomery test -c ./f keys)" 20000
	bloomery info ./f --json | holds 'j["facts"]["stages"] >= 8'
	bloomery verify ./f
	bloomery rebuild ./f --from keys
	bloomery info ./f --json | holds 'j["facts"]["stages"] == 1'
	same "$(bloomery test -c ./f keys)" 20000
	bloomery rebuild ./f --from keys --kind blocked -n 20000
	same "$(bloomery test -c ./f keys)" 20000
}

claims_across_growth_are_won_once() {
	seq 20000 > keys
	for p in 1 2 3; do bloomery claim seen keys --create -n 100 -p 0.0001 --kind scalable > won.$p & done; wait
	cat won.* | sort | uniq -d > twice
	same "$(wc -l < twice)" 0
	test "$(cat won.* | wc -l)" -gt 19980
	bloomery sync seen
	bloomery ls -l | grep -q scalable
}

a_removed_key_is_not_taken_again() {
	bloomery create ./r -n 1000 -p 0.0001 --kind removable
	printf '%s\n' A B C | bloomery add ./r
	same "$(echo A | bloomery remove ./r)" ''
	same "$(printf '%s\n' A B C | bloomery test ./r)" "$(printf '%s\n' B C)"
	code=0; printf '%s\n' A D | bloomery add ./r 2> err || code=$?
	same $code 1
	grep -q 'was removed' err
	same "$(printf '%s\n' A D | bloomery test ./r)" D
	code=0; echo never | bloomery remove ./r > out || code=$?
	same $code 1; same "$(cat out)" never
	bloomery info ./r | grep -q 'forgets by design'
}

a_window_forgets_slot_by_slot() {
	bloomery create ./w -n 1000 --kind window --with slots=2
	for i in 1 2 3 4; do echo $i | bloomery add ./w; bloomery rotate ./w; done
	same "$(seq 4 | bloomery test ./w)" "$(seq 3 4)"
	bloomery create ./t -n 1000 --kind window --with slots=1,span=1s
	echo x | bloomery add ./t
	sleep 2.2
	same "$(echo x | bloomery test ./t)" ''
	code=0; bloomery create ./q -n 10 --kind window --with slots=63 2> err || code=$?
	same $code 64
	code=0; bloomery create ./c -n 10; bloomery rotate ./c 2> err || code=$?
	same $code 2; grep -q window err
}

a_warning_is_printed_when_the_rate_is_exceeded() {
	bloomery create ./r -n 100 --kind removable
	seq 300 | bloomery add ./r 2>&1 | grep -q 'made for 100; its false-positive rate is 0'
	bloomery create ./t -n 100 --kind window --with span=1h
	seq 90 | bloomery add ./t > out 2>&1
	seq 100 1000 | bloomery add ./t 2>&1 | grep -q 'made for 100; its false-positive rate is'
	bloomery create ./d -n 1000 -p 0.01 --kind d-left
	seq 1200 | bloomery add ./d 2>&1 | grep -q 'keys, but was made for 1000; its false-positive rate is 0.00[67]'
	bloomery create ./w -n 100 --kind window; bloomery create ./g -n 100 --kind scalable; bloomery create ./s -n 100 --kind stable
	for f in w g s; do seq 20000 | bloomery add ./$f > out 2>&1; done
	[ ! -s out ]
	bloomery info ./r | grep -q 'beyond its capacity'
	for f in w g s; do bloomery info ./$f > out; not grep -q 'beyond its capacity' out; done
	bloomery seal ./g ./s; for f in g s; do bloomery info ./$f > out; not grep -q 'beyond its capacity' out; done
}

a_window_that_is_wholly_past_is_empty() {
	bloomery create ./w -n 10 --kind window --with slots=2,span=1; seq 5 | bloomery add ./w; sleep 2.1
	bloomery info ./w --json > o; holds 'j["fill"] == 0 and j["fill_error"] == 0 and j["estimate"] == 0 and j["predicted_rate"] == 0' < o || { cat o; return 1; }
	bloomery info ./w | grep -q '^  fill *0 % (all'
}

a_rebuild_keeps_options_that_were_given() {
	seq 100 > keys
	options() { bloomery info ./f --json | json 'j["options"]'; }
	bloomery create ./f -n 1000 --kind window --with slots=4,span=2h; bloomery rebuild ./f --from keys --with slots=5
	same "$(options)" 'slots=5,span=7200'
	bloomery create ./f -n 1000 --kind stable --with bits=2 --force; bloomery rebuild ./f --from keys -p 0.0001
	bloomery info ./f --json | holds 'j["options"].startswith("bits=2,fade=") and j["rate"] == 0.0001'
	bloomery info ./f | grep -q '9.9.e-05 when it is stable'
	bloomery create ./f -n 1000 --kind hash-compact --with load=0.5 --force; bloomery rebuild ./f --from keys -p 1e-7
	bloomery info ./f --json | holds 'j["options"].endswith("load=0.5") and j["data_bytes"] < 20000'
	bloomery create ./f -n 1000 --kind counting --with bits=3 --force; bloomery rebuild ./f --from keys -n 2000 -p 0.001
	same "$(options)" 'bits=3'
	exits 64 bloomery create ./x -n 1000 -p 0.0001 --kind stable --with fade=10; says 'rate of 0.594'
	exits 64 bloomery create ./x -m 50 -p 0.0001 --kind stable; says 'too few'
}

prove_all
