/*
 * xxh64.c - XXH64 with the seed 0, 64 bits: the hash of Parquet's Bloom filters
 *
 * One number for everybody, so no protection at all: anyone can make keys that collide. Both halves
 * of the 128 bits are this one number; a kind that is content with 64 bits takes `lo`.
 */
#include "hash/one_hash.h"

uint64_t blm_xxh64_any(const void *bytes, size_t len)
{
	return XXH64(len ? bytes : "", len, 0);
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	ret->lo = ret->hi = blm_xxh64_any(key->bytes, key->len);
}

const struct blm_family blm_family_xxh64 = {
	.id = 11,
	.name = "xxh64",
	.summary = "XXH64 with seed 0, as Parquet's filters have it",
	.bits = 64,
	.hash = hash,
};
