/*
 * schemes.c - the families of other programs against published values, and the schemes: where bits
 * fall, what goes with what, what they keep
 */
#include "handle/handle.h"
#include "vectors.h"

/* ---- Families ---- */

static const struct { const char *family, *key, *digest;
} digests[] = {
	{ "md5-digest", "abc", "900150983cd24fb0d6963f7d28e17f72" },
	{ "sha1-digest", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d" },
	{ "sha256-digest", "abc",
	  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "sha384-digest", "abc",
	  "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca1"
	  "34c825a7" },
	{ "sha512-digest", "abc",
	  "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
	  "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f" },
	{ "keccak256", "", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470" },
	{ "keccak256", "abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45" },
	{ "xxh3", "", "99aa06d3014798d86001c324468d497f" },
	{ "murmur3-x64-128", "The quick brown fox jumps over the lazy dog",
	  "6c1b07bc7bbc4be347939ac4a93c437a" },
};

static void digest_of(const char *family, const struct blm_key *pieces, unsigned count,
		      uint8_t *ret)
{
	static const uint64_t seed;
	struct blm_hasher by = { .family = blm_family_by_name(family),
				 .seeds = &seed,
				 .seed_count = 1 };

	ck_assert_ptr_nonnull(by.family);
	by.family->digest(&by, pieces, count, ret);
}

START_TEST(digests_equal_the_published_ones)
{
	for (size_t i = 0; i < ARRAY_LEN(digests); i++) {
		uint8_t want[BLM_DIGEST_MAX], got[BLM_DIGEST_MAX];
		size_t bytes = from_hex(digests[i].digest, want, sizeof(want));

		ck_assert_uint_eq(bytes, blm_family_by_name(digests[i].family)->digest_bytes);
		digest_of(digests[i].family,
			  &(struct blm_key){ digests[i].key, strlen(digests[i].key) }, 1, got);
		ck_assert_msg(!memcmp(want, got, bytes), "%s of \"%s\"", digests[i].family,
			      digests[i].key);
	}
}
END_TEST

START_TEST(a_digest_of_pieces_equals_the_digest_of_the_whole)
{
	uint8_t bytes[400], whole[BLM_DIGEST_MAX], parts[BLM_DIGEST_MAX];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	for (size_t f = 0; blm_family_at(f); f++) {
		const struct blm_family *family = blm_family_at(f);

		for (size_t len = 0; family->digest && len <= sizeof(bytes);
		     len += len < 40 ? 1 : 31)
			for (size_t cut = 0; cut <= len; cut += 1 + len / 7) {
				const struct blm_key pieces[] = { { bytes, cut },
								  { NULL, 0 },
								  { bytes + cut, len - cut } };

				digest_of(family->name, &(struct blm_key){ bytes, len }, 1, whole);
				digest_of(family->name, pieces, 3, parts);
				ck_assert_msg(!memcmp(whole, parts, family->digest_bytes),
					      "%s of %zu and %zu", family->name, cut, len - cut);
			}
	}
}
END_TEST

static const struct { const char *family, *key; uint64_t lo; } words[] = {
	{ "fnv1", "", 0xcbf29ce484222325 }, { "fnv1", "foobar", 0x340d8765a4dda9c2 },
	{ "fnv1a", "", 0xcbf29ce484222325 }, { "fnv1a", "foobar", 0x85944171f73967e8 },
};

START_TEST(fnv_gives_the_known_answers_in_both_halves)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct blm_hasher by = { .family = blm_family_by_name(words[i].family) };
		struct blm_hash h;

		by.family->hash(&by, &(struct blm_key){ words[i].key, strlen(words[i].key) }, &h);
		ck_assert_msg(h.lo == words[i].lo && h.hi == h.lo, "%s of \"%s\"", words[i].family,
			      words[i].key);
	}
}
END_TEST

/* ---- Schemes ---- */

static struct blm_filter *make(const char *hash, const char *scheme, uint64_t m, uint32_t k)
{
	static const uint64_t seeds[4] = { 1, 2, 3, 4 };
	const struct blm_family *family = blm_family_by_name(hash);
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.hash = hash, .scheme = scheme, .cells = m, .probes = k,
				  .seeds = seeds, .seed_count = family->seeds)));
	return f;
}

START_TEST(slices_of_md5_are_the_published_bits)
{
	static const uint64_t bits[] = { 3389683, 3996727, 736161, 389216 };
	static const char key[] = "\001http://www.squid-cache.org/";
	struct blm_filter *f = make("md5-digest", "slices", 5000000, 4),
			  *squid = make("squid", "slices", 5000000, 4);

	ck_assert_int_eq(blm_add(f, key, sizeof(key) - 1), 1);
	ck_assert_int_eq(blm_add(squid, key + 1, sizeof(key) - 2), 1);
	for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
		uint8_t byte;

		OK(blm_data_read(f, bits[i] / 8, &byte, 1));
		ck_assert_uint_eq(byte, 1u << bits[i] % 8);
		OK(blm_data_read(squid, bits[i] / 8, &byte, 1));
		ck_assert_uint_eq(byte, 1u << bits[i] % 8);
	}
	blm_close(f), blm_close(squid);
}
END_TEST

/* A hash that goes with a scheme for 7 probes, or 4. */
static const char *hash_for(const struct blm_scheme_info *s, uint32_t *ret_k)
{
	*ret_k = s->slice_bits ? 4 : 7;
	return s->bits == 128 ? "siphash13"
	     : s->bits == 64  ? "fnv1"
	     : s->bits	      ? "murmur2"
			      : "sha256-digest";
}

/* Both loops of adding, and those of building, claiming and asking. */
START_TEST(with_every_scheme_all_paths_set_and_find_equal_bits)
{
	enum { N = 2000 };
	static uint64_t bits[N / 64 + 1];
	struct blm_scheme_info s;
	struct blm_filter *f, *one, *claimed, *built;
	struct blm_build *b;
	uint32_t k, keys[N];
	uint8_t want[8192], got[8192];

	for (uint32_t i = 0; i < N; i++)
		keys[i] = i * 2654435761u;
	for (size_t i = 0; blm_scheme_list(i, &s) == 0; i++) {
		const char *hash = hash_for(&s, &k);
		struct blm_params p = BLM_PARAMS(.hash = hash, .scheme = s.name, .cells = k * 9001,
						 .probes = k);
		struct blm_info info = BLM_INFO;

		f = make(hash, s.name, p.cells, k);
		OK(blm_info(f, &info));
		ck_assert_str_eq(info.scheme, s.name);
		OK(blm_template(&one, NULL, NULL, f, 0));
		OK(blm_template(&claimed, NULL, NULL, f, 0));
		ck_assert_int_gt(blm_add_fixed(f, keys, 4, N, NULL), N * 9 / 10);
		for (size_t j = 0; j < N; j++)
			OK(blm_add(one, &keys[j], 4));
		ck_assert_int_gt(blm_claim_fixed(claimed, keys, 4, N, NULL), N * 9 / 10);
		p.seeds = info.seeds;
		p.seed_count = info.seed_count;
		OK(blm_build_begin(&b, NULL, NULL, &p, NULL));
		OK(blm_build_add_fixed(b, keys, 4, N));
		OK(blm_build_finish(b, &built));
		ck_assert_uint_le(info.data_bytes, sizeof(want));
		OK(blm_data_read(f, 0, want, info.data_bytes));
		for (int w = 0; w < 3; w++) {
			struct blm_filter *other = w == 0 ? one : w == 1 ? claimed : built;

			OK(blm_same_template(f, other));
			OK(blm_data_read(other, 0, got, info.data_bytes));
			ck_assert_msg(!memcmp(want, got, info.data_bytes), "%s: way %d", s.name, w);
		}
		ck_assert_int_eq(blm_contains_fixed(f, keys, 4, N, bits), N);
		for (size_t j = 0; j < N; j++)
			ck_assert(blm_contains(f, &keys[j], 4));
		OK(blm_add_fixed(f, NULL, 0, 3, NULL));
		ck_assert(blm_contains(f, "", 0));
		blm_close(f), blm_close(one), blm_close(claimed), blm_close(built);
	}
}
END_TEST

START_TEST(a_scheme_that_needs_only_hashes_takes_them_beforehand)
{
	struct blm_scheme_info s;
	uint32_t k;

	for (size_t i = 0; blm_scheme_list(i, &s) == 0; i++) {
		const char *hash = hash_for(&s, &k);
		struct blm_filter *f = make(hash, s.name, k * 9001, k);
		struct blm_hash h;

		if (s.by_key) {
			FAILS(blm_hash_many(f, &(struct blm_key){ "key", 3 }, 1, &h), -EOPNOTSUPP);
		} else {
			OK(blm_hash_many(f, &(struct blm_key){ "key", 3 }, 1, &h));
			ck_assert_int_eq(blm_add_hashes(f, blm_hash_id(f), &h, 1, NULL), 1);
			ck_assert(blm_contains(f, "key", 3));
		}
		blm_close(f);
	}
}
END_TEST

START_TEST(filters_of_different_schemes_do_not_combine_and_name_it)
{
	struct blm_filter *a = make("siphash13", "double", 7000, 7),
			  *b = make("siphash13", "enhanced", 7000, 7), *guava, *same;

	FAILS(blm_same_template(a, b), -EMEDIUMTYPE);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "index rule: double and enhanced"));
	OK(blm_create(&guava, NULL, NULL,
		      &BLM_PARAMS(.format = "guava", .cells = 6400, .probes = 7)));
	OK(blm_create(&same, NULL, NULL,
		      &BLM_PARAMS(.hash = "murmur3-x64-128", .scheme = "guava-64", .cells = 6400,
				  .probes = 7, .seeds = &(uint64_t){ 0 }, .seed_count = 1)));
	FAILS(blm_same_template(guava, same), -EMEDIUMTYPE);
	ck_assert_ptr_nonnull(
		strstr(blm_error_message(), "bit order: big-endian words and low bit first"));
	FAILS(blm_export_bytes(same, &BLM_EXCHANGE(.format = "guava"), &(void *){ NULL },
			       &(size_t){ 0 }),
	      -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "blm_params.format"));
	blm_close(a), blm_close(b), blm_close(guava), blm_close(same);
}
END_TEST

static const struct { struct blm_params params; int error; const char *words;
} misfits[] = {
	{ BLM_PARAMS(.scheme = "doubled", .cells = 100), -ENOENT, "no scheme \"doubled\"" },
	{ BLM_PARAMS(.scheme = "double", .kind = "blocked", .capacity = 100), -EOPNOTSUPP,
	  "blocked" },
	{ BLM_PARAMS(.scheme = "double", .hash = "xxh64", .cells = 100), -EINVAL, "too few bits" },
	{ BLM_PARAMS(.scheme = "own", .hash = "murmur2", .cells = 100), -EINVAL, "too few bits" },
	{ BLM_PARAMS(.scheme = "double", .hash = "mm3_64", .cells = 100, .probes = 3), -EINVAL,
	  "its own rule" },
	{ BLM_PARAMS(.scheme = "slices", .hash = "md5-digest", .cells = 100, .probes = 5), -EINVAL,
	  "slices" },
	{ BLM_PARAMS(.scheme = "slices-16", .hash = "md5-digest", .cells = 65537, .probes = 3),
	  -EINVAL, "too few bits for m" },
	{ BLM_PARAMS(.scheme = "salted", .hash = "fnv1", .cells = 100, .probes = 3), -EINVAL,
	  "digest" },
	{ BLM_PARAMS(.scheme = "partitioned", .cells = 100, .probes = 3), -EINVAL, "multiple" },
	{ BLM_PARAMS(.kind = "blocked", .hash = "leveldb", .capacity = 100), -EOPNOTSUPP,
	  "classic" },
	{ BLM_PARAMS(.format = "guava", .hash = "xxh3", .capacity = 100), -EINVAL,
	  "leave them out" },
	{ BLM_PARAMS(.format = "pybloomfiltermmap", .capacity = 100), -EOPNOTSUPP, "blm_export()" },
	{ BLM_PARAMS(.format = "gvava", .capacity = 100), -ENOENT, "no format" },
	{ BLM_PARAMS(.format = "bip37", .capacity = 1, .rate = 0.99), -EINVAL, "BIP 37" },
	{ BLM_PARAMS(.format = "bip37", .cells = 12, .probes = 3, .hash = "xxh3"), -EINVAL,
	  "leave them out" },
};

START_TEST(combinations_that_do_not_fit_are_refused_with_reasons)
{
	for (size_t i = 0; i < ARRAY_LEN(misfits); i++) {
		FAILS(blm_plan(&(struct blm_plan){ 0 }, &misfits[i].params), misfits[i].error);
		ck_assert_msg(strstr(blm_error_message(), misfits[i].words) != NULL, "%zu: %s", i,
			      blm_error_message());
	}
}
END_TEST

START_TEST(a_filter_in_ranges_is_a_multiple_of_its_probes)
{
	struct blm_plan plan;

	OK(blm_plan(&plan, &BLM_PARAMS(.scheme = "partitioned", .capacity = 1000, .rate = 0.01)));
	ck_assert_uint_eq(plan.cells % plan.probes, 0);
	ck_assert_double_le(plan.predicted_rate, 0.01);
}
END_TEST

static unsigned found_of(const char *scheme)
{
	struct blm_filter *f = make("siphash13", scheme, 8000, 14);
	unsigned found = 0;

	for (uint64_t i = 0; i < 400; i++)
		OK(blm_add(f, &i, sizeof(i)));
	for (uint64_t i = 400; i < 1000400; i++)
		found += blm_contains(f, &i, sizeof(i));
	blm_close(f);
	return found;
}

/* 66 of a million are expected. The keys and seeds are always the same, so the numbers are. */
START_TEST(double_hashing_fails_in_small_filters_and_ours_does_not)
{
	unsigned own = found_of("own"), twice = found_of("double");

	ck_assert_uint_ge(own, 30);
	ck_assert_uint_le(own, 110);
	ck_assert_uint_ge(twice, 2 * own);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("schemes");
	TCase *tc = tcase_create("schemes");

	tcase_add_test(tc, digests_equal_the_published_ones);
	tcase_add_test(tc, a_digest_of_pieces_equals_the_digest_of_the_whole);
	tcase_add_test(tc, fnv_gives_the_known_answers_in_both_halves);
	tcase_add_test(tc, slices_of_md5_are_the_published_bits);
	tcase_add_test(tc, with_every_scheme_all_paths_set_and_find_equal_bits);
	tcase_add_test(tc, a_scheme_that_needs_only_hashes_takes_them_beforehand);
	tcase_add_test(tc, filters_of_different_schemes_do_not_combine_and_name_it);
	tcase_add_test(tc, combinations_that_do_not_fit_are_refused_with_reasons);
	tcase_add_test(tc, a_filter_in_ranges_is_a_multiple_of_its_probes);
	tcase_add_test(tc,
		       double_hashing_fails_in_small_filters_and_ours_does_not);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
