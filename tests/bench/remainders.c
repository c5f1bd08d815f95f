/*
 * remainders.c - three d-left filters that double five times, and keep their rate or not
 *
 *   plain     remainders lose a bit in each doubling, as in lib/kind/dleft.c
 *   spare     the same, with 5 bits more in the first table: the option spare=5
 *   several   remainders of several lengths: a key that comes after a doubling has a long one again
 *
 * The last is that of N. Dayan, I. Bercea, P. Reviriego and R. Pagh, "InfiniFilter: Expanding
 * Filters to Infinity and Beyond", SIGMOD 2023, applied to d-left. A cell has one bit more than the
 * longest remainder: the remainder, a 0, and a 1 for each bit that it lost. An entry's place in a
 * subtable may depend only on bits that every entry has, here on the first 4 of the remainder. The
 * longest remainder has 2 bits more than in `plain`, so that after all doublings the rate is that
 * of `spare`.
 *
 * Cells are 16 bits wide here, so that all are compared the same way; `bits/k` is with the bits
 * that they need, and 2 for a counter.
 */
#include "range_keys.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	TABLES = 4, CELLS = 8, LOAD = 6, COUNT_BITS = 2,
	REMAINDER = 10, SHARED = 4,	/* bits: of the plain one's, and of the place */
	EMPTY = 0xffff,			/* no remainder is that long */
	DOUBLINGS = 5, ASKED = 1 << 20, ROUNDS = 5,
	PLAIN = 0, SPARE, SEVERAL, ALL,
};

typedef uint16_t lanes __attribute__((vector_size(16)));

struct table {
	bool several;			/* lengths; else all have `bits` */
	unsigned bits;
	uint64_t buckets;		/* in a subtable */
	lanes *bucket;
	uint64_t refused;
};

static uint64_t scaled(uint64_t x, uint64_t n)
{
	return (uint64_t)((unsigned __int128)x * n >> 64);
}

static uint64_t hash_of(uint64_t key)
{
	return random_word(&key);
}

static struct table table_of(bool several, unsigned bits, uint64_t buckets)
{
	struct table t = { several, bits, buckets,
			   aligned_alloc(64, TABLES * buckets * sizeof(lanes)), 0 };

	if (!t.bucket)
		abort();
	memset(t.bucket, 0xff, TABLES * buckets * sizeof(lanes));
	return t;
}

/* The bits of a cell. */
static unsigned width(const struct table *t)
{
	return t->bits + t->several;
}

/* A cell's bits that the place in a subtable may depend on: those that entries of any age have. */
static uint64_t placing(const struct table *t, uint64_t cell)
{
	return t->several ? cell >> (width(t) - SHARED) : cell;
}

/* The bucket of a subtable; `back`: from there to the bucket of the fingerprint. */
static uint64_t turned(const struct table *t, unsigned i, uint64_t bucket, uint64_t cell,
		       bool back)
{
	uint64_t turn = scaled(hash_of(placing(t, cell) * TABLES + i), t->buckets);

	return (bucket + (back ? t->buckets - turn : turn)) % t->buckets;
}

static void split(const struct table *t, uint64_t hash, uint64_t *ret_bucket, uint64_t *ret_cell)
{
	unsigned __int128 product = (unsigned __int128)hash * t->buckets;

	*ret_bucket = (uint64_t)(product >> 64);
	*ret_cell = (uint64_t)product >> (64 - t->bits) << t->several;
}

static void add_cell(struct table *t, uint64_t bucket, uint64_t cell)
{
	unsigned least = CELLS;
	lanes *to = NULL;

	for (unsigned i = 0; i < TABLES; i++) {
		lanes *b = &t->bucket[i * t->buckets + turned(t, i, bucket, cell, false)];
		unsigned used = 0;

		for (unsigned c = 0; c < CELLS; c++) {
			if ((*b)[c] == cell)
				return;
			used += (*b)[c] != EMPTY;
		}
		if (used < least) {
			least = used;
			to = b;
		}
	}
	if (to)
		(*to)[least] = (uint16_t)cell;
	t->refused += !to;
}

static void add(struct table *t, uint64_t key)
{
	uint64_t bucket, cell;

	split(t, hash_of(key), &bucket, &cell);
	add_cell(t, bucket, cell);
}

static bool any(lanes x)
{
	uint64_t halves[2];

	memcpy(halves, &x, sizeof(halves));
	return halves[0] | halves[1];
}

/* Where the lengths differ, a cell's trailing ones and the 0 before them are not compared. */
static bool has(const struct table *t, uint64_t key)
{
	uint64_t bucket, cell, found = 0;

	split(t, hash_of(key), &bucket, &cell);
	for (unsigned i = 0; i < TABLES; i++) {
		lanes b = t->bucket[i * t->buckets + turned(t, i, bucket, cell, false)],
		      apart = b ^ (uint16_t)cell;

		if (t->several)
			apart = (apart & ~(b ^ (b + 1))) | (lanes)(b == (uint16_t)EMPTY);
		found |= any((lanes)(apart == 0));
	}
	return found;
}

/* The first bit of each remainder goes to the bucket. */
static void grow(struct table *t)
{
	struct table to = table_of(t->several, t->bits - !t->several, 2 * t->buckets);

	for (uint64_t at = 0; at < TABLES * t->buckets; at++)
		for (unsigned c = 0; c < CELLS; c++) {
			uint64_t cell = t->bucket[at][c], mask = (UINT64_C(1) << width(t)) - 1,
				 bucket;

			if (cell == EMPTY)
				continue;
			bucket = turned(t, (unsigned)(at / t->buckets), at % t->buckets, cell,
					true);
			bucket = bucket << 1 | cell >> (width(t) - 1);
			cell = t->several ? (cell << 1 | 1) & mask : cell & mask >> 1;
			add_cell(&to, bucket, cell);
		}
	free(t->bucket);
	to.refused += t->refused;
	*t = to;
}

static double cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The share of absent keys that it has, and CPU ns a question, of all in turn. */
static void ask(const struct table *t, double ret_rate[ALL], double ret_ns[ALL])
{
	double times[ALL][ROUNDS];
	uint64_t yes[ALL] = { 0 };

	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < ALL; i++) {
			uint64_t from = (UINT64_C(1) << 40) + (uint64_t)round * ASKED;
			double begun = cpu_now();

			for (uint64_t k = from; k < from + ASKED; k++)
				yes[i] += has(&t[i], k);
			times[i][round] = (cpu_now() - begun) / ASKED;
		}
	for (int i = 0; i < ALL; i++) {
		ret_rate[i] = (double)yes[i] / ((double)ROUNDS * ASKED);
		ret_ns[i] = median_of(times[i], ROUNDS);
	}
}

static double bits_per_key(const struct table *t)
{
	return (double)(width(t) + COUNT_BITS) * CELLS / LOAD;
}

/* Is every key there? */
static bool has_all(const struct table *t, uint64_t keys)
{
	for (uint64_t k = 0; k < keys; k++)
		if (!has(t, k))
			return false;
	return true;
}

static void report(unsigned doubled, uint64_t keys, const struct table t[ALL])
{
	static const char *const names[ALL] = { "plain", "spare", "several" };
	double rate[ALL], ns[ALL];

	ask(t, rate, ns);
	for (int i = 0; i < ALL; i++)
		printf("| %7u | %7llu | %-7s | %6.2f | %.6f | %5.1f |\n", doubled,
		       (unsigned long long)keys, names[i], bits_per_key(&t[i]), rate[i], ns[i]);
	fflush(stdout);
}

int main(void)
{
	uint64_t keys = 100000, buckets = keys / (TABLES * LOAD), added = 0;
	struct table t[ALL] = { [PLAIN] = table_of(false, REMAINDER, buckets),
				[SPARE] = table_of(false, REMAINDER + DOUBLINGS, buckets),
				[SEVERAL] = table_of(true, REMAINDER + 2, buckets) };

	printf("| doubled |    keys | filter  | bits/k |     rate |    ns |\n"
	       "|--------:|--------:|---------|-------:|---------:|------:|\n");
	for (unsigned doubled = 0; doubled <= DOUBLINGS; doubled++, keys *= 2) {
		for (int i = 0; doubled && i < ALL; i++)
			grow(&t[i]);
		for (; added < keys; added++)
			for (int i = 0; i < ALL; i++)
				add(&t[i], added);
		for (int i = 0; i < ALL; i++)
			if (t[i].refused || !has_all(&t[i], keys)) {
				fprintf(stderr, "bench-remainders: a key is missing\n");
				return 2;
			}
		report(doubled, keys, t);
	}
	for (int i = 0; i < ALL; i++)
		free(t[i].bucket);
	return 0;
}
