/*
 * columns.c - exact filters that are divided by a column of their keys: never wrong about either
 * list, smaller where the shares of the columns differ, and as without columns where they do not
 */
#include "handle/handle.h"
#include "kind/exact.h"
#include "kind/exact_parts.h"
#include "suite.h"

#include <math.h>
#include <sys/mman.h>

enum { COLUMNS = 60, KEY_BYTES = 32 };

/* A key is "column<TAB>number"; this many of a thousand of each column's are in the filter. */
struct shares {
	unsigned rows;			/* of each column */
	bool alike;			/* of every column */
	double rate;
	unsigned threads;
	uint64_t memory;
};

static unsigned share_of(const struct shares *s, unsigned column)
{
	static const unsigned shares[] = { 0, 0, 1, 5, 1000, 30, 300, 950, 20, 0 };

	return s->alike ? 100 : shares[column % ARRAY_LEN(shares)];
}

static bool is_key(const struct shares *s, unsigned column, unsigned row)
{
	return row * 7919u % 1000 < share_of(s, column);
}

static struct blm_key key_of(char buffer[KEY_BYTES], unsigned column, unsigned row)
{
	return (struct blm_key){ buffer,
				 (size_t)snprintf(buffer, KEY_BYTES, "c%u\t%u", column, row) };
}

static struct blm_filter *build(const struct shares *s, const char *hash)
{
	static const uint64_t seed = 3;
	struct blm_params p = BLM_PARAMS(.kind = "exact", .hash = hash, .rate = s->rate,
					 .seeds = &seed, .seed_count = 1);
	struct blm_build_options how = { .threads = s->threads, .memory_bytes = s->memory };
	struct blm_filter *f;
	struct blm_build *b;
	char buffer[KEY_BYTES];

	OK(blm_build_begin(&b, NULL, a_path(), &p, &how));
	for (unsigned c = 0; c < COLUMNS; c++)
		for (unsigned i = 0; i < s->rows; i++) {
			struct blm_key key = key_of(buffer, c, i);

			OK(is_key(s, c, i) ? blm_build_add_many(b, &key, 1)
					   : blm_build_exclude_many(b, &key, 1));
		}
	OK(blm_build_finish(b, &f));
	return f;
}

static void is_right(const struct blm_filter *f, const struct shares *s)
{
	char buffer[256][KEY_BYTES];
	struct blm_key keys[256];
	uint64_t bits[4];
	unsigned count = 0;

	for (unsigned i = 0; i < s->rows * COLUMNS; i++) {
		unsigned c = i % COLUMNS, row = i / COLUMNS;

		keys[count] = key_of(buffer[count], c, row);
		if (i % 101 == 0)
			ck_assert_int_eq(blm_contains(f, keys[count].bytes, keys[count].len),
					 is_key(s, c, row));
		if (++count < 256 && i + 1 < s->rows * COLUMNS)
			continue;
		ck_assert_int_ge(blm_contains_many(f, keys, count, bits), 0);
		for (unsigned j = 0; j < count; j++) {
			unsigned of = i + 1 - count + j;

			ck_assert_int_eq(bits[j / 64] >> j % 64 & 1,
					 is_key(s, of % COLUMNS, of / COLUMNS));
		}
		count = 0;
	}
	OK(blm_verify(NULL, f->place.display, 0, NULL, NULL));
}

static uint64_t data_bytes(const struct blm_filter *f)
{
	return current_view(f)->part[0].shape.bytes;
}

static const struct exact_head *head_of(const struct blm_filter *f)
{
	return (const struct exact_head *)current_view(f)->part[0].bytes;
}

START_TEST(no_answer_is_wrong_where_the_shares_of_columns_differ)
{
	static const struct shares all[] = {
		{ .rows = 1000 }, { .rows = 1000, .rate = 0.01 }, { .rows = 30 },
		{ .rows = 1000, .rate = 0.2 }, { .rows = 2 }, { .rows = 1000, .alike = true },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct blm_filter *f = build(&all[i], "xxh3-column");

		is_right(f, &all[i]);
		blm_close(f);
	}
}
END_TEST

START_TEST(different_shares_save_what_info_reports)
{
	const struct shares s = { .rows = 2000 };
	struct blm_filter *f = build(&s, "xxh3-column"), *g = build(&s, "xxh3");
	double saved = (double)data_bytes(g) - (double)data_bytes(f);
	struct blm_fact fact;

	ck_assert_msg(data_bytes(f) < data_bytes(g) * 6 / 10, "%llu, not %llu bytes",
		      (unsigned long long)data_bytes(f), (unsigned long long)data_bytes(g));
	ck_assert_uint_gt(head_of(f)->parts, 1);
	OK(blm_fact(f, 3, &fact));
	ck_assert_msg(strstr(fact.text, "without their columns") != NULL, "%s", fact.text);
	/* each part has its own rate */
	OK(blm_fact(f, 1, &fact));
	ck_assert_msg(strstr(fact.text, "rates of up to") != NULL, "%s", fact.text);
	OK(blm_fact(f, 2, &fact));
	ck_assert_msg(strstr(fact.text, "or less") != NULL, "%s", fact.text);
	OK(blm_fact(g, 2, &fact));
	ck_assert_msg(strstr(fact.text, "or less") == NULL, "%s", fact.text);
	OK(blm_fact(f, 4, &fact));
	ck_assert_str_eq(fact.name, "parts");
	ck_assert_double_eq(fact.value, head_of(f)->parts);
	ck_assert_msg(fabs((double)head_of(f)->saved / saved - 1) < 0.05, "%s, not %g", fact.text,
		      saved);
	FAILS(blm_fact(f, 5, &fact), -ENOENT);
	FAILS(blm_fact(g, 4, &fact), -ENOENT);
	blm_close(f);
	blm_close(g);
}
END_TEST

START_TEST(equal_shares_need_no_parts)
{
	const struct shares s = { .rows = 1000, .alike = true };
	struct blm_filter *f = build(&s, "xxh3-column"), *g = build(&s, "xxh3");
	struct blm_fact fact;

	ck_assert_uint_eq(head_of(f)->parts, 0);
	FAILS(blm_fact(f, 4, &fact), -ENOENT);
	/* of other hashes some others more or less pass the first level */
	ck_assert(fabs((double)data_bytes(f) / (double)data_bytes(g) - 1) < 0.02);
	blm_close(f);
	blm_close(g);
}
END_TEST

/* More than have a place at first while they are counted. */
START_TEST(thousands_of_columns_are_counted)
{
	struct blm_params p = BLM_PARAMS(.kind = "exact", .hash = "xxh3-column");
	struct blm_filter *f;
	struct blm_build *b;
	char buffer[KEY_BYTES];

	OK(blm_build_begin(&b, NULL, a_path(), &p, NULL));
	for (unsigned i = 0; i < 20000; i++) {
		struct blm_key key = key_of(buffer, i % 3000, i);

		OK(i % 3000 < 1500 ? blm_build_add_many(b, &key, 1)
				   : blm_build_exclude_many(b, &key, 1));
	}
	OK(blm_build_finish(b, &f));
	for (unsigned i = 0; i < 20000; i++) {
		struct blm_key key = key_of(buffer, i % 3000, i);

		ck_assert_int_eq(blm_contains(f, key.bytes, key.len), i % 3000 < 1500);
	}
	blm_close(f);
}
END_TEST

/* Though they would save much: all keys are in a column of their own. */
START_TEST(more_columns_than_are_counted_make_no_parts)
{
	enum { EVERY = 1200000 };
	struct blm_params p = BLM_PARAMS(.kind = "exact", .hash = "xxh3-column");
	struct blm_build_options how = { .threads = 2 };
	struct blm_filter *f;
	struct blm_build *b;
	char buffer[KEY_BYTES];

	OK(blm_build_begin(&b, NULL, a_path(), &p, &how));
	for (unsigned i = 0; i < EVERY; i++) {
		struct blm_key key = key_of(buffer, i % 10 ? i : 0, i);

		OK(i % 10 ? blm_build_exclude_many(b, &key, 1) : blm_build_add_many(b, &key, 1));
	}
	OK(blm_build_finish(b, &f));
	ck_assert_uint_eq(head_of(f)->parts, 0);
	for (unsigned i = 0; i < EVERY; i += 1001) {
		struct blm_key key = key_of(buffer, i % 10 ? i : 0, i);

		ck_assert_int_eq(blm_contains(f, key.bytes, key.len), i % 10 == 0);
	}
	blm_close(f);
}
END_TEST

START_TEST(strangers_are_wrong_at_most_at_the_given_rate)
{
	static const double rates[] = { 0, 0.3, 0.03 };

	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		const struct shares s = { .rows = 1000, .rate = rates[i] };
		struct blm_filter *f = build(&s, "xxh3-column");
		struct blm_info info = BLM_INFO;
		double asked = 0, wrong[COLUMNS + 1] = { 0 };
		char buffer[KEY_BYTES];

		OK(blm_info(f, &info));
		ck_assert(!rates[i] || info.rate == rates[i]);
		ck_assert_double_le(info.rate_at_capacity, info.rate);
		for (unsigned row = 1 << 20; row < (1 << 20) + 3000; row++, asked++)
			for (unsigned c = 0; c <= COLUMNS; c++) {
				struct blm_key key = key_of(buffer, c, row);

				wrong[c] += blm_contains(f, key.bytes, key.len);
			}
		for (unsigned c = 0; c <= COLUMNS; c++)
			ck_assert_msg(wrong[c] <= info.rate * asked + 6 * sqrt(info.rate * asked),
				      "%zu: %g of %g in column %u, not %g", i, wrong[c], asked, c,
				      info.rate);
		blm_close(f);
	}
}
END_TEST

START_TEST(a_part_without_keys_that_has_data_is_damaged)
{
	const struct shares s = { .rows = 1000 };
	struct blm_filter *f = build(&s, "xxh3-column");
	struct blm_part part = current_view(f)->part[0];
	const struct exact_head *head = (const struct exact_head *)part.bytes;
	unsigned parts = le32toh(head->parts), damaged = 0, places = 0;
	uint8_t *copy = malloc(part.shape.bytes);

	ck_assert_uint_gt(parts, 1);
	for (unsigned c = 0; c < COLUMNS; c++) {
		char buffer[KEY_BYTES];
		const struct blm_key key = key_of(buffer, c, 1);
		struct blm_hashed hashed = { .key = &key };
		uint64_t mask;

		OK(blm_hash_many(f, &key, 1, &hashed.hash));
		part.kind->prefetch(&part, &hashed);
		places += part.kind->probe(&part, &hashed, 0, &mask) != NULL;
	}
	ck_assert_uint_gt(places, 0);
	for (unsigned i = 0; i < parts; i++) {
		memcpy(copy, current_view(f)->part[0].bytes, part.shape.bytes);
		part.bytes = copy;
		ck_assert(part.kind->intact(&part));
		memset(copy + sizeof(*head) + i * sizeof(struct exact_part), 0, 8);
		damaged += !part.kind->intact(&part);
	}
	ck_assert_uint_gt(damaged, 0);
	free(copy);
	blm_close(f);
}
END_TEST

START_TEST(a_question_without_a_column_is_an_error)
{
	const struct shares s = { .rows = 1000 };
	struct blm_filter *f = build(&s, "xxh3-column");
	struct blm_key keys[3] = { { "c1\t1", 4 }, { "c1", 2 }, { "c1\t2", 4 } };
	static const char no_tabs[64 * 8];
	struct blm_hash hashes[3];
	uint64_t bits = 0, id;

	FAILS(blm_contains_many(f, keys, 3, &bits), -EINVAL);
	ck_assert_msg(strstr(blm_error_message(), "column") != NULL, "%s", blm_error_message());
	ck_assert_uint_eq(bits, 7);
	FAILS(blm_contains_many(f, keys + 1, 1, &bits), -EINVAL);
	FAILS(blm_contains_many(f, &(struct blm_key){ NULL, 0 }, 1, &bits), -EINVAL);
	FAILS(blm_contains_fixed(f, "no tab..", 8, 1, NULL), -EINVAL);
	FAILS(blm_contains_fixed(f, no_tabs, 8, 64, &bits), -EINVAL);
	ck_assert_uint_eq(bits, UINT64_MAX);
	ck_assert(blm_contains(f, "c1", 2));	/* which cannot fail, so it does not deny */
	OK(blm_hash_many(f, keys, 3, hashes));
	id = blm_hash_id(f);
	FAILS(blm_contains_hashes(f, id, hashes, 3, &bits), -EINVAL);
	FAILS(blm_contains_hash(f, id, &hashes[1]), -EINVAL);
	ck_assert_int_eq(blm_contains_many(f, keys, 1, &bits), is_key(&s, 1, 1));
	blm_close(f);
}
END_TEST

START_TEST(a_key_without_a_column_is_refused)
{
	struct blm_params p = BLM_PARAMS(.kind = "exact", .hash = "xxh3-column");
	const struct blm_key key = { "none", 4 };
	struct blm_filter *f;
	struct blm_build *b;

	OK(blm_build_begin(&b, NULL, a_path(), &p, NULL));
	FAILS(blm_build_add_many(b, &key, 1), -EINVAL);
	FAILS(blm_build_exclude_many(b, &key, 1), -EINVAL);
	blm_build_cancel(b);
	p.capacity = 100;
	p.kind = "blocked";
	FAILS(blm_create(&f, NULL, a_path(), &p), -EOPNOTSUPP);
}
END_TEST

START_TEST(the_data_do_not_depend_on_threads_or_memory)
{
	struct shares s = { .rows = 700 };
	struct blm_filter *f = build(&s, "xxh3-column"), *g;

	s.threads = 3;
	s.memory = 64 << 10;
	g = build(&s, "xxh3-column");
	ck_assert_uint_gt(head_of(f)->parts, 1);
	ck_assert_uint_eq(data_bytes(f), data_bytes(g));
	ck_assert(!memcmp(head_of(f), head_of(g), data_bytes(f)));
	blm_close(f);
	blm_close(g);
}
END_TEST

START_TEST(an_updated_divided_filter_is_right_about_the_new_lists)
{
	const struct shares s = { .rows = 500 }, then = { .rows = 500, .alike = true };
	struct blm_filter *f = build(&s, "xxh3-column");
	struct blm_info info = BLM_INFO;
	struct blm_update *u;
	double before;
	char buffer[KEY_BYTES];

	OK(blm_info(f, &info));
	before = info.rate;
	OK(blm_update_begin(&u, NULL, f->place.name, NULL, NULL));
	for (unsigned c = 0; c < COLUMNS; c++)
		for (unsigned i = 0; i < s.rows; i++) {
			struct blm_key key = key_of(buffer, c, i);

			OK(is_key(&then, c, i) ? blm_update_add_many(u, &key, 1)
					       : blm_update_remove_many(u, &key, 1));
		}
	OK(blm_update_finish(u));
	is_right(f, &then);
	OK(blm_info(f, &info));
	ck_assert_uint_gt(head_of(f)->parts, 1);
	ck_assert_double_le(info.rate, before * 1.125 * (1 + 1e-9));
	blm_close(f);
}
END_TEST

/* The bytes stand before and after pages that cannot be read. */
START_TEST(damaged_parts_never_cause_reads_outside_their_data)
{
	const struct shares s = { .rows = 300 };
	struct blm_filter *f = build(&s, "xxh3-column");
	struct blm_part *part = &current_view(f)->root;
	uint64_t bytes = part->shape.bytes, rounded = (bytes + 4095) / 4096 * 4096, state = 5;
	uint8_t *good = part->bytes, *at, *map;
	uint64_t head = 64 + 16 * head_of(f)->parts + 4 * head_of(f)->columns + 32;

	ck_assert_uint_gt(head_of(f)->parts, 1);
	map = mmap(NULL, rounded + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(mprotect(map + 4096, rounded, PROT_READ | PROT_WRITE), 0);
	part->bytes = at = map + 4096 + rounded - bytes;
	for (int round = 0; round < (int)(3000 * test_scale()); round++) {
		char text[KEY_BYTES];

		memcpy(at, good, bytes);
		for (uint64_t i = 1 + next_random(&state) % 4; i-- > 0;)
			at[next_random(&state) % (round % 2 ? head : bytes)] ^=
				(uint8_t)(1 << next_random(&state) % 8);
		if (round % 3 == 0)
			memset(at + 8 * (next_random(&state) % (head / 8)), 0xff, 4);
		for (unsigned i = 0; i < COLUMNS; i++) {
			struct blm_key key = key_of(text, i, (unsigned)round);

			blm_contains(f, key.bytes, key.len);
			blm_contains_many(f, &key, 1, NULL);
		}
		for (unsigned i = 0; i < 7; i++)
			part->kind->describe(part, i, &(struct blm_fact){ 0 });
		part->kind->intact(part);
		part->kind->rate_in(part, 1);
	}
	part->bytes = good;
	munmap(map, rounded + 8192);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("columns");
	TCase *tc = tcase_create("columns");

	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_test(tc, no_answer_is_wrong_where_the_shares_of_columns_differ);
	tcase_add_test(tc, different_shares_save_what_info_reports);
	tcase_add_test(tc, equal_shares_need_no_parts);
	if (test_full())
		tcase_add_test(tc, more_columns_than_are_counted_make_no_parts);
	tcase_add_test(tc, strangers_are_wrong_at_most_at_the_given_rate);
	tcase_add_test(tc, thousands_of_columns_are_counted);
	tcase_add_test(tc, a_part_without_keys_that_has_data_is_damaged);
	tcase_add_test(tc, a_question_without_a_column_is_an_error);
	tcase_add_test(tc, a_key_without_a_column_is_refused);
	tcase_add_test(tc, the_data_do_not_depend_on_threads_or_memory);
	tcase_add_test(tc, an_updated_divided_filter_is_right_about_the_new_lists);
	tcase_add_test(tc, damaged_parts_never_cause_reads_outside_their_data);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
