/* ordered_int.c - no hash: a key is a whole number from -2^63 to 2^63 - 1 in decimal digits */
#include "hash/ordered.h"

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	const uint8_t *at = key->bytes, *end = at + key->len;
	bool minus = key->len && *at == '-', too_large;
	const uint8_t *digits = at + minus;
	uint64_t number;

	at = ordered_digits(digits, end, &number, &too_large);
	*ret = at == end && at > digits && number <= (uint64_t)INT64_MAX + minus
		? ordered_place(by, ordered_signed((int64_t)(minus ? -number : number)), 0)
		: ordered_none(by, 0);
}

static const char *refuse(const struct blm_hash *hash)
{
	return ordered_is_none(hash) ? "no whole number from -2^63 to 2^63 - 1 in decimal digits"
		: NULL;
}

const struct blm_family blm_family_ordered_int = {
	.id = 35,
	.name = "ordered-int",
	.summary = "none: a key is a whole number from -2^63 to 2^63 - 1, for ranges of numbers",
	.bits = 64,
	.seeds = 1, .seed_bits = ORDERED_SEED_BITS,
	.ordered = true,
	.hash = hash, .refuse = refuse,
};
