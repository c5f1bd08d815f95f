/*
 * xxh3.c - XXH3, 128 bits, with a 64-bit seed: the default
 *
 * Fast and of good quality, and no protection: an attacker who knows or can find the seed can make
 * keys that collide. Keys that an adversary may choose need siphash.
 */
#include "hash/xxh3_loops.h"

__attribute__((noinline)) struct blm_hash blm_xxh3_any(const void *bytes, size_t len,
						       uint64_t seed)
{
	/* of an empty key the pointer may be NULL */
	return xxh3_bytes(len ? bytes : "", len, seed);
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	xxh3_key(xxh3_bytes, blm_xxh3_any, key->bytes, key->len, by->seeds[0], ret);
}

static __attribute__((noinline, flatten)) void hash_each(const struct blm_key *keys, size_t count,
						uint64_t seed, struct blm_hash *ret)
{
	xxh3_each(xxh3_bytes, blm_xxh3_any, keys, count, seed, ret);
}

static void hash_many(const struct blm_hasher *by, const struct blm_key *keys, size_t count,
		      struct blm_hash *ret)
{
	xxh3_all(xxh3_bytes, hash_each, blm_simd_best()->xxh3_many, keys, count, by->seeds[0], ret);
}

static void hash_fixed(const struct blm_hasher *by, const uint8_t *bytes, size_t width,
		       size_t count, struct blm_hash *ret)
{
	xxh3_all_fixed(xxh3_bytes, blm_xxh3_any, blm_simd_best()->xxh3_fixed, bytes, width, count,
		       by->seeds[0], ret);
}

/* In the order of xxHash's canonical form. */
static void digest(const struct blm_hasher *by, const struct blm_key *pieces, unsigned count,
		   uint8_t *ret)
{
	XXH3_state_t state;
	XXH128_canonical_t canonical;

	XXH3_INITSTATE(&state);
	XXH3_128bits_reset_withSeed(&state, by->seeds[0]);
	for (unsigned i = 0; i < count; i++)
		if (pieces[i].len)
			XXH3_128bits_update(&state, pieces[i].bytes, pieces[i].len);
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
	memcpy(ret, canonical.digest, sizeof(canonical.digest));
}

const struct blm_family blm_family_xxh3 = {
	.id = 1,
	.name = "xxh3",
	.summary = "XXH3-128 with a random seed; the default, for keys that no attacker "
	"chooses",
	.bits = 128,
	.seeds = 1,
	.hash = hash, .hash_many = hash_many, .hash_fixed = hash_fixed,
	.digest_bytes = 16, .digest = digest,
};
