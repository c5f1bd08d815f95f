/*
 * valkey.h - the argument `compatible valkey-bloom`: what BF.* of that module does otherwise
 *
 * Answers are integers in RESP3, too, some errors have other words, BF.INSERT has more options,
 * BF.INFO more fields, and there are keyspace events. BF.LOAD is there in either case.
 */
#ifndef BLOOMERY_REDIS_VALKEY_H
#define BLOOMERY_REDIS_VALKEY_H

#include "value.h"

redis_function valkey_load;

/* The options of BF.RESERVE. Return: negative; else there was a reply. */
int valkey_reserve(struct redis_ctx *ctx, struct redis_string **argv, int argc,
		   struct bloom_wish *ret);
/* Those of BF.INSERT, where *wish has the defaults. Return: the first item; 0: there was a reply */
int valkey_insert(struct redis_ctx *ctx, struct redis_string **argv, int argc,
		  struct bloom_wish *wish, bool *ret_create);

/* The command that makes a filter of these parameters, whatever the defaults are elsewhere. */
void replicate_reserve(struct redis_ctx *ctx, struct redis_string *key,
		       const struct bloom_wish *wish);

/* A filter was made: replicates it with its parameters, and the items that came with it. */
int valkey_made(struct redis_ctx *ctx, struct redis_string *key, const struct value *v,
		struct redis_string **items, int count);

/* Does a master, or the append-only file, have options that only valkey_insert() takes? */
bool valkey_is_replicated(struct redis_ctx *ctx, struct redis_string **argv, int argc);

/* BF.INFO; field NULL: all of them */
int valkey_info(struct redis_ctx *ctx, const struct value *v, const struct redis_string *field);

#endif
