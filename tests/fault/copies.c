/*
 * copies.c - files of kinds whose keys move, copied byte by byte while others add and sync, and the
 * copier waits at the worst of places
 *
 * After a start of the machine, and where nothing was changed between the last sync and the
 * copier's beginning, a copy holds what its original had synced then; once synced itself, all that
 * it was found to have.
 */
#include "processes.h"

#include "handle/handle.h"
#include "durable/checkpoint.h"

#include <sys/mman.h>

static uint64_t boots;		/* how often the machine started again */

uint64_t __real_blm_boot_number(void);
uint64_t __wrap_blm_boot_number(void);

uint64_t __wrap_blm_boot_number(void)
{
	return __real_blm_boot_number() + 2 * boots;	/* odd as it is: not 0 */
}

static void (*on_write_back)(const void *at, size_t bytes);

int __real_msync(void *at, size_t bytes, int flags);
int __wrap_msync(void *at, size_t bytes, int flags);

int __wrap_msync(void *at, size_t bytes, int flags)
{
	if (on_write_back)
		on_write_back(at, bytes);
	return __real_msync(at, bytes, flags);
}

static struct blm_filter *make_cuckoo(uint64_t capacity, double rate, bool sparse)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a",
		      &BLM_PARAMS(.kind = "cuckoo", .capacity = capacity, .rate = rate,
				  .sparse = sparse, .seeds = (uint64_t[]){ 7 }, .seed_count = 1)));
	return f;
}

static void add_all(struct blm_filter *f, uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		OK(blm_add(f, &from, 8));
}

static uint64_t lacking(const struct blm_filter *f, uint64_t keys)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < keys; i++)
		n += !blm_contains(f, &i, 8);
	return n;
}

/* What the copier reads and writes of `from`, up to there; of what is a hole he makes a hole. */
static void copy_part(const char *from, const char *to, uint64_t at, uint64_t end)
{
	static char buffer[BLM_BLOCK];
	static const char zeros[BLM_BLOCK];
	int in = open(from, O_RDONLY), out = open(to, O_RDWR | O_CREAT, 0644);
	struct stat st;

	ck_assert(in >= 0 && out >= 0 && fstat(in, &st) == 0);
	end = end < (uint64_t)st.st_size ? end : (uint64_t)st.st_size;
	ck_assert_int_eq(ftruncate(out, st.st_size), 0);
	while (at < end) {
		ssize_t n = pread(in, buffer, end - at < sizeof(buffer) ? end - at : sizeof(buffer),
				  (off_t)at);

		ck_assert_int_gt(n, 0);
		if (memcmp(buffer, zeros, (size_t)n))
			ck_assert_int_eq(pwrite(out, buffer, (size_t)n, (off_t)at), n);
		at += (uint64_t)n;
	}
	close(in), close(out);
}

/* The machine starts again, and of the data nothing is as it was. */
static void power_cut(const char *path)
{
	struct blm_header *header = malloc(sizeof(*header));
	int fd = open(path, O_RDWR);
	uint64_t at, end;

	ck_assert_int_eq(pread(fd, header, sizeof(*header), 0), sizeof(*header));
	at = le64toh(header->part[0].offset), end = at + le64toh(header->part[0].bytes);
	for (; at < end; at += 200)
		ck_assert_int_eq(pwrite(fd, "damage", 6, (off_t)at), 6);
	close(fd);
	free(header);
	boots++;
}

/*
 * Opened for reading, then for writing: nothing is lacking, and a key is taken out only if it says
 * so.
 */
static void has_all(const char *path, uint64_t keys, bool torn)
{
	for (int write = 0; write < 2; write++) {
		struct blm_filter *f;

		OK(blm_open(&f, NULL, path, write ? BLM_OPEN_WRITE : 0));
		ck_assert_uint_eq(lacking(f, keys), 0);
		if (write)
			ck_assert_int_eq(blm_remove(f, "nobody's", 8), torn ? -EUCLEAN : 0);
		blm_close(f);
	}
}

/* It is synced, changed, and the power fails: it is what it was synced as. */
static void is_good_once_it_is_synced(const char *path, uint64_t keys, bool torn)
{
	struct blm_filter *f;

	OK(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
	ck_assert_uint_eq(lacking(f, keys), 0);
	OK(blm_sync(f));
	OK(blm_add(f, "one more", 8));
	blm_close(f);
	ck_assert_int_eq(blm_verify(NULL, path, 0, NULL, NULL), torn);
	power_cut(path);
	has_all(path, keys, torn);
}

START_TEST(a_copy_of_an_unsynced_filter_has_its_synced_state)
{
	struct blm_filter *f = make_cuckoo(50000, 1e-6, false);

	add_all(f, 0, 20000);
	OK(blm_sync(f));
	add_all(f, 20000, 20010);
	copy_part("a", "copy", 0, UINT64_MAX);
	copy_part("a", "another", 0, UINT64_MAX);
	is_good_once_it_is_synced("another", 20010, false);
	boots = 1;
	has_all("copy", 20000, false);
	is_good_once_it_is_synced("copy", 20000, false);
	blm_close(f);
}
END_TEST

/* The marks of blocks are before the data. */
START_TEST(a_synced_copy_keeps_its_keys_in_a_power_cut)
{
	struct blm_filter *f = make_cuckoo(400000, 1e-6, false);
	uint64_t data = current_view(f)->checkpoint.data;

	add_all(f, 0, 380000);
	OK(blm_sync(f));
	add_all(f, 380000, 380008);
	copy_part("a", "copy", 0, data);
	add_all(f, 380008, 395000);
	copy_part("a", "copy", data, UINT64_MAX);
	is_good_once_it_is_synced("copy", 395000, false);
	blm_close(f);
}
END_TEST

/* Keys move from where he was not yet to where he had been. _i: with 1 the machine starts again */
START_TEST(a_copy_with_an_old_first_page_is_synced)
{
	struct blm_filter *f = make_cuckoo(400000, 0.001, false), *reader, *writer;
	const struct blm_view *view = current_view(f);
	uint64_t quarter = view->checkpoint.data + view->part[0].shape.bytes / 4;
	uint64_t number = 363000;

	add_all(f, 0, 360000);
	OK(blm_sync(f));
	copy_part("a", "copy", 0, quarter);
	add_all(f, 360000, 363000);
	copy_part("a", "copy", quarter, UINT64_MAX);
	copy_part("copy", "another", 0, UINT64_MAX);
	boots = (uint64_t)_i;
	OK(blm_open(&reader, NULL, "copy", 0));
	ck_assert_uint_eq(lacking(reader, 360000), 0);
	ck_assert_uint_gt(lacking(reader, 363000), 0);
	OK(blm_open(&writer, NULL, "copy", BLM_OPEN_WRITE));
	ck_assert_uint_eq(lacking(writer, 360000), 0);
	ck_assert_uint_eq(lacking(reader, 360000), 0);
	OK(blm_add(writer, &number, 8));
	ck_assert(blm_contains(reader, &number, 8));
	blm_close(reader), blm_close(writer);
	has_all("copy", 360000, false);
	is_good_once_it_is_synced("copy", 360000, false);
	is_good_once_it_is_synced("another", 360000, false);
	blm_close(f);
}
END_TEST

static const struct blm_view *seen;
static uint64_t stands_at;

/* The copier goes on when the image is about to be written back. */
static void copy_the_rest(const void *at, size_t bytes)
{
	if (at != seen->image.map + seen->checkpoint.records[BLM_IMAGE])
		return;
	copy_part("a", "copy", stands_at, UINT64_MAX);
	on_write_back = NULL;
}

START_TEST(a_copier_that_pauses_between_journal_pages_gets_no_mixture)
{
	struct blm_filter *f = make_cuckoo(4700000, 2e-9, true);

	seen = current_view(f);
	stands_at = seen->checkpoint.records[BLM_JOURNAL] + BLM_PAGE;
	ck_assert_uint_gt(blocks_of_part(seen->root.shape.bytes),
			  BLM_PAGE / sizeof(struct blm_block_record));
	add_all(f, 0, 20000);
	OK(blm_sync(f));
	add_all(f, 20000, 20001);
	copy_part("a", "copy", 0, stands_at);
	add_all(f, 20001, 40000);
	on_write_back = copy_the_rest;
	OK(blm_sync(f));
	ck_assert_ptr_null(on_write_back);
	blm_close(f);
	boots = 1;
	has_all("copy", 20000, true);
	is_good_once_it_is_synced("copy", 20000, true);
}
END_TEST

static struct blm_filter *adds;

/*
 * The copier reads everything up to the journal's blocks when a sync record is about to be written
 * back. If the test wants it, another process adds a key before that.
 */
static void copy_up_to_the_journal(const void *at, size_t bytes)
{
	if (bytes > BLM_PAGE && adds) {
		OK(blm_add(adds, "y", 1));
		adds = NULL;
	}
	if (at != live_of(seen) || !load_acquire(&live_of(seen)->flushing.word))
		return;
	copy_part("a", "copy", 0, stands_at);
	on_write_back = NULL;
}

/* _i: with 1 the copy shows that it was changed after its last sync */
START_TEST(a_copy_whose_journal_lost_its_blocks_opens_completely)
{
	struct blm_filter *f = make_cuckoo(50000, 1e-6, true);

	seen = current_view(f);
	stands_at = seen->checkpoint.blocks[BLM_JOURNAL];
	add_all(f, 0, 30000);
	OK(blm_sync(f));
	add_all(f, 30000, 40000);
	adds = _i ? f : NULL;
	on_write_back = copy_up_to_the_journal;
	OK(blm_sync(f));
	ck_assert_ptr_null(on_write_back);
	copy_part("a", "copy", stands_at, UINT64_MAX);
	blm_close(f);
	boots = _i;
	if (_i)
		has_all("copy", 40000, true);
	is_good_once_it_is_synced("copy", 40000, true);
}
END_TEST

START_TEST(a_copy_made_during_recovery_loses_nothing)
{
	struct blm_filter *f = make_cuckoo(400000, 1e-6, false), *copy;
	uint64_t image = current_view(f)->checkpoint.blocks[BLM_IMAGE] + BLM_BLOCK,
		 journal = current_view(f)->checkpoint.records[BLM_JOURNAL];

	add_all(f, 0, 380000);
	OK(blm_sync(f));
	add_all(f, 380000, 380001);
	copy_part("a", "copy", 0, image);
	add_all(f, 380001, 390000);
	OK(blm_sync(f));
	copy_part("a", "copy", image, UINT64_MAX);
	copy_part("copy", "another", 0, journal);
	boots = 1;
	OK(blm_open(&copy, NULL, "copy", BLM_OPEN_WRITE));
	copy_part("copy", "another", journal, UINT64_MAX);
	ck_assert_uint_eq(lacking(copy, 380000), 0);
	has_all("another", 380000, true);
	is_good_once_it_is_synced("another", 380000, true);
	blm_close(f), blm_close(copy);
}
END_TEST

static void copy_as_the_power_leaves_it(const void *at, size_t bytes)
{
	struct stat st;

	if (stat("copy", &st) < 0 || bytes < (uint64_t)st.st_size)
		return;
	copy_part("copy", "cut", 0, UINT64_MAX);
	on_write_back = NULL;
}

START_TEST(a_torn_copy_stays_torn_after_power_cuts)
{
	struct blm_filter *f = make_cuckoo(400000, 1e-6, false), *copy;
	uint64_t half = current_view(f)->checkpoint.blocks[BLM_IMAGE] + 9 * BLM_BLOCK;

	add_all(f, 0, 380000);
	OK(blm_sync(f));
	add_all(f, 380000, 380001);
	copy_part("a", "copy", 0, half);
	add_all(f, 380001, 390000);
	OK(blm_sync(f));
	copy_part("a", "copy", half, UINT64_MAX);
	OK(blm_open(&copy, NULL, "copy", BLM_OPEN_WRITE));
	OK(blm_add(copy, "y", 1));
	on_write_back = copy_as_the_power_leaves_it;
	OK(blm_sync(copy));
	ck_assert_ptr_null(on_write_back);
	boots = 1;
	has_all("cut", 380000, true);
	blm_close(f), blm_close(copy);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("copies");
	TCase *tc = tcase_create("copies");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_test(tc,
		       a_copy_of_an_unsynced_filter_has_its_synced_state);
	tcase_add_test(tc, a_synced_copy_keeps_its_keys_in_a_power_cut);
	tcase_add_loop_test(
		tc, a_copy_with_an_old_first_page_is_synced, 0, 2);
	tcase_add_test(
		tc, a_copier_that_pauses_between_journal_pages_gets_no_mixture);
	tcase_add_loop_test(tc, a_copy_whose_journal_lost_its_blocks_opens_completely,
			    0, 2);
	tcase_add_test(tc, a_copy_made_during_recovery_loses_nothing);
	tcase_add_test(tc, a_torn_copy_stays_torn_after_power_cuts);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
