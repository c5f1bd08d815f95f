/*
 * create_many.c - filters that are made together appear together, whatever ends the call and
 * wherever it does
 */
#include "suite.h"

#include "catalog/flock.h"
#include "file/filesystem.h"
#include "file/layout.h"

#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#define PARAMS(...) BLM_PARAMS(.capacity = 100, .rate = 0.001, __VA_ARGS__)

/* ---- A process that stops, dies, or does something else at a step ---- */

enum step { OPEN = 1, LINK = 2, RENAME = 4, SYNC = 8, WRITE = 16, ANY = 31 };

static struct {
	unsigned which;			/* steps that are counted */
	/* the step before which `act` is called, from 1 on; 0: none */
	int at;
	void (*act)(void);
	int steps, syncs, shared_syncs;
} watch;

static void step(enum step which)
{
	if (watch.which & which && ++watch.steps == watch.at)
		watch.act();
}

int openat(int folder, const char *path, int flags, ...)
{
	va_list ap;
	unsigned mode;

	va_start(ap, flags);
	mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, unsigned) : 0;
	va_end(ap);
	step(OPEN);
	return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
	step(LINK);
	return (int)syscall(SYS_linkat, from_at, from, to_at, to, flags);
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
	step(RENAME);
	return (int)syscall(SYS_renameat2, from_at, from, to_at, to, flags);
}

int fsync(int fd)
{
	step(SYNC);
	watch.syncs++;
	return (int)syscall(SYS_fsync, fd);
}

static int failing_syncfs;		/* the call that fails, from 1 on */

int syncfs(int fd)
{
	step(SYNC);
	if (++watch.shared_syncs == failing_syncfs) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_syncfs, fd);
}

static bool on_fuse;

int fstatfs(int fd, struct statfs *ret)
{
	int r = (int)syscall(SYS_fstatfs, fd, ret);

	if (on_fuse)
		ret->f_type = 0x65735546;
	return r;
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	step(WRITE);
	return syscall(SYS_pwrite64, fd, from, bytes, at);
}

/* ---- Names ---- */

static const char *const *names_from(const char *prefix, int count)
{
	const char **names = calloc((size_t)count, sizeof(*names));

	for (int i = 0; i < count; i++) {
		char *name = malloc(32);

		snprintf(name, 32, "%s%d", prefix, i);
		names[i] = name;
	}
	return names;
}

static int count_one(void *context, const struct blm_info *info, int err)
{
	ck_assert_int_ge(err, 0);
	++*(int *)context;
	return 0;
}

static int filters_in(struct blm_store *store)
{
	int count = 0;

	OK(blm_store_list(store, NULL, count_one, &count));
	return count;
}

/* ---- What verify says ---- */

static char said[1 << 16];

static void hear(void *context, const struct blm_finding *found)
{
	size_t at = strlen(said);

	snprintf(said + at, sizeof(said) - at, "%s\n", found->what);
}

static int verify(unsigned flags)
{
	said[0] = '\0';
	return blm_store_verify("s", flags, hear, NULL);
}

static void all_is_well(void)
{
	ck_assert_int_eq(verify(0), 0);
	ck_assert_str_eq(said, "");
}

/* ---- Tests ---- */

START_TEST(more_filters_than_descriptors_appear_from_one_template)
{
	enum { COUNT = 300 };
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	const char *const *names = names_from("f", COUNT);
	struct rlimit few = { 64, 64 };
	struct blm_filter *first, *f;

	OK(setrlimit(RLIMIT_NOFILE, &few));
	OK(blm_create_many(store, names, COUNT, &PARAMS()));
	ck_assert_int_eq(filters_in(store), COUNT);
	ck_assert_int_eq(files_in("s/filters", NULL), COUNT);
	OK(blm_open(&first, store, names[0], BLM_OPEN_WRITE));
	OK(blm_add(first, "key", 3));
	for (int i = 1; i < COUNT; i++) {
		OK(blm_open(&f, store, names[i], BLM_OPEN_WRITE));
		OK(blm_same_template(first, f));
		ck_assert_int_eq(blm_contains(f, "key", 3), 0);
		OK(blm_claim(f, "key", 3));
		blm_close(f);
	}
	blm_close(first);
	blm_store_close(store);
	all_is_well();
}
END_TEST

static int syncs_of(struct blm_store *store, const char *prefix, int count)
{
	watch.syncs = watch.shared_syncs = 0;
	OK(blm_create_many(store, names_from(prefix, count), (size_t)count, &PARAMS()));
	return watch.syncs + watch.shared_syncs;
}

static bool syncs_all(void)
{
	int folder = open("s", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
	bool whole = blm_sync_all(folder, &r);

	close(folder);
	watch.shared_syncs = 0;
	return whole;
}

START_TEST(ten_times_as_many_filters_need_no_more_syncs)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	int few;

	if (!syncs_all())
		SKIP("this file system has no sync of all files that is known to be one");
	few = syncs_of(store, "few", 4);
	ck_assert_int_eq(watch.shared_syncs, 2);
	ck_assert_int_eq(syncs_of(store, "many", 40), few);
	ck_assert_int_eq(watch.shared_syncs, 2);
	blm_store_close(store);
}
END_TEST

START_TEST(without_syncfs_each_file_is_synced)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	int of_40;

	on_fuse = true;
	of_40 = syncs_of(store, "many", 40);
	ck_assert_int_eq(watch.shared_syncs, 0);
	ck_assert_int_ge(of_40, 2 * 40);
	ck_assert_int_eq(filters_in(store), 40);
	blm_store_close(store);
	all_is_well();
}
END_TEST

START_TEST(existing_repeated_and_invalid_names_are_refused_beforehand)
{
	static const struct { const char *names[3]; int err; const char *words; } wrong[] = {
		{ { "new", "there", "newer" }, -EEXIST, "there" },
		{ { "new", "newer", "new" }, -EINVAL, "new: given twice" },
		{ { "new", "a/b", "newer" }, -EINVAL, "a/b" },
		{ { "new", "", "newer" }, -EINVAL, "empty" },
		{ { "new", "newer", NULL }, -EINVAL, "name" },
	};
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	make(NULL, store, "there");
	watch.which = LINK;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		FAILS(blm_create_many(store, wrong[i].names, 3, &PARAMS()), wrong[i].err);
		ck_assert_msg(strstr(blm_error_message(), wrong[i].words) != NULL, "%s",
			      blm_error_message());
	}
	FAILS(blm_create_many(store, names_from("n", 2), 2, &PARAMS(.replace = true)), -EINVAL);
	FAILS(blm_create_many(store, names_from("n", 2), BLM_CREATE_MANY_MAX + 1, &PARAMS()),
	      -E2BIG);
	FAILS(blm_create_many(NULL, names_from("n", 2), 2, &PARAMS()), -EINVAL);
	FAILS(blm_create_many(store, NULL, 2, &PARAMS()), -EINVAL);
	FAILS(blm_create_many(store, names_from("n", 2), 2, &(struct blm_params){ .size = 1 }),
	      -EINVAL);
	FAILS(blm_create_many(store, names_from("n", 2), 2, &PARAMS(.kind = "ribbon")),
	      -EOPNOTSUPP);
	OK(blm_create_many(store, NULL, 0, &PARAMS()));
	ck_assert_int_eq(watch.steps, 0);
	ck_assert_int_eq(filters_in(store), 1);
	ck_assert_int_eq(files_in("s/filters", NULL), 1);
	FAILS(blm_open(&f, store, "new", 0), -ENOENT);
	blm_store_close(store);
}
END_TEST

static void take_a_name(void)
{
	struct blm_store *store;

	watch.at = 0;
	OK(blm_store_open(&store, "s", 0));
	make_with(store, "n7", "first");
	blm_store_close(store);
}

START_TEST(a_name_taken_during_creation_leaves_no_other_filter)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	watch.which = RENAME;
	watch.act = take_a_name;
	watch.at = 3;
	FAILS(blm_create_many(store, names_from("n", 10), 10, &PARAMS(.hash = "siphash")), -EEXIST);
	ck_assert_int_eq(filters_in(store), 1);
	ck_assert_int_eq(files_in("s/filters", NULL), 1);
	ck_assert_int_eq(files_in("s/keys", NULL), 0);
	ck_assert(holds(store, "n7", "first"));
	blm_store_close(store);
	all_is_well();
}
END_TEST

static void die(void) { raise(SIGKILL); }
static void be_ended(void) { raise(SIGTERM); }
static void stop(void) { raise(SIGSTOP); }

enum { FEW = 3 };

static const char *const few_names[FEW] = { "one", "two", "three" };
static const struct blm_params *few_params;

/* In a child: 0, or how it fails; `at` is the step that it does not take. */
static int make_few(int at)
{
	struct blm_store *store;

	signal(SIGTERM, SIG_DFL);	/* Check has a handler */
	MUST(blm_store_open(&store, "s", 0) == 0);
	watch.steps = 0;
	watch.at = at;
	MUST(blm_create_many(store, few_names, FEW, few_params) == 0);
	blm_store_close(store);
	return 0;
}

static int suspect_one(void *context, const struct blm_info *info, int err)
{
	struct blm_info *now = info_buffer();
	struct blm_filter *f;

	OK(err);
	OK(blm_open(&f, context, info->name, 0));
	OK(blm_info(f, now));
	ck_assert_msg(!now->suspect, "%s is suspect", info->name);
	blm_close(f);
	free(now);
	return 0;
}

static void drop_few(struct blm_store *store)
{
	for (int i = 0; i < FEW; i++)
		OK(blm_store_drop(store, few_names[i]));
}

/* Files with final names that the catalog does not know say that they are unnamed. */
static void all_are_unnamed(void)
{
	const off_t at = offsetof(struct blm_header, live) + offsetof(struct blm_live, state);
	DIR *list = opendir("s/filters");
	char path[512];
	uint64_t state;
	int fd;

	for (struct dirent *e; (e = readdir(list)); ) {
		if (*e->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "s/filters/%s", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		ck_assert_int_eq((int)pread(fd, &state, sizeof(state), at), (int)sizeof(state));
		ck_assert_uint_eq(le64toh(state), BLM_UNNAMED);
		close(fd);
	}
	closedir(list);
}

START_TEST(a_process_killed_at_any_step_leaves_all_or_none)
{
	const struct blm_params kinds[] = {
		PARAMS(.kind = "blocked"), PARAMS(.hash = "siphash"), PARAMS(.kind = "cuckoo"),
	};
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	int none = 0, all = 0, r = -1;

	few_params = &kinds[_i];
	watch.which = ANY;
	watch.act = die;
	for (int at = 1; r != 0; at++) {
		int there;

		r = run_apart(make_few, at);
		ck_assert_int_eq(r, r == 0 ? 0 : SIGNALLED + SIGKILL);
		there = filters_in(store);
		ck_assert_msg(there == FEW || (there == 0 && all == 0),
			      "%d filters after a death at step %d", there, at);
		none += there == 0;
		all += there == FEW;
		watch.at = 0;
		if (!there)
			all_are_unnamed();
		ck_assert_int_ge(verify(BLM_VERIFY_REPAIR), 0);
		all_is_well();
		ck_assert_int_eq(files_in("s/filters", NULL), there);
		if (there)
			drop_few(store);
		all_is_well();
		ck_assert_int_eq(files_in("s/filters", NULL), 0);
	}
	ck_assert_int_gt(none, 6 * FEW);
	ck_assert_int_gt(all, 2 * FEW);
	blm_store_close(store);
}
END_TEST

START_TEST(a_signal_at_any_step_leaves_all_or_none)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	int none = 0, r = -1;

	few_params = &PARAMS(.hash = "siphash");
	watch.which = LINK | RENAME | SYNC;
	watch.act = be_ended;
	for (int at = 1; r != 0; at++) {
		int secrets = files_in("s/keys", NULL), there;

		r = run_apart(make_few, at);
		ck_assert_int_eq(r, r == 0 ? 0 : SIGNALLED + SIGTERM);
		there = filters_in(store);
		ck_assert(there == 0 || there == FEW);
		none += there == 0;
		ck_assert_int_eq(files_in("s/filters", NULL), there);
		ck_assert_int_eq(files_in("s/keys", NULL), secrets + (there > 0));
		watch.at = 0;
		all_is_well();
		OK(blm_store_list(store, NULL, suspect_one, store));
		if (there)
			drop_few(store);
		OK(blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL));
	}
	ck_assert_int_gt(none, 2 * FEW);
	blm_store_close(store);
}
END_TEST

START_TEST(repair_deletes_no_file_of_a_maker_that_lives)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	int stops = 0;

	few_params = &PARAMS();
	watch.which = LINK | RENAME | SYNC;
	watch.act = stop;
	for (int at = 1, status; ; at++) {
		pid_t pid = spawn(make_few, at);

		ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
		if (!WIFSTOPPED(status)) {
			ck_assert_int_eq(status, 0);
			break;
		}
		stops++;
		watch.at = 0;
		ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
		ck_assert_str_eq(said, "");
		kill(pid, SIGCONT);
		ck_assert_int_eq(join(pid), 0);
		ck_assert_int_eq(filters_in(store), FEW);
		all_is_well();
		drop_few(store);
	}
	ck_assert_int_gt(stops, 2 * FEW);
	blm_store_close(store);
}
END_TEST

START_TEST(filters_with_an_unsynced_mark_are_suspect_until_a_sync)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_info *info = info_buffer();
	struct blm_filter *f;

	if (!syncs_all())
		SKIP("this file system has no sync of all files that is known to be one");
	failing_syncfs = 1;
	FAILS(blm_create_many(store, few_names, FEW, &PARAMS()), -EIO);
	ck_assert_int_eq(files_in("s/filters", NULL), 0);
	failing_syncfs = 3;
	OK(blm_create_many(store, few_names, FEW, &PARAMS()));
	for (int i = 0; i < FEW; i++) {
		OK(blm_open(&f, store, few_names[i], BLM_OPEN_WRITE));
		OK(blm_info(f, info));
		ck_assert(info->suspect);
		OK(blm_sync(f));
		OK(blm_info(f, info));
		ck_assert(!info->suspect);
		blm_close(f);
	}
	blm_store_close(store);
	free(info);
	all_is_well();
}
END_TEST

static pid_t forked;

/* As another thread of the maker may do at any moment. */
static void fork_a_child(void)
{
	watch.at = 0;
	forked = fork();
	if (forked == 0) {
		pause();
		_exit(0);
	}
}

START_TEST(a_child_that_is_forked_meanwhile_holds_up_no_filter)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	watch.which = RENAME;
	watch.act = fork_a_child;
	watch.at = 1;
	OK(blm_create_many(store, few_names, FEW, &PARAMS()));
	drop_few(store);
	ck_assert_int_gt(forked, 0);
	kill(forked, SIGKILL);
	join(forked);
	blm_store_close(store);
	all_is_well();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("create_many");
	TCase *tc = tcase_create("create_many");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_test(tc, more_filters_than_descriptors_appear_from_one_template);
	tcase_add_test(tc, ten_times_as_many_filters_need_no_more_syncs);
	tcase_add_test(tc, without_syncfs_each_file_is_synced);
	tcase_add_test(
		tc, existing_repeated_and_invalid_names_are_refused_beforehand);
	tcase_add_test(tc, a_name_taken_during_creation_leaves_no_other_filter);
	tcase_add_loop_test(
		tc, a_process_killed_at_any_step_leaves_all_or_none, 0, 3);
	tcase_add_test(tc, a_signal_at_any_step_leaves_all_or_none);
	tcase_add_test(tc, repair_deletes_no_file_of_a_maker_that_lives);
	tcase_add_test(
		tc,
		filters_with_an_unsynced_mark_are_suspect_until_a_sync);
	tcase_add_test(tc, a_child_that_is_forked_meanwhile_holds_up_no_filter);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
