/* choose.h - the lines whose keys a filter may contain, or those that it does not */
#ifndef BLOOMERY_CHOOSE_H
#define BLOOMERY_CHOOSE_H

#include "command.h"

struct choice {
	struct blm_filter *f;
	bool invert;		/* the lines that it does not contain */
	bool count_only;	/* print none */
	bool silent;		/* ... and stop at the first */
	bool ranges;		/* a key is a range (ranges.h) */
	/* a key stands for all that begin with it up to this byte (prefixes.h); 0: for itself */
	char prefixes_end;
	uint64_t within;	/* seen within so many nanoseconds; 0: that it may contain */
	const struct given *given;	/* keys of the command line; NULL: those of --key */
	uint64_t read, chosen;	/* how many lines there were, how many of them these are */
};

/* Print them, in the order of the input. Return: as each_batch(). */
int choose_lines(struct choice *choice, char **files, size_t count);

/* Open F for that, as the options say. Return: an exit code, with a message. */
int choose_from(struct choice *choice, const char *name);

/*
 * Close it. Return: the exit code of a command that prints lines: `code`, but NO where all went
 * well and there were none.
 */
int end_choice(struct choice *choice, int code);

#endif
