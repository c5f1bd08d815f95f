/*
 * open.c - opening the file of a handle's name: the current view, recovered after a power cut
 */
#include "durable/checkpoint.h"
#include "file/os.h"
#include "file/two_slots.h"
#include "handle/allowlist.h"
#include "handle/exclusive.h"
#include "handle/name_record.h"
#include "place/boot.h"

#include <fcntl.h>
#include <unistd.h>

/*
 * A writer corrects a state if the process that set it is dead. Returns whether the name still
 * leads to this file. While a living process replaces the file, nothing is set and the caller does
 * not wait: a process that replaces again and again would win every race.
 */
static int settle_state(struct blm_filter *f, struct blm_view *view)
{
	int r = 0;

	if (!f->write || blm_ofd_held(view->image.fd, BLM_LOCK_REPLACE))
		return blm_is_at_place(f, view);
	r = blm_lock_exclusive(&view->lock, view->image.fd);
	if (r < 0)
		return r;
	r = blm_is_at_place(f, view);
	if (r == 1) {
		set_state(view, BLM_LIVE);
		atomic_store(&view->seen_state, load_acquire(&live_of(view)->state.word));
		view->owners = owners_of(atomic_load(&view->seen_state));
	}
	blm_unlock_exclusive(&view->lock, view->image.fd);
	return r;
}

/*
 * The file's last sync record is never behind the catalog, because a sync updates the catalog last.
 * The caller looked the catalog up first. So if the record is behind, the file is an older copy.
 * While others sync, a look at the two records can miss the later one; the next looks see it.
 */
static void compare_told(struct blm_view *view, const struct blm_told *told)
{
	const struct blm_live *live = live_of(view);
	bool older = told->epoch != 0;

	for (int looks = 0; older && looks < 3; looks++) {
		struct blm_sync_record last = { 0 };

		blm_last_sync(live, view->constant.uuid, &last);
		older = le64toh(last.epoch) < told->epoch
			&& !blm_syncs_lost(live, view->constant.uuid);
	}
	if (older)
		view->told = *told;
}

/*
 * Open the file at the handle's place, as a view that is the filter at this moment.
 *
 * A file that was just found by its name can have a state other than LIVE. Either a replacement is
 * under way: then the name may lead elsewhere now, so look again; if it does not, the view is good,
 * and its first call looks again. Or a process that died, or a copy, left the state: then it means
 * nothing.
 */
static int open_live(struct blm_view **ret, struct blm_filter *f)
{
	for (int tries = 0; tries < 1000; tries++) {
		struct blm_view *view;
		struct blm_told told;
		uint64_t state;
		int fd = blm_place_open(&f->place, f->write, &told), r;

		if (fd < 0)
			return fd;
		r = blm_view_make(&view, fd, f->place.display, f->write);
		if (r < 0)
			return r;
		view->holes |= f->place.memory != NULL;
		compare_told(view, &told);
		state = view->last_seen;
		if (state_of(state) != BLM_LIVE) {
			set_seen(view, BLM_NEVER);	/* look again at the first call */
			r = settle_state(f, view);
		} else {
			r = 1;
		}
		if (r == 1) {
			*ret = view;
			return 0;
		}
		blm_view_free(view);
		if (r < 0)
			return r;
	}
	return blm_fail(-EBUSY, "%s: replaced again and again while it was opened",
			f->place.display);
}

/*
 * A copy made while its original was synced can have the sync record of an epoch that its copied
 * `epoch` has not reached; then changes would not show as unsynced. Where no copying was in the
 * way, epoch is above both.
 */
static int mend_epoch(struct blm_view *view, const char *display)
{
	struct blm_live *live = live_of(view);
	struct blm_sync_record last = { 0 };
	uint64_t least;
	int r;

	blm_last_sync(live, view->constant.uuid, &last);
	if (load_acquire(&live->epoch.word) > BLM_EPOCH_MAX
	    || load_acquire(&live->written.word) > BLM_EPOCH_MAX
	    || le64toh(last.epoch) > BLM_EPOCH_MAX)
		return blm_fail(-EUCLEAN, "%s: damaged: its header says that it was synced 2^63 "
				"times; it can be read, not changed", display);
	if (load_acquire(&live->epoch.word) > le64toh(last.epoch)
	    && load_acquire(&live->written.word) <= load_acquire(&live->epoch.word))
		return 0;
	r = blm_lock_syncing(view);
	if (r < 0)
		return r;
	blm_last_sync(live, view->constant.uuid, &last);
	least = load_acquire(&live->written.word);
	if (least <= le64toh(last.epoch))
		least = blm_epoch_after(le64toh(last.epoch));
	if (load_acquire(&live->epoch.word) < least)
		store_release(&live->epoch.word, least);
	blm_unlock_syncing(view);
	return 0;
}

/* Dropped or replaced since it was opened, and with it went its secret? */
static bool is_gone(const struct blm_filter *f, const struct blm_view *view)
{
	int r = f->place.store ? blm_is_at_place(f, view) : 1;

	return r == 0 || r == -ENOENT;
}

/* Changed since its last sync, before the last restart of the machine. */
static bool was_cut(const struct blm_view *view)
{
	const struct blm_live *live = live_of(view);
	struct blm_sync_record last = { 0 };

	blm_last_sync(live, view->constant.uuid, &last);
	return load_acquire(&live->written.word) > le64toh(last.epoch)
		&& load_acquire(&live->boot.word) != blm_boot_number();
}

/*
 * For kinds that mind: note it for good, on the disk, before the first change of this boot hides
 * it; or for this view.
 */
static int note_torn(struct blm_view *view, const char *display, bool write)
{
	uint64_t *torn = &live_of(view)->own[BLM_OWN_TORN].word;
	int r;

	if (!kind_may_be_torn(view->root.kind) || is_foreign(view) || load_acquire(torn)
	    || !was_cut(view))
		return 0;
	view->part[0].torn = view->root.torn = !write;
	if (!write)
		return 0;
	r = blm_lock_syncing(view);
	if (r < 0)
		return r;
	if (!load_acquire(torn) && was_cut(view)) {
		store_release(torn, 1);
		r = blm_flush(view, live_of(view), BLM_PAGE);
	}
	blm_unlock_syncing(view);
	return r < 0 ? blm_fail(r, "%s: writing to its file failed: %s", display, strerror(-r)) : 0;
}

/*
 * After a power cut, with all locks held. BLM_LOCK_REPLACE excludes threads that write without a
 * lock (writer_word.h), too, because they are in slots. The state makes readers of the image look
 * again whether they still need it. It is set before the data are good, until the restoring process
 * is done or dead, so readers see later changes of others.
 */
static int restore(struct blm_filter *f, struct blm_view *view)
{
	int fd = view->image.fd, r = blm_lock_exclusive(&view->lock, fd);

	if (r < 0)
		return r;
	r = blm_lock_syncing(view);
	if (r == 0) {
		r = blm_ofd_lock(fd, BLM_LOCK_WRITE, true);
		if (r == 0 && blm_checkpoint_is_needed(view)) {
			enum blm_state state = state_of(load_acquire(&live_of(view)->state.word));

			set_state(view, BLM_REPLACING);
			r = blm_checkpoint_restore(view, f->place.display);
			set_state(view, state);
		}
		set_seen(view, view->last_seen == BLM_NEVER ? BLM_NEVER
			 : load_acquire(&live_of(view)->state.word));
		blm_ofd_unlock(fd, BLM_LOCK_WRITE);
		blm_unlock_syncing(view);
	}
	blm_unlock_exclusive(&view->lock, fd);
	return r;
}

/*
 * A rename that was cut short is ended by the next process that opens the file for changes. One
 * that is under way holds the lock.
 */
static void finish_rename(const struct blm_filter *f, const struct blm_view *view)
{
	const char *name = blm_place_name(&f->place);

	if (name && !blm_says_name(view, name) && !blm_ofd_busy(view->image.fd, BLM_LOCK_SYNC))
		blm_write_record(f->place.store, name);
}

/*
 * The file has grown: open it by its descriptor. A lent view has no name yet; an exclusive view
 * keeps its lock this way.
 */
static int open_same(struct blm_view **ret, const struct blm_filter *f)
{
	const struct blm_view *now = atomic_load(&f->view);
	struct blm_view *view;
	int fd = fcntl(now->image.fd, F_DUPFD_CLOEXEC, 0);
	int r = fd < 0 ? blm_fail(-errno, "%s: %s", f->place.display, strerror(errno))
		: blm_view_make(&view, fd, f->place.display, true);

	if (r < 0)
		return r;
	view->holes |= f->place.memory != NULL;
	r = blm_view_unlock(view, &f->place, now->secret);
	if (r < 0) {
		blm_view_free(view);
		return r;
	}
	blm_inherit_exclusive(view, now);
	*ret = view;
	return 0;
}

int blm_view_open(struct blm_view **ret, struct blm_filter *f)
{
	struct blm_view *view = NULL;
	int r;

	if (f->lent || blm_shares_description(f))
		return open_same(ret, f);

	/* while there is a descriptor for it: the file may take the last one */
	r = blm_know_boot_at(&f->place);
	if (r < 0)
		return r;
	do {
		blm_view_free(view);
		r = open_live(&view, f);
		if (r < 0)
			return r;
		r = blm_view_unlock(view, &f->place, f->secret);
	} while (r == -ENOKEY && is_gone(f, view));
	if (r == 0 && f->write)
		r = blm_check_boot(view->root.kind,
				   le64toh(view->constant.flags) & BLM_FLAG_SEALED, &f->place);
	if (r == 0 && f->write)
		r = mend_epoch(view, f->place.display);
	if (r == 0)
		r = note_torn(view, f->place.display, f->write);
	if (r == 0 && blm_checkpoint_is_needed(view))
		r = f->write ? restore(f, view) : blm_checkpoint_show(view, f->place.display);
	/* a writer does, or did, and syncs change the image again */
	if (!f->write && (r == -EAGAIN || (r == -EUCLEAN && !blm_checkpoint_is_needed(view)))) {
		blm_view_free(view);
		return blm_view_open(ret, f);
	}
	if (r == 0 && f->write) {
		blm_allow_learn(&f->place, view);
		finish_rename(f, view);
	}
	if (r < 0)
		blm_view_free(view);
	else
		*ret = view;
	return r;
}
