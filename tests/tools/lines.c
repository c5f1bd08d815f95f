/*
 * lines.c - lines, wherever the ends of blocks fall: the program's lines.c and output.c, with
 * blocks of 64 bytes
 */
#include "keys.h"
#include "lines.h"
#include "output.h"
#include "signals.h"

#include "suite.h"

#include <stdarg.h>
#include <unistd.h>

/* ---- In the place of the program's other files ---- */

static struct options { char end; bool lines, buffer, skips; } o;
/* given out in pieces of up to `most` */
static struct input { char *text; size_t bytes, at; unsigned most; } in;

char line_end(void) { return o.end; }
bool keys_are_lines(void) { return o.lines; }
bool keys_need_buffer(void) { return o.buffer; }
bool rows_end_in_cr(void) { return false; }
bool bad_lines_are_skipped(void) { return o.skips; }
void key_reader_free(struct json_reader *reader) { (void)reader; }
bool stopping(void) { return false; }
void stop_for(int signal) { (void)signal; }
void say(const char *format, ...) { (void)format; }
int broken(const char *format, ...) { (void)format; return FAILED; }

/*
 * A key is its line without its first byte, copied where it needs room; a line that begins with '!'
 * has none.
 */
const char *key_of(struct blm_key *ret, const struct blm_key *line, uint8_t *buffer,
		   struct json_reader **reader)
{
	const char *text = line->bytes;
	size_t cut = line->len > 0;

	(void)reader;
	if (cut && *text == '!')
		return "is wrong";
	*ret = (struct blm_key){ text + cut, line->len - cut };
	if (o.buffer && ret->len)
		ret->bytes = memcpy(buffer, text + cut, ret->len);
	return NULL;
}

const char *given_key_of(struct blm_key *ret, const struct blm_key *line, uint8_t *buffer)
{
	return key_of(ret, line, buffer, NULL);
}

const char *value_of(uint64_t *ret, const struct blm_key *line, char reason[WHY])
{
	(void)ret, (void)line, (void)reason;
	return "has none";
}

const char *given_value_of(uint64_t *ret, const struct given_key *key, char reason[WHY])
{
	(void)reason;
	*ret = strlen(key->value);
	return NULL;
}

ssize_t source_read(struct source *source, void *buffer, size_t bytes)
{
	size_t piece = 1 + (size_t)random() % in.most;

	(void)source;
	if (piece > bytes)
		piece = bytes;
	if (piece > in.bytes - in.at)
		piece = in.bytes - in.at;
	if (piece)
		memcpy(buffer, in.text + in.at, piece);
	in.at += piece;
	return (ssize_t)piece;
}

/* ---- Inputs that look random ---- */

/* Lines mostly short, some longer than many blocks; the last one with or without its end. */
static void make_input(unsigned lines)
{
	size_t capacity = 0;

	free(in.text);
	in = (struct input){ .most = 1U << random() % 12 };
	for (unsigned i = 0; i < lines; i++) {
		size_t len = (size_t)random() % (random() % 8 ? 5 : random() % 16 ? 70 : 2000);

		if (in.bytes + len + 1 > capacity)
			in.text = realloc(in.text, capacity = 2 * capacity + len + 1);
		ck_assert_ptr_nonnull(in.text);
		for (size_t j = 0; j < len; j++)
			in.text[in.bytes++] = (char)('a' + random() % 26);
		in.text[in.bytes++] = o.end;
	}
	if (random() % 2 && in.bytes > 1 && in.text[in.bytes - 2] != o.end)
		in.bytes--;
}

static void choose_options(void)
{
	o = (struct options){ .end = random() % 2 ? '\n' : '\0', .lines = random() % 2 };
	o.buffer = !o.lines && random() % 2;
}

/* One line of the input: [at, return), its end not in it. */
static size_t line_from(size_t at)
{
	while (at < in.bytes && in.text[at] != o.end)
		at++;
	return at;
}

static void is_line(const struct batch *b, size_t i, size_t at, size_t end)
{
	size_t cut = !o.lines && end > at;

	ck_assert_uint_eq(b->lines[i].len, end - at);
	ck_assert_mem_eq(b->lines[i].bytes, in.text + at, end - at);
	ck_assert_int_eq(((const char *)b->lines[i].bytes)[end - at], o.end);
	ck_assert_uint_eq(b->keys[i].len, end - at - cut);
	if (b->keys[i].len)
		ck_assert_mem_eq(b->keys[i].bytes, in.text + at + cut, b->keys[i].len);
}

enum { SLOTS = 3 };

/* Read the input batch by batch, as stream.c does, and look at each. */
static void each_of(void (*look)(struct batch *b))
{
	static struct batch slots[SLOTS];
	struct source source = { .name = "input" };
	int r = 1;

	for (size_t n = 0; r > 0; n++) {
		struct batch *b = &slots[n % SLOTS];

		r = batch_read(b, n ? &slots[(n - 1) % SLOTS] : NULL, &source);
		ck_assert_int_ge(r, 0);
		ck_assert_ptr_null(batch_split(b));
		look(b);
	}
	for (size_t i = 0; i < SLOTS; i++)
		batch_free(&slots[i]);
}

static size_t at;	/* how far look() has come in the input */

static void look_at_lines(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		size_t end = line_from(at);

		is_line(b, i, at, end);
		at = end + 1;
	}
}

START_TEST(every_line_and_key_is_found_across_blocks)
{
	srandom((unsigned)_i);
	choose_options();
	make_input((unsigned)random() % 400);
	at = 0;
	each_of(look_at_lines);
	ck_assert_uint_ge(at, in.bytes);
	ck_assert_uint_le(at, in.bytes + 1);
}
END_TEST

/* ---- Answers ---- */

static char *wanted;	/* what a plain loop over the input prints */
static size_t wanted_bytes, got_bytes;
static bool yes, dropping;

static void look_at_answers(struct batch *b)
{
	if (!b->count)
		return;
	memset(b->bits, 0, (b->count + 63) / 64 * 8);
	for (size_t i = 0; i < b->count; i++)
		b->bits[i / 64] |= (uint64_t)(b->lines[i].len % 3 == 0) << i % 64;
	if (dropping) {
		batch_drop(b);
		memset(b->bits, yes ? 0xff : 0, (b->count + 63) / 64 * 8);
	}
	for (size_t i = 0, part = 1 + (size_t)random() % 100; i < b->count; i += part) {
		struct batch some = dropping ? batch_part(b, i, part) : *b;

		gather_lines(&some, yes);
		ck_assert_uint_le(got_bytes + some.answer_bytes, wanted_bytes);
		if (some.answer_bytes)
			ck_assert_mem_eq(some.answer, wanted + got_bytes, some.answer_bytes);
		got_bytes += some.answer_bytes;
		if (!dropping)
			break;
	}
}

START_TEST(gathered_lines_are_those_that_a_loop_prints)
{
	srandom((unsigned)_i);
	choose_options();
	make_input((unsigned)random() % 400);
	dropping = random() % 2;
	yes = random() % 2;
	wanted = realloc(wanted, in.bytes + 1);
	wanted_bytes = got_bytes = 0;
	for (size_t from = 0; from < in.bytes; ) {
		size_t end = line_from(from);

		if (((end - from) % 3 == 0) == (dropping ? false : yes)) {
			memcpy(wanted + wanted_bytes, in.text + from, end - from);
			wanted_bytes += end - from;
			wanted[wanted_bytes++] = o.end;
		}
		from = end + 1;
	}
	each_of(look_at_answers);
	ck_assert_uint_eq(got_bytes, wanted_bytes);
}
END_TEST

START_TEST(lines_before_a_bad_one_are_present)
{
	struct batch slots[SLOTS] = { { 0 } };
	struct source source = { .name = "input" };
	const char *wrong = NULL;
	size_t before = 0;

	srandom((unsigned)_i);
	o = (struct options){ .end = '\n', .buffer = _i % 2 };
	free(in.text);
	in = (struct input){ .text = strdup("ab\nc\n\n!\nd\n"), .bytes = 11, .most = 11 };
	for (size_t n = 0; !wrong; n++) {
		ck_assert_int_eq(batch_read(&slots[n % SLOTS], n ? &slots[(n - 1) % SLOTS] : NULL,
					    &source),
				 1);
		wrong = batch_split(&slots[n % SLOTS]);
		ck_assert_uint_eq(slots[n % SLOTS].count, slots[n % SLOTS].read);
		before += slots[n % SLOTS].count;
	}
	ck_assert_str_eq(wrong, "is wrong");
	ck_assert_uint_eq(before, 3);
	for (size_t i = 0; i < SLOTS; i++)
		batch_free(&slots[i]);
}
END_TEST

/* Lines come in batches of any size, so each is identified by its number in the input. */
START_TEST(skipped_lines_are_counted_and_no_number_is_wrong)
{
	static const char *const numbers[] = { "input: line 1", "input: line 3", "input: line 4",
					       "input: line 7" };
	struct batch slots[SLOTS] = { { 0 } }, *b;
	struct source source = { .name = "input" };
	size_t left_out = 0, found = 0, first = 0;
	uint64_t line = 0;
	char where[WHERE];
	int more = 1;

	srandom((unsigned)_i);
	o = (struct options){ .end = '\n', .buffer = _i % 2, .skips = true };
	free(in.text);
	in = (struct input){ .text = strdup("ab\n!\nc\nd\n!\n!x\ne\n!\n"), .bytes = 18,
			     .most = 1 + (unsigned)_i };
	for (size_t n = 0; more > 0; n++) {
		b = &slots[n % SLOTS];
		more = batch_read(b, n ? &slots[(n - 1) % SLOTS] : NULL, &source);
		b->source = "input";
		b->line = line;
		ck_assert_ptr_null(batch_split(b));
		if (b->skipped && !left_out)
			first = line + b->first_skipped + 1;
		if (b->skipped)
			ck_assert_str_eq(b->why_skipped, "is wrong");
		for (size_t i = 0; i < b->count; i++)
			ck_assert_str_eq(batch_where(where, b, i), numbers[found++]);
		left_out += b->skipped;
		line += b->read + b->skipped;
		snprintf(where, sizeof(where), "input: line %d", (int)line + 1);
		ck_assert_str_eq(batch_where((char[WHERE]){ 0 }, b, b->read), where);
	}
	ck_assert_uint_eq(found, 4);
	ck_assert_uint_eq(left_out, 4);
	ck_assert_uint_eq(first, 2);
	for (size_t i = 0; i < SLOTS; i++)
		batch_free(&slots[i]);
}
END_TEST

START_TEST(a_refused_lines_number_counts_skipped_lines)
{
	struct source source = { .name = "input" };
	struct batch b = { 0 };
	char where[WHERE];

	o = (struct options){ .end = '\n', .skips = true };
	free(in.text);
	in = (struct input){ .text = strdup("!\nab\n!\nc\n!\n"), .bytes = 11, .most = 1 << 10 };
	while (batch_read(&b, NULL, &source) == 1 && b.used < 11)
		in.at = 0;
	b.source = "input";
	ck_assert_ptr_null(batch_split(&b));
	ck_assert_uint_eq(b.count, 2);
	ck_assert_uint_eq(b.skipped, 3);
	batch_refuse(&b, 1, "is refused");
	ck_assert_uint_eq(b.count, 1);
	ck_assert_uint_eq(b.skipped, 2);
	ck_assert_str_eq(batch_where(where, &b, b.read), "input: line 4");
	batch_free(&b);
}
END_TEST

START_TEST(given_keys_keep_the_ends_of_lines_in_them)
{
	char text[200];
	struct given_key keys[] = { { .text = "a\nb" },
				    { .text = "" },
				    { .text = "\n", .value = "12" },
				    { .text = text } };
	const struct given given = { .option = "--key", .keys = keys, .count = 4 };
	struct batch b = { 0 };
	char where[WHERE], reason[WHY];
	uint64_t value = 0;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	o = (struct options){ .end = '\n', .lines = _i % 2 };
	ck_assert(batch_give(&b, &given));
	ck_assert_ptr_null(batch_split(&b));
	ck_assert_uint_eq(b.count, 4);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(b.lines[i].len, strlen(keys[i].text));
		ck_assert_mem_eq(b.lines[i].bytes, keys[i].text, b.lines[i].len);
	}
	ck_assert_str_eq(batch_where(where, &b, 0), "--key a\nb");
	ck_assert_ptr_null(batch_value(&value, &b, 2, reason));
	ck_assert_uint_eq(value, 2);
	b.bits[0] = 5;
	gather_lines(&b, true);
	ck_assert_uint_eq(b.answer_bytes, 6);
	ck_assert_mem_eq(b.answer, "a\nb\n\n\n", 6);
	batch_free(&b);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("lines");
	TCase *tc = tcase_create("lines");

	tcase_add_loop_test(tc, every_line_and_key_is_found_across_blocks, 0, 500);
	tcase_add_loop_test(tc, gathered_lines_are_those_that_a_loop_prints, 0, 500);
	tcase_add_loop_test(tc, lines_before_a_bad_one_are_present, 0, 50);
	tcase_add_loop_test(tc, skipped_lines_are_counted_and_no_number_is_wrong, 0, 50);
	tcase_add_test(tc, a_refused_lines_number_counts_skipped_lines);
	tcase_add_loop_test(tc, given_keys_keep_the_ends_of_lines_in_them, 0, 2);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
