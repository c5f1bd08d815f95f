/* bf_ask.c - BF.*: asks for keys, and what a filter is */
#include "bf.h"
#include "payload.h"
#include "valkey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* BF commands take filters of any kind, too, so that clients of RedisBloom can use those. */
enum { BLOOM = 1 << SORT_BLOOM, ANY = BLOOM | 1 << SORT_FILTER };
#define MOST_KEYS 9e18			/* that a signed number of 64 bits can be */

/* ---- Asking ---- */

int bf_reply(struct redis_ctx *ctx, int yes)
{
	return settings.valkey ? redis_ReplyWithLongLong(ctx, yes) : redis_ReplyWithBool(ctx, yes);
}

/* A key that is missing, or of another type, holds nothing. */
int bf_exists(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct opened o;
	const char *bytes;
	size_t len;

	if (argc != 3)
		return redis_WrongArity(ctx);
	o = key_open(ctx, argv[1], REDIS_READ, ANY);
	key_close(&o);
	if (o.found == FOUND_OTHER && settings.valkey)
		return reply_wrong_type(ctx);
	if (o.found != FOUND)
		return bf_reply(ctx, 0);
	if (!o.v->f)
		return reply_incomplete(ctx, o.v);
	bytes = redis_StringPtrLen(argv[2], &len);
	return bf_reply(ctx, blm_contains(o.v->f, bytes, len));
}

int bf_mexists(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	size_t n = argc < 3 ? 0 : (size_t)argc - 2;
	struct opened o;
	struct blm_key *keys;
	uint64_t *bits;

	if (!n)
		return redis_WrongArity(ctx);
	o = key_open(ctx, argv[1], REDIS_READ, ANY);
	key_close(&o);
	if (o.found == FOUND_OTHER && settings.valkey)
		return reply_wrong_type(ctx);
	if (o.found == FOUND && !o.v->f)
		return reply_incomplete(ctx, o.v);
	keys = keys_of(argv + 2, n);
	bits = calloc((n + 63) / 64, sizeof(*bits));
	if (!keys || !bits) {
		free(keys);
		free(bits);
		return reply_error(ctx, "ERR out of memory");
	}
	if (o.found == FOUND)
		blm_contains_many(o.v->f, keys, n, bits);
	redis_ReplyWithArray(ctx, (long)n);
	for (size_t i = 0; i < n; i++)
		bf_reply(ctx, bit_at(bits, i));
	free(keys);
	free(bits);
	return REDIS_OK;
}

int bf_card(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct opened o;
	uint64_t keys = 0;
	int r;

	if (argc != 2)
		return redis_WrongArity(ctx);
	o = key_open(ctx, argv[1], REDIS_READ, ANY);
	key_close(&o);
	if (o.found == FOUND_NONE)
		return redis_ReplyWithLongLong(ctx, 0);
	if (o.found == FOUND_OTHER)
		return reply_wrong_type(ctx);
	if (!o.v->f)
		return reply_incomplete(ctx, o.v);
	r = blm_count(o.v->f, &keys, &(bool){ false });
	return r < 0 ? reply_failure(ctx, r) : redis_ReplyWithLongLong(ctx, (long long)keys);
}

/* ---- What a filter is ---- */

static const char *const fields[FIELDS] = { "Capacity", "Size", "Number of filters",
	"Number of items inserted", "Expansion rate" };
static const char *const field_options[FIELDS] = { "CAPACITY", "SIZE", "FILTERS", "ITEMS",
	"EXPANSION" };

/* Of a filter that BF.INSERT made with a seed or a tightening. */
static void stages_fields(const struct value *v, long long ret[FIELDS])
{
	struct blm_fact stages = { 0 };
	double keys = 0, here = (double)v->capacity;

	if (!v->capacity)
		return;
	ret[FIELD_CAPACITY] = (long long)v->capacity;
	if (v->fixed || blm_fact(v->f, 0, &stages) < 0 || strcmp(stages.name, "stages"))
		return;
	for (int i = 0; i < (int)stages.value; i++, here *= bloom_growth(v->expansion))
		keys += here;
	ret[FIELD_CAPACITY] = keys < MOST_KEYS ? (long long)keys : INT64_MAX;
	ret[FIELD_FILTERS] = (long long)stages.value;
	ret[FIELD_EXPANSION] = v->expansion;
}

int bf_fields(const struct value *v, long long ret[FIELDS])
{
	struct blm_info info = BLM_INFO;
	struct head h;
	int r = v->sort == SORT_BLOOM ? head_of(&h, v) : 0;

	if (r == 0)
		r = blm_info(v->f, &info);
	if (r < 0)
		return r;
	ret[FIELD_CAPACITY] = (long long)info.capacity;
	ret[FIELD_SIZE] = (long long)info.bytes;
	ret[FIELD_FILTERS] = info.parts > 1 ? info.parts : 1;
	ret[FIELD_ITEMS] = (long long)info.keys;
	ret[FIELD_EXPANSION] = v->sort == SORT_BLOOM && !v->fixed ? (long long)v->expansion : -1;
	if (v->sort != SORT_BLOOM) {
		stages_fields(v, ret);
		return 0;
	}
	ret[FIELD_CAPACITY] = 0;
	for (unsigned i = 0; i < h.links; i++) {
		struct link link;

		link_get(&link, &h, i);
		ret[FIELD_CAPACITY] += (long long)link.entries;
	}
	ret[FIELD_FILTERS] = h.links;
	ret[FIELD_ITEMS] = (long long)h.keys;
	return 0;
}

static void reply_field(struct redis_ctx *ctx, const long long values[FIELDS], int i)
{
	if (values[i] < 0)
		redis_ReplyWithNull(ctx);
	else
		redis_ReplyWithLongLong(ctx, values[i]);
}

int bf_info(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	long long values[FIELDS];
	struct value *v;
	int r, one = 0;

	if (argc < 2 || argc > 3)
		return redis_WrongArity(ctx);
	if (!key_get(ctx, argv[1], REDIS_READ, ANY, &v))
		return REDIS_OK;
	if (settings.valkey)
		return valkey_info(ctx, v, argc == 3 ? argv[2] : NULL);
	while (argc == 3 && one < FIELDS && !option_is(argv[2], field_options[one]))
		one++;
	if (one == FIELDS)
		return reply_error(ctx, "Invalid information value");
	r = bf_fields(v, values);
	if (r < 0)
		return reply_failure(ctx, r);
	if (argc == 2)
		redis_ReplyWithMap(ctx, FIELDS);
	else if (redis_GetContextFlags(ctx) & REDIS_RESP3)
		redis_ReplyWithMap(ctx, 1);
	else
		redis_ReplyWithArray(ctx, 1);
	for (int i = argc == 2 ? 0 : one; i < (argc == 2 ? FIELDS : one + 1); i++) {
		if (argc == 2 || redis_GetContextFlags(ctx) & REDIS_RESP3)
			redis_ReplyWithSimpleString(ctx, fields[i]);
		reply_field(ctx, values, i);
	}
	return REDIS_OK;
}

int bf_debug(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct value *v;
	struct head h;
	char line[256];
	int r;

	if (argc != 2)
		return redis_WrongArity(ctx);
	if (!key_get(ctx, argv[1], REDIS_READ, BLOOM, &v))
		return REDIS_OK;
	r = head_of(&h, v);
	if (r < 0)
		return reply_failure(ctx, r);
	redis_ReplyWithArray(ctx, (long)h.links + 1);
	snprintf(line, sizeof(line), "size:%llu", (unsigned long long)h.keys);
	redis_ReplyWithSimpleString(ctx, line);
	for (unsigned i = 0; i < h.links; i++) {
		struct link l;

		link_get(&l, &h, i);
		snprintf(line, sizeof(line), "bytes:%llu bits:%llu hashes:%u hashwidth:64 "
			 "capacity:%llu size:%llu ratio:%g", (unsigned long long)l.bytes,
			 (unsigned long long)l.bits, l.probes, (unsigned long long)l.entries,
			 (unsigned long long)l.keys, l.error);
		redis_ReplyWithSimpleString(ctx, line);
	}
	return REDIS_OK;
}
