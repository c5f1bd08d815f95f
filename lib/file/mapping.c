/* mapping.c - map a filter's file, again where it has grown */
#include "file/mapping.h"
#include "file/sigbus.h"
#include "file/os.h"
#include "file/filesystem.h"
#include "file/two_slots.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A map keeps its open file description alive, and a forked child inherits the map. So the locks of
 * a mapped description outlive their process until its children end, although the children close
 * the descriptor. Therefore the file is opened a second time for a writable map, and the
 * description that takes the locks is never mapped. The second open fails without /proc, without
 * the right to open the file, and without a free descriptor; then image->fd is mapped.
 *
 * Return: the descriptor to map: a new one, which the caller closes, or image->fd.
 */
static int fd_to_map(const struct blm_image *image)
{
	char path[32];
	struct stat a, b;
	int fd;

	if (!image->write)
		return image->fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", image->fd);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return image->fd;
	if (fstat(fd, &a) == 0 && fstat(image->fd, &b) == 0 && a.st_dev == b.st_dev
	    && a.st_ino == b.st_ino)
		return fd;
	close(fd);
	return image->fd;
}

static int map_at(const struct blm_image *image, void *at, int protection)
{
	int fd = fd_to_map(image), r = 0;

	if (mmap(at, image->bytes, protection, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		r = -errno;
	if (fd != image->fd)
		close(fd);
	return r;
}

/*
 * Map so that the address is aligned like the file's offset: the system can then use pages of 2
 * MiB.
 */
static int map_aligned(struct blm_image *image, int protection, const char *path)
{
	size_t reserved_bytes = image->bytes + BLM_HUGE_PAGE;
	uint8_t *reserved, *at;
	int r;

	reserved = mmap(NULL, reserved_bytes, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (reserved == MAP_FAILED)
		return -errno;
	at = (uint8_t *)round_up((uintptr_t)reserved, BLM_HUGE_PAGE);
	r = map_at(image, at, protection);
	if (r < 0) {
		munmap(reserved, reserved_bytes);
		return r;
	}
	if (blm_sigbus_note(at, image->bytes, path) < 0) {
		munmap(reserved, reserved_bytes);
		return -ENOMEM;
	}
	/* a miss reads its own page, and not what lies around it */
	madvise(at, image->bytes, MADV_RANDOM);
	image->map = at;
	image->reserved = reserved;
	image->reserved_bytes = reserved_bytes;
	return 0;
}

static int look_at(struct blm_image *image, const char *path)
{
	struct stat st;

	if (fstat(image->fd, &st) < 0)
		return blm_fail(-errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return blm_fail(-EBADMSG, "%s: not a regular file, so not a filter", path);
	image->bytes = (uint64_t)st.st_size;
	image->device = st.st_dev;
	image->inode = st.st_ino;
	image->nameless = st.st_nlink == 0;
	return 0;
}

static int map(struct blm_image *image, const char *path)
{
	int r;

	if (image->bytes > SIZE_MAX / 2)
		return blm_fail(-EFBIG, "%s: too large for this machine's address space", path);
	r = map_aligned(image, image->write ? PROT_READ | PROT_WRITE : PROT_READ, path);
	return r < 0 ? blm_fail(r, "%s: cannot map %llu bytes: %s", path,
				(unsigned long long)image->bytes, strerror(-r)) : 0;
}

int blm_image_map(struct blm_image *ret, int fd, const char *path, bool write)
{
	struct blm_image image = { .fd = fd, .write = write };
	char magic[8];
	int64_t n = 0;
	int r;

	if (!write)
		image.fd = blm_copied_up(fd, &image.unsure);
	r = look_at(&image, path);

	if (r == 0 && (n = blm_read_at(image.fd, magic, 8, 0)) < 0)
		r = blm_fail((int)n, "%s: cannot be read: %s", path, strerror((int)-n));
	else if (r == 0 && n == 8 && !memcmp(magic, BLM_BANK_MAGIC, 8))
		r = blm_fail(-EBADMSG, "%s: a bank of filters, not a filter: read it by "
			     "blm_bank_open()", path);
	else if (r == 0 && n == 8 && memcmp(magic, BLM_MAGIC, 8))
		r = blm_fail(-EBADMSG, "%s: not a Bloomery filter (it does not begin with "
			     "\"" BLM_MAGIC "\"); another program's is read by blm_exchange.format",
			     path);
	else if (r == 0 && image.bytes < BLM_HEADER_BYTES)
		r = blm_fail(-ENODATA, "%s: %llu bytes, shorter than a filter's header (%d): it "
			     "is truncated, or no filter: put a copy in its place, or make it "
			     "again from its keys",
			     path, (unsigned long long)image.bytes, BLM_HEADER_BYTES);
	if (r == 0)
		r = map(&image, path);
	if (r < 0) {
		close(image.fd);
		return r;
	}
	image.header = (struct blm_header *)image.map;
	*ret = image;
	return 0;
}

int blm_image_map_foreign(struct blm_image *ret, int fd, const char *path)
{
	bool unsure;		/* no process of this user writes to it */
	struct blm_image image = { .fd = blm_copied_up(fd, &unsure) };
	int r = look_at(&image, path);

	if (r == 0 && !image.bytes)
		r = blm_fail(-ENODATA, "%s: empty", path);
	if (r == 0)
		r = map(&image, path);
	if (r < 0) {
		close(image.fd);
		return r;
	}
	*ret = image;
	return 0;
}

/*
 * Each change of a file raises one of these words, and they only grow. If the map shows a smaller
 * value than a fresh read of the file, it is a map of another file (an overlayfs copy-up).
 */
bool blm_image_is_behind(const struct blm_image *image)
{
	const struct blm_live *mapped = &image->header->live;
	struct blm_live live;
	struct blm_stripe stripe[BLM_STRIPES];

	if (image->fd < 0)
		return true;	/* in a forked child: it must be opened again, to know */
	if (blm_read_at(image->fd, &live, sizeof(live), offsetof(struct blm_header, live))
	    != (int64_t)sizeof(live)
	    || blm_read_at(image->fd, stripe, sizeof(stripe), offsetof(struct blm_header, stripe))
	    != (int64_t)sizeof(stripe))
		return false;
	if (is_after(le64toh(live.state.word), load_acquire(&mapped->state.word))
	    || le64toh(live.epoch.word) > load_acquire(&mapped->epoch.word)
	    || le64toh(live.written.word) > load_acquire(&mapped->written.word)
	    || le64toh(live.parts.word) > load_acquire(&mapped->parts.word))
		return true;
	for (int i = 0; i < BLM_STRIPES; i++)
		if (is_after(le64toh(stripe[i].keys), load_relaxed(&image->header->stripe[i].keys)))
			return true;
	return false;
}

static void unmap(struct blm_image *image)
{
	blm_sigbus_forget(image->map);
	munmap(image->reserved, image->reserved_bytes);
	image->reserved = NULL;
}

void blm_image_unmap(struct blm_image *image)
{
	if (!image->reserved)
		return;
	if ((uint8_t *)image->header != image->map)
		free(image->header);
	unmap(image);
	if (image->fd >= 0)
		close(image->fd);
	*image = (struct blm_image){ .fd = -1 };
}

/*
 * Maps a file that has grown to its new end. 1: it is mapped; 0: the file is not longer than the
 * map; or a negative errno, with a message, and no map.
 */
static int map_longer(struct blm_image *image, const char *path)
{
	uint64_t bytes = image->bytes;
	int r = look_at(image, path);

	if (r < 0 || image->bytes <= bytes) {
		image->bytes = bytes;
		return r;
	}
	unmap(image);
	r = map(image, path);
	if (r < 0) {
		close(image->fd);
		*image = (struct blm_image){ .fd = -1 };
		return r;
	}
	image->header = (struct blm_header *)image->map;
	return 1;
}

/*
 * A file that grows is made longer before its parts are more: so where they end behind the map they
 * may have become more since.
 */
int blm_image_check(struct blm_image *image, const char *path, struct blm_contents *ret)
{
	int r = blm_header_check(image->header, image->bytes, path, ret);

	while (r == -ENODATA) {
		int longer = map_longer(image, path);

		if (longer < 1)
			return longer < 0 ? longer : r;
		r = blm_header_check(image->header, image->bytes, path, ret);
	}
	return r;
}
