/* output.h - answers to stdout, complete before the next batch is begun */
#ifndef BLOOMERY_OUTPUT_H
#define BLOOMERY_OUTPUT_H

#include "lines.h"

/*
 * Move the lines whose bit is `wanted` together, over those between them. The lines that were between, and the keys in any
 * of them, are lost. By any thread.
 */
void gather_lines(struct batch *batch, bool wanted);

/* Write all of these bytes. Return: as print_gathered(). */
int print_bytes(const char *bytes, size_t count);

/* Write what was gathered, at once. Return: an exit code, with a message unless nobody reads any more. */
int print_gathered(const struct batch *batch);

#endif
