/* env.c - the catalog's LMDB environment: one for each directory in a process, and its forks */
#include "bloomery.h"
#include "catalog/env.h"
#include "file/sigbus.h"
#include "file/os.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* all_mutex: of the list. ready_mutex: of the lock and environment of each; taken second. */
static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ready_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct blm_catalog *all;
static unsigned generation;

/* ---- Errors ---- */

/* LMDB calls a write that the limit of file sizes cut short an input or output error. */
const char *blm_catalog_reason(int code)
{
	struct rlimit limit;

	if ((code == EIO || code == ENOSPC || code == EFBIG)
	    && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < BLM_CATALOG_MAP)
		return "the write failed; files may not be larger than RLIMIT_FSIZE, "
			"which is small: raise it";
	return mdb_strerror(code);
}

int blm_catalog_failed(const struct blm_catalog *c, int code, const char *doing)
{
	switch (code) {
	case MDB_CORRUPTED: case MDB_PAGE_NOTFOUND: case MDB_INVALID: case MDB_VERSION_MISMATCH:
	case MDB_PANIC: case MDB_CURSOR_FULL: case MDB_PAGE_FULL: case MDB_INCOMPATIBLE:
	case MDB_BAD_TXN: case MDB_BAD_VALSIZE: case MDB_BAD_DBI:
		return blm_fail(-EUCLEAN, "%s: the catalog is damaged, or another machine type "
				"made it (%s: %s); repair the store with blm_store_verify()",
				c->folder, doing,
				mdb_strerror(code));
	case ENOMEM:
		return blm_fail(-ENOMEM, "%s: out of memory", c->folder);
	default:
		return blm_fail(code > 0 ? -code : -EIO, "%s: %s: %s", c->folder, doing,
				blm_catalog_reason(code));
	}
}

int blm_catalog_pages_failed(const struct blm_catalog *c, const struct blm_snapshot *p, int code,
			     const char *doing)
{
	char wrong[BLM_CATALOG_WRONG];

	if (code < 0 && (code < MDB_KEYEXIST || code > MDB_LAST_ERRCODE))
		return code;
	if (code != MDB_CORRUPTED || !p->wrong)
		return blm_catalog_failed(c, code, doing);
	blm_snapshot_words(p, wrong);
	return blm_fail(-EUCLEAN, "%s: the catalog is damaged (%s); "
			"repair the store with blm_store_verify()", c->folder, wrong);
}

/* ---- The environment ---- */

int blm_catalog_guarded(struct blm_catalog *c, int (*step)(void *context), void *context)
{
	int r;

	if (blm_sigbus_step(step, context, &r))
		return r;
	mdb_env_close(c->env);
	c->env = NULL;
	return blm_catalog_failed(c, MDB_CORRUPTED,
				  "data.mdb was truncated or damaged while it was read");
}

static void on_assertion(MDB_env *env, const char *what)
{
	(void)env, (void)what;
	blm_sigbus_end_step();
}

static int open_table(struct blm_catalog *c)
{
	MDB_txn *txn;
	int code = mdb_txn_begin(c->env, NULL, MDB_RDONLY, &txn);

	if (code)
		return blm_catalog_failed(c, code, "reading");
	code = mdb_dbi_open(txn, "filters", 0, &c->filters);
	if (code) {
		mdb_txn_abort(txn);
		return blm_catalog_failed(c, code == MDB_NOTFOUND ? MDB_INVALID : code,
					  "no table of filters");
	}
	code = mdb_txn_commit(txn);
	return code ? blm_catalog_failed(c, code, "reading") : 0;
}

/* LMDB follows a link, which may have come after look(). LMDB writes nothing before this. */
static bool is_named(const struct blm_catalog *c)
{
	struct stat named, st;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/data.mdb", c->folder);
	return mdb_env_get_fd(c->env, &fd) == 0 && fstat(fd, &st) == 0 && lstat(path, &named) == 0
	    && named.st_ino == st.st_ino && named.st_dev == st.st_dev;
}

/* MDB_NOTLS and MDB_NOLOCK: see catalog.h. */
static int open_file(void *context)
{
	struct blm_catalog *c = context;
	int code = mdb_env_open(c->env, c->folder, MDB_NOLOCK | MDB_NOTLS, 0644);

	if (code == 0 && !is_named(c))
		return blm_fail(-EUCLEAN, "%s/data.mdb: was replaced while it was opened; try "
				"again",
				c->folder);
	return code ? blm_catalog_failed(c, code, "opening") : open_table(c);
}

int blm_catalog_open_env(struct blm_catalog *c)
{
	int r, code = mdb_env_create(&c->env);

	if (code)
		return blm_catalog_failed(c, code, "opening");
	mdb_env_set_maxdbs(c->env, 8);
	mdb_env_set_mapsize(c->env, BLM_CATALOG_MAP);
	mdb_env_set_assert(c->env, on_assertion);
	r = blm_catalog_guarded(c, open_file, c);
	if (r < 0) {
		mdb_env_close(c->env);
		c->env = NULL;
	}
	return r;
}

/* ---- Opening and closing ---- */

static void in_child(void)
{
	generation++;
	pthread_mutex_init(&all_mutex, NULL);
	pthread_mutex_init(&ready_mutex, NULL);
}

static void before_fork(void)
{
	pthread_mutex_lock(&all_mutex);
	pthread_mutex_lock(&ready_mutex);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&ready_mutex);
	pthread_mutex_unlock(&all_mutex);
}

static void watch_forks(void)
{
	blm_catalog_lock_watch_forks();
	pthread_atfork(before_fork, in_parent, in_child);
}

/* Only an absent file is lost; a file that cannot be opened may be intact. */
int blm_catalog_lost(const char *path, int err)
{
	if (err && err != ENOENT)
		return blm_fail(-err, "%s: %s", path, strerror(err));
	return blm_fail(-EUCLEAN, "%s: the catalog is lost; repair the store with "
			"blm_store_verify()", path);
}

/* Is there a catalog? LMDB would make an empty one in the place of a lost one. */
static int look(const char *folder, bool write, struct stat *ret, bool *ret_writable)
{
	char path[4096];
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/data.mdb", folder) >= sizeof(path))
		return blm_fail(-ENAMETOOLONG, "%s: too long for a path", folder);
	*ret_writable = access(path, W_OK) == 0;
	err = errno;
	if (lstat(path, ret) < 0)
		return blm_catalog_lost(path, errno);
	if (!S_ISREG(ret->st_mode))
		return blm_fail(-EUCLEAN, "%s: not a regular file; repair the store with "
				"blm_store_verify()", path);
	if (!ret->st_size)
		return blm_catalog_lost(path, 0);
	if (write && !*ret_writable)
		return blm_fail(-err, "%s: the catalog cannot be written: %s", path, strerror(err));
	return 0;
}

/*
 * Not an environment that a parent opened: this process may have lost the necessary rights since.
 */
static struct blm_catalog *find_open(const struct stat *st, bool write)
{
	for (struct blm_catalog *c = all; c; c = c->next)
		if (c->generation == generation && c->inode == st->st_ino && c->device == st->st_dev
		    && (c->write || !write))
			return c;
	return NULL;
}

/*
 * A look-up cannot crash on damaged pages, but it can miss names. 8 MiB, some 15,000 filters: more
 * would be felt.
 */
static int look_at_first_pages(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	enum { PAGES_AT_OPENING = 2048 };
	struct blm_table filters;
	int code = blm_snapshot_walk(p, PAGES_AT_OPENING);

	(void)c, (void)context;
	if (code == 0)
		code = blm_snapshot_table(p, "filters", &filters);
	if (code == MDB_NOTFOUND)
		code = blm_snapshot_damaged(p, 0, "leads to no table of filters");
	return code;
}

static int open_new(struct blm_catalog **ret, const char *folder, bool write, const struct stat *st)
{
	struct blm_catalog *c = calloc(1, sizeof(*c));
	int r;

	if (!c || !(c->folder = strdup(folder))) {
		free(c);
		return blm_fail(-ENOMEM, "%s: out of memory", folder);
	}
	c->references = 1;
	c->write = write;
	c->generation = generation;
	c->device = st->st_dev;
	c->inode = st->st_ino;
	r = blm_catalog_look(c, look_at_first_pages, NULL, "opening");
	if (r < 0) {
		free(c->folder);
		free(c);
		return r;
	}
	c->next = all;
	all = c;
	*ret = c;
	return 0;
}

int blm_catalog_open(struct blm_catalog **ret, const char *folder, bool write)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct blm_catalog *c;
	struct stat st;
	bool writable;
	int r;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&all_mutex);
	r = look(folder, write, &st, &writable);
	if (r == 0) {
		c = find_open(&st, write);
		if (c) {
			c->references++;
			*ret = c;
		} else {
			r = open_new(ret, folder, writable, &st);
		}
	}
	pthread_mutex_unlock(&all_mutex);
	return r;
}

void blm_catalog_close(struct blm_catalog *c)
{
	struct blm_catalog **link;

	if (!c)
		return;
	pthread_mutex_lock(&all_mutex);
	if (--c->references == 0) {
		for (link = &all; *link != c; link = &(*link)->next)
			;
		*link = c->next;
		if (c->generation == generation)	/* a child must not close its parent's */
			mdb_env_close(c->env);
		blm_catalog_lock_close(&c->lock);
		free(c->folder);
		free(c);
	}
	pthread_mutex_unlock(&all_mutex);
}

/* Needed by a transaction, but not by a look-up. */
int blm_catalog_ready(struct blm_catalog *c)
{
	int r = 0;

	pthread_mutex_lock(&ready_mutex);
	if (c->generation != generation) {
		blm_catalog_lock_close(&c->lock);
		c->env = NULL;
		c->generation = generation;
	}
	if (!c->lock.folder)
		r = blm_catalog_lock_open(&c->lock, c->folder, c->write);
	pthread_mutex_unlock(&ready_mutex);
	return r;
}
