/* estimate.c - estimates from a sample of the data */
#include "suite.h"

#include <math.h>

static struct blm_filter *memory(const struct blm_params *params)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL, params));
	return f;
}

/* Larger than what is looked at of it. */
START_TEST(an_estimate_from_a_sample_is_right_within_its_error)
{
	static const char *const kinds[] = { "classic", "blocked" };
	struct blm_filter *f =
		memory(&BLM_PARAMS(.kind = kinds[_i], .cells = UINT64_C(1) << 29, .probes = 4));
	struct blm_estimate sampled, whole;
	enum { KEYS = 200000 };

	for (uint64_t i = 0; i < KEYS; i++)
		OK(blm_add(f, &i, sizeof(i)));
	OK(blm_estimate(f, false, &sampled));
	OK(blm_estimate(f, true, &whole));
	ck_assert_uint_lt(sampled.sampled_bytes, whole.sampled_bytes);
	ck_assert_double_gt(sampled.keys.error, whole.keys.error);
	ck_assert_double_le(fabs(whole.keys.value - KEYS), 5 * whole.keys.error + 1);
	ck_assert_double_le(fabs(sampled.keys.value - KEYS), 5 * sampled.keys.error);
	ck_assert_double_le(fabs(sampled.fill.value - whole.fill.value), 5 * sampled.fill.error);
	blm_close(f);
}
END_TEST

START_TEST(a_sample_without_ones_gives_an_upper_bound)
{
	static const char *const kinds[] = { "classic", "blocked" };
	const struct blm_params params = BLM_PARAMS(.kind = kinds[_i], .cells = UINT64_C(1) << 30,
						    .probes = 4, .seed_count = 1,
						    .seeds = (const uint64_t[]){ 7 });
	struct blm_filter *f = memory(&params);
	struct blm_estimate e;

	OK(blm_estimate(f, true, &e));
	/* where all was read there is none */
	ck_assert(e.keys.value == 0 && e.keys.error == 0);
	OK(blm_estimate(f, false, &e));
	ck_assert(e.ones == 0 && e.keys.value == 0);
	ck_assert_double_ge(e.keys.error,
			    3.0 * (1 << 27) / (double)e.sampled_bytes / (_i ? 1 : params.probes));
	ck_assert_double_le(e.keys.error, 24.0);
	ck_assert(e.fill.error > 0 && e.rate.error > 0 && e.rate.error < 1e-6);
	blm_close(f);
}
END_TEST

START_TEST(a_sample_does_not_prove_a_filter_full)
{
	struct blm_filter *f =
		memory(&BLM_PARAMS(.kind = "classic", .cells = UINT64_C(1) << 29, .probes = 4));
	enum { PIECE = 1 << 20 };
	uint8_t *ones = malloc(PIECE);
	struct blm_estimate sampled, whole;

	memset(ones, 0xff, PIECE);
	for (uint64_t at = 0; at < 1 << 26; at += PIECE)
		OK(blm_data_unite(f, at, ones, PIECE));
	OK(blm_estimate(f, false, &sampled));
	OK(blm_estimate(f, true, &whole));
	ck_assert(whole.saturated && !sampled.saturated);
	ck_assert_double_eq(sampled.rate.value, 1);
	free(ones);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("estimate");
	TCase *tc = tcase_create("estimate");

	tcase_add_loop_test(tc, an_estimate_from_a_sample_is_right_within_its_error, 0, 2);
	tcase_add_loop_test(tc, a_sample_without_ones_gives_an_upper_bound, 0, 2);
	tcase_add_test(tc, a_sample_does_not_prove_a_filter_full);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
