#!/bin/bash
# peer.sh - whom to ask for each URL, by the cache digest of a neighbouring Squid: peer.sh DIGEST < urls
#
# A proxy fetches its neighbour's digest from http://NEIGHBOUR/squid-internal-periodic/store_digest (curl -o DIGEST ...), and then knows
# without asking which URLs the neighbour has, but for false alarms. Prints "peer" or "origin", a tab and the URL.
set -euo pipefail
bloomery=${BLOOMERY:-bloomery}
digest=$1
case $digest in */*) ;; *) digest=./$digest ;; esac	# a name without a slash would be one of the store
urls=$(mktemp)
trap 'rm -f "$urls"' EXIT
cat > "$urls"

ask()	# 1 is an answer: none of them
{
	local code=0
	"$bloomery" test "$@" "$digest" --format squid-digest "$urls" || code=$?
	[ $code -le 1 ] || return $code
}

ask | sed 's/^/peer\t/'
ask -v | sed 's/^/origin\t/'
