/*
 * keyring.c - where the secrets of keyed filters are stored
 *
 * In a store each has a file of its own, keys/ID, made once, never changed, and deleted with the
 * last filter that needs it. For a path F they are in F.key, one a line. Several processes may be
 * making F at once, or replacing it by a filter with another key. A process that opens F takes the
 * line whose id F has, so in any order nothing is lost. A maker adds its line before F can be seen,
 * and takes it away only if nothing came of F. F.key is changed under a lock of flock(2) on itself;
 * readers take none, since no line moves.
 */
#include "bloomery.h"
#include "file/mapping.h"
#include "file/os.h"
#include "base/secret_memory.h"
#include "place/memory.h"
#include "place/place.h"
#include "place/store_dir.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DIGITS = 2 * BLM_SECRET_BYTES, FILE_MAX = 1 << 20, LOCK_SECONDS = 5 };

void blm_key_id(const uint8_t *secret, uint8_t ret[8])
{
	uint8_t hash[32];

	crypto_generichash_blake2b(hash, sizeof(hash), secret, BLM_SECRET_BYTES, NULL, 0);
	memcpy(ret, hash, 8);
	blm_wipe_stack();
}

/* keys/ID in a store, PATH.key for a path. */
static int secret_file(const struct blm_place *place, const uint8_t key_id[8], char *ret,
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

/* A holder keeps it for one write to the disk; a stopped holder stops no process for good. */
static int lock_file(int fd, int how)
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

/* A file's text, in memory that is not dumped. */
struct text {
	char *chars;
	size_t count;
};

static int read_text(int fd, struct text *ret)
{
	struct stat st;
	int64_t n;

	*ret = (struct text){ .chars = NULL };
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

static size_t trimmed(const char *chars, size_t count)
{
	while (count && isspace((unsigned char)chars[count - 1]))
		count--;
	return count;
}

/*
 * The line whose secret has this id: where it begins, or -1. Is there any line that is a secret at
 * all? ret: room for the secret, and for those that are tried; in memory that is not dumped.
 */
static int64_t find_line(const struct text *text, const uint8_t key_id[8], uint8_t *ret,
			 bool *ret_any)
{
	*ret_any = false;
	for (size_t at = 0, next; at < text->count; at = next) {
		const char *line = text->chars + at, *end = memchr(line, '\n', text->count - at);
		uint8_t id[8];

		next = end ? (size_t)(end - text->chars) + 1 : text->count;
		if (trimmed(line, next - at) != DIGITS
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
 * A secret of ours that others read is none. Of one that is another's it is that one's affair, and
 * whoever may read it may ask.
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
			"read or change it; chmod 600 it, or if others may know it make the "
			"filter anew with another key; where the file system keeps no modes, "
			"give it with blm_open_keyed()",
			place->display, in, name, st.st_mode & 0777);
}

int blm_place_secret(const struct blm_place *place, const uint8_t key_id[8], uint8_t *ret)
{
	const char *in = place->store ? "keys/" : "";
	char name[PATH_MAX];
	struct text text;
	bool any = false;
	int64_t at = -1;
	int folder, r, fd;

	if (place->memory)
		return blm_memory_secret(place->memory, ret);
	r = secret_file(place, key_id, name, sizeof(name), &folder);
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
	r = read_text(fd, &text);
	close(fd);
	if (r == 0)
		at = find_line(&text, key_id, ret, &any);
	blm_hidden_free(text.chars);
	blm_wipe_stack();
	if (r < 0)
		return blm_fail(r == -EINVAL ? -ENOKEY : r, "%s: its secret %s%s cannot be read: "
				"%s", place->display, in, name, strerror(-r));
	if (at >= 0)
		return 0;
	if (any)
		return blm_fail(-ENOKEY, "%s: keyed with %02x%02x%02x%02x%02x%02x%02x%02x; %s%s "
				"has only other secrets", place->display,
				key_id[0], key_id[1], key_id[2], key_id[3], key_id[4], key_id[5],
				key_id[6], key_id[7], in, name);
	return blm_fail(-ENOKEY, "%s: its secret %s%s is damaged: it must be %d hexadecimal digits",
			place->display, in, name, DIGITS);
}

/* ---- In a store ---- */

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

/* Who wrote it may have been killed before it was on the disk. */
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
static int keep_in_store(const struct blm_place *place, const uint8_t key_id[8],
			 const uint8_t *secret)
{
	char name[PATH_MAX];
	uint8_t there[BLM_SECRET_BYTES];
	int folder, r = secret_file(place, key_id, name, sizeof(name), &folder);

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

/*
 * A secret goes with the last file in filters/ that needs it, be it in the catalog or not. A
 * process that names a keyed filter holds keys/ shared, from before it finds the secret there until
 * its file is in filters/. So a process that looks through the files, and holds keys/ exclusively,
 * sees the file or is done before the secret is looked for. ret_fd: closing it unlocks; -1 for one
 * who may not look into keys/.
 */
static int lock_keys(const struct blm_store *s, int how, int *ret_fd)
{
	int fd, r;

	*ret_fd = -1;
	if (s->keys < 0)
		return 0;
	fd = openat(s->keys, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 ? -errno : lock_file(fd, how);
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

static bool any_needs(const struct blm_store *s, const uint8_t key_id[8])
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

void blm_store_lose_secret(struct blm_store *s, const uint8_t key_id[8])
{
	static const uint8_t none[8];
	char name[17], why[512];
	int fd;

	if (!memcmp(key_id, none, 8))
		return;
	/* of what came to nothing, if that is what it is lost for */
	snprintf(why, sizeof(why), "%s", blm_error_message());
	if (lock_keys(s, LOCK_EX, &fd) == 0 && fd >= 0) {
		sodium_bin2hex(name, sizeof(name), key_id, 8);
		if (!any_needs(s, key_id) && unlinkat(fd, name, 0) == 0)
			fsync(fd);
		close(fd);
	}
	blm_fail(0, "%s", why);
}

/* ---- For a path ---- */

/* F.key, open, locked, and read. */
struct beside {
	char name[PATH_MAX];
	const char *last;		/* of it in the folder */
	int folder, fd;
	struct text text;
	uint8_t *room;			/* for a secret; not dumped */
};

static int cannot(const struct blm_place *place, const struct beside *b, int err)
{
	if (err == -ELOOP)
		return blm_fail(-EKEYREJECTED,
				"%s: its secret is not put into %s, which is a symbolic link; "
				"move the link away", place->display, b->name);
	return blm_fail(err, "%s: cannot write its secret %s: %s", place->display, b->name,
			strerror(-err));
}

/* Does its name still lead to the open file? */
static int is_there(const struct beside *b)
{
	struct stat of_fd, of_name;

	if (fstat(b->fd, &of_fd) < 0)
		return -errno;
	if (fstatat(b->folder, b->last, &of_name, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	return of_fd.st_ino == of_name.st_ino && of_fd.st_dev == of_name.st_dev;
}

/* A secret is written only to a file of this user that no other user may read. */
static int check_owner(const struct blm_place *place, const struct beside *b)
{
	struct stat st;

	if (fstat(b->fd, &st) < 0)
		return cannot(place, b, -errno);
	if (S_ISREG(st.st_mode) && st.st_size == 0 && st.st_uid == geteuid())
		fchmod(b->fd, 0600);	/* ours, and most likely made just now */
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		return blm_fail(-EKEYREJECTED, "%s: its secret is not put into %s, which others "
				"may read or own; move that away, or chmod go= it",
				place->display, b->name);
	return 0;
}

static void close_beside(struct beside *b)
{
	blm_hidden_free(b->text.chars);
	blm_hidden_free(b->room);
	if (b->fd >= 0)
		close(b->fd);
	if (b->folder >= 0)
		close(b->folder);
}

static int open_beside(struct beside *ret, const struct blm_place *place, bool make)
{
	int r = secret_file(place, NULL, ret->name, sizeof(ret->name), &ret->folder);

	ret->fd = ret->folder = -1;
	ret->text.chars = NULL;
	ret->room = NULL;
	if (r < 0)
		return r;
	r = ret->folder = blm_folder_of(ret->name, &ret->last);
	if (r < 0)
		return r;
	ret->room = blm_hidden_new(BLM_SECRET_BYTES);
	if (!ret->room)
		return blm_fail(-ENOMEM, "%s: no memory for its secret key", place->display);
	for (r = 0; r == 0; ) {		/* until it is still that of its name when it is locked */
		if (ret->fd >= 0)
			close(ret->fd);
		ret->fd = openat(ret->folder, ret->last, O_RDWR | O_CLOEXEC | O_NOFOLLOW
				 | O_NONBLOCK | O_NOCTTY | (make ? O_CREAT : 0), 0600);
		r = ret->fd < 0 ? -errno : lock_file(ret->fd, LOCK_EX);
		if (r == 0)
			r = is_there(ret);
	}
	if (r < 0)
		return cannot(place, ret, r);
	r = check_owner(place, ret);
	if (r < 0)
		return r;
	r = read_text(ret->fd, &ret->text);
	return r < 0 ? cannot(place, ret, r) : 0;
}

/* Cut it after what is not blank; without any it goes. */
static void shorten(const struct beside *b, size_t count)
{
	size_t used = trimmed(b->text.chars, count < b->text.count ? count : b->text.count);

	if (!used)
		unlinkat(b->folder, b->last, 0);
	/* its newline, if it had one */
	else if (ftruncate(b->fd, (off_t)(used < b->text.count ? used + 1 : used)) < 0)
		return;		/* then there are blanks at its end, which do no harm */
}

/*
 * A line without an end, as of a writer that was killed in the middle of it, stays as it is: ours
 * begins after it.
 */
static int add_line(const struct blm_place *place, const struct beside *b, const uint8_t *secret)
{
	size_t at = trimmed(b->text.chars, b->text.count), before = at > 0;
	char line[DIGITS + 3] = "\n";
	int r;

	sodium_bin2hex(line + before, DIGITS + 1, secret, BLM_SECRET_BYTES);
	line[before + DIGITS] = '\n';
	r = blm_write_at(b->fd, line, before + DIGITS + 1, at);
	sodium_memzero(line, sizeof(line));
	if (r == 0 && ftruncate(b->fd, (off_t)(at + before + DIGITS + 1)) < 0)
		r = -errno;
	if (r == 0 && (fsync(b->fd) < 0 || fsync(b->folder) < 0))
		r = -errno;
	if (r == 0)
		return 1;
	shorten(b, at);
	return cannot(place, b, r);
}

static int keep_beside(const struct blm_place *place, const uint8_t key_id[8],
		       const uint8_t *secret)
{
	struct beside *b = calloc(1, sizeof(*b));
	bool any;
	int r = b ? open_beside(b, place, true)
		: blm_fail(-ENOMEM, "%s: out of memory", place->display);

	if (r == 0 && find_line(&b->text, key_id, b->room, &any) < 0)
		r = add_line(place, b, secret);
	/* who wrote it may have been killed before it did that */
	else if (r == 0 && (fsync(b->fd) < 0 || fsync(b->folder) < 0))
		r = cannot(place, b, -errno);
	if (b)
		close_beside(b);
	free(b);
	return r;
}

/* The line of another who was given the same secret is the same line. */
static bool is_needed(const struct blm_place *place, const uint8_t key_id[8])
{
	struct blm_constant c;
	int fd = open(place->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool needed = fd < 0 ? errno != ENOENT
			     : blm_read_at(fd, &c, sizeof(c), 0) != (int64_t)sizeof(c)
			     || !memcmp(c.template.key_id, key_id, 8);

	if (fd >= 0)
		close(fd);
	return needed;
}

static void lose_beside(const struct blm_place *place, const uint8_t key_id[8])
{
	struct beside *b = calloc(1, sizeof(*b));
	int64_t at;
	bool any;

	if (b && open_beside(b, place, false) == 0 && !is_needed(place, key_id)) {
		at = find_line(&b->text, key_id, b->room, &any);
		if (at >= 0) {
			memset(b->text.chars + at, ' ', DIGITS);
			blm_write_at(b->fd, b->text.chars + at, DIGITS, (uint64_t)at);
			shorten(b, b->text.count);
		}
	}
	if (b)
		close_beside(b);
	free(b);
}

/* ---- Either ---- */

int blm_place_keep_secret(const struct blm_place *place, const uint8_t key_id[8],
			  const uint8_t *secret)
{
	int r;

	if (place->memory)
		return blm_memory_keep_secret(place->memory, secret);
	r = place->store ? keep_in_store(place, key_id, secret)
		: keep_beside(place, key_id, secret);
	blm_wipe_stack();
	return r;
}

void blm_place_lose_secret(const struct blm_place *place, const uint8_t key_id[8])
{
	char why[512];

	if (place->store)
		blm_store_lose_secret(place->store, key_id);
	if (place->memory || place->store)
		return;
	snprintf(why, sizeof(why), "%s", blm_error_message());	/* of what came to nothing */
	lose_beside(place, key_id);
	blm_wipe_stack();
	blm_fail(0, "%s", why);
}

int blm_place_hold_secrets(const struct blm_place *place, int *ret_fd)
{
	*ret_fd = -1;
	return place->store ? lock_keys(place->store, LOCK_SH, ret_fd) : 0;
}
