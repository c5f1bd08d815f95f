#!/bin/bash
# sets.sh - template, copy, union, intersect, compare
. "${0%/*}/tap.sh"

two() {
	bloomery create a -n 10k -p 0.001 "$@"; bloomery template a b
	seq 6000 | bloomery add a; seq 4001 10000 | bloomery add b
}

a_template_is_empty_and_combines() {
	two; bloomery template a t --mode 0640
	seq 100 | exits 1 bloomery test t
	bloomery info a t --json | holds 'all[0]["template"] == all[1]["template"] and all[0]["uuid"] != all[1]["uuid"]'
	bloomery template a ./t --mode 0600; same "$(stat -c %a t)" 600
	exits 2 bloomery template a t; says t
}

a_copy_is_full_and_its_own() {
	two; bloomery copy a ./c
	same "$(seq 6000 | bloomery test -c ./c)" 6000
	echo more | bloomery add ./c; echo more | exits 1 bloomery test a
}

a_union_holds_what_either_holds() {
	two; bloomery union a b -o u 2> err
	grep -q 'predicted false-positive rate' err
	same "$(seq 10000 | bloomery test -c u)" 10000
	bloomery template a all; seq 10000 | bloomery add all
	holds 'j["tanimoto"] == 1' < <(bloomery compare u all --json)
	bloomery info u --json | holds 'j["keys_estimated"] and abs(j["keys"] - 10000) < 200'
	exits 2 bloomery union a b -o u
}

an_intersection_holds_what_both_hold() {
	two; bloomery intersect a b -o ./i -q 2> err; same "$(wc -c < err)" 0
	same "$(seq 4001 6000 | bloomery test -c ./i)" 2000
	[ "$(seq 1 4000 | bloomery test -c ./i || true)" -lt 100 ]
}

many_filters_combine_at_once() {
	bloomery create f1 -n 10k; for i in 2 3 4 5; do bloomery template f1 f$i; done
	for i in 1 2 3 4 5; do seq ${i}000 ${i}999 | bloomery add f$i; done
	bloomery union f1 f2 f3 f4 f5 -o all --json | holds 'j["result"] == "all" and 0 < j["predicted_rate"] < 0.01'
	same "$(seq 1000 5999 | bloomery test -c all)" 5000
}

in_place_changes_the_first() {
	two; bloomery union a b --in-place 2> /dev/null
	same "$(seq 10000 | bloomery test -c a)" 10000
	seq 4001 10000 | bloomery test -c b > c; same "$(cat c)" 6000
	bloomery intersect a b --in-place 2> /dev/null
	same "$(seq 4001 10000 | bloomery test -c a)" 6000
	[ "$(seq 1 4000 | bloomery test -c a || true)" -lt 100 ]
}

a_result_that_is_too_wrong_is_refused() {
	two; exits 2 bloomery union a b -o u --max-fpr 1e-9; exits 2 bloomery info u
	exits 2 bloomery union a b --in-place --max-fpr 1e-9
	[ "$(seq 6001 10000 | bloomery test -c a || true)" -lt 100 ]
	bloomery union a b -o u --max-fpr 0.01 -q
}

a_folded_filter_is_the_one_made_small() {
	for kind in split-block blocked; do
		bloomery create ./$kind --kind $kind -m 122880 -k $([ $kind = blocked ] && echo 6 || echo 8) $([ $kind = blocked ] && echo --seed 5)
		seq 3000 | bloomery add ./$kind
		for n in 2 3 4 5 8; do
			bloomery fold ./$kind --factor $n -o ./$kind.$n
			bloomery create ./$kind.small.$n --kind $kind -m $((122880 / n)) -k $([ $kind = blocked ] && echo 6 || echo 8) \
				$([ $kind = blocked ] && echo --seed 5)
			seq 3000 | bloomery add ./$kind.small.$n -q
			holds 'j["tanimoto"] == 1' < <(bloomery compare ./$kind.$n ./$kind.small.$n --json)
			same "$(seq 3000 | bloomery test -c ./$kind.$n)" 3000
			bloomery info ./$kind.$n --json | holds "j['m'] == 122880 // $n and j['keys'] == $(bloomery info ./$kind --json | json 'j["keys"]')"
		done
	done
}

what_cannot_be_folded_is_refused() {
	bloomery create c --kind classic -n 100; exits 2 bloomery fold c --by 2 -o x; says classic; says split-block
	bloomery create s --kind split-block -m 2560; exits 2 bloomery fold s --by 3 -o x; says 10
	exits 64 bloomery fold s --by 1 -o x; exits 64 bloomery fold s --by 2; exits 64 bloomery fold s -o x
	bloomery fold s --by 2 -o x; exits 2 bloomery fold s --by 2 -o x
}

filters_of_different_templates_are_refused_by_field() {
	bloomery create a -m 1000 -k 3 --seed 1; bloomery create m -m 1001 -k 3 --seed 1
	bloomery create k -m 1000 -k 4 --seed 1; bloomery create s -m 1000 -k 3 --seed 2
	exits 2 bloomery union a m -o x; says 1000; says 1001
	exits 2 bloomery union a k -o x; says 3; says 4
	exits 2 bloomery union a s -o x; says seed
	exits 2 bloomery compare a m; says 1001
	bloomery create l -n 100 --kind approximator --with lattice=min --seed 1; bloomery create g -n 100 --kind approximator --with lattice=max --seed 1
	exits 2 bloomery union l g -o x; says 'lattice: min and max'
	exits 2 bloomery intersect a s --in-place; exits 2 bloomery info x
}

comparing_gives_sizes_with_errors() {
	two; bloomery compare a b --json > j
	holds 'abs(j["a"] - 6000) < 6 * j["a_error"] + 1 and abs(j["union"] - 10000) < 6 * j["union_error"] + 1' < j
	holds 'abs(j["intersection"] - 2000) < 6 * j["intersection_error"] + 1' < j
	holds 'abs(j["jaccard"] - 0.2) < 0.03 and 0 < j["tanimoto"] < 1 and not j["saturated"]' < j
	holds 'abs(j["difference"] - 8000) < 6 * j["difference_error"] + 1' < j
	bloomery compare a b | grep -q '^Jaccard'
	bloomery create d --kind d-left -n 100; bloomery template d d2
	exits 2 bloomery compare d d2; says 'cannot tell how much two of them have in common; these kinds can: '
	bloomery template a e; bloomery template a e2
	bloomery compare e e2 --json | holds 'j["union"] == 0'
}

counters_tell_best_how_many_keys_differ() {
	bloomery create ./a -n 100k -m 1m -k 4 --kind counting; bloomery template ./a ./b
	seq 1 100000 | bloomery add ./a -q; seq 50001 150000 | bloomery add ./b -q
	bloomery compare ./a ./b --json | holds 'abs(j["difference"] - 100000) < 1000 and j["difference_error"] < 200'
	bloomery compare ./a ./b | grep -q '^in one alone'
}

all_that_filters_differ_in_is_named() {
	bloomery create ./a --kind classic -m 1000 -k 3; bloomery create ./b --kind classic -m 2000 -k 4
	bloomery create ./c --kind classic -n 1g --sparse; bloomery create ./d --kind split-block -n 9g --hash siphash --sparse
	exits 2 bloomery union ./a ./b -o ./new; says './a and ./b differ in m: 1000 and 2000, k: 3 and 4, seed; `bloomery template` makes filters that combine'
	exits 2 bloomery intersect ./c ./d -o ./new; says 'kind: classic and split-block'; says 'hash: xxh3 and siphash'; says ' more; '
	[ "$(wc -c < exits.err)" -le 200 ]
}

a_name_in_use_suggests_force_where_possible() {
	local taken='exists already; choose another name, or delete it first' command
	bloomery create ./a -n 100; bloomery bank ./bank ./a
	for command in 'create ./a -n 5' 'build ./a --key x' 'build ./a --key x --kind golomb'; do
		# shellcheck disable=SC2086
		exits 2 bloomery $command; says "./a: $taken; --force replaces a filter"; bloomery $command --force
	done
	exits 2 bloomery bank ./bank ./a; says "./bank: $taken; --force replaces a bank"
	exits 2 bloomery copy ./bank ./a; not says '--force'
	ln -s nothing link
	exits 2 bloomery claim ./link --create -n 5 --key x; says './link: exists, but is no filter that can be opened'; not says '--force'
}

prove_all
