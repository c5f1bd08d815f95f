/*
 * hash_compact.c - a table of signatures: its rate, what it says when it is full, and which thread
 * takes a cell that many want
 */
#include "handle/handle.h"
#include "suite.h"

#include <math.h>
#include <pthread.h>

static struct blm_filter *make(struct blm_params p)
{
	struct blm_filter *f;

	p.kind = "hash-compact";
	p.seeds = &(uint64_t){ 5 };
	p.seed_count = 1;
	OK(blm_create(&f, NULL, a_path(), &p));
	return f;
}

static struct blm_info info(const struct blm_filter *f)
{
	struct blm_info i = BLM_INFO;

	OK(blm_info(f, &i));
	return i;
}

/* ---- Sizes and rates ---- */

START_TEST(it_keeps_every_rate_up_to_nine_tenths_load)
{
	for (double rate = 0.3; rate > 1e-15; rate /= 7.7)
		for (uint64_t keys = 1; keys < UINT64_C(1) << 36; keys = keys * 23 + 3) {
			struct blm_plan plan;

			OK(blm_plan(&plan, &BLM_PARAMS(.kind = "hash-compact", .capacity = keys,
						       .rate = rate)));
			ck_assert_double_le(plan.predicted_rate, rate);
			ck_assert_uint_ge(plan.cells * 9, keys * 10);
		}
}
END_TEST

START_TEST(a_signature_of_any_width_keeps_its_rate_in_practice)
{
	const uint32_t keys = 20000, asked = 400000;

	for (unsigned bits = 8; bits <= 64; bits += SANITIZED ? 7 : 1) {
		char options[40];
		struct blm_filter *f;
		double wrong, expected;

		/* not the least nor the most of the widths with as many cells a word */
		if (test_scale() < 1 && 64 / bits == 64 / (bits - 1) && 64 / bits == 64 / (bits + 1)
		    && bits % 24)
			continue;
		snprintf(options, sizeof(options), "signature-bits=%u,load=%g", bits,
			 bits % 2 ? 0.9 : 0.7);
		f = make(BLM_PARAMS(.capacity = keys, .options = options));
		ck_assert_uint_eq(info(f).cell_bits, bits);
		add_numbers(f, 0, keys);
		ck_assert_uint_eq(numbers_found(f, 0, keys), keys);
		wrong = numbers_found(f, keys, keys + asked);
		/*
		 * by the formula for large tables: not above it but by chance, and near it where
		 * there is enough to count
		 */
		expected = asked * info(f).rate;
		ck_assert_msg(wrong <= 1.05 * expected + 4 * sqrt(expected) + 3,
			      "%u bits: %g of %u, %g promised", bits, wrong, asked, expected);
		if (bits >= 10 && bits <= 14)
			ck_assert_double_ge(wrong, 0.7 * expected);
		blm_close(f);
	}
}
END_TEST

START_TEST(unknown_options_are_refused)
{
	static const struct blm_params none[] = {
		BLM_PARAMS(.capacity = 100, .options = "signature-bits=7"),
		BLM_PARAMS(.capacity = 100, .options = "signature-bits=65"),
		BLM_PARAMS(.capacity = 100, .options = "load=0.99"),
		BLM_PARAMS(.capacity = 100, .options = "load=0"),
		BLM_PARAMS(.cells = 100, .capacity = 101),
		BLM_PARAMS(.capacity = 100, .probes = 2),
	};

	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		struct blm_params p = none[i];

		p.kind = "hash-compact";
		FAILS(blm_plan(&(struct blm_plan){ 0 }, &p), -EINVAL);
	}
	FAILS(blm_plan(&(struct blm_plan){ 0 },
		       &BLM_PARAMS(.kind = "hash-compact", .hash = "xxh64", .capacity = 100)),
	      -EOPNOTSUPP);
	FAILS(blm_plan(&(struct blm_plan){ 0 },
		       &BLM_PARAMS(.kind = "hash-compact", .capacity = BLM_CAPACITY_MAX)),
	      -EFBIG);
}
END_TEST

/* ---- Full ---- */

START_TEST(a_full_table_refuses_keys_and_has_all_others)
{
	static const struct { uint64_t cells; const char *options;
	} sizes[] = {
		{ 1, "signature-bits=64" },    { 2, "signature-bits=16" },
		{ 5, "signature-bits=32" },    { 100, "signature-bits=12" },
		{ 1000, "signature-bits=20" }, { 3001, "signature-bits=24" },
	};

	for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
		struct blm_filter *f =
			make(BLM_PARAMS(.cells = sizes[s].cells, .options = sizes[s].options));
		uint32_t taken = 0, tried;
		uint64_t before;
		int r = 0;

		for (tried = 0; r >= 0 && tried < 100000; tried++) {
			r = blm_add(f, &tried, 4);
			taken += r == 1;
		}
		ck_assert_int_eq(r, -EXFULL);
		ck_assert_ptr_nonnull(strstr(blm_error_message(), "full"));
		ck_assert_uint_eq(taken, sizes[s].cells);	/* to the last cell */
		OK(blm_count(f, &before, NULL));
		ck_assert_uint_eq(before, taken);
		ck_assert_uint_eq(numbers_found(f, 0, tried - 1), tried - 1);
		for (uint32_t i = 0; i < tried - 1; i++)
			ck_assert_int_eq(blm_add(f, &i, 4), 0);	/* a present key is no new key */
		blm_close(f);
	}
}
END_TEST

START_TEST(a_call_that_fills_the_table_counts_accepted_keys)
{
	struct blm_filter *f = make(BLM_PARAMS(.cells = 700, .options = "signature-bits=32"));
	uint64_t bits[20], keys;
	uint32_t number[1000];
	unsigned told = 0;

	for (uint32_t i = 0; i < 1000; i++)
		number[i] = i;
	memset(bits, 0, sizeof(bits));
	ck_assert_int_eq(blm_add_fixed(f, number, 4, 1000, bits), -EXFULL);
	OK(blm_count(f, &keys, NULL));
	ck_assert_uint_eq(keys, 700);
	for (int i = 0; i < 20; i++)
		told += (unsigned)__builtin_popcountll(bits[i]);
	ck_assert_uint_eq(told, 700);
	blm_close(f);
}
END_TEST

START_TEST(facts_report_the_load_and_its_rate)
{
	struct blm_filter *f = make(BLM_PARAMS(.cells = 10000, .options = "signature-bits=16"));
	struct blm_fact load, rate;

	for (uint32_t n = 0; n < 9000; n += 3000) {
		uint64_t keys;

		add_numbers(f, n, n + 3000);
		OK(blm_count(f, &keys, NULL));
		OK(blm_fact(f, 0, &load));
		OK(blm_fact(f, 1, &rate));
		ck_assert_str_eq(load.name, "load");
		ck_assert_double_eq_tol(load.value, (double)keys / 10000, 1e-12);
		ck_assert_double_eq_tol(rate.value,
					(1 / ((1 - load.value) * (1 - load.value)) - 1) / 2 / 65535,
					0.001 * rate.value);
		ck_assert_int_eq(blm_fact(f, 2, &load), -ENOENT);
	}
	blm_close(f);
}
END_TEST

/* ---- Many at once ---- */

enum { THREADS = 6, RACED = 60000 };

struct racer {
	struct blm_filter *f;
	uint32_t first;
	int64_t won;
};

/* All claim the same keys, each beginning elsewhere. */
static void *race(void *context)
{
	struct racer *r = context;

	for (uint32_t i = 0; i < RACED; i++) {
		uint32_t key = (r->first + i) % RACED;
		int won = blm_claim(r->f, &key, 4);

		r->won += won > 0 ? won : won < 0 ? -1000000 : 0;
	}
	return NULL;
}

START_TEST(one_of_all_claimers_of_a_hash_wins_it)
{
	static const char *const widths[] = { "signature-bits=8", "signature-bits=12",
					      "signature-bits=32", "signature-bits=64" };

	for (size_t w = 0; w < ARRAY_LEN(widths); w++) {
		struct blm_filter *f = make(BLM_PARAMS(.capacity = RACED, .options = widths[w]));
		struct racer racer[THREADS];
		pthread_t thread[THREADS];
		struct blm_fact load;
		int64_t won = 0;

		for (uint32_t t = 0; t < THREADS; t++) {
			racer[t] = (struct racer){ .f = f,
						   .first = t % 2 ? t * (RACED / THREADS) : 0 };
			ck_assert_int_eq(pthread_create(&thread[t], NULL, race, &racer[t]), 0);
		}
		for (int t = 0; t < THREADS; t++) {
			pthread_join(thread[t], NULL);
			won += racer[t].won;
		}
		OK(blm_fact(f, 0, &load));
		/* as many as there are signatures */
		ck_assert_int_eq(won, llround(load.value * (double)info(f).cells));
		ck_assert_uint_eq((uint64_t)won, info(f).keys);
		ck_assert_uint_eq(numbers_found(f, 0, RACED), RACED);
		if (strstr(widths[w], "64"))
			ck_assert_int_eq(won, RACED);
		blm_close(f);
	}
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("kind/hash_compact");
	TCase *tc = tcase_create("hash-compact"), *threads = tcase_create("threads");

	tcase_add_test(tc, it_keeps_every_rate_up_to_nine_tenths_load);
	tcase_add_test(tc, a_signature_of_any_width_keeps_its_rate_in_practice);
	tcase_add_test(tc, unknown_options_are_refused);
	tcase_add_test(tc, a_full_table_refuses_keys_and_has_all_others);
	tcase_add_test(tc, a_call_that_fills_the_table_counts_accepted_keys);
	tcase_add_test(tc, facts_report_the_load_and_its_rate);
	tcase_add_test(threads, one_of_all_claimers_of_a_hash_wins_it);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, threads);
	return run_suite(s);
}
