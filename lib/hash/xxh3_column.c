/*
 * xxh3_column.c - XXH3 of a key that begins with a column, from which the column's number can be
 * had back (column.h)
 *
 * For kinds whose data are divided by that column. A filter refuses a key without a tab, because
 * the key has no column. Its hash is 0, which another key has with a probability of 2^-128.
 */
#include "hash/column.h"
#include "hash/one_hash.h"

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	const uint64_t rest = UINT64_MAX >> COLUMN_BITS;
	const char *tab = key->len ? memchr(key->bytes, '\t', key->len) : NULL;
	struct blm_hash column;

	*ret = (struct blm_hash){ 0 };
	if (!tab)
		return;
	column = blm_xxh3_any(key->bytes, (size_t)(tab - (const char *)key->bytes), by->seeds[0]);
	*ret = blm_xxh3_any(key->bytes, key->len, by->seeds[0]);
	ret->lo = ((column.lo & ~rest) | (ret->lo & rest)) ^ column_mask(ret->hi);
}

static const char *refuse(const struct blm_hash *hash)
{
	return hash->lo || hash->hi ? NULL : "no key with a column, which ends at the first tab";
}

const struct blm_family blm_family_xxh3_column = {
	.id = 39,
	.name = "xxh3-column",
	.summary = "XXH3-128 of a key that begins with a column and a tab; for exact filters that "
	"are divided by the column",
	.bits = 128,
	.seeds = 1,
	.column = true,
	.hash = hash, .refuse = refuse,
};
