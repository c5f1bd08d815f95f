/* paths.c - filters at paths: working directories that change, and their secrets */
#include "suite.h"
#include "place/place.h"

#include <glob.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* ---- What is on the disk ---- */

static ino_t flushed[64];
static unsigned flushes;

int fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0)
		flushed[flushes++ % 64] = st.st_ino;
	return (int)syscall(SYS_fsync, fd);
}

static bool was_flushed(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	for (int i = 0; i < 64; i++)
		if (flushed[i] == st.st_ino)
			return true;
	return false;
}

static const uint8_t one[BLM_SECRET_BYTES] = "the first secret",
		     two[BLM_SECRET_BYTES] = "another one, too";

static struct blm_params keyed_with(const uint8_t *secret)
{
	return BLM_PARAMS(.capacity = 100, .rate = 0.001, .hash = "siphash", .secret = secret);
}

/* ---- Relative paths ---- */

START_TEST(a_relative_path_is_fixed_when_it_is_opened)
{
	struct blm_filter *f, *reader, *other;
	struct blm_params keyed = keyed_with(NULL);
	char here[512];

	ck_assert_ptr_nonnull(getcwd(here, sizeof(here)));
	ck_assert_int_eq(mkdir("d", 0755), 0);
	OK(blm_create(&f, NULL, _i ? "./d/../a" : "a", &keyed));
	OK(blm_open(&reader, NULL, "a", 0));
	ck_assert_int_eq(chdir("d"), 0);
	OK(blm_open(&other, NULL, "../a", BLM_OPEN_WRITE));
	OK(blm_clear(other));
	ck_assert_int_eq(chdir("/"), 0);
	OK(blm_add(f, "b", 1));
	OK(blm_sync(f));
	OK(blm_status(f));
	ck_assert(has(reader, "b"));
	OK(blm_status(reader));
	OK(blm_seal(f));
	ck_assert_int_eq(chdir(here), 0);
	ck_assert(holds(NULL, "a", "b"));
	blm_close(other);
	blm_close(reader);
	blm_close(f);
}
END_TEST

/* ---- Secrets of paths ---- */

static void opens(const char *path)
{
	struct blm_filter *f;

	OK(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
	blm_close(f);
}

START_TEST(secrets_of_a_path_are_never_overwritten)
{
	struct blm_params first = keyed_with(one), second = keyed_with(two);
	char turned[2 * 33];
	uint8_t *all;
	size_t bytes;

	OK(blm_create(NULL, NULL, "a", &first));
	ck_assert_int_eq(rename("a", "first"), 0);
	OK(blm_create(NULL, NULL, "a", &second));
	opens("a");
	all = read_all("a.key", &bytes);
	ck_assert_uint_eq(bytes, sizeof(turned));
	memcpy(turned, all + 33, 33);
	memcpy(turned + 33, all, 33);
	write_all("a.key", turned, sizeof(turned));		/* in any order */
	opens("a");
	ck_assert_int_eq(rename("first", "a"), 0);
	opens("a");
	write_all("a.key", all, bytes);
	opens("a");
	free(all);
}
END_TEST

START_TEST(a_maker_killed_early_blocks_no_other_maker)
{
	struct blm_params params = keyed_with(NULL);
	struct blm_filter *f;

	/* whole, and cut short */
	write_all("a.key", "00112233445566778899aabbccddeeff\n0123", _i ? 37 : 33);
	ck_assert_int_eq(chmod("a.key", 0600), 0);
	OK(blm_create(&f, NULL, "a", &params));
	OK(blm_add(f, "x", 1));
	blm_close(f);
	ck_assert(holds(NULL, "a", "x"));
}
END_TEST

/* Else a power cut could leave the filter without it, and so without an answer. */
START_TEST(an_existing_secret_is_on_disk_before_the_filter)
{
	struct blm_params params = keyed_with(two);
	struct blm_store *store = NULL;
	char line[34], key[64] = "a.key", *at = line;
	uint8_t id[8];

	for (int i = 0; i < 16; i++)
		at += sprintf(at, "%02x", two[i]);
	strcpy(at, "\n");
	if (_i) {
		OK(blm_store_open(&store, "store", BLM_STORE_CREATE));
		blm_key_id(two, id);
		at = key + sprintf(key, "store/keys/");
		for (int i = 0; i < 8; i++)
			at += sprintf(at, "%02x", id[i]);
	}
	write_all(key, line, 33);
	ck_assert_int_eq(chmod(key, 0600), 0);
	memset(flushed, 0, sizeof(flushed));
	OK(blm_create(NULL, store, "a", &params));
	ck_assert(was_flushed(key));
	ck_assert(was_flushed(_i ? "store/keys" : "."));
	blm_store_close(store);
}
END_TEST

START_TEST(a_keyed_filter_is_replaced_by_one_with_another_secret)
{
	struct blm_params params = keyed_with(one), other = keyed_with(two);
	struct blm_filter *f, *handle;

	OK(blm_create(&handle, NULL, "a", &params));
	OK(blm_add(handle, "old", 3));
	other.replace = true;
	for (int i = 0; i < 3; i++) {
		OK(blm_create(&f, NULL, "a", &other));
		ck_assert(!has(f, "old"));
		OK(blm_add(handle, "new", 3));		/* and who had the old one open goes over */
		ck_assert(has(f, "new"));
		OK(blm_status(handle));
		blm_close(f);
		ck_assert(holds(NULL, "a", "new"));
		other.secret = i ? NULL : one;
	}
	blm_close(handle);
}
END_TEST

static int add_x(struct blm_filter *new, void *context)
{
	return blm_add(new, "x", 1) < 0 ? -EIO : 0;
}

START_TEST(a_keyed_filter_is_rebuilt_with_either_secret)
{
	struct blm_params params = keyed_with(one), none = BLM_PARAMS(.capacity = 0);
	size_t bytes;

	OK(blm_create(NULL, NULL, "a", &params));
	params = keyed_with(two);
	OK(blm_rebuild(NULL, "a", &params, add_x, NULL));
	ck_assert(holds(NULL, "a", "x"));
	for (int i = 0; i < 5; i++)
		OK(blm_rebuild(NULL, "a", &none, add_x, NULL));
	ck_assert(holds(NULL, "a", "x"));
	free(read_all("a.key", &bytes));
	ck_assert_uint_eq(bytes, 2 * 33);
}
END_TEST

static int make_and_claim(int i)
{
	struct blm_params params = keyed_with(NULL);
	struct blm_filter *f;
	int r;

	for (int round = 0; round < 20; round++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", round);
		r = blm_create(&f, NULL, name, &params);
		if (r == -EEXIST)
			r = blm_open(&f, NULL, name, BLM_OPEN_WRITE);
		MUST(r == 0);
		MUST(blm_claim(f, &i, sizeof(i)) == 1);
		blm_close(f);
	}
	return 0;
}

START_TEST(one_of_eight_racing_creators_makes_the_keyed_filter)
{
	pid_t pid[8];
	size_t bytes;

	for (int i = 0; i < 8; i++)
		pid[i] = spawn(make_and_claim, i);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(join(pid[i]), 0);
	for (int round = 0; round < 20; round++) {
		struct blm_filter *f;
		char name[32];

		snprintf(name, sizeof(name), "f%d", round);
		OK(blm_open(&f, NULL, name, 0));
		for (int i = 0; i < 8; i++)
			ck_assert(blm_contains(f, &i, sizeof(i)));
		blm_close(f);
		strcat(name, ".key");
		/* the losers took theirs away, at most some blank lines are left */
		free(read_all(name, &bytes));
		ck_assert_uint_eq(bytes % 33, 0);
		ck_assert_uint_le(bytes, 8 * 33);
	}
	ck_assert_int_eq(files_in(".", NULL), 40);
}
END_TEST

static int make_without_room(int unused)
{
	struct blm_params params = keyed_with(NULL);
	struct blm_filter *f;

	MUST(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	MUST(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 20, RLIM_INFINITY }) == 0);
	MUST(blm_create(&f, NULL, "a", &params) == -EFBIG);
	MUST(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }) == 0);
	MUST(files_in(".", NULL) == 0);
	MUST(mkdir("a", 0755) == 0);
	MUST(blm_create(&f, NULL, "a", &params) == -EEXIST
	     && strstr(blm_error_message(), "exists already"));
	MUST(files_in(".", NULL) == 1);
	return 0;
}

START_TEST(a_failed_creation_leaves_no_secret)
{
	ck_assert_int_eq(run_apart(make_without_room, 0), 0);
}
END_TEST

START_TEST(a_late_creator_removes_only_its_own_secret)
{
	struct blm_params params = keyed_with(one), other = keyed_with(_i ? two : one);
	struct blm_build *b;
	struct blm_filter *f;
	size_t bytes;

	OK(blm_build_begin(&b, NULL, "a", &params, NULL));
	OK(blm_create(&f, NULL, "a", &other));
	OK(blm_add(f, "k", 1));
	blm_close(f);
	FAILS(blm_build_finish(b, NULL), -EEXIST);
	ck_assert(holds(NULL, "a", "k"));
	free(read_all("a.key", &bytes));
	ck_assert_uint_eq(bytes, 33);
}
END_TEST

/* A process that was given another filter's secret may ask; the test does not care. */
START_TEST(a_world_readable_secret_is_refused_until_that_is_mended)
{
	static const mode_t open_to_all[] = { 0644, 0602, 0666 };
	struct blm_params params = keyed_with(two);
	struct blm_store *store = NULL;
	const char *key = "a.key";
	struct blm_filter *f;
	glob_t found = { 0 };

	if (_i)
		OK(blm_store_open(&store, "store", BLM_STORE_CREATE));
	OK(blm_create(NULL, store, "a", &params));
	if (_i) {
		ck_assert_int_eq(glob("store/keys/*", 0, NULL, &found), 0);
		key = found.gl_pathv[0];
	}
	for (size_t i = 0; i < 3; i++) {
		ck_assert_int_eq(chmod(key, open_to_all[i]), 0);
		FAILS(blm_open(&f, store, "a", 0), -EKEYREJECTED);
		ck_assert(strstr(blm_error_message(), key + (_i ? 6 : 0))
			  && strstr(blm_error_message(), "chmod 600"));
		OK(blm_open_keyed(&f, store, "a", 0, two));
		blm_close(f);
	}
	ck_assert_int_eq(chmod(key, 0640), 0);
	OK(blm_open(&f, store, "a", 0));
	blm_close(f);
	if (!cannot_give_away(65534, 65534)) {
		ck_assert(chmod(key, 0644) == 0 && chown(key, 65534, 65534) == 0);
		OK(blm_open(&f, store, "a", 0));
		blm_close(f);
	} else {
		SKIP_PART(cannot_give_away(65534, 65534));
	}
	globfree(&found);
	blm_store_close(store);
}
END_TEST

START_TEST(a_world_writable_stores_filter_is_refused_unless_requested)
{
	struct blm_params params = BLM_PARAMS(.capacity = 100, .mode = 0602);
	struct blm_store *store;
	struct blm_filter *f;
	glob_t found;

	OK(blm_store_open(&store, "store", BLM_STORE_CREATE));
	FAILS(blm_create(NULL, store, "a", &params), -EPERM);
	params.mode = 0664;
	OK(blm_create(NULL, store, "a", &params));
	ck_assert_int_eq(glob("store/filters/*.blm", 0, NULL, &found), 0);
	ck_assert_int_eq(chmod(found.gl_pathv[0], 0666), 0);
	for (int write = 0; write < 2; write++) {
		FAILS(blm_open(&f, store, "a", write ? BLM_OPEN_WRITE : 0), -EPERM);
		ck_assert(strstr(blm_error_message(), "BLM_STORE_ANYONE")
			  && strstr(blm_error_message(), "mode 666"));
	}
	blm_store_close(store);
	OK(blm_store_open(&store, "store", BLM_STORE_ANYONE));
	OK(blm_open(&f, store, "a", BLM_OPEN_WRITE));
	blm_close(f);
	params.mode = 0606;
	OK(blm_create(NULL, store, "b", &params));
	blm_store_close(store);
	ck_assert_int_eq(chmod(found.gl_pathv[0], 0664), 0);
	OK(blm_store_open(&store, "store", 0));
	OK(blm_open(&f, store, "a", BLM_OPEN_WRITE));
	blm_close(f);
	blm_store_close(store);
	globfree(&found);
}
END_TEST

START_TEST(a_secret_is_not_put_where_others_may_read_it)
{
	struct blm_params params = keyed_with(two);
	struct stat st;

	write_all("a.key", "00112233445566778899aabbccddeeff\n", 33);
	if (_i == 0) {
		ck_assert_int_eq(chmod("a.key", 0640), 0);
	} else if (_i == 1) {
		ck_assert_int_eq(chmod("a.key", 0600), 0);
		ck_assert_int_eq(rename("a.key", "elsewhere"), 0);
		ck_assert_int_eq(symlink("elsewhere", "a.key"), 0);
	} else if (!cannot_give_away(65534, 65534)) {
		ck_assert_int_eq(chmod("a.key", 0600), 0);
		ck_assert_int_eq(chown("a.key", 65534, 65534), 0);
	} else {
		SKIP(cannot_give_away(65534, 65534));
	}
	FAILS(blm_create(NULL, NULL, "a", &params), -EKEYREJECTED);
	ck_assert_int_eq(access("a", F_OK), -1);
	ck_assert(stat("a.key", &st) == 0 && st.st_size == 33);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("paths");
	TCase *tc = tcase_create("paths");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(
		tc, a_relative_path_is_fixed_when_it_is_opened, 0, 2);
	tcase_add_test(tc, secrets_of_a_path_are_never_overwritten);
	tcase_add_loop_test(
		tc, a_maker_killed_early_blocks_no_other_maker,
		0, 2);
	tcase_add_loop_test(
		tc, an_existing_secret_is_on_disk_before_the_filter, 0, 2);
	tcase_add_test(tc, a_keyed_filter_is_replaced_by_one_with_another_secret);
	tcase_add_test(tc, a_keyed_filter_is_rebuilt_with_either_secret);
	tcase_add_test(tc, one_of_eight_racing_creators_makes_the_keyed_filter);
	tcase_add_test(tc, a_failed_creation_leaves_no_secret);
	tcase_add_loop_test(tc, a_late_creator_removes_only_its_own_secret, 0, 2);
	tcase_add_loop_test(tc, a_secret_is_not_put_where_others_may_read_it, 0, 3);
	tcase_add_loop_test(
		tc, a_world_readable_secret_is_refused_until_that_is_mended, 0,
		2);
	tcase_add_test(
		tc, a_world_writable_stores_filter_is_refused_unless_requested);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
