/* lock.c - flock(2) on catalog/lock, with a bounded wait */
#include "catalog/lock.h"
#include "file/system.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_SECONDS = 5, GATE_AFTER = 20000000, GATE_FOR = 1000000000 };	/* the gate's in nanoseconds */

/* ---- All open locks, for fork() ---- */

static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct blm_catalog_lock *all;

static void close_both(struct blm_catalog_lock *lock)
{
	if (lock->fd >= 0)
		close(lock->fd);
	if (lock->gate >= 0)
		close(lock->gate);
	lock->fd = lock->gate = -1;
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

/* Without its file nobody can be kept from writing while this process reads; unless nobody can write. */
static int no_lock(const char *folder, const char *path, int err)
{
	struct statvfs fs;

	if (statvfs(folder, &fs) == 0 && fs.f_flag & ST_RDONLY)
		return 0;
	if (err == ENOENT)
		return blm_fail(-ENOLCK, "%s: missing, and this user cannot make it; the store's owner makes it by any use of the store", path);
	if (err == EACCES)
		return blm_fail(-EACCES, "%s: %s; who reads the catalog locks this file, so let its owner `chmod a+r` it", path, strerror(err));
	return blm_fail(-err, "%s: %s", path, strerror(err));
}

int blm_catalog_lock_open(struct blm_catalog_lock *ret, const char *folder, bool write)
{
	char path[4096];
	int fd, r;

	if ((size_t)snprintf(path, sizeof(path), "%s/lock", folder) >= sizeof(path))
		return blm_fail(-ENAMETOOLONG, "%s: too long for a path", folder);
	blm_catalog_lock_watch_forks();
	pthread_mutex_lock(&all_mutex);		/* no fork between the descriptors and the list */
	/* flock() wants no right to write: other users' readers can hold it too */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (write ? O_CREAT : 0), 0644);
	r = fd >= 0 ? 0 : write ? blm_fail(-errno, "%s: %s", path, strerror(errno)) : no_lock(folder, path, errno);
	if (r == 0) {
		*ret = (struct blm_catalog_lock){ .fd = fd, .gate = -1, .folder = folder, .next = all };
		if (fd >= 0)
			ret->gate = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
	*lock = (struct blm_catalog_lock){ .fd = -1, .gate = -1 };
}

/* ---- Waiting ---- */

/* Who holds it, as the kernel lists locks: "7: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF". 0: not told. */
static int holder(int fd)
{
	FILE *locks = fopen("/proc/locks", "re");
	unsigned long long inode;
	unsigned major_number, minor_number;
	struct stat st;
	char line[256];
	int pid, found = 0;

	if (!locks)
		return 0;
	if (fstat(fd, &st) == 0)
		while (!found && fgets(line, sizeof(line), locks))
			if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%llu", &pid, &major_number, &minor_number, &inode) == 4
			    && inode == st.st_ino && major_number == major(st.st_dev) && minor_number == minor(st.st_dev))
				found = pid;
	fclose(locks);
	return found;
}

static int busy(const struct blm_catalog_lock *lock)
{
	int pid = lock->fd < 0 ? 0 : holder(lock->fd);

	if (pid > 0)
		return blm_fail(-EBUSY, "%s: process %d has locked the catalog for more than %d seconds", lock->folder, pid, WAIT_SECONDS);
	return blm_fail(-EBUSY, "%s: the catalog was locked for more than %d seconds", lock->folder, WAIT_SECONDS);
}

/* Nanoseconds of one clock for all. */
static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* flock() has no time limit, so ask again and again: at first after 50 microseconds, at last every 5 milliseconds. */
static int wait_for(int fd, int how, int64_t end)
{
	long pause = 50000;

	while (flock(fd, how | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (now() >= end)
			return -EBUSY;
		if (blm_end_came())
			return -EINTR;
		nanosleep(&(struct timespec){ .tv_nsec = pause }, NULL);
		pause = pause < 2500000 ? pause * 2 : 5000000;
	}
	return 0;
}

/*
 * Among many readers there may never be a moment without one. So a writer that had to wait takes the gate, which every reader
 * goes through. Not for long: who does not give the lock back within a second is stopped, and then others may read as well.
 */
static int lock_to_write(const struct blm_catalog_lock *lock, int64_t begun, int64_t end)
{
	int r = wait_for(lock->fd, LOCK_EX, begun + GATE_AFTER);

	if (r != -EBUSY || lock->gate < 0)
		return r == -EBUSY ? wait_for(lock->fd, LOCK_EX, end) : r;
	r = wait_for(lock->gate, LOCK_EX, end);
	if (r == 0) {
		int64_t enough = now() + GATE_FOR;

		r = wait_for(lock->fd, LOCK_EX, enough < end ? enough : end);
		flock(lock->gate, LOCK_UN);
	}
	return r == -EBUSY ? wait_for(lock->fd, LOCK_EX, end) : r;
}

static int lock_to_read(const struct blm_catalog_lock *lock, int64_t end)
{
	int r = lock->gate >= 0 ? wait_for(lock->gate, LOCK_SH, end) : 0;

	if (r == 0 && lock->gate >= 0)
		flock(lock->gate, LOCK_UN);
	return r < 0 ? r : wait_for(lock->fd, LOCK_SH, end);
}

static int lock_file(struct blm_catalog_lock *lock, bool exclusive, int64_t begun)
{
	int64_t end = begun + (int64_t)WAIT_SECONDS * 1000000000;
	int r;

	if (lock->fd < 0)
		return 0;
	r = exclusive ? lock_to_write(lock, begun, end) : lock_to_read(lock, end);
	if (r == -EBUSY)
		return busy(lock);
	return r < 0 ? blm_fail(r, "%s: cannot lock the catalog: %s", lock->folder, strerror(-r)) : 0;
}

int blm_catalog_lock(struct blm_catalog_lock *lock, bool exclusive)
{
	int64_t begun = now();
	struct timespec end;
	int r;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_SECONDS;
	if (pthread_mutex_timedlock(&lock->mutex, &end))
		return busy(lock);
	r = lock_file(lock, exclusive, begun);
	if (r < 0)
		pthread_mutex_unlock(&lock->mutex);
	return r;
}

void blm_catalog_unlock(struct blm_catalog_lock *lock)
{
	if (lock->fd >= 0)
		flock(lock->fd, LOCK_UN);
	pthread_mutex_unlock(&lock->mutex);
}
