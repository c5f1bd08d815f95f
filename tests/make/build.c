/*
 * build.c - filters made from all their keys at once: the same bytes as one by one, whole or not at
 * all, in the memory given
 */
#include "file/new_file.h"
#include "make/new_filter.h"
#include "make/partition_pool.h"
#include "kind/common/partition.h"
#include "suite.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

/* ---- Keys and filters ---- */

/* Key i is the number i, 8 bytes. */
static uint64_t *numbers(uint64_t from, uint64_t to)
{
	uint64_t *n = malloc((to - from + 1) * sizeof(*n));

	for (uint64_t i = from; i < to; i++)
		n[i - from] = i;
	return n;
}

static struct blm_key *keys_of(const uint64_t *n, uint64_t count)
{
	struct blm_key *keys = malloc((count + 1) * sizeof(*keys));

	for (uint64_t i = 0; i < count; i++)
		keys[i] = (struct blm_key){ &n[i], sizeof(n[i]) };
	return keys;
}

static uint64_t all_seeds[BLM_SEEDS_MAX];

/* The same filter each time: its seeds are fixed. */
static struct blm_params params_of(const char *kind, const char *hash, uint64_t cells,
				   uint32_t probes)
{
	struct blm_params p = BLM_PARAMS(.kind = kind, .hash = hash, .cells = cells,
					 .probes = probes, .seeds = all_seeds);

	for (uint32_t i = 0; i < BLM_SEEDS_MAX; i++)
		all_seeds[i] = (uint32_t)mixed(i + 1);
	p.seed_count = family_seeds(blm_family_by_name(hash), probes);
	return p;
}

static struct blm_build *begin(const char *path, const struct blm_params *p, unsigned threads,
			       uint64_t memory)
{
	struct blm_build *b;

	OK(blm_build_begin(&b, NULL, path, p,
			   &(struct blm_build_options){ .threads = threads,
							.memory_bytes = memory }));
	return b;
}

static struct blm_filter *finish(struct blm_build *b)
{
	struct blm_filter *f;

	OK(blm_build_finish(b, &f));
	return f;
}

static struct blm_filter *one_by_one(const struct blm_params *p, const uint64_t *n, uint64_t count)
{
	struct blm_key *keys = keys_of(n, count);
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL, p));
	OK(blm_add_many(f, keys, count, NULL));
	free(keys);
	return f;
}

static void same_data(const struct blm_filter *a, const struct blm_filter *b, const char *what)
{
	const struct blm_part *x = &current_view(a)->part[0], *y = &current_view(b)->part[0];

	ck_assert_uint_eq(x->shape.bytes, y->shape.bytes);
	ck_assert_msg(!memcmp(x->bytes, y->bytes, x->shape.bytes), "%s", what);
}

static uint64_t counted(const struct blm_filter *f)
{
	bool estimated = true;
	uint64_t keys;

	OK(blm_count(f, &keys, &estimated));
	ck_assert(!estimated);
	return keys;
}

/* ---- The same bytes ---- */

/*
 * Sizes on both sides of where a second piece begins, and many of them; with little memory for each
 * piece, and with much.
 */
enum { PIECE = FILL_PIECE_BYTES * 8 };
static const uint64_t sizes[] = { 512,	       1536,	  PIECE / 4,	   PIECE,
				  PIECE + 512, 2 * PIECE, 6 * PIECE + 512, 50 * PIECE };
static const uint64_t memories[] = { 1, 100000, 1 << 20, 8 << 20 };
static const struct { const char *kind, *hash; uint32_t probes;
} shapes[] = {
	{ "split-block", "xxh64", 8 },	   { "split-block", "xxh3", 8 },
	{ "blocked", "xxh3", 1 },	   { "blocked", "xxh3", 7 },
	{ "blocked", "xxh3", 8 },	   { "blocked", "siphash", 20 },
	{ "blocked", "xxh3", 256 },	   { "classic", "xxh3", 1 },
	{ "classic", "xxh3", 7 },	   { "classic", "siphash", 20 },
	{ "classic", "xxh3", 256 },	   { "classic", "mm3_64", 6 },
	{ "classic", "murmur3-bip37", 9 },
};

START_TEST(a_built_filter_equals_one_filled_key_by_key)
{
	for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
		uint64_t count = (uint64_t)(test_scale() * 300000) / shapes[s].probes + 1000;
		struct blm_params p = params_of(shapes[s].kind, shapes[s].hash, sizes[_i],
						shapes[s].probes);
		uint8_t secret[BLM_SECRET_BYTES] = { 7 };
		uint64_t *n = numbers(0, count);
		struct blm_filter *expected;

		if (!strcmp(p.kind, "classic"))
			p.cells -= 3;	/* the last byte is not all cells */
		if (!strcmp(p.hash, "siphash"))
			p.secret = secret;
		for (uint64_t i = 0; i < count; i += 3)
			n[i] = n[i / 2];	/* duplicates */
		expected = one_by_one(&p, n, count);
		for (size_t m = 0; m < ARRAY_LEN(memories); m++) {
			struct blm_build *b;
			struct blm_filter *f;
			char what[200];

			if (test_scale() < 1 && (m + s + (size_t)_i) % 2)
				continue;
			b = begin(NULL, &p, 0, memories[m]);
			snprintf(what, sizeof(what),
				 "%s, %s, %u probes, %llu bits, %llu bytes of memory", p.kind,
				 p.hash, p.probes, (unsigned long long)p.cells,
				 (unsigned long long)memories[m]);
			OK(blm_build_add_fixed(b, n, sizeof(*n), count));
			f = finish(b);
			same_data(f, expected, what);
			ck_assert_msg(counted(f) == counted(expected), "%s: %llu keys, not %llu",
				      what, (unsigned long long)counted(f),
				      (unsigned long long)counted(expected));
			blm_close(f);
		}
		blm_close(expected);
		free(n);
	}
}
END_TEST

struct worker {
	struct blm_build *b;
	const uint64_t *n;
	uint64_t count;
	int err;
};

static void *work(void *context)
{
	struct worker *w = context;

	/* small calls: buffers are often taken and given back */
	for (uint64_t at = 0; at < w->count && w->err == 0; at += 700)
		w->err = blm_build_add_fixed(w->b, w->n + at, sizeof(*w->n),
					     w->count - at < 700 ? w->count - at : 700);
	return NULL;
}

/* As many as that, where the kind has a choice. */
static uint32_t probes_of(const struct blm_kind *kind, uint32_t wanted)
{
	struct blm_params p = params_of(kind->name, "xxh3", 1 << 20, wanted);

	return blm_plan(&(struct blm_plan){ 0 }, &p) == 0 ? wanted : 0;
}

START_TEST(any_number_of_threads_makes_the_same_bytes)
{
	enum { THREADS = 8 };
	const uint64_t count = (uint64_t)(test_scale() * 800000);
	uint64_t *n = numbers(0, count);

	for (int k = 0; blm_kind_at((size_t)k); k++)
		for (unsigned lanes = 1; blm_kind_at((size_t)k)->fill && lanes <= THREADS;
		     lanes = lanes * 3 - 1) {
			struct blm_params p = params_of(blm_kind_at((size_t)k)->name, "xxh3",
							10 * PIECE,
							probes_of(blm_kind_at((size_t)k), 5));
			struct blm_build *b = begin(NULL, &p, lanes, 2 << 20);
			struct blm_filter *expected = one_by_one(&p, n, count), *f;
			struct worker worker[THREADS];
			pthread_t thread[THREADS];

			for (uint64_t i = 0; i < THREADS; i++) {
				/* a third twice, at about the same time */
				uint64_t from = i ? i * count / THREADS - count / THREADS / 3 : 0;

				worker[i] = (struct worker){ .b = b,
							     .n = n + from,
							     .count = (i + 1) * count / THREADS
								    - from };
				ck_assert_int_eq(pthread_create(&thread[i], NULL, work, &worker[i]),
						 0);
			}
			for (int i = 0; i < THREADS; i++) {
				pthread_join(thread[i], NULL);
				OK(worker[i].err);
			}
			f = finish(b);
			same_data(f, expected, p.kind);
			/* of the same bits, in another order */
			ck_assert_uint_ge(counted(f), counted(expected) * 99 / 100);
			ck_assert_uint_le(counted(f), count * 4 / 3);
			blm_close(f);
			blm_close(expected);
		}
	free(n);
}
END_TEST

START_TEST(all_forms_of_keys_make_the_same_filter)
{
	struct blm_params p = params_of("blocked", "xxh3", 6 * PIECE, 6);
	const uint64_t count = 100000;
	uint64_t *n = numbers(0, count);
	struct blm_key *keys = keys_of(n, count);
	struct blm_hash *hashes = malloc(count * sizeof(*hashes));
	struct blm_filter *expected = one_by_one(&p, n, count), *f;
	struct blm_build *b = begin(NULL, &p, 0, 0);

	OK(blm_hash_many(expected, keys, count, hashes));
	ck_assert_uint_eq(blm_build_hash_id(b), blm_hash_id(expected));
	OK(blm_build_add_hashes(b, blm_build_hash_id(b), hashes, count));
	FAILS(blm_build_add_hashes(b, blm_build_hash_id(b) + 1, hashes, count), -EMEDIUMTYPE);
	f = finish(b);
	same_data(f, expected, "hashes");
	blm_close(f);

	b = begin(NULL, &p, 0, 0);
	OK(blm_build_add_many(b, keys, count));
	f = finish(b);
	same_data(f, expected, "keys");
	blm_close(f);
	blm_close(expected);

	b = begin(NULL, &p, 0, 0);
	OK(blm_build_add_many(b, &(struct blm_key){ NULL, 0 }, 1));
	OK(blm_build_add_many(b, &(struct blm_key){ "with\0NUL", 8 }, 1));
	OK(blm_build_add_fixed(b, NULL, 0, 3));		/* the empty key again */
	OK(blm_build_add_fixed(b, "abc", 1, 3));
	f = finish(b);
	ck_assert(blm_contains(f, NULL, 0) && blm_contains(f, "with\0NUL", 8)
		  && blm_contains(f, "b", 1));
	ck_assert_uint_eq(counted(f), 5);
	blm_close(f);

	p = params_of("classic", "mm3_64", 1000, 6);
	b = begin(NULL, &p, 0, 0);
	FAILS(blm_build_add_hashes(b, blm_build_hash_id(b), hashes, 1), -EOPNOTSUPP);
	blm_build_cancel(b);

	b = begin(a_path(),
		  &BLM_PARAMS(.kind = "iblt", .capacity = 300, .rate = 1e-4,
			      .options = "key-bytes=24"),
		  0, 0);
	/* it holds the keys */
	FAILS(blm_build_add_hashes(b, blm_build_hash_id(b), hashes, 1), -EOPNOTSUPP);
	OK(blm_build_add_fixed(b, n, sizeof(*n), 200));
	f = finish(b);
	ck_assert_int_eq(blm_contains_fixed(f, n, sizeof(*n), 200, NULL), 200);
	blm_close(f);
	free(hashes);
	free(keys);
	free(n);
}
END_TEST

START_TEST(a_kind_that_cannot_sort_is_filled_singly)
{
	enum { KEYS = 20000, BATCH = 50 };
	struct blm_params p = params_of("blocked", "xxh3", 1 << 18, 6);
	uint64_t *n = numbers(0, KEYS);
	struct blm_key *keys = keys_of(n, KEYS);
	struct blm_hash hashes[BATCH];
	struct blm_filter *expected = one_by_one(&p, n, KEYS);
	struct blm_kind kind = *current_view(expected)->part[0].kind;
	struct blm_part part = current_view(expected)->part[0];
	struct blm_filling filling;
	struct blm_buffers *buffers;

	kind.fill = NULL;
	part.kind = &kind;
	part.marks = NULL;
	part.unshared = true;
	part.bytes = aligned_alloc(64, part.shape.bytes);
	memset(part.bytes, 0, part.shape.bytes);
	blm_filling_begin(&filling, &part, 1 << 20);
	ck_assert_uint_eq(filling.pieces, 0);
	buffers = blm_buffers_new(&filling, 0);
	for (int i = 0; i < KEYS; i += BATCH) {
		OK(blm_hash_many(expected, keys + i, BATCH, hashes));
		OK(blm_buffers_add(buffers, &(struct blm_batch){
			.by = &current_view(expected)->hasher,
			.hashes = hashes, .count = BATCH }));
	}
	blm_buffers_empty(buffers);
	ck_assert_uint_eq(buffers->counted, counted(expected));
	ck_assert_int_eq(
		memcmp(part.bytes, current_view(expected)->part[0].bytes, part.shape.bytes), 0);
	blm_buffers_free(buffers);
	blm_buffers_free(NULL);
	blm_filling_end(&filling);
	blm_close(expected);
	free(part.bytes);
	free(keys);
	free(n);
}
END_TEST

START_TEST(no_keys_make_an_empty_filter_and_many_a_full)
{
	struct blm_params p = BLM_PARAMS(.capacity = 1000, .rate = 0.01);
	struct blm_filter *f = finish(begin(NULL, &p, 0, 0));
	uint64_t *n = numbers(0, 100000);
	struct blm_build *b;

	ck_assert_uint_eq(counted(f), 0);
	ck_assert(!blm_contains(f, "x", 1));
	OK(blm_add(f, "x", 1));		/* it goes on as any filter */
	ck_assert(blm_contains(f, "x", 1));
	blm_close(f);

	b = begin(NULL, &p, 0, 0);
	OK(blm_build_add_fixed(b, n, 8, 100000));
	f = finish(b);
	for (uint64_t i = 0; i < 100000; i++)
		ck_assert(blm_contains(f, &n[i], 8));
	blm_close(f);
	free(n);
}
END_TEST

/* ---- Whole, or not at all ---- */

static void in_folder(char *ret, size_t bytes)
{
	snprintf(ret, bytes, "%s", a_path());
	ck_assert_int_eq(mkdir(ret, 0700), 0);
}

START_TEST(unfinished_and_cancelled_builds_show_nothing)
{
	struct blm_params p = BLM_PARAMS(.capacity = 100000, .rate = 0.01);
	char folder[600], path[700];
	struct blm_filter *f;
	struct blm_build *b;

	in_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/f", folder);
	b = begin(path, &p, 0, 0);
	OK(blm_build_add_fixed(b, "abcdefgh", 1, 8));
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_ptr_null(blm_build_cancel(b));
	ck_assert_int_eq(entries_of(folder), 0);
	ck_assert_ptr_null(blm_build_cancel(NULL));

	b = begin(path, &p, 0, 0);
	OK(blm_build_add_fixed(b, "abcdefgh", 1, 8));
	OK(blm_build_finish(b, NULL));
	ck_assert_int_eq(entries_of(folder), 1);
	OK(blm_open(&f, NULL, path, 0));
	ck_assert(blm_contains(f, "c", 1));
	blm_close(f);
	FAILS(blm_build_begin(&b, NULL, path, &p, NULL), -EEXIST);
}
END_TEST

START_TEST(the_first_of_two_builders_of_a_name_wins)
{
	struct blm_params p = BLM_PARAMS(.capacity = 1000, .rate = 0.01), replacing = p;
	const char *path = a_path();
	struct blm_build *a = begin(path, &p, 0, 0), *b = begin(path, &p, 0, 0), *c;
	struct blm_filter *f, *before;

	OK(blm_build_add_fixed(a, "a", 1, 1));
	OK(blm_build_add_fixed(b, "b", 1, 1));
	before = finish(b);
	FAILS(blm_build_finish(a, &f), -EEXIST);

	replacing.replace = true;
	c = begin(path, &replacing, 0, 0);
	OK(blm_build_add_fixed(c, "c", 1, 1));
	ck_assert(blm_contains(before, "b", 1));
	OK(blm_build_finish(c, NULL));
	/* handles go over */
	ck_assert(!blm_contains(before, "b", 1) && blm_contains(before, "c", 1));
	OK(blm_add(before, "d", 1));
	OK(blm_open(&f, NULL, path, 0));
	ck_assert(blm_contains(f, "c", 1) && blm_contains(f, "d", 1));
	blm_close(f);
	blm_close(before);
}
END_TEST

START_TEST(the_target_of_a_link_is_replaced_and_it_stays)
{
	struct blm_params p = BLM_PARAMS(.capacity = 1000, .rate = 0.01, .replace = true);
	char there[600], here[600], path[700], link[700];
	struct stat st;
	struct blm_filter *f;
	struct blm_build *b;

	in_folder(there, sizeof(there));
	in_folder(here, sizeof(here));
	snprintf(path, sizeof(path), "%s/real", there);
	snprintf(link, sizeof(link), "%s/link", here);
	OK(blm_create(&f, NULL, path, &p));
	ck_assert_int_eq(symlink(path, link), 0);
	b = begin(link, &p, 0, 0);
	OK(blm_build_add_fixed(b, "a", 1, 1));
	OK(blm_build_finish(b, NULL));
	ck_assert(blm_contains(f, "a", 1));
	ck_assert(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
	ck_assert_int_eq(entries_of(here), 1);
	ck_assert_int_eq(entries_of(there), 1);
	blm_close(f);
}
END_TEST

static int build_and_wait(void *context)
{
	struct blm_params p = BLM_PARAMS(.capacity = 1000000, .rate = 0.01);
	uint64_t *n = numbers(0, 100000);
	struct blm_build *b;

	MUST(blm_build_begin(&b, NULL, context, &p, NULL) == 0);
	MUST(blm_build_add_fixed(b, n, 8, 100000) == 0);
	raise(SIGKILL);
	return 1;
}

START_TEST(a_builder_that_is_killed_leaves_nothing)
{
	char folder[600], path[700];

	in_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/f", folder);
	ck_assert_int_eq(join(spawn(build_and_wait, path)), 1000 + SIGKILL);
	ck_assert_int_eq(entries_of(folder), 0);
}
END_TEST

START_TEST(in_a_store_name_and_filter_appear_together)
{
	struct blm_params p = BLM_PARAMS(.capacity = 1000, .rate = 0.01);
	struct blm_store *store;
	struct blm_filter *f;
	struct blm_build *b;
	struct blm_info i = BLM_INFO;

	OK(blm_store_open(&store, a_path(), BLM_STORE_CREATE));
	OK(blm_build_begin(&b, store, "name", &p, NULL));
	OK(blm_build_add_fixed(b, "abc", 1, 3));
	FAILS(blm_store_find(store, "name", &i), -ENOENT);
	OK(blm_build_finish(b, &f));
	OK(blm_store_find(store, "name", &i));
	OK(blm_store_label(store, "name", "who", "me"));

	p.replace = true;
	OK(blm_build_begin(&b, store, "name", &p, NULL));
	OK(blm_build_add_fixed(b, "d", 1, 1));
	OK(blm_build_finish(b, NULL));
	ck_assert(blm_contains(f, "d", 1) && !blm_contains(f, "a", 1));
	OK(blm_store_find(store, "name", &i));
	ck_assert_str_eq(i.labels, "who=me\n");
	blm_close(f);
	blm_store_close(store);
}
END_TEST

/*
 * Its name was taken when it was to appear, and is free, or leads to another, when it is to appear
 * again.
 */
START_TEST(an_unpublished_filter_can_be_published_later)
{
	struct blm_spec *spec = calloc(1, sizeof(*spec));
	struct blm_params p = BLM_PARAMS(.capacity = 1000, .rate = 0.01);
	uint8_t secret[BLM_SECRET_BYTES];
	struct blm_staged staged;
	const char *dir = a_path();
	struct blm_store *store;
	struct blm_place place;
	struct blm_filter *f;
	char filters[600];

	snprintf(filters, sizeof(filters), "%s/filters", dir);
	OK(blm_store_open(&store, dir, BLM_STORE_CREATE));
	OK(blm_place_set(&place, store, "name"));
	OK(blm_spec_from(spec, &p, secret));
	OK(blm_staged_make(&staged, &place, spec));
	staged.view->image.header->stripe[0].keys = htole64(7);
	OK(blm_create(NULL, store, "name", &p));
	FAILS(blm_staged_publish(&staged, &place, NULL), -EEXIST);
	FAILS(blm_staged_publish(&staged, &place, NULL), -EEXIST);
	if (_i == 0) {
		OK(blm_store_drop(store, "name"));
		OK(blm_staged_publish(&staged, &place, NULL));
	} else if (_i == 1) {
		OK(blm_replace_by(&place, &staged, NULL));
	}
	blm_staged_end(&staged);
	OK(blm_open(&f, store, "name", 0));
	ck_assert_uint_eq(blm_counted_keys(current_view(f)), _i < 2 ? 7 : 0);
	blm_close(f);
	ck_assert_int_eq(entries_of(filters), 1);
	blm_place_clear(&place);
	blm_store_close(store);
	free(spec);
}
END_TEST

static void count_finding(void *context, const struct blm_finding *found)
{
	++*(int *)context;
}

START_TEST(a_built_filter_is_clean_and_sealed_on_request)
{
	struct blm_params p = BLM_PARAMS(.capacity = 1000000, .rate = 0.01);
	uint64_t *n = numbers(0, 1000);		/* few: most blocks are as they were */

	for (int sealed = 0; sealed < 2; sealed++) {
		const char *path = a_path();
		struct blm_filter *f;
		struct blm_build *b;
		struct blm_info i = BLM_INFO;
		int findings = 0;

		OK(blm_build_begin(&b, NULL, path, &p,
				   &(struct blm_build_options){ .sealed = sealed }));
		OK(blm_build_add_fixed(b, n, 8, 1000));
		f = finish(b);
		OK(blm_info(f, &i));
		ck_assert_int_eq(i.sealed, sealed);
		ck_assert(!i.dirty);
		if (sealed)
			FAILS(blm_add(f, "x", 1), -EROFS);
		OK(blm_verify(NULL, path, 0, count_finding, &findings));
		ck_assert_int_eq(findings, 0);
		for (uint64_t word = 0; ; word++) {	/* a bit is lost */
			uint64_t *words = (uint64_t *)current_view(f)->part[0].bytes;

			if (words[word]) {
				words[word] &= words[word] - 1;
				break;
			}
		}
		ck_assert_int_eq(blm_verify(NULL, path, 0, count_finding, &findings), 1);
		blm_close(f);
	}
	free(n);
}
END_TEST

START_TEST(a_keyed_filters_secret_is_stored_when_it_appears)
{
	struct blm_params p = BLM_PARAMS(.capacity = 1000, .rate = 0.01, .hash = "siphash");
	char folder[600], path[700];
	struct blm_filter *f;
	struct blm_build *b;

	in_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/f", folder);
	blm_build_cancel(begin(path, &p, 0, 0));
	ck_assert_int_eq(entries_of(folder), 0);
	b = begin(path, &p, 0, 0);
	OK(blm_build_add_fixed(b, "abc", 1, 3));
	OK(blm_build_finish(b, NULL));
	ck_assert_int_eq(entries_of(folder), 2);
	OK(blm_open(&f, NULL, path, 0));
	ck_assert(blm_contains(f, "c", 1));
	blm_close(f);
}
END_TEST

START_TEST(an_impossible_build_is_refused_and_leaves_nothing)
{
	char folder[600], path[700];
	struct blm_build *b;

	in_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/f", folder);
	FAILS(blm_build_begin(&b, NULL, path, &BLM_PARAMS(.rate = 1.5), NULL), -EINVAL);
	FAILS(blm_build_begin(&b, NULL, path, &BLM_PARAMS(.kind = "stable"), NULL), -EOPNOTSUPP);
	FAILS(blm_build_begin(&b, NULL, path, &BLM_PARAMS(.kind = "classic", .hash = "mm3_64"),
			      NULL),
	      -EOPNOTSUPP);
	FAILS(blm_build_begin(&b, NULL, path, &BLM_PARAMS(.kind = "approximator"), NULL),
	      -EOPNOTSUPP);
	FAILS(blm_build_begin(&b, NULL, path, &BLM_PARAMS(.capacity = 10, .kind = "none"), NULL),
	      -ENOENT);
	FAILS(blm_build_begin(&b, NULL, path, &BLM_PARAMS(.capacity = 10),
			      &(struct blm_build_options){ .threads = 1025 }),
	      -EINVAL);
	FAILS(blm_build_begin(&b, NULL, path, &BLM_PARAMS(.cells = BLM_CELLS_MAX), NULL), -ENOSPC);
	FAILS(blm_build_begin(&b, NULL, "/no/such/folder/f", &BLM_PARAMS(.capacity = 10), NULL),
	      -ENOENT);
	FAILS(blm_build_begin(&b, NULL, path, &BLM_PARAMS(.format = "guava"), NULL), -EINVAL);
	ck_assert_int_eq(entries_of(folder), 0);
}
END_TEST

/* ---- Without a capacity ---- */

static const struct { const char *kind, *hash;
} unsized[] = {
	{ "blocked", "xxh3" },	{ "classic", "siphash" }, { "split-block", "xxh64" },
	{ "counting", "xxh3" }, { "cuckoo", "xxh3" },	  { "hash-compact", "xxh3" },
	{ "scalable", "xxh3" }, { "removable", "xxh3" },
};

START_TEST(without_a_capacity_it_is_made_for_the_given_keys)
{
	const uint64_t count = (uint64_t)(test_scale() * 60000);
	struct blm_params p = params_of(unsized[_i].kind, unsized[_i].hash, 0, 0);
	uint64_t *n = numbers(0, 2 * count);
	uint8_t secret[BLM_SECRET_BYTES] = { 7 };
	struct blm_filter *f, *sized;
	struct blm_info info = BLM_INFO;

	if (!strcmp(p.hash, "siphash"))
		p.secret = secret;
	p.rate = 0.001;
	for (uint64_t i = 0; i < count; i++)
		n[count + i] = i;
	for (size_t m = 0; m < 2; m++) {
		struct blm_build *b = begin(NULL, &p, 2, m ? 64 << 10 : 0);
		struct blm_build *known;

		OK(blm_build_add_fixed(b, n, sizeof(*n), 2 * count));
		f = finish(b);
		OK(blm_info(f, &info));
		ck_assert_uint_eq(info.capacity, count);
		ck_assert_uint_le(info.keys, count);
		ck_assert_uint_ge(info.keys, count - count / 200);
		ck_assert_int_eq(blm_contains_fixed(f, n, sizeof(*n), count, NULL), (int64_t)count);
		p.capacity = count;
		known = begin(NULL, &p, 1, 0);
		OK(blm_build_add_fixed(known, n, sizeof(*n), count));
		sized = finish(known);
		/* in which the order matters */
		if (strcmp(p.kind, "cuckoo") && strcmp(p.kind, "hash-compact"))
			same_data(f, sized, p.kind);
		p.capacity = 0;
		blm_close(sized);
		blm_close(f);
	}
	free(n);
}
END_TEST

START_TEST(a_bitmap_without_a_capacity_reaches_to_the_largest_number)
{
	static const struct blm_key keys[] = { { "7", 1 }, { "1000000", 7 }, { "0", 1 } };
	static const struct blm_params p = BLM_PARAMS(.kind = "bitmap");
	struct blm_build *b = begin(NULL, &p, 1, 0);
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	OK(blm_build_add_many(b, keys, 3));
	FAILS(blm_build_add_many(b, &(struct blm_key){ "pear", 4 }, 1), -EINVAL);
	FAILS(blm_build_add_many(b, &(struct blm_key){ NULL, 0 }, 1), -EINVAL);
	FAILS(blm_build_add_many(
		      b,
		      &(struct blm_key){
			      "a key that is longer than what words of an error repeat of it", 61 },
		      1),
	      -EINVAL);
	FAILS(blm_build_add_fixed(b, "pear", 4, 1), -EINVAL);
	FAILS(blm_build_add_hashes(b, blm_build_hash_id(b), &(struct blm_hash){ 1, 1 }, 1),
	      -EINVAL);
	f = finish(b);
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.cells, 1000001);
	ck_assert_int_eq(blm_contains_many(f, keys, 3, NULL), 3);
	blm_close(f);
	b = begin(NULL, &p, 1, 0);
	OK(blm_build_add_many(b, &(struct blm_key){ "18446744073709551615", 20 }, 1));
	FAILS(blm_build_finish(b, NULL), -EINVAL);
}
END_TEST

START_TEST(with_a_known_size_it_suits_another_programs_format)
{
	const struct blm_params p = BLM_PARAMS(.format = "guava", .capacity = 1000, .rate = 0.01);
	uint64_t *n = numbers(0, 1000);
	struct blm_filter *expected = one_by_one(&p, n, 1000), *f;
	struct blm_build *b = begin(NULL, &p, 1, 0);

	OK(blm_build_add_fixed(b, n, sizeof(*n), 1000));
	f = finish(b);
	same_data(f, expected, "guava");
	blm_close(f);
	blm_close(expected);
	free(n);
}
END_TEST

/* Kinds that grow go into the file; a size in cells, or none. */
START_TEST(hashes_and_cells_serve_as_keys_and_a_capacity)
{
	static const struct { const char *kind; uint64_t capacity, cells;
	} some[] = {
		{ "scalable", 100, 0 }, { "window", 1000, 0 },	   { "counting", 0, 20000 },
		{ "cuckoo", 0, 4000 },	{ "blocked", 0, 1 << 15 }, { "removable", 0, 0 },
	};
	struct blm_hash hashes[1000];

	for (size_t k = 0; k < ARRAY_LEN(some); k++) {
		struct blm_params p = BLM_PARAMS(.kind = some[k].kind, .capacity = some[k].capacity,
						 .cells = some[k].cells);
		struct blm_build *b = begin(NULL, &p, 1, 0);
		struct blm_filter *f;

		for (uint64_t i = 0; i < 1000; i++)
			hashes[i] = (struct blm_hash){ mixed(i), mixed(~i) };
		/* the last there can be */
		hashes[999] = (struct blm_hash){ UINT64_MAX, UINT64_MAX };
		OK(blm_build_add_hashes(b, blm_build_hash_id(b), hashes, 1000));
		f = finish(b);
		ck_assert_int_eq(blm_contains_hashes(f, blm_hash_id(f), hashes, 1000, NULL), 1000);
		blm_close(f);
	}
}
END_TEST

/* A cuckoo filter holds a key four times. Without a size the builder counts each key once. */
START_TEST(a_key_that_repeats_too_often_is_refused_with_advice)
{
	struct blm_key same[5];

	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		same[i] = (struct blm_key){ "same", 4 };
	for (unsigned sized = 0; sized < 2; sized++) {
		struct blm_build *b = begin(NULL, &BLM_PARAMS(.kind = "cuckoo",
							      .capacity = sized ? 100 : 0), 1, 0);

		if (sized) {
			FAILS(blm_build_add_many(b, same, 5), -EXFULL);
			ck_assert_ptr_nonnull(strstr(blm_error_message(),
						     "leave blm_params.capacity"));
			blm_build_cancel(b);
		} else {
			struct blm_filter *f;

			OK(blm_build_add_many(b, same, 5));
			f = finish(b);
			ck_assert_int_eq(blm_contains(f, "same", 4), 1);
			blm_close(f);
		}
	}
}
END_TEST

/* Every other key, or the keys of the lower half of the blocks and those of the upper half. */
static void halves(struct blm_hash *hashes, uint64_t count, char by, struct blm_build *of[2])
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t half = by == 'h' ? hashes[i].hi >> 63 : by == 'l' ? hashes[i].lo >> 63
			: i % 2;
		struct blm_build *b = of[half];

		OK(blm_build_add_hashes(b, blm_build_hash_id(b), &hashes[i], 1));
	}
}

static void unite_all(struct blm_build *b, const struct blm_filter *f, uint64_t keys, size_t some)
{
	const struct blm_part *part = &current_view(f)->part[0];

	for (uint64_t at = 0; at < part->shape.bytes; at += some) {
		size_t here = part->shape.bytes - at < some ? part->shape.bytes - at : some;

		OK(blm_build_unite(b, at, part->bytes + at, here, at ? 0 : keys));
	}
}

/* by: what chooses the block, the word `hi` or `lo` of a hash; 0: keys have no block */
static const struct { const char *kind; uint64_t cells; uint32_t probes; char by;
} united[] = {
	{ "blocked", 1 << 16, 6, 'h' }, { "split-block", 1 << 16, 8, 'l' },
	{ "classic", 99991, 7, 0 }, { "counting", 50001, 5, 0 },
};

START_TEST(raw_data_and_keys_make_the_bytes_of_all_keys)
{
	struct blm_params p = params_of(united[_i].kind, "xxh3", united[_i].cells,
					united[_i].probes);
	const uint64_t count = 5000;
	uint64_t *n = numbers(0, count);
	struct blm_key *keys = keys_of(n, count);
	struct blm_hash *hashes = malloc(count * sizeof(*hashes));
	struct blm_filter *expected = one_by_one(&p, n, count), *f;
	struct blm_build *b[2] = { begin(NULL, &p, 0, 0), begin(NULL, &p, 0, 0) };
	bool estimated = false;
	uint64_t all;

	OK(blm_hash_many(expected, keys, count, hashes));
	halves(hashes, count, united[_i].by, b);
	f = finish(b[1]);
	/* each piece begins and ends within a line, and has whole lines between */
	unite_all(b[0], f, united[_i].by ? counted(f) : BLM_KEYS_UNKNOWN, 4096 + 40);
	blm_close(f);
	f = finish(b[0]);
	same_data(f, expected, united[_i].kind);
	OK(blm_count(f, &all, &estimated));
	ck_assert(estimated == !united[_i].by);
	if (united[_i].by)
		ck_assert_uint_eq(all, counted(expected));
	else
		ck_assert(all > count * 9 / 10 && all < count * 11 / 10);
	blm_close(f);
	blm_close(expected);
	free(hashes);
	free(keys);
	free(n);
}
END_TEST

START_TEST(raw_data_that_do_not_fit_are_refused)
{
	struct blm_params p = params_of("classic", "xxh3", 1000, 7);
	struct blm_build *b = begin(NULL, &p, 0, 0);
	uint8_t data[128] = { 0 };
	struct blm_filter *f;

	FAILS(blm_build_unite(b, 64, data, sizeof(data), 0), -EINVAL);
	FAILS(blm_build_unite(b, UINT64_MAX - 7, data, 16, 0), -EINVAL);
	data[125] = 1;		/* bit 1000 */
	FAILS(blm_build_unite(b, 0, data, sizeof(data), 0), -EINVAL);
	data[125] = 0;
	data[124] = 0x80;	/* bit 999 */
	OK(blm_build_unite(b, 3, data + 3, 123, 1));
	f = finish(b);
	ck_assert_uint_eq(current_view(f)->part[0].bytes[124], 0x80);
	blm_close(f);

	p = params_of("counting", "xxh3", 1000, 7);
	b = begin(NULL, &p, 0, 0);
	FAILS(blm_build_unite(b, 4, data, 8, 0), -EINVAL);
	blm_build_cancel(b);
	b = begin(NULL, &BLM_PARAMS(.kind = "fuse"), 0, 0);
	FAILS(blm_build_unite(b, 0, data, 8, 0), -EOPNOTSUPP);
	blm_build_cancel(b);
	b = begin(NULL, &BLM_PARAMS(.cells = 4096, .seed_count = 1, .seeds = all_seeds,
						 .split_part = 1, .split_parts = 2), 0, 0);
	OK(blm_build_unite(b, 256, data, 128, 0));
	FAILS(blm_build_unite(b, 192, data, 128, 0), -EREMOTE);
	blm_build_cancel(b);
	b = begin(NULL, &BLM_PARAMS(.kind = "scalable", .capacity = 1000), 0, 0);
	FAILS(blm_build_unite(b, 0, data, 8, 0), -EOPNOTSUPP);
	blm_build_cancel(b);
}
END_TEST

START_TEST(no_keys_at_all_are_a_filter_too)
{
	struct blm_build *b = begin(NULL, &BLM_PARAMS(), 1, 0);
	struct blm_filter *f = finish(b);

	ck_assert(!blm_contains(f, "a", 1));
	blm_close(f);
}
END_TEST

/* ---- Memory ---- */

struct told {
	const char *phase;
	int phases, from_0;
	uint64_t done, total;
};

static void tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
	struct told *t = context;

	if (t->phase != phase) {
		t->phases++;
		t->from_0 += done == 0;
	}
	t->phase = phase;
	t->done = done;
	t->total = total;
}

/* Also where one shard is all that is built. */
START_TEST(begin_and_end_of_each_phase_are_reported)
{
	struct told told = { 0 };
	struct blm_build *b;
	struct blm_filter *f;

	OK(blm_build_begin(&b, NULL, NULL, &BLM_PARAMS(.kind = "fuse"),
			   &(struct blm_build_options){ .progress = tell, .context = &told }));
	for (int i = 0; i < 1000; i++)
		OK((int)blm_build_add_many(b, &(struct blm_key){ &i, sizeof(i) }, 1));
	OK(blm_build_finish(b, &f));
	ck_assert_int_ge(told.phases, 2);
	ck_assert_int_eq(told.from_0, told.phases);
	ck_assert_str_eq(told.phase, "building");
	ck_assert_uint_eq(told.done, 1000);
	ck_assert_uint_eq(told.total, 1000);
	blm_close(f);
}
END_TEST

START_TEST(each_partition_keeps_to_its_memory)
{
	static const uint64_t given[] = { 1,	    32 << 10,	       1000000,
					  64 << 20, (uint64_t)1 << 30, UINT64_MAX };
	static const uint64_t cells[] = { 512, 1 << 22, 1 << 30, UINT64_C(1) << 40, BLM_CELLS_MAX };

	for (int k = 0; blm_kind_at((size_t)k); k++)
		for (size_t m = 0; blm_kind_at((size_t)k)->fill && m < ARRAY_LEN(given); m++)
			for (size_t c = 0; c < ARRAY_LEN(cells); c++)
				for (uint32_t probes = 1; probes <= 256; probes *= 4) {
					struct blm_part part = {
						.kind = blm_kind_at((size_t)k),
						.shape = { .cells = cells[c],
							   .bytes = cells[c] / 8,
							   .probes = probes,
							   .cell_bits = 1 },
					};
					const struct blm_fill *fill = part.kind->fill;
					struct blm_filling f;
					uint64_t entries, bytes,
						most = given[m] < 32 << 10 ? 32 << 10 : given[m];

					blm_filling_begin(&f, &part, given[m]);
					entries = f.pieces * f.capacity;
					bytes = entries * fill->entry_bytes + f.pieces * 4
					      + (fill->by_probe ? (entries / probes / 64 + 1) * 8
								: 0);
					ck_assert_uint_le(bytes, most);
					ck_assert_uint_le(bytes, (uint64_t)1 << 30);
					ck_assert_uint_ge(f.pieces, 1);
					ck_assert_uint_le(f.pieces, FILL_PIECES_MAX);
					ck_assert_uint_gt(f.nearly, 0);
					ck_assert_uint_ge(f.pieces << f.shift, cells[c]);
					ck_assert_uint_lt((f.pieces - 1) << f.shift, cells[c]);
					ck_assert_uint_lt(entries / probes,
							  fill->by_probe
								  ? UINT64_C(1) << (64 - f.shift)
								  : UINT64_MAX);
					blm_filling_end(&f);
				}
}
END_TEST

/* Of its own: neither files nor what the program has for all. */
static long resident_kib(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[200];
	long kib = -1;

	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "RssAnon: %ld", &kib);
	if (status)
		fclose(status);
	return kib;
}

static int build_in_little_memory(void *context)
{
	/* 50 MB of file */
	struct blm_params p = BLM_PARAMS(.kind = context, .capacity = 40000000, .rate = 0.01,
					 .sparse = true);
	uint64_t *n = numbers(0, 100000);
	struct blm_build *b;
	long before, after;

	MUST(blm_build_begin(&b, NULL, a_path(), &p,
			     &(struct blm_build_options){ .memory_bytes = 4 << 20 })
	     == 0);
	before = resident_kib();
	for (int i = 0; i < 20; i++)
		MUST(blm_build_add_fixed(b, n, 8, 100000) == 0);
	after = resident_kib();
	MUST(before > 0 && after - before > 2048);	/* it was looked at rightly */
	MUST(after - before <= 4096 + 256);
	blm_build_cancel(b);
	free(n);
	return 0;
}

START_TEST(a_builder_uses_no_more_than_its_memory)
{
	if (blm_kind_at((size_t)_i)->fill)
		ck_assert_int_eq(join(spawn(build_in_little_memory,
					    (void *)(uintptr_t)blm_kind_at((size_t)_i)->name)),
				 0);
}
END_TEST

/* ---- Threads that wait ---- */

static struct blm_buffer_pool pool;
static struct blm_buffers *in_use;

int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);

/* Another thread's turn: it returns what it had. */
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	struct blm_buffers *returned = in_use;

	if (!returned)
		return __real_pthread_cond_wait(cond, mutex);
	in_use = NULL;
	pthread_mutex_unlock(mutex);
	blm_buffer_pool_give_back(&pool, returned);
	pthread_mutex_lock(mutex);
	return 0;
}

START_TEST(a_thread_too_many_waits_for_anothers_buffers)
{
	struct blm_params p = BLM_PARAMS(.capacity = 1000, .rate = 0.01);
	struct blm_buffers *first, *second;
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL, &p));
	blm_buffer_pool_begin(&pool, &current_view(f)->root, 2, 0, "a build");
	first = blm_buffer_pool_take(&pool);
	second = blm_buffer_pool_take(&pool);
	ck_assert(first && second && first != second);
	in_use = first;
	ck_assert_ptr_eq(blm_buffer_pool_take(&pool), first);
	ck_assert_ptr_null(in_use);
	blm_buffer_pool_give_back(&pool, first);
	blm_buffer_pool_give_back(&pool, second);
	blm_buffer_pool_end(&pool);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("build");
	TCase *tc = tcase_create("build"), *threads = tcase_create("threads");

	tcase_add_loop_test(tc, a_built_filter_equals_one_filled_key_by_key, 0,
			    (int)ARRAY_LEN(sizes));
	tcase_add_test(
		threads,
		any_number_of_threads_makes_the_same_bytes);
	tcase_add_test(tc, all_forms_of_keys_make_the_same_filter);
	tcase_add_test(tc, a_kind_that_cannot_sort_is_filled_singly);
	tcase_add_test(tc, no_keys_make_an_empty_filter_and_many_a_full);
	tcase_add_test(tc, unfinished_and_cancelled_builds_show_nothing);
	tcase_add_test(
		tc, the_first_of_two_builders_of_a_name_wins);
	tcase_add_test(tc, the_target_of_a_link_is_replaced_and_it_stays);
	tcase_add_test(tc, a_builder_that_is_killed_leaves_nothing);
	tcase_add_test(tc, in_a_store_name_and_filter_appear_together);
	tcase_add_loop_test(tc, an_unpublished_filter_can_be_published_later, 0, 3);
	tcase_add_test(tc, a_built_filter_is_clean_and_sealed_on_request);
	tcase_add_test(tc, a_keyed_filters_secret_is_stored_when_it_appears);
	tcase_add_test(tc, an_impossible_build_is_refused_and_leaves_nothing);
	tcase_add_loop_test(tc, without_a_capacity_it_is_made_for_the_given_keys,
			    0, ARRAY_LEN(unsized));
	tcase_add_test(tc, a_bitmap_without_a_capacity_reaches_to_the_largest_number);
	tcase_add_test(tc, with_a_known_size_it_suits_another_programs_format);
	tcase_add_test(tc, hashes_and_cells_serve_as_keys_and_a_capacity);
	tcase_add_test(tc, a_key_that_repeats_too_often_is_refused_with_advice);
	tcase_add_loop_test(tc, raw_data_and_keys_make_the_bytes_of_all_keys, 0,
			    ARRAY_LEN(united));
	tcase_add_test(tc, raw_data_that_do_not_fit_are_refused);
	tcase_add_test(tc, no_keys_at_all_are_a_filter_too);
	tcase_add_test(tc, begin_and_end_of_each_phase_are_reported);
	tcase_add_test(tc, each_partition_keeps_to_its_memory);
	tcase_add_test(tc, a_thread_too_many_waits_for_anothers_buffers);
	/* which has memory in use for its own purposes */
	for (int i = 0; !SANITIZED && blm_kind_at((size_t)i); i++)
		if (blm_kind_at((size_t)i)->fill)
			tcase_add_loop_test(tc,
					    a_builder_uses_no_more_than_its_memory,
					    i, i + 1);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, threads);
	return run_suite(s);
}
