/*
 * functions.c - bloomery_test, bloomery_add, bloomery_claim, bloomery_count, and the settings of a
 * connection
 */
#include "arguments.h"

#include <errno.h>

/* ---- One key ---- */

static void test(sqlite3_context *ctx, int count, sqlite3_value **values)
{
	struct handle *h;
	struct key key;

	if (key_from(ctx, values[1], &key) != OUTCOME_OK
	    || handle_from(ctx, values[0], false, &h) != OUTCOME_OK)
		return;
	sqlite3_result_int(ctx, blm_contains(h->f, key.key.bytes, key.key.len));
	handle_put(h);
}

/* A filter that was dropped since the statement began is opened anew by its name, once. */
static void change(sqlite3_context *ctx, sqlite3_value **values,
		   int (*with)(struct blm_filter *f, const void *bytes, size_t len))
{
	struct connection *c = sqlite3_user_data(ctx);
	struct handle *h;
	struct key key;
	int r = -ESTALE;

	if (key_from(ctx, values[1], &key) != OUTCOME_OK)
		return;
	for (int tries = 0; r == -ESTALE && tries < 2; tries++) {
		if (handle_from(ctx, values[0], true, &h) != OUTCOME_OK)
			return;
		r = with(h->f, key.key.bytes, key.key.len);
		if (r >= 0)
			sqlite3_result_int(ctx, r);
		else if (r != -ESTALE || tries)
			fail(ctx, r);
		if (r == -ESTALE)
			filters_forget(c->filters, h);
		handle_put(h);
	}
}

static void add(sqlite3_context *ctx, int count, sqlite3_value **values)
{
	change(ctx, values, blm_add);
}

static void claim(sqlite3_context *ctx, int count, sqlite3_value **values)
{
	change(ctx, values, blm_claim);
}

/* ---- A filter, and the connection ---- */

static void count_keys(sqlite3_context *ctx, int count, sqlite3_value **values)
{
	struct handle *h;
	bool estimated;
	uint64_t keys;
	int r;

	if (handle_from(ctx, values[0], false, &h) != OUTCOME_OK)
		return;
	r = blm_count(h->f, &keys, &estimated);
	if (r < 0)
		fail(ctx, r);
	else
		sqlite3_result_int64(ctx, (sqlite3_int64)keys);
	handle_put(h);
}

static void use_store(sqlite3_context *ctx, int count, sqlite3_value **values)
{
	struct connection *c = sqlite3_user_data(ctx);
	const char *dir = NULL;
	int r;

	if (count && sqlite3_value_type(values[0]) != SQLITE_NULL) {
		if (sqlite3_value_type(values[0]) != SQLITE_TEXT) {
			sqlite3_result_error(ctx, "the store must be a text: the path of a folder",
					     -1);
			return;
		}
		dir = (const char *)sqlite3_value_text(values[0]);
		if (!dir) {
			sqlite3_result_error_nomem(ctx);
			return;
		}
	}
	r = count ? filters_use(c->filters, dir) : 0;
	if (r < 0)
		fail(ctx, r);
	else
		sqlite3_result_text(ctx, filters_dir(c->filters), -1, SQLITE_TRANSIENT);
}

static void take_paths(sqlite3_context *ctx, int count, sqlite3_value **values)
{
	struct connection *c = sqlite3_user_data(ctx);

	if (sqlite3_value_type(values[0]) != SQLITE_INTEGER) {
		sqlite3_result_error(ctx, "bloomery_paths() takes 1 or 0", -1);
		return;
	}
	filters_take_paths(c->filters, sqlite3_value_int(values[0]) != 0);
	sqlite3_result_int(ctx, sqlite3_value_int(values[0]) != 0);
}

/*
 * A view or a trigger of a database that somebody else made must not change filters, or choose
 * files: so all but the questions are DIRECTONLY.
 */
static const struct {
	const char *name;
	int arguments, flags;
	void (*call)(sqlite3_context *ctx, int count, sqlite3_value **values);
} functions[] = {
	{ "bloomery_test", 2, SQLITE_INNOCUOUS, test },
	{ "bloomery_count", 1, 0, count_keys },
	{ "bloomery_add", 2, SQLITE_DIRECTONLY, add },
	{ "bloomery_claim", 2, SQLITE_DIRECTONLY, claim },
	{ "bloomery_store", 0, SQLITE_DIRECTONLY, use_store },
	{ "bloomery_store", 1, SQLITE_DIRECTONLY, use_store },
	{ "bloomery_paths", 1, SQLITE_DIRECTONLY, take_paths },
};

int functions_register(sqlite3 *db, struct connection *c)
{
	int code = SQLITE_OK;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions) && code == SQLITE_OK; i++)
		code = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
						  SQLITE_UTF8 | functions[i].flags,
						  connection_get(c), functions[i].call, NULL, NULL,
						  connection_put);
	return code;
}
