/*
 * djb.c - Bernstein's hash (r = 33 r + byte, from 5381 ^ seed), once for each probe with a seed of
 * its own
 *
 * The family of pybloomfiltermmap 0.1.2 to 0.2.0, for keys that are strings; djb_int.c has the
 * integers. 32 bits: for filters of up to 2^32 cells. A seed only shifts the hashes of all keys of
 * one length: what collides under one seed collides under all, and for keys much alike the rate is
 * far above what m and k promise. For that program's filters.
 */
#include "hash/hasher.h"

static uint64_t nth(const struct blm_hasher *by, const struct blm_key *key, unsigned i,
		    uint64_t cells)
{
	const uint8_t *bytes = key->bytes;
	uint32_t r = 5381 ^ (uint32_t)by->seeds[i];

	for (size_t at = 0; at < key->len; at++)
		r = r * 33 + bytes[at];
	return r % cells;
}

const struct blm_family blm_family_djb = {
	.id = 4,
	.name = "djb",
	.summary = "Bernstein's hash, weak, a seed a probe: pybloomfiltermmap 0.1.2 to "
	"0.2.0; classic, counting, approximator",
	.bits = 32,
	.seeds_by_probe = true,
	.seed_bits = 32,
	.nth = nth,
};
