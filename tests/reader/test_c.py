"""test_c.py - the C library and the second reader answer the same, and refuse the same files for the same reasons

test_c.py GOLDEN-FOLDER DRIVER GOLDEN-MAKE [ROUNDS [answers]]; $BLOOMERY is the program. With `answers` the files that are refused are left
out: another processor answers no better or worse for them
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import bloomery_reader as reader
import bloomery_writer as writer
import golden
from tap import Tap

FOLDER, DRIVER, MAKE = sys.argv[1:4]
SHARE = os.environ.get('BLOOMERY_TEST_SCALE', 'full') != 'full'	# of the cases that are alike
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 10 if SHARE else 60
MEMORY = '/dev/shm' if 'TMPDIR' not in os.environ and os.access('/dev/shm', os.W_OK) \
	and shutil.disk_usage('/dev/shm').free >> 30 else None
LIMIT = 600	# seconds: no busy machine takes so long, nor one that is emulated; only a program that hangs
REFUSES = 'answers' not in sys.argv[5:]


def drive(keys, *words):
	r = subprocess.run([DRIVER, *map(str, words)], input='\n'.join(k.hex() for k in keys) + '\n' if keys else '',
		capture_output=True, text=True, timeout=LIMIT)
	if r.returncode:
		raise RuntimeError('driver %r: %d %s' % (words, r.returncode, r.stderr))
	return r.stdout.split(' ')


def c_answers(path, keys, secret):
	said = drive(keys, 'ask', path, secret.hex() if secret else '-')
	return said[1].strip() if said[0] == 'ok' else said


def py_answers(f, keys):
	return ''.join('01'[key in f] for key in keys)


def golden_answers(g):
	keys = [key for key, _ in g.answers]
	return [] if c_answers(g.path, keys, g.secret) == ''.join('01'[want] for _, want in g.answers) else ['other answers']


def same_split(files):
	"""The reader's lists of kinds that are split are right about every kind: each has a golden file (see made_anew())."""
	wrong = []
	for kind, g in {reader.check_constant(g.image).kind: g for g in files}.items():
		want = 'one' if kind in reader.ONE_PART else 'several' if kind in reader.SPLIT_KINDS else 'none'
		got = drive([], 'owners', g.path, g.secret.hex() if g.secret else '-')[-1].strip()
		if got != want:
			wrong.append('parts that a key of kind %d belongs to: %s in the library, %s by ONE_PART and SPLIT_KINDS of '
				'bloomery_reader.py' % (kind, got, want))
	return wrong


def refused(folder, b, secret):
	path = os.path.join(folder, 'refuse-%s.blm' % b.name)
	with open(path, 'wb') as f:
		f.write(b.image)
	said = drive([], 'ask', path, secret.hex() if secret else '-')
	os.unlink(path)
	return [] if said[0].strip() == b.error else ['%s, not %s' % (' '.join(said).strip(), b.error)]


BY_PROBE = {'djb': 4, 'djb_int': 5, 'md5': 6, 'superfast': 7, 'sha512': 8, 'mm3_32': 9, 'mm3_64': 10, 'js': 31}


SCHEMES = {'double': 1, 'enhanced': 2, 'triple': 3, 'salted': 4, 'slices': 5, 'partitioned': 6, 'double-64': 7, 'double-32': 8, 'guava-32': 9,
	'guava-64': 10, 'dcso': 11, 'rust-bloomfilter': 12, 'slices-16': 13, 'pybloom': 14, 'four-words': 15, 'pybloom-chain': 16}
NEW = {'murmur3-x64-128': 16, 'murmur64a': 17, 'murmur2': 18, 'leveldb': 19, 'fnv1': 20, 'fnv1a': 21, 'siphash13': 22, 'md5-digest': 23,
	'sha1-digest': 24, 'sha256-digest': 25, 'sha384-digest': 26, 'sha512-digest': 27, 'keccak256': 28, 'scrapy-redis': 29, 'squid': 30}


def random_key():
	return random.randbytes(int(2 ** random.uniform(0, 11)) - 1)


def random_scheme():
	"""Of a classic filter: a hash, a scheme that goes with it, how many cells and probes."""
	while True:
		family, scheme = random.choice([*NEW, 'xxh3', 'xxh3-64', 'siphash', 'xxh64']), random.choice([*SCHEMES, 'own'])
		probes, cells = random.choice([1, 2, 3, 4, 7, 8, 16, 20, 256]), int(2 ** random.uniform(0, 18))
		rule = reader.RULES[SCHEMES.get(scheme, 0)]
		cells = probes * (cells // probes + 1) if getattr(rule, 'ranges', False) else cells
		if family == 'scrapy-redis':
			cells = 1 << cells.bit_length()
		if rule.takes(reader.FAMILIES[FAMILY_IDS[family]], probes, cells):
			seeds = {'xxh3': 1, 'xxh3-64': 1, 'murmur3-x64-128': 1, 'siphash13': 4}.get(family, 0)
			return ('classic', family, cells, probes, [random.getrandbits(32) for _ in range(seeds)], 0,
				random.randbytes(16).hex() if family == 'siphash' else '-', scheme)


def random_parameters():
	if random.random() < 0.6:
		return random_scheme()
	kind, family = random.choice([('classic', 'xxh3'), ('classic', 'siphash'), ('classic', 'murmur3-bip37'),
		('blocked', 'xxh3'), ('blocked', 'xxh3-64'), ('blocked', 'xxh64'), ('split-block', 'xxh3-64'), ('blocked', 'siphash'), ('classic', 'xxh64'), ('split-block', 'xxh64'), ('split-block', 'xxh64'),
		('split-block', 'xxh3'), ('split-block', 'siphash')] + [('classic', family) for family in BY_PROBE])
	cells = int(2 ** random.uniform(0, 16)) if kind == 'classic' else (256 if kind == 'split-block' else 512) * int(2 ** random.uniform(0, 7))
	probes = 8 if kind == 'split-block' else random.choice([1, 2, 3, 6, 7, 8, 14, 15, 20, 33, 256])
	seeds = [random.getrandbits(64)] if family in ('xxh3', 'xxh3-64') else []
	if family in BY_PROBE:
		seeds = [random.getrandbits(21 if family == 'js' else 32) for _ in range(probes)]
	tweak = random.getrandbits(32) if family == 'murmur3-bip37' else 0
	return kind, family, cells, probes, seeds, tweak, random.randbytes(16).hex() if family == 'siphash' else '-', '-'


def fresh(folder, parameters):
	path = os.path.join(folder, 'fresh.blm')
	secret = None if parameters[6] == '-' else bytes.fromhex(parameters[6])
	added = [random_key() for _ in range(random.randrange(80))]
	asked = added + [random_key() for _ in range(100)]
	said = drive(added, 'make', path, *parameters[:4], ','.join(map(str, parameters[4])) or '-', *parameters[5:])
	if said[0].strip() != 'ok':
		return [' '.join(said)]
	f = reader.open_filter(path)	# which finds the secret beside the file
	part, wrong = f.parts[0], []
	want = reader.KINDS[part.kind].made_of(f.family, [(key, None) for key in added], part, f.constant.args)
	if want != f.image[part.offset:part.offset + part.bytes]:
		wrong.append('the bits of the part differ')
	if c_answers(path, asked, secret) != py_answers(f, asked):
		wrong.append('the answers differ')
	if f.keys() > len(added) or (added and not f.dirty()):
		wrong.append('%d keys, dirty %s' % (f.keys(), f.dirty()))
	for name in os.listdir(folder):
		os.unlink(os.path.join(folder, name))
	return wrong


KIND_IDS = {'classic': 1, 'blocked': 2, 'split-block': 3}
FAMILY_IDS = {'xxh3': 1, 'siphash': 2, 'murmur3-bip37': 3, **BY_PROBE, 'xxh64': 11, 'xxh3-64': 40, **NEW}


def of_a_second_writer(folder, parameters):
	"""The library takes a file made from the text alone, and adds to it."""
	kind, family, cells, probes, seeds, tweak, secret, scheme = parameters
	path, wrong = os.path.join(folder, 'second.blm'), []
	order = random.randrange(4) if kind == 'classic' else 0
	if reader.flip_of(order, cells) is None:
		order = 2
	secret = None if secret == '-' else bytes.fromhex(secret)
	keys = [random_key() for _ in range(40)]
	asked = keys + [random_key() for _ in range(100)]

	def make(of):
		return writer.make(KIND_IDS[kind], FAMILY_IDS[family], cells, probes, of, seeds, tweak, secret, rule=SCHEMES.get(scheme, 0),
			order=order)

	with open(path, 'wb') as f:
		f.write(make(keys[:20]))
	f = reader.open_filter(path, secret)
	if c_answers(path, asked, secret) != py_answers(f, asked):
		wrong.append('the answers differ')
	said = drive(keys[20:], 'add', path, secret.hex() if secret else '-')
	whole, g = reader.Filter(make(keys), secret), reader.open_filter(path, secret)
	if said != ['ok\n'] or whole.image[f.parts[0].offset:] != g.image[f.parts[0].offset:] or whole.keys() != g.keys():
		wrong.append('%s, %d keys, not %d' % (said, g.keys(), whole.keys()))
	return wrong


def large(folder):
	"""A part of more than 2 MiB begins at a multiple of that."""
	path = os.path.join(folder, 'large.blm')
	drive([b'key'], 'make', path, 'classic', 'xxh3', 3 * 8 << 20, 7, 5, 0, '-', '-')
	f = reader.open_filter(path)
	os.unlink(path)
	same = writer.make(1, 1, 3 * 8 << 20, 7, [b'key'], [5])
	part = f.parts[0].offset
	wrong = [] if part == 2 << 20 else ['it begins at %d' % part]
	same_bytes = same[part:] == f.image[part:] and same[72:88] == f.image[72:88]
	return wrong + ([] if same_bytes else ['another template id, or other bits'])


def made_anew(folder, files):
	"""What the library makes today differs from the golden files in uuids, times, and the last digits of rates only."""
	subprocess.run([MAKE, folder], check=True, timeout=LIMIT)
	made = golden.all(folder)
	only_here, only_made = ({f.name for f in a} - {f.name for f in b} for a, b in ((files, made), (made, files)))
	if only_here or only_made:
		return (['tests/golden has no %s.blm, which golden-make makes; see CONTRIBUTING.md' % name for name in sorted(only_made)]
			+ ['golden-make does not make %s.blm' % name for name in sorted(only_here)])
	wrong = []
	for old, new in zip(files, made, strict=True):
		before, after = old.open(), new.open()
		for f in old, new:
			for field in ('uuid', 'created', 'synced'):
				f.fields[field] = f.fields[field] != '0'
			f.fields['rate'] = '%.9g' % float(f.fields['rate'])
		at = before.parts[0].offset
		same = {
			'name': old.name == new.name,
			'fields': old.fields == new.fields,
			'answers': old.answers == new.answers,
			'template': old.image[72:96] + old.image[128:4088] == new.image[72:96] + new.image[128:4088],
			'part': old.image[at:at + before.parts[0].bytes] == new.image[at:at + after.parts[0].bytes],
			'record': [r and (r.hash, r.ones, r.epoch) for _, _, r, _, _ in before.blocks()]
				== [r and (r.hash, r.ones, r.epoch) for _, _, r, _, _ in after.blocks()],
		}
		wrong += ['%s: another %s' % (old.name, what) for what in same if not same[what]]
	return wrong


# Where numbers lie that a reader goes by: offset, bytes.
NUMBERS = [(8, 4), (12, 4), (16, 8), (24, 8), (56, 8), (64, 8), (88, 8), (128, 4), (132, 4), (136, 4), (140, 4),
	(144, 8), (152, 4), (156, 4), (160, 8), (168, 8), (176, 8), (248, 4), (256, 8), (2304, 4), (2308, 4),
	(4096, 8), (4160, 8), (4224, 8), (4480, 8), (16384, 8), (20480, 8)]
NUMBERS += [(at + offset, size) for at in (8192, 8256)
	for offset, size in ((0, 8), (8, 8), (16, 8), (24, 4), (28, 4), (32, 4), (36, 4), (40, 8), (48, 8))]
TWICE = {128: 8224, 144: 8208, 152: 8216, 156: 8220}	# of the template fields: where the part says the same
VALUES = [0, 1, 2, 3, 4, 64, 128, 256, 257, 512, 1024, 1776, 20416, 20480, 20544, 20608, 20672, 65536, 65600, 1 << 32,
	1 << 46, 1 << 47, 1 << 48, 1 << 63, -64, -1]


def strange(g):
	"""A golden file with some numbers changed, and its checksums right."""
	b = golden.Image(g.image + bytes(64 * random.choice([0, 0, 0, 1, 2, 9])))
	if random.random() < 0.3:
		b.put(8256, b.image[8192:8248])
		b.put(4096, b'\2')
	for _ in range(random.choice([0, 1, 1, 2, 3])):
		at, size = random.choice(NUMBERS)
		old = int.from_bytes(b.image[at:at + size], 'little')
		near, flipped = old + random.choice([-512, -64, -1, 1, 64, 512]), old ^ 1 << random.randrange(64)
		new = random.choice([random.choice(VALUES), near, flipped])
		for place in {at, TWICE.get(at, at)}:
			b.put(place, (new % (1 << 8 * size)).to_bytes(size, 'little'))
	b.fix()
	return bytes(b.image)


def same_of_strange(folder, files):
	path, wrong = os.path.join(folder, 'strange.blm'), []
	for _ in range(100 if SHARE else 300):
		g = random.choice(files)
		keys = [key for key, _ in random.sample(g.answers, 8)]
		image = strange(g)
		try:
			want = py_answers(reader.Filter(image, g.secret), keys)
		except reader.Refused as why:
			want = why.error
		with open(path, 'wb') as f:
			f.write(image)
		got = c_answers(path, keys, g.secret)
		if got != want and got[0] != want:
			wrong.append('%s: the library says %s, the reader %s' % (g.name, got, want))
	return wrong


# ---- Guards ----

def lines_of(r):
	return r.stdout.splitlines()


def verify(path, *options):
	"""What the program finds, a line each."""
	r = subprocess.run([os.environ['BLOOMERY'], 'verify', path, *options], capture_output=True, text=True, timeout=LIMIT)
	if r.returncode != bool(lines_of(r)) and '--repair' not in options:
		raise RuntimeError('verify: exit %d, %s%s' % (r.returncode, r.stdout, r.stderr))
	return lines_of(r)


def filter_of(folder, kind, cells, keys, step):
	"""A filter made, and then changed by `step` of the driver."""
	path = os.path.join(folder, 'guarded.blm')
	if os.path.exists(path):
		os.unlink(path)
	drive(keys, 'make', path, kind, 'xxh3', cells, 4, 9, 0, '-', '-')
	if step and drive([], step, path, '-') != ['ok\n']:
		raise RuntimeError(step)
	return path


def some_keys(count):
	return [random.randbytes(12) for _ in range(count)]


def synced_blocks(folder, kind, cells, keys):
	"""Before the sync marked blocks are those with bits, and have no record; after it all of them have the right one."""
	path = filter_of(folder, kind, cells, some_keys(keys), None)
	wrong = ['block %d: %s, marked %s' % (b, r, marked) for _, b, r, marked, data in reader.open_filter(path).blocks()
		if r or marked != any(data)]
	drive([], 'sync', path, '-')
	for _, b, r, marked, data in reader.open_filter(path).blocks():
		ones = int.from_bytes(data, 'little').bit_count()
		if marked or (r is not None) != any(data) or (r and (r.ones, r.epoch) != (ones, 1)):
			wrong.append('block %d: %s, marked %s, %d ones' % (b, r and vars(r), marked, ones))
	return wrong + reader.open_filter(path).findings() + verify(path)


def put(path, at, new):
	with open(path, 'r+b') as f:
		f.seek(at)
		f.write(new)


def zeroed_sector(folder, kind, cells, keys):
	path = filter_of(folder, kind, cells, some_keys(keys), 'sync')
	f, wrong = reader.open_filter(path), []
	part = f.parts[0]
	for block in {0, reader.blocks_of(part.bytes) // 2, reader.blocks_of(part.bytes) - 1}:
		at = part.offset + block * reader.BLOCK
		at = next(a for a in range(at, part.end, 512) if any(f.image[a:a + 512]))
		put(path, at, bytes(512))
		said = verify(path)
		if len(said) != 1 or 'block %d,' % block not in said[0]:
			wrong.append('block %d: bloomery verify says %s' % (block, said))
		if reader.open_filter(path).damaged_blocks() != [(0, block)]:
			wrong.append('block %d: the reader does not find it' % block)
		put(path, at, f.image[at:at + 512])
	return wrong + verify(path)


def flips_in_a_sealed_file(folder, kind, cells, keys, path=None):
	path = path or filter_of(folder, kind, cells, some_keys(keys), 'seal')
	wrong = verify(path) + reader.open_filter(path).findings()
	image, part = reader.open_filter(path).image, reader.open_filter(path).parts[0]
	said = drive([], 'flips', path, part.offset * 8, part.end * 8, 1000)
	if said != ['ok', '1000\n']:
		wrong.append('of 1000 flips blm_verify() found %s' % said)
	for bit in random.sample(range(part.offset * 8, part.end * 8), 20 if SHARE else 60):
		put(path, bit // 8, bytes([image[bit // 8] ^ 1 << bit % 8]))
		if reader.open_filter(path).damaged_blocks() != [(0, (bit // 8 - part.offset) // reader.BLOCK)]:
			wrong.append('the reader does not find bit %d' % bit)
		put(path, bit // 8, image[bit // 8:bit // 8 + 1])
	return wrong


def sealed_of_a_second_writer(folder):
	path = os.path.join(folder, 'guarded.blm')
	with open(path, 'wb') as f:
		f.write(writer.make(2, 1, 512 * 2500, 5, some_keys(3000), [4], sealed=True))
	if drive([b'new'], 'add', path, '-')[0] == 'ok\n':
		return ['it was added to']
	return flips_in_a_sealed_file(folder, None, None, None, path)


def record_of_zeros_that_passes(folder):
	"""The uuid makes the check of zeros 0 for block 1, which has no record."""
	path = os.path.join(folder, 'zeros.blm')
	image = bytearray(writer.make(1, 1, 3 * 8 * reader.BLOCK, 5, [], [4]))
	image[32:40] = (1302470311 - 1).to_bytes(8, 'little')	# found by search
	image[4088:4096] = reader.constant_check(bytes(image)).to_bytes(8, 'little')
	image[8248:8256] = reader.entry_check(bytes(image), 0).to_bytes(8, 'little')
	with open(path, 'wb') as f:
		f.write(image)
	f = reader.open_filter(path)
	at = f.parts[0].begin + 16
	if any(f.image[at:at + 16]) or reader.block_check(f.image, at, 0, 1) != 0:
		return ['the record is not one of zeros that passes']
	return f.findings() + verify(path)


class Churner:
	"""A process that adds keys and syncs all the time; `keys` of them are in by now."""
	def __init__(self, path, name):
		self.name, self.keys = name, 0
		self.process = subprocess.Popen([DRIVER, 'churn', path, name], stdout=subprocess.PIPE, text=True)
		self.thread = threading.Thread(target=self.read)
		self.thread.start()

	def read(self):
		for line in self.process.stdout:
			self.keys = int(line)

	def last(self):
		return ('%s-%d' % (self.name, max(self.keys - 1, 0))).encode()

	def end(self):
		self.process.kill()
		self.thread.join()
		self.process.communicate()


def copies_of_a_busy_file(folder):
	"""Copied while two processes add and sync: nothing is found, and what was acknowledged before is there."""
	path, copy = filter_of(folder, 'classic', 3 << 20, [], None), os.path.join(folder, 'copy.blm')
	wrong, recorded = [], set()
	busy = [Churner(path, name) for name in 'ab']
	while any(not p.keys for p in busy):
		time.sleep(0.01)
	for round in range(10 if SHARE else 25):
		last = [p.last() for p in busy]
		shutil.copyfile(path, copy) if round % 2 else subprocess.run(['cp', path, copy], check=True)
		f = reader.open_filter(copy)
		if not all(key in f for key in last) or c_answers(copy, last, None) != '11':
			wrong.append('copy %d has not the keys %s' % (round, last))
		wrong += f.findings() + verify(copy)
		recorded |= {(b, r.epoch) for _, b, r, _, _ in f.blocks() if r}
		if drive([b'x'], 'add', copy, '-') != ['ok\n'] or not reader.open_filter(copy).dirty():
			wrong.append('copy %d was added to and is not dirty' % round)
	for p in busy:
		p.end()
	return wrong if len(recorded) > 20 else wrong + ['only %d records were made' % len(recorded)]


tap = Tap()
random.seed(20)
files = golden.all(FOLDER)
secrets = {g.name: g.secret for g in files}
for g in files:
	tap.run('%s: the library answers as its list says' % g.name, golden_answers, g)
tap.run('the reader knows which kinds are split, and where a key belongs to one part', same_split, files)
with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
	for b in golden.broken(FOLDER) if REFUSES else []:
		tap.run('%s: %s' % (b.name, b.error), refused, folder, b, secrets[b.file])
	for _ in range(ROUNDS):
		parameters = random_parameters()
		tap.run('a fresh %s filter with %s, m=%d, k=%d' % parameters[:4], fresh, folder, parameters)
	for _ in range(ROUNDS):
		parameters = random_parameters()
		tap.run('a %s filter with %s, m=%d, k=%d of a second writer' % parameters[:4], of_a_second_writer, folder, parameters)
	tap.run('a part larger than 2 MiB begins at 2 MiB', large, folder)
	for kind in 'classic', 'blocked':
		for cells, keys in ((512, 20), (1 << 20, 500), (512 * 3100, 30), (512 * 40000, 3), (512 * 40000, 9000)):
			tap.run('%d keys in a %s filter with m=%d: a sync makes a right record of each block that changed' % (keys, kind,
				cells), synced_blocks, folder, kind, cells, keys)
	tap.run('a zeroed sector of a synced file is found, with its block', zeroed_sector, folder, 'classic', 512 * 3100, 20000)
	tap.run('so it is in a file of one block', zeroed_sector, folder, 'blocked', 51200, 700)
	tap.run('each of many flips in a sealed file is found', flips_in_a_sealed_file, folder, 'blocked', 512 * 3100, 20000)
	tap.run('so it is where a second writer sealed it', sealed_of_a_second_writer, folder)
	tap.run('a record of zeros is no record, also where its check is right', record_of_zeros_that_passes, folder)
	if len(sys.argv) <= 4 or ROUNDS >= 20:	# a short run may be on a slow machine, or one that is emulated
		tap.run('copies made while others add and sync are good', copies_of_a_busy_file, folder)
	if REFUSES:
		tap.run('the library takes and refuses strange files as the reader does', same_of_strange, folder, files)
with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
	tap.run('the golden files made anew are the same', made_anew, folder, files)
tap.done()
