/*
 * murmur3_bip37.c - MurmurHash3 (x86, 32 bits) once for each probe, seed i * 0xFBA4C795 + tweak,
 * modulo the cells
 *
 * The family of Bitcoin's connection filters (BIP 37) and of Neo's. 32 bits: for filters of up to
 * 2^32 cells. Keys that collide under every seed are easy to make, so it is for reading and writing
 * those programs' filters.
 */
#include "hash/hasher.h"

static uint32_t rotate(uint32_t x, unsigned by)
{
	return x << by | x >> (32 - by);
}

static uint32_t mix(uint32_t k)
{
	return rotate(k * 0xcc9e2d51, 15) * 0x1b873593;
}

static uint32_t murmur3_32(uint32_t seed, const uint8_t *bytes, size_t len)
{
	uint32_t h = seed, tail = 0, word;

	for (size_t i = 0; i < len / 4; i++) {
		memcpy(&word, bytes + 4 * i, 4);
		h = rotate(h ^ mix(le32toh(word)), 13) * 5 + 0xe6546b64;
	}
	for (size_t i = len & 3; i-- > 0; )
		tail = tail << 8 | bytes[(len & ~(size_t)3) + i];
	h ^= mix(tail);		/* of nothing: 0 */
	h ^= (uint32_t)len;
	h = (h ^ h >> 16) * 0x85ebca6b;
	h = (h ^ h >> 13) * 0xc2b2ae35;
	return h ^ h >> 16;
}

static uint64_t nth(const struct blm_hasher *by, const struct blm_key *key, unsigned i,
		    uint64_t cells)
{
	return murmur3_32(i * 0xFBA4C795 + (uint32_t)by->tweak, key->bytes, key->len) % cells;
}

const struct blm_family blm_family_murmur3_bip37 = {
	.id = 3,
	.name = "murmur3-bip37",
	.summary = "MurmurHash3-32 once a probe, seeded by number and tweak: Bitcoin's BIP "
	"37 and Neo; classic, counting, approximator",
	.bits = 32,
	.tweaked = true,
	.nth = nth,
};
