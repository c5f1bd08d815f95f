/*
 * open_any.c - opens a filter: one of our own files, or another program's
 */
#include "exchange/exchange.h"
#include "handle/exclusive.h"

#include <stdio.h>

/*
 * Where our own opening failed with `err`. A file that is no other program's either keeps that
 * error.
 */
static int open_foreign(struct blm_filter **ret, struct blm_place *place, bool write,
			const uint8_t *secret, const struct blm_exchange *how,
			int err)
{
	struct blm_filter *f;
	struct blm_view *view;
	char reason[512];
	int r;

	snprintf(reason, sizeof(reason), "%s", blm_error_message());
	r = blm_foreign_view(&view, place, write, how);
	if (r != 0)
		return r == 1 ? blm_fail(err, "%s", reason) : r;
	f = blm_handle_new(place, write);
	r = f ? blm_handle_keep_secret(f, secret) : blm_fail(-ENOMEM, "out of memory");
	if (r < 0) {
		if (f)
			blm_handle_free(f);
		blm_view_free(view);
		return r;
	}
	blm_handle_begin(f, view);
	*ret = f;
	return 0;
}

/*
 * Our own files first: that costs them nothing. Another file may be another program's, which
 * says more than our refusal.
 */
int blm_open_any(struct blm_filter **ret, struct blm_place *place, bool write,
		 const uint8_t *secret, const struct blm_exchange *how)
{
	const struct blm_exchange by_default = BLM_EXCHANGE();
	int r = blm_filter_open(ret, place, write, secret);

	if ((r == -EBADMSG || r == -ENODATA) && !place->store && !place->memory)
		r = open_foreign(ret, place, write, secret, how ? how : &by_default, r);
	if (r < 0)
		blm_place_clear(place);
	return r;
}

BLM_API int blm_open_keyed(struct blm_filter **ret, struct blm_store *store, const char *name,
			   unsigned flags, const uint8_t *secret)
{
	bool exclusive = flags & BLM_OPEN_EXCLUSIVE;
	struct blm_place place;
	int r;

	if (!store && !name)
		return blm_fail(-EINVAL, "a filter in memory has no name to open it by");
	if (flags & ~(unsigned)(BLM_OPEN_WRITE | BLM_OPEN_EXCLUSIVE))
		return blm_fail(-EINVAL, "%s: flags %#x: some are not in enum blm_open_flags",
				name ? name : "(no name)", flags);
	r = blm_place_set(&place, store, name);
	if (r == 0)
		r = blm_open_any(ret, &place, exclusive || flags & BLM_OPEN_WRITE, secret, NULL);
	if (r < 0 || !exclusive)
		return r;
	r = blm_own_exclusively(*ret);
	if (r < 0)
		*ret = blm_close(*ret);
	return r;
}

BLM_API int blm_open(struct blm_filter **ret, struct blm_store *store, const char *name,
		     unsigned flags)
{
	return blm_open_keyed(ret, store, name, flags, NULL);
}
