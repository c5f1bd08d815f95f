/*
 * cuckoo.c - properties of the kind cuckoo only: its load, its removals, and the state after power
 * cuts and kills
 */
#include "file/os.h"
#include "file/two_slots.h"
#include "handle/handle.h"
#include "durable/checkpoint.h"
#include "suite.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

/* Each layout, and what it holds. */
static const struct layout {
	const char *options;
	unsigned times;		/* a key, at most */
	double planned, full;	/* loads: with its capacity; at least, at the first refusal */
} layouts[] = { { "layout=buckets", 8, 0.955, 0.95 }, { "layout=windows", 4, 0.935, 0.935 } };

static struct blm_filter *make_as(const struct layout *layout, uint64_t capacity, double rate,
				  uint64_t seed)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, a_path(),
		      &BLM_PARAMS(.kind = "cuckoo", .capacity = capacity, .rate = rate,
				  .seeds = &seed, .seed_count = 1,
				  .options = layout ? layout->options : NULL)));
	return f;
}

static struct blm_filter *make(uint64_t capacity, double rate, uint64_t seed)
{
	return make_as(NULL, capacity, rate, seed);
}

static struct blm_info info(const struct blm_filter *f)
{
	struct blm_info i = BLM_INFO;

	OK(blm_info(f, &i));
	return i;
}

/* Add numbers from `from` on in batches until there is no room; how many found some. */
static uint64_t fill(struct blm_filter *f, uint64_t from)
{
	uint64_t numbers[256], before = info(f).keys;
	int64_t r;

	do {
		for (size_t i = 0; i < 256; i++)
			numbers[i] = from++;
		r = blm_add_fixed(f, numbers, 8, 256, NULL);
	} while (r == 256);
	ck_assert_int_eq(r, -EXFULL);
	return info(f).keys - before;
}

static uint64_t found(const struct blm_filter *f, uint64_t from, uint64_t to)
{
	uint64_t n = 0;

	for (; from < to; from++)
		n += blm_contains(f, &from, 8);
	return n;
}

/* _i: the layout, here and below */
START_TEST(the_first_key_without_space_comes_at_planned_load)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct blm_filter *f = make_as(&layouts[_i], 200000, 0.0019, seed);
		uint64_t keys = fill(f, 0);

		ck_assert_uint_ge(keys, 200000);
		ck_assert_double_ge((double)keys / (double)info(f).cells, layouts[_i].full);
		ck_assert_uint_eq(found(f, 0, keys), keys);
		blm_close(f);
	}
}
END_TEST

/* There the moves must not lead to the same places again and again. */
START_TEST(windows_fill_with_cells_of_8_bits_too)
{
	struct blm_filter *f = make_as(&layouts[1], 200000, 0.03, 1);
	uint64_t keys = fill(f, 0);

	ck_assert_uint_eq(info(f).cell_bits, 8);
	ck_assert_double_ge((double)keys / (double)info(f).cells, 0.945);
	ck_assert_uint_eq(found(f, 0, keys), keys);
	blm_close(f);
}
END_TEST

/* Four are in the cells of the two windows, and the fifth is refused. */
START_TEST(five_keys_with_equal_fingerprints_and_windows_are_rare)
{
	for (uint64_t capacity = 1000; capacity <= 10000000000; capacity *= 10) {
		struct blm_plan plan = { .kind = "cuckoo" };
		double sets, refused;

		OK(blm_plan(&plan, &BLM_PARAMS(.kind = "cuckoo", .capacity = capacity,
					       .rate = 0.2)));
		sets = (ldexp(1, (int)(plan.data_bytes * 8 / plan.cells) - 1) - 1)
			* (double)(plan.cells - 1) / 2;
		refused = sets * pow((double)capacity / sets, 5) / 120;
		ck_assert_msg(refused <= 0.001, "%g of %llu keys", refused,
			      (unsigned long long)capacity);
		ck_assert(capacity < 1000000 || refused >= 0.001 / 16 / 16);
	}
}
END_TEST

START_TEST(a_number_of_cells_holds_its_capacity_at_any_rate)
{
	for (uint64_t cells = 1000; cells <= 100000; cells *= 10) {
		struct blm_filter *f;

		OK(blm_create(&f, NULL, a_path(),
			      &BLM_PARAMS(.kind = "cuckoo", .cells = cells, .rate = 0.5,
					  .seeds = (const uint64_t[]){ 1 }, .seed_count = 1)));
		ck_assert_uint_eq(info(f).capacity, cells / 100 * 93);
		for (uint64_t i = 0; i < cells / 100 * 93; i++)
			OK(blm_add(f, &i, 8));
		blm_close(f);
	}
}
END_TEST

START_TEST(small_filters_hold_their_capacity)
{
	for (uint64_t capacity = 1; capacity < 3000; capacity = capacity * 5 / 3 + 1)
		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct blm_filter *f = make_as(&layouts[_i], capacity, 0.001, seed);

			for (uint64_t i = 0; i < capacity; i++)
				OK(blm_add(f, &i, 8));
			blm_close(f);
		}
}
END_TEST

/* Of 8 cells of 12 bits, or of 4 cells of 11 bits whose fingerprints have 10. */
START_TEST(at_the_planned_load_its_rate_meets_the_formula)
{
	const uint64_t asked = 2000000;
	struct blm_filter *f = make_as(&layouts[_i], 200000, 0.0019, 1);
	uint64_t keys = (uint64_t)(layouts[_i].planned * (double)info(f).cells);
	double formula = _i ? 1 - pow(1 - 1 / 1023.0, 2 * layouts[_i].planned)
			    : 1 - pow(1 - 1 / 4095.0, 8 * layouts[_i].planned), rate;

	ck_assert_uint_eq(info(f).cell_bits, _i ? 11 : 12);
	for (uint64_t i = 0; i < keys; i++)
		OK(blm_add(f, &i, 8));
	rate = (double)found(f, keys, keys + asked) / (double)asked;
	ck_assert_msg(fabs(rate - formula) <= 3
						      * sqrt(formula / (double)asked
							     + formula / (double)keys * formula),
		      "%g, not %g", rate, formula);
	ck_assert_double_le(rate, 0.00195);
	blm_close(f);
}
END_TEST

START_TEST(removed_keys_are_gone_others_stay_and_space_is_free)
{
	struct blm_filter *f = make(20000, 1e-6, 1);
	uint64_t keys = fill(f, 0), before = info(f).keys;

	for (uint64_t i = 0; i < keys; i += 2)
		ck_assert_int_eq(blm_remove(f, &i, 8), 1);
	for (uint64_t i = 0; i < keys; i++)
		ck_assert_int_eq(blm_contains(f, &i, 8), i % 2);
	ck_assert_uint_eq(info(f).keys, before - (keys + 1) / 2);
	for (uint64_t i = 0; i < keys; i += 2)
		ck_assert_int_eq(blm_remove(f, &i, 8), 0);
	for (uint64_t i = 0; i < keys; i += 2)
		OK(blm_add(f, &i, 8));
	ck_assert_uint_eq(found(f, 0, keys), keys);
	blm_close(f);
}
END_TEST

START_TEST(a_key_can_fill_every_cell_of_its_buckets)
{
	struct blm_filter *f = make_as(&layouts[_i], 1000, 1e-6, 3);

	for (unsigned i = 0; i < layouts[_i].times; i++)
		ck_assert_int_eq(blm_add(f, "key", 3), 1);
	ck_assert_int_eq(blm_add(f, "key", 3), -EXFULL);
	/* no room was searched for */
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "this key is in it as often as"));
	ck_assert_int_eq(blm_claim(f, "key", 3), 0);
	for (unsigned i = 0; i < layouts[_i].times; i++)
		ck_assert_int_eq(blm_remove(f, "key", 3), 1);
	ck_assert_int_eq(blm_remove(f, "key", 3), 0);
	ck_assert(!blm_contains(f, "key", 3));
	ck_assert_int_eq(blm_claim(f, "key", 3), 1);
	blm_close(f);
}
END_TEST

/* The test looks at this many cells where there are more than 2^23. */
START_TEST(a_large_filter_in_memory_reports_its_load_and_syncs)
{
	struct blm_filter *f;
	struct blm_fact load;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "cuckoo", .capacity = 10000000, .rate = 0.01)));
	ck_assert_uint_gt(current_view(f)->root.shape.cells, 8 << 20);
	OK(blm_fact(f, 0, &load));
	ck_assert_double_eq(load.value, 0);
	for (uint64_t i = 0; i < 100; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_sync(f));
	ck_assert_uint_eq(found(f, 0, 100), 100);
	blm_close(f);
}
END_TEST

START_TEST(when_it_is_full_nothing_is_changed)
{
	struct blm_filter *f = make(5000, 1e-6, 4);
	uint64_t keys = fill(f, 0), bytes = info(f).data_bytes;
	const struct blm_part *part = &current_view(f)->root;
	uint8_t *before = malloc(bytes);
	unsigned refused = 0;

	memcpy(before, part->bytes, bytes);
	for (uint64_t i = 1000000; refused < 5; i++) {
		int r = blm_add(f, &i, 8);

		if (r == 1) {
			memcpy(before, part->bytes, bytes);
			keys++;
			continue;
		}
		ck_assert_int_eq(r, -EXFULL);
		ck_assert_mem_eq(before, part->bytes, bytes);
		refused++;
	}
	ck_assert_uint_eq(info(f).keys, keys);
	free(before);
	blm_close(f);
}
END_TEST

/* Two windows that overlap have three cells, and each may hold the key for either window. */
START_TEST(a_key_whose_windows_overlap_is_in_it_three_times)
{
	struct blm_filter *f = make_as(&layouts[1], 20, 1e-6, 3);
	unsigned overlapping = 0;

	for (uint64_t key = 0; key < 1000; key++) {
		unsigned times = 0;

		while (blm_add(f, &key, 8) == 1)
			times++;
		ck_assert_ptr_nonnull(strstr(blm_error_message(), "this key is in it as often"));
		ck_assert(times == 4 || times == 3 || times == 2);
		overlapping += times == 3;
		for (; times; times--)
			ck_assert_int_eq(blm_remove(f, &key, 8), 1);
		ck_assert(!blm_contains(f, &key, 8));
	}
	ck_assert_uint_gt(overlapping, 0);
	blm_close(f);
}
END_TEST

/* All ones: the first cell says that it is the second one of a window, and the last one, too. */
START_TEST(cells_that_are_damaged_lead_to_no_place_outside)
{
	struct blm_filter *f = make_as(&layouts[_i], 100, 0.01, 3);
	struct blm_part *part = &current_view(f)->root;

	for (unsigned step = 1; step <= 2; step++) {	/* every cell full, or lowest bits 0 */
		uint64_t cells = part->shape.cells, bits = part->shape.cell_bits;

		for (uint64_t bit = 0; bit < cells * bits; bit++)
			if (step == 1 || bit % bits)
				part->bytes[bit / 8] |= (uint8_t)(1 << bit % 8);
			else
				part->bytes[bit / 8] &= (uint8_t)~(1 << bit % 8);
		for (uint64_t i = 0; i < 200; i++)
			ck_assert_int_lt(blm_add(f, &i, 8), 0);
	}
	blm_close(f);
}
END_TEST

/* ---- Others at the same time, and killed ---- */

struct shared {
	_Atomic uint64_t added[4];	/* by each writer, of its own numbers */
	_Atomic uint64_t missed;
	_Atomic bool end;
};

static struct shared *share(void)
{
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(s, MAP_FAILED);
	return s;
}

static uint64_t number(unsigned writer, uint64_t i)
{
	return (uint64_t)writer << 40 | i;
}

/* Adds, and at times takes one of its own out and puts it back, so that all is full and moves. */
static void write_on(const char *path, unsigned writer, struct shared *s)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	for (;;) {
		uint64_t key = number(writer, s->added[writer]);
		int r = blm_add(f, &key, 8);

		MUST(r == 1 || r == -EXFULL);
		if (r == 1)
			s->added[writer]++;
		else if (s->added[writer] > 100)
			for (int i = 0; i < 50; i++) {
				key = number(writer, s->added[writer] - 1);
				s->added[writer]--;
				MUST(blm_remove(f, &key, 8) == 1);
			}
	}
}

static pid_t start_writer(const char *path, unsigned writer, struct shared *s)
{
	pid_t pid = fork();

	if (pid == 0) {
		write_on(path, writer, s);
		_exit(0);
	}
	return pid;
}

START_TEST(killed_writers_lose_no_key_and_leave_one_at_most)
{
	struct blm_filter *f = make(20000, 1e-8, 5);
	struct shared *s = share();
	const char *path = f->place.display;
	uint64_t cells = 0, keys = 0;
	unsigned kills = 0;
	pid_t pid[4];

	for (unsigned w = 0; w < 4; w++)
		pid[w] = start_writer(path, w, s);
	for (unsigned round = 0; round < 60; round++) {
		unsigned w = round % 4;

		usleep(3000 + round * 517 % 4000);
		kill(pid[w], SIGKILL);
		waitpid(pid[w], NULL, 0);
		kills++;
		for (uint64_t i = 0; i < s->added[w]; i++) {
			uint64_t key = number(w, i);

			ck_assert(blm_contains(f, &key, 8));
		}
		pid[w] = start_writer(path, w, s);
	}
	for (unsigned w = 0; w < 4; w++) {
		kill(pid[w], SIGKILL);
		waitpid(pid[w], NULL, 0);
		kills++;
	}
	OK(blm_remove(f, "settle", 6));
	for (unsigned w = 0; w < 4; w++)
		keys += s->added[w];
	ck_assert_uint_ge(keys, 15000);
	for (unsigned w = 0; w < 4; w++)
		for (uint64_t i = 0; i < s->added[w]; i++) {
			uint64_t key = number(w, i);

			ck_assert_int_eq(blm_remove(f, &key, 8), 1);
		}
	for (uint64_t i = 0; i < info(f).data_bytes; i++)
		cells += current_view(f)->root.bytes[i] != 0;
	/*
	 * of what was under way at a kill: a key that was added and not noted, or taken out and
	 * noted before
	 */
	ck_assert_msg(cells <= (uint64_t)kills * 6, "%llu bytes of cells are left of %u kills",
		      (unsigned long long)cells, kills);
	blm_close(f);
}
END_TEST

/* New ones come and old ones go, so that there are moves all the time. */
static void replace_keys(const char *path)
{
	struct blm_filter *f;
	uint64_t from = number(1, 0), to = from;

	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	for (;;) {
		int r = blm_add(f, &to, 8);

		MUST(r == 1 || r == -EXFULL);
		if (r == 1)
			to++;
		else
			for (int i = 0; i < 50; i++, from++)
				MUST(blm_remove(f, &from, 8) == 1);
	}
}

/*
 * An add ends the moves that were under way; there may be no room for it, since what is copied is
 * filled to the last key.
 */
static void settle(struct blm_filter *f)
{
	int r = blm_add(f, "settle", 6);

	ck_assert_msg(r == 1 || r == -EXFULL, "%d: %s", r, blm_error_message());
}

START_TEST(copies_and_exports_during_moves_have_all_keys)
{
	struct blm_filter *f = make(100000, 1e-8, 6), *made;
	struct blm_exchange how = BLM_EXCHANGE(.format = "bloomery");
	pid_t pid;
	void *bytes;
	size_t len;

	for (uint64_t i = 0; i < 90000; i++)
		OK(blm_add(f, &i, 8));
	pid = fork();
	if (pid == 0)
		replace_keys(f->place.display);
	for (int i = 0; i < 10; i++) {
		OK(blm_export_bytes(f, &how, &bytes, &len));
		OK(blm_import_bytes(&made, NULL, a_path(), &how, bytes, len));
		settle(made);
		ck_assert_uint_eq(found(made, 0, 90000), 90000);
		blm_free(bytes);
		blm_close(made);
		OK(blm_copy(&made, NULL, a_path(), f, 0));
		settle(made);
		ck_assert_uint_eq(found(made, 0, 90000), 90000);
		blm_close(made);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	blm_close(f);
}
END_TEST

/* Windows; buckets of less than a word; and of more, which have a loop of their own. */
START_TEST(readers_miss_no_key_while_others_move_it)
{
	struct blm_filter *f = make_as(&layouts[_i == 0], 3000, _i == 2 ? 1e-8 : 1e-4, 6);
	struct shared *s = share();
	pid_t pid[3];

	for (uint64_t i = 0; i < 2000; i++)
		OK(blm_add(f, &i, 8));
	pid[0] = fork();
	if (pid[0] == 0)
		replace_keys(f->place.display);
	for (int r = 1; r < 3; r++) {
		pid[r] = fork();
		if (pid[r] == 0) {
			struct blm_filter *again;
			uint64_t numbers[2000];

			MUST(blm_open(&again, NULL, f->place.display, 0) == 0);
			for (uint64_t i = 0; i < 2000; i++)
				numbers[i] = i;
			while (!s->end)
				s->missed += 2000
					   - (uint64_t)blm_contains_fixed(again, numbers, 8, 2000,
									  NULL);
			_exit(0);
		}
	}
	while (load_acquire(own_word(&current_view(f)->root, 0)) < 1000)	/* moves */
		usleep(1000);
	s->end = true;
	kill(pid[0], SIGKILL);
	for (int i = 0; i < 3; i++)
		waitpid(pid[i], NULL, 0);
	ck_assert_uint_eq(s->missed, 0);
	blm_close(f);
}
END_TEST

/*
 * A key that goes from one of its buckets to the other all the time, as a writer would move it.
 * With 16 bits a bucket is a word.
 */
struct wanderer {
	uint64_t *here, *there, *moves;
	bool end;
};

static void *wander(void *arg)
{
	struct wanderer *w = arg;

	for (uint64_t moves = 1; !__atomic_load_n(&w->end, __ATOMIC_RELAXED); moves++) {
		uint64_t *from = w->here;

		store_release(w->there, load_relaxed(from));
		store_release(w->moves, moves);
		store_release(from, 0);
		w->here = w->there;
		w->there = from;
	}
	return NULL;
}

START_TEST(a_key_is_found_while_it_moves)
{
	struct blm_filter *f = make_as(&layouts[0], 1000, 1.2e-4, 7);
	struct blm_part *part = &current_view(f)->root;
	struct blm_key key = { "wanderer", 8 }, other = { "at home", 7 };
	struct blm_hashed hashed = { .key = &key, .by = &current_view(f)->hasher };
	struct blm_key keys[256];
	struct wanderer w = { .moves = own_word(part, 0) };
	uint64_t any, missed = 0;
	pthread_t thread;

	ck_assert_uint_eq(part->shape.cell_bits, 16);
	OK(blm_add(f, key.bytes, key.len));
	OK(blm_hash_many(f, &key, 1, &hashed.hash));
	w.here = (uint64_t *)(uintptr_t)part->kind->probe(part, &hashed, 0, &any);
	w.there = (uint64_t *)(uintptr_t)part->kind->probe(part, &hashed, 1, &any);
	ck_assert(w.here != w.there && load_relaxed(w.here));
	/* of those that are asked together some are found at once */
	OK(blm_add(f, other.bytes, other.len));
	OK(blm_hash_many(f, &other, 1, &hashed.hash));
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t *bucket = part->kind->probe(part, &hashed, i, &any);

		ck_assert(bucket != w.here && bucket != w.there);
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		keys[i] = i % 2 ? other : key;
	pthread_create(&thread, NULL, wander, &w);
	for (int i = 0; i < 20000; i++) {
		missed += (uint64_t)(256 - blm_contains_many(f, keys, 256, NULL));
		for (int j = 0; j < 100; j++)
			missed += !blm_contains(f, key.bytes, key.len);
	}
	__atomic_store_n(&w.end, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(missed, 0);
	blm_close(f);
}
END_TEST

/* ---- Power cuts ---- */

/* The data are torn, and the machine starts again. */
static void cut(const char *path, const struct blm_filter *like)
{
	struct blm_view *view = current_view(like);
	uint64_t boot = 12345, at = (uint64_t)(view->root.bytes - view->image.map);
	int fd = open(path, O_RDWR);

	ck_assert_int_eq(pwrite(fd, &boot, 8,
				offsetof(struct blm_header, live)
					+ offsetof(struct blm_live, boot)),
			 8);
	for (uint64_t i = 0; i + 64 < view->root.shape.bytes; i += 200)
		ck_assert_int_eq(pwrite(fd, "damage", 6, (off_t)(at + i)), 6);
	close(fd);
}

START_TEST(after_a_power_cut_all_processes_see_the_last_sync)
{
	struct blm_filter *f = make(50000, 1e-6, 7), *reader, *writer;
	const char *path = f->place.display;

	for (uint64_t i = 0; i < 40000; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_sync(f));
	for (uint64_t i = 0; i < 10000; i++)
		ck_assert_int_eq(blm_remove(f, &i, 8), 1);
	for (uint64_t i = 40000; i < 50000; i++)
		OK(blm_add(f, &i, 8));
	ck_assert(info(f).dirty);
	cut(path, f);
	OK(blm_open(&reader, NULL, path, 0));
	ck_assert_uint_eq(found(reader, 0, 40000), 40000);
	ck_assert_uint_eq(found(reader, 40000, 50000), 0);
	ck_assert_uint_eq(info(reader).keys, 40000);
	OK(blm_load(reader, BLM_PREFAULT | BLM_HUGE_PAGES));
	ck_assert_uint_eq(found(reader, 0, 40000), 40000);
	OK(blm_open(&writer, NULL, path, BLM_OPEN_WRITE));
	ck_assert_uint_eq(found(writer, 0, 40000), 40000);
	ck_assert_uint_eq(found(writer, 40000, 50000), 0);
	ck_assert_uint_eq(info(writer).keys, 40000);
	OK(blm_add(writer, "new", 3));
	ck_assert(blm_contains(reader, "new", 3));	/* which has gone over to the data */
	OK(blm_sync(writer));
	ck_assert_int_eq(blm_verify(NULL, path, 0, NULL, NULL), 0);
	blm_close(f), blm_close(reader), blm_close(writer);
}
END_TEST

enum { NOT_TRACED = 77 };

static int open_traced(void *path)
{
	struct blm_filter *f;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		return NOT_TRACED;
	raise(SIGSTOP);
	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	return 0;
}

static int sync_traced(void *path)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		return NOT_TRACED;
	raise(SIGSTOP);
	MUST(blm_sync(f) == 0);
	return 0;
}

/*
 * Let it run until it is about to write back this many bytes (0: any number), or has. 0: it may not
 * be traced here.
 */
static int go_to_a_write_back(pid_t pid, uint64_t bytes, bool to_its_end)
{
	struct __ptrace_syscall_info call = { .op = PTRACE_SYSCALL_INFO_NONE };
	bool flushes = false;
	int status;

	for (;;) {
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_TRACED)
			return 0;
		ck_assert_msg(WIFSTOPPED(status), "it went on to its end: %x", status);
		ck_assert_int_eq((int)ptrace(PTRACE_SETOPTIONS, pid, NULL,
					     (void *)PTRACE_O_TRACESYSGOOD),
				 0);
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(call), &call) > 0
		    && call.op == PTRACE_SYSCALL_INFO_ENTRY)
			flushes = call.entry.nr == SYS_msync
			       && (!bytes || call.entry.args[1] == bytes);
		if (flushes
		    && call.op
			       == (to_its_end ? PTRACE_SYSCALL_INFO_EXIT
					      : PTRACE_SYSCALL_INFO_ENTRY))
			return 1;
		ck_assert_int_eq((int)ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
	}
}

static bool goes_back(const struct blm_live *live)
{
	return (load_acquire(&live->state.word) & 0xff) == BLM_REPLACING;
}

static bool has_boot_number(const struct blm_live *live)
{
	return load_acquire(&live->boot.word) == blm_boot_number();
}

/* Instruction by instruction. */
static void go_until(pid_t pid, bool (*there)(const struct blm_live *live),
		     const struct blm_live *live)
{
	int status;

	while (!there(live)) {
		ck_assert_int_eq((int)ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSTOPPED(status));
	}
}

/*
 * Call by call, up to its first lock: most of the calls come before and write nothing. 0: it may
 * not be traced here.
 */
static int go_to_a_lock(pid_t pid)
{
	struct __ptrace_syscall_info call = { .op = PTRACE_SYSCALL_INFO_NONE };
	int status;

	for (;;) {
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_TRACED)
			return 0;
		ck_assert(WIFSTOPPED(status));
		ck_assert_int_eq((int)ptrace(PTRACE_SETOPTIONS, pid, NULL,
					     (void *)PTRACE_O_TRACESYSGOOD),
				 0);
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(call), &call) > 0
		    && call.op == PTRACE_SYSCALL_INFO_ENTRY && call.entry.nr == SYS_fcntl
		    && (call.entry.args[1] == F_OFD_SETLK || call.entry.args[1] == F_OFD_SETLKW))
			return 1;
		ck_assert_int_eq((int)ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
	}
}

/* _i: with 1 the last thing that it did is to say that the data are good */
START_TEST(a_death_in_recovery_hides_no_later_keys_from_readers)
{
	struct blm_filter *f = make(500, 1e-6, 7), *reader, *writer;
	char *path = f->place.display;
	pid_t pid;

	for (uint64_t i = 0; i < 400; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_sync(f));
	OK(blm_add(f, "lost", 4));
	cut(path, f);
	OK(blm_open(&reader, NULL, path, 0));
	ck_assert_uint_eq(found(reader, 0, 400), 400);
	pid = spawn(open_traced, path);
	if (go_to_a_lock(pid)) {
		ck_assert(!goes_back(live_of(current_view(f))));
		go_until(pid, goes_back, live_of(current_view(f)));
		ck_assert(!has_boot_number(live_of(current_view(f))));
		if (_i)
			go_until(pid, has_boot_number, live_of(current_view(f)));
		kill(pid, SIGKILL);
		ck_assert_int_eq(join(pid), 1000 + SIGKILL);
	} else {
		SKIP_PART("no process can be traced here: nobody died");
	}
	ck_assert_uint_eq(found(reader, 0, 400), 400);
	OK(blm_open(&writer, NULL, path, BLM_OPEN_WRITE));
	OK(blm_add(writer, "new", 3));
	ck_assert(blm_contains(reader, "new", 3));
	ck_assert_uint_eq(found(reader, 0, 400), 400);
	ck_assert(!blm_contains(reader, "lost", 4));
	blm_close(f), blm_close(reader), blm_close(writer);
}
END_TEST

bool __real_blm_last_sync(const struct blm_live *live, const uint8_t uuid[16],
			  struct blm_sync_record *ret);
bool __wrap_blm_last_sync(const struct blm_live *live, const uint8_t uuid[16],
			  struct blm_sync_record *ret);

/* after how many looks at the last sync a process writes; 0: never */
static int looks;
static struct blm_filter *who_writes;
static const char *what_is_written;

/* It went back to the image, and is in the middle of a sync. */
bool __wrap_blm_last_sync(const struct blm_live *live, const uint8_t uuid[16],
			  struct blm_sync_record *ret)
{
	bool found = __real_blm_last_sync(live, uuid, ret);

	if (looks && --looks == 0) {
		struct blm_view *view;

		OK(blm_open(&who_writes, NULL, what_is_written, BLM_OPEN_WRITE));
		OK(blm_add(who_writes, "new", 3));
		view = current_view(who_writes);
		memset(view->image.map + view->checkpoint.blocks[BLM_IMAGE], 'x', 64);
	}
	return found;
}

START_TEST(a_reader_finds_no_damage_while_a_writer_recovers)
{
	struct blm_filter *f = make(500, 1e-6, 7), *reader;

	for (uint64_t i = 0; i < 400; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_sync(f));
	OK(blm_add(f, "lost", 4));
	what_is_written = f->place.display;
	cut(what_is_written, f);
	looks = 2;			/* is the image needed; and in it */
	OK(blm_open(&reader, NULL, what_is_written, 0));
	ck_assert_int_eq(looks, 0);
	ck_assert_uint_eq(found(reader, 0, 400), 400);
	ck_assert(blm_contains(reader, "new", 3) && !blm_contains(reader, "lost", 4));
	blm_close(f), blm_close(reader), blm_close(who_writes);
}
END_TEST

static uint64_t synced_epoch(const struct blm_filter *f)
{
	struct blm_sync_record last = { 0 };

	blm_last_sync(live_of(current_view(f)), current_view(f)->constant.uuid, &last);
	return le64toh(last.epoch);
}

static uint64_t image_epoch(const struct blm_filter *f)
{
	const struct blm_view *view = current_view(f);

	return le32toh(((const struct blm_block_record *)(view->image.map
							  + view->checkpoint.records[BLM_IMAGE]))
			       ->epoch);
}

/*
 * Its record is in memory only. After a power cut the disk would have that of the sync before, and
 * must have its image.
 */
START_TEST(the_image_waits_for_a_killed_syncs_record_on_disk)
{
	struct blm_filter *f = make(500, 1e-6, 7);
	uint64_t epoch;
	pid_t pid[2];

	OK(blm_add(f, "one", 3));
	OK(blm_sync(f));
	epoch = synced_epoch(f);
	ck_assert_uint_eq(image_epoch(f), epoch);
	OK(blm_add(f, "two", 3));
	pid[0] = spawn(sync_traced, f->place.display);
	if (go_to_a_write_back(pid[0], BLM_PAGE, false)) {
		kill(pid[0], SIGKILL);
		ck_assert_int_eq(join(pid[0]), 1000 + SIGKILL);
		ck_assert_uint_eq(synced_epoch(f), epoch + 1);
		pid[1] = spawn(sync_traced, f->place.display);
		ck_assert_int_eq(go_to_a_write_back(pid[1], 0, false), 1);
		ck_assert_uint_eq(image_epoch(f), epoch);
		ck_assert_int_eq((int)ptrace(PTRACE_DETACH, pid[1], NULL, NULL), 0);
		ck_assert_int_eq(join(pid[1]), 0);
	} else {
		SKIP_PART("no process can be traced here: nobody died");
	}
	OK(blm_sync(f));
	ck_assert_uint_gt(image_epoch(f), epoch);
	ck_assert(blm_contains(f, "one", 3) && blm_contains(f, "two", 3));
	ck_assert_int_eq(blm_verify(NULL, f->place.display, 0, NULL, NULL), 0);
	blm_close(f);
}
END_TEST

/*
 * A process that died in a move left a word that names the cell that does not count; but for the
 * data, not for the image.
 */
START_TEST(a_copy_of_the_image_has_all_synced_keys)
{
	struct blm_filter *f = make(500, 1e-6, 7), *reader, *made;
	const char *path = f->place.display;
	struct blm_exchange how = BLM_EXCHANGE(.format = "bloomery");
	uint64_t cell = 0;
	void *bytes;
	size_t len;

	for (uint64_t i = 0; i < 500; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_sync(f));
	OK(blm_add(f, "new", 3));
	while (!(current_view(f)->root.bytes[cell * current_view(f)->root.shape.cell_bits / 8]))
		cell++;
	live_of(current_view(f))->own[1].word = htole64(cell + 1);
	cut(path, f);
	OK(blm_open(&reader, NULL, path, 0));
	ck_assert_uint_eq(found(reader, 0, 500), 500);
	OK(blm_copy(&made, NULL, a_path(), reader, 0));
	OK(blm_add(made, "other", 5));
	ck_assert_uint_eq(found(made, 0, 500), 500);
	blm_close(made);
	OK(blm_export_bytes(reader, &how, &bytes, &len));
	OK(blm_import_bytes(&made, NULL, a_path(), &how, bytes, len));
	OK(blm_add(made, "other", 5));
	ck_assert_uint_eq(found(made, 0, 500), 500);
	blm_free(bytes);
	blm_close(f), blm_close(reader), blm_close(made);
}
END_TEST

START_TEST(after_a_power_cut_a_new_filter_is_empty)
{
	struct blm_filter *f = make(5000, 1e-6, 8), *copy, *reader;

	for (uint64_t i = 0; i < 4000; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_copy(&copy, NULL, a_path(), f, 0));
	for (uint64_t i = 0; i < 1000; i++)
		ck_assert_int_eq(blm_remove(copy, &i, 8), 1);
	cut(copy->place.display, copy);
	OK(blm_open(&reader, NULL, copy->place.display, 0));
	ck_assert_uint_eq(found(reader, 0, 4000), 4000);
	ck_assert_uint_eq(info(reader).keys, 4000);
	cut(f->place.display, f);
	blm_close(reader);
	OK(blm_open(&reader, NULL, f->place.display, BLM_OPEN_WRITE));
	ck_assert_uint_eq(found(reader, 0, 4000), 0);
	ck_assert_uint_eq(info(reader).keys, 0);
	blm_close(f), blm_close(copy), blm_close(reader);
}
END_TEST

/* A process that dies in the middle of a sync: before the sync record, or right after it. */
static void die_in_sync(const char *path, bool recorded)
{
	struct blm_filter *f;
	struct blm_view *view;
	uint64_t epoch;

	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	view = current_view(f);
	epoch = load_acquire(&live_of(view)->epoch.word);
	MUST(blm_checkpoint_take(view, epoch, path) == 0);
	if (recorded) {
		struct blm_sync_record record = { .epoch = htole64(epoch),
						  .keys = htole64(blm_counted_keys(view)) };

		store_release(&live_of(view)->epoch.word, epoch + 1);
		blm_next_sync(live_of(view), view->constant.uuid, &record);
	}
	_exit(0);
}

START_TEST(a_killed_sync_takes_nothing_from_the_next_one)
{
	struct blm_filter *f = make(50000, 1e-6, 12), *reader;
	pid_t pid;
	int status;

	for (uint64_t i = 0; i < 20000; i++)
		OK(blm_add(f, &i, 8));
	pid = fork();
	if (pid == 0)
		die_in_sync(f->place.display, _i);
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	if (_i) {	/* what it recorded counts */
		OK(blm_add(f, "x", 1));
		cut(f->place.display, f);
		OK(blm_open(&reader, NULL, f->place.display, 0));
		ck_assert_uint_eq(found(reader, 0, 20000), 20000);
		blm_close(reader);
	} else {
		uint64_t key = 20000;

		OK(blm_add(f, &key, 8));
		OK(blm_sync(f));
		OK(blm_remove(f, &key, 8));
		cut(f->place.display, f);
		OK(blm_open(&reader, NULL, f->place.display, BLM_OPEN_WRITE));
		ck_assert_uint_eq(found(reader, 0, 20001), 20001);
		blm_close(reader);
	}
	blm_close(f);
}
END_TEST

static int copy_in_a_child(void *f)
{
	struct blm_filter *copy;

	MUST(blm_copy(&copy, NULL, NULL, f, 0) < 0);
	return 0;
}

/* It opens the file for itself, for the lock under which it reads. */
START_TEST(a_child_does_not_copy_an_unlinked_file)
{
	struct blm_filter *f = make(500, 1e-6, 7), *copy;

	OK(blm_add(f, "key", 3));
	ck_assert_int_eq(unlink(f->place.display), 0);
	ck_assert_int_eq(join(spawn(copy_in_a_child, f)), 0);
	OK(blm_copy(&copy, NULL, NULL, f, 0));
	ck_assert(blm_contains(copy, "key", 3));
	blm_close(copy), blm_close(f);
}
END_TEST

static void die_in_sync_of(const struct blm_filter *f, bool recorded)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		die_in_sync(f->place.display, recorded);
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
}

static void put_damage(const struct blm_filter *f, uint64_t at)
{
	int fd = open(f->place.display, O_RDWR);

	ck_assert_int_eq(pwrite(fd, "damage", 6, (off_t)at), 6);
	close(fd);
}

static void is_refused_after_a_power_cut(const struct blm_filter *f)
{
	struct blm_filter *again;

	cut(f->place.display, f);
	FAILS(blm_open(&again, NULL, f->place.display, 0), -EUCLEAN);
	FAILS(blm_open(&again, NULL, f->place.display, BLM_OPEN_WRITE), -EUCLEAN);
}

START_TEST(a_killed_syncs_damaged_journal_is_refused_after_a_restart)
{
	struct blm_filter *f = make(50000, 1e-6, 12);

	for (uint64_t i = 0; i < 20000; i++)
		OK(blm_add(f, &i, 8));
	die_in_sync_of(f, true);
	put_damage(f, current_view(f)->checkpoint.blocks[BLM_JOURNAL] + 100);
	OK(blm_add(f, "x", 1));
	is_refused_after_a_power_cut(f);
	blm_close(f);
}
END_TEST

START_TEST(the_next_sync_discards_a_damaged_journal_record)
{
	struct blm_filter *f = make(50000, 1e-6, 12);

	for (uint64_t i = 0; i < 20000; i++)
		OK(blm_add(f, &i, 8));
	die_in_sync_of(f, false);
	put_damage(f, current_view(f)->checkpoint.records[BLM_JOURNAL]);
	OK(blm_sync(f));
	ck_assert_uint_eq(found(f, 0, 20000), 20000);
	OK(blm_add(f, "x", 1));
	OK(blm_sync(f));
	blm_close(f);
}
END_TEST

START_TEST(the_next_sync_logs_a_damaged_journal_block_again)
{
	struct blm_filter *f = make(50000, 1e-6, 12), *again;

	for (uint64_t i = 0; i < 20000; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_sync(f));
	for (uint64_t i = 20000; i < 40000; i++)
		OK(blm_add(f, &i, 8));
	die_in_sync_of(f, true);
	put_damage(f, current_view(f)->checkpoint.blocks[BLM_JOURNAL] + 100);
	OK(blm_sync(f));
	OK(blm_add(f, "x", 1));
	cut(f->place.display, f);
	for (int write = 0; write < 2; write++) {
		OK(blm_open(&again, NULL, f->place.display, write ? BLM_OPEN_WRITE : 0));
		ck_assert_uint_eq(found(again, 0, 40000), 40000);
		blm_close(again);
	}
	blm_close(f);
}
END_TEST

/*
 * The power failed while a block was brought to the image, whose record was taken away for that,
 * and that of the journal is damaged.
 */
START_TEST(an_image_block_without_record_is_trusted_only_if_unwritten)
{
	struct blm_filter *f = make(50000, 1e-6, 12);
	struct blm_view *view = current_view(f);

	for (uint64_t i = 0; i < 20000; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_sync(f));
	for (uint64_t i = 20000; i < 40000; i++)
		OK(blm_add(f, &i, 8));
	die_in_sync_of(f, true);
	OK(blm_add(f, "x", 1));
	memset(view->image.map + view->checkpoint.records[BLM_IMAGE], 0,
	       sizeof(struct blm_block_record));
	put_damage(f, view->checkpoint.records[BLM_JOURNAL]);
	is_refused_after_a_power_cut(f);
	blm_close(f);
}
END_TEST

START_TEST(verify_finds_a_damaged_image_record_and_a_restart_refuses)
{
	struct blm_filter *f = make(50000, 1e-6, 10);

	for (uint64_t i = 0; i < 40000; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_sync(f));
	put_damage(f, current_view(f)->checkpoint.records[BLM_IMAGE]);
	ck_assert_int_eq(blm_verify(NULL, f->place.display, 0, NULL, NULL), 1);
	OK(blm_add(f, "new", 3));
	is_refused_after_a_power_cut(f);
	blm_close(f);
}
END_TEST

/* The slot of the last sync, of which a byte is damaged. */
static void damage_last_sync(struct blm_filter *f)
{
	struct blm_view *view = current_view(f);
	struct blm_sync_record last, *slot = live_of(view)->sync;

	ck_assert(blm_last_sync(live_of(view), view->constant.uuid, &last));
	slot[slot[1].sequence == last.sequence].check ^= 1;
}

/* _i: of how many blocks, a few or more than one page has records for. */
START_TEST(the_image_serves_a_restart_despite_damaged_sync_records)
{
	struct blm_filter *f = make(_i ? 6000000 : 50000, 1e-6, 12), *again;

	for (int sync = 0; sync < 2; sync++) {
		for (uint64_t i = 0; i < 10000; i++)
			OK(blm_add(f, &(uint64_t){ 10000u * (unsigned)sync + i }, 8));
		OK(blm_sync(f));
	}
	OK(blm_add(f, "new", 3));
	damage_last_sync(f);
	cut(f->place.display, f);
	for (int write = 0; write < 2; write++) {
		OK(blm_open(&again, NULL, f->place.display, write ? BLM_OPEN_WRITE : 0));
		ck_assert_uint_eq(found(again, 0, 20000), 20000);
		if (write)
			ck_assert_int_eq(blm_remove(again, &(uint64_t){ 1 }, 8), 1);
		blm_close(again);
	}
	blm_close(f);
}
END_TEST

/*
 * As a damaged or hostile file can have them: the last record has this sequence, and the one before
 * it the sequence before it.
 */
static void number_syncs(struct blm_filter *f, uint64_t sequence)
{
	struct blm_view *view = current_view(f);
	struct blm_sync_record last, *slot = live_of(view)->sync;
	int newer;

	ck_assert(blm_last_sync(live_of(view), view->constant.uuid, &last));
	newer = slot[1].sequence == last.sequence;
	for (int i = 0; i < 2; i++) {
		slot[i].sequence = htole64(i == newer ? sequence : sequence - 1);
		slot[i].check = blm_check_sync(&slot[i], view->constant.uuid);
	}
}

/* _i: how many steps of the sequence before 2^64 - 1, and in which slot the last record lies. */
START_TEST(a_sync_whose_sequence_wraps_keeps_its_keys)
{
	struct blm_filter *f = make(50000, 1e-6, 12), *again;
	uint64_t keys = 0;

	for (; keys < 2000u + 1000u * (unsigned)(_i % 2); keys += 1000) {
		for (uint64_t i = 0; i < 1000; i++)
			OK(blm_add(f, &(uint64_t){ keys + i }, 8));
		OK(blm_sync(f));
	}
	number_syncs(f, UINT64_MAX - (unsigned)_i / 2);
	for (int sync = 0; sync < 4; sync++, keys += 1000) {
		for (uint64_t i = 0; i < 1000; i++)
			OK(blm_add(f, &(uint64_t){ keys + i }, 8));
		OK(blm_sync(f));
		OK(blm_add(f, "new", 3));
		cut(f->place.display, f);
		for (int write = 0; write < 2; write++) {
			OK(blm_open(&again, NULL, f->place.display, write ? BLM_OPEN_WRITE : 0));
			ck_assert_uint_eq(found(again, 0, keys + 1000), keys + 1000);
			blm_close(again);
		}
	}
	ck_assert_int_eq(blm_verify(NULL, f->place.display, 0, NULL, NULL), 0);
	blm_close(f);
}
END_TEST

/* A kill in the middle of the record leaves the one before it, wherever that lies. */
START_TEST(a_torn_sync_record_leaves_the_previous_one)
{
	struct blm_filter *f = make(50000, 1e-6, 12), *again;
	struct blm_view *view = current_view(f);

	for (int sync = 0; sync < 5; sync++) {
		for (uint64_t i = 0; i < 1000; i++)
			OK(blm_add(f, &(uint64_t){ 1000u * (unsigned)sync + i }, 8));
		if (sync == 3)
			number_syncs(f, UINT64_MAX);
		OK(blm_sync(f));
	}
	damage_last_sync(f);
	ck_assert_int_eq(blm_syncs_lost(live_of(view), view->constant.uuid), 0);
	OK(blm_add(f, "new", 3));
	cut(f->place.display, f);
	OK(blm_open(&again, NULL, f->place.display, 0));
	ck_assert_uint_eq(found(again, 0, 5000), 5000);
	blm_close(again);
	blm_close(f);
}
END_TEST

START_TEST(a_word_announced_of_later_epochs_announces_nothing)
{
	struct blm_filter *f = make(50000, 1e-6, 12), *again;

	OK(blm_add(f, "synced", 6));
	OK(blm_sync(f));
	store_release(&live_of(current_view(f))->announced.word, UINT64_MAX);
	OK(blm_add(f, "new", 3));
	ck_assert_uint_eq(load_acquire(&live_of(current_view(f))->announced.word),
			  load_acquire(&live_of(current_view(f))->epoch.word));
	cut(f->place.display, f);
	OK(blm_open(&again, NULL, f->place.display, 0));
	ck_assert_int_eq(blm_contains(again, "synced", 6), 1);
	blm_close(again);
	blm_close(f);
}
END_TEST

START_TEST(a_damaged_sync_record_keeps_no_key_in_the_filter)
{
	struct blm_filter *f = make(50000, 1e-6, 12);

	for (uint64_t i = 0; i < 20000; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_sync(f));
	damage_last_sync(f);
	for (uint64_t i = 0; i < 3; i++) {
		ck_assert_int_eq(blm_remove(f, &i, 8), 1);
		OK(blm_sync(f));
	}
	ck_assert_int_eq(blm_verify(NULL, f->place.display, 0, NULL, NULL), 0);
	blm_close(f);
}
END_TEST

/*
 * The image is of two syncs, as in a copy that was made while others synced. _i: the first block is
 * the older one; so it is with a record that says nothing; it has bytes of both.
 */
enum { OLDER, NO_RECORD, OF_BOTH, TEARINGS };

static void tear_image(struct blm_view *view, const uint8_t *block,
		       const struct blm_block_record *record, int how)
{
	struct blm_block_record *to =
		(struct blm_block_record *)(view->image.map + view->checkpoint.records[BLM_IMAGE]);

	if (how != OF_BOTH)
		memcpy(view->image.map + view->checkpoint.blocks[BLM_IMAGE], block, BLM_BLOCK);
	else
		memcpy(view->image.map + view->checkpoint.blocks[BLM_IMAGE], "damage", 6);
	if (how == NO_RECORD)
		memset(to, 0, sizeof(*to));
	else if (how == OLDER)
		*to = *record;
}

START_TEST(a_copy_with_a_mixed_image_has_its_datas_keys)
{
	struct blm_filter *f = make(50000, 1e-6, 12), *copy;
	struct blm_view *view = current_view(f);
	struct blm_live before;
	struct blm_block_record record;
	uint8_t *block = malloc(BLM_BLOCK);
	bool same_boot = _i / TEARINGS;

	for (int sync = 0; sync < 2; sync++) {
		memcpy(&before, live_of(view), sizeof(before));
		memcpy(block, view->image.map + view->checkpoint.blocks[BLM_IMAGE], BLM_BLOCK);
		memcpy(&record, view->image.map + view->checkpoint.records[BLM_IMAGE],
		       sizeof(record));
		for (uint64_t i = 0; i < 20000; i++)
			OK(blm_add(f, &(uint64_t){ 20000u * (unsigned)sync + i }, 8));
		OK(blm_sync(f));
	}
	tear_image(view, block, &record, _i % TEARINGS);
	if (!same_boot) {
		memcpy(live_of(view), &before, sizeof(before));
		store_release(&live_of(view)->written.word,
			      load_acquire(&live_of(view)->epoch.word));
		store_release(&live_of(view)->boot.word, 12345);
	}
	store_release(&live_of(view)->original.word, 2);	/* another file */
	for (int write = same_boot; write < 2; write++) {
		OK(blm_open(&copy, NULL, f->place.display, write ? BLM_OPEN_WRITE : 0));
		ck_assert_uint_eq(found(copy, 0, 40000), 40000);
		ck_assert(same_boot || !(info(copy).can & BLM_CAN_REMOVE));
		if (write) {
			OK(blm_sync(copy));
			FAILS(blm_remove(copy, &(uint64_t){ 1 }, 8), -EUCLEAN);
			OK(blm_add(copy, "new", 3));
			OK(blm_sync(copy));
		}
		blm_close(copy);
	}
	ck_assert_int_eq(blm_verify(NULL, f->place.display, 0, NULL, NULL), 1);
	OK(blm_add(f, "newer", 5));
	cut(f->place.display, f);			/* the image is whole now */
	OK(blm_open(&copy, NULL, f->place.display, BLM_OPEN_WRITE));
	ck_assert_uint_eq(found(copy, 0, 40000), 40000);
	FAILS(blm_remove(copy, &(uint64_t){ 1 }, 8), -EUCLEAN);
	blm_close(copy), blm_close(f);
	free(block);
}
END_TEST

/* _i: which half of the numbers that records have of epochs comes to its end. */
START_TEST(epochs_may_go_round_in_the_records_of_blocks)
{
	struct blm_filter *f = make(3000000, 1e-6, 12), *again;
	uint64_t end = UINT64_C(1) << (31 + _i);

	for (uint64_t i = 0; i < 1000; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_add(f, "first", 5));
	OK(blm_sync(f));
	store_release(&live_of(current_view(f))->epoch.word, end - 2);
	for (uint64_t i = 0; i < (_i ? 3 : 10); i++) {
		OK(blm_add(f, &(uint64_t){ 5000 + i }, 8));
		OK(blm_sync(f));
	}
	ck_assert_int_eq(blm_remove(f, "first", 5), 1);
	cut(f->place.display, f);
	OK(blm_open(&again, NULL, f->place.display, BLM_OPEN_WRITE));
	ck_assert_uint_eq(found(again, 0, 1000), 1000);
	ck_assert(blm_contains(again, "first", 5));
	ck_assert_int_eq(blm_remove(again, "first", 5), 1);
	OK(blm_sync(again));
	ck_assert_int_eq(blm_verify(NULL, f->place.display, 0, NULL, NULL), 0);
	blm_close(f), blm_close(again);
}
END_TEST

START_TEST(an_export_has_no_second_image_and_opens_as_is)
{
	struct blm_filter *f = make(500, 1e-6, 7), *out, *back;
	const char *path = a_path();

	for (uint64_t i = 0; i < 400; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_export_file(f, NULL, path));
	OK(blm_open(&out, NULL, path, BLM_OPEN_WRITE));
	ck_assert_uint_eq(found(out, 0, 400), 400);
	ck_assert_uint_eq(info(out).checkpoint_bytes, 0);
	ck_assert_int_eq(blm_add(out, "new", 3), 1);
	OK(blm_sync(out));
	ck_assert_int_eq(blm_verify(NULL, path, 0, NULL, NULL), 0);
	OK(blm_import_file(&back, NULL, a_path(), NULL, path));
	ck_assert_uint_eq(found(back, 0, 400), 400);
	ck_assert_uint_gt(info(back).checkpoint_bytes, 0);
	blm_close(f), blm_close(out), blm_close(back);
}
END_TEST

START_TEST(without_a_second_image_it_is_half_as_large)
{
	struct blm_filter *f, *again, *with = make(50000, 1e-6, 9);
	const char *path = a_path();

	OK(blm_create(&f, NULL, path,
		      &BLM_PARAMS(.kind = "cuckoo", .capacity = 50000, .rate = 1e-6,
				  .no_checkpoint = true)));
	ck_assert_uint_eq(info(f).checkpoint_bytes, 0);
	ck_assert_uint_eq(info(with).checkpoint_bytes, info(with).data_bytes);
	ck_assert_uint_gt(info(with).bytes, info(f).bytes + info(f).data_bytes);
	OK(blm_add(f, "key", 3));
	OK(blm_sync(f));
	cut(path, f);
	OK(blm_open(&again, NULL, path, BLM_OPEN_WRITE));		/* all was synced */
	blm_close(again);
	OK(blm_add(f, "another", 7));
	cut(path, f);
	FAILS(blm_open(&again, NULL, path, BLM_OPEN_WRITE), -EUCLEAN);
	FAILS(blm_open(&again, NULL, path, 0), -EUCLEAN);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "delete the file, and make it again"));
	ck_assert_int_eq(blm_verify(NULL, path, 0, NULL, NULL), 1);
	blm_close(f), blm_close(with);
}
END_TEST

START_TEST(verify_finds_a_damaged_image_and_a_restart_refuses_it)
{
	struct blm_filter *f = make(50000, 1e-6, 10), *again;
	const char *path = f->place.display;
	int fd = open(path, O_RDWR);

	for (uint64_t i = 0; i < 40000; i++)
		OK(blm_add(f, &i, 8));
	OK(blm_sync(f));
	ck_assert_int_eq(pwrite(fd, "damage", 6,
				(off_t)current_view(f)->checkpoint.blocks[BLM_IMAGE] + 70000),
			 6);
	ck_assert_int_eq(blm_verify(NULL, path, 0, NULL, NULL), 1);
	OK(blm_add(f, "new", 3));
	cut(path, f);
	FAILS(blm_open(&again, NULL, path, 0), -EUCLEAN);
	FAILS(blm_open(&again, NULL, path, BLM_OPEN_WRITE), -EUCLEAN);
	close(fd);
	blm_close(f);
}
END_TEST

START_TEST(a_sealed_filter_has_no_image_and_its_copies_do)
{
	struct blm_filter *f = make(5000, 1e-6, 11), *copy;

	OK(blm_add(f, "key", 3));
	OK(blm_seal(f));
	ck_assert_uint_eq(info(f).checkpoint_bytes, 0);
	ck_assert(blm_contains(f, "key", 3));
	OK(blm_copy(&copy, NULL, a_path(), f, 0));
	ck_assert_uint_gt(info(copy).checkpoint_bytes, 0);
	OK(blm_add(copy, "another", 7));
	blm_close(f), blm_close(copy);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("cuckoo");
	TCase *tc = tcase_create("cuckoo"), *threads = tcase_create("threads");

	tcase_add_loop_test(tc, the_first_key_without_space_comes_at_planned_load, 0, 2);
	tcase_add_test(tc, windows_fill_with_cells_of_8_bits_too);
	tcase_add_test(tc, five_keys_with_equal_fingerprints_and_windows_are_rare);
	tcase_add_test(tc, a_number_of_cells_holds_its_capacity_at_any_rate);
	tcase_add_loop_test(tc, small_filters_hold_their_capacity, 0, 2);
	tcase_add_loop_test(tc, at_the_planned_load_its_rate_meets_the_formula, 0, 2);
	tcase_add_test(tc, removed_keys_are_gone_others_stay_and_space_is_free);
	tcase_add_loop_test(
		tc, a_key_can_fill_every_cell_of_its_buckets, 0, 2);
	tcase_add_test(tc, a_key_whose_windows_overlap_is_in_it_three_times);
	tcase_add_loop_test(tc, cells_that_are_damaged_lead_to_no_place_outside, 0, 2);
	tcase_add_test(tc, a_large_filter_in_memory_reports_its_load_and_syncs);
	tcase_add_test(tc, when_it_is_full_nothing_is_changed);
	tcase_add_test(tc, killed_writers_lose_no_key_and_leave_one_at_most);
	tcase_add_loop_test(tc, readers_miss_no_key_while_others_move_it, 0, 3);
	tcase_add_test(tc, copies_and_exports_during_moves_have_all_keys);
	tcase_add_test(threads, a_key_is_found_while_it_moves);
	tcase_add_test(
		tc, after_a_power_cut_all_processes_see_the_last_sync);
	tcase_add_test(tc, a_reader_finds_no_damage_while_a_writer_recovers);
	tcase_add_test(tc,
		       the_image_waits_for_a_killed_syncs_record_on_disk);
	tcase_add_loop_test(
		tc, a_death_in_recovery_hides_no_later_keys_from_readers,
		0, 2);
	tcase_add_test(
		tc, a_copy_of_the_image_has_all_synced_keys);
	tcase_add_test(tc, after_a_power_cut_a_new_filter_is_empty);
	tcase_add_loop_test(tc, a_killed_sync_takes_nothing_from_the_next_one, 0, 2);
	tcase_add_test(tc, a_child_does_not_copy_an_unlinked_file);
	tcase_add_test(tc, an_export_has_no_second_image_and_opens_as_is);
	tcase_add_loop_test(
		tc, the_image_serves_a_restart_despite_damaged_sync_records, 0, 2);
	tcase_add_loop_test(tc, a_sync_whose_sequence_wraps_keeps_its_keys, 0, 6);
	tcase_add_test(tc, a_torn_sync_record_leaves_the_previous_one);
	tcase_add_test(tc, a_word_announced_of_later_epochs_announces_nothing);
	tcase_add_test(tc, a_damaged_sync_record_keeps_no_key_in_the_filter);
	tcase_add_loop_test(
		tc, a_copy_with_a_mixed_image_has_its_datas_keys,
		0, 2 * TEARINGS - 1);
	tcase_add_loop_test(tc, epochs_may_go_round_in_the_records_of_blocks, 0, 2);
	tcase_add_test(tc,
		       without_a_second_image_it_is_half_as_large);
	tcase_add_test(tc, verify_finds_a_damaged_image_and_a_restart_refuses_it);
	tcase_add_test(tc, a_killed_syncs_damaged_journal_is_refused_after_a_restart);
	tcase_add_test(tc, the_next_sync_discards_a_damaged_journal_record);
	tcase_add_test(tc, the_next_sync_logs_a_damaged_journal_block_again);
	tcase_add_test(
		tc, an_image_block_without_record_is_trusted_only_if_unwritten);
	tcase_add_test(
		tc, verify_finds_a_damaged_image_record_and_a_restart_refuses);
	tcase_add_test(tc, a_sealed_filter_has_no_image_and_its_copies_do);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, threads);
	return run_suite(s);
}
