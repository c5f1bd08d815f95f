/*
 * txn.c - look-ups in a snapshot of the catalog, which wait for no writer, and transactions:
 * under its lock, on the data.mdb that is there now, found whole, and in a map that is large enough
 */
#include "catalog/env.h"
#include "file/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Replaces the open environment by another one, under the lock. If that does not open there is none
 * until the next transaction: the old one may have lost its map.
 */
static int open_anew(struct blm_catalog *c)
{
	mdb_env_close(c->env);
	c->env = NULL;
	return blm_catalog_open_env(c);
}

/*
 * Gives the map another size; 0: the size of the file. If the system has no addresses for that,
 * LMDB has no map.
 */
static int resize_map(struct blm_catalog *c, size_t bytes)
{
	int code = mdb_env_set_mapsize(c->env, bytes);

	if (code) {
		mdb_env_close(c->env);
		c->env = NULL;
	}
	return code;
}

/* ---- Is the file whole? ---- */

static int open_data(const struct blm_catalog *c, struct stat *ret)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/data.mdb", c->folder);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, ret) < 0) {
		int err = errno;

		if (fd >= 0)
			close(fd);
		return blm_catalog_lost(path, err);
	}
	return fd;
}

static struct blm_walked walked_of(const struct stat *st, const struct blm_snapshot *p)
{
	struct blm_walked walked;

	memset(&walked, 0, sizeof(walked));
	walked.device = st->st_dev;
	walked.inode = st->st_ino;
	walked.bytes = (uint64_t)st->st_size;
	walked.changed = st->st_ctim;
	walked.meta = p->meta;
	return walked;
}

/*
 * LMDB trusts its file, so all of it is walked before LMDB reads it, unless it is as our own last
 * commit left it. ret: the current state.
 */
static int walk_changed(struct blm_catalog *c, struct blm_walked *ret)
{
	struct blm_snapshot p;
	struct stat st;
	int code, r, fd = open_data(c, &st);

	if (fd < 0)
		return fd;
	code = blm_snapshot_begin(&p, fd);
	*ret = walked_of(&st, &p);
	if (code == 0 && memcmp(ret, &c->walked, sizeof(*ret)))
		code = blm_snapshot_walk(&p, UINT64_MAX);
	r = code ? blm_catalog_pages_failed(c, &p, code, "checking") : 0;
	blm_snapshot_end(&p);
	close(fd);
	return r;
}

static void note_commit(struct blm_catalog *c)
{
	struct blm_snapshot p;
	struct stat st;
	int fd = open_data(c, &st);

	if (fd < 0)
		return;
	if (blm_snapshot_begin(&p, fd) == 0)
		c->walked = walked_of(&st, &p);
	blm_snapshot_end(&p);
	close(fd);
}

/* ---- Look-ups ---- */

/*
 * LMDB's codes are errno values above 0 and its own from MDB_KEYEXIST to MDB_LAST_ERRCODE; the rest
 * is worded.
 */
static int worded(const struct blm_catalog *c, int code, const char *doing)
{
	return code > 0 || (code >= MDB_KEYEXIST && code <= MDB_LAST_ERRCODE)
		? blm_catalog_failed(c, code, doing) : code;
}

/* Meta pages that are no good are damaged, unless one was being written. */
static bool stays_so(const struct blm_snapshot *p, int code)
{
	struct blm_snapshot again;
	int now = blm_snapshot_begin(&again, p->fd);
	bool same = now == code && again.wrong == p->wrong && again.where == p->where;

	blm_snapshot_end(&again);
	return same;
}

static int look_once(struct blm_catalog *c, blm_catalog_reading *step, void *context,
		     const char *doing, bool *ret_held)
{
	struct blm_snapshot p;
	struct stat st;
	int code, fd = open_data(c, &st);

	*ret_held = fd < 0;
	if (fd < 0)
		return fd;
	code = blm_snapshot_begin(&p, fd);
	if (code) {
		*ret_held = stays_so(&p, code);
	} else {
		code = step(c, &p, context);
		*ret_held = blm_snapshot_hold(&p);
	}
	code = code == 0 || code == MDB_NOTFOUND ? 0 : blm_catalog_pages_failed(c, &p, code, doing);
	blm_snapshot_end(&p);
	close(fd);
	return code;
}

static int lock(struct blm_catalog *c, bool write)
{
	int r;

	if (write && !c->write)
		return blm_fail(-EROFS, "%s: opened for reading only", c->folder);
	r = blm_catalog_ready(c);
	return r < 0 ? r : blm_catalog_lock(&c->lock, write);
}

/*
 * A snapshot lasts for two commits (lmdb_snapshot.h), which is long for a look-up. A long listing
 * may never finish while a fast writer is at work: then it excludes writers. Without commits, for
 * example beside a stopped writer, every first try succeeds.
 */
int blm_catalog_look(struct blm_catalog *c, blm_catalog_reading *step, void *context,
		     const char *doing)
{
	enum { TRIES = 64 };
	bool held;
	int r;

	for (int i = 0; i < TRIES; i++) {
		r = look_once(c, step, context, doing, &held);
		if (held)
			return r;
	}
	r = lock(c, false);
	if (r < 0)
		return r;
	r = look_once(c, step, context, doing, &held);
	blm_catalog_unlock(&c->lock);
	return r;
}

static int look_at_pages(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	(void)c, (void)context;
	return blm_snapshot_walk(p, UINT64_MAX);
}

int blm_catalog_verify(struct blm_catalog *c)
{
	return blm_catalog_look(c, look_at_pages, NULL, "checking");
}

/* ---- Transactions ---- */

/*
 * An environment for the current data.mdb: a repair replaces the file. A file that is shorter or
 * older than before was copied over the old one.
 */
static int follow(struct blm_catalog *c)
{
	struct blm_walked now, before = c->walked;
	int r = walk_changed(c, &now);

	if (r < 0)
		return r;
	c->walked = now;
	if (c->env && now.device == before.device && now.inode == before.inode
	    && now.bytes >= before.bytes && now.meta.txn >= before.meta.txn)
		return 0;
	return open_anew(c);
}

static int begin(struct blm_catalog *c, MDB_txn **ret)
{
	int code, r = follow(c);

	if (r < 0)
		return r;
	code = mdb_txn_begin(c->env, NULL, 0, ret);
	if (code == MDB_MAP_RESIZED) {	/* another process has made it larger */
		if (resize_map(c, 0) && (r = blm_catalog_open_env(c)) < 0)
			return r;
		code = mdb_txn_begin(c->env, NULL, 0, ret);
	}
	/* a commit failed, and LMDB gives the environment up; the data on the disk are good */
	if (code == MDB_PANIC) {
		r = open_anew(c);
		if (r < 0)
			return r;
		code = mdb_txn_begin(c->env, NULL, 0, ret);
	}
	return code ? blm_catalog_failed(c, code, "beginning a transaction") : 0;
}

struct use {
	struct blm_catalog *c;
	blm_catalog_step *step;
	void *context;
	bool again;
};

/*
 * LMDB writes new pages even to remove an entry, so on a full disk no filter could be dropped. So
 * space for such pages is allocated after the end of the file, without moving the end, if the file
 * system supports that.
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
	int code = begin(u->c, &txn);

	if (code < 0)
		return code;
	code = u->step(u->c, txn, u->context);
	if (code == 0) {
		code = mdb_txn_commit(txn);
		if (code == 0) {
			keep_reserve(u->c);
			note_commit(u->c);
		}
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
