"""golden.py - the files of tests/golden: NAME.blm, and what NAME.txt says about it; and the ways to break them"""

import os
import struct

import bloomery_reader as reader


class Golden:
	def __init__(self, folder, name):
		self.name = name
		self.path = os.path.join(folder, name + '.blm')
		self.fields, self.answers, self.values, self.got, self.ranges, self.remote = {}, [], {}, {}, [], []
		with open(self.path, 'rb') as f:
			self.image = f.read()
		with open(os.path.join(folder, name + '.txt'), encoding='utf-8') as f:
			lines = f.read().splitlines()
		for line in lines:
			word, value = line.split(' ', 1)
			if word in ('added', 'yes', 'no'):
				self.answers.append((b'' if value == '-' else bytes.fromhex(value), word != 'no'))
			elif word == 'remote':
				self.remote.append(bytes.fromhex(value))
			elif word in ('value', 'got'):
				value, key = value.split(' ')
				(self.values if word == 'value' else self.got)[b'' if key == '-' else bytes.fromhex(key)] = int(value)
			elif word in ('range-yes', 'range-no'):
				first, last = (b'' if key == '-' else bytes.fromhex(key) for key in value.split())
				self.ranges.append((first, last, word == 'range-yes'))
			elif word != '#':
				self.fields[word] = value
		self.added = sum(line.startswith('added') for line in lines)
		self.secret = bytes.fromhex(self.fields['secret']) if 'secret' in self.fields else None

	def entries(self):
		"""The keys that were added, with their values (None where the kind holds none)."""
		return [(key, self.values.get(key)) for key, _ in self.answers[:self.added]]

	def open(self):
		return reader.Filter(self.image, self.secret)


def all(folder):
	return [Golden(folder, name[:-4]) for name in sorted(os.listdir(folder)) if name.endswith('.blm')]


class Image:
	"""A file's bytes, to be changed, and its checksums made right again."""
	def __init__(self, image):
		self.image = bytearray(image)
		self.changed = set()

	def put(self, at, new):
		self.image[at:at + len(new)] = new
		self.changed.update(range(at, at + len(new)))

	def resize(self, size):
		size += len(self.image) if size < 0 else 0
		self.image = (self.image + bytes(max(size - len(self.image), 0)))[:size]

	def put_sum(self, at, new):
		"""Unless it was changed on purpose."""
		if self.changed.isdisjoint(range(at, at + len(new))):
			self.image[at:at + len(new)] = new

	def fix(self):
		if struct.unpack_from('<I', self.image, 248)[0] <= 256:
			self.put_sum(72, reader.template_id(bytes(self.image)))
		self.put_sum(4088, struct.pack('<Q', reader.constant_check(bytes(self.image))))
		for at in range(8192, 12288, 64):
			if any(self.image[at:at + 64]):
				self.put_sum(at + 56, struct.pack('<Q', reader.entry_check(bytes(self.image), (at - 8192) // 64)))


class Broken(Image):
	"""A line of broken.txt: NAME FILE OFFSETS BYTES FIX ERROR. README.md in that folder has the rules."""
	def __init__(self, folder, line):
		self.name, self.file, offsets, values, fix, self.error = line.split()
		with open(os.path.join(folder, self.file + '.blm'), 'rb') as f:
			super().__init__(f.read())
		for offset, value in zip(offsets.split(','), values.split(','), strict=True):
			if offset == 'size':
				self.resize(int(value))
			else:
				self.put(int(offset), bytes.fromhex(value))
		if fix == 'yes':
			self.fix()


def broken(folder):
	with open(os.path.join(folder, 'broken.txt'), encoding='utf-8') as f:
		return [Broken(folder, line) for line in f if line.strip() and not line.startswith('#')]
