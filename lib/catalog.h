/*
 * catalog.h - names to what filters are, in LMDB
 *
 * One environment for each directory in a process, however often it is opened: LMDB must not be opened twice. Always
 * without LMDB's own locks (they keep readers in a file that other users cannot write, and know processes by a number that
 * containers share): `catalog/lock` is held by flock(2), shared for one look-up, exclusive for one change, with a mutex within
 * the process. Waiting is bounded: 5 seconds, then -EBUSY. Where the lock file cannot be opened (a read-only mount) no
 * lock is taken. Never used across fork(): a child opens its own.
 */
#ifndef BLM_CATALOG_H
#define BLM_CATALOG_H

#include "file/format.h"

struct blm_catalog;

/* What the catalog keeps of a filter: the constant half of its file's header, and what was true at the last sync. */
struct blm_entry {
	struct blm_constant constant;
	uint64_t data_bytes, file_bytes;
	uint64_t keys;
	bool keys_estimated;
	uint64_t synced;		/* nanoseconds since 1970; 0: never */
	uint32_t labels_bytes;
	char labels[BLM_FORMAT_LABELS];
};

/*
 * @folder: the store's catalog/; write false: changes nothing, not even by opening. -EUCLEAN where there is none: a store has one.
 */
int blm_catalog_open(struct blm_catalog **ret, const char *folder, bool write);
void blm_catalog_close(struct blm_catalog *catalog);

/* 0, -ENOENT (without words: the caller knows what it looked for), -EUCLEAN: the record is damaged. */
int blm_catalog_get(struct blm_catalog *catalog, const char *name, struct blm_entry *ret);

/* Changes; each one transaction, durable when it returns. */
enum blm_put { BLM_PUT_NEW, BLM_PUT_OVER };
int blm_catalog_put(struct blm_catalog *catalog, const char *name, const struct blm_entry *entry, enum blm_put how);	/* NEW: -EEXIST */
/*
 * Put `entry` in the place of the record of the filter `old`, whose labels it keeps: they are the name's. -ENOENT where the name
 * leads to another filter, or nowhere, by now.
 */
int blm_catalog_replace(struct blm_catalog *catalog, const char *name, const uint8_t old[16], struct blm_entry *entry);
int blm_catalog_rename(struct blm_catalog *catalog, const char *from, const char *to);		/* -ENOENT, -EEXIST */
int blm_catalog_remove(struct blm_catalog *catalog, const char *name, const uint8_t uuid[16]);	/* -ENOENT: gone, or another's */

/* Change one record in place: change() gets it and returns 1 (write it), 0 (leave it) or a negative errno. */
int blm_catalog_change(struct blm_catalog *catalog, const char *name,
		       int (*change)(struct blm_entry *entry, void *context), void *context);

/*
 * The record with the least name above `after` ("": the first). Returns 0 and the name; 1 and the name where its record is
 * damaged; -ENOENT past the last; another negative errno where the catalog is. One look-up each, so that no reader holds the
 * catalog for long.
 */
int blm_catalog_next(struct blm_catalog *catalog, const char *after, char name[BLM_FORMAT_NAME], struct blm_entry *ret);

/*
 * Put a new catalog, with just these entries, in the place of what is there; the caller holds the catalog's lock exclusively.
 * Who has the old one open goes over to it at the next look-up.
 */
struct blm_new_entry {
	char name[BLM_FORMAT_NAME];
	struct blm_entry entry;
};
int blm_catalog_make(const char *folder, const struct blm_new_entry *entries, size_t count);

#endif
