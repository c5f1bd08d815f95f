/*
 * random.c - random numbers from the system, or an error with a message
 */
#include "base/random.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

/* of a call that is interrupted, or says that it is not ready; a millisecond each */
enum { TRIES = 100 };

/* As many bytes as one call gives, or -errno. */
static ssize_t some_of(int fd, uint8_t *to, size_t bytes)
{
	ssize_t n = -1;

	for (int tries = 0; tries < TRIES; tries++) {
		n = fd < 0 ? getrandom(to, bytes, 0) : read(fd, to, bytes);
		if (n >= 0 || (errno != EINTR && errno != EAGAIN))
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return n < 0 ? -errno : n ? n : -EIO;
}

static int all_of(int fd, uint8_t *to, size_t bytes)
{
	while (bytes) {
		ssize_t n = some_of(fd, to, bytes);

		if (n < 0)
			return (int)n;
		to += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/*
 * Only the kernel's own device, 1:9. The bytes of a regular file or of another device at that path,
 * like /dev/zero, may be known to others.
 */
static bool is_urandom(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && major(st->st_rdev) == 1 && minor(st->st_rdev) == 9;
}

static int from_device(uint8_t *to, size_t bytes)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r;
	struct stat st;

	if (fd < 0)
		return -errno;
	r = fstat(fd, &st) < 0 ? -errno : is_urandom(&st) ? all_of(fd, to, bytes) : -ENODEV;
	close(fd);
	return r;
}

int blm_random(void *ret, size_t bytes, const char *display)
{
	int by_call = all_of(-1, ret, bytes), by_device;

	if (by_call == 0)
		return 0;
	by_device = from_device(ret, bytes);
	if (by_device == 0)
		return 0;
	return blm_fail(by_call == -EAGAIN || by_call == -EINTR ? -EIO : by_call,
			"%s: no random numbers (getrandom: %s; /dev/urandom: %s); allow "
			"getrandom(2) or mount /dev",
			display, strerror(-by_call), strerror(-by_device));
}
