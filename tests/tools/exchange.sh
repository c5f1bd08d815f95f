#!/bin/bash
# exchange.sh - import, export, other programs' files as they are, clear
. "${0%/*}/tap.sh"

# The tutorial of pybloomfiltermmap ends with this text of a filter that holds MIKE; its version 0.1.5 made it on 32 bits.
mike='eJwFwcuWgiAAANC9v+JCx7By0QKt0GHEbKSknflAQ9QmTyRfP/fW5E9XTRSXqcLlqGNXphAqcfVH
RoNv0n4JlTpIvAP0e1+RyXX6I637ggA+VPZnTYR1A4Um5s9geYaZZLiT208JIiG3iwhf3Fwlzb3Y
5NRL4uNQS6/d9OvTDJbnZMnRzcrplOX5kmsVIkQziM+vw4hCDQ3OkN9m3WVfPWzGfaTeRftMCLws
PnzEzsgjAW60xZTBbj/bOAgYbK50PqjdzvgHZ6FHZw=='

make_mike() {
	echo "$mike" | bloomery import - mike --base64
}

the_tutorial_texts_are_copied_to_the_letter() {
	local text=$TOOLS/../tests/exchange/legacy/seed-mike.b64

	echo "$mike" | cmp - "$text"
	same "$(sed -n "/<< 'TEXT'/,/^TEXT/p" "$TOOLS/quickstart" | sed '1d;$d')" "$mike"
	same "$(sed -n '/mike\[\] =/,/;/s/^\t"\(.*\)\\n".*/\1/p' "$TOOLS/examples/fruit.c")" "$mike"
}

the_tutorials_text_decodes_and_answers() {
	make_mike
	printf 'MIKE\nmike\napple\n' > keys
	same "$(bloomery test mike keys)" MIKE
	bloomery info mike --json > j
	holds 'j["hash"] == "djb" and j["m"] == 2411 and j["k"] == 17 and j["capacity"] == 100 and j["rate"] == 0.1' < j
	holds 'j["format"] == "bloomery" and j["origin"] == "pybloomfiltermmap" and j["keys"] == 1 and j["keys_estimated"]' < j
	bloomery info mike > text; grep -q 'imported from pybloomfiltermmap' text; grep -q 'at a rate of 0.1 stated' text
}

a_file_comes_back_as_it_was() {
	make_mike
	bloomery export mike -o a.bloom
	same "$(sha256sum < a.bloom)" 'cbbe155ca2c54e9b859a2b6f3ea5a017da9c63f6fddf17cd85a218d9f2f28a6b  -'
	bloomery import a.bloom again
	bloomery export again | cmp - a.bloom
	bloomery export mike --base64 > text
	same "$(wc -l < text)" 0
	bloomery import text third --base64; bloomery export third | cmp - a.bloom
	fold -w 60 text | sed 's/$/\r/' | bloomery import - fourth --base64; bloomery export fourth | cmp - a.bloom
	bloomery union mike again -o both; bloomery export both | cmp - a.bloom
	bloomery template mike empty; bloomery export empty -o empty.bloom
	cmp -n 1280 empty.bloom a.bloom
}

a_foreign_file_is_opened_as_it_is() {
	make_mike; bloomery export mike -o old.bloom; chmod 0444 old.bloom
	printf 'MIKE\nmike\n' > keys
	same "$(bloomery test ./old.bloom keys)" MIKE
	bloomery info ./old.bloom --json > j
	holds 'j["format"] == "pybloomfiltermmap" and j["keys"] is None and j["uuid"] is None and "add" not in j["can"]' < j
	bloomery info ./old.bloom > text; grep -q 'pybloomfiltermmap, opened as it is' text
	bloomery compare ./old.bloom mike --json | holds 'j["tanimoto"] == 1'
	bloomery copy ./old.bloom copied; same "$(bloomery test copied keys)" MIKE
	bloomery template ./old.bloom empty; exits 1 bloomery test empty keys
	bloomery export ./old.bloom | cmp - old.bloom
	bloomery export ./old.bloom --format bloomery -o ./new.blm; same "$(bloomery test ./new.blm keys)" MIKE
	chmod 0644 old.bloom		# or users without rights may not open it to change it
	exits 2 bloomery add ./old.bloom keys; says 'import it to change it'
	exits 2 bloomery clear ./old.bloom; says 'import it to change it'
	bloomery verify ./old.bloom
}

a_file_that_is_no_filter_is_identified() {
	local text='text, not a filter; `bloomery add` adds its keys to a filter'
	printf 'https://example.org/%s\n' {1..50} > urls; gzip -k urls; zstd -q urls; printf '%s\n' {1000..1050} > numbers
	printf 'apple\norange\npear\nquince\n' > words
	for file in urls numbers words; do exits 2 bloomery import $file f; says "$file: $text"; done
	exits 2 bloomery import urls.gz f; says "urls.gz: in gzip: $text"
	exits 2 bloomery import - f < urls.gz; says "in gzip: $text"
	exits 2 bloomery import urls.zst f; says 'urls.zst: packed with zstd; unpack it first with unzstd'
	gzip -c urls.gz > twice; exits 2 bloomery import twice f; says 'in gzip: packed with gzip; unpack it first with gunzip'
	printf '\3757zXZ\0\0' > x; exits 2 bloomery import x f; says 'packed with xz; unpack it first with unxz'
	printf '\4"M\30d@' > x; exits 2 bloomery import x f; says 'packed with lz4; unpack it first with unlz4'
	printf 'BZh91AY&SY' > x; exits 2 bloomery import x f; says 'packed with bzip2; unpack it first with bunzip2'
	printf 'PK\3\4\24\0' > x; exits 2 bloomery import x f; says 'a ZIP archive; take'
	printf '{"name": "x"}\n' > x; exits 2 bloomery import x f; says 'JSON of no known format; name the format (--format)'
	printf '\1\2\3' > x; exits 2 bloomery import x f; says 'of no known format; name the format (--format)'
	for format in dcso bloomery; do
		bloomery create g -n 100 $([ $format = bloomery ] || echo --format $format)
		bloomery export g --format $format --base64 -o text; exits 2 bloomery import text h; says 'it looks like base64: say so (--base64)'
		fold -w 76 text > folded; exits 2 bloomery import folded h; says 'it looks like base64'
		bloomery drop g
	done
}

a_file_that_leaves_its_hash_open_asks_for_it() {
	bloomery create f --hash mm3_64 -m 480 -n 100 -p 0.1 --seed 1 --seed 2 --seed 3
	printf 'apple\npear\n' | bloomery add f
	bloomery export f --format pybloomfiltermmap -o f.bloom
	same "$(stat -c %s f.bloom)" 1340
	exits 2 bloomery test ./f.bloom < /dev/null; says 'mm3_32 (0.3.12 to 0.3.14), mm3_64 (pybloomfiltermmap3)'; says --probe
	exits 2 bloomery info ./f.bloom; says --hash
	exits 2 bloomery import f.bloom g; says 'mm3_64 (pybloomfiltermmap3)'
	exits 2 bloomery info g
	same "$(echo apple | bloomery test ./f.bloom --hash mm3_64)" apple
	same "$(echo apple | bloomery test ./f.bloom --hash mm3-64)" apple
	exits 1 bloomery test ./f.bloom --hash mm3_32 < <(echo apple)
	same "$(echo apple | bloomery test ./f.bloom --probe pear)" apple
	bloomery info ./f.bloom --probe pear --json | holds 'j["hash"] == "mm3_64"'
	same "$(echo apple | bloomery test ./f.bloom --probe-hex 70656172)" apple
	exits 64 bloomery test ./f.bloom --probe-hex 7; says hexadecimal
	exits 2 bloomery test ./f.bloom --probe never < /dev/null; says 'not found with any of the possible hashes'
	exits 2 bloomery test ./f.bloom --hash xxh3 < /dev/null; says 'not a hash of the format pybloomfiltermmap'
	bloomery import f.bloom g --probe pear --probe apple; bloomery union f g -o u
	bloomery export u --format pybloomfiltermmap | cmp - f.bloom
}

a_hash_that_the_numbers_exclude_needs_a_key() {
	local vectors=$TOOLS/../tests/exchange
	make_mike; bloomery export mike -o mike.bloom; echo MIKE > key
	for wrong in md5 superfast sha512 mm3_32 mm3_64; do
		exits 2 bloomery test ./mike.bloom key --hash $wrong; says "rule out the hash $wrong; they fit djb (0.1.2 to 0.2.0)"
		exits 2 bloomery import mike.bloom none --hash $wrong; exits 2 bloomery info none
	done
	same "$(bloomery test ./mike.bloom key --hash djb)" MIKE
	bloomery info ./mike.bloom --hash djb-int --json | holds 'j["hash"] == "djb_int"'
	exits 2 bloomery info "$vectors/ax-v0.2.2md5.bloom" --hash djb; says 'they fit md5 (0.2.2), superfast (0.3.1 and 0.3.2), sha512 (0.3.4 to 0.3.11)'
	bloomery info "$vectors/ax-v0.2.2md5.bloom" --hash sha512 > text
	bloomery create f --hash sha512 -m 480 -k 3 -n 100 -p 0.1; echo apple | bloomery add f	# numbers of another time
	bloomery export f --format pybloomfiltermmap -o f.bloom
	exits 2 bloomery import f.bloom g --hash md5; says 'its hash is sha512'
	bloomery import f.bloom named; same "$(echo apple | bloomery test named)" apple	# the export names its hash
	dd if=/dev/zero of=f.bloom bs=1 seek=1093 count=24 conv=notrunc status=none
	exits 2 bloomery import f.bloom g --hash sha512; says 'rule out the hash sha512'
	bloomery import f.bloom g --hash sha512 --probe apple; same "$(echo apple | bloomery test g)" apple
	bloomery export g --format pybloomfiltermmap -o g.bloom	# the numbers that it came with would mislead
	bloomery import g.bloom h; same "$(echo apple | bloomery test h)" apple
}

a_large_file_is_read_with_the_possible_hash() {
	bloomery create f --sparse --hash mm3_64 -n 500m -p 0.01 -m 4792529190 -k 6	# as pybloomfiltermmap3 sizes it
	seq 100 > keys; bloomery add f keys
	bloomery export f --format pybloomfiltermmap -o f.bloom
	exits 2 bloomery info ./f.bloom; says 'mm3_32 (0.3.12 to 0.3.14), mm3_64 (pybloomfiltermmap3)'
	exits 2 bloomery import f.bloom g; says 'mm3_64 (pybloomfiltermmap3)'
	exits 2 bloomery info ./f.bloom --hash mm3_32; says 'mm3_32 reaches only 2^32 bits'
	exits 2 bloomery import f.bloom g --hash md5; says 'md5 reaches only 2^32 bits'
	exits 2 bloomery info g
	same "$(bloomery test ./f.bloom --hash mm3_64 keys | md5sum)" "$(md5sum < keys)"
	same "$(bloomery test ./f.bloom --probe 1 keys | md5sum)" "$(md5sum < keys)"
	bloomery import f.bloom g --probe 1; bloomery union f g -o u
	same "$(bloomery test g keys | md5sum)" "$(md5sum < keys)"
	if [ "${BLOOMERY_TEST_SCALE:-full}" != full ]; then	# Base64 of 600 MB takes seconds
		bloomery create small --hash mm3_64 -n 5m -p 0.01 -m 47925291 -k 6; bloomery add small keys
		bloomery export small --format pybloomfiltermmap -o small.bloom; bloomery drop f g
		bloomery mv small f; bloomery import small.bloom g --hash mm3_64
	fi
	bloomery export f --format pybloomfiltermmap --base64 | bloomery import - h --base64 --hash mm3_64
	same "$(bloomery test h keys | md5sum)" "$(md5sum < keys)"
	same "$(bloomery info g h --json | holds 'all[0]["template"] == all[1]["template"]' && echo same)" same
}

a_filter_is_text_that_a_message_can_carry() {
	for kind in classic blocked; do
		bloomery create $kind --kind $kind -n 100 -p 0.01; seq 100 | bloomery add $kind
		text=$(bloomery export $kind --format bloomery --base64)
		[ ${#text} -lt 700 ] || { echo "$kind: ${#text} characters"; return 1; }
		same "$text" "$(bloomery export $kind --base64)"
		echo "$text" | bloomery import - $kind.again --base64
		same "$(seq 200 | bloomery test $kind | md5sum)" "$(seq 200 | bloomery test $kind.again | md5sum)"
		same "$(bloomery export $kind.again --base64 | base64 -d | zstd -dcq | tail -c +20481 | md5sum)" \
			"$(bloomery export $kind | tail -c +20481 | md5sum)"
		bloomery info $kind $kind.again --json | holds 'all[0]["template"] == all[1]["template"] and all[0]["keys"] == all[1]["keys"]'
	done
}

a_keyed_filter_travels_without_its_secret() {
	bloomery create ./f --untrusted -n 100; seq 10 | bloomery add ./f
	bloomery export ./f --base64 -o text
	base64 -d text | zstd -dcq | od -An -v -tx1 | tr -d ' \n' > hex; not grep -i "$(cat f.key)" hex
	exits 2 bloomery import text ./g --base64; says secret
	bloomery import text ./g --base64 --key-file f.key
	same "$(bloomery test -c ./g < <(seq 10))" 10
}

an_excessive_size_is_refused_before_it_takes_space() {
	bloomery create f --sparse --hash mm3_64 -m 200m -k 3; bloomery export f --format pybloomfiltermmap --base64 -o text
	exits 2 bloomery import text g --base64 --max-size 10m; says --max-size
	exits 2 bloomery import - g --base64 --max-size 24m < text; says '25001280 bytes by its header'
	bloomery import text g --base64
	[ "$(du -k store | tail -1 | cut -f1)" -lt 4096 ]
	bloomery info g --json | holds 'j["m"] == 200000000 and j["sparse"] and j["keys"] == 0 and not j["keys_estimated"]'
}

export_writes_over_files_and_not_over_filters() {
	make_mike; echo something > x; bloomery create ./f -n 10
	bloomery export mike -o x; same "$(head -c 9 x)" MBITARRAY
	exits 2 bloomery export mike -o f; says --force
	bloomery test -c ./f < <(echo) || true
	bloomery export mike -o f --force; same "$(head -c 9 f)" MBITARRAY
	bloomery export mike -o /dev/null
	exits 2 bloomery export mike -o no/such; says 'No such file'
	exits 2 bloomery export mike --format nonsense; says 'no format "nonsense"'
	bloomery create b -n 10; exits 2 bloomery export b --format pybloomfiltermmap; says mm3_64
	bloomery export mike --fresh -o fresh; same "$(od -An -tu4 -j17 -N4 fresh | tr -d ' ')" 1200
	same "$(echo MIKE | bloomery test ./fresh)" MIKE	# its numbers, too, are djb's alone
}

a_mismatch_is_reported_for_the_right_file() {
	bloomery create f --hash mm3_64 -n 1m; seq 200000 | bloomery add f
	bloomery export f --format pybloomfiltermmap -o f.bloom
	(ulimit -f 100; exits 2 bloomery export f -o ./out; says './out: cannot write: File too large')
	(ulimit -f 100; exits 2 bloomery import f.bloom ./made --hash mm3_64; says './made: ')
	[ ! -e out ] && [ ! -e made ]
	bloomery create ./all -n 100k; seq 100000 > keys
	(ulimit -f 8; exits 2 bloomery claim ./all keys; says 'standard output: File too large')
	exits 2 bloomery export f -o /dev/full; says 'No space left'
}

base64_of_a_file_of_ours_is_read() {
	bloomery create ./f -n 1000; seq 100 | bloomery add ./f; bloomery sync ./f
	base64 ./f > text; bloomery import text ./g --base64
	same "$(seq 200 | bloomery test -c ./f)" "$(seq 200 | bloomery test -c ./g)"
	head -n 20 text > cut; exits 2 bloomery import cut ./h --base64; [ ! -e h ]
}

bad_input_leaves_nothing_behind() {
	echo "${mike:0:199}" > cut; echo "${mike/cuW/cuX}" > flipped; echo 'no filter at all' > words; : > empty
	for f in cut flipped words empty; do
		exits 2 bloomery import $f ./g --base64
		exits 2 bloomery import $f ./g
		[ ! -e g ]
	done
	exits 2 bloomery import missing g; says missing
	echo "$mike" > mike.b64; exits 2 bloomery import mike.b64 ./g; says --base64
	same "$(find . -name '.bloomery*' | wc -l)" 0
	make_mike; exits 2 make_mike; says 'exists already'
}

clear_takes_all_keys_out_and_leaves_the_rest() {
	bloomery create f -n 1000 --mode 0600; seq 1000 | bloomery add f; bloomery label f purpose=test
	before=$(bloomery info f --json | json 'j["template"]')
	bloomery clear f
	exits 1 bloomery test f < <(seq 1000)
	bloomery info f --json | holds "j['template'] == '$before' and j['keys'] == 0 and j['labels'] == ['purpose=test']"
	same "$(stat -c %a store/filters/*.blm)" 600
	bloomery create ./p -n 10; bloomery clear ./p f
	exits 2 bloomery clear nothing
}

formats_are_listed() {
	bloomery formats > text; grep -q '^bloomery ' text; grep -q '^pybloomfiltermmap ' text; grep -q 'base64(zlib(base64(zlib(file))))' text
	# the texts stand in one column, also behind the longest name
	same "$(grep -v '^ ' text | sed 's/^\([^ ]* *\).*/\1/' | awk '{ print length }' | sort -u | wc -l)" 1
	bloomery formats --json | holds 'all[0]["name"] == "bloomery" and all[1]["in_place"] and "mm3_64" in all[1]["hashes"]'
}

another_programs_filter_is_made_read_and_asked_directly() {
	printf '00ff\n0102\n' > keys; printf '00ff\nabcd\n0102\n' > asked
	bloomery create spv --format bip37 -n 30 -p 0.001 --tweak 7; bloomery add spv keys --hex
	bloomery export spv --format bip37 -o spv.bin
	same "$(bloomery test ./spv.bin asked --hex --format bip37 | tr '\n' ' ')" '00ff 0102 '
	bloomery import - again --format bip37 < spv.bin; bloomery export again | cmp - spv.bin
	bloomery union spv again -o both; bloomery export both --format bip37 | cmp - spv.bin
	bloomery info again --json | holds 'j["origin"] == "bip37" and j["scheme"] == "own" and j["tweak"] == "7" and j["m"] == 424'
	bloomery create g --format guava -n 100; bloomery info g --json | holds 'j["scheme"] == "guava-64" and j["bit_order"] == "big-endian words"'
	bloomery info g > text; grep -q 'bit order *big-endian words' text; grep -q 'scheme *guava-64' text
	exits 2 bloomery union g spv -o none; says 'differ in hash: murmur3-x64-128 and murmur3-bip37'
	exits 2 bloomery export spv --format guava; says 'which the format guava does not have'
	exits 2 bloomery import spv.bin none --format neo; says 'has more bytes than'
	exits 2 bloomery import spv.bin none; says '--format'
	exits 2 bloomery import spv.bin none --format libbloom1; says "(-m, -k)"
	exits 64 bloomery create none --format guava --hash xxh3 -n 10
	bloomery create ./many --format bip37 -n 100000 -p 0.0001 2> err; grep -q 'warning: bip37 .* 288000 bits .* not 0.0001 as asked' err
	bloomery create ./few --format bip37 -n 1000 -p 0.01 2> err; same "$(cat err)" ''
	exits 64 bloomery create none --format pybloomfiltermmap -n 10; says 'bloomery export'
	bloomery create d -n 1000 -m 32000 -k 22 --scheme double; bloomery info d > text; grep -q '184 times' text
}

a_parquet_columns_filter_is_asked_imported_and_exported() {
	local data=$TOOLS/../tests/format/data
	head -n 200 "$data/keys/insert.txt" > keys
	bloomery test "$data/parquet/two.parquet" keys --column url --row-group 0 | cmp - keys
	exits 2 bloomery info "$data/parquet/two.parquet"; says '--column, --row-group'
	exits 2 bloomery import - none < "$data/parquet/one.parquet"; says 'not a pipe'
	bloomery import "$data/parquet/two.parquet" pages --column page.name --row-group 0; bloomery test pages keys | cmp - keys
	bloomery info pages --json | holds 'j["origin"] == "parquet" and j["kind"] == "split-block" and j["m"] == 2048'
	bloomery export pages --power-of-two -o pages.sbbf; bloomery info ./pages.sbbf --json | holds 'j["format"] == "parquet"'
	bloomery create p --format parquet -n 1000 -p 0.01; bloomery add p keys; bloomery export p --format parquet -o p.sbbf; bloomery test ./p.sbbf keys | cmp - keys
	bloomery fold p --by 2 -o half; bloomery export half --format parquet -o half.sbbf; bloomery test ./half.sbbf keys | cmp - keys
	bloomery create odd --kind split-block -m 768; exits 2 bloomery export odd --format parquet --power-of-two; says 'power of two'
	exits 64 bloomery import pages.sbbf none --row-group -1
}

the_table_in_the_manual_is_what_formats_says() {
	bloomery formats --json | python3 -c '
import json, sys
for line in sys.stdin:
    f = json.loads(line)
    if f["name"] != "bloomery":
        print(f["name"], "yes" if f["read"] else "no", "yes" if f["write"] else "no")' | sort > said
	sed -n '/^\.Sh FORMATS/,/^\.Sh NOTES/s/^\([a-z0-9-]*\) *\(yes\|no\) *\(yes\|no\) .*/\1 \2 \3/p' "$TOOLS/man/bloomery-formats.7" | sort > written
	sed -n '/^\.Sh NOTES/,/^\.Sh EXAMPLES/p' "$TOOLS/man/bloomery-formats.7" | grep '^\.It' | tr ' ' '\n' > noted
	while read -r name _; do grep -qx -- "$name" noted || { echo "no notes on $name"; return 1; }; done < said
	[ -s said ]; diff said written
}

a_filter_without_bits_is_exported_only_by_force() {
	printf '\0\5\0\0\0\0\0\0\0\1' > empty
	exits 2 bloomery import empty f --format bip37; says 'has no bits'; says --force
	bloomery import empty f --format bip37 --force
	same "$(seq 100 | bloomery test -c f)" 100
	same "$(bloomery export f | od -An -v -tx1 | tr -d ' \n')" 01ff050000000000000001
}

a_block_filter_is_built_for_its_format() {
	seq 100 > keys
	exits 2 bloomery create f --format bip158 -n 100; says 'bloomery build'
	bloomery build f --format bip158 --hash-key 000102030405060708090a0b0c0d0e0f keys
	bloomery export f --format bip158 -o f.bin
	bloomery import f.bin again --format bip158 --hash-key 000102030405060708090a0b0c0d0e0f
	same "$(bloomery test -c again keys)" 100
	exits 2 bloomery build g --format bip158 --with modulus=5 keys; says 'sets the options'
}

parameters_that_the_maker_omitted_are_called_unstated() {
	bloomery create g --format guava -n 100; bloomery export g --format guava -o g.bin
	bloomery info ./g.bin --format guava > text; grep -q '^  capacity *not stated; half of its bits are set with' text
	bloomery create d --format dcso -n 100; bloomery export d --format dcso -o d.bin
	bloomery info ./d.bin > text; grep -q '^  capacity *100 keys at a rate of 0.01 stated' text
	exits 2 bloomery info ./g.bin; says --format
}

# FORMAT WHERE HEX: a filter for 1000 keys with that in its header, as it is and imported
with_other()
{
	rm -rf store other.bin
	bloomery create "$1" --format "$1" -n 1000; seq 10 | bloomery add "$1"; bloomery export "$1" --format "$1" -o other.bin
	printf "$(sed 's/../\\x&/g' <<< "$3")" | dd of=other.bin bs=1 seek="$2" conv=notrunc status=none
	bloomery import other.bin other --format "$1" --hash "$4"
	bloomery info ./other.bin --format "$1" --hash "$4" > text; bloomery info other >> text
	bloomery info other --json > j
}

what_cannot_be_stated_is_not_said_to_be_stated() {
	local rate format name at capacity_at hash

	for format in dcso,16,8,fnv1 libbloom2,43,11,murmur2 pybloom-live,0,24,xxh3; do
		IFS=, read -r name at capacity_at hash <<< "$format"
		for rate in 000000000000f87f 000000000000f07f 00000000000014c0 9c7500883ce4377e; do
			with_other "$name" "$at" "$rate" "$hash"
			same "$(grep -c '^  capacity *1000 keys stated, at no rate that can be; 0[.]0[0-9]* predicted' text)" 2
			holds 'j["capacity"] == 1000 and j["rate_computed"] and not j["capacity_computed"]' < j
		done
		with_other "$name" "$capacity_at" 00000000 "$hash"
		same "$(grep -c '^  capacity *not stated, but for a rate of 0.01; half of its bits are set with 9[0-9]* keys, 0[.]0[0-9]* predicted' text)" 2
		holds 'j["rate"] == 0.01 and j["capacity_computed"] and not j["rate_computed"]' < j
		with_other "$name" "$capacity_at" e8030000 "$hash"
		same "$(grep -c '^  capacity *1000 keys at a rate of 0.01 stated' text)" 2
	done
}

json_of_bits_and_blooms_is_read_in_any_order() {
	bloomery create f --format bits-and-blooms -n 10; seq 10 > keys; bloomery add f keys
	bloomery export f --format bits-and-blooms-json -o f.json
	same "$(bloomery test -c ./f.json keys)" 10
	bloomery import f.json g; bloomery export g | cmp - f.json
	python3 -c 'import json; j = json.load(open("f.json")); print(json.dumps(dict(reversed(j.items())), indent=1))' > other.json
	bloomery import other.json h --format bits-and-blooms-json; bloomery export h | cmp - f.json
	bloomery union f h -o both; bloomery export both --format bits-and-blooms | cmp - <(bloomery export f --format bits-and-blooms)
	sed 's/"m":/"m":1/' f.json > bad; exits 2 bloomery import bad none; says 'characters'
	sed 's/=*"}/*"}/' f.json > bad; exits 2 bloomery import bad none
	sed 's/"k"/"n"/' f.json > bad; exits 2 bloomery import bad none; says 'not an object'
	head -c 40 f.json > bad; exits 2 bloomery import bad none; says 'it is truncated'
	(cat f.json; echo x) > bad; exits 2 bloomery import bad none; says 'more bytes'
}

a_javascript_filter_answers_as_in_a_browser() {
	echo '{"size":64,"seeds":[32,33],"bits":{"0":536870944,"1":524320}}' > theirs.json
	printf 'apple\norange\ncabbage\n' > keys
	same "$(bloomery test ./theirs.json keys | tr '\n' ' ')" 'apple orange '
	bloomery import theirs.json f; same "$(bloomery export f)" "$(cat theirs.json)"
	bloomery create g --format js -n 1000 -p 0.01; seq -f 'naïve %g' 1000 | bloomery add g; bloomery export g --format js -o g.json
	holds 'j["size"] == 9585 and j["seeds"] == [33, 35, 37, 39, 41, 43, 45] and min(map(int, j["bits"])) == -299' < g.json
	seq -f 'naïve %g' 900 4000 > asked
	command -v node > /dev/null || return 0
	cat > ask.js <<- 'END'
		const read = name => require('fs').readFileSync(name, 'utf8');
		const { size, seeds, bits } = JSON.parse(read('g.json'));
		const hash = (seed, key) => { let r = 1; for (let i = 0; i < key.length; i++) r = (seed * r + key.charCodeAt(i)) & 0xffffffff; return r; };
		const has = at => bits[Math.floor(at / 32)] >>> (at % 32) & 1;
		for (const key of read('asked').trim().split('\n'))
			if (seeds.every(seed => has(hash(seed, key) % size))) console.log(key);
	END
	bloomery test g asked | cmp - <(node ask.js)
}

fingerprints_are_taken_by_their_id_and_compared() {
	printf '#FPS1\n#num_bits=16\n#type=test/1\n0301\tone\n0303\ttwo\n' > set.fps
	exits 2 bloomery import set.fps f; says --record
	exits 2 bloomery import set.fps f --record three; says 'none of its 2'
	bloomery import set.fps one --record one; bloomery import set.fps two --format fps --record two
	same "$(bloomery test one < <(seq 0 15) | tr '\n' ' ')" '0 1 8 '
	bloomery compare one two --json | holds 'j["tanimoto"] == 0.75'
	same "$(bloomery compare ./set.fps two --record one --json | json 'j["tanimoto"]')" 0.75
	same "$(bloomery export two | tail -1)" "$(printf '0303\ttwo')"
	bloomery union one two -o both; bloomery info both --json | holds 'j["keys"] == 4'
	bloomery create bits --kind bitmap -m 16; echo 9 | bloomery add bits
	same "$(bloomery export bits --format fps | tail -1)" "$(printf '0002\tbits')"
}

a_redisbloom_chain_is_asked_imported_grown_and_exported() {
	local data=$TOOLS/../tests/format/data
	head -n 1000 "$data/keys/insert.txt" > keys
	python3 -c 'import json, sys
for c in json.load(open(sys.argv[1]))["cases"]:
    if c["name"] == "p3": sys.stdout.buffer.write(bytes.fromhex(c["header_hex"]))' "$data/redisbloom/bf.json" > p3.bf
	cat "$data/redisbloom/p3.bits.bin" >> p3.bf
	bloomery test ./p3.bf keys | cmp - keys
	bloomery import p3.bf chain; bloomery export chain | cmp - p3.bf
	bloomery info chain --json | holds 'j["origin"] == "redisbloom" and j["kind"] == "scalable" and j["keys"] == 996 and j["scheme"] == "double-64"'
	bloomery info chain > text; grep -q 'for 800 keys at a rate of 0.000625, m 12288, k 11' text
	bloomery import "$data/redisbloom/rdb-dump-50.bin" dump; head -n 50 keys > some; bloomery test dump some | cmp - some
	bloomery export dump --redis-key here > commands; head -n 5 commands | tr -d '\r' | tail -n 3 | tr '\n' ' ' > text; same "$(cat text)" 'BF.LOADCHUNK $4 here '
	exits 2 bloomery import - none < "$data/redisbloom/rdb-dump-50.bin"; says 'not a pipe'
	bloomery create own --format redisbloom -n 100; bloomery add own keys; bloomery export own -o own.bf --format redisbloom; bloomery test ./own.bf keys | cmp - keys
	bloomery create none --kind scalable -n 100; exits 2 bloomery export none --format redisbloom; says 'which the format redisbloom does not have'
	exits 64 bloomery create none --kind scalable -n 100 --scheme partitioned
}

a_redisbloom_cuckoo_filter_is_imported_changed_and_exported() {
	local data=$TOOLS/../tests/format/data
	head -n 300 "$data/keys/insert.txt" > keys
	python3 -c 'import json, sys
for c in json.load(open(sys.argv[1]))["cases"]:
    if c["name"] == "c3": sys.stdout.buffer.write(bytes.fromhex(c["header_hex"]))' "$data/redisbloom/cf.json" > c3.cf
	cat "$data/redisbloom/c3.cf.bin" >> c3.cf
	bloomery test ./c3.cf keys | cmp - keys
	same "$(bloomery test -c ./c3.cf --format redisbloom-cf "$data/keys/probe.txt")" 127
	bloomery import c3.cf chain; bloomery export chain | cmp - c3.cf
	bloomery info chain --json | holds 'j["origin"] == "redisbloom-cf" and j["kind"] == "redis-cuckoo" and j["keys"] == 300 and j["k"] == 12'
	bloomery info chain --json | holds 'j["facts"]["tables"] == 6 and j["facts"]["buckets"] == 32 and j["facts"]["deletes"] == 0'
	same "$(sed -n 9p keys | bloomery get chain | cut -f 2)" 2
	sed -n 9p keys | bloomery remove chain
	same "$(sed -n 9p keys | bloomery get chain | cut -f 2)" 1
	bloomery info chain --json | holds 'j["keys"] == 299 and j["facts"]["deletes"] == 1'
	bloomery export chain -o changed.cf; bloomery test ./changed.cf keys | cmp - keys
	bloomery export chain --redis-key here > commands; head -n 5 commands | tr -d '\r' | tail -n 3 | tr '\n' ' ' > text; same "$(cat text)" 'CF.LOADCHUNK $4 here '
	bloomery create own --format redisbloom-cf -n 300; bloomery add own keys; bloomery export own -o own.cf; bloomery test ./own.cf keys | cmp - keys
	bloomery create none --kind cuckoo -n 100; exits 2 bloomery export none --format redisbloom-cf; says 'which the format redisbloom-cf does not have'
}

a_pybloom_live_filter_is_asked_imported_grown_and_exported() {
	local theirs=$TOOLS/../tests/format/data/pybloom_live/s1-v4.spybloom
	head -n 700 "$TOOLS/../tests/format/data/keys/insert.txt" > keys
	bloomery test "$theirs" keys --hash xxh3 | cmp - keys
	exits 2 bloomery info "$theirs"; says '--hash'
	bloomery import "$theirs" chain --probe "$(sed -n 1p keys)" --probe "$(sed -n 2p keys)" --probe "$(sed -n 3p keys)" --probe "$(sed -n 4p keys)"
	bloomery export chain | cmp - "$theirs"
	bloomery info chain --json | holds 'j["origin"] == "pybloom-live-scalable" and j["kind"] == "scalable" and j["hash"] == "xxh3" and j["scheme"] == "pybloom-chain"'
	bloomery create own --format pybloom-live-scalable -n 100; bloomery add own keys; bloomery export own -o own.spybloom
	bloomery test ./own.spybloom keys --hash xxh3 | cmp - keys
}

a_gzipped_dcso_filter_is_asked_directly() {
	local theirs=$TOOLS/../tests/format/data/dcso/p3.bloom.gz
	bloomery info "$theirs" --json | holds 'j["format"] == "dcso"'
	gzip -dc "$theirs" > plain; bloomery test -c ./plain "$TOOLS/../tests/format/data/keys/insert.txt" > text
	same "$(bloomery test -c "$theirs" "$TOOLS/../tests/format/data/keys/insert.txt")" "$(cat text)"
	head -c 20 "$theirs" > cut.gz; exits 2 bloomery info ./cut.gz
}

a_leveldb_tables_filter_is_asked_imported_and_exported() {
	tail -c +4 "$TOOLS/../tests/fuzz/corpus/import/leveldb-table" > 000005.ldb
	head -n 500 "$TOOLS/../tests/format/data/keys/insert.txt" > keys
	exits 2 bloomery info ./000005.ldb --format leveldb; says '--record'
	bloomery test ./000005.ldb keys --format leveldb --record 1 | cmp - keys
	bloomery import 000005.ldb f --format leveldb --record @3000; bloomery test f keys | cmp - keys
	bloomery export f -o f.bin; bloomery test ./f.bin keys --format leveldb | cmp - keys
	exits 2 bloomery test ./000005.ldb keys --format leveldb --record 2; says 'is empty'
	exits 2 bloomery import - none --format leveldb --record 1 < 000005.ldb; says 'not a pipe'
}

what_a_file_says_itself_is_not_named_otherwise() {
	local data=$TOOLS/../tests/format/data
	bloomery create f --format dcso -n 100; echo k | bloomery add f; bloomery export f --format dcso -o f.bin
	exits 2 bloomery test ./f.bin --hash nosuchhash < /dev/null; says 'no hash "nosuchhash"'
	exits 2 bloomery test ./f.bin --hash djb < /dev/null; says 'its hash is fnv1'
	exits 2 bloomery test ./f.bin --probe k --probe nothere < /dev/null; says 'does not have key 2 of the known keys'
	same "$(echo k | bloomery test ./f.bin --hash fnv1 --probe k)" k
	exits 2 bloomery info ./f.bin --record 5; says 'one filter'
	for wrong in '--hash djb' '--hash nosuchhash' '--probe nothere' '--record 5' '-m 5 -k 3' '-k 3' '--column c'; do
		exits 2 bloomery import f.bin none $wrong
		exits 2 bloomery info none
	done
	bloomery import f.bin again --hash fnv1 --probe-hex 6b
	bloomery create g --format squid-digest -n 100; bloomery export g -o g.bin --format squid-digest
	exits 2 bloomery info ./g.bin --format squid-digest --column c; says 'no columns'
	exits 2 bloomery info ./g.bin --format squid-digest -m 800; says 'its own numbers of bits'
	head -n 50 "$data/keys/insert.txt" > keys
	exits 2 bloomery info "$data/redisbloom/rdb-dump-50.bin" --probe none; says '--probe'
	bloomery test "$data/redisbloom/rdb-dump-50.bin" keys --probe "$(head -n 1 keys)" | cmp - keys
	bloomery export f --format bloomery -o f.blm
	exits 2 bloomery import f.blm none --hash djb; says 'its hash is fnv1'
	exits 2 bloomery export f --format dcso --redis-key x; says '--redis-key'
	exits 2 bloomery export f --format dcso --power-of-two; says '--power-of-two'
}

prove_all
