/*
 * place.c - paths and their secrets: names of no filter, names that are too long, and missing files
 */
#include "handle/name_record.h"
#include "place/place.h"
#include "place/store_dir.h"
#include "store/suite.h"

#include <limits.h>
#include <sys/stat.h>

static const uint8_t one[16] = "sixteen bytes...", two[16] = "sixteen others..";

static struct blm_params keyed_with(const uint8_t *secret)
{
	return BLM_PARAMS(.capacity = 100, .hash = "siphash", .secret = secret);
}

/* "././.../a", of this length. */
static const char *long_path(size_t bytes)
{
	static char path[PATH_MAX + 100];

	for (size_t i = 0; i + 1 < bytes; i++)
		path[i] = i % 2 ? '/' : '.';
	if (bytes % 2 == 0)
		memcpy(path, "//", 2);	/* "//./a" is absolute: only for the check of its length */
	path[bytes - 1] = 'a';
	path[bytes] = '\0';
	return path;
}

/* ---- Paths ---- */

START_TEST(a_path_ends_with_a_name)
{
	static const char *const none[] = { "/", "x/", ".", "..", "x/.", "x/..", "/..", "./" };
	struct blm_filter *f;
	const char *last;
	int fd = blm_folder_of("/a", &last);

	ck_assert_int_ge(fd, 0);
	ck_assert_str_eq(last, "a");
	close(fd);
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		FAILS(blm_folder_of(none[i], &last), -EISDIR);
		ck_assert_int_lt(blm_create(&f, NULL, none[i], &BLM_PARAMS(.capacity = 10)), 0);
	}
	FAILS(blm_create(&f, NULL, "", &BLM_PARAMS(.capacity = 10)), -EINVAL);
	FAILS(blm_folder_of(long_path(PATH_MAX + 51), &last), -ENAMETOOLONG);
	ck_assert_int_eq(files_in(".", NULL), 0);
}
END_TEST

START_TEST(a_name_in_a_store_is_not_left_out)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	FAILS(blm_create(&f, store, NULL, &BLM_PARAMS(.capacity = 10)), -EINVAL);
	FAILS(blm_open(&f, store, NULL, 0), -EINVAL);
	make_with(store, "a", "a");
	FAILS(blm_store_rename(store, "a", "a"), -EINVAL);
	ck_assert(holds(store, "a", "a"));
	blm_store_close(store);
}
END_TEST

START_TEST(a_filter_whose_replaced_file_is_gone_was_dropped)
{
	struct blm_filter *f, *other, *reader;

	make_with(NULL, "a", "a");
	OK(blm_open(&f, NULL, "a", BLM_OPEN_WRITE));
	OK(blm_open(&reader, NULL, "a", 0));
	OK(blm_open(&other, NULL, "a", BLM_OPEN_WRITE));
	OK(blm_clear(other));
	ck_assert_int_eq(unlink("a"), 0);
	FAILS(_i == 0	? blm_add(f, "b", 1)
	      : _i == 1 ? (int)blm_claim_many(f, &(struct blm_key){ "b", 1 }, 1, NULL)
			: blm_clear(f),
	      -ESTALE);
	FAILS(blm_status(f), -ESTALE);
	ck_assert(has(reader, "a"));		/* goes on with what it has */
	FAILS(blm_status(reader), -ESTALE);
	blm_close(other);
	blm_close(reader);
	blm_close(f);
}
END_TEST

/* The words of an earlier failure are not to stand for those of this one. */
static int forget_words(void)
{
	return blm_fail(0, "%s", "");
}

START_TEST(each_error_about_a_missing_name_has_the_name)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_entry *entry = calloc(1, sizeof(*entry));
	struct blm_place in_store, path;

	OK(blm_place_set(&in_store, store, "gone"));
	OK(blm_place_set(&path, NULL, "./gone"));
	forget_words();
	FAILS(blm_place_is(&in_store, 0, 0, one), -ENOENT);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "gone: "));
	forget_words();
	FAILS(blm_place_is(&path, 0, 0, one), -ENOENT);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "./gone: "));
	forget_words();
	FAILS(blm_catalog_get(store->catalog, "gone", entry), -ENOENT);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "gone: "));
	forget_words();
	FAILS(blm_catalog_change(store->catalog, "gone", NULL, NULL), -ENOENT);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "gone: "));
	forget_words();
	FAILS(blm_write_record(store, "gone"), -ENOENT);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "gone"));
	blm_place_clear(&in_store);
	blm_place_clear(&path);
	blm_store_close(store);
	free(entry);
}
END_TEST

/* ---- Secrets ---- */

START_TEST(a_secret_of_a_path_is_not_overwritten)
{
	struct blm_params first = keyed_with(one), second = keyed_with(two);
	size_t bytes, more;
	uint8_t *before, *after;

	OK(blm_create(NULL, NULL, "a", &first));
	before = read_all("a.key", &bytes);
	ck_assert_int_eq(unlink("a"), 0);
	OK(blm_create(NULL, NULL, "a", &first));	/* the same again is there already */
	ck_assert_int_eq(unlink("a"), 0);
	OK(blm_create(NULL, NULL, "a", &second));
	after = read_all("a.key", &more);
	ck_assert_uint_eq(more, 2 * bytes);
	ck_assert_mem_eq(before, after, bytes);
	free(before);
	free(after);
}
END_TEST

static int fill_nothing(struct blm_filter *fresh, void *context)
{
	return 0;
}

START_TEST(a_damaged_secret_is_reported_and_opens_nothing)
{
	static const char *const texts[] = { "", "1234", "0123456789abcdef0123456789abcdeg\n",
					     "not hexadecimal at all, but long enough" };
	struct blm_params params = keyed_with(one);
	struct blm_filter *f;

	OK(blm_create(NULL, NULL, "a", &params));
	write_all("a.key", texts[_i], strlen(texts[_i]));
	FAILS(blm_open(&f, NULL, "a", 0), -ENOKEY);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "a.key"));
	FAILS(blm_rebuild(NULL, "a", &params, fill_nothing, NULL), -ENOKEY);
	OK(blm_open_keyed(&f, NULL, "a", 0, one));
	blm_close(f);
}
END_TEST

START_TEST(a_keyed_filter_needs_space_for_its_secrets_name)
{
	struct blm_params params = keyed_with(one);
	const char *path = long_path(PATH_MAX - 3);
	struct blm_filter *f;

	FAILS(blm_create(NULL, NULL, path, &params), -ENAMETOOLONG);
	ck_assert_int_eq(files_in(".", NULL), 0);
	OK(blm_create(NULL, NULL, "a", &params));
	FAILS(blm_open(&f, NULL, path, 0), -ENAMETOOLONG);
	OK(blm_open_keyed(&f, NULL, path, 0, one));
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("place");
	TCase *tc = tcase_create("place");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_test(tc, a_path_ends_with_a_name);
	tcase_add_test(tc, a_name_in_a_store_is_not_left_out);
	tcase_add_loop_test(tc, a_filter_whose_replaced_file_is_gone_was_dropped, 0, 3);
	tcase_add_test(tc, each_error_about_a_missing_name_has_the_name);
	tcase_add_test(tc, a_secret_of_a_path_is_not_overwritten);
	tcase_add_loop_test(tc, a_damaged_secret_is_reported_and_opens_nothing, 0, 4);
	tcase_add_test(tc, a_keyed_filter_needs_space_for_its_secrets_name);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
