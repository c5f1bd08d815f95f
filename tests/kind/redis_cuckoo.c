/*
 * redis_cuckoo.c - what holds for the kind redis-cuckoo only: how full it gets with buckets of each
 * size, and what is in it how often
 */
#include "file/os.h"
#include "handle/handle.h"
#include "kind/redis_cuckoo.h"
#include "suite.h"

#include <fcntl.h>
#include <math.h>

static struct blm_filter *make(uint64_t capacity, double rate, unsigned bucket, uint64_t seed)
{
	struct blm_filter *f;
	char options[40];

	snprintf(options, sizeof(options), "bucket-size=%u", bucket);
	OK(blm_create(&f, NULL, a_path(),
		      &BLM_PARAMS(.kind = "redis-cuckoo", .hash = "xxh3", .capacity = capacity,
				  .rate = rate, .options = options, .seeds = &seed,
				  .seed_count = 1)));
	return f;
}

static struct blm_info info(const struct blm_filter *f)
{
	struct blm_info i = BLM_INFO;

	OK(blm_info(f, &i));
	return i;
}

static const unsigned buckets[] = { 1, 2, 3, 4, 7, 8, 9, 16, 255 };

START_TEST(buckets_of_any_size_hold_the_capacity)
{
	for (uint64_t capacity = 1; capacity < (SANITIZED ? 3000 : 20000);
	     capacity = capacity * 2 + 1)
		for (uint64_t seed = 1; seed <= 2; seed++) {
			struct blm_filter *f = make(capacity, 0.9, buckets[_i], seed);

			for (uint64_t i = 0; i < capacity; i++)
				OK(blm_add(f, &i, 8));
			for (uint64_t i = 0; i < capacity; i++)
				ck_assert(blm_contains(f, &i, 8));
			blm_close(f);
		}
}
END_TEST

START_TEST(the_rate_is_the_formulas_within_a_twentieth)
{
	const uint64_t asked = 400000;
	struct blm_filter *f = make(20000, 0.9, buckets[_i], 5);
	double met = 2 * buckets[_i] * 20000 / (double)info(f).cells,
	       formula = 1 - pow(254 / 255.0, met), rate;
	uint64_t yes = 0;

	for (uint64_t i = 0; i < 20000; i++)
		OK(blm_add(f, &i, 8));
	for (uint64_t i = 20000; i < 20000 + asked; i++)
		yes += blm_contains(f, &i, 8);
	rate = (double)yes / (double)asked;
	ck_assert_msg(fabs(rate - formula) <= 0.05 * formula, "%g, not %g", rate, formula);
	ck_assert_double_eq_tol(info(f).rate_at_keys, formula, 1e-9);
	blm_close(f);
}
END_TEST

START_TEST(a_key_fits_twice_as_often_as_buckets_have_cells)
{
	struct blm_filter *f = make(5000, 0.9, buckets[_i], 3);
	uint64_t value, most = 2 * buckets[_i];

	for (uint64_t i = 1; i <= most; i++) {
		ck_assert_int_eq(blm_add(f, "key", 3), 1);
		ck_assert_int_eq(blm_get(f, "key", 3, &value), 1);
		ck_assert_uint_eq(value, i);
	}
	ck_assert_int_eq(blm_add(f, "key", 3), -EXFULL);
	/* no room was searched for */
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "this key is in it as often as"));
	ck_assert_int_eq(blm_claim(f, "key", 3), 0);
	for (uint64_t i = most; i; i--) {
		OK(blm_get(f, "key", 3, &value));
		ck_assert_uint_eq(value, i);
		ck_assert_int_eq(blm_remove(f, "key", 3), 1);
	}
	ck_assert_int_eq(blm_get(f, "key", 3, &value), 0);
	ck_assert_int_eq(blm_remove(f, "key", 3), 0);
	blm_close(f);
}
END_TEST

/* As there: both its buckets are this one. */
START_TEST(a_key_of_one_bucket_counts_twice)
{
	struct blm_filter *f;
	uint64_t value;

	OK(blm_create(&f, NULL, a_path(), &BLM_PARAMS(.kind = "redis-cuckoo", .cells = 2)));
	ck_assert_int_eq(blm_add(f, "key", 3), 1);
	OK(blm_get(f, "key", 3, &value));
	ck_assert_uint_eq(value, 2);
	ck_assert_int_eq(blm_remove(f, "key", 3), 1);
	ck_assert_int_eq(blm_get(f, "key", 3, &value), 0);
	blm_close(f);
}
END_TEST

START_TEST(when_it_is_full_nothing_is_changed)
{
	struct blm_filter *f = make(2000, 0.9, buckets[_i], 4);
	const struct blm_part *part = &current_view(f)->root;
	uint8_t *before = malloc(part->shape.bytes);
	uint64_t keys = 0;
	int r;

	do {
		memcpy(before, part->bytes, part->shape.bytes);
		r = blm_add(f, &keys, 8);
		keys += r == 1;
	} while (r == 1);
	ck_assert_int_eq(r, -EXFULL);
	ck_assert_mem_eq(before, part->bytes, part->shape.bytes);
	ck_assert_uint_eq(info(f).keys, keys);
	for (uint64_t i = 0; i < keys; i++)
		ck_assert(blm_contains(f, &i, 8));
	for (uint64_t i = 0; i < keys; i++)
		ck_assert_int_eq(blm_remove(f, &i, 8), 1);
	for (uint64_t i = 0; i < part->shape.bytes; i++)
		ck_assert_uint_eq(part->bytes[i], 0);
	free(before);
	blm_close(f);
}
END_TEST

START_TEST(sizes_other_than_2_to_the_n_buckets_are_refused)
{
	static const struct blm_params bad[] = {
		BLM_PARAMS(.kind = "redis-cuckoo", .cells = 1023),
		BLM_PARAMS(.kind = "redis-cuckoo", .cells = 1024, .options = "bucket-size=3"),
		BLM_PARAMS(.kind = "redis-cuckoo", .cells = 6),
		BLM_PARAMS(.kind = "redis-cuckoo", .cells = 1024, .probes = 4),
		BLM_PARAMS(.kind = "redis-cuckoo", .cells = UINT64_C(1) << 33),
		BLM_PARAMS(.kind = "redis-cuckoo", .capacity = 10, .options = "bucket-size=256"),
		BLM_PARAMS(.kind = "redis-cuckoo", .capacity = 10, .options = "iterations=0"),
		BLM_PARAMS(.kind = "redis-cuckoo", .cells = 1024, .capacity = 1000, .rate = 1e-3),
	};
	struct blm_filter *f;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		FAILS(blm_create(&f, NULL, a_path(), &bad[i]), -EINVAL);
	FAILS(blm_create(&f, NULL, a_path(),
			 &BLM_PARAMS(.kind = "redis-cuckoo", .capacity = 1000000, .rate = 1e-6)),
	      -EFBIG);
	OK(blm_create(&f, NULL, a_path(),
		      &BLM_PARAMS(.kind = "redis-cuckoo", .cells = 1024,
				  .options = "expansion=5")));
	ck_assert_str_eq(info(f).options, "bucket-size=2,expansion=8,iterations=20");
	blm_close(f);
}
END_TEST

/* The test looks at this many cells where there are more than 2^23. */
START_TEST(a_large_filter_reports_its_load)
{
	struct blm_filter *f;
	struct blm_fact load;

	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.kind = "redis-cuckoo", .cells = 1 << 24)));
	OK(blm_fact(f, 3, &load));
	ck_assert_str_eq(load.name, "load");
	ck_assert_double_eq(load.value, 0);
	blm_close(f);
}
END_TEST

/* 2^16 - 1 times the first table's cells, and 2^47 is the most. */
START_TEST(a_chain_above_the_largest_filter_is_refused)
{
	ck_assert_uint_eq(blm_redis_cuckoo_cells(UINT64_C(1) << 31, 1, 16, 2),
			  ((UINT64_C(1) << 16) - 1) << 31);
	ck_assert_uint_eq(blm_redis_cuckoo_cells(UINT64_C(1) << 32, 1, 16, 2), 0);
}
END_TEST

/*
 * ---- Power cuts and kills are the affair of relocation.h and checkpoint.c, as for cuckoo: here
 * only that this kind uses them ----
 */

START_TEST(the_next_writer_clears_a_dead_ones_cell_in_flight)
{
	struct blm_filter *f = make(1000, 0.9, 2, 1);
	struct blm_part *part = &current_view(f)->root;
	uint64_t key = 7;
	unsigned empty = 0;

	for (uint64_t i = 0; i < 200; i++)
		OK(blm_add(f, &i, 8));
	while (part->bytes[empty])
		empty++;
	part->bytes[empty] = 99;
	*own_word(part, 1) = empty + 1;
	ck_assert_int_eq(blm_remove(f, &key, 8), 1);
	ck_assert_uint_eq(part->bytes[empty], 0);
	ck_assert_uint_eq(*own_word(part, 1), 0);
	blm_close(f);
}
END_TEST

START_TEST(a_cell_in_flight_that_no_writer_filled_is_empty)
{
	struct blm_filter *f = make(1000, 0.9, 2, 1);
	struct blm_part *part = &current_view(f)->root;

	*own_word(part, 1) = 5 + 1;
	ck_assert_uint_eq(part->bytes[5], 0);
	OK(blm_add(f, "key", 3));
	ck_assert_uint_eq(*own_word(part, 1), 0);
	ck_assert_int_eq(blm_remove(f, "key", 3), 1);
	for (uint64_t i = 0; i < part->shape.bytes; i++)
		ck_assert_uint_eq(part->bytes[i], 0);
	blm_close(f);
}
END_TEST

/*
 * In 512 buckets of 2 cells, as format-spec.md has it: its fingerprint, and the first cell of each
 * of its buckets.
 */
enum { BLOOM = 104, BLOOM_HERE = 568, BLOOM_THERE = 808 };

static struct blm_filter *make_of_bloom(void)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, a_path(), &BLM_PARAMS(.kind = "redis-cuckoo", .cells = 1024)));
	OK(blm_add(f, "bloom", 5));
	ck_assert_uint_eq(current_view(f)->root.bytes[BLOOM_HERE], BLOOM);
	return f;
}

static uint64_t copies_of_bloom(const struct blm_filter *f)
{
	uint64_t value = 0;

	OK(blm_get(f, "bloom", 5, &value));
	ck_assert_int_eq(blm_contains(f, "bloom", 5), value != 0);
	return value;
}

START_TEST(a_death_in_a_move_leaves_a_key_once)
{
	static const struct blm_exchange how = BLM_EXCHANGE(.format = "redisbloom-cf");
	struct blm_filter *f = make_of_bloom(), *copy;
	struct blm_part *part = &current_view(f)->root;
	uint8_t *out;
	size_t bytes;

	part->bytes[BLOOM_THERE] = BLOOM;
	/* from the new cell in flight to the old one */
	for (int gone_on = 0; gone_on < 2; gone_on++) {
		int there = gone_on ? BLOOM_THERE : BLOOM_HERE;

		*own_word(part, 1) = (gone_on ? BLOOM_HERE : BLOOM_THERE) + 1;
		ck_assert_uint_eq(copies_of_bloom(f), 1);
		OK(blm_export_bytes(f, &how, (void **)&out, &bytes));
		for (int i = 0; i < 1024; i++)
			ck_assert_uint_eq(out[38 + i], i == there ? BLOOM : 0);
		blm_free(out);
		OK(blm_copy(&copy, NULL, a_path(), f, 0));
		ck_assert_uint_eq(copies_of_bloom(copy), 1);
		ck_assert_uint_eq(*own_word(&current_view(copy)->root, 1), 0);
		ck_assert_uint_eq(current_view(copy)->root.bytes[BLOOM_HERE + BLOOM_THERE - there],
				  0);
		blm_close(copy);
	}
	blm_close(f);
}
END_TEST

START_TEST(a_dead_writers_key_counts_once_while_it_is_found)
{
	struct blm_filter *f = make_of_bloom();
	struct blm_part *part = &current_view(f)->root;

	*own_word(part, 1) = BLOOM_HERE + 1;
	ck_assert_uint_eq(copies_of_bloom(f), 1);
	OK(blm_add(f, "other", 5));
	ck_assert_uint_eq(part->bytes[BLOOM_HERE], 0);
	ck_assert_uint_eq(copies_of_bloom(f), 0);
	blm_close(f);
}
END_TEST

/* The cell that was in flight when the power failed is not in the older checkpoint image. */
START_TEST(after_a_power_cut_a_reader_counts_the_last_sync)
{
	struct blm_filter *f = make_of_bloom(), *reader;
	uint64_t boot = 12345;
	int fd = open(f->place.display, O_RDWR);

	OK(blm_sync(f));
	OK(blm_add(f, "other", 5));
	*own_word(&current_view(f)->root, 1) = BLOOM_HERE + 1;
	ck_assert_int_eq(pwrite(fd, &boot, 8,
				offsetof(struct blm_header, live)
					+ offsetof(struct blm_live, boot)),
			 8);
	OK(blm_open(&reader, NULL, f->place.display, 0));
	ck_assert_uint_eq(info(reader).keys, 1);
	ck_assert_uint_eq(copies_of_bloom(reader), 1);
	close(fd);
	blm_close(f), blm_close(reader);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("kind redis-cuckoo");
	TCase *tc = tcase_create("redis-cuckoo");
	int n = (int)ARRAY_LEN(buckets);

	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, buckets_of_any_size_hold_the_capacity, 0, n);
	tcase_add_loop_test(tc, the_rate_is_the_formulas_within_a_twentieth, 0, n);
	tcase_add_loop_test(
		tc, a_key_fits_twice_as_often_as_buckets_have_cells,
		0, n);
	tcase_add_test(tc, a_key_of_one_bucket_counts_twice);
	tcase_add_loop_test(tc, when_it_is_full_nothing_is_changed, 0, n);
	tcase_add_test(tc, sizes_other_than_2_to_the_n_buckets_are_refused);
	tcase_add_test(tc, a_large_filter_reports_its_load);
	tcase_add_test(tc, a_chain_above_the_largest_filter_is_refused);
	tcase_add_test(tc, the_next_writer_clears_a_dead_ones_cell_in_flight);
	tcase_add_test(tc, a_cell_in_flight_that_no_writer_filled_is_empty);
	tcase_add_test(tc,
		       a_death_in_a_move_leaves_a_key_once);
	tcase_add_test(
		tc,
		a_dead_writers_key_counts_once_while_it_is_found);
	tcase_add_test(tc, after_a_power_cut_a_reader_counts_the_last_sync);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
