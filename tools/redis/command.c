/* command.c - what all commands have in common */
#include "command.h"
#include "filter.h"
#include "store.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COMMAND_NAME = 16 };

struct settings settings = {
	.rate = 0.01, .capacity = 100, .expansion = 2,
	.blm_bytes = 16LL << 30,
	.cf_capacity = 1024, .cf_slots = 2, .cf_iterations = 20, .cf_expansion = 1, .cf_tables = 32,
};

/* valkey-bloom's names are in capitals, and the server checks no number of arguments for it. */
static bool is_of_valkey(const struct command *c)
{
	return settings.valkey && !strncmp(c->name, "bf.", 3);
}

/* Errors, statistics and COMMAND show the names as they are registered. */
static void name_of(char ret[COMMAND_NAME], const struct command *c)
{
	bool upper = is_of_valkey(c);

	snprintf(ret, COMMAND_NAME, "%s", c->name);
	for (size_t i = 0; upper && ret[i]; i++)
		ret[i] = (char)toupper((unsigned char)ret[i]);
}

static void put_into_category(const struct command *c, struct redis_command *command,
			      const char *category)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %s", category,
		 strncmp(c->flags, "write", 5) ? "read" : "write");
	redis_SetCommandACLCategories(command, text);
}

bool commands_create(struct redis_ctx *ctx, const struct command *commands, const char *category)
{
	bool categories = redis_AddACLCategory && redis_SetCommandACLCategories;
	char name[COMMAND_NAME];

	if (categories)
		redis_AddACLCategory(ctx, category);	/* fails if it is there already */
	for (const struct command *c = commands; c->name; c++) {
		struct redis_command *command;

		name_of(name, c);
		if (redis_CreateCommand(ctx, name, c->run, c->flags, 1,
					c->last ? c->last : 1, 1) != REDIS_OK)
			return false;
		command = redis_GetCommand(ctx, name);
		if (command && c->syntax)
			command_describe(command, c, !is_of_valkey(c));
		if (command && categories)
			put_into_category(c, command, category);
	}
	return true;
}

/* ---- Keys ---- */

static struct opened find(struct redis_ctx *ctx, struct redis_string *name, int mode,
			  unsigned sorts)
{
	struct opened o = { .key = redis_OpenKey(ctx, name, mode), .found = FOUND_OTHER };
	struct redis_type *type;

	if (!o.key || redis_KeyType(o.key) == REDIS_KEY_EMPTY) {
		o.found = FOUND_NONE;
		return o;
	}
	type = redis_ModuleTypeGetType(o.key);
	for (unsigned i = 0; type && i < sizeof(value_types) / sizeof(*value_types); i++)
		if (sorts & 1U << i && type == value_types[i])
			o.found = FOUND;
	if (o.found == FOUND)
		o.v = redis_ModuleTypeGetValue(o.key);
	if (o.v && !o.v->owned && !o.v->f)
		filter_open(o.v);
	return o;
}

/* Is the key to be attached to the filter of its name? Replicas get their keys of the master. */
static bool attaches(struct redis_ctx *ctx, const struct redis_string *key, char ret[])
{
	int flags = redis_GetContextFlags(ctx);
	struct blm_info info = BLM_INFO;

	return settings.auto_attach && store && flags & REDIS_MASTER
		&& !(flags & (REDIS_LOADING | REDIS_ASYNC_LOADING)) && arg_name(key, ret)
		&& !store_owns(ret) && blm_store_find(store, ret, &info) == 0 && !no_space(ctx);
}

/*
 * Replicates that a filter was attached. A server whose writes are paused (CLIENT PAUSE, FAILOVER)
 * ends at once if a command replicates, so the next command after the pause does it.
 */
static void announce(struct redis_ctx *ctx, struct redis_string *name, struct value *v)
{
	v->unannounced = redis_AvoidReplicaTraffic();
	if (!v->unannounced && redis_GetContextFlags(ctx) & REDIS_MASTER)
		redis_Replicate(ctx, "BLM.ATTACH", "sc", name, v->name);
}

struct opened key_open(struct redis_ctx *ctx, struct redis_string *name, int mode, unsigned sorts)
{
	struct opened o = find(ctx, name, mode, sorts);
	char filter[BLM_NAME_MAX + 1];
	struct value *v;

	if (o.v && o.v->unannounced)
		announce(ctx, name, o.v);
	if (o.found != FOUND_NONE || !(sorts & 1 << SORT_FILTER) || !attaches(ctx, name, filter))
		return o;
	v = value_new(SORT_FILTER);
	if (!v || filter_attach(v, filter) < 0) {
		value_free(v);
		return o;
	}
	key_close(&o);
	o = find(ctx, name, REDIS_READ | REDIS_WRITE, sorts);
	redis_ModuleTypeSetValue(o.key, value_types[SORT_FILTER], v);
	announce(ctx, name, v);
	o.found = FOUND;
	o.v = v;
	return o;
}

void key_close(struct opened *o)
{
	if (o->key)
		redis_CloseKey(o->key);
	o->key = NULL;
}

bool key_get(struct redis_ctx *ctx, struct redis_string *name, int mode, unsigned sorts,
	     struct value **ret)
{
	struct opened o = key_open(ctx, name, mode, sorts);

	key_close(&o);
	*ret = o.v;
	if (o.found == FOUND_NONE)
		reply_error(ctx, "ERR not found");
	else if (o.found == FOUND_OTHER)
		reply_wrong_type(ctx);
	else if (!value_is_whole(o.v))
		reply_incomplete(ctx, o.v);
	return o.found == FOUND && value_is_whole(o.v);
}

bool key_open_new(struct redis_ctx *ctx, struct redis_string *name, unsigned sorts,
		  struct opened *ret)
{
	*ret = find(ctx, name, REDIS_READ | REDIS_WRITE, sorts);
	if (ret->found == FOUND_NONE)
		return true;
	key_close(ret);
	if (ret->found == FOUND)
		reply_error(ctx, "ERR item exists");
	else
		reply_wrong_type(ctx);
	return false;
}

void key_set(struct opened *o, struct value *v)
{
	redis_ModuleTypeSetValue(o->key, value_types[v->sort], v);
	key_close(o);
}

/* ---- Replies ---- */

int reply_error(struct redis_ctx *ctx, const char *text)
{
	return redis_ReplyWithError(ctx, text);
}

int reply_wrong_type(struct redis_ctx *ctx)
{
	return redis_ReplyWithError(ctx, "WRONGTYPE Operation against a key holding the wrong kind "
				    "of value");
}

int reply_failure(struct redis_ctx *ctx, int err)
{
	const char *message = blm_error_message();
	char text[512];

	snprintf(text, sizeof(text), "ERR %s", *message ? message : blm_strerror(err));
	return redis_ReplyWithError(ctx, text);
}

int reply_incomplete(struct redis_ctx *ctx, const struct value *v)
{
	char text[BLM_NAME_MAX + 128];

	if (v->pending)
		return redis_ReplyWithError(ctx, "ERR the filter is not whole: chunks of it are "
					    "missing; load them, or delete the key");
	if (!v->name)
		return redis_ReplyWithError(ctx, "ERR the filter could not be saved before the "
					    "server ended, or its file is gone; delete the key");
	snprintf(text, sizeof(text), "ERR %s: the store of this server has no such filter; create "
		 "it, or delete the key", v->name);
	return redis_ReplyWithError(ctx, text);
}

/* What a master or the server's own data has must be here, too. */
const char *no_space(struct redis_ctx *ctx)
{
	int must = REDIS_LOADING | REDIS_ASYNC_LOADING | REDIS_REPLICATED;

	return redis_GetContextFlags(ctx) & must || value_has_space() ? NULL : NO_DESCRIPTORS;
}

bool refuse_no_space(struct redis_ctx *ctx)
{
	const char *error = no_space(ctx);

	if (error)
		reply_error(ctx, error);
	return error;
}

int replicate_change(struct redis_ctx *ctx, const struct value *v, struct redis_string **argv,
		     int argc)
{
	size_t len;

	if (v->owned)
		return redis_ReplicateVerbatim(ctx);
	return redis_Replicate(ctx, redis_StringPtrLen(argv[0], &len), "!Av", argv + 1,
			       (size_t)argc - 1);
}

/* ---- Arguments ---- */

bool arg_name(const struct redis_string *arg, char ret[BLM_NAME_MAX + 1])
{
	size_t len;
	const char *text = redis_StringPtrLen(arg, &len);

	if (!len || len > BLM_NAME_MAX || memchr(text, 0, len))
		return false;
	memcpy(ret, text, len);
	ret[len] = '\0';
	return true;
}

bool store_name(struct redis_ctx *ctx, const struct redis_string *arg, char ret[BLM_NAME_MAX + 1])
{
	if (!store)
		reply_error(ctx, "ERR this server has no store; load the module with the argument "
			    "store DIR");
	else if (!arg_name(arg, ret) || store_owns(ret))
		reply_error(ctx, "ERR the name of a filter has 1 to 255 bytes, and does not begin "
			    "with " STORE_PREFIX);
	else
		return true;
	return false;
}

struct blm_key *keys_of(struct redis_string **argv, size_t count)
{
	struct blm_key *keys = malloc(count * sizeof(*keys));

	for (size_t i = 0; keys && i < count; i++)
		keys[i].bytes = redis_StringPtrLen(argv[i], &keys[i].len);
	return keys;
}

bool option_is(const struct redis_string *arg, const char *name)
{
	size_t len;
	const char *text = redis_StringPtrLen(arg, &len);

	return len == strlen(name) && !strncasecmp(text, name, len);
}

int option_find(struct redis_string **argv, int argc, int from, const char *name)
{
	for (int i = from; i < argc; i++)
		if (option_is(argv[i], name))
			return i;
	return 0;
}
