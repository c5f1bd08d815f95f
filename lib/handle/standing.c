/*
 * standing.c - does the place of a handle still lead to its file? And the descriptor of that file
 * in a forked process
 */
#include "handle/exclusive.h"

/* The error of the view, and of the file that replaced it, as far as the handle noticed. */
static int known_status(const struct blm_filter *f)
{
	int status = blm_check_sigbus(atomic_load(&f->view), f->place.display);

	if (status < 0)
		return status;
	status = atomic_load(&((struct blm_filter *)f)->status);
	if (status == -EBUSY)
		return blm_ask_admission_again((struct blm_filter *)f);
	if (status == -ESTALE)
		return blm_fail(status, "%s: the filter was dropped", f->place.display);
	return status < 0 ? blm_fail(status, "%s: was replaced, or grew, and its new file cannot "
				     "be opened: %s", f->place.display,
				     blm_strerror(status)) : 0;
}

int blm_tell_status(const struct blm_filter *f)
{
	return f->write ? known_status(f)
		: blm_fail(-EBADF, "%s: opened for reading only", f->place.display);
}

static int tell_standing(const struct blm_filter *f, enum blm_standing standing)
{
	switch (standing) {
	case BLM_STANDS:
		return 0;
	case BLM_DELETED:
		return blm_fail(-ESTALE, "%s: the file was deleted while it was open, so its keys "
				"are lost; create it anew", f->place.display);
	case BLM_DISPLACED:
		return blm_fail(-ESTALE, "%s: another file took its place while it was open, so "
				"keys added here are lost; open it again",
				f->place.display);
	case BLM_MOVED:
		return blm_fail(-ENOENT, "%s: the file was moved while it was open; move it back, "
				"or open it where it is now", f->place.display);
	}
	return 0;
}

/*
 * A process that replaces or drops a filter by our protocol changes the state of its file before
 * the path leads elsewhere. So if the view is still current after the look, the path was changed by
 * other means: by rm, by mv, or by a copy in its place. A file that an overlay may copy up becomes
 * another file without a change of state.
 */
int blm_check_standing(const struct blm_filter *f)
{
	struct blm_view *view = current_view(f), *looked;
	enum blm_standing standing;
	int status;

	do {
		looked = view;
		if (f->lent || view->image.unsure)
			return known_status(f);
		standing = blm_place_standing(&f->place, &view->image, view->constant.uuid);
		view = current_view(f);
	} while (standing != BLM_STANDS && view != looked);
	status = known_status(f);
	return status < 0 ? status : tell_standing(f, standing);
}

/*
 * A forked process finds another file at its path. A process that replaces a filter by our protocol
 * changes the state of the old file first. Then the handle moves to the new file, whichever state
 * it saw. If the state is LIVE, another program put the new file there, and the keys added here are
 * lost. A file that an overlay may copy up becomes another file without a change of state.
 */
static int not_ours(struct blm_filter *f, struct blm_view *view)
{
	if (!view->image.unsure
	    && state_of(load_acquire(&live_of(view)->state.word)) == BLM_LIVE)
		return tell_standing(f, BLM_DISPLACED);
	atomic_store(&view->seen_state, UINT64_MAX);
	return blm_fail(-ESTALE, "%s: was replaced before a forked process could open it",
			f->place.display);
}

int blm_view_fd(struct blm_filter *f, struct blm_view *view)
{
	int there = __atomic_load_n(&view->image.fd, __ATOMIC_ACQUIRE), r = 0;

	if (there >= 0)
		return there;
	pthread_mutex_lock(&f->renewing);
	if (view->image.fd < 0) {
		struct blm_view *again;
		int fd = blm_place_open(&f->place, f->write, NULL);

		r = fd;
		if (fd >= 0)
			r = blm_view_make(&again, fd, f->place.display, f->write);
		if (fd >= 0 && r == 0) {
			if (again->image.device == view->image.device
			    && again->image.inode == view->image.inode) {
				__atomic_store_n(&view->image.fd, again->image.fd,
						 __ATOMIC_RELEASE);
				again->image.fd = -1;
			} else {
				r = not_ours(f, view);
			}
			blm_view_free(again);
		}
	}
	pthread_mutex_unlock(&f->renewing);
	return r < 0 ? r : view->image.fd;
}
