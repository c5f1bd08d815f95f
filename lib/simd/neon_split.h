/* neon_split.h - one key in a split block, by NEON: four lanes at once, twice */
#ifndef BLM_SIMD_NEON_SPLIT_H
#define BLM_SIMD_NEON_SPLIT_H

#include "simd/split_block.h"

#include <arm_neon.h>

/* The bits of lanes 0 to 3, then of lanes 4 to 7. */
static inline uint32x4x2_t neon_split_bits(uint64_t lo)
{
	static const uint32_t salts[SPLIT_LANES] = { SPLIT_SALTS };
	uint32x4_t x = vdupq_n_u32((uint32_t)lo), one = vdupq_n_u32(1);
	uint32x4_t a = vshrq_n_u32(vmulq_u32(x, vld1q_u32(salts)), 27),
		b = vshrq_n_u32(vmulq_u32(x, vld1q_u32(salts + 4)), 27);

	return (uint32x4x2_t){ { vshlq_u32(one, vreinterpretq_s32_u32(a)),
				 vshlq_u32(one, vreinterpretq_s32_u32(b)) } };
}

/* Those of the bits that the block lacks. */
static inline uint32x4x2_t neon_split_missing(const uint64_t *block, uint32x4x2_t bits)
{
	const uint32_t *lanes = (const uint32_t *)block;

	return (uint32x4x2_t){ { vbicq_u32(bits.val[0], vld1q_u32(lanes)),
				 vbicq_u32(bits.val[1], vld1q_u32(lanes + 4)) } };
}

static inline bool neon_split_contains(const uint64_t *block, unsigned probes,
				       const struct blm_hash *hash)
{
	uint32x4x2_t missing = neon_split_missing(block, neon_split_bits(hash->lo));

	return !vmaxvq_u32(vorrq_u32(missing.val[0], missing.val[1]));
}

static inline unsigned neon_split_lacks(const uint64_t *block, uint64_t lo,
					uint64_t ret_mask[SPLIT_WORDS])
{
	uint32x4x2_t bits = neon_split_bits(lo), missing = neon_split_missing(block, bits);
	uint64x2_t a = vreinterpretq_u64_u32(missing.val[0]),
		b = vreinterpretq_u64_u32(missing.val[1]);

	vst1q_u64(ret_mask, vreinterpretq_u64_u32(bits.val[0]));
	vst1q_u64(ret_mask + 2, vreinterpretq_u64_u32(bits.val[1]));
	return (unsigned)(vgetq_lane_u64(a, 0) != 0) | (unsigned)(vgetq_lane_u64(a, 1) != 0) << 1
		| (unsigned)(vgetq_lane_u64(b, 0) != 0) << 2
		| (unsigned)(vgetq_lane_u64(b, 1) != 0) << 3;
}

#endif
