/*
 * fuse.c - binary fuse filters: rate and space, sets of every size and the worst of them, shards,
 * and data of an enemy
 */
#include "array.h"
#include "kind/common/fuse_table.h"
#include "refuse.h"

#include <math.h>

static const uint64_t *bits(unsigned fingerprint)
{
	static uint64_t args[2];

	args[0] = fingerprint;
	return args;
}

/* ---- Rate and space ---- */

START_TEST(fingerprints_of_every_width_keep_their_rate)
{
	const uint64_t asked = 200000 * test_scale();

	for (unsigned width = 4; width <= 32; width++)
		for (unsigned probes = 3; probes <= 4; probes += 1 + (width > 8)) {
			double expected = ldexp((double)asked, -(int)width), wrong;
			struct built b;

			built_begin(&b, 20000 + 1000 * width, false);
			built_fill(&b, 0);
			build(&b, "fuse", probes, bits(width));
			ck_assert_uint_eq(count_yes(&b, b.hashes, b.sorted.count), b.sorted.count);
			ck_assert_uint_eq(b.done, b.sorted.count);
			wrong = (double)count_strangers(&b, asked);
			ck_assert_msg(fabs(wrong - expected) <= 4.5 * sqrt(expected) + 2,
				      "%u bits, %u cells: %g of %g, %g expected", width, probes,
				      wrong, (double)asked, expected);
			built_end(&b);
		}
}
END_TEST

static double times_the_bound(const struct blm_shape *s, uint64_t keys)
{
	return (double)s->bytes * 8 / ((double)keys * s->cell_bits);
}

START_TEST(a_million_keys_take_1_14_times_the_least_space)
{
	for (uint64_t keys = 1000000; keys < BLM_CAPACITY_MAX / 1000; keys += keys / 7)
		for (unsigned each = 0; each < 2 * 29; each++) {
			unsigned probes = 3 + each % 2;
			/* of 4 to 32 bits */
			struct blm_shape s = { .args = { 4 + each / 2 } };

			OK(blm_kind_by_name("fuse")->plan(&s, &BLM_PARAMS(.capacity = keys,
									  .probes = probes)));
			ck_assert_double_le(times_the_bound(&s, keys), probes == 3 ? 1.14 : 1.08);
			ck_assert_double_ge((double)s.cells,
					    (double)keys * (probes == 3 ? 1.125 : 1.075) * 0.9999);
		}
	for (unsigned probes = 3; probes <= (SANITIZED ? 3 : 4); probes++)
		for (uint64_t keys = 1000000;
		     keys < (SANITIZED || test_scale() < 1 ? 2000000 : 4000000);
		     keys += 1150001) {
			struct built b;

			built_begin(&b, keys, false);
			built_fill(&b, 0);
			build(&b, "fuse", probes, bits(8));
			ck_assert_double_le(times_the_bound(&b.part.shape, keys),
					    probes == 3 ? 1.14 : 1.08);
			for (uint64_t i = 0; i < keys; i++)
				ck_assert(has(&b, b.hashes[i]));
			built_end(&b);
		}
}
END_TEST

START_TEST(whole_bits_keep_the_requested_rate_and_info_reports_it)
{
	static const struct { double rate; unsigned bits;
	} some[] = {
		{ 0.5, 4 },	  { 0.0625, 4 }, { 0.06, 5 },  { 0.01, 7 },	{ 0.001, 10 },
		{ 1.0 / 256, 8 }, { 0.0039, 9 }, { 1e-9, 30 }, { 2.4e-10, 32 },
	};

	for (size_t i = 0; i < ARRAY_LEN(some); i++) {
		const struct blm_params params = BLM_PARAMS(.kind = "fuse", .capacity = 100000,
							    .rate = some[i].rate);
		struct blm_plan plan;
		struct blm_fact fact;

		OK(blm_plan(&plan, &params));
		ck_assert_double_eq(plan.rate, some[i].rate);
		ck_assert_double_eq(plan.predicted_rate, ldexp(1, -(int)some[i].bits));
		OK(blm_plan_fact(&params, 0, &fact));
		ck_assert_double_eq(fact.value, plan.predicted_rate);
	}
}
END_TEST

START_TEST(impossible_parameters_are_refused)
{
	static const struct { struct blm_params params; int err;
	} none[] = {
		{ BLM_PARAMS(.options = "fingerprint-bits=3"), -EINVAL },
		{ BLM_PARAMS(.options = "fingerprint-bits=33"), -EINVAL },
		{ BLM_PARAMS(.probes = 2), -EINVAL },
		{ BLM_PARAMS(.probes = 5), -EINVAL },
		{ BLM_PARAMS(.cells = 1000), -EINVAL },
		{ BLM_PARAMS(.rate = 1e-10), -EFBIG },
		{ BLM_PARAMS(.options = "fingerprint-bits=8", .rate = 0.001), -EFBIG },
		{ BLM_PARAMS(.hash = "xxh64"), -EOPNOTSUPP },
		{ BLM_PARAMS(.hash = "mm3_64"), -EOPNOTSUPP },
	};

	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		struct blm_params p = none[i].params;

		p.kind = "fuse";
		p.capacity = 100;
		FAILS(blm_plan(&(struct blm_plan){ 0 }, &p), none[i].err);
	}
}
END_TEST

/* ---- Sets ---- */

START_TEST(sets_of_every_size_are_built)
{
	for (uint64_t keys = 0; keys <= 2000; keys += SANITIZED && keys > 130 ? 11 : 1)
		for (unsigned probes = 3; probes <= 4; probes++) {
			struct built b;

			built_begin(&b, keys, false);
			built_fill(&b, keys << 20);
			build(&b, "fuse", probes, bits(4 + keys % 29));
			ck_assert_uint_eq(count_yes(&b, b.hashes, keys), keys);
			if (!keys)
				ck_assert_uint_eq(count_strangers(&b, 1000), 0);
			built_end(&b);
		}
}
END_TEST

/*
 * Sets of hashes as no hash function makes them: of one half alone, of numbers from 0 on, a bit
 * apart, with the one half that unfold() loses.
 */
static struct blm_hash odd_hash(unsigned sort, uint64_t i)
{
	switch (sort) {
	case 0: return (struct blm_hash){ .lo = i, .hi = 0 };
	case 1: return (struct blm_hash){ .lo = 0, .hi = i };
	case 2: return (struct blm_hash){ .lo = mixed(i), .hi = UINT64_C(0xA0761D6478BD642F) };
	case 3: return (struct blm_hash){ .lo = UINT64_MAX, .hi = UINT64_MAX - i };
	case 4: return (struct blm_hash){ .lo = i << 50, .hi = (i >> 14) << 50 };
	case 5: return (struct blm_hash){ .lo = i / 2, .hi = UINT64_C(1) << 63 | i % 2 };
	default: return (struct blm_hash){ .lo = i, .hi = mixed(i / 1000) };
	}
}

START_TEST(sets_that_no_hash_makes_are_built_too)
{
	for (unsigned sort = 0; sort < 7; sort++)
		for (uint64_t keys = 1; keys <= 200000 * test_scale(); keys = keys * 7 + 2)
			for (unsigned probes = 3; probes <= 4; probes++) {
				struct built b;

				built_begin(&b, keys, false);
				for (uint64_t i = 0; i < keys; i++)
					b.hashes[i] = odd_hash(sort, i);
				blm_records_sort((uint64_t *)b.hashes, keys, 2, 1);
				build(&b, "fuse", probes, bits(7));
				ck_assert_uint_eq(count_yes(&b, b.hashes, keys), keys);
				built_end(&b);
			}
}
END_TEST

/* ---- Shards ---- */

static unsigned shards(void)
{
	return SANITIZED || test_scale() < 1 ? 2 : 3;
}

static uint64_t many(void)
{
	return (uint64_t)shards() << 20;
}

START_TEST(shards_have_all_keys_whatever_the_threads_and_memory)
{
	struct built b, again;
	const struct blm_shard_entry *e;
	uint64_t end;

	built_begin(&b, many(), false);
	built_fill(&b, 0);
	build(&b, "fuse", 3, bits(7));
	ck_assert_uint_eq(shards_of(&b.part.shape), shards());
	ck_assert_uint_eq(count_yes(&b, b.hashes, many()), many());
	ck_assert_uint_eq(b.done, many());
	e = (const struct blm_shard_entry *)b.part.bytes;
	end = shard_index_bytes(&b.part.shape);
	for (unsigned i = 0; i < shards(); i++) {
		ck_assert_uint_eq(le64toh(e[i].offset), end);
		end += le64toh(e[i].bytes);
	}
	ck_assert_uint_eq(end, b.part.shape.bytes);
	again = b;
	for (unsigned threads = 2; threads <= 5; threads += 3) {
		again.sorted.threads = threads;
		again.sorted.memory_bytes = threads == 2 ? UINT64_MAX : 1;
		build(&again, "fuse", 3, bits(7));
		ck_assert_mem_eq(b.part.bytes, again.part.bytes, b.part.shape.bytes);
		built_drop(&again);
	}
	built_end(&b);
}
END_TEST

static uint64_t one_line(const struct blm_shape *shape, uint64_t keys)
{
	return BLM_SHARD_ALIGN;
}

static int make_sum(const struct blm_part *part, struct blm_shard *shard,
		    const struct blm_hash *hashes, const uint64_t *values, uint64_t count,
		    void *buffer)
{
	for (uint64_t i = 0; i < count; i++)
		shard->words[0] += hashes[i].lo;
	return 0;
}

/*
 * Its thread cannot be started, or the first or last piece of its memory is missing: the caller
 * allocates as many pieces before it.
 */
START_TEST(a_helper_that_cannot_be_had_is_done_without)
{
	static const struct blm_shard_maker sums = { .bytes = one_line,
						     .work_bytes = one_line,
						     .make = make_sum };
	/* the index, and two shards */
	static _Alignas(64) uint8_t data[2][3 * BLM_SHARD_ALIGN];
	struct blm_part part = { .shape = { .capacity = UINT64_C(2) << BLM_SHARD_KEYS_SHIFT,
					    .bytes = sizeof(data[0]) } };
	struct built b;

	built_begin(&b, 1000, false);
	built_fill(&b, 0);
	part.bytes = data[0];
	OK(blm_shards_build(&part, &b.sorted, &sums));
	b.sorted.threads = 2;
	part.bytes = data[1];
	refuse_threads = _i == 0;
	refuse_memory = _i == 0 ? 0 : 2 + _i;
	OK(blm_shards_build(&part, &b.sorted, &sums));
	ck_assert_int_eq(refuse_memory, 0);
	refuse_threads = false;
	ck_assert_mem_eq(data[0], data[1], sizeof(data[0]));
	ck_assert_uint_eq(b.done, 2 * b.sorted.count);
	built_end(&b);
}
END_TEST

/* All in the first shard, or all in the last. */
START_TEST(a_shard_with_all_keys_has_the_same_size_anywhere)
{
	struct built b;
	uint64_t bytes[2];

	built_begin(&b, many(), false);
	for (int last = 0; last < 2; last++) {
		for (uint64_t i = 0; i < many(); i++)
			b.hashes[i] = (struct blm_hash){ .lo = i, .hi = last ? UINT64_MAX : 0 };
		built_plan(&b, "fuse", 3, bits(7));
		ck_assert_uint_eq(shards_of(&b.part.shape), shards());
		bytes[last] = b.part.shape.bytes;
		if (!last)
			built_drop(&b);
	}
	ck_assert_uint_eq(bytes[0], bytes[1]);
	built_end(&b);
}
END_TEST

START_TEST(keys_that_cannot_be_read_fail_it_with_their_words)
{
	struct built b;

	built_begin(&b, many(), false);
	built_fill(&b, 0);
	for (unsigned threads = 1; threads <= 3; threads += test_scale() < 1 ? 2 : 1) {
		b.fails = 0;
		b.sorted.threads = threads;
		built_plan(&b, "fuse", 3, bits(7));
		b.fails = -EIO;
		b.from = many() - 1;
		FAILS(b.part.kind->build(&b.part, &b.sorted), -EIO);
		ck_assert_str_eq(blm_error_message(),
				 shards() == 3 ? "no key number 3145727" : "no key number 2097151");
		FAILS(b.part.kind->fit(&b.part.shape, (b.from = 0, &b.sorted)), -EIO);
		built_drop(&b);
	}
	b.fails = 0;
	build(&b, "fuse", 3, bits(7));
	built_end(&b);
}
END_TEST

/* ---- Hostile data: the bytes behind the part cannot be read ---- */

static void ask_all_ways(const struct built *b)
{
	const struct blm_kind *kind = b->part.kind;

	count_yes(b, b->hashes, b->sorted.count < 500 ? b->sorted.count : 500);
	count_strangers(b, 500);
	for (uint64_t i = 0; i < 100; i++) {
		struct blm_hashed key = { .hash = hash_number(i) };
		uint64_t value, mask;

		kind->prefetch(&b->part, &key);
		for (unsigned probe = 0; probe < 5; probe++) {
			const uint64_t *word = kind->probe(&b->part, &key, probe, &mask);

			ck_assert(!word
				  || ((const uint8_t *)word >= b->part.bytes
				      && (const uint8_t *)(word + 1)
						 <= b->part.bytes + b->part.shape.bytes));
		}
		if (kind->get)
			kind->get(&b->part, &key, &value);
	}
}

START_TEST(a_damaged_index_causes_no_read_outside_the_data)
{
	const struct {
		const char *kind;
		unsigned probes;
		uint64_t keys, args[2];
	} some[] = {
		{ "fuse", 3, 1000, { 8 } },	    { "fuse", 4, 1, { 32 } },
		{ "bloomier", 3, 700, { 64, 64 } }, { "bloomier", 4, 300, { 3, 9 } },
		{ "fuse", 3, many(), { 5 } },
	};

	for (size_t k = 0; k < ARRAY_LEN(some); k++) {
		struct built b;
		uint64_t *index, count;

		built_begin(&b, some[k].keys, some[k].args[1]);
		built_fill(&b, 0);
		build(&b, some[k].kind, some[k].probes, some[k].args);
		index = (uint64_t *)b.part.bytes;
		count = shards_of(&b.part.shape) * 4;
		for (uint64_t i = 0; i < count; i++) {
			uint64_t good = index[i], end = b.part.shape.bytes;
			const uint64_t bad[] = {
				0,
				1,
				8,
				63,
				64,
				65,
				end - 64,
				end - 8,
				end,
				end + 64,
				UINT64_MAX,
				UINT64_MAX - 63,
				UINT64_C(1) << 63,
				INT64_MAX,
				good + 64,
				good - 64,
				good + 8,
				good + 1,
				good - 1,
				good + 256,
				good ^ 1,
				good << 8,
				good | 0xff,
				good | 63,
				good | 64,
				(good & ~UINT64_C(0xff)) | 17,
				UINT64_C(0x100000003) << 8 | 16,
				UINT64_C(0xffffffff) << 8 | 16,
				UINT64_C(1) << 40,
				UINT64_C(1) << 8 | 16,
			};

			for (size_t j = 0; j < ARRAY_LEN(bad); j++) {
				index[i] = htole64(bad[j]);
				ask_all_ways(&b);
			}
			index[i] = good;
		}
		/* all of it at random, small numbers more often */
		for (uint64_t round = 0; round < 400; round++) {
			for (uint64_t i = 0; i < count; i++)
				index[i] = mixed(round * 100 + i) >> mixed(i + round) % 64;
			ask_all_ways(&b);
		}
		built_end(&b);
	}
}
END_TEST

START_TEST(shapes_that_no_plan_makes_are_refused)
{
	struct blm_shape good = { .args = { 8 } };
	const struct blm_kind *fuse = blm_kind_by_name("fuse");

	OK(fuse->plan(&good, &BLM_PARAMS(.capacity = 5000000)));
	ck_assert(fuse->valid(&good));
#define IS_NONE(change) \
	do { \
		struct blm_shape s = good; \
		change; \
		ck_assert_msg(!fuse->valid(&s), "%s", #change); \
	} while (0)
	IS_NONE(s.bytes = 64);
	IS_NONE(s.bytes += 32);
	IS_NONE(s.bytes += 64);
	IS_NONE(s.cells++);
	IS_NONE(s.cell_bits = 9);
	IS_NONE(s.args[0] = s.cell_bits = 3);
	IS_NONE(s.args[0] = s.cell_bits = 33);
	IS_NONE(s.probes = 2);
	IS_NONE(s.probes = 5);
	IS_NONE(s.capacity = 0);
	IS_NONE(s.capacity = UINT64_MAX);
	IS_NONE((s.bytes = UINT64_C(1) << 62, s.cells = (s.bytes - shard_index_bytes(&s)) * 8 / 8));
#undef IS_NONE
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("fuse");
	TCase *tc = tcase_create("fuse");

	tcase_add_test(tc, fingerprints_of_every_width_keep_their_rate);
	tcase_add_test(tc, a_million_keys_take_1_14_times_the_least_space);
	tcase_add_test(tc, whole_bits_keep_the_requested_rate_and_info_reports_it);
	tcase_add_test(tc, impossible_parameters_are_refused);
	tcase_add_test(tc, sets_of_every_size_are_built);
	tcase_add_test(tc, sets_that_no_hash_makes_are_built_too);
	tcase_add_test(tc, shards_have_all_keys_whatever_the_threads_and_memory);
	tcase_add_loop_test(tc, a_helper_that_cannot_be_had_is_done_without, 0, 3);
	tcase_add_test(tc, a_shard_with_all_keys_has_the_same_size_anywhere);
	tcase_add_test(tc, keys_that_cannot_be_read_fail_it_with_their_words);
	tcase_add_test(tc, a_damaged_index_causes_no_read_outside_the_data);
	tcase_add_test(tc, shapes_that_no_plan_makes_are_refused);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
