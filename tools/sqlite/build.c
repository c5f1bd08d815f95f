/*
 * build.c - bloomery_build(name, key [, rate]): a filter of all keys of a group; and
 * bloomery_publish(new, name, keys)
 *
 * SQLite ends an aggregate by the same call whether all rows came or the statement failed half-way.
 * This file forgets the filter if one of its own steps failed. It also forgets the filter if no
 * other statement runs: the connection was interrupted, has no memory, or a progress handler ends
 * all statements. Other failures cannot be seen here, so a filter never replaces another one.
 *
 * A function whose argument is the aggregate is called only if the statement goes on. So only
 * bloomery_publish() puts a built filter in the place of another one.
 */
#include "arguments.h"

#include <errno.h>
#include <string.h>

enum { BATCH_KEYS = 512, BATCH_BYTES = 1 << 15 };

struct batch {
	unsigned count;
	size_t used;
	struct blm_key keys[BATCH_KEYS];
	char bytes[BATCH_BYTES];
};

/* What SQLite keeps for a group, zero at first. */
struct group {
	struct blm_build *build;	/* NULL: none begun, or one failed */
	struct batch *batch;
	char *name;
	bool failed;
};

static void forget(struct group *g)
{
	g->build = blm_build_cancel(g->build);
	sqlite3_free(g->batch);
	sqlite3_free(g->name);
	g->batch = NULL;
	g->name = NULL;
	g->failed = true;
}

/* ---- Rows ---- */

static bool rate_from(sqlite3_context *ctx, sqlite3_value *value, double *ret)
{
	int type = sqlite3_value_type(value);

	if (type == SQLITE_NULL)
		return true;
	*ret = sqlite3_value_double(value);
	if (type == SQLITE_FLOAT && *ret > 0 && *ret < 1)
		return true;
	sqlite3_result_error(ctx, "the third argument is the rate of false positives, between 0 "
			     "and 1", -1);
	return false;
}

static bool begin(sqlite3_context *ctx, struct group *g, const char *name, sqlite3_value *rate)
{
	struct blm_params params = BLM_PARAMS();
	struct blm_store *store = NULL;
	struct connection *c = sqlite3_user_data(ctx);
	int r = 0;

	if (rate && !rate_from(ctx, rate, &params.rate))
		return false;
	g->name = sqlite3_mprintf("%s", name);
	g->batch = sqlite3_malloc(sizeof(*g->batch));
	if (!g->name || !g->batch)
		r = -ENOMEM;
	if (r == 0) {
		g->batch->count = 0;
		g->batch->used = 0;
		r = filters_place(c->filters, &store, name, BLM_STORE_CREATE);
	}
	if (r == 0)
		r = blm_build_begin(&g->build, store, name, &params, NULL);
	if (r < 0)
		fail(ctx, r);
	return r == 0;
}

static int flush(struct group *g)
{
	int r = blm_build_add_many(g->build, g->batch->keys, g->batch->count);

	g->batch->count = 0;
	g->batch->used = 0;
	return r;
}

static int put(struct group *g, const struct blm_key *key)
{
	struct batch *b = g->batch;
	int r = 0;

	if (b->count == BATCH_KEYS || key->len > BATCH_BYTES - b->used)
		r = flush(g);
	if (r < 0 || key->len > BATCH_BYTES)
		return r < 0 ? r : blm_build_add_many(g->build, key, 1);
	if (key->len)
		memcpy(b->bytes + b->used, key->bytes, key->len);
	b->keys[b->count++] = (struct blm_key){ b->bytes + b->used, key->len };
	b->used += key->len;
	return 0;
}

static bool has_name(sqlite3_context *ctx, const struct group *g, const char *name)
{
	char *message;

	if (!strcmp(g->name, name))
		return true;
	message = sqlite3_mprintf("bloomery_build() makes one filter of a group, but its rows name "
				  "%s and %s; use GROUP BY", g->name, name);
	if (message)
		sqlite3_result_error(ctx, message, -1);
	else
		sqlite3_result_error_nomem(ctx);
	sqlite3_free(message);
	return false;
}

/* A name that is NULL is an error here: the rows would be lost without a word. */
static bool name_of(sqlite3_context *ctx, sqlite3_value *value, const char **ret)
{
	enum outcome outcome = name_from(ctx, value, ret);

	if (outcome == OUTCOME_NULL)
		sqlite3_result_error(ctx, "the first argument is the name of a filter, and not "
				     "NULL", -1);
	return outcome == OUTCOME_OK;
}

static void step(sqlite3_context *ctx, int count, sqlite3_value **values)
{
	struct group *g = sqlite3_aggregate_context(ctx, sizeof(*g));
	enum outcome outcome = OUTCOME_FAILED;
	const char *name;
	struct key key;
	int r;

	if (!g) {
		sqlite3_result_error_nomem(ctx);
		return;
	}
	if (g->failed)
		return;
	if (name_of(ctx, values[0], &name)
	    && (g->build ? has_name(ctx, g, name)
		: begin(ctx, g, name, count > 2 ? values[2] : NULL)))
		outcome = key_from(ctx, values[1], &key);
	if (outcome == OUTCOME_OK) {
		r = put(g, &key.key);
		if (r == 0)
			return;
		fail(ctx, r);
	}
	if (outcome != OUTCOME_NULL)
		forget(g);
}

/* ---- The end ---- */

/*
 * Runs another statement, which fails where the connection was interrupted or has no memory. It has
 * some thousand steps, so a progress handler that ends all statements ends this one.
 */
static bool goes_on(sqlite3 *db)
{
	static const char loop[] = "WITH n AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), "
		"(9)) SELECT count(*) FROM n AS a, n AS b, n AS c";
	sqlite3_stmt *probe = NULL;
	bool ret = sqlite3_prepare_v2(db, loop, -1, &probe, NULL) == SQLITE_OK
		&& sqlite3_step(probe) == SQLITE_ROW;

	sqlite3_finalize(probe);
	return ret;
}

static void finish(sqlite3_context *ctx)
{
	struct group *g = sqlite3_aggregate_context(ctx, 0);
	struct blm_filter *f = NULL;
	uint64_t keys = 0;
	int r;

	if (!g || g->failed || !g->build) {
		sqlite3_result_null(ctx);
		return;
	}
	r = goes_on(sqlite3_context_db_handle(ctx)) ? flush(g) : -ECANCELED;
	if (r == 0) {
		r = blm_build_finish(g->build, &f);
		g->build = NULL;
	}
	if (r == 0)
		r = blm_count(f, &keys, NULL);
	if (r == -ECANCELED)
		sqlite3_result_error_code(ctx, SQLITE_INTERRUPT);
	else if (r < 0)
		fail(ctx, r);
	else
		sqlite3_result_int64(ctx, (sqlite3_int64)keys);
	blm_close(f);
	forget(g);
}

/* ---- Publishing ---- */

/* The new filter has as many keys as the aggregate returned, or another connection made it. */
static int publish_counted(struct connection *c, const struct handle *h, const char *name,
			   int64_t keys, bool *ret_differs)
{
	struct blm_store *store;
	uint64_t there;
	int r = blm_count(h->f, &there, NULL);

	*ret_differs = r == 0 && there != (uint64_t)keys;
	if (r < 0 || *ret_differs)
		return r;
	r = filters_place(c->filters, &store, name, 0);
	return r < 0 ? r : blm_store_publish(store, name, h->f, 0, 0);
}

static void publish(sqlite3_context *ctx, int count, sqlite3_value **values)
{
	struct connection *c = sqlite3_user_data(ctx);
	const char *from, *name;
	struct handle *h;
	bool differs;
	int r;

	if (sqlite3_value_type(values[1]) == SQLITE_NULL
	    || sqlite3_value_type(values[2]) == SQLITE_NULL)
		return;
	if (name_from(ctx, values[0], &from) != OUTCOME_OK
	    || name_from(ctx, values[1], &name) != OUTCOME_OK)
		return;
	if (strchr(name, '/') || sqlite3_value_type(values[2]) != SQLITE_INTEGER) {
		sqlite3_result_error(ctx, "bloomery_publish() takes the name of the new filter, a "
				     "name in the store, and what bloomery_build() returned", -1);
		return;
	}
	r = filters_find(c->filters, from, false, 0, &h);
	if (r < 0) {
		fail(ctx, r);
		return;
	}
	r = publish_counted(c, h, name, sqlite3_value_int64(values[2]), &differs);
	if (differs)
		sqlite3_result_error(ctx, "the new filter does not have the number of keys that "
				     "bloomery_build() returned; drop it and build it again", -1);
	else if (r < 0)
		fail(ctx, r);
	else
		sqlite3_result_value(ctx, values[2]);
	handle_put(h);
}

int build_register(sqlite3 *db, struct connection *c)
{
	int code = sqlite3_create_function_v2(db, "bloomery_publish", 3,
					      SQLITE_UTF8 | SQLITE_DIRECTONLY, connection_get(c),
					      publish, NULL, NULL, connection_put);

	for (int arguments = 2; arguments <= 3 && code == SQLITE_OK; arguments++)
		code = sqlite3_create_function_v2(db, "bloomery_build", arguments,
						  SQLITE_UTF8 | SQLITE_DIRECTONLY,
						  connection_get(c), NULL, step, finish,
						  connection_put);
	return code;
}
