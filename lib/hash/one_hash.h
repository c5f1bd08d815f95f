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

#define BLM_HASHES_ONE static inline __attribute__((always_inline)) struct blm_hash

/* xxh3.c, siphash.c, xxh64.c: any length */
struct blm_hash blm_xxh3_any(const void *bytes, size_t len, uint64_t seed);
void blm_siphash_any(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret);
uint64_t blm_xxh64_any(const void *bytes, size_t len);

BLM_HASHES_ONE xxh3_bytes(const void *bytes, size_t len, uint64_t seed)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(bytes, len, seed);

	return (struct blm_hash){ .lo = h.low64, .hi = h.high64 };
}

/* seed: the hasher's first */
BLM_HASHES_ONE xxh3_one(const struct blm_hasher *by, uint64_t seed, const void *bytes, size_t len)
{
	if (len == 16)
		return xxh3_bytes(bytes, 16, seed);
	if (len == 8)
		return xxh3_bytes(bytes, 8, seed);
	if (len == 32)
		return xxh3_bytes(bytes, 32, seed);
	if (len >= 9 && len < 16)
		return xxh3_bytes(bytes, len, seed);
	if (len == 4)
		return xxh3_bytes(bytes, 4, seed);
	return blm_xxh3_any(bytes, len, seed);
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
