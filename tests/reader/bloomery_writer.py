"""bloomery_writer.py - makes a file of Bloomery's, from format-spec.md: what a writer of one's own needs at least"""

import struct
import time
import uuid

import bloomery_reader as reader


def make(kind, family, cells, probes, keys=(), seeds=(), tweak=0, secret=None, capacity=1, rate=0.5, sealed=False, rule=0, order=0):
	"""The bytes of a filter that holds `keys`."""
	size = (cells + 511) // 512 * 64
	guard = reader.blocksum_bytes(size)
	offset = 20480 + guard if size <= 2097152 else (20480 + guard + 2097151) // 2097152 * 2097152
	image = bytearray(offset + size)

	def put(at, form, *values):
		struct.pack_into('<' + form, image, at, *values)

	put(0, '8sIIQQ', b'BLOOMERY', 1, 20480, 0, 0)
	put(32, '16sQQd', uuid.uuid4().bytes, time.time_ns(), capacity, rate)
	put(88, 'Q', reader.SEALED if sealed else 0)
	put(128, 'IIIIQIIQ', kind, family, rule, order, cells, probes, 1, tweak)
	put(168, '8s', reader.key_id(secret) if secret else b'')
	put(248, 'I', len(seeds))
	put(256, '%dQ' % len(seeds), *seeds)
	put(72, '16s', reader.template_id(bytes(image)))
	put(4088, 'Q', reader.constant_check(bytes(image)))
	put(8192, 'QQQIIIIQd', offset, size, cells, probes, 1, kind, 0, capacity, rate)
	put(8248, 'Q', reader.entry_check(bytes(image), 0))
	put(4096, 'Q', 1)	# parts
	put(4224, 'Q', 1)	# epoch

	part = reader.Filter(bytes(image), secret).parts[0]
	hasher = reader.FAMILIES[family](seeds, tweak, secret)
	changed = 0
	for key in keys:
		lacking = {bit for bit in reader.KINDS[kind].bits(hasher, key, part) if not image[offset + bit // 8] >> bit % 8 & 1}
		for bit in lacking:
			image[offset + bit // 8] |= 1 << bit % 8
		changed += bool(lacking)
	put(16384, 'Q', changed)
	for b in range(reader.blocks_of(size)):
		block = bytes(image[offset + reader.BLOCK * b:min(offset + reader.BLOCK * (b + 1), offset + size)])
		if sealed or any(block):
			at = offset - guard + 16 * b
			put(at, 'III', reader.hashes.xxh3_64(block) & 0xffffffff, int.from_bytes(block, 'little').bit_count(), 1)
			put(at + 12, 'I', reader.block_check(bytes(image), at, 0, b))
	return bytes(image)
