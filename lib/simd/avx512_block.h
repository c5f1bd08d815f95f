/* avx512_block.h - one key in a block of 512 bits, which is one register of AVX-512 */
#ifndef BLM_SIMD_AVX512_BLOCK_H
#define BLM_SIMD_AVX512_BLOCK_H

#include "simd/block.h"

#include <immintrin.h>

/* The lanes of a word that are probes, if this many probes remain. */
static inline __mmask8 avx512_lanes_of(unsigned left)
{
	return (__mmask8)((1u << (left < PROBES_A_WORD ? left : PROBES_A_WORD)) - 1);
}

/*
 * Seven probes at a time, one a lane: a probe's upper three bits look up its word in the block, its
 * lower six turn that until the bit is the lowest. (permutexvar takes the lowest three bits of a
 * number, rorv the lowest six.)
 */
static inline __m512i avx512_turned(__m512i block, __m512i word)
{
	const __m512i bit = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 63),
		number = _mm512_setr_epi64(6, 15, 24, 33, 42, 51, 60, 63);
	__m512i looked_up = _mm512_permutexvar_epi64(_mm512_srlv_epi64(word, number), block);

	return _mm512_rorv_epi64(looked_up, _mm512_srlv_epi64(word, bit));
}

static inline __mmask8 avx512_word_lacks(__m512i block, __m512i word, __mmask8 wanted)
{
	return _mm512_mask_testn_epi64_mask(wanted, avx512_turned(block, word),
					    _mm512_set1_epi64(1));
}

static inline bool avx512_word_contains(__m512i block, __m512i word, __mmask8 wanted)
{
	return !avx512_word_lacks(block, word, wanted);
}

static inline __m512i avx512_word_of(const struct blm_hash *hash, unsigned i)
{
	return _mm512_set1_epi64((long long)unfold(hash->lo, hash->hi, i));
}

/* ... where one word has all probes; these are as many as bits of `lanes`, the lowest, are set. */
static inline bool avx512_contains_lanes(const uint64_t *block, unsigned lanes,
					 const struct blm_hash *hash)
{
	return !(_mm512_testn_epi64_mask(avx512_turned(_mm512_load_si512(block),
						       avx512_word_of(hash, 0)),
					 _mm512_set1_epi64(1)) & lanes);
}

static inline bool avx512_contains_few(const uint64_t *block, unsigned probes,
				       const struct blm_hash *hash)
{
	return avx512_contains_lanes(block, (1u << probes) - 1, hash);
}

static inline bool avx512_contains(const uint64_t *block, unsigned probes,
				   const struct blm_hash *hash)
{
	__m512i words = _mm512_load_si512(block);

	for (unsigned i = 0; i < probes; i += PROBES_A_WORD)
		if (!avx512_word_contains(words, avx512_word_of(hash, i / PROBES_A_WORD),
					  avx512_lanes_of(probes - i)))
			return false;
	return true;
}

/*
 * The bits of a key whose probes are all in one word, as the words of a block. The lowest nine bits
 * of the word are a probe: the upper three of them say in which lane its bit is, the lower six
 * where. In the other lanes the exclusive OR leaves more than 63, and a shift by that much leaves
 * nothing.
 */
static inline __attribute__((always_inline)) __m512i avx512_bits_of(__m512i word, unsigned probes)
{
	const __m512i lane = _mm512_setr_epi64(0 << 6, 1 << 6, 2 << 6, 3 << 6, 4 << 6, 5 << 6,
					       6 << 6, 7 << 6);
	const __m512i nine = _mm512_set1_epi64(511), one = _mm512_set1_epi64(1);
	__m512i bits = _mm512_setzero_si512();

#pragma GCC unroll 8
	for (unsigned i = 0; i < probes; i++)
		/* (probe ^ lane) & 511 */
		bits = _mm512_or_si512(bits, _mm512_sllv_epi64(one,
			_mm512_ternarylogic_epi64(_mm512_srli_epi64(word, i * PROBE_BITS), lane,
						  nine, 0x28)));
	return bits;
}

/*
 * Adds a key whose probes are all in the first word of its hash, to a block that no other thread
 * changes. False: it was there. The branches on `probes` go the same way for every key of a filter.
 */
static inline bool avx512_add_few(uint64_t *block, unsigned probes, const struct blm_hash *hash)
{
	__m512i word = avx512_word_of(hash, 0), old = _mm512_load_si512(block), bits;

	if (probes == 6)		/* of a rate of 0.01 */
		bits = avx512_bits_of(word, 6);
	else if (probes == 7)
		bits = avx512_bits_of(word, 7);
	else
		bits = avx512_bits_of(word, probes);
	if (!_mm512_test_epi64_mask(bits, _mm512_andnot_si512(old, bits)))
		return false;
	_mm512_store_si512(block, _mm512_or_si512(old, bits));
	return true;
}

/* block_lacks_probes() */
static inline unsigned avx512_lacks_probes(const uint64_t *block, unsigned probes, uint64_t word)
{
	return avx512_word_lacks(_mm512_load_si512(block), _mm512_set1_epi64((long long)word),
				 avx512_lanes_of(probes));
}

/* Each probe's bit moves to the lane that is its word. */
static inline unsigned avx512_block_lacks(const uint64_t *block, unsigned probes,
					  const struct blm_hash *hash, uint64_t ret_mask[8])
{
	const __m512i bit = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 63),
		number = _mm512_setr_epi64(6, 15, 24, 33, 42, 51, 60, 63);
	const __m512i lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
		seven = _mm512_set1_epi64(7);
	__m512i mask = _mm512_setzero_si512();

	for (unsigned i = 0; i < probes; i += PROBES_A_WORD) {
		__m512i word = avx512_word_of(hash, i / PROBES_A_WORD);
		__m512i numbers = _mm512_and_si512(_mm512_srlv_epi64(word, number), seven);
		__m512i bits = _mm512_maskz_rolv_epi64(avx512_lanes_of(probes - i),
						       _mm512_set1_epi64(1),
						       _mm512_srlv_epi64(word, bit));

		for (int j = 0; j < PROBES_A_WORD; j++) {
			__m512i from = _mm512_set1_epi64(j);
			__mmask8 there = _mm512_cmpeq_epi64_mask(lane,
				_mm512_permutexvar_epi64(from, numbers));

			mask = _mm512_mask_or_epi64(mask, there, mask,
						    _mm512_permutexvar_epi64(from, bits));
		}
	}
	_mm512_storeu_si512(ret_mask, mask);
	mask = _mm512_andnot_si512(_mm512_load_si512(block), mask);
	return _mm512_test_epi64_mask(mask, mask);
}

#endif
