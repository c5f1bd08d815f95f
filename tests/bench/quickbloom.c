/*
 * quickbloom.c - a peer: quickbloom, split blocks in memory, as many as a power of two; not for
 * several writers
 */
#include "bench.h"

#include <errno.h>
#include <quickbloom.h>

static int64_t contains(struct site *s, size_t count)
{
	int64_t yes = 0;

	for (size_t i = 0; i < count; i++)
		yes += qb_contains(s->it, s->piece.bytes[i], KEY_BYTES) != 0;
	return yes;
}

static int64_t contains_bulk(struct site *s, size_t count)
{
	return (int64_t)qb_contains_bulk(s->it, *s->piece.bytes, KEY_BYTES, count);
}

/* It does not say what was new. */
static int64_t insert(struct site *s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		qb_insert(s->it, s->piece.bytes[i], KEY_BYTES);
	return (int64_t)count;
}

static const struct work works[] = {
	{ .name = "contains", .limit = "read", .which = ABSENT, .run = contains },
	{ .name = "contains", .limit = "read", .which = PRESENT, .run = contains },
	{ .name = "contains_bulk", .limit = "read", .which = ABSENT, .run = contains_bulk },
	{ .name = "contains_bulk", .limit = "read", .which = PRESENT, .run = contains_bulk },
	{ .name = "insert", .limit = "read", .which = FRESH, .run = insert },
};

static int make(struct site *s)
{
	s->it = qb_new(qb_estimate_bits(s->keys, s->rate));
	if (!s->it)
		return -ENOMEM;
	s->data_bytes = s->bytes = qb_serialized_size(s->it);
	s->bits_per_key = (double)s->data_bytes * 8 / (double)s->keys;
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
	qb_free(s->it);
	s->it = NULL;
}

const struct engine quickbloom = {
	.name = "quickbloom",
	.make = make, .fill = fill, .close = close_it,
	.works = works, .work_count = ARRAY_LEN(works),
};
