/*
 * misplaced.c - files of a store whose name is not the one in their header, for example after a
 * copy or a rename by hand; and files in keys/ whose name is not the id of their secret
 */
#include "file/os.h"
#include "check/store_check.h"
#include "place/keyring.h"

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name that a file of the folder should have, by its header or secret. */
struct own {
	uint8_t id[16];			/* uuid, or key id */
	char name[BLM_FILE_TEXT];
	uint64_t state;
};

struct folder {
	const char *name, *says;	/* what in a file says its name */
	bool (*own_name)(int folder, const char *file, struct own *ret);
	int (*is_in_use)(const struct repair *r, const struct own *own);
	int fd;
	/*
	 * A process that drops a filter looks at its secret and then deletes the file, both under
	 * this lock, so no secret may move in between. -1 until a file is to be moved.
	 */
	int lock;
	bool keys;			/* it is keys/, whose files move under the lock alone */
};

static bool name_by_header(int folder, const char *file, struct own *ret)
{
	int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct blm_constant c;
	bool says = fd >= 0 && blm_store_constant(fd, &c)
		 && blm_read_at(fd, &ret->state, 8, offsetof(struct blm_header, live.state)) == 8;

	if (says) {
		memcpy(ret->id, c.uuid, sizeof(ret->id));
		blm_uuid_file(c.uuid, ret->name);
	}
	if (fd >= 0)
		close(fd);
	return says;
}

static bool name_by_secret(int folder, const char *file, struct own *ret)
{
	bool says = blm_store_secret_id(folder, file, ret->id);

	if (says)
		sodium_bin2hex(ret->name, sizeof(ret->name), ret->id, 8);
	return says;
}

/*
 * Can a name belong to this filter? None belongs to an old copy of a dropped or replaced filter.
 * The copy stays where the user put it, because a repair would delete it under its own name.
 */
static int can_be_named(const struct repair *r, const struct own *own)
{
	return r->store ? blm_catalog_knows(r->store->catalog, own->id)
		: state_of(le64toh(own->state)) != BLM_REPLACED;
}

static int is_needed(const struct repair *r, const struct own *own)
{
	return blm_store_needs_secret(r->store, own->id);
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
static int put_home(const struct repair *r, struct folder *in, const char *file)
{
	char path[BLM_PATH_MAX];
	struct own own, there;
	int moved = 0, err;

	while (in->own_name(in->fd, file, &own) && strcmp(own.name, file)) {
		err = in->is_in_use(r, &own);
		if (err < 1)
			return err < 0 ? err : moved;
		if (in->keys && in->lock < 0) {
			err = blm_lock_keys(r->store, LOCK_EX, &in->lock);
			if (err < 0)
				return err;
			continue;
		}
		if (!in->keys && is_one_file(in->fd, file, own.name)) {
			err = unlinkat(in->fd, file, 0) < 0 ? -errno : 0;
		} else if (in->own_name(in->fd, own.name, &there)) {
			if (!strcmp(there.name, own.name))
				break;
			err = exchange(in->fd, file, own.name);
		} else if ((err = move(in->fd, file, own.name)) == -EEXIST) {
			break;
		}
		snprintf(path, sizeof(path), "%s/%s/%s", r->dir, in->name, own.name);
		if (err < 0)
			return blm_fail(err, "%s: putting the file %s under this name failed: %s",
					path, file, strerror(-err));
		moved = 1;
		blm_found(r->to, path, true, "was under the name %s, which is not that of its %s",
			  file, in->says);
	}
	return moved;
}

static int put_all_home(const struct repair *r, struct folder *in)
{
	int fd = openat(in->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0, moved = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *e; list && err >= 0 && (e = readdir(list)); moved |= err)
		err = blm_is_temporary(e->d_name)
			|| blm_is_replacement(e->d_name) ? 0 : put_home(r, in, e->d_name);
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	if (moved > 0 && fsync(in->fd) < 0)
		err = blm_fail(-errno, "%s/%s: writing the folder failed: %s", r->dir, in->name,
			       strerror(errno));
	if (in->lock >= 0)
		close(in->lock);
	return err < 0 ? err : 0;
}

int blm_repair_places(struct repair *r)
{
	struct folder filters = { .name = "filters", .says = "header", .fd = r->filters,
				  .own_name = name_by_header, .is_in_use = can_be_named,
				  .lock = -1 },
		      keys = { .name = "keys", .says = "secret", .keys = true,
			       .fd = r->store ? r->store->keys : -1,
			       .own_name = name_by_secret, .is_in_use = is_needed, .lock = -1 };
	int err = r->repair ? put_all_home(r, &filters) : 0;

	return err == 0 && r->repair && keys.fd >= 0 ? put_all_home(r, &keys) : err;
}
