/*
 * headers.c - what is no file of another program, what another program has no file for, and filters
 * that are planned for one
 */
#include "format/format.h"
#include "vectors.h"

enum { FILE_MOST = 1 << 20 };

static struct blm_exchange of_format(const char *format)
{
	bool says = strcmp(format, "libbloom1") && strcmp(format, "redis-bitmap");

	return BLM_EXCHANGE(.format = format, .cells = says ? 0 : 4096, .probes = says ? 0 : 3,
				      .hash = strcmp(format, "pybloom-live") ? NULL : "xxh3");
}

/* A small file of the format, with 20 keys. */
static size_t small_file(const char *format, uint8_t *ret)
{
	bool squid = !strcmp(format, "squid-digest"), ethereum = !strcmp(format, "ethereum");
	struct blm_params p = BLM_PARAMS(.format = format, .capacity = 512,
					 .cells = ethereum ? 2048 : 4096, .probes = squid ? 4 : 3);
	struct blm_filter *f;
	size_t bytes;
	void *out;

	if (!strcmp(format, "pybloom-live"))
		p.cells = 4098;
	OK(blm_create(&f, NULL, NULL, &p));
	add_numbers(f, 0, 20);
	OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = format), &out, &bytes));
	ck_assert_uint_le(bytes, FILE_MOST);
	memcpy(ret, out, bytes);
	blm_free(out);
	blm_close(f);
	return bytes;
}

/* ---- Coming in ---- */

/* Where it is changed, from the end if it is negative, and to what; 0: it is taken nevertheless. */
static const struct {
	const char *format;
	int at;
	const char *hex;
	int err;
	const char *words;
} changed[] = {
	{ "bip37", 0, "fdfc00", -EBADMSG, "shortest" },
	{ "bip37", 0, "fe3b000000", -EBADMSG, "shortest" },
	{ "bip37", 0, "ff3b00000000000000", -EBADMSG, "shortest" },
	{ "bip37", 0, "00", -EBADMSG, "has no bits" },
	{ "bip37", 0, "fda18c", -EBADMSG, "more than 36000" },
	{ "bip37", 0, "fe00000100", -EBADMSG, "more than 36000" },
	{ "bip37", 0, "ff0000000001000000", -EBADMSG, "more than 36000" },
	{ "bip37", 0, "fda08c", -ENODATA, "truncated" },
	{ "bip37", -9, "00000000", -EBADMSG, "has no hash functions" },
	{ "bip37", -9, "33000000", -EOPNOTSUPP, "k is 51" },
	{ "neo", 0, "00", -EBADMSG, "has no bits" },
	{ "neo", -5, "00", -EBADMSG, "has no hash functions" },
	{ "neo", -5, "33", -EOPNOTSUPP, "k is 51" },
	{ "dcso", 0, "02", -EPROTONOSUPPORT, "version 2" },
	{ "dcso", 24, "0000000000000000", -EBADMSG, "0 hash functions" },
	{ "dcso", 24, "0101000000000000", -EBADMSG, "257 hash functions" },
	{ "dcso", 32, "0000000000000000", -EBADMSG, "0 bits" },
	{ "dcso", 32, "0100000000800000", -EBADMSG, "bits by its header" },
	{ "dcso", 8, "0000000000000000", 0, NULL },
	{ "dcso", 8, "ffffffffffffffff", 0, NULL },
	{ "dcso", 16, "0000000000000840", 0, NULL },
	{ "dcso", 40, "ffffffffffffffff", 0, NULL },
	{ "guava", 0, "02", -EPROTONOSUPPORT, "strategy is 2" },
	{ "guava", 1, "00", -EBADMSG, "0 hash functions" },
	{ "guava", 2, "ff", -EBADMSG, "words" },
	{ "guava", 2, "7fffffff", -ENODATA, "truncated" },
	{ "libbloom2", 0, "4c", -EBADMSG, "libbloom2" },
	{ "libbloom2", 9, "4100", -EPROTONOSUPPORT, "65 bytes" },
	{ "libbloom2", 52, "01", -EPROTONOSUPPORT, "version 1" },
	{ "libbloom2", 27, "0102", -EBADMSG, "513 bytes for 4096 bits" },
	{ "pybloom-live", 8, "0000000000000000", -EBADMSG, "0 slices" },
	{ "pybloom-live", 8, "0101000000000000", -EBADMSG, "257 slices" },
	{ "pybloom-live", 16, "0000000000000000", -EBADMSG, "slices of 0 bits" },
	{ "pybloom-live", 16, "ffffffffffff0000", -EBADMSG, "slices" },
	{ "pybloom-live", 16, "0000008000000000", -ENODATA, "truncated" },
	{ "pybloom-live", 0, "0000000000000840", 0, NULL },
	{ "pybloom-live", 32, "ffffffffffffffff", 0, NULL },
	{ "bits-and-blooms", 16, "0000000000000001", -EBADMSG, "its set has 1 bits" },
	{ "bits-and-blooms", 8, "0000000000000000", -EBADMSG, "0 hash functions" },
	{ "bits-and-blooms", 8, "0000000000000101", -EBADMSG, "257 hash functions" },
	{ "rust-bloomfilter", 0, "02", -EPROTONOSUPPORT, "version 2" },
	{ "rust-bloomfilter", 1, "0000000000000000", -EBADMSG, "0 bits" },
	{ "rust-bloomfilter", 1, "ffffffffffffffff", -EBADMSG, "2^44" },
	{ "rust-bloomfilter", 9, "00000000", -EBADMSG, "0 hash functions" },
	{ "leveldb", -1, "1f", -EPROTONOSUPPORT, "31" },
	{ "leveldb", -1, "00", -EBADMSG, "0 hash functions" },
	{ "squid-digest", 2, "0006", -EPROTONOSUPPORT, "version 6" },
	{ "squid-digest", 21, "05", -EBADMSG, "5 hash functions" },
	{ "squid-digest", 16, "00000201", -EBADMSG, "513 bytes of bits" },
	{ "squid-digest", 4, "ffffffff0000000000000000ffffffff08", -EBADMSG, "4294967295 bytes" },
	{ "squid-digest", 4, "200000010000000000000000", -EBADMSG, "bytes of bits" },
	{ "squid-digest", 4,
	  "20000001000000000000000020000001"
	  "08",
	  -EBADMSG, "has too few bits for m" },
	{ "squid-digest", 4, "00000000000000000000000000000000", -EBADMSG, "0 bits" },
	{ "squid-digest", 8, "80000000", -EBADMSG, "2147483648 keys" },
	{ "squid-digest", 8, "7fffffff", 0, NULL },
};

START_TEST(an_impossible_header_is_refused_with_an_explanation)
{
	static uint8_t file[FILE_MOST];
	size_t bytes = small_file(changed[_i].format, file),
	       at = changed[_i].at < 0 ? bytes - (size_t)-changed[_i].at : (size_t)changed[_i].at;
	struct blm_exchange how = of_format(changed[_i].format);
	struct blm_filter *f = NULL;
	int r;

	OK(blm_import_bytes(&f, NULL, NULL, &how, file, bytes));
	ck_assert_uint_eq(numbers_found(f, 0, 20), 20);
	blm_close(f);
	from_hex(changed[_i].hex, file + at, bytes - at);
	r = blm_import_bytes(&f, NULL, NULL, &how, file, bytes);
	ck_assert_msg(r == changed[_i].err
			      && (r == 0 || strstr(blm_error_message(), changed[_i].words)),
		      "%s %d %s: %d, %s", how.format, changed[_i].at, changed[_i].hex, r,
		      blm_error_message());
	if (r == 0) {		/* and goes out again */
		void *out;

		ck_assert_uint_eq(numbers_found(f, 0, 20), 20);
		OK(blm_export_bytes(f, NULL, &out, &bytes));
		blm_free(out);
		blm_close(f);
	}
}
END_TEST

START_TEST(parameters_that_the_file_lacks_are_asked_for)
{
	static uint8_t file[FILE_MOST];
	struct blm_filter *f;

	FAILS(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "libbloom1"), file, 512),
	      -EINVAL);
	FAILS(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "libbloom1", .cells = 4096),
			       file, 512),
	      -EINVAL);
	FAILS(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "redis-bitmap", .cells = 4),
			       file, 1),
	      -EINVAL);
	FAILS(blm_import_bytes(&f, NULL, NULL,
			       &BLM_EXCHANGE(.format = "redis-bitmap", .cells = 4095), file, 512),
	      -EINVAL);
	FAILS(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "bip37"), file, 0),
	      -ENODATA);
	FAILS(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "bip37"), "\xfd\1", 2),
	      -ENODATA);
	FAILS(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "squid-digest"), file, 127),
	      -ENODATA);
	FAILS(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "leveldb"), file, 1),
	      -ENODATA);
	FAILS(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "leveldb"), file, FILE_MOST),
	      -EFBIG);
}
END_TEST

/* pybloom_live does not say whether MD5 or XXH3 made it. */
START_TEST(known_keys_find_a_files_unnamed_hash)
{
	static uint8_t file[FILE_MOST];
	size_t bytes = small_file("pybloom-live", file);
	uint32_t in[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, strangers[] = { 77, 78, 79, 80 };
	struct blm_key known[10], unknown[4];
	struct blm_exchange how = BLM_EXCHANGE(.format = "pybloom-live");
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	for (size_t i = 0; i < 10; i++)
		known[i] = (struct blm_key){ &in[i], 4 };
	for (size_t i = 0; i < 4; i++)
		unknown[i] = (struct blm_key){ &strangers[i], 4 };
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes), -ENOTUNIQ);
	how.known = known;
	how.known_count = 10;
	OK(blm_import_bytes(&f, NULL, NULL, &how, file, bytes));
	OK(blm_info(f, &info));
	ck_assert_str_eq(info.hash, "xxh3");
	blm_close(f);
	how.known = unknown;
	how.known_count = 4;
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes), -ENOTUNIQ);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "not found with any"));
	memset(file + 40, 0xff, bytes - 40);	/* in a full one are all keys */
	how.known_count = 1;
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes), -ENOTUNIQ);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "known keys"));
	how.hash = "nonsense";
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes), -EINVAL);
	how.hash = "murmur2";
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes), -EINVAL);
}
END_TEST

START_TEST(a_file_too_large_or_shorter_than_declared_is_refused)
{
	static const char *const formats[] = { "bip37", "dcso", "guava", "leveldb",
					       "squid-digest" };
	static const char *const no_gzip[] = {
		"\x1f\x8b\x07 is no gzip, and no filter either, as long as it may be",
		"\x1f\x8a\x08 is no gzip, and no filter either, as long as it may be",
	};
	static uint8_t file[FILE_MOST];
	const char *path = a_path();
	struct blm_filter *f;

	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		size_t bytes = small_file(formats[i], file);
		FILE *out = fopen(path, "we");

		FAILS(blm_import_bytes(&f, NULL, NULL,
				       &BLM_EXCHANGE(.format = formats[i], .max_bytes = 100), file,
				       bytes),
		      -EFBIG);
		ck_assert_uint_eq(fwrite(file, 1, bytes - 10, out), bytes - 10);
		fclose(out);
		if (strcmp(formats[i], "leveldb"))
			FAILS(blm_open_foreign(&f, path, &BLM_EXCHANGE(.format = formats[i])),
			      -ENODATA);
	}
	FAILS(blm_import_bytes(&f, NULL, NULL,
			       &BLM_EXCHANGE(.format = "bip158", .max_bytes = 100,
					     .seeds = (uint64_t[]){ 1, 2 }, .seed_count = 2),
			       file, 200),
	      -EFBIG);
	for (size_t i = 0; i < ARRAY_LEN(no_gzip); i++)
		FAILS(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "dcso"), no_gzip[i],
				       strlen(no_gzip[i])),
		      -EPROTONOSUPPORT);
}
END_TEST

/*
 * Of 128 bits: 24 bytes, which are 32 characters without padding; one that is padded has as many,
 * and one byte fewer.
 */
#define B128 "AAAAAAAAAIAAAAAAAAAAAQAAAAAAAAAC"
static const struct { const char *text; int err; const char *words;
} json[] = {
	{ "{\"m\":128,\"k\":3,\"b\":\"" B128 "\"}", 0, NULL },
	{ "{\"m\":128,\"k\":3,\"b\":\"AAAAAAAAAIAAAAAAAAAAAQAAAAAAAAA=\"}", -EBADMSG,
	  "b is not base64" },
	{ "{\"m\":128,\"k\":3,\"b\":\"AAAAAAAAAIAAAAAAAAAAAQAAAAAAAAA+\"}", -EBADMSG,
	  "b is not base64" },
	{ "{\"m\":127,\"k\":3,\"b\":\"" B128 "\"}", -EBADMSG,
	  "m is 127, but its set has 128 bits" },
	{ "{\"m\":129,\"k\":3,\"b\":\"" B128 "\"}", -EBADMSG,
	  "b has 32 characters; 129 bits need 44" },
	{ "{\"m\":0,\"k\":3,\"b\":\"" B128 "\"}", -EBADMSG, "0 bits" },
	{ "{\"m\":128,\"k\":0,\"b\":\"" B128 "\"}", -EBADMSG, "0 hash functions" },
	{ "{\"m\":128,\"k\":257,\"b\":\"" B128 "\"}", -EBADMSG, "257 hash functions" },
	{ "{\"m\":00000000000000000128,\"k\":3,\"b\":\"" B128 "\"}", -EBADMSG,
	  "not an object of m, k and b, from byte 24" },
	{ "{\"b\":\"" B128 "\",\"b\":\"" B128 "\",\"k\":3}", -EBADMSG,
	  "not an object of m, k and b" },
	{ "{\"m\":128,\"m\":128,\"k\":3}", -EBADMSG, "not an object of m, k and b" },
};

START_TEST(impossible_json_of_bits_and_blooms_is_refused)
{
	const struct blm_exchange how = BLM_EXCHANGE(.format = "bits-and-blooms-json");
	struct blm_filter *f = NULL;
	int r = blm_import_bytes(&f, NULL, NULL, &how, json[_i].text, strlen(json[_i].text));

	ck_assert_msg(r == json[_i].err && (r == 0 || strstr(blm_error_message(), json[_i].words)),
		      "%s: %d, %s", json[_i].text, r, blm_error_message());
	if (r == 0) {
		void *out;
		size_t bytes;

		OK(blm_export_bytes(f, &how, &out, &bytes));
		ck_assert(bytes == strlen(json[_i].text) && !memcmp(out, json[_i].text, bytes));
		blm_free(out);
		blm_close(f);
	}
}
END_TEST

/* A program that reads a file twice may find another one. */
START_TEST(json_that_changes_before_its_bits_are_read_is_refused)
{
	const struct blm_format *format = blm_format_by_name("bits-and-blooms-json");
	uint64_t words[8] = { 0 };
	struct blm_part part = { .shape = { .cells = 128, .bytes = sizeof(words), .probes = 3 },
				 .bytes = (uint8_t *)words };

	FAILS(format->fill(&part, (const uint8_t *)json[0].text, strlen(json[0].text) - 1,
			   &BLM_EXCHANGE(), "file"),
	      -ENODATA);
	ck_assert_msg(strstr(blm_error_message(), "file: not an object of m, k and b") != NULL,
		      "%s", blm_error_message());
	ck_assert_uint_eq(words[0] | words[1], 0);
	OK(format->fill(&part, (const uint8_t *)json[0].text, strlen(json[0].text), &BLM_EXCHANGE(),
			"file"));
	ck_assert(words[0] == htobe64(1) && words[1] == htobe64(2));
}
END_TEST

/* DCSO's files have no magic: their capacity and rate must explain m. */
START_TEST(a_file_of_dcso_is_known_by_its_numbers)
{
	static const char *const others[] = { "0000000000000000", "000000000000f03f",
					      "000000000000f8bf", "000000000000f87f",
					      "9a9999999999b93f" };
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	size_t bytes;
	void *out;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.format = "dcso", .capacity = 1000, .rate = 0.01)));
	OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = "dcso"), &out, &bytes));
	blm_close(f);
	OK(blm_import_bytes(&f, NULL, NULL, NULL, out, bytes));
	OK(blm_info(f, &info));
	ck_assert_str_eq(info.origin, "dcso");
	blm_close(f);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		from_hex(others[i], (uint8_t *)out + 16, 8);
		FAILS(blm_import_bytes(&f, NULL, NULL, NULL, out, bytes), -EBADMSG);
	}
	blm_free(out);
}
END_TEST

START_TEST(a_gzipped_dcso_file_is_recognised_and_a_damaged_refused)
{
	size_t bytes;
	char *file = file_of(DATA "/dcso/p3.bloom.gz", &bytes);
	const char *path = a_path();
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	OK(blm_open_foreign(&f, DATA "/dcso/p3.bloom.gz", NULL));
	OK(blm_info(f, &info));
	ck_assert_str_eq(info.format, "dcso");
	blm_close(f);
	for (size_t cut = 0; cut < bytes; cut += cut < 100 ? 1 : bytes / 50 + 1) {
		FILE *to = fopen(path, "we");

		ck_assert_uint_eq(fwrite(file, 1, cut, to), cut);
		fclose(to);
		ck_assert_int_lt(blm_open_foreign(&f, path, NULL), 0);
	}
	/* zeros that fill a tape's block; something else */
	for (int behind = 0; behind < 2; behind++) {
		FILE *to = fopen(path, "we");

		ck_assert_uint_eq(fwrite(file, 1, bytes, to)
					  + fwrite(behind ? "junk" : "\0\0\0", 1, 3, to),
				  bytes + 3);
		fclose(to);
		if (behind) {
			FAILS(blm_open_foreign(&f, path, NULL), -EBADMSG);
			ck_assert_msg(strstr(blm_error_message(),
					     "something else follows the gzip data")
					      != NULL,
				      "%s", blm_error_message());
			FAILS(blm_import_file(&f, NULL, NULL, NULL, path), -EBADMSG);
		} else {
			OK(blm_open_foreign(&f, path, NULL));
			blm_close(f);
		}
	}
	unlink(path);
	free(file);
}
END_TEST

/*
 * Packed data is not recognised by its name: for formats in gzip it begins like none.
 */
START_TEST(other_things_in_gzip_are_no_filter)
{
	static const uint8_t packed[] = {
		/* "not a filter" */
		0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb,
		0xcb, 0x2f, 0x51, 0x48, 0x54, 0x48, 0xcb, 0xcc, 0x29, 0x49, 0x2d,
		0x02, 0x00, 0xc1, 0xdb, 0x33, 0x19, 0x0c, 0x00, 0x00, 0x00,
	};
	const char *path = a_path();
	struct blm_filter *f;
	FILE *to = fopen(path, "we");

	ck_assert_uint_eq(fwrite(packed, 1, sizeof(packed), to), sizeof(packed));
	fclose(to);
	FAILS(blm_open_foreign(&f, path, NULL), -EBADMSG);
	unlink(path);
}
END_TEST

#define DIGITS_16 "AAAABBBBCCCCDDDD"

/* base64(1) breaks lines after 76 characters. */
START_TEST(text_looks_like_base64_only_if_its_lines_do)
{
	static const struct { const char *text; bool base64;
	} texts[] = {
		{ DIGITS_16, true },
		{ "A" DIGITS_16, true },
		{ DIGITS_16 "\n", true },
		{ DIGITS_16 "\r\n", true },
		{ "A" DIGITS_16 "\n", false },
		{ DIGITS_16 "\n" DIGITS_16 "\n", false },
		{ DIGITS_16 DIGITS_16 DIGITS_16 "AAAABBBBCCCC\n" DIGITS_16 "\n", true },
		{ "AAAA\n", false },
	};
	struct blm_filter *f;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		FAILS(blm_import_bytes(&f, NULL, NULL, NULL, texts[i].text, strlen(texts[i].text)),
		      -EBADMSG);
		ck_assert_msg(!strstr(blm_error_message(), "base64") == !texts[i].base64, "%zu: %s",
			      i, blm_error_message());
	}
}
END_TEST

/* Of dcso, whose users may put something there. */
START_TEST(user_data_after_the_bits_is_kept)
{
	enum { MOST = 1776 };		/* with its header: format-spec.md */
	static uint8_t file[FILE_MOST];
	const struct blm_exchange how = BLM_EXCHANGE(.format = "dcso");
	size_t bytes = small_file("dcso", file),
	       rest = MOST - blm_format_by_name("dcso")->head_bytes, out_bytes;
	struct blm_filter *f;
	void *out;

	memset(file + bytes, 'x', rest + 1);
	OK(blm_import_bytes(&f, NULL, NULL, &how, file, bytes + rest));
	OK(blm_export_bytes(f, &how, &out, &out_bytes));
	ck_assert(out_bytes == bytes + rest && !memcmp(out, file, out_bytes));
	blm_free(out);
	blm_close(f);
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes + rest + 1), -EFBIG);
	ck_assert_msg(strstr(blm_error_message(),
			     "of other data behind its bits; take them off first")
			      != NULL,
		      "%s", blm_error_message());
}
END_TEST

/* Whoever wrote that into the filter, the file that goes out is as long as it is. */
START_TEST(a_beginning_shorter_than_the_formats_is_made_anew)
{
	static uint8_t file[FILE_MOST];
	const struct blm_exchange how = BLM_EXCHANGE(.format = "dcso");
	size_t bytes = small_file("dcso", file), out_bytes;
	const char *path = a_path();
	struct blm_constant c;
	struct blm_filter *f;
	void *out;
	FILE *to;

	OK(blm_import_bytes(&f, NULL, path, &how, file, bytes));
	blm_close(f);
	to = fopen(path, "r+e");
	ck_assert_uint_eq(fread(&c, 1, sizeof(c), to), sizeof(c));
	c.origin_bytes = htole32(1);
	c.check = blm_check_constant(&c);
	rewind(to);
	ck_assert_uint_eq(fwrite(&c, 1, sizeof(c), to), sizeof(c));
	fclose(to);
	OK(blm_open(&f, NULL, path, 0));
	OK(blm_export_bytes(f, &how, &out, &out_bytes));
	ck_assert_uint_eq(out_bytes, bytes);
	blm_free(out);
	blm_close(f);
	unlink(path);
}
END_TEST

START_TEST(a_reader_of_memory_stops_at_the_files_end)
{
	const struct blm_bytes_at file = blm_bytes_of_memory("abc", 3);
	char buffer[8] = "";

	ck_assert_int_eq(file.read(&file, buffer, 4, 1), 2);
	ck_assert_str_eq(buffer, "bc");
	ck_assert_int_eq(file.read(&file, buffer, 4, 3), 0);
	ck_assert_int_eq(file.read(&file, buffer, 4, UINT64_MAX), 0);
	ck_assert_str_eq(buffer, "bc");
}
END_TEST

START_TEST(a_file_with_its_own_count_is_exported_while_open)
{
	static const char *const formats[] = { "dcso", "pybloom-live", "squid-digest" };
	static uint8_t file[FILE_MOST];

	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		struct blm_exchange how = of_format(formats[i]);
		size_t bytes = small_file(formats[i], file), out_bytes;
		const char *path = a_path();
		struct blm_filter *f;
		void *out;
		FILE *to = fopen(path, "we");

		ck_assert_uint_eq(fwrite(file, 1, bytes, to), bytes);
		fclose(to);
		FAILS(blm_open_foreign(&f, path,
				       &BLM_EXCHANGE(.format = formats[i], .column = "id")),
		      -EINVAL);
		FAILS(blm_open_foreign(&f, path,
				       &BLM_EXCHANGE(.format = formats[i], .row_group = 1)),
		      -EINVAL);
		OK(blm_open_foreign(&f, path, &how));
		OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = formats[i]), &out, &out_bytes));
		ck_assert_msg(out_bytes == bytes && !memcmp(out, file, bytes), "%s", formats[i]);
		blm_free(out);
		blm_close(f);
		unlink(path);
	}
}
END_TEST

/* ---- Going out ---- */

/* Filters that are like those of a format, and yet none of its. */
static const struct { const char *format, *words; struct blm_params like;
} no_file[] = {
	{ "bip37", "multiple of 8", BLM_PARAMS(.format = "bip37", .cells = 100, .probes = 3) },
	{ "bip37", "up to 288000", BLM_PARAMS(.format = "bip37", .cells = 288008, .probes = 3) },
	{ "bip37", "1 to 50", BLM_PARAMS(.format = "bip37", .cells = 800, .probes = 51) },
	{ "neo", "multiple of 8", BLM_PARAMS(.format = "neo", .cells = 100, .probes = 3) },
	{ "guava", "whole words", BLM_PARAMS(.format = "guava", .cells = 100, .probes = 3) },
	{ "guava", "k up to 255", BLM_PARAMS(.format = "guava", .cells = 6400, .probes = 256) },
	{ "guava", "2^31 - 1",
	  BLM_PARAMS(.format = "guava", .cells = UINT64_C(1) << 37, .probes = 3, .sparse = true) },
	{ "guava", "scheme",
	  BLM_PARAMS(.hash = "murmur3-x64-128", .kind = "classic", .cells = 6400, .probes = 3) },
	{ "libbloom1", "scheme is double-64",
	  BLM_PARAMS(.hash = "murmur2", .scheme = "double-64", .cells = 6400, .probes = 3) },
	{ "libbloom2", "255", BLM_PARAMS(.format = "libbloom2", .cells = 6400, .probes = 256) },
	{ "libbloom2", "2^32 - 1",
	  BLM_PARAMS(.format = "libbloom2", .cells = 6400, .probes = 3,
		     .capacity = UINT64_C(1) << 32) },
	{ "leveldb", "whole bytes", BLM_PARAMS(.format = "leveldb", .cells = 100, .probes = 3) },
	{ "leveldb", "up to 30", BLM_PARAMS(.format = "leveldb", .cells = 800, .probes = 31) },
	{ "leveldb", "at most", BLM_PARAMS(.format = "leveldb", .cells = 8 << 20, .probes = 3) },
	{ "redis-bitmap", "power of 2",
	  BLM_PARAMS(.format = "redis-bitmap", .cells = 100, .probes = 3) },
	{ "redis-bitmap", "power of 2",
	  BLM_PARAMS(.format = "redis-bitmap", .cells = 4, .probes = 3) },
	{ "redis-bitmap", "up to 2^32",
	  BLM_PARAMS(.format = "redis-bitmap", .cells = UINT64_C(1) << 33, .probes = 3,
		     .sparse = true) },
	{ "rust-bloomfilter", "multiple of 8",
	  BLM_PARAMS(.format = "rust-bloomfilter", .cells = 100, .probes = 3) },
	{ "squid-digest", "whole bits",
	  BLM_PARAMS(.format = "squid-digest", .cells = 100, .probes = 4, .capacity = 10) },
	{ "squid-digest", "whole bits",
	  BLM_PARAMS(.format = "squid-digest", .cells = 800, .probes = 3, .capacity = 100) },
	{ "squid-digest", "whole bits",
	  BLM_PARAMS(.format = "squid-digest", .cells = 808, .probes = 4, .capacity = 100) },
	{ "squid-digest", "whole bits",
	  BLM_PARAMS(.format = "squid-digest", .cells = 80, .probes = 4, .capacity = 100) },
	{ "squid-digest", "whole bits",
	  BLM_PARAMS(.format = "squid-digest", .cells = 2048, .probes = 4, .capacity = 8) },
	{ "squid-digest", "whole bits",
	  BLM_PARAMS(.format = "squid-digest", .cells = UINT64_C(1) << 32, .probes = 4,
		     .capacity = UINT64_C(1) << 32, .sparse = true) },
	{ "ethereum", "2048", BLM_PARAMS(.format = "ethereum", .cells = 4096, .probes = 3) },
	{ "ethereum", "2048", BLM_PARAMS(.format = "ethereum", .cells = 2048, .probes = 2) },
	{ "pybloom-live", "sha1-digest",
	  BLM_PARAMS(.hash = "sha512-digest", .scheme = "pybloom", .cells = 1000, .probes = 10) },
	{ "pybloom-live", "md5-digest",
	  BLM_PARAMS(.hash = "sha512-digest", .scheme = "pybloom", .cells = 1000, .probes = 4) },
	{ "bip37", "murmur3-bip37", BLM_PARAMS(.kind = "classic", .cells = 800, .probes = 3) },
	{ "guava", "has a seed",
	  BLM_PARAMS(.hash = "murmur3-x64-128", .scheme = "guava-64", .cells = 6400, .probes = 3,
		     .seeds = &(uint64_t){ 5 }, .seed_count = 1) },
	{ "guava", "order of bits",
	  BLM_PARAMS(.hash = "murmur3-x64-128", .scheme = "guava-64", .cells = 6400, .probes = 3,
		     .seeds = &(uint64_t){ 0 }, .seed_count = 1) },
	{ "guava", "only classic",
	  BLM_PARAMS(.kind = "blocked", .hash = "murmur3-x64-128", .capacity = 100) },
	{ "bip158", "only golomb",
	  BLM_PARAMS(.kind = "classic", .hash = "siphash64", .cells = 6400, .probes = 3) },
};

START_TEST(a_filter_impossible_for_another_program_is_not_exported)
{
	struct blm_filter *f;
	size_t bytes;
	void *out;

	OK(blm_create(&f, NULL, NULL, &no_file[_i].like));
	FAILS(blm_export_bytes(f, &BLM_EXCHANGE(.format = no_file[_i].format), &out, &bytes),
	      -EOPNOTSUPP);
	ck_assert_msg(strstr(blm_error_message(), no_file[_i].words) != NULL, "%s, not \"%s\"",
		      blm_error_message(), no_file[_i].words);
	blm_close(f);
}
END_TEST

/* ---- Planned for a format ---- */

static const struct blm_params said[] = {
	BLM_PARAMS(.capacity = 100),
	BLM_PARAMS(.capacity = 100, .rate = 1e-6),
	BLM_PARAMS(.capacity = 100, .probes = 3),
	BLM_PARAMS(.capacity = 512, .cells = 4096),
	BLM_PARAMS(.capacity = 256, .cells = 2048),
	BLM_PARAMS(.capacity = 512, .cells = 4096, .probes = 4),
	BLM_PARAMS(.cells = 4096, .probes = 3),
	BLM_PARAMS(.cells = 2048, .probes = 3),
	BLM_PARAMS(.cells = 4096),
	BLM_PARAMS(.capacity = 1, .rate = 0.9),
	BLM_PARAMS(.capacity = 1000000, .rate = 0.5),
	BLM_PARAMS(.capacity = 3000, .rate = 1e-30),
};

/* Where it is too large for this test to hold it goes nowhere. */
static unsigned goes_out_and_comes_back(const struct blm_filter *f, const struct blm_format *format)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = format->name);
	struct blm_filter *back;
	struct blm_info info = BLM_INFO;
	size_t bytes;
	void *out;
	int r;

	OK(blm_info(f, &info));
	if (info.data_bytes > 32 << 20)
		return 0;
	r = blm_export_bytes(f, &how, &out, &bytes);
	if (r < 0) {
		ck_assert_int_eq(r, -EOPNOTSUPP);
		return 0;
	}
	how.cells = info.cells;
	how.probes = info.probes;
	how.hash = info.hash;
	OK(blm_import_bytes(&back, NULL, NULL, &how, out, bytes));
	ck_assert_msg(blm_same_template(f, back) == 0, "%s: %s", format->name, blm_error_message());
	ck_assert_uint_eq(numbers_found(back, 0, 50), numbers_found(f, 0, 50));
	blm_close(back);
	blm_free(out);
	return 1;
}

START_TEST(a_filter_sized_for_a_format_is_exported_and_imported)
{
	for (size_t i = 0; blm_format_at(i); i++) {
		const struct blm_format *format = blm_format_at(i);
		unsigned made = 0;

		/* not made empty */
		if (format->kinds && blm_kind_by_name(format->kinds[0])->build)
			continue;
		for (size_t s = 0; format->plan && s < ARRAY_LEN(said); s++) {
			struct blm_params p = said[s];
			struct blm_filter *f;
			struct blm_info info = BLM_INFO;
			int r;

			p.format = format->name;
			p.sparse = true;
			r = blm_create(&f, NULL, NULL, &p);
			if (r < 0) {
				ck_assert_msg(r == -EINVAL || r == -EFBIG, "%s: %d, %s",
					      format->name, r, blm_error_message());
				continue;
			}
			OK(blm_info(f, &info));
			ck_assert(!p.cells || info.cells >= p.cells);
			ck_assert(!p.probes || info.probes == p.probes);
			/* it has no room for more */
			add_numbers(f, 0,
				    !strcmp(info.kind, "redis-cuckoo") && info.capacity < 50
					    ? info.capacity
					    : 50);
			made += goes_out_and_comes_back(f, format);
			blm_close(f);
		}
		ck_assert_msg(!format->plan || made >= 2, "%s: %u", format->name, made);
	}
}
END_TEST

START_TEST(an_impossible_size_is_refused_or_reduced)
{
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	static const uint64_t seed = 1;
	static const struct blm_params none[] = {
		BLM_PARAMS(.format = "guava", .capacity = 10, .kind = "classic"),
		BLM_PARAMS(.format = "guava", .capacity = 10, .scheme = "guava-64"),
		BLM_PARAMS(.format = "guava", .capacity = 10, .hash = "xxh3"),
		BLM_PARAMS(.format = "guava", .capacity = 10, .seeds = &seed, .seed_count = 1),
		BLM_PARAMS(.format = "guava", .capacity = 10, .rate = 2),
		BLM_PARAMS(.format = "guava"),
		BLM_PARAMS(.format = "guava", .cells = UINT64_MAX),
		BLM_PARAMS(.format = "guava", .cells = 640, .probes = 257),
		BLM_PARAMS(.format = "bip37", .capacity = 10, .tweak = UINT64_C(1) << 32),
	};

	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		FAILS(blm_create(&f, NULL, NULL, &none[i]), -EINVAL);
	FAILS(blm_create(&f, NULL, NULL, &BLM_PARAMS(.format = "nonsense", .capacity = 10)),
	      -ENOENT);
	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.hash = "md5-digest", .scheme = "pybloom", .cells = 1000,
				  .probes = 4)));
	add_numbers(f, 0, 50);
	/* as versions 2 and 3 have it */
	ck_assert_uint_eq(goes_out_and_comes_back(f, blm_format_by_name("pybloom-live")), 1);
	blm_close(f);
	/* which has every filter */
	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.format = "bloomery", .capacity = 10)));
	blm_close(f);
	FAILS(blm_create(&f, NULL, NULL,
			 &BLM_PARAMS(.format = "bip37", .capacity = 1, .rate = 0.9)),
	      -EINVAL);
	FAILS(blm_create(&f, NULL, NULL,
			 &BLM_PARAMS(.format = "bip37", .capacity = 1000000, .rate = 0.5)),
	      -EINVAL);
	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.format = "redis-bitmap", .capacity = 1000000000, .rate = 1e-6,
				  .sparse = true)));
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.cells, UINT64_C(1) << 32);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format headers");
	TCase *tc = tcase_create("headers");

	tcase_add_loop_test(tc, an_impossible_header_is_refused_with_an_explanation, 0,
			    (int)ARRAY_LEN(changed));
	tcase_add_test(tc, parameters_that_the_file_lacks_are_asked_for);
	tcase_add_test(tc, known_keys_find_a_files_unnamed_hash);
	tcase_add_test(tc, a_file_too_large_or_shorter_than_declared_is_refused);
	tcase_add_loop_test(
		tc, impossible_json_of_bits_and_blooms_is_refused,
		0, (int)ARRAY_LEN(json));
	tcase_add_test(tc, json_that_changes_before_its_bits_are_read_is_refused);
	tcase_add_test(tc, a_file_of_dcso_is_known_by_its_numbers);
	tcase_add_test(tc, a_gzipped_dcso_file_is_recognised_and_a_damaged_refused);
	tcase_add_test(tc, other_things_in_gzip_are_no_filter);
	tcase_add_test(tc, text_looks_like_base64_only_if_its_lines_do);
	tcase_add_test(tc, user_data_after_the_bits_is_kept);
	tcase_add_test(tc, a_beginning_shorter_than_the_formats_is_made_anew);
	tcase_add_test(tc, a_reader_of_memory_stops_at_the_files_end);
	tcase_add_test(tc, a_file_with_its_own_count_is_exported_while_open);
	tcase_add_loop_test(tc, a_filter_impossible_for_another_program_is_not_exported, 0,
			    (int)ARRAY_LEN(no_file));
	tcase_add_test(tc, a_filter_sized_for_a_format_is_exported_and_imported);
	tcase_add_test(tc, an_impossible_size_is_refused_or_reduced);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
