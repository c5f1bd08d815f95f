/* parquet.c - Parquet's Bloom filters: those of DuckDB and hyparquet, by themselves and in Parquet files, both ways; and whatever else comes as one */
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
			put(keys, hex ? bytes : (void *)line, hex ? from_hex(line, bytes, sizeof(bytes)) : strcspn(line, "\n"));
	free(text);
}

static void answers_are(const struct blm_filter *f, const char *answers_hex)
{
	static uint64_t bits[KEYS_MOST / 64];
	uint8_t answers[KEYS_MOST / 8];
	size_t count = 8 * from_hex(answers_hex, answers, sizeof(answers));

	ck_assert_uint_ge(count, asked.count);
	for (size_t i = 0; i < in.count; i++)
		ck_assert_msg(blm_contains(f, in.key[i].bytes, in.key[i].len), "key %zu is missing", i);
	blm_contains_many(f, asked.key, asked.count, bits);
	for (size_t i = 0; i < asked.count; i++) {
		ck_assert_msg(blm_contains(f, asked.key[i].bytes, asked.key[i].len) == (answers[i / 8] >> i % 8 & 1), "question %zu", i);
		ck_assert_uint_eq(bits[i / 64] >> i % 64 & 1, answers[i / 8] >> i % 8 & 1);
	}
}

static void goes_out_as(const struct blm_filter *f, const void *file, size_t bytes)
{
	void *out;
	size_t out_bytes;

	OK(blm_export_bytes(f, &(struct blm_exchange){ .format = "parquet" }, &out, &out_bytes));
	ck_assert_uint_eq(out_bytes, bytes);
	ck_assert_mem_eq(out, file, bytes);
	blm_free(out);
}

/* A filter of the keys that are in it, made here, is the same file. */
static void is_made_here(const struct blm_filter *theirs, const void *file, size_t bytes, uint64_t cells)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL, &(struct blm_params){ .format = "parquet", .cells = cells }));
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

START_TEST(the_filters_of_duckdb_answer_as_there_go_out_as_they_came_and_are_made_here_as_there)
{
	char *json = file_of(DATA "/parquet/duckdb.json", NULL), name[32];
	const char *at = json, *from;
	unsigned cases = 0;

	for (; (from = next_case(&at, name)); cases++) {
		char path[200];
		uint8_t *file;
		size_t bytes;
		struct blm_filter *f;
		struct blm_info info;

		snprintf(path, sizeof(path), DATA "/parquet/%s.sbbf.bin", name);
		file = (uint8_t *)file_of(path, &bytes);
		load_case(name);
		OK(blm_import_bytes(&f, NULL, NULL, NULL, file, bytes));	/* its beginning tells */
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

/* The header in its usual form, before so many bytes of bits. */
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

START_TEST(a_header_that_does_not_say_how_many_bits_it_has_is_damaged_and_says_where)
{
	uint8_t file[4096] = { 0 };
	struct blm_filter *f;
	size_t header = put_header(file, 64);
	const struct blm_exchange how = { .format = "parquet" };

	file[1] = 1;		/* -1 */
	memmove(file + 2, file + 3, sizeof(file) - 3);
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, header - 1 + 64), -EBADMSG);
	ck_assert_msg(strstr(blm_why(), "damaged header: numBytes, of its bits, is -1,"), "%s", blm_why());
	memmove(file, file + 2, sizeof(file) - 2);
	file[0] = 0x2c;		/* the field behind it, which is the first now */
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, header - 3 + 64), -EBADMSG);
	ck_assert_msg(strstr(blm_why(), "numBytes, is missing"), "%s", blm_why());
}
END_TEST

START_TEST(the_filters_of_hyparquet_of_any_number_of_blocks_answer_as_there_and_are_made_here_as_there)
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
		snprintf(path, sizeof(path), DATA "/%s", text_field(from, at, "keys", keys, sizeof(keys)));
		load_lines(&in, path, 0, number(from, at, "n_insert"));
		snprintf(path, sizeof(path), DATA "/%s", text_field(from, at, "probes", keys, sizeof(keys)));
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

START_TEST(the_filter_of_parquet_mr_answers_as_there_and_is_made_here_as_there)
{
	static const char *const words[] = { "hello", "parquet", "bloom", "filter" };
	struct blm_filter *f;
	size_t bytes;
	char *file = file_of(VECTORS "/parquet/parquet-testing.bloom_filter.xxhash.bin", &bytes);

	if (!file) {
		printf("# SKIP %s: the vectors are not here\n", __func__);
		return;
	}
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

START_TEST(the_filter_of_a_column_and_row_group_is_taken_out_of_a_parquet_file)
{
	char *json = file_of(DATA "/parquet/two.json", NULL), name[32];
	const char *at = json, *from;
	unsigned cases = 0;

	for (; (from = next_case(&at, name)); cases++) {
		struct blm_exchange how = { .column = "url", .row_group = 1 + number(from, at, "row_group") };
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

START_TEST(the_only_filter_of_a_file_needs_no_name_and_of_several_one_must_be_named)
{
	struct blm_filter *f;

	OK(blm_open(&f, NULL, ONE, false));
	load_lines(&in, DATA "/keys/insert.txt", 0, 1);
	ck_assert(blm_contains(f, in.key[0].bytes, in.key[0].len));
	blm_close(f);
	FAILS(blm_open(&f, NULL, TWO, false), -ENOTUNIQ);
	ck_assert_msg(strstr(blm_why(), "8 Bloom filters, of the columns: url, id, page.name, page.n; of the row groups up to 1"), "%s", blm_why());
	FAILS(blm_open_foreign(&f, TWO, &(struct blm_exchange){ .column = "id" }), -ENOTUNIQ);
	FAILS(blm_open_foreign(&f, TWO, &(struct blm_exchange){ .row_group = 2 }), -ENOTUNIQ);
	FAILS(blm_open_foreign(&f, TWO, &(struct blm_exchange){ .column = "page", .row_group = 1 }), -ENOENT);
	FAILS(blm_open_foreign(&f, TWO, &(struct blm_exchange){ .column = "url", .row_group = 3 }), -ENOENT);
	FAILS(blm_open_foreign(&f, DATA "/parquet/d1.sbbf.bin", &(struct blm_exchange){ .column = "url" }), -EINVAL);
}
END_TEST

static int64_t read_file(void *context, void *room, size_t bytes)
{
	return (int64_t)fread(room, 1, bytes, context);
}

START_TEST(a_parquet_file_that_comes_through_a_pipe_is_refused_and_its_filter_is_not)
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

START_TEST(a_folded_filter_is_the_smaller_one_of_the_same_keys)
{
	struct blm_filter *f, *folded, *small;
	size_t bytes;
	void *out;

	load_case("d1");
	OK(blm_import_file(&f, NULL, NULL, NULL, DATA "/parquet/d1.sbbf.bin"));
	OK(blm_fold(&folded, NULL, NULL, f, 4, 0));
	OK(blm_create(&small, NULL, NULL, &(struct blm_params){ .format = "parquet", .cells = 16 * 256 }));
	OK(blm_add_many(small, in.key, in.count, NULL));
	OK(blm_export_bytes(small, &(struct blm_exchange){ .format = "parquet" }, &out, &bytes));
	ck_assert_uint_eq(bytes, 16 * 32 + HEADER);
	goes_out_as(folded, out, bytes);
	blm_free(out);
	blm_close(f), blm_close(folded), blm_close(small);
}
END_TEST

START_TEST(a_filter_that_is_made_for_it_has_a_power_of_two_of_blocks_and_the_rate)
{
	for (uint64_t n = 1; n < 1 << 20; n = n * 3 + 1) {
		struct blm_params p = { .format = "parquet", .capacity = n, .rate = 0.01 };
		struct blm_plan plan;

		OK(blm_plan(&plan, &p));
		ck_assert_uint_eq(plan.cells % 256, 0);
		ck_assert_uint_eq(plan.cells & (plan.cells - 1), 0);
		ck_assert(plan.predicted_rate <= 0.01);
	}
	FAILS(blm_plan(&(struct blm_plan){ 0 }, &(struct blm_params){ .format = "parquet", .capacity = 1 << 30 }), -EFBIG);
}
END_TEST

START_TEST(what_some_readers_do_not_take_is_refused_when_that_is_asked)
{
	struct blm_exchange how = { .format = "parquet", .power_of_two = true };
	struct blm_filter *f, *folded;
	size_t bytes;
	void *out;

	OK(blm_create(&f, NULL, NULL, &(struct blm_params){ .kind = "split-block", .cells = 24 * 256 }));
	FAILS(blm_export_bytes(f, &how, &out, &bytes), -EOPNOTSUPP);
	ck_assert_msg(strstr(blm_why(), "where 3 divides"), "%s", blm_why());
	OK(blm_fold(&folded, NULL, NULL, f, 3, 0));
	OK(blm_export_bytes(folded, &how, &out, &bytes));
	blm_free(out);
	blm_close(f), blm_close(folded);
	OK(blm_create(&f, NULL, NULL, &(struct blm_params){ .capacity = 1000 }));
	FAILS(blm_export_bytes(f, &how, &out, &bytes), -EOPNOTSUPP);
	blm_close(f);
}
END_TEST

/* ---- Whatever comes ---- */

static int taken(const void *bytes, size_t count)
{
	struct blm_filter *f;
	int r = blm_import_bytes(&f, NULL, NULL, &(struct blm_exchange){ .format = "parquet" }, bytes, count);

	if (r == 0)
		blm_close(f);
	else
		ck_assert(*blm_why() != '\0');
	return r;
}

#define HEAD(text) { text, sizeof(text) - 1 }
#define REST "\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"

START_TEST(a_header_may_have_fields_that_are_not_known_and_goes_out_as_it_came)
{
	static const struct { const char *bytes; size_t count; } heads[] = {
		HEAD("\x15\x40" REST),
		HEAD("\x05\x02\x40\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"),	/* the number of a field written out */
		HEAD("\x15\xc0\x00\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"),	/* a number longer than it need be */
		HEAD("\x15\x40\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\x18\x03" "abc\x11\x19\x25\x02\x04\0"),	/* a string, a boolean, a list */
		HEAD("\x15\x40\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\x1b\x01\x58\x02\x01x\x17" "12345678\x1d" "0123456789abcdef\x1a\x15\x02\0"),
		HEAD("\x15\x40\x1c\x1c\x15\x0a\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"),		/* SplitBlock has a field */
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		uint8_t file[128] = { 0 };
		struct blm_filter *f;

		memcpy(file, heads[i].bytes, heads[i].count);
		memset(file + heads[i].count, 0x5a, 32);
		ck_assert_msg(blm_import_bytes(&f, NULL, NULL, &(struct blm_exchange){ .format = "parquet" }, file, heads[i].count + 32) == 0, "%zu: %s", i, blm_why());
		goes_out_as(f, file, heads[i].count + 32);
		blm_close(f);
		ck_assert_int_eq(taken(file, heads[i].count + 31), -ENODATA);
		ck_assert_int_eq(taken(file, heads[i].count + 33), -EBADMSG);
	}
}
END_TEST

START_TEST(a_header_that_says_something_else_is_refused)
{
	static const struct { const char *bytes; size_t count; int err; } heads[] = {
#define BAD(err, text) { text, sizeof(text) - 1, err }
		BAD(-EBADMSG, "\x15\x00" REST), BAD(-EBADMSG, "\x15\x3f" REST), BAD(-EBADMSG, "\x15\x3e" REST), BAD(-EBADMSG, "\x15\x42" REST),
		BAD(-EBADMSG, "\x15\x80\x80\x80\x80\x10" REST),				/* 2^31 */
		BAD(-ENODATA, "\x15\xc0\xff\xff\xff\x0f" REST),				/* 2^31 - 32 */
		BAD(-EBADMSG, "\x15\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f" REST),	/* no 64 bits */
		BAD(-EBADMSG, "\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"), BAD(-EBADMSG, "\0"),	/* no number */
		BAD(-EPROTONOSUPPORT, "\x15\x40\x1c\x2c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"),
		BAD(-EPROTONOSUPPORT, "\x15\x40\x1c\x1c\0\0\x1c\x2c\0\0\x1c\x1c\0\0\0"),
		BAD(-EPROTONOSUPPORT, "\x15\x40\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x3c\0\0\0"),
		BAD(-EPROTONOSUPPORT, "\x15\x40\x1c\0\x1c\x1c\0\0\x1c\x1c\0\0\0"), BAD(-EPROTONOSUPPORT, "\x15\x40\0"),
		BAD(-EBADMSG, "\x15\x40\x1f\0"), BAD(-EBADMSG, "\x15\x40\x18\xff\xff\xff\xff\x0f\0"), BAD(-EBADMSG, "\x15\x40\x19\xfc\xff\xff\xff\xff\x0f\0"),
		BAD(-EBADMSG, "\x15\x40\x1b\xff\xff\xff\xff\x0f\x11\0"), BAD(-EBADMSG, "\x15\x40\x1b\x01\x10\x11\0"),
		BAD(-EBADMSG, "\x15\x40\x5c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c"),
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		uint8_t file[256] = { 0 };
		int r;

		memcpy(file, heads[i].bytes, heads[i].count);
		r = taken(file, heads[i].count + 64);
		ck_assert_msg(r == heads[i].err, "%zu: %d: %s", i, r, blm_why());
	}
}
END_TEST

START_TEST(a_parquet_file_that_is_cut_or_damaged_anywhere_is_refused_in_words_or_has_a_filter)
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
	ck_assert_uint_gt(taken_count, 100);	/* what is elsewhere in it is nothing to us */
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
	ck_assert(r < 0 && *blm_why());
	free(file);
	return r;
}

START_TEST(metadata_that_promise_more_than_there_is_are_refused_before_anything_is_taken)
{
	/* a field 4, a list of row groups; its field 1, a list of column chunks; its field 3; its field 14, the offset */
	static const char far[] = "\x49\x1c\x19\x1c\x3c\xe6\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0\0";
	static const char back[] = "\x49\x1c\x19\x1c\x3c\xe6\x01\0\0\0\0", none[] = "\x49\x1c\x19\x1c\x3c\x16\x02\0\0\0\0";
	static const char many[] = "\x49\xfc\xff\xff\xff\xff\x0f", other[] = "\x49\x15\x02\0", named[] = "\x49\x1c\x19\x1c\x3c\x39\x18\xff\xff\xff\x7f";
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

int main(void)
{
	Suite *s = begin_suite("format parquet");
	TCase *tc = tcase_create("parquet");

	tcase_set_timeout(tc, 100);
	tcase_add_test(tc, the_filters_of_duckdb_answer_as_there_go_out_as_they_came_and_are_made_here_as_there);
	tcase_add_test(tc, a_header_that_does_not_say_how_many_bits_it_has_is_damaged_and_says_where);
	tcase_add_test(tc, the_filters_of_hyparquet_of_any_number_of_blocks_answer_as_there_and_are_made_here_as_there);
	tcase_add_test(tc, the_filter_of_parquet_mr_answers_as_there_and_is_made_here_as_there);
	tcase_add_test(tc, the_filter_of_a_column_and_row_group_is_taken_out_of_a_parquet_file);
	tcase_add_test(tc, the_only_filter_of_a_file_needs_no_name_and_of_several_one_must_be_named);
	tcase_add_test(tc, a_parquet_file_that_comes_through_a_pipe_is_refused_and_its_filter_is_not);
	tcase_add_test(tc, a_folded_filter_is_the_smaller_one_of_the_same_keys);
	tcase_add_test(tc, a_filter_that_is_made_for_it_has_a_power_of_two_of_blocks_and_the_rate);
	tcase_add_test(tc, what_some_readers_do_not_take_is_refused_when_that_is_asked);
	tcase_add_test(tc, a_header_may_have_fields_that_are_not_known_and_goes_out_as_it_came);
	tcase_add_test(tc, a_header_that_says_something_else_is_refused);
	tcase_add_test(tc, a_parquet_file_that_is_cut_or_damaged_anywhere_is_refused_in_words_or_has_a_filter);
	tcase_add_test(tc, metadata_that_promise_more_than_there_is_are_refused_before_anything_is_taken);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
