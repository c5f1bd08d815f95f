/*
 * listing.c - bloomery_ls([pattern]): a table of the filters of the store
 */
#include "arguments.h"

#include <errno.h>
#include <string.h>

enum column {
	COLUMN_NAME, COLUMN_KIND, COLUMN_KEYS, COLUMN_CAPACITY, COLUMN_RATE, COLUMN_RATE_NOW,
	COLUMN_BYTES, COLUMN_SEALED, COLUMN_CREATED, COLUMN_ERROR, COLUMN_PATTERN,
};

static const char columns[] = "CREATE TABLE bloomery_ls(name TEXT, kind TEXT, keys INTEGER, "
	"capacity INTEGER, rate REAL, rate_now REAL, bytes INTEGER, sealed INTEGER, "
	"created INTEGER, error TEXT, pattern TEXT HIDDEN)";

struct row {
	char name[BLM_NAME_MAX + 1];
	char *kind;		/* NULL: the record is damaged, and only its name is known */
	char *error;
	uint64_t keys, capacity, bytes, created;
	double rate, rate_now;
	bool sealed;
};

struct table {
	sqlite3_vtab base;
	struct connection *c;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct blm_store *store;
	struct row *rows;
	size_t count, room, at;
};

/* ---- The table ---- */

static int connect_table(sqlite3 *db, void *user, int count, const char *const *words,
			 sqlite3_vtab **ret, char **ret_message)
{
	int code = sqlite3_declare_vtab(db, columns);
	struct table *t;

	if (code != SQLITE_OK)
		return code;
	t = sqlite3_malloc(sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	memset(t, 0, sizeof(*t));
	t->c = user;
	*ret = &t->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *base)
{
	sqlite3_free(base);
	return SQLITE_OK;
}

/* The pattern is what stands in the parentheses, or is compared with the hidden column. */
static int choose(sqlite3_vtab *base, sqlite3_index_info *info)
{
	int pattern = -1;

	for (int i = 0; i < info->nConstraint; i++) {
		if (info->aConstraint[i].iColumn != COLUMN_PATTERN
		    || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!info->aConstraint[i].usable)
			return SQLITE_CONSTRAINT;
		pattern = i;
	}
	info->estimatedCost = 1000;
	if (pattern < 0)
		return SQLITE_OK;
	info->aConstraintUsage[pattern].argvIndex = 1;
	info->aConstraintUsage[pattern].omit = 1;
	info->idxNum = 1;
	return SQLITE_OK;
}

/* ---- Rows ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct cursor *k = sqlite3_malloc(sizeof(*k));

	if (!k)
		return SQLITE_NOMEM;
	memset(k, 0, sizeof(*k));
	*ret = &k->base;
	return SQLITE_OK;
}

static void drop_rows(struct cursor *k)
{
	for (size_t i = 0; i < k->count; i++) {
		sqlite3_free(k->rows[i].kind);
		sqlite3_free(k->rows[i].error);
	}
	sqlite3_free(k->rows);
	k->rows = NULL;
	k->count = k->room = k->at = 0;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	drop_rows((struct cursor *)base);
	sqlite3_free(base);
	return SQLITE_OK;
}

static int fill_known(struct row *row, const struct blm_info *info)
{
	row->kind = sqlite3_mprintf("%s", info->kind);
	row->keys = info->keys;
	row->capacity = info->capacity;
	row->rate = info->rate;
	row->rate_now = info->rate_at_keys;
	row->bytes = info->bytes;
	row->sealed = info->sealed;
	row->created = info->created;
	return row->kind ? 0 : -ENOMEM;
}

/* Brings a copy of what the catalog says up to date by the file, unless the file cannot be read. */
static int refresh_row(struct cursor *k, struct row *row, const struct blm_info *known, int *err)
{
	struct blm_info *info = sqlite3_malloc64(known->size);
	int r;

	if (!info)
		return -ENOMEM;
	memcpy(info, known, known->size);
	*err = blm_store_refresh(k->store, info);
	r = fill_known(row, info);
	sqlite3_free(info);
	return r;
}

static int keep(void *context, const struct blm_info *known, int err)
{
	struct cursor *k = context;
	struct row *row;
	int r = 0;

	if (k->count == k->room) {
		row = sqlite3_realloc64(k->rows, (k->room * 2 + 16) * sizeof(*row));
		if (!row)
			return -ENOMEM;
		k->rows = row;
		k->room = k->room * 2 + 16;
	}
	row = &k->rows[k->count++];
	memset(row, 0, sizeof(*row));
	memcpy(row->name, known->name, sizeof(row->name));
	if (err == 0)
		r = refresh_row(k, row, known, &err);
	if (r == 0 && err < 0) {
		row->error = sqlite3_mprintf("%s", blm_strerror(err));
		r = row->error ? 0 : -ENOMEM;
	}
	return r;
}

static int list(sqlite3_vtab_cursor *base, int number, const char *text, int count,
		sqlite3_value **values)
{
	struct cursor *k = (struct cursor *)base;
	struct table *t = (struct table *)base->pVtab;
	const char *pattern = number ? (const char *)sqlite3_value_text(values[0]) : NULL;
	int r;

	drop_rows(k);
	if (number && !pattern)		/* no name is like NULL */
		return SQLITE_OK;
	r = filters_place(t->c->filters, &k->store, NULL, BLM_STORE_READ);
	if (r == 0)
		r = blm_store_list(k->store, pattern, keep, k);
	if (r == 0)
		return SQLITE_OK;
	if (r == -ENOMEM)
		return SQLITE_NOMEM;
	sqlite3_free(t->base.zErrMsg);
	t->base.zErrMsg = sqlite3_mprintf("%s", filters_message(t->c->filters, r));
	return SQLITE_ERROR;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	((struct cursor *)base)->at++;
	return SQLITE_OK;
}

static int is_end(sqlite3_vtab_cursor *base)
{
	const struct cursor *k = (const struct cursor *)base;

	return k->at >= k->count;
}

static void known_value(sqlite3_context *ctx, const struct row *row, int column)
{
	switch (column) {
	case COLUMN_KIND: sqlite3_result_text(ctx, row->kind, -1, SQLITE_TRANSIENT); break;
	case COLUMN_KEYS: sqlite3_result_int64(ctx, (sqlite3_int64)row->keys); break;
	case COLUMN_CAPACITY: sqlite3_result_int64(ctx, (sqlite3_int64)row->capacity); break;
	case COLUMN_RATE: sqlite3_result_double(ctx, row->rate); break;
	case COLUMN_RATE_NOW: sqlite3_result_double(ctx, row->rate_now); break;
	case COLUMN_BYTES: sqlite3_result_int64(ctx, (sqlite3_int64)row->bytes); break;
	case COLUMN_SEALED: sqlite3_result_int(ctx, row->sealed); break;
	case COLUMN_CREATED:
		sqlite3_result_int64(ctx, (sqlite3_int64)(row->created / 1000000000)); break;
	default: sqlite3_result_null(ctx);
	}
}

static int value(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
	const struct cursor *k = (const struct cursor *)base;
	const struct row *row = &k->rows[k->at];

	if (column == COLUMN_NAME)
		sqlite3_result_text(ctx, row->name, -1, SQLITE_TRANSIENT);
	else if (column == COLUMN_ERROR && row->error)
		sqlite3_result_text(ctx, row->error, -1, SQLITE_TRANSIENT);
	else if (row->kind)
		known_value(ctx, row, column);
	else
		sqlite3_result_null(ctx);
	return SQLITE_OK;
}

static int row_number(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct cursor *)base)->at;
	return SQLITE_OK;
}

static const sqlite3_module listing = {
	.xConnect = connect_table, .xDisconnect = disconnect_table, .xBestIndex = choose,
	.xOpen = open_cursor, .xClose = close_cursor, .xFilter = list, .xNext = next_row,
	.xEof = is_end, .xColumn = value, .xRowid = row_number,
};

int listing_register(sqlite3 *db, struct connection *c)
{
	return sqlite3_create_module_v2(db, "bloomery_ls", &listing, connection_get(c),
					connection_put);
}
