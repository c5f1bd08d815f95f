/*
 * js.c - filters of a popular article's JavaScript answer here as in a browser (Node 20 gave the
 * numbers), and are as large as there
 */
#include "format/format.h"
#include "vectors.h"

#include <errno.h>

static struct blm_filter *take(const char *text)
{
	struct blm_filter *f;

	/* known by how it begins, as it goes out */
	OK(blm_import_bytes(&f, NULL, NULL, *text == '{' ? NULL : &BLM_EXCHANGE(.format = "js"),
			    text, strlen(text)));
	return f;
}

static void goes_out_as(const struct blm_filter *f, const char *want)
{
	void *out;
	size_t bytes;

	OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = "js"), &out, &bytes));
	ck_assert_msg(bytes == strlen(want) && !memcmp(out, want, bytes), "%.*s", (int)bytes,
		      (char *)out);
	blm_free(out);
}

static bool has(const struct blm_filter *f, const char *key)
{
	return blm_contains(f, key, strlen(key));
}

/*
 * Seeds 32, 33 and 63: of ASCII. The others: of nothing, of 2 and 3 bytes a character, of pairs, of
 * half a pair and of bytes that begin nothing.
 */
static const struct { uint32_t seed; const char *hex; int32_t hash;
} hashes[] = {
	{ 32, "6170706c65", 139054565 },
	{ 32, "6f72616e6765", 626148677 },
	{ 32, "63616262616765", -2007854779 },
	{ 32, "687474703a2f2f6578616d706c652e636f6d2f", -854373937 },
	{ 33, "6170706c65", 158320307 },
	{ 33, "6f72616e6765", 1479333469 },
	{ 33, "63616262616765", -1703902890 },
	{ 63, "6170706c65", -1746036839 },
	{ 63, "6f72616e6765", -1589165361 },
	{ 63, "63616262616765", 325257120 },
	{ 33, "", 1 },
	{ 47, "6e61c3af766520636166c3a9", 1979022855 },
	{ 61, "d0a4d0b8d0bbd18cd182d180", -76731502 },
	{ 33, "f09f988020736d696c65", -1619195656 },
	{ 2097151, "687474703a2f2f6578616d706c652e636f6d2f", -564133917 },
	{ 0, "7a7a", 122 },
	{ 2097151, "f48fbfbfefbfbfee8080", 2134893570 },
	{ 33, "eda080", ((33 + 0xed) * 33 + 0xa0) * 33 + 0x80 },
	{ 33, "c1bf", (33 + 0xc1) * 33 + 0xbf },
	{ 33, "c3", 33 + 0xc3 },
	{ 33, "c341", (33 + 0xc3) * 33 + 0x41 },
	{ 33, "ff80", (33 + 0xff) * 33 + 0x80 },
	{ 1, "f4908080", 1 + 0xf4 + 0x90 + 0x80 + 0x80 },	/* above the last character */
};

START_TEST(a_key_hashes_as_its_utf16_does_there)
{
	for (size_t i = 0; i < ARRAY_LEN(hashes); i++) {
		const uint64_t seeds[] = { 0, hashes[i].seed };
		struct blm_hasher by = { .family = blm_family_by_name("js"),
					 .seeds = seeds,
					 .seed_count = 2 };
		uint8_t bytes[64];
		size_t len = from_hex(hashes[i].hex, bytes, sizeof(bytes));
		struct blm_key key = { bytes, len };
		int64_t h = hashes[i].hash;

		ck_assert_msg(by.family->nth(&by, &key, 1, UINT32_MAX) == (uint64_t)(h + INT32_MAX),
			      "%u of %s", hashes[i].seed, hashes[i].hex);
		/* has the sign of h there, too */
		ck_assert_int_eq((int64_t)by.family->nth(&by, &key, 1, 2 * 101 - 1), h % 101 + 100);
		ck_assert_uint_eq(by.family->nth(&by, &key, 1, 1), 0);
	}
}
END_TEST

START_TEST(a_browsers_filter_answers_the_same_and_is_exported_again)
{
	static const char text[] =
		"{\"size\":64,\"seeds\":[32,33],\"bits\":{\"0\":536870944,\"1\":524320}}";
	struct blm_filter *f = take(text);
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	ck_assert_str_eq(info.hash, "js");
	ck_assert_uint_eq(info.cells, 127);
	ck_assert(has(f, "apple") && has(f, "orange") && !has(f, "cabbage"));
	goes_out_as(f, text);
	blm_close(f);
}
END_TEST

START_TEST(words_of_negative_indices_are_kept_and_found)
{
	struct blm_filter *f = take(" {\"bits\" : {\"0\":8, \"1\":2097152,\"2\":21037056, "
				    "\"-2\":274432,\"-1\":8,\"-3\":-2147483584},\n"
				    "\"seeds\": [ 32, 33,63 ], \"size\":101 }\n"),
			  *mine;
	struct blm_params p = BLM_PARAMS(.format = "js", .cells = 201, .probes = 3,
					 .seeds = (const uint64_t[]){ 32, 33, 63 },
					 .seed_count = 3);
	static const char *const keys[] = { "apple", "orange", "cabbage", "http://example.com/" };
	static const char out[] =
		"{\"size\":101,\"seeds\":[32,33,63],\"bits\":{\"0\":8,\"1\":2097152,\"2\":21037056,"
		"\"-1\":8,\"-2\":274432,\"-3\":-2147483584}}";

	OK(blm_create(&mine, NULL, NULL, &p));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		ck_assert(has(f, keys[i]));
		ck_assert_int_ge(blm_add(mine, keys[i], strlen(keys[i])), 0);
	}
	goes_out_as(f, out);
	goes_out_as(mine, out);
	blm_close(f), blm_close(mine);
}
END_TEST

START_TEST(false_positives_are_the_same_as_in_a_browser)
{
	static const int wrong[] = { 3,	  4,   40,  60,	 61,  62,  63,	64,  65,  66,  70,
				     71,  72,  73,  96,	 97,  98,  99,	130, 131, 132, 133,
				     134, 140, 141, 142, 143, 164, 165, 166, 167, 168, 169 };
	struct blm_filter *f =
		take("{\"size\":50,\"seeds\":[33,47],\"bits\":{\"0\":67043328,\"1\":65472}}");
	size_t at = 0;
	char key[8];

	for (int i = 0; i < 10; i++) {
		snprintf(key, sizeof(key), "a%d", i);
		ck_assert(has(f, key));
	}
	for (int i = 0; i < 200; i++) {
		bool is_wrong = at < ARRAY_LEN(wrong) && wrong[at] == i;

		snprintf(key, sizeof(key), "b%d", i);
		ck_assert_msg(has(f, key) == is_wrong, "%s", key);
		at += is_wrong;
	}
	blm_close(f);
}
END_TEST

START_TEST(a_new_filter_has_the_size_that_the_article_recommends)
{
	static const struct { uint64_t capacity; double rate; unsigned size, probes;
	} best[] = {
		{ 1000, 0.01, 9585, 7 },
		{ 1000000, 0.01, 9585058, 7 },
		{ 100000, 0.001, 1437759, 10 },
		{ 100, 0.1, 479, 3 },
	};
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	char begin[64];
	size_t bytes;
	void *out;

	for (size_t i = 0; i < ARRAY_LEN(best); i++) {
		OK(blm_create(&f, NULL, NULL,
			      &BLM_PARAMS(.format = "js", .capacity = best[i].capacity,
					  .rate = best[i].rate)));
		OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = "js"), &out, &bytes));
		snprintf(begin, sizeof(begin), "{\"size\":%u,\"seeds\":[33,35,37%s", best[i].size,
			 best[i].probes == 3 ? "]" : ",");
		ck_assert_msg(!strncmp(out, begin, strlen(begin)), "%.64s", (char *)out);
		blm_free(out);
		OK(blm_info(f, &info));
		ck_assert_uint_eq(info.probes, best[i].probes);
		ck_assert_uint_eq(info.cells, 2 * best[i].size - 1);
		blm_close(f);
	}
}
END_TEST

static const struct { const char *text; int err; const char *words;
} refused[] = {
	{ "{\"size\":64,\"seeds\":[32,33],\"bits\":[536870944,524320]}", -EBADMSG,
	  "object of bits" },
	{ "{\"size\":64,\"seeds\":[32,33],\"bits\":{\"2\":1}}", -EBADMSG, "has bit 64" },
	{ "{\"size\":64,\"seeds\":[32,33],\"bits\":{\"-2\":1}}", -EBADMSG, "has bit -64" },
	{ "{\"size\":64,\"seeds\":[32,33],\"bits\":{\"0\":4294967296}}", -EBADMSG, "from byte" },
	{ "{\"size\":64,\"seeds\":[32,33],\"bits\":{\"99999999999\":1}}", -EBADMSG, "from byte" },
	{ "{\"size\":64,\"seeds\":[32,33],\"bits\":{\"0\":1.5}}", -EBADMSG, "from byte" },
	{ "{\"size\":0,\"seeds\":[32,33],\"bits\":{}}", -EBADMSG, "from byte" },
	{ "{\"size\":134217729,\"seeds\":[32,33],\"bits\":{}}", -EBADMSG, "from byte" },
	{ "{\"size\":64,\"size\":64,\"bits\":{}}", -EBADMSG, "from byte" },
	{ "{\"seeds\":[32],\"seeds\":[32],\"bits\":{}}", -EBADMSG, "from byte 22" },
	{ "{\"bits\":{},\"bits\":{},\"size\":64}", -EBADMSG, "from byte 18" },
	{ "{\"size\":64,\"seeds\":[],\"bits\":{}}", -EBADMSG, "from byte" },
	{ "{\"size\":64,\"seeds\":[2097152],\"bits\":{}}", -EBADMSG, "from byte" },
	{ "{\"size\":64,\"seeds\":[-1],\"bits\":{}}", -EBADMSG, "from byte" },
	{ "{\"size\":64,\"seeds\":[32],\"bits\":{}} x", -EBADMSG, "more bytes" },
	{ "{\"size\":64,\"seeds\":[32],\"bits\":{\"0\":1", -ENODATA, "truncated" },
	{ "{\"size\":64", -ENODATA, "truncated" },
};

START_TEST(another_files_beginning_is_refused_with_words)
{
	struct blm_filter *f;

	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		FAILS(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "js"),
				       refused[i].text, strlen(refused[i].text)),
		      refused[i].err);
		ck_assert_msg(strstr(blm_error_message(), refused[i].words) != NULL, "%s: %s",
			      refused[i].text, blm_error_message());
	}
	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "classic", .hash = "js", .cells = 128, .probes = 1,
				  .seeds = &(uint64_t){ 33 }, .seed_count = 1)));
	FAILS(blm_export_bytes(f, &BLM_EXCHANGE(.format = "js"), &(void *){ NULL }, &(size_t){ 0 }),
	      -EOPNOTSUPP);
	blm_close(f);
	FAILS(blm_create(&f, NULL, NULL,
			 &BLM_PARAMS(.hash = "js", .cells = 127, .probes = 1,
				     .seeds = &(uint64_t){ 1 << 21 }, .seed_count = 1)),
	      -EINVAL);
}
END_TEST

START_TEST(a_filter_takes_at_most_256_seeds)
{
	char text[8192];
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	size_t at = (size_t)snprintf(text, sizeof(text), "{\"size\":64,\"seeds\":[32"), behind;

	for (int i = 1; i < 256; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, ",%d", 32 + i);
	behind = at;
	snprintf(text + at, sizeof(text) - at, "],\"bits\":{}}");
	f = take(text);
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.probes, 256);
	goes_out_as(f, text);
	blm_close(f);
	snprintf(text + behind, sizeof(text) - behind, ",9],\"bits\":{}}");
	FAILS(blm_import_bytes(&f, NULL, NULL, NULL, text, strlen(text)), -EBADMSG);
	ck_assert_msg(strstr(blm_error_message(), "not an object of size") != NULL, "%s",
		      blm_error_message());
}
END_TEST

static int fail_at(void *context, const void *bytes, size_t count)
{
	return --*(int *)context ? 0 : -EIO;
}

START_TEST(a_failing_receiver_ends_an_export_at_every_step)
{
	struct blm_filter *f;
	int calls = 0, r = -EIO;

	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.format = "js", .capacity = 5000, .rate = 0.01)));
	for (int i = 0; i < 5000; i++) {
		char key[16];

		OK(blm_add(f, key, (size_t)snprintf(key, sizeof(key), "key %d", i)));
	}
	for (int n = 1; r < 0; n++, calls++) {
		int left = n;

		r = blm_export(f, &BLM_EXCHANGE(.format = "js"), fail_at, &left);
		ck_assert_int_eq(r, r < 0 ? -EIO : 0);
	}
	ck_assert_int_gt(calls, 3);
	blm_close(f);
}
END_TEST

START_TEST(a_size_above_2_to_the_27_is_not_exported)
{
	struct blm_params p = BLM_PARAMS(.kind = "classic", .hash = "js",
					 .cells = (UINT64_C(1) << 28) + 1, .probes = 1,
					 .sparse = true, .seeds = &(uint64_t){ 33 },
					 .seed_count = 1);
	const char *path = a_path();
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path, &p));
	FAILS(blm_export_bytes(f, &BLM_EXCHANGE(.format = "js"), &(void *){ NULL }, &(size_t){ 0 }),
	      -EOPNOTSUPP);
	ck_assert_msg(strstr(blm_error_message(),
			     "m is 268435457; the format needs 2 size - 1, with a size up to 2^27")
			      != NULL,
		      "%s", blm_error_message());
	blm_close(f);
	unlink(path);
}
END_TEST

/* A program that reads a file twice may find another one. */
START_TEST(a_file_that_changes_before_its_bits_are_read_fails)
{
	static const char cut[] = "{\"size\":64,\"seeds\":[32],\"bits\":{\"0\":1}",
			  larger[] = "{\"size\":65,\"seeds\":[32],\"bits\":{\"0\":1}}",
			  same[] = "{\"size\":64,\"seeds\":[32],\"bits\":{\"0\":1}}";
	const struct blm_format *js = blm_format_by_name("js");
	uint64_t words[8] = { 0 };
	struct blm_part part = { .shape = { .cells = 127, .bytes = sizeof(words), .probes = 1 },
				 .bytes = (uint8_t *)words };

	FAILS(js->fill(&part, (const uint8_t *)cut, strlen(cut), &BLM_EXCHANGE(), "file"),
	      -ENODATA);
	FAILS(js->fill(&part, (const uint8_t *)larger, strlen(larger), &BLM_EXCHANGE(), "file"),
	      -EBADMSG);
	ck_assert_msg(strstr(blm_error_message(),
			     "file: changed while it was read: its size is now 65") != NULL, "%s",
		      blm_error_message());
	ck_assert_uint_eq(words[0] | words[1], 0);
	OK(js->fill(&part, (const uint8_t *)same, strlen(same), &BLM_EXCHANGE(), "file"));
	ck_assert_uint_eq(words[0], htole64(UINT64_C(1) << 63));
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format js");
	TCase *tc = tcase_create("js");

	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_test(tc, a_key_hashes_as_its_utf16_does_there);
	tcase_add_test(tc, a_browsers_filter_answers_the_same_and_is_exported_again);
	tcase_add_test(tc, words_of_negative_indices_are_kept_and_found);
	tcase_add_test(tc, false_positives_are_the_same_as_in_a_browser);
	tcase_add_test(tc, a_new_filter_has_the_size_that_the_article_recommends);
	tcase_add_test(tc, another_files_beginning_is_refused_with_words);
	tcase_add_test(tc, a_filter_takes_at_most_256_seeds);
	tcase_add_test(tc, a_failing_receiver_ends_an_export_at_every_step);
	tcase_add_test(tc, a_size_above_2_to_the_27_is_not_exported);
	tcase_add_test(tc, a_file_that_changes_before_its_bits_are_read_fails);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
