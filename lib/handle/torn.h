/* torn.h - filters whose cells are not of one moment (kind.h, BLM_OWN_CUT) */
#ifndef BLM_TORN_H
#define BLM_TORN_H

#include "handle/handle.h"

/*
 * A filter that is made of one that changed meanwhile, or was cut, is as after a power cut, if its
 * kind minds that (kind.h, BLM_OWN_CUT). So is what others are united with, from before the first
 * cell changes until all is done: who dies in the middle leaves it so. Was it torn before? Of kinds
 * that do not mind nothing happens.
 */
static inline bool blm_tear(struct blm_view *view)
{
	uint64_t *cut = &live_of(view)->own[BLM_OWN_CUT].word;
	bool was = kind_may_be_torn(view->whole.kind) && load_acquire(cut);

	if (kind_may_be_torn(view->whole.kind)) {
		store_release(cut, 1);
		full_fence();
	}
	return was;
}

static inline void blm_mend(struct blm_view *view)
{
	if (kind_may_be_torn(view->whole.kind))
		store_release(&live_of(view)->own[BLM_OWN_CUT].word, 0);
}

/*
 * Between these two it is torn and mended, by nobody else: who takes keys out waits, and so does
 * who reads it whole, to whom a union that began and ended meanwhile would show in nothing.
 */
static inline int blm_lock_torn(const struct blm_filter *f, struct blm_view *view)
{
	int fd;

	if (!kind_may_be_torn(view->whole.kind))
		return 0;
	fd = blm_view_fd((struct blm_filter *)f, view);
	return fd < 0 ? fd : blm_lock_writing(view, true);
}

static inline void blm_unlock_torn(struct blm_view *view)
{
	if (kind_may_be_torn(view->whole.kind))
		blm_unlock_writing(view);
}

#endif
