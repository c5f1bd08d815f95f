/* catalog_lock.h - one writer or many readers of a catalog, over threads, processes and users */
#ifndef BLM_CATALOG_LOCK_H
#define BLM_CATALOG_LOCK_H

#include "base.h"

#include <pthread.h>

struct blm_catalog_lock {
	pthread_mutex_t mutex;	/* LMDB's environment is used by one thread at a time */
	int fd;			/* of catalog/lock; -1: nobody can write here, so no lock is needed */
	const char *folder;	/* the catalog's; borrowed */
};

/* write: makes the lock file where there is none. */
int blm_catalog_lock_open(struct blm_catalog_lock *ret, const char *folder, bool write);
void blm_catalog_lock_close(struct blm_catalog_lock *lock);

/* Wait, at most five seconds; then -EBUSY, naming the holder where the system tells. */
int blm_catalog_lock(struct blm_catalog_lock *lock, bool exclusive);
void blm_catalog_unlock(struct blm_catalog_lock *lock);

#endif
