#!/bin/bash
# peer.sh - the digest of a Squid that is a neighbour sends every URL that it has there, and few others
. "${TAP:?must be tests/tools/tap.sh}"
: "${PEER:?must be the path of the example}" "${DATA:?must be a folder with what Squid 5.7 made}"

urls() { python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))[sys.argv[2]], sep="\n")' "$DATA/squid.json" "$1"; }

only_false_alarms_are_requested_from_the_neighbour() {
	urls present_urls > has; urls computed_absent_probe_true > alarms
	seq -f 'http://127.0.0.1:38080/absent/%g.txt' 0 139 > absent
	cat has absent | bash "$PEER" "$DATA/store_digest.bin" > out
	same "$(grep -c '^peer' out)" $(($(wc -l < has) + $(wc -l < alarms)))
	diff <(sed -n 's/^peer\t//p' out | sort) <(sort has alarms)
	diff <(sed -n 's/^origin\t//p' out | sort) <(sort absent | comm -23 - <(sort alarms))
	bash "$PEER" "$DATA/store_digest.bin" < /dev/null > out; same "$(wc -c < out)" 0
	cp "$DATA/store_digest.bin" here; same "$(bash "$PEER" here < has | grep -c '^peer')" 60		# a name is a file of this folder
}

an_invalid_digest_is_refused_with_words() {
	echo no > here
	exits 2 bash "$PEER" here < /dev/null; says 'truncated'
}

prove_all
