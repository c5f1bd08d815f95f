/* rdb.h - the types of keys: how the server saves, loads, copies and frees their values */
#ifndef BLOOMERY_REDIS_RDB_H
#define BLOOMERY_REDIS_RDB_H

#include "value.h"

/* Return: false if the server takes no such types. */
bool types_create(struct redis_ctx *ctx);

#endif
