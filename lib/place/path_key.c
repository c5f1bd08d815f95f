/* path_key.c - secrets in F.key, for a filter at the path F: a line each (keyring.c) */
#include "file/mapping.h"
#include "file/os.h"
#include "base/secret_memory.h"
#include "place/keyring.h"

#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* F.key, open, locked, and read. */
struct beside {
	char name[PATH_MAX];
	const char *last;		/* of it in the folder */
	int folder, fd;
	struct blm_secrets text;
	uint8_t *secret;			/* for a secret; not dumped */
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
				"may read or own; move it away, or chmod go= it",
				place->display, b->name);
	return 0;
}

static void close_beside(struct beside *b)
{
	blm_hidden_free(b->text.chars);
	blm_hidden_free(b->secret);
	if (b->fd >= 0)
		close(b->fd);
	if (b->folder >= 0)
		close(b->folder);
}

static int open_beside(struct beside *ret, const struct blm_place *place, bool make)
{
	int r = blm_secret_file(place, NULL, ret->name, sizeof(ret->name), &ret->folder);

	ret->fd = ret->folder = -1;
	ret->text.chars = NULL;
	ret->secret = NULL;
	if (r < 0)
		return r;
	r = ret->folder = blm_folder_of(ret->name, &ret->last);
	if (r < 0)
		return r;
	ret->secret = blm_hidden_new(BLM_SECRET_BYTES);
	if (!ret->secret)
		return blm_fail(-ENOMEM, "%s: no memory for its secret key", place->display);
	for (r = 0; r == 0; ) {		/* until it is still that of its name when it is locked */
		if (ret->fd >= 0)
			close(ret->fd);
		ret->fd = openat(ret->folder, ret->last, O_RDWR | O_CLOEXEC | O_NOFOLLOW
				 | O_NONBLOCK | O_NOCTTY | (make ? O_CREAT : 0), 0600);
		r = ret->fd < 0 ? -errno : blm_lock_keys_file(ret->fd, LOCK_EX);
		if (r == 0)
			r = is_there(ret);
	}
	if (r < 0)
		return cannot(place, ret, r);
	r = check_owner(place, ret);
	if (r < 0)
		return r;
	r = blm_read_secrets(ret->fd, &ret->text);
	return r < 0 ? cannot(place, ret, r) : 0;
}

/* Truncates it after the last line that is not blank; without any such line it is deleted. */
static void shorten(const struct beside *b, size_t count)
{
	size_t used = blm_trimmed(b->text.chars, count < b->text.count ? count : b->text.count);

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
	size_t at = blm_trimmed(b->text.chars, b->text.count), before = at > 0;
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

int blm_keep_beside(const struct blm_place *place, const uint8_t key_id[8],
		    const uint8_t *secret)
{
	struct beside *b = calloc(1, sizeof(*b));
	bool any;
	int r = b ? open_beside(b, place, true)
		: blm_fail(-ENOMEM, "%s: out of memory", place->display);

	if (r == 0 && blm_find_secret(&b->text, key_id, b->secret, &any) < 0)
		r = add_line(place, b, secret);
	/* its writer may have been killed before it did that */
	else if (r == 0 && (fsync(b->fd) < 0 || fsync(b->folder) < 0))
		r = cannot(place, b, -errno);
	if (b)
		close_beside(b);
	free(b);
	return r;
}

/* Another process that was given the same secret has the same line. */
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

void blm_lose_beside(const struct blm_place *place, const uint8_t key_id[8])
{
	struct beside *b = calloc(1, sizeof(*b));
	int64_t at;
	bool any;

	if (b && open_beside(b, place, false) == 0 && !is_needed(place, key_id)) {
		at = blm_find_secret(&b->text, key_id, b->secret, &any);
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
