/* place.c - where a filter is found: a path, or a name in a store */
#include "place.h"
#include "bloomery.h"
#include "file/image.h"
#include "store.h"

#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Naming ---- */

int blm_place_set(struct blm_place *ret, struct blm_store *store, const char *name)
{
	struct blm_place place = { .store = store };
	int r = store ? blm_check_name(name) : 0;

	if (r < 0)
		return r;
	if (!name || !*name)
		return blm_fail(-EINVAL, "the empty path is no filter");
	place.name = strdup(name);
	if (store ? asprintf(&place.shown, "%s (%s)", name, store->dir) < 0 : !(place.shown = strdup(name)))
		place.shown = NULL;
	if (!place.name || !place.shown) {
		free(place.name);
		free(place.shown);
		return blm_fail(-ENOMEM, "%s: out of memory", name);
	}
	if (store)
		blm_store_hold(store);
	*ret = place;
	return 0;
}

int blm_place_copy(struct blm_place *ret, const struct blm_place *from)
{
	return blm_place_set(ret, from->store, from->name);
}

void blm_place_clear(struct blm_place *place)
{
	if (place->store)
		blm_store_close(place->store);
	free(place->name);
	free(place->shown);
	*place = (struct blm_place){ 0 };
}

const char *blm_place_name(const struct blm_place *place)
{
	return place->store ? place->name : NULL;
}

/* ---- Paths ---- */

/* The folder of a path, as a descriptor, and what is left of it. */
static int folder_of(const char *path, const char **ret_last)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	int fd;

	if (slash && (size_t)(slash - path) + 2 > sizeof(folder))
		return blm_fail(-ENAMETOOLONG, "%s: too long for a path", path);
	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash == path ? 1 : slash - path), path);
	else
		strcpy(folder, ".");
	*ret_last = slash ? slash + 1 : path;
	if (!**ret_last || !strcmp(*ret_last, ".") || !strcmp(*ret_last, ".."))
		return blm_fail(-EISDIR, "%s: a directory, not a filter", path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? blm_fail(-errno, "%s: folder %s: %s", path, folder, strerror(errno)) : fd;
}

/* O_NONBLOCK: a FIFO must not make us wait; for regular files it means nothing. */
static int open_path(const char *path, bool write)
{
	int fd = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		return blm_fail(-ENOENT, "%s: no such filter", path);
	if (errno == EISDIR)
		return blm_fail(-EBADMSG, "%s: a directory, not a filter", path);
	return blm_fail(-errno, "%s: cannot open for %s: %s", path, write ? "writing" : "reading", strerror(errno));
}

static int path_is(const char *path, dev_t device, ino_t inode)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOENT ? -ENOENT : blm_fail(-errno, "%s: %s", path, strerror(errno));
	return st.st_dev == device && st.st_ino == inode;
}

/* ---- Either ---- */

int blm_place_open(const struct blm_place *place, bool write)
{
	return place->store ? blm_store_open_file(place->store, place->name, write) : open_path(place->name, write);
}

int blm_place_is(const struct blm_place *place, dev_t device, ino_t inode, const uint8_t uuid[16])
{
	return place->store ? blm_store_is(place->store, place->name, uuid) : path_is(place->name, device, inode);
}

int blm_place_is_taken(const struct blm_place *place)
{
	static const uint8_t none[16];
	struct stat st;
	int r = place->store ? blm_store_is(place->store, place->name, none) : lstat(place->name, &st) < 0 ? -errno : 0;

	if (r == -ENOENT)
		return 0;
	if (r >= 0 || r == -EUCLEAN)
		return blm_fail(-EEXIST, "%s: exists already", place->shown);
	return place->store ? r : blm_fail(r, "%s: %s", place->shown, strerror(-r));
}

int blm_place_new(const struct blm_place *place, unsigned mode, struct blm_new_file *ret)
{
	const char *last;
	int folder;

	if (place->store)
		return blm_store_new(place->store, place->name, mode, ret);
	folder = folder_of(place->name, &last);
	return folder < 0 ? folder : blm_new_file(ret, folder, place->shown, mode);
}

int blm_place_publish(const struct blm_place *place, struct blm_new_file *file, struct blm_header *header, const uint8_t *over)
{
	if (place->store)
		return blm_store_put(place->store, place->name, file, header, over);
	return blm_new_file_publish(file, strrchr(place->name, '/') ? strrchr(place->name, '/') + 1 : place->name, over != NULL, place->shown);
}

void blm_place_forget(const struct blm_place *place, const uint8_t uuid[16])
{
	if (place->store)
		blm_store_forget(place->store, uuid);
}

int blm_place_synced(const struct blm_place *place, const uint8_t uuid[16], uint64_t keys, bool estimated, uint64_t time)
{
	return place->store ? blm_store_synced(place->store, place->name, uuid, keys, estimated, time) : 0;
}

/* ---- Secrets ---- */

void blm_key_id(const uint8_t *secret, uint8_t ret[8])
{
	uint8_t hash[32];

	crypto_generichash_blake2b(hash, sizeof(hash), secret, BLM_SECRET_BYTES, NULL, 0);
	memcpy(ret, hash, 8);
}

/* keys/ID in a store, PATH.key beside a path. */
static int secret_file(const struct blm_place *place, const uint8_t key_id[8], char *ret, size_t bytes, int *ret_folder)
{
	if (place->store) {
		sodium_bin2hex(ret, bytes, key_id, 8);
		*ret_folder = place->store->keys;
		return 0;
	}
	*ret_folder = AT_FDCWD;
	if ((size_t)snprintf(ret, bytes, "%s.key", place->name) >= bytes)
		return blm_fail(-ENAMETOOLONG, "%s: too long for a path", place->name);
	return 0;
}

int blm_place_secret(const struct blm_place *place, const uint8_t key_id[8], uint8_t *ret)
{
	char name[PATH_MAX], text[2 * BLM_SECRET_BYTES + 1] = { 0 };
	size_t bytes = 0;
	int folder, r = secret_file(place, key_id, name, sizeof(name), &folder), fd;
	ssize_t n;

	if (r < 0)
		return r;
	fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && place->store && place->store->keys < 0)
		errno = place->store->keys_errno;
	if (fd < 0)
		return blm_fail(-ENOKEY, "%s: keyed, and its secret %s%s cannot be read: %s; give it with --key-file", place->shown,
				place->store ? "keys/" : "", name, strerror(errno));
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	r = n == (ssize_t)sizeof(text) - 1 ? sodium_hex2bin(ret, BLM_SECRET_BYTES, text, sizeof(text) - 1, NULL, &bytes, NULL) : -1;
	sodium_memzero(text, sizeof(text));
	if (r < 0 || bytes != BLM_SECRET_BYTES)
		return blm_fail(-ENOKEY, "%s: its secret %s%s is damaged: it must be %d hexadecimal digits", place->shown,
				place->store ? "keys/" : "", name, 2 * BLM_SECRET_BYTES);
	return 0;
}

/* The secret's file, written like a filter's: it appears whole, and its name is on the disk before anybody relies on it. */
static int write_secret(const struct blm_place *place, int folder, const char *name, const uint8_t *secret)
{
	char text[2 * BLM_SECRET_BYTES + 2];
	struct blm_new_file file;
	int r = blm_new_file(&file, folder, place->shown, 0600);

	if (r < 0)
		return r;
	sodium_bin2hex(text, sizeof(text), secret, BLM_SECRET_BYTES);
	text[2 * BLM_SECRET_BYTES] = '\n';
	if (write(file.fd, text, sizeof(text) - 1) != (ssize_t)sizeof(text) - 1)
		r = blm_fail(errno ? -errno : -EIO, "%s: cannot write its secret %s: %s", place->shown, name, strerror(errno));
	else
		r = blm_new_file_publish(&file, name, false, name);
	sodium_memzero(text, sizeof(text));
	close(file.fd);
	blm_new_file_end(&file);
	return r;
}

/*
 * A secret is never written over: the file that is there belongs to the same key id in a store, where its name is the id,
 * or to a filter of the same path. That may be a leftover, which is why a different one says so and stays.
 */
int blm_place_keep_secret(const struct blm_place *place, const uint8_t key_id[8], const uint8_t *secret)
{
	char name[PATH_MAX];
	uint8_t there[BLM_SECRET_BYTES];
	const char *last = name;
	int ignored, r = secret_file(place, key_id, name, sizeof(name), &ignored), folder;

	if (r < 0)
		return r;
	folder = place->store ? fcntl(place->store->keys, F_DUPFD_CLOEXEC, 0) : folder_of(name, &last);
	if (folder < 0)
		return place->store ? blm_fail(-errno, "%s: keys/ cannot be written: %s", place->shown, strerror(errno)) : folder;
	r = write_secret(place, folder, last, secret);
	if (r != -EEXIST)
		return r;
	r = blm_place_secret(place, key_id, there);
	if (r == 0 && memcmp(there, secret, sizeof(there)))
		r = blm_fail(-EKEYREJECTED, "%s: there is another secret in %s; move it away first", place->shown, name);
	sodium_memzero(there, sizeof(there));
	return r;
}
