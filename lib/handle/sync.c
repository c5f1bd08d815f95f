/*
 * sync.c - blm_sync(): all earlier changes are on the disk when it returns
 */
#include "file/sigbus.h"
#include "file/os.h"
#include "file/two_slots.h"
#include "base/phase.h"
#include "view/scan.h"
#include "durable/checkpoint.h"
#include "durable/extents.h"
#include "handle/exclusive.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Writing back does not notice that the space of the map is gone, with its data. */
static int check_size(const struct blm_filter *f, const struct blm_view *view)
{
	/* behind that are bytes that a writer began to append */
	uint64_t end = has_checkpoint(view) ? view->image.bytes : blm_view_end(view);
	struct stat st;

	if (fstat(view->image.fd, &st) < 0)
		return blm_fail(-errno, "%s: %s", f->place.display, strerror(errno));
	if ((uint64_t)st.st_size < end)
		return blm_fail(-EIO, "%s: was truncated to %lld of its %llu bytes while it was "
				"open, and keys are lost: put a copy in its place, or make it "
				"again from its keys", f->place.display, (long long)st.st_size,
				(unsigned long long)end);
	return 0;
}

/* ---- The steps ---- */

/* One sync of one file. BLM_LOCK_SYNC is held from the first step to the last. */
struct sync {
	struct blm_filter *f;
	struct blm_view *view;
	struct blm_live *live;
	uint64_t epoch;			/* that this sync closes */
	struct blm_sync_record record, last;
	struct blm_seen seen;		/* of the blocks */
	bool checkpoint;		/* the file has one, and is on a disk */
	/* all pages are written, because some write-back failed before */
	bool repeats;
	bool unwritten;			/* then: the file system does not keep some */
};

/* Completes a sync that was killed. */
static int recover(struct sync *s)
{
	int r = check_size(s->f, s->view);

	if (r == 0 && s->checkpoint)
		r = blm_checkpoint_mend_copy(s->view, s->f->place.display);
	if (r == 0 && s->checkpoint)
		r = blm_checkpoint_finish_killed(s->view, s->f->place.display);
	s->epoch = load_acquire(&s->live->epoch.word);
	s->record.epoch = htole64(s->epoch);
	s->record.time = htole64(blm_now());
	return r;
}

static int look_at_blocks(struct sync *s)
{
	int r = blm_blocksum_look(s->view, &s->seen);

	if (r == 0)
		blm_last_sync(s->live, s->view->constant.uuid, &s->last);
	return r;
}

static void announce_epoch(struct sync *s)
{
	/* until the record of this epoch says otherwise */
	store_release(&s->live->failed.word, s->epoch);
	store_release(&s->live->flushing.word, 0);
	store_release(&s->live->announcing.word, 0);
	store_release(&s->live->epoch.word, blm_epoch_after(s->epoch));
	full_fence();
	/*
	 * A change that is under way may change pages that are written back by then, so the record
	 * of this epoch does not make the file clean.
	 */
	if (kind_may_be_torn(s->view->root.kind) && blm_is_changing(s->view))
		blm_mark_written(s->live);
	s->record.keys = htole64(blm_counted_keys(s->view));
}

/* What must not change while it is copied is copied under BLM_LOCK_WRITE. */
static int begin_epoch(struct sync *s)
{
	const struct blm_kind *kind = s->view->root.kind;
	bool lone = kind_has_single_writer(kind) || kind_may_be_torn(kind);
	int r = lone ? blm_lock_writing(s->view, true) : 0;

	if (r < 0)
		return r;
	s->repeats = atomic_load(&s->view->failed)
		|| blm_is_unwritten(s->view, le64toh(s->last.epoch))
		|| blm_is_unannounced(s->live);
	if (s->repeats)
		blm_make_dirty(s->view);
	if (kind->recover)
		kind->recover(&s->view->root);
	if (s->checkpoint)
		r = blm_checkpoint_take(s->view, s->epoch, s->f->place.display);
	if (r == 0)
		announce_epoch(s);
	if (lone)
		blm_unlock_writing(s->view);
	return r;
}

static int write_data(struct sync *s)
{
	int r;

	BLM_PHASE(blm_writing, s->view->image.bytes);
	r = blm_write_among_others(s->view, s->view->image.map, s->view->image.bytes);
	if (r == 0)
		blm_phase_at(s->view->image.bytes);
	if (r == 0 && s->repeats)
		r = blm_check_extents(s->view);
	s->unwritten = r > 0;
	/* a forked process shares the map's description, and may have got its report */
	if (r == 0)
		r = atomic_load(&s->view->untold) ? -EIO : blm_take_report(s->view);
	/* the guard of sigbus.h may have put a page of its own there, which was not written */
	return r > 0 || (r == 0 && blm_sigbus_hit(s->view->image.map)) ? -EIO : r;
}

/*
 * The sync record outdates `failed` before the record is known to be on the disk. If the system
 * reports a failed write-back in this time, any page may be the one that failed. `flushing` is set
 * for this time, so that readers know that.
 */
static int write_records(struct sync *s)
{
	struct blm_view *view = s->view;
	int r = 0;

	if (blm_blocksum_record(view, &s->seen, s->epoch))
		for (unsigned i = 0; r == 0 && i < view->parts; i++)
			r = blm_write_back(records_of(&view->part[i]),
					   blocksum_bytes(view->part[i].shape.bytes));
	if (r < 0)
		return r;
	store_release(&s->live->flushing.word, blm_boot_number());
	full_fence();
	blm_next_sync(s->live, view->constant.uuid, &s->record);
	r = blm_write_among_others(view, s->live, BLM_PAGE);
	if (r < 0)
		blm_drop_sync(s->live, view->constant.uuid);
	else
		atomic_store(&view->failed, 0);
	full_fence();
	store_release(&s->live->flushing.word, 0);
	return r;
}

static int end_checkpoint(struct sync *s)
{
	int r = s->checkpoint ? blm_checkpoint_finish(s->view, s->f->place.display) : 0;

	if (r == 0)
		r = blm_check_sigbus(s->view, s->f->place.display);
	if (r == 0 && s->checkpoint)
		r = blm_checkpoint_is_whole(s->view, s->f->place.display, true);
	return r;
}

/* The disk has nothing that the last record does not say, so the next sync repeats all of it. */
static void fail_to_write(struct sync *s, int err)
{
	struct blm_view *now = atomic_load(&s->f->view);

	blm_note_failure(s->view, s->epoch);
	if (!memcmp(now->constant.uuid, s->view->constant.uuid, sizeof(now->constant.uuid)))
		atomic_store(&now->failed, s->epoch);
	atomic_store(&s->view->untold, false);
	if (has_checkpoint(s->view))
		blm_checkpoint_again(s->view, s->epoch);
	if (s->unwritten)
		blm_fail_unkept(s->f->place.display);
	else if (blm_check_sigbus(s->view, s->f->place.display) == 0)
		blm_fail(err, "%s: writing it back failed (%s): keys added since the last good "
			 "sync may be lost: add them again, then sync again",
			 s->f->place.display, strerror(-err));
}

/*
 * The steps of a sync. Each begins when the one before it succeeded. After a power cut the record
 * never claims more than is on the disk:
 *
 *	step		what it does				record on the disk after it
 *	recover		ends a sync that was killed		the last one
 *	look_at_blocks	hashes the blocks that changed		the last one
 *	begin_epoch	epoch + 1: a later change makes the	the last one; the file is dirty
 *			file dirty; copies blocks into the
 *			checkpoint's journal
 *	write_data	writes the map back			the last one; the file is dirty
 *	write_records	writes the records of the blocks,	this one; clean, unless a change
 *			then that of the sync			came in the new epoch
 *	end_checkpoint	brings the checkpoint's image up to	this one
 *			the record
 *
 * Then the caller flushes the name and tells the catalog, which may be behind the file but never
 * ahead of it.
 */
static int sync_file(struct sync *s)
{
	int r = recover(s);

	if (r == 0)
		r = look_at_blocks(s);
	if (r == 0)
		r = begin_epoch(s);
	if (r < 0) {
		blm_blocksum_look_again(s->view, &s->seen);
		return r;
	}
	r = write_data(s);
	if (r == 0)
		r = write_records(s);
	if (r < 0) {
		blm_blocksum_look_again(s->view, &s->seen);
		fail_to_write(s, r);
		return r;
	}
	return end_checkpoint(s);
}

/* ---- The file and its name ---- */

/*
 * The name must be on the disk, too, so that the data can be found: once for each file that the
 * name led to.
 */
static int flush_name(struct blm_filter *f, struct blm_view *view)
{
	int r = f->lent || atomic_load(&view->named) ? 0 : blm_place_flush(&f->place);

	if (r == 0)
		atomic_store(&view->named, true);
	return r;
}

/* All remaining data are on the disk, and some earlier data are gone. */
static int tell_damage(const struct blm_filter *f, const struct blm_seen *seen)
{
	const struct blm_damage *d = &seen->first;
	char more[48] = "";

	if (seen->damaged > 1)
		snprintf(more, sizeof(more), " (and %d more)", seen->damaged - 1);
	return blm_fail(-EUCLEAN, "%s: synced, but part %u, block %llu, bytes %llu to %llu%s lost "
			"bits, so keys may be denied: repair it with blm_verify()",
			f->place.display, d->part,
			(unsigned long long)d->block,
			(unsigned long long)d->from, (unsigned long long)d->to - 1, more);
}

/*
 * Without a descriptor: this is a forked process that could not open the file again (fd has the
 * error). It cannot see here whether the file was deleted or moved, and it cannot sync it.
 */
static int tell_unopened(struct blm_filter *f, int fd)
{
	char reason[512];
	int standing;

	snprintf(reason, sizeof(reason), "%s", blm_error_message());
	standing = blm_check_standing(f);
	if (standing == -ENOENT)
		return blm_fail(-ESTALE, "%s: the file was deleted or moved before this forked "
				"process synced it; sync it in the process that opened it",
				f->place.display);
	return standing == -ESTALE ? standing : blm_fail(fd, "%s", reason);
}

static int tell_catalog(const struct sync *s)
{
	const struct blm_view *view = s->view;

	return blm_place_synced(&s->f->place, &(struct blm_synced){
		.uuid = view->constant.uuid, .epoch = le64toh(s->record.epoch),
		.keys = le64toh(s->record.keys), .time = le64toh(s->record.time),
		.estimated = load_relaxed(&s->live->inexact.word) != 0,
		.file_bytes = view->image.bytes, .data_bytes = view->root.shape.bytes,
	});
}

/* Errors of the file system that have another meaning as an answer of blm_sync(), or of a step. */
static int as_own_error(int r)
{
	return r == -EUCLEAN || r == -ESTALE || r == -EAGAIN ? -EIO : r;
}

/*
 * Parts are appended under BLM_LOCK_SYNC only. The record must not claim a part that this view does
 * not have: -EAGAIN.
 */
static int sync_view(struct sync *s)
{
	int r = blm_lock_syncing(s->view);

	if (r < 0)
		return r;
	r = blm_ask_admission(s->f, s->view);
	if (r == 0)
		r = has_all_parts(s->view) ? as_own_error(sync_file(s)) : -EAGAIN;
	blm_unlock_syncing(s->view);
	return r;
}

int blm_sync_seeing(struct blm_filter *f, struct blm_seen *ret_seen)
{
	struct blm_view *view = current_view(f);
	struct sync s;
	int fd, r, standing;

	if (!f->write)
		return blm_fail(-EBADF, "%s: opened for reading only", f->place.display);
	while ((fd = blm_view_fd(f, view)) == -ESTALE && current_view(f) != view)
		view = current_view(f);
	if (fd < 0)
		return tell_unopened(f, fd);
	s = (struct sync){ .f = f, .view = view, .live = live_of(view),
			   .checkpoint = has_checkpoint(view) && !f->place.memory };
	r = sync_view(&s);
	*ret_seen = (struct blm_seen){ .damaged = s.seen.damaged, .first = s.seen.first };
	blm_seen_free(&s.seen);
	if (r == -EAGAIN) {
		r = current_view(f) != view ? 0 : blm_may_change(f);
		return r < 0 ? r : blm_sync_seeing(f, ret_seen);
	}
	if (r == 0)
		r = flush_name(f, view);
	standing = r == 0 ? blm_check_standing(f) : 0;
	if (standing == -ESTALE)
		return standing;
	/* the catalog of a store that was moved is not found by its path either */
	if (r < 0 || standing == -ENOENT)
		return r;
	r = tell_catalog(&s);
	if (r == 0)
		__atomic_store_n(&view->told.epoch, 0, __ATOMIC_RELEASE);
	return r;
}

BLM_API int blm_sync(struct blm_filter *f)
{
	BLM_CRITICAL_SECTION;
	struct blm_seen seen = { 0 };
	int r = blm_sync_seeing(f, &seen);

	atomic_store(&f->lost_blocks, r == 0 ? seen.damaged : 0);
	return r == 0 && seen.damaged ? tell_damage(f, &seen) : r;
}

/* ---- By itself ---- */

static uint64_t ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

BLM_API int blm_sync_every(struct blm_filter *f, uint64_t keys, double seconds)
{
	if (!(seconds >= 0 && seconds < 1e9))
		return blm_fail(-EINVAL, "%s: %g seconds between syncs is not 0 to 10^9",
				f->place.display, seconds);
	if (!f->write)
		return blm_fail(-EBADF, "%s: opened for reading only", f->place.display);
	atomic_store(&f->keys_since, 0);
	atomic_store(&f->synced_at, ticks());
	atomic_store(&f->sync_time, (uint64_t)(seconds * 1e9));
	atomic_store(&f->sync_keys, keys);
	return 0;
}

/* If a sync is due for several threads, the thread that resets the clock syncs. */
int blm_sync_if_time(struct blm_filter *f, uint64_t keys)
{
	uint64_t every = atomic_load_explicit(&f->sync_keys, memory_order_relaxed);
	uint64_t time = atomic_load_explicit(&f->sync_time, memory_order_relaxed);
	uint64_t since, at, now;

	since = atomic_fetch_add(&f->keys_since, keys) + keys;
	now = ticks();
	at = atomic_load(&f->synced_at);
	if (every && since >= every
	    && atomic_compare_exchange_strong(&f->keys_since, &since, 0)) {
		atomic_store(&f->synced_at, now);
		return blm_sync(f);
	}
	if (since && time && now - at >= time
	    && atomic_compare_exchange_strong(&f->synced_at, &at, now)) {
		atomic_store(&f->keys_since, 0);
		return blm_sync(f);
	}
	return 0;
}
