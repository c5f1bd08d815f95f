/* scalar.c - plain C, the definition of every loop in simd.h */
#include "simd/simd.h"
#include "simd/block.h"

static bool runs_here(void)
{
	return true;
}

static void or_words(void *dst, const void *src, size_t bytes)
{
	uint64_t *d = dst;
	const uint64_t *s = src;

	for (size_t i = 0; i < bytes / 8; i++)
		d[i] |= s[i];
}

static void and_words(void *dst, const void *src, size_t bytes)
{
	uint64_t *d = dst;
	const uint64_t *s = src;

	for (size_t i = 0; i < bytes / 8; i++)
		d[i] &= s[i];
}

static size_t next_missing(const void *dst, const void *src, size_t from, size_t bytes)
{
	const uint64_t *d = dst, *s = src;

	for (size_t i = from / 8; i < bytes / 8; i++)
		if (s[i] & ~d[i])
			return i / 8 * 64;
	return bytes;
}

static uint64_t count_ones(const void *data, size_t bytes)
{
	const uint64_t *words = data;
	uint64_t ones = 0;

	for (size_t i = 0; i < bytes / 8; i++)
		ones += (uint64_t)__builtin_popcountll(words[i]);
	return ones;
}

static void count_blocks(const void *data, size_t bytes, uint64_t histogram[513])
{
	for (size_t at = 0; at < bytes; at += 64)
		histogram[count_ones((const uint8_t *)data + at, 64)]++;
}

static void blocks_contain(const void *data, uint64_t blocks, unsigned probes,
			   const struct blm_hash *hashes, size_t count, uint64_t *ret_bits)
{
	memset(ret_bits, 0, (count + 63) / 64 * 8);
	for (size_t i = 0; i < count; i++)
		ret_bits[i / 64] |= (uint64_t)block_contains(block_of(data, blocks, &hashes[i]), probes, &hashes[i]) << i % 64;
}

const struct blm_simd blm_simd_scalar = {
	.name = "scalar",
	.runs_here = runs_here,
	.or_words = or_words,
	.and_words = and_words,
	.next_missing = next_missing,
	.count_ones = count_ones,
	.count_blocks = count_blocks,
	.blocks_contain = blocks_contain,
};
