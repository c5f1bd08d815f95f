/*
 * counting.c - what holds for counters: they add up, they stick when full, and removers do not get
 * in each other's way
 */
#include "handle/handle.h"
#include "file/os.h"
#include "suite.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

enum { N = 5000 };
static const char *const widths[] = { "bits=4", "bits=3" };

static struct blm_filter *create(struct blm_params params)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, a_path(), &params));
	return f;
}

static struct blm_filter *make(const char *kind, const char *options, uint64_t cells,
			       uint32_t probes)
{
	const uint64_t seed = 7;

	return create(BLM_PARAMS(.kind = kind, .options = options, .cells = cells, .probes = probes,
				 .seeds = &seed, .seed_count = 1));
}

static void same_data(const struct blm_filter *a, const struct blm_filter *b)
{
	const struct blm_part *x = &current_view(a)->part[0], *y = &current_view(b)->part[0];

	ck_assert_uint_eq(x->shape.bytes, y->shape.bytes);
	ck_assert_int_eq(memcmp(x->bytes, y->bytes, x->shape.bytes), 0);
}

static void take_numbers(struct blm_filter *f, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		ck_assert_int_eq(blm_remove(f, &i, sizeof(i)), 1);
}

static double fact(const struct blm_filter *f, const char *name)
{
	struct blm_fact fact;

	for (size_t i = 0; blm_fact(f, i, &fact) == 0; i++)
		if (!strcmp(fact.name, name))
			return fact.value;
	return -1;
}

/* ---- Counting ---- */

START_TEST(a_key_added_and_removed_twenty_times_is_still_there)
{
	struct blm_filter *f =
		create(BLM_PARAMS(.kind = "counting", .options = widths[_i], .capacity = N));
	uint64_t held;

	add_numbers(f, 0, N);
	for (int i = 0; i < 20; i++)
		OK(blm_add(f, "often", 5));
	ck_assert_double_gt(fact(f, "saturated"), 0);
	/* full counters do not go down */
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(blm_remove(f, "often", 5), 0);
	ck_assert_int_eq(blm_get(f, "often", 5, &held), 1);
	ck_assert_uint_eq(held, _i ? 7 : 15);
	ck_assert_double_eq(fact(f, "highest"), _i ? 7 : 15);
	ck_assert_uint_eq(numbers_found(f, 0, N), N);
	for (uint32_t i = 0; i < N / 2; i++)
		ck_assert_int_ge(blm_remove(f, &i, sizeof(i)), 0);
	ck_assert_uint_eq(numbers_found(f, N / 2, N), N - N / 2);
	ck_assert(blm_contains(f, "often", 5));
	blm_close(f);
}
END_TEST

/* m/n is 10 and k is 4. The last ones are in A only, so that the filters are of different sizes. */
START_TEST(two_filters_tell_within_a_hundredth_how_many_keys_differ)
{
	static const struct { uint32_t a_alone, b_alone;
	} cases[] = {
		{ 100, 100 },  { 1000, 1000 },	{ 10000, 10000 }, { 50000, 50000 },
		{ 100000, 0 }, { 30000, 1000 }, { 1, 0 },	  { 0, 0 },
	};
	const uint32_t keys = 100000, a_alone = cases[_i].a_alone, b_alone = cases[_i].b_alone;
	const double truth = a_alone + b_alone;
	struct blm_comparison c;
	struct blm_filter *a, *b;

	if (is_too_alike(_i, 3))
		return;
	a = make("counting", "bits=4", 10 * keys, 4), b = make("counting", "bits=4", 10 * keys, 4);
	add_numbers(a, 0, keys);
	add_numbers(b, a_alone, keys + b_alone);
	OK(blm_compare(a, b, &c));
	ck_assert_double_le(fabs(c.difference.value - truth), 0.01 * truth);
	ck_assert_double_eq_tol(c.difference.error, c.difference.value * sqrt(2 / (10.0 * keys)),
				1e-9);
	OK(blm_compare(b, a, &c));
	ck_assert_double_le(fabs(c.difference.value - truth), 0.01 * truth);
	blm_close(a);
	blm_close(b);
}
END_TEST

START_TEST(a_key_counts_as_often_as_it_was_added)
{
	struct blm_filter *f =
		create(BLM_PARAMS(.kind = "counting", .options = widths[_i], .capacity = N));
	uint64_t held = 99;

	ck_assert_int_eq(blm_get(f, "x", 1, &held), 0);
	for (uint64_t i = 1; i <= 5; i++) {
		ck_assert_int_eq(blm_add(f, "x", 1), 1);
		ck_assert_int_eq(blm_get(f, "x", 1, &held), 1);
		ck_assert_uint_eq(held, i);
	}
	for (uint64_t i = 5; i > 0; i--) {
		ck_assert_int_eq(blm_get(f, "x", 1, &held), 1);
		ck_assert_uint_eq(held, i);
		ck_assert_int_eq(blm_remove(f, "x", 1), 1);
	}
	ck_assert_int_eq(blm_remove(f, "x", 1), 0);
	ck_assert(!blm_contains(f, "x", 1));
	blm_close(f);
}
END_TEST

/* With 256 probes in few cells, many of a key's fall together. */
START_TEST(a_cell_counts_a_key_once_for_all_its_probes)
{
	struct blm_filter *f = make("counting", widths[_i], 50, 256);

	for (int i = 0; i < 4; i++)
		OK(blm_add(f, "x", 1));
	ck_assert_double_eq(fact(f, "highest"), 4);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(blm_remove(f, "x", 1), 1);
	ck_assert_double_eq(fact(f, "highest"), 0);
	blm_close(f);
}
END_TEST

START_TEST(counters_overflow_as_rarely_as_published)
{
	static const struct {
		const char *options;
		double least, most;
	} known[] = { { "bits=4", 7.06e-17, 7.08e-17 }, { "bits=3", 7.15e-7, 7.25e-7 } };

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		struct blm_params params =
			BLM_PARAMS(.kind = "counting", .options = known[i].options,
				   .cells = 14426950, .probes = 10, .capacity = 1000000);
		struct blm_fact overflow;

		OK(blm_plan_fact(&params, 0, &overflow));
		ck_assert_str_eq(overflow.name, "overflow");
		ck_assert_msg(overflow.value > known[i].least && overflow.value < known[i].most,
			      "%g", overflow.value);
		params.cells = 1;
		OK(blm_plan_fact(&params, 0, &overflow));
		ck_assert_double_eq(overflow.value, 1);
	}
}
END_TEST

START_TEST(the_load_predicts_the_number_of_full_counters)
{
	const uint64_t cells = 3000000, keys = 300000;
	struct blm_filter *f = make("counting", "bits=3", cells, 10);
	double load = 1, share = exp(-1), below = 0, mean;

	add_numbers(f, 0, (uint32_t)keys);
	for (int x = 0; x < 7; x++) {
		below += share;
		share *= load / (x + 1);
	}
	mean = (1 - below) * (double)cells;
	ck_assert_msg(fabs(fact(f, "saturated") - mean) <= 4 * sqrt(mean), "%g, not %g",
		      fact(f, "saturated"), mean);
	blm_close(f);
}
END_TEST

/* ---- Unions and conversion ---- */

START_TEST(a_union_counts_what_both_have)
{
	struct blm_filter *a = make("counting", widths[_i], 20011, 5), *b, *both, *made;

	OK(blm_template(&b, NULL, a_path(), a, 0));
	OK(blm_template(&both, NULL, a_path(), a, 0));
	add_numbers(a, 0, N), add_numbers(b, N / 2, 2 * N);
	add_numbers(both, 0, N), add_numbers(both, N / 2, 2 * N);
	for (int i = 0; i < 12; i++) {
		OK(blm_add(i % 2 ? a : b, "full", 4));
		OK(blm_add(both, "full", 4));
	}
	OK(blm_combine(&made, NULL, a_path(), BLM_UNION, (const struct blm_filter *[]){ a, b }, 2,
		       0, NULL));
	same_data(made, both);
	OK(blm_combine_into(a, BLM_UNION, (const struct blm_filter *[]){ b }, 1, 0, NULL));
	same_data(a, both);
	blm_close(a), blm_close(b), blm_close(both), blm_close(made);
}
END_TEST

START_TEST(raw_data_adds_up_too_a_word_at_a_time)
{
	struct blm_filter *a = make("counting", widths[_i], 20011, 5), *b, *all;
	size_t bytes = current_view(a)->part[0].shape.bytes;
	uint8_t *data = malloc(bytes);

	OK(blm_template(&b, NULL, a_path(), a, 0));
	OK(blm_template(&all, NULL, a_path(), a, 0));
	add_numbers(a, 0, N), add_numbers(b, N / 2, 2 * N);
	add_numbers(all, 0, N), add_numbers(all, N / 2, 2 * N);
	OK(blm_data_read(b, 0, data, bytes));
	for (size_t at = 0, some = 8; at < bytes; at += some, some = some % 200 + 8)
		OK(blm_data_unite(a, at, data + at, bytes - at < some ? bytes - at : some));
	same_data(a, all);
	FAILS(blm_data_unite(a, 4, data, 8), -EINVAL);
	FAILS(blm_data_unite(a, 8, data, 4), -EINVAL);
	memset(data, 0, bytes);
	data[15] = 0x80;
	/* of 3 bits, 21 are in a word, and one bit is left */
	ck_assert_int_eq(blm_data_unite(a, 0, data, 64), _i ? -EINVAL : 0);
	if (!_i)
		OK(blm_data_unite(all, 0, data, 64));
	memset(data, 0xff, bytes);
	FAILS(blm_data_unite(a, 0, data, bytes), -EINVAL);	/* past the last cell */
	same_data(a, all);
	free(data);
	blm_close(a), blm_close(b), blm_close(all);
}
END_TEST

START_TEST(a_converted_filter_is_the_classic_filter_of_remaining_keys)
{
	static const uint64_t sizes[] = { 1, 63, 64, 65, 20011, 70000, 1200000 };

	for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
		struct blm_filter *f = make("counting", widths[_i], sizes[s], 5),
				  *classic = make("classic", NULL, sizes[s], 5), *made;
		uint32_t keys = sizes[s] > 1000 ? 3000 : 2;	/* nothing is to be full */
		struct blm_info x = BLM_INFO, y = BLM_INFO;

		add_numbers(f, 0, keys);
		take_numbers(f, 0, keys / 2);
		add_numbers(classic, keys / 2, keys);
		ck_assert_double_eq(fact(f, "saturated"), 0);
		OK(blm_convert(&made, NULL, a_path(), f, s % 2 ? "classic" : NULL, 0));
		same_data(made, classic);
		OK(blm_info(made, &x));
		OK(blm_info(classic, &y));
		ck_assert_str_eq(x.kind, "classic");
		ck_assert_mem_eq(x.template_id, y.template_id, 16);
		ck_assert_uint_eq(x.keys, keys - keys / 2);
		OK(blm_same_template(made, classic));
		blm_close(f), blm_close(classic), blm_close(made);
	}
}
END_TEST

START_TEST(an_impossible_conversion_is_refused_with_the_possible_ones)
{
	struct blm_filter *f = make("blocked", NULL, 5120, 5), *g = make("counting", NULL, 5000, 5),
			  *made;

	FAILS(blm_convert(&made, NULL, a_path(), f, "classic", 0), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "counting becomes classic"));
	FAILS(blm_convert(&made, NULL, a_path(), g, "blocked", 0), -EOPNOTSUPP);
	FAILS(blm_convert(&made, NULL, a_path(), g, "no such kind", 0), -ENOENT);
	blm_close(f), blm_close(g);
}
END_TEST

/* ---- Many at a time ---- */

enum { WORKERS = 4, ROUNDS = SANITIZED ? 20 : 120, SHARED = 256, KEPT = 4000 };

static uint32_t rounds(void)
{
	return test_scale() < 1 && ROUNDS > 40 ? 40 : ROUNDS;
}

static struct blm_filter *shared;	/* of all workers */
static struct race {
	uint64_t arrived, won[ROUNDS * SHARED];
} *race;

static void all_arrive(uint64_t round)
{
	double begun = seconds();

	__atomic_fetch_add(&race->arrived, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&race->arrived, __ATOMIC_ACQUIRE) < WORKERS * (round + 1))
		if (sched_yield() || seconds() - begun > TOO_LONG)
			MUST(!"all get on");
}

/*
 * All take out the same keys, each time beginning together. And one of them adds the next, and asks
 * for what is to stay.
 */
static int race_for_keys(void *context)
{
	uint32_t numbers[SHARED];
	struct blm_key keys[SHARED];
	uint64_t bits[SHARED / 64];

	for (uint32_t round = 0; round < rounds(); round++) {
		for (uint32_t i = 0; i < SHARED; i++) {
			numbers[i] = round * SHARED + i;
			keys[i] = (struct blm_key){ &numbers[i], 4 };
		}
		if (!context)
			MUST(blm_add_many(shared, keys, SHARED, NULL) == SHARED);
		all_arrive(2 * round);
		MUST(blm_remove_many(shared, keys, SHARED, bits) >= 0);
		for (uint32_t i = 0; i < SHARED; i++)
			__atomic_fetch_add(&race->won[numbers[i]], bits[i / 64] >> i % 64 & 1,
					   __ATOMIC_RELAXED);
		MUST(numbers_found(shared, 1000000, 1000000 + KEPT) == KEPT);
		all_arrive(2 * round + 1);
	}
	return 0;
}

static void *race_in_thread(void *worker)
{
	race_for_keys(worker);
	return NULL;
}

static void all_race(bool threads)
{
	pthread_t thread[WORKERS];
	pid_t pid[WORKERS];

	for (uintptr_t w = 0; w < WORKERS; w++)
		if (threads)
			ck_assert_int_eq(
				pthread_create(&thread[w], NULL, race_in_thread, (void *)w), 0);
		else
			pid[w] = spawn(race_for_keys, (void *)w);
	for (int w = 0; w < WORKERS; w++)
		if (threads)
			pthread_join(thread[w], NULL);
		else
			ck_assert_int_eq(join(pid[w]), 0);
}

/*
 * Of 30 cells a key some are another's too, which a key that is taken out twice would take along;
 * and none is a false positive. _i: bit 0 the width, bit 1 threads instead of processes.
 */
START_TEST(racing_removers_take_each_key_once_and_counters_agree)
{
	struct blm_filter *kept = make("counting", widths[_i & 1], 1000003, 30);

	shared = make("counting", widths[_i & 1], 1000003, 30);
	race = mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	add_numbers(shared, 1000000, 1000000 + KEPT), add_numbers(kept, 1000000, 1000000 + KEPT);
	all_race(_i & 2);
	for (uint32_t i = 0; i < rounds() * SHARED; i++)
		ck_assert_msg(race->won[i] == 1, "key %u was taken out by %llu", i,
			      (unsigned long long)race->won[i]);
	same_data(shared, kept);
	blm_close(shared), blm_close(kept);
}
END_TEST

/* Adds and takes out keys of its own. */
static int churn(void *context)
{
	uint32_t base = 1000000 * ((uint32_t)(uintptr_t)context + 1);

	for (uint32_t i = 0; i < 200; i++)
		MUST(blm_add(shared, &(uint32_t){ base + i }, 4) == 1);
	for (uint32_t i = 0; i < 200; i++)
		MUST(blm_remove(shared, &(uint32_t){ base + i }, 4) == 1);
	return 0;
}

static int churn_for_ever(void *context)
{
	for (;;)
		churn(context);
	return 0;
}

START_TEST(killed_removers_and_adders_lose_no_key_and_block_none)
{
	uint64_t random = 3;

	shared = make("counting", widths[_i], 4000037, 4);
	add_numbers(shared, 500000, 502000);
	for (int i = 0; i < (int)(100 * test_scale()) + 10; i++) {
		pid_t pid = spawn(churn_for_ever, (void *)(uintptr_t)i);
		uint32_t key = 700000 + (uint32_t)i;

		usleep((useconds_t)(next_random(&random) % 8000));
		kill(pid, SIGKILL);
		ck_assert_int_eq(join(pid), 1000 + SIGKILL);
		OK(blm_add(shared, &key, 4));
		ck_assert_int_eq(blm_remove(shared, &key, 4), 1);
	}
	ck_assert_uint_eq(numbers_found(shared, 500000, 502000), 2000);
	blm_close(shared);
}
END_TEST

/* ---- Power cuts ---- */

/* As if the machine had gone down and come up again. */
static struct blm_filter *cut_and_open(struct blm_filter *f)
{
	char path[600];

	snprintf(path, sizeof(path), "%s", f->place.display);
	live_of(current_view(f))->boot.word ^= htole64(2);
	blm_close(f);
	OK(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
	return f;
}

static int keep_two(struct blm_filter *fresh, void *context)
{
	return (int)blm_add_many(fresh, (struct blm_key[]){ { "a", 1 }, { "b", 1 } }, 2, NULL);
}

START_TEST(after_a_power_cut_removes_wait_for_a_rebuild)
{
	struct blm_filter *f = create(BLM_PARAMS(.kind = "counting", .capacity = N)), *copy, *both,
			  *twin;

	OK(blm_add(f, "a", 1));
	OK(blm_sync(f));
	f = cut_and_open(f);
	ck_assert_int_eq(blm_add(f, "b", 1), 1);	/* nothing had changed since the sync */
	ck_assert_int_eq(blm_remove(f, "b", 1), 1);
	f = cut_and_open(f);
	FAILS(blm_remove(f, "a", 1), -EUCLEAN);
	ck_assert(blm_contains(f, "a", 1));
	ck_assert_int_eq(blm_add(f, "b", 1), 1);
	ck_assert_int_eq(blm_claim(f, "c", 1), 1);
	OK(blm_sync(f));
	f = cut_and_open(f);				/* clean now, and the mark stays */
	FAILS(blm_remove(f, "b", 1), -EUCLEAN);
	ck_assert_double_eq(fact(f, "removal"), 0);
	OK(blm_copy(&copy, NULL, a_path(), f, 0));
	FAILS(blm_remove(copy, "b", 1), -EUCLEAN);
	OK(blm_template(&twin, NULL, a_path(), f, 0));
	OK(blm_add(twin, "d", 1));
	ck_assert_int_eq(blm_remove(twin, "d", 1), 1);
	OK(blm_combine(&both, NULL, a_path(), BLM_UNION, (const struct blm_filter *[]){ twin, f },
		       2, 0, NULL));
	FAILS(blm_remove(both, "b", 1), -EUCLEAN);
	OK(blm_combine_into(twin, BLM_UNION, (const struct blm_filter *[]){ f }, 1, 0, NULL));
	FAILS(blm_remove(twin, "b", 1), -EUCLEAN);
	OK(blm_rebuild(NULL, f->place.display, &BLM_PARAMS(), keep_two, NULL));
	ck_assert_int_eq(blm_remove(f, "b", 1), 1);
	ck_assert_double_eq(fact(f, "removal"), -1);
	blm_close(f), blm_close(copy), blm_close(both), blm_close(twin);
}
END_TEST

START_TEST(a_torn_filter_stays_torn_in_an_export)
{
	struct blm_filter *f = create(BLM_PARAMS(.kind = "counting", .capacity = N)), *back;
	struct blm_exchange how = BLM_EXCHANGE(.format = "bloomery", .base64 = true);
	void *bytes;
	size_t len;

	OK(blm_add(f, "a", 1));
	f = cut_and_open(f);
	OK(blm_export_bytes(f, &how, &bytes, &len));
	OK(blm_import_bytes(&back, NULL, a_path(), &how, bytes, len));
	FAILS(blm_remove(back, "a", 1), -EUCLEAN);
	ck_assert(blm_contains(back, "a", 1));
	blm_free(bytes);
	blm_close(f), blm_close(back);
}
END_TEST

START_TEST(a_change_is_announced_on_disk_before_it_can_arrive)
{
	struct blm_filter *f = create(BLM_PARAMS(.kind = "counting", .capacity = N));
	const struct blm_live *live = live_of(current_view(f));

	for (int i = 0; i < 3; i++) {
		ck_assert_uint_le(load_acquire(&live->announced.word),
				  load_acquire(&live->written.word));
		OK(blm_add(f, "a", 1));
		ck_assert_uint_eq(load_acquire(&live->announced.word),
				  load_acquire(&live->epoch.word));
		OK(blm_sync(f));
		ck_assert_uint_lt(load_acquire(&live->announced.word),
				  load_acquire(&live->epoch.word));
	}
	blm_close(f);
}
END_TEST

static void refuses_to_remove(struct blm_filter *made)
{
	ck_assert(blm_contains(made, "a", 1));
	FAILS(blm_remove(made, "a", 1), -EUCLEAN);
	ck_assert_double_eq(fact(made, "removal"), 0);
	blm_close(made);
}

/* In every way in which a filter can be made of it. */
static void all_made_of_it_refuse_to_remove(const struct blm_filter *f)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "bloomery");
	struct blm_filter *made;
	void *bytes;
	size_t len;

	OK(blm_copy(&made, NULL, a_path(), f, 0));
	refuses_to_remove(made);
	OK(blm_export_bytes(f, &how, &bytes, &len));
	OK(blm_import_bytes(&made, NULL, a_path(), &how, bytes, len));
	refuses_to_remove(made);
	blm_free(bytes);
	OK(blm_combine(&made, NULL, a_path(), BLM_UNION, (const struct blm_filter *[]){ f, f }, 2,
		       0, NULL));
	refuses_to_remove(made);
	OK(blm_template(&made, NULL, a_path(), f, 0));
	OK(blm_add(made, "b", 1));
	ck_assert_int_eq(blm_remove(made, "b", 1), 1);
	OK(blm_combine_into(made, BLM_UNION, (const struct blm_filter *[]){ f }, 1, 0, NULL));
	refuses_to_remove(made);
}

START_TEST(a_reader_learns_of_a_power_cut_too)
{
	struct blm_filter *f = create(BLM_PARAMS(.kind = "counting", .capacity = N));
	char *path = strdup(f->place.display);

	OK(blm_add(f, "a", 1));
	live_of(current_view(f))->boot.word ^= htole64(2);
	blm_close(f);
	OK(blm_open(&f, NULL, path, 0));
	ck_assert_double_eq(fact(f, "removal"), 0);
	all_made_of_it_refuse_to_remove(f);
	blm_close(f);
	free(path);
}
END_TEST

/* _i: 0 by the handle that is read, 1 by another */
START_TEST(copies_made_during_changes_lack_no_key)
{
	struct blm_filter *f = create(BLM_PARAMS(.kind = "counting", .capacity = N)), *other, *copy;
	struct blm_view *view;

	OK(blm_add(f, "a", 1));
	OK(blm_open(&other, NULL, f->place.display, 0));
	OK(blm_change_begin_held(f, &view));
	all_made_of_it_refuse_to_remove(_i ? other : f);
	blm_change_end_held(f, view);
	OK(blm_copy(&copy, NULL, a_path(), _i ? other : f, 0));
	ck_assert_int_eq(blm_remove(copy, "a", 1), 1);
	blm_close(f), blm_close(other), blm_close(copy);
}
END_TEST

static int change_meanwhile(void *context, const void *bytes, size_t count)
{
	OK(blm_add(context, "b", 1));
	OK(blm_sync(context));
	OK(blm_remove(context, "b", 1));
	return 0;
}

START_TEST(a_reader_of_its_bytes_allows_changes)
{
	struct blm_filter *f = create(
				  BLM_PARAMS(.kind = _i ? "cuckoo" : "counting", .capacity = N)),
			  *other;

	OK(blm_open(&other, NULL, f->place.display, BLM_OPEN_WRITE));
	OK(blm_export(f, &BLM_EXCHANGE(.format = "bloomery"), change_meanwhile, other));
	blm_close(f), blm_close(other);
}
END_TEST

START_TEST(a_union_that_is_refused_changes_nothing)
{
	struct blm_filter *f = create(BLM_PARAMS(.kind = "counting", .capacity = N)), *other;
	double rate;

	OK(blm_template(&other, NULL, a_path(), f, 0));
	OK(blm_add(f, "a", 1));
	add_numbers(other, 0, N);
	FAILS(blm_combine_into(f, BLM_UNION, (const struct blm_filter *[]){ other }, 1, 1e-9,
			       &rate),
	      -ERANGE);
	ck_assert_int_eq(blm_remove(f, "a", 1), 1);
	blm_close(f), blm_close(other);
}
END_TEST

static bool is_dirty(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	return info.dirty;
}

static int sync_it(void *context)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, context, BLM_OPEN_WRITE) == 0 && blm_sync(f) == 0);
	return 0;
}

/*
 * Pages that it has written back change again; then the power goes. _i: the sync is of 0: the same
 * handle, 1: another process.
 */
START_TEST(a_sync_during_a_change_leaves_the_file_dirty)
{
	struct blm_filter *f = create(BLM_PARAMS(.kind = "counting", .capacity = N));
	char *path = strdup(f->place.display);
	struct blm_view *view;

	OK(blm_add(f, "a", 1));
	OK(blm_sync(f));
	ck_assert(!is_dirty(f));
	OK(blm_change_begin_held(f, &view));
	if (_i)
		ck_assert_int_eq(join(spawn(sync_it, path)), 0);
	else
		OK(blm_sync(f));
	ck_assert(is_dirty(f));
	live_of(view)->boot.word ^= htole64(2);	/* and no process completed the change */
	blm_unlock_shared(&view->lock, view->image.fd);
	blm_close(f);
	OK(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
	FAILS(blm_remove(f, "a", 1), -EUCLEAN);
	blm_close(f);
	free(path);
}
END_TEST

static void *begin_a_change(void *context)
{
	struct blm_filter *f = context;
	struct blm_view *view;

	OK(blm_change_begin_held(f, &view));
	ck_assert_uint_ge(load_acquire(&live_of(view)->announced.word),
			  load_acquire(&live_of(view)->epoch.word));
	blm_change_end_held(f, view);
	return NULL;
}

/* It waits, for a replacement say, and a sync comes first. */
START_TEST(a_change_is_announced_in_its_own_epoch)
{
	struct blm_filter *f = create(BLM_PARAMS(.kind = "counting", .capacity = N)), *other;
	struct blm_view *view;
	pthread_t thread;

	OK(blm_add(f, "a", 1));
	OK(blm_open(&other, NULL, f->place.display, BLM_OPEN_WRITE));
	view = current_view(other);
	OK(blm_lock_exclusive(&view->lock, view->image.fd));
	ck_assert_int_eq(pthread_create(&thread, NULL, begin_a_change, f), 0);
	usleep(20000);				/* the other one waits in most runs */
	OK(blm_sync(other));
	blm_unlock_exclusive(&view->lock, view->image.fd);
	pthread_join(thread, NULL);
	blm_close(f), blm_close(other);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("counting");
	TCase *tc = tcase_create("counting"), *threads = tcase_create("threads");

	tcase_add_loop_test(tc, two_filters_tell_within_a_hundredth_how_many_keys_differ, 0, 8);
	tcase_add_loop_test(
		tc, a_key_added_and_removed_twenty_times_is_still_there, 0, 2);
	tcase_add_loop_test(tc, a_key_counts_as_often_as_it_was_added, 0, 2);
	tcase_add_loop_test(tc, a_cell_counts_a_key_once_for_all_its_probes, 0,
			    2);
	tcase_add_test(tc, counters_overflow_as_rarely_as_published);
	tcase_add_test(tc, the_load_predicts_the_number_of_full_counters);
	tcase_add_loop_test(tc, a_union_counts_what_both_have, 0, 2);
	tcase_add_loop_test(tc, raw_data_adds_up_too_a_word_at_a_time, 0, 2);
	tcase_add_loop_test(
		tc, a_converted_filter_is_the_classic_filter_of_remaining_keys, 0, 2);
	tcase_add_test(tc, an_impossible_conversion_is_refused_with_the_possible_ones);
	tcase_add_loop_test(
		tc, racing_removers_take_each_key_once_and_counters_agree, 0,
		2);
	tcase_add_loop_test(
		threads, racing_removers_take_each_key_once_and_counters_agree,
		2, 4);
	tcase_add_loop_test(tc, killed_removers_and_adders_lose_no_key_and_block_none, 0, 2);
	tcase_add_test(
		tc,
		after_a_power_cut_removes_wait_for_a_rebuild);
	tcase_add_test(tc, a_torn_filter_stays_torn_in_an_export);
	tcase_add_test(tc, a_change_is_announced_on_disk_before_it_can_arrive);
	tcase_add_test(tc, a_reader_learns_of_a_power_cut_too);
	tcase_add_loop_test(tc, copies_made_during_changes_lack_no_key, 0, 2);
	tcase_add_loop_test(tc, a_reader_of_its_bytes_allows_changes, 0, 2);
	tcase_add_test(tc, a_union_that_is_refused_changes_nothing);
	tcase_add_loop_test(tc, a_sync_during_a_change_leaves_the_file_dirty, 0, 2);
	tcase_add_test(tc, a_change_is_announced_in_its_own_epoch);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, threads);
	return run_suite(s);
}
