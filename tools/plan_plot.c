/*
 * plan_plot.c - bits a key, a row for each kind, the smallest first: bars in the terminal, and SVG
 *
 * Bars end at 8 times the lower bound: a longer bar is cut there, and its number says its length.
 * The SVG has a logarithmic axis, on which a length means nothing, so it has dots, and a line from
 * the lower bound to each.
 */
#include "plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 64, COLUMNS = 48, ROW = 22, LEFT = 120, WIDTH = 520, TOP = 58, CUT = 8 };

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

	sort_bars();
	printf("\nBits a key:\n");
	for (size_t i = 0; i < count; i++) {
		int length = (int)fmax(round(fmin(bars[i].bits, scale) / scale * COLUMNS), 1);

		printf("%-12s %10.4g ", bars[i].name, bars[i].bits);
		while (length-- > 0)
			putchar('#');
		puts(bars[i].bits > scale ? ">" : "");
	}
}

/* ---- SVG ---- */

struct scale {
	double least, most;	/* logarithms */
	size_t bottom;
};

static double place(const struct scale *s, double bits)
{
	return LEFT + (log10(bits) - s->least) / (s->most - s->least) * WIDTH;
}

static void draw_head(FILE *to, const char *title, size_t bottom)
{
	const int width = LEFT + WIDTH + 80;

	fprintf(to, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
		"viewBox=\"0 0 %d %zu\" role=\"img\" font-family=\"sans-serif\" "
		"font-size=\"12\">\n<title>%s</title>\n", width, bottom + 66, width, bottom + 66,
		title);
	fputs("<style>\n.paper{fill:#fff}text{fill:#1b1b1b}.grid{stroke:#d0d0d0}"
	      ".bound{stroke:#1b1b1b}.stem,.dot{stroke:#2f6db5;fill:#2f6db5}"
	      ".other{stroke:#8a3b00;fill:#fff}\n"
	      "@media(prefers-color-scheme:dark){.paper{fill:#151515}text{fill:#e8e8e8}"
	      ".grid{stroke:#444}.bound{stroke:#e8e8e8}.stem,.dot{stroke:#6ea3dd;fill:#6ea3dd}"
	      ".other{stroke:#ffb066;fill:#151515}}\n</style>\n<rect class=\"paper\" "
	      "width=\"100%\" height=\"100%\"/>\n", to);
	fprintf(to, "<text x=\"10\" y=\"22\" font-size=\"15\">%s</text>\n", title);
}

/* At 1, 2 and 5 times the powers of ten */
static void draw_axis(FILE *to, const struct scale *s)
{
	static const double steps[] = { 1, 2, 5 };

	for (double ten = pow(10, floor(s->least)); log10(ten) <= s->most; ten *= 10)
		for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
			double at = steps[i] * ten, x = place(s, at);

			if (log10(at) < s->least || log10(at) > s->most)
				continue;
			fprintf(to, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" "
				"y2=\"%zu\"/><text x=\"%.1f\" y=\"%zu\" text-anchor=\"middle\">"
				"%g</text>\n", x, x, TOP - 6, s->bottom, x, s->bottom + 16, at);
		}
	fprintf(to, "<text x=\"%d\" y=\"%zu\" text-anchor=\"middle\">bits a key, "
		"logarithmic</text>\n", LEFT + WIDTH / 2, s->bottom + 34);
}

/* A filter is a filled circle, another structure an empty square. */
static void draw_mark(FILE *to, bool filter, double x, double y)
{
	if (filter)
		fprintf(to, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>", x, y);
	else
		fprintf(to, "<rect class=\"other\" stroke-width=\"2\" x=\"%.1f\" y=\"%.1f\" "
			"width=\"8\" height=\"8\"/>", x - 4, y - 4);
}

static void draw_row(FILE *to, const struct scale *s, size_t i)
{
	double x = place(s, bars[i].bits), y = TOP + ROW * (double)i;

	fprintf(to, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text><line class=\"stem\" "
		"x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT - 14, y + 4,
		bars[i].name, place(s, bars[0].bits), x, y, y);
	draw_mark(to, bars[i].filter, x, y);
	fprintf(to, "<text x=\"%.1f\" y=\"%.1f\">%.4g</text>\n", x + 9, y + 4, bars[i].bits);
}

static void draw(FILE *to, const char *title)
{
	struct scale s = { .least = log10(bars[0].bits) - 0.02,
		.most = log10(2 * bars[0].bits), .bottom = TOP + ROW * (count - 1) + 14 };
	double bound;

	for (size_t i = 1; i < count; i++) {
		s.most = fmax(s.most, log10(bars[i].bits));
		s.least = fmin(s.least, log10(bars[i].bits) - 0.02);
	}
	draw_head(to, title, s.bottom);
	draw_axis(to, &s);
	bound = place(&s, bars[0].bits);
	fprintf(to, "<line class=\"bound\" stroke-dasharray=\"4 3\" x1=\"%.1f\" x2=\"%.1f\" "
		"y1=\"%d\" y2=\"%zu\"/><text x=\"%.1f\" y=\"%d\">%s: %.4g</text>\n", bound, bound,
		TOP - 6, s.bottom, bound + 5, TOP + 4, bars[0].name, bars[0].bits);
	for (size_t i = 1; i < count; i++)
		draw_row(to, &s, i);
	draw_mark(to, true, LEFT, (double)s.bottom + 50);
	fprintf(to, "<text x=\"%d\" y=\"%zu\">filters</text>", LEFT + 9, s.bottom + 54);
	draw_mark(to, false, LEFT + 90, (double)s.bottom + 50);
	fprintf(to, "<text x=\"%d\" y=\"%zu\">no filters (--compare)</text>\n</svg>\n", LEFT + 99,
		s.bottom + 54);
}

int plot_svg(const char *path, const char *title)
{
	FILE *to = fopen(path, "wxe");
	bool well;

	if (!to)
		return broken("%s: %s", path, strerror(errno));
	sort_bars();
	draw(to, title);
	well = !ferror(to);
	if (fclose(to) == 0 && well)
		return DONE;
	broken("%s: %s", path, strerror(errno));
	unlink(path);		/* nothing half-made */
	return FAILED;
}
