/*
 * ribbon.c - ribbons: what they take, how often they are wrong, that all keys are there, and that
 * nothing leads out of damaged data
 */
#include "array.h"
#include "kind/ribbon_band.h"

#include <math.h>

static const uint64_t no_options[2];

static struct built ribbon_of(uint64_t first, uint64_t count, double rate)
{
	struct built b;

	built_begin(&b, count, false);
	built_fill(&b, first);
	b.rate = rate;
	build(&b, "ribbon", 0, no_options);
	return b;
}

static uint64_t members(const struct built *b)
{
	return count_yes(b, b->hashes, b->sorted.count);
}

static void again(struct built *b, double rate)
{
	built_drop(b);
	b->rate = rate;
	build(b, "ribbon", 0, no_options);
}

static struct blm_shape planned(uint64_t keys, double rate)
{
	struct blm_shape shape = { 0 };

	OK(blm_kind_by_name("ribbon")->plan(&shape, &BLM_PARAMS(.capacity = keys, .rate = rate)));
	ck_assert(blm_kind_by_name("ribbon")->valid(&shape));
	return shape;
}

static struct blm_shard_entry *entry(const struct built *b)
{
	return (struct blm_shard_entry *)b->part.bytes;
}

/* ---- All keys ---- */

static const double rates[] = { 0.9,  0.5,	0.34, 0.3,   0.24, 0.2,	 0.15, 0.1,    0.07,
				0.05, 1 / 64.0, 0.01, 0.004, 1e-3, 1e-5, 3e-8, 0x1p-32 };

START_TEST(all_keys_are_found_however_few_there_are)
{
	for (uint64_t n = 0; n <= 2000; n += test_scale() < 1 ? 1 + n / 40 : 1) {
		struct built b = ribbon_of(n << 20, n, rates[n % ARRAY_LEN(rates)]);

		ck_assert_uint_eq(members(&b), n);
		ck_assert_uint_eq(b.done, n);
		if (!n)
			ck_assert_uint_eq(count_strangers(&b, 1000), 0);
		built_end(&b);
	}
}
END_TEST

/*
 * For each number a layer of a few buckets has as many keys a slot as one of many, so the first
 * seed nearly always works.
 */
START_TEST(a_layer_of_few_buckets_rarely_needs_another_seed)
{
	unsigned again = 0, count = 0;

	for (uint64_t n = 2960; n <= 6000; n += 13, count++) {
		struct built b = ribbon_of(n << 20, n, rates[n % ARRAY_LEN(rates)]);

		ck_assert_uint_eq(members(&b), n);
		again += le64toh(entry(&b)->own[0]) >> 32 != 0;
		built_end(&b);
	}
	ck_assert_uint_le(again, count / 50);
}
END_TEST

START_TEST(all_keys_are_found_at_every_rate)
{
	struct built b = ribbon_of(7, 50001, 0.5);

	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		again(&b, rates[i]);
		ck_assert_uint_eq(members(&b), b.sorted.count);
	}
	built_end(&b);
}
END_TEST

/* ---- How often it is wrong, and what that takes ---- */

static const struct { uint64_t keys; double rate;
} asked[] = {
	{ 200000, 0.5 },   { 200000, 0.41 },  { 200000, 0.3 },	  { 200000, 0.2 },
	{ 200000, 0.1 },   { 200000, 0.07 },  { 200000, 0.03 },	  { 200000, 0.01 },
	{ 200000, 0.006 }, { 200000, 0.002 }, { 200000, 0.0005 }, { 20000, 0.01 },
	{ 20000, 0.04 },   { 9000, 0.2 },     { 5000, 0.01 },	  { 300, 0.3 },
};

START_TEST(its_measured_rate_is_the_stated_one_or_less)
{
	const uint64_t strangers = (uint64_t)(8e6 * test_scale());
	struct built b;
	double says, expected, wrong, error;

	if (test_scale() < 1 && _i % 2)
		return;
	b = ribbon_of(0, asked[_i].keys, asked[_i].rate);
	says = b.part.kind->rate_at(&b.part.shape, b.sorted.count);
	expected = (double)strangers * says;
	wrong = (double)count_strangers(&b, strangers);
	error = sqrt(expected * (1 - says));
	ck_assert_msg(fabs(wrong - expected) <= 4 * error, "%g: %g, not %g +- %g", asked[_i].rate,
		      wrong, expected, error);
	ck_assert_double_le(says, asked[_i].rate * (1 + 1e-9));
	if (asked[_i].keys >= 200000)
		ck_assert_double_ge(says, asked[_i].rate * 0.999);
	built_end(&b);
}
END_TEST

static double rate_of(struct ribbon_code code)
{
	return ldexp(code.values ? 1.0 / code.values : 1, -(int)code.bits);
}

/*
 * For an absent key at a layer: the probability that it starts at a slot of a section whose keys
 * are not bumped.
 */
static void stay_in(const struct ribbon_layer *l, const uint64_t *words, double ret[2])
{
	const double starts = (double)((l->slots[0] ? l->slots[0] - RIBBON_WIDTH + 1 : 0)
				       + l->slots[1] - RIBBON_WIDTH + 1);
	unsigned divisor = 1;

	ret[0] = ret[1] = 0;
	for (uint64_t at = 0; at < ribbon_slots(l);
	     at += RIBBON_BUCKET, divisor = divisor == 81 ? 1 : divisor * 3) {
		uint64_t bucket = at / RIBBON_BUCKET,
			 end = (at < l->slots[0] ? l->slots[0] : ribbon_slots(l)) - RIBBON_WIDTH
			     + 1;
		uint64_t first =
			at
			+ (l->last ? 0
				   : blm_ribbon_thresholds[((const uint8_t *)(words
									      + l->at))[bucket / 5]
							   / divisor % 3]);
		uint64_t behind = at + RIBBON_BUCKET < end ? at + RIBBON_BUCKET : end;

		if (first < behind)
			ret[at >= l->slots[0]] += (double)(behind - first) / starts;
	}
}

/* What the data of one shard come to, by its codes and thresholds. */
static double rate_by_data(const struct built *b)
{
	const struct blm_shard_entry *e = entry(b);
	const uint64_t *words = (const uint64_t *)(b->part.bytes + le64toh(e->offset));
	const struct ribbon r = { (uint32_t)le64toh(e->own[1]),
				  (uint32_t)(le64toh(e->own[1]) >> 32) };
	double rate = 0, come = 1, stay[2];
	struct ribbon_layer l;

	for (ribbon_first(&r, (uint32_t)le64toh(e->own[0]), &l);; ribbon_next(&r, &l)) {
		stay_in(&l, words, stay);
		for (unsigned i = 0; i < 2; i++)
			rate += come * stay[i] * rate_of(ribbon_code(&r, i));
		if (l.last)
			return rate;
		come *= 1 - stay[0] - stay[1];
	}
}

/*
 * A thousandth is what it differs by from one set of keys to another, since not all bump as many.
 */
START_TEST(the_rate_of_its_data_is_the_requested_one)
{
	static const uint64_t counts[] = { 100, 3500, 16000, 17000, 33000, 100000 };
	double step = SANITIZED ? 0.5 : test_scale() < 1 ? 0.45 : 0.83;

	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct built b = ribbon_of(i, counts[i], 0.5);

		for (double rate = 0.5; rate > 0.001; rate *= step) {
			double data, says;

			again(&b, rate);
			data = rate_by_data(&b);
			says = b.part.kind->rate_at(&b.part.shape, b.sorted.count);
			ck_assert_msg(data <= rate * 1.002, "%g keys, %g: %g", (double)counts[i],
				      rate, data);
			ck_assert_msg(fabs(data / says - 1) <= 0.01, "%g keys, %g: says %g, is %g",
				      (double)counts[i], rate, says, data);
		}
		built_end(&b);
	}
}
END_TEST

static double bits_a_key(const struct blm_shape *shape)
{
	return (double)shape->bytes * 8 / (double)shape->capacity;
}

/*
 * Above 1/4 rates are mixed of two at a price that is more than a hundredth of so few bits
 * (ribbon_code.c).
 */
static double most_times(double rate)
{
	return rate <= 0.25 ? 1.01 : rate <= 1 / 3.0 ? 1.013 : 1.03;
}

START_TEST(a_million_keys_take_1_01_times_the_least_space)
{
	for (uint64_t n = 1000000; n < UINT64_C(1) << 38; n = n * 7 + 1)
		for (double rate = 0.5; rate > 0x1p-32; rate *= 0.996) {
			struct blm_shape shape = planned(n, rate);

			ck_assert_msg(bits_a_key(&shape) <= -log2(rate) * most_times(rate),
				      "%g, %g keys: %g bits", rate, (double)n, bits_a_key(&shape));
		}
	for (int bits = 2; bits <= 32; bits++) {
		struct blm_shape shape = planned(1000000, ldexp(1, -bits));

		ck_assert_msg(bits_a_key(&shape) <= 1.01 * bits, "%d bits: %g", bits,
			      bits_a_key(&shape));
	}
}
END_TEST

START_TEST(it_has_the_planned_size)
{
	struct built b = ribbon_of(0, 1000000, 0.01);

	for (unsigned i = 0; i < (SANITIZED || test_scale() < 1 ? 1 : 2); i++) {
		if (i)
			again(&b, 1 / 256.0);
		ck_assert_uint_eq(b.part.shape.bytes, planned(b.sorted.count, b.rate).bytes);
		ck_assert_double_le(bits_a_key(&b.part.shape), -log2(b.rate) * 1.01);
		ck_assert_uint_eq(le64toh(entry(&b)->own[0]), b.sorted.count);	/* the seed is 0 */
		ck_assert_uint_eq(members(&b), b.sorted.count);
	}
	built_end(&b);
}
END_TEST

START_TEST(an_impossible_ribbon_is_refused)
{
	static const struct { struct blm_params p; int err;
	} none[] = {
		{ BLM_PARAMS(.capacity = 10, .cells = 1000), -EINVAL },
		{ BLM_PARAMS(.capacity = 10, .probes = 3), -EINVAL },
		{ BLM_PARAMS(.capacity = 10, .rate = 2e-10), -EFBIG },
		{ BLM_PARAMS(.capacity = BLM_CAPACITY_MAX, .rate = 1e-9), -EFBIG },
	};
	struct blm_shape shape = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		FAILS(blm_kind_by_name("ribbon")->plan(&shape, &none[i].p), none[i].err);
	ck_assert_uint_eq(shape.bytes, 0);
}
END_TEST

/* ---- Building ---- */

START_TEST(threads_make_no_difference)
{
	uint64_t keys = SANITIZED ? 5 << 18 : test_scale() < 1 ? 3 << 18 : 3 << 20;
	struct built one = ribbon_of(0, keys, 0.01), three = one;

	ck_assert_uint_eq(members(&one), one.sorted.count);
	three.sorted.threads = 3;
	build(&three, "ribbon", 0, no_options);
	ck_assert_uint_eq(one.part.shape.bytes, three.part.shape.bytes);
	ck_assert(!memcmp(one.part.bytes, three.part.bytes, one.part.shape.bytes));
	built_drop(&three);
	built_end(&one);
}
END_TEST

START_TEST(hashes_with_equal_beginnings_need_another_seed)
{
	struct built b;

	built_begin(&b, 5000, false);
	for (uint64_t i = 0; i < b.sorted.count; i++)
		b.hashes[i] = (struct blm_hash){ .lo = i, .hi = 12345 };
	b.rate = 0.01;
	build(&b, "ribbon", 0, no_options);
	ck_assert_uint_ne(le64toh(entry(&b)->own[0]) >> 32, 0);
	ck_assert_uint_eq(members(&b), b.sorted.count);
	ck_assert_uint_le(count_strangers(&b, 100000), 1200);
	built_end(&b);
}
END_TEST

/* So few have one layer, and with the first seed all of them start in one slot of it. */
START_TEST(a_few_hashes_with_equal_beginnings_need_another_seed)
{
	struct built b;

	built_begin(&b, 500, false);
	for (uint64_t i = 0; i < b.sorted.count; i++)
		b.hashes[i] = (struct blm_hash){ .lo = i, .hi = 12345 };
	b.rate = 0.01;
	build(&b, "ribbon", 0, no_options);
	ck_assert_uint_ne(le64toh(entry(&b)->own[0]) >> 32, 0);
	ck_assert_uint_eq(members(&b), b.sorted.count);
	built_end(&b);
}
END_TEST

/* The first bucket has more than may be left over, and others come behind it. */
START_TEST(a_layer_with_too_many_leftovers_is_abandoned_early)
{
	struct built b;

	built_begin(&b, 5000, false);
	for (uint64_t i = 0; i < b.sorted.count; i++)
		b.hashes[i] = (struct blm_hash){ .lo = i,
						 .hi = i < 2500 ? 12345
								: UINT64_C(1) << 63 | 12345 };
	b.rate = 0.01;
	build(&b, "ribbon", 0, no_options);
	ck_assert_uint_ne(le64toh(entry(&b)->own[0]) >> 32, 0);
	ck_assert_uint_eq(members(&b), b.sorted.count);
	built_end(&b);
}
END_TEST

START_TEST(an_unreadable_key_is_reported)
{
	struct built b;

	built_begin(&b, 5000, false);
	built_fill(&b, 1);
	built_plan(&b, "ribbon", 0, no_options);
	b.fails = -EIO;
	b.from = 4000;
	FAILS(b.part.kind->build(&b.part, &b.sorted), -EIO);
	built_end(&b);
}
END_TEST

/* ---- Equations ---- */

enum { SLOTS = 512, TRIES = 2000 };

START_TEST(an_equation_that_contradicts_the_others_changes_nothing)
{
	static const struct ribbon_code codes[] = {
		{ 3, 0 }, { 0, 3 }, { 2, 3 }, { 0, 5 }, { 1, 5 }
	};
	static unsigned __int128 rows[SLOTS], digits[4 * SLOTS];
	static uint32_t values[SLOTS];
	static uint8_t rests[SLOTS];
	struct ribbon_band band = { rows, values, digits, 4, rests };
	uint64_t state = 3;
	unsigned refused = 0;

	for (unsigned i = 0; i < ARRAY_LEN(codes) * TRIES; i++) {
		static unsigned __int128 rows_before[SLOTS], digits_before[4 * SLOTS];
		unsigned __int128 coefficients = (unsigned __int128)next_random(&state) << 64
					       | next_random(&state) | 1;
		uint32_t start = (uint32_t)(next_random(&state) % (SLOTS - RIBBON_WIDTH + 1));
		struct ribbon_code code = codes[i / TRIES];
		uint64_t value = next_random(&state);
		struct ribbon_rows where;

		if (i % TRIES == 0) {
			memset(rows, 0, sizeof(rows));
			memset(digits, 0, sizeof(digits));
		}
		memcpy(rows_before, rows, sizeof(rows));
		memcpy(digits_before, digits, sizeof(digits));
		if (blm_ribbon_insert(&band, code, start, coefficients, value, &where)) {
			struct ribbon_rows again;

			/* it follows from itself */
			ck_assert(
				blm_ribbon_insert(&band, code, start, coefficients, value, &again));
			ck_assert(again.bits == RIBBON_NONE && again.digit == RIBBON_NONE);
			if (i % 3)
				continue;
			blm_ribbon_take_out(&band, where);
		} else {
			refused++;
		}
		ck_assert(!memcmp(rows_before, rows, sizeof(rows))
			  && !memcmp(digits_before, digits, sizeof(digits)));
	}
	ck_assert_uint_ge(refused, TRIES);
}
END_TEST

/* ---- Digits ---- */

static const unsigned moduli[] = { 3, 5 };

START_TEST(digits_that_are_packed_sum_up_to_what_they_are)
{
	const struct ribbon_packing *p = ribbon_packing(moduli[_i]);
	uint8_t digits[6 * 64];
	uint64_t words[6 * 64 / 2], state = 5;

	for (uint64_t slots = 128; slots <= sizeof(digits); slots += 64) {
		uint64_t count = ribbon_digit_words(slots, p->values);

		memset(words, 0, sizeof(words));
		for (uint64_t i = 0; i < slots; i++)
			digits[i] = (uint8_t)(next_random(&state) % p->values);
		words[count] = 17;
		blm_ribbon_pack(p, digits, slots, words);
		ck_assert_uint_eq(words[count], 17);
		for (uint64_t start = 0; start + 128 <= slots; start++) {
			unsigned __int128 c = (unsigned __int128)next_random(&state) << 64
					    | next_random(&state);
			unsigned sum = 0;

			c >>= next_random(&state) % 128;
			for (unsigned i = 0; i < 128; i++)
				sum += (unsigned)(c >> i & 1) * digits[start + i];
			ck_assert_uint_eq(blm_ribbon_digit_sum(p, words, start, c),
					  sum % p->values);
		}
	}
}
END_TEST

START_TEST(digits_take_hardly_more_bits_than_they_must)
{
	double bits = 64.0 * (double)ribbon_digit_words(1 << 20, moduli[_i]) / (1 << 20);

	ck_assert_double_le(bits, log2(moduli[_i]) * 1.005);
	ck_assert_double_ge(bits, log2(moduli[_i]));
}
END_TEST

/* ---- Data that anyone may have written ---- */

static void ask(const struct built *b)
{
	const struct blm_hash ends[] = { { 0, 0 }, { UINT64_MAX, UINT64_MAX } };

	count_yes(b, b->hashes, 300);
	count_yes(b, ends, ARRAY_LEN(ends));
	for (uint64_t i = 0; i < 20; i++) {
		const struct blm_hashed key = { .hash = b->hashes[i * 50] };
		const uint64_t *at;
		uint64_t mask;

		b->part.kind->prefetch(&b->part, &key);
		for (unsigned place = 0; (at = b->part.kind->probe(&b->part, &key, place, &mask));
		     place++)
			load_relaxed(at);
	}
}

START_TEST(nothing_leads_out_of_damaged_data)
{
	static const uint64_t numbers[] = {
		0,
		1,
		63,
		64,
		767,
		768,
		769,
		1 << 20,
		UINT32_MAX,
		UINT64_C(1) << 32,
		UINT64_C(1) << 63,
		UINT64_MAX,
		UINT64_C(0x0320032000000000),
		UINT64_C(0x05200320ffffffff),
		UINT64_C(0x0321032180000000),
		UINT64_C(0x0001000180000000),
		UINT64_C(0x0500050080000000),
		UINT64_C(0x0400040080000000),
	};
	struct built b = ribbon_of(0, 20000, 0.01);
	uint64_t state = 1, bytes = b.part.shape.bytes, *words = (uint64_t *)b.part.bytes;
	uint8_t *whole = malloc(bytes);

	memcpy(whole, words, bytes);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		for (unsigned field = 0; field < 4; field++)
			for (size_t j = 0; j < ARRAY_LEN(numbers); j++) {
				words[field] = htole64(numbers[i]);
				words[(field + 1) % 4] = htole64(numbers[j]);
				ask(&b);
				memcpy(words, whole, sizeof(struct blm_shard_entry));
			}
	for (unsigned i = 0; i < 3000; i++) {
		for (unsigned n = 0; n < 3; n++)
			b.part.bytes[next_random(&state)
				     % (i % 2 ? bytes : sizeof(struct blm_shard_entry))] =
				(uint8_t)next_random(&state);
		ask(&b);
		memcpy(words, whole, bytes);
	}
	memset(b.part.bytes + 64, 0xff, bytes - 64);	/* also numbers that are no digits */
	ask(&b);
	memset(b.part.bytes, 0xff, bytes);
	ck_assert_uint_eq(members(&b), 0);
	free(whole);
	built_end(&b);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("kind/ribbon");
	TCase *tc = tcase_create("ribbon");

	tcase_add_test(tc, all_keys_are_found_however_few_there_are);
	tcase_add_test(tc, a_layer_of_few_buckets_rarely_needs_another_seed);
	tcase_add_test(tc, all_keys_are_found_at_every_rate);
	tcase_add_loop_test(tc, its_measured_rate_is_the_stated_one_or_less, 0,
			    ARRAY_LEN(asked));
	tcase_add_test(tc, the_rate_of_its_data_is_the_requested_one);
	tcase_add_test(tc, a_million_keys_take_1_01_times_the_least_space);
	tcase_add_test(tc, it_has_the_planned_size);
	tcase_add_test(tc, an_impossible_ribbon_is_refused);
	tcase_add_test(tc, threads_make_no_difference);
	tcase_add_test(tc, hashes_with_equal_beginnings_need_another_seed);
	tcase_add_test(tc, a_few_hashes_with_equal_beginnings_need_another_seed);
	tcase_add_test(tc, a_layer_with_too_many_leftovers_is_abandoned_early);
	tcase_add_test(tc, an_unreadable_key_is_reported);
	tcase_add_test(tc, an_equation_that_contradicts_the_others_changes_nothing);
	tcase_add_loop_test(tc, digits_that_are_packed_sum_up_to_what_they_are, 0,
			    ARRAY_LEN(moduli));
	tcase_add_loop_test(tc, digits_take_hardly_more_bits_than_they_must, 0, ARRAY_LEN(moduli));
	tcase_add_test(tc, nothing_leads_out_of_damaged_data);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
