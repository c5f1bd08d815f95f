/*
 * json_pointer.c - values of JSON lines: where they are, what they say, and which lines are refused
 */
#include "json_pointer.h"

#include "suite.h"

#include <errno.h>

enum { MOST = 8 };

static struct json_pointer *compiled[MOST];

static struct json_reader *reader_of(const char *const *pointers, size_t count)
{
	struct json_reader *r;

	ck_assert_msg(!json_need(), "%s", json_need());
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(pointer_compile(pointers[i], &compiled[i]), 0);
	r = json_reader_new((const struct json_pointer *const *)compiled, count);
	ck_assert_ptr_nonnull(r);
	return r;
}

static void done_with(struct json_reader *r, size_t count)
{
	json_reader_free(r);
	for (size_t i = 0; i < count; i++)
		pointer_free(compiled[i]);
}

/* One value of a line, by its bytes in the line and by its text. */
static void holds(const char *line, const char *pointer, const char *raw, const char *text)
{
	struct json_reader *r = reader_of(&pointer, 1);
	struct json_value v;

	ck_assert_msg(!json_reader_find(r, line, strlen(line), &v), "%s: %s", line,
		      json_reader_error(r));
	if (!raw) {
		ck_assert_msg(v.type == JSON_ABSENT, "%s has %s", line, pointer);
	} else {
		ck_assert_msg(v.type != JSON_ABSENT, "%s has no %s", line, pointer);
		ck_assert_uint_eq(v.end - v.begin, strlen(raw));
		ck_assert_mem_eq(line + v.begin, raw, strlen(raw));
		ck_assert_uint_eq(v.length, strlen(text));
		ck_assert_mem_eq(v.text, text, v.length);
	}
	done_with(r, 1);
}

START_TEST(pointers_select_values_as_in_rfc_6901)
{
	static const char doc[] = "{\"foo\": [\"bar\", \"baz\"], \"\": 0, \"a/b\": 1, \"c%d\": 2, "
		"\"e^f\": 3, \"g|h\": 4, \"i\\\\j\": 5, \"k\\\"l\": 6, \" \": 7, \"m~n\": 8}";

	holds(doc, "", doc, doc);
	holds(doc, "/foo", "[\"bar\", \"baz\"]", "[\"bar\", \"baz\"]");
	holds(doc, "/foo/0", "\"bar\"", "bar");
	holds(doc, "/foo/1", "\"baz\"", "baz");
	holds(doc, "/", "0", "0");
	holds(doc, "/a~1b", "1", "1");
	holds(doc, "/c%d", "2", "2");
	holds(doc, "/e^f", "3", "3");
	holds(doc, "/g|h", "4", "4");
	holds(doc, "/i\\j", "5", "5");
	holds(doc, "/k\"l", "6", "6");
	holds(doc, "/ ", "7", "7");
	holds(doc, "/m~0n", "8", "8");
	for (const char *const *p = (const char *const[]){ "/foo/2", "/foo/-", "/foo/01",
	     "/foo/0/0", "/foo/", "/bar", "//", "/m~0", "/foo/18446744073709551616", NULL }; *p;
	     p++)
		holds(doc, *p, NULL, NULL);
}
END_TEST

START_TEST(texts_that_are_no_pointers_are_refused)
{
	struct json_pointer *p = NULL;

	for (const char *const *text = (const char *const[]){ "a", "a/b", "/a~", "/~2", "/a~/b",
	     NULL }; *text; text++)
		ck_assert_msg(pointer_compile(*text, &p) == -EINVAL, "%s", *text);
	ck_assert_ptr_null(p);
}
END_TEST

START_TEST(strings_are_decoded)
{
	static const char nul[] = "{\"a\":\"x\\u0000y\"}", *const a = "/a";
	struct json_reader *r;
	struct json_value v;

	holds(" {\"a\" : \"\\u00e9\\n\\\"\\/\\\\\" } ", "/a", "\"\\u00e9\\n\\\"\\/\\\\\"",
	      "\xc3\xa9\n\"/\\");
	holds("{\"a\":\"\\ud83d\\ude00\"}", "/a", "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80");
	holds("{\"\\u0061\":\"b\"}", "/a", "\"b\"", "b");
	holds("\"top\"", "", "\"top\"", "top");
	r = reader_of(&a, 1);
	ck_assert_int_eq(json_reader_find(r, nul, strlen(nul), &v), 0);
	ck_assert_uint_eq(v.length, 3);
	ck_assert_mem_eq(v.text, "x\0y", 3);
	done_with(r, 1);
}
END_TEST

START_TEST(other_values_are_given_as_they_stand_there)
{
	holds("{\"a\": -1.50e+3 }", "/a", "-1.50e+3", "-1.50e+3");
	holds("{\"a\":true,\"b\":false,\"c\":null}", "/b", "false", "false");
	holds("{\"a\":{\"b\":[1,{\"c\":\"}\"} ]}}", "/a", "{\"b\":[1,{\"c\":\"}\"} ]}",
	      "{\"b\":[1,{\"c\":\"}\"} ]}");
	holds("[[],{},[[0]]]", "/2/0/0", "0", "0");
	holds("{\"a\":{\"x\":\"1\"},\"b\":\"2\"}", "/b", "\"2\"", "2");
	holds(" 17 ", "", "17", "17");
}
END_TEST

START_TEST(numbers_of_any_size_are_good)
{
	holds("{\"id\":123456789012345678901234567890,\"a\":\"x\\n\"}", "/id",
	      "123456789012345678901234567890", "123456789012345678901234567890");
	holds("{\"id\":-123456789012345678901234567890,\"e\":1e999,\"a\":\"x\\n\"}", "/a",
	      "\"x\\n\"", "x\n");
	holds("[1e999 ,0]", "/0", "1e999", "1e999");
}
END_TEST

static const struct broken_line {
	const char *line, *word;
} broken_lines[] = {
	{ "", "empty" }, { "  ", "empty" },
	{ "{", "not JSON" }, { "}", "not JSON" }, { "{\"a\":1", "not JSON" },
	{ "{\"a\":1}}", "not JSON" }, { "{\"a\":1} x", "not JSON" }, { "{} {}", "not JSON" },
	{ "{\"a\" 1}", "not JSON" }, { "{\"a\":}", "not JSON" }, { "{a:1}", "not JSON" },
	{ "{'a':1}", "not JSON" }, { "{\"a\":1,}", "not JSON" }, { "[1,]", "not JSON" },
	{ "[1 2]", "not JSON" }, { "[1}", "not JSON" }, { "{\"a\":tru}", "not JSON" },
	{ "{\"a\":nul}", "not JSON" }, { "{\"a\":NaN}", "not JSON" },
	{ "{\"b\":truex,\"a\":1}", "not JSON" }, { "{1:2}", "not JSON" },
	{ "\xef\xbb\xbf{}", "not JSON" }, { "{\"a\":\"x", "not end" }, { "\"\\\"", "not end" },
	{ "{\"b\":01}", "number" }, { "{\"b\":1.}", "number" }, { "{\"b\":-}", "number" },
	{ "{\"b\":1e}", "number" }, { "{\"b\":1x}", "number" },
	{ "[12345678901234567890123,01]", "number" },
	{ "{\"b\":+1}", "not JSON" }, { "{\"b\":.5}", "not JSON" },
	{ "{\"a\":\"\\x\"}", "escape" }, { "{\"a\":\"\\u12g4\"}", "escape" },
	{ "{\"b\":\"\\ud800\",\"a\":1}", "surrogate" },
	{ "{\"b\":\"\\ud800\\u0041\"}", "surrogate" },
	{ "{\"b\":\"\\udc00\"}", "surrogate" }, { "{\"\\ud800\":1}", "surrogate" },
	{ "{\"b\":\"\xff\"}", "UTF-8" }, { "{\"b\":\"\xc0\x80\"}", "UTF-8" },
	{ "{\"b\":\"\xed\xa0\x80\"}", "UTF-8" }, { "{\"b\":\"\xf4\x90\x80\x80\"}", "UTF-8" },
	{ "{\"b\":\"\xc3\"}", "UTF-8" }, { "{\"b\":\"x\x01\"}", "control" },
	{ "{\"b\":\"x\ty\"}", "control" },
	{ "{\"a\":1,\"b\":2,\"a\":3}", "\"a\" twice" },
	{ "{\"a\":1,\"\\u0061\":3}", "\"a\" twice" },
};

START_TEST(a_broken_line_is_refused_with_words)
{
	const struct broken_line *b = &broken_lines[_i];
	const char *a = "/a";
	struct json_reader *r = reader_of(&a, 1);
	struct json_value v;

	ck_assert_msg(json_reader_find(r, b->line, strlen(b->line), &v) < 0, "%s: taken", b->line);
	ck_assert_msg(strstr(json_reader_error(r), b->word) != NULL, "%s: %s", b->line,
		      json_reader_error(r));
	/* and the next line is read as if nothing had been */
	ck_assert_int_eq(json_reader_find(r, "{\"a\":7}", 7, &v), 0);
	ck_assert_uint_eq(v.begin, 5);
	ck_assert_uint_eq(v.end, 6);
	done_with(r, 1);
}
END_TEST

START_TEST(a_nul_is_no_end_of_a_line)
{
	const char *a = "/a";
	struct json_reader *r = reader_of(&a, 1);
	struct json_value v;

	ck_assert_int_lt(json_reader_find(r, "{\"a\":1}\0", 8, &v), 0);
	ck_assert_int_lt(json_reader_find(r, "{\"a\":\"\0\"}", 9, &v), 0);
	ck_assert_ptr_nonnull(strstr(json_reader_error(r), "control"));
	ck_assert_int_lt(json_reader_find(r, "\0", 1, &v), 0);
	done_with(r, 1);
}
END_TEST

START_TEST(names_off_the_pointers_path_may_repeat)
{
	holds("{\"b\":1,\"b\":2,\"a\":{\"c\":3},\"d\":{\"c\":4,\"c\":5}}", "/a/c", "3", "3");
	holds("[{\"a\":1},{\"a\":2}]", "/1/a", "2", "2");
	holds("{\"x\":{\"a\":1},\"a\":2}", "/a", "2", "2");
	holds("{\"a\":{\"a\":1}}", "/a/a", "1", "1");
}
END_TEST

START_TEST(nesting_ends_at_1024_levels)
{
	enum { DEEP = 1000000 };
	const char *a = "/0/0";
	struct json_reader *r = reader_of(&a, 1);
	char *line = malloc(2 * DEEP);
	struct json_value v;

	ck_assert_ptr_nonnull(line);
	for (size_t depth = 1020; depth <= 1030; depth++) {
		memset(line, '[', depth);
		memset(line + depth, ']', depth);
		ck_assert_int_eq(json_reader_find(r, line, 2 * depth, &v), depth <= 1024 ? 0 : -1);
		ck_assert_uint_eq(depth <= 1024 ? v.end : 2 * depth - 2, 2 * depth - 2);
	}
	memset(line, '[', DEEP);
	memset(line + DEEP, ']', DEEP);
	ck_assert_int_eq(json_reader_find(r, line, 2 * DEEP, &v), -1);
	ck_assert_ptr_nonnull(strstr(json_reader_error(r), "1024 levels"));
	memset(line, '{', DEEP);
	ck_assert_int_eq(json_reader_find(r, line, DEEP, &v), -1);
	free(line);
	done_with(r, 1);
}
END_TEST

START_TEST(every_beginning_of_a_line_is_refused)
{
	static const char doc[] = "{\"a\":[1,\"\\u00e9\xc3\xa9\",{\"b\":true}],\"c\":-1.5e3}";
	const char *a = "/a";
	struct json_reader *r = reader_of(&a, 1);
	struct json_value v;

	for (size_t n = 0; n < sizeof(doc) - 1; n++) {
		char *part = malloc(n + 1);	/* its end is the end of its memory */

		memcpy(part, doc, n);
		ck_assert_int_eq(json_reader_find(r, part, n, &v), -1);
		free(part);
	}
	ck_assert_int_eq(json_reader_find(r, doc, sizeof(doc) - 1, &v), 0);
	done_with(r, 1);
}
END_TEST

/* ---- Lines that look random, whose writer knows where the values are ---- */

static char line[1 << 16], decoded[MOST][64];
static size_t bytes;
static struct json_value known[MOST];
static const char *const random_pointers[MOST] = { "", "/a", "/a/0", "/a/1/b", "/b", "/c~1d/e",
						   "/b/2", "/a/b" };

static void put(const char *text)
{
	bytes = (size_t)(stpcpy(line + bytes, text) - line);
}

static void space(void)
{
	while (random() % 4 == 0)
		put((const char *const[]){ " ", "\t", "\r" }[random() % 3]);
}

static size_t put_string(char *to)
{
	static const char *const raw[] = { "x", "\\n", "\\u00e9", "\xc3\xa9", "{", "]", ",", ":",
					   "\\\"", "\\\\", "\\ud83d\\ude00" },
		*const meant[] = { "x", "\n", "\xc3\xa9", "\xc3\xa9", "{", "]", ",", ":", "\"",
				   "\\", "\xf0\x9f\x98\x80" };
	size_t n = 0;

	put("\"");
	for (int i = random() % 12; i > 0; i--) {
		int which = random() % 11;

		put(raw[which]);
		memcpy(to + n, meant[which], strlen(meant[which]));
		n += strlen(meant[which]);
	}
	put("\"");
	return n;
}

static void put_value(const char *path, int depth);

static void put_members(const char *path, int depth, bool array)
{
	static const char *const names[] = { "a", "b", "c/d", "e", "0" },
		*const tokens[] = { "a", "b", "c~1d", "e", "0" };
	int first = random() % 3;
	char below[300];

	for (int i = first, n = 0; i < 5 && random() % 5; i++, n++) {
		if (n)
			put(",");
		space();
		if (array) {
			snprintf(below, sizeof(below), "%s/%d", path, n);
		} else {
			snprintf(below, sizeof(below), "%s/%s", path, tokens[i]);
			put("\"");
			put(names[i]);
			put("\"");
			space();
			put(":");
		}
		space();
		put_value(below, depth + 1);
		space();
	}
}

static void put_value(const char *path, int depth)
{
	static const char *const others[] = { "0", "-1.5", "1e400", "true", "false", "null",
					      "98765432109876543210" };
	struct json_value v = { .begin = bytes };
	char buffer[64] = "";
	int kind = random() % (depth < 5 ? 8 : 3);

	if (kind < 2 && depth) {
		v.type = JSON_STRING;
		v.length = put_string(buffer);
	} else if (kind < 3 && depth) {
		put(others[random() % 7]);
		v.type = -1;
	} else {
		put(kind % 2 ? "[" : "{");
		put_members(path, depth, kind % 2);
		space();
		put(kind % 2 ? "]" : "}");
		v.type = kind % 2 ? JSON_ARRAY : JSON_OBJECT;
	}
	v.end = bytes;
	for (size_t i = 0; i < MOST; i++)
		if (!strcmp(path, random_pointers[i])) {
			known[i] = v;
			memcpy(decoded[i], buffer, sizeof(buffer));
		}
}

START_TEST(every_value_is_found_at_its_bytes)
{
	struct json_reader *r = reader_of(random_pointers, MOST);
	struct json_value found[MOST];

	srandom((unsigned)_i);
	for (int n = 0; n < 200; n++) {
		bytes = 0;
		memset(known, 0, sizeof(known));
		space();
		put_value("", 0);
		space();
		ck_assert_msg(!json_reader_find(r, line, bytes, found), "%.*s: %s", (int)bytes,
			      line, json_reader_error(r));
		for (size_t i = 0; i < MOST; i++) {
			const struct json_value *v = &found[i], *k = &known[i];

			ck_assert_msg(v->begin == k->begin && v->end == k->end, "%s of %.*s",
				      random_pointers[i], (int)bytes, line);
			if (k->type >= 0)
				ck_assert_int_eq(v->type, k->type);
			if (k->type == JSON_STRING) {
				ck_assert_uint_eq(v->length, k->length);
				ck_assert_mem_eq(v->text, decoded[i], k->length);
			}
		}
	}
	done_with(r, MOST);
}
END_TEST

START_TEST(a_short_line_after_a_long_one_is_read)
{
	enum { LONG = 20 << 20 };
	const char *a = "/a";
	struct json_reader *r = reader_of(&a, 1);
	char *text = malloc(LONG);
	struct json_value v;

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', LONG);
	memcpy(text, "{\"a\":\"", 6);
	memcpy(text + LONG - 2, "\"}", 2);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(json_reader_find(r, text, LONG, &v), 0);
		ck_assert_uint_eq(v.length, LONG - 8);
		ck_assert_int_eq(json_reader_find(r, "{\"a\":\"b\"}", 9, &v), 0);
		ck_assert_mem_eq(v.text, "b", 1);
	}
	free(text);
	done_with(r, 1);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("json_pointer");
	TCase *tc = tcase_create("json_pointer");

	tcase_add_test(tc, pointers_select_values_as_in_rfc_6901);
	tcase_add_test(tc, texts_that_are_no_pointers_are_refused);
	tcase_add_test(tc, strings_are_decoded);
	tcase_add_test(tc, other_values_are_given_as_they_stand_there);
	tcase_add_test(tc, numbers_of_any_size_are_good);
	tcase_add_loop_test(tc, a_broken_line_is_refused_with_words, 0,
			    sizeof(broken_lines) / sizeof(broken_lines[0]));
	tcase_add_test(tc, a_nul_is_no_end_of_a_line);
	tcase_add_test(tc, names_off_the_pointers_path_may_repeat);
	tcase_add_test(tc, nesting_ends_at_1024_levels);
	tcase_add_test(tc, every_beginning_of_a_line_is_refused);
	tcase_add_loop_test(tc, every_value_is_found_at_its_bytes, 0, 20);
	tcase_add_test(tc, a_short_line_after_a_long_one_is_read);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
