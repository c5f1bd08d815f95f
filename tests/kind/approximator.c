/*
 * approximator.c - what holds for values in a lattice: never below the truth, exact as often as
 * predicted, nothing lost in a race
 */
#include "handle/handle.h"
#include "suite.h"

#include <math.h>
#include <pthread.h>

enum { N = 5000 };

static struct blm_filter *make(const char *kind, const char *options, uint64_t cells,
			       uint32_t probes)
{
	const uint64_t seed = 7;
	struct blm_filter *f;

	OK(blm_create(&f, NULL, a_path(),
		      &BLM_PARAMS(.kind = kind, .options = options, .cells = cells,
				  .probes = probes, .seeds = &seed, .seed_count = 1)));
	return f;
}

static void same_data(const struct blm_filter *a, const struct blm_filter *b)
{
	const struct blm_part *x = &current_view(a)->part[0], *y = &current_view(b)->part[0];

	ck_assert_uint_eq(x->shape.bytes, y->shape.bytes);
	ck_assert_int_eq(memcmp(x->bytes, y->bytes, x->shape.bytes), 0);
}

/* Key i is the number i. */
static void put_number(struct blm_filter *f, uint64_t i, uint64_t value)
{
	ck_assert_msg(blm_put(f, &i, 8, value) >= 0, "%s", blm_error_message());
}

static bool get_number(const struct blm_filter *f, uint64_t i, uint64_t *ret)
{
	int r = blm_get(f, &i, 8, ret);

	ck_assert_int_ge(r, 0);
	return r;
}

/* ---- Values ---- */

/*
 * Boldi and Vigna's structure with 10 cells a key and values 1 to 255, as measured by others too.
 */
START_TEST(predicted_many_values_are_exact_and_none_is_too_low)
{
	static const struct {
		uint32_t probes;
		double exact, absent;
	} known[] = { { 2, .989, .0329 }, { 4, .9973, .0118 }, { 6, .9984, .0084 } };
	enum { KEYS = 200000 };
	uint64_t values[KEYS], got = 0, exact = 0, absent = 0;
	struct blm_params params = BLM_PARAMS(.kind = "approximator", .cells = 10 * KEYS,
					      .probes = known[_i].probes, .capacity = KEYS);
	struct blm_fact foretold;
	struct blm_filter *f;

	if (is_too_alike(_i, 3))
		return;
	f = make("approximator", NULL, 10 * KEYS, known[_i].probes);
	for (uint64_t i = 0; i < KEYS; i++)
		put_number(f, i, values[i] = 1 + mixed(i) % 255);
	for (uint64_t i = 0; i < KEYS; i++) {
		ck_assert(get_number(f, i, &got));
		ck_assert_uint_ge(got, values[i]);
		exact += got == values[i];
		absent += get_number(f, KEYS + i, &got);
	}
	ck_assert_double_eq_tol((double)exact / KEYS, known[_i].exact, 0.0006);
	ck_assert_double_eq_tol((double)absent / KEYS, known[_i].absent,
				4 * sqrt(known[_i].absent / KEYS));
	OK(blm_plan_fact(&params, 0, &foretold));
	ck_assert_str_eq(foretold.name, "exact");
	ck_assert_double_eq_tol((double)exact / KEYS, foretold.value, 0.0006);
	blm_close(f);
}
END_TEST

START_TEST(the_prediction_says_on_which_side_a_wrong_value_is)
{
	static const struct {
		const char *options, *word;
	} sides[] = { { "lattice=max", "more" }, { "lattice=min", "less" } };
	struct blm_params p = BLM_PARAMS(.kind = "approximator", .cells = 1000, .probes = 4,
					 .capacity = 100);
	struct blm_fact fact;

	for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
		p.options = sides[i].options;
		OK(blm_plan_fact(&p, 0, &fact));
		ck_assert_msg(strstr(fact.text, sides[i].word) != NULL, "%s: %s", sides[i].options,
			      fact.text);
	}
	p.options = "lattice=or";
	FAILS(blm_plan_fact(&p, 0, &fact), -ENOENT);
}
END_TEST

/* Each has a word of its own. */
START_TEST(cells_of_more_than_half_a_word_are_counted_too)
{
	static const char *const options[] = { "bits=32", "bits=33", "bits=64" };

	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		struct blm_filter *f = make("approximator", options[i], 1000, 4);
		const struct blm_part *part = &current_view(f)->part[0];
		struct blm_tally tally = { 0 };
		uint64_t set = 0;

		for (uint64_t key = 0; key < 50; key++)
			put_number(f, key, key + 1);
		for (uint64_t cell = 0; cell < 1000; cell++) {
			const uint8_t *at = part->bytes + cell * (i ? 8 : 4);

			set += at[0] != 0;	/* the values are below 2^8, and little-endian */
		}
		part->kind->tally(part, part->bytes, part->shape.bytes, &tally);
		ck_assert_uint_gt(set, 0);
		ck_assert_uint_eq(tally.ones, set);
		blm_close(f);
	}
}
END_TEST

/* What a key that was put with a and b may answer, whatever else is there. */
static bool is_above(int lattice, uint64_t got, uint64_t a, uint64_t b)
{
	return lattice == 0 ? got >= a && got >= b
	     : lattice == 1 ? got <= a && got <= b
			    : (got & (a | b)) == (a | b);
}

static const char *const lattices[] = { "max", "min", "or" };

/* _i: of 3 lattices with each width */
START_TEST(values_of_every_width_and_lattice_join)
{
	unsigned bits = (unsigned)_i / 3 + 1;
	int lattice = _i % 3;
	uint64_t most = UINT64_MAX >> (64 - bits), got, exact = 0;
	char text[64];
	struct blm_filter *f;

	if (is_left_out(_i))
		return;
	snprintf(text, sizeof(text), "bits=%u,lattice=%s", bits, lattices[lattice]);
	f = make("approximator", text, 20 * N, 5);
	for (uint64_t i = 0; i < N; i++) {
		uint64_t a = mixed(i) & most, b = mixed(i + N) & most,
			 bottom = lattice == 1 ? most : 0;

		a = a == bottom ? bottom ^ 1 : a;
		b = b == bottom ? bottom ^ 1 : b;
		put_number(f, i, a);
		put_number(f, i, b);
	}
	for (uint64_t i = 0; i < N; i++) {
		uint64_t a = mixed(i) & most, b = mixed(i + N) & most,
			 bottom = lattice == 1 ? most : 0;

		a = a == bottom ? bottom ^ 1 : a;
		b = b == bottom ? bottom ^ 1 : b;
		ck_assert(get_number(f, i, &got));
		ck_assert_uint_le(got, most);
		ck_assert(is_above(lattice, got, a, b));
		exact += got == (lattice == 2 ? a | b : (a > b) == (lattice == 0) ? a : b);
	}
	ck_assert_uint_ge(exact, N * 99 / 100);
	for (uint64_t i = N; i < 2 * N; i++)
		exact += get_number(f, i, &got);
	ck_assert_uint_le(exact, N + N / 50);
	blm_close(f);
}
END_TEST

START_TEST(an_invalid_value_is_refused_without_a_change)
{
	struct blm_filter *max = make("approximator", "bits=3", 1000, 3),
			  *min = make("approximator", "bits=3,lattice=min", 1000, 3);
	uint64_t got;

	FAILS(blm_put(max, "x", 1, 0), -ERANGE);
	FAILS(blm_put(max, "x", 1, 8), -ERANGE);
	ck_assert_int_eq(blm_get(max, "x", 1, &got), 0);
	ck_assert_int_eq(blm_put(max, "x", 1, 7), 1);
	FAILS(blm_put(min, "x", 1, 7), -ERANGE);
	FAILS(blm_put(min, "x", 1, 8), -ERANGE);
	ck_assert_int_eq(blm_put(min, "x", 1, 0), 1);
	ck_assert_int_eq(blm_get(min, "x", 1, &got), 1);
	ck_assert_uint_eq(got, 0);
	ck_assert_int_eq(blm_put(min, "x", 1, 3), 0);	/* below what it is */
	FAILS(blm_add(max, "y", 1), -EOPNOTSUPP);
	FAILS(blm_create(&max, NULL, a_path(),
			 &BLM_PARAMS(.kind = "approximator", .capacity = 9,
				     .options = "lattice=best")),
	      -EINVAL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "max, min, or"));
	blm_close(max), blm_close(min);
}
END_TEST

START_TEST(a_union_of_values_has_the_classic_filters_bits)
{
	char text[64];
	struct blm_filter *a, *b, *both, *made, *classic = make("classic", NULL, 20011, 5),
						*converted;

	snprintf(text, sizeof(text), "bits=%d,lattice=%s", _i < 3 ? 8 : 23, lattices[_i % 3]);
	a = make("approximator", text, 20011, 5);
	OK(blm_template(&b, NULL, a_path(), a, 0));
	OK(blm_template(&both, NULL, a_path(), a, 0));
	for (uint64_t i = 0; i < 3000; i++) {
		uint64_t value = 2 + 2 * (mixed(i) % 126);

		put_number(i % 3 ? a : b, i, value);
		put_number(i % 3 < 2 ? a : b, i, value ^ 1);
		put_number(both, i, value);
		put_number(both, i, value ^ 1);
		OK(blm_add(classic, &i, 8));
	}
	OK(blm_combine(&made, NULL, a_path(), BLM_UNION, (const struct blm_filter *[]){ a, b }, 2,
		       0, NULL));
	same_data(made, both);
	OK(blm_combine_into(a, BLM_UNION, (const struct blm_filter *[]){ b }, 1, 0, NULL));
	same_data(a, both);
	OK(blm_convert(&converted, NULL, a_path(), a, "classic", 0));
	same_data(converted, classic);
	blm_close(a), blm_close(b), blm_close(both), blm_close(made), blm_close(classic),
		blm_close(converted);
}
END_TEST

/* ---- Many at a time ---- */

enum { WORKERS = 4 };
static struct blm_filter *shared;

static uint64_t value_by(uint64_t worker, uint64_t key)
{
	return 1 + mixed(worker << 32 | key) % 1000;
}

/* All put the same keys, in orders of their own. */
static int put_all(void *context)
{
	uint64_t worker = (uintptr_t)context;

	for (uint64_t i = 0; i < N; i++) {
		uint64_t key = (i * 7919 + worker * 1234) % N;

		MUST(blm_put(shared, &key, 8, value_by(worker, key)) >= 0);
	}
	return 0;
}

static void *put_thread(void *worker)
{
	put_all(worker);
	return NULL;
}

static int put_until_killed(void *context)
{
	put_all(context);
	pause();
	return 0;
}

START_TEST(all_values_put_at_once_are_there_byte_for_byte)
{
	struct blm_filter *alone = make("approximator", "bits=10", 20 * N, 5);
	pthread_t thread[WORKERS];
	pid_t pid[WORKERS];

	shared = make("approximator", "bits=10", 20 * N, 5);
	for (uintptr_t w = 0; w < WORKERS; w++)
		if (_i)
			ck_assert_int_eq(pthread_create(&thread[w], NULL, put_thread, (void *)w),
					 0);
		else
			pid[w] = spawn(put_all, (void *)w);
	for (int w = 0; w < WORKERS; w++)
		if (_i)
			pthread_join(thread[w], NULL);
		else
			ck_assert_int_eq(join(pid[w]), 0);
	for (uint64_t w = 0; w < WORKERS; w++)
		for (uint64_t i = 0; i < N; i++)
			put_number(alone, i, value_by(w, i));
	same_data(shared, alone);
	blm_close(shared), blm_close(alone);
}
END_TEST

START_TEST(a_process_killed_in_a_put_does_no_harm)
{
	uint64_t random = 9, got;

	shared = make("approximator", "bits=10", 20 * N, 5);
	for (uint64_t i = 0; i < N; i++)
		put_number(shared, i, value_by(0, i));
	for (int i = 0; i < 30; i++) {
		pid_t pid = spawn(put_until_killed, (void *)(uintptr_t)(i % WORKERS));
		uint64_t key = N + (uint64_t)i;

		usleep((useconds_t)(next_random(&random) % 5000));
		kill(pid, SIGKILL);
		ck_assert_int_eq(join(pid), 1000 + SIGKILL);
		put_number(shared, key, 5);
		ck_assert(get_number(shared, key, &got) && got >= 5);
	}
	for (uint64_t i = 0; i < N; i++)
		ck_assert(get_number(shared, i, &got) && got >= value_by(0, i));
	blm_close(shared);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("approximator");
	TCase *tc = tcase_create("approximator"), *threads = tcase_create("threads");

	tcase_add_loop_test(tc, predicted_many_values_are_exact_and_none_is_too_low,
			    0, 3);
	tcase_add_loop_test(tc, values_of_every_width_and_lattice_join, 0, 3 * 64);
	tcase_add_test(tc, an_invalid_value_is_refused_without_a_change);
	tcase_add_test(tc, the_prediction_says_on_which_side_a_wrong_value_is);
	tcase_add_test(tc, cells_of_more_than_half_a_word_are_counted_too);
	tcase_add_loop_test(tc, a_union_of_values_has_the_classic_filters_bits, 0,
			    6);
	tcase_add_loop_test(tc, all_values_put_at_once_are_there_byte_for_byte, 0, 1);
	tcase_add_loop_test(threads, all_values_put_at_once_are_there_byte_for_byte, 1,
			    2);
	tcase_add_test(tc, a_process_killed_in_a_put_does_no_harm);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, threads);
	return run_suite(s);
}
