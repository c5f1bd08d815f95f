/* files.c - files that are damaged, cut, copied, or left by a process that was killed */
#include "suite.h"
#include "../info.h"

#include "file/mapping.h"
#include "file/ofd_lock.h"
#include "file/new_file.h"

enum { KEYS = 50 };

static void fill(const char *path)
{
	struct blm_filter *f;

	make(&f, NULL, path);
	for (int i = 0; i < KEYS; i++)
		OK(blm_add(f, &i, sizeof(i)));
	OK(blm_sync(f));
	OK(blm_sync(f));		/* so that both slots are in use */
	blm_close(f);
}

static bool all_there(const struct blm_filter *f)
{
	for (int i = 0; i < KEYS; i++)
		if (!blm_contains(f, &i, sizeof(i)))
			return false;
	return true;
}

static void is_refused(const char *path, int err)
{
	struct blm_filter *f = NULL;

	for (int write = 0; write < 2; write++) {
		int r = blm_open(&f, NULL, path, write ? BLM_OPEN_WRITE : 0);

		ck_assert_msg(
			r < 0 && (r == err || (!err && (r == -EBADMSG || r == -EPROTONOSUPPORT))),
			"%d, not %d: %s", r, err, blm_error_message());
		ck_assert_ptr_nonnull(strstr(blm_error_message(), path));
	}
}

START_TEST(a_file_truncated_at_any_length_is_refused)
{
	size_t bytes;
	uint8_t *all;

	fill("a.blm");
	all = read_all("a.blm", &bytes);
	write_all("cut.blm", all, bytes);
	for (size_t end = bytes; end-- > 0; ) {
		/* a third of the lengths, and all near the end of a page */
		if (is_share() && end % 3 && (end + 32) % BLM_PAGE > 64)
			continue;
		ck_assert_int_eq(truncate("cut.blm", (off_t)end), 0);
		is_refused("cut.blm", -ENODATA);
	}
	free(all);
}
END_TEST

START_TEST(a_file_that_is_no_filter_is_refused)
{
	static const char *const others[] = { "This is text, which begins with no magic.\n",
					      "\177ELF\2\1\1", "bloomery", "YREMOOLB" };
	char file[BLM_HEADER_BYTES + 64] = { 0 };

	strcpy(file, others[_i]);
	write_all("other.blm", file, sizeof(file));
	is_refused("other.blm", -EBADMSG);
	write_all("short.blm", file, 64);
	is_refused("short.blm", -EBADMSG);
}
END_TEST

START_TEST(a_folder_or_a_fifo_is_no_filter)
{
	struct blm_filter *f;

	ck_assert_int_eq(mkdir("folder", 0755), 0);
	ck_assert_int_eq(mkfifo("fifo", 0644), 0);
	ck_assert_int_lt(blm_open(&f, NULL, "folder", 0), 0);
	FAILS(blm_open(&f, NULL, "fifo", 0), -EBADMSG);
	FAILS(blm_open(&f, NULL, "fifo", BLM_OPEN_WRITE), -EBADMSG);
}
END_TEST

START_TEST(any_bit_of_the_constant_page_flipped_is_refused)
{
	size_t bytes;
	uint8_t *all;
	int fd;

	fill("a.blm");
	all = read_all("a.blm", &bytes);
	fd = open("a.blm", O_WRONLY | O_CLOEXEC);
	for (size_t bit = 0; bit < BLM_PAGE * 8; bit++) {
		/* two bits of each byte, and each of the eight in some bytes */
		if (is_share() && (bit + bit / 8) % 4)
			continue;
		uint8_t bad = all[bit / 8] ^ (uint8_t)(1 << bit % 8);

		ck_assert_int_eq((int)pwrite(fd, &bad, 1, (off_t)(bit / 8)), 1);
		is_refused("a.blm", 0);
		ck_assert_int_eq((int)pwrite(fd, &all[bit / 8], 1, (off_t)(bit / 8)), 1);
	}
	close(fd);
	free(all);
}
END_TEST

static void spoil(const char *path, size_t at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	ck_assert_int_eq((int)pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= 0x55;
	ck_assert_int_eq((int)pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
}

START_TEST(one_damaged_sync_slot_is_tolerated_two_are_reported)
{
	struct blm_info *info = info_buffer();
	struct blm_filter *f;

	fill("a.blm");
	for (int damaged = 1; damaged <= 2; damaged++) {
		spoil("a.blm",
		      offsetof(struct blm_header, live.sync) + 64 * (size_t)(damaged - 1) + 24);
		OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
		ck_assert(all_there(f));
		OK(blm_info(f, info));
		ck_assert_int_eq(info->synced != 0, damaged == 1);
		ck_assert_int_eq(blm_verify(NULL, "a.blm", 0, NULL, NULL), damaged == 2);
		blm_close(f);
	}
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	OK(blm_sync(f));
	ck_assert_int_eq(blm_verify(NULL, "a.blm", 0, NULL, NULL), 0);
	blm_close(f);
	free(info);
}
END_TEST

START_TEST(a_file_copied_in_any_state_is_a_good_filter)
{
	uint64_t state = htole64((uint64_t)5 << 8 | (uint64_t)_i);
	struct blm_filter *reader, *writer;
	int fd;

	fill("a.blm");
	copy_file("a.blm", "copy.blm");
	fd = open("copy.blm", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq((int)pwrite(fd, &state, 8, offsetof(struct blm_header, live.state.word)),
			 8);
	close(fd);
	OK(blm_open(&reader, NULL, "copy.blm", 0));
	ck_assert(all_there(reader));
	ck_assert_int_eq(blm_status(reader), 0);
	OK(blm_open(&writer, NULL, "copy.blm", BLM_OPEN_WRITE));
	OK(blm_add(writer, "new", 3));
	OK(blm_claim(writer, "newer", 5));
	OK(blm_sync(writer));
	ck_assert(has(reader, "new") && has(reader, "newer"));
	ck_assert_int_eq(blm_status(writer), 0);
	blm_close(reader);
	blm_close(writer);
}
END_TEST

static void write_word(const char *path, size_t at, uint64_t value)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint64_t word = htole64(value);

	ck_assert_int_eq((int)pwrite(fd, &word, 8, (off_t)at), 8);
	close(fd);
}

static uint64_t read_word(const char *path, size_t at)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t word = 0;

	ck_assert_int_eq((int)pread(fd, &word, 8, (off_t)at), 8);
	close(fd);
	return le64toh(word);
}

/* As a copy has it if its original was synced and changed meanwhile. */
START_TEST(a_copy_with_an_old_epoch_shows_changes_as_unsynced)
{
	const size_t epoch = offsetof(struct blm_header, live.epoch.word),
		     written = offsetof(struct blm_header, live.written.word);
	struct blm_info *info = info_buffer();
	struct blm_filter *f;
	uint64_t next;

	fill("a.blm");
	next = read_word("a.blm", epoch);
	write_word("a.blm", written, next);
	write_word("a.blm", epoch, next - 1);
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	ck_assert(all_there(f));
	ck_assert_uint_eq(read_word("a.blm", epoch), next);
	OK(blm_info(f, info));
	ck_assert(info->dirty);
	OK(blm_sync(f));
	OK(blm_info(f, info));
	ck_assert(!info->dirty);
	blm_close(f);
	free(info);
}
END_TEST

START_TEST(the_next_adder_repairs_a_dead_replacers_mark)
{
	struct blm_filter *f;
	const size_t at = offsetof(struct blm_header, live.state.word);

	fill("a.blm");
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	write_word("a.blm", at, 7 << 8 | BLM_REPLACING);
	OK(blm_add(f, "new", 3));
	ck_assert_uint_eq(read_word("a.blm", at) & 0xff, BLM_LIVE);
	OK(blm_status(f));
	ck_assert(has(f, "new") && all_there(f));
	blm_close(f);
}
END_TEST

START_TEST(a_file_with_no_or_too_many_parts_is_refused)
{
	static const uint64_t numbers[] = { 0, BLM_PARTS_MAX + 1, UINT64_MAX };
	struct blm_filter *f;

	fill("a.blm");
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		write_word("a.blm", offsetof(struct blm_header, live.parts.word), numbers[i]);
		FAILS(blm_open(&f, NULL, "a.blm", 0), -EBADMSG);
		ck_assert_msg(strstr(blm_error_message(), "parts"), "%s", blm_error_message());
	}
	write_word("a.blm", offsetof(struct blm_header, live.parts.word), 1);
	OK(blm_open(&f, NULL, "a.blm", 0));
	ck_assert(all_there(f));
	blm_close(f);
}
END_TEST

START_TEST(a_sealed_filter_is_read_and_not_changed)
{
	struct blm_header *header;
	struct blm_filter *f;
	size_t bytes;

	fill("a.blm");
	header = (struct blm_header *)read_all("a.blm", &bytes);
	header->constant.flags |= htole64(BLM_FLAG_SEALED);
	header->constant.check = blm_check_constant(&header->constant);
	write_all("a.blm", header, bytes);
	OK(blm_open(&f, NULL, "a.blm", 0));
	ck_assert(all_there(f));
	blm_close(f);
	if (blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE) == 0) {
		FAILS(blm_add(f, "new", 3), -EROFS);
		blm_close(f);
	}
	free(header);
}
END_TEST

/* ---- Killed while replacing ---- */

static int replace_for_ever(int in_store)
{
	struct blm_store *store = NULL;
	struct blm_filter *f, *same;

	if (in_store)
		MUST(blm_store_open(&store, "s", 0) == 0);
	MUST(blm_open(&f, store, "a.blm", BLM_OPEN_WRITE) == 0);
	MUST(blm_open(&same, NULL, "same.blm", 0) == 0);
	for (;;)
		MUST(blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *const[]){ same },
				      1, 0, NULL)
		     == 0);
}

static int count(void *context, const struct blm_info *info, int err)
{
	++*(int *)context;
	return err;
}

START_TEST(a_replacer_killed_at_any_moment_leaves_a_good_filter)
{
	struct blm_store *store = _i ? open_store(BLM_STORE_CREATE) : NULL;
	struct blm_filter *f, *from;
	int listed = 0;

	fill("same.blm");
	OK(blm_open(&from, NULL, "same.blm", 0));
	OK(blm_copy(&f, store, "a.blm", from, 0));
	blm_close(f);
	for (int round = 0; round < 60; round++) {
		pid_t pid = spawn(replace_for_ever, _i);

		usleep(1000 + (useconds_t)random() % 12000);
		kill(pid, SIGKILL);
		ck_assert_int_eq(join(pid), SIGNALLED + SIGKILL);
		OK(blm_open(&f, store, "a.blm", round % 2 ? BLM_OPEN_WRITE : 0));
		ck_assert(all_there(f));
		if (round % 2)
			OK(blm_add(f, "x", 1));
		blm_close(f);
	}
	if (store) {
		ck_assert_int_eq(blm_store_verify("s", true, NULL, NULL), 0);
		OK(blm_store_list(store, NULL, count, &listed));
		ck_assert_int_eq(listed, 1);
		/* nothing is left of what it died over */
		ck_assert_int_eq(files_in("s/filters", NULL), 1);
		ck_assert_int_eq(blm_store_verify("s", false, NULL, NULL), 0);
		OK(blm_open(&f, store, "a.blm", BLM_OPEN_WRITE));
		ck_assert(all_there(f));
		blm_close(f);
	} else {
		ck_assert_int_eq(blm_verify(NULL, "a.blm", BLM_VERIFY_REPAIR, NULL, NULL), 0);
		ck_assert_int_eq(files_in(".", NULL), 2);
	}
	blm_close(from);
	blm_store_close(store);
}
END_TEST

static void leave_a_replacement(char left[BLM_TEMPORARY_NAME])
{
	struct stat st;

	ck_assert_int_eq(stat("a.blm", &st), 0);
	blm_replacement_name(st.st_ino, left);
	copy_file("a.blm", left);
}

START_TEST(a_dead_replacers_file_is_removed_by_its_successor)
{
	char left[BLM_TEMPORARY_NAME];
	struct blm_filter *f;

	fill("a.blm");
	leave_a_replacement(left);
	ck_assert_int_eq(blm_verify(NULL, "a.blm", 0, NULL, NULL), 1);
	ck_assert_int_eq(access(left, F_OK), 0);
	ck_assert_int_eq(blm_verify(NULL, "a.blm", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert_int_ne(access(left, F_OK), 0);
	leave_a_replacement(left);
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	OK(blm_clear(f));
	ck_assert_int_ne(access(left, F_OK), 0);
	blm_close(f);
	ck_assert_int_eq(files_in(".", NULL), 1);
}
END_TEST

static int lock_for_ever(int unused)
{
	int fd = open(".bloomery-0123456789abcdef", O_RDWR | O_CLOEXEC);

	MUST(fd >= 0 && blm_ofd_lock(fd, BLM_LOCK_MAKING, true) == 0);
	MUST(close(creat("locked", 0600)) == 0);
	pause();
	return 0;
}

/* As a process that is killed between the two steps of an export or a bank over another. */
START_TEST(verify_removes_what_died_before_it_replaced_anything)
{
	static const char left[] = ".bloomery-0123456789abcdef",
			  others[][40] = { ".bloomery-0123456789abcde",
					   ".bloomery-0123456789abcdeX" };
	pid_t pid;

	fill("a.blm");
	copy_file("a.blm", left);
	for (int i = 0; i < 2; i++)
		copy_file("a.blm", others[i]);
	pid = spawn(lock_for_ever, 0);
	for (int i = 0; i < 2000 && access("locked", F_OK) < 0; i++)
		usleep(5000);
	ck_assert_int_eq(blm_verify(NULL, "./a.blm", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert_int_eq(access(left, F_OK), 0);
	kill(pid, SIGKILL);
	ck_assert_int_eq(join(pid), SIGNALLED + SIGKILL);
	ck_assert_int_eq(blm_verify(NULL, "./a.blm", 0, NULL, NULL), 1);
	ck_assert_int_eq(access(left, F_OK), 0);
	ck_assert_int_eq(blm_verify(NULL, "./a.blm", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert_int_ne(access(left, F_OK), 0);
	ck_assert_int_eq(files_in(".", NULL), 4);
}
END_TEST

static int add_for_ever(int unused)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE) == 0);
	for (int i = KEYS;; i++)
		MUST(blm_add(f, &i, sizeof(i)) >= 0);
}

START_TEST(a_copy_made_during_adds_is_a_good_filter)
{
	struct blm_filter *f;
	pid_t pid;

	fill("a.blm");
	pid = spawn(add_for_ever, 0);
	for (int i = 0; i < 50; i++) {
		copy_file("a.blm", "copy.blm");
		ck_assert_int_eq(blm_verify(NULL, "copy.blm", 0, NULL, NULL), 0);
		OK(blm_open(&f, NULL, "copy.blm", BLM_OPEN_WRITE));
		ck_assert(all_there(f));
		OK(blm_add(f, "x", 1));
		blm_close(f);
	}
	kill(pid, SIGKILL);
	ck_assert_int_eq(join(pid), SIGNALLED + SIGKILL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("files");
	TCase *tc = tcase_create("files");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_test(tc, a_file_truncated_at_any_length_is_refused);
	tcase_add_loop_test(tc, a_file_that_is_no_filter_is_refused, 0, 4);
	tcase_add_test(tc, a_folder_or_a_fifo_is_no_filter);
	tcase_add_test(tc, any_bit_of_the_constant_page_flipped_is_refused);
	tcase_add_test(tc, one_damaged_sync_slot_is_tolerated_two_are_reported);
	tcase_add_loop_test(tc, a_file_copied_in_any_state_is_a_good_filter, 0, 4);
	tcase_add_test(tc, the_next_adder_repairs_a_dead_replacers_mark);
	tcase_add_test(tc, a_copy_with_an_old_epoch_shows_changes_as_unsynced);
	tcase_add_test(tc, a_file_with_no_or_too_many_parts_is_refused);
	tcase_add_test(tc, a_sealed_filter_is_read_and_not_changed);
	tcase_add_loop_test(tc, a_replacer_killed_at_any_moment_leaves_a_good_filter, 0, 2);
	tcase_add_test(tc,
		       a_dead_replacers_file_is_removed_by_its_successor);
	tcase_add_test(tc, verify_removes_what_died_before_it_replaced_anything);
	tcase_add_test(tc, a_copy_made_during_adds_is_a_good_filter);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
