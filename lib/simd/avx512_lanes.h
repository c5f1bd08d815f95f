/*
 * avx512_lanes.h - eight 64-bit numbers at once, by AVX-512: products of 128 bits, hashes and the
 * contents of short keys
 *
 * Adjacent values in memory are loaded in lanes of 128 bits. Unpacking takes the lower or the upper
 * halves of two registers in turn. So the result has the order of keys 0, 4, 1, 5, 2, 6, 3, 7, and
 * a second unpacking restores the order.
 */
#ifndef BLM_SIMD_EIGHT_H
#define BLM_SIMD_EIGHT_H

#include "base/base.h"
#include "bloomery.h"

#include <immintrin.h>

typedef uint64_t eight __attribute__((vector_size(64)));
enum { EIGHT = 8 };

static inline eight all(uint64_t x)
{
	return (eight)_mm512_set1_epi64((long long)x);
}

/* The products of their lower halves. */
static inline eight times32(eight x, eight y)
{
	return (eight)_mm512_mul_epu32((__m512i)x, (__m512i)y);
}

/* x * y of 128 bits: the lower half is returned. No sum here is more than 64 bits hold. */
static inline eight times(eight x, eight y, eight *ret_high)
{
	const eight half = all(UINT32_MAX);
	eight low = times32(x, y), cross = times32(x >> 32, y) + (low >> 32),
		other = times32(x, y >> 32) + (cross & half);

	*ret_high = times32(x >> 32, y >> 32) + (cross >> 32) + (other >> 32);
	return (low & half) | other << 32;
}

/* scale(), by fewer than 2^32: of a product of 96 bits the upper 32. */
static inline eight scale32(eight x, uint64_t n)
{
	const eight by = all(n);

	return (times32(x >> 32, by) + (times32(x, by) >> 32)) >> 32;
}

static inline eight rotate(eight x, int left)
{
	return x << left | x >> (64 - left);
}

static inline eight swap_bytes(eight x)
{
	const __m512i order = _mm512_broadcast_i32x4(_mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14,
		13, 12, 11, 10, 9, 8));

	return (eight)_mm512_shuffle_epi8((__m512i)x, order);
}

static inline eight unzip(__m512i a, __m512i b, eight *ret_upper)
{
	*ret_upper = (eight)_mm512_unpackhi_epi64(a, b);
	return (eight)_mm512_unpacklo_epi64(a, b);
}

static inline eight load_hashes(const struct blm_hash *hashes, eight *ret_hi)
{
	return unzip(_mm512_loadu_si512(hashes), _mm512_loadu_si512(hashes + 4), ret_hi);
}

static inline void store_hashes(eight lo, eight hi, struct blm_hash *ret)
{
	_mm512_storeu_si512(ret, _mm512_unpacklo_epi64((__m512i)lo, (__m512i)hi));
	_mm512_storeu_si512(ret + 4, _mm512_unpackhi_epi64((__m512i)lo, (__m512i)hi));
}

/* One of each key. */
static inline void store_numbers(eight x, uint64_t ret[EIGHT])
{
	_mm512_storeu_si512(ret, _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
							  (__m512i)x));
}

/* The lengths of eight keys, which are anywhere in memory. */
static inline eight load_lengths(const struct blm_key *keys)
{
	return (eight)_mm512_unpackhi_epi64(_mm512_loadu_si512(keys), _mm512_loadu_si512(keys + 4));
}

static inline bool all_within(eight x, uint64_t least, uint64_t most)
{
	return !_mm512_cmpgt_epu64_mask((__m512i)(x - all(least)), (__m512i)all(most - least));
}

/* The first 8 and the last 8 bytes of keys of 16 bytes that follow each other. */
static inline eight load_halves(const uint8_t *bytes, eight *ret_last)
{
	return unzip(_mm512_loadu_si512(bytes), _mm512_loadu_si512(bytes + 64), ret_last);
}

static inline __m512i four(__m128i a, __m128i b, __m128i c, __m128i d)
{
	__m256i ab = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1),
		cd = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);

	return _mm512_inserti64x4(_mm512_castsi256_si512(ab), cd, 1);
}

static inline __m128i ends_of(const struct blm_key *key)
{
	const uint8_t *bytes = key->bytes;
	__m128i first = _mm_loadl_epi64((const __m128i *)bytes),
		last = _mm_loadl_epi64((const __m128i *)(bytes + key->len - 8));

	return _mm_unpacklo_epi64(first, last);
}

static inline __m128i bytes_of(const struct blm_key *key)
{
	return _mm_loadu_si128(key->bytes);
}

/*
 * The first 8 and the last 8 bytes of keys of 9 to 16 bytes, which are anywhere in memory. They
 * overlap if a key has fewer than 16 bytes.
 */
static inline eight load_ends(const struct blm_key *keys, eight lengths, eight *ret_last)
{
	if (_mm512_cmpneq_epu64_mask((__m512i)lengths, (__m512i)all(16)))
		return unzip(four(ends_of(&keys[0]), ends_of(&keys[1]), ends_of(&keys[2]),
				  ends_of(&keys[3])),
			     four(ends_of(&keys[4]), ends_of(&keys[5]), ends_of(&keys[6]),
				  ends_of(&keys[7])), ret_last);
	return unzip(four(bytes_of(&keys[0]), bytes_of(&keys[1]), bytes_of(&keys[2]),
			  bytes_of(&keys[3])),
		     four(bytes_of(&keys[4]), bytes_of(&keys[5]), bytes_of(&keys[6]),
			  bytes_of(&keys[7])), ret_last);
}

static inline uint64_t short_of(const struct blm_key *key)
{
	const uint8_t *bytes = key->bytes;
	uint32_t first, last;

	memcpy(&first, bytes, 4);
	memcpy(&last, bytes + key->len - 4, 4);
	return first | (uint64_t)last << 32;
}

/* The first 4 bytes of keys of 4 to 8 bytes, anywhere in memory, and above them the last 4. */
static inline eight load_short(const struct blm_key *keys)
{
	return (eight){ short_of(&keys[0]), short_of(&keys[4]), short_of(&keys[1]),
			short_of(&keys[5]),
			short_of(&keys[2]), short_of(&keys[6]), short_of(&keys[3]),
			short_of(&keys[7]) };
}

/* Keys of 8 bytes that follow each other. */
static inline eight load_words(const uint8_t *bytes)
{
	return (eight)_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7),
					       _mm512_loadu_si512(bytes));
}

#endif
