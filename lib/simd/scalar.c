/* scalar.c - plain C, the definition of every loop in simd.h */
#include "simd/simd.h"
#include "simd/block.h"
#include "simd/split_block.h"

static bool runs_here(void)
{
	return true;
}

/* Words that others may change at the same time are loaded by atomic operations. */
static inline uint64_t word_at(const uint64_t *words, size_t i)
{
	return __atomic_load_n(&words[i], __ATOMIC_RELAXED);
}

static void or_words(void *dst, const void *src, size_t bytes)
{
	uint64_t *d = dst;
	const uint64_t *s = src;

	for (size_t i = 0; i < bytes / 8; i++)
		d[i] |= word_at(s, i);
}

static void and_words(void *dst, const void *src, size_t bytes)
{
	uint64_t *d = dst;
	const uint64_t *s = src;

	for (size_t i = 0; i < bytes / 8; i++)
		d[i] &= word_at(s, i);
}

static size_t next_missing(const void *dst, const void *src, size_t from, size_t bytes)
{
	const uint64_t *d = dst, *s = src;

	for (size_t i = from / 8; i < bytes / 8; i++)
		if (word_at(s, i) & ~word_at(d, i))
			return i / 8 * 64;
	return bytes;
}

static uint64_t count_ones(const void *data, size_t bytes)
{
	const uint64_t *words = data;
	uint64_t ones = 0;

	for (size_t i = 0; i < bytes / 8; i++)
		ones += (uint64_t)__builtin_popcountll(word_at(words, i));
	return ones;
}

static uint64_t count_common(const void *a, const void *b, size_t bytes)
{
	const uint64_t *x = a, *y = b;
	uint64_t ones = 0;

	for (size_t i = 0; i < bytes / 8; i++)
		ones += (uint64_t)__builtin_popcountll(word_at(x, i) & word_at(y, i));
	return ones;
}

static void count_blocks(const void *data, size_t bytes, uint64_t histogram[513])
{
	for (size_t at = 0; at < bytes; at += 64)
		histogram[count_ones((const uint8_t *)data + at, 64)]++;
}

static void blocks_contain(const struct blm_block_keys *keys, uint64_t *ret_bits)
{
	blocks_each(keys, ret_bits, block_of, block_contains);
}

static size_t blocks_missing(const struct blm_block_keys *keys, size_t from,
			     struct blm_missing *ret)
{
	return blocks_missing_each(keys, from, ret, block_contains, block_missing);
}

static bool set(uint64_t *block, unsigned probes, const struct blm_hash *hash)
{
	uint64_t mask[8], missing = 0;

	block_mask(mask, probes, hash);
	for (int i = 0; i < 8; i++) {
		missing |= htole64(mask[i]) & ~block[i];
		block[i] |= htole64(mask[i]);
	}
	return missing != 0;
}

static void blocks_set(void *data, uint64_t blocks, unsigned probes,
		       const struct blm_hash *hashes, size_t count, uint64_t *ret_bits)
{
	enum { AHEAD = 16 };

	memset(ret_bits, 0, (count + 63) / 64 * 8);
	for (size_t i = 0; i < count; i++) {
		if (i + AHEAD < count)
			__builtin_prefetch(block_of(data, blocks, &hashes[i + AHEAD]), 1);
		ret_bits[i / 64] |= (uint64_t)set((uint64_t *)block_of(data, blocks, &hashes[i]),
						  probes, &hashes[i]) << i % 64;
	}
}

/* ---- Split blocks ---- */

static void split_blocks_contain(const struct blm_block_keys *keys, uint64_t *ret_bits)
{
	blocks_each(keys, ret_bits, split_of, split_contains);
}

static bool split_set(uint64_t *block, uint64_t lo)
{
	uint64_t mask[SPLIT_WORDS], missing = 0;

	split_mask(mask, lo);
	for (int i = 0; i < SPLIT_WORDS; i++) {
		missing |= htole64(mask[i]) & ~block[i];
		block[i] |= htole64(mask[i]);
	}
	return missing != 0;
}

static void split_blocks_set(void *data, uint64_t blocks, const uint64_t *los, size_t count,
			     uint64_t *ret_bits)
{
	split_each_set(data, blocks, los, count, ret_bits, split_set);
}

const struct blm_simd blm_simd_scalar = {
	.name = "scalar",
	BLM_SIMD_LOOPS,
	.blocks_set = blocks_set,
	.block_contains = block_contains,
	.blocks_missing = blocks_missing,
	.block_lacks = block_lacks,
	.split_blocks_contain = split_blocks_contain,
	.split_block_contains = split_contains,
	.split_block_lacks = split_lacks,
	.split_blocks_set = split_blocks_set,
	.count_split_blocks = count_split_blocks,
};
