/* secrets.c - the secrets of a store's keyed filters: how long each stays, and who asks for it */
#include "suite.h"

#include "catalog/catalog.h"
#include "place/store_dir.h"

static const uint8_t given[BLM_SECRET_BYTES] = "the same for all",
		     other[BLM_SECRET_BYTES] = "another one, too";

static void make_keyed(struct blm_store *store, const char *name, const uint8_t *secret)
{
	struct blm_filter *f;

	OK(blm_create(&f, store, name,
		      &BLM_PARAMS(.capacity = 100, .rate = 1e-6, .hash = "siphash",
				  .secret = secret)));
	OK(blm_add(f, name, strlen(name)));
	OK(blm_sync(f));
	blm_close(f);
}

static void copy_of(struct blm_store *from, const char *name, struct blm_store *to,
		    const char *copy, bool empty)
{
	struct blm_filter *f, *g;

	OK(blm_open(&f, from, name, 0));
	OK(empty ? blm_template(&g, to, copy, f, 0) : blm_copy(&g, to, copy, f, 0));
	blm_close(f);
	blm_close(g);
}

static int secrets(void)
{
	return files_in("s/keys", NULL);
}

static void finds_nothing(void)
{
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
}

START_TEST(a_secret_is_deleted_with_its_last_filter)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make_keyed(store, "a", _i ? given : NULL);
	make_keyed(store, "stranger", NULL);
	make(NULL, store, "open to all");
	copy_of(store, "a", store, "template", true);
	copy_of(store, "a", store, "copy", false);
	ck_assert_int_eq(secrets(), 2);
	OK(blm_store_drop(store, "a"));
	ck_assert(secrets() == 2 && holds(store, "copy", "a"));
	OK(blm_store_drop(store, "open to all"));
	OK(blm_store_drop(store, "copy"));
	ck_assert(secrets() == 2 && !holds(store, "template", "a"));
	OK(blm_store_drop(store, "template"));
	ck_assert_int_eq(secrets(), 1);
	ck_assert(holds(store, "stranger", "stranger"));
	finds_nothing();
	OK(blm_store_drop(store, "stranger"));
	ck_assert_int_eq(secrets(), 0);
	make_keyed(store, "a", _i ? given : NULL);
	ck_assert(holds(store, "a", "a"));
	blm_store_close(store);
}
END_TEST

static int fill(struct blm_filter *f, void *context)
{
	return blm_add(f, context, strlen(context));
}

START_TEST(a_secret_is_deleted_with_its_replaced_filter)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_params params = BLM_PARAMS(.capacity = 100, .rate = 1e-6, .hash = "siphash",
					      .secret = other, .replace = true);
	struct blm_filter *f, *reader;

	make_keyed(store, "a", given);
	make_keyed(store, "b", given);
	OK(blm_open(&reader, store, "a", 0));
	if (_i == 0) {
		OK(blm_rebuild(store, "a", &params, fill, (void *)"a"));
	} else if (_i == 1) {
		OK(blm_create(&f, store, "a", &params));
		OK(blm_add(f, "a", 1));
		blm_close(f);
	} else {
		OK(blm_create(&f, NULL, NULL, &params));
		OK(blm_add(f, "a", 1));
		OK(blm_store_publish(store, "a", f, 0, 0));
		blm_close(f);
	}
	ck_assert_int_eq(secrets(), 2);
	ck_assert(has(reader, "a") && holds(store, "b", "b"));
	OK(blm_rebuild(store, "b", &params, fill, (void *)"b"));
	ck_assert_int_eq(secrets(), 1);
	ck_assert(holds(store, "a", "a") && holds(store, "b", "b"));
	OK(blm_rebuild(store, "b", &BLM_PARAMS(.hash = "xxh3"), fill, (void *)"b"));
	OK(blm_store_drop(store, "a"));
	ck_assert_int_eq(secrets(), 0);
	ck_assert(holds(store, "b", "b"));
	finds_nothing();
	blm_close(reader);
	blm_store_close(store);
}
END_TEST

START_TEST(a_clear_or_a_seal_keeps_the_secret)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	make_keyed(store, "a", NULL);
	OK(blm_open(&f, store, "a", BLM_OPEN_WRITE));
	OK(blm_clear(f));
	OK(blm_add(f, "again", 5));
	OK(blm_seal(f));
	blm_close(f);
	ck_assert(secrets() == 1 && holds(store, "a", "again"));
	blm_store_close(store);
}
END_TEST

START_TEST(a_filter_copied_out_of_the_store_keeps_its_secret)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make_keyed(store, "a", NULL);
	copy_of(store, "a", NULL, "./outside", false);
	OK(blm_store_drop(store, "a"));
	ck_assert_int_eq(secrets(), 0);
	ck_assert(holds(NULL, "./outside", "a"));
	blm_store_close(store);
}
END_TEST

START_TEST(unknown_and_damaged_files_keep_their_secrets)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char path[512];
	int fd;

	make_keyed(store, "a", given);
	make_keyed(store, "b", given);
	path_of(store, "b", path);
	if (_i == 0) {
		OK(blm_catalog_remove(store->catalog, "b", NULL));
	} else {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		ck_assert(fd >= 0 && pwrite(fd, "damage", 6, 40) == 6);
		close(fd);
	}
	OK(blm_store_drop(store, "a"));
	ck_assert_int_eq(secrets(), 1);
	if (_i == 0) {
		OK(blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL));
		ck_assert(holds(store, "b", "b"));
	} else {
		/* it does not open, and goes all the same */
		OK(blm_store_drop(store, "b"));
	}
	ck_assert_int_eq(secrets(), _i == 0);
	blm_store_close(store);
}
END_TEST

START_TEST(a_damaged_secret_is_deleted_with_its_last_filter)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char path[512];

	make_keyed(store, "a", NULL);
	files_in("s/keys", path);
	write_all(path, "damaged", 7);
	OK(blm_store_drop(store, "a"));
	ck_assert_int_eq(secrets(), 0);
	finds_nothing();
	blm_store_close(store);
}
END_TEST

START_TEST(a_filter_whose_secret_is_lost_is_dropped)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char path[512];

	make_keyed(store, "a", NULL);
	files_in("s/keys", path);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 1);
	OK(blm_store_drop(store, "a"));
	finds_nothing();
	blm_store_close(store);
}
END_TEST

/* Where the keys are exchanged, the file of a dropped filter's name has the other one's secret. */
START_TEST(a_drop_deletes_no_secret_of_another_filter)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char first[512], second[512];

	make_keyed(store, "a", given);
	files_in("s/keys", first);
	make_keyed(store, "b", other);
	ck_assert_int_eq(rename(first, "kept"), 0);
	files_in("s/keys", second);
	ck_assert_int_eq(rename(second, first), 0);
	ck_assert_int_eq(rename("kept", second), 0);
	OK(blm_store_drop(store, "a"));
	ck_assert_int_eq(secrets(), 2);
	ck_assert_int_eq(rename(first, second), 0);
	ck_assert(holds(store, "b", "b"));
	finds_nothing();
	OK(blm_store_drop(store, "b"));
	ck_assert_int_eq(secrets(), 0);
	blm_store_close(store);
}
END_TEST

static const uint8_t third[BLM_SECRET_BYTES] = "and a third one";

static const char *file_of(const uint8_t *secret)
{
	static char paths[4][64];
	static int count;
	char *path = paths[count++ % 4];
	uint8_t id[8];

	blm_key_id(secret, id);
	strcpy(path, "s/keys/");
	for (int i = 0; i < 8; i++)
		sprintf(path + 7 + 2 * i, "%02x", id[i]);
	return path;
}

static void renames(const char *from, const char *to)
{
	ck_assert_int_eq(rename(from, to), 0);
}

static void misplace(int how)
{
	if (how == 0) {			/* two are exchanged */
		renames(file_of(given), "kept");
		renames(file_of(other), file_of(given));
		renames("kept", file_of(other));
	} else if (how == 1) {		/* three are in a circle */
		renames(file_of(given), "kept");
		renames(file_of(other), file_of(given));
		renames(file_of(third), file_of(other));
		renames("kept", file_of(third));
	} else {			/* one is under a name of its own */
		renames(file_of(given), "s/keys/kept");
	}
}

static void count_repaired(void *context, const struct blm_finding *found)
{
	*(int *)context += found->repaired;
}

static int repaired(int *ret_left)
{
	int found = 0;

	*ret_left = blm_store_verify("s", BLM_VERIFY_REPAIR, count_repaired, &found);
	return found;
}

START_TEST(a_repair_gives_each_secret_the_name_of_its_id)
{
	static const int missing[] = { 2, 3, 1 }, moves[] = { 1, 2, 1 };
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	int left;

	make_keyed(store, "a", given);
	make_keyed(store, "b", other);
	make_keyed(store, "c", third);
	misplace(_i);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), missing[_i]);
	ck_assert_int_eq(repaired(&left), moves[_i]);
	ck_assert_int_eq(left, 0);
	ck_assert_int_eq(secrets(), 3);
	ck_assert(holds(store, "a", "a") && holds(store, "b", "b") && holds(store, "c", "c"));
	finds_nothing();
	ck_assert_int_eq(repaired(&left), 0);
	blm_store_close(store);
}
END_TEST

START_TEST(one_repair_mends_a_lost_catalog_and_exchanged_secrets)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	int left;

	make_keyed(store, "a", given);
	make_keyed(store, "b", other);
	blm_store_close(store);
	misplace(0);
	ck_assert_int_eq(unlink("s/catalog/data.mdb"), 0);
	ck_assert_int_eq(repaired(&left), 2);
	ck_assert_int_eq(left, 0);
	store = open_store(0);
	ck_assert(holds(store, "a", "a") && holds(store, "b", "b"));
	finds_nothing();
	blm_store_close(store);
}
END_TEST

/* A copy, a secret that no filter needs, and one whose name is taken by a damaged file. */
START_TEST(a_repair_moves_no_secret_over_another_file)
{
	static const char *const stays[] = { "s/keys/copy", "s/keys/old", "s/keys/kept",
					     "s/keys/kept" };
	const char *damaged = _i == 2 ? "damaged" : "0123456789abcdef0123456789abcdeg";
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	int left;

	make_keyed(store, "a", given);
	if (_i == 0) {
		copy_file(file_of(given), "s/keys/copy");
	} else if (_i == 1) {
		make_keyed(store, "b", other);
		renames(file_of(other), "s/keys/old");
		OK(blm_store_drop(store, "b"));
	} else {
		renames(file_of(given), "s/keys/kept");
		write_all(file_of(given), damaged, strlen(damaged));
		ck_assert_int_eq(chmod(file_of(given), 0600), 0);
	}
	ck_assert_int_eq(repaired(&left), 0);
	ck_assert_int_eq(left, _i >= 2);
	ck_assert_int_eq(secrets(), 2);
	ck_assert_int_eq(access(stays[_i], F_OK), 0);
	blm_store_close(store);
}
END_TEST

START_TEST(a_strange_file_among_secrets_is_reported_and_ignored)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	static char large[2 << 20];
	struct blm_filter *f;
	char path[512];

	make_keyed(store, "a", given);
	files_in("s/keys", path);
	ck_assert_int_eq(unlink(path), 0);
	if (_i == 0)
		ck_assert_int_eq(mkdir(path, 0700), 0);
	else if (_i == 1)
		write_all(path, large, sizeof(large));
	else
		write_all(path, "00112233445566778899aabbccddeeff\n", 33);
	ck_assert_int_eq(chmod(path, 0700), 0);
	FAILS(blm_open(&f, store, "a", 0), -ENOKEY);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 1);
	FAILS(blm_create(&f, store, "b",
			 &BLM_PARAMS(.capacity = 10, .hash = "siphash", .secret = given)),
	      -ENOKEY);
	OK(blm_open_keyed(&f, store, "a", 0, given));
	ck_assert(has(f, "a"));
	blm_close(f);
	blm_store_close(store);
}
END_TEST

/* ---- Races ---- */

enum { ROUNDS = 60 };

/* All with one secret: whenever the last goes another may be coming. */
static int make_and_drop(int who)
{
	struct blm_store *store;
	struct blm_filter *f;
	char name[16];

	MUST(blm_store_open(&store, "s", 0) == 0);
	snprintf(name, sizeof(name), "f%d", who);
	for (int i = 0; i < ROUNDS; i++) {
		MUST(blm_create(&f, store, name,
				&BLM_PARAMS(.capacity = 10, .hash = "siphash", .secret = given))
		     == 0);
		blm_close(f);
		MUST(blm_open(&f, store, name, BLM_OPEN_WRITE) == 0 && blm_add(f, "x", 1) >= 0);
		if (i % 3 == 0)
			MUST(blm_clear(f) == 0);
		blm_close(f);
		MUST(blm_open(&f, store, name, 0) == 0);
		blm_close(f);
		MUST(blm_store_drop(store, name) == 0);
	}
	return 0;
}

static int open_all(int others)
{
	struct blm_store *store;
	struct blm_filter *f;
	char name[16];

	MUST(blm_store_open(&store, "s", BLM_STORE_READ) == 0);
	for (int i = 0; i < ROUNDS * 4; i++) {
		int r;

		snprintf(name, sizeof(name), "f%d", i % others);
		r = blm_open(&f, store, name, 0);
		if (r == 0)
			blm_close(f);
		MUST(r == 0 || r == -ENOENT);
	}
	return 0;
}

START_TEST(concurrent_users_of_one_secret_do_not_delete_it)
{
	pid_t pid[4];

	blm_store_close(open_store(BLM_STORE_CREATE));
	for (int i = 0; i < 3; i++)
		pid[i] = spawn(make_and_drop, i);
	pid[3] = spawn(open_all, 3);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(join(pid[i]), 0);
	ck_assert_int_eq(secrets(), 0);
	finds_nothing();
}
END_TEST

/* ---- Other users ---- */

static int findings_of_nobody(int unused)
{
	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 77;
	return blm_store_verify("s", 0, NULL, NULL);
}

START_TEST(without_access_to_the_secrets_none_is_called_missing)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char path[512];

	if (cannot_become(65534, 65534))
		SKIP(cannot_become(65534, 65534));
	make_keyed(store, "a", NULL);
	blm_store_close(store);
	ck_assert_int_eq(run_apart(findings_of_nobody, 0), 0);
	ck_assert_int_eq(chmod("s/keys", 0755), 0);	/* its files are still their owner's */
	ck_assert_int_eq(run_apart(findings_of_nobody, 0), 0);
	files_in("s/keys", path);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(run_apart(findings_of_nobody, 0), 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("secrets");
	TCase *tc = tcase_create("secrets");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_loop_test(tc, a_secret_is_deleted_with_its_last_filter, 0, 2);
	tcase_add_loop_test(tc, a_secret_is_deleted_with_its_replaced_filter, 0, 3);
	tcase_add_test(tc, a_clear_or_a_seal_keeps_the_secret);
	tcase_add_test(tc, a_filter_copied_out_of_the_store_keeps_its_secret);
	tcase_add_loop_test(
		tc, unknown_and_damaged_files_keep_their_secrets, 0,
		2);
	tcase_add_test(tc, a_damaged_secret_is_deleted_with_its_last_filter);
	tcase_add_test(tc, a_filter_whose_secret_is_lost_is_dropped);
	tcase_add_test(tc, a_drop_deletes_no_secret_of_another_filter);
	tcase_add_loop_test(tc, a_repair_gives_each_secret_the_name_of_its_id, 0, 3);
	tcase_add_test(tc, one_repair_mends_a_lost_catalog_and_exchanged_secrets);
	tcase_add_loop_test(tc, a_repair_moves_no_secret_over_another_file, 0, 4);
	tcase_add_loop_test(tc, a_strange_file_among_secrets_is_reported_and_ignored, 0, 3);
	tcase_add_test(tc,
		       concurrent_users_of_one_secret_do_not_delete_it);
	tcase_add_test(tc, without_access_to_the_secrets_none_is_called_missing);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
