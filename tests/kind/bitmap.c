/*
 * bitmap.c - numbers are exact: the members, their count, the intersection of two; and only numbers
 * are accepted
 */
#include "handle/handle.h"
#include "suite.h"

static struct blm_filter *make(uint64_t universe)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, a_path(), &BLM_PARAMS(.kind = "bitmap", .cells = universe)));
	return f;
}

static const char *digits(uint64_t number)
{
	static char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return text;
}

static int add(struct blm_filter *f, const char *text)
{
	return blm_add(f, text, strlen(text));
}

static bool has(const struct blm_filter *f, const char *text)
{
	return blm_contains(f, text, strlen(text));
}

static uint64_t exactly(const struct blm_filter *f)
{
	struct blm_estimate e;
	uint64_t keys;

	OK(blm_count(f, &keys, NULL));	/* strict */
	OK(blm_estimate(f, false, &e));
	ck_assert(e.keys.value == (double)keys && e.keys.error == 0 && !e.saturated
		  && e.rate.value == 0 && e.rate.error == 0);
	return keys;
}

START_TEST(numbers_up_to_65535_take_8192_bytes_exactly)
{
	struct blm_filter *f = make(65536);
	struct blm_info info = BLM_INFO;

	for (uint64_t i = 0; i < 65536; i += 1 + mixed(i) % 5)
		ck_assert_int_eq(add(f, digits(i)), 1);
	for (uint64_t i = 0, next = 0, count = 0; i < 70000; i++) {
		ck_assert(has(f, digits(i)) == (i == next && i < 65536));
		if (i == next && i < 65536) {
			ck_assert_int_eq(add(f, digits(i)), 0);
			next += 1 + mixed(i) % 5;
			count++;
		}
		if (i == 69999)
			ck_assert_uint_eq(exactly(f), count);
	}
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.data_bytes, 8192);
	ck_assert_uint_eq(info.capacity, 65536);
	ck_assert(info.rate == 0 && info.rate_at_capacity == 0 && !info.keys_estimated);
	ck_assert_str_eq(info.hash, "integer");
	blm_close(f);
}
END_TEST

START_TEST(a_full_bitmap_is_not_saturated_at_any_size)
{
	for (uint64_t universe = 1; universe < 2000; universe = universe * 3 + 1) {
		struct blm_filter *f = make(universe);

		for (uint64_t i = 0; i < universe; i++)
			ck_assert_int_eq(add(f, digits(i)), 1);
		ck_assert_uint_eq(exactly(f), universe);
		FAILS(add(f, digits(universe)), -ERANGE);
		ck_assert(!has(f, digits(universe)));
		blm_close(f);
	}
}
END_TEST

START_TEST(a_key_that_is_no_number_is_absent_and_refused)
{
	static const struct { const char *text; int err;
	} keys[] = {
		{ "", -EINVAL },
		{ "x", -EINVAL },
		{ "-1", -EINVAL },
		{ "+1", -EINVAL },
		{ " 1", -EINVAL },
		{ "1 ", -EINVAL },
		{ "1.0", -EINVAL },
		{ "0x1", -EINVAL },
		{ "\xd9\xa1", -EINVAL },
		{ "100", -ERANGE },
		{ "18446744073709551615", -ERANGE },
		{ "18446744073709551616", -ERANGE },
		{ "18446744073709551617", -ERANGE },
		{ "99999999999999999999999999999999", -ERANGE },
		{ "99999999999999999999999999999999x", -EINVAL },
	};
	struct blm_filter *f = make(100);

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		FAILS(add(f, keys[i].text), keys[i].err);
		FAILS(blm_claim(f, keys[i].text, strlen(keys[i].text)), keys[i].err);
		ck_assert(!has(f, keys[i].text));
	}
	ck_assert_uint_eq(exactly(f), 0);
	ck_assert(!blm_contains(f, "1\0", 2));
	ck_assert_int_eq(add(f, "0001"), 1);
	ck_assert_int_eq(add(f, "1"), 0);
	ck_assert(has(f, "00000000000000000000000000000000000001"));
	blm_close(f);
}
END_TEST

/* In one call: those before it are in, and counted. */
START_TEST(a_bad_number_ends_the_call_after_counting_earlier_ones)
{
	static char text[600][8];
	struct blm_filter *f = make(1000);
	struct blm_key keys[600];
	uint64_t bits[10];

	for (int i = 0; i < 600; i++) {
		snprintf(text[i], sizeof(text[i]), "%d", i);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	text[517][0] = 'x';
	FAILS(blm_add_many(f, keys, 600, bits), -EINVAL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "\"x17\""));
	ck_assert_uint_eq(exactly(f), 517);
	ck_assert_int_eq(blm_contains_many(f, keys, 600, bits), 517);
	blm_close(f);
}
END_TEST

START_TEST(unions_and_intersections_are_exact)
{
	struct blm_filter *a = make(10000), *b = make(10000), *both, *common;
	const struct blm_filter *two[] = { a, b };
	struct blm_comparison c;

	for (uint64_t i = 0; i < 10000; i++) {
		if (i % 6 == 0)
			add(a, digits(i));
		if (i % 10 == 0)
			add(b, digits(i));
	}
	OK(blm_combine(&both, NULL, a_path(), BLM_UNION, two, 2, 0, NULL));
	OK(blm_combine(&common, NULL, a_path(), BLM_INTERSECT, two, 2, 0, NULL));
	ck_assert_uint_eq(exactly(both), 1667 + 1000 - 334);
	ck_assert_uint_eq(exactly(common), 334);
	OK(blm_compare(a, b, &c));
	ck_assert(c.a.value == 1667 && c.b.value == 1000 && c.both.value == 2333
		  && c.common.value == 334 && c.common.error == 0);
	OK(blm_combine_into(a, BLM_UNION, two + 1, 1, 0, NULL));
	ck_assert_uint_eq(exactly(a), 2333);
	for (uint64_t i = 0; i < 10000; i++) {
		ck_assert(has(both, digits(i)) == (i % 6 == 0 || i % 10 == 0));
		ck_assert(has(common, digits(i)) == (i % 30 == 0));
	}
	blm_close(a), blm_close(b), blm_close(both), blm_close(common);
}
END_TEST

START_TEST(a_bitmap_and_its_hash_exclude_all_others)
{
	struct blm_plan plan;

	for (size_t i = 0; blm_family_at(i); i++)
		ck_assert_int_eq(blm_plan(&plan, &BLM_PARAMS(.kind = "bitmap", .cells = 100,
							     .hash = blm_family_at(i)->name)),
				 strcmp(blm_family_at(i)->name, "integer") ? -EOPNOTSUPP : 0);
	for (size_t i = 0; blm_kind_at(i); i++)
		if (!blm_kind_at(i)->exact)
			ck_assert_int_eq(blm_plan(&plan,
						  &BLM_PARAMS(.kind = blm_kind_at(i)->name,
							      .capacity = 100, .hash = "integer")),
					 -EOPNOTSUPP);
	OK(blm_plan(&plan, &BLM_PARAMS(.capacity = 100, .hash = "integer")));
	ck_assert_str_eq(plan.kind, "bitmap");
	FAILS(blm_plan(&plan, &BLM_PARAMS(.kind = "bitmap", .cells = 100, .probes = 2)), -EINVAL);
	FAILS(blm_plan(&plan, &BLM_PARAMS(.kind = "bitmap", .cells = 100, .capacity = 101)),
	      -EINVAL);
}
END_TEST

/* Bytes that go with the cells: none for none. */
START_TEST(an_empty_set_of_numbers_makes_no_bitmap)
{
	const struct blm_kind *kind = blm_kind_by_name("bitmap");
	struct blm_filter *f = make(1), *again;
	struct blm_header *h = current_view(f)->image.header;
	struct blm_template_fields *t = &h->constant.template;
	struct blm_part_entry *e = &h->part[0];
	struct blm_shape s = { .probes = 1, .cell_bits = 1 };

	ck_assert(!kind->valid(&s));
	s.bytes = 64;
	ck_assert(!kind->valid(&s));
	s.cells = 1;
	ck_assert(kind->valid(&s));
	for (int bytes = 64; bytes >= 0; bytes -= 64) {
		t->cells = 0;
		blm_template_id(t, h->constant.template_id);
		h->constant.check = blm_check_constant(&h->constant);
		e->cells = 0;
		e->bytes = htole64((uint64_t)bytes);
		e->check = blm_check_part(e, 0, h->constant.uuid);
		FAILS(blm_open(&again, NULL, f->place.display, 0), -EBADMSG);
	}
	blm_close(f);
}
END_TEST

/* A key that is given by its hash cannot be shown. */
START_TEST(a_refused_key_is_shown_up_to_its_40th_character)
{
	static const char nines[] = "999999999999999999999999999999999999999999999999";
	struct blm_filter *f = make(100);
	struct blm_part part = current_view(f)->root;
	const uint64_t *word;
	uint64_t mask = 1;

	FAILS(add(f, nines), -ERANGE);
	ck_assert_str_eq(blm_error_message(), "9999999999999999999999999999999999999999 is not "
					      "below 100: the bitmap has no bit for it");
	FAILS(part.kind->add(&part, &(struct blm_hashed){ .hash = { .lo = 100 } }), -ERANGE);
	ck_assert_str_eq(blm_error_message(),
			 "a key is not below 100: the bitmap has no bit for it");
	FAILS(part.kind->add(&part, &(struct blm_hashed){ .hash = { .hi = 1 } }), -EINVAL);
	ck_assert_str_eq(blm_error_message(),
			 "\"a key\" is no number in decimal digits: a bitmap takes no other keys");
	ck_assert_uint_eq(exactly(f), 0);
	word = part.kind->probe(&part, &(struct blm_hashed){ .hash = { .lo = 99 } }, 0, &mask);
	ck_assert(word == (const uint64_t *)part.bytes + 1 && mask == 0);
	ck_assert_ptr_null(
		part.kind->probe(&part, &(struct blm_hashed){ .hash = { .lo = 100 } }, 0, &mask));
	ck_assert_ptr_null(
		part.kind->probe(&part, &(struct blm_hashed){ .hash = { .lo = 99 } }, 1, &mask));
	blm_close(f);
}
END_TEST

static void hear(void *context, const struct blm_finding *found)
{
	snprintf(context, 200, "%s", found->what);	/* the last one */
}

START_TEST(full_damaged_blocks_hold_numbers_that_were_never_added)
{
	static const char *const words[] = {
		"1 damaged block is full of ones: numbers that were never added are in it now",
		"2 damaged blocks are full of ones: numbers that were never added are in it now",
	};
	enum { BLOCK = 65536 * 8 };

	for (unsigned blocks = 1; blocks <= 2; blocks++) {
		struct blm_filter *f = make(3 * BLOCK);
		uint64_t *word = (uint64_t *)current_view(f)->part[0].bytes;
		char what[200] = "";

		for (uint64_t i = 0; i < 3 * BLOCK; i += 64)
			ck_assert_int_eq(add(f, digits(i)), 1);
		OK(blm_sync(f));
		for (unsigned block = 0; block < blocks; block++)
			word[block * (BLOCK / 64)] = 0;
		ck_assert_int_eq(blm_verify(NULL, f->place.display, BLM_VERIFY_REPAIR, hear, what),
				 0);
		ck_assert_str_eq(what, words[blocks - 1]);
		for (uint64_t i = 0; i < 3 * BLOCK; i += 32)
			ck_assert(has(f, digits(i)) == (i % 64 == 0 || i < blocks * BLOCK));
		blm_close(f);
	}
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("kind/bitmap");
	TCase *tc = tcase_create("bitmap");

	tcase_add_test(tc, numbers_up_to_65535_take_8192_bytes_exactly);
	tcase_add_test(tc, a_full_bitmap_is_not_saturated_at_any_size);
	tcase_add_test(tc, a_key_that_is_no_number_is_absent_and_refused);
	tcase_add_test(tc,
		       a_bad_number_ends_the_call_after_counting_earlier_ones);
	tcase_add_test(tc, unions_and_intersections_are_exact);
	tcase_add_test(tc, a_bitmap_and_its_hash_exclude_all_others);
	tcase_add_test(tc, an_empty_set_of_numbers_makes_no_bitmap);
	tcase_add_test(tc, a_refused_key_is_shown_up_to_its_40th_character);
	tcase_add_test(tc, full_damaged_blocks_hold_numbers_that_were_never_added);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
