/*
 * one_hash.h - the families that most filters have, of one key: inlined by those who do more with
 * the hash at once (kind/single.c)
 *
 * XXH3 of a length that is known, or known to be small, is a tenth of its code, and the less there
 * is to choose from, the sooner it is done. So short keys are hashed here, and all others by calls.
 */
#ifndef BLM_HASH_ONE_HASH_H
#define BLM_HASH_ONE_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hash/hasher.h"
#include "simd/xxh3_constants.h"

#define BLM_HASHES_ONE static inline __attribute__((always_inline)) struct blm_hash

/* xxh3.c, xxh3_64.c, siphash.c, xxh64.c: any length */
struct blm_hash blm_xxh3_any(const void *bytes, size_t len, uint64_t seed);
void blm_siphash_any(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret);
struct blm_hash blm_xxh3_64_any(const void *bytes, size_t len, uint64_t seed);
uint64_t blm_xxh64_any(const void *bytes, size_t len);

BLM_HASHES_ONE xxh3_bytes(const void *bytes, size_t len, uint64_t seed)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(bytes, len, seed);

	return (struct blm_hash){ .lo = h.low64, .hi = h.high64 };
}

/*
 * XXH3 of 16 bytes (xxHash, doc/xxhash_spec.md, "XXH3": inputs of 9 to 16 bytes), where the seed
 * went into two words beforehand.
 */
static inline void xxh3_prepare(uint64_t seed, uint64_t ret[2])
{
	ret[0] = SECRET_32_40 - seed;
	ret[1] = SECRET_48_56 + seed;
}

static inline uint64_t xxh3_avalanche(uint64_t x)
{
	x = (x ^ x >> 37) * PRIME_MX1;
	return x ^ x >> 32;
}

BLM_HASHES_ONE xxh3_16(const uint64_t prepared[2], const void *bytes)
{
	uint64_t half[2], first, last, high;
	unsigned __int128 p;

	memcpy(half, bytes, 16);
	first = le64toh(half[0]);
	last = le64toh(half[1]);
	p = (unsigned __int128)(first ^ last ^ prepared[0]) * PRIME64_1;
	last ^= prepared[1];
	high = (uint64_t)(p >> 64) + last + (uint32_t)last * (PRIME32_2 - 1);
	p = (unsigned __int128)(((uint64_t)p + (UINT64_C(15) << 54)) ^ __builtin_bswap64(high))
		* PRIME64_2;
	return (struct blm_hash){
		.lo = xxh3_avalanche((uint64_t)p),
		.hi = xxh3_avalanche((uint64_t)(p >> 64) + high * PRIME64_2),
	};
}

typedef struct blm_hash xxh3_of(const void *bytes, size_t len, uint64_t seed);

/* of: inlined for the lengths that most keys have; any: a call for the others */
BLM_HASHES_ONE xxh3_by_length(xxh3_of *of, xxh3_of *any, const void *bytes, size_t len,
			      uint64_t seed)
{
	if (len == 8)
		return of(bytes, 8, seed);
	if (len == 32)
		return of(bytes, 32, seed);
	if (len >= 9 && len <= 16)
		return of(bytes, len, seed);
	if (len == 4)
		return of(bytes, 4, seed);
	return any(bytes, len, seed);
}

/* seed: the hasher's first */
BLM_HASHES_ONE xxh3_one(const struct blm_hasher *by, uint64_t seed, const void *bytes, size_t len)
{
	return xxh3_by_length(xxh3_bytes, blm_xxh3_any, bytes, len, seed);
}

/* ---- XXH3 of 64 bits, in both halves ---- */

BLM_HASHES_ONE xxh3_64_bytes(const void *bytes, size_t len, uint64_t seed)
{
	uint64_t h = XXH3_64bits_withSeed(bytes, len, seed);

	return (struct blm_hash){ .lo = h, .hi = h };
}

static inline void xxh3_64_prepare(uint64_t seed, uint64_t ret[2])
{
	ret[0] = SECRET_24_32 + seed;
	ret[1] = SECRET_40_48 - seed;
}

BLM_HASHES_ONE xxh3_64_16(const uint64_t prepared[2], const void *bytes)
{
	uint64_t half[2], first, last, h;
	unsigned __int128 p;

	memcpy(half, bytes, 16);
	first = le64toh(half[0]) ^ prepared[0];
	last = le64toh(half[1]) ^ prepared[1];
	p = (unsigned __int128)first * last;
	h = xxh3_avalanche(16 + __builtin_bswap64(first) + last
			   + ((uint64_t)p ^ (uint64_t)(p >> 64)));
	return (struct blm_hash){ .lo = h, .hi = h };
}

BLM_HASHES_ONE xxh3_64_one(const struct blm_hasher *by, uint64_t seed, const void *bytes,
			   size_t len)
{
	return xxh3_by_length(xxh3_64_bytes, blm_xxh3_64_any, bytes, len, seed);
}

BLM_HASHES_ONE siphash_one(const struct blm_hasher *by, uint64_t seed, const void *bytes,
			   size_t len)
{
	const struct blm_key key = { bytes, len };
	struct blm_hash hash;

	blm_siphash_any(by, &key, &hash);
	return hash;
}

BLM_HASHES_ONE xxh64_one(const struct blm_hasher *by, uint64_t seed, const void *bytes, size_t len)
{
	uint64_t h;

	if (len == 16)
		h = XXH64(bytes, 16, 0);
	else if (len == 8)
		h = XXH64(bytes, 8, 0);
	else if (len == 4)
		h = XXH64(bytes, 4, 0);
	else if (len == 32)
		h = XXH64(bytes, 32, 0);
	else
		h = blm_xxh64_any(bytes, len);
	return (struct blm_hash){ .lo = h, .hi = h };
}

#endif
