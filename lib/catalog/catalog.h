/*
 * catalog.h - the names of filters and their parameters, in LMDB
 *
 * Look-ups read data.mdb themselves, page by page (lmdb_snapshot.h): without LMDB, without a lock,
 * at the same time as any writer. They only need the right to read that file. Damage is -EUCLEAN,
 * never a crash.
 *
 * Changes use LMDB, in one environment for each directory in a process, because LMDB must not open
 * a file twice. They never use LMDB's own locks: these are in a file that other users cannot write,
 * and identify processes by a number that containers share. Instead a writer holds `catalog/lock`
 * exclusively by flock(2), and a mutex within the process. A wait ends with -EBUSY if nothing moved
 * for 5 seconds. LMDB trusts its file, so all pages are checked first, unless this process was the
 * last writer. data.mdb is mapped during a change: a truncation in that time is -EUCLEAN after
 * blm_survive_truncation(), and otherwise a SIGBUS.
 */
#ifndef BLM_CATALOG_H
#define BLM_CATALOG_H

#include "file/layout.h"

struct blm_catalog;
struct blm_key;

/*
 * The catalog's record of a filter: the constant page of its file, and its state at the last sync.
 */
struct blm_entry {
	struct blm_constant constant;
	uint64_t data_bytes, file_bytes;
	uint64_t keys;
	bool keys_estimated;
	uint64_t synced;		/* nanoseconds since 1970; 0: never */
	/*
	 * of that sync's record. The file's epoch is never older: the file is on the disk before
	 * the catalog is changed
	 */
	uint64_t epoch;
	uint32_t labels_bytes;
	char labels[BLM_FORMAT_LABELS];
};

/*
 * @folder: the store's catalog/; write false: opening changes nothing. -EUCLEAN if there is no
 * catalog, because every store has one.
 */
int blm_catalog_open(struct blm_catalog **ret, const char *folder, bool write);
void blm_catalog_close(struct blm_catalog *catalog);

/*
 * Are all its pages valid for LMDB? 0 or -EUCLEAN. Opening checks the first few thousand only.
 */
int blm_catalog_verify(struct blm_catalog *catalog);

/* 0, -ENOENT, -EUCLEAN: the record is damaged. */
int blm_catalog_get(struct blm_catalog *catalog, const char *name, struct blm_entry *ret);

/* Changes; each one transaction, durable when it returns. */
enum blm_put { BLM_PUT_NEW, BLM_PUT_OVER };
/* NEW: -EEXIST */
int blm_catalog_put(struct blm_catalog *catalog, const char *name, const struct blm_entry *entry,
		    enum blm_put how);
/*
 * Puts several new records in one transaction. give() gets a number below count and returns the
 * name and the record of that filter, or fails with a message; it may be called again. -EEXIST: no
 * record was put.
 */
int blm_catalog_put_many(struct blm_catalog *catalog, size_t count,
			 int (*give)(void *context, size_t i, const char **ret_name,
				     struct blm_entry *ret), void *context);
/*
 * Replaces the record of another filter by `entry`. The labels stay, because they belong to the
 * name. The keys that keeps() accepts stay in the allowlist (allowlist.h); keeps NULL: none.
 * keeps() is called within the transaction, perhaps more than once. -ENOENT if the name now belongs
 * to another filter, or to none.
 */
struct blm_handover {
	const uint8_t *uuid;
	bool (*keeps)(const void *context, const struct blm_key *key);
	const void *context;
};
int blm_catalog_replace(struct blm_catalog *catalog, const char *name,
			const struct blm_handover *over, struct blm_entry *entry);
/* -ENOENT, -EEXIST */
int blm_catalog_rename(struct blm_catalog *catalog, const char *from, const char *to);
/* The same if `from` is the filter with this uuid; otherwise -EAGAIN, without a message. */
int blm_catalog_rename_this(struct blm_catalog *catalog, const char *from, const char *to,
			    const uint8_t uuid[16]);
/* -ENOENT: there is no such name, or it belongs to another filter */
int blm_catalog_drop(struct blm_catalog *catalog, const char *name, const uint8_t uuid[16]);
/* the same without a note; NULL: any */
int blm_catalog_remove(struct blm_catalog *catalog, const char *name, const uint8_t uuid[16]);

/*
 * Change one record in place: change() gets it and returns 1 (write it), 0 (leave it) or a negative
 * errno.
 */
int blm_catalog_change(struct blm_catalog *catalog, const char *name,
		       int (*change)(struct blm_entry *entry, void *context), void *context);

/*
 * The record with the least name above `after` ("": the first). Returns 0 and the name; 1 and the
 * name if its record is damaged; -ENOENT past the last; another negative errno if the catalog is
 * damaged. Each call is one look-up, so that no reader holds the catalog for long.
 */
int blm_catalog_next(struct blm_catalog *catalog, const char *after, char name[BLM_FORMAT_NAME],
		     struct blm_entry *ret);

/*
 * catalog/tombstones.c. knows(): is there a record of this filter? is_gone(): did a replacement or
 * a drop remove its record? 1 or 0, or a negative errno. count_gone(): the number of notes about
 * removed filters. forget_gone(): deletes the notes whose files are gone, also after a power cut.
 */
int blm_catalog_knows(struct blm_catalog *catalog, const uint8_t uuid[16]);
int blm_catalog_is_gone(struct blm_catalog *catalog, const uint8_t uuid[16]);
int blm_catalog_count_gone(struct blm_catalog *catalog);
int blm_catalog_forget_gone(struct blm_catalog *catalog,
			    bool (*is_there)(void *context, const uint8_t uuid[16]), void *context);

/*
 * catalog/catalog_allowlist.c: the allowlist of a filter (allowlist.h). Is there one? How many keys
 * are on it, including damaged ones? Which of these keys, or of those whose bit is set, are on it?
 * Each returns a number, or a negative errno. next: the least key at or above `after` (zeros: the
 * first), which is advanced. 1: the key is in ret_key (BLM_ALLOW_KEY_MAX), 2: it is damaged, 0:
 * there are no more.
 */
int blm_catalog_has_list(struct blm_catalog *catalog, const uint8_t uuid[16]);
int64_t blm_catalog_count_listed(struct blm_catalog *catalog, const uint8_t uuid[16]);
int64_t blm_catalog_find_listed(struct blm_catalog *catalog, const uint8_t uuid[16],
				const struct blm_key *keys, size_t count,
				const uint64_t *among, uint64_t *ret_bits);
int blm_catalog_next_listed(struct blm_catalog *catalog, const uint8_t uuid[16], uint8_t after[32],
			    uint8_t *ret_key, size_t *ret_bytes);
int64_t blm_catalog_put_listed(struct blm_catalog *catalog, const uint8_t uuid[16],
			       const struct blm_key *keys, size_t count, const uint64_t *among);
int64_t blm_catalog_take_listed(struct blm_catalog *catalog, const uint8_t uuid[16],
				const struct blm_key *keys, size_t count, uint64_t *ret_bits);
/*
 * The same for the keys whose bit is set, NULL: for all keys. Calls each() for each of them before
 * other processes can see the removal; if each() fails, with a message, no key is removed. A
 * repeated transaction repeats the calls.
 */
int64_t blm_catalog_take_listed_with(struct blm_catalog *catalog, const uint8_t uuid[16],
				     const struct blm_key *keys, size_t count,
				     const uint64_t *among, uint64_t *ret_bits,
				     int (*each)(void *context, size_t i), void *context);
int blm_catalog_take_list(struct blm_catalog *catalog, const uint8_t uuid[16]);
/* how many keys are damaged; repair takes them off */
int blm_catalog_check_lists(struct blm_catalog *catalog, bool repair);

/*
 * Replaces the catalog by a new one with exactly these entries. The caller holds the catalog's lock
 * exclusively. A process that has the old catalog open moves to the new one at its next look-up.
 */
struct blm_new_entry {
	char name[BLM_FORMAT_NAME];
	struct blm_entry entry;
};
int blm_catalog_make(const char *folder, const struct blm_new_entry *entries, size_t count);

#endif
