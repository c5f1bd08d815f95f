/* limits.c - where the system gives no more: space, descriptors, addresses, size of files */
#include "store/suite.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

enum { KEYS = 300 };

/* Bits; a second image, which a sync writes; cells; parts that come when they are needed. */
static const struct blm_params kinds[] = {
	{ .capacity = 1000, .rate = 0.001 },
	{ .kind = "cuckoo", .capacity = 1000, .rate = 0.001 },
	{ .kind = "counting", .capacity = 1000, .rate = 0.001 },
	{ .kind = "scalable", .capacity = 100, .rate = 0.001 },
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };
static int kind;		/* of all filters of a test */

static void fill(struct blm_filter *f)
{
	for (int i = 0; i < KEYS; i++)
		OK(blm_add(f, &i, sizeof(i)));
}

static bool full_of_keys(const struct blm_filter *f)
{
	for (int i = 0; i < KEYS; i++)
		if (!blm_contains(f, &i, sizeof(i)))
			return false;
	return true;
}

/* "a" and its text at paths, "a" in the store "s". */
static void make_all(void)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	for (int i = 0; i < 2; i++) {
		OK(blm_create(&f, i ? store : NULL, "a", &kinds[kind]));
		fill(f);
		OK(blm_sync(f));
		if (i == 0)
			OK(blm_export_file(f, &(struct blm_exchange){ .base64 = true }, "text"));
		blm_close(f);
	}
	blm_store_close(store);
}

static int count(void *context, const struct blm_info *info, int err)
{
	++*(int *)context;
	return err;
}

/* "a" is what it was; of `new` either nothing or all is there; nothing else is left. */
static void check_all(void)
{
	struct blm_store *store = open_store(0);
	struct blm_filter *f;
	int listed = 0;

	for (int i = 0; i < 4; i++) {
		int r = blm_open(&f, i % 2 ? store : NULL, i < 2 ? "a" : "new", true);

		if (i >= 2 && r == -ENOENT)
			continue;
		OK(r);
		ck_assert(full_of_keys(f));
		blm_close(f);
	}
	OK(blm_store_list(store, NULL, count, &listed));
	ck_assert_int_eq(files_in("s/filters", NULL), listed);
	blm_store_close(store);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
}

/* Whatever takes a new file, at a path or in a store. */
static int make_new(int how, struct blm_store *store)
{
	struct blm_filter *a, *f = NULL;
	int r = blm_open(&a, store, "a", true);

	if (r < 0)
		return r;
	switch (how) {
	case 0: r = blm_copy(&f, store, "new", a, 0); break;
	case 1: r = blm_combine(&f, store, "new", BLM_UNION, (const struct blm_filter *const[]){ a, a }, 2, 0, NULL); break;
	case 2: r = blm_import_file(&f, store, "new", &(struct blm_exchange){ .base64 = true }, "text"); break;
	case 3: r = blm_export_file(a, NULL, "new"); break;
	case 4: r = blm_seal(a); break;
	case 5: r = blm_combine_into(a, BLM_INTERSECT, (const struct blm_filter *const[]){ a }, 1, 0, NULL); break;
	case 6: r = blm_sync(a); break;
	case 7: r = store ? blm_store_publish(store, "new", a, 0, BLM_PUBLISH_WRITABLE) : 0; break;
	case 8: r = store ? blm_store_label(store, "a", "key", "value") : 0; break;
	}
	blm_close(f);
	blm_close(a);
	return r;
}

enum { WAYS = 9 };

/* Is that what must come? After the sealing changes are refused; LMDB calls a write that was cut short EIO. */
static int fits(int r, int err, bool in_store)
{
	return r >= 0 || r == err || r == -EROFS || (kind && r == -EOPNOTSUPP) || (in_store && r == -EIO && err != -EMFILE);
}

/* ---- Sizes of files ---- */

/* Whatever was made, for the next to be made. */
static void lose_new(struct blm_store *store)
{
	int r = store ? blm_store_drop(store, "new") : 0;

	MUST(r == 0 || r == -ENOENT);
	unlink("new");
}

static int with_small_files(int kib)
{
	struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY }, limit = { (rlim_t)kib << 10, RLIM_INFINITY };

	MUST(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
	for (int in_store = 0; in_store < 2; in_store++) {
		struct blm_store *store = NULL;

		MUST(!in_store || blm_store_open(&store, "s", 0) == 0);
		for (int how = 0; how < WAYS; how++) {
			MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
			MUST(fits(make_new(how, store), -EFBIG, in_store));
			MUST(setrlimit(RLIMIT_FSIZE, &none) == 0);
			lose_new(store);
		}
		blm_store_close(store);
	}
	return 0;
}

START_TEST(past_the_limit_of_file_sizes_all_calls_fail_without_a_signal)
{
	kind = _i;
	make_all();
	for (int kib = 0; kib < 64; kib += kib < 8 ? 1 : 7) {
		ck_assert_int_eq(run_apart(with_small_files, kib), 0);
		check_all();
	}
}
END_TEST

/* ---- Descriptors ---- */

static int with_few_descriptors(int few)
{
	struct rlimit limit, less;
	struct blm_store *store = NULL;
	int lowest = dup(0), r;

	MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	close(lowest);
	less = limit;
	less.rlim_cur = (rlim_t)(lowest + few);
	for (int how = 0; how < WAYS; how++)
		for (int in_store = 0; in_store < 2; in_store++) {
			MUST(setrlimit(RLIMIT_NOFILE, &less) == 0);
			r = in_store ? blm_store_open(&store, "s", 0) : 0;
			if (r == 0)
				r = make_new(how, store);
			if (!fits(r, -EMFILE, in_store))
				fprintf(stderr, "%d descriptors, way %d: %d, %s\n", few, how, r, blm_why());
			MUST(fits(r, -EMFILE, in_store));
			MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
			MUST(store || !in_store || blm_store_open(&store, "s", 0) == 0);
			lose_new(store);
			store = blm_store_close(store);
		}
	MUST(dup(0) == lowest);		/* none is left open */
	return 0;
}

START_TEST(without_descriptors_all_calls_fail_and_none_is_left_open)
{
	make_all();
	for (int few = 0; few < 16; few++) {
		ck_assert_int_eq(run_apart(with_few_descriptors, few), 0);
		check_all();
	}
}
END_TEST

/* ---- Addresses ---- */

static int with_few_addresses(int unused)
{
	struct rlimit limit = { UINT64_C(1) << 30, UINT64_C(1) << 30 };
	struct blm_filter *f;

	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
	MUST(blm_create(&f, NULL, "large", &(struct blm_params){ .cells = UINT64_C(1) << 34, .probes = 5, .sparse = true }) == -ENOMEM);
	MUST(*blm_why());
	MUST(access("large", F_OK) < 0 && errno == ENOENT);
	MUST(blm_open(&f, NULL, "there", false) == -ENOMEM);
	MUST(blm_create(&f, NULL, "small", &kinds[0]) == 0);
	MUST(blm_add(f, "x", 1) == 1);
	blm_close(f);
	return 0;
}

START_TEST(a_filter_larger_than_the_address_space_is_not_made_and_not_opened)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "there", &(struct blm_params){ .cells = UINT64_C(1) << 34, .probes = 5, .sparse = true }));
	blm_close(f);
	ck_assert_int_eq(run_apart(with_few_addresses, 0), 0);
}
END_TEST

/* ---- Space ---- */

/* Fill what is left of the disk but for some KiB. */
static void fill_disk(int but)
{
	static char block[4096];
	int fd = open("ballast", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	off_t size = 0;

	MUST(fd >= 0);
	while (write(fd, block, sizeof(block)) == sizeof(block))
		size += sizeof(block);
	MUST(ftruncate(fd, size > but * 1024 ? size - but * 1024 : 0) == 0);
	close(fd);
}

static int on_a_full_disk(int in_store)
{
	struct blm_store *store = NULL;

	MUST(unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	MUST(mkdir("disk", 0700) == 0 && mount("none", "disk", "tmpfs", 0, "size=4m") == 0 && chdir("disk") == 0);
	make_all();
	if (in_store)
		MUST(blm_store_open(&store, "s", 0) == 0);
	for (int but = 0; but < 128; but += 8)
		for (int how = 0; how < WAYS; how++) {
			int r;

			fill_disk(but);
			r = make_new(how, store);
			if (!fits(r, -ENOSPC, in_store))
				fprintf(stderr, "%d KiB left, way %d: %d, %s\n", but, how, r, blm_why());
			MUST(fits(r, -ENOSPC, in_store));
			MUST(unlink("ballast") == 0);
			check_all();
			lose_new(store);
		}
	blm_store_close(store);
	return 0;
}

START_TEST(on_a_full_disk_nothing_is_half_made_and_nothing_is_killed)
{
	if (unshare(CLONE_FS) < 0 || geteuid() != 0)
		SKIP("only root may mount");
	kind = _i / 2;
	ck_assert_int_eq(run_apart(on_a_full_disk, _i % 2), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("limits");
	TCase *tc = tcase_create("limits");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_loop_test(tc, past_the_limit_of_file_sizes_all_calls_fail_without_a_signal, 0, KINDS);
	tcase_add_test(tc, without_descriptors_all_calls_fail_and_none_is_left_open);
	tcase_add_test(tc, a_filter_larger_than_the_address_space_is_not_made_and_not_opened);
	tcase_add_loop_test(tc, on_a_full_disk_nothing_is_half_made_and_nothing_is_killed, 0, 2 * KINDS);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
