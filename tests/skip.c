/*
 * skip.c - a test that is skipped stands in the TAP output as skipped, and no other does
 *
 * usage: test-skip [EXAMPLES]: with an argument the examples below are run, which the tests do, and
 * look at what they say
 */
#include "suite.h"

#include <signal.h>

/* ---- Examples ---- */

START_TEST(passes)
{
	puts("ok, says the test");
}
END_TEST

START_TEST(cannot_run_in_part)
{
	if (_i)
		SKIP_PART("no moon");
}
END_TEST

START_TEST(cannot_run)
{
	ck_assert_int_ge(entries_of(test_dir), 0);	/* whose last assertion is in suite.h */
	SKIP("only cats may");
	ck_abort_msg("it went on");
}
END_TEST

START_TEST(fails_after_a_part_that_cannot_run)
{
	SKIP_PART("no sun");
	ck_abort_msg("two\nlines");
}
END_TEST

START_TEST(kills_the_runner)
{
	kill(getppid(), SIGKILL);
}
END_TEST

static int run_examples(void)
{
	Suite *s = begin_suite("examples");
	TCase *tc = tcase_create("all"), *end = tcase_create("end");

	tcase_add_test(tc, passes);
	tcase_add_loop_test(tc, cannot_run_in_part, 0, 2);
	tcase_add_test(tc, cannot_run);
	tcase_add_test(tc, fails_after_a_part_that_cannot_run);
	tcase_add_test(tc, passes);
	tcase_add_test(end, cannot_run);
	tcase_add_test(end, kills_the_runner);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, end);
	return run_suite(s);
}

/* ---- Tests ---- */

/* What the examples print, without the numbers of lines. */
static const char *said_by_examples(const char *environment, int *ret_status)
{
	static char text[4096], command[2000];
	char self[500] = "", *to = text;
	FILE *from;

	ck_assert_int_gt((int)readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
	snprintf(
		command, sizeof(command),
		"exec env -u CK_TAP_LOG_FILE_NAME CK_VERBOSITY=silent TMPDIR='%s' %s '%s' examples",
		test_dir, environment, self);
	from = popen(command, "r");
	ck_assert_ptr_nonnull(from);
	while (to < text + sizeof(text) - 500 && fgets(to, 500, from)) {
		char *file = strstr(to, "skip.c:");
		size_t length = file ? strcspn(to, "-") + 2 : 0;

		if (file && file > to + length)		/* the path is that of the build */
			memmove(to + length, file, strlen(file) + 1);
		to += strlen(to);
	}
	*to = '\0';
	*ret_status = pclose(from);
	return text;
}

START_TEST(a_case_that_cannot_run_is_skipped)
{
	int status;

	ck_assert_str_eq(said_by_examples("CK_TAP_LOG_FILE_NAME=- CK_RUN_CASE=all", &status),
		"ok, says the test\n"
		"ok 1 - skip.c:all:passes: Passed\n"
		"ok 2 - skip.c:all:cannot_run_in_part: Passed\n"
		"ok 3 - skip.c:all:cannot_run_in_part: Passed # SKIP no moon\n"
		"ok 4 - skip.c:all:cannot_run: Passed # SKIP only cats may\n"
		"not ok 5 - skip.c:all:fails_after_a_part_that_cannot_run: two\nlines\n"
		"ok, says the test\n"
		"ok 6 - skip.c:all:passes: Passed\n"
		"1..6\n");
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
}
END_TEST

START_TEST(the_output_of_a_killed_runner_is_there)
{
	int status;

	ck_assert_str_eq(said_by_examples("CK_TAP_LOG_FILE_NAME=- CK_RUN_CASE=end", &status),
		"ok 1 - skip.c:end:cannot_run: Passed # SKIP only cats may\n");
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END_TEST

START_TEST(without_tap_the_program_prints_its_failures)
{
	const char *said;
	int status;

	said = said_by_examples("CK_RUN_CASE=all", &status);
	ck_assert_msg(strstr(said, "# SKIP cannot_run") && strstr(said, ": only cats may\n")
			      && !strstr(said, "Passed"),
		      "%s", said);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s;
	TCase *tc;

	if (argc > 1)
		return run_examples();
	s = begin_suite("skip");
	tc = tcase_create("skip");
	tcase_add_test(tc, a_case_that_cannot_run_is_skipped);
	tcase_add_test(tc, the_output_of_a_killed_runner_is_there);
	tcase_add_test(tc, without_tap_the_program_prints_its_failures);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
