/*
 * module.c - the module's entry: finds the server's functions, reads the arguments, registers types
 * and commands
 *
 *	loadmodule bloomery.so [store DIR] [bf-error-rate P] [bf-initial-size N] ...
 *
 * The module is called bf, as RedisBloom is, so that a server cannot have both.
 */
#include "command.h"
#include "config.h"
#include "cuckoo.h"
#include "earlier.h"
#include "job.h"
#include "persist.h"
#include "rdb.h"
#include "slow.h"
#include "store.h"

#include <errno.h>
#include <string.h>

enum { VERSION = 100, SWEEP_MS = 100 };

__attribute__((visibility("default")))
int RedisModule_OnLoad(struct redis_ctx *ctx, struct redis_string **argv, int argc);

/* Return: NULL, or what is wrong with the argument, as set() does. */
static const char *set_switch(const struct redis_string *value, bool *ret)
{
	*ret = option_is(value, "yes");
	return *ret || option_is(value, "no") ? NULL : "neither yes nor no";
}

/* Return: NULL, or what is wrong with the argument. */
static const char *set(const struct redis_string *name, const struct redis_string *value)
{
	const char *wrong;
	size_t len;

	if (option_is(name, "store"))
		return store_open(redis_StringPtrLen(value, &len)) < 0 ? "the store cannot be "
			"opened, or another server uses it" : NULL;
	if (option_is(name, "auto-attach"))
		return set_switch(value, &settings.auto_attach);
	if (option_is(name, "dump-in-thread"))
		return set_switch(value, &settings.threaded_dump);
	if (option_is(name, "copy-in-thread"))
		return set_switch(value, &settings.threaded_copy);
	if (option_is(name, "compatible")) {
		settings.valkey = option_is(value, "valkey-bloom");
		return settings.valkey || option_is(value, "redisbloom") ? NULL
			: "neither redisbloom nor valkey-bloom";
	}
	if (option_is(name, "persist")) {
		persist_files = option_is(value, "files");
		return persist_files || option_is(value, "data") ? NULL : "neither data nor files";
	}
	if (config_argument(name, value, &wrong))
		return wrong;
	return "the module has no such argument; see bloomery-redis(7)";
}

static bool read_arguments(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	size_t len;

	for (int i = 0; i < argc; i += 2) {
		const char *wrong = i + 1 < argc ? set(argv[i], argv[i + 1]) : "needs a value";

		if (wrong) {
			redis_Log(ctx, "warning", "%s: %s %s", redis_StringPtrLen(argv[i], &len),
				  wrong, blm_error_message());
			return false;
		}
	}
	if ((settings.auto_attach || persist_files) && !store) {
		redis_Log(ctx, "warning", "%s: needs the argument store DIR", persist_files
			  ? "persist files" : "auto-attach");
		return false;
	}
	return true;
}

/* After these events a value is that of another key than before. */
static int follow_key(struct redis_ctx *ctx, int type, const char *event, struct redis_string *key)
{
	struct spot spot = spot_of(ctx, key);
	struct opened o;

	if (strcmp(event, "rename_to") && strcmp(event, "move_to") && strcmp(event, "copy_to"))
		return REDIS_OK;
	o = key_open(ctx, key, REDIS_READ, 1 << SORT_BLOOM | 1 << SORT_FILTER);
	if (o.found == FOUND)
		store_moved(o.v, &spot);
	key_close(&o);
	return REDIS_OK;
}

static void follow_swap(struct redis_ctx *ctx, struct redis_event event, uint64_t sub, void *data)
{
	const struct redis_swapped *swapped = data;

	store_swap(swapped->first, swapped->second);
}

static void follow_loading(struct redis_ctx *ctx, struct redis_event event, uint64_t sub,
			   void *data)
{
	jobs_wait();
	earlier_forget();
}

static void follow_save(struct redis_ctx *ctx, struct redis_event event, uint64_t sub, void *data)
{
	if (sub == REDIS_SAVE_SYNC)
		jobs_wait();
	if (persist_files)
		persist_follow_save(ctx, sub);
}

static bool follow_data(struct redis_ctx *ctx)
{
	struct redis_event loading = { .id = REDIS_EVENT_LOADING, .version = 1 },
		save = { .id = REDIS_EVENT_PERSISTENCE, .version = 1 };

	return redis_SubscribeToServerEvent(ctx, loading, follow_loading) == REDIS_OK
		&& redis_SubscribeToServerEvent(ctx, save, follow_save) == REDIS_OK;
}

static bool follow_keys(struct redis_ctx *ctx)
{
	struct redis_event swap = { .id = REDIS_EVENT_SWAPDB, .version = 1 };

	return redis_SubscribeToKeyspaceEvents(ctx, REDIS_NOTIFY_GENERIC, follow_key) == REDIS_OK
		&& redis_SubscribeToServerEvent(ctx, swap, follow_swap) == REDIS_OK;
}

/* Once the server has loaded its data, a file that no key has is one of a key that is gone. */
static void sweep(struct redis_ctx *ctx, void *nothing)
{
	unsigned dropped;

	if (redis_GetContextFlags(ctx) & (REDIS_LOADING | REDIS_ASYNC_LOADING)) {
		redis_CreateTimer(ctx, SWEEP_MS, sweep, NULL);
		return;
	}
	dropped = store_sweep();
	if (dropped)
		redis_Log(ctx, "notice", "dropped %u filters of keys that are gone", dropped);
}

int RedisModule_OnLoad(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	if (api_load(ctx) || redis_IsModuleNameBusy("bf") || blm_survive_truncation() < 0)
		return REDIS_ERR;
	redis_SetModuleAttribs(ctx, "bf", VERSION, REDIS_API_VERSION);
	redis_SetModuleOptions(ctx, REDIS_HANDLES_IO_ERRORS);
	if (!read_arguments(ctx, argv, argc) || !configs_create(ctx)
	    || cuckoo_watch_forks() != 0 || !types_create(ctx)
	    || !bf_commands(ctx) || !cf_commands(ctx) || !blm_commands(ctx))
		return REDIS_ERR;
	if (!follow_data(ctx) || (settings.threaded_dump && !dump_in_thread(ctx))
	    || (settings.threaded_copy && !copy_in_thread(ctx))
	    || (store && !follow_keys(ctx)))
		return REDIS_ERR;
	if (persist_files)
		persist_watch(ctx);
	if (store)
		redis_CreateTimer(ctx, SWEEP_MS, sweep, NULL);
	return REDIS_OK;
}
