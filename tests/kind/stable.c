/*
 * stable.c - what holds for the kind stable only: its share of zeros and its rates come to what the
 * formulas say, and stay there
 */
#include "handle/handle.h"
#include "suite.h"

#include <math.h>

enum { CELLS = 1000000, BATCH = 4096 };

static struct blm_filter *make(unsigned bits)
{
	struct blm_filter *f;
	char options[20];

	snprintf(options, sizeof(options), "bits=%u", bits);
	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "stable", .cells = CELLS, .probes = 3, .rate = 0.01,
				  .options = options, .seeds = (const uint64_t[]){ 5 },
				  .seed_count = 1)));
	return f;
}

static void add(struct blm_filter *f, uint64_t from, uint64_t to)
{
	uint64_t numbers[BATCH];

	while (from < to) {
		size_t count = 0;

		while (count < BATCH && from < to)
			numbers[count++] = from++;
		OK(blm_add_fixed(f, numbers, 8, count, NULL));
	}
}

static double share_found(const struct blm_filter *f, uint64_t from, uint64_t to)
{
	uint64_t n = 0;

	for (uint64_t i = from; i < to; i++)
		n += blm_contains(f, &i, 8);
	return (double)n / (double)(to - from);
}

static double fact(const struct blm_filter *f, size_t i)
{
	struct blm_fact fact;

	OK(blm_fact(f, i, &fact));
	return fact.value;
}

/*
 * P, the share of zeros, and the share of keys that are not found after 1000, 10000 and 100000
 * others, by the bits of a cell.
 */
static const struct {
	double fade, zeros, lost[3], lost_by[3];
} expected[] = {
	[1] = { 11, 0.7857, { 0.033, 0.276, 0.932 }, { 0.01, 0.02, 0.02 } },
	[2] = { 36, 0.7865, { 0.00004, 0.0166, 0.930 }, { 0.001, 0.006, 0.02 } },
	[3] = { 86, 0.7866, { 0, 0.0001, 0.944 }, { 0.001, 0.001, 0.02 } },
};

static void is_stable(const struct blm_filter *f, unsigned bits, uint64_t keys)
{
	static const uint64_t gaps[] = { 1000, 10000, 100000 };

	ck_assert_double_eq_tol(fact(f, 0), expected[bits].zeros, 0.002);
	ck_assert_double_eq_tol(share_found(f, UINT64_C(1) << 40, (UINT64_C(1) << 40) + 500000),
				0.0097, 0.0005);
	for (int g = 0; g < 3; g++) {
		double lost = 1 - share_found(f, keys - gaps[g] - 500, keys - gaps[g] + 500);

		ck_assert_msg(fabs(lost - expected[bits].lost[g])
				      <= expected[bits].lost_by[g]
						 + 3 * sqrt(expected[bits].lost[g] / 1000),
			      "%u bits, after %d others: %g", bits, (int)gaps[g], lost);
	}
}

START_TEST(zeros_and_both_rates_stay_at_their_formulas)
{
	unsigned bits = (unsigned)_i;
	struct blm_filter *f = make(bits);
	uint64_t keys = (uint64_t)(1500000 * fmax(1, test_scale()));

	ck_assert_double_eq(fact(f, 2), expected[bits].fade);
	add(f, 0, keys);
	is_stable(f, bits, keys);
	add(f, keys, 2 * keys);
	is_stable(f, bits, 2 * keys);
	blm_close(f);
}
END_TEST

START_TEST(on_the_way_there_the_rate_is_as_predicted)
{
	struct blm_filter *f = make(3);
	struct blm_shape shape = current_view(f)->root.shape;
	uint64_t keys = 0;

	for (uint64_t to = 2000; to <= 128000; to *= 4) {
		double predicted = current_view(f)->root.kind->rate_at(&shape, to);

		add(f, keys, to);
		keys = to;
		ck_assert_double_eq_tol(fact(f, 1), predicted, 0.03 * predicted + 1e-6);
	}
	blm_close(f);
}
END_TEST

START_TEST(at_most_1_percent_of_keys_are_forgotten_within_capacity)
{
	struct blm_filter *f;
	uint64_t keys = 200000;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "stable", .capacity = 10000, .rate = 0.01,
				  .seeds = (const uint64_t[]){ 6 }, .seed_count = 1)));
	add(f, 0, keys);
	ck_assert_double_ge(share_found(f, keys - 10000, keys), 0.99);
	/* no more than what was never there */
	ck_assert_double_le(share_found(f, 0, 100000), 0.012);
	blm_close(f);
}
END_TEST

/*
 * ... also where so few keys are to be remembered that nearly all cells fade with each, and where
 * options make the sizes.
 */
START_TEST(the_stable_rate_is_at_most_the_requested_one)
{
	static const double rates[] = { 0.3, 0.01, 0.0001 };

	for (uint64_t capacity = 1; capacity < 1000000; capacity = capacity * 7 + 1)
		for (size_t r = 0; r < ARRAY_LEN(rates); r++)
			for (unsigned bits = 1; bits <= 5; bits++) {
				char options[20];
				struct blm_params params =
					BLM_PARAMS(.kind = "stable", .capacity = capacity,
						   .rate = rates[r], .options = options);
				struct blm_fact stable;

				snprintf(options, sizeof(options), "bits=%u", bits);
				OK(blm_plan_fact(&params, 0, &stable));
				ck_assert_str_eq(stable.name, "stable rate");
				ck_assert_msg(stable.value <= rates[r], "%llu keys, %u bits: %g",
					      (unsigned long long)capacity, bits, stable.value);
				ck_assert_double_ge(stable.value, rates[r] * 0.5);
			}
}
END_TEST

START_TEST(a_fade_that_misses_the_rate_is_refused)
{
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	FAILS(blm_create(&f, NULL, NULL,
			 &BLM_PARAMS(.kind = "stable", .capacity = 1000, .rate = 0.0001,
				     .options = "fade=10")),
	      -EINVAL);
	FAILS(blm_create(&f, NULL, NULL,
			 &BLM_PARAMS(.kind = "stable", .cells = 50, .rate = 0.0001)),
	      -EINVAL);
	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "stable", .capacity = 1000, .options = "fade=10")));
	OK(blm_info(f, &info));
	ck_assert_double_eq_tol(info.rate, 0.594, 0.001);
	blm_close(f);
}
END_TEST

START_TEST(at_most_all_cells_fade_with_each_key)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "stable", .cells = 64, .options = "fade=64")));
	blm_close(f);
	FAILS(blm_create(&f, NULL, NULL,
			 &BLM_PARAMS(.kind = "stable", .cells = 64, .options = "fade=65")),
	      -EINVAL);
}
END_TEST

START_TEST(a_key_that_was_just_added_is_not_new)
{
	struct blm_filter *f = make(3);

	add(f, 0, 100000);
	for (uint64_t i = 1000000; i < 1001000; i++) {
		OK(blm_claim(f, &i, 8));
		ck_assert(blm_contains(f, &i, 8));
		ck_assert_int_eq(blm_claim(f, &i, 8), 0);
	}
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("stable");
	TCase *tc = tcase_create("stable");

	tcase_add_loop_test(tc, zeros_and_both_rates_stay_at_their_formulas,
			    1, 4);
	tcase_add_test(tc, on_the_way_there_the_rate_is_as_predicted);
	tcase_add_test(tc, at_most_1_percent_of_keys_are_forgotten_within_capacity);
	tcase_add_test(tc, the_stable_rate_is_at_most_the_requested_one);
	tcase_add_test(
		tc, a_fade_that_misses_the_rate_is_refused);
	tcase_add_test(tc, at_most_all_cells_fade_with_each_key);
	tcase_add_test(tc, a_key_that_was_just_added_is_not_new);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
