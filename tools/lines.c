/* lines.c - lines of any length, read in large blocks; keys point into the block */
#include "lines.h"
#include "command.h"
#include "keys.h"
#include "signals.h"

enum { BLOCK = 256 << 10 };

int batch_make(struct batch *ret, size_t most)
{
	*ret = (struct batch){
		.keys = calloc(most, sizeof(*ret->keys)),
		.lines = calloc(most, sizeof(*ret->lines)),
		.bits = calloc((most + 63) / 64, sizeof(*ret->bits)),
		.most = most,
	};
	return ret->keys && ret->lines && ret->bits ? DONE : broken("out of memory");
}

void batch_free(struct batch *batch)
{
	free(batch->keys);
	free(batch->lines);
	free(batch->bits);
}

void lines_begin(struct lines *ret, struct source *source)
{
	*ret = (struct lines){ .source = source };
}

void lines_end(struct lines *l)
{
	free(l->text);
	free(l->keys);
}

static const char *take(struct lines *l, size_t end, struct batch *batch)
{
	struct blm_key *line = &batch->lines[batch->count];
	const char *why;

	*line = (struct blm_key){ l->text + l->start, end - l->start };
	l->number++;
	why = key_of(&batch->keys[batch->count], line, l->keys ? l->keys + l->start : NULL);
	if (why)
		return why;
	batch->count++;
	return NULL;
}

/* All whole lines there are, and at the end of the input the last one without an end. */
static const char *split(struct lines *l, struct batch *batch)
{
	const char *why = NULL, *end;

	while (!why && batch->count < batch->most && l->seen < l->end) {
		end = memchr(l->text + l->seen, line_end(), l->end - l->seen);
		if (!end && !l->finished) {
			l->seen = l->end;
			return NULL;
		}
		l->seen = end ? (size_t)(end - l->text) : l->end;
		why = take(l, l->seen, batch);
		l->seen += end != NULL;
		l->start = l->seen;
	}
	if (!why && batch->count < batch->most && l->finished && l->start < l->end) {
		why = take(l, l->end, batch);
		l->start = l->end;
	}
	return why;
}

static bool grow(struct lines *l)
{
	size_t room = l->room ? 2 * l->room : 2 * BLOCK;
	char *text = realloc(l->text, room);
	uint8_t *keys = NULL;

	if (text)
		l->text = text;
	if (text && keys_need_room())
		keys = realloc(l->keys, room);
	if (keys)
		l->keys = keys;
	if (!text || (keys_need_room() && !keys))
		return false;
	l->room = room;
	return true;
}

static int more(struct lines *l)
{
	ssize_t n;

	if (l->start) {
		memmove(l->text, l->text + l->start, l->end - l->start);
		l->end -= l->start;
		l->seen -= l->start;
		l->start = 0;
	}
	if (l->room - l->end < BLOCK && !grow(l)) {
		say("%s: out of memory for line %llu", l->source->name, (unsigned long long)l->number + 1);
		return -1;
	}
	n = source_read(l->source, l->text + l->end, l->room - l->end);
	if (n < 0)
		return -1;
	l->end += (size_t)n;
	l->finished = n == 0;
	return 0;
}

int lines_next(struct lines *l, struct batch *batch)
{
	const char *why;

	batch->count = 0;
	for (;;) {
		if (stopping())
			return 0;
		why = split(l, batch);
		if (why) {
			say("%s: line %llu %s", l->source->name, (unsigned long long)l->number, why);
			return -1;
		}
		if (batch->count)
			return 1;
		if (l->finished)
			return 0;
		if (more(l) < 0)
			return -1;
	}
}
