/*
 * sigbus.c - files that others cut under their maps: an error where that was asked for, else the
 * system's signal
 */
#include "base/base.h"
#include "file/mapping.h"
#include "store/suite.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { KEYS = 200, PAGE = 4096 };

static struct blm_filter *open_full(const char *path)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path,
		      &BLM_PARAMS(.kind = "classic", .cells = 1 << 22, .probes = 7)));
	for (int i = 0; i < KEYS; i++)
		OK(blm_add(f, &i, sizeof(i)));
	return f;
}

static int keys_denied(const struct blm_filter *f)
{
	int n = 0;

	for (int i = 0; i < KEYS; i++)
		n += !blm_contains(f, &i, sizeof(i));
	return n;
}

/* ---- Ours ---- */

static int page_bytes = PAGE;

int getpagesize(void)
{
	return page_bytes;
}

/* To write from memory that is not there fails, and is no signal. */
static bool is_there(const void *at)
{
	int ends[2];
	bool there;

	MUST(pipe(ends) == 0);
	there = write(ends[1], at, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return there;
}

static int strike_a_page_of_64_kib(int unused)
{
	enum { LARGE = 65536 };
	struct blm_image image;
	int fd = open("large", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	page_bytes = LARGE;
	MUST(fd >= 0 && ftruncate(fd, 3 * LARGE) == 0 && blm_survive_truncation() == 0);
	MUST(blm_image_map_foreign(&image, fd, "large") == 0);
	MUST(ftruncate(fd, 0) == 0);
	MUST(*(volatile uint8_t *)(image.map + LARGE + 5 * PAGE) == 0xff);
	for (int i = 0; i < 3 * LARGE / PAGE; i++)
		MUST(is_there(image.map + i * PAGE) == (i / (LARGE / PAGE) == 1));
	return 0;
}

START_TEST(a_page_is_as_large_as_the_system_says)
{
	ck_assert_int_eq(run_apart(strike_a_page_of_64_kib, 0), 0);
}
END_TEST

static int ask_and_add_to_what_is_cut(int prepared)
{
	struct blm_filter *cut = open_full("cut"), *whole = open_full("whole");

	MUST(!prepared || (blm_survive_truncation() == 0 && blm_survive_truncation() == 0));
	MUST(!prepared || !blm_truncated());
	MUST(truncate("cut", 65536) == 0);
	MUST(keys_denied(cut) == 0);		/* pages of ones say yes */
	MUST(blm_truncated() && !strcmp(blm_truncated(), "cut"));
	MUST(blm_add(cut, "new", 3) == -EIO && blm_sync(cut) == -EIO && blm_status(cut) == -EIO);
	MUST(keys_denied(whole) == 0 && blm_add(whole, "new", 3) == 1 && blm_sync(whole) == 0
	     && blm_status(whole) == 0);
	blm_close(cut);
	blm_close(whole);
	return 0;
}

START_TEST(a_file_truncated_under_its_map_gives_error_or_signal)
{
	struct blm_filter *f;

	ck_assert_int_eq(run_apart(ask_and_add_to_what_is_cut, _i), _i ? 0 : SIGNALLED + SIGBUS);
	FAILS(blm_open(&f, NULL, "cut", 0), -ENODATA);
}
END_TEST

/* ---- Several threads at once ---- */

enum { THREADS = 4, RACES = 100, QUESTIONS = 100 };

static struct blm_filter *raced;
static pthread_barrier_t ready;
static _Atomic int denied, done;

static void *ask(void *unused)
{
	pthread_barrier_wait(&ready);
	for (int i = 0; i < QUESTIONS; i++)
		denied += !blm_contains(raced, &i, sizeof(i));
	return NULL;
}

static void *add(void *unused)
{
	pthread_barrier_wait(&ready);
	for (int i = 0; i < QUESTIONS; i++)
		done += blm_add(raced, &i, sizeof(i)) != -EIO;
	return NULL;
}

/* All data is gone when they begin. */
static void race(void *(*work)(void *))
{
	pthread_t threads[THREADS];

	MUST(blm_create(&raced, NULL, "raced",
			&BLM_PARAMS(.kind = "classic", .cells = 1 << 15, .probes = 3))
	     == 0);
	for (int i = 0; i < QUESTIONS; i++)
		MUST(blm_add(raced, &i, sizeof(i)) >= 0);
	MUST(truncate("raced", BLM_HEADER_BYTES) == 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	MUST(blm_status(raced) == -EIO);
	blm_close(raced);
	MUST(unlink("raced") == 0);
}

/*
 * how: as it is; where no file can be made that is large enough, and none may be written to; where
 * the program closes what it did not open.
 */
static int race_in_all_ways(int how)
{
	MUST(blm_survive_truncation() == 0 && pthread_barrier_init(&ready, NULL, THREADS) == 0);
	MUST(how != 1 || setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1 << 16, 1 << 16 }) == 0);
	for (int i = 0; i < RACES; i++) {
		race(i % 2 ? ask : add);
		if (how == 2 && i % 20 == 1)
			closefrom(3);
		if (how == 2 && i % 20 == 2)	/* another file has its number */
			MUST(open("other", O_RDWR | O_CREAT | O_CLOEXEC, 0600) >= 0);
	}
	if (denied || done)
		fprintf(stderr, "%d of %d denied, %d changes said to be done\n", denied,
			RACES / 2 * THREADS * QUESTIONS, done);
	return denied || done;
}

START_TEST(threads_at_a_missing_page_get_errors_and_no_answers)
{
	ck_assert_int_eq(run_apart(race_in_all_ways, _i), 0);
}
END_TEST

/* One after the other they are one map to the system, of which a process may have some 65,000. */
static int touch_all_of_a_large_file(int unused)
{
	enum { PAGES = 70000 };
	struct blm_image image;
	int fd = open("large", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	MUST(fd >= 0 && ftruncate(fd, (off_t)PAGES * PAGE) == 0 && blm_survive_truncation() == 0);
	MUST(blm_image_map_foreign(&image, fd, "large") == 0);
	MUST(ftruncate(fd, 0) == 0);
	for (off_t i = 0; i < PAGES; i++)
		MUST(*(volatile uint64_t *)(image.map + i * PAGE + 8 * (i % 512)) == UINT64_MAX);
	return 0;
}

START_TEST(a_file_with_more_pages_than_maps_is_guarded_completely)
{
	ck_assert_int_eq(run_apart(touch_all_of_a_large_file, 0), 0);
}
END_TEST

/* ---- What is made in one that is cut ---- */

/* An open file in this folder, with or without a name. */
static int cut_open_files(off_t bytes)
{
	char here[PATH_MAX], link[32], path[PATH_MAX + 16];
	struct stat st;
	int n = 0;

	MUST(realpath(".", here));
	for (int fd = 3; fd < 64; fd++) {
		ssize_t len;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, path, sizeof(path) - 1);
		path[len < 0 ? 0 : len] = '\0';
		if (!strncmp(path, here, strlen(here)) && path[strlen(here)] == '/'
		    && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > bytes)
			n += ftruncate(fd, bytes) == 0;
	}
	return n;
}

static int build_in_what_is_cut(int unused)
{
	struct blm_filter *f;
	struct blm_build *b;

	MUST(blm_survive_truncation() == 0);
	MUST(blm_build_begin(&b, NULL, "built",
			     &BLM_PARAMS(.kind = "classic", .cells = 1 << 22, .probes = 7), NULL)
	     == 0);
	MUST(cut_open_files(65536) == 1);
	for (int i = 0; i < KEYS; i++)
		MUST(blm_build_add_fixed(b, &i, sizeof(i), 1) == 0);
	MUST(blm_build_finish(b, &f) == -EIO
	     && strstr(blm_error_message(), "the new file was truncated, cannot be read"));
	MUST(access("built", F_OK) < 0);
	return 0;
}

START_TEST(a_file_truncated_during_a_build_is_no_filter)
{
	ck_assert_int_eq(run_apart(build_in_what_is_cut, 0), 0);
}
END_TEST

/* ---- What is made of one that is cut ---- */

static struct blm_filter *made;

static int unite(struct blm_filter *cut, struct blm_filter *whole)
{
	return blm_combine(&made, NULL, "made", BLM_UNION,
			   (const struct blm_filter *const[]){ whole, cut }, 2, 0, NULL);
}

static int intersect(struct blm_filter *cut, struct blm_filter *whole)
{
	return blm_combine(&made, NULL, "made", BLM_INTERSECT,
			   (const struct blm_filter *const[]){ whole, cut }, 2, 0, NULL);
}

static int unite_into(struct blm_filter *cut, struct blm_filter *whole)
{
	return blm_combine_into(whole, BLM_UNION, (const struct blm_filter *const[]){ cut }, 1, 0,
				NULL);
}

static int unite_into_judged(struct blm_filter *cut, struct blm_filter *whole)
{
	return blm_combine_into(whole, BLM_UNION, (const struct blm_filter *const[]){ cut }, 1,
				0.9999, NULL);
}

static int intersect_into(struct blm_filter *cut, struct blm_filter *whole)
{
	return blm_combine_into(whole, BLM_INTERSECT, (const struct blm_filter *const[]){ cut }, 1,
				0, NULL);
}

static int copy(struct blm_filter *cut, struct blm_filter *whole)
{
	return blm_copy(&made, NULL, "made", cut, 0);
}

static int fold(struct blm_filter *cut, struct blm_filter *whole)
{
	return blm_fold(&made, NULL, "made", cut, 2, 0);
}

static int convert(struct blm_filter *cut, struct blm_filter *whole)
{
	return blm_convert(&made, NULL, "made", cut, "classic", 0);
}

static int export_file(struct blm_filter *cut, struct blm_filter *whole)
{
	return blm_export_file(cut, NULL, "made");
}

static int export_bytes(struct blm_filter *cut, struct blm_filter *whole)
{
	void *bytes;
	size_t count;

	return blm_export_bytes(cut, NULL, &bytes, &count);
}

static int advance(struct blm_filter *cut, struct blm_filter *whole)
{
	return blm_advance(whole, (const struct blm_filter *const[]){ cut }, 1);
}

static int estimate(struct blm_filter *cut, struct blm_filter *whole)
{
	struct blm_estimate e;

	return blm_estimate(cut, true, &e);
}

static int compare(struct blm_filter *cut, struct blm_filter *whole)
{
	struct blm_comparison c;

	return blm_compare(whole, cut, &c);
}

static const struct {
	const char *kind;
	int (*use)(struct blm_filter *cut, struct blm_filter *whole);
} uses[] = {
	{ "classic", unite },	       { "classic", intersect },
	{ "classic", unite_into },     { "classic", unite_into_judged },
	{ "classic", intersect_into }, { "classic", copy },
	{ "classic", export_file },    { "classic", export_bytes },
	{ "classic", estimate },       { "classic", compare },
	{ "blocked", fold },	       { "counting", convert },
	{ "attenuated", advance },     { "attenuated", unite_into },
	{ "scalable", unite },
};
enum { USES = ARRAY_LEN(uses) };

/* How many of other keys it takes for its own. */
static int strangers_in(const struct blm_filter *f)
{
	int n = 0;

	for (int i = KEYS; i < 11 * KEYS; i++)
		n += blm_contains(f, &i, sizeof(i));
	return n;
}

static int make_of_what_is_cut(int i)
{
	struct blm_params params = BLM_PARAMS(.kind = uses[i / 2].kind, .capacity = 100000,
					      .rate = 1e-6, .sparse = i % 2, .seed_count = 1,
					      .seeds = (const uint64_t[]){ 7 });
	struct blm_filter *cut, *whole;
	int r;

	if (!strcmp(params.kind, "blocked"))
		params.cells = 1 << 22;		/* so that it can be folded */
	MUST(blm_survive_truncation() == 0);
	MUST(blm_create(&cut, NULL, "cut", &params) == 0
	     && blm_create(&whole, NULL, "whole", &params) == 0);
	for (int k = 0; k < KEYS; k++)
		MUST(blm_add(cut, &k, sizeof(k)) == 1 && blm_add(whole, &k, sizeof(k)) == 1);
	MUST(truncate("cut", 65536) == 0);
	r = uses[i / 2].use(cut, whole);
	if (r != -EIO)
		fprintf(stderr, "%s %d: %d, %s\n", uses[i / 2].kind, i, r, blm_error_message());
	MUST(r == -EIO && access("made", F_OK) < 0);
	MUST(keys_denied(whole) == 0 && strangers_in(whole) == 0);
	blm_close(cut);
	blm_close(whole);
	return 0;
}

START_TEST(every_use_of_a_truncated_filter_fails_without_harm)
{
	ck_assert_int_eq(run_apart(make_of_what_is_cut, _i), 0);
}
END_TEST

/* ---- How many ---- */

static int cut_the_last_of(int count)
{
	struct rlimit files;
	struct blm_filter *cut, *first = open_full("first");

	MUST(getrlimit(RLIMIT_NOFILE, &files) == 0);
	files.rlim_cur = files.rlim_max;
	MUST(setrlimit(RLIMIT_NOFILE, &files) == 0);
	MUST(blm_survive_truncation() == 0);
	for (int i = 2; i < count; i++) {
		struct blm_filter *more;

		MUST(blm_open(&more, NULL, "first", BLM_OPEN_WRITE) == 0);
	}
	cut = open_full("cut");
	MUST(truncate("first", 65536) == 0 && keys_denied(first) == 0);
	MUST(blm_status(first) == -EIO);
	MUST(blm_status(cut) == 0 && keys_denied(cut) == 0);
	MUST(truncate("cut", 65536) == 0 && keys_denied(cut) == 0);
	MUST(blm_status(cut) == -EIO && !strcmp(blm_truncated(), "first"));
	return 0;
}

START_TEST(however_many_maps_there_are_they_are_guarded)
{
	static const int counts[] = { 1024, 1025, 2049, 5000 };
	struct rlimit files;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	if (files.rlim_max < (rlim_t)counts[_i] + 100)
		SKIP("too few descriptors are allowed here");
	ck_assert_int_eq(run_apart(cut_the_last_of, counts[_i]), 0);
}
END_TEST

/* ---- None of ours ---- */

static volatile sig_atomic_t handled;
static uint8_t *page;

/* So that the instruction goes on. */
static void give_page(void)
{
	handled++;
	mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void handle(int signal)
{
	give_page();
}

static void handle_with_info(int signal, siginfo_t *info, void *context)
{
	give_page();
}

static const struct sigaction before[] = {
	{ .sa_handler = SIG_DFL }, { .sa_handler = SIG_IGN }, { .sa_handler = handle },
	{ .sa_sigaction = handle_with_info, .sa_flags = SA_SIGINFO },
};

static int touch_what_is_no_filters(int how)
{
	struct blm_filter *f = open_full("whole");
	int fd = open("other", O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(page != MAP_FAILED);
	MUST(sigaction(SIGBUS, &before[how], NULL) == 0 && blm_survive_truncation() == 0);
	*(volatile uint8_t *)page = 1;		/* the file has no such page */
	MUST(handled == 1 && *page == 1);
	MUST(!blm_truncated() && keys_denied(f) == 0);
	return 0;
}

START_TEST(a_fault_elsewhere_goes_to_the_previous_handler)
{
	ck_assert_int_eq(run_apart(touch_what_is_no_filters, _i), _i < 2 ? SIGNALLED + SIGBUS : 0);
}
END_TEST

/* A thread's own and another process's are not of one sort. */
static int send_it(int how)
{
	bool to_process = how >= (int)ARRAY_LEN(before);

	how %= (int)ARRAY_LEN(before);
	page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(sigaction(SIGBUS, &before[how], NULL) == 0 && blm_survive_truncation() == 0);
	for (int i = 0; i < 2; i++) {
		MUST((to_process ? kill(getpid(), SIGBUS) : raise(SIGBUS)) == 0);
		MUST(how);	/* else it is no more */
	}
	MUST(handled == (how < 2 ? 0 : 2));
	return 0;
}

START_TEST(a_signal_sent_by_a_process_goes_to_the_handler)
{
	ck_assert_int_eq(run_apart(send_it, _i),
			 _i % (int)ARRAY_LEN(before) == 0 ? SIGNALLED + SIGBUS : 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sigbus");
	TCase *tc = tcase_create("sigbus");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_loop_test(tc, a_file_truncated_under_its_map_gives_error_or_signal,
			    0, 2);
	tcase_add_test(tc, a_page_is_as_large_as_the_system_says);
	tcase_add_loop_test(
		tc,
		threads_at_a_missing_page_get_errors_and_no_answers,
		0, 3);
	tcase_add_test(tc, a_file_with_more_pages_than_maps_is_guarded_completely);
	tcase_add_test(tc, a_file_truncated_during_a_build_is_no_filter);
	tcase_add_loop_test(tc, every_use_of_a_truncated_filter_fails_without_harm, 0, 2 * USES);
	tcase_add_loop_test(tc, however_many_maps_there_are_they_are_guarded, 0, 4);
	tcase_add_loop_test(tc, a_fault_elsewhere_goes_to_the_previous_handler, 0,
			    ARRAY_LEN(before));
	tcase_add_loop_test(tc, a_signal_sent_by_a_process_goes_to_the_handler, 0,
			    2 * ARRAY_LEN(before));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
