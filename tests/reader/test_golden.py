"""test_golden.py - the second reader on the files of tests/golden, whole and broken

test_golden.py [FOLDER]
"""

import os
import random
import stat
import sys
import tempfile

import bloomery_reader as reader
import golden
from tap import Tap

FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'golden')


def error_of(image, secret=None):
	try:
		reader.Filter(bytes(image), secret)
	except reader.Refused as why:
		return why.error
	return 'ok'


def answers(g):
	f = g.open()
	return ['%s: %s, not %s' % (key.hex() or '-', key in f, want) for key, want in g.answers if (key in f) != want]


def added_keys_make_the_bytes(g):
	"""Files whose list names every key: the part is exactly the bits of those."""
	f = g.open()
	part = f.parts[0]
	want = bytearray(part.bytes)
	for key, _ in g.answers[:g.added]:
		for bit in reader.KINDS[part.kind].bits(f.family, key, part):
			want[bit // 8] |= 1 << bit % 8
	return [] if want == g.image[part.offset:part.offset + part.bytes] else ['other bits are set']


def refused(b, secret):
	got = error_of(b.image, secret)
	return [] if got == b.error else ['%s, not %s' % (got, b.error)]


def flips(g, places):
	wrong = []
	for at in places:
		image = bytearray(g.image)
		image[at // 8] ^= 1 << at % 8
		if error_of(image, g.secret) not in ('EBADMSG', 'EPROTONOSUPPORT'):
			wrong.append('bit %d of byte %d' % (at % 8, at // 8))
	return wrong


def page_of_another(a, b):
	return [] if error_of(a.image[:4096] + b.image[4096:], a.secret) == 'EBADMSG' else ['taken']


def what_is_no_regular_file(folder):
	wrong = []
	os.mkfifo(os.path.join(folder, 'fifo'))
	for path in (os.path.join(folder, 'fifo'), '/dev/null'):
		try:
			reader.open_filter(path)
			wrong.append(path)
		except reader.Refused as why:
			if why.error != 'EBADMSG':
				wrong.append('%s: %s' % (path, why.error))
	return wrong


def secrets(folder, g):
	path = os.path.join(folder, 'keyed.blm')
	wrong = []
	with open(path, 'wb') as f:
		f.write(g.image)
	right = g.secret.hex().encode() + b'\n'
	for text, want in ((None, 'ENOKEY'), (b'', 'ENOKEY'), (right[:-2], 'ENOKEY'), (b'0' * 32 + b'\n', 'ENOKEY'),
			(right, 'ok')):
		if text is not None:
			with open(path + '.key', 'wb') as f:
				f.write(text)
		try:
			reader.open_filter(path)
			got = 'ok'
		except reader.Refused as why:
			got = why.error
		if got != want:
			wrong.append('%r: %s, not %s' % (text, got, want))
	return wrong


tap = Tap()
files = golden.all(FOLDER)
by_name = {g.name: g for g in files}
tap.ok(len(files) >= 8, 'there are golden files')
tap.ok(all(stat.S_ISREG(os.stat(g.path).st_mode) and len(g.image) < 40960 for g in files), 'each is small')
for g in files:
	tap.run('%s: %d answers' % (g.name, len(g.answers)), answers, g)
	if g.added == int(g.fields['keys_given']):
		tap.run('%s: its bits are those of its keys' % g.name, added_keys_make_the_bytes, g)
	tap.run('%s: nothing behind the last cell' % g.name, lambda: g.open().findings())
for b in golden.broken(FOLDER):
	tap.run('%s: %s' % (b.name, b.error), refused, b, by_name[b.file].secret)

a = by_name['classic-odd']
random.seed(1)
tap.run('every bit that is flipped in the fields of page 0 is noticed', flips, a, range(264 * 8))
tap.run('so is any other of page 0', flips, a, [8 * at + random.randrange(8) for at in range(264, 4096, 3)])
tap.run('so is every bit of the part table in use', flips, a, range(4096 * 8, 4160 * 8))
tap.run('page 0 of another file is noticed', page_of_another, a, by_name['classic-one-bit'])
with tempfile.TemporaryDirectory() as folder:
	tap.run('what is no regular file is refused', what_is_no_regular_file, folder)
	tap.run('secrets: none, damaged, another one, the right one', secrets, folder, by_name['classic-siphash'])
tap.done()
