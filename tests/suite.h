/*
 * suite.h - what every test file needs: a folder of its own, numbers that look random and are not,
 * and the end of main()
 */
#ifndef BLM_SUITE_H
#define BLM_SUITE_H

#include "calls.h"
#include "mark.h"
#include "random.h"
#include "skip.h"

#include <check.h>
#include <dirent.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char test_dir[512];

/* A new path in the test's folder; valid for the next 16 calls. */
static inline const char *a_path(void)
{
	static char paths[16][600];
	static unsigned count;
	char *path = paths[count % 16];

	do	/* each test is a process of its own, and their numbers come again */
		snprintf(path, sizeof(paths[0]), "%s/%d-%u", test_dir, (int)getpid(), count++);
	while (access(path, F_OK) == 0);
	return path;
}

/* How many entries a folder has, hidden ones as well. */
static inline int entries_of(const char *folder)
{
	DIR *list = opendir(folder);
	int count = 0;

	ck_assert_ptr_nonnull(list);
	for (struct dirent *e; (e = readdir(list)); )
		count += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(list);
	return count;
}

/* Keys that are numbers of 4 bytes, from the first up to, and without, the last. */
static inline void add_numbers(struct blm_filter *f, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		OK(blm_add(f, &i, sizeof(i)));
}

static inline uint32_t numbers_found(const struct blm_filter *f, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i++)
		n += blm_contains(f, &i, sizeof(i));
	return n;
}

/* Run body(context) in a process of its own; what it exited with, 1000 and more: a signal. */
static inline pid_t spawn(int (*body)(void *context), void *context)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(body(context));
	ck_assert_int_gt(pid, 0);
	return pid;
}

static inline uint64_t mixed(uint64_t x)	/* splitmix64's finaliser */
{
	x += UINT64_C(0x9E3779B97F4A7C15);
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

static inline uint64_t next_random(uint64_t *state)
{
	return mixed(*state += UINT64_C(0x9E3779B97F4A7C15));
}

static inline double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * $BLOOMERY_TEST_SCALE: a share of the work, "0.1"; "full" for what takes minutes; 1 if it is not
 * set.
 */
static inline double test_scale(void)
{
	const char *scale = getenv("BLOOMERY_TEST_SCALE");
	double x = scale && strcmp(scale, "full") ? atof(scale) : 1;

	return x > 0 && x <= 1 ? x : 1;
}

/*
 * Sanitizers check what each path does with memory, and make it slow: they get one of this many
 * variants of a path.
 */
static inline int is_too_alike(int i, int many)
{
	return SANITIZED && i % many;
}

/*
 * A loop over many similar cases: with a share of the work it takes a quarter of them, with
 * sanitizers one in 13, which divides no number of them.
 */
static inline int is_left_out(int i)
{
	return test_scale() < 1 && i % (SANITIZED ? 13 : 4);
}

static inline int test_full(void)
{
	const char *scale = getenv("BLOOMERY_TEST_SCALE");

	return scale && !strcmp(scale, "full");
}

/*
 * Thousands of small syncs take minutes on a busy disk: where that is not what is tested, the
 * folder is in memory, if it can be.
 */
static inline void prefer_memory(void)
{
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
}

/* The beginning of main(); how long a test may take is the runner's business. */
static inline Suite *begin_suite(const char *name)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(test_dir, sizeof(test_dir), "%s/bloomery-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(test_dir)) {
		perror(test_dir);
		exit(EXIT_FAILURE);
	}
	setenv("CK_DEFAULT_TIMEOUT", "0", 0);
	return suite_create(name);
}

static inline int run_suite(Suite *s)
{
	int failed = run_tests(s, CK_FORK_GETENV);

	nftw(test_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
