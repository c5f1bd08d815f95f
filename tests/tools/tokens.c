/* tokens.c - words of texts, by the rules of UAX #29, without white space */
#include "tokens.h"

#include "suite.h"

#include <errno.h>

/* The tokens of a text, with a bar behind each. */
static const char *tokens_in(const char *text)
{
	static char all[1000];
	struct tokens t = { 0 };
	char *to = all;

	ck_assert_msg(!tokens_need(), "%s", tokens_need());
	ck_assert_int_eq(tokens_of(&t, text, strlen(text)), 0);
	for (size_t i = 0; i < t.count; i++) {
		ck_assert_uint_lt(t.begin[i], t.end[i]);
		to = mempcpy(to, text + t.begin[i], t.end[i] - t.begin[i]);
		*to++ = '|';
	}
	*to = '\0';
	tokens_free(&t);
	return all;
}

START_TEST(words_end_at_unicodes_boundaries)
{
	ck_assert_str_eq(tokens_in(""), "");
	ck_assert_str_eq(tokens_in("one"), "one|");
	ck_assert_str_eq(tokens_in("Hello, world!"), "Hello|,|world|!|");
	ck_assert_str_eq(tokens_in("The quick (\"brown\") fox can't jump 32.3 feet, right?"),
			 "The|quick|(|\"|brown|\"|)|fox|can't|jump|32.3|feet|,|right|?|");
	ck_assert_str_eq(tokens_in("a_b 1,000 x.y U.S.A."), "a_b|1,000|x.y|U.S.A|.|");
	ck_assert_str_eq(tokens_in("\xc3\xa9t\xc3\xa9 e\xcc\x81t"),
			 "\xc3\xa9t\xc3\xa9|e\xcc\x81t|");
	ck_assert_str_eq(tokens_in("\xe4\xb8\xad\xe6\x96\x87"), "\xe4\xb8\xad|\xe6\x96\x87|");
	ck_assert_str_eq(tokens_in("\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7!"),
			 "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7|!|");
}
END_TEST

START_TEST(white_space_is_no_token)
{
	static const char *const spaces[] = { " ", "\t", "\n", "\v", "\f", "\r", "\r\n", "   ",
		"\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x8a",
		"\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80" };
	char text[40];

	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		ck_assert_str_eq(tokens_in(spaces[i]), "");
		snprintf(text, sizeof(text), "%sa%sb%s", spaces[i], spaces[i], spaces[i]);
		if (strcmp(spaces[i], "\xe2\x80\xaf"))	/* it joins words (ExtendNumLet) */
			ck_assert_str_eq(tokens_in(text), "a|b|");
	}
	ck_assert_str_eq(tokens_in("\xe2\x80\x8b"), "\xe2\x80\x8b|");	/* no White_Space */
	ck_assert_str_eq(tokens_in("\xc2\xa7"), "\xc2\xa7|");
	ck_assert_str_eq(tokens_in("\xe2\x80\x94"), "\xe2\x80\x94|");
	ck_assert_str_eq(tokens_in("\xe3\x80\x81"), "\xe3\x80\x81|");
}
END_TEST

START_TEST(invalid_utf_8_is_refused)
{
	struct tokens t = { 0 };

	ck_assert_ptr_null(tokens_need());
	for (const char *const *text = (const char *const[]){ "a\xff", "\xc3", "\xed\xa0\x80",
	     "\xc0\x80", "a \xe2\x80", NULL }; *text; text++)
		ck_assert_int_eq(tokens_of(&t, *text, strlen(*text)), -EILSEQ);
	ck_assert_int_eq(tokens_of(&t, "a\0b c", 5), 0);
	ck_assert_uint_eq(t.count, 4);
	tokens_free(&t);
}
END_TEST

/* Everything between the tokens is white space, whatever the text. */
START_TEST(tokens_leave_out_only_white_space)
{
	static const char *const parts[] = { "word", " ", "\n", ".", "'", "1", "\xc3\xa9",
		"\xe4\xb8\xad",
		"\xe2\x80\x8d", "\xcc\x81", "\xe3\x80\x80", "\r\n", "\xf0\x9f\x98\x80", "-" };
	struct tokens t = { 0 };
	char text[20000] = "", rest[20000];
	size_t n = 0, at = 0, left = 0;

	srandom((unsigned)_i);
	ck_assert_ptr_null(tokens_need());
	for (int i = random() % 3000; i > 0; i--)
		n = (size_t)(stpcpy(text + n, parts[random() % 14]) - text);
	ck_assert_int_eq(tokens_of(&t, text, n), 0);
	for (size_t i = 0; i <= t.count; i++) {
		size_t begin = i < t.count ? t.begin[i] : n;

		ck_assert_uint_le(at, begin);
		memcpy(rest + left, text + at, begin - at);
		left += begin - at;
		at = i < t.count ? t.end[i] : n;
	}
	rest[left] = '\0';
	ck_assert_str_eq(tokens_in(left < 900 ? rest : ""), "");
	for (size_t i = 0; i < left; i++)
		ck_assert(strchr(" \n\r\xe3\x80\xe2\x8d\xcc\x81", rest[i]) != NULL);
	tokens_free(&t);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("tokens");
	TCase *tc = tcase_create("tokens");

	tcase_add_test(tc, words_end_at_unicodes_boundaries);
	tcase_add_test(tc, white_space_is_no_token);
	tcase_add_test(tc, invalid_utf_8_is_refused);
	tcase_add_loop_test(tc, tokens_leave_out_only_white_space, 0, 100);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
