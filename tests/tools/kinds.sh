#!/bin/bash
# kinds.sh - every kind with every command: what it can is done, what it cannot is refused with the names of those that can
. "${0%/*}/tap.sh"

# "KIND VERB" a line, asked for once.
abilities=$("$BLOOMERY" kinds --json | json '"\n".join(x["name"] + " " + v for x in all for v in x["can"])')
becomings=$("$BLOOMERY" kinds --json | json '"\n".join(x["name"] + " " + x["becomes"] for x in all if x["becomes"])')

kinds=()
declare -A abilities_of=() kinds_that=()
while read -r kind verb; do
	[ "${abilities_of[$kind]:-}" ] || kinds+=("$kind")
	abilities_of[$kind]+=" $verb "
	kinds_that[$verb]+="${kinds_that[$verb]:+, }$kind"
done <<< "$abilities"

can() { [[ ${abilities_of[$1]} == *" $2 "* ]]; }

# A filter of each kind with some keys in it, as far as it accepts any. They are made once.
fill_all()
{
	[ -d "$top/filled" ] || (mkdir "$top/filled"; cd "$top/filled"; make_all)
	cp -a "$top"/filled/* .
}

make_all()
{
	for kind in "${kinds[@]}"; do
		if not can "$kind" add && not can "$kind" put; then
			if can "$kind" get; then seq 100 | sed 's/$/\t1/'; else seq 100; fi | bloomery build "./$kind" --kind "$kind"
			bloomery copy "./$kind" "./$kind.twin"
			continue
		fi
		bloomery create "./$kind" -n 1000 --kind "$kind"
		if can "$kind" put; then
			seq 100 | sed 's/$/\t1/' | bloomery put "./$kind"
		elif can "$kind" add; then
			seq 100 | bloomery add "./$kind"
		fi
		bloomery template "./$kind" "./$kind.twin"
	done
}

# Do VERB with a filter of KIND, like a person would.
try()
{
	case $1 in
	add|claim|remove|get|test) bloomery "$1" "./$2" <<< 5 ;;
	put) bloomery put "./$2" <<< $'5\t1' ;;
	union|intersect) bloomery "$1" "./$2" "./$2.twin" -o "./$2.$1" ;;
	compare) bloomery compare "./$2" "./$2.twin" ;;
	esac
}

an_unsupported_operation_names_the_kinds_that_support_it() {
	fill_all
	for kind in "${kinds[@]}"; do
		for verb in test add claim remove put get union intersect compare; do
			code=0; try $verb "$kind" > out 2> err || code=$?
			if can "$kind" $verb; then
				[ $code -le 1 ] || { echo "$kind $verb: $code"; cat err; return 1; }
			else
				same "$kind $verb: $code" "$kind $verb: 2"
				mapfile lines < err
				same "$kind $verb: ${#lines[@]}" "$kind $verb: 1"
				[[ ${lines[0]} == *"$kind filters cannot"* ]] || { cat err; return 1; }
				[[ ${lines[0]} == *"these kinds can: ${kinds_that[$verb]:-none}"* ]] || { cat err; return 1; }
				[ ! -s out ]
			fi
		done
	done
}

refused_operations_change_nothing() {
	fill_all
	for kind in "${kinds[@]}"; do
		bloomery export "./$kind" -o before --force
		for verb in add claim remove put; do
			can "$kind" $verb || try $verb "$kind" > out 2> err || true
		done
		bloomery export "./$kind" -o after --force
		cmp -i 20480 before after
	done
}

what_becomes_another_kind_does_and_the_rest_is_refused() {
	fill_all
	for kind in "${kinds[@]}"; do
		becomes=$(sed -n "s/^$kind //p" <<< "$becomings")
		if [ -z "$becomes" ]; then
			exits 2 bloomery convert "./$kind" ./new
			exits 2 bloomery convert "./$kind" ./new --kind classic
			exits 2 bloomery convert "./$kind" ./new; says 'counting becomes classic'
			[ ! -e new ]
		else
			bloomery convert "./$kind" "./$kind.new" --kind "$becomes"
			same "$(seq 100 | bloomery test -c "./$kind.new")" 100
			bloomery info --json "./$kind.new" "./$kind" | holds '(lambda a, b: min(a[x] == b[x] for x in ("m", "k", "seeds")))(*all)'
			bloomery info "./$kind.new" | grep -q "kind  *$becomes"
		fi
	done
}

kinds_json_tells_all_there_is() {
	bloomery kinds --json | holds 'min({"name", "summary", "id", "hash", "options", "becomes", "caveat", "can", "forgets"} <= set(x) for x in all)'
	bloomery kinds --json | holds 'len({x["id"] for x in all}) == len(all)'
	same "$(bloomery kinds --json | json 'sorted(o["name"] for x in all for o in x["options"] if x["name"] == "approximator")')" "['bits', 'lattice']"
	bloomery kinds --json | json '"\n".join(x["name"] + " " + o["name"] + "=" + str(o["usual"]) for x in all for o in x["options"])' > usual
	while read -r kind option; do
		[ -z "$kind" ] || bloomery plan -n 1000 --kind "$kind" --with "$option" > /dev/null
	done < usual
}

a_counting_filter_counts() {
	bloomery create ./f -n 100k --kind counting
	printf 'a\nb\nb\nc\n' | bloomery add ./f
	same "$(printf 'a\nb\nx\n' | bloomery get ./f)" "$(printf 'a\t1\nb\t2')"
	printf 'a\nb\n' | bloomery remove ./f
	same "$(printf 'a\nb\nc\n' | bloomery test ./f)" "$(printf 'b\nc')"
	echo a > a
	exits 1 bloomery remove ./f a
	same "$(cat exits.out)" a
	bloomery info ./f | grep -q 'saturated *0 of'
	bloomery info --json ./f | holds 'j["facts"]["saturated"] == 0 and j["facts"]["highest"] == 1 and j["keys"] == 2'
}

an_approximator_keeps_the_largest_the_smallest_or_all() {
	for lattice in max min or; do
		bloomery create ./$lattice -n 1000 --kind approximator --with bits=16,lattice=$lattice
		printf 'bratwurst\t12\nwine\t7\nbratwurst\t10\n' | bloomery put ./$lattice
	done
	same "$(echo bratwurst | bloomery get ./max)" "$(printf 'bratwurst\t12')"
	same "$(echo bratwurst | bloomery get ./min)" "$(printf 'bratwurst\t10')"
	same "$(echo bratwurst | bloomery get ./or)" "$(printf 'bratwurst\t14')"
	echo beer > beer
	exits 1 bloomery get ./max beer
	[ ! -s exits.out ]
	printf 'x\t0\n' | exits 2 bloomery put ./max
	printf 'x\t65536\n' | exits 2 bloomery put ./max
	exits 64 bloomery create ./g -n 10 --kind approximator --with lattice=most
	exits 64 bloomery create ./g -n 10 --kind approximator --with bits=65
}

a_rebuild_reads_values_where_keys_have_them() {
	{ printf 'bratwurst\t12\nwine\t7\n'; seq 200 | sed 's/$/\t1/'; } > prices
	bloomery create ./f -n 100 --kind approximator
	bloomery rebuild ./f --from prices -n 202
	same "$(printf 'bratwurst\nwine\n200\n' | bloomery get ./f)" "$(printf 'bratwurst\t12\nwine\t7\n200\t1')"
	bloomery info ./f --json | holds 'j["capacity"] == 202 and j["kind"] == "approximator"'
	printf '3,wine\n' > other
	bloomery rebuild ./f --from other --delimiter , --field 2 --value-field 1
	same "$(echo wine | bloomery get ./f)" "$(printf 'wine\t3')"
	printf 'wine\t9\nbeer\n' > short
	exits 2 bloomery rebuild ./f --from short; says 'line 2 has too few columns'
	printf 'wine\t9\nbeer\t256\n' > large
	exits 2 bloomery rebuild ./f --from large; says 'line 2: the value 256'
	same "$(echo wine | bloomery get ./f)" "$(printf 'wine\t3')"
	bloomery create ./levels -n 1000 --kind attenuated	# takes keys without values, too: they are here, at level 0
	bloomery rebuild ./levels --from prices --field 1
	same "$(echo wine | bloomery get ./levels)" "$(printf 'wine\t0')"
	printf 'wine\t2\n' > far
	bloomery rebuild ./levels --from far --value-field 2
	same "$(echo wine | bloomery get ./levels)" "$(printf 'wine\t2')"
	bloomery create ./b -n 100
	exits 2 bloomery rebuild ./b --from far --value-field 2; says 'these kinds can: approximator, attenuated'
}

# What the cells alone promise is made, and not a key more.
a_capacity_beyond_the_cells_names_the_possible_one() {
	local kind cells most
	while read -r kind cells; do
		bloomery create ./least -m "$cells" --kind "$kind"
		most=$(bloomery info ./least --json | json 'j["capacity"]')
		bloomery create ./same -m "$cells" -n "$most" --kind "$kind"
		exits 64 bloomery create ./f -m "$cells" -n 1000000 --kind "$kind"; says "$most keys"; says "not 1000000"
		[ ! -e f ]
		rm least same
	done <<< "cuckoo 1000
cuckoo 4
d-left 1024
redis-cuckoo 1024
iblt 4096
iblt 8"
}

# A filter that is made for some keys is made again by the sizes that it came to.
the_sizes_of_a_filter_hold_its_capacity() {
	local kind n cells numbers=(1 2 3 10 37 100 955 1000 12345)
	for kind in cuckoo d-left redis-cuckoo iblt; do
		for n in "${numbers[@]}"; do bloomery create "./$n" -n "$n" --kind "$kind" --force; done
		bloomery info "${numbers[@]/#/./}" --json | json '"\n".join(str(x["capacity"]) + " " + str(x["m"]) for x in all)' > sizes
		same "$(cut -d ' ' -f 1 sizes | tr '\n' ' ')" "${numbers[*]} "
		while read -r n cells; do
			bloomery create ./g -m "$cells" -n "$n" --kind "$kind" --force
		done < sizes
	done
}

a_cuckoo_filter_has_whole_places() {
	exits 64 bloomery create ./f -m 1 --kind cuckoo; says 'at least 2 cells, not 1'
	exits 64 bloomery create ./f -m 1001 --kind cuckoo --with layout=buckets; says 'a multiple of 4 cells, not 1001'
	bloomery create ./f -m 1001 --kind cuckoo
	bloomery create ./g -m 1000 --kind cuckoo --with layout=buckets
	seq 900 | bloomery add ./f; seq 900 | bloomery add ./g
	same "$(seq 900 | bloomery test -c ./f)" 900; same "$(seq 900 | bloomery test -c ./g)" 900
	seq 900 > keys; bloomery rebuild ./g --from keys
	[[ $(bloomery info ./f) == *'k 2; layout=windows'* ]]; [[ $(bloomery info ./g) == *'k 2; layout=buckets'* ]]
}

an_unreachable_rate_is_reported_with_a_reachable_one() {
	exits 64 bloomery create ./f -n 100t -p 1e-9 --kind blocked; not grep -q classic exits.err
	exits 64 bloomery create ./f -n 3t -p 1e-9 --kind blocked; says 'the kind classic can'
	bloomery plan -n 3t -p 1e-9 --kind classic
	exits 64 bloomery create ./f -n 100 -p 1e-10 --kind cuckoo
	not same "$(sed -E 's/.*for a rate of ([^;]*); (.*) takes more.*/\1/' exits.err)" 1e-10
}

a_key_that_cannot_be_removed_is_printed() {
	bloomery create ./f -n 100 --kind counting
	for i in {1..20}; do echo a; done | bloomery add ./f
	for i in {1..20}; do echo a; done > again
	exits 1 bloomery remove ./f again; grep -qx a exits.out
	same "$(echo a | bloomery test ./f)" a
	bloomery help remove | grep -q 'not in the filter or cannot be'
}

no_filter_is_made_that_cannot_be_claimed_in() {
	echo x > x
	exits 64 bloomery claim f --create -n 10 --kind approximator x; says 'cannot tell who was first'
	exits 64 bloomery claim f --create -n 10 --kind nosuch x; says 'no kind'
	same "$(bloomery ls)" ''
}

an_invalid_value_is_named_after_earlier_puts() {
	bloomery create ./f -n 1000 --kind approximator
	{ seq 5000 | sed 's/$/\t7/'; printf 'x\t300\ny\t1\n'; } > many
	printf 'a\t1\n' > one
	exits 2 bloomery put ./f one many; says 'many: line 5001: the value 300 is not 1 to 255'
	same "$(seq 5000 | bloomery test -c ./f)" 5000
}

info_reports_every_kinds_rate_and_parts() {
	fill_all
	bloomery info "${kinds[@]/#/./}" --json > all; same "$(wc -l < all)" ${#kinds[@]}
	holds 'min(0 <= x["predicted_rate"] < 0.0101 for x in all)' < all
	for kind in "${kinds[@]}"; do
		bloomery info ./"$kind" | grep -q '^  rate now \|^  false-positive rate \|^  capacity .* predicted$\|^  capacity .* differ by; .* at a rate of [0-9.e-]*$'
	done
	seq 2000 | bloomery add ./scalable
	bloomery info ./scalable | grep -q '^  stage 2 .* for 2000 keys at a rate of 0.0025'
	bloomery rotate ./window
	seq 200 300 | bloomery add ./window
	bloomery info ./window | grep -q '^  slot 0 .* about [0-9]* keys, the newest$'
	bloomery info ./window --json | holds 'sum(k.startswith("slot ") for k in j["facts"]) == 9'
	bloomery info ./window --json | holds 'abs(j["facts"]["slot 0"] - 101) < 12 and abs(j["facts"]["slot 1"] - 100) < 12 and j["facts"]["slot 2"] == 0'
	printf 'x\t2\n' | bloomery put ./attenuated
	bloomery info ./attenuated --json | holds 'abs(j["facts"]["level 2"] - 1) < 0.1'
	for kind in counting approximator cuckoo stable removable window; do
		bloomery info ./$kind | grep -q '^  caveat '
	done
	bloomery info ./cuckoo --json | holds 'abs(j["facts"]["load"] - 100 / j["m"]) < 1e-9'
}

the_figures_of_the_literature_are_on_paper() {
	bloomery plan -n 1m -m 14426950 -k 10 --kind counting | grep -q 'more than 15 with probability 7.07e-17'
	bloomery plan -n 1m -m 14426950 -k 10 --kind counting --with bits=3 | grep -q 'more than 7 with probability 7.15e-07'
	for k in '2 0.989' '4 0.9973' '6 0.9984'; do
		bloomery plan -n 200k -m 2m -k "${k% *}" --kind approximator --json | holds "abs(j['facts']['exact'] - ${k#* }) < 0.0006"
	done
	bloomery plan -n 1m -p 0.00147 --kind d-left --json | holds 'abs(j["bits_per_key"] - 21.33) < 0.01 and j["predicted_rate"] < 0.00147'
	bloomery plan -n 1m -p 0.00147 --json --kind counting | holds 'j["bits_per_key"] / 21.33 > 2.5'
	bloomery plan -n 1m -p 0.0019 --kind cuckoo --json | holds 'j["bits_per_key"] < 11.81 and j["predicted_rate"] < 0.0019'
	bloomery plan -n 1m -p 0.0019 --kind cuckoo --with layout=buckets --json | holds 'j["bits_per_key"] < 12.7 and j["predicted_rate"] < 0.0019'
	bloomery plan -n 1m -p 0.01 --kind stable | grep -q 'stable rate: 0.0097'
	bloomery plan --kind bitmap -m 65536 --json | holds 'j["data_bytes"] == 8192 and j["capacity"] == 65536'
}

measured_rates_are_those_of_the_formulas() {
	exits 2 bloomery measure --kind bitmap -n 20k
	grep -q 'never wrong' exits.err
	many=500k enough=20k
	[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || many=200k enough=8k
	[ -z "${SANITIZED:-}" ] || many=20k enough=2k	# sanitizers are for each path once
	for kind in "${kinds[@]}"; do
		[ "$kind" != bitmap ] || continue
		keys=$many
		[[ $kind != @(iblt|stable) ]] || keys=${many/?00k/100k}	# slow ones, whose rates differ less from one filter to the next
		# enough keys, because with 20 thousand one filter's rate differs from the next one's, by 3 % for split-block and 4 % for
		# hash-compact
		bloomery measure --kind "$kind" -n $keys -p 0.01 --enough $enough --json > j
		holds 'j["found"] > 1000 and j["rate"] - j["formula"] <= 5 * j["rate_error"] + 0.05 * j["formula"]' < j
		# the formula is for all slots, or levels, full
		can "$kind" rotate || can "$kind" advance || holds 'j["formula"] - j["rate"] <= 5 * j["rate_error"] + 0.05 * j["formula"]' < j
		if can "$kind" compare; then
			holds 'abs(j["rate"] - j["predicted_rate"]) <= 5 * j["rate_error"]' < j
		fi
	done
	bloomery create ./f -n 1000 -p 0.01; seq 1000 | bloomery add ./f
	bloomery measure ./f --questions 1m --json | holds '0.005 < j["rate"] < 0.015 and j["asked"] <= 1000000 and 900 < j["keys"] <= 1000'
	bloomery measure ./f | grep -q '^measured .* ± '
	bloomery create ./empty -n 1000; bloomery measure ./empty --questions 10k | grep -q 'at most 0.0003'
	exits 64 bloomery measure ./f -n 100
	exits 64 bloomery measure
	exits 2 bloomery measure ./nosuch
}

prove_all
