"""bloomery_reader.py - a second reader of Bloomery's files, written from format-spec.md; standard library only

	with open('F', 'rb') as f:
		filter = Filter(f.read(), secret)
	b'key' in filter

Refused(error, why) says what is wrong with a file, `error` being the name that format-spec.md gives to the failure.
From a shell: `bloomery_reader.py FILE` shows the fields, and `bloomery_reader.py FILE KEY...` answers yes or no for
each key.
"""

import datetime
import functools
import hashlib
import ipaddress
import math
import operator
import os
import re
import stat
import struct
import sys
import time

import hashes

HEADER_BYTES = 20480
BLOCK = 65536
SEALED = 2
SECOND_IMAGE = 4
SPLIT = 1		# of must_understand
ONE_PART = (2, 3, 4)	# kinds where a key belongs to one part of a split filter
SPLIT_KINDS = ONE_PART + (1, 6, 8, 15, 16, 17, 18)
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


class Family:
	"""How many seeds, or None for one for each probe; what tweak and seeds are below; what it gives, and reaches."""
	seeds, tweaks, seed_limit, keyed, wide, reach, bits, number, digest_bytes = 0, 1, 1 << 64, False, True, TWO_47, 128, False, 0
	ordered = columns = False

	def cell(self, hash, cells):
		return hash % cells


class Xxh3(Family):
	"""Family 1."""
	seeds = 1

	def __init__(self, seeds, tweak, secret):
		self.seed = seeds[0]

	def hash(self, key):
		return hashes.xxh3_128(key, self.seed)

	digest_bytes = 16

	def digest(self, key):
		lo, hi = self.hash(key)
		return hi.to_bytes(8, 'big') + lo.to_bytes(8, 'big')


class Xxh3Column(Xxh3):
	"""Family 39: the key begins with a column and a tab."""
	columns = True

	@staticmethod
	def mask(hi):
		return hi * 0x9E3779B97F4A7C15 & M64

	def hash(self, key):
		demand(b'\t' in key, 'EINVAL', 'a key has no column')
		(lo, hi), rest = super().hash(key), (1 << 37) - 1
		column = super().hash(key[:key.index(b'\t')])[0]
		return (column & ~rest | lo & rest) ^ self.mask(hi), hi

	def column(self, key):
		lo, hi = self.hash(key)
		return (lo ^ self.mask(hi)) >> 37


class Xxh3Of64(Family):
	"""Family 40."""
	bits, seeds = 64, 1

	def __init__(self, seeds, tweak, secret):
		self.seed = seeds[0]

	def hash(self, key):
		return (hashes.xxh3_64(key, self.seed),) * 2


class SipHash(Family):
	"""Family 2."""
	keyed = True

	def __init__(self, seeds, tweak, secret):
		self.secret = secret

	def hash(self, key):
		return hashes.siphash_128(key, self.secret)


class Murmur3Bip37(Family):
	"""Family 3: 32 bits for each probe, so it hashes to a function of the probe's number."""
	tweaks, wide, reach = 1 << 32, False, 1 << 32

	def __init__(self, seeds, tweak, secret):
		self.tweak = tweak

	def hash(self, key):
		return lambda i: hashes.murmur3_32(key, (i * 0xFBA4C795 + self.tweak) % 2**32)


class Xxh64(Family):
	"""Family 11."""
	bits = 64

	def __init__(self, seeds, tweak, secret):
		pass

	def hash(self, key):
		return (hashes.xxh64(key),) * 2


class Integer(Family):
	"""Family 12: the key's number and 0, or what is none."""
	number = True

	def __init__(self, seeds, tweak, secret):
		pass

	def hash(self, key):
		if not re.fullmatch(rb'[0-9]+', key):
			return 0, 1
		return (0, 2) if int(key) > M64 else (int(key), 0)


class Ordered(Family):
	"""Families 33 to 38: the hash is the key's place, its level (None: it is no key) and the seed."""
	bits, seeds, seed_limit, ordered = 64, 1, 1 << 57, True

	def __init__(self, seeds, tweak, secret):
		self.seed = seeds[0]

	def hash(self, key):
		return (*self.place(key), self.seed)


class OrderedString(Ordered):
	"""Family 33."""
	def place(self, key):
		return int.from_bytes(key[:8].ljust(8, b'\0'), 'big'), 0


class OrderedUint(Ordered):
	"""Family 34."""
	def place(self, key):
		return (int(key), 0) if re.fullmatch(rb'[0-9]+', key) and int(key) <= M64 else (0, None)


class OrderedInt(Ordered):
	"""Family 35."""
	def place(self, key):
		return (int(key) + 2**63, 0) if re.fullmatch(rb'-?[0-9]+', key) and -2**63 <= int(key) < 2**63 else (0, None)


class OrderedTime(Ordered):
	"""Family 36."""
	def place(self, key):
		plain = re.fullmatch(rb'(-?)([0-9]+)(?:\.([0-9]+))?', key)
		if plain and int(plain[2]) < 2**63:
			seconds = int(plain[2])
			return 2**63 + (-seconds - bool(int(plain[3] or b'0')) if plain[1] else seconds), 0
		t = re.fullmatch(rb'(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:[Zz]|([+-])(\d\d):(\d\d))?)?', key)
		if not t:
			return 0, None
		year, month, day, hour, minute, second = (int(x or 0) for x in t.groups()[:6])
		east = (int(t[8] or 0) * 60 + int(t[9] or 0)) * (-60 if t[7] == b'-' else 60)
		try:	# 400 years later the calendar is the same; a date has no year 0, and none above 9999
			early = year < 400
			days = datetime.date(year + 400 * early, month, day).toordinal() - datetime.date(1970 + 400 * early, 1, 1).toordinal()
		except ValueError:
			return 0, None
		if hour > 23 or minute > 59 or second > 60 or int(t[8] or 0) > 23 or int(t[9] or 0) > 59:
			return 0, None
		return 2**63 + days * 86400 + hour * 3600 + minute * 60 + second - east, 0


class OrderedIp(Ordered):
	"""Family 37."""
	def place(self, key):
		text, slash, length = key.decode('latin-1').partition('/')
		try:
			address = ipaddress.ip_address(text)
		except ValueError:
			return 0, None
		if slash and not re.fullmatch('[0-9]+', length) or '%' in text or len(key) > 63:
			return 0, None
		length = int(length) if slash else address.max_prefixlen
		if length > address.max_prefixlen:
			return 0, None
		if address.version == 6 and address.ipv4_mapped and length >= 96:
			address, length = address.ipv4_mapped, length - 96
		elif address.version == 6 and 32 < length < 96 and int(address) >> 128 - length == 0xffff << 32 >> 128 - length:
			return 0, None
		if address.version == 4:
			place, level = int(address), 32 - length
		else:
			place, level = int(address) >> 64, max(64 - length, 0)
		return (place >> level, level) if level < 64 else (0, None)


class OrderedSurt(Ordered):
	"""Family 38."""
	def place(self, key):
		if not key:
			return 0, 0
		rest = re.sub(rb'^[^:/?#]*://', b'', key)
		at = next((i for i, byte in enumerate(rest) if byte in b'/?#)'), len(rest))
		host, path = rest[:at], rest[at:]
		host = host.partition(b'@')[2] if b'@' in host else host
		colon = host.find(b':', host.find(b']') if host.startswith(b'[') and b']' in host else len(host) if host.startswith(b'[') else 0)
		host = host[:colon] if colon >= 0 else host
		host = host[:-1] if host.endswith(b'.') else host
		if not (re.fullmatch(rb'[0-9.]*', host) or host.startswith(b'[') or b',' in host):
			labels = host.split(b'.')[::-1]
			host = b','.join(labels)
		host = bytes(b + 32 if 65 <= b <= 90 else b for b in host)
		text = host + (b'' if path.startswith(b')') else b')') + path
		return int.from_bytes(text[:8].ljust(8, b'\0'), 'big'), 0


class Murmur64(Family):
	"""Family 32."""
	bits = 64

	def __init__(self, seeds, tweak, secret):
		pass

	def hash(self, key):
		return (hashes.murmur64a(key, 0),) * 2


class SipHash64(Family):
	"""Family 13."""
	bits, seeds = 64, 2

	def __init__(self, seeds, tweak, secret):
		self.key = seeds

	def hash(self, key):
		return (hashes.siphash_64(key, *self.key),) * 2


class ByProbe(Family):
	"""Families 4 to 10, and 31: a hash for each probe, with that probe's seed."""
	seeds, seed_limit, wide, reach = None, 1 << 32, False, 1 << 32

	def __init__(self, seeds, tweak, secret):
		self.seeds_of_probes = seeds

	def hash(self, key):
		return lambda i: type(self).of(key, self.seeds_of_probes[i])


def by_probe(hash, reach=1 << 32, **more):
	return type(hash.__name__, (ByProbe,), {'of': staticmethod(hash), 'reach': reach, **more})


def signed_cell(family, hash, cells):
	"""Of family 31: numbered from the lowest."""
	size = (cells + 1) // 2
	return int(math.fmod(hash, size)) + size - 1


class Pair(Family):
	"""Families of other programs that give two numbers and take no seed."""
	def __init__(self, seeds, tweak, secret):
		pass

	def hash(self, key):
		return type(self).of(key)


def pair(name, of, bits=128):
	return type(name, (Pair,), {'of': staticmethod(of), 'bits': bits, 'reach': TWO_47 if bits >= 64 else 1 << bits})


class Digest(Pair):
	"""Families of which there is more than 128 bits, or which are cut; the halves are its first 16 bytes."""
	def digest(self, key):
		return type(self).of(key)

	def hash(self, key):
		return struct.unpack_from('<QQ', type(self).of(key))


def digest(name, of):
	return type(name, (Digest,), {'of': staticmethod(of), 'digest_bytes': len(of(b''))})


class Murmur3(Family):
	"""Family 16."""
	seeds, seed_limit, digest_bytes = 1, 1 << 32, 16

	def __init__(self, seeds, tweak, secret):
		self.seed = seeds[0]

	def hash(self, key):
		return hashes.murmur3_128(key, self.seed)

	def digest(self, key):
		return struct.pack('<QQ', *self.hash(key))


class SipHash13(Family):
	"""Family 22."""
	seeds = 4

	def __init__(self, seeds, tweak, secret):
		self.keys = seeds

	def hash(self, key):
		key = len(key).to_bytes(8, 'little') + key
		return hashes.siphash13(key, *self.keys[:2]), hashes.siphash13(key, *self.keys[2:])


class ScrapyRedis(Family):
	"""Family 29."""
	wide = False

	def __init__(self, seeds, tweak, secret):
		pass

	def hash(self, key):
		return lambda i: functools.reduce(lambda r, byte: ((i + 1) * r + byte) & M64, key, 0)


def twice(hash, seed):
	return lambda key: (hash(key, seed), hash(key, hash(key, seed)))


def leveldb(key):
	h = hashes.leveldb(key)
	return h, hashes.rotl32(h, 15)


FAMILIES = {
	16: Murmur3, 17: pair('murmur64a', twice(hashes.murmur64a, 0xc6a4a7935bd1e995)),
	18: pair('murmur2', twice(hashes.murmur2, 0x9747b28c), 32), 19: pair('leveldb', leveldb, 32),
	20: pair('fnv1', lambda key: (hashes.fnv1(key),) * 2, 64), 21: pair('fnv1a', lambda key: (hashes.fnv1(key, True),) * 2, 64),
	22: SipHash13, 23: digest('md5-digest', lambda key: hashlib.md5(key).digest()),
	24: digest('sha1-digest', lambda key: hashlib.sha1(key).digest()), 25: digest('sha256-digest', lambda key: hashlib.sha256(key).digest()),
	26: digest('sha384-digest', lambda key: hashlib.sha384(key).digest()),
	27: digest('sha512-digest', lambda key: hashlib.sha512(key).digest()), 28: digest('keccak256', hashes.keccak256),
	29: ScrapyRedis, 30: digest('squid', lambda key: hashlib.md5(b'\x01' + key).digest()), 31: by_probe(hashes.js, seed_limit=1 << 21, cell=signed_cell),
	1: Xxh3, 2: SipHash, 3: Murmur3Bip37, 4: by_probe(hashes.djb), 5: by_probe(hashes.djb_int), 6: by_probe(hashes.md5),
	7: by_probe(hashes.superfast), 8: by_probe(hashes.sha512), 9: by_probe(hashes.mm3_32),
	10: by_probe(hashes.mm3_64, TWO_47), 11: Xxh64, 12: Integer, 13: SipHash64, 32: Murmur64,
	33: OrderedString, 34: OrderedUint, 35: OrderedInt, 36: OrderedTime, 37: OrderedIp, 38: OrderedSurt, 39: Xxh3Column, 40: Xxh3Of64,
}
OF_64_BITS = Xxh64, SipHash64, Murmur64, Xxh3Of64	# without a rule of their own


def cells_of(family, key, probes, cells):
	h = family.hash(key)
	if not family.wide:
		return [family.cell(h(i), cells) for i in range(probes)]
	return [scale(unfold(*h, i), cells) for i in range(probes)]


# ---- Index rules: the cells of a key, in closed form ----

P = 2**64 - 59


def dcso(family, key, k, m):
	h, cells = family.hash(key)[0] % P, []
	for _ in range(k):
		h = h * (2**64 - 1469) % 2**64 % P
		cells.append(h % m)
	return cells


def literature(formula):
	def cells(family, key, k, m):
		a, b = family.hash(key)
		return [formula(a, b, unfold(a, b, 0), i) % m for i in range(k)]
	return cells


def guava_32(family, key, k, m):
	a, b = family.hash(key)[0] & hashes.M32, family.hash(key)[0] >> 32
	h = [a + i * b & hashes.M32 for i in range(1, k + 1)]
	return [(x ^ hashes.M32 if x >> 31 else x) % m for x in h]


def slices(width):
	return lambda family, key, k, m: [int.from_bytes(family.digest(key)[i * width:][:width], 'big') % m for i in range(k)]


def four_words(family, key, k, m):
	h = struct.unpack('<QQQQ', family.digest(key)[:16] + family.digest(key + b'\x01')[:16])
	return [(h[i % 2] + i * h[2 + (i + i % 2) % 4 // 2]) % 2**64 % m for i in range(k)]


def pybloom(family, key, k, m):
	of, width = m // k, 2 if m // k < 2**15 else 4 if m // k < 2**31 else 8
	words, cells = family.digest_bytes // width, []
	for i in range(k):
		number = family.digest((i // words).to_bytes(4, 'little'))
		cut = family.digest(number + key)[i % words * width:][:width]
		cells.append(i * of + int.from_bytes(cut, 'little') % of)
	return cells


def pybloom_chain(family, key, k, m):
	of = max(m // k, 1)
	width = 2 if of < 2**15 else 4 if of < 2**31 else 8
	if k * width > family.digest_bytes:
		family = next(f for f in (FAMILIES[i] for i in (24, 25, 26, 27)) if k * width <= f.digest_bytes or f is FAMILIES[27])([], 0, None)
	return [cell % m for cell in pybloom(family, key, k, of * k)]


class Rule:
	"""bits: that the family must have; None: it must have a digest, of which a cell takes so many bytes, or any."""
	def __init__(self, cells, bits=None, slice=None, ranges=False):
		self.cells, self.bits, self.slice, self.ranges = cells, bits, slice, ranges

	def takes(self, family, probes, cells):
		if not family.wide or family.number or (self.ranges and cells % probes):
			return False
		if self.bits:
			return family.bits >= self.bits
		return family.digest_bytes > 0 and (not self.slice or probes * self.slice <= family.digest_bytes and cells <= 256 ** self.slice)


class Own:
	"""Rule 0."""
	cells = staticmethod(cells_of)

	@staticmethod
	def takes(family, probes, cells):
		return not family.wide or family.number or family.bits >= 64


RULES = {
	0: Own, 1: Rule(literature(lambda a, b, c, i: a + i * b), 128), 2: Rule(literature(lambda a, b, c, i: a + i * b + (i**3 - i) // 6), 128),
	3: Rule(literature(lambda a, b, c, i: a + i * b + i * (i - 1) // 2 * c), 128),
	4: Rule(lambda family, key, k, m: [hashes.r64(family.digest(i.to_bytes(4, 'little') + key)) % m for i in range(k)]),
	5: Rule(slices(4), slice=4), 6: Rule(lambda family, key, k, m: [i * (m // k) + scale(unfold(*family.hash(key), i), m // k) for i in range(k)], 128, ranges=True),
	7: Rule(literature(lambda a, b, c, i: (a + i * b) % 2**64), 32), 8: Rule(literature(lambda a, b, c, i: (a + i * b) % 2**32), 32),
	9: Rule(guava_32, 128), 10: Rule(literature(lambda a, b, c, i: (a + i * b) % 2**63), 128), 11: Rule(dcso, 64),
	12: Rule(literature(lambda a, b, c, i: a if i == 0 else b if i == 1 else (a + i * b) % 2**64 % P), 128),
	13: Rule(slices(2), slice=2), 14: Rule(pybloom, ranges=True), 15: Rule(four_words), 16: Rule(pybloom_chain),
}
RULES_OF_STAGES = 1, 2, 3, 7, 8, 9, 10, 11, 12, 16	# that are for every m and k: scalable filters have them, too


def flip_of(order, cells):
	"""What a bit's number differs in from that of its cell; None: there is no such order of so many."""
	return [0, 7, 56, cells - 8 if cells >= 8 and cells & cells - 1 == 0 else None][order]


class Bits:
	"""Kinds whose cells are bits; `bits` are those that a key has; None: it can have none."""
	@staticmethod
	def args_valid(args):
		return not any(args)

	@staticmethod
	def sizes_valid(part):
		return 1 <= part.cells <= TWO_47 and part.bytes == (part.cells + 511) // 512 * 64 and part.cell_bits == 1

	@classmethod
	def holds(kind, image, family, key, part, args):
		bits = kind.bits(family, key, part)
		return bits is not None and all(image[part.offset + bit // 8] >> bit % 8 & 1 for bit in bits)

	@classmethod
	def made_of(kind, family, entries, part, args):
		"""The part's bytes, of these keys (with their values)."""
		made = bytearray(part.bytes)
		for key, _ in entries:
			for bit in kind.bits(family, key, part):
				made[bit // 8] |= 1 << bit % 8
		return made

	@staticmethod
	def padding(part):
		return range(part.cells, part.bytes * 8)


class Classic(Bits):
	"""Kind 1."""
	@classmethod
	def valid(kind, part, args):
		return kind.sizes_valid(part)

	@staticmethod
	def takes(family, part):
		return not family.number and part.cells <= family.reach

	@staticmethod
	def bits(family, key, part):
		return [cell ^ part.flip for cell in RULES[part.rule].cells(family, key, part.probes, part.cells)]

	@staticmethod
	def padding(part):
		from_bit = part.cells // 64 * 64 if part.flip else part.cells
		return [bit for bit in range(from_bit, part.bytes * 8) if bit ^ part.flip >= part.cells]


class Blocked(Bits):
	"""Kind 2."""
	@classmethod
	def valid(kind, part, args):
		return kind.sizes_valid(part) and part.cells % 512 == 0

	@staticmethod
	def takes(family, part):
		return family.wide and not family.number and (family.bits == 128 or family in OF_64_BITS)

	@staticmethod
	def bits(family, key, part):
		lo, hi = family.hash(key)
		block = scale(hi, part.cells // 512)
		return [512 * block + (unfold(lo, hi, i // 7) >> 9 * (i % 7)) % 512 for i in range(part.probes)]


class SplitBlock(Bits):
	"""Kind 3."""
	SALTS = (0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31)

	@staticmethod
	def args_valid(args):
		return args[0] <= 1 and not any(args[1:])

	@classmethod
	def valid(kind, part, args):
		blocks = part.cells // 256
		return (kind.sizes_valid(part) and part.cells % 256 == 0 and blocks < 1 << 31 and part.probes == 8
			and (not args[0] or blocks & blocks - 1 == 0))

	@staticmethod
	def takes(family, part):
		return family.wide and not family.number and (family.bits == 128 or family in OF_64_BITS)

	@classmethod
	def bits(cls, family, key, part):
		lo, _ = family.hash(key)
		block = (lo >> 32) * (part.cells // 256) >> 32
		return [256 * block + 32 * i + ((lo & 0xffffffff) * salt % 2**32 >> 27) for i, salt in enumerate(cls.SALTS)]


class Bitmap(Bits):
	"""Kind 4."""
	@classmethod
	def valid(kind, part, args):
		return kind.sizes_valid(part) and part.probes == 1

	@staticmethod
	def takes(family, part):
		return family.number

	@staticmethod
	def bits(family, key, part):
		number, none = family.hash(key)
		return None if none or number >= part.cells else [number]


class Numbers:
	"""Kinds that hold a number in each cell: as many as fit whole in a word, the first in its lowest bits."""
	@staticmethod
	def a_word(part):
		return 64 // part.cell_bits

	@classmethod
	def sizes_valid(kind, part):
		words = -(-part.cells // kind.a_word(part))
		return 1 <= part.cells <= TWO_47 and part.bytes == (words * 8 + 63) // 64 * 64

	@staticmethod
	def takes(family, part):
		needs_rule = family.wide and family.bits < 128 and family not in OF_64_BITS
		return not family.number and not needs_rule and part.cells <= family.reach

	@staticmethod
	def cells(family, key, part):
		"""Each once."""
		return set(cells_of(family, key, part.probes, part.cells))

	@classmethod
	def place(kind, cell, part):
		"""Where its word is in the part, and how far it lies from the word's lowest bit."""
		return cell // kind.a_word(part) * 8, cell % kind.a_word(part) * part.cell_bits

	@classmethod
	def values(kind, image, family, key, part):
		for cell in kind.cells(family, key, part):
			at, shift = kind.place(cell, part)
			yield struct.unpack_from('<Q', image, part.offset + at)[0] >> shift & (1 << part.cell_bits) - 1

	@classmethod
	def made_of(kind, family, entries, part, args):
		made = [0] * part.cells
		for key, value in entries:
			for cell in kind.cells(family, key, part):
				made[cell] = kind.joined(made[cell], value, args)
		words = [0] * (part.bytes // 8)
		for cell, value in enumerate(made):
			at, shift = kind.place(cell, part)
			words[at // 8] |= value << shift
		return struct.pack('<%dQ' % len(words), *words)

	@classmethod
	def padding(kind, part):
		at, shift = kind.place(part.cells - 1, part)
		left = range(64 // part.cell_bits * part.cell_bits, 64)
		return [word * 64 + bit for word in range(at // 8) for bit in left] + list(range(at * 8 + shift + part.cell_bits, part.bytes * 8))


class HashCompact(Numbers):
	"""Kind 5."""
	@staticmethod
	def args_valid(args):
		return 8 <= args[0] <= 64 and 0.05 <= struct.unpack('<d', struct.pack('<Q', args[1]))[0] <= 0.95 and not any(args[2:])

	@classmethod
	def valid(kind, part, args):
		return part.cell_bits == args[0] and kind.sizes_valid(part) and -(-part.cells // kind.a_word(part)) <= 1 << 41 and part.probes == 1

	@staticmethod
	def takes(family, part):
		return family.wide and family.bits == 128 and not family.number

	@classmethod
	def walk(kind, data, at, family, key, part):
		"""The key's signature, then each cell that may have it: where its word lies in `data`, its shift in it, and what it holds."""
		lo, hi = family.hash(key)
		mask, home = (1 << part.cell_bits) - 1, scale(hi, part.cells)
		yield 1 + scale(lo, mask)
		for i in range(min(part.cells, 32768)):
			word, shift = kind.place((home + i) % part.cells, part)
			yield at + word, shift, struct.unpack_from('<Q', data, at + word)[0] >> shift & mask

	@classmethod
	def holds(kind, image, family, key, part, args):
		cells = kind.walk(image, part.offset, family, key, part)
		signature = next(cells)
		for _, _, cell in cells:
			if cell in (0, signature):
				return cell != 0
		return False

	@classmethod
	def made_of(kind, family, entries, part, args):
		made = bytearray(part.bytes)
		for key, _ in entries:
			cells = kind.walk(made, 0, family, key, part)
			signature = next(cells)
			for at, shift, cell in cells:
				if not cell:
					struct.pack_into('<Q', made, at, struct.unpack_from('<Q', made, at)[0] | signature << shift)
				if cell in (0, signature):
					break
		return made


class Counting(Numbers):
	"""Kind 6."""
	@staticmethod
	def args_valid(args):
		return args[0] in (3, 4) and not any(args[1:])

	@classmethod
	def valid(kind, part, args):
		return part.cell_bits == args[0] and kind.sizes_valid(part)

	@classmethod
	def holds(kind, image, family, key, part, args):
		return all(kind.values(image, family, key, part))

	@staticmethod
	def joined(cell, value, args):
		return min(cell + 1, (1 << args[0]) - 1)


class Approximator(Numbers):
	"""Kind 7."""
	MAX, MIN, OR = range(3)

	@classmethod
	def args_valid(kind, args):
		return 1 <= args[0] <= 64 and args[1] <= kind.OR and not any(args[2:])

	@classmethod
	def valid(kind, part, args):
		return part.cell_bits == args[0] and kind.sizes_valid(part)

	@staticmethod
	def above_bottom(value, args):
		return (1 << args[0]) - 1 - value if args[1] == Approximator.MIN else value

	@classmethod
	def joined(kind, cell, value, args):
		value = kind.above_bottom(value, args)
		return cell | value if args[1] == kind.OR else max(cell, value)

	@classmethod
	def value(kind, image, family, key, part, args):
		"""None where the key has none."""
		cells = list(kind.values(image, family, key, part))
		met = functools.reduce(operator.and_, cells) if args[1] == kind.OR else min(cells)
		return kind.above_bottom(met, args) if met else None

	@classmethod
	def holds(kind, image, family, key, part, args):
		return kind.value(image, family, key, part, args) is not None


def bits_at(image, at, bit, count):
	"""`count` bits from bit `bit` behind byte `at` on."""
	first, last = at + bit // 8, at + (bit + count + 7) // 8
	return int.from_bytes(image[first:last], 'little') >> bit % 8 & (1 << count) - 1


class Fingerprints:
	"""Kinds that hold something of each key's hash: what they share."""
	@staticmethod
	def takes(family, part):
		return family.wide and family.bits == 128 and not family.number and part.cells <= family.reach

	@staticmethod
	def padding(part):
		return range(part.cells * part.cell_bits, part.bytes * 8)


class Cuckoo(Fingerprints):
	"""Kind 8."""
	WINDOWS = 1

	@staticmethod
	def args_valid(args):
		return args[0] <= 1 and not any(args[1:])

	@classmethod
	def shape(kind, args):
		"""Cells of a place, cells to the next, and bits that say which of a place's a cell is."""
		return (2, 1, 1) if args[0] == kind.WINDOWS else (4, 4, 0)

	@classmethod
	def valid(kind, part, args):
		slots, step, _ = kind.shape(args)
		return (slots <= part.cells <= TWO_47 and part.cells % step == 0 and part.probes == 2 and 4 <= part.cell_bits <= 32
			and part.bytes == ((part.cells * part.cell_bits + 7) // 8 + 63) // 64 * 64)

	@classmethod
	def holds(kind, image, family, key, part, args):
		slots, step, tag = kind.shape(args)
		lo, hi = family.hash(key)
		places = (part.cells - slots) // step + 1
		mark, first = 1 + scale(lo, (1 << part.cell_bits - tag) - 1), scale(hi, places)
		word = unfold(mark, 0, 0)
		if tag:
			word = unfold(word, word, 0)
		return any(bits_at(image, part.offset, (step * place + i) * part.cell_bits, part.cell_bits) == (mark << tag) + i * tag
			for place in (first, (scale(word, places) - first) % places) for i in range(slots))


class DLeft(Fingerprints):
	"""Kind 9."""
	@staticmethod
	def args_valid(args):
		return args[0] <= 16 and not any(args[1:])

	@staticmethod
	def valid(part, args):
		return (0 < part.cells <= 1 << 37 and part.cells % 32 == 0 and part.probes == 4 and 6 <= part.cell_bits <= 34
			and part.bytes == (part.cells // 8 * part.cell_bits + 63) // 64 * 64)

	@staticmethod
	def places(family, key, part):
		_, hi = family.hash(key)
		count, r = part.cells // 32, part.cell_bits - 2
		product = hi * count
		bucket, rest = product >> 64, (product & M64) >> 64 - r
		return bucket, rest, [i * count + (bucket + scale(unfold(rest, 0, i + 1), count)) % count for i in range(4)]

	@classmethod
	def holds(kind, image, family, key, part, args):
		_, rest, buckets = kind.places(family, key, part)
		r = part.cell_bits - 2
		return any(bits_at(image, part.offset + b * (r + 2), 2 * i, 2) and bits_at(image, part.offset + b * (r + 2) + 2, r * i, r) == rest
			for b in buckets for i in range(8))


class RedisCuckoo:
	"""Kind 19."""
	@staticmethod
	def args_valid(args):
		return 1 <= args[0] <= 255 and args[1] <= 32768 and args[1] & args[1] - 1 == 0 and 1 <= args[2] <= 65535 and not any(args[3:])

	@staticmethod
	def buckets(part, args):
		"""Of each table; none where the sizes do not go together."""
		tables = part.probes // 2
		first, left = divmod(part.cells, args[0] * sum(args[1] ** i for i in range(tables))) if tables else (0, 1)
		fits = not left and first and first & first - 1 == 0
		return [first * args[1] ** i for i in range(tables)] if fits else []

	@classmethod
	def valid(kind, part, args):
		buckets = kind.buckets(part, args) if part.probes % 2 == 0 and 2 <= part.probes <= 256 and part.cells <= TWO_47 else []
		return (buckets and (args[1] or len(buckets) == 1) and buckets[-1] * args[0] <= 1 << 32 and part.cell_bits == 8
			and part.bytes == (part.cells + 63) // 64 * 64)

	@staticmethod
	def takes(family, part):
		return family.wide and not family.number and (family.bits == 128 or family in OF_64_BITS)

	@staticmethod
	def padding(part):
		return range(part.cells * 8, part.bytes * 8)

	@classmethod
	def value(kind, image, family, key, part, args):
		"""How often it is there; None where it is not."""
		h, at, found = family.hash(key)[0], part.offset, 0
		mark = h % 255 + 1
		for buckets in kind.buckets(part, args):
			for bucket in h % buckets, (h ^ mark * 0x5bd1e995) % buckets:
				found += image[at + bucket * args[0]:at + (bucket + 1) * args[0]].count(mark)
			at += buckets * args[0]
		return found or None

	@classmethod
	def holds(kind, image, family, key, part, args):
		return kind.value(image, family, key, part, args) is not None


class Stable:
	"""Kind 10."""
	@staticmethod
	def args_valid(args):
		return 1 <= args[0] <= 8 and 1 <= args[1] <= 65535 and not any(args[2:])

	@staticmethod
	def valid(part, args):
		if part.cell_bits != args[0]:
			return False
		words = -(-part.cells // (64 // part.cell_bits))
		return part.probes < part.cells <= TWO_47 and args[1] <= part.cells and part.bytes == (words * 8 + 63) // 64 * 64

	@staticmethod
	def takes(family, part):
		return family.wide and family.bits == 128 and not family.number and part.cells <= family.reach

	@staticmethod
	def holds(image, family, key, part, args):
		a_word, d = 64 // part.cell_bits, part.cell_bits
		return all(bits_at(image, part.offset, c // a_word * 64 + c % a_word * d, d)
			for c in cells_of(family, key, part.probes, part.cells))

	@staticmethod
	def padding(part):
		return Numbers.padding(part)


class Golomb:
	"""Kind 15: one question; what does not add up says yes."""
	@staticmethod
	def args_valid(args):
		return args[0] <= TWO_47 and args[1] <= 1 and not any(args[2:])

	@staticmethod
	def valid(part, args):
		return 1 <= part.cells <= 1 << 62 and part.bytes >= 64 and part.probes == 1 and part.cell_bits == 1

	@staticmethod
	def takes(family, part):
		return family.wide and not family.number and (family.bits == 128 or family in OF_64_BITS)

	def __init__(self, image, part):
		self.data = bytes(image[part.offset:part.end])
		self.count, self.blocks, self.divisor, self.low, self.block_bytes, capacity = struct.unpack_from('<QQQIIQ', self.data)
		self.good = (1 <= self.divisor and self.low <= 61 and self.divisor >> self.low <= 1
			and 1 + self.low // 8 <= self.block_bytes <= 1024)
		if self.good:
			highs = (part.cells - 1 >> self.low) + 1
			samples = ((highs // 128 + 1) * 4 + 7) // 8 * 8
			self.good = (self.blocks <= capacity <= part.bytes
				and 64 + samples + 32 + ((8 * self.block_bytes + 1) * capacity + highs) // 8 + 2 <= part.bytes)
			self.vector, self.words = 64 + samples, (capacity + highs) // 64 + 1
			self.block = self.vector + 8 * self.words
			self.rest = (self.divisor - 1).bit_length()

	def in_vector(self, at):
		return at // 64 < self.words and self.data[self.vector + at // 8] >> at % 8 & 1

	def first_block(self, high):
		"""Where, in the vector, the blocks with this high half begin; and which is the first of them."""
		at = struct.unpack_from('<I', self.data, 64 + 4 * (high // 128))[0]
		zeros = high % 128
		while zeros and at // 64 < self.words:
			zeros -= not self.in_vector(at)
			at += 1
		return at, at - high

	def number_of(self, block, high):
		return high << self.low | bits_at(self.data, self.block + block * self.block_bytes, 0, self.low)

	def numbers(self, block, number):
		"""Those that a block has, from its first on."""
		bit, end, start = self.low, 8 * self.block_bytes, self.block + block * self.block_bytes
		while True:
			yield number
			zero = next((b for b in range(bit, end) if not bits_at(self.data, start, b, 1)), end)
			q, bit = zero - bit, zero + 1
			short = (1 << self.rest) - self.divisor
			if zero == end or bit > end or self.rest and bit + self.rest - 1 > end:
				return
			r = 0
			if self.rest:
				r, bit = bits_at(self.data, start, bit, self.rest - 1), bit + self.rest - 1
				if r >= short:
					if bit == end:
						return
					r, bit = 2 * r + bits_at(self.data, start, bit, 1) - short, bit + 1
			number = number + q * self.divisor + r & M64

	@classmethod
	def holds(kind, image, family, key, part, args):
		g, value = kind(image, part), scale(family.hash(key)[1], part.cells)
		if not g.good or not g.blocks:
			return not g.good
		high = value >> g.low
		at, begin = g.first_block(high)
		block, place, first = begin, at, None
		while 0 <= block < g.blocks and g.in_vector(place) and g.number_of(block, high) <= value:
			first, block, place = g.number_of(block, high), block + 1, place + 1
		if first is None:
			if not 0 < begin <= g.blocks:
				return False
			for _ in range(((8 * g.block_bytes + 1) * g.divisor >> g.low) + 2):
				at -= 1
				if at < 0:
					return False
				if g.in_vector(at):
					first = g.number_of(begin - 1, high)
					break
				if not high:
					return False
				high -= 1
			if first is None:
				return False
		for number in g.numbers(block - 1, first):
			if number >= value:
				return number == value
		return False

	@staticmethod
	def padding(part):
		return range(0)


def splitmix(x):
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & M64
	x = (x ^ x >> 27) * 0x94d049bb133111eb & M64
	return x ^ x >> 31


class Range(Golomb):
	"""Kind 23: all numbers are read, and each question looks through them."""
	@staticmethod
	def args_valid(args):
		return 1 <= args[0] <= 1 << 40 and args[1] <= 16 and args[1] != 1 and not any(args[2:])

	@staticmethod
	def valid(part, args):
		return Golomb.valid(part, args) and part.cells >= 1 << Range.block_bits(args) + (args[1] > 0)

	@staticmethod
	def lowest(args, level):
		"""The lowest level of the group of this one."""
		return level - level % (args[1] or 1)

	@staticmethod
	def block_bits(args, level=0):
		"""Of a place of this level, how many say where it is in its block."""
		lowest = Range.lowest(args, level)
		return max((8 * args[0] - 1).bit_length() - lowest, args[1] - 1, 3) - (level - lowest)

	@staticmethod
	def takes(family, part):
		return family.ordered

	@staticmethod
	def pieces(part, args, seed, level, first, last):
		"""The numbers of these places of a level, as ranges."""
		bits, lowest, step = Range.block_bits(args, level), Range.lowest(args, level), 0x9e3779b97f4a7c15
		behind = sum(1 << Range.block_bits(args, lower) for lower in range(lowest, level))
		a, c, e, g = (splitmix((seed << 7 | lowest) + i * step & M64) for i in range(1, 5))
		for block in range(first >> bits, (last >> bits) + 1):
			x = ((a << 64 | c) * block + (e << 64 | g) >> 64) & M64
			start = scale(splitmix(x), part.cells) + behind
			low = max(first, block << bits) - (block << bits) + start
			high = min(last, (block + 1 << bits) - 1) - (block << bits) + start
			yield low % part.cells, low % part.cells + high - low

	def all_numbers(self, part):
		high = block = at = 0
		while block < self.blocks:
			while not self.in_vector(at):
				high, at = high + 1, at + 1
			yield from self.numbers(block, self.number_of(block, high))
			block, at = block + 1, at + 1

	@classmethod
	def holds_range(kind, image, family, first, last, part, args):
		(a, i, seed), (b, j, _) = family.hash(first), family.hash(last)
		g = kind(image, part)
		if i is None or j is None:
			return False
		if not g.good or not g.blocks:
			return not g.good
		a, b = a << i, b << j | (1 << j) - 1
		levels, = struct.unpack_from('<Q', g.data, 40)
		wanted = [level for level in range(64) if levels >> level & 1]
		blocks = 0
		for level in wanted:
			bits = kind.block_bits(args, level)
			blocks += (b >> level + bits) - (a >> level + bits) + 1
			if blocks > 65536:
				return True
		numbers = list(g.all_numbers(part))
		for level in wanted:
			for low, high in kind.pieces(part, args, seed, level, a >> level, b >> level):
				if any(low <= n <= high or low <= n + part.cells <= high for n in numbers):
					return True
		return False

	@classmethod
	def holds(kind, image, family, key, part, args):
		return kind.holds_range(image, family, key, key, part, args)


class Shard:
	"""A shard of data that are made at once: its bytes, and what its entry of the index says beside."""
	def __init__(self, data, own):
		self.data, self.own = data, own


def shards_of(part):
	return max(1, part.capacity >> 20)


def shards_valid(part):
	return 1 <= part.capacity <= TWO_47 and (32 * shards_of(part) + 63) // 64 * 64 <= part.bytes <= 2 * TWO_47


def shard_of(image, part, hi):
	"""The shard of a hash, None where it has none, and where in it the hash lies, of 2^64."""
	product = hi * shards_of(part)
	offset, size, own = struct.unpack_from('<2Q16s', image, part.offset + 32 * (product >> 64))
	if not size or offset % 64 or offset > part.bytes or size > part.bytes - offset:
		return None, 0
	return Shard(image[part.offset + offset:part.offset + offset + size], own), product & M64


class Ribbon:
	"""Kind 17."""
	THRESHOLDS = 0, 40, 104

	@staticmethod
	def args_valid(args):
		return not any(args)

	@staticmethod
	def valid(part, args):
		return shards_valid(part) and part.cells == 8 * part.bytes and part.probes == 128 and part.cell_bits == 1

	@staticmethod
	def takes(family, part):
		return family.wide and family.bits == 128 and not family.number

	@staticmethod
	def layers(keys, share):
		"""Of each its buckets (0: it is the last) and the slots of its sections."""
		n = keys
		while n > 3072:
			slots = n // 66 * 64
			first = 512 * ((slots // 512 - 1) * share >> 32) if slots // 512 >= 32 else 0
			yield (slots + 511) // 512, (first, slots - first)
			n += (192 if slots // 512 >= 32 else 128) + slots // 8192 - slots
		yield 0, (0, (n + n // 16 + 127) // 64 * 64)

	@staticmethod
	def start(x, slots):
		a = slots[0] - 127 if slots[0] else 0
		y = scale(x, a + slots[1] - 127)
		return y if y < a else y - a + slots[0]

	@staticmethod
	def digit_words(count, values):
		group, bits = {0: (1, 0), 3: (29, 46), 5: (27, 63)}[values]
		return ((count + group - 1) // group * bits + 63) // 64

	@staticmethod
	def digit(data, at, i, values):
		if values == 3:
			return bits_at(data, at, i // 29 * 46, 46) // 3 ** (i % 29) % 3
		return bits_at(data, at, i // 3 * 7, 7) // 5 ** (i % 3) % 5

	@classmethod
	def holds(kind, image, family, key, part, args):
		lo, hi = family.hash(key)
		shard, rest = shard_of(image, part, hi)
		if not shard:
			return False
		keys, seed, share, *codes = struct.unpack('<3I4B', shard.own)
		word = lambda i: unfold(lo, hi, 16 * seed + i)
		codes, at = ((codes[0], codes[1]), (codes[2], codes[3])), 0
		if not keys or any(bits > 32 or values not in (0, 3, 5) for bits, values in codes):
			return False
		for number, (buckets, slots) in enumerate(kind.layers(keys, share)):
			start = kind.start(word(3 + number) if number or seed else rest, slots)
			sizes = [8 * (count // 64 * bits + kind.digit_words(count, values)) for count, (bits, values) in zip(slots, codes)]
			bucket, first = start // 512, at + 8 * ((buckets + 39) // 40)
			if buckets and at + bucket // 40 * 8 < len(shard.data) and start % 512 < kind.THRESHOLDS[shard.data[at + bucket // 5] // 3 ** (bucket % 5) % 3]:
				at = first + sum(sizes)
				continue
			second = start >= slots[0]
			begin = first + (sizes[0] if second else 0)
			if begin + sizes[second] > len(shard.data):
				return False
			c = word(1) << 64 | word(0) | 1
			return kind.matches(shard.data[begin:begin + sizes[second]], slots[second], codes[second], start - (slots[0] if second else 0), c, word(2))

	@classmethod
	def matches(kind, data, slots, code, start, c, v):
		bits, values = code
		looked_at = [start + i for i in range(128) if c >> i & 1]
		for j in range(bits):
			if sum(bits_at(data, 8 * (i // 64 * bits + j), i % 64, 1) for i in looked_at) % 2 != v >> j & 1:
				return False
		return not values or sum(kind.digit(data, slots // 64 * bits * 8, i, values) for i in looked_at) % values == scale(v, values)

	@staticmethod
	def padding(part):
		return range(0)


class Level:
	"""A level of kind 21, as a part of kind 17."""
	def __init__(self, offset, size, capacity):
		self.offset, self.bytes, self.capacity, self.parts = offset, size, capacity, None


def level_valid(level):
	return level.bytes % 64 == 0 and shards_valid(level)


def parts_of_level(image, level, parts, columns):
	"""The ribbons of a first level in parts, and which column is of which; None: it is damaged."""
	at, ribbons = (16 * parts + 4 * columns + 63) // 64 * 64, []
	if at > level.bytes:
		return None
	entries = struct.unpack_from('<%dI' % columns, image, level.offset + 16 * parts)
	for i in range(parts):
		keys, size = struct.unpack_from('<2Q', image, level.offset + 16 * i)
		ribbon = Level(level.offset + at, size, keys)
		if keys > TWO_47 or size and (not keys or not level_valid(ribbon)) or size > level.bytes - at:
			return None
		ribbons.append(ribbon)
		at += size
	return (ribbons, {entry >> 5: entry & 31 for entry in entries}) if at == level.bytes else None


class SecondHash:
	"""Of the second level of kind 21: lo has its bytes in reverse order."""
	def __init__(self, family):
		self.family = family

	def hash(self, key):
		lo, hi = self.family.hash(key)
		return int.from_bytes(lo.to_bytes(8, 'little'), 'big'), hi


class Exact:
	"""Kind 21."""
	takes, padding = Ribbon.takes, Ribbon.padding

	@staticmethod
	def args_valid(args):
		return args[0] <= TWO_47 and args[1] <= 31 and not any(args[2:])

	@staticmethod
	def valid(part, args):
		return (1 <= part.capacity <= TWO_47 and 64 * (1 + args[1]) <= part.bytes <= 2 * TWO_47 and part.bytes % 64 == 0
			and part.cells == 8 * part.bytes and part.probes == 128 and part.cell_bits == 1)

	@staticmethod
	def levels(image, at, rest):
		"""Of the layer at a place, with so many bytes behind its head; None: it is damaged."""
		keys, both, passed, first, second = struct.unpack_from('<5Q', image, at)
		parts, columns = struct.unpack_from('<2I', image, at + 48)
		if first + second > rest or not keys:
			return None if first or second else []
		levels = Level(at + 64, first, keys), Level(at + 64 + first, second, keys + passed)
		if keys + passed > TWO_47 or not first and not second or parts > 32 or columns > 1 << 27 or parts and not first:
			return None
		if parts:
			levels[0].parts = parts_of_level(image, levels[0], parts, columns)
		if any(level.bytes and not (level_valid(level) if level.parts is None else level.parts) for level in levels):
			return None
		return levels

	@staticmethod
	def level_holds(image, family, key, level, args):
		if level.parts is None:
			return Ribbon.holds(image, family, key, level, args)
		ribbons, columns = level.parts
		number = columns.get(family.column(key), 0)
		if number >= len(ribbons) or not ribbons[number].capacity:
			return False
		return not ribbons[number].bytes or Ribbon.holds(image, family, key, ribbons[number], args)

	@classmethod
	def holds(kind, image, family, key, part, args):
		at, yes = 0, False
		for _ in range(1 + args[1]):
			levels = kind.levels(image, part.offset + at, part.bytes - at - 64) if part.bytes - at >= 64 else None
			if levels is None:
				return False
			there = [(level, of) for level, of in zip(levels, (family, SecondHash(family))) if level.bytes]
			yes ^= bool(there) and all(kind.level_holds(image, of, key, level, args) for level, of in there)
			at += 64 + sum(level.bytes for level in levels)
		return yes


def murmur_mix(x):
	for factor in (0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53):
		x = (x ^ x >> 33) * factor & M64
	return x ^ x >> 33


class Tables:
	"""Kinds 16 and 18: the XOR of a key's cells is its check bits, and above them its value."""
	ODD = 0x9e3779b97f4a7c15

	@staticmethod
	def sizes_valid(part):
		index = (32 * shards_of(part) + 63) // 64 * 64
		return shards_valid(part) and part.bytes % 64 == 0 and part.probes in (3, 4) and part.cells == (part.bytes - index) * 8 // part.cell_bits

	@staticmethod
	def takes(family, part):
		return family.wide and family.bits == 128 and not family.number

	@classmethod
	def cells(kind, lo, hi, rest, probes, seed, segments, shift):
		place, within = rest, lo
		if seed:
			place = murmur_mix(murmur_mix(lo + seed * kind.ODD & M64) ^ hi)
			within = murmur_mix(place + kind.ODD & M64)
		return [(scale(place, segments) + i << shift) + (within >> i * shift) % (1 << shift) for i in range(probes)]

	@classmethod
	def value(kind, image, family, key, part, args):
		"""None where the key has none."""
		lo, hi = family.hash(key)
		shard, rest = shard_of(image, part, hi)
		if not shard:
			return None
		seed, word = struct.unpack('<2Q', shard.own)
		segments, shift = word >> 8, word & 255
		if not 1 <= segments < 1 << 32 or shift > 16 or (segments + part.probes - 1 << shift) * part.cell_bits > len(shard.data) * 8:
			return None
		found = 0
		for cell in kind.cells(lo, hi, rest, part.probes, seed, segments, shift):
			found ^= bits_at(shard.data, 0, cell * part.cell_bits, part.cell_bits)
		same = (found ^ unfold(lo, hi, 0)) % (1 << args[0]) == 0
		return found >> args[0] if same else None

	@classmethod
	def holds(kind, image, family, key, part, args):
		return kind.value(image, family, key, part, args) is not None

	@staticmethod
	def padding(part):
		return range(0)


class Fuse(Tables):
	"""Kind 16."""
	@staticmethod
	def args_valid(args):
		return 4 <= args[0] <= 32 and not any(args[1:])

	@classmethod
	def valid(kind, part, args):
		return part.cell_bits == args[0] and kind.sizes_valid(part)


class Bloomier(Tables):
	"""Kind 18."""
	@staticmethod
	def args_valid(args):
		return 1 <= args[0] <= 64 and 1 <= args[1] <= 64 and not any(args[2:])

	@classmethod
	def valid(kind, part, args):
		return part.cell_bits == args[0] + args[1] and kind.sizes_valid(part)


class Iblt(Fingerprints):
	"""Kind 20."""
	@staticmethod
	def words(args):
		return 2 + (args[0] + 7) // 8

	@classmethod
	def journal(kind, args):
		return (8 * (5 + 4 * kind.words(args)) + 63) // 64 * 64

	@staticmethod
	def args_valid(args):
		return 1 <= args[0] <= 4096 and not any(args[1:])

	@classmethod
	def valid(kind, part, args):
		words = kind.words(args)
		return (8 <= part.cells <= 1 << 32 and part.cells % 4 == 0 and part.probes == 4 and part.cell_bits == 64 * words
			and part.bytes == (kind.journal(args) + part.cells * words * 8 + 63) // 64 * 64)

	@staticmethod
	def cells(family, key, cells):
		"""Those of a key, and its check."""
		lo, hi = family.hash(key)
		numbers = lo & 0xffffffff, lo >> 32, hi & 0xffffffff, hi >> 32
		return [i * (cells // 4) + (x * (cells // 4) >> 32) for i, x in enumerate(numbers)], unfold(lo, hi, 4)

	@classmethod
	def holds(kind, image, family, key, part, args):
		first, each = part.offset + kind.journal(args), 8 * kind.words(args)
		return all(
			int.from_bytes(image[first + c * each:first + c * each + 6], 'little') for c in kind.cells(family, key, part.cells)[0])

	@classmethod
	def made_of(kind, family, entries, part, args):
		made, words = bytearray(part.bytes), kind.words(args)
		for key, _ in entries:
			cells, check = kind.cells(family, key, part.cells)
			more = [len(key) << 48, check, *struct.unpack('<%dQ' % (words - 2), key.ljust(8 * (words - 2), b'\0'))]
			for c in cells:
				at = kind.journal(args) + c * words * 8
				old = struct.unpack_from('<%dQ' % words, made, at)
				count = (old[0] + 1) % (1 << 48)
				struct.pack_into('<%dQ' % words, made, at, (old[0] ^ more[0]) >> 48 << 48 | count, *(x ^ y for x, y in zip(old[1:], more[1:])))
		return bytes(made)

	@staticmethod
	def padding(part):
		words = part.cell_bits // 64
		journal = (8 * (5 + 4 * words) + 63) // 64 * 64
		return range(8 * (journal + part.cells * words * 8), part.bytes * 8)


class Recent(Fingerprints):
	"""Kind 22."""
	@staticmethod
	def times(args):
		"""The span in ticks, and the bits of a stamp."""
		span = -(-args[0] // args[1])
		return span, next(t for t in range(8, 64) if (1 << t) - 2 >= span + max(16, span // 8))

	@classmethod
	def args_valid(kind, args):
		return 10**6 <= args[1] <= args[0] <= M64 // 4 and kind.times(args)[1] <= 16 and args[2] <= 16 and not any(args[3:])

	@classmethod
	def valid(kind, part, args):
		_, t = kind.times(args)
		return (0 < part.cells <= 1 << 35 and part.cells % 8 == 0 and part.probes == 2 and max(4, t - 1) <= part.cell_bits - t <= 40
			and part.bytes == (64 + (part.cells * part.cell_bits + 7) // 8 + 63) // 64 * 64)

	@staticmethod
	def places(family, key, part, r):
		_, hi = family.hash(key)
		count = part.cells // 8
		product = hi * count
		bucket, rest = product >> 64, (product & M64) >> 64 - r
		return rest, [bucket, count + (bucket + scale(unfold(rest, 0, 1), count)) % count]

	@classmethod
	def age(kind, image, family, key, part, args):
		"""In ticks; None where it was not seen."""
		_, t = kind.times(args)
		r, cycle = part.cell_bits - t, (1 << t) - 1
		now = struct.unpack_from('<Q', image, part.offset)[0]
		rest, buckets = kind.places(family, key, part, r)
		ages = []
		for bit in (512 + (4 * b + i) * part.cell_bits for b in buckets for i in range(4)):
			low = bit % 64 + t <= 64
			stamp = bits_at(image, part.offset, bit if low else bit + r, t)
			if stamp and bits_at(image, part.offset, bit + t if low else bit, r) == rest:
				age = (now % cycle + 1 - stamp) % cycle
				ages.append(age if age < cycle - 4 else 0)
		return min(ages) + max(time.time_ns() // args[1] - now, 0) if ages else None

	@classmethod
	def holds(kind, image, family, key, part, args):
		age = kind.age(image, family, key, part, args)
		return age is not None and age <= kind.times(args)[0]

	@staticmethod
	def padding(part):
		return range(512 + part.cells * part.cell_bits, part.bytes * 8)


KINDS = {
	1: Classic, 2: Blocked, 3: SplitBlock, 4: Bitmap, 5: HashCompact, 6: Counting, 7: Approximator, 8: Cuckoo, 9: DLeft,
	10: Stable, 15: Golomb, 16: Fuse, 17: Ribbon, 18: Bloomier, 19: RedisCuckoo, 20: Iblt,
	21: Exact, 22: Recent, 23: Range,
}


def share(word):
	return struct.unpack('<d', struct.pack('<Q', word))[0]


class Scalable:
	"""Kind 11."""
	grows = True

	@staticmethod
	def valid(c):
		return (2 <= c.args[0] <= 16 and 0.1 <= share(c.args[1]) <= 0.95 and c.args[2] <= 1 and not any(c.args[3:])
			and c.capacity // 64 <= c.cells)	# no filter has more keys a cell

	@staticmethod
	def takes_rules(c):
		return not c.args[2]

	@staticmethod
	def parts(c):
		return 1

	@staticmethod
	def part(c, i):
		tightening = share(c.args[1])
		fits = c.capacity * c.args[0] ** i <= TWO_47 and c.rate * (1 - tightening) * tightening ** i >= 1e-300
		return (1 + c.args[2], 1) if fits else None		# kind, role

	@staticmethod
	def contains(f, key):
		return any(f.in_part(p, key) for p in f.parts)


class Removable:
	"""Kind 12."""
	grows = False

	@staticmethod
	def valid(c):
		return not any(c.args)

	@staticmethod
	def parts(c):
		return 2

	@staticmethod
	def part(c, i):
		return 2, i + 1

	@staticmethod
	def contains(f, key):
		return f.in_part(f.parts[0], key) and not f.in_part(f.parts[1], key)


class Window:
	"""Kind 13."""
	grows = False

	@staticmethod
	def valid(c):
		return 1 <= c.args[0] <= 62 and (c.args[1] == 0 or 10**6 <= c.args[1] // c.args[0] and c.args[1] <= 3 * 10**18) and not any(c.args[2:])

	@staticmethod
	def parts(c):
		return c.args[0] + 2

	@staticmethod
	def part(c, i):
		return 2, 1

	@staticmethod
	def contains(f, key):
		slots, span = f.constant.args[:2]
		newest = struct.unpack_from('<Q', f.image, 4096 + 576)[0]
		began, part = newest & ~63, newest & 63
		late = max(time.time_ns() - began, 0) // (span // slots) if span and newest else 0
		return any(f.in_part(f.parts[(part - n) % (slots + 2)], key) for n in range(max(slots + 1 - late, 0)))


class Attenuated:
	"""Kind 14."""
	grows = False

	@staticmethod
	def valid(c):
		return 1 <= c.args[0] <= 64 and not any(c.args[1:])

	@staticmethod
	def parts(c):
		return c.args[0]

	@staticmethod
	def part(c, i):
		return 1, i + 1

	contains = Scalable.contains


COMPOSITES = {11: Scalable, 12: Removable, 13: Window, 14: Attenuated}


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
	'template_id': (72, '16s'), 'flags': (88, 'Q'), 'split_part': (96, 'I'), 'split_parts': (100, 'I'), 'origin': (2304, 'I'), 'origin_bytes': (2308, 'I'),
	'origin_head': (2312, '1776s'), 'check': (4088, 'Q'),
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
	'inexact': (320, 'Q'), 'failed': (384, 'Q'),
}
SYNC = {'sequence': (0, 'Q'), 'epoch': (8, 'Q'), 'keys': (16, 'Q'), 'time': (24, 'Q'), 'check': (56, 'Q')}
BLOCK_RECORD = {'hash': (0, 'I'), 'ones': (4, 'I'), 'epoch': (8, 'I'), 'check': (12, 'I')}
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
	at = 8192 + 64 * i
	return hashes.xxh3_64(image[at:at + 56], uuid_number(image) + i & M64)


def blocks_of(size):
	return (size + BLOCK - 1) // BLOCK


def blocksum_bytes(size):
	return (17 * blocks_of(size) + 63) // 64 * 64


def block_check(image, at, part, block):
	return hashes.xxh3_64(image[at:at + 12], uuid_number(image) + block + (part << 48) & M64) & 0xffffffff


def slot_check(image, at, size):
	return hashes.xxh3_64(image[at:at + size - 8], uuid_number(image))


def check_constant(image, magic=b'BLOOMERY', header_bytes=HEADER_BYTES):
	demand(len(image) < 8 or image[:8] == magic, 'EBADMSG', 'does not begin with %s', magic.decode())
	demand(len(image) >= header_bytes, 'ENODATA', '%d bytes, shorter than a header', len(image))
	c = Fields(image, 0, CONSTANT)
	demand(c.version == 1, 'EPROTONOSUPPORT', 'version %d', c.version)
	demand(c.check == constant_check(image), 'EBADMSG', 'the checksum of page 0 is wrong')
	known = SPLIT if magic == b'BLOOMERY' else 0
	demand(c.must_understand & ~known == 0, 'EPROTONOSUPPORT', 'features %#x', c.must_understand)
	demand(c.header_bytes == header_bytes, 'EBADMSG', 'header_bytes is %d', c.header_bytes)
	demand(c.seed_count <= 256, 'EBADMSG', 'seed_count is %d', c.seed_count)
	demand(c.origin_bytes <= 1776, 'EBADMSG', 'origin_bytes is %d', c.origin_bytes)
	demand(c.template_id == template_id(image), 'EBADMSG', 'template_id is not that of the template')
	demand(0 < c.rate <= 1, 'EBADMSG', 'rate is %g', c.rate)	# not so for a NaN
	demand(1 <= c.capacity <= TWO_47, 'EBADMSG', 'capacity is %d', c.capacity)
	return c


def check_entries(image):
	count = Fields(image, 4096, LIVE).parts
	demand(1 <= count <= 64, 'EBADMSG', '%d parts', count)
	parts = []
	for i in range(count):
		p = Fields(image, 8192 + 64 * i, ENTRY)
		p.begin, p.end = p.offset - blocksum_bytes(p.bytes), p.offset + p.bytes
		demand(p.check == entry_check(image, i), 'EBADMSG', 'the checksum of part %d is wrong', i)
		demand(p.offset % 64 == 0 and p.bytes % 64 == 0 and 0 < p.bytes < 1 << 63 and p.begin >= HEADER_BYTES, 'EBADMSG',
			'part %d: offset %d, %d bytes', i, p.offset, p.bytes)
		demand(p.offset <= len(image) and p.bytes <= len(image) - p.offset, 'ENODATA', 'part %d ends behind the file', i)
		for q in parts:
			demand(p.begin >= q.end or q.begin >= p.end, 'EBADMSG', 'parts overlap')
		parts.append(p)
	return parts


def check_checkpoint(image, c, parts):
	if c.flags & SECOND_IMAGE:
		page = lambda x: (x + 4095) // 4096 * 4096
		demand(len(parts) == 1, 'EBADMSG', '%d parts, and a checkpoint image', len(parts))
		blocks = (parts[0].bytes + 65535) // 65536
		demand(page(parts[0].end) + 2 * (page(16 * blocks) + page(parts[0].bytes)) <= len(image), 'ENODATA', 'the checkpoint image ends behind the file')


def check_composite(c, parts, family):
	kind = COMPOSITES[c.kind]
	demand(kind.valid(c), 'EBADMSG', 'arguments out of their range')
	demand(len(parts) == kind.parts(c) or kind.grows and len(parts) > kind.parts(c), 'EBADMSG', '%d parts', len(parts))
	for i, p in enumerate(parts):
		demand((p.kind, p.role) == kind.part(c, i), 'EBADMSG', 'part %d has kind %d, role %d', i, p.kind, p.role)
		demand(i >= kind.parts(c) or (p.cells, p.probes, p.cell_bits) == (c.cells, c.probes, c.cell_bits), 'EBADMSG',
			'part %d has a size of its own', i)
	demand(not c.index_rule and not c.bit_order or kind.grows and kind.takes_rules(c) and not c.bit_order and c.index_rule in RULES_OF_STAGES, 'EBADMSG',
		'kind %d has not rule %d', c.kind, c.index_rule)
	demand(family.wide and family.bits == 128 and not family.number, 'EBADMSG', 'kind %d cannot use family %d', c.kind, c.family)
	demand(RULES[c.index_rule].takes(family, c.probes, c.cells), 'EBADMSG', 'family %d does not go with rule %d', c.family, c.index_rule)


def check_kind(c, parts):
	demand(c.family in FAMILIES, 'EPROTONOSUPPORT', 'hash family %d', c.family)
	family = FAMILIES[c.family]
	demand(c.index_rule in RULES and c.bit_order <= 3, 'EPROTONOSUPPORT', 'index rule %d, bit order %d', c.index_rule, c.bit_order)
	demand(flip_of(c.bit_order, c.cells) is not None, 'EBADMSG', 'bit order %d of %d cells', c.bit_order, c.cells)
	for p in parts:
		p.rule, p.flip = c.index_rule, flip_of(c.bit_order, p.cells) or 0
	args = [0] * 8 if c.kind in COMPOSITES else c.args	# of a part
	for p in parts:
		demand(p.kind in KINDS or p.kind in COMPOSITES, 'EPROTONOSUPPORT', 'kind %d', p.kind)
		demand(p.kind in KINDS, 'EBADMSG', 'a part of kind %d, which has parts itself', p.kind)
		demand(KINDS[p.kind].args_valid(args), 'EBADMSG', 'kind %d with the arguments %s', p.kind, args)
		demand(KINDS[p.kind].valid(p, args) and 1 <= p.probes <= 256, 'EBADMSG',
			'm=%d, k=%d, %d-bit cells in %d bytes', p.cells, p.probes, p.cell_bits, p.bytes)
	demand(c.kind in KINDS or c.kind in COMPOSITES, 'EPROTONOSUPPORT', 'kind %d', c.kind)
	first = parts[0]
	demand((c.kind in COMPOSITES or first.kind == c.kind) and (first.cells, first.probes, first.cell_bits) == (c.cells, c.probes, c.cell_bits),
		'EBADMSG', 'the part table and the template disagree')
	if c.kind in COMPOSITES:
		check_composite(c, parts, family)
	else:
		demand(len(parts) == 1, 'EBADMSG', '%d parts; the kind has one', len(parts))
		demand(first.kind == 1 or not c.index_rule and not c.bit_order, 'EBADMSG', 'kind %d has no rules', c.kind)
		demand(first.kind != 1 or RULES[c.index_rule].takes(family, c.probes, c.cells), 'EBADMSG', 'family %d does not go with rule %d',
			c.family, c.index_rule)
		demand(KINDS[first.kind].takes(family, first) and family.ordered == (KINDS[first.kind] is Range), 'EBADMSG', 'kind %d with %d cells cannot use family %d',
			c.kind, c.cells, c.family)
		demand(not family.columns or KINDS[first.kind] is Exact, 'EBADMSG', 'kind %d cannot use family %d', c.kind, c.family)
	seeds = first.probes if family.seeds is None else family.seeds
	demand(c.seed_count == seeds, 'EBADMSG', '%d seeds; the family takes %d', c.seed_count, seeds)
	demand(all(seed < family.seed_limit for seed in c.seeds[:seeds]), 'EBADMSG', 'a seed has more than 32 bits')
	demand(c.tweak < family.tweaks, 'EBADMSG', 'tweak %d is none of the family', c.tweak)


def split_range(size, part, parts):
	"""The bytes of the data that a part of a split filter owns: from, to."""
	unit = BLOCK if size >= 16 * BLOCK * parts else 64
	units = -(-size // unit)
	return tuple(min(-(-i * units // parts) * unit, size) for i in (part, part + 1))


def check_split(c):
	if c.must_understand & SPLIT:
		demand(1 <= c.split_parts <= 65536 and c.split_part < c.split_parts, 'EBADMSG', 'part %d of %d', c.split_part, c.split_parts)
		demand(c.kind in SPLIT_KINDS, 'EBADMSG', 'a part of a filter of kind %d, which is not split', c.kind)


def key_id(secret):
	return hashlib.blake2b(secret, digest_size=32).digest()[:8]


def last_of(image, at, size, fields, in_range):
	"""The valid one of two slots with the later sequence, or None."""
	valid = []
	for slot in (at, at + size):
		r = Fields(image, slot, fields)
		if r.sequence and r.check == slot_check(image, slot, size) and in_range(r):
			valid.append(r)
	if len(valid) < 2:
		return valid[0] if valid else None
	later = (valid[1].sequence - valid[0].sequence) % 2**64
	if later in (0, 2**63):
		return min(valid, key=lambda r: (r.epoch, r.keys)) if 'epoch' in fields else valid[0]
	return valid[later < 2**63]


class Filter:
	def __init__(self, image, secret=None):
		"""image: the file's bytes, a copy that nobody changes. secret: 16 bytes, for keyed families."""
		self.image = image
		self.constant = c = check_constant(image)
		self.parts = check_entries(image)
		check_checkpoint(image, c, self.parts)
		check_kind(c, self.parts)
		check_split(c)
		family = FAMILIES[c.family]
		if family.keyed:
			demand(secret is not None, 'ENOKEY', 'no secret')
			demand(key_id(secret) == c.key_id, 'ENOKEY', 'the secret is of another filter')
		self.family = family(c.seeds[:c.seed_count], c.tweak, secret)
		self.live = Fields(image, 4096, LIVE)

	def is_set(self, part, bit):
		return self.image[part.offset + bit // 8] >> bit % 8 & 1 == 1

	def in_part(self, p, key):
		return KINDS[p.kind].holds(self.image, self.family, key, p, self.constant.args)

	def owns(self, key):
		"""Does this file answer for the key? A part of a split filter does so for its own keys, of kinds where a key has one part."""
		c, p = self.constant, self.parts[0]
		if not c.must_understand & SPLIT:
			return True
		if c.kind not in ONE_PART:
			return False
		at = {bit // 8 for bit in KINDS[p.kind].bits(self.family, key, p)}
		begin, end = split_range(p.bytes, c.split_part, c.split_parts)
		return all(begin <= byte < end for byte in at)

	def __contains__(self, key):
		kind = self.constant.kind
		if not self.owns(key):
			raise Refused('EREMOTE', 'the key belongs to another part')
		return COMPOSITES[kind].contains(self, key) if kind in COMPOSITES else self.in_part(self.parts[0], key)

	def holds_range(self, first, last):
		"""Of kinds that answer for ranges."""
		p = self.parts[0]
		return KINDS[p.kind].holds_range(self.image, self.family, first, last, p, self.constant.args)

	def value(self, key):
		"""Of kinds that hold values: None where the key has none."""
		p = self.parts[0]
		return KINDS[p.kind].value(self.image, self.family, key, p, self.constant.args)

	def has_checkpoint_image(self):
		return bool(self.constant.flags & SECOND_IMAGE)

	def keys(self):
		return sum(struct.unpack_from('<Q', self.image, 16384 + 64 * i)[0] for i in range(64)) & M64

	def last_sync(self):
		return last_of(self.image, 4544, 64, SYNC, lambda r: True)

	def dirty(self):
		last = self.last_sync()
		return self.live.written > (last.epoch if last else 0)

	def suspect(self):
		last = self.last_sync()
		return self.live.failed > (last.epoch if last else 0)

	def name(self):
		r = last_of(self.image, 12288, 2048, RECORD, lambda r: r.name_bytes <= 255 and r.labels_bytes <= 1535)
		return r.name[:r.name_bytes] if r else b''

	def blocks(self):
		"""Of each block: part, number, record or None, is it marked, and its bytes. A record is read before its block."""
		for i, p in enumerate(self.parts):
			for b in range(blocks_of(p.bytes)):
				at, from_ = p.begin + 16 * b, p.offset + BLOCK * b
				record = Fields(self.image, at, BLOCK_RECORD)
				if not any(self.image[at:at + 16]) or record.check != block_check(self.image, at, i, b):
					record = None
				marked = self.image[p.begin + 16 * blocks_of(p.bytes) + b] != 0
				yield i, b, record, marked, self.image[from_:min(from_ + BLOCK, p.end)]

	def damaged_blocks(self):
		"""(part, block) of each that is not what its record says."""
		found, sealed = [], self.constant.flags & SEALED
		for part, block, record, _, data in self.blocks():
			if not record:
				if sealed:
					found.append((part, block))
				continue
			ones = int.from_bytes(data, 'little').bit_count()
			if ones < record.ones or (ones > record.ones and sealed):
				found.append((part, block))
			elif ones == record.ones and hashes.xxh3_64(data) & 0xffffffff != record.hash:
				found.append((part, block))
		return found

	def findings(self):
		"""What a reader that is asked to verify reports."""
		found = ['bit %d lies behind the last cell' % bit for p in self.parts for bit in KINDS[p.kind].padding(p)
			if self.is_set(p, bit)]
		return found + ['part %d: block %d is damaged' % damaged for damaged in self.damaged_blocks()]


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
