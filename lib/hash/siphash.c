/*
 * siphash.c - SipHash-2-4 with 128 bits of result, keyed by a secret: for keys that an adversary may choose
 *
 * Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012. Without the secret nobody can tell which keys
 * share cells. The secret is not in the filter's file.
 */
#include "hash/key.h"

#include <sodium.h>

static_assert(crypto_shorthash_siphashx24_KEYBYTES == BLM_SECRET_BYTES, "the secret of SipHash");
static_assert(crypto_shorthash_siphashx24_BYTES == 16, "128 bits");

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	uint64_t out[2];

	crypto_shorthash_siphashx24((unsigned char *)out, key->len ? key->bytes : (const unsigned char *)"", key->len, by->secret);
	ret->lo = le64toh(out[0]);
	ret->hi = le64toh(out[1]);
}

const struct blm_family blm_family_siphash = {
	.id = 2,
	.name = "siphash",
	.summary = "SipHash-2-4-128 with a secret key kept apart from the file; for keys from an adversary",
	.bits = 128,
	.keyed = true,
	.hash = hash,
};
