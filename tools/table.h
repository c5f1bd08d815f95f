/* table.h - the rows of a table in memory, found by their keys */
#ifndef BLOOMERY_TABLE_H
#define BLOOMERY_TABLE_H

#include "lines.h"

/*
 * A row as it begins the rows that it is joined to: its key's column, then its others, each behind
 * a delimiter.
 */
struct row {
	struct blm_key head;
	struct blm_key key;
	uint64_t hash;
	struct row *next;	/* of the same key, in the order of the input */
};

struct table {
	struct row *rows;
	size_t count, capacity;
	/* the first row of each key, near the slot of its hash; NULL: free */
	struct row **slots;
	size_t last_slot;	/* their number is a power of two */
	struct piece *pieces;	/* the bytes of the rows */
};

/* These give an exit code, with a message. */
int table_keep(struct table *table, const struct batch *batch);
/* once, when all rows are there; by hashes of this filter */
int table_index(struct table *table, const struct blm_filter *f);

/* By the hash that the same filter gave. Return: the first row with the key, or NULL. */
const struct row *table_find(const struct table *table, const struct blm_key *key, uint64_t hash);

void table_free(struct table *table);

#endif
