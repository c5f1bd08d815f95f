/*
 * catalog.c - records by name: look-ups, changes, and rebuilding the catalog
 */
#include "bloomery.h"
#include "catalog/env.h"
#include "catalog/record.h"
#include "file/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static MDB_val key_of(const char *name)
{
	return (MDB_val){ .mv_size = strlen(name), .mv_data = (void *)name };
}

static int decode(const struct blm_catalog *c, const char *name, const MDB_val *value,
		  struct blm_entry *ret)
{
	if (blm_record_decode(name, value->mv_data, value->mv_size, ret))
		return 0;
	return blm_fail(-EUCLEAN, "%s: the record of \"%s\" is damaged; repair the store with "
			"blm_store_verify()", c->folder, name);
}

static int absent(const char *name)
{
	return blm_fail(-ENOENT, "%s: there is no filter of that name", name);
}

/* ---- Look-ups ---- */

struct look {
	const char *after;		/* the name, or that before it */
	char found[BLM_FORMAT_NAME];
	struct blm_entry *ret;
	int r;				/* of the record found: 0, 1: damaged, or -ENOENT */
};

static int look_up(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	struct look *look = context;
	struct blm_table filters;
	struct blm_found found;
	int code = blm_snapshot_table(p, "filters", &filters);

	look->r = -ENOENT;
	if (code == 0)
		code = blm_snapshot_get(p, &filters, look->after, strlen(look->after), &found);
	if (code)
		return code;
	look->r = 0;
	return decode(c, look->after, &found.value, look->ret);
}

int blm_catalog_get(struct blm_catalog *c, const char *name, struct blm_entry *ret)
{
	struct look look = { .after = name, .ret = ret, .r = -ENOENT };
	int r = blm_catalog_look(c, look_up, &look, "looking up");

	return r < 0 ? r : look.r == -ENOENT ? absent(name) : look.r;
}

static int look_behind(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	struct look *look = context;
	size_t after = strlen(look->after);
	struct blm_table filters;
	struct blm_found found;
	int code = blm_snapshot_table(p, "filters", &filters);

	look->r = -ENOENT;
	/* no name has a NUL, so with one it is between `after` and the next */
	if (code == 0)
		code = blm_snapshot_seek(p, &filters, look->after, after ? after + 1 : 0, &found);
	if (code)
		return code;
	/* in a damaged table the next can be an earlier one, and a listing would never end */
	if (found.key_bytes >= BLM_FORMAT_NAME || strlen((const char *)found.key) != found.key_bytes
	    || strcmp((const char *)found.key, look->after) <= 0)
		return MDB_CORRUPTED;
	look->r = decode(c, (const char *)found.key, &found.value, look->ret) < 0;
	memcpy(look->found, found.key, found.key_bytes + 1);
	return 0;
}

int blm_catalog_next(struct blm_catalog *c, const char *after, char name[BLM_FORMAT_NAME],
		     struct blm_entry *ret)
{
	struct look look = { .after = after, .ret = ret, .r = -ENOENT };
	int r = blm_catalog_look(c, look_behind, &look, "listing");

	if (r < 0 || look.r < 0)
		return r < 0 ? r : look.r;
	memcpy(name, look.found, sizeof(look.found));	/* `after` may be the same */
	return look.r;
}

/* ---- Changes ---- */

struct put {
	const char *name, *to;
	const struct blm_entry *entry;
	struct blm_entry *replacing;
	const uint8_t *uuid;
	const struct blm_handover *making_way;
	bool over, gone;
	int (*change)(struct blm_entry *entry, void *context);
	void *context;
};

static int write_entry(struct blm_catalog *c, MDB_txn *txn, const char *name,
		       const struct blm_entry *entry, bool over)
{
	uint8_t bytes[BLM_RECORD_BYTES_MAX];
	MDB_val key = key_of(name), value = { .mv_data = bytes,
					      .mv_size = blm_record_encode(name, entry, bytes) };

	return mdb_put(txn, c->filters, &key, &value, over ? 0 : MDB_NOOVERWRITE);
}

static int put(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	struct put *p = context;
	int code = write_entry(c, txn, p->name, p->entry, p->over);

	return code == MDB_KEYEXIST ? blm_fail(-EEXIST, "%s: there is a filter of that name "
					       "already; choose another name", p->name) : code;
}

int blm_catalog_put(struct blm_catalog *c, const char *name, const struct blm_entry *entry,
		    enum blm_put how)
{
	return blm_catalog_transact(c, put, &(struct put){ .name = name, .entry = entry,
							   .over = how == BLM_PUT_OVER });
}

struct put_many {
	size_t count;
	int (*give)(void *context, size_t i, const char **ret_name, struct blm_entry *ret);
	void *context;
};

static int put_many(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	const struct put_many *p = context;
	struct blm_entry entry;
	struct put one = { .entry = &entry };
	int code = 0;

	for (size_t i = 0; code == 0 && i < p->count; i++) {
		code = p->give(p->context, i, &one.name, &entry);
		if (code == 0)
			code = put(c, txn, &one);
	}
	return code;
}

int blm_catalog_put_many(struct blm_catalog *c, size_t count,
			 int (*give)(void *context, size_t i, const char **ret_name,
				     struct blm_entry *ret), void *context)
{
	return blm_catalog_transact(c, put_many, &(struct put_many){ count, give, context });
}

static int replace_entry(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	struct put *p = context;
	MDB_val key = key_of(p->name), value;
	struct blm_entry there;
	int code = mdb_get(txn, c->filters, &key, &value);

	if (code == MDB_NOTFOUND || (code == 0 && blm_record_decode(p->name, value.mv_data,
		value.mv_size, &there)
				     && memcmp(there.constant.uuid, p->making_way->uuid, 16)))
		return blm_fail(-ENOENT, "%s: was renamed, replaced or dropped meanwhile; "
				"try again",
				p->name);
	if (code)
		return code;
	if (blm_record_decode(p->name, value.mv_data, value.mv_size, &there)) {
		p->replacing->labels_bytes = there.labels_bytes;
		memcpy(p->replacing->labels, there.labels, sizeof(there.labels));
	}
	code = blm_catalog_move_list(txn, p->making_way, p->replacing->constant.uuid);
	if (code == 0)
		code = blm_catalog_note_gone(txn, p->making_way->uuid);
	return code ? code : write_entry(c, txn, p->name, p->replacing, true);
}

int blm_catalog_replace(struct blm_catalog *c, const char *name, const struct blm_handover *over,
			struct blm_entry *entry)
{
	return blm_catalog_transact(c, replace_entry, &(struct put){ .name = name,
		.making_way = over, .replacing = entry });
}

static int find_entry(struct blm_catalog *c, MDB_txn *txn, MDB_val *key, const char *name,
		      MDB_val *ret)
{
	int code;

	*key = key_of(name);
	code = mdb_get(txn, c->filters, key, ret);
	return code == MDB_NOTFOUND ? absent(name) : code;
}

static int rename_entry(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	struct put *p = context;
	MDB_val key, value;
	struct blm_entry entry;
	int code = find_entry(c, txn, &key, p->name, &value);

	if (code)
		return code;
	code = decode(c, p->name, &value, &entry);
	if (code == 0 && p->uuid && memcmp(entry.constant.uuid, p->uuid, 16))
		return -EAGAIN;
	if (code == 0)
		code = write_entry(c, txn, p->to, &entry, false);
	if (code == MDB_KEYEXIST)
		return blm_fail(-EEXIST, "%s: there is a filter of that name already; choose "
				"another name", p->to);
	return code ? code : mdb_del(txn, c->filters, &key, NULL);
}

int blm_catalog_rename(struct blm_catalog *c, const char *from, const char *to)
{
	return blm_catalog_transact(c, rename_entry, &(struct put){ .name = from, .to = to });
}

int blm_catalog_rename_this(struct blm_catalog *c, const char *from, const char *to,
			    const uint8_t uuid[16])
{
	return blm_catalog_transact(c, rename_entry,
				    &(struct put){ .name = from, .to = to, .uuid = uuid });
}

static int remove_entry(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	struct put *p = context;
	MDB_val key, value;
	struct blm_entry entry;
	int code = find_entry(c, txn, &key, p->name, &value);

	if (code)
		return code;
	if (p->uuid && blm_record_decode(p->name, value.mv_data, value.mv_size, &entry)
	    && memcmp(entry.constant.uuid, p->uuid, 16))
		return blm_fail(-ENOENT, "%s: another filter has this name now; try again",
				p->name);
	code = p->gone ? blm_catalog_note_gone(txn, p->uuid) : 0;
	return code ? code : mdb_del(txn, c->filters, &key, NULL);
}

int blm_catalog_drop(struct blm_catalog *c, const char *name, const uint8_t uuid[16])
{
	return blm_catalog_transact(c, remove_entry,
				    &(struct put){ .name = name, .uuid = uuid, .gone = true });
}

int blm_catalog_remove(struct blm_catalog *c, const char *name, const uint8_t uuid[16])
{
	return blm_catalog_transact(c, remove_entry, &(struct put){ .name = name, .uuid = uuid });
}

static int change_entry(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	struct put *p = context;
	MDB_val key = key_of(p->name), value;
	struct blm_entry entry;
	int code = mdb_get(txn, c->filters, &key, &value);

	if (code == MDB_NOTFOUND)
		return absent(p->name);
	if (code)
		return code;
	code = decode(c, p->name, &value, &entry);
	if (code == 0)
		code = p->change(&entry, p->context);
	return code == 1 ? write_entry(c, txn, p->name, &entry, true) : code;
}

int blm_catalog_change(struct blm_catalog *c, const char *name,
		       int (*change)(struct blm_entry *entry, void *context), void *context)
{
	return blm_catalog_transact(c, change_entry, &(struct put){ .name = name, .change = change,
		.context = context });
}

/* ---- Rebuilding ---- */

static int sync_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = fd < 0
		|| fsync(fd) < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return code;
}

/*
 * LMDB follows a link and takes any file that is there. So the file is created here, and LMDB opens
 * it by its descriptor, where there is a /proc.
 */
static int open_fresh(MDB_env *env, const char *fresh)
{
	char self[40];
	int fd, code;

	if (unlink(fresh) < 0 && errno != ENOENT)
		return errno;
	fd = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return errno;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	code = mdb_env_open(env, access(self, F_OK) == 0 ? self : fresh,
			    MDB_NOLOCK | MDB_NOSUBDIR, 0644);
	close(fd);
	return code;
}

static int fill(MDB_env *env, const struct blm_new_entry *entries, size_t count)
{
	uint8_t bytes[BLM_RECORD_BYTES_MAX];
	MDB_txn *txn = NULL;
	MDB_dbi filters;
	int code = mdb_txn_begin(env, NULL, 0, &txn);

	if (code == 0)
		code = mdb_dbi_open(txn, "filters", MDB_CREATE, &filters);
	for (size_t i = 0; code == 0 && i < count; i++) {
		MDB_val key = key_of(entries[i].name);
		MDB_val value = { .mv_data = bytes, .mv_size = blm_record_encode(entries[i].name,
			&entries[i].entry, bytes) };

		code = mdb_put(txn, filters, &key, &value, 0);
	}
	if (code == 0)
		return mdb_txn_commit(txn);
	if (txn)
		mdb_txn_abort(txn);
	return code;
}

static int make(const char *folder, const struct blm_new_entry *entries, size_t count)
{
	char fresh[4096], path[4096];
	MDB_env *env = NULL;
	int code;

	if ((size_t)snprintf(fresh, sizeof(fresh), "%s/data.mdb.new", folder) >= sizeof(fresh))
		return blm_fail(-ENAMETOOLONG, "%s: too long for a path", folder);
	snprintf(path, sizeof(path), "%s/data.mdb", folder);
	code = mdb_env_create(&env);
	if (code == 0) {
		mdb_env_set_maxdbs(env, 8);
		mdb_env_set_mapsize(env, BLM_CATALOG_MAP + count * 4 * BLM_RECORD_BYTES_MAX);
		code = open_fresh(env, fresh);
	}
	if (code == 0)
		code = fill(env, entries, count);
	if (env)
		mdb_env_close(env);
	if (code == 0 && rename(fresh, path) < 0)
		code = errno;
	if (code == 0)
		code = sync_folder(folder);
	if (code) {
		unlink(fresh);
		return blm_fail(code > 0 ? -code : -EIO, "%s: cannot make the catalog anew: %s",
				fresh, blm_catalog_reason(code));
	}
	return 0;
}

int blm_catalog_make(const char *folder, const struct blm_new_entry *entries, size_t count)
{
	struct blm_held_signal held;
	int r;

	blm_hold_size_signal(&held);
	r = make(folder, entries, count);
	blm_let_size_signal(&held);
	return r;
}
