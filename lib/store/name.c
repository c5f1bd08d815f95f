/* name.c - what may be a filter's name in a store, and how its file is named after its uuid */
#include "bloomery.h"
#include "store/store.h"

#include <stdio.h>

/* How long is the UTF-8 sequence at s? 0: it is none (too long a form, a surrogate, past U+10FFFF, cut short). */
static unsigned utf8_at(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
	uint32_t point = n == 1 ? s[0] : n ? s[0] & (0x7fu >> n) : 0;

	for (unsigned i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	return n > 1 && (point < least[n] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) ? 0 : n;
}

int blm_check_name(const char *name)
{
	size_t len = name ? strlen(name) : 0;
	unsigned n;

	if (!len)
		return blm_fail(-EINVAL, "a filter's name must not be empty");
	if (len > BLM_NAME_MAX)
		return blm_fail(-ENAMETOOLONG, "%.40s...: a name has at most %d bytes, not %zu", name, BLM_NAME_MAX, len);
	if (!strcmp(name, ".") || !strcmp(name, "..") || strchr(name, '/'))
		return blm_fail(-EINVAL, "%s: a name in a store has no '/', and is not \".\" or \"..\"", name);
	for (const unsigned char *s = (const unsigned char *)name; *s; s += n) {
		n = utf8_at(s);
		if (!n)
			return blm_fail(-EINVAL, "%s: a name must be valid UTF-8", name);
		if (*s < ' ' || *s == 0x7f || (n == 2 && s[0] == 0xc2 && s[1] < 0xa0))
			return blm_fail(-EINVAL, "%s: a name has no control characters", name);
	}
	return 0;
}

void blm_uuid_text(const uint8_t u[16], char ret[BLM_UUID_TEXT])
{
	snprintf(ret, BLM_UUID_TEXT, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

void blm_uuid_file(const uint8_t uuid[16], char ret[BLM_FILE_TEXT])
{
	blm_uuid_text(uuid, ret);
	strcpy(ret + BLM_UUID_TEXT - 1, ".blm");
}
