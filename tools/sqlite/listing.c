/*
 * listing.c - bloomery_ls([pattern]): a table of the filters of the store
 */
#include "arguments.h"
#include "../sql/rows.h"

#include <errno.h>
#include <string.h>

enum column {
	COLUMN_NAME, COLUMN_KIND, COLUMN_KEYS, COLUMN_CAPACITY, COLUMN_RATE, COLUMN_RATE_NOW,
	COLUMN_BYTES, COLUMN_SEALED, COLUMN_CREATED, COLUMN_ERROR, COLUMN_PATTERN,
};

static const char columns[] = "CREATE TABLE bloomery_ls(name TEXT, kind TEXT, keys INTEGER, "
	"capacity INTEGER, rate REAL, rate_now REAL, bytes INTEGER, sealed INTEGER, "
	"created INTEGER, error TEXT, pattern TEXT HIDDEN)";

struct table {
	sqlite3_vtab base;
	struct connection *c;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct rows rows;
	size_t at;
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

static int close_cursor(sqlite3_vtab_cursor *base)
{
	rows_free(&((struct cursor *)base)->rows);
	sqlite3_free(base);
	return SQLITE_OK;
}

static int list(sqlite3_vtab_cursor *base, int number, const char *text, int count,
		sqlite3_value **values)
{
	struct cursor *k = (struct cursor *)base;
	struct table *t = (struct table *)base->pVtab;
	const char *pattern = number ? (const char *)sqlite3_value_text(values[0]) : NULL;
	int r;

	rows_free(&k->rows);
	k->at = 0;
	if (number && !pattern)		/* no name is like NULL */
		return SQLITE_OK;
	r = rows_list(t->c->filters, pattern, &k->rows);
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

	return k->at >= k->rows.count;
}

static void known_value(sqlite3_context *ctx, const struct row *row, int column)
{
	switch (column) {
	case COLUMN_KIND: sqlite3_result_text(ctx, row->kind, -1, SQLITE_STATIC); break;
	case COLUMN_KEYS: sqlite3_result_int64(ctx, (sqlite3_int64)row->keys); break;
	case COLUMN_CAPACITY: sqlite3_result_int64(ctx, (sqlite3_int64)row->capacity); break;
	case COLUMN_RATE: sqlite3_result_double(ctx, row->rate); break;
	case COLUMN_RATE_NOW: sqlite3_result_double(ctx, row->rate_now); break;
	case COLUMN_BYTES: sqlite3_result_int64(ctx, (sqlite3_int64)row->bytes); break;
	case COLUMN_SEALED: sqlite3_result_int(ctx, row->sealed); break;
	case COLUMN_CREATED: sqlite3_result_int64(ctx, (sqlite3_int64)row->created); break;
	default: sqlite3_result_null(ctx);
	}
}

static int value(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
	const struct cursor *k = (const struct cursor *)base;
	const struct row *row = &k->rows.rows[k->at];

	if (column == COLUMN_NAME)
		sqlite3_result_text(ctx, row->name, -1, SQLITE_TRANSIENT);
	else if (column == COLUMN_ERROR && row->err < 0)
		sqlite3_result_text(ctx, blm_strerror(row->err), -1, SQLITE_TRANSIENT);
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
