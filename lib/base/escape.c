/* escape.c - text of other people, made fit for a terminal and for a message of one line */
#include "base/escape.h"

#include <stdio.h>
#include <string.h>

unsigned blm_character(const char *text, size_t bytes, uint32_t *ret_point)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	unsigned n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30
		? 4 : 0;
	uint32_t point = n == 1 ? s[0] : n ? s[0] & (0x7fu >> n) : 0;

	if (n > bytes)
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	if (n > 1 && (point < least[n] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)))
		return 0;
	*ret_point = point;
	return n;
}

bool blm_acts(uint32_t point)
{
	static const struct { uint32_t first, last; } ranges[] = {
		{ 0x00, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x61c, 0x61c },
		{ 0x180e, 0x180e }, { 0x200b, 0x200b }, { 0x200e, 0x200f }, { 0x2028, 0x202e },
		{ 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (point >= ranges[i].first && point <= ranges[i].last)
			return true;
	return false;
}

/*
 * What stands for the character at `from`, or for its first byte. Return: how many bytes of `from`
 * that is.
 */
static unsigned one(char ret[8], const char *from, size_t bytes, const char *kept)
{
	uint32_t point;
	unsigned n = blm_character(from, bytes, &point);

	if (n && (!blm_acts(point) || (point && point < 0x80 && strchr(kept, (int)point)))) {
		memcpy(ret, from, n);
		ret[n] = 0;
	} else if (n == 1 && (point == '\n' || point == '\t')) {
		strcpy(ret, point == '\n' ? "\\n" : "\\t");
	} else if (n > 1) {
		snprintf(ret, 8, "\\u%04x", point & 0xffff);	/* none that acts is above */
	} else {
		snprintf(ret, 8, "\\x%02x", (unsigned char)*from);
		n = 1;
	}
	return n;
}

size_t blm_escape(char *to, size_t capacity, const char *from, size_t bytes, const char *kept)
{
	size_t at = 0;

	while (bytes) {
		char text[8];
		unsigned n = one(text, from, bytes, kept);
		size_t len = strlen(text);

		if (at + len >= capacity)
			break;
		memcpy(to + at, text, len);
		at += len;
		from += n;
		bytes -= n;
	}
	to[at] = 0;
	return at;
}
