/* avx2.c - built with -mavx2 and -mpopcnt; reached only where runs_here() */
#include "simd/simd.h"
#include "simd/block.h"

#include <immintrin.h>

static bool runs_here(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

static void or_words(void *dst, const void *src, size_t bytes)
{
	__m256i *d = dst;
	const __m256i *s = src;

	for (size_t i = 0; i < bytes / 32; i++)
		_mm256_storeu_si256(d + i, _mm256_or_si256(_mm256_loadu_si256(d + i), _mm256_loadu_si256(s + i)));
}

static void and_words(void *dst, const void *src, size_t bytes)
{
	__m256i *d = dst;
	const __m256i *s = src;

	for (size_t i = 0; i < bytes / 32; i++)
		_mm256_storeu_si256(d + i, _mm256_and_si256(_mm256_loadu_si256(d + i), _mm256_loadu_si256(s + i)));
}

static size_t next_missing(const void *dst, const void *src, size_t from, size_t bytes)
{
	for (size_t at = from & ~(size_t)63; at < bytes; at += 64) {
		const __m256i *d = (const __m256i *)((const char *)dst + at), *s = (const __m256i *)((const char *)src + at);

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

static void count_blocks(const void *data, size_t bytes, uint64_t histogram[513])
{
	for (size_t at = 0; at < bytes; at += 64)
		histogram[count_ones((const char *)data + at, 64)]++;
}

/*
 * Up to seven probes at a time, as 32-bit lanes: the block is sixteen words of 32 bits, a probe's upper four bits choose
 * one and its lower five the bit. permutevar8x32 looks up eight words, so both halves are looked up and bit 3 of the
 * number, moved to the sign, chooses between them.
 */
static bool contains(const __m256i low, const __m256i high, unsigned probes, const struct blm_hash *hash)
{
	const __m256i shift_low = _mm256_setr_epi64x(0, 9, 18, 27), shift_high = _mm256_setr_epi64x(36, 45, 54, 63);
	const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7), lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

	for (unsigned i = 0; i < probes; i += PROBES_A_WORD) {
		__m256i word = _mm256_set1_epi64x((long long)unfold(hash->lo, hash->hi, i / PROBES_A_WORD));
		__m256i a = _mm256_srlv_epi64(word, shift_low), b = _mm256_srlv_epi64(word, shift_high);
		/* the low halves of the eight 64-bit lanes, in the order of the probes */
		__m256i p = _mm256_permute2x128_si256(_mm256_permutevar8x32_epi32(a, order), _mm256_permutevar8x32_epi32(b, order), 0x20);
		__m256i number = _mm256_srli_epi32(p, 5);
		__m256i w = _mm256_castps_si256(_mm256_blendv_ps(
			_mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, number)),
			_mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, number)),
			_mm256_castsi256_ps(_mm256_slli_epi32(p, 31 - 8))));
		__m256i bit = _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_and_si256(p, _mm256_set1_epi32(31)));
		unsigned left = probes - i < PROBES_A_WORD ? probes - i : PROBES_A_WORD;
		__m256i wanted = _mm256_and_si256(bit, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)left), lanes));

		if (!_mm256_testc_si256(w, wanted))
			return false;
	}
	return true;
}

static void blocks_contain(const void *data, uint64_t blocks, unsigned probes,
			   const struct blm_hash *hashes, size_t count, uint64_t *ret_bits)
{
	memset(ret_bits, 0, (count + 63) / 64 * 8);
	for (size_t i = 0; i < count; i++) {
		const __m256i *block = (const __m256i *)block_of(data, blocks, &hashes[i]);

		ret_bits[i / 64] |= (uint64_t)contains(_mm256_load_si256(block), _mm256_load_si256(block + 1), probes, &hashes[i]) << i % 64;
	}
}

const struct blm_simd blm_simd_avx2 = {
	.name = "avx2",
	.runs_here = runs_here,
	.or_words = or_words,
	.and_words = and_words,
	.next_missing = next_missing,
	.count_ones = count_ones,
	.count_blocks = count_blocks,
	.blocks_contain = blocks_contain,
};
