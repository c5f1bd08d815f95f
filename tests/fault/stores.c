/*
 * stores.c - catalogs and folders as others leave them: unreadable, foreign, copied, open to
 * anyone, large, read by many at once
 */
#include "kinds.h"
#include "../info.h"

#include "catalog/catalog.h"
#include "file/mapping.h"
#include "place/store_dir.h"

#include <lmdb.h>
#include <sys/mman.h>
#include <time.h>

#define DATA "s/catalog/data.mdb"

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * Filters are of one kind after the other, all that there are, and have their number as their key:
 * a bitmap takes no other.
 */
static void some_filters(int count)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char name[16];

	for (int i = 0; i < count; i++) {
		struct blm_params params =
			BLM_PARAMS(.kind = kind_number((size_t)i % how_many_kinds()).name,
				   .capacity = 100, .rate = 0.001);
		struct blm_key key = { name + 1, 0 };

		key.len = (size_t)snprintf(name, sizeof(name), "f%d", i) - 1;
		ck_assert_msg(make_of_kind(store, name, &params, &key, (const uint64_t[]){ 1 }, 1)
				      == 0,
			      "%s: %s", params.kind, blm_error_message());
	}
	blm_store_close(store);
}

static bool has_filter(struct blm_store *store, int i)
{
	char name[16];

	snprintf(name, sizeof(name), "f%d", i);
	return holds(store, name, name + 1);
}

static bool have_filters(const char *dir, int count)
{
	struct blm_store *store;
	bool all = true;

	OK(blm_store_open(&store, dir, BLM_STORE_READ));
	for (int i = 0; i < count; i++)
		all = all && has_filter(store, i);
	blm_store_close(store);
	return all;
}

/* At least one of each kind. */
static int all_kinds(void)
{
	return (int)how_many_kinds();
}

/* ---- Catalogs of another make ---- */

START_TEST(a_catalog_of_another_byte_order_is_reported_and_rebuilt)
{
	struct blm_store *store;
	size_t bytes;
	uint8_t *all;

	some_filters(all_kinds());
	all = read_all(DATA, &bytes);
	for (size_t page = 0; page < 2; page++) {
		uint32_t *meta = (uint32_t *)(all + page * 4096 + 16);

		if (_i == 0)
			meta[0] = __builtin_bswap32(meta[0]);
		else if (_i == 1)
			meta[1] = 999;			/* another version of the format */
		else
			memmove(all + page * 4096 + 12, meta,
				200); /* on 32 bits a page's head has 12 bytes */
	}
	write_all(DATA, all, bytes);
	FAILS(blm_store_open(&store, "s", 0), -EUCLEAN);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "blm_store_verify()"));
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "another machine type"));
	ck_assert_int_eq((int)blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert(have_filters("s", all_kinds()));
	free(all);
}
END_TEST

/* Another program may open the catalog its own way while no other process has it open. */
START_TEST(a_catalog_written_through_another_programs_map_stays_usable)
{
	struct blm_store *store;
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi table;
	MDB_val key = { 2, (void *)"f1" };

	some_filters(all_kinds());
	ck_assert_int_eq(mdb_env_create(&env), 0);
	mdb_env_set_maxdbs(env, 8);
	mdb_env_set_mapsize(env, 64 << 20);
	ck_assert_int_eq(mdb_env_open(env, "s/catalog",
				      _i ? MDB_WRITEMAP | MDB_NOLOCK | MDB_NOSYNC : 0, 0644),
			 0);
	ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
	ck_assert_int_eq(mdb_dbi_open(txn, "filters", 0, &table), 0);
	ck_assert_int_eq(mdb_del(txn, table, &key, NULL), 0);
	ck_assert_int_eq(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
	store = open_store(0);
	ck_assert(has_filter(store, 0) && !has_filter(store, 1) && has_filter(store, 2));
	make_with(store, "later", "key");
	blm_store_close(store);
	ck_assert_int_eq((int)blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert(have_filters("s", all_kinds()));
}
END_TEST

/* ---- Folders ---- */

static int open_as_nobody(int unused)
{
	struct blm_store *store;
	int r;

	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 77;
	r = blm_store_open(&store, "s", BLM_STORE_READ);
	MUST(r == -EACCES && strstr(blm_error_message(), "s/catalog"));
	return 0;
}

START_TEST(a_catalog_in_an_unreadable_folder_is_not_called_lost)
{
	int r;

	if (cannot_become(65534, 65534))
		SKIP(cannot_become(65534, 65534));
	some_filters(1);
	ck_assert_int_eq(chmod("s/catalog", 0), 0);
	r = run_apart(open_as_nobody, 0);
	ck_assert_int_eq(chmod("s/catalog", 0755), 0);
	ck_assert(have_filters("s", 1));
	if (r == 77)
		SKIP("nobody can be somebody else here");
	ck_assert_int_eq(r, 0);
}
END_TEST

START_TEST(a_store_without_its_catalogs_folder_is_reported_and_mended)
{
	struct blm_store *store;

	some_filters(all_kinds());
	ck_assert_int_eq(nftw("s/catalog", remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	ck_assert_int_lt(blm_store_open(&store, "s", 0), 0);
	ck_assert_int_eq((int)blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert(have_filters("s", all_kinds()));
}
END_TEST

START_TEST(a_world_writable_store_is_refused_unless_requested)
{
	struct blm_store *store = NULL;
	static const char *const folders[] = { "s", "s/filters", "s/catalog" };

	some_filters(1);
	ck_assert_int_eq(chmod(folders[_i], 0777), 0);
	FAILS(blm_store_open(&store, "s", 0), -EPERM);
	FAILS(blm_store_open(&store, "s", BLM_STORE_READ), -EPERM);
	OK(blm_store_open(&store, "s", BLM_STORE_ANYONE));
	ck_assert(has_filter(store, 0));
	blm_store_close(store);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 1);
	FAILS(blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL), -EPERM);
	ck_assert_int_eq(blm_store_verify("s", BLM_VERIFY_ANYONE, NULL, NULL), 0);
	ck_assert_int_eq(blm_store_verify("s", BLM_VERIFY_ANYONE | BLM_VERIFY_REPAIR, NULL, NULL),
			 0);
}
END_TEST

/* ---- Copies ---- */

static int create_for_ever(int unused)
{
	struct blm_store *store;
	struct blm_filter *f;
	char name[24];

	MUST(blm_store_open(&store, "s", 0) == 0);
	for (int i = 0;; i++) {
		snprintf(name, sizeof(name), "new-%d", i);
		MUST(blm_create(&f, store, name, &BLM_PARAMS(.capacity = 10)) == 0);
		MUST(blm_add(f, name, strlen(name)) == 1 && blm_sync(f) == 0);
		blm_close(f);
		if (i >= 20) {
			snprintf(name, sizeof(name), "new-%d", i - 20);
			MUST(blm_store_drop(store, name) == 0);
		}
	}
}

/* As cp(1) takes it: the catalog in pieces, at one time, the files at another. */
START_TEST(repair_restores_a_busy_stores_copy_by_cp)
{
	pid_t pid;

	some_filters(all_kinds());
	pid = spawn(create_for_ever, 0);
	for (int round = 0; round < 6; round++) {
		usleep(20000);
		/* of what is dropped meanwhile cp says that it is gone */
		ck_assert_int_ge(system("rm -rf copy && cp -r s copy 2> /dev/null"), 0);
		ck_assert_msg(blm_store_verify("copy", BLM_VERIFY_REPAIR, NULL, NULL) == 0, "%s",
			      blm_error_message());
		ck_assert(have_filters("copy", all_kinds()));
		ck_assert_int_eq((int)blm_store_verify("copy", 0, NULL, NULL), 0);
	}
	kill(pid, SIGKILL);
	join(pid);
	ck_assert_int_eq((int)blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert(have_filters("s", all_kinds()));
}
END_TEST

/* ---- Many ---- */

static int told[2];

static int read_and_stay(int unused)
{
	struct blm_store *store;
	char c = 'r';

	MUST(blm_store_open(&store, "s", BLM_STORE_READ) == 0 && has_filter(store, 0));
	MUST(write(told[1], &c, 1) == 1);
	pause();
	return 0;
}

START_TEST(two_hundred_processes_have_a_store_open_at_once)
{
	enum { READERS = 200 };
	pid_t pids[READERS];
	struct blm_store *store;
	char c;

	some_filters(1);
	ck_assert_int_eq(pipe(told), 0);
	for (int i = 0; i < READERS; i++)
		pids[i] = spawn(read_and_stay, 0);
	for (int i = 0; i < READERS; i++)
		ck_assert_int_eq((int)read(told[0], &c, 1), 1);
	store = open_store(0);
	make_with(store, "later", "key");
	ck_assert(holds(store, "later", "key"));
	blm_store_close(store);
	for (int i = 0; i < READERS; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < READERS; i++)
		join(pids[i]);
}
END_TEST

static int find_for_ever(int unused)
{
	struct blm_store *store;
	struct blm_info *info = info_buffer();
	char c = 'r';

	(void)unused;
	MUST(info && blm_store_open(&store, "s", BLM_STORE_READ) == 0
	     && blm_store_find(store, "f0", info) == 0);
	MUST(write(told[1], &c, 1) == 1);
	for (;;)
		MUST(blm_store_find(store, "f0", info) == 0);
}

START_TEST(a_catalog_with_repeatedly_killed_readers_does_not_grow)
{
	const char *scale = getenv("BLOOMERY_TEST_SCALE");
	int updates = scale && !strcmp(scale, "full") ? 100000 : 2000;
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct blm_store *store;
	struct stat st;
	pid_t pid = 0;
	char c;

	some_filters(1);
	ck_assert_int_eq(pipe(told), 0);
	store = open_store(0);
	OK(blm_catalog_get(store->catalog, "f0", entry));
	for (int i = 0; i < updates; i++) {
		if (i % (updates / 20) == 0) {
			if (pid) {
				kill(pid, SIGKILL);
				join(pid);
			}
			pid = spawn(find_for_ever, 0);
			ck_assert_int_eq((int)read(told[0], &c, 1), 1);
		}
		OK(blm_catalog_put(store->catalog, "f0", entry, BLM_PUT_OVER));
	}
	kill(pid, SIGKILL);
	join(pid);
	ck_assert_int_eq(stat("s/catalog/data.mdb", &st), 0);
	ck_assert_msg(st.st_size < 256 << 10, "%lld bytes", (long long)st.st_size);
	blm_store_close(store);
	free(entry);
}
END_TEST

static int count(void *context, const struct blm_info *info, int err)
{
	++*(int *)context;
	return err;
}

START_TEST(a_store_of_many_filters_opens_and_finds_quickly)
{
	const char *scale = getenv("BLOOMERY_TEST_SCALE");
	int many = scale && !strcmp(scale, "full") ? 1000000 : 50000, listed = 0;
	struct blm_new_entry *entries;
	struct blm_store *store;
	struct blm_info *info = info_buffer();
	double begin, opened, found;

	some_filters(1);
	entries = calloc((size_t)many, sizeof(*entries));
	store = open_store(0);
	OK(blm_store_find(store, "f0", info));
	blm_store_close(store);
	for (int i = 0; i < many; i++) {
		struct blm_constant *c = &entries[i].entry.constant;

		snprintf(entries[i].name, sizeof(entries[i].name), "filter-%d", i);
		blm_constant_begin(c, "test");
		c->capacity = htole64(100);
		c->rate = htole64(blm_bits_of(0.01));
		c->template.kind = htole32(2);
		c->template.family = htole32(1);
		c->template.cells = htole64(1024);
		c->template.probes = htole32(7);
		c->template.cell_bits = htole32(1);
		c->template.seed_count = htole32(1);
		c->check = blm_check_constant(c);
	}
	OK(blm_catalog_make("s/catalog", entries, (size_t)many));
	free(entries);
	begin = seconds();
	store = open_store(BLM_STORE_READ);
	opened = seconds() - begin;
	begin = seconds();
	OK(blm_store_find(store, "filter-4711", info));
	found = seconds() - begin;
	OK(blm_store_list(store, NULL, count, &listed));
	printf("# %d filters: opened in %.1f ms, one found in %.2f ms\n", listed, opened * 1e3,
	       found * 1e3);
	ck_assert_int_eq(listed, many);
	ck_assert_double_le(opened, 0.2);
	ck_assert_double_le(found, 0.2);
	blm_store_close(store);
	free(info);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stores");
	TCase *tc = tcase_create("stores");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_loop_test(tc, a_catalog_of_another_byte_order_is_reported_and_rebuilt,
			    0, 3);
	tcase_add_loop_test(tc, a_catalog_written_through_another_programs_map_stays_usable,
			    0, 2);
	tcase_add_test(tc, a_catalog_in_an_unreadable_folder_is_not_called_lost);
	tcase_add_test(tc, a_store_without_its_catalogs_folder_is_reported_and_mended);
	tcase_add_loop_test(tc, a_world_writable_store_is_refused_unless_requested, 0,
			    3);
	tcase_add_test(tc, repair_restores_a_busy_stores_copy_by_cp);
	tcase_add_test(tc, two_hundred_processes_have_a_store_open_at_once);
	tcase_add_test(tc, a_catalog_with_repeatedly_killed_readers_does_not_grow);
	tcase_add_test(tc, a_store_of_many_filters_opens_and_finds_quickly);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
