/* stream.h - a command's work on every batch of keys of its input */
#ifndef BLOOMERY_STREAM_H
#define BLOOMERY_STREAM_H

#include "keys.h"
#include "lines.h"

enum { BATCH = 4096, ENOUGH = -1 };

/*
 * each_batch() - read keys from files, or stdin where there are none, and work on them
 * @most: keys in a batch at most
 * @work: its exit code other than DONE ends the stream; ENOUGH ends it well
 *
 * Return: an exit code, with a message. When asked to stop it comes back after the batch in hand, and main() dies then.
 */
int each_batch(char **files, size_t count, size_t most, int (*work)(struct batch *batch, void *context), void *context);

/* Say once that a filter holds more than it was made for. */
void warn_beyond(const struct blm_filter *f, const char *name);

#endif
