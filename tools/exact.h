/*
 * exact.h - keys that are surely there: an LMDB table or a sorted file, asked where a filter says
 * "maybe"
 */
#ifndef BLOOMERY_EXACT_H
#define BLOOMERY_EXACT_H

#include "command.h"

/* A sort of exact table, recognised by its file. One file each: exact_lmdb.c, exact_sorted.c. */
struct exact_sort {
	bool (*is)(const char *path);
	/* These say themselves what is wrong. Return: an exit code. */
	int (*open)(void **ret, const char *path);
	/* before some look-ups, which all see the table as it is now */
	int (*begin)(void *table);
	void (*end)(void *table);
	void (*close)(void *table);
	/*
	 * The value lasts until the next look-up. Return: 1 found, 0 not there, -1 after a message.
	 */
	int (*find)(void *table, const struct blm_key *key, struct blm_key *ret_value);
};

extern const struct exact_sort exact_lmdb, exact_sorted;
extern const struct opt exact_options[];

struct exact {
	const struct exact_sort *sort;
	void *table;
};

/* The table of --exact. Return: an exit code, with a message where it is not DONE. */
int exact_open(struct exact *ret, bool with_values);
void exact_close(struct exact *exact);

/* What the options say, for the two sorts. */
const char *exact_path(void);		/* of --exact; NULL: none was given */
const char *exact_name_wanted(void);	/* of the named table; NULL: the main one */
bool exact_order_trusted(void);
bool exact_has_values(void);		/* do lines go on behind the key? */

#endif
