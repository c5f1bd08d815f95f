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
	struct blm_catalog *next;	/* all that are open in this process */
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
 * Walk at most `most` pages of data.mdb. Returns 0, -EUCLEAN with the damage in ret_wrong, or
 * another negative errno.
 * words: what a walk or a read of pages found.
 */
enum { BLM_CATALOG_WRONG = 128 };
int blm_catalog_check(int fd, uint64_t most, char ret_wrong[BLM_CATALOG_WRONG]);
void blm_snapshot_words(const struct blm_snapshot *p, char ret_wrong[BLM_CATALOG_WRONG]);

/*
 * An LMDB code in words; -EUCLEAN where the catalog is damaged. pages_failed: of a snapshot, which
 * may say what is wrong. A negative code has its words already. reason: mdb_strerror(), or that the
 * limit of file sizes is small where a write failed.
 */
const char *blm_catalog_reason(int code);
int blm_catalog_failed(const struct blm_catalog *c, int code, const char *doing);
int blm_catalog_pages_failed(const struct blm_catalog *c, const struct blm_snapshot *p, int code,
			     const char *doing);

/*
 * env.c, for txn.c. All of these fail with words.
 *
 * ready: the lock of this process, opened; a forked child leaves the parent's environment alone.
 * open_env: an environment, where c->env is none that is open; NULL if that fails. Under the lock.
 * lost: how a file that cannot be opened or looked at failed.
 * guarded: LMDB reads its file through a map. A cut while it does, where the guard is on, and an
 *   assertion of its that fails, end the step where it is: what it had in hand is lost, and with it
 *   the environment. The next transaction opens another one.
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
 * txn.c: run a step in a transaction, with the catalog's lock, which is then committed, and
 * begun again where the map was too small. A step returns 0 or an LMDB code, or a negative errno
 * that it has worded. doing: what failed, in words.
 */
typedef int blm_catalog_step(struct blm_catalog *c, MDB_txn *txn, void *context);
int blm_catalog_transact(struct blm_catalog *c, blm_catalog_step *change, void *context);

/* catalog/tombstones.c: in the transaction that takes a filter out. 0 or an LMDB code. */
int blm_catalog_note_gone(MDB_txn *txn, const uint8_t uuid[16]);
/*
 * catalog/catalog_allowlist.c: the same, with its list; and before that, what of it goes over to
 * the file that takes its place.
 */
int blm_catalog_end_list(MDB_txn *txn, const uint8_t uuid[16]);
int blm_catalog_move_list(MDB_txn *txn, const struct blm_handover *over, const uint8_t to[16]);

#endif
