/*
 * keyring.c - where the secrets of keyed filters are stored
 *
 * In a store each secret has a file of its own, keys/ID, made once, never changed, and deleted with
 * the last filter that needs it. For a path F the secrets are in F.key, one a line. Several
 * processes may be making F at the same time, or replacing it by a filter with another key. A
 * process that opens F takes the line with the id that F has, so nothing is lost in any order. A
 * maker adds its line before F can be seen, and removes it only if F was not made. F.key is changed
 * under a lock of flock(2) on itself; readers take none, because no line moves.
 */
#include "bloomery.h"
#include "file/os.h"
#include "base/secret_memory.h"
#include "place/keyring.h"
#include "place/memory.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20, LOCK_SECONDS = 5 };

void blm_key_id(const uint8_t *secret, uint8_t ret[8])
{
	uint8_t hash[32];

	crypto_generichash_blake2b(hash, sizeof(hash), secret, BLM_SECRET_BYTES, NULL, 0);
	memcpy(ret, hash, 8);
	blm_wipe_stack();
}

int blm_secret_file(const struct blm_place *place, const uint8_t key_id[8], char *ret,
		    size_t bytes, int *ret_folder)
{
	if (place->store) {
		sodium_bin2hex(ret, bytes, key_id, 8);
		*ret_folder = place->store->keys;
		return 0;
	}
	*ret_folder = AT_FDCWD;
	if ((size_t)snprintf(ret, bytes, "%s.key", place->name) >= bytes)
		return blm_fail(-ENAMETOOLONG, "%s: too long for a path", place->display);
	return 0;
}

int blm_lock_keys_file(int fd, int how)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	for (int tries = 0; flock(fd, how | LOCK_NB) < 0; tries++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (tries == LOCK_SECONDS * 1000)
			return -EBUSY;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* ---- Lines ---- */

int blm_read_secrets(int fd, struct blm_secrets *ret)
{
	struct stat st;
	int64_t n;

	*ret = (struct blm_secrets){ .chars = NULL };
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return -EINVAL;
	ret->chars = blm_hidden_new((size_t)st.st_size + 1);
	if (!ret->chars)
		return -ENOMEM;
	n = blm_read_at(fd, ret->chars, (size_t)st.st_size, 0);
	ret->count = n < 0 ? 0 : (size_t)n;
	return n < 0 ? (int)n : 0;
}

size_t blm_trimmed(const char *chars, size_t count)
{
	while (count && isspace((unsigned char)chars[count - 1]))
		count--;
	return count;
}

int64_t blm_find_secret(const struct blm_secrets *text, const uint8_t key_id[8], uint8_t *ret,
			bool *ret_any)
{
	*ret_any = false;
	for (size_t at = 0, next; at < text->count; at = next) {
		const char *line = text->chars + at, *end = memchr(line, '\n', text->count - at);
		uint8_t id[8];

		next = end ? (size_t)(end - text->chars) + 1 : text->count;
		if (blm_trimmed(line, next - at) != DIGITS
		    || sodium_hex2bin(ret, BLM_SECRET_BYTES, line, DIGITS, NULL, NULL, NULL) < 0)
			continue;
		*ret_any = true;
		blm_key_id(ret, id);
		if (!memcmp(id, key_id, 8))
			return (int64_t)at;
	}
	return -1;
}

/* ---- Reading ---- */

/*
 * A secret of this user that other users may read is refused. The mode of another user's secret is
 * that user's decision: a caller that may read it may ask the filter.
 */
static int check_secrecy(const struct blm_place *place, int fd, const char *in, const char *name)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return blm_fail(-errno, "%s: its secret %s%s: %s", place->display, in, name,
				strerror(errno));
	if (st.st_uid != geteuid() || !(st.st_mode & (S_IROTH | S_IWOTH)))
		return 0;
	return blm_fail(-EKEYREJECTED, "%s: its secret %s%s has the mode %03o, so every user may "
			"read or change it: chmod 600 it, or give it with blm_open_keyed()",
			place->display, in, name, st.st_mode & 0777);
}

int blm_place_secret(const struct blm_place *place, const uint8_t key_id[8], uint8_t *ret)
{
	const char *in = place->store ? "keys/" : "";
	char name[PATH_MAX];
	struct blm_secrets text;
	bool any = false;
	int64_t at = -1;
	int folder, r, fd;

	if (place->memory)
		return blm_memory_secret(place->memory, ret);
	r = blm_secret_file(place, key_id, name, sizeof(name), &folder);
	if (r < 0)
		return r;
	fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && place->store && place->store->keys < 0)
		errno = place->store->keys_errno;
	if (fd < 0)
		return blm_fail(-ENOKEY, "%s: keyed, and its secret %s%s cannot be read: %s; give "
				"it with blm_open_keyed()", place->display,
				in, name, strerror(errno));
	r = check_secrecy(place, fd, in, name);
	if (r < 0) {
		close(fd);
		return r;
	}
	r = blm_read_secrets(fd, &text);
	close(fd);
	if (r == 0)
		at = blm_find_secret(&text, key_id, ret, &any);
	blm_hidden_free(text.chars);
	blm_wipe_stack();
	if (r < 0)
		return blm_fail(r == -EINVAL ? -ENOKEY : r, "%s: its secret %s%s cannot be read: "
				"%s", place->display, in, name, strerror(-r));
	if (at >= 0)
		return 0;
	if (any)
		return blm_fail(-ENOKEY, "%s: needs the secret with the id "
				"%02x%02x%02x%02x%02x%02x%02x%02x; %s%s has only other secrets",
				place->display,
				key_id[0], key_id[1], key_id[2], key_id[3], key_id[4], key_id[5],
				key_id[6], key_id[7], in, name);
	return blm_fail(-ENOKEY, "%s: its secret %s%s is damaged: it must be %d hexadecimal digits",
			place->display, in, name, DIGITS);
}

/* ---- Either ---- */

int blm_place_keep_secret(const struct blm_place *place, const uint8_t key_id[8],
			  const uint8_t *secret)
{
	int r;

	if (place->memory)
		return blm_memory_keep_secret(place->memory, secret);
	r = place->store ? blm_keep_in_store(place, key_id, secret)
		: blm_keep_beside(place, key_id, secret);
	blm_wipe_stack();
	return r;
}

void blm_place_lose_secret(const struct blm_place *place, const uint8_t key_id[8])
{
	char reason[512];

	if (place->store)
		blm_store_lose_secret(place->store, key_id);
	if (place->memory || place->store)
		return;
	snprintf(reason, sizeof(reason), "%s", blm_error_message());	/* of the failed call */
	blm_lose_beside(place, key_id);
	blm_wipe_stack();
	blm_fail(0, "%s", reason);
}

int blm_place_hold_secrets(const struct blm_place *place, int *ret_fd)
{
	*ret_fd = -1;
	return place->store ? blm_lock_keys(place->store, LOCK_SH, ret_fd) : 0;
}
