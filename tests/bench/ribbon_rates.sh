#!/bin/bash
# ribbon_rates.sh - what a ribbon takes above the least at each rate, and of what that comes: the table of the README
#
# usage: tests/bench/ribbon_rates.sh; $BLOOMERY names a program that is there, else build-bench/tools/bloomery is asked
#
# The first number is the program's own (plan), of a million keys at 301 rates of each range; the others split what it has above 1, at the
# rate where it is largest. Behind them is what the same range would come to, by the same sum, if the form of the file were another: trits
# packed as tightly as a word of 64 bits allows, a quarter as many thresholds, and slots that hold one of 5 or 7 values as well.
cd "${BASH_SOURCE[0]%/*}/../.." || exit 2
exec python3 - "${BLOOMERY:-build-bench/tools/bloomery}" << 'END'
import json, subprocess, sys
from math import ceil, log2

BUCKET, THRESHOLD, TRIT = 128, 2, 8 / 5

def planned(rate):
	out = subprocess.run([sys.argv[1], 'plan', '-n', '1m', '-p', repr(rate), '--kind', 'ribbon', '--json'], capture_output=True, text=True, check=True).stdout
	return json.loads(out)['over_lower_bound']

def packed(values):	# bits of one of so many values, in a word
	return min(ceil(n * log2(values)) / n for n in range(1, 64) if n * log2(values) <= 64)

def codes(odd):		# of a slot: the bits that its values are worth, and those that it takes
	return sorted((bits + log2(v), bits + takes) for bits in range(32) for v, takes in [(2, 1), *odd] if bits or v > 1)

def mixed(rate, codes):	# shares of two neighbours, whose rates average to it: worth, takes
	for (a, a_takes), (b, b_takes) in zip(codes, codes[1:]):
		if a <= -log2(rate) <= b + 1e-12:
			share = (rate - 2**-b) / (2**-a - 2**-b)
			return share * a + (1 - share) * b, share * a_takes + (1 - share) * b_takes

ours = codes([(3, TRIT)])
other = codes([(v, packed(v)) for v in (3, 5, 7)])
print('| rates | x least | at | mixing | trits | thresholds | the rest | another form |')
print('|---|--:|--:|--:|--:|--:|--:|--:|')
for most, least in (2, 3), (3, 4), (4, 6), (6, 8), (8, 12), (12, 24), (24, 44), (44, 1024):
	rates = [1 / most * (most / least) ** (i / 300) for i in range(301)]
	times, rate = max((planned(rate), rate) for rate in rates)
	bits = -log2(rate)
	worth, takes = mixed(rate, ours)
	parts = (worth - bits) / bits, (takes - worth) / bits, THRESHOLD / BUCKET / bits
	rest = times - 1 - sum(parts)
	better = max((mixed(r, other)[1] + THRESHOLD / BUCKET / 4 + rest * bits) / -log2(r) for r in rates)
	print(f'| 1/{most} to 1/{least} | {times:.3f} | 1/{1 / rate:.3g} |', ' | '.join(f'{p:.4f}' for p in (*parts, rest)), f'| {better:.3f} |')
END
