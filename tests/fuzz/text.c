/*
 * text.c - whatever bytes a line of JSON is: it is taken if a plain reader of the grammar takes it,
 * each value reads the same when it is a line of its own, and words leave out only white space
 */
#include "json_pointer.h"
#include "must.h"
#include "tokens.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- A plain reader: RFC 8259, UTF-8 and whole surrogates, at most 1024 levels ---- */

struct plain {
	const uint8_t *at, *end;
	unsigned depth;
};

static bool byte(struct plain *p, const char *any)
{
	if (p->at == p->end || !*p->at || !strchr(any, *p->at))
		return false;
	p->at++;
	return true;
}

static void space(struct plain *p)
{
	while (byte(p, " \t\r\n"))
		;
}

static bool word(struct plain *p, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n))
		return false;
	p->at += n;
	return true;
}

static bool digits(struct plain *p)
{
	bool some = false;

	while (byte(p, "0123456789"))
		some = true;
	return some;
}

static bool number(struct plain *p)
{
	byte(p, "-");
	if (!byte(p, "0") && !digits(p))
		return false;
	if (byte(p, ".") && !digits(p))
		return false;
	if (!byte(p, "eE"))
		return true;
	byte(p, "+-");
	return digits(p);
}

static bool four_digits(struct plain *p, unsigned *ret)
{
	*ret = 0;
	for (int i = 0; i < 4; i++) {
		if (!byte(p, "0123456789abcdefABCDEF"))
			return false;
		*ret = *ret << 4 | ((p->at[-1] & 0xfu) + (p->at[-1] > '9' ? 9 : 0));
	}
	return true;
}

static bool escape(struct plain *p)
{
	unsigned first, last;

	if (byte(p, "\"\\/bfnrt"))
		return true;
	if (!byte(p, "u") || !four_digits(p, &first))
		return false;
	if (first < 0xd800 || first > 0xdfff)
		return true;
	return first < 0xdc00 && word(p, "\\u") && four_digits(p, &last) && last >= 0xdc00
		&& last <= 0xdfff;
}

/* A character of more than one byte. */
static bool character(struct plain *p)
{
	uint8_t first = *p->at++;
	int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
	uint32_t code = first & (0x3fu >> more);

	if (first < 0xc2 || first > 0xf4)
		return false;
	for (int i = 0; i < more; i++) {
		if (p->at == p->end || (*p->at & 0xc0) != 0x80)
			return false;
		code = code << 6 | (*p->at++ & 0x3fu);
	}
	return code >= (more == 3 ? 0x10000u : more == 2 ? 0x800u : 0x80u) && code <= 0x10ffff
		&& (code < 0xd800 || code > 0xdfff);
}

static bool string(struct plain *p)
{
	if (!byte(p, "\""))
		return false;
	while (p->at < p->end) {
		if (byte(p, "\""))
			return true;
		if (*p->at < 0x20)
			return false;
		if (byte(p, "\\")) {
			if (!escape(p))
				return false;
		} else if (*p->at < 0x80) {
			p->at++;
		} else if (!character(p)) {
			return false;
		}
	}
	return false;
}

static bool value(struct plain *p);

static bool members(struct plain *p, bool object)
{
	const char *end = object ? "}" : "]";

	space(p);
	if (byte(p, end))
		return true;
	do {
		space(p);
		if (object) {
			if (!string(p))
				return false;
			space(p);
			if (!byte(p, ":"))
				return false;
		}
		if (!value(p))
			return false;
	} while (byte(p, ","));
	return byte(p, end);
}

static bool value(struct plain *p)
{
	bool good = false;

	space(p);
	if (byte(p, "{[")) {
		bool object = p->at[-1] == '{';

		good = ++p->depth <= 1024 && members(p, object);
		p->depth--;
	} else if (p->at < p->end) {
		good = *p->at == '"' ? string(p) : word(p, "true") || word(p, "false")
			|| word(p, "null") || number(p);
	}
	space(p);
	return good;
}

static bool is_json(const uint8_t *data, size_t size)
{
	struct plain p = { data, data + size, 0 };

	return value(&p) && p.at == p.end;
}

/* ---- What must be true ---- */

static const char *const texts[] = { "", "/text", "/a/0", "/id", "/metadata/url", "/a/b" };

enum { POINTERS = sizeof(texts) / sizeof(texts[0]) };

static struct json_reader *of_line, *of_value;
static struct tokens tokens;

static void start(void)
{
	static struct json_pointer *pointers[POINTERS];

	must(!json_need() && !tokens_need());
	for (size_t i = 0; i < POINTERS; i++)
		must(pointer_compile(texts[i], &pointers[i]) == 0);
	of_line = json_reader_new((const struct json_pointer *const *)pointers, POINTERS);
	of_value = json_reader_new((const struct json_pointer *const *)pointers, 1);
	must(of_line && of_value);
}

/* The words of the texts "between" the words: there are none. */
static void check_words(const char *text, size_t length)
{
	static const char white[] = " \t\n\v\f\r";
	struct tokens none = { 0 };
	size_t at = 0;
	int r = tokens_of(&tokens, text, length);

	must(r == 0 || r == -EILSEQ);
	for (size_t i = 0; r == 0 && i <= tokens.count; i++) {
		size_t begin = i < tokens.count ? tokens.begin[i] : length;

		must(at <= begin && begin <= length);
		must(tokens_of(&none, text + at, begin - at) == 0 && !none.count);
		if (i < tokens.count) {
			at = tokens.end[i];
			must(begin < at && at <= length);
			must(at - begin > 1 || !memchr(white, text[begin], sizeof(white) - 1));
		}
	}
	tokens_free(&none);
}

static void check_value(const char *line, const struct json_value *v, size_t length)
{
	struct json_value again;

	must(v->begin < v->end && v->end <= length);
	must(!json_reader_find(of_value, line + v->begin, v->end - v->begin, &again));
	must(again.begin == 0 && again.end == v->end - v->begin && again.type == v->type);
	must(again.length == v->length && !memcmp(again.text, v->text, v->length));
	if (v->type == JSON_STRING)
		check_words(v->text, v->length);
	else
		must(v->text == line + v->begin && v->length == v->end - v->begin);
}

/* The line is in memory that ends with it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_value values[POINTERS];
	char *line = malloc(size + !size);
	bool taken;

	if (!of_line)
		start();
	must(line);
	memcpy(line, data, size);
	taken = !json_reader_find(of_line, line, size, values);
	if (taken)
		must(is_json(data, size) && values[0].type != JSON_ABSENT);
	else
		must(!is_json(data, size) || strstr(json_reader_error(of_line), "twice"));
	for (size_t i = 0; taken && i < POINTERS; i++)
		if (values[i].type != JSON_ABSENT)
			check_value(line, &values[i], size);
	check_words(line, size);
	free(line);
	return 0;
}
