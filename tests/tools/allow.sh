#!/bin/bash
# allow.sh - a blacklist's false alarms, listed once, are not repeated, and what is on the blacklist is always caught
. "${0%/*}/tap.sh"

# 2000 domains on a blacklist, a log of 20000 others, and those of them that are taken for bad ones.
make_blacklist()
{
	seq 2000 | sed 's/.*/spam&.example/' > bad
	seq 20000 | sed 's/.*/good&.example/' > good
	bloomery create black -n 2000 -p 0.05 --seed 7; bloomery add black bad
	bloomery test black good > wrong
	[ "$(wc -l < wrong)" -gt 500 ]
}

no_false_alarm_repeats_and_bad_keys_are_caught() {
	make_blacklist
	same "$(bloomery allow add black -c wrong)" "$(wc -l < wrong)"
	exits 1 bloomery test black good
	bloomery test black -v good | cmp - good
	cat good bad | bloomery test black | cmp - bad
	cat bad good | bloomery test black -j 4 | cmp - bad
	bloomery allow list black | sort | cmp - <(sort wrong)
	same "$(bloomery allow list black -c)" "$(wc -l < wrong)"
	bloomery verify
}

keys_that_the_filter_denies_are_not_listed() {
	make_blacklist
	same "$(bloomery allow add black -c good)" "$(wc -l < wrong)"
	same "$(bloomery allow add black -c good)" 0
}

a_listed_key_that_is_added_is_caught() {
	make_blacklist
	bloomery allow add black wrong
	head -n 100 wrong > later
	same "$(bloomery add black --count later)" 100
	bloomery test black wrong | cmp - later
	sed -n '101,200p' wrong > claimed
	bloomery claim black wrong > new
	cmp new <(tail -n +101 wrong)			# all of the others were new, once
	exits 1 bloomery claim black wrong
	bloomery test black wrong | cmp - wrong
	same "$(bloomery allow list black -c)" 0
}

# As many of 1000 keys as the filter still has.
left_of()
{
	seq 1000 | bloomery test "$1" -c
}

listed_keys_are_not_removed() {
	local kind
	for kind in counting cuckoo d-left; do
		bloomery create "$kind" -n 1000 --kind "$kind" --seed 5; seq 1000 | bloomery add "$kind"
		seq 10000 300000 | bloomery test "$kind" | sed -n 1,5p > wrong
		bloomery allow add "$kind" wrong
		exits 1 bloomery remove "$kind" wrong; cmp exits.out wrong
		same "$(left_of "$kind")" 1000
		bloomery info "$kind" --json | holds 'j["keys"] == 1000'
		exits 1 bloomery test "$kind" wrong
	done
}

a_claimed_listed_key_can_be_removed_again() {
	local kind
	for kind in counting cuckoo d-left; do
		bloomery create "$kind" -n 1000 --kind "$kind" --seed 5; seq 1000 | bloomery add "$kind"
		seq 10000 300000 | bloomery test "$kind" | sed -n 1,5p > wrong
		bloomery allow add "$kind" wrong
		cat wrong wrong | bloomery claim "$kind" | cmp - wrong
		bloomery info "$kind" --json | holds 'j["keys"] == 1005'
		bloomery remove "$kind" wrong
		same "$(left_of "$kind")" 1000
	done
}

a_listed_key_that_is_claimed_stays_for_the_window() {
	bloomery create wn -n 1000 --kind window --with slots=4 --seed 5
	seq 250 | bloomery add wn; bloomery rotate wn
	seq 10000 300000 | bloomery test wn | sed -n 1,3p > wrong
	bloomery allow add wn wrong
	bloomery claim wn wrong | cmp - wrong
	for i in 1 2 3 4; do bloomery rotate wn; done
	bloomery test wn wrong | cmp - wrong
}

a_claim_that_asks_ahead_takes_listed_keys_for_new() {
	make_blacklist
	seq 300000 | sed 's/.*/old&.example/' > old
	bloomery create seen -n 320000 -p 0.05 --seed 7; bloomery add seen old
	bloomery test seen good > wrong; bloomery allow add seen wrong
	cat old old wrong | bloomery claim seen -j 4 > new
	cmp new wrong
	bloomery test seen wrong | cmp - wrong
}

keys_can_be_taken_off() {
	make_blacklist
	bloomery allow add black wrong
	same "$(head -n 30 wrong | bloomery allow remove black -c)" 30
	bloomery test black good | cmp - <(head -n 30 wrong)
}

an_allowlist_follows_its_name() {
	make_blacklist
	bloomery allow add black wrong
	bloomery mv black blacklist; exits 1 bloomery test blacklist good
	bloomery copy blacklist other; bloomery test other good | cmp - wrong
	bloomery rebuild blacklist --from bad -n 2000; bloomery test blacklist -c bad | grep -qx 2000
	exits 1 bloomery test blacklist wrong
	bloomery allow list blacklist | sort | cmp - <(sort wrong)
	head -n 50 wrong > later; cat bad later > more; bloomery rebuild blacklist --from more
	bloomery test blacklist wrong | cmp - later
	bloomery seal blacklist; bloomery test blacklist wrong | cmp - later
	bloomery build blacklist -p 0.05 --force wrong; bloomery test blacklist wrong | cmp - wrong
	bloomery allow add other wrong; bloomery drop other
	bloomery template blacklist other
	same "$(bloomery allow list other -c)" 0
	bloomery verify
}

a_union_ends_the_list() {
	make_blacklist
	bloomery template black more; bloomery add more wrong
	bloomery allow add black wrong; bloomery union black more --in-place
	bloomery test black wrong | cmp - wrong
}

a_list_needs_a_store_and_a_word() {
	bloomery create ./f -n 10; bloomery create f -n 10
	echo a | exits 2 bloomery allow add ./f; says store
	exits 64 bloomery allow f; exits 64 bloomery allow put f; says put
	exits 64 bloomery allow list f x; says x
	echo a | exits 2 bloomery allow add nosuch; says nosuch
	same "$(bloomery allow list f)" ''
}

prove_all
