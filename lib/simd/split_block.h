/*
 * split_block.h - the bits of a key in a split block (format-spec.md, "Kind 3: split-block")
 *
 * A block is eight lanes of 32 bits, lane i being half i % 2 of word i / 2, the low half first. A
 * key works from 64 bits, `lo`: the upper half chooses the block, the lower half, times an odd
 * number of each lane's own, one bit in each lane.
 */
#ifndef BLM_SIMD_SPLIT_H
#define BLM_SIMD_SPLIT_H

#include "simd/block.h"

enum { SPLIT_BYTES = 32, SPLIT_BITS = 256, SPLIT_LANES = 8, SPLIT_WORDS = 4, LANE_BITS = 32 };

/* Up to this number, blocks have numbers of 32 bits, and the product below fits. */
#define SPLIT_BLOCKS_MAX ((UINT64_C(1) << 31) - 1)

#define SPLIT_SALTS 0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, \
		    0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31

static inline uint64_t split_number(uint64_t lo, uint64_t blocks)
{
	return (lo >> 32) * blocks >> 32;
}

static inline const uint64_t *split_of(const void *data, uint64_t blocks,
				       const struct blm_hash *hash)
{
	return (const uint64_t *)((const uint8_t *)data + split_number(hash->lo, blocks)
				  * SPLIT_BYTES);
}

static inline uint64_t split_word_mask(uint64_t lo, int i)
{
	static const uint32_t salt[SPLIT_LANES] = { SPLIT_SALTS };
	uint32_t x = (uint32_t)lo;

	return UINT64_C(1) << (x * salt[2 * i] >> 27)
		| UINT64_C(1) << (LANE_BITS + (x * salt[2 * i + 1] >> 27));
}

static inline void split_mask(uint64_t ret[SPLIT_WORDS], uint64_t lo)
{
	for (int i = 0; i < SPLIT_WORDS; i++)
		ret[i] = split_word_mask(lo, i);
}

static inline bool split_contains(const uint64_t *block, unsigned probes,
				  const struct blm_hash *hash)
{
	uint64_t missing = 0;

	/* an absent key nearly always lacks a bit in the first half: a branch for each half */
	for (int i = 0; i < SPLIT_WORDS / 2; i++)
		missing |= split_word_mask(hash->lo, i) & ~load_relaxed(&block[i]);
	if (missing)
		return false;
	for (int i = SPLIT_WORDS / 2; i < SPLIT_WORDS; i++)
		missing |= split_word_mask(hash->lo, i) & ~load_relaxed(&block[i]);
	return !missing;
}

static inline unsigned split_lacks(const uint64_t *block, uint64_t lo,
				   uint64_t ret_mask[SPLIT_WORDS])
{
	unsigned lacks = 0;

	split_mask(ret_mask, lo);
	for (unsigned i = 0; i < SPLIT_WORDS; i++)
		lacks |= (unsigned)((ret_mask[i] & ~load_acquire(&block[i])) != 0) << i;
	return lacks;
}

/* split_blocks_set() of an instruction set whose way to set one is `set`, which is inlined here. */
static inline __attribute__((always_inline)) void
split_each_set(void *data, uint64_t blocks, const uint64_t *los, size_t count, uint64_t *ret_bits,
	       bool (*set)(uint64_t *block, uint64_t lo))
{
	enum { AHEAD = 16 };
	uint8_t *bytes = data;

	memset(ret_bits, 0, (count + 63) / 64 * sizeof(*ret_bits));
	for (size_t i = 0; i < count; i++) {
		if (i + AHEAD < count)
			__builtin_prefetch(bytes + split_number(los[i + AHEAD], blocks)
					   * SPLIT_BYTES, 1);
		ret_bits[i / 64] |= (uint64_t)set((uint64_t *)(bytes + split_number(los[i], blocks)
							       * SPLIT_BYTES), los[i]) << i % 64;
	}
}

/*
 * Others may change it at the same time. Loops with vector instructions load several words at once.
 */
static inline uint32_t lane_at(const uint32_t *lanes, size_t i)
{
#ifdef __AVX512VPOPCNTDQ__
	return lanes[i];
#else
	return __atomic_load_n(&lanes[i], __ATOMIC_RELAXED);
#endif
}

/*
 * The histogram in 512ths of a block, as for blocks of 512 bits; returns the sum of the products:
 * at most 2^40 a block.
 */
static inline uint64_t count_split_blocks(const void *data, size_t bytes, uint64_t histogram[513])
{
	const uint32_t *lanes = data;
	uint64_t sum = 0;

	for (size_t i = 0; i < bytes / 4; i += SPLIT_LANES) {
		uint64_t product = 1;
		unsigned ones = 0;

		for (int j = 0; j < SPLIT_LANES; j++) {
			unsigned x = (unsigned)__builtin_popcount(lane_at(lanes, i + (size_t)j));

			product *= x;
			ones += x;
		}
		histogram[2 * ones]++;
		sum += product;
	}
	return sum;
}

#endif
