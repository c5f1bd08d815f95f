/*
 * parquet.c - Parquet's Bloom filters: those of DuckDB and hyparquet, by themselves and in Parquet
 * files, both ways; and whatever else comes as one
 */
#include "format/parquet.h"
#include "reads.h"
#include "scarce.h"
#include "vectors.h"

#include <errno.h>

enum { KEYS_MOST = 2048, KEY_MOST = 1200, HEADER = 16 };

struct keys {
	uint8_t bytes[KEYS_MOST][KEY_MOST];
	struct blm_key key[KEYS_MOST];
	size_t count;
};

static struct keys in, asked;

static void put(struct keys *keys, const void *bytes, size_t len)
{
	ck_assert_uint_lt(keys->count, KEYS_MOST);
	ck_assert_uint_le(len, sizeof(keys->bytes[0]));
	memcpy(keys->bytes[keys->count], bytes, len);
	keys->key[keys->count] = (struct blm_key){ keys->bytes[keys->count], len };
	keys->count++;
}

static void put_integer(struct keys *keys, int64_t value, size_t width)
{
	uint64_t little = htole64((uint64_t)value);

	put(keys, &little, width);
}

static void put_double(struct keys *keys, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, 8);
	put_integer(keys, (int64_t)bits, 8);
}

static void load_lines(struct keys *keys, const char *name, size_t first, size_t most)
{
	char *text = file_of(name, NULL), *line = text;
	bool hex = strstr(name, ".hex");
	uint8_t bytes[KEY_MOST];

	ck_assert_msg(text != NULL, "%s", name);
	keys->count = 0;
	for (size_t i = 0; *line && i < first + most; i++, line += strcspn(line, "\n") + 1)
		if (i >= first)
			put(keys, hex ? bytes : (void *)line,
			    hex ? from_hex(line, bytes, sizeof(bytes)) : strcspn(line, "\n"));
	free(text);
}

static void answers_are(const struct blm_filter *f, const char *answers_hex)
{
	static uint64_t bits[KEYS_MOST / 64];
	uint8_t answers[KEYS_MOST / 8];
	size_t count = 8 * from_hex(answers_hex, answers, sizeof(answers));

	ck_assert_uint_ge(count, asked.count);
	for (size_t i = 0; i < in.count; i++)
		ck_assert_msg(blm_contains(f, in.key[i].bytes, in.key[i].len), "key %zu is missing",
			      i);
	blm_contains_many(f, asked.key, asked.count, bits);
	for (size_t i = 0; i < asked.count; i++) {
		ck_assert_msg(blm_contains(f, asked.key[i].bytes, asked.key[i].len)
				      == (answers[i / 8] >> i % 8 & 1),
			      "question %zu", i);
		ck_assert_uint_eq(bits[i / 64] >> i % 64 & 1, answers[i / 8] >> i % 8 & 1);
	}
}

static void goes_out_as(const struct blm_filter *f, const void *file, size_t bytes)
{
	void *out;
	size_t out_bytes;

	OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = "parquet"), &out, &out_bytes));
	ck_assert_uint_eq(out_bytes, bytes);
	ck_assert_mem_eq(out, file, bytes);
	blm_free(out);
}

/* A filter of the keys that are in it, made here, is the same file. */
static void is_made_here(const struct blm_filter *theirs, const void *file, size_t bytes,
			 uint64_t cells)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.format = "parquet", .cells = cells)));
	OK(blm_same_template(f, theirs));
	OK(blm_add_many(f, in.key, in.count, NULL));
	goes_out_as(f, file, bytes);
	blm_close(f);
}

static void load_case(const char *name)
{
	size_t count = !strcmp(name, "d3") ? 1000 : !strcmp(name, "d4") ? 300 : 100;

	if (!strcmp(name, "d1") || !strcmp(name, "d2")) {
		load_lines(&in, DATA "/keys/insert.txt", 0, name[1] == '1' ? 1000 : 200);
		load_lines(&asked, DATA "/keys/probe.txt", 0, 400);
		return;
	}
	in.count = asked.count = 0;
	for (int64_t i = 0; i < (int64_t)count; i++)
		if (name[1] == '3')
			put_integer(&in, i * i * 1000003 - i * 97 - 5, 8);
		else if (name[1] == '4')
			put_integer(&in, i * 7919 - 1000, 4);
		else
			put_double(&in, (double)i * 1.25 - 17.5);
	for (int64_t i = 0; i < 400; i++)
		if (name[1] == '3')
			put_integer(&asked, -1000000000000 - 17 * i, 8);
		else if (name[1] == '4')
			put_integer(&asked, -5000 - i, 4);
		else
			put_double(&asked, 1000.125 + (double)i);
}

START_TEST(duckdbs_filters_answer_the_same_and_are_exported_unchanged)
{
	char *json = file_of(DATA "/parquet/duckdb.json", NULL), name[32];
	const char *at = json, *from;
	unsigned cases = 0;

	for (; (from = next_case(&at, name)); cases++) {
		char path[200];
		uint8_t *file;
		size_t bytes;
		struct blm_filter *f;
		struct blm_info info = BLM_INFO;

		snprintf(path, sizeof(path), DATA "/parquet/%s.sbbf.bin", name);
		file = (uint8_t *)file_of(path, &bytes);
		load_case(name);
		/* its beginning tells */
		OK(blm_import_bytes(&f, NULL, NULL, NULL, file, bytes));
		OK(blm_info(f, &info));
		ck_assert_str_eq(info.origin, "parquet");
		ck_assert_str_eq(info.kind, "split-block");
		ck_assert_str_eq(info.hash, "xxh64");
		ck_assert_uint_eq(info.cells, 8 * (bytes - HEADER));
		answers_are(f, field(from, at, "probe_answers_lsb_first_hex"));
		goes_out_as(f, file, bytes);
		is_made_here(f, file, bytes, info.cells);
		blm_close(f);
		OK(blm_open_foreign(&f, path, NULL));
		answers_are(f, field(from, at, "probe_answers_lsb_first_hex"));
		blm_close(f);
		free(file);
	}
	ck_assert_uint_eq(cases, 5);
	free(json);
}
END_TEST

/* The header in its usual form, before this many bytes of bits. */
static size_t put_header(uint8_t *to, uint32_t bits)
{
	size_t at = 0;

	to[at++] = 0x15;
	for (bits *= 2; bits > 0x7f; bits >>= 7)
		to[at++] = (uint8_t)(bits | 0x80);
	to[at++] = (uint8_t)bits;
	memcpy(to + at, "\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0", 13);
	return at + 13;
}

START_TEST(a_header_without_its_number_of_bits_is_reported_damaged)
{
	uint8_t file[4096] = { 0 };
	struct blm_filter *f;
	size_t header = put_header(file, 64);
	const struct blm_exchange how = BLM_EXCHANGE(.format = "parquet");

	file[1] = 1;		/* -1 */
	memmove(file + 2, file + 3, sizeof(file) - 3);
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, header - 1 + 64), -EBADMSG);
	ck_assert_msg(strstr(blm_error_message(), "damaged header: numBytes is -1;"),
		      "%s", blm_error_message());
	memmove(file, file + 2, sizeof(file) - 2);
	file[0] = 0x2c;		/* the field behind it, which is the first now */
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, header - 3 + 64), -EBADMSG);
	ck_assert_msg(strstr(blm_error_message(), "numBytes, is missing"), "%s",
		      blm_error_message());
}
END_TEST

START_TEST(hyparquets_filters_of_any_size_answer_the_same)
{
	char *json = file_of(DATA "/parquet/hyparquet.json", NULL), name[32];
	const char *at = json, *from;
	unsigned cases = 0;

	for (; (from = next_case(&at, name)); cases++) {
		char path[200], keys[64];
		struct blm_filter *f;
		uint8_t file[4096];
		uint8_t *bits;
		size_t bytes, header;

		snprintf(path, sizeof(path), DATA "/parquet/%s.bitset.bin", name);
		bits = (uint8_t *)file_of(path, &bytes);
		ck_assert_uint_eq(bytes, 32 * number(from, at, "blocks"));
		header = put_header(file, (uint32_t)bytes);
		memcpy(file + header, bits, bytes);
		snprintf(path, sizeof(path), DATA "/%s",
			 text_field(from, at, "keys", keys, sizeof(keys)));
		load_lines(&in, path, 0, number(from, at, "n_insert"));
		snprintf(path, sizeof(path), DATA "/%s",
			 text_field(from, at, "probes", keys, sizeof(keys)));
		load_lines(&asked, path, 0, KEYS_MOST);
		OK(blm_import_bytes(&f, NULL, NULL, NULL, file, header + bytes));
		answers_are(f, field(from, at, "probe_answers_lsb_first_hex"));
		goes_out_as(f, file, header + bytes);
		is_made_here(f, file, header + bytes, 8 * bytes);
		blm_close(f);
		free(bits);
	}
	ck_assert_uint_eq(cases, 3);
	free(json);
}
END_TEST

START_TEST(parquet_mrs_filter_answers_the_same_and_is_built_alike)
{
	static const char *const words[] = { "hello", "parquet", "bloom", "filter" };
	struct blm_filter *f;
	size_t bytes;
	char *file = file_of(VECTORS "/parquet/parquet-testing.bloom_filter.xxhash.bin", &bytes);

	if (!file)
		SKIP("the vectors are not here");
	in.count = 0;
	for (int i = 0; i < 4; i++)
		put(&in, words[i], strlen(words[i]));
	OK(blm_import_bytes(&f, NULL, NULL, NULL, file, bytes));
	for (int i = 0; i < 4; i++)
		ck_assert(blm_contains(f, words[i], strlen(words[i])));
	ck_assert(!blm_contains(f, "absent", 6));
	goes_out_as(f, file, bytes);
	is_made_here(f, file, bytes, 8 * (bytes - HEADER));
	blm_close(f);
	free(file);
}
END_TEST

/* ---- Parquet files ---- */

#define TWO DATA "/parquet/two.parquet"
#define ONE DATA "/parquet/one.parquet"

START_TEST(the_filter_of_a_row_group_and_column_is_imported)
{
	char *json = file_of(DATA "/parquet/two.json", NULL), name[32];
	const char *at = json, *from;
	unsigned cases = 0;

	for (; (from = next_case(&at, name)); cases++) {
		struct blm_exchange how =
			BLM_EXCHANGE(.column = "url",
				     .row_group = 1 + number(from, at, "row_group"));
		const char *answers = field(from, at, "probe_answers_lsb_first_hex");
		uint64_t first = number(from, at, "first");
		struct blm_filter *f, *again;
		size_t bytes;
		void *out;

		load_lines(&in, DATA "/keys/insert.txt", first, number(from, at, "n_insert"));
		load_lines(&asked, DATA "/keys/probe.txt", 0, 400);
		OK(blm_import_file(&f, NULL, NULL, &how, TWO));
		answers_are(f, answers);
		OK(blm_export_bytes(f, NULL, &out, &bytes));
		OK(blm_import_bytes(&again, NULL, NULL, NULL, out, bytes));
		answers_are(again, answers);
		blm_close(again);
		how.column = "page.name";
		OK(blm_open_foreign(&again, TWO, &how));
		answers_are(again, answers);
		goes_out_as(again, out, bytes);
		blm_close(again);
		blm_close(f);
		in.count = asked.count = 0;
		for (uint64_t i = first; i < first + 200; i++)
			put_integer(&in, (int64_t)i * 7919 - 1000, 4);
		how.column = "id";
		OK(blm_open_foreign(&f, TWO, &how));
		answers_are(f, "");
		blm_close(f);
		in.count = 0;
		for (uint64_t i = first; i < first + 200; i++)
			put_integer(&in, (int64_t)i, 8);
		how.column = "page.n";
		OK(blm_open_foreign(&f, TWO, &how));
		answers_are(f, "");
		blm_close(f);
		blm_free(out);
	}
	ck_assert_uint_eq(cases, 2);
	free(json);
}
END_TEST

START_TEST(only_a_file_of_several_filters_needs_a_name)
{
	struct blm_filter *f;

	OK(blm_open(&f, NULL, ONE, 0));
	load_lines(&in, DATA "/keys/insert.txt", 0, 1);
	ck_assert(blm_contains(f, in.key[0].bytes, in.key[0].len));
	blm_close(f);
	FAILS(blm_open(&f, NULL, TWO, 0), -ENOTUNIQ);
	ck_assert_msg(strstr(blm_error_message(), "8 Bloom filters, of the columns: url, id, "
						  "page.name, page.n; of the row groups up to 1"),
		      "%s", blm_error_message());
	FAILS(blm_open_foreign(&f, TWO, &BLM_EXCHANGE(.column = "id")), -ENOTUNIQ);
	FAILS(blm_open_foreign(&f, TWO, &BLM_EXCHANGE(.row_group = 2)), -ENOTUNIQ);
	FAILS(blm_open_foreign(&f, TWO, &BLM_EXCHANGE(.column = "page", .row_group = 1)), -ENOENT);
	FAILS(blm_open_foreign(&f, TWO, &BLM_EXCHANGE(.column = "url", .row_group = 3)), -ENOENT);
	FAILS(blm_open_foreign(&f, DATA "/parquet/d1.sbbf.bin", &BLM_EXCHANGE(.column = "url")),
	      -EINVAL);
}
END_TEST

static int64_t read_file(void *context, void *buffer, size_t bytes)
{
	return (int64_t)fread(buffer, 1, bytes, context);
}

START_TEST(a_pipe_may_carry_a_filter_but_no_parquet_file)
{
	FILE *file = fopen(ONE, "re");
	struct blm_filter *f;

	FAILS(blm_import(&f, NULL, NULL, NULL, read_file, file), -ESPIPE);
	fclose(file);
	file = fopen(DATA "/parquet/d1.sbbf.bin", "re");
	OK(blm_import(&f, NULL, NULL, NULL, read_file, file));
	blm_close(f);
	fclose(file);
}
END_TEST

/* ---- Made here ---- */

START_TEST(a_folded_filter_is_the_smaller_one_of_its_keys)
{
	struct blm_filter *f, *folded, *small;
	size_t bytes;
	void *out;

	load_case("d1");
	OK(blm_import_file(&f, NULL, NULL, NULL, DATA "/parquet/d1.sbbf.bin"));
	OK(blm_fold(&folded, NULL, NULL, f, 4, 0));
	OK(blm_create(&small, NULL, NULL, &BLM_PARAMS(.format = "parquet", .cells = 16 * 256)));
	OK(blm_add_many(small, in.key, in.count, NULL));
	OK(blm_export_bytes(small, &BLM_EXCHANGE(.format = "parquet"), &out, &bytes));
	ck_assert_uint_eq(bytes, 16 * 32 + HEADER);
	goes_out_as(folded, out, bytes);
	blm_free(out);
	blm_close(f), blm_close(folded), blm_close(small);
}
END_TEST

START_TEST(a_filter_for_parquet_has_2_to_the_n_blocks)
{
	for (uint64_t n = 1; n < 1 << 20; n = n * 3 + 1) {
		struct blm_params p = BLM_PARAMS(.format = "parquet", .capacity = n, .rate = 0.01);
		struct blm_plan plan;

		OK(blm_plan(&plan, &p));
		ck_assert_uint_eq(plan.cells % 256, 0);
		ck_assert_uint_eq(plan.cells & (plan.cells - 1), 0);
		ck_assert(plan.predicted_rate <= 0.01);
	}
	FAILS(blm_plan(&(struct blm_plan){ 0 },
		       &BLM_PARAMS(.format = "parquet", .capacity = 1 << 30)),
	      -EFBIG);
}
END_TEST

START_TEST(a_filter_that_some_readers_refuse_is_refused_on_request)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "parquet", .power_of_two = true);
	struct blm_filter *f, *folded;
	size_t bytes;
	void *out;

	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.kind = "split-block", .cells = 24 * 256)));
	FAILS(blm_export_bytes(f, &how, &out, &bytes), -EOPNOTSUPP);
	ck_assert_msg(strstr(blm_error_message(), "divide it by 3"), "%s", blm_error_message());
	OK(blm_fold(&folded, NULL, NULL, f, 3, 0));
	OK(blm_export_bytes(folded, &how, &out, &bytes));
	blm_free(out);
	blm_close(f), blm_close(folded);
	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.capacity = 1000)));
	FAILS(blm_export_bytes(f, &how, &out, &bytes), -EOPNOTSUPP);
	blm_close(f);
}
END_TEST

/* ---- Whatever comes ---- */

static int taken(const void *bytes, size_t count)
{
	struct blm_filter *f;
	int r = blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "parquet"), bytes, count);

	if (r == 0)
		blm_close(f);
	else
		ck_assert(*blm_error_message() != '\0');
	return r;
}

#define HEAD(text) { text, sizeof(text) - 1 }
#define REST "\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"

START_TEST(a_header_with_unknown_fields_is_exported_unchanged)
{
	static const struct { const char *bytes; size_t count;
	} heads[] = {
		/* the number of a field written out */
		/* a number longer than it need be */
		/* a string, a boolean, a list */
		/* a map of booleans */
		/* SplitBlock has a field */
		HEAD("\x15\x40" REST),
		HEAD("\x05\x02\x40\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"),
		HEAD("\x15\xc0\x00\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"),
		HEAD("\x15\x40\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\x18\x03"
		     "abc\x11\x19\x25\x02\x04\0"),
		HEAD("\x15\x40\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\x1b\x01\x58\x02\x01x\x17"
		     "12345678\x1d"
		     "0123456789abcdef\x1a\x15\x02\0"),
		HEAD("\x15\x40\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\x1b\x01\x81\x01x\x01\0"),
		HEAD("\x15\x40\x1c\x1c\x15\x0a\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"),
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		uint8_t file[128] = { 0 };
		struct blm_filter *f;

		memcpy(file, heads[i].bytes, heads[i].count);
		memset(file + heads[i].count, 0x5a, 32);
		ck_assert_msg(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "parquet"),
					       file, heads[i].count + 32)
				      == 0,
			      "%zu: %s", i, blm_error_message());
		goes_out_as(f, file, heads[i].count + 32);
		blm_close(f);
		ck_assert_int_eq(taken(file, heads[i].count + 31), -ENODATA);
		ck_assert_int_eq(taken(file, heads[i].count + 33), -EBADMSG);
	}
}
END_TEST

START_TEST(a_header_of_another_algorithm_is_refused)
{
	static const struct { const char *bytes; size_t count; int err;
	} heads[] = {
#define BAD(err, text) { text, sizeof(text) - 1, err }
		/* 2^31 - 32 */
		/* no 64 bits */
		/* no number */
		BAD(-EBADMSG, "\x15\x00" REST),
		BAD(-EBADMSG, "\x15\x3f" REST),
		BAD(-EBADMSG, "\x15\x3e" REST),
		BAD(-EBADMSG, "\x15\x42" REST),
		BAD(-EBADMSG, "\x15\x80\x80\x80\x80\x10" REST), /* 2^31 */
		BAD(-ENODATA, "\x15\xc0\xff\xff\xff\x0f" REST),
		BAD(-EBADMSG, "\x15\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f" REST),
		BAD(-EBADMSG, "\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"),
		BAD(-EBADMSG, "\0"),
		BAD(-EPROTONOSUPPORT, "\x15\x40\x1c\x2c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"),
		BAD(-EPROTONOSUPPORT, "\x15\x40\x1c\x1c\0\0\x1c\x2c\0\0\x1c\x1c\0\0\0"),
		BAD(-EPROTONOSUPPORT, "\x15\x40\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x3c\0\0\0"),
		BAD(-EPROTONOSUPPORT, "\x15\x40\x1c\0\x1c\x1c\0\0\x1c\x1c\0\0\0"),
		BAD(-EPROTONOSUPPORT, "\x15\x40\0"),
		BAD(-EBADMSG, "\x15\x40\x1f\0"),
		BAD(-EBADMSG, "\x15\x40\x18\xff\xff\xff\xff\x0f\0"),
		BAD(-EBADMSG, "\x15\x40\x19\xfc\xff\xff\xff\xff\x0f\0"),
		BAD(-EBADMSG, "\x15\x40\x1b\xff\xff\xff\xff\x0f\x11\0"),
		BAD(-EBADMSG, "\x15\x40\x1b\x01\x10\x11\0"),
		BAD(-EBADMSG,
		    "\x15\x40\x5c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c"
		    "\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c"),
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		uint8_t file[256] = { 0 };
		int r;

		memcpy(file, heads[i].bytes, heads[i].count);
		r = taken(file, heads[i].count + 64);
		ck_assert_msg(r == heads[i].err, "%zu: %d: %s", i, r, blm_error_message());
	}
}
END_TEST

START_TEST(a_damaged_parquet_file_is_refused_or_has_a_filter)
{
	size_t bytes, taken_count = 0;
	char *file = file_of(ONE, &bytes);

	for (size_t cut = 0; cut < bytes; cut++)
		ck_assert_int_lt(taken(file, cut), 0);
	for (size_t i = 0; i < bytes; i++)
		for (unsigned x = 1; x < 256; x *= i < bytes - 200 ? 16 : 2) {
			file[i] ^= (char)x;
			taken_count += taken(file, bytes) == 0;
			file[i] ^= (char)x;
		}
	ck_assert_uint_gt(taken_count, 100);	/* bytes elsewhere in it have no meaning for us */
	free(file);
}
END_TEST

/* "PAR1", these metadata, "PAR1". */
static int with_footer(const void *footer, size_t count, uint32_t said)
{
	uint8_t *file = calloc(1, count + 12);
	struct blm_filter *f;
	int r;

	memcpy(file, "PAR1", 4);
	memcpy(file + 4, footer, count);
	said = htole32(said);
	memcpy(file + 4 + count, &said, 4);
	memcpy(file + 8 + count, "PAR1", 4);
	r = blm_import_bytes(&f, NULL, NULL, NULL, file, count + 12);
	ck_assert(r < 0 && *blm_error_message());
	free(file);
	return r;
}

START_TEST(metadata_that_promises_too_much_allocates_nothing)
{
	/*
	 * a field 4, a list of row groups; its field 1, a list of column chunks; its field 3; its
	 * field 14, the offset
	 */
	static const char far[] =
		"\x49\x1c\x19\x1c\x3c\xe6\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0\0";
	static const char back[] = "\x49\x1c\x19\x1c\x3c\xe6\x01\0\0\0\0",
			  none[] = "\x49\x1c\x19\x1c\x3c\x16\x02\0\0\0\0";
	static const char many[] = "\x49\xfc\xff\xff\xff\xff\x0f", other[] = "\x49\x15\x02\0",
			  named[] = "\x49\x1c\x19\x1c\x3c\x39\x18\xff\xff\xff\x7f";
	uint8_t *deep = malloc(1 << 20);

	ck_assert_int_eq(with_footer(far, sizeof(far) - 1, sizeof(far) - 1), -EBADMSG);
	ck_assert_int_eq(with_footer(back, sizeof(back) - 1, sizeof(back) - 1), -EBADMSG);
	ck_assert_int_eq(with_footer(none, sizeof(none) - 1, sizeof(none) - 1), -ENOENT);
	ck_assert_int_eq(with_footer(many, sizeof(many) - 1, sizeof(many) - 1), -EBADMSG);
	ck_assert_int_eq(with_footer(other, sizeof(other) - 1, sizeof(other) - 1), -EBADMSG);
	ck_assert_int_eq(with_footer(named, sizeof(named) - 1, sizeof(named) - 1), -EBADMSG);
	ck_assert_int_eq(with_footer(none, sizeof(none) - 1, 1000), -EBADMSG);
	ck_assert_int_eq(with_footer(none, sizeof(none) - 1, UINT32_MAX), -EBADMSG);
	ck_assert_int_eq(with_footer("", 0, 0), -ENODATA);
	memset(deep, 0x1c, 1 << 20);
	ck_assert_int_eq(with_footer(deep, 1 << 20, 1 << 20), -EBADMSG);
	memset(deep, 0x19, 1 << 20);
	ck_assert_int_eq(with_footer(deep, 1 << 20, 1 << 20), -EBADMSG);
	free(deep);
}
END_TEST

/* ---- Metadata made here: of one row group, or of some with a column each ---- */

static uint8_t made[1 << 14];
static size_t made_bytes;

static void meta(const void *bytes, size_t count)
{
	ck_assert_uint_le(made_bytes + count, sizeof(made));
	memcpy(made + made_bytes, bytes, count);
	made_bytes += count;
}

static void meta_number(uint64_t x)
{
	for (; x > 0x7f; x >>= 7)
		meta(&(uint8_t){ (uint8_t)(x | 0x80) }, 1);
	meta(&(uint8_t){ (uint8_t)x }, 1);
}

static void meta_string(const char *text)
{
	meta_number(strlen(text));
	meta(text, strlen(text));
}

static void meta_list(unsigned field, unsigned count, unsigned type)
{
	const uint8_t bytes[] = { (uint8_t)(field << 4 | 9), (uint8_t)(count << 4 | type) };

	meta(bytes, 2);
}

/* The beginning, and a filter of 32 bytes. */
static void begin_file(const char *magic)
{
	uint8_t header[32];
	size_t count = put_header(header, 32);

	made_bytes = 0;
	meta(magic, 4);
	meta(header, count);
	memset(header, 0x5a, 32);
	meta(header, 32);
}

/* A column chunk whose filter is that one; its name has a part or two. */
static void put_chunk(const char *name, const char *part)
{
	meta("\x3c", 1);
	meta_list(3, part ? 2 : 1, 8);
	meta_string(name);
	if (part)
		meta_string(part);
	meta("\xb6\x08\0\0", 4);
}

static void end_file(const char *magic, size_t footer)
{
	uint32_t bytes = htole32((uint32_t)(made_bytes - footer));

	meta(&bytes, 4);
	meta(magic, 4);
}

static void made_is_refused(const char *column, int error, const char *words)
{
	struct blm_filter *f;

	FAILS(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "parquet", .column = column),
			       made, made_bytes),
	      error);
	ck_assert_msg(strstr(blm_error_message(), words) != NULL, "%s: not in: %s", words,
		      blm_error_message());
}

static void made_is_taken(const char *column)
{
	struct blm_filter *f;

	OK(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "parquet", .column = column),
			    made, made_bytes));
	goes_out_as(f, made + 4, 15 + 32);
	blm_close(f);
}

/* One row group with these columns, up to NULL. */
static void put_columns(const char *const *names)
{
	size_t footer;
	unsigned count = 0;

	while (names[count])
		count++;
	begin_file("PAR1");
	footer = made_bytes;
	meta_list(4, 1, 12);
	meta_list(1, count, 12);
	for (unsigned i = 0; i < count; i++)
		put_chunk(names[i], NULL);
	meta("\0\0", 2);
	end_file("PAR1", footer);
}

START_TEST(a_column_is_selected_by_its_full_name)
{
	put_columns((const char *[]){ "ab", "cd", "abc", NULL });
	made_is_taken("ab");
	made_is_taken("cd");
	made_is_taken("abc");
	made_is_refused("ac", -ENOENT,
			"no such Bloom filter; there are some of the columns: ab, cd, abc; of the "
			"row groups up to 0");
	made_is_refused("a", -ENOENT, "of the columns: ab, cd, abc;");
	put_columns((const char *[]){ "ab", "ab", NULL });
	made_is_refused("ab", -ENOTUNIQ,
			"2 Bloom filters of that name or number, of the columns: ab;");
}
END_TEST

START_TEST(a_message_omits_unprintable_and_excess_column_names)
{
	static const char *const bad[] = { "line\nbreak", "end\x7f", "a,comma" };
	char long_name[256], other[256];

	for (size_t i = 0; i < 3; i++) {
		put_columns((const char *[]){ "good", bad[i], NULL });
		made_is_refused(
			NULL, -ENOTUNIQ,
			"2 Bloom filters, of the columns: good, ...; of the row groups up to 0");
		made_is_refused("other", -ENOENT, "some of the columns: good, ...;");
		made_is_taken(bad[i]);
	}
	put_columns((const char *[]){ bad[0], bad[1], NULL });
	made_is_refused("other", -ENOENT, "some of the columns: ...; of the row groups up to 0");
	memset(long_name, 'l', 255), memset(other, 'o', 255);
	long_name[253] = '\0', other[254] = '\0';
	put_columns((const char *[]){ long_name, "x", NULL });
	made_is_refused(NULL, -ENOTUNIQ, "lll, ...; of the row groups");
	put_columns((const char *[]){ "x", other, NULL });
	made_is_refused(NULL, -ENOTUNIQ, "of the columns: x, ...; of the row groups");
	made_is_taken(other);
}
END_TEST

START_TEST(a_column_name_may_have_512_bytes)
{
	char name[600];
	size_t footer;

	for (size_t len = 511; len <= 514; len++) {
		memset(name, 'n', len);
		name[len] = '\0';
		put_columns((const char *[]){ name, NULL });
		if (len <= 512)
			made_is_taken(name);
		else
			made_is_refused(name, -ENOENT, "no such Bloom filter");
		made_is_taken(NULL);
		begin_file("PAR1");
		footer = made_bytes;
		meta_list(4, 1, 12);
		meta_list(1, 1, 12);
		name[len - 2] = '\0';
		put_chunk(name, "p");		/* with the dot as long as before */
		meta("\0\0", 2);
		end_file("PAR1", footer);
		memcpy(name + len - 2, ".p", 3);
		if (len <= 512)
			made_is_taken(name);
		else
			made_is_refused(name, -ENOENT, "no such Bloom filter");
		made_is_taken(NULL);
	}
}
END_TEST

START_TEST(a_file_whose_metadata_are_encrypted_is_refused_as_that)
{
	begin_file("PARE");
	end_file("PARE", made_bytes);
	made_is_refused(NULL, -EPROTONOSUPPORT, "its metadata are encrypted");
	ck_assert_int_eq(blm_import_bytes(&(struct blm_filter *){ NULL }, NULL, NULL, NULL, made,
					  made_bytes),
			 -EPROTONOSUPPORT);
	begin_file("PARE");
	end_file("PARX", made_bytes);
	made_is_refused(NULL, -EBADMSG, "does not end like one");
}
END_TEST

/* Metadata behind a filter of 32 bytes, and what comes of them. */
static const struct { const char *bytes; size_t count; int err; const char *words;
} footers[] = {
#define FOOTER(text) text, sizeof(text) - 1
	/*
	 * the first of two names, chunks, row groups has a field or an element of no known type, or
	 * is longer than what is left
	 */
	/* of no elements it does not matter */
	/* in another file */
	/* the fields 32767 and 32768 */
	{ FOOTER("\x49\x1c\x19\x1c\x3c\x39\x28\xff\xff\x7f"
		 "abcd"),
	  -EBADMSG, "a string that is longer than what is left" },
	{ FOOTER("\x49\x1c\x19\x2c\x1f\0\0\0\0\0"), -EBADMSG, "a field of no known type" },
	{ FOOTER("\x49\x2c\x1f\0\0\0\0"), -EBADMSG, "a field of no known type" },
	{ FOOTER("\x49\x1c\x19\x1c\x3c\x39\x15\x02\0\0\0\0"), -EBADMSG,
	  "elements are of another type" },
	{ FOOTER("\x49\x05\0"), -ENOENT, "without Bloom filters" },
	{ FOOTER("\x49\x1c\x19\x1c\x18\x01x\x2c\x39\x18\x01"
		 "c\xb6\x08\0\0\0\0"),
	  -ENOENT, "without Bloom filters" },
	{ FOOTER("\x49\x1c\x19\x1c\x3c\x39\x18\x01"
		 "c\xb6\x04\0\0\0\0"),
	  -EBADMSG, "the Bloom filter at byte 2, outside" },
	{ FOOTER("\x05\xfe\xff\x03\x02\x15\x02\0"), -EBADMSG, "a field of no known type" },
};

START_TEST(broken_metadata_is_refused_with_an_explanation)
{
	size_t footer;

	begin_file("PAR1");
	footer = made_bytes;
	meta(footers[_i].bytes, footers[_i].count);
	end_file("PAR1", footer);
	made_is_refused(NULL, footers[_i].err, footers[_i].words);
}
END_TEST

START_TEST(a_filter_past_the_end_of_the_file_is_refused)
{
	static const char chunk[] = "\x49\x1c\x19\x1c\x3c\xe6\x08\0\0\0\0";	/* at 4 */

	for (uint32_t bits = 32; bits <= 64; bits += 32) {
		uint8_t header[32];
		size_t count = put_header(header, bits), footer;
		char words[80];

		made_bytes = 0;
		meta("PAR1", 4);
		meta(header, count);
		footer = made_bytes;
		meta(chunk, sizeof(chunk) - 1);
		end_file("PAR1", footer);
		/* there is room for 32 bits, or their header */
		ck_assert((made_bytes - 4 >= 32) && (made_bytes - 4 < 32 + count));
		snprintf(words, sizeof(words),
			 "has %u bytes by its header, more than the file has: it is truncated",
			 (unsigned)(bits + count));
		made_is_refused(NULL, -ENODATA, words);
	}
}
END_TEST

START_TEST(an_unreadable_or_truncated_file_is_reported_as_such)
{
	static const char padding[3900];
	char name[301];
	size_t footer;

	memset(name, 'n', 300);
	name[300] = '\0';
	begin_file("PAR1");
	footer = made_bytes;
	/* a string, so that the name is in the first window, and in the next */
	meta("\x18", 1);
	meta_number(sizeof(padding));
	meta(padding, sizeof(padding));
	meta_list(3, 1, 12);
	meta_list(1, 1, 12);
	put_chunk(name, NULL);
	meta("\0\0", 2);
	end_file("PAR1", footer);
	made_is_taken(name);
	ck_assert_int_eq(each_read_may_fail(blm_parquet_locate, made, made_bytes,
					    &BLM_EXCHANGE(.column = name)),
			 4);
}
END_TEST

START_TEST(a_lack_of_memory_is_reported)
{
	struct lookup l = { .locate = blm_parquet_locate };

	put_columns((const char *[]){ "ab", "cd", NULL });
	l.file = blm_bytes_of_memory(made, made_bytes);
	l.how.column = "cd";
	ck_assert_int_eq(each_piece_may_lack(look_up, &l), 1);
}
END_TEST

/*
 * As a filter of 2 GiB, or one that came with another header than it would have now, would be
 * written.
 */
START_TEST(a_header_of_another_filter_is_written_anew)
{
	/* 32 bytes, written in another way */
	static const char came[] = "\x05\x02\x40\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0";
	const struct blm_format *format = blm_format_by_name("parquet");
	struct { uint64_t cells; size_t memo_bytes; bool kept;
	} cases[] = {
		{ 256, sizeof(came) - 1, true },
		{ 512, sizeof(came) - 1, false },
		{ 256, sizeof(came), false },
		{ 256, 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct blm_outline o = { .memo_bytes = cases[i].memo_bytes };
		uint8_t head[PARQUET_HEADER_MOST], usual[PARQUET_HEADER_MOST];
		size_t count = put_header(usual, (uint32_t)cases[i].cells / 8);

		memcpy(o.memo, came, sizeof(came));
		o.contents.constant.template.cells = htole64(cases[i].cells);
		OK(format->lay_out(&o, head, "a filter"));
		ck_assert_uint_eq(o.head_bytes, cases[i].kept ? sizeof(came) - 1 : count);
		ck_assert_mem_eq(head, cases[i].kept ? (const void *)came : usual, o.head_bytes);
	}
	for (int more = 0; more < 2; more++) {
		struct blm_outline o = { 0 };
		uint8_t head[PARQUET_HEADER_MOST];

		o.contents.constant.template.cells =
			htole64((UINT64_C(1) << 34) - (more ? 0 : 256));
		if (!more) {
			OK(format->lay_out(&o, head, "a filter"));
			continue;
		}
		FAILS(format->lay_out(&o, head, "a filter"), -EOPNOTSUPP);
		ck_assert_ptr_nonnull(strstr(
			blm_error_message(),
			"a filter: has 2147483648 bytes of bits; Parquet has fewer than 2^31"));
	}
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format parquet");
	TCase *tc = tcase_create("parquet");

	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_test(tc, duckdbs_filters_answer_the_same_and_are_exported_unchanged);
	tcase_add_test(tc,
		       a_header_without_its_number_of_bits_is_reported_damaged);
	tcase_add_test(tc, hyparquets_filters_of_any_size_answer_the_same);
	tcase_add_test(tc, parquet_mrs_filter_answers_the_same_and_is_built_alike);
	tcase_add_test(tc, the_filter_of_a_row_group_and_column_is_imported);
	tcase_add_test(tc,
		       only_a_file_of_several_filters_needs_a_name);
	tcase_add_test(tc,
		       a_pipe_may_carry_a_filter_but_no_parquet_file);
	tcase_add_test(tc, a_folded_filter_is_the_smaller_one_of_its_keys);
	tcase_add_test(tc, a_filter_for_parquet_has_2_to_the_n_blocks);
	tcase_add_test(tc, a_filter_that_some_readers_refuse_is_refused_on_request);
	tcase_add_test(tc, a_header_with_unknown_fields_is_exported_unchanged);
	tcase_add_test(tc, a_header_of_another_algorithm_is_refused);
	tcase_add_test(
		tc,
		a_damaged_parquet_file_is_refused_or_has_a_filter);
	tcase_add_test(
		tc, metadata_that_promises_too_much_allocates_nothing);
	tcase_add_test(tc, a_column_is_selected_by_its_full_name);
	tcase_add_test(tc, a_message_omits_unprintable_and_excess_column_names);
	tcase_add_test(tc, a_column_name_may_have_512_bytes);
	tcase_add_test(tc, a_file_whose_metadata_are_encrypted_is_refused_as_that);
	tcase_add_loop_test(tc, broken_metadata_is_refused_with_an_explanation, 0,
			    sizeof(footers) / sizeof(*footers));
	tcase_add_test(tc, a_filter_past_the_end_of_the_file_is_refused);
	tcase_add_test(tc, an_unreadable_or_truncated_file_is_reported_as_such);
	tcase_add_test(tc, a_lack_of_memory_is_reported);
	tcase_add_test(tc, a_header_of_another_filter_is_written_anew);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
