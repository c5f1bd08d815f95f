/*
 * differ.h - what two filters of one template differ by: the keys of each side, or about how many
 * there are
 */
#ifndef BLOOMERY_DIFFER_H
#define BLOOMERY_DIFFER_H

#include "command.h"

struct sides {
	bool count_only;	/* print no keys, but how many there are */
	bool stats;		/* say at the end how many each side has alone */
};

/*
 * Print "< " and each key that `a` has alone, "> " and each that `b` has. Return: an exit code,
 * with a message; NO: there are none.
 */
int print_sides(const struct blm_filter *a, const struct blm_filter *b, const struct sides *sides);

/* The same with one's own keys, from files or stdin, for b: in a table like `a`, in memory. */
int print_sides_with_keys(const struct blm_filter *a, char **files, size_t count,
			  const struct sides *sides);

/*
 * Print about how many keys differ, and what table lists them. Return: an exit code, with a
 * message.
 */
int print_difference(const struct blm_filter *a, const struct blm_filter *b);

#endif
