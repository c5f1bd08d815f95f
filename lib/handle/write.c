/* write.c - a change to a file that others may change, sync or replace at the same moment */
#include "handle/allowlist.h"
#include "file/os.h"
#include "file/writer_word.h"
#include "handle/exclusive.h"

static bool has_single_writer(const struct blm_view *view)
{
	return kind_has_single_writer(view->root.kind);
}

/* ---- Announcing ---- */

static bool is_announced(const struct blm_live *live)
{
	return load_acquire(&live->announced.word) == load_acquire(&live->epoch.word)
		&& load_acquire(&live->boot.word) == blm_boot_number();
}

/*
 * A process that opens the file after a power cut must know that it was changed. So that is
 * recorded on the disk before the first change after a sync. Under the writers' lock, and not under
 * the sync lock, which is held during the complete write-back: so a failure is recorded in a word
 * of its own, and not in `failed`.
 */
static int announce(const struct blm_filter *f, struct blm_view *view)
{
	struct blm_live *live = live_of(view);
	uint64_t epoch = load_acquire(&live->epoch.word), boot = blm_boot_number(), before;
	int r;

	if (is_announced(live))
		return 0;
	/* left by a process that got a failure, or died */
	before = blm_is_unannounced(live) ? blm_failed_number() : 0;
	blm_mark_written(live);
	store_release(&live->boot.word, boot);
	store_release(&live->announcing.word, before ? before : boot);
	r = blm_write_back(live, BLM_PAGE);
	store_release(&live->announcing.word, r < 0 ? blm_failed_number() : before);
	if (r < 0)
		return blm_fail(r, "%s: cannot write to the disk that it was changed: %s",
				f->place.display,
				strerror(-r));
	store_release(&live->announced.word, epoch);
	return 0;
}

/*
 * For kinds that can be torn and have many writers: the first writer of an epoch announces it, and
 * the others wait for that. A writer asks while it is present, or holds BLM_LOCK_REPLACE shared. A
 * sync first begins the next epoch, and then looks whether a thread does (announce_epoch()). So
 * either the sync sees the change, or the change sees the epoch.
 */
static bool must_announce_alone(const struct blm_filter *f, const struct blm_view *view)
{
	return kind_may_be_torn(view->root.kind) && !f->place.memory
		&& !is_announced(live_of(view));
}

static int announce_alone(struct blm_filter *f, struct blm_view *view)
{
	int r;

	if (!must_announce_alone(f, view))
		return 0;
	r = blm_lock_writing(view, true);
	if (r < 0)
		return r;
	r = announce(f, view);
	blm_unlock_writing(view);
	return r;
}

/* ---- Begin and end ---- */

static int begin(struct blm_filter *f, struct blm_view **ret)
{
	struct blm_view *view = current_view(f);
	int r = blm_may_change(f);

	if (r < 0)
		return r;
	if (!kind_takes_keys(view->root.kind))
		return blm_cannot(view, f, "change once they are built", BLM_CAN_ADD);
	if (le64toh(view->constant.flags) & BLM_FLAG_SEALED)
		return blm_fail(-EROFS, "%s: sealed, so it does not change; blm_copy() makes a "
				"copy that is not sealed", f->place.display);
	blm_mark_written(live_of(view));
	*ret = view;
	return 0;
}

/* It may be of another kind meanwhile, with other needs. */
int blm_change_begin(struct blm_filter *f, struct blm_view **ret)
{
	int r = begin(f, ret);

	while (r == 0 && has_single_writer(*ret)) {
		r = blm_change_begin_held(f, ret);
		if (r < 0 || has_single_writer(*ret))
			break;
		blm_change_end_held(f, *ret);
		r = begin(f, ret);
	}
	return r;
}

/*
 * The writer loads the state after the last bit is set, with a full fence in between; the replacer
 * sets the state, with a full fence, before it copies. So either the copy has the bits, or the
 * writer sees the state. Then the writer waits for the replacer, who holds the lock until all is
 * done or it is dead, and looks the name up. If it finds another file the keys are added to that.
 * If it finds the same file the replacer died, so the state is repaired and the keys are valid.
 */
static int confirm_current(struct blm_filter *f, struct blm_view *view)
{
	int fd = blm_view_fd(f, view), r;

	if (fd < 0)
		return fd == -ESTALE ? -EAGAIN : fd;
	r = blm_lock_exclusive(&view->lock, fd);
	if (r < 0)
		return r;
	r = blm_place_is(&f->place, view->image.device, view->image.inode, view->constant.uuid);
	if (r == 1 && state_of(load_acquire(&live_of(view)->state.word)) != BLM_LIVE)
		set_state(view, BLM_LIVE);
	/* the change is made again in a new view, since an owner may have stored over its bits */
	if (r == 1 && has_new_owners(view))
		r = 0;
	if (r == 1) {
		atomic_store(&view->seen_state, load_acquire(&live_of(view)->state.word));
		atomic_store(&f->status, 0);
	}
	blm_unlock_exclusive(&view->lock, fd);
	if (r == 1)
		return 0;
	/* begin() renews the view, and says if there is nothing to go on to */
	return -EAGAIN;
}

int blm_change_end(struct blm_filter *f, struct blm_view *view)
{
	uint64_t state;
	int r;

	if (has_single_writer(view)) {
		blm_change_end_held(f, view);
		return blm_check_sigbus(view, f->place.display);
	}
	full_fence();
	blm_mark_written(live_of(view));
	state = load_acquire(&live_of(view)->state.word);
	if (state == atomic_load_explicit(&view->seen_state, memory_order_relaxed)
	    && state_of(state) == BLM_LIVE)
		return blm_check_sigbus(view, f->place.display);
	/* a file that was cut has a state of ones, and its locks say nothing */
	r = blm_check_sigbus(view, f->place.display);
	if (r == 0)
		r = confirm_current(f, view);
	return r == 0 ? blm_check_sigbus(view, f->place.display) : r;
}

/* ---- Holding others off ---- */

/* Is the thread in a slot, and in no call within that call (give_back())? */
static bool is_only_present(const struct blm_view *view)
{
	return blm_here.at == &view->presence && !blm_here.locks;
}

static bool must_announce(const struct blm_filter *f, const struct blm_view *view)
{
	return kind_has_checkpoint(view->root.kind) && !f->place.memory
		&& !is_announced(live_of(view));
}

/*
 * 1; or 0: with the lock. Where an epoch must be announced, since others ask for the lock to know
 * whether that is under way (blm_write_among_others(), blm_info()).
 */
static int write_fast(const struct blm_filter *f, struct blm_view *view)
{
	int r;

	if (!is_only_present(view) || must_announce(f, view))
		return 0;
	r = blm_writer_take(&view->presence, view->image.fd);
	if (r <= 0)
		return r;
	/* no sync begins an epoch from here on */
	if (must_announce(f, view)) {
		blm_writer_give(&view->presence);
		return 0;
	}
	blm_here.writes = true;
	return 1;
}

static int write_locked(const struct blm_filter *f, struct blm_view *view)
{
	int r = blm_lock_writing(view, true);

	if (r == 0 && kind_has_checkpoint(view->root.kind) && !f->place.memory) {
		r = announce(f, view);
		if (r < 0)
			blm_unlock_writing(view);
	}
	return r;
}

/*
 * Is this thread the only writer, of a kind for which that matters? No epoch of a kind that
 * announces begins meanwhile.
 */
static int become_writer(struct blm_filter *f, struct blm_view *view)
{
	const struct blm_kind *kind = view->root.kind;
	int r;

	if (!kind_has_single_writer(kind))
		return 0;
	r = write_fast(f, view);
	if (r == 0)
		r = write_locked(f, view);
	if (r < 0)
		return r;
	if (kind->recover)
		kind->recover(&view->root);
	return 0;
}

/* Must an epoch be announced before a change of this kind? */
static bool is_unannounced_epoch(const struct blm_filter *f, const struct blm_view *view)
{
	const struct blm_kind *kind = view->root.kind;

	return (kind_has_checkpoint(kind) || kind_may_be_torn(kind)) && !f->place.memory
		&& !is_announced(live_of(view));
}

/* Present, own the word, in the epoch that was announced: a sync that begins another one waits. */
static bool own_word_in_epoch(const struct blm_filter *f, struct blm_view *view)
{
	const struct blm_live *live = live_of(view);
	uint64_t epoch = load_acquire(&live->epoch.word);

	if (is_unannounced_epoch(f, view)
	    || blm_writer_take(&view->presence, view->image.fd) <= 0)
		return false;
	if (load_acquire(&live->epoch.word) == epoch)
		return true;
	blm_writer_give(&view->presence);
	return false;
}

/* Another thread of the handle may have looked the name up since, and so made the view current. */
static bool is_current_in(struct blm_view *view, uint64_t state)
{
	return load_acquire(&live_of(view)->state.word) == state && is_current(view);
}

bool blm_change_begin_alone(struct blm_filter *f, struct blm_view *view, uint64_t state)
{
	if (!blm_presence_enter(&view->presence))
		return false;
	if (!is_current_in(view, state) || !own_word_in_epoch(f, view)) {
		blm_presence_leave(&view->presence);
		return false;
	}
	blm_here.writes = true;
	blm_mark_written(live_of(view));
	if (view->root.kind->recover)
		view->root.kind->recover(&view->root);
	return true;
}

void blm_change_end_alone(struct blm_view *view)
{
	blm_here.writes = false;
	blm_writer_give(&view->presence);
	blm_presence_leave(&view->presence);
}

int blm_lone_begin(struct blm_filter *f, struct blm_view *view)
{
	int r = is_only_present(view) ? blm_writer_take(&view->presence, view->image.fd) : 0;

	if (r > 0)
		blm_here.writes = true;
	if (r != 0)
		return r < 0 ? r : 0;
	r = blm_view_fd(f, view);
	return r < 0 ? r : blm_lock_writing(view, true);
}

void blm_lone_end(struct blm_view *view)
{
	if (is_only_present(view) && blm_here.writes) {
		blm_here.writes = false;
		blm_writer_give(&view->presence);
	} else {
		blm_unlock_writing(view);
	}
}

/* Is it still the filter, and valid? A process that left the state other than LIVE is dead. */
static int look_up(struct blm_filter *f, struct blm_view *view)
{
	int r = blm_place_is(&f->place, view->image.device, view->image.inode, view->constant.uuid);

	if (r != 1 || !has_all_parts(view) || has_new_owners(view))
		return r < 0 ? r : 0;
	atomic_store(&view->seen_state, load_acquire(&live_of(view)->state.word));
	atomic_store(&f->status, 0);
	return 1;
}

/*
 * A slot is as good as the lock held shared. But views that are lent may share their description
 * with another view, which would then be given the same slots. An epoch is announced under the
 * lock, where the thread may have no slot yet.
 */
static bool enter(const struct blm_filter *f, struct blm_view *view)
{
	if (f->lent || !blm_presence_enter(&view->presence))
		return false;
	if (is_current(view) && !must_announce_alone(f, view))
		return true;
	blm_presence_leave(&view->presence);
	return false;
}

static int share(struct blm_view *view, int fd)
{
	int r = blm_lock_shared(&view->lock, fd);

	if (r == 0 && blm_here.at == &view->presence)
		blm_here.locks++;
	return r;
}

/*
 * The thread's last begin(). A call within a call, from a signal handler, takes the lock, and ends
 * before the outer call.
 */
static void give_back(struct blm_view *view)
{
	bool present = blm_here.at == &view->presence;

	if (is_exclusive(view))
		return;
	if (present && !blm_here.locks) {
		blm_presence_leave(&view->presence);
		return;
	}
	blm_here.locks -= present;
	blm_unlock_shared(&view->lock, view->image.fd);
}

static int begin_held(struct blm_filter *f, struct blm_view **ret)
{
	for (;;) {
		struct blm_view *view;
		int r = begin(f, &view), fd;

		if (r < 0)
			return r;
		if (is_exclusive(view) || enter(f, view)) {
			*ret = view;
			return 0;
		}
		fd = blm_view_fd(f, view);
		if (fd == -ESTALE && current_view(f) != view)
			continue;
		if (fd < 0)
			return fd;
		if (!f->lent && blm_presence_take(&view->presence, fd))
			continue;
		r = share(view, fd);
		if (r < 0)
			return r;
		/* no process can replace it now, so the name holds until end() */
		r = is_current(view) ? 1 : look_up(f, view);
		if (r == 1) {
			full_fence();
			r = announce_alone(f, view);
			*ret = view;
			if (r == 0)
				return 0;
		}
		give_back(view);
		if (r < 0 && r != -ENOENT)
			return r;
	}
}

int blm_change_begin_held(struct blm_filter *f, struct blm_view **ret)
{
	int r = begin_held(f, ret);

	if (r < 0)
		return r;
	r = become_writer(f, *ret);
	if (r < 0)
		give_back(*ret);
	return r;
}

void blm_change_end_held(struct blm_filter *f, struct blm_view *view)
{
	full_fence();
	blm_mark_written(live_of(view));
	if (has_single_writer(view))
		blm_lone_end(view);
	/* if it fails the filter is suspect, and the next change fails */
	announce_alone(f, view);
	give_back(view);
}

/* A replacement may be of another kind, so the view that will change is asked. */
int blm_change_begin_as_kind(struct blm_filter *f, struct blm_view **ret, bool *ret_held)
{
	int r;

	do {
		*ret_held = false;
		r = blm_change_begin(f, ret);
		if (r < 0 || kind_only_sets((*ret)->root.kind))
			return r;
		r = blm_change_end(f, *ret);
	} while (r == -EAGAIN);
	*ret_held = true;
	return r < 0 ? r : blm_change_begin_held(f, ret);
}

int blm_change_end_unnamed(struct blm_filter *f, struct blm_view *view, bool held)
{
	struct blm_asked asked = { 0 };
	int listed = blm_allow_take_off_all(f, view, &asked), r;

	held |= has_single_writer(view);
	if (held)
		blm_change_end_held(f, view);
	r = held ? blm_check_sigbus(view, f->place.display) : blm_change_end(f, view);
	if (r == 0 && !held && blm_allow_is_stale(f, view, &asked))
		r = -EAGAIN;
	return r < 0 ? r : listed;
}

int blm_cannot(const struct blm_view *view, const struct blm_filter *f, const char *what,
	       unsigned can)
{
	const struct blm_kind *kind = view->root.kind;
	const char *instead = !kind->build ? "" : kind->merge
		? "; blm_merge() makes one of several, and blm_build_begin() one from all keys"
							      : "; blm_build_begin() makes one "
							      "from all keys";
	char names[256];

	return blm_fail(-EOPNOTSUPP, "%s: %s filters cannot %s%s; these kinds can: %s",
			f->place.display, kind->name, what, instead,
			blm_kinds_that_can(can, names, sizeof(names)));
}
