/*
 * refused.c - wrong arguments other than the numbers of a filter are refused with an explanation
 * and change nothing
 */
#include "base/base.h"
#include "suite.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

static struct blm_filter *make(const char *kind, const char *options, const char *path)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path,
		      &BLM_PARAMS(.kind = kind, .options = options, .capacity = 100, .rate = 0.01,
				  .seed_count = 1, .seeds = (const uint64_t[]){ 7 })));
	return f;
}

static bool is_dirty(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	return info.dirty;
}

START_TEST(a_struct_whose_size_is_not_set_is_refused)
{
	struct blm_filter *f = make("blocked", NULL, NULL), *other;
	struct blm_params params = { .size = 0, .capacity = 100, .rate = 0.01 };
	struct blm_exchange how = { .size = 0, .base64 = true };
	struct blm_info info = { .size = 0 };
	struct blm_build *build;
	struct blm_plan plan;
	size_t len;
	void *bytes;

	FAILS(blm_plan(&plan, &params), -EINVAL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "blm_params.size is 0; set it"));
	FAILS(blm_create(&other, NULL, NULL, &params), -EINVAL);
	FAILS(blm_build_begin(&build, NULL, a_path(), &params, NULL), -EINVAL);
	FAILS(blm_info(f, &info), -EINVAL);
	FAILS(blm_export_bytes(f, &how, &bytes, &len), -EINVAL);
	FAILS(blm_import_bytes(&other, NULL, NULL, &how, "x", 1), -EINVAL);
	/* of the first version, which ended before split_part; and less than that */
	params.size = offsetof(struct blm_params, split_part);
	OK(blm_create(&other, NULL, NULL, &params));
	blm_close(other);
	params.size -= sizeof(size_t);
	FAILS(blm_create(&other, NULL, NULL, &params), -EINVAL);
	params.size = SIZE_MAX;
	FAILS(blm_create(&other, NULL, NULL, &params), -EINVAL);
	params.size = sizeof(params) + 1;
	FAILS(blm_create(&other, NULL, NULL, &params), -EINVAL);
	blm_close(f);
}
END_TEST

/* As a program has them that was compiled with a later header. */
START_TEST(structs_of_later_versions_work_without_unknown_wishes)
{
	struct {
		struct blm_params now;
		uint64_t later;
	} params = { { .size = 0, .capacity = 100, .rate = 0.01 } };
	struct { struct blm_info now; uint8_t later[16]; } info;
	struct blm_filter *f;

	params.now.size = sizeof(params);
	params.later = 1;
	FAILS(blm_create(&f, NULL, NULL, &params.now), -E2BIG);
	params.later = 0;
	OK(blm_create(&f, NULL, NULL, &params.now));
	memset(&info, 0xee, sizeof(info));
	info.now.size = sizeof(info);
	OK(blm_info(f, &info.now));
	ck_assert_uint_eq(info.now.size, sizeof(info));
	ck_assert_uint_eq(info.now.capacity, 100);
	ck_assert_mem_eq(info.later, ((uint8_t [16]){ 0 }), 16);
	blm_close(f);
}
END_TEST

START_TEST(facts_past_the_last_are_refused)
{
	const struct blm_params params = BLM_PARAMS(.kind = "stable", .capacity = 100,
						    .rate = 0.01);
	struct blm_filter *f = make("counting", NULL, NULL);
	struct blm_option_info option;
	struct blm_fact fact;

	OK(blm_plan_fact(&params, 0, &fact));
	FAILS(blm_plan_fact(&params, 100, &fact), -ENOENT);
	FAILS(blm_plan_fact(&params, (size_t)UINT_MAX + 1, &fact), -ENOENT);
	FAILS(blm_plan_fact(&BLM_PARAMS(.kind = "stable"), 0, &fact), -EINVAL);
	FAILS(blm_fact(f, 100, &fact), -ENOENT);
	FAILS(blm_fact(f, (size_t)UINT_MAX + 1, &fact), -ENOENT);
	FAILS(blm_option_list("no such kind", 0, &option), -ENOENT);
	FAILS(blm_option_list("classic", 0, &option), -ENOENT);
	FAILS(blm_plan_fact(&BLM_PARAMS(.kind = "classic", .capacity = 100, .options = "depth=3"),
			    0, &fact),
	      -EINVAL);
	blm_close(f);
}
END_TEST

START_TEST(a_filter_syncs_itself_at_its_limits_and_not_before)
{
	const char *path = a_path();
	struct blm_filter *f = make("classic", NULL, path), *reader;

	FAILS(blm_sync_every(f, 0, -1), -EINVAL);
	FAILS(blm_sync_every(f, 0, 1e9), -EINVAL);
	FAILS(blm_sync_every(f, 0, NAN), -EINVAL);
	OK(blm_open(&reader, NULL, path, 0));
	FAILS(blm_sync_every(reader, 1, 0), -EBADF);
	blm_close(reader);
	OK(blm_sync_every(f, 3, 1e8));
	for (int i = 0; i < 3; i++) {
		OK(blm_add(f, &i, sizeof(i)));
		ck_assert_int_eq(is_dirty(f), i < 2);
	}
	OK(blm_sync_every(f, 0, 1e-9));
	/* the clock moves a few milliseconds at a time */
	for (int i = 3; i < 10000 && (i == 3 || is_dirty(f)); i++) {
		OK(blm_add(f, &i, sizeof(i)));
		usleep(1000);
	}
	ck_assert(!is_dirty(f));
	OK(blm_sync_every(f, 0, 0));
	OK(blm_add(f, "x", 1));
	ck_assert(is_dirty(f));
	blm_close(f);
}
END_TEST

START_TEST(a_filter_that_cannot_double_reports_it)
{
	struct blm_filter *f = make("classic", NULL, NULL), *d = make("d-left", "spare=2", NULL);

	FAILS(blm_grow(f, 0), -EOPNOTSUPP);
	FAILS(blm_grow(d, ~(unsigned)BLM_GROW_FORCE), -EINVAL);
	OK(blm_grow(d, BLM_GROW_FORCE));
	blm_close(f);
	blm_close(d);
}
END_TEST

START_TEST(filters_with_different_options_are_refused_with_both_values)
{
	struct blm_filter *a = make("scalable", "growth=2", NULL),
			  *b = make("scalable", "growth=4", NULL),
			  *c = make("window", "slots=4,span=60", NULL),
			  *d = make("window", "slots=4,span=90", NULL);

	FAILS(blm_same_template(a, b), -EMEDIUMTYPE);
	ck_assert_msg(strstr(blm_error_message(), "growth: 2 and 4") != NULL, "%s",
		      blm_error_message());
	FAILS(blm_same_template(c, d), -EMEDIUMTYPE);
	ck_assert_msg(strstr(blm_error_message(), "span: 60 and 90") != NULL, "%s",
		      blm_error_message());
	blm_close(a);
	blm_close(b);
	blm_close(c);
	blm_close(d);
}
END_TEST

/* Each stage has its part of the rate, and at some time there is no smaller number. */
START_TEST(a_scalable_filter_without_further_stages_is_full)
{
	struct blm_filter *f;
	int r = 0;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "scalable", .cells = 1024, .probes = 8, .capacity = 20,
				  .rate = 1e-299)));
	for (int i = 0; r >= 0 && i < 100000; i++)
		r = blm_add(f, &i, sizeof(i));
	FAILS(r, -EXFULL);
	ck_assert_msg(strstr(blm_error_message(), "cannot grow") != NULL, "%s",
		      blm_error_message());
	blm_close(f);
}
END_TEST

START_TEST(a_sealed_removable_filter_is_exported_as_it_is)
{
	struct blm_filter *f = make("counting", NULL, NULL), *g;
	size_t bytes;
	void *out;

	OK(blm_add(f, "key", 3));
	OK(blm_seal(f));
	OK(blm_export_bytes(f, NULL, &out, &bytes));
	OK(blm_import_bytes(&g, NULL, NULL, NULL, out, bytes));
	ck_assert(blm_contains(g, "key", 3));
	blm_free(out);
	blm_close(f);
	blm_close(g);
}
END_TEST

START_TEST(exports_to_nowhere_and_imports_from_nowhere_say_so)
{
	struct blm_filter *f = make("classic", NULL, NULL), *g;

	FAILS(blm_import_file(&g, NULL, NULL, NULL, a_path()), -ENOENT);
	FAILS(blm_import_file(&g, NULL, NULL, NULL, test_dir), -EISDIR);
	FAILS(blm_open_foreign(&g, a_path(), NULL), -ENOENT);
	FAILS(blm_export_file(f, NULL, "/proc/self/no/such/folder/file"), -ENOENT);
	FAILS(blm_import_bytes(&g, NULL, NULL, &BLM_EXCHANGE(.format = "no such format"), "x", 1),
	      -ENOENT);
	FAILS(blm_import_bytes(&g, NULL, NULL, NULL, "", 0), -ENODATA);
	blm_close(f);
}
END_TEST

static int add_hundred(struct blm_filter *f, void *context)
{
	char key[16];
	int r = 0;

	for (int i = 0; r >= 0 && i < 100; i++)
		r = blm_add(f, key, (size_t)snprintf(key, sizeof(key), "%d", i));
	return r < 0 ? r : 0;
}

static struct blm_info rebuilt(const char *path, const struct blm_params *params)
{
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	char key[16];

	OK(blm_rebuild(NULL, path, params, add_hundred, NULL));
	OK(blm_open(&f, NULL, path, 0));
	OK(blm_info(f, &info));
	for (int i = 0; i < 100; i++)
		ck_assert(blm_contains(f, key, (size_t)snprintf(key, sizeof(key), "%d", i)));
	blm_close(f);
	return info;
}

START_TEST(a_file_damaged_beyond_recognition_is_not_rebuilt)
{
	const char *path = a_path();
	FILE *file;

	blm_close(make("classic", NULL, path));
	file = fopen(path, "r+e");
	ck_assert_int_eq(fseek(file, 100, SEEK_SET), 0);
	ck_assert_int_ne(fputs("damage", file), EOF);
	fclose(file);
	FAILS(blm_rebuild(NULL, path, &BLM_PARAMS(), add_hundred, NULL), -EBADMSG);
	ck_assert_msg(strstr(blm_error_message(), "parameters are not known, so it is not")
			      != NULL,
		      "%s", blm_error_message());
	ck_assert_int_eq(truncate(path, 5000), 0);
	ck_assert_int_lt(blm_rebuild(NULL, path, &BLM_PARAMS(), add_hundred, NULL), 0);
}
END_TEST

/* Without parameters the filter stays as it is. A parameter replaces the old value. */
START_TEST(a_rebuilt_filter_is_as_requested_or_as_before)
{
	static const struct {
		struct blm_params first, again;
		const char *kind, *hash, *scheme, *options;
	} cases[] = {
		{ BLM_PARAMS(.kind = "scalable", .options = "growth=4"),
		  BLM_PARAMS(.kind = "scalable"), "scalable", NULL, NULL, "growth=4" },
		{ BLM_PARAMS(.kind = "scalable", .options = "growth=4"),
		  BLM_PARAMS(.kind = "classic"), "classic", NULL, NULL, "" },
		{ BLM_PARAMS(.kind = "classic"), BLM_PARAMS(.scheme = "double-64"), "classic", NULL,
		  "double-64", "" },
		{ BLM_PARAMS(.kind = "scalable", .options = "growth=4"),
		  BLM_PARAMS(.format = "bloomery"), "scalable", NULL, NULL, "growth=4" },
		{ BLM_PARAMS(.kind = "classic"), BLM_PARAMS(.format = "guava"), "classic",
		  "murmur3-x64-128", "guava-64", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct blm_params first = cases[i].first;
		const char *path = a_path();
		struct blm_filter *f;
		struct blm_info info = BLM_INFO;

		first.capacity = 200;
		first.rate = 0.01;
		OK(blm_create(&f, NULL, path, &first));
		blm_close(f);
		info = rebuilt(path, &cases[i].again);
		ck_assert_str_eq(info.kind, cases[i].kind);
		ck_assert(!cases[i].hash || !strcmp(info.hash, cases[i].hash));
		ck_assert_msg(!cases[i].scheme || !strcmp(info.scheme, cases[i].scheme), "%s",
			      info.scheme);
		ck_assert_msg(strstr(info.options, cases[i].options) != NULL, "%s", info.options);
		ck_assert_uint_ge(info.capacity, 200);
	}
}
END_TEST

/* Fingerprints are not planned: it is made anew as what it is to us. */
START_TEST(a_filter_of_an_unknown_scheme_is_rebuilt_unchanged)
{
	const char *path = a_path(),
		   *text = "#FPS1\n#num_bits=128\n00000000000000000000000000000000\tid\n";
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	OK(blm_import_bytes(&f, NULL, path, &BLM_EXCHANGE(.format = "fps"), text, strlen(text)));
	blm_close(f);
	info = rebuilt(path, &BLM_PARAMS());
	ck_assert_str_eq(info.kind, "bitmap");
	ck_assert_uint_eq(info.cells, 128);
	ck_assert_uint_eq(info.keys, 100);
}
END_TEST

#define NEEDS(call, what) do { \
	FAILS(call, -EINVAL); \
	ck_assert_str_eq(blm_error_message(), what " must not be NULL"); \
} while (0)

START_TEST(a_missing_path_or_name_is_refused)
{
	struct blm_filter *f = make("classic", NULL, NULL), *other;
	struct blm_store *store, *same;
	struct blm_option_info option;
	struct blm_info info = BLM_INFO;

	OK(blm_store_open(&store, a_path(), BLM_STORE_CREATE));
	NEEDS(blm_export_file(f, NULL, NULL), "path");
	NEEDS(blm_import_file(&other, NULL, NULL, NULL, NULL), "path");
	NEEDS(blm_store_open(&same, NULL, 0), "dir");
	NEEDS(blm_store_verify(NULL, 0, NULL, NULL), "dir");
	NEEDS(blm_option_list(NULL, 0, &option), "kind");
	FAILS(blm_open_foreign(&other, NULL, NULL), -EINVAL);
	FAILS(blm_open(&other, NULL, NULL, 0), -EINVAL);
	FAILS(blm_open(&other, store, NULL, 0), -EINVAL);
	FAILS(blm_copy(NULL, store, NULL, f, 0), -EINVAL);
	FAILS(blm_verify(NULL, NULL, 0, NULL, NULL), -EINVAL);
	FAILS(blm_store_find(store, NULL, &info), -EINVAL);
	FAILS(blm_store_rename(store, NULL, "a"), -EINVAL);
	FAILS(blm_store_rename(store, "a", NULL), -EINVAL);
	FAILS(blm_store_drop(store, NULL), -EINVAL);
	FAILS(blm_store_publish(store, NULL, f, 0, 0), -EINVAL);
	FAILS(blm_store_label(store, NULL, "k", "v"), -EINVAL);
	NEEDS(blm_store_label(store, "a", NULL, "v"), "key");
	blm_store_close(store);
	blm_close(f);
}
END_TEST

static int count_calls(void *context, const void *bytes, size_t count)
{
	(void)bytes;
	*(size_t *)context += count;
	return 0;
}

START_TEST(a_missing_function_or_missing_params_are_refused)
{
	const char *path = a_path();
	struct blm_filter *f = make("classic", NULL, path), *other;
	const struct blm_params same = BLM_PARAMS();
	struct blm_store *store;
	struct blm_build *build;
	struct blm_plan plan;
	struct blm_fact fact;
	size_t bytes = 0;

	OK(blm_store_open(&store, a_path(), BLM_STORE_CREATE));
	NEEDS(blm_create(&other, NULL, NULL, NULL), "params");
	NEEDS(blm_build_begin(&build, NULL, NULL, NULL, NULL), "params");
	NEEDS(blm_plan(&plan, NULL), "params");
	NEEDS(blm_plan_fact(NULL, 0, &fact), "params");
	NEEDS(blm_rebuild(NULL, path, NULL, NULL, NULL), "params");
	NEEDS(blm_rebuild(NULL, path, &same, NULL, NULL), "fill");
	NEEDS(blm_export(f, NULL, NULL, NULL), "write");
	NEEDS(blm_import(&other, NULL, NULL, NULL, NULL, NULL), "read");
	NEEDS(blm_import_bytes(&other, NULL, NULL, NULL, NULL, 1), "bytes");
	FAILS(blm_import_bytes(&other, NULL, NULL, NULL, NULL, 0), -ENODATA);
	NEEDS(blm_store_list(store, NULL, NULL, NULL), "each");
	NEEDS(blm_allowlist_list(f, NULL, NULL), "each");
	NEEDS(blm_difference_list(f, f, NULL, NULL), "each");
	OK(blm_export(f, NULL, count_calls, &bytes));
	ck_assert_uint_gt(bytes, 0);
	blm_store_close(store);
	blm_close(f);
}
END_TEST

START_TEST(a_bank_refuses_what_is_missing)
{
	struct blm_filter *f = make("classic", NULL, NULL);
	const char *path = a_path();
	struct blm_bank_build *build;
	struct blm_bank *bank;
	uint8_t bits[4096];
	uint64_t row;

	NEEDS(blm_bank_begin(&build, NULL, false, 0), "path");
	NEEDS(blm_bank_begin(&build, NULL, true, 0), "path");
	OK(blm_bank_begin(&build, path, false, 0));
	NEEDS(blm_bank_add(build, f, NULL), "id");
	NEEDS(blm_bank_add_fps(build, "", 0, NULL), "display");
	NEEDS(blm_bank_add_fps(build, NULL, 1, "a"), "bytes");
	OK(blm_bank_add(build, f, "id"));
	OK(blm_bank_finish(build));
	NEEDS(blm_bank_open(&bank, NULL), "path");
	OK(blm_bank_open(&bank, path));
	NEEDS(blm_bank_find(bank, NULL, &row), "id");
	NEEDS(blm_bank_similar(bank, NULL, NULL, NULL, 0), "bits");
	NEEDS(blm_bank_similar(bank, bits, NULL, NULL, 0), "how");
	NEEDS(blm_bank_export_fps(bank, NULL, NULL), "write");
	OK(blm_bank_find(bank, "id", &row));
	blm_bank_close(bank);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("refused");
	TCase *tc = tcase_create("refused");

	tcase_add_test(tc, a_struct_whose_size_is_not_set_is_refused);
	tcase_add_test(tc, structs_of_later_versions_work_without_unknown_wishes);
	tcase_add_test(tc, facts_past_the_last_are_refused);
	tcase_add_test(tc, a_filter_syncs_itself_at_its_limits_and_not_before);
	tcase_add_test(tc, a_filter_that_cannot_double_reports_it);
	tcase_add_test(tc, filters_with_different_options_are_refused_with_both_values);
	tcase_add_test(tc, a_scalable_filter_without_further_stages_is_full);
	tcase_add_test(tc, a_sealed_removable_filter_is_exported_as_it_is);
	tcase_add_test(tc, exports_to_nowhere_and_imports_from_nowhere_say_so);
	tcase_add_test(tc, a_file_damaged_beyond_recognition_is_not_rebuilt);
	tcase_add_test(tc, a_rebuilt_filter_is_as_requested_or_as_before);
	tcase_add_test(tc, a_filter_of_an_unknown_scheme_is_rebuilt_unchanged);
	tcase_add_test(tc, a_missing_path_or_name_is_refused);
	tcase_add_test(tc, a_missing_function_or_missing_params_are_refused);
	tcase_add_test(tc, a_bank_refuses_what_is_missing);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
