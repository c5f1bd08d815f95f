#!/bin/bash
# info.sh - info, ls, kinds, hashes, formats
. "${0%/*}/tap.sh"

info_has_every_field_it_promises() {
	bloomery create f -n 1000 -p 0.01; seq 1000 | bloomery add f
	bloomery info f --json > j
	for field in name path kind hash m k seeds tweak capacity rate keys fill predicted_rate estimate template bytes data_bytes \
		uuid created version dirty sealed can keys_estimated key_id; do
		holds "'$field' in j" < j
	done
	holds 'j["name"] == "f" and j["path"].endswith("/filters/" + j["uuid"] + ".blm") and j["kind"] == "blocked" and j["hash"] == "xxh3-64"' < j
	holds 'j["capacity"] == 1000 and j["rate"] == 0.01 and 970 <= j["keys"] <= 1000' < j
	holds 'abs(j["estimate"] - 1000) < 5 * j["estimate_error"] + 1' < j
	holds '0 < j["fill"] < 0.6 and 0 < j["predicted_rate"] < 0.02' < j
	holds 'len(j["template"]) == 32 and "claim" in j["can"] and j["version"] == 1' < j
}

info_marks_a_copy_that_keeps_its_keys() {
	local options
	for kind in cuckoo redis-cuckoo iblt; do
		options=(); [ $kind != iblt ] || options=(--with key-bytes=8)
		bloomery create ./$kind -n 1000 --kind $kind "${options[@]}"
		bloomery info ./$kind --json | holds '"remove" in j["can"]'
		printf '\001' | dd of=./$kind bs=1 seek=$((4096 + 576 + 6 * 64)) conv=notrunc status=none	# it was copied while others changed it
		bloomery info ./$kind --json | holds '"remove" not in j["can"] and "add" in j["can"] and "byte by byte" in j["caution"]'
		bloomery info ./$kind | grep -q '^  caution *a copy that was made byte by byte'
	done
}

info_says_what_was_given_exactly() {
	bloomery create ./f -m 12345 -k 7 --seed 18446744073709551615 --mode 0600
	bloomery info ./f --json > j
	holds 'j["path"] == "./f" and j["name"] is None' < j
	holds 'j["m"] == 12345 and j["k"] == 7 and j["seeds"] == ["18446744073709551615"] and j["kind"] == "classic"' < j
	same "$(stat -c %a f)" 600
	bloomery create ./b --hash murmur3-bip37 -m 56 -k 10 --tweak 123456
	holds 'j["tweak"] == "123456" and j["hash"] == "murmur3-bip37"' < <(bloomery info ./b --json)
	bloomery create ./s --hash mm3-64 -n 100 -p 0.1 --seed 1 --seed 2 --seed 3
	holds 'j["seeds"] == ["1", "2", "3"] and j["k"] == 3 and j["hash"] == "mm3_64"' < <(bloomery info ./s --json)
	bloomery info ./s | grep -q 'mm3_64, seeds 1, 2, 3'
	bloomery create ./r --hash md5 -m 1000 -k 9
	holds 'len(set(j["seeds"])) == 9 and max(map(int, j["seeds"])) < 2**32' < <(bloomery info ./r --json)
}

a_seed_from_json_survives_a_reader_with_doubles() {
	local seed

	bloomery create ./first --seed 18446744073709551557 -m 1000 -k 3
	seed=$(bloomery info ./first --json |
		python3 -c 'import json, sys; print(json.load(sys.stdin, parse_int=float)["seeds"][0])')
	bloomery create ./second --seed "$seed" -m 1000 -k 3
	bloomery info --json ./first ./second | holds 'all[0]["template"] == all[1]["template"]'
}

a_saturated_filters_estimated_keys_are_a_lower_bound() {
	bloomery create a -m 64 -k 3 --hash mm3_64 --seed 1 --seed 2 --seed 3; seq 1000 | bloomery add a
	bloomery copy a b; bloomery union a b -o f
	bloomery info f > text; grep -q '^  keys *at least [0-9]*: saturated, so the number is a lower bound' text
	bloomery info f --json | holds 'j["saturated"] and j["keys_estimated"] and j["estimate"] == "saturated"'
	bloomery info a > text; grep -q '^  keys *[0-9]*; beyond its capacity' text
	bloomery template a e; bloomery info e --json | holds 'not j["saturated"]'
}

a_full_filter_is_saturated_and_says_yes() {
	bloomery create f -m 64 -k 4; seq 1000 | bloomery add -q f
	holds 'j["estimate"] == "saturated" and j["fill"] == 1 and j["predicted_rate"] == 1' < <(bloomery info f --json)
	bloomery info f > text; grep -q saturated text; grep -q 'beyond its capacity' text
	echo never-added | bloomery test -s f
	bloomery compare f f > text; grep -q saturated text
	bloomery compare f f --json | holds 'j["saturated"]'
}

names_that_are_not_utf_8_give_valid_json() {
	path=./$(printf 'a\377\302b"\\\001')
	bloomery create "$path" -n 10
	holds 'j["path"] == "./a\ufffd\ufffdb\"\\\x01"' < <(bloomery info "$path" --json)
	bloomery info "$path" > text; not grep -q "$(printf '\001')" text
}

info_of_several_prints_an_object_each() {
	bloomery create a -n 10; bloomery create b -n 10
	same "$(bloomery info a b --json | json '[x["name"] for x in all]')" "['a', 'b']"
	same "$(bloomery info a b | grep -c '  kind')" 2
	bloomery info a --full > /dev/null
}

ls_lists_by_pattern_without_opening_a_file() {
	for n in crawl-1 crawl-2 other; do bloomery create $n -n 10; done
	same "$(bloomery ls | tr '\n' ' ')" 'crawl-1 crawl-2 other '
	same "$(bloomery ls 'crawl-*' | tr '\n' ' ')" 'crawl-1 crawl-2 '
	exits 1 bloomery ls 'x*'
	same "$(bloomery ls --json | json '[x["name"] for x in all]')" "['crawl-1', 'crawl-2', 'other']"
	same "$(bloomery ls -l | wc -l)" 4
	rm -rf store/filters/*
	same "$(bloomery ls | wc -l)" 3
}

# Golden text: the same store in three windows and in none.
ls_fits_the_window() {
	no_terminal && return
	seq 900 | bloomery claim crawl --create -n 1000 -p 0.001 > claimed
	bloomery create "$(printf 'n%.0s' {1..90})" -n 1234567 --kind classic -p 0.01
	bloomery create 目录目录目录目录目录目录目录目录目录目录目录目录目录目录目录 -n 10 --kind counting
	python3 -S "${0%/*}/on_terminal.py" --columns 80,100,120,200 "$BLOOMERY" ls -l
	for width in 80 100 120 200; do
		python3 -c '
import sys, unicodedata
for line in open(sys.argv[1], encoding="utf-8"):
    width = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line.rstrip("\n"))
    assert width <= int(sys.argv[1]), line' $width
		same "$(wc -l < $width)" 4
	done
	keys=$(bloomery info crawl --json | json 'j["keys"]') full=$(bloomery info crawl --json | json '"%.0f%%" % (j["keys"] / 10)')
	same "$(sed -n 1p 80)" 'kind                  keys    full     rate       size  name'
	same "$(grep ' crawl$' 80)" "blocked                $keys     $full    0.001   22.1 KiB  crawl"
	same "$(sed -n 1p 100)" 'kind                  keys         capacity  full     rate       size  name'
	grep -q ' 1,234,567 ' 100; grep -q 'nnn[.][.][.]$' 80; not grep -q '[.][.][.]$' 200
	grep -q '#####' 120; not grep -q '#####' 100; grep -q created 200; not grep -q created 120
	bloomery ls -l > none
	same "$(awk '$NF == "crawl" { print $2, $3, $4, $5 }' none)" "$keys 1000 $full 0.001"
	grep -q ' 1234567 ' none; not grep -q '[.][.][.]$' none
}

ls_without_a_store_says_how_to_make_one() {
	exits 2 bloomery ls; says 'bloomery create'
	[ ! -e store ]
	exits 2 bloomery ls --store /nonexistent/store
}

the_store_is_found_by_option_environment_and_home() {
	bloomery create a --store ./given -n 10; [ -d given ]
	bloomery create b -n 10; [ -d store ]
	(unset BLOOMERY_STORE; XDG_DATA_HOME=$PWD/data bloomery create c -n 10); [ -d data/bloomery ]
	(unset BLOOMERY_STORE; bloomery create d -n 10); [ -d .local/share/bloomery ]
	(unset BLOOMERY_STORE HOME; exits 2 bloomery ls; says HOME)
	same "$(bloomery ls --store ./given)" a
}

# Of some a filter can be made, of some only if all its keys are there.
formats_lists_whether_create_and_build_support_it() {
	bloomery formats --json | python3 -c 'import json, sys
for f in map(json.loads, sys.stdin): print(f["name"], f["create"], f["build"])' > made
	while read -r format create build; do
		if bloomery create --format "$format" -n 100 ./f 2> why; then same "$create" True; rm f; else same "$create" False; fi
		if seq 10 | bloomery build --format "$format" -n 100 ./f 2> why; then same "$build" True; rm f; else same "$build" False; fi
	done < made
	grep -q '^bip158 False True$' made
}

what_there_is_is_listed() {
	bloomery kinds > text; grep -q '^blocked' text; grep -q '^classic' text
	bloomery kinds --json | holds '{"classic", "blocked"} <= {x["name"] for x in all} and "union" in j["can"]'
	bloomery hashes --json | holds '{"xxh3", "siphash", "murmur3-bip37"} <= {x["name"] for x in all}'
	bloomery schemes --json | holds '{"double", "enhanced", "triple", "salted", "slices"} <= {x["name"] for x in all}'
	bloomery formats --json | holds '{"bloomery", "guava", "bip37"} <= {x["name"] for x in all if x["read"] and x["write"]}'
	bloomery hashes --json | holds '{"djb", "mm3_64"} <= {x["name"] for x in all if x["seeds_by_probe"]}'
	bloomery hashes | grep -q keyed
	bloomery formats --json | holds 'j["name"] == "bloomery" and j["read"] and j["write"] and j["text"] == "base64(zstd(file))"'
	bloomery formats | grep -q bloomery
	bloomery --version | grep -q '^bloomery [0-9]'
}

prove_all
