/* env.h - the catalog's LMDB environment: what catalog.c works on */
#ifndef BLM_CATALOG_ENV_H
#define BLM_CATALOG_ENV_H

#include "catalog/catalog.h"
#include "catalog/lock.h"

#include <lmdb.h>
#include <sys/stat.h>

enum { BLM_CATALOG_MAP = 64 << 20 };	/* of address space, to begin with; doubled when the catalog outgrows it */

struct blm_catalog {
	struct blm_catalog *next;	/* all that are open in this process */
	unsigned references;
	unsigned generation;		/* of the process: counted up in a forked child */
	dev_t device;
	ino_t inode;			/* of data.mdb */
	uint64_t bytes;			/* the longest that it was seen */
	char *folder;			/* the store's catalog/ */
	bool write;
	MDB_env *env;			/* NULL: a next transaction opens it */
	MDB_dbi filters;
	struct blm_catalog_lock lock;
};

/*
 * Walk the pages of data.mdb, at most so many, under the catalog's lock: 0, -EUCLEAN and what is wrong, another errno. After a walk of
 * all of them LMDB can read and write it.
 */
enum { BLM_CATALOG_WRONG = 128 };
int blm_catalog_check(int fd, uint64_t file_bytes, uint64_t most, char ret_wrong[BLM_CATALOG_WRONG]);

/* An LMDB code in words; -EUCLEAN where the catalog is damaged. */
int blm_catalog_failed(const struct blm_catalog *c, int code, const char *doing);

/* Begin a transaction, with the catalog's lock; a read is ended by the second. */
int blm_catalog_begin(struct blm_catalog *c, bool write, MDB_txn **ret);
void blm_catalog_end_reading(struct blm_catalog *c, MDB_txn *txn);

/*
 * Run change() in a transaction and commit it; where the map is too small, enlarge it and begin again. change() returns 0 or
 * an LMDB code, or a negative errno that it has worded.
 */
int blm_catalog_transact(struct blm_catalog *c, int (*change)(struct blm_catalog *, MDB_txn *, void *), void *context);

/* catalog/uuid.c: in the transaction that takes a filter out. 0 or an LMDB code. */
int blm_catalog_note_gone(MDB_txn *txn, const uint8_t uuid[16]);
/* catalog/allow.c: the same, with its list; and before that, what of it goes over to the file that takes its place. */
int blm_catalog_end_list(MDB_txn *txn, const uint8_t uuid[16]);
int blm_catalog_move_list(MDB_txn *txn, const struct blm_yielding *over, const uint8_t to[16]);

#endif
