/*
 * md5.c - MD5 of seed and key, its second 4 bytes, once for each probe with a seed of its own
 *
 * The family of pybloomfiltermmap 0.2.2 (November 2011). 32 bits: for filters of up to 2^32 cells.
 * The seeds are in the file, so it is no protection from an adversary.
 */
#include "hash/hasher.h"
#include "base/lazylib.h"

static uint64_t nth(const struct blm_hasher *by, const struct blm_key *key, unsigned i,
		    uint64_t cells)
{
	uint32_t seed = htole32((uint32_t)by->seeds[i]), h;
	uint8_t digest[MD5_DIGEST_LENGTH];
	MD5_CTX state;

	blm_md.MD5Init(&state);
	blm_md.MD5Update(&state, (const uint8_t *)&seed, sizeof(seed));
	blm_md.MD5Update(&state, key->len ? key->bytes : (const uint8_t *)"", key->len);
	blm_md.MD5Final(digest, &state);
	memcpy(&h, digest + 4, sizeof(h));
	return le32toh(h) % cells;
}

static const char *need(void)
{
	return blm_need(BLM_MD);
}

const struct blm_family blm_family_md5 = {
	.id = 6,
	.name = "md5",
	.summary = "MD5 cut to 32 bits, a seed a probe: pybloomfiltermmap 0.2.2; classic, "
	"counting, approximator",
	.bits = 32,
	.seeds_by_probe = true,
	.seed_bits = 32,
	.need = need,
	.nth = nth,
};
