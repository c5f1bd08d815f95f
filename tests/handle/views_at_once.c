/*
 * views_at_once.c - operations on several filters take effect at one moment, also where a filter is
 * replaced while they wait
 */
#include "handle/handle.h"
#include "suite.h"

#include <pthread.h>
#include <sched.h>

static const struct blm_params small = BLM_PARAMS(.capacity = 1000, .rate = 1e-9, .seed_count = 1,
						  .seeds = (const uint64_t[]){ 7 });

static struct blm_filter *a, *b, *c;

/* ---- What happens while a call waits: each hook runs once, in the place of the wait ---- */

static void (*before_lock)(void), (*before_end)(void), (*before_still)(void),
	(*before_renewal)(void), (*before_open)(void);

static void run(void (**hook)(void))
{
	void (*now)(void) = *hook;

	*hook = NULL;
	if (now)
		now();
}

int __real_blm_lock_exclusive(struct blm_lock *lock, int fd);
int __wrap_blm_lock_exclusive(struct blm_lock *lock, int fd);

int __wrap_blm_lock_exclusive(struct blm_lock *lock, int fd)
{
	run(&before_lock);
	return __real_blm_lock_exclusive(lock, fd);
}

int __real_blm_change_end_unnamed(struct blm_filter *f, struct blm_view *view, bool held);
int __wrap_blm_change_end_unnamed(struct blm_filter *f, struct blm_view *view, bool held);

int __wrap_blm_change_end_unnamed(struct blm_filter *f, struct blm_view *view, bool held)
{
	run(&before_end);
	return __real_blm_change_end_unnamed(f, view, held);
}

int __real_blm_quiesce_begin(struct blm_quiesced *ret, const struct blm_filter *f,
			     struct blm_view *view);
int __wrap_blm_quiesce_begin(struct blm_quiesced *ret, const struct blm_filter *f,
			     struct blm_view *view);

int __wrap_blm_quiesce_begin(struct blm_quiesced *ret, const struct blm_filter *f,
			     struct blm_view *view)
{
	run(&before_still);
	return __real_blm_quiesce_begin(ret, f, view);
}

struct blm_view *__real_blm_view_renew(const struct blm_filter *f, struct blm_view *view);
struct blm_view *__wrap_blm_view_renew(const struct blm_filter *f, struct blm_view *view);

struct blm_view *__wrap_blm_view_renew(const struct blm_filter *f, struct blm_view *view)
{
	run(&before_renewal);
	return __real_blm_view_renew(f, view);
}

int __real_blm_view_open(struct blm_view **ret, struct blm_filter *f);
int __wrap_blm_view_open(struct blm_view **ret, struct blm_filter *f);

int __wrap_blm_view_open(struct blm_view **ret, struct blm_filter *f)
{
	run(&before_open);
	return __real_blm_view_open(ret, f);
}

static bool has(const struct blm_filter *f, const char *key)
{
	int r = blm_contains(f, key, strlen(key));

	OK(r);
	return r == 1;
}

static void put(struct blm_filter *f, const char *key)
{
	OK(blm_add(f, key, strlen(key)));
}

/* By another handle than the one that the call under test has. */
static void clear_by_other(const struct blm_filter *f)
{
	struct blm_filter *other;

	OK(blm_open(&other, NULL, f->place.name, BLM_OPEN_WRITE));
	OK(blm_clear(other));
	blm_close(other);
}

static void put_by_other(const struct blm_filter *f, const char *key)
{
	struct blm_filter *other;

	OK(blm_open(&other, NULL, f->place.name, BLM_OPEN_WRITE));
	put(other, key);
	blm_close(other);
}

static void make_three(const struct blm_params *params)
{
	OK(blm_create(&a, NULL, a_path(), params));
	OK(blm_template(&b, NULL, a_path(), a, 0));
	OK(blm_template(&c, NULL, a_path(), a, 0));
}

static void close_three(void)
{
	blm_close(a);
	blm_close(b);
	blm_close(c);
}

/* ---- Opening the next file ---- */

static void delete_a(void)
{
	ck_assert_int_eq(unlink(a->place.name), 0);
}

START_TEST(a_filter_dropped_after_a_replacement_is_stale)
{
	struct blm_view *view;

	OK(blm_create(&a, NULL, a_path(), &small));
	clear_by_other(a);
	before_open = delete_a;
	FAILS(blm_change_begin(a, &view), -ESTALE);
	ck_assert_ptr_null(before_open);
	blm_close(a);
}
END_TEST

static void clear_a_again(void)
{
	before_open = NULL;
	clear_by_other(a);
}

START_TEST(a_filter_that_is_replaced_twice_is_the_last_one)
{
	OK(blm_create(&a, NULL, a_path(), &small));
	put(a, "old");
	clear_by_other(a);
	before_open = clear_a_again;
	ck_assert_int_eq(blm_claim(a, "old", 3), 1);
	ck_assert(has(a, "old"));
	blm_close(a);
}
END_TEST

/* ---- In place ---- */

static void clear_b_and_put_new_in_both(void)
{
	OK(blm_clear(b));
	put(b, "new");
	put(a, "new");
}

START_TEST(an_and_in_place_keeps_a_replaced_sources_keys)
{
	make_three(&small);
	put(a, "old");
	put(b, "old");
	before_lock = clear_b_and_put_new_in_both;
	OK(blm_combine_into(a, BLM_INTERSECT, (const struct blm_filter *const[]){ b }, 1, 0, NULL));
	ck_assert_ptr_null(before_lock);
	ck_assert(has(b, "new"));
	ck_assert(has(a, "new"));
	close_three();
}
END_TEST

START_TEST(a_published_filter_has_keys_of_a_source_replaced_meanwhile)
{
	struct blm_filter *published;

	make_three(&small);
	before_lock = clear_b_and_put_new_in_both;
	OK(blm_store_publish(NULL, a->place.name, b, 0, BLM_PUBLISH_WRITABLE));
	ck_assert_ptr_null(before_lock);
	OK(blm_open(&published, NULL, a->place.name, 0));
	ck_assert(has(published, "new"));
	blm_close(published);
	close_three();
}
END_TEST

static void clear_b_put_new_and_clear_a(void)
{
	clear_by_other(b);
	put_by_other(b, "new");
	clear_by_other(a);
}

START_TEST(a_repeated_union_in_place_has_its_sources_present_keys)
{
	make_three(&small);
	put(b, "old");
	before_end = clear_b_put_new_and_clear_a;
	OK(blm_combine_into(a, BLM_UNION, (const struct blm_filter *const[]){ b }, 1, 0, NULL));
	ck_assert_ptr_null(before_end);
	ck_assert(has(a, "new"));
	close_three();
}
END_TEST

static int ends;

/*
 * Each time that the union is about to end. After the third time it holds clearing off, so the hook
 * would wait forever.
 */
static void clear_a_three_times(void)
{
	clear_by_other(a);
	if (++ends < 3)
		before_end = clear_a_three_times;
}

START_TEST(a_union_in_place_ends_despite_a_clear)
{
	make_three(&small);
	put(b, "key");
	before_end = clear_a_three_times;
	OK(blm_combine_into(a, BLM_UNION, (const struct blm_filter *const[]){ b }, 1, 0, NULL));
	ck_assert_int_eq(ends, 3);
	ck_assert(has(a, "key"));
	close_three();
}
END_TEST

/* ---- New filters of several ---- */

static void move_key_from_c_to_b(void)
{
	clear_by_other(b);
	put_by_other(b, "moved");
	OK(blm_remove(c, "moved", 5));
}

START_TEST(a_union_has_a_key_that_moves_between_its_sources)
{
	struct blm_params counting = small;
	struct blm_filter *f;

	counting.kind = "counting";
	make_three(&counting);
	put(c, "moved");
	before_still = move_key_from_c_to_b;
	if (_i) {
		OK(blm_combine_into(a, BLM_UNION, (const struct blm_filter *const[]){ b, c }, 2, 0,
				    NULL));
		ck_assert(has(a, "moved"));
	} else {
		OK(blm_combine(&f, NULL, NULL, BLM_UNION,
			       (const struct blm_filter *const[]){ b, c }, 2, 0, NULL));
		ck_assert(has(f, "moved"));
		blm_close(f);
	}
	ck_assert_ptr_null(before_still);
	close_three();
}
END_TEST

/* C was replaced before the call. While the call looks what C is now, B and C are replaced. */
static void replace_b_and_c(void)
{
	clear_by_other(b);
	clear_by_other(c);
	put_by_other(b, "new");
	put_by_other(c, "new");
}

START_TEST(several_views_are_current_at_one_moment)
{
	const struct blm_view *view[2];

	make_three(&small);
	clear_by_other(c);
	before_renewal = replace_b_and_c;
	OK(blm_views_at_once(view, (const struct blm_filter *const[]){ b, c }, 2));
	ck_assert_ptr_null(before_renewal);
	ck_assert_int_eq(blm_view_stays(b, view[0]), 0);
	ck_assert_int_eq(blm_view_stays(c, view[1]), 0);
	close_three();
}
END_TEST

START_TEST(a_dropped_source_gives_the_keys_that_it_had)
{
	struct blm_store *store;
	struct blm_filter *f;

	OK(blm_store_open(&store, a_path(), BLM_STORE_CREATE));
	OK(blm_create(&a, NULL, NULL, &small));
	OK(blm_template(&b, store, "b", a, 0));
	put(a, "a");
	put(b, "b");
	OK(blm_store_drop(store, "b"));
	ck_assert(has(b, "b"));
	FAILS(blm_status(b), -ESTALE);
	OK(blm_combine(&f, NULL, NULL, BLM_UNION, (const struct blm_filter *const[]){ a, b }, 2, 0,
		       NULL));
	ck_assert(has(f, "a") && has(f, "b"));
	blm_close(a), blm_close(b), blm_close(f);
	blm_store_close(store);
}
END_TEST

/* ---- What does not open ---- */

static const struct blm_params keyed = BLM_PARAMS(.capacity = 1000, .rate = 1e-9, .hash = "siphash",
						  .secret = (const uint8_t *)"sixteen bytes...",
						  .replace = true);

/* What took its place has keys that the old file lacks. */
START_TEST(a_source_whose_new_file_does_not_open_is_refused)
{
	struct blm_filter *f = NULL;
	char secret[700];

	make_three(&small);
	put(a, "key");
	put(b, "key");
	OK(blm_create(NULL, NULL, b->place.name, &keyed));
	snprintf(secret, sizeof(secret), "%s.key", b->place.name);
	ck_assert_int_eq(unlink(secret), 0);
	for (enum blm_op op = BLM_UNION; op <= BLM_INTERSECT; op++) {
		FAILS(blm_combine_into(a, op, (const struct blm_filter *const[]){ b }, 1, 0, NULL),
		      -ENOKEY);
		FAILS(blm_combine(&f, NULL, NULL, op, (const struct blm_filter *const[]){ a, b }, 2,
				  0, NULL),
		      -ENOKEY);
	}
	FAILS(blm_store_publish(NULL, a->place.name, b, 0, 0), -ENOKEY);
	ck_assert(has(a, "key"));
	close_three();
}
END_TEST

/* ---- Many threads ---- */

/* of each adder in one AND: so the filters never hold more than they were planned for */
enum { ADDERS = 3, ANDS = 40, KEYS = 2000 };

static atomic_bool over;
static atomic_uint rounds;
static atomic_ullong lost;
static atomic_int failed;

static void *clear_all_the_time(void *nothing)
{
	while (!atomic_load(&over)) {
		if (blm_clear(b) < 0)
			failed++;
		sched_yield();
	}
	return nothing;
}

/*
 * First add to the source, then to the changed filter: a key that is still in the source after that
 * must be in the changed filter.
 */
static void *add_to_both(void *context)
{
	uint64_t first = (uint64_t)(uintptr_t)context << 32, key = first;

	for (; !atomic_load(&over); key++) {
		int in_a, in_b;

		while (key - first >= (uint64_t)KEYS * atomic_load(&rounds) && !atomic_load(&over))
			sched_yield();
		if (blm_add(b, &key, sizeof(key)) < 0 || blm_add(a, &key, sizeof(key)) < 0)
			failed++;
		in_a = blm_contains(a, &key, sizeof(key));
		in_b = blm_contains(b, &key, sizeof(key));
		if (in_a < 0 || in_b < 0)
			failed++;
		if (in_a == 0 && in_b == 1)
			lost++;
	}
	return NULL;
}

START_TEST(ands_and_clears_lose_no_key_of_both)
{
	const struct blm_params large = BLM_PARAMS(.capacity = (uint64_t)ADDERS * ANDS * KEYS,
						   .rate = 1e-9);
	pthread_t thread[ADDERS + 1];

	make_three(&large);
	ck_assert_int_eq(pthread_create(&thread[ADDERS], NULL, clear_all_the_time, NULL), 0);
	for (uintptr_t i = 0; i < ADDERS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, add_to_both, (void *)(i + 1)), 0);
	for (int i = 0; i < ANDS; i++) {
		atomic_store(&rounds, (unsigned)i + 1);
		OK(blm_combine_into(a, BLM_INTERSECT, (const struct blm_filter *const[]){ b }, 1, 0,
				    NULL));
	}
	atomic_store(&over, true);
	for (int i = 0; i <= ADDERS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_int_eq(atomic_load(&failed), 0);
	ck_assert_uint_eq(atomic_load(&lost), 0);
	close_three();
}
END_TEST

static void *and_b_with_a(void *nothing)
{
	for (int i = 0; i < ANDS; i++)
		if (blm_combine_into(b, BLM_INTERSECT, (const struct blm_filter *const[]){ a }, 1,
				     0, NULL)
		    < 0)
			failed++;
	return nothing;
}

START_TEST(two_filters_that_combine_crosswise_do_not_deadlock)
{
	pthread_t thread;

	make_three(&small);
	put(a, "key");
	put(b, "key");
	ck_assert_int_eq(pthread_create(&thread, NULL, and_b_with_a, NULL), 0);
	for (int i = 0; i < ANDS; i++)
		OK(blm_combine_into(a, BLM_INTERSECT, (const struct blm_filter *const[]){ b }, 1, 0,
				    NULL));
	pthread_join(thread, NULL);
	ck_assert_int_eq(atomic_load(&failed), 0);
	ck_assert(has(a, "key") && has(b, "key"));
	close_three();
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("moments");
	Suite *s;

	prefer_memory();
	s = begin_suite("views_at_once");
	tcase_add_test(t, a_filter_dropped_after_a_replacement_is_stale);
	tcase_add_test(t, a_filter_that_is_replaced_twice_is_the_last_one);
	tcase_add_test(t, an_and_in_place_keeps_a_replaced_sources_keys);
	tcase_add_test(t, a_published_filter_has_keys_of_a_source_replaced_meanwhile);
	tcase_add_test(t, a_repeated_union_in_place_has_its_sources_present_keys);
	tcase_add_test(t, a_union_in_place_ends_despite_a_clear);
	tcase_add_loop_test(t, a_union_has_a_key_that_moves_between_its_sources, 0, 2);
	tcase_add_test(t, several_views_are_current_at_one_moment);
	tcase_add_test(t, a_dropped_source_gives_the_keys_that_it_had);
	tcase_add_test(t, a_source_whose_new_file_does_not_open_is_refused);
	tcase_add_test(t, ands_and_clears_lose_no_key_of_both);
	tcase_add_test(t, two_filters_that_combine_crosswise_do_not_deadlock);
	suite_add_tcase(s, t);
	return run_suite(s);
}
