/* blm.c - BLM.*: filters of any kind, made here or found in the store */
#include "command.h"
#include "filter.h"
#include "slow.h"
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANY = 1 << SORT_FILTER | 1 << SORT_BLOOM };
enum { SEEDS_TEXT = BLM_SEEDS_MAX * 21 };

/* ---- Making, attaching, detaching ---- */

struct words {
	char kind[BLM_NAME_MAX + 1], options[BLM_NAME_MAX + 1];
	uint64_t seeds[BLM_SEEDS_MAX];
	char seed_text[SEEDS_TEXT];
};

/* Numbers with commas between them. Return: false if they are none. */
static bool parse_seeds(const struct redis_string *arg, struct blm_params *p, struct words *w)
{
	size_t len;
	const char *text = redis_StringPtrLen(arg, &len);
	char *at = w->seed_text, *end;

	if (!len || len >= SEEDS_TEXT)
		return false;
	memcpy(at, text, len);
	at[len] = '\0';
	p->seeds = w->seeds;
	p->seed_count = 0;
	do {
		errno = 0;
		w->seeds[p->seed_count++] = strtoull(at, &end, 10);
		if (end == at || errno || (*end && *end != ','))
			return false;
		at = end + 1;
	} while (*end && p->seed_count < BLM_SEEDS_MAX);
	return !*end;
}

static const char *parse_option(struct redis_string **argv, struct blm_params *p, struct words *w)
{
	long long number;

	if (option_is(argv[0], "KIND") && arg_name(argv[1], w->kind)) {
		p->kind = w->kind;
		return filter_sets_bits(w->kind) || filter_is_both_ways(w->kind) ? NULL
			: "ERR KIND: the server makes no filters of this kind; make one in the "
			  "store with `bloomery create`, and attach the key with BLM.ATTACH";
	}
	if (option_is(argv[0], "OPTIONS") && arg_name(argv[1], w->options)) {
		p->options = w->options;
		return NULL;
	}
	if (option_is(argv[0], "RATE"))
		return redis_StringToDouble(argv[1], &p->rate) == REDIS_OK && p->rate > 0
			&& p->rate < 1 ? NULL : "ERR RATE: not between 0 and 1";
	if (option_is(argv[0], "SEEDS"))
		return parse_seeds(argv[1], p, w) ? NULL
			: "ERR SEEDS: not numbers with commas between them";
	if (redis_StringToLongLong(argv[1], &number) != REDIS_OK)
		return "ERR an option of BLM.CREATE is unknown, or its value is not a number";
	if (number < 1)
		return "ERR a number of BLM.CREATE must be at least 1";
	if (option_is(argv[0], "CAPACITY"))
		p->capacity = (uint64_t)number;
	else if (option_is(argv[0], "CELLS"))
		p->cells = (uint64_t)number;
	else if (option_is(argv[0], "PROBES") && number <= BLM_PROBES_MAX)
		p->probes = (uint32_t)number;
	else
		return "ERR an option of BLM.CREATE is unknown, or its number is too large";
	return NULL;
}

/* With the seeds that were chosen here, so that replicas have the same bits. */
static int replicate_create(struct redis_ctx *ctx, const struct value *v,
			    struct redis_string **argv, int argc, struct words *w)
{
	struct blm_info info = BLM_INFO;
	size_t at = 0;

	if (blm_info(v->f, &info) < 0 || !info.seed_count)
		return redis_ReplicateVerbatim(ctx);
	for (uint32_t i = 0; i < info.seed_count; i++)
		at += (size_t)snprintf(w->seed_text + at, SEEDS_TEXT - at, i ? ",%llu" : "%llu",
				       (unsigned long long)info.seeds[i]);
	return redis_Replicate(ctx, "BLM.CREATE", "vcc", argv + 1, (size_t)argc - 1, "SEEDS",
			       w->seed_text);
}

/*
 * A filter takes its memory only when keys come, so a small command could promise all of it. What a
 * master or the server's own data has is taken. Return: true, and a reply, if it is too large.
 */
static bool is_too_large(struct redis_ctx *ctx, const struct value *v)
{
	int must = REDIS_LOADING | REDIS_ASYNC_LOADING | REDIS_REPLICATED;
	struct blm_info info = BLM_INFO;
	char text[256];

	if (redis_GetContextFlags(ctx) & must || blm_info(v->f, &info) < 0
	    || info.data_bytes <= (uint64_t)settings.blm_bytes)
		return false;
	snprintf(text, sizeof(text), "ERR BLM.CREATE: the filter would have %llu bytes, more than "
		 "%lld; ask for a smaller one, or load the module with a larger blm-bytes-most",
		 (unsigned long long)info.data_bytes, settings.blm_bytes);
	reply_error(ctx, text);
	return true;
}

static int create(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct words w;
	struct blm_params p = BLM_PARAMS(.sparse = true);
	const char *error = NULL;
	struct opened o;
	struct value *v;
	struct spot spot;

	if (argc < 2 || argc % 2)
		return redis_WrongArity(ctx);
	for (int i = 2; i < argc && !error; i += 2)
		error = parse_option(argv + i, &p, &w);
	if (!error && !p.capacity && !p.cells)
		error = "ERR BLM.CREATE needs CAPACITY or CELLS";
	if (!error)
		error = no_space(ctx);
	if (error)
		return reply_error(ctx, error);
	if (!key_open_new(ctx, argv[1], ANY, &o))
		return REDIS_OK;
	spot = spot_of(ctx, argv[1]);
	v = filter_new(&p, &spot);
	if (!v) {
		key_close(&o);
		return reply_failure(ctx, -ENOMEM);
	}
	if (is_too_large(ctx, v)) {
		key_close(&o);
		value_free(v);
		return REDIS_OK;
	}
	key_set(&o, v);
	if (p.seeds)
		redis_ReplicateVerbatim(ctx);
	else
		replicate_create(ctx, v, argv, argc, &w);
	return redis_ReplyWithSimpleString(ctx, "OK");
}

/* NONSCALING or SCALING, and the other parameters of BF.INSERT. Return: false if they are none. */
static bool parse_made(struct redis_string **argv, struct filter_made *ret)
{
	long long capacity, expansion;

	ret->fixed = option_is(argv[0], "NONSCALING");
	if ((!ret->fixed && !option_is(argv[0], "SCALING"))
	    || redis_StringToLongLong(argv[1], &capacity) != REDIS_OK || capacity < 1
	    || redis_StringToLongLong(argv[2], &expansion) != REDIS_OK || expansion < 0
	    || expansion > UINT32_MAX || redis_StringToDouble(argv[3], &ret->rate) != REDIS_OK
	    || redis_StringToDouble(argv[4], &ret->tightening) != REDIS_OK)
		return false;
	ret->capacity = (uint64_t)capacity;
	ret->expansion = (unsigned)expansion;
	return filter_made_is_good(ret);
}

/* The append-only file has this command for a filter that BLM.CREATE or BF.INSERT made. */
static int load(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct opened o;
	struct value *v;
	struct spot spot;
	struct filter_made made;
	const char *bytes;
	size_t count;

	if (argc != 3 && argc != 8)
		return redis_WrongArity(ctx);
	if (argc == 8 && !parse_made(argv + 3, &made))
		return reply_error(ctx, "ERR received bad data");
	if (refuse_no_space(ctx))
		return REDIS_OK;
	if (!key_open_new(ctx, argv[1], ANY, &o))
		return REDIS_OK;
	spot = spot_of(ctx, argv[1]);
	bytes = redis_StringPtrLen(argv[2], &count);
	v = filter_import("bloomery", bytes, count, &spot);
	if (!v) {
		key_close(&o);
		return reply_error(ctx, "ERR received bad data");
	}
	if (argc == 8)
		filter_set_made(v, &made);
	key_set(&o, v);
	redis_ReplicateVerbatim(ctx);
	return redis_ReplyWithSimpleString(ctx, "OK");
}

static int attach(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	bool loading = spot_of(ctx, NULL).loading;
	char name[BLM_NAME_MAX + 1];
	struct opened o;
	struct value *v;
	int r;

	if (argc != 3)
		return redis_WrongArity(ctx);
	if (!store_name(ctx, argv[2], name))
		return REDIS_OK;
	if (refuse_no_space(ctx))
		return REDIS_OK;
	if (!key_open_new(ctx, argv[1], ANY, &o))
		return REDIS_OK;
	v = value_new(SORT_FILTER);
	r = v ? filter_attach(v, name) : -ENOMEM;
	if (!v || !v->name || (r < 0 && !loading)) {
		key_close(&o);
		value_free(v);
		return reply_failure(ctx, r);
	}
	key_set(&o, v);
	redis_ReplicateVerbatim(ctx);
	return redis_ReplyWithSimpleString(ctx, "OK");
}

/* The key goes, the file stays: an owned one under the name that is given. */
static int detach(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	char name[BLM_NAME_MAX + 1];
	struct opened o;
	int r = 0;

	if (argc < 2 || argc > 3)
		return redis_WrongArity(ctx);
	o = key_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, ANY);
	if (o.found != FOUND || !o.v->name || (o.v->owned && argc != 3)
	    || (argc == 3 && (!arg_name(argv[2], name) || store_owns(name)))) {
		key_close(&o);
		return o.found == FOUND_NONE ? reply_error(ctx, "ERR not found")
			: o.found == FOUND_OTHER ? reply_wrong_type(ctx)
			: reply_error(ctx, "ERR BLM.DETACH needs a filter of the store, and a new "
				      "name where the server made it, which does not begin with "
				      STORE_PREFIX);
	}
	if (argc == 3)
		r = blm_store_rename(store, o.v->name, name);
	if (r == 0 && o.v->owned) {
		store_forget(o.v->name);
		o.v->owned = false;
	}
	if (r == 0)
		redis_DeleteKey(o.key);
	key_close(&o);
	if (r < 0)
		return reply_failure(ctx, r);
	redis_Replicate(ctx, "DEL", "s", argv[1]);
	return redis_ReplyWithSimpleString(ctx, "OK");
}

/* ---- Keys ---- */

typedef int64_t many(struct blm_filter *f, const struct blm_key *keys, size_t count,
		     uint64_t *ret_bits);

/* Key i is bit i % 8 of byte i / 8. */
static void reply_bits(struct redis_ctx *ctx, const uint64_t *bits, size_t count)
{
	char *bytes = malloc((count + 7) / 8);

	for (size_t i = 0; bytes && i < (count + 7) / 8; i++)
		bytes[i] = (char)(bits[i / 8] >> i % 8 * 8);
	if (bytes)
		redis_ReplyWithStringBuffer(ctx, bytes, (count + 7) / 8);
	else
		reply_error(ctx, "ERR out of memory");
	free(bytes);
}

static int run_many(struct redis_ctx *ctx, struct redis_string **argv, int argc, many *call,
		    bool changes)
{
	size_t n = argc < 3 ? 0 : (size_t)argc - 2;
	struct value *v;
	struct blm_key *keys;
	uint64_t *bits;
	int64_t r;

	if (!n)
		return redis_WrongArity(ctx);
	if (!key_get(ctx, argv[1], changes ? REDIS_READ | REDIS_WRITE : REDIS_READ, ANY, &v))
		return REDIS_OK;
	if (changes && filter_before_change(ctx, v) < 0)
		return reply_failure(ctx, -ENOMEM);
	keys = keys_of(argv + 2, n);
	bits = calloc((n + 63) / 64, sizeof(*bits));
	r = keys && bits ? call(v->f, keys, n, bits) : -ENOMEM;
	if (r < 0)
		reply_failure(ctx, (int)r);
	else
		reply_bits(ctx, bits, n);
	free(keys);
	free(bits);
	return changes ? replicate_change(ctx, v, argv, argc) : REDIS_OK;
}

static int claim(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	return run_many(ctx, argv, argc, blm_claim_many, true);
}

static int add(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	return run_many(ctx, argv, argc, blm_add_many, true);
}

static int remove_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	return run_many(ctx, argv, argc, blm_remove_many, true);
}

static int64_t contains_many(struct blm_filter *f, const struct blm_key *keys, size_t count,
			     uint64_t *ret_bits)
{
	return blm_contains_many(f, keys, count, ret_bits);
}

static int test(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	return run_many(ctx, argv, argc, contains_many, false);
}

/* ---- Values of keys ---- */

static int put(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct value *v;
	long long number;
	const char *bytes;
	size_t len;
	int r;

	if (argc != 4)
		return redis_WrongArity(ctx);
	if (redis_StringToLongLong(argv[3], &number) != REDIS_OK || number < 0)
		return reply_error(ctx, "ERR the value of a key is a number from 0 on");
	if (!key_get(ctx, argv[1], REDIS_READ | REDIS_WRITE, ANY, &v))
		return REDIS_OK;
	bytes = redis_StringPtrLen(argv[2], &len);
	r = filter_before_change(ctx, v);
	if (r == 0)
		r = blm_put(v->f, bytes, len, (uint64_t)number);
	if (r < 0)
		return reply_failure(ctx, r);
	redis_ReplyWithLongLong(ctx, r);
	return replicate_change(ctx, v, argv, argc);
}

static int get(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct value *v;
	const char *bytes;
	uint64_t number;
	size_t len;
	int r;

	if (argc != 3)
		return redis_WrongArity(ctx);
	if (!key_get(ctx, argv[1], REDIS_READ, ANY, &v))
		return REDIS_OK;
	bytes = redis_StringPtrLen(argv[2], &len);
	r = blm_get(v->f, bytes, len, &number);
	return r < 0 ? reply_failure(ctx, r) : !r ? redis_ReplyWithNull(ctx)
		: redis_ReplyWithLongLong(ctx, (long long)number);
}

/* ---- What a filter is ---- */

static void reply_text(struct redis_ctx *ctx, const char *name, const char *value)
{
	redis_ReplyWithSimpleString(ctx, name);
	redis_ReplyWithStringBuffer(ctx, value, strlen(value));
}

static void reply_number(struct redis_ctx *ctx, const char *name, uint64_t value)
{
	redis_ReplyWithSimpleString(ctx, name);
	redis_ReplyWithLongLong(ctx, (long long)value);
}

static int info_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct blm_info info = BLM_INFO;
	struct value *v;
	char text[40];
	int r;

	if (argc != 2)
		return redis_WrongArity(ctx);
	if (!key_get(ctx, argv[1], REDIS_READ, ANY, &v))
		return REDIS_OK;
	r = blm_info(v->f, &info);
	if (r < 0)
		return reply_failure(ctx, r);
	redis_ReplyWithMap(ctx, 12);
	reply_text(ctx, "name", v->name ? v->name : "");
	reply_text(ctx, "owned", v->owned ? "yes" : "no");
	reply_text(ctx, "kind", info.kind);
	reply_text(ctx, "hash", info.hash);
	reply_text(ctx, "options", info.options);
	reply_number(ctx, "cells", info.cells);
	reply_number(ctx, "probes", info.probes);
	reply_number(ctx, "capacity", info.capacity);
	snprintf(text, sizeof(text), "%.17g", info.rate);
	reply_text(ctx, "rate", text);
	reply_number(ctx, "keys", info.keys);
	reply_number(ctx, "bytes", info.bytes);
	reply_text(ctx, "path", info.path);
	return REDIS_OK;
}

bool blm_commands(struct redis_ctx *ctx)
{
	static const struct command commands[] = {
		{ "blm.create", create, "write deny-oom",
		  "key [CAPACITY capacity:int] [RATE rate:double] [KIND kind] "
		  "[OPTIONS options] [CELLS cells:int] [PROBES probes:int] [SEEDS seeds]",
		  "Makes a filter of any kind that the server takes." },
		{ "blm.attach", attach, "write deny-oom", "key name",
		  "Makes a key stand for a filter of the store, which other processes map." },
		{ "blm.detach", detach, "write", "key [name]",
		  "Deletes the key and keeps its file." },
		{ "blm.load", load, "write deny-oom" },
		{ "blm.claim", claim, "write deny-oom", "key item...",
		  "Adds items, and tells exactly one client or process that an item is new." },
		{ "blm.add", add, "write deny-oom", "key item...",
		  "Adds items, and says of each whether it is new." },
		{ "blm.remove", remove_command, "write", "key item...",
		  "Takes items out, and says of each whether it was there." },
		{ "blm.test", test, "readonly fast", "key item...",
		  "Says of each item whether it may be in the filter." },
		{ "blm.put", put, "write deny-oom", "key item number:int",
		  "Stores a number for an item." },
		{ "blm.get", get, "readonly fast", "key item",
		  "Gives the number that was stored for an item." },
		{ "blm.sync", blm_sync_command, "readonly", "key",
		  "Waits until all changes of the file survive a power cut." },
		{ "blm.union", blm_union_command, "write deny-oom", "key source...",
		  "Adds the filters of other keys to that of the first key.", LAST_SOURCE },
		{ "blm.publish", blm_publish_command, "write", "key name [WRITABLE]",
		  "Puts a copy of the filter into the store, where other processes map it." },
		{ "blm.dump", blm_dump_command, "readonly", "key",
		  "Gives what DUMP gives, without stopping the server." },
		{ "blm.copy", blm_copy_command, "write deny-oom",
		  "source destination [DB destination-db:int] [REPLACE]",
		  "Does what COPY does, without stopping the server.", LAST_DESTINATION },
		{ "blm.info", info_command, "readonly fast", "key",
		  "Tells kind, parameters and contents of a filter." },
		{ 0 }
	};

	return commands_create(ctx, commands, "bloomery");
}
