/*
 * built.c - filters that are built from all their keys at once: bits a key against the lower bound,
 * their false-positive rate, and the time to build and to ask them; compared with two kinds that
 * take their keys one by one
 *
 * All filters of a size are built and asked in turns. The fastest of three builds counts (large
 * filters are built once), and the median of the questions. The largest filters are built, asked
 * and closed one after the other, so that they are never all in memory together.
 */
#include "../info.h"
#include <bloomery.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	FAILED = 2,
	MISUSED = 64,
	BUILDS = 3,
	ROUNDS = 9,
	MANY = 1 << 16,
	STRANGERS = 1 << 22,
	VALUE_BITS = 8,
	LARGE = 5000000,
	LARGEST = 50000000
};

static const char usage[] =
	"usage: bench-built [--long] [--threads N] [--rate P] [--kind KIND] [KEYS...]\n"
	"\n"
	"Prints a table for filters of so many keys (100000 1000000 10000000, and with --long "
	"100000000), in memory, built by N threads (1), for the\n"
	"rate P (1/256; where a row names another, that), of one kind or of all: bits a key, and "
	"how many times the least that there can be; the\n"
	"measured rate with its standard error; million keys a second that are built, with hashing "
	"them and putting them into order; ns a\n"
	"question, of many together and of one. Fails if a key is missing, a value is wrong, or a "
	"filter is wrong\n"
	"more often than it says, by more than 5 standard errors.\n";

static const struct kind {
	const char *label;
	struct blm_params params;
	bool values;			/* of VALUE_BITS each */
	double rate;			/* 0: the one that is asked for */
} kinds[] = {
	{ "blocked", BLM_PARAMS(.kind = "blocked") },
	{ "classic", BLM_PARAMS(.kind = "classic") },
	{ "golomb", BLM_PARAMS(.kind = "golomb") },
	{ "golomb, 2^-10", BLM_PARAMS(.kind = "golomb"), .rate = 0x1p-10 },
	{ "fuse", BLM_PARAMS(.kind = "fuse") },
	{ "fuse, -k 4", BLM_PARAMS(.kind = "fuse", .probes = 4) },
	{ "fuse, 2^-13", BLM_PARAMS(.kind = "fuse"), .rate = 0x1p-13 },
	{ "fuse, 2^-16", BLM_PARAMS(.kind = "fuse"), .rate = 0x1p-16 },
	{ "fuse, 2^-32", BLM_PARAMS(.kind = "fuse"), .rate = 0x1p-32 },
	{ "ribbon", BLM_PARAMS(.kind = "ribbon") },
	{ "ribbon, 0.01", BLM_PARAMS(.kind = "ribbon"), .rate = 0.01 },
	{ "bloomier, 8 bits", BLM_PARAMS(.kind = "bloomier", .options = "value-bits=8"),
	  .values = true },
	{ "exact", BLM_PARAMS(.kind = "exact") },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct measured {
	struct blm_filter *f;
	double build;				/* ns a key */
	double many[ROUNDS], one[ROUNDS];	/* ns a question */
	double wrong;				/* share of the strangers */
};

static unsigned threads = 1;
static double rate = 1.0 / 256;
static const char *only;		/* NULL: all kinds */

static int64_t must(int64_t r)
{
	if (r >= 0)
		return r;
	fprintf(stderr, "bench-built: %s\n", blm_error_message());
	exit(FAILED);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *times, size_t count)
{
	qsort(times, count, sizeof(*times), by_size);
	return times[count / 2];
}

static bool is_wanted(const char *name)
{
	struct blm_kind_info kind;

	if (only && strcmp(only, name))
		return false;
	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++)
		if (!strcmp(kind.name, name))
			return true;
	return false;
}

/* ---- Keys: numbers of 8 bytes; those from 2^40 on are strangers ---- */

static uint64_t numbers[MANY], values[MANY], bits[MANY / 64];
static struct blm_key keys[MANY];

static void take_keys(uint64_t from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		numbers[i] = from + i;
		values[i] = (from + i) * 0x9E3779B1 >> 8 & ((1 << VALUE_BITS) - 1);
		keys[i] = (struct blm_key){ &numbers[i], sizeof(numbers[i]) };
	}
}

/* Members and strangers in turn. */
static void take_both(uint64_t count, unsigned round)
{
	for (size_t i = 0; i < MANY; i++)
		numbers[i] = i % 2 ? (UINT64_C(1) << 41) + round * (uint64_t)MANY + i
				   : (round * (uint64_t)MANY + i) * 0x9E3779B97F4A7C15 % count;
}

/* ---- Building ---- */

static void build(struct measured *m, const struct kind *kind, uint64_t count, unsigned turn)
{
	const struct blm_build_options options = { .threads = threads };
	double begun = now();
	struct blm_params params = kind->params;
	struct blm_build *b;

	params.rate = kind->rate ? kind->rate : rate;
	params.capacity = count;
	m->f = blm_close(m->f);
	must(blm_build_begin(&b, NULL, NULL, &params, &options));
	for (uint64_t at = 0; at < count; at += MANY) {
		size_t here = count - at < MANY ? (size_t)(count - at) : MANY;

		take_keys(at, here);
		must(kind->values ? blm_build_put_many(b, keys, values, here)
				  : blm_build_add_many(b, keys, here));
	}
	must(blm_build_finish(b, &m->f));
	begun = (now() - begun) / (double)count;
	m->build = turn && m->build < begun ? m->build : begun;
}

/* ---- Asking ---- */

static void ask(struct measured *m, uint64_t count, unsigned round)
{
	enum { ONES = MANY / 4 };
	double begun;

	take_both(count, round);
	begun = now();
	must(blm_contains_many(m->f, keys, MANY, bits));
	m->many[round] = (now() - begun) / MANY;
	begun = now();
	for (size_t i = 0; i < ONES; i++)
		blm_contains(m->f, keys[i].bytes, keys[i].len);
	m->one[round] = (now() - begun) / ONES;
}

/* No key is missing, and how many others are there? */
static void check(struct measured *m, const struct kind *kind, uint64_t count)
{
	uint64_t wrong = 0, got[MANY];

	for (uint64_t at = 0; at < count; at += MANY) {
		size_t here = count - at < MANY ? (size_t)(count - at) : MANY;

		take_keys(at, here);
		if (must(kind->values ? blm_get_many(m->f, keys, here, got, bits)
				      : blm_contains_many(m->f, keys, here, bits))
			    != (int64_t)here
		    || (kind->values && memcmp(got, values, here * sizeof(*got)))) {
			fprintf(stderr, "bench-built: %s of %llu keys: one is missing\n",
				kind->label, (unsigned long long)count);
			exit(FAILED);
		}
	}
	for (uint64_t at = 0; at < STRANGERS; at += MANY) {
		take_keys((UINT64_C(1) << 40) + at, MANY);
		wrong += (uint64_t)must(blm_contains_many(m->f, keys, MANY, bits));
	}
	m->wrong = (double)wrong / STRANGERS;
}

static double error_of(double share)
{
	return sqrt(share * (1 - share) / STRANGERS);
}

static void print(struct measured *m, const struct kind *kind, uint64_t count)
{
	struct blm_info *info = info_buffer();
	double each, least;

	if (!info)
		exit(FAILED);
	must(blm_info(m->f, info));
	if (m->wrong
	    > info->rate_at_capacity + 5 * error_of(info->rate_at_capacity) + 1.0 / STRANGERS) {
		fprintf(stderr, "bench-built: %s of %llu keys: wrong at a rate of %g, not %g\n",
			kind->label, (unsigned long long)count, m->wrong, info->rate_at_capacity);
		exit(FAILED);
	}
	each = (double)info->data_bytes * 8 / (double)count;
	least = -log2(info->rate_at_capacity) + (kind->values ? VALUE_BITS : 0);
	printf("| %-16s | %8.0fk | %8.2f | %7.3f | %.7f ± %.7f | %6.1f | %6.1f | %6.1f |\n",
	       kind->label, (double)count / 1e3, each, each / least, m->wrong, error_of(m->wrong),
	       1e3 / m->build, median(m->many, ROUNDS), median(m->one, ROUNDS));
	free(info);
}

/* The kinds from `first` to before `end`. */
static void measure(uint64_t count, unsigned first, unsigned end)
{
	static struct measured all[KINDS];

	unsigned turns = count < LARGE ? BUILDS : 1;

	for (unsigned turn = 0; turn < turns; turn++)
		for (unsigned k = first; k < end; k++)
			if (is_wanted(kinds[k].params.kind))
				build(&all[k], &kinds[k], count, turn);
	for (unsigned k = first; k < end; k++)
		if (all[k].f)
			check(&all[k], &kinds[k], count);
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned k = first; k < end; k++)
			if (all[k].f)
				ask(&all[k], count, round);
	for (unsigned k = first; k < end; k++)
		if (all[k].f) {
			print(&all[k], &kinds[k], count);
			all[k].f = blm_close(all[k].f);
		}
	fflush(stdout);
}

static void measure_all(uint64_t count)
{
	unsigned together = count < LARGEST ? KINDS : 1;

	for (unsigned k = 0; k < KINDS; k += together)
		measure(count, k, k + together);
}

int main(int argc, char **argv)
{
	static const uint64_t usual[] = { 100000, 1000000, 10000000, 100000000 };
	size_t sizes = 3;
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++)
		if (!strcmp(argv[i], "--long"))
			sizes = 4;
		else if (!strcmp(argv[i], "--threads") && i + 1 < argc)
			threads = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--rate") && i + 1 < argc)
			rate = strtod(argv[++i], NULL);
		else if (!strcmp(argv[i], "--kind") && i + 1 < argc)
			only = argv[++i];
		else
			break;
	if ((i < argc && argv[i][0] == '-') || !threads || !(rate > 0 && rate < 1)) {
		fputs(usage, stderr);
		return MISUSED;
	}
	printf("| kind             |      keys | bits/key | x least | measured rate         |  "
	       "build |   many |    one |\n"
	       "|------------------|----------:|---------:|--------:|----------------------:|------"
	       "-:|-------:|-------:|\n");
	if (i == argc)
		for (size_t n = 0; n < sizes; n++)
			measure_all(usual[n]);
	for (; i < argc; i++) {
		uint64_t count = strtoull(argv[i], NULL, 10);

		if (!count) {
			fputs(usage, stderr);
			return MISUSED;
		}
		measure_all(count);
	}
	return 0;
}
