/*
 * history.h - what the filters of a store were like at earlier looks, in a file of lines
 *
 * A line has the time in seconds since 1970, the uuid of the filter's file, its keys, its capacity,
 * the rate predicted for these keys, the bytes of the file, and the name, with spaces between them.
 * The name is escaped as in messages.
 *
 * A look adds a line for each filter whose keys or file changed since the filter's last line, or
 * whose last line is HISTORY_STALE seconds old. So it is known to a day when keys came. If a filter
 * has more than HISTORY_MOST lines, every second line is left out, but not the first one and the
 * last one. Other lines are passed over.
 *
 * Writers hold an exclusive flock(2) on the file. Readers hold none: the last line that a reader
 * finds may be cut short, and then has no newline.
 */
#ifndef BLOOMERY_HISTORY_H
#define BLOOMERY_HISTORY_H

#include "look.h"

#include <time.h>

enum { HISTORY_MOST = 128, HISTORY_STALE = 24 * 3600 };

struct moment {
	time_t when;
	const char *uuid, *name;
	double keys, capacity, predicted, bytes;
};

struct history {
	char *text;			/* of the file: what the moments point into */
	struct moment *all;		/* in the order of the names' bytes, then of the times */
	size_t count;
};

/*
 * These give an exit code, with a message. A file that is not there is an empty history. A device,
 * a pipe or a link is refused.
 */
int history_read(struct history *ret, const char *file);
int history_add(const char *file, const struct looks *looks);

/* The moments of the filter, whose name is escaped. Return: the first one, or NULL. */
const struct moment *history_of(const struct history *history, const char *name,
				size_t *ret_count);
void history_free(struct history *history);

#endif
