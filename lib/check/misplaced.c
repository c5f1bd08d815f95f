/*
 * misplaced.c - files of a store whose name is not the one in their header, for example after a
 * copy or a rename by hand
 */
#include "file/os.h"
#include "check/store_check.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name that a file of the folder should have, by its header. */
struct own {
	uint8_t uuid[16];
	char name[BLM_FILE_TEXT];
	uint64_t state;
};

static bool own_name(int folder, const char *file, struct own *ret)
{
	int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct blm_constant c;
	bool says = fd >= 0 && blm_store_constant(fd, &c)
		 && blm_read_at(fd, &ret->state, 8, offsetof(struct blm_header, live.state)) == 8;

	if (says) {
		memcpy(ret->uuid, c.uuid, sizeof(ret->uuid));
		blm_uuid_file(c.uuid, ret->name);
	}
	if (fd >= 0)
		close(fd);
	return says;
}

/*
 * Can a name lead to this filter? None leads to an old copy of a dropped or replaced filter. The
 * copy stays where the user put it, because a repair would delete it under its own name.
 */
static int is_in_use(const struct repair *r, const struct own *own)
{
	return r->store ? blm_catalog_knows(r->store->catalog, own->uuid)
		: state_of(le64toh(own->state)) != BLM_REPLACED;
}

static bool is_one_file(int folder, const char *a, const char *b)
{
	struct stat sa, sb;

	return fstatat(folder, a, &sa, AT_SYMLINK_NOFOLLOW) == 0
		&& fstatat(folder, b, &sb, AT_SYMLINK_NOFOLLOW) == 0
	    && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static bool knows_no_flags(int err)
{
	return err == -EINVAL || err == -ENOSYS;
}

/* Move a file to a free name. Where rename has no flags, a kill in between leaves both names. */
static int move(int folder, const char *from, const char *to)
{
	int err = renameat2(folder, from, folder, to, RENAME_NOREPLACE) < 0 ? -errno : 0;

	if (!knows_no_flags(err))
		return err;
	if (linkat(folder, from, folder, to, 0) < 0)
		return -errno;
	return unlinkat(folder, from, 0) < 0 ? -errno : 0;
}

/*
 * Exchange two files. Where rename has no flags, a kill in between leaves one of them under a name
 * that the next repair corrects.
 */
static int exchange(int folder, const char *a, const char *b)
{
	char aside[BLM_FILE_TEXT + 16];
	int err = renameat2(folder, a, folder, b, RENAME_EXCHANGE) < 0 ? -errno : 0;

	if (!knows_no_flags(err))
		return err;
	snprintf(aside, sizeof(aside), "%s.aside", b);
	err = move(folder, b, aside);
	if (err == 0)
		err = move(folder, a, b);
	return err < 0 ? err : move(folder, aside, a);
}

/*
 * Give a file its own name. The file that had this name gets the other name, and then its own in
 * turn. Each step brings one file to its place. A file stays where it is if its own name leads to
 * the same filter already, or to a file whose name is not certain. Return: 1 if files were moved, 0
 * if none were, or a negative errno.
 */
static int put_home(const struct repair *r, const char *file)
{
	char path[BLM_PATH_MAX];
	struct own own, there;
	int moved = 0, err;

	while (own_name(r->filters, file, &own) && strcmp(own.name, file)) {
		err = is_in_use(r, &own);
		if (err < 1)
			return err < 0 ? err : moved;
		if (is_one_file(r->filters, file, own.name)) {
			err = unlinkat(r->filters, file, 0) < 0 ? -errno : 0;
		} else if (own_name(r->filters, own.name, &there)) {
			if (!strcmp(there.name, own.name))
				break;
			err = exchange(r->filters, file, own.name);
		} else if ((err = move(r->filters, file, own.name)) == -EEXIST) {
			break;
		}
		snprintf(path, sizeof(path), "%s/filters/%s", r->dir, own.name);
		if (err < 0)
			return blm_fail(err, "%s: putting the file %s under this name failed: %s",
					path, file, strerror(-err));
		moved = 1;
		blm_found(r->to, path, true, "was under the name %s, which is not that of its "
			  "header", file);
	}
	return moved;
}

int blm_repair_places(struct repair *r)
{
	int fd = r->repair ? openat(r->filters, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
		: -1, err = 0, moved = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *e; list && err >= 0 && (e = readdir(list)); moved |= err)
		err = blm_is_temporary(e->d_name)
			|| blm_is_replacement(e->d_name) ? 0 : put_home(r, e->d_name);
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	if (moved > 0 && fsync(r->filters) < 0)
		return blm_fail(-errno, "%s/filters: writing the folder failed: %s", r->dir,
				strerror(errno));
	return err < 0 ? err : 0;
}
