/*
 * range.c - filters that answer for ranges: bits a key against log2(width/rate) + 2, the
 * false-positive rate of ranges anywhere and of ranges close to keys, and the CPU time of a
 * question against a question to a golomb filter with the same keys and bits
 *
 * The keys are simulated: times of visits in seconds over 30 years, in microseconds over a year,
 * and networks of IPv4 with the lengths that the routing table of the Internet has. Ranges with a
 * key are not counted.
 */
#include "../info.h"
#include "range_keys.h"
#include <bloomery.h>

#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FAILED = 2, MISUSED = 64, ROUNDS = 9, MANY = 1 << 16, ASKED = 1 << 20,
	SEEDS = 16 };

static const char usage[] =
	"usage: bench-range [--long] [KEYS]\n"
	"\n"
	"Prints a table of 1,000,000 times and 100,000 networks, with --long of 10,000,000 and "
	"1,000,000. KEYS is a name in the first column: only these. Fails if a key is missing, or\n"
	"a range is wrong more often than the filter says, by more than 5 standard errors.\n";

static const struct set {
	const char *label;
	uint64_t span;		/* of the keys; 0: networks */
	uint64_t width;
	double rate;
} sets[] = {
	{ "seconds", UINT64_C(946080000), 16, 0.01 },
	{ "microseconds", UINT64_C(31536000000000), 1024, 0.01 },
	{ "microseconds", UINT64_C(31536000000000), 1 << 16, 0.001 },
	{ "networks", 0, 256, 0.01 },
};

static int64_t must(int64_t r)
{
	if (r >= 0)
		return r;
	fprintf(stderr, "bench-range: %s\n", blm_error_message());
	exit(FAILED);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- Keys: first and last place of each, in order ---- */

struct keys {
	uint64_t *first, *last;
	size_t count;
};

static struct keys make_keys(const struct set *set, size_t count)
{
	struct keys k = { malloc(count * sizeof(uint64_t)), malloc(count * sizeof(uint64_t)), 0 };
	uint64_t state = 1;

	if (!k.first || !k.last)
		exit(FAILED);
	for (size_t i = 0; i < count; i++) {
		uint64_t x = random_word(&state);

		k.first[i] = set->span ? x % set->span
				       : random_network(x, random_length(x))
						 | random_length(x) << 1;
	}
	qsort(k.first, count, sizeof(uint64_t), by_number);
	for (size_t i = 0; i < count; i++)	/* each once */
		if (!k.count || k.first[i] != k.first[k.count - 1])
			k.first[k.count++] = k.first[i];
	return k;
}

/* A network is its address, and below that, where the address has zeros, twice its length. */
static uint64_t split(uint64_t network, unsigned *ret_length)
{
	*ret_length = (unsigned)(network >> 1 & 31);
	return network & ~UINT64_C(63);
}

static size_t network_text(char ret[32], uint64_t network)
{
	unsigned length;
	uint64_t a = split(network, &length);

	return (size_t)snprintf(ret, 32, "%u.%u.%u.0/%u", (unsigned)(a >> 24) & 255,
				(unsigned)(a >> 16) & 255, (unsigned)(a >> 8) & 255, length);
}

static size_t address_text(char ret[32], uint64_t a)
{
	return (size_t)snprintf(ret, 32, "%u.%u.%u.%u", (unsigned)(a >> 24) & 255,
				(unsigned)(a >> 16) & 255, (unsigned)(a >> 8) & 255,
				(unsigned)a & 255);
}

static void add_key(struct blm_build *b, const struct set *set, uint64_t key)
{
	uint64_t number = htobe64(key);
	char text[32];

	if (set->span)
		must(blm_build_add_fixed(b, &number, 8, 1));
	else
		must(blm_build_add_many(b, &(struct blm_key){ text, network_text(text, key) }, 1));
}

static struct blm_filter *build(const struct set *set, const struct keys *k, bool golomb,
				uint64_t seed, double *ret_ns)
{
	char options[40];
	struct blm_params p = BLM_PARAMS(.kind = "range",
					 .hash = set->span ? "ordered-string" : "ordered-ip",
					 .rate = set->rate, .options = options);
	struct blm_filter *f;
	struct blm_build *b;
	double begun = now();

	snprintf(options, sizeof(options), "width=%llu", (unsigned long long)set->width);
	if (golomb)
		p = (struct blm_params)BLM_PARAMS(.kind = "golomb",
						  .rate = set->rate / (double)set->width);
	p.seeds = &seed;	/* the same table each time */
	p.seed_count = 1;
	must(blm_build_begin(&b, NULL, NULL, &p, NULL));
	for (size_t i = 0; i < k->count; i++)
		add_key(b, set, k->first[i]);
	must(blm_build_finish(b, &f));
	*ret_ns = (now() - begun) / (double)k->count;
	return f;
}

/* ---- Questions ---- */

static char text[2][MANY][32];
static uint64_t number[2][MANY];
static struct blm_key ends[2][MANY];
static uint64_t bits[MANY / 64];

static void put_end(const struct set *set, int end, size_t i, uint64_t place)
{
	number[end][i] = htobe64(place);
	ends[end][i] = set->span
			     ? (struct blm_key){ &number[end][i], 8 }
			     : (struct blm_key){ text[end][i], address_text(text[end][i], place) };
}

/* Ranges of the width, or single addresses: anywhere, or close behind a key. */
static void make_questions(const struct set *set, const struct keys *k, uint64_t *state, bool near)
{
	for (size_t i = 0; i < MANY; i++) {
		uint64_t x = random_word(state), key = k->first[x % k->count],
			 wide = set->span ? set->width - 1 : 0;
		unsigned length;
		uint64_t from = !set->span
				      ? near ? split(key, &length) + (UINT64_C(1) << (32 - length))
							+ (x >> 40) % 64
					     : x >> 32
			      : near ? key + 1 + (x >> 40) % (8 * set->width)
				     : x % set->span;

		if (!set->span)
			from &= UINT32_MAX;
		put_end(set, 0, i, from);
		put_end(set, 1, i, from + wide);
	}
}

static bool holds(const struct set *set, const struct keys *k, size_t i)
{
	uint64_t from = be64toh(number[0][i]), to = be64toh(number[1][i]);
	size_t at;

	if (set->span) {
		at = count_below(k->first, k->count, from);
		return at < k->count && k->first[at] <= to;
	}
	for (unsigned length = 16; length <= 24; length++) {
		uint64_t network = from >> (32 - length) << (32 - length) | length << 1;

		at = count_below(k->first, k->count, network);
		if (at < k->count && k->first[at] == network)
			return true;
	}
	return false;
}

/* The share of ranges without a key that are answered yes. */
static double wrong_of(const struct set *set, const struct keys *k, const struct blm_filter *f,
		       bool near, uint64_t most, uint64_t *ret_asked)
{
	uint64_t state = 2, wrong = 0;

	for (*ret_asked = 0; *ret_asked < most; ) {
		make_questions(set, k, &state, near);
		must(blm_contains_ranges(f, ends[0], ends[1], MANY, bits));
		for (size_t i = 0; i < MANY; i++) {
			bool yes = bits[i / 64] >> i % 64 & 1;

			if (holds(set, k, i)) {
				if (!yes) {
					fprintf(stderr, "bench-range: %s: a key is missing\n",
						set->label);
					exit(FAILED);
				}
				continue;
			}
			wrong += yes;
			++*ret_asked;
		}
	}
	return (double)wrong / (double)*ret_asked;
}

/* Many at once: ranges, or single addresses. */
static void ask_many(const struct set *set, const struct blm_filter *f)
{
	if (set->span)
		must(blm_contains_ranges(f, ends[0], ends[1], MANY, bits));
	else
		must(blm_contains_many(f, ends[0], MANY, bits));
}

static void ask_one(const struct set *set, const struct blm_filter *f, size_t i)
{
	if (set->span)
		must(blm_contains_range(f, ends[0][i].bytes, ends[0][i].len, ends[1][i].bytes,
					ends[1][i].len));
	else
		must(blm_contains(f, ends[0][i].bytes, ends[0][i].len));
}

enum { OF_MANY, OF_ONE, GOLOMB_OF_MANY, GOLOMB_OF_ONE, TIMES };

/*
 * CPU ns a question: of many at once, and of one; and the same of the golomb filter. Its keys are
 * single ones, so networks are asked for single addresses.
 */
static void ask(const struct set *set, const struct keys *k, const struct blm_filter *f,
		const struct blm_filter *golomb, double ret[TIMES])
{
	double times[TIMES][ROUNDS];
	uint64_t state = 3;

	for (int round = 0; round < ROUNDS; round++) {
		double begun;

		make_questions(set, k, &state, false);
		/* the texts are then in the cache for both filters */
		must(blm_contains_many(golomb, ends[0], MANY, bits));
		begun = now();
		ask_many(set, f);
		times[OF_MANY][round] = (now() - begun) / MANY;
		begun = now();
		must(blm_contains_many(golomb, ends[0], MANY, bits));
		times[GOLOMB_OF_MANY][round] = (now() - begun) / MANY;
		begun = now();
		for (size_t i = 0; i < MANY / 4; i++)
			ask_one(set, f, i);
		times[OF_ONE][round] = (now() - begun) / (MANY / 4);
		begun = now();
		for (size_t i = 0; i < MANY / 4; i++)
			must(blm_contains(golomb, ends[0][i].bytes, ends[0][i].len));
		times[GOLOMB_OF_ONE][round] = (now() - begun) / (MANY / 4);
	}
	for (int i = 0; i < TIMES; i++)
		ret[i] = median_of(times[i], ROUNDS);
}

/*
 * Of ranges anywhere, and near keys. Few blocks of short networks cover much of all addresses, so
 * the rate of one filter of networks depends on its seed: it is the mean of some filters.
 */
static void wrongs(const struct set *set, const struct keys *k, const struct blm_filter *first,
		   double ret[2], uint64_t *ret_asked)
{
	uint64_t seeds = set->span ? 1 : SEEDS, asked;
	double ns;

	ret[0] = ret[1] = 0;
	*ret_asked = 0;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct blm_filter *f = seed > 1 ? build(set, k, false, seed, &ns) : NULL;

		for (int near = 0; near < 2; near++)
			ret[near] += wrong_of(set, k, f ? f : first, near, ASKED / seeds, &asked)
				/ (double)seeds;
		*ret_asked += asked;
		blm_close(f);
	}
}

static void measure(const struct set *set, size_t count)
{
	struct keys k = make_keys(set, count);
	struct blm_info *info = info_buffer();
	struct blm_filter *f, *golomb;
	struct blm_fact said;
	double ns, other, wrong[2], took[TIMES], each, stated;
	uint64_t asked = 0;

	golomb = build(set, &k, true, 1, &other);
	f = build(set, &k, false, 1, &ns);
	if (!info)
		exit(FAILED);
	must(blm_info(f, info));
	must(blm_fact(f, set->span ? 1 : 0, &said));
	stated = said.value;
	wrongs(set, &k, f, wrong, &asked);
	for (int near = 0; near < 2; near++) {
		if (wrong[near] > stated + 5 * sqrt(stated / (double)asked) + 1 / (double)asked) {
			fprintf(stderr, "bench-range: %s: wrong at a rate of %g, not %g\n",
				set->label, wrong[near], stated);
			exit(FAILED);
		}
	}
	ask(set, &k, f, golomb, took);
	each = (double)info->data_bytes * 8 / (double)k.count;
	printf("| %-12s | %8zu | %6llu | %5g | %6.2f | %6.2f | %.6f | %.6f | %.6f | %5.2f | %6.1f "
	       "| %6.1f | %6.1f | %6.1f | %5.2f | %5.2f |\n",
	       set->label, k.count, (unsigned long long)set->width, set->rate, each,
	       log2((double)set->width / set->rate) + 2, stated, wrong[0], wrong[1], 1e3 / ns,
	       took[OF_MANY], took[OF_ONE], took[GOLOMB_OF_MANY], took[GOLOMB_OF_ONE],
	       took[OF_MANY] / took[GOLOMB_OF_MANY], took[OF_ONE] / took[GOLOMB_OF_ONE]);
	fflush(stdout);
	blm_close(f), blm_close(golomb);
	free(info), free(k.first), free(k.last);
}

int main(int argc, char **argv)
{
	bool is_long = argc > 1 && !strcmp(argv[1], "--long");
	const char *only = argc == 2 + is_long ? argv[1 + is_long] : NULL;
	size_t done = 0;

	if (argc > 1 + is_long && !only) {
		fputs(usage, stderr);
		return MISUSED;
	}
	printf("| keys         |   number |  width |  rate | bits/k |  bound | stated   | anywhere "
	       "| near     | build |   many |    one | golomb |    one | ratio |   one |\n"
	       "|--------------|---------:|-------:|------:|-------:|-------:|---------:|---------:"
	       "|---------:|------:|-------:|-------:|-------:|-------:|------:|------:|\n");
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (!only || !strcmp(only, sets[i].label)) {
			measure(&sets[i], (is_long ? 10000000 : 1000000) / (sets[i].span ? 1 : 10));
			done++;
		}
	return done ? 0 : MISUSED;
}
