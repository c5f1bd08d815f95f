/*
 * learn.c - a file that false alarms are appended to
 *
 * Several programs may append to one file. So keys are gathered in memory, and written in whole
 * lines while this program has an flock(2) on the file.
 */
#include "learn.h"
#include "keys.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

static int cannot(const struct learn *learn, int err)
{
	return broken("--learn %s: %s", learn->path, strerror(err));
}

int learn_open(struct learn *ret, const char *path)
{
	*ret = (struct learn){ .path = path };
	if (!strcmp(path, "-"))
		return misuse("guard: --learn - is no file: name a file that the false alarms are "
			      "appended to");
	ret->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (ret->fd < 0)
		return cannot(ret, errno);
	ret->to = fstat(ret->fd, &ret->st) == 0 ? open_memstream(&ret->text, &ret->bytes) : NULL;
	if (ret->to)
		return DONE;
	close(ret->fd);
	return cannot(ret, errno);
}

int learn_apart(const struct learn *learn, const char *path, const char *what)
{
	struct stat st;

	if (!learn->to || !S_ISREG(learn->st.st_mode)
	    || (strcmp(path, "-") ? stat(path, &st) : fstat(STDIN_FILENO, &st)) < 0
	    || st.st_dev != learn->st.st_dev || st.st_ino != learn->st.st_ino)
		return DONE;
	return misuse("guard: --learn %s is %s: name another file for the false alarms",
		      learn->path, what);
}

/* As the keys are read. */
void learn_key(struct learn *learn, const struct blm_key *key)
{
	const uint8_t *bytes = key->bytes;

	/* a value of JSON can have the end of a line in it, which the file cannot */
	if (!learn->to || (!keys_are_hex() && memchr(bytes, line_end(), key->len)))
		return;
	if (!keys_are_hex())
		fwrite(bytes, 1, key->len, learn->to);
	for (size_t i = 0; i < key->len && keys_are_hex(); i++)
		fprintf(learn->to, "%02x", bytes[i]);
	fputc(line_end(), learn->to);
}

static int append(const struct learn *learn, const char *bytes, size_t count)
{
	while (count) {
		ssize_t n = write(learn->fd, bytes, count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cannot(learn, errno);
		bytes += n;
		count -= (size_t)n;
	}
	return DONE;
}

/*
 * A program that was killed may have left the beginning of a key: it is ended here, so that it does
 * not make one key with the next.
 */
static int end_last_line(const struct learn *learn)
{
	const char end = line_end();
	struct stat st;
	char last;

	if (fstat(learn->fd, &st) < 0)
		return cannot(learn, errno);
	if (!st.st_size)
		return DONE;
	if (pread(learn->fd, &last, 1, st.st_size - 1) != 1)
		return cannot(learn, errno);
	return last == end ? DONE : append(learn, &end, 1);
}

static int append_alone(const struct learn *learn)
{
	int code;

	while (flock(learn->fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return cannot(learn, errno);
		else if (stopping())
			return DONE;
	code = end_last_line(learn);
	if (code == DONE)
		code = append(learn, learn->text, learn->bytes);
	flock(learn->fd, LOCK_UN);
	return code;
}

int learn_flush(struct learn *learn)
{
	int code;

	if (!learn->to)
		return DONE;
	if (fflush(learn->to) != 0 || ferror(learn->to))
		return broken("--learn %s: out of memory", learn->path);
	if (!learn->bytes)
		return DONE;
	code = S_ISREG(learn->st.st_mode) ? append_alone(learn)
		: append(learn, learn->text, learn->bytes);
	rewind(learn->to);
	return code;
}

int learn_close(struct learn *learn)
{
	int r;

	if (!learn->to)
		return DONE;
	fclose(learn->to);
	learn->to = NULL;
	free(learn->text);
	r = close(learn->fd);
	return r < 0 ? cannot(learn, errno) : DONE;
}
