/*
 * single.c - calls with one key: hash and probes in one function say, and change, what a family and
 * a kind do one after the other
 */
#include "handle/handle.h"
#include "suite.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- The functions, by each instruction set ---- */

static const char *const kinds[] = { "blocked", "split-block", "classic" };
static const char *const families[] = { "xxh3", "siphash", "xxh64", "xxh3-64" };

/* The pairs that a call with one key hashes and probes in one function. */
static bool has_function(const char *kind, const char *family)
{
	if (!strcmp(kind, "classic"))
		return strcmp(family, "xxh3-64") != 0;
	return strcmp(kind, "blocked") != 0 || strcmp(family, "xxh64") != 0;
}

static const uint8_t secret[BLM_SECRET_BYTES] = "sixteen of bytes";

/* A part and a hasher, twice: for the functions, and for the pointers. */
struct twin {
	uint64_t seed;
	struct blm_hasher by;
	struct blm_part part[2];
	struct blm_one one;
};

static bool make_twin(struct twin *t, const char *kind, const char *family, uint64_t keys,
		      double rate, const struct blm_simd *simd)
{
	const struct blm_kind *k = blm_kind_by_name(kind);
	struct blm_shape shape = { 0 };

	*t = (struct twin){ .seed = UINT64_C(0x123456789abcdef1),
			    .by = { .family = blm_family_by_name(family) } };
	if (!kind_takes(k, t->by.family)
	    || k->plan(&shape, &BLM_PARAMS(.capacity = keys, .rate = rate)) < 0)
		return false;
	t->by.seed_count = family_seeds(t->by.family, shape.probes);
	t->by.seeds = &t->seed;
	t->by.secret = secret;
	for (int i = 0; i < 2; i++) {
		t->part[i] = (struct blm_part){ .kind = k,
						.simd = simd,
						.shape = shape,
						.bytes = aligned_alloc(64, shape.bytes) };
		ck_assert_ptr_nonnull(t->part[i].bytes);
		memset(t->part[i].bytes, 0, shape.bytes);
		t->part[i].marks = calloc(1, (shape.bytes >> BLM_MARKED_SHIFT) + 1);
		ck_assert_ptr_nonnull(t->part[i].marks);
	}
	blm_one_make(&t->one, &t->part[0], &t->by);
	return true;
}

static void free_twin(struct twin *t)
{
	for (int i = 0; i < 2; i++) {
		free(t->part[i].bytes);
		free(t->part[i].marks);
	}
}

static struct blm_hashed hashed_of(const struct twin *t, const struct blm_key *key)
{
	struct blm_hashed hashed = { .key = key, .by = &t->by };

	t->by.family->hash(&t->by, key, &hashed.hash);
	return hashed;
}

/* The question and the add of one key, by the key and by its hash. */
static void say_the_same(struct twin *t, const void *bytes, size_t len, bool give)
{
	const struct blm_key key = { bytes, len };
	const struct blm_hashed hashed = hashed_of(t, &key);
	bool there = t->part[1].kind->contains(&t->part[1], &hashed);

	ck_assert_int_eq(t->one.contains(&t->one, bytes, len), there);
	ck_assert_int_eq(t->one.contains_hash(&t->one, &hashed.hash), there);
	if (!give)
		return;
	if (len % 3 == 2 && t->one.claim)
		ck_assert_int_eq(t->one.claim(&t->one, &hashed.hash),
				 t->part[1].kind->claim(&t->part[1], &hashed));
	else if (len % 2)
		ck_assert_int_eq(t->one.add(&t->one, bytes, len),
				 t->part[1].kind->add(&t->part[1], &hashed));
	else
		ck_assert_int_eq(t->one.add_hash(&t->one, &hashed.hash),
				 t->part[1].kind->add(&t->part[1], &hashed));
	ck_assert_int_eq(t->one.add(&t->one, bytes, len), 0);
	ck_assert(t->one.contains(&t->one, bytes, len));
}

/* Keys of one width, where there is a loop for them. */
static void many_say_the_same(const struct twin *t)
{
	enum { MOST = 200 };
	uint64_t words[2 * MOST], bits[(MOST + 63) / 64 + 1], random = 9;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = next_random(&random);
	for (size_t width = 8; t->one.contains_fixed && width <= 16; width += 8)
		for (size_t count = 0; count <= MOST; count++) {
			memset(bits, 0x5a, sizeof(bits));
			t->one.contains_fixed(&t->one, (const uint8_t *)words, width, count, bits);
			for (size_t i = 0; i < (count + 63) / 64 * 64; i++)
				ck_assert_int_eq(bits[i / 64] >> i % 64 & 1,
						 i < count
							 && t->one.contains(&t->one,
									    (uint8_t *)words
										    + i * width,
									    width));
			ck_assert_uint_eq(bits[(count + 63) / 64], UINT64_C(0x5a5a5a5a5a5a5a5a));
		}
}

static void of_every_width(struct twin *t)
{
	uint8_t bytes[65];
	uint64_t random = 5;

	for (int turn = 0; turn < (SANITIZED ? 2 : 12); turn++)
		for (size_t len = 0; len < sizeof(bytes); len++) {
			/* the one part by atomic changes or not, the other one by atomic ones */
			t->part[0].unshared = turn / 3 % 2;
			for (size_t i = 0; i < sizeof(bytes); i++)
				bytes[i] = (uint8_t)next_random(&random);
			say_the_same(t, len ? bytes : NULL, len, turn % 3 != 2);
		}
	many_say_the_same(t);
	ck_assert_mem_eq(t->part[0].bytes, t->part[1].bytes, t->part[0].shape.bytes);
	ck_assert_mem_eq(t->part[0].marks, t->part[1].marks,
			 (t->part[0].shape.bytes >> BLM_MARKED_SHIFT) + 1);
}

START_TEST(one_call_does_what_family_and_kind_do)
{
	const struct blm_simd *simd = blm_simd_at((size_t)_i);
	unsigned pairs = 0;

	for (size_t k = 0; simd && k < ARRAY_LEN(kinds); k++)
		for (size_t h = 0; h < ARRAY_LEN(families); h++)
			for (double rate = 0.6; rate > 1e-9; rate /= 7) {
				struct twin t;

				if (!has_function(kinds[k], families[h])
				    || !make_twin(&t, kinds[k], families[h], 300, rate, simd))
					continue;
				ck_assert_msg(t.one.contains && t.one.contains_hash,
					      "%s with %s has no function", kinds[k], families[h]);
				of_every_width(&t);
				free_twin(&t);
				pairs++;
			}
	ck_assert(!simd || pairs >= 10 * 5);
}
END_TEST

/* Every number of probes that a filter may have. */
START_TEST(one_call_makes_as_many_probes_as_the_filter_has)
{
	const struct blm_simd *simd = blm_simd_at((size_t)_i / 2);

	for (uint32_t probes = 1; simd && probes <= BLM_PROBES_MAX;
	     probes += probes < 32 ? 1 : 13) {
		struct twin t;

		ck_assert(make_twin(&t, "blocked", _i % 2 ? "xxh3-64" : "xxh3", 300, 0.01, simd));
		for (int i = 0; i < 2; i++)
			t.part[i].shape.probes = probes;
		blm_one_make(&t.one, &t.part[0], &t.by);
		of_every_width(&t);
		free_twin(&t);
	}
}
END_TEST

START_TEST(other_schemes_are_left_to_family_and_kind)
{
	struct twin t;
	unsigned yes = 0;

	ck_assert(make_twin(&t, "classic", "xxh3", 300, 0.01, blm_simd_best()));
	t.by.scheme = blm_scheme_by_name("double");
	ck_assert_ptr_nonnull(t.by.scheme);
	blm_one_make(&t.one, &t.part[0], &t.by);
	ck_assert_ptr_null(t.one.contains_hash);
	for (uint64_t i = 0; i < 300; i++)
		ck_assert_int_eq(t.one.add(&t.one, &i, sizeof(i)) < 0, 0);
	for (uint64_t i = 0; i < 300; i++)
		ck_assert(t.one.contains(&t.one, &i, sizeof(i)));
	for (uint64_t i = 300; i < 1300; i++)
		yes += t.one.contains(&t.one, &i, sizeof(i));
	ck_assert_uint_lt(yes, 50);
	free_twin(&t);
}
END_TEST

/* Its view must see first whether another process added a part. */
START_TEST(a_kind_that_grows_has_no_function)
{
	struct twin t;

	ck_assert(make_twin(&t, "classic", "xxh3", 300, 0.01, blm_simd_best()));
	t.part[0].kind = blm_kind_by_name("scalable");
	blm_one_make(&t.one, &t.part[0], &t.by);
	ck_assert_ptr_null(t.one.contains);
	free_twin(&t);
}
END_TEST

/* ---- The calls ---- */

static struct blm_filter *make(const char *path, const char *kind, const char *family)
{
	struct blm_params p = BLM_PARAMS(.kind = kind, .hash = family, .capacity = 5000,
					 .rate = 0.01, .seeds = &(uint64_t){ 11 });
	struct blm_hash_info info;
	struct blm_filter *f;

	for (size_t i = 0; blm_hash_list(i, &info) == 0; i++)
		if (!strcmp(info.name, family)) {
			p.secret = info.keyed ? secret : NULL;
			p.seed_count = blm_family_by_name(family)->seeds;
		}
	OK(blm_create(&f, NULL, path, &p));
	return f;
}

static uint64_t counted(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	return info.keys;
}

START_TEST(keys_added_singly_make_the_same_filter_as_a_batch)
{
	for (size_t h = 0; h < ARRAY_LEN(families); h++) {
		struct blm_filter *one, *many;
		int64_t changed = 0, all = 0;

		if (!kind_takes(blm_kind_by_name(kinds[_i]), blm_family_by_name(families[h])))
			continue;
		one = make(NULL, kinds[_i], families[h]);
		many = make(NULL, kinds[_i], families[h]);
		for (uint64_t i = 0; i < 4000; i++) {
			changed += blm_add(one, &i, 1 + i % 8);
			all += blm_add_many(many, &(struct blm_key){ &i, 1 + i % 8 }, 1, NULL);
		}
		ck_assert_int_eq(changed, all);
		ck_assert_uint_eq(counted(one), (uint64_t)changed);
		ck_assert_mem_eq(current_view(one)->part[0].bytes,
				 current_view(many)->part[0].bytes,
				 current_view(one)->part[0].shape.bytes);
		for (uint64_t i = 0; i < 9000; i++)
			ck_assert_int_eq(blm_contains(one, &i, 8),
					 blm_contains_many(many, &(struct blm_key){ &i, 8 }, 1,
							   NULL));
		blm_close(one), blm_close(many);
	}
}
END_TEST

/* Of every kind that there is. */
START_TEST(a_hash_alone_is_what_hashes_of_many_are)
{
	struct blm_kind_info kind;
	struct blm_filter *f, *g;
	uint64_t id;

	if (blm_kind_list((size_t)_i, &kind) < 0 || !(kind.can & BLM_CAN_ADD)
	    || kind.can & (BLM_EXACT | BLM_CAN_LIST))
		return;
	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.kind = kind.name, .capacity = 3000)));
	OK(blm_template(&g, NULL, NULL, f, 0));
	id = blm_hash_id(f);
	for (uint64_t i = 0; i < 1000; i++) {
		struct blm_hash hash;

		OK(blm_hash_fixed(f, &i, 8, 1, &hash));
		ck_assert_int_eq(blm_contains_hash(f, id, &hash), blm_contains(f, &i, 8));
		ck_assert_int_eq(blm_add_hash(f, id, &hash), blm_add_hashes(g, id, &hash, 1, NULL));
		ck_assert_int_eq(blm_contains_hash(f, id, &hash), blm_contains(f, &i, 8));
		if (kind.can & BLM_CAN_CLAIM)
			ck_assert_int_eq(blm_claim_hash(f, id, &hash),
					 blm_claim_hashes(g, id, &hash, 1, NULL));
	}
	ck_assert_uint_eq(counted(f), counted(g));
	blm_close(f), blm_close(g);
}
END_TEST

START_TEST(keys_of_one_width_get_single_answers)
{
	static uint64_t words[2000];
	struct blm_filter *f = make(NULL, kinds[_i], "xxh3");
	uint64_t bits[ARRAY_LEN(words) / 64 + 1], random = 4;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = next_random(&random);
	for (size_t width = 4; width <= 24; width += 4) {
		size_t count = sizeof(words) / width;

		OK(blm_add_fixed(f, words, width, count / 3, NULL));
		for (count = sizeof(words) / width < 2000 ? sizeof(words) / width : 2000; count;
		     count = count * 3 / 5) {
			int64_t yes = blm_contains_fixed(f, words, width, count, bits);

			ck_assert_int_eq(blm_contains_fixed(f, words, width, count, NULL), yes);
			for (size_t i = 0; i < count; i++) {
				bool each = blm_contains(f, (uint8_t *)words + i * width, width);

				ck_assert_int_eq(bits[i / 64] >> i % 64 & 1, each);
				yes -= each;
			}
			ck_assert_int_eq(yes, 0);
		}
	}
	blm_close(f);
}
END_TEST

START_TEST(a_hash_of_another_seed_is_refused)
{
	struct blm_filter *f = make(NULL, kinds[_i], "xxh3");
	struct blm_hash hash = { 1, 2 };

	FAILS(blm_contains_hash(f, blm_hash_id(f) + 1, &hash), -EMEDIUMTYPE);
	FAILS(blm_add_hash(f, blm_hash_id(f) + 1, &hash), -EMEDIUMTYPE);
	FAILS(blm_claim_hash(f, blm_hash_id(f) + 1, &hash), -EMEDIUMTYPE);
	ck_assert_uint_eq(counted(f), 0);
	blm_close(f);
}
END_TEST

START_TEST(a_family_that_hashes_each_probe_accepts_no_hash)
{
	struct blm_filter *f;
	struct blm_hash hash = { 1, 2 };

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "classic", .hash = "murmur3-bip37", .capacity = 100)));
	ck_assert_int_eq(blm_add(f, "x", 1), 1);
	ck_assert_int_eq(blm_add(f, "x", 1), 0);
	ck_assert(blm_contains(f, "x", 1));
	FAILS(blm_contains_hash(f, blm_hash_id(f), &hash), -EOPNOTSUPP);
	FAILS(blm_add_hash(f, blm_hash_id(f), &hash), -EOPNOTSUPP);
	FAILS(blm_claim_hash(f, blm_hash_id(f), &hash), -EOPNOTSUPP);
	blm_close(f);
}
END_TEST

/* ---- What one key does not pass by ---- */

static bool is_dirty(const char *path)
{
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	OK(blm_open(&f, NULL, path, 0));
	OK(blm_info(f, &info));
	blm_close(f);
	return info.dirty;
}

START_TEST(a_key_after_a_sync_dirties_file_and_block)
{
	const char *path = a_path();
	struct blm_filter *f = make(path, kinds[_i], "xxh3");
	uint8_t *mark = current_view(f)->part[0].marks;

	ck_assert_int_eq(blm_add(f, "a", 1), 1);
	ck_assert(is_dirty(path));
	ck_assert_int_eq(*mark, 1);
	for (char c = 'b'; c < 'e'; c++) {
		OK(blm_sync(f));
		ck_assert(!is_dirty(path));
		ck_assert_int_eq(*mark, 0);
		ck_assert_int_eq(blm_add(f, &c, 1), 1);
		ck_assert(is_dirty(path));
		ck_assert_int_eq(*mark, 1);
	}
	ck_assert_int_eq(blm_claim(f, "f", 1), 1);	/* which gets the thread its slot */
	OK(blm_sync(f));
	ck_assert_int_eq(blm_claim(f, "f", 1), 0);
	ck_assert(!is_dirty(path));
	ck_assert_int_eq(blm_claim(f, "g", 1), 1);
	ck_assert(is_dirty(path));
	ck_assert_int_eq(*mark, 1);
	blm_close(f);
}
END_TEST

START_TEST(a_key_is_synced_when_syncs_are_asked_for)
{
	const char *path = a_path();
	struct blm_filter *f = make(path, kinds[_i], "xxh3");

	ck_assert_int_eq(blm_add(f, "a", 1), 1);
	OK(blm_sync_every(f, 2, 0));
	ck_assert_int_eq(blm_add(f, "b", 1), 1);
	ck_assert(is_dirty(path));
	ck_assert_int_eq(blm_add(f, "b", 1), 0);
	ck_assert(is_dirty(path));
	ck_assert_int_eq(blm_add(f, "c", 1), 1);
	ck_assert(!is_dirty(path));
	ck_assert_int_eq(blm_claim(f, "d", 1), 1);
	ck_assert(is_dirty(path));
	ck_assert_int_eq(blm_claim(f, "d", 1), 0);
	ck_assert(is_dirty(path));
	ck_assert_int_eq(blm_claim(f, "e", 1), 1);
	ck_assert(!is_dirty(path));
	for (char c = 'f'; c < 'j'; c++) {
		ck_assert_int_eq(blm_claim(f, &c, 1), 1);
		ck_assert(is_dirty(path) == (c % 2 == 0));
	}
	blm_close(f);
}
END_TEST

START_TEST(a_read_only_handle_accepts_no_key)
{
	const char *path = a_path(), *sealed = a_path();
	struct blm_filter *f = make(path, kinds[_i], "xxh3"), *reader, *copy;
	struct blm_hash hash;
	uint64_t id = blm_hash_id(f);

	OK(blm_hash_fixed(f, "a", 1, 1, &hash));
	ck_assert_int_eq(blm_add(f, "a", 1), 1);
	OK(blm_open(&reader, NULL, path, 0));
	FAILS(blm_add(reader, "b", 1), -EBADF);
	FAILS(blm_add_hash(reader, id, &hash), -EBADF);
	OK(blm_copy(&copy, NULL, sealed, f, 0));
	OK(blm_seal(copy));
	FAILS(blm_add(copy, "b", 1), -EROFS);
	FAILS(blm_add_hash(copy, id, &hash), -EROFS);
	ck_assert(blm_contains(copy, "a", 1) && !blm_contains(copy, "b", 1));
	ck_assert(blm_contains(reader, "a", 1) && !blm_contains(reader, "b", 1));
	blm_close(f), blm_close(reader), blm_close(copy);
}
END_TEST

static int fill(struct blm_filter *f, void *context)
{
	(void)context;
	return blm_add(f, "a", 1);
}

START_TEST(a_key_enters_the_replacement_file)
{
	const char *path = a_path();
	struct blm_filter *f = make(path, kinds[_i], "xxh3"), *other, *reader;
	struct blm_hash hash;

	ck_assert_int_eq(blm_add(f, "a", 1), 1);
	OK(blm_rebuild(NULL, path, &BLM_PARAMS(.kind = NULL), fill, NULL));
	ck_assert_int_eq(blm_add(f, "b", 1), 1);
	OK(blm_open(&reader, NULL, path, 0));
	OK(blm_hash_fixed(f, "b", 1, 1, &hash));
	ck_assert_int_eq(blm_contains_hash(reader, blm_hash_id(f), &hash), 1);
	OK(blm_clear(f));
	ck_assert_int_eq(blm_contains_hash(reader, blm_hash_id(f), &hash), 0);
	ck_assert(!blm_contains(f, "a", 1));
	OK(blm_hash_fixed(f, "c", 1, 1, &hash));
	ck_assert_int_eq(blm_add_hash(f, blm_hash_id(f), &hash), 1);
	OK(blm_open(&other, NULL, path, 0));
	ck_assert(blm_contains(other, "c", 1) && !blm_contains(other, "b", 1));
	ck_assert_uint_eq(counted(other), 1);
	blm_close(f), blm_close(other), blm_close(reader);
}
END_TEST

/*
 * The state word changes between the look before the bits and the one after them: the add is done
 * again, on what is there then. A replacing process that died left it, so the same file serves.
 */
static void (*interrupt)(struct blm_view *view);
static blm_single_add *real_add;
static unsigned interrupted;

static int interrupted_add(const struct blm_one *one, const void *bytes, size_t len)
{
	struct blm_view *view =
		(struct blm_view *)((char *)(uintptr_t)one - offsetof(struct blm_view, one));
	int r = real_add(one, bytes, len);

	interrupted++;
	interrupt(view);
	return r;
}

static void take_apart(struct blm_filter *f, void (*what)(struct blm_view *view))
{
	struct blm_view *view = current_view(f);

	/* and the handle knows the state of its new file */
	ck_assert_int_eq(blm_add(f, "before", 6), 1);
	interrupted = 0;
	interrupt = what;
	real_add = view->one.add;
	view->one.add = interrupted_add;
}

static void replacing(struct blm_view *view)
{
	set_state(view, BLM_REPLACING);
}

START_TEST(a_key_stands_where_the_replacing_process_died)
{
	struct blm_filter *f = make(a_path(), kinds[_i], "xxh3");
	struct blm_view *view = current_view(f);

	take_apart(f, replacing);
	ck_assert_int_eq(blm_add(f, "a", 1), 1);
	ck_assert_uint_eq(interrupted, 1);
	view->one.add = real_add;
	ck_assert_ptr_eq(current_view(f), view);
	ck_assert_int_eq(state_of(load_acquire(&live_of(view)->state.word)), BLM_LIVE);
	ck_assert(blm_contains(f, "a", 1));
	ck_assert_uint_eq(counted(f), 2);
	ck_assert_int_eq(blm_add(f, "b", 1), 1);
	blm_close(f);
}
END_TEST

START_TEST(the_next_key_repairs_what_a_dead_replacer_left)
{
	struct blm_filter *f = make(a_path(), kinds[_i], "xxh3");
	struct blm_view *view = current_view(f);

	ck_assert_int_eq(blm_add(f, "a", 1), 1);
	set_state(view, BLM_REPLACING);
	ck_assert(blm_contains(f, "a", 1));	/* and the handle knows the word */
	ck_assert_int_eq(state_of(load_acquire(&live_of(view)->state.word)), BLM_REPLACING);
	ck_assert_int_eq(blm_add(f, "b", 1), 1);
	ck_assert_int_eq(state_of(load_acquire(&live_of(view)->state.word)), BLM_LIVE);
	ck_assert(blm_contains(f, "b", 1));
	blm_close(f);
}
END_TEST

START_TEST(a_handle_without_its_file_takes_no_key_repeatedly)
{
	const char *path = a_path();
	struct blm_filter *f = make(path, kinds[_i], "xxh3");
	struct blm_view *view = current_view(f);
	struct blm_hash hash;

	OK(blm_hash_fixed(f, "b", 1, 1, &hash));
	ck_assert_int_eq(blm_add(f, "a", 1), 1);
	ck_assert_int_eq(unlink(path), 0);
	set_state(view, BLM_REPLACING);
	set_state(view, BLM_LIVE);
	for (int i = 0; i < 3; i++) {
		FAILS(blm_add(f, "b", 1), -ESTALE);
		FAILS(blm_add_hash(f, blm_hash_id(f), &hash), -ESTALE);
	}
	ck_assert(blm_contains(f, "a", 1) && !blm_contains(f, "b", 1));
	blm_close(f);
}
END_TEST

static const char *cleared_path;

/* The bits are in the old file, which is not copied. */
static void clear_it(struct blm_view *view)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct blm_filter *f;

		MUST(blm_open(&f, NULL, cleared_path, BLM_OPEN_WRITE) == 0);
		MUST(blm_clear(f) == 0);
		_exit(0);
	}
	ck_assert_int_eq(join(pid), 0);
	view->one.add = real_add;
}

START_TEST(a_key_added_during_a_replacement_is_in_the_replacement)
{
	struct blm_filter *f;

	cleared_path = a_path();
	f = make(cleared_path, kinds[_i], "xxh3");
	ck_assert_int_eq(blm_add(f, "a", 1), 1);
	take_apart(f, clear_it);
	ck_assert_int_eq(blm_add(f, "b", 1), 1);
	ck_assert_uint_eq(interrupted, 1);
	ck_assert(blm_contains(f, "b", 1) && !blm_contains(f, "a", 1));
	ck_assert_uint_eq(counted(f), 1);
	blm_close(f);
}
END_TEST

static void next_epoch(struct blm_view *view)
{
	store_release(&live_of(view)->epoch.word, load_acquire(&live_of(view)->epoch.word) + 1);
}

START_TEST(a_key_possibly_missed_by_a_sync_dirties_its_epoch)
{
	struct blm_filter *f = make(a_path(), kinds[_i], "xxh3");
	struct blm_live *live = live_of(current_view(f));

	take_apart(f, next_epoch);
	ck_assert_int_eq(blm_add(f, "a", 1), 1);
	ck_assert_uint_eq(interrupted, 1);
	ck_assert_uint_eq(load_acquire(&live->written.word), load_acquire(&live->epoch.word));
	blm_close(f);
}
END_TEST

/* A list comes after the add looked for one: the key goes off it all the same. */
static const char *listing_dir;

static void list_the_key(struct blm_view *view)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct blm_store *store;
		struct blm_filter *f;

		MUST(blm_store_open(&store, listing_dir, 0) == 0);
		MUST(blm_open(&f, store, "x", BLM_OPEN_WRITE) == 0);
		MUST(blm_allowlist_add(f, &(struct blm_key){ "b", 1 }, 1) == 1);
		_exit(0);
	}
	ck_assert_int_eq(join(pid), 0);
	view->one.add = real_add;
}

static int count_listed(void *context, const struct blm_key *key)
{
	(void)key;
	++*(int *)context;
	return 0;
}

START_TEST(a_key_listed_during_its_add_is_not_hidden)
{
	struct blm_store *store;
	struct blm_filter *f;
	int listed = 0;

	listing_dir = a_path();
	OK(blm_store_open(&store, listing_dir, BLM_STORE_CREATE));
	OK(blm_create(&f, store, "x", &BLM_PARAMS(.kind = kinds[_i], .capacity = 5000)));
	take_apart(f, list_the_key);
	OK(blm_add(f, "b", 1));
	ck_assert_uint_eq(interrupted, 1);
	ck_assert_int_eq(blm_allowlist_list(f, count_listed, &listed), 0);
	ck_assert_int_eq(listed, 0);
	ck_assert(blm_contains(f, "b", 1));
	blm_close(f);
	blm_store_close(store);
}
END_TEST

static const char *cut_path;

static void cut_it(struct blm_view *view)
{
	MUST(truncate(cut_path, BLM_HEADER_BYTES) == 0);
	MUST(*(volatile uint8_t *)view->part[0].bytes == 0xff);
}

static int add_to_what_is_cut_meanwhile(void *context)
{
	struct blm_filter *f = context;

	MUST(blm_survive_truncation() == 0);
	take_apart(f, cut_it);
	MUST(blm_add(f, "a", 1) == -EIO && interrupted == 1);
	MUST(blm_add(f, "b", 1) == -EIO && interrupted == 1);
	return 0;
}

START_TEST(an_add_to_a_truncated_file_is_an_error)
{
	struct blm_filter *f;

	if (SANITIZED)		/* sanitizers take all signals for themselves */
		return;
	cut_path = a_path();
	f = make(cut_path, kinds[_i], "xxh3");
	ck_assert_int_eq(join(spawn(add_to_what_is_cut_meanwhile, f)), 0);
	blm_close(f);
}
END_TEST

static blm_single_ask *real_ask;

static bool ask_what_is_cut(const struct blm_one *one, const void *bytes, size_t len,
			    struct blm_hash *ret)
{
	interrupted++;
	MUST(truncate(cut_path, 0) == 0);
	return real_ask(one, bytes, len, ret);
}

static int claim_of_what_is_cut_meanwhile(void *context)
{
	struct blm_filter *f = context;
	struct blm_one *one = &current_view(f)->one;

	MUST(blm_survive_truncation() == 0);
	MUST(blm_claim(f, "a", 1) == 1);
	interrupted = 0;
	real_ask = one->ask;
	one->ask = ask_what_is_cut;
	MUST(blm_claim(f, "a", 1) == -EIO && interrupted == 1);
	MUST(blm_claim(f, "b", 1) == -EIO && interrupted == 1);
	return 0;
}

START_TEST(a_claim_in_a_truncated_file_is_an_error)
{
	struct blm_filter *f;

	if (SANITIZED)		/* sanitizers take all signals for themselves */
		return;
	cut_path = a_path();
	f = make(cut_path, kinds[_i], "xxh3");
	ck_assert_int_eq(join(spawn(claim_of_what_is_cut_meanwhile, f)), 0);
	blm_close(f);
}
END_TEST

static int marked_before;	/* -1: it was not called */

static int look_at_mark(const struct blm_one *one, const void *bytes, size_t len)
{
	struct blm_view *view =
		(struct blm_view *)((char *)(uintptr_t)one - offsetof(struct blm_view, one));

	marked_before = blm_is_marked_written(live_of(view));
	return real_add(one, bytes, len);
}

START_TEST(the_file_announces_a_change_before_it)
{
	struct blm_filter *f = make(a_path(), kinds[_i], "xxh3");
	struct blm_view *view = current_view(f);

	ck_assert_int_eq(blm_add(f, "before", 6), 1);
	OK(blm_sync(f));
	real_add = view->one.add;
	view->one.add = look_at_mark;
	ck_assert(!blm_is_marked_written(live_of(view)));
	marked_before = -1;
	ck_assert_int_eq(blm_add(f, "a", 1), 1);
	ck_assert_int_eq(marked_before, 1);
	blm_close(f);
}
END_TEST

static struct blm_view *claimed_in;
static int (*real_claim)(struct blm_part *part, const struct blm_hashed *key);

static int look_at_mark_and_claim(struct blm_part *part, const struct blm_hashed *key)
{
	marked_before = blm_is_marked_written(live_of(claimed_in));
	return real_claim(part, key);
}

static blm_single_claim *real_single_claim;

static bool look_at_mark_and_claim_one(const struct blm_one *one, const struct blm_hash *hash)
{
	marked_before = blm_is_marked_written(live_of(claimed_in));
	return real_single_claim(one, hash);
}

START_TEST(a_claim_announces_its_change_before_it_is_made)
{
	struct blm_filter *f = make(a_path(), kinds[_i], "xxh3");
	struct blm_kind looks = *current_view(f)->root.kind;

	ck_assert_int_eq(blm_claim(f, "before", 6), 1);
	OK(blm_sync(f));
	claimed_in = current_view(f);
	real_claim = looks.claim;
	looks.claim = look_at_mark_and_claim;
	claimed_in->root.kind = &looks;
	real_single_claim = claimed_in->one.claim;
	if (real_single_claim)
		claimed_in->one.claim = look_at_mark_and_claim_one;
	ck_assert(!blm_is_marked_written(live_of(claimed_in)));
	marked_before = -1;
	ck_assert_int_eq(blm_claim(f, "a", 1), 1);
	ck_assert_int_eq(marked_before, 1);
	blm_close(f);
}
END_TEST

/* ---- Children ---- */

START_TEST(a_child_adds_to_its_parents_filter)
{
	struct blm_filter *f = make(a_path(), kinds[_i], "xxh3");
	pid_t pid;

	ck_assert_int_eq(blm_add(f, "a", 1), 1);
	pid = fork();
	if (pid == 0) {
		MUST(blm_contains(f, "a", 1) && blm_add(f, "b", 1) == 1 && blm_add(f, "b", 1) == 0);
		MUST(blm_clear(f) == 0 && blm_add(f, "c", 1) == 1);
		_exit(0);
	}
	ck_assert_int_eq(join(pid), 0);
	ck_assert(blm_contains(f, "c", 1) && !blm_contains(f, "b", 1));
	ck_assert_int_eq(blm_add(f, "d", 1), 1);
	ck_assert_uint_eq(counted(f), 2);
	blm_close(f);
}
END_TEST

/* ---- Threads, while the file is replaced ---- */

struct race {
	struct blm_filter *f;
	_Atomic uint64_t given;		/* keys below it were added by calls that returned */
	_Atomic bool done;
	_Atomic uint64_t missed;
};

static void *give_on(void *context)
{
	struct race *race = context;

	for (uint64_t i = 0; !race->done; i++) {
		struct blm_hash hash;

		if (i % 2)
			MUST(blm_add(race->f, &i, 8) >= 0);
		else
			MUST(blm_hash_fixed(race->f, &i, 8, 1, &hash) == 0
			     && blm_add_hash(race->f, blm_hash_id(race->f), &hash) >= 0);
		race->given = i + 1;
	}
	return NULL;
}

static void *ask_on(void *context)
{
	struct race *race = context;
	uint64_t random = 3;

	while (!race->done) {
		uint64_t given = race->given, i = given ? next_random(&random) % given : 0;

		race->missed += given && !blm_contains(race->f, &i, 8);
	}
	return NULL;
}

START_TEST(repeated_replacements_of_the_file_lose_no_key)
{
	struct race race = { .f = NULL };
	const char *path = a_path();
	pthread_t giver, asker;
	struct blm_filter *ones;

	race.f = make(path, kinds[_i], "xxh3");
	OK(blm_template(&ones, NULL, NULL, race.f, 0));
	memset(current_view(ones)->part[0].bytes, 0xff,
	       current_view(ones)->part[0].shape.cells / 8);
	ck_assert_int_eq(pthread_create(&giver, NULL, give_on, &race), 0);
	ck_assert_int_eq(pthread_create(&asker, NULL, ask_on, &race), 0);
	/* an intersection with a filter of ones is a new file with all that the old one had */
	for (int i = 0; i < (SANITIZED || test_scale() < 1 ? 20 : 100); i++) {
		struct blm_filter *g;
		uint64_t before = race.given;
		double begun = seconds();

		OK(blm_open(&g, NULL, path, BLM_OPEN_WRITE));
		OK(blm_combine_into(g, BLM_INTERSECT, (const struct blm_filter *const[]){ ones }, 1,
				    0, NULL));
		blm_close(g);
		while (race.given == before && seconds() - begun < TOO_LONG)
			usleep(100);
	}
	race.done = true;
	pthread_join(giver, NULL), pthread_join(asker, NULL);
	ck_assert_uint_eq(race.missed, 0);
	for (uint64_t i = 0; i < race.given; i++)
		ck_assert(blm_contains(race.f, &i, 8));
	blm_close(race.f), blm_close(ones);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("single");
	TCase *c = tcase_create("functions");

	suite_add_tcase(s, c);
	tcase_add_loop_test(c, one_call_does_what_family_and_kind_do, 0, 4);
	tcase_add_loop_test(c, one_call_makes_as_many_probes_as_the_filter_has, 0, 8);
	tcase_add_test(c, other_schemes_are_left_to_family_and_kind);
	tcase_add_test(c, a_kind_that_grows_has_no_function);
	c = tcase_create("calls");
	suite_add_tcase(s, c);
	tcase_add_loop_test(c, keys_added_singly_make_the_same_filter_as_a_batch, 0,
			    ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_hash_alone_is_what_hashes_of_many_are, 0, 40);
	tcase_add_loop_test(c, keys_of_one_width_get_single_answers, 0, ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_hash_of_another_seed_is_refused, 0, ARRAY_LEN(kinds));
	tcase_add_test(c, a_family_that_hashes_each_probe_accepts_no_hash);
	c = tcase_create("promises");
	suite_add_tcase(s, c);
	tcase_add_loop_test(c, a_key_after_a_sync_dirties_file_and_block, 0,
			    ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_key_is_synced_when_syncs_are_asked_for, 0, ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_read_only_handle_accepts_no_key, 0, ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_key_enters_the_replacement_file, 0, ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_key_stands_where_the_replacing_process_died, 0, ARRAY_LEN(kinds));
	tcase_add_loop_test(c, the_next_key_repairs_what_a_dead_replacer_left, 0,
			    ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_handle_without_its_file_takes_no_key_repeatedly,
			    0, ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_key_listed_during_its_add_is_not_hidden, 0,
			    ARRAY_LEN(kinds));
	tcase_add_loop_test(c, an_add_to_a_truncated_file_is_an_error, 0,
			    ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_claim_in_a_truncated_file_is_an_error, 0,
			    ARRAY_LEN(kinds));
	tcase_add_loop_test(c, the_file_announces_a_change_before_it, 0, ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_claim_announces_its_change_before_it_is_made, 0,
			    ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_key_added_during_a_replacement_is_in_the_replacement, 0,
			    ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_key_possibly_missed_by_a_sync_dirties_its_epoch, 0,
			    ARRAY_LEN(kinds));
	tcase_add_loop_test(c, a_child_adds_to_its_parents_filter, 0, ARRAY_LEN(kinds));
	c = tcase_create("threads");
	suite_add_tcase(s, c);
	tcase_add_loop_test(c, repeated_replacements_of_the_file_lose_no_key, 0,
			    ARRAY_LEN(kinds));
	return run_suite(s);
}
