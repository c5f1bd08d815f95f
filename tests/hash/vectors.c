/*
 * vectors.c - the hash families, and the filters of other programs that use one, against published
 * values
 *
 * If meson's option `vectors` names a folder, the filters that other implementations of BIP 37 and
 * of Neo made are read from its bip37/generated.json and neo/neo.json, too, and those of
 * pybloomfiltermmap from pybloomfiltermmap/.
 */
#include "handle/handle.h"
#include "hash/murmur3_x64.h"
#include "vectors.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint8_t *pattern(size_t bytes)	/* (167 i + 13) % 251 */
{
	uint8_t *p = malloc(bytes + 1);

	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)((i * 167 + 13) % 251);
	return p;
}

/* ---- Hashes ---- */

#define SEED UINT64_C(0x9E3779B97F4A7C15)

/* Of pattern(bytes), by libxxhash 0.8.1. */
static const struct { size_t bytes; uint64_t seed, lo, hi; } xxh3[] = {
	{ 0, 0, 0x6001c324468d497f, 0x99aa06d3014798d8 },
	{ 0, SEED, 0x4ca5176998171787, 0xd142977a2cca554b },
	{ 1, 0, 0x8a21d78b1538b1c0, 0x79d2c79e874f72cd },
	{ 1, SEED, 0x30e3e5af4b171b5b, 0x96e7ba58e13cb0ad },
	{ 3, 0, 0x9d34a52be9347c7d, 0xaf03fe623ee5c2ee },
	{ 3, SEED, 0x1ffeaa9c9b980e3f, 0x357c4aee38a7575c },
	{ 4, 0, 0xee752fdd1dd08115, 0xd3485b6edd563453 },
	{ 4, SEED, 0x3fa2230b2fae483e, 0xd1b72c97f34f997c },
	{ 8, 0, 0xd9f1b9cc0d0d6508, 0x69640a0b3d0a504d },
	{ 8, SEED, 0xd582529604ba39d1, 0x2f0c70c68e0e779f },
	{ 9, 0, 0xe88e44c2a6f88328, 0x0798138bf6ce02e9 },
	{ 9, SEED, 0x07a9b1edcb1ac37b, 0x65db505c55d9aff1 },
	{ 16, 0, 0x08c65cd9fde95c32, 0xb866d1e7934def8b },
	{ 16, SEED, 0x821094e832619751, 0x07ba1c702ee88f11 },
	{ 17, 0, 0x9c42b006a2238e8f, 0x4b195b152fc95e21 },
	{ 17, SEED, 0x86cf2e87ec1aaf86, 0xba67cb88adefe218 },
	{ 31, 0, 0xaae9c1723c501115, 0xd8ed097273c46b50 },
	{ 31, SEED, 0x887e95f32c80bae9, 0x2e08df497df7adea },
	{ 64, 0, 0x0595e088a5426a57, 0xab1b6d1f063e18d3 },
	{ 64, SEED, 0xcf8fad64a987ec98, 0xaa405b43be99c5d6 },
	{ 128, 0, 0x9742387207934342, 0xa7199ca0ce20d9ca },
	{ 128, SEED, 0xaaccc16cbdf85e21, 0xd43374e67791afc8 },
	{ 129, 0, 0x7a5c072e0b50dc4d, 0xb1ab5f5d5aa89f03 },
	{ 129, SEED, 0x1fe2b1f72dc3f09a, 0x72e5c4bfe50c4c3a },
	{ 240, 0, 0x7fc1b3893d3e2b28, 0x368e5d4cb650c05f },
	{ 240, SEED, 0xdc60d4c45f0b9f86, 0x1d295334bca06ea7 },
	{ 241, 0, 0xf15ff881cb95f40a, 0xd4fe1178e94d9a1a },
	{ 241, SEED, 0x41d3df1638d87a16, 0xd6238f6b825bceb1 },
	{ 256, 0, 0x919e1b7a5042b2b6, 0x5755433cf4eb5519 },
	{ 256, SEED, 0x4c0b418a03d52a1a, 0x54e90f106b892f25 },
	{ 1024, 0, 0x42a77b06491250a7, 0x31822c116d1321e9 },
	{ 1024, SEED, 0x3611a0233c0ff51b, 0x2204abeb65181525 },
	{ 1025, 0, 0x3c30cbbce1d2ccbb, 0x63d137cff1b0e328 },
	{ 1025, SEED, 0xd69d4e6ff69f77ea, 0x75a3653eb6c57cb5 },
	{ 10000, 0, 0x5290ca99e856fb86, 0x8114b66fff292837 },
	{ 10000, SEED, 0x5c9dfb8221ce7031, 0x2efe7bb52d023e64 },
};

START_TEST(xxh3_of_128_bits_gives_the_known_answers)
{
	for (size_t i = 0; i < ARRAY_LEN(xxh3); i++) {
		struct blm_hasher by = { .family = blm_family_by_name("xxh3"),
					 .seeds = &xxh3[i].seed,
					 .seed_count = 1 };
		uint8_t *bytes = pattern(xxh3[i].bytes);
		struct blm_hash h;

		by.family->hash(&by, &(struct blm_key){ bytes, xxh3[i].bytes }, &h);
		ck_assert_msg(h.lo == xxh3[i].lo && h.hi == xxh3[i].hi, "%zu bytes, seed %llx",
			      xxh3[i].bytes, (unsigned long long)xxh3[i].seed);
		free(bytes);
	}
}
END_TEST

START_TEST(xxh3_64_equals_xxhash_in_both_halves)
{
	static const uint64_t seeds[] = { 0, SEED, UINT64_MAX };
	uint8_t *bytes = pattern(1100);

	for (size_t s = 0; s < ARRAY_LEN(seeds); s++)
		for (size_t len = 0; len <= 1100; len++) {
			struct blm_hasher by = { .family = blm_family_by_name("xxh3-64"),
						 .seeds = &seeds[s],
						 .seed_count = 1 };
			struct blm_hash h;

			by.family->hash(&by, &(struct blm_key){ len ? bytes : NULL, len }, &h);
			ck_assert_msg(h.lo == XXH3_64bits_withSeed(bytes, len, seeds[s])
				      && h.hi == h.lo, "%zu bytes, seed %llx", len,
				      (unsigned long long)seeds[s]);
		}
	free(bytes);
}
END_TEST

/*
 * Of every length to 40, all of one length, and all but the one at any place; and as keys that lie
 * one after the other.
 */
static const char *const of_many[] = { "xxh3", "xxh3-64" };

START_TEST(many_keys_hash_as_each_of_them_does)
{
	enum { KEYS = 67 };
	const uint64_t seed = SEED;
	struct blm_hasher by = { .family = blm_family_by_name(of_many[_i]),
				 .seeds = &seed,
				 .seed_count = 1 };
	uint8_t *bytes = pattern(KEYS * 40 + 1);

	for (size_t len = 0; len <= 40; len++)
		for (size_t odd = 0; odd <= KEYS; odd++) {
			struct blm_hash all[KEYS + 1], each;
			struct blm_key keys[KEYS];

			for (size_t i = 0; i < KEYS; i++)
				keys[i] = (struct blm_key){ bytes + i * len, len + (i == odd) };
			blm_hash_all(&by, keys, odd == KEYS ? len : KEYS, all);
			for (size_t i = 0; i < (odd == KEYS ? len : KEYS); i++) {
				by.family->hash(&by, &keys[i], &each);
				ck_assert(all[i].lo == each.lo && all[i].hi == each.hi);
			}
			blm_hash_all_fixed(&by, bytes, len, KEYS, all);
			for (size_t i = 0; i < KEYS; i++) {
				by.family->hash(&by, &(struct blm_key){ bytes + i * len, len },
						&each);
				ck_assert(all[i].lo == each.lo && all[i].hi == each.hi);
			}
		}
	free(bytes);
}
END_TEST

/* Keys of each class of xxh3_loops.h, in no order, and of lengths on both sides of its bounds. */
START_TEST(keys_of_mixed_lengths_hash_as_each_of_them_does)
{
	enum { KEYS = 600, LONGEST = 260 };
	const uint64_t seed = SEED;
	struct blm_hasher by = { .family = blm_family_by_name(of_many[_i]),
				 .seeds = &seed,
				 .seed_count = 1 };
	uint8_t *bytes = pattern(KEYS + LONGEST);
	struct blm_hash all[KEYS], each;
	struct blm_key keys[KEYS];

	for (size_t i = 0; i < KEYS; i++)
		keys[i] = (struct blm_key){ bytes + i, i * i % (LONGEST + 1) };
	for (size_t count = 0; count <= KEYS; count += 1 + count / 8) {
		blm_hash_all(&by, keys, count, all);
		for (size_t i = 0; i < count; i++) {
			by.family->hash(&by, &keys[i], &each);
			ck_assert(all[i].lo == each.lo && all[i].hi == each.hi);
		}
	}
	for (size_t len = 0; len <= LONGEST; len++) {
		for (size_t i = 0; i < KEYS; i++)
			keys[i].len = len + (i % 3 == 0);
		blm_hash_all(&by, keys, KEYS, all);
		for (size_t i = 0; i < KEYS; i++) {
			by.family->hash(&by, &keys[i], &each);
			ck_assert(all[i].lo == each.lo && all[i].hi == each.hi);
		}
	}
	free(bytes);
}
END_TEST

/* Of pattern(bytes) with seed 0, by libxxhash 0.8.1; and, published, of "abc". */
static const struct { size_t bytes; uint64_t hash; } xxh64[] = {
	{ 0, 0xef46db3751d8e999 },
	{ 1, 0x2078e1ad38ad738b },
	{ 3, 0x563f87bc4e08dc2f },
	{ 4, 0xeef820f86ee4383d },
	{ 5, 0x1263b955c1309f7a },
	{ 7, 0x67ee4b2a2c7da059 },
	{ 8, 0xee1a3e25fe127866 },
	{ 9, 0x909b60bdf01f3da4 },
	{ 11, 0x6b39e9c3c9199743 },
	{ 12, 0x37e5832781fbb9d7 },
	{ 15, 0x1c8b73fde7145219 },
	{ 16, 0x261ad384fbc9f410 },
	{ 17, 0xc963de161b4ccf20 },
	{ 31, 0x87062c6bab5bc575 },
	{ 32, 0xfc141bbf42826cee },
	{ 33, 0xf458e506adc82633 },
	{ 39, 0x8e2904a41e40744c },
	{ 40, 0xa309ca74f59737f2 },
	{ 63, 0xbf96f8ac8907b449 },
	{ 64, 0x5136e3a32237a6ee },
	{ 65, 0x86559c268df8fb3c },
	{ 100, 0x467e6fbc6d0fb19b },
	{ 128, 0x7c6a24135bb5f21b },
	{ 1000, 0x01d8973271e18144 },
	{ 10000, 0xa34dbd5aed28b455 },
};

START_TEST(xxh64_gives_the_known_answers_in_both_halves)
{
	struct blm_hasher by = { .family = blm_family_by_name("xxh64") };
	struct blm_hash h;

	for (size_t i = 0; i < ARRAY_LEN(xxh64); i++) {
		uint8_t *bytes = pattern(xxh64[i].bytes);

		by.family->hash(&by,
				&(struct blm_key){ xxh64[i].bytes ? bytes : NULL, xxh64[i].bytes },
				&h);
		ck_assert_msg(h.lo == xxh64[i].hash && h.hi == xxh64[i].hash, "%zu bytes",
			      xxh64[i].bytes);
		free(bytes);
	}
	by.family->hash(&by, &(struct blm_key){ "abc", 3 }, &h);
	ck_assert_uint_eq(h.lo, UINT64_C(0x44bc2cf5ad770999));
}
END_TEST

/*
 * The authors' vectors of SipHash-2-4 with 128 bits: key 00 01 .. 0f, messages of 0, 1, 2, 3 bytes
 * 00 01 02.
 */
static const char *const siphash[] = {
	"a3817f04ba25a8e66df67214c7550293", "da87c1d86b99af44347659119b22fc45",
	"8177228da4a45dc7fca38bdef60affe4", "9c70b60c5267a94e5f33b6b02985ed51",
};

START_TEST(siphash_of_128_bits_gives_its_authors_vectors)
{
	uint8_t secret[BLM_SECRET_BYTES], message[4] = { 0, 1, 2, 3 };
	struct blm_hasher by = { .family = blm_family_by_name("siphash"), .secret = secret };

	for (uint8_t i = 0; i < BLM_SECRET_BYTES; i++)
		secret[i] = i;
	for (size_t i = 0; i < ARRAY_LEN(siphash); i++) {
		uint8_t expected[16];
		uint64_t words[2];
		struct blm_hash h;

		by.family->hash(&by, &(struct blm_key){ i ? message : NULL, i }, &h);
		words[0] = htole64(h.lo);
		words[1] = htole64(h.hi);
		ck_assert_uint_eq(from_hex(siphash[i], expected, 16), 16);
		ck_assert_mem_eq(words, expected, 16);
	}
}
END_TEST

/* ---- What hashing by a secret leaves ---- */

enum { UNDER = 8192 };		/* bytes of the stack beneath the caller */

static __attribute__((noinline)) void stain_stack(void)
{
	uint8_t buffer[UNDER];

	memset(buffer, 0xa5, sizeof(buffer));
	__asm__ volatile("" : : "r"(buffer) : "memory");
}

/* The longest run of zeros on the stack where stain_stack() left none. */
static __attribute__((noinline)) size_t wiped_stack(void)
{
	uint8_t buffer[UNDER];
	const volatile uint8_t *at = buffer;
	size_t run = 0, longest = 0;

	__asm__ volatile("" : "+r"(at) : : "memory");
	for (size_t i = 0; i < UNDER; i++) {
		run = at[i] ? 0 : run + 1;
		if (run > longest)
			longest = run;
	}
	return longest;
}

/*
 * How much of it a call wipes must not depend on whether this compiler leaves some of the secret
 * there.
 */
START_TEST(siphash_wipes_the_stack_that_it_used)
{
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
	enum { ONE = 256, MANY = 3072 };
#else
	/* of 512 and 4096; the frames of the functions here hide some */
	enum { ONE = 384, MANY = 3584 };
#endif
	static const uint8_t secret[BLM_SECRET_BYTES] = "sixteen bytes...";
	static const uint8_t bytes[64];
	const struct blm_hasher by = { .family = blm_family_by_name("siphash"), .secret = secret };
	struct blm_key keys[4];
	struct blm_hash hashes[4];

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		keys[i] = (struct blm_key){ bytes + i, 13 * i };
	if (SANITIZED)
		return;		/* their frames are larger, and in other places */
	stain_stack();
	ck_assert_uint_lt(wiped_stack(), ONE);
	by.family->hash(&by, &keys[1], hashes);
	ck_assert_uint_ge(wiped_stack(), ONE);
	stain_stack();
	by.family->hash_many(&by, keys, ARRAY_LEN(keys), hashes);
	ck_assert_uint_ge(wiped_stack(), MANY);
	stain_stack();
	by.family->hash_fixed(&by, bytes, 8, ARRAY_LEN(hashes), hashes);
	ck_assert_uint_ge(wiped_stack(), MANY);
}
END_TEST

/* the probe of number 0 has its tweak as seed */
static uint32_t murmur3(uint32_t seed, const void *bytes, size_t len)
{
	struct blm_hasher by = { .family = blm_family_by_name("murmur3-bip37"), .tweak = seed };

	return (uint32_t)by.family->nth(&by, &(struct blm_key){ bytes, len }, 0, UINT64_C(1) << 32);
}

/* From the tests of Bitcoin Core; the last three from Neo's. */
static const struct { uint32_t seed; const char *hex; uint32_t hash; } murmur[] = {
	{ 0x00000000, "", 0x00000000 },
	{ 0xfba4c795, "", 0x6a396f08 },
	{ 0xffffffff, "", 0x81f16f39 },
	{ 0x00000000, "00", 0x514e28b7 },
	{ 0xfba4c795, "00", 0xea3f0b17 },
	{ 0x00000000, "ff", 0xfd6cf10d },
	{ 0x00000000, "0011", 0x16c6b7ab },
	{ 0x00000000, "001122", 0x8eb51c3d },
	{ 0x00000000, "00112233", 0xb4471bf8 },
	{ 0x00000000, "0011223344", 0xe2301fa8 },
	{ 0x00000000, "001122334455", 0xfc2e4a15 },
	{ 0x00000000, "00112233445566", 0xb074502c },
	{ 0x00000000, "0011223344556677", 0x8034d2a0 },
	{ 0x00000000, "001122334455667788", 0xb4698def },
	{ 0x0000000a, "0102030405060708090001", 0x169097e4 },
	{ 0x0000000a, "68656c6c6f20776f726c6468656c6c6f20776f726c64", 0x039bc34e },
	{ 0x0000000a, "6865", 0x39fcde71 },
};

START_TEST(murmurhash3_of_32_bits_gives_the_answers_of_other_programs)
{
	for (size_t i = 0; i < ARRAY_LEN(murmur); i++) {
		uint8_t bytes[64];
		size_t len = from_hex(murmur[i].hex, bytes, sizeof(bytes));

		ck_assert_msg(murmur3(murmur[i].seed, bytes, len) == murmur[i].hash, "%08x of %s",
			      murmur[i].seed, murmur[i].hex);
	}
}
END_TEST

START_TEST(murmurhash3_gives_its_authors_verification_value)
{
	uint8_t key[256], all[256 * 4];

	for (unsigned i = 0; i < 256; i++) {
		uint32_t h;

		key[i] = (uint8_t)i;
		h = htole32(murmur3(256 - i, key, i));
		memcpy(all + 4 * i, &h, 4);
	}
	ck_assert_uint_eq(murmur3(0, all, sizeof(all)), 0xB0F57EE3);
}
END_TEST

START_TEST(murmurhash3_of_128_bits_gives_its_authors_verification_value)
{
	const char *text = "The quick brown fox jumps over the lazy dog";
	struct blm_hash h = murmur3_x64_128(text, strlen(text), 0);
	uint8_t key[256];
	uint64_t all[256 * 2];

	ck_assert_uint_eq(h.lo, 0xe34bbc7bbc071b6c);
	ck_assert_uint_eq(h.hi, 0x7a433ca9c49a9347);
	for (unsigned i = 0; i < 256; i++) {
		key[i] = (uint8_t)i;
		h = murmur3_x64_128(key, i, 256 - i);
		all[2 * i] = htole64(h.lo);
		all[2 * i + 1] = htole64(h.hi);
	}
	ck_assert_uint_eq((uint32_t)murmur3_x64_128(all, sizeof(all), 0).lo, 0x6384BA69);
}
END_TEST

/* By tests/reader/hashes.py, which gives the answers of every version of pybloomfiltermmap. */
static const struct {
	const char *family;
	uint64_t seed;
	const char *hex;
	uint64_t hash;
} by_probe[] = {
	{ "djb", 0x00000001, "", 0x00001504 },
	{ "djb", 0xdeadbeef, "4d494b45", 0x94410a90 },
	{ "djb", 0x00000000, "fe8081", 0x0b8afc64 },
	{ "djb", 0xffffffff, "80", 0xfffd4aba },
	{ "djb", 0x0000002a, "68747470733a2f2f6578616d706c652e6f72672f", 0xcd6337ab },
	{ "djb", 0x80000000, "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1",
	  0xe3b14d75 },
	{ "djb_int", 0x00000001, "", 0x00001526 },
	{ "djb_int", 0xdeadbeef, "f9ffffffffffffff", 0x4b9a78db },
	{ "djb_int", 0x00000000, "0807060504030201", 0xa5c6fd0d },
	{ "djb_int", 0xffffffff, "0000000000000000", 0x000014e4 },
	{ "djb_int", 0x0000002a, "0102", 0x00005c90 },
	{ "djb_int", 0x80000000, "010203040506070809", 0x04635726 },
	{ "md5", 0x00000001, "", 0x7539aa78 },
	{ "md5", 0xdeadbeef, "4d494b45", 0x66223b1d },
	{ "md5", 0x00000000, "fe8081", 0xa3dc7255 },
	{ "md5", 0xffffffff, "80", 0x2648b15b },
	{ "md5", 0x0000002a, "68747470733a2f2f6578616d706c652e6f72672f", 0xb46bcdab },
	{ "md5", 0x80000000, "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1",
	  0x59587808 },
	{ "superfast", 0x00000001, "", 0x00000000 },
	{ "superfast", 0xdeadbeef, "4d494b45", 0x12a24217 },
	{ "superfast", 0x00000000, "fe8081", 0x68726f76 },
	{ "superfast", 0xffffffff, "80", 0xc8f3d7fb },
	{ "superfast", 0x0000002a, "68747470733a2f2f6578616d706c652e6f72672f", 0x9c1067af },
	{ "superfast", 0x80000000, "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1",
	  0x749c5bba },
	{ "sha512", 0x00000001, "", 0x3d2ef9ed },
	{ "sha512", 0xdeadbeef, "4d494b45", 0x455864e0 },
	{ "sha512", 0x00000000, "fe8081", 0xb6077080 },
	{ "sha512", 0xffffffff, "80", 0xa345b7d2 },
	{ "sha512", 0x0000002a, "68747470733a2f2f6578616d706c652e6f72672f", 0x259eaea9 },
	{ "sha512", 0x80000000, "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1",
	  0xfe903c16 },
	{ "mm3_32", 0x00000001, "", 0x0175ef79 },
	{ "mm3_32", 0xdeadbeef, "4d494b45", 0x9b295d3d },
	{ "mm3_32", 0x00000000, "fe8081", 0x1e9e3faa },
	{ "mm3_32", 0xffffffff, "80", 0x17649f65 },
	{ "mm3_32", 0x0000002a, "68747470733a2f2f6578616d706c652e6f72672f", 0x7c7aaa47 },
	{ "mm3_32", 0x80000000, "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1",
	  0x5bd18905 },
	{ "mm3_64", 0x00000001, "", 0x1772864f16076936 },
	{ "mm3_64", 0xdeadbeef, "4d494b45", 0xa69c3ebc3db56381 },
	{ "mm3_64", 0x00000000, "fe8081", 0x3f1688952188b73f },
	{ "mm3_64", 0xffffffff, "80", 0xb854c481af305be4 },
	{ "mm3_64", 0x0000002a, "68747470733a2f2f6578616d706c652e6f72672f", 0x3e0c5eb04276f4f7 },
	{ "mm3_64", 0x80000000, "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1",
	  0xc2f203f799238af2 },
};

START_TEST(pybloomfiltermmaps_families_give_known_answers_with_each_seed)
{
	for (size_t i = 0; i < ARRAY_LEN(by_probe); i++) {
		const uint64_t seeds[] = { ~by_probe[i].seed, by_probe[i].seed };
		struct blm_hasher by = { .family = blm_family_by_name(by_probe[i].family),
					 .seeds = seeds,
					 .seed_count = 2 };
		uint8_t bytes[64];
		size_t len = from_hex(by_probe[i].hex, bytes, sizeof(bytes));
		struct blm_key key = { len ? bytes : NULL, len };

		ck_assert_msg(by.family->nth(&by, &key, 1, UINT64_MAX) == by_probe[i].hash,
			      "%s of %s", by_probe[i].family, by_probe[i].hex);
		ck_assert_uint_eq(by.family->nth(&by, &key, 1, 1009), by_probe[i].hash % 1009);
	}
}
END_TEST

/* ---- Filters of other programs ---- */

static struct blm_filter *make(uint64_t cells, uint32_t probes, uint32_t tweak)
{
	struct blm_params p = BLM_PARAMS(.kind = "classic", .hash = "murmur3-bip37", .cells = cells,
					 .probes = probes, .tweak = tweak);
	struct blm_filter *f;

	ck_assert_msg(blm_create(&f, NULL, a_path(), &p) == 0, "%s", blm_error_message());
	return f;
}

static void add_hex(struct blm_filter *f, const char *hex)
{
	uint8_t bytes[256];
	size_t len = from_hex(hex, bytes, sizeof(bytes));

	ck_assert_int_ge(blm_add(f, bytes, len), 0);
	ck_assert(blm_contains(f, bytes, len));
}

static bool data_is(const struct blm_filter *f, const char *hex)
{
	static uint8_t expected[65536];
	size_t len = from_hex(hex, expected, sizeof(expected));

	return len == (current_view(f)->part[0].shape.cells + 7) / 8
	    && !memcmp(current_view(f)->part[0].bytes, expected, len);
}

START_TEST(bip37s_published_examples_are_built_byte_for_byte)
{
	static const struct {
		uint32_t tweak;
		const char *data;
	} examples[] = { { 0, "614e9b" }, { 2147483649u, "ce4299" } };

	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		struct blm_filter *f = make(24, 5, examples[i].tweak);

		add_hex(f, "99108ad8ed9bb6274d3980bab5a85c048f0950c8");
		ck_assert(!blm_contains(f, "\x19\x10\x8a", 3));
		add_hex(f, "b5a2c786d9ef4658287ced5914b37a1b4aa32eee");
		add_hex(f, "b9300670b4c5366e95b2699e8b18bc75e5f729c5");
		ck_assert(data_is(f, examples[i].data));
		blm_close(f);
	}
}
END_TEST

START_TEST(neos_published_example_is_built_byte_for_byte)
{
	struct blm_filter *f = make(7, 10, 123456);

	add_hex(f, "0001020304");
	ck_assert(data_is(f, "37"));
	ck_assert(!blm_contains(f, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09", 10));
	blm_close(f);
}
END_TEST

START_TEST(pybloomfiltermmap3s_filter_is_built_byte_for_byte)
{
	static const char *const fruit[] = { "apple",	   "banana", "cherry", "damson",
					     "elderberry", "fig",    "grape",  "hazelnut" };
	struct blm_params p = BLM_PARAMS(.hash = "mm3-64", .cells = 480,
					 .seeds = (uint64_t[]){ 1, 2, 3 }, .seed_count = 3);
	struct blm_filter *f;

	ck_assert_msg(blm_create(&f, NULL, a_path(), &p) == 0, "%s", blm_error_message());
	for (size_t i = 0; i < ARRAY_LEN(fruit); i++)
		ck_assert_int_eq(blm_add(f, fruit[i], strlen(fruit[i])), 1);
	ck_assert(data_is(f, "084000000000802000000002000030000000030000000020000000000000"
			     "420000000000020000003000000003000084000220008040000000000000"));
	ck_assert(!blm_contains(f, "mango", 5));
	blm_close(f);
}
END_TEST

/* ---- Further cases, from a folder ---- */

static char *read_file(const char *name)
{
	char path[700], *text;

	snprintf(path, sizeof(path), "%s/%s", VECTORS, name);
	text = file_of(path, NULL);
	ck_assert_msg(text != NULL, "%s", path);
	return text;
}

/*
 * The keys of a case's file: one a line, as they are or (.hex) in hexadecimal. The next one, of at
 * most 256 bytes.
 */
struct lines {
	char *text, *at;
	bool hex;
};

static struct lines lines_of(const char *from, const char *end, const char *name)
{
	struct lines lines;
	char file[64];

	text_field(from, end, name, file, sizeof(file));
	lines.at = lines.text = read_file(file);
	lines.hex = strstr(file, ".hex") != NULL;
	return lines;
}

static size_t next_line(struct lines *lines, uint8_t key[256])
{
	size_t width = strcspn(lines->at, "\n"), len = width < 256 ? width : 256;

	ck_assert(*lines->at);
	if (lines->hex)
		len = from_hex(lines->at, key, 256);
	else
		memcpy(key, lines->at, len);
	lines->at += width + 1;
	return len;
}

static void add_lines(struct blm_filter *f, struct lines lines, uint64_t count)
{
	uint8_t key[256];

	for (uint64_t i = 0; i < count; i++) {
		size_t len = next_line(&lines, key);

		ck_assert_int_ge(blm_add(f, key, len), 0);
	}
	free(lines.text);
}

static void probe_lines(const struct blm_filter *f, struct lines lines, const char *answers,
			const char *name)
{
	static uint8_t bits[4096], key[256];
	size_t count = from_hex(answers, bits, sizeof(bits)) * 8;

	ck_assert_uint_ge(count, 256);
	for (size_t i = 0; i < count && *lines.at; i++) {
		size_t len = next_line(&lines, key);

		ck_assert_msg(blm_contains(f, key, len) == (bits[i / 8] >> i % 8 & 1),
			      "%s: probe %zu", name, i);
	}
	free(lines.text);
}

START_TEST(bip37_filters_of_other_programs_are_built_byte_for_byte)
{
	char *json = read_file("bip37/generated.json"), name[32];
	const char *at = json, *here;
	unsigned cases = 0;

	while ((here = next_case(&at, name))) {
		const char *hex = field(here, at, "filterload_hex");
		uint64_t bytes = number(here, at, "filter_bytes");
		struct blm_filter *f;
		char data[65536];

		if (!hex || !bytes || !field(here, at, "n_insert"))
			continue;
		f = make(bytes * 8, (uint32_t)number(here, at, "nHashFuncs"),
			 (uint32_t)number(here, at, "nTweak"));
		add_lines(f, lines_of(here, at, "keys"), number(here, at, "n_insert"));
		snprintf(data, sizeof(data), "%.*s", (int)(2 * bytes), hex + (bytes < 253 ? 2 : 6));
		ck_assert_msg(data_is(f, data), "%s", name);
		probe_lines(f, lines_of(here, at, "probes"),
			    field(here, at, "probe_answers_lsb_first_hex"), name);
		blm_close(f);
		cases++;
	}
	ck_assert_uint_ge(cases, 5);
	free(json);
}
END_TEST

START_TEST(neos_filters_are_built_byte_for_byte)
{
	char *json = read_file("neo/neo.json"), name[32];
	const char *at = json, *here;
	unsigned cases = 0;

	while ((here = next_case(&at, name))) {
		const char *bits = field(here, at, "bits_hex"),
			   *own = field(here, at, "insert_hex");
		struct blm_filter *f = make(number(here, at, "m_bits"),
					    (uint32_t)number(here, at, "k"),
					    (uint32_t)number(here, at, "tweak"));

		if (own)
			add_hex(f, own);
		else
			add_lines(f, lines_of(here, at, "keys"), number(here, at, "n_insert"));
		ck_assert_msg(bits && data_is(f, bits), "%s", name);
		if (field(here, at, "probe_answers_lsb_first_hex"))
			probe_lines(f, lines_of(here, at, "probes"),
				    field(here, at, "probe_answers_lsb_first_hex"), name);
		blm_close(f);
		cases++;
	}
	ck_assert_uint_ge(cases, 7);
	free(json);
}
END_TEST

/*
 * pybloomfiltermmap/: lists of cases in JSON, and for each case NAME.tsv, keys with what was
 * answered, and NAME.bloom, the bits from byte 1280 on. Integers had a hash of their own in the
 * days of djb, so a case has two filters, for integers and for all else, with the same bits at any
 * time.
 */
enum { PREAMBLE = 1280 };

struct pair {
	struct blm_filter *integers, *others;
};

static uint8_t *bits_of(const struct blm_filter *f, size_t *ret_bytes)
{
	*ret_bytes = (current_view(f)->part[0].shape.cells + 7) / 8;
	return current_view(f)->part[0].bytes;
}

static void same_bits(const struct blm_filter *to, const struct blm_filter *from)
{
	size_t bytes;
	const uint8_t *bits = bits_of(from, &bytes);

	memcpy(bits_of(to, &bytes), bits, bytes);
}

static struct blm_filter *make_case(const char *from, const char *end, const char *hash)
{
	uint64_t seeds[BLM_SEEDS_MAX];
	struct blm_params p = BLM_PARAMS(.hash = hash, .cells = number(from, end, "num_bits"),
					 .seeds = seeds);
	struct blm_filter *f;

	p.seed_count = numbers_of(from, end,
				  field(from, end, "hash_seeds") ? "hash_seeds" : "seeds", seeds,
				  BLM_SEEDS_MAX);
	ck_assert_uint_eq(p.seed_count, number(from, end, "num_hashes"));
	ck_assert_msg(blm_create(&f, NULL, a_path(), &p) == 0, "%s", blm_error_message());
	return f;
}

static void prove_row(const struct pair *pair, const struct row *row, bool adding, const char *name)
{
	struct blm_filter *f = row->integer ? pair->integers : pair->others;

	if (!adding) {
		ck_assert_msg(blm_contains(f, row->key, row->len) == row->in[0], "%s", name);
	} else if (*row->role == 'a') {
		ck_assert_msg(blm_add(f, row->key, row->len) == !row->was_there, "%s", name);
		same_bits(f == pair->integers ? pair->others : pair->integers, f);
	}
}

static void prove_rows(const struct pair *pair, const char *rows, bool adding, const char *name)
{
	struct row row;

	while (next_row(&rows, &row))
		prove_row(pair, &row, adding, name);
}

static void prove_case(const char *folder, const char *name, const char *from, const char *end)
{
	char hash[32], file[128], *rows, *bloom;
	struct pair pair;
	size_t bytes;
	uint8_t *bits;

	text_field(from, end, "hash_era", hash, sizeof(hash));
	pair.others = make_case(from, end, hash);
	pair.integers = make_case(from, end, strcmp(hash, "djb") ? hash : "djb_int");
	snprintf(file, sizeof(file), "%s/%s.tsv", folder, name);
	rows = read_file(file);
	prove_rows(&pair, rows, true, name);
	prove_rows(&pair, rows, false, name);
	snprintf(file, sizeof(file), "%s/%s.bloom", folder, name);
	bloom = read_file(file);
	bits = bits_of(pair.others, &bytes);
	ck_assert_msg(!memcmp(bits, bloom + PREAMBLE, bytes), "%s", name);
	free(rows);
	free(bloom);
	blm_close(pair.integers), blm_close(pair.others);
}

/* Cases without rows (only the base64 form is there) and those of two filters are left out. */
static unsigned prove_cases(const char *folder, const char *list)
{
	char *json = read_file(list), name[32], path[600];
	const char *at = json, *here;
	unsigned cases = 0;

	while ((here = next_case(&at, name))) {
		snprintf(path, sizeof(path), "%s/%s/%s.tsv", VECTORS, folder, name);
		if (field(here, at, "infoB") || access(path, R_OK) < 0)
			continue;
		prove_case(folder, name, here, at);
		cases++;
	}
	free(json);
	return cases;
}

START_TEST(every_pybloomfiltermmaps_filters_are_built_byte_for_byte)
{
	ck_assert_uint_ge(prove_cases("pybloomfiltermmap", "pybloomfiltermmap/manifest.json"), 20);
	ck_assert_uint_ge(prove_cases("pybloomfiltermmap/legacy", "pybloomfiltermmap/legacy.json"),
			  3);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("vectors");
	TCase *tc = tcase_create("hashes"), *filters = tcase_create("filters");

	tcase_add_test(tc, xxh3_of_128_bits_gives_the_known_answers);
	tcase_add_test(tc, xxh3_64_equals_xxhash_in_both_halves);
	tcase_add_loop_test(tc, many_keys_hash_as_each_of_them_does, 0, (int)ARRAY_LEN(of_many));
	tcase_add_loop_test(tc, keys_of_mixed_lengths_hash_as_each_of_them_does, 0,
			    (int)ARRAY_LEN(of_many));
	tcase_add_test(tc, xxh64_gives_the_known_answers_in_both_halves);
	tcase_add_test(tc, siphash_of_128_bits_gives_its_authors_vectors);
	tcase_add_test(tc, siphash_wipes_the_stack_that_it_used);
	tcase_add_test(tc, murmurhash3_of_32_bits_gives_the_answers_of_other_programs);
	tcase_add_test(tc, murmurhash3_gives_its_authors_verification_value);
	tcase_add_test(tc, murmurhash3_of_128_bits_gives_its_authors_verification_value);
	tcase_add_test(
		tc, pybloomfiltermmaps_families_give_known_answers_with_each_seed);
	tcase_add_test(filters, bip37s_published_examples_are_built_byte_for_byte);
	tcase_add_test(filters, neos_published_example_is_built_byte_for_byte);
	tcase_add_test(filters, pybloomfiltermmap3s_filter_is_built_byte_for_byte);
	if (*VECTORS) {
		tcase_add_test(
			filters,
			bip37_filters_of_other_programs_are_built_byte_for_byte);
		tcase_add_test(filters, neos_filters_are_built_byte_for_byte);
		tcase_add_test(filters,
			       every_pybloomfiltermmaps_filters_are_built_byte_for_byte);
	}
	suite_add_tcase(s, tc);
	suite_add_tcase(s, filters);
	return run_suite(s);
}
