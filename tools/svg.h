/* svg.h - a diagram with one axis, readable on light and on dark, and without colours */
#ifndef BLOOMERY_SVG_H
#define BLOOMERY_SVG_H

#include "command.h"

enum { SVG_LEFT = 120, SVG_WIDTH = 520, SVG_RIGHT = 80, SVG_TOP = 58, SVG_ROW = 22 };

/* What the axis shows: values from `least` to `most`, or their logarithms (log10). */
struct svg_axis {
	double least, most;
	bool logarithmic;
};

double svg_place(const struct svg_axis *axis, double value);	/* x */
void svg_begin(FILE *to, const char *title, size_t height);
/* Lines and numbers at round values, from the top down to `bottom`, and below it what they are. */
void svg_draw_axis(FILE *to, const struct svg_axis *axis, size_t bottom, const char *what);
void svg_draw_circle(FILE *to, double x, double y);	/* filled */
void svg_draw_square(FILE *to, double x, double y);	/* empty */

/* Is there no such file yet? Before long work. Return: an exit code, with a message. */
int svg_check(const char *path);
/* A new file; nothing stays if it cannot be written. Return: an exit code, with a message. */
int svg_write(const char *path, void (*draw)(FILE *to, const void *context), const void *context);

#endif
