/* output.c - answers to stdout, complete before the next batch is begun */
#include "output.h"
#include "command.h"
#include "keys.h"
#include "signals.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

enum { ROOM = 256 << 10, PATIENCE = 2000 };	/* milliseconds for a reader that sleeps while we are asked to stop */

static char text[ROOM];
static size_t used;

static int failed(void)
{
	if (errno != EPIPE)
		return broken("standard output: %s", strerror(errno));
	stop_for(SIGPIPE);
	return FAILED;
}

/* Once asked to stop, only pieces for which poll() promises room: a reader that is stuck cannot hold us. */
static int write_all(const char *bytes, size_t count)
{
	while (count) {
		struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
		size_t piece = stopping() && count > PIPE_BUF ? PIPE_BUF : count;
		ssize_t n;

		if (stopping() && poll(&out, 1, PATIENCE) == 0)
			return broken("standard output: nobody took the last answers");
		n = write(STDOUT_FILENO, bytes, piece);
		if (n < 0 && errno == EAGAIN)
			poll(&out, 1, -1);
		else if (n < 0 && errno != EINTR)
			return failed();
		if (n > 0) {
			bytes += n;
			count -= (size_t)n;
		}
	}
	return DONE;
}

static int flush(void)
{
	int code = write_all(text, used);

	used = 0;
	return code;
}

static int put(const void *bytes, size_t count)
{
	if (count > ROOM - used) {
		int code = flush();

		if (code != DONE)
			return code;
	}
	if (count > ROOM)
		return write_all(bytes, count);
	memcpy(text + used, bytes, count);
	used += count;
	return DONE;
}

int print_lines(const struct batch *batch, bool wanted)
{
	const char end = line_end();
	int code = DONE;

	for (size_t i = 0; i < batch->count && code == DONE; i++) {
		if ((batch->bits[i / 64] >> i % 64 & 1) != wanted)
			continue;
		code = put(batch->lines[i].bytes, batch->lines[i].len);
		if (code == DONE)
			code = put(&end, 1);
	}
	return code == DONE ? flush() : code;
}
