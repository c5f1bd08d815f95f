/*
 * snapshots.c - look-ups in a catalog while writers use it: stopped in a commit, fast, many; on
 * file systems that became read-only; and how long writers wait for each other
 */
#include "processes.h"
#include "../info.h"

#include "catalog/env.h"
#include "place/store_dir.h"

#include <sys/file.h>
#include <sys/syscall.h>

#define DATA "s/catalog/data.mdb"

/* What hangs is a test that takes too long: no look-up here may wait. */
static void never_give_up(void)
{
	blm_catalog_lock_limit = INT64_MAX / 2;
}

#if !SANITIZED	/* they have some of these for themselves */

/* ---- The system's calls, as LMDB and the library make them ---- */

static enum stage { NOWHERE, BEFORE_FLUSH, BEFORE_META, AFTER_META, STAGES } stop_at;
static bool read_only;
static int64_t fake_time;		/* nanoseconds; 0: the clock is the system's */
static void (*each_pause)(void);
static void (*before_read)(void);	/* once, before the first meta page is read */

static bool is_data(int fd)
{
	struct stat st, data;

	return fstat(fd, &st) == 0 && stat(DATA, &data) == 0 && st.st_ino == data.st_ino;
}

ssize_t write_or_stop(int fd, const void *bytes, size_t count, off_t at) __asm__("pwrite");
ssize_t write_or_stop(int fd, const void *bytes, size_t count, off_t at)
{
	bool meta = stop_at && at < 8192 && is_data(fd);
	ssize_t r;

	if (meta && stop_at == BEFORE_META)
		raise(SIGSTOP);
	r = syscall(SYS_pwrite64, fd, bytes, count, at);
	if (meta && stop_at == AFTER_META)
		raise(SIGSTOP);
	return r;
}

ssize_t read_later(int fd, void *buffer, size_t count, off_t at) __asm__("pread64");
ssize_t read_later(int fd, void *buffer, size_t count, off_t at)
{
	void (*step)(void) = before_read;

	if (step && at == 0 && is_data(fd)) {
		before_read = NULL;
		step();
	}
	return syscall(SYS_pread64, fd, buffer, count, at);
}

int flush_or_stop(int fd) __asm__("fdatasync");
int flush_or_stop(int fd)
{
	if (stop_at == BEFORE_FLUSH && is_data(fd))
		raise(SIGSTOP);
	return (int)syscall(SYS_fdatasync, fd);
}

/*
 * A file system that an error made read-only, as ext4's errors=remount-ro: access() and statvfs()
 * say otherwise.
 */
static int open_or_not(const char *path, int flags, unsigned mode)
{
	bool inside = !strncmp(path, "s/", 2) || strstr(path, "/s/");
	bool writes = flags & O_ACCMODE || (flags & O_CREAT && access(path, F_OK) < 0);

	if (read_only && inside && writes) {
		errno = EROFS;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open_32(const char *path, int flags, unsigned mode) __asm__("open");
int open_32(const char *path, int flags, unsigned mode)
{
	return open_or_not(path, flags, mode);
}

int open_64(const char *path, int flags, unsigned mode) __asm__("open64");
int open_64(const char *path, int flags, unsigned mode)
{
	return open_or_not(path, flags, mode);
}

int tell_time(clockid_t clock, struct timespec *ret) __asm__("clock_gettime");
int tell_time(clockid_t clock, struct timespec *ret)
{
	if (!fake_time || clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, ret);
	*ret = (struct timespec){ .tv_sec = fake_time / 1000000000,
				  .tv_nsec = fake_time % 1000000000 };
	return 0;
}

int pause_or_not(const struct timespec *time, struct timespec *left) __asm__("nanosleep");
int pause_or_not(const struct timespec *time, struct timespec *left)
{
	if (!fake_time)
		return (int)syscall(SYS_nanosleep, time, left);
	fake_time += (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
	if (each_pause)
		each_pause();
	return 0;
}

/* ---- A writer that is stopped ---- */

static struct blm_store *the_store;
static struct blm_filter *the_filter;

static int write_and_stop(int stage)
{
	struct blm_store *store;
	struct blm_filter *f;

	stop_at = NOWHERE;
	MUST(blm_store_open(&store, "s", 0) == 0);
	stop_at = (enum stage)stage;
	MUST(blm_create(&f, store, "new", &BLM_PARAMS(.capacity = 100)) == 0);
	blm_close(f);
	blm_store_close(store);
	return 0;
}

static int count_one(void *context, const struct blm_info *info, int err)
{
	(void)info;
	++*(int *)context;
	return err;
}

enum { READERS = 8, LOOKS = 200 };
static double *took;			/* of each look-up of each reader */

static int read_all_ways(int reader)
{
	struct blm_info *info = info_buffer();

	never_give_up();
	for (int i = 0; i < LOOKS; i++) {
		struct blm_store *store;
		struct blm_filter *f;
		double begun = seconds();
		int names = 0;

		MUST(blm_store_find(the_store, "a", info) == 0);
		MUST(blm_contains(the_filter, "key", 3) == 1);	/* its list is looked at */
		took[reader * LOOKS + i] = seconds() - begun;
		MUST(blm_store_open(&store, "s", BLM_STORE_READ) == 0);
		MUST(blm_open(&f, store, "b", 0) == 0 && blm_contains(f, "key", 3) == 1);
		blm_close(f);
		MUST(blm_store_list(store, NULL, count_one, &names) == 0);
		MUST(names == 2 || names == 3);
		blm_store_close(store);
	}
	free(info);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b)
	     - (*(const double *)a < *(const double *)b);
}

START_TEST(readers_proceed_while_a_writer_is_stopped_in_its_commit)
{
	const struct blm_key listed = { "listed", 6 };
	const uint64_t all = 1;
	struct blm_entry *entry = malloc(sizeof(*entry));
	pid_t writer, reader[READERS];
	int status;

	the_store = open_store(BLM_STORE_CREATE);
	make_with(the_store, "a", "key");
	make_with(the_store, "b", "key");
	OK(blm_catalog_get(the_store->catalog, "a", entry));
	ck_assert_int_eq(blm_catalog_put_listed(the_store->catalog, entry->constant.uuid, &listed,
						1, &all), 1);
	OK(blm_open(&the_filter, the_store, "a", 0));
	took = shared_memory(READERS * LOOKS * sizeof(*took));
	writer = spawn(write_and_stop, _i);
	ck_assert_int_eq(waitpid(writer, &status, WUNTRACED), writer);
	ck_assert_msg(WIFSTOPPED(status), "status %x", (unsigned)status);
	for (int i = 0; i < READERS; i++)
		reader[i] = spawn(read_all_ways, i);
	for (int i = 0; i < READERS; i++)
		ck_assert_int_eq(join(reader[i]), 0);
	qsort(took, READERS * LOOKS, sizeof(*took), by_time);
	printf("# %d look-ups by %d readers beside a stopped writer: half within %.0f us, 99%% "
	       "within %.0f us\n",
	       READERS * LOOKS, READERS, took[READERS * LOOKS / 2] * 1e6,
	       took[READERS * LOOKS * 99 / 100] * 1e6);
	kill(writer, SIGCONT);		/* it was not harmed either */
	while (waitpid(writer, &status, WUNTRACED) == writer && WIFSTOPPED(status))
		kill(writer, SIGCONT);
	ck_assert_int_eq(status, 0);
	ck_assert(holds(the_store, "a", "key"));
	free(entry);
	blm_close(the_filter);
	blm_store_close(the_store);
}
END_TEST

/* ---- A writer that lets the catalog grow ---- */

static struct blm_store *growing;

static void grow_much(void)
{
	char name[16];
	static int made;

	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "n%d", made++);
		make_with(growing, name, "key");
	}
}

START_TEST(a_reader_follows_a_catalog_that_grows_as_it_begins)
{
	struct blm_info *info = info_buffer();
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make_with(store, "a", "key");
	OK(blm_store_open(&growing, "s", 0));
	for (int i = 0; i < 10; i++) {
		before_read = grow_much;
		OK(blm_store_find(store, "a", info));
		ck_assert(!before_read);
	}
	blm_store_close(growing);
	blm_store_close(store);
	free(info);
}
END_TEST

/* ---- A file system that became read-only ---- */

START_TEST(a_store_that_became_read_only_is_readable)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;
	int names = 0;

	make_with(store, "a", "key");
	make_with(store, "b", "key");
	if (_i)			/* opened before that, or after it */
		blm_store_close(store);
	read_only = true;
	if (_i)
		OK(blm_store_open(&store, "s", BLM_STORE_READ));
	OK(blm_open(&f, store, "a", 0));
	ck_assert_int_eq(blm_contains(f, "key", 3), 1);
	OK(blm_store_list(store, NULL, count_one, &names));
	ck_assert_int_eq(names, 2);
	ck_assert_int_eq(blm_verify(store, "a", 0, NULL, NULL), 0);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
	if (_i)
		FAILS(blm_store_label(store, "a", "k", "v"), -EROFS);
	blm_close(f);
	read_only = false;
	if (!_i)
		OK(blm_store_label(store, "a", "k", "v"));
	blm_store_close(store);
}
END_TEST

/* ---- Writers that wait for each other ---- */

static int held;
static int pauses_left;

/* As another process that commits: its transaction is the next one. */
static void another_commits(void)
{
	uint64_t txn[2], next;
	int fd = open(DATA, O_RDWR | O_CLOEXEC), newer;

	for (int slot = 0; slot < 2; slot++)
		MUST(pread(fd, &txn[slot], 8, slot * 4096 + 16 + 128) == 8);
	newer = txn[1] > txn[0];
	next = txn[newer] + 2;
	MUST(pwrite(fd, &next, 8, newer * 4096 + 16 + 128) == 8);
	close(fd);
}

static void wait_a_turn(void)
{
	if (pauses_left % 100 == 0)
		another_commits();
	if (--pauses_left == 0)
		MUST(flock(held, LOCK_UN) == 0);
}

START_TEST(a_writer_waits_as_long_as_others_have_their_turns)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make_with(store, "a", "key");
	held = open("s/catalog/lock", O_RDONLY | O_CLOEXEC);
	ck_assert(held >= 0 && flock(held, LOCK_EX) == 0);
	/* of 5 milliseconds each: 100 seconds, with a commit in each half */
	pauses_left = 20000;
	each_pause = wait_a_turn;
	fake_time = 1000000000;
	OK(blm_store_label(store, "a", "k", "v"));
	ck_assert_int_eq(pauses_left, 0);
	ck_assert_int_gt(fake_time, INT64_C(90000000000));
	fake_time = 0;
	close(held);
	blm_store_close(store);
}
END_TEST

static int wait_in_the_queue(int fd)
{
	int queue = open("s/catalog", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char c = 'w';

	MUST(flock(queue, LOCK_SH) == 0 && write(fd, &c, 1) == 1);
	pause();
	return 0;
}

START_TEST(a_holder_that_never_releases_is_named_with_the_waiter)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	pid_t other[2];
	char text[32], c;
	int ready[2];

	make_with(store, "a", "key");
	held = open("s/catalog/lock", O_RDONLY | O_CLOEXEC);
	ck_assert(held >= 0 && flock(held, LOCK_EX) == 0 && pipe(ready) == 0);
	for (int i = 0; i < 2; i++) {
		other[i] = spawn(wait_in_the_queue, ready[1]);
		ck_assert_int_eq((int)read(ready[0], &c, 1), 1);
	}
	each_pause = NULL;
	fake_time = 1000000000;
	FAILS(blm_store_label(store, "a", "k", "v"), -EBUSY);
	ck_assert_int_gt(fake_time, INT64_C(5900000000));
	ck_assert_int_lt(fake_time, INT64_C(8000000000));
	fake_time = 0;
	if (access("/proc/locks", R_OK) == 0) {
		snprintf(text, sizeof(text), " %d ", (int)getpid());
		ck_assert_msg(strstr(blm_error_message(), text)
				      && strstr(blm_error_message(), "waiting: 3"),
			      "%s", blm_error_message());
	}
	for (int i = 0; i < 2; i++)
		kill_it(other[i]);
	close(held);
	OK(blm_store_label(store, "a", "k", "v"));
	blm_store_close(store);
}
END_TEST

#endif

/* ---- Snapshots ---- */

enum { NAMES = 400 };

static struct blm_catalog *fill(void)
{
	struct blm_new_entry *entries = calloc(NAMES, sizeof(*entries));
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_catalog *c;

	make(NULL, store, "a");
	OK(blm_catalog_get(store->catalog, "a", &entries[0].entry));
	blm_store_close(store);
	for (int i = 0; i < NAMES; i++) {
		entries[i].entry = entries[0].entry;
		entries[i].entry.keys = 0;
		snprintf(entries[i].name, sizeof(entries[i].name), "n%05d", i);
	}
	OK(blm_catalog_make("s/catalog", entries, NAMES));
	free(entries);
	OK(blm_catalog_open(&c, "s/catalog", true));
	return c;
}

/* All records in one transaction: each has as many keys as there were such transactions. */
static int count_up(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	int code = mdb_cursor_open(txn, c->filters, &cursor);

	(void)context;
	while (code == 0 && (code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
		uint8_t *copy = malloc(value.mv_size);
		uint64_t keys;

		memcpy(copy, value.mv_data, value.mv_size);
		memcpy(&keys, copy + 24, sizeof(keys));
		keys++;
		/* not its checksum: the record is not looked at as one */
		memcpy(copy + 24, &keys, sizeof(keys));
		value.mv_data = copy;
		code = mdb_cursor_put(cursor, &key, &value, MDB_CURRENT);
		free(copy);
	}
	mdb_cursor_close(cursor);
	return code == MDB_NOTFOUND ? 0 : code;
}

struct scan {
	int commits, until;		/* in each run; and in how many runs */
	int runs, names;
	uint64_t least, most;
	bool locked;
};

static int scan_and_commit(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	struct scan *s = context;
	struct blm_table filters;
	struct blm_found at;
	int lock = open("s/catalog/lock", O_RDONLY | O_CLOEXEC);
	int code = blm_snapshot_table(p, "filters", &filters);
	uint64_t keys;

	s->runs++;
	s->names = 0;
	s->least = UINT64_MAX;
	s->most = 0;
	s->locked = flock(lock, LOCK_EX | LOCK_NB) < 0;
	close(lock);
	if (code == 0)
		code = blm_snapshot_seek(p, &filters, "", 0, &at);
	for (; code == 0; code = blm_snapshot_next(p, &filters, &at)) {
		memcpy(&keys, (const uint8_t *)at.value.mv_data + 24, sizeof(keys));
		s->least = keys < s->least ? keys : s->least;
		s->most = keys > s->most ? keys : s->most;
		if (!s->names++ && s->runs <= s->until)
			for (int i = 0; i < s->commits; i++)
				OK(blm_catalog_transact(c, count_up, NULL));
	}
	return code;
}

START_TEST(a_listing_shows_one_snapshot_despite_commits)
{
	struct blm_catalog *c = fill();
	struct scan s = { .commits = _i, .until = 3 };

	for (int i = 0; i < 8; i++)	/* so that there are free pages to be used again */
		OK(blm_catalog_transact(c, count_up, NULL));
	never_give_up();
	OK(blm_catalog_look(c, scan_and_commit, &s, "listing"));
	ck_assert_int_eq(s.names, NAMES);
	ck_assert_uint_eq(s.least, s.most);
	ck_assert_int_eq(s.runs, _i < 2 ? 1 : 4);	/* one commit leaves a snapshot whole */
	ck_assert(!s.locked);
	blm_catalog_close(c);
}
END_TEST

START_TEST(a_listing_that_is_always_too_slow_keeps_writers_out)
{
	struct blm_catalog *c = fill();
	struct scan s = { .commits = 3, .until = 64 };

	never_give_up();
	OK(blm_catalog_look(c, scan_and_commit, &s, "listing"));
	ck_assert_int_eq(s.names, NAMES);
	ck_assert_uint_eq(s.least, s.most);
	ck_assert_int_eq(s.runs, 65);
	ck_assert(s.locked);
	OK(blm_catalog_transact(c, count_up, NULL));
	blm_catalog_close(c);
}
END_TEST

enum { COMMITS = 3000 };

static int set_keys(struct blm_entry *entry, void *context)
{
	entry->keys = entry->synced = *(const uint64_t *)context;
	return 1;
}

static int commit_thousands(int unused)
{
	struct blm_catalog *c;
	char name[16];

	MUST(blm_catalog_open(&c, "s/catalog", true) == 0);
	for (uint64_t i = 1; i <= COMMITS; i++) {
		snprintf(name, sizeof(name), "n%05d", (int)(i % (NAMES - 10)));
		MUST(blm_catalog_change(c, "n00399", set_keys, &i) == 0);
		if (i % 3 == 0)
			MUST(blm_catalog_rename(c, i % 2 ? "other" : "one",
						i % 2 ? "one" : "other") == 0);
		if (i % 5 == 0)
			blm_catalog_remove(c, name, NULL);
	}
	blm_catalog_close(c);
	return 0;
}

START_TEST(a_reader_finds_present_names_despite_a_fast_writer)
{
	struct blm_catalog *c = fill();
	struct blm_entry *entry = malloc(sizeof(*entry));
	uint8_t moved[16];
	uint64_t last = 0, looks = 0;
	pid_t writer;
	int status;

	OK(blm_catalog_get(c, "n00399", entry));
	memset(entry->constant.uuid, 7, 16);
	memcpy(moved, entry->constant.uuid, 16);
	OK(blm_catalog_put(c, "one", entry, BLM_PUT_NEW));
	OK(blm_catalog_rename(c, "one", "other"));
	never_give_up();
	writer = spawn(commit_thousands, 0);
	for (; waitpid(writer, &status, WNOHANG) == 0; looks++) {
		OK(blm_catalog_get(c, "n00399", entry));
		ck_assert_uint_eq(entry->keys, looks || last ? entry->synced : entry->keys);
		ck_assert_uint_ge(entry->keys, last);
		last = entry->keys;
		/* under one name or the other */
		ck_assert_int_eq(blm_catalog_knows(c, moved), 1);
	}
	ck_assert_int_eq(status, 0);
	OK(blm_catalog_get(c, "n00399", entry));
	ck_assert_uint_eq(entry->keys, COMMITS);
	printf("# %llu look-ups beside %d commits\n", (unsigned long long)looks, COMMITS);
	free(entry);
	blm_catalog_close(c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("snapshots");
	TCase *tc = tcase_create("snapshots");

	tcase_add_checked_fixture(tc, own_folder, NULL);
#if !SANITIZED
	tcase_add_test(tc, a_reader_follows_a_catalog_that_grows_as_it_begins);
	tcase_add_loop_test(tc, readers_proceed_while_a_writer_is_stopped_in_its_commit,
			    BEFORE_FLUSH, STAGES);
	tcase_add_loop_test(tc, a_store_that_became_read_only_is_readable, 0, 2);
	tcase_add_test(tc, a_writer_waits_as_long_as_others_have_their_turns);
	tcase_add_test(tc, a_holder_that_never_releases_is_named_with_the_waiter);
#endif
	tcase_add_loop_test(tc, a_listing_shows_one_snapshot_despite_commits, 0, 6);
	tcase_add_test(tc, a_listing_that_is_always_too_slow_keeps_writers_out);
	tcase_add_test(tc, a_reader_finds_present_names_despite_a_fast_writer);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
