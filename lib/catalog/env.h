/* env.h - the catalog's LMDB environment: what catalog.c works on */
#ifndef BLM_CATALOG_ENV_H
#define BLM_CATALOG_ENV_H

#include "catalog/catalog.h"
#include "catalog/flock.h"
#include "catalog/lmdb_snapshot.h"

#include <lmdb.h>
#include <sys/stat.h>

/* of address space, to begin with; doubled when the catalog outgrows it */
enum { BLM_CATALOG_MAP = 64 << 20 };

/*
 * What data.mdb was when it was found whole: a commit of our own leaves it whole, any other change
 * may not.
 */
struct blm_walked {
	dev_t device;
	ino_t inode;
	uint64_t bytes;
	struct timespec changed;
	struct blm_meta meta;
};

struct blm_catalog {
	struct blm_catalog *next;	/* all open catalogs of this process */
	unsigned references;
	unsigned generation;		/* of the process: counted up in a forked child */
	dev_t device;
	ino_t inode;			/* of data.mdb when it was opened */
	char *folder;			/* the store's catalog/ */
	bool write;
	/* for transactions, which have the lock; a look-up needs nothing of it */
	struct blm_catalog_lock lock;	/* opened by the first transaction of a process */
	MDB_env *env;			/* NULL: a next transaction opens it */
	MDB_dbi filters;
	struct blm_walked walked;
};

/*
 * Walks at most `most` pages of data.mdb. Returns 0, -EUCLEAN with the damage in ret_wrong, or
 * another negative errno, with a message.
 */
enum { BLM_CATALOG_WRONG = 128 };
int blm_catalog_check(int fd, uint64_t most, char ret_wrong[BLM_CATALOG_WRONG]);
void blm_snapshot_words(const struct blm_snapshot *p, char ret_wrong[BLM_CATALOG_WRONG]);

/*
 * A message for an LMDB code; -EUCLEAN if the catalog is damaged. pages_failed: for a snapshot,
 * which may describe the damage. A negative code has its message already. reason: mdb_strerror(),
 * or that the limit of file sizes is too small for a failed write.
 */
const char *blm_catalog_reason(int code);
int blm_catalog_failed(const struct blm_catalog *c, int code, const char *doing);
int blm_catalog_pages_failed(const struct blm_catalog *c, const struct blm_snapshot *p, int code,
			     const char *doing);

/*
 * env.c, for txn.c. All fail with a message.
 *   ready: opens the lock of this process; a forked child leaves the parent's environment alone.
 *   open_env: opens an environment if c->env is not open; NULL if that fails. Under the lock.
 *   lost: the failure to open or examine a file.
 *   guarded: LMDB reads its file through a map. A truncation during that (with the guard on), and a
 *            failed assertion of LMDB, end the step immediately: its work is lost, and so is the
 *            environment. The next transaction opens another one.
 */
int blm_catalog_ready(struct blm_catalog *c);
int blm_catalog_open_env(struct blm_catalog *c);
int blm_catalog_lost(const char *path, int err);
int blm_catalog_guarded(struct blm_catalog *c, int (*step)(void *context), void *context);

/*
 * txn.c: read a snapshot, without the lock and without LMDB; MDB_NOTFOUND is as good as 0. The
 * step runs again, from its beginning, where pages were overwritten while it read.
 */
typedef int blm_catalog_reading(struct blm_catalog *c, struct blm_snapshot *p, void *context);
int blm_catalog_look(struct blm_catalog *c, blm_catalog_reading *step, void *context,
		     const char *doing);

/*
 * txn.c: runs a step in a transaction under the catalog's lock, and commits it; if the map was too
 * small, runs it again. A step returns 0 or an LMDB code, or a negative errno with its message.
 * doing: the operation, for messages.
 */
typedef int blm_catalog_step(struct blm_catalog *c, MDB_txn *txn, void *context);
int blm_catalog_transact(struct blm_catalog *c, blm_catalog_step *change, void *context);

/* catalog/tombstones.c: in the transaction that takes a filter out. 0 or an LMDB code. */
int blm_catalog_note_gone(MDB_txn *txn, const uint8_t uuid[16]);
/*
 * catalog/catalog_allowlist.c: deletes the list too; before that it moves entries to the file that
 * replaces this one.
 */
int blm_catalog_end_list(MDB_txn *txn, const uint8_t uuid[16]);
int blm_catalog_move_list(MDB_txn *txn, const struct blm_handover *over, const uint8_t to[16]);

#endif
