/* output.c - answers to stdout, complete before the next batch is begun */
#include "output.h"
#include "command.h"
#include "signals.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

/* milliseconds for a reader that sleeps while we are asked to stop */
enum { PATIENCE = 2000 };

static int failed(void)
{
	if (errno != EPIPE)
		return broken("standard output: %s", strerror(errno));
	stop_for(SIGPIPE);
	return FAILED;
}

/*
 * Once asked to stop, only pieces for which poll() promises room: a reader that is stuck cannot
 * hold us.
 */
static int write_all(const char *bytes, size_t count)
{
	while (count) {
		struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
		size_t piece = stopping() && count > PIPE_BUF ? PIPE_BUF : count;
		ssize_t n;

		if (stopping() && poll(&out, 1, PATIENCE) == 0)
			return broken("standard output: the last answers were not read");
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

/* ---- On a terminal ---- */

static FILE *terminal;			/* stdout, where it is one */
static char pending[4];			/* of a character whose other bytes did not come yet */
static size_t pending_bytes;

/* How many bytes at the end may be the beginning of a character? */
static size_t cut_bytes(const char *bytes, size_t count)
{
	for (size_t n = 1; n <= 3 && n <= count; n++) {
		unsigned char c = (unsigned char)bytes[count - n];

		if (c >= 0xc0)
			return n < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? n : 0;
		if (c < 0x80)
			return 0;
	}
	return 0;
}

static int write_escaped(const char *bytes, size_t count)
{
	enum { PIECE = 16 << 10 };
	char text[BLM_ESCAPED_MOST * PIECE + 1];
	int code = DONE;

	while (count && code == DONE) {
		size_t piece = count < PIECE ? count : PIECE;

		if (piece < count)
			piece -= cut_bytes(bytes, piece);
		code = write_all(text, blm_escape(text, sizeof(text), bytes, piece, "\n\t"));
		bytes += piece;
		count -= piece;
	}
	return code;
}

/* What stdio gives out, which ends anywhere. */
static ssize_t take(void *cookie, const char *bytes, size_t count)
{
	size_t rest, all = pending_bytes + count;
	char *joined = malloc(all + 1);
	int code;

	(void)cookie;
	if (!joined)
		return 0;
	memcpy(joined, pending, pending_bytes);
	memcpy(joined + pending_bytes, bytes, count);
	rest = cut_bytes(joined, all);
	code = write_escaped(joined, all - rest);
	memcpy(pending, joined + all - rest, rest);
	pending_bytes = rest;
	free(joined);
	return code == DONE ? (ssize_t)count : 0;
}

int begin_output(void)
{
	if (!isatty(STDOUT_FILENO))
		return DONE;
	terminal = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = take });
	if (!terminal)
		return broken("out of memory");
	setvbuf(terminal, NULL, _IOLBF, BUFSIZ);
	stdout = terminal;
	return DONE;
}

void end_output(void)
{
	if (terminal && fflush(stdout) == 0 && pending_bytes)
		write_escaped(pending, pending_bytes);
	pending_bytes = 0;
}

/* To a terminal it is written around the stream, which escapes what it gets. */
static void write_code(FILE *out, const char *code)
{
	if (*code && out != stdout && out != stderr)
		fputs(code, out);
	else if (*code && out == terminal && fflush(out) == 0)
		write_all(code, strlen(code));
}

void begin_colour(FILE *out, enum colour colour)
{
	write_code(out, colour_begin(STDOUT_FILENO, colour));
}

void end_colour(FILE *out)
{
	write_code(out, colour_end(STDOUT_FILENO));
}

int print_bytes(const char *bytes, size_t count)
{
	return terminal ? write_escaped(bytes, count) : write_all(bytes, count);
}

static void print_escaped(const char *bytes, size_t count)
{
	char text[BLM_ESCAPED_MOST * 256 + 1];

	for (size_t piece; count; bytes += piece, count -= piece) {
		piece = count < 256 ? count : 256;
		if (piece < count)
			piece -= cut_bytes(bytes, piece);
		fwrite(text, 1, blm_escape(text, sizeof(text), bytes, piece, ""), stdout);
	}
}

void print_text(const char *text)
{
	print_escaped(text, strlen(text));
}

void print_data(const void *bytes, size_t count)
{
	if (terminal)
		print_escaped(bytes, count);
	else
		fwrite(bytes, 1, count, stdout);
}

/* ---- The lines of a batch ---- */

/* Append a piece of the batch's text to its answer, in place: it never moves to the right. */
static void append(struct batch *b, const char *from, size_t bytes)
{
	if (!b->answer_bytes)
		b->answer = b->text + (from - b->text);
	else
		memmove(b->answer + b->answer_bytes, from, bytes);
	b->answer_bytes += bytes;
}

/* Lines that follow each other are one piece. */
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

int print_gathered(struct batch *b)
{
	int code = print_bytes(b->answer, b->answer_bytes);

	free(b->objects);
	b->objects = NULL;
	return code;
}
