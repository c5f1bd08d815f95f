/* hash_registry.c - the hash families, from the list in meson.build */
#include "hash/hasher.h"

#define HASH(name) extern const struct blm_family blm_family_##name;
BLM_HASHES
#undef HASH

#define HASH(name) &blm_family_##name,
static const struct blm_family *const families[] = { BLM_HASHES };

const struct blm_family *blm_family_at(size_t i)
{
	return i < ARRAY_LEN(families) ? families[i] : NULL;
}

/*
 * '-' and '_' are one: families are named after the programs they are of, which do not agree on
 * either.
 */
static bool same_name(const char *a, const char *b)
{
	while (*a && (*a == '_' ? '-' : *a) == (*b == '_' ? '-' : *b))
		a++, b++;
	return *a == *b;
}

const struct blm_family *blm_family_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (same_name(families[i]->name, name))
			return families[i];
	return NULL;
}

const struct blm_family *blm_family_by_id(uint32_t id)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (families[i]->id == id)
			return families[i];
	return NULL;
}

BLM_API int blm_hash_list(size_t i, struct blm_hash_info *ret)
{
	const struct blm_family *f = blm_family_at(i);

	if (!f)
		return blm_fail(-ENOENT, "there are %zu hash families", ARRAY_LEN(families));
	*ret = (struct blm_hash_info){
		.name = f->name, .summary = f->summary, .id = f->id, .bits = f->bits,
		.keyed = f->keyed,
		.seeds_by_probe = f->seeds_by_probe, .digest_bytes = f->digest_bytes,
	};
	return 0;
}
