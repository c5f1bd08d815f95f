"""hashes.py - XXH3, SipHash-2-4 with 128 bits, MurmurHash3: slow, plain, standard library only

A second implementation of the families of format-spec.md, written from their definitions, not from the library's code.
"""

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
