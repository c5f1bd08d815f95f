/*
 * store_name.c - valid names of filters in a store, and the file name for a uuid
 */
#include "bloomery.h"
#include "base/escape.h"
#include "place/store_dir.h"

#include <stdio.h>

int blm_check_name(const char *name)
{
	size_t len = name ? strlen(name) : 0;
	uint32_t point;
	unsigned n;

	if (!len)
		return blm_fail(-EINVAL, "a filter's name must not be empty");
	if (len > BLM_NAME_MAX)
		return blm_fail(-ENAMETOOLONG, "%.40s...: a name has at most %d bytes, not %zu",
				name, BLM_NAME_MAX, len);
	if (!strcmp(name, ".") || !strcmp(name, "..") || strchr(name, '/'))
		return blm_fail(-EINVAL, "%s: a name in a store has no '/', and is not \".\" or "
				"\"..\"", name);
	for (const char *s = name; *s; s += n) {
		n = blm_character(s, strlen(s), &point);
		if (!n)
			return blm_fail(-EINVAL, "%s: a name must be valid UTF-8", name);
		if (point < ' ' || (point >= 0x7f && point < 0xa0))
			return blm_fail(-EINVAL, "%s: a name has no control characters", name);
	}
	return 0;
}

/*
 * Marks of direction and invisible characters make two names look alike. Catalogs of before may
 * have such names, which are opened, renamed and dropped.
 */
int blm_check_new_name(const char *name)
{
	int r = blm_check_name(name);
	uint32_t point = 0;

	for (const char *s = name; r == 0 && *s; s += blm_character(s, strlen(s), &point))
		if (blm_character(s, strlen(s), &point) && blm_acts(point))
			return blm_fail(-EINVAL, "%s: a name has no marks of direction, no line "
					"separators and no invisible characters; leave out U+%04X",
					name, point);
	return r;
}

void blm_uuid_text(const uint8_t u[16], char ret[BLM_UUID_TEXT])
{
	snprintf(ret, BLM_UUID_TEXT,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
}

void blm_uuid_file(const uint8_t uuid[16], char ret[BLM_FILE_TEXT])
{
	blm_uuid_text(uuid, ret);
	strcpy(ret + BLM_UUID_TEXT - 1, ".blm");
}
