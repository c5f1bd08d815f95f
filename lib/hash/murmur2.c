/*
 * murmur2.c - MurmurHash2 (32 bits) twice: with libbloom's seed, and with what that gave as the
 * seed
 *
 * By A. Appleby, 2008. One number for everybody, so no protection at all.
 */
#include "hash/hasher.h"

#define MULTIPLIER UINT32_C(0x5bd1e995)
#define SEED UINT32_C(0x9747b28c)

static uint32_t murmur2(const uint8_t *bytes, size_t len, uint32_t seed)
{
	uint32_t h = seed ^ (uint32_t)len, k;

	for (; len >= 4; bytes += 4, len -= 4) {
		memcpy(&k, bytes, 4);
		k = le32toh(k) * MULTIPLIER;
		h = h * MULTIPLIER ^ (k ^ k >> 24) * MULTIPLIER;
	}
	if (len) {
		k = 0;
		memcpy(&k, bytes, len);
		h = (h ^ le32toh(k)) * MULTIPLIER;
	}
	h = (h ^ h >> 13) * MULTIPLIER;
	return h ^ h >> 15;
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	ret->lo = murmur2(key->bytes, key->len, SEED);
	ret->hi = murmur2(key->bytes, key->len, (uint32_t)ret->lo);
}

const struct blm_family blm_family_murmur2 = {
	.id = 18,
	.name = "murmur2",
	.summary = "MurmurHash2-32 twice, the second time with the first as its seed: libbloom; "
	"classic only",
	.bits = 32,
	.scheme = 7,
	.hash = hash,
};
