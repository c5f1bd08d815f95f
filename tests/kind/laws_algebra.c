/* laws_algebra.c - templates, unions, intersections, folds and estimates of every kind (laws.h) */
#include "laws.h"

#include <math.h>

START_TEST(a_union_equals_the_filter_of_all_values)
{
	struct blm_filter *a = make(kind_of(_i)), *b = make(kind_of(_i)), *all = make(kind_of(_i)),
			  *result;

	put_range(a, 0, N / 2), put_range(b, N / 4, N), put_range(all, 0, N);
	OK(blm_combine(&result, NULL, a_path(), BLM_UNION, (const struct blm_filter *[]){ a, b }, 2,
		       0, NULL));
	same_data(result, all);
	OK(blm_combine_into(b, BLM_UNION, (const struct blm_filter *[]){ a }, 1, 0, NULL));
	same_data(b, all);
	blm_close(a), blm_close(b), blm_close(all), blm_close(result);
}
END_TEST

/* ---- Templates and algebra ---- */

START_TEST(a_template_is_empty_and_combines)
{
	struct blm_filter *a = make(kind_of(_i)), *b;
	struct blm_info x = BLM_INFO, y = BLM_INFO;

	fill(a, 0, N);
	b = twin(a);
	x = info(a), y = info(b);
	ck_assert_uint_eq(found(b, 0, N), 0);
	ck_assert_uint_eq(y.keys, 0);
	ck_assert_mem_eq(x.template_id, y.template_id, 16);
	ck_assert_mem_ne(x.uuid, y.uuid, 16);
	ck_assert_uint_eq(x.cells, y.cells);
	ck_assert_uint_eq(x.probes, y.probes);
	ck_assert_uint_eq(x.capacity, y.capacity);
	ck_assert_double_eq(x.rate, y.rate);
	ck_assert_uint_eq(x.seeds[0], y.seeds[0]);
	ck_assert_int_eq(blm_same_template(a, b), 0);
	if (kind_of(_i)->unite) {
		ck_assert_int_eq(blm_combine_into(b, BLM_UNION, (const struct blm_filter *[]){ a },
						  1, 0, NULL),
				 0);
		same_data(a, b);
	}
	blm_close(a), blm_close(b);
}
END_TEST

START_TEST(a_copy_answers_the_same_under_another_uuid)
{
	struct blm_filter *a = make_for(kind_of(_i), 2 * N, 7, 0.01), *b;
	struct blm_info x = BLM_INFO, y = BLM_INFO;

	fill(a, 0, N);
	ck_assert_int_eq(blm_copy(&b, NULL, a_path(), a, 0), 0);
	x = info(a), y = info(b);
	same_data(a, b);
	ck_assert_uint_eq(found(b, 0, 20 * N), found(a, 0, 20 * N));
	ck_assert_uint_eq(x.keys, y.keys);
	ck_assert_mem_ne(x.uuid, y.uuid, 16);
	ck_assert_mem_eq(x.template_id, y.template_id, 16);
	fill(b, N, 2 * N);		/* and goes its own way */
	ck_assert_uint_eq(found(b, N, 2 * N), N);
	ck_assert_uint_lt(found(a, N, 2 * N), N / 10);
	blm_close(a), blm_close(b);
}
END_TEST

/* Three filters with keys 0..N/2, N/4..3N/4, N/2..N. */
static void make_three(const struct blm_kind *kind, struct blm_filter *ret[3])
{
	for (uint64_t i = 0; i < 3; i++) {
		ret[i] = make(kind);
		fill(ret[i], i * N / 4, i * N / 4 + N / 2);
	}
}

static void close_three(struct blm_filter *f[3])
{
	for (int i = 0; i < 3; i++)
		blm_close(f[i]);
}

START_TEST(a_union_equals_the_filter_of_all_keys)
{
	struct blm_filter *f[3], *all = make(kind_of(_i)), *result;
	double rate = -1;

	make_three(kind_of(_i), f);
	fill(all, 0, N);
	ck_assert_int_eq(blm_combine(&result, NULL, a_path(), BLM_UNION,
				     (const struct blm_filter *const *)f, 3, 0, &rate),
			 0);
	same_data(result, all);
	ck_assert(info(result).keys_estimated == !kind_of(_i)->exact);
	ck_assert_double_eq_tol((double)info(result).keys, N, 0.02 * N);
	if (!kind_of(_i)->compose)
		ck_assert_double_eq_tol(rate, kind_of(_i)->exact ? 0 : 0.01, 0.002);
	ck_assert_double_lt(rate, 0.012);
	ck_assert_int_eq(blm_combine_into(f[0], BLM_UNION, (const struct blm_filter *const *)f + 1,
					  2, 0, &rate),
			 0);
	same_data(f[0], all);
	ck_assert(info(f[0]).keys_estimated);
	ck_assert_double_eq_tol((double)info(f[0]).keys, N, 0.02 * N);
	close_three(f);
	blm_close(all), blm_close(result);
}
END_TEST

START_TEST(the_intersection_holds_every_common_key)
{
	struct blm_filter *f[3], *result;
	double rate = -1;

	make_three(kind_of(_i), f);
	ck_assert_int_eq(blm_combine(&result, NULL, a_path(), BLM_INTERSECT,
				     (const struct blm_filter *const *)f, 2, 0, &rate),
			 0);
	ck_assert_uint_eq(found(result, N / 4, N / 2), N / 4);
	for (uint64_t i = 0; i < 4 * N; i++)
		ck_assert(blm_contains(result, key(result, i), 8)
			  <= (blm_contains(f[0], key(f[0], i), 8)
			      && blm_contains(f[1], key(f[1], i), 8)));
	ck_assert_double_le(rate, 0.01);
	ck_assert_int_eq(blm_combine_into(f[1], BLM_INTERSECT, (const struct blm_filter *const *)f,
					  1, 0, &rate),
			 0);
	same_data(f[1], result);
	ck_assert_uint_eq(found(f[1], N / 4, N / 2), N / 4);
	close_three(f);
	blm_close(result);
}
END_TEST

START_TEST(an_intersection_in_place_is_seen_by_handles_opened_before)
{
	struct blm_filter *f[3], *reader, *writer;
	const uint64_t other = 10 * N + 1;

	make_three(kind_of(_i), f);
	reader = reopen(f[0], false);
	writer = reopen(f[0], true);
	ck_assert_int_eq(blm_combine_into(f[0], BLM_INTERSECT,
					  (const struct blm_filter *const *)f + 1, 1, 0, NULL),
			 0);
	same_data(reader, f[0]);
	ck_assert_int_ge(blm_add(writer, key(writer, other), 8), 0);
	ck_assert(blm_contains(reader, key(reader, other), 8));
	ck_assert(blm_contains(f[0], key(f[0], other), 8));
	same_data(writer, f[0]);
	ck_assert_int_eq(blm_status(reader), 0);
	close_three(f);
	blm_close(reader), blm_close(writer);
}
END_TEST

START_TEST(a_result_above_the_highest_rate_is_refused_unchanged)
{
	struct blm_filter *f[3], *result = NULL, *before;
	double rate = -1;

	make_three(kind_of(_i), f);
	ck_assert_int_eq(blm_copy(&before, NULL, a_path(), f[0], 0), 0);
	ck_assert_int_eq(blm_combine(&result, NULL, a_path(), BLM_UNION,
				     (const struct blm_filter *const *)f, 3, 1e-4, &rate),
			 -ERANGE);
	ck_assert_ptr_null(result);
	ck_assert_double_gt(rate, 1e-4);
	ck_assert_int_eq(blm_combine_into(f[0], BLM_UNION, (const struct blm_filter *const *)f + 1,
					  2, 1e-4, &rate),
			 -ERANGE);
	same_data(f[0], before);
	close_three(f);
	blm_close(before);
}
END_TEST

/* What two filters may differ in; 0 and NULL are what the filter of make_shaped() has. */
static const struct difference {
	uint64_t cells;
	uint32_t probes;
	uint64_t seed;
	const char *hash;
	const char *field, *a, *b;
} differences[] = {
	{ .cells = 5120, .field = "m:", .a = "4096", .b = "5120" },
	{ .probes = 6, .field = "k:", .a = "5", .b = "6" },
	{ .seed = 99, .field = "seed:", .a = "77", .b = "99" },
	{ .hash = "siphash", .field = "hash:", .a = "xxh3", .b = "siphash" },
};

static const uint64_t seed_77 = 77;

static bool can_be(const struct blm_kind *kind, const struct blm_params *p)
{
	return blm_plan(&(struct blm_plan){ 0 }, p) == 0;
}

/* As far as the kind has a choice in the matter; false: it has none. */
static bool shape(const struct blm_kind *kind, const struct difference *d, struct blm_params *ret)
{
	bool seeded = family_of(kind)->seeds;
	struct blm_params p = BLM_PARAMS(.kind = kind->name, .hash = family_of(kind)->name,
					 .cells = d->cells ? d->cells : 4096,
					 .probes = d->probes ? d->probes : 5,
					 .seeds = d->seed ? &d->seed : &seed_77,
					 .seed_count = d->hash ? 0 : seeded);

	if (d->hash)
		p.hash = d->hash;
	if (!d->probes && !can_be(kind, &p))
		p.probes = 0;
	*ret = p;
	return can_be(kind, &p) && (seeded || !d->seed);
}

static struct blm_filter *make_shaped(const struct blm_kind *kind, const struct difference *d)
{
	struct blm_params p = BLM_PARAMS();

	ck_assert(shape(kind, d, &p));
	return create(p);
}

static void refused(const struct blm_filter *a, const struct blm_filter *b, int r,
		    const struct difference *d)
{
	const char *reason = blm_error_message();

	ck_assert_int_eq(r, -EMEDIUMTYPE);
	reason = strstr(reason, d->field);
	ck_assert_msg(reason && strstr(reason, d->a) && strstr(reason, d->b),
		      "%s %s %s is not in: %s", d->field, d->a, d->b, blm_error_message());
}

START_TEST(filters_that_differ_do_not_combine_and_name_the_field)
{
	for (size_t i = 0; i < ARRAY_LEN(differences); i++) {
		const struct difference *d = &differences[i];
		const struct blm_filter *both[2];
		struct blm_filter *a, *b, *result;

		if (!shape(kind_of(_i), d, &BLM_PARAMS()))
			continue;
		both[0] = a = make_shaped(kind_of(_i), &(struct difference){ 0 });
		both[1] = b = make_shaped(kind_of(_i), d);
		fill(b, 0, 10);
		refused(a, b, blm_same_template(a, b), d);
		refused(a, b, blm_combine(&result, NULL, a_path(), BLM_UNION, both, 2, 0, NULL), d);
		refused(a, b, blm_combine(&result, NULL, a_path(), BLM_INTERSECT, both, 2, 0, NULL),
			d);
		refused(a, b, blm_combine_into(a, BLM_UNION, both + 1, 1, 0, NULL), d);
		refused(a, b, blm_combine_into(a, BLM_INTERSECT, both + 1, 1, 0, NULL), d);
		refused(a, b, blm_compare(a, b, &(struct blm_comparison){ 0 }), d);
		ck_assert_uint_eq(found(a, 0, 10), 0);
		blm_close(a), blm_close(b);
	}
}
END_TEST

START_TEST(filters_of_different_kinds_do_not_combine_and_are_named)
{
	const struct blm_kind *kind = kind_of(_i), *other = blm_kind_at(_i == 0);
	struct blm_filter *a = make_shaped(kind, &(struct difference){ 0 }),
			  *b = make_shaped(other, &(struct difference){ 0 });

	refused(a, b, blm_same_template(a, b),
		&(struct difference){ .field = "kind:", .a = kind->name, .b = other->name });
	blm_close(a), blm_close(b);
}
END_TEST

START_TEST(filters_of_different_tweaks_do_not_combine_and_are_named)
{
	struct blm_params p = BLM_PARAMS(.kind = kind_of(_i)->name, .hash = "murmur3-bip37",
					 .cells = 4096, .probes = 5, .tweak = 1234);
	struct blm_filter *a = create(p), *b;

	p.tweak = 4321;
	b = create(p);
	refused(a, b, blm_same_template(a, b),
		&(struct difference){ .field = "tweak:", .a = "1234", .b = "4321" });
	blm_close(a), blm_close(b);
}
END_TEST

/* ---- Estimates ---- */

START_TEST(a_filter_of_ones_answers_yes_and_is_saturated)
{
	struct blm_filter *f = make(kind_of(_i)), *half = make(kind_of(_i));
	struct blm_estimate e;
	struct blm_comparison c;

	for (unsigned p = 0; p < current_view(f)->parts; p++) {
		const struct blm_part *part = &current_view(f)->part[p];
		uint64_t padding = part->kind->padding_bits ? part->kind->padding_bits(&part->shape)
							    : 0;

		for (uint64_t i = 0; i < part->shape.bytes * 8 - padding; i++)
			part->bytes[i / 8] = (uint8_t)(part->bytes[i / 8] | 1 << i % 8);
	}
	fill(half, 0, N);
	ck_assert_uint_eq(found(f, 0, 1000), 1000);
	for (int exact = 0; exact < 2; exact++) {
		ck_assert_int_eq(blm_estimate(f, exact, &e), 0);
		ck_assert(e.saturated);
		ck_assert(isfinite(e.keys.value) && isfinite(e.keys.error) && e.keys.value > N);
		ck_assert_double_eq(e.fill.value, 1);
		ck_assert_msg(e.rate.value == 1, "rate_of() is %g, not 1: does it divide by "
			      "tally->bytes, which include the padding?", e.rate.value);
		ck_assert(isfinite(e.fill.error) && isfinite(e.rate.error));
	}
	ck_assert_int_eq(blm_compare(f, half, &c), 0);
	ck_assert(c.saturated);
	ck_assert(isfinite(c.common.value) && isfinite(c.jaccard.value) && isfinite(c.jaccard.error)
		  && isfinite(c.tanimoto.value));
	ck_assert_int_eq(blm_add(f, "x", 1), 0);
	blm_close(f), blm_close(half);
}
END_TEST

START_TEST(an_empty_filter_is_estimated_empty)
{
	struct blm_filter *f = make(kind_of(_i));
	struct blm_estimate e;
	struct blm_comparison c;

	ck_assert_int_eq(blm_estimate(f, true, &e), 0);
	ck_assert_double_eq(e.keys.value, 0);
	ck_assert_double_eq(e.rate.value, 0);
	ck_assert_double_eq(e.fill.value, 0);
	ck_assert(!e.saturated);
	ck_assert_int_eq(blm_compare(f, f, &c), 0);
	ck_assert(isfinite(c.jaccard.value) && isfinite(c.jaccard.error)
		  && isfinite(c.tanimoto.value));
	blm_close(f);
}
END_TEST

/*
 * On a machine that another one plays, where numbers with a fraction take a hundred times as long;
 * and for sanitizers.
 */
static bool is_short(void)
{
	return SANITIZED || test_scale() < 0.1;
}

START_TEST(estimates_lie_within_4_standard_errors_over_40_seeds)
{
	static const uint64_t sizes[] = { N, N / 10, N / 2, 2 * N };

	for (size_t s = 0; s < (is_short() ? 1 : ARRAY_LEN(sizes)); s++) {
		double squares = 0;

		for (uint64_t seed = 1; seed <= 40; seed++) {
			struct blm_filter *f = make_seeded(kind_of(_i), seed, 0.01);
			struct blm_estimate e;
			double off;

			fill(f, 0, sizes[s]);
			ck_assert_int_eq(blm_estimate(f, true, &e), 0);
			off = (e.keys.value - (double)sizes[s]) / e.keys.error;
			ck_assert_msg(fabs(off) < 4, "%g +- %g for %d", e.keys.value, e.keys.error,
				      (int)sizes[s]);
			squares += off * off / 40;
			blm_close(f);
		}
		ck_assert_msg(squares > 0.5 && squares < 2,
			      "at %d keys: mean of (off / error)^2 is %g", (int)sizes[s], squares);
	}
}
END_TEST

START_TEST(the_estimated_overlap_is_right_within_4_standard_errors)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct blm_filter *a = make_seeded(kind_of(_i), seed, 0.01), *b = twin(a),
				  *both = twin(a);
		struct blm_comparison c;
		size_t bytes;
		const uint8_t *x = data(a, &bytes), *y = data(b, &bytes);
		double ones_and = 0, ones_or = 0;

		fill(a, 0, N / 2);
		fill(b, N / 4, N);
		ck_assert_int_eq(blm_compare(a, b, &c), 0);
		ck_assert_double_le(fabs(c.a.value - N / 2), 4 * c.a.error);
		ck_assert_double_le(fabs(c.b.value - N * 3 / 4), 4 * c.b.error);
		ck_assert_double_le(fabs(c.both.value - N), 4 * c.both.error);
		ck_assert_double_le(fabs(c.common.value - N / 4), 4 * c.common.error);
		ck_assert_double_le(c.common.error, N / 20);	/* and that says something */
		ck_assert_double_le(fabs(c.jaccard.value - 0.25), 4 * c.jaccard.error);
		for (size_t i = 0; i < bytes && kind_only_sets(kind_of(_i)); i++) {
			ones_and += __builtin_popcount(x[i] & y[i]);
			ones_or += __builtin_popcount(x[i] | y[i]);
		}
		if (kind_only_sets(kind_of(_i)))
			ck_assert_double_eq_tol(c.tanimoto.value, ones_and / ones_or, 1e-12);
		blm_close(a), blm_close(b), blm_close(both);
	}
}
END_TEST

static struct blm_hash hash_of(const struct blm_filter *f, uint64_t i)
{
	struct blm_hash hash;

	OK(blm_hash_many(f, &(struct blm_key){ key(f, i), 8 }, 1, &hash));
	return hash;
}

/* So the part of a split filter that owns the line owns the key. */
START_TEST(a_key_with_a_place_changes_that_places_line)
{
	struct blm_filter *f = make(kind_of(_i));
	struct blm_part *part = &current_view(f)->part[0];
	uint8_t *before = malloc(part->shape.bytes);

	ck_assert(kind_of(_i)->splits);
	for (uint64_t i = 0; i < 100; i++) {
		struct blm_hash hash = hash_of(f, i);
		uint64_t place, changed = 0;

		kind_of(_i)->place(part, &hash, 1, &place);
		ck_assert_uint_lt(place, part->shape.bytes);
		memcpy(before, part->bytes, part->shape.bytes);
		OK(blm_add(f, key(f, i), 8));
		for (uint64_t at = 0; at < part->shape.bytes; at++)
			if (part->bytes[at] != before[at]) {
				ck_assert_uint_eq(at / 64, place / 64);
				changed++;
			}
		ck_assert(changed || i);	/* a later one may be a false positive */
	}
	free(before);
	blm_close(f);
}
END_TEST

START_TEST(cells_added_by_ranges_equal_those_of_an_add)
{
	struct blm_filter *f = make(kind_of(_i)), *g = make(kind_of(_i));
	struct blm_part *part = &current_view(g)->part[0];
	uint64_t third = part->shape.bytes / 3 / 64 * 64, counted = 0;
	const uint64_t ends[] = { 0, third, 2 * third, part->shape.bytes };

	ck_assert(kind_of(_i)->splits);
	for (uint64_t i = 0; i < 2000; i++) {
		struct blm_key one = { key(f, i), 8 };
		struct blm_hashed hashed = { .key = &one, .by = &current_view(g)->hasher };

		if (!wants_keys(hashed.by))
			hashed.hash = hash_of(f, i);
		OK(blm_add(f, one.bytes, one.len));
		for (int r = 0; r < 3; r++)
			counted += (uint64_t)kind_of(_i)->add_within(part, &hashed, ends[r],
								     ends[r + 1]);
	}
	ck_assert_int_eq(memcmp(current_view(f)->part[0].bytes, part->bytes, part->shape.bytes), 0);
	/* each where its first cell is, unless a false positive hides it */
	ck_assert_uint_le(counted, 2000);
	ck_assert_uint_ge(counted, 1000);
	blm_close(f);
	blm_close(g);
}
END_TEST

START_TEST(a_folded_filter_equals_a_small_one_of_its_keys)
{
	static const uint64_t factors[] = { 1, 2, 3, 4, 5, 8, 120 };

	/* 1000: of several pieces, the last of them small */
	for (uint64_t many = 1; many <= 1000; many *= 1000)
		for (size_t i = 0; i < ARRAY_LEN(factors); i++) {
			struct blm_params p =
				BLM_PARAMS(.kind = kind_of(_i)->name,
					   .cells = kind_of(_i)->fold_bits * 120 * many,
					   .hash = "xxh3", .seeds = &(uint64_t){ 7 },
					   .seed_count = 1, .capacity = N, .rate = 0.01,
					   .sparse = i % 2);
			struct blm_filter *large = create(p), *folded, *small;

			p.cells /= factors[i];
			p.probes = info(large).probes;
			small = create(p);
			fill(large, 0, N), fill(small, 0, N);
			ck_assert_msg(blm_fold(&folded, NULL, a_path(), large, factors[i], 0) == 0,
				      "%s", blm_error_message());
			same_data(folded, small);
			ck_assert_uint_eq(info(folded).cells, info(small).cells);
			ck_assert_uint_eq(info(folded).keys, info(large).keys);
			ck_assert_int_eq(blm_same_template(folded, small), 0);
			ck_assert_uint_eq(fill(folded, 0, N), 0);
			blm_close(large), blm_close(folded), blm_close(small);
		}
}
END_TEST

/* Where there are only holes nothing is read. */
START_TEST(a_folded_filter_of_few_keys_equals_the_small_one)
{
	struct blm_params p = BLM_PARAMS(.kind = kind_of(_i)->name,
					 .cells = kind_of(_i)->fold_bits * 240000, .hash = "xxh3",
					 .seeds = &(uint64_t){ 7 }, .seed_count = 1, .capacity = N,
					 .rate = 0.01, .sparse = true);
	struct blm_filter *large = create(p), *folded, *small;

	p.cells /= 2;
	p.probes = info(large).probes;
	small = create(p);
	fill(large, 0, 3), fill(small, 0, 3);
	ck_assert_msg(blm_fold(&folded, NULL, a_path(), large, 2, 0) == 0, "%s",
		      blm_error_message());
	same_data(folded, small);
	blm_close(large), blm_close(folded), blm_close(small);
}
END_TEST

START_TEST(a_kind_that_folds_takes_every_number_of_blocks)
{
	const struct blm_kind *kind = kind_of(_i);

	for (unsigned blocks = 1; blocks <= 20; blocks++) {
		struct blm_params p = { .cells = blocks * kind->fold_bits, .capacity = N };
		struct blm_shape shape = { 0 };

		ck_assert_int_eq(blm_options_parse(kind, NULL, shape.args), 0);
		ck_assert_msg(kind->plan(&shape, &p) == 0 && kind->valid(&shape),
			      "fold_bits is %u, so plan() and valid() must take %u blocks: m=%llu: "
			      "%s", kind->fold_bits, blocks, (unsigned long long)p.cells,
			      blm_error_message());
	}
}
END_TEST

START_TEST(only_divisors_of_the_blocks_can_fold)
{
	struct blm_filter *f = create(BLM_PARAMS(.kind = kind_of(_i)->name,
						 .cells = kind_of(_i)->fold_bits * 12,
						 .capacity = 5)),
			  *folded = NULL;
	static const uint64_t none[] = { 0, 5, 7, 24, 1 << 20, UINT64_MAX };

	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		ck_assert_int_eq(blm_fold(&folded, NULL, a_path(), f, none[i], 0), -EINVAL);
	ck_assert_int_eq(blm_fold(&folded, NULL, f->place.display, f, 2, 0), -EEXIST);
	ck_assert_ptr_null(folded);
	ck_assert_int_eq(blm_fold(&folded, NULL, a_path(), f, 12, 0600), 0);
	ck_assert_uint_eq(info(folded).capacity, 1);	/* never none */
	blm_close(f), blm_close(folded);
}
END_TEST

/* ---- The laws ---- */

static void add_laws(TCase *tc, int i)
{
	LAW(a_template_is_empty_and_combines, BLM_CAN_ADD, 0);
	LAW(a_copy_answers_the_same_under_another_uuid, BLM_CAN_ADD, BLM_FORGETS);
	LAW(a_union_equals_the_filter_of_all_keys,
	    BLM_CAN_ADD | BLM_CAN_UNION | BLM_CAN_ESTIMATE, BLM_CAN_REMOVE);
	LAW(the_intersection_holds_every_common_key, BLM_CAN_ADD | BLM_CAN_INTERSECT, BLM_FORGETS);
	LAW(an_intersection_in_place_is_seen_by_handles_opened_before,
	    BLM_CAN_ADD | BLM_CAN_INTERSECT, 0);
	LAW(a_result_above_the_highest_rate_is_refused_unchanged,
	    BLM_CAN_ADD | BLM_CAN_UNION, BLM_EXACT);
	LAW(a_filter_of_ones_answers_yes_and_is_saturated,
	    BLM_CAN_ADD | BLM_CAN_ESTIMATE, BLM_EXACT | BLM_FORGETS);
	LAW(an_empty_filter_is_estimated_empty, BLM_CAN_ESTIMATE, 0);
	LAW(estimates_lie_within_4_standard_errors_over_40_seeds,
	    BLM_CAN_ADD | BLM_CAN_ESTIMATE, BLM_EXACT | BLM_CAN_ROTATE);
	LAW(the_estimated_overlap_is_right_within_4_standard_errors,
	    BLM_CAN_ADD | BLM_CAN_ESTIMATE, BLM_CAN_ROTATE);
	LAW(a_union_equals_the_filter_of_all_values, BLM_CAN_PUT | BLM_CAN_UNION,
	    BLM_CAN_ADVANCE);
}

/* Those that look at the family itself. */
static void add_laws_of_families(TCase *tc, int i)
{
	LAW(filters_that_differ_do_not_combine_and_name_the_field,
	    BLM_CAN_ADD | BLM_CAN_UNION | BLM_CAN_INTERSECT | BLM_CAN_ESTIMATE, 0);
	LAW(filters_of_different_kinds_do_not_combine_and_are_named, BLM_CAN_UNION, 0);
	if (kind_of(i)->place)
		LAW(a_key_with_a_place_changes_that_places_line, BLM_CAN_ADD, 0);
	if (kind_of(i)->add_within)
		LAW(cells_added_by_ranges_equal_those_of_an_add, BLM_CAN_ADD, 0);
	LAW(a_folded_filter_equals_a_small_one_of_its_keys,
	    BLM_CAN_ADD | BLM_CAN_FOLD, 0);
	LAW(a_folded_filter_of_few_keys_equals_the_small_one, BLM_CAN_ADD | BLM_CAN_FOLD, 0);
	LAW(a_kind_that_folds_takes_every_number_of_blocks, BLM_CAN_FOLD, 0);
	LAW(only_divisors_of_the_blocks_can_fold, BLM_CAN_FOLD, 0);
	if (kind_of(i)->every_family)
		tcase_add_loop_test(tc,
				    filters_of_different_tweaks_do_not_combine_and_are_named,
				    i, i + 1);
}

int main(void)
{
	Suite *s = (prefer_memory(), begin_suite("kind: algebra"));

	add_all_laws(s, add_laws, add_laws_of_families);
	return run_suite(s);
}
