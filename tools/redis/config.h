/* config.h - the parameters of filters that a first add creates, and limits */
#ifndef BLOOMERY_REDIS_CONFIG_H
#define BLOOMERY_REDIS_CONFIG_H

#include <stdbool.h>

struct redis_ctx;
struct redis_string;

/* An argument of loadmodule. Return: false if it is none of these. @ret: NULL, or what is wrong */
bool config_argument(const struct redis_string *name, const struct redis_string *value,
		     const char **ret);
/* After the arguments: their values are the defaults of CONFIG. Return: false if one is refused. */
bool configs_create(struct redis_ctx *ctx);

#endif
