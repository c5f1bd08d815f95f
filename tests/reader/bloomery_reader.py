"""bloomery_reader.py - a second reader of Bloomery's files, written from format-spec.md; standard library only

	with open('F', 'rb') as f:
		filter = Filter(f.read(), secret)
	b'key' in filter

Refused(error, why) says what is wrong with a file, `error` being the name that format-spec.md gives to the failure.
From a shell: `bloomery_reader.py FILE` shows the fields, and `bloomery_reader.py FILE KEY...` answers yes or no for
each key.
"""

import hashlib
import os
import re
import stat
import struct
import sys

import hashes

HEADER_BYTES = 20480
TWO_47 = 1 << 47
M64 = (1 << 64) - 1


class Refused(Exception):
	def __init__(self, error, why):
		super().__init__('%s: %s' % (error, why))
		self.error = error


def demand(holds, error, why, *values):
	if not holds:
		raise Refused(error, why % values)


# ---- Words and cells of a key ----

def unfold(lo, hi, i):
	p = (lo + i * 0xD1B54A32D192ED03 & M64) * (hi ^ 0xA0761D6478BD642F)
	return p & M64 ^ p >> 64


def scale(x, n):
	return x * n >> 64


class Xxh3:
	"""Family 1."""
	seeds, tweaks, keyed, wide, reach = 1, 1, False, True, TWO_47

	def __init__(self, seeds, tweak, secret):
		self.seed = seeds[0]

	def hash(self, key):
		return hashes.xxh3_128(key, self.seed)


class SipHash:
	"""Family 2."""
	seeds, tweaks, keyed, wide, reach = 0, 1, True, True, TWO_47

	def __init__(self, seeds, tweak, secret):
		self.secret = secret

	def hash(self, key):
		return hashes.siphash_128(key, self.secret)


class Murmur3Bip37:
	"""Family 3: 32 bits for each probe, so it hashes to a function of the probe's number."""
	seeds, tweaks, keyed, wide, reach = 0, 1 << 32, False, False, 1 << 32

	def __init__(self, seeds, tweak, secret):
		self.tweak = tweak

	def hash(self, key):
		return lambda i: hashes.murmur3_32(key, (i * 0xFBA4C795 + self.tweak) % 2**32)


FAMILIES = {1: Xxh3, 2: SipHash, 3: Murmur3Bip37}


def cells_of(family, key, probes, cells):
	h = family.hash(key)
	if not family.wide:
		return [h(i) % cells for i in range(probes)]
	return [scale(unfold(*h, i), cells) for i in range(probes)]


class Classic:
	"""Kind 1."""
	@staticmethod
	def valid(part):
		return 1 <= part.cells <= TWO_47 and part.bytes == (part.cells + 511) // 512 * 64

	@staticmethod
	def takes(family, part):
		return part.cells <= family.reach

	@staticmethod
	def bits(family, key, part):
		return cells_of(family, key, part.probes, part.cells)

	@staticmethod
	def padding(part):
		return range(part.cells, part.bytes * 8)


class Blocked:
	"""Kind 2."""
	@staticmethod
	def valid(part):
		return 512 <= part.cells <= TWO_47 and part.cells % 512 == 0 and part.bytes == part.cells // 8

	@staticmethod
	def takes(family, part):
		return family.wide

	@staticmethod
	def bits(family, key, part):
		lo, hi = family.hash(key)
		block = scale(hi, part.cells // 512)
		return [512 * block + (unfold(lo, hi, i // 7) >> 9 * (i % 7)) % 512 for i in range(part.probes)]

	@staticmethod
	def padding(part):
		return range(0)


KINDS = {1: Classic, 2: Blocked}


# ---- The header ----

class Fields:
	"""A struct's fields as attributes: name -> (offset, form of struct.unpack)."""
	def __init__(self, image, base, fields):
		for name, (offset, form) in fields.items():
			value = struct.unpack_from('<' + form, image, base + offset)
			setattr(self, name, value if len(value) > 1 else value[0])


CONSTANT = {
	'magic': (0, '8s'), 'version': (8, 'I'), 'header_bytes': (12, 'I'), 'must_understand': (16, 'Q'),
	'may_ignore': (24, 'Q'), 'uuid': (32, '16s'), 'created': (48, 'Q'), 'capacity': (56, 'Q'), 'rate': (64, 'd'),
	'template_id': (72, '16s'), 'flags': (88, 'Q'), 'check': (4088, 'Q'),
	'kind': (128, 'I'), 'family': (132, 'I'), 'index_rule': (136, 'I'), 'bit_order': (140, 'I'), 'cells': (144, 'Q'),
	'probes': (152, 'I'), 'cell_bits': (156, 'I'), 'tweak': (160, 'Q'), 'key_id': (168, '8s'), 'args': (176, '8Q'),
	'seed_count': (248, 'I'), 'seeds': (256, '256Q'),
}
ENTRY = {
	'offset': (0, 'Q'), 'bytes': (8, 'Q'), 'cells': (16, 'Q'), 'probes': (24, 'I'), 'cell_bits': (28, 'I'),
	'kind': (32, 'I'), 'role': (36, 'I'), 'capacity': (40, 'Q'), 'rate': (48, 'd'), 'check': (56, 'Q'),
}
LIVE = {
	'parts': (0, 'Q'), 'state': (64, 'Q'), 'epoch': (128, 'Q'), 'written': (192, 'Q'), 'boot': (256, 'Q'),
	'inexact': (320, 'Q'),
}
SYNC = {'sequence': (0, 'Q'), 'epoch': (8, 'Q'), 'keys': (16, 'Q'), 'time': (24, 'Q'), 'check': (56, 'Q')}
RECORD = {
	'sequence': (0, 'Q'), 'name_bytes': (8, 'I'), 'labels_bytes': (12, 'I'), 'name': (16, '256s'),
	'labels': (272, '1536s'), 'check': (2040, 'Q'),
}


def constant_check(image):
	return hashes.xxh3_64(image[0:4088])


def template_id(image):
	seeds = struct.unpack_from('<I', image, 248)[0]
	return struct.pack('<2Q', *hashes.xxh3_128(image[128:256 + 8 * seeds]))


def uuid_number(image):
	return struct.unpack_from('<Q', image, 32)[0]


def entry_check(image, i):
	at = 4096 + 64 * i
	return hashes.xxh3_64(image[at:at + 56], uuid_number(image) + i & M64)


def slot_check(image, at, size):
	return hashes.xxh3_64(image[at:at + size - 8], uuid_number(image))


def check_constant(image):
	demand(len(image) < 8 or image[:8] == b'BLOOMERY', 'EBADMSG', 'does not begin with BLOOMERY')
	demand(len(image) >= HEADER_BYTES, 'ENODATA', '%d bytes, shorter than a header', len(image))
	c = Fields(image, 0, CONSTANT)
	demand(c.version == 1, 'EPROTONOSUPPORT', 'version %d', c.version)
	demand(c.check == constant_check(image), 'EBADMSG', 'the checksum of page 0 is wrong')
	demand(c.must_understand == 0, 'EPROTONOSUPPORT', 'features %#x', c.must_understand)
	demand(c.header_bytes == HEADER_BYTES, 'EBADMSG', 'header_bytes is %d', c.header_bytes)
	demand(c.seed_count <= 256, 'EBADMSG', 'seed_count is %d', c.seed_count)
	demand(c.index_rule == 0 and c.bit_order == 0, 'EPROTONOSUPPORT', 'index rule %d, bit order %d',
		c.index_rule, c.bit_order)
	demand(c.template_id == template_id(image), 'EBADMSG', 'template_id is not that of the template')
	demand(0 < c.rate <= 1, 'EBADMSG', 'rate is %g', c.rate)	# not so for a NaN
	demand(1 <= c.capacity <= TWO_47, 'EBADMSG', 'capacity is %d', c.capacity)
	return c


def check_entries(image):
	count = Fields(image, 8192, LIVE).parts
	demand(1 <= count <= 64, 'EBADMSG', '%d parts', count)
	parts = []
	for i in range(count):
		p = Fields(image, 4096 + 64 * i, ENTRY)
		demand(p.check == entry_check(image, i), 'EBADMSG', 'the checksum of part %d is wrong', i)
		demand(p.offset >= HEADER_BYTES and p.offset % 64 == 0 and p.bytes % 64 == 0 and p.bytes, 'EBADMSG',
			'part %d: offset %d, %d bytes', i, p.offset, p.bytes)
		demand(p.offset <= len(image) and p.bytes <= len(image) - p.offset, 'ENODATA', 'part %d ends behind the file', i)
		for q in parts:
			demand(p.offset >= q.offset + q.bytes or q.offset >= p.offset + p.bytes, 'EBADMSG', 'parts overlap')
		parts.append(p)
	return parts


def check_kind(c, parts):
	demand(c.family in FAMILIES, 'EPROTONOSUPPORT', 'hash family %d', c.family)
	family = FAMILIES[c.family]
	for p in parts:
		demand(p.kind in KINDS, 'EPROTONOSUPPORT', 'kind %d', p.kind)
		demand(KINDS[p.kind].valid(p) and 1 <= p.probes <= 256 and p.cell_bits == 1, 'EBADMSG',
			'm=%d, k=%d, %d-bit cells in %d bytes', p.cells, p.probes, p.cell_bits, p.bytes)
	first = parts[0]
	demand((first.kind, first.cells, first.probes, first.cell_bits) == (c.kind, c.cells, c.probes, c.cell_bits), 'EBADMSG',
		'the part table and the template disagree')
	demand(len(parts) == 1, 'EBADMSG', '%d parts; the kind has one', len(parts))
	demand(KINDS[first.kind].takes(family, first), 'EBADMSG', 'kind %d with %d cells cannot use family %d',
		c.kind, c.cells, c.family)
	demand(c.seed_count == family.seeds, 'EBADMSG', '%d seeds; the family takes %d', c.seed_count, family.seeds)
	demand(c.tweak < family.tweaks, 'EBADMSG', 'tweak %d is none of the family', c.tweak)


def key_id(secret):
	return hashlib.blake2b(secret, digest_size=32).digest()[:8]


def last_of(image, at, size, fields, in_range):
	"""The valid one of two slots with the greater sequence, or None."""
	found = None
	for slot in (at, at + size):
		r = Fields(image, slot, fields)
		valid = r.sequence and r.check == slot_check(image, slot, size) and in_range(r)
		if valid and (not found or r.sequence > found.sequence):
			found = r
	return found


class Filter:
	def __init__(self, image, secret=None):
		"""image: the file's bytes, a copy that nobody changes. secret: 16 bytes, for keyed families."""
		self.image = image
		self.constant = c = check_constant(image)
		self.parts = check_entries(image)
		check_kind(c, self.parts)
		family = FAMILIES[c.family]
		if family.keyed:
			demand(secret is not None, 'ENOKEY', 'no secret')
			demand(key_id(secret) == c.key_id, 'ENOKEY', 'the secret is of another filter')
		self.family = family(c.seeds[:c.seed_count], c.tweak, secret)
		self.live = Fields(image, 8192, LIVE)

	def is_set(self, part, bit):
		return self.image[part.offset + bit // 8] >> bit % 8 & 1 == 1

	def __contains__(self, key):
		return any(all(self.is_set(p, bit) for bit in KINDS[p.kind].bits(self.family, key, p)) for p in self.parts)

	def keys(self):
		return sum(struct.unpack_from('<Q', self.image, 16384 + 64 * i)[0] for i in range(64)) & M64

	def last_sync(self):
		return last_of(self.image, 8576, 64, SYNC, lambda r: True)

	def dirty(self):
		last = self.last_sync()
		return self.live.written > (last.epoch if last else 0)

	def name(self):
		r = last_of(self.image, 12288, 2048, RECORD, lambda r: r.name_bytes <= 255 and r.labels_bytes <= 1535)
		return r.name[:r.name_bytes] if r else b''

	def findings(self):
		"""What a reader that is asked to verify reports."""
		return ['bit %d lies behind the last cell' % bit for p in self.parts for bit in KINDS[p.kind].padding(p)
			if self.is_set(p, bit)]


def read_secret(path):
	"""None where there is none."""
	try:
		with open(path, 'rb') as f:
			text = f.read(34)
	except OSError:
		return None
	return bytes.fromhex(text.decode()) if re.fullmatch(rb'[0-9a-f]{32}\n', text) else None


def open_filter(path, secret=None):
	fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
	with open(fd, 'rb') as f:
		demand(stat.S_ISREG(os.fstat(fd).st_mode), 'EBADMSG', 'not a regular file')
		return Filter(f.read(), secret or read_secret(path + '.key'))


def main(*arguments):
	if not arguments:
		sys.exit('usage: bloomery_reader.py FILE [KEY...]')
	path, *keys = arguments
	try:
		f = open_filter(path)
	except Refused as why:
		sys.exit('%s: %s' % (path, why))
	for key in keys:
		print('yes' if os.fsencode(key) in f else 'no', key)
	if not keys:
		c = f.constant
		print('kind %d, family %d, m=%d, k=%d, %d keys of %d at rate %g%s' % (c.kind, c.family, c.cells, c.probes, f.keys(),
			c.capacity, c.rate, ', dirty' if f.dirty() else ''))


if __name__ == '__main__':
	main(*sys.argv[1:])
