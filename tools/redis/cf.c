/* cf.c - CF.*: cuckoo filters, as RedisBloom's clients expect them; they are in memory */
#include "chunks.h"
#include "command.h"
#include "cuckoo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUCKOO = 1 << SORT_CUCKOO };
#define NO_MORE_TABLES "Maximum expansions reached"

/* ---- Making ---- */

static uint64_t power_of_2(uint64_t least)
{
	uint64_t n = 1;

	while (n < least)
		n *= 2;
	return n;
}

/* @tables: slots, iterations and expansion are set */
static struct value *make(struct redis_ctx *ctx, struct cuckoo_tables *tables, long long capacity)
{
	const char *error = no_space(ctx);
	struct value *v;

	tables->count = 1;
	tables->buckets = power_of_2((uint64_t)capacity / tables->slots);
	if (tables->expansion)
		tables->expansion = (unsigned)power_of_2(tables->expansion);
	v = error ? NULL : cuckoo_new(tables);
	if (!v)
		reply_error(ctx, error ? error : "ERR Could not create filter");
	return v;
}

static struct cuckoo_tables usual(void)
{
	return (struct cuckoo_tables){ .slots = (unsigned)settings.cf_slots,
		.iterations = (unsigned)settings.cf_iterations,
		.expansion = (unsigned)settings.cf_expansion };
}

/* An option with a number. Return: false if there was a reply. */
static bool number_option(struct redis_ctx *ctx, struct redis_string **argv, int argc,
			  const char *name, long long least, long long most, unsigned *ret)
{
	int at = option_find(argv, argc, 3, name);
	long long number;
	char text[128];

	if (!at)
		return true;
	if (at + 1 == argc || redis_StringToLongLong(argv[at + 1], &number) != REDIS_OK) {
		snprintf(text, sizeof(text), "Couldn't parse %s", name);
	} else if (number < least || number > most) {
		snprintf(text, sizeof(text), "%s: value must be in the range [%lld, %lld]", name,
			 least, most);
	} else {
		*ret = (unsigned)number;
		return true;
	}
	reply_error(ctx, text);
	return false;
}

static int reserve(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct cuckoo_tables tables = usual();
	long long capacity;
	struct opened o;
	struct value *v;

	if (argc < 3 || argc > 9 || argc % 2 == 0)
		return redis_WrongArity(ctx);
	if (redis_StringToLongLong(argv[2], &capacity) != REDIS_OK)
		return reply_error(ctx, "Bad capacity");
	if (!number_option(ctx, argv, argc, "MAXITERATIONS", 1, ITERATIONS_MOST, &tables.iterations)
	    || !number_option(ctx, argv, argc, "BUCKETSIZE", 1, SLOTS_MOST, &tables.slots)
	    || !number_option(ctx, argv, argc, "EXPANSION", 0, EXPANSION_MOST, &tables.expansion))
		return REDIS_OK;
	if (capacity < 2 * (long long)tables.slots || capacity > CAPACITY_MOST)
		return reply_error(ctx, "Capacity must be in the range [2 * BUCKETSIZE, "
				   "1073741824]");
	if (!key_open_new(ctx, argv[1], CUCKOO, &o))
		return REDIS_OK;
	v = make(ctx, &tables, capacity);
	if (!v) {
		key_close(&o);
		return REDIS_OK;
	}
	key_set(&o, v);
	redis_ReplicateVerbatim(ctx);
	return redis_ReplyWithSimpleString(ctx, "OK");
}

/* ---- Adding ---- */

enum { NO_SPACE = -EXFULL, NO_TABLE = -E2BIG, NO_FILE = -EMFILE };

/* What a master or the append-only file has must be here, too, whatever the limit is here. */
static bool is_given(struct redis_ctx *ctx)
{
	int given = REDIS_LOADING | REDIS_ASYNC_LOADING | REDIS_REPLICATED;

	return redis_GetContextFlags(ctx) & given;
}

/* Return: 1, 0 (only_new, and it is there), NO_SPACE, NO_TABLE, NO_FILE or another errno. */
static int add_one(struct redis_ctx *ctx, struct value *v, const struct redis_string *item,
		   bool only_new)
{
	size_t len;
	const char *bytes = redis_StringPtrLen(item, &len);
	int r;

	if (only_new && cuckoo_contains(v, bytes, len))
		return 0;
	r = cuckoo_add(ctx, v, bytes, len);
	if (r != -EXFULL || !v->tables.expansion)
		return r;
	if (v->tables.count >= (is_given(ctx) ? TABLES_MOST : settings.cf_tables))
		return NO_TABLE;
	r = no_space(ctx) ? NO_FILE : cuckoo_grow(v);
	return r < 0 ? r : cuckoo_add(ctx, v, bytes, len);
}

static void reply_added(struct redis_ctx *ctx, int r)
{
	if (r == NO_SPACE)
		reply_error(ctx, "Filter is full");
	else if (r == NO_TABLE)
		reply_error(ctx, NO_MORE_TABLES);
	else if (r == NO_FILE)
		reply_error(ctx, NO_DESCRIPTORS);
	else if (r < 0)
		reply_failure(ctx, r);
	else
		redis_ReplyWithBool(ctx, r);
}

static void add_single(struct redis_ctx *ctx, struct value *v, const struct redis_string *item,
		       bool only_new, bool *took)
{
	int r = add_one(ctx, v, item, only_new);

	*took = r >= 0;
	reply_added(ctx, r);
}

/* -1 says that there was no room. @took: set for each item that is in the filter */
static void add_items(struct redis_ctx *ctx, struct value *v, struct redis_string **items,
		      int count, bool only_new, bool *took)
{
	bool bools = !only_new && redis_GetContextFlags(ctx) & REDIS_RESP3;

	redis_ReplyWithArray(ctx, count);
	for (int i = 0; i < count; i++) {
		int r = add_one(ctx, v, items[i], only_new);

		took[i] = r >= 0;
		if (bools)
			redis_ReplyWithBool(ctx, r > 0);
		else
			redis_ReplyWithLongLong(ctx, r < 0 ? -1 : r);
	}
}

/* The command that makes this filter, whatever the defaults are elsewhere. */
static void replicate_make(struct redis_ctx *ctx, struct redis_string *key, long long capacity,
			   const struct cuckoo_tables *tables)
{
	if (capacity >= 2 * (long long)tables->slots)
		redis_Replicate(ctx, "CF.RESERVE", "slclclcl", key, capacity, "BUCKETSIZE",
				(long long)tables->slots, "MAXITERATIONS",
				(long long)tables->iterations, "EXPANSION",
				(long long)tables->expansion);
}

/* A replica adds each key that is replicated, so keys that were refused here are left out. */
static int replicate_added(struct redis_ctx *ctx, struct redis_string *key,
			   struct redis_string **items, int count, bool only_new, const bool *took)
{
	if (!memchr(took, false, (size_t)count))
		return redis_ReplicateVerbatim(ctx);
	for (int i = 0; i < count; i++)
		if (took[i])
			redis_Replicate(ctx, only_new ? "CF.ADDNX" : "CF.ADD", "ss", key, items[i]);
	return REDIS_OK;
}

/*
 * RedisBloom takes no key once there is the last table, which it may take away again when keys are
 * deleted. Here the tables stay, so the room that deleted keys leave is used.
 */
static bool has_last_table(struct redis_ctx *ctx, const struct value *v)
{
	return v->tables.count > 1 && !v->tables.deletes
		&& v->tables.count >= settings.cf_tables && !is_given(ctx);
}

/* @capacity: for a new filter; 0: none is made */
static int add(struct redis_ctx *ctx, struct redis_string **argv, struct redis_string **items,
	       int count, long long capacity, bool only_new, bool single)
{
	struct opened o = key_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, CUCKOO);
	struct cuckoo_tables tables = usual();
	struct value *v = o.v;
	bool *took;
	int r;

	if (o.found == FOUND_OTHER || (o.found == FOUND_NONE && !capacity)) {
		key_close(&o);
		return o.found == FOUND_OTHER ? reply_wrong_type(ctx)
			: reply_error(ctx, "ERR not found");
	}
	if (o.found == FOUND_NONE) {
		v = make(ctx, &tables, capacity);
		if (!v) {
			key_close(&o);
			return REDIS_OK;
		}
		key_set(&o, v);
	}
	key_close(&o);
	if (!value_is_whole(v))
		return reply_incomplete(ctx, v);
	if (has_last_table(ctx, v))
		return reply_error(ctx, NO_MORE_TABLES);
	if (o.found == FOUND_NONE)
		replicate_make(ctx, argv[1], capacity, &tables);
	took = calloc((size_t)count, sizeof(*took));
	if (!took)
		return reply_failure(ctx, -ENOMEM);
	if (single)
		add_single(ctx, v, *items, only_new, took);
	else
		add_items(ctx, v, items, count, only_new, took);
	r = replicate_added(ctx, argv[1], items, count, only_new, took);
	free(took);
	return r;
}

static int add_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	if (argc != 3)
		return redis_WrongArity(ctx);
	return add(ctx, argv, argv + 2, 1, settings.cf_capacity, false, true);
}

static int addnx_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	if (argc != 3)
		return redis_WrongArity(ctx);
	return add(ctx, argv, argv + 2, 1, settings.cf_capacity, true, true);
}

static int insert(struct redis_ctx *ctx, struct redis_string **argv, int argc, bool only_new)
{
	long long capacity = settings.cf_capacity;
	bool create = true;
	char text[128];
	int at = 2;

	if (argc < 4)
		return redis_WrongArity(ctx);
	for (; at < argc && !option_is(argv[at], "ITEMS"); at++) {
		if (option_is(argv[at], "NOCREATE")) {
			create = false;
			continue;
		}
		if (!option_is(argv[at], "CAPACITY"))
			return reply_error(ctx, "Unknown argument received");
		if (++at == argc)
			return redis_WrongArity(ctx);
		if (redis_StringToLongLong(argv[at], &capacity) != REDIS_OK)
			return reply_error(ctx, "Bad capacity");
		if (capacity < 2 * settings.cf_slots || capacity > CAPACITY_MOST) {
			snprintf(text, sizeof(text), "Capacity must be in the range "
				 "[cf-bucket-size * 2, %d]", CAPACITY_MOST);
			return reply_error(ctx, text);
		}
	}
	if (at + 1 >= argc)
		return redis_WrongArity(ctx);
	return add(ctx, argv, argv + at + 1, argc - at - 1, create ? capacity : 0, only_new, false);
}

static int insert_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	return insert(ctx, argv, argc, false);
}

static int insertnx_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	return insert(ctx, argv, argc, true);
}

static int del(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct opened o;
	const char *bytes;
	size_t len;
	int r;

	if (argc != 3)
		return redis_WrongArity(ctx);
	o = key_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, CUCKOO);
	key_close(&o);
	if (o.found != FOUND)
		return reply_error(ctx, "Not found");
	if (!value_is_whole(o.v))
		return reply_incomplete(ctx, o.v);
	bytes = redis_StringPtrLen(argv[2], &len);
	r = cuckoo_remove(ctx, o.v, bytes, len);
	if (r < 0)
		return reply_failure(ctx, r);
	redis_ReplicateVerbatim(ctx);
	return redis_ReplyWithBool(ctx, r);
}

/* ---- Asking ---- */

/* Opens a key to ask. Return: false if there was a reply. v is NULL where there is no filter. */
static bool ask(struct redis_ctx *ctx, struct redis_string *name, const struct value **ret)
{
	struct opened o = key_open(ctx, name, REDIS_READ, CUCKOO);

	key_close(&o);
	*ret = o.v;
	if (!o.v || value_is_whole(o.v))
		return true;
	reply_incomplete(ctx, o.v);
	return false;
}

static bool holds(const struct value *v, const struct redis_string *item)
{
	size_t len;
	const char *bytes = redis_StringPtrLen(item, &len);

	return v && cuckoo_contains(v, bytes, len);
}

static int exists(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	const struct value *v;

	if (argc != 3)
		return redis_WrongArity(ctx);
	return ask(ctx, argv[1], &v) ? redis_ReplyWithBool(ctx, holds(v, argv[2])) : REDIS_OK;
}

static int mexists(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	const struct value *v;

	if (argc < 3)
		return redis_WrongArity(ctx);
	if (!ask(ctx, argv[1], &v))
		return REDIS_OK;
	redis_ReplyWithArray(ctx, argc - 2);
	for (int i = 2; i < argc; i++)
		redis_ReplyWithBool(ctx, holds(v, argv[i]));
	return REDIS_OK;
}

static int count(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	const struct value *v;
	const char *bytes;
	size_t len;

	if (argc != 3)
		return redis_WrongArity(ctx);
	if (!ask(ctx, argv[1], &v))
		return REDIS_OK;
	bytes = redis_StringPtrLen(argv[2], &len);
	return redis_ReplyWithLongLong(ctx, v ? (long long)cuckoo_count(v, bytes, len) : 0);
}

/* Keys go into the newest table that has room, and there they stay: there is nothing to compact. */
static int compact(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct opened o;

	if (argc != 2)
		return redis_WrongArity(ctx);
	o = key_open(ctx, argv[1], REDIS_READ, CUCKOO);
	key_close(&o);
	return o.found == FOUND ? redis_ReplyWithSimpleString(ctx, "OK")
		: reply_error(ctx, "Cuckoo filter was not found");
}

/* ---- What a filter is ---- */

static void reply_fact(struct redis_ctx *ctx, const char *name, uint64_t value)
{
	redis_ReplyWithSimpleString(ctx, name);
	redis_ReplyWithLongLong(ctx, (long long)value);
}

static int info_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct value *v;

	if (argc != 2)
		return redis_WrongArity(ctx);
	if (!key_get(ctx, argv[1], REDIS_READ, CUCKOO, &v))
		return REDIS_OK;
	redis_ReplyWithMap(ctx, 8);
	reply_fact(ctx, "Size", cuckoo_cells(&v->tables));
	reply_fact(ctx, "Number of buckets", v->tables.buckets);
	reply_fact(ctx, "Number of filters", v->tables.count);
	reply_fact(ctx, "Number of items inserted", cuckoo_keys(v));
	reply_fact(ctx, "Number of items deleted", v->tables.deletes);
	reply_fact(ctx, "Bucket size", v->tables.slots);
	reply_fact(ctx, "Expansion rate", v->tables.expansion);
	reply_fact(ctx, "Max iterations", v->tables.iterations);
	return REDIS_OK;
}

static int debug(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	char text[256];
	struct value *v;

	if (argc != 2)
		return redis_WrongArity(ctx);
	if (!key_get(ctx, argv[1], REDIS_READ, CUCKOO, &v))
		return REDIS_OK;
	snprintf(text, sizeof(text), "bktsize:%u buckets:%llu items:%llu deletes:%llu filters:%u "
		 "max_iterations:%u expansion:%u", v->tables.slots,
		 (unsigned long long)v->tables.buckets, (unsigned long long)cuckoo_keys(v),
		 (unsigned long long)v->tables.deletes, v->tables.count, v->tables.iterations,
		 v->tables.expansion);
	return redis_ReplyWithStringBuffer(ctx, text, strlen(text));
}

bool cf_commands(struct redis_ctx *ctx)
{
	static const struct command commands[] = {
		{ "cf.reserve", reserve, "write deny-oom",
		  "key capacity:int [BUCKETSIZE bucketsize:int] "
		  "[MAXITERATIONS maxiterations:int] [EXPANSION expansion:int]",
		  "Makes an empty cuckoo filter for a number of items." },
		{ "cf.add", add_command, "write deny-oom", "key item",
		  "Adds an item, once more if it is there. Makes the filter if it is missing." },
		{ "cf.addnx", addnx_command, "write deny-oom", "key item",
		  "Adds an item unless it may be there." },
		{ "cf.insert", insert_command, "write deny-oom",
		  "key [CAPACITY capacity:int] [NOCREATE] ITEMS item...",
		  "Adds items to a filter that it makes, if it is missing, by these options." },
		{ "cf.insertnx", insertnx_command, "write deny-oom",
		  "key [CAPACITY capacity:int] [NOCREATE] ITEMS item...",
		  "Adds the items that are not there yet." },
		{ "cf.exists", exists, "readonly fast", "key item",
		  "Says whether an item may be in the filter." },
		{ "cf.mexists", mexists, "readonly fast", "key item...",
		  "Says of each item whether it may be in the filter." },
		{ "cf.count", count, "readonly fast", "key item",
		  "Says how often an item may have been added." },
		{ "cf.del", del, "write fast", "key item",
		  "Takes out an item, which must have been added: else another one may be lost." },
		{ "cf.compact", compact, "readonly fast", "key",
		  "Changes nothing: keys fill older tables before a new table begins." },
		{ "cf.scandump", cf_scandump, "readonly fast", "key iterator:int",
		  "Gives the next piece of a filter, for CF.LOADCHUNK." },
		{ "cf.loadchunk", cf_loadchunk, "write deny-oom", "key iterator:int data",
		  "Makes a filter of the pieces that CF.SCANDUMP gave." },
		{ "cf.info", info_command, "readonly fast", "key",
		  "Tells size and contents of a filter." },
		{ "cf.debug", debug, "readonly fast", "key",
		  "Tells the parameters of a filter in one line." },
		{ 0 }
	};

	return commands_create(ctx, commands, "cuckoo");
}
