/*
 * murmur64a.c - MurmurHash64A twice: with RedisBloom's seed, and with what that gave as the seed
 *
 * One number for everybody, so no protection at all.
 */
#include "hash/murmur64a.h"

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	ret->lo = murmur64a(key->bytes, key->len, MURMUR64A_MULTIPLIER);
	ret->hi = murmur64a(key->bytes, key->len, ret->lo);
}

const struct blm_family blm_family_murmur64a = {
	.id = 17,
	.name = "murmur64a",
	.summary = "MurmurHash64A twice, the second time with the first as its seed: RedisBloom",
	.bits = 128,
	.scheme = 7,
	.hash = hash,
};
