/*
 * put_back.c - files of a store under each other's names, older copies of them, and renames that
 * are not over: what verify and repair make of it
 */
#include "said.h"

#include "file/mapping.h"

#include <sys/file.h>
#include <sys/syscall.h>

enum { THREE = 3 };

static const char *const names[THREE] = { "a", "b", "c" };

/* Some file systems know no flags of rename. */
static bool no_flags;

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
	if (no_flags && flags) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

/* Three filters, each with its name as a key; of one template, or each of another. */
static void make_three(bool alike, char ret_paths[THREE][512])
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	for (int i = 0; i < THREE; i++) {
		OK(blm_create(&f, store, names[i],
			      &BLM_PARAMS(.capacity = alike ? 100 : 100u << i, .rate = 0.001,
					  .seed_count = 1, .seeds = (const uint64_t[]){ 7 })));
		OK(blm_add(f, names[i], 1));
		OK(blm_sync(f));
		blm_close(f);
		path_of(store, names[i], ret_paths[i]);
	}
	blm_store_close(store);
}

static bool has_its_key(const char *name)
{
	struct blm_store *store = open_store(BLM_STORE_READ);
	bool r = holds(store, name, name);

	blm_store_close(store);
	return r;
}

static void drop(const char *name)
{
	struct blm_store *store = open_store(0);

	OK(blm_store_drop(store, name));
	blm_store_close(store);
}

/* The file of each has the name of the next one. */
static void turn_round(char paths[THREE][512], int count)
{
	OK(rename(paths[count - 1], "aside"));
	for (int i = count - 1; i > 0; i--)
		OK(rename(paths[i - 1], paths[i]));
	OK(rename("aside", paths[0]));
}

/* ---- Under another's name ---- */

/*
 * _i: two or three of them, of one template or of several; the catalog is lost too; and where
 * rename knows no flags.
 */
START_TEST(files_under_each_others_names_are_put_back)
{
	char paths[THREE][512];
	int count = _i & 1 ? 3 : 2;

	no_flags = _i & 8;
	make_three(_i & 2, paths);
	turn_round(paths, count);
	if (_i & 4)
		OK(unlink("s/catalog/data.mdb"));
	else
		for (int i = 0; i < count; i++)
			ck_assert(!has_its_key(names[i]));
	ck_assert_int_ge(verify(0), 1);
	ck_assert_msg(verify(BLM_VERIFY_REPAIR) == 0, "%s", said);
	all_is_well();
	for (int i = 0; i < THREE; i++)
		ck_assert(has_its_key(names[i]));
	ck_assert_int_eq(files_in("s/filters", NULL), THREE);
}
END_TEST

START_TEST(a_file_of_any_name_gets_its_own_back)
{
	char paths[THREE][512];

	no_flags = _i;
	make_three(true, paths);
	OK(rename(paths[1], "s/filters/elsewhere"));
	ck_assert_int_ge(verify(0), 1);
	ck_assert_msg(verify(BLM_VERIFY_REPAIR) == 0, "%s", said);
	all_is_well();
	ck_assert(has_its_key("b"));
}
END_TEST

/* As where rename knows no flags, and the process is killed between link and unlink. */
START_TEST(a_file_of_two_names_keeps_its_own)
{
	char paths[THREE][512];

	make_three(true, paths);
	OK(link(paths[1], "s/filters/elsewhere"));
	ck_assert_int_ge(verify(0), 1);
	ck_assert_msg(verify(BLM_VERIFY_REPAIR) == 0, "%s", said);
	all_is_well();
	ck_assert(has_its_key("b"));
	ck_assert_int_eq(files_in("s/filters", NULL), THREE);
}
END_TEST

START_TEST(a_drop_deletes_no_file_of_another_filter)
{
	char paths[THREE][512];

	make_three(_i, paths);
	turn_round(paths, 2);
	drop("a");
	ck_assert_int_eq(files_in("s/filters", NULL), THREE);
	ck_assert_msg(verify(BLM_VERIFY_REPAIR) == 0, "%s", said);
	all_is_well();
	ck_assert(has_its_key("b"));
	ck_assert_int_eq(files_in("s/filters", NULL), 2);
}
END_TEST

/* A mark as replaced or dropped would tell that to every handle that has the file open. */
START_TEST(a_drop_marks_no_file_of_another_filter)
{
	struct blm_store *store;
	struct blm_filter *f;
	char paths[THREE][512];

	make_three(true, paths);
	store = open_store(0);
	OK(blm_open(&f, store, "b", BLM_OPEN_WRITE));
	turn_round(paths, 2);
	OK(blm_store_drop(store, "a"));
	turn_round(paths, 2);
	OK(blm_add(f, "more", 4));
	OK(blm_status(f));
	blm_close(f);
	blm_store_close(store);
	ck_assert(has_its_key("b"));
}
END_TEST

/* Another filter's file is not replaced either. */
START_TEST(a_filter_with_another_filters_file_is_not_changed)
{
	struct blm_store *store;
	struct blm_filter *f, *c;
	char paths[THREE][512];

	make_three(true, paths);
	store = open_store(0);
	OK(blm_open(&f, store, "a", BLM_OPEN_WRITE));
	OK(blm_open(&c, store, "c", 0));
	turn_round(paths, 2);
	FAILS(blm_store_publish(store, "a", c, 0, 0), -EUCLEAN);
	FAILS(blm_clear(f), -EUCLEAN);
	FAILS(blm_seal(f), -EUCLEAN);
	OK(blm_store_rename(store, "a", "d"));
	blm_close(c);
	blm_close(f);
	blm_store_close(store);
	ck_assert_int_eq(files_in("s/filters", NULL), THREE);
	ck_assert_msg(verify(BLM_VERIFY_REPAIR) == 0, "%s", said);
	all_is_well();
	store = open_store(0);
	ck_assert(holds(store, "d", "a"));
	ck_assert(holds(store, "b", "b"));
	blm_store_close(store);
}
END_TEST

/* Nothing of a is left, and no repair says that it mended that. */
START_TEST(a_filter_with_anothers_copy_is_not_called_repaired)
{
	char paths[THREE][512];

	make_three(_i, paths);
	OK(unlink(paths[0]));
	copy_file(paths[1], paths[0]);
	ck_assert_int_ge(verify(0), 1);
	for (int times = 0; times < 2; times++) {
		ck_assert_int_ge(verify(BLM_VERIFY_REPAIR), 1);
		ck_assert_msg(!strstr(said, "(repaired)"), "%s", said);
	}
	ck_assert(has_its_key("b"));
	drop("a");
	ck_assert_int_eq(access(paths[0], F_OK), 0);
	ck_assert(has_its_key("b"));
	ck_assert_int_ge(verify(BLM_VERIFY_REPAIR), 1);	/* until that file is moved away */
	OK(unlink(paths[0]));
	all_is_well();
}
END_TEST

/* Under its own name it would be a leftover, and be deleted. */
START_TEST(a_copy_of_a_dropped_filter_stays_in_its_place)
{
	char paths[THREE][512];

	make_three(true, paths);
	copy_file(paths[0], "s/filters/a backup");
	drop("a");
	ck_assert_int_ge(verify(BLM_VERIFY_REPAIR), 1);
	ck_assert_int_eq(access("s/filters/a backup", F_OK), 0);
}
END_TEST

/* ---- Older copies ---- */

static void add_and_sync(struct blm_store *store, const char *name, const char *key)
{
	struct blm_filter *f;

	OK(blm_open(&f, store, name, BLM_OPEN_WRITE));
	OK(blm_add(f, key, strlen(key)));
	OK(blm_sync(f));
	blm_close(f);
}

static struct blm_info info_of(const char *name, bool write)
{
	struct blm_store *store = open_store(write ? 0 : BLM_STORE_READ);
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	OK(blm_open(&f, store, name, write ? BLM_OPEN_WRITE : 0));
	OK(blm_info(f, &info));
	blm_close(f);
	blm_store_close(store);
	return info;
}

/* The keys that the catalog has. */
static uint64_t listed_keys(const char *name)
{
	struct blm_store *store = open_store(BLM_STORE_READ);
	struct blm_info info = BLM_INFO;

	OK(blm_store_find(store, name, &info));
	blm_store_close(store);
	return info.keys;
}

static void is_not_older(const char *name)
{
	ck_assert(!info_of(name, false).older);
	ck_assert(!info_of(name, true).older);
}

/* a has one key in its file, and three in the catalog; never synced: none and two. */
static void put_older_back(bool never_synced)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char path[512];

	make(NULL, store, "a");
	if (!never_synced)
		add_and_sync(store, "a", "a");
	path_of(store, "a", path);
	copy_file(path, "backup");
	is_not_older("a");
	add_and_sync(store, "a", "more");
	add_and_sync(store, "a", "still more");
	is_not_older("a");
	OK(rename("backup", path));
	blm_store_close(store);
}

START_TEST(an_older_copy_is_reported_with_both_numbers)
{
	put_older_back(_i);
	for (int write = 0; write < 2; write++) {
		struct blm_info info = info_of("a", write);

		ck_assert(info.older);
		ck_assert_uint_eq(info.keys, _i ? 0 : 1);
		ck_assert_uint_eq(info.catalog_keys, _i ? 2 : 3);
		ck_assert_int_eq(info.synced == 0, _i);
		ck_assert_uint_gt(info.catalog_synced, info.synced);
	}
	ck_assert_int_eq(verify(0), 1);
	ck_assert_ptr_nonnull(
		strstr(said, _i ? "the file has 0 keys, never synced, the catalog 2, synced 20"
				: "the file has 1 keys, synced 20"));
	ck_assert_msg(verify(BLM_VERIFY_REPAIR) == 0, "%s", said);
	ck_assert_ptr_nonnull(strstr(said, "the catalog follows the file (repaired)"));
	all_is_well();
	is_not_older("a");
	ck_assert_uint_eq(listed_keys("a"), _i ? 0 : 1);
	ck_assert_int_eq(has_its_key("a"), !_i);
}
END_TEST

/* _i: of the one filter, which is synced by a repair. */
START_TEST(an_older_copy_is_accepted_after_a_sync)
{
	struct blm_store *store;
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	put_older_back(false);
	store = open_store(0);
	if (_i) {
		ck_assert_int_eq((int)blm_verify(store, "a", 0, hear, NULL), 1);
		ck_assert_int_eq((int)blm_verify(store, "a", BLM_VERIFY_REPAIR, hear, NULL), 0);
	} else {
		OK(blm_open(&f, store, "a", BLM_OPEN_WRITE));
		OK(blm_sync(f));
		OK(blm_info(f, &info));
		ck_assert(!info.older);
		blm_close(f);
	}
	blm_store_close(store);
	is_not_older("a");
	all_is_well();
	ck_assert_uint_eq(listed_keys("a"), 1);
}
END_TEST

/* As after a power cut, or a kill, between the sync of the file and the commit of the catalog. */
START_TEST(a_file_newer_than_the_catalog_is_no_older_copy)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make_with(store, "a", "a");
	OK(blm_catalog_get(store->catalog, "a", entry));
	add_and_sync(store, "a", "more");
	OK(blm_catalog_put(store->catalog, "a", entry, BLM_PUT_OVER));
	blm_store_close(store);
	is_not_older("a");
	all_is_well();
	free(entry);
}
END_TEST

START_TEST(a_replacement_is_not_older_than_the_filter_it_replaces)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f, *b;

	make_with(store, "a", "a");
	for (const char *key = "123456789"; *key; key++)
		add_and_sync(store, "a", key);
	make(&b, store, "b");
	OK(blm_store_publish(store, "a", b, 0, BLM_PUBLISH_WRITABLE));
	is_not_older("a");
	OK(blm_open(&f, store, "a", BLM_OPEN_WRITE));
	OK(blm_add(f, "x", 1));
	OK(blm_sync(f));
	OK(blm_clear(f));
	is_not_older("a");
	OK(blm_seal(f));
	is_not_older("a");
	OK(blm_store_rename(store, "a", "c"));
	is_not_older("c");
	all_is_well();
	blm_close(f);
	blm_close(b);
	blm_store_close(store);
}
END_TEST

/* The last synced state is then unknown, and verify reports that. */
START_TEST(a_file_with_damaged_sync_records_is_not_called_older)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char path[512];
	int fd;

	make_with(store, "a", "a");
	add_and_sync(store, "a", "more");
	path_of(store, "a", path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq((int)pwrite(fd, "damage", 6,
					     offsetof(struct blm_header, live.sync) + 64 * i + 16),
				 6);
	close(fd);
	is_not_older("a");
	ck_assert_int_eq(verify(0), 1);
	ck_assert_ptr_nonnull(strstr(said, "both sync records are damaged"));
	blm_store_close(store);
}
END_TEST

/* Syncs go on while others open it: none of them sees an older file. */
static int sync_many_times(int times)
{
	struct blm_store *store;
	struct blm_filter *f;

	MUST(blm_store_open(&store, "s", 0) == 0);
	MUST(blm_open(&f, store, "a", BLM_OPEN_WRITE) == 0);
	for (int i = 0; i < times; i++) {
		MUST(blm_add(f, &i, sizeof(i)) >= 0);
		MUST(blm_sync(f) == 0);
	}
	blm_close(f);
	blm_store_close(store);
	return 0;
}

START_TEST(during_syncs_no_file_looks_older)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	int status = 1;
	pid_t pid;

	make(NULL, store, "a");
	pid = spawn(sync_many_times, 200);
	while (waitpid(pid, &status, WNOHANG) == 0)
		is_not_older("a");
	ck_assert_int_eq(status, 0);
	all_is_well();
	blm_store_close(store);
}
END_TEST

/* ---- Renames that are not over ---- */

/*
 * What the library calls after the commit, when the catalog is free again: a renamer stops there,
 * before it writes the file's record.
 */
static volatile sig_atomic_t stops;

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	int r = sigprocmask(how, set, old) < 0 ? errno : 0;

	if (stops && how == SIG_SETMASK) {
		stops = 0;
		kill(getpid(), SIGSTOP);
	}
	return r;
}

static int rename_and_stop(int arg)
{
	struct blm_store *store;

	MUST(blm_store_open(&store, "s", 0) == 0);
	stops = 1;
	MUST(blm_store_rename(store, "a", "b") == 0);
	blm_store_close(store);
	return 0;
}

/* The catalog says b, and the file says a. */
static pid_t stop_a_rename(void)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_info info = BLM_INFO;
	int status;
	pid_t pid;

	make_with(store, "a", "b");
	pid = spawn(rename_and_stop, 0);
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	OK(blm_store_find(store, "b", &info));
	blm_store_close(store);
	return pid;
}

START_TEST(verify_finds_nothing_during_a_rename)
{
	pid_t pid = stop_a_rename();

	ck_assert_msg(verify(0) == 0, "%s", said);
	ck_assert_msg(verify(BLM_VERIFY_REPAIR) == 0 && !*said, "%s", said);
	ck_assert(has_its_key("b"));
	is_not_older("b");		/* opens it for changes, too */
	kill(pid, SIGCONT);
	ck_assert_int_eq(join(pid), 0);
	all_is_well();
}
END_TEST

/* _i: the next opening for changes ends it, or a repair, or another rename. */
START_TEST(an_interrupted_rename_is_reported_and_completed)
{
	pid_t pid = stop_a_rename();
	struct blm_store *store;
	const char *name = "b";

	kill(pid, SIGKILL);
	join(pid);
	ck_assert_int_eq(verify(0), 1);
	ck_assert_ptr_nonnull(strstr(said, "a rename from a was interrupted"));
	ck_assert_ptr_null(strstr(said, "does not have its name"));
	ck_assert(has_its_key("b"));		/* who only reads changes nothing */
	ck_assert_int_eq(verify(0), 1);
	store = open_store(0);
	if (_i == 0)
		info_of("b", true);
	else if (_i == 1)
		ck_assert_msg(verify(BLM_VERIFY_REPAIR) == 0, "%s", said);
	else
		OK(blm_store_rename(store, "b", name = "c"));
	blm_store_close(store);
	all_is_well();
	OK(unlink("s/catalog/data.mdb"));
	OK(verify(BLM_VERIFY_REPAIR));
	store = open_store(0);
	ck_assert(holds(store, name, "b"));
	blm_store_close(store);
}
END_TEST

static int rename_many_times(int times)
{
	struct blm_store *store;

	MUST(blm_store_open(&store, "s", 0) == 0);
	for (int i = 0; i < times; i++) {
		MUST(blm_store_rename(store, "a", "b") == 0);
		MUST(blm_store_rename(store, "b", "a") == 0);
	}
	blm_store_close(store);
	return 0;
}

/* The child changes "a" this many times. */
static void verify_finds_nothing_beside(int (*change)(int times))
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	int status = 1;
	pid_t pid;

	make_with(store, "a", "a");
	pid = spawn(change, 100);
	while (waitpid(pid, &status, WNOHANG) == 0)
		ck_assert_msg(verify(0) == 0, "%s", said);
	ck_assert_int_eq(status, 0);
	blm_store_close(store);
}

START_TEST(verify_finds_nothing_during_many_renames)
{
	verify_finds_nothing_beside(rename_many_times);
}
END_TEST

/* By bytes of damage, or by hand: neither record is the later one. */
START_TEST(name_records_that_contradict_each_other_are_written_anew)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char path[512];
	struct blm_header *header;
	size_t bytes;

	make_with(store, "a", "a");
	OK(blm_store_rename(store, "a", "b"));
	path_of(store, "b", path);
	header = (struct blm_header *)read_all(path, &bytes);
	for (int i = 0; i < 2; i++) {
		header->record[i].sequence = htole64(7);
		header->record[i].check = blm_check_record(&header->record[i],
							   header->constant.uuid);
	}
	write_all(path, (uint8_t *)header, bytes);
	ck_assert_int_eq(blm_verify(store, "b", 0, NULL, NULL), 1);
	ck_assert_int_eq(verify(0), 1);
	ck_assert_msg(verify(BLM_VERIFY_REPAIR) == 0, "%s", said);
	all_is_well();
	free(header);
	blm_store_close(store);
}
END_TEST

/* ---- Labels ---- */

static int set_labels(struct blm_entry *entry, void *labels)
{
	entry->labels_bytes = (uint32_t)strlen(labels);
	memcpy(entry->labels, labels, entry->labels_bytes);
	return 1;
}

static void catalog_is_lost_and_labels_are(const char *expected)
{
	struct blm_store *store;
	struct blm_info info = BLM_INFO;

	OK(unlink("s/catalog/data.mdb"));
	OK(verify(BLM_VERIFY_REPAIR));
	store = open_store(BLM_STORE_READ);
	OK(blm_store_find(store, "a", &info));
	ck_assert_str_eq(info.labels, expected);
	blm_store_close(store);
}

/*
 * As a kill between the catalog and the file leaves it. _i: a repair ends it, or the next change of
 * labels.
 */
START_TEST(interrupted_labels_are_reported_and_completed)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make_with(store, "a", "a");
	OK(blm_store_label(store, "a", "k", "old"));
	all_is_well();
	OK(blm_catalog_change(store->catalog, "a", set_labels, (void *)(uintptr_t)"k=new\n"));
	ck_assert_int_eq(verify(0), 1);
	ck_assert_ptr_nonnull(strstr(said, "a change of its labels was interrupted"));
	if (_i == 0)
		ck_assert_msg(verify(BLM_VERIFY_REPAIR) == 0, "%s", said);
	else
		OK(blm_store_label(store, "a", "l", "more"));
	all_is_well();
	blm_store_close(store);
	catalog_is_lost_and_labels_are(_i ? "k=new\nl=more\n" : "k=new\n");
}
END_TEST

/*
 * What happens while the new file is linked into filters/, which is after it took what the old
 * one's record had.
 */
static void (*while_linking)(void);

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
	void (*now)(void) = while_linking;

	while_linking = NULL;
	if (now)
		now();
	return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

static struct blm_store *labelled;

static void label_it(void)
{
	OK(blm_store_label(labelled, "a", "k", "v"));
}

START_TEST(labels_set_during_a_replacement_are_in_the_new_file)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	make_with(store, "a", "a");
	if (_i)		/* another value, of the same length */
		OK(blm_store_label(store, "a", "k", "w"));
	OK(blm_open(&f, store, "a", BLM_OPEN_WRITE));
	labelled = store;
	while_linking = label_it;
	OK(blm_clear(f));
	ck_assert_ptr_null(while_linking);
	blm_close(f);
	blm_store_close(store);
	all_is_well();
	catalog_is_lost_and_labels_are("k=v\n");
}
END_TEST

/* It has locked the record of the file that was, and stops before it locks the catalog. */
static volatile sig_atomic_t stops_before_lock;

int flock(int fd, int how)
{
	if (stops_before_lock && how & LOCK_EX) {
		stops_before_lock = 0;
		kill(getpid(), SIGSTOP);
	}
	return (int)syscall(SYS_flock, fd, how);
}

static int label_and_stop(int arg)
{
	struct blm_store *store;

	MUST(blm_store_open(&store, "s", 0) == 0);
	stops_before_lock = 1;
	MUST(blm_store_label(store, "a", "k", "v") == 0);
	MUST(!stops_before_lock);
	blm_store_close(store);
	return 0;
}

static pid_t stopped;

static void begin_label(void)
{
	int status;

	stopped = spawn(label_and_stop, 0);
	ck_assert_int_eq(waitpid(stopped, &status, WUNTRACED), stopped);
	ck_assert(WIFSTOPPED(status));
}

START_TEST(a_label_goes_to_the_filters_replacement)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	make_with(store, "a", "a");
	OK(blm_open(&f, store, "a", BLM_OPEN_WRITE));
	while_linking = begin_label;
	OK(blm_clear(f));
	blm_close(f);
	blm_store_close(store);
	kill(stopped, SIGCONT);
	ck_assert_int_eq(join(stopped), 0);
	all_is_well();
	catalog_is_lost_and_labels_are("k=v\n");
}
END_TEST

static int label_many_times(int times)
{
	struct blm_store *store;
	char value[16];

	MUST(blm_store_open(&store, "s", 0) == 0);
	for (int i = 0; i < times; i++) {
		snprintf(value, sizeof(value), "%d", i);
		MUST(blm_store_label(store, "a", "k", value) == 0);
	}
	blm_store_close(store);
	return 0;
}

START_TEST(verify_finds_nothing_during_many_label_changes)
{
	verify_finds_nothing_beside(label_many_times);
}
END_TEST

/* Names with marks of direction, which catalogs of before have. */
START_TEST(an_older_name_with_marks_of_direction_is_renamed)
{
	static const char marked[] = "a\xe2\x80\xae" "b";
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_entry *entry = malloc(sizeof(*entry));

	make_with(store, "a", "a");
	OK(blm_catalog_get(store->catalog, "a", entry));
	OK(blm_catalog_put(store->catalog, marked, entry, BLM_PUT_NEW));
	OK(blm_catalog_remove(store->catalog, "a", entry->constant.uuid));
	free(entry);
	ck_assert_msg(verify(BLM_VERIFY_REPAIR) == 0, "%s", said);
	all_is_well();
	ck_assert(holds(store, marked, "a"));
	OK(blm_store_label(store, marked, "k", "v"));
	FAILS(blm_store_rename(store, marked, "c\xe2\x80\xae"), -EINVAL);
	OK(blm_store_rename(store, marked, "a"));
	ck_assert(holds(store, "a", "a"));
	all_is_well();
	blm_store_close(store);
	catalog_is_lost_and_labels_are("k=v\n");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("put_back");
	TCase *tc = tcase_create("names"), *old = tcase_create("older"),
	      *renames = tcase_create("renames");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, files_under_each_others_names_are_put_back, 0, 16);
	tcase_add_loop_test(tc, a_file_of_any_name_gets_its_own_back, 0, 2);
	tcase_add_test(tc, a_file_of_two_names_keeps_its_own);
	tcase_add_loop_test(tc, a_drop_deletes_no_file_of_another_filter, 0, 2);
	tcase_add_test(tc, a_drop_marks_no_file_of_another_filter);
	tcase_add_test(tc, a_filter_with_another_filters_file_is_not_changed);
	tcase_add_loop_test(tc, a_filter_with_anothers_copy_is_not_called_repaired, 0,
			    2);
	tcase_add_test(tc, a_copy_of_a_dropped_filter_stays_in_its_place);
	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(old, own_folder, NULL);
	tcase_set_timeout(old, TOO_LONG);
	tcase_add_loop_test(old, an_older_copy_is_reported_with_both_numbers, 0, 2);
	tcase_add_loop_test(old, an_older_copy_is_accepted_after_a_sync, 0, 2);
	tcase_add_test(old, a_file_newer_than_the_catalog_is_no_older_copy);
	tcase_add_test(old, a_replacement_is_not_older_than_the_filter_it_replaces);
	tcase_add_test(old, a_file_with_damaged_sync_records_is_not_called_older);
	tcase_add_test(old, during_syncs_no_file_looks_older);
	suite_add_tcase(s, old);
	tcase_add_checked_fixture(renames, own_folder, NULL);
	tcase_set_timeout(renames, TOO_LONG);
	tcase_add_test(renames, verify_finds_nothing_during_a_rename);
	tcase_add_loop_test(renames, an_interrupted_rename_is_reported_and_completed, 0, 3);
	tcase_add_test(renames, verify_finds_nothing_during_many_renames);
	tcase_add_test(renames, name_records_that_contradict_each_other_are_written_anew);
	tcase_add_test(renames, an_older_name_with_marks_of_direction_is_renamed);
	tcase_add_loop_test(renames, interrupted_labels_are_reported_and_completed, 0, 2);
	tcase_add_loop_test(renames, labels_set_during_a_replacement_are_in_the_new_file, 0, 2);
	tcase_add_test(renames, a_label_goes_to_the_filters_replacement);
	tcase_add_test(renames, verify_finds_nothing_during_many_label_changes);
	suite_add_tcase(s, renames);
	return run_suite(s);
}
