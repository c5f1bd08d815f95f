/*
 * stream.c - stages that bytes pass through: output reads back, and any input in any pieces ends in
 * an orderly way
 */
#include "bloomery.h"
#include "stream/stream.h"
#include "suite.h"

#include <limits.h>

#define MI (1 << 20)

static const struct blm_stage *const b64 = &blm_stage_base64, *const zl = &blm_stage_zlib,
				     *const zs = &blm_stage_zstd;

/* Stages from the file up, NULL at the end. */
static const struct stack { const char *name; const struct blm_stage *stages[5];
} stacks[] = {
	{ "base64", { &blm_stage_base64 } },
	{ "zlib", { &blm_stage_zlib } },
	{ "zstd", { &blm_stage_zstd } },
	{ "base64 of zlib of base64 of zlib",
	  { &blm_stage_base64, &blm_stage_zlib, &blm_stage_base64, &blm_stage_zlib } },
};

static const size_t chunks[] = { 1, 3, 7, 4096, MI };

/* ---- Helpers ---- */

/* a caller's function that hands out `chunk` bytes at a time, and then `end` */
struct pieces {
	const uint8_t *bytes;
	size_t count, chunk;
	int64_t end;
	unsigned calls;
};

static int64_t next_piece(void *context, void *buffer, size_t bytes)
{
	struct pieces *p = context;
	size_t count = p->count < p->chunk ? p->count : p->chunk;

	p->calls++;
	if (count > bytes)
		count = bytes;
	if (!count)
		return p->end;
	memcpy(buffer, p->bytes, count);
	p->bytes += count;
	p->count -= count;
	return (int64_t)count;
}

static struct blm_reader *reader_of(const struct stack *stack, struct pieces *p)
{
	struct blm_reader *top;

	ck_assert_int_eq(blm_reader_calls(&top, next_piece, p, "old.txt"), 0);
	for (const struct blm_stage *const *s = stack->stages; *s; s++)
		ck_assert_msg(blm_reader_stage(&top, *s, "old.txt") == 0, "%s",
			      blm_error_message());
	return top;
}

/* Reads to the end; the last answer, 0 or the failure. */
static int64_t read_to_end(struct blm_reader *reader, size_t chunk, struct blm_buffer *ret)
{
	uint8_t *buffer = malloc(chunk);
	struct blm_writer *into;
	int64_t r;

	ck_assert_int_eq(blm_writer_memory(&into, ret), 0);
	/* asserting each time would take minutes */
	while ((r = reader->read(reader, buffer, chunk)) > 0)
		if ((size_t)r > chunk || into->write(into, buffer, (size_t)r) < 0)
			ck_abort();
	blm_writer_close(into);
	free(buffer);
	return r;
}

static int64_t decoded(const struct stack *stack, const void *bytes, size_t count, size_t chunk,
		       struct blm_buffer *ret)
{
	struct pieces p = { bytes, count, chunk };
	struct blm_reader *top = reader_of(stack, &p);
	int64_t r;

	*ret = (struct blm_buffer){ 0 };
	r = read_to_end(top, chunk, ret);
	ck_assert_ptr_null(blm_reader_close(top));
	return r;
}

static struct blm_buffer encoded(const struct stack *stack, int level, const uint8_t *bytes,
				 size_t count, size_t chunk)
{
	struct blm_buffer memory = { 0 };
	struct blm_writer *top;

	ck_assert_int_eq(blm_writer_memory(&top, &memory), 0);
	for (const struct blm_stage *const *s = stack->stages; *s; s++)
		ck_assert_msg(blm_writer_stage(&top, *s, level) == 0, "%s", blm_error_message());
	for (size_t at = 0; at < count; at += chunk)
		if (top->write(top, bytes + at, chunk < count - at ? chunk : count - at) < 0)
			ck_abort();
	ck_assert_int_eq(top->finish(top), 0);
	ck_assert_ptr_null(blm_writer_close(top));
	return memory;
}

static bool same(struct blm_buffer a, const void *bytes, size_t count)
{
	return a.count == count && (!count || !memcmp(a.bytes, bytes, count));
}

static uint8_t *some_bytes(size_t count, bool zeros)
{
	uint8_t *bytes = calloc(1, count + 8);
	uint64_t state = count, word;

	for (size_t i = 0; i < count && !zeros; i += 8) {
		word = next_random(&state);
		memcpy(bytes + i, &word, 8);
	}
	return bytes;
}

/*
 * What one stage makes of a text, in pieces of every size: the same for all (but how much comes
 * before a failure).
 */
static int64_t text_of(const struct blm_stage *stage, const void *bytes, size_t count,
		       struct blm_buffer *ret)
{
	struct stack stack = { "", { stage } };
	int64_t r = decoded(&stack, bytes, count, MI, ret);

	for (size_t i = 0; i + 1 < ARRAY_LEN(chunks); i++) {
		struct blm_buffer again;

		ck_assert_int_eq(decoded(&stack, bytes, count, chunks[i], &again), r);
		ck_assert(r < 0 || same(again, ret->bytes, ret->count));
		free(again.bytes);
	}
	return r;
}

static void reads(const struct blm_stage *stage, const void *bytes, size_t count,
		  const void *expected, size_t expected_count)
{
	struct blm_buffer memory;

	ck_assert_msg(text_of(stage, bytes, count, &memory) == 0, "%s", blm_error_message());
	ck_assert_msg(same(memory, expected, expected_count), "%.*s", (int)count,
		      (const char *)bytes);
	free(memory.bytes);
}

static void refuses(const struct blm_stage *stage, const void *bytes, size_t count,
		    const char *words)
{
	struct blm_buffer memory;

	ck_assert_int_eq(text_of(stage, bytes, count, &memory), -EBADMSG);
	ck_assert_msg(!strncmp(blm_error_message(), "old.txt: ", 9)
			      && strstr(blm_error_message(), words),
		      "%s, not %s", blm_error_message(), words);
	free(memory.bytes);
}

/* ---- All stages ---- */

static void round_trip(const struct stack *stack, size_t count, bool zeros, size_t chunk)
{
	uint8_t *bytes = some_bytes(count, zeros);
	struct blm_buffer there = encoded(stack, 1, bytes, count, chunk), back;

	ck_assert_msg(decoded(stack, there.bytes, there.count, chunk, &back) == 0, "%s",
		      blm_error_message());
	ck_assert_msg(same(back, bytes, count), "%s, %zu bytes in pieces of %zu", stack->name,
		      count, chunk);
	free(there.bytes);
	free(back.bytes);
	free(bytes);
}

START_TEST(output_of_any_size_is_read_back)
{
	static const size_t more[] = { 3071,  3072,  3073,  4095,  4096, 32767,
				       32768, 32769, 65535, 65536, 65537 };

	for (size_t i = 0; i < ARRAY_LEN(chunks); i++)
		for (size_t count = 0; count <= 70; count++) {
			round_trip(&stacks[_i], count, false, chunks[i]);
			round_trip(&stacks[_i], count, true, chunks[i]);
		}
	for (size_t i = 0; i < ARRAY_LEN(chunks); i++)
		for (size_t j = 0; j < ARRAY_LEN(more); j++) {
			round_trip(&stacks[_i], more[j], false, chunks[i]);
			round_trip(&stacks[_i], more[j], true, chunks[i]);
		}
}
END_TEST

START_TEST(output_is_read_back_in_pieces_of_any_size)
{
	size_t count = (size_t)(5 * MI * test_scale());

	for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
		round_trip(&stacks[_i], count, false, chunks[i]);
		round_trip(&stacks[_i], count, true, chunks[i]);
	}
}
END_TEST

START_TEST(the_output_does_not_depend_on_the_pieces)
{
	uint8_t *bytes = some_bytes(200000, false);
	struct blm_buffer whole;

	for (size_t i = 0; i < 200000; i++)
		bytes[i] &= 0x11;	/* or there would be nothing to choose */
	for (int level = 0; level <= 9; level += 3) {
		whole = encoded(&stacks[_i], level, bytes, 200000, MI);
		for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
			struct blm_buffer again;

			/* every size with two of the four levels */
			if (test_scale() < 1 && (i + (size_t)level / 3) % 2)
				continue;
			again = encoded(&stacks[_i], level, bytes, 200000, chunks[i]);

			ck_assert(same(again, whole.bytes, whole.count));
			free(again.bytes);
		}
		free(whole.bytes);
	}
	free(bytes);
}
END_TEST

START_TEST(a_truncated_stream_gives_its_beginning_and_an_error)
{
	uint8_t *bytes = some_bytes(300, false);
	struct blm_buffer there = encoded(&stacks[_i], 6, bytes, 300, MI), back;

	for (size_t count = 0; count < there.count; count++) {
		int64_t r = decoded(&stacks[_i], there.bytes, count, 7, &back);

		ck_assert_uint_le(back.count, 300);
		ck_assert(!back.count || !memcmp(back.bytes, bytes, back.count));
		/* base64 may end between groups, and without its padding */
		if (_i == 0 && count % 4 != 1)
			ck_assert_int_eq(r, 0);
		else
			ck_assert_msg(r == -EBADMSG && strstr(blm_error_message(), "truncated"),
				      "%s at %zu: %s", stacks[_i].name, count, blm_error_message());
		free(back.bytes);
	}
	free(there.bytes);
	free(bytes);
}
END_TEST

START_TEST(reading_any_bytes_ends)
{
	uint64_t state = (uint64_t)_i;
	uint8_t *bytes = some_bytes(5000, false);
	struct blm_buffer there, back;

	memset(bytes, 0, 2500);
	there = encoded(&stacks[_i], 6, bytes, 5000, MI);
	for (unsigned i = 0; i < 2000 * test_scale(); i++) {
		uint8_t *broken = malloc(there.count);
		int64_t r;

		memcpy(broken, there.bytes, there.count);
		for (unsigned flips = 1 + i % 4; flips; flips--)
			broken[next_random(&state) % (i % 2 ? there.count : 40)] ^=
				(uint8_t)(1 << next_random(&state) % 8);
		r = decoded(&stacks[_i], broken, there.count, 1000, &back);
		ck_assert(r == 0 || r == -EBADMSG);
		free(back.bytes);
		free(broken);
	}
	free(there.bytes);
	free(bytes);
}
END_TEST

START_TEST(a_failure_stays_with_its_words)
{
	uint8_t *bytes = some_bytes(300, false), buffer[400];
	struct blm_buffer there = encoded(&stacks[_i], 6, bytes, 300, MI);
	struct pieces p = { there.bytes, there.count / 8 * 4 + 1, 100 };
	struct blm_reader *top = reader_of(&stacks[_i], &p);
	char reason[200];
	unsigned calls;

	ck_assert_int_eq(blm_read_full(top, buffer, 400), -EBADMSG);
	snprintf(reason, sizeof(reason), "%s", blm_error_message());
	calls = p.calls;
	for (unsigned i = 0; i < 3; i++) {
		blm_fail(-EINVAL, "something else");
		ck_assert_int_eq(top->read(top, buffer, 1), -EBADMSG);
		ck_assert_str_eq(blm_error_message(), reason);
	}
	ck_assert_uint_eq(p.calls, calls);
	blm_reader_close(top);
	free(there.bytes);
	free(bytes);
}
END_TEST

START_TEST(a_source_failure_is_returned_and_stays)
{
	uint8_t *bytes = some_bytes(100000, false), *buffer = malloc(100000);
	struct blm_buffer there = encoded(&stacks[_i], 6, bytes, 100000, MI);
	struct pieces p = { there.bytes, 90000, 5000, -ENXIO };
	struct blm_reader *top = reader_of(&stacks[_i], &p);
	unsigned calls;
	int64_t r, count = 0;

	while ((r = top->read(top, buffer, 1000)) > 0) {
		ck_assert_mem_eq(buffer, bytes + count, r);
		count += r;
	}
	ck_assert_int_eq(r, -ENXIO);
	ck_assert_int_gt(count, 40000);
	calls = p.calls;
	ck_assert_int_eq(top->read(top, buffer, 1), -ENXIO);
	ck_assert_str_eq(blm_error_message(), "old.txt: cannot read: No such device or address");
	ck_assert_uint_eq(p.calls, calls);
	blm_reader_close(top);
	free(there.bytes);
	free(bytes);
	free(buffer);
}
END_TEST

static int accept_some(void *context, const void *bytes, size_t count)
{
	size_t *capacity = context;

	if (count > *capacity)
		return -ENOSPC;
	*capacity -= count;
	return 0;
}

START_TEST(a_failure_to_write_stays_and_is_not_tried_again)
{
	uint8_t *bytes = some_bytes(MI, false);
	struct blm_writer *top;
	size_t capacity = 200000;

	ck_assert_int_eq(blm_writer_calls(&top, accept_some, &capacity, "new.txt"), 0);
	for (const struct blm_stage *const *s = stacks[_i].stages; *s; s++)
		ck_assert_int_eq(blm_writer_stage(&top, *s, 1), 0);
	ck_assert_int_eq(top->write(top, bytes, 1000), 0);
	ck_assert_int_eq(top->write(top, bytes, MI), -ENOSPC);
	capacity = MI * 10;
	blm_fail(-EINVAL, "something else");
	ck_assert_int_eq(top->write(top, bytes, 1), -ENOSPC);
	ck_assert_str_eq(blm_error_message(), "new.txt: cannot write: No space left on device");
	ck_assert_int_eq(top->finish(top), -ENOSPC);
	ck_assert_uint_eq(capacity, MI * 10);
	blm_writer_close(top);
	free(bytes);
}
END_TEST

START_TEST(a_finished_writer_refuses_data_and_ends_once)
{
	struct blm_buffer memory = { 0 };
	struct blm_writer *top;
	size_t count;

	ck_assert_int_eq(blm_writer_memory(&top, &memory), 0);
	for (const struct blm_stage *const *s = stacks[_i].stages; *s; s++)
		ck_assert_int_eq(blm_writer_stage(&top, *s, 1), 0);
	ck_assert_int_eq(top->write(top, "abc", 3), 0);
	ck_assert_int_eq(top->finish(top), 0);
	count = memory.count;
	ck_assert_int_eq(top->finish(top), 0);
	ck_assert_int_eq(top->write(top, "abc", 3), -EINVAL);
	ck_assert_uint_eq(memory.count, count);
	blm_writer_close(top);
	free(memory.bytes);
}
END_TEST

START_TEST(a_chain_may_be_closed_half_way)
{
	uint8_t *bytes = some_bytes(MI, false), buffer[100];
	struct blm_buffer there = encoded(&stacks[_i], 1, bytes, MI, MI), memory = { 0 };
	struct pieces p = { there.bytes, there.count, 1000 };
	struct blm_reader *reader = reader_of(&stacks[_i], &p);
	struct blm_writer *writer;

	ck_assert_int_eq(blm_read_full(reader, buffer, sizeof(buffer)), sizeof(buffer));
	ck_assert_mem_eq(buffer, bytes, sizeof(buffer));
	blm_reader_close(reader);
	ck_assert_int_eq(blm_writer_memory(&writer, &memory), 0);
	for (const struct blm_stage *const *s = stacks[_i].stages; *s; s++)
		ck_assert_int_eq(blm_writer_stage(&writer, *s, 1), 0);
	ck_assert_int_eq(writer->write(writer, bytes, MI), 0);
	blm_writer_close(writer);
	ck_assert_ptr_null(blm_writer_close(NULL));
	ck_assert_ptr_null(blm_reader_close(NULL));
	free(memory.bytes);
	free(there.bytes);
	free(bytes);
}
END_TEST

START_TEST(an_invalid_compression_level_leaves_nothing)
{
	static const struct { const struct blm_stage *stage; int level, r;
	} cases[] = {
		{ &blm_stage_zlib, -1, 0 },	  { &blm_stage_zlib, 0, 0 },
		{ &blm_stage_zlib, 9, 0 },	  { &blm_stage_zlib, 10, -EINVAL },
		{ &blm_stage_zlib, -2, -EINVAL }, { &blm_stage_zstd, 0, 0 },
		{ &blm_stage_zstd, 22, 0 },	  { &blm_stage_zstd, -5, 0 },
		{ &blm_stage_zstd, 23, -EINVAL }, { &blm_stage_zstd, -200000, -EINVAL },
		{ &blm_stage_base64, 99, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct blm_buffer memory = { 0 };
		struct blm_writer *top;

		ck_assert_int_eq(blm_writer_memory(&top, &memory), 0);
		ck_assert_int_eq(blm_writer_stage(&top, cases[i].stage, cases[i].level),
				 cases[i].r);
		ck_assert((top == NULL) == (cases[i].r < 0));
		blm_writer_close(top);
		free(memory.bytes);
	}
}
END_TEST

/* ---- Base64 ---- */

#define TEXT "Bloom filters, 1970."	/* in Python's base64, zlib and in the program zstd: */
#define TEXT_BASE64 "Qmxvb20gZmlsdGVycywgMTk3MC4="
#define TEXT_STACK "eNpL9SuoqizOC6gyDPOstCgvCA42KDTMcS0vcQk0NnD0dQwuMHGPSLe1BQAm3w18"
#define TEXT_ZLIB \
	"\x78\xda\x73\xca\xc9\xcf\xcf\x55\x48\xcb\xcc\x29\x49\x2d\x2a\xd6\x51\x30\xb4\x34\x37\xd0" \
	"\x03\x00\x4a\x9e\x06\x5e"
#define TEXT_GZIP \
	"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x73\xca\xc9\xcf\xcf\x55\x48\xcb\xcc\x29\x49\x2d" \
	"\x2a\xd6\x51\x30\xb4\x34\x37\xd0\x03\x00" \
	"\xc0\x20\x42\x0e\x14\x00\x00\x00"
#define TEXT_ZSTD "\x28\xb5\x2f\xfd\x24\x14\xa1\x00\x00" TEXT "\x30\xbb\x08\x16"
#define TEXT_ZSTD_UNCHECKED "\x28\xb5\x2f\xfd\x20\x14\xa1\x00\x00" TEXT

#define LEN(literal) (sizeof(literal) - 1)

START_TEST(base64_gives_the_known_answers)
{
	static const struct { const char *text, *plain;
	} known[] = {
		/* RFC 4648, section 10 */
		{ "", "" },
		{ "Zg==", "f" },
		{ "Zm8=", "fo" },
		{ "Zm9v", "foo" },
		{ "Zm9vYg==", "foob" },
		{ "Zm9vYmE=", "fooba" },
		{ "Zm9vYmFy", "foobar" },
		{ TEXT_BASE64, TEXT },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		struct blm_buffer m = encoded(&stacks[0], 0, (const uint8_t *)known[i].plain,
					      strlen(known[i].plain), 1);

		ck_assert(same(m, known[i].text, strlen(known[i].text)));
		free(m.bytes);
		reads(b64, known[i].text, strlen(known[i].text), known[i].plain,
		      strlen(known[i].plain));
	}
	reads(b64, "/+7cAA", 6, "\xff\xee\xdc\x00", 4);
}
END_TEST

START_TEST(base64_skips_other_characters_as_python_does)
{
	static const struct {
		const char *text;
		size_t count;
		const char *plain;
		size_t plain_count;
	} cases[] = {
#define CASE(text, plain) { text, LEN(text), plain, LEN(plain) }
		CASE("Q-U_J\0D", "ABC"),
		CASE("QU\r\nJD \tRA\n==\n", "ABCD"),
		CASE("\xff"
		     "QUJD\x80",
		     "ABC"),
		CASE("  \n", ""),
		CASE("QR==", "A"),
		CASE("QUJ=", "AB"),
		CASE("QUF=QUJD", "AA"),
		CASE("QQ==QUJD", "A"),
		CASE("QQ\n=\n=\nQUJD", "A"),
		CASE("QQ=-=QUJD", "A"),
		CASE("QQ=QQ==", "A\x04\x10"),
		CASE("Q=QJD", "A\x02"
			      "C"),
		CASE("=QUJD", "ABC"),
		CASE("====", ""),
		CASE("QUJD====QUJD", "ABCABC"),
		CASE("'QUJD',", "ABC"),
#undef CASE
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		reads(b64, cases[i].text, cases[i].count, cases[i].plain, cases[i].plain_count);
}
END_TEST

START_TEST(base64_passes_over_line_breaks_as_source_code_has_them)
{
	static const char *const texts[] = {
		"QU\\nJD",   "Q\\r\\nUJD", "QUJ\\tD", "QUJD\\n",    "QUJD\\",	     "\\nQUJD",
		"\\\\nQUJD", "QU\\\nJD",   "\\QUJD",  "QUJ\\\\\\D", "Q\\n\\n\\nUJD",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		reads(b64, texts[i], strlen(texts[i]), "ABC", 3);
	reads(b64, "\\aUJD", 5, "iBC", 3);
}
END_TEST

START_TEST(base64_needs_no_padding_but_two_characters_of_a_group)
{
	reads(b64, "QUJDRA", 6, "ABCD", 4);
	reads(b64, "QUJDRA=", 7, "ABCD", 4);
	reads(b64, "QUJDREU\n", 8, "ABCDE", 5);
	refuses(b64, "QUJDR", 5, "base64 ends in the middle of a group; it is truncated");
	refuses(b64, "Q", 1, "it is truncated");
	refuses(b64, "Q===", 4, "it is truncated");
	refuses(b64, "QQ=QUJ", 6, "it is truncated");
}
END_TEST

START_TEST(bytes_after_the_padding_are_not_read)
{
	static const char text[] = "QUJDRA==";
	struct pieces p = { (const uint8_t *)text, LEN(text), 1, -EIO };
	struct blm_reader *top = reader_of(&stacks[0], &p);
	char buffer[10];

	ck_assert_int_eq(blm_read_full(top, buffer, 10), 4);
	ck_assert_uint_eq(p.calls, LEN(text));
	ck_assert_int_eq(top->read(top, buffer, 10), 0);
	ck_assert_uint_eq(p.calls, LEN(text));
	blm_reader_close(top);
}
END_TEST

START_TEST(megabytes_outside_the_alphabet_take_no_longer_than_others)
{
	static const char drops[] = { '\n', '=', '\\' };
	size_t count = 32 * MI;
	char *text = malloc(count);

	for (size_t i = 0; i < ARRAY_LEN(drops); i++) {
		struct blm_buffer m;
		double t;

		memset(text, drops[i], count);
		memcpy(text + count - 4, "QUJD", 4);
		t = seconds();
		ck_assert_int_eq(decoded(&stacks[0], text, count, MI, &m), 0);
		ck_assert_double_lt(seconds() - t, TOO_LONG);
		ck_assert(same(m, "ABC", 3));
		free(m.bytes);
	}
	free(text);
}
END_TEST

/* ---- Zlib ---- */

START_TEST(zlib_gives_the_known_answers)
{
	struct blm_buffer m = encoded(&stacks[1], 9, (const uint8_t *)TEXT, LEN(TEXT), 1);

	ck_assert(same(m, TEXT_ZLIB, LEN(TEXT_ZLIB)));
	free(m.bytes);
	reads(zl, TEXT_ZLIB, LEN(TEXT_ZLIB), TEXT, LEN(TEXT));
	m = encoded(&stacks[3], 9, (const uint8_t *)TEXT, LEN(TEXT), 3);
	ck_assert(same(m, TEXT_STACK, LEN(TEXT_STACK)));
	free(m.bytes);
	ck_assert_int_eq(decoded(&stacks[3], TEXT_STACK, LEN(TEXT_STACK), 1, &m), 0);
	ck_assert(same(m, TEXT, LEN(TEXT)));
	free(m.bytes);
}
END_TEST

START_TEST(bytes_after_zlibs_data_are_not_read)
{
	struct pieces p = { (const uint8_t *)TEXT_ZLIB, LEN(TEXT_ZLIB), 1, -EIO };
	struct blm_reader *top = reader_of(&stacks[1], &p);
	char buffer[100];

	reads(zl, TEXT_ZLIB "and more", LEN(TEXT_ZLIB) + 8, TEXT, LEN(TEXT));
	ck_assert_int_eq(blm_read_full(top, buffer, 100), LEN(TEXT));
	ck_assert_int_eq(top->read(top, buffer, 10), 0);
	ck_assert_uint_eq(p.calls, LEN(TEXT_ZLIB));
	blm_reader_close(top);
}
END_TEST

START_TEST(invalid_zlib_data_is_refused_in_zlibs_words)
{
	char text[] = TEXT_ZLIB;

	refuses(zl, "", 0, "the zlib data ends too early; it is truncated");
	refuses(zl, "\x1f\x8b\x08\x00", 4, "incorrect header check");
	refuses(zl, "\x78\xda\xff", 3, "invalid block type");
	text[LEN(text) - 1] ^= 1;
	refuses(zl, text, LEN(text), "incorrect data check");
	refuses(zl, "\x78\xf9\x0b\xb9\x02\xfa\x73\xca\xc9", 9, "needs a dictionary");
}
END_TEST

/* ---- Gzip ---- */

START_TEST(gzip_is_all_its_members_and_zeros_behind_them)
{
	const struct blm_stage *gz = &blm_stage_gzip;
	char text[] = TEXT_GZIP TEXT_GZIP;

	reads(gz, TEXT_GZIP, LEN(TEXT_GZIP), TEXT, LEN(TEXT));
	reads(gz, text, LEN(text), TEXT TEXT, LEN(TEXT TEXT));
	reads(gz, TEXT_GZIP "\0\0\0", LEN(TEXT_GZIP) + 3, TEXT, LEN(TEXT));
	refuses(gz, TEXT_GZIP "x", LEN(TEXT_GZIP) + 1, "something else follows the gzip data");
	refuses(gz, TEXT_GZIP "\0x", LEN(TEXT_GZIP) + 2, "something else follows the gzip data");
	refuses(gz, TEXT_GZIP "\x1f", LEN(TEXT_GZIP) + 1,
		"the gzip data ends too early; it is truncated");
	refuses(gz, text, LEN(text) - 1, "the gzip data ends too early; it is truncated");
	refuses(gz, TEXT_GZIP "\x1fx", LEN(TEXT_GZIP) + 2, "incorrect header check");
	text[LEN(text) - 5] ^= 1;
	refuses(gz, text, LEN(text), "incorrect data check");
	refuses(gz, "", 0, "the gzip data ends too early; it is truncated");
}
END_TEST

/* A member of nothing is 20 bytes. */
START_TEST(gzip_without_content_ends_after_a_mebibyte)
{
	static const char empty[] = "\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0";
	enum { MEMBERS = ((1 << 20) - LEN(TEXT_GZIP)) / LEN(empty) };
	const size_t capacity = LEN(TEXT_GZIP) + (2 << 20);
	char *text = calloc(1, capacity);

	memcpy(text, TEXT_GZIP, LEN(TEXT_GZIP));
	reads(&blm_stage_gzip, text, 1 << 20, TEXT, LEN(TEXT));
	refuses(&blm_stage_gzip, text, capacity,
		"more than a MiB of the gzip data is empty");
	for (int i = 0; i < 2 * MEMBERS; i++)
		memcpy(text + LEN(TEXT_GZIP) + i * LEN(empty), empty, LEN(empty));
	reads(&blm_stage_gzip, text, LEN(TEXT_GZIP) + MEMBERS * LEN(empty), TEXT, LEN(TEXT));
	refuses(&blm_stage_gzip, text, LEN(TEXT_GZIP) + 2 * MEMBERS * LEN(empty),
		"more than a MiB of the gzip data is empty");
	free(text);
}
END_TEST

/* ---- Zstd ---- */

START_TEST(zstd_gives_the_known_answers)
{
	struct blm_buffer m = encoded(&stacks[2], 3, (const uint8_t *)TEXT, LEN(TEXT), 1);

	ck_assert(same(m, TEXT_ZSTD, LEN(TEXT_ZSTD)));
	free(m.bytes);
	reads(zs, TEXT_ZSTD, LEN(TEXT_ZSTD), TEXT, LEN(TEXT));
	reads(zs, TEXT_ZSTD_UNCHECKED, LEN(TEXT_ZSTD_UNCHECKED), TEXT, LEN(TEXT));
}
END_TEST

START_TEST(zstd_reads_all_the_frames_and_skips_the_skippable)
{
#define FRAMES TEXT_ZSTD "\x5f\x2a\x4d\x18\x03\x00\x00\x00" "abc" TEXT_ZSTD_UNCHECKED

	reads(zs, FRAMES, LEN(FRAMES), TEXT TEXT, LEN(TEXT TEXT));
}
END_TEST

START_TEST(invalid_or_excessive_zstd_data_is_refused)
{
	char text[] = TEXT_ZSTD;

	refuses(zs, "", 0, "the zstd data ends too early; it is truncated");
	refuses(zs, "x", 1, "not zstd data");
	/* version 0.5 */
	refuses(zs, "\x25\xb5\x2f\xfd\x00\x00\x00\x00\x00\x00\x00", 11, "not zstd data");
	/* nearly skippable */
	refuses(zs, "\x5f\x2a\x4d\x19\x03\x00\x00\x00" "abc", 11, "not zstd data");
	refuses(zs, TEXT_ZSTD "x", LEN(TEXT_ZSTD "x"), "something else follows the zstd data");
	refuses(zs, TEXT_ZSTD "\x28\xb5\x2f\xff", LEN(TEXT_ZSTD) + 4,
		"something else follows the zstd data");
	refuses(zs, TEXT_ZSTD "\x28\xb5", LEN(TEXT_ZSTD) + 2, "it is truncated");
	text[LEN(text) - 1] ^= 1;
	refuses(zs, text, LEN(text), "doesn't match checksum");
	/* 2^24 */
	refuses(zs, "\x28\xb5\x2f\xfd\x00\x70\x01\x00\x00", 9, "a window of more than 8 MiB");
	/* 2^23 */
	reads(zs, "\x28\xb5\x2f\xfd\x00\x68\x01\x00\x00", 9, "", 0);
	refuses(zs, "\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\x00\x01\x00\x00", 16,
		"a window of more than 8 MiB");
}
END_TEST

/* ---- Bombs ---- */

START_TEST(the_beginning_of_a_bomb_stays_cheap)
{
	size_t count = (size_t)64 * MI;
	uint8_t *zeros = calloc(1, count);
	struct blm_buffer whole = encoded(&stacks[3], 9, zeros, count, MI);
	struct pieces p = { whole.bytes, whole.count, MI };
	struct blm_reader *top = reader_of(&stacks[3], &p);
	uint8_t buffer[1280];
	double t = seconds();

	ck_assert_int_eq(blm_read_full(top, buffer, sizeof(buffer)), sizeof(buffer));
	ck_assert_mem_eq(buffer, zeros, sizeof(buffer));
	blm_reader_close(top);
	ck_assert_double_lt(seconds() - t, TOO_LONG);
	free(whole.bytes);
	free(zeros);
}
END_TEST

/* ---- Ends, and looking ahead ---- */

START_TEST(memory_reads_as_it_is)
{
	struct blm_reader *top;
	char buffer[10];

	ck_assert_int_eq(blm_reader_memory(&top, "abcde", 5), 0);
	ck_assert_int_eq(top->read(top, buffer, 2), 2);
	ck_assert_int_eq(blm_read_full(top, buffer + 2, 8), 3);
	ck_assert_mem_eq(buffer, "abcde", 5);
	ck_assert_int_eq(top->read(top, buffer, 2), 0);
	blm_reader_close(top);
	ck_assert_int_eq(blm_reader_memory(&top, NULL, 0), 0);
	ck_assert_int_eq(blm_read_full(top, buffer, 2), 0);
	blm_reader_close(top);
}
END_TEST

static int64_t too_many(void *context, void *buffer, size_t bytes)
{
	return (int64_t)bytes + 1;
}

static int64_t too_bad(void *context, void *buffer, size_t bytes)
{
	return INT64_MIN;
}

START_TEST(a_callers_function_that_answers_nonsense_is_a_failure)
{
	struct blm_reader *top;
	char buffer[10];

	ck_assert_int_eq(blm_reader_calls(&top, too_many, NULL, "old.txt"), 0);
	ck_assert_int_eq(top->read(top, buffer, 10), -EIO);
	blm_reader_close(top);
	ck_assert_int_eq(blm_reader_calls(&top, too_bad, NULL, "old.txt"), 0);
	ck_assert_int_eq(top->read(top, buffer, 10), -EIO);
	blm_reader_close(top);
}
END_TEST

START_TEST(a_failed_callback_is_not_called_again)
{
	struct pieces p = { (const uint8_t *)"abc", 3, 3, -ENXIO };
	struct blm_reader *reader;
	struct blm_writer *writer;
	size_t space = 3;
	char buffer[10];

	ck_assert_int_eq(blm_reader_calls(&reader, next_piece, &p, "old.txt"), 0);
	ck_assert_int_eq(reader->read(reader, buffer, 0), 0);
	ck_assert_uint_eq(p.calls, 0);
	ck_assert_int_eq(reader->read(reader, buffer, 10), 3);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(reader->read(reader, buffer, 10), -ENXIO);
	ck_assert_uint_eq(p.calls, 2);
	blm_reader_close(reader);
	ck_assert_int_eq(blm_writer_calls(&writer, accept_some, &space, "new.txt"), 0);
	ck_assert_int_eq(writer->write(writer, NULL, 0), 0);
	ck_assert_int_eq(writer->write(writer, "abcd", 4), -ENOSPC);
	ck_assert_int_eq(writer->write(writer, "abc", 3), -ENOSPC);
	ck_assert_int_eq(writer->finish(writer), -ENOSPC);
	ck_assert_uint_eq(space, 3);
	blm_writer_close(writer);
}
END_TEST

static int answer_nonsense(void *context, const void *bytes, size_t count)
{
	return INT_MIN;
}

START_TEST(a_size_above_all_memory_is_refused_without_loss)
{
	struct blm_buffer memory = { 0 };
	struct blm_writer *top;

	ck_assert_int_eq(blm_writer_memory(&top, &memory), 0);
	ck_assert_int_eq(top->write(top, "abc", 3), 0);
	ck_assert_int_eq(top->write(top, "abc", SIZE_MAX - 1), -ENOMEM);
	ck_assert_int_eq(top->write(top, NULL, 0), 0);
	ck_assert(same(memory, "abc", 3));
	blm_writer_close(top);
	free(memory.bytes);
	ck_assert_int_eq(blm_writer_calls(&top, answer_nonsense, NULL, "new.txt"), 0);
	ck_assert_int_eq(top->write(top, "abc", 3), -EIO);
	blm_writer_close(top);
}
END_TEST

static int do_nothing(void *state, struct blm_in *in, struct blm_out *out, bool last,
		      const char *display)
{
	return 0;
}

START_TEST(a_stage_that_ignores_its_input_is_a_failure)
{
	static const struct blm_stage idle = { "idle",
					       { 1, NULL, do_nothing, NULL },
					       { 1, NULL, do_nothing, NULL } };
	struct blm_buffer memory = { 0 };
	struct blm_reader *reader;
	struct blm_writer *writer;
	char buffer[10];

	ck_assert_int_eq(blm_reader_memory(&reader, "abc", 3), 0);
	ck_assert_int_eq(blm_reader_stage(&reader, &idle, "old.txt"), 0);
	ck_assert_int_eq(reader->read(reader, buffer, 0), 0);
	ck_assert_int_eq(reader->read(reader, buffer, 10), -EBADMSG);
	blm_reader_close(reader);
	ck_assert_int_eq(blm_writer_memory(&writer, &memory), 0);
	ck_assert_int_eq(blm_writer_stage(&writer, &idle, 0), 0);
	ck_assert_int_eq(writer->write(writer, "abc", 3), 0);
	ck_assert_int_eq(writer->finish(writer), -EIO);
	blm_writer_close(writer);
	free(memory.bytes);
}
END_TEST

START_TEST(looking_ahead_consumes_nothing)
{
	uint8_t *bytes = some_bytes(10000, false), *buffer = malloc(10000);
	struct pieces p = { bytes, 10000, 7 };
	struct blm_reader *top;
	const uint8_t *seen;
	size_t at = 0;

	ck_assert_int_eq(blm_reader_calls(&top, next_piece, &p, "old.txt"), 0);
	ck_assert_int_eq(blm_reader_peeking(&top), 0);
	for (size_t i = 0; at < 10000; i++) {
		size_t bytes_ahead = i * 37 % (BLM_PEEK_MOST + 1),
		       there = bytes_ahead < 10000 - at ? bytes_ahead : 10000 - at;
		int64_t r;

		ck_assert_int_eq(blm_reader_peek(top, &seen, bytes_ahead), (int64_t)there);
		ck_assert(!there || !memcmp(seen, bytes + at, there));
		r = top->read(top, buffer + at, 1 + i * 13 % 100);
		ck_assert_int_gt(r, 0);
		at += (size_t)r;
		ck_assert_uint_le(at, 10000);
	}
	ck_assert_mem_eq(buffer, bytes, 10000);
	ck_assert_int_eq(blm_reader_peek(top, &seen, 5), 0);
	ck_assert_int_eq(top->read(top, buffer, 5), 0);
	blm_reader_close(top);
	free(bytes);
	free(buffer);
}
END_TEST

START_TEST(bytes_before_a_failure_can_still_be_read)
{
	struct blm_reader *top;
	const uint8_t *seen;
	char buffer[10];

	ck_assert_int_eq(blm_reader_memory(&top, "QUJDR", 5), 0);
	ck_assert_int_eq(blm_reader_stage(&top, b64, "old.txt"), 0);
	ck_assert_int_eq(blm_reader_peeking(&top), 0);
	ck_assert_int_eq(blm_reader_peek(top, &seen, 3), 3);
	ck_assert_int_eq(blm_reader_peek(top, &seen, 4), -EBADMSG);
	ck_assert_int_eq(top->read(top, buffer, 10), 3);
	ck_assert_mem_eq(buffer, "ABC", 3);
	ck_assert_int_eq(top->read(top, buffer, 10), -EBADMSG);
	blm_reader_close(top);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("stream");
	TCase *all = tcase_create("every stage"), *one = tcase_create("one stage"),
	      *ends = tcase_create("ends");
	int count = ARRAY_LEN(stacks);

	tcase_add_loop_test(all, output_of_any_size_is_read_back, 0, count);
	tcase_add_loop_test(all, output_is_read_back_in_pieces_of_any_size, 0, count);
	tcase_add_loop_test(all, the_output_does_not_depend_on_the_pieces, 0, count);
	tcase_add_loop_test(all,
			    a_truncated_stream_gives_its_beginning_and_an_error,
			    0, count - 1);
	tcase_add_loop_test(all, reading_any_bytes_ends, 0, count);
	tcase_add_loop_test(all, a_failure_stays_with_its_words, 0, count);
	tcase_add_loop_test(all, a_source_failure_is_returned_and_stays, 0, count);
	tcase_add_loop_test(all, a_failure_to_write_stays_and_is_not_tried_again, 0, count);
	tcase_add_loop_test(all, a_finished_writer_refuses_data_and_ends_once, 0, count);
	tcase_add_loop_test(all, a_chain_may_be_closed_half_way, 0, count);
	tcase_add_test(all, an_invalid_compression_level_leaves_nothing);
	tcase_add_test(one, base64_gives_the_known_answers);
	tcase_add_test(one, base64_skips_other_characters_as_python_does);
	tcase_add_test(one, base64_passes_over_line_breaks_as_source_code_has_them);
	tcase_add_test(one, base64_needs_no_padding_but_two_characters_of_a_group);
	tcase_add_test(one, bytes_after_the_padding_are_not_read);
	tcase_add_test(one, megabytes_outside_the_alphabet_take_no_longer_than_others);
	tcase_add_test(one, zlib_gives_the_known_answers);
	tcase_add_test(one, bytes_after_zlibs_data_are_not_read);
	tcase_add_test(one, gzip_is_all_its_members_and_zeros_behind_them);
	tcase_add_test(one, gzip_without_content_ends_after_a_mebibyte);
	tcase_add_test(one, invalid_zlib_data_is_refused_in_zlibs_words);
	tcase_add_test(one, zstd_gives_the_known_answers);
	tcase_add_test(one, zstd_reads_all_the_frames_and_skips_the_skippable);
	tcase_add_test(one, invalid_or_excessive_zstd_data_is_refused);
	tcase_add_test(one, the_beginning_of_a_bomb_stays_cheap);
	tcase_add_test(ends, memory_reads_as_it_is);
	tcase_add_test(ends, a_callers_function_that_answers_nonsense_is_a_failure);
	tcase_add_test(ends,
		       a_failed_callback_is_not_called_again);
	tcase_add_test(ends, a_size_above_all_memory_is_refused_without_loss);
	tcase_add_test(ends, a_stage_that_ignores_its_input_is_a_failure);
	tcase_add_test(ends, looking_ahead_consumes_nothing);
	tcase_add_test(ends,
		       bytes_before_a_failure_can_still_be_read);
	suite_add_tcase(s, all);
	suite_add_tcase(s, one);
	suite_add_tcase(s, ends);
	return run_suite(s);
}
