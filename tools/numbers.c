/* numbers.c - numbers as people write and read them */
#include "numbers.h"
#include "wrap.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a suffix multiplies by; 0: not a suffix. */
static long double unit(const char *suffix)
{
	static const char letters[] = "kmgt";
	const char *letter = *suffix ? strchr(letters, tolower((unsigned char)*suffix)) : NULL;

	if (!*suffix)
		return 1;
	if (!letter || (suffix[1] && strcmp(suffix + 1, "i")))
		return 0;
	return powl(suffix[1] ? 1024 : 1000, letter - letters + 1);
}

/*
 * A long double holds every integer below 2^64, which is enough here. It holds a
 * decimal fraction a little too small or too large: 0.3m is 300000 all the same.
 */
int parse_number(const char *text, uint64_t *ret)
{
	const char *digits = *text == '-' ? text + 1 : text;
	char *end;
	long double value, factor, whole;

	if ((!isdigit((unsigned char)*digits) && *digits != '.') || strpbrk(text, "xX"))
		return -EINVAL;
	value = strtold(text, &end);
	factor = unit(end);
	if (end == text || factor == 0)
		return -EINVAL;
	value *= factor;
	if (value < 0 || value >= 0x1p64L)
		return -ERANGE;
	whole = roundl(value);
	if (fabsl(value - whole) > value * 1e-17L)
		return -EINVAL;
	*ret = (uint64_t)whole;
	return 0;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int parse_hex(const char *digits, size_t count, uint8_t *ret)
{
	if (count % 2)
		return false;
	for (size_t i = 0; i < count; i += 2) {
		int high = digit(digits[i]), low = digit(digits[i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i / 2] = (uint8_t)(high << 4 | low);
	}
	return true;
}

enum { TEXT = 64 };

static char *next_text(void)
{
	static char texts[8][TEXT];
	static unsigned turn;

	return texts[turn++ % 8];
}

const char *show_bytes(uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	char *text = next_text();
	double value = (double)bytes / 1024;
	size_t i = 0;

	for (; value >= 1023.95 && i < 5; i++)
		value /= 1024;
	if (bytes < 1024)
		snprintf(text, TEXT, "%u bytes", (unsigned)bytes);
	else
		snprintf(text, TEXT, "%.*f %s", value < 9.995 ? 2 : 1, value, units[i]);
	return text;
}

const char *show_count(uint64_t n)
{
	char *text = next_text(), digits[24];
	int count = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), at = 0;

	for (int i = 0; i < count; i++) {
		if (i && (count - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = 0;
	return text;
}

const char *show_number(uint64_t n)
{
	char *text;

	if (window_width())
		return show_count(n);
	text = next_text();
	snprintf(text, TEXT, "%llu", (unsigned long long)n);
	return text;
}

const char *show_bar(double share, unsigned columns)
{
	char *text = next_text();
	unsigned full = share >= 1 ? columns : (unsigned)(share * columns + 0.5);

	text[0] = '[';
	memset(text + 1, '#', full);
	memset(text + 1 + full, '.', columns - full);
	strcpy(text + 1 + columns, share > 1 ? ">" : "]");
	return text;
}

const char *show_rate(double rate)
{
	char *text = next_text();

	snprintf(text, TEXT, "%.3g", rate);
	return text;
}

const char *show_time(uint64_t nanoseconds)
{
	char *text = next_text();
	time_t seconds = (time_t)(nanoseconds / 1000000000);
	struct tm utc;

	if (!gmtime_r(&seconds, &utc) || !strftime(text, TEXT, "%Y-%m-%dT%H:%M:%SZ", &utc))
		strcpy(text, "unknown");
	return text;
}

const char *show_hex(const uint8_t *bytes, size_t count)
{
	char *text = next_text();

	*text = 0;
	for (size_t i = 0; i < count && 2 * i + 2 < TEXT; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	return text;
}

const char *show_uuid(const uint8_t uuid[16])
{
	char *text = next_text(), *to = text;

	for (int i = 0; i < 16; i++)
		to += sprintf(to, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      uuid[i]);
	return text;
}
