/*
 * leveldb_hash.c - LevelDB's hash of 32 bits, and the same rotated by 17 as the step from probe to
 * probe
 *
 * One number for everybody, so no protection at all.
 */
#include "hash/hasher.h"

#define MULTIPLIER UINT32_C(0xc6a4a793)
#define SEED UINT32_C(0xbc9f1d34)

static uint32_t leveldb(const uint8_t *bytes, size_t len)
{
	uint32_t h = SEED ^ (uint32_t)len * MULTIPLIER, k;

	for (; len >= 4; bytes += 4, len -= 4) {
		memcpy(&k, bytes, 4);
		h = (h + le32toh(k)) * MULTIPLIER;
		h ^= h >> 16;
	}
	if (len) {
		k = 0;
		memcpy(&k, bytes, len);
		h = (h + le32toh(k)) * MULTIPLIER;
		h ^= h >> 24;
	}
	return h;
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	uint32_t h = leveldb(key->bytes, key->len);

	ret->lo = h;
	ret->hi = h >> 17 | h << 15;
}

const struct blm_family blm_family_leveldb_hash = {
	.id = 19,
	.name = "leveldb",
	.summary = "LevelDB's hash of 32 bits, and the same rotated: its filter blocks; classic "
	"only",
	.bits = 32,
	.scheme = 8,
	.hash = hash,
};
