/* system.c - the time, and which boot this is */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "file/system.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

uint64_t blm_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t read_boot_id(void)
{
	char text[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return n > 0 ? XXH3_64bits(text, (size_t)n) | 1 : 1;
}

uint64_t blm_boot_number(void)
{
	static uint64_t number;		/* atomic; every thread that finds 0 reads the same */
	uint64_t n = __atomic_load_n(&number, __ATOMIC_RELAXED);

	if (!n) {
		n = read_boot_id();
		__atomic_store_n(&number, n, __ATOMIC_RELAXED);
	}
	return n;
}
