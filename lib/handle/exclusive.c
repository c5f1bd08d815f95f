/*
 * exclusive.c - the only handle that changes a filter (BLM_OPEN_EXCLUSIVE)
 *
 *   lock   BLM_LOCK_EXCLUSIVE, a write lock that the description of the handle's view holds until
 *          the view is closed, or its process ends
 *   state  the state word. Each call of a handle compares it with what it last saw (view.h)
 *
 *   owner          1. hold BLM_LOCK_REPLACE exclusively: no thread is in a change that is done once
 *                  2. take BLM_LOCK_EXCLUSIVE, or fail with -EBUSY
 *                  3. count the owners in the state word up, LIVE as before; full fence
 *                  4. take BLM_LOCK_SYNC and give it back: a sync that did not see 3 has ended
 *                  5. give the lock of 1 back
 *   other handle   1. load the state word, and remember it
 *                  2. if the word counts owners, ask whether another description holds
 *                     BLM_LOCK_EXCLUSIVE. Held: -EBUSY
 *                  3. change bits, if the state word is the one of 1
 *                  4. full fence; load the state word. Another one: the change may be lost, so 1
 *
 * Another handle that went on after its step 2 loaded the state word before the owner's step 3:
 * either the lock was free after that load, or the word counted no owners, and an owner never makes
 * the count 0. A change that the handle ended before the owner's step 3 is complete, and the owner
 * loads it after its fence. It reports no later change: its step 3 or 4 finds another word, and its
 * step 2 then finds the lock held, or the owner gone. Bits that it set in between may be lost,
 * because the owner stores whole words. That is no damage: the change is made again, or fails. The
 * count of owners distinguishes an owner that came and went from a replacement that failed.
 *
 * All threads of a handle share the word that step 1 remembers in the view. So a view never takes
 * over the word of another owner. Instead the handle makes a new view (look_again()), for which it
 * does step 2, and a change that began in the old view finds another word in its step 4.
 *
 * Changes that are done once, replacements and drops hold BLM_LOCK_REPLACE, or are present in
 * slots. A holder of that lock asks 2 after it has the lock (lock_replace()). Syncs ask it under
 * BLM_LOCK_SYNC. An owner that dies leaves nothing: other handles ask 2 again at each change.
 *
 * No other handle changes, syncs or replaces the filter. So in kinds that only set bits the owner
 * needs no lock for a change, and no atomic read-modify-write (struct blm_part, unshared).
 * Therefore only one thread of the owner may change or sync at a time. Owners of other kinds change
 * the filter as every writer does.
 */
#include "handle/exclusive.h"

static int refuse(const struct blm_filter *f)
{
	return blm_fail(-EBUSY, "%s: another handle has opened it exclusively; close that handle, "
			"or end its process", f->place.display);
}

/* An owner takes no slots. Closing the descriptor releases those that it has. */
static void be_exclusive(struct blm_view *view)
{
	view->exclusive = true;
	if (!kind_only_sets(view->root.kind))
		return;
	blm_presence_end(&view->presence);
	view->presence.live = NULL;
	set_unshared(view, true);
}

/* The count is never 0 again: other handles do not ask for an owner while it is 0. */
static void count_owner(struct blm_view *view)
{
	uint64_t *word = &live_of(view)->state.word, next = load_acquire(word);

	next = (next >> BLM_OWNERS_SHIFT) + 1;
	if (next >> (64 - BLM_OWNERS_SHIFT))
		next = 1;
	store_release(word, next << BLM_OWNERS_SHIFT | BLM_LIVE);
	full_fence();
}

static void own(struct blm_filter *f, struct blm_view *view)
{
	const uint64_t *word = &live_of(view)->state.word;

	be_exclusive(view);
	pthread_mutex_lock(&f->renewing);
	view->owners = owners_of(load_acquire(word));
	set_seen(view, load_acquire(word));
	f->exclusive = true;
	atomic_store(&f->status, 0);
	pthread_mutex_unlock(&f->renewing);
}

int blm_own_exclusively(struct blm_filter *f)
{
	struct blm_view *view;
	int r = blm_lock_current(f, &view);

	if (r < 0)
		return r;
	if (!view->exclusive && !blm_ofd_try(view->image.fd, BLM_LOCK_EXCLUSIVE))
		r = refuse(f);
	if (r == 0) {
		count_owner(view);
		r = blm_lock_syncing(view);
	}
	if (r == 0) {
		blm_unlock_syncing(view);
		own(f, view);
	} else if (!view->exclusive) {
		blm_ofd_unlock(view->image.fd, BLM_LOCK_EXCLUSIVE);
	}
	blm_unlock_exclusive(&view->lock, view->image.fd);
	return r;
}

int blm_ask_owner(const struct blm_filter *f, const struct blm_view *view)
{
	if (!f->write || f->lent || view->exclusive)
		return 0;
	/* in a forked child, which asks before its next change */
	if (f->exclusive || view->image.fd < 0)
		return -EBUSY;
	return blm_ofd_held(view->image.fd, BLM_LOCK_EXCLUSIVE) ? refuse(f) : 0;
}

int blm_ask_replacement(const struct blm_filter *f, const struct blm_view *view)
{
	return view->exclusive ? blm_fail(-EBUSY, "%s: this handle has it open exclusively, so its "
					  "file cannot be replaced; close the handle, and open the "
					  "filter for writing", f->place.display) : 0;
}

int blm_ask_admission_again(struct blm_filter *f)
{
	struct blm_view *view = current_view(f);
	int r;

	if (f->exclusive)
		return blm_own_exclusively(f);
	while ((r = blm_view_fd(f, view)) == -ESTALE && current_view(f) != view)
		view = current_view(f);
	if (r < 0)
		return r;
	pthread_mutex_lock(&f->renewing);
	r = blm_ask_admission(f, atomic_load(&f->view));
	atomic_store(&f->status, r);
	pthread_mutex_unlock(&f->renewing);
	return r;
}

void blm_inherit_exclusive(struct blm_view *view, const struct blm_view *from)
{
	if (from->exclusive)
		be_exclusive(view);
}

void blm_lose_exclusive(struct blm_filter *f, struct blm_view *view)
{
	if (!view->exclusive)
		return;
	view->exclusive = false;
	set_unshared(view, false);
	atomic_store(&f->status, -EBUSY);
}
