/* flock.c - flock(2) on catalog/lock, with a bounded wait */
#include "catalog/flock.h"
#include "catalog/lmdb_snapshot.h"
#include "file/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

/* ---- All open locks, for fork() ---- */

static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct blm_catalog_lock *all;

static void close_both(struct blm_catalog_lock *lock)
{
	if (lock->fd >= 0)
		close(lock->fd);
	if (lock->queue >= 0)
		close(lock->queue);
	lock->fd = lock->queue = -1;
}

static void before_fork(void)
{
	pthread_mutex_lock(&all_mutex);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&all_mutex);
}

static void in_child(void)
{
	pthread_mutex_init(&all_mutex, NULL);
	for (struct blm_catalog_lock *lock = all; lock; lock = lock->next) {
		close_both(lock);
		pthread_mutex_init(&lock->mutex, NULL);
	}
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

void blm_catalog_lock_watch_forks(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
}

/* ---- Opening and closing ---- */

/* Through a link any file would be created or locked. Only a regular file is a lock. */
static int open_lock(const char *path, bool write)
{
	/* flock() wants no right to write: other users' readers can hold it too */
	int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
	int fd = open(path, flags | (write ? O_CREAT : 0), 0644);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	if (fd >= 0) {
		close(fd);
		errno = EISDIR;
	}
	return -errno;
}

static int cannot_open(const char *path, int err)
{
	if (err == ELOOP || err == EISDIR || err == ENXIO)
		return blm_fail(-EBADMSG, "%s: not a regular file; remove it: the next use of the "
				"store makes a new one", path);
	return blm_fail(-err, "%s: %s", path, strerror(err));
}

/*
 * Without its file no writer can be kept out while this process reads, unless nothing can be
 * written.
 */
static int no_lock(const char *folder, const char *path, int err)
{
	struct statvfs fs;

	if (statvfs(folder, &fs) == 0 && fs.f_flag & ST_RDONLY)
		return 0;
	if (err == ENOENT)
		return blm_fail(-ENOLCK, "%s: missing, and this user cannot make it; the store's "
				"owner makes it by any use of the store", path);
	if (err == EACCES)
		return blm_fail(-EACCES, "%s: %s; readers of the catalog lock this file, so let "
				"its owner `chmod a+r` it", path, strerror(err));
	return cannot_open(path, err);
}

int blm_catalog_lock_open(struct blm_catalog_lock *ret, const char *folder, bool write)
{
	char path[4096];
	int fd, r;

	if ((size_t)snprintf(path, sizeof(path), "%s/lock", folder) >= sizeof(path))
		return blm_fail(-ENAMETOOLONG, "%s: too long for a path", folder);
	blm_catalog_lock_watch_forks();
	pthread_mutex_lock(&all_mutex);		/* no fork between the descriptors and the list */
	fd = open_lock(path, write);
	r = fd >= 0 ? 0 : write ? cannot_open(path, -fd) : no_lock(folder, path, -fd);
	if (r == 0) {
		*ret = (struct blm_catalog_lock){ .fd = fd, .queue = -1, .folder = folder,
						  .next = all };
		if (fd >= 0)
			ret->queue = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		pthread_mutex_init(&ret->mutex, NULL);
		all = ret;
	}
	pthread_mutex_unlock(&all_mutex);
	return r;
}

void blm_catalog_lock_close(struct blm_catalog_lock *lock)
{
	struct blm_catalog_lock **link;

	if (!lock->folder)
		return;
	pthread_mutex_lock(&all_mutex);
	for (link = &all; *link != lock; link = &(*link)->next)
		;
	*link = lock->next;
	close_both(lock);
	pthread_mutex_unlock(&all_mutex);
	pthread_mutex_destroy(&lock->mutex);
	*lock = (struct blm_catalog_lock){ .fd = -1, .queue = -1 };
}

/* ---- Waiting ---- */

int64_t blm_catalog_lock_limit = INT64_C(5000000000);

/* Nanoseconds of one clock for all. */
static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * The kernel lists a lock as "7: FLOCK ADVISORY WRITE 4711 fe:00:131 0 EOF". How many processes
 * have one on this file, and one of them; 0: not listed.
 */
static int holders(int fd, int *ret_one)
{
	FILE *locks = fd < 0 ? NULL : fopen("/proc/locks", "re");
	unsigned long long inode;
	unsigned major_number, minor_number;
	struct stat st;
	char line[256];
	int pid, found = 0;

	*ret_one = 0;
	if (!locks)
		return 0;
	if (fstat(fd, &st) == 0)
		while (fgets(line, sizeof(line), locks))
			if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%llu", &pid, &major_number,
				   &minor_number, &inode) == 4
			    && inode == st.st_ino && major_number == major(st.st_dev)
			    && minor_number == minor(st.st_dev)) {
				*ret_one = pid;
				found++;
			}
	fclose(locks);
	return found;
}

static uint64_t last_commit(const struct blm_catalog_lock *lock)
{
	struct blm_snapshot p;
	uint64_t txn = 0;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/data.mdb", lock->folder);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return 0;
	if (blm_snapshot_begin(&p, fd) == 0)
		txn = p.meta.txn;
	blm_snapshot_end(&p);
	close(fd);
	return txn;
}

/*
 * The wait is limited while nothing moves, not while others take turns: a commit, another holder,
 * or another thread of this process that got the lock restarts the limit.
 */
struct wait {
	int64_t since, look;		/* when something moved last, and when to look next */
	uint64_t commit, taken;
	int holder;
};

static struct wait begin_wait(void)
{
	int64_t t = now();

	return (struct wait){ .since = t, .look = t + blm_catalog_lock_limit / 16 };
}

static int busy(const struct blm_catalog_lock *lock, int holder)
{
	double limit = (double)blm_catalog_lock_limit / 1e9;
	int one, waiting = holders(lock->queue, &one);

	if (holder > 0)
		return blm_fail(-EBUSY, "%s: process %d has locked the catalog for more than "
				"%.3g seconds (waiting: %d); try again, or end that process",
				lock->folder, holder, limit, waiting);
	return blm_fail(-EBUSY, "%s: the catalog was locked for more than %.3g seconds; try again",
			lock->folder, limit);
}

/* 0: go on waiting. */
static int look_at_wait(struct blm_catalog_lock *lock, struct wait *w)
{
	struct wait is = { .since = w->since, .commit = w->commit };
	int64_t t = now();

	if (blm_end_came())
		return -EINTR;
	if (t < w->look)
		return 0;
	is.look = t + blm_catalog_lock_limit / 16;
	is.commit = last_commit(lock);
	is.taken = __atomic_load_n(&lock->taken, __ATOMIC_RELAXED);
	holders(lock->fd, &is.holder);
	if (is.commit != w->commit || is.taken != w->taken || is.holder != w->holder)
		is.since = t;
	*w = is;
	return t - is.since >= blm_catalog_lock_limit ? busy(lock, is.holder) : 0;
}

/*
 * flock() has no time limit, so ask again and again: at first after 50 microseconds, at last every
 * 5 milliseconds. While it waits, this process holds a shared lock on the folder, so that others
 * can count the processes that wait. That lock excludes no other.
 */
static int wait_for(struct blm_catalog_lock *lock, int how, struct wait *w)
{
	long pause = 50000;
	int r = 0;

	while (r == 0 && flock(lock->fd, how | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			r = -errno;
			r = blm_fail(r, "%s: cannot lock the catalog: %s", lock->folder,
				     strerror(-r));
			break;
		}
		if (lock->queue >= 0 && pause == 50000)
			flock(lock->queue, LOCK_SH | LOCK_NB);
		nanosleep(&(struct timespec){ .tv_nsec = pause }, NULL);
		pause = pause < 2500000 ? pause * 2 : 5000000;
		r = look_at_wait(lock, w);
	}
	if (lock->queue >= 0 && pause > 50000)
		flock(lock->queue, LOCK_UN);
	return r;
}

static int lock_mutex(struct blm_catalog_lock *lock, struct wait *w)
{
	int r = 0;

	while (r == 0 && pthread_mutex_trylock(&lock->mutex)) {
		struct timespec end;

		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_nsec += blm_catalog_lock_limit / 32 % 1000000000;
		end.tv_sec += end.tv_nsec / 1000000000;
		end.tv_nsec %= 1000000000;
		if (pthread_mutex_timedlock(&lock->mutex, &end) == 0)
			break;
		r = look_at_wait(lock, w);
	}
	return r;
}

int blm_catalog_lock(struct blm_catalog_lock *lock, bool exclusive)
{
	struct wait w = begin_wait();
	int r = lock_mutex(lock, &w);

	if (r == 0 && lock->fd >= 0) {
		r = wait_for(lock, exclusive ? LOCK_EX : LOCK_SH, &w);
		if (r < 0)
			pthread_mutex_unlock(&lock->mutex);
	}
	if (r == 0)
		__atomic_fetch_add(&lock->taken, 1, __ATOMIC_RELAXED);
	else if (r == -EINTR)
		blm_fail(r, "%s: interrupted while it waited for the catalog's lock", lock->folder);
	return r;
}

void blm_catalog_unlock(struct blm_catalog_lock *lock)
{
	if (lock->fd >= 0)
		flock(lock->fd, LOCK_UN);
	pthread_mutex_unlock(&lock->mutex);
}
