/*
 * flock.h - one writer of a catalog, over threads, processes and users, or readers that keep
 * writers out
 */
#ifndef BLM_CATALOG_LOCK_H
#define BLM_CATALOG_LOCK_H

#include "base/base.h"

#include <pthread.h>

/*
 * flock() belongs to the open file description, which a forked child shares: the child would keep
 * the lock of its killed parent. So a child closes the descriptors of all locks, and opens again
 * those that it needs.
 */
struct blm_catalog_lock {
	pthread_mutex_t mutex;	/* LMDB's environment is used by one thread at a time */
	/* of catalog/lock; -1: no process can write here, so no lock is needed */
	int fd;
	/*
	 * of catalog/ itself: held shared by waiting processes, so that they can be counted; -1: it
	 * cannot be opened
	 */
	int queue;
	uint64_t taken;		/* how often a thread of this process got it */
	const char *folder;	/* the catalog's; borrowed */
	struct blm_catalog_lock *next;	/* all open locks, for fork() */
};

/*
 * write: creates the lock file if there is none. If it cannot be opened: no lock on a read-only
 * mount, elsewhere an error. The lock must stay at its address until it is closed.
 */
int blm_catalog_lock_open(struct blm_catalog_lock *ret, const char *folder, bool write);
void blm_catalog_lock_close(struct blm_catalog_lock *lock);

/*
 * For a caller that holds a mutex during the calls above and takes it at fork(): register its
 * handlers after ours.
 */
void blm_catalog_lock_watch_forks(void);

/*
 * Wait for the lock. The wait ends with -EBUSY after blm_catalog_lock_limit nanoseconds in which
 * no other process commits or gets the lock. The message names the holder if the system knows it.
 * Tests shorten the limit.
 */
extern int64_t blm_catalog_lock_limit;
int blm_catalog_lock(struct blm_catalog_lock *lock, bool exclusive);
void blm_catalog_unlock(struct blm_catalog_lock *lock);

#endif
