/* say.c - messages, each of one line on stderr */
#include "command.h"

#include <stdarg.h>
#include <unistd.h>

void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

static _Thread_local char *held;

void hold_messages(char room[MESSAGE])
{
	held = room;
	if (room)
		*room = 0;
}

/* One write, so that lines of several processes do not mix. */
static void line(const char *format, va_list ap) __attribute__((format(printf, 1, 0)));
static void line(const char *format, va_list ap)
{
	char text[MESSAGE + 16] = "bloomery: ";
	size_t at = strlen(text);
	ssize_t ignored;

	vsnprintf(text + at, sizeof(text) - at - 1, format, ap);
	clean(text);
	strcat(text, "\n");
	ignored = write(STDERR_FILENO, text, strlen(text));
	(void)ignored;	/* there is nobody left to tell */
}

/* Where a file was cut under its map all else comes of that, and numbers in it are none: tell_if_cut() says it, and nothing more. */
static void line_unless_cut(const char *format, va_list ap) __attribute__((format(printf, 1, 0)));
static void line_unless_cut(const char *format, va_list ap)
{
	if (held && !*held)
		vsnprintf(held, MESSAGE, format, ap);
	else if (!held && !blm_truncated())
		line(format, ap);
}

#define LINE(line, format) do { va_list ap; va_start(ap, format); line(format, ap); va_end(ap); } while (0)

void say(const char *format, ...)
{
	LINE(line_unless_cut, format);
}

int misuse(const char *format, ...)
{
	LINE(line_unless_cut, format);
	return USAGE;
}

int broken(const char *format, ...)
{
	LINE(line_unless_cut, format);
	return FAILED;
}

static void say_in_any_case(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say_in_any_case(const char *format, ...)
{
	LINE(line, format);
}

int tell_if_cut(int code)
{
	if (!blm_truncated())
		return code;
	say_in_any_case("%s: was cut, could not be read, or found the disk full, while it was open: its answers are worth nothing; put a copy in its "
			"place, or make it anew from its keys", blm_truncated());
	return FAILED;
}

int fail(int64_t err)
{
	const char *why = blm_why();

	return broken("%s", *why ? why : blm_strerror((int)err));
}
