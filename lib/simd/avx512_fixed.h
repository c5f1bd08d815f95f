/*
 * avx512_fixed.h - 64 keys of 8 or 16 bytes, hashed by XXH3 and asked of blocks, by AVX-512
 *
 * For a filter in the cache: nothing is asked for ahead, and no hash is stored. The values of eight
 * keys are stored while the eight before them are looked at, as in avx512.c. There must be fewer
 * than 2^32 blocks.
 */
#ifndef BLM_SIMD_AVX512_FIXED_H
#define BLM_SIMD_AVX512_FIXED_H

#include "simd/avx512_block.h"
#include "simd/avx512_xxh3.h"

enum { AVX512_TOGETHER = 64 };

/* In the order of the lanes of eight keys (avx512_lanes.h). */
struct avx512_found {
	_Alignas(64) uint64_t place[AVX512_TOGETHER];	/* the offset of the block in bytes */
	uint64_t word[AVX512_TOGETHER];			/* the first that the hash unfolds to */
};

static inline __attribute__((always_inline)) void
avx512_find(unsigned bits, const uint8_t *bytes, size_t width, uint64_t seed, uint64_t blocks,
	    size_t at, struct avx512_found *ret)
{
	eight lo, hi, place, low, high, last, first;

	if (width == 16) {
		first = load_halves(bytes + at * 16, &last);
		lo = hash_ends_by(bits, first, last, all(16), seed, &hi);
	} else {
		lo = hash_short_by(bits, load_words(bytes + at * 8), all(8), seed, &hi);
	}
	place = scale32(hi, blocks);
	low = times(lo, hi ^ all(UNFOLD_FLIP), &high);
	_mm512_store_si512(ret->place + at, (__m512i)(place * BLOCK_BYTES));
	_mm512_store_si512(ret->word + at, (__m512i)(low ^ high));
}

/*
 * Bit i: is key i there? `bits` of the hash is 64 or 128, `width` 8 or 16, and both are constants
 * where this is inlined.
 */
static inline __attribute__((always_inline)) uint64_t
avx512_ask_fixed(const uint8_t *data, uint64_t blocks, unsigned probes, unsigned bits,
		 uint64_t seed, const uint8_t *bytes, size_t width)
{
	const __mmask8 wanted = (__mmask8)((1u << probes) - 1);
	static const uint8_t key_of[EIGHT] = { 0, 4, 1, 5, 2, 6, 3, 7 };
	_Alignas(64) uint8_t lacks[AVX512_TOGETHER];
	struct avx512_found found;

	avx512_find(bits, bytes, width, seed, blocks, 0, &found);
	for (size_t from = 0; from < AVX512_TOGETHER; from += EIGHT) {
		if (from + EIGHT < AVX512_TOGETHER)
			avx512_find(bits, bytes, width, seed, blocks, from + EIGHT, &found);
		for (size_t i = 0; i < EIGHT; i++)
			lacks[from + key_of[i]] =
				avx512_word_lacks(_mm512_load_si512(data + found.place[from + i]),
						  _mm512_set1_epi64((long long)
								    found.word[from + i]),
						  wanted);
	}
	return _mm512_testn_epi8_mask(_mm512_load_si512(lacks), _mm512_set1_epi8(-1));
}

#endif
