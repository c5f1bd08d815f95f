/* change.c - a change to a file that others may change, sync or replace at the same moment */
#include "file/system.h"
#include "filter.h"

#include <sodium.h>

/* ---- Changing ---- */

/* Raise `written` to the current epoch (format.h has the protocol). */
static void mark_written(struct blm_live *live)
{
	uint64_t epoch = load_acquire(&live->epoch.word), old = __atomic_load_n(&live->written.word, __ATOMIC_RELAXED);

	if (le64toh(old) >= epoch)
		return;
	while (le64toh(old) < epoch
	       && !__atomic_compare_exchange_n(&live->written.word, &old, htole64(epoch), true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	store_release(&live->boot.word, blm_boot_number());
}

static int may_change(struct blm_filter *f)
{
	int status;

	if (!f->write)
		return blm_fail(-EBADF, "%s: opened for reading only", f->place.shown);
	status = atomic_load(&f->status);
	if (status == -ESTALE)
		return blm_fail(status, "%s: the filter was dropped", f->place.shown);
	return status < 0 ? blm_fail(status, "%s: was replaced, and what replaced it does not open: %s", f->place.shown,
				     blm_strerror(status)) : 0;
}

int blm_change_begin(struct blm_filter *f, struct blm_view **ret)
{
	struct blm_view *view = current_view(f);
	int r = may_change(f);

	if (r < 0)
		return r;
	if (le64toh(view->constant.flags) & BLM_FLAG_SEALED)
		return blm_fail(-EROFS, "%s: sealed, so it does not change", f->place.shown);
	mark_written(live_of(view));
	*ret = view;
	return 0;
}

/*
 * The state is looked at after the last bit is set, with a full fence in between; who replaces sets the state, with a full
 * fence, before it copies. So either the copy has the bits, or the writer sees the state. Then it waits for the replacer,
 * who holds the lock until all is done or it is dead, and looks the name up: another file, and the keys go into that; the
 * same one, and the replacer died, so the state is set right and the keys stand.
 */
static int settle(struct blm_filter *f, struct blm_view *view)
{
	int fd = blm_view_fd(f, view), r;

	if (fd < 0)
		return fd;
	r = blm_lock_exclusive(&view->lock, fd);
	if (r < 0)
		return r;
	r = blm_place_is(&f->place, view->image.device, view->image.inode, view->constant.uuid);
	if (r == 1 && state_of(load_acquire(&live_of(view)->state.word)) != BLM_LIVE)
		set_state(view, BLM_LIVE);
	if (r == 1) {
		atomic_store(&view->seen_state, load_acquire(&live_of(view)->state.word));
		atomic_store(&f->status, 0);
	}
	blm_unlock_exclusive(&view->lock, fd);
	if (r == 1)
		return 0;
	return -EAGAIN;		/* begin() renews the view, and says if there is nothing to go on to */
}

int blm_change_end(struct blm_filter *f, struct blm_view *view)
{
	uint64_t state;

	full_fence();
	mark_written(live_of(view));
	state = load_acquire(&live_of(view)->state.word);
	if (state == atomic_load_explicit(&view->seen_state, memory_order_relaxed) && state_of(state) == BLM_LIVE)
		return 0;
	return settle(f, view);
}

int blm_change_begin_held(struct blm_filter *f, struct blm_view **ret)
{
	for (;;) {
		struct blm_view *view;
		int r = blm_change_begin(f, &view), fd;

		if (r < 0)
			return r;
		fd = blm_view_fd(f, view);
		if (fd < 0)
			return fd;
		r = blm_lock_shared(&view->lock, fd);
		if (r < 0)
			return r;
		/* nobody is replacing now, so what the name says is true until end() */
		if (is_current(view)) {
			*ret = view;
			return 0;
		}
		r = blm_place_is(&f->place, view->image.device, view->image.inode, view->constant.uuid);
		if (r == 1) {
			atomic_store(&view->seen_state, load_acquire(&live_of(view)->state.word));
			atomic_store(&f->status, 0);
			*ret = view;
			return 0;
		}
		blm_unlock_shared(&view->lock, fd);
		if (r < 0 && r != -ENOENT)
			return r;
	}
}

void blm_change_end_held(struct blm_filter *f, struct blm_view *view)
{
	full_fence();
	mark_written(live_of(view));
	blm_unlock_shared(&view->lock, view->image.fd);
	(void)f;
}

int blm_view_fd(struct blm_filter *f, struct blm_view *view)
{
	int r = 0;

	pthread_mutex_lock(&f->renewing);
	if (view->image.fd < 0) {
		struct blm_view *again;
		int fd = blm_place_open(&f->place, f->write);

		r = fd;
		if (fd >= 0)
			r = blm_view_make(&again, fd, f->place.shown, f->write);
		if (fd >= 0 && r == 0) {
			if (again->image.device == view->image.device && again->image.inode == view->image.inode) {
				view->image.fd = again->image.fd;
				again->image.fd = -1;
			} else {
				r = blm_fail(-ESTALE, "%s: was replaced before a forked process could open it", f->place.shown);
			}
			blm_view_free(again);
		}
	}
	pthread_mutex_unlock(&f->renewing);
	return r < 0 ? r : view->image.fd;
}

/* ---- Counting ---- */

static unsigned my_stripe(void)
{
	static _Thread_local unsigned stripe;	/* number + 1 */

	if (!stripe) {
		unsigned random = 0;

		randombytes_buf(&random, sizeof(random));
		stripe = random % BLM_STRIPES + 1;
	}
	return stripe - 1;
}

void blm_count_keys(struct blm_view *view, uint64_t n)
{
	if (n)
		add_relaxed(&view->image.header->stripe[my_stripe()].keys, n);
}

uint64_t blm_counted_keys(const struct blm_view *view)
{
	uint64_t sum = 0;

	for (int i = 0; i < BLM_STRIPES; i++)
		sum += load_relaxed(&view->image.header->stripe[i].keys);
	return sum;
}

int blm_cannot(const struct blm_view *view, const struct blm_filter *f, const char *what, unsigned can)
{
	char names[256];

	return blm_fail(-EOPNOTSUPP, "%s: a %s filter cannot %s; these kinds can: %s", f->place.shown, view->part[0].kind->name, what,
			blm_kinds_that_can(can, names, sizeof(names)));
}
