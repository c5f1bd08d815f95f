/* valkey.c - BF.* as valkey-bloom has it */
#include "bf.h"
#include "filter.h"
#include "payload.h"
#include "valkey.h"

#include <stdio.h>
#include <string.h>

enum { SEED = BLOOM_SEEDS * 8 };
/* of the library */
#define TIGHTENING_LEAST 0.1
#define TIGHTENING_MOST 0.95

/* The fields of BF.INFO. Only a filter that grows has the last two. */
enum { SHOWN_ERROR = 4, SHOWN_TIGHTENING = 6, SHOWN_MOST, SHOWN_COUNT };

static const struct {
	const char *option, *name;
	int field;
} shown[SHOWN_COUNT] = {
	{ "CAPACITY", "Capacity", FIELD_CAPACITY },
	{ "SIZE", "Size", FIELD_SIZE },
	{ "FILTERS", "Number of filters", FIELD_FILTERS },
	{ "ITEMS", "Number of items inserted", FIELD_ITEMS },
	[SHOWN_ERROR] = { "ERROR", "Error rate" },
	{ "EXPANSION", "Expansion rate", FIELD_EXPANSION },
	[SHOWN_TIGHTENING] = { "TIGHTENING", "Tightening ratio" },
	[SHOWN_MOST] = { "MAXSCALEDCAPACITY", "Max scaled capacity" },
};

/* ---- How far a chain grows ---- */

enum grown { GROWN, GROWN_TOO_LARGE, GROWN_TO_NO_RATE };

/*
 * The capacity of a chain before it would have too many links, or more bytes than `blm-bytes-most`.
 * @to: enough; 0: as far as it goes. Return: what ended it
 */
static enum grown grow(const struct bloom_wish *wish, long long to, long long *ret)
{
	double rate = wish->rate * (1 - wish->tightening), bytes = 0, keys = 0,
		capacity = (double)wish->capacity;

	for (unsigned i = 0; i < LINKS_MOST; i++, rate *= wish->tightening) {
		if (!(rate > 0) || !bloom_probes(bloom_bits_each(rate)))
			return GROWN_TO_NO_RATE;
		bytes += capacity * bloom_bits_each(rate) / 8;
		if (bytes > (double)settings.blm_bytes)
			return GROWN_TOO_LARGE;
		keys += capacity;
		*ret = keys < 9e18 ? (long long)keys : INT64_MAX;
		if (to && *ret >= to)
			return GROWN;
		capacity *= bloom_growth(wish->expansion);
	}
	return GROWN_TOO_LARGE;
}

/* ---- Options ---- */

/* Each returns NULL, or an error. */
static const char *parse_rate(const struct redis_string *arg, double *ret)
{
	if (redis_StringToDouble(arg, ret) != REDIS_OK)
		return "ERR bad error rate";
	return *ret > 0 && *ret < 1 ? NULL : "ERR (0 < error rate range < 1)";
}

static const char *parse_tightening(const struct redis_string *arg, double *ret)
{
	if (redis_StringToDouble(arg, ret) != REDIS_OK)
		return "ERR bad tightening ratio";
	if (!(*ret > 0 && *ret < 1))
		return "ERR (0 < tightening ratio range < 1)";
	return *ret >= TIGHTENING_LEAST && *ret <= TIGHTENING_MOST ? NULL
		: "ERR bad tightening ratio: this server takes 0.1 to 0.95";
}

static const char *parse_seed(const struct redis_string *arg, struct bloom_wish *wish)
{
	size_t len;
	const char *bytes = redis_StringPtrLen(arg, &len);

	if (len != SEED)
		return "ERR invalid seed";
	wish->seeded = true;
	for (unsigned i = 0; i < BLOOM_SEEDS; i++)
		memcpy(&wish->seeds[i], bytes + i * sizeof(*wish->seeds), sizeof(*wish->seeds));
	return NULL;
}

static const char *parse_capacity(const struct redis_string *arg, uint64_t *ret)
{
	long long number;

	if (redis_StringToLongLong(arg, &number) != REDIS_OK || number < 0)
		return "ERR bad capacity";
	*ret = (uint64_t)number;
	return !number ? "ERR (capacity should be larger than 0)"
		: number > CAPACITY_MOST ? "ERR operation exceeds bloom object memory limit" : NULL;
}

static const char *parse_expansion(const struct redis_string *arg, unsigned *ret)
{
	long long number;

	if (redis_StringToLongLong(arg, &number) != REDIS_OK || number < 1
	    || number > EXPANSION_MOST)
		return "ERR bad expansion";
	*ret = (unsigned)number;
	return NULL;
}

int valkey_reserve(struct redis_ctx *ctx, struct redis_string **argv, int argc,
		   struct bloom_wish *ret)
{
	struct bloom_wish wish = { .expansion = (unsigned)settings.expansion };
	const char *error = parse_rate(argv[2], &wish.rate);

	if (argc > 6)
		return redis_WrongArity(ctx);
	if (!error)
		error = parse_capacity(argv[3], &wish.capacity);
	if (!error && argc == 5)
		error = option_is(argv[4], "NONSCALING") ? NULL : "ERR unknown argument received";
	if (!error && argc == 6)
		error = option_is(argv[4], "EXPANSION") ? parse_expansion(argv[5], &wish.expansion)
			: "ERR unknown argument received";
	if (error)
		return reply_error(ctx, error);
	wish.fixed = argc == 5 || !wish.expansion;
	*ret = wish;
	return -1;
}

static const char *parse_value(struct redis_string **argv, struct bloom_wish *wish,
			       long long *ret_scale)
{
	if (option_is(*argv, "ERROR"))
		return parse_rate(argv[1], &wish->rate);
	if (option_is(*argv, "TIGHTENING"))
		return parse_tightening(argv[1], &wish->tightening);
	if (option_is(*argv, "CAPACITY"))
		return parse_capacity(argv[1], &wish->capacity);
	if (option_is(*argv, "EXPANSION"))
		return parse_expansion(argv[1], &wish->expansion);
	if (option_is(*argv, "SEED"))
		return parse_seed(argv[1], wish);
	if (redis_StringToLongLong(argv[1], ret_scale) != REDIS_OK)
		return "ERR bad capacity";
	return *ret_scale > 0 ? NULL : "ERR (capacity should be larger than 0)";
}

static bool has_value(const struct redis_string *arg)
{
	static const char *const names[] = { "ERROR", "TIGHTENING", "CAPACITY", "EXPANSION", "SEED",
		"VALIDATESCALETO" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (option_is(arg, names[i]))
			return true;
	return false;
}

static const char *check_scale(const struct bloom_wish *wish, long long scale)
{
	long long keys = 0;

	if (!scale)
		return NULL;
	if (wish->fixed)
		return "ERR cannot use NONSCALING and VALIDATESCALETO options together";
	switch (grow(wish, scale, &keys)) {
	case GROWN_TO_NO_RATE:
		return "ERR provided VALIDATESCALETO causes false positive to degrade to 0";
	case GROWN_TOO_LARGE:
		return "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit";
	case GROWN:
		break;
	}
	return NULL;
}

int valkey_insert(struct redis_ctx *ctx, struct redis_string **argv, int argc,
		  struct bloom_wish *wish, bool *ret_create)
{
	const char *error = NULL;
	long long scale = 0;
	int at = 2;

	if (argc < 2)
		return redis_WrongArity(ctx), 0;
	wish->tightening = TIGHTENING;
	for (; at < argc && !error && !option_is(argv[at], "ITEMS"); at++) {
		if (option_is(argv[at], "NOCREATE"))
			*ret_create = false;
		else if (option_is(argv[at], "NONSCALING"))
			wish->fixed = true;
		else if (!has_value(argv[at]))
			error = "ERR unknown argument received";
		else if (at + 1 == argc)
			return redis_WrongArity(ctx), 0;
		else
			error = parse_value(argv + at++, wish, &scale);
	}
	if (!error && at + 1 == argc)
		return redis_WrongArity(ctx), 0;
	wish->fixed = wish->fixed || !wish->expansion;
	if (!error)
		error = check_scale(wish, scale);
	if (error)
		return reply_error(ctx, error), 0;
	return at < argc ? at + 1 : at;
}

/* ---- Made ---- */

/* With what was a filter made? Return: 0, or a negative errno. */
static int wish_of(const struct value *v, struct bloom_wish *ret)
{
	bool made = v->sort == SORT_FILTER && v->capacity;
	struct blm_info info = BLM_INFO;
	int r = blm_info(v->f, &info);

	if (r < 0)
		return r;
	*ret = (struct bloom_wish){ .rate = made ? v->rate : info.rate, .capacity = v->capacity,
		.expansion = v->expansion, .fixed = v->fixed || (v->sort != SORT_BLOOM && !made),
		.tightening = made ? v->tightening : TIGHTENING,
		.seeded = made && info.seed_count == BLOOM_SEEDS };
	memcpy(ret->seeds, info.seeds, sizeof(ret->seeds));
	return 0;
}

void replicate_reserve(struct redis_ctx *ctx, struct redis_string *key,
		       const struct bloom_wish *wish)
{
	char rate[32];

	snprintf(rate, sizeof(rate), "%.17g", wish->rate);
	if (wish->fixed)
		redis_Replicate(ctx, "BF.RESERVE", "sclc", key, rate, (long long)wish->capacity,
				"NONSCALING");
	else
		redis_Replicate(ctx, "BF.RESERVE", "sclcl", key, rate, (long long)wish->capacity,
				"EXPANSION", (long long)wish->expansion);
}

/* BF.RESERVE has no words for these parameters. */
static void replicate_insert(struct redis_ctx *ctx, struct redis_string *key,
			     const struct bloom_wish *wish)
{
	char rate[32], tightening[32];
	long long capacity = (long long)wish->capacity, expansion = wish->expansion;
	const char *seed = (const char *)wish->seeds;

	snprintf(rate, sizeof(rate), "%.17g", wish->rate);
	snprintf(tightening, sizeof(tightening), "%.17g", wish->tightening);
	if (wish->fixed)
		redis_Replicate(ctx, "BF.INSERT", "sclcccbc", key, "CAPACITY", capacity, "ERROR",
				rate, "SEED", seed, (size_t)SEED, "NONSCALING");
	else if (wish->seeded)
		redis_Replicate(ctx, "BF.INSERT", "sclcccccbcl", key, "CAPACITY", capacity,
				"ERROR", rate, "TIGHTENING", tightening, "SEED", seed,
				(size_t)SEED, "EXPANSION", expansion);
	else
		redis_Replicate(ctx, "BF.INSERT", "sclcccccl", key, "CAPACITY", capacity, "ERROR",
				rate, "TIGHTENING", tightening, "EXPANSION", expansion);
}

/* The commands that make the same filter elsewhere, whatever the defaults are there. */
int valkey_made(struct redis_ctx *ctx, struct redis_string *key, const struct value *v,
		struct redis_string **items, int count)
{
	struct bloom_wish wish;

	redis_NotifyKeyspaceEvent(ctx, REDIS_NOTIFY_GENERIC, "bloom.reserve", key);
	if (wish_of(v, &wish) < 0)
		return REDIS_OK;
	if (v->sort == SORT_BLOOM)
		replicate_reserve(ctx, key, &wish);
	else
		replicate_insert(ctx, key, &wish);
	return count ? redis_Replicate(ctx, "BF.MADD", "sv", key, items, (size_t)count) : REDIS_OK;
}

bool valkey_is_replicated(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	int must = REDIS_LOADING | REDIS_ASYNC_LOADING | REDIS_REPLICATED;

	if (!(redis_GetContextFlags(ctx) & must))
		return false;
	for (int i = 2; i < argc && !option_is(argv[i], "ITEMS"); i++)
		if (option_is(argv[i], "SEED") || option_is(argv[i], "TIGHTENING"))
			return true;
	return false;
}

/* ---- BF.INFO ---- */

static void reply_field(struct redis_ctx *ctx, const long long values[FIELDS],
			const struct bloom_wish *wish, size_t i)
{
	long long most = 0;

	if (i == SHOWN_ERROR)
		redis_ReplyWithDouble(ctx, wish->rate);
	else if (i == SHOWN_TIGHTENING)
		redis_ReplyWithDouble(ctx, wish->tightening);
	else if (i == SHOWN_MOST)
		redis_ReplyWithLongLong(ctx, (grow(wish, 0, &most), most));
	else if (shown[i].field == FIELD_EXPANSION && wish->fixed)
		redis_ReplyWithNull(ctx);
	else
		redis_ReplyWithLongLong(ctx, values[shown[i].field]);
}

int valkey_info(struct redis_ctx *ctx, const struct value *v, const struct redis_string *field)
{
	size_t count, one = 0;
	long long values[FIELDS];
	struct bloom_wish wish;
	int r = bf_fields(v, values);

	if (r == 0)
		r = wish_of(v, &wish);
	if (r < 0)
		return reply_failure(ctx, r);
	count = wish.fixed ? SHOWN_TIGHTENING : SHOWN_COUNT;
	if (field && wish.seeded && option_is(field, "SEED"))
		return redis_ReplyWithStringBuffer(ctx, (const char *)wish.seeds, SEED);
	if (field) {
		while (one < count && !option_is(field, shown[one].option))
			one++;
		if (one == count)
			return reply_error(ctx, "ERR invalid information value");
		reply_field(ctx, values, &wish, one);
		return REDIS_OK;
	}
	redis_ReplyWithArray(ctx, 2 * (long)count);
	for (size_t i = 0; i < count; i++) {
		redis_ReplyWithSimpleString(ctx, shown[i].name);
		reply_field(ctx, values, &wish, i);
	}
	return REDIS_OK;
}

/* ---- BF.LOAD ---- */

/* The numbers of the payload, little-endian, before the bytes of its first filter. */
enum {
	LOAD_VERSION = 1, LOAD_EXPANSION = 1, LOAD_RATE = 5, LOAD_COUNT = 22, LOAD_LENGTH = 30,
	LOAD_HEAD = 38,
	LOAD_TAIL = 16,			/* after each filter: its items and its capacity */
};

/* The object that another server wrote: BF.LOAD takes those of one filter. NULL: *ret_error */
static struct value *load(struct redis_ctx *ctx, struct redis_string *key, const uint8_t *bytes,
			  size_t count, const char **ret_error)
{
	struct spot spot = spot_of(ctx, key);
	struct value *v = NULL;
	uint64_t filters, length;
	uint32_t expansion;
	int64_t capacity;

	*ret_error = "ERR bloom object decoding failed";
	if (count && bytes[0] != LOAD_VERSION)
		*ret_error = "ERR bloom object decoding failed. Unsupported version";
	if (count < LOAD_HEAD + LOAD_TAIL || bytes[0] != LOAD_VERSION)
		return NULL;
	memcpy(&filters, bytes + LOAD_COUNT, sizeof(filters));
	memcpy(&length, bytes + LOAD_LENGTH, sizeof(length));
	if (filters != 1)
		*ret_error = "ERR bloom object decoding failed: this server loads objects of one "
			"filter; add the items anew";
	else if (length == count - LOAD_HEAD - LOAD_TAIL)
		v = filter_import("rust-bloomfilter", bytes + LOAD_HEAD, length, &spot);
	memcpy(&expansion, bytes + LOAD_EXPANSION, sizeof(expansion));
	memcpy(&capacity, bytes + count - sizeof(capacity), sizeof(capacity));
	if (v && !expansion && capacity > 0) {
		v->fixed = true;
		v->capacity = (uint64_t)capacity;
		memcpy(&v->rate, bytes + LOAD_RATE, sizeof(v->rate));
		v->tightening = TIGHTENING;
	}
	return v;
}

int valkey_load(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	const char *bytes, *error = NULL;
	struct opened o;
	struct value *v;
	size_t count;

	if (argc != 3)
		return redis_WrongArity(ctx);
	if (refuse_no_space(ctx))
		return REDIS_OK;
	o = key_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, 0);
	bytes = redis_StringPtrLen(argv[2], &count);
	v = o.found != FOUND_NONE ? NULL
		: load(ctx, argv[1], (const uint8_t *)bytes, count, &error);
	if (!v) {
		key_close(&o);
		return reply_error(ctx, o.found == FOUND_NONE ? error
				   : "BUSYKEY Target key name already exists.");
	}
	key_set(&o, v);
	redis_ReplicateVerbatim(ctx);
	return redis_ReplyWithSimpleString(ctx, "OK");
}
