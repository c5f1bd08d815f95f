/* neon_block.h - one question to a block of 512 bits, by NEON */
#ifndef BLM_SIMD_NEON_BLOCK_H
#define BLM_SIMD_NEON_BLOCK_H

#include "simd/block.h"

#include <arm_neon.h>

/* A block as a table of 64 bytes, in which one instruction looks up eight bytes. */
static inline uint8x16x4_t neon_load_block(const uint64_t *block)
{
	const uint8_t *bytes = (const uint8_t *)block;

	return (uint8x16x4_t){ { vld1q_u8(bytes), vld1q_u8(bytes + 16), vld1q_u8(bytes + 32),
				 vld1q_u8(bytes + 48) } };
}

/* Lane i has probe i in its lowest 9 bits, and some of the next one's above them. */
static inline uint16x8_t neon_probes(uint64_t probes_of_word)
{
	static const int64_t down[8] = { 0, -9, -18, -27, -36, -45, -54, -63 };
	uint64x2_t word = vdupq_n_u64(probes_of_word);
	uint32x4_t low = vuzp1q_u32(
		vreinterpretq_u32_u64(vshlq_u64(word, vld1q_s64(down))),
		vreinterpretq_u32_u64(vshlq_u64(word, vld1q_s64(down + 2))));
	uint32x4_t high = vuzp1q_u32(
		vreinterpretq_u32_u64(vshlq_u64(word, vld1q_s64(down + 4))),
		vreinterpretq_u32_u64(vshlq_u64(word, vld1q_s64(down + 6))));

	return vuzp1q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high));
}

/*
 * Seven probes at a time: a probe's upper six bits choose one of the block's 64 bytes, its lower
 * three the bit. `left`: how many of them count, at most seven.
 */
static inline bool neon_word_contains(uint8x16x4_t block, uint64_t probes_of_word, unsigned left)
{
	static const uint8_t number[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	uint16x8_t probes = neon_probes(probes_of_word);
	uint8x8_t byte = vand_u8(vshrn_n_u16(probes, 3), vdup_n_u8(63)),
		shift = vand_u8(vmovn_u16(probes), vdup_n_u8(7)),
		bit = vshl_u8(vdup_n_u8(1), vreinterpret_s8_u8(shift)),
		wanted = vand_u8(bit, vclt_u8(vld1_u8(number), vdup_n_u8((uint8_t)(left
			< PROBES_A_WORD ? left : PROBES_A_WORD)))),
		missing = vbic_u8(wanted, vqtbl4_u8(block, byte));

	return !vget_lane_u64(vreinterpret_u64_u8(missing), 0);
}

/* ... where one word has all probes. */
static inline bool neon_contains_few(const uint64_t *block, unsigned probes,
				     const struct blm_hash *hash)
{
	return neon_word_contains(neon_load_block(block), unfold(hash->lo, hash->hi, 0), probes);
}

static inline bool neon_contains(const uint64_t *block, unsigned probes,
				 const struct blm_hash *hash)
{
	uint8x16x4_t bytes = neon_load_block(block);

	for (unsigned i = 0; i < probes; i += PROBES_A_WORD)
		if (!neon_word_contains(bytes, unfold(hash->lo, hash->hi, i / PROBES_A_WORD),
					probes - i))
			return false;
	return true;
}

#endif
