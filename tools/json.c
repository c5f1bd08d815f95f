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

static bool is_text(const void *bytes, size_t count)
{
	const char *at = bytes, *end = at + count;
	uint32_t point;

	for (unsigned n; at < end; at += n) {
		n = blm_character(at, (size_t)(end - at), &point);
		if (!n)
			return false;
	}
	return true;
}

/* How many bytes from `at` stand in a string as they are? */
static size_t plain(const char *at, const char *end)
{
	const char *from = at;

	while (at < end && *at >= ' ' && *at < 0x7f && *at != '"' && *at != '\\')
		at++;
	return (size_t)(at - from);
}

static void write_string(FILE *out, const void *bytes, size_t count)
{
	const char *at = bytes, *end = at + count;
	uint32_t point;

	putc('"', out);
	for (size_t n; at < end; at += n) {
		n = plain(at, end);
		if (n) {
			fwrite(at, 1, n, out);
			continue;
		}
		n = blm_character(at, (size_t)(end - at), &point);
		if (!n)
			fputs("\xef\xbf\xbd", out);
		else if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (blm_acts(point))
			fprintf(out, "\\u%04x", point & 0xffff);
		else
			fwrite(at, 1, n, out);
		n += !n;
	}
	putc('"', out);
}

void json_write(FILE *out, const char *name, const void *bytes, size_t count)
{
	if (is_text(bytes, count)) {
		fprintf(out, "\"%s\":", name);
		write_string(out, bytes, count);
		return;
	}
	fprintf(out, "\"%s_hex\":\"", name);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%02x", ((const uint8_t *)bytes)[i]);
	putc('"', out);
}

void json_bytes(const char *name, const void *bytes, size_t count)
{
	if (more)
		putchar(',');
	more = true;
	json_write(stdout, name, bytes, count);
}

void json_text(const char *name, const char *value)
{
	name_of(name);
	if (value)
		write_string(stdout, value, strlen(value));
	else
		fputs("null", stdout);
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
