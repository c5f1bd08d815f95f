/*
 * redisbloom.c - RedisBloom's Bloom filters: its own answers, chunks that go out as they came,
 * commands that load them, dumps; and whatever else comes
 */
#include "format/redisbloom.h"
#include "redis.h"

#include <errno.h>
#include <math.h>
#include <sys/mman.h>

enum { HEAD = 20, LINK = 53 };

static char *json;
static const char *const names[] = { "p1", "p2", "p3", "p4", "p5" };
static const struct blm_exchange plain = BLM_EXCHANGE(.format = "redisbloom");

static void load(struct one *c, const char *name)
{
	load_case(c, json, name, "bits.bin");
}

static void answers_are_its_own(const struct blm_filter *f, const struct one *c)
{
	for (size_t i = 0; i < in.count; i++)
		ck_assert_msg(blm_contains(f, in.key[i].bytes, in.key[i].len),
			      "%s: key %zu is missing", c->name, i);
	answers_are(f, &asked, field(c->json, c->end, "probe_answers_lsb_first_hex"), c->name);
}

static void goes_out_as(const struct blm_filter *f, const void *file, size_t bytes)
{
	goes_out_to(f, plain.format, file, bytes);
}

START_TEST(redisblooms_filters_answer_the_same_and_are_exported_unchanged)
{
	struct blm_filter *f, *copy;
	struct blm_info info = BLM_INFO;
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

START_TEST(a_filter_made_here_equals_the_servers)
{
	struct { const char *name; uint64_t capacity; double rate; const char *kind; } made[] = {
		{ "p1", 100, 0.01, "scalable" }, { "p2", 1000, 0.01, "scalable" },
	};

	for (int i = 0; i < 2; i++) {
		struct blm_filter *f;
		struct one c;

		load(&c, made[i].name);
		OK(blm_create(&f, NULL, NULL,
			      &BLM_PARAMS(.format = "redisbloom", .capacity = made[i].capacity,
					  .rate = made[i].rate)));
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

START_TEST(a_chain_that_grew_here_is_exported_and_imported_unchanged)
{
	struct blm_filter *f, *again;
	struct blm_info info = BLM_INFO;
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

START_TEST(a_classic_filter_of_its_scheme_is_exported_without_growth)
{
	struct blm_filter *f, *again;
	size_t bytes;
	void *out;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "classic", .hash = "murmur64a", .cells = 1000,
				  .probes = 40)));
	ck_assert_int_eq(blm_add(f, "key", 3), 1);
	OK(blm_export_bytes(f, &plain, &out, &bytes));
	would_be_loaded(out, bytes, 1);
	ck_assert_int_eq(((uint8_t *)out)[12], 13);
	OK(blm_import_bytes(&again, NULL, NULL, NULL, out, bytes));
	OK(blm_same_template(f, again));
	ck_assert(blm_contains(again, "key", 3) && !blm_contains(again, "other", 5));
	blm_free(out);
	blm_close(f), blm_close(again);
	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "classic", .hash = "murmur64a", .cells = 1001,
				  .probes = 4)));
	FAILS(blm_export_bytes(f, &plain, &out, &bytes), -EOPNOTSUPP);
	blm_close(f);
	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.kind = "scalable", .capacity = 1000)));
	FAILS(blm_export_bytes(f, &plain, &out, &bytes), -EOPNOTSUPP);
	blm_close(f);
}
END_TEST

START_TEST(the_loading_commands_have_its_chunks_and_their_numbers)
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
		ck_assert(*blm_error_message() != '\0');
	return r;
}

static size_t load_dump(uint8_t *dump, uint8_t *chunks, size_t *ret_chunks)
{
	size_t bytes;
	char *text = file_of(DATA "/redisbloom/rdb-dump.json", NULL),
	     *file = file_of(DATA "/redisbloom/rdb-dump-50.bin", &bytes);
	const char *end = text + strlen(text);
	size_t header = from_hex(field(text, end, "scandump_header_hex"), chunks, FILE_MOST);

	*ret_chunks = header
		    + from_hex(field(text, end, "scandump_bits_hex"), chunks + header,
			       FILE_MOST - header);
	memcpy(dump, file, bytes);
	free(text), free(file);
	return bytes;
}

START_TEST(a_dump_holds_the_filter_of_its_chunks)
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
START_TEST(a_dump_that_redis_packed_is_unpacked)
{
	struct blm_filter *f, *made;
	size_t bytes;
	void *out;

	load_lines(&in, "keys/insert.txt", 20);
	OK(blm_import_file(&f, NULL, NULL, NULL, DATA "/redisbloom/packed.dump"));
	OK(blm_create(&made, NULL, NULL,
		      &BLM_PARAMS(.format = "redisbloom", .capacity = 5000, .rate = 0.0001)));
	OK(blm_add_many(made, in.key, in.count, NULL));
	OK(blm_export_bytes(made, &plain, &out, &bytes));
	goes_out_as(f, out, bytes);
	blm_free(out);
	blm_close(f), blm_close(made);
}
END_TEST

/*
 * The pieces up to the bits, which are 144 zeros but for the first and the last: one literal, a run
 * of it, one literal.
 */
static size_t pack(uint8_t *to, const uint8_t *dump, const uint8_t *packed, size_t packed_bytes,
		   unsigned whole)
{
	static const uint8_t rest[] = { 2, 0x32, 0, 0x0a, 0 };
	const uint8_t string[] = { 5, 0xc3, (uint8_t)packed_bytes, (uint8_t)(0x40 | whole >> 8),
				   (uint8_t)whole };
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

START_TEST(a_dump_packed_by_lzf_is_unpacked)
{
	/* 5a 00, 140 times what is 1 back, 00 a5 */
	static const uint8_t packed[] = { 1, 0x5a, 0, 0xe0, 140 - 9, 0, 1, 0, 0xa5 };
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

START_TEST(a_dump_with_a_wrong_unpacked_size_is_refused)
{
	static const struct { uint8_t packed[9]; size_t bytes; unsigned whole;
	} bad[] = {
		/* from before the beginning */
		/* the repeated part passes the end */
		/* not as many as the filter's bits */
		{ { 1, 0x5a, 0, 0xe0, 140 - 8, 0, 1, 0, 0xa5 }, 9, 144 },  /* one byte more */
		{ { 1, 0x5a, 0, 0xe0, 140 - 10, 0, 1, 0, 0xa5 }, 9, 144 }, /* one less */
		{ { 1, 0x5a, 0, 0xe0, 140 - 9, 2, 1, 0, 0xa5 }, 9, 144 },
		{ { 1, 0x5a, 0, 0xe0, 140 - 9, 0, 1, 0 }, 8, 144 }, /* cut */
		{ { 1, 0x5a, 0, 0xe0, 140 - 9 }, 5, 144 },
		{ { 1, 0x5a, 0, 0xe0 }, 4, 144 },
		{ { 31 }, 1, 144 },
		{ { 1, 0x5a, 0, 0xe0, 140 - 6, 0 }, 6, 144 },
		{ { 1, 0x5a, 0, 0xe0, 140 - 9, 0, 1, 0, 0xa5 }, 9, 145 },
	};
	uint8_t dump[FILE_MOST], chunks[FILE_MOST], other[FILE_MOST];
	size_t chunk_bytes;

	load_dump(dump, chunks, &chunk_bytes);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int r = taken(other, pack(other, dump, bad[i].packed, bad[i].bytes, bad[i].whole));

		ck_assert_msg(r == -EBADMSG, "%zu: %d: %s", i, r, blm_error_message());
	}
}
END_TEST

/*
 * A dump of one filter with this many bits, whose string has this form; the dump claims to have
 * `links`.
 */
static size_t put_dump(uint8_t *dump, uint64_t links, uint64_t bits, const uint8_t *string,
		       size_t string_bytes)
{
	static const uint8_t begin[] = { 7, 0x81, 0x30, 0x16, 0xe5, 0xa2, 0x89, 0xbe, 0xf8, 4 };
	const double error = 0.01, bpe = -log(error) / 0.480453013918201;
	const uint64_t head[] = { 0, links, 5, 2, 100 };
	size_t at = sizeof(begin);

	memcpy(dump, begin, at);
	for (int i = 0; i < 5; i++)
		at += put_number(dump + at, head[i]);
	dump[at++] = 4;
	memcpy(dump + at, &error, 8), at += 8;
	at += put_number(dump + at, 7);
	dump[at++] = 4;
	memcpy(dump + at, &bpe, 8), at += 8;
	dump[at++] = 2;
	dump[at++] = 0x81;	/* a number of 8 bytes */
	for (int i = 56; i >= 0; i -= 8)
		dump[at++] = (uint8_t)(bits >> i);
	at += put_number(dump + at, 0);
	dump[at++] = 5;
	memcpy(dump + at, string, string_bytes);
	at += string_bytes;
	at += put_number(dump + at, 0);
	memcpy(dump + at, "\0\x0a\0", 3);
	seal(dump, at += 11);
	return at;
}

static const struct {
	uint64_t links, bits;
	size_t bytes;
	uint8_t string[12];
	int err;
	const char *words;
} dumps[] = {
	/* a number, not the end */
	{ 1, 64, 9, { 8, 1, 2, 3, 4, 5, 6, 7, 8 }, 0, NULL },
	{ 0, 64, 9, { 8 }, -EBADMSG, "a chain of no filters, or of more than 64" },
	{ 65, 64, 9, { 8 }, -EBADMSG, "a chain of no filters, or of more than 64" },
	{ 2, 64, 9, { 8 }, -EBADMSG, "its fields are not the fields of a filter" },
	{ 1, 0, 1, { 0 }, -EBADMSG, "filter 0 of its chain has 0 bits in 0 bytes" },
	{ 1, 63, 8, { 7 }, -EBADMSG, "a number of bits that is no multiple of 8" },
	{ 1,
	  (UINT64_C(1) << 47) + 8,
	  1,
	  { 0 },
	  -EBADMSG,
	  "a filter has a number of bits that is no multiple of 8, or more than 2^47" },
	{ 1,
	  UINT64_C(1) << 47,
	  1,
	  { 0 },
	  -EBADMSG,
	  "a filter has another number of bits than it states" },
	{ 1,
	  64000,
	  7,
	  { 0xc3, 3, 0x40 | 8000 >> 8, 8000 & 0xff, 0, 0xe0, 0xff },
	  -EBADMSG,
	  "a filter has another number of bits than it states" },
	{ 1,
	  64,
	  11,
	  { 8, 1, 2, 3, 4, 5, 6, 7, 8, 2, 0 },
	  -EBADMSG,
	  "its fields are not the fields of a filter" },
	{ 1,
	  64,
	  12,
	  { 8, 1, 2, 3, 4, 5, 6, 7, 8, 2, 0, 0 },
	  -EBADMSG,
	  "it has more bytes after its filter" },
};

START_TEST(a_dump_of_unrelated_pieces_is_refused_with_their_names)
{
	uint8_t dump[FILE_MOST];
	struct blm_filter *f;
	size_t bytes = put_dump(dump, dumps[_i].links, dumps[_i].bits, dumps[_i].string,
				dumps[_i].bytes);

	if (!dumps[_i].err) {
		OK(blm_import_bytes(&f, NULL, NULL, &plain, dump, bytes));
		blm_close(f);
		return;
	}
	FAILS(blm_import_bytes(&f, NULL, NULL, &plain, dump, bytes), dumps[_i].err);
	ck_assert_msg(strstr(blm_error_message(), dumps[_i].words) != NULL, "%s",
		      blm_error_message());
}
END_TEST

/* 8000 bytes of it come out of 95: a zero, and runs of what is one back. */
START_TEST(a_dump_is_limited_packed_and_unpacked)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "redisbloom");
	uint8_t dump[FILE_MOST], string[200] = { 0xc3, 0, 0x40 | 8000 >> 8, 8000 & 0xff, 0, 0 };
	size_t at = 6, bytes;
	struct blm_filter *f;

	for (int i = 0; i < 30; i++, at += 3)
		memcpy(string + at, "\xe0\xff", 3);	/* 264 */
	memcpy(string + at, "\xe0\x46", 3), at += 3;	/* 79 */
	string[1] = (uint8_t)(0x40 | (at - 4) >> 8);
	memmove(string + 3, string + 2, at - 2);
	string[2] = (uint8_t)(at - 4);
	bytes = put_dump(dump, 1, 64000, string, at + 1);
	OK(blm_import_bytes(&f, NULL, NULL, &how, dump, bytes));
	blm_close(f);
	how.max_bytes = UINT64_C(8) << 30;
	OK(blm_import_bytes(&f, NULL, NULL, &how, dump, bytes));
	blm_close(f);
	how.max_bytes = HEAD + LINK + 8000;
	OK(blm_import_bytes(&f, NULL, NULL, &how, dump, bytes));
	blm_close(f);
	how.max_bytes--;
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, dump, bytes), -EFBIG);
	ck_assert_ptr_nonnull(strstr(blm_error_message(),
				     "unpacks to more than the 8072 bytes that are allowed"));
	how.max_bytes = 7999;
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, dump, bytes), -EFBIG);
	ck_assert_ptr_nonnull(strstr(blm_error_message(),
				     "unpacks to more than the 7999 bytes that are allowed"));
	how.max_bytes = bytes - 1;
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, dump, bytes), -EFBIG);
}
END_TEST

START_TEST(an_unreadable_or_too_large_dump_is_reported_as_such)
{
	uint8_t dump[FILE_MOST], chunks[FILE_MOST];
	size_t chunk_bytes, bytes = load_dump(dump, chunks, &chunk_bytes);
	const struct blm_bytes_at file = blm_bytes_of_memory(dump, bytes);
	struct blm_piece piece = { 0 };

	ck_assert_int_eq(each_read_may_fail(blm_redis_dump_unpack, dump, bytes, &plain), 1);
	FAILS(blm_redis_dump_unpack(&piece, &file, &BLM_EXCHANGE(.max_bytes = bytes - 1), "a file"),
	      -EFBIG);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "a file: a dump of Redis of"));
	ck_assert_ptr_null(piece.unpacked);
}
END_TEST

/* ---- Headers that are written ---- */

/* A chain of these shapes, with this many keys: its header only. */
static void head_of(uint8_t ret[HEAD + 4 * LINK], const struct blm_outline *o,
		    const struct blm_shape *shapes, unsigned links)
{
	struct written w = { .writer = { .write = write_here } };
	uint8_t bits[64] = { 0 };
	struct blm_part part[4], whole = { .sub = part, .subs = links };
	size_t all = 0;

	for (unsigned i = 0; i < links; all += shapes[i++].cells / 8)
		part[i] = (struct blm_part){ .kind = blm_kind_by_name("classic"),
					     .shape = shapes[i],
					     .bytes = bits };
	OK(blm_format_by_name("redisbloom")->write(o, &whole, &w.writer, "a filter"));
	ck_assert_uint_eq(w.count, HEAD + links * LINK + all);
	would_be_loaded((uint8_t *)w.words, w.count, o->keys);
	memcpy(ret, w.words, HEAD + links * LINK);
}

START_TEST(an_error_rate_that_contradicts_the_hash_count_is_ignored)
{
	const struct { double rate; uint32_t probes; bool stays;
	} cases[] = {
		{ 0.01, 7, true }, { 0.01, 8, false }, { 0, 7, false },	 { 1, 7, false },
		{ 2, 7, false },   { NAN, 7, false },  { -1, 1, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct blm_shape shape = { .cells = 64,
					   .probes = cases[i].probes,
					   .capacity = 10,
					   .rate = cases[i].rate };
		struct blm_outline *o = calloc(1, sizeof(*o));
		uint8_t head[HEAD + 4 * LINK];
		double error;

		o->keys = 3;
		/* k and bits an entry go together: would_be_loaded() */
		head_of(head, o, &shape, 1);
		memcpy(&error, head + HEAD + 24, 8);
		ck_assert_msg((error == cases[i].rate) == cases[i].stays, "%zu: %g", i, error);
		ck_assert_uint_eq(head[HEAD + 40], cases[i].probes);
		free(o);
	}
}
END_TEST

static uint64_t keys_of(const uint8_t *head, unsigned link)
{
	uint64_t keys;

	memcpy(&keys, head + HEAD + link * LINK + 16, 8);
	return le64toh(keys);
}

/* How a chain of 10 and 20 keys came with other numbers of them than it would have here. */
START_TEST(the_imported_header_is_exported_while_it_is_true)
{
	struct blm_shape shapes[] = {
		{ .cells = 128, .probes = 7, .capacity = 10, .rate = 0.01 },
		{ .cells = 256, .probes = 8, .capacity = 20, .rate = 0.005 }
	};
	struct blm_outline *o = calloc(1, sizeof(*o));
	uint8_t head[HEAD + 4 * LINK], came[HEAD + 2 * LINK];

	o->keys = 12;
	head_of(head, o, shapes, 2);
	ck_assert(keys_of(head, 0) == 10 && keys_of(head, 1) == 2);
	o->keys = 7;
	head_of(head, o, shapes, 2);
	/* fewer than the first has room for */
	ck_assert(keys_of(head, 0) == 7 && keys_of(head, 1) == 0);
	head[HEAD + 16] = 3, head[HEAD + LINK + 16] = 4, head[16] = 9;	/* its growth too */
	memcpy(came, head, sizeof(came));
	memcpy(o->memo, came, o->memo_bytes = sizeof(came));
	head_of(head, o, shapes, 2);
	ck_assert_mem_eq(head, came, sizeof(came));
	o->keys = 12;		/* some were added */
	head_of(head, o, shapes, 2);
	ck_assert(keys_of(head, 0) == 10 && keys_of(head, 1) == 2);
	ck_assert_mem_eq(head + HEAD + 24, came + HEAD + 24, LINK - 24);
	o->keys = 7;
	head_of(head, o, shapes, 1);	/* without its second filter */
	ck_assert_uint_eq(keys_of(head, 0), 7);
	ck_assert_uint_eq(head[8], 1);
	shapes[0].cells = 64;
	head_of(head, o, shapes, 2);
	ck_assert(head[HEAD] == 8 && keys_of(head, 0) == 7 && head[16] == 9);
	shapes[0].cells = 128;
	shapes[0].probes = 6;
	head_of(head, o, shapes, 2);
	ck_assert(head[HEAD + 40] == 6 && keys_of(head, 0) == 7);
	free(o);
}
END_TEST

/* 40 filters of 8 bytes: of those only 33 links have room in one of our files. */
START_TEST(a_chain_with_too_many_links_loses_only_the_last)
{
	enum { LINKS = 40, KEPT = 33, BYTES = HEAD + LINKS * (LINK + 8) };
	const double bpe = -log(0.01) / 0.480453013918201, other = 9.6;
	uint8_t dump[FILE_MOST], *out;
	size_t bytes = HEAD;
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	memset(dump, 0, HEAD);
	dump[0] = LINKS, dump[8] = LINKS, dump[12] = 5, dump[16] = 2;
	for (int i = 0; i < LINKS; i++, bytes += LINK) {
		uint8_t *link = dump + bytes;
		double error = 0.01;

		memset(link, 0, LINK);
		link[0] = 8, link[8] = 64, link[16] = 1, link[40] = 7, link[44] = 1;
		memcpy(link + 24, &error, 8);
		memcpy(link + 32, i % 2 ? &other : &bpe, 8);	/* nothing to us */
	}
	for (int i = 0; i < LINKS; i++, bytes += 8)
		memset(dump + bytes, i, 8);
	OK(blm_import_bytes(&f, NULL, NULL, &plain, dump, bytes));
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.parts, LINKS);
	ck_assert_uint_eq(info.keys, LINKS);
	OK(blm_export_bytes(f, &plain, (void **)&out, &bytes));
	would_be_loaded(out, bytes, LINKS);
	ck_assert_uint_eq(bytes, BYTES);
	ck_assert_mem_eq(out, dump, HEAD + KEPT * LINK);
	ck_assert_mem_eq(out + HEAD + LINKS * LINK, dump + HEAD + LINKS * LINK, LINKS * 8);
	blm_free(out);
	blm_close(f);
}
END_TEST

/* The dump, the header, the bits; and what is written, its header. */
START_TEST(a_lack_of_memory_is_reported_and_nothing_written)
{
	uint8_t dump[FILE_MOST], chunks[FILE_MOST], bits[8] = { 0 };
	size_t chunk_bytes, bytes = load_dump(dump, chunks, &chunk_bytes);
	struct lookup l = { .locate = blm_redis_dump_unpack,
			    .file = blm_bytes_of_memory(dump, bytes) };
	struct blm_part part = {
		.kind = blm_kind_by_name("classic"),
		.shape = { .cells = 64, .probes = 7, .capacity = 10, .rate = 0.01 },
		.bytes = bits
	};
	struct blm_outline *o = calloc(1, sizeof(*o));
	struct writing w = { .format = "redisbloom", .outline = o, .part = &part };

	ck_assert_int_eq(each_piece_may_lack(look_up, &l), 3);
	ck_assert_int_eq(each_piece_may_lack(write_by_format, &w), 1);
	ck_assert_uint_eq(w.bytes, HEAD + LINK + 8);
	free(o);
}
END_TEST

/* The bits themselves are never looked at. */
START_TEST(more_bits_than_a_chunk_holds_are_exported_in_several)
{
	static const uint64_t bytes = (16 << 20) + 1000;
	struct blm_part part = {
		.kind = blm_kind_by_name("classic"),
		.shape = { .cells = 8 * bytes, .probes = 7, .capacity = 10, .rate = 0.01 },
		.bytes = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			      -1, 0)
	};
	static const char first[] = "*4\r\n$12\r\nBF.LOADCHUNK\r\n$3\r\nkey\r\n$1\r\n1\r\n$73\r\n";
	static const char rest[] =
		"\r\n*4\r\n$12\r\nBF.LOADCHUNK\r\n$3\r\nkey\r\n$8\r\n16777217\r\n$16777216\r\n"
		"\r\n*4\r\n$12\r\nBF.LOADCHUNK\r\n$3\r\nkey\r\n$8\r\n16778217\r\n$1000\r\n\r\n";
	struct written w = { .writer = { .write = write_here } };
	struct blm_outline *o = calloc(1, sizeof(*o));

	ck_assert(part.bytes != MAP_FAILED);
	o->asked_key = "key";
	OK(blm_format_by_name("redisbloom")->write(o, &part, &w.writer, "a filter"));
	ck_assert_uint_eq(w.data, bytes);
	ck_assert_uint_eq(w.count, strlen(first) + HEAD + LINK + strlen(rest));
	ck_assert_mem_eq(w.words, first, strlen(first));
	ck_assert_mem_eq(w.words + strlen(first) + HEAD + LINK, rest, strlen(rest));
	munmap(part.bytes, bytes);
	free(o);
}
END_TEST

/* ---- Whatever comes ---- */

START_TEST(truncated_or_longer_data_is_refused)
{
	uint8_t dump[FILE_MOST], chunks[FILE_MOST];
	size_t bytes, chunk_bytes;
	struct one c;

	load(&c, names[_i]);
	for (size_t cut = 0; cut < c.bytes;
	     cut += cut < c.header || c.bytes - cut < 10 ? 1 : c.bytes / 20)
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

START_TEST(random_headers_and_dumps_are_accepted_or_refused_with_words)
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
	static const struct { size_t at; uint64_t value; unsigned bytes; int err;
	} bad[] = {
		{ 0, 63, 8, -EBADMSG },
		{ 8, 0, 4, -EBADMSG },
		{ 8, 65, 4, -EBADMSG },
		{ 8, UINT32_MAX, 4, -EBADMSG },
		{ 8, 2, 4, -EBADMSG },
		{ 12, 1, 4, -EPROTONOSUPPORT },
		{ 12, 0x15, 4, -EPROTONOSUPPORT },
		{ HEAD, 143, 8, -EBADMSG },
		{ HEAD + 8, 0, 8, -EBADMSG },
		{ HEAD, UINT64_MAX, 8, -EBADMSG },
		{ HEAD + 8, 1151, 8, -EBADMSG },
		{ HEAD + 24, 0, 8, -EBADMSG },
		{ HEAD + 24, UINT64_C(0x3ff0000000000000), 8, -EBADMSG },
		{ HEAD + 24, UINT64_C(0x7ff8000000000000), 8, -EBADMSG },
		{ HEAD + 32, UINT64_C(0x7ff8000000000000), 8, -EBADMSG },
		{ HEAD + 40, 9, 4, -EBADMSG },
		{ HEAD + 40, 0, 4, -EBADMSG },
		{ HEAD + 52, 11, 1, -EPROTONOSUPPORT },
		{ HEAD + 52, 255, 1, -EPROTONOSUPPORT },
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
		ck_assert_msg(r == bad[i].err, "%zu: %d: %s", i, r, blm_error_message());
	}
}
END_TEST

START_TEST(sizes_are_refused_before_any_allocation)
{
	uint64_t bytes = htole64(UINT64_C(1) << 43), bits = htole64(UINT64_C(1) << 46);
	struct blm_filter *f;
	struct one c;

	load(&c, "p1");
	memcpy(c.file + HEAD, &bytes, 8);
	memcpy(c.file + HEAD + 8, &bits, 8);
	ck_assert_int_eq(taken(c.file, c.bytes), -ENODATA);
	FAILS(blm_import_bytes(&f, NULL, NULL,
			       &BLM_EXCHANGE(.format = "redisbloom", .max_bytes = 1 << 20), c.file,
			       c.bytes),
	      -EFBIG);
}
END_TEST

START_TEST(a_first_filter_that_cannot_grow_is_reported)
{
	const double rare = 1e-305;
	uint64_t error;
	struct one c;

	load(&c, "p1");
	memcpy(&error, &rare, 8);
	error = htole64(error);
	memcpy(c.file + HEAD + 24, &error, 8);
	ck_assert_int_eq(taken(c.file, c.bytes), -EBADMSG);
	ck_assert_msg(strstr(blm_error_message(), "damaged header: filter 0 of its chain is for "
						  "100 entries with the error 1e-305"),
		      "%s", blm_error_message());
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format redisbloom");
	TCase *tc = tcase_create("redisbloom");
	int code;

	json = file_of(DATA "/redisbloom/bf.json", NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, redisblooms_filters_answer_the_same_and_are_exported_unchanged,
			    0, 5);
	tcase_add_test(tc, a_filter_made_here_equals_the_servers);
	tcase_add_test(tc, a_chain_that_grew_here_is_exported_and_imported_unchanged);
	tcase_add_test(tc, a_classic_filter_of_its_scheme_is_exported_without_growth);
	tcase_add_test(tc, a_first_filter_that_cannot_grow_is_reported);
	tcase_add_loop_test(
		tc,
		the_loading_commands_have_its_chunks_and_their_numbers,
		0, 5);
	tcase_add_test(tc, a_dump_holds_the_filter_of_its_chunks);
	tcase_add_test(tc, a_dump_that_redis_packed_is_unpacked);
	tcase_add_test(tc, a_dump_packed_by_lzf_is_unpacked);
	tcase_add_test(tc, a_dump_with_a_wrong_unpacked_size_is_refused);
	tcase_add_loop_test(tc, truncated_or_longer_data_is_refused, 0, 5);
	tcase_add_test(tc, random_headers_and_dumps_are_accepted_or_refused_with_words);
	tcase_add_test(tc, a_header_that_its_own_loader_would_refuse_is_refused);
	tcase_add_test(tc, sizes_are_refused_before_any_allocation);
	tcase_add_loop_test(
		tc, a_dump_of_unrelated_pieces_is_refused_with_their_names, 0,
		sizeof(dumps) / sizeof(*dumps));
	tcase_add_test(tc, a_dump_is_limited_packed_and_unpacked);
	tcase_add_test(tc, an_unreadable_or_too_large_dump_is_reported_as_such);
	tcase_add_test(tc, an_error_rate_that_contradicts_the_hash_count_is_ignored);
	tcase_add_test(tc, the_imported_header_is_exported_while_it_is_true);
	tcase_add_test(tc, a_chain_with_too_many_links_loses_only_the_last);
	tcase_add_test(tc, a_lack_of_memory_is_reported_and_nothing_written);
	tcase_add_test(tc, more_bits_than_a_chunk_holds_are_exported_in_several);
	suite_add_tcase(s, tc);
	code = run_suite(s);
	free(json);
	return code;
}
