/* options.c - the options of a kind, as text and as numbers */
#include "kind/common/options.h"
#include "kind/kind_registry.h"
#include "file/mapping.h"
#include "suite.h"

#include <locale.h>

static const struct blm_option some[] = {
	{ "slots", "a whole number", BLM_OPTION_COUNT, 1, 1 << 20, 4 },
	{ "share", "a number", BLM_OPTION_SHARE, 0, 1, 0.5 },
	{ "span", "a time", BLM_OPTION_SPAN, 0, 1e6, 60 },
	{ 0 }
};
static const struct blm_kind kind = { .name = "told", .options = some };

START_TEST(omitted_options_have_their_defaults)
{
	uint64_t args[BLM_KIND_ARGS] = { 0 };

	OK(blm_options_parse(&kind, _i ? "span=2m" : NULL, args));
	ck_assert_uint_eq(args[0], 4);
	ck_assert(blm_double_of(args[1]) == 0.5);
	ck_assert_uint_eq(args[2], _i ? 120000000000 : 60000000000);
	ck_assert(blm_options_valid(&kind, args));
}
END_TEST

START_TEST(an_unknown_or_out_of_range_option_is_refused)
{
	static const char *const wrong[] = {
		"slot=4",    "slots",	  "slots=",    "slots=1.5", "slots=0", "slots=4;share=1",
		"share=1.1", "share=nan", "share=50%", "span=-1s",  "span=1w", "slots=4,,share=1",
		"=4",	     "slots=4m"
	};
	uint64_t args[BLM_KIND_ARGS];

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		FAILS(blm_options_parse(&kind, wrong[i], args), -EINVAL);
}
END_TEST

/* A rebuild uses the options of the old filter. */
START_TEST(their_text_has_the_same_numbers)
{
	char text[BLM_OPTIONS_MAX];

	for (uint64_t i = 0; i < 200000; i += test_scale() < 1 ? 5 : 1) {
		uint64_t args[BLM_KIND_ARGS] = { 1 + i, blm_bits_of(1.0 / (double)(i + 1)),
						 i * (i % 3 ? 1 : 1000003) },
			 again[BLM_KIND_ARGS] = { 0 };

		blm_options_text(&kind, args, text);
		OK(blm_options_parse(&kind, text, again));
		ck_assert_msg(!memcmp(args, again, sizeof(args)), "%s: %llu, %llu, %llu", text,
			      (unsigned long long)again[0], (unsigned long long)again[1],
			      (unsigned long long)again[2]);
	}
}
END_TEST

START_TEST(numbers_outside_every_text_are_refused)
{
	const uint64_t share = blm_bits_of(0.5);

	ck_assert(blm_options_valid(&kind, (const uint64_t[BLM_KIND_ARGS]){ 1, share }));
	ck_assert(!blm_options_valid(&kind, (const uint64_t[BLM_KIND_ARGS]){ 0, share }));
	ck_assert(!blm_options_valid(&kind, (const uint64_t[BLM_KIND_ARGS]){
						    1, blm_bits_of(__builtin_nan("")) }));
	ck_assert(
		!blm_options_valid(&kind, (const uint64_t[BLM_KIND_ARGS]){ 1, share, UINT64_MAX }));
	ck_assert(!blm_options_valid(&kind, (const uint64_t[BLM_KIND_ARGS]){ 1, share, 0, 1 }));
}
END_TEST

#define LONG_NAME "an option whose name is far longer than those of any kind that there is; "
static const char *const long_names[] = { LONG_NAME LONG_NAME "1", LONG_NAME LONG_NAME "2", "3" };

/* As many options as a kind can have, of names that do not fit into a message. */
static const struct blm_option many[BLM_KIND_ARGS + 1] = {
	{ LONG_NAME "a", "a name", BLM_OPTION_NAME, 0, 2, 0, long_names },
	{ LONG_NAME "b", "a name", BLM_OPTION_NAME, 0, 2, 0, long_names },
	{ LONG_NAME "c", "a name", BLM_OPTION_NAME, 0, 2, 0, long_names },
	{ LONG_NAME "d", "a name", BLM_OPTION_NAME, 0, 2, 2, long_names },
	{ "e", "a name", BLM_OPTION_NAME, 0, 2, 2, long_names },
	{ "f", "a name", BLM_OPTION_NAME, 0, 2, 2, long_names },
	{ "g", "a name", BLM_OPTION_NAME, 0, 2, 2, long_names },
	{ "h", "a name", BLM_OPTION_NAME, 0, 2, 2, long_names },
};
static const struct blm_kind talker = { .name = "talker", .options = many };

START_TEST(text_longer_than_its_buffer_is_truncated)
{
	uint64_t args[BLM_KIND_ARGS] = { 0 };
	char text[BLM_OPTIONS_MAX];

	FAILS(blm_options_parse(&talker, LONG_NAME "a=4", args), -EINVAL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "is one of: " LONG_NAME));
	ck_assert_ptr_null(strstr(blm_error_message(), ", 3"));
	FAILS(blm_options_parse(&talker, "z=4", args), -EINVAL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(),
				     "no option \"z\"; they have: " LONG_NAME "a, " LONG_NAME "b"));
	OK(blm_options_parse(&talker, NULL, args));
	memset(args, 0, 4 * sizeof(*args));
	blm_options_text(&talker, args, text);
	ck_assert_uint_lt(strlen(text), BLM_OPTIONS_MAX);
	ck_assert_msg(!strncmp(text, "an option whose name is far long=" LONG_NAME,
			       33 + strlen(LONG_NAME)),
		      "%s", text);
}
END_TEST

START_TEST(the_largest_number_of_options_is_listed_completely)
{
	static const struct blm_option eight[BLM_KIND_ARGS + 1] = {
		{ "a", "", BLM_OPTION_COUNT, 0, 9, 1 }, { "b", "", BLM_OPTION_COUNT, 0, 9, 2 },
		{ "c", "", BLM_OPTION_COUNT, 0, 9, 3 }, { "d", "", BLM_OPTION_COUNT, 0, 9, 4 },
		{ "e", "", BLM_OPTION_COUNT, 0, 9, 5 }, { "f", "", BLM_OPTION_COUNT, 0, 9, 6 },
		{ "g", "", BLM_OPTION_COUNT, 0, 9, 7 }, { "h", "", BLM_OPTION_COUNT, 0, 9, 8 },
	};
	static const struct blm_kind full = { .name = "full", .options = eight };
	uint64_t args[BLM_KIND_ARGS] = { 0 };
	char text[BLM_OPTIONS_MAX];

	OK(blm_options_parse(&full, "h=0", args));
	blm_options_text(&full, args, text);
	ck_assert_str_eq(text, "a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=0");
	ck_assert(blm_options_valid(&full, args));
}
END_TEST

/* A locale with a decimal comma: one that there is, or one that is made for it; false: neither. */
static bool set_comma(void)
{
	static const char *const names[] = { "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "ru_RU.UTF-8" };
	static const char *const others[] = { "LC_CTYPE", "LC_COLLATE", "LC_MONETARY", "LC_TIME",
					      "LC_MESSAGES" };
	char command[1200];
	FILE *to;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (setlocale(LC_ALL, names[i]))
			return true;
	/* numbers as in Germany, the rest as in C, which takes a fifth of the time */
	snprintf(command, sizeof(command), "%s/numbers", test_dir);
	to = fopen(command, "we");
	if (!to)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		fprintf(to, "%s\ncopy \"POSIX\"\nEND %s\n", others[i], others[i]);
	fputs("LC_NUMERIC\ncopy \"de_DE\"\nEND LC_NUMERIC\n", to);
	fclose(to);
	snprintf(command, sizeof(command),
		 "localedef -c -i %s/numbers -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", test_dir,
		 test_dir);
	if (system(command) < 0)
		return false;
	setenv("LOCPATH", test_dir, 1);
	return setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

START_TEST(numbers_have_a_point_in_every_locale)
{
	uint64_t args[BLM_KIND_ARGS];
	char text[BLM_OPTIONS_MAX], number[16];

	if (!set_comma())
		SKIP("no locale here has a decimal comma, and none can be made");
	snprintf(number, sizeof(number), "%g", 0.5);
	ck_assert_str_eq(number, "0,5");
	OK(blm_options_parse(&kind, "share=0.25,span=1.5", args));
	ck_assert(blm_double_of(args[1]) == 0.25);
	ck_assert_uint_eq(args[2], 1500000000);
	blm_options_text(&kind, args, text);
	ck_assert_str_eq(text, "slots=4,share=0.25,span=1.5");
	snprintf(number, sizeof(number), "%g", 0.5);
	ck_assert_str_eq(number, "0,5");		/* and stays as it was */
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("options");
	TCase *tc = tcase_create("options");

	tcase_add_loop_test(tc, omitted_options_have_their_defaults, 0, 2);
	tcase_add_test(tc, an_unknown_or_out_of_range_option_is_refused);
	tcase_add_test(tc, their_text_has_the_same_numbers);
	tcase_add_test(tc, numbers_outside_every_text_are_refused);
	tcase_add_test(tc, text_longer_than_its_buffer_is_truncated);
	tcase_add_test(tc, the_largest_number_of_options_is_listed_completely);
	tcase_add_test(tc, numbers_have_a_point_in_every_locale);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
