/*
 * fnv1.c - FNV-1, 64 bits, by Fowler, Noll and Vo: each byte is xored in after the multiplication
 *
 * One number for everybody, and keys that collide are easy to make. Both halves of the 128 bits are
 * this one number.
 */
#include "hash/hasher.h"

#define OFFSET UINT64_C(0xcbf29ce484222325)
#define PRIME UINT64_C(0x100000001b3)

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	const uint8_t *bytes = key->bytes;
	uint64_t h = OFFSET;

	for (size_t i = 0; i < key->len; i++)
		h = h * PRIME ^ bytes[i];
	ret->lo = ret->hi = h;
}

const struct blm_family blm_family_fnv1 = {
	.id = 20,
	.name = "fnv1",
	.summary = "FNV-1 of 64 bits: DCSO bloom; classic only",
	.bits = 64,
	.scheme = 11,
	.hash = hash,
};
