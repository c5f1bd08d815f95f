/* stream.h - a command's work on every batch of keys of its input */
#ifndef BLOOMERY_STREAM_H
#define BLOOMERY_STREAM_H

#include "keys.h"
#include "lines.h"

enum { ENOUGH = -1 };

extern const struct opt jobs_option[], threads_option[];
size_t jobs_wanted(void);

/*
 * What a command does with each batch. A code other than DONE ends the stream; ENOUGH ends it well.
 */
struct work {
	/* By any thread, batches at once and in any order, before their turn. May be NULL. */
	int (*ahead)(struct batch *batch, void *context);
	/* By the thread that called each_batch(), in the order of the input. */
	int (*in_turn)(struct batch *batch, void *context);
	void *context;
	const struct given *given;	/* keys before those of the input; NULL: those of --key */
};

/*
 * each_batch() - take the keys of the command line, read more from files, and work on them
 *
 * Without either kind it reads stdin.
 *
 * Return: an exit code, with a message. When asked to stop it comes back after the batch in hand,
 * and main() dies then.
 */
int each_batch(char **files, size_t count, const struct work *work);

/* Say once that a filter holds more than it was made for. */
void warn_beyond(const struct blm_filter *f, const char *name);

#endif
