/*
 * lock_current.c - the file that a handle's name leads to now, locked (the protocol is in
 * replace.c)
 */
#include "handle/handle.h"

/*
 * No other process may change the file. A sync that is under way ends first: in a store the caller
 * will wait for that sync, and adders and claimers would wait for both. A holder of
 * BLM_LOCK_REPLACE may take BLM_LOCK_SYNC, so the other order is not allowed.
 */
int blm_lock_out(struct blm_view *view, int fd)
{
	int r = blm_lock_syncing(view);

	if (r < 0)
		return r;
	blm_unlock_syncing(view);
	return blm_lock_exclusive(&view->lock, fd);
}

/* Locks the current file of the handle's name, in the state that the holder of the lock finds. */
int blm_lock_current(struct blm_filter *f, struct blm_view **ret)
{
	for (;;) {
		struct blm_view *view = current_view(f);
		int fd = blm_view_fd(f, view), r;
		bool live;

		if (fd < 0)
			return fd;
		r = blm_lock_out(view, fd);
		if (r < 0)
			return r;
		r = blm_place_is(&f->place, view->image.device, view->image.inode,
				 view->constant.uuid);
		if (r == 1 && has_all_parts(view)) {
			*ret = view;
			return 0;
		}
		live = state_of(load_acquire(&live_of(view)->state.word)) == BLM_LIVE;
		blm_unlock_exclusive(&view->lock, fd);
		/* our file was not replaced, so looking again would find it again */
		if (r == 0 && live)
			return blm_fail(-ESTALE, "%s: another file has this name now: open it "
					"anew", f->place.display);
		if (r == -ENOENT)
			return blm_fail(-ENOENT, "%s: no such filter any more", f->place.display);
		if (r < 0)
			return r;
		blm_view_renew(f, view);
	}
}
