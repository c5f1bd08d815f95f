/* catalog_lock.c - flock(2) on catalog/lock, with a bounded wait */
#include "catalog_lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_SECONDS = 5 };

int blm_catalog_lock_open(struct blm_catalog_lock *ret, const char *folder, bool write)
{
	char path[4096];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/lock", folder) >= sizeof(path))
		return blm_fail(-ENAMETOOLONG, "%s: too long for a path", folder);
	/* flock() wants no right to write: other users' readers can hold it too */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (write ? O_CREAT : 0), 0644);
	if (fd < 0 && write)
		return blm_fail(-errno, "%s: %s", path, strerror(errno));
	*ret = (struct blm_catalog_lock){ .fd = fd, .folder = folder };
	pthread_mutex_init(&ret->mutex, NULL);
	return 0;
}

void blm_catalog_lock_close(struct blm_catalog_lock *lock)
{
	if (!lock->folder)
		return;
	if (lock->fd >= 0)
		close(lock->fd);
	pthread_mutex_destroy(&lock->mutex);
	*lock = (struct blm_catalog_lock){ .fd = -1 };
}

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

static bool past(const struct timespec *end)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

/* flock() has no time limit, so ask again and again: at first after 50 microseconds, at last every 5 milliseconds. */
static int lock_file(struct blm_catalog_lock *lock, bool exclusive, const struct timespec *end)
{
	long pause = 50000;

	if (lock->fd < 0)
		return 0;
	while (flock(lock->fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return blm_fail(-errno, "%s: cannot lock the catalog: %s", lock->folder, strerror(errno));
		if (past(end))
			return busy(lock);
		nanosleep(&(struct timespec){ .tv_nsec = pause }, NULL);
		pause = pause < 2500000 ? pause * 2 : 5000000;
	}
	return 0;
}

int blm_catalog_lock(struct blm_catalog_lock *lock, bool exclusive)
{
	struct timespec end;
	int r;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_SECONDS;
	if (pthread_mutex_timedlock(&lock->mutex, &end))
		return busy(lock);
	r = lock_file(lock, exclusive, &end);
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
