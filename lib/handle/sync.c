/* sync.c - what was added is on the disk when blm_sync() returns */
#include "file/sigbus.h"
#include "file/os.h"
#include "view/scan.h"
#include "durable/checkpoint.h"
#include "handle/handle.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Space that is gone from under the map, data and all, is not to be found out by writing back. */
static int check_size(const struct blm_filter *f, const struct blm_view *view)
{
	/* behind that lies what somebody began to append */
	uint64_t end = has_checkpoint(view) ? view->image.bytes : blm_view_end(view);
	struct stat st;

	if (fstat(view->image.fd, &st) < 0)
		return blm_fail(-errno, "%s: %s", f->place.display, strerror(errno));
	if ((uint64_t)st.st_size < end)
		return blm_fail(-EIO, "%s: was cut to %lld of its %llu bytes while it was open, "
				"and keys are lost: put a copy in its place, or make it anew from "
				"its keys", f->place.display, (long long)st.st_size,
				(unsigned long long)end);
	return 0;
}

/*
 * The sync record last, with the records of the blocks, which say nothing of pages that are not on
 * the disk by now. It makes `failed` old before it is known to be on the disk, and what it is told
 * of then may be any page: so another word says so meanwhile.
 */
static int write_records(struct blm_filter *f, struct blm_view *view, const struct blm_seen *seen,
			 struct blm_sync_record *record)
{
	struct blm_live *live = live_of(view);
	int r = 0;

	if (blm_blocksum_record(view, seen, le64toh(record->epoch)))
		for (unsigned i = 0; r == 0 && i < view->parts; i++)
			r = blm_write_back(records_of(&view->part[i]),
					   blocksum_bytes(view->part[i].shape.bytes));
	if (r < 0)
		return r;
	store_release(&live->flushing.word, blm_boot_number());
	full_fence();
	blm_next_sync(live, view->constant.uuid, record);
	r = blm_write_among_others(view, live, BLM_PAGE);
	if (r < 0)
		blm_drop_sync(live, view->constant.uuid);
	full_fence();
	store_release(&live->flushing.word, 0);
	return r;
}

/* A new epoch. What cannot be changed at any moment is looked at while nobody changes it. */
static int begin_epoch(struct blm_filter *f, struct blm_view *view, struct blm_sync_record *record,
		       uint64_t synced_epoch)
{
	struct blm_live *live = live_of(view);
	uint64_t epoch = le64toh(record->epoch);
	bool alone = kind_has_single_writer(view->whole.kind) || kind_may_be_torn(view->whole.kind);
	int r = alone ? blm_lock_writing(view, true) : 0;

	if (r < 0)
		return r;
	if (blm_is_unwritten(live, synced_epoch) || blm_is_unannounced(live))
		blm_make_dirty(view);
	if (view->whole.kind->settle)
		view->whole.kind->settle(&view->whole);
	if (has_checkpoint(view) && !f->place.memory)
		r = blm_checkpoint_take(view, epoch, f->place.display);
	if (r == 0) {
		/* until the record of this epoch says otherwise */
		store_release(&live->failed.word, epoch);
		store_release(&live->flushing.word, 0);
		store_release(&live->announcing.word, 0);
		store_release(&live->epoch.word, blm_epoch_after(epoch));
		full_fence();
		/*
		 * what is under way may change pages that are written back by then, so the record
		 * of this epoch does not make the file clean
		 */
		if (kind_may_be_torn(view->whole.kind)
		    && blm_lock_is_held(&view->lock, view->image.fd))
			blm_mark_written(live);
		record->keys = htole64(blm_counted_keys(view));
	}
	if (alone)
		blm_unlock_writing(view);
	return r;
}

static int write_all(struct blm_filter *f, struct blm_view *view, const struct blm_seen *seen,
		     struct blm_sync_record *record)
{
	int r = blm_write_among_others(view, view->image.map, view->image.bytes);

	/* a page that the guard put there is not one that was written */
	if (r == 0 && blm_sigbus_hit(view->image.map))
		r = -EIO;
	return r < 0 ? r : write_records(f, view, seen, record);
}

/*
 * The order: a look at the blocks that changed; a new epoch, so that whoever adds from now on marks
 * the filter dirty again; the data, flushed; the records that say so, flushed; the catalog. A crash
 * between two of them leaves the earlier records, which claim less than is there.
 */
static int sync_file(struct blm_filter *f, struct blm_view *view, struct blm_sync_record *ret,
		     struct blm_seen *ret_seen)
{
	struct blm_live *live = live_of(view);
	uint64_t epoch;
	struct blm_sync_record record = { .time = htole64(blm_now()) }, last = { 0 };
	struct blm_seen seen = { 0 };
	int r = check_size(f, view);

	if (r == 0 && has_checkpoint(view) && !f->place.memory) {
		r = blm_checkpoint_mend_copy(view, f->place.display);
		if (r == 0)
			r = blm_checkpoint_finish_killed(view, f->place.display);
	}
	epoch = load_acquire(&live->epoch.word);
	record.epoch = htole64(epoch);
	if (r == 0)
		r = blm_blocksum_look(view, &seen);
	if (r == 0) {
		blm_last_sync(live, view->constant.uuid, &last);
		r = begin_epoch(f, view, &record, le64toh(last.epoch));
	}
	if (r < 0)
		blm_blocksum_look_again(view, &seen);
	if (r == 0) {
		r = write_all(f, view, &seen, &record);
		if (r < 0) {
			blm_blocksum_look_again(view, &seen);
			if (has_checkpoint(view))
				blm_checkpoint_again(view, epoch);
			if (blm_check_sigbus(view, f->place.display) == 0)
				blm_fail(r, "%s: writing it back failed (%s): keys added since the "
					 "last good sync may not survive a power cut; the next "
					 "sync writes all of it again", f->place.display,
					 strerror(-r));
		}
	}
	if (r == 0 && has_checkpoint(view) && !f->place.memory)
		r = blm_checkpoint_finish(view, f->place.display);
	if (r == 0)
		r = blm_check_sigbus(view, f->place.display);
	if (r == 0 && has_checkpoint(view) && !f->place.memory)
		r = blm_checkpoint_is_whole(view, f->place.display, true);
	*ret_seen = (struct blm_seen){ .damaged = seen.damaged, .first = seen.first };
	blm_seen_free(&seen);
	*ret = record;
	return r;
}

/* What is on the disk must be found there, too: once for each file that the name led to. */
static int flush_name(struct blm_filter *f, struct blm_view *view)
{
	int r = f->lent || atomic_load(&view->named) ? 0 : blm_place_flush(&f->place);

	if (r == 0)
		atomic_store(&view->named, true);
	return r;
}

/* All that is there is on the disk, and some of what was there is not. */
static int tell_damage(const struct blm_filter *f, const struct blm_seen *seen)
{
	const struct blm_damage *d = &seen->first;
	char more[48] = "";

	if (seen->damaged > 1)
		snprintf(more, sizeof(more), " (and %d more)", seen->damaged - 1);
	return blm_fail(-EUCLEAN, "%s: synced, but part %u, block %llu, bytes %llu to %llu%s lost "
			"bits, so keys may be denied: repair it with blm_verify(), which sets all "
			"of a damaged block's bits", f->place.display, d->part,
			(unsigned long long)d->block,
			(unsigned long long)d->from, (unsigned long long)d->to - 1, more);
}

/*
 * Without a descriptor: this is a forked process, which could not open the file again (fd says
 * why). Whether it was deleted or moved cannot be told from here, and neither can it be synced.
 */
static int tell_unopened(struct blm_filter *f, int fd)
{
	char why[512];
	int standing;

	snprintf(why, sizeof(why), "%s", blm_error_message());
	standing = blm_check_standing(f);
	if (standing == -ENOENT)
		return blm_fail(-ESTALE, "%s: the file was deleted or moved before this forked "
				"process synced it; sync it in the process that opened it",
				f->place.display);
	return standing == -ESTALE ? standing : blm_fail(fd, "%s", why);
}

int blm_sync_seeing(struct blm_filter *f, struct blm_seen *ret_seen)
{
	struct blm_sync_record record = { 0 };
	struct blm_view *view = current_view(f);
	int fd, r, standing = 0;

	if (!f->write)
		return blm_fail(-EBADF, "%s: opened for reading only", f->place.display);
	while ((fd = blm_view_fd(f, view)) == -ESTALE && current_view(f) != view)
		view = current_view(f);
	if (fd < 0)
		return tell_unopened(f, fd);
	r = blm_lock_syncing(view);
	if (r == 0) {
		/*
		 * parts come only under this lock: one that is not in the view would be said to be
		 * on the disk, unseen
		 */
		r = has_all_parts(view) ? sync_file(f, view, &record, ret_seen) : -EAGAIN;
		blm_unlock_syncing(view);
	}
	if (r == -EAGAIN) {
		r = current_view(f) != view ? 0 : blm_may_change(f);
		return r < 0 ? r : blm_sync_seeing(f, ret_seen);
	}
	if (r == 0)
		r = flush_name(f, view);
	if (r == 0)
		standing = blm_check_standing(f);
	if (standing == -ESTALE)
		return standing;
	/* the catalog of a store that was moved is not found by its path either */
	if (r == 0 && standing != -ENOENT)
		r = blm_place_synced(&f->place, &(struct blm_synced){
			.uuid = view->constant.uuid, .epoch = le64toh(record.epoch),
			.keys = le64toh(record.keys), .time = le64toh(record.time),
			.estimated = load_relaxed(&live_of(view)->inexact.word) != 0,
			.file_bytes = view->image.bytes, .data_bytes = view->whole.shape.bytes,
		});
	if (r == 0 && standing != -ENOENT)
		/* the catalog has what the file has */
		__atomic_store_n(&view->told.epoch, 0, __ATOMIC_RELEASE);
	return r;
}

BLM_API int blm_sync(struct blm_filter *f)
{
	BLM_INSIDE;
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

/* Of several threads for which it is due, the one that sets the clock back syncs. */
int blm_sync_if_due(struct blm_filter *f, uint64_t keys)
{
	uint64_t every = atomic_load_explicit(&f->sync_keys, memory_order_relaxed);
	uint64_t time = atomic_load_explicit(&f->sync_time, memory_order_relaxed);
	uint64_t since, at, now;

	if (!every && !time)
		return 0;
	since = atomic_fetch_add(&f->keys_since, keys) + keys;
	now = ticks();
	at = atomic_load(&f->synced_at);
	if (since && every && since >= every
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
