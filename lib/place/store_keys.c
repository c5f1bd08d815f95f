/* store_keys.c - secrets in keys/ of a store: a file each, until no filter needs it (keyring.c) */
#include "base/secret_memory.h"
#include "file/mapping.h"
#include "file/os.h"
#include "place/keyring.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

bool blm_store_may_look(const struct blm_store *s, const uint8_t key_id[8])
{
	char name[17];

	if (s->keys < 0)
		return s->keys_errno != EACCES;
	sodium_bin2hex(name, sizeof(name), key_id, 8);
	return faccessat(s->keys, name, R_OK, AT_EACCESS) == 0 || errno != EACCES;
}

/*
 * The secret's file, written like a filter's: it appears whole, and its name is on the disk before
 * anybody relies on it.
 */
static int write_secret(const struct blm_place *place, int folder, const char *name,
			const uint8_t *secret)
{
	char line[DIGITS + 2];
	struct blm_new_file file;
	int r = blm_new_file(&file, folder, place->display, 0600);

	if (r < 0)
		return r;
	sodium_bin2hex(line, sizeof(line), secret, BLM_SECRET_BYTES);
	line[DIGITS] = '\n';
	r = blm_write_at(file.fd, line, DIGITS + 1, 0);
	if (r < 0)
		r = blm_fail(r, "%s: cannot write its secret %s: %s", place->display, name,
			     strerror(-r));
	else
		r = blm_new_file_publish(&file, name, BLM_NOT_OVER, name);
	sodium_memzero(line, sizeof(line));
	blm_new_file_end(&file);
	return r;
}

/* Its writer may have been killed before it was on the disk. */
static int put_on_disk(const struct blm_place *place, const char *name)
{
	int fd = openat(place->store->keys, name,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), r = 0;

	if (fd < 0 || fsync(fd) < 0 || fsync(place->store->keys) < 0)
		r = blm_fail(-errno, "%s: cannot write its secret %s: %s", place->display, name,
			     strerror(errno));
	if (fd >= 0)
		close(fd);
	return r;
}

/* The file that is there belongs to the same key id, since its name is that. */
int blm_keep_in_store(const struct blm_place *place, const uint8_t key_id[8],
		      const uint8_t *secret)
{
	char name[PATH_MAX];
	uint8_t there[BLM_SECRET_BYTES];
	int folder, r = blm_secret_file(place, key_id, name, sizeof(name), &folder);

	folder = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	if (folder < 0)
		return blm_fail(-errno, "%s: keys/ cannot be written: %s", place->display,
				strerror(errno));
	r = write_secret(place, folder, name, secret);
	if (r != -EEXIST)
		return r < 0 ? r : 1;
	r = blm_place_secret(place, key_id, there);
	if (r == 0 && memcmp(there, secret, sizeof(there)))
		r = blm_fail(-EKEYREJECTED, "%s: there is another secret in keys/%s; move it away "
			     "first", place->display, name);
	sodium_memzero(there, sizeof(there));
	return r < 0 ? r : put_on_disk(place, name);
}

int blm_lock_keys(const struct blm_store *s, int how, int *ret_fd)
{
	int fd, r;

	*ret_fd = -1;
	if (s->keys < 0)
		return 0;
	fd = openat(s->keys, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 ? -errno : blm_lock_keys_file(fd, how);
	if (r == 0)
		*ret_fd = fd;
	else if (fd >= 0)
		close(fd);
	return r < 0 ? blm_fail(r, "%s/keys: cannot be locked: %s", s->dir, strerror(-r)) : 0;
}

/* What cannot be read, or is damaged, may need any. */
static bool needs(int filters, const char *file, const uint8_t key_id[8])
{
	struct blm_constant c;
	int fd = openat(filters, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	bool whole = fd >= 0 && blm_read_at(fd, &c, sizeof(c), 0) == (int64_t)sizeof(c)
		&& c.check == blm_check_constant(&c);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? errno != ENOENT : !whole || !memcmp(c.template.key_id, key_id, 8);
}

bool blm_store_needs_secret(const struct blm_store *s, const uint8_t key_id[8])
{
	int fd = openat(s->filters, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	bool needed = !list;

	errno = 0;
	for (struct dirent *e; !needed && (e = readdir(list)); errno = 0)
		/* a file without its final name begins with a dot */
		needed = *e->d_name != '.' && needs(s->filters, e->d_name, key_id);
	needed |= errno != 0;
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	return needed;
}

static bool is_secret(const struct blm_secrets *text, uint8_t *ret)
{
	return blm_trimmed(text->chars, text->count) == DIGITS
		&& sodium_hex2bin(ret, BLM_SECRET_BYTES, text->chars, DIGITS, NULL, NULL,
				  NULL) == 0;
}

bool blm_store_secret_id(int keys, const char *file, uint8_t ret[8])
{
	int fd = openat(keys, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	uint8_t *secret = fd < 0 ? NULL : blm_hidden_new(BLM_SECRET_BYTES);
	struct blm_secrets text = { .chars = NULL };
	bool whole = secret && blm_read_secrets(fd, &text) == 0 && is_secret(&text, secret);

	if (whole)
		blm_key_id(secret, ret);
	blm_hidden_free(text.chars);
	blm_hidden_free(secret);
	blm_wipe_stack();
	if (fd >= 0)
		close(fd);
	return whole;
}

/* A file that was put under the name of another may be the only copy of that secret. */
static bool is_of_another(int keys, const char *name, const uint8_t key_id[8])
{
	int fd = openat(keys, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	uint8_t *secret = blm_hidden_new(BLM_SECRET_BYTES);
	struct blm_secrets text = { .chars = NULL };
	bool any = true, whole = secret && fd >= 0 && blm_read_secrets(fd, &text) == 0;
	bool found = whole && blm_find_secret(&text, key_id, secret, &any) >= 0;

	blm_hidden_free(text.chars);
	blm_hidden_free(secret);
	blm_wipe_stack();
	if (fd >= 0)
		close(fd);
	return secret ? whole && any && !found : true;
}

void blm_store_lose_secret(struct blm_store *s, const uint8_t key_id[8])
{
	static const uint8_t none[8];
	char name[17], reason[512];
	int fd;

	if (!memcmp(key_id, none, 8))
		return;
	/* of a filter that was not made, if that is the reason */
	snprintf(reason, sizeof(reason), "%s", blm_error_message());
	if (blm_lock_keys(s, LOCK_EX, &fd) == 0 && fd >= 0) {
		sodium_bin2hex(name, sizeof(name), key_id, 8);
		if (!blm_store_needs_secret(s, key_id) && !is_of_another(fd, name, key_id)
		    && unlinkat(fd, name, 0) == 0)
			fsync(fd);
		close(fd);
	}
	blm_fail(0, "%s", reason);
}
