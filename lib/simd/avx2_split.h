/* avx2_split.h - one key in a split block, by AVX2: all eight lanes at once */
#ifndef BLM_SIMD_AVX2_SPLIT_H
#define BLM_SIMD_AVX2_SPLIT_H

#include "simd/split_block.h"

#include <immintrin.h>

static inline __m256i avx2_split_bits(uint64_t lo)
{
	const __m256i salts = _mm256_setr_epi32(SPLIT_SALTS);
	__m256i products = _mm256_mullo_epi32(_mm256_set1_epi32((int)(uint32_t)lo), salts);

	return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(products, 27));
}

static inline bool avx2_split_contains(const uint64_t *block, unsigned probes,
				       const struct blm_hash *hash)
{
	return _mm256_testc_si256(_mm256_load_si256((const __m256i *)block),
				  avx2_split_bits(hash->lo));
}

static inline unsigned avx2_split_lacks(const uint64_t *block, uint64_t lo,
					uint64_t ret_mask[SPLIT_WORDS])
{
	__m256i bits = avx2_split_bits(lo), missing =
		_mm256_andnot_si256(_mm256_load_si256((const __m256i *)block), bits);

	_mm256_storeu_si256((__m256i *)ret_mask, bits);
	return 15u & ~(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(missing,
		_mm256_setzero_si256())));
}

#endif
