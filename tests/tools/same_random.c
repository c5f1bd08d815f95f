/*
 * same_random.c - a command draws the random numbers that it drew in the last run of its test
 *
 * Put before the C library with LD_PRELOAD. Calls of the library, of its programs and of its
 * modules get such numbers: the file of the caller has "bloomery" in its name. Other calls draw
 * from the system.
 *
 * The numbers depend on the words of the command, without the folders in them, and on how often
 * the same words were given before in the folder $SAME_RANDOM_RUNS. It has a file for each
 * command, with a byte for each of its runs.
 */
#include "../draw.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>

static pthread_once_t begun = PTHREAD_ONCE_INIT;

/* A hash of the last part of each word's path. */
static uint64_t hash_of_words(void)
{
	uint64_t words = 0, word = 0;
	char text[4096];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));

	for (ssize_t i = 0; i < n; i++) {
		word = text[i] == '/' ? 0 : finalised(word + (unsigned char)text[i] + 1);
		if (!text[i] || i == n - 1) {
			words = finalised(words + word);
			word = 0;
		}
	}
	if (fd >= 0)
		close(fd);
	return words;
}

/* The number of this run among those of the same words, from 1 on; 0 if it cannot be counted. */
static uint64_t count_run(uint64_t words)
{
	const char *folder = getenv("SAME_RANDOM_RUNS");
	char path[4096];
	off_t runs = 0;
	int fd;

	if (!folder || snprintf(path, sizeof(path), "%s/%016" PRIx64, folder, words)
			       >= (int)sizeof(path))
		return 0;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return 0;
	if (write(fd, "", 1) == 1)
		runs = lseek(fd, 0, SEEK_CUR);
	close(fd);
	return runs > 0 ? (uint64_t)runs : 0;
}

static void begin(void)
{
	uint64_t words = hash_of_words();

	drawn.state = finalised(words + count_run(words));
	drawn.depth = 1;
}

static bool is_ours(const void *caller)
{
	Dl_info file;
	const char *name;

	if (!dladdr(caller, &file) || !file.dli_fname)
		return false;
	name = strrchr(file.dli_fname, '/');
	return strstr(name ? name : file.dli_fname, "bloomery") != NULL;
}

ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
	if (!is_ours(__builtin_return_address(0)))
		return syscall(SYS_getrandom, to, bytes, flags);
	pthread_once(&begun, begin);
	draw(to, bytes);
	return (ssize_t)bytes;
}
