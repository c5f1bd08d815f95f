/* lock.h - one writer or many readers of a catalog, over threads, processes and users */
#ifndef BLM_CATALOG_LOCK_H
#define BLM_CATALOG_LOCK_H

#include "base.h"

#include <pthread.h>

/*
 * flock() belongs to the open file description, which a forked child shares: it would keep what its killed parent held. So a child
 * closes the descriptors of all locks, and must open again what it wants to use.
 */
struct blm_catalog_lock {
	pthread_mutex_t mutex;	/* LMDB's environment is used by one thread at a time */
	int fd;			/* of catalog/lock; -1: nobody can write here, so no lock is needed */
	int gate;		/* of catalog/ itself: a writer that waits keeps new readers out for a moment; -1: it cannot */
	const char *folder;	/* the catalog's; borrowed */
	struct blm_catalog_lock *next;	/* all that are open, for fork() */
};

/*
 * write: makes the lock file where there is none. Where it cannot be opened: no lock on a mount that is read-only, elsewhere an error. The
 * lock stays where it is until it is closed.
 */
int blm_catalog_lock_open(struct blm_catalog_lock *ret, const char *folder, bool write);
void blm_catalog_lock_close(struct blm_catalog_lock *lock);

/* For who calls the above with a mutex held that it takes at fork(): register its handlers after ours. */
void blm_catalog_lock_watch_forks(void);

/* Wait, at most five seconds; then -EBUSY, naming the holder where the system tells. */
int blm_catalog_lock(struct blm_catalog_lock *lock, bool exclusive);
void blm_catalog_unlock(struct blm_catalog_lock *lock);

#endif
