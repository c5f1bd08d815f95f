/* ofd_lock.c - the locks of a filter's file, between the threads of one handle */
#include "suite.h"

#include "file/lock_wait.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

struct locked {
	struct blm_lock lock;
	int fd;
};

static void *take_and_give_back(void *context)
{
	struct locked *l = context;

	for (int i = 0; i < 2; i++) {
		if (blm_lock_shared(&l->lock, l->fd) < 0)
			return l;
		blm_unlock_shared(&l->lock, l->fd);
		if (blm_lock_exclusive(&l->lock, l->fd) < 0)
			return l;
		blm_unlock_exclusive(&l->lock, l->fd);
	}
	return NULL;
}

START_TEST(the_next_thread_gets_a_released_lock)
{
	struct locked l = { .fd = open(a_path(), O_RDWR | O_CREAT | O_CLOEXEC, 0600) };

	ck_assert_int_ge(l.fd, 0);
	blm_lock_init(&l.lock);
	for (int i = 0; i < 3; i++) {
		struct timespec limit;
		pthread_t thread;
		void *failed;

		clock_gettime(CLOCK_REALTIME, &limit);
		limit.tv_sec += TOO_LONG;
		ck_assert_int_eq(pthread_create(&thread, NULL, take_and_give_back, &l), 0);
		ck_assert_msg(pthread_timedjoin_np(thread, &failed, &limit) == 0,
			      "it waits for a lock that nobody holds");
		ck_assert_ptr_null(failed);
		ck_assert(!blm_ofd_busy(l.fd, BLM_LOCK_REPLACE));
	}
	blm_lock_destroy(&l.lock);
	close(l.fd);
}
END_TEST

static struct locked a_lock(int *ret_other)
{
	const char *path = a_path();
	struct locked l = { .fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) };

	*ret_other = open(path, O_RDWR | O_CLOEXEC);
	ck_assert(l.fd >= 0 && *ret_other >= 0);
	blm_lock_init(&l.lock);
	return l;
}

START_TEST(a_failed_lock_leaves_the_file_to_other_threads)
{
	int other;
	struct locked l = a_lock(&other);

	for (int i = 0; i < 2; i++) {
		FAILS(blm_lock_exclusive(&l.lock, -1), -EBADF);
		ck_assert(!blm_lock_is_held(&l.lock, l.fd));
		FAILS(blm_lock_shared(&l.lock, -1), -EBADF);
		ck_assert(!blm_lock_is_held(&l.lock, l.fd));
	}
	ck_assert_ptr_null(take_and_give_back(&l));
	blm_lock_destroy(&l.lock);
	close(l.fd), close(other);
}
END_TEST

START_TEST(a_shared_file_stays_locked_until_its_last_user_unlocks)
{
	int other;
	struct locked l = a_lock(&other);

	OK(blm_lock_shared(&l.lock, l.fd));
	OK(blm_lock_shared(&l.lock, l.fd));
	ck_assert(blm_lock_is_held(&l.lock, l.fd));
	for (int i = 0; i < 2; i++) {
		ck_assert(blm_ofd_busy(other, BLM_LOCK_REPLACE));
		/* others may share it, too */
		ck_assert(!blm_ofd_held(other, BLM_LOCK_REPLACE));
		ck_assert(!blm_ofd_busy(other, BLM_LOCK_GATE));
		blm_unlock_shared(&l.lock, l.fd);
	}
	ck_assert(!blm_ofd_busy(other, BLM_LOCK_REPLACE));
	ck_assert(!blm_lock_is_held(&l.lock, l.fd));
	OK(blm_lock_exclusive(&l.lock, l.fd));
	ck_assert(blm_ofd_held(other, BLM_LOCK_REPLACE) && blm_ofd_busy(other, BLM_LOCK_REPLACE));
	ck_assert(blm_lock_is_held(&l.lock, other));
	ck_assert(!blm_ofd_busy(other, BLM_LOCK_GATE));
	blm_unlock_exclusive(&l.lock, l.fd);
	ck_assert(!blm_ofd_busy(other, BLM_LOCK_REPLACE));
	blm_lock_destroy(&l.lock);
	close(l.fd), close(other);
}
END_TEST

/* ---- A replacer among many who share the lock ---- */

static struct locked shared_by;

static void *share_it(void *nothing)
{
	return (void *)(intptr_t)blm_lock_shared(&shared_by.lock, shared_by.fd);
}

static void wait_until_it_sleeps(pid_t tid)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	while (state != 'S') {
		FILE *stat = fopen(path, "re");

		ck_assert(stat && fscanf(stat, "%*d %*s %c", &state) == 1);
		fclose(stat);
		sched_yield();
	}
}

static atomic_int waiter;

static void *wait_to_share(void *context)
{
	atomic_store(&waiter, gettid());
	return share_it(context);
}

static int asked_twice;

static int count_pauses(void)
{
	asked_twice++;
	return 0;
}

/*
 * It waits for a replacer of now, and the next replacer waits for that one and not for the claimer.
 */
START_TEST(a_claimer_that_waits_does_not_close_the_gate)
{
	pthread_t thread;
	void *r;
	int other;

	shared_by = a_lock(&other);
	OK(blm_ofd_lock(other, BLM_LOCK_REPLACE, true));
	blm_stop_waiting_if(count_pauses);
	ck_assert_int_eq(pthread_create(&thread, NULL, share_it, NULL), 0);
	while (!*(volatile int *)&asked_twice)		/* it waits for the lock behind the gate */
		sched_yield();
	ck_assert(!blm_ofd_busy(other, BLM_LOCK_GATE));
	blm_ofd_unlock(other, BLM_LOCK_REPLACE);
	pthread_join(thread, &r);
	ck_assert_ptr_null(r);
	blm_unlock_shared(&shared_by.lock, shared_by.fd);
	close(shared_by.fd), close(other);
}
END_TEST

/* As threads do that relieve each other: the lock is shared at every moment. */
START_TEST(threads_that_share_the_lock_let_a_replacer_in)
{
	pthread_t thread;
	int other, joins = 0;
	void *r;

	shared_by = a_lock(&other);
	OK(blm_lock_shared(&shared_by.lock, shared_by.fd));
	OK(blm_ofd_lock(other, BLM_LOCK_GATE, true));
	for (;;) {
		atomic_store(&waiter, 0);
		ck_assert_int_eq(pthread_create(&thread, NULL, wait_to_share, NULL), 0);
		while (!atomic_load(&waiter))
			sched_yield();
		if (++joins == 64)
			break;
		pthread_join(thread, &r);
		ck_assert_ptr_null(r);
		blm_unlock_shared(&shared_by.lock, shared_by.fd);
	}
	wait_until_it_sleeps(waiter);
	blm_unlock_shared(&shared_by.lock, shared_by.fd);
	OK(blm_ofd_lock(other, BLM_LOCK_REPLACE, true));	/* no other thread shares it now */
	blm_ofd_unlock(other, BLM_LOCK_GATE);
	blm_ofd_unlock(other, BLM_LOCK_REPLACE);
	pthread_join(thread, &r);
	ck_assert_ptr_null(r);
	blm_unlock_shared(&shared_by.lock, shared_by.fd);
	close(shared_by.fd), close(other);
}
END_TEST

START_TEST(each_lock_is_separate)
{
	static const enum blm_lock_of all[] = { BLM_LOCK_GATE,	 BLM_LOCK_REPLACE, BLM_LOCK_SYNC,
						BLM_LOCK_MAKING, BLM_LOCK_WRITE,   BLM_LOCK_GROW };
	int other;
	struct locked l = a_lock(&other);

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		OK(blm_ofd_lock(l.fd, all[i], true));
		for (size_t j = 0; j < sizeof(all) / sizeof(*all); j++)
			ck_assert_int_eq(blm_ofd_busy(other, all[j]), i == j);
		blm_ofd_unlock(l.fd, all[i]);
	}
	blm_lock_destroy(&l.lock);
	close(l.fd), close(other);
}
END_TEST

static void nothing(int sig)
{
}

static int hold_a_while(void *path)
{
	int fd = open(path, O_RDWR);

	if (blm_ofd_lock(fd, BLM_LOCK_SYNC, true) < 0 || kill(getppid(), SIGUSR1) < 0)
		return 1;
	for (int i = 0; i < 20; i++) {
		usleep(2000);
		kill(getppid(), SIGALRM);
	}
	return 0;
}

START_TEST(a_waiter_for_a_lock_resumes_after_a_signal)
{
	struct sigaction action = { .sa_handler = nothing };	/* without SA_RESTART */
	const char *path = a_path();
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), sig;
	sigset_t held;
	pid_t pid;

	sigemptyset(&held);
	sigaddset(&held, SIGUSR1);
	sigprocmask(SIG_BLOCK, &held, NULL);
	sigaction(SIGALRM, &action, NULL);
	pid = spawn(hold_a_while, (void *)(uintptr_t)path);
	ck_assert_int_eq(sigwait(&held, &sig), 0);
	OK(blm_ofd_lock(fd, BLM_LOCK_SYNC, true));
	while (waitpid(pid, &sig, 0) < 0)
		ck_assert_int_eq(errno, EINTR);
	ck_assert_int_eq(sig, 0);
	close(fd);
}
END_TEST

/* ---- Processes that hold a lock for long ---- */

struct held_by_child {
	const char *path;
	int flags, type;		/* of the descriptor, of the lock */
	enum blm_lock_of what;		/* all of the file: -1 */
	int stop[2];			/* the child ends when its writing end is closed */
	pid_t pid;
};

static int hold_until_told(void *context)
{
	struct held_by_child *h = context;
	struct flock lock = { .l_type = (short)h->type, .l_whence = SEEK_SET };
	int fd = open(h->path, h->flags);
	char byte;

	close(h->stop[1]);
	if ((int)h->what >= 0)
		lock.l_start = (INT64_C(1) << 62) + h->what, lock.l_len = 1;
	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0 || kill(getppid(), SIGUSR1) < 0)
		return 1;
	return read(h->stop[0], &byte, 1) == 0 ? 0 : 2;
}

/* The lock is held when this returns. */
static void begin_holding(struct held_by_child *h)
{
	sigset_t told;
	int sig;

	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	sigprocmask(SIG_BLOCK, &told, NULL);
	ck_assert_int_eq(pipe(h->stop), 0);
	h->pid = spawn(hold_until_told, h);
	close(h->stop[0]);
	ck_assert_int_eq(sigwait(&told, &sig), 0);
}

static void end_holding(struct held_by_child *h)
{
	close(h->stop[1]);
	ck_assert_int_eq(join(h->pid), 0);
}

START_TEST(a_read_only_process_does_not_stop_writers_for_good)
{
	static const enum blm_lock_of all[] = { BLM_LOCK_GATE,	 BLM_LOCK_REPLACE, BLM_LOCK_SYNC,
						BLM_LOCK_MAKING, BLM_LOCK_WRITE,   BLM_LOCK_GROW };
	struct held_by_child h = {
		.path = a_path(), .flags = O_RDONLY, .type = F_RDLCK, .what = (enum blm_lock_of) - 1
	};
	int fd = open(h.path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	char named[32];

	blm_patience_reader = 20, blm_patience_unknown = 40;
	begin_holding(&h);
	snprintf(named, sizeof(named), "process %d ", (int)h.pid);
	alarm(TOO_LONG);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		FAILS(blm_ofd_lock(fd, all[i], true), -EBUSY);
		ck_assert_msg(strstr(blm_error_message(), named)
				      && strstr(blm_error_message(), h.path),
			      "%s", blm_error_message());
		OK(blm_ofd_lock(fd, all[i], false));
		blm_ofd_unlock(fd, all[i]);
	}
	end_holding(&h);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		OK(blm_ofd_lock(fd, all[i], true));
	alarm(0);
	close(fd);
}
END_TEST

static struct held_by_child held;
static int asked;

/* The waiter waited many intervals for the lock when it is told to end. */
static int end_holder_at_last(void)
{
	if (++asked == 20)
		close(held.stop[1]);
	return 0;
}

/* _i: exclusively, or shared as by one who claims */
START_TEST(the_wait_for_a_writer_has_no_limit)
{
	held = (struct held_by_child){ .path = a_path(),
				       .flags = O_RDWR,
				       .type = _i ? F_RDLCK : F_WRLCK,
				       .what = BLM_LOCK_REPLACE };
	int fd = open(held.path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	/* one that is about to end is unknown for a moment */
	blm_patience_reader = 1;
	begin_holding(&held);
	blm_stop_waiting_if(end_holder_at_last);
	OK(blm_ofd_lock(fd, BLM_LOCK_REPLACE, true));
	ck_assert_int_ge(asked, 20);
	ck_assert_int_eq(join(held.pid), 0);
	close(fd);
}
END_TEST

/* By a handle that only reads; of so large a file it may take a long time. */
START_TEST(a_writer_waits_for_the_copy_of_a_large_file)
{
	held = (struct held_by_child){
		.path = a_path(), .flags = O_RDONLY, .type = F_RDLCK, .what = BLM_LOCK_WRITE
	};
	int fd = open(held.path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	blm_patience_reader = blm_patience_unknown = 1;
	ck_assert_int_eq(ftruncate(fd, INT64_C(1) << 36), 0);
	begin_holding(&held);
	blm_stop_waiting_if(end_holder_at_last);
	OK(blm_ofd_lock(fd, BLM_LOCK_WRITE, true));
	ck_assert_int_ge(asked, 20);
	ck_assert_int_eq(join(held.pid), 0);
	close(fd);
}
END_TEST

static int stop_it(void)
{
	return 1;
}

START_TEST(a_terminated_program_waits_for_no_lock)
{
	struct held_by_child h = {
		.path = a_path(), .flags = O_RDWR, .type = F_WRLCK, .what = BLM_LOCK_SYNC
	};
	int fd = open(h.path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	begin_holding(&h);
	blm_stop_waiting_if(stop_it);
	alarm(TOO_LONG);
	for (int exclusive = 0; exclusive < 2; exclusive++)
		FAILS(blm_ofd_lock(fd, BLM_LOCK_SYNC, exclusive), -EINTR);
	OK(blm_ofd_lock(fd, BLM_LOCK_WRITE, true));	/* a free lock is given all the same */
	alarm(0);
	end_holding(&h);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("file/ofd_lock");
	TCase *tc = tcase_create("lock");

	tcase_add_test(tc, the_next_thread_gets_a_released_lock);
	tcase_add_test(tc, a_failed_lock_leaves_the_file_to_other_threads);
	tcase_add_test(tc,
		       a_shared_file_stays_locked_until_its_last_user_unlocks);
	tcase_add_test(tc, a_claimer_that_waits_does_not_close_the_gate);
	tcase_add_test(tc, threads_that_share_the_lock_let_a_replacer_in);
	tcase_add_test(tc, each_lock_is_separate);
	tcase_add_test(tc, a_waiter_for_a_lock_resumes_after_a_signal);
	tcase_add_test(tc, a_read_only_process_does_not_stop_writers_for_good);
	tcase_add_loop_test(tc, the_wait_for_a_writer_has_no_limit, 0, 2);
	tcase_add_test(tc, a_writer_waits_for_the_copy_of_a_large_file);
	tcase_add_test(tc, a_terminated_program_waits_for_no_lock);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
