/*
 * shapes.c - the numbers of a filter: what each kind makes of any that are asked for, and which it
 * takes from a file
 *
 * Each sentence is asked of each kind, so a new kind is under test the moment its name is in
 * lib/kind/meson.build.
 */
#include "handle/handle.h"
#include "kind/common/options.h"
#include "suite.h"

#include <math.h>

static const struct blm_kind *kind_of(int i)
{
	return blm_kind_at((size_t)i);
}

/* ---- All that can be asked for ---- */

static const uint64_t cells[] = {
	0, 1, 64, 1000, 1 << 20, 3 << 18, UINT64_C(1) << 36, BLM_CELLS_MAX - 64, BLM_CELLS_MAX
};
static const uint64_t capacities[] = { 0, 1, 1000, UINT64_C(1) << 35, BLM_CAPACITY_MAX };
static const uint32_t probes[] = { 0, 1, 2, 8, BLM_PROBES_MAX };
static const double rates[] = { 0, 1e-300, 1e-30, 0.001, 0.4, 0.9999999 };

/*
 * The i-th choice of options: the usual ones, then the least and the most of each; false: there are
 * no more.
 */
static bool options_at(const struct blm_kind *kind, int i, uint64_t args[BLM_KIND_ARGS])
{
	char text[100];
	const struct blm_option *o;
	struct blm_option_info info;
	double value;

	if (i == 0) {
		OK(blm_options_parse(kind, NULL, args));
		return true;
	}
	if (blm_option_list(kind->name, (size_t)(i - 1) / 2, &info) < 0)
		return false;
	o = &kind->options[(i - 1) / 2];
	value = i % 2 ? o->least : o->most;
	if (o->form == BLM_OPTION_NAME)
		snprintf(text, sizeof(text), "%s=%s", o->name, o->names[(int)value]);
	else
		snprintf(text, sizeof(text), "%s=%.17g", o->name, value);
	OK(blm_options_parse(kind, text, args));
	return true;
}

/* Calls ask() with each shape that the kind makes of these; returns how many. */
static unsigned each_shape(const struct blm_kind *kind,
			   void (*ask)(const struct blm_kind *, const struct blm_shape *))
{
	/* divides none of the lengths */
	const unsigned step = SANITIZED || test_scale() < 1 ? 17 : 1;
	struct blm_shape s = { 0 };
	unsigned count = 0;

	for (int o = 0; options_at(kind, o, s.args); o++)
		for (unsigned i = 0; i < ARRAY_LEN(cells) * ARRAY_LEN(probes) * ARRAY_LEN(rates)
						 * ARRAY_LEN(capacities);
		     i += step) {
			struct blm_params p = BLM_PARAMS(
					.cells = cells[i % ARRAY_LEN(cells)],
					.probes = probes[i / ARRAY_LEN(cells) % ARRAY_LEN(probes)],
					.rate = rates[i / ARRAY_LEN(cells) / ARRAY_LEN(probes)
						      % ARRAY_LEN(rates)],
					.capacity =
						capacities[i / ARRAY_LEN(cells) / ARRAY_LEN(probes)
							   / ARRAY_LEN(rates)], );
			struct blm_shape made = s;
			int r;

			if ((!p.cells && !p.capacity) || (p.cells && o))
				continue;
			r = kind->plan(&made, &p);
			if (r < 0) {
				ck_assert_msg(r == -EINVAL || r == -EFBIG || r == -EOPNOTSUPP,
					      "%s: %d, %s", kind->name, r, blm_error_message());
				ck_assert_msg(*blm_error_message() != '\0', "%s: no words",
					      kind->name);
				continue;
			}
			count++;
			ask(kind, &made);
		}
	return count;
}

static void is_taken_from_a_file(const struct blm_kind *kind, const struct blm_shape *s)
{
	ck_assert_msg(kind->valid(s),
		      "%s: cells %llu, probes %u of %u bits, bytes %llu, capacity %llu, rate %g",
		      kind->name, (unsigned long long)s->cells, s->probes, s->cell_bits,
		      (unsigned long long)s->bytes, (unsigned long long)s->capacity, s->rate);
	ck_assert_msg(blm_options_valid(kind, s->args), "%s", kind->name);
}

START_TEST(a_kinds_plan_is_valid_in_a_file_or_refused)
{
	ck_assert_uint_gt(each_shape(kind_of(_i), is_taken_from_a_file), 0);
}
END_TEST

static void rises_with_the_keys(const struct blm_kind *kind, const struct blm_shape *s)
{
	const uint64_t keys[] = { 0, 1, s->capacity, UINT64_C(1) << 50 };
	double before = 0;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		double rate = kind->rate_at(s, keys[i]);

		if (i && keys[i] < keys[i - 1])
			continue;
		ck_assert_msg(rate >= before * (1 - 1e-6) && rate <= 1,
			      "%s: %g after %g, with %llu keys in %llu cells for %llu, %u probes "
			      "of %u bits",
			      kind->name, rate, before, (unsigned long long)keys[i],
			      (unsigned long long)s->cells, (unsigned long long)s->capacity,
			      s->probes, s->cell_bits);
		before = rate;
	}
}

START_TEST(the_rate_is_a_probability_that_rises_with_the_keys)
{
	each_shape(kind_of(_i), rises_with_the_keys);
}
END_TEST

static void has_such_parts(const struct blm_kind *kind, const struct blm_shape *s)
{
	struct blm_component part;
	unsigned count = 0;

	while (count < 3 * BLM_PARTS_MAX && kind->compose(s, count, &part)) {
		ck_assert_msg(part.kind->valid(&part.shape), "%s: part %u", kind->name, count);
		count++;
	}
	ck_assert_msg(count >= kind->parts(s), "%s: %u of %u parts", kind->name, count,
		      kind->parts(s));
}

START_TEST(a_filters_parts_are_valid_for_their_own_kinds)
{
	if (kind_of(_i)->compose)
		each_shape(kind_of(_i), has_such_parts);
}
END_TEST

static void doubles(const struct blm_kind *kind, const struct blm_shape *s)
{
	struct blm_shape now = *s, next;

	for (int times = 0; kind->grown(&next, &now) == 0; times++) {
		ck_assert_int_lt(times, 64);
		ck_assert_uint_eq(next.capacity, 2 * now.capacity);
		is_taken_from_a_file(kind, &next);
		now = next;
	}
	ck_assert_str_ne(blm_error_message(), "");
}

START_TEST(a_filter_that_doubles_does_so_until_it_refuses)
{
	if (kind_of(_i)->grown)
		each_shape(kind_of(_i), doubles);
}
END_TEST

static void tells_some_facts(const struct blm_kind *kind, const struct blm_shape *s)
{
	struct blm_fact fact;
	unsigned i = 0;

	for (; kind->foretell(s, i, &fact); i++) {
		ck_assert_msg(i < 100, "%s", kind->name);
		ck_assert_ptr_nonnull(fact.name);
	}
	ck_assert(!kind->foretell(s, i + 1, &fact));
}

START_TEST(predictions_for_any_filter_are_finite)
{
	if (kind_of(_i)->foretell)
		each_shape(kind_of(_i), tells_some_facts);
}
END_TEST

/* ---- What is refused ---- */

START_TEST(numbers_that_no_plan_makes_are_refused_in_a_file)
{
	const struct blm_kind *kind = kind_of(_i);
	struct blm_shape good = { 0 };

	OK(blm_options_parse(kind, NULL, good.args));
	OK(kind->plan(&good, &BLM_PARAMS(.capacity = 10000, .rate = 0.01)));
	ck_assert(kind->valid(&good));
#define IS_NONE(change) \
	do { \
		struct blm_shape s = good; \
		change; \
		ck_assert_msg(!kind->valid(&s), "%s: %s", kind->name, #change); \
	} while (0)
	IS_NONE(s.cells = 0);
	IS_NONE(s.cells = UINT64_MAX);
	IS_NONE(s.cells = UINT64_MAX / 512 * 512 - 511);
	IS_NONE(s.probes = 0);
	IS_NONE(s.probes = BLM_PROBES_MAX + 1);
	IS_NONE(s.probes = UINT32_MAX);
	IS_NONE(s.cell_bits = 0);
	IS_NONE(s.cell_bits = 65);
	IS_NONE(s.cell_bits = UINT32_MAX);
	if (!kind->compose && !kind->fit) {
		IS_NONE(s.bytes += 64);
		IS_NONE(s.bytes = 0);
		IS_NONE(s.bytes = UINT64_MAX / 64 * 64);
	}
#undef IS_NONE
}
END_TEST

/* All that can be asked of a shape that is taken from a file; else nothing may be. */
static void try_as_if_from_a_file(const struct blm_kind *kind, const struct blm_shape *s)
{
	bool taken = kind->valid(s);	/* it copes with any options */
	double rate;

	if (!blm_options_valid(kind, s->args) || !taken)
		return;
	rate = kind->rate_at(s, 1000);
	ck_assert_msg(rate >= 0 && rate <= 1,
		      "%s: %g, cells %llu, probes %u of %u bits, bytes %llu", kind->name, rate,
		      (unsigned long long)s->cells, s->probes, s->cell_bits,
		      (unsigned long long)s->bytes);
}

/* Calls it with shapes in which one number is another. */
static void with_another(const struct blm_kind *kind, struct blm_shape *s, uint64_t *number)
{
	const uint64_t was = *number, others[] = { 0,
						   1,
						   was - 1,
						   was + 1,
						   was + 64,
						   was / 2,
						   2 * was,
						   was + 512,
						   3,
						   7,
						   62,
						   63,
						   64,
						   65,
						   513,
						   UINT16_MAX,
						   UINT32_MAX,
						   UINT64_C(1) << 46,
						   UINT64_C(1) << 47,
						   UINT64_C(1) << 48,
						   UINT64_MAX / 512 * 512,
						   UINT64_MAX };

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		*number = others[i];
		try_as_if_from_a_file(kind, s);
	}
	*number = was;
}

START_TEST(all_numbers_accepted_from_a_file_have_a_rate)
{
	const struct blm_kind *kind = kind_of(_i);
	struct blm_shape s = { 0 };

	for (int o = 0; options_at(kind, o, s.args); o++) {
		struct blm_shape made = s;
		uint64_t number;

		if (kind->plan(&made, &BLM_PARAMS(.capacity = 10000, .rate = 0.01)) < 0)
			continue;
		try_as_if_from_a_file(kind, &made);
		with_another(kind, &made, &made.cells);
		with_another(kind, &made, &made.bytes);
		for (int i = 0; i < BLM_KIND_ARGS; i++)
			with_another(kind, &made, &made.args[i]);
		for (number = 0; number <= 2 * BLM_PROBES_MAX;
		     number += (SANITIZED || test_scale() < 1) && number > 66 ? 27 : 1) {
			struct blm_shape other = made;

			other.probes = (uint32_t)number;
			try_as_if_from_a_file(kind, &other);
			other = made;
			other.cell_bits = (uint32_t)number;
			try_as_if_from_a_file(kind, &other);
			with_another(kind, &other, &other.bytes);
		}
	}
}
END_TEST

START_TEST(options_out_of_range_are_refused_in_a_file)
{
	const struct blm_kind *kind = kind_of(_i);

	for (int i = 0; kind->options && kind->options[i].name; i++) {
		struct blm_shape s = { 0 };

		OK(blm_options_parse(kind, NULL, s.args));
		OK(kind->plan(&s, &BLM_PARAMS(.capacity = 10000, .rate = 0.01)));
		s.args[i] = UINT64_MAX;
		ck_assert_msg(!blm_options_valid(kind, s.args), "%s: %s", kind->name,
			      kind->options[i].name);
	}
}
END_TEST

/* ---- Where a question looks ---- */

static struct blm_filter *filter_of(const struct blm_kind *kind, uint32_t count)
{
	const struct blm_params params = BLM_PARAMS(.kind = kind->name,
						    .capacity = kind->exact ? 4000 : count,
						    .rate = 0.01);
	struct blm_build *b;
	struct blm_filter *f;

	if (kind->put)
		OK(blm_create(&f, NULL, NULL, &params));
	else
		OK(blm_build_begin(&b, NULL, NULL, &params, NULL));
	for (uint32_t i = 0; i < count; i++) {
		char text[16];
		struct blm_key key = { text, (size_t)snprintf(text, sizeof(text), "%u", i) };

		if (kind->put)
			OK(blm_put(f, key.bytes, key.len, 1));
		else if (kind->get && !kind->add)
			OK(blm_build_put_many(b, &key, &(uint64_t){ 0 }, 1));
		else
			OK(blm_build_add_many(b, &key, 1));
	}
	if (!kind->put)
		OK(blm_build_finish(b, &f));
	return f;
}

static void look_where_it_looks(const struct blm_part *part, const struct blm_hashed *key)
{
	const uint8_t *end = part->bytes + part->shape.bytes;
	bool in = part->kind->contains(part, key), all = true;
	uint64_t mask = 0;
	unsigned n = 0;

	for (const uint64_t *at; (at = part->kind->probe(part, key, n, &mask)); n++) {
		ck_assert_msg((const uint8_t *)at >= part->bytes
				      && (const uint8_t *)(at + 1) <= end,
			      "%s: place %u", part->kind->name, n);
		ck_assert_uint_lt(n, 2 * BLM_PROBES_MAX);
		all &= (*at & mask) == mask;
	}
	ck_assert_msg(all || !in, "%s: holds a key of which it misses bits", part->kind->name);
	if (part->kind->prefetch)
		part->kind->prefetch(part, key);
}

START_TEST(the_probed_places_are_in_the_data_and_have_bits)
{
	const struct blm_kind *kind = kind_of(_i);
	struct blm_filter *f;
	const struct blm_view *view;

	if (!kind->probe || kind->exact)
		return;
	f = filter_of(kind, 3000);
	view = current_view(f);
	for (uint32_t i = 0; i < 6000; i++) {
		char text[16];
		struct blm_key key = { text, (size_t)snprintf(text, sizeof(text), "%u", i) };
		struct blm_hashed hashed = { .key = &key, .by = &view->hasher };

		OK(blm_hash_many(f, &key, 1, &hashed.hash));
		look_where_it_looks(&view->part[0], &hashed);
	}
	blm_close(f);
}
END_TEST

/* Each kind is a case, which has its name. */
int main(void)
{
	Suite *suite = begin_suite("kind");

	for (int i = 0; kind_of(i); i++) {
		TCase *tc = tcase_create(kind_of(i)->name);

		tcase_add_loop_test(tc,
				    a_kinds_plan_is_valid_in_a_file_or_refused,
				    i, i + 1);
		tcase_add_loop_test(tc,
				    the_rate_is_a_probability_that_rises_with_the_keys,
				    i, i + 1);
		tcase_add_loop_test(
			tc, a_filters_parts_are_valid_for_their_own_kinds, i,
			i + 1);
		tcase_add_loop_test(tc, a_filter_that_doubles_does_so_until_it_refuses,
				    i, i + 1);
		tcase_add_loop_test(tc, predictions_for_any_filter_are_finite, i, i + 1);
		tcase_add_loop_test(tc, numbers_that_no_plan_makes_are_refused_in_a_file, i,
				    i + 1);
		tcase_add_loop_test(tc, all_numbers_accepted_from_a_file_have_a_rate, i,
				    i + 1);
		tcase_add_loop_test(tc, options_out_of_range_are_refused_in_a_file, i,
				    i + 1);
		tcase_add_loop_test(
			tc,
			the_probed_places_are_in_the_data_and_have_bits, i,
			i + 1);
		suite_add_tcase(suite, tc);
	}
	return run_suite(suite);
}
