/* limits.c - where the system gives no more: space, descriptors, addresses, size of files */
#include "store/suite.h"
#include "../info.h"
#include "../kinds.h"
#include "kind/kind_registry.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { KEYS = 300 };

/*
 * The first kind of each sort in the registry. Each sort takes space in its own way: for bits or
 * cells when the filter is made, for a checkpoint image at a sync, for the next part when the last
 * one is full, for a larger file at blm_grow().
 */
enum { KINDS_MOST = 16 };
static struct blm_kind_info kinds[KINDS_MOST + 1];	/* the last one has no name */
static int kind;		/* of all filters of a test */

static bool are_of_one_sort(const struct blm_kind_info *a, const struct blm_kind_info *b)
{
	const unsigned grows = BLM_GROWS | BLM_CAN_GROW;

	return (a->can & grows) == (b->can & grows)
		&& blm_kind_by_name(a->name)->protocol == blm_kind_by_name(b->name)->protocol;
}

/*
 * Return: how many there are. A test looks for all keys that it added, so it takes no kinds that
 * forget keys.
 */
static int choose_kinds(void)
{
	struct blm_kind_info all[64];
	unsigned n = other_kinds(BLM_CAN_ADD, BLM_EXACT | BLM_FORGETS | BLM_CAN_LIST, NULL, all,
				 ARRAY_LEN(all));
	int count = 0;

	for (unsigned i = 0; i < n; i++) {
		int same = 0;

		while (same < count && !are_of_one_sort(&kinds[same], &all[i]))
			same++;
		if (same == count && count < KINDS_MOST)
			kinds[count++] = all[i];
	}
	return count;
}

/* A kind that grows by itself begins small, so that it must grow. */
static struct blm_params params_of(const struct blm_kind_info *info)
{
	struct blm_params params = usual_params(info, info->can & BLM_GROWS ? 100 : 1000, 0.001);
	struct blm_plan plan;

	/* a rate that fingerprints of a byte reach */
	if (blm_plan(&plan, &params) < 0)
		params.rate = 0.05;
	return params;
}

/* With a share of the tests a fifth of the limits is tried. */
static int next_kib(int kib)
{
	int step = kib < 8 ? 1 : 7;

	return kib + (is_share() ? 5 * step : step);
}

static void fill(struct blm_filter *f)
{
	for (int i = 0; i < KEYS; i++)
		OK(blm_add(f, &i, sizeof(i)));
}

static int keys_in(const struct blm_filter *f, int from, int to)
{
	int found = 0;

	for (int i = from; i < to; i++)
		found += blm_contains(f, &i, sizeof(i));
	return found;
}

/* "a", in the store or at a path. */
static void make_a(struct blm_store *store)
{
	struct blm_filter *f;

	struct blm_params params = params_of(&kinds[kind]);

	OK(blm_create(&f, store, "a", &params));
	fill(f);
	OK(blm_sync(f));
	if (!store)
		OK(blm_export_file(f, &BLM_EXCHANGE(.base64 = true), "text"));
	blm_close(f);
}

static void make_all(void)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make_a(NULL);
	make_a(store);
	blm_store_close(store);
}

/* As it was in the beginning, for the next. */
static void make_anew(struct blm_store *store)
{
	static const char *const names[] = { "a", "new" };

	for (int i = 0; i < 2; i++) {
		int r = store ? blm_store_drop(store, names[i]) : unlink(names[i]) < 0 ? -errno : 0;

		ck_assert_msg(r == 0 || r == -ENOENT, "%d, %s", r, blm_error_message());
	}
	make_a(store);
}

static int count(void *context, const struct blm_info *info, int err)
{
	++*(int *)context;
	return err;
}

/* ---- Whatever takes a new file, or makes one longer, at a path or in a store ---- */

enum way {
	COPY,
	UNITE,
	IMPORT,
	EXPORT,
	PUBLISH,
	CREATE,
	SEAL,
	INTERSECT,
	SYNC,
	LABEL,
	CLEAR,
	REBUILD,
	DROP,
	GROW,
	ADD,
	WAYS,
	NONE = WAYS
};
static int added;		/* by ADD: keys that were said to be in */

static int fill_fresh(struct blm_filter *fresh, void *unused)
{
	int r = 0;

	for (int i = 0; i < KEYS && r >= 0; i++)
		r = blm_add(fresh, &i, sizeof(i));
	return r < 0 ? r : 0;
}

static int add_more(struct blm_filter *f)
{
	int r = 0;

	for (added = 0; added < KEYS; added++) {
		int key = KEYS + added;

		r = blm_add(f, &key, sizeof(key));
		if (r < 0)
			return r;
	}
	return 0;
}

static int make_new(enum way how, struct blm_store *store)
{
	struct blm_params params = params_of(&kinds[kind]);
	struct blm_filter *a, *f = NULL;
	int r = blm_open(&a, store, "a", BLM_OPEN_WRITE);

	added = 0;
	if (r < 0)
		return r;
	switch (how) {
	case COPY: r = blm_copy(&f, store, "new", a, 0); break;
	case UNITE:
		r = blm_combine(&f, store, "new", BLM_UNION,
				(const struct blm_filter *const[]){ a, a }, 2, 0, NULL);
		break;
	case IMPORT:
		r = blm_import_file(&f, store, "new", &BLM_EXCHANGE(.base64 = true), "text");
		break;
	case EXPORT: r = store ? 0 : blm_export_file(a, NULL, "new"); break;
	case PUBLISH:
		r = store ? blm_store_publish(store, "new", a, 0, BLM_PUBLISH_WRITABLE) : 0;
		break;
	case CREATE: r = blm_create(&f, store, "new", &params); break;
	case SEAL: r = blm_seal(a); break;
	case INTERSECT:
		r = blm_combine_into(a, BLM_INTERSECT, (const struct blm_filter *const[]){ a }, 1,
				     0, NULL);
		break;
	case SYNC: r = blm_sync(a); break;
	case LABEL: r = store ? blm_store_label(store, "a", "key", "value") : 0; break;
	case CLEAR: r = blm_clear(a); break;
	case REBUILD: r = blm_rebuild(store, "a", &BLM_PARAMS(), fill_fresh, NULL); break;
	case DROP: r = store ? blm_store_drop(store, "a") : 0; break;
	case GROW: r = blm_grow(a, BLM_GROW_FORCE); break;
	case ADD: r = add_more(a); break;
	case WAYS: break;
	}
	blm_close(f);
	blm_close(a);
	return r;
}

static void check_a(struct blm_store *store, enum way how, int r)
{
	struct blm_filter *f;
	int opened = blm_open(&f, store, "a", BLM_OPEN_WRITE);

	if (how == DROP && store && r == 0) {
		ck_assert_int_eq(opened, -ENOENT);
		return;
	}
	OK(opened);
	ck_assert_int_eq(keys_in(f, 0, KEYS), how == CLEAR && r == 0 ? 0 : KEYS);
	if (how == ADD)
		ck_assert_int_eq(keys_in(f, KEYS, KEYS + added), added);
	blm_close(f);
}

/* Nothing of it, or all. */
static void check_new(struct blm_store *store, enum way how, int r)
{
	bool makes = how == COPY || how == UNITE || how == IMPORT
		  || how == (store ? PUBLISH : EXPORT) || how == CREATE;
	struct blm_filter *f;
	int opened = blm_open(&f, store, "new", BLM_OPEN_WRITE);

	ck_assert_msg(opened == (makes && r >= 0 ? 0 : -ENOENT), "way %d: %d, new: %d, %s",
		      (int)how, r, opened, blm_error_message());
	if (opened < 0)
		return;
	ck_assert_int_eq(keys_in(f, 0, KEYS), how == CREATE ? 0 : KEYS);
	blm_close(f);
}

/*
 * After that, paths and the store are as they should be in one of both cases, done or not done;
 * nothing else is left.
 */
static void check_all(enum way how, int r, bool in_store)
{
	struct blm_store *store = open_store(0);
	int listed = 0;

	for (int i = 0; i < 2; i++) {
		check_a(i ? store : NULL, i == in_store ? how : NONE, r);
		check_new(i ? store : NULL, i == in_store ? how : NONE, r);
	}
	OK(blm_store_list(store, NULL, count, &listed));
	ck_assert_int_eq(files_in("s/filters", NULL), listed);
	blm_store_close(store);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
}

static bool cannot[WAYS];	/* this kind */

static void find_what_it_cannot(void)
{
	for (int how = 0; how < WAYS; how++) {
		int r = make_new(how, NULL);

		ck_assert_msg(r >= 0 || r == -EOPNOTSUPP, "way %d: %d, %s", how, r,
			      blm_error_message());
		cannot[how] = r < 0;
		check_all(how, r, false);
		make_anew(NULL);
	}
}

/* Is that what must come? LMDB calls a write that was cut short EIO. */
static bool fits(enum way how, int r, int err, bool in_store)
{
	bool fit = cannot[how] ? r == -EOPNOTSUPP || r == err
			       : r >= 0 || r == err || (in_store && r == -EIO && err != -EMFILE);

	if (!fit)
		fprintf(stderr, "way %d%s: %d, %s\n", (int)how, in_store ? " in a store" : "", r,
			blm_error_message());
	return fit;
}

/* ---- Sizes of files ---- */

static int with_small_files(int kib)
{
	struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY },
		      limit = { (rlim_t)kib << 10, RLIM_INFINITY };

	MUST(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
	for (int in_store = 0; in_store < 2; in_store++) {
		struct blm_store *store = NULL;

		MUST(!in_store || blm_store_open(&store, "s", 0) == 0);
		for (int how = 0; how < WAYS; how++) {
			int r;

			MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
			r = make_new(how, store);
			MUST(fits(how, r, -EFBIG, in_store));
			MUST(setrlimit(RLIMIT_FSIZE, &none) == 0);
			check_all(how, r, in_store);
			make_anew(store);
		}
		blm_store_close(store);
	}
	return 0;
}

START_TEST(past_the_file_size_limit_all_calls_fail_without_signal)
{
	kind = _i;
	make_all();
	find_what_it_cannot();
	for (int kib = 0; kib < 64; kib = next_kib(kib))
		ck_assert_int_eq(run_apart(with_small_files, kib), 0);
}
END_TEST

static int make_catalog(int kib)
{
	struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY },
		      limit = { (rlim_t)kib << 10, RLIM_INFINITY };
	int r;

	MUST(signal(SIGXFSZ, SIG_DFL) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &limit) == 0);
	r = blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL);
	MUST(setrlimit(RLIMIT_FSIZE, &none) == 0);
	/* so LMDB calls writes that were cut short */
	MUST(r == 0 || r == -EFBIG || r == -EIO || r == -ENOSPC);
	MUST(r == 0 || blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL) == 0);
	return 0;
}

START_TEST(past_the_file_size_limit_a_lost_catalog_is_safe)
{
	make_all();
	for (int kib = 0; kib < 64; kib = next_kib(kib)) {
		OK(unlink("s/catalog/data.mdb"));
		ck_assert_int_eq(run_apart(make_catalog, kib), 0);
		check_all(NONE, 0, false);
	}
}
END_TEST

static int drop_damaged(int kib)
{
	struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY },
		      limit = { (rlim_t)kib << 10, RLIM_INFINITY };
	struct blm_info *info = info_buffer();
	struct blm_store *store;
	int r;

	MUST(signal(SIGXFSZ, SIG_DFL) != SIG_ERR && blm_store_open(&store, "s", 0) == 0);
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	r = blm_store_drop(store, "a");
	MUST(setrlimit(RLIMIT_FSIZE, &none) == 0);
	MUST(r == 0 || r == -EFBIG || r == -EIO);
	MUST(blm_store_find(store, "a", info) == (r == 0 ? -ENOENT : 0));
	MUST(blm_store_drop(store, "a") == (r == 0 ? -ENOENT : 0));
	free(info);
	blm_store_close(store);
	return 0;
}

START_TEST(past_the_file_size_limit_dropping_damage_raises_no_signal)
{
	for (int kib = 0; kib < 64; kib = next_kib(kib)) {
		struct blm_store *store = open_store(BLM_STORE_CREATE);
		char path[512];
		int fd;

		make(NULL, store, "a");
		path_of(store, "a", path);
		blm_store_close(store);
		fd = open(path, O_RDWR | O_CLOEXEC);
		/* in the page that its checksum is of */
		ck_assert(fd >= 0 && pwrite(fd, "Z", 1, 4000) == 1);
		close(fd);
		ck_assert_int_eq(run_apart(drop_damaged, kib), 0);
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
			else
				added = 0;
			MUST(fits(how, r, -EMFILE, in_store));
			MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
			check_all(how, r, in_store);
			MUST(store || !in_store || blm_store_open(&store, "s", 0) == 0);
			make_anew(store);
			store = blm_store_close(store);
		}
	MUST(dup(0) == lowest);		/* none is left open */
	return 0;
}

START_TEST(without_descriptors_all_calls_fail_and_leak_none)
{
	make_all();
	find_what_it_cannot();
	for (int few = 0; few < 16; few += is_share() ? 3 : 1)
		ck_assert_int_eq(run_apart(with_few_descriptors, few), 0);
}
END_TEST

/* ---- Addresses ---- */

static int with_few_addresses(int unused)
{
	struct rlimit limit = { UINT64_C(1) << 30, UINT64_C(1) << 30 };
	struct blm_filter *f;

	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
	MUST(blm_create(&f, NULL, "large",
			&BLM_PARAMS(.cells = UINT64_C(1) << 34, .probes = 5, .sparse = true))
	     == -ENOMEM);
	MUST(*blm_error_message());
	MUST(access("large", F_OK) < 0 && errno == ENOENT);
	MUST(blm_open(&f, NULL, "there", 0) == -ENOMEM);
	MUST(blm_create(&f, NULL, "small", &BLM_PARAMS(.capacity = 1000, .rate = 0.001)) == 0);
	MUST(blm_add(f, "x", 1) == 1);
	blm_close(f);
	return 0;
}

START_TEST(a_filter_larger_than_the_address_space_is_not_opened)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "there",
		      &BLM_PARAMS(.cells = UINT64_C(1) << 34, .probes = 5, .sparse = true)));
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

/*
 * Mounts of this process's own: not for other users than root, nor in a chroot whose / is no mount
 * point.
 */
static int own_mounts(int unused)
{
	(void)unused;
	return geteuid() == 0 && unshare(CLONE_NEWNS) == 0
			    && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0
		     ? 0
		     : 77;
}

static void go_to_a_small_disk(void)
{
	MUST(own_mounts(0) == 0);
	MUST(mkdir("disk", 0700) == 0 && mount("none", "disk", "tmpfs", 0, "size=4m") == 0
	     && chdir("disk") == 0);
}

static int on_a_full_disk(int in_store)
{
	struct blm_store *store = NULL;

	go_to_a_small_disk();
	make_all();
	find_what_it_cannot();
	if (in_store)
		MUST(blm_store_open(&store, "s", 0) == 0);
	for (int but = 0; but < 128; but += is_share() ? 40 : 8)
		for (int how = 0; how < WAYS; how++) {
			int r;

			fill_disk(but);
			r = make_new(how, store);
			MUST(fits(how, r, -ENOSPC, in_store));
			MUST(unlink("ballast") == 0);
			check_all(how, r, in_store);
			make_anew(store);
		}
	blm_store_close(store);
	return 0;
}

START_TEST(a_full_disk_leaves_nothing_half_made)
{
	if (run_apart(own_mounts, 0) == 77)
		SKIP("root must be able to mount, and / must be a mount point");
	kind = _i / 2;
	ck_assert_int_eq(run_apart(on_a_full_disk, _i % 2), 0);
}
END_TEST

/*
 * The space of a next part is taken when that part is begun. Until then keys are added; from then
 * on the full disk is an error for the key that needed the part.
 */
static int grow_on_a_full_disk(int but)
{
	struct blm_params params;
	struct blm_filter *f;
	int keys, r;

	go_to_a_small_disk();
	params = params_of(&kinds[kind]);
	MUST(blm_create(&f, NULL, "f", &params) == 0);
	fill_disk(but);
	for (keys = 0; (r = blm_add(f, &keys, sizeof(keys))) >= 0; keys++)
		;
	MUST(r == -ENOSPC && keys >= 100);
	for (int again = 0; again < 2; again++) {
		MUST(blm_add(f, &keys, sizeof(keys)) == -ENOSPC && blm_status(f) == 0);
		MUST(keys_in(f, 0, keys) == keys);
		MUST(blm_sync(f) == 0);
		blm_close(f);
		MUST(blm_open(&f, NULL, "f", BLM_OPEN_WRITE) == 0);
	}
	MUST(blm_verify(NULL, "f", 0, NULL, NULL) == 0);
	MUST(unlink("ballast") == 0 && blm_add(f, &keys, sizeof(keys)) >= 0
	     && keys_in(f, 0, keys + 1) == keys + 1);
	blm_close(f);
	return 0;
}

START_TEST(growth_on_a_full_disk_fails_and_keeps_all_keys)
{
	if (run_apart(own_mounts, 0) == 77)
		SKIP("root must be able to mount, and / must be a mount point");
	for (kind = 0; kinds[kind].name; kind++)
		if (kinds[kind].can & BLM_GROWS)
			ck_assert_int_eq(run_apart(grow_on_a_full_disk, 8 * _i * _i), 0);
}
END_TEST

/* ---- A sync has what it needs ---- */

/* The kinds with a checkpoint image, from the registry. Return: how many there are. */
static int kinds_with_image(int which, struct blm_kind_info *ret)
{
	struct blm_kind_info info;
	int n = 0;

	for (size_t i = 0; blm_kind_list(i, &info) == 0; i++)
		if (kind_has_checkpoint(blm_kind_by_name(info.name)) && n++ == which)
			*ret = info;
	return n;
}

static int sync_on_a_full_disk(int which)
{
	struct blm_kind_info info = { 0 };
	struct blm_params params;
	struct blm_plan plan;
	struct blm_filter *f;

	MUST(own_mounts(0) == 0);
	MUST(mkdir("disk", 0700) == 0 && mount("none", "disk", "tmpfs", 0, "size=64m") == 0
	     && chdir("disk") == 0);
	kinds_with_image(which, &info);
	/* a rate that fingerprints of a byte reach */
	params = usual_params(&info, 100000, 0.05);
	while (blm_plan(&plan, &params) == 0 && plan.file_bytes > 32 << 20)
		params.capacity /= 2;
	MUST(blm_create(&f, NULL, "f", &params) == 0);
	fill_disk(0);
	/* keys come to all blocks, and each sync uses all of the journal */
	for (int round = 1; round <= 3; round++) {
		for (int i = KEYS * 10 * (round - 1); i < KEYS * 10 * round; i++)
			MUST(blm_add(f, &i, sizeof(i)) >= 0);
		MUST(blm_sync(f) == 0);
	}
	/* a kind that lists its keys is not asked */
	MUST(info.can & BLM_CAN_LIST || keys_in(f, 0, KEYS * 30) == KEYS * 30);
	blm_close(f);
	return 0;
}

START_TEST(a_filter_that_was_made_syncs_on_a_full_disk)
{
	if (run_apart(own_mounts, 0) == 77)
		SKIP("root must be able to mount, and / must be a mount point");
	ck_assert_int_eq(run_apart(sync_on_a_full_disk, _i), 0);
}
END_TEST

static uint64_t bytes_on_disk(const char *path, uint64_t *ret_size)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	*ret_size = (uint64_t)st.st_size;
	return (uint64_t)st.st_blocks * 512;
}

/* _i: the kind */
START_TEST(a_new_file_that_is_not_sparse_has_its_space)
{
	struct blm_kind_info info;
	struct blm_params params = BLM_PARAMS(.capacity = 20000);
	struct blm_filter *f;
	uint64_t size;
	int r;

	OK(blm_kind_list((size_t)_i, &info));
	params.kind = info.name;
	r = blm_create(&f, NULL, "full", &params);
	if (r == -EOPNOTSUPP)
		return;		/* it comes of all its keys at once */
	OK(r);
	ck_assert_uint_ge(bytes_on_disk("full", &size), size);
	/* a number for bitmap */
	OK(blm_add(f, "1234", 4) >= 0 || !(info.can & BLM_CAN_ADD) ? 0 : -1);
	OK(blm_sync(f));
	ck_assert_uint_ge(bytes_on_disk("full", &size), size);
	blm_close(f);
}
END_TEST

static int kinds_there_are(void)
{
	struct blm_kind_info info;
	int n = 0;

	while (blm_kind_list((size_t)n, &info) == 0)
		n++;
	return n;
}

int main(void)
{
	Suite *s = suite_create("limits");
	TCase *tc = tcase_create("limits");
	int chosen = choose_kinds();
	struct blm_kind_info image;

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_loop_test(tc, past_the_file_size_limit_all_calls_fail_without_signal, 0,
			    chosen);
	tcase_add_test(tc, past_the_file_size_limit_a_lost_catalog_is_safe);
	tcase_add_test(
		tc,
		past_the_file_size_limit_dropping_damage_raises_no_signal);
	tcase_add_test(tc, without_descriptors_all_calls_fail_and_leak_none);
	tcase_add_test(tc, a_filter_larger_than_the_address_space_is_not_opened);
	tcase_add_loop_test(tc, a_full_disk_leaves_nothing_half_made, 0,
			    2 * chosen);
	tcase_add_loop_test(tc, a_filter_that_was_made_syncs_on_a_full_disk, 0,
			    kinds_with_image(0, &image));
	tcase_add_loop_test(tc, a_new_file_that_is_not_sparse_has_its_space, 0,
			    kinds_there_are());
	tcase_add_loop_test(tc, growth_on_a_full_disk_fails_and_keeps_all_keys,
			    0, 6);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
