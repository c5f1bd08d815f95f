/*
 * presence.c - threads that are present in a file without a system call, and those that exclude
 * them
 *
 * The interleavings of the protocol are tests/schedule's. Here is what the kernel has a part in:
 * locks of bytes, deaths, forks, membarrier(2).
 */
#include "suite.h"

#include "file/ofd_lock.h"
#include "handle/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* ---- A membarrier(2) that is refused on order ---- */

static bool refuses_registration, refuses_barriers;
static unsigned refused;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_membarrier
	    && ((int)a[0] == MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED
			? refuses_registration
			: refuses_barriers
				  && ((int)a[0] == MEMBARRIER_CMD_GLOBAL_EXPEDITED
				      || (int)a[0] == MEMBARRIER_CMD_GLOBAL))) {
		refused++;
		errno = EPERM;
		return -1;
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- Filters, and what their slots say ---- */

static struct blm_filter *a_filter(const char *kind, const char **ret_path)
{
	const char *path = a_path();
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path, &BLM_PARAMS(.kind = kind, .capacity = 10000, .rate = 1e-9)));
	if (ret_path)
		*ret_path = path;
	return f;
}

static struct blm_filter *opened(const char *path)
{
	struct blm_filter *f;

	OK(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
	return f;
}

static unsigned slots_with(const struct blm_filter *f, uint64_t bits)
{
	const struct blm_live *live = live_of(current_view(f));
	unsigned count = 0;

	for (unsigned i = 0; i < BLM_SLOTS; i++)
		count += (load_acquire(&live->slots[i % BLM_SLOT_LINES].word[i / BLM_SLOT_LINES])
			  & bits)
		      != 0;
	return count;
}

/* By the locks: words outlive their owners. */
static unsigned owned(const struct blm_filter *f)
{
	char path[64];
	unsigned count = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d",
		 blm_view_fd((struct blm_filter *)f, current_view(f)));
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	for (unsigned i = 0; i < BLM_SLOTS; i++) {
		struct flock lock = { .l_type = F_RDLCK,
				      .l_whence = SEEK_SET,
				      .l_start = BLM_SLOT_BYTES + i,
				      .l_len = 1 };

		ck_assert_int_eq(fcntl(fd, F_OFD_GETLK, &lock), 0);
		count += lock.l_type == F_WRLCK;
	}
	close(fd);
	return count;
}

static unsigned announced(const struct blm_filter *f)
{
	return slots_with(f, BLM_SLOT_ANNOUNCED);
}

static int claim_number(struct blm_filter *f, uint64_t i)
{
	return blm_claim(f, &i, sizeof(i));
}

/* Ends the process where it stands, in a claim. */
static int die_in_a_claim(void *path)
{
	struct blm_filter *f;
	struct blm_view *view;

	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	MUST(claim_number(f, 1) >= 0);
	MUST(blm_change_begin_held(f, &view) == 0 && announced(f) == 1);
	raise(SIGKILL);
	return 0;
}

static void leave_an_announced_slot(const char *path)
{
	ck_assert_int_eq(join(spawn(die_in_a_claim, (void *)path)), 1000 + SIGKILL);
}

/* ---- Claims ---- */

static const char *const kinds[] = { "blocked", "classic", "split-block", "scalable", "window" };

static int claim_without_calls(void *context)
{
	struct blm_filter *f = context;

	MUST(claim_number(f, 0) == 1);
	/* from here on any call but read(2), write(2) and exit(2) kills */
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	for (int twice = 0; twice < 2; twice++)
		for (uint64_t i = 1; i < 1000; i++)
			if (claim_number(f, i) != !twice)
				__real_syscall(SYS_exit, 3);
	__real_syscall(SYS_exit, 0);
	return 4;
}

START_TEST(a_claim_after_the_first_calls_nothing_of_the_system)
{
	struct blm_filter *f = _i < (int)ARRAY_LEN(kinds) ? a_filter(kinds[_i], NULL) : NULL;

	if (!f)
		OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.capacity = 10000, .rate = 1e-9)));
	ck_assert_int_eq(join(spawn(claim_without_calls, f)), 0);
	for (uint64_t i = 0; i < 1000; i++)
		ck_assert_int_eq(claim_number(f, i), 0);
	blm_close(f);
}
END_TEST

START_TEST(a_slot_is_announced_only_during_a_claim)
{
	const char *path;
	struct blm_filter *f = a_filter(NULL, &path), *other = opened(path);
	struct blm_view *view;

	ck_assert_uint_eq(owned(f), 0);
	ck_assert_int_eq(claim_number(f, 1), 1);
	ck_assert(owned(f) == 1 && announced(f) == 0);
	OK(blm_change_begin_held(f, &view));
	ck_assert_uint_eq(announced(other), 1);
	blm_change_end_held(f, view);
	ck_assert_uint_eq(announced(other), 0);
	ck_assert_int_eq(claim_number(other, 1), 0);	/* present, which is only asked */
	ck_assert_uint_eq(owned(f), 1);
	ck_assert_int_eq(claim_number(other, 2), 1);
	ck_assert_uint_eq(owned(f), 2);
	blm_close(f);
	ck_assert_uint_eq(owned(other), 1);
	blm_close(other);
}
END_TEST

static void *claim_once(void *f)
{
	return (void *)(intptr_t)claim_number(f, 7);
}

START_TEST(a_thread_that_ends_gives_its_slot_to_the_next)
{
	struct blm_filter *f = a_filter(NULL, NULL);

	for (int i = 0; i < 2 * BLM_PRESENCE_THREADS; i++) {
		pthread_t thread;
		void *won;

		ck_assert_int_eq(pthread_create(&thread, NULL, claim_once, f), 0);
		ck_assert_int_eq(pthread_join(thread, &won), 0);
		ck_assert_int_eq((int)(intptr_t)won, i == 0);
		ck_assert_uint_eq(owned(f), 0);
	}
	blm_close(f);
}
END_TEST

/* ---- Excluding ---- */

static int clear_it(void *f)
{
	MUST(blm_clear(f) == 0);
	return 0;
}

static void *clear_in_a_thread(void *f)
{
	return (void *)(intptr_t)blm_clear(f);
}

static _Atomic bool has_excluded, may_end;

static void *list_in_a_thread(void *view)
{
	struct blm_view *v = view;
	int r = blm_lock_exclusive(&v->lock, v->image.fd);

	atomic_store(&has_excluded, true);
	while (!atomic_load(&may_end))
		usleep(100);
	if (r == 0)
		blm_unlock_exclusive(&v->lock, v->image.fd);
	return (void *)(intptr_t)r;
}

static void wait_until_excluding(const struct blm_view *view)
{
	while (!load_acquire(&live_of(view)->excluding))
		usleep(100);
}

/* _i: by another process, by a thread with a handle of its own, by a thread with this handle */
START_TEST(a_present_claimer_is_waited_for)
{
	struct blm_filter *f = a_filter(NULL, NULL);
	struct blm_view *view;
	pthread_t thread;
	pid_t pid = 0;
	void *r = NULL;

	ck_assert_int_eq(claim_number(f, 1), 1);
	OK(blm_change_begin_held(f, &view));
	ck_assert_uint_eq(announced(f), 1);
	if (_i == 0)
		pid = spawn(clear_it, f);
	else
		ck_assert_int_eq(pthread_create(&thread, NULL,
						_i == 1 ? clear_in_a_thread : list_in_a_thread,
						_i == 1 ? (void *)f : view),
				 0);
	alarm(TOO_LONG);
	wait_until_excluding(view);
	usleep(20000);		/* without waiting it would mostly proceed in this time */
	ck_assert(load_acquire(&live_of(view)->excluding)
		  && state_of(load_acquire(&live_of(view)->state.word)) == BLM_LIVE);
	ck_assert(!atomic_load(&has_excluded));
	blm_change_end_held(f, view);
	atomic_store(&may_end, true);
	if (_i == 0)
		ck_assert_int_eq(join(pid), 0);
	else
		ck_assert_int_eq(pthread_join(thread, &r), 0);
	alarm(0);
	ck_assert_ptr_null(r);
	ck_assert_uint_eq(load_acquire(&live_of(view)->excluding), 0);
	ck_assert_int_eq(claim_number(f, 1), _i < 2);
	blm_close(f);
}
END_TEST

START_TEST(a_claim_waits_for_who_excludes)
{
	const char *path;
	struct blm_filter *f = a_filter(NULL, &path), *other = opened(path);
	struct blm_view *view;
	pthread_t thread;
	void *won;

	ck_assert_int_eq(claim_number(f, 1), 1);
	OK(blm_lock_current(other, &view));
	ck_assert_int_eq(pthread_create(&thread, NULL, claim_once, f), 0);
	usleep(20000);
	ck_assert(!blm_contains(f, &(uint64_t){ 7 }, 8));
	blm_unlock_exclusive(&view->lock, view->image.fd);
	alarm(TOO_LONG);
	ck_assert_int_eq(pthread_join(thread, &won), 0);
	alarm(0);
	ck_assert_int_eq((int)(intptr_t)won, 1);
	blm_close(f);
	blm_close(other);
}
END_TEST

START_TEST(a_claimer_that_died_present_is_not_waited_for)
{
	const char *path;
	struct blm_filter *f = a_filter(NULL, &path);

	for (int i = 0; i < 3; i++) {
		leave_an_announced_slot(path);
		ck_assert_uint_eq(announced(f), 1);
		alarm(TOO_LONG);
		OK(blm_clear(f));
		alarm(0);
		ck_assert_int_eq(claim_number(f, 1), 1);
	}
	blm_close(f);
}
END_TEST

static int die_excluding(void *path)
{
	struct blm_filter *f;
	struct blm_view *view;

	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	MUST(blm_lock_current(f, &view) == 0);
	raise(SIGKILL);
	return 0;
}

START_TEST(the_next_claim_clears_a_dead_excluders_state)
{
	const char *path;
	struct blm_filter *f = a_filter(NULL, &path);
	const struct blm_live *live = live_of(current_view(f));

	ck_assert_int_eq(claim_number(f, 1), 1);
	ck_assert_int_eq(join(spawn(die_excluding, (void *)path)), 1000 + SIGKILL);
	ck_assert_uint_eq(load_acquire(&live->excluding), 1);
	ck_assert_int_eq(claim_number(f, 2), 1);
	ck_assert_uint_eq(load_acquire(&live->excluding), 0);
	ck_assert_int_eq(claim_number(f, 2), 0);
	blm_close(f);
}
END_TEST

/* ---- Strangers, copies, forks, many threads ---- */

static void lock_all_bytes(int fd, short type)
{
	unsigned locked = 0;

	for (unsigned i = 0; i < BLM_SLOTS; i++) {
		struct flock lock = { .l_type = type,
				      .l_whence = SEEK_SET,
				      .l_start = BLM_SLOT_BYTES + i,
				      .l_len = 1 };

		locked += fcntl(fd, F_OFD_SETLK, &lock) == 0;
	}
	ck_assert_uint_ge(locked, BLM_SLOTS - 1);	/* one may be a living owner's */
}

/* ---- Children that outlive their parents ---- */

static int child_pipe[2];

/* The child waits until the test closes its pipe. */
static int die_with_a_child(void *context)
{
	const char *path = context;
	struct blm_filter *f = opened(path);
	struct blm_view *view;
	char c;

	MUST(claim_number(f, 1) == 1);
	MUST(blm_change_begin_held(f, &view) == 0);
	if (fork() == 0) {
		close(child_pipe[1]);
		MUST(read(child_pipe[0], &c, 1) == 0);
		MUST(blm_contains(f, "x", 1) == false);
		_exit(0);
	}
	kill(getpid(), SIGKILL);
	return 0;
}

START_TEST(a_dead_claimer_with_a_living_child_delays_no_replacer)
{
	const char *path;
	struct blm_filter *f = a_filter(NULL, &path);

	ck_assert_int_eq(pipe2(child_pipe, O_CLOEXEC), 0);
	ck_assert_int_eq(join(spawn(die_with_a_child, (void *)path)), 1000 + SIGKILL);
	alarm(TOO_LONG);
	OK(blm_clear(f));
	alarm(0);
	close(child_pipe[0]);
	close(child_pipe[1]);
	ck_assert_int_eq(claim_number(f, 1), 1);
	blm_close(f);
}
END_TEST

static int exclude_and_die_with_a_child(void *context)
{
	struct blm_filter *f = opened(context);
	struct blm_view *view;
	char c;

	MUST(blm_lock_current(f, &view) == 0);
	if (fork() == 0) {
		close(child_pipe[1]);
		MUST(read(child_pipe[0], &c, 1) == 0);
		_exit(0);
	}
	kill(getpid(), SIGKILL);
	return 0;
}

START_TEST(a_dead_excluder_with_a_living_child_blocks_no_claim)
{
	const char *path;
	struct blm_filter *f = a_filter(NULL, &path);

	ck_assert_int_eq(pipe2(child_pipe, O_CLOEXEC), 0);
	ck_assert_int_eq(join(spawn(exclude_and_die_with_a_child, (void *)path)), 1000 + SIGKILL);
	alarm(TOO_LONG);
	ck_assert_int_eq(claim_number(f, 1), 1);
	alarm(0);
	close(child_pipe[0]);
	close(child_pipe[1]);
	blm_close(f);
}
END_TEST

static int sleep_until_asked(void *unused)
{
	char c;

	close(child_pipe[1]);
	return read(child_pipe[0], &c, 1) != 0;
}

START_TEST(a_closed_handle_frees_its_slots_despite_a_child)
{
	const char *path;
	struct blm_filter *f = a_filter(NULL, &path), *g;
	pid_t pid[10];

	ck_assert_int_eq(pipe2(child_pipe, O_CLOEXEC), 0);
	for (unsigned i = 0; i < ARRAY_LEN(pid); i++) {
		g = opened(path);
		ck_assert_int_eq(claim_number(g, i), 1);
		pid[i] = spawn(sleep_until_asked, NULL);
		blm_close(g);
	}
	alarm(TOO_LONG);
	while (owned(f))	/* until all children have begun */
		usleep(1000);
	alarm(0);
	close(child_pipe[1]);
	for (unsigned i = 0; i < ARRAY_LEN(pid); i++)
		ck_assert_int_eq(join(pid[i]), 0);
	close(child_pipe[0]);
	blm_close(f);
}
END_TEST

/* ---- Files that are cut ---- */

static int change_what_is_cut_meanwhile(void *context)
{
	const char *path = context;
	struct blm_filter *f = opened(path);
	struct blm_view *view;

	MUST(blm_survive_truncation() == 0);
	MUST(claim_number(f, 1) == 1);
	MUST(blm_change_begin(f, &view) == 0);
	MUST(truncate(path, 0) == 0);
	alarm(TOO_LONG);
	MUST(blm_change_end(f, view) == -EIO);
	MUST(claim_number(f, 2) == -EIO);
	MUST(blm_clear(f) < 0);
	alarm(0);
	blm_close(f);
	return 0;
}

START_TEST(an_excluder_in_a_truncated_file_does_not_wait)
{
	const char *path;

	if (SANITIZED)		/* sanitizers take all signals for themselves */
		return;
	blm_close(a_filter(NULL, &path));
	ck_assert_int_eq(join(spawn(change_what_is_cut_meanwhile, (void *)path)), 0);
}
END_TEST

static int close_what_was_cut(void *context)
{
	const char *path = context;
	struct blm_filter *f = opened(path);

	MUST(claim_number(f, 1) == 1);
	MUST(truncate(path, 0) == 0);
	blm_close(f);
	return 0;
}

START_TEST(a_handle_of_a_truncated_file_closes_without_reading_it)
{
	const char *path;

	blm_close(a_filter(NULL, &path));
	ck_assert_int_eq(join(spawn(close_what_was_cut, (void *)path)), 0);
}
END_TEST

START_TEST(a_reader_that_locks_slot_bytes_is_no_owner)
{
	const char *path;
	struct blm_filter *f = a_filter(NULL, &path);
	int stranger;

	leave_an_announced_slot(path);
	stranger = open(path, O_RDONLY | O_CLOEXEC);
	lock_all_bytes(stranger, F_RDLCK);
	alarm(TOO_LONG);
	OK(blm_clear(f));
	ck_assert_int_eq(claim_number(f, 5), 1);
	close(stranger);
	stranger = open(path, O_RDONLY | O_CLOEXEC);	/* of the new file */
	leave_an_announced_slot(path);
	lock_all_bytes(stranger, F_RDLCK);
	for (uint64_t i = 10; i < 30; i++)
		ck_assert(claim_number(f, i) == 1 && claim_number(f, i) == 0);
	OK(blm_clear(f));
	alarm(0);
	close(stranger);
	blm_close(f);
}
END_TEST

START_TEST(without_a_free_slot_claims_take_the_lock)
{
	const char *path;
	struct blm_filter *f = a_filter(NULL, &path);
	int others = open(path, O_RDWR | O_CLOEXEC);
	struct blm_view *view;

	lock_all_bytes(others, F_WRLCK);
	ck_assert(claim_number(f, 1) == 1 && claim_number(f, 1) == 0);
	ck_assert_ptr_null(current_view(f)->presence.word[blm_here.number]);
	OK(blm_change_begin_held(f, &view));
	ck_assert(blm_ofd_busy(others, BLM_LOCK_REPLACE));
	blm_change_end_held(f, view);
	ck_assert(!blm_ofd_busy(others, BLM_LOCK_REPLACE));
	close(others);
	/* and look for a slot again, after some thousand */
	for (uint64_t i = 2; i < 5000; i++)
		OK(claim_number(f, i));
	ck_assert_uint_eq(owned(f), 1);
	blm_close(f);
}
END_TEST

static void copy_bytes(const char *from, const char *to)
{
	char command[1300];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(a_copy_made_while_claimers_are_present_is_good)
{
	const char *path, *copy = a_path();
	struct blm_filter *f = a_filter(NULL, &path), *g;
	struct blm_view *view;

	ck_assert_int_eq(claim_number(f, 1), 1);
	OK(blm_change_begin_held(f, &view));
	store_release(&live_of(view)->excluding, 1);
	copy_bytes(path, copy);
	store_release(&live_of(view)->excluding, 0);
	g = opened(copy);
	alarm(TOO_LONG);
	ck_assert(announced(g) == 1
		  && load_acquire(&live_of(current_view(g))->excluding) == 1);
	ck_assert(claim_number(g, 1) == 0 && claim_number(g, 2) == 1);
	OK(blm_sync(g));
	OK(blm_clear(g));
	ck_assert_int_eq(claim_number(g, 1), 1);
	alarm(0);
	blm_close(g);
	blm_change_end_held(f, view);
	blm_close(f);
}
END_TEST

static int claim_as_child(void *context)
{
	struct blm_filter *f = context;

	MUST(owned(f) == 1);
	MUST(claim_number(f, 1) == 0 && claim_number(f, 2) == 1);
	MUST(owned(f) == 2);
	blm_close(f);
	return 0;
}

START_TEST(a_forked_child_takes_its_own_slot)
{
	struct blm_filter *f = a_filter(NULL, NULL);
	struct blm_view *view;

	ck_assert_int_eq(claim_number(f, 1), 1);
	/* that its slot is announced is nothing to the child */
	if (_i)
		OK(blm_change_begin_held(f, &view));
	ck_assert_int_eq(join(spawn(claim_as_child, f)), 0);
	ck_assert(owned(f) == 1 && announced(f) == (unsigned)_i);
	if (_i)
		blm_change_end_held(f, view);
	ck_assert_int_eq(claim_number(f, 2), 0);
	blm_close(f);
}
END_TEST

enum { CROWD = BLM_SLOTS + 20, CROWD_KEYS = 100 };

static struct {
	struct blm_filter *f;
	pthread_barrier_t all_there, all_done;
	_Atomic unsigned won[CROWD_KEYS];
} crowd;

static void *claim_in_a_crowd(void *nothing)
{
	pthread_barrier_wait(&crowd.all_there);
	for (uint64_t i = 0; i < CROWD_KEYS; i++)
		atomic_fetch_add(&crowd.won[i], (unsigned)claim_number(crowd.f, i));
	pthread_barrier_wait(&crowd.all_done);
	return nothing;
}

START_TEST(more_threads_than_slots_have_one_winner_a_key)
{
	pthread_t thread[CROWD];
	pthread_attr_t attr;

	crowd.f = a_filter(NULL, NULL);
	pthread_barrier_init(&crowd.all_there, NULL, CROWD);
	pthread_barrier_init(&crowd.all_done, NULL, CROWD + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 18);
	for (int i = 0; i < CROWD; i++)
		ck_assert_int_eq(pthread_create(&thread[i], &attr, claim_in_a_crowd, NULL), 0);
	pthread_barrier_wait(&crowd.all_done);
	for (int i = 0; i < CROWD; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < CROWD_KEYS; i++)
		ck_assert_uint_eq(crowd.won[i], 1);
	ck_assert_uint_eq(owned(crowd.f), 0);
	OK(blm_clear(crowd.f));
	blm_close(crowd.f);
}
END_TEST

START_TEST(a_file_made_before_there_were_slots_has_them)
{
	const char *copy = a_path();
	struct blm_filter *f;

	copy_bytes(EXCHANGE "/../golden/blocked-xxh3.blm", copy);
	f = opened(copy);
	for (uint64_t i = 1000; i < 1003; i++)
		ck_assert(claim_number(f, i) == 1 && claim_number(f, i) == 0);
	ck_assert_uint_eq(owned(f), 1);
	OK(blm_clear(f));
	ck_assert_int_eq(claim_number(f, 1000), 1);
	blm_close(f);
}
END_TEST

/* ---- Dropping ---- */

enum { DROPPED_UNDER = 3, KEYS_MOST = 1 << 20 };

static struct {
	_Atomic uint64_t told, open;
	_Atomic uint8_t won[KEYS_MOST];
} *drop_log;

static int claim_until_dropped(void *dir)
{
	struct blm_store *store;
	struct blm_filter *f;
	int r = 0;

	MUST(blm_store_open(&store, dir, 0) == 0 && blm_open(&f, store, "a", BLM_OPEN_WRITE) == 0);
	atomic_fetch_add(&drop_log->open, 1);
	for (uint64_t i = 0; i < KEYS_MOST && r >= 0; i++) {
		r = claim_number(f, i);
		if (r == 1)
			atomic_fetch_add(&drop_log->won[i], 1);
		atomic_fetch_add(&drop_log->told, 1);
	}
	MUST(r >= 0 || r == -ESTALE);
	blm_close(f);
	blm_store_close(store);
	return r < 0 ? 1 : 0;
}

START_TEST(claimers_of_a_dropped_filter_get_errors_and_no_duplicates)
{
	const char *dir = a_path();
	struct blm_store *store;
	struct blm_filter *f;
	pid_t pid[DROPPED_UNDER];

	drop_log = mmap(NULL, sizeof(*drop_log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	ck_assert_ptr_ne(drop_log, MAP_FAILED);
	OK(blm_store_open(&store, dir, BLM_STORE_CREATE));
	OK(blm_create(&f, store, "a", &BLM_PARAMS(.capacity = KEYS_MOST, .rate = 1e-9)));
	blm_close(f);
	for (int i = 0; i < DROPPED_UNDER; i++)
		pid[i] = spawn(claim_until_dropped, (void *)dir);
	while (atomic_load(&drop_log->told) < 1000 || atomic_load(&drop_log->open) < DROPPED_UNDER)
		usleep(100);
	alarm(TOO_LONG);
	OK(blm_store_drop(store, "a"));
	for (int i = 0; i < DROPPED_UNDER; i++)
		ck_assert_int_le(join(pid[i]), 1);
	alarm(0);
	for (int i = 0; i < KEYS_MOST; i++)
		ck_assert_uint_le(drop_log->won[i], 1);
	blm_store_close(store);
}
END_TEST

/* ---- Without membarrier(2) ---- */

START_TEST(a_claimer_that_cannot_register_fences_itself)
{
	struct blm_filter *f = a_filter(NULL, NULL);

	refuses_registration = refuses_barriers = true;
	ck_assert(claim_number(f, 1) == 1 && claim_number(f, 1) == 0);
	ck_assert_uint_ge(refused, 1);
	ck_assert_uint_eq(slots_with(f, BLM_SLOT_FENCES), 1);
	ck_assert_uint_eq(slots_with(f, BLM_SLOT_FENCED), 0);
	OK(blm_clear(f));
	ck_assert_int_eq(claim_number(f, 1), 1);
	blm_close(f);
}
END_TEST

START_TEST(an_excluder_that_cannot_fence_excludes_no_dependent_claimer)
{
	const char *path;
	struct blm_filter *f = a_filter(NULL, &path);
	const struct blm_live *live = live_of(current_view(f));

	leave_an_announced_slot(path);
	refuses_barriers = true;
	OK(blm_clear(f));		/* it is dead */
	refuses_barriers = false;
	ck_assert_int_eq(claim_number(f, 2), 1);
	live = live_of(current_view(f));
	if (slots_with(f, BLM_SLOT_FENCED)) {	/* as on every system since Linux 4.16 */
		refuses_barriers = true;
		FAILS(blm_clear(f), -ENOSYS);
		ck_assert(strstr(blm_error_message(), "membarrier"));
		ck_assert_uint_eq(load_acquire(&live->excluding), 0);
		ck_assert_int_eq(claim_number(f, 2), 0);
		refuses_barriers = false;
	}
	OK(blm_clear(f));
	ck_assert_int_eq(claim_number(f, 2), 1);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("file/presence");
	TCase *tc = tcase_create("presence");

	if (!SANITIZED)		/* sanitizers call the system themselves */
		tcase_add_loop_test(tc, a_claim_after_the_first_calls_nothing_of_the_system, 0,
				    (int)ARRAY_LEN(kinds) + 1);
	tcase_add_test(tc,
		       a_slot_is_announced_only_during_a_claim);
	tcase_add_test(tc, a_thread_that_ends_gives_its_slot_to_the_next);
	tcase_add_loop_test(tc, a_present_claimer_is_waited_for, 0, 3);
	tcase_add_test(tc, a_claim_waits_for_who_excludes);
	tcase_add_test(tc, a_claimer_that_died_present_is_not_waited_for);
	tcase_add_test(tc, the_next_claim_clears_a_dead_excluders_state);
	tcase_add_test(tc, a_dead_claimer_with_a_living_child_delays_no_replacer);
	tcase_add_test(tc, a_dead_excluder_with_a_living_child_blocks_no_claim);
	tcase_add_test(tc, a_closed_handle_frees_its_slots_despite_a_child);
	tcase_add_test(tc, an_excluder_in_a_truncated_file_does_not_wait);
	tcase_add_test(tc, a_handle_of_a_truncated_file_closes_without_reading_it);
	tcase_add_test(
		tc, a_reader_that_locks_slot_bytes_is_no_owner);
	tcase_add_test(tc, without_a_free_slot_claims_take_the_lock);
	tcase_add_test(tc, a_copy_made_while_claimers_are_present_is_good);
	tcase_add_loop_test(tc, a_forked_child_takes_its_own_slot, 0, 2);
	tcase_add_test(tc, more_threads_than_slots_have_one_winner_a_key);
	tcase_add_test(tc, a_file_made_before_there_were_slots_has_them);
	tcase_add_test(tc, claimers_of_a_dropped_filter_get_errors_and_no_duplicates);
	tcase_add_test(tc, a_claimer_that_cannot_register_fences_itself);
	tcase_add_test(tc, an_excluder_that_cannot_fence_excludes_no_dependent_claimer);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
