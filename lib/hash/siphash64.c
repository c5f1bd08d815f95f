/*
 * siphash64.c - SipHash-2-4 with 64 bits of result, keyed by two words that everybody may know: the
 * hash of Bitcoin's block filters
 *
 * Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012. The seeds are the
 * key's 16 bytes, as two little-endian words, and are in the filter's file: so this is no
 * protection against a reader of the file. Both halves of the 128 bits are this one number.
 */
#include "hash/hasher.h"

#include <sodium.h>

static_assert(crypto_shorthash_BYTES == 8 && crypto_shorthash_KEYBYTES == 16, "SipHash-2-4");

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	const uint64_t words[2] = { htole64(by->seeds[0]), htole64(by->seeds[1]) };
	uint64_t out;

	crypto_shorthash((unsigned char *)&out, key->len ? key->bytes : (const unsigned char *)"",
			 key->len, (const unsigned char *)words);
	ret->lo = ret->hi = le64toh(out);
}

const struct blm_family blm_family_siphash64 = {
	.id = 13,
	.name = "siphash64",
	.summary = "SipHash-2-4, 64 bits, by two seeds in the file: Bitcoin's block filters (BIP "
	"158)",
	.bits = 64,
	.seeds = 2,
	.hash = hash,
};
