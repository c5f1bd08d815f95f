"""bloomery_bank.py - a second reader of banks, written from format-spec.md; standard library only

	bank = Bank(open('B', 'rb').read())
	bank.which(b'key')		the ids of those that may hold it
	bank.similar(bank.row(0), 3)	(id, Tanimoto) of those most like one
"""

import struct
import types

import bloomery_reader as reader
import hashes
from bloomery_reader import demand

HEADER_BYTES = 8192
TWO_40 = 1 << 40


def up(n, to):
	return (n + to - 1) // to * to


def sizes_check(image):
	return hashes.xxh3_64(image[4096:8184], reader.uuid_number(image))


class Bank:
	def __init__(self, image):
		self.image = image
		self.constant = c = reader.check_constant(image, b'BLOOMBNK', HEADER_BYTES)
		self.rows, self.row_bytes, text_bytes = struct.unpack_from('<3Q', image, 4096)
		check = struct.unpack_from('<Q', image, 8184)[0]
		demand(check == sizes_check(image), 'EBADMSG', 'the checksum of the sizes is wrong')
		demand(1 <= self.rows <= TWO_40 and 1 <= self.row_bytes <= TWO_40 and self.row_bytes % 64 == 0, 'EBADMSG', 'sizes')
		self.slice_bytes = 64 * ((self.rows + 511) // 512)
		self.ones_at = HEADER_BYTES
		self.order_at = up(self.ones_at + 8 * self.rows, 64)
		self.ids_at = up(self.order_at + 8 * self.rows, 64)
		self.text_at, self.text_bytes = up(self.ids_at + 8 * (self.rows + 1), 64), text_bytes
		self.rows_at = up(self.text_at + text_bytes, 4096)
		self.slices_at = up(self.rows_at + self.rows * self.row_bytes, 4096)
		self.ranges = reader.KINDS.get(c.kind) is reader.Range
		self.checks_at = self.slices_at + (0 if self.ranges else 8 * self.row_bytes * self.slice_bytes)
		self.blocks = reader.blocks_of(self.checks_at - HEADER_BYTES)
		demand(len(image) >= self.checks_at + 8 * self.blocks, 'ENODATA', '%d bytes', len(image))
		kind = reader.KINDS.get(c.kind)
		demand(kind is reader.Range or kind is not None and issubclass(kind, reader.Bits), 'EOPNOTSUPP', 'kind %d', c.kind)
		self.family = reader.FAMILIES[c.family](c.seeds[:c.seed_count], c.tweak, None)
		demand(not self.family.keyed, 'EOPNOTSUPP', 'keyed')
		self.kind, self.part = kind, types.SimpleNamespace(offset=0, bytes=self.row_bytes, cells=c.cells, probes=c.probes,
			cell_bits=c.cell_bits, kind=c.kind, rule=c.index_rule, flip=reader.flip_of(c.bit_order, c.cells))
		demand(self.part.flip is not None and kind.valid(self.part, c.args), 'EBADMSG', 'no such filter')

	def words(self, at, count):
		return struct.unpack_from('<%dQ' % count, self.image, at)

	def row(self, i):
		at = self.rows_at + i * self.row_bytes
		return self.image[at:at + self.row_bytes]

	def text(self, i):
		begin, end = self.words(self.ids_at + 8 * i, 2)
		demand(begin <= end <= self.text_bytes, 'EBADMSG', 'the id of row %d', i)
		return self.image[self.text_at + begin:self.text_at + end]

	def id(self, i):
		return self.text(i).split(b'\t')[0].decode()

	def slice(self, bit):
		at = self.slices_at + bit * self.slice_bytes
		return int.from_bytes(self.image[at:at + self.slice_bytes], 'little')

	def which(self, key):
		if self.ranges:
			return [self.id(i) for i in range(self.rows) if self.holds(i, key)]
		bits = self.kind.bits(self.family, key, self.part)
		left = (1 << self.rows) - 1 if bits is not None else 0
		for bit in bits or ():
			left &= self.slice(bit)
		return [self.id(i) for i in range(self.rows) if left >> i & 1]

	def holds(self, i, key):
		"""The same of one, by its row."""
		part = self.part_of(i)
		return not part or self.kind.holds(self.row(i), self.family, key, part, self.constant.args)

	def which_range(self, first, last):
		parts = [self.part_of(i) for i in range(self.rows)]
		return [self.id(i) for i, part in enumerate(parts)
			if not part or self.kind.holds_range(self.row(i), self.family, first, last, part, self.constant.args)]

	def part_of(self, i):
		"""None: a row of a range filter says that it has other bytes than it can have."""
		size = self.words(self.ones_at + 8 * i, 1)[0] if self.ranges else self.row_bytes
		part = types.SimpleNamespace(**{**vars(self.part), 'bytes': size, 'end': size})
		return part if size <= self.row_bytes and size % 64 == 0 and self.kind.valid(part, self.constant.args) else None

	def similar(self, bits, top):
		a = int.from_bytes(bits, 'little')
		order = self.words(self.order_at, self.rows)
		rows = [int.from_bytes(self.row(i), 'little') for i in range(self.rows)]
		scores = [((a & b).bit_count() / ((a | b).bit_count() or 1), i) for i, b in enumerate(rows)]
		return [(self.id(i), score) for score, i in sorted(scores, key=lambda s: (-s[0], order[s[1]]))[:top]]

	def findings(self):
		found = []
		ones, order = self.words(self.ones_at, self.rows), self.words(self.order_at, self.rows)
		rows = [int.from_bytes(self.row(i), 'little') for i in range(self.rows)]
		for i in range(self.blocks):
			at = HEADER_BYTES + reader.BLOCK * i
			if hashes.xxh3_64(self.image[at:min(at + reader.BLOCK, self.checks_at)], i) != self.words(self.checks_at + 8 * i, 1)[0]:
				found.append('block %d' % i)
		if not all(self.part_of(i) and not any(self.row(i)[ones[i]:]) for i in range(self.rows)) if self.ranges else list(ones) != [row.bit_count() for row in rows]:
			found.append('ones')
		if sorted(order) != list(range(self.rows)) or sorted(zip(ones, order)) != list(zip(ones, order)):
			found.append('order')
		for bit in range(0 if self.ranges else 8 * self.row_bytes):
			if self.slice(bit) != sum((row >> bit & 1) << i for i, row in enumerate(rows)):
				found.append('slice %d' % bit)
		return found
