/* say.c - messages, each of one line on stderr */
#include "command.h"
#include "colour.h"
#include "output.h"
#include "progress.h"
#include "terms.h"

#include <stdarg.h>
#include <unistd.h>

static _Thread_local char *held;
static char begins[64] = "bloomery";

void say_as(const char *name)
{
	snprintf(begins, sizeof(begins), "%s", name);
}

void hold_messages(char buffer[MESSAGE])
{
	held = buffer;
	if (buffer)
		*buffer = 0;
}

/* One write, so that lines of several processes do not mix. */
static void line(enum colour colour, const char *format, va_list ap)
	__attribute__((format(printf, 2, 0)));
static void line(enum colour colour, const char *format, va_list ap)
{
	char raw[MESSAGE], text[2 * MESSAGE];
	size_t at = (size_t)snprintf(text, sizeof(text), "%s%s:%s ",
				     colour_begin(STDERR_FILENO, colour), begins,
				     colour_end(STDERR_FILENO));
	ssize_t ignored;

	progress_hide();
	vsnprintf(raw, sizeof(raw), format, ap);
	at += blm_escape(text + at, sizeof(text) - at - 1, raw, strlen(raw), "");
	text[at++] = '\n';
	ignored = write(STDERR_FILENO, text, at);
	(void)ignored;	/* no output is left for a message */
}

static bool told;	/* that a file was cut */

/*
 * Where a file was cut under its map most else comes of that, and numbers in it are none: nothing
 * is said before tell_if_cut() says so.
 */
static void line_unless_cut(enum colour colour, const char *format, va_list ap)
	__attribute__((format(printf, 2, 0)));
static void line_unless_cut(enum colour colour, const char *format, va_list ap)
{
	if (held && !*held)
		vsnprintf(held, MESSAGE, format, ap);
	else if (!held && (told || !blm_truncated()))
		line(colour, format, ap);
}

#define LINE(colour, format) \
	do { \
		va_list ap; \
		va_start(ap, format); \
		line_unless_cut(colour, format, ap); \
		va_end(ap); \
	} while (0)

void say(const char *format, ...)
{
	LINE(CAUTION, format);
}

int misuse(const char *format, ...)
{
	LINE(ALARM, format);
	return USAGE;
}

int broken(const char *format, ...)
{
	LINE(ALARM, format);
	return FAILED;
}

int tell_if_cut(int code)
{
	if (!blm_truncated())
		return code;
	told = true;
	return broken("%s: I/O error on the mapped file (truncated, unreadable, or disk full): "
		      "do not trust the answers; free disk space, or restore a copy",
		      blm_truncated());
}

int fail(int64_t err)
{
	const char *reason = blm_error_message();

	return broken("%s", *reason ? own_terms(reason) : blm_strerror((int)err));
}
