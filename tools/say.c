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

	if (held) {
		if (!*held)
			vsnprintf(held, MESSAGE, format, ap);
		return;
	}
	vsnprintf(text + at, sizeof(text) - at - 1, format, ap);
	clean(text);
	strcat(text, "\n");
	ignored = write(STDERR_FILENO, text, strlen(text));
	(void)ignored;	/* there is nobody left to tell */
}

#define LINE(format) do { va_list ap; va_start(ap, format); line(format, ap); va_end(ap); } while (0)

void say(const char *format, ...)
{
	LINE(format);
}

int misuse(const char *format, ...)
{
	LINE(format);
	return USAGE;
}

int broken(const char *format, ...)
{
	LINE(format);
	return FAILED;
}

int fail(int64_t err)
{
	const char *why = blm_why();

	return broken("%s", *why ? why : blm_strerror((int)err));
}
