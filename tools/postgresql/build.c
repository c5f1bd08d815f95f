/*
 * build.c - bloomery_build(name, key [, rate]): a filter of all keys of a group
 *
 * A statement that fails resets the memory of the aggregate, which forgets the filter. So it
 * appears only where all rows came.
 */
#include "module.h"

#include "miscadmin.h"

#include <errno.h>

enum { BATCH_KEYS = 512, BATCH_BYTES = 1 << 15 };

struct group {
	MemoryContextCallback at_end;
	struct blm_build *build;	/* NULL: finished */
	char *name;
	unsigned count;
	size_t used;
	struct blm_key keys[BATCH_KEYS];
	char bytes[BATCH_BYTES];
};

static void forget(void *group)
{
	struct group *g = group;

	g->build = blm_build_cancel(g->build);
}

/* A step is not repeated, because some of its keys may be in the filter. */
static void fail(int r)
{
	raise_failure(filters_of_backend(), r);
	elog(ERROR, "bloomery_build() was interrupted");
}

static double rate_of(FunctionCallInfo fcinfo)
{
	double rate = PG_NARGS() > 3 && !PG_ARGISNULL(3) ? PG_GETARG_FLOAT8(3) : 0;

	if (PG_NARGS() > 3 && !PG_ARGISNULL(3) && !(rate > 0 && rate < 1))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("the rate of false positives is not between 0 and 1"));
	return rate;
}

static struct group *begin(FunctionCallInfo fcinfo, MemoryContext memory, const char *name)
{
	struct filters *filters = filters_of_backend();
	struct blm_params params = BLM_PARAMS(.rate = rate_of(fcinfo));
	struct group *g = MemoryContextAllocZero(memory, sizeof(*g));
	struct blm_store *store;
	int r;

	PreventCommandIfReadOnly("bloomery_build()");
	g->name = MemoryContextStrdup(memory, name);
	g->at_end.func = forget;
	g->at_end.arg = g;
	MemoryContextRegisterResetCallback(memory, &g->at_end);
	for (;;) {
		r = filters_place(filters, &store, g->name, BLM_STORE_CREATE);
		if (r == 0)
			r = blm_build_begin(&g->build, store, g->name, &params, NULL);
		if (r == 0)
			return g;
		raise_failure(filters, r);
	}
}

static int flush(struct group *g)
{
	int r = blm_build_add_many(g->build, g->keys, g->count);

	g->count = 0;
	g->used = 0;
	return r;
}

static int put(struct group *g, const struct blm_key *key)
{
	int r = 0;

	if (g->count == BATCH_KEYS || key->len > BATCH_BYTES - g->used)
		r = flush(g);
	if (r < 0 || key->len > BATCH_BYTES)
		return r < 0 ? r : blm_build_add_many(g->build, key, 1);
	if (key->len)
		memcpy(g->bytes + g->used, key->bytes, key->len);
	g->keys[g->count++] = (struct blm_key){ g->bytes + g->used, key->len };
	g->used += key->len;
	return 0;
}

static Datum step(FunctionCallInfo fcinfo, enum key_type type)
{
	struct group *g = PG_ARGISNULL(0) ? NULL : (struct group *)PG_GETARG_POINTER(0);
	MemoryContext memory;
	const char *name;
	struct key key;
	int r;

	if (!AggCheckCallContext(fcinfo, &memory))
		elog(ERROR, "bloomery_build() is an aggregate");
	if (PG_ARGISNULL(1))
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			errmsg("the name of a filter is NULL"));
	name = name_of(PG_GETARG_TEXT_PP(1));
	if (!g)
		g = begin(fcinfo, memory, name);
	else if (strcmp(g->name, name))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("bloomery_build() makes one filter of a group, but its rows name "
			       "%s and %s", g->name, name), errhint("Use GROUP BY."));
	if (!PG_ARGISNULL(2)) {
		key_of(fcinfo, 2, type, &key);
		r = put(g, &key.key);
		if (r < 0)
			fail(r);
	}
	PG_RETURN_POINTER(g);
}

PG_FUNCTION_INFO_V1(bloomery_build_text);
Datum bloomery_build_text(PG_FUNCTION_ARGS)
{
	return step(fcinfo, KEY_TEXT);
}

PG_FUNCTION_INFO_V1(bloomery_build_bytea);
Datum bloomery_build_bytea(PG_FUNCTION_ARGS)
{
	return step(fcinfo, KEY_BYTEA);
}

PG_FUNCTION_INFO_V1(bloomery_build_number);
Datum bloomery_build_number(PG_FUNCTION_ARGS)
{
	return step(fcinfo, KEY_NUMBER);
}

PG_FUNCTION_INFO_V1(bloomery_build_finish);
Datum bloomery_build_finish(PG_FUNCTION_ARGS)
{
	struct group *g = PG_ARGISNULL(0) ? NULL : (struct group *)PG_GETARG_POINTER(0);
	struct blm_filter *f = NULL;
	uint64_t keys = 0;
	int r;

	if (!g)		/* there was no row */
		PG_RETURN_NULL();
	r = flush(g);
	if (r == 0) {
		r = blm_build_finish(g->build, &f);
		g->build = NULL;
	}
	if (r == 0)
		r = blm_count(f, &keys, NULL);
	blm_close(f);
	if (r < 0)
		fail(r);
	PG_RETURN_INT64((int64)keys);
}
