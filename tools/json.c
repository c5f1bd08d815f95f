/* json.c - a writer of JSON: numbers of full 64 bits, and valid whatever bytes a name holds */
#include "json.h"
#include "../lib/base/escape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void json_text(const char *name, const char *value)
{
	uint32_t point;

	name_of(name);
	if (!value) {
		fputs("null", stdout);
		return;
	}
	putchar('"');
	for (unsigned bytes; *value; value += bytes) {
		bytes = blm_character(value, strlen(value), &point);
		if (!bytes)
			fputs("\xef\xbf\xbd", stdout);
		else if (*value == '"' || *value == '\\')
			printf("\\%c", *value);
		else if (blm_acts(point))
			printf("\\u%04x", point & 0xffff);
		else
			fwrite(value, 1, bytes, stdout);
		bytes += !bytes;
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
	/* the shortest that reads back as the same */
	for (int digits = 15; digits <= 17; digits++) {
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
