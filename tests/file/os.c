/* os.c - reading and writing to the end, the number of the boot, the time */
#include "suite.h"

#include "file/os.h"
#include "handle/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* ---- A system that does a little at a time ---- */

/* bytes at once; how often EINTR comes first; an errno, or 0 */
static int most = 1 << 30, interrupted, failing;
static bool no_boot_id;
static int no_boot_why = ENOENT;

/* What a call may do: as many bytes, or -1. */
static ssize_t allowed(size_t bytes)
{
	if (interrupted > 0 && interrupted--) {
		errno = EINTR;
		return -1;
	}
	if (failing) {
		errno = failing;
		return -1;
	}
	return bytes < (size_t)most ? (ssize_t)bytes : most;
}

ssize_t pread(int fd, void *buffer, size_t bytes, off_t at)
{
	ssize_t n = allowed(bytes);

	return n < 0 ? n : syscall(SYS_pread64, fd, buffer, (size_t)n, at);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	ssize_t n = allowed(bytes);

	return n <= 0 ? n : syscall(SYS_pwrite64, fd, from, (size_t)n, at);
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (strstr(path, "boot_id") && !(flags & O_CLOEXEC))
		abort();
	if (no_boot_id && strstr(path, "boot_id")) {
		errno = no_boot_why;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int a_file(void)
{
	int fd = open(a_path(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(an_interrupted_or_short_call_is_continued)
{
	static const char text[] = "twenty-six letters or more";
	char back[sizeof(text)] = "";
	int fd = a_file();

	most = _i ? 5 : 1;
	interrupted = 3;
	ck_assert_int_eq(blm_write_at(fd, text, sizeof(text), 7), 0);
	interrupted = 3;
	ck_assert_int_eq(blm_read_at(fd, back, sizeof(back), 7), sizeof(text));
	ck_assert_mem_eq(back, text, sizeof(text));
	/* to the end of the file */
	ck_assert_int_eq(blm_read_at(fd, back, sizeof(back), 7 + 20), sizeof(text) - 20);
	ck_assert_mem_eq(back, text + 20, sizeof(text) - 20);
	errno = EINTR;		/* of an earlier call: to the end of a file it says nothing */
	ck_assert_int_eq(blm_read_at(fd, back, sizeof(back), 1000), 0);
	ck_assert_int_eq(blm_write_at(fd, text, 0, 7), 0);
	close(fd);
}
END_TEST

START_TEST(a_failure_states_its_cause)
{
	char some[] = "some";
	int fd = a_file();

	failing = EIO;
	ck_assert_int_eq(blm_write_at(fd, some, 4, 0), -EIO);
	failing = ENOSPC;
	ck_assert_int_eq(blm_write_at(fd, some, 4, 0), -ENOSPC);
	ck_assert_int_eq(blm_read_at(fd, some, 4, 0), -ENOSPC);
	failing = 0;
	most = 0;		/* nothing is written, and nothing is said */
	ck_assert_int_eq(blm_write_at(fd, some, 4, 0), -EIO);
	close(fd);
}
END_TEST

START_TEST(a_write_past_the_file_size_limit_fails_without_death)
{
	struct rlimit limit, small;
	int fd = a_file(), past, below;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = (struct rlimit){ .rlim_cur = 100, .rlim_max = limit.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);	/* Check's own files, too, are limited meanwhile */
	past = blm_write_at(fd, "more", 4, 99);
	below = blm_write_at(fd, "less", 4, 96);
	setrlimit(RLIMIT_FSIZE, &limit);
	ck_assert_int_eq(past, -EFBIG);
	ck_assert_int_eq(below, 0);
	close(fd);
}
END_TEST

START_TEST(a_signal_with_another_handler_does_not_end_it)
{
	sigset_t term, first, before, now;

	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_SETMASK, &term, &first);
	raise(SIGTERM);
	blm_hold_end(&before);
	ck_assert(!blm_end_came());
	raise(SIGHUP);
	ck_assert(blm_end_came());
	signal(SIGHUP, SIG_IGN);	/* so it is forgotten */
	ck_assert(!blm_end_came());
	blm_let_end(&before);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	ck_assert(sigismember(&now, SIGTERM) == 1 && sigismember(&now, SIGHUP) == 0);
	signal(SIGTERM, SIG_IGN);
	pthread_sigmask(SIG_SETMASK, &first, NULL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
}
END_TEST

static volatile sig_atomic_t tidied;

static void tidy_up(int number)
{
	(void)number;
	tidied = 1;
}

static bool is_held_with(int flags)
{
	struct sigaction action = { .sa_handler = tidy_up, .sa_flags = flags }, first;
	sigset_t before;
	bool held;

	ck_assert_int_eq(sigaction(SIGHUP, &action, &first), 0);
	tidied = 0;
	blm_hold_end(&before);
	raise(SIGHUP);
	held = !tidied && blm_end_came();
	blm_let_end(&before);
	ck_assert(tidied);
	ck_assert_int_eq(sigaction(SIGHUP, &first, NULL), 0);
	return held;
}

/* System V's signal() sets SA_RESETHAND for SIG_IGN, too. */
START_TEST(an_ignored_signal_is_no_end_whatever_its_flags)
{
	struct sigaction action = { .sa_handler = SIG_IGN, .sa_flags = (int)SA_RESETHAND }, first;
	sigset_t before;
	bool came;

	ck_assert_int_eq(sigaction(SIGHUP, &action, &first), 0);
	blm_hold_end(&before);
	raise(SIGHUP);
	came = blm_end_came();
	blm_let_end(&before);
	ck_assert_int_eq(sigaction(SIGHUP, &first, NULL), 0);
	ck_assert(!came);
}
END_TEST

START_TEST(only_a_handler_for_one_time_ends_the_process)
{
	ck_assert(is_held_with((int)SA_RESETHAND));
	ck_assert(is_held_with(SA_NOCLDWAIT));
	ck_assert(!is_held_with(0));
}
END_TEST

START_TEST(the_boot_number_stays_the_same_and_is_odd)
{
	uint64_t first = blm_boot_number();
	int free_before = a_file(), free_after;

	ck_assert_uint_eq(first % 2, 1);
	ck_assert_uint_gt(first, 1);
	no_boot_id = true;
	ck_assert_uint_eq(blm_boot_number(), first);
	close(free_before);
	free_after = a_file();
	ck_assert_int_eq(free_after, free_before);
	close(free_after);
}
END_TEST

START_TEST(asking_for_the_number_of_the_boot_leaves_nothing_open)
{
	int before = a_file(), after;

	close(before);
	blm_boot_number();
	after = a_file();
	ck_assert_int_eq(after, before);
	close(after);
}
END_TEST

START_TEST(a_missing_boot_number_differs_from_all_older_files)
{
	const int whys[] = { ENOENT, ENOTDIR, EACCES, EPERM };

	no_boot_id = true;
	no_boot_why = whys[_i];
	OK(blm_know_boot());
	ck_assert_uint_eq(blm_boot_number(), BLM_NO_BOOT);
	ck_assert(BLM_NO_BOOT != 1 && BLM_NO_BOOT % 2 == 0);
	no_boot_id = false;
	ck_assert_uint_eq(blm_boot_number(), BLM_NO_BOOT);
}
END_TEST

static void make_with(const char *path, const struct blm_params *params)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct blm_filter *f;

		_exit(blm_create(&f, NULL, path, params) < 0 || blm_add(f, "key", 3) != 1
		      || blm_sync(f) < 0 || blm_add(f, "more", 4) != 1);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
}

static void make_elsewhere(const char *path, const char *kind)
{
	const struct blm_params params = BLM_PARAMS(.kind = kind, .capacity = 100, .rate = 0.01);

	make_with(path, &params);
}

START_TEST(too_few_descriptors_do_not_hide_the_boot_number)
{
	const char *path = a_path(), *new = a_path();
	const struct blm_params params = BLM_PARAMS(.kind = "classic", .capacity = 100,
						    .rate = 0.01);
	struct blm_filter *f;

	make_elsewhere(path, "cuckoo");
	no_boot_id = true;
	no_boot_why = EMFILE;
	ck_assert_int_eq(blm_know_boot(), -EMFILE);
	ck_assert_uint_eq(blm_boot_number(), BLM_NO_BOOT);
	FAILS(blm_open(&f, NULL, path, 0), -EMFILE);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), path));
	FAILS(blm_open(&f, NULL, path, BLM_OPEN_WRITE), -EMFILE);
	FAILS(blm_create(&f, NULL, new, &params), -EMFILE);
	ck_assert_int_lt(access(new, F_OK), 0);
	OK(blm_create(&f, NULL, NULL, &params));
	blm_close(f);
	no_boot_id = false;
	OK(blm_know_boot());
	ck_assert_uint_eq(blm_boot_number() % 2, 1);
	OK(blm_open(&f, NULL, path, 0));
	ck_assert(blm_contains(f, "more", 4));
	blm_close(f);
}
END_TEST

/* ---- Kinds that must notice power cuts ---- */

static const char *const noticing[] = { "cuckoo", "redis-cuckoo", "iblt", "counting" };

START_TEST(without_a_boot_number_some_kinds_need_seals)
{
	const struct blm_params params = BLM_PARAMS(.kind = noticing[_i], .capacity = 100,
						    .rate = 0.01, .mode = 0600);
	const struct blm_build_options sealed = { .sealed = true };
	const char *path = a_path(), *new = a_path(), *whole = a_path();
	struct blm_build *b;
	struct blm_filter *f;

	make_elsewhere(path, noticing[_i]);
	no_boot_id = true;
	FAILS(blm_open(&f, NULL, path, BLM_OPEN_WRITE), -ENOSYS);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "mount /proc"));
	FAILS(blm_create(&f, NULL, new, &params), -ENOSYS);
	FAILS(blm_build_begin(&b, NULL, new, &params, NULL), -ENOSYS);
	ck_assert_int_lt(access(new, F_OK), 0);

	OK(blm_create(&f, NULL, NULL, &params));
	OK(blm_add(f, "key", 3));
	ck_assert(blm_contains(f, "key", 3));
	blm_close(f);
	OK(blm_build_begin(&b, NULL, whole, &params, &sealed));
	OK(blm_build_add_many(b, &(struct blm_key){ "key", 3 }, 1));
	OK(blm_build_finish(b, &f));
	blm_close(f);
	OK(blm_open(&f, NULL, whole, BLM_OPEN_WRITE));
	ck_assert(blm_contains(f, "key", 3));
	blm_close(f);
	OK(blm_open(&f, NULL, path, 0));
	ck_assert(blm_contains(f, "key", 3));
	blm_close(f);
}
END_TEST

/* What an older program added in such a place is not known to be whole. */
START_TEST(older_dirty_files_without_boot_numbers_count_as_torn)
{
	const uint64_t older = htole64(1);
	const char *path = a_path();
	struct blm_filter *f;
	int fd;

	make_elsewhere(path, noticing[_i]);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, &older, 8,
				offsetof(struct blm_header, live)
					+ offsetof(struct blm_live, boot)),
			 8);
	close(fd);
	no_boot_id = true;
	OK(blm_open(&f, NULL, path, 0));
	ck_assert(blm_contains(f, "key", 3));
	ck_assert(current_view(f)->shows_image || part_is_torn(&current_view(f)->root));
	blm_close(f);
}
END_TEST

/* Its data are good, but for what a power cut may have done. */
START_TEST(without_a_boot_number_plain_filters_are_not_lost)
{
	const struct blm_params params = BLM_PARAMS(.kind = "cuckoo", .capacity = 100,
						    .no_checkpoint = true);
	const char *path = a_path();
	struct blm_filter *f;

	make_with(path, &params);
	no_boot_id = true;
	FAILS(blm_open(&f, NULL, path, 0), -ENOSYS);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "mount /proc"));
	ck_assert_ptr_null(strstr(blm_error_message(), "drop"));
}
END_TEST

START_TEST(a_filter_can_be_dropped_without_a_boot_number)
{
	const struct blm_params params = BLM_PARAMS(.kind = "cuckoo", .capacity = 100);
	const char *folder = a_path();
	struct blm_store *store;
	struct blm_filter *f;
	pid_t pid;
	int status;

	pid = fork();
	if (!pid)
		_exit(blm_store_open(&store, folder, BLM_STORE_CREATE) < 0
		      || blm_create(&f, store, "f", &params) < 0);
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	no_boot_id = true;
	OK(blm_store_open(&store, folder, 0));
	OK(blm_store_drop(store, "f"));
	FAILS(blm_open(&f, store, "f", 0), -ENOENT);
	blm_store_close(store);
}
END_TEST

START_TEST(the_time_is_in_nanoseconds)
{
	uint64_t before = (uint64_t)time(NULL), now = blm_now(), again = blm_now();

	ck_assert_uint_ge(now / 1000000000 + 1, before);
	ck_assert_uint_le(now / 1000000000, (uint64_t)time(NULL) + 1);
	for (int i = 0; i < 1000000 && again == now; i++)
		again = blm_now();
	ck_assert_uint_ne(again, now);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("file/os");
	TCase *tc = tcase_create("system");

	tcase_add_loop_test(tc, an_interrupted_or_short_call_is_continued, 0, 2);
	tcase_add_test(tc, a_failure_states_its_cause);
	tcase_add_test(tc, a_write_past_the_file_size_limit_fails_without_death);
	tcase_add_test(tc, a_signal_with_another_handler_does_not_end_it);
	tcase_add_test(tc, only_a_handler_for_one_time_ends_the_process);
	tcase_add_test(tc, an_ignored_signal_is_no_end_whatever_its_flags);
	tcase_add_test(tc, the_boot_number_stays_the_same_and_is_odd);
	tcase_add_test(tc, asking_for_the_number_of_the_boot_leaves_nothing_open);
	tcase_add_loop_test(
		tc, a_missing_boot_number_differs_from_all_older_files,
		0, 4);
	tcase_add_test(tc, too_few_descriptors_do_not_hide_the_boot_number);
	tcase_add_loop_test(tc,
			    without_a_boot_number_some_kinds_need_seals,
			    0, ARRAY_LEN(noticing));
	tcase_add_loop_test(tc, older_dirty_files_without_boot_numbers_count_as_torn,
			    0, ARRAY_LEN(noticing));
	tcase_add_test(tc, without_a_boot_number_plain_filters_are_not_lost);
	tcase_add_test(tc, a_filter_can_be_dropped_without_a_boot_number);
	tcase_add_test(tc, the_time_is_in_nanoseconds);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
