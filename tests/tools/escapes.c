/* escapes.c - texts that are shortened by pieces of their string of JSON: tools/corpus/escapes.c */
#include "corpus/result.h"

#include "suite.h"

enum { MOST = 300 };

static bool is_escaped(char c)
{
	return (unsigned char)c < ' ' || c == '"' || c == '\\';
}

/* As a string in which each escape takes two bytes. Return: its end */
static char *put_escaped(char *to, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (is_escaped(text[i]))
			*to++ = '\\';
		*to++ = is_escaped(text[i]) ? 'n' : text[i];
	}
	return to;
}

/* Escapes stand in the text, at both of its ends, and right behind it. */
static void put_text(char *text, size_t count)
{
	static const char some[] = "a\"\\\n\x1f !#[]\x7f\x80\xff";

	for (size_t i = 0; i < count; i++)
		text[i] = some[i * i % (sizeof(some) - 1)];
}

/* Pieces of `width` bytes, with as many between; the first one begins at `from`. */
static size_t put_edges(uint32_t *edges, size_t from, size_t width, size_t length)
{
	size_t count = 0;

	for (size_t at = from; at < length; at += 2 * width) {
		edges[count++] = (uint32_t)at;
		edges[count++] = (uint32_t)(at + width < length ? at + width : length);
	}
	return count;
}

static void check(const char *text, size_t length, size_t from, size_t width)
{
	char written[2 * MOST + COPY_BEHIND], want[2 * MOST], to[2 * MOST + COPY_BEHIND],
		*end = want;
	uint32_t edges[MOST + 1];
	struct escapes map[MOST / 64 + 1];
	struct shortened s = { .text = text, .length = length, .written = written,
			       .edges = edges, .map = map };

	memset(written, '"', sizeof(written));
	s.written_length = (size_t)(put_escaped(written, text, length) - written);
	s.edge_count = put_edges(edges, from, width, length);
	for (size_t i = 0; i < s.edge_count; i += 2)
		end = put_escaped(end, text + edges[i], edges[i + 1] - edges[i]);
	ck_assert_uint_eq(copy_pieces(to, &s), (size_t)(end - want));
	ck_assert_mem_eq(to, want, (size_t)(end - want));
	/* one byte more: another escape was longer */
	s.written_length++;
	ck_assert(copy_pieces(to, &s) == SIZE_MAX);
}

START_TEST(pieces_of_texts_of_all_lengths_are_copied_as_written)
{
	char text[MOST + COPY_BEHIND];

	put_text(text, sizeof(text));
	for (size_t length = 1; length < MOST; length++)
		for (size_t width = 1; width < 80; width += 13)
			check(text, length, length % 3, width);
}
END_TEST

START_TEST(pieces_of_texts_without_and_full_of_escapes_are_copied)
{
	char text[MOST + COPY_BEHIND];

	memset(text, '"', sizeof(text));
	for (size_t length = 1; length < MOST; length++)
		check(text, length, 0, 64);
	memset(text, 'a', sizeof(text));
	for (size_t length = 1; length < MOST; length++)
		check(text, length, 1, 65);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("escapes");
	TCase *t = tcase_create("escapes");

	tcase_add_test(t, pieces_of_texts_of_all_lengths_are_copied_as_written);
	tcase_add_test(t, pieces_of_texts_without_and_full_of_escapes_are_copied);
	suite_add_tcase(s, t);
	return run_suite(s);
}
