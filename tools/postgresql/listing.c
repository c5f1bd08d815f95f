/*
 * listing.c - bloomery_ls([pattern]): the filters of the store
 */
#include "module.h"
#include "../sql/rows.h"

#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

enum { COLUMNS = 10, COLUMN_KIND = 1, COLUMN_ERROR = COLUMNS - 1 };

/* Frees the rows when the query is over, however it ends. */
static void free_rows(void *rows)
{
	rows_free(rows);
}

static struct rows *rows_of_query(void)
{
	MemoryContextCallback *call = palloc0(sizeof(*call));

	call->arg = palloc0(sizeof(struct rows));
	call->func = free_rows;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, call);
	return call->arg;
}

static Datum text_of(const char *utf8)
{
	return CStringGetTextDatum(pg_any_to_server(utf8, (int)strlen(utf8), PG_UTF8));
}

static void put(ReturnSetInfo *set, const struct row *row)
{
	Datum values[COLUMNS] = { text_of(row->name) };
	bool nulls[COLUMNS] = { false };

	for (int i = COLUMN_KIND; i < COLUMN_ERROR; i++)
		nulls[i] = !row->kind;
	nulls[COLUMN_ERROR] = !row->err;
	if (row->err)
		values[COLUMN_ERROR] = text_of(blm_strerror(row->err));
	if (row->kind) {
		values[1] = text_of(row->kind);
		values[2] = Int64GetDatum((int64)row->keys);
		values[3] = Int64GetDatum((int64)row->capacity);
		values[4] = Float8GetDatum(row->rate);
		values[5] = Float8GetDatum(row->rate_now);
		values[6] = Int64GetDatum((int64)row->bytes);
		values[7] = BoolGetDatum(row->sealed);
		values[8] = TimestampTzGetDatum(time_t_to_timestamptz((pg_time_t)row->created));
	}
	tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(bloomery_ls);
Datum bloomery_ls(PG_FUNCTION_ARGS)
{
	struct filters *filters = filters_of_backend();
	const char *pattern = name_of(PG_GETARG_TEXT_PP(0));
	struct rows *rows = rows_of_query();
	int r;

	InitMaterializedSRF(fcinfo, 0);
	while ((r = rows_list(filters, pattern, rows)))
		raise_failure(filters, r);
	for (size_t i = 0; i < rows->count; i++)
		put((ReturnSetInfo *)fcinfo->resultinfo, &rows->rows[i]);
	rows_free(rows);
	return (Datum)0;
}
