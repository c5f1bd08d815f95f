/*
 * extension.c - the entry of the extension
 *
 *	.load /usr/lib/x86_64-linux-gnu/bloomery/sqlite/bloomery_sqlite
 *	SELECT url FROM visited WHERE bloomery_test('seen', url);
 *
 * SQLite finds the entry by the letters in the name of the file.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "arguments.h"

#include <stdlib.h>

__attribute__((visibility("default")))
int sqlite3_bloomerysqlite_init(sqlite3 *db, char **ret_message, const sqlite3_api_routines *api);

struct connection *connection_get(struct connection *c)
{
	c->users++;
	return c;
}

void connection_put(void *connection)
{
	struct connection *c = connection;

	if (--c->users)
		return;
	filters_free(c->filters);
	free(c);
}

static struct connection *connection_new(void)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->users = 1;
	c->filters = filters_new("bloomery_store('DIR')", "bloomery_paths(1)");
	if (!c->filters) {
		free(c);
		return NULL;
	}
	return c;
}

int sqlite3_bloomerysqlite_init(sqlite3 *db, char **ret_message, const sqlite3_api_routines *api)
{
	struct connection *c;
	int code;

	SQLITE_EXTENSION_INIT2(api);
	if (blm_survive_truncation() < 0) {
		*ret_message = sqlite3_mprintf("%s", blm_error_message());
		return SQLITE_ERROR;
	}
	c = connection_new();
	if (!c)
		return SQLITE_NOMEM;
	code = functions_register(db, c);
	if (code == SQLITE_OK)
		code = build_register(db, c);
	if (code == SQLITE_OK)
		code = listing_register(db, c);
	if (code != SQLITE_OK)
		*ret_message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
	connection_put(c);
	return code;
}
