/*
 * range_close.c - ranges close to keys, asked of our range filter, of Grafite and of SuRF, all of
 * the same keys and of equal bits per key
 *
 * The keys are simulated numbers: times of visits in microseconds over a year, and first addresses
 * of networks of IPv4. SuRF comes in three sizes, with 0, 4 and 8 bits of a key behind its prefix;
 * each size is given to the two others. Without SuRF the sizes are 12, 16 and 20 bits per key.
 * Ranges are of 32 places; one with a key is not counted.
 */
#include "../info.h"
#include "range_keys.h"
#include "range_peers.h"
#include <bloomery.h>

#include <endian.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	FAILED = 2, MISUSED = 64,
	WIDTH = 32, MANY = 1 << 16, ROUNDS = 9,
	SIZES = 3, ANYWHERE = 3, PLACES		/* where the ranges are */
};

static const char usage[] =
	"usage: bench-range-close [--long] [microseconds|networks]\n"
	"\n"
	"Prints how often ranges without a key are answered yes, of 1,000,000 times and 100,000\n"
	"networks; with --long of 10,000,000 and 1,000,000. `denied`: ranges with a key that were\n"
	"answered no. Fails if ours denies one, or is wrong more often than it says, by more than\n"
	"5 standard errors.\n";

/* How far behind a key a range begins, at most. */
static const uint64_t behind[PLACES] = { WIDTH, 64 * WIDTH, 4096 * WIDTH, 0 };

struct keys {
	const char *label;
	uint64_t *number;
	size_t count;
	uint64_t span;
};

static void fail(const char *label, const char *what)
{
	fprintf(stderr, "bench-range-close: %s: %s\n", label, what);
	exit(FAILED);
}

static int64_t must(int64_t r)
{
	if (r < 0)
		fail("ours", blm_error_message());
	return r;
}

static double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct keys make_keys(bool networks, size_t count)
{
	struct keys k = { networks ? "networks" : "microseconds", malloc(count * sizeof(uint64_t)),
			  0, networks ? UINT64_C(1) << 32 : UINT64_C(31536000000000) };
	uint64_t state = 1;

	if (!k.number)
		fail(k.label, "no memory for the keys");
	for (size_t i = 0; i < count; i++) {
		uint64_t x = random_word(&state);

		k.number[i] = networks ? random_network(x, random_length(x)) : x % k.span;
	}
	qsort(k.number, count, sizeof(uint64_t), by_number);
	for (size_t i = 0; i < count; i++)	/* each once */
		if (!k.count || k.number[i] != k.number[k.count - 1])
			k.number[k.count++] = k.number[i];
	return k;
}

/* ---- Filters ---- */

static void *ours(const struct keys *k, double bits_per_key)
{
	struct blm_params p = BLM_PARAMS(.kind = "range", .hash = "ordered-string",
					 .rate = fmin(0.5, WIDTH * exp2(2 - bits_per_key)),
					 .options = "width=32", .seeds = &(uint64_t){ 1 },
					 .seed_count = 1);
	struct blm_filter *f;
	struct blm_build *b;

	must(blm_build_begin(&b, NULL, NULL, &p, NULL));
	for (size_t i = 0; i < k->count; i++) {
		uint64_t key = htobe64(k->number[i]);

		must(blm_build_add_fixed(b, &key, sizeof(key), 1));
	}
	must(blm_build_finish(b, &f));
	return f;
}

static size_t ours_bytes(void *it)
{
	struct blm_info *info = info_buffer();
	size_t bytes;

	must(blm_info(it, info));
	bytes = info->data_bytes;
	free(info);
	return bytes;
}

static void ours_ask(void *it, const uint64_t *first, const uint64_t *last, size_t count,
		     uint64_t *bits)
{
	static uint64_t number[2][MANY];
	static struct blm_key ends[2][MANY];

	for (size_t i = 0; i < count; i++) {
		number[0][i] = htobe64(first[i]);
		number[1][i] = htobe64(last[i]);
		ends[0][i] = (struct blm_key){ &number[0][i], 8 };
		ends[1][i] = (struct blm_key){ &number[1][i], 8 };
	}
	must(blm_contains_ranges(it, ends[0], ends[1], count, bits));
}

static void ours_free(void *it)
{
	blm_close(it);
}

#ifdef HAVE_GRAFITE
static void *grafite(const struct keys *k, double bits)
{
	return grafite_new(k->number, k->count, bits);
}
#endif

#ifdef HAVE_SURF
static void *surf(const struct keys *k, double bits)
{
	return surf_new(k->number, k->count, (unsigned)bits);
}
#endif

static const struct filter {
	const char *name;
	bool by_suffix;		/* `bits` are those of a suffix, not of all */
	void *(*make)(const struct keys *k, double bits);
	size_t (*bytes)(void *it);
	void (*ask)(void *it, const uint64_t *first, const uint64_t *last, size_t count,
		    uint64_t *bits);
	void (*free)(void *it);
} filters[] = {
#ifdef HAVE_SURF
	{ "SuRF", true, surf, surf_bytes, surf_ask, surf_free },
#endif
#ifdef HAVE_GRAFITE
	{ "Grafite", false, grafite, grafite_bytes, grafite_ask, grafite_free },
#endif
	{ "range", false, ours, ours_bytes, ours_ask, ours_free },
};

enum { FILTERS = sizeof(filters) / sizeof(filters[0]) };

static double bits_of(const struct filter *f, void *it, const struct keys *k)
{
	return (double)f->bytes(it) * 8 / (double)k->count;
}

/* Of that size, as near as it comes: by the size of a first one, a second one is corrected. */
static void *make_of_size(const struct filter *f, const struct keys *k, double bits)
{
	void *it = f->make(k, bits);
	double had;

	if (!it)
		return NULL;
	had = bits_of(f, it, k);
	f->free(it);
	return f->make(k, bits + bits - had);
}

/* ---- Questions ---- */

static uint64_t first[MANY], last[MANY], bits[MANY / 64];

static void make_questions(const struct keys *k, int place, uint64_t *state)
{
	for (size_t i = 0; i < MANY; i++) {
		uint64_t x = random_word(state);

		first[i] = place == ANYWHERE ? x % k->span
			 : k->number[x % k->count] + 1 + random_word(state) % behind[place];
		last[i] = first[i] + WIDTH - 1;
	}
}

struct answers {
	uint64_t asked, wrong;		/* ranges without a key; of these, answered yes */
	uint64_t denied;		/* ranges with a key, answered no */
	double rate;
};

static struct answers answers_of(const struct filter *f, void *it, const struct keys *k, int place)
{
	struct answers a = { 0 };
	uint64_t state = 2;

	for (int round = 0; round < 16; round++) {
		make_questions(k, place, &state);
		f->ask(it, first, last, MANY, bits);
		for (size_t i = 0; i < MANY; i++) {
			bool yes = bits[i / 64] >> i % 64 & 1;
			size_t at = count_below(k->number, k->count, first[i]);

			if (at < k->count && k->number[at] <= last[i]) {
				a.denied += !yes;
				continue;
			}
			a.wrong += yes;
			a.asked++;
		}
	}
	a.rate = (double)a.wrong / (double)a.asked;
	return a;
}

/* CPU ns a question, of all filters in each round. */
static void time_all(void *const its[FILTERS], const struct keys *k, double ret[FILTERS])
{
	double times[FILTERS][ROUNDS];
	uint64_t state = 3;

	for (int round = 0; round < ROUNDS; round++) {
		make_questions(k, ANYWHERE, &state);
		for (int i = 0; i < FILTERS; i++) {
			double begun = cpu_now();

			if (its[i])
				filters[i].ask(its[i], first, last, MANY, bits);
			times[i][round] = (cpu_now() - begun) / MANY;
		}
	}
	for (int i = 0; i < FILTERS; i++)
		ret[i] = median_of(times[i], ROUNDS);
}

/* What the filter says of its rate holds everywhere. */
static void check_ours(void *it, const struct answers a[PLACES])
{
	struct blm_fact said;

	must(blm_fact(it, 1, &said));
	for (int place = 0; place < PLACES; place++) {
		double asked = (double)a[place].asked;

		if (a[place].denied)
			fail("ours", "a key is missing");
		if (a[place].rate > said.value + 5 * sqrt(said.value / asked) + 1 / asked)
			fail("ours", "it is wrong more often than it says");
	}
}

static void report(const struct keys *k, const struct filter *f, void *it, double ns)
{
	struct answers a[PLACES];
	uint64_t denied = 0;

	if (!it) {
		printf("| %-12s | %-7s | more bits than the keys themselves take\n", k->label,
		       f->name);
		return;
	}
	for (int place = 0; place < PLACES; place++) {
		a[place] = answers_of(f, it, k, place);
		denied += a[place].denied;
	}
	if (f->make == ours)
		check_ours(it, a);
	printf("| %-12s | %-7s | %6.2f | %.6f | %.6f | %.6f | %.6f | %6llu | %6.1f |\n", k->label,
	       f->name, bits_of(f, it, k), a[ANYWHERE].rate, a[2].rate, a[1].rate, a[0].rate,
	       (unsigned long long)denied, ns);
	fflush(stdout);
}

static void measure(const struct keys *k, int size)
{
	double each = 12 + 4 * size, ns[FILTERS];
	void *its[FILTERS];

	for (int i = 0; i < FILTERS; i++) {
		its[i] = filters[i].by_suffix ? filters[i].make(k, 4 * size)
					      : make_of_size(&filters[i], k, each);
		if (filters[i].by_suffix)
			each = bits_of(&filters[i], its[i], k);
	}
	time_all(its, k, ns);
	for (int i = 0; i < FILTERS; i++) {
		report(k, &filters[i], its[i], ns[i]);
		if (its[i])
			filters[i].free(its[i]);
	}
}

int main(int argc, char **argv)
{
	bool is_long = argc > 1 && !strcmp(argv[1], "--long");
	const char *only = argv[1 + is_long];

	if (argc > 2 + is_long
	    || (only && strcmp(only, "microseconds") && strcmp(only, "networks"))) {
		fputs(usage, stderr);
		return MISUSED;
	}
	printf("| keys         | filter  | bits/k | anywhere | < 131072 | < 2048   | < 32     "
	       "| denied |     ns |\n"
	       "|--------------|---------|-------:|---------:|---------:|---------:|---------:"
	       "|-------:|-------:|\n");
	for (int networks = 0; networks < 2; networks++) {
		size_t count = (is_long ? 10000000 : 1000000) / (networks ? 10 : 1);
		struct keys k;

		if (only && networks != !strcmp(only, "networks"))
			continue;
		k = make_keys(networks, count);
		for (int size = 0; size < SIZES; size++)
			measure(&k, size);
		free(k.number);
	}
	return 0;
}
