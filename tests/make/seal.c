/* seal.c - filters that are sealed, and filters that are made anew from their keys */
#include "suite.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* ---- Sealing ---- */

static struct blm_info info_of(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	return info;
}

static struct blm_filter *open_at(struct blm_store *store, const char *name)
{
	struct blm_filter *f = NULL;

	OK(blm_open(&f, store, name, BLM_OPEN_WRITE));
	return f;
}

static void refuses_all_changes(struct blm_filter *f)
{
	struct blm_filter *like;
	uint8_t data[64] = { 0 };

	OK(blm_template(&like, NULL, NULL, f, 0));
	OK(blm_add(like, "other", 5));
	FAILS(blm_add(f, "new", 3), -EROFS);
	FAILS(blm_claim(f, "new", 3), -EROFS);
	FAILS(blm_add_many(f, &(struct blm_key){ "new", 3 }, 1, NULL), -EROFS);
	FAILS(blm_combine_into(f, BLM_UNION, (const struct blm_filter *const[]){ like }, 1, 0,
			       NULL),
	      -EROFS);
	FAILS(blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *const[]){ like }, 1, 0,
			       NULL),
	      -EROFS);
	FAILS(blm_data_unite(f, 0, data, sizeof(data)), -EROFS);
	FAILS(blm_clear(f), -EROFS);
	FAILS(blm_seal(f), -EROFS);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "sealed"));
	OK(blm_sync(f));
	ck_assert(has(f, "old") && !has(f, "new"));
	blm_close(like);
}

/* 0: a path, 1: in a store, 2: in memory */
static struct blm_filter *make_at(int where, struct blm_store **ret_store)
{
	struct blm_filter *f;

	*ret_store = where == 1 ? open_store(BLM_STORE_CREATE) : NULL;
	make(&f, *ret_store, where == 2 ? NULL : "a.blm");
	OK(blm_add(f, "old", 3));
	return f;
}

START_TEST(a_sealed_filter_refuses_changes_in_every_handle)
{
	struct blm_store *store;
	struct blm_filter *f = make_at(_i, &store),
			  *before = _i == 2 ? NULL : open_at(store, "a.blm"), *reader = NULL;

	if (_i != 2)
		OK(blm_open(&reader, store, "a.blm", 0));
	OK(blm_seal(f));
	ck_assert(info_of(f).sealed && !info_of(f).dirty);
	refuses_all_changes(f);
	if (before) {
		refuses_all_changes(before);
		ck_assert(has(reader, "old") && info_of(reader).sealed);
		blm_close(before);
		before = open_at(store, "a.blm");
		refuses_all_changes(before);
		ck_assert_int_eq(blm_verify(store, "a.blm", 0, NULL, NULL), 0);
	}
	blm_close(before);
	blm_close(reader);
	blm_close(f);
	blm_store_close(store);
}
END_TEST

START_TEST(a_sealed_filter_keeps_name_labels_count_and_origin)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_info before = BLM_INFO, after = BLM_INFO;
	struct blm_filter *f, *from;
	void *bytes;
	size_t len;

	OK(blm_create(&from, NULL, NULL, &BLM_PARAMS(.capacity = 100, .hash = "mm3_64")));
	OK(blm_add(from, "old", 3));
	OK(blm_export_bytes(from, &BLM_EXCHANGE(.format = "pybloomfiltermmap"), &bytes, &len));
	OK(blm_import_bytes(&f, store, "x", &BLM_EXCHANGE(.hash = "mm3_64"), bytes, len));
	OK(blm_store_label(store, "x", "a", "b"));
	before = info_of(f);
	OK(blm_seal(f));
	after = info_of(f);
	ck_assert_str_eq(after.name, "x");
	ck_assert_str_eq(after.labels, "a=b\n");
	ck_assert_str_eq(after.origin, before.origin);
	ck_assert(after.keys == before.keys && after.capacity == before.capacity
		  && memcmp(after.uuid, before.uuid, 16));
	ck_assert(!memcmp(after.template_id, before.template_id, 16));
	OK(blm_store_label(store, "x", "c", "d"));	/* which is not the filter's data */
	OK(blm_store_rename(store, "x", "y"));
	ck_assert(holds(store, "y", "old"));
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
	blm_free(bytes);
	blm_close(f);
	blm_close(from);
	blm_store_close(store);
}
END_TEST

START_TEST(copies_of_a_sealed_filter_can_be_changed)
{
	struct blm_filter *f, *made[4] = { NULL };
	void *bytes;
	size_t len;

	make(&f, NULL, "a.blm");
	OK(blm_add(f, "old", 3));
	OK(blm_seal(f));
	OK(blm_copy(&made[0], NULL, "copy.blm", f, 0));
	OK(blm_template(&made[1], NULL, "twin.blm", f, 0));
	OK(blm_combine(&made[2], NULL, "both.blm", BLM_UNION,
		       (const struct blm_filter *const[]){ f, made[0] }, 2, 0, NULL));
	OK(blm_export_bytes(f, NULL, &bytes, &len));
	OK(blm_import_bytes(&made[3], NULL, "imported.blm", NULL, bytes, len));
	write_all("exported.blm", bytes, len);
	ck_assert_int_eq(blm_verify(NULL, "exported.blm", 0, NULL, NULL), 0);
	for (int i = 0; i < 4; i++) {
		ck_assert(!info_of(made[i]).sealed && has(made[i], "old") == (i != 1));
		OK(blm_add(made[i], "new", 3));
		OK(blm_sync(made[i]));
		ck_assert(has(made[i], "new"));
		blm_close(made[i]);
	}
	ck_assert(!has(f, "new"));
	made[0] = open_at(NULL, "copy.blm");
	OK(blm_combine_into(made[0], BLM_UNION, (const struct blm_filter *const[]){ f }, 1, 0,
			    NULL));
	blm_close(made[0]);
	blm_close(f);
	ck_assert_int_eq(blm_verify(NULL, "copy.blm", 0, NULL, NULL), 0);
	blm_free(bytes);
}
END_TEST

/* How many keys each of some processes was told are in, before it was refused. */
static _Atomic unsigned *told;

static unsigned key_of(int who, unsigned i)
{
	return (unsigned)who << 24 | i;
}

static int add_until_refused(int who)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE) == 0);
	for (unsigned i = 0;; i++) {
		unsigned key = key_of(who, i);
		int r = who % 2 ? blm_claim(f, &key, sizeof(key)) : blm_add(f, &key, sizeof(key));

		if (r == -EROFS)
			break;
		MUST(r >= 0);
		told[who] = i + 1;
	}
	MUST(blm_contains(f, &(unsigned){ key_of(who, 0) }, sizeof(unsigned)));
	blm_close(f);
	return 0;
}

START_TEST(writers_that_race_with_sealing_lose_no_acknowledged_key)
{
	enum { WRITERS = 4 };
	struct blm_params params = BLM_PARAMS(.kind = _i % 2 ? "classic" : "blocked",
					      .capacity = 1000000, .rate = 0.01);
	struct blm_filter *f;
	pid_t pid[WRITERS];

	told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	OK(blm_create(&f, NULL, "a.blm", &params));
	for (int who = 0; who < WRITERS; who++)
		pid[who] = spawn(add_until_refused, who);
	for (int who = 0; who < WRITERS; who++)
		while (!told[who])
			usleep(100);
	usleep((useconds_t)random() % 20000);
	OK(blm_seal(f));
	for (int who = 0; who < WRITERS; who++)
		ck_assert_int_eq(join(pid[who]), 0);
	for (int who = 0; who < WRITERS; who++)
		for (unsigned i = 0; i < told[who]; i++)
			ck_assert_msg(blm_contains(f, &(unsigned){ key_of(who, i) },
						   sizeof(unsigned)),
				      "key %u of %u", i, told[who]);
	ck_assert_int_eq(blm_verify(NULL, "a.blm", 0, NULL, NULL), 0);
	blm_close(f);
	munmap((void *)told, 4096);
}
END_TEST

static int rebuild_for_ever(int unused);

START_TEST(sealing_takes_the_newest_file_despite_other_rebuilds)
{
	struct blm_filter *f;

	for (int round = 0; round < 10; round++) {
		pid_t pid;
		int r;

		make(&f, NULL, "a.blm");
		pid = spawn(rebuild_for_ever, 0);
		usleep((useconds_t)random() % 5000);
		r = blm_seal(f);
		ck_assert_msg(r == 0 || r == -ENOENT, "%d: %s", r, blm_error_message());
		kill(pid, SIGKILL);
		join(pid);
		ck_assert_int_eq(blm_verify(NULL, "a.blm", BLM_VERIFY_REPAIR, NULL, NULL), 0);
		blm_close(f);
		ck_assert_int_eq(unlink("a.blm"), 0);
	}
}
END_TEST

/* ---- Making anew ---- */

struct keys {
	const char *const *key;		/* NULL at the end */
	int answer;
	pid_t kill;			/* in the middle */
	/* a handle on the old filter, to which others add meanwhile */
	struct blm_filter *other;
};

static int fill(struct blm_filter *new, void *context)
{
	const struct keys *keys = context;

	for (const char *const *key = keys->key; *key; key++)
		MUST(blm_add(new, *key, strlen(*key)) >= 0);
	if (keys->other) {
		MUST(blm_add(keys->other, "meanwhile", 9) == 1);
		MUST(!blm_contains(keys->other, keys->key[0], strlen(keys->key[0]))
		     && !blm_contains(new, "meanwhile", 9));
	}
	if (keys->kill)
		kill(keys->kill, SIGKILL);
	return keys->answer;
}

static const char *const fresh[] = { "one", "two", "three", NULL };

START_TEST(a_rebuilt_filter_replaces_the_old_one_in_one_step)
{
	struct blm_store *store = _i ? open_store(BLM_STORE_CREATE) : NULL;
	const char *name = _i ? "x" : "./x";
	struct blm_filter *f, *reader;
	struct blm_info before = BLM_INFO, after = BLM_INFO;

	make(&f, store, name);
	OK(blm_add(f, "old", 3));
	if (store)
		OK(blm_store_label(store, name, "a", "b"));
	OK(blm_open(&reader, store, name, 0));
	before = info_of(f);
	OK(blm_rebuild(store, name, &BLM_PARAMS(.capacity = 5000), fill,
		       &(struct keys){ .key = fresh, .other = f }));
	ck_assert(has(reader, "one") && has(reader, "three") && !has(reader, "old")
		  && !has(reader, "meanwhile"));
	after = info_of(f);
	ck_assert(after.capacity == 5000 && after.rate == before.rate && after.kind == before.kind
		  && after.hash == before.hash);
	ck_assert(after.keys == 3 && memcmp(after.uuid, before.uuid, 16) && !after.dirty);
	ck_assert_str_eq(after.name, before.name);
	ck_assert_str_eq(after.labels, _i ? "a=b\n" : "");
	OK(blm_add(f, "after", 5));
	ck_assert(has(reader, "after") && blm_status(reader) == 0);
	blm_close(f);
	blm_close(reader);
	ck_assert_int_eq(blm_verify(store, name, 0, NULL, NULL), 0);
	ck_assert(holds(store, name, "after"));
	if (store) {
		ck_assert_int_eq(files_in("s/filters", NULL), 1);
		ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
	}
	blm_store_close(store);
}
END_TEST

START_TEST(the_target_of_a_distant_link_is_rebuilt)
{
	struct blm_filter *f;
	struct stat st;

	make(&f, NULL, "./x");
	ck_assert_int_eq(mkdir("elsewhere", 0700), 0);
	ck_assert_int_eq(symlink("../x", "elsewhere/link"), 0);
	OK(blm_rebuild(NULL, "elsewhere/link", &BLM_PARAMS(), fill,
		       &(struct keys){ .key = fresh }));
	ck_assert(has(f, "one"));
	ck_assert(lstat("elsewhere/link", &st) == 0 && S_ISLNK(st.st_mode));
	ck_assert_int_eq(access("elsewhere/x", F_OK), -1);
	blm_close(f);
}
END_TEST

START_TEST(a_failed_or_killed_rebuild_leaves_the_old_filter)
{
	struct blm_store *store = _i ? open_store(BLM_STORE_CREATE) : NULL;
	const char *name = _i ? "x" : "./x";
	struct blm_filter *f;
	pid_t pid;

	make(&f, store, name);
	OK(blm_add(f, "old", 3));
	ck_assert_int_eq(blm_rebuild(store, name, &BLM_PARAMS(), fill,
				     &(struct keys){ .key = fresh, .answer = -ECANCELED }),
			 -ECANCELED);
	ck_assert(has(f, "old") && !has(f, "one"));
	FAILS(blm_rebuild(store, name, &BLM_PARAMS(.capacity = UINT64_MAX), fill,
			  &(struct keys){ .key = fresh }),
	      -EINVAL);
	FAILS(blm_rebuild(store, _i ? "none" : "./none", &BLM_PARAMS(), fill,
			  &(struct keys){ .key = fresh }),
	      -ENOENT);
	pid = fork();
	if (pid == 0) {
		blm_rebuild(store, name, &BLM_PARAMS(), fill,
			    &(struct keys){ .key = fresh, .kill = getpid() });
		_exit(0);
	}
	ck_assert_int_eq(join(pid), SIGNALLED + SIGKILL);
	ck_assert(has(f, "old") && !has(f, "one"));
	OK(blm_add(f, "new", 3));
	blm_close(f);
	ck_assert(holds(store, name, "new") && holds(store, name, "old"));
	OK(blm_rebuild(store, name, &BLM_PARAMS(), fill, &(struct keys){ .key = fresh }));
	ck_assert(holds(store, name, "one") && !holds(store, name, "old"));
	ck_assert_int_eq(files_in(store ? "s/filters" : ".", NULL), 1);
	blm_store_close(store);
}
END_TEST

/*
 * The request, and the kind and hash that follow from it for a filter that was blocked, with
 * siphash; mode 0: as it was.
 */
static const struct {
	struct blm_params params;
	const char *kind, *hash;
	unsigned mode;
} asked[] = {
	{ BLM_PARAMS(), "blocked", "siphash" },
	{ BLM_PARAMS(.mode = 0640), "blocked", "siphash", 0640 },
	{ BLM_PARAMS(.capacity = 7000), "blocked", "siphash" },
	{ BLM_PARAMS(.kind = "classic"), "classic", "siphash" },
	{ BLM_PARAMS(.hash = "xxh3"), "blocked", "xxh3" },
	{ BLM_PARAMS(.hash = "mm3_64"), "classic", "mm3_64" },
	{ BLM_PARAMS(.cells = 10240, .probes = 5), "blocked", "siphash" },
};

static unsigned mode_at(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_mode & 07777;
}

START_TEST(a_rebuilt_filter_changes_only_as_requested)
{
	struct blm_filter *f;
	struct blm_info before = BLM_INFO, after = BLM_INFO;

	OK(blm_create(&f, NULL, "./x",
		      &BLM_PARAMS(.kind = "blocked", .hash = "siphash", .capacity = 100,
				  .rate = 0.003, .mode = 0604, .sparse = _i % 2)));
	before = info_of(f);
	OK(blm_rebuild(NULL, "./x", &asked[_i].params, fill, &(struct keys){ .key = fresh }));
	after = info_of(f);
	ck_assert_uint_eq(mode_at("./x"), asked[_i].mode ? asked[_i].mode : 0604);
	ck_assert_int_eq(after.sparse, _i % 2);
	ck_assert_str_eq(after.kind, asked[_i].kind);
	ck_assert_str_eq(after.hash, asked[_i].hash);
	ck_assert(after.keyed == before.keyed ? !memcmp(after.key_id, before.key_id, 8)
					      : after.hash != before.hash);
	if (!asked[_i].params.cells)
		ck_assert(after.rate == 0.003
			  && after.capacity
				     == (asked[_i].params.capacity ? asked[_i].params.capacity
								   : 100));
	else
		ck_assert(after.cells == 10240 && after.probes == 5);
	blm_close(f);
	f = open_at(NULL, "./x");
	ck_assert(has(f, "one") && has(f, "two") && !has(f, "four"));
	OK(blm_add(f, "four", 4));
	blm_close(f);
}
END_TEST

/*
 * A kind that has a checkpoint image, with and without it, and what it becomes when it is made
 * anew, also after it was sealed.
 */
START_TEST(a_rebuilt_filter_has_a_checkpoint_image_as_before)
{
	bool without = _i % 2, seal = _i / 2 == 1, other = _i / 2 == 2;
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "./x",
		      &BLM_PARAMS(.kind = other ? "blocked" : "cuckoo", .capacity = 100,
				  .no_checkpoint = without)));
	if (seal)
		OK(blm_seal(f));
	OK(blm_rebuild(NULL, "./x", &BLM_PARAMS(.kind = other ? "cuckoo" : NULL), fill,
		       &(struct keys){ .key = fresh }));
	ck_assert_int_eq(info_of(f).checkpoint_bytes > 0, !without || seal || other);
	OK(blm_rebuild(NULL, "./x", &BLM_PARAMS(.no_checkpoint = true), fill,
		       &(struct keys){ .key = fresh }));
	ck_assert_int_eq(info_of(f).checkpoint_bytes, 0);
	blm_close(f);
}
END_TEST

static int fill_and_sync(struct blm_filter *new, void *context)
{
	int r = fill(new, context);

	return r < 0 ? r : blm_sync(new);
}

START_TEST(a_filter_without_a_name_can_be_synced)
{
	struct blm_store *store = _i ? open_store(BLM_STORE_CREATE) : NULL;
	const char *name = _i ? "x" : "./x";

	make_with(store, name, "old");
	OK(blm_rebuild(store, name, &BLM_PARAMS(), fill_and_sync, &(struct keys){ .key = fresh }));
	ck_assert(holds(store, name, "one") && !holds(store, name, "old"));
	ck_assert_int_eq(blm_verify(store, name, 0, NULL, NULL), 0);
	blm_store_close(store);
}
END_TEST

static int fill_by_threads(struct blm_filter *new, void *context);

START_TEST(several_threads_may_fill_it)
{
	struct blm_filter *f;

	make(NULL, NULL, "./x");
	OK(blm_rebuild(NULL, "./x", &BLM_PARAMS(.capacity = 40000), fill_by_threads, NULL));
	OK(blm_open(&f, NULL, "./x", 0));
	for (int i = 0; i < 40000; i++)
		ck_assert(blm_contains(f, &i, sizeof(i)));
	blm_close(f);
	ck_assert_int_eq(blm_verify(NULL, "./x", 0, NULL, NULL), 0);
}
END_TEST

struct slice {
	struct blm_filter *f;
	int from;
};

static void *add_slice(void *context)
{
	const struct slice *s = context;

	for (int i = s->from; i < s->from + 10000; i++)
		if (blm_add(s->f, &i, sizeof(i)) < 0)
			abort();
	return NULL;
}

static int fill_by_threads(struct blm_filter *new, void *context)
{
	pthread_t thread[4];
	struct slice slice[4];

	for (int i = 0; i < 4; i++) {
		slice[i] = (struct slice){ new, 10000 * i };
		if (pthread_create(&thread[i], NULL, add_slice, &slice[i]))
			abort();
	}
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static int rebuild_for_ever(int unused)
{
	for (unsigned i = 0;; i++) {
		int r = blm_rebuild(NULL, "a.blm",
				    &BLM_PARAMS(.capacity = i % 2 ? 100000 : 100,
						.kind = i % 3 ? "blocked" : "classic"),
				    fill, &(struct keys){ .key = fresh });

		MUST(r == 0 || r == -ENOENT || r == -EROFS);
	}
}

/* A sealed filter may be rebuilt all the same: that is another filter. */
START_TEST(a_sealed_filter_can_be_rebuilt_unsealed)
{
	struct blm_filter *f;

	make(&f, NULL, "./x");
	OK(blm_add(f, "old", 3));
	OK(blm_seal(f));
	OK(blm_rebuild(NULL, "./x", &BLM_PARAMS(), fill, &(struct keys){ .key = fresh }));
	ck_assert(!info_of(f).sealed && has(f, "one") && !has(f, "old"));
	OK(blm_add(f, "new", 3));
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("seal");
	TCase *tc = tcase_create("seal");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, a_sealed_filter_refuses_changes_in_every_handle, 0, 3);
	tcase_add_test(tc, a_sealed_filter_keeps_name_labels_count_and_origin);
	tcase_add_test(tc, copies_of_a_sealed_filter_can_be_changed);
	tcase_add_loop_test(tc, writers_that_race_with_sealing_lose_no_acknowledged_key,
			    0, 12);
	tcase_add_test(tc, sealing_takes_the_newest_file_despite_other_rebuilds);
	tcase_add_loop_test(tc, a_rebuilt_filter_replaces_the_old_one_in_one_step, 0, 2);
	tcase_add_test(tc, the_target_of_a_distant_link_is_rebuilt);
	tcase_add_loop_test(tc, a_failed_or_killed_rebuild_leaves_the_old_filter, 0, 2);
	tcase_add_loop_test(tc, a_rebuilt_filter_changes_only_as_requested, 0,
			    (int)(sizeof(asked) / sizeof(asked[0])));
	tcase_add_loop_test(tc, a_rebuilt_filter_has_a_checkpoint_image_as_before, 0, 6);
	tcase_add_loop_test(tc, a_filter_without_a_name_can_be_synced, 0, 2);
	tcase_add_test(tc, several_threads_may_fill_it);
	tcase_add_test(tc, a_sealed_filter_can_be_rebuilt_unsealed);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
