/*
 * calls.h - what the tests of the library and those of stores share: calls that must succeed or
 * fail, processes, and whole files
 */
#ifndef BLM_CALLS_H
#define BLM_CALLS_H

#include "bloomery.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Calls of the library, and what they say. */
#define OK(call) do { \
	int ok_ = (int)(call); \
	ck_assert_msg(ok_ >= 0, "%s: %d, %s", #call, ok_, blm_error_message()); \
} while (0)

#define FAILS(call, err) \
	do { \
		int fails_ = (int)(call); \
		ck_assert_msg(fails_ == (err), "%s: %d, not %d: %s", #call, fails_, (err), \
			      blm_error_message()); \
		ck_assert_msg(*blm_error_message() != '\0', "%s: no words", #call); \
	} while (0)

/* In a child process, where Check's assertions would not be heard. */
#define MUST(x) \
	do { \
		if (!(x)) { \
			fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #x, \
				blm_error_message()); \
			_exit(99); \
		} \
	} while (0)

/*
 * In seconds: more than anything takes on a slow and busy machine, but not for ever. Tests of what
 * must not hang use it.
 */
enum { TOO_LONG = 600 };

enum { SIGNALLED = 1000 };

/* What the process exited with; SIGNALLED and more: a signal. */
static inline int join(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		ck_assert_int_eq(errno, EINTR);
	return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

static inline uint8_t *read_all(const char *path, size_t *ret_bytes)
{
	FILE *in = fopen(path, "re");
	struct stat st;
	uint8_t *bytes;

	ck_assert_msg(in && fstat(fileno(in), &st) == 0, "%s: %s", path, strerror(errno));
	bytes = malloc((size_t)st.st_size + 1);
	*ret_bytes = fread(bytes, 1, (size_t)st.st_size, in);
	fclose(in);
	return bytes;
}

static inline void write_all(const char *path, const void *bytes, size_t count)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_msg(fd >= 0 && write(fd, bytes, count) == (ssize_t)count, "%s: %s", path,
		      strerror(errno));
	close(fd);
}

static inline void copy_file(const char *from, const char *to)
{
	size_t bytes;
	uint8_t *all = read_all(from, &bytes);

	write_all(to, all, bytes);
	free(all);
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

#endif
