/*
 * ofd_lock.h - locks between processes, on byte ranges of a filter's own file
 *
 * Open-file-description locks on bytes far past any data: they are in no file, die with their
 * holder and with the machine, and cross containers. Threads that share a descriptor share its
 * locks, so struct blm_lock adds a lock for threads.
 */
#ifndef BLM_FILE_LOCK_H
#define BLM_FILE_LOCK_H

#include "base/base.h"

#include <pthread.h>

/* A process that takes several takes them in this order. */
enum blm_lock_of {
	/*
	 * exclusive: waiting for BLM_LOCK_REPLACE exclusively; processes that want that shared wait
	 * until it is free
	 */
	BLM_LOCK_GATE,
	/*
	 * shared: the file stays the filter, as it does for threads that are present (presence.h);
	 * exclusive: replacing, dropping, setting the state
	 */
	BLM_LOCK_REPLACE,
	BLM_LOCK_SYNC,		/* exclusive: epoch, sync slots, name slots */
	/*
	 * exclusive: a file of a temporary name, from before it holds anything for as long as its
	 * maker has it open
	 */
	BLM_LOCK_MAKING,
	/* exclusive: changing the data of a kind with a single writer; shared: copying it */
	BLM_LOCK_WRITE,
	/*
	 * exclusive: the next part of a filter that grows, the next slot of one with slots; taken
	 * before all other locks
	 */
	BLM_LOCK_GROW,
	/*
	 * exclusive: the only handle that changes the file, as long as it has the file open
	 * (exclusive.c). Never waited for
	 */
	BLM_LOCK_EXCLUSIVE,
};

/* Locks of slots (presence.h) are on the bytes from here on; the others are before. */
#define BLM_SLOT_BYTES ((INT64_C(1) << 62) + 4096)

/* Wait for one lock on fd. Fails as fcntl(2) does; unlocking cannot fail. */
int blm_ofd_lock(int fd, enum blm_lock_of what, bool exclusive);
void blm_ofd_unlock(int fd, enum blm_lock_of what);
/* Take it exclusively, without waiting. */
bool blm_ofd_try(int fd, enum blm_lock_of what);
/* Does another process hold `what` exclusively? In any way? */
bool blm_ofd_held(int fd, enum blm_lock_of what);
bool blm_ofd_busy(int fd, enum blm_lock_of what);
/* Is it known that no other process holds it? */
bool blm_ofd_is_free(int fd, enum blm_lock_of what);

struct blm_presence;

/* BLM_LOCK_REPLACE for the threads of one descriptor. */
struct blm_lock {
	pthread_rwlock_t threads;
	pthread_mutex_t counting;
	pthread_cond_t given_back;
	/*
	 * another process waits for it: threads that come wait until it was given back. Under
	 * `counting`
	 */
	bool yields;
	unsigned joined;	/* threads that found it shared. Under `counting` */
	/*
	 * threads that hold it shared; the first took the file's lock, the last gives it back.
	 * Written under `counting`
	 */
	unsigned shared;
	/* an exclusive holder excludes threads that are present, too. Or NULL */
	struct blm_presence *presence;
};

void blm_lock_init(struct blm_lock *lock);
void blm_lock_destroy(struct blm_lock *lock);
int blm_lock_shared(struct blm_lock *lock, int fd);
void blm_unlock_shared(struct blm_lock *lock, int fd);
int blm_lock_exclusive(struct blm_lock *lock, int fd);
void blm_unlock_exclusive(struct blm_lock *lock, int fd);
/*
 * True if a thread that uses this descriptor, or another process, holds the lock. Does not wait.
 * Does not see threads that are present (blm_presence_is_used()).
 */
bool blm_lock_is_held(const struct blm_lock *lock, int fd);

#endif
