#!/bin/bash
# services.sh - find a service in a network by attenuated filters: services.sh FOLDER
#
# Four nodes in a line, n1 - n2 - n3 - n4, each with a filter of three levels: what it offers itself, and what is offered one hop
# and two hops away. A service is a pattern of bits: of 5 bits, "printer" sets 0, 1 and 3. Only n3 offers it. Who looks for it from
# n1 asks its own filter, then goes to the neighbour that says it is nearest.
set -euo pipefail
cd "$1"
bloomery=${BLOOMERY:-bloomery}
declare -A neighbours=([n1]='n2' [n2]='n1 n3' [n3]='n2 n4' [n4]='n3')
nodes='n1 n2 n3 n4'

for n in $nodes; do	# with this seed the key "printer" has the bits 0, 1 and 3 of 5
	"$bloomery" create ./$n --kind attenuated -m 5 -k 3 --seed 21 --with depth=3
done
echo printer | "$bloomery" add ./n3

# Each round every node takes in what its neighbours knew before it: after two, all levels are as they should be.
for round in 1 2; do
	for n in $nodes; do "$bloomery" copy ./$n ./$n.before; done
	for n in $nodes; do
		for m in ${neighbours[$n]}; do "$bloomery" advance ./$n ./$m.before; done
	done
	for n in $nodes; do rm ./$n.before; done
done

hops() { echo printer | "$bloomery" get ./$1 | cut -f2; }

at=n1
while distance=$(hops $at) && [ "${distance:-none}" != 0 ]; do
	[ "$distance" ] || { echo "$at: no printer within reach"; exit 1; }
	nearest=
	for m in ${neighbours[$at]}; do
		there=$(hops $m)
		if [ "$there" ] && { [ -z "$nearest" ] || [ "$there" -lt "$(hops $nearest)" ]; }; then nearest=$m; fi
	done
	echo "$at: a printer is $distance hops away; next hop $nearest"
	at=$nearest
done
echo "$at: here it is"
