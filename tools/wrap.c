/*
 * wrap.c - text that fits the window
 *
 * Tables are printed with printf() and the widths of this file. libsmartcols 2.38 was tried with
 * the table of `ls -l`, and is not used:
 * 1. It shortens columns and leaves none out: in 80 columns a name had 4 letters. ls leaves out the
 *    capacity and the time instead.
 * 2. It needs a locale, or writes a name of UTF-8 as \xNN. The program has none, so its output is
 *    the same everywhere.
 * 3. It keeps all rows in memory, and prints at the end. ls prints each filter as it comes.
 * Its calls would take as many lines as the printf()s that they replace.
 */
#include "wrap.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST = 40, USUAL = 80, MOST = 100 };

/* $COLUMNS; 0: not set */
static unsigned wanted_width(void)
{
	const char *columns = secure_getenv("COLUMNS");
	unsigned long width = columns && isdigit((unsigned char)*columns)
		? strtoul(columns, NULL, 10) : 0;

	return width > UINT16_MAX ? UINT16_MAX : (unsigned)width;
}

/* Shells export COLUMNS to programs whose output goes into a pipe, too. */
unsigned window_width(void)
{
	unsigned width = wanted_width();
	struct winsize window;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) < 0)
		return 0;
	return width ? width : window.ws_col;
}

unsigned text_width(void)
{
	unsigned width = window_width();

	if (!width)
		width = wanted_width();
	if (!width)
		return USUAL;
	return width < LEAST ? LEAST : width > MOST ? MOST : width;
}

size_t fitting_bytes(const char *text, size_t columns)
{
	size_t at = 0;

	while (text[at]) {
		unsigned char c = (unsigned char)text[at];
		size_t bytes = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
		size_t wide = c >= 0xe1 ? 2 : 1;	/* 0xe1 begins U+1000 */

		if (wide > columns || strnlen(text + at, bytes) < bytes)
			break;
		columns -= wide;
		at += bytes;
	}
	return at;
}

/* The next word: up to a space that is in no quotes, where quotes hold text together. */
static size_t word_bytes(const char *text, bool quotes)
{
	char in = '\0';
	size_t n = 0;

	for (; text[n]; n++) {
		if (!in && (text[n] == ' ' || text[n] == '\n'))
			break;
		if (quotes && text[n] == in)
			in = '\0';
		else if (quotes && !in && (text[n] == '\'' || text[n] == '"'))
			in = text[n];
	}
	return n;
}

void print_wrapped(FILE *out, const char *text, unsigned at, unsigned indent, const char *end)
{
	size_t width = text_width(), column = at, bytes;
	bool first = true;

	for (; *text; text += bytes) {
		text += strspn(text, " \n");
		bytes = word_bytes(text, *end);
		if (!bytes)
			break;
		if (!first && column + 1 + bytes + (text[bytes] ? strlen(end) : 0) > width) {
			fprintf(out, "%s\n%*s", end, (int)indent, "");
			column = indent;
		} else if (!first) {
			fputc(' ', out);
			column++;
		}
		fwrite(text, 1, bytes, out);
		column += bytes;
		first = false;
	}
	fputc('\n', out);
}
