/* env.c - the catalog's LMDB environment: one for each directory in a process, its forks, locks and transactions */
#include "bloomery.h"
#include "catalog/env.h"
#include "file/sigbus.h"
#include "file/system.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct blm_catalog *all;
static unsigned generation;

/* ---- Errors ---- */

int blm_catalog_failed(const struct blm_catalog *c, int code, const char *doing)
{
	switch (code) {
	case MDB_CORRUPTED: case MDB_PAGE_NOTFOUND: case MDB_INVALID: case MDB_VERSION_MISMATCH: case MDB_PANIC:
	case MDB_CURSOR_FULL: case MDB_PAGE_FULL: case MDB_INCOMPATIBLE: case MDB_BAD_TXN: case MDB_BAD_VALSIZE: case MDB_BAD_DBI:
		return blm_fail(-EUCLEAN, "%s: the catalog is damaged, or another machine's (%s: %s); "
				"`bloomery verify --repair` makes it anew from the filters", c->folder, doing, mdb_strerror(code));
	case ENOMEM:
		return blm_fail(-ENOMEM, "%s: out of memory", c->folder);
	default:
		return blm_fail(code > 0 ? -code : -EIO, "%s: %s: %s", c->folder, doing, mdb_strerror(code));
	}
}

/* ---- The environment ---- */

enum { PAGES_AT_OPENING = 2048 };	/* 8 MiB, some 15,000 filters: more would be felt at each opening */

/*
 * LMDB trusts its file from its first bytes on, so before it opens it most catalogs are walked whole, and by verify all of them. The
 * caller holds the catalog's lock.
 */
static int check_pages(struct blm_catalog *c, uint64_t most)
{
	char wrong[BLM_CATALOG_WRONG], path[4096];
	struct stat st;
	int fd, r;

	snprintf(path, sizeof(path), "%s/data.mdb", c->folder);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		r = -errno;
	else
		r = blm_catalog_check(fd, (uint64_t)st.st_size, most, wrong);
	if (fd >= 0)
		close(fd);
	if (r == -EUCLEAN)
		return blm_catalog_failed(c, MDB_CORRUPTED, wrong);
	return r < 0 ? blm_fail(r, "%s: %s", path, strerror(-r)) : 0;
}

static int note_file(struct blm_catalog *c)
{
	struct stat st;
	int fd;

	if (mdb_env_get_fd(c->env, &fd) || fstat(fd, &st) < 0)
		return blm_fail(-EIO, "%s/data.mdb: cannot be looked at", c->folder);
	c->device = st.st_dev;
	c->inode = st.st_ino;
	c->bytes = (uint64_t)st.st_size;
	return 0;
}

/*
 * LMDB reads its file through a map. A cut while it does, where the guard is on, and an assertion of its that fails, end it where it is: what it
 * had in hand is lost, and with it the environment. The next transaction opens another one. The caller holds the catalog's lock.
 */
static int guarded(struct blm_catalog *c, int (*step)(void *context), void *context)
{
	int r;

	if (blm_sigbus_step(step, context, &r))
		return r;
	mdb_env_close(c->env);
	c->env = NULL;
	return blm_catalog_failed(c, MDB_CORRUPTED, "data.mdb was cut or damaged while it was read");
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
		return blm_catalog_failed(c, code == MDB_NOTFOUND ? MDB_INVALID : code, "no table of filters");
	}
	code = mdb_txn_commit(txn);
	return code ? blm_catalog_failed(c, code, "reading") : 0;
}

/*
 * MDB_NOTLS and MDB_NOLOCK: see catalog.h. An environment that may be written serves readers as well, so it is opened so
 * wherever the file allows it; that alone changes nothing.
 */
static int open_file(void *context)
{
	struct blm_catalog *c = context;
	int code = mdb_env_open(c->env, c->folder, MDB_NOLOCK | MDB_NOTLS | (c->write ? 0 : MDB_RDONLY), 0644);
	int r = code ? blm_catalog_failed(c, code, "opening") : note_file(c);

	return r < 0 ? r : open_table(c);
}

static int open_env(struct blm_catalog *c)
{
	int code, r = check_pages(c, PAGES_AT_OPENING);

	if (r < 0)
		return r;
	code = mdb_env_create(&c->env);
	if (code)
		return blm_catalog_failed(c, code, "opening");
	mdb_env_set_maxdbs(c->env, 8);
	mdb_env_set_mapsize(c->env, BLM_CATALOG_MAP);
	mdb_env_set_assert(c->env, on_assertion);
	r = guarded(c, open_file, c);
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
}

static void before_fork(void)
{
	pthread_mutex_lock(&all_mutex);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&all_mutex);
}

static void watch_forks(void)
{
	blm_catalog_lock_watch_forks();
	pthread_atfork(before_fork, in_parent, in_child);
}

/* Only what is not there is lost; what cannot be looked at may be well. */
static int lost(const char *path, int err)
{
	if (err && err != ENOENT)
		return blm_fail(-err, "%s: %s", path, strerror(err));
	return blm_fail(-EUCLEAN, "%s: the catalog is lost; `bloomery verify --repair` makes it anew from the filters", path);
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
	if (stat(path, ret) < 0)
		return lost(path, errno);
	if (!ret->st_size)
		return lost(path, 0);
	if (write && !*ret_writable)
		return blm_fail(-err, "%s: the catalog cannot be written: %s", path, strerror(err));
	return 0;
}

/* Not one that a parent opened: since then this process may have lost the rights that it needs. */
static struct blm_catalog *find_open(const struct stat *st, bool write)
{
	for (struct blm_catalog *c = all; c; c = c->next)
		if (c->generation == generation && c->inode == st->st_ino && c->device == st->st_dev && (c->write || !write))
			return c;
	return NULL;
}

static int open_new(struct blm_catalog **ret, const char *folder, bool write)
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
	r = blm_catalog_lock_open(&c->lock, c->folder, write);
	if (r == 0)
		r = blm_catalog_lock(&c->lock, false);
	if (r == 0) {
		r = open_env(c);
		blm_catalog_unlock(&c->lock);
	}
	if (r < 0) {
		blm_catalog_lock_close(&c->lock);
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
			r = open_new(ret, folder, writable);
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

/* In a forked child the parent's environment is left alone, and one of the child's own opened in its place. */
static int after_fork(struct blm_catalog *c)
{
	int r = 0;

	pthread_mutex_lock(&all_mutex);
	if (c->generation != generation) {
		blm_catalog_lock_close(&c->lock);
		r = blm_catalog_lock_open(&c->lock, c->folder, c->write);
		if (r == 0)
			r = blm_catalog_lock(&c->lock, false);
		if (r == 0) {
			r = open_env(c);
			if (r == 0)
				c->generation = generation;
			blm_catalog_unlock(&c->lock);
		}
	}
	pthread_mutex_unlock(&all_mutex);
	return r;
}

/* ---- Transactions ---- */

/*
 * Another environment in the place of the one that is open, under the lock. Where it does not open there is none until the next
 * transaction: the old one may have lost its map.
 */
static int open_anew(struct blm_catalog *c)
{
	mdb_env_close(c->env);
	c->env = NULL;
	return open_env(c);
}

/* Its map gets another size; 0: what the file says. If the system has no room for that, LMDB is left without any. */
static int resize_map(struct blm_catalog *c, size_t bytes)
{
	int code = mdb_env_set_mapsize(c->env, bytes);

	if (code) {
		mdb_env_close(c->env);
		c->env = NULL;
	}
	return code;
}

/*
 * LMDB follows its pages through a map, and those that the file has lost would kill. A data.mdb never becomes shorter by itself: it was cut,
 * or another one was copied over it, and opening looks which. One that others made longer, and somebody cut, is shorter than it
 * says. (Its last pages need not be there if nothing leads to them, so then it is walked.)
 */
static int check_length(struct blm_catalog *c, uint64_t bytes)
{
	MDB_envinfo info;
	MDB_stat stat;

	if (bytes < c->bytes)
		return open_anew(c);
	c->bytes = bytes;
	if (mdb_env_info(c->env, &info) || mdb_env_stat(c->env, &stat) || (info.me_last_pgno + 1) * (uint64_t)stat.ms_psize <= bytes)
		return 0;
	return check_pages(c, UINT64_MAX);
}

/*
 * The environment of the data.mdb that is there: a repair puts a new one in the place of the old one, and whoever still has that open
 * goes over.
 */
static int follow(struct blm_catalog *c)
{
	char path[4096];
	struct stat st;

	snprintf(path, sizeof(path), "%s/data.mdb", c->folder);
	if (stat(path, &st) < 0)
		return lost(path, errno);
	if (!c->env || st.st_ino != c->inode || st.st_dev != c->device)
		return open_anew(c);
	return check_length(c, (uint64_t)st.st_size);
}

static int begin(struct blm_catalog *c, bool write, MDB_txn **ret)
{
	const unsigned flags = write ? 0 : MDB_RDONLY;
	int code, r = follow(c);

	if (r < 0)
		return r;
	code = mdb_txn_begin(c->env, NULL, flags, ret);
	if (code == MDB_MAP_RESIZED) {	/* another process has made it larger */
		if (resize_map(c, 0) && (r = open_env(c)) < 0)
			return r;
		code = mdb_txn_begin(c->env, NULL, flags, ret);
	}
	if (code == MDB_PANIC) {	/* a commit failed, and LMDB gives the environment up; what is on the disk is good */
		r = open_anew(c);
		if (r < 0)
			return r;
		code = mdb_txn_begin(c->env, NULL, flags, ret);
	}
	return code ? blm_catalog_failed(c, code, "beginning a transaction") : 0;
}

static int lock(struct blm_catalog *c, bool write)
{
	int r = c->generation == generation ? 0 : after_fork(c);

	if (r < 0)
		return r;
	if (write && !c->write)
		return blm_fail(-EROFS, "%s: opened for reading only", c->folder);
	return blm_catalog_lock(&c->lock, write);
}

/* LMDB's codes are errno values above 0 and its own from MDB_KEYEXIST to MDB_LAST_ERRCODE; the rest is worded. */
static int worded(const struct blm_catalog *c, int code, const char *doing)
{
	return code > 0 || (code >= MDB_KEYEXIST && code <= MDB_LAST_ERRCODE) ? blm_catalog_failed(c, code, doing) : code;
}

struct use {
	struct blm_catalog *c;
	blm_catalog_step *step;
	void *context;
	const char *doing;
	bool again;
};

static int look_once(void *context)
{
	struct use *u = context;
	MDB_txn *txn;
	int code = begin(u->c, false, &txn);

	if (code < 0)
		return code;
	code = u->step(u->c, txn, u->context);
	code = code == MDB_NOTFOUND ? 0 : worded(u->c, code, u->doing);
	mdb_txn_abort(txn);
	return code;
}

int blm_catalog_look(struct blm_catalog *c, blm_catalog_step *step, void *context, const char *doing)
{
	int code = lock(c, false);

	if (code < 0)
		return code;
	code = guarded(c, look_once, &(struct use){ .c = c, .step = step, .context = context, .doing = doing });
	blm_catalog_unlock(&c->lock);
	return code;
}

static int look_at_pages(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	(void)txn, (void)context;
	return check_pages(c, UINT64_MAX);
}

int blm_catalog_verify(struct blm_catalog *c)
{
	return blm_catalog_look(c, look_at_pages, NULL, "checking");
}

/*
 * LMDB writes new pages also to take an entry away, so on a full disk nothing could be dropped. Behind the end of the file, which does not
 * move, room is kept for them, as far as the file system does that.
 */
static void keep_reserve(struct blm_catalog *c)
{
	enum { RESERVE = 1 << 16 };
	struct stat st;
	int fd;

	if (mdb_env_get_fd(c->env, &fd) == 0 && fstat(fd, &st) == 0)
		fallocate(fd, FALLOC_FL_KEEP_SIZE, st.st_size, RESERVE);
}

static int change_once(void *context)
{
	struct use *u = context;
	MDB_txn *txn;
	MDB_envinfo info;
	int code = begin(u->c, true, &txn);

	if (code < 0)
		return code;
	code = u->step(u->c, txn, u->context);
	if (code == 0) {
		code = mdb_txn_commit(txn);
		if (code == 0)
			keep_reserve(u->c);
	} else {
		mdb_txn_abort(txn);
	}
	if (code == MDB_MAP_FULL) {
		mdb_env_info(u->c->env, &info);
		code = resize_map(u->c, info.me_mapsize * 2);
		u->again = code == 0;
	}
	return worded(u->c, code, "writing");
}

static int transact(struct blm_catalog *c, blm_catalog_step *step, void *context)
{
	struct use u = { .c = c, .step = step, .context = context };
	int code;

	do {
		code = lock(c, true);
		if (code < 0)
			return code;
		u.again = false;
		code = guarded(c, change_once, &u);
		blm_catalog_unlock(&c->lock);
	} while (u.again);
	return code;
}

int blm_catalog_transact(struct blm_catalog *c, blm_catalog_step *step, void *context)
{
	struct blm_held_signal held;
	int r;

	blm_hold_size_signal(&held);
	r = transact(c, step, context);
	blm_let_size_signal(&held);
	return r;
}
