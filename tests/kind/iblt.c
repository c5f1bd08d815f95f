/*
 * iblt.c - what two invertible tables list: all that differs, nothing else, or that it is too much;
 * and what a killed writer leaves
 */
#include "handle/handle.h"
#include "kind/iblt.h"
#include "suite.h"
#include "file/two_slots.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <malloc.h>
#include <sys/mman.h>

enum { COMMON = 100000, A_ALONE = 1 << 24, B_ALONE = 2 << 24 };	/* numbers of keys */

static struct blm_filter *make(uint64_t capacity, uint64_t seed)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "iblt", .capacity = capacity, .seeds = &seed,
				  .seed_count = 1)));
	return f;
}

static struct blm_filter *twin(const struct blm_filter *f)
{
	struct blm_filter *t;

	OK(blm_template(&t, NULL, NULL, f, 0));
	return t;
}

/* Many at once: the writers' lock is taken for each call. */
static void add_range(struct blm_filter *f, uint32_t from, uint32_t to)
{
	uint32_t *numbers = calloc(to - from + 1, sizeof(*numbers));

	for (uint32_t i = from; i < to; i++)
		numbers[i - from] = i;
	ck_assert_int_eq(blm_add_fixed(f, numbers, sizeof(*numbers), to - from, NULL), to - from);
	free(numbers);
}

/* ---- What was listed ---- */

struct listed {
	uint32_t a, b, wrong;
	uint32_t most;		/* of each side */
	char last[100];
};

static int note(void *context, const void *key, size_t len, bool in_b)
{
	struct listed *l = context;
	uint32_t number = 0;

	memcpy(&number, key, len < sizeof(number) ? len : sizeof(number));
	if (len != sizeof(number) || number < A_ALONE || (number >= B_ALONE) != in_b
	    || (number & (A_ALONE - 1)) >= l->most)
		l->wrong++;
	l->a += !in_b;
	l->b += in_b;
	return 0;
}

static int note_text(void *context, const void *key, size_t len, bool in_b)
{
	struct listed *l = context;
	size_t at = strlen(l->last);

	snprintf(l->last + at, sizeof(l->last) - at, "%c%.*s ", in_b ? '>' : '<', (int)len,
		 len ? (const char *)key : "");
	return 0;
}

/* ---- Sets ---- */

START_TEST(sets_of_100000_keys_list_exactly_their_differences)
{
	static const uint32_t sizes[] = { 100, 1000 };
	const uint32_t size = sizes[_i % 2], half = size / 2;
	const uint64_t seed = (uint64_t)_i;
	struct blm_filter *a = make(size, seed), *b = twin(a);
	struct listed l = { .most = half };

	add_range(a, 0, COMMON);
	add_range(b, 0, COMMON);
	add_range(a, A_ALONE, A_ALONE + half);
	add_range(b, B_ALONE, B_ALONE + half);
	OK(blm_difference_list(a, b, note, &l));
	ck_assert_uint_eq(l.a, half);
	ck_assert_uint_eq(l.b, half);
	ck_assert_uint_eq(l.wrong, 0);
	blm_close(a), blm_close(b);
}
END_TEST

/*
 * What they have in common is gone when they are subtracted: so tables of what differs alone tell
 * how often they fail.
 */
static int note_part(void *context, const struct blm_key *key, bool in_b)
{
	return note(context, key->bytes, key->len, in_b);
}

static void add_to_part(struct blm_part *part, const struct blm_hasher *by, uint32_t number)
{
	const struct blm_key key = { &number, sizeof(number) };
	struct blm_hashed hashed = { .key = &key, .by = by };

	by->family->hash(by, &key, &hashed.hash);
	ck_assert_int_eq(part->kind->add(part, &hashed), 1);
}

static bool lists_all(struct blm_part *a, struct blm_part *b, const struct blm_hasher *by,
		      uint32_t size)
{
	struct listed l = { .most = size };
	int r;

	memset(a->bytes, 0, a->shape.bytes);
	memset(b->bytes, 0, b->shape.bytes);
	for (uint32_t i = 0; i < size; i++)
		add_to_part(i % 2 ? b : a, by, (i % 2 ? B_ALONE : A_ALONE) + i);
	r = a->kind->differences(a, b, by, note_part, &l);
	ck_assert(r == 0 || r == -EXFULL);
	ck_assert_uint_eq(l.wrong, 0);
	if (r == 0)
		ck_assert_uint_eq(l.a + l.b, size);
	return r == 0;
}

START_TEST(at_most_one_of_1000_full_tables_fails)
{
	static const uint32_t sizes[] = { 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000 };
	const uint32_t size = sizes[_i];
	const unsigned runs = (unsigned)(test_scale() * (size < 100 ? 20000 : 2e6 / size)) + 20;
	struct blm_filter *f = make(size, 1), *g = twin(f);
	struct blm_part a = current_view(f)->part[0], b = current_view(g)->part[0];
	struct blm_hasher by = current_view(f)->hasher;
	unsigned failed = 0;

	a.unshared = b.unshared = true;
	a.marks = b.marks = NULL;
	a.bytes = aligned_alloc(64, a.shape.bytes);
	b.bytes = aligned_alloc(64, b.shape.bytes);
	for (unsigned run = 0; run < runs; run++) {
		/* with seeds in a row, keys in a row have hashes of one another */
		const uint64_t seed = mixed(run);

		by.seeds = &seed;
		failed += !lists_all(&a, &b, &by, size);
	}
	fprintf(stderr, "%u of %u tables for %u keys failed\n", failed, runs, size);
	ck_assert_double_le(failed, 0.001 * runs + 4 * sqrt(0.001 * runs));
	free(a.bytes), free(b.bytes);
	blm_close(f), blm_close(g);
}
END_TEST

START_TEST(too_many_differences_list_none_and_give_an_estimate)
{
	struct blm_filter *a = make(100, 3), *b = twin(a);
	struct listed l = { .most = 5000 };
	struct blm_value keys;

	add_range(a, 0, COMMON), add_range(b, 0, COMMON);
	add_range(a, A_ALONE, A_ALONE + 2000), add_range(b, B_ALONE, B_ALONE + 3000);
	FAILS(blm_difference_list(a, b, note, &l), -EXFULL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "keys differ"));
	ck_assert_uint_eq(l.a + l.b, 0);
	OK(blm_difference_estimate(a, b, &keys));
	ck_assert_double_gt(keys.error, 0);
	ck_assert_double_le(fabs(keys.value - 5000), 4 * keys.error);
	ck_assert_double_le(keys.error, 0.11 * 5000);
	blm_close(a), blm_close(b);
}
END_TEST

START_TEST(over_many_seeds_the_estimate_is_right_within_its_error)
{
	const unsigned seeds = 60;
	double sum = 0, squares = 0;

	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct blm_filter *a = make(100, seed), *b = twin(a);
		struct blm_value keys;

		add_range(a, A_ALONE, A_ALONE + 3000), add_range(b, B_ALONE, B_ALONE + 500);
		OK(blm_difference_estimate(a, b, &keys));
		sum += keys.value - 3500;
		squares += (keys.value - 3500) * (keys.value - 3500) / (keys.error * keys.error);
		blm_close(a), blm_close(b);
	}
	ck_assert_double_le(fabs(sum / seeds), 4 * 0.1 * 3500 / sqrt(seeds));
	ck_assert_double_le(squares / seeds, 2);
	ck_assert_double_ge(squares / seeds, 0.3);
}
END_TEST

/* ---- Keys ---- */

START_TEST(keys_are_listed_in_byte_order_including_the_empty_one)
{
	struct blm_filter *a = make(20, 5), *b = twin(a);
	struct listed l = { 0 };

	OK(blm_add(a, "pear", 4));
	OK(blm_add(b, "pear", 4));
	OK(blm_add(a, "fig", 3));
	OK(blm_add(b, "figs", 4));
	OK(blm_add(b, "apple", 5));
	OK(blm_add(a, NULL, 0));
	OK(blm_difference_list(a, b, note_text, &l));
	ck_assert_str_eq(l.last, "< >apple <fig >figs ");
	OK(blm_remove(b, "figs", 4));
	OK(blm_remove(a, NULL, 0));
	l = (struct listed){ 0 };
	OK(blm_difference_list(a, b, note_text, &l));
	ck_assert_str_eq(l.last, ">apple <fig ");
	OK(blm_difference_list(a, a, note_text, &l));
	ck_assert_str_eq(l.last, ">apple <fig ");
	blm_close(a), blm_close(b);
}
END_TEST

static int stop(void *context, const void *key, size_t len, bool in_b)
{
	(void)key, (void)len, (void)in_b;
	return ++*(int *)context;
}

START_TEST(a_listing_ends_when_the_caller_stops_it)
{
	struct blm_filter *a = make(20, 5), *b = twin(a);
	int calls = 0;

	add_range(a, 0, 10);
	ck_assert_int_eq(blm_difference_list(a, b, stop, &calls), 1);
	ck_assert_int_eq(calls, 1);
	blm_close(a), blm_close(b);
}
END_TEST

START_TEST(longer_keys_and_hashes_are_refused_without_a_change)
{
	struct blm_filter *a = make(20, 5), *b = twin(a);
	char text[100] = "";
	struct blm_hash hash;
	struct listed l = { 0 };

	OK(blm_add(a, text, 32));
	FAILS(blm_add(b, text, 33), -EMSGSIZE);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "key-bytes"));
	ck_assert(!blm_contains(b, text, 33));
	ck_assert_int_eq(blm_remove(a, text, 33), 0);
	OK(blm_hash_many(b, &(struct blm_key){ "x", 1 }, 1, &hash));
	FAILS(blm_add_hashes(b, blm_hash_id(b), &hash, 1, NULL), -EOPNOTSUPP);
	OK(blm_add(b, text, 32));
	OK(blm_difference_list(a, b, note_text, &l));
	ck_assert_str_eq(l.last, "");
	blm_close(a), blm_close(b);
}
END_TEST

START_TEST(a_key_twice_on_one_side_is_not_listed_wrongly)
{
	struct blm_filter *a = make(20, 5), *b = twin(a);
	struct listed l = { 0 };

	OK(blm_add(a, "twice", 5));
	OK(blm_add(a, "twice", 5));
	OK(blm_add(b, "once", 4));
	FAILS(blm_difference_list(a, b, note_text, &l), -EXFULL);
	ck_assert_str_eq(l.last, "");
	blm_close(a), blm_close(b);
}
END_TEST

START_TEST(tables_of_other_templates_and_other_kinds_list_nothing)
{
	struct blm_filter *a = make(20, 5), *b = make(20, 6), *c;
	struct blm_value keys;
	struct listed l = { 0 };

	OK(blm_create(&c, NULL, NULL, &BLM_PARAMS(.kind = "classic", .capacity = 20)));
	FAILS(blm_difference_list(a, b, note, &l), -EMEDIUMTYPE);
	FAILS(blm_difference_estimate(a, b, &keys), -EMEDIUMTYPE);
	FAILS(blm_difference_list(c, c, note, &l), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "iblt"));
	FAILS(blm_create(&c, NULL, NULL, &BLM_PARAMS(.kind = "iblt", .cells = 22)), -EINVAL);
	FAILS(blm_create(&c, NULL, NULL, &BLM_PARAMS(.kind = "iblt", .cells = 20, .probes = 3)),
	      -EINVAL);
	blm_close(a), blm_close(b), blm_close(c);
}
END_TEST

/* ---- Bytes that no add made ---- */

START_TEST(listing_a_table_of_any_bytes_ends)
{
	struct blm_filter *a = make(50, 7), *b = twin(a);
	struct blm_part *part = &current_view(a)->part[0];
	uint64_t random = (uint64_t)_i, *words = (uint64_t *)part->bytes, key[4] = { 9 };
	struct blm_hash hash;
	struct listed l = { 0 };

	/* a key in one of its cells only: taken out there it is put into the others, and again */
	OK(blm_hash_many(a, &(struct blm_key){ key, 32 }, 1, &hash));
	for (unsigned i = 0; i < (_i == 0); i++) {
		uint64_t *cell = iblt_cell(part, iblt_spot(&part->shape, &hash, 0));

		cell[IBLT_COUNT] = htole64(iblt_counted(0, 1, 32));
		cell[IBLT_CHECK] = htole64(iblt_check(&hash));
		cell[IBLT_KEY] = key[0];
	}
	for (uint64_t i = 0; _i && i < part->shape.bytes / 8; i++)
		words[i] = next_random(&random) >> (next_random(&random) % 64);
	ck_assert_int_eq(blm_difference_list(a, b, note, &l), -EXFULL);
	OK(blm_add(a, "x", 1));		/* which puts back what the journal says */
	blm_close(a), blm_close(b);
}
END_TEST

/* The one cell that is not empty says so. */
START_TEST(a_key_above_the_maximum_length_is_not_listed)
{
	struct blm_filter *a = make(50, 7), *b = twin(a);
	const struct blm_part *part = &current_view(a)->part[0];
	struct listed l = { 0 };

	iblt_cell(part, 1)[IBLT_COUNT] =
		htole64(iblt_counted(0, 1, part->shape.args[IBLT_KEY_BYTES] + 1));
	FAILS(blm_difference_list(a, b, note, &l), -EXFULL);
	ck_assert_uint_eq(l.a + l.b, 0);
	blm_close(a), blm_close(b);
}
END_TEST

START_TEST(a_cell_with_a_full_count_refuses_keys)
{
	struct blm_filter *f = make(50, 7);
	const struct blm_part *part = &current_view(f)->part[0];
	uint8_t *before = malloc(part->shape.bytes);
	struct blm_hash hash;

	OK(blm_hash_many(f, &(struct blm_key){ "x", 1 }, 1, &hash));
	iblt_cell(part, iblt_spot(&part->shape, &hash, IBLT_PROBES - 1))[IBLT_COUNT] =
		htole64(IBLT_COUNT_MASK);
	memcpy(before, part->bytes, part->shape.bytes);
	FAILS(blm_add(f, "x", 1), -EXFULL);
	ck_assert_mem_eq(part->bytes, before, part->shape.bytes);
	free(before);
	blm_close(f);
}
END_TEST

START_TEST(a_table_has_two_cells_for_each_hash_at_least)
{
	FAILS(blm_plan(&(struct blm_plan){ 0 }, &BLM_PARAMS(.kind = "iblt", .cells = IBLT_PROBES)),
	      -EINVAL);
	ck_assert_msg(strstr(blm_error_message(), "from 8 on") != NULL, "%s", blm_error_message());
}
END_TEST

static uint64_t own_memory(void)	/* in bytes; without the mapping of files */
{
	FILE *status = fopen("/proc/self/status", "r");
	unsigned long long kib = 0;
	char line[200];

	ck_assert_ptr_nonnull(status);
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "RssAnon: %llu kB", &kib) == 1)
			break;
	fclose(status);
	return kib * 1024;
}

static int note_memory(void *context, const struct blm_key *key, bool in_b)
{
	(void)key, (void)in_b;
	*(uint64_t *)context = own_memory();
	return 0;
}

START_TEST(a_sparse_file_takes_no_memory_for_its_holes)
{
	struct blm_filter *a = make(1000000, 7), *b = twin(a);
	const struct blm_part *x = &current_view(a)->part[0], *y = &current_view(b)->part[0];
	uint64_t before, after = 0;

	/* $MALLOC_PERTURB_ would fill what calloc(3) gets as zeros */
	mallopt(M_PERTURB, 0);
	OK(blm_add(a, "x", 1));
	before = own_memory();
	if (SANITIZED)
		before = UINT64_MAX / 2;	/* their own memory comes and goes */
	OK(x->kind->differences(x, y, &current_view(a)->hasher, note_memory, &after));
	ck_assert_uint_gt(after, 0);
	ck_assert_uint_lt(after, before + x->shape.bytes / 8);
	blm_close(a), blm_close(b);
}
END_TEST

/* ---- Killed in the middle of a change ---- */

/*
 * What one who died after the journal left: some of the cells of a key changed, one of them in
 * part.
 */
static void half_add(struct blm_filter *f, const char *text, unsigned done)
{
	struct blm_part *part = &current_view(f)->part[0];
	uint64_t *journal = iblt_journal(part);
	size_t words = iblt_words(&part->shape);
	struct blm_hash hash;

	OK(blm_hash_many(f, &(struct blm_key){ text, strlen(text) }, 1, &hash));
	for (unsigned i = 0; i < IBLT_PROBES; i++) {
		uint64_t spot = iblt_spot(&part->shape, &hash, i);

		journal[IBLT_NUMBERS + i] = htole64(spot);
		memcpy(&journal[IBLT_BEFORE + i * words], iblt_cell(part, spot), 8 * words);
	}
	journal[IBLT_CHANGING] = htole64(1);
	for (unsigned i = 0; i < done; i++) {
		uint64_t *cell = iblt_cell(part, iblt_spot(&part->shape, &hash, i));

		cell[IBLT_COUNT] =
			htole64(iblt_counted(le64toh(cell[IBLT_COUNT]), 1, strlen(text)));
		if (i + 1 < done)
			cell[IBLT_CHECK] ^= htole64(iblt_check(&hash));
	}
}

START_TEST(only_the_key_of_a_killed_writer_may_be_absent)
{
	struct blm_filter *a = make(20, 5), *b = twin(a), *same = twin(a);
	const struct blm_part *x = &current_view(a)->part[0], *y = &current_view(same)->part[0];
	struct listed l = { 0 };

	OK(blm_add(a, "one", 3));
	OK(blm_add(a, "two", 3));
	OK(blm_add(b, "two", 3));
	half_add(a, "three", (unsigned)_i);
	OK(blm_difference_list(a, b, note_text, &l));
	ck_assert_str_eq(l.last, "<one ");
	ck_assert(blm_contains(a, "one", 3) && blm_contains(a, "two", 3));
	OK(blm_add(a, "four", 4));
	OK(blm_add(same, "one", 3));
	OK(blm_add(same, "two", 3));
	OK(blm_add(same, "four", 4));
	ck_assert_mem_eq(x->bytes, y->bytes, x->shape.bytes);
	blm_close(a), blm_close(b), blm_close(same);
}
END_TEST

/* ---- Killed at any moment, with and without a power cut ---- */

enum { THERE = 300, NUMBERS = 1 << 20 };

struct span {
	uint32_t from, to;	/* the keys that are in it */
};

enum { SYNCS = 1024 };	/* more than writers that are killed, of each of which one may have ended */

/*
 * The writer's reports, in memory that outlives it: the keys that are certainly there, and those of
 * the last sync, or of one that may have ended since.
 */
struct told {
	struct span now, synced[SYNCS];
	uint32_t syncs;
};

static void sync_and_tell(struct blm_filter *f, volatile struct told *told)
{
	MUST(told->syncs < SYNCS);
	told->synced[told->syncs].from = told->now.from;
	told->synced[told->syncs].to = told->now.to;
	told->syncs++;
	MUST(blm_sync(f) == 0);
	told->synced[0].from = told->now.from;
	told->synced[0].to = told->now.to;
	told->syncs = 1;
}

static void work(const char *path, volatile struct told *told)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, path, BLM_OPEN_WRITE) == 0);
	for (;;) {
		MUST(blm_add(f, (const void *)&(uint32_t){ told->now.to }, 4) == 1);
		told->now.to++;
		while (told->now.to - told->now.from > THERE) {
			MUST(blm_remove(f, (const void *)&(uint32_t){ told->now.from }, 4) == 1);
			told->now.from++;
		}
		if (told->now.to % 64 == 0)
			sync_and_tell(f, told);
	}
}

struct seen {
	uint32_t least, count, wrong;
	uint64_t sum;
};

static int see(void *context, const void *key, size_t len, bool in_b)
{
	struct seen *s = context;
	uint32_t number = NUMBERS;

	if (len == sizeof(number))
		memcpy(&number, key, len);
	s->wrong += in_b || number >= NUMBERS;
	s->least = number < s->least ? number : s->least;
	s->sum += number;
	s->count++;
	return 0;
}

static bool are(const struct seen *s, struct span is)
{
	return s->count == is.to - is.from && (!s->count || s->least == is.from)
	    && s->sum == ((uint64_t)is.from + is.to - 1) * (is.to - is.from) / 2;
}

/*
 * The state when its writer died: the last key may be in it or not, and so may a key that was being
 * removed.
 */
static bool is_of_now(const struct seen *s, struct told *told)
{
	struct span then = told->now;

	for (uint32_t i = 0; i < 4; i++) {
		told->now = (struct span){ then.from + (i & 1), then.to + (i >> 1) };
		if (are(s, told->now) && (!(i & 1) || then.to - then.from > THERE))
			return true;
	}
	told->now = then;
	return false;
}

static bool is_of_a_sync(const struct seen *s, struct told *told)
{
	for (uint32_t i = 0; i < told->syncs; i++)
		if (are(s, told->synced[i])) {
			told->now = told->synced[0] = told->synced[i];
			told->syncs = 1;
			return true;
		}
	return false;
}

static void check(struct told *told, const char *path, const struct blm_filter *empty, bool was_cut)
{
	struct seen s = { .least = UINT32_MAX };
	struct blm_filter *f;
	bool good;

	OK(blm_open(&f, NULL, path, 0));
	OK(blm_difference_list(f, empty, see, &s));
	good = was_cut ? is_of_a_sync(&s, told) : is_of_now(&s, told);
	ck_assert_msg(good && !s.wrong,
		      "%u keys from %u on, %u of them wrong; from %u to %u were in it, from %u to "
		      "%u at the last of %u syncs",
		      s.count, s.least, s.wrong, told->now.from, told->now.to, told->synced[0].from,
		      told->synced[0].to, told->syncs);
	/* the first may be half out */
	for (uint32_t i = told->now.from + !was_cut; i < told->now.to; i++)
		ck_assert(blm_contains(f, &i, sizeof(i)));
	blm_close(f);
}

/*
 * The machine starts again, and the fate of writes since the last sync is unknown. Without such
 * writes the whole file is on the disk. Returns whether there were any.
 */
static bool cut(const char *path)
{
	static struct blm_header header;
	struct blm_sync_record last = { 0 };
	uint64_t boot = 12345;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	bool dirty;

	ck_assert_int_eq(pread(fd, &header, sizeof(header), 0), sizeof(header));
	blm_last_sync(&header.live, header.constant.uuid, &last);
	dirty = le64toh(header.live.written.word) > le64toh(last.epoch);
	ck_assert_int_eq(pwrite(fd, &boot, 8,
				offsetof(struct blm_header, live)
					+ offsetof(struct blm_live, boot)),
			 8);
	for (uint64_t i = 0; dirty && i + 64 < le64toh(header.part[0].bytes); i += 200)
		ck_assert_int_eq(
			pwrite(fd, "damage", 6, (off_t)(le64toh(header.part[0].offset) + i)), 6);
	close(fd);
	return dirty;
}

/* At any moment of its first milliseconds, when it has added keys up to that one. */
static void kill_one(const char *path, volatile struct told *told, uint32_t last, uint64_t *random)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		work(path, told);
	do
		usleep((useconds_t)(next_random(random) % 8000));
	while (told->now.to < last);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
}

START_TEST(acknowledged_keys_survive_kills_and_synced_keys_power_cuts)
{
	struct told *told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *path = a_path();
	struct blm_filter *f, *empty;
	uint64_t random = 1;
	bool was_cut;

	/* no chance that it cannot be listed */
	OK(blm_create(&f, NULL, path, &BLM_PARAMS(.kind = "iblt", .capacity = 4 * THERE)));
	empty = twin(f);
	sync_and_tell(f, told);
	blm_close(f);
	for (unsigned cycle = 0; cycle < 20 + test_scale() * 80; cycle++) {
		kill_one(path, told, 0, &random);
		was_cut = _i && next_random(&random) % 2 && cut(path);
		check(told, path, empty, was_cut);
	}
	do {
		kill_one(path, told, told->now.to + THERE, &random);
		was_cut = _i && cut(path);
		check(told, path, empty, was_cut);
	} while (_i && !was_cut);
	blm_close(empty);
}
END_TEST

int main(void)
{
	TCase *sets = tcase_create("sets"), *keys = tcase_create("keys");
	Suite *suite = begin_suite("iblt");

	tcase_add_loop_test(
		sets,
		sets_of_100000_keys_list_exactly_their_differences,
		0, test_full() ? 200 : 20);
	tcase_add_loop_test(sets, at_most_one_of_1000_full_tables_fails, 0, 12);
	tcase_add_test(sets, too_many_differences_list_none_and_give_an_estimate);
	tcase_add_test(sets, over_many_seeds_the_estimate_is_right_within_its_error);
	tcase_add_test(keys, keys_are_listed_in_byte_order_including_the_empty_one);
	tcase_add_test(keys, a_listing_ends_when_the_caller_stops_it);
	tcase_add_test(keys, longer_keys_and_hashes_are_refused_without_a_change);
	tcase_add_test(keys, a_key_above_the_maximum_length_is_not_listed);
	tcase_add_test(keys, a_cell_with_a_full_count_refuses_keys);
	tcase_add_test(keys, a_table_has_two_cells_for_each_hash_at_least);
	tcase_add_test(keys, a_key_twice_on_one_side_is_not_listed_wrongly);
	tcase_add_test(keys, tables_of_other_templates_and_other_kinds_list_nothing);
	tcase_add_test(keys, a_sparse_file_takes_no_memory_for_its_holes);
	tcase_add_loop_test(keys, listing_a_table_of_any_bytes_ends, 0, 50);
	tcase_add_loop_test(keys, only_the_key_of_a_killed_writer_may_be_absent, 0,
			    IBLT_PROBES + 1);
	tcase_add_loop_test(sets,
			    acknowledged_keys_survive_kills_and_synced_keys_power_cuts,
			    0, 2);
	tcase_set_timeout(sets, TOO_LONG);
	suite_add_tcase(suite, sets);
	suite_add_tcase(suite, keys);
	return run_suite(suite);
}
