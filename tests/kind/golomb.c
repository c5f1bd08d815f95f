/* golomb.c - the kind golomb: its space, how much of it a question reads, its numbers in and out */
#include "kind/golomb_layout.h"
#include "handle/handle.h"
#include "suite.h"

#include <fcntl.h>
#include <unistd.h>

static struct blm_filter *build(uint64_t count, double rate, const char *options, uint64_t capacity)
{
	struct blm_params p = BLM_PARAMS(.kind = "golomb", .rate = rate, .options = options,
					 .capacity = capacity, .seeds = &(uint64_t){ 5 },
					 .seed_count = 1);
	struct blm_filter *f;
	struct blm_build *b;

	OK(blm_build_begin(&b, NULL, NULL, &p, NULL));
	for (uint64_t i = 0; i < count; i++)
		OK(blm_build_add_fixed(b, &i, 8, 1));
	OK(blm_build_finish(b, &f));
	return f;
}

static const struct blm_part *part_of(const struct blm_filter *f)
{
	return &current_view(f)->root;
}

/* What the codes alone take, one number of each block as a code, too. */
static double bits_of_codes(const struct blm_part *part, uint64_t count)
{
	struct golomb_cursor c;
	struct layout l;
	uint64_t last = 0, number, bits = 0;

	ck_assert(read_layout(&l, part));
	blm_golomb_cursor(&c, part);
	OK(c.numbers.begin(&c.numbers));
	while (c.numbers.next(&c.numbers, &number) == 1) {
		uint64_t distance = number - last;

		bits += distance / l.code.divisor + 1 + l.rest_bits
		      - (distance % l.code.divisor < l.short_ones);
		last = number;
	}
	return (double)bits / (double)count;
}

START_TEST(at_1_in_1024_a_key_takes_11_60_bits)
{
	const uint64_t count = SANITIZED ? 200000 : 1000000;
	struct blm_filter *f = build(count, 1.0 / 1024, NULL, 0);

	ck_assert_msg(bits_of_codes(part_of(f), count) <= 11.60, "%g",
		      bits_of_codes(part_of(f), count));
	ck_assert_msg((double)part_of(f)->shape.bytes * 8 / count <= 11.85, "%g",
		      (double)part_of(f)->shape.bytes * 8 / count);
	blm_close(f);
}
END_TEST

START_TEST(a_plan_predicts_the_bits_a_key_of_a_build)
{
	static const double rates[] = { 0.9, 0.5, 0.3, 0.1, 0.02, 1.0 / 1024, 1e-5, 1e-9, 1e-12 };
	const uint64_t count = 200000;

	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		struct blm_filter *f = build(count, rates[i], NULL, 0);
		double built = (double)part_of(f)->shape.bytes * 8 / count;
		struct blm_plan plan;

		OK(blm_plan(&plan,
			    &BLM_PARAMS(.kind = "golomb", .capacity = count, .rate = rates[i])));
		ck_assert_double_eq_tol((double)plan.data_bytes * 8 / count, built, 0.05);
		blm_close(f);
	}
}
END_TEST

START_TEST(a_question_decodes_at_most_32_codes)
{
	static const double rates[] = { 0.9, 0.5, 0.1, 1.0 / 1024, 1e-9 };

	for (size_t r = 0; r < ARRAY_LEN(rates); r++) {
		struct blm_filter *f = build(50000, rates[r], NULL, 0);
		uint64_t most = 0, all = 0;
		struct layout l;

		ck_assert(read_layout(&l, part_of(f)));
		for (uint64_t b = 0; b < l.blocks; b++) {
			unsigned bit = l.code.low_bits;
			uint64_t distance, codes = 0;

			while (next_distance(&l, l.block + b * l.code.block_bytes, &bit, &distance))
				codes++;
			most = codes > most ? codes : most;
			all += codes + 1;
		}
		ck_assert_uint_le(most, 32);
		ck_assert_uint_ge(most, 25);
		ck_assert_uint_eq(all, 50000);
		blm_close(f);
	}
}
END_TEST

/* Gaps of all sizes: numbers that lie close together, far apart, and twice at the same place. */
struct list {
	struct golomb_numbers numbers;
	const uint64_t *number;
	size_t count, at;
};

static int list_begin(struct golomb_numbers *n)
{
	((struct list *)n)->at = 0;
	return 0;
}

static int list_next(struct golomb_numbers *n, uint64_t *ret)
{
	struct list *l = (struct list *)n;

	if (l->at == l->count)
		return 0;
	*ret = l->number[l->at++];
	return 1;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

START_TEST(all_distributions_of_numbers_are_decoded_unchanged)
{
	static const uint64_t ranges[] = {
		1, 2, 3, 100, 1000003, UINT64_C(1) << 40, UINT64_C(1) << 62
	};
	enum { MOST = 3000 };
	uint64_t *number = malloc(MOST * sizeof(*number)), state = (uint64_t)_i;

	for (size_t r = 0; r < ARRAY_LEN(ranges); r++)
		for (size_t count = 0; count <= MOST; count = count * 3 + 1) {
			struct list list = { { list_begin, list_next }, number, count, 0 };
			struct blm_part part = {
				.kind = blm_kind_by_name("golomb"),
				.shape = { .cells = ranges[r], .probes = 1, .cell_bits = 1 }
			};
			struct golomb_cursor c;
			uint64_t got;

			for (size_t i = 0; i < count; i++) {
				uint64_t x = next_random(&state);

				number[i] = _i == 0 ? x % ranges[r]
					  : _i == 1 ? scale(x >> x % 64, ranges[r])
					  : _i == 2 ? ranges[r] - 1
						    : (x & 3) * (ranges[r] / 4);
			}
			qsort(number, count, sizeof(*number), compare);
			OK(blm_golomb_fit(&part.shape, &list.numbers, count));
			ck_assert(part.kind->valid(&part.shape));
			part.bytes = aligned_alloc(64, part.shape.bytes);
			memset(part.bytes, 0, part.shape.bytes);
			OK(blm_golomb_write(&part, &list.numbers, count));
			ck_assert_uint_eq(blm_golomb_count(&part), count);
			blm_golomb_cursor(&c, &part);
			OK(c.numbers.begin(&c.numbers));
			for (size_t i = 0; i < count; i++) {
				ck_assert_int_eq(c.numbers.next(&c.numbers, &got), 1);
				ck_assert_uint_eq(got, number[i]);
			}
			ck_assert_int_eq(c.numbers.next(&c.numbers, &got), 0);
			free(part.bytes);
		}
	free(number);
}
END_TEST

START_TEST(the_range_is_capacity_over_rate_or_the_exact_modulus)
{
	struct blm_filter *f = build(1000, 0.001, NULL, 0);
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.cells, 1000000);
	blm_close(f);
	f = build(1000, 0, "modulus=784931", 0);
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.cells, UINT64_C(784931000));
	blm_close(f);
	/* room for more: fewer are wrong less often */
	f = build(1000, 0.001, NULL, 5000);
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.cells, 5000000);
	ck_assert_uint_eq(info.capacity, 5000);
	ck_assert(info.rate_at_keys < 0.00021 && info.rate_at_capacity <= 0.001);
	blm_close(f);
}
END_TEST

START_TEST(an_impossible_golomb_filter_is_refused)
{
	struct blm_build *b;

	FAILS(blm_build_begin(&b, NULL, NULL, &BLM_PARAMS(.kind = "golomb", .cells = 100), NULL),
	      -EINVAL);
	FAILS(blm_build_begin(&b, NULL, NULL, &BLM_PARAMS(.kind = "golomb", .probes = 2), NULL),
	      -EINVAL);
	FAILS(blm_build_begin(&b, NULL, NULL, &BLM_PARAMS(.kind = "golomb", .rate = 1e-30), NULL),
	      -EFBIG);
	FAILS(blm_build_begin(&b, NULL, NULL, &BLM_PARAMS(.kind = "golomb", .options = "modulus=1"),
			      NULL),
	      -EINVAL);
}
END_TEST

/* Writes a list into a part, and reads it again. */
static void goes_in_and_comes_out(const uint64_t *number, size_t count, uint64_t range)
{
	struct list list = { { list_begin, list_next }, number, count, 0 };
	struct blm_part part = { .kind = blm_kind_by_name("golomb"),
				 .shape = { .cells = range, .probes = 1, .cell_bits = 1 } };
	struct golomb_cursor c;
	uint64_t got;

	OK(blm_golomb_fit(&part.shape, &list.numbers, count));
	part.bytes = calloc(1, part.shape.bytes);
	OK(blm_golomb_write(&part, &list.numbers, count));
	blm_golomb_cursor(&c, &part);
	for (size_t i = 0; i < count; i++) {
		ck_assert_int_eq(c.numbers.next(&c.numbers, &got), 1);
		ck_assert_uint_eq(got, number[i]);
	}
	ck_assert_int_eq(c.numbers.next(&c.numbers, &got), 0);
	for (uint64_t asked = 0; asked < 500; asked++) {
		const struct blm_hash hash = { .hi = asked * (UINT64_MAX / 500) };
		uint64_t value = scale(hash.hi, range);
		bool there = false;

		for (size_t i = 0; i < count && !there; i++)
			there = number[i] == value;
		ck_assert_int_eq(part.kind->contains(&part, &(struct blm_hashed){ .hash = hash }),
				 there);
	}
	free(part.bytes);
}

START_TEST(a_number_too_far_from_the_last_begins_a_block)
{
	enum { COUNT = 40000 };
	static uint64_t number[COUNT];

	ck_assert_uint_eq(blm_golomb_code(COUNT, COUNT).divisor, 1);
	for (size_t i = COUNT / 2; i < COUNT; i++)
		number[i] = COUNT - 1;
	goes_in_and_comes_out(number, COUNT, COUNT);
}
END_TEST

/* Of 127 high halves the zeros that fill the vector's last word begin no sample. */
START_TEST(samples_end_where_the_high_halves_do)
{
	enum { COUNT = 3000, LOW_BITS = 13, HIGHS = 127 };
	const uint64_t range = (uint64_t)HIGHS << LOW_BITS;
	static uint64_t number[COUNT];

	ck_assert_uint_eq(highs_of(range, blm_golomb_code(range, COUNT).low_bits), HIGHS);
	for (size_t i = 0; i < COUNT; i++)
		number[i] = i * (range / COUNT);
	goes_in_and_comes_out(number, COUNT, range);
}
END_TEST

/* ---- Merging ---- */

static struct blm_filter *built(uint64_t from, uint64_t to, const char *options, uint64_t capacity,
				int twice)
{
	struct blm_params p = BLM_PARAMS(.kind = "golomb", .rate = 0.01, .options = options,
					 .capacity = capacity, .seeds = &(uint64_t){ 5 },
					 .seed_count = 1);
	struct blm_filter *f;
	struct blm_build *b;

	OK(blm_build_begin(&b, NULL, a_path(), &p, NULL));
	for (int i = 0; i <= twice; i++)
		for (uint64_t k = from; k < to; k++)
			OK(blm_build_add_fixed(b, &k, 8, 1));
	OK(blm_build_finish(b, &f));
	return f;
}

static bool same_answers(const struct blm_filter *a, const struct blm_filter *b)
{
	for (uint64_t k = 0; k < 100000; k++)
		if (blm_contains(a, &k, 8) != blm_contains(b, &k, 8))
			return false;
	return true;
}

START_TEST(a_merge_answers_as_a_build_of_all_keys)
{
	for (int counted = 0; counted < 2; counted++) {
		const char *options = counted ? "counted=1" : NULL;
		struct blm_filter *a = built(0, 3000, options, 8000, 0),
				  *b = built(2000, 5000, options, 8000, 0),
				  *c = built(7000, 8000, options, 8000, 0);
		struct blm_filter *all = built(0, 5000, options, 8000, 0), *merged;
		const struct blm_filter *from[] = { a, b, c }, *with_rest[] = { all, c };
		struct blm_filter *whole;
		struct blm_info info = BLM_INFO;

		OK(blm_merge(&merged, NULL, NULL, from, 3, 0));
		OK(blm_merge(&whole, NULL, NULL, with_rest, 2, 0));
		ck_assert(same_answers(merged, whole));
		OK(blm_info(merged, &info));
		ck_assert(info.sealed);
		if (counted)
			ck_assert_uint_eq(info.keys, 7000);
		else
			ck_assert(info.keys <= 6000 && info.keys > 5900);
		FAILS(blm_merge(&whole, NULL, a->place.display, from, 3, 0), -EEXIST);
		blm_close(a), blm_close(b), blm_close(c), blm_close(all), blm_close(merged),
			blm_close(whole);
	}
}
END_TEST

static void note_merged(void *context, const char *phase, uint64_t done, uint64_t total)
{
	*(bool *)context |= !strcmp(phase, "merging") && total && done == total;
}

START_TEST(filters_without_keys_merge_to_one_without_keys)
{
	struct blm_filter *empty = built(0, 0, NULL, 1000, 0), *merged;
	const struct blm_filter *from[] = { empty, empty };
	struct blm_info info = BLM_INFO;
	bool merged_all = false;

	blm_use_progress(note_merged, &merged_all);
	OK(blm_merge(&merged, NULL, NULL, from, 2, 0));
	blm_use_progress(NULL, NULL);
	ck_assert(merged_all);
	OK(blm_info(merged, &info));
	ck_assert_uint_eq(info.keys, 0);
	ck_assert_int_eq(blm_contains(merged, "12345678", 8), 0);
	blm_close(empty), blm_close(merged);
}
END_TEST

START_TEST(filters_of_another_range_or_kind_are_not_merged)
{
	struct blm_filter *a = built(0, 100, NULL, 1000, 0), *b = built(0, 100, NULL, 1001, 0), *c,
			  *made;
	const struct blm_filter *two[] = { a, b };

	FAILS(blm_merge(&made, NULL, NULL, two, 2, 0), -EMEDIUMTYPE);
	FAILS(blm_merge(&made, NULL, NULL, two, 0, 0), -EINVAL);
	OK(blm_create(&c, NULL, NULL, &BLM_PARAMS(.capacity = 100)));
	two[1] = c;
	FAILS(blm_merge(&made, NULL, NULL, two, 2, 0), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "golomb"));
	blm_close(a), blm_close(b), blm_close(c);
}
END_TEST

static void update(const struct blm_filter *f, uint64_t add_from, uint64_t add_to, uint64_t from,
		   uint64_t to)
{
	struct blm_update *u;

	OK(blm_update_begin(&u, NULL, f->place.name, NULL,
			    &(struct blm_build_options){ .memory_bytes = 200000 }));
	for (uint64_t k = add_from; k < add_to; k++)
		OK(blm_update_add_many(u, &(struct blm_key){ &k, 8 }, 1));
	for (uint64_t k = from; k < to; k++)
		OK(blm_update_remove_many(u, &(struct blm_key){ &k, 8 }, 1));
	OK(blm_update_finish(u));
}

START_TEST(a_counted_filter_takes_and_removes_keys)
{
	struct blm_filter *plain = built(0, 9000, NULL, 20000, 1),
			  *counted = built(0, 9000, "counted=1", 20000, 1), *expected;
	struct blm_update *u;
	struct blm_info info = BLM_INFO;

	update(plain, 8000, 12000, 0, 0);
	expected = built(0, 12000, NULL, 20000, 0);
	/* and the handle has gone over to the new file */
	ck_assert(same_answers(plain, expected));
	blm_close(expected);
	update(counted, 9000, 9500, 0, 9000);		/* each is there once more */
	OK(blm_info(counted, &info));
	ck_assert_uint_eq(info.keys, 9500);
	update(counted, 0, 0, 500, 9500);
	expected = built(0, 500, "counted=1", 20000, 0);
	ck_assert(same_answers(counted, expected));
	OK(blm_update_begin(&u, NULL, plain->place.name, NULL, NULL));
	OK(blm_update_remove_many(u, &(struct blm_key){ "a", 1 }, 1));
	FAILS(blm_update_finish(u), -EOPNOTSUPP);
	ck_assert_int_eq(blm_verify(NULL, counted->place.name, 0, NULL, NULL), 0);
	blm_close(plain), blm_close(counted), blm_close(expected);
}
END_TEST

/* A seed of its own; the old one, and counts. */
static const struct blm_params others_by_now[] = {
	BLM_PARAMS(.kind = "golomb", .replace = true),
	BLM_PARAMS(.kind = "golomb", .rate = 0.01, .options = "counted=1", .replace = true,
		   .seeds = &(uint64_t){ 5 }, .seed_count = 1),
};

START_TEST(an_update_with_another_hash_or_counted_keys_is_refused)
{
	struct blm_filter *f = built(0, 100, NULL, 0, 0);
	struct blm_build *b;
	struct blm_update *u;

	OK(blm_update_begin(&u, NULL, f->place.name, NULL, NULL));
	OK(blm_update_add_many(u, &(struct blm_key){ "a", 1 }, 1));
	OK(blm_build_begin(&b, NULL, f->place.name, &others_by_now[_i], NULL));
	OK(blm_build_add_fixed(b, "xy", 1, 2));
	OK(blm_build_finish(b, NULL));
	FAILS(blm_update_finish(u), -ESTALE);
	ck_assert_ptr_nonnull(
		strstr(blm_error_message(),
		       "a filter of another hash or kind took its place meanwhile"));
	ck_assert(blm_contains(f, "x", 1));
	blm_close(f);
}
END_TEST

/* Some bytes in the middle of its data, as a bad disk may have them. */
static void damage(const struct blm_filter *f)
{
	const struct blm_view *view = current_view(f);
	uint64_t at = (uint64_t)(view->part[0].bytes - view->image.map)
		    + view->part[0].shape.bytes / 2,
		 word;
	int fd = open(f->place.name, O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(pread(fd, &word, 8, (off_t)at), 8);
	word = ~word;
	ck_assert_int_eq(pwrite(fd, &word, 8, (off_t)at), 8);
	close(fd);
}

START_TEST(nothing_is_made_of_what_is_damaged)
{
	struct blm_filter *good = built(0, 9000, NULL, 9000, 0),
			  *bad = built(0, 9000, NULL, 9000, 0), *made;
	const struct blm_filter *from[] = { good, bad };
	struct blm_update *u;

	damage(bad);
	FAILS(blm_merge(&made, NULL, NULL, from, 2, 0), -EUCLEAN);
	OK(blm_update_begin(&u, NULL, bad->place.name, NULL, NULL));
	OK(blm_update_add_many(u, &(struct blm_key){ "a", 1 }, 1));
	FAILS(blm_update_finish(u), -EUCLEAN);
	blm_close(good), blm_close(bad);
}
END_TEST

/*
 * A filter in memory, which can be written to: some of the numbers that its blocks begin with.
 */
static void clear_low_bits(const struct blm_part *part)
{
	struct layout l;

	ck_assert(read_layout(&l, part));
	for (uint64_t b = 0; b < l.blocks; b++)
		memset(l.block + b * l.code.block_bytes, 0, l.code.low_bits / 8);
}

START_TEST(numbers_that_do_not_ascend_are_damage)
{
	struct blm_filter *f = build(20000, 1e-6, NULL, 0);
	struct golomb_cursor c;
	uint64_t number, last = 0;
	int r;

	clear_low_bits(part_of(f));
	blm_golomb_cursor(&c, part_of(f));
	OK(c.numbers.begin(&c.numbers));
	for (; (r = c.numbers.next(&c.numbers, &number)) == 1; last = number)
		ck_assert(number >= last);
	ck_assert_int_eq(r, -EUCLEAN);
	blm_close(f);
}
END_TEST

/*
 * The result of a filter with this change to its data: the last numbers before the error, or the
 * end.
 */
static int reads_to_the_end(const struct blm_filter *f)
{
	struct golomb_cursor c;
	uint64_t number, last = 0, range = part_of(f)->shape.cells;
	int r;

	blm_golomb_cursor(&c, part_of(f));
	while ((r = c.numbers.next(&c.numbers, &number)) == 1) {
		ck_assert(number >= last && number < range);
		last = number;
	}
	return r;
}

START_TEST(numbers_past_the_range_are_damage)
{
	static const char words[] = "the data of a golomb filter are damaged";
	struct blm_filter *f = build(20, 0.02, NULL, 0);
	const struct blm_part *part = part_of(f);
	uint8_t *was = malloc(part->shape.bytes);
	struct layout l;
	unsigned end;

	memcpy(was, part->bytes, part->shape.bytes);
	ck_assert(read_layout(&l, part));
	end = 8 * l.code.block_bytes;
	ck_assert_uint_gt((end - l.code.low_bits - l.rest_bits - 1) * l.code.divisor, l.range);
	ck_assert_int_eq(reads_to_the_end(f), 0);
	/* a quotient that is as long as the block has room for */
	for (unsigned bit = l.code.low_bits; bit < end; bit++)
		l.block[bit / 8] = (uint8_t)((l.block[bit / 8] & ~(1 << bit % 8))
					     | (bit < end - l.rest_bits - 1) << bit % 8);
	FAILS(reads_to_the_end(f), -EUCLEAN);
	ck_assert_str_eq(blm_error_message(), words);
	memcpy(part->bytes, was, part->shape.bytes);
	memset((void *)(uintptr_t)l.vector, 0, 8 * l.vector_words);
	FAILS(reads_to_the_end(f), -EUCLEAN);
	ck_assert_str_eq(blm_error_message(), words);
	/* as if a block came before the first high half */
	*(uint32_t *)(uintptr_t)l.samples = htole32(1);
	ck_assert(!part->kind->contains(part, &(struct blm_hashed){ .hash = { .hi = 0 } }));
	memcpy(part->bytes, was, part->shape.bytes);
	/* the lower half of a number longer than its block */
	memcpy(part->bytes + 24, &(uint64_t){ htole64(UINT64_C(1) << 32 | 61) }, 8);
	FAILS(reads_to_the_end(f), -EUCLEAN);
	ck_assert_str_eq(blm_error_message(), words);
	memcpy(part->bytes, was, part->shape.bytes);
	memset(part->bytes + 16, 0, 8);
	FAILS(reads_to_the_end(f), -EUCLEAN);
	ck_assert_str_eq(blm_error_message(), words);
	memcpy(part->bytes, was, part->shape.bytes);
	ck_assert_int_eq(reads_to_the_end(f), 0);
	free(was);
	blm_close(f);
}
END_TEST

enum { KEYS = 3000 };

/* Keys in order, evenly over all hashes; reading them fails from one on. */
struct even_keys {
	struct blm_sorted sorted;
	uint64_t fails_from;
};

static struct blm_hash even_hash(uint64_t i)
{
	return (struct blm_hash){ .hi = i * (UINT64_MAX / KEYS) };
}

static int even_read(const struct blm_sorted *keys, uint64_t from, struct blm_hash *ret,
		     uint64_t *ret_values, size_t count)
{
	if (from + count > ((const struct even_keys *)keys)->fails_from)
		return blm_fail(-EIO, "no keys");
	for (size_t i = 0; i < count; i++)
		ret[i] = even_hash(from + i);
	return 0;
}

static struct even_keys even_keys(void)
{
	return (struct even_keys){
		{ .count = KEYS, .threads = 1, .memory_bytes = UINT64_MAX, .read = even_read },
		UINT64_MAX
	};
}

START_TEST(a_failing_source_ends_the_merge_with_its_error)
{
	struct blm_filter *a = build(KEYS, 0.01, "counted=1", 0),
			  *b = build(KEYS, 0.01, "counted=1", 0);
	const struct blm_part *from[] = { part_of(a), part_of(b) };
	struct even_keys add = even_keys(), gone = even_keys();
	struct blm_merging of = {
		.from = from, .count = 2, .add = &add.sorted, .remove = &gone.sorted
	};
	struct blm_shape shape = part_of(a)->shape;
	struct blm_part part = { .kind = part_of(a)->kind },
			late = { .kind = part.kind, .shape = part_of(a)->shape };
	const uint64_t last = shape.cells - 1;
	struct list list = { { list_begin, list_next }, &last, 1, 0 };
	const struct blm_part *only[] = { &late };
	uint64_t keys = 0;

	OK(blm_kind_golomb.merged(&shape, &of, &keys));
	ck_assert_uint_eq(keys, 2 * KEYS);	/* those that came went again */
	part.shape = shape;
	part.bytes = calloc(1, shape.bytes);
	OK(blm_kind_golomb.merge(&part, &of));
	ck_assert_uint_eq(blm_golomb_count(&part), 2 * KEYS);
	/* at the first, and in the pieces behind it */
	for (int which = 0; which < 2; which++)
		for (uint64_t at = 0; at < KEYS; at += 1100) {
			struct even_keys *failing = which ? &gone : &add;

			failing->fails_from = at;
			FAILS(blm_kind_golomb.merged(&shape, &of, &keys), -EIO);
			memset(part.bytes, 0, shape.bytes);
			FAILS(blm_kind_golomb.merge(&part, &of), -EIO);
			ck_assert_uint_eq(blm_golomb_count(&part), 0);
			failing->fails_from = UINT64_MAX;
		}
	/* and where keys go that are not there, below the only number that is */
	OK(blm_golomb_fit(&late.shape, &list.numbers, 1));
	late.bytes = calloc(1, late.shape.bytes);
	OK(blm_golomb_write(&late, &list.numbers, 1));
	gone.fails_from = 1100;
	FAILS(blm_kind_golomb.merged(&shape,
				     &(struct blm_merging){
					     .from = only, .count = 1, .remove = &gone.sorted },
				     &keys),
	      -EIO);
	gone.fails_from = UINT64_MAX;
	OK(blm_kind_golomb.merged(
		&shape, &(struct blm_merging){ .from = only, .count = 1, .remove = &gone.sorted },
		&keys));
	ck_assert_uint_eq(keys, 1);
	free(late.bytes);
	for (int i = 0; i < 2; i++) {
		uint8_t *head = from[i]->bytes + 16, was[8];

		memcpy(was, head, 8);
		memset(head, 0, 8);
		FAILS(blm_kind_golomb.merged(&shape, &of, &keys), -EUCLEAN);
		ck_assert_str_eq(blm_error_message(), "the data of a golomb filter are damaged");
		memcpy(head, was, 8);
	}
	OK(blm_kind_golomb.merged(&shape, &of, &keys));
	free(part.bytes);
	blm_close(a), blm_close(b);
}
END_TEST

/* A progress callback is optional. */
START_TEST(a_build_without_a_progress_callback_succeeds)
{
	struct blm_part part = { .kind = blm_kind_by_name("golomb") };
	struct even_keys keys = even_keys();

	OK(part.kind->plan(&part.shape, &BLM_PARAMS(.capacity = KEYS, .rate = 0.01)));
	OK(part.kind->fit(&part.shape, &keys.sorted));
	part.bytes = calloc(1, part.shape.bytes);
	OK(part.kind->build(&part, &keys.sorted));
	ck_assert_uint_eq(blm_golomb_count(&part), KEYS);
	for (uint64_t i = 0; i < KEYS; i++)
		ck_assert(part.kind->contains(&part, &(struct blm_hashed){ .hash = even_hash(i) }));
	free(part.bytes);
}
END_TEST

/* They are one list when they are counted, and another when they are written. */
struct changing {
	struct golomb_numbers numbers;
	uint64_t at, step;
};

static int changing_begin(struct golomb_numbers *n)
{
	((struct changing *)n)->at = 0;
	return 0;
}

static int changing_next(struct golomb_numbers *n, uint64_t *ret)
{
	struct changing *c = (struct changing *)n;

	*ret = c->at++ * c->step;
	return c->at <= 1000;
}

START_TEST(numbers_that_change_during_a_read_stay_in_bounds)
{
	struct blm_filter *f = build(1000, 0.001, NULL, 0);
	struct blm_part part = *part_of(f);
	struct changing c = { .numbers = { changing_begin, changing_next }, .step = 1000 };
	struct blm_shape shape = part.shape;

	OK(blm_golomb_fit(&shape, &c.numbers, 1000));
	ck_assert_uint_ge(part.shape.bytes, shape.bytes);
	memset(part.bytes, 0, part.shape.bytes);
	part.shape.bytes = shape.bytes;
	OK(blm_golomb_write(&part, &c.numbers, 1000));
	memset(part.bytes, 0, part.shape.bytes);
	c.step = 100000;		/* each a block of its own, and beyond the range */
	ck_assert_int_eq(blm_golomb_write(&part, &c.numbers, 1000), -EUCLEAN);
	memset(part.bytes, 0, part.shape.bytes);
	c.step = 1000;
	ck_assert_int_eq(blm_golomb_write(&part, &c.numbers, 1000000), -EUCLEAN);
	blm_close(f);
}
END_TEST

/* The next numbers are within the range, but there is no space for them. */
START_TEST(a_writer_of_too_many_numbers_stops_at_the_end)
{
	static uint64_t number[3000];
	struct list list = { { list_begin, list_next }, number, 1000, 0 };
	struct blm_part part = { .kind = blm_kind_by_name("golomb"),
				 .shape = { .cells = 1000000, .probes = 1, .cell_bits = 1 } };

	for (size_t i = 0; i < ARRAY_LEN(number); i++)
		number[i] = i * 300;
	OK(blm_golomb_fit(&part.shape, &list.numbers, 1000));
	part.bytes = calloc(1, part.shape.bytes);
	list.count = ARRAY_LEN(number);
	FAILS(blm_golomb_write(&part, &list.numbers, 1000), -EUCLEAN);
	ck_assert_str_eq(blm_error_message(),
			 "the numbers of a golomb filter changed while they were read");
	free(part.bytes);
}
END_TEST

START_TEST(an_update_of_a_file_of_another_kind_is_refused)
{
	struct blm_filter *f = built(0, 100, NULL, 0, 0), *other;
	const struct blm_params p = BLM_PARAMS(.capacity = 100, .replace = true);
	struct blm_update *u;

	OK(blm_update_begin(&u, NULL, f->place.name, NULL, NULL));
	OK(blm_create(&other, NULL, f->place.name, &p));
	FAILS(blm_update_finish(u), -ESTALE);
	FAILS(blm_update_begin(&u, NULL, f->place.name, NULL, NULL), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "golomb"));
	FAILS(blm_update_begin(&u, NULL, a_path(), NULL, NULL), -ENOENT);
	ck_assert_ptr_null(blm_update_cancel(NULL));
	blm_close(f), blm_close(other);
}
END_TEST

START_TEST(a_keyed_filter_keeps_its_key_when_it_is_updated)
{
	struct blm_params p = BLM_PARAMS(.kind = "golomb", .hash = "siphash", .rate = 1e-6,
					 .capacity = 2000);
	const char *path = a_path();
	struct blm_key keys[600];
	uint64_t number[600];
	struct blm_filter *f;
	struct blm_build *b;
	struct blm_update *u;

	for (uint64_t i = 0; i < 600; i++) {
		number[i] = i;
		keys[i] = (struct blm_key){ &number[i], 8 };
	}
	OK(blm_build_begin(&b, NULL, path, &p, NULL));
	OK(blm_build_add_many(b, keys, 100));
	OK(blm_build_finish(b, NULL));
	OK(blm_update_begin(&u, NULL, path, NULL, &(struct blm_build_options){ .threads = 2 }));
	OK(blm_update_add_many(u, keys + 50, 550));
	OK(blm_update_finish(u));
	OK(blm_open(&f, NULL, path, 0));
	ck_assert_int_eq(blm_contains_many(f, keys, 600, NULL), 600);
	ck_assert(!blm_contains(f, "stranger", 8));
	OK(blm_update_begin(&u, NULL, path, NULL, NULL));
	OK(blm_update_add_many(u, &(struct blm_key){ "stranger", 8 }, 1));
	blm_update_cancel(u);
	ck_assert(!blm_contains(f, "stranger", 8));
	blm_close(f);
}
END_TEST

/*
 * The head of its data: {place, an impossible number}. Sealed files are not checked when they are
 * opened.
 */
START_TEST(a_filter_with_inconsistent_data_denies_no_key)
{
	static const struct { size_t at; uint64_t word;
	} heads[] = {
		{ 16, 0 },
		{ 16, UINT64_C(1) << 62 },
		{ 24, UINT64_C(9) << 32 | 62 },
		{ 24, 5 },
		{ 24, UINT64_C(1025) << 32 | 5 },
		{ 8, UINT64_MAX },
		{ 32, UINT64_MAX },
		{ 32, 1 << 20 },
	};

	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct blm_filter *f = built(0, 3000, NULL, 5000, 0), *made;
		const struct blm_filter *from = f;
		uint64_t bits[5] = { 0 }, number[300];
		struct blm_update *u;

		memcpy(part_of(f)->bytes + heads[i].at, &(uint64_t){ htole64(heads[i].word) }, 8);
		for (uint64_t k = 0; k < 300; k++)
			number[k] = k * 7;
		ck_assert_int_eq(blm_contains_fixed(f, number, 8, 300, bits), 300);
		for (uint64_t k = 0; k < 300; k++)
			ck_assert(blm_contains(f, &number[k], 8) && bits[k / 64] >> k % 64 & 1);
		ck_assert(!part_of(f)->kind->describe(part_of(f), 0, &(struct blm_fact){ 0 }));
		FAILS(blm_merge(&made, NULL, NULL, &from, 1, 0), -EUCLEAN);
		OK(blm_update_begin(&u, NULL, f->place.name, NULL, NULL));
		FAILS(blm_update_finish(u), -EUCLEAN);
		blm_close(f);
	}
}
END_TEST

/*
 * ... and with codes and a vector of any bits it may deny keys, as verify tells; but reading ends,
 * and so does merging.
 */
START_TEST(merging_damaged_codes_ends)
{
	struct blm_filter *f = built(0, 3000, NULL, 5000, 0), *made;
	const struct blm_filter *from = f;
	const struct blm_part *part = part_of(f);
	uint64_t state = 3;
	unsigned refused = 0;

	for (int round = 0; round < 60; round++) {
		size_t at = 64 + next_random(&state) % (part->shape.bytes - 128),
		       bytes = 1 + next_random(&state) % 60;
		uint8_t was[64];
		int r;

		memcpy(was, part->bytes + at, bytes);
		memset(part->bytes + at,
		       round % 3 == 0	? 0
		       : round % 3 == 1 ? 0xff
					: (int)next_random(&state),
		       bytes);
		r = blm_merge(&made, NULL, NULL, &from, 1, 0);
		ck_assert(r == 0 || r == -EUCLEAN);
		refused += r < 0;
		if (r == 0)
			blm_close(made);
		memcpy(part->bytes + at, was, bytes);
	}
	ck_assert_uint_ge(refused, 1);
	OK(blm_merge(&made, NULL, NULL, &from, 1, 0));
	ck_assert(same_answers(f, made));
	blm_close(made), blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("golomb");
	TCase *tc = tcase_create("golomb");

	tcase_add_test(
		tc,
		at_1_in_1024_a_key_takes_11_60_bits);
	tcase_add_test(tc, a_plan_predicts_the_bits_a_key_of_a_build);
	tcase_add_test(tc, a_question_decodes_at_most_32_codes);
	tcase_add_loop_test(tc, all_distributions_of_numbers_are_decoded_unchanged, 0, 4);
	tcase_add_test(tc, the_range_is_capacity_over_rate_or_the_exact_modulus);
	tcase_add_test(tc, an_impossible_golomb_filter_is_refused);
	tcase_add_test(tc, a_merge_answers_as_a_build_of_all_keys);
	tcase_add_test(tc, filters_without_keys_merge_to_one_without_keys);
	tcase_add_test(tc, filters_of_another_range_or_kind_are_not_merged);
	tcase_add_test(tc, nothing_is_made_of_what_is_damaged);
	tcase_add_test(
		tc, a_number_too_far_from_the_last_begins_a_block);
	tcase_add_test(tc, samples_end_where_the_high_halves_do);
	tcase_add_test(tc, numbers_past_the_range_are_damage);
	tcase_add_test(tc, a_failing_source_ends_the_merge_with_its_error);
	tcase_add_test(tc, a_build_without_a_progress_callback_succeeds);
	tcase_add_test(tc, a_writer_of_too_many_numbers_stops_at_the_end);
	tcase_add_test(tc, numbers_that_do_not_ascend_are_damage);
	tcase_add_test(tc, numbers_that_change_during_a_read_stay_in_bounds);
	tcase_add_test(tc, a_counted_filter_takes_and_removes_keys);
	tcase_add_loop_test(tc,
			    an_update_with_another_hash_or_counted_keys_is_refused,
			    0, (int)ARRAY_LEN(others_by_now));
	tcase_add_test(tc, an_update_of_a_file_of_another_kind_is_refused);
	tcase_add_test(tc, a_keyed_filter_keeps_its_key_when_it_is_updated);
	tcase_add_test(tc, a_filter_with_inconsistent_data_denies_no_key);
	tcase_add_test(tc, merging_damaged_codes_ends);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
