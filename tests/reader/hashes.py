"""hashes.py - XXH3, SipHash-2-4 with 128 bits, MurmurHash3, those of other programs: slow, plain, standard library only

A second implementation of the families of format-spec.md, written from their definitions, not from the library's code.
"""

import hashlib
import struct

M32 = (1 << 32) - 1
M64 = (1 << 64) - 1

P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MX_1, MX_2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

SECRET = bytes.fromhex(
	'b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f'
	'cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c'
	'3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8'
	'a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364'
	'eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e'
	'2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e')


def r32(b, at=0):
	return int.from_bytes(b[at:at + 4], 'little')


def r64(b, at=0):
	return int.from_bytes(b[at:at + 8], 'little')


def swap32(x):
	return int.from_bytes(x.to_bytes(4, 'little'), 'big')


def swap64(x):
	return int.from_bytes(x.to_bytes(8, 'little'), 'big')


def rotl32(x, by):
	return (x << by | x >> (32 - by)) & M32


def rotl64(x, by):
	return (x << by | x >> (64 - by)) & M64


def fold(a, b):
	"""The halves of the 128-bit product, xored."""
	p = a * b
	return (p & M64) ^ (p >> 64)


def xxh64_avalanche(h):
	h = (h ^ h >> 33) * P64_2 & M64
	h = (h ^ h >> 29) * P64_3 & M64
	return h ^ h >> 32


def xxh64(b, seed=0):
	def round(acc, word):
		return rotl64(acc + word * P64_2 & M64, 31) * P64_1 & M64

	at, n = 0, len(b)
	if n >= 32:
		acc = [seed + P64_1 + P64_2 & M64, seed + P64_2 & M64, seed, seed - P64_1 & M64]
		for at in range(0, n // 32 * 32, 32):
			acc = [round(a, r64(b, at + 8 * i)) for i, a in enumerate(acc)]
		at = n // 32 * 32
		h = sum(rotl64(a, by) for a, by in zip(acc, (1, 7, 12, 18))) & M64
		for a in acc:
			h = (h ^ round(0, a)) * P64_1 + P64_4 & M64
	else:
		h = seed + P64_5 & M64
	h = h + n & M64
	for at in range(at, at + n % 32 // 8 * 8, 8):
		h = rotl64(h ^ round(0, r64(b, at)), 27) * P64_1 + P64_4 & M64
	at = n // 8 * 8
	if n - at >= 4:
		h = rotl64(h ^ r32(b, at) * P64_1 & M64, 23) * P64_2 + P64_3 & M64
		at += 4
	for byte in b[at:]:
		h = rotl64(h ^ byte * P64_5 & M64, 11) * P64_1 & M64
	return xxh64_avalanche(h)


def avalanche(h):
	h = (h ^ h >> 37) * MX_1 & M64
	return h ^ h >> 32


def mix16(b, at, secret, seed):
	return fold(r64(b, at) ^ (r64(SECRET, secret) + seed & M64), r64(b, at + 8) ^ (r64(SECRET, secret + 8) - seed & M64))


# ---- Long inputs: 64-byte stripes into eight accumulators ----

def seeded_secret(seed):
	words = struct.unpack('<24Q', SECRET)
	return b''.join(((w - seed if i % 2 else w + seed) & M64).to_bytes(8, 'little') for i, w in enumerate(words))


def accumulate(acc, stripe, secret):
	data = struct.unpack('<8Q', stripe)
	keys = struct.unpack('<8Q', secret)
	for i in range(8):
		key = data[i] ^ keys[i]
		acc[i ^ 1] = acc[i ^ 1] + data[i] & M64
		acc[i] = acc[i] + (key & M32) * (key >> 32) & M64


def accumulate_all(b, secret):
	acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
	scramble = struct.unpack('<8Q', secret[128:192])
	stripes = (len(b) - 1) // 64
	for s in range(stripes):
		n = s % 16
		accumulate(acc, b[64 * s:64 * s + 64], secret[8 * n:8 * n + 64])
		if n == 15:
			for i in range(8):
				acc[i] = (acc[i] ^ acc[i] >> 47 ^ scramble[i]) * P32_1 & M64
	accumulate(acc, b[-64:], secret[192 - 64 - 7:192 - 7])
	return acc


def merge(acc, secret, at, start):
	for i in range(4):
		start += fold(acc[2 * i] ^ r64(secret, at + 16 * i), acc[2 * i + 1] ^ r64(secret, at + 16 * i + 8))
	return avalanche(start & M64)


# ---- XXH3, 64 bits ----

def xxh3_64(b, seed=0):
	n = len(b)
	if n == 0:
		return xxh64_avalanche(seed ^ r64(SECRET, 56) ^ r64(SECRET, 64))
	if n <= 3:
		word = b[0] << 16 | b[n >> 1] << 24 | b[n - 1] | n << 8
		return xxh64_avalanche(word ^ ((r32(SECRET) ^ r32(SECRET, 4)) + seed & M64))
	if n <= 8:
		seed ^= swap32(seed & M32) << 32
		word = r32(b, n - 4) + (r32(b) << 32)
		h = word ^ ((r64(SECRET, 8) ^ r64(SECRET, 16)) - seed & M64)
		h = (h ^ rotl64(h, 49) ^ rotl64(h, 24)) * MX_2 & M64
		h = (h ^ (h >> 35) + n) * MX_2 & M64
		return h ^ h >> 28
	if n <= 16:
		lo = r64(b) ^ ((r64(SECRET, 24) ^ r64(SECRET, 32)) + seed & M64)
		hi = r64(b, n - 8) ^ ((r64(SECRET, 40) ^ r64(SECRET, 48)) - seed & M64)
		return avalanche(n + swap64(lo) + hi + fold(lo, hi) & M64)
	if n <= 128:
		acc = n * P64_1
		for i in range((n - 1) // 32, -1, -1):
			acc += mix16(b, 16 * i, 32 * i, seed) + mix16(b, n - 16 * (i + 1), 32 * i + 16, seed)
		return avalanche(acc & M64)
	if n <= 240:
		acc = n * P64_1
		for i in range(8):
			acc += mix16(b, 16 * i, 16 * i, seed)
		acc = avalanche(acc & M64)
		for i in range(8, n // 16):
			acc += mix16(b, 16 * i, 16 * (i - 8) + 3, seed)
		return avalanche(acc + mix16(b, n - 16, 136 - 17, seed) & M64)
	secret = seeded_secret(seed)
	return merge(accumulate_all(b, secret), secret, 11, n * P64_1 & M64)


# ---- XXH3, 128 bits: (low, high) ----

def mix32(acc, b, at1, at2, secret, seed):
	acc[0] = (acc[0] + mix16(b, at1, secret, seed) & M64) ^ (r64(b, at2) + r64(b, at2 + 8) & M64)
	acc[1] = (acc[1] + mix16(b, at2, secret + 16, seed) & M64) ^ (r64(b, at1) + r64(b, at1 + 8) & M64)


def finish128(acc, n, seed):
	low = acc[0] + acc[1] & M64
	high = acc[0] * P64_1 + acc[1] * P64_4 + (n - seed) * P64_2 & M64
	return avalanche(low), -avalanche(high) & M64


def xxh3_128(b, seed=0):
	n = len(b)
	if n == 0:
		return (xxh64_avalanche(seed ^ r64(SECRET, 64) ^ r64(SECRET, 72)),
			xxh64_avalanche(seed ^ r64(SECRET, 80) ^ r64(SECRET, 88)))
	if n <= 3:
		low = b[0] << 16 | b[n >> 1] << 24 | b[n - 1] | n << 8
		high = rotl32(swap32(low), 13)
		return (xxh64_avalanche(low ^ ((r32(SECRET) ^ r32(SECRET, 4)) + seed & M64)),
			xxh64_avalanche(high ^ ((r32(SECRET, 8) ^ r32(SECRET, 12)) - seed & M64)))
	if n <= 8:
		seed ^= swap32(seed & M32) << 32
		word = r32(b) + (r32(b, n - 4) << 32)
		p = (word ^ ((r64(SECRET, 16) ^ r64(SECRET, 24)) + seed & M64)) * (P64_1 + (n << 2) & M64)
		low, high = p & M64, p >> 64
		high = high + (low << 1) & M64
		low ^= high >> 3
		low = (low ^ low >> 35) * MX_2 & M64
		return low ^ low >> 28, avalanche(high)
	if n <= 16:
		flip_low = (r64(SECRET, 32) ^ r64(SECRET, 40)) - seed & M64
		flip_high = (r64(SECRET, 48) ^ r64(SECRET, 56)) + seed & M64
		high = r64(b, n - 8)
		p = (r64(b) ^ high ^ flip_low) * P64_1
		m_low, m_high = (p & M64) + (n - 1 << 54) & M64, p >> 64
		high ^= flip_high
		m_high = m_high + high + (high & M32) * (P32_2 - 1) & M64
		p = (m_low ^ swap64(m_high)) * P64_2
		return avalanche(p & M64), avalanche((p >> 64) + m_high * P64_2 & M64)
	if n <= 128:
		acc = [n * P64_1 & M64, 0]
		for i in range((n - 1) // 32, -1, -1):
			mix32(acc, b, 16 * i, n - 16 * (i + 1), 32 * i, seed)
		return finish128(acc, n, seed)
	if n <= 240:
		acc = [n * P64_1 & M64, 0]
		for i in range(4):
			mix32(acc, b, 32 * i, 32 * i + 16, 32 * i, seed)
		acc = [avalanche(acc[0]), avalanche(acc[1])]
		for i in range(4, n // 32):
			mix32(acc, b, 32 * i, 32 * i + 16, 3 + 32 * (i - 4), seed)
		mix32(acc, b, n - 16, n - 32, 136 - 17 - 16, -seed & M64)
		return finish128(acc, n, seed)
	secret = seeded_secret(seed)
	acc = accumulate_all(b, secret)
	return merge(acc, secret, 11, n * P64_1 & M64), merge(acc, secret, 192 - 64 - 11, ~(n * P64_2) & M64)


# ---- SipHash-2-4, 128 bits: (first eight bytes, last eight) ----

def sip_round(v):
	v[0] = v[0] + v[1] & M64
	v[2] = v[2] + v[3] & M64
	v[1] = rotl64(v[1], 13) ^ v[0]
	v[3] = rotl64(v[3], 16) ^ v[2]
	v[0] = rotl64(v[0], 32)
	v[2] = v[2] + v[1] & M64
	v[0] = v[0] + v[3] & M64
	v[1] = rotl64(v[1], 17) ^ v[2]
	v[3] = rotl64(v[3], 21) ^ v[0]
	v[2] = rotl64(v[2], 32)


def siphash_128(b, secret):
	k0, k1 = r64(secret), r64(secret, 8)
	v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]
	whole = len(b) // 8 * 8
	for at in range(0, whole + 8, 8):
		word = r64(b, at) if at < whole else r64(b[whole:]) | (len(b) & 0xff) << 56
		v[3] ^= word
		sip_round(v)
		sip_round(v)
		v[0] ^= word
	v[2] ^= 0xee
	for _ in range(4):
		sip_round(v)
	first = v[0] ^ v[1] ^ v[2] ^ v[3]
	v[1] ^= 0xdd
	for _ in range(4):
		sip_round(v)
	return first, v[0] ^ v[1] ^ v[2] ^ v[3]


def siphash_64(b, k0, k1):
	v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]
	whole = len(b) // 8 * 8
	for at in range(0, whole + 8, 8):
		word = r64(b, at) if at < whole else r64(b[whole:]) | (len(b) & 0xff) << 56
		v[3] ^= word
		sip_round(v)
		sip_round(v)
		v[0] ^= word
	v[2] ^= 0xff
	for _ in range(4):
		sip_round(v)
	return v[0] ^ v[1] ^ v[2] ^ v[3]


# ---- MurmurHash3, x86, 32 bits ----

def murmur3_32(b, seed):
	def mix(k):
		return rotl32(k * 0xcc9e2d51 & M32, 15) * 0x1b873593 & M32

	h = seed
	whole = len(b) // 4 * 4
	for at in range(0, whole, 4):
		h = rotl32(h ^ mix(r32(b, at)), 13) * 5 + 0xe6546b64 & M32
	h ^= mix(r32(b[whole:])) ^ len(b) & M32
	h = (h ^ h >> 16) * 0x85ebca6b & M32
	h = (h ^ h >> 13) * 0xc2b2ae35 & M32
	return h ^ h >> 16


# ---- MurmurHash3, x64, 128 bits: (h1, h2) ----

def murmur3_128(b, seed):
	def mix_1(k):
		return rotl64(k * 0x87c37b91114253d5 & M64, 31) * 0x4cf5ad432745937f & M64

	def mix_2(k):
		return rotl64(k * 0x4cf5ad432745937f & M64, 33) * 0x87c37b91114253d5 & M64

	def finish(h):
		h = (h ^ h >> 33) * 0xff51afd7ed558ccd & M64
		h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53 & M64
		return h ^ h >> 33

	h1 = h2 = seed
	whole = len(b) // 16 * 16
	for at in range(0, whole, 16):
		h1 = (rotl64(h1 ^ mix_1(r64(b, at)), 27) + h2) * 5 + 0x52dce729 & M64
		h2 = (rotl64(h2 ^ mix_2(r64(b, at + 8)), 31) + h1) * 5 + 0x38495ab5 & M64
	h1 ^= mix_1(r64(b, whole)) ^ len(b)
	h2 ^= mix_2(r64(b, whole + 8)) ^ len(b)
	h1 = h1 + h2 & M64
	h1, h2 = finish(h1), finish(h2 + h1 & M64)
	h1 = h1 + h2 & M64
	return h1, h2 + h1 & M64


# ---- The hashes of pybloomfiltermmap, by the names of their families ----

def djb(b, seed):
	r = 5381 ^ seed
	for byte in b:
		r = r * 33 + byte & M32
	return r


def djb_int(b, seed):
	return 5381 + 33 * (r64(b) ^ seed) & M32


def md5(b, seed):
	return r32(hashlib.md5(seed.to_bytes(4, 'little') + b, usedforsecurity=False).digest(), 4)


def utf16_units(b):
	"""Of UTF-8, a byte that begins no character being one by itself."""
	def whole(part):
		try:
			return part.decode()
		except UnicodeDecodeError:
			return ''

	while b:
		n = next((n for n in (1, 2, 3, 4) if whole(b[:n])), 0)
		yield from memoryview(b[:n].decode().encode('utf-16-le')).cast('H') if n else b[:1]
		b = b[n or 1:]


def js(b, seed):
	r = 1
	for unit in utf16_units(b):
		r = r * seed + unit & M32
	return r - (r >> 31 << 32)


def superfast(b, seed):
	def signed(byte):
		return byte - 256 if byte > 127 else byte

	def r16(at):
		return int.from_bytes(b[at:at + 2], 'little')

	if not b:
		return 0
	h = seed
	whole = len(b) // 4 * 4
	for at in range(0, whole, 4):
		h = h + r16(at) & M32
		h = (h << 16 ^ r16(at + 2) << 11 ^ h) & M32
		h = h + (h >> 11) & M32
	rest = len(b) - whole
	if rest == 3:
		h = h + r16(whole) & M32
		h = (h ^ h << 16 ^ signed(b[whole + 2]) << 18) & M32
		h = h + (h >> 11) & M32
	elif rest == 2:
		h = h + r16(whole) & M32
		h = (h ^ h << 11) & M32
		h = h + (h >> 17) & M32
	elif rest == 1:
		h = h + signed(b[whole]) & M32
		h = (h ^ h << 10) & M32
		h = h + (h >> 1) & M32
	for left, right in (3, 5), (4, 17), (25, 6):
		h = (h ^ h << left) & M32
		h = h + (h >> right) & M32
	return h


def sha512(b, seed):
	return r32(hashlib.sha512(seed.to_bytes(4, 'little') + b).digest())


def mm3_32(b, seed):
	h = mm3_64(b, seed)
	return h & M32 ^ h >> 32


def mm3_64(b, seed):
	h1, h2 = murmur3_128(b, seed)
	return h1 ^ h2


# ---- Other programs' ----

def murmur64a(b, seed):
	m, h = 0xc6a4a7935bd1e995, seed ^ len(b) * 0xc6a4a7935bd1e995 & M64
	for at in range(0, len(b) // 8 * 8, 8):
		k = r64(b, at) * m & M64
		h = (h ^ (k ^ k >> 47) * m) * m & M64
	if len(b) % 8:
		h = (h ^ int.from_bytes(b[len(b) // 8 * 8:], 'little')) * m & M64
	h = (h ^ h >> 47) * m & M64
	return h ^ h >> 47


def murmur2(b, seed):
	m, h = 0x5bd1e995, seed ^ len(b) & M32
	for at in range(0, len(b) // 4 * 4, 4):
		k = r32(b, at) * m & M32
		h = (h * m ^ (k ^ k >> 24) * m) & M32
	if len(b) % 4:
		h = (h ^ int.from_bytes(b[len(b) // 4 * 4:], 'little')) * m & M32
	h = (h ^ h >> 13) * m & M32
	return h ^ h >> 15


def leveldb(b):
	m = 0xc6a4a793
	h = (0xbc9f1d34 ^ len(b) * m) & M32
	for at in range(0, len(b) // 4 * 4, 4):
		h = (h + r32(b, at)) * m & M32
		h ^= h >> 16
	if len(b) % 4:
		h = (h + int.from_bytes(b[len(b) // 4 * 4:], 'little')) * m & M32
		h ^= h >> 24
	return h


def fnv1(b, xor_first=False):
	h = 0xcbf29ce484222325
	for byte in b:
		h = (h ^ byte) * 0x100000001b3 & M64 if xor_first else h * 0x100000001b3 & M64 ^ byte
	return h


def siphash13(b, k0, k1):
	v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]
	whole = len(b) // 8 * 8
	for at in range(0, whole + 8, 8):
		word = r64(b, at) if at < whole else r64(b[whole:]) | (len(b) & 0xff) << 56
		v[3] ^= word
		sip_round(v)
		v[0] ^= word
	v[2] ^= 0xff
	for _ in range(3):
		sip_round(v)
	return v[0] ^ v[1] ^ v[2] ^ v[3]


KECCAK = [
	0x0000000000000001, 0x0000000000008082, 0x800000000000808A, 0x8000000080008000, 0x000000000000808B, 0x0000000080000001,
	0x8000000080008081, 0x8000000000008009, 0x000000000000008A, 0x0000000000000088, 0x0000000080008009, 0x000000008000000A,
	0x000000008000808B, 0x800000000000008B, 0x8000000000008089, 0x8000000000008003, 0x8000000000008002, 0x8000000000000080,
	0x000000000000800A, 0x800000008000000A, 0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008]


def keccak256(b):
	b = bytearray(b) + b'\x01' + bytes(-(len(b) + 1) % 136)
	b[-1] |= 0x80
	a = [0] * 25
	for at in range(0, len(b), 136):
		for i in range(17):
			a[i] ^= r64(b, at + 8 * i)
		for constant in KECCAK:
			c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
			a = [a[i] ^ c[(i + 4) % 5] ^ rotl64(c[(i + 1) % 5], 1) for i in range(25)]
			moved, x, y = list(a), 1, 0
			for t in range(24):
				x, y, last = y, (2 * x + 3 * y) % 5, a[x + 5 * y]
				moved[x + 5 * y] = rotl64(last, (t + 1) * (t + 2) // 2 % 64)
			a = [moved[i] ^ ~moved[i // 5 * 5 + (i + 1) % 5] & moved[i // 5 * 5 + (i + 2) % 5] for i in range(25)]
			a[0] ^= constant
	return b''.join(word.to_bytes(8, 'little') for word in a[:4])
