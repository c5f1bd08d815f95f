/* limits.c - what the machine allows on a filter's own pages: random lines read, chained, changed; keys hashed */
#include "bench.h"

enum { IN_FLIGHT = 64 };	/* more do not help: a core has fewer buffers for lines */

static volatile uint64_t sink;

/* Independent reads, each asked for IN_FLIGHT reads before. */
static int64_t read_lines(struct subject *s)
{
	const struct line *lines = s->mapping.lines;
	uint64_t ring[IN_FLIGHT], sum = 0, seed = s->seed;

	for (size_t i = 0; i < s->batch + IN_FLIGHT; i++) {
		uint64_t *at = &ring[i % IN_FLIGHT];

		if (i >= IN_FLIGHT)
			sum += lines[*at].word[i % 8];
		*at = below(mix(seed++), s->mapping.count);
		__builtin_prefetch(&lines[*at]);
	}
	s->seed = seed;
	sink = sum;
	return 0;
}

/* Each read's place depends on what the one before it read. */
static int64_t chain_lines(struct subject *s)
{
	const struct line *lines = s->mapping.lines;
	uint64_t x = 0, seed = s->seed;

	for (size_t i = 0; i < s->batch; i++)
		x = lines[below(mix(seed++ + x), s->mapping.count)].word[0] & 1;
	s->seed = seed;
	sink = x;
	return 0;
}

/* An atomic OR with a zero that the compiler cannot see: the line is taken and written, the filter stays as it is. */
static int64_t or_lines(struct subject *s)
{
	struct line *lines = s->mapping.lines;
	uint64_t ring[IN_FLIGHT], zero = 0, seed = s->seed;

	__asm__ volatile("" : "+r"(zero));
	for (size_t i = 0; i < s->batch + IN_FLIGHT; i++) {
		uint64_t *at = &ring[i % IN_FLIGHT];

		if (i >= IN_FLIGHT)
			__atomic_fetch_or(&lines[*at].word[i % 8], zero, __ATOMIC_RELAXED);
		*at = below(mix(seed++), s->mapping.count);
		__builtin_prefetch(&lines[*at], 1);
	}
	s->seed = seed;
	return 0;
}

static int64_t hash_keys(struct subject *s)
{
	return blm_hash_many(s->f, s->keys.key, s->keys.count, s->keys.hash);
}

const struct work limits[LIMITS] = {
	[LIMIT_READ]  = { .name = "read a random line", .run = read_lines },
	[LIMIT_CHAIN] = { .name = "read a chained line", .run = chain_lines },
	[LIMIT_OR]    = { .name = "atomic OR, random line", .run = or_lines },
	[LIMIT_HASH]  = { .name = "blm_hash_many", .which = ABSENT, .run = hash_keys },
};
