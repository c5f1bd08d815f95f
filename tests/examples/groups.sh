#!/bin/bash
# groups.sh - the example of each group of bloomery.h says what it must
. "${TAP:?must be tests/tools/tap.sh}"
: "${GROUPS_OF_CALLS:?must be the path of the example}"

each_group_of_calls_has_an_example_that_runs() {
	"$GROUPS_OF_CALLS" . > out
	diff - out << 'END'
open: ./missing.blm: no such filter (No such file or directory)
pear is new, apple is known
claimed 0x7, found 0x7, 2 new numbers
a key from 990 to 1010: 1, from 2000 to 2010: 0
seen within two hours: 1
due after 30 days: 1
by hash: 2 of 3 in one, 1 in the other
joined: 3 of 3 found
sealed: no more keys
classic: 9600 bits, 7 probes, 9.60 bits a key
built: 3 of 3 found
union: 3, intersection: 1
ribbon, xxh3, 3 keys, sealed
about 3 keys
store has seen: blocked
fig: the filter says 1, with its list 0
through base64: 3 of 3 found
list.blm: 0 findings
kiwi may be in rows 0x2
kinds that remove keys: some
files cut so far: none
END
}

an_example_stops_at_the_first_call_that_fails() {
	local code=0
	mkdir twice; "$GROUPS_OF_CALLS" twice > out
	"$GROUPS_OF_CALLS" twice > out 2> err || code=$?
	same "$code" 1
	same "$(wc -l < err)" 1
	[[ $(< err) == 'groups: ./seen.blm: '* ]] || { cat err; return 1; }
}

prove_all
