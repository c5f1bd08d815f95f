/* extents.c - after a failed write-back a sync asks the file system for the file's extents */
#include "damage.h"
#include "durable/checkpoint.h"
#include "sync_faults.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <sys/ioctl.h>

/* What the file system says about each page of the file. Each page is an extent. */
enum { WRITTEN = 'w', UNWRITTEN = 'u', DELAYED = 'd', HOLE = ' ', NOTHING = 0 };
static char said_of[4096];
static int asked, refusal = EOPNOTSUPP;

int ioctl(int fd, unsigned long request, ...)
{
	struct fiemap *map;
	va_list args;

	va_start(args, request);
	map = va_arg(args, struct fiemap *);
	va_end(args);
	if (request != FS_IOC_FIEMAP)
		return (int)syscall(SYS_ioctl, fd, request, map);
	asked++;
	if (said_of[0] == NOTHING) {
		errno = refusal;
		return -1;
	}
	map->fm_mapped_extents = 0;
	for (uint64_t i = map->fm_start / 4096; i * 4096 < map->fm_start + map->fm_length
	     && map->fm_mapped_extents < map->fm_extent_count; i++)
		if (said_of[i] != HOLE)
			map->fm_extents[map->fm_mapped_extents++] = (struct fiemap_extent){
				.fe_logical = i * 4096, .fe_length = 4096,
				.fe_flags = said_of[i] == UNWRITTEN ? FIEMAP_EXTENT_UNWRITTEN
					: said_of[i] == DELAYED ? FIEMAP_EXTENT_DELALLOC : 0 };
	return 0;
}

static bool out_of_memory;

int mincore(void *at, size_t bytes, unsigned char *ret)
{
	if (out_of_memory) {
		errno = ENOMEM;
		return -1;
	}
	return (int)syscall(SYS_mincore, at, bytes, ret);
}

/* A filter whose last sync failed. From now on the file system says that all pages are written. */
static struct blm_filter *make_suspect(bool sparse)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm", &BLM_PARAMS(.kind = "classic", .cells = 3 << 23,
						     .probes = 1, .sparse = sparse)));
	add_range(f, 0, 100);
	failing = 1;
	FAILS(blm_sync(f), -EIO);
	memset(said_of, WRITTEN, sizeof(said_of));
	asked = 0;
	return f;
}

/* The number of the first page behind the header that has data, or that has none. */
static uint64_t find_page(const struct blm_filter *f, bool with_data)
{
	const struct blm_view *view = current_view(f);
	uint64_t page = (uint64_t)(view->part[0].bytes - view->image.map) / 4096;

	while (is_zero(view->image.map + page * 4096, 4096) == with_data)
		page++;
	return page;
}

static void is_refused(struct blm_filter *f)
{
	FAILS(blm_sync(f), -EIO);
	ck_assert_msg(strstr(blm_error_message(), "a.blm: its file system does not keep pages"),
		      "%s", blm_error_message());
	ck_assert(info_of(f).suspect && has_range(f, 0, 100));
}

static const char lost[] = { UNWRITTEN, DELAYED, HOLE };

START_TEST(a_sync_is_refused_while_a_page_stays_unwritten)
{
	struct blm_filter *f = make_suspect(false);
	uint64_t page = find_page(f, true);

	said_of[page] = lost[_i];
	is_refused(f);
	is_refused(f);
	said_of[page] = WRITTEN;
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
	finds_nothing("a.blm");
}
END_TEST

/* The first page, the last one, and some behind the 64 extents that are asked for at a time. */
START_TEST(every_page_of_the_data_is_asked_for)
{
	struct blm_filter *f = make_suspect(false);
	uint64_t first = find_page(f, true), end = current_view(f)->image.bytes / 4096;

	for (uint64_t page = first; page < end; page += page == first ? 65 : (end - page) / 2 + 1) {
		said_of[page] = UNWRITTEN;
		is_refused(f);
		said_of[page] = WRITTEN;
	}
	said_of[end - 1] = UNWRITTEN;
	is_refused(f);
	blm_close(f);
}
END_TEST

START_TEST(a_hole_without_data_stays_a_hole)
{
	struct blm_filter *f = make_suspect(true);
	uint64_t page = find_page(f, false);

	said_of[page] = HOLE;
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
}
END_TEST

/* Later keys may be in it. */
START_TEST(an_unwritten_page_without_data_is_refused)
{
	struct blm_filter *f = make_suspect(true);

	said_of[find_page(f, false)] = UNWRITTEN;
	is_refused(f);
	blm_close(f);
}
END_TEST

/* The file system says that this page is unwritten, until it is written once more. */
static uint64_t late;

static void write_late(void)
{
	said_of[late] = WRITTEN;
}

static void wait_for_the_page(void)
{
	meanwhile = write_late;
}

START_TEST(a_page_that_another_process_made_dirty_is_written)
{
	struct blm_filter *f = make_suspect(false);

	late = find_page(f, true);
	said_of[late] = UNWRITTEN;
	meanwhile = wait_for_the_page;		/* the first call writes all of the file */
	OK(blm_sync(f));
	ck_assert(said_of[late] == WRITTEN && !info_of(f).suspect);
	blm_close(f);
}
END_TEST

START_TEST(a_page_that_cannot_be_written_is_an_error)
{
	struct blm_filter *f = make_suspect(false);

	said_of[find_page(f, true)] = UNWRITTEN;
	failing = 2;
	FAILS(blm_sync(f), -EIO);
	ck_assert_int_eq(failing, 0);
	ck_assert_msg(strstr(blm_error_message(), "writing it back failed"), "%s",
		      blm_error_message());
	blm_close(f);
}
END_TEST

START_TEST(a_sync_fails_if_the_pages_in_memory_are_unknown)
{
	struct blm_filter *f = make_suspect(false);

	said_of[find_page(f, true)] = UNWRITTEN;
	out_of_memory = true;
	FAILS(blm_sync(f), -ENOMEM);
	ck_assert(info_of(f).suspect);
	blm_close(f);
}
END_TEST

/* The system may drop the page of the header that says so, because that was not written either. */
START_TEST(a_handle_remembers_its_failure_by_itself)
{
	struct blm_filter *f = make_suspect(false), *other;
	struct blm_live *live = live_of(current_view(f));

	OK(blm_open(&other, NULL, "a.blm", BLM_OPEN_WRITE));
	live->failed.word = 0;
	ck_assert(info_of(f).suspect && !info_of(other).suspect);
	said_of[find_page(f, true)] = UNWRITTEN;
	is_refused(f);
	memset(said_of, WRITTEN, sizeof(said_of));
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	live->failed.word = 0;
	asked = 0;
	OK(blm_sync(f));
	ck_assert(!asked && !info_of(f).suspect && !info_of(other).suspect);
	blm_close(f), blm_close(other);
}
END_TEST

/* The system read an older header from the disk, and the other handle believed it. */
START_TEST(a_sync_of_another_handle_repairs_no_forgotten_failure)
{
	struct blm_filter *f = make_suspect(false), *other;
	struct blm_live *live = live_of(current_view(f));

	OK(blm_open(&other, NULL, "a.blm", BLM_OPEN_WRITE));
	for (int syncs_of_other = 0; syncs_of_other < 3; syncs_of_other++) {
		live->failed.word = 0;
		if (!syncs_of_other)
			live->epoch.word = htole64(le64toh(live->epoch.word) - 1);
		OK(blm_sync(other));
	}
	ck_assert(!asked);
	said_of[find_page(f, true)] = UNWRITTEN;
	is_refused(f);
	memset(said_of, WRITTEN, sizeof(said_of));
	OK(blm_sync(f));
	blm_close(f), blm_close(other);
}
END_TEST

static struct blm_filter *make_with_image(uint64_t *ret_first)
{
	const struct blm_view *view;
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = "cuckoo", .capacity = 1000, .rate = 0.01)));
	view = current_view(f);
	*ret_first = view->checkpoint.blocks[BLM_IMAGE] / 4096;
	add_range(f, 0, 100);
	return f;
}

/* After a power cut the image would be zeros, and no key of any sync would be left. */
START_TEST(the_journal_stays_while_its_image_stays_unwritten)
{
	uint64_t page, from, to;
	struct blm_filter *f = make_with_image(&page);
	const struct blm_view *view = current_view(f);

	failing = 3;
	FAILS(blm_sync(f), -EIO);
	ck_assert(blm_checkpoint_next_noted(view, 0, &from, &to));
	memset(said_of, WRITTEN, sizeof(said_of));
	said_of[page] = UNWRITTEN;
	for (int i = 0; i < 2; i++) {
		is_refused(f);
		ck_assert(blm_checkpoint_next_noted(view, 0, &from, &to));
	}
	said_of[page] = WRITTEN;
	OK(blm_sync(f));
	ck_assert(!blm_checkpoint_next_noted(view, 0, &from, &to) && !info_of(f).suspect);
	blm_close(f);
	finds_nothing("a.blm");
}
END_TEST

START_TEST(many_late_pages_are_written_together)
{
	struct blm_filter *f = make_suspect(false);
	uint64_t first = find_page(f, true), end = current_view(f)->image.bytes / 4096;
	int before;

	for (uint64_t page = first; page < end; page++)
		said_of[page] = HOLE;
	before = syncs;
	is_refused(f);
	ck_assert_int_eq(syncs - before, 2);
	blm_close(f);
}
END_TEST

START_TEST(a_file_system_that_cannot_say_is_believed)
{
	struct blm_filter *f = make_suspect(false);

	said_of[0] = NOTHING;
	OK(blm_sync(f));
	ck_assert(asked && !info_of(f).suspect);
	blm_close(f);
}
END_TEST

START_TEST(extents_are_asked_for_only_after_a_failure)
{
	struct blm_filter *f = make_suspect(false);

	OK(blm_sync(f));
	ck_assert_int_gt(asked, 0);
	asked = 0;
	add_range(f, 100, 200);
	OK(blm_sync(f));
	ck_assert_int_eq(asked, 0);
	blm_close(f);
}
END_TEST

START_TEST(a_file_system_that_fails_to_say_is_not_believed)
{
	struct blm_filter *f = make_suspect(false);

	said_of[0] = NOTHING;
	refusal = EUCLEAN;
	FAILS(blm_sync(f), -EIO);	/* -EUCLEAN would say that the keys are on the disk */
	ck_assert(asked && info_of(f).suspect);
	blm_close(f);
}
END_TEST

START_TEST(the_journal_stays_if_the_file_system_fails_to_say)
{
	uint64_t page, from, to;
	struct blm_filter *f = make_with_image(&page);

	failing = 3;
	FAILS(blm_sync(f), -EIO);
	refusal = EUCLEAN;
	FAILS(blm_sync(f), -EIO);
	ck_assert(asked && info_of(f).suspect);
	ck_assert(blm_checkpoint_next_noted(current_view(f), 0, &from, &to));
	refusal = EOPNOTSUPP;
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
	finds_nothing("a.blm");
}
END_TEST

static struct blm_filter *others;

static void add_in_vain(void)
{
	failing = 1;
	FAILS(blm_add(others, "other", 5), -EIO);
}

START_TEST(a_failure_told_to_another_writer_is_followed_up)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = "cuckoo", .capacity = 1000, .rate = 0.01)));
	OK(blm_add(f, "key", 3));
	memset(said_of, UNWRITTEN, sizeof(said_of));
	others = f;
	meanwhile = add_in_vain;
	FAILS(blm_sync(f), -EIO);
	ck_assert_int_gt(asked, 0);
	ck_assert(info_of(f).suspect);
	memset(said_of, WRITTEN, sizeof(said_of));
	OK(blm_sync(f));
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("extents");
	TCase *tc = tcase_create("after a failure");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, a_sync_is_refused_while_a_page_stays_unwritten, 0,
			    ARRAY_LEN(lost));
	tcase_add_test(tc, every_page_of_the_data_is_asked_for);
	tcase_add_test(tc, a_hole_without_data_stays_a_hole);
	tcase_add_test(tc, an_unwritten_page_without_data_is_refused);
	tcase_add_test(tc, a_page_that_another_process_made_dirty_is_written);
	tcase_add_test(tc, a_page_that_cannot_be_written_is_an_error);
	tcase_add_test(tc, a_sync_fails_if_the_pages_in_memory_are_unknown);
	tcase_add_test(tc, a_handle_remembers_its_failure_by_itself);
	tcase_add_test(tc, a_sync_of_another_handle_repairs_no_forgotten_failure);
	tcase_add_test(tc, the_journal_stays_while_its_image_stays_unwritten);
	tcase_add_test(tc, the_journal_stays_if_the_file_system_fails_to_say);
	tcase_add_test(tc, many_late_pages_are_written_together);
	tcase_add_test(tc, a_file_system_that_cannot_say_is_believed);
	tcase_add_test(tc, a_file_system_that_fails_to_say_is_not_believed);
	tcase_add_test(tc, extents_are_asked_for_only_after_a_failure);
	tcase_add_test(tc, a_failure_told_to_another_writer_is_followed_up);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
