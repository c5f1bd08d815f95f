/* place.c - where a filter is found: a path, a name in a store, or memory */
#include "place/place.h"
#include "bloomery.h"
#include "file/mapping.h"
#include "place/memory.h"
#include "place/store_dir.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Naming ---- */

static int set_memory(struct blm_place *ret, struct blm_memory *memory)
{
	struct blm_place place = { .memory = memory, .display = strdup("(memory)") };

	if (memory && place.display) {
		*ret = place;
		return 0;
	}
	if (memory)
		blm_memory_release(memory);
	free(place.display);
	return blm_fail(-ENOMEM, "out of memory");
}

/*
 * The absolute path, which stays right when the working directory changes. If the directory is
 * unknown: the path as it was given.
 */
char *blm_absolute_path(const char *path)
{
	char cwd[PATH_MAX], *ret;

	if (*path == '/' || !getcwd(cwd, sizeof(cwd)) || *cwd != '/'
	    || strlen(cwd) + 1 + strlen(path) >= PATH_MAX)
		return strdup(path);
	return asprintf(&ret, "%s/%s", strcmp(cwd, "/") ? cwd : "", path) < 0 ? NULL : ret;
}

int blm_place_set(struct blm_place *ret, struct blm_store *store, const char *name)
{
	struct blm_place place = { .store = store };
	int r = store ? blm_check_name(name) : 0;

	if (r < 0)
		return r;
	if (!store && !name)
		return set_memory(ret, blm_memory_new());
	if (!*name)
		return blm_fail(-EINVAL, "the path of the filter is empty; name a file");
	place.name = store ? strdup(name) : blm_absolute_path(name);
	if (store ? asprintf(&place.display, "%s (%s)", name, store->dir) < 0
	    : !(place.display = strdup(name)))
		place.display = NULL;
	if (!place.name || !place.display) {
		free(place.name);
		free(place.display);
		return blm_fail(-ENOMEM, "%s: out of memory", name);
	}
	if (store)
		blm_store_hold(store);
	*ret = place;
	return 0;
}

/* The target of a link is replaced, not the link: others may open the file by other paths. */
int blm_place_follow(struct blm_place *ret, const struct blm_place *from)
{
	char *path, *display;
	int r;

	if (from->memory)
		return set_memory(ret, blm_memory_hold(from->memory));
	if (from->store)
		return blm_place_set(ret, from->store, from->name);
	path = realpath(from->name, NULL);
	if (!path && errno != ENOENT)
		return blm_fail(-errno, "%s: %s", from->display, strerror(errno));
	r = blm_place_set(ret, NULL, path ? path : from->name);
	free(path);
	display = r < 0 ? NULL : strdup(from->display);	/* messages have the path that was given */
	if (display) {
		free(ret->display);
		ret->display = display;
	}
	return r;
}

void blm_place_clear(struct blm_place *place)
{
	if (place->store)
		blm_store_close(place->store);
	if (place->memory)
		blm_memory_release(place->memory);
	free(place->name);
	free(place->display);
	*place = (struct blm_place){ 0 };
}

const char *blm_place_name(const struct blm_place *place)
{
	return place->store ? place->name : NULL;
}

void blm_place_path(const struct blm_place *place, const uint8_t uuid[16], char *ret, size_t bytes)
{
	char path[BLM_PATH_MAX] = "";

	if (place->store)
		blm_store_path(place->store, uuid, path);
	snprintf(ret, bytes, "%s", place->store ? path : place->memory ? "" : place->display);
}

/* ---- Paths ---- */

int blm_folder_of(const char *path, const char **ret_last)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	int fd;

	if (slash && (size_t)(slash - path) + 2 > sizeof(folder))
		return blm_fail(-ENAMETOOLONG, "%s: too long for a path", path);
	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash == path ? 1 : slash - path),
			 path);
	else
		strcpy(folder, ".");
	*ret_last = slash ? slash + 1 : path;
	if (!**ret_last || !strcmp(*ret_last, ".") || !strcmp(*ret_last, ".."))
		return blm_fail(-EISDIR, "%s: a directory, not a filter", path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? blm_fail(-errno, "%s: folder %s: %s", path, folder, strerror(errno)) : fd;
}

/* O_NONBLOCK: a FIFO must not make us wait; for regular files it means nothing. */
static int open_path(const struct blm_place *place, bool write)
{
	const char *path = place->display;
	int fd = open(place->name, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		return blm_fail(-ENOENT, "%s: no such filter", path);
	if (errno == EISDIR)
		return blm_fail(-EBADMSG, "%s: a directory, not a filter", path);
	return blm_fail(-errno, "%s: cannot open for %s: %s", path, write ? "writing" : "reading",
			strerror(errno));
}

static int path_is(const struct blm_place *place, dev_t device, ino_t inode)
{
	struct stat st;

	if (stat(place->name, &st) < 0)
		return blm_fail(-errno, "%s: %s", place->display,
				errno == ENOENT ? "no such filter any more" : strerror(errno));
	return st.st_dev == device && st.st_ino == inode;
}

/* ---- Either ---- */

int blm_place_open(const struct blm_place *place, bool write, struct blm_told *ret_told)
{
	if (ret_told)
		*ret_told = (struct blm_told){ 0 };
	if (place->memory)
		return blm_memory_open(place->memory, write);
	return place->store ? blm_store_open_file(place->store, place->name, write, ret_told)
		: open_path(place, write);
}

int blm_place_is(const struct blm_place *place, dev_t device, ino_t inode, const uint8_t uuid[16])
{
	if (place->memory)
		return blm_memory_is(place->memory, device, inode);
	return place->store ? blm_store_is(place->store, place->name, uuid)
		: path_is(place, device, inode);
}

enum blm_standing blm_place_standing(const struct blm_place *place, const struct blm_image *image,
				     const uint8_t uuid[16])
{
	struct stat ours = { .st_dev = image->device, .st_ino = image->inode, .st_nlink = 1 },
		there;
	int fd = __atomic_load_n(&image->fd, __ATOMIC_ACQUIRE), r;

	if (place->memory || (fd >= 0 && fstat(fd, &ours) < 0))
		return BLM_STANDS;
	r = place->store ? blm_store_stat(place->store, uuid, &there)
		: stat(place->name, &there) < 0 ? -errno : 0;
	if (r == 0 && (there.st_dev != ours.st_dev || there.st_ino != ours.st_ino))
		return BLM_DISPLACED;
	if (r == 0)	/* a path through a descriptor leads to a file without a link, too */
		return ours.st_nlink || image->nameless ? BLM_STANDS : BLM_DELETED;
	if (ours.st_nlink == 0)
		return BLM_DELETED;
	return r == -ENOENT || r == -ENOTDIR ? BLM_MOVED : BLM_STANDS;
}

int blm_place_is_taken(const struct blm_place *place)
{
	static const uint8_t none[16];
	struct stat st;
	int r;

	if (place->memory)
		r = blm_memory_is(place->memory, 0, 0);
	else
		r = place->store ? blm_store_is(place->store, place->name, none)
			: lstat(place->name, &st) < 0 ? -errno : 0;
	if (r == -ENOENT)
		return place->store ? blm_check_new_name(place->name) : 0;
	if (r >= 0 || r == -EUCLEAN)
		return blm_fail(-EEXIST, "%s: exists already; choose another name, or delete it "
				"first", place->display);
	return place->store ? r : blm_fail(r, "%s: %s", place->display, strerror(-r));
}

int blm_place_new(const struct blm_place *place, unsigned mode, struct blm_new_file *ret)
{
	const char *last;
	int folder;

	if (place->memory)
		return blm_memory_begin(ret);
	if (place->store)
		return blm_store_new(place->store, place->name, mode, ret);
	folder = blm_folder_of(place->name, &last);
	return folder < 0 ? folder : blm_new_file(ret, folder, place->display, mode);
}

int blm_place_publish(const struct blm_place *place, struct blm_new_file *file,
		      struct blm_header *header, const struct blm_handover *over)
{
	if (place->memory)
		return blm_memory_publish(place->memory, file);
	if (place->store)
		return blm_store_put(place->store, place->name, file, header, over);
	return blm_new_file_publish(file, strrchr(place->name, '/') ? strrchr(place->name, '/') + 1
				    : place->name,
				    over ? BLM_OVER_LOCKED : BLM_NOT_OVER, place->display);
}

/* As far as the folder may be read; if it is gone there is nothing to do. */
int blm_place_flush(const struct blm_place *place)
{
	struct blm_place final;
	const char *last;
	int folder, r = 0;

	if (place->store || place->memory || blm_place_follow(&final, place) < 0)
		return 0;
	folder = blm_folder_of(final.name, &last);
	if (folder >= 0 && fsync(folder) < 0 && errno != EINVAL)
		r = blm_fail(-errno, "%s: writing the folder that it is in failed: %s",
			     place->display, strerror(errno));
	if (folder >= 0)
		close(folder);
	blm_place_clear(&final);
	return r;
}

void blm_place_forget(const struct blm_place *place, const uint8_t uuid[16])
{
	if (place->store)
		blm_store_forget(place->store, uuid);
}

int blm_place_synced(const struct blm_place *place, const struct blm_synced *what)
{
	return place->store ? blm_store_synced(place->store, place->name, what) : 0;
}
