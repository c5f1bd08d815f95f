/*
 * catalog.h - names to what filters are, in LMDB
 *
 * Look-ups read data.mdb themselves, page by page (lmdb_snapshot.h): without LMDB, without a lock,
 * and whatever a writer does. They need the right to read that file, and nothing else. Damage is
 * -EUCLEAN, never a crash.
 *
 * Changes are LMDB's, in one environment for each directory in a process, since LMDB must not be
 * opened twice. Always without LMDB's own locks (they are in a file that other users cannot write,
 * and know processes by a number that containers share): `catalog/lock` is held exclusively by
 * flock(2), with a mutex within the process. Waiting ends with -EBUSY where nothing moved for 5
 * seconds. LMDB trusts its file, so all pages are walked first, unless the file is as this process
 * left it. data.mdb is mapped while it is changed: a cut in that time is -EUCLEAN where the guard
 * is on (blm_survive_truncation()), else a SIGBUS.
 */
#ifndef BLM_CATALOG_H
#define BLM_CATALOG_H

#include "file/layout.h"

struct blm_catalog;
struct blm_key;

/*
 * What the catalog keeps of a filter: the constant half of its file's header, and what was true at
 * the last sync.
 */
struct blm_entry {
	struct blm_constant constant;
	uint64_t data_bytes, file_bytes;
	uint64_t keys;
	bool keys_estimated;
	uint64_t synced;		/* nanoseconds since 1970; 0: never */
	/*
	 * of that sync's record. The file's is never behind: it is on the disk before the catalog
	 * says so
	 */
	uint64_t epoch;
	uint32_t labels_bytes;
	char labels[BLM_FORMAT_LABELS];
};

/*
 * @folder: the store's catalog/; write false: changes nothing, not even by opening. -EUCLEAN where
 * there is none: a store has one.
 */
int blm_catalog_open(struct blm_catalog **ret, const char *folder, bool write);
void blm_catalog_close(struct blm_catalog *catalog);

/*
 * Are all its pages as LMDB needs them? 0 or -EUCLEAN. At opening the first few thousand are looked
 * at.
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
 * Several that are new, in one transaction. give() gets a number below count, and says the name and
 * what is kept of that filter, or fails with words; it may be asked again. -EEXIST: none was put.
 */
int blm_catalog_put_many(struct blm_catalog *catalog, size_t count,
			 int (*give)(void *context, size_t i, const char **ret_name,
				     struct blm_entry *ret), void *context);
/*
 * Put `entry` in the place of the record of another filter. The labels stay, because they belong to
 * the name. The keys that keeps() accepts stay in the list of false positives (allowlist.h). keeps
 * NULL: none. keeps() is called within the transaction, perhaps more than once. -ENOENT if the name
 * now leads to another filter, or to none.
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
/* The same if `from` is the filter with this uuid; else -EAGAIN, without words. */
int blm_catalog_rename_this(struct blm_catalog *catalog, const char *from, const char *to,
			    const uint8_t uuid[16]);
/* -ENOENT: gone, or another's */
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
 * name where its record is damaged; -ENOENT past the last; another negative errno where the catalog
 * is. One look-up each, so that no reader holds the catalog for long.
 */
int blm_catalog_next(struct blm_catalog *catalog, const char *after, char name[BLM_FORMAT_NAME],
		     struct blm_entry *ret);

/*
 * catalog/tombstones.c. Does a record mean this filter? Did a replacement or a drop take it out? 1
 * or 0, or a negative errno. How many are noted as taken out; and forget those whose files are not
 * there any more, and will not be after a power cut.
 */
int blm_catalog_knows(struct blm_catalog *catalog, const uint8_t uuid[16]);
int blm_catalog_is_gone(struct blm_catalog *catalog, const uint8_t uuid[16]);
int blm_catalog_count_gone(struct blm_catalog *catalog);
int blm_catalog_forget_gone(struct blm_catalog *catalog,
			    bool (*is_there)(void *context, const uint8_t uuid[16]), void *context);

/*
 * catalog/catalog_allowlist.c: the list of a filter (allowlist.h). Has it one? How many keys are on
 * it, damaged ones too? Which of these keys, or of those whose bit is set, are on it? Each returns
 * a number, or a negative errno. next: the least at `after` (zeros: the first), which is moved on.
 * 1: ret_key (BLM_ALLOW_KEY_MAX) has it, 2: it is damaged, 0: there is none.
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
 * The same of those whose bit is set, NULL: of all; and do something with each, before others can
 * see that it is off: where that fails, with words, none is taken off. A transaction that is begun
 * again does it again.
 */
int64_t blm_catalog_take_listed_with(struct blm_catalog *catalog, const uint8_t uuid[16],
				     const struct blm_key *keys, size_t count,
				     const uint64_t *among, uint64_t *ret_bits,
				     int (*each)(void *context, size_t i), void *context);
int blm_catalog_take_list(struct blm_catalog *catalog, const uint8_t uuid[16]);
/* how many keys are damaged; repair takes them off */
int blm_catalog_check_lists(struct blm_catalog *catalog, bool repair);

/*
 * Put a new catalog, with just these entries, in the place of the old one; the caller holds the
 * catalog's lock exclusively. A process that has the old one open goes over to it at the next
 * look-up.
 */
struct blm_new_entry {
	char name[BLM_FORMAT_NAME];
	struct blm_entry entry;
};
int blm_catalog_make(const char *folder, const struct blm_new_entry *entries, size_t count);

#endif
