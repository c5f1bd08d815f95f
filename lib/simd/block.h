/*
 * block.h - the bits of a key in a block of 512 (format-spec.md, "Kind 2: blocked")
 *
 * A key has one block, chosen by the high half of its hash, and in it `probes` bits, of 9 bits each: seven to a word that
 * the hash unfolds to, lowest first.
 */
#ifndef BLM_SIMD_BLOCK_H
#define BLM_SIMD_BLOCK_H

#include "base.h"
#include "bloomery.h"

enum { BLOCK_BYTES = 64, BLOCK_BITS = 512, PROBES_A_WORD = 7, PROBE_BITS = 9 };

static inline const uint64_t *block_of(const void *data, uint64_t blocks, const struct blm_hash *hash)
{
	return (const uint64_t *)((const uint8_t *)data + scale(hash->hi, blocks) * BLOCK_BYTES);
}

static inline bool block_contains(const uint64_t *block, unsigned probes, const struct blm_hash *hash)
{
	uint64_t word = 0;

	for (unsigned i = 0; i < probes; i++, word >>= PROBE_BITS) {
		if (i % PROBES_A_WORD == 0)
			word = unfold(hash->lo, hash->hi, i / PROBES_A_WORD);
		if (!(load_relaxed(&block[word / 64 % 8]) >> word % 64 & 1))
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

#endif
