/* mapping.c - a filter's file mapped once more, as the library maps it; which pages the system gave */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20, SMALL_PAGE = 4096 };

/* Every page mapped for writing, so that no measurement pays for it. The data stays as it is. */
static void touch(uint8_t *data, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += SMALL_PAGE) {
		uint8_t zero = 0;

		__asm__ volatile("" : "+r"(zero));
		__atomic_fetch_or(&data[at], zero, __ATOMIC_RELAXED);
	}
}

static int map_at(struct mapping *ret, int fd, uint64_t bytes, uint64_t data_bytes)
{
	size_t room = bytes + HUGE_PAGE;
	uint8_t *reserved = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *at;

	if (reserved == MAP_FAILED)
		return -errno;
	at = reserved + (HUGE_PAGE - (uintptr_t)reserved % HUGE_PAGE) % HUGE_PAGE;
	if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		int err = -errno;

		munmap(reserved, room);
		return err;
	}
	madvise(at, bytes, MADV_HUGEPAGE);
	*ret = (struct mapping){
		.reserved = reserved, .reserved_bytes = room,
		.lines = (struct line *)(at + (bytes - data_bytes)), .count = data_bytes / sizeof(struct line),
	};
	touch((uint8_t *)ret->lines, data_bytes);
	return 0;
}

int mapping_make(struct mapping *ret, const char *path, uint64_t bytes, uint64_t data_bytes)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = map_at(ret, fd, bytes, data_bytes);
	close(fd);
	return r;
}

void mapping_free(struct mapping *mapping)
{
	if (mapping->reserved)
		munmap(mapping->reserved, mapping->reserved_bytes);
}

struct resident mapping_resident(const char *path)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	struct resident ret = { 0 };
	unsigned long long inode, kib;
	char line[4200];
	bool ours = false;
	struct stat st;

	if (stat(path, &st) < 0)
		st.st_ino = 0;
	while (smaps && fgets(line, sizeof(line), smaps))	/* the library's mapping may be shown under another name */
		if (sscanf(line, "%*x-%*x %*s %*x %*x:%*x %llu", &inode) == 1)
			ours = inode && inode == st.st_ino;
		else if (ours && sscanf(line, "Rss: %llu", &kib) == 1)
			ret.bytes += kib << 10;
		else if (ours && sscanf(line, "FilePmdMapped: %llu", &kib) == 1)
			ret.huge_bytes += kib << 10;
	if (smaps)
		fclose(smaps);
	return ret;
}
