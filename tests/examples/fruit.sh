#!/bin/bash
# fruit.sh - the worked example in C says what it must
. "${TAP:?must be tests/tools/tap.sh}"
: "${FRUIT:?must be the path of the example}"

it_does_the_tutorial_step_by_step() {
	"$FRUIT" . > out
	diff - out << 'END'
fruit: classic, 100 keys at 0.1: 512 bits, 3 hashes
apple into fruit: new
banana into fruit: new
orange into fruit: new
pear into fruit: new
apple into fruit: was there
keys in fruit: 4
apple in fruit: yes
mike in fruit: no
mike into people: new
apple in people: no
people |= fruit
keys in people: about 5
mike in people: yes
apple in people: yes
copy = fruit, through base64
apple in copy: yes
banana in copy: yes
orange in copy: yes
pear in copy: yes
old: from pybloomfiltermmap, hash djb, 2411 bits, 17 hashes
MIKE in old: yes
mike in old: no
END
}

its_files_are_filters_like_any_other() {
	"$FRUIT" . > out
	printf 'apple\npear\nmike\n' > keys
	same "$(bloomery test ./people.blm < keys)" "$(cat keys)"
	same "$(bloomery test ./copy.blm < keys)" "$(printf 'apple\npear')"
	bloomery info ./fruit.blm --json | holds 'j["keys"] == 4 and j["hash"] == "mm3_64" and j["k"] == 3'
	bloomery verify ./people.blm
}

where_it_fails_it_says_why() {
	"$FRUIT" . > out
	not "$FRUIT" . > out 2> err
	grep -q 'fruit.blm' err
	not "$FRUIT" ./nowhere > out 2> err
	grep -q usage err
}

prove_all
