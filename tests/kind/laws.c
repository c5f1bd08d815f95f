/*
 * laws.c - what holds for every kind that can do a thing
 *
 * Each law runs once for each kind that has the named abilities, so a new kind is under test the
 * moment its name is in lib/kind/meson.build; and once more, for kinds that take every family, with
 * one that hashes a key for each probe. Seeds are fixed: a law holds or it does not, the same in
 * every run. Laws of kinds that are built from all their keys are in built.c.
 */
#include "handle/handle.h"
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
	struct blm_build *b;

	if (!kind_takes_keys(blm_kind_by_name(params.kind))) {	/* of no keys */
		ck_assert_msg(blm_build_begin(&b, NULL, a_path(), &params, NULL) == 0, "%s",
			      blm_error_message());
		ck_assert_msg(blm_build_finish(b, &f) == 0, "%s", blm_error_message());
		return f;
	}
	ck_assert_msg(blm_create(&f, NULL, a_path(), &params) == 0, "%s", blm_error_message());
	return f;
}

/* of the filters that make() makes, where the kind takes it; else its usual one */
static const char *family = BLM_DEFAULT_HASH;

static const struct blm_family *family_of(const struct blm_kind *kind)
{
	const struct blm_family *f = blm_family_by_name(family);

	return kind_takes(kind, f) ? f : blm_family_by_name(kind->family);
}

/* Kinds of numbers that are their own cells: room for all that are asked for here. */
enum { NUMBERS = 1 << 20 };

static struct blm_filter *make_for(const struct blm_kind *kind, uint64_t keys, uint64_t seed,
				   double rate)
{
	struct blm_params params = BLM_PARAMS(.kind = kind->name, .hash = family_of(kind)->name,
					      .capacity = kind->exact ? NUMBERS : keys,
					      .rate = rate);
	uint64_t seeds[BLM_SEEDS_MAX] = { seed };
	struct blm_plan plan;

	ck_assert_int_eq(blm_plan(&plan, &params), 0);
	for (uint32_t i = 1; i < plan.probes; i++)
		seeds[i] = (uint32_t)mixed(seed << 8 | i);
	params.seeds = seeds;
	params.seed_count = family_seeds(family_of(kind), plan.probes);
	return create(params);
}

static struct blm_filter *make_seeded(const struct blm_kind *kind, uint64_t seed, double rate)
{
	return make_for(kind, N, seed, rate);
}

/* Of a kind that fills there is room for all that a law adds. */
static struct blm_filter *make(const struct blm_kind *kind)
{
	return make_for(kind, kind->fills ? 3 * N : N, 7, 0.01);
}

/* Key i is the number i, 8 bytes: as a word, or for kinds of numbers in digits. */
static void set_key(uint64_t *word, uint64_t i, bool digits)
{
	char text[9];

	*word = i;
	if (digits) {
		snprintf(text, sizeof(text), "%08u", (unsigned)i % 100000000);
		memcpy(word, text, 8);
	}
}

static bool in_digits(const struct blm_filter *f)
{
	return current_view(f)->whole.kind->exact;
}

/* Kinds that hold the keys themselves have room for so long ones. */
static size_t longest(const struct blm_filter *f)
{
	return current_view(f)->whole.kind->holds_keys
		     ? (size_t)current_view(f)->whole.shape.args[0]
		     : SIZE_MAX;
}

static const void *key(const struct blm_filter *f, uint64_t i)	/* valid for the next 16 calls */
{
	static uint64_t words[16];
	static unsigned count;
	uint64_t *word = &words[count++ % ARRAY_LEN(words)];

	set_key(word, i, in_digits(f));
	return word;
}

static struct blm_key *keys_from(const struct blm_filter *f, uint64_t from, uint64_t to)
{
	struct blm_key *keys = calloc(to - from + 1, sizeof(*keys) + 8);
	uint64_t *numbers = (uint64_t *)(keys + (to - from + 1));

	for (uint64_t i = 0; i < to - from; i++) {
		set_key(&numbers[i], from + i, in_digits(f));
		keys[i] = (struct blm_key){ &numbers[i], 8 };
	}
	return keys;
}

static int64_t fill(struct blm_filter *f, uint64_t from, uint64_t to)
{
	struct blm_key *keys = keys_from(f, from, to);
	int64_t changed = blm_add_many(f, keys, to - from, NULL);

	ck_assert_msg(changed >= 0, "%s", blm_error_message());
	free(keys);
	return changed;
}

static uint64_t found(const struct blm_filter *f, uint64_t from, uint64_t to)
{
	struct blm_key *keys = keys_from(f, from, to);
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
	const struct blm_view *x = current_view(a), *y = current_view(b);

	ck_assert_uint_eq(x->parts, y->parts);
	for (unsigned i = 0; i < x->parts; i++) {
		ck_assert_uint_eq(x->part[i].shape.bytes, y->part[i].shape.bytes);
		ck_assert_msg(!memcmp(x->part[i].bytes, y->part[i].bytes, x->part[i].shape.bytes),
			      "part %u", i);
	}
}

static struct blm_info info(const struct blm_filter *f)
{
	struct blm_info i = BLM_INFO;

	ck_assert_int_eq(blm_info(f, &i), 0);
	return i;
}

static struct blm_filter *twin(const struct blm_filter *f)
{
	struct blm_filter *t;

	ck_assert_msg(blm_template(&t, NULL, a_path(), f, 0) == 0, "%s", blm_error_message());
	return t;
}

static struct blm_filter *reopen(const struct blm_filter *f, bool write)
{
	struct blm_filter *again;

	ck_assert_msg(blm_open(&again, NULL, f->place.display, write ? BLM_OPEN_WRITE : 0) == 0,
		      "%s", blm_error_message());
	return again;
}

/* Does a key that is added twice stand there twice? */
static bool counts_adds(const struct blm_kind *kind)
{
	return kind->remove != NULL;
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
		ck_assert(blm_contains(f, key(f, i), 8));
	/* no length is special, nor are NULs */
	for (size_t len = 0; len <= sizeof(text) && len <= longest(f) && !in_digits(f);
	     len = len * 2 + (len < 300)) {
		ck_assert_int_ge(blm_add(f, len ? text : NULL, len), 0);
		ck_assert(blm_contains(f, len ? text : NULL, len));
	}
	blm_close(f);
}
END_TEST

START_TEST(at_capacity_the_false_positive_rate_is_as_planned)
{
	const double asked = SANITIZED ? 20000 : 100000, seeds = 20;
	double sum = 0, squares = 0, mean, error, planned = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct blm_filter *f = make_seeded(kind_of(_i), seed, 0.01);
		double rate;

		fill(f, 0, N);
		rate = (double)found(f, N, N + (uint64_t)asked) / asked;
		planned = info(f).rate_at_capacity;
		sum += rate;
		squares += rate * rate;
		blm_close(f);
	}
	mean = sum / seeds;
	error = sqrt((squares / seeds - mean * mean) / (seeds - 1));
	ck_assert_msg(mean <= 0.01 + 3 * error, "rate %g +- %g", mean, error);
	/* what is made of parts is as planned when all of them are full */
	ck_assert_msg(kind_of(_i)->compose || mean >= 0.85 * planned - 3 * error,
		      "rate %g +- %g wastes space", mean, error);
}
END_TEST

/*
 * Sums of bytes keep no rate for keys that are numbers in a row: of some orders of bytes they find
 * every one.
 */
static bool keeps_its_rate(const struct blm_family *f)
{
	return strncmp(f->name, "djb", 3) && strcmp(f->name, "scrapy-redis")
	    && strcmp(f->name, "js");
}

START_TEST(every_hash_family_that_a_kind_takes_serves_it)
{
	const struct blm_kind *kind = kind_of(_i);
	unsigned served = 0;

	for (size_t i = 0; blm_family_at(i); i++) {
		struct blm_params params = BLM_PARAMS(.kind = kind->name,
						      .hash = blm_family_at(i)->name, .rate = 0.01,
						      .capacity = kind->exact ? NUMBERS : N);
		struct blm_filter *f;

		if (!kind_takes(kind, blm_family_at(i))) {
			ck_assert_int_eq(blm_create(&f, NULL, a_path(), &params), -EOPNOTSUPP);
			continue;
		}
		served++;
		if (is_left_out((int)i + _i))
			continue;
		f = create(params);
		fill(f, 0, N);
		ck_assert_uint_eq(found(f, 0, N), N);
		ck_assert_uint_le(found(f, N, 51 * N),
				  (keeps_its_rate(blm_family_at(i)) ? 1.3 * 0.01 : 1) * 50 * N);
		blm_close(f);
	}
	ck_assert_uint_ge(served, kind->exact ? 1 : 2);
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

	for (uint64_t i = 0; i < 2 * N; i++)
		changed += (uint64_t)blm_add(f, key(f, i % N), 8);
	ck_assert_uint_le(changed, N);
	ck_assert_uint_ge(changed, N * 99 / 100);
	ck_assert_uint_eq(info(f).keys, changed);
	changed += (uint64_t)fill(f, N / 2, N + N / 2);
	for (uint64_t i = N; i < 2 * N && kind_of(_i)->claim; i++)
		changed += (uint64_t)blm_claim(f, key(f, i), 8);
	ck_assert_uint_eq(info(f).keys, changed);
	ck_assert(!info(f).keys_estimated);
	blm_close(f);
}
END_TEST

/* ---- Many at once ---- */

static const size_t counts[] = {
	0, 1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 320, 513, 1000
};

/*
 * Every third key stands there twice, at a distance, or more often; from key 0 on, of which some
 * are in the filter.
 */
static struct blm_key *batch_with_duplicates(const struct blm_filter *f, size_t count)
{
	struct blm_key *keys = keys_from(f, N - 40, N - 40 + count);

	/* some find no room for one key many times */
	for (size_t i = 3; i < count; i += 3)
		keys[i] = keys[current_view(f)->whole.kind->fills ? i - 2 : i / 2];
	return keys;
}

static void bits_are(const uint64_t *bits, size_t count, const bool *each, int64_t yes,
		     int64_t yes_without_bits)
{
	int64_t sum = 0;

	for (size_t i = 0; i < (count + 63) / 64 * 64; i++) {
		bool bit = bits[i / 64] >> i % 64 & 1;

		ck_assert_msg(bit == (i < count && each[i]), "key %zu of %zu", i, count);
		sum += bit;
	}
	ck_assert_int_eq(sum, yes);
	ck_assert_int_eq(sum, yes_without_bits);
	/* not a word more is written */
	ck_assert_uint_eq(bits[(count + 63) / 64], UINT64_C(0x5a5a5a5a5a5a5a5a));
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

static int64_t ask_many(struct blm_filter *f, const struct blm_key *keys, size_t count,
			uint64_t *ret_bits)
{
	return blm_contains_many(f, keys, count, ret_bits);
}

static void many_is_each(const struct blm_kind *kind,
			 int (*one)(struct blm_filter *, const void *, size_t),
			 int64_t (*many)(struct blm_filter *, const struct blm_key *, size_t,
					 uint64_t *))
{
	for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
		struct blm_filter *a = make(kind), *b = make(kind), *without_bits = make(kind);
		struct blm_key *keys = batch_with_duplicates(a, counts[c]);
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
		int first = blm_claim(f, key(f, i), 8);

		ck_assert_int_ge(first, 0);
		won += (uint64_t)first;
		ck_assert(blm_contains(f, key(f, i), 8));
		ck_assert_int_eq(blm_claim(f, key(f, i), 8), 0);
		ck_assert_int_eq(blm_add(f, key(f, i), 8), counts_adds(kind_of(_i)));
	}
	ck_assert_uint_ge(won, N * 99 / 100);	/* the rest seemed to be there */
	for (uint64_t i = N; i < N + 100; i++) {
		blm_add(f, key(f, i), 8);
		ck_assert_int_eq(blm_claim(f, key(f, i), 8), 0);
	}
	blm_close(f);
}
END_TEST

/* ---- Removing ---- */

static uint64_t take_out(struct blm_filter *f, uint64_t from, uint64_t to)
{
	struct blm_key *keys = keys_from(f, from, to);
	int64_t gone = blm_remove_many(f, keys, to - from, NULL);

	ck_assert_msg(gone >= 0, "%s", blm_error_message());
	free(keys);
	return (uint64_t)gone;
}

START_TEST(a_removed_key_is_gone_and_the_others_stay)
{
	struct blm_filter *f = make(kind_of(_i));

	fill(f, 0, N);
	for (uint64_t i = 0; i < N / 2; i++)
		ck_assert_int_eq(blm_remove(f, key(f, i), 8), 1);
	ck_assert_uint_eq(found(f, N / 2, N), N - N / 2);
	ck_assert_uint_le(found(f, 0, N / 2), N / 20);
	ck_assert_uint_eq(info(f).keys, N - N / 2);
	blm_close(f);
}
END_TEST

START_TEST(once_all_keys_are_removed_nothing_is_found)
{
	struct blm_filter *f = make(kind_of(_i));

	fill(f, 0, N);
	ck_assert_uint_eq(take_out(f, 0, N), N);
	ck_assert_uint_eq(found(f, 0, 100 * N), 0);
	ck_assert_uint_eq(info(f).keys, 0);
	blm_close(f);
}
END_TEST

START_TEST(a_key_that_is_not_there_is_not_removed_and_nothing_changes)
{
	struct blm_filter *f = make(kind_of(_i)), *before;
	uint64_t denied = 0;

	fill(f, 0, N);
	ck_assert_int_eq(blm_copy(&before, NULL, a_path(), f, 0), 0);
	for (uint64_t i = N; i < 2 * N; i++)
		if (!blm_contains(f, key(f, i), 8)) {
			ck_assert_int_eq(blm_remove(f, key(f, i), 8), 0);
			denied++;
		}
	ck_assert_uint_ge(denied, N * 95 / 100);
	same_data(f, before);
	ck_assert_uint_eq(info(f).keys, info(before).keys);
	blm_close(f), blm_close(before);
}
END_TEST

static int take_one(struct blm_filter *f, const void *bytes, size_t len)
{
	return blm_remove(f, bytes, len);
}

START_TEST(removing_many_is_removing_each)
{
	many_is_each(kind_of(_i), take_one, blm_remove_many);
}
END_TEST

START_TEST(a_removed_key_can_be_added_again)
{
	struct blm_filter *f = make(kind_of(_i));

	for (int round = 0; round < 3; round++) {
		fill(f, 0, N);
		ck_assert_uint_eq(found(f, 0, N), N);
		ck_assert_uint_eq(take_out(f, 0, N), N);
	}
	ck_assert_uint_eq(found(f, 0, N), 0);
	blm_close(f);
}
END_TEST

/* ---- Values ---- */

static uint64_t value_for(uint64_t i)
{
	return 1 + mixed(i) % 200;
}

static void put_range(struct blm_filter *f, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		ck_assert_msg(blm_put(f, &i, 8, value_for(i)) >= 0, "%s", blm_error_message());
}

START_TEST(every_key_that_was_put_has_a_value_and_others_at_the_filters_rate)
{
	struct blm_filter *f = make(kind_of(_i)), *again;
	uint64_t value, exact = 0, absent = 0;

	put_range(f, 0, N);
	ck_assert_uint_eq(found(f, 0, N), N);
	again = reopen(f, false);
	for (uint64_t i = 0; i < N; i++) {
		ck_assert_int_eq(blm_get(again, &i, 8, &value), 1);
		exact += value == value_for(i);
	}
	ck_assert_uint_ge(exact, N * 95 / 100);
	for (uint64_t i = N; i < 11 * N; i++) {
		int r = blm_get(f, &i, 8, &value);

		ck_assert_int_eq(r, blm_contains(f, &i, 8));
		absent += (uint64_t)r;
	}
	ck_assert_uint_le(absent, 10 * N / 80);
	FAILS(blm_put(again, "x", 1, 1), -EBADF);
	blm_close(f), blm_close(again);
}
END_TEST

START_TEST(putting_and_getting_many_is_putting_and_getting_each)
{
	for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
		struct blm_filter *a = make(kind_of(_i)), *b = make(kind_of(_i));
		struct blm_key *keys = batch_with_duplicates(a, counts[c]);
		uint64_t values[1001], got[1001], bits[18], yes = 0;
		bool each[1001];

		memset(bits, 0x5a, sizeof(bits));
		for (size_t i = 0; i < counts[c]; i++) {
			values[i] = value_for(i);
			each[i] = blm_put(a, keys[i].bytes, keys[i].len, values[i]) == 1;
			yes += each[i];
		}
		bits_are(bits, counts[c], each, blm_put_many(b, keys, values, counts[c], bits),
			 (int64_t)yes);
		same_data(a, b);
		ck_assert_uint_eq(info(a).keys, info(b).keys);
		memset(got, 0x77, sizeof(got));
		for (size_t i = 0; i < counts[c]; i++)
			keys[i] = i % 2 ? keys[i] : (struct blm_key){ "absent", i % 7 };
		ck_assert_int_ge(blm_get_many(b, keys, counts[c], got, bits), 0);
		for (size_t i = 0; i < counts[c]; i++) {
			uint64_t value = UINT64_C(0x7777777777777777);

			ck_assert_int_eq(blm_get(a, keys[i].bytes, keys[i].len, &value),
					 bits[i / 64] >> i % 64 & 1);
			ck_assert_uint_eq(got[i], value);
		}
		free(keys);
		blm_close(a), blm_close(b);
	}
}
END_TEST

START_TEST(the_union_is_byte_for_byte_the_filter_of_all_values)
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

/* ---- Hashes ---- */

START_TEST(hashes_give_the_same_answers_as_keys)
{
	for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
		struct blm_filter *a = make(kind_of(_i)), *b = make(kind_of(_i));
		struct blm_key *keys = batch_with_duplicates(a, counts[c]);
		struct blm_hash hashes[1001];
		uint64_t x[17] = { 0 }, y[17] = { 0 }, id = blm_hash_id(a);

		ck_assert_uint_eq(id, blm_hash_id(b));
		fill(a, 0, N), fill(b, 0, N);
		ck_assert_int_eq(blm_hash_many(b, keys, counts[c], hashes), 0);
		ck_assert_int_eq(blm_contains_many(a, keys, counts[c], x),
				 blm_contains_hashes(b, id, hashes, counts[c], y));
		ck_assert_mem_eq(x, y, sizeof(x));
		if (kind_of(_i)->claim) {
			ck_assert_int_eq(blm_claim_many(a, keys, counts[c] / 2, x),
					 blm_claim_hashes(b, id, hashes, counts[c] / 2, y));
			ck_assert_mem_eq(x, y, sizeof(x));
		}
		ck_assert_int_eq(blm_add_many(a, keys, counts[c], x),
				 blm_add_hashes(b, id, hashes, counts[c], y));
		ck_assert_mem_eq(x, y, sizeof(x));
		same_data(a, b);
		free(keys);
		blm_close(a), blm_close(b);
	}
}
END_TEST

/* ---- Keys of one width ---- */

/*
 * As many keys of any one width, with duplicates, and the same as (pointer, length); not aligned.
 */
static void keys_of_one_width(uint8_t *bytes, struct blm_key *keys, size_t width, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t number = N / 2 + i % 900 * 7;

		for (size_t b = 0; b < width; b++)
			bytes[i * width + b] = b < 8 ? (uint8_t)(number >> 8 * b)
						     : (uint8_t)(number + b);
		keys[i] = (struct blm_key){ bytes + i * width, width };
	}
}

static void fixed_is_many(struct blm_filter *a, struct blm_filter *b, size_t width, size_t count,
			  uint8_t *bytes)
{
	struct blm_key keys[1001];
	uint64_t x[17] = { 0 }, y[17] = { 0 };

	keys_of_one_width(bytes, keys, width, count);
	if (info(a).can & BLM_CAN_CLAIM) {
		ck_assert_int_eq(blm_claim_many(a, keys, count / 3, x),
				 blm_claim_fixed(b, bytes, width, count / 3, y));
		ck_assert_mem_eq(x, y, sizeof(x));
	}
	ck_assert_int_eq(blm_contains_many(a, keys, count, x),
			 blm_contains_fixed(b, bytes, width, count, y));
	ck_assert_mem_eq(x, y, sizeof(x));
	ck_assert_int_eq(blm_add_many(a, keys, count, x), blm_add_fixed(b, bytes, width, count, y));
	ck_assert_mem_eq(x, y, sizeof(x));
	ck_assert_int_eq(blm_contains_fixed(b, bytes, width, count, NULL), (int64_t)count);
	same_data(a, b);
	if (!(info(a).can & BLM_CAN_REMOVE))
		ck_assert_int_eq(blm_add_fixed(b, bytes, width, count, NULL), 0);
}

START_TEST(keys_of_one_width_give_the_same_answers_as_keys_of_any_length)
{
	static const size_t widths[] = { 0, 1, 3, 4, 7, 8, 12, 16, 17, 20, 32, 33, 64, 300 };
	struct blm_filter *first = make(kind_of(_i));
	uint8_t *bytes = malloc(1001 * 300 + 1);

	for (size_t w = 0; w < ARRAY_LEN(widths) && widths[w] <= longest(first); w++)
		for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
			/* other pairs for each kind */
			if (is_left_out((int)(w + c + (size_t)_i)))
				continue;
			/* not sized anew, which takes longest where numbers are slow */
			struct blm_filter *a = twin(first), *b = twin(first);

			fixed_is_many(a, b, widths[w], counts[c], bytes + 1);
			blm_close(a), blm_close(b);
		}
	blm_close(first);
	free(bytes);
}
END_TEST

/* ---- Packed keys ---- */

/*
 * Keys of lengths 0 to 20, few of them twice: in one buffer that begins at an odd address, and the
 * same as (pointer, length). The first offset is above 0.
 */
static void pack(uint8_t *data, uint8_t *offsets, size_t offset_bytes, struct blm_key *keys,
		 size_t count, size_t most)
{
	size_t at = 5;

	for (size_t i = 0; i <= count; i++) {
		const uint64_t wide = at, number = N / 2 + i % 900 * 7;
		const uint32_t narrow = (uint32_t)at;
		const size_t len = i % 900 ? 2 + i % 900 % (most - 1) : 0;

		memcpy(offsets + i * offset_bytes,
		       offset_bytes == 8 ? (const void *)&wide : &narrow, offset_bytes);
		if (i == count)
			return;
		for (size_t b = 0; b < len; b++)
			data[at + b] = b < 8 ? (uint8_t)(number >> 8 * b) : (uint8_t)(number + b);
		keys[i] = (struct blm_key){ data + at, len };
		at += len;
	}
}

static void packed_is_many(struct blm_filter *a, struct blm_filter *b, size_t offset_bytes,
			   size_t count)
{
	uint8_t *data = malloc(1001 * 21), *offsets = malloc(1002 * 8 + 1);
	struct blm_key keys[1001];
	uint64_t x[17] = { 0 }, y[17] = { 0 };

	pack(data + 1, offsets + 1, offset_bytes, keys, count, longest(a) < 20 ? longest(a) : 20);
	if (info(a).can & BLM_CAN_CLAIM) {
		ck_assert_int_eq(blm_claim_many(a, keys, count / 3, x),
				 blm_claim_packed(b, data + 1, offsets + 1, offset_bytes, count / 3,
						  y));
		ck_assert_mem_eq(x, y, sizeof(x));
	}
	ck_assert_int_eq(blm_contains_many(a, keys, count, x),
			 blm_contains_packed(b, data + 1, offsets + 1, offset_bytes, count, y));
	ck_assert_mem_eq(x, y, sizeof(x));
	ck_assert_int_eq(blm_add_many(a, keys, count, x),
			 blm_add_packed(b, data + 1, offsets + 1, offset_bytes, count, y));
	ck_assert_mem_eq(x, y, sizeof(x));
	ck_assert_int_eq(blm_contains_packed(b, data + 1, offsets + 1, offset_bytes, count, NULL),
			 (int64_t)count);
	same_data(a, b);
	if (info(a).can & BLM_CAN_REMOVE) {
		ck_assert_int_eq(blm_remove_many(a, keys, count / 2, x),
				 blm_remove_packed(b, data + 1, offsets + 1, offset_bytes,
						   count / 2, y));
		ck_assert_mem_eq(x, y, sizeof(x));
		same_data(a, b);
	}
	free(data), free(offsets);
}

START_TEST(packed_keys_give_the_same_answers_as_keys_of_any_length)
{
	struct blm_filter *first = make(kind_of(_i));

	for (size_t bytes = 4; bytes <= 8; bytes += 4)
		for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
			if (is_left_out((int)(c + bytes / 4 + (size_t)_i)))
				continue;
			struct blm_filter *a = twin(first), *b = twin(first);

			packed_is_many(a, b, bytes, counts[c]);
			blm_close(a), blm_close(b);
		}
	blm_close(first);
}
END_TEST

START_TEST(offsets_that_make_no_keys_are_refused)
{
	static const int32_t back[] = { 0, 3, 2, 4 }, negative[] = { -1, 3, 4, 4 },
			     end[] = { 0, 1, 2, INT32_MIN }, none[] = { 0, 0 };
	static const int64_t wide[] = { 0, INT64_MAX, INT64_MIN, 4 };
	struct blm_filter *f = make(kind_of(_i));
	uint64_t bits = 7;

	ck_assert_int_eq(blm_add_packed(f, "abcd", back, 4, 3, &bits), -EINVAL);
	ck_assert_ptr_nonnull(
		strstr(blm_error_message(), "offsets: number 2 is 2, and the one before it is 3"));
	ck_assert_int_eq(blm_claim_packed(f, "abcd", negative, 4, 3, &bits), -EINVAL);
	ck_assert_int_eq(blm_contains_packed(f, "abcd", end, 4, 3, &bits), -EINVAL);
	ck_assert_int_eq(blm_remove_packed(f, "abcd", wide, 8, 3, &bits), -EINVAL);
	ck_assert_int_eq(blm_add_packed(f, "abcd", back, 2, 3, &bits), -EINVAL);
	ck_assert_int_eq(blm_add_packed(f, "abcd", NULL, 4, 3, &bits), -EINVAL);
	ck_assert_int_eq(blm_add_packed(f, "abcd", back, 4, SIZE_MAX, &bits), -EINVAL);
	ck_assert_uint_eq(bits, 7);
	ck_assert_uint_eq(info(f).keys, 0);
	ck_assert_int_eq(blm_add_packed(f, NULL, NULL, 4, 0, NULL), 0);
	ck_assert_int_eq(blm_add_packed(f, NULL, none, 4, 1, NULL), 1);
	ck_assert(blm_contains(f, NULL, 0));
	blm_close(f);
}
END_TEST

START_TEST(keys_of_one_width_have_the_same_hashes_as_keys_of_any_length)
{
	static const size_t widths[] = { 0, 1, 4, 8, 16, 17, 32, 100 };
	struct blm_filter *f = make(kind_of(_i));
	struct blm_hash x[100], y[100];
	struct blm_key keys[100];
	uint8_t bytes[100 * 100];

	for (size_t w = 0; w < ARRAY_LEN(widths); w++) {
		keys_of_one_width(bytes, keys, widths[w], 100);
		ck_assert_int_eq(blm_hash_many(f, keys, 100, x), 0);
		ck_assert_int_eq(blm_hash_fixed(f, bytes, widths[w], 100, y), 0);
		ck_assert_mem_eq(x, y, sizeof(x));
	}
	ck_assert_int_eq(blm_contains_fixed(f, NULL, 0, 3, NULL), 0);
	ck_assert_int_eq(blm_add_fixed(f, NULL, 0, 3, NULL), counts_adds(kind_of(_i)) ? 3 : 1);
	ck_assert_int_eq(blm_hash_fixed(f, NULL, 0, 1, y), 0);
	ck_assert_int_eq(blm_hash_many(f, &(struct blm_key){ NULL, 0 }, 1, x), 0);
	ck_assert_mem_eq(x, y, sizeof(*y));
	blm_close(f);
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
	struct blm_filter *f = create(
		BLM_PARAMS(.kind = kind_of(_i)->name, .hash = "murmur3-bip37", .capacity = N));
	struct blm_hash hash = { 1, 2 };

	ck_assert_int_eq(blm_hash_many(f, &(struct blm_key){ "x", 1 }, 1, &hash), -EOPNOTSUPP);
	ck_assert_int_eq(blm_hash_fixed(f, "x", 1, 1, &hash), -EOPNOTSUPP);
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

START_TEST(the_union_is_byte_for_byte_the_filter_of_all_keys)
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

START_TEST(a_result_above_the_highest_rate_is_refused_and_nothing_changes)
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
	const char *why = blm_error_message();

	ck_assert_int_eq(r, -EMEDIUMTYPE);
	why = strstr(why, d->field);
	ck_assert_msg(why && strstr(why, d->a) && strstr(why, d->b), "%s %s %s is not in: %s",
		      d->field, d->a, d->b, blm_error_message());
}

START_TEST(filters_that_differ_do_not_combine_and_the_field_and_both_values_are_named)
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

START_TEST(filters_of_different_kinds_do_not_combine_and_both_are_named)
{
	const struct blm_kind *kind = kind_of(_i), *other = blm_kind_at(_i == 0);
	struct blm_filter *a = make_shaped(kind, &(struct difference){ 0 }),
			  *b = make_shaped(other, &(struct difference){ 0 });

	refused(a, b, blm_same_template(a, b),
		&(struct difference){ .field = "kind:", .a = kind->name, .b = other->name });
	blm_close(a), blm_close(b);
}
END_TEST

START_TEST(filters_of_different_tweaks_do_not_combine_and_both_are_named)
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

START_TEST(a_filter_of_nothing_but_ones_says_yes_and_that_it_is_saturated)
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
		ck_assert_double_eq(e.rate.value, 1);
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

START_TEST(the_estimated_overlap_of_two_filters_is_theirs_within_4_standard_errors)
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
	ck_assert_int_eq(blm_add_fixed(r, "x", 1, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_claim_fixed(r, "x", 1, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_add_packed(r, "x", (int32_t []){ 0, 1 }, 4, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_claim_packed(r, "x", (int32_t []){ 0, 1 }, 4, 1, NULL), -EBADF);
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
	struct blm_info x = BLM_INFO, y = BLM_INFO;
	uint64_t yes;
	char path[600];

	fill(a, 0, N);
	yes = found(a, 0, 20 * N);
	x = info(a);
	snprintf(path, sizeof(path), "%s", a->place.display);
	blm_close(a);
	ck_assert_int_eq(blm_open(&b, NULL, path, 0), 0);
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
		blm_add(f, key(f, i), 8);
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
static void robbed(const struct blm_kind *kind, size_t member, unsigned can,
		   int (*change)(struct blm_filter *))
{
	struct blm_filter *f = make(kind);
	struct blm_kind *less = malloc(sizeof(*less));

	*less = *kind;
	memset((char *)less + member, 0,
	       member == offsetof(struct blm_kind, fold_bits) ? sizeof(less->fold_bits)
							      : sizeof(void (*)(void)));
	current_view(f)->part[0].kind = current_view(f)->whole.kind = less;
	ck_assert_uint_eq(blm_kind_can(less) & can, 0);
	if (blm_kind_can(kind) & can)
		ck_assert_uint_eq(blm_kind_can(kind) & ~blm_kind_can(less) & can, can);
	ck_assert_int_eq(change(f), -EOPNOTSUPP);
	blm_close(f);
	free(less);
}

static int try_remove(struct blm_filter *f) { return blm_remove(f, "x", 1); }
static int try_put(struct blm_filter *f) { return blm_put(f, "x", 1, 1); }
static int try_get(struct blm_filter *f) { return blm_get(f, "x", 1, &(uint64_t){ 0 }); }
static int try_add(struct blm_filter *f) { return blm_add(f, "x", 1); }
static int try_claim(struct blm_filter *f) { return blm_claim(f, "x", 1); }
static int try_estimate(struct blm_filter *f)
{
	return blm_estimate(f, true, &(struct blm_estimate){ 0 });
}
static int try_compare(struct blm_filter *f)
{
	return blm_compare(f, f, &(struct blm_comparison){ 0 });
}

static int try_fold(struct blm_filter *f)
{
	struct blm_filter *folded;

	return blm_fold(&folded, NULL, a_path(), f, 1, 0);
}

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
	/* composite kinds leave the census to their parts */
	size_t counting = kind_of(_i)->counts ? offsetof(struct blm_kind, counts)
					      : offsetof(struct blm_kind, tally);

	robbed(kind_of(_i), offsetof(struct blm_kind, add), BLM_CAN_ADD, try_add);
	robbed(kind_of(_i), offsetof(struct blm_kind, remove), BLM_CAN_REMOVE, try_remove);
	robbed(kind_of(_i), offsetof(struct blm_kind, put), BLM_CAN_PUT, try_put);
	robbed(kind_of(_i), offsetof(struct blm_kind, get), BLM_CAN_GET, try_get);
	robbed(kind_of(_i), offsetof(struct blm_kind, claim), BLM_CAN_CLAIM, try_claim);
	robbed(kind_of(_i), offsetof(struct blm_kind, unite), BLM_CAN_UNION, try_union);
	robbed(kind_of(_i), offsetof(struct blm_kind, intersect), BLM_CAN_INTERSECT,
	       try_intersection);
	if (kind_of(_i)->fold_bits)
		robbed(kind_of(_i), offsetof(struct blm_kind, fold_bits), BLM_CAN_FOLD, try_fold);
	robbed(kind_of(_i), counting, BLM_CAN_ESTIMATE, try_estimate);
	robbed(kind_of(_i), counting, BLM_CAN_ESTIMATE, try_compare);
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
		ck_assert(blm_kind_at(i)->batch % 64 == 0
			  && BLM_BATCH_LARGE % kind_batch(blm_kind_at(i)) == 0);
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
	ck_assert_ptr_eq(blm_family_by_name("mm3-64"), blm_family_by_name("mm3_64"));
	ck_assert_ptr_eq(blm_family_by_name("murmur3_bip37"), blm_family_by_name("murmur3-bip37"));
	ck_assert_ptr_null(blm_family_by_name("mm3_"));
	ck_assert_ptr_null(blm_family_by_name("mm3_64_"));
	ck_assert_ptr_null(blm_family_by_name(""));
}
END_TEST

START_TEST(a_folded_filter_is_the_one_that_was_made_small_of_the_same_keys)
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
START_TEST(a_folded_filter_of_few_keys_is_the_small_one_of_them)
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

START_TEST(what_does_not_divide_the_blocks_cannot_be_folded_by)
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

static bool takes_family(const struct blm_kind *kind)
{
	return kind_takes(kind, blm_family_by_name(family)) || !strcmp(family, BLM_DEFAULT_HASH);
}

START_TEST(a_built_filter_is_the_one_that_keys_were_added_to)
{
	struct blm_filter *added = make_for(kind_of(_i), 2 * N, 7, 0.01), *built;
	struct blm_key *keys = keys_from(added, 0, 2 * N);
	struct blm_info i = info(added);
	struct blm_params params = BLM_PARAMS(.kind = i.kind, .hash = i.hash, .cells = i.cells,
					      .probes = i.probes, .capacity = i.capacity,
					      .rate = i.rate, .seeds = i.seeds,
					      .seed_count = i.seed_count, .options = i.options);
	struct blm_build *b;

	fill(added, 0, 2 * N);
	ck_assert_msg(blm_build_begin(&b, NULL, a_path(), &params, NULL) == 0, "%s",
		      blm_error_message());
	ck_assert_int_eq(blm_build_add_many(b, keys, 2 * N), 0);
	ck_assert_int_eq(blm_build_finish(b, &built), 0);
	same_data(built, added);
	ck_assert_uint_eq(info(built).keys, info(added).keys);
	ck_assert(!info(built).dirty);
	free(keys);
	blm_close(built);
	blm_close(added);
}
END_TEST

/* Run a law for kind i if that can do all of `needs` and none of `never`. */
#define LAW(test, needs, never) \
	if ((blm_kind_can(kind_of(i)) & ((needs) | (never))) == (needs)) \
		tcase_add_loop_test(tc, test, i, i + 1)

static void add_laws(TCase *tc, int i)
{
	LAW(an_empty_filter_contains_nothing, 0, 0);
	LAW(every_added_key_is_found, BLM_CAN_ADD, BLM_FORGETS);
	LAW(at_capacity_the_false_positive_rate_is_as_planned, BLM_CAN_ADD, BLM_EXACT);
	LAW(beyond_capacity_a_filter_still_takes_keys_and_finds_them, BLM_CAN_ADD | BLM_CAN_UNION,
	    BLM_FORGETS);
	LAW(the_count_of_keys_is_how_many_adds_and_claims_changed_the_filter,
	    BLM_CAN_ADD | BLM_CAN_UNION, BLM_FORGETS | BLM_CAN_REMOVE);
	LAW(asking_for_many_is_asking_for_each, BLM_CAN_ADD, 0);
	LAW(adding_many_is_adding_each, BLM_CAN_ADD, 0);
	LAW(a_built_filter_is_the_one_that_keys_were_added_to, BLM_CAN_ADD, BLM_FORGETS);
	LAW(claiming_many_is_claiming_each, BLM_CAN_ADD | BLM_CAN_CLAIM, 0);
	LAW(keys_of_one_width_give_the_same_answers_as_keys_of_any_length, BLM_CAN_ADD,
	    BLM_EXACT | BLM_FORGETS | BLM_CAN_ROTATE);
	LAW(a_removed_key_is_gone_and_the_others_stay, BLM_CAN_ADD | BLM_CAN_REMOVE, BLM_FORGETS);
	LAW(once_all_keys_are_removed_nothing_is_found, BLM_CAN_ADD | BLM_CAN_REMOVE, BLM_FORGETS);
	LAW(a_key_that_is_not_there_is_not_removed_and_nothing_changes,
	    BLM_CAN_ADD | BLM_CAN_REMOVE, BLM_FORGETS);
	LAW(removing_many_is_removing_each, BLM_CAN_ADD | BLM_CAN_REMOVE, 0);
	LAW(a_removed_key_can_be_added_again, BLM_CAN_ADD | BLM_CAN_REMOVE, BLM_FORGETS);
	LAW(a_claimed_key_is_won_once, BLM_CAN_ADD | BLM_CAN_CLAIM, BLM_FORGETS);
	LAW(a_template_is_empty_and_combines, BLM_CAN_ADD, 0);
	LAW(a_copy_answers_the_same_under_another_uuid, BLM_CAN_ADD, BLM_FORGETS);
	LAW(the_union_is_byte_for_byte_the_filter_of_all_keys,
	    BLM_CAN_ADD | BLM_CAN_UNION | BLM_CAN_ESTIMATE, BLM_CAN_REMOVE);
	LAW(the_intersection_holds_every_common_key, BLM_CAN_ADD | BLM_CAN_INTERSECT, BLM_FORGETS);
	LAW(an_intersection_in_place_is_seen_by_handles_opened_before,
	    BLM_CAN_ADD | BLM_CAN_INTERSECT, 0);
	LAW(a_result_above_the_highest_rate_is_refused_and_nothing_changes,
	    BLM_CAN_ADD | BLM_CAN_UNION, BLM_EXACT);
	LAW(a_filter_of_nothing_but_ones_says_yes_and_that_it_is_saturated,
	    BLM_CAN_ADD | BLM_CAN_ESTIMATE, BLM_EXACT | BLM_FORGETS);
	LAW(an_empty_filter_is_estimated_empty, BLM_CAN_ESTIMATE, 0);
	LAW(estimates_lie_within_4_standard_errors_over_40_seeds,
	    BLM_CAN_ADD | BLM_CAN_ESTIMATE, BLM_EXACT | BLM_CAN_ROTATE);
	LAW(the_estimated_overlap_of_two_filters_is_theirs_within_4_standard_errors,
	    BLM_CAN_ADD | BLM_CAN_ESTIMATE, BLM_CAN_ROTATE);
	LAW(every_key_that_was_put_has_a_value_and_others_at_the_filters_rate,
	    BLM_CAN_PUT | BLM_CAN_GET, BLM_FORGETS | BLM_CAN_ADVANCE);
	LAW(putting_and_getting_many_is_putting_and_getting_each, BLM_CAN_PUT | BLM_CAN_GET,
	    BLM_CAN_ADVANCE);
	LAW(the_union_is_byte_for_byte_the_filter_of_all_values, BLM_CAN_PUT | BLM_CAN_UNION,
	    BLM_CAN_ADVANCE);
	LAW(a_reopened_filter_answers_the_same, BLM_CAN_ADD, 0);
	LAW(an_add_makes_a_filter_dirty_and_a_sync_clean, BLM_CAN_ADD, 0);
}

/* Those that look at the family itself. */
static void add_laws_of_families(TCase *tc, int i)
{
	LAW(every_hash_family_that_a_kind_takes_serves_it, BLM_CAN_ADD, BLM_FORGETS);
	LAW(packed_keys_give_the_same_answers_as_keys_of_any_length, BLM_CAN_ADD,
	    BLM_EXACT | BLM_FORGETS | BLM_CAN_ROTATE);
	LAW(offsets_that_make_no_keys_are_refused, BLM_CAN_ADD, BLM_EXACT);
	LAW(hashes_give_the_same_answers_as_keys, BLM_CAN_ADD, BLM_CAN_LIST);
	LAW(keys_of_one_width_have_the_same_hashes_as_keys_of_any_length, BLM_CAN_ADD,
	    BLM_EXACT | BLM_FORGETS);
	LAW(hashes_of_another_seed_are_refused, BLM_CAN_ADD | BLM_CAN_CLAIM, BLM_EXACT);
	LAW(filters_that_differ_do_not_combine_and_the_field_and_both_values_are_named,
	    BLM_CAN_ADD | BLM_CAN_UNION | BLM_CAN_INTERSECT | BLM_CAN_ESTIMATE, 0);
	LAW(filters_of_different_kinds_do_not_combine_and_both_are_named, BLM_CAN_UNION, 0);
	LAW(a_folded_filter_is_the_one_that_was_made_small_of_the_same_keys,
	    BLM_CAN_ADD | BLM_CAN_FOLD, 0);
	LAW(a_folded_filter_of_few_keys_is_the_small_one_of_them, BLM_CAN_ADD | BLM_CAN_FOLD, 0);
	LAW(what_does_not_divide_the_blocks_cannot_be_folded_by, BLM_CAN_FOLD, 0);
	LAW(a_read_only_handle_refuses_every_change,
	    BLM_CAN_ADD | BLM_CAN_CLAIM | BLM_CAN_UNION | BLM_CAN_INTERSECT, 0);
	LAW(what_a_kind_cannot_do_it_refuses, 0, 0);
	if (kind_of(i)->every_family) {
		tcase_add_loop_test(tc, a_family_that_hashes_for_each_probe_has_no_hashes_to_give,
				    i, i + 1);
		tcase_add_loop_test(tc,
				    filters_of_different_tweaks_do_not_combine_and_both_are_named,
				    i, i + 1);
	}
}

static void hash_for_each_probe(void)
{
	family = "mm3_64";
}

static void hash_once(void)
{
	family = "xxh3";
}

static int remove_below(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type;
	return at->level ? remove(path) : 0;
}

/* All that the laws leave comes to half a gigabyte. */
static void empty_folder(void)
{
	nftw(test_dir, remove_below, 16, FTW_DEPTH | FTW_PHYS);
}

/* The laws of each kind are a case, which has its name. */
int main(void)
{
	Suite *s = (prefer_memory(), begin_suite("kind"));
	TCase *registry = tcase_create("registry");

	for (int i = 0; kind_of(i); i++) {
		TCase *laws = tcase_create(kind_of(i)->name);

		add_laws(laws, i);
		add_laws_of_families(laws, i);
		tcase_add_checked_fixture(laws, NULL, empty_folder);
		suite_add_tcase(s, laws);
	}
	hash_for_each_probe();
	for (int i = 0; kind_of(i); i++) {
		TCase *by_probe = tcase_create("with a hash for each probe");

		if (takes_family(kind_of(i)))
			add_laws(by_probe, i);
		tcase_add_checked_fixture(by_probe, hash_for_each_probe, hash_once);
		tcase_add_checked_fixture(by_probe, NULL, empty_folder);
		suite_add_tcase(s, by_probe);
	}
	hash_once();
	tcase_add_test(registry, ids_and_names_of_kinds_are_unique_and_lead_back_to_them);
	tcase_add_test(registry, ids_and_names_of_hash_families_are_unique_and_lead_back_to_them);
	suite_add_tcase(s, registry);
	return run_suite(s);
}
