/* sync.c - what was added is on the disk when blm_sync() returns */
#include "file/system.h"
#include "filter.h"

#include <sys/mman.h>

/*
 * The order: a new epoch, so that whoever adds from now on marks the filter dirty again; the data, flushed; the record that
 * says so, flushed; the catalog. A crash between two of them leaves the earlier record, which claims less than is there.
 */
static int sync_file(const struct blm_filter *f, struct blm_view *view, struct blm_sync_record *ret)
{
	struct blm_live *live = live_of(view);
	uint64_t epoch = load_acquire(&live->epoch.word);
	struct blm_sync_record record = { .epoch = htole64(epoch), .time = htole64(blm_now()) };

	store_release(&live->epoch.word, epoch + 1);
	full_fence();
	record.keys = htole64(blm_counted_keys(view));
	if (msync(view->image.header, view->image.bytes, MS_SYNC) < 0)
		return blm_fail(-errno, "%s: writing it back failed (%s): keys added since the last good sync may not survive a power cut",
				f->place.shown, strerror(errno));
	blm_next_sync(live, view->constant.uuid, &record);
	if (msync(live, BLM_PAGE, MS_SYNC) < 0)
		return blm_fail(-errno, "%s: writing the sync record failed: %s", f->place.shown, strerror(errno));
	*ret = record;
	return 0;
}

BLM_API int blm_sync(struct blm_filter *f)
{
	struct blm_sync_record record = { 0 };
	struct blm_view *view = current_view(f);
	int fd, r;

	if (!f->write)
		return blm_fail(-EBADF, "%s: opened for reading only", f->place.shown);
	fd = blm_view_fd(f, view);
	if (fd < 0)
		return fd;
	pthread_mutex_lock(&view->syncing);
	r = blm_ofd_lock(fd, BLM_LOCK_SYNC, true);
	if (r == 0) {
		r = sync_file(f, view, &record);
		blm_ofd_unlock(fd, BLM_LOCK_SYNC);
	}
	pthread_mutex_unlock(&view->syncing);
	if (r == 0)
		r = blm_place_synced(&f->place, view->constant.uuid, le64toh(record.keys),
				     load_relaxed(&live_of(view)->inexact.word) != 0, le64toh(record.time));
	return r;
}
