/*
 * fps.c - fingerprints of chemists: each comes in as a bitmap, goes out as its line, and is as
 * similar to others as RDKit says
 */
#include "format/format.h"
#include "vectors.h"

#include <errno.h>

static const char *const folders[] = { DATA, VECTORS };

static char *read_set(const char *folder, const char *file)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/fps/%s", folder, file);
	return *folder ? file_of(path, NULL) : NULL;
}

static struct blm_filter *take(const char *text, const char *id)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "fps", .record = id);
	struct blm_filter *f;

	OK(blm_import_bytes(&f, NULL, NULL, &how, text, strlen(text)));
	return f;
}

static void refuses(const char *text, const char *id, int error, const char *says)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "fps", .record = id);
	struct blm_filter *f;

	FAILS(blm_import_bytes(&f, NULL, NULL, &how, text, strlen(text)), error);
	ck_assert_msg(strstr(blm_error_message(), says) != NULL, "%s", blm_error_message());
}

static void goes_out_as(const struct blm_filter *f, const char *want)
{
	void *out;
	size_t bytes;

	OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = "fps"), &out, &bytes));
	ck_assert_msg(bytes == strlen(want) && !memcmp(out, want, bytes), "%.*s", (int)bytes,
		      (char *)out);
	blm_free(out);
}

/* All lines of a set, in steps. */
static void prove_set(const char *text, unsigned step)
{
	const char *line = text;
	char *one, id[64];
	unsigned n = 0;
	size_t header;

	while (*line == '#')
		line = strchr(line, '\n') + 1;
	header = (size_t)(line - text);
	for (; *line; line = strchr(line, '\n') + 1, n++) {
		size_t len = strcspn(line, "\n") + 1, digits = strcspn(line, "\t");
		struct blm_filter *f;
		uint64_t keys, ones = 0;
		bool estimated;

		if (n % step)
			continue;
		snprintf(id, sizeof(id), "%.*s", (int)(len - digits - 2), line + digits + 1);
		f = take(text, id);
		for (size_t i = 0; i < digits * 4; i++) {	/* key i is bit i */
			uint8_t byte = 0;
			char key[16];
			bool set;

			from_hex(line + i / 8 * 2, &byte, 1);
			set = byte >> i % 8 & 1;
			ck_assert(blm_contains(f, key, (size_t)snprintf(key, sizeof(key), "%zu", i))
				  == set);
			ones += set;
		}
		OK(blm_count(f, &keys, &estimated));
		ck_assert(keys == ones && !estimated);
		one = malloc(header + len + 1);
		snprintf(one, header + len + 1, "%.*s%.*s", (int)header, text, (int)len, line);
		goes_out_as(f, one);
		blm_close(f);
		f = take(one, NULL);		/* of one there is no need to say which */
		goes_out_as(f, one);
		blm_close(f);
		free(one);
	}
	ck_assert_uint_gt(n, 5);
}

START_TEST(every_fingerprint_is_imported_exactly_and_exported_as_its_line)
{
	static const char *const files[] = { "openbabel-MACCS.fps", "openbabel-FP2.fps",
					     "rdkit-maccs166.fps", "rdkit-morgan2-2048.fps" };

	for (int i = 0; i < 8; i++) {
		char *text = read_set(folders[i / 4], files[i % 4]);

		ck_assert(text || i > 1);
		if (text)
			prove_set(text, i / 4 ? 97 : 1);
		free(text);
	}
}
END_TEST

/* [ID, common bits, bits of both] */
START_TEST(two_fingerprints_have_rdkits_similarity)
{
	char *json = read_set(VECTORS, "tanimoto.json"), file[64], id[64];
	const char *at = json ? strstr(json, "\"files\"") : NULL, *query;
	unsigned pairs = 0, queries = 0;

	for (; at && (at = strstr(at, "\"file\"")); at++) {
		const char *next = strstr(at + 1, "\"file\""), *end = next ? next : at + strlen(at);
		char *text = read_set(VECTORS, text_field(at, end, "file", file, sizeof(file)));

		for (query = at; (query = strstr(query, "\"query_id\"")) && query < end; query++) {
			const char *top = strstr(query, "\"top10\""),
				   *last = strstr(top, "\"count_at_least\"");
			struct blm_filter *f;

			if (queries++ % 4)
				continue;
			f = take(text, text_field(query, end, "query_id", id, sizeof(id)));
			for (top = strchr(top, '[') + 1; (top = strchr(top, '[')) && top < last;
			     top++) {
				unsigned common, both;
				struct blm_comparison c;
				struct blm_filter *g;

				snprintf(id, sizeof(id), "%.*s",
					 (int)strcspn(strchr(top, '"') + 1, "\""),
					 strchr(top, '"') + 1);
				ck_assert_int_eq(sscanf(strchr(top, ',') + 1, " %u , %u", &common,
							&both),
						 2);
				g = take(text, id);
				OK(blm_compare(f, g, &c));
				ck_assert_double_eq_tol(c.tanimoto.value, (double)common / both,
							1e-12);
				blm_close(g);
				pairs++;
			}
			blm_close(f);
		}
		free(text);
	}
	ck_assert(!json || pairs > 100);
	free(json);
}
END_TEST

START_TEST(line_ends_headers_and_extra_fields_stay_as_they_were)
{
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	f = take("#FPS1\r\n#num_bits=9\r\n#type=x\r\nff01\ta b\tmore\tand more\r\n0000\tc\r\n",
		 "a b");
	goes_out_as(f, "#FPS1\r\n#num_bits=9\r\n#type=x\r\nff01\ta b\tmore\tand more\r\n");
	OK(blm_info(f, &info));
	ck_assert_str_eq(info.kind, "bitmap");
	ck_assert_uint_eq(info.cells, 9);
	blm_close(f);
	f = take("A0Ff\tx", NULL);		/* 4 bits a digit by default */
	goes_out_as(f, "a0ff\tx");
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.cells, 16);
	blm_close(f);
}
END_TEST

START_TEST(our_own_bitmap_is_exported_under_its_name)
{
	struct blm_params p = BLM_PARAMS(.kind = "bitmap", .cells = 11);
	const char *path = a_path();
	struct blm_filter *f;
	char want[200];

	OK(blm_create(&f, NULL, path, &p));
	OK(blm_add(f, "0", 1));
	OK(blm_add(f, "10", 2));
	snprintf(want, sizeof(want), "#FPS1\n#num_bits=11\n0104\t%s\n",
		 strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	goes_out_as(f, want);
	blm_close(f);
}
END_TEST

START_TEST(another_file_is_refused_with_words)
{
	struct blm_filter *f;

	refuses("#FPS1\n#num_bits=8\nff\ta\n0f\tb\n", NULL, -EINVAL,
		"has 2 fingerprints: give the id");
	refuses("#FPS1\n#num_bits=8\nff\ta\n0f\tb\n", "c", -ENOENT, "none of its 2");
	refuses("#FPS1\n#num_bits=8\nff\ta\n0f\ta\n", "a", -ENOTUNIQ, "2 of its fingerprints");
	refuses("#FPS1\n#num_bits=9\nff\ta\n", NULL, -EBADMSG, "has 2 digits");
	refuses("#FPS1\n#num_bits=7\nff\ta\n", NULL, -EBADMSG, "bits past its last");
	refuses("#FPS1\n#num_bits=8\nfg\ta\n", NULL, -EBADMSG, "character 2");
	refuses("#FPS1\n#num_bits=0\nff\ta\n", NULL, -EBADMSG, "num_bits is 0");
	refuses("#FPS1\n#num_bits=99999999999999999999\nff\ta\n", NULL, -EBADMSG,
		"no number up to");
	refuses("#FPS1\n#num_bits=x\nff\ta\n", NULL, -EBADMSG, "no number up to");
	refuses("#FPS1\n#num_bits=8\n", NULL, -ENODATA, "has no fingerprint");
	refuses("ff\n", NULL, -EBADMSG, "not digits, a tab and an id");
	refuses("ff\t", NULL, -EBADMSG, "not digits, a tab and an id");
	refuses("ff\ta\n#x\tb\n", NULL, -EBADMSG, "fingerprint 2");
	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.capacity = 100)));
	FAILS(blm_export_bytes(f, &BLM_EXCHANGE(.format = "fps"), &(void *){ NULL },
			       &(size_t){ 0 }),
	      -EOPNOTSUPP);
	blm_close(f);
}
END_TEST

enum { KEPT_MOST = 1776, MOST_BITS = 1 << 20 };	/* format-spec.md; fps.c */

/* One fingerprint of 8 bits, behind this many bytes of header, in lines of 100 at most. */
static char *behind_header(size_t header)
{
	char *text = malloc(header + 6);

	memset(text, 'x', header);
	memcpy(text, "#FPS1\n#num_bits=8\n#", 19);
	for (size_t at = 118; at + 2 < header; at += 100)
		memcpy(text + at, "\n#", 2);
	memcpy(text + header - 1, "\nff\ta\n", 7);
	return text;
}

START_TEST(the_stored_metadata_has_1776_bytes_at_most)
{
	char *text = behind_header(KEPT_MOST - 2);
	struct blm_filter *f = take(text, NULL);

	goes_out_as(f, text);
	blm_close(f);
	free(text);
	text = behind_header(KEPT_MOST - 1);
	refuses(text, NULL, -EFBIG, "more than 1776 bytes before the first fingerprint");
	free(text);
}
END_TEST

static int fail_at(void *context, const void *bytes, size_t count)
{
	return --*(int *)context ? 0 : -EIO;
}

START_TEST(a_failing_receiver_ends_an_export_at_every_step)
{
	static const char text[] = "#FPS1\n#num_bits=8\nff\ta\n";
	const struct blm_exchange how = BLM_EXCHANGE(.format = "fps");
	struct blm_filter *f[] = { take(text, NULL), NULL };

	OK(blm_create(&f[1], NULL, NULL, &BLM_PARAMS(.kind = "bitmap", .cells = 4000)));
	for (size_t i = 0; i < ARRAY_LEN(f); i++) {
		int calls = 0, r = -EIO;

		for (int n = 1; r < 0; n++, calls++) {
			int left = n;

			r = blm_export(f[i], &how, fail_at, &left);
			ck_assert_int_eq(r, r < 0 ? -EIO : 0);
		}
		ck_assert_int_gt(calls, 1);
		blm_close(f[i]);
	}
}
END_TEST

START_TEST(a_fingerprint_has_2_to_the_20_bits_at_most)
{
	struct blm_filter *f;
	char *text = malloc(MOST_BITS / 4 + 8);
	struct blm_info info = BLM_INFO;

	memset(text, '0', MOST_BITS / 4 + 8);
	strcpy(text + MOST_BITS / 4, "\ta\n");
	f = take(text, NULL);
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.cells, MOST_BITS);
	blm_close(f);
	strcpy(text + MOST_BITS / 4, "00\ta\n");
	refuses(text, NULL, -EFBIG, "more than 1048576 bits");
	free(text);
	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.kind = "bitmap", .cells = MOST_BITS + 1)));
	FAILS(blm_export_bytes(f, &BLM_EXCHANGE(.format = "fps"), &(void *){ NULL },
			       &(size_t){ 0 }),
	      -EOPNOTSUPP);
	ck_assert_msg(strstr(blm_error_message(),
			     "m is 1048577; a fingerprint is one of up to 1048576 bits")
			      != NULL,
		      "%s", blm_error_message());
	blm_close(f);
}
END_TEST

/* A program that reads a file twice may find another one. */
START_TEST(a_file_that_changes_before_its_bits_are_read_fails)
{
	static const char other[] = "#FPS1\n#num_bits=8\nff\ta\n0f\tb\n";
	const struct blm_format *fps = blm_format_by_name("fps");
	uint64_t words[8] = { 0 };
	struct blm_part part = { .shape = { .cells = 8, .bytes = sizeof(words) },
				 .bytes = (uint8_t *)words };

	FAILS(fps->fill(&part, (const uint8_t *)other, strlen(other), &BLM_EXCHANGE(.record = "c"),
			"file"),
	      -ENOENT);
	ck_assert_uint_eq(words[0], 0);
	OK(fps->fill(&part, (const uint8_t *)other, strlen(other), &BLM_EXCHANGE(.record = "b"),
		     "file"));
	ck_assert_uint_eq(words[0], htole64(0x0f));
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format fps");
	TCase *tc = tcase_create("fps");

	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_test(tc, every_fingerprint_is_imported_exactly_and_exported_as_its_line);
	tcase_add_test(tc, two_fingerprints_have_rdkits_similarity);
	tcase_add_test(
		tc, line_ends_headers_and_extra_fields_stay_as_they_were);
	tcase_add_test(tc, our_own_bitmap_is_exported_under_its_name);
	tcase_add_test(tc, another_file_is_refused_with_words);
	tcase_add_test(tc, the_stored_metadata_has_1776_bytes_at_most);
	tcase_add_test(tc, a_failing_receiver_ends_an_export_at_every_step);
	tcase_add_test(tc, a_fingerprint_has_2_to_the_20_bits_at_most);
	tcase_add_test(tc, a_file_that_changes_before_its_bits_are_read_fails);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
