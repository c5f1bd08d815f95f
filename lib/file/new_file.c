/* new_file.c - make a file without a name, then name it in one step */
#include "file/ofd_lock.h"
#include "file/new_file.h"
#include "file/os.h"
#include "base/random.h"
#include "base/phase.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };		/* such a piece is left out where it is zero */

static int temporary_name(char ret[BLM_TEMPORARY_NAME])
{
	uint64_t random;
	int r = blm_random(&random, sizeof(random), "the name of a temporary file");

	if (r == 0)
		snprintf(ret, BLM_TEMPORARY_NAME, ".bloomery-%016llx", (unsigned long long)random);
	return r;
}

/* The prefix, then any number of digits up to the maximum, and nothing else. */
static bool is_number_after(const char *prefix, const char *name, const char *digits, size_t least,
			    size_t most)
{
	size_t bytes = strlen(prefix), count = strncmp(name, prefix, bytes) ? 0
		: strspn(name + bytes, digits);

	return count >= least && count <= most && !name[bytes + count];
}

bool blm_is_temporary(const char *name)
{
	return is_number_after(".bloomery-", name, "0123456789abcdef", 16, 16);
}

bool blm_is_replacement(const char *name)
{
	return is_number_after(".bloomery-over-", name, "0123456789", 1, 20);
}

void blm_replacement_name(uint64_t inode, char ret[BLM_TEMPORARY_NAME])
{
	snprintf(ret, BLM_TEMPORARY_NAME, ".bloomery-over-%llu", (unsigned long long)inode);
}

/* Without a name, or, if the file system makes no such files, with a temporary one. */
static int make(struct blm_new_file *file, mode_t mode, const char *temporary)
{
	file->fd = openat(file->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	if (file->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
		memcpy(file->temporary, temporary, BLM_TEMPORARY_NAME);
		file->fd = openat(file->folder, file->temporary,
				  O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
		if (file->fd >= 0)
			blm_ofd_lock(file->fd, BLM_LOCK_MAKING, true);
	}
	return file->fd < 0 ? -errno : 0;
}

/* Empty, and not there any more. */
static void unmake(struct blm_new_file *file)
{
	blm_new_file_unname(file);
	close(file->fd);
	file->fd = -1;
}

/*
 * Others could open it by a temporary name before it has its final rights: so an empty file is used
 * to find out what these are.
 */
static int make_with(struct blm_new_file *file, unsigned mode, const char *temporary)
{
	struct stat st;
	int r = make(file, mode ? 0600 : 0644, temporary);

	file->asked = mode;
	if (r == 0 && fstat(file->fd, &st) < 0)
		r = -errno;
	if (r < 0)
		return r;
	file->mode = mode ? mode & 0777 : st.st_mode & 0777;
	if (!file->temporary[0] || !(st.st_mode & 077))
		return 0;
	unmake(file);
	return make(file, 0600, temporary);
}

int blm_new_file(struct blm_new_file *ret, int folder, const char *path, unsigned mode)
{
	struct blm_new_file file = { .fd = -1, .folder = folder };
	char temporary[BLM_TEMPORARY_NAME];
	int r = temporary_name(temporary);

	if (r < 0) {
		blm_new_file_end(&file);
		return r;
	}
	r = make_with(&file, mode, temporary);
	if (r < 0) {
		blm_new_file_end(&file);
		return blm_fail(r, "%s: cannot make a file in its folder: %s", path, strerror(-r));
	}
	*ret = file;
	return 0;
}

/*
 * The mode has the sum of the rights in a list (ACL): without the list the group would get rights
 * that only another user had. The folder may have given the new file a list that the old one lacks.
 */
static bool take_list(int fd, int old)
{
	static const char name[] = "system.posix_acl_access";
	char list[4096];		/* some 500 entries */
	ssize_t bytes = fgetxattr(old, name, list, sizeof(list));

	if (bytes >= 0)
		return fsetxattr(fd, name, list, (size_t)bytes, 0) == 0;
	if (errno != ENODATA && errno != EOPNOTSUPP)	/* it has one, or may have */
		return false;
	return fremovexattr(fd, name) == 0 || errno == ENODATA || errno == EOPNOTSUPP;
}

/*
 * Only root may change a file's owner, and some file systems have no owners. Then the maker owns
 * the new file, and it has the old group if the maker is a member. Otherwise group and others get
 * only the rights that both had, because the members of the new group were among the others.
 */
static int take_rights(struct blm_new_file *file, int old)
{
	struct stat was, is;
	unsigned both;

	if (fstat(old, &was) < 0 || fstat(file->fd, &is) < 0)
		return -errno;
	if (!file->asked) {
		file->mode = was.st_mode & 0777;
		if (!take_list(file->fd, old))
			file->mode &= ~070u;
	}
	if (was.st_uid != is.st_uid && fchown(file->fd, was.st_uid, was.st_gid) == 0)
		return 0;
	if (was.st_gid == is.st_gid || fchown(file->fd, (uid_t)-1, was.st_gid) == 0)
		return 0;
	both = file->mode >> 3 & file->mode & 07;
	file->mode = (file->mode & 0700) | both << 3 | both;
	return 0;
}

int blm_new_file_take_rights(struct blm_new_file *file, int old, const char *path)
{
	int r = take_rights(file, old);

	return r < 0 ? blm_fail(r, "%s: cannot give the new file the rights of the old one: %s",
				path, strerror(-r)) : 0;
}

/* As the last thing before it has its name: by then it is whose it will be. */
static int set_mode(const struct blm_new_file *file)
{
	struct stat st;

	if (fstat(file->fd, &st) < 0)
		return -errno;
	return (st.st_mode & 0777) != file->mode && fchmod(file->fd, file->mode) < 0 ? -errno : 0;
}

static int set_size(int fd, uint64_t at, uint64_t bytes, bool sparse)
{
	struct blm_held_signal held;
	int err;

	blm_hold_size_signal(&held);
	do
		err = !sparse ? posix_fallocate(fd, (off_t)at, (off_t)bytes)
			: ftruncate(fd, (off_t)bytes) < 0 ? errno : 0;
	while (err == EINTR);
	blm_let_size_signal(&held);
	return -err;
}

/*
 * Asked for more than there is, a file system fills up first and fails then, and others fail with
 * it in the meantime.
 */
static bool has_space(int fd, uint64_t bytes)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) < 0 || !fs.f_blocks || bytes / fs.f_frsize <= fs.f_bavail;
}

/*
 * Bytes that are allocated without a check of the free space: a block of a file that has its space
 * already takes none.
 */
enum { LITTLE = 1 << 16 };

static int take_space(int fd, uint64_t at, uint64_t bytes, bool sparse, const char *path)
{
	int r;

	if (bytes > INT64_MAX / 2 || at > INT64_MAX / 2)
		return blm_fail(-EFBIG, "%s: %llu bytes is too large for a file", path,
				(unsigned long long)bytes);
	r = sparse || bytes <= LITTLE || has_space(fd, bytes) ? set_size(fd, at, bytes, sparse)
		: -ENOSPC;
	if (r == -EFBIG)
		return blm_fail(r, "%s: the file system, or a limit, allows no file of %llu bytes",
				path, (unsigned long long)bytes);
	if (r < 0)
		return blm_fail(r, "%s: no room for %llu bytes: %s", path,
				(unsigned long long)bytes, strerror(-r));
	return 0;
}

int blm_new_file_size(struct blm_new_file *file, uint64_t bytes, bool sparse, const char *path)
{
	return take_space(file->fd, 0, bytes, sparse, path);
}

int blm_extend(int fd, uint64_t bytes, const char *path)
{
	return take_space(fd, 0, bytes, true, path);
}

int blm_allocate(int fd, uint64_t at, uint64_t bytes, const char *path)
{
	return take_space(fd, at, bytes, false, path);
}

static int write_full_pages(int fd, const uint8_t *bytes, size_t count, uint64_t at,
			    struct blm_pages *counted)
{
	size_t from = 0, to = 0;
	int r = 0;

	while (r == 0 && to < count) {
		size_t page = PAGE - (at + to) % PAGE;

		page = page < count - to ? page : count - to;
		if (is_zero(bytes + to, page)) {
			counted->empty++;
			r = blm_write_at(fd, bytes + from, to - from, at + from);
			from = to + page;
		} else {
			counted->full++;
		}
		to += page;
	}
	return r < 0 ? r : blm_write_at(fd, bytes + from, to - from, at + from);
}

int blm_write_pages(int fd, const void *bytes, size_t count, uint64_t at, struct blm_pages *counted,
		    const char *path)
{
	int r = write_full_pages(fd, bytes, count, at, counted);

	return r < 0 ? blm_fail(r, "%s: cannot write its data: %s", path, strerror(-r)) : 0;
}

/*
 * Most network file systems and those of FUSE support no flags of rename. A kill in between leaves
 * the file with both names, one of them a leftover.
 */
int blm_rename_new(int folder, const char *temporary, const char *name)
{
	if (renameat2(folder, temporary, folder, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(folder, temporary, folder, name, 0) < 0)
		/* no links there, which is no matter of rights */
		return errno == EPERM ? -EOPNOTSUPP : -errno;
	unlinkat(folder, temporary, 0);
	return 0;
}

static int name_it(struct blm_new_file *file, const char *name)
{
	char self[40];

	if (file->temporary[0])
		return blm_rename_new(file->folder, file->temporary, name);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
	if (linkat(AT_FDCWD, self, file->folder, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	/* without /proc */
	if (errno == ENOENT && linkat(file->fd, "", file->folder, name, AT_EMPTY_PATH) == 0)
		return 0;
	return -errno;
}

/*
 * rename() needs a name to rename from. A file that already has the name for a locked file was left
 * by a process that died here.
 */
static int put_over(struct blm_new_file *file, const char *name, enum blm_over over,
		    char temporary[BLM_TEMPORARY_NAME])
{
	struct stat st;
	int r;

	if (!file->temporary[0]) {
		if (over == BLM_OVER_LOCKED && fstatat(file->folder, name, &st, AT_SYMLINK_NOFOLLOW)
		    == 0) {
			blm_replacement_name(st.st_ino, temporary);
		} else {
			blm_ofd_lock(file->fd, BLM_LOCK_MAKING, true);
		}
		r = name_it(file, temporary);
		if (over == BLM_OVER_LOCKED && r == -EEXIST
		    && unlinkat(file->folder, temporary, 0) == 0)
			r = name_it(file, temporary);
		if (r < 0)
			return r;
		memcpy(file->temporary, temporary, BLM_TEMPORARY_NAME);
	}
	return renameat(file->folder, file->temporary, file->folder, name) < 0 ? -errno : 0;
}

/*
 * For the bar of the phase: fsync() says nothing before its end. A failure that the system reports
 * here is not reported again, so it counts. Where a file system has no such call, fsync() alone
 * writes.
 */
static int write_in_pieces(int fd, uint64_t bytes)
{
	const unsigned how = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE
		| SYNC_FILE_RANGE_WAIT_AFTER;

	for (uint64_t at = 0; at < bytes; at += BLM_WRITTEN_AT_ONCE) {
		if (sync_file_range(fd, (off_t)at, (off_t)BLM_WRITTEN_AT_ONCE, how) < 0)
			return errno == EINVAL || errno == ENOSYS || errno == ESPIPE ? 0 : -errno;
		blm_phase_at(at + BLM_WRITTEN_AT_ONCE);
	}
	return 0;
}

int blm_new_file_sync(struct blm_new_file *file, const char *path)
{
	struct stat st;
	uint64_t bytes = fstat(file->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
	int r = set_mode(file);

	if (r < 0)
		return blm_fail(r, "%s: cannot set mode %o: %s", path, file->mode, strerror(-r));
	BLM_PHASE(blm_writing, bytes);
	if (blm_phase_is_writing() && bytes > BLM_WRITTEN_AT_ONCE)
		r = write_in_pieces(file->fd, bytes);
	if (r == 0 && fsync(file->fd) < 0)
		r = -errno;
	if (r < 0)
		return blm_fail(r, "%s: cannot put the new file in place: %s", path, strerror(-r));
	blm_phase_at(bytes);
	return 0;
}

/* A map holds the open file description, and so the locks, after its descriptors are closed. */
static int park(struct blm_new_file *file, char temporary[BLM_TEMPORARY_NAME], void **ret_map)
{
	bool named = file->temporary[0];
	int r = set_mode(file);

	if (r < 0)
		return r;
	if (named)
		memcpy(temporary, file->temporary, BLM_TEMPORARY_NAME);
	else if ((r = temporary_name(temporary)) < 0
		 || (r = blm_ofd_lock(file->fd, BLM_LOCK_MAKING, true)) < 0)
		return r;
	*ret_map = mmap(NULL, BLM_PARKED_BYTES, PROT_READ, MAP_SHARED, file->fd, 0);
	if (*ret_map == MAP_FAILED)
		return -errno;
	r = madvise(*ret_map, BLM_PARKED_BYTES, MADV_DONTFORK) < 0 ? -errno
		: named ? 0 : name_it(file, temporary);
	if (r < 0)
		munmap(*ret_map, BLM_PARKED_BYTES);
	else
		file->temporary[0] = '\0';
	return r;
}

int blm_new_file_park(struct blm_new_file *file, char ret_temporary[BLM_TEMPORARY_NAME],
		      void **ret_map, const char *path)
{
	int r = park(file, ret_temporary, ret_map);

	return r < 0 ? blm_fail(r, "%s: cannot create its file in the folder: %s", path,
				strerror(-r)) : 0;
}

int blm_new_file_name(struct blm_new_file *file, const char *name, enum blm_over over,
		      const char *path)
{
	char temporary[BLM_TEMPORARY_NAME];
	int r = over ? temporary_name(temporary) : 0;

	if (r < 0)
		return r;
	r = over ? put_over(file, name, over, temporary) : name_it(file, name);
	if (r == 0) {
		file->temporary[0] = '\0';
		r = fsync(file->folder) < 0 ? -errno : 0;
		if (r < 0 && !over)
			unlinkat(file->folder, name, 0);
	}
	if (r == -EEXIST)
		return blm_fail(r, "%s: exists already; choose another name, or delete it first",
				path);
	return r < 0 ? blm_fail(r, "%s: cannot put the new file in place: %s", path, strerror(-r))
		: 0;
}

static int take_rights_of(struct blm_new_file *file, const char *name, const char *path)
{
	int old = openat(file->folder, name,
			 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	int r = old < 0 ? 0 : blm_new_file_take_rights(file, old, path);

	if (old >= 0)
		close(old);
	return r;
}

int blm_new_file_publish(struct blm_new_file *file, const char *name, enum blm_over over,
			 const char *path)
{
	int r = over == BLM_OVER ? take_rights_of(file, name, path) : 0;

	r = r < 0 ? r : blm_new_file_sync(file, path);
	return r < 0 ? r : blm_new_file_name(file, name, over, path);
}

/*
 * Its maker locks it before it writes anything. An empty file that no process holds, and a file
 * that cannot be opened, are judged by their age only. The size is read before the lock: a file
 * that was empty then may already be locked and full.
 */
bool blm_temporary_is_made(int folder, const char *file)
{
	enum { HOUR = 3600 };
	int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	bool made = fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW) < 0;

	if (!made && (fd < 0 || !S_ISREG(st.st_mode) || !st.st_size))
		made = time(NULL) - st.st_ctime < HOUR;
	made = made || (fd >= 0 && blm_ofd_busy(fd, BLM_LOCK_MAKING));
	if (fd >= 0)
		close(fd);
	return made;
}

void blm_new_file_take_back(struct blm_new_file *file, const char *name)
{
	char temporary[BLM_TEMPORARY_NAME];

	blm_ofd_lock(file->fd, BLM_LOCK_MAKING, true);
	if (temporary_name(temporary) == 0
	    && renameat(file->folder, name, file->folder, temporary) == 0)
		memcpy(file->temporary, temporary, sizeof(temporary));
	else
		unlinkat(file->folder, name, 0);
}

void blm_new_file_unname(struct blm_new_file *file)
{
	if (file->temporary[0])
		unlinkat(file->folder, file->temporary, 0);
	file->temporary[0] = '\0';
}

void blm_new_file_end(struct blm_new_file *file)
{
	blm_new_file_unname(file);	/* while it is locked */
	if (file->fd >= 0)
		close(file->fd);
	if (file->folder >= 0)
		close(file->folder);
	*file = (struct blm_new_file){ .fd = -1, .folder = -1 };
}
