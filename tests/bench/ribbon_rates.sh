#!/bin/bash
# ribbon_rates.sh - what a ribbon takes above the least at each rate, and of what that comes: the table of bloomery-performance(7)
#
# usage: tests/bench/ribbon_rates.sh; $BLOOMERY names a program that is there, else build-bench/tools/bloomery is asked
#
# The first number is the program's own (plan), of a million keys at 301 rates of each range; the others split what it has above 1, at the
# rate where it is largest.
cd "${BASH_SOURCE[0]%/*}/../.." || exit 2
exec python3 - "${BLOOMERY:-build-bench/tools/bloomery}" << 'END'
import json, subprocess, sys
from math import log2

BUCKET, THRESHOLD, TRIT, QUINT, BITS_WITH_QUINTS = 512, 8 / 5, 46 / 29, 63 / 27, 2

def planned(rate):
	out = subprocess.run([sys.argv[1], 'plan', '-n', '1m', '-p', repr(rate), '--kind', 'ribbon', '--json'], capture_output=True, text=True, check=True).stdout
	return json.loads(out)['over_lower_bound']

# For a slot: the bits that its values are worth, and those that it takes.
codes = sorted([(bits + 1, bits + 1) for bits in range(32)] + [(bits + log2(3), bits + TRIT) for bits in range(31)]
	+ [(bits + log2(5), bits + QUINT) for bits in range(BITS_WITH_QUINTS + 1)])

def mixed(rate):	# shares of two neighbours, whose rates average to it: worth, takes
	for (a, a_takes), (b, b_takes) in zip(codes, codes[1:]):
		if a <= -log2(rate) <= b + 1e-12:
			share = (rate - 2**-b) / (2**-a - 2**-b)
			return share * a + (1 - share) * b, share * a_takes + (1 - share) * b_takes

print('| rates | x least | at | mixing | digits | thresholds | the rest |')
print('|---|--:|--:|--:|--:|--:|--:|')
for most, least in (2, 3), (3, 4), (4, 5), (5, 6), (6, 8), (8, 12), (12, 24), (24, 1024):
	rates = [1 / most * (most / least) ** (i / 300) for i in range(301)]
	times, rate = max((planned(rate), rate) for rate in rates)
	bits = -log2(rate)
	worth, takes = mixed(rate)
	parts = (worth - bits) / bits, (takes - worth) / bits, THRESHOLD / BUCKET / bits
	print(f'| 1/{most} to 1/{least} | {times:.4f} | 1/{1 / rate:.3g} |', ' | '.join(f'{p:.4f}' for p in (*parts, times - 1 - sum(parts))), '|')
END
