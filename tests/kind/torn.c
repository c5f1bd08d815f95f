/*
 * torn.c - a union into a counting filter, whose process dies: half a union is never taken for one
 */
#include "handle/handle.h"
#include "suite.h"

#include <signal.h>
#include <sys/mman.h>

enum { N = 30000, PAGE = 4096 };

static struct blm_filter *open_again(const char *path)
{
	struct blm_filter *f;

	OK(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
	return f;
}

/* ---- A process that stops in the middle of its union ---- */

static struct {
	const char *into, *from;
	bool data;		/* by the raw data of the other */
} task;

static void *barrier;
static size_t barrier_bytes;

static void at_barrier(int sig)
{
	raise(SIGSTOP);
	mprotect(barrier, barrier_bytes, PROT_READ | PROT_WRITE);
}

/* The first write to the last quarter of the data stops it. */
static void put_barrier(const struct blm_part *part)
{
	struct sigaction action = { .sa_handler = at_barrier };

	barrier_bytes = part->shape.bytes / 4 & ~(size_t)(PAGE - 1);
	barrier = (void *)(((uintptr_t)part->bytes + part->shape.bytes - barrier_bytes)
			   & ~(uintptr_t)(PAGE - 1));
	MUST(sigaction(SIGSEGV, &action, NULL) == 0);
	MUST(mprotect(barrier, barrier_bytes, PROT_READ) == 0);
}

static int unite_and_stop(void *unused)
{
	struct blm_filter *into, *from;

	MUST(blm_open(&into, NULL, task.into, BLM_OPEN_WRITE) == 0
	     && blm_open(&from, NULL, task.from, 0) == 0);
	put_barrier(&current_view(into)->part[0]);
	if (task.data) {
		const struct blm_part *part = &current_view(from)->part[0];

		MUST(blm_data_unite(into, 0, part->bytes, part->shape.bytes) >= 0);
	} else {
		MUST(blm_combine_into(into, BLM_UNION, (const struct blm_filter *[]){ from }, 1, 0,
				      NULL)
		     == 0);
	}
	blm_close(into), blm_close(from);
	return 0;
}

static pid_t stopped_in_a_union(void)
{
	pid_t pid = spawn(unite_and_stop, NULL);
	int status;

	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert_msg(WIFSTOPPED(status), "exited, or was killed: %x", status);
	return pid;
}

/* Filters of one template with the keys 0 to N/2, and N/2 to N. */
static void make_two(struct blm_filter **ret_into, struct blm_filter **ret_from)
{
	OK(blm_create(ret_into, NULL, a_path(), &BLM_PARAMS(.kind = "counting", .capacity = N)));
	OK(blm_template(ret_from, NULL, a_path(), *ret_into, 0));
	add_numbers(*ret_into, 0, N / 2);
	add_numbers(*ret_from, N / 2, N);
	task.into = (*ret_into)->place.display;
	task.from = (*ret_from)->place.display;
}

static void refuses_to_remove(struct blm_filter *f)
{
	const uint32_t key = 1;

	FAILS(blm_remove(f, &key, sizeof(key)), -EUCLEAN);
}

static void takes_out(struct blm_filter *f, uint32_t key)
{
	ck_assert_int_eq(blm_remove(f, &key, sizeof(key)), 1);
}

/* _i: with 1 by raw data */
START_TEST(a_death_during_a_union_loses_no_key)
{
	struct blm_filter *into, *from, *copy, *later;
	pid_t pid;

	task.data = _i;
	make_two(&into, &from);
	takes_out(into, 0);
	pid = stopped_in_a_union();
	ck_assert_uint_gt(numbers_found(into, N / 2, N), N / 100);	/* some of it is there */
	kill(pid, SIGKILL);
	ck_assert_int_eq(join(pid), 1000 + SIGKILL);
	ck_assert_uint_lt(numbers_found(into, N / 2, N), N / 2);	/* and some is not */
	later = open_again(task.into);
	refuses_to_remove(into);
	refuses_to_remove(later);
	ck_assert_uint_eq(numbers_found(into, 1, N / 2), N / 2 - 1);
	OK(blm_add(into, "after", 5));
	OK(blm_sync(into));
	OK(blm_copy(&copy, NULL, a_path(), into, 0));
	refuses_to_remove(copy);
	OK(blm_combine_into(from, BLM_UNION, (const struct blm_filter *[]){ into }, 1, 0, NULL));
	refuses_to_remove(from);
	/* to unite it anew, whole, makes it no better */
	OK(blm_combine_into(into, BLM_UNION, (const struct blm_filter *[]){ copy }, 1, 0, NULL));
	refuses_to_remove(into);
	blm_close(into), blm_close(from), blm_close(copy), blm_close(later);
}
END_TEST

static int take_out_one(void *context)
{
	const uint32_t key = 1;
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, context, BLM_OPEN_WRITE) == 0);
	MUST(blm_remove(f, &key, sizeof(key)) == 1);
	blm_close(f);
	return 0;
}

static int copy_it(void *context)
{
	struct blm_filter *f, *copy;
	uint32_t key = 2;

	MUST(blm_open(&f, NULL, context, 0) == 0);
	MUST(blm_copy(&copy, NULL, a_path(), f, 0) == 0);
	MUST(blm_remove(copy, &key, sizeof(key)) == 1);
	MUST(numbers_found(copy, N / 2, N) == N / 2);
	blm_close(f), blm_close(copy);
	return 0;
}

/*
 * _i: with 1 by raw data, with 2 who copies. Not both at once: of a filter that keys go from while
 * it is copied the copy gives none up.
 */
START_TEST(removes_and_copies_wait_for_the_end_of_a_union)
{
	struct blm_filter *into, *from;
	pid_t pid, waiting;

	task.data = _i & 1;
	make_two(&into, &from);
	pid = stopped_in_a_union();
	ck_assert(blm_ofd_busy(current_view(into)->image.fd, BLM_LOCK_WRITE));
	ck_assert(part_is_torn(&current_view(into)->root));
	OK(blm_add(into, "meanwhile", 9));		/* adders do not wait */
	waiting = spawn(_i & 2 ? copy_it : take_out_one, into->place.display);
	kill(pid, SIGCONT);
	ck_assert_int_eq(join(pid), 0);
	ck_assert_int_eq(join(waiting), 0);
	ck_assert(!part_is_torn(&current_view(into)->root));
	ck_assert_uint_eq(numbers_found(into, 2, N), N - 2);
	takes_out(into, N - 1);
	ck_assert_int_eq(blm_remove(into, "meanwhile", 9), 1);
	blm_close(into), blm_close(from);
}
END_TEST

/* ---- Several at once ---- */

static int unite_often(void *unused)
{
	struct blm_filter *into, *from;

	MUST(blm_open(&into, NULL, task.into, BLM_OPEN_WRITE) == 0
	     && blm_open(&from, NULL, task.from, BLM_OPEN_WRITE) == 0);
	for (int i = 0; i < 100; i++)
		MUST(blm_combine_into(i % 2 ? into : from, BLM_UNION,
				      (const struct blm_filter *[]){ i % 2 ? from : into, from,
								     into },
				      1 + i % 3, 0, NULL)
		     == 0);
	blm_close(into), blm_close(from);
	return 0;
}

START_TEST(crosswise_unions_at_the_same_time_do_not_deadlock)
{
	struct blm_filter *into, *from;
	pid_t pid[4];

	make_two(&into, &from);
	for (int i = 0; i < 4; i++)
		pid[i] = spawn(unite_often, NULL);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(join(pid[i]), 0);
	ck_assert_uint_eq(numbers_found(into, 0, N), N);
	ck_assert_uint_eq(numbers_found(from, 0, N), N);
	blm_close(into), blm_close(from);
}
END_TEST

/* _i: 0 by one handle, 1 by another */
START_TEST(a_union_with_itself_neither_waits_nor_loses_keys)
{
	struct blm_filter *into, *from, *other;

	make_two(&into, &from);
	other = open_again(task.into);
	OK(blm_combine_into(into, BLM_UNION,
			    (const struct blm_filter *[]){ from, _i ? other : into }, 2, 0, NULL));
	ck_assert_uint_eq(numbers_found(into, 0, N), N);
	refuses_to_remove(into);
	blm_close(into), blm_close(from), blm_close(other);
}
END_TEST

START_TEST(a_filter_given_twice_counts_twice_and_is_locked_once)
{
	struct blm_filter *into, *from, *other;
	uint64_t often;
	const uint32_t key = N - 1;

	make_two(&into, &from);
	other = open_again(task.from);
	OK(blm_combine_into(into, BLM_UNION, (const struct blm_filter *[]){ from, other, from }, 3,
			    0, NULL));
	ck_assert_int_eq(blm_get(into, &key, sizeof(key), &often), 1);
	ck_assert_uint_ge(often, 3);
	for (int i = 0; i < 3; i++)
		takes_out(into, key);
	blm_close(into), blm_close(from), blm_close(other);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("torn");
	TCase *tc = tcase_create("torn");

	tcase_add_loop_test(
		tc, a_death_during_a_union_loses_no_key, 0, 2);
	tcase_add_loop_test(
		tc,
		removes_and_copies_wait_for_the_end_of_a_union,
		0, 4);
	tcase_add_test(tc, crosswise_unions_at_the_same_time_do_not_deadlock);
	tcase_add_loop_test(
		tc, a_union_with_itself_neither_waits_nor_loses_keys, 0, 2);
	tcase_add_test(tc, a_filter_given_twice_counts_twice_and_is_locked_once);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
