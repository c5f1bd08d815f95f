/* sync_every.c - a handle syncs by itself after a number of keys or seconds; pages of any size */
#include "damage.h"
#include "sync_faults.h"

#include <time.h>

/* Other machines have pages of 16 or 64 KiB, and flush whole pages only. */
START_TEST(a_filter_is_synced_also_where_pages_are_larger)
{
	struct blm_store *store;
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	page_bytes = _i % 2 ? 65536 : 16384;
	OK(blm_store_open(&store, "store", BLM_STORE_CREATE));
	OK(blm_create(&f, store, "a",
		      &BLM_PARAMS(.kind = _i < 2 ? "blocked" : announcing[_i / 2 - 1],
				  .capacity = 300000, .rate = 0.01)));
	OK(blm_info(f, &info));
	ck_assert(!info.suspect);
	add_range(f, 0, 1000);
	OK(blm_sync(f));
	OK(blm_store_label(store, "a", "who", "me"));
	OK(blm_info(f, &info));
	ck_assert(info.synced && !info.dirty && !info.suspect);
	OK(blm_seal(f));
	blm_close(f);
	blm_store_close(store);
	ck_assert_int_eq(blm_store_verify("store", 0, NULL, NULL), 0);
	page_bytes = 4096;
}
END_TEST

START_TEST(a_handle_syncs_automatically_after_a_number_of_new_keys)
{
	struct blm_filter *f;
	struct blm_key keys[25];
	unsigned number[25];
	uint64_t last;

	make(&f, NULL, "a.blm");
	OK(blm_sync_every(f, 10, 0));
	add_range(f, 0, 9);
	ck_assert_uint_eq(info_of(f).synced, 0);
	add_range(f, 0, 9);			/* they are there, so nothing has changed */
	ck_assert_uint_eq(info_of(f).synced, 0);
	add_range(f, 9, 10);
	last = info_of(f).synced;
	ck_assert(last && !info_of(f).dirty);
	for (unsigned i = 10; i < 19; i++)
		OK(blm_claim(f, &i, sizeof(i)));
	ck_assert_uint_eq(info_of(f).synced, last);
	OK(blm_claim(f, &(unsigned){ 19 }, sizeof(unsigned)));
	ck_assert_uint_gt(info_of(f).synced, last);
	for (unsigned i = 0; i < 25; i++) {
		number[i] = 20 + i;
		keys[i] = (struct blm_key){ &number[i], sizeof(number[i]) };
	}
	last = info_of(f).synced;
	syncs = 0;
	ck_assert_int_eq((int)blm_add_many(f, keys, 25, NULL), 25);
	ck_assert(syncs == 3 && info_of(f).synced > last);	/* one sync */
	OK(blm_sync_every(f, 0, 0));
	last = info_of(f).synced;
	add_range(f, 45, 85);
	ck_assert_uint_eq(info_of(f).synced, last);
	blm_close(f);
	finds_nothing("a.blm");
}
END_TEST

enum { FAR_AWAY = 1000000 };	/* seconds, which no busy machine makes pass */

START_TEST(the_first_new_key_after_the_interval_syncs)
{
	struct blm_filter *f;
	uint64_t last;

	make(&f, NULL, "a.blm");
	OK(blm_sync_every(f, 0, FAR_AWAY));
	add_range(f, 0, 5);
	ck_assert_uint_eq(info_of(f).synced, 0);
	OK(blm_sync_every(f, 0, 0.2));
	usleep(250000);
	ck_assert_uint_eq(info_of(f).synced, 0);	/* no process added keys, so none syncs */
	add_range(f, 0, 5);
	ck_assert_uint_eq(info_of(f).synced, 0);
	add_range(f, 5, 6);
	last = info_of(f).synced;
	ck_assert_uint_gt(last, 0);
	OK(blm_sync_every(f, 0, FAR_AWAY));
	add_range(f, 6, 10);
	ck_assert_uint_eq(info_of(f).synced, last);
	blm_close(f);
}
END_TEST

START_TEST(a_failed_automatic_sync_is_reported_and_keeps_its_keys)
{
	struct blm_filter *f;

	make(&f, NULL, "a.blm");
	OK(blm_sync_every(f, 1, 0));
	failing = 1;
	FAILS(blm_add(f, "one", 3), -EIO);
	ck_assert(has(f, "one") && info_of(f).suspect);
	failing = 1;
	FAILS(blm_claim(f, "two", 3), -EIO);
	ck_assert(has(f, "two"));
	OK(blm_add(f, "three", 5));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
}
END_TEST

START_TEST(an_invalid_interval_or_a_read_only_handle_is_refused)
{
	static const double bad[] = { -1, 1e9, 1e300, -0.001, (double)INFINITY, (double)NAN };
	struct blm_filter *f;

	make(&f, NULL, "a.blm");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		FAILS(blm_sync_every(f, 0, bad[i]), -EINVAL);
	blm_close(f);
	OK(blm_open(&f, NULL, "a.blm", 0));
	FAILS(blm_sync_every(f, 1, 1), -EBADF);
	FAILS(blm_sync(f), -EBADF);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sync_every");
	TCase *tc = tcase_create("sync_every");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, a_filter_is_synced_also_where_pages_are_larger, 0, 8);
	tcase_add_test(tc, a_handle_syncs_automatically_after_a_number_of_new_keys);
	tcase_add_test(tc, the_first_new_key_after_the_interval_syncs);
	tcase_add_test(tc, a_failed_automatic_sync_is_reported_and_keeps_its_keys);
	tcase_add_test(tc, an_invalid_interval_or_a_read_only_handle_is_refused);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
