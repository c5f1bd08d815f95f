/*
 * functions.c - bloomery_test, bloomery_add, bloomery_claim, bloomery_count
 */
#include "module.h"

#include "access/xact.h"
#include "miscadmin.h"

#include <errno.h>

/* A statement looks once whether a name leads to another filter. */
static struct handle *handle_of(struct filters *filters, FunctionCallInfo fcinfo, bool write)
{
	const char *name = name_of(PG_GETARG_TEXT_PP(0));
	struct handle *h;
	int r;

	while ((r = filters_find(filters, name, write, GetCurrentStatementStartTimestamp(), &h)))
		raise_failure(filters, r);
	return h;
}

static Datum test(FunctionCallInfo fcinfo, enum key_type type)
{
	struct handle *h;
	struct key key;
	bool found;

	key_of(fcinfo, 1, type, &key);
	h = handle_of(filters_of_backend(), fcinfo, false);
	found = blm_contains(h->f, key.key.bytes, key.key.len);
	handle_put(h);
	PG_RETURN_BOOL(found);
}

/* A filter that was dropped since the statement began is opened anew by its name, once. */
static Datum change(FunctionCallInfo fcinfo, enum key_type type, const char *name,
		    int (*with)(struct blm_filter *f, const void *bytes, size_t len))
{
	struct filters *filters = filters_of_backend();
	bool again = false;
	struct handle *h;
	struct key key;
	int r;

	PreventCommandIfReadOnly(name);
	PreventCommandIfParallelMode(name);
	key_of(fcinfo, 1, type, &key);
	for (;;) {
		h = handle_of(filters, fcinfo, true);
		r = with(h->f, key.key.bytes, key.key.len);
		if (r == -ESTALE)
			filters_forget(filters, h);
		handle_put(h);
		if (r >= 0)
			PG_RETURN_BOOL(r == 1);
		if (r != -ESTALE || again)
			raise_failure(filters, r);
		again |= r == -ESTALE;
	}
}

#define FUNCTIONS(what, type) \
	PG_FUNCTION_INFO_V1(bloomery_test_##what); \
	Datum bloomery_test_##what(PG_FUNCTION_ARGS) \
	{ \
		return test(fcinfo, type); \
	} \
	PG_FUNCTION_INFO_V1(bloomery_add_##what); \
	Datum bloomery_add_##what(PG_FUNCTION_ARGS) \
	{ \
		return change(fcinfo, type, "bloomery_add()", blm_add); \
	} \
	PG_FUNCTION_INFO_V1(bloomery_claim_##what); \
	Datum bloomery_claim_##what(PG_FUNCTION_ARGS) \
	{ \
		return change(fcinfo, type, "bloomery_claim()", blm_claim); \
	}

FUNCTIONS(text, KEY_TEXT)
FUNCTIONS(bytea, KEY_BYTEA)
FUNCTIONS(number, KEY_NUMBER)

PG_FUNCTION_INFO_V1(bloomery_count);
Datum bloomery_count(PG_FUNCTION_ARGS)
{
	struct filters *filters = filters_of_backend();
	struct handle *h = handle_of(filters, fcinfo, false);
	bool estimated;
	uint64_t keys;
	int r = blm_count(h->f, &keys, &estimated);

	handle_put(h);
	if (r < 0)
		raise_failure(filters, r);
	PG_RETURN_INT64((int64)keys);
}
