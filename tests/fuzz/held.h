/*
 * held.h - a file in memory that stays from one input to the next, mapped: what an input means is
 * put into it without a system call
 */
#ifndef BLM_FUZZ_HELD_H
#define BLM_FUZZ_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct held {
	int fd;
	uint8_t *bytes;		/* as many as it was last resized to */
	char path[32];
};

static inline bool hold(struct held *f, size_t most)
{
	f->fd = memfd_create("fuzz", MFD_CLOEXEC);
	f->bytes = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
	return f->fd >= 0 && f->bytes != MAP_FAILED;
}

/* Who opened it may have made it longer or shorter. */
static inline bool resize(const struct held *f, size_t count)
{
	struct stat st;

	return fstat(f->fd, &st) == 0
	    && (st.st_size == (off_t)count || ftruncate(f->fd, (off_t)count) == 0);
}

#endif
