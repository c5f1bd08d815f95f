/*
 * output.h - answers to stdout, complete before the next batch is begun
 *
 * Bytes of other people, as names, labels, ids and keys, are data: what reads them from a pipe or a
 * file gets them as they are. On a terminal they are escaped, like all that stdout gets there
 * (lib/base/escape.h), so that no command can forget to. Text for people, as that of info, and
 * messages are escaped always.
 */
#ifndef BLOOMERY_OUTPUT_H
#define BLOOMERY_OUTPUT_H

#include "../lib/base/escape.h"
#include "colour.h"
#include "lines.h"

#include <stdio.h>

/*
 * Move the lines whose bit is `wanted` together, over those between them. The lines that were
 * between, and the keys in any of them, are lost. By any thread.
 */
void gather_lines(struct batch *batch, bool wanted);

/* If stdout is a terminal. At the end of the program, before stdout is looked at. */
int begin_output(void);		/* Return: DONE, or FAILED with a message */
void end_output(void);

/*
 * What is written to `out` from here on, until end_colour(). `out` is stdout, or memory whose bytes
 * go to stdout unescaped. Nothing where stdout has no colours (colour.h).
 */
void begin_colour(FILE *out, enum colour colour);
void end_colour(FILE *out);

void print_text(const char *text);	/* to stdout, escaped, also its ends of lines */
/* to stdout: on a terminal like print_text(), else as it is */
void print_data(const void *bytes, size_t count);

/* Write all of these bytes. Return: as print_gathered(). */
int print_bytes(const char *bytes, size_t count);

/*
 * Write what was gathered, at once; objects are freed then. Return: an exit code, with a message
 * unless the reader is gone.
 */
int print_gathered(struct batch *batch);

#endif
