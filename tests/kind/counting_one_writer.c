/*
 * counting_one_writer.c - removals and claims of a counting filter, one thread at a time and
 * without a lock, and copies and syncs that see which threads add to it
 *
 * tests/schedule has the interleavings. Here the kernel has a part: locks of bytes, deaths.
 */
#include "suite.h"

#include "file/writer_word.h"
#include "handle/handle.h"

#include <fcntl.h>
#include <signal.h>

static const uint64_t one = 1, two = 2;

/* The epoch of its first key is announced, so the next change needs no lock. */
static struct blm_filter *a_filter(const char **ret_path)
{
	struct blm_filter *f;

	*ret_path = a_path();
	OK(blm_create(&f, NULL, *ret_path, &BLM_PARAMS(.kind = "counting", .capacity = 10000)));
	ck_assert_int_eq(blm_claim(f, &one, sizeof(one)), 1);
	return f;
}

static struct blm_filter *opened(const char *path, unsigned flags)
{
	struct blm_filter *f;

	OK(blm_open(&f, NULL, path, flags));
	return f;
}

static unsigned owner(const struct blm_filter *f)
{
	return (unsigned)(load_acquire(&live_of(current_view(f))->writer) & BLM_WRITER_OWNER);
}

static void begin(struct blm_filter *f, struct blm_view **ret)
{
	OK(blm_change_begin_held(f, ret));
	OK(blm_lone_begin(f, *ret));
}

static void end(struct blm_filter *f, struct blm_view *view)
{
	blm_lone_end(view);
	blm_change_end_held(f, view);
}

START_TEST(removals_after_the_first_change_take_no_lock)
{
	const char *path;
	struct blm_filter *f = a_filter(&path);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct blm_view *view;

	ck_assert_int_ge(fd, 0);
	begin(f, &view);
	ck_assert_uint_ne(owner(f), 0);
	ck_assert(blm_ofd_is_free(fd, BLM_LOCK_WRITE));
	ck_assert(blm_ofd_is_free(fd, BLM_LOCK_REPLACE));
	end(f, view);
	ck_assert_uint_eq(owner(f), 0);
	ck_assert_int_eq(blm_remove(f, &one, sizeof(one)), 1);
	ck_assert_int_eq(blm_remove(f, &one, sizeof(one)), 0);
	close(fd);
	blm_close(f);
}
END_TEST

static int die_in_a_removal(void *path)
{
	struct blm_filter *f = opened(path, BLM_OPEN_WRITE);
	struct blm_view *view;

	MUST(blm_claim(f, &two, sizeof(two)) == 1);
	begin(f, &view);
	MUST(owner(f) != 0);
	raise(SIGKILL);
	return 0;
}

/* _i: the first event after it */
START_TEST(a_dead_remover_blocks_no_writer)
{
	const char *path;
	struct blm_filter *f = a_filter(&path), *copy;

	ck_assert_int_eq(join(spawn(die_in_a_removal, (void *)path)), 1000 + SIGKILL);
	ck_assert_uint_ne(owner(f), 0);
	if (_i == 1)
		OK(blm_sync(f));
	OK(blm_copy(&copy, NULL, NULL, f, 0));
	ck_assert_int_eq(blm_remove(copy, &two, sizeof(two)), 1);
	if (_i == 2)
		ck_assert_int_eq(blm_claim(f, &two, sizeof(two)), 0);
	ck_assert_int_eq(blm_remove(f, &two, sizeof(two)), 1);
	ck_assert_int_eq(blm_remove(f, &one, sizeof(one)), 1);
	ck_assert_uint_eq(owner(f), 0);
	blm_close(copy);
	blm_close(f);
}
END_TEST

static int die_in_an_add(void *path)
{
	struct blm_filter *f = opened(path, BLM_OPEN_WRITE);
	struct blm_view *view;

	MUST(blm_add(f, &two, sizeof(two)) == 1);
	MUST(blm_change_begin_held(f, &view) == 0);
	raise(SIGKILL);
	return 0;
}

/* _i: by a handle for reading, which looks at the slots as well */
START_TEST(a_copy_made_during_an_add_lacks_no_key)
{
	const char *path;
	struct blm_filter *f = a_filter(&path), *copy;
	struct blm_filter *from = opened(path, _i ? 0 : BLM_OPEN_WRITE);
	struct blm_view *view;

	OK(blm_change_begin_held(f, &view));
	OK(blm_copy(&copy, NULL, NULL, from, 0));
	blm_change_end_held(f, view);
	FAILS(blm_remove(copy, &one, sizeof(one)), -EUCLEAN);
	blm_close(copy);
	/* and if it died, the key was never counted */
	ck_assert_int_eq(join(spawn(die_in_an_add, (void *)path)), 1000 + SIGKILL);
	OK(blm_copy(&copy, NULL, NULL, from, 0));
	ck_assert_int_eq(blm_remove(copy, &one, sizeof(one)), 1);
	blm_close(copy);
	blm_close(from);
	blm_close(f);
}
END_TEST

static bool is_dirty(const struct blm_filter *f)
{
	struct blm_info info = { .size = sizeof(info) };

	OK(blm_info(f, &info));
	return info.dirty;
}

START_TEST(a_sync_during_an_add_leaves_the_file_dirty)
{
	const char *path;
	struct blm_filter *f = a_filter(&path), *other = opened(path, BLM_OPEN_WRITE);
	struct blm_view *view;

	OK(blm_change_begin_held(f, &view));
	OK(blm_sync(other));
	ck_assert(is_dirty(other));
	blm_change_end_held(f, view);
	OK(blm_sync(other));
	ck_assert(!is_dirty(other));
	blm_close(other);
	blm_close(f);
}
END_TEST

/* This handle syncs just before a thread takes the word. NULL: none does. */
static struct blm_filter *syncs_first;

int __real_blm_writer_take(struct blm_presence *p, int fd);
int __wrap_blm_writer_take(struct blm_presence *p, int fd);

int __wrap_blm_writer_take(struct blm_presence *p, int fd)
{
	struct blm_filter *other = syncs_first;

	syncs_first = NULL;
	if (other)
		OK(blm_sync(other));
	return __real_blm_writer_take(p, fd);
}

static const char *const announcing[] = { "counting", "cuckoo" };
static const enum { TAKE_OUT, CLAIM, PUT_IN } changes[] = { TAKE_OUT, CLAIM, PUT_IN };
enum { CHANGES = sizeof(changes) / sizeof(changes[0]) };

/* Otherwise a file that a power cut tore would look unchanged since the sync. */
START_TEST(a_change_before_an_epochs_sync_announces_that_epoch)
{
	const char *path = a_path(), *kind = announcing[_i / CHANGES];
	struct blm_filter *f, *other;
	const struct blm_live *live;
	uint64_t epoch;
	int r;

	OK(blm_create(&f, NULL, path, &BLM_PARAMS(.kind = kind, .capacity = 10000)));
	ck_assert_int_eq(blm_claim(f, &one, sizeof(one)), 1);
	other = opened(path, BLM_OPEN_WRITE);
	live = live_of(current_view(f));
	epoch = load_acquire(&live->epoch.word);
	syncs_first = other;
	r = changes[_i % CHANGES] == TAKE_OUT ? blm_remove(f, &one, sizeof(one))
		: changes[_i % CHANGES] == CLAIM ? blm_claim(f, &two, sizeof(two))
		: blm_add(f, &two, sizeof(two));
	ck_assert_int_eq(r, 1);
	/* an add to a counting filter takes no word, so the other handle has not synced */
	ck_assert(syncs_first || load_acquire(&live->epoch.word) > epoch);
	ck_assert_uint_eq(load_acquire(&live->announced.word), load_acquire(&live->epoch.word));
	ck_assert_uint_eq(load_acquire(&live->written.word), load_acquire(&live->epoch.word));
	syncs_first = NULL;
	blm_close(other);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("kind/counting_one_writer");
	TCase *tc = tcase_create("counting_one_writer");

	tcase_add_test(tc, removals_after_the_first_change_take_no_lock);
	tcase_add_loop_test(tc, a_dead_remover_blocks_no_writer, 0, 3);
	tcase_add_loop_test(tc, a_copy_made_during_an_add_lacks_no_key, 0, 2);
	tcase_add_test(tc, a_sync_during_an_add_leaves_the_file_dirty);
	tcase_add_loop_test(tc, a_change_before_an_epochs_sync_announces_that_epoch, 0,
			    (int)ARRAY_LEN(announcing) * CHANGES);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
