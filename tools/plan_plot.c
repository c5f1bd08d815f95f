/*
 * plan_plot.c - bits a key, a row for each kind, the smallest first: bars in the terminal, and SVG
 *
 * Bars end at 8 times the lower bound: a longer bar is cut there, and its number says its length.
 * The SVG has a logarithmic axis, on which a length means nothing, so it has dots, and a line from
 * the lower bound to each.
 */
#include "plan.h"
#include "svg.h"
#include "wrap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 64, BESIDE = 25, COLUMNS = 48, CUT = 8 };

static struct bar {
	const char *name;
	double bits;
	bool filter;		/* or another structure, to compare */
} bars[ROWS];
static size_t count;

void plot_add(const char *name, double bits_per_key, bool filter)
{
	if (count < ROWS)
		bars[count++] = (struct bar){ name, bits_per_key, filter };
}

static int by_bits(const void *a, const void *b)
{
	const struct bar *x = a, *y = b;

	return x->bits < y->bits ? -1 : x->bits > y->bits ? 1 : strcmp(x->name, y->name);
}

/* All but the lower bound, which stays the first one. */
static void sort_bars(void)
{
	if (count > 1)
		qsort(bars + 1, count - 1, sizeof(*bars), by_bits);
}

/* The first bar is the lower bound. */
static double most(void)
{
	double longest = 0;

	for (size_t i = 0; i < count; i++)
		longest = fmax(longest, bars[i].bits);
	return fmin(longest, CUT * bars[0].bits);
}

void plot_print(void)
{
	double scale = most();
	unsigned columns = fitting_columns(BESIDE, 8, COLUMNS);

	sort_bars();
	printf("\nBits a key:\n");
	for (size_t i = 0; i < count; i++) {
		int length = (int)fmax(round(fmin(bars[i].bits, scale) / scale * columns), 1);

		printf("%-12s %10.4g ", bars[i].name, bars[i].bits);
		while (length-- > 0)
			putchar('#');
		puts(bars[i].bits > scale ? ">" : "");
	}
}

/* ---- SVG ---- */

/* A filter is a filled circle, another structure an empty square. */
static void draw_mark(FILE *to, bool filter, double x, double y)
{
	(filter ? svg_draw_circle : svg_draw_square)(to, x, y);
}

static void draw_row(FILE *to, const struct svg_axis *axis, size_t i)
{
	double x = svg_place(axis, bars[i].bits), y = SVG_TOP + SVG_ROW * (double)i;

	fprintf(to, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>", SVG_LEFT - 14, y + 4,
		bars[i].name);
	fprintf(to, "<line class=\"stem\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
		svg_place(axis, bars[0].bits), x, y, y);
	draw_mark(to, bars[i].filter, x, y);
	fprintf(to, "<text x=\"%.1f\" y=\"%.1f\">%.4g</text>\n", x + 9, y + 4, bars[i].bits);
}

static void draw(FILE *to, const void *title)
{
	struct svg_axis axis = { .least = log10(bars[0].bits) - 0.02,
		.most = log10(2 * bars[0].bits), .logarithmic = true };
	size_t bottom = SVG_TOP + SVG_ROW * (count - 1) + 14;
	double bound;

	for (size_t i = 1; i < count; i++) {
		axis.most = fmax(axis.most, log10(bars[i].bits));
		axis.least = fmin(axis.least, log10(bars[i].bits) - 0.02);
	}
	svg_begin(to, title, bottom + 66);
	svg_draw_axis(to, &axis, bottom, "bits a key");
	bound = svg_place(&axis, bars[0].bits);
	fprintf(to, "<line class=\"bound\" stroke-dasharray=\"4 3\" x1=\"%.1f\" x2=\"%.1f\" "
		"y1=\"%d\" y2=\"%zu\"/><text x=\"%.1f\" y=\"%d\">%s: %.4g</text>\n", bound,
		bound, SVG_TOP - 6, bottom, bound + 5, SVG_TOP + 4, bars[0].name, bars[0].bits);
	for (size_t i = 1; i < count; i++)
		draw_row(to, &axis, i);
	draw_mark(to, true, SVG_LEFT, (double)bottom + 50);
	fprintf(to, "<text x=\"%d\" y=\"%zu\">filters</text>", SVG_LEFT + 9, bottom + 54);
	draw_mark(to, false, SVG_LEFT + 90, (double)bottom + 50);
	fprintf(to, "<text x=\"%d\" y=\"%zu\">no filters (--compare)</text>\n</svg>\n",
		SVG_LEFT + 99, bottom + 54);
}

int plot_svg(const char *path, const char *title)
{
	sort_bars();
	return svg_write(path, draw, title);
}
