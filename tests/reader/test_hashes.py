"""test_hashes.py - the hashes of the second reader against known answers

test_hashes.py [VECTORS-FOLDER]

Inputs are pattern(n): byte i is (i * 167 + 13) % 251. The answers for XXH3 and SipHash were taken from libxxhash 0.8.1
and libsodium 1.0.18; those for MurmurHash3 are its authors' own verification values (SMHasher). With a folder of
vectors, pybloomfiltermmap/ in it says what the versions of that program answered.
"""

import json
import os
import sys

import bloomery_reader as reader
import hashes
from tap import Tap

SEED = 0x9E3779B97F4A7C15

# seconds since 1970 of times in the first and the last years
TIMES = [
	('0000-02-29', -62162121600), ('0001-01-01', -62135596800), ('0399-12-31', -49544524800), ('0400-01-01', -49544438400),
	('9599-12-31', 240779433600), ('9600-02-29', 240784617600), ('9999-12-31T23:59:59Z', 253402300799), ('0001-02-29', None), ('9999-02-29', None),
]

# networks, their places and levels
NETWORKS = [
	('::/32', 0, 32), ('::/33', 0, None), ('::/64', 0, None), ('::8000:0:0/81', 0, None), ('::ffff:1.2.3.4/95', 0, None), ('::ffff:1.2.3.4/128', 0x01020304, 0),
	('::/81', 0, 0), ('::/96', 0, 0), ('0:0:1::/48', 1, 16), ('1::/64', 1 << 48, 0),
]

# bytes, seed, XXH3-64, XXH3-128 low, high
XXH3 = [
	(0, 0, 0x2d06800538d394c2, 0x6001c324468d497f, 0x99aa06d3014798d8),
	(0, SEED, 0x602b0e2cd6662c8b, 0x4ca5176998171787, 0xd142977a2cca554b),
	(1, 0, 0x8a21d78b1538b1c0, 0x8a21d78b1538b1c0, 0x79d2c79e874f72cd),
	(1, SEED, 0x30e3e5af4b171b5b, 0x30e3e5af4b171b5b, 0x96e7ba58e13cb0ad),
	(2, 0, 0xa020a917c68e5888, 0xa020a917c68e5888, 0x424e3bc292e2fac3),
	(2, SEED, 0x94cce158da77ce2f, 0x94cce158da77ce2f, 0x4fee734c7d63aee6),
	(3, 0, 0x9d34a52be9347c7d, 0x9d34a52be9347c7d, 0xaf03fe623ee5c2ee),
	(3, SEED, 0x1ffeaa9c9b980e3f, 0x1ffeaa9c9b980e3f, 0x357c4aee38a7575c),
	(4, 0, 0x710bf530682a5a15, 0xee752fdd1dd08115, 0xd3485b6edd563453),
	(4, SEED, 0x2a5771a8594abd5f, 0x3fa2230b2fae483e, 0xd1b72c97f34f997c),
	(5, 0, 0x6d67b55d35c9f1b5, 0xb0c2ad8e19d5010d, 0x205600926829ae2b),
	(5, SEED, 0xdb4e6a92ac8a7de8, 0xf27d65acddc2304a, 0x101c35019325eaef),
	(7, 0, 0x3421ca64a8cc988e, 0x7176f06255455619, 0xfdd4b671578e5926),
	(7, SEED, 0x35a39b4fb38267e2, 0x8e457048329cad20, 0x21af47db143ffa32),
	(8, 0, 0x4099abbbb0895910, 0xd9f1b9cc0d0d6508, 0x69640a0b3d0a504d),
	(8, SEED, 0x5dffa28e8c2b37d6, 0xd582529604ba39d1, 0x2f0c70c68e0e779f),
	(9, 0, 0x157044fc90b79287, 0xe88e44c2a6f88328, 0x0798138bf6ce02e9),
	(9, SEED, 0x361b93e2deab09a9, 0x07a9b1edcb1ac37b, 0x65db505c55d9aff1),
	(12, 0, 0xd62a752aa7065add, 0x9932753d10a1404c, 0xd5062e13a600ef88),
	(12, SEED, 0x54751d14dbbc2a4c, 0xd3d6cd7c6defb572, 0x4e858a4ec2d04470),
	(15, 0, 0x7d837fc7248f9525, 0xd5a798e580312f60, 0xf06bada378d31d63),
	(15, SEED, 0xfc194b0110d4a841, 0x6ce83e6859f20a35, 0x995fbd26d1a39816),
	(16, 0, 0x2042bc2e10b4c4bf, 0x08c65cd9fde95c32, 0xb866d1e7934def8b),
	(16, SEED, 0xa44c7c2a0f352648, 0x821094e832619751, 0x07ba1c702ee88f11),
	(17, 0, 0x1ddb5906f04a8a01, 0x9c42b006a2238e8f, 0x4b195b152fc95e21),
	(17, SEED, 0x9d650a574e136a33, 0x86cf2e87ec1aaf86, 0xba67cb88adefe218),
	(31, 0, 0x9b1fc7daedc96a9f, 0xaae9c1723c501115, 0xd8ed097273c46b50),
	(31, SEED, 0x2650bd8ee1322e8b, 0x887e95f32c80bae9, 0x2e08df497df7adea),
	(32, 0, 0x8752e5a3b162786c, 0x79cf219a7bfcdfb0, 0x37976b3bdf7fe2e0),
	(32, SEED, 0xa825fe6c2b5f050e, 0xe9534f617e9f0722, 0x540fad04805ee4da),
	(33, 0, 0xfbbf3653d87edb3c, 0x73abbca67dc43b7f, 0xef5be9c167b8ec37),
	(33, SEED, 0x4e91fde5ced51a06, 0x0eb13204d2ba3471, 0xf9e674b7b6a15ab2),
	(63, 0, 0x172beea049dc5432, 0xd90915d230cb5abb, 0x1bbb02a45404478b),
	(63, SEED, 0x78babe576f71ee97, 0x38ebdb71f444fe1e, 0xc4e5a7df8c03dc68),
	(64, 0, 0xf37e9d49f2286ebb, 0x0595e088a5426a57, 0xab1b6d1f063e18d3),
	(64, SEED, 0xb22da3ac49f885cd, 0xcf8fad64a987ec98, 0xaa405b43be99c5d6),
	(65, 0, 0xbd6d9b5923cc80e5, 0x09c60d68c3f36705, 0xfffd08bd48175396),
	(65, SEED, 0x96dc46e336b90701, 0x71244494d01ee31b, 0xdf58458f80a96f41),
	(95, 0, 0x539607a5d0413426, 0xe831e6eec7edc1f0, 0x609190e82838c385),
	(95, SEED, 0x50dd2bbd1907d2dd, 0xbfbd6fb8f4663c4e, 0x4a7c93fca7df5702),
	(96, 0, 0x5cc054f233fdb879, 0xc1f6ec90c94a56cb, 0x409472a837a6a638),
	(96, SEED, 0xfac6db98153f1fc1, 0x2bbb1bc9ba6586f5, 0xa8025f25b77bac4c),
	(97, 0, 0x641e2147f9b6472c, 0x18397ac54400d31f, 0xe557cbc65af288a5),
	(97, SEED, 0x82c13ace3acc7e10, 0xa3eb64adbb9214ab, 0xed25833a8c879780),
	(127, 0, 0x5d9f9cfec57ce44d, 0xfa5be30a8a6a3520, 0x152e1200f6d8e3a7),
	(127, SEED, 0x1883c5f11fdaadc3, 0xf0c7f82da1051592, 0x7c06561496fca23d),
	(128, 0, 0x442fed4532cd9036, 0x9742387207934342, 0xa7199ca0ce20d9ca),
	(128, SEED, 0xbd59e7bec9f52fd4, 0xaaccc16cbdf85e21, 0xd43374e67791afc8),
	(129, 0, 0x13b91d8a08fb7933, 0x7a5c072e0b50dc4d, 0xb1ab5f5d5aa89f03),
	(129, SEED, 0xf7fd1b402916798c, 0x1fe2b1f72dc3f09a, 0x72e5c4bfe50c4c3a),
	(143, 0, 0x1e3e7e2a7163d2cb, 0x787c6f7cd4f5f944, 0xe54dbdfc70e91c31),
	(143, SEED, 0x1d2c629e0b707ecf, 0xb78c83f8b75fe7c1, 0x2226e6e3a9b93d04),
	(144, 0, 0xa657586f0947177f, 0xdcd1ce7f23666798, 0x18b5a70984f2b31e),
	(144, SEED, 0x1e0498a6980d4b7a, 0x5eade16486f5b6a3, 0x9fa41e6917b29420),
	(159, 0, 0x2d7ef62af15ee95a, 0xb917f6bd2cd9e425, 0xf8dffd3b33d984e6),
	(159, SEED, 0x13621c8e210e84f8, 0xdcbb0148d1a32d50, 0x84a97824203812df),
	(160, 0, 0x6e2f54b560c11d44, 0xe2c1c378bec6bdbb, 0x48b64fc60bfcf2aa),
	(160, SEED, 0xa75666bce4bc15da, 0x735b71dd8b003b08, 0xab0f2ac7c2cb919b),
	(161, 0, 0xe9c6a40887286cf2, 0x7d43698088a3aee9, 0xa7f24f9b2c926a18),
	(161, SEED, 0x39a531f3157697a1, 0xaccfb4772a872b1d, 0x8f1618d44991a01b),
	(192, 0, 0xfc69d19b02637319, 0x86b779ffab1d7ccc, 0x194d684dc3bd8bac),
	(192, SEED, 0xecd1ad18ce744ef3, 0xd8ebeb3246bd1230, 0xe6ba858b6d49ccca),
	(223, 0, 0x85b31d4458e4733e, 0x3b007951615ee867, 0x2b98defbc61cc036),
	(223, SEED, 0x77bfd5b884c1c8df, 0x71daa2f2144f4635, 0x4d73adc2f790b970),
	(224, 0, 0x624172431462b18a, 0x67b2d45d6f28bee6, 0xcd2c2a1f0da3cc7f),
	(224, SEED, 0xbe7e531d10b89e9d, 0x75cdb8acd9f0aca3, 0x648cdcbb9e8f3a8f),
	(239, 0, 0x955b9f60f7ddcce2, 0x89967206471d839d, 0xa645b8248634517f),
	(239, SEED, 0xa72a654c21512605, 0x35a4b1478cd5c362, 0x7b87ebcc6a51ce9d),
	(240, 0, 0xfe57308078a8decd, 0x7fc1b3893d3e2b28, 0x368e5d4cb650c05f),
	(240, SEED, 0x1e9190cdf0bd4160, 0xdc60d4c45f0b9f86, 0x1d295334bca06ea7),
	(241, 0, 0xf15ff881cb95f40a, 0xf15ff881cb95f40a, 0xd4fe1178e94d9a1a),
	(241, SEED, 0x41d3df1638d87a16, 0x41d3df1638d87a16, 0xd6238f6b825bceb1),
	(255, 0, 0x97e26662ba6b7c8b, 0x97e26662ba6b7c8b, 0x3ec6357adfc4dab4),
	(255, SEED, 0x34567b81823d815a, 0x34567b81823d815a, 0x05efb845b895dea2),
	(256, 0, 0x919e1b7a5042b2b6, 0x919e1b7a5042b2b6, 0x5755433cf4eb5519),
	(256, SEED, 0x4c0b418a03d52a1a, 0x4c0b418a03d52a1a, 0x54e90f106b892f25),
	(257, 0, 0x2dfa1be754f4678e, 0x2dfa1be754f4678e, 0xe4a3f0ab6e3a39df),
	(257, SEED, 0x3647d29660757e76, 0x3647d29660757e76, 0x370d0cb00a93e4b3),
	(319, 0, 0x70706e2a7ba8b556, 0x70706e2a7ba8b556, 0xff810f3f8c544254),
	(319, SEED, 0xbfa1e6e5f5a67fc6, 0xbfa1e6e5f5a67fc6, 0xfd8dbefff27288c2),
	(320, 0, 0xe4c881b1daeb908f, 0xe4c881b1daeb908f, 0xda0b76b33878311b),
	(320, SEED, 0xc95ceb9b3c647af7, 0xc95ceb9b3c647af7, 0x173be094ee958e32),
	(512, 0, 0xef0c5a9e4c1f14d6, 0xef0c5a9e4c1f14d6, 0x0e7534cb48c90aa0),
	(512, SEED, 0x0577d29d76320d31, 0x0577d29d76320d31, 0x6a69275175027580),
	(1023, 0, 0x15d53375f6f6fb54, 0x15d53375f6f6fb54, 0x266b3633642b8a6b),
	(1023, SEED, 0x3d761ab356e176cb, 0x3d761ab356e176cb, 0xef9405e95615a63c),
	(1024, 0, 0x42a77b06491250a7, 0x42a77b06491250a7, 0x31822c116d1321e9),
	(1024, SEED, 0x3611a0233c0ff51b, 0x3611a0233c0ff51b, 0x2204abeb65181525),
	(1025, 0, 0x3c30cbbce1d2ccbb, 0x3c30cbbce1d2ccbb, 0x63d137cff1b0e328),
	(1025, SEED, 0xd69d4e6ff69f77ea, 0xd69d4e6ff69f77ea, 0x75a3653eb6c57cb5),
	(1088, 0, 0x4b4b4942e26cbf66, 0x4b4b4942e26cbf66, 0xc5bfb4a79601c328),
	(1088, SEED, 0xc3c8178ac4f2669a, 0xc3c8178ac4f2669a, 0xbebe8ec0187c14f7),
	(1089, 0, 0x4824fd0d3bddd36f, 0x4824fd0d3bddd36f, 0x5bdf759c0e218057),
	(1089, SEED, 0x24ca57a5fd102ec9, 0x24ca57a5fd102ec9, 0x6257abbb53d0b85d),
	(2047, 0, 0x3aba0ac9bfd5f110, 0x3aba0ac9bfd5f110, 0x69c588da680496d1),
	(2047, SEED, 0x5009fe3b784baa85, 0x5009fe3b784baa85, 0xb2958ad964ef63c0),
	(2048, 0, 0x4bf39b39fc0e7a6a, 0x4bf39b39fc0e7a6a, 0x7610c030a4fcc435),
	(2048, SEED, 0x168ec88b939346ed, 0x168ec88b939346ed, 0xe886c449b7268f19),
	(2049, 0, 0xb43c9682e19b1515, 0xb43c9682e19b1515, 0x835696988d29ff61),
	(2049, SEED, 0xbecb082ff27f0c0e, 0xbecb082ff27f0c0e, 0xbaa7387f4cf27fe3),
	(4088, 0, 0x8896a30556026043, 0x8896a30556026043, 0xd8bcb2dfe26d16e4),
	(4088, SEED, 0xb1f116b19f5c41ce, 0xb1f116b19f5c41ce, 0xb85276355f2b9f9a),
	(10000, 0, 0x5290ca99e856fb86, 0x5290ca99e856fb86, 0x8114b66fff292837),
	(10000, SEED, 0x5c9dfb8221ce7031, 0x5c9dfb8221ce7031, 0x2efe7bb52d023e64),
]

# bytes, first word, second word; the secret is 00 01 ... 0f
SIPHASH = [
	(0, 0xe6a825ba047f81a3, 0x930255c71472f66d),
	(1, 0x68c4b00a8d22f383, 0xcdbae18416e7e6c5),
	(2, 0x792a6281600f958b, 0xb28ab1f83cd43024),
	(3, 0x62044789d2eadd8d, 0xcf218358f9f8aa18),
	(4, 0x5f06d8ad3e0e9885, 0x50d678a545234cf0),
	(5, 0x6153b77e51a91bd8, 0x357685c289af8091),
	(6, 0x2eca40e160f3bc4a, 0x279d4e4a52739c9f),
	(7, 0x78af4d39435dcf45, 0xba7d3a6a2ef24bf3),
	(8, 0x0eaeba65f8282e6d, 0x67353d2d3ccd9e61),
	(9, 0x2b6826154191f5ab, 0xfdd523e74b3e44ba),
	(15, 0x480df2d731eec287, 0x655327add9a6404e),
	(16, 0xf9a89da1cd22f69a, 0x5656bdd48554ec53),
	(17, 0xf7f4635e27f7b2cf, 0xd42acb2c93e51d53),
	(31, 0x86eaaba6dce2df20, 0x35b5531bf571facc),
	(32, 0x020e6b6421cd5d7b, 0x028af7fd3ee40926),
	(63, 0xe6f6f8290907e400, 0x3d119989bf8a4eba),
	(64, 0x21ca8a2d18b88743, 0x07088be2c00b7700),
	(255, 0x8ca51d67df847456, 0x85e2c98148c50631),
	(256, 0xa14498efc24cdc7f, 0xdb52406f40b00691),
	(257, 0x9de46e8602112df7, 0x8bc87f27feb67acc),
	(1000, 0xa92281be698f05c7, 0x0f9677c8e338fa2f),
]

# The check of the MurmurHash3 authors: hashes of 00, 00 01, ... with the seeds 256, 255, ..., hashed again.
MURMUR3_VERIFICATION = 0xB0F57EE3
MURMUR3_128_VERIFICATION = 0x6384BA69


def pattern(n):
	return bytes((i * 167 + 13) % 251 for i in range(n))


def murmur3_verification():
	all = b''.join(hashes.murmur3_32(bytes(range(i)), 256 - i).to_bytes(4, 'little') for i in range(256))
	return hashes.murmur3_32(all, 0)


def murmur3_128_verification():
	def words(b, seed):
		return b''.join(h.to_bytes(8, 'little') for h in hashes.murmur3_128(b, seed))

	return hashes.r32(words(b''.join(words(bytes(range(i)), 256 - i) for i in range(256)), 0))


# ---- The filters of pybloomfiltermmap ----

def key_of(kind, text):
	if kind != 'i':
		return bytes.fromhex(text)
	x = int(text)
	h = abs(x) % ((1 << 61) - 1) * (-1 if x < 0 else 1)
	return ((-2 if h == -1 else h) & hashes.M64).to_bytes(8, 'little')


def case(folder, case):
	"""Bits and answers as its version gave them."""
	said = case.get('result', case)
	m, seeds, era = said['num_bits'], said.get('hash_seeds') or said['seeds'], case['hash_era']
	bits, asked, wrong = bytearray((m + 7) // 8), [], []

	def found(cells):
		return all(bits[cell // 8] >> cell % 8 & 1 for cell in cells)

	with open(os.path.join(folder, case['name'] + '.tsv'), encoding='ascii') as f:
		rows = [line.rstrip('\n').split('\t') for line in f if not line.startswith('#')]
	for kind, text, role, there, expected in rows:
		of = getattr(hashes, 'djb_int' if era == 'djb' and kind == 'i' else era)
		cells = [of(key_of(kind, text), seed) % m for seed in seeds]
		asked.append((cells, expected == '1'))
		if role == 'add':
			wrong += [] if found(cells) == (there == '1') else ['add of %s' % text]
			for cell in cells:
				bits[cell // 8] |= 1 << cell % 8
	wrong += ['another answer' for cells, expected in asked if found(cells) != expected]
	with open(os.path.join(folder, case['name'] + '.bloom'), 'rb') as f:
		return wrong + ([] if f.read()[1280:].startswith(bits) else ['other bits'])


def cases(folder, name):
	"""Those with rows, of one filter."""
	with open(os.path.join(folder, name + '.json'), encoding='utf-8') as f:
		listed = json.load(f)
	folder = os.path.join(folder, 'legacy') if name == 'legacy' else folder
	return [(folder, c) for c in listed if 'infoB' not in c and os.path.exists(os.path.join(folder, c['name'] + '.tsv'))]


tap = Tap()
tap.run('XXH3-64 of every length class', lambda: ['%d bytes, seed %#x' % (n, seed) for n, seed, want, _, _ in XXH3
	if hashes.xxh3_64(pattern(n), seed) != want])
tap.run('XXH3-128 of every length class', lambda: ['%d bytes, seed %#x' % (n, seed) for n, seed, _, lo, hi in XXH3
	if hashes.xxh3_128(pattern(n), seed) != (lo, hi)])
tap.run('SipHash-2-4-128', lambda: ['%d bytes' % n for n, lo, hi in SIPHASH
	if hashes.siphash_128(pattern(n), bytes(range(16))) != (lo, hi)])
tap.equal([reader.OrderedTime((0,), 0, None).place(text.encode()) for text, _ in TIMES],
	[(0, None) if at is None else (2**63 + at, 0) for _, at in TIMES], 'places of times in the first and the last years')
tap.equal([reader.OrderedIp((0,), 0, None).place(text.encode()) for text, _, _ in NETWORKS], [(place, level) for _, place, level in NETWORKS],
	'networks around all mapped addresses of IPv4 are no keys')
tap.equal(murmur3_verification(), MURMUR3_VERIFICATION, 'MurmurHash3 x86 32')
tap.equal(murmur3_128_verification(), MURMUR3_128_VERIFICATION, 'MurmurHash3 x64 128')
if sys.argv[1:]:
	folder = os.path.join(sys.argv[1], 'pybloomfiltermmap')
	for where, c in cases(folder, 'manifest') + cases(folder, 'legacy'):
		tap.run('pybloomfiltermmap: %s, %s' % (c['name'], c['hash_era']), case, where, c)
tap.done()
