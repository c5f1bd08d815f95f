/* exclusive.c - a handle that is the only one to change a filter, and those that it keeps out */
#include "suite.h"

#include "handle/handle.h"

#include <signal.h>
#include <stdatomic.h>
#include <sched.h>
#include <sys/mman.h>

enum { N = 2000 };

static const char *const kinds[] = { "blocked", "classic", "split-block", "counting", "cuckoo",
				     "scalable", "window" };

static const char *a_filter_for(const char *kind, uint64_t capacity)
{
	const char *path = a_path();
	static const uint64_t seed = 7;
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path,
		      &BLM_PARAMS(.kind = kind, .capacity = capacity,
				  .seed_count = strcmp(kind, "split-block") != 0,
				  .seeds = &seed)));
	blm_close(f);
	return path;
}

static const char *a_filter(const char *kind)
{
	return a_filter_for(kind, 10 * N);
}

static struct blm_filter *opened(const char *path, unsigned flags)
{
	struct blm_filter *f;

	OK(blm_open(&f, NULL, path, flags));
	return f;
}

static void is_refused(const char *path)
{
	struct blm_filter *f;

	FAILS(blm_open(&f, NULL, path, BLM_OPEN_WRITE), -EBUSY);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "exclusively"));
	FAILS(blm_open(&f, NULL, path, BLM_OPEN_EXCLUSIVE), -EBUSY);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), path));
}

static void put_numbers(struct blm_filter *f, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		ck_assert_int_ge(blm_add(f, &i, sizeof(i)), 0);
}

static void holds_numbers(const struct blm_filter *f, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		ck_assert(blm_contains(f, &i, sizeof(i)));
}

static int refused(void *path)
{
	is_refused(path);
	return 0;
}

START_TEST(others_may_read_but_not_open_it_for_writing)
{
	const char *path = a_filter(kinds[_i]);
	struct blm_filter *f = opened(path, BLM_OPEN_EXCLUSIVE), *reader = opened(path, 0), *copy;

	put_numbers(f, 0, N);
	is_refused(path);
	ck_assert_int_eq(join(spawn(refused, (void *)path)), 0);
	holds_numbers(reader, 0, N);
	OK(blm_copy(&copy, NULL, NULL, reader, 0));
	holds_numbers(copy, 0, N);
	OK(blm_sync(f));
	blm_close(copy);
	blm_close(f);
	f = opened(path, BLM_OPEN_WRITE);
	put_numbers(f, N, N + 10);
	holds_numbers(reader, 0, N + 10);
	blm_close(reader);
	blm_close(f);
}
END_TEST

START_TEST(a_handle_that_was_open_before_waits_for_the_end)
{
	const char *path = a_filter(kinds[_i]);
	struct blm_filter *f, *before = opened(path, BLM_OPEN_WRITE);
	const struct blm_key key = { "b", 1 };

	put_numbers(before, 0, N);
	ck_assert_int_eq(blm_claim(before, "a", 1), 1);
	f = opened(path, BLM_OPEN_EXCLUSIVE);
	holds_numbers(f, 0, N);
	FAILS(blm_add(before, "b", 1), -EBUSY);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "exclusively"));
	FAILS(blm_claim(before, "b", 1), -EBUSY);
	FAILS((int)blm_add_many(before, &key, 1, NULL), -EBUSY);
	FAILS((int)blm_claim_many(before, &key, 1, NULL), -EBUSY);
	FAILS(blm_sync(before), -EBUSY);
	FAILS(blm_clear(before), -EBUSY);
	put_numbers(f, N, 2 * N);
	holds_numbers(before, 0, 2 * N);
	ck_assert_int_eq(blm_claim(f, "b", 1), 1);
	blm_close(f);
	ck_assert_int_eq(blm_claim(before, "b", 1), 0);
	put_numbers(before, 2 * N, 2 * N + 10);
	OK(blm_sync(before));
	holds_numbers(before, 0, 2 * N + 10);
	blm_close(before);
}
END_TEST

static void names_this_handle(int r, const char *path)
{
	FAILS(r, -EBUSY);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), path));
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "this handle has it open exclusively"));
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "open the filter for writing"));
}

START_TEST(a_clear_through_it_reports_that_it_is_exclusive)
{
	const char *path = a_filter(kinds[_i]);
	struct blm_filter *f = opened(path, BLM_OPEN_EXCLUSIVE);
	const struct blm_filter *from = opened(path, 0);

	put_numbers(f, 0, N);
	names_this_handle(blm_clear(f), path);
	names_this_handle(blm_seal(f), path);
	if (current_view(f)->root.kind->intersect)
		names_this_handle(blm_combine_into(f, BLM_INTERSECT, &from, 1, 0, NULL), path);
	holds_numbers(f, 0, N);
	blm_close((struct blm_filter *)from);
	blm_close(f);
}
END_TEST

START_TEST(a_grow_through_it_reports_that_it_is_exclusive)
{
	const char *path = a_filter("d-left");
	struct blm_filter *f = opened(path, BLM_OPEN_EXCLUSIVE);

	names_this_handle(blm_grow(f, BLM_GROW_FORCE), path);
	blm_close(f);
	f = opened(path, BLM_OPEN_WRITE);
	OK(blm_grow(f, BLM_GROW_FORCE));
	blm_close(f);
}
END_TEST

/* The data equal those made by a handle that is not alone, and so do the answers. */
START_TEST(its_changes_are_those_of_every_handle)
{
	struct blm_filter *f[2];
	static struct blm_key keys[N];
	static uint64_t number[N], bits[2][N / 64 + 1];

	for (uint64_t i = 0; i < N; i++) {
		number[i] = i / 3 * 7;
		keys[i] = (struct blm_key){ &number[i], sizeof(number[i]) };
	}
	for (unsigned i = 0; i < 2; i++) {
		f[i] = opened(a_filter(kinds[_i]), i ? BLM_OPEN_EXCLUSIVE : BLM_OPEN_WRITE);
		for (uint64_t k = 0; k < N / 2; k++)
			if (k % 2 ? blm_claim(f[i], &k, sizeof(k)) : blm_add(f[i], &k, sizeof(k)))
				bits[i][k / 64] |= UINT64_C(1) << k % 64;
	}
	ck_assert_mem_eq(bits[0], bits[1], sizeof(bits[0]));
	ck_assert_int_eq(blm_add_many(f[0], keys, N / 2, bits[0]),
			 blm_add_many(f[1], keys, N / 2, bits[1]));
	ck_assert_mem_eq(bits[0], bits[1], sizeof(bits[0]));
	ck_assert_int_eq(blm_claim_many(f[0], keys, N, bits[0]),
			 blm_claim_many(f[1], keys, N, bits[1]));
	ck_assert_mem_eq(bits[0], bits[1], sizeof(bits[0]));
	for (unsigned i = 0; i < current_view(f[0])->parts; i++) {
		const struct blm_part *a = &current_view(f[0])->part[i],
			*b = &current_view(f[1])->part[i];

		ck_assert_uint_eq(a->shape.bytes, b->shape.bytes);
		ck_assert(!memcmp(a->bytes, b->bytes, a->shape.bytes) || _i == 4);
	}
	ck_assert_uint_eq(blm_counted_keys(current_view(f[0])),
			  blm_counted_keys(current_view(f[1])));
	ck_assert(current_view(f[1])->root.unshared
		  == kind_only_sets(current_view(f[1])->root.kind));
	blm_close(f[0]);
	blm_close(f[1]);
}
END_TEST

START_TEST(it_stays_the_only_writer_when_the_filter_grows)
{
	const char *path = a_filter("scalable");
	struct blm_filter *f = opened(path, BLM_OPEN_EXCLUSIVE), *reader = opened(path, 0);
	unsigned parts = current_view(f)->parts;

	put_numbers(f, 0, 40 * N);
	ck_assert_uint_gt(current_view(f)->parts, parts);
	ck_assert(is_exclusive(current_view(f)));
	is_refused(path);
	holds_numbers(reader, 0, 40 * N);
	OK(blm_sync(f));
	blm_close(reader);
	blm_close(f);
	blm_close(opened(path, BLM_OPEN_WRITE));
}
END_TEST

START_TEST(the_file_is_not_replaced_meanwhile)
{
	const char *path = a_filter(kinds[_i]);
	struct blm_filter *f = opened(path, BLM_OPEN_EXCLUSIVE), *reader = opened(path, 0);

	put_numbers(f, 0, N);
	FAILS(blm_clear(f), -EBUSY);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), path));
	put_numbers(f, N, N + 10);
	holds_numbers(reader, 0, N + 10);
	blm_close(f);
	f = opened(path, BLM_OPEN_WRITE);
	OK(blm_clear(f));
	ck_assert_int_eq(blm_claim(f, "a", 1), 1);
	blm_close(reader);
	blm_close(f);
}
END_TEST

static int add_and_die(void *path)
{
	struct blm_filter *f = opened(path, BLM_OPEN_EXCLUSIVE);

	put_numbers(f, 0, N);
	raise(SIGKILL);
	return 0;
}

START_TEST(a_killed_owner_excludes_no_process)
{
	const char *path = a_filter(kinds[_i]);
	struct blm_filter *before = opened(path, BLM_OPEN_WRITE), *f;

	ck_assert_int_eq(join(spawn(add_and_die, (void *)path)), 1000 + SIGKILL);
	put_numbers(before, N, N + 10);
	holds_numbers(before, 0, N + 10);
	f = opened(path, BLM_OPEN_EXCLUSIVE);
	FAILS(blm_add(before, "a", 1), -EBUSY);
	blm_close(f);
	blm_close(before);
}
END_TEST

static int add_in_a_child(void *f)
{
	holds_numbers(f, 0, N);
	FAILS(blm_add(f, "a", 1), -EBUSY);
	FAILS(blm_claim(f, "a", 1), -EBUSY);
	FAILS(blm_sync(f), -EBUSY);
	blm_close(f);
	return 0;
}

START_TEST(a_forked_child_is_no_owner)
{
	const char *path = a_filter(kinds[_i]);
	struct blm_filter *f = opened(path, BLM_OPEN_EXCLUSIVE);

	put_numbers(f, 0, N);
	ck_assert_int_eq(join(spawn(add_in_a_child, f)), 0);
	is_refused(path);
	ck_assert_int_eq(blm_claim(f, "a", 1), 1);
	blm_close(f);
}
END_TEST

/*
 * A change by a handle that was open before, and an owner that comes and goes before its end. What
 * the change did may be lost, although the owner is gone, and although another thread of the handle
 * has looked at the file since.
 */
static void begin_and_let_an_owner_pass(bool ask)
{
	BLM_CRITICAL_SECTION;
	const char *path = a_filter("blocked");
	struct blm_filter *before = opened(path, BLM_OPEN_WRITE), *f;
	struct blm_view *view;

	OK(blm_change_begin(before, &view));
	f = opened(path, BLM_OPEN_EXCLUSIVE);
	put_numbers(f, 0, 1);
	if (ask)
		holds_numbers(before, 0, 1);
	blm_close(f);
	if (ask)
		put_numbers(before, 1, 2);
	ck_assert_int_eq(blm_change_end(before, view), -EAGAIN);
	OK(blm_change_begin(before, &view));
	OK(blm_change_end(before, view));
	blm_close(before);
}

START_TEST(a_change_is_made_again_if_an_owner_passed)
{
	begin_and_let_an_owner_pass(_i);
}
END_TEST

/* A handle that asks whether there is an owner. Until it knows, no thread of it may change. */
static struct blm_filter *asking;
static unsigned asked;

bool __real_blm_ofd_held(int fd, enum blm_lock_of what);
bool __wrap_blm_ofd_held(int fd, enum blm_lock_of what);

bool __wrap_blm_ofd_held(int fd, enum blm_lock_of what)
{
	if (asking && what == BLM_LOCK_EXCLUSIVE) {
		ck_assert(!is_current(atomic_load(&asking->view)) || atomic_load(&asking->status));
		asked++;
	}
	return __real_blm_ofd_held(fd, what);
}

START_TEST(no_thread_changes_before_the_handle_knows_of_an_owner)
{
	const char *path = a_filter(kinds[_i]);
	struct blm_filter *before = opened(path, BLM_OPEN_WRITE),
		*f = opened(path, BLM_OPEN_EXCLUSIVE);

	put_numbers(f, 0, 1);
	asking = before;
	holds_numbers(before, 0, 1);
	asking = NULL;
	ck_assert_uint_gt(asked, 0);
	FAILS(blm_add(before, "a", 1), -EBUSY);
	blm_close(f);
	blm_close(before);
}
END_TEST

START_TEST(a_file_that_never_had_an_owner_changes_without_asking)
{
	struct blm_filter *f = opened(a_filter(kinds[_i]), BLM_OPEN_WRITE);

	asked = 0;
	asking = f;
	put_numbers(f, 0, 1);
	OK(blm_sync(f));
	asking = NULL;
	ck_assert_uint_eq(asked, 0);
	blm_close(f);
}
END_TEST

START_TEST(a_full_count_of_owners_does_not_become_zero)
{
	const char *path = a_filter("blocked");
	struct blm_filter *before = opened(path, BLM_OPEN_WRITE), *f;

	store_release(&live_of(current_view(before))->state.word,
		      UINT64_MAX << BLM_OWNERS_SHIFT | BLM_LIVE);
	f = opened(path, BLM_OPEN_EXCLUSIVE);
	ck_assert_uint_eq(owners_of(load_acquire(&live_of(current_view(f))->state.word)), 1);
	FAILS(blm_add(before, "a", 1), -EBUSY);
	FAILS(blm_sync(before), -EBUSY);
	put_numbers(f, 0, 10);
	blm_close(f);
	holds_numbers(before, 0, 10);
	blm_close(before);
}
END_TEST

/* ---- A race ---- */

enum { ADDERS = 2, TURNS = 60, EACH = 400 };

static struct race {
	const char *path;
	_Atomic unsigned turns;
} *race;

static int add_where_admitted(void *number)
{
	struct blm_filter *f;
	uint64_t i = 0;
	int r;

	do
		r = blm_open(&f, NULL, race->path, BLM_OPEN_WRITE);
	while (r == -EBUSY);
	MUST(r == 0);
	for (; i < TURNS * EACH && race->turns < TURNS; i++) {
		const uint64_t key[2] = { (uintptr_t)number, i };

		do
			r = i % 2 ? blm_add(f, key, sizeof(key)) : blm_claim(f, key, sizeof(key));
		while (r == -EBUSY);
		MUST(r >= 0 && blm_contains(f, key, sizeof(key)));
		if (i % 16 == 0)
			sched_yield();
	}
	blm_close(f);
	f = opened(race->path, 0);
	while (i--)
		MUST(blm_contains(f, (const uint64_t[]){ (uintptr_t)number, i }, 16));
	blm_close(f);
	return 0;
}

static bool adds(struct blm_filter *f, uint64_t turn)
{
	for (uint64_t i = 0; i < EACH; i++) {
		const uint64_t key[2] = { ADDERS + turn, i };

		if (blm_add(f, key, sizeof(key)) < 0)
			return false;
	}
	return true;
}

START_TEST(no_key_is_lost_by_taking_turns)
{
	pid_t pid[ADDERS];
	struct blm_filter *f;

	race = mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	race->path = a_filter_for(kinds[_i], (ADDERS + 1) * TURNS * EACH);
	for (uintptr_t i = 0; i < ADDERS; i++)
		pid[i] = spawn(add_where_admitted, (void *)i);
	for (uint64_t turn = 0; turn < TURNS; turn++) {
		OK(blm_open(&f, NULL, race->path, BLM_OPEN_EXCLUSIVE));
		ck_assert(adds(f, turn));
		blm_close(f);
		race->turns++;
		sched_yield();
	}
	for (unsigned i = 0; i < ADDERS; i++)
		ck_assert_int_eq(join(pid[i]), 0);
	f = opened(race->path, 0);
	for (uint64_t turn = 0; turn < TURNS; turn++)
		for (uint64_t i = 0; i < EACH; i++)
			ck_assert(blm_contains(f, (const uint64_t[]){ ADDERS + turn, i }, 16));
	blm_close(f);
	munmap(race, sizeof(*race));
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("exclusive");
	TCase *tc = tcase_create("exclusive");
	int all = (int)ARRAY_LEN(kinds);

	tcase_add_loop_test(tc, others_may_read_but_not_open_it_for_writing, 0, all);
	tcase_add_loop_test(tc, a_handle_that_was_open_before_waits_for_the_end, 0, all);
	tcase_add_loop_test(tc, a_clear_through_it_reports_that_it_is_exclusive, 0, all);
	tcase_add_test(tc, a_grow_through_it_reports_that_it_is_exclusive);
	tcase_add_loop_test(tc, its_changes_are_those_of_every_handle, 0, all);
	tcase_add_test(tc, it_stays_the_only_writer_when_the_filter_grows);
	tcase_add_loop_test(tc, the_file_is_not_replaced_meanwhile, 0, all);
	tcase_add_loop_test(tc, a_killed_owner_excludes_no_process, 0, all);
	tcase_add_loop_test(tc, a_forked_child_is_no_owner, 0, all);
	tcase_add_loop_test(tc, no_thread_changes_before_the_handle_knows_of_an_owner, 0, all);
	tcase_add_loop_test(tc, a_file_that_never_had_an_owner_changes_without_asking, 0, all);
	tcase_add_test(tc, a_full_count_of_owners_does_not_become_zero);
	tcase_add_loop_test(tc, a_change_is_made_again_if_an_owner_passed, 0, 2);
	tcase_add_loop_test(tc, no_key_is_lost_by_taking_turns, 0, 2);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
