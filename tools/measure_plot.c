/*
 * measure_plot.c - a measured rate beside the rates that it should be, as SVG
 *
 * A measured rate is a circle, whose bar is one standard error to each side. A rate that was
 * computed is a square. The smallest rate stands first. If none was found, a bar goes from the left
 * edge to the most that the rate is, 19 times of 20. The axis is logarithmic where the largest rate
 * is ten times the smallest.
 */
#include "measure_plot.h"
#include "numbers.h"
#include "svg.h"

#include <math.h>

enum { ROWS = 4 };

struct row {
	const char *name;
	double rate, low, high;		/* low and high: of the bar */
	bool measured;
};

struct picture {
	const struct blm_info *info;
	const struct measured *m;
	struct row rows[ROWS];
	size_t count;
	struct svg_axis axis;
};

static void add(struct picture *p, const char *name, double rate)
{
	if (rate > 0 && isfinite(rate))
		p->rows[p->count++] = (struct row){ name, rate, rate, rate, false };
}

static void add_measured(struct picture *p)
{
	const struct measured *m = p->m;

	/* a bar that begins at 0 ends at the left edge of a logarithmic axis */
	p->rows[p->count++] = (struct row){
		.name = "measured", .measured = true,
		.rate = m->found ? m->rate : m->error,
		.low = m->found ? fmax(m->rate - m->error, m->rate / 10) : m->error / 2,
		.high = m->found ? m->rate + m->error : m->error,
	};
}

static int by_rate(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->rate < y->rate ? -1 : x->rate > y->rate ? 1 : strcmp(x->name, y->name);
}

static struct svg_axis axis_of(const struct picture *p)
{
	double least = INFINITY, most = 0, space;

	for (size_t i = 0; i < p->count; i++) {
		least = fmin(least, p->rows[i].low);
		most = fmax(most, p->rows[i].high);
	}
	if (most >= 10 * least)
		return (struct svg_axis){ log10(least) - 0.1,
					  log10(most) + (p->m->found ? 0.1 : 0.7), true };
	space = fmax((most - least) / 8, most / 100);
	return (struct svg_axis){ least - space, most + space, false };
}

static void draw_bar(FILE *to, double from, double to_x, double y, bool left_end)
{
	fprintf(to, "<path class=\"stem error\" stroke-width=\"2\" d=\"M%.1f %.1fH%.1f", from, y,
		to_x);
	if (left_end)
		fprintf(to, "M%.1f %.1fv10", from, y - 5);
	fprintf(to, "M%.1f %.1fv10\"/>", to_x, y - 5);
}

static void draw_row(FILE *to, const struct picture *p, size_t i)
{
	const struct row *row = &p->rows[i];
	double x = svg_place(&p->axis, row->rate), end = svg_place(&p->axis, row->high),
		y = SVG_TOP + SVG_ROW * ((double)i + 0.5);
	bool none = row->measured && !p->m->found;

	fprintf(to, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>", SVG_LEFT - 14,
		y + 4, row->name);
	if (row->measured)
		draw_bar(to, none ? SVG_LEFT : svg_place(&p->axis, row->low), end, y, !none);
	if (row->measured && !none)
		svg_draw_circle(to, x, y);
	else if (!none)
		svg_draw_square(to, x, y);
	fprintf(to, "<text x=\"%.1f\" y=\"%.1f\">%s%.4g</text>\n", fmax(x, end) + 9, y + 4,
		none ? "at most " : "", row->rate);
}

static void draw(FILE *to, const void *context)
{
	const struct picture *p = context;
	size_t bottom = SVG_TOP + SVG_ROW * p->count + 8;
	char title[160];

	snprintf(title, sizeof(title), "%s filter: rate of false positives, measured and computed",
		 p->info->kind);
	svg_begin(to, title, bottom + 72);
	fprintf(to, "<text x=\"10\" y=\"40\">m %s, k %u; %s keys; %s absent %s asked, ",
		show_count(p->info->cells), p->info->probes, show_count(p->info->keys),
		show_count(p->m->asked), p->info->can & BLM_CAN_RANGE ? "ranges" : "keys");
	fprintf(to, "%s found</text>\n", show_count(p->m->found));
	svg_draw_axis(to, &p->axis, bottom, "rate");
	for (size_t i = 0; i < p->count; i++)
		draw_row(to, p, i);
	fprintf(to, "<text x=\"%d\" y=\"%zu\">%s; square: computed</text>\n</svg>\n", SVG_LEFT,
		bottom + 58, p->m->found ? "circle: measured, with its standard error"
		: "bar: the most that it is, 19 times of 20");
}

int plot_measured(const char *path, const struct blm_info *info, const struct measured *m,
		  double formula, double from_bits)
{
	struct picture p = { .info = info, .m = m };

	add_measured(&p);
	add(&p, "formula", formula);
	add(&p, "from bits", from_bits);
	add(&p, "promised", info->rate);
	qsort(p.rows, p.count, sizeof(*p.rows), by_rate);
	p.axis = axis_of(&p);
	return svg_write(path, draw, &p);
}
