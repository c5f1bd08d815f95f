/*
 * open_catalog.c - what befalls a catalog while it is open: forks, cuts, no more addresses, a lock
 * that is not to be had, rights
 */
#include "suite.h"
#include "../info.h"

#include "catalog/env.h"
#include "place/store_dir.h"

#include <ftw.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { SKIPPED = 77 };	/* this needs rights that are not to be had here */

static struct blm_store *store_with(const char *name)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make_with(store, name, "key");
	return store;
}

static int find(struct blm_store *store, const char *name)
{
	struct blm_info *info = info_buffer();
	int r = blm_store_find(store, name, info);

	free(info);
	return r;
}

/* ---- Forks ---- */

static int told[2];

static int tell_and_wait(struct blm_entry *entry, void *context)
{
	MUST(write(told[1], context, sizeof(pid_t)) == sizeof(pid_t));
	pause();
	return 0;
}

/*
 * Has an idle child, and is killed in the middle of a change. early: the child was there before the
 * change began.
 */
static int hold_with_a_child(int unused)
{
	struct blm_store *store;
	pid_t child;

	MUST(blm_store_open(&store, "s", 0) == 0);
	child = fork();
	if (child == 0) {
		close(told[1]);
		for (;;)
			pause();
	}
	MUST(child > 0);
	return blm_catalog_change(store->catalog, "a", tell_and_wait, &child);
}

START_TEST(an_idle_child_keeps_none_of_its_killed_parents_locks)
{
	struct blm_store *store = store_with("a");
	pid_t parent, child;

	ck_assert_int_eq(pipe(told), 0);
	parent = spawn(hold_with_a_child, 0);
	ck_assert_int_eq(read(told[0], &child, sizeof(child)), sizeof(child));
	kill(parent, SIGKILL);
	ck_assert_int_eq(join(parent), SIGNALLED + SIGKILL);
	OK(find(store, "a"));
	OK(blm_store_label(store, "a", "k", "v"));
	ck_assert_int_eq(kill(child, 0), 0);
	kill(child, SIGKILL);
	blm_store_close(store);
}
END_TEST

/* ---- Cuts ---- */

static int use(struct blm_store *store, int how)
{
	struct blm_filter *f;
	int r;

	switch (how) {
	case 0: return find(store, "a");
	case 1: return blm_store_label(store, "a", "k", "v");
	case 2:
		r = blm_open(&f, store, "a", 0);
		blm_close(r < 0 ? NULL : f);
		return r;
	default:
		r = blm_store_open(&store, "s", 0);
		return r < 0 ? r : find(store, "a");
	}
}

START_TEST(a_catalog_truncated_while_open_is_reported_damaged)
{
	static const off_t lengths[] = { 0, 100, 4096, 8192, 12288 };
	struct blm_store *store = store_with("a");
	char name[16];

	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		make(NULL, store, name);
	}
	ck_assert_int_eq(truncate("s/catalog/data.mdb", lengths[_i]), 0);
	for (int how = 0; how < 4; how++)
		FAILS(use(store, how), -EUCLEAN);
	ck_assert_int_ge(blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	for (int how = 0; how < 4; how++)
		OK(use(store, how));
	ck_assert(holds(store, "a", "key"));
	blm_store_close(store);
}
END_TEST

static void make_more(int count)
{
	struct blm_store *store = store_with("a");
	char name[16];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		make(NULL, store, name);
	}
	blm_store_close(store);
}

static bool to_be_cut;

#if !SANITIZED	/* they have one of their own */
/*
 * As another process that truncates data.mdb at the moment in which LMDB has mapped it, by the name
 * that LMDB uses for the call.
 */
void *map_and_cut(void *at, size_t bytes, int protection, int flags, int fd,
		  off_t offset) __asm__("mmap");
void *map_and_cut(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	void *map = (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
	struct stat mapped, data;

	if (to_be_cut && fd >= 0 && fstat(fd, &mapped) == 0
	    && stat("s/catalog/data.mdb", &data) == 0 && mapped.st_ino == data.st_ino) {
		MUST(ftruncate(fd, 0) == 0);
		to_be_cut = false;
	}
	return map;
}
#endif

static int cut_and_read(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	struct blm_table filters;
	struct blm_found at;
	int code = truncate("s/catalog/data.mdb", *(const off_t *)context) < 0
			 ? errno
			 : blm_snapshot_table(p, "filters", &filters);

	if (code == 0)
		code = blm_snapshot_seek(p, &filters, "", 0, &at);
	while (code == 0)
		code = blm_snapshot_next(p, &filters, &at);
	return code;
}

static int cut_and_put(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	MDB_val key = { 3, (void *)"new" };

	return truncate("s/catalog/data.mdb", *(const off_t *)context) < 0
		     ? errno
		     : mdb_put(txn, c->filters, &key, &key, 0);
}

/* A reader copies pages, so no cut is a signal for it; LMDB has them mapped. */
START_TEST(a_catalog_truncated_during_a_read_is_an_error)
{
	static const off_t lengths[] = { 0, 8192, 10000 };
	size_t bytes;
	uint8_t *good;

	make_more(60);
	good = read_all("s/catalog/data.mdb", &bytes);
	for (int i = 0; i < 3; i++) {
		struct blm_store *store;

		OK(blm_store_open(&store, "s", 0));
		FAILS(blm_catalog_look(store->catalog, cut_and_read, (void *)&lengths[i],
				       "walking"),
		      -EUCLEAN);
		FAILS(find(store, "a"), -EUCLEAN);
		write_all("s/catalog/data.mdb", good, bytes);
		OK(find(store, "a"));
		blm_store_close(store);
	}
	free(good);
}
END_TEST

enum { CUTS = 2 };

static int cut_while_it_is_changed(int how)
{
	static const off_t lengths[] = { 0, 8192, 10000 };
	struct blm_store *store;
	size_t bytes;
	uint8_t *good = read_all("s/catalog/data.mdb", &bytes);
	bool prepared = how / CUTS;
	int r = -EUCLEAN;

	how %= CUTS;
	MUST(!prepared || blm_survive_truncation() == 0);
	for (int i = 0; i < 6; i++) {
		MUST(blm_store_open(&store, "s", 0) == 0 && find(store, "f7") == 0);
		if (how == 0) {
			r = blm_catalog_transact(store->catalog, cut_and_put,
						 (void *)&lengths[i % 3]);
		} else {
			to_be_cut = true;
			r = blm_store_label(store, "f7", "k", "v");
			MUST(!to_be_cut);
		}
		if (r != -EUCLEAN)
			fprintf(stderr, "way %d, cut to %d: %d, %s\n", how, (int)lengths[i % 3], r,
				blm_error_message());
		MUST(r == -EUCLEAN && strstr(blm_error_message(), "s/catalog"));
		MUST(find(store, "a") == -EUCLEAN);
		write_all("s/catalog/data.mdb", good, bytes);
		MUST((find(store, "a") == 0 && find(store, "f7") == 0
		      && blm_store_label(store, "f7", "k", "v") == 0));
		blm_store_close(store);
		write_all("s/catalog/data.mdb", good, bytes);
	}
	free(good);
	return 0;
}

START_TEST(a_catalog_truncated_under_LMDB_gives_error_or_signal)
{
	make_more(60);
	ck_assert_int_eq(run_apart(cut_while_it_is_changed, _i),
			 _i / CUTS ? 0 : SIGNALLED + SIGBUS);
}
END_TEST

START_TEST(a_shorter_catalog_copied_over_an_open_one_is_used)
{
	struct blm_store *store = store_with("a");
	size_t bytes;
	uint8_t *before;
	char name[16];

	before = read_all("s/catalog/data.mdb", &bytes);
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		make(NULL, store, name);
	}
	write_all("s/catalog/data.mdb", before, bytes);
	OK(find(store, "a"));
	FAILS(find(store, "f1"), -ENOENT);
	OK(blm_store_label(store, "a", "k", "v"));
	ck_assert(holds(store, "a", "key"));
	free(before);
	blm_store_close(store);
}
END_TEST

static int grow_it(int unused)
{
	struct blm_store *store;
	char name[16];

	MUST(blm_store_open(&store, "s", 0) == 0);
	for (int i = 0; i < 200; i++) {
		struct blm_filter *f;

		snprintf(name, sizeof(name), "g%d", i);
		MUST(blm_create(&f, store, name, &BLM_PARAMS(.capacity = 10)) == 0);
		blm_close(f);
	}
	return 0;
}

START_TEST(a_catalog_that_grew_and_was_truncated_is_damaged)
{
	struct blm_store *store = store_with("a");
	struct stat st;

	OK(find(store, "a"));
	ck_assert_int_eq(stat("s/catalog/data.mdb", &st), 0);
	ck_assert_int_eq(run_apart(grow_it, 0), 0);
	ck_assert_int_eq(truncate("s/catalog/data.mdb", st.st_size + 8192), 0);
	for (int how = 0; how < 4; how++)
		FAILS(use(store, how), -EUCLEAN);
	blm_store_close(store);
}
END_TEST

/* ---- Addresses ---- */

/* Whatever there is of them now, and so many more. */
static void limit_addresses(uint64_t more)
{
	FILE *in = fopen("/proc/self/statm", "re");
	unsigned long pages;

	MUST(in && fscanf(in, "%lu", &pages) == 1);
	fclose(in);
	MUST(setrlimit(RLIMIT_AS, &(struct rlimit){ pages * 4096 + more, RLIM_INFINITY }) == 0);
}

static struct blm_entry *an_entry(struct blm_store *store)
{
	struct blm_entry *entry = malloc(sizeof(*entry));

	MUST(blm_catalog_get(store->catalog, "a", entry) == 0);
	/* as large as it can be */
	entry->constant.template.seed_count = htole32(BLM_FORMAT_SEEDS);
	entry->labels_bytes = BLM_FORMAT_LABELS - 1;
	memset(entry->labels, 'l', entry->labels_bytes);
	return entry;
}

static int put_until(struct blm_store *store, const char *prefix, int most)
{
	struct blm_entry *entry = an_entry(store);
	char name[32];
	int r = 0;

	for (int i = 0; r == 0 && i < most; i++) {
		snprintf(name, sizeof(name), "%s%d", prefix, i);
		r = blm_catalog_put(store->catalog, name, entry, BLM_PUT_NEW);
	}
	free(entry);
	return r;
}

static void fill_map(struct blm_store *store)
{
	struct blm_new_entry *entries = calloc(15500, sizeof(*entries));
	struct blm_entry *entry = an_entry(store), *own = malloc(sizeof(*own));

	OK(blm_catalog_get(store->catalog, "a", own));
	for (int i = 0; i < 15500; i++) {
		snprintf(entries[i].name, sizeof(entries[i].name), "n%05d", i);
		entries[i].entry = *entry;
	}
	strcpy(entries[0].name, "a");
	entries[0].entry = *own;
	OK(blm_catalog_make("s/catalog", entries, 15500));
	free(entries);
	free(entry);
	free(own);
}

static int outgrow_the_addresses(int unused)
{
	struct blm_store *store;
	int r;

	MUST(blm_store_open(&store, "s", 0) == 0);
	MUST(find(store, "a") == 0);
	limit_addresses(20 << 20);
	r = put_until(store, "m", 10000);
	MUST(r == -ENOMEM);
	MUST(find(store, "a") == 0);		/* a filter that is there stays there */
	MUST(put_until(store, "o", 10000) == -ENOMEM);
	MUST(find(store, "a") == 0);
	MUST(setrlimit(RLIMIT_AS, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }) == 0);
	MUST(put_until(store, "p", 1000) == 0);	/* and it grows when it can */
	return 0;
}

START_TEST(a_catalog_beyond_the_address_space_still_answers)
{
	struct blm_store *store;

	if (SANITIZED)
		SKIP("sanitizers want all addresses");
	store = store_with("a");
	fill_map(store);
	ck_assert_int_eq(run_apart(outgrow_the_addresses, 0), 0);
	OK(find(store, "a"));
	blm_store_close(store);
}
END_TEST

static int grown[2];

static int look_at_what_has_grown(int unused)
{
	struct blm_store *store;
	char c = 'r';

	close(grown[1]);
	MUST(blm_store_open(&store, "s", BLM_STORE_READ) == 0 && find(store, "a") == 0);
	limit_addresses(0);
	MUST(write(told[1], &c, 1) == 1 && read(grown[0], &c, 1) == 0);
	for (int i = 0; i < 2; i++) {
		int r = find(store, "a");

		MUST(r == -ENOMEM || r == 0);
	}
	MUST(setrlimit(RLIMIT_AS, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }) == 0);
	MUST(find(store, "m1") == 0 && find(store, "a") == 0);
	return 0;
}

START_TEST(a_reader_short_of_addresses_sees_a_grown_catalog_later)
{
	struct blm_store *store;
	pid_t pid;
	char c;

	if (SANITIZED)
		SKIP("sanitizers want all addresses");
	store = store_with("a");
	fill_map(store);
	ck_assert(pipe(told) == 0 && pipe(grown) == 0);
	pid = spawn(look_at_what_has_grown, 0);
	close(grown[0]);
	ck_assert_int_eq((int)read(told[0], &c, 1), 1);
	OK(put_until(store, "m", 3000));
	close(grown[1]);
	ck_assert_int_eq(join(pid), 0);
	blm_store_close(store);
}
END_TEST

/* ---- The lock's file ---- */

static int read_as_nobody(int want)
{
	struct blm_store *store;
	int r;

	if (setgid(65534) < 0 || setuid(65534) < 0)
		return SKIPPED;
	r = blm_store_open(&store, "s", BLM_STORE_READ);
	MUST(r == want && find(store, "a") == 0);
	return 0;
}

START_TEST(a_reader_needs_no_lock_file)
{
	blm_store_close(store_with("a"));
	if (cannot_become(65534, 65534))
		SKIP(cannot_become(65534, 65534));
	ck_assert_int_eq(run_apart(read_as_nobody, 0), 0);
	ck_assert_int_eq(chmod("s/catalog/lock", 0600), 0);
	ck_assert_int_eq(run_apart(read_as_nobody, 0), 0);
	ck_assert_int_eq(unlink("s/catalog/lock"), 0);
	ck_assert_int_eq(run_apart(read_as_nobody, 0), 0);
}
END_TEST

static int read_on_a_mount(int unused)
{
	struct blm_store *store;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
	    || mount("s", "s", NULL, MS_BIND, NULL) < 0
	    || mount(NULL, "s", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
		return SKIPPED;
	/* root cannot make the lock there either */
	MUST(cannot_become(65534, 65534) || (setgid(65534) == 0 && setuid(65534) == 0));
	MUST(blm_store_open(&store, "s", BLM_STORE_READ) == 0 && find(store, "a") == 0);
	return 0;
}

START_TEST(on_a_read_only_mount_no_lock_is_needed)
{
	int r;

	blm_store_close(store_with("a"));
	ck_assert_int_eq(unlink("s/catalog/lock"), 0);
	r = run_apart(read_on_a_mount, 0);
	if (r == SKIPPED)
		SKIP("nothing can be mounted here");
	ck_assert_int_eq(r, 0);
}
END_TEST

/* ---- Rights ---- */

START_TEST(a_world_writable_catalog_is_accepted_only_on_request)
{
	static const struct { const char *path; unsigned before;
	} open_to_all[] = {
		{ "s", 0755 },	    { "s/catalog", 0755 },	    { "s/filters", 0755 },
		{ "s/keys", 0700 }, { "s/catalog/data.mdb", 0644 },
	};
	struct blm_store *store = store_with("a");

	blm_store_close(store);
	for (size_t i = 0; i < ARRAY_LEN(open_to_all); i++) {
		ck_assert_int_eq(chmod(open_to_all[i].path, open_to_all[i].before | S_IWOTH), 0);
		FAILS(blm_store_open(&store, "s", 0), -EPERM);
		ck_assert_msg(strstr(blm_error_message(), open_to_all[i].path), "%s",
			      blm_error_message());
		FAILS(blm_store_open(&store, "s", BLM_STORE_READ), -EPERM);
		OK(blm_store_open(&store, "s", BLM_STORE_ANYONE));
		blm_store_close(store);
		ck_assert_int_eq(chmod(open_to_all[i].path, open_to_all[i].before), 0);
	}
	OK(blm_store_open(&store, "s", 0));
	blm_store_close(store);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("open_catalog");
	TCase *tc = tcase_create("open_catalog");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_test(tc, an_idle_child_keeps_none_of_its_killed_parents_locks);
	tcase_add_loop_test(
		tc, a_catalog_truncated_while_open_is_reported_damaged,
		0, 5);
	if (!SANITIZED)		/* they take all signals for themselves */
		tcase_add_loop_test(tc, a_catalog_truncated_under_LMDB_gives_error_or_signal, 0,
				    2 * CUTS);
	tcase_add_test(tc, a_catalog_truncated_during_a_read_is_an_error);
	tcase_add_test(tc, a_shorter_catalog_copied_over_an_open_one_is_used);
	tcase_add_test(tc,
		       a_catalog_that_grew_and_was_truncated_is_damaged);
	tcase_add_test(tc, a_catalog_beyond_the_address_space_still_answers);
	tcase_add_test(
		tc,
		a_reader_short_of_addresses_sees_a_grown_catalog_later);
	tcase_add_test(tc, a_reader_needs_no_lock_file);
	tcase_add_test(tc, on_a_read_only_mount_no_lock_is_needed);
	tcase_add_test(
		tc,
		a_world_writable_catalog_is_accepted_only_on_request);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
