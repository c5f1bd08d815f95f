/* hash_many.c - many keys hashed, by whichever way a family has */
#include "hash/hasher.h"

void blm_hash_all(const struct blm_hasher *by, const struct blm_key *keys, size_t count,
		  struct blm_hash *ret)
{
	if (by->family->hash_many) {
		by->family->hash_many(by, keys, count, ret);
		return;
	}
	for (size_t i = 0; i < count; i++)
		by->family->hash(by, &keys[i], &ret[i]);
}

void blm_hash_all_fixed(const struct blm_hasher *by, const uint8_t *bytes, size_t width,
			size_t count, struct blm_hash *ret)
{
	if (by->family->hash_fixed) {
		by->family->hash_fixed(by, bytes, width, count, ret);
		return;
	}
	for (size_t i = 0; i < count; i++)
		by->family->hash(by, &(struct blm_key){ width ? bytes + i * width : NULL, width },
				 &ret[i]);
}
