/* wrap.h - text that fits the window */
#ifndef BLOOMERY_WRAP_H
#define BLOOMERY_WRAP_H

#include <stddef.h>
#include <stdio.h>

/*
 * The columns of the terminal that stdout is, or $COLUMNS instead; 0: stdout is no terminal, so
 * nothing may be shortened
 */
unsigned window_width(void);

/*
 * The columns for text: those of the window, or $COLUMNS, or 80. At least 40; at most 100, because
 * longer lines of text are hard to read.
 */
unsigned text_width(void);

/*
 * How many bytes of the text fit into that many columns. It is counted without a locale: letters
 * that may be wide (U+1100 and later) take two columns.
 */
size_t fitting_bytes(const char *text, size_t columns);

/*
 * Prints words, with line breaks between them, where the first line begins at column `at`, the
 * others at column `indent`. A line break in the text is a space; a word that is too long has a
 * line of its own. `end` is put before each line break: "", or " \\" for a command.
 */
void print_wrapped(FILE *out, const char *text, unsigned at, unsigned indent, const char *end);

#endif
