/*
 * superfast.c - Hsieh's SuperFastHash, begun from the seed, once for each probe with a seed of its
 * own
 *
 * P. Hsieh, 2004. The family of pybloomfiltermmap 0.3.1 and 0.3.2. 32 bits: for filters of up to
 * 2^32 cells. The last byte of an odd length is signed, and the empty key is 0 under every seed, as
 * in his code where a char is signed.
 */
#include "hash/hasher.h"

static uint32_t pair(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t superfast(uint32_t h, const uint8_t *bytes, size_t len)
{
	if (!len)
		return 0;
	for (; len >= 4; len -= 4, bytes += 4) {
		h += pair(bytes);
		h = h << 16 ^ pair(bytes + 2) << 11 ^ h;
		h += h >> 11;
	}
	if (len == 3) {
		h += pair(bytes);
		h ^= h << 16;
		h ^= (uint32_t)(int8_t)bytes[2] << 18;
		h += h >> 11;
	} else if (len == 2) {
		h += pair(bytes);
		h ^= h << 11;
		h += h >> 17;
	} else if (len == 1) {
		h += (uint32_t)(int8_t)bytes[0];
		h ^= h << 10;
		h += h >> 1;
	}
	h ^= h << 3;
	h += h >> 5;
	h ^= h << 4;
	h += h >> 17;
	h ^= h << 25;
	return h + (h >> 6);
}

static uint64_t nth(const struct blm_hasher *by, const struct blm_key *key, unsigned i,
		    uint64_t cells)
{
	return superfast((uint32_t)by->seeds[i], key->bytes, key->len) % cells;
}

const struct blm_family blm_family_superfast = {
	.id = 7,
	.name = "superfast",
	.summary = "SuperFastHash, a seed a probe: pybloomfiltermmap 0.3.1 and 0.3.2; "
	"classic, counting, approximator",
	.bits = 32,
	.seeds_by_probe = true,
	.seed_bits = 32,
	.nth = nth,
};
