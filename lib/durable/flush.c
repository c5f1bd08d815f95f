/* flush.c - the map is written back to the file */
#include "durable/flush.h"
#include "base/phase.h"
#include "durable/checkpoint.h"
#include "durable/extents.h"
#include "durable/locks.h"
#include "file/os.h"
#include "view/scan.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* By compare-and-swap, because compilers turn an OR with 0 into a mere load. */
void blm_touch(void *at)
{
	uint64_t *word = at, old = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(word, &old, old, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

/* A part begins and ends anywhere in a page. */
static void touch_pages(uint8_t *from, const uint8_t *to)
{
	for (; from < to; from += BLM_PAGE - (uintptr_t)from % BLM_PAGE)
		blm_touch(from);
}

void blm_make_dirty(struct blm_view *view)
{
	uint64_t from, to;

	touch_pages(view->image.map, view->image.map + BLM_HEADER_BYTES);
	if (has_checkpoint(view)) {
		touch_pages(view->image.map + view->checkpoint.records[BLM_IMAGE],
			    view->image.map + view->checkpoint.blocks[BLM_JOURNAL]);
		for (uint64_t at = 0; blm_checkpoint_next_noted(view, at, &from, &to); at = to)
			touch_pages(view->image.map + from, view->image.map + to);
	}
	for (unsigned i = 0; i < view->parts; i++) {
		uint8_t *bytes = view->part[i].bytes;

		touch_pages(bytes - blocksum_bytes(view->part[i].shape.bytes), bytes);
		for (uint64_t at = 0; blm_next_data(view, i, at, &from, &to); at = to)
			touch_pages(bytes + from, bytes + to);
	}
}

/*
 * The system writes only those pages of the range that are dirty: it knows them one by one, where
 * the marks know blocks. But a page of 2 MiB is dirty as a whole (file/paging.h).
 */
int blm_write_back(void *from, uint64_t bytes)
{
	/* the system's, not ours */
	uint8_t *page = (uint8_t *)from - (uintptr_t)from % (uintptr_t)getpagesize();
	uint64_t all = bytes + (uint64_t)((uint8_t *)from - page),
		most = blm_phase_is_writing() ? BLM_WRITTEN_AT_ONCE : UINT64_MAX;

	for (uint64_t at = 0, n; at < all; at += n) {
		n = all - at < most ? all - at : most;
		if (msync(page + at, n, MS_SYNC) < 0)
			return -errno;
		if (most < UINT64_MAX)
			blm_phase_at(at + n);
	}
	return 0;
}

/*
 * The system reports a failure once for each open file description, which threads and forked
 * processes share; they also share its maps. So a writer that announced an epoch at the same time
 * may have got our report. That writer is done, or dead, when we have its lock. If it got the
 * report, or if that is unknown, the complete range is written again. The caller has recorded that
 * the pages are suspect.
 */
int blm_write_among_others(struct blm_view *view, void *from, uint64_t bytes)
{
	struct blm_live *live = live_of(view);
	int r = blm_write_back(from, bytes);

	while (r == 0 && load_acquire(&live->announcing.word)) {
		bool again;

		r = blm_lock_writing(view, true);
		if (r < 0)
			break;
		again = load_acquire(&live->announcing.word);
		if (again)
			blm_make_dirty(view);
		store_release(&live->announcing.word, 0);
		blm_unlock_writing(view);
		if (again)
			r = blm_write_back(from, bytes);
		if (again && r == 0 && blm_check_extents(view))
			r = -EIO;
	}
	return r;
}

/* Of a range without pages, so that no page is waited for. */
int blm_take_report(const struct blm_view *view)
{
	int r = sync_file_range(view->image.fd, INT64_MAX - BLM_PAGE, 1,
				SYNC_FILE_RANGE_WAIT_BEFORE) < 0 ? -errno : 0;

	return r == -EBADF || r == -EINVAL || r == -ENOSYS || r == -EPERM || r == -ESPIPE ? 0 : r;
}

/* By a call, because a store fails with SIGBUS where the file system takes no more changes. */
void blm_note_failure(struct blm_view *view, uint64_t epoch)
{
	uint64_t word = htole64(epoch);

	atomic_store(&view->failed, epoch);
	blm_write_at(view->image.fd, &word, sizeof(word),
		     offsetof(struct blm_header, live.failed.word));
	blm_take_report(view);		/* of the same failure, which the caller tells */
}

static int flush(struct blm_view *view, void *from, uint64_t bytes, bool among_others)
{
	struct blm_live *live = live_of(view);
	uint64_t before = load_acquire(&live->failed.word),
		epoch = load_acquire(&live->epoch.word);
	int r;

	store_release(&live->failed.word, epoch);
	if (!from)
		r = fdatasync(view->image.fd) < 0 ? -errno : 0;
	else
		r = among_others ? blm_write_among_others(view, from, bytes)
			: blm_write_back(from, bytes);
	if (r == 0)
		store_release(&live->failed.word, before);
	else
		blm_note_failure(view, epoch);
	return r;
}

int blm_flush(struct blm_view *view, void *from, uint64_t bytes)
{
	return flush(view, from, bytes, false);
}

int blm_flush_among_others(struct blm_view *view, void *from, uint64_t bytes)
{
	return flush(view, from, bytes, true);
}
