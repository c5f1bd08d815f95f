/*
 * config.c - settings with a number, as arguments of loadmodule and for CONFIG GET and SET
 *
 * CONFIG knows them by the names of RedisBloom. A server before Redis 8 puts the name of the module
 * before each name: bf.bf-error-rate.
 */
#include "config.h"
#include "command.h"
#include "value.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { VERSION_8 = 0x00080000 };
/* names in CONFIG without the name of the module */
enum { PLAIN_NAMES = 1 << 9 };

static struct config {
	const char *name;
	const char *earlier;		/* an argument of RedisBloom's earlier versions, or NULL */
	long long *value, least, most;	/* value: NULL for bf-error-rate */
	struct redis_string *shown;
} configs[] = {
	{ "bf-error-rate", "ERROR_RATE" },
	{ "bf-initial-size", "INITIAL_SIZE", &settings.capacity, 1, CAPACITY_MOST },
	{ "bf-expansion-factor", NULL, &settings.expansion, 0, EXPANSION_MOST },
	{ "blm-bytes-most", NULL, &settings.blm_bytes, 1, LLONG_MAX },
	{ "cf-bucket-size", NULL, &settings.cf_slots, 1, SLOTS_MOST },
	{ "cf-initial-size", NULL, &settings.cf_capacity, 4, CAPACITY_MOST },
	{ "cf-max-iterations", NULL, &settings.cf_iterations, 1, ITERATIONS_MOST },
	{ "cf-expansion-factor", NULL, &settings.cf_expansion, 0, EXPANSION_MOST },
	{ "cf-max-expansions", "CF_MAX_EXPANSIONS", &settings.cf_tables, 1, TABLES_MOST },
};
enum { CONFIGS = sizeof(configs) / sizeof(*configs) };

/* Return: false if the value is not in the range. A rate above RATE_MOST is RATE_MOST. */
static bool set(const struct config *c, const struct redis_string *value)
{
	long long number;
	double rate;

	if (!c->value) {
		if (redis_StringToDouble(value, &rate) != REDIS_OK || !(rate > 0 && rate < 1))
			return false;
		settings.rate = rate < RATE_MOST ? rate : RATE_MOST;
		return true;
	}
	if (redis_StringToLongLong(value, &number) != REDIS_OK || number < c->least
	    || number > c->most)
		return false;
	*c->value = number;
	return true;
}

bool config_argument(const struct redis_string *name, const struct redis_string *value,
		     const char **ret)
{
	for (struct config *c = configs; c < configs + CONFIGS; c++)
		if (option_is(name, c->name) || (c->earlier && option_is(name, c->earlier))) {
			*ret = set(c, value) ? NULL : "out of its range";
			return true;
		}
	return false;
}

static void show(struct config *c)
{
	char text[32];

	if (c->value)
		snprintf(text, sizeof(text), "%lld", *c->value);
	else
		snprintf(text, sizeof(text), "%.15g", settings.rate);
	if (c->shown)
		redis_FreeString(NULL, c->shown);
	c->shown = redis_CreateString(NULL, text, strlen(text));
}

static int follow_set(const char *name, struct redis_string *value, void *context,
		      struct redis_string **ret_error)
{
	struct config *c = context;
	char text[128];

	if (set(c, value)) {
		show(c);
		return REDIS_OK;
	}
	if (c->value)
		snprintf(text, sizeof(text), "the value must be in the range [%lld, %lld]",
			 c->least, c->most);
	else
		snprintf(text, sizeof(text), "the value must be in the range (0, 1)");
	*ret_error = redis_CreateString(NULL, text, strlen(text));
	return REDIS_ERR;
}

static struct redis_string *follow_get(const char *name, void *context)
{
	return ((struct config *)context)->shown;
}

static bool create(struct redis_ctx *ctx, struct config *c, unsigned flags)
{
	size_t len;

	return redis_RegisterStringConfig(ctx, c->name, redis_StringPtrLen(c->shown, &len), flags,
					  follow_get, follow_set, NULL, c) == REDIS_OK;
}

/* Valkey has versions of its own, and warns in its log of a flag that it does not know. */
static bool is_valkey(struct redis_ctx *ctx)
{
	struct redis_info *info = redis_GetServerInfo(ctx, "server");
	bool is = info && redis_ServerInfoGetFieldC(info, "valkey_version");

	if (info)
		redis_FreeServerInfo(ctx, info);
	return is;
}

bool configs_create(struct redis_ctx *ctx)
{
	bool plain = redis_GetServerVersion() >= VERSION_8 && !is_valkey(ctx);

	for (struct config *c = configs; c < configs + CONFIGS; c++) {
		show(c);
		if (!(plain && create(ctx, c, PLAIN_NAMES)) && !create(ctx, c, 0))
			return false;
	}
	return redis_LoadConfigs(ctx) == REDIS_OK;
}
