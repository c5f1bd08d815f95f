"""test_bank.py - the second reader on the bank of tests/golden, and on it when it is damaged

test_bank.py FOLDER [PROGRAM]
"""

import os
import subprocess
import sys
import tempfile

import bloomery_reader as reader
from bloomery_bank import Bank
from tap import Tap

tap = Tap()
path = os.path.join(sys.argv[1], 'classic.bank')
with open(path, 'rb') as f:
	image = f.read()
with open(path[:-5] + '-bank.txt', encoding='utf-8') as f:
	lines = [line.split() for line in f if not line.startswith('#')]
bank = Bank(image)
keys = [(bytes.fromhex(line[1]), line[2:]) for line in lines if line[0] == 'which']
likes = [(line[1], line[2::2], [float(score) for score in line[3::2]]) for line in lines if line[0] == 'like']
fields = {line[0]: line[1] for line in lines if len(line) == 2}


def refused(at, size=None):
	b = bytearray(image[:size])
	if at is not None:
		b[at] ^= 1
	try:
		Bank(bytes(b))
	except reader.Refused as why:
		return why.error
	return 'ok'


tap.ok(len(keys) >= 20 and len(likes) >= 3, 'there are answers')
tap.equal([bank.rows, bank.constant.uuid.hex()], [int(fields['rows']), fields['uuid']], 'its rows and its uuid')
tap.equal([bank.which(key) for key, _ in keys], [want for _, want in keys], 'each key is in those that it was')
tap.equal([[bank.id(i) for i in range(bank.rows) if bank.holds(i, key)] for key, _ in keys], [want for _, want in keys],
	'and so by the rows')
for id, ids, scores in likes:
	row = next(i for i in range(bank.rows) if bank.id(i) == id)
	got = bank.similar(bank.row(row), len(ids))
	tap.equal([i for i, _ in got], ids, 'those most like %s' % id)
	tap.ok(all(abs(a - b) < 1e-12 for (_, a), b in zip(got, scores)), 'and how much')
tap.equal(bank.findings(), [], 'nothing is found')
for at in (bank.ones_at, bank.order_at, bank.rows_at + 9, bank.slices_at + 77 * bank.slice_bytes):
	b = bytearray(image)
	b[at] ^= 4
	tap.ok(len(Bank(bytes(b)).findings()) >= 2, 'what is damaged at %d is found, by its checksum and by itself' % at)
tap.equal([refused(0), refused(40), refused(4096), refused(8191), refused(None, 5000), refused(None, len(image) - 1)],
	['EBADMSG', 'EBADMSG', 'EBADMSG', 'EBADMSG', 'ENODATA', 'ENODATA'], 'what is no bank, or damaged in its head, or cut, is refused')
if len(sys.argv) > 2:
	def run(*args):
		return subprocess.run([sys.argv[2], *args], capture_output=True, text=True).stdout.split()

	text = [(key, want) for key, want in keys if key and b'\0' not in key]
	tap.ok(text, 'there are keys of text')
	tap.equal([run('which', path, '--key', key.decode()) for key, _ in text], [want for _, want in text], 'the program says the same')
	tap.equal([run('similar', path, '--id', id)[1::2] for id, _, _ in likes], [ids for _, ids, _ in likes], 'and ranks so')
	tap.equal(run('verify', path), [], 'and finds nothing')
	with tempfile.TemporaryDirectory() as folder:
		names = [os.path.join(folder, name) for name in 'abc']
		for i, name in enumerate(names):
			subprocess.run([sys.argv[2], 'build', name, '--keys', 'uint', '-n', '400', '--width', '16', '-p', '0.001', '--seed', '3'],
				input='\n'.join(str(1000 * i + 7 * j) for j in range(100 * i + 1)), text=True, check=True)
		path = os.path.join(folder, 'ranges')
		subprocess.run([sys.argv[2], 'bank', path, *names], check=True)
		with open(path, 'rb') as f:
			ranges = Bank(f.read())
		asked = [(n, n + n % 50) for n in range(0, 4000, 197)]
		want = [ranges.which_range(b'%d' % first, b'%d' % last) for first, last in asked]
		tap.ok(len({tuple(ids) for ids in want}) >= 4, 'ranges are in different filters')
		tap.equal([run('which', '--range', path, '--key', '%d..%d' % of) for of in asked], want, 'the program says the same of ranges')
		tap.equal([ranges.findings(), run('verify', path)], [[], []], 'and both find nothing')
tap.done()
