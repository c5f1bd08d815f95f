/*
 * paging.c - pages of a mapped file: their size, brought in, locked, asked for before they are
 * needed
 */
#include "file/paging.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

static const uint8_t *page_of(const void *at)
{
	return (const uint8_t *)at - (uintptr_t)at % (uintptr_t)getpagesize();
}

static int advise(const uint8_t *at, uint64_t bytes, int advice)
{
	const uint8_t *page = page_of(at);

	return madvise((void *)page, bytes + (uint64_t)(at - page), advice) < 0 ? -errno : 0;
}

void blm_pages_choose(const uint8_t *at, uint64_t bytes, bool huge)
{
	advise(at, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

bool blm_pages_too_many(const struct blm_image *image)
{
	long pages = sysconf(_SC_PHYS_PAGES);

	return pages > 0 && image->bytes / (uint64_t)getpagesize() > (uint64_t)pages;
}

/*
 * The system may take only the beginning of a large range: a few MiB, or as much as it reads ahead.
 */
void blm_pages_want(const void *at, uint64_t bytes)
{
	enum { PIECE = 1 << 20 };
	const uint8_t *from = at, *end = from + bytes;

	for (; from < end; from += PIECE)
		advise(from, end - from < PIECE ? (uint64_t)(end - from) : PIECE, MADV_WILLNEED);
}

/*
 * Before Linux 5.14 one could only ask for it to be read. -EFAULT is a page that the file has no
 * more, or that cannot be read.
 */
static int populate(const uint8_t *at, uint64_t bytes)
{
	int r;

	do
		r = advise(at, bytes, MADV_POPULATE_READ);
	while (r == -EINTR);
	if (r == -EINVAL)
		r = advise(at, bytes, MADV_WILLNEED);
	return r == -EFAULT ? -EIO : r;
}

int blm_pages_bring(const uint8_t *at, uint64_t bytes, bool small, const char *path)
{
	enum { STEP = 16 << 20 };
	int r = 0;

	if (!small)
		/* this once they are read one after the other */
		advise(at, bytes, MADV_NORMAL);
	for (uint64_t done = 0; r == 0 && done < bytes; done += STEP) {
		uint64_t here = bytes - done < STEP ? bytes - done : STEP;

		if (small)
			blm_pages_want(at + done, here);
		r = populate(at + done, here);
	}
	if (!small)
		advise(at, bytes, MADV_RANDOM);
	return r < 0 ? blm_fail(r, "%s: cannot be read into memory completely: %s", path,
				strerror(-r))
		: 0;
}

int blm_pages_lock(const struct blm_image *image, const char *path)
{
	struct rlimit limit = { 0 };
	int err;

	if (mlock(image->map, image->bytes) == 0)
		return 0;
	err = -errno;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (err == -EPERM || limit.rlim_cur < RLIM_INFINITY)
		return blm_fail(err, "%s: cannot lock its %llu bytes in memory: this process may "
				"lock %llu bytes in all (RLIMIT_MEMLOCK; `ulimit -l` shows and "
				"sets it, in KiB)", path, (unsigned long long)image->bytes,
				(unsigned long long)limit.rlim_cur);
	return blm_fail(err, "%s: cannot lock its %llu bytes in memory: %s", path,
			(unsigned long long)image->bytes, strerror(-err));
}

void blm_pages_unlock(const struct blm_image *image)
{
	munlock(image->map, image->bytes);
}
