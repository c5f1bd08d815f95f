/* limits.c - what the machine allows on a site's own memory: random lines read, chained, changed */
#include "bench.h"

#include <time.h>

volatile uint64_t sink;

/*
 * Into the first cache, or into the second, which on some processors waits for many more lines at
 * once.
 */
static inline __attribute__((always_inline)) void ask_for(const struct line *line, unsigned cache)
{
	if (cache == 1)
		__builtin_prefetch(line);
	else
		__builtin_prefetch(line, 0, 2);
}

/*
 * Independent reads, each asked for `ahead` reads before: in a ring, or a batch asked for and then
 * read. A core has fewer buffers for lines than the largest of these numbers.
 */
static inline __attribute__((always_inline)) uint64_t ring(const struct line *lines, uint64_t n,
							   size_t count, uint64_t seed,
							   unsigned ahead, unsigned cache)
{
	uint64_t at[256], sum = 0;

	for (size_t i = 0; i < count + ahead; i++) {
		uint64_t *slot = &at[i % ahead];

		if (i >= ahead)
			sum += lines[*slot].word[i % 8];
		*slot = below(mix(seed++), n);
		ask_for(&lines[*slot], cache);
	}
	return sum;
}

static inline __attribute__((always_inline)) uint64_t batches(const struct line *lines, uint64_t n,
							      size_t count, uint64_t seed,
							      unsigned ahead, unsigned cache)
{
	uint64_t at[256], sum = 0;

	for (size_t i = 0; i < count; i += ahead) {
		for (unsigned j = 0; j < ahead; j++) {
			at[j] = below(mix(seed++), n);
			ask_for(&lines[at[j]], cache);
		}
		for (unsigned j = 0; j < ahead; j++)
			sum += lines[at[j]].word[j % 8];
	}
	return sum;
}

#define WAY(shape, ahead, cache) \
	static __attribute__((noinline)) \
	uint64_t shape##ahead##_##cache(const struct line *lines, uint64_t n, size_t count, \
					uint64_t seed) \
	{ \
		return shape(lines, n, count, seed, ahead, cache); \
	}
WAY(ring, 16, 1)
WAY(ring, 32, 1)
WAY(ring, 64, 1)
WAY(batches, 32, 1)
WAY(batches, 64, 1)
WAY(batches, 128, 1)
WAY(batches, 256, 1)
WAY(ring, 16, 2)
WAY(ring, 32, 2)
WAY(ring, 64, 2)
WAY(batches, 32, 2)
WAY(batches, 64, 2)
WAY(batches, 128, 2)
WAY(batches, 256, 2)

/* The processor's own reach: no prefetch, all reads independent. */
static __attribute__((noinline)) uint64_t plain(const struct line *lines, uint64_t n, size_t count,
						uint64_t seed)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += lines[below(mix(seed++), n)].word[i % 8];
	return sum;
}

static uint64_t (*const ways[])(const struct line *, uint64_t, size_t, uint64_t) = {
	ring16_1, ring32_1, ring64_1, batches32_1, batches64_1, batches128_1, batches256_1,
	ring16_2, ring32_2, ring64_2, batches32_2, batches64_2, batches128_2, batches256_2,
	plain,
};

enum { FIRST_CACHE_WAYS = 7, PLAIN = ARRAY_LEN(ways) - 1 };

/* The least of five tries of each way. */
static void try_ways(struct site *s, double least[ARRAY_LEN(ways)])
{
	for (unsigned round = 0; round < 5; round++)
		for (unsigned w = 0; w < ARRAY_LEN(ways); w++) {
			struct timespec a, b;
			double t;

			clock_gettime(CLOCK_MONOTONIC, &a);
			sink = ways[w](s->lines, s->line_count, 2 * PIECE, s->seed);
			clock_gettime(CLOCK_MONOTONIC, &b);
			s->seed += 2 * PIECE;
			t = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
			least[w] = round && least[w] < t ? least[w] : t;
		}
}

static int least_of(const double *times, int count)
{
	int least = 0;

	for (int w = 1; w < count; w++)
		least = times[w] < times[least] ? w : least;
	return least;
}

static void find_ways(struct site *s)
{
	double least[ARRAY_LEN(ways)];

	try_ways(s, least);
	s->way[BEST] = least_of(least, ARRAY_LEN(ways));
	s->way[FIRST_CACHE] = least_of(least, FIRST_CACHE_WAYS);
	s->way[NOT_ASKED_FOR] = PLAIN;
}

static int64_t read_by(struct site *s, int way, size_t count)
{
	sink = ways[s->way[way]](s->lines, s->line_count, count, s->seed);
	s->seed += count;
	return 0;
}

int64_t read_lines(struct site *s, size_t count)
{
	return read_by(s, BEST, count);
}

int64_t read_into_first(struct site *s, size_t count)
{
	return read_by(s, FIRST_CACHE, count);
}

int64_t read_not_asked_for(struct site *s, size_t count)
{
	return read_by(s, NOT_ASKED_FOR, count);
}

/* Each read's place depends on what the one before it read. */
int64_t chain_lines(struct site *s, size_t count)
{
	uint64_t x = 0, seed = s->seed;

	for (size_t i = 0; i < count; i++)
		x = s->lines[below(mix(seed++ + x), s->line_count)].word[0] & 1;
	s->seed = seed;
	sink = x;
	return 0;
}

/*
 * An atomic OR with a zero that the compiler cannot see: the line is taken and written, the filter
 * stays as it is.
 */
int64_t or_lines(struct site *s, size_t count)
{
	enum { AHEAD = 32 };
	uint64_t at[AHEAD], zero = 0, seed = s->seed;

	__asm__ volatile("" : "+r"(zero));
	for (size_t i = 0; i < count + AHEAD; i++) {
		uint64_t *slot = &at[i % AHEAD];

		if (i >= AHEAD)
			__atomic_fetch_or(&s->lines[*slot].word[i % 8], zero, __ATOMIC_RELAXED);
		*slot = below(mix(seed++), s->line_count);
		__builtin_prefetch(&s->lines[*slot], 1);
	}
	s->seed = seed;
	return 0;
}

/*
 * Every page is mapped, for writing too, so that no measurement pays for it; the data stays as it
 * is.
 */
void touch_lines(struct site *s)
{
	uint64_t zero = 0;

	__asm__ volatile("" : "+r"(zero));
	for (uint64_t i = 0; i < s->line_count; i += 4096 / LINE_BYTES)
		__atomic_fetch_or(&s->lines[i].word[0], zero, __ATOMIC_RELAXED);
	if (s->line_count && s->way[BEST] < 0)
		find_ways(s);
}
