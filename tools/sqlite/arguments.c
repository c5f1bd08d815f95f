/*
 * arguments.c - what SQLite passes to a function: names of filters and keys
 */
#include "arguments.h"

#include <errno.h>
#include <string.h>

void fail(sqlite3_context *ctx, int r)
{
	struct connection *c = sqlite3_user_data(ctx);

	if (r == -ENOMEM)
		sqlite3_result_error_nomem(ctx);
	else
		sqlite3_result_error(ctx, filters_message(c->filters, r), -1);
}

enum outcome name_from(sqlite3_context *ctx, sqlite3_value *value, const char **ret)
{
	int type = sqlite3_value_type(value);

	if (type == SQLITE_NULL) {
		sqlite3_result_null(ctx);
		return OUTCOME_NULL;
	}
	if (type != SQLITE_TEXT) {
		sqlite3_result_error(ctx, "the first argument must be a text: the name of a filter",
				     -1);
		return OUTCOME_FAILED;
	}
	*ret = (const char *)sqlite3_value_text(value);
	if (!*ret) {
		sqlite3_result_error_nomem(ctx);
		return OUTCOME_FAILED;
	}
	if (strlen(*ret) != (size_t)sqlite3_value_bytes(value)) {
		sqlite3_result_error(ctx, "the name of a filter has a NUL byte", -1);
		return OUTCOME_FAILED;
	}
	return OUTCOME_OK;
}

enum outcome key_from(sqlite3_context *ctx, sqlite3_value *value, struct key *ret)
{
	switch (sqlite3_value_type(value)) {
	case SQLITE_NULL:
		sqlite3_result_null(ctx);
		return OUTCOME_NULL;
	case SQLITE_INTEGER:
		ret->key = key_of_number(sqlite3_value_int64(value), ret->number);
		return OUTCOME_OK;
	case SQLITE_TEXT:
		ret->key.bytes = sqlite3_value_text(value);
		break;
	case SQLITE_BLOB:
		ret->key.bytes = sqlite3_value_blob(value);
		break;
	default:
		sqlite3_result_error(ctx, "a key is a text, a blob or an integer, and not a real; "
				     "CAST it to the type of the keys in the filter", -1);
		return OUTCOME_FAILED;
	}
	ret->key.len = (size_t)sqlite3_value_bytes(value);
	if (!ret->key.bytes && (ret->key.len || sqlite3_value_type(value) == SQLITE_TEXT)) {
		sqlite3_result_error_nomem(ctx);
		return OUTCOME_FAILED;
	}
	return OUTCOME_OK;
}

static void put(void *handle)
{
	handle_put(handle);
}

enum outcome handle_from(sqlite3_context *ctx, sqlite3_value *value, bool write,
			 struct handle **ret)
{
	struct connection *c = sqlite3_user_data(ctx);
	struct handle *h = sqlite3_get_auxdata(ctx, 0);
	enum outcome outcome;
	const char *name;
	int r;

	if (h && !h->gone) {
		h->holders++;
		*ret = h;
		return OUTCOME_OK;
	}
	outcome = name_from(ctx, value, &name);
	if (outcome != OUTCOME_OK)
		return outcome;
	r = filters_find(c->filters, name, write, 0, &h);
	if (r < 0) {
		fail(ctx, r);
		return OUTCOME_FAILED;
	}
	h->holders++;	/* the other holder is the caller, because SQLite may not keep it */
	sqlite3_set_auxdata(ctx, 0, h, put);
	*ret = h;
	return OUTCOME_OK;
}
