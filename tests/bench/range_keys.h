/* range_keys.h - numbers in order, simulated keys of range filters, and a median */
#ifndef RANGE_KEYS_H
#define RANGE_KEYS_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t random_word(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

/* For qsort(). */
static inline int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The length of a network of IPv4: from 16 to 24, more than half of them 24. */
static inline unsigned random_length(uint64_t x)
{
	static const uint8_t lengths[] = { 24, 24, 24, 24, 24, 24, 24, 24,
					   24, 23, 22, 22, 21, 20, 19, 16 };

	return lengths[x % sizeof(lengths)];
}

/* The first address of a random network. */
static inline uint64_t random_network(uint64_t x, unsigned length)
{
	return (x >> 32) >> (32 - length) << (32 - length);
}

/* How many of the numbers, which ascend, are below this one. */
static inline size_t count_below(const uint64_t *numbers, size_t count, uint64_t number)
{
	size_t from = 0, to = count;

	while (from < to) {
		size_t half = from + (to - from) / 2;

		if (numbers[half] < number)
			from = half + 1;
		else
			to = half;
	}
	return from;
}

static inline double median_of(double *times, int count)
{
	for (int i = 1; i < count; i++)
		for (int j = i; j && times[j] < times[j - 1]; j--) {
			double t = times[j];

			times[j] = times[j - 1];
			times[j - 1] = t;
		}
	return times[count / 2];
}

#endif
