/* redisbloom.c - RedisBloom's Bloom filters: its own answers, chunks that go out as they came, commands that load them, dumps; and whatever else comes */
#include "redis.h"

#include <errno.h>
#include <math.h>

enum { HEAD = 20, LINK = 53 };

static char *json;
static const char *const names[] = { "p1", "p2", "p3", "p4", "p5" };
static const struct blm_exchange plain = { .format = "redisbloom" };

static void load(struct one *c, const char *name)
{
	load_case(c, json, name, "bits.bin");
}

static void answers_are_its_own(const struct blm_filter *f, const struct one *c)
{
	for (size_t i = 0; i < in.count; i++)
		ck_assert_msg(blm_contains(f, in.key[i].bytes, in.key[i].len), "%s: key %zu is missing", c->name, i);
	answers_are(f, &asked, field(c->json, c->end, "probe_answers_lsb_first_hex"), c->name);
}

static void goes_out_as(const struct blm_filter *f, const void *file, size_t bytes)
{
	goes_out_to(f, plain.format, file, bytes);
}

START_TEST(the_filters_of_redisbloom_answer_as_there_and_go_out_as_they_came)
{
	struct blm_filter *f, *copy;
	struct blm_info info;
	struct one c;
	uint32_t links;

	load(&c, names[_i]);
	memcpy(&links, c.file + 8, 4);
	OK(blm_import_bytes(&f, NULL, NULL, NULL, c.file, c.bytes));	/* its beginning tells */
	OK(blm_info(f, &info));
	ck_assert_str_eq(info.origin, "redisbloom");
	ck_assert_str_eq(info.kind, c.file[12] & 8 ? "classic" : "scalable");
	ck_assert_str_eq(info.scheme, "double-64");
	ck_assert_uint_eq(info.parts, le32toh(links));
	ck_assert_uint_eq(info.keys, le64toh(*(uint64_t *)(void *)c.file));
	answers_are_its_own(f, &c);
	goes_out_as(f, c.file, c.bytes);
	for (size_t i = 0; i < in.count; i++)
		ck_assert_int_eq(blm_add(f, in.key[i].bytes, in.key[i].len), 0);
	goes_out_as(f, c.file, c.bytes);
	OK(blm_copy(&copy, NULL, NULL, f, 0));
	OK(blm_same_template(f, copy));
	answers_are_its_own(copy, &c);
	goes_out_as(copy, c.file, c.bytes);
	blm_close(copy);
	blm_close(f);
}
END_TEST

START_TEST(a_filter_that_is_made_for_it_is_the_one_that_it_makes)
{
	struct { const char *name; uint64_t capacity; double rate; const char *kind; } made[] = {
		{ "p1", 100, 0.01, "scalable" }, { "p2", 1000, 0.01, "scalable" },
	};

	for (int i = 0; i < 2; i++) {
		struct blm_filter *f;
		struct one c;

		load(&c, made[i].name);
		OK(blm_create(&f, NULL, NULL, &(struct blm_params){ .format = "redisbloom", .capacity = made[i].capacity, .rate = made[i].rate }));
		OK(blm_add_many(f, in.key, in.count, NULL));
		goes_out_as(f, c.file, c.bytes);
		blm_close(f);
	}
}
END_TEST

/* What its loader asks of a header, and what we know of the keys. */
static void would_be_loaded(const uint8_t *file, size_t bytes, uint64_t keys)
{
	uint64_t size, sum = 0, all = 0;
	uint32_t links;

	memcpy(&size, file, 8);
	memcpy(&links, file + 8, 4);
	ck_assert_uint_eq(size, keys);
	for (uint32_t i = 0; i < links; i++) {
		const uint8_t *link = file + HEAD + i * LINK;
		uint64_t n, bits, here;
		uint32_t k;
		double error, bpe;

		memcpy(&n, link, 8), memcpy(&bits, link + 8, 8), memcpy(&here, link + 16, 8);
		memcpy(&error, link + 24, 8), memcpy(&bpe, link + 32, 8), memcpy(&k, link + 40, 4);
		ck_assert_uint_eq(bits, 8 * n);
		ck_assert(error > 0 && error < 1);
		ck_assert_uint_eq(k, (uint32_t)ceil(0.693147180559945 * bpe));
		sum += here;
		all += n;
	}
	ck_assert_uint_eq(sum, size);
	ck_assert_uint_eq(bytes, HEAD + links * LINK + all);
}

START_TEST(a_chain_goes_on_growing_here_and_comes_back_as_the_same)
{
	struct blm_filter *f, *again;
	struct blm_info info;
	struct one c;
	size_t bytes;
	void *out;

	load(&c, "p3");
	OK(blm_import_bytes(&f, NULL, NULL, NULL, c.file, c.bytes));
	OK(blm_add_many(f, asked.key, asked.count, NULL));
	OK(blm_info(f, &info));
	ck_assert_uint_gt(info.parts, 4);
	OK(blm_export_bytes(f, &plain, &out, &bytes));
	would_be_loaded(out, bytes, info.keys);
	ck_assert_mem_eq((uint8_t *)out + HEAD, c.file + HEAD, 16);
	OK(blm_import_bytes(&again, NULL, NULL, NULL, out, bytes));
	OK(blm_same_template(f, again));
	for (size_t i = 0; i < in.count; i++)
		ck_assert(blm_contains(again, in.key[i].bytes, in.key[i].len));
	for (size_t i = 0; i < asked.count; i++)
		ck_assert(blm_contains(again, asked.key[i].bytes, asked.key[i].len));
	goes_out_as(again, out, bytes);
	blm_free(out);
	blm_close(f), blm_close(again);
}
END_TEST

START_TEST(a_classic_filter_of_its_scheme_goes_out_as_one_that_does_not_grow)
{
	struct blm_filter *f, *again;
	size_t bytes;
	void *out;

	OK(blm_create(&f, NULL, NULL, &(struct blm_params){ .kind = "classic", .hash = "murmur64a", .cells = 1000, .probes = 40 }));
	ck_assert_int_eq(blm_add(f, "key", 3), 1);
	OK(blm_export_bytes(f, &plain, &out, &bytes));
	would_be_loaded(out, bytes, 1);
	ck_assert_int_eq(((uint8_t *)out)[12], 13);
	OK(blm_import_bytes(&again, NULL, NULL, NULL, out, bytes));
	OK(blm_same_template(f, again));
	ck_assert(blm_contains(again, "key", 3) && !blm_contains(again, "other", 5));
	blm_free(out);
	blm_close(f), blm_close(again);
	OK(blm_create(&f, NULL, NULL, &(struct blm_params){ .kind = "classic", .hash = "murmur64a", .cells = 1001, .probes = 4 }));
	FAILS(blm_export_bytes(f, &plain, &out, &bytes), -EOPNOTSUPP);
	blm_close(f);
	OK(blm_create(&f, NULL, NULL, &(struct blm_params){ .kind = "scalable", .capacity = 1000 }));
	FAILS(blm_export_bytes(f, &plain, &out, &bytes), -EOPNOTSUPP);
	blm_close(f);
}
END_TEST

START_TEST(the_commands_that_load_a_filter_have_its_chunks_and_the_numbers_that_go_with_them)
{
	struct blm_filter *f;
	struct one c;

	load(&c, names[_i]);
	OK(blm_import_bytes(&f, NULL, NULL, NULL, c.file, c.bytes));
	goes_out_as_commands(f, plain.format, "BF.LOADCHUNK", &c);
	blm_close(f);
}
END_TEST

/* ---- Dumps ---- */

static int taken(const void *bytes, size_t count)
{
	struct blm_filter *f;
	int r = blm_import_bytes(&f, NULL, NULL, &plain, bytes, count);

	if (r == 0)
		blm_close(f);
	else
		ck_assert(*blm_why() != '\0');
	return r;
}

static size_t load_dump(uint8_t *dump, uint8_t *chunks, size_t *ret_chunks)
{
	size_t bytes;
	char *text = file_of(DATA "/redisbloom/rdb-dump.json", NULL), *file = file_of(DATA "/redisbloom/rdb-dump-50.bin", &bytes);
	const char *end = text + strlen(text);
	size_t header = from_hex(field(text, end, "scandump_header_hex"), chunks, FILE_MOST);

	*ret_chunks = header + from_hex(field(text, end, "scandump_bits_hex"), chunks + header, FILE_MOST - header);
	memcpy(dump, file, bytes);
	free(text), free(file);
	return bytes;
}

START_TEST(a_dump_is_read_and_is_the_filter_of_its_chunks)
{
	uint8_t dump[FILE_MOST], chunks[FILE_MOST];
	size_t bytes, chunk_bytes;
	struct blm_filter *f;

	bytes = load_dump(dump, chunks, &chunk_bytes);
	load_lines(&in, "keys/insert.txt", 50);
	OK(blm_import_bytes(&f, NULL, NULL, NULL, dump, bytes));
	for (size_t i = 0; i < in.count; i++)
		ck_assert(blm_contains(f, in.key[i].bytes, in.key[i].len));
	goes_out_as(f, chunks, chunk_bytes);
	blm_close(f);
	dump[bytes] = '\n';	/* as redis-cli --raw writes it */
	ck_assert_int_eq(taken(dump, bytes + 1), 0);
	ck_assert_int_eq(taken(dump, bytes + 2), -EBADMSG);
}
END_TEST

/* 0.0001, 5000; the first 20 keys. */
START_TEST(a_dump_that_redis_packed_comes_out)
{
	struct blm_filter *f, *made;
	size_t bytes;
	void *out;

	load_lines(&in, "keys/insert.txt", 20);
	OK(blm_import_file(&f, NULL, NULL, NULL, DATA "/redisbloom/packed.dump"));
	OK(blm_create(&made, NULL, NULL, &(struct blm_params){ .format = "redisbloom", .capacity = 5000, .rate = 0.0001 }));
	OK(blm_add_many(made, in.key, in.count, NULL));
	OK(blm_export_bytes(made, &plain, &out, &bytes));
	goes_out_as(f, out, bytes);
	blm_free(out);
	blm_close(f), blm_close(made);
}
END_TEST

/* The pieces up to the bits, which are 144 zeros but for the first and the last: one literal, a run of it, one literal. */
static size_t pack(uint8_t *to, const uint8_t *dump, const uint8_t *packed, size_t packed_bytes, unsigned whole)
{
	static const uint8_t rest[] = { 2, 0x32, 0, 0x0a, 0 };
	const uint8_t string[] = { 5, 0xc3, (uint8_t)packed_bytes, (uint8_t)(0x40 | whole >> 8), (uint8_t)whole };
	size_t at = 44;

	ck_assert_mem_eq(dump + at, "\x02\0\x05\x40\x90", 5);
	at += 2;
	memcpy(to, dump, at);
	memcpy(to + at, string, sizeof(string));
	at += sizeof(string);
	memcpy(to + at, packed, packed_bytes);
	at += packed_bytes;
	memcpy(to + at, rest, sizeof(rest));
	at += sizeof(rest) + 8;
	seal(to, at);
	return at;
}

START_TEST(a_dump_that_is_packed_by_lzf_comes_out)
{
	static const uint8_t packed[] = { 1, 0x5a, 0, 0xe0, 140 - 9, 0, 1, 0, 0xa5 };	/* 5a 00, 140 times what is 1 back, 00 a5 */
	uint8_t dump[FILE_MOST], chunks[FILE_MOST], other[FILE_MOST];
	size_t bytes, chunk_bytes;
	struct blm_filter *f;

	load_dump(dump, chunks, &chunk_bytes);
	memset(chunks + HEAD + LINK, 0, 144);
	chunks[HEAD + LINK] = 0x5a;
	chunks[HEAD + LINK + 143] = 0xa5;
	bytes = pack(other, dump, packed, sizeof(packed), 144);
	OK(blm_import_bytes(&f, NULL, NULL, NULL, other, bytes));
	goes_out_as(f, chunks, chunk_bytes);
	blm_close(f);
}
END_TEST

START_TEST(a_dump_whose_string_comes_out_otherwise_is_refused)
{
	static const struct { uint8_t packed[9]; size_t bytes; unsigned whole; } bad[] = {
		{ { 1, 0x5a, 0, 0xe0, 140 - 8, 0, 1, 0, 0xa5 }, 9, 144 },	/* one byte more */
		{ { 1, 0x5a, 0, 0xe0, 140 - 10, 0, 1, 0, 0xa5 }, 9, 144 },	/* one less */
		{ { 1, 0x5a, 0, 0xe0, 140 - 9, 2, 1, 0, 0xa5 }, 9, 144 },	/* from before the beginning */
		{ { 1, 0x5a, 0, 0xe0, 140 - 9, 0, 1, 0 }, 8, 144 },		/* cut */
		{ { 1, 0x5a, 0, 0xe0, 140 - 9 }, 5, 144 }, { { 1, 0x5a, 0, 0xe0 }, 4, 144 }, { { 31 }, 1, 144 },
		{ { 1, 0x5a, 0, 0xe0, 140 - 9, 0, 1, 0, 0xa5 }, 9, 145 },	/* not as many as the filter's bits */
	};
	uint8_t dump[FILE_MOST], chunks[FILE_MOST], other[FILE_MOST];
	size_t chunk_bytes;

	load_dump(dump, chunks, &chunk_bytes);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int r = taken(other, pack(other, dump, bad[i].packed, bad[i].bytes, bad[i].whole));

		ck_assert_msg(r == -EBADMSG, "%zu: %d: %s", i, r, blm_why());
	}
}
END_TEST

/* ---- Whatever comes ---- */

START_TEST(what_is_cut_or_goes_on_is_refused)
{
	uint8_t dump[FILE_MOST], chunks[FILE_MOST];
	size_t bytes, chunk_bytes;
	struct one c;

	load(&c, names[_i]);
	for (size_t cut = 0; cut < c.bytes; cut += cut < c.header || c.bytes - cut < 10 ? 1 : c.bytes / 20)
		ck_assert_int_lt(taken(c.file, cut), 0);
	ck_assert_int_eq(taken(c.file, c.bytes + 1), -EBADMSG);
	bytes = _i ? 0 : load_dump(dump, chunks, &chunk_bytes);
	for (size_t cut = 0; cut < bytes; cut++) {
		ck_assert_int_lt(taken(dump, cut), 0);
		if (cut >= 20) {	/* with the right checksum */
			memcpy(chunks, dump, cut);
			seal(chunks, cut);
			ck_assert_int_lt(taken(chunks, cut), 0);
		}
	}
}
END_TEST

START_TEST(any_other_bytes_in_a_header_or_a_dump_are_taken_or_refused_in_words)
{
	uint8_t dump[FILE_MOST], chunks[FILE_MOST];
	size_t bytes, chunk_bytes, count = 0;
	struct one c;

	load(&c, "p5");
	for (size_t i = 0; i < c.header; i++)
		for (int bit = 0; bit < 8; bit++) {
			c.file[i] ^= (uint8_t)(1 << bit);
			count += taken(c.file, c.bytes) == 0;
			c.file[i] ^= (uint8_t)(1 << bit);
		}
	bytes = load_dump(dump, chunks, &chunk_bytes);
	for (size_t i = 0; i < bytes - 8; i++)
		for (int bit = 0; bit < 8; bit++) {
			dump[i] ^= (uint8_t)(1 << bit);
			seal(dump, bytes);
			count += taken(dump, bytes) == 0;
			dump[i] ^= (uint8_t)(1 << bit);
		}
	ck_assert_uint_gt(count, 1000);		/* bits are bits */
}
END_TEST

START_TEST(a_header_that_its_own_loader_would_refuse_is_refused)
{
	static const struct { size_t at; uint64_t value; unsigned bytes; int err; } bad[] = {
		{ 0, 63, 8, -EBADMSG }, { 8, 0, 4, -EBADMSG }, { 8, 65, 4, -EBADMSG }, { 8, UINT32_MAX, 4, -EBADMSG }, { 8, 2, 4, -EBADMSG },
		{ 12, 1, 4, -EPROTONOSUPPORT }, { 12, 0x15, 4, -EPROTONOSUPPORT },
		{ HEAD, 143, 8, -EBADMSG }, { HEAD + 8, 0, 8, -EBADMSG }, { HEAD, UINT64_MAX, 8, -EBADMSG }, { HEAD + 8, 1151, 8, -EBADMSG },
		{ HEAD + 24, 0, 8, -EBADMSG }, { HEAD + 24, UINT64_C(0x3ff0000000000000), 8, -EBADMSG }, { HEAD + 24, UINT64_C(0x7ff8000000000000), 8, -EBADMSG },
		{ HEAD + 32, UINT64_C(0x7ff8000000000000), 8, -EBADMSG }, { HEAD + 40, 9, 4, -EBADMSG }, { HEAD + 40, 0, 4, -EBADMSG },
		{ HEAD + 52, 11, 1, -EPROTONOSUPPORT }, { HEAD + 52, 255, 1, -EPROTONOSUPPORT },
	};
	struct one c;

	load(&c, "p1");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		uint8_t file[FILE_MOST];
		uint64_t value = htole64(bad[i].value);
		int r;

		memcpy(file, c.file, c.bytes);
		memcpy(file + bad[i].at, &value, bad[i].bytes);
		r = taken(file, c.bytes);
		ck_assert_msg(r == bad[i].err, "%zu: %d: %s", i, r, blm_why());
	}
}
END_TEST

START_TEST(sizes_are_refused_before_anything_is_taken)
{
	uint64_t bytes = htole64(UINT64_C(1) << 43), bits = htole64(UINT64_C(1) << 46);
	struct blm_filter *f;
	struct one c;

	load(&c, "p1");
	memcpy(c.file + HEAD, &bytes, 8);
	memcpy(c.file + HEAD + 8, &bits, 8);
	ck_assert_int_eq(taken(c.file, c.bytes), -ENODATA);
	FAILS(blm_import_bytes(&f, NULL, NULL, &(struct blm_exchange){ .format = "redisbloom", .max_bytes = 1 << 20 }, c.file, c.bytes), -EFBIG);
}
END_TEST

START_TEST(a_first_filter_on_which_no_chain_can_follow_is_told_by_its_header)
{
	const double rare = 1e-305;
	uint64_t error;
	struct one c;

	load(&c, "p1");
	memcpy(&error, &rare, 8);
	error = htole64(error);
	memcpy(c.file + HEAD + 24, &error, 8);
	ck_assert_int_eq(taken(c.file, c.bytes), -EBADMSG);
	ck_assert_msg(strstr(blm_why(), "damaged header: filter 0 of its chain is for 100 entries with the error 1e-305"), "%s", blm_why());
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format redisbloom");
	TCase *tc = tcase_create("redisbloom");
	int code;

	json = file_of(DATA "/redisbloom/bf.json", NULL);
	tcase_set_timeout(tc, 100);
	tcase_add_loop_test(tc, the_filters_of_redisbloom_answer_as_there_and_go_out_as_they_came, 0, 5);
	tcase_add_test(tc, a_filter_that_is_made_for_it_is_the_one_that_it_makes);
	tcase_add_test(tc, a_chain_goes_on_growing_here_and_comes_back_as_the_same);
	tcase_add_test(tc, a_classic_filter_of_its_scheme_goes_out_as_one_that_does_not_grow);
	tcase_add_test(tc, a_first_filter_on_which_no_chain_can_follow_is_told_by_its_header);
	tcase_add_loop_test(tc, the_commands_that_load_a_filter_have_its_chunks_and_the_numbers_that_go_with_them, 0, 5);
	tcase_add_test(tc, a_dump_is_read_and_is_the_filter_of_its_chunks);
	tcase_add_test(tc, a_dump_that_redis_packed_comes_out);
	tcase_add_test(tc, a_dump_that_is_packed_by_lzf_comes_out);
	tcase_add_test(tc, a_dump_whose_string_comes_out_otherwise_is_refused);
	tcase_add_loop_test(tc, what_is_cut_or_goes_on_is_refused, 0, 5);
	tcase_add_test(tc, any_other_bytes_in_a_header_or_a_dump_are_taken_or_refused_in_words);
	tcase_add_test(tc, a_header_that_its_own_loader_would_refuse_is_refused);
	tcase_add_test(tc, sizes_are_refused_before_anything_is_taken);
	suite_add_tcase(s, tc);
	code = run_suite(s);
	free(json);
	return code;
}
