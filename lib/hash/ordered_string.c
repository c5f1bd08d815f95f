/*
 * ordered_string.c - no hash: a key's first 8 bytes are its place, in the order of bytes
 *
 * The most significant byte comes first; behind the end of a shorter key there are zeros. So a key
 * can also be any number of 64 bits, big-endian.
 */
#include "hash/ordered.h"

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	uint64_t place = 0;

	if (key->len)
		memcpy(&place, key->bytes, key->len < 8 ? key->len : 8);
	*ret = ordered_place(by, be64toh(place), 0);
}

const struct blm_family blm_family_ordered_string = {
	.id = 33,
	.name = "ordered-string",
	.summary = "none: a key's first 8 bytes, for ranges in the order of bytes",
	.bits = 64,
	.seeds = 1, .seed_bits = ORDERED_SEED_BITS,
	.ordered = true,
	.hash = hash,
};
