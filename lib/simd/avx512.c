/* avx512.c - built with -mavx512f, bw, dq, vl, vpopcntdq; reached only where runs_here() */
#include "simd/simd.h"
#include "simd/avx512_block.h"
#include "simd/avx512_lanes.h"
#include "simd/avx512_xxh3.h"
#include "simd/processor.h"

#include <immintrin.h>

static bool runs_here(void)
{
	return blm_runs_avx512();
}

static void or_words(void *dst, const void *src, size_t bytes)
{
	char *d = dst;
	const char *s = src;

	for (size_t at = 0; at < bytes; at += 64)
		_mm512_storeu_si512(d + at, _mm512_or_si512(_mm512_loadu_si512(d + at),
							    _mm512_loadu_si512(s + at)));
}

static void and_words(void *dst, const void *src, size_t bytes)
{
	char *d = dst;
	const char *s = src;

	for (size_t at = 0; at < bytes; at += 64)
		_mm512_storeu_si512(d + at, _mm512_and_si512(_mm512_loadu_si512(d + at),
							     _mm512_loadu_si512(s + at)));
}

static size_t next_missing(const void *dst, const void *src, size_t from, size_t bytes)
{
	const char *d = dst, *s = src;

	for (size_t at = from & ~(size_t)63; at < bytes; at += 64) {
		__m512i missing = _mm512_andnot_si512(_mm512_loadu_si512(d + at),
						      _mm512_loadu_si512(s + at));

		if (_mm512_test_epi64_mask(missing, missing))
			return at;
	}
	return bytes;
}

static uint64_t count_ones(const void *data, size_t bytes)
{
	__m512i ones = _mm512_setzero_si512();

	for (size_t at = 0; at < bytes; at += 64)
		ones = _mm512_add_epi64(ones,
					_mm512_popcnt_epi64(_mm512_loadu_si512((const char *)data
						+ at)));
	return (uint64_t)_mm512_reduce_add_epi64(ones);
}

static uint64_t count_common(const void *a, const void *b, size_t bytes)
{
	__m512i ones = _mm512_setzero_si512();

	for (size_t at = 0; at < bytes; at += 64) {
		__m512i x = _mm512_loadu_si512((const char *)a + at),
			y = _mm512_loadu_si512((const char *)b + at);

		ones = _mm512_add_epi64(ones, _mm512_popcnt_epi64(_mm512_and_si512(x, y)));
	}
	return (uint64_t)_mm512_reduce_add_epi64(ones);
}

static void count_blocks(const void *data, size_t bytes, uint64_t histogram[513])
{
	for (size_t at = 0; at < bytes; at += 64) {
		__m512i block = _mm512_loadu_si512((const char *)data + at);

		histogram[_mm512_reduce_add_epi64(_mm512_popcnt_epi64(block))]++;
	}
}

/*
 * Values computed from the hashes of 64 keys of one word of probes, and of as many keys of the next
 * batch, eight at once.
 */
enum { TOGETHER = 64 };
struct together {
	_Alignas(64) uint64_t place[TOGETHER];	/* the offset of the block in bytes: block_of() */
	uint64_t word[TOGETHER];		/* the first that the hash unfolds to */
	uint64_t next_place[TOGETHER];
};

static inline eight places_of(eight hi, uint64_t blocks)
{
	eight place;

	times(hi, all(blocks), &place);
	return place * BLOCK_BYTES;
}

static inline void look_up(const struct blm_block_keys *k, size_t at, bool next, size_t i,
			   struct together *ret)
{
	eight lo, hi, low, high;

	if (next) {
		load_hashes(k->next + at + i, &hi);
		store_numbers(places_of(hi, k->blocks), ret->next_place + i);
	}
	lo = load_hashes(k->hashes + at + i, &hi);
	low = times(lo, hi ^ all(UNFOLD_FLIP), &high);
	store_numbers(places_of(hi, k->blocks), ret->place + i);
	store_numbers(low ^ high, ret->word + i);
}

/*
 * Bit i: are all probes of key `at` + i, of 64, set? Results are stored eight keys before they are
 * read: the instructions that read a block take its address from memory, and broadcast a word from
 * memory without another instruction. Lines are prefetched into the second cache, as by
 * block_prefetch(): keys follow each other so fast that the first one would have to wait for more
 * lines at once than it can. (In tests/bench: "contains_many" of 1m and of 100m keys.)
 */
static inline uint64_t ask_together(const struct blm_block_keys *k, size_t at, __mmask8 wanted)
{
	bool next = at + TOGETHER <= k->next_count;
	_Alignas(64) uint8_t lacks[TOGETHER];
	struct together keys;

	look_up(k, at, next, 0, &keys);
	for (size_t from = 0; from < TOGETHER; from += EIGHT) {
		if (from + EIGHT < TOGETHER)
			look_up(k, at, next, from + EIGHT, &keys);
		for (size_t i = from; i < from + EIGHT; i++) {
			if (next)
				__builtin_prefetch(k->data + keys.next_place[i], 0, 2);
			lacks[i] = avx512_word_lacks(_mm512_load_si512(k->data + keys.place[i]),
					      _mm512_set1_epi64((long long)keys.word[i]), wanted);
		}
	}
	for (size_t i = at; !next && i < at + TOGETHER && i < k->next_count; i++)
		block_prefetch(k, i, block_of);
	return _mm512_testn_epi8_mask(_mm512_load_si512(lacks), _mm512_set1_epi8(-1));
}

/*
 * Those from `at` on, for the loops that take a key after the other, and that go on as if they
 * began there.
 */
static inline struct blm_block_keys rest_of(const struct blm_block_keys *k, size_t at)
{
	struct blm_block_keys rest = *k;
	size_t next = at < k->next_count ? at : k->next_count;

	rest.hashes += at;
	rest.count -= at;
	rest.next = next ? rest.next + next : rest.next;
	rest.next_count -= next;
	return rest;
}

static __attribute__((noinline)) void blocks_contain_together(const struct blm_block_keys *k,
							      uint64_t *ret_bits)
{
	const struct blm_block_keys keys = *k;
	const __mmask8 wanted = avx512_lanes_of(keys.probes);
	struct blm_block_keys rest;
	size_t at = 0;

	for (; at + TOGETHER <= keys.count; at += TOGETHER)
		ret_bits[at / 64] = ask_together(&keys, at, wanted);
	rest = rest_of(&keys, at);
	blocks_each(&rest, ret_bits + at / 64, block_of, avx512_contains_few);
}

/* Few keys are asked one after the other, without the buffers for more. */
static void blocks_contain(const struct blm_block_keys *keys, uint64_t *ret_bits)
{
	if (keys->probes > PROBES_A_WORD)
		blocks_each(keys, ret_bits, block_of, avx512_contains);
	else if (keys->count < TOGETHER)
		blocks_each(keys, ret_bits, block_of, avx512_contains_few);
	else
		blocks_contain_together(keys, ret_bits);
}

static bool block_contains_here(const uint64_t *block, unsigned probes, const struct blm_hash *hash)
{
	return probes <= PROBES_A_WORD ? avx512_contains_few(block, probes, hash)
		: avx512_contains(block, probes, hash);
}

/* The lanes whose bit is missing are moved together. */
static inline size_t word_missing(uint64_t *block, __m512i word, __mmask8 wanted, uint64_t first,
				  uint64_t **ret_words, uint64_t *ret_which)
{
	const __m512i bit = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 63),
		number = _mm512_setr_epi64(6, 15, 24, 33, 42, 51, 60, 63);
	__m512i numbers = _mm512_and_si512(_mm512_srlv_epi64(word, number), _mm512_set1_epi64(7));
	__m512i bits = _mm512_and_si512(_mm512_srlv_epi64(word, bit), _mm512_set1_epi64(63));
	__m512i turned = _mm512_rorv_epi64(_mm512_permutexvar_epi64(numbers,
		_mm512_load_si512(block)), bits);
	__mmask8 missing = _mm512_mask_testn_epi64_mask(wanted, turned, _mm512_set1_epi64(1));
	__m512i words = _mm512_add_epi64(_mm512_set1_epi64((long long)block),
					 _mm512_slli_epi64(numbers, 3));

	_mm512_storeu_si512(ret_words, _mm512_maskz_compress_epi64(missing, words));
	_mm512_storeu_si512(ret_which, _mm512_maskz_compress_epi64(missing,
		_mm512_add_epi64(bits, _mm512_set1_epi64((long long)first))));
	return (size_t)__builtin_popcount(missing);
}

static inline size_t missing_few(uint64_t *block, unsigned probes, const struct blm_hash *hash,
				 uint64_t first,
				 uint64_t **ret_words, uint64_t *ret_which)
{
	return word_missing(block, avx512_word_of(hash, 0), avx512_lanes_of(probes), first,
			    ret_words, ret_which);
}

static inline size_t missing(uint64_t *block, unsigned probes, const struct blm_hash *hash,
			     uint64_t first,
			     uint64_t **ret_words, uint64_t *ret_which)
{
	size_t count = 0;

	for (unsigned i = 0; i < probes; i += PROBES_A_WORD)
		count += word_missing(block, avx512_word_of(hash, i / PROBES_A_WORD),
				      avx512_lanes_of(probes - i), first, ret_words + count,
				      ret_which + count);
	return count;
}

/* The buffer holds the bits of 64 keys of one word of probes, so `from` is a multiple of 64. */
static_assert((int)BLM_MISSING_MAX >= TOGETHER * PROBES_A_WORD, "room");
static __attribute__((noinline)) size_t
blocks_missing_together(const struct blm_block_keys *k, size_t from, struct blm_missing *ret)
{
	const struct blm_block_keys keys = *k;
	size_t to = from + TOGETHER, count = 0;

	for (uint64_t lack = ~ask_together(&keys, from, avx512_lanes_of(keys.probes)); lack;
	     lack &= lack - 1) {
		unsigned i = (unsigned)__builtin_ctzll(lack);
		const struct blm_hash *hash = &keys.hashes[from + i];

		count += missing_few((uint64_t *)block_of(keys.data, keys.blocks, hash),
				     keys.probes, hash, i * UINT64_C(64),
				     ret->word + count, ret->which + count);
	}
	for (size_t i = to; to == keys.count && i < keys.next_count; i++)
		block_prefetch(&keys, i, block_of);
	ret->count = count;
	return to;
}

static size_t blocks_missing(const struct blm_block_keys *keys, size_t from,
			     struct blm_missing *ret)
{
	if (keys->probes > PROBES_A_WORD)
		return blocks_missing_each(keys, from, ret, avx512_contains, missing);
	if (keys->count < from + TOGETHER)
		return blocks_missing_each(keys, from, ret, avx512_contains_few, missing_few);
	return blocks_missing_together(keys, from, ret);
}

enum { SET_TOGETHER = 16, SET_AHEAD = 3 * SET_TOGETHER };

/*
 * Where up to seven probes are: bits of the block, one a lane. Through memory, from where each is
 * then spread over a register.
 */
static void find(uint64_t word, uint64_t ret[8])
{
	const __m512i shift = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 63);

	_mm512_store_si512(ret,
			   _mm512_and_si512(_mm512_srlv_epi64(_mm512_set1_epi64((long long)word),
							      shift), _mm512_set1_epi64(511)));
}

/*
 * A bit of the block, in its word; the shift of the other words is out of range, and they become 0.
 */
static __m512i bit_at(uint64_t at)
{
	const __m512i last = _mm512_setr_epi64(63, 127, 191, 255, 319, 383, 447, 511),
		top = _mm512_set1_epi64(INT64_MIN);

	return _mm512_srlv_epi64(top, _mm512_sub_epi64(last, _mm512_set1_epi64((long long)at)));
}

static __m512i bits_at(const uint64_t at[8], unsigned count)
{
	__m512i bits = bit_at(at[0]);

	for (unsigned i = 1; i < count; i++)
		bits = _mm512_or_si512(bits, bit_at(at[i]));
	return bits;
}

static bool set(void *block, __m512i bits)
{
	__m512i old = _mm512_load_si512(block), missing = _mm512_andnot_si512(old, bits);

	_mm512_store_si512(block, _mm512_or_si512(old, bits));
	return _mm512_test_epi64_mask(missing, missing);
}

/*
 * The bits of some hashes, word after word of each: what find() stored has left the store buffer
 * when it is read.
 */
static inline void find_bits(const struct blm_hash *hashes, size_t count, unsigned probes,
			     __m512i *ret)
{
	_Alignas(64) uint64_t at[SET_TOGETHER][8];

	for (unsigned i = 0; i < probes; i += PROBES_A_WORD) {
		unsigned left = probes - i < PROBES_A_WORD ? probes - i : PROBES_A_WORD;

		for (size_t j = 0; j < count; j++)
			find(unfold(hashes[j].lo, hashes[j].hi, i / PROBES_A_WORD), at[j]);
		for (size_t j = 0; j < count; j++)
			ret[j] = _mm512_or_si512(i ? ret[j] : _mm512_setzero_si512(),
						 bits_at(at[j], left));
	}
}

static void blocks_set(void *data, uint64_t blocks, unsigned probes,
		       const struct blm_hash *hashes, size_t count, uint64_t *ret_bits)
{
	__m512i bits[SET_TOGETHER];

	for (size_t from = 0; from < count; from += SET_TOGETHER) {
		size_t some = count - from < SET_TOGETHER ? count - from : SET_TOGETHER;
		uint64_t changed = 0;

		for (size_t j = from + SET_AHEAD; j < from + SET_AHEAD + some && j < count; j++)
			__builtin_prefetch(block_of(data, blocks, &hashes[j]), 1);
		find_bits(hashes + from, some, probes, bits);
		for (size_t j = 0; j < some; j++)
			changed |= (uint64_t)set((void *)block_of(data, blocks, &hashes[from + j]),
						 bits[j]) << j;
		if (from % 64 == 0)
			ret_bits[from / 64] = 0;
		ret_bits[from / 64] |= changed << from % 64;
	}
}

/* ---- Hashes ---- */

static inline __attribute__((always_inline)) size_t
many_by(unsigned bits, const struct blm_key *keys, size_t count, uint64_t seed,
	struct blm_hash *ret)
{
	size_t at = 0;

	while (count - at >= EIGHT && hash_eight(bits, keys + at, load_lengths(keys + at), seed,
						 ret + at))
		at += EIGHT;
	return at;
}

static inline __attribute__((always_inline)) size_t
fixed_by(unsigned bits, const uint8_t *bytes, size_t width, size_t count, uint64_t seed,
	 struct blm_hash *ret)
{
	size_t at = 0;

	for (; count - at >= EIGHT; at += EIGHT) {
		const uint8_t *from = bytes + at * width;
		eight low, high, last, first;

		if (width == 16) {
			first = load_halves(from, &last);
			low = hash_ends_by(bits, first, last, all(16), seed, &high);
			store_hashes(low, high, ret + at);
		} else if (width == 8) {
			low = hash_short_by(bits, load_words(from), all(8), seed, &high);
			store_hashes(low, high, ret + at);
		} else {
			struct blm_key keys[EIGHT];

			for (size_t i = 0; i < EIGHT; i++)
				keys[i] = (struct blm_key){ from + i * width, width };
			if (!hash_eight(bits, keys, all(width), seed, ret + at))
				break;
		}
	}
	return at;
}

static size_t xxh3_many(const struct blm_key *keys, size_t count, uint64_t seed,
			struct blm_hash *ret)
{
	return many_by(128, keys, count, seed, ret);
}

static size_t xxh3_fixed(const uint8_t *bytes, size_t width, size_t count, uint64_t seed,
			 struct blm_hash *ret)
{
	return fixed_by(128, bytes, width, count, seed, ret);
}

static size_t xxh3_64_many(const struct blm_key *keys, size_t count, uint64_t seed,
			   struct blm_hash *ret)
{
	return many_by(64, keys, count, seed, ret);
}

static size_t xxh3_64_fixed(const uint8_t *bytes, size_t width, size_t count, uint64_t seed,
			    struct blm_hash *ret)
{
	return fixed_by(64, bytes, width, count, seed, ret);
}

const struct blm_simd blm_simd_avx512 = {
	.name = "avx512",
	BLM_SIMD_LOOPS,
	.blocks_set = blocks_set,
	.block_contains = block_contains_here,
	.blocks_missing = blocks_missing,
	.block_lacks = avx512_block_lacks,
	.xxh3_many = xxh3_many, .xxh3_64_many = xxh3_64_many,
	.xxh3_fixed = xxh3_fixed, .xxh3_64_fixed = xxh3_64_fixed,
};
