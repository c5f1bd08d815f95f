/*
 * md5_digest.c - MD5, all of it
 *
 * Cryptographic, and slow; without a secret it is no protection from who can try many keys.
 */
#include "hash/hasher.h"
#include "base/lazylib.h"

static void digest(const struct blm_hasher *by, const struct blm_key *pieces, unsigned count,
		   uint8_t *ret)
{
	MD5_CTX state;

	blm_md.MD5Init(&state);
	for (unsigned i = 0; i < count; i++)
		if (pieces[i].len)
			blm_md.MD5Update(&state, pieces[i].bytes, pieces[i].len);
	blm_md.MD5Final(ret, &state);
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	uint64_t words[16 / 8 + 1];

	digest(by, key, 1, (uint8_t *)words);
	ret->lo = le64toh(words[0]);
	ret->hi = le64toh(words[1]);
}

static const char *need(void)
{
	return blm_need(BLM_MD);
}

const struct blm_family blm_family_md5_digest = {
	.id = 23,
	.name = "md5-digest",
	.summary = "MD5, all 128 bits: pybloom_live 3",
	.bits = 128,
	.need = need,
	.hash = hash,
	.digest_bytes = 16, .digest = digest,
};
