/*
 * last_words.c - another signal comes while a handler ends the line of progress; to be put before
 * the C library with LD_PRELOAD
 *
 * The handler writes one newline to the terminal. Here SIGTERM is sent before that write, which
 * must still happen. If the action of SIGINT is the default again by then, the system would have
 * killed the process by a second SIGINT that came earlier: then the exit status is 99.
 */
#include <dlfcn.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t write(int fd, const void *from, size_t bytes)
{
	ssize_t (*next)(int fd, const void *from,
			size_t bytes) = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT,
										      "write");
	struct sigaction now;

	if (fd == STDERR_FILENO && bytes == 1 && *(const char *)from == '\n') {
		if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			_exit(99);
		raise(SIGTERM);
	}
	return next(fd, from, bytes);
}
