/* ofd_lock.c - open-file-description locks, and what threads need beside them */
#include "bloomery.h"
#include "file/lock_wait.h"
#include "file/presence.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct flock range(enum blm_lock_of what, short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET,
			       .l_start = (INT64_C(1) << 62) + what, .l_len = 1 };
}

/* ---- Waiting ---- */

int blm_patience_reader = BLM_PATIENCE_READER, blm_patience_unknown = BLM_PATIENCE_UNKNOWN;

static int (*_Atomic asks_to_stop)(void);

BLM_API void blm_stop_waiting_if(int (*asked)(void))
{
	atomic_store(&asks_to_stop, asked);
}

static int64_t milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Other locks are never shared by the library, or only for a moment. */
static bool may_be_shared_long(enum blm_lock_of what)
{
	return what == BLM_LOCK_REPLACE || what == BLM_LOCK_WRITE;
}

/* To be freed; NULL: it is not known. */
static char *path_of(int fd)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return realpath(link, NULL);
}

static int refuse(int fd, int pid)
{
	char *name = path_of(fd);
	const char *display = name ? name : "a filter's file";
	int r;

	r = pid ? blm_fail(-EBUSY, "%s: process %d reads it and holds a lock that its writers "
			   "need; end that process or try again later", display, pid)
		: blm_fail(-EBUSY, "%s: a process that reads it holds a lock that its writers "
			   "need; find it by `lsof` as root, or try again later",
			   display);
	free(name);
	return r;
}

struct wait {
	struct blm_pause pause;
	int64_t readers_since;		/* 0: a writer had it when it was last asked for */
	int64_t looked;			/* when the holder was looked for last */
};

/* A copy of a large file takes longer than one of a small file. */
static int64_t patience_for_copy(int fd)
{
	struct stat st;

	return blm_patience_unknown + (fstat(fd, &st) == 0 ? st.st_size / BLM_PATIENCE_BYTES : 0);
}

static int64_t patience_for(int fd, enum blm_lock_of what, int pid)
{
	if (what == BLM_LOCK_WRITE)
		return patience_for_copy(fd);
	return may_be_shared_long(what) && !pid ? blm_patience_unknown : blm_patience_reader;
}

/*
 * Waited long enough for processes that only read? 0: go on. The holder is looked for once a
 * patience, as that reads much of /proc.
 */
static int lose_patience(int fd, enum blm_lock_of what, struct wait *w, int64_t now)
{
	bool writer = false;
	int pid;

	if (blm_ofd_held(fd, what)) {
		w->readers_since = 0;
		return 0;
	}
	if (!w->readers_since)
		w->readers_since = w->looked = now;
	if (now - w->looked < blm_patience_reader)
		return 0;
	w->looked = now;
	pid = blm_lock_holder(fd, what, &writer);
	if (pid && writer && may_be_shared_long(what)) {
		w->readers_since = 0;
		return 0;
	}
	/* released meanwhile */
	if (now - w->readers_since < patience_for(fd, what, pid) || !blm_ofd_busy(fd, what))
		return 0;
	return refuse(fd, pid);
}

/* milliseconds that a call may still wait after the program was asked to stop */
enum { GRACE = 100 };

static void sleep_on(const void *word, uint32_t value, long nanoseconds)
{
	const struct timespec time = { .tv_nsec = nanoseconds };

	if (word)
		syscall(SYS_futex, word, FUTEX_WAIT, value, &time, NULL, 0);
	else
		nanosleep(&time, NULL);
}

int blm_pause(struct blm_pause *w)
{
	return blm_pause_on(w, NULL, 0);
}

int blm_pause_on(struct blm_pause *w, const void *word, uint32_t value)
{
	int64_t now = milliseconds();
	int (*asked)(void) = atomic_load(&asks_to_stop);

	if (!w->begun)
		*w = (struct blm_pause){ now, 20000 };
	if (asked && now - w->begun >= GRACE && asked())
		return blm_fail(-EINTR, "asked to stop while it waited for a lock of a filter's "
				"file");
	sleep_on(word, value, w->nanoseconds);
	w->nanoseconds = now - w->begun > 1000 ? 10000000
		: w->nanoseconds < 500000 ? w->nanoseconds * 2 : 1000000;
	return 0;
}

/*
 * The lock is asked for again and again, and never waited for in the kernel: there a process that
 * only reads the file could come before this one, and keep the lock.
 */
static int pause_for(int fd, enum blm_lock_of what, bool exclusive, struct wait *w)
{
	int r = exclusive ? lose_patience(fd, what, w, milliseconds()) : 0;

	return r < 0 ? r : blm_pause(&w->pause);
}

int blm_ofd_lock(int fd, enum blm_lock_of what, bool exclusive)
{
	struct flock lock = range(what, exclusive ? F_WRLCK : F_RDLCK);
	struct wait w = { 0 };
	int r = 0;

	while (r == 0 && fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EACCES)
			return blm_fail(-errno, "cannot lock a filter's file: %s", strerror(errno));
		r = pause_for(fd, what, exclusive, &w);
	}
	return r;
}

void blm_ofd_unlock(int fd, enum blm_lock_of what)
{
	struct flock lock = range(what, F_UNLCK);

	fcntl(fd, F_OFD_SETLK, &lock);
}

bool blm_ofd_try(int fd, enum blm_lock_of what)
{
	struct flock lock = range(what, F_WRLCK);

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
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

bool blm_ofd_is_free(int fd, enum blm_lock_of what)
{
	struct flock lock = range(what, F_WRLCK);

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

void blm_lock_init(struct blm_lock *lock)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&lock->threads, &attr);
	pthread_rwlockattr_destroy(&attr);
	pthread_mutex_init(&lock->counting, NULL);
	pthread_cond_init(&lock->given_back, NULL);
	lock->shared = lock->joined = 0;
	lock->yields = false;
	lock->presence = NULL;
}

void blm_lock_destroy(struct blm_lock *lock)
{
	pthread_rwlock_destroy(&lock->threads);
	pthread_mutex_destroy(&lock->counting);
	pthread_cond_destroy(&lock->given_back);
}

/* ---- Replacing and what keeps a file from being replaced ---- */

/*
 * A process that wants BLM_LOCK_REPLACE exclusively takes BLM_LOCK_GATE first. One that wants it
 * shared takes no lock of the gate, and only waits until no process holds the gate: a gate that
 * many share would never be free.
 */
static int pass_gate(int fd)
{
	struct wait w = { 0 };
	int r = 0;

	while (r == 0 && blm_ofd_held(fd, BLM_LOCK_GATE))
		r = pause_for(fd, BLM_LOCK_GATE, false, &w);
	return r;
}

static int refuse_to_share(int fd)
{
	char *name = path_of(fd);
	int r = blm_fail(-EBUSY, "%s: another handle has opened it exclusively; close that handle, "
			 "or end its process", name ? name : "a filter's file");

	free(name);
	return r;
}

static int lock_replace(int fd, bool exclusive)
{
	int r = exclusive ? blm_ofd_lock(fd, BLM_LOCK_GATE, true) : pass_gate(fd);

	if (r < 0)
		return r;
	r = blm_ofd_lock(fd, BLM_LOCK_REPLACE, exclusive);
	if (exclusive)
		blm_ofd_unlock(fd, BLM_LOCK_GATE);
	if (r == 0 && blm_ofd_held(fd, BLM_LOCK_EXCLUSIVE)) {
		blm_ofd_unlock(fd, BLM_LOCK_REPLACE);
		r = refuse_to_share(fd);
	}
	return r;
}

enum { JOINERS = 64 };		/* threads that share the lock before the gate is looked at again */

/*
 * Threads that relieve each other would keep the file's lock forever. So when the gate is closed,
 * the threads that come wait until the lock was given back. The caller holds lock->counting.
 */
static void let_others_in(struct blm_lock *lock, int fd)
{
	if (lock->shared && ++lock->joined % JOINERS == 0)
		lock->yields |= blm_ofd_held(fd, BLM_LOCK_GATE);
	while (lock->yields)
		pthread_cond_wait(&lock->given_back, &lock->counting);
}

int blm_lock_shared(struct blm_lock *lock, int fd)
{
	int r = 0;

	pthread_rwlock_rdlock(&lock->threads);
	pthread_mutex_lock(&lock->counting);
	let_others_in(lock, fd);
	if (lock->shared == 0)
		r = lock_replace(fd, false);
	if (r == 0)
		__atomic_fetch_add(&lock->shared, 1, __ATOMIC_SEQ_CST);
	if (r == 0 && lock->presence)
		blm_presence_clear_dead(lock->presence);
	pthread_mutex_unlock(&lock->counting);
	if (r < 0)
		pthread_rwlock_unlock(&lock->threads);
	return r;
}

void blm_unlock_shared(struct blm_lock *lock, int fd)
{
	pthread_mutex_lock(&lock->counting);
	if (__atomic_sub_fetch(&lock->shared, 1, __ATOMIC_SEQ_CST) == 0) {
		blm_ofd_unlock(fd, BLM_LOCK_REPLACE);
		if (lock->yields)
			pthread_cond_broadcast(&lock->given_back);
		lock->yields = false;
	}
	pthread_mutex_unlock(&lock->counting);
	pthread_rwlock_unlock(&lock->threads);
}

int blm_lock_exclusive(struct blm_lock *lock, int fd)
{
	int r;

	pthread_rwlock_wrlock(&lock->threads);
	r = lock_replace(fd, true);
	if (r == 0 && lock->presence) {
		r = blm_presence_exclude(lock->presence, fd);
		if (r < 0)
			blm_ofd_unlock(fd, BLM_LOCK_REPLACE);
	}
	if (r < 0)
		pthread_rwlock_unlock(&lock->threads);
	return r;
}

void blm_unlock_exclusive(struct blm_lock *lock, int fd)
{
	if (lock->presence)
		blm_presence_admit(lock->presence);
	blm_ofd_unlock(fd, BLM_LOCK_REPLACE);
	pthread_rwlock_unlock(&lock->threads);
}

bool blm_lock_is_held(const struct blm_lock *lock, int fd)
{
	return __atomic_load_n(&lock->shared, __ATOMIC_SEQ_CST)
		|| blm_ofd_busy(fd, BLM_LOCK_REPLACE);
}
