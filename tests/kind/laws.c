/*
 * laws.c - what holds for every kind that can do a thing
 *
 * Each law runs once for each kind that has the named abilities, so a new kind is under test the moment its name is in
 * lib/kind/meson.build. Seeds are fixed: a law holds or it does not, the same in every run.
 */
#include "filter.h"
#include "suite.h"

#include <math.h>

enum { N = 5000 };

static const struct blm_kind *kind_of(int i)
{
	return blm_kind_at((size_t)i);
}

/* ---- Filters and keys ---- */

static struct blm_filter *create(struct blm_params params)
{
	struct blm_filter *f;

	ck_assert_msg(blm_create(&f, NULL, a_path(), &params) == 0, "%s", blm_why());
	return f;
}

static struct blm_filter *make_seeded(const struct blm_kind *kind, uint64_t seed, double rate)
{
	return create((struct blm_params){ .kind = kind->name, .capacity = N, .rate = rate, .seeds = &seed, .seed_count = 1 });
}

static struct blm_filter *make(const struct blm_kind *kind)
{
	return make_seeded(kind, 7, 0.01);
}

/* Key i is the number i, 8 bytes. */
static struct blm_key *keys_from(uint64_t from, uint64_t to)
{
	struct blm_key *keys = calloc(to - from + 1, sizeof(*keys) + 8);
	uint64_t *numbers = (uint64_t *)(keys + (to - from + 1));

	for (uint64_t i = 0; i < to - from; i++) {
		numbers[i] = from + i;
		keys[i] = (struct blm_key){ &numbers[i], 8 };
	}
	return keys;
}

static int64_t fill(struct blm_filter *f, uint64_t from, uint64_t to)
{
	struct blm_key *keys = keys_from(from, to);
	int64_t changed = blm_add_many(f, keys, to - from, NULL);

	ck_assert_msg(changed >= 0, "%s", blm_why());
	free(keys);
	return changed;
}

static uint64_t found(const struct blm_filter *f, uint64_t from, uint64_t to)
{
	struct blm_key *keys = keys_from(from, to);
	int64_t yes = blm_contains_many(f, keys, to - from, NULL);

	free(keys);
	return (uint64_t)yes;
}

static const void *data(const struct blm_filter *f, size_t *ret_bytes)
{
	*ret_bytes = current_view(f)->part[0].shape.bytes;
	return current_view(f)->part[0].bytes;
}

static void same_data(const struct blm_filter *a, const struct blm_filter *b)
{
	size_t bytes, others;
	const void *x = data(a, &bytes), *y = data(b, &others);

	ck_assert_uint_eq(bytes, others);
	ck_assert_int_eq(memcmp(x, y, bytes), 0);
}

static struct blm_info info(const struct blm_filter *f)
{
	struct blm_info i;

	ck_assert_int_eq(blm_info(f, &i), 0);
	return i;
}

static struct blm_filter *twin(const struct blm_filter *f)
{
	struct blm_filter *t;

	ck_assert_msg(blm_template(&t, NULL, a_path(), f, 0) == 0, "%s", blm_why());
	return t;
}

static struct blm_filter *reopen(const struct blm_filter *f, bool write)
{
	struct blm_filter *again;

	ck_assert_msg(blm_open(&again, NULL, f->place.shown, write) == 0, "%s", blm_why());
	return again;
}

/* ---- Asking and adding ---- */

START_TEST(an_empty_filter_contains_nothing)
{
	struct blm_filter *f = make(kind_of(_i));

	ck_assert_uint_eq(found(f, 0, 100000), 0);
	ck_assert(!blm_contains(f, NULL, 0));
	blm_close(f);
}
END_TEST

START_TEST(every_added_key_is_found)
{
	struct blm_filter *f = make(kind_of(_i));
	static char text[100000];

	fill(f, 0, N);
	ck_assert_uint_eq(found(f, 0, N), N);
	for (uint64_t i = 0; i < N; i++)
		ck_assert(blm_contains(f, &i, 8));
	for (size_t len = 0; len <= sizeof(text); len = len * 2 + (len < 300)) {	/* no length is special, nor are NULs */
		ck_assert_int_ge(blm_add(f, len ? text : NULL, len), 0);
		ck_assert(blm_contains(f, len ? text : NULL, len));
	}
	blm_close(f);
}
END_TEST

START_TEST(at_capacity_the_false_positive_rate_is_as_planned)
{
	const double asked = 100000, seeds = 20;
	double sum = 0, squares = 0, mean, error;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct blm_filter *f = make_seeded(kind_of(_i), seed, 0.01);
		double rate;

		fill(f, 0, N);
		rate = (double)found(f, N, N + (uint64_t)asked) / asked;
		sum += rate;
		squares += rate * rate;
		blm_close(f);
	}
	mean = sum / seeds;
	error = sqrt((squares / seeds - mean * mean) / (seeds - 1));
	ck_assert_msg(mean <= 0.01 + 3 * error, "rate %g +- %g", mean, error);
	ck_assert_msg(mean >= 0.0085 - 3 * error, "rate %g +- %g wastes space", mean, error);
}
END_TEST

START_TEST(every_hash_family_that_a_kind_takes_serves_it)
{
	const struct blm_kind *kind = kind_of(_i);
	unsigned served = 0;

	for (size_t i = 0; blm_family_at(i); i++) {
		struct blm_params params = { .kind = kind->name, .hash = blm_family_at(i)->name, .capacity = N, .rate = 0.01 };
		struct blm_filter *f;

		if (blm_family_at(i)->nth && !kind->every_family) {
			ck_assert_int_eq(blm_create(&f, NULL, a_path(), &params), -EOPNOTSUPP);
			continue;
		}
		f = create(params);
		fill(f, 0, N);
		ck_assert_uint_eq(found(f, 0, N), N);
		ck_assert_uint_le(found(f, N, 51 * N), 1.3 * 0.01 * 50 * N);
		blm_close(f);
		served++;
	}
	ck_assert_uint_ge(served, 2);
}
END_TEST

START_TEST(beyond_capacity_a_filter_still_takes_keys_and_finds_them)
{
	struct blm_filter *f = make(kind_of(_i));

	fill(f, 0, 3 * N);
	ck_assert_uint_eq(found(f, 0, 3 * N), 3 * N);
	ck_assert_uint_gt(info(f).keys, N);
	blm_close(f);
}
END_TEST

START_TEST(the_count_of_keys_is_how_many_adds_and_claims_changed_the_filter)
{
	struct blm_filter *f = make(kind_of(_i));
	uint64_t changed = 0;

	for (uint64_t i = 0; i < 2 * N; i++) {
		uint64_t key = i % N;

		changed += (uint64_t)blm_add(f, &key, 8);
	}
	ck_assert_uint_le(changed, N);
	ck_assert_uint_ge(changed, N * 99 / 100);
	ck_assert_uint_eq(info(f).keys, changed);
	changed += (uint64_t)fill(f, N / 2, N + N / 2);
	for (uint64_t i = N; i < 2 * N && kind_of(_i)->claim; i++)
		changed += (uint64_t)blm_claim(f, &i, 8);
	ck_assert_uint_eq(info(f).keys, changed);
	ck_assert(!info(f).keys_estimated);
	blm_close(f);
}
END_TEST

/* ---- Many at once ---- */

static const size_t counts[] = { 0, 1, 2, 63, 64, 65, 127, 128, 129, 1000 };

/* Every third key stands there twice, at a distance; from key 0 on, of which some are in the filter. */
static struct blm_key *batch_with_duplicates(size_t count)
{
	struct blm_key *keys = keys_from(N - 40, N - 40 + count);

	for (size_t i = 3; i < count; i += 3)
		keys[i] = keys[i / 2];
	return keys;
}

static void bits_are(const uint64_t *bits, size_t count, const bool *each, int64_t yes, int64_t yes_without_bits)
{
	int64_t sum = 0;

	for (size_t i = 0; i < (count + 63) / 64 * 64; i++) {
		bool bit = bits[i / 64] >> i % 64 & 1;

		ck_assert_msg(bit == (i < count && each[i]), "key %zu of %zu", i, count);
		sum += bit;
	}
	ck_assert_int_eq(sum, yes);
	ck_assert_int_eq(sum, yes_without_bits);
	ck_assert_uint_eq(bits[(count + 63) / 64], UINT64_C(0x5a5a5a5a5a5a5a5a));	/* not a word more is written */
}

static int add_one(struct blm_filter *f, const void *bytes, size_t len)
{
	return blm_add(f, bytes, len);
}

static int claim_one(struct blm_filter *f, const void *bytes, size_t len)
{
	return blm_claim(f, bytes, len);
}

static int ask_one(struct blm_filter *f, const void *bytes, size_t len)
{
	return blm_contains(f, bytes, len);
}

static int64_t ask_many(struct blm_filter *f, const struct blm_key *keys, size_t count, uint64_t *ret_bits)
{
	return blm_contains_many(f, keys, count, ret_bits);
}

static void many_is_each(const struct blm_kind *kind, int (*one)(struct blm_filter *, const void *, size_t),
			 int64_t (*many)(struct blm_filter *, const struct blm_key *, size_t, uint64_t *))
{
	for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
		struct blm_filter *a = make(kind), *b = make(kind), *without_bits = make(kind);
		struct blm_key *keys = batch_with_duplicates(counts[c]);
		uint64_t bits[18];
		bool each[1001];
		int64_t yes;

		memset(bits, 0x5a, sizeof(bits));
		fill(a, 0, N), fill(b, 0, N), fill(without_bits, 0, N);
		for (size_t i = 0; i < counts[c]; i++)
			each[i] = one(a, keys[i].bytes, keys[i].len) == 1;
		yes = many(b, keys, counts[c], bits);
		bits_are(bits, counts[c], each, yes, many(without_bits, keys, counts[c], NULL));
		same_data(a, b);
		same_data(a, without_bits);
		ck_assert_uint_eq(info(a).keys, info(b).keys);
		free(keys);
		blm_close(a), blm_close(b), blm_close(without_bits);
	}
}

START_TEST(asking_for_many_is_asking_for_each)
{
	many_is_each(kind_of(_i), ask_one, ask_many);
}
END_TEST

START_TEST(adding_many_is_adding_each)
{
	many_is_each(kind_of(_i), add_one, blm_add_many);
}
END_TEST

START_TEST(claiming_many_is_claiming_each)
{
	many_is_each(kind_of(_i), claim_one, blm_claim_many);
}
END_TEST

START_TEST(a_claimed_key_is_won_once)
{
	struct blm_filter *f = make(kind_of(_i));
	uint64_t won = 0;

	for (uint64_t i = 0; i < N; i++) {
		int first = blm_claim(f, &i, 8);

		ck_assert_int_ge(first, 0);
		won += (uint64_t)first;
		ck_assert(blm_contains(f, &i, 8));
		ck_assert_int_eq(blm_claim(f, &i, 8), 0);
		ck_assert_int_eq(blm_add(f, &i, 8), 0);
	}
	ck_assert_uint_ge(won, N * 99 / 100);	/* the rest seemed to be there */
	for (uint64_t i = N; i < N + 100; i++) {
		blm_add(f, &i, 8);
		ck_assert_int_eq(blm_claim(f, &i, 8), 0);
	}
	blm_close(f);
}
END_TEST

/* ---- Hashes ---- */

START_TEST(hashes_give_the_same_answers_as_keys)
{
	for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
		struct blm_filter *a = make(kind_of(_i)), *b = make(kind_of(_i));
		struct blm_key *keys = batch_with_duplicates(counts[c]);
		struct blm_hash hashes[1001];
		uint64_t x[17] = { 0 }, y[17] = { 0 }, id = blm_hash_id(a);

		ck_assert_uint_eq(id, blm_hash_id(b));
		fill(a, 0, N), fill(b, 0, N);
		ck_assert_int_eq(blm_hash_many(b, keys, counts[c], hashes), 0);
		ck_assert_int_eq(blm_contains_many(a, keys, counts[c], x), blm_contains_hashes(b, id, hashes, counts[c], y));
		ck_assert_mem_eq(x, y, sizeof(x));
		if (kind_of(_i)->claim) {
			ck_assert_int_eq(blm_claim_many(a, keys, counts[c] / 2, x), blm_claim_hashes(b, id, hashes, counts[c] / 2, y));
			ck_assert_mem_eq(x, y, sizeof(x));
		}
		ck_assert_int_eq(blm_add_many(a, keys, counts[c], x), blm_add_hashes(b, id, hashes, counts[c], y));
		ck_assert_mem_eq(x, y, sizeof(x));
		same_data(a, b);
		free(keys);
		blm_close(a), blm_close(b);
	}
}
END_TEST

START_TEST(hashes_of_another_seed_are_refused)
{
	struct blm_filter *a = make(kind_of(_i)), *b = make_seeded(kind_of(_i), 8, 0.01);
	struct blm_hash hash;
	uint64_t id = blm_hash_id(a);

	ck_assert_int_eq(blm_hash_many(a, &(struct blm_key){ "x", 1 }, 1, &hash), 0);
	ck_assert_uint_ne(id, blm_hash_id(b));
	ck_assert_int_eq(blm_contains_hashes(b, id, &hash, 1, NULL), -EMEDIUMTYPE);
	ck_assert_int_eq(blm_add_hashes(b, id, &hash, 1, NULL), -EMEDIUMTYPE);
	ck_assert_int_eq(blm_claim_hashes(b, id, &hash, 1, NULL), -EMEDIUMTYPE);
	ck_assert(!blm_contains(b, "x", 1));
	ck_assert_uint_eq(info(b).keys, 0);
	blm_close(a), blm_close(b);
}
END_TEST

START_TEST(a_family_that_hashes_for_each_probe_has_no_hashes_to_give)
{
	struct blm_filter *f = create((struct blm_params){ .kind = kind_of(_i)->name, .hash = "murmur3-bip37", .capacity = N });
	struct blm_hash hash = { 1, 2 };

	ck_assert_int_eq(blm_hash_many(f, &(struct blm_key){ "x", 1 }, 1, &hash), -EOPNOTSUPP);
	ck_assert_int_eq(blm_contains_hashes(f, blm_hash_id(f), &hash, 1, NULL), -EOPNOTSUPP);
	ck_assert_int_eq(blm_add_hashes(f, blm_hash_id(f), &hash, 1, NULL), -EOPNOTSUPP);
	ck_assert_int_eq(blm_claim_hashes(f, blm_hash_id(f), &hash, 1, NULL), -EOPNOTSUPP);
	blm_close(f);
}
END_TEST

/* ---- Templates and algebra ---- */

START_TEST(a_template_is_empty_and_combines)
{
	struct blm_filter *a = make(kind_of(_i)), *b;
	struct blm_info x, y;

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
		ck_assert_int_eq(blm_combine_into(b, BLM_UNION, (const struct blm_filter *[]){ a }, 1, 0, NULL), 0);
		same_data(a, b);
	}
	blm_close(a), blm_close(b);
}
END_TEST

START_TEST(a_copy_answers_the_same_under_another_uuid)
{
	struct blm_filter *a = make(kind_of(_i)), *b;
	struct blm_info x, y;

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

START_TEST(the_union_is_byte_for_byte_the_filter_of_all_keys)
{
	struct blm_filter *f[3], *all = make(kind_of(_i)), *result;
	double rate = -1;

	make_three(kind_of(_i), f);
	fill(all, 0, N);
	ck_assert_int_eq(blm_combine(&result, NULL, a_path(), BLM_UNION, (const struct blm_filter *const *)f, 3, 0, &rate), 0);
	same_data(result, all);
	ck_assert(info(result).keys_estimated);
	ck_assert_double_eq_tol((double)info(result).keys, N, 0.02 * N);
	ck_assert_double_eq_tol(rate, 0.01, 0.002);
	ck_assert_int_eq(blm_combine_into(f[0], BLM_UNION, (const struct blm_filter *const *)f + 1, 2, 0, &rate), 0);
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
	ck_assert_int_eq(blm_combine(&result, NULL, a_path(), BLM_INTERSECT, (const struct blm_filter *const *)f, 2, 0, &rate), 0);
	ck_assert_uint_eq(found(result, N / 4, N / 2), N / 4);
	for (uint64_t i = 0; i < 4 * N; i++)
		ck_assert(blm_contains(result, &i, 8) <= (blm_contains(f[0], &i, 8) && blm_contains(f[1], &i, 8)));
	ck_assert_double_le(rate, 0.01);
	ck_assert_int_eq(blm_combine_into(f[1], BLM_INTERSECT, (const struct blm_filter *const *)f, 1, 0, &rate), 0);
	same_data(f[1], result);
	ck_assert_uint_eq(found(f[1], N / 4, N / 2), N / 4);
	close_three(f);
	blm_close(result);
}
END_TEST

START_TEST(an_intersection_in_place_is_seen_by_handles_opened_before)
{
	struct blm_filter *f[3], *reader, *writer;
	uint64_t key = 10 * N + 1;

	make_three(kind_of(_i), f);
	reader = reopen(f[0], false);
	writer = reopen(f[0], true);
	ck_assert_int_eq(blm_combine_into(f[0], BLM_INTERSECT, (const struct blm_filter *const *)f + 1, 1, 0, NULL), 0);
	same_data(reader, f[0]);
	ck_assert_int_ge(blm_add(writer, &key, 8), 0);
	ck_assert(blm_contains(reader, &key, 8));
	ck_assert(blm_contains(f[0], &key, 8));
	same_data(writer, f[0]);
	ck_assert_int_eq(blm_status(reader), 0);
	close_three(f);
	blm_close(reader), blm_close(writer);
}
END_TEST

START_TEST(a_result_above_the_highest_rate_is_refused_and_nothing_changes)
{
	struct blm_filter *f[3], *result = NULL, *before;
	double rate = -1;

	make_three(kind_of(_i), f);
	ck_assert_int_eq(blm_copy(&before, NULL, a_path(), f[0], 0), 0);
	ck_assert_int_eq(blm_combine(&result, NULL, a_path(), BLM_UNION, (const struct blm_filter *const *)f, 3, 1e-4, &rate), -ERANGE);
	ck_assert_ptr_null(result);
	ck_assert_double_gt(rate, 1e-4);
	ck_assert_int_eq(blm_combine_into(f[0], BLM_UNION, (const struct blm_filter *const *)f + 1, 2, 1e-4, &rate), -ERANGE);
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

static struct blm_filter *make_shaped(const struct blm_kind *kind, const struct difference *d)
{
	uint64_t seed = d->seed ? d->seed : 77;
	struct blm_params p = { .kind = kind->name, .hash = d->hash, .cells = d->cells ? d->cells : 4096,
				.probes = d->probes ? d->probes : 5, .seeds = &seed, .seed_count = d->hash ? 0 : 1 };

	return create(p);
}

static void refused(const struct blm_filter *a, const struct blm_filter *b, int r, const struct difference *d)
{
	const char *why = blm_why();

	ck_assert_int_eq(r, -EMEDIUMTYPE);
	why = strstr(why, d->field);
	ck_assert_msg(why && strstr(why, d->a) && strstr(why, d->b), "%s %s %s is not in: %s", d->field, d->a, d->b, blm_why());
}

START_TEST(filters_that_differ_do_not_combine_and_the_field_and_both_values_are_named)
{
	for (size_t i = 0; i < ARRAY_LEN(differences); i++) {
		const struct difference *d = &differences[i];
		struct blm_filter *a = make_shaped(kind_of(_i), &(struct difference){ 0 }), *b = make_shaped(kind_of(_i), d), *result;
		const struct blm_filter *both[] = { a, b };

		fill(b, 0, 10);
		refused(a, b, blm_same_template(a, b), d);
		refused(a, b, blm_combine(&result, NULL, a_path(), BLM_UNION, both, 2, 0, NULL), d);
		refused(a, b, blm_combine(&result, NULL, a_path(), BLM_INTERSECT, both, 2, 0, NULL), d);
		refused(a, b, blm_combine_into(a, BLM_UNION, both + 1, 1, 0, NULL), d);
		refused(a, b, blm_combine_into(a, BLM_INTERSECT, both + 1, 1, 0, NULL), d);
		refused(a, b, blm_compare(a, b, &(struct blm_comparison){ 0 }), d);
		ck_assert_uint_eq(found(a, 0, 10), 0);
		blm_close(a), blm_close(b);
	}
}
END_TEST

START_TEST(filters_of_different_kinds_do_not_combine_and_both_are_named)
{
	const struct blm_kind *kind = kind_of(_i), *other = blm_kind_at(_i == 0);
	struct blm_filter *a = make_shaped(kind, &(struct difference){ 0 }), *b = make_shaped(other, &(struct difference){ 0 });

	refused(a, b, blm_same_template(a, b), &(struct difference){ .field = "kind:", .a = kind->name, .b = other->name });
	blm_close(a), blm_close(b);
}
END_TEST

START_TEST(filters_of_different_tweaks_do_not_combine_and_both_are_named)
{
	struct blm_params p = { .kind = kind_of(_i)->name, .hash = "murmur3-bip37", .cells = 4096, .probes = 5, .tweak = 1234 };
	struct blm_filter *a = create(p), *b;

	p.tweak = 4321;
	b = create(p);
	refused(a, b, blm_same_template(a, b), &(struct difference){ .field = "tweak:", .a = "1234", .b = "4321" });
	blm_close(a), blm_close(b);
}
END_TEST

/* ---- Estimates ---- */

START_TEST(a_filter_of_nothing_but_ones_says_yes_and_that_it_is_saturated)
{
	struct blm_filter *f = make(kind_of(_i)), *half = make(kind_of(_i));
	const struct blm_part *part = &current_view(f)->part[0];
	uint64_t padding = part->kind->padding_bits ? part->kind->padding_bits(&part->shape) : 0;
	struct blm_estimate e;
	struct blm_comparison c;

	for (uint64_t i = 0; i < part->shape.bytes * 8 - padding; i++)
		part->bytes[i / 8] = (uint8_t)(part->bytes[i / 8] | 1 << i % 8);
	fill(half, 0, N);
	ck_assert_uint_eq(found(f, 0, 1000), 1000);
	for (int exact = 0; exact < 2; exact++) {
		ck_assert_int_eq(blm_estimate(f, exact, &e), 0);
		ck_assert(e.saturated);
		ck_assert(isfinite(e.keys.value) && isfinite(e.keys.error) && e.keys.value > N);
		ck_assert_double_eq(e.fill.value, 1);
		ck_assert_double_eq(e.rate.value, 1);
		ck_assert(isfinite(e.fill.error) && isfinite(e.rate.error));
	}
	ck_assert_int_eq(blm_compare(f, half, &c), 0);
	ck_assert(c.saturated);
	ck_assert(isfinite(c.common.value) && isfinite(c.jaccard.value) && isfinite(c.jaccard.error) && isfinite(c.tanimoto.value));
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
	ck_assert(isfinite(c.jaccard.value) && isfinite(c.jaccard.error) && isfinite(c.tanimoto.value));
	blm_close(f);
}
END_TEST

START_TEST(estimates_of_keys_lie_within_4_standard_errors_and_over_40_seeds_the_errors_are_of_that_size)
{
	static const uint64_t sizes[] = { N / 10, N / 2, N, 2 * N };

	for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
		double squares = 0;

		for (uint64_t seed = 1; seed <= 40; seed++) {
			struct blm_filter *f = make_seeded(kind_of(_i), seed, 0.01);
			struct blm_estimate e;
			double off;

			fill(f, 0, sizes[s]);
			ck_assert_int_eq(blm_estimate(f, true, &e), 0);
			off = (e.keys.value - (double)sizes[s]) / e.keys.error;
			ck_assert_msg(fabs(off) < 4, "%g +- %g for %d", e.keys.value, e.keys.error, (int)sizes[s]);
			squares += off * off / 40;
			blm_close(f);
		}
		ck_assert_msg(squares > 0.5 && squares < 2, "at %d keys: mean of (off / error)^2 is %g", (int)sizes[s], squares);
	}
}
END_TEST

START_TEST(the_estimated_overlap_of_two_filters_is_theirs_within_4_standard_errors)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct blm_filter *a = make_seeded(kind_of(_i), seed, 0.01), *b = twin(a), *both = twin(a);
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
		for (size_t i = 0; i < bytes; i++) {
			ones_and += __builtin_popcount(x[i] & y[i]);
			ones_or += __builtin_popcount(x[i] | y[i]);
		}
		ck_assert_double_eq_tol(c.tanimoto.value, ones_and / ones_or, 1e-12);
		blm_close(a), blm_close(b), blm_close(both);
	}
}
END_TEST

/* ---- Handles ---- */

START_TEST(a_read_only_handle_refuses_every_change)
{
	struct blm_filter *f = make(kind_of(_i)), *before, *r;
	const struct blm_filter *others[] = { f };
	struct blm_key key = { "x", 1 };
	struct blm_hash hash = { 1, 2 };

	fill(f, 0, 100);
	ck_assert_int_eq(blm_copy(&before, NULL, a_path(), f, 0), 0);
	r = reopen(f, false);
	ck_assert_int_eq(blm_add(r, "x", 1), -EBADF);
	ck_assert_int_eq(blm_claim(r, "x", 1), -EBADF);
	ck_assert_int_eq(blm_add_many(r, &key, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_claim_many(r, &key, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_add_hashes(r, blm_hash_id(r), &hash, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_claim_hashes(r, blm_hash_id(r), &hash, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_combine_into(r, BLM_UNION, others, 1, 0, NULL), -EBADF);
	ck_assert_int_eq(blm_combine_into(r, BLM_INTERSECT, others, 1, 0, NULL), -EBADF);
	ck_assert_int_eq(blm_sync(r), -EBADF);
	same_data(f, before);
	ck_assert_uint_eq(found(r, 0, 100), 100);
	blm_close(f), blm_close(before), blm_close(r);
}
END_TEST

START_TEST(a_reopened_filter_answers_the_same)
{
	struct blm_filter *a = make(kind_of(_i)), *b;
	struct blm_info x, y;
	uint64_t yes;
	char path[600];

	fill(a, 0, N);
	yes = found(a, 0, 20 * N);
	x = info(a);
	snprintf(path, sizeof(path), "%s", a->place.shown);
	blm_close(a);
	ck_assert_int_eq(blm_open(&b, NULL, path, false), 0);
	y = info(b);
	ck_assert_uint_eq(found(b, 0, 20 * N), yes);
	ck_assert_mem_eq(x.uuid, y.uuid, 16);
	ck_assert_uint_eq(x.keys, y.keys);
	ck_assert_str_eq(x.kind, y.kind);
	ck_assert_str_eq(x.hash, y.hash);
	blm_close(b);
}
END_TEST

START_TEST(an_add_makes_a_filter_dirty_and_a_sync_clean)
{
	struct blm_filter *f = make(kind_of(_i));

	ck_assert(!info(f).dirty);
	for (uint64_t i = 0; i < 3; i++) {
		blm_add(f, &i, 8);
		ck_assert(info(f).dirty);
		ck_assert_int_eq(blm_sync(f), 0);
		ck_assert(!info(f).dirty);
		ck_assert_uint_gt(info(f).synced, info(f).created);
		ck_assert_uint_eq(info(f).keys, i + 1);
	}
	blm_close(f);
}
END_TEST

/* ---- Kinds ---- */

/* Any kind, robbed of one function, says that it cannot do that, and refuses it. */
static void robbed(const struct blm_kind *kind, size_t member, unsigned can, int (*change)(struct blm_filter *))
{
	struct blm_filter *f = make(kind);
	struct blm_kind *less = malloc(sizeof(*less));

	*less = *kind;
	memset((char *)less + member, 0, sizeof(void (*)(void)));
	current_view(f)->part[0].kind = less;
	ck_assert_uint_eq(blm_kind_can(less) & can, 0);
	if (blm_kind_can(kind) & can)
		ck_assert_uint_eq(blm_kind_can(kind) & ~blm_kind_can(less) & can, can);
	ck_assert_int_eq(change(f), -EOPNOTSUPP);
	blm_close(f);
	free(less);
}

static int try_add(struct blm_filter *f) { return blm_add(f, "x", 1); }
static int try_claim(struct blm_filter *f) { return blm_claim(f, "x", 1); }
static int try_estimate(struct blm_filter *f) { return blm_estimate(f, true, &(struct blm_estimate){ 0 }); }
static int try_compare(struct blm_filter *f) { return blm_compare(f, f, &(struct blm_comparison){ 0 }); }

static int try_union(struct blm_filter *f)
{
	const struct blm_filter *other = f;

	return blm_combine_into(f, BLM_UNION, &other, 1, 0, NULL);
}

static int try_intersection(struct blm_filter *f)
{
	const struct blm_filter *other = f;

	return blm_combine_into(f, BLM_INTERSECT, &other, 1, 0, NULL);
}

START_TEST(what_a_kind_cannot_do_it_refuses)
{
	robbed(kind_of(_i), offsetof(struct blm_kind, add), BLM_CAN_ADD, try_add);
	robbed(kind_of(_i), offsetof(struct blm_kind, claim), BLM_CAN_CLAIM, try_claim);
	robbed(kind_of(_i), offsetof(struct blm_kind, unite), BLM_CAN_UNION, try_union);
	robbed(kind_of(_i), offsetof(struct blm_kind, intersect), BLM_CAN_INTERSECT, try_intersection);
	robbed(kind_of(_i), offsetof(struct blm_kind, census), BLM_CAN_ESTIMATE, try_estimate);
	robbed(kind_of(_i), offsetof(struct blm_kind, census), BLM_CAN_ESTIMATE, try_compare);
}
END_TEST

START_TEST(ids_and_names_of_kinds_are_unique_and_lead_back_to_them)
{
	struct blm_kind_info public;
	size_t i;

	for (i = 0; blm_kind_at(i); i++) {
		ck_assert_ptr_eq(blm_kind_by_id(blm_kind_at(i)->id), blm_kind_at(i));
		ck_assert_ptr_eq(blm_kind_by_name(blm_kind_at(i)->name), blm_kind_at(i));
		ck_assert_uint_ne(blm_kind_at(i)->id, 0);
		ck_assert_int_eq(blm_kind_list(i, &public), 0);
		ck_assert_str_eq(public.name, blm_kind_at(i)->name);
		ck_assert_uint_eq(public.can, blm_kind_can(blm_kind_at(i)));
		for (size_t j = 0; j < i; j++) {
			ck_assert_uint_ne(blm_kind_at(i)->id, blm_kind_at(j)->id);
			ck_assert_str_ne(blm_kind_at(i)->name, blm_kind_at(j)->name);
		}
	}
	ck_assert_uint_ge(i, 2);
	ck_assert_int_eq(blm_kind_list(i, &public), -ENOENT);
	ck_assert_ptr_null(blm_kind_by_name("nothing"));
}
END_TEST

START_TEST(ids_and_names_of_hash_families_are_unique_and_lead_back_to_them)
{
	for (size_t i = 0; blm_family_at(i); i++) {
		ck_assert_ptr_eq(blm_family_by_id(blm_family_at(i)->id), blm_family_at(i));
		ck_assert_ptr_eq(blm_family_by_name(blm_family_at(i)->name), blm_family_at(i));
		ck_assert_int_eq(blm_family_at(i)->hash != NULL, blm_family_at(i)->nth == NULL);
	}
}
END_TEST

/* Run a law once for each kind that can do all of `needs` and none of `never`. */
#define LAW(test, needs, never) \
	for (int i = 0; kind_of(i); i++) \
		if ((blm_kind_can(kind_of(i)) & ((needs) | (never))) == (needs)) \
			tcase_add_loop_test(tc, test, i, i + 1)

int main(void)
{
	Suite *s = begin_suite("kind");
	TCase *tc = tcase_create("laws");

	LAW(an_empty_filter_contains_nothing, 0, 0);
	LAW(every_added_key_is_found, BLM_CAN_ADD, BLM_FORGETS);
	LAW(at_capacity_the_false_positive_rate_is_as_planned, BLM_CAN_ADD, 0);
	LAW(every_hash_family_that_a_kind_takes_serves_it, BLM_CAN_ADD, BLM_FORGETS);
	LAW(beyond_capacity_a_filter_still_takes_keys_and_finds_them, BLM_CAN_ADD | BLM_CAN_UNION, BLM_FORGETS);
	LAW(the_count_of_keys_is_how_many_adds_and_claims_changed_the_filter, BLM_CAN_ADD | BLM_CAN_UNION, BLM_FORGETS);
	LAW(asking_for_many_is_asking_for_each, BLM_CAN_ADD, 0);
	LAW(adding_many_is_adding_each, BLM_CAN_ADD, 0);
	LAW(claiming_many_is_claiming_each, BLM_CAN_ADD | BLM_CAN_CLAIM, 0);
	LAW(a_claimed_key_is_won_once, BLM_CAN_ADD | BLM_CAN_CLAIM, BLM_FORGETS);
	LAW(hashes_give_the_same_answers_as_keys, BLM_CAN_ADD, 0);
	LAW(hashes_of_another_seed_are_refused, BLM_CAN_ADD | BLM_CAN_CLAIM, 0);
	LAW(a_template_is_empty_and_combines, BLM_CAN_ADD, 0);
	LAW(a_copy_answers_the_same_under_another_uuid, BLM_CAN_ADD, BLM_FORGETS);
	LAW(the_union_is_byte_for_byte_the_filter_of_all_keys, BLM_CAN_ADD | BLM_CAN_UNION | BLM_CAN_ESTIMATE, 0);
	LAW(the_intersection_holds_every_common_key, BLM_CAN_ADD | BLM_CAN_INTERSECT, BLM_FORGETS);
	LAW(an_intersection_in_place_is_seen_by_handles_opened_before, BLM_CAN_ADD | BLM_CAN_INTERSECT, 0);
	LAW(a_result_above_the_highest_rate_is_refused_and_nothing_changes, BLM_CAN_ADD | BLM_CAN_UNION, 0);
	LAW(filters_that_differ_do_not_combine_and_the_field_and_both_values_are_named,
	    BLM_CAN_ADD | BLM_CAN_UNION | BLM_CAN_INTERSECT | BLM_CAN_ESTIMATE, 0);
	LAW(filters_of_different_kinds_do_not_combine_and_both_are_named, BLM_CAN_UNION, 0);
	LAW(a_filter_of_nothing_but_ones_says_yes_and_that_it_is_saturated, BLM_CAN_ADD | BLM_CAN_ESTIMATE, 0);
	LAW(an_empty_filter_is_estimated_empty, BLM_CAN_ESTIMATE, 0);
	LAW(estimates_of_keys_lie_within_4_standard_errors_and_over_40_seeds_the_errors_are_of_that_size,
	    BLM_CAN_ADD | BLM_CAN_ESTIMATE, 0);
	LAW(the_estimated_overlap_of_two_filters_is_theirs_within_4_standard_errors, BLM_CAN_ADD | BLM_CAN_ESTIMATE, 0);
	LAW(a_read_only_handle_refuses_every_change, BLM_CAN_ADD | BLM_CAN_CLAIM | BLM_CAN_UNION | BLM_CAN_INTERSECT, 0);
	LAW(a_reopened_filter_answers_the_same, BLM_CAN_ADD, 0);
	LAW(an_add_makes_a_filter_dirty_and_a_sync_clean, BLM_CAN_ADD, 0);
	LAW(what_a_kind_cannot_do_it_refuses, BLM_CAN_ADD | BLM_CAN_CLAIM | BLM_CAN_UNION | BLM_CAN_INTERSECT | BLM_CAN_ESTIMATE, 0);
	for (int i = 0; kind_of(i); i++)
		if (kind_of(i)->every_family) {
			tcase_add_loop_test(tc, a_family_that_hashes_for_each_probe_has_no_hashes_to_give, i, i + 1);
			tcase_add_loop_test(tc, filters_of_different_tweaks_do_not_combine_and_both_are_named, i, i + 1);
		}
	tcase_add_test(tc, ids_and_names_of_kinds_are_unique_and_lead_back_to_them);
	tcase_add_test(tc, ids_and_names_of_hash_families_are_unique_and_lead_back_to_them);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
