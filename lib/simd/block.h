/*
 * block.h - the bits of a key in a block of 512 (format-spec.md, "Kind 2: blocked")
 *
 * A key has one block, chosen by the high half of its hash, and in it `probes` bits, of 9 bits
 * each: seven to a word that the hash unfolds to, lowest first.
 */
#ifndef BLM_SIMD_BLOCK_H
#define BLM_SIMD_BLOCK_H

#include "base/base.h"
#include "bloomery.h"
#include "simd/simd.h"

enum { BLOCK_BYTES = 64, BLOCK_BITS = 512, BLOCK_SHIFT = 9, PROBES_A_WORD = 7, PROBE_BITS = 9 };

static inline const uint64_t *block_of(const void *data, uint64_t blocks,
				       const struct blm_hash *hash)
{
	return (const uint64_t *)((const uint8_t *)data + scale(hash->hi, blocks) * BLOCK_BYTES);
}

static inline uint64_t block_bit(const uint64_t *block, uint64_t probe)	/* the lowest bit is it */
{
	return load_relaxed(&block[probe / 64 % 8]) >> probe % 64;
}

/*
 * All seven probes of a word are looked at, whatever the first ones say: to leave as soon as one
 * misses is a branch that no processor can predict, and costs more than the probes that it saves.
 * Nor is there a branch for each probe: the switch goes the same way for every key of a filter.
 */
static inline bool block_contains(const uint64_t *block, unsigned probes,
				  const struct blm_hash *hash)
{
	for (unsigned i = 0; i < probes; i += PROBES_A_WORD) {
		uint64_t word = unfold(hash->lo, hash->hi, i / PROBES_A_WORD),
			all = block_bit(block, word);

		switch (probes - i) {
		default: all &= block_bit(block, word >> 6 * PROBE_BITS);
			__attribute__((fallthrough));
		case 6: all &= block_bit(block, word >> 5 * PROBE_BITS);
			__attribute__((fallthrough));
		case 5: all &= block_bit(block, word >> 4 * PROBE_BITS);
			__attribute__((fallthrough));
		case 4: all &= block_bit(block, word >> 3 * PROBE_BITS);
			__attribute__((fallthrough));
		case 3: all &= block_bit(block, word >> 2 * PROBE_BITS);
			__attribute__((fallthrough));
		case 2: all &= block_bit(block, word >> 1 * PROBE_BITS);
			__attribute__((fallthrough));
		case 1: break;
		}
		if (!(all & 1))
			return false;
	}
	return true;
}

/* The same bits as a mask of 8 words. */
static inline void block_mask(uint64_t ret[8], unsigned probes, const struct blm_hash *hash)
{
	uint64_t word = 0;

	memset(ret, 0, BLOCK_BYTES);
	for (unsigned i = 0; i < probes; i++, word >>= PROBE_BITS) {
		if (i % PROBES_A_WORD == 0)
			word = unfold(hash->lo, hash->hi, i / PROBES_A_WORD);
		ret[word / 64 % 8] |= UINT64_C(1) << word % 64;
	}
}

/* ... and, as a set of bits, the words of the block that lack some of them. */
static inline unsigned block_lacks(const uint64_t *block, unsigned probes,
				   const struct blm_hash *hash, uint64_t ret_mask[8])
{
	unsigned lacks = 0;

	block_mask(ret_mask, probes, hash);
	for (unsigned i = 0; i < 8; i++)
		lacks |= (unsigned)((ret_mask[i] & ~load_acquire(&block[i])) != 0) << i;
	return lacks;
}

/*
 * The same for a key whose probes are all in one word: bit i of the answer says that the block
 * lacks the bit of probe i.
 */
static inline unsigned block_lacks_probes(const uint64_t *block, unsigned probes, uint64_t word)
{
	unsigned lacks = 0;

	for (unsigned i = 0; i < probes; i++, word >>= PROBE_BITS)
		lacks |= (unsigned)(~load_acquire(&block[word / 64 % 8]) >> word % 64 & 1) << i;
	return lacks;
}

typedef const uint64_t *blm_block_of(const void *data, uint64_t blocks,
				     const struct blm_hash *hash);

/*
 * Into the second cache, not the first: a core can wait for few lines of the first at once, on some
 * processors for many more of the second (in tests/bench: "read", by the best of both, compared
 * with "read, into the first cache").
 */
static inline __attribute__((always_inline)) void block_prefetch(const struct blm_block_keys *k,
	size_t i, blm_block_of *of)
{
	__builtin_prefetch(of(k->data, k->blocks, &k->next[i]), 0, 2);
}

/*
 * blocks_contain() of an instruction set: `contains` asks one block, and `of` finds it; both are
 * inlined here.
 *
 * The memory of key i of the next batch is prefetched just before key i of this batch is asked, so
 * that lines arrive during hashing and asking. If a batch were prefetched first and asked
 * afterwards, the memory would be idle half of the time.
 */
static inline __attribute__((always_inline)) void
blocks_each(const struct blm_block_keys *k, uint64_t *ret_bits, blm_block_of *of,
	    bool (*contains)(const uint64_t *block, unsigned probes, const struct blm_hash *hash))
{
	const struct blm_block_keys keys = *k;

	for (size_t at = 0; at < keys.count; at += 64) {
		size_t count = keys.count - at < 64 ? keys.count - at : 64;
		uint64_t bits = 0;

		for (size_t i = 0; i < count; i++) {
			const struct blm_hash *hash = &keys.hashes[at + i];

			if (at + i < keys.next_count)
				block_prefetch(&keys, at + i, of);
			bits |= (uint64_t)contains(of(keys.data, keys.blocks, hash), keys.probes,
						   hash) << i;
		}
		ret_bits[at / 64] = bits;
	}
	for (size_t i = keys.count; i < keys.next_count; i++)
		block_prefetch(&keys, i, of);
}

/*
 * blocks_missing() does the same. missing() writes the bits of one key, `first` being that key's
 * bit 0, and returns how many; keys that are there are spared it (in tests/bench: "add_many
 * present", compared with "contains_many present").
 */
static inline __attribute__((always_inline)) size_t
blocks_missing_each(const struct blm_block_keys *k, size_t from, struct blm_missing *ret,
		    bool (*contains)(const uint64_t *block, unsigned probes,
				     const struct blm_hash *hash),
		    size_t (*missing)(uint64_t *block, unsigned probes, const struct blm_hash *hash,
				      uint64_t first,
				      uint64_t **ret_words, uint64_t *ret_which))
{
	const struct blm_block_keys keys = *k;
	size_t whole = from / 64 * 64 + 64, to = keys.count < whole ? keys.count
		: whole, count = 0, i;

	for (i = from; i < to && count + keys.probes <= BLM_MISSING_MAX; i++) {
		const struct blm_hash *hash = &keys.hashes[i];
		uint64_t *block = (uint64_t *)block_of(keys.data, keys.blocks, hash);

		if (i < keys.next_count)
			block_prefetch(&keys, i, block_of);
		if (!contains(block, keys.probes, hash))
			count += missing(block, keys.probes, hash, (i - from) * 64,
					 ret->word + count, ret->which + count);
	}
	if (i == keys.count)
		for (size_t j = i; j < keys.next_count; j++)
			block_prefetch(&keys, j, block_of);
	ret->count = count;
	return i;
}

/* Without a branch for each probe: the next probe overwrites one that is not missing. */
static inline size_t block_missing(uint64_t *block, unsigned probes, const struct blm_hash *hash,
				   uint64_t first,
				   uint64_t **ret_words, uint64_t *ret_which)
{
	uint64_t word = 0;
	size_t count = 0;

	for (unsigned i = 0; i < probes; i++, word >>= PROBE_BITS) {
		if (i % PROBES_A_WORD == 0)
			word = unfold(hash->lo, hash->hi, i / PROBES_A_WORD);
		ret_words[count] = &block[word / 64 % 8];
		ret_which[count] = first + word % 64;
		count += ~block_bit(block, word) & 1;
	}
	return count;
}

#endif
