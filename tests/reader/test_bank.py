"""test_bank.py - the second reader on the bank of tests/golden, and on it when it is damaged

test_bank.py FOLDER [PROGRAM]
"""

import os
import subprocess
import sys

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
tap.done()
