/*
 * tombstones.c - is a uuid in the catalog, or was it removed?
 *
 * The transaction that removes a filter, to replace or to drop it, notes its uuid in a table of its
 * own. So for a file without a record the catalog says for certain whether that step was taken; an
 * older catalog, or one that lost a record, has no such note. The filter's allowlist is removed
 * with it. Once the file is deleted, and the deletion is on the disk, the note is not needed any
 * more, and is deleted with others.
 */
#include "catalog/env.h"
#include "catalog/record.h"

#include <limits.h>

/* Only for the transaction: LMDB keeps it open after a commit, and gives the same one. */
static int open_gone(MDB_txn *txn, unsigned flags, MDB_dbi *ret)
{
	return mdb_dbi_open(txn, "gone", flags, ret);
}

int blm_catalog_note_gone(MDB_txn *txn, const uint8_t uuid[16])
{
	MDB_val key = { .mv_size = 16, .mv_data = (void *)uuid }, value = { .mv_data = (void *)"" };
	MDB_dbi gone;
	int code = open_gone(txn, MDB_CREATE, &gone);

	if (code == 0)
		code = mdb_put(txn, gone, &key, &value, 0);
	return code ? code : blm_catalog_end_list(txn, uuid);
}

struct of_uuid {
	const uint8_t *uuid;
	bool found;
};

static int look_for_gone(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	struct of_uuid *of = context;
	struct blm_table gone;
	struct blm_found found;
	int code = blm_snapshot_table(p, "gone", &gone);

	(void)c;
	if (code == 0)
		code = blm_snapshot_get(p, &gone, of->uuid, 16, &found);
	of->found = code == 0;
	return code;
}

int blm_catalog_is_gone(struct blm_catalog *c, const uint8_t uuid[16])
{
	struct of_uuid of = { .uuid = uuid };
	int r = blm_catalog_look(c, look_for_gone, &of, "looking up");

	return r < 0 ? r : of.found;
}

static int count_gone(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	struct blm_table gone = { .entries = 0 };
	int code = blm_snapshot_table(p, "gone", &gone);

	(void)c;
	*(uint64_t *)context = gone.entries;
	return code;
}

int blm_catalog_count_gone(struct blm_catalog *c)
{
	uint64_t count = 0;
	int r = blm_catalog_look(c, count_gone, &count, "counting");

	return r < 0 ? r : count < INT_MAX ? (int)count : INT_MAX;
}

struct forget {
	bool (*is_there)(void *context, const uint8_t uuid[16]);
	void *context;
};

static int forget_gone(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	const struct forget *forget = context;
	MDB_cursor *cursor;
	MDB_val key, value;
	MDB_dbi gone;
	int code = open_gone(txn, 0, &gone);

	if (code)
		return code == MDB_NOTFOUND ? 0 : code;
	code = mdb_cursor_open(txn, gone, &cursor);
	if (code)
		return code;
	while (code == 0 && (code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0)
		if (key.mv_size != 16 || !forget->is_there(forget->context, key.mv_data))
			code = mdb_cursor_del(cursor, 0);
	mdb_cursor_close(cursor);
	return code == MDB_NOTFOUND ? 0 : code;
}

int blm_catalog_forget_gone(struct blm_catalog *c,
			    bool (*is_there)(void *context, const uint8_t uuid[16]), void *context)
{
	return blm_catalog_transact(c, forget_gone,
				    &(struct forget){ .is_there = is_there, .context = context });
}

static int look_for_record(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	struct of_uuid *of = context;
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct blm_table filters;
	struct blm_found at;
	int code = entry ? blm_snapshot_table(p, "filters", &filters) : ENOMEM;

	(void)c;
	of->found = false;
	if (code == 0)
		code = blm_snapshot_seek(p, &filters, "", 0, &at);
	for (; code == 0 && !of->found; code = of->found ? 0 : blm_snapshot_next(p, &filters, &at))
		if (blm_record_decode((const char *)at.key, at.value.mv_data, at.value.mv_size,
				      entry))
			of->found = !memcmp(entry->constant.uuid, of->uuid, 16);
	free(entry);
	return code;
}

/*
 * In one snapshot: from one look-up to the next it could be renamed to a name that was passed
 * already.
 */
int blm_catalog_knows(struct blm_catalog *c, const uint8_t uuid[16])
{
	struct of_uuid of = { .uuid = uuid };
	int r = blm_catalog_look(c, look_for_record, &of, "listing");

	return r < 0 ? r : of.found;
}
