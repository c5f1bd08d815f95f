/* avx512.c - built with -mavx512f, bw, vl, vpopcntdq; reached only where runs_here() */
#include "simd/simd.h"
#include "simd/block.h"

#include <immintrin.h>

static bool runs_here(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
	    && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq");
}

static void or_words(void *dst, const void *src, size_t bytes)
{
	char *d = dst;
	const char *s = src;

	for (size_t at = 0; at < bytes; at += 64)
		_mm512_storeu_si512(d + at, _mm512_or_si512(_mm512_loadu_si512(d + at), _mm512_loadu_si512(s + at)));
}

static void and_words(void *dst, const void *src, size_t bytes)
{
	char *d = dst;
	const char *s = src;

	for (size_t at = 0; at < bytes; at += 64)
		_mm512_storeu_si512(d + at, _mm512_and_si512(_mm512_loadu_si512(d + at), _mm512_loadu_si512(s + at)));
}

static size_t next_missing(const void *dst, const void *src, size_t from, size_t bytes)
{
	const char *d = dst, *s = src;

	for (size_t at = from & ~(size_t)63; at < bytes; at += 64) {
		__m512i missing = _mm512_andnot_si512(_mm512_loadu_si512(d + at), _mm512_loadu_si512(s + at));

		if (_mm512_test_epi64_mask(missing, missing))
			return at;
	}
	return bytes;
}

static uint64_t count_ones(const void *data, size_t bytes)
{
	__m512i ones = _mm512_setzero_si512();

	for (size_t at = 0; at < bytes; at += 64)
		ones = _mm512_add_epi64(ones, _mm512_popcnt_epi64(_mm512_loadu_si512((const char *)data + at)));
	return (uint64_t)_mm512_reduce_add_epi64(ones);
}

static void count_blocks(const void *data, size_t bytes, uint64_t histogram[513])
{
	for (size_t at = 0; at < bytes; at += 64)
		histogram[_mm512_reduce_add_epi64(_mm512_popcnt_epi64(_mm512_loadu_si512((const char *)data + at)))]++;
}

/* Up to seven probes at a time, one a lane: a probe's upper three bits look up its word in the block, its lower six the bit. */
static bool contains(const __m512i block, unsigned probes, const struct blm_hash *hash)
{
	const __m512i shift = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 63), one = _mm512_set1_epi64(1);

	for (unsigned i = 0; i < probes; i += PROBES_A_WORD) {
		__m512i p = _mm512_srlv_epi64(_mm512_set1_epi64((long long)unfold(hash->lo, hash->hi, i / PROBES_A_WORD)), shift);
		__m512i word = _mm512_permutexvar_epi64(_mm512_srli_epi64(p, 6), block);	/* takes the lowest three bits */
		__m512i bit = _mm512_sllv_epi64(one, _mm512_and_si512(p, _mm512_set1_epi64(63)));
		unsigned left = probes - i < PROBES_A_WORD ? probes - i : PROBES_A_WORD;
		__mmask8 wanted = (__mmask8)((1u << left) - 1);

		if (_mm512_mask_test_epi64_mask(wanted, word, bit) != wanted)
			return false;
	}
	return true;
}

static void blocks_contain(const void *data, uint64_t blocks, unsigned probes,
			   const struct blm_hash *hashes, size_t count, uint64_t *ret_bits)
{
	memset(ret_bits, 0, (count + 63) / 64 * 8);
	for (size_t i = 0; i < count; i++)
		ret_bits[i / 64] |= (uint64_t)contains(_mm512_load_si512(block_of(data, blocks, &hashes[i])), probes, &hashes[i]) << i % 64;
}

const struct blm_simd blm_simd_avx512 = {
	.name = "avx512",
	.runs_here = runs_here,
	.or_words = or_words,
	.and_words = and_words,
	.next_missing = next_missing,
	.count_ones = count_ones,
	.count_blocks = count_blocks,
	.blocks_contain = blocks_contain,
};
