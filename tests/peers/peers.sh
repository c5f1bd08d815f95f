#!/bin/bash
# peers.sh - the programs themselves take filters that we made, and we take theirs: those of Debian, where they are installed
#
# $LIBBLOOM and $LEVELDB are the helpers that are built with libbloom and LevelDB; $PEERS the folder of this file.
# shellcheck source=../tools/tap.sh
. "$TESTS/tools/tap.sh"

N=3000

make_keys()
{
	seq -f 'https://example.org/%g' 1 $N > keys
	seq -f 'https://example.net/%g' 1 20000 > others
}

# Is it here? If not, say so; the test is then none.
is_here()
{
	command -v "$1" > /dev/null || { echo "# SKIP $2 is not installed"; return 1; }
}

dcso_bloom_and_bloomery_take_each_others_filters() {
	is_here bloom golang-github-dcso-bloom-cli || return 0
	make_keys
	bloom -h | grep -q 'bloom filters' || { echo "# SKIP bloom is another program"; return 0; }
	bloom create -n $N -p 0.01 theirs.bloom; bloom insert theirs.bloom < keys
	bloomery create ours --format dcso -n $N -p 0.01; bloomery add ours keys; bloomery export ours --format dcso -o ours.bloom
	cmp ours.bloom theirs.bloom
	bloom check ours.bloom < keys | cmp - keys
	bloomery test ./theirs.bloom keys | cmp - keys
	bloom check ours.bloom < others > a || true; bloomery test ./theirs.bloom others > b || true
	cmp a b; [ -s a ]
	bloom --gzip create -n $N -p 0.01 theirs.gz; bloom --gzip insert theirs.gz < keys
	bloomery import theirs.gz packed; bloomery test packed keys | cmp - keys
	bloomery export packed | cmp - theirs.bloom
	bloomery import theirs.bloom more; bloomery add more others
	bloomery export more -o more.bloom; cat keys others | sort > all; bloom check more.bloom < all | cmp - all
	bloom show more.bloom > shown; grep -q "$(bloomery info more --json | json 'j["keys"]')" shown
}

libbloom_and_bloomery_take_each_others_bits() {
	is_here "${LIBBLOOM:-no-libbloom}" libbloom-dev || return 0
	make_keys
	"$LIBBLOOM" add $N 0.01 < keys > theirs.bits 2> sizes; read -r m k < sizes
	bloomery create ours --format libbloom1 -n $N -p 0.01; bloomery add ours keys; bloomery export ours --format libbloom1 -o ours.bits
	cmp ours.bits theirs.bits
	"$LIBBLOOM" check $N 0.01 ours.bits < keys | cmp - keys
	bloomery test ./theirs.bits keys --format libbloom1 -m "$m" -k "$k" | cmp - keys
	"$LIBBLOOM" check $N 0.01 ours.bits < others > a
	bloomery test ./theirs.bits others --format libbloom1 -m "$m" -k "$k" > b || true
	cmp a b; [ -s a ]
}

guava_and_bloomery_take_each_others_filters() {
	local jar=/usr/share/java/guava.jar

	is_here java default-jdk-headless || return 0
	[ -e $jar ] || { echo "# SKIP libguava-java is not installed"; return 0; }
	javac -cp $jar -d . "$PEERS/Guava.java" > javac.out 2>&1 || { echo "# SKIP there is no Java compiler (default-jdk-headless)"; return 0; }
	make_keys
	java -cp $jar:. Guava add $N 0.01 theirs.guava < keys
	bloomery create ours --format guava -n $N -p 0.01; bloomery add ours keys; bloomery export ours --format guava -o ours.guava
	cmp ours.guava theirs.guava
	java -cp $jar:. Guava check ours.guava < keys | cmp - keys
	bloomery test ./theirs.guava keys --format guava | cmp - keys
	java -cp $jar:. Guava check ours.guava < others > a
	bloomery test ./theirs.guava others --format guava > b || true
	cmp a b; [ -s a ]
	bloomery import theirs.guava more --format guava; bloomery add more others; bloomery export more -o more.guava
	cat keys others | sort > all; java -cp $jar:. Guava check more.guava < all | cmp - all
}

# Each key is in one data block, so in one filter; of the others a filter of 10 bits a key takes one in a hundred.
the_filters_of_leveldbs_table_have_all_its_keys() {
	local table all=0 code n at

	is_here "${LEVELDB:-no-leveldb}" libleveldb-dev || return 0
	make_keys
	"$LEVELDB" db < keys
	ls db/*.ldb > tables
	while read -r table; do
		for ((n = 0; ; n++)); do
			code=0; bloomery import "$table" ./one --format leveldb --record $n > said 2>&1 || code=$?
			[ $code = 0 ] || { grep -q 'is empty' said && continue; grep -q 'has no filter' said && break; cat said; return 1; }
			bloomery test ./one keys >> found; rm one; all=$((all + 1))
		done
		at=$(grep -abo filter.leveldb "$table" | tail -1 | cut -d: -f1)		# behind the filter block
		cp "$table" damaged; printf '\377' | dd of=damaged bs=1 seek=$((at - 100)) conv=notrunc status=none
		exits 2 bloomery test ./damaged keys --format leveldb --record 0; says 'damaged'
	done < tables
	[ $all -ge 10 ]
	sort -u found | cmp - <(sort keys)
	[ "$(wc -l < found)" -le $((N + N * all * 2 / 100)) ]
}

prove_all
