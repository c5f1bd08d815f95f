/*
 * lost.c - files of open filters that other programs delete, move or replace: status and sync
 * notice
 */
#include "suite.h"

#include <sys/mman.h>
#include <sys/resource.h>

static struct blm_store *a_store(bool wanted)
{
	return wanted ? open_store(BLM_STORE_CREATE) : NULL;
}

/* The path of the filter's file. */
static const char *file_of(const struct blm_filter *f)
{
	static struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	return info.path;
}

/* As `cp -p` and `mv` of a backup: another file of the same uuid. */
static void put_copy_over(const char *path)
{
	size_t bytes;
	uint8_t *all = read_all(path, &bytes);
	FILE *file = fopen("copy", "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(all, 1, bytes, file), bytes);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(rename("copy", path), 0);
	free(all);
}

static void make_two(struct blm_filter *ret[2], struct blm_store *store)
{
	make_with(store, "a", "old");
	OK(blm_open(&ret[0], store, "a", BLM_OPEN_WRITE));
	OK(blm_open(&ret[1], store, "a", 0));
	OK(blm_status(ret[0]));
	OK(blm_status(ret[1]));
}

static void close_two(struct blm_filter *f[2], struct blm_store *store)
{
	blm_close(f[0]);
	blm_close(f[1]);
	blm_store_close(store);
}

/* For a file without a name: through the descriptor. */
static uint64_t synced_epoch(int fd)
{
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	OK(blm_open(&f, NULL, path, 0));
	OK(blm_info(f, &info));
	blm_close(f);
	return info.synced_epoch;
}

START_TEST(a_deleted_file_is_stale_after_its_data_is_written)
{
	struct blm_store *store = a_store(_i);
	struct blm_filter *f[2];
	uint64_t before;
	int fd;

	make_two(f, store);
	fd = open(file_of(f[0]), O_RDONLY);
	before = synced_epoch(fd);
	ck_assert_int_eq(unlink(file_of(f[0])), 0);
	ck_assert_int_eq(blm_add(f[0], "new", 3), 1);
	FAILS(blm_status(f[0]), -ESTALE);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "deleted"));
	FAILS(blm_status(f[1]), -ESTALE);
	FAILS(blm_sync(f[0]), -ESTALE);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "deleted"));
	ck_assert_uint_gt(synced_epoch(fd), before);
	ck_assert(has(f[1], "old") && has(f[1], "new"));
	close(fd);
	close_two(f, store);
}
END_TEST

START_TEST(a_copy_put_over_an_open_file_makes_it_stale)
{
	struct blm_store *store = a_store(_i);
	struct blm_filter *f[2], *again;

	make_two(f, store);
	put_copy_over(file_of(f[0]));
	ck_assert_int_eq(blm_add(f[0], "new", 3), 1);
	FAILS(blm_sync(f[0]), -ESTALE);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "another file"));
	FAILS(blm_status(f[0]), -ESTALE);
	FAILS(blm_status(f[1]), -ESTALE);
	OK(blm_open(&again, store, "a", BLM_OPEN_WRITE));
	OK(blm_status(again));
	OK(blm_sync(again));
	ck_assert(has(again, "old") && !has(again, "new"));
	blm_close(again);
	close_two(f, store);
}
END_TEST

START_TEST(automatic_syncs_report_a_deleted_file)
{
	struct blm_store *store = a_store(_i);
	struct blm_filter *f[2];

	make_two(f, store);
	OK(blm_sync_every(f[0], 1, 0));
	ck_assert_int_eq(blm_add(f[0], "kept", 4), 1);
	ck_assert_int_eq(unlink(file_of(f[0])), 0);
	FAILS(blm_add(f[0], "lost", 4), -ESTALE);
	close_two(f, store);
}
END_TEST

/* Its other link keeps what is synced. */
START_TEST(a_moved_file_is_synced_and_reported_as_moved)
{
	struct blm_store *store = a_store(_i);
	struct blm_filter *f[2];

	make_two(f, store);
	ck_assert_int_eq(rename(file_of(f[0]), "elsewhere"), 0);
	ck_assert_int_eq(blm_add(f[0], "new", 3), 1);
	ck_assert_int_eq(blm_sync(f[0]), 0);
	FAILS(blm_status(f[0]), -ENOENT);
	FAILS(blm_status(f[1]), -ENOENT);
	ck_assert(holds(NULL, "./elsewhere", "new"));
	ck_assert_int_eq(rename("elsewhere", file_of(f[0])), 0);
	OK(blm_status(f[0]));
	close_two(f, store);
}
END_TEST

START_TEST(a_moved_folder_loses_nothing_until_another_takes_its_place)
{
	struct blm_store *store = a_store(_i);
	const char *folder = _i ? "s" : "d", *name = _i ? "a" : "d/a";
	struct blm_filter *f;

	ck_assert_int_eq(_i ? 0 : mkdir("d", 0755), 0);
	make(&f, store, name);
	ck_assert_int_eq(rename(folder, "moved"), 0);
	ck_assert_int_eq(blm_add(f, "new", 3), 1);
	ck_assert_int_eq(blm_sync(f), 0);
	FAILS(blm_status(f), -ENOENT);
	write_all(folder, "no folder", 9);
	FAILS(blm_status(f), -ENOENT);
	ck_assert_int_eq(unlink(folder), 0);
	ck_assert_int_eq(system(_i ? "cp -a moved s" : "cp -a moved d"), 0);
	FAILS(blm_status(f), -ESTALE);
	FAILS(blm_sync(f), -ESTALE);
	blm_close(f);
	blm_store_close(store);
}
END_TEST

START_TEST(a_relative_path_is_good_from_every_working_directory)
{
	struct blm_store *store = a_store(_i);
	struct blm_filter *f[2];

	make_two(f, store);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(blm_add(f[0], "new", 3), 1);
	ck_assert_int_eq(blm_sync(f[0]), 0);
	OK(blm_status(f[0]));
	OK(blm_status(f[1]));
	close_two(f, store);
}
END_TEST

START_TEST(a_filter_without_a_path_is_not_lost)
{
	struct blm_filter *f, *other;
	char path[40];
	int fd;

	make(&f, NULL, NULL);
	ck_assert_int_eq(blm_add(f, "new", 3), 1);
	ck_assert_int_eq(blm_sync(f), 0);
	OK(blm_status(f));
	blm_close(f);

	make_with(NULL, "a", "old");
	ck_assert_int_eq(symlink("a", "link"), 0);
	OK(blm_open(&f, NULL, "link", BLM_OPEN_WRITE));
	ck_assert_int_eq(blm_sync(f), 0);
	OK(blm_status(f));
	blm_close(f);

	fd = open("a", O_RDWR);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	OK(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
	ck_assert_int_eq(blm_sync(f), 0);
	OK(blm_status(f));
	ck_assert_int_eq(unlink("a"), 0);
	FAILS(blm_status(f), -ESTALE);
	/* it had no name when it was opened */
	OK(blm_open(&other, NULL, path, BLM_OPEN_WRITE));
	OK(blm_status(other));
	blm_close(other);
	blm_close(f);
	close(fd);
}
END_TEST

START_TEST(a_filter_that_the_library_replaces_is_not_lost)
{
	struct blm_store *store = a_store(_i);
	struct blm_filter *f[2], *other;

	make_two(f, store);
	OK(blm_open(&other, store, "a", BLM_OPEN_WRITE));
	OK(blm_clear(other));
	ck_assert_int_eq(blm_add(f[0], "new", 3), 1);
	ck_assert_int_eq(blm_sync(f[0]), 0);
	OK(blm_status(f[0]));
	OK(blm_status(f[1]));
	ck_assert(has(f[1], "new"));
	blm_close(other);
	if (store) {
		OK(blm_store_rename(store, "a", "b"));
		ck_assert_int_eq(blm_sync(f[0]), 0);
		OK(blm_status(f[0]));
		OK(blm_store_drop(store, "b"));
		FAILS(blm_sync(f[0]), -ESTALE);
		FAILS(blm_status(f[0]), -ESTALE);
		ck_assert_ptr_nonnull(strstr(blm_error_message(), "dropped"));
	}
	close_two(f, store);
}
END_TEST

static volatile bool *stop;

static int replace_until_stopped(int in_store)
{
	struct blm_store *store = NULL;
	struct blm_filter *f;

	MUST(!in_store || blm_store_open(&store, "s", 0) == 0);
	MUST(blm_open(&f, store, "a", BLM_OPEN_WRITE) == 0);
	while (!*stop)
		MUST(blm_clear(f) == 0);
	return 0;
}

START_TEST(a_sync_during_replacements_calls_no_file_lost)
{
	struct blm_store *store = a_store(_i);
	struct blm_filter *f[2];
	pid_t pid;

	stop = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	make_two(f, store);
	pid = spawn(replace_until_stopped, _i);
	for (int i = 0; i < 200; i++) {
		OK(blm_add(f[0], "new", 3));
		OK(blm_sync(f[0]));
		OK(blm_status(f[0]));
		OK(blm_status(f[1]));
	}
	*stop = true;
	ck_assert_int_eq(join(pid), 0);
	munmap((void *)stop, 4096);
	close_two(f, store);
}
END_TEST

static struct blm_filter *parents;

static int status_in_child(int unused)
{
	return -blm_status(parents);
}

START_TEST(a_forked_child_notices_a_replaced_path)
{
	struct blm_store *store = a_store(_i);
	struct blm_filter *f[2];

	make_two(f, store);
	parents = f[0];
	ck_assert_int_eq(run_apart(status_in_child, 0), 0);
	put_copy_over(file_of(f[0]));
	ck_assert_int_eq(run_apart(status_in_child, 0), ESTALE);
	ck_assert_int_eq(unlink(file_of(f[0])), 0);
	ck_assert_int_eq(run_apart(status_in_child, 0), ENOENT);
	close_two(f, store);
}
END_TEST

static int sync_in_child(int words)
{
	static const char *const said[] = { "deleted or moved", "another file", "dropped" };
	int r = blm_add(parents, "child", 5);

	if (r >= 0)
		r = blm_sync(parents);
	MUST(r < 0 && strstr(blm_error_message(), said[words]));
	MUST(blm_sync(parents) == r);
	return -r;
}

START_TEST(a_forked_childs_sync_of_a_lost_file_is_stale)
{
	struct blm_store *store = a_store(_i);
	struct blm_filter *f[2];

	make_two(f, store);
	parents = f[0];
	put_copy_over(file_of(f[0]));
	ck_assert_int_eq(run_apart(sync_in_child, 1), ESTALE);
	ck_assert_int_eq(run_apart(status_in_child, 0), ESTALE);
	ck_assert_int_eq(unlink(file_of(f[0])), 0);
	ck_assert_int_eq(run_apart(sync_in_child, 0), ESTALE);
	close_two(f, store);
}
END_TEST

START_TEST(a_forked_childs_sync_of_a_dropped_filter_is_stale)
{
	struct blm_store *store = a_store(true);
	struct blm_filter *f[2];

	make_two(f, store);
	parents = f[0];
	OK(blm_store_drop(store, "a"));
	ck_assert_int_eq(run_apart(sync_in_child, 2), ESTALE);
	close_two(f, store);
}
END_TEST

static int sync_replaced_in_child(int unused)
{
	MUST(blm_add(parents, "child", 5) >= 0);
	MUST(blm_sync(parents) == 0);
	MUST(blm_contains(parents, "child", 5));
	return 0;
}

START_TEST(a_forked_child_moves_to_the_librarys_replacement)
{
	struct blm_store *store = a_store(_i);
	struct blm_filter *f[2], *other;

	make_two(f, store);
	parents = f[0];
	ck_assert_int_eq(run_apart(sync_replaced_in_child, 0), 0);
	OK(blm_open(&other, store, "a", BLM_OPEN_WRITE));
	OK(blm_clear(other));
	ck_assert_int_eq(run_apart(sync_replaced_in_child, 0), 0);
	ck_assert(has(other, "child"));
	blm_close(other);
	close_two(f, store);
}
END_TEST

static int sync_without_descriptors(int unused)
{
	MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, 0 }) == 0);
	MUST(blm_sync(parents) == -EMFILE);
	MUST(strstr(blm_error_message(), strerror(EMFILE)));
	return 0;
}

START_TEST(a_forked_childs_failed_sync_states_the_cause)
{
	struct blm_filter *f[2];

	make_two(f, NULL);
	parents = f[0];
	ck_assert_int_eq(run_apart(sync_without_descriptors, 0), 0);
	close_two(f, NULL);
}
END_TEST

/* A kind whose every change takes a lock, so the child opens the file for its first one. */
static int add_to_displaced_in_child(int unused)
{
	return -blm_add(parents, "child", 5);
}

START_TEST(a_forked_childs_change_of_a_displaced_file_is_stale)
{
	struct blm_store *store = a_store(_i);

	OK(blm_create(&parents, store, "a", &BLM_PARAMS(.kind = "cuckoo", .capacity = 100)));
	put_copy_over(file_of(parents));
	ck_assert_int_eq(run_apart(add_to_displaced_in_child, 0), ESTALE);
	blm_close(parents);
	blm_store_close(store);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lost");
	TCase *tc = tcase_create("lost");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_loop_test(tc, a_deleted_file_is_stale_after_its_data_is_written, 0, 2);
	tcase_add_loop_test(tc, a_copy_put_over_an_open_file_makes_it_stale, 0, 2);
	tcase_add_loop_test(tc, automatic_syncs_report_a_deleted_file, 0, 2);
	tcase_add_loop_test(tc, a_moved_file_is_synced_and_reported_as_moved, 0, 2);
	tcase_add_loop_test(tc, a_moved_folder_loses_nothing_until_another_takes_its_place, 0, 2);
	tcase_add_loop_test(tc, a_relative_path_is_good_from_every_working_directory, 0, 2);
	tcase_add_test(tc, a_filter_without_a_path_is_not_lost);
	tcase_add_loop_test(tc, a_filter_that_the_library_replaces_is_not_lost, 0, 2);
	tcase_add_loop_test(tc, a_sync_during_replacements_calls_no_file_lost, 0, 2);
	tcase_add_loop_test(tc, a_forked_child_notices_a_replaced_path, 0, 2);
	tcase_add_loop_test(tc, a_forked_childs_sync_of_a_lost_file_is_stale, 0, 2);
	tcase_add_test(tc, a_forked_childs_sync_of_a_dropped_filter_is_stale);
	tcase_add_loop_test(tc, a_forked_child_moves_to_the_librarys_replacement, 0, 2);
	tcase_add_test(tc, a_forked_childs_failed_sync_states_the_cause);
	tcase_add_loop_test(tc, a_forked_childs_change_of_a_displaced_file_is_stale, 0, 2);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
