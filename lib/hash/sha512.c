/*
 * sha512.c - SHA-512 of seed and key, its first 4 bytes, once for each probe with a seed of its own
 *
 * The family of pybloomfiltermmap 0.3.4 to 0.3.11. 32 bits: for filters of up to 2^32 cells. The
 * seeds are in the file, so it is no protection from an adversary.
 */
#include "hash/hasher.h"

#include <sodium.h>

static uint64_t nth(const struct blm_hasher *by, const struct blm_key *key, unsigned i,
		    uint64_t cells)
{
	uint32_t seed = htole32((uint32_t)by->seeds[i]), h;
	unsigned char digest[crypto_hash_sha512_BYTES];
	crypto_hash_sha512_state state;

	crypto_hash_sha512_init(&state);
	crypto_hash_sha512_update(&state, (const unsigned char *)&seed, sizeof(seed));
	crypto_hash_sha512_update(&state, key->len ? key->bytes : (const unsigned char *)"",
				  key->len);
	crypto_hash_sha512_final(&state, digest);
	memcpy(&h, digest, sizeof(h));
	return le32toh(h) % cells;
}

const struct blm_family blm_family_sha512 = {
	.id = 8,
	.name = "sha512",
	.summary = "SHA-512 cut to 32 bits, a seed a probe: pybloomfiltermmap 0.3.4 to "
	"0.3.11; classic, counting, approximator",
	.bits = 32,
	.seeds_by_probe = true,
	.seed_bits = 32,
	.nth = nth,
};
