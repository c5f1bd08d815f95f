/* json.c - a writer of JSON: numbers of full 64 bits, and valid whatever bytes a name holds */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool more;	/* a comma is due before the next field */

static void name_of(const char *name)
{
	if (more)
		putchar(',');
	more = true;
	if (name)
		printf("\"%s\":", name);
}

void json_begin(void)
{
	putchar('{');
	more = false;
}

void json_end(void)
{
	puts("}");
}

void json_open(const char *name)
{
	name_of(name);
	putchar('[');
	more = false;
}

void json_open_object(const char *name)
{
	name_of(name);
	putchar('{');
	more = false;
}

void json_close_object(void)
{
	putchar('}');
	more = true;
}

void json_close(void)
{
	putchar(']');
	more = true;
}

/* How many bytes a well-formed character of UTF-8 takes here; 0: it is none. Overlong forms and surrogates are none. */
static int character(const unsigned char *s)
{
	static const struct { unsigned char first, last, low, high; int bytes; } forms[] = {
		{ 0x01, 0x7f, 0, 0, 1 },
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (*s < forms[i].first || *s > forms[i].last)
			continue;
		if (forms[i].bytes > 1 && (s[1] < forms[i].low || s[1] > forms[i].high))
			return 0;
		for (int j = 2; j < forms[i].bytes; j++)
			if ((s[j] & 0xc0) != 0x80)
				return 0;
		return forms[i].bytes;
	}
	return 0;
}

void json_text(const char *name, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;

	name_of(name);
	if (!value) {
		fputs("null", stdout);
		return;
	}
	putchar('"');
	while (*s) {
		int bytes = character(s);

		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if (*s < ' ' || *s == 0x7f)
			printf("\\u%04x", *s);
		else if (bytes)
			fwrite(s, 1, (size_t)bytes, stdout);
		else
			fputs("\xef\xbf\xbd", stdout);
		s += bytes ? bytes : 1;
	}
	putchar('"');
}

void json_count(const char *name, uint64_t value)
{
	name_of(name);
	printf("%llu", (unsigned long long)value);
}

void json_real(const char *name, double value)
{
	char text[40];

	name_of(name);
	if (!isfinite(value)) {
		fputs("null", stdout);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {	/* the shortest that reads back as the same */
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fputs(text, stdout);
}

void json_bool(const char *name, bool value)
{
	name_of(name);
	fputs(value ? "true" : "false", stdout);
}
