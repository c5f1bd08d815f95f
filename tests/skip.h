/*
 * skip.h - a test that cannot run where it is says so, and is not counted as passed: SKIP("only
 * root may mount");
 *
 * Check knows of no such tests. Where it writes TAP to the standard output
 * (CK_TAP_LOG_FILE_NAME=-), its lines go through a stream of ours, as they come, which puts "# SKIP
 * only root may mount" behind that of such a test. Elsewhere the test prints it itself.
 */
#ifndef BLM_SKIP_H
#define BLM_SKIP_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SKIPPED_BYTES = 200 };
/* why the test that runs now, which is a process of its own, is skipped; NULL: there is no TAP */
static char *skipped;
static FILE *real_stdout;

/* In a test: what cannot be had here. It goes on with what can be tried without. */
#define SKIP_PART(reason) \
	do { \
		mark_point(); /* so that its line names its file, also after assertions of a \
				 header */ \
		if (skipped) \
			snprintf(skipped, SKIPPED_BYTES, "%s", reason); \
		else \
			printf("# SKIP %s: %s\n", __func__, reason); \
	} while (0)

/* The same, and the test ends. */
#define SKIP(reason) do { \
	SKIP_PART(reason); \
	return; \
} while (0)

static inline bool begins_with(const char *text, size_t bytes, const char *word)
{
	return bytes > strlen(word) && !memcmp(text, word, strlen(word));
}

/*
 * A test's line is written when it has ended and the next has not begun: so the reason is its own.
 * One that failed was not skipped.
 */
static inline ssize_t write_line(void *unused, const char *text, size_t bytes)
{
	bool passed = begins_with(text, bytes, "ok ");

	(void)unused;
	if (passed && *skipped)
		fprintf(real_stdout, "%.*s # SKIP %s\n", (int)bytes - 1, text, skipped);
	else
		fwrite(text, 1, bytes, real_stdout);
	if (passed || begins_with(text, bytes, "not ok "))
		*skipped = '\0';
	return fflush(real_stdout) == 0 ? (ssize_t)bytes : 0;
}

/* How many of them failed. */
static inline int run_tests(Suite *s, enum fork_status fork)
{
	const char *tap = getenv("CK_TAP_LOG_FILE_NAME");
	SRunner *runner = srunner_create(s);
	int failed;

	if (tap && !strcmp(tap, "-")) {
		skipped = mmap(NULL, SKIPPED_BYTES, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		real_stdout = stdout;
		stdout = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_line });
		if (skipped == MAP_FAILED || !stdout || setvbuf(stdout, NULL, _IOLBF, 0))
			abort();
	}
	srunner_set_fork_status(runner, fork);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed;
}

#endif
