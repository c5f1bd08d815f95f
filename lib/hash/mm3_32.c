/*
 * mm3_32.c - MurmurHash3 (x64, 128 bits), its four quarters xored, once for each probe with a seed
 * of its own
 *
 * The family of pybloomfiltermmap 0.3.12 to 0.3.14. 32 bits: for filters of up to 2^32 cells.
 */
#include "hash/hasher.h"
#include "hash/murmur3_x64.h"

static uint64_t nth(const struct blm_hasher *by, const struct blm_key *key, unsigned i,
		    uint64_t cells)
{
	struct blm_hash h = murmur3_x64_128(key->bytes, key->len, (uint32_t)by->seeds[i]);
	uint64_t halves = h.lo ^ h.hi;

	return (uint32_t)(halves ^ halves >> 32) % cells;
}

const struct blm_family blm_family_mm3_32 = {
	.id = 9,
	.name = "mm3_32",
	.summary = "MurmurHash3-128 xored to 32 bits, a seed a probe: pybloomfiltermmap "
	"0.3.12 to 0.3.14; classic, counting, approximator",
	.bits = 32,
	.seeds_by_probe = true,
	.seed_bits = 32,
	.nth = nth,
};
