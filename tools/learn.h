/* learn.h - a file that false alarms are appended to, one key a line, to be read with --not */
#ifndef BLOOMERY_LEARN_H
#define BLOOMERY_LEARN_H

#include "command.h"

#include <sys/stat.h>

struct learn {
	const char *path;
	int fd;
	struct stat st;		/* as it was opened */
	FILE *to;		/* into text; NULL: nothing is learned */
	char *text;
	size_t bytes;
};

/* Open the file, or make it. These return an exit code, with a message where it is not DONE. */
int learn_open(struct learn *ret, const char *path);
/* It must not be a file that is read: `what` says which one this is. "-": standard input. */
int learn_apart(const struct learn *learn, const char *path, const char *what);
/* One key; written to the file by the next learn_flush(). */
void learn_key(struct learn *learn, const struct blm_key *key);
/* All keys since the last one at once. Other programs can append to the file, too. */
int learn_flush(struct learn *learn);
int learn_close(struct learn *learn);

#endif
