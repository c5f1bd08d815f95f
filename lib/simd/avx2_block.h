/* avx2_block.h - one question to a block of 512 bits, by AVX2 */
#ifndef BLM_SIMD_AVX2_BLOCK_H
#define BLM_SIMD_AVX2_BLOCK_H

#include "simd/block.h"

#include <immintrin.h>

/*
 * Seven probes at a time, as 32-bit lanes: the block is sixteen words of 32 bits, a probe's upper
 * four bits choose one and its lower five the bit. permutevar8x32 looks up eight words, so both
 * halves are looked up and bit 3 of the number, moved to the sign, chooses between them.
 */
static inline bool avx2_word_contains(__m256i low, __m256i high, uint64_t probes_of_word,
				      unsigned left)
{
	const __m256i shift_low = _mm256_setr_epi64x(0, 9, 18, 27),
		shift_high = _mm256_setr_epi64x(36, 45, 54, 63);
	const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7),
		lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	__m256i word = _mm256_set1_epi64x((long long)probes_of_word);
	__m256i a = _mm256_srlv_epi64(word, shift_low), b = _mm256_srlv_epi64(word, shift_high);
	/* the low halves of the eight 64-bit lanes, in the order of the probes */
	__m256i p = _mm256_permute2x128_si256(_mm256_permutevar8x32_epi32(a, order),
					      _mm256_permutevar8x32_epi32(b, order), 0x20);
	__m256i number = _mm256_srli_epi32(p, 5);
	__m256i w = _mm256_castps_si256(_mm256_blendv_ps(
		_mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, number)),
		_mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, number)),
		_mm256_castsi256_ps(_mm256_slli_epi32(p, 31 - 8))));
	__m256i bit = _mm256_sllv_epi32(_mm256_set1_epi32(1),
					_mm256_and_si256(p, _mm256_set1_epi32(31)));
	__m256i wanted = _mm256_and_si256(bit, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(left
		< PROBES_A_WORD ? left : PROBES_A_WORD)), lanes));

	return _mm256_testc_si256(w, wanted);
}

/* ... where one word has all probes. */
static inline bool avx2_contains_few(const uint64_t *block, unsigned probes,
				     const struct blm_hash *hash)
{
	const __m256i *halves = (const __m256i *)block;

	return avx2_word_contains(_mm256_load_si256(halves), _mm256_load_si256(halves + 1),
				  unfold(hash->lo, hash->hi, 0), probes);
}

static inline bool avx2_contains(const uint64_t *block, unsigned probes,
				 const struct blm_hash *hash)
{
	const __m256i *halves = (const __m256i *)block;
	__m256i low = _mm256_load_si256(halves), high = _mm256_load_si256(halves + 1);

	for (unsigned i = 0; i < probes; i += PROBES_A_WORD)
		if (!avx2_word_contains(low, high, unfold(hash->lo, hash->hi, i / PROBES_A_WORD),
				   probes - i))
			return false;
	return true;
}

#endif
