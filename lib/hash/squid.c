/*
 * squid.c - MD5 of a byte 1, which stands for GET, and the key, a URL: the keys of Squid's cache
 */
#include "hash/hasher.h"
#include "base/lazylib.h"

static void digest(const struct blm_hasher *by, const struct blm_key *pieces, unsigned count,
		   uint8_t *ret)
{
	static const uint8_t get = 1;
	MD5_CTX state;

	blm_md.MD5Init(&state);
	blm_md.MD5Update(&state, &get, 1);
	for (unsigned i = 0; i < count; i++)
		if (pieces[i].len)
			blm_md.MD5Update(&state, pieces[i].bytes, pieces[i].len);
	blm_md.MD5Final(ret, &state);
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	uint64_t words[2];

	digest(by, key, 1, (uint8_t *)words);
	ret->lo = le64toh(words[0]);
	ret->hi = le64toh(words[1]);
}

static const char *need(void)
{
	return blm_need(BLM_MD);
}

const struct blm_family blm_family_squid = {
	.id = 30,
	.name = "squid",
	.summary = "MD5 of a byte 1 and the URL: Squid's cache digests",
	.bits = 128,
	.need = need,
	.hash = hash,
	.digest_bytes = 16, .digest = digest,
};
