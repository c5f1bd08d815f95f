/*
 * avx2.c - built with -mavx2 and -mpopcnt (kind/single.c with -mcx16, too); reached only where
 * runs_here()
 */
#include "simd/simd.h"
#include "simd/avx2_block.h"
#include "simd/avx2_split.h"
#include "simd/processor.h"

#include <immintrin.h>

static bool runs_here(void)
{
	return blm_runs_avx2();
}

static void or_words(void *dst, const void *src, size_t bytes)
{
	__m256i *d = dst;
	const __m256i *s = src;

	for (size_t i = 0; i < bytes / 32; i++)
		_mm256_storeu_si256(d + i, _mm256_or_si256(_mm256_loadu_si256(d + i),
							   _mm256_loadu_si256(s + i)));
}

static void and_words(void *dst, const void *src, size_t bytes)
{
	__m256i *d = dst;
	const __m256i *s = src;

	for (size_t i = 0; i < bytes / 32; i++)
		_mm256_storeu_si256(d + i, _mm256_and_si256(_mm256_loadu_si256(d + i),
							    _mm256_loadu_si256(s + i)));
}

static size_t next_missing(const void *dst, const void *src, size_t from, size_t bytes)
{
	for (size_t at = from & ~(size_t)63; at < bytes; at += 64) {
		const __m256i *d = (const __m256i *)((const char *)dst + at),
			*s = (const __m256i *)((const char *)src + at);

		/* testc(d, s): no bit of s is missing in d */
		if (!(_mm256_testc_si256(_mm256_loadu_si256(d), _mm256_loadu_si256(s))
		      & _mm256_testc_si256(_mm256_loadu_si256(d + 1), _mm256_loadu_si256(s + 1))))
			return at;
	}
	return bytes;
}

/* Plain C, but the compiler may use popcnt here. */
static uint64_t count_ones(const void *data, size_t bytes)
{
	const uint64_t *words = data;
	uint64_t a = 0, b = 0, c = 0, d = 0;

	for (size_t i = 0; i < bytes / 8; i += 4) {
		a += (uint64_t)__builtin_popcountll(words[i]);
		b += (uint64_t)__builtin_popcountll(words[i + 1]);
		c += (uint64_t)__builtin_popcountll(words[i + 2]);
		d += (uint64_t)__builtin_popcountll(words[i + 3]);
	}
	return a + b + c + d;
}

/* The same. A core reads no more from memory than this counts. */
static uint64_t count_common(const void *one, const void *other, size_t bytes)
{
	const uint64_t *x = one, *y = other;
	uint64_t a = 0, b = 0, c = 0, d = 0;

	for (size_t i = 0; i < bytes / 8; i += 4) {
		a += (uint64_t)__builtin_popcountll(x[i] & y[i]);
		b += (uint64_t)__builtin_popcountll(x[i + 1] & y[i + 1]);
		c += (uint64_t)__builtin_popcountll(x[i + 2] & y[i + 2]);
		d += (uint64_t)__builtin_popcountll(x[i + 3] & y[i + 3]);
	}
	return a + b + c + d;
}

static void count_blocks(const void *data, size_t bytes, uint64_t histogram[513])
{
	for (size_t at = 0; at < bytes; at += 64)
		histogram[count_ones((const char *)data + at, 64)]++;
}

static void blocks_contain(const struct blm_block_keys *keys, uint64_t *ret_bits)
{
	if (keys->probes <= PROBES_A_WORD)
		blocks_each(keys, ret_bits, block_of, avx2_contains_few);
	else
		blocks_each(keys, ret_bits, block_of, avx2_contains);
}

static size_t blocks_missing(const struct blm_block_keys *keys, size_t from,
			     struct blm_missing *ret)
{
	return keys->probes <= PROBES_A_WORD
		? blocks_missing_each(keys, from, ret, avx2_contains_few, block_missing)
					     : blocks_missing_each(keys, from, ret, avx2_contains,
						     block_missing);
}

static bool block_contains_here(const uint64_t *block, unsigned probes, const struct blm_hash *hash)
{
	return probes <= PROBES_A_WORD ? avx2_contains_few(block, probes, hash)
		: avx2_contains(block, probes, hash);
}

/* ---- Split blocks: all eight lanes at once, their purpose ---- */

static void split_blocks_contain(const struct blm_block_keys *keys, uint64_t *ret_bits)
{
	blocks_each(keys, ret_bits, split_of, avx2_split_contains);
}

static inline bool split_set(uint64_t *block, uint64_t lo)
{
	__m256i bits = avx2_split_bits(lo), old = _mm256_load_si256((const __m256i *)block);

	_mm256_store_si256((__m256i *)block, _mm256_or_si256(old, bits));
	return !_mm256_testc_si256(old, bits);
}

static void split_blocks_set(void *data, uint64_t blocks, const uint64_t *los, size_t count,
			     uint64_t *ret_bits)
{
	split_each_set(data, blocks, los, count, ret_bits, split_set);
}

static uint64_t count_split_blocks_here(const void *data, size_t bytes, uint64_t histogram[513])
{
	return count_split_blocks(data, bytes, histogram);	/* with popcnt */
}

const struct blm_simd blm_simd_avx2 = {
	.name = "avx2",
	BLM_SIMD_LOOPS,
	.blocks_missing = blocks_missing,
	.block_contains = block_contains_here,
	.split_blocks_contain = split_blocks_contain,
	.split_block_contains = avx2_split_contains,
	.split_block_lacks = avx2_split_lacks,
	.split_blocks_set = split_blocks_set,
	.count_split_blocks = count_split_blocks_here,
};
