/*
 * remote.c - a filter in the keys of a server: creates its shards, and claims with one command a
 * shard for each batch
 */
#include "remote.h"
#include "base/lazylib.h"
#include "remote_nodes.h"

#include <math.h>

enum { KEYS_A_COMMAND = 1000 };		/* so that other clients do not wait for long */

struct remote {
	struct nodes *nodes;
	unsigned shards;
	char (*key)[BLM_NAME_MAX + 8];	/* of each shard */
	size_t *node_of;		/* ... which node was the last to have it */
};

static int name_shards(struct remote *r, const char *name)
{
	if (strlen(name) > BLM_NAME_MAX || !*name)
		return misuse("%s: the name of a filter has 1 to %d bytes", name, BLM_NAME_MAX);
	if (r->shards > 1 && strchr(name, '{'))
		return misuse("%s: a name with braces would put all shards on one node of a "
			      "cluster", name);
	r->key = calloc(r->shards, sizeof(*r->key));
	r->node_of = calloc(r->shards, sizeof(*r->node_of));
	if (!r->key || !r->node_of)
		return broken("out of memory");
	for (unsigned i = 0; i < r->shards; i++)
		if (r->shards == 1)
			snprintf(r->key[i], sizeof(r->key[i]), "%s", name);
		else
			snprintf(r->key[i], sizeof(r->key[i]), "%s:%u", name, i);
	return DONE;
}

int remote_open(struct remote **ret, const char *url, const char *name, unsigned shards)
{
	struct remote *r = calloc(1, sizeof(*r));
	const char *reason = blm_need(BLM_ZLIB);	/* its CRC-32 */
	int code;

	if (r)
		r->shards = shards;
	code = reason ? broken("--redis: %s", reason) : !r ? broken("out of memory")
		: name_shards(r, name);
	if (code == DONE)
		code = nodes_open(&r->nodes, url);
	if (code == DONE)
		*ret = r;
	else
		remote_close(r);
	return code;
}

void remote_close(struct remote *r)
{
	if (!r)
		return;
	nodes_close(r->nodes);
	free(r->node_of);
	free(r->key);
	free(r);
}

/* ---- Creating ---- */

static bool take_nothing(const struct order *o, const char *bytes, size_t count, void *context)
{
	(void)o, (void)bytes, (void)count, (void)context;
	return true;
}

/* Keys fall into shards as chance has it: four standard deviations more than a part. */
static uint64_t part_of(uint64_t capacity, unsigned shards)
{
	uint64_t part = (capacity + shards - 1) / shards;

	return shards == 1 ? part : part + (uint64_t)(4 * sqrt((double)part)) + 1;
}

int remote_create(struct remote *r, const struct blm_params *params)
{
	char capacity[24], rate[32];
	const char *words[12] = { "BLM.CREATE", NULL, "CAPACITY", capacity, "RATE", rate };
	int count = 6;

	snprintf(capacity, sizeof(capacity), "%llu",
		 (unsigned long long)part_of(params->capacity, r->shards));
	snprintf(rate, sizeof(rate), "%.17g", params->rate > 0 ? params->rate : 0.01);
	if (params->kind) {
		words[count++] = "KIND";
		words[count++] = params->kind;
	}
	if (params->options) {
		words[count++] = "OPTIONS";
		words[count++] = params->options;
	}
	for (unsigned i = 0; i < r->shards; i++) {
		struct order make = { .home = &r->node_of[i], .count = count, .words = words,
				      .fine = "ERR item exists" };

		words[1] = r->key[i];
		if (nodes_run(r->nodes, &make, 1, take_nothing, NULL))
			return FAILED;
	}
	return DONE;
}

/* ---- Claiming ---- */

/* The keys of a batch, sorted by shard, and the words of their commands. */
struct sorted {
	uint32_t *shard, *place;	/* of each key; which key is at each place */
	size_t *begin;			/* of each shard, and the end */
	const char **words;
	size_t *lengths;
	struct order *orders;
	size_t order_count;
};

struct answers {
	const struct sorted *s;
	uint64_t *bits;
};

static void sorted_free(struct sorted *s)
{
	free(s->shard);
	free(s->place);
	free(s->begin);
	free(s->words);
	free(s->lengths);
	free(s->orders);
}

static bool sorted_capacity(struct sorted *s, size_t count, unsigned shards)
{
	size_t commands = count / KEYS_A_COMMAND + (count < shards ? count : shards) + 1;

	*s = (struct sorted){
		.shard = malloc((count + 1) * sizeof(*s->shard)),
		.place = malloc((count + 1) * sizeof(*s->place)),
		.begin = calloc(shards + 1, sizeof(*s->begin)),
		.words = malloc((count + 2 * commands) * sizeof(*s->words)),
		.lengths = malloc((count + 2 * commands) * sizeof(*s->lengths)),
		.orders = malloc(commands * sizeof(*s->orders)),
	};
	return s->shard && s->place && s->begin && s->words && s->lengths && s->orders;
}

static void sort_keys(struct sorted *s, const struct blm_key *keys, size_t count, unsigned shards)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t crc = shards == 1 ? 0 : blm_zlib.crc32_z(0, keys[i].bytes, keys[i].len);

		s->shard[i] = (uint32_t)(crc * shards >> 32);
		s->begin[s->shard[i] + 1]++;
	}
	for (unsigned i = 0; i < shards; i++)
		s->begin[i + 1] += s->begin[i];
	for (size_t i = 0; i < count; i++)		/* begin[i] is the end of i then */
		s->place[s->begin[s->shard[i]]++] = (uint32_t)i;
	memmove(s->begin + 1, s->begin, shards * sizeof(*s->begin));
	s->begin[0] = 0;
}

static void write_orders(struct sorted *s, const struct remote *r, const struct blm_key *keys)
{
	size_t at = 0;

	for (unsigned i = 0; i < r->shards; i++)
		for (size_t from = s->begin[i]; from < s->begin[i + 1]; from += KEYS_A_COMMAND) {
			size_t to = s->begin[i + 1] - from < KEYS_A_COMMAND ? s->begin[i + 1]
				: from + KEYS_A_COMMAND;

			s->orders[s->order_count++] = (struct order){
				.home = &r->node_of[i], .first = from,
				.count = (int)(to - from + 2),
				.words = s->words + at, .lengths = s->lengths + at };
			s->words[at] = "BLM.CLAIM";
			s->lengths[at++] = strlen("BLM.CLAIM");
			s->words[at] = r->key[i];
			s->lengths[at++] = strlen(r->key[i]);
			for (size_t j = from; j < to; j++) {
				s->words[at] = keys[s->place[j]].bytes;
				s->lengths[at++] = keys[s->place[j]].len;
			}
		}
}

static bool take_bits(const struct order *o, const char *bytes, size_t len, void *context)
{
	const struct answers *a = context;
	size_t count = (size_t)o->count - 2;

	if (!bytes || len != (count + 7) / 8) {
		say("%s: the server gave no answers to BLM.CLAIM", o->words[1]);
		return false;
	}
	for (size_t i = 0; i < count; i++)
		if ((uint8_t)bytes[i / 8] >> i % 8 & 1) {
			size_t key = a->s->place[o->first + i];

			a->bits[key / 64] |= UINT64_C(1) << key % 64;
		}
	return true;
}

int remote_claim(struct remote *r, const struct blm_key *keys, size_t count, uint64_t *ret_bits)
{
	struct sorted s;
	struct answers a = { .s = &s, .bits = ret_bits };
	size_t failed;
	int code = DONE;

	memset(ret_bits, 0, (count + 63) / 64 * sizeof(*ret_bits));
	if (!sorted_capacity(&s, count, r->shards)) {
		code = broken("out of memory");
	} else {
		sort_keys(&s, keys, count, r->shards);
		write_orders(&s, r, keys);
		failed = nodes_run(r->nodes, s.orders, s.order_count, take_bits, &a);
		if (failed)
			code = broken("%s: %zu of %zu commands of this batch have no answer%s",
				      nodes_url(r->nodes), failed, s.order_count,
				      nodes_lost(r->nodes) ? "; some of their keys may be claimed "
				      "that were not printed" : "");
	}
	sorted_free(&s);
	return code;
}
