/* wrap.h - text that fits the window */
#ifndef BLOOMERY_WRAP_H
#define BLOOMERY_WRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * The columns of the terminal that stdout is, or $COLUMNS instead; 0: stdout is no terminal, so
 * nothing may be shortened
 */
unsigned window_width(void);

/* Can a table show a column that needs `least` columns? width: of the window; 0: there is none */
static inline bool has_space(unsigned width, unsigned least)
{
	return !width || width >= least;
}

/*
 * The columns for text: those of the window, or $COLUMNS, or 80. At least 20; at most 100, because
 * longer lines of text are hard to read.
 */
unsigned text_width(void);

/* The columns of the window without those that are taken, but between `least` and `most`. */
unsigned fitting_columns(unsigned taken, unsigned least, unsigned most);

/*
 * How many bytes of the text fit into that many columns. It is counted without a locale: letters
 * that may be wide (U+1100 and later) take two columns.
 */
size_t fitting_bytes(const char *text, size_t columns);

/*
 * Where a word that is too long for a line is broken: behind the last of | / , and ( in the second
 * half of its first bytes, or behind all of them
 */
size_t bytes_before_break(const char *word, size_t bytes);

/*
 * Prints words, with line breaks between them, where the first line begins at column `at`, the
 * others at column `indent`, or at a quarter of a narrow window. A line break in the text is a
 * space; a word that is wider than a line is broken. `end` is put before each line break: "", or
 * " \\" for a command, which a shell can still read.
 */
void print_wrapped(FILE *out, const char *text, unsigned at, unsigned indent, const char *end);

#endif
