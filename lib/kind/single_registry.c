/* single_registry.c - the functions of single.c, by instruction set, kind and family */
#include "kind/single.h"
#include "hash/one_hash.h"

extern const struct blm_family blm_family_xxh3_64;

#define SIMD(name) extern const struct blm_single_set blm_single_##name;
BLM_SIMDS
#undef SIMD

#define SIMD(name) &blm_single_##name,
static const struct blm_single_set *const sets[] = { BLM_SIMDS };

static const struct blm_single *table_of(const struct blm_simd *simd)
{
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		if (!strcmp(sets[i]->name, simd->name))
			return sets[i]->of;
	return NULL;
}

static const struct blm_single *single_for(const struct blm_part *part, const struct blm_hasher *by)
{
	const struct blm_single *s = by->scheme ? NULL : table_of(part->simd);

	for (; s && s->kind; s++)
		if (s->kind == part->kind && s->family == by->family
		    && part->shape.probes <= s->probes)
			return s;
	return NULL;
}

/* The hash stays undefined for kinds that hash keys themselves. */
static inline void hash_by_pointers(struct blm_hashed *ret, const struct blm_one *one,
				    const struct blm_key *key)
{
	ret->key = key;
	ret->by = one->by;
	ret->when = NULL;
	if (!wants_keys(one->by))
		one->by->family->hash(one->by, key, &ret->hash);
}

static bool contains_by_pointers(const struct blm_one *one, const void *bytes, size_t len)
{
	const struct blm_key key = { bytes, len };
	struct blm_hashed hashed;

	hash_by_pointers(&hashed, one, &key);
	return one->part->kind->contains(one->part, &hashed);
}

static int add_by_pointers(const struct blm_one *one, const void *bytes, size_t len)
{
	const struct blm_key key = { bytes, len };
	struct blm_hashed hashed;

	hash_by_pointers(&hashed, one, &key);
	return one->part->kind->add(one->part, &hashed);
}

static int add_hash_by_pointers(const struct blm_one *one, const struct blm_hash *hash)
{
	const struct blm_hashed hashed = { .hash = *hash, .by = one->by };

	return one->part->kind->add(one->part, &hashed);
}

/* A filter that grows is asked by way of its view, which may have to look for new parts first. */
static blm_single_contains *contains_for(const struct blm_single *s, const struct blm_kind *kind)
{
	return s ? s->contains : kind->next ? NULL : contains_by_pointers;
}

void blm_one_make(struct blm_one *ret, struct blm_part *part, const struct blm_hasher *by)
{
	const struct blm_single *s = single_for(part, by);

	*ret = (struct blm_one){
		.contains = contains_for(s, part->kind), .add = s ? s->add : add_by_pointers,
		.data = part->bytes, .units = s ? part->shape.cells / s->unit_bits : 0,
		.seed = by->seed_count ? by->seeds[0] : 0, .probes = part->shape.probes,
		.contains_fixed = s ? s->contains_fixed : NULL,
		.lanes = part->shape.probes < 32 ? (UINT32_C(1) << part->shape.probes) - 1 : 0,
		.part = part, .by = by, .ask = s ? s->ask : NULL,
		.claim = s ? s->claim : NULL,
		.contains_hash = s ? s->contains_hash : NULL,
		.add_hash = s ? s->add_hash : wants_keys(by) ? NULL : add_hash_by_pointers,
	};
	(by->family == &blm_family_xxh3_64 ? xxh3_64_prepare : xxh3_prepare)(ret->seed,
									     ret->prepared);
}
