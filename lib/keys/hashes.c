/* hashes.c - keys hashed as a filter hashes them */
#include "handle/handle.h"
#include "keys/key_batch.h"

BLM_API uint64_t blm_hash_id(const struct blm_filter *f)
{
	BLM_CRITICAL_SECTION;
	return current_view(f)->hash_id;
}

BLM_API int blm_hash_many(const struct blm_filter *f, const struct blm_key *keys, size_t count,
			  struct blm_hash *ret)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);

	if (wants_keys(&view->hasher))
		return blm_cannot_hash(&view->hasher, f->place.display);
	blm_hash_all(&view->hasher, keys, count, ret);
	return 0;
}

BLM_API int blm_hash_fixed(const struct blm_filter *f, const void *keys, size_t width, size_t count,
			   struct blm_hash *ret)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);

	if (wants_keys(&view->hasher))
		return blm_cannot_hash(&view->hasher, f->place.display);
	blm_hash_all_fixed(&view->hasher, keys, width, count, ret);
	return 0;
}

/* ---- Parts of a split filter ---- */

static int check_parts(const struct blm_filter *f, const struct blm_view *view, uint32_t parts)
{
	if (!parts || parts > BLM_SPLIT_MAX)
		return blm_fail(-EINVAL, "%s: the number of parts is %u; use 1 to %d",
				f->place.display, parts,
				BLM_SPLIT_MAX);
	return view->root.kind->splits ? 0
		: blm_cannot(view, f, "be split into parts", BLM_CAN_SPLIT);
}

BLM_API int blm_part_owners(const struct blm_filter *f, uint64_t hash_id,
			    const struct blm_hash *hashes, size_t count, uint32_t parts,
			    uint32_t *ret_owners)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);
	const struct blm_input in = { .hashes = hashes, .hash_id = hash_id, .count = count };
	struct blm_owners owners;
	int r = check_parts(f, view, parts);

	if (r == 0 && !view->root.kind->place)
		r = blm_fail(-EOPNOTSUPP, "%s: a key of a %s filter belongs to several parts, so "
			     "no part owns it",
			     f->place.display, view->root.kind->name);
	if (r == 0 && count)
		r = blm_input_check(f, view, &in);
	if (r < 0)
		return r;
	owners = blm_owners_of(&view->root, parts);
	blm_owners_find(&owners, hashes, count, ret_owners);
	for (size_t i = 0; i < count; i++)
		if (ret_owners[i] == BLM_EVERY_PART)
			ret_owners[i] = 0;
	return 0;
}

BLM_API int blm_part_range(const struct blm_filter *f, uint32_t part, uint32_t parts,
			   uint64_t *ret_at, uint64_t *ret_bytes)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);
	int r = check_parts(f, view, parts);

	if (r == 0 && part >= parts)
		r = blm_fail(-EINVAL, "%s: there is no part %u: the %u parts are numbered from 0",
			     f->place.display, part, parts);
	if (r == 0) {
		struct blm_split split = blm_split_of(&view->root, part, parts);

		*ret_at = split.from;
		*ret_bytes = split.to - split.from;
	}
	return r;
}
