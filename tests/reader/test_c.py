"""test_c.py - the C library and the second reader answer the same, and refuse the same files for the same reasons

test_c.py GOLDEN-FOLDER DRIVER GOLDEN-MAKE [ROUNDS]
"""

import os
import random
import subprocess
import sys
import tempfile

import bloomery_reader as reader
import bloomery_writer as writer
import golden
from tap import Tap

FOLDER, DRIVER, MAKE = sys.argv[1:4]
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 40


def drive(keys, *words):
	r = subprocess.run([DRIVER, *map(str, words)], input='\n'.join(k.hex() for k in keys) + '\n' if keys else '',
		capture_output=True, text=True, timeout=60)
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


def refused(folder, b, secret):
	path = os.path.join(folder, 'refuse-%s.blm' % b.name)
	with open(path, 'wb') as f:
		f.write(b.image)
	said = drive([], 'ask', path, secret.hex() if secret else '-')
	os.unlink(path)
	return [] if said[0].strip() == b.error else ['%s, not %s' % (' '.join(said).strip(), b.error)]


def random_key():
	return random.randbytes(int(2 ** random.uniform(0, 11)) - 1)


def random_parameters():
	kind, family = random.choice([('classic', 'xxh3'), ('classic', 'siphash'), ('classic', 'murmur3-bip37'),
		('blocked', 'xxh3'), ('blocked', 'siphash')])
	cells = int(2 ** random.uniform(0, 16)) if kind == 'classic' else 512 * int(2 ** random.uniform(0, 7))
	probes = random.choice([1, 2, 3, 6, 7, 8, 14, 15, 20, 33, 256])
	seed = random.getrandbits(64) if family == 'xxh3' else 0
	tweak = random.getrandbits(32) if family == 'murmur3-bip37' else 0
	return kind, family, cells, probes, seed, tweak, random.randbytes(16).hex() if family == 'siphash' else '-'


def fresh(folder, parameters):
	path = os.path.join(folder, 'fresh.blm')
	secret = None if parameters[6] == '-' else bytes.fromhex(parameters[6])
	added = [random_key() for _ in range(random.randrange(80))]
	asked = added + [random_key() for _ in range(100)]
	said = drive(added, 'make', path, *parameters)
	if said[0].strip() != 'ok':
		return [' '.join(said)]
	f = reader.open_filter(path)	# which finds the secret beside the file
	part, wrong = f.parts[0], []
	want = bytearray(part.bytes)
	for key in added:
		for bit in reader.KINDS[part.kind].bits(f.family, key, part):
			want[bit // 8] |= 1 << bit % 8
	if want != f.image[part.offset:part.offset + part.bytes]:
		wrong.append('the bits of the part differ')
	if c_answers(path, asked, secret) != py_answers(f, asked):
		wrong.append('the answers differ')
	if f.keys() > len(added) or (added and not f.dirty()):
		wrong.append('%d keys, dirty %s' % (f.keys(), f.dirty()))
	for name in os.listdir(folder):
		os.unlink(os.path.join(folder, name))
	return wrong


KIND_IDS = {'classic': 1, 'blocked': 2}
FAMILY_IDS = {'xxh3': 1, 'siphash': 2, 'murmur3-bip37': 3}


def of_a_second_writer(folder, parameters):
	"""The library takes a file made from the text alone, and adds to it."""
	kind, family, cells, probes, seed, tweak, secret = parameters
	path, wrong = os.path.join(folder, 'second.blm'), []
	secret = None if secret == '-' else bytes.fromhex(secret)
	keys = [random_key() for _ in range(40)]
	asked = keys + [random_key() for _ in range(100)]

	def make(of):
		seeds = [seed] if family == 'xxh3' else []
		return writer.make(KIND_IDS[kind], FAMILY_IDS[family], cells, probes, of, seeds, tweak, secret)

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
	drive([b'key'], 'make', path, 'classic', 'xxh3', 3 * 8 << 20, 7, 5, 0, '-')
	f = reader.open_filter(path)
	os.unlink(path)
	same = writer.make(1, 1, 3 * 8 << 20, 7, [b'key'], [5])
	part = f.parts[0].offset
	wrong = [] if part == 2 << 20 else ['it begins at %d' % part]
	same_bytes = same[part:] == f.image[part:] and same[72:88] == f.image[72:88]
	return wrong + ([] if same_bytes else ['another template id, or other bits'])


def made_anew(folder, files):
	"""What the library makes today differs from the golden files in uuids, times, and the last digits of rates only."""
	subprocess.run([MAKE, folder], check=True, timeout=60)
	wrong = []
	for old, new in zip(files, golden.all(folder), strict=True):
		for f in old, new:
			for field in ('uuid', 'created', 'synced'):
				f.fields[field] = f.fields[field] != '0'
			f.fields['rate'] = '%.9g' % float(f.fields['rate'])
		at = old.open().parts[0].offset
		same = {
			'name': old.name == new.name,
			'fields': old.fields == new.fields,
			'answers': old.answers == new.answers,
			'template': old.image[72:96] + old.image[128:4088] == new.image[72:96] + new.image[128:4088],
			'part': old.image[at:] == new.image[at:],
		}
		wrong += ['%s: another %s' % (old.name, what) for what in same if not same[what]]
	return wrong


# Where numbers lie that a reader goes by: offset, bytes.
NUMBERS = [(8, 4), (12, 4), (16, 8), (24, 8), (56, 8), (64, 8), (88, 8), (128, 4), (132, 4), (136, 4), (140, 4),
	(144, 8), (152, 4), (156, 4), (160, 8), (168, 8), (176, 8), (248, 4), (256, 8), (8192, 8), (8256, 8), (8320, 8),
	(16384, 8)]
NUMBERS += [(at + offset, size) for at in (4096, 4160)
	for offset, size in ((0, 8), (8, 8), (16, 8), (24, 4), (28, 4), (32, 4), (36, 4), (40, 8), (48, 8))]
TWICE = {128: 4128, 144: 4112, 152: 4120, 156: 4124}	# of the template fields: where the part says the same
VALUES = [0, 1, 2, 3, 4, 64, 128, 256, 257, 512, 1024, 20416, 20480, 20544, 20608, 1 << 32, 1 << 47, 1 << 48,
	1 << 63, -64, -1]


def strange(g):
	"""A golden file with some numbers changed, and its checksums right."""
	b = golden.Image(g.image + bytes(64 * random.choice([0, 0, 0, 1, 2, 9])))
	if random.random() < 0.3:
		b.put(4160, b.image[4096:4152])
		b.put(8192, b'\2')
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
	for _ in range(300):
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


tap = Tap()
random.seed(20)
files = golden.all(FOLDER)
secrets = {g.name: g.secret for g in files}
for g in files:
	tap.run('%s: the library answers as its list says' % g.name, golden_answers, g)
with tempfile.TemporaryDirectory() as folder:
	for b in golden.broken(FOLDER):
		tap.run('%s: %s' % (b.name, b.error), refused, folder, b, secrets[b.file])
	for _ in range(ROUNDS):
		parameters = random_parameters()
		tap.run('a fresh %s filter with %s, m=%d, k=%d' % parameters[:4], fresh, folder, parameters)
	for _ in range(ROUNDS):
		parameters = random_parameters()
		tap.run('a %s filter with %s, m=%d, k=%d of a second writer' % parameters[:4], of_a_second_writer, folder, parameters)
	tap.run('a part larger than 2 MiB begins at 2 MiB', large, folder)
	tap.run('the library takes and refuses strange files as the reader does', same_of_strange, folder, files)
with tempfile.TemporaryDirectory() as folder:
	tap.run('the golden files made anew are the same', made_anew, folder, files)
tap.done()
