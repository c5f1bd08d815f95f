/* simd.c - every instruction set gives the same bits as plain C */
#include "simd/simd.h"
#include "simd/block.h"
#include "simd/split_block.h"
#include "suite.h"

#include <sys/mman.h>
#include <sys/wait.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MOST_BYTES = 8192, MOST_COUNT = 130 };

static uint64_t *words_at_64(size_t bytes)
{
	uint64_t *words = aligned_alloc(64, bytes);

	ck_assert_ptr_nonnull(words);
	return words;
}

/* All zeros, all ones, one bit, one bit missing, and at random with half, few and most bits set. */
enum { PATTERNS = 7 };

static void fill(uint64_t *words, size_t bytes, unsigned pattern, uint64_t *random)
{
	for (size_t i = 0; i < bytes / 8; i++) {
		uint64_t a = next_random(random), b = next_random(random), c = next_random(random);

		words[i] = pattern == 1 || pattern == 3 ? UINT64_MAX
			 : pattern == 4			? a
			 : pattern == 5			? a & b & c
			 : pattern == 6			? a | b | c
							: 0;
	}
	if (pattern == 2 || pattern == 3) {
		uint64_t bit = next_random(random) % (bytes * 8);

		words[bit / 64] ^= UINT64_C(1) << bit % 64;
	}
}

static const struct blm_simd *scalar(void)
{
	return blm_simd_at(0);
}

/* ---- Words ---- */

typedef void compare_words(const struct blm_simd *simd, const uint64_t *x, const uint64_t *y,
			   size_t bytes);

static void on_all_inputs(const struct blm_simd *simd, compare_words *compare)
{
	uint64_t *x = words_at_64(MOST_BYTES), *y = words_at_64(MOST_BYTES), random = 1;

	for (size_t bytes = 64; bytes <= MOST_BYTES; bytes += 64)
		for (unsigned p = 0; p < PATTERNS; p++)
			for (unsigned q = 0; q < PATTERNS; q++) {
				fill(x, bytes, p, &random);
				fill(y, bytes, q, &random);
				compare(simd, x, y, bytes);
			}
	free(x), free(y);
}

static void compare_or_and(const struct blm_simd *simd, const uint64_t *x, const uint64_t *y,
			   size_t bytes)
{
	static uint64_t a[MOST_BYTES / 8 + 8] __attribute__((aligned(64))),
		b[MOST_BYTES / 8 + 8] __attribute__((aligned(64)));

	for (int and = 0; and < 2; and++) {
		memset(a, 0x5a, sizeof(a));
		memset(b, 0x5a, sizeof(b));
		memcpy(a, x, bytes);
		memcpy(b, x, bytes);
		(and ? scalar()->and_words : scalar()->or_words)(a, y, bytes);
		(and ? simd->and_words : simd->or_words)(b, y, bytes);
		ck_assert_mem_eq(a, b, sizeof(a));	/* and not a byte more */
	}
}

START_TEST(every_set_ors_and_ands_as_scalar_does)
{
	on_all_inputs(blm_simd_at((size_t)_i), compare_or_and);
}
END_TEST

static void compare_missing(const struct blm_simd *simd, const uint64_t *x, const uint64_t *y,
			    size_t bytes)
{
	for (size_t from = 0; from <= bytes;
	     from += bytes > 1024 && from > 256 && from < bytes - 256 ? 512 : 64)
		ck_assert_uint_eq(simd->next_missing(x, y, from, bytes),
				  scalar()->next_missing(x, y, from, bytes));
}

START_TEST(every_set_finds_the_same_missing_lines_as_scalar)
{
	on_all_inputs(blm_simd_at((size_t)_i), compare_missing);
}
END_TEST

static void compare_counts(const struct blm_simd *simd, const uint64_t *x, const uint64_t *y,
			   size_t bytes)
{
	static uint64_t a[513], b[513];

	ck_assert_uint_eq(simd->count_ones(x, bytes), scalar()->count_ones(x, bytes));
	ck_assert_uint_eq(simd->count_common(x, y, bytes), scalar()->count_common(x, y, bytes));
	memset(a, 0, sizeof(a));
	memset(b, 0, sizeof(b));
	a[0] = b[0] = 3;
	scalar()->count_blocks(y, bytes, a);
	simd->count_blocks(y, bytes, b);
	ck_assert_mem_eq(a, b, sizeof(a));
}

START_TEST(every_set_counts_as_scalar_does)
{
	on_all_inputs(blm_simd_at((size_t)_i), compare_counts);
}
END_TEST

START_TEST(the_scalar_counts_are_right)
{
	uint64_t *words = words_at_64(1024), random = 4, histogram[513] = { 0 }, ones = 0, sum = 0;

	fill(words, 1024, 5, &random);
	for (unsigned bit = 0; bit < 1024 * 8; bit++)
		ones += words[bit / 64] >> bit % 64 & 1;
	ck_assert_uint_eq(scalar()->count_ones(words, 1024), ones);
	ck_assert_uint_eq(scalar()->count_common(words, words, 1024), ones);
	for (unsigned bit = ones = 0; bit < 512 * 8; bit++)
		ones += words[bit / 64] >> bit % 64 & words[64 + bit / 64] >> bit % 64 & 1;
	ck_assert_uint_eq(scalar()->count_common(words, words + 64, 512), ones);
	ones = scalar()->count_ones(words, 1024);
	scalar()->count_blocks(words, 1024, histogram);
	for (unsigned x = 0; x <= 512; x++)
		sum += x * histogram[x];
	ck_assert_uint_eq(sum, ones);
	free(words);
}
END_TEST

/* ---- Blocks ---- */

static bool bit_of_block(const uint64_t *block, unsigned bit)
{
	return block[bit / 64] >> bit % 64 & 1;
}

/* By the definition, bit by bit. */
static bool really_contains(const uint64_t *block, unsigned probes, const struct blm_hash *hash)
{
	for (unsigned i = 0; i < probes; i++)
		if (!bit_of_block(block, unfold(hash->lo, hash->hi, i / 7) >> 9 * (i % 7) & 511))
			return false;
	return true;
}

/*
 * What a set lists as missing, put into masks: all that each key lacks, and nothing else. Fresh
 * data for each run: nothing changes.
 */
static void compare_missing_bits(const struct blm_simd *simd, const struct blm_block_keys *keys)
{
	static struct blm_missing missing;
	size_t at = 0;

	do {
		size_t to = simd->blocks_missing(keys, at, &missing);

		ck_assert_uint_le(missing.count, BLM_MISSING_MAX);
		ck_assert(keys->count ? to > at && to <= keys->count && to <= at / 64 * 64 + 64
				      : to == 0);
		for (size_t i = at; i < to; i++) {
			uint64_t *block = (uint64_t *)block_of(keys->data, keys->blocks,
							       &keys->hashes[i]),
				 mask[8], lacks[8], listed[8] = { 0 };
			unsigned words;

			block_mask(mask, keys->probes, &keys->hashes[i]);
			for (size_t j = 0; j < missing.count; j++)
				if (missing.which[j] / 64 == i - at) {
					ck_assert(missing.word[j] >= block
						  && missing.word[j] < block + 8);
					listed[missing.word[j] - block] |= UINT64_C(1)
									<< missing.which[j] % 64;
				}
			for (int w = 0; w < 8; w++)
				ck_assert_uint_eq(listed[w], mask[w] & ~block[w]);
			words = simd->block_lacks(block, keys->probes, &keys->hashes[i], lacks);
			ck_assert_mem_eq(lacks, mask, sizeof(mask));
			for (int w = 0; w < 8; w++)
				ck_assert_uint_eq(words >> w & 1, listed[w] != 0);
			ck_assert(simd->block_contains(block, keys->probes, &keys->hashes[i])
				  == (words == 0));
		}
		at = to;
	} while (at < keys->count);
}

/* Hashes of which some are in the data, and with data so full that the rest get both answers. */
static void compare_contains(const struct blm_simd *simd, uint64_t blocks, unsigned probes,
			     size_t count, uint64_t *random)
{
	uint64_t *data = words_at_64(blocks * 64), a[MOST_COUNT / 64 + 2], b[MOST_COUNT / 64 + 2];
	struct blm_hash hashes[MOST_COUNT];
	struct blm_block_keys keys;
	uint64_t yes = 0;

	fill(data, blocks * 64, probes > 3 ? 6 : 4, random);
	for (size_t i = 0; i < count; i++) {
		hashes[i] = (struct blm_hash){ next_random(random), next_random(random) };
		if (i % 5 == 1)		/* the edges of what hashes can be */
			hashes[i] = (struct blm_hash){ i % 2 ? UINT64_MAX : 0,
						       i % 3 ? UINT64_MAX : 0 };
		if (i % 2) {
			uint64_t mask[8], *block = (uint64_t *)block_of(data, blocks, &hashes[i]);

			block_mask(mask, probes, &hashes[i]);
			for (int w = 0; w < 8; w++)
				block[w] |= mask[w];
			if (i % 4 == 3)	/* one of its bits is missing */
				for (int w = 0; w < 8; w++)
					if (mask[w]) {
						block[w] &= ~(mask[w] & -mask[w]);
						break;
					}
		}
	}
	memset(a, 0x5a, sizeof(a));
	memset(b, 0x5a, sizeof(b));
	keys = (struct blm_block_keys){
		.data = (uint8_t *)data,
		.blocks = blocks,
		.probes = probes,
		.hashes = hashes,
		.count = count,
		.next = hashes,
		.next_count = next_random(random) % (count + 1),
	};
	scalar()->blocks_contain(&keys, a);
	simd->blocks_contain(&keys, b);
	compare_missing_bits(simd, &keys);
	ck_assert_msg(!memcmp(a, b, sizeof(a)), "%s: %u probes, %zu hashes, %llu blocks",
		      simd->name, probes, count, (unsigned long long)blocks);
	for (size_t i = 0; i < count; i++) {
		ck_assert(
			(a[i / 64] >> i % 64 & 1)
			== really_contains(block_of(data, blocks, &hashes[i]), probes, &hashes[i]));
		yes += a[i / 64] >> i % 64 & 1;
	}
	if (count > 60 && blocks > 100)
		ck_assert(yes > 0 && yes < count);	/* else the case says little */
	free(data);
}

/*
 * Blocks that are empty, full, and between, so that some keys change something and others do not.
 */
static void compare_set(const struct blm_simd *simd, uint64_t blocks, unsigned probes, size_t count,
			uint64_t *random)
{
	struct blm_hash hashes[MOST_COUNT];
	uint64_t a[MOST_COUNT / 64 + 1], b[MOST_COUNT / 64 + 1];
	uint8_t *x = aligned_alloc(64, blocks * 64), *y = aligned_alloc(64, blocks * 64);

	for (uint64_t i = 0; i < blocks; i++) {
		memset(x + 64 * i, (int)(next_random(random) % 2 * (next_random(random) & 0xff)),
		       64);
		if (next_random(random) % 4 == 0)
			memset(x + 64 * i, 0xff, 64);
	}
	memcpy(y, x, blocks * 64);
	for (size_t i = 0; i < count; i++)
		hashes[i] = i % 5 == 4
				  ? hashes[i - 4]
				  : (struct blm_hash){ next_random(random), next_random(random) };
	memset(a, 0x5a, sizeof(a));
	memset(b, 0x5a, sizeof(b));
	scalar()->blocks_set(x, blocks, probes, hashes, count, a);
	simd->blocks_set(y, blocks, probes, hashes, count, b);
	ck_assert_msg(!memcmp(a, b, sizeof(a)) && !memcmp(x, y, blocks * 64),
		      "%s: %u probes, %zu hashes, %llu blocks", simd->name, probes, count,
		      (unsigned long long)blocks);
	simd->blocks_contain(&(struct blm_block_keys){ .data = y,
						       .blocks = blocks,
						       .probes = probes,
						       .hashes = hashes,
						       .count = count },
			     b);
	for (size_t i = 0; i < count; i++)
		ck_assert(b[i / 64] >> i % 64 & 1);
	free(x);
	free(y);
}

static const uint64_t block_counts[] = { 1, 2, 3, 7, 64, 1000 };
static const unsigned edges[] = { 1, 2, 6, 7, 8, 13, 14, 15, 20, 21, 22, 28, 29, 255, 256 };

START_TEST(every_set_finds_equal_keys_for_each_probe_count)
{
	uint64_t random = 2;

	for (unsigned probes = 1; probes <= BLM_PROBES_MAX; probes++)
		for (size_t b = 0; b < ARRAY_LEN(block_counts); b++)
			if (!is_left_out((int)(probes + b)))
				compare_contains(blm_simd_at((size_t)_i), block_counts[b], probes,
						 64 + probes % 3, &random);
}
END_TEST

START_TEST(every_set_finds_equal_keys_for_each_batch_size)
{
	uint64_t random = 3;

	for (size_t count = 0; count <= MOST_COUNT; count++)
		for (size_t e = 0; e < ARRAY_LEN(edges); e++)
			if (!is_left_out((int)(count + e)))
				compare_contains(blm_simd_at((size_t)_i), 200, edges[e], count,
						 &random);
}
END_TEST

/* The pages of most are the system's page of zeros, but for those of a third of the keys. */
START_TEST(every_set_finds_equal_keys_in_2_to_32_blocks)
{
	const uint64_t blocks = (UINT64_C(1) << 33) + 12345;
	uint8_t *data = mmap(NULL, blocks * 64, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct blm_hash hashes[MOST_COUNT];
	struct blm_block_keys keys = {
		.data = data,
		.blocks = blocks,
		.probes = 7,
		.hashes = hashes,
		.count = MOST_COUNT,
		.next = hashes,
		.next_count = MOST_COUNT,
	};
	uint64_t a[MOST_COUNT / 64 + 1], b[MOST_COUNT / 64 + 1], random = 6, mask[8];

	if (data == MAP_FAILED)
		SKIP("no room for 2^39 bytes of addresses");
	madvise(data, blocks * 64, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < MOST_COUNT; i++) {
		uint64_t *block;

		hashes[i] = (struct blm_hash){ next_random(&random), next_random(&random) };
		block = (uint64_t *)block_of(data, blocks, &hashes[i]);
		block_mask(mask, keys.probes, &hashes[i]);
		for (int w = 0; w < 8 && i % 3 == 0; w++)
			block[w] |= mask[w];
	}
	scalar()->blocks_contain(&keys, a);
	blm_simd_at((size_t)_i)->blocks_contain(&keys, b);
	for (size_t i = 0; i < MOST_COUNT; i++) {
		ck_assert_uint_eq(a[i / 64] >> i % 64 & 1, i % 3 == 0);
		ck_assert_uint_eq(b[i / 64] >> i % 64 & 1, i % 3 == 0);
	}
	munmap(data, blocks * 64);
}
END_TEST

START_TEST(every_set_sets_equal_bits_and_reports_equal_changes)
{
	uint64_t random = 4;

	for (unsigned probes = 1; probes <= BLM_PROBES_MAX; probes++)
		for (size_t b = 0; b < ARRAY_LEN(block_counts); b++)
			compare_set(blm_simd_at((size_t)_i), block_counts[b], probes,
				    64 + probes % 3, &random);
	for (size_t count = 0; count <= MOST_COUNT; count++)
		for (size_t e = 0; e < ARRAY_LEN(edges); e++)
			compare_set(blm_simd_at((size_t)_i), 200, edges[e], count, &random);
}
END_TEST

/* ---- Split blocks ---- */

static const uint64_t split_salt[] = { SPLIT_SALTS };

/* By the definition, bit by bit. */
static bool split_bit(const uint64_t *data, uint64_t blocks, uint64_t lo, unsigned lane)
{
	uint64_t bit = (lo >> 32) * blocks / (UINT64_C(1) << 32) * 256 + 32 * lane
		     + (uint32_t)((uint32_t)lo * split_salt[lane]) / (1 << 27);

	return data[bit / 64] >> bit % 64 & 1;
}

static bool really_split_contains(const uint64_t *data, uint64_t blocks, uint64_t lo)
{
	for (unsigned lane = 0; lane < 8; lane++)
		if (!split_bit(data, blocks, lo, lane))
			return false;
	return true;
}

static void compare_split_counts(const struct blm_simd *simd, const uint64_t *data, uint64_t blocks)
{
	uint64_t a[513] = { 0 }, b[513] = { 0 }, ones = 0, sum = 0;

	ck_assert_uint_eq(scalar()->count_split_blocks(data, blocks * 32, a),
			  simd->count_split_blocks(data, blocks * 32, b));
	ck_assert_mem_eq(a, b, sizeof(a));
	for (unsigned x = 0; x <= 512; x++) {
		ones += a[x] * x / 2;
		sum += a[x];
	}
	ck_assert_uint_eq(sum, blocks);
	for (uint64_t i = 0; i < blocks * 4; i++)
		ones -= (uint64_t)__builtin_popcountll(data[i]);
	ck_assert_uint_eq(ones, 0);
}

/* Keys that are there, that are not, and that lack one bit. */
static void compare_split(const struct blm_simd *simd, uint64_t blocks, size_t count,
			  uint64_t *random)
{
	uint64_t *data = words_at_64((blocks + 1) / 2 * 64),
		 *other = words_at_64((blocks + 1) / 2 * 64);
	uint64_t a[MOST_COUNT / 64 + 2], b[MOST_COUNT / 64 + 2], los[MOST_COUNT];
	struct blm_hash hashes[MOST_COUNT];
	struct blm_block_keys keys = { .data = (uint8_t *)data,
				       .blocks = blocks,
				       .probes = 8,
				       .hashes = hashes,
				       .count = count,
				       .next = hashes,
				       .next_count = next_random(random) % (count + 1) };

	fill(data, (blocks + 1) / 2 * 64, count % 2 ? 6 : 5, random);
	for (size_t i = 0; i < count; i++) {
		hashes[i] = (struct blm_hash){ i % 7   ? next_random(random)
					       : i % 2 ? UINT64_MAX
						       : 0,
					       next_random(random) };
		los[i] = i % 5 == 4 ? los[i - 4] : hashes[i].lo;
		if (i % 2) {
			uint64_t mask[4], *block = (uint64_t *)split_of(data, blocks, &hashes[i]);

			split_mask(mask, hashes[i].lo);
			for (int w = 0; w < 4; w++)
				block[w] |= mask[w];
			if (i % 4 == 3)
				block[i % 3] &= ~(mask[i % 3] & -mask[i % 3]);
		}
	}
	memset(a, 0x5a, sizeof(a));
	memset(b, 0x5a, sizeof(b));
	scalar()->split_blocks_contain(&keys, a);
	simd->split_blocks_contain(&keys, b);
	ck_assert_mem_eq(a, b, sizeof(a));
	for (size_t i = 0; i < count; i++) {
		const uint64_t *block = split_of(data, blocks, &hashes[i]);
		uint64_t x[4], y[4];
		unsigned lacks = simd->split_block_lacks(block, hashes[i].lo, x);

		ck_assert((a[i / 64] >> i % 64 & 1)
			  == really_split_contains(data, blocks, hashes[i].lo));
		ck_assert(simd->split_block_contains(block, 8, &hashes[i])
			  == (a[i / 64] >> i % 64 & 1));
		ck_assert_uint_eq(lacks, scalar()->split_block_lacks(block, hashes[i].lo, y));
		ck_assert((lacks == 0) == (a[i / 64] >> i % 64 & 1));
		ck_assert_mem_eq(x, y, sizeof(x));
	}
	compare_split_counts(simd, data, blocks);
	memcpy(other, data, blocks * 32);
	memset(a, 0x5a, sizeof(a));
	memset(b, 0x5a, sizeof(b));
	scalar()->split_blocks_set(data, blocks, los, count, a);
	simd->split_blocks_set(other, blocks, los, count, b);
	ck_assert_mem_eq(a, b, sizeof(a));
	ck_assert_mem_eq(data, other, blocks * 32);
	for (size_t i = 0; i < count; i++)
		ck_assert(really_split_contains(data, blocks, los[i]));
	free(data), free(other);
}

START_TEST(every_set_treats_split_blocks_by_their_definition)
{
	uint64_t random = 5;

	for (size_t count = 0; count <= MOST_COUNT; count++)
		for (size_t b = 0; b < ARRAY_LEN(block_counts); b++)
			compare_split(blm_simd_at((size_t)_i), block_counts[b], count, &random);
}
END_TEST

/* ---- Choosing ---- */

/* $BLOOMERY_TEST_RUN starts programs of this build where the system does not: an emulator. */
static void says(const char *wanted, const char *expected)
{
	const char *run = getenv("BLOOMERY_TEST_RUN");
	char command[1400], line[64] = "", program[600] = "";
	FILE *p;

	ck_assert_int_gt(readlink("/proc/self/exe", program, sizeof(program) - 1), 0);
	snprintf(command, sizeof(command), "BLOOMERY_SIMD='%s' %s '%s' --which", wanted,
		 run ? run : "", program);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), p));
	ck_assert_int_eq(pclose(p), 0);
	line[strcspn(line, "\n")] = 0;
	ck_assert_str_eq(line, expected);
}

/* ---- Hashes ---- */

static const uint64_t seeds_of_hashes[] = {
	0, 1, 0x80000000, UINT32_MAX, 0x0123456789abcdef, UINT64_MAX
};

typedef void is_xxh3(const void *bytes, size_t len, uint64_t seed, const struct blm_hash *hash);

static void is_xxh3_128(const void *bytes, size_t len, uint64_t seed, const struct blm_hash *hash)
{
	XXH128_hash_t expected = XXH3_128bits_withSeed(bytes, len, seed);

	ck_assert_uint_eq(hash->lo, expected.low64);
	ck_assert_uint_eq(hash->hi, expected.high64);
}

static void is_xxh3_64(const void *bytes, size_t len, uint64_t seed, const struct blm_hash *hash)
{
	ck_assert_uint_eq(hash->lo, XXH3_64bits_withSeed(bytes, len, seed));
	ck_assert_uint_eq(hash->hi, hash->lo);
}

/* Each key is a block of memory of its own, so that a sanitizer sees who reads past it. */
static void hash_lengths(blm_xxh3_many *many, is_xxh3 *is, const size_t *lengths, size_t count,
			 size_t expected, uint64_t *random)
{
	struct blm_key keys[MOST_COUNT];
	struct blm_hash hashes[MOST_COUNT] = { 0 };

	for (size_t i = 0; i < count; i++) {
		uint8_t *bytes = malloc(lengths[i] ? lengths[i] : 1);

		ck_assert_ptr_nonnull(bytes);
		for (size_t b = 0; b < lengths[i]; b++)
			bytes[b] = (uint8_t)(next_random(random) >> 56);
		keys[i] = (struct blm_key){ bytes, lengths[i] };
	}
	for (size_t s = 0; s < ARRAY_LEN(seeds_of_hashes); s++) {
		size_t done = many(keys, count, seeds_of_hashes[s], hashes);

		ck_assert_uint_eq(done, expected);
		for (size_t i = 0; i < done; i++)
			is(keys[i].bytes, keys[i].len, seeds_of_hashes[s], &hashes[i]);
		for (size_t i = done; i < count; i++)
			ck_assert(!hashes[i].lo && !hashes[i].hi);
	}
	for (size_t i = 0; i < count; i++)
		free((void *)keys[i].bytes);
}

enum { AT_ONCE = 8 };

static void hash_short_keys(blm_xxh3_many *many, is_xxh3 *is)
{
	size_t lengths[MOST_COUNT];
	uint64_t random = 1;

	for (size_t len = 0; len <= 20; len++)
		for (size_t count = 0; count <= 40; count++) {
			for (size_t i = 0; i < count; i++)
				lengths[i] = len;
			hash_lengths(many, is, lengths, count,
				     len >= 4 && len <= 16 ? count / AT_ONCE * AT_ONCE : 0,
				     &random);
		}
	for (int round = 0; round < 300; round++) {
		size_t odd = next_random(&random) % MOST_COUNT, least = round % 2 ? 4 : 9,
		       most = round % 2 ? 8 : 16;

		for (size_t i = 0; i < MOST_COUNT; i++)
			lengths[i] = least + next_random(&random) % (most - least + 1);
		lengths[odd] = round % 4 < 2 ? least - 1 : most + 1;
		hash_lengths(many, is, lengths, MOST_COUNT, odd / AT_ONCE * AT_ONCE, &random);
	}
}

START_TEST(every_set_hashes_short_keys_as_xxhash)
{
	const struct blm_simd *simd = blm_simd_at((size_t)_i);

	if (!simd->xxh3_many)
		return;
	hash_short_keys(simd->xxh3_many, is_xxh3_128);
	hash_short_keys(simd->xxh3_64_many, is_xxh3_64);
}
END_TEST

static void hash_keys_of_one_width(blm_xxh3_fixed *fixed, is_xxh3 *is)
{
	struct blm_hash hashes[40];
	uint64_t random = 1;

	for (size_t width = 0; width <= 33; width++)
		for (size_t count = 0; count <= 40; count++) {
			uint8_t *bytes = malloc(width * count + 1);
			size_t done;

			ck_assert_ptr_nonnull(bytes);
			for (size_t b = 0; b < width * count; b++)
				bytes[b] = (uint8_t)(next_random(&random) >> 56);
			for (size_t s = 0; s < ARRAY_LEN(seeds_of_hashes); s++) {
				done = fixed(bytes, width, count, seeds_of_hashes[s], hashes);
				ck_assert_uint_eq(done, width >= 4 && width <= 16
								? count / AT_ONCE * AT_ONCE
								: 0);
				for (size_t i = 0; i < done; i++)
					is(bytes + i * width, width, seeds_of_hashes[s],
					   &hashes[i]);
			}
			free(bytes);
		}
}

START_TEST(every_set_hashes_columns_of_short_keys_as_xxhash)
{
	const struct blm_simd *simd = blm_simd_at((size_t)_i);

	if (!simd->xxh3_fixed)
		return;
	hash_keys_of_one_width(simd->xxh3_fixed, is_xxh3_128);
	hash_keys_of_one_width(simd->xxh3_64_fixed, is_xxh3_64);
}
END_TEST

START_TEST(the_environment_selects_an_instruction_set_by_name)
{
	const char *best = blm_simd_at(0)->name;

	for (size_t i = 0; blm_simd_at(i); i++) {
		best = blm_simd_at(i)->name;
		says(best, best);
	}
	says("", best);
	says("mmx", best);
}
END_TEST

START_TEST(every_set_has_every_loop)
{
	for (size_t i = 0; blm_simd_at(i); i++) {
		const struct blm_simd *s = blm_simd_at(i);

		ck_assert(s->or_words && s->and_words && s->next_missing && s->count_ones
			  && s->count_common && s->count_blocks && s->blocks_contain
			  && s->blocks_set && s->blocks_missing && s->block_contains
			  && s->block_lacks && s->split_blocks_contain && s->split_block_contains
			  && s->split_block_lacks && s->split_blocks_set && s->count_split_blocks);
		ck_assert(!s->xxh3_many == !s->xxh3_fixed && !s->xxh3_many == !s->xxh3_64_many
			  && !s->xxh3_many == !s->xxh3_64_fixed);
	}
	ck_assert_str_eq(scalar()->name, "scalar");
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s;
	TCase *tc;
	int sets = 0;

	if (argc == 2 && !strcmp(argv[1], "--which"))
		return puts(blm_simd()) < 0;
	s = begin_suite("simd");
	tc = tcase_create("simd");
	while (blm_simd_at((size_t)sets))
		sets++;
	tcase_add_test(tc, every_set_has_every_loop);
	tcase_add_test(tc, the_scalar_counts_are_right);
	tcase_add_test(tc, the_environment_selects_an_instruction_set_by_name);
	tcase_add_loop_test(tc, every_set_ors_and_ands_as_scalar_does, 1, sets);
	tcase_add_loop_test(tc, every_set_finds_the_same_missing_lines_as_scalar, 1, sets);
	tcase_add_loop_test(tc, every_set_counts_as_scalar_does, 1, sets);
	tcase_add_loop_test(tc, every_set_finds_equal_keys_for_each_probe_count,
			    1, sets);
	tcase_add_loop_test(tc, every_set_finds_equal_keys_for_each_batch_size, 1,
			    sets);
	tcase_add_loop_test(tc, every_set_finds_equal_keys_in_2_to_32_blocks, 1,
			    sets);
	tcase_add_loop_test(
		tc, every_set_sets_equal_bits_and_reports_equal_changes,
		1, sets);
	tcase_add_loop_test(
		tc,
		every_set_treats_split_blocks_by_their_definition,
		0, sets);
	tcase_add_loop_test(tc, every_set_hashes_short_keys_as_xxhash,
			    1, sets);
	tcase_add_loop_test(
		tc,
		every_set_hashes_columns_of_short_keys_as_xxhash,
		1, sets);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
