/*
 * rocksdb.c - peers: RocksDB's blocked Bloom filter ("FastLocalBloom") and its Ribbon filter, both
 * built from all keys at once
 */
#include "bench.h"
#include "rocksdb_glue.h"

#include <errno.h>

enum { AT_ONCE = 32 };

static int64_t contains(struct site *s, size_t count)
{
	int64_t yes = 0;

	for (size_t i = 0; i < count; i++)
		yes += rocks_contains(s->it, s->piece.bytes[i], KEY_BYTES);
	return yes;
}

static int64_t contains_many(struct site *s, size_t count)
{
	const void *keys[AT_ONCE];
	int64_t yes = 0;

	for (size_t i = 0; i < count; i += AT_ONCE) {
		size_t n = count - i < AT_ONCE ? count - i : AT_ONCE;

		for (size_t j = 0; j < n; j++)
			keys[j] = s->piece.bytes[i + j];
		yes += (int64_t)rocks_contains_many(s->it, keys, KEY_BYTES, n);
	}
	return yes;
}

static const struct work works[] = {
	WORK_READ,
	{ .name = "contains", .limit = "read", .which = ABSENT, .run = contains },
	{ .name = "contains", .limit = "read", .which = PRESENT, .run = contains },
	{ .name = "contains_many",
	  .limit = "read",
	  .which = ABSENT,
	  .run = contains_many,
	  .curve = true },
	{ .name = "contains_many", .limit = "read", .which = PRESENT, .run = contains_many },
};

/*
 * The bits a key that our blocked filters take for the same rate, so that the two are alike in all
 * but their makers.
 */
static int make(struct site *s, bool ribbon)
{
	struct blm_params params = BLM_PARAMS(.kind = "blocked", .capacity = s->keys,
					      .rate = s->rate);
	struct blm_plan plan;
	int r = blm_plan(&plan, &params);

	if (r < 0)
		return r;
	s->it = rocks_new(ribbon, plan.bits_per_key);
	s->bits_per_key = plan.bits_per_key;
	s->predicted_rate = s->rate;
	return s->it ? 0 : -ENOMEM;
}

static int make_bloom(struct site *s)
{
	return make(s, false);
}

static int make_ribbon(struct site *s)
{
	return make(s, true);
}

static int fill(struct site *s)
{
	for (size_t i = 0; i < s->piece.count; i++)
		rocks_add(s->it, s->piece.bytes[i], KEY_BYTES);
	return 0;
}

static void tell(struct site *s, const void *data, size_t bytes)
{
	s->data_bytes = s->bytes = bytes;
	s->bits_per_key = 8 * (double)bytes / (double)s->keys;
	s->lines = (struct line *)(((uintptr_t)data + LINE_BYTES - 1)
				   & ~(uintptr_t)(LINE_BYTES - 1));
	s->line_count = bytes / LINE_BYTES - 1;
}

static int finish(struct site *s)
{
	const void *data;
	size_t bytes;

	if (!rocks_finish(s->it, &data, &bytes))
		return -EIO;
	tell(s, data, bytes);
	return 0;
}

static int noise(struct site *s)
{
	size_t bytes = (size_t)(s->bits_per_key * (double)s->keys / 8) & ~(size_t)(LINE_BYTES - 1);
	uint64_t *words = rocks_finish_empty(s->it, bytes);

	if (!words)
		return -ENOMEM;
	for (size_t at = 0; at < bytes / sizeof(*words); at++)
		words[at] = noise_word(0, at);
	tell(s, words, bytes);
	return 0;
}

static void close_it(struct site *s)
{
	rocks_free(s->it);
	s->it = NULL;
}

const struct engine rocksdb_bloom = {
	.name = "rocksdb-bloom",
	.make = make_bloom, .fill = fill, .finish = finish, .noise = noise, .close = close_it,
	.works = works, .work_count = ARRAY_LEN(works),
};

const struct engine rocksdb_ribbon = {
	.name = "rocksdb-ribbon",
	.make = make_ribbon, .fill = fill, .finish = finish, .close = close_it, .slow = true,
	.works = works, .work_count = ARRAY_LEN(works),
};
