/*
 * djb_int.c - 5381 + 33 (x ^ seed) for a number x, once for each probe with a seed of its own
 *
 * What pybloomfiltermmap 0.1.2 to 0.2.0 did with keys that are integers, where djb.c is for
 * strings. x is CPython's hash of the integer, 64 bits; here a key is its 8 bytes, least first. A
 * shorter key is the number of its bytes; of a longer one only the first 8 bytes count. 32 bits,
 * and poor ones: for filters of up to 2^32 cells that are that program's.
 */
#include "hash/hasher.h"

static uint64_t nth(const struct blm_hasher *by, const struct blm_key *key, unsigned i,
		    uint64_t cells)
{
	uint64_t x = 0;

	if (key->len)
		memcpy(&x, key->bytes, key->len < 8 ? key->len : 8);
	return (uint32_t)(5381 + 33 * (le64toh(x) ^ by->seeds[i])) % cells;
}

const struct blm_family blm_family_djb_int = {
	.id = 5,
	.name = "djb_int",
	.summary = "djb of an integer (8 bytes), weak, a seed a probe: pybloomfiltermmap "
	"0.1.2 to 0.2.0; classic, counting, approximator",
	.bits = 32,
	.seeds_by_probe = true,
	.seed_bits = 32,
	.nth = nth,
};
