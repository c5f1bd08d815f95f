/*
 * sizing.c - what a filter is promised to be, against what it is: rates measured, formulas against
 * published values
 *
 * Rates are measured on parts in memory with random hashes, which is what a good family gives:
 * laws.c does it with keys. Seeds are fixed, so a run that passes passes again.
 */
#include "kind/common/sizing.h"
#include "kind/kind_registry.h"
#include "kind/common/options.h"
#include "suite.h"

#include <math.h>
#include <pthread.h>

/* ---- Parts in memory ---- */

static struct blm_hasher by;

static struct blm_part make(const char *kind, const struct blm_params *params)
{
	struct blm_part part = { .kind = blm_kind_by_name(kind),
				 .simd = blm_simd_best(),
				 .unshared = true };

	ck_assert_int_eq(blm_options_parse(part.kind, NULL, part.shape.args), 0);
	ck_assert_int_eq(part.kind->plan(&part.shape, params), 0);
	part.bytes = aligned_alloc(64, part.shape.bytes);
	memset(part.bytes, 0, part.shape.bytes);
	return part;
}

static void hash_next(uint64_t *random, struct blm_hash hashes[BLM_BATCH], size_t count)
{
	for (size_t i = 0; i < count; i++)
		hashes[i] = (struct blm_hash){ next_random(random), next_random(random) };
}

static void fill(struct blm_part *part, uint64_t keys, uint64_t *random)
{
	struct blm_hash hashes[BLM_BATCH];

	for (uint64_t i = 0; i < keys; i += BLM_BATCH) {
		size_t count = keys - i < BLM_BATCH ? (size_t)(keys - i) : BLM_BATCH;
		uint64_t bits[BLM_BATCH_WORDS];

		hash_next(random, hashes, count);
		ck_assert_int_ge(blm_part_add(part,
					      &(struct blm_batch){
						      .by = &by, .hashes = hashes, .count = count },
					      bits),
				 0);
	}
}

static uint64_t false_positives(const struct blm_part *part, uint64_t questions, uint64_t *random)
{
	struct blm_hash hashes[BLM_BATCH];
	uint64_t yes = 0;

	for (uint64_t i = 0; i < questions; i += BLM_BATCH) {
		uint64_t bits[BLM_BATCH_WORDS];

		hash_next(random, hashes, BLM_BATCH);
		blm_part_contains(part,
				  &(struct blm_batch){
					  .by = &by, .hashes = hashes, .count = BLM_BATCH },
				  bits);
		for (size_t w = 0; w < BLM_BATCH_WORDS; w++)
			yes += (uint64_t)__builtin_popcountll(bits[w]);
	}
	return yes;
}

/* ---- Rates at capacity ---- */

static const char *const kinds[] = { "classic", "blocked", "split-block" };
static const double rates[] = { 0.1, 0.01, 1e-3, 1e-4, 1e-6 };
static const uint64_t few[] = { 100, 1000, 10000 };
static const uint64_t many[] = { 100000, 1000000, 10000000 };

static void one_small_case(const char *kind, uint64_t keys, double rate)
{
	enum { SEEDS = 50 };
	double sum = 0, squares = 0, mean, error;
	/*
	 * Never less than a fifth of the questions: 45 times 3 standard errors are each time as
	 * likely to be left by chance, with any number.
	 */
	uint64_t questions =
		(uint64_t)(fmin(1000 / rate, 2e7 * fmax(test_scale(), 0.2)) / SEEDS + 2000)
		/ BLM_BATCH * BLM_BATCH;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct blm_part part = make(kind, &BLM_PARAMS(.capacity = keys, .rate = rate));
		uint64_t random = mixed(seed) ^ keys;
		double x;

		fill(&part, keys, &random);
		x = (double)false_positives(&part, questions, &random) / (double)questions;
		sum += x;
		squares += x * x;
		free(part.bytes);
	}
	mean = sum / SEEDS;
	error = sqrt(fmax(0, squares / SEEDS - mean * mean) / (SEEDS - 1));
	ck_assert_msg(mean <= rate + 3 * error, "%s, %d keys: %g +- %g measured, %g promised", kind,
		      (int)keys, mean, error, rate);
	/*
	 * where none is found, which says nothing of its own spread, the error is that of the
	 * number expected
	 */
	error = fmax(error, sqrt(rate / (double)(questions * SEEDS)));
	ck_assert_msg(keys < 1000 || mean >= 0.7 * rate - 3 * error,
		      "%s, %d keys: %g +- %g measured, %g promised: too large", kind, (int)keys,
		      mean, error, rate);
}

START_TEST(the_mean_rate_of_50_full_filters_is_kept)
{
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (size_t n = 0; n < ARRAY_LEN(few); n++)
			one_small_case(kinds[k], few[n], rates[_i]);
}
END_TEST

/*
 * A filter of blocks is one of many that it could have been, so of smaller ones several are asked.
 */
static double rate_of_large(const char *kind, uint64_t keys, double promised, uint64_t questions)
{
	const uint64_t enough = SANITIZED || test_scale() < 1 ? 1600000 : 6400000;
	uint64_t random = keys, filters = keys < enough ? enough / keys : 1,
		 each = questions / filters / BLM_BATCH * BLM_BATCH, yes = 0;

	for (uint64_t i = 0; i < filters; i++) {
		struct blm_part part = make(kind, &BLM_PARAMS(.capacity = keys, .rate = promised));

		fill(&part, keys, &random);
		yes += false_positives(&part, each, &random);
		free(part.bytes);
	}
	return (double)yes / (double)(filters * each);
}

START_TEST(the_rate_of_a_large_full_filter_is_kept)
{
	static const double promised[] = { 0.1, 0.001 };
	uint64_t questions = BLM_BATCH * (SANITIZED || test_scale() < 1 ? 20000 : 100000);

	if (is_left_out(_i))
		return;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (size_t p = 0; p < ARRAY_LEN(promised); p++) {
			double rate = rate_of_large(kinds[k], many[_i], promised[p], questions),
			       error = sqrt(promised[p] / (double)questions);

			ck_assert_msg(rate <= promised[p] + 3 * error,
				      "%s: %g +- %g measured, %g promised", kinds[k], rate, error,
				      promised[p]);
			ck_assert_double_ge(rate, 0.95 * promised[p] - 3 * error);
		}
}
END_TEST

/* ---- 1000 keys, 32 bits a key, 22 probes: where h1 + i h2 is wrong by 184 times ---- */

enum { FILTERS = 64, THREADS = 2 };
static uint64_t questions_a_filter;

static void *measure_half(void *context)
{
	uint64_t yes = 0, first = (uint64_t)(uintptr_t)context;

	for (uint64_t i = first; i < FILTERS; i += THREADS) {
		struct blm_part part = make("classic", &BLM_PARAMS(.cells = 32000, .probes = 22,
								   .capacity = 1000));
		uint64_t random = mixed(i + 1000);

		fill(&part, 1000, &random);
		yes += false_positives(&part, questions_a_filter, &random);
		free(part.bytes);
	}
	return (void *)(uintptr_t)yes;
}

START_TEST(a_small_filter_with_22_probes_has_nearly_its_rate)
{
	const double theory = blm_rate_asymptotic(32, 22),
		     share = test_full() ? 1 : 0.17 * test_scale();
	pthread_t thread[THREADS];
	uint64_t yes = 0;
	double rate, slack;

	questions_a_filter = (uint64_t)(36e6 * share) / BLM_BATCH * BLM_BATCH;
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, measure_half, (void *)i), 0);
	for (int i = 0; i < THREADS; i++) {
		void *part;

		pthread_join(thread[i], &part);
		yes += (uint64_t)(uintptr_t)part;
	}
	rate = (double)yes / (double)(questions_a_filter * FILTERS);
	slack = share < 1 ? 1 + 4 / sqrt(480 * share) : 1.1;	/* a shorter run sees fewer */
	ck_assert_uint_ge(yes,
			  (uint64_t)(test_scale() < 1 ? fmax(1, 480 * share - 4 * sqrt(480 * share))
						      : 400 * share));
	ck_assert_double_eq_tol(theory, 2.10e-7, 0.02e-7);
	ck_assert_msg(rate < theory * slack && rate > theory / slack,
		      "%g measured from %d false positives, %g in theory", rate, (int)yes, theory);
}
END_TEST

/* ---- Formulas ---- */

START_TEST(the_formulas_give_the_published_values)
{
	ck_assert_double_eq_tol(blm_rate_bound(20000, 10, 1000), 8.932e-5, 0.001e-5);
	ck_assert_double_eq_tol(blm_rate_asymptotic(20, 10), 8.894e-5, 0.001e-5);
	ck_assert_double_eq_tol(blm_rate_asymptotic(22, 17), 2.67e-5, 0.01e-5);
	ck_assert_double_eq_tol(blm_rate_asymptotic(32, 24), 2.17e-7, 0.01e-7);
	ck_assert_double_eq(blm_rate_bound(20000, 10, 0), 0);
	ck_assert_double_eq(blm_rate_bound(1, 1, 1), 1);
	ck_assert_double_le(blm_rate_bound(2, 256, UINT64_MAX), 1);
}
END_TEST

START_TEST(a_large_classic_filter_at_1_percent_takes_7_probes)
{
	struct blm_plan plan;

	ck_assert_int_eq(blm_plan(&plan, &BLM_PARAMS(.kind = "classic", .capacity = 1000000000,
						     .rate = 0.01)),
			 0);
	/* 9.585, with probes that are no whole number */
	ck_assert_double_ge(plan.bits_per_key, log2(100) / M_LN2);
	ck_assert_double_ge(plan.bits_per_key, 9.5929);
	ck_assert_double_le(plan.bits_per_key, 9.5930);
	ck_assert_uint_eq(plan.probes, 7);
	ck_assert_double_le(plan.predicted_rate, 0.01);
}
END_TEST

START_TEST(classic_has_the_exact_size_and_is_not_much_larger)
{
	for (double rate = 0.5; rate > 1e-15; rate /= 3.7)
		for (uint64_t keys = 1; keys < UINT64_C(1) << 38; keys = keys * 7 + 3) {
			struct blm_plan plan;
			double k, asymptotic;

			ck_assert_int_eq(blm_plan(&plan,
						  &BLM_PARAMS(.kind = "classic", .capacity = keys,
							      .rate = rate)),
					 0);
			k = plan.probes;
			asymptotic = (double)keys * k / -log1p(-pow(rate, 1 / k));
			ck_assert_double_ge((double)plan.cells, asymptotic);
			ck_assert_double_le(plan.predicted_rate, rate);
			ck_assert_double_le(plan.predicted_rate, plan.rate);
			ck_assert(plan.cells <= 64
				  || blm_rate_bound(plan.cells - 64, plan.probes, keys)
					     > rate * (1 - 1e-9));
			ck_assert_uint_ge(plan.data_bytes * 8, plan.cells);
			ck_assert_uint_ge(plan.file_bytes, plan.data_bytes + 4096);
		}
}
END_TEST

START_TEST(blocked_is_minimal_and_keeps_its_rate)
{
	for (double rate = 0.3; rate > 1e-7; rate /= 5.3)
		for (uint64_t keys = 1; keys < UINT64_C(1) << 36; keys = keys * 23 + 3) {
			struct blm_plan plan;

			ck_assert_int_eq(blm_plan(&plan,
						  &BLM_PARAMS(.kind = "blocked", .capacity = keys,
							      .rate = rate)),
					 0);
			ck_assert_uint_eq(plan.cells % 512, 0);
			ck_assert_double_le(plan.predicted_rate, rate);
			if (plan.cells > 512)
				ck_assert_double_gt(blm_blocked_rate(plan.cells / 512 - 1,
								     plan.probes, keys),
						    rate);
		}
}
END_TEST

static uint64_t blocked_cells(double rate, uint32_t *probes)
{
	struct blm_plan plan;

	OK(blm_plan(&plan, &BLM_PARAMS(.kind = "blocked", .capacity = 1000000, .rate = rate,
				       .probes = *probes)));
	*probes = plan.probes;
	return plan.cells;
}

/* Seven are answered in half the time of eight. */
START_TEST(seven_probes_are_taken_where_they_cost_little)
{
	for (double rate = 0.02; rate > 1e-5; rate *= 0.83) {
		uint64_t best = UINT64_MAX, of_seven = 0, cells;
		uint32_t at = 0, probes = 0;

		for (uint32_t k = 1; k <= 20; k++) {
			cells = blocked_cells(rate, &k);
			if (cells < best) {
				best = cells;
				at = k;
			}
			of_seven = k == 7 ? cells : of_seven;
		}
		cells = blocked_cells(rate, &probes);
		if (at > 7 && (double)of_seven <= 1.04 * (double)best)
			ck_assert_uint_eq(probes, 7);
		else
			ck_assert_uint_eq(cells, best);
	}
}
END_TEST

/* Keys thrown into blocks and bits at random; the mean of (ones / 512)^k. */
static double simulated(unsigned blocks, unsigned probes, unsigned keys, uint64_t *random)
{
	uint64_t (*block)[8] = calloc(blocks, sizeof(*block));
	double sum = 0;

	for (unsigned i = 0; i < keys; i++) {
		uint64_t *words = block[scale(next_random(random), blocks)];

		uint64_t bits = 0;

		for (unsigned j = 0; j < probes; j++, bits >>= 9) {
			unsigned bit;

			if (j % 7 == 0)		/* seven numbers of 9 bits */
				bits = next_random(random);
			bit = (unsigned)(bits & 511);
			words[bit / 64] |= UINT64_C(1) << bit % 64;
		}
	}
	for (unsigned b = 0; b < blocks; b++) {
		int ones = 0;

		for (int w = 0; w < 8; w++)
			ones += __builtin_popcountll(block[b][w]);
		sum += pow(ones / 512.0, probes);
	}
	free(block);
	return sum / blocks;
}

START_TEST(split_block_is_minimal_and_keeps_its_rate)
{
	for (double rate = 0.3; rate > 1e-9; rate /= 5.3)
		for (uint64_t keys = 1; keys < UINT64_C(1) << 33; keys = keys * 23 + 3) {
			struct blm_plan plan;
			int r = blm_plan(&plan, &BLM_PARAMS(.kind = "split-block", .capacity = keys,
							    .rate = rate));

			/* that is so, of the most blocks that there can be */
			if (r == -EFBIG) {
				ck_assert_double_gt(blm_split_rate((UINT64_C(1) << 31) - 1, keys),
						    rate);
				continue;
			}
			OK(r);
			ck_assert_uint_eq(plan.cells % 256, 0);
			ck_assert_double_le(plan.predicted_rate, rate);
			if (plan.cells > 256)
				ck_assert_double_gt(blm_split_rate(plan.cells / 256 - 1, keys),
						    rate);
		}
}
END_TEST

/*
 * Where 2^32 numbers of blocks come to 2 or 3 a block, some blocks have half as many keys again:
 * simulated on a scale of 1 to 2^20.
 */
START_TEST(blocks_chosen_by_few_bits_fill_unevenly_and_raise_rates)
{
	const uint64_t numbers = 1 << 12, blocks = 1700, keys = 1700 * 20, all = UINT64_C(1) << 32;
	double even = blm_split_rate(1 << 20, (uint64_t)20 << 20), uneven, found = 0;
	uint64_t random = 3;

	/* the same shares: 2 or 3 numbers a block */
	uneven = blm_split_rate((all * blocks / numbers), all / numbers * keys);
	for (int round = 0; round < 40; round++) {
		static unsigned load[1700];

		memset(load, 0, sizeof(load));
		for (uint64_t i = 0; i < keys; i++)
			load[(next_random(&random) % numbers) * blocks / numbers]++;
		for (uint64_t i = 0; i < 100000; i++)
			found += pow(1
					     - pow(31 / 32.0, load[(next_random(&random) % numbers)
								   * blocks / numbers]),
				     8)
			       / 100000 / 40;
	}
	ck_assert_msg(fabs(found / uneven - 1) < 0.02, "%g simulated, %g in theory", found, uneven);
	ck_assert_double_gt(uneven, 1.1 * even);
}
END_TEST

START_TEST(the_rate_of_blocks_is_what_a_simulation_finds)
{
	static const struct {
		unsigned bits_per_key, probes;
	} cases[] = { { 4, 3 }, { 8, 5 }, { 10, 6 }, { 16, 9 }, { 20, 11 }, { 16, 1 }, { 12, 40 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i += SANITIZED || test_scale() < 1 ? 3 : 1) {
		const unsigned blocks = 100000, keys = blocks * 512 / cases[i].bits_per_key;
		uint64_t random = i;
		double theory = blm_blocked_rate(blocks, cases[i].probes, keys),
		       found = simulated(blocks, cases[i].probes, keys, &random);

		ck_assert_msg(fabs(found / theory - 1) < 0.03,
			      "%u bits a key, %u probes: %g simulated, %g in theory",
			      cases[i].bits_per_key, cases[i].probes, found, theory);
	}
}
END_TEST

START_TEST(blocks_of_512_bits_have_the_published_rate)
{
	ck_assert_double_eq_tol(blm_blocked_rate(1000000, 9, 32000000), 8.4e-4, 0.2e-4);
	/* that classic has not */
	ck_assert_double_gt(blm_blocked_rate(1000000, 9, 32000000),
			    1.4 * blm_rate_asymptotic(16, 9));
}
END_TEST

START_TEST(the_rate_of_blocks_rises_with_load_to_1)
{
	const uint64_t steps = test_scale() < 1 ? 1 : 4;

	for (unsigned probes = 1; probes < 64; probes = probes * 3 + 2)
		for (uint64_t blocks = 2; blocks < 10000; blocks = blocks * 7 + 1) {
			double before = 0;

			for (uint64_t keys = 1; keys < UINT64_C(1) << 62;
			     keys += keys / steps + 1) {
				double rate = blm_blocked_rate(blocks, probes, keys);

				ck_assert(rate >= before * (1 - 1e-9) && rate <= 1);
				before = rate;
			}
			ck_assert_double_eq(before, 1);
		}
}
END_TEST

/* ---- Parameters that make no sense, or too much ---- */

static const struct {
	struct blm_params params;
	int blocked, classic;
} hostile[] = {
	{ BLM_PARAMS(.capacity = 1000, .rate = 1), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .rate = 2), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .rate = -1), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .rate = -0.01), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .rate = NAN), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .rate = INFINITY), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .rate = -INFINITY), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .rate = 1e-301), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .rate = 5e-324), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = UINT64_C(1) << 40, .rate = 1e-300), -EFBIG, -EFBIG },
	{ BLM_PARAMS(.capacity = 0), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 0, .rate = 0.01), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = UINT64_MAX), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = UINT64_C(10000000000000000000)), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = (UINT64_C(1) << 47) + 1), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = UINT64_C(1) << 47), -EFBIG, -EFBIG },
	{ BLM_PARAMS(.capacity = UINT64_C(1) << 44, .rate = 1e-4), -EFBIG, -EFBIG },
	{ BLM_PARAMS(.cells = UINT64_C(1) << 48), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.cells = (UINT64_C(1) << 47) + 512), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.cells = UINT64_MAX), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.cells = 511), -EINVAL, 0 },
	{ BLM_PARAMS(.cells = 1), -EINVAL, 0 },
	{ BLM_PARAMS(.capacity = 1000, .probes = 257), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .probes = UINT32_MAX), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .seed_count = 257), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .seed_count = 2, .seeds = (uint64_t[]){ 1, 2 }), -EINVAL,
	  -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .tweak = 5), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .mode = 04755), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .hash = "murmur3-bip37", .tweak = UINT64_C(1) << 32),
	  -EOPNOTSUPP, -EINVAL },
	{ BLM_PARAMS(.cells = UINT64_C(1) << 33, .hash = "murmur3-bip37"), -EOPNOTSUPP, -EINVAL },
	{ BLM_PARAMS(.cells = UINT64_C(1) << 32, .hash = "murmur3-bip37"), -EOPNOTSUPP, 0 },
	{ BLM_PARAMS(.cells = (UINT64_C(1) << 32) + 512, .hash = "djb"), -EOPNOTSUPP, -EINVAL },
	{ BLM_PARAMS(.cells = UINT64_C(1) << 32, .hash = "djb"), -EOPNOTSUPP, 0 },
	{ BLM_PARAMS(.cells = UINT64_C(1) << 40, .hash = "mm3_64"), -EOPNOTSUPP, 0 },
	{ BLM_PARAMS(.capacity = 1000, .hash = "mm3_64", .tweak = 1), -EOPNOTSUPP, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .hash = "mm3_64", .seed_count = 257), -EINVAL, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .hash = "mm3_64", .probes = 3, .seed_count = 2,
		     .seeds = (uint64_t[]){ 1, 2 }),
	  -EOPNOTSUPP, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .hash = "mm3_64", .probes = 1, .seed_count = 2,
		     .seeds = (uint64_t[]){ 1, 2 }),
	  -EOPNOTSUPP, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .hash = "mm3_64", .seed_count = 2,
		     .seeds = (uint64_t[]){ 1, UINT64_C(1) << 32 }),
	  -EOPNOTSUPP, -EINVAL },
	{ BLM_PARAMS(.capacity = 1000, .hash = "md5", .seed_count = 2,
		     .seeds = (uint64_t[]){ 1, UINT32_MAX }),
	  -EOPNOTSUPP, 0 },
	{ BLM_PARAMS(.cells = 999, .hash = "mm3-32", .seed_count = 1, .seeds = (uint64_t[]){ 0 }),
	  -EINVAL, 0 },
	{ BLM_PARAMS(.capacity = 1000, .hash = "md4"), -ENOENT, -ENOENT },
	/* small, but sound */
	{ BLM_PARAMS(.capacity = 1, .rate = 0.99), 0, 0 },
	{ BLM_PARAMS(.capacity = 1, .rate = 0.5), 0, 0 },
	{ BLM_PARAMS(.capacity = 10, .rate = 0.9999999), 0, 0 },
	{ BLM_PARAMS(.capacity = 1000, .probes = 256), 0, 0 },
	{ BLM_PARAMS(.cells = 512, .probes = 256, .capacity = UINT64_C(1) << 47), 0, 0 },
	{ BLM_PARAMS(.cells = UINT64_C(1) << 47, .probes = 1, .capacity = 1), 0, 0 },
	{ BLM_PARAMS(.cells = UINT64_C(1) << 47), 0, 0 },
};

START_TEST(parameters_have_a_sound_plan_or_are_refused_with_words)
{
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++)
		for (int blocked = 0; blocked < 2; blocked++) {
			struct blm_params params = hostile[i].params;
			int r, expected = blocked ? hostile[i].blocked : hostile[i].classic;
			struct blm_plan plan = { .cells = 12345 };
			struct blm_filter *f = (void *)&plan;

			params.kind = blocked ? "blocked" : "classic";
			r = blm_plan(&plan, &params);
			ck_assert_msg(r == expected, "case %zu, %s: %d, not %d (%s)", i,
				      params.kind, r, expected, blm_error_message());
			if (r < 0) {
				ck_assert_uint_ge(strlen(blm_error_message()), 10);
				/* written on success only */
				ck_assert_uint_eq(plan.cells, 12345);
				ck_assert_int_eq(blm_create(&f, NULL, a_path(), &params), expected);
				ck_assert_ptr_eq(f, &plan);
				continue;
			}
			ck_assert(plan.cells >= 1 && plan.cells <= BLM_CELLS_MAX && plan.probes >= 1
				  && plan.probes <= 256);
			ck_assert(plan.capacity >= 1 && plan.predicted_rate >= 0
				  && plan.predicted_rate <= 1);
		}
	ck_assert_int_eq(blm_plan(&(struct blm_plan){ 0 },
				  &BLM_PARAMS(.kind = "cubic", .capacity = 1)),
			 -ENOENT);
}
END_TEST

START_TEST(ten_billion_keys_are_planned_without_overflow)
{
	struct blm_plan plan;

	for (int blocked = 0; blocked < 2; blocked++) {
		struct blm_params params = BLM_PARAMS(.kind = kinds[blocked],
						      .capacity = UINT64_C(10000000000),
						      .rate = 1e-9);

		ck_assert_int_eq(blm_plan(&plan, &params), 0);
		ck_assert_double_ge(plan.bits_per_key, 43.13);
		ck_assert_uint_gt(plan.data_bytes, UINT64_C(53900000000));
		params = BLM_PARAMS(.kind = kinds[blocked], .cells = UINT64_C(1) << 40,
				    .probes = 7);
		ck_assert_int_eq(blm_plan(&plan, &params), 0);
		ck_assert_uint_eq(plan.cells, UINT64_C(1) << 40);
		ck_assert_uint_eq(plan.data_bytes, UINT64_C(1) << 37);
		ck_assert_double_eq_tol((double)plan.capacity, ldexp(M_LN2, 40) / 7, 1e3);
	}
}
END_TEST

START_TEST(given_bits_and_probes_are_kept_exactly)
{
	static const uint64_t cells[] = { 1,
					  2,
					  63,
					  64,
					  65,
					  511,
					  513,
					  1000003,
					  (UINT64_C(1) << 32) + 1,
					  (UINT64_C(1) << 47) - 1 };

	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		for (uint32_t probes = 1; probes <= 256; probes += 51) {
			struct blm_plan plan;

			ck_assert_int_eq(blm_plan(&plan,
						  &BLM_PARAMS(.kind = "classic", .cells = cells[i],
							      .probes = probes)),
					 0);
			ck_assert_uint_eq(plan.cells, cells[i]);
			ck_assert_uint_eq(plan.probes, probes);
		}
}
END_TEST

START_TEST(given_seeds_determine_the_probes_and_keep_the_rate)
{
	const uint64_t seeds[BLM_SEEDS_MAX] = { 5, 0, UINT32_MAX };

	for (uint32_t k = 1; k <= BLM_SEEDS_MAX; k = k * 2 - (k > 1)) {
		struct blm_params params = BLM_PARAMS(.hash = "mm3_64", .capacity = 1000,
						      .rate = 0.01, .seeds = seeds,
						      .seed_count = k);
		struct blm_filter *f;
		struct blm_plan plan;
		struct blm_info info = BLM_INFO;

		ck_assert_msg(blm_create(&f, NULL, a_path(), &params) == 0, "%s",
			      blm_error_message());
		ck_assert_int_eq(blm_info(f, &info), 0);
		ck_assert_int_eq(blm_plan(&plan, &params), 0);
		ck_assert_str_eq(info.kind, "classic");
		ck_assert_uint_eq(info.probes, k);
		ck_assert_uint_eq(info.seed_count, k);
		ck_assert_mem_eq(info.seeds, seeds, 8 * k);
		ck_assert_uint_eq(info.cells, blm_classic_cells(1000, 0.01, k));
		ck_assert_uint_eq(plan.cells, info.cells);
		ck_assert_double_le(plan.predicted_rate, 0.01);
		blm_close(f);
	}
}
END_TEST

START_TEST(each_probe_gets_its_own_random_seed_of_32_bits)
{
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	uint64_t all = 0;

	ck_assert_int_eq(blm_create(&f, NULL, a_path(),
				    &BLM_PARAMS(.hash = "sha512", .cells = 1000, .probes = 256)),
			 0);
	ck_assert_int_eq(blm_info(f, &info), 0);
	ck_assert_uint_eq(info.seed_count, 256);
	for (unsigned i = 0; i < 256; i++)
		all |= info.seeds[i];
	ck_assert_uint_eq(all, UINT32_MAX);
	blm_close(f);
}
END_TEST

START_TEST(seeds_that_a_family_refuses_are_refused_with_a_reason)
{
	static const struct {
		const char *hash;
		uint32_t probes, count;
		const char *reason;
	} cases[] = {
		{ "xxh3", 0, 2, "2 seeds given; the hash xxh3 takes 1" },
		{ "md5", 3, 2, "2 seeds given; the hash md5 takes 3, one for each probe" },
		{ "md5", 0, 2,
		  "seed 4294967296 is more than 32 bits, which the seeds of the hash md5 have" },
	};
	const uint64_t seeds[] = { 1, UINT64_C(1) << 32 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct blm_params params = BLM_PARAMS(.kind = "classic", .hash = cases[i].hash,
						      .capacity = 100, .probes = cases[i].probes,
						      .seeds = seeds, .seed_count = cases[i].count);

		ck_assert_int_eq(blm_plan(&(struct blm_plan){ 0 }, &params), -EINVAL);
		ck_assert_str_eq(blm_error_message(), cases[i].reason);
	}
}
END_TEST

START_TEST(a_plan_takes_less_than_half_a_second)
{
	double step = test_scale() < 1 ? 1e-3 : 0.1;

	for (double rate = 0.99; rate >= 1e-300;
	     rate *= rate > 1e-12 ? step : test_scale() < 1 || SANITIZED ? 1e-72 : 1e-36)
		for (uint64_t keys = 1; keys && keys <= BLM_CAPACITY_MAX; keys <<= 23)
			for (int blocked = 0; blocked < 2; blocked++) {
				struct blm_params params = BLM_PARAMS(.kind = kinds[blocked],
								      .capacity = keys,
								      .rate = rate);
				double begun = seconds();
				struct blm_plan plan;
				int r = blm_plan(&plan, &params);

				ck_assert(r == 0 || r == -EFBIG);
				ck_assert_msg(seconds() - begun < TOO_LONG,
					      "%s, %llu keys at %g: %g s", kinds[blocked],
					      (unsigned long long)keys, rate, seconds() - begun);
			}
}
END_TEST

/*
 * With a probe for each cell every key is in all of them: only how many more there are of one can
 * be told.
 */
START_TEST(the_sum_alone_estimates_differences_of_keys_in_every_cell)
{
	double error;

	ck_assert_double_eq(blm_keys_that_differ(4, 4, -12, 36, &error), 3);
	ck_assert_double_eq_tol(error, 3 * sqrt(0.5), 1e-12);
	ck_assert_double_eq(blm_keys_that_differ(4, 4, 0, 0, &error), 0);
	ck_assert_double_eq(error, 0);
	ck_assert_double_gt(blm_keys_that_differ(1000, 4, 0, 40, &error), 9);	/* five of either */
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("sizing");
	TCase *measured = tcase_create("measured"), *tc = tcase_create("formulas");

	by.family = blm_family_by_name("xxh3");
	tcase_add_loop_test(measured,
			    the_mean_rate_of_50_full_filters_is_kept,
			    0, (int)ARRAY_LEN(rates));
	tcase_add_loop_test(measured,
			    the_rate_of_a_large_full_filter_is_kept,
			    0, (int)ARRAY_LEN(many));
	tcase_add_test(measured, a_small_filter_with_22_probes_has_nearly_its_rate);
	tcase_add_test(tc, the_formulas_give_the_published_values);
	tcase_add_test(tc, a_large_classic_filter_at_1_percent_takes_7_probes);
	tcase_add_test(tc, classic_has_the_exact_size_and_is_not_much_larger);
	tcase_add_test(tc, blocked_is_minimal_and_keeps_its_rate);
	tcase_add_test(tc, seven_probes_are_taken_where_they_cost_little);
	tcase_add_test(tc, split_block_is_minimal_and_keeps_its_rate);
	tcase_add_test(
		tc,
		blocks_chosen_by_few_bits_fill_unevenly_and_raise_rates);
	tcase_add_test(tc, the_rate_of_blocks_is_what_a_simulation_finds);
	tcase_add_test(tc, blocks_of_512_bits_have_the_published_rate);
	tcase_add_test(tc,
		       the_rate_of_blocks_rises_with_load_to_1);
	tcase_add_test(
		tc,
		parameters_have_a_sound_plan_or_are_refused_with_words);
	tcase_add_test(tc, ten_billion_keys_are_planned_without_overflow);
	tcase_add_test(tc, given_bits_and_probes_are_kept_exactly);
	tcase_add_test(tc, given_seeds_determine_the_probes_and_keep_the_rate);
	tcase_add_test(tc, each_probe_gets_its_own_random_seed_of_32_bits);
	tcase_add_test(tc, seeds_that_a_family_refuses_are_refused_with_a_reason);
	tcase_add_test(tc, the_sum_alone_estimates_differences_of_keys_in_every_cell);
	tcase_add_test(tc, a_plan_takes_less_than_half_a_second);
	suite_add_tcase(s, measured);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
