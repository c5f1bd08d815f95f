/* catalog.c - names to what filters are, in LMDB */
#include "catalog.h"
#include "bloomery.h"
#include "catalog_lock.h"
#include "catalog_record.h"

#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAP_BYTES = 64 << 20 };	/* of address space, to begin with; doubled when the catalog outgrows it */

struct blm_catalog {
	struct blm_catalog *next;	/* all that are open in this process */
	unsigned references;
	unsigned generation;		/* of the process: counted up in a forked child */
	dev_t device;
	ino_t inode;			/* of data.mdb */
	char *folder;			/* the store's catalog/ */
	bool write;
	MDB_env *env;
	MDB_dbi filters;
	struct blm_catalog_lock lock;
};

static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct blm_catalog *all;
static unsigned generation;

/* ---- Errors ---- */

static int failed(const struct blm_catalog *c, int code, const char *doing)
{
	switch (code) {
	case MDB_CORRUPTED: case MDB_PAGE_NOTFOUND: case MDB_INVALID: case MDB_VERSION_MISMATCH: case MDB_PANIC:
		return blm_fail(-EUCLEAN, "%s: the catalog is damaged, or another machine's (%s: %s); "
				"`bloomery verify --repair` makes it anew from the filters", c->folder, doing, mdb_strerror(code));
	case ENOMEM:
		return blm_fail(-ENOMEM, "%s: out of memory", c->folder);
	default:
		return blm_fail(code > 0 ? -code : -EIO, "%s: %s: %s", c->folder, doing, mdb_strerror(code));
	}
}

/* ---- The environment ---- */

/* LMDB trusts its file: a page that it counts on and the file lacks is a SIGBUS. */
static int check_size(struct blm_catalog *c)
{
	struct stat st;
	MDB_envinfo info;
	MDB_stat stat;
	int fd;

	mdb_env_info(c->env, &info);
	mdb_env_stat(c->env, &stat);
	if (mdb_env_get_fd(c->env, &fd) || fstat(fd, &st) < 0)
		return blm_fail(-EIO, "%s/data.mdb: cannot be looked at", c->folder);
	if ((info.me_last_pgno + 1) > (uint64_t)st.st_size / stat.ms_psize)
		return failed(c, MDB_CORRUPTED, "data.mdb was cut");
	c->device = st.st_dev;
	c->inode = st.st_ino;
	return 0;
}

static int open_table(struct blm_catalog *c)
{
	MDB_txn *txn;
	int code = mdb_txn_begin(c->env, NULL, MDB_RDONLY, &txn);

	if (code)
		return failed(c, code, "reading");
	code = mdb_dbi_open(txn, "filters", 0, &c->filters);
	if (code) {
		mdb_txn_abort(txn);
		return failed(c, code == MDB_NOTFOUND ? MDB_INVALID : code, "no table of filters");
	}
	code = mdb_txn_commit(txn);
	return code ? failed(c, code, "reading") : 0;
}

/*
 * MDB_NOTLS and MDB_NOLOCK: see catalog.h. An environment that may be written serves readers as well, so it is opened so
 * wherever the file allows it; that alone changes nothing.
 */
static int open_env(struct blm_catalog *c)
{
	const unsigned flags = MDB_NOLOCK | MDB_NOTLS;
	int code = mdb_env_create(&c->env), r;

	if (code)
		return failed(c, code, "opening");
	mdb_env_set_maxdbs(c->env, 8);
	mdb_env_set_mapsize(c->env, MAP_BYTES);
	code = mdb_env_open(c->env, c->folder, flags | (c->write ? 0 : MDB_RDONLY), 0644);
	r = code ? failed(c, code, "opening") : check_size(c);
	if (r == 0)
		r = open_table(c);
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
	pthread_atfork(before_fork, in_parent, in_child);
}

/* Is there a catalog? LMDB would make an empty one in the place of a lost one. */
static int look(const char *folder, bool write, struct stat *ret, bool *ret_writable)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/data.mdb", folder) >= sizeof(path))
		return blm_fail(-ENAMETOOLONG, "%s: too long for a path", folder);
	*ret_writable = access(path, W_OK) == 0;
	if (stat(path, ret) == 0 && ret->st_size > 0) {
		if (write && !*ret_writable)
			return blm_fail(-errno, "%s: the catalog cannot be written: %s", path, strerror(errno));
		return 0;
	}
	return blm_fail(-EUCLEAN, "%s: the catalog is lost; `bloomery verify --repair` makes it anew from the filters", path);
}

static struct blm_catalog *find_open(const struct stat *st, bool write)
{
	for (struct blm_catalog *c = all; c; c = c->next)
		if (c->inode == st->st_ino && c->device == st->st_dev && (c->write || !write))
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

/* A repair puts a new data.mdb in the place of the old one; whoever still has that open goes over, under the lock. */
static int follow_repair(struct blm_catalog *c)
{
	char path[4096];
	struct stat st;
	MDB_env *old = c->env;
	dev_t device = c->device;
	ino_t inode = c->inode;
	int r;

	snprintf(path, sizeof(path), "%s/data.mdb", c->folder);
	if (stat(path, &st) < 0)
		return blm_fail(-EUCLEAN, "%s: the catalog is lost; `bloomery verify --repair` makes it anew from the filters", path);
	if (st.st_ino == c->inode && st.st_dev == c->device)
		return 0;
	r = open_env(c);
	if (r < 0) {
		c->env = old;
		c->device = device;
		c->inode = inode;
	} else {
		mdb_env_close(old);
	}
	return r;
}

static int begin(struct blm_catalog *c, bool write, MDB_txn **ret)
{
	int code, r = c->generation == generation ? 0 : after_fork(c);

	if (r < 0)
		return r;
	if (write && !c->write)
		return blm_fail(-EROFS, "%s: opened for reading only", c->folder);
	r = blm_catalog_lock(&c->lock, write);
	if (r < 0)
		return r;
	r = follow_repair(c);
	if (r < 0) {
		blm_catalog_unlock(&c->lock);
		return r;
	}
	code = mdb_txn_begin(c->env, NULL, write ? 0 : MDB_RDONLY, ret);
	if (code == MDB_MAP_RESIZED) {	/* another process has made it larger */
		mdb_env_set_mapsize(c->env, 0);
		code = mdb_txn_begin(c->env, NULL, write ? 0 : MDB_RDONLY, ret);
	}
	if (code) {
		blm_catalog_unlock(&c->lock);
		return failed(c, code, "beginning a transaction");
	}
	return 0;
}

static void end_reading(struct blm_catalog *c, MDB_txn *txn)
{
	mdb_txn_abort(txn);
	blm_catalog_unlock(&c->lock);
}

/*
 * Run change() in a transaction and commit it; where the map is too small, enlarge it and begin again. change() returns 0 or
 * an LMDB code, or a negative errno that it has worded.
 */
static int transact(struct blm_catalog *c, int (*change)(struct blm_catalog *, MDB_txn *, void *), void *context)
{
	for (;;) {
		MDB_txn *txn;
		MDB_envinfo info;
		int code = begin(c, true, &txn);

		if (code < 0)
			return code;
		code = change(c, txn, context);
		if (code == 0) {
			code = mdb_txn_commit(txn);
		} else {
			mdb_txn_abort(txn);
		}
		if (code == MDB_MAP_FULL) {
			mdb_env_info(c->env, &info);
			code = mdb_env_set_mapsize(c->env, info.me_mapsize * 2);
			blm_catalog_unlock(&c->lock);
			if (code == 0)
				continue;
		} else {
			blm_catalog_unlock(&c->lock);
		}
		/* LMDB's codes are errno values above 0 and its own from MDB_KEYEXIST to MDB_LAST_ERRCODE; the rest is worded */
		return code > 0 || (code >= MDB_KEYEXIST && code <= MDB_LAST_ERRCODE) ? failed(c, code, "writing") : code;
	}
}

static MDB_val key_of(const char *name)
{
	return (MDB_val){ .mv_size = strlen(name), .mv_data = (void *)name };
}

static int decode(const struct blm_catalog *c, const char *name, const MDB_val *value, struct blm_entry *ret)
{
	if (blm_record_decode(value->mv_data, value->mv_size, ret))
		return 0;
	return blm_fail(-EUCLEAN, "%s: the record of \"%s\" is damaged; `bloomery verify --repair` makes it anew", c->folder, name);
}

/* ---- Look-ups ---- */

int blm_catalog_get(struct blm_catalog *c, const char *name, struct blm_entry *ret)
{
	MDB_val key = key_of(name), value;
	MDB_txn *txn;
	int r = begin(c, false, &txn), code;

	if (r < 0)
		return r;
	code = mdb_get(txn, c->filters, &key, &value);
	r = code == 0 ? decode(c, name, &value, ret) : code == MDB_NOTFOUND ? -ENOENT : failed(c, code, "looking up");
	end_reading(c, txn);
	return r;
}

int blm_catalog_next(struct blm_catalog *c, const char *after, char name[BLM_FORMAT_NAME], struct blm_entry *ret)
{
	char least[BLM_FORMAT_NAME + 1];
	MDB_val key = { .mv_data = least }, value;
	MDB_cursor *cursor = NULL;
	MDB_txn *txn;
	int r = begin(c, false, &txn), code;

	if (r < 0)
		return r;
	key.mv_size = strlen(after) + 1;	/* no name has a NUL, so this is between `after` and the next */
	memcpy(least, after, key.mv_size);
	code = mdb_cursor_open(txn, c->filters, &cursor);
	if (code == 0)
		code = mdb_cursor_get(cursor, &key, &value, *after ? MDB_SET_RANGE : MDB_FIRST);
	if (code == MDB_NOTFOUND) {
		r = -ENOENT;
	} else if (code || key.mv_size >= BLM_FORMAT_NAME) {
		r = failed(c, code ? code : MDB_CORRUPTED, "listing");
	} else {
		char found[BLM_FORMAT_NAME] = "";

		memcpy(found, key.mv_data, key.mv_size);
		/* in a damaged table the next can be an earlier one, and a listing would never end */
		if (strlen(found) != key.mv_size || strcmp(found, least) <= 0) {
			r = failed(c, MDB_CORRUPTED, "listing");
		} else {
			memcpy(name, found, sizeof(found));
			r = decode(c, name, &value, ret) < 0;
		}
	}
	if (cursor)
		mdb_cursor_close(cursor);
	end_reading(c, txn);
	return r;
}

/* ---- Changes ---- */

struct put {
	const char *name, *to;
	const struct blm_entry *entry;
	struct blm_entry *replacing;
	const uint8_t *uuid;
	bool over;
	int (*change)(struct blm_entry *entry, void *context);
	void *context;
};

static int write_entry(struct blm_catalog *c, MDB_txn *txn, const char *name, const struct blm_entry *entry, bool over)
{
	uint8_t bytes[BLM_RECORD_BYTES_MAX];
	MDB_val key = key_of(name), value = { .mv_data = bytes, .mv_size = blm_record_encode(entry, bytes) };

	return mdb_put(txn, c->filters, &key, &value, over ? 0 : MDB_NOOVERWRITE);
}

static int put(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	struct put *p = context;
	int code = write_entry(c, txn, p->name, p->entry, p->over);

	return code == MDB_KEYEXIST ? blm_fail(-EEXIST, "%s: there is a filter of that name already", p->name) : code;
}

int blm_catalog_put(struct blm_catalog *c, const char *name, const struct blm_entry *entry, enum blm_put how)
{
	return transact(c, put, &(struct put){ .name = name, .entry = entry, .over = how == BLM_PUT_OVER });
}

static int replace_entry(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	struct put *p = context;
	MDB_val key = key_of(p->name), value;
	struct blm_entry there;
	int code = mdb_get(txn, c->filters, &key, &value);

	if (code == MDB_NOTFOUND || (code == 0 && blm_record_decode(value.mv_data, value.mv_size, &there)
				     && memcmp(there.constant.uuid, p->uuid, 16)))
		return blm_fail(-ENOENT, "%s: was renamed, replaced or dropped in the meantime", p->name);
	if (code)
		return code;
	if (blm_record_decode(value.mv_data, value.mv_size, &there)) {
		p->replacing->labels_bytes = there.labels_bytes;
		memcpy(p->replacing->labels, there.labels, sizeof(there.labels));
	}
	return write_entry(c, txn, p->name, p->replacing, true);
}

int blm_catalog_replace(struct blm_catalog *c, const char *name, const uint8_t old[16], struct blm_entry *entry)
{
	return transact(c, replace_entry, &(struct put){ .name = name, .uuid = old, .replacing = entry });
}

static int rename_entry(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	struct put *p = context;
	MDB_val key = key_of(p->name), to = key_of(p->to), value, copy;
	uint8_t bytes[BLM_RECORD_BYTES_MAX];
	int code = mdb_get(txn, c->filters, &key, &value);

	if (code == MDB_NOTFOUND)
		return blm_fail(-ENOENT, "%s: there is no filter of that name", p->name);
	if (code)
		return code;
	if (value.mv_size > sizeof(bytes))
		return MDB_CORRUPTED;
	memcpy(bytes, value.mv_data, value.mv_size);	/* LMDB's memory is good until the first change only */
	copy = (MDB_val){ .mv_data = bytes, .mv_size = value.mv_size };
	code = mdb_put(txn, c->filters, &to, &copy, MDB_NOOVERWRITE);
	if (code == MDB_KEYEXIST)
		return blm_fail(-EEXIST, "%s: there is a filter of that name already", p->to);
	return code ? code : mdb_del(txn, c->filters, &key, NULL);
}

int blm_catalog_rename(struct blm_catalog *c, const char *from, const char *to)
{
	return transact(c, rename_entry, &(struct put){ .name = from, .to = to });
}

static int remove_entry(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	struct put *p = context;
	MDB_val key = key_of(p->name), value;
	struct blm_entry entry;
	int code = mdb_get(txn, c->filters, &key, &value);

	if (code == MDB_NOTFOUND)
		return blm_fail(-ENOENT, "%s: there is no filter of that name", p->name);
	if (code)
		return code;
	if (p->uuid && blm_record_decode(value.mv_data, value.mv_size, &entry) && memcmp(entry.constant.uuid, p->uuid, 16))
		return blm_fail(-ENOENT, "%s: is another filter by now", p->name);
	return mdb_del(txn, c->filters, &key, NULL);
}

int blm_catalog_remove(struct blm_catalog *c, const char *name, const uint8_t uuid[16])
{
	return transact(c, remove_entry, &(struct put){ .name = name, .uuid = uuid });
}

static int change_entry(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	struct put *p = context;
	MDB_val key = key_of(p->name), value;
	struct blm_entry entry;
	int code = mdb_get(txn, c->filters, &key, &value);

	if (code == MDB_NOTFOUND)
		return -ENOENT;
	if (code)
		return code;
	code = decode(c, p->name, &value, &entry);
	if (code == 0)
		code = p->change(&entry, p->context);
	return code == 1 ? write_entry(c, txn, p->name, &entry, true) : code;
}

int blm_catalog_change(struct blm_catalog *c, const char *name, int (*change)(struct blm_entry *entry, void *context), void *context)
{
	return transact(c, change_entry, &(struct put){ .name = name, .change = change, .context = context });
}

/* ---- Making it anew ---- */

static int sync_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = fd < 0 || fsync(fd) < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return code;
}

int blm_catalog_make(const char *folder, const struct blm_new_entry *entries, size_t count)
{
	char fresh[4096], path[4096];
	MDB_env *env = NULL;
	MDB_txn *txn = NULL;
	MDB_dbi filters;
	uint8_t bytes[BLM_RECORD_BYTES_MAX];
	int code;

	if ((size_t)snprintf(fresh, sizeof(fresh), "%s/data.mdb.new", folder) >= sizeof(fresh))
		return blm_fail(-ENAMETOOLONG, "%s: too long for a path", folder);
	snprintf(path, sizeof(path), "%s/data.mdb", folder);
	unlink(fresh);
	code = mdb_env_create(&env);
	if (code == 0) {
		mdb_env_set_maxdbs(env, 8);
		mdb_env_set_mapsize(env, MAP_BYTES + count * 4 * sizeof(bytes));
		code = mdb_env_open(env, fresh, MDB_NOLOCK | MDB_NOSUBDIR, 0644);
	}
	if (code == 0)
		code = mdb_txn_begin(env, NULL, 0, &txn);
	if (code == 0)
		code = mdb_dbi_open(txn, "filters", MDB_CREATE, &filters);
	for (size_t i = 0; code == 0 && i < count; i++) {
		MDB_val key = key_of(entries[i].name);
		MDB_val value = { .mv_data = bytes, .mv_size = blm_record_encode(&entries[i].entry, bytes) };

		code = mdb_put(txn, filters, &key, &value, 0);
	}
	if (code == 0)
		code = mdb_txn_commit(txn);
	else if (txn)
		mdb_txn_abort(txn);
	if (env)
		mdb_env_close(env);
	if (code == 0 && rename(fresh, path) < 0)
		code = errno;
	if (code == 0)
		code = sync_folder(folder);
	if (code) {
		unlink(fresh);
		return blm_fail(code > 0 ? -code : -EIO, "%s: cannot make the catalog anew: %s", folder, mdb_strerror(code));
	}
	return 0;
}
