/* libbloom.c - a peer: libbloom, a classic filter in memory */
#include "bench.h"

#include <bloom.h>
#include <errno.h>
#include <limits.h>

static int64_t check(struct site *s, size_t count)
{
	int64_t yes = 0;

	for (size_t i = 0; i < count; i++)
		yes += bloom_check(s->it, s->piece.bytes[i], KEY_BYTES) == 1;
	return yes;
}

/* bloom_add() says 0 where the filter changed. */
static int64_t add(struct site *s, size_t count)
{
	int64_t yes = 0;

	for (size_t i = 0; i < count; i++)
		yes += bloom_add(s->it, s->piece.bytes[i], KEY_BYTES) == 0;
	return yes;
}

static const struct work works[] = {
	WORK_READ,
	{ .name = "contains", .limit = "read", .which = ABSENT, .run = check, .curve = true },
	{ .name = "contains", .limit = "read", .which = PRESENT, .run = check },
	{ .name = "add", .limit = "read", .which = FRESH, .run = add, .changes = true },
};

static int make(struct site *s)
{
	struct bloom *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	if (s->keys > INT_MAX / 10 || bloom_init(b, (int)s->keys, s->rate) != 0) {
		free(b);
		return -ERANGE;
	}
	s->it = b;
	s->data_bytes = s->bytes = (uint64_t)b->bytes;
	s->bits_per_key = (double)b->bits / (double)s->keys;
	s->predicted_rate = s->rate;
	s->probes = (unsigned)b->hashes;
	s->lines = (struct line *)(((uintptr_t)b->bf + LINE_BYTES - 1)
				   & ~(uintptr_t)(LINE_BYTES - 1));
	s->line_count = (uint64_t)b->bytes / LINE_BYTES - 1;
	return 0;
}

static int fill(struct site *s)
{
	add(s, s->piece.count);
	return 0;
}

static int noise(struct site *s)
{
	uint64_t *words = s->lines->word;

	for (uint64_t at = 0; at < s->line_count * (LINE_BYTES / sizeof(*words)); at++)
		words[at] = noise_word(0, at);
	return 0;
}

static void close_it(struct site *s)
{
	bloom_free(s->it);
	free(s->it);
	s->it = NULL;
}

const struct engine libbloom = {
	.name = "libbloom",
	.make = make, .fill = fill, .noise = noise, .close = close_it,
	.works = works, .work_count = ARRAY_LEN(works),
};
