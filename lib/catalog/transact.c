/* transact.c - transactions on the catalog: under its lock, on the data.mdb that is there now, and in a map that is large enough */
#include "catalog/env.h"
#include "file/system.h"

#include <fcntl.h>
#include <stdio.h>

/*
 * Another environment in the place of the one that is open, under the lock. Where it does not open there is none until the next
 * transaction: the old one may have lost its map.
 */
static int open_anew(struct blm_catalog *c)
{
	mdb_env_close(c->env);
	c->env = NULL;
	return blm_catalog_open_env(c);
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
	return blm_catalog_walk(c, UINT64_MAX);
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
		return blm_catalog_lost(path, errno);
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
		if (resize_map(c, 0) && (r = blm_catalog_open_env(c)) < 0)
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
	int r = blm_catalog_after_fork(c);

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
	code = blm_catalog_guarded(c, look_once, &(struct use){ .c = c, .step = step, .context = context, .doing = doing });
	blm_catalog_unlock(&c->lock);
	return code;
}

static int look_at_pages(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	(void)txn, (void)context;
	return blm_catalog_walk(c, UINT64_MAX);
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
		code = blm_catalog_guarded(c, change_once, &u);
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
