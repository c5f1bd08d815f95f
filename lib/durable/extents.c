/*
 * extents.c - after a failed write-back: has the file what the memory has?
 *
 * A page that was never written is in a hole of the file or in an unwritten extent. Both read as
 * zeros. The first write of the page turns its extent into a written one. If that write fails, ext4
 * (seen with Linux 6.18) does write the page again when it is dirty again, but the extent stays
 * unwritten. Then msync() and fsync() return 0, and after a power cut the page is all zeros. So the
 * code here asks the file system for the file's extents. Some file systems do not know them (tmpfs,
 * network file systems); there the return value of msync() decides.
 */
#include "durable/extents.h"
#include "durable/flush.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	EXTENTS = 64,			/* asked for at a time */
	PAGES = 4096,			/* written at a time */
	AGAIN = 2,
};

union extents {
	struct fiemap map;
	uint8_t bytes[sizeof(struct fiemap) + EXTENTS * sizeof(struct fiemap_extent)];
};

/* Pages that follow each other; at: the offset of the first in the file. */
struct stretch {
	const struct blm_view *view;
	uint64_t page_bytes, at;
	/* what mincore() says; but the pages that were written once more: AGAIN */
	unsigned char in[PAGES];
};

/*
 * from, to: offsets in the file, of a hole or else of an unwritten extent. Returns 0, 1 to stop, or
 * a negative errno, without a message.
 */
typedef int visit_fn(struct stretch *s, uint64_t from, uint64_t to, bool hole);

/* 1; 0: the file system does not know the extents of its files; or a negative errno. */
static int ask(const struct blm_view *view, uint64_t from, uint64_t to, union extents *ret)
{
	ret->map = (struct fiemap){ .fm_start = from, .fm_length = to - from,
				    .fm_extent_count = EXTENTS };
	if (ioctl(view->image.fd, FS_IOC_FIEMAP, &ret->map) == 0)
		return 1;
	return errno == EOPNOTSUPP || errno == ENOTTY || errno == EINVAL || errno == ENOSYS
		|| errno == EPERM ? 0 : -errno;		/* the last two: in a sandbox */
}

/* Visits the holes and unwritten extents in [from, to). Space not yet allocated is a hole. */
static int visit_unwritten(struct stretch *s, uint64_t from, uint64_t to, visit_fn *visit)
{
	uint64_t count = EXTENTS, at = from;	/* from: of the hole that ends at `at` or later */
	union extents found;
	int r = 0;

	while (r == 0 && count == EXTENTS && at < to) {
		r = ask(s->view, at, to, &found);
		if (r <= 0)
			return r;
		r = 0;
		count = found.map.fm_mapped_extents;
		for (uint64_t i = 0; r == 0 && i < count; i++) {
			const struct fiemap_extent *e = &found.map.fm_extents[i];
			uint64_t begin = e->fe_logical > from ? e->fe_logical : from;

			at = e->fe_logical + e->fe_length;
			if (e->fe_flags & FIEMAP_EXTENT_DELALLOC)
				continue;
			if (from < begin)
				r = visit(s, from, begin < to ? begin : to, true);
			if (r == 0 && e->fe_flags & FIEMAP_EXTENT_UNWRITTEN)
				r = visit(s, begin, at < to ? at : to, false);
			from = at;
		}
	}
	return r == 0 && from < to ? visit(s, from, to, true) : r;
}

static bool has_data(const struct blm_view *view, uint64_t from, uint64_t to)
{
	for (from = from / 8 * 8; from < to; from += 8)
		if (load_relaxed((const uint64_t *)(view->image.map + from)))
			return true;
	return false;
}

/* Stops at a page that was written once more, and still is not in a written extent. */
static int refuse(struct stretch *s, uint64_t from, uint64_t to, bool hole)
{
	for (uint64_t next; from < to; from = next) {
		next = (from / s->page_bytes + 1) * s->page_bytes;
		if (s->in[(from - s->at) / s->page_bytes] == AGAIN
		    && (!hole || has_data(s->view, from, next < to ? next : to)))
			return 1;
	}
	return 0;
}

/*
 * Other writers may have changed pages since the write-back, so the pages that are in memory are
 * written once more, and then the file system is asked again. A page that is not in memory has no
 * key that the file lacks. A page of zeros in an unwritten extent may be one that failed, so it is
 * written, too: otherwise later keys in it would be lost. In a hole it stays a hole.
 */
static int write_stretch(struct stretch *s, uint64_t to, bool hole)
{
	uint8_t *map = s->view->image.map;
	bool any = false;

	if (mincore(map + s->at, to - s->at, s->in) < 0)
		return -errno;
	for (uint64_t p = s->at; p < to; p += s->page_bytes) {
		uint64_t next = to - p < s->page_bytes ? to : p + s->page_bytes;
		unsigned char *in = &s->in[(p - s->at) / s->page_bytes];

		if (!(*in & 1) || (hole && !has_data(s->view, p, next)))
			continue;
		blm_touch(map + p);
		*in = AGAIN;
		any = true;
	}
	if (any && msync(map + s->at, to - s->at, MS_SYNC) < 0)
		return -errno;
	return any ? visit_unwritten(s, s->at, to, refuse) : 0;
}

static int write_pages(struct stretch *s, uint64_t from, uint64_t to, bool hole)
{
	uint64_t most = PAGES * s->page_bytes;
	int r = 0;

	for (s->at = from / s->page_bytes * s->page_bytes; r == 0 && s->at < to; s->at += most)
		r = write_stretch(s, to - s->at < most ? to : s->at + most, hole);
	return r;
}

int blm_check_extents(const struct blm_view *view)
{
	struct stretch s = { .view = view, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };

	return visit_unwritten(&s, 0, view->image.bytes, write_pages);
}

int blm_fail_unkept(const char *display)
{
	return blm_fail(-EIO, "%s: its file system does not keep pages that it failed to write: "
			"use a copy (blm_copy()), and add the last keys again", display);
}
