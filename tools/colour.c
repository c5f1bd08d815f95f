/* colour.c - colours on a terminal */
#include "colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool understands_codes(void)
{
	const char *terminal = secure_getenv("TERM");

	return terminal && *terminal && strcmp(terminal, "dumb");
}

static bool has_colours(int fd)
{
	const char *none = secure_getenv("NO_COLOR");

	return !(none && *none) && understands_codes() && isatty(fd);
}

const char *colour_begin(int fd, enum colour colour)
{
	static const char *const codes[] = {
		[STRONG] = "\033[1m", [CAUTION] = "\033[1;33m", [ALARM] = "\033[1;31m",
	};

	return has_colours(fd) ? codes[colour] : "";
}

const char *colour_end(int fd)
{
	return has_colours(fd) ? "\033[0m" : "";
}
