/* lock.c - open-file-description locks, and what threads need beside them */
#include "file/lock.h"

#include <fcntl.h>

static struct flock range(enum blm_lock_of what, short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = (INT64_C(1) << 62) + what, .l_len = 1 };
}

int blm_ofd_lock(int fd, enum blm_lock_of what, bool exclusive)
{
	struct flock lock = range(what, exclusive ? F_WRLCK : F_RDLCK);

	while (fcntl(fd, F_OFD_SETLKW, &lock) < 0)
		if (errno != EINTR)
			return blm_fail(-errno, "cannot lock a filter's file: %s", strerror(errno));
	return 0;
}

void blm_ofd_unlock(int fd, enum blm_lock_of what)
{
	struct flock lock = range(what, F_UNLCK);

	fcntl(fd, F_OFD_SETLK, &lock);
}

/* Would a lock of this type have to wait? */
static bool must_wait(int fd, enum blm_lock_of what, short type)
{
	struct flock lock = range(what, type);

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool blm_ofd_held(int fd, enum blm_lock_of what)
{
	return must_wait(fd, what, F_RDLCK);
}

bool blm_ofd_busy(int fd, enum blm_lock_of what)
{
	return must_wait(fd, what, F_WRLCK);
}

void blm_lock_init(struct blm_lock *lock)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&lock->threads, &attr);
	pthread_rwlockattr_destroy(&attr);
	pthread_mutex_init(&lock->counting, NULL);
	lock->shared = 0;
}

void blm_lock_destroy(struct blm_lock *lock)
{
	pthread_rwlock_destroy(&lock->threads);
	pthread_mutex_destroy(&lock->counting);
}

static int lock_replace(int fd, bool exclusive)
{
	int r = blm_ofd_lock(fd, BLM_LOCK_GATE, exclusive);

	if (r < 0)
		return r;
	r = blm_ofd_lock(fd, BLM_LOCK_REPLACE, exclusive);
	blm_ofd_unlock(fd, BLM_LOCK_GATE);
	return r;
}

int blm_lock_shared(struct blm_lock *lock, int fd)
{
	int r = 0;

	pthread_rwlock_rdlock(&lock->threads);
	pthread_mutex_lock(&lock->counting);
	if (lock->shared == 0)
		r = lock_replace(fd, false);
	if (r == 0)
		__atomic_fetch_add(&lock->shared, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&lock->counting);
	if (r < 0)
		pthread_rwlock_unlock(&lock->threads);
	return r;
}

void blm_unlock_shared(struct blm_lock *lock, int fd)
{
	pthread_mutex_lock(&lock->counting);
	if (__atomic_sub_fetch(&lock->shared, 1, __ATOMIC_SEQ_CST) == 0)
		blm_ofd_unlock(fd, BLM_LOCK_REPLACE);
	pthread_mutex_unlock(&lock->counting);
	pthread_rwlock_unlock(&lock->threads);
}

int blm_lock_exclusive(struct blm_lock *lock, int fd)
{
	int r;

	pthread_rwlock_wrlock(&lock->threads);
	r = lock_replace(fd, true);
	if (r < 0)
		pthread_rwlock_unlock(&lock->threads);
	return r;
}

void blm_unlock_exclusive(struct blm_lock *lock, int fd)
{
	blm_ofd_unlock(fd, BLM_LOCK_REPLACE);
	pthread_rwlock_unlock(&lock->threads);
}

bool blm_lock_is_held(const struct blm_lock *lock, int fd)
{
	return __atomic_load_n(&lock->shared, __ATOMIC_SEQ_CST) || blm_ofd_busy(fd, BLM_LOCK_REPLACE);
}
