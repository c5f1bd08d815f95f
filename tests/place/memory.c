/*
 * memory.c - filters in memory are filters like any other, until their last handle is closed;
 * forked children share them
 */
#include "handle/handle.h"
#include "suite.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

enum { N = 2000 };

/* Each with a secret or not, hashed once or for each probe. */
static const struct { const char *kind, *hash;
} sorts[] = {
	{ "blocked", "xxh3" },	  { "classic", "xxh3" },   { "blocked", "siphash" },
	{ "classic", "siphash" }, { "classic", "mm3_64" }, { "classic", "sha512" },
};

static struct blm_filter *make(int sort, const char *path)
{
	struct blm_params p = BLM_PARAMS(.kind = sorts[sort].kind, .hash = sorts[sort].hash,
					 .capacity = 2 * N, .rate = 0.001);
	struct blm_filter *f = NULL;

	OK(blm_create(&f, NULL, path, &p));
	return f;
}

static int open_files(void)
{
	return entries_of("/proc/self/fd");
}

START_TEST(a_filter_in_memory_works_and_vanishes_when_closed)
{
	int before = open_files();
	struct blm_filter *f = make(_i, NULL);
	struct blm_estimate e;
	struct blm_info info = BLM_INFO;
	struct blm_key keys[100];
	uint32_t numbers[100], x = 5 * N;
	uint64_t bits[2], count = 0;

	ck_assert_uint_eq(numbers_found(f, 0, N), 0);
	add_numbers(f, 0, N);
	ck_assert_uint_eq(numbers_found(f, 0, N), N);
	ck_assert_uint_le(numbers_found(f, 2 * N, 4 * N), 20);
	ck_assert_int_eq(blm_claim(f, &x, sizeof(x)), 1);
	ck_assert_int_eq(blm_claim(f, &x, sizeof(x)), 0);
	for (uint32_t i = 0; i < 100; i++) {
		numbers[i] = 6 * N + i;
		keys[i] = (struct blm_key){ &numbers[i], sizeof(numbers[i]) };
	}
	ck_assert_int_ge(blm_claim_many(f, keys, 100, bits), 98);
	ck_assert_int_eq(blm_contains_many(f, keys, 100, bits), 100);
	ck_assert_int_eq(blm_add_many(f, keys, 100, bits), 0);
	OK(blm_count(f, &count, NULL));
	ck_assert_uint_ge(count, N + 99);
	ck_assert_uint_le(count, N + 101);
	OK(blm_estimate(f, true, &e));
	ck_assert_double_eq_tol(e.keys.value, (double)count, 6 * e.keys.error + 1);
	OK(blm_info(f, &info));
	ck_assert_str_eq(info.name, "");
	ck_assert_str_eq(info.path, "");
	ck_assert_str_eq(info.kind, sorts[_i].kind);
	ck_assert_str_eq(info.format, "bloomery");
	ck_assert(info.dirty && !info.foreign);
	OK(blm_sync(f));
	OK(blm_info(f, &info));
	ck_assert(!info.dirty && info.synced > 0);
	ck_assert_int_eq(blm_status(f), 0);
	blm_close(f);
	ck_assert_int_eq(open_files(), before);
}
END_TEST

START_TEST(filters_in_memory_and_in_files_combine_in_every_mixture)
{
	struct blm_filter *a = make(_i, NULL), *b[2] = { NULL }, *f = NULL, *copy = NULL;
	struct blm_comparison c;

	add_numbers(a, 0, N);
	for (int i = 0; i < 2; i++) {
		OK(blm_template(&b[i], NULL, i ? a_path() : NULL, a, 0));
		ck_assert_uint_eq(numbers_found(b[i], 0, N), 0);
		OK(blm_same_template(a, b[i]));
		add_numbers(b[i], N / 2, N + N / 2);
	}
	for (int i = 0; i < 8; i++) {
		const struct blm_filter *pair[] = { i & 4 ? b[i & 1] : a, i & 4 ? a : b[i & 1] };

		for (int in_place = 0; in_place < 2; in_place++)
			for (enum blm_op op = BLM_UNION; op <= BLM_INTERSECT; op++) {
				double rate = 0;

				if (in_place) {
					OK(blm_copy(&f, NULL, i & 2 ? a_path() : NULL, pair[0], 0));
					OK(blm_combine_into(f, op, &pair[1], 1, 0, &rate));
				} else {
					OK(blm_combine(&f, NULL, i & 2 ? a_path() : NULL, op, pair,
						       2, 0, &rate));
				}
				ck_assert_uint_eq(numbers_found(f, N / 2, N), N / 2);
				if (op == BLM_UNION)
					ck_assert_uint_eq(numbers_found(f, 0, N + N / 2),
							  N + N / 2);
				else
					ck_assert_uint_lt(numbers_found(f, 0, N / 2)
								  + numbers_found(f, N, N + N / 2),
							  30);
				ck_assert(rate > 0 && rate < 0.01);
				f = blm_close(f);
			}
	}
	OK(blm_compare(a, b[1], &c));
	ck_assert_double_eq_tol(c.common.value, N / 2, 6 * c.common.error + 5);
	OK(blm_copy(&copy, NULL, NULL, b[1], 0));
	ck_assert_uint_eq(numbers_found(copy, N / 2, N + N / 2), N);
	FAILS(blm_combine(&f, NULL, NULL, BLM_UNION, (const struct blm_filter *[]){ a, copy }, 2,
			  1e-9, NULL),
	      -ERANGE);
	ck_assert_ptr_null(strstr(blm_error_message(), "null"));
	FAILS(blm_combine_into(a, BLM_INTERSECT, (const struct blm_filter *[]){ copy }, 1, 1e-30,
			       NULL),
	      -ERANGE);
	ck_assert_uint_eq(numbers_found(a, 0, N), N);
	blm_close(a), blm_close(b[0]), blm_close(b[1]), blm_close(copy);
}
END_TEST

START_TEST(a_filter_in_memory_can_be_cleared_and_used)
{
	int before = open_files();
	struct blm_filter *f = make(_i, NULL), *twin = NULL;
	struct blm_info info[2] = { BLM_INFO, BLM_INFO };
	uint64_t count;

	OK(blm_template(&twin, NULL, NULL, f, 0));
	OK(blm_info(f, &info[0]));
	for (int i = 0; i < 5; i++) {
		add_numbers(f, 0, N);
		OK(blm_clear(f));
		ck_assert_uint_eq(numbers_found(f, 0, N), 0);
		OK(blm_count(f, &count, NULL));
		ck_assert_uint_eq(count, 0);
	}
	add_numbers(f, 0, N);
	ck_assert_uint_eq(numbers_found(f, 0, N), N);
	OK(blm_info(f, &info[1]));
	ck_assert_mem_eq(info[0].template_id, info[1].template_id, 16);
	OK(blm_combine_into(twin, BLM_UNION, (const struct blm_filter *[]){ f }, 1, 0, NULL));
	ck_assert_uint_eq(numbers_found(twin, 0, N), N);
	OK(blm_clear(twin));
	OK(blm_sync(f));
	blm_close(f), blm_close(twin);
	ck_assert_int_eq(open_files(), before);
}
END_TEST

START_TEST(a_keyed_filter_in_memory_keeps_its_secret)
{
	uint8_t secret[BLM_SECRET_BYTES] = "sixteen bytes..";
	struct blm_params p = BLM_PARAMS(.hash = "siphash", .capacity = N, .secret = secret);
	struct blm_filter *f = NULL, *again = NULL, *copy = NULL;
	const char *path = a_path();
	void *bytes;
	size_t len;

	OK(blm_create(&f, NULL, NULL, &p));
	memset(secret, 0, sizeof(secret));	/* the caller's own is its own */
	add_numbers(f, 0, N);
	OK(blm_clear(f));
	add_numbers(f, 0, N);
	OK(blm_copy(&copy, NULL, path, f, 0));
	ck_assert_uint_eq(numbers_found(copy, 0, N), N);
	blm_close(copy);
	OK(blm_open_keyed(&again, NULL, path, BLM_OPEN_WRITE, (const uint8_t *)"sixteen bytes.."));
	ck_assert_uint_eq(numbers_found(again, 0, N), N);
	OK(blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *[]){ again }, 1, 0, NULL));
	ck_assert_uint_eq(numbers_found(f, 0, N), N);
	OK(blm_export_bytes(f, NULL, &bytes, &len));
	/* which is not in them, and there is no file of it */
	FAILS(blm_import_bytes(&copy, NULL, NULL, NULL, bytes, len), -ENOKEY);
	blm_free(bytes);
	blm_close(again), blm_close(f);
	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.hash = "siphash", .capacity = N)));
	OK(blm_open(&again, NULL, path, 0));
	FAILS(blm_same_template(f, again), -EMEDIUMTYPE);	/* another secret */
	blm_close(f), blm_close(again);
}
END_TEST

/* ---- Children ---- */

static struct blm_filter *shared;

static int add_in_child(void *context)
{
	for (uint32_t i = 0; i < N; i++)
		MUST(blm_contains(shared, &i, sizeof(i)));
	for (uint32_t i = N; i < 2 * N; i++)
		MUST(blm_add(shared, &i, sizeof(i)) >= 0);
	for (uint32_t i = 3 * N; i < 3 * N + 100; i++)
		MUST(blm_claim(shared, &i, sizeof(i)) >= 0);
	MUST(blm_sync(shared) == 0);
	return 0;
}

static int clear_in_child(void *context)
{
	const uint32_t x = 77777777;

	MUST(blm_clear(shared) == 0);
	for (uint32_t i = 0; i < N; i++)
		MUST(!blm_contains(shared, &i, sizeof(i)));
	MUST(blm_add(shared, &x, sizeof(x)) == 1);
	MUST(blm_contains(shared, &x, sizeof(x)));
	MUST(blm_clear(shared) == 0);
	MUST(!blm_contains(shared, &x, sizeof(x)));
	return 0;
}

START_TEST(a_child_shares_a_filter_in_memory_until_clearing)
{
	const uint32_t x = 77777777;
	pid_t pids[3];

	shared = make(_i, NULL);
	add_numbers(shared, 0, N);
	ck_assert_int_eq(join(spawn(add_in_child, NULL)), 0);
	ck_assert_uint_eq(numbers_found(shared, 0, 2 * N), 2 * N);
	ck_assert_uint_eq(numbers_found(shared, 3 * N, 3 * N + 100), 100);
	ck_assert_int_eq(join(spawn(clear_in_child, NULL)), 0);
	ck_assert_uint_eq(numbers_found(shared, 0, 2 * N), 2 * N);
	ck_assert(!blm_contains(shared, &x, sizeof(x)));
	add_numbers(shared, 4 * N, 4 * N + 10);			/* and the parent's goes on */
	ck_assert_uint_eq(numbers_found(shared, 4 * N, 4 * N + 10), 10);
	ck_assert_int_eq(blm_status(shared), 0);
	for (int i = 0; i < 3; i++)
		pids[i] = spawn(i == 1 ? clear_in_child : add_in_child, NULL);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(join(pids[i]), 0);
	ck_assert_uint_eq(numbers_found(shared, 0, 2 * N), 2 * N);
	OK(blm_clear(shared));
	ck_assert_uint_eq(numbers_found(shared, 0, 2 * N), 0);
	add_numbers(shared, 0, N);
	ck_assert_int_eq(join(spawn(add_in_child, NULL)), 0);
	ck_assert_uint_eq(numbers_found(shared, 0, 2 * N), 2 * N);
	blm_close(shared);
}
END_TEST

/* ---- Threads ---- */

enum { THREADS = 4, EACH = 5000 };
static uint64_t claimed;

static void *add_and_claim(void *who)
{
	uint64_t own = 0;

	for (uint32_t i = 0; i < EACH; i++) {
		uint32_t mine = (uint32_t)(uintptr_t)who * EACH + i, everyones = 10000000 + i;

		ck_assert_int_ge(blm_add(shared, &mine, sizeof(mine)), 0);
		own += blm_claim(shared, &everyones, sizeof(everyones)) == 1;
		ck_assert(blm_contains(shared, &mine, sizeof(mine)));
	}
	__atomic_add_fetch(&claimed, own, __ATOMIC_SEQ_CST);
	return NULL;
}

static void run_threads(void *(*body)(void *who))
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, body, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

START_TEST(threads_share_a_filter_in_memory_and_claim_once)
{
	OK(blm_create(&shared, NULL, NULL,
		      &BLM_PARAMS(.kind = sorts[_i].kind, .hash = sorts[_i].hash,
				  .capacity = 10 * EACH, .rate = 1e-6)));
	claimed = 0;
	run_threads(add_and_claim);
	ck_assert_uint_eq(numbers_found(shared, 0, THREADS * EACH), THREADS * EACH);
	ck_assert_uint_eq(numbers_found(shared, 10000000, 10000000 + EACH), EACH);
	ck_assert_uint_le(claimed, EACH);
	ck_assert_uint_ge(claimed, EACH - 5);
	blm_close(shared);
}
END_TEST

static void *clear_and_add(void *who)
{
	for (uint32_t i = 0; i < 300; i++) {
		uint32_t key = (uint32_t)(uintptr_t)who * 1000 + i;

		if (who == NULL)
			ck_assert_int_eq(blm_clear(shared), 0);
		else
			ck_assert_int_ge(blm_add(shared, &key, sizeof(key)), 0);
		blm_contains(shared, &key, sizeof(key));
	}
	return NULL;
}

START_TEST(threads_may_clear_a_filter_in_memory_while_others_add)
{
	shared = make(_i, NULL);
	run_threads(clear_and_add);
	OK(blm_clear(shared));
	ck_assert_uint_eq(numbers_found(shared, 0, 4000), 0);
	add_numbers(shared, 0, N);
	ck_assert_uint_eq(numbers_found(shared, 0, N), N);
	ck_assert_int_eq(blm_status(shared), 0);
	blm_close(shared);
}
END_TEST

START_TEST(a_filter_in_memory_has_no_name)
{
	struct blm_filter *f = NULL, *g = NULL;
	struct blm_params p = BLM_PARAMS(.capacity = 100, .replace = true);

	FAILS(blm_open(&f, NULL, NULL, 0), -EINVAL);
	FAILS(blm_open_foreign(&f, NULL, NULL), -EINVAL);
	OK(blm_create(&f, NULL, NULL, &p));
	OK(blm_create(&g, NULL, NULL, &p));
	add_numbers(f, 0, 10);
	ck_assert_uint_eq(numbers_found(g, 0, 10), 0);
	blm_close(f), blm_close(g);
}
END_TEST

int main(void)
{
	Suite *s = (prefer_memory(), begin_suite("memory"));
	TCase *tc = tcase_create("memory"), *threads = tcase_create("threads");

	tcase_add_loop_test(
		tc, a_filter_in_memory_works_and_vanishes_when_closed, 0,
		ARRAY_LEN(sorts));
	tcase_add_loop_test(tc, filters_in_memory_and_in_files_combine_in_every_mixture, 0,
			    ARRAY_LEN(sorts));
	tcase_add_loop_test(tc, a_filter_in_memory_can_be_cleared_and_used, 0, ARRAY_LEN(sorts));
	tcase_add_test(tc, a_keyed_filter_in_memory_keeps_its_secret);
	tcase_add_loop_test(tc, a_child_shares_a_filter_in_memory_until_clearing, 0,
			    ARRAY_LEN(sorts));
	tcase_add_loop_test(threads, threads_share_a_filter_in_memory_and_claim_once,
			    0, ARRAY_LEN(sorts));
	tcase_add_loop_test(threads, threads_may_clear_a_filter_in_memory_while_others_add, 0,
			    ARRAY_LEN(sorts));
	tcase_add_test(tc, a_filter_in_memory_has_no_name);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, threads);
	return run_suite(s);
}
