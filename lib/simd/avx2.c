/* avx2.c - built with -mavx2 and -mpopcnt; reached only where runs_here() */
#include "simd/simd.h"
#include "simd/block.h"
#include "simd/split_block.h"

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

/*
 * Seven probes at a time, as 32-bit lanes: the block is sixteen words of 32 bits, a probe's upper
 * four bits choose one and its lower five the bit. permutevar8x32 looks up eight words, so both
 * halves are looked up and bit 3 of the number, moved to the sign, chooses between them.
 */
static inline bool word_contains(__m256i low, __m256i high, uint64_t probes_of_word, unsigned left)
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

static inline bool contains_few(const uint64_t *block, unsigned probes, const struct blm_hash *hash)
{
	const __m256i *halves = (const __m256i *)block;

	return word_contains(_mm256_load_si256(halves), _mm256_load_si256(halves + 1),
			     unfold(hash->lo, hash->hi, 0), probes);
}

static inline bool contains(const uint64_t *block, unsigned probes, const struct blm_hash *hash)
{
	const __m256i *halves = (const __m256i *)block;
	__m256i low = _mm256_load_si256(halves), high = _mm256_load_si256(halves + 1);

	for (unsigned i = 0; i < probes; i += PROBES_A_WORD)
		if (!word_contains(low, high, unfold(hash->lo, hash->hi, i / PROBES_A_WORD),
				   probes - i))
			return false;
	return true;
}

static void blocks_contain(const struct blm_block_keys *keys, uint64_t *ret_bits)
{
	if (keys->probes <= PROBES_A_WORD)
		blocks_each(keys, ret_bits, block_of, contains_few);
	else
		blocks_each(keys, ret_bits, block_of, contains);
}

static size_t blocks_missing(const struct blm_block_keys *keys, size_t from,
			     struct blm_missing *ret)
{
	return keys->probes <= PROBES_A_WORD
		? blocks_missing_each(keys, from, ret, contains_few, block_missing)
					     : blocks_missing_each(keys, from, ret, contains,
						     block_missing);
}

static bool block_contains_here(const uint64_t *block, unsigned probes, const struct blm_hash *hash)
{
	return probes <= PROBES_A_WORD ? contains_few(block, probes, hash)
		: contains(block, probes, hash);
}

/* ---- Split blocks: all eight lanes at once, which is what they were made for ---- */

static inline __m256i split_bits(uint64_t lo)
{
	const __m256i salts = _mm256_setr_epi32(SPLIT_SALTS);
	__m256i products = _mm256_mullo_epi32(_mm256_set1_epi32((int)(uint32_t)lo), salts);

	return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(products, 27));
}

static inline bool split_contains_here(const uint64_t *block, unsigned probes,
				       const struct blm_hash *hash)
{
	return _mm256_testc_si256(_mm256_load_si256((const __m256i *)block), split_bits(hash->lo));
}

static void split_blocks_contain(const struct blm_block_keys *keys, uint64_t *ret_bits)
{
	blocks_each(keys, ret_bits, split_of, split_contains_here);
}

static unsigned split_block_lacks(const uint64_t *block, uint64_t lo,
				  uint64_t ret_mask[SPLIT_WORDS])
{
	__m256i bits = split_bits(lo), missing =
		_mm256_andnot_si256(_mm256_load_si256((const __m256i *)block), bits);

	_mm256_storeu_si256((__m256i *)ret_mask, bits);
	return 15u & ~(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(missing,
		_mm256_setzero_si256())));
}

static inline bool split_set(uint64_t *block, uint64_t lo)
{
	__m256i bits = split_bits(lo), old = _mm256_load_si256((const __m256i *)block);

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
	.runs_here = runs_here,
	.or_words = or_words,
	.and_words = and_words,
	.next_missing = next_missing,
	.count_ones = count_ones,
	.count_common = count_common,
	.count_blocks = count_blocks,
	.blocks_contain = blocks_contain,
	.blocks_missing = blocks_missing,
	.block_contains = block_contains_here,
	.split_blocks_contain = split_blocks_contain,
	.split_block_contains = split_contains_here,
	.split_block_lacks = split_block_lacks,
	.split_blocks_set = split_blocks_set,
	.count_split_blocks = count_split_blocks_here,
};
