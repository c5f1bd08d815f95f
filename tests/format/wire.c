/*
 * wire.c - what Bitcoin and Neo send: what they would not take is refused, both ways; what says
 * nothing is taken when told so
 */
#include "vectors.h"

#include <errno.h>

static const struct blm_exchange bip37 = BLM_EXCHANGE(.format = "bip37"),
				 neo = BLM_EXCHANGE(.format = "neo");
static const struct blm_exchange bip37_all = BLM_EXCHANGE(.format = "bip37", .everything = true),
				 neo_all = BLM_EXCHANGE(.format = "neo", .everything = true);

static struct blm_filter *make(uint64_t cells, uint32_t probes)
{
	struct blm_params p = BLM_PARAMS(.kind = "classic", .hash = "murmur3-bip37", .cells = cells,
					 .probes = probes);
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL, &p));
	return f;
}

/* Both formats; says: what the refusal is about. NULL: it goes out, and comes in as the same. */
static void goes_out(uint64_t cells, uint32_t probes, const char *says)
{
	struct blm_filter *f = make(cells, probes), *again;
	void *out;
	size_t bytes;

	for (int i = 0; i < 2; i++) {
		const struct blm_exchange *how = i ? &neo : &bip37;
		int r = blm_export_bytes(f, how, &out, &bytes);

		if (says) {
			ck_assert_int_eq(r, -EOPNOTSUPP);
			ck_assert_msg(strstr(blm_error_message(), says) != NULL, "%s",
				      blm_error_message());
			continue;
		}
		OK(r);
		ck_assert_uint_eq(bytes, (cells / 8 < 253 ? 1 : 3) + cells / 8 + (i ? 5 : 9));
		OK(blm_import_bytes(&again, NULL, NULL, how, out, bytes));
		OK(blm_same_template(f, again));
		blm_close(again);
		blm_free(out);
	}
	blm_close(f);
}

START_TEST(only_filters_that_their_nodes_accept_are_exported)
{
	goes_out(8, 1, NULL);
	goes_out(8 * 252, 50, NULL);
	goes_out(8 * 253, 50, NULL);
	goes_out(288000, 50, NULL);
	goes_out(288008, 50, "multiple of 8 up to 288000");
	goes_out(288000, 51, "k is 51");
	goes_out(1021, 7, "m is 1021");
	goes_out(7, 10, "m is 7");
}
END_TEST

static void refuses(const struct blm_exchange *how, const char *hex, const char *says)
{
	uint8_t bytes[64];
	struct blm_filter *f;

	ck_assert_int_lt(blm_import_bytes(&f, NULL, NULL, how, bytes,
					  from_hex(hex, bytes, sizeof(bytes))),
			 0);
	ck_assert_msg(strstr(blm_error_message(), says) != NULL, "%s: %s", hex,
		      blm_error_message());
}

static void holds_everything(const struct blm_exchange *how, const char *hex,
			     const char *goes_out_as)
{
	uint8_t bytes[64];
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	uint8_t *out;
	size_t count;

	OK(blm_import_bytes(&f, NULL, NULL, how, bytes, from_hex(hex, bytes, sizeof(bytes))));
	for (uint32_t i = 0; i < 1000; i++)
		ck_assert(blm_contains(f, &i, sizeof(i)));
	OK(blm_info(f, &info));
	OK(blm_export_bytes(f, NULL, (void **)&out, &count));
	ck_assert_uint_eq(count, from_hex(goes_out_as, bytes, sizeof(bytes)));
	ck_assert_mem_eq(out, bytes, count);
	blm_free(out);
	blm_close(f);
}

START_TEST(a_filter_without_bits_or_functions_is_refused_unless_forced)
{
	refuses(&bip37, "000500000007000000" "01", "has no bits");
	refuses(&bip37, "03614e9b" "00000000" "07000000" "02", "has no hash functions");
	refuses(&neo, "000507000000", "has no bits");
	refuses(&neo, "03614e9b" "00" "07000000", "has no hash functions");
	ck_assert(strstr(blm_error_message(), "blm_exchange.everything"));
	holds_everything(&bip37_all, "000500000007000000" "02", "01ff" "05000000" "07000000" "02");
	holds_everything(&bip37_all, "000000000007000000" "00", "01ff" "01000000" "07000000" "00");
	holds_everything(&bip37_all,
			 "03614e9b"
			 "00000000"
			 "07000000"
			 "02",
			 "03ffffff"
			 "01000000"
			 "07000000"
			 "02");
	holds_everything(&neo_all, "000507000000", "01ff" "05" "07000000");
	holds_everything(&neo_all, "03614e9b" "00" "07000000", "03ffffff" "01" "07000000");
}
END_TEST

START_TEST(force_overrides_nothing_else)
{
	struct blm_filter *f;
	struct blm_estimate e;
	uint8_t bytes[13];

	refuses(&bip37_all, "03614e9b" "33000000" "07000000" "02", "k is 51");
	refuses(&bip37_all, "00" "33000000" "07000000" "02", "k is 51");
	refuses(&bip37_all, "03614e9b" "00000000" "07000000", "it is truncated");
	refuses(&bip37_all, "03614e9b" "00000000" "07000000" "0200", "has more bytes than");
	refuses(&bip37_all, "fda18c", "more than 36000");
	refuses(&neo_all, "00", "it is truncated");
	OK(blm_import_bytes(&f, NULL, NULL, &bip37_all, bytes,
			    from_hex("03614e9b050000000000000001", bytes, sizeof(bytes))));
	OK(blm_estimate(f, true, &e));
	ck_assert_uint_eq(e.ones, 12);		/* a filter that says something stays what it is */
	blm_close(f);
}
END_TEST

/* The keys of a list of hexadecimal texts: asked, and before that added. Returns how many. */
static unsigned each_key(struct blm_filter *f, const char *from, const char *end, const char *name,
			 bool add, bool answer)
{
	const char *at = field(from, end, name);
	uint8_t key[256];
	unsigned count = 0;

	for (; at && *at && *at != ']'; at += strspn(at, "\", \n")) {
		size_t len = from_hex(at, key, sizeof(key));

		if (add)
			OK(blm_add(f, key, len));
		ck_assert(blm_contains(f, key, len) == answer);
		at += 2 * len;
		count++;
	}
	return count;
}

static char *read_list(const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", VECTORS, name);
	return *VECTORS ? file_of(path, NULL) : NULL;
}

START_TEST(bitcoin_cores_test_filters_are_built_bit_for_bit)
{
	char *json = read_list("bip37/core.json"), name[32];
	const char *at = json, *from;
	unsigned cases = 0;

	while (json && (from = next_case(&at, name))) {
		const char *hex = field(from, at, "filterload_hex");
		struct blm_params p = BLM_PARAMS(.format = "bip37",
						 .capacity = number(from, at, "nElements"),
						 .rate = strtod(field(from, at, "nFPRate"), NULL),
						 .tweak = number(from, at, "nTweak"));
		struct blm_filter *theirs, *ours;
		uint8_t bytes[64];
		size_t count = from_hex(hex, bytes, sizeof(bytes)), len;
		void *out;

		OK(blm_import_bytes(&theirs, NULL, NULL, &bip37, bytes, count));
		ck_assert_uint_gt(each_key(theirs, from, at, "insert_hex", false, true), 0);
		each_key(theirs, from, at, "lacks_hex", false, false);
		OK(blm_create(&ours, NULL, NULL, &p));
		each_key(ours, from, at, "insert_hex", true, true);
		OK(blm_same_template(ours, theirs));
		for (int i = 0; i < 2; i++) {
			OK(blm_export_bytes(i ? ours : theirs, &bip37, &out, &len));
			ck_assert_uint_eq(len, count);
			ck_assert_mem_eq(out, bytes, len);
			blm_free(out);
		}
		blm_close(ours), blm_close(theirs);
		cases++;
	}
	ck_assert(!json || cases == 3);
	free(json);
}
END_TEST

START_TEST(neos_own_unit_case_has_its_bits)
{
	struct blm_params p = BLM_PARAMS(.kind = "classic", .hash = "murmur3-bip37", .cells = 7,
					 .probes = 10, .tweak = 123456);
	struct blm_filter *f;
	uint8_t byte;

	OK(blm_create(&f, NULL, NULL, &p));
	OK(blm_add(f, "\0\1\2\3\4", 5));
	OK(blm_data_read(f, 0, &byte, 1));
	ck_assert_uint_eq(byte, 0x37);
	ck_assert(!blm_contains(f, "\0\1\2\3\4\5\6\7\10\11", 10));
	blm_close(f);
}
END_TEST

/* Those that Neo cannot send, too, since its filters are of bits and its messages of bytes. */
START_TEST(neos_filters_of_any_size_are_built_bit_for_bit)
{
	size_t most = 1 << 16, count;
	uint8_t *want = malloc(most), *have = malloc(most), key[2048];
	char *json = file_of(DATA "/neo/neo.json", NULL),
	     *keys = file_of(DATA "/keys/insert.hex", NULL), name[32], file[64];
	const char *at = json, *from;
	unsigned odd = 0;

	while ((from = next_case(&at, name))) {
		struct blm_params p = BLM_PARAMS(.kind = "classic", .hash = "murmur3-bip37",
						 .cells = number(from, at, "m_bits"),
						 .probes = (uint32_t)number(from, at, "k"),
						 .tweak = number(from, at, "tweak"));
		struct blm_filter *f;
		char *line = keys;

		text_field(from, at, "keys", file, sizeof(file));
		if (strcmp(file, "keys/insert.hex"))
			continue;
		OK(blm_create(&f, NULL, NULL, &p));
		for (uint64_t i = number(from, at, "n_insert"); i--; line = strchr(line, '\n') + 1)
			OK(blm_add(f, key, from_hex(line, key, sizeof(key))));
		count = from_hex(field(from, at, "bits_hex"), want, most);
		ck_assert_uint_eq(count, (p.cells + 7) / 8);
		OK(blm_data_read(f, 0, have, count));
		ck_assert_mem_eq(have, want, count);
		odd += p.cells % 8 != 0;
		blm_close(f);
	}
	ck_assert_uint_gt(odd, 0);
	free(json), free(keys), free(want), free(have);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format wire");
	TCase *tc = tcase_create("wire");

	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_test(tc, only_filters_that_their_nodes_accept_are_exported);
	tcase_add_test(tc, a_filter_without_bits_or_functions_is_refused_unless_forced);
	tcase_add_test(tc, force_overrides_nothing_else);
	tcase_add_test(tc,
		       bitcoin_cores_test_filters_are_built_bit_for_bit);
	tcase_add_test(tc, neos_own_unit_case_has_its_bits);
	tcase_add_test(tc, neos_filters_of_any_size_are_built_bit_for_bit);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
