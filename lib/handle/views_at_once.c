/* views_at_once.c - the views of several filters, all current at one moment */
#include "handle/handle.h"

int blm_keep_moving(const struct blm_filter *f)
{
	return blm_fail(-EBUSY, "%s: other processes keep replacing it or what it is combined "
			"with; try again later", f->place.display);
}

/*
 * The file that replaced a view's file is the filter, even if it does not open here: the old file
 * lacks its keys.
 */
int blm_view_stays(const struct blm_filter *f, const struct blm_view *view)
{
	bool same = current_view(f) == view;
	int status = atomic_load(&f->status);

	if (status < 0 && status != -ESTALE)
		return blm_fail(status, "%s: was replaced, or grew, and its new file cannot be "
				"opened: %s", f->place.display, blm_strerror(status));
	return same ? 0 : -EAGAIN;
}

/*
 * A file that was replaced never comes back. So views that are the same twice were all current
 * between the first pass and the second.
 */
int blm_views_at_once(const struct blm_view **ret, const struct blm_filter *const *from,
		      size_t count)
{
	int r = -EAGAIN;

	for (int tries = 0; r == -EAGAIN && tries < BLM_TRIES; tries++) {
		r = 0;
		for (size_t i = 0; i < count; i++)
			ret[i] = current_view(from[i]);
		for (size_t i = 0; r == 0 && i < count; i++)
			r = blm_view_stays(from[i], ret[i]);
	}
	return r == -EAGAIN ? blm_keep_moving(from[0]) : r;
}
