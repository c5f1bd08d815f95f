/*
 * recent.c - when keys were seen: what is remembered, for how long, and which process claims; the
 * test sets the time
 */
#include "handle/handle.h"
#include "kind/common/clock.h"
#include "suite.h"

#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#define SECOND UINT64_C(1000000000)
#define DAY (86400 * SECOND)

static uint64_t now;

static uint64_t told_time(void)
{
	return now;
}

static void begin_time(void)
{
	now = UINT64_C(1700000000) * SECOND;
	blm_clock = told_time;
}

static struct blm_filter *create(uint64_t capacity, double rate, const char *options)
{
	struct blm_filter *f;
	uint64_t seed = 7;

	OK(blm_create(&f, NULL, a_path(),
		      &BLM_PARAMS(.kind = "recent", .options = options, .capacity = capacity,
				  .rate = rate, .seeds = &seed, .seed_count = 1)));
	return f;
}

static const struct blm_shape *shape_of(const struct blm_filter *f)
{
	return &current_view(f)->root.shape;
}

static uint64_t span_of(const struct blm_filter *f)
{
	return shape_of(f)->args[0];
}

static uint64_t tick_of(const struct blm_filter *f)
{
	return shape_of(f)->args[1];
}

static int add(struct blm_filter *f, uint64_t key)
{
	int r = blm_add(f, &key, 8);

	OK(r);
	return r;
}

static bool has(const struct blm_filter *f, uint64_t key)
{
	return blm_contains(f, &key, 8);
}

static int claim(struct blm_filter *f, uint64_t key, uint64_t after)
{
	const struct blm_key one = { &key, 8 };
	int64_t r = blm_claim_again(f, &one, 1, &BLM_WHEN(.within = after), NULL);

	OK(r);
	return (int)r;
}

static bool within(const struct blm_filter *f, uint64_t key, uint64_t age)
{
	const struct blm_key one = { &key, 8 };
	int64_t r = blm_contains_within(f, &one, 1, &BLM_WHEN(.within = age), NULL);

	OK(r);
	return r;
}

static int add_at(struct blm_filter *f, uint64_t key, uint64_t at)
{
	const struct blm_key one = { &key, 8 };
	int64_t r = blm_add_at(f, &one, 1, &BLM_WHEN(.at = at), NULL);

	OK(r);
	return (int)r;
}

/* UINT64_MAX: it is not remembered. */
static uint64_t age(const struct blm_filter *f, uint64_t key)
{
	const struct blm_key one = { &key, 8 };
	uint64_t ret = 0;
	int64_t r = blm_ages(f, &one, 1, NULL, &ret, NULL);

	OK(r);
	return r ? ret : UINT64_MAX;
}

static uint64_t far(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* ---- One key ---- */

START_TEST(a_key_is_found_for_its_span_and_expires_later)
{
	struct blm_filter *f = create(1000, 1e-9, "span=1000,tick=10"), *reader;

	OK(blm_open(&reader, NULL, f->place.display, 0));
	/* wherever in a tick, and whether or not others are added */
	for (uint64_t i = 0; i < 40; i++) {
		uint64_t seen;

		now += 3000 * SECOND + i * SECOND / 3;
		ck_assert_int_eq(add(f, i), 1);
		seen = now;
		for (; now <= seen + 1000 * SECOND; now += 9 * SECOND) {
			ck_assert_msg(has(f, i) && has(reader, i), "after %g s",
				      (double)(now - seen) / 1e9);
			if (i % 2)
				add(f, 1000 + now / SECOND % 500);
		}
		now = seen + 1020 * SECOND;
		ck_assert(!has(f, i) && !has(reader, i));
	}
	blm_close(f), blm_close(reader);
}
END_TEST

START_TEST(an_age_is_less_than_a_tick_from_the_truth)
{
	struct blm_filter *f = create(1000, 1e-9, "span=1000,tick=10");
	uint64_t seen = now += 7 * SECOND, value = 0, key = 1;

	add(f, 1);
	for (; now < seen + 1000 * SECOND; now += 7 * SECOND) {
		ck_assert_uint_lt(far(age(f, 1), now - seen), 10 * SECOND);
		ck_assert_int_eq(blm_get(f, &key, 8, &value), 1);
		ck_assert_uint_eq(value, age(f, 1) / SECOND);
	}
	ck_assert_int_eq(blm_get(f, &(uint64_t){ 2 }, 8, &value), 0);
	ck_assert_uint_eq(age(f, 2), UINT64_MAX);
	blm_close(f);
}
END_TEST

START_TEST(within_answers_yes_to_the_age_and_no_later)
{
	struct blm_filter *f = create(1000, 1e-9, "span=1000,tick=10");

	for (uint64_t i = 0; i < 20; i++) {
		uint64_t seen = now += 1234 * SECOND + i * SECOND;

		add(f, 1);
		for (uint64_t asked = 5 * SECOND; asked < 900 * SECOND; asked += 61 * SECOND) {
			now = seen + asked;
			ck_assert(within(f, 1, asked));
			now = seen + asked + 20 * SECOND;
			ck_assert(!within(f, 1, asked));
		}
	}
	blm_close(f);
}
END_TEST

START_TEST(a_key_is_claimed_once_in_each_age)
{
	struct blm_filter *f = create(1000, 1e-9, "span=30d,tick=1h");
	uint64_t last = 0, key = 5;
	int claims = 0;

	for (uint64_t end = now + 60 * DAY; now < end; now += 1700 * SECOND) {
		if (!claim(f, key, 7 * DAY))
			continue;
		ck_assert(!last || now - last >= 7 * DAY);
		ck_assert(!last || now - last < 7 * DAY + 2 * 3600 * SECOND + 1700 * SECOND);
		ck_assert_int_eq(claim(f, key, 7 * DAY), 0);
		last = now;
		claims++;
	}
	ck_assert_int_eq(claims, 9);
	ck_assert_int_eq(blm_claim(f, &key, 8), 0);	/* after the span */
	now = last + 32 * DAY;
	ck_assert_int_eq(blm_claim(f, &key, 8), 1);
	blm_close(f);
}
END_TEST

START_TEST(a_sight_of_the_past_makes_no_key_older)
{
	struct blm_filter *f = create(1000, 1e-9, "span=30d,tick=1h");

	ck_assert_int_eq(add_at(f, 1, now - 10 * DAY), 1);
	ck_assert_uint_lt(far(age(f, 1), 10 * DAY), 3600 * SECOND);
	ck_assert_int_eq(add_at(f, 1, now - 5 * DAY), 0);
	ck_assert_uint_lt(far(age(f, 1), 5 * DAY), 3600 * SECOND);
	ck_assert_int_eq(add_at(f, 1, now - 20 * DAY), 0);
	ck_assert_uint_lt(far(age(f, 1), 5 * DAY), 3600 * SECOND);
	ck_assert_int_eq(add_at(f, 2, now - 31 * DAY), 0);	/* it would be forgotten at once */
	ck_assert_uint_eq(age(f, 2), UINT64_MAX);
	ck_assert_int_eq(add_at(f, 3, now + 5 * DAY), 1);	/* is yet to come */
	ck_assert_uint_eq(age(f, 3), 0);
	now += 29 * DAY;
	ck_assert(!has(f, 1) && has(f, 3));
	blm_close(f);
}
END_TEST

START_TEST(a_removed_key_is_gone_and_claimable_at_once)
{
	struct blm_filter *f = create(1000, 1e-9, "span=30d");
	uint64_t key = 1;

	add(f, 1), add(f, 2);
	ck_assert_int_eq(blm_remove(f, &key, 8), 1);
	ck_assert_int_eq(blm_remove(f, &key, 8), 0);
	ck_assert(!has(f, 1) && has(f, 2));
	ck_assert_int_eq(claim(f, 1, 7 * DAY), 1);
	now += 33 * DAY;
	ck_assert_int_eq(blm_remove(f, &key, 8), 0);
	blm_close(f);
}
END_TEST

/* ---- The clock ---- */

START_TEST(a_clock_that_goes_back_loses_and_grants_nothing)
{
	struct blm_filter *f = create(1000, 1e-9, "span=30d,tick=1h"), *reader;
	uint64_t begin = now;

	OK(blm_open(&reader, NULL, f->place.display, 0));
	for (uint64_t i = 0; i < 10; i++) {
		ck_assert_int_eq(claim(f, i, 7 * DAY), 1);
		now += DAY / 24;
	}
	now = begin - DAY;	/* set back, and stopped */
	for (uint64_t i = 0; i < 10; i++) {
		ck_assert(has(f, i) && has(reader, i) && within(reader, i, DAY));
		ck_assert_int_eq(claim(f, i, 7 * DAY), 0);
		ck_assert_int_eq(claim(f, 100 + i, 7 * DAY), 1);
	}
	now = begin + 6 * DAY;
	for (uint64_t i = 0; i < 10; i++)
		ck_assert(claim(f, i, 7 * DAY) == 0 && has(f, 100 + i));
	now = begin - 400 * DAY;
	for (uint64_t i = 0; i < 10; i++)
		ck_assert(has(f, i) && has(reader, 100 + i) && claim(f, i, 7 * DAY) == 0);
	now = begin + 8 * DAY;
	for (uint64_t i = 0; i < 10; i++)
		ck_assert_int_eq(claim(f, i, 7 * DAY), 1);
	blm_close(f), blm_close(reader);
}
END_TEST

/* Keys, each with the time of its last sight; 0: none. */
enum { MODELLED = 600 };

static void must_agree(const struct blm_filter *f, const uint64_t *seen, const char *when)
{
	for (uint64_t k = 0; k < MODELLED; k++) {
		bool young = seen[k] && now - seen[k] <= span_of(f),
		     old = !seen[k] || now - seen[k] >= span_of(f) + 2 * tick_of(f);

		ck_assert_msg(!young || has(f, k), "%s: key %d is forgotten after %g ticks", when,
			      (int)k, (double)(now - seen[k]) / (double)tick_of(f));
		ck_assert_msg(!old || !has(f, k),
			      "%s: key %d, last seen %g ticks ago, is young again", when, (int)k,
			      seen[k] ? (double)(now - seen[k]) / (double)tick_of(f) : 0);
		ck_assert_msg(!young || far(age(f, k), now - seen[k]) < tick_of(f), "%s: key %d",
			      when, (int)k);
	}
}

/*
 * Every length of pause, from less than a tick to many cycles of the stamps, with few changes
 * between them.
 */
START_TEST(an_old_stamp_is_never_read_as_young)
{
	static const double pauses[] = { 0.3, 1,   2.5, 13,  40,  100, 228,  240, 253,
					 254, 255, 256, 257, 300, 511, 1000, 1e6 };
	struct blm_filter *f = create(MODELLED, 1e-9, _i ? "span=2000,tick=10" : "span=2000"),
			  *reader;
	uint64_t seen[MODELLED] = { 0 }, random = 1 + (uint64_t)_i;

	OK(blm_open(&reader, NULL, f->place.display, 0));
	for (int round = 0; round < 1500; round++) {
		for (uint64_t n = next_random(&random) % 20; n; n--) {
			uint64_t k = next_random(&random) % MODELLED;

			switch (next_random(&random) % 4) {
			case 0:
				blm_remove(f, &k, 8);
				seen[k] = 0;
				break;
			case 1:
				if (claim(f, k, 500 * SECOND))
					seen[k] = now;
				break;
			default:
				add(f, k);
				seen[k] = now;
			}
		}
		if (round % 8 == 0)
			must_agree(f, seen, "at once");
		now += (uint64_t)(pauses[next_random(&random)
					 % (round % 50 ? 6 : ARRAY_LEN(pauses))]
				  * (double)tick_of(f));
		if (round % 8 == 1)
			must_agree(reader, seen, "after a pause");
	}
	blm_close(f), blm_close(reader);
}
END_TEST

/* As in a copy by bytes that took the first page before the others. */
START_TEST(stamps_that_are_a_little_ahead_count_as_now)
{
	struct blm_filter *f = create(100, 1e-9, "span=2000,tick=10");
	uint64_t *word = (uint64_t *)current_view(f)->root.bytes, before;

	add(f, 1);
	before = load_acquire(word);
	for (int ticks = 1; ticks <= 4; ticks++) {
		now += 10 * SECOND;
		add(f, 2);
		store_release(word, before);
		now -= (uint64_t)ticks * 10 * SECOND;
		ck_assert(has(f, 1) && has(f, 2));
		ck_assert_uint_eq(age(f, 2), 0);
		now += (uint64_t)ticks * 10 * SECOND;
	}
	blm_close(f);
}
END_TEST

/* ---- The table ---- */

/* Of every width of cells and stamps: cells lie across words everywhere. */
START_TEST(keys_of_every_width_of_cells_keep_their_ages)
{
	static const char *const options[] = { "span=2000,tick=10",   "span=4000,tick=10",
					       "span=9000,tick=10",   "span=100000,tick=10",
					       "span=500000,tick=10", "span=2000,tick=10,spare=3" };
	static const double rates[] = { 0.3, 0.1, 0.03, 0.01, 0.002, 1e-4, 1e-6, 1e-8 };
	unsigned widths = 0;

	for (size_t o = 0; o < ARRAY_LEN(options); o++)
		for (size_t r = 0; r < ARRAY_LEN(rates); r++) {
			struct blm_filter *f = create(2000, rates[r], options[o]);
			uint64_t begin = now, exact = 0;

			for (uint64_t i = 0; i < 2000; i++, now += SECOND / 2)
				add(f, i);
			for (uint64_t i = 0; i < 2000; i++) {
				ck_assert(has(f, i));
				exact += far(age(f, i), now - (begin + i * SECOND / 2))
				       < 10 * SECOND;
			}
			/* the others are like another key */
			ck_assert_uint_ge(exact, (uint64_t)(2000 * (1 - 1.3 * rates[r]) - 10));
			widths |= 1u << (shape_of(f)->cell_bits - 16);
			blm_close(f);
		}
	ck_assert_int_ge(__builtin_popcount(widths), 15);
}
END_TEST

START_TEST(a_key_takes_at_most_the_promised_bits)
{
	static const struct { double rate; const char *options; int bits;
	} asked[] = {
		{ 0.01, NULL, 8 },
		{ 0.01, "span=90d,tick=6h", 9 },
		{ 0.001, "span=90d,tick=1h", 12 },
		{ 1e-6, NULL, 8 },
		{ 1e-6, "span=90d,tick=4m", 16 },
		{ 0.003, "span=7d,tick=20m", 10 },
		{ 1e-4, "span=30d,tick=10m", 13 },
	};

	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		const struct blm_params params =
			BLM_PARAMS(.kind = "recent", .options = asked[i].options,
				   .capacity = 1000000, .rate = asked[i].rate);
		double most = 1.06 * (log2(1 / asked[i].rate) + 3 + asked[i].bits) / 0.95;
		struct blm_plan plan;
		struct blm_fact fact;

		OK(blm_plan(&plan, &params));
		ck_assert_msg(plan.bits_per_key <= most, "%g bits, more than %g", plan.bits_per_key,
			      most);
		ck_assert_double_le(plan.predicted_rate, asked[i].rate);
		OK(blm_plan_fact(&params, 0, &fact));
		ck_assert_str_eq(fact.name, "time bits");
		ck_assert_double_eq(fact.value, asked[i].bits);
	}
}
END_TEST

START_TEST(spans_and_ticks_that_do_not_go_together_are_refused)
{
	static const struct { const char *options, *word;
	} bad[] = {
		{ "span=90d,tick=1m", "tick of at least" },
		{ "span=1m,tick=2m", "more than the span" },
		{ "span=1m,tick=0.0001", "0.001" },
	};
	struct blm_filter *f;
	struct blm_key one = { "x", 1 };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		FAILS(blm_create(&f, NULL, a_path(),
				 &BLM_PARAMS(.kind = "recent", .capacity = 10,
					     .options = bad[i].options)),
		      -EINVAL);
		ck_assert_msg(strstr(blm_error_message(), bad[i].word) != NULL, "%s",
			      blm_error_message());
	}
	f = create(10, 0.01, "span=1h");
	FAILS(blm_claim_again(f, &one, 1, &BLM_WHEN(.within = 2 * 3600 * SECOND), NULL), -EINVAL);
	FAILS(blm_contains_within(f, &one, 1, &BLM_WHEN(.within = UINT64_MAX), NULL), -EINVAL);
	FAILS(blm_add_at(f, &one, 1, &(struct blm_when){ 0 }, NULL), -EINVAL);
	blm_close(f);
	OK(blm_create(&f, NULL, a_path(), &BLM_PARAMS(.capacity = 10)));
	FAILS(blm_claim_again(f, &one, 1, NULL, NULL), -EOPNOTSUPP);
	FAILS(blm_ages(f, &one, 1, NULL, &(uint64_t){ 0 }, NULL), -EOPNOTSUPP);
	blm_close(f);
}
END_TEST

START_TEST(a_full_table_reports_it_and_expired_keys_give_space)
{
	struct blm_filter *f = create(5000, 1e-4, "span=30d");
	uint64_t count = 0;

	for (int r = 1; ; count++) {
		r = blm_add(f, &count, 8);
		if (r < 0) {
			FAILS(r, -EXFULL);
			break;
		}
	}
	ck_assert_msg(strstr(blm_error_message(), "blm_grow()") != NULL, "%s", blm_error_message());
	ck_assert_uint_ge(count, 5000);
	for (uint64_t i = 0; i < count; i++)
		ck_assert(has(f, i));
	now += 31 * DAY;
	for (uint64_t i = 0; i < 5000; i++)
		add(f, 10000 + i);
	for (uint64_t i = 0; i < 5000; i++)
		ck_assert(has(f, 10000 + i));
	blm_close(f);
}
END_TEST

START_TEST(growth_keeps_all_ages_and_the_rate_with_spare_bits)
{
	enum { KEYS = 4000 };
	struct blm_filter *f = create(KEYS, 0.01, "span=30d,spare=2");
	uint64_t begin = now, wrong = 0, misaged = 0;

	for (uint64_t i = 0; i < KEYS; i++, now += 600 * SECOND)
		add(f, i);
	OK(blm_grow(f, 0));
	OK(blm_grow(f, 0));
	FAILS(blm_grow(f, 0), -ERANGE);
	for (uint64_t i = 0; i < KEYS; i++) {
		ck_assert(has(f, i));
		misaged += far(age(f, i), now - (begin + i * 600 * SECOND)) >= tick_of(f);
	}
	ck_assert_uint_le(misaged, KEYS / 50);
	for (uint64_t i = KEYS; i < 4 * KEYS; i++)
		add(f, i);
	for (uint64_t i = 0; i < 100000; i++)
		wrong += has(f, 1000000 + i);
	ck_assert_uint_le(wrong, 1000 + 3 * 32);
	ck_assert_uint_ge(wrong, 300);
	blm_close(f);
}
END_TEST

START_TEST(impossible_words_crash_no_process)
{
	static const uint64_t words[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63 };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		for (unsigned w = 0; w < 4; w++) {
			struct blm_filter *f = create(1000, 0.01, "span=30d");
			const struct blm_part *root = &current_view(f)->root;
			struct blm_fact fact;

			for (uint64_t k = 0; k < 500; k++)
				add(f, k);
			store_release((uint64_t *)current_view(f)->root.bytes + w, words[i]);
			for (unsigned n = 0; root->kind->describe(root, n, &fact); n++)
				ck_assert_uint_lt(n, 20);
			now += DAY;
			for (uint64_t k = 0; k < 500; k++) {
				has(f, k);
				OK(blm_add(f, &k, 8));
				ck_assert(has(f, k));
			}
			ck_assert_int_eq(blm_remove(f, &(uint64_t){ 1 }, 8), 1);
			blm_close(f);
		}
}
END_TEST

static uint64_t cell_at(const struct blm_filter *f, uint64_t cell)
{
	uint64_t value = 0, bit = 512 + cell * shape_of(f)->cell_bits;

	for (unsigned i = 0; i < shape_of(f)->cell_bits; i++, bit++)
		value |= (uint64_t)(current_view(f)->root.bytes[bit / 8] >> bit % 8 & 1) << i;
	return value;
}

static void put_cell(struct blm_filter *f, uint64_t cell, uint64_t value)
{
	uint64_t bit = 512 + cell * shape_of(f)->cell_bits;
	uint8_t *bytes = current_view(f)->root.bytes;

	for (unsigned i = 0; i < shape_of(f)->cell_bits; i++, bit++)
		bytes[bit / 8] = (uint8_t)((bytes[bit / 8] & ~(1u << bit % 8))
					   | (value >> i & 1) << bit % 8);
}

/* Those with a stamp, which is of 8 bits here. */
static uint64_t used_cells(const struct blm_filter *f, uint64_t *ret_last)
{
	unsigned bits = shape_of(f)->cell_bits;
	uint64_t used = 0;

	for (uint64_t cell = 0; cell < shape_of(f)->cells; cell++)
		if (cell_at(f, cell) >> ((512 + cell * bits) % 64 + 8 <= 64 ? 0 : bits - 8)
		    & 0xff) {
			*ret_last = cell;
			used++;
		}
	return used;
}

/*
 * A mover that is killed leaves a key in both of its buckets; here each of them in turn is the
 * younger one.
 */
START_TEST(a_key_that_a_killed_mover_doubled_is_one_key)
{
	struct blm_filter *f = create(64, 1e-8, "span=2000,tick=10");
	uint64_t first = 0, second = 0, early, late, key = 1, cells = shape_of(f)->cells;

	add(f, key);
	ck_assert_uint_eq(used_cells(f, &first), 1);
	early = cell_at(f, first);
	ck_assert_uint_lt(first, cells / 2);
	/* others like it, but for a bit of the remainder: it must go to its other bucket */
	for (uint64_t i = 0; i < 4; i++)
		put_cell(f, first + i, early ^ UINT64_C(1) << (12 + i));
	now += 100 * SECOND;
	add(f, key);
	ck_assert_uint_eq(used_cells(f, &second), 5);
	ck_assert_uint_ge(second, cells / 2);
	late = cell_at(f, second);
	if (_i == 1) {	/* the first one is seen again, alone */
		put_cell(f, second, 0);
		put_cell(f, first, 0);
		add(f, key);
		put_cell(f, second, late);	/* as young */
	} else {
		put_cell(f, first, early);
	}
	ck_assert_uint_eq(age(f, key), 0);
	if (_i < 2) {	/* else both go at once */
		now += 50 * SECOND;
		ck_assert_int_eq(claim(f, key, 60 * SECOND), 0);
		ck_assert_int_eq(claim(f, key, 40 * SECOND), 1);
		ck_assert_uint_eq(used_cells(f, &second), 4);	/* the other one is gone */
		ck_assert_uint_eq(age(f, key), 0);
	}
	ck_assert_int_eq(blm_remove(f, &key, 8), 1);
	ck_assert(!has(f, key));
	ck_assert_uint_eq(used_cells(f, &second), 3);
	blm_close(f);
}
END_TEST

/* ---- Rates and processes ---- */

START_TEST(the_promised_rate_holds_over_the_whole_span)
{
	const uint64_t capacity = 20000, asked = SANITIZED ? 20000 : 400000;
	struct blm_filter *f = create(capacity, 0.01, "span=30d");
	uint64_t next = 0, wrong = 0, questions = 0;
	double most = 0, rate, planned;

	/* as many keys as it is for in each span: new ones come as old ones go */
	for (int step = 0; step < 90; step++, now += DAY) {
		for (uint64_t i = 0; i < capacity / 33; i++)
			add(f, next++);
		for (uint64_t i = 0; i < asked / 90; i++, questions++)
			wrong += has(f, UINT64_C(1) << 40 | (uint64_t)step << 24 | i);
	}
	rate = (double)wrong / (double)questions;
	planned = current_view(f)->root.kind->rate_at(shape_of(f), capacity);
	most = planned + 3 * sqrt(planned / (double)questions);
	ck_assert_msg(rate <= most && rate <= 0.01, "%g, more than %g", rate, most);
	ck_assert_double_ge(rate, planned / 2);		/* it was about full for most of the time */
	blm_close(f);
}
END_TEST

enum { CRAWLERS = 4, HOURS = 6 };

/*
 * What all crawlers of a test share: their time, and for each URL its last claim, and how many
 * there were.
 */
static struct crawl {
	_Atomic uint64_t now;
	_Atomic unsigned waiting, round;
	_Atomic bool early;
	uint64_t urls;
	char path[600];
	_Atomic uint64_t last[];
} *crawl;

static uint64_t crawl_time(void)
{
	return crawl->now;
}

static void note_claim(uint64_t url)
{
	uint64_t last = atomic_exchange(&crawl->last[url], crawl->now);

	if (last && crawl->now - last < 7 * DAY)
		crawl->early = true;
}

/* All wait for one another, and the last one lets the time pass. */
static void meet(unsigned round)
{
	if (atomic_fetch_add(&crawl->waiting, 1) + 1 == CRAWLERS) {
		crawl->waiting = 0;
		crawl->now += HOURS * 3600 * SECOND;
		crawl->round = round + 1;
	}
	while (crawl->round == round)
		usleep(50);
}

/* Each of them finds every URL once in a round, in an order of its own. */
static int crawler(void *context)
{
	uint64_t c = (uint64_t)(uintptr_t)context, keys[512], bits[8];
	struct blm_key list[512];
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, crawl->path, BLM_OPEN_WRITE) == 0);
	for (unsigned round = 0; round < 30 * 24 / HOURS; round++) {
		for (uint64_t at = 0; at < crawl->urls; at += 512) {
			size_t count = crawl->urls - at < 512 ? crawl->urls - at : 512;

			for (size_t i = 0; i < count; i++) {
				/* two are at the same */
				keys[i] = (at + i + (c / 2 + round) * crawl->urls / 2)
					% crawl->urls;
				list[i] = (struct blm_key){ &keys[i], 8 };
			}
			MUST(blm_claim_again(f, list, count, &BLM_WHEN(.within = 7 * DAY), bits)
			     >= 0);
			for (size_t i = 0; i < count; i++)
				if (bits[i / 64] >> i % 64 & 1)
					note_claim(keys[i]);
		}
		meet(round);
	}
	blm_close(f);
	return 0;
}

START_TEST(one_of_many_crawlers_claims_each_url_every_7_days)
{
	const double most = SANITIZED ? 1e5 : test_scale() < 1 ? 4e5 : 1e6;
	const uint64_t urls = (uint64_t)(most * test_scale()) + 1000;
	const double rate = 1e-4, tick = 86400;
	size_t bytes = sizeof(*crawl) + urls * sizeof(crawl->last[0]);
	struct blm_filter *f = create(urls, rate, "span=30d,tick=1d");
	uint64_t missing = 0, late = 0;
	pid_t pid[CRAWLERS];

	crawl = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(crawl, MAP_FAILED);
	crawl->now = now;
	crawl->urls = urls;
	snprintf(crawl->path, sizeof(crawl->path), "%s", f->place.display);
	blm_clock = crawl_time;
	for (unsigned c = 0; c < CRAWLERS; c++)
		pid[c] = spawn(crawler, (void *)(uintptr_t)c);
	for (unsigned c = 0; c < CRAWLERS; c++)
		ck_assert_int_eq(join(pid[c]), 0);
	ck_assert(!crawl->early);
	for (uint64_t i = 0; i < urls; i++) {
		missing += !crawl->last[i];
		late += crawl->last[i]
		     && (double)(crawl->now - crawl->last[i])
				> (7 * 86400 + 2 * tick + HOURS * 3600) * 1e9;
	}
	ck_assert_msg((double)missing <= rate * (double)urls + 3 * sqrt(rate * (double)urls),
		      "%d were never claimed", (int)missing);
	ck_assert_msg((double)late <= rate * (double)urls + 3 * sqrt(rate * (double)urls),
		      "%d were not claimed again", (int)late);
	munmap(crawl, bytes);
	blm_close(f);
}
END_TEST

/* Keys that move must not be out of the table at any moment. */
static struct { _Atomic bool end; } *race;

static int asker(void *path)
{
	struct blm_filter *f;
	uint64_t asked = 0;

	MUST(blm_open(&f, NULL, path, 0) == 0);
	while (!race->end)
		for (uint64_t k = 0; k < 1000; k++, asked++)
			MUST(has(f, k));
	blm_close(f);
	return asked ? 0 : 1;
}

START_TEST(no_reader_misses_a_key_that_moves_or_is_refreshed)
{
	struct blm_filter *f = create(4000, 1e-6, "span=2000,tick=10");
	char *path = strdup(f->place.display);
	pid_t pid;

	race = mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(race, MAP_FAILED);
	for (uint64_t k = 0; k < 1000; k++)
		add(f, k);
	pid = spawn(asker, path);
	for (int round = 0; round < (SANITIZED ? 4 : 40); round++) {
		for (uint64_t k = 1000; k < 4050; k++)
			add(f, k);
		now += 10 * SECOND;
		for (uint64_t k = 0; k < 1000; k++)
			add(f, k);
		for (uint64_t k = 1000; k < 4050; k++)
			OK(blm_remove(f, &k, 8));
	}
	race->end = true;
	ck_assert_int_eq(join(pid), 0);
	blm_close(f);
	free(path);
}
END_TEST

/* ---- A reader that is stopped after any instruction ---- */

enum { NOT_TRACED = 77 };

/* What the words of a table and its moves were. */
struct image {
	uint8_t bytes[1024];
	uint64_t moves;
};

static void save(const struct blm_filter *f, struct image *ret)
{
	ck_assert_uint_le(shape_of(f)->bytes, sizeof(ret->bytes));
	memcpy(ret->bytes, current_view(f)->root.bytes, shape_of(f)->bytes);
	ret->moves = load_acquire(own_word(&current_view(f)->root, 0));
}

static void restore(const struct blm_filter *f, const struct image *image)
{
	memcpy(current_view(f)->root.bytes, image->bytes, shape_of(f)->bytes);
	store_release(own_word(&current_view(f)->root, 0), image->moves);
}

static struct stopped {
	const char *path;
	uint64_t key;
	bool may_be_new;	/* or it was seen now */
} stopped;

/*
 * As the kind itself answers, which takes few instructions: the key is in it and was seen now, or
 * was never seen.
 */
static bool is_right(const struct blm_part *part, const struct blm_hashed *hashed)
{
	uint64_t seen = 0;

	return part->kind->get(part, hashed, &seen) ? seen == 0 : stopped.may_be_new;
}

static int stop_and_ask(void *context)
{
	struct blm_when when = BLM_WHEN(.within = 2000 * SECOND);
	struct blm_hashed hashed = { .when = &when };
	struct blm_filter *f;

	(void)context;
	MUST(blm_open(&f, NULL, stopped.path, 0) == 0);
	MUST(blm_hash_many(f, &(struct blm_key){ &stopped.key, 8 }, 1, &hashed.hash) == 0);
	MUST(is_right(&current_view(f)->root, &hashed));
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		return NOT_TRACED;
	for (;;) {
		raise(SIGSTOP);
		if (!is_right(&current_view(f)->root, &hashed))
			return 1;
	}
}

/* false: the reader has asked, and is about to ask again */
static bool step(pid_t pid, int request)
{
	int status;

	ck_assert_int_eq((int)ptrace(request, pid, NULL, NULL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSTOPPED(status), "the answer was wrong: %x", (unsigned)status);
	return WSTOPSIG(status) != SIGSTOP;
}

/*
 * A question of one image, which becomes the other one after any third of its instructions, or with
 * a share of the work, after any eleventh. Ends with the first one.
 */
static void must_be_right_at_any_change(struct blm_filter *f, const struct image *before,
					const struct image *after)
{
	unsigned stride = SANITIZED ? 37 : test_scale() < 1 ? 11 : 3;
	int status;
	pid_t pid;

	restore(f, before);
	stopped.path = f->place.display;
	pid = spawn(stop_and_ask, NULL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status)) {
		ck_assert_int_eq(WEXITSTATUS(status), NOT_TRACED);
		SKIP_PART("no process can be traced here: no reader was stopped");
		return;
	}
	for (unsigned steps = 1, done; ; steps += stride) {
		restore(f, before);
		for (done = 0; done < steps && step(pid, PTRACE_SINGLESTEP); done++)
			;
		restore(f, after);
		if (done < steps)
			break;
		ck_assert(!step(pid, PTRACE_CONT));
	}
	kill(pid, SIGKILL);
	ck_assert_int_eq(join(pid), 1000 + SIGKILL);
	restore(f, before);
}

enum { OLD_KEYS = 16, ALL_KEYS = 68, NEW_KEY = 1000, NEW_KEYS_END = 1400 };

/* A small table, nearly full: some keys of 1000 seconds ago, the others of now. */
static struct blm_filter *nearly_full(void)
{
	struct blm_filter *f = create(10, 1e-8, "span=2000,tick=10");

	for (uint64_t k = 0; k < ALL_KEYS; k++) {
		now += k == OLD_KEYS ? 1000 * SECOND : 0;
		add(f, k);
	}
	return f;
}

/* The cell of a key that is taken out, if it is in the first bucket of the key; else UINT64_MAX. */
static uint64_t emptied_by(struct blm_filter *f, uint64_t key)
{
	struct image before;
	uint64_t cell = 0, old[128];

	save(f, &before);
	for (uint64_t i = 0; i < shape_of(f)->cells; i++)
		old[i] = cell_at(f, i);
	ck_assert_int_eq(blm_remove(f, &key, 8), 1);
	while (cell_at(f, cell) == old[cell])
		cell++;
	return cell < shape_of(f)->cells / 2 ? cell : UINT64_MAX;
}

/* Which of the first keys is in a cell; UINT64_MAX: none. */
static uint64_t key_of_cell(struct blm_filter *f, uint64_t cell)
{
	uint64_t key, ret = UINT64_MAX;
	struct image image;

	save(f, &image);
	for (key = 0; key < ALL_KEYS && ret == UINT64_MAX; key++) {
		bool there = has(f, key);

		put_cell(f, cell, 0);
		ret = there && !has(f, key) ? key : UINT64_MAX;
		restore(f, &image);
	}
	return ret;
}

/*
 * An old key is taken out, and another one comes in its cell: _i = 0: one that is new; 1: one of
 * now that is moved to it, for a third one. The reader may be between the stamp of the old one and
 * the remainder of the other.
 */
START_TEST(a_paused_reader_gives_no_key_another_keys_age)
{
	struct blm_filter *f = nearly_full();
	struct image before, after;
	bool tried = false;

	save(f, &before);
	for (uint64_t old = 0; old < OLD_KEYS && !tried; old++)
		for (uint64_t new = NEW_KEY; new < NEW_KEYS_END && !tried; new++) {
			uint64_t cell = emptied_by(f, old), key = UINT64_MAX;
			bool added = blm_add(f, &new, 8) == 1 && cell != UINT64_MAX
				  && cell_at(f, cell),
			     moved;

			save(f, &after);
			moved = after.moves == before.moves + 1;
			if (added && moved)
				key = key_of_cell(f, cell);
			if (added
			    && (_i ? key >= OLD_KEYS && key < ALL_KEYS
				   : after.moves == before.moves)) {
				stopped.key = _i ? key : new;
				stopped.may_be_new = !_i;
				must_be_right_at_any_change(f, &before, &after);
				tried = true;
				break;
			}
			restore(f, &before);
		}
	ck_assert(tried);
	blm_close(f);
}
END_TEST

START_TEST(a_clock_that_stands_at_1970_is_as_any_other)
{
	struct blm_filter *f;

	now = 0;
	f = create(1000, 1e-9, "span=1000,tick=10");
	for (uint64_t k = 0; k < 10; k++)
		add(f, k);
	/* which says that nothing ever changed */
	ck_assert_uint_ne(load_acquire((const uint64_t *)current_view(f)->root.bytes), 0);
	now = 100000 * SECOND;
	for (uint64_t k = 0; k < 10; k++)
		ck_assert(!has(f, k));
	for (uint64_t k = 0; k < 10; k++)
		ck_assert_int_eq(add(f, k), 1);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("recent");
	TCase *tc = tcase_create("recent");

	tcase_add_checked_fixture(tc, begin_time, NULL);
	tcase_add_test(tc, a_key_is_found_for_its_span_and_expires_later);
	tcase_add_test(tc, an_age_is_less_than_a_tick_from_the_truth);
	tcase_add_test(tc, within_answers_yes_to_the_age_and_no_later);
	tcase_add_test(tc, a_key_is_claimed_once_in_each_age);
	tcase_add_test(tc, a_sight_of_the_past_makes_no_key_older);
	tcase_add_test(tc, a_removed_key_is_gone_and_claimable_at_once);
	tcase_add_test(tc, a_clock_that_goes_back_loses_and_grants_nothing);
	tcase_add_loop_test(tc, an_old_stamp_is_never_read_as_young, 0, 2);
	tcase_add_test(tc, stamps_that_are_a_little_ahead_count_as_now);
	tcase_add_test(tc, keys_of_every_width_of_cells_keep_their_ages);
	tcase_add_test(tc, a_key_takes_at_most_the_promised_bits);
	tcase_add_test(tc, spans_and_ticks_that_do_not_go_together_are_refused);
	tcase_add_test(tc, a_full_table_reports_it_and_expired_keys_give_space);
	tcase_add_test(tc, growth_keeps_all_ages_and_the_rate_with_spare_bits);
	tcase_add_test(tc, impossible_words_crash_no_process);
	tcase_add_loop_test(tc, a_key_that_a_killed_mover_doubled_is_one_key, 0, 3);
	tcase_add_test(tc, the_promised_rate_holds_over_the_whole_span);
	tcase_add_test(tc, one_of_many_crawlers_claims_each_url_every_7_days);
	tcase_add_test(tc, no_reader_misses_a_key_that_moves_or_is_refreshed);
	tcase_add_loop_test(
		tc,
		a_paused_reader_gives_no_key_another_keys_age,
		0, 2);
	tcase_add_test(tc, a_clock_that_stands_at_1970_is_as_any_other);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
