/* output.h - answers to stdout, complete before the next batch is begun */
#ifndef BLOOMERY_OUTPUT_H
#define BLOOMERY_OUTPUT_H

#include "lines.h"

/* Print the lines of a batch whose bit is `wanted`. Return: an exit code, with a message unless nobody reads any more. */
int print_lines(const struct batch *batch, bool wanted);

#endif
