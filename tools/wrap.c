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

enum { LEAST = 20, USUAL = 80, MOST = 100 };

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

unsigned fitting_columns(unsigned taken, unsigned least, unsigned most)
{
	unsigned width = window_width();

	if (!width || width >= taken + most)
		return most;
	return width > taken + least ? width - taken : least;
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

size_t bytes_before_break(const char *word, size_t bytes)
{
	for (size_t n = bytes; n > bytes / 2; n--)
		if (strchr("|/,(", word[n - 1]))
			return n;
	return bytes;
}

/*
 * A word that is wider than a line is put in pieces. A shell joins the pieces of a command behind
 * backslashes if the next line begins in the first column, but not within single quotes.
 * Return: the column behind the word.
 */
static size_t put_word(FILE *out, const char *word, size_t bytes, size_t column, size_t indent,
		       size_t width, bool command)
{
	size_t least = command ? 2 : 1;

	while (column + bytes > width && column + least <= width
	       && !(command && memchr(word, '\'', bytes))) {
		size_t room = width - column - (command ? 1 : 0);
		size_t piece = bytes_before_break(word, room);

		fprintf(out, "%.*s%s", (int)piece, word, command ? "\\\n" : "\n");
		column = command ? 0 : indent;
		fprintf(out, "%*s", (int)column, "");
		word += piece;
		bytes -= piece;
	}
	fwrite(word, 1, bytes, out);
	return column + bytes;
}

void print_wrapped(FILE *out, const char *text, unsigned at, unsigned indent, const char *end)
{
	size_t width = text_width(), column = at, bytes, tail;
	bool first = true;

	if (indent > width / 2)
		indent = (unsigned)width / 4;

	for (; *text; text += bytes) {
		text += strspn(text, " \n");
		bytes = word_bytes(text, *end);
		if (!bytes)
			break;
		tail = text[bytes] ? strlen(end) : 0;
		if (!first && column + 1 + bytes + tail > width) {
			fprintf(out, "%s\n%*s", end, (int)indent, "");
			column = indent;
		} else if (!first) {
			fputc(' ', out);
			column++;
		}
		column = put_word(out, text, bytes, column, indent, width - tail, *end);
		first = false;
	}
	fputc('\n', out);
}
