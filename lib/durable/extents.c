/*
 * extents.c - after a failed write-back: has the file what the memory has?
 *
 * A page that was never written lies in no extent of the file, or in an unwritten one, which reads
 * as zeros. The first write of the page makes the extent a written one. If that write fails, ext4
 * (seen with Linux 6.18) writes the page again when it is dirty again, but leaves the extent
 * unwritten: msync() and fsync() return 0, and after a power cut the page is all zeros. So the file
 * system is asked for the extents of the file. Those that cannot say (tmpfs, network file systems)
 * are believed.
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
	PAGES = 1024,			/* the same */
};

union extents {
	struct fiemap map;
	uint8_t bytes[sizeof(struct fiemap) + EXTENTS * sizeof(struct fiemap_extent)];
};

/*
 * Of a stretch of the file, in bytes, which is a hole, or else an unwritten extent. Returns 0, 1 to
 * stop, or a negative errno, without words.
 */
typedef int visit_fn(const struct blm_view *view, uint64_t from, uint64_t to, bool hole);

static bool ask(const struct blm_view *view, uint64_t from, uint64_t to, union extents *ret)
{
	ret->map = (struct fiemap){ .fm_start = from, .fm_length = to - from,
				    .fm_extent_count = EXTENTS };
	return ioctl(view->image.fd, FS_IOC_FIEMAP, &ret->map) == 0;
}

/* Visit what of [from, to) lies in no written extent. Space that is not allocated yet is a hole. */
static int visit_unwritten(const struct blm_view *view, uint64_t from, uint64_t to, visit_fn *visit)
{
	uint64_t count = EXTENTS, at = from;	/* from: of the hole that ends at `at` or later */
	union extents found;
	int r = 0;

	while (r == 0 && count == EXTENTS && at < to) {
		if (!ask(view, at, to, &found))
			return 0;
		count = found.map.fm_mapped_extents;
		for (uint64_t i = 0; r == 0 && i < count; i++) {
			const struct fiemap_extent *e = &found.map.fm_extents[i];
			uint64_t begin = e->fe_logical > from ? e->fe_logical : from;

			at = e->fe_logical + e->fe_length;
			if (e->fe_flags & FIEMAP_EXTENT_DELALLOC)
				continue;
			if (from < begin)
				r = visit(view, from, begin < to ? begin : to, true);
			if (r == 0 && e->fe_flags & FIEMAP_EXTENT_UNWRITTEN)
				r = visit(view, begin, at < to ? at : to, false);
			from = at;
		}
	}
	return r == 0 && from < to ? visit(view, from, to, true) : r;
}

static bool has_data(const struct blm_view *view, uint64_t from, uint64_t to)
{
	for (from = from / 8 * 8; from < to; from += 8)
		if (load_relaxed((const uint64_t *)(view->image.map + from)))
			return true;
	return false;
}

/* Of a page that was just written. */
static int refuse(const struct blm_view *view, uint64_t from, uint64_t to, bool hole)
{
	return !hole || has_data(view, from, to);
}

/* Writers may have made it dirty since, so it is written once more before the file is asked. */
static int write_page(const struct blm_view *view, uint64_t from, uint64_t to)
{
	blm_touch(view->image.map + from);
	if (msync(view->image.map + from, to - from, MS_SYNC) < 0)
		return -errno;
	return visit_unwritten(view, from, to, refuse);
}

/*
 * What is not in memory is in the file. A page of zeros in an unwritten extent may have failed,
 * too, and the keys to come would be lost; where there is a hole it need not become data.
 */
static int write_pages(const struct blm_view *view, uint64_t from, uint64_t to, bool hole)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned char in[PAGES];
	int r = 0;

	for (uint64_t at = from / page * page; r == 0 && at < to; at += PAGES * page) {
		uint64_t end = to - at < PAGES * page ? to : at + PAGES * page;

		if (mincore(view->image.map + at, end - at, in) < 0)
			return -errno;
		for (uint64_t p = at; r == 0 && p < end; p += page) {
			uint64_t next = end - p < page ? end : p + page;

			if (in[(p - at) / page] & 1 && (!hole || has_data(view, p, next)))
				r = write_page(view, p, next);
		}
	}
	return r;
}

int blm_check_extents(const struct blm_view *view)
{
	return visit_unwritten(view, 0, view->image.bytes, write_pages);
}
