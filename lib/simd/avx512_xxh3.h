/*
 * avx512_xxh3.h - XXH3-128 of eight keys at once, by AVX-512 (xxHash, doc/xxhash_spec.md, "XXH3":
 * inputs of 4 to 8 and of 9 to 16 bytes)
 *
 * A key by itself is some 40 instructions that wait for each other's products, half of a question
 * to a block; one of eight, seven or so. Longer keys are left to xxHash. By AVX2, whose products
 * are of 32 bits and four at once, it takes as long as one by one.
 */
#ifndef BLM_SIMD_XXH3_H
#define BLM_SIMD_XXH3_H

#include "simd/avx512_lanes.h"
#include "simd/simd.h"
#include "simd/xxh3_constants.h"

static inline eight xorshift(eight x, int shift)
{
	return x ^ x >> shift;
}

static inline eight avalanche(eight x)
{
	return xorshift(xorshift(x, 37) * all(PRIME_MX1), 32);
}

/* Of 9 to 16 bytes. */
static inline eight hash_ends(eight first, eight last, eight lengths, uint64_t seed,
			      eight *ret_high)
{
	eight high, low = times(first ^ last ^ all(SECRET_32_40 - seed), all(PRIME64_1), &high),
		top;

	low += (lengths - all(1)) << 54;
	last ^= all(SECRET_48_56 + seed);
	high += last + times32(last, all(PRIME32_2 - 1));
	low = times(low ^ swap_bytes(high), all(PRIME64_2), &top);
	*ret_high = avalanche(top + high * all(PRIME64_2));
	return avalanche(low);
}

/* Of 4 to 8 bytes. */
static inline eight hash_short(eight bytes, eight lengths, uint64_t seed, eight *ret_high)
{
	uint64_t turned = seed ^ (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
	eight high, low = times(bytes ^ all(SECRET_16_24 + turned), all(PRIME64_1) + (lengths << 2),
				&high);

	high += low << 1;
	low ^= high >> 3;
	*ret_high = avalanche(high);
	return xorshift(xorshift(low, 35) * all(PRIME_MX2), 28);
}

/*
 * Eight keys, all of 9 to 16 bytes or all of 4 to 8; false, and nothing is done, where they are
 * not.
 */
static inline bool hash_eight(const struct blm_key *keys, eight lengths, uint64_t seed,
			      struct blm_hash *ret)
{
	eight low, high, last, first;

	if (all_within(lengths, 9, 16)) {
		first = load_ends(keys, lengths, &last);
		low = hash_ends(first, last, lengths, seed, &high);
	} else if (all_within(lengths, 4, 8)) {
		low = hash_short(load_short(keys), lengths, seed, &high);
	} else {
		return false;
	}
	store_hashes(low, high, ret);
	return true;
}

#endif
