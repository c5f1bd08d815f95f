/*
 * module.h - what the files of the extension share
 *
 * A backend has one thread. ereport() jumps out of a function, so no file calls it while it holds
 * memory or a handle that PostgreSQL does not know of.
 */
#ifndef BLOOMERY_POSTGRESQL_MODULE_H
#define BLOOMERY_POSTGRESQL_MODULE_H

#include "postgres.h"
#include "fmgr.h"

#include "../sql/filters.h"

#pragma GCC visibility push(hidden)

/* The filters that this backend has open, of the store that bloomery.store names now. */
struct filters *filters_of_backend(void);

/* A name, or a pattern of names, in UTF-8; valid until the next call of this function. */
const char *name_of(const text *argument);

/* A key: text is its UTF-8, which may be palloc()ed; bytea its bytes; a number 8 bytes. */
struct key {
	struct blm_key key;
	uint8_t number[8];
};

enum key_type { KEY_TEXT, KEY_BYTEA, KEY_NUMBER };

void key_of(FunctionCallInfo fcinfo, int argument, enum key_type type, struct key *ret);

/*
 * raise_failure() - report the error r of the library or of the filters
 *
 * It returns only for -EINTR where the backend goes on: then repeat the call.
 */
void raise_failure(struct filters *filters, int r);

#pragma GCC visibility pop

#endif
