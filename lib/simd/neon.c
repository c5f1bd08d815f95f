/* neon.c - for 64-bit ARM, where words are little-endian in registers as in files */
#include "simd/simd.h"
#include "simd/neon_block.h"
#include "simd/neon_split.h"

#include <arm_neon.h>
#include <sys/auxv.h>

#ifndef HWCAP_ASIMD
#define HWCAP_ASIMD (1 << 1)
#endif

static bool runs_here(void)
{
	return getauxval(AT_HWCAP) & HWCAP_ASIMD;
}

static void or_words(void *dst, const void *src, size_t bytes)
{
	uint64_t *d = dst;
	const uint64_t *s = src;

	for (size_t i = 0; i < bytes / 8; i += 2)
		vst1q_u64(d + i, vorrq_u64(vld1q_u64(d + i), vld1q_u64(s + i)));
}

static void and_words(void *dst, const void *src, size_t bytes)
{
	uint64_t *d = dst;
	const uint64_t *s = src;

	for (size_t i = 0; i < bytes / 8; i += 2)
		vst1q_u64(d + i, vandq_u64(vld1q_u64(d + i), vld1q_u64(s + i)));
}

/* The bits of a 64-byte line of src that dst lacks, ORed into four lanes. */
static inline uint32x4_t line_missing(const uint8_t *dst, const uint8_t *src)
{
	uint8x16_t missing = vdupq_n_u8(0);

	for (int i = 0; i < 64; i += 16)
		missing = vorrq_u8(missing, vbicq_u8(vld1q_u8(src + i), vld1q_u8(dst + i)));
	return vreinterpretq_u32_u8(missing);
}

static size_t next_missing(const void *dst, const void *src, size_t from, size_t bytes)
{
	for (size_t at = from & ~(size_t)63; at < bytes; at += 64)
		if (vmaxvq_u32(line_missing((const uint8_t *)dst + at, (const uint8_t *)src + at)))
			return at;
	return bytes;
}

/* ---- Counting: ones in bytes, at most 32 in a byte of four added up, then in wider lanes ---- */

static inline uint8x16_t line_ones(const uint8_t *line)
{
	return vaddq_u8(vaddq_u8(vcntq_u8(vld1q_u8(line)), vcntq_u8(vld1q_u8(line + 16))),
			vaddq_u8(vcntq_u8(vld1q_u8(line + 32)), vcntq_u8(vld1q_u8(line + 48))));
}

static inline uint64x2_t add_up(uint64x2_t sum, uint8x16_t ones)
{
	return vpadalq_u32(sum, vpaddlq_u16(vpaddlq_u8(ones)));
}

static uint64_t count_ones(const void *data, size_t bytes)
{
	uint64x2_t sum = vdupq_n_u64(0);

	for (size_t at = 0; at < bytes; at += 64)
		sum = add_up(sum, line_ones((const uint8_t *)data + at));
	return vaddvq_u64(sum);
}

static uint64_t count_common(const void *a, const void *b, size_t bytes)
{
	const uint8_t *x = a, *y = b;
	uint64x2_t sum = vdupq_n_u64(0);

	for (size_t at = 0; at < bytes; at += 64) {
		uint8x16_t ones = vdupq_n_u8(0);

		for (size_t i = at; i < at + 64; i += 16)
			ones = vaddq_u8(ones, vcntq_u8(vandq_u8(vld1q_u8(x + i),
								vld1q_u8(y + i))));
		sum = add_up(sum, ones);
	}
	return vaddvq_u64(sum);
}

static void count_blocks(const void *data, size_t bytes, uint64_t histogram[513])
{
	for (size_t at = 0; at < bytes; at += 64)
		histogram[vaddlvq_u8(line_ones((const uint8_t *)data + at))]++;
}

/* ---- Blocks ---- */

static void blocks_contain(const struct blm_block_keys *keys, uint64_t *ret_bits)
{
	if (keys->probes <= PROBES_A_WORD)
		blocks_each(keys, ret_bits, block_of, neon_contains_few);
	else
		blocks_each(keys, ret_bits, block_of, neon_contains);
}

static size_t blocks_missing(const struct blm_block_keys *keys, size_t from,
			     struct blm_missing *ret)
{
	if (keys->probes <= PROBES_A_WORD)
		return blocks_missing_each(keys, from, ret, neon_contains_few, block_missing);
	return blocks_missing_each(keys, from, ret, neon_contains, block_missing);
}

static bool block_contains_here(const uint64_t *block, unsigned probes, const struct blm_hash *hash)
{
	return probes <= PROBES_A_WORD ? neon_contains_few(block, probes, hash)
		: neon_contains(block, probes, hash);
}

/* ---- Split blocks ---- */

static void split_blocks_contain(const struct blm_block_keys *keys, uint64_t *ret_bits)
{
	blocks_each(keys, ret_bits, split_of, neon_split_contains);
}

static inline bool split_set(uint64_t *block, uint64_t lo)
{
	uint32_t *lanes = (uint32_t *)block;
	uint32x4x2_t bits = neon_split_bits(lo), missing = neon_split_missing(block, bits);

	vst1q_u32(lanes, vorrq_u32(vld1q_u32(lanes), bits.val[0]));
	vst1q_u32(lanes + 4, vorrq_u32(vld1q_u32(lanes + 4), bits.val[1]));
	return vmaxvq_u32(vorrq_u32(missing.val[0], missing.val[1])) != 0;
}

static void split_blocks_set(void *data, uint64_t blocks, const uint64_t *los, size_t count,
			     uint64_t *ret_bits)
{
	split_each_set(data, blocks, los, count, ret_bits, split_set);
}

/* As count_split_blocks(), the ones of four lanes at once. */
static uint64_t count_split_blocks_here(const void *data, size_t bytes, uint64_t histogram[513])
{
	uint64_t sum = 0;

	for (size_t at = 0; at < bytes; at += SPLIT_BYTES) {
		const uint8_t *block = (const uint8_t *)data + at;
		uint32x4_t a = vpaddlq_u16(vpaddlq_u8(vcntq_u8(vld1q_u8(block)))),
			b = vpaddlq_u16(vpaddlq_u8(vcntq_u8(vld1q_u8(block + 16)))),
			products = vmulq_u32(a, b);
		uint64x2_t pairs = vmull_u32(vget_low_u32(products), vget_high_u32(products));

		histogram[2 * vaddvq_u32(vaddq_u32(a, b))]++;
		sum += vgetq_lane_u64(pairs, 0) * vgetq_lane_u64(pairs, 1);
	}
	return sum;
}

const struct blm_simd blm_simd_neon = {
	.name = "neon",
	BLM_SIMD_LOOPS,
	.blocks_missing = blocks_missing,
	.block_contains = block_contains_here,
	.split_blocks_contain = split_blocks_contain,
	.split_block_contains = neon_split_contains,
	.split_block_lacks = neon_split_lacks,
	.split_blocks_set = split_blocks_set,
	.count_split_blocks = count_split_blocks_here,
};
