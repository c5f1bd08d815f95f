/*
 * arguments.h - what the files of the extension share: a connection, and what SQLite passes
 *
 * SQLite calls the functions of a connection from one thread at a time, so nothing here has a lock.
 */
#ifndef BLOOMERY_SQLITE_ARGUMENTS_H
#define BLOOMERY_SQLITE_ARGUMENTS_H

#include "../sql/filters.h"

#include <sqlite3ext.h>

/* One connection. Each of its functions is a user, and the last one frees it. */
struct connection {
	unsigned users;
	struct filters *filters;
};

/* A key: its bytes belong to the value, or are in number. */
struct key {
	struct blm_key key;
	uint8_t number[8];
};

enum outcome { OUTCOME_OK, OUTCOME_NULL, OUTCOME_FAILED };

/* name_from() - the name of a filter: a text without NUL bytes. It belongs to the value. */
enum outcome name_from(sqlite3_context *ctx, sqlite3_value *value, const char **ret);
enum outcome key_from(sqlite3_context *ctx, sqlite3_value *value, struct key *ret);

/*
 * handle_from() - the filter that argument 0 names, open
 *
 * A statement whose name of a filter is constant keeps the handle in its auxiliary data. So only
 * its first call looks whether the name still leads to the open file.
 * Return: OUTCOME_OK, and the caller puts the handle back; else the result is set.
 */
enum outcome handle_from(sqlite3_context *ctx, sqlite3_value *name, bool write,
			 struct handle **ret);

/* fail() - the result is the error r of the library or of the filters */
void fail(sqlite3_context *ctx, int r);

struct connection *connection_get(struct connection *c);
void connection_put(void *connection);

/* What the files of this folder register. Return: SQLITE_OK, or another code of SQLite. */
int functions_register(sqlite3 *db, struct connection *c);
int build_register(sqlite3 *db, struct connection *c);
int listing_register(sqlite3 *db, struct connection *c);

/* The functions of SQLite, which extension.c defines. */
SQLITE_EXTENSION_INIT3

#endif
