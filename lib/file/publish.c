/* publish.c - make a file without a name, then name it in one step */
#include "file/publish.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void temporary_name(char *ret, size_t bytes)
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint64_t)getpid();
	snprintf(ret, bytes, ".bloomery-%016llx", (unsigned long long)random);
}

int blm_new_file(struct blm_new_file *ret, int folder, const char *path, unsigned mode)
{
	struct blm_new_file file = { .fd = -1, .folder = folder };
	mode_t made_with = mode ? (mode & 0777) | 0600 : 0644;

	file.fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, made_with);
	if (file.fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
		temporary_name(file.temporary, sizeof(file.temporary));
		file.fd = openat(folder, file.temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, made_with);
	}
	if (file.fd < 0) {
		int err = -errno;

		close(folder);
		return blm_fail(err, "%s: cannot make a file in its folder: %s", path, strerror(-err));
	}
	if (mode && fchmod(file.fd, mode & 0777) < 0) {
		int err = -errno;

		close(file.fd);
		blm_new_file_end(&file);
		return blm_fail(err, "%s: cannot set mode %o: %s", path, mode, strerror(-err));
	}
	*ret = file;
	return 0;
}

/*
 * posix_fallocate() and ftruncate() past the limit of file sizes raise SIGXFSZ, which kills. The signal is blocked in this
 * thread for the call and, if this call raised it, taken away before it is let through again.
 */
static int set_size(int fd, off_t bytes, bool sparse)
{
	sigset_t too_large, before, pending;
	bool was_pending;
	int err;

	sigemptyset(&too_large);
	sigaddset(&too_large, SIGXFSZ);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGXFSZ) == 1;
	pthread_sigmask(SIG_BLOCK, &too_large, &before);
	do
		err = !sparse ? posix_fallocate(fd, 0, bytes) : ftruncate(fd, bytes) < 0 ? errno : 0;
	while (err == EINTR);
	if (!was_pending)
		while (sigtimedwait(&too_large, NULL, &(struct timespec){ 0 }) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

/* Asked for more than there is, a file system fills up first and fails then, and others fail with it in the meantime. */
static bool has_room(int fd, uint64_t bytes)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) < 0 || !fs.f_blocks || bytes / fs.f_frsize <= fs.f_bavail;
}

int blm_new_file_size(struct blm_new_file *file, uint64_t bytes, bool sparse, const char *path)
{
	int r;

	if (bytes > INT64_MAX / 2)
		return blm_fail(-EFBIG, "%s: %llu bytes is too large for a file", path, (unsigned long long)bytes);
	r = sparse || has_room(file->fd, bytes) ? set_size(file->fd, (off_t)bytes, sparse) : -ENOSPC;
	if (r == -EFBIG)
		return blm_fail(r, "%s: the file system, or a limit, allows no file of %llu bytes", path, (unsigned long long)bytes);
	if (r < 0)
		return blm_fail(r, "%s: no room for %llu bytes: %s", path, (unsigned long long)bytes, strerror(-r));
	return 0;
}

static int name_it(struct blm_new_file *file, const char *name)
{
	char self[40];

	if (file->temporary[0])
		return renameat2(file->folder, file->temporary, file->folder, name, RENAME_NOREPLACE) < 0 ? -errno : 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
	if (linkat(AT_FDCWD, self, file->folder, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	/* without /proc */
	if (errno == ENOENT && linkat(file->fd, "", file->folder, name, AT_EMPTY_PATH) == 0)
		return 0;
	return -errno;
}

/* rename() needs a name to rename from. */
static int put_over(struct blm_new_file *file, const char *name)
{
	int r;

	if (!file->temporary[0]) {
		char temporary[64];

		temporary_name(temporary, sizeof(temporary));
		r = name_it(file, temporary);
		if (r < 0)
			return r;
		memcpy(file->temporary, temporary, sizeof(temporary));
	}
	return renameat(file->folder, file->temporary, file->folder, name) < 0 ? -errno : 0;
}

int blm_new_file_publish(struct blm_new_file *file, const char *name, bool over, const char *path)
{
	int r = fsync(file->fd) < 0 ? -errno : 0;

	if (r == 0)
		r = over ? put_over(file, name) : name_it(file, name);
	if (r == 0) {
		file->temporary[0] = '\0';
		r = fsync(file->folder) < 0 ? -errno : 0;
		if (r < 0 && !over)
			unlinkat(file->folder, name, 0);
	}
	if (r == -EEXIST)
		return blm_fail(r, "%s: exists already", path);
	return r < 0 ? blm_fail(r, "%s: cannot put the new file in place: %s", path, strerror(-r)) : 0;
}

void blm_new_file_end(struct blm_new_file *file)
{
	if (file->temporary[0])
		unlinkat(file->folder, file->temporary, 0);
	close(file->folder);
	*file = (struct blm_new_file){ .fd = -1, .folder = -1 };
}
