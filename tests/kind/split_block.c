/*
 * split_block.c - filters of Parquet come out bit for bit, and those that were folded are those
 * that were made small
 *
 * The first filter is that of apache/parquet-testing, which parquet-mr made. If meson's option
 * `vectors` names a folder, those that DuckDB and hyparquet-writer made are read from its parquet/,
 * too.
 */
#include "handle/handle.h"
#include "vectors.h"

static struct blm_filter *make(uint64_t blocks)
{
	struct blm_params p = BLM_PARAMS(.kind = "split-block", .cells = blocks * 256,
					 .capacity = 1000, .rate = 0.01);
	struct blm_filter *f;

	OK(blm_create(&f, NULL, a_path(), &p));
	return f;
}

static const uint8_t *bits_of(const struct blm_filter *f)
{
	return current_view(f)->part[0].bytes;
}

START_TEST(a_filter_of_parquet_mr_is_built_bit_for_bit)
{
	static const char *const words[] = { "hello", "parquet", "bloom", "filter" };
	static const unsigned bits[] = {
		1044, 1065, 1098, 1127, 1161, 1215, 1244, 1275, 1303, 1340, 1344,
		1404, 1413, 1461, 1502, 1523, 1794, 1846, 1878, 1907, 1946, 1965,
		1988, 2017, 2581, 2603, 2632, 2685, 2711, 2747, 2760, 2796,
	};
	uint8_t expected[1024] = { 0 };
	struct blm_filter *f = make(32);

	for (size_t i = 0; i < ARRAY_LEN(bits); i++)
		expected[bits[i] / 8] |= (uint8_t)(1 << bits[i] % 8);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		ck_assert_int_eq(blm_add(f, words[i], strlen(words[i])), 1);
	ck_assert_mem_eq(bits_of(f), expected, sizeof(expected));
	ck_assert_int_eq(blm_contains(f, "bloomery", 8), 0);
	blm_close(f);
}
END_TEST

/* ---- Further cases, from a folder ---- */

static char *read_file(const char *name, size_t *ret_bytes)
{
	char path[700], *text;

	snprintf(path, sizeof(path), "%s/%s", VECTORS, name);
	text = file_of(path, ret_bytes);
	ck_assert_msg(text != NULL, "%s", path);
	return text;
}

/* The next line of a file, as it is or (.hex) in hexadecimal, as a key of at most 1024 bytes. */
static size_t next_key(char **at, bool hex, uint8_t key[1024])
{
	size_t width = strcspn(*at, "\n"), len = width < 1024 ? width : 1024;

	ck_assert(**at);
	if (hex)
		len = from_hex(*at, key, 1024);
	else
		memcpy(key, *at, len);
	*at += width + 1;
	return len;
}

static void add_lines(struct blm_filter *f, const char *file, uint64_t count)
{
	char *text = read_file(file, NULL), *at = text;
	uint8_t key[1024];

	for (uint64_t i = 0; i < count; i++) {
		size_t len = next_key(&at, strstr(file, ".hex") != NULL, key);

		OK(blm_add(f, key, len));
	}
	free(text);
}

static void probe_lines(const struct blm_filter *f, const char *file, size_t count,
			const char *answers, const char *name)
{
	static uint8_t bits[4096], key[1024];
	char *text = read_file(file, NULL), *at = text;

	ck_assert_uint_ge(from_hex(answers, bits, sizeof(bits)) * 8, count);
	for (size_t i = 0; i < count && *at; i++) {
		size_t len = next_key(&at, strstr(file, ".hex") != NULL, key);

		ck_assert_msg(blm_contains(f, key, len) == (bits[i / 8] >> i % 8 & 1),
			      "%s: probe %zu", name, i);
	}
	free(text);
}

START_TEST(hyparquets_filters_of_any_size_are_built_bit_for_bit)
{
	char *json = read_file("parquet/hyparquet.json", NULL), name[32], file[64], path[128];
	const char *at = json, *here;
	unsigned cases = 0;

	while ((here = next_case(&at, name))) {
		uint64_t blocks = number(here, at, "blocks");
		struct blm_filter *f = make(blocks);
		char *bitset;
		size_t bytes;

		add_lines(f, text_field(here, at, "keys", file, sizeof(file)),
			  number(here, at, "n_insert"));
		probe_lines(f, text_field(here, at, "probes", file, sizeof(file)),
			    (size_t)number(here, at, "n_insert") < 256 ? 256 : 1000,
			    field(here, at, "probe_answers_lsb_first_hex"), name);
		if (field(here, at, "bitset_file")) {
			snprintf(path, sizeof(path), "parquet/%s",
				 text_field(here, at, "bitset_file", file, sizeof(file)));
			bitset = read_file(path, &bytes);
			ck_assert_uint_eq(bytes, blocks * 32);
			ck_assert_msg(!memcmp(bits_of(f), bitset, bytes), "%s", name);
			free(bitset);
			cases++;
		}
		blm_close(f);
	}
	ck_assert_uint_ge(cases, 3);
	free(json);
}
END_TEST

enum { HEADER = 16 };	/* of Thrift: 15 for one block, none of which is here */

static struct blm_filter *the_size_of(const char *name, char **ret_bitset)
{
	char path[64];
	size_t bytes;

	snprintf(path, sizeof(path), "parquet/%s.sbbf.bin", name);
	*ret_bitset = read_file(path, &bytes);
	ck_assert_uint_eq((bytes - HEADER) % 32, 0);
	return make((bytes - HEADER) / 32);
}

static void is_that_of_duckdb(struct blm_filter *f, char *bitset, const char *name)
{
	ck_assert_msg(!memcmp(bits_of(f), bitset + HEADER,
			      current_view(f)->part[0].shape.cells / 8),
		      "%s", name);
	free(bitset);
	blm_close(f);
}

/* The five types that have plain bytes: strings, 64 and 32 bits, doubles. */
START_TEST(duckdbs_filters_are_built_bit_for_bit)
{
	struct blm_filter *f;
	char *bitset;

	f = the_size_of("d1", &bitset);
	add_lines(f, "keys/insert.txt", 1000);
	is_that_of_duckdb(f, bitset, "d1");
	f = the_size_of("d2", &bitset);
	add_lines(f, "keys/insert.txt", 200);
	is_that_of_duckdb(f, bitset, "d2");
	f = the_size_of("d3", &bitset);
	for (int64_t i = 0; i < 1000; i++)
		OK(blm_add(f, &(uint64_t){ htole64((uint64_t)(i * i * 1000003 - i * 97 - 5)) }, 8));
	is_that_of_duckdb(f, bitset, "d3");
	f = the_size_of("d4", &bitset);
	for (int32_t i = 0; i < 300; i++)
		OK(blm_add(f, &(uint32_t){ htole32((uint32_t)(i * 7919 - 1000)) }, 4));
	is_that_of_duckdb(f, bitset, "d4");
	f = the_size_of("d5", &bitset);
	for (int i = 0; i < 100; i++) {
		double x = i * 1.25 - 17.5;
		uint64_t word;

		memcpy(&word, &x, 8);
		OK(blm_add(f, &(uint64_t){ htole64(word) }, 8));
	}
	is_that_of_duckdb(f, bitset, "d5");
}
END_TEST

/* ---- Sizes ---- */

START_TEST(the_option_for_a_power_of_two_only_enlarges)
{
	for (uint64_t keys = 1; keys < 100000000; keys = keys * 7 + 1) {
		struct blm_params p = BLM_PARAMS(.kind = "split-block", .capacity = keys,
						 .rate = 0.001);
		struct blm_plan any, power;

		OK(blm_plan(&any, &p));
		p.options = "power-of-two=1";
		OK(blm_plan(&power, &p));
		ck_assert_uint_eq(power.cells & (power.cells - 1), 0);
		ck_assert(power.cells >= any.cells && power.cells < 2 * any.cells);
		ck_assert_double_le(power.predicted_rate, any.predicted_rate);
	}
	FAILS(blm_plan(&(struct blm_plan){ 0 }, &BLM_PARAMS(.kind = "split-block", .cells = 768,
							    .options = "power-of-two=1")),
	      -EINVAL);
	OK(blm_plan(&(struct blm_plan){ 0 }, &BLM_PARAMS(.kind = "split-block", .cells = 1024,
							 .options = "power-of-two=1")));
}
END_TEST

START_TEST(impossible_sizes_are_refused)
{
	static const struct blm_params none[] = {
		BLM_PARAMS(.cells = 255),
		BLM_PARAMS(.cells = 257),
		BLM_PARAMS(.cells = 512, .probes = 7),
		BLM_PARAMS(.cells = UINT64_C(1) << 39),
		BLM_PARAMS(.cells = 512, .options = "power=1"),
		BLM_PARAMS(.cells = 512, .options = "power-of-two=2"),
	};

	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		struct blm_params p = none[i];

		p.kind = "split-block";
		FAILS(blm_plan(&(struct blm_plan){ 0 }, &p), -EINVAL);
	}
	FAILS(blm_plan(&(struct blm_plan){ 0 },
		       &BLM_PARAMS(.kind = "split-block", .capacity = BLM_CAPACITY_MAX)),
	      -EFBIG);
	FAILS(blm_plan(&(struct blm_plan){ 0 },
		       &BLM_PARAMS(.kind = "split-block", .hash = "mm3_64", .cells = 512)),
	      -EOPNOTSUPP);
	OK(blm_plan(&(struct blm_plan){ 0 },
		    &BLM_PARAMS(.kind = "split-block", .cells = (UINT64_C(1) << 39) - 256)));
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("kind/split_block");
	TCase *tc = tcase_create("split-block");

	tcase_add_test(tc, a_filter_of_parquet_mr_is_built_bit_for_bit);
	tcase_add_test(tc,
		       the_option_for_a_power_of_two_only_enlarges);
	tcase_add_test(tc, impossible_sizes_are_refused);
	if (*VECTORS) {
		tcase_add_test(
			tc, hyparquets_filters_of_any_size_are_built_bit_for_bit);
		tcase_add_test(tc, duckdbs_filters_are_built_bit_for_bit);
	}
	suite_add_tcase(s, tc);
	return run_suite(s);
}
