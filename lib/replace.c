/*
 * replace.c - one file in the place of another, in one step for everyone: publishing, in-place AND, dropping
 *
 * The protocol, in the file that is being replaced (struct blm_live, state):
 *
 *   replacer   takes BLM_LOCK_REPLACE exclusively; looks whether the name still leads here; state := REPLACING; full fence;
 *              copies what it needs; puts the new file in place (rename(2), or a commit of the catalog: the one step);
 *              state := REPLACED; deletes the old file (a path's is gone already); gives the lock back.
 *   adder      sets its bits; full fence; looks at the state. LIVE: the copy, if there is one, began later and has the bits.
 *              Else it waits for the lock, that is for the replacer, dead or done, and looks the name up: another file, and the
 *              keys are added again, there; the same, and the replacer died before its one step: state := LIVE, they stand.
 *   claimer    holds BLM_LOCK_REPLACE shared for its batch, so nothing is replaced under it.
 *   reader     loads the state word once a call. Changed: it looks the name up (view.c).
 *
 * Whoever dies leaves its lock to the next; the state that it leaves means nothing once the lock is free, as does that
 * of a copied file. The word's upper bits count every change, so that no state is taken for an earlier one.
 */
#include "filter.h"
#include "replace.h"
#include "store.h"

#include <sys/stat.h>

static unsigned mode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0600 : st.st_mode & 0777;
}

/* Lock what the handle's name leads to now, with the state as the lock's holder finds it. */
static int lock_current(struct blm_filter *f, struct blm_view **ret)
{
	for (;;) {
		struct blm_view *view = current_view(f);
		int fd = blm_view_fd(f, view), r;

		if (fd < 0)
			return fd;
		r = blm_lock_exclusive(&view->lock, fd);
		if (r < 0)
			return r;
		r = blm_place_is(&f->place, view->image.device, view->image.inode, view->constant.uuid);
		if (r == 1) {
			*ret = view;
			return 0;
		}
		blm_unlock_exclusive(&view->lock, fd);
		if (r == -ENOENT)
			return blm_fail(-ENOENT, "%s: no such filter any more", f->place.shown);
		if (r < 0)
			return r;
		blm_view_renew(f, view);
	}
}

static void unlock(struct blm_view *view)
{
	blm_unlock_exclusive(&view->lock, view->image.fd);
}

/* The new file has the old one's name and labels. */
static void keep_record(struct blm_view *new, const struct blm_view *old)
{
	struct blm_record record;

	if (blm_last_record(old->image.header, old->constant.uuid, &record))
		blm_next_record(new->image.header, new->constant.uuid, &record);
}

static int replace(struct blm_filter *f, struct blm_view *old, const struct blm_making *wanted,
		   int (*fill)(struct blm_view *view, const struct blm_view *old, void *context), void *context)
{
	struct blm_making *making = malloc(sizeof(*making));
	struct blm_unborn unborn;
	int r;

	if (!making)
		return blm_fail(-ENOMEM, "%s: out of memory", f->place.shown);
	if (wanted) {
		*making = *wanted;
	} else {
		blm_making_like(making, old);
		making->mode = mode_of(old->image.fd);
	}
	r = blm_unborn_make(&unborn, &f->place, making);
	free(making);
	if (r < 0)
		return r;
	keep_record(unborn.view, old);
	r = fill(unborn.view, old, context);
	if (r == 0)
		r = blm_unborn_publish(&unborn, &f->place, old->constant.uuid);
	blm_unborn_end(&unborn);
	return r;
}

int blm_replace(const struct blm_place *place, const struct blm_making *making,
		int (*fill)(struct blm_view *view, const struct blm_view *old, void *context), void *context)
{
	struct blm_filter *f;
	struct blm_view *old;
	char *path = place->store ? NULL : realpath(place->name, NULL);
	int r;

	if (!place->store && !path && errno != ENOENT)
		return blm_fail(-errno, "%s: %s", place->shown, strerror(errno));
	/* of a path with links the file that it leads to is replaced, and not the link: others come to it by other paths */
	r = blm_open(&f, place->store, path ? path : place->name, true);
	free(path);
	if (r == -EBADMSG || r == -ENODATA || r == -EUCLEAN || r == -ENOKEY) {
		char why[512];

		strncpy(why, blm_why(), sizeof(why) - 1);
		why[sizeof(why) - 1] = '\0';
		return blm_fail(r, "%s; what does not open is not replaced: drop it, or remove the file, first", why);
	}
	if (r < 0)
		return r;
	r = lock_current(f, &old);
	if (r == 0) {
		set_state(old, BLM_REPLACING);
		r = replace(f, old, making, fill, context);
		set_state(old, r == 0 ? BLM_REPLACED : BLM_LIVE);
		if (r == 0)
			blm_place_forget(place, old->constant.uuid);
		unlock(old);
	}
	blm_close(f);
	return r;
}

/* ---- Publishing ---- */

static int fill_with_copy(struct blm_view *new, void *from)
{
	return blm_copy_into(new, from);
}

static int fill_over(struct blm_view *new, const struct blm_view *old, void *from)
{
	return blm_copy_into(new, from);
}

BLM_API int blm_store_publish(struct blm_store *store, const char *name, const struct blm_filter *from, unsigned mode)
{
	struct blm_view *view = current_view(from);
	struct blm_making *making = malloc(sizeof(*making));
	struct blm_place place;
	int r = making ? blm_place_set(&place, store, name) : blm_fail(-ENOMEM, "%s: out of memory", name);

	if (r < 0) {
		free(making);
		return r;
	}
	blm_making_like(making, view);
	making->mode = mode;
	r = -EEXIST;
	for (int tries = 0; r == -EEXIST && tries < 100; tries++) {	/* somebody may drop or make the name in between */
		r = blm_replace(&place, making, fill_over, view);
		if (r == -ENOENT)
			r = blm_make(NULL, store, name, making, fill_with_copy, view);
	}
	blm_place_clear(&place);
	free(making);
	return r;
}

/* ---- Dropping ---- */

/* Mark, commit, delete: a handle that sees the mark looks the name up, and it is gone; or it is not, and the mark means nothing. */
static int drop(struct blm_store *store, const char *name, struct blm_filter *f)
{
	struct blm_view *view;
	int r = lock_current(f, &view);

	if (r < 0)
		return r;
	set_state(view, BLM_DROPPED);
	r = blm_catalog_remove(store->catalog, name, view->constant.uuid);
	if (r == 0)
		blm_store_forget(store, view->constant.uuid);
	else
		set_state(view, BLM_LIVE);
	unlock(view);
	return r;
}

/* A filter whose file is lost, or damaged so that it does not open, can be dropped all the same. */
static int drop_unopened(struct blm_store *store, const char *name)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	int r = entry ? blm_catalog_get(store->catalog, name, entry) : blm_fail(-ENOMEM, "%s: out of memory", name);

	if (r == 0 || r == -EUCLEAN) {
		bool known = r == 0;

		r = blm_catalog_remove(store->catalog, name, known ? entry->constant.uuid : NULL);
		if (r == 0 && known)
			blm_store_forget(store, entry->constant.uuid);
	}
	free(entry);
	return r == -ENOENT ? blm_fail(-ENOENT, "%s: no filter of that name in %s; see `bloomery ls`", name, store->dir) : r;
}

BLM_API int blm_store_drop(struct blm_store *store, const char *name)
{
	struct blm_filter *f;
	int r = blm_open(&f, store, name, true);

	if (r == 0) {
		r = drop(store, name, f);
		blm_close(f);
		return r;
	}
	if (r == -EBADMSG || r == -ENODATA || r == -EUCLEAN || r == -EPROTONOSUPPORT || r == -ENOKEY)
		return drop_unopened(store, name);
	return r;
}
