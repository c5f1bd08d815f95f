/*
 * window.c - windows: which keys are forgotten, when, and that none is before; the test sets the
 * time
 */
#include "handle/handle.h"
#include "kind/common/clock.h"
#include "suite.h"

#include <signal.h>
#include <sys/mman.h>

#define SECOND UINT64_C(1000000000)

/* In memory that all processes of a test share. */
static struct shared {
	_Atomic uint64_t now;
	/* keys, from 0 on, whose add returned; by its only writer */
	_Atomic uint64_t acknowledged;
	_Atomic uint64_t won[4096];
	_Atomic bool end;
} *shared;

static uint64_t told_time(void)
{
	return shared->now;
}

static void begin_time(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	shared->now = UINT64_C(1700000000) * SECOND;
	blm_clock = told_time;
}

static void pass(double seconds)
{
	shared->now += (uint64_t)(int64_t)(seconds * 1e9);
}

static struct blm_filter *create(const char *path, const char *options, uint64_t capacity)
{
	uint64_t seed = 7;
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path,
		      &BLM_PARAMS(.kind = "window", .options = options, .capacity = capacity,
				  .rate = 1e-6, .seeds = &seed, .seed_count = 1)));
	return f;
}

static int add(struct blm_filter *f, uint64_t key)
{
	int r = blm_add(f, &key, 8);

	OK(r);
	return r;
}

static bool has(const struct blm_filter *f, uint64_t key)
{
	return blm_contains(f, &key, 8);
}

static uint64_t found(const struct blm_filter *f, uint64_t from, uint64_t to)
{
	uint64_t n = 0;

	for (; from < to; from++)
		n += has(f, from);
	return n;
}

/* ---- By time ---- */

/* Every look at the clock takes the twentieth part of a slot of a second. */
static uint64_t hurried_time(void)
{
	return atomic_fetch_add(&shared->now, SECOND / 20) + SECOND / 20;
}

START_TEST(slow_adds_and_claims_are_found_for_the_whole_window)
{
	enum { KEYS = 50000 };
	struct blm_filter *f;
	uint64_t *keys = calloc(KEYS, 8);

	f = create(a_path(), "slots=4,span=4", 4 * KEYS);
	for (uint64_t i = 0; i < KEYS; i++)
		keys[i] = i;
	blm_clock = hurried_time;
	ck_assert_int_eq((_i ? blm_claim_fixed : blm_add_fixed)(f, keys, 8, KEYS, NULL), KEYS);
	blm_clock = told_time;
	ck_assert_uint_eq(found(f, KEYS - 256, KEYS), 256);
	pass(4);
	ck_assert_uint_eq(found(f, KEYS - 256, KEYS), 256);
	pass(2);
	ck_assert_uint_eq(found(f, 0, KEYS), 0);
	blm_close(f);
	free(keys);
}
END_TEST

START_TEST(a_key_stays_for_the_window_and_expires_later)
{
	struct blm_filter *f = create(a_path(), "slots=4,span=40", 1000), *reader;

	OK(blm_open(&reader, NULL, f->place.display, 0));
	/* wherever in its slot it is added, and whether or not others are */
	for (int tenth = 0; tenth < 100; tenth += 7) {
		for (int busy = 0; busy < 2; busy++) {
			uint64_t key = (uint64_t)(1000 + 10 * tenth + busy), added;

			pass(100);
			add(f, 1);
			pass(tenth / 10.0);
			add(f, key);
			added = shared->now;
			while (shared->now < added + 40 * SECOND) {
				ck_assert_msg(has(reader, key) && has(f, key), "after %g s",
					      (double)(shared->now - added) / 1e9);
				pass(0.9);
				if (busy)
					add(f, shared->now);
			}
			/* the words are in units of 64 ns */
			shared->now = added + 50 * SECOND + 64;
			ck_assert(!has(reader, key) && !has(f, key));
		}
	}
	blm_close(f), blm_close(reader);
}
END_TEST

START_TEST(adding_a_key_renews_it_and_claiming_does_not)
{
	struct blm_filter *f = create(a_path(), "slots=4,span=40", 1000);
	uint64_t claimed = 2;

	add(f, 1);
	ck_assert_int_eq(blm_claim(f, &claimed, 8), 1);
	for (int i = 0; i < 5; i++) {
		pass(10);
		ck_assert_int_eq(add(f, 1), 1);
		/* the window is over, so it is new again */
		ck_assert_int_eq(blm_claim(f, &claimed, 8), i == 4);
	}
	pass(39);
	ck_assert(has(f, 1));
	blm_close(f);
}
END_TEST

START_TEST(a_clock_that_steps_back_loses_nothing)
{
	struct blm_filter *f = create(a_path(), "slots=4,span=40", 1000);

	for (uint64_t i = 0; i < 4; i++) {
		pass(10);
		add(f, i);
	}
	pass(-100000);
	ck_assert_uint_eq(found(f, 0, 4), 4);
	add(f, 4);
	pass(1000);
	add(f, 5);
	ck_assert_uint_eq(found(f, 0, 6), 6);
	pass(99000);
	ck_assert_uint_eq(found(f, 0, 6), 6);
	pass(9);			/* as late as it was before, and a little */
	add(f, 6);
	ck_assert_uint_eq(found(f, 0, 7), 7);
	pass(51);
	ck_assert_uint_eq(found(f, 0, 7), 0);
	blm_close(f);
}
END_TEST

START_TEST(after_a_pause_nothing_old_is_left)
{
	struct blm_filter *f = create(a_path(), "slots=3,span=30", 1000);

	for (int i = 0; i < 20; i++) {
		add(f, 1);
		ck_assert(has(f, 1));
		pass(i % 2 ? 1e6 + i : 45 + i);
		ck_assert(!has(f, 1));
		add(f, 2);
		ck_assert(!has(f, 1) && has(f, 2));
		pass(30);
		ck_assert(has(f, 2));
		pass(11);
	}
	blm_close(f);
}
END_TEST

/* ---- By count ---- */

START_TEST(by_count_the_last_keys_are_found_and_older_not)
{
	enum { KEYS = 1000, SLOT = KEYS / 5 };
	struct blm_filter *f = create(a_path(), "slots=5", KEYS);

	for (uint64_t i = 0; i < 10 * KEYS; i++) {
		uint64_t window = i < KEYS ? 0 : i - KEYS + 1,
			 gone = i < KEYS + SLOT ? 0 : i - KEYS - SLOT;

		add(f, i);
		if (i % 37)
			continue;
		ck_assert_uint_eq(found(f, window, i + 1), i + 1 - window);
		ck_assert_uint_le(found(f, 0, gone), 1);
	}
	blm_close(f);
}
END_TEST

START_TEST(it_turns_during_a_build_with_full_slots)
{
	enum { KEYS = 30000, WINDOW = 10000 };
	uint64_t *keys = malloc(KEYS * sizeof(*keys)), false_positives;
	struct blm_params params = BLM_PARAMS(.kind = "window", .capacity = WINDOW, .rate = 0.01);
	struct blm_build *b;
	struct blm_filter *f;

	for (uint64_t i = 0; i < KEYS; i++)
		keys[i] = i;
	OK(blm_build_begin(&b, NULL, a_path(), &params, NULL));
	OK(blm_build_add_fixed(b, keys, 8, KEYS));
	OK(blm_build_finish(b, &f));
	ck_assert_uint_eq(found(f, KEYS - WINDOW, KEYS), WINDOW);
	ck_assert_uint_lt(found(f, 0, WINDOW), WINDOW / 4);
	false_positives = found(f, 1000000, 1100000);
	ck_assert_msg(false_positives <= 1000 + 5 * 32, "%llu of 100000",
		      (unsigned long long)false_positives);
	blm_close(f);
	free(keys);
}
END_TEST

START_TEST(each_rotation_forgets_the_oldest_slot)
{
	struct blm_filter *f = create(a_path(), "slots=3", 3000), *other;

	OK(blm_open(&other, NULL, f->place.display, BLM_OPEN_WRITE));
	for (uint64_t i = 0; i < 30; i++) {
		add(i % 2 ? f : other, i);
		ck_assert_uint_eq(found(f, 0, i + 1), i < 4 ? i + 1 : 4);
		OK(blm_rotate(i % 3 ? f : other));
		ck_assert_uint_eq(found(other, 0, i + 1), i < 3 ? i + 1 : 3);
	}
	blm_close(f), blm_close(other);
}
END_TEST

START_TEST(kinds_without_slots_refuse_to_rotate_and_windows_to_combine)
{
	struct blm_filter *f, *w = create(a_path(), NULL, 100);

	OK(blm_create(&f, NULL, a_path(), &BLM_PARAMS(.capacity = 100)));
	FAILS(blm_rotate(f), -EOPNOTSUPP);
	FAILS(blm_combine(NULL, NULL, a_path(), BLM_UNION, (const struct blm_filter *[]){ w, w }, 2,
			  0, NULL),
	      -EOPNOTSUPP);
	FAILS(blm_advance(w, (const struct blm_filter *[]){ w }, 1), -EOPNOTSUPP);
	blm_close(f), blm_close(w);
}
END_TEST

/* ---- Its file ---- */

START_TEST(copies_of_every_sort_are_in_the_same_slot)
{
	struct blm_filter *f = create(a_path(), "slots=3", 3000), *copy[3], *twin;
	void *bytes;
	size_t len;

	for (uint64_t i = 0; i < 7; i++) {
		add(f, i);
		OK(blm_rotate(f));
	}
	OK(blm_copy(&copy[0], NULL, a_path(), f, 0));
	OK(blm_copy(&copy[1], NULL, NULL, f, 0));
	OK(blm_export_bytes(f, NULL, &bytes, &len));
	OK(blm_import_bytes(&copy[2], NULL, a_path(), NULL, bytes, len));
	OK(blm_template(&twin, NULL, a_path(), f, 0));
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(found(copy[i], 0, 7), 3);
		add(copy[i], 100);
		OK(blm_rotate(copy[i]));
		ck_assert_uint_eq(found(copy[i], 0, 7), 2);
		ck_assert(has(copy[i], 100));
		blm_close(copy[i]);
	}
	ck_assert_uint_eq(found(twin, 0, 7), 0);
	add(twin, 5);
	ck_assert_uint_eq(found(twin, 0, 7), 1);
	OK(blm_sync(f));
	ck_assert_int_eq(blm_verify(NULL, f->place.display, 0, NULL, NULL), 0);
	OK(blm_clear(f));
	ck_assert_uint_eq(found(f, 0, 7), 0);
	blm_free(bytes);
	blm_close(f), blm_close(twin);
}
END_TEST

/*
 * A power cut keeps any of the changed pages since the last sync. Here: the header as it was, with
 * slots as they are now, and the other way round, where NEWEST has been written and what came into
 * its slot has not; and the keys of the last sync that are in the window are there.
 */
START_TEST(a_power_cut_loses_no_synced_key_of_the_window)
{
	enum { SLOTS = 3 };
	uint64_t random = (uint64_t)_i + 1;
	char *path = strdup(a_path()), *cut = strdup(a_path());
	struct blm_filter *f = create(path, "slots=3", 30000);
	uint64_t bytes = current_view(f)->image.bytes, rotations = 0, last_of[64] = { 0 };
	uint8_t *synced = malloc(bytes), *now = malloc(bytes);
	uint64_t at_sync, next = 0, word[64] = { 0 }, cut_at;
	FILE *file;

	for (; rotations < 10; rotations++) {
		for (int i = 0; i < 100; i++)
			add(f, next++);
		OK(blm_rotate(f));
		last_of[rotations] = next;
		word[rotations] = load_acquire(current_view(f)->root.own);
	}
	OK(blm_sync(f));
	at_sync = rotations;
	memcpy(synced, current_view(f)->image.map, bytes);
	for (uint64_t more = (uint64_t)_i % (2 * SLOTS + 2); more; more--, rotations++) {
		const struct blm_part *slot =
			&current_view(f)->part[current_view(f)->root.kind->begin_slot(
				&current_view(f)->root)];

		for (int i = 0; i < 100; i++)
			add(f, next++);
		/* it is flushed before its time comes, so it is on the disk as if it were synced */
		memcpy(synced + (slot->bytes - current_view(f)->image.map), slot->bytes,
		       slot->shape.bytes);
		OK(blm_rotate(f));
		last_of[rotations] = next;
		word[rotations] = load_acquire(current_view(f)->root.own);
	}
	memcpy(now, current_view(f)->image.map, bytes);
	for (uint64_t page = 0; page < bytes; page += 4096) {
		uint64_t count = bytes - page < 4096 ? bytes - page : 4096;

		if (next_random(&random) % 2)
			memcpy(now + page, synced + page, count);
	}
	file = fopen(cut, "we");
	ck_assert_uint_eq(fwrite(now, 1, bytes, file), bytes);
	fclose(file);
	blm_close(f);
	OK(blm_open(&f, NULL, cut, BLM_OPEN_WRITE));
	/*
	 * rotations since then: of the synced keys those of the last SLOTS slots count, as far as
	 * they are not past the window
	 */
	if (rotations < at_sync + SLOTS) {
		uint64_t from = last_of[rotations - SLOTS - 1], to = last_of[at_sync - 1];

		ck_assert_uint_eq(found(f, from, to), to - from);
	}
	for (cut_at = at_sync - 1; word[cut_at] != load_acquire(current_view(f)->root.own);
	     cut_at++)
		ck_assert_uint_lt(cut_at, rotations);
	ck_assert_uint_eq(found(f, 0, last_of[cut_at - SLOTS - 1]), 0);
	for (int i = 0; i <= SLOTS + 1; i++)
		OK(blm_rotate(f));
	ck_assert_uint_eq(found(f, 0, next), 0);
	blm_close(f);
	free(synced), free(now);
}
END_TEST

START_TEST(an_interrupted_rotation_shows_nothing_and_is_cleared_next)
{
	struct blm_filter *f = create(a_path(), "slots=2", 3000);
	struct blm_view *view;

	for (uint64_t i = 0; i < 5; i++) {
		add(f, i);
		OK(blm_rotate(f));
	}
	view = current_view(f);
	for (unsigned i = 0; i < view->parts; i++)	/* a slot that is neither asked nor clear */
		if (!view->root.kind->counts(&view->root, i))
			memset(view->part[i].bytes, 0xff, view->part[i].shape.bytes);
	ck_assert_uint_eq(found(f, 0, 1000), 2);
	OK(blm_rotate(f));
	ck_assert_uint_eq(found(f, 0, 1000), 1);
	add(f, 500);
	ck_assert_uint_eq(found(f, 0, 1000), 2);
	blm_close(f);
}
END_TEST

/*
 * As a power cut leaves it that kept the line of `newest`, and not that of `counted`; and as older
 * writers and copies do.
 */
START_TEST(one_of_two_counts_keeps_a_slots_length)
{
	struct blm_filter *f = create(a_path(), "slots=4", 400);
	uint64_t *words;

	for (uint64_t i = 0; i < 450; i++)
		add(f, i);
	words = current_view(f)->root.own;
	ck_assert_uint_eq(words[8], 400);
	ck_assert_uint_eq(words[1], 400);
	words[_i ? 1 : 8] = _i ? 0 : 300;
	for (uint64_t i = 450; i < 500; i++)
		add(f, i);
	ck_assert_uint_eq(found(f, 0, 500), 500);
	add(f, 500);
	ck_assert_uint_eq(found(f, 0, 100), 0);
	ck_assert_uint_eq(found(f, 100, 501), 401);
	blm_close(f);
}
END_TEST

START_TEST(impossible_words_crash_no_process)
{
	struct blm_filter *f = create(a_path(), "slots=3,span=30", 300);
	static const uint64_t words[] = {
		0, 1, 63, UINT64_MAX, UINT64_MAX - 63, UINT64_C(1) << 63, 12345678901234567
	};
	uint64_t *own = current_view(f)->root.own;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		for (size_t j = 0; j < ARRAY_LEN(words); j++) {
			store_release(own, words[i]);
			store_release(own + 8, words[j]);
			found(f, 0, 10);
			OK(blm_add(f, "x", 1));
			OK(blm_rotate(f));
			OK(blm_estimate(f, true, &(struct blm_estimate){ 0 }));
			OK(blm_fact(f, 0, &(struct blm_fact){ 0 }));
		}
	blm_close(f);
}
END_TEST

START_TEST(slots_of_the_last_possible_time_keep_their_keys)
{
	struct blm_filter *f = create(a_path(), "slots=3,span=30", 300);

	add(f, 0);
	store_release(current_view(f)->root.own, (UINT64_MAX - 63) | 2);
	for (uint64_t key = 1; key < 8; key++) {
		add(f, key);
		OK(blm_rotate(f));
		for (uint64_t old = key < 3 ? 1 : key - 2; old <= key; old++)
			ck_assert(has(f, old));
	}
	blm_close(f);
}
END_TEST

START_TEST(slots_may_be_in_the_file_in_any_order)
{
	const char *path = a_path();
	struct blm_filter *f;
	struct blm_part_entry *e;
	uint64_t first;

	begin_time();
	f = create(path, "slots=4", 1000);
	e = current_view(f)->image.header->part;
	first = e[0].offset;
	e[0].offset = e[1].offset;
	e[1].offset = first;
	for (unsigned i = 0; i < 2; i++)
		e[i].check = blm_check_part(&e[i], i, current_view(f)->constant.uuid);
	blm_close(f);
	OK(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
	add(f, 1);
	OK(blm_sync(f));
	ck_assert(has(f, 1));
	blm_close(f);
}
END_TEST

START_TEST(a_file_with_a_wrong_number_of_slots_is_refused)
{
	for (int more = -1; more <= 1; more += 2) {
		const char *path = a_path();
		struct blm_filter *f = create(path, "slots=4", 1000);
		const struct blm_view *view = current_view(f);
		struct blm_header *header = view->image.header;
		struct blm_part_entry *e = &header->part[view->parts];
		uint64_t bytes = view->part[0].shape.bytes,
			 at = blm_part_at(blm_view_end(view), bytes);

		*e = e[-1];
		e->offset = htole64(at);
		e->check = blm_check_part(e, view->parts, view->constant.uuid);
		OK(truncate(path, (off_t)(at + bytes)));
		store_release(&header->live.parts.word, (uint64_t)((int)view->parts + more));
		blm_close(f);
		FAILS(blm_open(&f, NULL, path, 0), -EBADMSG);
		ck_assert_msg(strstr(blm_error_message(),
				     more > 0 ? "part 6: such a window filter has no part"
					      : "5 parts; such a window filter has 6")
				      != NULL,
			      "%s", blm_error_message());
	}
}
END_TEST

START_TEST(a_slot_lasts_a_millisecond_at_least)
{
	struct blm_params p = BLM_PARAMS(.kind = "window", .options = "slots=4,span=0.003",
					 .capacity = 100);
	struct blm_filter *f;

	FAILS(blm_create(&f, NULL, NULL, &p), -EINVAL);
	ck_assert_str_eq(blm_error_message(),
			 "a span of 0.003 seconds in 4 slots: a slot lasts at least a millisecond");
	p.options = "slots=4,span=0.004";
	OK(blm_create(&f, NULL, NULL, &p));
	blm_close(f);
}
END_TEST

/* ---- Many processes ---- */

static const char *path;

/* Adds keys in their order, and says so after each. */
static int adder(void *context)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	while (!shared->end) {
		uint64_t key = shared->acknowledged;

		MUST(blm_add(f, &key, 8) >= 0);
		shared->acknowledged = key + 1;
	}
	return 0;
}

/*
 * Each of the last keys acknowledged before the question began, as many as the window is for, is
 * found.
 */
static int reader(void *context)
{
	enum { WINDOW = 2000 };
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, path, 0) == 0);
	while (!shared->end) {
		uint64_t to = shared->acknowledged, ahead, missing = 0, first = 0;

		for (uint64_t key = to < WINDOW / 2 ? 0 : to - WINDOW / 2; key < to; key++)
			if (!blm_contains(f, &key, 8) && !missing++)
				first = key;
		ahead = shared->acknowledged;
		/* else it was held up so long that they may be gone */
		if (missing && ahead < to + WINDOW / 4) {
			fprintf(stderr,
				"%llu missing of those before %llu, %llu and on; %llu by now\n",
				(unsigned long long)missing, (unsigned long long)to,
				(unsigned long long)first, (unsigned long long)ahead);
			return 1;
		}
	}
	return 0;
}

static void run_until(uint64_t keys, void (*meanwhile)(pid_t *adding))
{
	pid_t adding = spawn(adder, NULL), asking[2] = { spawn(reader, NULL), spawn(reader, NULL) };

	while (shared->acknowledged < keys)
		meanwhile(&adding);
	shared->end = true;
	ck_assert_int_eq(join(adding), 0);
	ck_assert_int_eq(join(asking[0]), 0);
	ck_assert_int_eq(join(asking[1]), 0);
}

static void kill_the_adder(pid_t *adding)
{
	static uint64_t random;
	uint64_t until = shared->acknowledged + next_random(&random) % 400;

	while (shared->acknowledged < until)
		usleep(20);
	kill(*adding, SIGKILL);
	ck_assert_int_eq(join(*adding), 1000 + SIGKILL);
	*adding = spawn(adder, NULL);
}

/* By count, a slot being 500 keys: hundreds of rotations, in the middle of which adders die. */
START_TEST(killed_adders_in_a_turning_window_lose_no_key)
{
	path = strdup(a_path());
	blm_close(create(path, "slots=4", 2000));
	run_until((uint64_t)(40000 * test_scale()), kill_the_adder);
}
END_TEST

enum { CLAIMED = 4096, CLAIMERS = 4 };

/*
 * All claim all keys, in orders of their own, while slots turn; the window is long enough for all
 * of them.
 */
static int claimer(void *context)
{
	uint64_t step = 2 * (uint64_t)(uintptr_t)context + 1;
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	for (uint64_t i = 0; i < CLAIMED; i++) {
		uint64_t key = i * step % CLAIMED;
		int r = blm_claim(f, &key, 8);

		MUST(r >= 0);
		shared->won[key] += (uint64_t)r;
	}
	return 0;
}

START_TEST(one_of_all_claimers_wins_while_slots_turn)
{
	pid_t pid[CLAIMERS];
	uint64_t won = 0;

	path = strdup(a_path());
	blm_close(create(path, "slots=40", CLAIMED * 2));	/* a slot is 205 keys */
	for (unsigned c = 0; c < CLAIMERS; c++)
		pid[c] = spawn(claimer, (void *)(uintptr_t)c);
	for (unsigned c = 0; c < CLAIMERS; c++)
		ck_assert_int_eq(join(pid[c]), 0);
	for (int i = 0; i < CLAIMED; i++) {
		ck_assert_uint_le(shared->won[i], 1);
		won += shared->won[i];
	}
	ck_assert_uint_ge(won, CLAIMED - 2);
}
END_TEST

/* By other means than ours, so that nothing in the file says so. */
START_TEST(a_handle_of_an_unlinked_file_keeps_turning_its_slots)
{
	struct blm_filter *f = create(a_path(), "slots=3,span=30", 100);

	add(f, 1);
	OK(unlink(f->place.display));
	OK(blm_rotate(f));
	add(f, 2);
	ck_assert(has(f, 1) && has(f, 2));
	for (int i = 0; i < 4; i++)
		OK(blm_rotate(f));
	ck_assert(!has(f, 1));
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("window");
	TCase *tc = tcase_create("window");

	tcase_add_checked_fixture(tc, begin_time, NULL);
	tcase_add_loop_test(tc, slow_adds_and_claims_are_found_for_the_whole_window, 0,
			    2);
	tcase_add_test(tc, a_key_stays_for_the_window_and_expires_later);
	tcase_add_test(tc, a_handle_of_an_unlinked_file_keeps_turning_its_slots);
	tcase_add_test(tc, adding_a_key_renews_it_and_claiming_does_not);
	tcase_add_test(tc, a_clock_that_steps_back_loses_nothing);
	tcase_add_test(tc, after_a_pause_nothing_old_is_left);
	tcase_add_test(tc, by_count_the_last_keys_are_found_and_older_not);
	tcase_add_test(tc, it_turns_during_a_build_with_full_slots);
	tcase_add_test(tc, each_rotation_forgets_the_oldest_slot);
	tcase_add_test(tc, kinds_without_slots_refuse_to_rotate_and_windows_to_combine);
	tcase_add_test(tc, copies_of_every_sort_are_in_the_same_slot);
	tcase_add_loop_test(tc, a_power_cut_loses_no_synced_key_of_the_window,
			    0, 64);
	tcase_add_test(tc,
		       an_interrupted_rotation_shows_nothing_and_is_cleared_next);
	tcase_add_loop_test(tc, one_of_two_counts_keeps_a_slots_length,
			    0, 2);
	tcase_add_test(tc, impossible_words_crash_no_process);
	tcase_add_test(tc, slots_of_the_last_possible_time_keep_their_keys);
	tcase_add_test(tc, a_slot_lasts_a_millisecond_at_least);
	tcase_add_test(tc, slots_may_be_in_the_file_in_any_order);
	tcase_add_test(tc, a_file_with_a_wrong_number_of_slots_is_refused);
	tcase_add_test(
		tc,
		killed_adders_in_a_turning_window_lose_no_key);
	tcase_add_test(tc, one_of_all_claimers_wins_while_slots_turn);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
