/*
 * plan_plot.c - bits a key as bars, a row for each kind: in the terminal, and as SVG
 *
 * Bars end at 8 times the lower bound: a longer bar is cut there, and its number says its length.
 */
#include "plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 64, COLUMNS = 48, ROW = 20, LEFT = 190, WIDTH = 480, TOP = 40, CUT = 8 };

static struct {
	const char *name;
	double bits;
} bars[ROWS];
static size_t count;

void plot_add(const char *name, double bits_per_key)
{
	if (count < ROWS) {
		bars[count].name = name;
		bars[count++].bits = bits_per_key;
	}
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

	printf("\nBits a key:\n");
	for (size_t i = 0; i < count; i++) {
		int length = (int)fmax(round(fmin(bars[i].bits, scale) / scale * COLUMNS), 1);

		printf("%-12s %10.4g ", bars[i].name, bars[i].bits);
		while (length-- > 0)
			putchar('#');
		puts(bars[i].bits > scale ? ">" : "");
	}
}

static void draw(FILE *to, const char *title)
{
	double scale = most();

	fprintf(to, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" "
		"height=\"100%%\" fill=\"#fff\"/>\n<text x=\"10\" y=\"22\" "
		"font-size=\"14\">%s</text>\n",
		LEFT + WIDTH + 20, TOP + ROW * count + 10, title);
	for (size_t i = 0; i < count; i++) {
		double length = fmin(bars[i].bits, scale) / scale * WIDTH;
		size_t y = TOP + ROW * i;

		fprintf(to, "<text x=\"10\" y=\"%zu\">%s</text><text x=\"%d\" y=\"%zu\" "
			"text-anchor=\"end\">%.4g</text><rect x=\"%d\" y=\"%zu\" width=\"%.1f\" "
			"height=\"%d\" fill=\"%s\"/>\n", y + 14, bars[i].name, LEFT - 10, y + 14,
			bars[i].bits, LEFT, y + 3, length, ROW - 6, i == 0 ? "#c44e52" : "#4c72b0");
		if (bars[i].bits > scale)
			fprintf(to, "<text x=\"%d\" y=\"%zu\">&gt;</text>\n", LEFT + WIDTH + 4,
				y + 14);
	}
	fprintf(to, "</svg>\n");
}

int plot_svg(const char *path, const char *title)
{
	FILE *to = fopen(path, "wxe");
	bool well;

	if (!to)
		return broken("%s: %s", path, strerror(errno));
	draw(to, title);
	well = !ferror(to);
	if (fclose(to) == 0 && well)
		return DONE;
	broken("%s: %s", path, strerror(errno));
	unlink(path);		/* nothing half-made */
	return FAILED;
}
