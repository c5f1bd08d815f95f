/*
 * bloomier.c - a value for each key: exactly it, at every width, and for strangers as seldom as the
 * check bits say
 */
#include "array.h"
#include "kind/common/fuse_table.h"

#include <math.h>

static const uint64_t *widths(unsigned check, unsigned value)
{
	static uint64_t args[2];

	args[BLM_PEEL_CHECK] = check;
	args[BLM_PEEL_VALUE] = value;
	return args;
}

static void set_values(struct built *b, unsigned width)
{
	/* the least and the greatest too */
	for (uint64_t i = 0; i < b->sorted.count; i++)
		b->values[i] = i < 2 ? i * lowest_bits(width) : mixed(i) & lowest_bits(width);
}

static int value_of(const struct built *b, struct blm_hash hash, uint64_t *ret)
{
	return b->part.kind->get(&b->part, &(struct blm_hashed){ .hash = hash }, ret);
}

static void all_have_their_values(const struct built *b)
{
	for (uint64_t i = 0; i < b->sorted.count; i++) {
		uint64_t value = ~b->values[i];

		ck_assert_int_eq(value_of(b, b->hashes[i], &value), 1);
		ck_assert_uint_eq(value, b->values[i]);
	}
}

START_TEST(every_key_has_its_value_at_every_width)
{
	for (unsigned value = 1; value <= 64; value++)
		for (unsigned check = 1 + value % 3; check <= 64; check += SANITIZED ? 21 : 7)
			for (unsigned probes = 3; probes <= 4; probes++) {
				struct built b;

				built_begin(&b, 10 * value + check, true);
				built_fill(&b, 0);
				set_values(&b, value);
				build(&b, "bloomier", probes, widths(check, value));
				all_have_their_values(&b);
				ck_assert_uint_eq(count_yes(&b, b.hashes, b.sorted.count),
						  b.sorted.count);
				built_end(&b);
			}
}
END_TEST

START_TEST(absent_keys_have_values_at_the_rate_of_check_bits)
{
	const uint64_t asked = 400000 * test_scale();

	for (unsigned check = 1; check <= 20; check++) {
		double expected = ldexp((double)asked, -(int)check), wrong;
		struct built b;

		built_begin(&b, 30000, true);
		built_fill(&b, 0);
		set_values(&b, 5);
		build(&b, "bloomier", 3 + check % 2, widths(check, 5));
		wrong = (double)count_strangers(&b, asked);
		ck_assert_msg(fabs(wrong - expected) <= 4.5 * sqrt(expected) + 2,
			      "%u bits: %g of %g, %g expected", check, wrong, (double)asked,
			      expected);
		for (uint64_t i = 0; i < 1000; i++) {	/* to get is to ask */
			struct blm_hash stranger = hash_number((UINT64_C(1) << 50) + i);
			uint64_t value = UINT64_MAX;

			ck_assert_int_eq(value_of(&b, stranger, &value), has(&b, stranger));
			ck_assert(has(&b, stranger) ? value <= 31 : value == UINT64_MAX);
		}
		built_end(&b);
	}
}
END_TEST

START_TEST(a_million_keys_take_1_14_times_check_and_value)
{
	static const unsigned some[][2] = { { 8, 8 }, { 1, 1 }, { 20, 44 }, { 64, 64 } };

	for (unsigned i = 0; i < (SANITIZED ? 1 : test_scale() < 1 ? 2 : ARRAY_LEN(some)); i++) {
		unsigned probes = 3 + i % 2;
		struct built b;

		built_begin(&b, 1000000, true);
		built_fill(&b, 0);
		set_values(&b, some[i][1]);
		build(&b, "bloomier", probes, widths(some[i][0], some[i][1]));
		ck_assert_double_le((double)b.part.shape.bytes * 8,
				    (probes == 3 ? 1.14 : 1.08) * 1e6 * (some[i][0] + some[i][1]));
		all_have_their_values(&b);
		built_end(&b);
	}
}
END_TEST

START_TEST(sets_of_every_size_are_built)
{
	for (uint64_t keys = 0; keys <= 2000; keys += 1 + keys / (SANITIZED ? 40 : 200)) {
		struct built b;

		built_begin(&b, keys, true);
		built_fill(&b, keys << 20);
		set_values(&b, 17);
		build(&b, "bloomier", 3 + keys % 2, widths(9, 17));
		all_have_their_values(&b);
		if (!keys)
			ck_assert_uint_eq(count_strangers(&b, 1000), 0);
		built_end(&b);
	}
}
END_TEST

START_TEST(shards_have_all_values_with_any_number_of_threads)
{
	const uint64_t shards = SANITIZED || test_scale() < 1 ? 2 : 3;
	struct built b;

	built_begin(&b, shards << 20, true);
	built_fill(&b, 0);
	set_values(&b, 13);
	b.sorted.threads = 3;
	build(&b, "bloomier", 3, widths(3, 13));
	ck_assert_uint_eq(shards_of(&b.part.shape), shards);
	all_have_their_values(&b);
	built_end(&b);
}
END_TEST

START_TEST(a_value_that_is_too_wide_is_refused)
{
	for (unsigned width = 1; width < 64; width += 9) {
		struct built b;

		built_begin(&b, 1000, true);
		built_fill(&b, 0);
		b.values[777] = lowest_bits(width) + 1;
		built_plan(&b, "bloomier", 3, widths(8, width));
		FAILS(b.part.kind->build(&b.part, &b.sorted), -ERANGE);
		ck_assert_ptr_nonnull(strstr(blm_error_message(), "value-bits"));
		built_end(&b);
	}
}
END_TEST

START_TEST(impossible_parameters_are_refused)
{
	static const struct { struct blm_params params; int err;
	} none[] = {
		{ BLM_PARAMS(.options = "value-bits=0"), -EINVAL },
		{ BLM_PARAMS(.options = "value-bits=65"), -EINVAL },
		{ BLM_PARAMS(.options = "check-bits=65"), -EINVAL },
		{ BLM_PARAMS(.probes = 2), -EINVAL },
		{ BLM_PARAMS(.cells = 1000), -EINVAL },
		{ BLM_PARAMS(.rate = 1e-20), -EFBIG },
		{ BLM_PARAMS(.options = "check-bits=8", .rate = 0.001), -EFBIG },
		{ BLM_PARAMS(.hash = "xxh64"), -EOPNOTSUPP },
	};

	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		struct blm_params p = none[i].params;

		p.kind = "bloomier";
		p.capacity = 100;
		FAILS(blm_plan(&(struct blm_plan){ 0 }, &p), none[i].err);
	}
}
END_TEST

START_TEST(single_and_batched_questions_return_the_same_values)
{
	enum { N = 5000 };
	const struct blm_params params = BLM_PARAMS(.kind = "bloomier",
						    .options = "value-bits=30,check-bits=12");
	struct blm_key keys[2 * N];
	uint32_t numbers[2 * N];
	uint64_t values[2 * N], got[2 * N], bits[(2 * N + 63) / 64], one;
	struct blm_filter *f;
	struct blm_build *b;
	int64_t yes;

	for (uint32_t i = 0; i < 2 * N; i++) {
		numbers[i] = i;
		keys[i] = (struct blm_key){ &numbers[i], sizeof(numbers[i]) };
		values[i] = mixed(i) >> 34;
	}
	OK(blm_build_begin(&b, NULL, a_path(), &params, NULL));
	OK(blm_build_put_many(b, keys, values, N));
	OK(blm_build_finish(b, &f));
	yes = blm_get_many(f, keys, 2 * N, got, bits);
	ck_assert_int_ge(yes, N);
	ck_assert_int_le(yes, N + 20);
	for (uint32_t i = 0; i < 2 * N; i++) {
		int r = blm_get(f, &numbers[i], sizeof(numbers[i]), &one);

		ck_assert_int_eq(r, bits[i / 64] >> i % 64 & 1);
		ck_assert(i >= N || r == 1);
		if (r)
			ck_assert_uint_eq(one, got[i]);
		if (i < N)
			ck_assert_uint_eq(one, values[i]);
	}
	FAILS(blm_put(f, "a", 1, 5), -EOPNOTSUPP);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("bloomier");
	TCase *tc = tcase_create("bloomier");

	tcase_add_test(tc, every_key_has_its_value_at_every_width);
	tcase_add_test(tc, absent_keys_have_values_at_the_rate_of_check_bits);
	tcase_add_test(tc, a_million_keys_take_1_14_times_check_and_value);
	tcase_add_test(tc, sets_of_every_size_are_built);
	tcase_add_test(tc, shards_have_all_values_with_any_number_of_threads);
	tcase_add_test(tc, a_value_that_is_too_wide_is_refused);
	tcase_add_test(tc, impossible_parameters_are_refused);
	tcase_add_test(tc, single_and_batched_questions_return_the_same_values);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
