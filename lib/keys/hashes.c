/* hashes.c - keys hashed as a filter hashes them */
#include "handle/handle.h"

BLM_API uint64_t blm_hash_id(const struct blm_filter *f)
{
	BLM_INSIDE;
	return current_view(f)->hash_id;
}

BLM_API int blm_hash_many(const struct blm_filter *f, const struct blm_key *keys, size_t count,
			  struct blm_hash *ret)
{
	BLM_INSIDE;
	const struct blm_view *view = current_view(f);

	if (wants_keys(&view->hasher))
		return blm_cannot_hash(&view->hasher, f->place.display);
	blm_hash_all(&view->hasher, keys, count, ret);
	return 0;
}

BLM_API int blm_hash_fixed(const struct blm_filter *f, const void *keys, size_t width, size_t count,
			   struct blm_hash *ret)
{
	BLM_INSIDE;
	const struct blm_view *view = current_view(f);

	if (wants_keys(&view->hasher))
		return blm_cannot_hash(&view->hasher, f->place.display);
	blm_hash_all_fixed(&view->hasher, keys, width, count, ret);
	return 0;
}
