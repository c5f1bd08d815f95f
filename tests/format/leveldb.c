/*
 * leveldb.c - filters out of the filter block of a LevelDB table, by themselves and in the table:
 * laid out as its documentation has it, of filters that it made
 */
#include "base/base.h"
#include "format/leveldb.h"
#include "reads.h"
#include "scarce.h"
#include "vectors.h"

#include <errno.h>

enum { FILTERS = 6, NUMBERED = 9, FILE_MOST = 1 << 17, DATA_BYTES = 20000 };

/* The number that each of the filters of the list has; the others are empty. */
static const unsigned place[FILTERS] = { 0, 1, 3, 4, 7, 8 };

static struct { uint8_t bytes[4096]; size_t count; } filter[FILTERS];
static unsigned filters;
static uint8_t file[FILE_MOST];
static size_t bytes, block_at, block_bytes, meta_at, meta_bytes;

static void put(const void *from, size_t count)
{
	ck_assert_uint_le(bytes + count, FILE_MOST);
	memcpy(file + bytes, from, count);
	bytes += count;
}

static void put_number(uint32_t x)
{
	x = htole32(x);
	put(&x, 4);
}

static void put_varint(uint64_t x)
{
	for (; x > 0x7f; x >>= 7)
		put(&(uint8_t){ (uint8_t)(x | 0x80) }, 1);
	put(&(uint8_t){ (uint8_t)x }, 1);
}

/* How a block is packed, and its checksum: CRC-32C by its definition, then as LevelDB masks it. */
static void seal(size_t from, size_t to, uint8_t packed)
{
	uint32_t crc = UINT32_MAX;

	file[to] = packed;
	for (size_t i = from; i <= to; i++)
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc ^ file[i] >> bit) & 1 ? 0x82f63b78 : 0);
	crc = ~crc;
	crc = htole32((crc >> 15 | crc << 17) + 0xa282ead8);
	memcpy(file + to + 1, &crc, 4);
}

static void put_trailer(size_t from)
{
	put("\0\0\0\0", 5);
	seal(from, bytes - 5, 0);
}

static void load(void)
{
	char *json = file_of(DATA "/leveldb/leveldb.json", NULL);
	const char *at = strstr(json, "\"cases\"");

	for (filters = 0; filters < FILTERS && (at = strstr(at, "\"filter_hex\"")); filters++) {
		at += strcspn(at, ":");
		at += strcspn(at, "\"") + 1;
		filter[filters].count = from_hex(at, filter[filters].bytes,
						 sizeof(filter[filters].bytes));
		ck_assert_uint_gt(filter[filters].count, 2);
		ck_assert_uint_lt(filter[filters].count, sizeof(filter[filters].bytes));
	}
	ck_assert_uint_ge(filters, 4);
	free(json);
}

static unsigned filter_of(unsigned number)
{
	for (unsigned i = 0; i < filters; i++)
		if (place[i] == number)
			return i;
	return FILTERS;
}

/* This many numbers; those from `first` to `last` have their filters. */
static void put_block(unsigned first, unsigned last)
{
	uint32_t begins[NUMBERED];

	block_at = bytes;
	for (unsigned i = 0; i < NUMBERED; i++) {
		unsigned which = filter_of(i);

		begins[i] = (uint32_t)(bytes - block_at);
		if (which < FILTERS && i >= first && i <= last)
			put(filter[which].bytes, filter[which].count);
	}
	begins[0] = 0;
	uint32_t numbers = (uint32_t)(bytes - block_at);

	for (unsigned i = 0; i < NUMBERED; i++)
		put_number(begins[i]);
	put_number(numbers);
	put("\x0b", 1);
	block_bytes = bytes - block_at;
}

/*
 * The metaindex was the last that was put: its trailer, an index without entries, and the footer.
 */
static void end_table(void)
{
	static const uint8_t magic[8] = { 0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb };
	size_t index, footer;

	meta_bytes = bytes - meta_at;
	put_trailer(meta_at);
	index = bytes;
	put_number(0), put_number(1);
	put_trailer(index);
	footer = bytes;
	put_varint(meta_at), put_varint(meta_bytes), put_varint(index), put_varint(8);
	while (bytes < footer + 40)
		put("", 1);
	put(magic, 8);
}

static void put_table(unsigned first, unsigned last, const char *name)
{
	static const uint8_t data[DATA_BYTES];

	bytes = 0;
	put(data, sizeof(data));
	put_block(first, last);
	put_trailer(block_at);
	meta_at = bytes;
	/* another entry before it, of which the next shares the beginning */
	put_varint(0), put_varint(7), put_varint(2);
	put("filter.", 7), put("\1\1", 2);
	put_varint(7), put_varint(strlen(name)), put_varint(block_at > 16383 ? 5 : 4);
	put(name, strlen(name));
	put_varint(block_at), put_varint(block_bytes);
	while (bytes < meta_at + 3 + 9 + 3 + strlen(name) + (block_at > 16383 ? 5 : 4))
		put("", 1);
	put_number(0), put_number(1);
	end_table();
}

static const char policy[] = "leveldb.BuiltinBloomFilter2";

static void is_filter(const uint8_t *from, size_t count, const char *record, unsigned which)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "leveldb", .record = record);
	struct blm_filter *f;
	size_t out_bytes;
	void *out;

	OK(blm_import_bytes(&f, NULL, NULL, &how, from, count));
	OK(blm_export_bytes(f, NULL, &out, &out_bytes));
	ck_assert_uint_eq(out_bytes, filter[which].count);
	ck_assert_mem_eq(out, filter[which].bytes, out_bytes);
	blm_free(out);
	blm_close(f);
}

static void refuses(const uint8_t *from, size_t count, const char *record, int error,
		    const char *words)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "leveldb", .record = record);
	struct blm_filter *f;

	FAILS(blm_import_bytes(&f, NULL, NULL, &how, from, count), error);
	ck_assert_msg(strstr(blm_error_message(), words) != NULL, "%s", blm_error_message());
}

START_TEST(each_filter_of_a_table_has_its_data_blocks)
{
	load();
	put_table(0, NUMBERED, policy);
	for (unsigned i = 0; i < NUMBERED; i++) {
		unsigned which = filter_of(i),
			 offsets[] = { 2048 * i, 2048 * i + 1, 2048 * i + 2047 };
		char record[32];

		snprintf(record, sizeof(record), "%u", i);
		if (which >= filters) {
			refuses(file, bytes, record, -ENOENT, "is empty");
			continue;
		}
		is_filter(file, bytes, record, which);
		is_filter(file + block_at, block_bytes, record, which);
		for (int o = 0; o < 3; o++) {
			snprintf(record, sizeof(record), "@%u", offsets[o]);
			is_filter(file, bytes, record, which);
			is_filter(file + block_at, block_bytes, record, which);
		}
	}
	refuses(file, bytes, "9", -ENOENT, "has no filter 9; it has 9");
	refuses(file, bytes, "@18432", -ENOENT, "has no filter 9");
	refuses(file, bytes, "999999999999999999", -ENOENT, "has no filter");
	for (size_t i = 0; i < 6; i++)
		refuses(file, bytes,
			((const char *[]){ "", "@", "-1", "1x", "@@1", "1000000000000000000" })[i],
			-EINVAL, "no filter of a LevelDB table");
}
END_TEST

START_TEST(a_table_is_asked_where_it_lies)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "leveldb", .record = "1");
	const char *path = a_path();
	struct blm_filter *f, *alone;
	struct blm_info info = BLM_INFO;
	FILE *to = fopen(path, "we");

	load();
	put_table(0, NUMBERED, policy);
	ck_assert_uint_eq(fwrite(file, 1, bytes, to), bytes);
	fclose(to);
	OK(blm_open_foreign(&f, path, &how));
	OK(blm_info(f, &info));
	ck_assert_str_eq(info.format, "leveldb");
	OK(blm_import_bytes(&alone, NULL, NULL, &BLM_EXCHANGE(.format = "leveldb"), filter[1].bytes,
			    filter[1].count));
	OK(blm_same_template(f, alone));
	for (uint32_t i = 0; i < 1000; i++)
		ck_assert(blm_contains(f, &i, 4) == blm_contains(alone, &i, 4));
	blm_close(f), blm_close(alone);
	unlink(path);
}
END_TEST

START_TEST(a_single_filter_needs_no_name)
{
	load();
	put_table(0, NUMBERED, policy);
	refuses(file, bytes, NULL, -ENOTUNIQ, "filters, 0 to 8, each for 2048 bytes");
	put_table(3, 3, policy);
	is_filter(file, bytes, NULL, filter_of(3));
	put_table(2, 2, policy);
	refuses(file, bytes, NULL, -ENOENT, "without keys");
	put_table(0, NUMBERED, "leveldb.BuiltinBloomFilter3");
	refuses(file, bytes, NULL, -ENOENT, "own policy");
	put_table(0, NUMBERED, "leveldb.BuiltinBloomFilter");
	refuses(file, bytes, NULL, -ENOENT, "own policy");
}
END_TEST

static int64_t read_some(void *context, void *buffer, size_t count)
{
	size_t *at = context, n = bytes - *at < count ? bytes - *at : count;

	memcpy(buffer, file + *at, n);
	*at += n;
	return (int64_t)n;
}

START_TEST(pipes_and_base64_carry_only_a_filter_by_itself)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "leveldb", .record = "1"),
			    text = BLM_EXCHANGE(.format = "leveldb", .record = "1", .base64 = true);
	struct blm_filter *f;
	size_t at = 0;

	load();
	put_table(0, NUMBERED, policy);
	FAILS(blm_import(&f, NULL, NULL, &how, read_some, &at), -ESPIPE);
	FAILS(blm_import_bytes(&f, NULL, NULL, &text, "AAAA", 4), -EINVAL);
	memcpy(file, filter[0].bytes, bytes = filter[0].count);
	how.record = NULL;
	at = 0;
	OK(blm_import(&f, NULL, NULL, &how, read_some, &at));
	blm_close(f);
}
END_TEST

static void seal_blocks(void)
{
	seal(block_at, block_at + block_bytes, 0);
	seal(meta_at, meta_at + meta_bytes, 0);
}

START_TEST(a_table_that_does_not_add_up_is_refused)
{
	size_t tail;

	load();
	put_table(0, NUMBERED, policy);
	tail = block_at + block_bytes - 5;
	file[tail + 4] = 31;
	seal_blocks();
	refuses(file, bytes, "1", -EBADMSG, "its last bytes contradict its size");
	file[tail + 4] = 11;
	file[tail] ^= 1;
	seal_blocks();
	refuses(file, bytes, "1", -EBADMSG, "its last bytes contradict its size");
	file[tail] ^= 1;
	file[tail + 3] = 0xff;
	seal_blocks();
	refuses(file, bytes, "1", -EBADMSG, "its last bytes contradict its size");
	file[tail + 3] = 0;
	file[tail - 4 * NUMBERED + 4 + 3] = 0xff;
	seal_blocks();
	refuses(file, bytes, "1", -EBADMSG, "filter 1 is from byte");
	refuses(file, bytes, NULL, -EBADMSG, "filter 0 is from byte");
	put_table(0, NUMBERED, policy);
	file[bytes - 48 + 3] = 0xff, file[bytes - 48 + 4] = 0xff;
	refuses(file, bytes, "1", -EBADMSG, "refers to blocks outside the file");
	memset(file + bytes - 48, 0xff, 40);
	refuses(file, bytes, "1", -EBADMSG, "refers to blocks outside the file");
	put_table(0, NUMBERED, policy);
	file[meta_at + 1] = 0xff;
	seal_blocks();
	refuses(file, bytes, "1", -EBADMSG, "metaindex is damaged");
	refuses(file, 4, "1", -ENODATA, "at least 5");
}
END_TEST

/* A filter with a bit less says no to keys that are there. */
START_TEST(a_block_with_a_wrong_checksum_is_refused)
{
	load();
	put_table(0, NUMBERED, policy);
	for (size_t at = block_at; at < meta_at + meta_bytes + 5; at++) {
		const char *words = at < meta_at ? "filter block is damaged"
						 : "metaindex is damaged";

		file[at] ^= 0x10;
		refuses(file, bytes, "1", -EBADMSG, words);
		file[at] ^= 0x10;
	}
	is_filter(file, bytes, "1", 1);
}
END_TEST

START_TEST(a_block_that_is_packed_is_refused)
{
	load();
	put_table(0, NUMBERED, policy);
	seal(block_at, block_at + block_bytes, 1);
	refuses(file, bytes, "1", -EPROTONOSUPPORT, "filter block is compressed");
	seal(meta_at, meta_at + meta_bytes, 1);
	refuses(file, bytes, "1", -EPROTONOSUPPORT, "metaindex is compressed");
}
END_TEST

/*
 * Whatever byte is another, also where the checksums are those of what it is then: it is refused,
 * or there is another filter, or it is that one.
 */
START_TEST(no_damage_leads_out_of_the_file)
{
	load();
	put_table(0, NUMBERED, policy);
	for (size_t at = block_at; at < bytes; at++)
		for (int bit = 0; bit < 8; bit++) {
			struct blm_filter *f = NULL;

			file[at] ^= (uint8_t)(1 << bit);
			seal_blocks();
			for (int r = 0; r < 2; r++) {
				if (blm_import_bytes(&f, NULL, NULL,
						     &BLM_EXCHANGE(.format = "leveldb",
								   .record = r ? "1" : NULL),
						     file, bytes)
				    < 0)
					ck_assert(*blm_error_message());
				else
					f = blm_close(f);
			}
			file[at] ^= (uint8_t)(1 << bit);
			at += at < bytes - 250 ? 13 : 0;	/* of the filters themselves some */
		}
	for (size_t cut = 0; cut < bytes; cut += 97)
		ck_assert_int_lt(blm_import_bytes(&(struct blm_filter *){ NULL }, NULL, NULL,
						  &BLM_EXCHANGE(.format = "leveldb", .record = "1"),
						  file, cut),
				 0);
}
END_TEST

START_TEST(an_unreadable_or_truncated_table_is_reported_as_such)
{
	load();
	put_table(0, NUMBERED, policy);
	ck_assert_int_gt(each_read_may_fail(blm_leveldb_locate, file, bytes,
					    &BLM_EXCHANGE(.record = "1")),
			 7);
	put_table(3, 3, policy);
	ck_assert_int_gt(each_read_may_fail(blm_leveldb_locate, file, bytes,
					    &BLM_EXCHANGE(.format = "leveldb")),
			 7);
	ck_assert_int_eq(each_read_may_fail(blm_leveldb_locate, file + block_at, block_bytes,
					    &BLM_EXCHANGE(.record = "3")),
			 3);
}
END_TEST

START_TEST(a_lack_of_memory_is_reported)
{
	struct lookup l = { .locate = blm_leveldb_locate };

	load();
	put_table(3, 3, policy);
	l.file = blm_bytes_of_memory(file, bytes);
	ck_assert_int_eq(each_piece_may_lack(look_up, &l), 1);
}
END_TEST

static const struct {
	const char *bytes;
	size_t count;
	int err;
	const char *words;
} metaindexes[] = {
#define META(text) text, sizeof(text) - 1
	/* no number of restarts */
	{ META(""), -EBADMSG, "metaindex is damaged" },
	{ META("\0\0\0"), -EBADMSG, "metaindex is damaged" },
	{ META("\0\0\0\0"), -ENOENT, "without Bloom filters of LevelDB's own policy" },
	{ META("\xff\0\0\0\0"), -EBADMSG, "metaindex is damaged" },
	{ META("\0\xff\0\0\0\0"), -EBADMSG, "metaindex is damaged" },
	{ META("\0\0\xff\0\0\0\0"), -EBADMSG, "metaindex is damaged" },
	{ META("\0\2\0x\0\0\0\0"), -EBADMSG, "metaindex is damaged" },
	/* a name that shares more with the one before than there is */
	{ META("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1\0x\0\0\0\0"), -ENOENT, "own policy" },
};

START_TEST(a_truncated_or_wrong_metaindex_is_refused)
{
	bytes = 0;
	meta_at = 0;
	put(metaindexes[_i].bytes, metaindexes[_i].count);
	end_table();
	refuses(file, bytes, "1", metaindexes[_i].err, metaindexes[_i].words);
}
END_TEST

START_TEST(a_metaindex_that_is_longer_than_any_is_not_read)
{
	static const uint8_t zeros[1 << 16];

	for (size_t more = 0; more < 2; more++) {
		bytes = 0;
		meta_at = 0;
		put(zeros, sizeof(zeros));
		put(zeros, more);
		end_table();
		if (more)
			refuses(file, bytes, "1", -EFBIG,
				"whose metaindex has 65537 bytes, which is too many");
		else
			refuses(file, bytes, "1", -ENOENT,
				"own policy"); /* 21843 names without letters */
	}
}
END_TEST

/*
 * More than are read at a time; all of them begin with the first one's bytes up to `full`, which
 * has them.
 */
static void put_many(unsigned count, unsigned full)
{
	bytes = block_at = 0;
	put(filter[0].bytes, filter[0].count);
	for (unsigned i = 0; i < count; i++)
		put_number(i <= full ? 0 : (uint32_t)filter[0].count);
	put_number((uint32_t)filter[0].count);
	put("\x0b", 1);
	block_bytes = bytes;
}

static void end_table_of_block(void)
{
	static const char name[] = "filter.leveldb.BuiltinBloomFilter2";

	put_trailer(block_at);
	meta_at = bytes;
	put_varint(0), put_varint(sizeof(name) - 1), put_varint(3);
	put(name, sizeof(name) - 1);
	put_varint(block_at), put_varint(block_bytes);
	put_number(0);
	end_table();
}

START_TEST(the_only_filled_filter_among_thousands_is_found)
{
	static const unsigned at[] = { 0, 1022, 1023, 1024, 1025, 2047, 2048, 2999 };

	load();
	for (size_t i = 0; i < ARRAY_LEN(at); i++) {
		char record[32];

		put_many(3000, at[i]);
		snprintf(record, sizeof(record), "%u", at[i]);
		is_filter(file, bytes, record, 0);
		end_table_of_block();
		is_filter(file, bytes, NULL, 0);
		is_filter(file, bytes, record, 0);
		snprintf(record, sizeof(record), "%u", at[i] ? at[i] - 1 : 1);
		refuses(file, bytes, record, -ENOENT, "is empty");
	}
	put_many(3000, 1023);
	file[filter[0].count + 4 * 2500] += 1;		/* it begins behind the end of all */
	end_table_of_block();
	refuses(file, bytes, NULL, -EBADMSG, "filter 2499 is from byte");
	put_many(3000, 2999);
	/* one byte is in filter 2998, the rest in 2999 */
	file[filter[0].count + 4 * 2999] += 1;
	end_table_of_block();
	refuses(file, bytes, NULL, -ENOTUNIQ, "has 2 filters, 0 to 2999");
}
END_TEST

/* It is larger than what is read at a time for the checksum. */
START_TEST(a_tables_large_filter_block_is_checked_to_its_end)
{
	load();
	put_many(3000, 2000);
	end_table_of_block();
	is_filter(file, bytes, NULL, 0);
	for (size_t at = 0; at < block_bytes; at += 1021) {
		file[at] ^= 1;
		refuses(file, bytes, NULL, -EBADMSG, "filter block is damaged");
		file[at] ^= 1;
	}
	ck_assert_int_gt(each_read_may_fail(blm_leveldb_locate, file, bytes,
					    &BLM_EXCHANGE(.format = "leveldb")),
			 12);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format leveldb");
	TCase *tc = tcase_create("leveldb");

	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_test(tc,
		       each_filter_of_a_table_has_its_data_blocks);
	tcase_add_test(tc, a_table_is_asked_where_it_lies);
	tcase_add_test(tc, a_single_filter_needs_no_name);
	tcase_add_test(tc, pipes_and_base64_carry_only_a_filter_by_itself);
	tcase_add_test(tc, a_table_that_does_not_add_up_is_refused);
	tcase_add_test(tc, a_block_with_a_wrong_checksum_is_refused);
	tcase_add_test(tc, a_block_that_is_packed_is_refused);
	tcase_add_test(tc, no_damage_leads_out_of_the_file);
	tcase_add_test(tc, an_unreadable_or_truncated_table_is_reported_as_such);
	tcase_add_test(tc, a_lack_of_memory_is_reported);
	tcase_add_loop_test(tc, a_truncated_or_wrong_metaindex_is_refused, 0,
			    ARRAY_LEN(metaindexes));
	tcase_add_test(tc, a_metaindex_that_is_longer_than_any_is_not_read);
	tcase_add_test(tc, the_only_filled_filter_among_thousands_is_found);
	tcase_add_test(tc, a_tables_large_filter_block_is_checked_to_its_end);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
