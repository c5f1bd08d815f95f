/* svg.c - a diagram with one axis, readable on light and on dark, and without colours */
#include "svg.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

double svg_place(const struct svg_axis *axis, double value)
{
	double at = axis->logarithmic ? log10(value) : value;

	return SVG_LEFT + (at - axis->least) / (axis->most - axis->least) * SVG_WIDTH;
}

void svg_begin(FILE *to, const char *title, size_t height)
{
	const int width = SVG_LEFT + SVG_WIDTH + SVG_RIGHT;

	fprintf(to, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
		"viewBox=\"0 0 %d %zu\" role=\"img\" font-family=\"sans-serif\" "
		"font-size=\"12\">\n<title>%s</title>\n", width, height, width, height, title);
	fputs("<style>\n.paper{fill:#fff}text{fill:#1b1b1b}.grid{stroke:#d0d0d0}"
	      ".bound{stroke:#1b1b1b}.stem,.dot{stroke:#2f6db5;fill:#2f6db5}"
	      ".other{stroke:#8a3b00;fill:#fff}\n"
	      "@media(prefers-color-scheme:dark){.paper{fill:#151515}text{fill:#e8e8e8}"
	      ".grid{stroke:#444}.bound{stroke:#e8e8e8}.stem,.dot{stroke:#6ea3dd;fill:#6ea3dd}"
	      ".other{stroke:#ffb066;fill:#151515}}\n</style>\n<rect class=\"paper\" "
	      "width=\"100%\" height=\"100%\"/>\n", to);
	fprintf(to, "<text x=\"10\" y=\"22\" font-size=\"15\">%s</text>\n", title);
}

static void draw_tick(FILE *to, const struct svg_axis *axis, size_t bottom, double value)
{
	double x = svg_place(axis, value);

	if (x < SVG_LEFT - 0.01 || x > SVG_LEFT + SVG_WIDTH + 0.01)
		return;
	fprintf(to, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%zu\"/>"
		"<text x=\"%.1f\" y=\"%zu\" text-anchor=\"middle\">%.6g</text>\n", x, x,
		SVG_TOP - 6, bottom, x, bottom + 16, value);
}

/* 1, 2 or 5 times a power of ten, and at least so much */
static double round_step(double least)
{
	double ten = pow(10, floor(log10(least)));

	return least <= ten ? ten : least <= 2 * ten ? 2 * ten : least <= 5 * ten ? 5 * ten
		: 10 * ten;
}

void svg_draw_axis(FILE *to, const struct svg_axis *axis, size_t bottom, const char *what)
{
	static const double steps[] = { 1, 2, 5 };
	enum { TICKS = 6 };

	if (axis->logarithmic) {
		/* over many powers of ten their numbers alone have room */
		size_t each = axis->most - axis->least > 3 ? 1 : ARRAY_LEN(steps);

		for (double power = floor(axis->least); power <= axis->most; power++)
			for (size_t i = 0; i < each; i++)
				draw_tick(to, axis, bottom, steps[i] * pow(10, power));
	} else {
		double step = round_step((axis->most - axis->least) / TICKS);

		for (double i = ceil(axis->least / step); i * step <= axis->most; i++)
			draw_tick(to, axis, bottom, i * step);
	}
	fprintf(to, "<text x=\"%d\" y=\"%zu\" text-anchor=\"middle\">%s%s</text>\n",
		SVG_LEFT + SVG_WIDTH / 2, bottom + 34, what,
		axis->logarithmic ? ", logarithmic" : "");
}

void svg_draw_circle(FILE *to, double x, double y)
{
	fprintf(to, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>", x, y);
}

void svg_draw_square(FILE *to, double x, double y)
{
	fprintf(to, "<rect class=\"other\" stroke-width=\"2\" x=\"%.1f\" y=\"%.1f\" width=\"8\" "
		"height=\"8\"/>", x - 4, y - 4);
}

static int svg_refuse(const char *path, int error)
{
	if (error == EEXIST)
		return broken("--svg %s: it exists; give the name of a new file", path);
	return broken("--svg %s: %s", path, strerror(error));
}

int svg_check(const char *path)
{
	return access(path, F_OK) == 0 ? svg_refuse(path, EEXIST) : DONE;
}

int svg_write(const char *path, void (*draw)(FILE *to, const void *context), const void *context)
{
	FILE *to = fopen(path, "wxe");
	bool well;

	if (!to)
		return svg_refuse(path, errno);
	draw(to, context);
	well = !ferror(to);
	if (fclose(to) == 0 && well)
		return DONE;
	broken("%s: %s", path, strerror(errno));
	unlink(path);		/* nothing half-made */
	return FAILED;
}
