/*
 * sort.c - keys put into order: whatever they are, however many threads gather them, however little
 * memory there is
 */
#include "handle/handle.h"
#include "sort/sort.h"
#include "suite.h"

#include <malloc.h>
#include <sys/mman.h>

/* ---- Records ---- */

enum shape { RANDOM, FEW_DIFFERENT, ALL_ALIKE, NUMBERS, ONE_BYTE, DESCENDING, SHAPES };

static void make(uint64_t *r, size_t count, unsigned words, enum shape shape)
{
	uint64_t state = shape + 1;

	for (size_t i = 0; i < count; i++) {
		uint64_t x = next_random(&state);
		const uint64_t record[3] = {
			[0] = shape == RANDOM	     ? next_random(&state)
			    : shape == NUMBERS	     ? x % (count + 1)
			    : shape == FEW_DIFFERENT ? x % 7
						     : 5,
			[1] = shape == RANDOM	  ? x
			    : shape == DESCENDING ? count - i
			    : shape == ONE_BYTE	  ? (x & 0xff) << 24
						  : 9,
			[2] = 1,
		};

		memcpy(&r[i * words], record, words * sizeof(*r));
	}
}

static int compare_bytes(const void *a, const void *b)
{
	return compare_records(a, b);
}

START_TEST(records_are_sorted_in_the_order_of_qsort)
{
	static const size_t counts[] = { 0, 1, 2, 40, 41, 1000, 200000 };

	for (size_t c = 0; c < ARRAY_LEN(counts); c++)
		for (unsigned words = 2; words <= 3; words++)
			for (unsigned threads = 1; threads <= 3; threads += SANITIZED ? 2 : 1) {
				size_t count = counts[c], bytes = count * words * sizeof(uint64_t);
				uint64_t *a = malloc(bytes + 1), *b = malloc(bytes + 1);

				make(a, count, words, (enum shape)_i);
				memcpy(b, a, bytes);
				blm_records_sort(a, count, words, threads);
				qsort(b, count, words * sizeof(*b), compare_bytes);
				ck_assert_msg(!memcmp(a, b, bytes), "%zu records of %u words",
					      count, words);
				free(a);
				free(b);
			}
}
END_TEST

START_TEST(fewer_threads_than_requested_sort_as_well)
{
	enum { COUNT = 200000, THREADS = 100 };
	uint64_t *a = malloc(COUNT * 16), *b = malloc(COUNT * 16);

	make(a, COUNT, 2, RANDOM);
	memcpy(b, a, COUNT * 16);
	blm_records_sort(a, COUNT, 2, THREADS);
	blm_records_sort(b, COUNT, 2, 1);
	ck_assert(!memcmp(a, b, COUNT * 16));
	free(a);
	free(b);
}
END_TEST

/* ---- Keys ---- */

static uint64_t told, last_told;

static void tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
	ck_assert_uint_le(done, total);
	told++;
	last_told = done;
}

static struct blm_place place;

static struct blm_sort *begin(bool values, unsigned threads, uint64_t memory)
{
	static struct blm_sort s;

	OK(blm_place_set(&place, NULL, a_path()));
	OK(blm_sort_begin(&s, &place,
			  &(struct blm_sort_options){ .values = values,
						      .threads = threads,
						      .memory_bytes = memory,
						      .progress = { tell, NULL } }));
	return &s;
}

static void end(struct blm_sort *s)
{
	blm_sort_end(s);
	blm_place_clear(&place);
}

static struct blm_hash hash_of(uint64_t i)
{
	return (struct blm_hash){ .lo = mixed(~i), .hi = mixed(i) };
}

struct worker {
	pthread_t id;
	struct blm_sort *s;
	uint64_t from, to;
};

/* In small pieces, each number twice. */
static void *gather(void *context)
{
	const struct worker *w = context;

	for (uint64_t i = w->from; i < w->to; i += 100) {
		struct blm_hash hashes[200];
		uint64_t values[200];
		size_t count = 0;

		for (uint64_t j = i; j < i + 100 && j < w->to; j++)
			for (int twice = 0; twice < 2; twice++) {
				values[count] = j;
				hashes[count++] = hash_of(j);
			}
		if (blm_sort_add(w->s, hashes, w->s->words == 3 ? values : NULL, count) < 0)
			return (void *)1;
	}
	return NULL;
}

static void gather_all(struct blm_sort *s, uint64_t count, unsigned threads)
{
	struct worker w[4];

	for (unsigned t = 0; t < threads; t++) {
		w[t] = (struct worker){ .s = s,
					.from = count * t / threads,
					.to = count * (t + 1) / threads };
		ck_assert_int_eq(pthread_create(&w[t].id, NULL, gather, &w[t]), 0);
	}
	for (unsigned t = 0; t < threads; t++) {
		void *failed;

		pthread_join(w[t].id, &failed);
		ck_assert_ptr_null(failed);
	}
}

static int compare_hashes(const void *a, const void *b)
{
	return compare_records(a, b);
}

/* All in memory, some runs, many runs; and just as much as fits. */
static const uint64_t memories[] = { 0, 1 << 20, 64 << 10, 50000 * 2 * 24, 50000 * 2 * 16 };

START_TEST(each_key_appears_once_in_order_with_its_value)
{
	const uint64_t count = 50000;
	struct blm_hash *expected = malloc(count * sizeof(*expected)),
			*got = malloc(count * sizeof(*got));
	uint64_t *values = malloc(count * sizeof(*values));

	for (uint64_t i = 0; i < count; i++)
		expected[i] = hash_of(i);
	qsort(expected, count, sizeof(*expected), compare_hashes);
	for (unsigned threads = 1; threads <= 4; threads += 3)
		for (int with_values = 0; with_values < 2; with_values++) {
			struct blm_sort *s = begin(with_values, threads, memories[_i]);

			gather_all(s, count, threads);
			OK(blm_sort_finish(s));
			ck_assert_uint_eq(s->sorted.count, count);
			/* ranges of all sizes */
			for (uint64_t at = 0, some = 1; at < count;
			     at += some, some = some * 7 % 5001) {
				uint64_t n = some < count - at ? some : count - at;

				OK(sorted_read(&s->sorted, at, got + at,
					       with_values ? values + at : NULL, n));
				s->sorted.done(&s->sorted, n);
			}
			ck_assert(!memcmp(got, expected, count * sizeof(*got)));
			for (uint64_t i = 0; with_values && i < count; i++) {
				struct blm_hash h = hash_of(values[i]);

				ck_assert(!memcmp(&h, &got[i], sizeof(h)));
			}
			end(s);
		}
	ck_assert_uint_gt(told, 0);
	free(values);
	free(expected);
	free(got);
}
END_TEST

START_TEST(a_key_with_a_second_value_is_refused_anywhere)
{
	const struct blm_hash key = { 1, 2 };

	for (int m = 0; m < 3; m++) {
		struct blm_sort *s = begin(true, 1, m ? 64 << 10 : 0);
		uint64_t values[] = { 3, 4 };

		OK(blm_sort_add(s, &key, &values[0], 1));
		gather_all(s, 10000, 1);
		OK(blm_sort_add(s, &key, &values[1], 1));
		if (m == 2)		/* merged while others come */
			while (!s->failed && s->runs.count > 1)
				blm_sort_add(s, &(struct blm_hash){ 1, 3 }, &values[0], 1);
		FAILS(blm_sort_finish(s), -ENOTUNIQ);
		ck_assert_ptr_nonnull(strstr(blm_error_message(), "two values, 3 and 4"));
		end(s);
	}
}
END_TEST

/* Both are in the memory of the sort when it is full. */
START_TEST(two_values_of_a_key_are_reported_early)
{
	struct blm_sort *s = begin(true, 1, 64 << 10);
	const uint64_t values[] = { 3, 4 };

	for (int i = 0; i < 2; i++)
		OK(blm_sort_add(s, &(struct blm_hash){ 1, 2 }, &values[i], 1));
	while (!s->failed)
		blm_sort_add(s, &(struct blm_hash){ 1, 3 }, &values[0], 1);
	ck_assert(!s->has_runs);
	FAILS(blm_sort_finish(s), -ENOTUNIQ);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "two values, "));
	end(s);
}
END_TEST

/* Each number from 0 on once, in order whatever the runs were. */
static void gathers_and_merges(uint64_t count, uint64_t memory, size_t runs_least, size_t runs_most)
{
	struct blm_sort *s = begin(false, 1, memory);
	struct blm_hash *got = malloc(1000 * sizeof(*got)), last = { 0, 0 };

	for (uint64_t i = 0; i < count; i += 1000) {
		for (uint64_t j = 0; j < 1000; j++)
			got[j] = hash_of(i + j);
		OK(blm_sort_add(s, got, NULL, 1000));
		ck_assert_uint_le(s->runs.count, runs_most);
	}
	ck_assert_uint_ge(s->runs.count, runs_least);
	OK(blm_sort_finish(s));
	ck_assert_uint_eq(s->sorted.count, count);
	for (uint64_t i = 0; i < count; i += 1000) {
		OK(sorted_read(&s->sorted, i, got, NULL, 1000));
		for (uint64_t j = 0; j < 1000; last = got[j++])
			ck_assert_int_lt(compare_records((uint64_t *)&last, (uint64_t *)&got[j]),
					 0);
	}
	free(got);
	end(s);
}

/*
 * 2.5 MiB are read at a time of each of seven, and their space is given back. Where the memory is
 * tiny six go into one, and six of those again.
 */
START_TEST(runs_are_merged_however_many_and_however_large)
{
	gathers_and_merges(100000, 64 << 10, 4, 12);
	gathers_and_merges(700000, 64 << 10, 4, 18);
	gathers_and_merges(2800000, 20 << 20, 2, 2);
}
END_TEST

/* One word more, and it faults. */
static struct blm_memory memory_with_an_end(uint64_t bytes)
{
	uint8_t *map = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(mprotect(map + bytes, 4096, PROT_NONE), 0);
	return (struct blm_memory){ map, bytes };
}

static void begin_nothing(void *context, uint64_t total)
{
}

static void no_tick(void *context, uint64_t count)
{
}

static const struct blm_runs_progress nobody = { begin_nothing, no_tick, NULL };

START_TEST(a_merge_uses_no_more_than_its_memory)
{
	static const uint64_t bytes[] = { 64 << 10, 68 << 10, 1 << 20 };

	for (size_t b = 0; b < ARRAY_LEN(bytes); b++)
		for (unsigned words = 2; words <= 3; words++) {
			struct blm_memory memory = memory_with_an_end(bytes[b]);
			uint64_t record[3] = { 0, 0, 7 };
			struct blm_runs runs;
			struct mallinfo2 before, after;

			OK(blm_place_set(&place, NULL, a_path()));
			OK(blm_runs_begin(&runs, &place, words, false));
			for (uint64_t i = 0; i < 3000; i++) {		/* the last first */
				record[1] = 3000 - i;
				OK(blm_runs_append(&runs, record, 1));
				if (b < 2)
					OK(blm_runs_keep_few(&runs, &memory));
			}
			ck_assert_uint_eq(runs.count > 40, b == 2);
			before = mallinfo2();
			OK(blm_runs_merge(&runs, &memory, &nobody));
			after = mallinfo2();
			ck_assert_uint_eq(after.uordblks, before.uordblks);
			ck_assert_uint_eq(runs.count, 1);
			ck_assert_uint_eq(runs.run[0].count, 3000);
			for (uint64_t i = 0; i < 3000; i++) {
				OK(blm_runs_read(&runs, i, record, 1));
				ck_assert_uint_eq(record[1], i + 1);
			}
			blm_runs_end(&runs);
			blm_place_clear(&place);
			munmap(memory.at, memory.bytes + 4096);
		}
}
END_TEST

/* Of 4 MiB of records, which is what goes out at a time, nothing is left at the end. */
START_TEST(as_many_records_as_written_at_once_are_merged)
{
	enum { HALF = (4 << 20) / 16 / 2 };
	struct blm_memory memory = memory_with_an_end(16 << 20);
	uint64_t *records = calloc(HALF, 16), last[2];
	struct blm_runs runs;

	OK(blm_place_set(&place, NULL, a_path()));
	OK(blm_runs_begin(&runs, &place, 2, false));
	for (uint64_t run = 0; run < 2; run++) {
		for (uint64_t i = 0; i < HALF; i++)
			records[2 * i + 1] = 2 * i + run;
		OK(blm_runs_append(&runs, records, HALF));
	}
	OK(blm_runs_merge(&runs, &memory, &nobody));
	ck_assert_uint_eq(runs.count, 1);
	ck_assert_uint_eq(runs.run[0].count, 2 * HALF);
	OK(blm_runs_read(&runs, 2 * HALF - 1, last, 1));
	ck_assert_uint_eq(last[1], 2 * HALF - 1);
	blm_runs_end(&runs);
	blm_place_clear(&place);
	munmap(memory.at, memory.bytes + 4096);
	free(records);
}
END_TEST

START_TEST(a_request_for_too_much_memory_gets_the_available)
{
	struct blm_sort *s = begin(false, 1, UINT64_C(1) << 60);

	ck_assert_uint_lt(s->sorted.memory_bytes, UINT64_C(1) << 60);
	gather_all(s, 20000, 1);
	OK(blm_sort_finish(s));
	ck_assert_uint_eq(s->sorted.count, 20000);
	end(s);
}
END_TEST

START_TEST(one_run_needs_no_merge_and_truncation_is_reported)
{
	struct blm_memory memory = memory_with_an_end(BLM_RUNS_MEMORY);
	uint64_t records[2 * 1000];
	struct blm_runs runs;

	OK(blm_place_set(&place, NULL, a_path()));
	OK(blm_runs_begin(&runs, &place, 2, false));
	for (uint64_t i = 0; i < ARRAY_LEN(records); i++)
		records[i] = i;
	OK(blm_runs_append(&runs, records, 1000));
	OK(blm_runs_merge(&runs, &memory, &nobody));
	OK(blm_runs_append(&runs, records, 1000));
	ck_assert_int_eq(ftruncate(runs.file.fd, 10000), 0);
	FAILS(blm_runs_merge(&runs, &memory, &nobody), -EIO);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "truncated"));
	munmap(memory.at, memory.bytes + 4096);
	blm_runs_end(&runs);
	blm_place_clear(&place);
}
END_TEST

START_TEST(nothing_is_left_in_the_folder)
{
	struct blm_sort *s = begin(false, 1, 64 << 10);

	gather_all(s, 20000, 1);
	ck_assert(s->has_runs);
	ck_assert_int_eq(entries_of(test_dir), 0);
	end(s);
}
END_TEST

START_TEST(no_keys_are_in_order)
{
	struct blm_sort *s = begin(false, 1, 0);

	OK(blm_sort_finish(s));
	ck_assert_uint_eq(s->sorted.count, 0);
	end(s);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("sort");
	TCase *tc = tcase_create("sort");

	tcase_add_loop_test(tc, records_are_sorted_in_the_order_of_qsort, 0,
			    SHAPES);
	tcase_add_loop_test(tc, each_key_appears_once_in_order_with_its_value, 0,
			    ARRAY_LEN(memories));
	tcase_add_test(tc, fewer_threads_than_requested_sort_as_well);
	tcase_add_test(tc, a_key_with_a_second_value_is_refused_anywhere);
	tcase_add_test(tc, two_values_of_a_key_are_reported_early);
	tcase_add_test(tc, runs_are_merged_however_many_and_however_large);
	tcase_add_test(tc, a_merge_uses_no_more_than_its_memory);
	tcase_add_test(tc, as_many_records_as_written_at_once_are_merged);
	tcase_add_test(tc, a_request_for_too_much_memory_gets_the_available);
	tcase_add_test(tc, one_run_needs_no_merge_and_truncation_is_reported);
	tcase_add_test(tc, nothing_is_left_in_the_folder);
	tcase_add_test(tc, no_keys_are_in_order);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
