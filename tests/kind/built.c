/*
 * built.c - what holds for every kind that is built from all its keys at once
 *
 * As in laws.c: each law runs once for each such kind, those with values included.
 */
#include "handle/handle.h"
#include "suite.h"

#include <math.h>
#include <sys/mman.h>

enum { N = 20000 };

static const struct blm_kind *kind_of(int i)
{
	return blm_kind_at((size_t)i);
}

static bool has_values(const struct blm_kind *kind)
{
	return kind->get != NULL;
}

/* ---- Filters and keys ---- */

/* Key i is the number i, 8 bytes; its value fits the narrowest that a kind has usually. */
static uint64_t value_of(uint64_t i)
{
	return mixed(i) & 0xff;
}

struct built {
	uint64_t from, to, memory, seed;
	double rate;
	const char *hash;
	bool backwards, twice;
	unsigned threads;
};

static void add(struct blm_build *b, const struct blm_kind *kind, uint64_t from, uint64_t to,
		bool backwards)
{
	enum { SOME = 700 };

	for (uint64_t at = 0; at < to - from; at += SOME) {
		uint64_t numbers[SOME], values[SOME];
		struct blm_key keys[SOME];
		size_t count = to - from - at < SOME ? (size_t)(to - from - at) : SOME;

		for (size_t i = 0; i < count; i++) {
			numbers[i] = backwards ? to - 1 - at - i : from + at + i;
			keys[i] = (struct blm_key){ &numbers[i], 8 };
			values[i] = value_of(numbers[i]);
		}
		OK(has_values(kind) ? blm_build_put_many(b, keys, values, count)
				    : blm_build_add_many(b, keys, count));
	}
}

struct worker {
	pthread_t id;
	struct blm_build *b;
	const struct blm_kind *kind;
	uint64_t from, to;
	bool backwards;
};

static void *work(void *context)
{
	const struct worker *w = context;

	add(w->b, w->kind, w->from, w->to, w->backwards);
	return NULL;
}

static void add_together(struct blm_build *b, const struct blm_kind *kind, const struct built *how)
{
	struct worker w[4];

	for (unsigned t = 0; t < how->threads; t++) {
		w[t] = (struct worker){
			.b = b,
			.kind = kind,
			.backwards = how->backwards,
			.from = how->from + (how->to - how->from) * t / how->threads,
			.to = how->from + (how->to - how->from) * (t + 1) / how->threads
		};
		ck_assert_int_eq(pthread_create(&w[t].id, NULL, work, &w[t]), 0);
	}
	for (unsigned t = 0; t < how->threads; t++)
		pthread_join(w[t].id, NULL);
}

static struct blm_params params_of(const struct blm_kind *kind, const struct built *how)
{
	struct blm_params p = BLM_PARAMS(.kind = kind->name, .rate = how->rate, .hash = how->hash);
	static uint64_t seeds[BLM_SEEDS_MAX];

	for (int i = 0; i < BLM_SEEDS_MAX; i++)
		seeds[i] = how->seed + (uint64_t)i;
	p.seeds = seeds;
	p.seed_count = family_seeds(blm_family_by_name(how->hash      ? how->hash
						       : kind->family ? kind->family
								      : BLM_DEFAULT_HASH),
				    1);
	return p;
}

static struct blm_filter *build(const struct blm_kind *kind, struct built how)
{
	struct blm_params p = params_of(kind, &how);
	struct blm_filter *f;
	struct blm_build *b;

	OK(blm_build_begin(&b, NULL, a_path(), &p,
			   &(struct blm_build_options){ .memory_bytes = how.memory,
							.threads = how.threads }));
	if (how.threads > 1)
		add_together(b, kind, &how);
	else
		add(b, kind, how.from, how.to, how.backwards);
	if (how.twice)
		add(b, kind, how.from, how.to, how.backwards);
	OK(blm_build_finish(b, &f));
	return f;
}

static uint64_t found(const struct blm_filter *f, uint64_t from, uint64_t to)
{
	uint64_t yes = 0;

	for (uint64_t at = from; at < to; at += 1000) {
		uint64_t numbers[1000];
		size_t count = to - at < 1000 ? (size_t)(to - at) : 1000;

		for (size_t i = 0; i < count; i++)
			numbers[i] = at + i;
		yes += (uint64_t)blm_contains_fixed(f, numbers, 8, count, NULL);
	}
	return yes;
}

static void same_data(const struct blm_filter *a, const struct blm_filter *b)
{
	const struct blm_part *x = &current_view(a)->part[0], *y = &current_view(b)->part[0];

	ck_assert_uint_eq(x->shape.bytes, y->shape.bytes);
	ck_assert(!memcmp(x->bytes, y->bytes, x->shape.bytes));
}

static struct blm_info info(const struct blm_filter *f)
{
	struct blm_info i = BLM_INFO;

	OK(blm_info(f, &i));
	return i;
}

/* ---- Answers ---- */

static const uint64_t sizes[] = { 0, 1, 2, 3, 7, 31, 32, 33, 64, 100, 1000, N };

START_TEST(every_built_key_is_found_and_counted_once)
{
	for (size_t s = 0; s < ARRAY_LEN(sizes); s++)
		for (int twice = 0; twice < 2; twice++) {
			struct blm_filter *f =
				build(kind_of(_i),
				      (struct built){ .to = sizes[s], .seed = s, .twice = twice });

			ck_assert_uint_eq(found(f, 0, sizes[s]), sizes[s]);
			for (uint64_t i = 0; i < sizes[s]; i++)
				ck_assert(blm_contains(f, &i, 8));
			ck_assert_uint_eq(info(f).keys, sizes[s]);
			ck_assert_uint_eq(info(f).capacity, sizes[s] ? sizes[s] : 1);
			blm_close(f);
		}
}
END_TEST

START_TEST(the_false_positive_rate_is_as_planned)
{
	static const double rates[] = { 0.3, 0.01, 1.0 / 1024, 1e-5 };
	const double asked = 400000 * test_scale();

	for (size_t r = 0; r < ARRAY_LEN(rates) && !has_values(kind_of(_i)); r++) {
		double wrong = 0, seeds = test_scale() < 1 ? 2 : 5, error;

		for (uint64_t seed = 1; seed <= seeds; seed++) {
			struct blm_filter *f =
				build(kind_of(_i),
				      (struct built){ .to = N, .seed = seed, .rate = rates[r] });

			wrong += (double)found(f, N, N + (uint64_t)asked);
			ck_assert(info(f).rate_at_capacity <= rates[r] * 1.000001);
			blm_close(f);
		}
		error = sqrt(rates[r] * asked * seeds);
		ck_assert_msg(wrong <= rates[r] * asked * seeds + 4 * error, "%s: %g of %g, not %g",
			      kind_of(_i)->name, wrong, asked * seeds, rates[r]);
	}
}
END_TEST

START_TEST(asking_for_many_is_asking_for_each)
{
	struct blm_filter *f = build(kind_of(_i),
				     (struct built){ .to = N, .seed = 3, .rate = 0.2 });
	static const size_t counts[] = { 0, 1, 2, 63, 64, 65, 255, 256, 257, 513, 1000 };

	for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
		uint64_t numbers[1000], bits[17];
		struct blm_key keys[1000];

		memset(bits, 0x5a, sizeof(bits));
		for (size_t i = 0; i < counts[c]; i++) {
			numbers[i] = N - 100 + i;
			keys[i] = (struct blm_key){ &numbers[i], 8 };
		}
		blm_contains_many(f, keys, counts[c], bits);
		for (size_t i = 0; i < counts[c]; i++)
			ck_assert_int_eq(bits[i / 64] >> i % 64 & 1,
					 blm_contains(f, &numbers[i], 8));
		ck_assert_uint_eq(bits[(counts[c] + 63) / 64], UINT64_C(0x5a5a5a5a5a5a5a5a));
	}
	blm_close(f);
}
END_TEST

START_TEST(every_hash_family_that_it_accepts_works)
{
	unsigned served = 0;

	for (size_t i = 0; blm_family_at(i); i++) {
		struct blm_params p = BLM_PARAMS(.kind = kind_of(_i)->name,
						 .hash = blm_family_at(i)->name);
		struct blm_filter *f;
		struct blm_build *b;

		if (!kind_takes(kind_of(_i), blm_family_at(i))) {
			FAILS(blm_build_begin(&b, NULL, a_path(), &p, NULL), -EOPNOTSUPP);
			continue;
		}
		served++;
		/* its keys are text: kind/range.c; or have a column: kind/columns.c */
		if (blm_family_at(i)->column)
			continue;
		if (blm_family_at(i)->ordered
		    && strcmp(blm_family_at(i)->name, kind_of(_i)->family))
			continue;
		if (is_too_alike((int)i + _i, 5))
			continue;
		if (!SANITIZED && test_scale() < 1 && (i + (size_t)_i) % 8)
			continue;
		f = build(kind_of(_i),
			  (struct built){ .to = N, .hash = blm_family_at(i)->name, .seed = 8 });
		ck_assert_uint_eq(found(f, 0, N), N);
		ck_assert_uint_le(found(f, N, 11 * N), 10 * N / 70);
		blm_close(f);
	}
	ck_assert_uint_ge(served, 2);
}
END_TEST

/* ---- The same data ---- */

START_TEST(equal_keys_and_seeds_give_equal_data_in_any_order)
{
	struct blm_filter *first = build(kind_of(_i), (struct built){ .to = N, .seed = 9 });
	static const struct built ways[] = {
		{ .to = N, .seed = 9, .backwards = true },
		{ .to = N, .seed = 9, .memory = 64 << 10 },
		{ .to = N, .seed = 9, .threads = 4, .twice = true },
		{ .to = N, .seed = 9, .threads = 3, .memory = 200000, .backwards = true },
	};

	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		struct blm_filter *f = build(kind_of(_i), ways[w]);

		same_data(f, first);
		blm_close(f);
	}
	blm_close(first);
}
END_TEST

START_TEST(copies_and_imported_exports_have_the_same_constant_data)
{
	struct blm_filter *f = build(kind_of(_i), (struct built){ .to = N, .seed = 10 }), *copy,
			  *back;
	void *bytes;
	size_t len;

	OK(blm_copy(&copy, NULL, a_path(), f, 0));
	OK(blm_export_bytes(f, &BLM_EXCHANGE(.base64 = true), &bytes, &len));
	OK(blm_import_bytes(&back, NULL, a_path(), &BLM_EXCHANGE(.base64 = true), bytes, len));
	blm_free(bytes);
	same_data(f, copy);
	same_data(f, back);
	ck_assert(info(f).sealed && info(copy).sealed && info(back).sealed);
	ck_assert_uint_eq(info(back).keys, N);
	ck_assert_int_eq(blm_same_template(f, back), 0);
	ck_assert_int_eq(blm_verify(NULL, copy->place.display, 0, NULL, NULL), 0);
	ck_assert_int_eq(blm_verify(NULL, back->place.display, 0, NULL, NULL), 0);
	blm_close(f), blm_close(copy), blm_close(back);
}
END_TEST

/* ---- It does not change ---- */

START_TEST(it_refuses_later_keys_and_names_kinds_that_accept)
{
	struct blm_filter *f = build(kind_of(_i), (struct built){ .to = 10, .seed = 11 }), *none;
	const struct blm_filter *other = f;
	struct blm_params p = BLM_PARAMS(.kind = kind_of(_i)->name, .capacity = 10);

	FAILS(blm_add(f, "a", 1), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), BLM_DEFAULT_KIND));
	FAILS(blm_claim(f, "a", 1), -EOPNOTSUPP);
	FAILS(blm_remove(f, "a", 1), -EOPNOTSUPP);
	FAILS(blm_put(f, "a", 1, 1), -EOPNOTSUPP);
	FAILS(blm_clear(f), -EOPNOTSUPP);
	FAILS(blm_combine_into(f, BLM_UNION, &other, 1, 0, NULL), -EOPNOTSUPP);
	FAILS(blm_template(&none, NULL, a_path(), f, 0), -EOPNOTSUPP);
	FAILS(blm_create(&none, NULL, a_path(), &p), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "build"));
	ck_assert_uint_eq(found(f, 0, 10), 10);
	blm_close(f);
}
END_TEST

START_TEST(it_replaces_another_file_in_one_step)
{
	struct blm_filter *old = build(kind_of(_i), (struct built){ .to = 100, .seed = 12 });
	struct blm_params p = params_of(kind_of(_i), &(struct built){ .seed = 13 });
	struct blm_build *b;

	FAILS(blm_build_begin(&b, NULL, old->place.name, &p, NULL), -EEXIST);
	p.replace = true;
	OK(blm_build_begin(&b, NULL, old->place.name, &p, NULL));
	add(b, kind_of(_i), 1000, 2000, false);
	ck_assert_uint_eq(found(old, 0, 100), 100);
	OK(blm_build_finish(b, NULL));
	ck_assert_uint_eq(found(old, 1000, 2000), 1000);
	ck_assert_uint_lt(found(old, 0, 100), 50);
	blm_close(old);
}
END_TEST

/* ---- Values ---- */

START_TEST(every_key_has_the_value_that_it_was_built_with)
{
	struct blm_filter *f = build(kind_of(_i), (struct built){ .to = N, .seed = 14 });

	for (uint64_t i = 0; i < N; i++) {
		uint64_t value = ~value_of(i);

		ck_assert_int_eq(blm_get(f, &i, 8, &value), 1);
		ck_assert_uint_eq(value, value_of(i));
	}
	blm_close(f);
}
END_TEST

START_TEST(a_key_with_two_values_is_refused_without_a_file)
{
	struct blm_params p = params_of(kind_of(_i), &(struct built){ .seed = 15 });
	const struct blm_key keys[] = { { "a", 1 }, { "b", 1 }, { "a", 1 } };
	const char *path = a_path();
	struct blm_build *b;

	OK(blm_build_begin(&b, NULL, path, &p, NULL));
	FAILS(blm_build_add_many(b, keys, 1), -EINVAL);
	OK(blm_build_put_many(b, keys, (const uint64_t[]){ 1, 2, 3 }, 3));
	FAILS(blm_build_finish(b, NULL), -ENOTUNIQ);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(a_kind_without_values_refuses_values)
{
	struct blm_params p = params_of(kind_of(_i), &(struct built){ .seed = 15 });
	const struct blm_key key = { "a", 1 };
	struct blm_build *b;

	OK(blm_build_begin(&b, NULL, a_path(), &p, NULL));
	FAILS(blm_build_put_many(b, &key, (const uint64_t[]){ 1 }, 1), -EOPNOTSUPP);
	blm_build_cancel(b);
}
END_TEST

/* ---- Damage ---- */

static void count_findings(void *context, const struct blm_finding *found)
{
	++*(int *)context;
}

START_TEST(every_bit_that_changes_is_found)
{
	struct blm_filter *f = build(kind_of(_i), (struct built){ .to = N, .seed = 16 });
	struct blm_part *part = &current_view(f)->part[0];
	uint64_t state = 1;

	for (int round = 0; round < 20; round++) {
		uint64_t at = next_random(&state) % part->shape.bytes;
		int findings = 0;

		part->bytes[at] ^= (uint8_t)(1 << round % 8);
		ck_assert_int_eq(blm_verify(NULL, f->place.display, 0, count_findings, &findings),
				 1);
		ck_assert_int_eq(findings, 1);
		part->bytes[at] ^= (uint8_t)(1 << round % 8);
	}
	ck_assert_int_eq(blm_verify(NULL, f->place.display, 0, count_findings, &(int){ 0 }), 0);
	blm_close(f);
}
END_TEST

/* Data with an inaccessible page after them and one before. */
START_TEST(damaged_data_never_causes_reads_outside_it)
{
	static const uint64_t few[] = { 0, 1, 40, 3000 };

	for (size_t s = 0; s < ARRAY_LEN(few); s++) {
		struct blm_filter *f = build(kind_of(_i),
					     (struct built){ .to = few[s], .seed = 17 });
		struct blm_part *part = &current_view(f)->root;
		size_t bytes = part->shape.bytes, rounded = round_up(bytes, 4096);
		uint8_t *map = mmap(NULL, rounded + 8192, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			*good = part->bytes;
		uint8_t *at = map + 4096 + rounded - bytes;
		uint64_t state = s;

		ck_assert_int_eq(mprotect(map + 4096, rounded, PROT_READ | PROT_WRITE), 0);
		part->bytes = at;
		for (int round = 0; round < (int)(2000 * test_scale()); round++) {
			size_t most = round % 2 ? 64 : bytes;

			memcpy(at, good, bytes);
			for (uint64_t i = next_random(&state) % 8; i-- > 0;)
				at[next_random(&state) % most] = (uint8_t)next_random(&state);
			if (round % 5 == 0)	/* words that are one bit, or all */
				memcpy(at + 8 * (next_random(&state) % (most / 8)),
				       &(uint64_t){ round % 2 ? UINT64_MAX
							      : UINT64_C(1) << next_random(&state)
										       % 64 },
				       8);
			found(f, 0, 300);
			for (uint64_t i = 0; i < 50; i++) {
				uint64_t value;

				blm_contains(f, &i, 8);
				if (has_values(kind_of(_i)))
					blm_get(f, &i, 8, &value);
			}
			for (uint64_t i = 0; i < 50 && part->kind->contains_ranges; i++) {
				uint64_t wide[2] = { next_random(&state) >> i, UINT64_MAX };

				blm_contains_range(f, &wide[0], 8, &wide[i % 2], 8);
			}
			for (unsigned i = 0; part->kind->describe && i < 10; i++)
				part->kind->describe(part, i, &(struct blm_fact){ 0 });
		}
		part->bytes = good;
		munmap(map, rounded + 8192);
		blm_close(f);
	}
}
END_TEST

/* Run a law for kind i if that can do all of `needs` and none of `never`. */
#define LAW(test, needs, never) \
	if ((blm_kind_can(kind_of(i)) & ((needs) | (never))) == (needs)) \
		tcase_add_loop_test(tc, test, i, i + 1)

/* The laws of each kind are a case, which has its name. */
int main(void)
{
	Suite *s = begin_suite("built");

	for (int i = 0; kind_of(i); i++) {
		TCase *tc = tcase_create(kind_of(i)->name);

		LAW(every_built_key_is_found_and_counted_once,
		    BLM_CAN_BUILD, 0);
		LAW(the_false_positive_rate_is_as_planned, BLM_CAN_BUILD, 0);
		LAW(asking_for_many_is_asking_for_each, BLM_CAN_BUILD, 0);
		LAW(every_hash_family_that_it_accepts_works, BLM_CAN_BUILD, 0);
		LAW(equal_keys_and_seeds_give_equal_data_in_any_order, BLM_CAN_BUILD, 0);
		LAW(copies_and_imported_exports_have_the_same_constant_data,
		    BLM_CAN_BUILD, 0);
		LAW(it_refuses_later_keys_and_names_kinds_that_accept, BLM_CAN_BUILD, 0);
		LAW(it_replaces_another_file_in_one_step, BLM_CAN_BUILD, 0);
		LAW(every_key_has_the_value_that_it_was_built_with, BLM_CAN_BUILD | BLM_CAN_GET, 0);
		LAW(a_key_with_two_values_is_refused_without_a_file,
		    BLM_CAN_BUILD | BLM_CAN_GET, 0);
		LAW(a_kind_without_values_refuses_values, BLM_CAN_BUILD, BLM_CAN_GET);
		LAW(every_bit_that_changes_is_found, BLM_CAN_BUILD, 0);
		LAW(damaged_data_never_causes_reads_outside_it, BLM_CAN_BUILD, 0);
		suite_add_tcase(s, tc);
	}
	return run_suite(s);
}
