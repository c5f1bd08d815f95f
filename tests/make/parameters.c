/*
 * parameters.c - parameters that are refused, that follow from others, or that a rebuild changes;
 * the words of errors
 */
#include "handle/handle.h"
#include "info.h"
#include "store/suite.h"

static const struct blm_params small = BLM_PARAMS(.capacity = 100, .rate = 0.01, .seed_count = 1,
						  .seeds = (const uint64_t[]){ 7 });

START_TEST(parameters_that_do_not_go_together_are_refused)
{
	static const struct { struct blm_params params; int err;
	} wrong[] = {
		{ BLM_PARAMS(.capacity = 10, .secret = (const uint8_t *)"sixteen bytes..."),
		  -EINVAL },
		{ BLM_PARAMS(.capacity = 10, .tweak = 1), -EINVAL },
		{ BLM_PARAMS(.capacity = 10, .mode = 07777), -EINVAL },
		{ BLM_PARAMS(.capacity = 10, .kind = "none"), -ENOENT },
		{ BLM_PARAMS(.capacity = 10, .hash = "none"), -ENOENT },
	};
	struct blm_filter *f = NULL;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		FAILS(blm_create(&f, NULL, "a", &wrong[i].params), wrong[i].err);
	ck_assert_int_eq(files_in(".", NULL), 0);
	OK(blm_create(NULL, NULL, "a", &small));		/* no handle is wanted */
	ck_assert_int_eq(files_in(".", NULL), 1);
}
END_TEST

START_TEST(missing_bits_capacity_or_rate_follow_from_the_others)
{
	struct blm_plan plan;

	OK(blm_plan(&plan, &BLM_PARAMS(.kind = "classic", .cells = 1000, .capacity = 100)));
	ck_assert_uint_eq(plan.probes, 7);			/* 10 bits a key, times ln 2 */
	OK(blm_plan(&plan, &BLM_PARAMS(.kind = "classic", .cells = 64, .capacity = 1000)));
	ck_assert_uint_eq(plan.probes, 1);
	OK(blm_plan(&plan, &BLM_PARAMS(.kind = "classic", .cells = 1 << 20, .capacity = 1)));
	ck_assert_uint_ge(plan.probes, BLM_PROBES_MAX - 1);
	OK(blm_plan(&plan, &BLM_PARAMS(.kind = "classic", .cells = 1 << 20, .rate = 0.01)));
	ck_assert_uint_eq(plan.probes, 7);
	ck_assert_uint_eq(plan.capacity, 103831);		/* 2^20 ln 2 / 7 */
}
END_TEST

START_TEST(sizes_that_no_filter_of_a_kind_has_are_refused)
{
	static const struct { struct blm_params params; int err; const char *words; } wrong[] = {
		{ BLM_PARAMS(.kind = "cuckoo", .capacity = BLM_CAPACITY_MAX), -EFBIG, "2^47" },
		{ BLM_PARAMS(.kind = "iblt", .capacity = UINT64_C(1) << 40), -EFBIG, "2^32" },
		{ BLM_PARAMS(.kind = "fuse", .capacity = BLM_CAPACITY_MAX / 2, .rate = 1e-9),
		  -EFBIG, "2^48" },
		{ BLM_PARAMS(.kind = "stable", .capacity = 1000, .rate = 1e-15), -EFBIG,
		  "more probes" },
		{ BLM_PARAMS(.kind = "redis-cuckoo", .cells = 1024, .capacity = 500, .rate = 1e-6),
		  -EINVAL, "8 bits" },
		{ BLM_PARAMS(.kind = "cuckoo", .capacity = 1000, .scheme = "double"), -EOPNOTSUPP,
		  "no scheme but its own" },
	};
	struct blm_plan plan;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		FAILS(blm_plan(&plan, &wrong[i].params), wrong[i].err);
		ck_assert_msg(strstr(blm_error_message(), wrong[i].words) != NULL, "%s",
			      blm_error_message());
	}
}
END_TEST

static int no_keys(struct blm_filter *new, void *context)
{
	return 0;
}

START_TEST(a_rebuild_may_set_a_new_secret_and_tweak)
{
	const struct blm_params keyed = BLM_PARAMS(.capacity = 10, .hash = "siphash",
						   .secret = (const uint8_t *)"sixteen bytes...");
	const uint8_t *other = (const uint8_t *)"sixteen others..";
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_info *info = info_buffer();
	struct blm_filter *f;

	OK(blm_create(NULL, store, "keyed", &keyed));
	OK(blm_rebuild(store, "keyed", &BLM_PARAMS(.secret = other), no_keys, NULL));
	OK(blm_open_keyed(&f, store, "keyed", 0, other));
	blm_close(f);
	FAILS(blm_open_keyed(&f, store, "keyed", 0, keyed.secret), -ENOKEY);
	OK(blm_create(NULL, store, "tweaked",
		      &BLM_PARAMS(.capacity = 10, .kind = "classic", .hash = "murmur3-bip37",
				  .tweak = 5)));
	for (uint64_t tweak = 0; tweak < 10; tweak += 9) {		/* 0: as before */
		OK(blm_rebuild(store, "tweaked", &BLM_PARAMS(.tweak = tweak), no_keys, NULL));
		OK(blm_store_find(store, "tweaked", info));
		ck_assert_uint_eq(info->tweak, tweak ? tweak : 5);
	}
	blm_store_close(store);
	free(info);
}
END_TEST

/* ---- Words ---- */

START_TEST(errors_have_words_with_and_without_their_sign)
{
	ck_assert_str_eq(blm_strerror(-EXFULL), "the filter is full");
	ck_assert_str_eq(blm_strerror(EXFULL), blm_strerror(-EXFULL));
	ck_assert_str_eq(blm_strerror(-ENOENT), strerror(ENOENT));
}
END_TEST

/* Each byte of the name becomes the four characters \x01. */
START_TEST(a_message_too_long_ends_after_a_whole_character)
{
	char name[601];
	struct blm_filter *f;
	size_t len;

	memset(name, 1, sizeof(name) - 1);
	name[200] = name[400] = '/';
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < 4; i++) {	/* the limit is at each of the four */
		memset(name, 'a', i);
		FAILS(blm_open(&f, NULL, name, 0), -ENOENT);
		len = strlen(blm_error_message());
		ck_assert_uint_gt(len, 1000);
		ck_assert_str_eq(blm_error_message() + len - 4, "\\x01");
	}
}
END_TEST

START_TEST(a_list_of_kinds_ends_where_its_room_does)
{
	char all[256], buffer[8];

	ck_assert_str_eq(blm_kinds_that_can(~0u, all, sizeof(all)), "none");
	blm_kinds_that_can(0, all, sizeof(all));
	ck_assert_ptr_nonnull(strstr(all, "classic"));
	for (size_t n = 1; n <= sizeof(buffer); n++) {
		memset(buffer, 'x', sizeof(buffer));
		ck_assert_uint_lt(strlen(blm_kinds_that_can(0, buffer, n)), sizeof(buffer));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("parameters");
	TCase *tc = tcase_create("parameters");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_test(tc, parameters_that_do_not_go_together_are_refused);
	tcase_add_test(tc, missing_bits_capacity_or_rate_follow_from_the_others);
	tcase_add_test(tc, sizes_that_no_filter_of_a_kind_has_are_refused);
	tcase_add_test(tc, a_rebuild_may_set_a_new_secret_and_tweak);
	tcase_add_test(tc, errors_have_words_with_and_without_their_sign);
	tcase_add_test(tc, a_message_too_long_ends_after_a_whole_character);
	tcase_add_test(tc, a_list_of_kinds_ends_where_its_room_does);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
