/* lines.h - batches of whole lines, as they come */
#ifndef BLOOMERY_LINES_H
#define BLOOMERY_LINES_H

#include "source.h"

#include <bloomery.h>

/* Lines and the keys in them; they lie in the reader's memory until the next batch. */
struct batch {
	struct blm_key *keys, *lines;
	uint64_t *bits;		/* room for the answers */
	size_t count, most;
};

/* Return: an exit code, with a message. */
int batch_make(struct batch *ret, size_t most);
void batch_free(struct batch *batch);

struct lines {
	struct source *source;
	char *text;		/* read: [start, end); looked at for line ends: up to seen */
	uint8_t *keys;		/* as large as text: the key of a line, where it needs room, lies at the same place */
	size_t start, seen, end, room;
	uint64_t number;	/* of the last line given out */
	bool finished;
};

void lines_begin(struct lines *ret, struct source *source);
void lines_end(struct lines *lines);

/*
 * The next lines: what is there, up to batch->most; never waits for more than one whole line.
 * Return: 1, 0 at the end and when asked to stop, -1 after a message. Even then the batch holds the lines before the
 * wrong one.
 */
int lines_next(struct lines *lines, struct batch *batch);

#endif
