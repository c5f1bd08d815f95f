#!/bin/bash
# moves.sh - filters whose keys can be taken out, that move them, grow, or fade
. "${0%/*}/tap.sh"

info() { bloomery info --json "$1"; }

removed_keys_leave_a_cuckoo_filter_and_others_stay() {
	bloomery create ./f -n 1000 -p 1e-6 --kind cuckoo
	seq 1000 | bloomery add ./f
	seq 1 2 1000 | bloomery remove ./f > removed
	same "$(seq 1000 | bloomery test ./f)" "$(seq 2 2 1000)"
	same "$(info ./f | json 'j["keys"]')" 500
	echo 1 | exits 1 bloomery remove ./f
}

a_full_cuckoo_filter_says_so_and_loses_nothing() {
	bloomery create ./f -n 1000 -p 1e-6 --kind cuckoo
	seq 2000 > keys
	exits 2 bloomery add ./f keys; says 'is full'
	n=$(info ./f | json 'j["keys"]')
	says "./f: is full: $n keys are in it"
	[ "$n" -ge 1000 ]
	same "$(head -n "$n" keys | bloomery test -c ./f)" "$n"
}

info_shows_the_checkpoint_image_and_no_checkpoint_does_without() {
	bloomery create ./f -n 100000 -p 0.001 --kind cuckoo
	bloomery create ./g -n 100000 -p 0.001 --kind cuckoo --no-checkpoint
	info ./f | holds 'j["checkpoint_bytes"] == j["data_bytes"]'
	info ./g | holds 'j["checkpoint_bytes"] == 0'
	bloomery info ./f | grep -q 'checkpoint image'
	exits 1 grep 'checkpoint image' <(bloomery info ./g)
	seq 1000 | bloomery add ./f; bloomery sync ./f; bloomery verify ./f
	bloomery copy ./f ./h; same "$(seq 1000 | bloomery test -c ./h)" 1000
	bloomery seal ./h; bloomery verify ./h; info ./h | holds 'j["checkpoint_bytes"] == 0'
	bloomery template ./f ./t; info ./t | holds 'j["keys"] == 0 and j["checkpoint_bytes"] > 0'
}

a_d_left_filter_doubles_without_its_keys() {
	bloomery create ./f -n 1000 -p 0.001 --kind d-left --with spare=1
	seq 1000 | bloomery add ./f
	bloomery grow ./f
	seq 1001 2000 | bloomery add ./f
	same "$(seq 2000 | bloomery test -c ./f)" 2000
	info ./f | holds 'j["capacity"] == 2000 and j["rate"] == 0.001 and j["rate_at_capacity"] <= 0.001 and j["keys"] == 2000'
	exits 2 bloomery grow ./f; says 'above 0.001'
	bloomery grow --force ./f
	info ./f | holds 'j["capacity"] == 4000 and 0.001 < j["rate"] < 0.002'
	same "$(seq 2000 | bloomery test -c ./f)" 2000
	bloomery create ./g -n 10; exits 2 bloomery grow ./g; says 'these kinds can: d-left'
}

a_stable_filter_forgets_what_is_long_ago() {
	bloomery create ./f -n 1000 -p 0.01 --kind stable
	seq 100000 | bloomery add ./f
	[ "$(seq 99001 100000 | bloomery test -c ./f)" -ge 980 ]
	[ "$(seq 50000 | bloomery test -c ./f)" -le 700 ]
	info ./f | holds '0.7 < j["facts"]["zero cells"] < 0.85'
}

# The first of the words of its kind, at 4672 in the file, counts them: each makes others fade, and is remembered anew.
a_claim_of_a_known_key_ages_stable_filters() {
	bloomery create ./f -n 1000 -p 0.01 --kind stable
	for _ in $(seq 1000); do seq 1000; done | bloomery claim ./f > /dev/null
	same "$(od -An -tu8 -j 4672 -N 8 ./f | tr -d " ")" 1000000
}

prove_all
