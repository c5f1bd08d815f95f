/*
 * single.c - one key in one call (single.h); compiled for each instruction set, which SET names
 *
 * To add a pair: a line in one of the two lists of pairs. To add a kind: its two functions for SET
 * below, and lines.
 */
#include "kind/single.h"
#include "hash/one_hash.h"
#include "kind/common/one_key.h"

#ifdef SET_AVX512
#include "simd/avx512_fixed.h"
#define BLOCK_CONTAINS avx512_contains
#define BLOCK_CONTAINS_FEW avx512_contains_lanes
#define FEW_PROBES lanes
#define BLOCK_LACKS avx512_block_lacks
#define LACKS_PROBES avx512_lacks_probes
#define ADD_FEW_UNSHARED avx512_add_few
#elif defined(SET_AVX2)
#include "simd/avx2_block.h"
#define BLOCK_CONTAINS avx2_contains
#define BLOCK_CONTAINS_FEW avx2_contains_few
#define BLOCK_LACKS block_lacks
#elif defined(SET_NEON)
#include "simd/neon_block.h"
#define BLOCK_CONTAINS neon_contains
#define BLOCK_CONTAINS_FEW neon_contains_few
#define BLOCK_LACKS block_lacks
#else
#define BLOCK_CONTAINS block_contains
#define BLOCK_CONTAINS_FEW block_contains
#define BLOCK_LACKS block_lacks
#endif

#ifndef FEW_PROBES
#define FEW_PROBES probes
#endif
#ifndef LACKS_PROBES
#define LACKS_PROBES block_lacks_probes
#define ADD_FEW_UNSHARED add_few_unshared
#endif

#if defined(SET_AVX512) || defined(SET_AVX2)
#include "simd/avx2_split.h"
#define SPLIT_CONTAINS avx2_split_contains
#define SPLIT_LACKS avx2_split_lacks
#elif defined(SET_NEON)
#include "simd/neon_split.h"
#define SPLIT_CONTAINS neon_split_contains
#define SPLIT_LACKS neon_split_lacks
#else
#define SPLIT_CONTAINS split_contains
#define SPLIT_LACKS split_lacks
#endif

/* ---- Keys of 16 bytes ---- */

#define HASH_16_xxh3(one, bytes) xxh3_16((one)->prepared, bytes)
#define HASH_16_xxh3_64(one, bytes) xxh3_64_16((one)->prepared, bytes)

/* ---- Setting bits ---- */

/*
 * Two words of a split block by one compare-and-swap of 128 bits, which takes hardly longer than an
 * atomic OR of one word: 25 ns for a new key instead of 29 (in tests/bench: "split-block add new").
 * Each pair of its words nearly always lacks a bit. Most pairs of a block of eight words lack one
 * bit or none, and there it took longer. Where others change the words meanwhile it is repeated:
 * the bits go from 0 to 1 as ever, and their values before are not needed.
 */
#if defined(__x86_64__) && defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)
typedef unsigned __int128 __attribute__((may_alias)) two_words;

BLM_INLINED void set_two(uint64_t *words, const uint64_t *masks)
{
	uint64_t low = __atomic_load_n(&words[0], __ATOMIC_RELAXED),
		high = __atomic_load_n(&words[1], __ATOMIC_RELAXED);
	two_words mask = (two_words)htole64(masks[1]) << 64 | htole64(masks[0]),
		seen = (two_words)high << 64 | low, found;

	while ((found = __sync_val_compare_and_swap((two_words *)words, seen, seen | mask)) != seen)
		seen = found;
}

BLM_INLINED void set_words(uint64_t *words, const uint64_t *masks, unsigned lacks, bool unshared)
{
	if (unshared) {
		bits_set_words(words, masks, lacks, true);
		return;
	}
	for (unsigned i = 0; i < SPLIT_WORDS; i += 2)
		if (lacks >> i & 3)
			set_two(words + i, masks + i);
}
#define SET_WORDS set_words
#else
#define SET_WORDS bits_set_words
#endif

#ifndef SET_AVX512
BLM_INLINED bool add_few_unshared(uint64_t *block, unsigned probes, const struct blm_hash *hash)
{
	if (BLOCK_CONTAINS_FEW(block, probes, hash))
		return false;
	block_set_few(block, probes, hash, true);
	return true;
}
#endif

/* ---- The kinds, by this set ---- */

BLM_INLINED bool few_asks(const struct blm_one *one, const struct blm_hash *hash)
{
	return blocked_contains(one->data, one->units, one->FEW_PROBES, hash, BLOCK_CONTAINS_FEW);
}

BLM_INLINED bool many_asks(const struct blm_one *one, const struct blm_hash *hash)
{
	return blocked_contains(one->data, one->units, one->probes, hash, BLOCK_CONTAINS);
}

/*
 * A key that is there is asked only: its bits as words take as long again (in tests/bench: "add
 * present").
 */
BLM_INLINED bool few_adds(const struct blm_one *one, const struct blm_hash *hash)
{
	uint64_t *block = (uint64_t *)block_of(one->data, one->units, hash);

	if (one->part->unshared) {
		if (!ADD_FEW_UNSHARED(block, one->probes, hash))
			return false;
	} else {
		if (few_asks(one, hash))
			return false;
		block_set_few(block, one->probes, hash, false);
	}
	mark(one->part, block);
	return true;
}

static bool few_claim(const struct blm_one *one, const struct blm_hash *hash)
{
	uint64_t *block = (uint64_t *)block_of(one->data, one->units, hash),
		word = unfold(hash->lo, hash->hi, 0);
	unsigned lacks;
	bool won;

	if (one->part->unshared)
		return few_adds(one, hash);
	lacks = LACKS_PROBES(block, one->probes, word);
	if (!lacks)
		return false;
	won = block_claim_few(block, one->probes, word, lacks);
	mark(one->part, block);
	return won;
}

BLM_INLINED bool many_adds(const struct blm_one *one, const struct blm_hash *hash)
{
	return !many_asks(one, hash)
		&& blocked_add(one->part, one->units, hash, BLOCK_LACKS);
}

BLM_INLINED bool split_asks(const struct blm_one *one, const struct blm_hash *hash)
{
	return split_block_contains(one->data, one->units, hash, SPLIT_CONTAINS);
}

BLM_INLINED bool split_adds(const struct blm_one *one, const struct blm_hash *hash)
{
	return split_block_add(one->part, one->units, hash, SPLIT_LACKS, SET_WORDS);
}

BLM_INLINED bool classic_asks(const struct blm_one *one, const struct blm_hash *hash)
{
	return classic_contains(one->data, one->units, one->probes, hash);
}

BLM_INLINED bool classic_adds(const struct blm_one *one, const struct blm_hash *hash)
{
	return classic_add(one->part, hash);
}

/* ---- Many at once, by this set ---- */

/*
 * Of AVX-512 alone: where keys are hashed one by one, to hash a batch and then to ask is as fast or
 * faster (in tests/bench: "contains_fixed").
 */
#ifdef SET_AVX512
BLM_INLINED uint64_t ask_some(unsigned bits, const struct blm_one *one, const uint8_t *bytes,
			      size_t width, size_t count)
{
	uint64_t there = 0;

	if (count == AVX512_TOGETHER)
		return avx512_ask_fixed(one->data, one->units, one->probes, bits, one->seed, bytes,
					width);
	for (size_t i = 0; i < count; i++) {
		const struct blm_hash hash = bits == 128
			? xxh3_bytes(bytes + i * width, width, one->seed)
			: xxh3_64_bytes(bytes + i * width, width, one->seed);

		there |= (uint64_t)few_asks(one, &hash) << i;
	}
	return there;
}

BLM_INLINED void ask_fixed(unsigned bits, const struct blm_one *one, const uint8_t *bytes,
			   size_t width, size_t count, uint64_t *ret_bits)
{
	for (size_t at = 0; at < count; at += AVX512_TOGETHER) {
		size_t some = count - at < AVX512_TOGETHER ? count - at : AVX512_TOGETHER;
		const uint8_t *from = bytes + at * width;

		ret_bits[at / AVX512_TOGETHER] = width == 16 ? ask_some(bits, one, from, 16, some)
			: ask_some(bits, one, from, 8, some);
	}
}

static __attribute__((flatten)) void contains_fixed(const struct blm_one *one,
						    const uint8_t *bytes, size_t width,
						    size_t count, uint64_t *ret_bits)
{
	ask_fixed(128, one, bytes, width, count, ret_bits);
}

static __attribute__((flatten)) void contains_fixed_64(const struct blm_one *one,
						       const uint8_t *bytes, size_t width,
						       size_t count, uint64_t *ret_bits)
{
	ask_fixed(64, one, bytes, width, count, ret_bits);
}
#define FIXED contains_fixed
#define FIXED_64 contains_fixed_64
#else
#define FIXED NULL
#define FIXED_64 NULL
#endif

/* ---- The pairs ---- */

/*
 * A name, the kind, what its functions begin with, its claim or NULL, the family, the most probes,
 * the bits of a unit, and its loop over keys of one width, or NULL. The first that fits is taken.
 *
 * The hashes of the first list take a few ns. Keys of 16 bytes come first, and the others are in
 * functions of their own, which the first jump to: so neither the choice of a length nor the calls
 * that hash long keys cost the first ones a register. `flatten`, or GCC would have one copy of a
 * hash for several lengths. The hashes of the second list take longer than that choice.
 */
#define PAIRS_BY_LENGTH(X) \
	X(few_xxh3, blocked, few, few_claim, xxh3, PROBES_A_WORD, BLOCK_BITS, FIXED) \
	X(few_xxh3_64, blocked, few, few_claim, xxh3_64, PROBES_A_WORD, BLOCK_BITS, FIXED_64) \
	X(many_xxh3, blocked, many, NULL, xxh3, BLM_PROBES_MAX, BLOCK_BITS, NULL) \
	X(many_xxh3_64, blocked, many, NULL, xxh3_64, BLM_PROBES_MAX, BLOCK_BITS, NULL) \
	X(split_xxh3, split_block, split, NULL, xxh3, SPLIT_LANES, SPLIT_BITS, NULL) \
	X(split_xxh3_64, split_block, split, NULL, xxh3_64, SPLIT_LANES, SPLIT_BITS, NULL) \
	X(classic_xxh3, classic, classic, NULL, xxh3, BLM_PROBES_MAX, 1, NULL)
#define PAIRS_OF_ANY_LENGTH(X) \
	X(few_siphash, blocked, few, few_claim, siphash, PROBES_A_WORD, BLOCK_BITS, NULL) \
	X(many_siphash, blocked, many, NULL, siphash, BLM_PROBES_MAX, BLOCK_BITS, NULL) \
	X(split_siphash, split_block, split, NULL, siphash, SPLIT_LANES, SPLIT_BITS, NULL) \
	X(split_xxh64, split_block, split, NULL, xxh64, SPLIT_LANES, SPLIT_BITS, NULL) \
	X(classic_siphash, classic, classic, NULL, siphash, BLM_PROBES_MAX, 1, NULL) \
	X(classic_xxh64, classic, classic, NULL, xxh64, BLM_PROBES_MAX, 1, NULL)
#define PAIRS(X) PAIRS_BY_LENGTH(X) PAIRS_OF_ANY_LENGTH(X)

#define FLAT __attribute__((flatten))
#define APART __attribute__((flatten, noinline))

#define BY_LENGTH(name, kind, way, claim, family, most, unit, fixed) \
static APART bool contains_other_##name(const struct blm_one *one, const void *bytes, size_t len) \
{ \
	const struct blm_hash key = family##_one(one->by, one->seed, bytes, len); \
\
	return way##_asks(one, &key); \
} \
\
static FLAT bool contains_##name(const struct blm_one *one, const void *bytes, size_t len) \
{ \
	if (__builtin_expect(len == 16, true)) { \
		const struct blm_hash key = HASH_16_##family(one, bytes); \
\
		return way##_asks(one, &key); \
	} \
	return contains_other_##name(one, bytes, len); \
} \
\
static APART bool ask_other_##name(const struct blm_one *one, const void *bytes, size_t len, \
				   struct blm_hash *ret) \
{ \
	*ret = family##_one(one->by, one->seed, bytes, len); \
	return way##_asks(one, ret); \
} \
\
static FLAT bool ask_##name(const struct blm_one *one, const void *bytes, size_t len, \
			    struct blm_hash *ret) \
{ \
	if (__builtin_expect(len == 16, true)) { \
		*ret = HASH_16_##family(one, bytes); \
		return way##_asks(one, ret); \
	} \
	return ask_other_##name(one, bytes, len, ret); \
} \
\
static APART int add_other_##name(const struct blm_one *one, const void *bytes, size_t len) \
{ \
	const struct blm_hash key = family##_one(one->by, one->seed, bytes, len); \
\
	return way##_adds(one, &key); \
} \
\
static FLAT int add_##name(const struct blm_one *one, const void *bytes, size_t len) \
{ \
	if (__builtin_expect(len == 16, true)) { \
		const struct blm_hash key = HASH_16_##family(one, bytes); \
\
		return way##_adds(one, &key); \
	} \
	return add_other_##name(one, bytes, len); \
}
PAIRS_BY_LENGTH(BY_LENGTH)

#define OF_ANY_LENGTH(name, kind, way, claim, family, most, unit, fixed) \
static FLAT bool contains_##name(const struct blm_one *one, const void *bytes, size_t len) \
{ \
	const struct blm_hash key = family##_one(one->by, one->seed, bytes, len); \
\
	return way##_asks(one, &key); \
} \
\
static FLAT bool ask_##name(const struct blm_one *one, const void *bytes, size_t len, \
			    struct blm_hash *ret) \
{ \
	*ret = family##_one(one->by, one->seed, bytes, len); \
	return way##_asks(one, ret); \
} \
\
static FLAT int add_##name(const struct blm_one *one, const void *bytes, size_t len) \
{ \
	const struct blm_hash key = family##_one(one->by, one->seed, bytes, len); \
\
	return way##_adds(one, &key); \
}
PAIRS_OF_ANY_LENGTH(OF_ANY_LENGTH)

#define BY_HASH(name, kind, way, claim, family, most, unit, fixed) \
static bool contains_hash_##name(const struct blm_one *one, const struct blm_hash *hash) \
{ \
	return way##_asks(one, hash); \
} \
\
static int add_hash_##name(const struct blm_one *one, const struct blm_hash *hash) \
{ \
	return way##_adds(one, hash); \
}
PAIRS(BY_HASH)

#define DECLARE(name, kind, way, claim, family, most, unit, fixed) \
extern const struct blm_kind blm_kind_##kind; \
extern const struct blm_family blm_family_##family;
PAIRS(DECLARE)

#define ENTRY(name, kind, way, claim, family, most, unit, fixed) \
	{ &blm_family_##family, &blm_kind_##kind, most, unit, contains_##name, add_##name, \
	  ask_##name, claim, contains_hash_##name, add_hash_##name, fixed },
static const struct blm_single table[] = { PAIRS(ENTRY) { .kind = NULL } };

#define QUOTED(name) #name
#define NAME_OF(name) QUOTED(name)
#define JOINED(a, b) a##b
#define SINGLE_OF(name) JOINED(blm_single_, name)
extern const struct blm_single_set SINGLE_OF(SET);
const struct blm_single_set SINGLE_OF(SET) = { NAME_OF(SET), table };
