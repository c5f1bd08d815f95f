/*
 * rows.h - the filters of a store as rows of a table; shared by the extensions of SQLite and
 * PostgreSQL
 */
#ifndef BLOOMERY_SQL_ROWS_H
#define BLOOMERY_SQL_ROWS_H

#include "filters.h"

struct row {
	char name[BLM_NAME_MAX + 1];
	const char *kind;	/* static; NULL: the record is damaged, only its name is known */
	int err;		/* a negative errno: the file cannot be read; 0 */
	uint64_t keys, capacity, bytes;
	uint64_t created;	/* seconds since 1970 */
	double rate, rate_now;
	bool sealed;
};

struct rows {
	struct row *rows;
	size_t count, capacity;
};

/*
 * rows_list() - list the filters whose names match the pattern, as of now
 * @pattern: as for fnmatch(3); NULL: all
 * Return: 0, and the caller gives them to rows_free(); or a negative errno.
 */
int rows_list(struct filters *s, const char *pattern, struct rows *ret);
void rows_free(struct rows *rows);

#endif
