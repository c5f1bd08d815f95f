/* random.c - a test draws the same random numbers in every run, with a sanitizer, too */
#include "base/random.h"
#include "suite.h"

#include <sys/mman.h>

static uint64_t one_drawn(void)
{
	uint64_t x = 0;

	ck_assert_int_eq(getrandom(&x, sizeof(x), 0), sizeof(x));
	return x;
}

/* Those of splitmix64 from 0 on. */
START_TEST(each_test_draws_the_same_numbers)
{
	ck_assert_uint_eq(one_drawn(), UINT64_C(0xE220A8397B1DCDAF));
	ck_assert_uint_eq(one_drawn(), UINT64_C(0x6E789E6AA1B965F4));
}
END_TEST

START_TEST(the_library_draws_them)
{
	uint64_t x = 0;

	ck_assert_int_eq(blm_random(&x, sizeof(x), "a test"), 0);
	ck_assert_uint_eq(x, UINT64_C(0xE220A8397B1DCDAF));
}
END_TEST

START_TEST(processes_draw_other_numbers_than_each_other_and_their_parent)
{
	uint64_t *drawn_by = mmap(NULL, 3 * sizeof(*drawn_by), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(drawn_by, MAP_FAILED);
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			getrandom(&drawn_by[i], sizeof(drawn_by[i]), 0);
			_exit(0);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, 0);
	}
	drawn_by[2] = one_drawn();
	ck_assert_uint_ne(drawn_by[0], drawn_by[1]);
	ck_assert_uint_ne(drawn_by[0], drawn_by[2]);
	ck_assert_uint_ne(drawn_by[1], drawn_by[2]);
	munmap(drawn_by, 3 * sizeof(*drawn_by));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("random");
	TCase *tc = tcase_create("random");

	tcase_add_test(tc, each_test_draws_the_same_numbers);
	tcase_add_test(tc, the_library_draws_them);
	tcase_add_test(tc, processes_draw_other_numbers_than_each_other_and_their_parent);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
