/* escapes.c - escapes that are counted in steps of 16 and of 64 bytes: tools/corpus/escapes.c */
#include "corpus/result.h"

#include "suite.h"

static size_t counted_one_by_one(const char *text, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		count += c < ' ' || c == '"' || c == '\\';
	}
	return count;
}

/* Escapes stand in the text, at both of its ends, and right behind it. */
START_TEST(escapes_of_texts_of_all_lengths_are_counted)
{
	static const char some[] = "a\"\\\n\x1f !#[]\x7f\x80\xff";
	char text[400];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = some[i * i % (sizeof(some) - 1)];
	for (size_t begin = 0; begin < 20; begin++)
		for (size_t length = 0; length < 300; length++)
			ck_assert_uint_eq(count_escapes(text + begin, length),
					  counted_one_by_one(text + begin, length));
	memset(text, '"', sizeof(text));
	for (size_t length = 0; length < 300; length++)
		ck_assert_uint_eq(count_escapes(text, length), length);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("escapes");
	TCase *t = tcase_create("escapes");

	tcase_add_test(t, escapes_of_texts_of_all_lengths_are_counted);
	suite_add_tcase(s, t);
	return run_suite(s);
}
