/* sync_fail.c - syncs that fail, and syncs whose process is killed */
#include "damage.h"
#include "sync_faults.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

/* The calls of a sync: the data, the records of the blocks, the live page. */
START_TEST(a_failed_sync_is_reported_and_mended_next)
{
	struct blm_params params = params_of(&shapes[2]);
	struct blm_filter *f, *other;
	struct blm_info before = BLM_INFO, after = BLM_INFO;
	struct image i;

	OK(blm_create(&f, NULL, "a.blm", &params));
	add_range(f, 0, 100);
	OK(blm_sync(f));
	OK(blm_open(&other, NULL, "a.blm", BLM_OPEN_WRITE));
	before = info_of(f);
	ck_assert(!before.suspect && !before.dirty && before.synced);
	ck_assert_uint_eq(before.synced_epoch, 1);
	ck_assert_uint_eq(before.epoch, 2);
	ck_assert_uint_eq(before.suspect_epoch, 0);
	add_range(f, 100, 20000);
	failing = _i;
	FAILS(blm_sync(f), -EIO);
	ck_assert_msg(strstr(blm_error_message(), "a.blm")
			      && strstr(blm_error_message(), "writing it back failed"),
		      "%s", blm_error_message());
	ck_assert_int_eq(failing, 0);
	for (int handle = 0; handle < 2; handle++) {
		after = info_of(handle ? other : f);
		ck_assert(after.suspect && after.dirty && after.synced == before.synced);
		ck_assert_uint_eq(after.synced_epoch, 1);
		ck_assert_uint_eq(after.suspect_epoch, 2);
	}
	ck_assert(has_range(f, 0, 20000));
	finds_nothing("a.blm");
	OK(blm_sync(other));
	after = info_of(f);
	ck_assert(!after.suspect && !after.dirty && after.synced > before.synced);
	ck_assert_uint_eq(after.synced_epoch, after.epoch - 1);
	ck_assert_uint_eq(after.suspect_epoch, 0);
	finds_nothing("a.blm");
	i = image_of("a.blm");
	/* and they are guarded as they are now */
	for (uint64_t block = 0; block < i.blocks; block++) {
		ck_assert(damage(&i, block, BITS_SWAPPED));
		finds_block("a.blm", block);
		put("a.blm", begin_of(&i, block), i.bytes + begin_of(&i, block),
		    end_of(&i, block) - begin_of(&i, block));
	}
	blm_close(f);
	blm_close(other);
	free(i.bytes);
}
END_TEST

START_TEST(a_filter_stays_usable_while_its_syncs_fail_repeatedly)
{
	struct blm_filter *f;

	make(&f, NULL, "a.blm");
	for (unsigned i = 0; i < 20; i++) {
		add_range(f, 10 * i, 10 * i + 10);
		failing = 1 + (int)i % 3;
		FAILS(blm_sync(f), -EIO);
		ck_assert(info_of(f).suspect);
		ck_assert(has_range(f, 0, 10 * i + 10));
	}
	OK(blm_sync_every(f, 1, 0));
	failing = 1;
	FAILS(blm_claim(f, "claimed", 7), -EIO);
	/* the second claim after a sync is a shorter way */
	OK(blm_sync(f));
	OK(blm_sync_every(f, 2, 0));
	ck_assert_int_eq(blm_claim(f, "one", 3), 1);
	failing = 1;
	FAILS(blm_claim(f, "two", 3), -EIO);
	OK(blm_sync_every(f, 0, 0));
	ck_assert_int_eq(blm_claim(f, "claimed", 7), 0);
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
	finds_nothing("a.blm");
}
END_TEST

/*
 * The first flush reports, once, what the system could not write long before: that need not be a
 * sync.
 */
START_TEST(a_failure_reported_to_another_flush_makes_the_filter_suspect)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;
	int r;

	make_with(store, "a", "key");
	OK(blm_open(&f, store, "a", BLM_OPEN_WRITE));
	add_range(f, 0, 100);
	failing = 1;
	switch (_i) {
	case 0: r = blm_store_label(store, "a", "key", "value"); break;
	case 1: r = blm_store_rename(store, "a", "b"); break;	/* the catalog has it */
	case 2: r = blm_store_drop(store, "a"); break;
	default: r = blm_clear(f); break;
	}
	ck_assert(_i == 1 ? r == 0 : r == -EIO);
	ck_assert_int_eq(failing, 0);
	ck_assert(info_of(f).suspect && has_range(f, 0, 100) && has(f, "key"));
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	OK(blm_store_label(store, _i == 1 ? "b" : "a", "key", "other"));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
	blm_store_close(store);
}
END_TEST

static int sync_and_die(int at)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE) == 0);
	failing = -at;
	blm_sync(f);
	return 1;
}

/*
 * Whatever it is writing: the data, the records of the blocks, the sync record, the checkpoint
 * image.
 */
START_TEST(a_process_killed_in_a_sync_leaves_the_filter_suspect)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = _i < 3 ? "blocked" : "cuckoo", .capacity = 1000,
				  .rate = 0.01)));
	add_range(f, 0, 100);
	ck_assert_int_eq(run_apart(sync_and_die, _i % 3 + 1), SIGNALLED + SIGKILL);
	ck_assert(info_of(f).suspect);
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
}
END_TEST

/* The failure may be reported for any page, and the next sync finds that page clean. */
START_TEST(an_unwritable_checkpoint_image_makes_the_filter_suspect)
{
	struct blm_filter *f, *other;

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = "cuckoo", .capacity = 1000, .rate = 0.01)));
	OK(blm_open(&other, NULL, "a.blm", BLM_OPEN_WRITE));
	add_range(f, 0, 100);
	failing = 3;
	FAILS(blm_sync(f), -EIO);
	ck_assert_msg(strstr(blm_error_message(), "checkpoint image"), "%s", blm_error_message());
	ck_assert(info_of(f).suspect);
	ck_assert_uint_eq(info_of(f).suspect_epoch, info_of(f).epoch);
	OK(blm_sync(other));
	ck_assert(!info_of(f).suspect && !info_of(f).dirty);
	blm_close(f);
	blm_close(other);
	finds_nothing("a.blm");
}
END_TEST

static const int meanings[] = { EUCLEAN, ESTALE, EAGAIN, ENOSPC };

/* -EUCLEAN and -ESTALE of blm_sync() say that the keys are on the disk. */
START_TEST(an_error_of_the_disk_has_no_second_meaning)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = "cuckoo", .capacity = 1000, .rate = 0.01)));
	failing_with = meanings[_i];
	for (int call = 1; call <= 3; call++) {
		add_range(f, (uint64_t)call * 100, (uint64_t)call * 100 + 100);
		failing = call;
		FAILS(blm_sync(f), meanings[_i] == ENOSPC ? -ENOSPC : -EIO);
		ck_assert(strstr(blm_error_message(), strerror(meanings[_i])));
		OK(blm_sync(f));
	}
	blm_close(f);
}
END_TEST

/*
 * The other handle's sync got a report, too, and has written all pages again; but the system may
 * have dropped some.
 */
START_TEST(a_report_to_a_replaced_view_fails_the_next_sync)
{
	struct blm_filter *f, *other;

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = "scalable", .capacity = 1000, .rate = 0.01)));
	OK(blm_open(&other, NULL, "a.blm", BLM_OPEN_WRITE));
	add_range(f, 0, 10);
	add_range(other, 0, 5000);
	has_report = true;
	add_range(f, 0, 10);
	ck_assert(!has_report);
	FAILS(blm_sync(f), -EIO);
	ck_assert(info_of(f).suspect);
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	blm_close(f), blm_close(other);
}
END_TEST

START_TEST(a_report_to_a_forked_process_fails_a_sync_once)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm", &BLM_PARAMS(.capacity = 1000, .rate = 0.01)));
	add_range(f, 0, 10);
	has_report = true;
	FAILS(blm_sync(f), -EIO);
	ck_assert(!has_report && info_of(f).suspect);
	OK(blm_sync(f));
	failing = 1;
	has_report = true;
	FAILS(blm_sync(f), -EIO);
	OK(blm_sync(f));
	ck_assert(!has_report && !info_of(f).suspect);
	blm_close(f);
}
END_TEST

static struct blm_filter *others;

static void add_in_vain(void)
{
	failing = 1;
	FAILS(blm_add(others, "other", 5), -EIO);
	ck_assert_int_eq(failing, 0);
}

/* The two share an open file, and the system tells one of them. */
START_TEST(a_sync_after_a_failed_one_writes_all_pages_again)
{
	struct blm_filter *f;
	int calls = _i ? 3 : 2, before;		/* data, sync record, checkpoint image */

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = announcing[_i], .capacity = 1000, .rate = 0.01)));
	OK(blm_add(f, "key", 3));
	others = f;
	meanwhile = add_in_vain;
	before = syncs;
	OK(blm_sync(f));
	ck_assert_int_eq(syncs - before, calls + 2);
	ck_assert(!info_of(f).suspect);
	OK(blm_add(f, "other", 5));
	blm_close(f);
	finds_nothing("a.blm");
}
END_TEST

START_TEST(a_failed_announcement_stays_known_when_another_process_flushes)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	OK(blm_create(&f, store, "a",
		      &BLM_PARAMS(.kind = announcing[_i], .capacity = 1000, .rate = 0.01)));
	OK(blm_sync(f));
	others = f;
	meanwhile = add_in_vain;
	OK(blm_store_label(store, "a", "key", "value"));
	ck_assert_ptr_null(meanwhile);
	ck_assert(info_of(f).suspect);
	OK(blm_add(f, "key", 3));
	ck_assert(info_of(f).suspect);
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
	blm_store_close(store);
}
END_TEST

static int looks;

static int find_no_suspicion(int unused)
{
	struct blm_filter *mine;
	struct blm_info info = BLM_INFO;

	MUST(blm_info(others, &info) == 0 && !info.suspect && info.suspect_epoch == 0);
	MUST(blm_open(&mine, NULL, "a.blm", 0) == 0);
	MUST(blm_info(mine, &info) == 0 && !info.suspect);
	blm_close(mine);
	return 0;
}

/* It cannot know who has a lock. */
static int find_suspicion_where_the_file_is_away(int unused)
{
	struct blm_info info = BLM_INFO;

	MUST(rename("a.blm", "away") == 0);
	MUST(blm_info(others, &info) == 0 && info.suspect);
	MUST(rename("away", "a.blm") == 0);
	return 0;
}

/*
 * Through the handle that writes back, through another, and through what a forked process has of
 * them.
 */
static void look_on(void)
{
	looks++;
	ck_assert_int_eq(find_no_suspicion(0), 0);
	ck_assert_int_eq(run_apart(find_no_suspicion, 0), 0);
	ck_assert_int_eq(run_apart(find_suspicion_where_the_file_is_away, 0), 0);
	meanwhile = look_on;
}

START_TEST(a_filter_becomes_suspect_only_when_its_write_back_fails)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = _i ? announcing[_i - 1] : "blocked", .capacity = 1000,
				  .rate = 0.01)));
	others = f;
	meanwhile = look_on;
	OK(blm_add(f, "key", 3));
	ck_assert_int_eq(looks, _i > 0);	/* the announcement */
	OK(blm_sync(f));
	ck_assert_int_ge(looks, _i ? 3 : 2);
	meanwhile = NULL;
	OK(blm_add(f, "other", 5));
	failing = 1;
	FAILS(blm_sync(f), -EIO);
	ck_assert(info_of(f).suspect);
	meanwhile = look_on;
	OK(blm_sync(f));
	meanwhile = NULL;
	ck_assert(!info_of(f).suspect);
	blm_close(f);
}
END_TEST

START_TEST(damaged_sync_records_leave_the_disk_unknown_until_a_sync)
{
	struct blm_filter *f, *syncing;
	struct blm_live *live;

	make(&f, NULL, "a.blm");
	OK(blm_open(&syncing, NULL, "a.blm", BLM_OPEN_WRITE));
	live = live_of(current_view(f));
	for (int i = 0; i < 2; i++) {
		OK(blm_add(f, &i, sizeof(i)));
		OK(blm_sync(f));
	}
	for (int i = 0; i < 2; i++) {
		ck_assert(!info_of(f).suspect && info_of(f).synced);
		live->sync[1 - i].check ^= 1;	/* the older one first, that of the first sync */
	}
	ck_assert(info_of(f).suspect && !info_of(f).suspect_epoch && !info_of(f).synced);
	OK(blm_lock_syncing(current_view(syncing)));
	ck_assert(info_of(f).suspect && !info_of(f).suspect_epoch && !info_of(f).synced);
	blm_unlock_syncing(current_view(syncing));
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect && info_of(f).synced);
	blm_close(f), blm_close(syncing);
}
END_TEST

static int announce_and_die(int unused)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE) == 0);
	failing = -1;
	blm_add(f, "other", 5);
	return 1;
}

/* _i: the announcing process was told about a failure; was killed */
START_TEST(a_change_that_cannot_be_announced_makes_the_filter_suspect)
{
	for (size_t kind = 0; kind < ARRAY_LEN(announcing); kind++) {
		struct blm_filter *f, *other;

		OK(blm_create(&f, NULL, "a.blm",
			      &BLM_PARAMS(.kind = announcing[kind], .capacity = 1000, .rate = 0.01,
					  .replace = kind > 0)));
		OK(blm_open(&other, NULL, "a.blm", BLM_OPEN_WRITE));
		others = f;
		if (_i)
			ck_assert_int_eq(run_apart(announce_and_die, 0), SIGNALLED + SIGKILL);
		else
			add_in_vain();
		ck_assert(!blm_lock_is_held(&current_view(f)->lock, current_view(f)->image.fd));
		ck_assert(info_of(f).suspect && info_of(other).suspect);
		OK(blm_add(f, "key", 3));
		OK(blm_lock_writing(current_view(f), true));
		ck_assert(info_of(f).suspect && info_of(other).suspect);
		blm_unlock_writing(current_view(f));
		OK(blm_sync(f));
		ck_assert(!info_of(f).suspect && !info_of(other).suspect);
		blm_close(f), blm_close(other);
	}
}
END_TEST

static struct blm_filter *witness;
static pthread_t disallowing;
static int64_t disallowed = -1;

static bool is_locked(void)
{
	return blm_ofd_held(current_view(witness)->image.fd, BLM_LOCK_SYNC);
}

static void *disallow(void *unused)
{
	disallowed = blm_allowlist_remove(others, &(struct blm_key){ "key", 3 }, 1);
	return NULL;
}

static void see_that_it_is_locked(void)
{
	looks++;
	ck_assert(is_locked());
	meanwhile = see_that_it_is_locked;
}

/* Time enough for one that does not wait. */
static void disallow_meanwhile(void)
{
	ck_assert_int_eq(pthread_create(&disallowing, NULL, disallow, NULL), 0);
	for (int i = 0; i < 100 && is_locked(); i++)
		usleep(2000);
	see_that_it_is_locked();
}

START_TEST(a_sync_keeps_its_lock_during_other_threads_calls)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make(&others, store, "a");
	OK(blm_open(&witness, store, "a", BLM_OPEN_WRITE));
	OK(blm_add(others, "key", 3));
	meanwhile = disallow_meanwhile;
	OK(blm_sync(others));
	meanwhile = NULL;
	ck_assert_int_ge(looks, 2);
	pthread_join(disallowing, NULL);
	ck_assert_int_eq(disallowed, 0);
	ck_assert(!is_locked());
	blm_close(others), blm_close(witness);
	blm_store_close(store);
}
END_TEST

/* _i: by the process that makes the filter; by the one that replaces it */
static int name_and_die(int replaces)
{
	struct blm_params params = BLM_PARAMS(.capacity = 1000, .rate = 0.01, .replace = replaces);
	struct blm_filter *f;

	folder_failing = -1;
	blm_create(&f, NULL, "a.blm", &params);
	return 1;
}

START_TEST(a_sync_flushes_the_name_that_a_killed_process_gave)
{
	struct blm_filter *f;

	if (_i)
		make(&f, NULL, "a.blm"), blm_close(f);
	ck_assert_int_eq(run_apart(name_and_die, _i), SIGNALLED + SIGKILL);
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	add_range(f, 0, 10);
	folder_syncs = 0;
	folder_failing = 1;
	FAILS(blm_sync(f), -EIO);
	OK(blm_sync(f));
	ck_assert_int_eq(folder_syncs, 2);
	add_range(f, 10, 20);
	OK(blm_sync(f));
	ck_assert_int_eq(folder_syncs, 2);	/* data on the disk stays there */
	blm_close(f);
}
END_TEST

/* Else who opened it just before would add to a file that has no name. */
START_TEST(a_replaced_filter_says_so_after_its_replacer_failed)
{
	struct blm_filter *f;
	uint64_t state = 0;
	int fd;

	make(&f, NULL, "a.blm");
	add_range(f, 0, 10);
	fd = open("a.blm", O_RDONLY);
	folder_failing = 1;
	FAILS(blm_clear(f), -EIO);
	ck_assert_msg(strstr(blm_error_message(), "in place"), "%s", blm_error_message());
	ck_assert_int_eq(pread(fd, &state, sizeof(state),
			       offsetof(struct blm_header, live)
				       + offsetof(struct blm_live, state)),
			 sizeof(state));
	ck_assert_uint_eq(le64toh(state) & 0xff, BLM_REPLACED);
	ck_assert(!has_range(f, 0, 10));
	close(fd);
	blm_close(f);
}
END_TEST

START_TEST(a_sync_of_a_truncated_file_fails)
{
	struct blm_filter *f;

	make(&f, NULL, "a.blm");
	add_range(f, 0, 100);
	ck_assert_int_eq(truncate("a.blm", (off_t)info_of(f).bytes - 4096), 0);
	FAILS(blm_sync(f), -EIO);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "a.blm"));
	blm_close(f);
}
END_TEST

/*
 * Pages that are written to, while all of a map is read-only: the handler notes each and lets it
 * be.
 */
static uint8_t *watched;
static uint8_t touched[2048];

static void note_page(int number, siginfo_t *info, void *context)
{
	size_t page = (size_t)((uint8_t *)info->si_addr - watched) / BLM_PAGE;

	if ((uint8_t *)info->si_addr < watched || page >= sizeof(touched))
		abort();
	touched[page] = 1;
	mprotect(watched + page * BLM_PAGE, BLM_PAGE, PROT_READ | PROT_WRITE);
}

/* How many pages a sync writes to, of how many. */
static size_t pages_touched(struct blm_filter *f, size_t *ret_pages)
{
	struct blm_view *view = current_view(f);
	size_t pages = round_up(view->image.bytes, BLM_PAGE) / BLM_PAGE, count = 0;
	struct sigaction old, act = { .sa_sigaction = note_page, .sa_flags = SA_SIGINFO };

	ck_assert_uint_le(pages, sizeof(touched));
	memset(touched, 0, sizeof(touched));
	watched = view->image.map;
	sigaction(SIGSEGV, &act, &old);
	ck_assert_int_eq(mprotect(watched, pages * BLM_PAGE, PROT_READ), 0);
	OK(blm_sync(f));
	ck_assert_int_eq(mprotect(watched, pages * BLM_PAGE, PROT_READ | PROT_WRITE), 0);
	sigaction(SIGSEGV, &old, NULL);
	for (size_t i = 0; i < pages; i++)
		count += touched[i];
	*ret_pages = pages;
	return count;
}

START_TEST(a_sync_after_a_failed_one_makes_every_page_dirty)
{
	const struct blm_part_entry *e;
	struct blm_filter *f;
	size_t count, pages, gap;

	if (sysconf(_SC_PAGESIZE) != BLM_PAGE)
		SKIP("pages are larger here");
	make_shape(&shapes[_i], SYNCED);
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	count = pages_touched(f, &pages);
	ck_assert_uint_le(count, 2);	/* the live page, and nothing else has changed */
	failing = 1;
	FAILS(blm_sync(f), -EIO);
	count = pages_touched(f, &pages);
	e = &current_view(f)->image.header->part[0];
	/* without an owner */
	gap = (le64toh(e->offset) - blocksum_bytes(le64toh(e->bytes))) / BLM_PAGE
	    - BLM_HEADER_BYTES / BLM_PAGE;
	ck_assert_msg(count == pages - gap,
		      "%zu of %zu pages, %zu of them between header and guard", count, pages, gap);
	count = pages_touched(f, &pages);
	ck_assert_uint_le(count, 2);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sync_fail");
	TCase *tc = tcase_create("sync_fail");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, a_failed_sync_is_reported_and_mended_next, 1, 4);
	tcase_add_test(tc, a_filter_stays_usable_while_its_syncs_fail_repeatedly);
	tcase_add_loop_test(tc, a_failure_reported_to_another_flush_makes_the_filter_suspect, 0,
			    4);
	tcase_add_loop_test(
		tc, a_process_killed_in_a_sync_leaves_the_filter_suspect,
		0, 6);
	tcase_add_loop_test(tc, a_sync_flushes_the_name_that_a_killed_process_gave, 0, 2);
	tcase_add_test(tc, a_replaced_filter_says_so_after_its_replacer_failed);
	tcase_add_test(tc, an_unwritable_checkpoint_image_makes_the_filter_suspect);
	tcase_add_loop_test(tc, an_error_of_the_disk_has_no_second_meaning, 0,
			    ARRAY_LEN(meanings));
	tcase_add_test(tc, a_report_to_a_replaced_view_fails_the_next_sync);
	tcase_add_test(tc, a_report_to_a_forked_process_fails_a_sync_once);
	tcase_add_loop_test(
		tc, a_sync_after_a_failed_one_writes_all_pages_again, 0, 3);
	tcase_add_loop_test(
		tc, a_failed_announcement_stays_known_when_another_process_flushes,
		0, 3);
	tcase_add_loop_test(
		tc, a_filter_becomes_suspect_only_when_its_write_back_fails, 0,
		1 + (int)ARRAY_LEN(announcing));
	tcase_add_loop_test(tc, a_change_that_cannot_be_announced_makes_the_filter_suspect, 0,
			    2);
	tcase_add_test(tc, damaged_sync_records_leave_the_disk_unknown_until_a_sync);
	tcase_add_test(tc, a_sync_keeps_its_lock_during_other_threads_calls);
	tcase_add_test(tc, a_sync_of_a_truncated_file_fails);
	tcase_add_loop_test(tc, a_sync_after_a_failed_one_makes_every_page_dirty, 0, 6);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
