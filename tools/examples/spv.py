#!/usr/bin/env python3
"""spv.py - which transactions of a block concern a wallet that has given us a filter (BIP 37): spv.py FILTER < BLOCK

FILTER is the payload of `filterload`; BLOCK is a block of Bitcoin in hexadecimal digits, as
`bitcoin-cli getblock HASH 0` prints it. Prints the ids of the transactions of which the filter may contain the id, data in an output, an
output that is spent, or data of an input. As with the flag BLOOM_UPDATE_NONE the filter stays as it is: an output that matched is not added
for the sake of who spends it. Exits 1 if there are none, 2 if it cannot tell.
"""

import hashlib
import os
import subprocess
import sys


def stop(why):
	print('spv.py:', why, file=sys.stderr)
	sys.exit(2)


class Reader:
	def __init__(self, data):
		self.data, self.at = data, 0

	def take(self, count):
		if count > len(self.data) - self.at:
			stop('the block was cut')
		self.at += count
		return self.data[self.at - count:self.at]

	def number(self):
		first = self.take(1)[0]
		return first if first < 0xfd else int.from_bytes(self.take(2 << (first - 0xfd)), 'little')

	def text(self):
		return self.take(self.number())


def pushes(script):
	"""What a script pushes on the stack, up to where it cannot be read."""
	at = 0
	while at < len(script):
		code, wide = script[at], {0x4c: 1, 0x4d: 2, 0x4e: 4}.get(script[at], 0)
		count = int.from_bytes(script[at + 1:at + 1 + wide], 'little') if wide else code if code < 0x4c else 0
		at += 1 + wide
		if count > len(script) - at:
			return
		if count:
			yield script[at:at + count]
		at += count


def digest(data):
	return hashlib.sha256(hashlib.sha256(data).digest()).digest()


def transaction(r):
	"""Its id, as it lies, and what of it a filter may contain. A witness is no part of either."""
	version = r.take(4)
	witness = r.data[r.at:r.at + 2] == b'\0\1' and r.take(2)
	begin, elements = r.at, []
	inputs = r.number()
	for _ in range(inputs):
		spent = r.take(36)
		elements += [spent, *pushes(r.text())]
		r.take(4)
	for _ in range(r.number()):
		r.take(8)
		elements += pushes(r.text())
	body = r.data[begin:r.at]
	for _ in range(inputs if witness else 0):
		for _ in range(r.number()):
			r.text()
	txid = digest(version + body + r.take(4))
	return txid, [txid, *elements]


def root(ids):
	while len(ids) > 1:
		ids = [digest(b''.join((ids[i:i + 2] * 2)[:2])) for i in range(0, len(ids), 2)]
	return ids[0]


def contained(path, elements):
	"""Those that the filter may contain, in one question."""
	path = path if '/' in path else './' + path
	asked = ''.join(e.hex() + '\n' for e in elements)
	r = subprocess.run([os.environ.get('BLOOMERY', 'bloomery'), 'test', '--hex', path, '--format', 'bip37'], input=asked,
		stdout=subprocess.PIPE, text=True)
	if r.returncode > 1:
		sys.exit(2)
	return {bytes.fromhex(line) for line in r.stdout.split()}


def main():
	try:
		r = Reader(bytes.fromhex(sys.stdin.read()))
	except ValueError:
		stop('the block is not in hexadecimal digits')
	header = r.take(80)
	transactions = [transaction(r) for _ in range(r.number())]
	if not transactions or root([txid for txid, _ in transactions]) != header[36:68]:
		stop('these are not the transactions of that block')
	known = contained(sys.argv[1], [e for _, elements in transactions for e in elements])
	matched = [txid for txid, elements in transactions if known.intersection(elements)]
	for txid in matched:
		print(txid[::-1].hex())
	sys.exit(not matched)


main()
