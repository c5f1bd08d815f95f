/* bf.c - BF.*: makes Bloom filters and adds to them, as RedisBloom's clients expect it */
#include "bf.h"
#include "chunks.h"
#include "command.h"
#include "filter.h"
#include "valkey.h"

#include <errno.h>
#include <stdlib.h>

/* BF commands take filters of any kind, too, so that clients of RedisBloom can use those. */
enum { BLOOM = 1 << SORT_BLOOM, ANY = BLOOM | 1 << SORT_FILTER };
#define FULL "ERR non scaling filter is full"

/* ---- Making ---- */

static double capped(struct redis_ctx *ctx, double rate)
{
	if (rate <= RATE_MOST)
		return rate;
	redis_Log(ctx, "warning", "Error rate is capped at %f", RATE_MOST);
	return RATE_MOST;
}

static int parse_reserve(struct redis_ctx *ctx, struct redis_string **argv, int argc,
			 struct bloom_wish *ret)
{
	long long capacity, expansion = settings.expansion;
	int at = option_find(argv, argc, 4, "EXPANSION");
	bool fixed = !expansion || option_find(argv, argc, 4, "NONSCALING");
	double rate;

	if (redis_StringToDouble(argv[2], &rate) != REDIS_OK)
		return reply_error(ctx, "ERR bad error rate");
	if (!(rate > 0 && rate < 1))
		return reply_error(ctx, "ERR error rate must be in the range (0.000000, 1.000000)");
	if (redis_StringToLongLong(argv[3], &capacity) != REDIS_OK)
		return reply_error(ctx, "ERR bad capacity");
	if (capacity < 1 || capacity > CAPACITY_MOST)
		return reply_error(ctx, "ERR capacity must be in the range [1, 1073741824]");
	if (at && at + 1 == argc)
		return reply_error(ctx, "ERR no expansion");
	if (at && redis_StringToLongLong(argv[at + 1], &expansion) != REDIS_OK)
		return reply_error(ctx, "ERR bad expansion");
	if (at && fixed && expansion)
		return reply_error(ctx, "Nonscaling filters cannot expand");
	if (expansion < 0 || expansion > EXPANSION_MOST)
		return reply_error(ctx, "ERR expansion must be in the range [0, 32768]");
	*ret = (struct bloom_wish){ .rate = capped(ctx, rate), .capacity = (uint64_t)capacity,
		.expansion = (unsigned)expansion, .fixed = fixed || !expansion };
	return -1;
}

static struct value *make(struct redis_ctx *ctx, struct redis_string *key,
			  const struct bloom_wish *wish)
{
	struct spot spot = spot_of(ctx, key);
	const char *error = no_space(ctx);
	struct value *v = error ? NULL : bloom_new(wish, &spot);

	if (!v)
		reply_error(ctx, error ? error : "ERR could not create filter");
	return v;
}

static int reserve(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct bloom_wish wish;
	struct opened o;
	struct value *v;

	if (argc < 4 || argc > 7)
		return redis_WrongArity(ctx);
	if (settings.valkey ? valkey_reserve(ctx, argv, argc, &wish) >= 0
	    : parse_reserve(ctx, argv, argc, &wish) >= 0)
		return REDIS_OK;
	if (!key_open_new(ctx, argv[1], settings.valkey ? ANY : BLOOM, &o))
		return REDIS_OK;
	v = make(ctx, argv[1], &wish);
	if (!v) {
		key_close(&o);
		return REDIS_OK;
	}
	key_set(&o, v);
	if (settings.valkey)
		valkey_made(ctx, argv[1], v, NULL, 0);
	else
		redis_ReplicateVerbatim(ctx);
	return redis_ReplyWithSimpleString(ctx, "OK");
}

/* ---- Adding ---- */

/*
 * Other processes may claim in a file, so only a claim tells one of them that the key is new. Where
 * cells change both ways, a key that is added again is there twice, and a claim prevents that.
 */
static bool claims(const struct value *v)
{
	return v->name || v->both_ways;
}

/* A kind in memory that has no claims, like iblt. */
static bool must_add(const struct value *v, int64_t r)
{
	return v->both_ways && r == -EOPNOTSUPP;
}

static int add_one(struct value *v, const void *bytes, size_t len)
{
	uint64_t keys;
	int r;

	if (v->fixed) {
		if (blm_contains(v->f, bytes, len))
			return 0;
		if (blm_count(v->f, &keys, &(bool){ false }) == 0 && keys >= v->capacity)
			return -EXFULL;
	}
	r = claims(v) ? blm_claim(v->f, bytes, len) : blm_add(v->f, bytes, len);
	return must_add(v, r) ? blm_add(v->f, bytes, len) : r;
}

/* Return: 1: the key was new */
static int reply_added(struct redis_ctx *ctx, int r)
{
	if (r == -EXFULL)
		reply_error(ctx, FULL);
	else if (r < 0)
		reply_failure(ctx, r);
	else
		bf_reply(ctx, r);
	return r == 1;
}

/* A filter that is full ends the array with an error. Return: how many keys were new */
static int64_t add_singly(struct redis_ctx *ctx, struct value *v, struct redis_string **argv,
		       int count)
{
	int i, r = 0;
	int64_t added = 0;

	redis_ReplyWithArray(ctx, REDIS_ARRAY_LATER);
	for (i = 0; i < count && r >= 0; i++) {
		size_t len;
		const char *bytes = redis_StringPtrLen(argv[i], &len);

		r = add_one(v, bytes, len);
		added += reply_added(ctx, r);
	}
	redis_ReplySetArrayLength(ctx, i);
	return added;
}

static int64_t add_many(struct redis_ctx *ctx, struct value *v, struct redis_string **argv,
			int count)
{
	size_t n = (size_t)count;
	struct blm_key *keys = keys_of(argv, n);
	uint64_t *bits = calloc((n + 63) / 64, sizeof(*bits));
	int64_t r = keys && bits ? claims(v) ? blm_claim_many(v->f, keys, n, bits)
		: blm_add_many(v->f, keys, n, bits) : -ENOMEM;

	if (must_add(v, r))
		r = blm_add_many(v->f, keys, n, bits);
	if (r < 0) {
		reply_failure(ctx, (int)r);
	} else {
		redis_ReplyWithArray(ctx, count);
		for (size_t i = 0; i < n; i++)
			bf_reply(ctx, bit_at(bits, i));
	}
	free(keys);
	free(bits);
	return r;
}

/*
 * A change is replicated whatever it answers: a key that another process added to the file is not
 * new here, and the replicas do not have it.
 */
static int add(struct redis_ctx *ctx, struct redis_string **argv, struct redis_string **items,
	       int count, const struct bloom_wish *wish, bool single)
{
	struct opened o = key_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, ANY);
	struct value *v = o.v;
	int64_t added;

	if (o.found == FOUND_OTHER || (o.found == FOUND_NONE && !wish)) {
		key_close(&o);
		return o.found == FOUND_OTHER ? reply_wrong_type(ctx)
			: reply_error(ctx, "ERR not found");
	}
	if (o.found == FOUND_NONE) {
		v = make(ctx, argv[1], wish);
		if (!v) {
			key_close(&o);
			return REDIS_OK;
		}
		key_set(&o, v);
	}
	key_close(&o);
	if (!v->f)
		return reply_incomplete(ctx, v);
	if (filter_before_change(ctx, v) < 0)
		return reply_failure(ctx, -ENOMEM);
	if (single) {
		size_t len;
		const char *bytes = redis_StringPtrLen(*items, &len);

		added = reply_added(ctx, add_one(v, bytes, len));
	} else if (v->fixed) {
		added = add_singly(ctx, v, items, count);
	} else {
		added = add_many(ctx, v, items, count);
	}
	if (settings.valkey) {
		if (added > 0)
			redis_NotifyKeyspaceEvent(ctx, REDIS_NOTIFY_GENERIC, "bloom.add", argv[1]);
		if (o.found == FOUND_NONE)
			return valkey_made(ctx, argv[1], v, items, count);
	}
	if (o.found == FOUND_NONE)
		replicate_reserve(ctx, argv[1], wish);
	return replicate_change(ctx, v, argv, (int)(items - argv) + count);
}

static struct bloom_wish usual(void)
{
	return (struct bloom_wish){ .rate = settings.rate,
		.capacity = (uint64_t)settings.capacity,
		.expansion = (unsigned)settings.expansion, .fixed = !settings.expansion };
}

static int add_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct bloom_wish wish = usual();

	if (argc != 3)
		return redis_WrongArity(ctx);
	return add(ctx, argv, argv + 2, 1, &wish, true);
}

static int madd_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct bloom_wish wish = usual();

	if (argc < 3)
		return redis_WrongArity(ctx);
	return add(ctx, argv, argv + 2, argc - 2, &wish, false);
}

/* One option of BF.INSERT. Return: how many arguments it took; 0: there was a reply. */
static int parse_insert(struct redis_ctx *ctx, struct redis_string **argv, int left,
			struct bloom_wish *wish, bool *ret_create)
{
	long long number = 0;
	double rate = 0;

	if (option_is(*argv, "NOCREATE")) {
		*ret_create = false;
		return 1;
	}
	if (option_is(*argv, "NONSCALING")) {
		wish->fixed = true;
		return 1;
	}
	if (left < 2) {
		redis_WrongArity(ctx);
		return 0;
	}
	if (option_is(*argv, "ERROR")) {
		if (redis_StringToDouble(argv[1], &rate) != REDIS_OK || !(rate > 0 && rate < 1))
			return reply_error(ctx, "Bad error rate"), 0;
		wish->rate = capped(ctx, rate);
	} else if (option_is(*argv, "CAPACITY")) {
		if (redis_StringToLongLong(argv[1], &number) != REDIS_OK || number < 1
		    || number > CAPACITY_MOST)
			return reply_error(ctx, "Bad capacity"), 0;
		wish->capacity = (uint64_t)number;
	} else if (option_is(*argv, "EXPANSION")) {
		if (redis_StringToLongLong(argv[1], &number) != REDIS_OK || number < 0
		    || number > EXPANSION_MOST)
			return reply_error(ctx, "Bad expansion"), 0;
		wish->expansion = (unsigned)number;
	} else {
		return reply_error(ctx, "Unknown argument received"), 0;
	}
	return 2;
}

static int insert(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct bloom_wish wish = usual();
	bool create = true;
	int at = 2, took;

	if (settings.valkey || valkey_is_replicated(ctx, argv, argc)) {
		at = valkey_insert(ctx, argv, argc, &wish, &create);
		return at ? add(ctx, argv, argv + at, argc - at, create ? &wish : NULL, false)
			: REDIS_OK;
	}
	if (argc < 4)
		return redis_WrongArity(ctx);
	for (; at < argc && !option_is(argv[at], "ITEMS"); at += took) {
		took = parse_insert(ctx, argv + at, argc - at, &wish, &create);
		if (!took)
			return REDIS_OK;
	}
	if (at + 1 >= argc)
		return redis_WrongArity(ctx);
	wish.fixed = wish.fixed || !wish.expansion;
	return add(ctx, argv, argv + at + 1, argc - at - 1, create ? &wish : NULL, false);
}

/* ---- Commands ---- */

bool bf_commands(struct redis_ctx *ctx)
{
	static const struct command commands[] = {
		{ "bf.reserve", reserve, "write deny-oom",
		  "key error_rate:double capacity:int [EXPANSION expansion:int] [NONSCALING]",
		  "Makes an empty Bloom filter for a number of items and an error rate." },
		{ "bf.add", add_command, "write deny-oom", "key item",
		  "Adds an item, and says whether it is new. Makes the filter if it is missing." },
		{ "bf.madd", madd_command, "write deny-oom", "key item...",
		  "Adds items, and says of each whether it is new." },
		{ "bf.insert", insert, "write deny-oom",
		  "key [CAPACITY capacity:int] [ERROR error:double] "
		  "[EXPANSION expansion:int] [NOCREATE] [NONSCALING] ITEMS item...",
		  "Adds items to a filter that it makes, if it is missing, by these options." },
		{ "bf.exists", bf_exists, "readonly fast", "key item",
		  "Says whether an item may be in the filter." },
		{ "bf.mexists", bf_mexists, "readonly fast", "key item...",
		  "Says of each item whether it may be in the filter." },
		{ "bf.info", bf_info, "readonly fast",
		  "key [single_value:CAPACITY|SIZE|FILTERS|ITEMS|EXPANSION]",
		  "Tells capacity, size and contents of a filter." },
		{ "bf.card", bf_card, "readonly fast", "key",
		  "Counts the items that were new." },
		{ "bf.debug", bf_debug, "readonly fast", "key",
		  "Tells the parameters of a filter and of each of its stages." },
		{ "bf.scandump", bf_scandump, "readonly fast", "key iterator:int",
		  "Gives the next piece of a filter, for BF.LOADCHUNK." },
		{ "bf.loadchunk", bf_loadchunk, "write deny-oom", "key iterator:int data",
		  "Makes a filter of the pieces that BF.SCANDUMP gave." },
		{ 0 }
	};
	/* RedisBloom's category does not have it */
	static const struct command loading[] = { { "bf.load", valkey_load, "write deny-oom" },
						  { 0 } };

	return commands_create(ctx, commands, "bloom")
		&& commands_create(ctx, loading, settings.valkey ? "bloom" : "bloomery");
}
