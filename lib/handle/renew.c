/*
 * renew.c - another view takes the place of a handle's, when its file is no longer the filter, or
 * has grown
 */
#include "durable/checkpoint.h"
#include "durable/flush.h"
#include "handle/exclusive.h"

#include <unistd.h>

/*
 * The state word has changed since the last look-up of the name. Looks the name up again: either
 * the same file stays in use (a replacement is under way, or was abandoned), or another file
 * replaces it. While a living process replaces or drops the file, every call must look again,
 * because the name can change before the state does. Without such a process the result holds until
 * the state word changes, which seen_state then records. The check for a living process comes
 * before the look-up: after it, a process that died in between would be missed. If the file has had
 * another exclusive owner since, a handle for writing moves to a new view of it: changes that began
 * in this view are repeated (exclusive.c). behind: the file is known to differ from the view.
 */
static int look_again(struct blm_filter *f, struct blm_view *view, bool behind, bool *ret_changed)
{
	uint64_t state = load_acquire(&live_of(view)->state.word), seen = view->image.unsure
		? view->last_seen : atomic_load(&view->seen_state);
	bool under_way = state_of(state) != BLM_LIVE
		&& (view->image.fd < 0 || blm_ofd_held(view->image.fd, BLM_LOCK_REPLACE));
	bool same_owner = !f->write || owners_of(state) == view->owners;
	int r = state == seen && !behind ? 1 : blm_is_at_place(f, view);

	if (r == 1 && !behind && same_owner
	    && !(view->shows_image && !blm_checkpoint_is_needed(view))
	    && load_acquire(&live_of(view)->parts.word) == view->parts) {
		if (!under_way)
			set_seen(view, state);
		*ret_changed = false;
		return 0;
	}
	if (r == -ENOENT || (r == 0 && state_of(state) == BLM_DROPPED)) {
		set_seen(view, state);		/* for good: no need to look again at every call */
		return blm_fail(-ESTALE, "%s: the filter was dropped", f->place.display);
	}
	*ret_changed = true;
	return r < 0 ? r : 0;
}

/*
 * The new file may be dropped, or replaced as well, before it is opened: then the name is looked up
 * again. A name whose file is missing is not looked up for ever.
 */
static int open_if_changed(struct blm_filter *f, struct blm_view *now, bool behind,
			   struct blm_view **ret_fresh)
{
	int r, tries = 0;

	do {
		bool changed = false;

		r = look_again(f, now, behind, &changed);
		if (r == 0 && changed)
			r = blm_view_open(ret_fresh, f);
	} while (r == -ENOENT && ++tries < 3);
	return r;
}

/* Frees the views that no thread can be using any more, and no caller has by blm_data_map(). */
static void free_older(struct blm_view *view)
{
	uint64_t oldest = view->older ? blm_oldest_reclaim_epoch() : 0;

	while (view->older) {
		struct blm_view *older = view->older;

		if (older->replaced < oldest && !older->pins) {
			view->older = older->older;
			blm_view_free(older);
		} else {
			view = older;
		}
	}
}

/*
 * The system reports nothing to the new view's descriptions that it has told another process before
 * they were opened. A sync that fails in the old view from now on stores that in the new one, too
 * (fail_to_write()).
 */
static void carry_failures(struct blm_view *new, struct blm_view *old)
{
	if (atomic_load(&old->untold) || blm_take_report(old) < 0)
		atomic_store(&new->untold, true);
	atomic_store(&new->failed, atomic_load(&old->failed));
}

static void replace_view(struct blm_filter *f, struct blm_view *old, struct blm_view *new)
{
	bool same = !memcmp(new->constant.uuid, old->constant.uuid, sizeof(old->constant.uuid));

	new->older = old;
	if (same)
		carry_failures(new, old);
	atomic_store(&f->view, new);
	/* of a sync that did not see the new view */
	if (same && atomic_load(&old->failed))
		atomic_store(&new->failed, atomic_load(&old->failed));
	old->replaced = blm_advance_reclaim_epoch();
	if (!f->lent)
		free_older(old);
}

/*
 * The writer's and the reader's reaction to a changed state or part count. Returns the view to go
 * on with, maybe the old one.
 */
struct blm_view *blm_view_renew(const struct blm_filter *reader, struct blm_view *view)
{
	struct blm_filter *f = (struct blm_filter *)reader;
	struct blm_view *now, *fresh = NULL;
	bool behind;
	int r = 0;

	pthread_mutex_lock(&f->renewing);
	now = atomic_load(&f->view);
	if (now == view || !is_current(now)) {
		behind = now->image.unsure && blm_image_is_behind(&now->image);
		r = open_if_changed(f, now, behind, &fresh);
		/* a file that is copied up, or made there, stays there */
		if (fresh && behind && now->image.fd >= 0) {
			fresh->image.unsure = false;
			set_seen(fresh, fresh->last_seen);
		}
		if (fresh) {
			r = blm_ask_admission(f, fresh);
			/* before a thread can change the filter through the new view */
			atomic_store(&f->status, r);
			/* the other threads go on while it is loaded, as far as that can be done */
			replace_view(f, now, fresh);
			if (f->load)
				blm_view_load(now, 0, f->place.display);
			if (f->load)
				blm_view_load(fresh, f->load, f->place.display);
			now = fresh;
		} else if (r == 0) {
			r = blm_ask_admission(f, now);
		}
		atomic_store(&f->status, r);
	}
	pthread_mutex_unlock(&f->renewing);
	return now;
}
