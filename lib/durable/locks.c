/* locks.c - the locks of those who write, and who write back */
#include "durable/locks.h"

/* Threads first: they share the descriptor, and so its lock. */
static int lock(pthread_mutex_t *threads, int fd, enum blm_lock_of what, bool exclusive)
{
	int r;

	pthread_mutex_lock(threads);
	r = blm_ofd_lock(fd, what, exclusive);
	if (r < 0)
		pthread_mutex_unlock(threads);
	return r;
}

int blm_lock_writing(struct blm_view *view, bool exclusive)
{
	int r = lock(&view->writing, view->image.fd, BLM_LOCK_WRITE, exclusive);

	if (r == 0)
		atomic_store(&view->writes, exclusive);
	return r;
}

void blm_unlock_writing(struct blm_view *view)
{
	atomic_store(&view->writes, false);
	blm_ofd_unlock(view->image.fd, BLM_LOCK_WRITE);
	pthread_mutex_unlock(&view->writing);
}

int blm_lock_syncing(struct blm_view *view)
{
	int r = lock(&view->syncing, view->image.fd, BLM_LOCK_SYNC, true);

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
