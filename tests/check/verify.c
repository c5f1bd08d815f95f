/*
 * verify.c - checking one filter: files near it, truncation during the check, contents that no
 * writer produces; and a new filter for which there is no space
 */
#include "suite.h"
#include "../info.h"

#include "file/mapping.h"
#include "file/ofd_lock.h"
#include "file/new_file.h"
#include "handle/handle.h"

static char said[4096];

static void hear(void *context, const struct blm_finding *found)
{
	size_t at = strlen(said);

	snprintf(said + at, sizeof(said) - at, "%s: %s\n", found->file, found->what);
}

static void set_word(const char *path, size_t at, uint64_t value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	uint64_t word = htole64(value);

	ck_assert_int_eq((int)pwrite(fd, &word, 8, (off_t)at), 8);
	close(fd);
}

/* ---- Files near it ---- */

static void leave_beside(const char *path, const char *folder, char ret[512])
{
	char name[BLM_TEMPORARY_NAME];
	struct stat st;

	OK(stat(path, &st));
	blm_replacement_name(st.st_ino, name);
	snprintf(ret, 512, "%s/%s", folder, name);
	write_all(ret, "left", 4);
}

START_TEST(a_dead_replacers_file_near_a_links_target_is_found)
{
	char left[512];

	OK(mkdir("d", 0755));
	make(NULL, NULL, "d/a.blm");
	OK(symlink("d/a.blm", "link"));
	leave_beside("d/a.blm", "d", left);
	ck_assert_int_eq((int)blm_verify(NULL, "link", 0, NULL, NULL), 1);
	ck_assert_int_eq((int)blm_verify(NULL, "link", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert_int_lt(access(left, F_OK), 0);
}
END_TEST

START_TEST(a_living_replacers_file_is_left_alone)
{
	char left[512];
	int fd;

	make(NULL, NULL, "a.blm");
	leave_beside("a.blm", ".", left);
	fd = open("a.blm", O_RDWR | O_CLOEXEC);
	OK(blm_ofd_lock(fd, BLM_LOCK_REPLACE, true));
	ck_assert_int_eq((int)blm_verify(NULL, "a.blm", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert_int_eq(access(left, F_OK), 0);
	close(fd);
}
END_TEST

/* ---- Damage ---- */

static void cut_it(void *context, const struct blm_finding *found)
{
	OK(truncate("a.blm", 100000));
	hear(context, found);
}

START_TEST(truncation_of_a_file_during_verification_is_reported)
{
	struct blm_info *info = info_buffer();
	struct blm_filter *f;
	size_t at;

	OK(blm_create(&f, NULL, "a.blm", &BLM_PARAMS(.capacity = 1000000)));
	for (uint32_t i = 0; i < 500000; i++)
		OK(blm_add(f, &i, 4));
	OK(blm_sync(f));
	OK(blm_info(f, info));
	blm_close(f);
	for (at = info->bytes - info->data_bytes; at < info->bytes - info->data_bytes + 512;
	     at += 8)
		set_word("a.blm", at, 0);
	OK(blm_survive_truncation());
	said[0] = '\0';
	ck_assert_int_eq((int)blm_verify(NULL, "a.blm", 0, cut_it, NULL), 2);
	ck_assert_ptr_nonnull(strstr(said, "was truncated"));
	free(info);
}
END_TEST

/*
 * As a crash in a sync leaves one, and a copy made in the first sync its only one, which `flushing`
 * shows.
 */
START_TEST(a_file_without_any_intact_sync_record_is_reported)
{
	static const size_t checks[] = { offsetof(struct blm_header, live.sync[0].check),
					 offsetof(struct blm_header, live.sync[1].check) };
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm", &BLM_PARAMS(.capacity = 1000)));
	for (int syncs = 0; syncs < 2; syncs++) {
		OK(blm_add(f, &syncs, sizeof(syncs)));
		OK(blm_sync(f));
		if (syncs == 0)
			copy_file("a.blm", "once.blm");
	}
	blm_close(f);
	for (int i = 0; i < 2; i++) {
		said[0] = '\0';
		set_word("a.blm", checks[i], 1);
		ck_assert_int_eq((int)blm_verify(NULL, "a.blm", 0, hear, NULL), i);
	}
	ck_assert_ptr_nonnull(strstr(said, "both sync records are damaged"));
	set_word("once.blm", checks[0], 1);
	ck_assert_int_eq((int)blm_verify(NULL, "once.blm", 0, hear, NULL), 0);
	set_word("once.blm", checks[1], 1);
	ck_assert_int_eq((int)blm_verify(NULL, "once.blm", 0, hear, NULL), 1);
	ck_assert_ptr_nonnull(strstr(said, "its only sync record is damaged"));
	set_word("once.blm", offsetof(struct blm_header, live.flushing.word), 1);
	ck_assert_int_eq((int)blm_verify(NULL, "once.blm", 0, hear, NULL), 0);
}
END_TEST

/* Change the header of a file, and put the checksums of its sync and name records right. */
static void patch(const char *path, void (*change)(struct blm_header *header))
{
	struct blm_header *header = malloc(sizeof(*header));
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_eq((int)pread(fd, header, sizeof(*header), 0), (int)sizeof(*header));
	change(header);
	for (int i = 0; i < 2; i++) {
		struct blm_sync_record *s = &header->live.sync[i];
		struct blm_record *r = &header->record[i];

		s->check = s->sequence ? blm_check_sync(s, header->constant.uuid) : 0;
		r->check = r->sequence ? blm_check_record(r, header->constant.uuid) : 0;
	}
	ck_assert_int_eq((int)pwrite(fd, header, sizeof(*header), 0), (int)sizeof(*header));
	close(fd);
	free(header);
}

static void contradict_syncs(struct blm_header *header)
{
	struct blm_sync_record *sync = header->live.sync;

	sync[0].sequence = sync[1].sequence = htole64(UINT64_MAX);
	sync[0].keys = htole64(100);
	sync[0].epoch = htole64(2);
	sync[1].keys = htole64(50);
	sync[1].epoch = htole64(1);
}

START_TEST(contradicting_sync_records_are_reported_until_the_next_sync)
{
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	make_with(NULL, "a.blm", "key");
	patch("a.blm", contradict_syncs);
	said[0] = '\0';
	ck_assert_int_eq((int)blm_verify(NULL, "a.blm", 0, hear, NULL), 1);
	ck_assert_ptr_nonnull(strstr(said, "contradict each other"));
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.synced_epoch, 1);
	OK(blm_sync(f));
	blm_close(f);
	ck_assert_int_eq((int)blm_verify(NULL, "a.blm", 0, NULL, NULL), 0);
}
END_TEST

START_TEST(a_filter_that_is_open_exclusively_is_not_repaired)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;
	struct blm_part *part;

	make_with(store, "a", "key");
	OK(blm_open(&f, store, "a", BLM_OPEN_EXCLUSIVE));
	OK(blm_sync(f));
	part = &current_view(f)->part[0];
	memset(part->bytes, 0, part->shape.bytes);
	said[0] = '\0';
	ck_assert_int_eq((int)blm_store_verify("s", BLM_VERIFY_REPAIR, hear, NULL), 1);
	ck_assert_ptr_nonnull(strstr(said, "exclusively"));
	ck_assert(!blm_contains(f, "key", 3));
	blm_close(f);
	OK(blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL));
	ck_assert(holds(store, "a", "key"));
	blm_store_close(store);
}
END_TEST

static void number_last_name(struct blm_header *header)
{
	header->record[1].sequence = htole64(UINT64_MAX);
}

START_TEST(a_rename_after_the_last_sequence_is_in_the_file)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char path[512];

	make_with(store, "a", "key");
	path_of(store, "a", path);
	patch(path, number_last_name);
	OK(blm_store_rename(store, "a", "b"));
	ck_assert_int_eq((int)blm_store_verify("s", 0, NULL, NULL), 0);
	OK(blm_store_rename(store, "b", "c"));
	blm_store_close(store);
	OK(unlink("s/catalog/data.mdb"));
	OK(blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL));
	store = open_store(0);
	ck_assert(holds(store, "c", "key"));
	blm_store_close(store);
}
END_TEST

static void sync_too_late(struct blm_header *header)
{
	header->live.sync[1].epoch = htole64(UINT64_C(1) << 63);
}

static void write_too_late(struct blm_header *header)
{
	header->live.written.word = htole64(UINT64_MAX);
}

static void begin_too_late(struct blm_header *header)
{
	header->live.epoch.word = htole64(UINT64_MAX);
}

START_TEST(impossible_epochs_are_reported_and_never_wrap)
{
	static void (*const all[])(struct blm_header * header) = { write_too_late, begin_too_late,
								   sync_too_late };
	struct blm_filter *f;

	make_with(NULL, "a.blm", "key");
	patch("a.blm", all[_i]);
	FAILS(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE), -EUCLEAN);
	ck_assert(holds(NULL, "a.blm", "key"));
	ck_assert_int_eq((int)blm_verify(NULL, "a.blm", 0, NULL, NULL), 1);
}
END_TEST

/* ---- A new file that finds no room ---- */

/* Its file has no name yet; here it loses its pages, as it does on a full disk. */
static int cut_the_new_file(struct blm_filter *f, void *unused)
{
	for (int fd = 3; fd < 64; fd++) {
		struct stat st;

		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0
		    && st.st_size > 1000000)
			MUST(ftruncate(fd, BLM_HEADER_BYTES) == 0);
	}
	for (uint32_t i = 0; i < 1000; i++)
		if (blm_add(f, &i, 4) < 0)
			return 0;	/* what fills it may pass over that */
	return 0;
}

START_TEST(a_new_file_without_its_pages_replaces_no_good_one)
{
	struct blm_params params = BLM_PARAMS(.capacity = 1000000, .sparse = true);

	make_with(NULL, "a.blm", "key");
	OK(blm_survive_truncation());
	FAILS(blm_rebuild(NULL, "a.blm", &params, cut_the_new_file, NULL), -ENOSPC);
	ck_assert(holds(NULL, "a.blm", "key"));
	ck_assert_int_eq((int)blm_verify(NULL, "a.blm", 0, NULL, NULL), 0);
}
END_TEST

START_TEST(a_truncated_file_is_not_published)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	make_with(store, "a", "key");
	OK(blm_create(&f, NULL, "a.blm", &BLM_PARAMS(.capacity = 1000000)));
	OK(blm_survive_truncation());
	OK(truncate("a.blm", BLM_HEADER_BYTES));
	FAILS(blm_store_publish(store, "a", f, 0, 0), -EIO);
	FAILS(blm_store_publish(store, "b", f, 0, 0), -EIO);
	ck_assert(holds(store, "a", "key"));
	ck_assert_int_eq(files_in("s/filters", NULL), 1);
	blm_close(f);
	blm_store_close(store);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verify");
	TCase *tc = tcase_create("verify");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_test(tc, a_dead_replacers_file_near_a_links_target_is_found);
	tcase_add_test(tc, a_living_replacers_file_is_left_alone);
	tcase_add_test(tc, truncation_of_a_file_during_verification_is_reported);
	tcase_add_test(tc, a_file_without_any_intact_sync_record_is_reported);
	tcase_add_test(tc, contradicting_sync_records_are_reported_until_the_next_sync);
	tcase_add_test(tc, a_rename_after_the_last_sequence_is_in_the_file);
	tcase_add_test(tc, a_filter_that_is_open_exclusively_is_not_repaired);
	tcase_add_loop_test(tc, impossible_epochs_are_reported_and_never_wrap, 0, 3);
	tcase_add_test(tc, a_new_file_without_its_pages_replaces_no_good_one);
	tcase_add_test(tc, a_truncated_file_is_not_published);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
