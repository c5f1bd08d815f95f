/*
 * murmur64a_64.c - MurmurHash64A once, with the seed 0
 *
 * One number for everybody, so no protection at all. Both halves of the 128 bits are this one
 * number.
 */
#include "hash/murmur64a.h"

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	ret->lo = ret->hi = murmur64a(key->bytes, key->len, 0);
}

const struct blm_family blm_family_murmur64a_64 = {
	.id = 32,
	.name = "murmur64a-64",
	.summary = "MurmurHash64A, 64 bits, with the seed 0: RedisBloom's cuckoo filters",
	.bits = 64,
	.hash = hash,
};
