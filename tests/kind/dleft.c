/*
 * dleft.c - what holds for the kind d-left only: its size, what it can hold of one key, and that it
 * doubles without its keys
 */
#include "handle/handle.h"
#include "suite.h"

#include <math.h>
#include <signal.h>
#include <sys/mman.h>

static struct blm_filter *make(uint64_t capacity, double rate, const char *options)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, a_path(),
		      &BLM_PARAMS(.kind = "d-left", .capacity = capacity, .rate = rate,
				  .options = options, .seeds = (const uint64_t[]){ 42 },
				  .seed_count = 1)));
	return f;
}

static struct blm_info info(const struct blm_filter *f)
{
	struct blm_info i = BLM_INFO;

	OK(blm_info(f, &i));
	return i;
}

static void add(struct blm_filter *f, uint64_t from, uint64_t to)
{
	uint64_t *numbers = malloc((to - from) * 8);

	for (uint64_t i = from; i < to; i++)
		numbers[i - from] = i;
	OK(blm_add_fixed(f, numbers, 8, to - from, NULL));
	free(numbers);
}

static uint64_t found(const struct blm_filter *f, uint64_t from, uint64_t to)
{
	uint64_t *numbers = malloc((to - from) * 8), n;

	for (uint64_t i = from; i < to; i++)
		numbers[i - from] = i;
	n = (uint64_t)blm_contains_fixed(f, numbers, 8, to - from, NULL);
	free(numbers);
	return n;
}

static void rate_is(const struct blm_filter *f, uint64_t keys, double rate)
{
	const uint64_t asked = 2000000;
	double measured = (double)found(f, UINT64_C(1) << 40, (UINT64_C(1) << 40) + asked)
			/ (double)asked;

	ck_assert_msg(fabs(measured - rate)
			      <= 3 * sqrt(rate / (double)asked + rate * rate / (double)keys),
		      "%g, not %g", measured, rate);
}

START_TEST(remainders_of_14_bits_take_21_3_bits_a_key)
{
	const uint64_t keys = 400000;
	struct blm_filter *f = make(keys, 0.00147, NULL);
	struct blm_plan counting;

	ck_assert_uint_eq(info(f).cell_bits, 16);
	ck_assert_double_eq_tol((double)info(f).data_bytes * 8 / (double)keys, 21.33, 0.02);
	add(f, 0, keys);
	ck_assert_uint_eq(found(f, 0, keys), keys);
	rate_is(f, keys, 24 / 16384.0);
	/* counting has four bits where classic has one */
	OK(blm_plan(&counting,
		    &BLM_PARAMS(.kind = "classic", .capacity = keys, .rate = 24 / 16384.0)));
	ck_assert_double_le(21.33, 4 * counting.bits_per_key / 2);
	blm_close(f);
}
END_TEST

START_TEST(small_filters_hold_their_capacity)
{
	for (uint64_t capacity = 1; capacity < 5000; capacity = capacity * 5 / 3 + 1) {
		struct blm_filter *f = make(capacity, 0.001, NULL);

		add(f, 0, capacity);
		ck_assert_uint_eq(found(f, 0, capacity), capacity);
		blm_close(f);
	}
}
END_TEST

START_TEST(removed_keys_are_gone_and_others_stay)
{
	struct blm_filter *f = make(20000, 1e-6, NULL);

	add(f, 0, 20000);
	for (uint64_t i = 0; i < 20000; i += 2)
		ck_assert_int_eq(blm_remove(f, &i, 8), 1);
	for (uint64_t i = 0; i < 20000; i++)
		ck_assert_int_eq(blm_contains(f, &i, 8), i % 2);
	for (uint64_t i = 0; i < 20000; i += 2)
		ck_assert_int_eq(blm_remove(f, &i, 8), 0);
	ck_assert_uint_eq(info(f).keys, 10000);
	blm_close(f);
}
END_TEST

START_TEST(a_key_is_removed_as_often_as_added)
{
	struct blm_filter *f = make(1000, 1e-6, NULL);

	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(blm_add(f, "key", 3), 1);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(blm_remove(f, "key", 3), 1);
	ck_assert_int_eq(blm_remove(f, "key", 3), 0);
	ck_assert(!blm_contains(f, "key", 3));
	blm_close(f);
}
END_TEST

START_TEST(one_keys_full_cells_do_not_fill_the_filter)
{
	struct blm_filter *f = make(1000, 1e-6, NULL);

	/* four buckets of eight cells, which count to three */
	for (int i = 0; i < 4 * 8 * 3; i++)
		ck_assert_int_eq(blm_add(f, "key", 3), 1);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(blm_add(f, "key", 3), -EXFULL);
		ck_assert_msg(strstr(blm_error_message(), "this key is in it as often as a d-left"),
			      "%s", blm_error_message());
	}
	ck_assert_int_eq(blm_claim(f, "key", 3), 0);
	for (int i = 0; i < 4 * 8 * 3; i++)
		ck_assert_int_eq(blm_remove(f, "key", 3), 1);
	ck_assert(!blm_contains(f, "key", 3));
	blm_close(f);
}
END_TEST

START_TEST(it_doubles_without_its_keys_and_loses_none)
{
	struct blm_filter *f = make(30000, 0.001, "spare=3"), *reader;
	uint64_t keys = 30000;
	struct blm_info before = info(f);

	OK(blm_open(&reader, NULL, f->place.display, 0));
	add(f, 0, keys);
	OK(blm_add(f, "twice", 5));
	OK(blm_add(f, "twice", 5));
	for (int i = 0; i < 3; i++) {
		OK(blm_grow(f, 0));
		ck_assert_uint_eq(found(f, 0, keys), keys);
		ck_assert_uint_eq(found(reader, 0, keys), keys);
		add(f, keys, 2 * keys);
		keys *= 2;
		ck_assert_uint_eq(found(f, 0, keys), keys);
	}
	ck_assert_uint_eq(info(f).keys, keys + 2);
	ck_assert_uint_eq(info(f).capacity, 8 * before.capacity);
	ck_assert_double_eq(info(f).rate, before.rate);
	ck_assert_double_le(info(f).rate_at_capacity, 0.001);
	rate_is(f, keys, info(f).rate_at_capacity);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(blm_remove(f, "twice", 5), 1);
	for (uint64_t i = 0; i < keys; i++)
		ck_assert_int_eq(blm_remove(f, &i, 8), 1);
	ck_assert_uint_eq(info(f).keys, 0);
	blm_close(f), blm_close(reader);
}
END_TEST

START_TEST(without_spare_bits_a_forced_doubling_doubles_the_rate)
{
	struct blm_filter *f = make(30000, 24 / 16384.0 + 1e-6, NULL);

	add(f, 0, 30000);
	rate_is(f, 30000, info(f).rate_at_capacity);
	FAILS(blm_grow(f, 0), -ERANGE);
	ck_assert_uint_eq(info(f).capacity, 30000);
	OK(blm_grow(f, BLM_GROW_FORCE));
	ck_assert_uint_eq(info(f).capacity, 60000);
	ck_assert_double_eq_tol(info(f).rate, 48 / 16384.0, 1e-5);
	/* as long as there are no more keys in it */
	rate_is(f, 30000, 24 / 16384.0);
	add(f, 30000, 60000);
	ck_assert_uint_eq(found(f, 0, 60000), 60000);
	rate_is(f, 60000, 48 / 16384.0);
	blm_close(f);
}
END_TEST

START_TEST(the_shortest_remainders_do_not_double_even_if_forced)
{
	struct blm_filter *f = make(100, 0.9, NULL);

	add(f, 0, 10);
	FAILS(blm_grow(f, BLM_GROW_FORCE), -EFBIG);
	ck_assert_msg(strstr(blm_error_message(), "cannot be doubled any more") != NULL, "%s",
		      blm_error_message());
	ck_assert_uint_eq(info(f).capacity, 100);
	ck_assert_uint_eq(found(f, 0, 10), 10);
	blm_close(f);
}
END_TEST

/*
 * Twice that is more than the largest capacity. Our own filters are never that large, because they
 * would have too many buckets first.
 */
START_TEST(a_file_with_the_largest_capacity_does_not_double)
{
	struct blm_filter *f;
	char *path = strdup(a_path());
	struct blm_header *header;
	struct blm_part_entry *part;

	OK(blm_create(&f, NULL, path,
		      &BLM_PARAMS(.kind = "d-left", .capacity = 100, .rate = 0.01,
				  .options = "spare=2")));
	header = current_view(f)->image.header;
	part = &header->part[0];
	part->capacity = htole64(BLM_CAPACITY_MAX);
	part->check = blm_check_part(part, 0, header->constant.uuid);
	blm_close(f);
	OK(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
	add(f, 0, 10);
	FAILS(blm_grow(f, BLM_GROW_FORCE), -EFBIG);
	ck_assert_msg(strstr(blm_error_message(), "cannot be doubled any more") != NULL, "%s",
		      blm_error_message());
	ck_assert_uint_eq(found(f, 0, 10), 10);
	blm_close(f);
	free(path);
}
END_TEST

/* A key's remainder has 28 bits at this rate, and up to 32. */
START_TEST(more_spare_bits_than_there_is_room_for_are_refused)
{
	struct blm_params p = BLM_PARAMS(.kind = "d-left", .capacity = 1000, .rate = 1e-7,
					 .options = "spare=4");

	OK(blm_plan(&(struct blm_plan){ 0 }, &p));
	p.options = "spare=5";
	FAILS(blm_plan(&(struct blm_plan){ 0 }, &p), -EFBIG);
	ck_assert_msg(strstr(blm_error_message(), "with 5 spare bits") != NULL, "%s",
		      blm_error_message());
}
END_TEST

START_TEST(other_kinds_do_not_grow)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, a_path(), &BLM_PARAMS(.kind = "classic", .capacity = 100)));
	FAILS(blm_grow(f, 0), -EOPNOTSUPP);
	FAILS(blm_grow(f, 64), -EINVAL);
	blm_close(f);
}
END_TEST

/* Adds numbers of its own, one by one, and says how far it is. */
static void write_on(const char *path, unsigned writer, _Atomic uint64_t *added)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	for (;; ++*added) {
		uint64_t key = (uint64_t)writer << 40 | *added;

		MUST(blm_add(f, &key, 8) == 1);
	}
}

START_TEST(it_grows_under_killed_writers_without_losing_keys)
{
	struct blm_filter *f = make(20000, 1e-5, "spare=8");
	_Atomic uint64_t *added = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[4];

	for (unsigned round = 0; round < 5; round++) {
		for (unsigned w = 0; w < 4; w++)
			if ((pid[w] = fork()) == 0)
				write_on(f->place.display, w, &added[w]);
		usleep(20000);
		OK(blm_grow(f, 0));
		usleep(5000);
		for (unsigned w = 0; w < 4; w++) {
			kill(pid[w], SIGKILL);
			waitpid(pid[w], NULL, 0);
			++added[w];	/* the one under way is there, or not */
		}
		for (unsigned w = 0; w < 4; w++)
			for (uint64_t i = 0; i + 1 < added[w]; i++) {
				uint64_t key = (uint64_t)w << 40 | i;

				if (!blm_contains(f, &key, 8))
					added[4] += (uint64_t)blm_add(f, &key, 8);
			}
	}
	ck_assert_uint_le(added[4], 20);	/* of each kill one */
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("d-left");
	TCase *tc = tcase_create("d-left");

	tcase_add_test(tc,
		       remainders_of_14_bits_take_21_3_bits_a_key);
	tcase_add_test(tc, small_filters_hold_their_capacity);
	tcase_add_test(tc, removed_keys_are_gone_and_others_stay);
	tcase_add_test(tc, a_key_is_removed_as_often_as_added);
	tcase_add_test(tc, one_keys_full_cells_do_not_fill_the_filter);
	tcase_add_test(tc, it_doubles_without_its_keys_and_loses_none);
	tcase_add_test(tc, without_spare_bits_a_forced_doubling_doubles_the_rate);
	tcase_add_test(tc, the_shortest_remainders_do_not_double_even_if_forced);
	tcase_add_test(tc, a_file_with_the_largest_capacity_does_not_double);
	tcase_add_test(tc, more_spare_bits_than_there_is_room_for_are_refused);
	tcase_add_test(tc, other_kinds_do_not_grow);
	tcase_add_test(tc, it_grows_under_killed_writers_without_losing_keys);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
