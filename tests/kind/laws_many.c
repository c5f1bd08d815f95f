/* laws_many.c - many keys at once are as each of them, in every form that callers give (laws.h) */
#include "laws.h"

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
		keys[i] = keys[current_view(f)->root.kind->fills ? i - 2 : i / 2];
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

static int take_one(struct blm_filter *f, const void *bytes, size_t len)
{
	return blm_remove(f, bytes, len);
}

START_TEST(removing_many_is_removing_each)
{
	many_is_each(kind_of(_i), take_one, blm_remove_many);
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

START_TEST(keys_of_one_width_get_the_general_answers)
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

START_TEST(packed_keys_get_the_general_answers)
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
	ck_assert_int_eq(blm_add_packed(f, "abcd", back, 4, SIZE_MAX / 4, &bits), -EINVAL);
	ck_assert_int_eq(blm_add_packed(f, "abcd", back, 4, PTRDIFF_MAX / 4, &bits), -EINVAL);
	ck_assert_int_eq(blm_add_packed(f, NULL, end, 4, 2, &bits), -EINVAL);
	ck_assert_uint_eq(bits, 7);
	ck_assert_uint_eq(info(f).keys, 0);
	ck_assert_int_eq(blm_add_packed(f, NULL, NULL, 4, 0, NULL), 0);
	ck_assert_int_eq(blm_add_packed(f, NULL, none, 4, 1, NULL), 1);
	ck_assert(blm_contains(f, NULL, 0));
	blm_close(f);
}
END_TEST

START_TEST(keys_of_one_width_get_the_general_hashes)
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

START_TEST(a_family_that_hashes_each_probe_gives_no_hashes)
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

/* ---- The laws ---- */

static void add_laws(TCase *tc, int i)
{
	LAW(asking_for_many_is_asking_for_each, BLM_CAN_ADD, 0);
	LAW(adding_many_is_adding_each, BLM_CAN_ADD, 0);
	LAW(claiming_many_is_claiming_each, BLM_CAN_ADD | BLM_CAN_CLAIM, 0);
	LAW(keys_of_one_width_get_the_general_answers, BLM_CAN_ADD,
	    BLM_EXACT | BLM_FORGETS | BLM_CAN_ROTATE);
	LAW(removing_many_is_removing_each, BLM_CAN_ADD | BLM_CAN_REMOVE, 0);
	LAW(a_claimed_key_is_won_once, BLM_CAN_ADD | BLM_CAN_CLAIM, BLM_FORGETS);
	LAW(putting_and_getting_many_is_putting_and_getting_each, BLM_CAN_PUT | BLM_CAN_GET,
	    BLM_CAN_ADVANCE);
}

/* Those that look at the family itself. */
static void add_laws_of_families(TCase *tc, int i)
{
	LAW(packed_keys_get_the_general_answers, BLM_CAN_ADD,
	    BLM_EXACT | BLM_FORGETS | BLM_CAN_ROTATE);
	LAW(offsets_that_make_no_keys_are_refused, BLM_CAN_ADD, BLM_EXACT);
	LAW(hashes_give_the_same_answers_as_keys, BLM_CAN_ADD, BLM_CAN_LIST);
	LAW(keys_of_one_width_get_the_general_hashes, BLM_CAN_ADD,
	    BLM_EXACT | BLM_FORGETS);
	LAW(hashes_of_another_seed_are_refused, BLM_CAN_ADD | BLM_CAN_CLAIM, BLM_EXACT);
	if (kind_of(i)->every_family)
		tcase_add_loop_test(tc, a_family_that_hashes_each_probe_gives_no_hashes,
				    i, i + 1);
}

int main(void)
{
	Suite *s = (prefer_memory(), begin_suite("kind: many keys"));

	add_all_laws(s, add_laws, add_laws_of_families);
	return run_suite(s);
}
