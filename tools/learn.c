/* learn.c - a file that false alarms are appended to */
#include "learn.h"
#include "keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot(const struct learn *learn, int err)
{
	return broken("--learn %s: %s", learn->path, strerror(err));
}

/*
 * A program that was killed may have left the beginning of a key: it is ended here, so that it does
 * not make one key with the next.
 */
static int end_last_line(const struct learn *learn, int fd)
{
	struct stat st;
	char last;

	if (fstat(fd, &st) < 0)
		return cannot(learn, errno);
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return DONE;
	if (pread(fd, &last, 1, st.st_size - 1) != 1)
		return cannot(learn, errno);
	if (last != line_end())
		fputc(line_end(), learn->to);
	return DONE;
}

int learn_open(struct learn *ret, const char *path)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

	*ret = (struct learn){ .path = path };
	if (fd < 0)
		return cannot(ret, errno);
	ret->to = fdopen(fd, "a");
	if (!ret->to) {
		close(fd);
		return broken("out of memory");
	}
	return end_last_line(ret, fd);
}

/* As the keys are read. */
void learn_key(struct learn *learn, const struct blm_key *key)
{
	const uint8_t *bytes = key->bytes;

	if (!learn->to)
		return;
	if (!keys_are_hex())
		fwrite(bytes, 1, key->len, learn->to);
	for (size_t i = 0; i < key->len && keys_are_hex(); i++)
		fprintf(learn->to, "%02x", bytes[i]);
	fputc(line_end(), learn->to);
}

int learn_flush(struct learn *learn)
{
	return learn->to && fflush(learn->to) ? cannot(learn, errno) : DONE;
}

int learn_close(struct learn *learn)
{
	FILE *to = learn->to;

	learn->to = NULL;
	return to && fclose(to) ? cannot(learn, errno) : DONE;
}
