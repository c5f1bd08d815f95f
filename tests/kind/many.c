/*
 * many.c - the kinds' own loops over many keys say what their question about one says, whatever the
 * width of a cell and however full
 */
#include "handle/handle.h"
#include "suite.h"

enum { ASKED = 3000 };

static struct blm_filter *make(struct blm_params p)
{
	struct blm_filter *f;

	p.seeds = &(uint64_t){ 11 };
	p.seed_count = 1;
	OK(blm_create(&f, NULL, NULL, &p));
	return f;
}

/* Batches of several sizes, with and without one that comes next. */
static void many_says_what_each_says(const struct blm_filter *f)
{
	static uint64_t keys[ASKED];
	uint64_t bits[ASKED / 64 + 1];
	size_t count;

	for (uint64_t i = 0; i < ASKED; i++)
		keys[i] = i;
	for (count = ASKED; count > 1; count = count * 2 / 5) {
		int64_t yes = blm_contains_fixed(f, keys, 8, count, bits);

		for (size_t i = 0; i < count; i++) {
			bool each = blm_contains(f, &keys[i], 8), here = bits[i / 64] >> i % 64 & 1;

			if (each != here)
				ck_abort_msg("key %zu of %zu: %d alone, %d of many", i, count, each,
					     here);
			yes -= each;
		}
		ck_assert_int_eq(yes, 0);
	}
}

/* From 0 on, up to this many or until it is full, in three steps. */
static void fill_and_ask(struct blm_filter *f, uint64_t keys,
			 int (*add)(struct blm_filter *, const void *, size_t))
{
	bool full = false;

	many_says_what_each_says(f);
	for (uint64_t i = 0; i < keys && !full; i++) {
		int r = add(f, &i, 8);

		full = r == -EXFULL;
		if (r < 0 && !full)
			ck_abort_msg("%s", blm_error_message());
		if (i == keys / 10 || i == keys / 2)
			many_says_what_each_says(f);
	}
	many_says_what_each_says(f);
}

/* A removal looks for the key by another way. Removed keys are added again. */
static void taking_out_finds_what_asking_finds(struct blm_filter *f)
{
	for (uint64_t i = 0; i < ASKED; i++) {
		bool asked = blm_contains(f, &i, 8), taken = blm_remove(f, &i, 8) == 1;

		if (asked != taken)
			ck_abort_msg("key %llu: %d asked, %d taken out", (unsigned long long)i,
				     asked, taken);
		if (taken)
			blm_add(f, &i, 8);
	}
}

static void take_out_and_ask(struct blm_filter *f, uint64_t keys)
{
	taking_out_finds_what_asking_finds(f);
	for (uint64_t i = 0; i < keys; i += 3)
		blm_remove(f, &i, 8);
	many_says_what_each_says(f);
}

START_TEST(fingerprints_of_every_width)
{
	static const struct { const char *kind, *options;
	} kinds[] = { { "cuckoo", NULL }, { "d-left", NULL }, { "cuckoo", "layout=buckets" } };

	for (double rate = 0.4; rate > 1e-8; rate /= SANITIZED ? 9 : 3)
		for (uint64_t cells = 32; cells <= 2048; cells *= 8) {
			struct blm_params p = BLM_PARAMS(.kind = kinds[_i].kind, .cells = cells,
							 .rate = rate,
							 .options = kinds[_i].options);
			struct blm_filter *f = make(p);

			fill_and_ask(f, cells, blm_add);
			take_out_and_ask(f, cells);
			blm_close(f);
		}
}
END_TEST

/* An add looks for the key by another way. */
static void adding_finds_what_asking_finds(struct blm_filter *f)
{
	for (uint64_t i = 0; i < ASKED; i++) {
		int found = blm_contains(f, &i, 8), added = blm_add(f, &i, 8);

		if (found ? added != 0 : added != 1 && added != -EXFULL)
			ck_abort_msg("key %llu: %d asked, %d added", (unsigned long long)i, found,
				     added);
	}
}

/* Of the widths with as many cells a word: not the least, not the most, and not 24 nor 48. */
static bool is_like_others(unsigned bits)
{
	return 64 / bits == 64 / (bits - 1) && 64 / bits == 64 / (bits + 1) && bits % 24;
}

START_TEST(signatures_of_every_width_in_tables_up_to_full)
{
	for (unsigned bits = 8; bits <= 64; bits += SANITIZED ? 4 : 1)
		for (uint64_t cells = 1; cells <= 2000; cells = cells * 7 + 2) {
			struct blm_filter *f;
			char options[40];

			if (test_scale() < 1 && is_like_others(bits))
				continue;

			snprintf(options, sizeof(options), "signature-bits=%u", bits);
			f = make(BLM_PARAMS(.kind = "hash-compact", .cells = cells,
					    .options = options));
			fill_and_ask(f, cells + 3, blm_add);
			adding_finds_what_asking_finds(f);
			blm_close(f);
		}
}
END_TEST

START_TEST(counters_and_fading_cells_of_every_width)
{
	static const struct {
		const char *kind;
		unsigned least, most;
	} kinds[] = { { "counting", 3, 4 }, { "stable", 1, 8 } };

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (unsigned bits = kinds[k].least; bits <= kinds[k].most; bits++)
			for (uint64_t keys = 75; keys <= 5000; keys *= 9) {
				struct blm_filter *f;
				char options[40];

				snprintf(options, sizeof(options), "bits=%u", bits);
				f = make(BLM_PARAMS(.kind = kinds[k].kind, .capacity = keys,
						    .rate = 0.1, .probes = 3, .options = options));
				fill_and_ask(f, keys, blm_add);
				blm_close(f);
			}
}
END_TEST

static int put(struct blm_filter *f, const void *key, size_t len)
{
	uint64_t number;

	memcpy(&number, key, sizeof(number));
	return blm_put(f, key, len, 1 + (number % 5 == 0));
}

START_TEST(values_of_every_width_on_every_lattice)
{
	static const char *const lattices[] = { "max", "min", "or" };

	for (unsigned bits = 2; bits <= 64; bits += SANITIZED && bits < 60 ? 6 : 1) {
		struct blm_filter *f;
		char options[40];

		snprintf(options, sizeof(options), "bits=%u,lattice=%s", bits, lattices[_i]);
		f = make(BLM_PARAMS(.kind = "approximator", .cells = 5000, .probes = 4,
				    .options = options));
		fill_and_ask(f, 1500, put);
		blm_close(f);
	}
}
END_TEST

START_TEST(filters_of_several_parts)
{
	static const struct { const char *kind, *options;
	} kinds[] = {
		{ "scalable", NULL },	 { "scalable", "growth=4" }, { "removable", NULL },
		{ "window", "slots=3" }, { "window", "slots=20" },   { "attenuated", NULL },
		{ "scalable", "blocked=1" },
	};
	struct blm_filter *f = make(BLM_PARAMS(.kind = kinds[_i].kind, .options = kinds[_i].options,
					       .capacity = 300, .rate = 0.05));

	fill_and_ask(f, 2000, blm_add);
	blm_close(f);
}
END_TEST

/* ---- Places ---- */

/*
 * Reading these places beforehand reads all that the answer depends on: a place that lacks a bit
 * means no, and if all the last ones have theirs, yes.
 */
static void places_say_what_asking_says(const struct blm_part *part, const struct blm_hashed *key,
					bool all_are_asked)
{
	bool lacks = false, in = part->kind->contains(part, key), any = false;
	const uint64_t *at;
	uint64_t mask;

	for (unsigned i = 0; (at = part->kind->probe(part, key, i, &mask)); i++) {
		ck_assert((const uint8_t *)at >= part->bytes
			  && (const uint8_t *)(at + 1) <= part->bytes + part->shape.bytes);
		ck_assert_uint_eq((uintptr_t)at % sizeof(*at), 0);
		lacks |= (mask & ~*at) != 0;
		any |= !mask;
	}
	ck_assert_msg(!(lacks && in), "%s: a place lacks a bit, and the answer is yes",
		      part->kind->name);
	ck_assert_msg(!all_are_asked || any || lacks == !in,
		      "%s: no place lacks a bit, and the answer is no", part->kind->name);
}

START_TEST(a_missing_bit_at_a_probed_place_means_no)
{
	static const struct { const char *kind, *hash, *scheme; uint32_t probes;
	} some[] = {
		{ "classic", "xxh3", NULL, 7 },
		{ "classic", "mm3_64", NULL, 5 },
		{ "classic", "murmur3-x64-128", "guava-64", 5 },
		{ "blocked", "xxh3", NULL, 5 },
		{ "split-block", "xxh64", NULL, 0 },
		{ "bitmap", NULL, NULL, 0 },
		{ "hash-compact", "xxh3", NULL, 0 },
		{ "counting", "xxh3", NULL, 4 },
		{ "counting", "mm3_64", NULL, 4 },
		{ "approximator", "xxh3", NULL, 4 },
		{ "stable", "xxh3", NULL, 3 },
		{ "cuckoo", "xxh3", NULL, 0 },
		{ "d-left", "xxh3", NULL, 0 },
	};

	for (size_t k = 0; k < ARRAY_LEN(some); k++) {
		struct blm_params p = BLM_PARAMS(.kind = some[k].kind, .hash = some[k].hash,
						 .scheme = some[k].scheme, .cells = 4096,
						 .probes = some[k].probes);
		const struct blm_part *part;
		const struct blm_hasher *by;
		struct blm_filter *f;

		OK(blm_create(&f, NULL, NULL, &p));
		part = &current_view(f)->part[0];
		by = &current_view(f)->hasher;
		for (int i = 0; i < 1000; i++) {
			char text[12];
			struct blm_key one = { text,
					       (size_t)snprintf(text, sizeof(text), "%d", i) };
			struct blm_hash hash = { 0 };

			if (i < 300)
				OK(part->kind->add
					   ? blm_add(f, text, one.len)
					   : blm_put(f, text, one.len, 1 + (uint64_t)i % 5));
			if (!wants_keys(by))
				blm_hash_all(by, &one, 1, &hash);
			if (part->kind->probe)
				places_say_what_asking_says(
					part,
					&(struct blm_hashed){ .hash = hash, .key = &one, .by = by },
					kind_only_sets(part->kind));
			if (part->kind->prefetch)
				part->kind->prefetch(part, &(struct blm_hashed){ .hash = hash,
										 .key = &one,
										 .by = by });
		}
		blm_close(f);
	}
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("many");
	TCase *tc = tcase_create("many says what each says, of");

	tcase_add_loop_test(tc, fingerprints_of_every_width, 0, 3);
	tcase_add_test(tc, signatures_of_every_width_in_tables_up_to_full);
	tcase_add_test(tc, counters_and_fading_cells_of_every_width);
	tcase_add_loop_test(tc, values_of_every_width_on_every_lattice, 0, 3);
	tcase_add_loop_test(tc, filters_of_several_parts, 0, 7);
	tcase_add_test(tc,
		       a_missing_bit_at_a_probed_place_means_no);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
