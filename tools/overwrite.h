/* overwrite.h - a file that is replaced in one step */
#ifndef BLOOMERY_OVERWRITE_H
#define BLOOMERY_OVERWRITE_H

#include <stdbool.h>
#include <stdio.h>

/* Are both the path of one file, or one text? */
bool overwrites(const char *file, const char *other);

/* The mode of a new file that the user's mask allows. */
unsigned usual_mode(void);

/*
 * Prints into a new file in the same folder, and gives it the name of the old one, if any. A reader
 * finds the old file or the new one, whole. The new file has that mode. "-" is standard output.
 * Return: an exit code, with a message.
 */
int overwrite_file(const char *file, unsigned mode,
		   void (*print)(FILE *out, const void *context), const void *context);

#endif
