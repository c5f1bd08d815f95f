"""catalog.py - damaged catalogs through the program: nothing crashes or lists other names, what is changed in one is changed or refused,
a repair brings every name back

catalog.py BLOOMERY [HOW-MANY]; prints what ls and info did, too
"""

import collections
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'reader'))
from tap import Tap

PROGRAM = sys.argv[1]
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 40
FILTERS, PAGE, LIMIT = 40, 4096, 600	# seconds: no busy machine takes so long, only a program that hangs
NAMES = sorted('filter-%02d' % i for i in range(FILTERS))


class Run:
	"""The program, with a store; a hang is a signal, too."""
	def __init__(self, store, *words):
		try:
			r = subprocess.run([PROGRAM, *words, '--store', store], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
			self.code, self.out, self.err = r.returncode, r.stdout.decode(errors='replace'), r.stderr.decode(errors='replace')
		except subprocess.TimeoutExpired:
			self.code, self.out, self.err = -14, '', 'no end after %d seconds' % LIMIT

	def __str__(self):
		return '%d %s %s' % (self.code, self.out[-300:], self.err[-300:])


def make_store(store):
	def run(*words):
		subprocess.run([PROGRAM, *words, '--store', store], check=True, stdin=subprocess.DEVNULL)

	for i, name in enumerate(NAMES):
		run('create', name, '-n', '10')
		subprocess.run([PROGRAM, 'add', name, '--store', store], check=True, input=b'key of %s\n' % name.encode())
		if i % 10 == 3:
			run('label', name, 'long=' + 'x' * 1400)	# too long for a leaf: LMDB gives it pages of its own
		run('sync', name)


def damages(good, count, rng):
	"""(sort, bytes or None: delete the file), `count` of them, the systematic ones first and spread evenly."""
	pages = len(good) // PAGE
	swift = [('cut', good[:page * PAGE]) for page in range(pages)]
	for page in range(pages):
		at = page * PAGE
		swift.append(('a page of zeros', good[:at] + bytes(PAGE) + good[at + PAGE:]))
		swift.append(('a page of garbage', good[:at] + rng.randbytes(PAGE) + good[at + PAGE:]))
		other = rng.randrange(pages) * PAGE
		swift.append(('a page of another place', good[:at] + good[other:other + PAGE] + good[at + PAGE:]))
	swift.append(('deleted', None))
	if count < 2 * len(swift):
		swift = rng.sample(swift, count // 2)
	yield from swift
	for i in range(count - len(swift)):
		bad = bytearray(good)
		if i % 3 == 0:
			bad[(at := rng.randrange(len(good))):at + 1] = bytes([good[at] ^ 1 << rng.randrange(8)])
			yield 'a bit', bytes(bad)
		elif i % 3 == 1:
			at = rng.randrange(len(good) - 8)
			bad[at:at + 8] = rng.randbytes(8)
			yield '8 bytes', bytes(bad)
		else:
			at = rng.randrange(pages) * PAGE + rng.randrange(0, 64, 2)	# where LMDB keeps its own numbers
			bad[at:at + 2] = rng.choice([b'\0\0', b'\xff\xff', rng.randbytes(2)])
			yield '2 bytes of a head', bytes(bad)


def all_keys_there(store, names, before):
	"""Of these filters, of which some had other names before; what is none of those from the beginning has no key."""
	for name in names:
		was = before.get(name, name)
		if was not in NAMES:
			continue
		r = subprocess.run([PROGRAM, 'test', '-s', name, '--store', store], input=b'key of %s\n' % was.encode(), capture_output=True)
		if r.returncode:
			return ['%s: %s' % (name, r.stderr.decode(errors='replace'))]
	return []


def change(store, which, name):
	"""Changes something; the names that there are then, and what the change was. Where it is refused it may have come half the way."""
	other = [n for n in NAMES if n != name]
	words, there = [
		(('label', name, 'written=yes'), [NAMES]),
		(('create', 'new', '-n', '10'), [NAMES + ['new'], NAMES]),
		(('mv', name, 'renamed'), [other + ['renamed'], NAMES]),
		(('drop', name), [other, NAMES]),
	][which]
	r = Run(store, *words)
	return words, r, there[:1] if r.code == 0 else there


def try_one(store, pristine, bad, outcomes, number):
	"""What was wrong with verify and repair."""
	data, wrong = os.path.join(store, 'catalog', 'data.mdb'), []

	def damage():
		os.unlink(data)
		if bad is not None:
			with open(data, 'wb') as f:
				f.write(bad)

	damage()
	name = NAMES[zlib.crc32(bad or b'') % FILTERS]
	listing, one = Run(store, 'ls'), Run(store, 'info', name)
	for r, what in (listing, 'ls'), (one, 'info'):
		silent = what == 'ls' and r.code == 0 and r.out.split('\n')[:-1] != NAMES
		if r.code < 0 or silent:
			wrong.append('%s: %s' % (what, r))
		outcomes[what, 'signal' if r.code < 0 else 'wrong answer' if silent else 'error' if r.code else 'right'] += 1
	seen = Run(store, 'verify')
	if seen.code < 0 or seen.code > 2:
		wrong.append('verify: %s' % seen)
	if seen.code == 0 and listing.code == 0 and listing.out.split('\n')[:-1] != NAMES:
		wrong.append('verify finds nothing where ls lists %r' % listing.out)
	words, changed, names = change(store, number % 4, name)
	outcomes[words[0], 'signal' if changed.code < 0 else 'refused' if changed.code else 'done'] += 1
	if changed.code < 0:
		wrong.append('%s: %s' % (words, changed))
	mended = Run(store, 'verify', '--repair')
	outcomes['verify', 'crash told of' if 'crashed' in mended.err else 'found' if mended.out else 'nothing found'] += 1
	if mended.code:
		wrong.append('verify --repair: %s' % mended)
	after, again = Run(store, 'ls'), Run(store, 'verify')
	there = after.out.split('\n')[:-1]
	if after.code or there not in [sorted(n) for n in names]:
		wrong.append('after %s: %s\nand the repair, ls: %s\nrepair: %s' % (words, changed, after, mended))
	if again.code:
		wrong.append('after the repair, verify: %s' % again)
	if words[0] == 'label' and changed.code == 0 and 'written=yes' not in Run(store, 'info', name).out:
		wrong.append('after the repair the label of %s is gone' % name)
	if number % 7 == 0:	# of each of the four changes, and of the sorts of damage, which take turns by threes
		wrong += all_keys_there(store, there, {'renamed': name})
	if words[0] == 'label' and not wrong and sorted(os.listdir(os.path.join(store, 'filters'))) != pristine['files']:
		wrong = ['other files in filters/']
	shutil.rmtree(store)
	shutil.copytree(pristine['copy'], store)
	return wrong


def with_lock(store, content):
	lock = os.path.join(store, 'catalog', 'lock')
	if os.path.lexists(lock):
		os.unlink(lock)
	if content is not None:
		with open(lock, 'wb') as f:
			f.write(content)
	with open(os.path.join(store, 'catalog', 'lock.mdb'), 'wb') as f:
		f.write(content or b'')
	wrong = [str(r) for r in (Run(store, 'ls'), Run(store, 'verify'), Run(store, 'label', NAMES[0], 'a=b')) if r.code]
	return wrong or ([] if Run(store, 'ls').out.split('\n')[:-1] == NAMES else ['names are missing'])


def main():
	tap, outcomes = Tap(), collections.Counter()
	shm = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
	rng = random.Random(COUNT)
	with tempfile.TemporaryDirectory(dir=os.environ.get('TMPDIR', shm)) as folder:
		store, copy = os.path.join(folder, 's'), os.path.join(folder, 'copy')
		make_store(store)
		shutil.copytree(store, copy)
		pristine = {'copy': copy, 'files': sorted(os.listdir(os.path.join(store, 'filters')))}
		with open(os.path.join(store, 'catalog', 'data.mdb'), 'rb') as f:
			good = f.read()
		for sort, content in (('missing', None), ('garbage', rng.randbytes(8192)), ('empty', b''), ('one byte', b'\xff')):
			tap.run('with its lock files %s a store lists, verifies and changes' % sort, with_lock, store, content)
		shutil.rmtree(store)
		shutil.copytree(copy, store)
		failed, tried = collections.defaultdict(list), collections.Counter()
		for i, (sort, bad) in enumerate(damages(good, COUNT, rng)):
			tried[sort] += 1
			failed[sort] += try_one(store, pristine, bad, outcomes, i)
		for sort in sorted(tried):
			tap.ok(not failed[sort], 'of %d catalogs with %s each is listed, looked up in, verified and changed without a crash and repaired with all names'
				% (tried[sort], sort), '%d failures\n' % len(failed[sort]) + '\n'.join(failed[sort][:5]))
		for what in 'ls', 'info', 'label', 'create', 'mv', 'drop', 'verify':
			print('# %s: %s' % (what, ', '.join('%d %s' % (n, o) for (w, o), n in sorted(outcomes.items()) if w == what)))
	tap.done()


main()
