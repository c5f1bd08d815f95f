/*
 * no_random.c - a C library without random numbers, to be put before the real one with LD_PRELOAD
 *
 * getrandom(2) fails with the number in $GETRANDOM. There is no /dev/urandom, unless $URANDOM is
 * set: then it is the file of that path.
 */
#undef _FILE_OFFSET_BITS	/* open() and open64() are defined here, each under its own name */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

ssize_t getrandom(void *buffer, size_t bytes, unsigned flags)
{
	const char *number = getenv("GETRANDOM");

	errno = number ? atoi(number) : ENOSYS;
	return -1;
}

#define OPEN(name) \
	int name(const char *path, int flags, ...) \
	{ \
		int (*next)(const char *path, int flags, \
			    ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
		va_list rest; \
		mode_t mode; \
\
		va_start(rest, flags); \
		mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
		va_end(rest); \
		if (!strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random")) \
			path = getenv("URANDOM"); \
		if (!path) { \
			errno = ENOENT; \
			return -1; \
		} \
		return next(path, flags, mode); \
	}

OPEN(open)
OPEN(open64)
