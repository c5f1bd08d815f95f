/*
 * locks.c - the locks of processes that write, and that write back
 */
#include "durable/locks.h"
#include "file/writer_word.h"

/* Threads first: they share the descriptor, and so its lock. */
static int lock_both(pthread_mutex_t *threads, int fd, enum blm_lock_of what, bool exclusive)
{
	int r;

	pthread_mutex_lock(threads);
	r = blm_ofd_lock(fd, what, exclusive);
	if (r < 0)
		pthread_mutex_unlock(threads);
	return r;
}

/* With the lock: wait for the thread that writes without it (writer_word.h). */
static int stop_fast_writers(struct blm_view *view)
{
	const struct blm_kind *kind = view->root.kind;

	if (!(kind_has_single_writer(kind) || kind_serializes_removals(kind)) || is_foreign(view)
	    || le64toh(view->constant.flags) & BLM_FLAG_SEALED)
		return 0;
	return view->presence.live ? blm_writer_lock(&view->presence, view->image.fd)
		: blm_writer_wait_as_reader(&view->presence, live_of(view), view->image.fd);
}

int blm_lock_writing(struct blm_view *view, bool exclusive)
{
	int r = lock_both(&view->writing, view->image.fd, BLM_LOCK_WRITE, exclusive);

	if (r < 0)
		return r;
	r = stop_fast_writers(view);
	if (r < 0) {
		blm_ofd_unlock(view->image.fd, BLM_LOCK_WRITE);
		pthread_mutex_unlock(&view->writing);
		return r;
	}
	atomic_store(&view->writes, exclusive);
	return 0;
}

void blm_unlock_writing(struct blm_view *view)
{
	if (atomic_exchange(&view->writes, false) && view->presence.live)
		blm_writer_unlock(&view->presence);
	blm_ofd_unlock(view->image.fd, BLM_LOCK_WRITE);
	pthread_mutex_unlock(&view->writing);
}

bool blm_is_changing(struct blm_view *view)
{
	int fd = view->image.fd;

	return blm_lock_is_held(&view->lock, fd)
		|| blm_presence_is_used(&view->presence, live_of(view), fd);
}

int blm_lock_syncing(struct blm_view *view)
{
	int r = lock_both(&view->syncing, view->image.fd, BLM_LOCK_SYNC, true);

	if (r == 0)
		atomic_store(&view->syncs, true);
	return r;
}

void blm_unlock_syncing(struct blm_view *view)
{
	atomic_store(&view->syncs, false);
	blm_ofd_unlock(view->image.fd, BLM_LOCK_SYNC);
	pthread_mutex_unlock(&view->syncing);
}
