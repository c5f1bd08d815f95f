/* suite.h - what every test file needs: a folder of its own, numbers that look random and are not, and the end of main() */
#ifndef BLM_SUITE_H
#define BLM_SUITE_H

#include <check.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char test_dir[512];

/* A new path in the test's folder; valid for the next 16 calls. */
static inline const char *a_path(void)
{
	static char paths[16][600];
	static unsigned count;
	char *path = paths[count % 16];

	snprintf(path, sizeof(paths[0]), "%s/%d-%u", test_dir, (int)getpid(), count);
	count++;
	return path;
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

/* $BLOOMERY_TEST_SCALE: a share of the work, "0.1"; "full" for what takes minutes; 1 if it is not set. */
static inline double test_scale(void)
{
	const char *scale = getenv("BLOOMERY_TEST_SCALE");
	double x = scale && strcmp(scale, "full") ? atof(scale) : 1;

	return x > 0 && x <= 1 ? x : 1;
}

static inline int test_full(void)
{
	const char *scale = getenv("BLOOMERY_TEST_SCALE");

	return scale && !strcmp(scale, "full");
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
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
	SRunner *sr = srunner_create(s);
	int failed;

	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	nftw(test_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
