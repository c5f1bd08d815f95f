/*
 * murmur3_x64.h - MurmurHash3 for x64, 128 bits, with a seed of 32 bits
 *
 * By A. Appleby, 2011, as SMHasher has it; any length of key. For the families that are made of it.
 */
#ifndef BLM_HASH_MURMUR3_X64_H
#define BLM_HASH_MURMUR3_X64_H

#include "base/base.h"
#include "bloomery.h"

static inline uint64_t murmur3_rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static inline uint64_t murmur3_word(const uint8_t *bytes, size_t len)	/* of up to 8 bytes */
{
	uint64_t word = 0;

	memcpy(&word, bytes, len);
	return le64toh(word);
}

static inline uint64_t murmur3_mix_lo(uint64_t k)
{
	return murmur3_rotate(k * UINT64_C(0x87c37b91114253d5), 31) * UINT64_C(0x4cf5ad432745937f);
}

static inline uint64_t murmur3_mix_hi(uint64_t k)
{
	return murmur3_rotate(k * UINT64_C(0x4cf5ad432745937f), 33) * UINT64_C(0x87c37b91114253d5);
}

static inline uint64_t murmur3_avalanche(uint64_t h)
{
	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

static inline void murmur3_block(struct blm_hash *h, const uint8_t bytes[16])
{
	h->lo = (murmur3_rotate(h->lo ^ murmur3_mix_lo(murmur3_word(bytes, 8)), 27) + h->hi) * 5
		+ 0x52dce729;
	h->hi = (murmur3_rotate(h->hi ^ murmur3_mix_hi(murmur3_word(bytes + 8, 8)), 31) + h->lo) * 5
		+ 0x38495ab5;
}

/* less than a block is left */
static inline struct blm_hash murmur3_end(struct blm_hash h, const uint8_t *bytes, size_t rest,
					  uint64_t len)
{
	if (rest > 8)		/* mixed, nothing is 0 */
		h.hi ^= murmur3_mix_hi(murmur3_word(bytes + 8, rest - 8));
	if (rest)
		h.lo ^= murmur3_mix_lo(murmur3_word(bytes, rest < 8 ? rest : 8));
	h.lo ^= len;
	h.hi ^= len;
	h.lo += h.hi;
	h.hi += h.lo;
	h.lo = murmur3_avalanche(h.lo);
	h.hi = murmur3_avalanche(h.hi);
	h.lo += h.hi;
	h.hi += h.lo;
	return h;
}

static inline struct blm_hash murmur3_x64_128(const void *key, size_t len, uint32_t seed)
{
	const uint8_t *bytes = key;
	struct blm_hash h = { seed, seed };
	size_t rest = len;

	for (; rest >= 16; bytes += 16, rest -= 16)
		murmur3_block(&h, bytes);
	return murmur3_end(h, bytes, rest, len);
}

#endif
