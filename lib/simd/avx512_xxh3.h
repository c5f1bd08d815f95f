/*
 * avx512_xxh3.h - XXH3 of eight keys at once, of 128 bits and of 64, by AVX-512 (xxHash,
 * doc/xxhash_spec.md, "XXH3": inputs of 4 to 8 and of 9 to 16 bytes)
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

/* Of 9 to 16 bytes, 64 bits. */
static inline eight hash_ends_64(eight first, eight last, eight lengths, uint64_t seed)
{
	eight high, low;

	first ^= all(SECRET_24_32 + seed);
	last ^= all(SECRET_40_48 - seed);
	low = times(first, last, &high);
	return avalanche(lengths + swap_bytes(first) + last + (low ^ high));
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

/* Of 4 to 8 bytes, 64 bits. */
static inline eight hash_short_64(eight bytes, eight lengths, uint64_t seed)
{
	uint64_t turned = seed ^ (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
	eight x = rotate(bytes, 32) ^ all(SECRET_8_16 - turned);

	x = (x ^ rotate(x, 49) ^ rotate(x, 24)) * all(PRIME_MX2);
	return xorshift((x ^ ((x >> 35) + lengths)) * all(PRIME_MX2), 28);
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
 * The same by `bits`, which is a constant where these are inlined: 128, or 64, which are both
 * halves.
 */
static inline __attribute__((always_inline)) eight
hash_ends_by(unsigned bits, eight first, eight last, eight lengths, uint64_t seed, eight *ret_high)
{
	if (bits == 128)
		return hash_ends(first, last, lengths, seed, ret_high);
	return *ret_high = hash_ends_64(first, last, lengths, seed);
}

static inline __attribute__((always_inline)) eight
hash_short_by(unsigned bits, eight bytes, eight lengths, uint64_t seed, eight *ret_high)
{
	if (bits == 128)
		return hash_short(bytes, lengths, seed, ret_high);
	return *ret_high = hash_short_64(bytes, lengths, seed);
}

/*
 * Eight keys, all of 9 to 16 bytes or all of 4 to 8; false, and nothing is done, where they are
 * not.
 */
static inline __attribute__((always_inline)) bool
hash_eight(unsigned bits, const struct blm_key *keys, eight lengths, uint64_t seed,
	   struct blm_hash *ret)
{
	eight low, high, last, first;

	if (all_within(lengths, 9, 16)) {
		first = load_ends(keys, lengths, &last);
		low = hash_ends_by(bits, first, last, lengths, seed, &high);
	} else if (all_within(lengths, 4, 8)) {
		low = hash_short_by(bits, load_short(keys), lengths, seed, &high);
	} else {
		return false;
	}
	store_hashes(low, high, ret);
	return true;
}

#endif
