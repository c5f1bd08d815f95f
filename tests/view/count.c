/*
 * count.c - the count of keys after a power cut, which may keep the count and lose the keys, or the
 * other way round
 */
#include "suite.h"

#include "file/layout.h"

#include <fcntl.h>

enum { SYNCED = 100, MORE = 50 };

static struct blm_filter *made(const char *path)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path, &BLM_PARAMS(.capacity = 100000, .rate = 1e-9)));
	add_numbers(f, 0, SYNCED);
	OK(blm_sync(f));
	return f;
}

static void copy_range(const char *to, const char *from, off_t at, off_t end)
{
	int in = open(from, O_RDONLY | O_CLOEXEC),
	    out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char page[BLM_PAGE];

	ck_assert(in >= 0 && out >= 0);
	for (ssize_t n; at < end && (n = pread(in, page, sizeof(page), at)) > 0; at += n)
		ck_assert_int_eq(pwrite(out, page, (size_t)n, at), n);
	close(in);
	close(out);
}

/*
 * A file as a power cut leaves it: as it was at the last sync, but for one range, that reached the
 * disk.
 */
static const char *cut(const char *synced, const char *later, off_t from, off_t to)
{
	const char *path = a_path();

	copy_range(path, synced, 0, INT64_MAX);
	copy_range(path, later, from, to);
	return path;
}

static uint64_t counted(const struct blm_filter *f)
{
	uint64_t keys;

	OK(blm_count(f, &keys, NULL));
	return keys;
}

static struct blm_filter *opened(const char *path)
{
	struct blm_filter *f;

	OK(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
	ck_assert_uint_eq(numbers_found(f, 0, SYNCED), SYNCED);
	return f;
}

START_TEST(keys_lost_in_a_power_cut_are_counted_again)
{
	const char *path = a_path(), *before = a_path(), *after;
	struct blm_filter *f = made(path);

	copy_range(before, path, 0, INT64_MAX);
	add_numbers(f, SYNCED, SYNCED + MORE);
	after = cut(before, path, offsetof(struct blm_header, stripe), sizeof(struct blm_header));
	blm_close(f);
	f = opened(after);
	ck_assert_uint_eq(numbers_found(f, SYNCED, SYNCED + MORE), 0);
	ck_assert_uint_eq(counted(f), SYNCED + MORE);
	add_numbers(f, SYNCED, SYNCED + MORE);
	ck_assert_uint_eq(counted(f), SYNCED + 2 * MORE);
	blm_close(f);
}
END_TEST

START_TEST(a_power_cut_may_restore_the_last_syncs_count)
{
	const char *path = a_path(), *before = a_path(), *after;
	struct blm_filter *f = made(path);

	copy_range(before, path, 0, INT64_MAX);
	add_numbers(f, SYNCED, SYNCED + MORE);
	after = cut(before, path, sizeof(struct blm_header), INT64_MAX);
	blm_close(f);
	f = opened(after);
	ck_assert_uint_eq(counted(f), SYNCED);
	add_numbers(f, SYNCED, SYNCED + MORE);
	ck_assert_uint_eq(numbers_found(f, 0, SYNCED + MORE), SYNCED + MORE);
	ck_assert_uint_eq(counted(f), SYNCED);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("count");
	TCase *tc = tcase_create("count");

	tcase_add_test(tc,
		       keys_lost_in_a_power_cut_are_counted_again);
	tcase_add_test(
		tc,
		a_power_cut_may_restore_the_last_syncs_count);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
