/* boost.c - a peer: Boost.Bloom, blocks of 256 bits in memory; not for several writers */
#include "bench.h"
#include "boost_glue.h"

#include <errno.h>

static int64_t contains(struct site *s, size_t count)
{
	return (int64_t)boost_contains(s->it, s->piece.bytes, count);
}

/* It does not say what was new. */
static int64_t insert(struct site *s, size_t count)
{
	boost_insert(s->it, s->piece.bytes, count);
	return (int64_t)count;
}

static const struct work works[] = {
	{ .name = "contains", .limit = "read", .which = ABSENT, .run = contains },
	{ .name = "contains", .limit = "read", .which = PRESENT, .run = contains },
	{ .name = "insert", .limit = "read", .which = FRESH, .run = insert },
};

static int make(struct site *s)
{
	s->it = boost_new(s->keys, s->rate);
	if (!s->it)
		return -ENOMEM;
	s->data_bytes = s->bytes = boost_bits(s->it) / 8;
	s->bits_per_key = (double)boost_bits(s->it) / (double)s->keys;
	s->predicted_rate = s->rate;
	s->probes = 8;
	return 0;
}

static int fill(struct site *s)
{
	insert(s, s->piece.count);
	return 0;
}

static void close_it(struct site *s)
{
	boost_free(s->it);
	s->it = NULL;
}

const struct engine boost_bloom = {
	.name = "boost-bloom",
	.make = make, .fill = fill, .close = close_it,
	.works = works, .work_count = ARRAY_LEN(works),
};
