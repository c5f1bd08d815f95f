/* bf.h - the commands of bf_ask.c, and what they share with those of valkey.c */
#ifndef BLOOMERY_REDIS_BF_H
#define BLOOMERY_REDIS_BF_H

#include "command.h"

redis_function bf_exists, bf_mexists, bf_card, bf_info, bf_debug;

/* A boolean in RESP3; as valkey-bloom: an integer. */
int bf_reply(struct redis_ctx *ctx, int yes);

enum { FIELD_CAPACITY, FIELD_SIZE, FIELD_FILTERS, FIELD_ITEMS, FIELD_EXPANSION, FIELDS };

/* Return: 0, or a negative errno. ret[FIELD_EXPANSION] is negative where there is none. */
int bf_fields(const struct value *v, long long ret[FIELDS]);

#endif
