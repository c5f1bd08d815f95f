/* combine.c - combinations: which ones are refused, and what a union writes */
#include "handle/handle.h"
#include "store/suite.h"

#include <sys/mman.h>

static struct blm_filter *memory(const struct blm_params *params)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL, params));
	return f;
}

static const struct blm_params small = BLM_PARAMS(.capacity = 100, .rate = 0.01, .seed_count = 1,
						  .seeds = (const uint64_t[]){ 7 });

START_TEST(no_filters_and_an_impossible_rate_do_not_combine)
{
	static const double none[] = { -1, 1, 2, INFINITY, NAN };
	const struct blm_filter *f = memory(&small);
	struct blm_filter *g = NULL;

	FAILS(blm_combine(&g, NULL, NULL, BLM_UNION, &f, 0, 0, NULL), -EINVAL);
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		FAILS(blm_combine(&g, NULL, NULL, BLM_UNION, &f, 1, none[i], NULL), -EINVAL);
	ck_assert_ptr_null(g);
	blm_close((struct blm_filter *)f);
}
END_TEST

START_TEST(filters_of_different_templates_do_not_combine_or_compare)
{
	const struct blm_params others[] = {
		BLM_PARAMS(.capacity = 200, .rate = 0.01, .seed_count = 1,
			   .seeds = (const uint64_t[]){ 7 }),
		BLM_PARAMS(.capacity = 100, .rate = 0.01, .seed_count = 1,
			   .seeds = (const uint64_t[]){ 8 }),
		BLM_PARAMS(.capacity = 100, .rate = 0.01, .kind = "classic", .seed_count = 1,
			   .seeds = (const uint64_t[]){ 7 }),
		BLM_PARAMS(.capacity = 100, .rate = 0.01, .hash = "siphash",
			   .secret = (const uint8_t *)"sixteen bytes..."),
	};
	struct blm_filter *f = memory(&small), *other = memory(&others[_i]), *g = NULL;
	struct blm_comparison c;

	OK(blm_add(f, "f", 1));
	OK(blm_add(other, "other", 5));
	FAILS(blm_compare(f, other, &c), -EMEDIUMTYPE);
	FAILS(blm_same_template(f, other), -EMEDIUMTYPE);
	for (enum blm_op op = BLM_UNION; op <= BLM_INTERSECT; op++) {
		FAILS(blm_combine(&g, NULL, NULL, op,
				  (const struct blm_filter *const[]){ f, other }, 2, 0, NULL),
		      -EMEDIUMTYPE);
		FAILS(blm_combine_into(f, op, (const struct blm_filter *const[]){ other }, 1, 0,
				       NULL),
		      -EMEDIUMTYPE);
	}
	ck_assert(has(f, "f") && !has(f, "other"));
	blm_close(f);
	blm_close(other);
}
END_TEST

/* Another handle replaced it by a filter of another template since. */
START_TEST(a_source_replaced_by_another_templates_filter_is_refused)
{
	struct blm_filter *f, *g = memory(&small), *same = memory(&small);

	OK(blm_template(&f, NULL, "a", same, 0));
	blm_close(f);
	OK(blm_open(&f, NULL, "a", BLM_OPEN_WRITE));
	OK(blm_create(NULL, NULL, "a", &BLM_PARAMS(.capacity = 500, .replace = true)));
	FAILS(blm_combine_into(f, _i ? BLM_UNION : BLM_INTERSECT,
			       (const struct blm_filter *const[]){ same }, 1, 0, NULL),
	      -EMEDIUMTYPE);
	blm_close(f);
	blm_close(g);
	blm_close(same);
}
END_TEST

/* Of several pieces, the last of them not whole. */
enum { OTHERS = 3, BYTES = 300000 / 64 * 64 };

static void or_by_bytes(struct blm_filter *const *f, int count, uint8_t ret[BYTES])
{
	static uint8_t data[BYTES];

	memset(ret, 0, BYTES);
	for (int i = 0; i < count; i++) {
		OK(blm_data_read(f[i], 0, data, BYTES));
		for (size_t b = 0; b < BYTES; b++)
			ret[b] |= data[b];
	}
}

static void check_data(struct blm_filter *f, const uint8_t wanted[BYTES])
{
	static uint8_t data[BYTES];

	OK(blm_data_read(f, 0, data, BYTES));
	ck_assert_mem_eq(data, wanted, BYTES);
	blm_close(f);
}

START_TEST(a_union_of_several_filters_is_their_bytewise_or)
{
	const struct blm_params params = BLM_PARAMS(.cells = BYTES * 8, .kind = "classic",
						    .seed_count = 1,
						    .seeds = (const uint64_t[]){ 7 });
	struct blm_filter *f[1 + OTHERS], *into, *new;
	static uint8_t wanted[BYTES];

	for (int i = 0; i < 1 + OTHERS; i++) {
		f[i] = memory(&params);
		for (uint32_t key = 0; key < 30000; key++)
			OK(blm_add(f[i], &(uint32_t){ key * (uint32_t)(i + 1) }, 4) < 0);
	}
	or_by_bytes(f, 1 + _i, wanted);
	OK(blm_copy(&into, NULL, NULL, f[0], 0));
	OK(blm_combine_into(into, BLM_UNION, (const struct blm_filter *const *)f + 1, (size_t)_i, 0,
			    NULL));
	check_data(into, wanted);
	OK(blm_combine(&new, NULL, "new.blm", BLM_UNION, (const struct blm_filter *const *)f,
		       (size_t)_i + 1, 0, NULL));
	check_data(new, wanted);
	for (int i = 0; i < 1 + OTHERS; i++)
		blm_close(f[i]);
}
END_TEST

/* A write to a page that lacks nothing would kill. */
START_TEST(a_union_in_place_skips_pages_that_have_it)
{
	const struct blm_params params =
		BLM_PARAMS(.capacity = 200000, .rate = 0.01, .kind = _i ? "classic" : "blocked",
			   .seed_count = 1, .seeds = (const uint64_t[]){ 7 });
	struct blm_filter *f = memory(&params), *more;
	uint64_t untouched = 0, bytes;
	const uint8_t *src;
	uint8_t *dst;

	OK(blm_template(&more, NULL, NULL, f, 0));
	for (uint32_t key = 0; key < 100000; key++)
		OK(blm_add(f, &key, 4));
	for (uint32_t key = 50000; key < 100010; key++)		/* ten that the other lacks */
		OK(blm_add(more, &key, 4));
	bytes = current_view(f)->part[0].shape.bytes;
	dst = current_view(f)->part[0].bytes;
	src = current_view(more)->part[0].bytes;
	for (uint64_t page = -(uintptr_t)dst % 4096, at; page + 4096 <= bytes; page += 4096) {
		for (at = page; at < page + 4096 && !(src[at] & ~dst[at]); at++)
			;
		if (at < page + 4096)
			continue;
		ck_assert_int_eq(mprotect(dst + page, 4096, PROT_READ), 0);
		untouched++;
	}
	ck_assert_uint_gt(untouched, 3);
	OK(blm_combine_into(f, BLM_UNION, (const struct blm_filter *const[]){ more }, 1, 0, NULL));
	for (uint64_t i = 0; i < bytes; i++)
		ck_assert_uint_eq(src[i] & ~dst[i], 0);
	blm_close(f);
	blm_close(more);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("combine");
	TCase *tc = tcase_create("combine");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_test(tc, no_filters_and_an_impossible_rate_do_not_combine);
	tcase_add_loop_test(
		tc, filters_of_different_templates_do_not_combine_or_compare, 0,
		4);
	tcase_add_loop_test(tc, a_source_replaced_by_another_templates_filter_is_refused, 0, 2);
	tcase_add_loop_test(
		tc, a_union_of_several_filters_is_their_bytewise_or, 0,
		OTHERS + 1);
	tcase_add_loop_test(tc, a_union_in_place_skips_pages_that_have_it, 0,
			    2);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
