/*
 * allow.c - the list of a filter's known false positives: put on it, taken off it, read
 * (allowlist.c)
 */
#include "catalog/catalog.h"
#include "handle/allowlist.h"
#include "place/store_dir.h"

enum { SOME = 256 };	/* keys looked up in one transaction */

static int check_place(const struct blm_filter *f)
{
	if (f->place.store)
		return 0;
	return blm_fail(-EOPNOTSUPP, "%s: belongs to no store; lists of false positives are kept "
			"in the catalog of one", f->place.display);
}

static int check_lengths(const struct blm_filter *f, const struct blm_key *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (keys[i].len > BLM_ALLOW_KEY_MAX)
			return blm_fail(-E2BIG, "%s: a key of %zu bytes is too long for a list; "
					"the most is %d", f->place.display, keys[i].len,
					BLM_ALLOW_KEY_MAX);
	return 0;
}

static int64_t put(struct blm_filter *f, struct blm_view *view, const struct blm_key *keys,
		   size_t count)
{
	int64_t all = 0, r = 0;

	for (size_t at = 0; at < count && r >= 0; at += SOME) {
		size_t some = count - at < SOME ? count - at : SOME;
		uint64_t maybe[SOME / 64];

		r = blm_contains_many(f, keys + at, some, maybe);
		if (r > 0)
			r = blm_catalog_put_listed(f->place.store->catalog, view->constant.uuid,
						   keys + at, some, maybe);
		all += r > 0 ? r : 0;
	}
	return r < 0 ? r : all;
}

BLM_API int64_t blm_allowlist_add(struct blm_filter *f, const struct blm_key *keys, size_t count)
{
	BLM_CRITICAL_SECTION;
	struct blm_view *view;
	int64_t r = check_place(f);

	if (r == 0)
		r = blm_may_change(f);
	if (r == 0)
		r = check_lengths(f, keys, count);
	if (r == 0)
		r = blm_lock_current(f, &view);
	if (r < 0)
		return r;
	set_state(view, BLM_REPLACING);
	r = put(f, view, keys, count);
	set_state(view, BLM_LIVE);
	blm_unlock_exclusive(&view->lock, view->image.fd);
	return r;
}

/* Under the lock: otherwise the list could move to another file with these keys. */
BLM_API int64_t blm_allowlist_remove(struct blm_filter *f, const struct blm_key *keys, size_t count)
{
	BLM_CRITICAL_SECTION;
	struct blm_view *view;
	int64_t r = check_place(f);

	if (r == 0)
		r = blm_may_change(f);
	if (r == 0)
		r = blm_lock_current(f, &view);
	if (r < 0)
		return r;
	r = blm_allow_take_off(f, view, keys, count, NULL);
	blm_unlock_exclusive(&view->lock, view->image.fd);
	return r;
}

BLM_API int64_t blm_allowlist_filter(const struct blm_filter *f, const struct blm_key *keys,
				     size_t count, uint64_t *bits)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);
	int64_t all = 0;

	if (!f->place.store)
		return 0;
	for (size_t at = 0; at < count; at += SOME) {
		size_t some = count - at < SOME ? count - at : SOME;
		uint64_t listed[SOME / 64], any = 0;
		int64_t r;

		for (size_t i = 0; i < (some + 63) / 64; i++)
			any |= bits[at / 64 + i];
		if (!any)
			continue;
		r = blm_catalog_find_listed(f->place.store->catalog, view->constant.uuid, keys + at,
					    some, bits + at / 64, listed);
		if (r < 0)
			return r;
		for (size_t i = 0; i < (some + 63) / 64; i++)
			bits[at / 64 + i] &= ~listed[i];
		all += r;
	}
	return all;
}

BLM_API int64_t blm_allowlist_list(const struct blm_filter *f, int (*each)(void *context,
	const struct blm_key *key), void *context)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);
	uint8_t *bytes, after[32] = { 0 };
	int64_t all = 0;
	int r = each ? check_place(f) : blm_must_have(each, "each");

	if (r < 0)
		return r;
	bytes = malloc(BLM_ALLOW_KEY_MAX);
	if (!bytes)
		return blm_fail(-ENOMEM, "%s: out of memory", f->place.display);
	for (;;) {
		struct blm_key key = { bytes, 0 };

		r = blm_catalog_next_listed(f->place.store->catalog, view->constant.uuid, after,
					    bytes, &key.len);
		if (r <= 0)
			break;
		if (r == 1) {
			all++;
			r = each(context, &key);
			if (r < 0)
				break;
		}
	}
	free(bytes);
	return r < 0 ? r : all;
}
