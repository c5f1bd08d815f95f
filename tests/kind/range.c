/*
 * range.c - the kind range: no range with a key is denied, its rates, its space, the orders of
 * keys, networks
 */
#include "handle/handle.h"
#include "hash/ordered.h"
#include "kind/golomb_search.h"
#include "kind/range.h"
#include "../bench/range_keys.h"
#include "suite.h"

#include <math.h>

/* ---- Filters of numbers, which are 8 bytes, big-endian ---- */

struct made {
	uint64_t width, seed, memory;
	double rate;
};

static struct blm_filter *build(const uint64_t *number, size_t count, struct made how)
{
	char options[40];
	struct blm_params p = BLM_PARAMS(.kind = "range", .rate = how.rate, .options = options,
					 .seeds = &how.seed, .seed_count = 1);
	struct blm_filter *f;
	struct blm_build *b;

	snprintf(options, sizeof(options), "width=%llu", (unsigned long long)how.width);
	OK(blm_build_begin(&b, NULL, NULL, &p,
			   &(struct blm_build_options){ .memory_bytes = how.memory }));
	for (size_t i = 0; i < count; i++)
		OK(blm_build_add_fixed(b, &(uint64_t){ htobe64(number[i]) }, 8, 1));
	OK(blm_build_finish(b, &f));
	return f;
}

static int ask(const struct blm_filter *f, uint64_t first, uint64_t last)
{
	uint64_t from = htobe64(first), to = htobe64(last);

	return blm_contains_range(f, &from, 8, &to, 8);
}

/* Of numbers in order. */
static bool has(const uint64_t *number, size_t count, uint64_t first, uint64_t last)
{
	size_t at = count_below(number, count, first);

	return at < count && number[at] <= last;
}

enum lie { RANDOM, STEPS, IN_A_ROW, CLUSTERS, LOW, ENDS, LIES };

/* Numbers in order, as keys usually are. */
static void fill(uint64_t *number, size_t count, enum lie lie, uint64_t state)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t x = next_random(&state);

		number[i] = lie == RANDOM   ? x
			  : lie == IN_A_ROW ? i + (UINT64_C(1) << 40)
			  : lie == STEPS    ? i * UINT64_C(1000003)
			  : lie == CLUSTERS ? mixed(i / 100) + x % 1000
			  : lie == LOW	    ? x >> x % 60
			  : i == 0	    ? 0
			  : i == 1	    ? UINT64_MAX
			  : x >> 63	    ? x >> 50
					    : -(x >> 50);
	}
	qsort(number, count, sizeof(*number), by_number);
}

/* ---- No false negatives ---- */

/*
 * Ranges that begin or end near keys, of all widths. Where a range has a key, the answer must be
 * yes.
 */
static void ask_all_about(const struct blm_filter *f, const uint64_t *number, size_t count,
			  uint64_t state)
{
	for (int i = 0; i < (test_scale() < 1 ? 300 : 3000); i++) {
		uint64_t x = next_random(&state), key = count ? number[x % count] : x, first, last;
		uint64_t before = next_random(&state) >> x % 64,
			 behind = next_random(&state) >> x / 64 % 64;

		first = key < before ? 0 : key - before;
		last = UINT64_MAX - key < behind ? UINT64_MAX : key + behind;
		ck_assert_int_eq(ask(f, first, last) || !count, 1);
		if (first < last && has(number, count, first + 1, last - 1))
			ck_assert_int_eq(ask(f, first + 1, last - 1), 1);
		if (count)
			ck_assert_int_eq(ask(f, key, key), 1);
	}
}

START_TEST(no_range_that_has_a_key_is_denied)
{
	static const size_t counts[] = { 0, 1, 2, 31, 33, 1000, 6000 };
	static const struct made hows[] = {
		{ .width = 1, .rate = 0.5 },	   { .width = 1, .rate = 0.001 },
		{ .width = 16, .rate = 0.9 },	   { .width = 1024, .rate = 0.01 },
		{ .width = 1 << 20, .rate = 0.3 }, { .width = UINT64_C(1) << 40, .rate = 0.01 },
		{ .width = 1000, .rate = 1e-9 },
	};
	uint64_t *number = malloc(6000 * sizeof(*number));

	for (size_t c = 0; c < ARRAY_LEN(counts); c++)
		for (size_t h = 0; h < ARRAY_LEN(hows); h++) {
			struct made how = hows[h];
			struct blm_filter *f;

			if (is_too_alike((int)(c + h) + _i, 5)
			    || (test_scale() < 1 && (c + h + (size_t)_i) % 2))
				continue;
			how.seed = c * 31 + h;
			fill(number, counts[c], (enum lie)_i, how.seed);
			f = build(number, counts[c], how);
			ask_all_about(f, number, counts[c], how.seed);
			blm_close(f);
		}
	free(number);
}
END_TEST

/*
 * Keys of one block: all their numbers follow each other, and mostly pass the end of the range.
 */
START_TEST(a_range_that_runs_over_the_end_is_whole)
{
	uint64_t number[4];
	unsigned wrapped = 0;

	for (uint64_t seed = 0; seed < 400; seed++) {
		struct blm_filter *f;
		struct range_order order;

		for (uint64_t i = 0; i < 4; i++)
			number[i] = 4096 + 17 * i;
		f = build(number, 4, (struct made){ .width = 8, .rate = 0.3, .seed = seed });
		range_order_of(&order, &current_view(f)->root.shape, seed << 7);
		wrapped += range_number(&order, 0, number[3])
			 < range_number(&order, 0, number[0]);
		for (uint64_t first = 4096; first < 4160; first++)
			for (uint64_t last = first; last < 4160; last++)
				ck_assert_int_eq(ask(f, first, last), has(number, 4, first, last));
		blm_close(f);
	}
	ck_assert_uint_gt(wrapped, 100);
}
END_TEST

START_TEST(the_whole_order_is_empty_with_the_filter_only)
{
	struct blm_filter *f = build(NULL, 0, (struct made){ .width = 1024 });

	ck_assert_int_eq(ask(f, 0, UINT64_MAX), 0);
	ck_assert_int_eq(ask(f, 5, 5), 0);
	blm_close(f);
	f = build((const uint64_t[]){ 5, 5, 5 }, 3, (struct made){ .width = 1024, .rate = 1e-6 });
	ck_assert_uint_eq(current_view(f)->root.shape.capacity, 1);
	ck_assert_int_eq(ask(f, 0, UINT64_MAX), 1);
	ck_assert_int_eq(ask(f, 0, 4), 0);
	ck_assert_int_eq(ask(f, 6, 1000), 0);
	blm_close(f);
	f = build((const uint64_t[]){ 0, UINT64_MAX }, 2,
		  (struct made){ .width = 1024, .rate = 1e-6 });
	ck_assert_int_eq(ask(f, 0, 0), 1);
	ck_assert_int_eq(ask(f, UINT64_MAX, UINT64_MAX), 1);
	ck_assert_int_eq(ask(f, 1, 100000), 0);
	ck_assert_int_eq(ask(f, UINT64_MAX - 100000, UINT64_MAX - 1), 0);
	blm_close(f);
}
END_TEST

/* ---- The search, for ranges of numbers of any width ---- */

struct list {
	struct golomb_numbers numbers;
	const uint64_t *number;
	size_t count, at;
};

static int list_begin(struct golomb_numbers *n)
{
	((struct list *)n)->at = 0;
	return 0;
}

static int list_next(struct golomb_numbers *n, uint64_t *ret)
{
	struct list *l = (struct list *)n;

	if (l->at == l->count)
		return 0;
	*ret = l->number[l->at++];
	return 1;
}

/* Also where the nearest number is many blocks away, and where thousands have one high half. */
START_TEST(a_number_between_two_is_found_at_any_distance)
{
	enum { MOST = 5000 };
	const uint64_t range = UINT64_C(1) << 40;
	uint64_t number[MOST], state = (uint64_t)_i;

	for (size_t count = 0; count <= MOST; count = count * 4 + 1) {
		struct list list = { { list_begin, list_next }, number, count, 0 };
		struct blm_part part = { .kind = blm_kind_by_name("golomb"),
					 .shape = { .cells = range, .probes = 1, .cell_bits = 1 } };
		struct layout l;

		for (size_t i = 0; i < count; i++) {
			uint64_t x = next_random(&state);

			number[i] = _i == 0 ? x % range
				  : _i == 1 ? x % 10000 + (x >> 63) * (range - 10000)
					    : scale(x >> x % 40, range);
		}
		qsort(number, count, sizeof(*number), by_number);
		OK(blm_golomb_fit(&part.shape, &list.numbers, count));
		part.bytes = aligned_alloc(64, part.shape.bytes);
		memset(part.bytes, 0, part.shape.bytes);
		OK(blm_golomb_write(&part, &list.numbers, count));
		ck_assert(read_layout(&l, &part));
		for (int i = 0; i < 20000; i++) {
			uint64_t x = next_random(&state),
				 first = i % 2 && count ? number[x % count] + x % 3 : x % range;
			struct piece p;
			uint64_t last = first + (next_random(&state) >> (24 + x % 40));

			last = last < range ? last : range - 1;
			first = first < last ? first : last;
			p = (struct piece){ .first = first, .last = last, .end = last };
			find_piece(&l, &p);
			ck_assert_int_eq(any_of(&l, &p, walk_to(&l, &p)),
					 has(number, count, first, last));
		}
		free(part.bytes);
	}
}
END_TEST

/* ---- Rates ---- */

enum { N = 20000 };

/*
 * Of ranges of `places` that have no key: how many of `asked` are answered yes, by filters of
 * several seeds. near: they begin so far behind a key; 0: anywhere.
 */
static double wrong_of(const uint64_t *number, struct made how, uint64_t places, uint64_t near,
		       uint64_t seeds, uint64_t *ret_asked)
{
	double wrong = 0;

	*ret_asked = 0;
	for (how.seed = 1; how.seed <= seeds; how.seed++) {
		struct blm_filter *f = build(number, N, how);
		uint64_t state = how.seed;

		for (uint64_t i = 0; i < 40000; i++) {
			uint64_t first = near ? number[i % N] + near + i / N : next_random(&state),
				 last = first + places - 1;

			if (last < first || has(number, N, first, last))
				continue;
			wrong += ask(f, first, last);
			++*ret_asked;
		}
		blm_close(f);
	}
	return wrong;
}

static void rate_is(enum lie lie, struct made how, uint64_t places, uint64_t near, double rate)
{
	uint64_t *number = malloc(N * sizeof(*number)), asked;
	double wrong, expected;

	fill(number, N, lie, 7);
	wrong = wrong_of(number, how, places, near, 4, &asked);
	expected = rate * (double)asked;
	ck_assert_uint_gt(asked, 20000);
	/* numbers of one block follow each other: a range that meets one meets others */
	if (lie > STEPS)
		wrong = wrong < expected ? expected : wrong;
	ck_assert_msg(fabs(wrong - expected) <= 3 * sqrt(expected * (1 - rate)) + 1,
		      "%g wrong of %g, not %g +- %g (keys %d, width %g, places %g, near %g)", wrong,
		      (double)asked, expected, sqrt(expected), lie, (double)how.width,
		      (double)places, (double)near);
	free(number);
}

static double rate_for(double rate, double widths)
{
	return -expm1(-rate * widths);
}

START_TEST(ranges_of_the_width_anywhere_are_wrong_at_the_rate)
{
	for (int lie = RANDOM; lie <= CLUSTERS; lie++) {
		rate_is(lie, (struct made){ .width = 1024, .rate = 0.01 }, 1024, 0,
			rate_for(0.01, 1));
		rate_is(lie, (struct made){ .width = 20, .rate = 0.2 }, 20, 0, rate_for(0.2, 1));
	}
}
END_TEST

/* Where filters that store prefixes of keys say yes nearly always. */
START_TEST(ranges_close_to_keys_are_wrong_no_more_often)
{
	static const uint64_t near[] = { 10000, 100000, UINT64_C(1) << 33 };

	for (size_t i = 0; i < ARRAY_LEN(near); i++) {
		rate_is(RANDOM, (struct made){ .width = 1024, .rate = 0.01 }, 1024, near[i],
			rate_for(0.01, 1));
		rate_is(STEPS, (struct made){ .width = 256, .rate = 0.1 }, 256, near[i],
			rate_for(0.1, 1));
	}
}
END_TEST

/* Distances within a block are kept. */
START_TEST(ranges_near_a_key_are_right_within_its_block)
{
	uint64_t *number = malloc(N * sizeof(*number)), asked;
	struct made how = { .width = 1024, .rate = 0.5 };

	fill(number, N, RANDOM, 7);
	for (uint64_t near = 1; near < 60; near += 20)
		ck_assert_double_le(wrong_of(number, how, 8, near, 1, &asked),
				    3 * 0.5 * 8 / 1024 * (double)asked);
	free(number);
}
END_TEST

START_TEST(one_place_is_wrong_at_the_rate_over_the_width)
{
	rate_is(RANDOM, (struct made){ .width = 16, .rate = 0.5 }, 1, 0, rate_for(0.5, 1.0 / 16));
	rate_is(STEPS, (struct made){ .width = 16, .rate = 0.5 }, 1, 1000, rate_for(0.5, 1.0 / 16));
}
END_TEST

START_TEST(wider_ranges_have_a_proportional_rate_as_reported)
{
	uint64_t *number = malloc(N * sizeof(*number));
	struct blm_filter *f;
	struct blm_fact fact;

	rate_is(RANDOM, (struct made){ .width = 100, .rate = 0.01 }, 1000, 0, rate_for(0.01, 10));
	rate_is(RANDOM, (struct made){ .width = 100, .rate = 0.01 }, 10000, 0, rate_for(0.01, 100));
	fill(number, N, RANDOM, 7);
	f = build(number, N, (struct made){ .width = 100, .rate = 0.01 });
	OK(blm_fact(f, 0, &fact));
	ck_assert_str_eq(fact.name, "rate of one key");
	ck_assert_double_eq_tol(fact.value, 0.0001, 0.000001);
	OK(blm_fact(f, 2, &fact));
	ck_assert_str_eq(fact.name, "rate of 10 widths");
	ck_assert_double_eq_tol(fact.value, rate_for(0.01, 10), 0.0001);
	blm_close(f);
	free(number);
}
END_TEST

/* ---- Space ---- */

/*
 * The bound for range emptiness and 2 bits, as Grafite has it; longer codes leave more of a block
 * unused.
 */
START_TEST(a_key_takes_at_most_2_bits_above_the_logarithm)
{
	static const struct made hows[] = { { .width = 1024, .rate = 0.01 },
					    { .width = 32, .rate = 0.01 },
					    { .width = 1, .rate = 0.001 },
					    { .width = 1024, .rate = 1e-3 } };
	const size_t count = 100000;
	uint64_t *number = malloc(count * sizeof(*number));

	for (int lie = RANDOM; lie <= CLUSTERS; lie++)
		for (size_t h = 0; h < ARRAY_LEN(hows); h++) {
			struct blm_filter *f;
			double bits;

			fill(number, count, (enum lie)lie, h);
			f = build(number, count, hows[h]);
			bits = 8.0 * (double)current_view(f)->root.shape.bytes
			     / (double)current_view(f)->root.shape.capacity;
			/* the code is best for numbers that are anywhere */
			ck_assert_msg(bits <= log2((double)hows[h].width / hows[h].rate)
						      + (lie == RANDOM ? 2 : 2.6),
				      "%g bits a key (keys %d, width %g)", bits, lie,
				      (double)hows[h].width);
			blm_close(f);
		}
	free(number);
}
END_TEST

START_TEST(a_plan_foretells_the_space)
{
	const size_t count = 50000;
	uint64_t *number = malloc(count * sizeof(*number));
	struct blm_filter *f;
	struct blm_plan plan;

	fill(number, count, RANDOM, 3);
	f = build(number, count, (struct made){ .width = 1024, .rate = 0.01 });
	OK(blm_plan(&plan, &BLM_PARAMS(.kind = "range", .capacity = count, .rate = 0.01)));
	ck_assert_double_eq_tol((double)plan.data_bytes, (double)current_view(f)->root.shape.bytes,
				(double)plan.data_bytes / 100);
	ck_assert_double_eq_tol(plan.predicted_rate, 0.01, 0.0001);
	blm_close(f);
	free(number);
}
END_TEST

/*
 * Numbers in a row fall into one slice of the range, which has then more than its share of memory.
 */
START_TEST(the_data_do_not_depend_on_memory_however_keys_lie)
{
	const size_t count = 20000;
	uint64_t *number = malloc(count * sizeof(*number));

	for (int lie = 0; lie < LIES; lie++) {
		struct blm_filter *f, *g;

		fill(number, count, (enum lie)lie, 5);
		f = build(number, count, (struct made){ .width = 4096, .rate = 0.01, .seed = 3 });
		g = build(number, count,
			  (struct made){
				  .width = 4096, .rate = 0.01, .seed = 3, .memory = 64 << 10 });
		ck_assert_uint_eq(current_view(f)->root.shape.bytes,
				  current_view(g)->root.shape.bytes);
		ck_assert(!memcmp(current_view(f)->root.bytes, current_view(g)->root.bytes,
				  current_view(f)->root.shape.bytes));
		blm_close(f), blm_close(g);
	}
	free(number);
}
END_TEST

/* ---- Calls ---- */

START_TEST(asking_for_many_ranges_is_asking_for_each)
{
	static const size_t counts[] = { 0, 1, 63, 64, 65, 256, 257, 1000 };
	uint64_t number[2000], from[1000], to[1000], bits[17], state = 9;
	struct blm_key first[1000], last[1000];
	struct blm_filter *f;

	fill(number, 2000, LOW, 9);
	f = build(number, 2000, (struct made){ .width = 64, .rate = 0.3 });
	for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
		int64_t yes = 0;

		memset(bits, 0x5a, sizeof(bits));
		for (size_t i = 0; i < counts[c]; i++) {
			uint64_t x = next_random(&state) >> i % 60,
				 wide = next_random(&state) >> (i / 7 % 50 + 14);

			from[i] = htobe64(x);
			to[i] = htobe64(x > UINT64_MAX - wide ? UINT64_MAX : x + wide);
			first[i] = (struct blm_key){ &from[i], 8 };
			last[i] = (struct blm_key){ &to[i], 8 };
			yes += blm_contains_range(f, &from[i], 8, &to[i], 8);
		}
		ck_assert_int_eq(blm_contains_ranges(f, first, last, counts[c], bits), yes);
		for (size_t i = 0; i < counts[c]; i++)
			ck_assert_int_eq(bits[i / 64] >> i % 64 & 1,
					 blm_contains_range(f, &from[i], 8, &to[i], 8));
		ck_assert_uint_eq(bits[(counts[c] + 63) / 64], UINT64_C(0x5a5a5a5a5a5a5a5a));
		ck_assert_int_eq(blm_contains_ranges(f, first, last, counts[c], NULL), yes);
	}
	blm_close(f);
}
END_TEST

START_TEST(an_invalid_range_is_refused)
{
	struct blm_params p = BLM_PARAMS(.kind = "range", .hash = "ordered-uint");
	struct blm_filter *f, *other;
	struct blm_build *b;

	OK(blm_build_begin(&b, NULL, NULL, &p, NULL));
	OK(blm_build_add_many(b, &(struct blm_key){ "7", 1 }, 1));
	FAILS(blm_build_add_many(b, &(struct blm_key){ "7 ", 2 }, 1), -EINVAL);
	OK(blm_build_finish(b, &f));
	ck_assert_int_eq(blm_contains_range(f, "7", 1, "7", 1), 1);
	ck_assert_int_eq(blm_contains_range(f, "0007", 4, "18446744073709551615", 20), 1);
	FAILS(blm_contains_range(f, "8", 1, "7", 1), -EINVAL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "from \"8\" to \"7\""));
	FAILS(blm_contains_range(f, "7", 1, "18446744073709551616", 20), -EINVAL);
	FAILS(blm_contains_range(f, "x", 1, "7", 1), -EINVAL);
	FAILS(blm_contains_range(f, "a key of more than forty characters that is no number", 53,
				 "7", 1),
	      -EINVAL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "characters that\" is no whole"));
	FAILS(blm_contains_range(f, "", 0, "7", 1), -EINVAL);
	ck_assert(!blm_contains(f, "x", 1));
	OK(blm_create(&other, NULL, NULL, &BLM_PARAMS(.capacity = 10)));
	FAILS(blm_contains_range(other, "1", 1, "7", 1), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "range"));
	blm_close(other), blm_close(f);
	FAILS(blm_build_begin(&b, NULL, NULL, &BLM_PARAMS(.kind = "range", .hash = "xxh3"), NULL),
	      -EOPNOTSUPP);
	FAILS(blm_build_begin(&b, NULL, NULL, &BLM_PARAMS(.kind = "golomb", .hash = "ordered-int"),
			      NULL),
	      -EOPNOTSUPP);
	FAILS(blm_build_begin(&b, NULL, NULL, &BLM_PARAMS(.kind = "range", .cells = 100), NULL),
	      -EINVAL);
	FAILS(blm_build_begin(&b, NULL, NULL, &BLM_PARAMS(.kind = "range", .probes = 2), NULL),
	      -EINVAL);
	FAILS(blm_build_begin(&b, NULL, NULL, &BLM_PARAMS(.kind = "range", .options = "width=0"),
			      NULL),
	      -EINVAL);
	FAILS(blm_build_begin(&b, NULL, NULL,
			      &BLM_PARAMS(.kind = "range", .hash = "ordered-ip",
					  .options = "nest=1"),
			      NULL),
	      -EINVAL);
	FAILS(blm_build_begin(&b, NULL, NULL, &BLM_PARAMS(.kind = "range", .rate = 1e-30), NULL),
	      -EFBIG);
}
END_TEST

/* ---- Orders ---- */

enum { NONE = -1 };

/* The place of a text in the order of a family; its level is given in text. */
static void bytes_are(const char *family, const char *text, size_t bytes, int level, uint64_t place)
{
	const struct blm_family *of = blm_family_by_name(family);
	const struct blm_hasher by = { .family = of, .seeds = &(uint64_t){ 5 }, .seed_count = 1 };
	const struct blm_key key = { text, bytes };
	struct blm_hash hash;

	of->hash(&by, &key, &hash);
	ck_assert_uint_eq(hash.lo >> 7, 5);
	ck_assert_msg(ordered_is_none(&hash) == (level == NONE), "%s: %s", family, text);
	if (of->refuse)
		ck_assert_msg(!of->refuse(&hash) == (level != NONE), "%s: %s", family, text);
	if (level != NONE)
		ck_assert_msg(ordered_level(&hash) == (unsigned)level
				      && ordered_first(&hash) == place,
			      "%s: %s is at %llx/%u, not %llx", family, text,
			      (unsigned long long)ordered_first(&hash), ordered_level(&hash),
			      (unsigned long long)place);
}

static void place_is(const char *family, const char *text, int level, uint64_t place)
{
	bytes_are(family, text, strlen(text), level, place);
}

#define AT(number) (UINT64_C(1) << 63 ^ (uint64_t)INT64_C(number))

START_TEST(numbers_are_in_their_order)
{
	place_is("ordered-uint", "0", 0, 0);
	place_is("ordered-uint", "18446744073709551615", 0, UINT64_MAX);
	place_is("ordered-uint", "18446744073709551616", NONE, 0);
	place_is("ordered-uint", "99999999999999999999999", NONE, 0);
	place_is("ordered-uint", "-1", NONE, 0);
	place_is("ordered-uint", "", NONE, 0);
	place_is("ordered-uint", "1.5", NONE, 0);
	place_is("ordered-int", "0", 0, AT(0));
	place_is("ordered-int", "-0", 0, AT(0));
	place_is("ordered-int", "-1", 0, AT(-1));
	place_is("ordered-int", "9223372036854775807", 0, UINT64_MAX);
	place_is("ordered-int", "9223372036854775808", NONE, 0);
	place_is("ordered-int", "-9223372036854775808", 0, 0);
	place_is("ordered-int", "-9223372036854775809", NONE, 0);
	place_is("ordered-int", "-", NONE, 0);
	place_is("ordered-int", "", NONE, 0);
	place_is("ordered-int", "+1", NONE, 0);
	place_is("ordered-string", "", 0, 0);
	place_is("ordered-string", "ab", 0, UINT64_C(0x6162000000000000));
	place_is("ordered-string", "abcdefghi", 0, UINT64_C(0x6162636465666768));
}
END_TEST

START_TEST(times_are_in_their_order)
{
	place_is("ordered-time", "1714564800", 0, AT(1714564800));
	place_is("ordered-time", "1714564800.99", 0, AT(1714564800));
	place_is("ordered-time", "-1", 0, AT(-1));
	place_is("ordered-time", "-1.0", 0, AT(-1));
	place_is("ordered-time", "-1.25", 0, AT(-2));
	place_is("ordered-time", "2024-05-01T12:00:00Z", 0, AT(1714564800));
	place_is("ordered-time", "2024-05-01 12:00", 0, AT(1714564800));
	place_is("ordered-time", "2024-05-01t14:30:00.5+02:30", 0, AT(1714564800));
	place_is("ordered-time", "2024-05-01T04:00:00-08:00", 0, AT(1714564800));
	place_is("ordered-time", "2024-05-01", 0, AT(1714521600));
	place_is("ordered-time", "1970-01-01", 0, AT(0));
	place_is("ordered-time", "1969-12-31T23:59:59z", 0, AT(-1));
	place_is("ordered-time", "0000-01-01", 0, AT(-62167219200));
	place_is("ordered-time", "9999-12-31T23:59:60Z", 0, AT(253402300800));
	place_is("ordered-time", "2000-02-29", 0, AT(951782400));
	place_is("ordered-time", "1900-02-29", NONE, 0);
	place_is("ordered-time", "2024-04-31", NONE, 0);
	place_is("ordered-time", "2024-13-01", NONE, 0);
	place_is("ordered-time", "2024-05-01T24:00:00Z", NONE, 0);
	place_is("ordered-time", "2024-05-01T12:00:00X", NONE, 0);
	place_is("ordered-time", "2024-05-01T12:60:00Z", NONE, 0);
	place_is("ordered-time", "2024-05-01T12:00:61Z", NONE, 0);
	place_is("ordered-time", "2024-05-01T12:00:00+24:00", NONE, 0);
	place_is("ordered-time", "2024-05-01T12:00:00+02:60", NONE, 0);
	place_is("ordered-time", "2024-05-01X12:00", NONE, 0);
	place_is("ordered-time", "2024-00-01", NONE, 0);
	place_is("ordered-time", "2024-05-00", NONE, 0);
	place_is("ordered-time", "2024-05-01T12:00:00.Z", NONE, 0);
	place_is("ordered-time", "2024-05-01T12", NONE, 0);
	place_is("ordered-time", "2024-5-1", NONE, 0);
	place_is("ordered-time", "9223372036854775808", NONE, 0);
	place_is("ordered-time", "12.", NONE, 0);
	place_is("ordered-time", "", NONE, 0);
}
END_TEST

START_TEST(addresses_and_networks_are_in_their_order)
{
	place_is("ordered-ip", "10.1.2.3", 0, 0x0a010203);
	place_is("ordered-ip", "10.1.2.3/8", 24, 0x0a000000);
	place_is("ordered-ip", "10.1.2.3/32", 0, 0x0a010203);
	place_is("ordered-ip", "0.0.0.0/0", 32, 0);
	place_is("ordered-ip", "::ffff:10.1.2.3", 0, 0x0a010203);
	place_is("ordered-ip", "::ffff:10.1.2.3/104", 24, 0x0a000000);
	place_is("ordered-ip", "2001:db8:1:2:3:4:5:6", 0, UINT64_C(0x20010db800010002));
	place_is("ordered-ip", "2001:db8:1:2::/96", 0, UINT64_C(0x20010db800010002));
	place_is("ordered-ip", "2001:db8:1:2::/32", 32, UINT64_C(0x20010db800000000));
	place_is("ordered-ip", "8000::/1", 63, UINT64_C(1) << 63);
	place_is("ordered-ip", "::/0", NONE, 0);
	place_is("ordered-ip", "::/32", 32, 0);
	place_is("ordered-ip", "::1", 0, 0);
	place_is("ordered-ip", "::1:0:0/96", 0, 0);
	place_is("ordered-ip", "::/81", 0, 0);
	place_is("ordered-ip", "0:0:1::/48", 16, UINT64_C(0x10000));
	for (unsigned length = 33; length < 96; length++) {
		char text[32];

		snprintf(text, sizeof(text), "::ffff:1.2.3.4/%u", length);
		place_is("ordered-ip", text, NONE, 0);
	}
	place_is("ordered-ip", "::/64", NONE, 0);
	place_is("ordered-ip", "::/80", NONE, 0);
	place_is("ordered-ip", "10.1.2.3/33", NONE, 0);
	place_is("ordered-ip", "10.1.2.3/", NONE, 0);
	place_is("ordered-ip", "10.1.2.3/+8", NONE, 0);
	place_is("ordered-ip", "10.1.2.3/8/8", NONE, 0);
	place_is("ordered-ip", "10.1.2.3/99999999999999999999999", NONE, 0);
	place_is("ordered-ip", "010.1.2.3", NONE, 0);
	bytes_are("ordered-ip", "10.1.2.3\0", 9, NONE, 0);
	place_is("ordered-ip", "10.1.2", NONE, 0);
	place_is("ordered-ip", "2001:db8::/129", NONE, 0);
	place_is("ordered-ip", "fe80::1%eth0", NONE, 0);
	place_is("ordered-ip", "", NONE, 0);
	place_is("ordered-ip",
		 "2001:0db8:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", NONE, 0);
}
END_TEST

static void surt_is(const char *text, const char *first_8)
{
	uint64_t place = 0;

	memcpy(&place, first_8, strlen(first_8));
	place_is("ordered-surt", text, 0, be64toh(place));
}

START_TEST(urls_are_in_the_order_of_their_hosts_reversed)
{
	surt_is("https://www.example.org/a", "org,exam");
	surt_is("http://me:secret@A.DE:8080/Q", "de,a)/Q");
	surt_is("a.de", "de,a)");
	surt_is("a.de.", "de,a)");
	surt_is("a.de?q=http://x", "de,a)?q=");
	surt_is("de,a)/Q", "de,a)/Q");
	surt_is("http://1.2.3.4/", "1.2.3.4)");
	surt_is("http://[::1]:80/", "[::1])/");
	surt_is("//", ")//");
	surt_is("http://", ")");
	surt_is("http://.", ")");
	surt_is("a..b", "b,,a)");
	surt_is("", "");
	surt_is("/x", ")/x");
	bytes_are("ordered-surt", "a.de\0/", 6, 0, UINT64_C(0x6465002c61292f00));
}
END_TEST

/* ---- Networks ---- */

struct network {
	uint32_t address;
	unsigned length;
};

static uint32_t last_of(struct network n)
{
	return n.length ? n.address | (uint32_t)((UINT64_C(1) << (32 - n.length)) - 1) : UINT32_MAX;
}

static void text_of(char text[32], uint32_t address, unsigned length)
{
	snprintf(text, 32, length == 32 ? "%u.%u.%u.%u" : "%u.%u.%u.%u/%u", address >> 24,
		 address >> 16 & 255, address >> 8 & 255, address & 255, length);
}

static struct network network_of(uint64_t x)
{
	unsigned length = 16 + (unsigned)(x >> 40) % 17;

	return (struct network){ (uint32_t)x & (uint32_t)(UINT64_MAX << (32 - length)), length };
}

static struct blm_filter *build_networks(const struct network *of, size_t count,
					 const char *options, double rate, uint64_t seed)
{
	struct blm_params p = BLM_PARAMS(.kind = "range", .hash = "ordered-ip", .options = options,
					 .rate = rate, .seeds = &seed, .seed_count = 1);
	struct blm_filter *f;
	struct blm_build *b;
	char text[32];

	OK(blm_build_begin(&b, NULL, a_path(), &p, NULL));
	for (size_t i = 0; i < count; i++) {
		text_of(text, of[i].address, of[i].length);
		OK(blm_build_add_many(b, &(struct blm_key){ text, strlen(text) }, 1));
	}
	OK(blm_build_finish(b, &f));
	return f;
}

static bool any_meets(const struct network *of, size_t count, uint32_t first, uint32_t last)
{
	for (size_t i = 0; i < count; i++)
		if (of[i].address <= last && last_of(of[i]) >= first)
			return true;
	return false;
}

/* How many levels are in a group: none, pairs, a few, all of them, and more than there are. */
static const char *const nests[] = { "width=256,nest=0", "width=256,nest=2", "width=256,nest=6",
				     "width=4,nest=16", "width=4096,nest=7" };

/* An address in a network, a network that meets one, a range that meets one: all are in. */
START_TEST(every_address_and_range_of_a_network_is_found)
{
	enum { NETWORKS = 300 };
	struct network of[NETWORKS];
	uint64_t state = 4;
	unsigned met = 0;
	struct blm_filter *f;

	for (size_t i = 0; i < NETWORKS; i++)
		of[i] = network_of(next_random(&state));
	f = build_networks(of, NETWORKS, nests[_i], 0.01, 3);
	for (int i = 0; i < 10000; i++) {
		uint64_t x = next_random(&state), y = next_random(&state);
		struct network near = of[x % NETWORKS], asked = network_of(y);
		uint32_t first = near.address - (uint32_t)(y >> 60) + (uint32_t)(x >> 40) % 300,
			 last;
		char from[32], to[32];

		if (i % 2)
			asked.address = near.address
				      & (uint32_t)(UINT64_MAX << (32 - asked.length));
		last = UINT32_MAX - first < (uint32_t)(y >> (32 + y % 30))
			     ? UINT32_MAX
			     : first + (uint32_t)(y >> (32 + y % 30));
		text_of(from, first, 32);
		text_of(to, last, 32);
		if (any_meets(of, NETWORKS, first, last)) {
			met++;
			ck_assert_int_eq(blm_contains_range(f, from, strlen(from), to, strlen(to)),
					 1);
		}
		if (any_meets(of, NETWORKS, first, first))
			ck_assert(blm_contains(f, from, strlen(from)));
		text_of(from, asked.address, asked.length);
		if (any_meets(of, NETWORKS, asked.address, last_of(asked)))
			ck_assert(blm_contains(f, from, strlen(from)));
	}
	ck_assert_uint_gt(met, 2500);
	blm_close(f);
}
END_TEST

/* Many networks in a few blocks, so that the numbers of one block fill several blocks of codes. */
START_TEST(no_address_of_networks_close_together_is_denied)
{
	enum { NETWORKS = 3000 };
	static struct network of[NETWORKS];
	uint64_t state = 6;
	struct blm_filter *f;

	for (size_t i = 0; i < NETWORKS; i++) {
		of[i] = network_of(next_random(&state));
		of[i].address = 0x0a000000 | (of[i].address & 0x3ffff);
		of[i].address &= (uint32_t)(UINT64_MAX << (32 - of[i].length));
	}
	f = build_networks(of, NETWORKS, nests[_i], 0.3, 3);
	for (size_t i = 0; i < NETWORKS; i++) {
		uint32_t places = last_of(of[i]) - of[i].address + 1,
			 inside = of[i].address + (uint32_t)next_random(&state) % places;
		char text[32];

		text_of(text, inside, 32);
		ck_assert(blm_contains(f, text, strlen(text)));
		text_of(text, of[i].address, of[i].length);
		ck_assert(blm_contains(f, text, strlen(text)));
	}
	blm_close(f);
}
END_TEST

/* So one look-up answers for all of them, and within a block nothing is ever wrong. */
START_TEST(the_places_of_a_group_are_numbers_in_a_row)
{
	const struct blm_shape shape = { .cells = 1 << 20, .args = { 16, 6 } };
	struct range_order order;
	uint64_t expected = 0;

	range_order_of(&order, &shape, 5 << 7 | 15);
	ck_assert_uint_eq(order.lowest, 12);
	ck_assert_uint_eq(order.block_bits, 5);
	for (unsigned level = 12; level < 18; level++)
		for (uint64_t i = 0; i < 1U << (17 - level); i++, expected++) {
			uint64_t number = range_number(&order, level, (7 << (17 - level)) + i);

			if (!expected)
				expected = number;
			ck_assert_uint_eq(number, expected % shape.cells);
		}
	range_order_of(&order, &shape, 5 << 7 | 18);
	ck_assert_uint_eq(order.lowest, 18);
}
END_TEST

/* The addresses take all the blocks that are looked at, and the network is still there. */
START_TEST(a_range_over_the_most_blocks_is_not_denied)
{
	static const struct network of[] = { { 0x01020304, 32 }, { 0xc8000000, 8 } };
	struct blm_filter *f = build_networks(of, 2, "width=1,nest=0", 1e-9, 3);

	ck_assert_int_eq(blm_contains_range(f, "200.0.0.0", 9, "200.7.255.255", 13), 1);
	ck_assert_int_eq(blm_contains_range(f, "200.0.0.0", 9, "200.8.0.0", 9), 1);
	ck_assert_int_eq(blm_contains_range(f, "201.0.0.0", 9, "201.3.255.255", 13), 0);
	/* more than are looked at */
	ck_assert_int_eq(blm_contains_range(f, "201.0.0.0", 9, "201.8.0.0", 9), 1);
	blm_close(f);
	/* blocks of 32 places */
	f = build_networks(of, 2, "width=1,nest=6", 1e-9, 3);
	ck_assert_int_eq(blm_contains_range(f, "200.0.0.0", 9, "200.31.255.255", 14), 1);
	ck_assert_int_eq(blm_contains_range(f, "201.0.0.0", 9, "201.30.255.255", 14), 0);
	ck_assert_int_eq(blm_contains_range(f, "201.0.0.0", 9, "201.32.0.0", 10), 1);
	blm_close(f);
}
END_TEST

/* Once for each length that there is. */
START_TEST(an_address_is_wrong_at_the_reported_rate)
{
	enum { NETWORKS = 300, ASKED = 40000 };
	struct network *of = malloc(NETWORKS * sizeof(*of));
	double wrong = 0, expected = 0;
	uint64_t state = 5;
	struct blm_fact fact;

	for (size_t i = 0; i < NETWORKS; i++) {
		unsigned length = 24 - (i % 4) * (i % 2);

		of[i] = (struct network){ (uint32_t)next_random(&state)
						  & (uint32_t)(UINT64_MAX << (32 - length)),
					  length };
	}
	for (uint64_t seed = 0; seed < 5; seed++) {
		struct blm_filter *f = build_networks(of, NETWORKS, seed % 2 ? "width=16,nest=4"
							       : "width=16,nest=0", 0.2, seed);

		OK(blm_fact(f, 0, &fact));
		ck_assert_double_eq_tol(fact.value, rate_for(0.2, 3.0 / 16), 0.001);
		for (int i = 0; i < ASKED; i++) {
			uint32_t address = (uint32_t)next_random(&state);
			char text[32];

			text_of(text, address, 32);
			if (any_meets(of, NETWORKS, address, address))
				continue;
			wrong += blm_contains(f, text, strlen(text));
			expected += fact.value;
		}
		OK(blm_fact(f, 4, &fact));
		ck_assert_double_eq(fact.value, 3);
		blm_close(f);
	}
	ck_assert_msg(fabs(wrong - expected) <= 3 * sqrt(expected), "%g, not %g", wrong, expected);
	free(of);
}
END_TEST

/* ---- Of several one ---- */

START_TEST(a_merged_filter_has_the_keys_and_lengths_of_all)
{
	static const struct network of[] = {
		{ 0x0a000000, 8 }, { 0x0b000000, 16 }, { 0x0c000000, 32 }, { 0x0d000000, 20 }
	};
	struct blm_filter *part[2], *f;
	struct blm_update *u;
	struct blm_fact fact;

	part[0] = build_networks(of, 2, "width=16", 1e-6, 3);
	part[1] = build_networks(of + 1, 2, "width=16", 1e-6, 3);
	OK(blm_merge(&f, NULL, a_path(), (const struct blm_filter *const *)part, 2, 0));
	ck_assert(blm_contains(f, "10.1.2.3", 8) && blm_contains(f, "11.0.5.6", 8)
		  && blm_contains(f, "12.0.0.0", 8));
	ck_assert(!blm_contains(f, "13.0.0.1", 8) && !blm_contains(f, "11.1.0.0", 8));
	ck_assert_uint_eq(blm_golomb_count(&current_view(f)->root), 3);
	OK(blm_update_begin(&u, NULL, f->place.name, NULL, NULL));
	OK(blm_update_add_many(u, &(struct blm_key){ "13.0.0.0/20", 11 }, 1));
	FAILS(blm_update_add_many(u, &(struct blm_key){ "13.0.0.0/33", 11 }, 1), -EINVAL);
	OK(blm_update_finish(u));
	ck_assert(blm_contains(f, "10.1.2.3", 8) && blm_contains(f, "12.0.0.0", 8)
		  && blm_contains(f, "13.0.0.1", 8));
	OK(blm_fact(f, 4, &fact));
	ck_assert_double_eq(fact.value, 4);
	OK(blm_update_begin(&u, NULL, f->place.name, NULL, NULL));
	OK(blm_update_remove_many(u, &(struct blm_key){ "12.0.0.0", 8 }, 1));
	FAILS(blm_update_finish(u), -EOPNOTSUPP);
	ck_assert_ptr_null(strstr(blm_error_message(), "counted"));
	blm_close(f), blm_close(part[0]), blm_close(part[1]);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("range");
	TCase *tc = tcase_create("range");

	tcase_add_loop_test(tc, no_range_that_has_a_key_is_denied, 0, LIES);
	tcase_add_test(tc, a_range_that_runs_over_the_end_is_whole);
	tcase_add_test(tc, the_whole_order_is_empty_with_the_filter_only);
	tcase_add_loop_test(tc, a_number_between_two_is_found_at_any_distance, 0, 3);
	tcase_add_test(tc, ranges_of_the_width_anywhere_are_wrong_at_the_rate);
	tcase_add_test(tc, ranges_close_to_keys_are_wrong_no_more_often);
	tcase_add_test(tc, ranges_near_a_key_are_right_within_its_block);
	tcase_add_test(tc, one_place_is_wrong_at_the_rate_over_the_width);
	tcase_add_test(tc, wider_ranges_have_a_proportional_rate_as_reported);
	tcase_add_test(tc, a_key_takes_at_most_2_bits_above_the_logarithm);
	tcase_add_test(tc, a_plan_foretells_the_space);
	tcase_add_test(tc, the_data_do_not_depend_on_memory_however_keys_lie);
	tcase_add_test(tc, asking_for_many_ranges_is_asking_for_each);
	tcase_add_test(tc, an_invalid_range_is_refused);
	tcase_add_test(tc, numbers_are_in_their_order);
	tcase_add_test(tc, times_are_in_their_order);
	tcase_add_test(tc, addresses_and_networks_are_in_their_order);
	tcase_add_test(tc, urls_are_in_the_order_of_their_hosts_reversed);
	tcase_add_loop_test(tc, every_address_and_range_of_a_network_is_found, 0,
			    ARRAY_LEN(nests));
	tcase_add_loop_test(tc, no_address_of_networks_close_together_is_denied, 0,
			    ARRAY_LEN(nests));
	tcase_add_test(tc, the_places_of_a_group_are_numbers_in_a_row);
	tcase_add_test(tc, a_range_over_the_most_blocks_is_not_denied);
	tcase_add_test(tc, an_address_is_wrong_at_the_reported_rate);
	tcase_add_test(tc, a_merged_filter_has_the_keys_and_lengths_of_all);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
