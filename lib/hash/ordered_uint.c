/* ordered_uint.c - no hash: a key is a whole number from 0 to 2^64 - 1 in decimal digits */
#include "hash/ordered.h"

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	const uint8_t *at = key->bytes, *end = at + key->len;
	uint64_t number;
	bool too_large;

	at = ordered_digits(at, end, &number, &too_large);
	*ret = at == end && key->len && !too_large ? ordered_place(by, number, 0)
		: ordered_none(by, 0);
}

static const char *refuse(const struct blm_hash *hash)
{
	return ordered_is_none(hash) ? "no whole number from 0 to 2^64 - 1 in decimal digits"
		: NULL;
}

const struct blm_family blm_family_ordered_uint = {
	.id = 34,
	.name = "ordered-uint",
	.summary = "none: a key is a whole number from 0 to 2^64 - 1, for ranges of numbers",
	.bits = 64,
	.seeds = 1, .seed_bits = ORDERED_SEED_BITS,
	.ordered = true,
	.hash = hash, .refuse = refuse,
};
