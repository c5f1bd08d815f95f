/* clear.c - taking all keys out, in one step for everyone; and counting those that are in */
#include "handle/handle.h"
#include "suite.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { N = 2000 };

static struct blm_filter *create(const char *path, struct blm_params p)
{
	struct blm_filter *f = NULL;

	OK(blm_create(&f, NULL, path, &p));
	return f;
}

static uint64_t counted(const struct blm_filter *f)
{
	uint64_t count = UINT64_MAX;

	OK(blm_count(f, &count, NULL));
	return count;
}

/* ---- Others see it ---- */

static struct steps {		/* taken by the test and a child in turns */
	_Atomic int at;
} *steps;

static void wait_for(int step)
{
	while (atomic_load(&steps->at) < step)
		usleep(200);
}

static const char *place;

static int reader(void *write)
{
	struct blm_filter *f = NULL;
	uint32_t x = 99999;

	MUST(blm_open(&f, NULL, place, (write != NULL) ? BLM_OPEN_WRITE : 0) == 0);
	MUST(numbers_found(f, 0, N) == N);
	atomic_store(&steps->at, 1);
	wait_for(2);				/* cleared */
	MUST(numbers_found(f, 0, N) == 0);
	MUST(blm_status(f) == 0);
	if (write)
		MUST(blm_add(f, &x, sizeof(x)) == 1);
	atomic_store(&steps->at, 3);
	wait_for(4);				/* filled again */
	MUST(numbers_found(f, 0, N) == N);
	if (write)
		MUST(blm_clear(f) == 0);
	return 0;
}

START_TEST(all_processes_see_the_cleared_filter_at_their_next_call)
{
	struct blm_filter *f;
	uint32_t x = 99999;
	char path[600];
	pid_t pid;

	steps = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(path, sizeof(path), "%s", a_path());
	place = path;
	f = create(path, BLM_PARAMS(.capacity = N, .rate = 1e-6));
	add_numbers(f, 0, N);
	pid = spawn(reader, (void *)(uintptr_t)_i);
	wait_for(1);
	OK(blm_clear(f));
	ck_assert_uint_eq(numbers_found(f, 0, N), 0);
	atomic_store(&steps->at, 2);
	wait_for(3);
	ck_assert_int_eq(blm_contains(f, &x, sizeof(x)), _i);
	add_numbers(f, 0, N);
	atomic_store(&steps->at, 4);
	ck_assert_int_eq(join(pid), 0);
	ck_assert_uint_eq(numbers_found(f, 0, N), _i ? 0 : N);
	blm_close(f);
}
END_TEST

/* ---- All or nothing ---- */

static bool in_store;		/* place is a store, the filter's name in it "f" */

static int open_place(struct blm_filter **ret)
{
	struct blm_store *store = NULL;
	int r = in_store ? blm_store_open(&store, place, 0) : 0;

	if (r == 0)
		r = blm_open(ret, store, in_store ? "f" : place, BLM_OPEN_WRITE);
	blm_store_close(store);
	return r;
}

static bool volatile *cleared;	/* by the process of this round, which shares it with the test */

static int clear_on_and_on(void *context)
{
	struct blm_filter *f = NULL;

	MUST(open_place(&f) == 0);
	MUST(blm_clear(f) == 0);
	*cleared = true;
	for (;;)
		usleep(100000);
}

START_TEST(a_process_killed_in_a_clear_leaves_all_or_none)
{
	int rounds = (int)(200 * test_scale()) + 20, kept = 0, gone = 0;
	struct blm_store *store = NULL;
	struct blm_filter *f = NULL;
	char path[600];
	uint64_t random = 5;

	cleared = mmap(NULL, sizeof(*cleared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	snprintf(path, sizeof(path), "%s", a_path());
	place = path;
	in_store = _i;
	if (in_store)
		OK(blm_store_open(&store, path, BLM_STORE_CREATE));
	OK(blm_create(&f, store, in_store ? "f" : path, &BLM_PARAMS(.capacity = N, .rate = 1e-6)));
	for (int i = 0; i < rounds; i++) {
		struct blm_filter *again = NULL;
		uint32_t n;
		pid_t pid;

		add_numbers(f, 0, N);
		*cleared = false;
		pid = spawn(clear_on_and_on, NULL);
		while (i % 8 == 5 && !*cleared)
			usleep(200);
		if (i % 4)	/* else it has hardly begun */
			usleep((useconds_t)(next_random(&random) % (i % 2 ? 3000 : 12000)));
		kill(pid, SIGKILL);
		ck_assert_int_eq(join(pid), 1000 + SIGKILL);
		n = numbers_found(f, 0, N);
		ck_assert_msg(n == N || n == 0, "%u of %u keys", n, N);
		kept += n == N;
		gone += n == 0;
		OK(open_place(&again));
		ck_assert_uint_eq(numbers_found(again, 0, N), n);
		ck_assert_int_eq(blm_add(again, "more", 4) >= 0 && blm_contains(f, "more", 4), 1);
		blm_close(again);
		/* a new file may be left near the path, which repair removes */
		ck_assert_int_eq(blm_verify(store, in_store ? "f" : path,
					    !in_store ? BLM_VERIFY_REPAIR : 0, NULL, NULL),
				 0);
	}
	ck_assert_int_eq(kept + gone, rounds);
	ck_assert_int_gt(gone, 0);
	ck_assert_int_gt(kept, 0);
	OK(blm_clear(f));
	ck_assert_uint_eq(numbers_found(f, 0, N), 0);
	blm_close(f);
	blm_store_close(store);
}
END_TEST

/* ---- What stays, and who may ---- */

START_TEST(the_name_the_labels_the_mode_and_the_template_stay)
{
	struct blm_store *store = NULL;
	struct blm_filter *f = NULL, *twin = NULL;
	struct blm_info before = BLM_INFO, after = BLM_INFO, seen = BLM_INFO;
	struct stat st;

	OK(blm_store_open(&store, a_path(), BLM_STORE_CREATE));
	OK(blm_create(&f, store, "seen",
		      &BLM_PARAMS(.capacity = N, .rate = 0.001, .mode = 0640,
				  .hash = _i ? "siphash" : NULL)));
	OK(blm_store_label(store, "seen", "of", "crawler"));
	OK(blm_store_label(store, "seen", "day", "monday"));
	OK(blm_template(&twin, store, "twin", f, 0));
	add_numbers(f, 0, N);
	OK(blm_sync(f));
	OK(blm_info(f, &before));
	OK(blm_clear(f));
	OK(blm_info(f, &after));
	ck_assert_str_eq(after.labels, "of=crawler\nday=monday\n");
	ck_assert_str_eq(after.labels, before.labels);
	ck_assert_str_eq(after.name, "seen");
	ck_assert_mem_eq(after.template_id, before.template_id, 16);
	ck_assert_uint_eq(after.capacity, before.capacity);
	ck_assert_double_eq(after.rate, before.rate);
	ck_assert_uint_eq(after.keys, 0);
	ck_assert_int_eq(stat(after.path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0640);
	ck_assert_int_lt(access(before.path, F_OK), 0);
	OK(blm_store_find(store, "seen", &seen));
	ck_assert_uint_eq(seen.keys, 0);
	ck_assert_str_eq(seen.labels, before.labels);
	add_numbers(f, 0, 10);
	OK(blm_combine_into(twin, BLM_UNION, (const struct blm_filter *[]){ f }, 1, 0, NULL));
	ck_assert_uint_eq(numbers_found(twin, 0, 10), 10);
	ck_assert_int_eq(blm_store_verify(blm_store_dir(store), false, NULL, NULL), 0);
	OK(blm_store_drop(store, "seen"));
	FAILS(blm_clear(f), -ESTALE);
	blm_close(f), blm_close(twin);
	blm_store_close(store);
}
END_TEST

START_TEST(a_read_only_process_cannot_clear_a_filter)
{
	struct blm_filter *f, *sealed = NULL;
	struct blm_constant c;
	char path[600];
	uint64_t count;
	int fd;

	snprintf(path, sizeof(path), "%s", a_path());
	f = create(path, BLM_PARAMS(.capacity = N));
	add_numbers(f, 0, N);
	blm_close(f);
	OK(blm_open(&f, NULL, path, 0));
	FAILS(blm_clear(f), -EBADF);
	ck_assert_uint_eq(numbers_found(f, 0, N), N);
	blm_close(f);

	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pread(fd, &c, sizeof(c), 0), sizeof(c));
	c.flags |= htole64(BLM_FLAG_SEALED);
	c.check = blm_check_constant(&c);
	ck_assert_int_eq(pwrite(fd, &c, sizeof(c), 0), sizeof(c));
	close(fd);
	OK(blm_open(&sealed, NULL, path, BLM_OPEN_WRITE));
	FAILS(blm_clear(sealed), -EROFS);
	FAILS(blm_add(sealed, "x", 1), -EROFS);
	FAILS(blm_data_unite(sealed, 0, "", 1), -EROFS);
	FAILS(blm_combine_into(sealed, BLM_INTERSECT, (const struct blm_filter *[]){ sealed }, 1, 0,
			       NULL),
	      -EROFS);
	ck_assert_uint_eq(numbers_found(sealed, 0, N), N);
	OK(blm_count(sealed, &count, NULL));
	blm_close(sealed);
}
END_TEST

/* The secret is the caller's: it lies nowhere. */
START_TEST(keyed_filters_are_cleared_and_intersected_with_the_callers_secret)
{
	const uint8_t secret[BLM_SECRET_BYTES] = "sixteen bytes..";
	struct blm_filter *f, *g = NULL;
	char path[600], beside[620];

	snprintf(path, sizeof(path), "%s", a_path());
	snprintf(beside, sizeof(beside), "%s.key", path);
	blm_close(create(path, BLM_PARAMS(.capacity = N, .rate = 1e-6, .hash = "siphash",
					  .secret = secret)));
	ck_assert_int_eq(unlink(beside), 0);
	FAILS(blm_open(&f, NULL, path, BLM_OPEN_WRITE), -ENOKEY);
	OK(blm_open_keyed(&f, NULL, path, BLM_OPEN_WRITE, secret));
	add_numbers(f, 0, N);
	OK(blm_clear(f));
	ck_assert_uint_eq(numbers_found(f, 0, N), 0);
	add_numbers(f, 0, N);
	OK(blm_template(&g, NULL, NULL, f, 0));
	add_numbers(g, N / 2, N);
	OK(blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *[]){ g }, 1, 0, NULL));
	ck_assert_uint_eq(numbers_found(f, 0, N), N / 2);
	ck_assert_int_lt(access(beside, F_OK), 0);
	blm_close(f), blm_close(g);
	OK(blm_open_keyed(&f, NULL, path, BLM_OPEN_WRITE, secret));
	ck_assert_uint_eq(numbers_found(f, N / 2, N), N / 2);
	blm_close(f);
}
END_TEST

/* ---- Counting ---- */

struct share {
	uint32_t from, to;
};

static int add_share(void *context)
{
	const struct share *share = context;
	struct blm_filter *f = NULL;

	MUST(blm_open(&f, NULL, place, BLM_OPEN_WRITE) == 0);
	for (uint32_t i = share->from; i < share->to; i++)
		MUST(blm_add(f, &i, sizeof(i)) >= 0);
	blm_close(f);
	return 0;
}

START_TEST(the_count_is_exact_after_adds_of_several_processes)
{
	struct share shares[4] = { { 0, N }, { N, 2 * N }, { 2 * N, 3 * N }, { 3 * N, 4 * N } };
	struct blm_filter *f;
	uint64_t count = 0;
	bool estimated = true;
	char path[600];
	pid_t pids[4];

	snprintf(path, sizeof(path), "%s", a_path());
	place = path;
	f = create(path, BLM_PARAMS(.capacity = 4 * N, .rate = 1e-9));
	ck_assert_uint_eq(counted(f), 0);
	for (int i = 0; i < 4; i++)
		pids[i] = spawn(add_share, &shares[i]);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(join(pids[i]), 0);
	ck_assert_uint_eq(counted(f), 4 * N);
	ck_assert_int_eq(join(spawn(add_share, &shares[0])), 0);	/* nothing new */
	OK(blm_count(f, &count, &estimated));
	ck_assert(count == 4 * N && !estimated);
	blm_close(f);
	OK(blm_open(&f, NULL, path, 0));
	ck_assert_uint_eq(counted(f), 4 * N);
	blm_close(f);
}
END_TEST

START_TEST(the_count_after_a_union_is_a_marked_estimate)
{
	struct blm_filter *a = create(a_path(), BLM_PARAMS(.capacity = 4 * N, .rate = 1e-4)),
			  *b = NULL, *f = NULL;
	struct blm_estimate e;
	uint64_t count = 1;
	bool estimated = false;

	OK(blm_template(&b, NULL, NULL, a, 0));
	add_numbers(a, 0, N);
	add_numbers(b, N / 2, N + N / 2);
	OK(blm_combine(&f, NULL, NULL, BLM_UNION, (const struct blm_filter *[]){ a, b }, 2, 0,
		       NULL));
	FAILS(blm_count(f, &count, NULL), -EDOM);
	ck_assert_uint_eq(count, 1);
	OK(blm_count(f, &count, &estimated));
	OK(blm_estimate(f, true, &e));
	ck_assert(estimated);
	ck_assert_double_eq_tol((double)count, e.keys.value, 0.51);
	ck_assert_double_eq_tol((double)count, 1.5 * N, 6 * e.keys.error + 1);
	/* and goes on counting from the bits */
	add_numbers(f, 3 * N, 3 * N + 500);
	OK(blm_count(f, &count, &estimated));
	ck_assert_double_eq_tol((double)count, 1.5 * N + 500, 0.03 * N);
	OK(blm_combine_into(a, BLM_UNION, (const struct blm_filter *[]){ b }, 1, 0, NULL));
	FAILS(blm_count(a, &count, NULL), -EDOM);
	OK(blm_clear(a));
	ck_assert_uint_eq(counted(a), 0);
	OK(blm_combine_into(b, BLM_INTERSECT, (const struct blm_filter *[]){ f }, 1, 0, NULL));
	FAILS(blm_count(b, &count, NULL), -EDOM);
	blm_close(a), blm_close(b), blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = (prefer_memory(), begin_suite("clear"));
	TCase *tc = tcase_create("clear"), *counts = tcase_create("count");

	tcase_add_loop_test(
		tc, all_processes_see_the_cleared_filter_at_their_next_call,
		0, 2);
	tcase_add_loop_test(tc, a_process_killed_in_a_clear_leaves_all_or_none, 0,
			    2);
	tcase_add_loop_test(tc, the_name_the_labels_the_mode_and_the_template_stay, 0, 2);
	tcase_add_test(tc, a_read_only_process_cannot_clear_a_filter);
	tcase_add_test(tc, keyed_filters_are_cleared_and_intersected_with_the_callers_secret);
	tcase_add_test(counts, the_count_is_exact_after_adds_of_several_processes);
	tcase_add_test(
		counts,
		the_count_after_a_union_is_a_marked_estimate);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, counts);
	return run_suite(s);
}
