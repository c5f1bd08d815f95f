/*
 * claims.c - files in claims/ of a store whose filter is gone
 *
 * The program keeps a file there for each filter that `corpus dedup` uses, under the name of the
 * filter's file. A drop or a replacement deletes it, unless its process dies before that.
 *
 * If filters/ or claims/ is a symbolic link, other stores can have their files in the same claims/.
 * Such files are not looked at.
 */
#include "check/store_check.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_uuid_name(const char *file)
{
	enum { DIGITS = BLM_UUID_TEXT - 1 };

	return strspn(file, "0123456789abcdef-") == DIGITS && !strcmp(file + DIGITS, ".blm");
}

/* Is the file of that name in filters/ gone? An error says nothing. */
static bool is_gone(const struct repair *r, const char *file)
{
	return faccessat(r->filters, file, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static void check(struct repair *r, int folder, const char *file)
{
	char path[BLM_PATH_MAX];
	bool deleted;

	if (!has_uuid_name(file) || !is_gone(r, file))
		return;
	deleted = r->repair && unlinkat(folder, file, 0) == 0;
	snprintf(path, sizeof(path), "%s/claims/%s", r->dir, file);
	blm_found(r->to, path, deleted, "left behind: its filter is gone");
}

/* Is claims/ next to filters/ that of this store alone? */
static bool is_own(const struct repair *r)
{
	struct stat above, store, claims;

	return fstatat(r->filters, "..", &above, 0) == 0 && stat(r->dir, &store) == 0
		&& above.st_dev == store.st_dev && above.st_ino == store.st_ino
		&& fstatat(r->filters, "../claims", &claims, AT_SYMLINK_NOFOLLOW) == 0
		&& S_ISDIR(claims.st_mode);
}

int blm_repair_claims(struct repair *r)
{
	DIR *list;
	struct dirent *e;
	int err = 0, fd;

	if (!is_own(r))
		return 0;
	fd = openat(r->filters, "../claims", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		/* another user's may be closed to this one */
		err = fd < 0 && (errno == ENOENT || errno == EACCES) ? 0
			: blm_fail(-errno, "%s/claims: %s", r->dir, strerror(errno));
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (errno = 0, (e = readdir(list)))
		check(r, fd, e->d_name);
	if (errno)
		err = blm_fail(-errno, "%s/claims: %s", r->dir, strerror(errno));
	closedir(list);
	return err;
}
