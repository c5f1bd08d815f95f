/*
 * writer_word.c - the one writer that takes no lock, and those that need it to end
 *
 * The interleavings of the protocol are tests/schedule's. Here is what the kernel has a part in:
 * locks of bytes, deaths, forks, futex(2), the clock.
 */
#include "suite.h"

#include "file/lock_wait.h"
#include "file/writer_word.h"
#include "handle/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* ---- Filters, and what their word says ---- */

static const char *const kinds[] = { "cuckoo", "d-left",	"recent",
				     "stable", "redis-cuckoo", "iblt" };

/* In one of "recent" a key that is taken out could be another's, at its rate. */
static struct blm_filter *a_filter(const char *kind, const char **ret_path)
{
	const char *path = a_path();
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path,
		      &BLM_PARAMS(.kind = kind, .capacity = 10000,
				  .rate = strcmp(kind, "recent") ? 0 : 1e-9)));
	if (ret_path)
		*ret_path = path;
	return f;
}

static struct blm_filter *opened(const char *path, unsigned flags)
{
	struct blm_filter *f;

	OK(blm_open(&f, NULL, path, flags));
	return f;
}

static uint64_t *word_of(const struct blm_filter *f)
{
	return &live_of(current_view(f))->writer;
}

static unsigned owner(const struct blm_filter *f)
{
	return (unsigned)(load_acquire(word_of(f)) & BLM_WRITER_OWNER);
}

static int add_number(struct blm_filter *f, uint64_t i)
{
	return blm_add(f, &i, sizeof(i));
}

/* A filter with the number 1. The thread owns its word until it ends the change of the view. */
static struct blm_filter *a_filter_in_a_change(const char **ret_path, struct blm_view **ret_view)
{
	struct blm_filter *f = a_filter("d-left", ret_path);

	ck_assert_int_eq(add_number(f, 1), 1);
	OK(blm_change_begin_held(f, ret_view));
	return f;
}

/* Ends the process where it stands, in a change. */
static int die_in_a_change(void *path)
{
	struct blm_filter *f;
	struct blm_view *view;

	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	MUST(add_number(f, 1) == 1);
	MUST(blm_change_begin_held(f, &view) == 0 && owner(f));
	raise(SIGKILL);
	return 0;
}

static void leave_an_owner(const char *path)
{
	ck_assert_int_eq(join(spawn(die_in_a_change, (void *)path)), 1000 + SIGKILL);
}

/* ---- Changes ---- */

/* The first one of an epoch may announce it, by the lock. */
START_TEST(changes_after_the_first_take_no_lock)
{
	const char *path;
	struct blm_filter *f = a_filter(kinds[_i], &path);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct blm_view *view;

	ck_assert_int_ge(fd, 0);
	for (uint64_t i = 0; i < 100; i++) {
		ck_assert_int_ge(add_number(f, i), 0);
		OK(blm_change_begin_held(f, &view));
		ck_assert_uint_ne(owner(f), 0);
		ck_assert(blm_ofd_is_free(fd, BLM_LOCK_WRITE));
		blm_change_end_held(f, view);
	}
	for (uint64_t i = 0; i < 100; i++)
		ck_assert(_i == 3 || blm_contains(f, &i, sizeof(i)));
	ck_assert_uint_eq(owner(f), 0);
	close(fd);
	blm_close(f);
}
END_TEST

START_TEST(the_word_names_the_writer_during_a_change_only)
{
	const char *path;
	struct blm_filter *f = a_filter("cuckoo", &path), *other = opened(path, 0);
	struct blm_view *view;

	ck_assert_int_eq(add_number(f, 1), 1);
	ck_assert_uint_eq(owner(other), 0);
	OK(blm_change_begin_held(f, &view));
	ck_assert_uint_ne(owner(other), 0);
	blm_change_end_held(f, view);
	ck_assert_uint_eq(owner(other), 0);
	blm_close(other);
	blm_close(f);
}
END_TEST

/* ---- Deaths ---- */

static void check_others(const char *path, const struct blm_filter *f)
{
	struct blm_filter *reader = opened(path, 0), *copy;
	uint64_t one = 1;

	OK(blm_copy(&copy, NULL, NULL, reader, 0));
	ck_assert(blm_contains(copy, &one, sizeof(one)));
	blm_close(copy);
	blm_close(reader);
	ck_assert_uint_eq(owner(f), 0);
}

/* _i: the first event after the death */
START_TEST(a_writer_that_died_in_a_change_blocks_none)
{
	const char *path;
	struct blm_filter *f = a_filter("cuckoo", &path), *reader, *copy;
	uint64_t count = load_acquire(word_of(f));

	leave_an_owner(path);
	ck_assert_uint_ne(owner(f), 0);
	switch (_i) {
	case 0:
		ck_assert_int_eq(add_number(f, 2), 1);
		break;
	case 1:
		OK(blm_sync(f));
		break;
	case 2:
		reader = opened(path, 0);
		OK(blm_copy(&copy, NULL, NULL, reader, 0));
		blm_close(copy);
		blm_close(reader);
		ck_assert_uint_ne(owner(f), 0);	/* a reader writes nothing */
		ck_assert_int_eq(add_number(f, 2), 1);
		break;
	case 3:
		OK(blm_clear(f));
		ck_assert_int_eq(add_number(f, 1), 1);
		break;
	}
	ck_assert_uint_ge(load_acquire(word_of(f)) / BLM_WRITER_COUNT, count / BLM_WRITER_COUNT);
	check_others(path, f);
	blm_close(f);
}
END_TEST

/* A process takes the same slots again, in the same order. */
START_TEST(a_slot_named_by_the_word_belongs_to_another)
{
	const char *path;
	struct blm_view *view;
	struct blm_filter *f = a_filter_in_a_change(&path, &view);
	unsigned slot;

	slot = owner(f);
	blm_change_end_held(f, view);
	blm_close(f);
	f = opened(path, BLM_OPEN_WRITE);
	store_release(word_of(f), load_acquire(word_of(f)) | slot);
	ck_assert_int_eq(add_number(f, 2), 1);
	OK(blm_change_begin_held(f, &view));
	ck_assert_uint_eq(owner(f), slot);
	blm_change_end_held(f, view);
	check_others(path, f);
	blm_close(f);
}
END_TEST

START_TEST(a_word_without_a_slot_blocks_no_writer)
{
	struct blm_filter *f = a_filter("d-left", NULL);

	store_release(word_of(f), BLM_WRITER_OWNER);
	ck_assert_int_eq(add_number(f, 1), 1);
	store_release(word_of(f), UINT64_MAX);
	ck_assert_int_eq(add_number(f, 2), 1);
	ck_assert_uint_eq(owner(f), 0);
	blm_close(f);
}
END_TEST

START_TEST(the_next_change_unlocks_what_a_dead_holder_locked)
{
	struct blm_filter *f = a_filter("d-left", NULL);
	struct blm_view *view;

	store_release(word_of(f), BLM_WRITER_LOCKED);
	ck_assert_int_eq(add_number(f, 1), 1);
	ck_assert_uint_eq(load_acquire(word_of(f)) & BLM_WRITER_LOCKED, 0);
	OK(blm_change_begin_held(f, &view));
	ck_assert_uint_ne(owner(f), 0);
	blm_change_end_held(f, view);
	blm_close(f);
}
END_TEST

/* ---- Copies, forks, files that are cut ---- */

static void copy_bytes(const char *from, const char *to)
{
	char command[1000];

	snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(a_copy_made_during_a_change_is_a_good_filter)
{
	const char *path, *copied = a_path();
	struct blm_view *view;
	struct blm_filter *f = a_filter_in_a_change(&path, &view), *copy;
	uint64_t one = 1;

	copy_bytes(path, copied);
	copy = opened(copied, BLM_OPEN_WRITE);
	ck_assert_uint_ne(owner(copy), 0);
	ck_assert(blm_contains(copy, &one, sizeof(one)));
	/* this thread is in a change, so another adds */
	blm_change_end_held(f, view);
	ck_assert_int_eq(add_number(copy, 2), 1);
	check_others(copied, copy);
	blm_close(copy);
	blm_close(f);
}
END_TEST

static int add_and_close(void *context)
{
	struct blm_filter *f = context;

	MUST(add_number(f, 3) == 1);
	blm_close(f);
	return 0;
}

static int end_the_change(void *context)
{
	struct blm_filter *f = context;

	blm_change_end_held(f, current_view(f));
	MUST(owner(f) != 0);
	return 0;
}

START_TEST(a_forked_child_does_not_own_what_its_parent_owns)
{
	const char *path;
	struct blm_view *view;
	struct blm_filter *f = a_filter_in_a_change(&path, &view);
	pid_t child;

	ck_assert_int_eq(join(spawn(end_the_change, f)), 0);
	ck_assert_uint_ne(owner(f), 0);
	child = spawn(add_and_close, f);
	usleep(20000);
	ck_assert_uint_ne(owner(f), 0);
	blm_change_end_held(f, view);
	ck_assert_int_eq(join(child), 0);
	check_others(path, f);
	blm_close(f);
}
END_TEST

START_TEST(a_change_of_a_truncated_file_fails)
{
	const char *path;
	struct blm_filter *f = a_filter("d-left", &path);

	OK(blm_survive_truncation());
	ck_assert_int_eq(add_number(f, 1), 1);
	ck_assert_int_eq(truncate(path, 0), 0);
	FAILS(add_number(f, 2), -EIO);
	FAILS(add_number(f, 3), -EIO);
	blm_close(f);
}
END_TEST

/* ---- Others that need the writers to end ---- */

static int add_some(void *path)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	for (uint64_t i = 100; i < 200; i++)
		MUST(add_number(f, i) >= 0);
	blm_close(f);
	return 0;
}

START_TEST(writers_wait_for_a_writer_that_is_stopped_midway)
{
	const char *path;
	struct blm_view *view;
	struct blm_filter *f = a_filter_in_a_change(&path, &view);
	pid_t child;
	int status;

	child = spawn(add_some, (void *)path);
	usleep(50000);
	ck_assert_int_eq(waitpid(child, &status, WNOHANG), 0);
	blm_change_end_held(f, view);
	ck_assert_int_eq(join(child), 0);
	blm_close(f);
}
END_TEST

/* It holds the lock of a copy for good. */
START_TEST(a_reader_is_noticed_and_delays_writers_only_briefly)
{
	const char *path;
	struct blm_filter *f = a_filter("d-left", &path), *reader;
	struct blm_quiesced quiesced;
	struct blm_view *view;

	blm_patience_reader = blm_patience_unknown = 1;
	ck_assert_int_eq(add_number(f, 1), 1);
	reader = opened(path, 0);
	view = current_view(reader);
	OK(blm_quiesce_begin(&quiesced, reader, view));
	FAILS(add_number(f, 2), -EBUSY);
	FAILS(add_number(f, 2), -EBUSY);
	ck_assert_uint_eq(owner(f), 0);
	blm_quiesce_end(&quiesced);
	ck_assert_int_eq(add_number(f, 2), 1);
	ck_assert_int_eq(add_number(f, 3), 1);
	ck_assert_uint_eq(load_acquire(word_of(f)) & BLM_WRITER_LOCKED, 0);
	blm_close(reader);
	blm_close(f);
}
END_TEST

static atomic_bool over;

static void *change_until_over(void *context)
{
	for (uint64_t i = 0; !atomic_load(&over); i++) {
		uint64_t key = i % 5000;

		ck_assert_int_ge(i / 5000 % 2 ? blm_remove(context, &key, sizeof(key))
				 : blm_claim(context, &key, sizeof(key)), 0);
	}
	return NULL;
}

/* _i: copies are made by who may write, or may not */
START_TEST(nothing_changes_while_the_filter_is_copied)
{
	const char *path;
	struct blm_filter *f = a_filter("d-left", &path), *reader;
	struct blm_quiesced quiesced;
	pthread_t thread;

	reader = opened(path, _i ? BLM_OPEN_WRITE : 0);
	atomic_store(&over, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, change_until_over, f), 0);
	for (int round = 0; round < 5; round++) {
		struct blm_view *view = current_view(reader);
		size_t bytes = (size_t)view->root.shape.bytes;
		uint8_t *before = malloc(bytes);

		OK(blm_quiesce_begin(&quiesced, reader, view));
		memcpy(before, view->root.bytes, bytes);
		for (int looks = 0; looks < 20; looks++) {
			usleep(100);
			ck_assert_mem_eq(before, view->root.bytes, bytes);
		}
		blm_quiesce_end(&quiesced);
		free(before);
		usleep(2000);
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	blm_close(reader);
	blm_close(f);
}
END_TEST

/* ---- Threads ---- */

enum { THREADS = 4, THEIR_KEYS = 500 };

static struct mine {
	struct blm_filter *f;
	unsigned i;
	pthread_t thread;
} mine[THREADS];

/* Keys of its own, of which it removes the even ones where the kind can. */
static void *change_own(void *context)
{
	const struct mine *m = context;

	for (uint64_t i = 0; i < 2 * THEIR_KEYS; i++) {
		uint64_t key = i / 2 * THREADS + m->i;

		if (i % 2 == 0)
			ck_assert_int_ge(blm_add(m->f, &key, sizeof(key)), 0);
		else if (key / THREADS % 2 == 0)
			blm_remove(m->f, &key, sizeof(key));
	}
	return NULL;
}

START_TEST(threads_take_turns_with_each_other_syncs_and_copies)
{
	const char *path;
	struct blm_filter *f = a_filter(kinds[_i], &path), *other = opened(path, BLM_OPEN_WRITE),
			  *reader = opened(path, 0), *copy;

	for (unsigned i = 0; i < THREADS; i++) {
		mine[i] = (struct mine){ .f = i == 0 ? other : f, .i = i };
		ck_assert_int_eq(pthread_create(&mine[i].thread, NULL, change_own, &mine[i]), 0);
	}
	for (int round = 0; round < 5; round++) {
		OK(blm_sync(f));
		OK(blm_copy(&copy, NULL, NULL, round % 2 ? reader : other, 0));
		blm_close(copy);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(mine[i].thread, NULL);
	/* stable filters forget */
	for (uint64_t key = THREADS; key < THREADS * THEIR_KEYS; key++)
		ck_assert(key / THREADS % 2 == 0 || _i == 3 || blm_contains(f, &key, sizeof(key)));
	blm_close(reader);
	blm_close(other);
	blm_close(f);
}
END_TEST

/* ---- Many processes, killed ---- */

enum { KEYS = 20000, CLAIMERS = 3, KILLED = CLAIMERS + 1 };

static struct race {
	const char *path;
	_Atomic uint8_t wins[KEYS];
} *race;

/* The successor of a killed worker begins at the first key again. */
static int claim_all(void *unused)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, race->path, BLM_OPEN_WRITE) == 0);
	for (uint64_t i = 0; i < KEYS; i++) {
		int won = blm_claim(f, &i, sizeof(i));

		MUST(won >= 0);
		if (won)
			atomic_fetch_add(&race->wins[i], 1);
	}
	blm_close(f);
	return 0;
}

/* A reader's copies and a writer's syncs, by turns. */
static int sync_and_copy(void *unused)
{
	struct blm_filter *f, *reader, *copy;

	MUST(blm_open(&f, NULL, race->path, BLM_OPEN_WRITE) == 0);
	MUST(blm_open(&reader, NULL, race->path, 0) == 0);
	for (;;) {
		MUST(blm_sync(f) == 0);
		MUST(blm_copy(&copy, NULL, NULL, reader, 0) == 0);
		blm_close(copy);
	}
	return 0;
}

static pid_t start(unsigned i)
{
	return spawn(i < CLAIMERS ? claim_all : sync_and_copy, NULL);
}

static unsigned kill_some(pid_t pid[KILLED], unsigned kills, uint64_t *random)
{
	unsigned killed = 0;

	while (kills--) {
		unsigned i = (unsigned)(next_random(random) % KILLED);
		int ended;

		usleep((useconds_t)(next_random(random) % 8000));
		kill(pid[i], SIGKILL);
		ended = join(pid[i]);
		ck_assert(ended == 1000 + SIGKILL || (ended == 0 && i < CLAIMERS));
		killed += ended != 0;
		pid[i] = start(i);
	}
	return killed;
}

START_TEST(killed_claimers_win_no_key_twice_and_lose_one_each)
{
	const char *const of[] = { "cuckoo", "d-left", "recent", "redis-cuckoo" };
	uint64_t random = (uint64_t)_i;
	unsigned killed, lost = 0;
	struct blm_filter *f;
	pid_t pid[KILLED];

	race = mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(race, MAP_FAILED);
	race->path = a_path();
	OK(blm_create(&f, NULL, race->path,
		      &BLM_PARAMS(.kind = of[_i], .capacity = 2 * KEYS,
				  .rate = _i == 3 ? 0.02 : 1e-8)));
	for (unsigned i = 0; i < KILLED; i++)
		pid[i] = start(i);
	killed = kill_some(pid, 5 + (unsigned)(60 * test_scale()), &random);
	for (unsigned i = 0; i < CLAIMERS; i++)
		ck_assert_int_eq(join(pid[i]), 0);
	kill(pid[CLAIMERS], SIGKILL);
	join(pid[CLAIMERS]);
	for (uint64_t i = 0; i < KEYS; i++) {
		ck_assert_int_le(race->wins[i], 1);
		ck_assert(blm_contains(f, &i, sizeof(i)));
		lost += race->wins[i] == 0;
	}
	/* at the rate of the last one others are taken for present */
	ck_assert(lost <= killed || _i == 3);
	OK(blm_sync(f));
	ck_assert_uint_eq(owner(f), 0);
	blm_close(f);
	munmap(race, sizeof(*race));
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("file/writer_word");
	TCase *tc = tcase_create("writer_word"), *threads = tcase_create("threads");

	tcase_add_loop_test(tc, changes_after_the_first_take_no_lock, 0, (int)ARRAY_LEN(kinds));
	tcase_add_test(tc, the_word_names_the_writer_during_a_change_only);
	tcase_add_loop_test(tc, a_writer_that_died_in_a_change_blocks_none, 0, 4);
	tcase_add_test(tc, a_slot_named_by_the_word_belongs_to_another);
	tcase_add_test(tc, a_word_without_a_slot_blocks_no_writer);
	tcase_add_test(tc, the_next_change_unlocks_what_a_dead_holder_locked);
	tcase_add_test(tc, a_copy_made_during_a_change_is_a_good_filter);
	tcase_add_test(tc, a_forked_child_does_not_own_what_its_parent_owns);
	if (!SANITIZED)		/* sanitizers take the signal for themselves */
		tcase_add_test(tc, a_change_of_a_truncated_file_fails);
	tcase_add_test(tc, writers_wait_for_a_writer_that_is_stopped_midway);
	tcase_add_test(tc, a_reader_is_noticed_and_delays_writers_only_briefly);
	tcase_add_loop_test(tc, nothing_changes_while_the_filter_is_copied, 0, 2);
	tcase_add_loop_test(tc, killed_claimers_win_no_key_twice_and_lose_one_each, 0, 4);
	tcase_add_loop_test(threads, threads_take_turns_with_each_other_syncs_and_copies,
			    0, (int)ARRAY_LEN(kinds));
	suite_add_tcase(s, tc);
	suite_add_tcase(s, threads);
	return run_suite(s);
}
