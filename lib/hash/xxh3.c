/*
 * xxh3.c - XXH3, 128 bits, with a 64-bit seed: the default
 *
 * Fast and of good quality, and no protection: who knows or can find the seed can make keys that collide. Keys that an
 * adversary may choose want siphash.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hash/key.h"

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(key->len ? key->bytes : "", key->len, by->seeds[0]);

	ret->lo = h.low64;
	ret->hi = h.high64;
}

const struct blm_family blm_family_xxh3 = {
	.id = 1,
	.name = "xxh3",
	.summary = "XXH3-128 with a random seed; the default, for keys that nobody chooses to do harm",
	.bits = 128,
	.seeds = 1,
	.hash = hash,
};
