/*
 * hash_64.c - filters whose keys have a hash of 64 bits keep their rate, and which filters have one
 *
 * The block of a key and the bits in that block come from the same 64 bits. So real keys are
 * hashed: were the bits in a block to depend on which block it is, or the blocks to fill unevenly,
 * a filter would find more absent keys, or fewer different ones, than its formulas say. Seeds and
 * keys are fixed.
 */
#include "base/base.h"
#include "suite.h"

#include <math.h>

enum { AT_ONCE = 4096, WIDEST = 48 };

typedef size_t make_key(uint64_t number, uint8_t *ret);

static size_t number_of_8_bytes(uint64_t number, uint8_t *ret)
{
	for (unsigned i = 0; i < 8; i++)
		ret[i] = (uint8_t)(number >> 8 * i);
	return 8;
}

static size_t random_16_bytes(uint64_t number, uint8_t *ret)
{
	number_of_8_bytes(mixed(number), ret);
	number_of_8_bytes(mixed(~number), ret + 8);
	return 16;
}

static size_t decimal(uint64_t number, uint8_t *ret)
{
	for (unsigned i = 10; i-- > 0; number /= 10)
		ret[i] = (uint8_t)('0' + number % 10);
	return 10;
}

/* They differ in a few digits in the middle only. */
static size_t url(uint64_t number, uint8_t *ret)
{
	memcpy(ret, "https://www.example.org/page/0123456789.html?q=", 47);
	decimal(number, ret + 29);
	return 47;
}

static const struct {
	const char *kind;
	double rate;
	uint64_t keys;
	make_key *make;
	double questions;
} laws[] = {
	{ "blocked", 1e-2, 1000, random_16_bytes, 1e5 },
	{ "blocked", 1e-2, 100000, number_of_8_bytes, 1e6 },
	{ "blocked", 1e-2, 1000000, url, 5e5 },
	{ "blocked", 1e-3, 3000, decimal, 1e6 },
	{ "blocked", 1e-3, 300000, url, 1e6 },
	{ "blocked", 1e-4, 10000, number_of_8_bytes, 3e6 },
	{ "blocked", 1e-4, 300000, random_16_bytes, 3e6 },
	{ "blocked", 1e-5, 30000, decimal, 1e7 },
	{ "blocked", 1e-6, 100000, number_of_8_bytes, 5e7 },
	{ "split-block", 1e-2, 100000, number_of_8_bytes, 1e6 },
	{ "split-block", 1e-3, 100000, url, 1e6 },
	{ "split-block", 1e-4, 30000, random_16_bytes, 3e6 },
	{ "split-block", 1e-5, 30000, number_of_8_bytes, 1e7 },
	{ "classic", 1e-2, 100000, decimal, 1e6 },
	{ "classic", 1e-4, 100000, number_of_8_bytes, 3e6 },
};

/* The keys of the numbers from `first` on, one after the other; returns their width. */
static size_t make_keys(make_key *make, uint64_t first, uint8_t *ret)
{
	size_t width = 0;

	for (uint64_t i = 0; i < AT_ONCE; i++) {
		uint8_t key[WIDEST];

		width = make(first + i, key);
		memcpy(ret + i * width, key, width);
	}
	return width;
}

static uint64_t added(struct blm_filter *f, make_key *make, uint64_t keys)
{
	static uint8_t bytes[AT_ONCE * WIDEST];

	for (uint64_t at = 0; at < keys; at += AT_ONCE) {
		size_t count = keys - at < AT_ONCE ? (size_t)(keys - at) : AT_ONCE;

		OK(blm_add_fixed(f, bytes, make_keys(make, at, bytes), count, NULL));
	}
	return keys;
}

static uint64_t found_of(const struct blm_filter *f, make_key *make, uint64_t from,
			 uint64_t questions)
{
	static uint8_t bytes[AT_ONCE * WIDEST];
	uint64_t found = 0;

	for (uint64_t at = 0; at < questions; at += AT_ONCE) {
		int64_t r = blm_contains_fixed(f, bytes, make_keys(make, from + at, bytes),
					       AT_ONCE, NULL);

		OK(r);
		found += (uint64_t)r;
	}
	return found;
}

START_TEST(absent_keys_are_found_at_the_predicted_rate)
{
	struct blm_params p = BLM_PARAMS(.kind = laws[_i].kind, .hash = "xxh3-64",
					 .capacity = laws[_i].keys, .rate = laws[_i].rate,
					 .seeds = &(uint64_t){ 1 }, .seed_count = 1);
	uint64_t questions = (uint64_t)laws[_i].questions / AT_ONCE * AT_ONCE, found;
	struct blm_estimate e;
	struct blm_filter *f;
	double expected;

	if (is_left_out(_i) || is_too_alike(_i, 5))
		return;
	OK(blm_create(&f, NULL, NULL, &p));
	found = found_of(f, laws[_i].make, added(f, laws[_i].make, laws[_i].keys), questions);
	OK(blm_estimate(f, true, &e));
	expected = e.rate.value * (double)questions;
	ck_assert_double_ge(expected, 20);
	ck_assert_msg(fabs((double)found - expected) <= 3 * sqrt(expected),
		      "found %llu, expected %g", (unsigned long long)found, expected);
	ck_assert_msg(fabs(e.keys.value - (double)laws[_i].keys) <= 3 * e.keys.error,
		      "%g keys by the bits, %g too many or too few are a standard error",
		      e.keys.value, e.keys.error);
	ck_assert_double_le(e.rate.value, 1.1 * laws[_i].rate);
	blm_close(f);
}
END_TEST

/* ---- Which filters get such a hash ---- */

/* 1e-15 is a hundred times 184.46 / 2^64. */
static const struct {
	struct blm_params params;
	const char *hash;
} usual[] = {
	{ BLM_PARAMS(.capacity = 184, .rate = 1e-15), "xxh3-64" },
	{ BLM_PARAMS(.capacity = 185, .rate = 1e-15), "xxh3" },
	{ BLM_PARAMS(.capacity = 1000), "xxh3-64" },
	{ BLM_PARAMS(.capacity = 1000, .rate = 1e-15, .hash = "xxh3-64"), "xxh3-64" },
	{ BLM_PARAMS(.capacity = 100, .rate = 1e-15, .hash = "xxh3"), "xxh3" },
	{ BLM_PARAMS(.kind = "blocked", .cells = 51200), "xxh3" },
	{ BLM_PARAMS(.kind = "blocked", .cells = 51200, .capacity = 9, .rate = 0.1), "xxh3" },
	{ BLM_PARAMS(.kind = "classic", .capacity = 1000), "xxh3" },
	{ BLM_PARAMS(.kind = "cuckoo", .capacity = 1000), "xxh3" },
	{ BLM_PARAMS(.kind = "scalable", .capacity = 1000), "xxh3" },
	{ BLM_PARAMS(.kind = "split-block", .capacity = 1000), "xxh64" },
};

static void has_hash(const struct blm_filter *f, const char *hash)
{
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	ck_assert_str_eq(info.hash, hash);
}

START_TEST(a_blocked_filter_has_64_bits_while_its_rate_holds)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL, &usual[_i].params));
	has_hash(f, usual[_i].hash);
	blm_close(f);
}
END_TEST

/* The keys are hashed before their number is known. */
START_TEST(a_filter_of_unknown_size_counts_on_2_to_40)
{
	static const struct { double rate; const char *hash; } cases[] = {
		{ 0, "xxh3-64" }, { 6e-6, "xxh3-64" }, { 5.9e-6, "xxh3" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct blm_params p = BLM_PARAMS(.kind = "blocked", .rate = cases[i].rate);
		struct blm_build *b;
		struct blm_filter *f;

		OK(blm_build_begin(&b, NULL, NULL, &p, NULL));
		OK(blm_build_add_many(b, &(struct blm_key){ "key", 3 }, 1));
		OK(blm_build_finish(b, &f));
		has_hash(f, cases[i].hash);
		ck_assert(blm_contains(f, "key", 3) == 1);
		blm_close(f);
	}
}
END_TEST

static int fill_with_one(struct blm_filter *fresh, void *context)
{
	int r = blm_add(fresh, "key", 3);

	return r < 0 ? r : 0;
}

/* Made with one hash, and made anew with so many keys: then it has the other. */
static void is_rebuilt(const char *made, uint64_t keys, const char *expected)
{
	const char *path = a_path();
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path,
		      &BLM_PARAMS(.hash = made, .capacity = 100, .rate = 1e-15)));
	blm_close(f);
	OK(blm_rebuild(NULL, path, &BLM_PARAMS(.capacity = keys), fill_with_one, NULL));
	OK(blm_open(&f, NULL, path, 0));
	has_hash(f, expected);
	blm_close(f);
}

START_TEST(a_rebuilt_filter_keeps_its_hash_while_its_rate_holds)
{
	is_rebuilt("xxh3-64", 184, "xxh3-64");
	is_rebuilt("xxh3-64", 185, "xxh3");
	is_rebuilt("xxh3", 100, "xxh3");
}
END_TEST

/* From the default to each kind that takes keys one by one, with the kind's own hash. */
START_TEST(a_default_filter_can_be_rebuilt_as_any_kind)
{
	struct blm_kind_info kind;

	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++) {
		const char *path = a_path();
		struct blm_filter *f;

		if (!(kind.can & BLM_CAN_ADD) || !strcmp(kind.hash, "integer"))
			continue;
		OK(blm_create(&f, NULL, path, &BLM_PARAMS(.capacity = 100)));
		blm_close(f);
		OK(blm_rebuild(NULL, path, &BLM_PARAMS(.kind = kind.name), fill_with_one, NULL));
		OK(blm_open(&f, NULL, path, 0));
		has_hash(f, kind.hash);
		blm_close(f);
	}
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("hash_64");
	TCase *tc = tcase_create("rates"), *choice = tcase_create("choice");

	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, absent_keys_are_found_at_the_predicted_rate,
			    0, (int)ARRAY_LEN(laws));
	tcase_add_loop_test(choice, a_blocked_filter_has_64_bits_while_its_rate_holds, 0,
			    (int)ARRAY_LEN(usual));
	tcase_add_test(choice, a_filter_of_unknown_size_counts_on_2_to_40);
	tcase_add_test(choice, a_rebuilt_filter_keeps_its_hash_while_its_rate_holds);
	tcase_add_test(choice, a_default_filter_can_be_rebuilt_as_any_kind);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, choice);
	return run_suite(s);
}
