/*
 * laws.h - filters and keys of any kind, and how a law runs for each kind that can do what it needs
 *
 * Each law runs once for each kind that has the named abilities, so a new kind is under test the
 * moment its name is in lib/kind/meson.build; and once more, for kinds that take every family, with
 * one that hashes a key for each probe. Seeds are fixed: a law holds or it does not, the same in
 * every run.
 *
 * laws.c           adding, asking, removing, values, handles, and what kinds refuse
 * laws_many.c      many keys at once, in each form that callers can give them
 * laws_algebra.c   templates, unions, intersections, folds, estimates
 * built.c          kinds that are built from all their keys
 */
#ifndef BLM_KIND_LAWS_H
#define BLM_KIND_LAWS_H

#include "handle/handle.h"
#include "suite.h"

enum { N = 5000 };

static inline const struct blm_kind *kind_of(int i)
{
	return blm_kind_at((size_t)i);
}

/* ---- Filters and keys ---- */

static inline struct blm_filter *create(struct blm_params params)
{
	struct blm_filter *f;
	struct blm_build *b;

	if (!kind_takes_keys(blm_kind_by_name(params.kind))) {	/* of no keys */
		ck_assert_msg(blm_build_begin(&b, NULL, a_path(), &params, NULL) == 0, "%s",
			      blm_error_message());
		ck_assert_msg(blm_build_finish(b, &f) == 0, "%s", blm_error_message());
		return f;
	}
	ck_assert_msg(blm_create(&f, NULL, a_path(), &params) == 0,
		      "n=%llu, p=%g, m=%llu, k=%u: %s", (unsigned long long)params.capacity,
		      params.rate, (unsigned long long)params.cells, params.probes,
		      blm_error_message());
	return f;
}

/* of the filters that make() makes, where the kind takes it; else its usual one */
static const char *family = BLM_DEFAULT_HASH;

static inline const struct blm_family *family_of(const struct blm_kind *kind)
{
	const struct blm_family *f = blm_family_by_name(family);

	return kind_takes(kind, f) ? f : blm_family_by_name(kind->family);
}

/* Kinds of numbers that are their own cells: room for all that are asked for here. */
enum { NUMBERS = 1 << 20 };

static inline struct blm_filter *make_for(const struct blm_kind *kind, uint64_t keys, uint64_t seed,
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

static inline struct blm_filter *make_seeded(const struct blm_kind *kind, uint64_t seed,
					     double rate)
{
	return make_for(kind, N, seed, rate);
}

/* A kind that fills has space for all keys that a law adds. */
static inline struct blm_filter *make(const struct blm_kind *kind)
{
	return make_for(kind, kind->fills ? 3 * N : N, 7, 0.01);
}

/* Key i is the number i, 8 bytes: as a word, or for kinds of numbers in digits. */
static inline void set_key(uint64_t *word, uint64_t i, bool digits)
{
	char text[9];

	*word = i;
	if (digits) {
		snprintf(text, sizeof(text), "%08u", (unsigned)i % 100000000);
		memcpy(word, text, 8);
	}
}

static inline bool in_digits(const struct blm_filter *f)
{
	return current_view(f)->root.kind->exact;
}

/* Kinds that hold the keys themselves have room for so long ones. */
static inline size_t longest(const struct blm_filter *f)
{
	return current_view(f)->root.kind->holds_keys
		     ? (size_t)current_view(f)->root.shape.args[0]
		     : SIZE_MAX;
}

/* valid for the next 16 calls */
static inline const void *key(const struct blm_filter *f, uint64_t i)
{
	static uint64_t words[16];
	static unsigned count;
	uint64_t *word = &words[count++ % ARRAY_LEN(words)];

	set_key(word, i, in_digits(f));
	return word;
}

static inline struct blm_key *keys_from(const struct blm_filter *f, uint64_t from, uint64_t to)
{
	struct blm_key *keys = calloc(to - from + 1, sizeof(*keys) + 8);
	uint64_t *numbers = (uint64_t *)(keys + (to - from + 1));

	for (uint64_t i = 0; i < to - from; i++) {
		set_key(&numbers[i], from + i, in_digits(f));
		keys[i] = (struct blm_key){ &numbers[i], 8 };
	}
	return keys;
}

static inline int64_t fill(struct blm_filter *f, uint64_t from, uint64_t to)
{
	struct blm_key *keys = keys_from(f, from, to);
	int64_t changed = blm_add_many(f, keys, to - from, NULL);

	ck_assert_msg(changed >= 0, "%s", blm_error_message());
	free(keys);
	return changed;
}

static inline uint64_t found(const struct blm_filter *f, uint64_t from, uint64_t to)
{
	struct blm_key *keys = keys_from(f, from, to);
	int64_t yes = blm_contains_many(f, keys, to - from, NULL);

	free(keys);
	return (uint64_t)yes;
}

static inline const void *data(const struct blm_filter *f, size_t *ret_bytes)
{
	*ret_bytes = current_view(f)->part[0].shape.bytes;
	return current_view(f)->part[0].bytes;
}

static inline void same_data(const struct blm_filter *a, const struct blm_filter *b)
{
	const struct blm_view *x = current_view(a), *y = current_view(b);

	ck_assert_uint_eq(x->parts, y->parts);
	for (unsigned i = 0; i < x->parts; i++) {
		ck_assert_uint_eq(x->part[i].shape.bytes, y->part[i].shape.bytes);
		ck_assert_msg(!memcmp(x->part[i].bytes, y->part[i].bytes, x->part[i].shape.bytes),
			      "part %u", i);
	}
}

static inline struct blm_info info(const struct blm_filter *f)
{
	struct blm_info i = BLM_INFO;

	ck_assert_int_eq(blm_info(f, &i), 0);
	return i;
}

static inline struct blm_filter *twin(const struct blm_filter *f)
{
	struct blm_filter *t;

	ck_assert_msg(blm_template(&t, NULL, a_path(), f, 0) == 0, "%s", blm_error_message());
	return t;
}

static inline struct blm_filter *reopen(const struct blm_filter *f, bool write)
{
	struct blm_filter *again;

	ck_assert_msg(blm_open(&again, NULL, f->place.display, write ? BLM_OPEN_WRITE : 0) == 0,
		      "%s", blm_error_message());
	return again;
}

/* Does a key that is added twice stand there twice? */
static inline bool counts_adds(const struct blm_kind *kind)
{
	return kind->remove != NULL;
}

static inline uint64_t value_for(uint64_t i)
{
	return 1 + mixed(i) % 200;
}

static inline void put_range(struct blm_filter *f, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		ck_assert_msg(blm_put(f, &i, 8, value_for(i)) >= 0, "%s", blm_error_message());
}

static inline bool takes_family(const struct blm_kind *kind)
{
	return kind_takes(kind, blm_family_by_name(family)) || !strcmp(family, BLM_DEFAULT_HASH);
}

/* Run a law for kind i if that can do all of `needs` and none of `never`. */
#define LAW(test, needs, never) \
	if ((blm_kind_can(kind_of(i)) & ((needs) | (never))) == (needs)) \
		tcase_add_loop_test(tc, test, i, i + 1)

static inline void hash_for_each_probe(void)
{
	family = "mm3_64";
}

static inline void hash_once(void)
{
	family = "xxh3";
}

static inline int remove_below(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type;
	return at->level ? remove(path) : 0;
}

/* All that the laws leave comes to half a gigabyte. */
static inline void empty_folder(void)
{
	nftw(test_dir, remove_below, 16, FTW_DEPTH | FTW_PHYS);
}

/* The laws of each kind are a case, which has its name. of_families: laws about hash families. */
static inline void add_all_laws(Suite *s, void (*laws)(TCase *tc, int i),
				void (*of_families)(TCase *tc, int i))
{
	for (int i = 0; kind_of(i); i++) {
		TCase *tc = tcase_create(kind_of(i)->name);

		laws(tc, i);
		of_families(tc, i);
		tcase_add_checked_fixture(tc, NULL, empty_folder);
		suite_add_tcase(s, tc);
	}
	hash_for_each_probe();
	for (int i = 0; kind_of(i); i++) {
		TCase *by_probe = tcase_create("with a hash for each probe");

		if (takes_family(kind_of(i)))
			laws(by_probe, i);
		tcase_add_checked_fixture(by_probe, hash_for_each_probe, hash_once);
		tcase_add_checked_fixture(by_probe, NULL, empty_folder);
		suite_add_tcase(s, by_probe);
	}
	hash_once();
}

#endif
