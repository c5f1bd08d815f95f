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
	wrong = ['%s: %s, not %s' % (key.hex() or '-', key in f, want) for key, want in g.answers if (key in f) != want]
	wrong += ['%s to %s: not %s' % (first, last, want) for first, last, want in g.ranges if f.holds_range(first, last) != want]
	return wrong + ['%s: %s, not %s' % (key.hex() or '-', f.value(key), want) for key, want in g.got.items() if f.value(key) != want]


def remote_keys_are_refused(g):
	f, wrong = g.open(), []
	for key in g.remote:
		try:
			wrong.append('%s: %s' % (key.hex(), key in f))
		except reader.Refused as why:
			wrong += [] if why.error == 'EREMOTE' else [str(why)]
	return wrong


def added_keys_make_the_bytes(g):
	"""Files whose list names every key: the part is exactly the bits of those."""
	f = g.open()
	part = f.parts[0]
	want = reader.KINDS[part.kind].made_of(f.family, g.entries(), part, f.constant.args)
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


def recorded(g):
	only_sets = issubclass(reader.KINDS.get(int(g.fields['kind']), object), reader.Bits)
	whole = (g.fields['synced'] != '0' and only_sets) or g.fields['sealed'] == '1' or 'origin' in g.fields
	f = g.open()
	if f.has_checkpoint_image() and not whole:	# a sync clears the marks, and the checkpoint image has the records
		return []
	_, _, record, marked, data = next(f.blocks())
	ones = int.from_bytes(data, 'little').bit_count()
	if (record is not None, marked) != (whole, not whole):
		return ['record %s, marked %s' % (record and vars(record), marked)]
	return [] if not record or (record.ones == ones and record.epoch == 1) else ['%s; it has %d' % (vars(record), ones)]


def found(name, want):
	b = next(b for b in golden.broken(FOLDER) if b.name == name)
	got = reader.Filter(bytes(b.image)).damaged_blocks()
	return [] if got == want else ['%s, not %s' % (got, want)]


def flips_of_the_part(g, sealed):
	"""What verifying finds: each bit that went from 1 to 0, and in a sealed file every other one too."""
	wrong = []
	part = g.open().parts[0]
	for bit in range(part.offset * 8, part.end * 8):
		image = bytearray(g.image)
		image[bit // 8] ^= 1 << bit % 8
		lost = not image[bit // 8] >> bit % 8 & 1
		if bool(reader.Filter(bytes(image), g.secret).damaged_blocks()) != (lost or sealed):
			wrong.append('bit %d of byte %d' % (bit % 8, bit // 8))
	return wrong


def swapped(g):
	"""One bit lost, another turned on."""
	part = g.open().parts[0]
	image = bytearray(g.image)
	at = next(i for i in range(part.offset, part.end) if image[i] not in (0, 255))
	image[at] = image[at] >> 1 | image[at] << 7 & 255
	return [] if reader.Filter(bytes(image), g.secret).damaged_blocks() == [(0, 0)] else ['not found']


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
tap.ok(all(stat.S_ISREG(os.stat(g.path).st_mode) and len(g.image) <= 40960 for g in files), 'each is small')
for g in files:
	tap.run('%s: %d answers' % (g.name, len(g.answers)), answers, g)
	if g.remote:
		tap.run('%s: keys of other parts are neither found nor denied' % g.name, remote_keys_are_refused, g)
	if g.added == int(g.fields['keys_given']):
		tap.run('%s: its bits are those of its keys' % g.name, added_keys_make_the_bytes, g)
	tap.run('%s: nothing is found' % g.name, lambda: g.open().findings())
	tap.run('%s: its block has a record if it was synced, sealed, or made whole' % g.name, recorded, g)
for b in golden.broken(FOLDER):
	tap.run('%s: %s' % (b.name, b.error), refused, b, by_name[b.file].secret)

a = by_name['classic-odd']
random.seed(1)
tap.run('every bit that is flipped in the fields of page 0 is noticed', flips, a, range(264 * 8))
tap.run('so is any other of page 0', flips, a, [8 * at + random.randrange(8) for at in range(264, 4096, 3)])
tap.run('so is every bit of the part table in use', flips, a, range(8192 * 8, 8256 * 8))
tap.run('every bit of a synced block that is lost is found', flips_of_the_part, a, False)
tap.run('every bit of a sealed block that is flipped is found', flips_of_the_part, by_name['classic-sealed'], True)
tap.run('bits that changed places are found', swapped, by_name['blocked-siphash'])
for name in ('block-record-damaged', 'block-record-of-more-bits-with-another-check', 'every-block-marked', 'flag-sealed'):
	tap.run('%s: nothing is known to be damaged' % name, found, name, [])
tap.run('a sealed block without its record is found', found, 'block-record-zero-in-a-sealed-file', [(0, 0)])
tap.run('page 0 of another file is noticed', page_of_another, a, by_name['classic-one-bit'])
with tempfile.TemporaryDirectory() as folder:
	tap.run('what is no regular file is refused', what_is_no_regular_file, folder)
	tap.run('secrets: none, damaged, another one, the right one', secrets, folder, by_name['classic-siphash'])
tap.done()
