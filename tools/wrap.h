/* wrap.h - text that fits the window */
#ifndef BLOOMERY_WRAP_H
#define BLOOMERY_WRAP_H

#include <stdio.h>

/*
 * The columns for text: $COLUMNS, or those of the terminal that stdout is, or 80. At least 40; at
 * most 100, because longer lines of text are hard to read.
 */
unsigned text_width(void);

/*
 * Prints words, with line breaks between them, where the first line begins at column `at`, the
 * others at column `indent`. A line break in the text is a space; a word that is too long has a
 * line of its own. `end` is put before each line break: "", or " \\" for a command.
 */
void print_wrapped(FILE *out, const char *text, unsigned at, unsigned indent, const char *end);

#endif
