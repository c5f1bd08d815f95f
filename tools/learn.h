/* learn.h - a file that false alarms are appended to, one key a line, to be read with --not */
#ifndef BLOOMERY_LEARN_H
#define BLOOMERY_LEARN_H

#include "command.h"

struct learn {
	const char *path;
	FILE *to;		/* NULL: nothing is learned */
};

/* Open the file, or make it. These return an exit code, with a message where it is not DONE. */
int learn_open(struct learn *ret, const char *path);
/* One key; written to the file by the next learn_flush(). */
void learn_key(struct learn *learn, const struct blm_key *key);
int learn_flush(struct learn *learn);
int learn_close(struct learn *learn);

#endif
