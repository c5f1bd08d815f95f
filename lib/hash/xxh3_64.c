/*
 * xxh3_64.c - XXH3, 64 bits, with a 64-bit seed: for kinds whose cells are bits
 *
 * Both halves of the 128 bits are this one number. A key of 9 to 16 bytes takes two products
 * instead of six. Two keys have the same number with a probability of 2^-64, so a filter of n keys
 * finds an absent key with a probability of at least n / 2^64, whatever its size. No protection, as
 * xxh3.c.
 */
#include "hash/xxh3_loops.h"

__attribute__((noinline)) struct blm_hash blm_xxh3_64_any(const void *bytes, size_t len,
							  uint64_t seed)
{
	return xxh3_64_bytes(len ? bytes : "", len, seed);
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	xxh3_key(xxh3_64_bytes, blm_xxh3_64_any, key->bytes, key->len, by->seeds[0], ret);
}

static __attribute__((noinline, flatten)) void hash_each(const struct blm_key *keys, size_t count,
						uint64_t seed, struct blm_hash *ret)
{
	xxh3_each(xxh3_64_bytes, blm_xxh3_64_any, keys, count, seed, ret);
}

static void hash_many(const struct blm_hasher *by, const struct blm_key *keys, size_t count,
		      struct blm_hash *ret)
{
	xxh3_all(xxh3_64_bytes, hash_each, blm_simd_best()->xxh3_64_many, keys, count,
		 by->seeds[0], ret);
}

static void hash_fixed(const struct blm_hasher *by, const uint8_t *bytes, size_t width,
		       size_t count, struct blm_hash *ret)
{
	xxh3_all_fixed(xxh3_64_bytes, blm_xxh3_64_any, blm_simd_best()->xxh3_64_fixed, bytes,
		       width, count, by->seeds[0], ret);
}

const struct blm_family blm_family_xxh3_64 = {
	.id = 40,
	.name = "xxh3-64",
	.summary = "XXH3-64 with a random seed: hashes short keys in less time; for kinds that "
	"set bits",
	.bits = 64,
	.seeds = 1,
	.hash = hash, .hash_many = hash_many, .hash_fixed = hash_fixed,
};
