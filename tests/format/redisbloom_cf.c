/*
 * redisbloom_cf.c - RedisBloom's cuckoo filters: its own answers and counts, chunks that go out as
 * they came, dumps; and whatever else comes
 */
#include "format/redisbloom.h"
#include "kind/redis_cuckoo.h"
#include "redis.h"

#include <errno.h>
#include <sys/mman.h>

enum { HEAD = 38 };

static char *json;
static const struct blm_exchange plain = BLM_EXCHANGE(.format = "redisbloom-cf");
static const char *const names[] = { "c1", "c2", "c3", "c4" };

static void load(struct one *c, const char *name)
{
	load_case(c, json, name, "cf.bin");
	ck_assert_uint_eq(c->header, HEAD);
}

static void answers_are_its_own(const struct blm_filter *f, const struct one *c)
{
	answers_are(f, &asked, field(c->json, c->end, "probe_answers_lsb_first_hex"), c->name);
}

static void counts_are(const struct blm_filter *f, const struct one *c)
{
	uint64_t counts[16], got[16] = { 0 };

	ck_assert_uint_eq(numbers_of(c->json, c->end, "count_first16", counts, 16), 16);
	ck_assert_int_ge(blm_get_many(f, in.key, 16, got, NULL), 0);
	for (int i = 0; i < 16; i++)
		ck_assert_msg(got[i] == counts[i], "%s: key %d is there %llu times, not %llu",
			      c->name, i, (unsigned long long)got[i],
			      (unsigned long long)counts[i]);
}

static void goes_out_as(const struct blm_filter *f, const void *file, size_t bytes)
{
	goes_out_to(f, plain.format, file, bytes);
}

static struct blm_filter *take(const struct one *c)
{
	struct blm_filter *f;

	OK(blm_import_bytes(&f, NULL, NULL, NULL, c->file, c->bytes));	/* its beginning tells */
	return f;
}

static double fact(const struct blm_filter *f, const char *name)
{
	struct blm_fact ret;
	size_t i = 0;

	while (blm_fact(f, i++, &ret) == 0)
		if (!strcmp(ret.name, name))
			return ret.value;
	ck_abort_msg("no fact %s", name);
}

START_TEST(redisblooms_cuckoo_filters_answer_count_and_export_unchanged)
{
	struct blm_filter *f, *copy;
	struct blm_info info = BLM_INFO;
	struct one c;

	load(&c, names[_i]);
	f = take(&c);
	OK(blm_info(f, &info));
	ck_assert_str_eq(info.origin, "redisbloom-cf");
	ck_assert_str_eq(info.kind, "redis-cuckoo");
	ck_assert_str_eq(info.hash, "murmur64a-64");
	answers_are(f, &in, field(c.json, c.end, "inserted_answers_lsb_first_hex"), c.name);
	answers_are_its_own(f, &c);
	counts_are(f, &c);
	goes_out_as(f, c.file, c.bytes);
	OK(blm_copy(&copy, NULL, a_path(), f, 0));
	OK(blm_same_template(f, copy));
	answers_are_its_own(copy, &c);
	goes_out_as(copy, c.file, c.bytes);
	blm_close(copy);
	blm_close(f);
}
END_TEST

/* "Number of ..." in what CF.INFO printed. */
static uint64_t told(const struct one *c, const char *what)
{
	const char *at = strstr(field(c->json, c->end, "info"), what);

	ck_assert_ptr_nonnull(at);
	return strtoull(at + strlen(what) + strspn(at + strlen(what), "\", \n"), NULL, 10);
}

START_TEST(the_facts_equal_the_servers)
{
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	char options[200];
	struct one c;

	load(&c, names[_i]);
	f = take(&c);
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.keys, told(&c, "items inserted"));
	ck_assert_double_eq(fact(f, "deletes"), (double)told(&c, "items deleted"));
	ck_assert_double_eq(fact(f, "tables"), (double)told(&c, "Number of filters"));
	ck_assert_double_eq(fact(f, "buckets"), (double)told(&c, "Number of buckets"));
	ck_assert_uint_eq(info.probes, 2 * told(&c, "Number of filters"));
	snprintf(options, sizeof(options), "bucket-size=%llu,expansion=%llu,iterations=%llu",
		 (unsigned long long)told(&c, "Bucket size"),
		 (unsigned long long)told(&c, "Expansion rate"),
		 (unsigned long long)told(&c, "Max iterations"));
	ck_assert_str_eq(info.options, options);
	ck_assert_double_eq_tol(fact(f, "load") * (double)info.cells, (double)info.keys, 1e-6);
	blm_close(f);
}
END_TEST

/* Nothing moved in it there, as the load tells. */
START_TEST(a_filter_of_the_same_keys_equals_the_servers)
{
	struct blm_filter *f;
	struct one c;

	load(&c, "c1");
	OK(blm_create(&f, NULL, a_path(), &BLM_PARAMS(.format = "redisbloom-cf", .cells = 1024)));
	ck_assert_int_eq(blm_add_many(f, in.key, in.count, NULL), 200);
	goes_out_as(f, c.file, c.bytes);
	blm_close(f);
}
END_TEST

/*
 * 900 keys, 30 of them twice, 10 of those once again out; here other fingerprints moved than there,
 * each to its own other bucket.
 */
START_TEST(a_nearly_full_filter_after_removes_matches_the_server)
{
	struct blm_filter *f;
	struct one c;
	uint8_t *out;
	size_t bytes;

	load(&c, "c2");
	OK(blm_create(&f, NULL, a_path(),
		      &BLM_PARAMS(.format = "redisbloom-cf", .cells = 1024, .capacity = 920,
				  .options = "bucket-size=4,expansion=2,iterations=50")));
	ck_assert_int_eq(blm_add_many(f, in.key, 900, NULL), 900);
	ck_assert_int_eq(blm_add_many(f, in.key, 30, NULL), 30);
	ck_assert_int_eq(blm_remove_many(f, in.key, 10, NULL), 10);
	OK(blm_export_bytes(f, &plain, (void **)&out, &bytes));
	ck_assert_uint_eq(bytes, c.bytes);
	ck_assert_mem_eq(out, c.file, HEAD);
	ck_assert_int_eq(blm_contains_many(f, in.key, in.count, NULL), 900);
	answers_are_its_own(f, &c);
	counts_are(f, &c);
	blm_free(out);
	blm_close(f);
}
END_TEST

START_TEST(a_chain_adds_where_space_is_and_removes_newest_copies)
{
	struct blm_filter *f;
	struct blm_info before = BLM_INFO, after = BLM_INFO;
	uint64_t value;
	struct one c;

	load(&c, "c4");
	f = take(&c);
	OK(blm_info(f, &before));
	for (size_t i = 0; i < in.count; i++)
		ck_assert_int_eq(blm_claim(f, in.key[i].bytes, in.key[i].len), 0);
	goes_out_as(f, c.file, c.bytes);
	ck_assert_int_eq(blm_get(f, in.key[2].bytes, in.key[2].len, &value), 1);
	ck_assert_uint_eq(value, 2);	/* one is another key's */
	ck_assert_int_eq(blm_add(f, in.key[2].bytes, in.key[2].len), 1);
	OK(blm_get(f, in.key[2].bytes, in.key[2].len, &value));
	ck_assert_uint_eq(value, 3);
	ck_assert_int_eq(blm_remove(f, in.key[2].bytes, in.key[2].len), 1);
	OK(blm_get(f, in.key[2].bytes, in.key[2].len, &value));
	ck_assert_uint_eq(value, 2);
	ck_assert_double_eq(fact(f, "deletes"), 1);
	for (size_t i = 0; i < in.count; i++)
		ck_assert(blm_contains(f, in.key[i].bytes, in.key[i].len));
	OK(blm_info(f, &after));
	ck_assert_uint_eq(after.keys, before.keys);
	blm_close(f);
}
END_TEST

START_TEST(a_full_chain_refuses_a_key_and_stays_unchanged)
{
	struct blm_filter *f;
	struct one c;
	uint8_t *before, *after;
	size_t bytes;
	int r;

	load(&c, "c3");
	f = take(&c);
	do {
		static uint64_t key;

		OK(blm_export_bytes(f, &plain, (void **)&before, &bytes));
		key++;
		r = blm_add(f, &key, 8);
		OK(blm_export_bytes(f, &plain, (void **)&after, &bytes));
		if (r < 0)
			ck_assert_mem_eq(before, after, bytes);
		blm_free(before), blm_free(after);
	} while (r == 1);
	ck_assert_int_eq(r, -EXFULL);
	for (size_t i = 0; i < in.count; i++)
		ck_assert(blm_contains(f, in.key[i].bytes, in.key[i].len));
	blm_close(f);
}
END_TEST

static int add_all(struct blm_filter *new, void *context)
{
	(void)context;
	return (int)blm_add_many(new, in.key, in.count, NULL);
}

START_TEST(a_filter_made_again_keeps_its_buckets_and_server_numbers)
{
	const char *path = a_path();
	struct blm_info before = BLM_INFO, after = BLM_INFO;
	struct blm_filter *f;
	struct one c;

	load(&c, "c2");
	OK(blm_import_bytes(&f, NULL, path, NULL, c.file, c.bytes));
	OK(blm_info(f, &before));
	blm_close(f);
	OK(blm_rebuild(NULL, path, &BLM_PARAMS(.kind = NULL), add_all, NULL));
	OK(blm_open(&f, NULL, path, 0));
	OK(blm_info(f, &after));
	ck_assert_str_eq(after.options, before.options);
	ck_assert_str_eq(after.hash, before.hash);
	ck_assert_int_eq(blm_contains_many(f, in.key, in.count, NULL), (int)in.count);
	blm_close(f);
}
END_TEST

START_TEST(a_filter_of_another_hash_or_kind_is_not_exported)
{
	struct blm_filter *f;
	void *out;
	size_t bytes;

	OK(blm_create(&f, NULL, a_path(),
		      &BLM_PARAMS(.kind = "redis-cuckoo", .hash = "xxh3", .capacity = 10)));
	FAILS(blm_export_bytes(f, &plain, &out, &bytes), -EOPNOTSUPP);
	blm_close(f);
	OK(blm_create(&f, NULL, a_path(), &BLM_PARAMS(.kind = "cuckoo", .capacity = 10)));
	FAILS(blm_export_bytes(f, &plain, &out, &bytes), -EOPNOTSUPP);
	blm_close(f);
	OK(blm_create(&f, NULL, a_path(), &BLM_PARAMS(.kind = "redis-cuckoo", .capacity = 10)));
	OK(blm_export_bytes(f, &plain, &out, &bytes));	/* by itself it has the right one */
	blm_free(out);
	blm_close(f);
}
END_TEST

START_TEST(the_loading_commands_have_its_chunks_and_their_numbers)
{
	struct blm_filter *f;
	struct one c;

	load(&c, names[_i]);
	OK(blm_import_bytes(&f, NULL, NULL, NULL, c.file, c.bytes));
	goes_out_as_commands(f, plain.format, "CF.LOADCHUNK", &c);
	blm_close(f);
}
END_TEST

/* ---- Dumps, made here as redis_dump.c describes them ---- */

static uint64_t get(const struct one *c, size_t at, unsigned bytes)
{
	uint64_t x = 0;

	memcpy(&x, c->file + at, bytes);
	return le64toh(x);
}

static size_t make_dump(uint8_t *to, const struct one *c)
{
	static const uint8_t begin[] = { 7, 0x81, 0x30, 0x16, 0xe5, 0xa2, 0x89, 0x82, 0x14, 4 };
	uint64_t tables = get(c, 24, 8), buckets = get(c, 8, 8), slots = get(c, 32, 2),
		 expansion = get(c, 36, 2);
	const uint64_t head[] = { tables, buckets,	 get(c, 0, 8), get(c, 16, 8),
				  slots,  get(c, 34, 2), expansion };
	size_t at = sizeof(begin), from = HEAD;

	memcpy(to, begin, at);
	for (size_t i = 0; i < ARRAY_LEN(head); i++)
		at += put_number(to + at, head[i]);
	for (uint64_t i = 0; i < tables; i++, buckets *= expansion) {
		at += put_number(to + at, buckets);
		to[at++] = 5;
		at += put_length(to + at, buckets * slots);
		memcpy(to + at, c->file + from, buckets * slots);
		at += buckets * slots;
		from += buckets * slots;
	}
	memcpy(to + at, "\0\x0a\0", 3);
	seal(to, at += 11);
	return at;
}

static int taken(const void *bytes, size_t count)
{
	struct blm_filter *f;
	int r = blm_import_bytes(&f, NULL, NULL, &plain, bytes, count);

	if (r == 0)
		blm_close(f);
	else
		ck_assert(*blm_error_message() != '\0');
	return r;
}

START_TEST(a_dump_holds_the_filter_of_its_chunks)
{
	uint8_t dump[FILE_MOST];
	struct blm_filter *f;
	struct one c;
	size_t bytes;

	load(&c, names[_i]);
	bytes = make_dump(dump, &c);
	OK(blm_import_bytes(&f, NULL, NULL, NULL, dump, bytes));
	answers_are_its_own(f, &c);
	goes_out_as(f, c.file, c.bytes);
	blm_close(f);
	for (size_t cut = 0; cut < bytes; cut += 1 + cut / 30)
		ck_assert_int_lt(taken(dump, cut), 0);
	/* with the right checksum */
	for (size_t cut = 20; cut < bytes; cut += 1 + cut / 30) {
		uint8_t other[FILE_MOST];

		memcpy(other, dump, cut);
		seal(other, cut);
		ck_assert_int_lt(taken(other, cut), 0);
	}
}
END_TEST

START_TEST(random_headers_and_dumps_are_accepted_or_refused_with_words)
{
	uint8_t dump[FILE_MOST];
	size_t bytes, count = 0;
	struct one c;

	load(&c, "c3");
	for (size_t i = 0; i < HEAD; i++)
		for (int bit = 0; bit < 8; bit++) {
			c.file[i] ^= (uint8_t)(1 << bit);
			count += taken(c.file, c.bytes) == 0;
			c.file[i] ^= (uint8_t)(1 << bit);
		}
	ck_assert_uint_gt(count, 16);		/* other counts */
	bytes = make_dump(dump, &c);
	for (size_t i = 0; i < 100; i++)
		for (int bit = 0; bit < 8; bit++) {
			dump[i] ^= (uint8_t)(1 << bit);
			seal(dump, bytes);
			count += taken(dump, bytes) == 0;
			dump[i] ^= (uint8_t)(1 << bit);
		}
	ck_assert_uint_gt(count, 300);		/* cells are cells */
}
END_TEST

/*
 * Bytes that repeat what was never there; but that is found out when there is room for what they
 * say.
 */
START_TEST(packed_data_unpacks_to_no_more_than_the_limit)
{
	static const uint8_t begin[] = { 7, 0x81, 0x30, 0x16, 0xe5, 0xa2, 0x89, 0x82, 0x14, 4 };
	const uint64_t cells = 1 << 21, packed = cells / 80,
		       head[] = { 1, cells / 2, 0, 0, 2, 20, 1, cells / 2 };
	struct blm_exchange how = BLM_EXCHANGE(.format = "redisbloom-cf", .max_bytes = cells);
	uint8_t *dump = malloc(packed + 200);
	struct blm_filter *f;
	size_t at = sizeof(begin);

	memcpy(dump, begin, at);
	for (size_t i = 0; i < ARRAY_LEN(head); i++)
		at += put_number(dump + at, head[i]);
	dump[at++] = 5;
	dump[at++] = 0xc3;
	at += put_length(dump + at, packed);
	at += put_length(dump + at, cells);
	memset(dump + at, 0xff, packed);
	at += packed;
	memcpy(dump + at, "\0\x0a\0", 3);
	seal(dump, at += 11);
	/* the header comes on top */
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, dump, at), -EFBIG);
	how.max_bytes += HEAD;
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, dump, at), -EBADMSG);
	free(dump);
}
END_TEST

/* The numbers of a header, and the rest. */
static void refuses_dump(const uint64_t head[7], const uint8_t *rest, size_t bytes,
			 const char *words)
{
	static const uint8_t begin[] = { 7, 0x81, 0x30, 0x16, 0xe5, 0xa2, 0x89, 0x82, 0x14, 4 };
	struct blm_filter *f;
	uint8_t dump[300];
	size_t at = sizeof(begin);

	memcpy(dump, begin, at);
	for (int i = 0; i < 7; i++)
		at += put_number(dump + at, head[i]);
	memcpy(dump + at, rest, bytes);
	at += bytes;
	memcpy(dump + at, "\0\x0a\0", 3);
	seal(dump, at += 11);
	FAILS(blm_import_bytes(&f, NULL, NULL, &plain, dump, at), -EBADMSG);
	ck_assert_msg(strstr(blm_error_message(), words) != NULL, "%s", blm_error_message());
}

/*
 * Tables, buckets, keys, deletes, cells of a bucket, iterations, expansion; then a table of 4
 * cells.
 */
START_TEST(a_dump_with_inconsistent_numbers_or_extra_bytes_is_refused)
{
	static const uint8_t table[] = { 2, 2, 5, 4, 1, 2, 3, 4 },
			     other[] = { 2, 1, 5, 4, 1, 2, 3, 4 },
			     more[] = { 2, 2, 5, 4, 1, 2, 3, 4, 0, 0 };
	static const uint64_t head[] = { 1, 2, 4, 0, 2, 20, 1 },
			      restless[] = { 1, 2, 4, 0, 2, 65536, 1 },
			      flat[] = { 1, 2, 4, 0, 0, 20, 1 };

	refuses_dump(restless, table, sizeof(table), "sizes of its tables contradict");
	refuses_dump(flat, table, sizeof(table), "sizes of its tables contradict");
	refuses_dump(head, other, sizeof(other), "has the wrong size");
	refuses_dump(head, more, sizeof(more), "it has more bytes after its filter");
}
END_TEST

START_TEST(an_unreadable_dump_is_reported_as_such)
{
	uint8_t dump[FILE_MOST];
	struct one c;

	load(&c, "c3");
	ck_assert_int_eq(
		each_read_may_fail(blm_redis_dump_unpack_cf, dump, make_dump(dump, &c), &plain), 1);
}
END_TEST

/* The dump, the header, and the cells of each table. */
START_TEST(a_lack_of_memory_is_reported)
{
	struct lookup l = { .locate = blm_redis_dump_unpack_cf };
	uint8_t dump[FILE_MOST];
	struct one c;

	load(&c, "c3");
	l.file = blm_bytes_of_memory(dump, make_dump(dump, &c));
	ck_assert_int_eq(each_piece_may_lack(look_up, &l), 2 + (int)get(&c, 24, 8));
}
END_TEST

/* Of 20 MiB and, twice the buckets, 40 MiB; the cells themselves are never looked at. */
START_TEST(tables_larger_than_a_chunk_are_exported_in_several_chunks)
{
	static const uint64_t first = UINT64_C(5) << 22, cells = 3 * first, chunk = 16 << 20;
	const struct blm_format *format = blm_format_by_name("redisbloom-cf");
	struct blm_part part = { .kind = &blm_kind_redis_cuckoo,
				 .bytes = mmap(NULL, cells, PROT_READ,
					       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
					       0) };
	struct blm_outline *o = calloc(1, sizeof(*o));
	struct written w = { .writer = { .write = write_here } };
	uint64_t iter = 1, left = first;
	const char *at;

	ck_assert(part.bytes != MAP_FAILED);
	part.shape = (struct blm_shape){ .cells = cells,
					 .probes = 4,
					 .cell_bits = 8,
					 .args = { [REDIS_CUCKOO_BUCKET] = 5,
						   [REDIS_CUCKOO_EXPANSION] = 2,
						   [REDIS_CUCKOO_ITERATIONS] = 20 } };
	o->asked_key = "key";
	o->keys = cells + 1;		/* by a count that is an estimate */
	OK(format->write(o, &part, &w.writer, "a filter"));
	ck_assert_uint_eq(w.data, cells);
	w.words[w.count] = '\0';
	at = w.words + strlen("*4\r\n$12\r\nCF.LOADCHUNK\r\n$3\r\nkey\r\n$1\r\n1\r\n$38\r\n");
	/* no more keys than cells */
	ck_assert_mem_eq(at, &(uint64_t){ htole64(cells) }, 8);
	at += HEAD;
	for (int i = 0; i < 2 + 3; i++) {
		uint64_t here = left < chunk ? left : chunk;
		char expected[100], number[24];
		int len = snprintf(number, sizeof(number), "%llu",
				   (unsigned long long)(iter += here));

		len = snprintf(
			expected, sizeof(expected),
			"\r\n*4\r\n$12\r\nCF.LOADCHUNK\r\n$3\r\nkey\r\n$%d\r\n%s\r\n$%llu\r\n", len,
			number, (unsigned long long)here);
		ck_assert_msg(!strncmp(at, expected, (size_t)len), "chunk %d: %s", i, at);
		at += len;
		left -= here;
		if (!left)
			left = cells - first;
	}
	ck_assert_str_eq(at, "\r\n");
	munmap(part.bytes, cells);
	free(o);
}
END_TEST

/* ---- Whatever comes ---- */

START_TEST(truncated_or_longer_data_is_refused)
{
	struct one c;

	load(&c, names[_i]);
	for (size_t cut = 0; cut < c.bytes;
	     cut += cut < HEAD || c.bytes - cut < 10 ? 1 : c.bytes / 20)
		ck_assert_int_lt(taken(c.file, cut), 0);
	ck_assert_int_eq(taken(c.file, c.bytes + 1), -EBADMSG);
}
END_TEST

START_TEST(numbers_that_do_not_go_together_are_refused)
{
	static const struct { size_t at; uint64_t value; unsigned bytes;
	} bad[] = {
		/* keys, of 384 cells */
		/* 32768^5 is too much */
		{ 0, 385, 8 },
		{ 0, UINT64_MAX, 8 },
		{ 8, 0, 8 },
		{ 8, 31, 8 },
		{ 8, 48, 8 },
		{ 8, UINT64_MAX, 8 },
		{ 8, UINT64_C(1) << 32, 8 },
		{ 8, UINT64_C(1) << 63, 8 },
		{ 16, (UINT64_C(1) << 48) + 1, 8 },
		{ 16, UINT64_MAX, 8 },
		{ 24, 0, 8 },
		{ 24, 129, 8 },
		{ 24, (UINT64_C(1) << 32) + 6, 8 },
		{ 24, UINT64_MAX, 8 },
		{ 32, 0, 2 },
		{ 32, 256, 2 },
		{ 32, 65535, 2 },
		{ 34, 0, 2 },
		{ 36, 0, 2 },
		{ 36, 3, 2 },
		{ 36, 65535, 2 },
		{ 36, 32768, 2 },
	};
	struct one c;

	load(&c, "c3");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint8_t file[FILE_MOST];
		uint64_t value = htole64(bad[i].value);
		int r;

		memcpy(file, c.file, c.bytes);
		memcpy(file + bad[i].at, &value, bad[i].bytes);
		r = taken(file, c.bytes);
		ck_assert_msg(r == -EBADMSG, "%zu: %d: %s", i, r, blm_error_message());
	}
}
END_TEST

START_TEST(sizes_are_refused_before_any_allocation)
{
	uint64_t buckets = htole64(UINT64_C(1) << 31), tables = htole64(128);
	struct blm_filter *f;
	struct one c;

	load(&c, "c3");
	memcpy(c.file + 8, &buckets, 8);
	memcpy(c.file + 24, &tables, 8);
	ck_assert_int_eq(taken(c.file, c.bytes), -ENODATA);
	FAILS(blm_import_bytes(&f, NULL, NULL,
			       &BLM_EXCHANGE(.format = "redisbloom-cf", .max_bytes = 1 << 20),
			       c.file, c.bytes),
	      -EFBIG);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format redisbloom-cf");
	TCase *tc = tcase_create("redisbloom-cf");
	int code;

	json = file_of(DATA "/redisbloom/cf.json", NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(
		tc, redisblooms_cuckoo_filters_answer_count_and_export_unchanged, 0,
		4);
	tcase_add_loop_test(tc, the_facts_equal_the_servers, 0, 4);
	tcase_add_test(tc,
		       a_filter_of_the_same_keys_equals_the_servers);
	tcase_add_test(
		tc,
		a_nearly_full_filter_after_removes_matches_the_server);
	tcase_add_test(tc, a_chain_adds_where_space_is_and_removes_newest_copies);
	tcase_add_test(tc, a_full_chain_refuses_a_key_and_stays_unchanged);
	tcase_add_test(
		tc,
		a_filter_made_again_keeps_its_buckets_and_server_numbers);
	tcase_add_test(tc, a_filter_of_another_hash_or_kind_is_not_exported);
	tcase_add_loop_test(
		tc,
		the_loading_commands_have_its_chunks_and_their_numbers,
		0, 4);
	tcase_add_loop_test(tc, a_dump_holds_the_filter_of_its_chunks, 0, 4);
	tcase_add_test(tc, random_headers_and_dumps_are_accepted_or_refused_with_words);
	tcase_add_test(tc, packed_data_unpacks_to_no_more_than_the_limit);
	tcase_add_loop_test(tc, truncated_or_longer_data_is_refused, 0, 4);
	tcase_add_test(tc, numbers_that_do_not_go_together_are_refused);
	tcase_add_test(tc, sizes_are_refused_before_any_allocation);
	tcase_add_test(tc, a_dump_with_inconsistent_numbers_or_extra_bytes_is_refused);
	tcase_add_test(tc, an_unreadable_dump_is_reported_as_such);
	tcase_add_test(tc, a_lack_of_memory_is_reported);
	tcase_add_test(tc, tables_larger_than_a_chunk_are_exported_in_several_chunks);
	suite_add_tcase(s, tc);
	code = run_suite(s);
	free(json);
	return code;
}
