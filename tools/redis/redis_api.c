/* redis_api.c - finds the functions of the server by their names */
#include "redis_api.h"

#define DEFINE(type, name, parameters) type (*redis_##name) parameters;
REDIS_API_NEEDED(DEFINE)
REDIS_API_OPTIONAL(DEFINE)

struct entry {
	const char *name;
	void *target;
};

#define ENTRY(type, name, parameters) { "RedisModule_" #name, &redis_##name },
static const struct entry needed[] = { REDIS_API_NEEDED(ENTRY) { NULL, NULL } };
static const struct entry optional[] = { REDIS_API_OPTIONAL(ENTRY) { NULL, NULL } };

const char *api_load(struct redis_ctx *ctx)
{
	int (*find)(const char *name, void *target) = *(int (**)(const char *, void *))ctx;

	for (const struct entry *e = optional; e->name; e++)
		find(e->name, e->target);
	for (const struct entry *e = needed; e->name; e++)
		if (find(e->name, e->target) != REDIS_OK)
			return e->name;
	return NULL;
}
