/*
 * block.c - whole lines, in blocks of 512 KiB or the caller's size, unless a line is longer
 *
 * The journal goes to the disk once for each block, so a run with a journal asks for larger ones.
 * The first blocks are smaller, so that a file has some.
 */
#include "../source.h"
#include "corpus.h"
#include "result.h"

#include <inttypes.h>

enum { FIRST = 32 << 10, BLOCK = 512 << 10 };

static bool make_space(struct block *b, size_t capacity)
{
	/* the last line may lack its end */
	char *text = realloc(b->text, capacity + 1 + COPY_BEHIND);

	if (text) {
		b->text = text;
		b->capacity = capacity;
	}
	return text;
}

/* Bytes up to the end of a line that is too long, which begins the block. */
static int leave_out(struct block *b, struct source *s)
{
	for (;;) {
		const char *end = memchr(b->text, '\n', b->end);
		ssize_t n;

		if (end) {
			size_t behind = (size_t)(end + 1 - b->text);

			memmove(b->text, b->text + behind, b->end - behind);
			b->end -= behind;
			break;
		}
		n = source_read(s, b->text, b->capacity);
		if (n < 0)
			return FAILED;
		b->end = (size_t)n;
		b->ended = n == 0;
		if (b->ended)
			break;
	}
	b->too_long++;
	b->line++;
	return DONE;
}

/* The block is full and has no end of a line. */
static int lengthen(struct block *b, struct source *s)
{
	if (b->capacity < LINE_MOST) {
		if (make_space(b, b->capacity * 2))
			return DONE;
		return broken("%s: line %" PRIu64 ": out of memory for a line of more than %zu "
			      "bytes", s->name, b->line + 1, b->end);
	}
	if (!corpus.skip_bad)
		return broken("%s: line %" PRIu64 ": is longer than %d bytes; --skip-bad leaves it "
			      "out", s->name, b->line + 1, LINE_MOST);
	return leave_out(b, s);
}

static void count_lines(struct block *b)
{
	for (const char *at = b->text, *end = b->text + b->used; at < end; at++) {
		at = memchr(at, '\n', (size_t)(end - at));
		b->line++;
	}
}

int block_read(struct block *b, struct source *s)
{
	size_t most = b->most ? b->most : BLOCK;
	const char *last;
	bool any = false;	/* end of a line in what was read */

	if (!b->text && !make_space(b, 2 * most))
		return broken("out of memory"), -1;
	count_lines(b);		/* of the block before */
	if (b->used)
		memmove(b->text, b->text + b->used, b->end - b->used);
	b->end -= b->used;
	b->used = 0;
	b->want = !b->want ? FIRST : b->want < most / 2 ? 2 * b->want : most;
	while (!b->ended && (!any || b->end < b->want)) {
		size_t capacity;
		ssize_t n;

		if (b->end == b->capacity && !any) {
			if (lengthen(b, s) != DONE)
				return -1;
			any = memchr(b->text, '\n', b->end);
		}
		capacity = b->capacity - b->end < b->want ? b->capacity - b->end : b->want;
		n = b->ended ? 0 : source_read(s, b->text + b->end, capacity);
		if (n < 0)
			return -1;
		b->ended |= n == 0;
		any |= n && memchr(b->text + b->end, '\n', (size_t)n);
		b->end += (size_t)n;
	}
	if (b->ended && b->end && b->text[b->end - 1] != '\n')
		b->text[b->end++] = '\n';
	last = memrchr(b->text, '\n', b->end);
	b->used = last ? (size_t)(last + 1 - b->text) : 0;
	return b->used > 0;
}

void block_free(struct block *b)
{
	free(b->text);
	*b = (struct block){ 0 };
}
