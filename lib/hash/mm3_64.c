/*
 * mm3_64.c - MurmurHash3 (x64, 128 bits), its halves xored, once for each probe with a seed of its
 * own
 *
 * The family of pybloomfiltermmap3, and of pybloomfiltermmap from September 2015 on.
 */
#include "hash/hasher.h"
#include "hash/murmur3_x64.h"

static uint64_t nth(const struct blm_hasher *by, const struct blm_key *key, unsigned i,
		    uint64_t cells)
{
	struct blm_hash h = murmur3_x64_128(key->bytes, key->len, (uint32_t)by->seeds[i]);

	return (h.lo ^ h.hi) % cells;
}

const struct blm_family blm_family_mm3_64 = {
	.id = 10,
	.name = "mm3_64",
	.summary = "MurmurHash3-128 xored to 64 bits, a seed a probe: pybloomfiltermmap3; "
	"classic, counting, approximator",
	.bits = 64,
	.seeds_by_probe = true,
	.seed_bits = 32,
	.nth = nth,
};
