/*
 * integer.c - no hash: the key is a number in decimal digits, and is itself
 *
 * For kinds in which each number has a cell of its own. `lo` is the number; `hi` says whether it is
 * one. Zeros in front change nothing; signs, spaces and all else make it none, and so does a key
 * without bytes.
 */
#include "hash/hasher.h"

enum { IS_NUMBER = 0, IS_NONE = 1, IS_TOO_LARGE = 2 };

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	const uint8_t *digits = key->bytes;
	uint64_t number = 0, is = key->len ? IS_NUMBER : IS_NONE;

	for (size_t i = 0; i < key->len && is != IS_NONE; i++) {
		uint64_t digit = (uint64_t)digits[i] - '0';

		if (digit > 9)
			is = IS_NONE;
		else if (__builtin_mul_overflow(number, 10, &number)
			 || __builtin_add_overflow(number, digit, &number))
			is = IS_TOO_LARGE;
	}
	*ret = (struct blm_hash){ .lo = is == IS_NUMBER ? number : 0, .hi = is };
}

static const char *refuse(const struct blm_hash *hash)
{
	return hash->hi ? "no number in decimal digits, or too large" : NULL;
}

const struct blm_family blm_family_integer = {
	.id = 12,
	.name = "integer",
	.summary = "none: a key is a number in decimal digits, its own place in a bitmap",
	.bits = 64,
	.number = true,
	.hash = hash, .refuse = refuse,
};
