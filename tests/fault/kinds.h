/* kinds.h - a filter of any kind, with keys, made in the way that its kind wants */
#ifndef BLM_FAULT_KINDS_H
#define BLM_FAULT_KINDS_H

#include "../store/suite.h"

static inline size_t how_many_kinds(void)
{
	struct blm_kind_info kind;
	size_t count = 0;

	while (blm_kind_list(count, &kind) == 0)
		count++;
	return count;
}

static inline struct blm_kind_info kind_number(size_t i)
{
	struct blm_kind_info kind = { 0 };

	blm_kind_list(i, &kind);
	return kind;
}

static inline struct blm_kind_info kind_named(const char *name)
{
	struct blm_kind_info kind;

	for (size_t i = 0; (kind = kind_number(i)).name && strcmp(kind.name, name); i++)
		;
	return kind;
}

static inline int build_with(struct blm_store *store, const char *name,
			     const struct blm_params *params, const struct blm_key *keys,
			     const uint64_t *values, size_t count)
{
	/* so that more than a few go through a file */
	const struct blm_build_options least = { .memory_bytes = 1 };
	struct blm_build *b;
	int r = blm_build_begin(&b, store, name, params, &least);

	if (r < 0)
		return r;
	r = kind_named(params->kind).can & BLM_CAN_GET ? blm_build_put_many(b, keys, values, count)
						       : blm_build_add_many(b, keys, count);
	/* these are keys; others make no key go */
	if (r == 0 && kind_named(params->kind).can & BLM_CAN_EXCLUDE)
		r = blm_build_exclude_many(b, &(struct blm_key){ "other", 5 }, 1);
	if (r == 0)
		return blm_build_finish(b, NULL);
	blm_build_cancel(b);
	return r;
}

static inline int create_with(struct blm_store *store, const char *name,
			      const struct blm_params *params, const struct blm_key *keys,
			      const uint64_t *values, size_t count)
{
	struct blm_filter *f;
	int64_t r = blm_create(&f, store, name, params);

	if (r < 0)
		return (int)r;
	r = kind_named(params->kind).can & BLM_CAN_PUT ? blm_put_many(f, keys, values, count, NULL)
						       : blm_add_many(f, keys, count, NULL);
	if (r >= 0)
		r = blm_sync(f);
	blm_close(f);
	return r < 0 ? (int)r : 0;
}

/* values: as many as keys, for kinds that hold some. Return: 0, or a negative errno. */
static inline int make_of_kind(struct blm_store *store, const char *name,
			       const struct blm_params *params, const struct blm_key *keys,
			       const uint64_t *values, size_t count)
{
	return (kind_named(params->kind).can & BLM_CAN_BUILD ? build_with : create_with)(
		store, name, params, keys, values, count);
}

#endif
