/* output.c - answers to stdout, complete before the next batch is begun */
#include "output.h"
#include "command.h"
#include "signals.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

enum { PATIENCE = 2000 };	/* milliseconds for a reader that sleeps while we are asked to stop */

static int failed(void)
{
	if (errno != EPIPE)
		return broken("standard output: %s", strerror(errno));
	stop_for(SIGPIPE);
	return FAILED;
}

/* Once asked to stop, only pieces for which poll() promises room: a reader that is stuck cannot hold us. */
int print_bytes(const char *bytes, size_t count)
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

/* Append a piece of the batch's text to its answer, in place: it never moves to the right. */
static void append(struct batch *b, const char *from, size_t bytes)
{
	if (!b->answer_bytes)
		b->answer = b->text + (from - b->text);
	else
		memmove(b->answer + b->answer_bytes, from, bytes);
	b->answer_bytes += bytes;
}

/* Lines that lie one behind the other are one piece. */
void gather_lines(struct batch *b, bool wanted)
{
	const char *from = b->text, *behind = from;	/* the piece so far */

	b->answer_bytes = 0;
	for (size_t i = 0; i < b->count; i += 64) {
		uint64_t word = wanted ? b->bits[i / 64] : ~b->bits[i / 64];

		if (b->count - i < 64)
			word &= (UINT64_C(1) << (b->count - i)) - 1;
		for (; word; word &= word - 1) {
			const struct blm_key *line = &b->lines[i + (size_t)__builtin_ctzll(word)];

			if (line->bytes != behind) {
				append(b, from, (size_t)(behind - from));
				from = line->bytes;
			}
			behind = (const char *)line->bytes + line->len + 1;
		}
	}
	append(b, from, (size_t)(behind - from));
}

int print_gathered(const struct batch *b)
{
	return print_bytes(b->answer, b->answer_bytes);
}
