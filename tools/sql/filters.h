/*
 * filters.h - the filters that a database connection has open, by their names; shared by the
 * extensions of SQLite and PostgreSQL
 *
 * One thread at a time calls these functions with one struct filters.
 */
#ifndef BLOOMERY_SQL_FILTERS_H
#define BLOOMERY_SQL_FILTERS_H

#include <bloomery.h>

struct filters;

/*
 * An open filter. It belongs to the struct filters, and to everyone who holds it. One that is gone
 * is in no list any more, and its last holder closes it.
 */
struct handle {
	struct handle *next;
	struct blm_filter *f;
	unsigned holders;
	bool write, gone;
	int64_t moment;		/* of the statement that looked last whether it is current */
	uint8_t uuid[16];
	struct stamp {		/* of the catalog when it last said so; all 0: look again */
		uint64_t inode, seconds, nanoseconds, bytes;
	} stamp;
	size_t len;
	char name[];
};

/*
 * filters_new() - nothing open, the store of the environment, no paths
 * @say_store, @say_paths: what messages call the ways to choose a store and to allow paths
 * Return: NULL: no memory.
 */
struct filters *filters_new(const char *say_store, const char *say_paths);
void filters_free(struct filters *s);

/*
 * filters_use() - choose a store, and open every filter anew
 * @dir: NULL: $BLOOMERY_STORE, or the usual folder of the user
 * Return: 0, or -ENOMEM, and then nothing changes.
 */
int filters_use(struct filters *s, const char *dir);
/* Return: the folder that was chosen or is in use; NULL: none so far */
const char *filters_dir(const struct filters *s);
void filters_take_paths(struct filters *s, bool taken);

/*
 * filters_message() - what the last failure of this file or the library was about, in one line;
 * called once after each failure
 */
const char *filters_message(struct filters *s, int r);

/*
 * filters_place() - where a name leads to
 * @store: set to NULL for a path
 * @name:  NULL: the store itself
 * @flags: of enum blm_store_flags
 */
int filters_place(struct filters *s, struct blm_store **store, const char *name, unsigned flags);

/*
 * filters_find() - the filter of that name, open; looks whether the name still leads to it
 * @moment: of the statement, which looks once; 0: look in any case
 *
 * Replaced filters the library follows by itself. This function notices filters that were dropped,
 * renamed or deleted.
 * Return: 0, and the caller holds *ret and gives it to handle_put(); or a negative errno.
 */
int filters_find(struct filters *s, const char *name, bool write, int64_t moment,
		 struct handle **ret);
void handle_put(struct handle *h);
/* filters_forget() - open the filter anew the next time */
void filters_forget(struct filters *s, struct handle *h);

/* The bytes of a whole number as a key, as Python's int and numpy's int64: little-endian. */
struct blm_key key_of_number(int64_t number, uint8_t bytes[8]);

#endif
