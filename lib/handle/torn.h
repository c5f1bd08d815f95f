/* torn.h - filters whose cells are not of one moment (kind.h, BLM_OWN_TORN) */
#ifndef BLM_TORN_H
#define BLM_TORN_H

#include "handle/handle.h"

/*
 * A filter is torn when its cells may come from several moments. This matters for kinds with
 * removals (kind.h, BLM_OWN_TORN); for the others these functions do nothing. A copy is torn if its
 * source was torn, or changed while it was read. A filter is torn while others are united with it,
 * from before the first changed cell to the end, so a death in the middle leaves it torn. Return:
 * was it torn before?
 */
static inline bool blm_tear(struct blm_view *view)
{
	uint64_t *torn = &live_of(view)->own[BLM_OWN_TORN].word;
	bool was = kind_may_be_torn(view->root.kind) && load_acquire(torn);

	if (kind_may_be_torn(view->root.kind)) {
		store_release(torn, 1);
		full_fence();
	}
	return was;
}

static inline void blm_mend(struct blm_view *view)
{
	if (kind_may_be_torn(view->root.kind))
		store_release(&live_of(view)->own[BLM_OWN_TORN].word, 0);
}

/*
 * Between these two calls only the caller tears or mends the filter. Removals wait, and so do
 * readers of the whole filter: a union that began and ended while they read would leave no trace.
 */
static inline int blm_lock_torn(const struct blm_filter *f, struct blm_view *view)
{
	int fd;

	if (!kind_may_be_torn(view->root.kind))
		return 0;
	fd = blm_view_fd((struct blm_filter *)f, view);
	return fd < 0 ? fd : blm_lock_writing(view, true);
}

static inline void blm_unlock_torn(struct blm_view *view)
{
	if (kind_may_be_torn(view->root.kind))
		blm_unlock_writing(view);
}

#endif
