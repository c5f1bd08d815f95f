/*
 * strays.c - files that no record of the catalog means: repair deletes what was replaced or
 * dropped, and nothing that anybody may miss
 */
#include "said.h"
#include "../info.h"

#include "file/mapping.h"

#define DATA "s/catalog/data.mdb"

static void repair(void)
{
	int r = verify(BLM_VERIFY_REPAIR);

	ck_assert_msg(r == 0, "%d: %s%s", r, said, r < 0 ? blm_error_message() : "");
	all_is_well();
}

static void set_word(const char *path, size_t at, uint64_t value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	uint64_t word = htole64(value);

	ck_assert_int_eq((int)pwrite(fd, &word, 8, (off_t)at), 8);
	close(fd);
}

static void set_state(const char *path, uint64_t state)
{
	set_word(path, offsetof(struct blm_header, live.state.word), 7 << 8 | state);
}

static int state_of(const char *path)
{
	size_t bytes;
	uint8_t *all = read_all(path, &bytes);
	int state = all[offsetof(struct blm_header, live.state.word)];

	free(all);
	return state;
}

/* One bit of a filter's record, at any place of the catalog. */
static void damage_record(const char *path)
{
	uint8_t *file, *all;
	size_t bytes;

	file = read_all(path, &bytes);
	all = read_all(DATA, &bytes);
	for (size_t i = 0; i + 64 < bytes; i++)
		if (!memcmp(all + i, file + offsetof(struct blm_constant, uuid), 16))
			all[i + 40] ^= 1;
	write_all(DATA, all, bytes);
	free(file);
	free(all);
}

static void begin(void)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make_with(store, "other", "other");
	blm_store_close(store);
}

static void make_in_store(const char *name, const char *key, char ret_path[512])
{
	struct blm_store *store = open_store(0);

	if (key)
		make_with(store, name, key);
	else
		make(NULL, store, name);
	path_of(store, name, ret_path);
	blm_store_close(store);
}

static bool is_there(const char *name, const char *key)
{
	struct blm_store *store = open_store(BLM_STORE_READ);
	bool found = holds(store, name, key);

	blm_store_close(store);
	return found;
}

/* ---- Files whose owner is uncertain stay ---- */

/* Left by a process that died there, or not yet overwritten on the disk when the power went. */
static const enum blm_state states[] = { BLM_LIVE, BLM_REPLACING, BLM_DROPPED, BLM_UNNAMED,
					 BLM_YIELDING };

START_TEST(a_filter_with_a_damaged_record_stays_in_any_state)
{
	char path[512];

	begin();
	make_in_store("a", "key", path);
	set_state(path, states[_i]);
	damage_record(path);
	ck_assert_int_gt(verify(0), 0);
	repair();
	ck_assert(is_there("a", "key"));
}
END_TEST

START_TEST(an_empty_filter_whose_record_is_damaged_stays_too)
{
	struct blm_store *store;
	struct blm_info *info = info_buffer();
	char path[512];

	begin();
	make_in_store("a", NULL, path);
	damage_record(path);
	repair();
	store = open_store(0);
	OK(blm_store_find(store, "a", info));
	blm_store_close(store);
	free(info);
}
END_TEST

/* UNNAMED is not among these: who made it was told nothing. */
START_TEST(every_newer_filter_with_keys_survives_an_older_catalog)
{
	char path[512];

	begin();
	copy_file(DATA, "older");
	make_in_store("a", "key", path);
	set_state(path, states[_i]);
	copy_file("older", DATA);
	ck_assert_int_gt(verify(0), 0);
	repair();
	ck_assert(is_there("a", "key"));
}
END_TEST

START_TEST(a_damaged_older_catalog_proves_nothing_about_newer_filters)
{
	struct blm_store *store;
	char path[512];

	begin();
	make_in_store("dropped", "key", path);
	copy_file(DATA, "older");
	store = open_store(0);
	OK(blm_store_drop(store, "dropped"));
	blm_store_close(store);
	make_in_store("a", "key", path);
	set_state(path, BLM_UNNAMED);
	copy_file("older", DATA);
	repair();
	ck_assert(is_there("a", "key"));
}
END_TEST

START_TEST(repair_mends_a_dead_writers_state_of_a_known_file)
{
	char path[512];

	begin();
	make_in_store("a", "key", path);
	set_state(path, states[_i]);
	repair();
	ck_assert_int_eq(state_of(path), BLM_LIVE);
	ck_assert(is_there("a", "key"));
}
END_TEST

/* A piece of another one's data, which is counted with its end only. */
START_TEST(a_filter_with_data_that_was_never_counted_stays)
{
	struct blm_params params = BLM_PARAMS(.kind = "classic", .capacity = 10000);
	struct blm_filter *from, *to, *copy;
	struct blm_store *store;
	uint32_t found = 0;
	uint8_t data[4096];

	begin();
	store = open_store(0);
	OK(blm_create(&from, NULL, NULL, &params));
	OK(blm_template(&to, NULL, NULL, from, 0));
	for (uint32_t i = 0; i < 10000; i++)
		OK(blm_add(from, &i, 4));
	OK(blm_data_read(from, 0, data, sizeof(data)));
	OK(blm_data_unite(to, 0, data, sizeof(data)));
	OK(blm_copy(&copy, store, "a", to, 0));
	blm_close(copy);
	OK(blm_catalog_remove(store->catalog, "a", NULL));
	repair();
	OK(blm_open(&copy, store, "a", 0));
	OK(blm_data_read(copy, 0, data, sizeof(data)));
	for (size_t i = 0; i < sizeof(data); i++)
		found += data[i] != 0;
	ck_assert_uint_gt(found, 1000);
	blm_close(copy);
	blm_close(from);
	blm_close(to);
	blm_store_close(store);
}
END_TEST

/* ---- What was replaced or dropped goes ---- */

static void take_away(struct blm_store *store, const char *name, bool by_drop)
{
	struct blm_filter *f;

	if (by_drop) {
		OK(blm_store_drop(store, name));
		return;
	}
	OK(blm_open(&f, store, name, BLM_OPEN_WRITE));
	OK(blm_clear(f));
	blm_close(f);
}

/*
 * The one step was taken, and its file not deleted; by the time of the repair its name means
 * another filter, or none.
 */
static void leave_a_file_of(bool by_drop, const char *note)
{
	struct blm_store *store;
	char path[512];

	begin();
	make_in_store("a", "key", path);
	copy_file(path, "kept");
	set_state("kept", by_drop ? BLM_DROPPED : BLM_YIELDING);
	store = open_store(0);
	copy_file(DATA, "older");
	take_away(store, "a", by_drop);
	copy_file("kept", path);
	if (!by_drop)
		OK(blm_store_rename(store, "a", note));
	blm_store_close(store);
}

START_TEST(a_dropped_filters_file_is_deleted_without_its_name)
{
	leave_a_file_of(_i, "renamed");
	repair();
	ck_assert_int_eq(files_in("s/filters", NULL), _i ? 1 : 2);
	ck_assert(!is_there("a", "key"));
}
END_TEST

START_TEST(a_file_stays_unless_the_catalog_recorded_its_removal)
{
	struct blm_store *store;

	leave_a_file_of(_i, "renamed");
	store = open_store(0);
	/* as an older catalog is: it has neither the record nor the note */
	copy_file("older", DATA);
	OK(blm_catalog_remove(store->catalog, "a", NULL));
	blm_store_close(store);
	repair();
	ck_assert(is_there("a", "key"));
}
END_TEST

START_TEST(the_catalog_forgets_removed_filters_when_their_files_are_gone)
{
	struct blm_store *store;
	int noted;

	begin();
	store = open_store(0);
	for (int i = 0; i < 200; i++) {
		make_with(store, "a", "key");
		take_away(store, "a", i % 2);
		if (i % 2 == 0)
			take_away(store, "a", true);
	}
	noted = blm_catalog_count_gone(store->catalog);
	ck_assert_int_ge(noted, 0);
	ck_assert_int_le(noted, 64);
	repair();
	ck_assert_int_eq(blm_catalog_count_gone(store->catalog), 0);
	blm_store_close(store);
}
END_TEST

/* ---- Several at once ---- */

static int repair_once(int unused)
{
	MUST(blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL) == 0);
	return 0;
}

static int count(void *context, const struct blm_info *info, int err)
{
	++*(int *)context;
	return err;
}

START_TEST(concurrent_repairs_give_each_file_one_name)
{
	enum { FILTERS = 60, REPAIRS = 3 };
	struct blm_store *store;
	char name[16], path[512];
	pid_t pid[REPAIRS];
	int names = 0;

	begin();
	copy_file(DATA, "older");
	for (int i = 0; i < FILTERS; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		make_in_store(name, name, path);
	}
	copy_file("older", DATA);
	for (int i = 0; i < REPAIRS; i++)
		pid[i] = spawn(repair_once, 0);
	for (int i = 0; i < REPAIRS; i++)
		ck_assert_int_eq(join(pid[i]), 0);
	store = open_store(0);
	OK(blm_store_list(store, NULL, count, &names));
	blm_store_close(store);
	ck_assert_int_eq(names, FILTERS + 1);
	repair();
}
END_TEST

START_TEST(one_file_under_two_names_keeps_its_own)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct blm_store *store;
	char path[512];

	begin();
	make_in_store("a", "key", path);
	store = open_store(0);
	OK(blm_catalog_get(store->catalog, "a", entry));
	OK(blm_catalog_put(store->catalog, "b", entry, BLM_PUT_NEW));
	ck_assert_int_eq(verify(0), 1);
	ck_assert_ptr_nonnull(strstr(said, "b: has the same file as a"));
	repair();
	ck_assert(holds(store, "a", "key"));
	ck_assert(!holds(store, "b", "key"));
	blm_store_close(store);
	free(entry);
}
END_TEST

/* Makes, drops, renames and replaces, in a store whose catalog others make anew again and again. */
static int work(int who)
{
	struct blm_info *info = info_buffer();
	struct blm_store *store;
	char name[32], to[32];

	MUST(blm_store_open(&store, "s", 0) == 0);
	for (int i = 0; i < 60; i++) {
		struct blm_filter *f;

		snprintf(name, sizeof(name), "made-%d-%d", who, i);
		snprintf(to, sizeof(to), "renamed-%d-%d", who, i);
		MUST(blm_create(&f, store, name, &BLM_PARAMS(.capacity = 100)) == 0);
		MUST(blm_add(f, "key", 3) == 1);
		MUST(blm_store_rename(store, name, to) == 0);
		MUST(blm_store_find(store, to, info) == 0);
		blm_close(f);
		MUST(blm_open(&f, store, to, BLM_OPEN_WRITE) == 0);
		MUST(blm_clear(f) == 0 && blm_add(f, to, strlen(to)) == 1);
		blm_close(f);
		MUST(holds(store, to, to));
		if (i % 2)
			MUST(blm_store_drop(store, to) == 0);
	}
	blm_store_close(store);
	free(info);
	return 0;
}

START_TEST(a_rebuilt_catalog_takes_nothing_from_running_processes)
{
	enum { WORKERS = 2 };
	struct blm_store *store;
	int alive = WORKERS, status, made = 0;
	char name[32];

	begin();
	for (int i = 0; i < WORKERS; i++)
		spawn(work, i);
	for (; alive; made++) {
		ck_assert_msg(verify(BLM_VERIFY_REPAIR | BLM_VERIFY_DISTRUST) >= 0, "%s",
			      blm_error_message());
		usleep(2000);		/* for those who wait for the catalog */
		while (alive && waitpid(-1, &status, WNOHANG) > 0) {
			ck_assert_int_eq(status, 0);
			alive--;
		}
	}
	ck_assert_int_gt(made, 1);
	store = open_store(0);
	for (int who = 0; who < WORKERS; who++)
		for (int i = 0; i < 60; i += 2) {
			snprintf(name, sizeof(name), "renamed-%d-%d", who, i);
			ck_assert_msg(holds(store, name, name), "%s is lost", name);
		}
	blm_store_close(store);
	OK(verify(BLM_VERIFY_REPAIR));
}
END_TEST

/* ---- The catalog's own file ---- */

START_TEST(a_catalog_rebuilt_by_another_user_keeps_its_owner)
{
	bool gives = !cannot_give_away(4711, 4712) && !cannot_give_away(4713, 4714);
	struct stat st;

	begin();
	OK(chmod(DATA, 0664));
	if (gives)
		OK(chown(DATA, 4711, 4712));
	OK(truncate(DATA, 100));
	repair();
	OK(stat(DATA, &st));
	ck_assert_uint_eq(st.st_mode & 0777, 0664);
	if (gives)
		ck_assert(st.st_uid == 4711 && st.st_gid == 4712);
	if (gives)
		OK(chown("s/catalog", 4713, 4714));
	OK(unlink(DATA));
	repair();
	OK(stat(DATA, &st));
	ck_assert_uint_eq(st.st_mode & 0777, 0644);
	if (gives)
		ck_assert(st.st_uid == 4713 && st.st_gid == 4714);
	else
		SKIP_PART(cannot_give_away(4711, 4712));
}
END_TEST

/* ---- Dropping ---- */

START_TEST(users_of_a_keyed_filter_learn_of_its_drop)
{
	struct blm_store *store;
	struct blm_filter *f;

	begin();
	store = open_store(0);
	OK(blm_create(&f, store, "a", &BLM_PARAMS(.capacity = 100, .hash = "siphash")));
	OK(blm_add(f, "one", 3));
	OK(rename("s/keys", "s/hidden"));
	OK(mkdir("s/keys", 0700));
	blm_store_close(store);
	store = open_store(0);
	OK(blm_store_drop(store, "a"));
	FAILS(blm_add(f, "two", 3), -ESTALE);
	ck_assert_int_eq(files_in("s/filters", NULL), 1);
	repair();
	blm_close(f);
	blm_store_close(store);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("strays");
	TCase *tc = tcase_create("strays");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, a_filter_with_a_damaged_record_stays_in_any_state, 0,
			    ARRAY_LEN(states));
	tcase_add_test(tc, an_empty_filter_whose_record_is_damaged_stays_too);
	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		if (states[i] != BLM_UNNAMED)
			tcase_add_loop_test(
				tc,
				every_newer_filter_with_keys_survives_an_older_catalog,
				(int)i, (int)i + 1);
	tcase_add_test(
		tc,
		a_damaged_older_catalog_proves_nothing_about_newer_filters);
	tcase_add_loop_test(
		tc, repair_mends_a_dead_writers_state_of_a_known_file, 0,
		ARRAY_LEN(states));
	tcase_add_test(tc, a_filter_with_data_that_was_never_counted_stays);
	tcase_add_loop_test(
		tc, a_dropped_filters_file_is_deleted_without_its_name, 0, 2);
	tcase_add_loop_test(
		tc, a_file_stays_unless_the_catalog_recorded_its_removal, 0, 2);
	tcase_add_test(tc, the_catalog_forgets_removed_filters_when_their_files_are_gone);
	tcase_add_test(tc, concurrent_repairs_give_each_file_one_name);
	tcase_add_test(tc, one_file_under_two_names_keeps_its_own);
	tcase_add_test(tc, a_rebuilt_catalog_takes_nothing_from_running_processes);
	tcase_add_test(tc, a_catalog_rebuilt_by_another_user_keeps_its_owner);
	tcase_add_test(
		tc,
		users_of_a_keyed_filter_learn_of_its_drop);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
