/*
 * plot.c - nanoseconds for a question against the size of the filter, as SVG; readable on light and
 * on dark, and without colours
 *
 * Both axes are logarithmic. A point is a median, and the bar through it goes from the first
 * quartile to the third. The slowest curve at its largest size is the first in the legend.
 */
#include "bench.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 860, HEIGHT = 520, LEFT = 70, RIGHT = 180, TOP = 60, BOTTOM = 60, POINTS_MAX = 64,
       COLLECTED = 40, CURVES_MAX = 16 };

struct curve {
	const char *name;
	struct {
		double bytes, ns, q1, q3;
	} at[POINTS_MAX];
	size_t count;
};

struct frame {
	double x0, x1, y0, y1;	/* logarithms of the ends of the axes */
};

static double place_x(const struct frame *f, double bytes)
{
	return LEFT + (log2(bytes) - f->x0) / (f->x1 - f->x0) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const struct frame *f, double ns)
{
	return HEIGHT - BOTTOM - (log2(ns) - f->y0) / (f->y1 - f->y0) * (HEIGHT - TOP - BOTTOM);
}

/* ---- Curves ---- */

static void take(struct curve *c, double bytes, const struct spread *t)
{
	size_t i = c->count < POINTS_MAX ? c->count++ : POINTS_MAX - 1;

	for (; i > 0 && c->at[i - 1].bytes > bytes; i--)
		c->at[i] = c->at[i - 1];
	c->at[i].bytes = bytes;
	c->at[i].ns = t->median;
	c->at[i].q1 = t->q1;
	c->at[i].q3 = t->q3;
}

/* Two points show no course: those curves are left out. */
static size_t with_points(struct curve *all, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count && kept < CURVES_MAX; i++)
		if (all[i].count > 2)
			all[kept++] = all[i];
	return kept;
}

static struct curve *curve_for(struct curve *all, size_t *count, size_t most, const char *name)
{
	for (size_t i = 0; i < *count; i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	if (*count == most)
		return NULL;
	all[*count] = (struct curve){ .name = name };
	return &all[(*count)++];
}

/*
 * Each filter's questions by the best instructions; and the limit, as it was on the first kind's
 * memory.
 */
static size_t curves_of(const struct plan *plan, struct curve *ret, size_t most)
{
	size_t count = 0;
	const char *first = NULL;

	for (size_t i = 0; i < plan->row_count; i++) {
		const struct row *row = &plan->rows[i];
		struct spread t = row_spread(plan, row);
		bool limit = row->work->run == read_lines;
		struct curve *c;

		if (!t.count || !row->work->curve || row->work->unit
		    || (row->set && strcmp(row->set, plan->sets[0])))
			continue;
		first = first ? first : row->site->name;
		if (limit && strcmp(first, row->site->name))
			continue;
		c = curve_for(ret, &count, most, limit ? "one random line" : row->site->name);
		if (c)
			take(c, (double)row->site->data_bytes, &t);
	}
	return with_points(ret, count);
}

static int by_last(const void *a, const void *b)
{
	const struct curve *x = a, *y = b;
	double u = x->count ? x->at[x->count - 1].ns : 0, v = y->count ? y->at[y->count - 1].ns : 0;

	return u > v ? -1 : u < v ? 1 : strcmp(x->name, y->name);
}

static struct frame frame_of(const struct curve *all, size_t count)
{
	struct frame f = { 100, 0, 100, -100 };

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < all[i].count; j++) {
			f.x0 = fmin(f.x0, log2(all[i].at[j].bytes));
			f.x1 = fmax(f.x1, log2(all[i].at[j].bytes));
			f.y0 = fmin(f.y0, log2(all[i].at[j].q1));
			f.y1 = fmax(f.y1, log2(all[i].at[j].q3));
		}
	f.x0 = floor(f.x0);
	f.x1 = fmax(ceil(f.x1), f.x0 + 1);
	f.y0 = floor(f.y0);
	f.y1 = fmax(ceil(f.y1), f.y0 + 1);
	return f;
}

/* ---- Drawing ---- */

static const char *const colours[] = { "#8a8f98", "#2f81f7", "#e8590c", "#2da44e",
				       "#a371f7", "#d4a72c", "#db61a2" };

static void head(FILE *to)
{
	fprintf(to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 "
		"0 %d %d\" role=\"img\" "
		"font-family=\"sans-serif\" font-size=\"13\">\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	fprintf(to,
		"<title>Time of a question against the size of the filter</title>\n"
		"<style>\n.paper { fill: #ffffff } .ink { fill: #24292f } .grid { stroke: #d8dee4 "
		"} .cache { stroke: #8c959f } "
		".empty { fill: #ffffff; stroke-width: 1.5 } .error { stroke-width: 1.5 }\n"
		"@media (prefers-color-scheme: dark) { .paper { fill: #0d1117 } .ink { fill: "
		"#e6edf3 } .grid { stroke: #30363d } "
		".cache { stroke: #8b949e } .empty { fill: #0d1117 } }\n</style>\n"
		"<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n",
		WIDTH, HEIGHT);
}

static void words(FILE *to, double x, double y, const char *more, const char *what)
{
	fprintf(to, "<text class=\"ink\" x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, more, what);
}

static void axes(const struct frame *f, FILE *to)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	char label[32];

	for (double e = 2 * ceil(f->x0 / 2); e <= f->x1; e += 2) {
		double x = place_x(f, exp2(e));

		fprintf(to, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
			x, x, TOP, HEIGHT - BOTTOM);
		snprintf(label, sizeof(label), "%.0f %s", exp2(fmod(e, 10)), units[(int)(e / 10)]);
		words(to, x, HEIGHT - BOTTOM + 20, "text-anchor=\"middle\"", label);
	}
	for (double e = f->y0; e <= f->y1; e++) {
		double y = place_y(f, exp2(e));

		fprintf(to, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
			LEFT, WIDTH - RIGHT, y, y);
		snprintf(label, sizeof(label), "%g", exp2(e));
		words(to, LEFT - 8, y + 4, "text-anchor=\"end\"", label);
	}
	words(to, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16, "text-anchor=\"middle\"",
	      "size of the filter");
	words(to, LEFT - 44, TOP - 14, "", "ns for a question: median and quartiles");
}

static double cache_bytes(int index)
{
	char path[100], unit = 0;
	double size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
	f = fopen(path, "re");
	if (f && fscanf(f, "%lf%c", &size, &unit) < 1)
		size = 0;
	if (f)
		fclose(f);
	return size * (unit == 'K' ? 1024 : unit == 'M' ? 1 << 20 : 1);
}

/* The second is that of instructions. */
static void caches(const struct frame *f, FILE *to)
{
	static const int index[] = { 0, 2, 3 };
	char label[8];

	for (size_t i = 0; i < ARRAY_LEN(index); i++) {
		double bytes = cache_bytes(index[i]), x = bytes > 0 ? place_x(f, bytes) : 0;

		if (bytes <= 0 || log2(bytes) < f->x0 || log2(bytes) > f->x1)
			continue;
		fprintf(to,
			"<line class=\"cache\" stroke-dasharray=\"4 4\" x1=\"%.1f\" x2=\"%.1f\" "
			"y1=\"%d\" y2=\"%d\"/>\n",
			x, x, TOP, HEIGHT - BOTTOM);
		snprintf(label, sizeof(label), "L%zu", i + 1);
		words(to, x + 4, TOP + 14, "", label);
	}
}

/* What stands for the curve besides its colour: paths around a point */
static const char *const marks[] = {
	"m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", "m-3.2 -3.2h6.4v6.4h-6.4z",
	"m0 -4.5l4.2 7.4h-8.4z", "m0 -4.8l4.4 4.8l-4.4 4.8l-4.4 -4.8z", "m0 4.5l-4.2 -7.4h8.4z",
	"m-4.5 0l7.4 -4.2v8.4z", "m4.5 0l-7.4 -4.2v8.4z", "m-3.5 -4h7l-7 8h7z",
};

/* The first marks are filled, then the same are empty, and so on. */
static void mark(double x, double y, size_t number, const char *colour, FILE *to)
{
	fprintf(to, "<path class=\"%s\" stroke=\"%s\"%s%s%s d=\"M%.1f %.1f%s\"/>\n",
		number / ARRAY_LEN(marks) % 2 ? "empty" : "full", colour,
		number / ARRAY_LEN(marks) % 2 ? "" : " fill=\"",
		number / ARRAY_LEN(marks) % 2 ? "" : colour,
		number / ARRAY_LEN(marks) % 2 ? "" : "\"", x, y, marks[number % ARRAY_LEN(marks)]);
}

static void draw(const struct frame *f, const struct curve *c, size_t number, FILE *to)
{
	const char *colour = colours[number % ARRAY_LEN(colours)];
	double label_y = TOP + 20 + 22 * (double)number;
	const char *dashes = !strcmp(c->name, "one random line") ? " stroke-dasharray=\"7 4\"" : "";

	fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2.5\"%s points=\"",
		colour, dashes);
	for (size_t i = 0; i < c->count; i++)
		fprintf(to, "%s%.1f,%.1f", i ? " " : "", place_x(f, c->at[i].bytes),
			place_y(f, c->at[i].ns));
	fprintf(to, "\"/>\n");
	for (size_t i = 0; i < c->count; i++) {
		double x = place_x(f, c->at[i].bytes);

		fprintf(to, "<path class=\"error\" fill=\"none\" stroke=\"%s\" d=\"M%.1f %.1fh6m-3 "
			"0V%.1fm-3 0h6\"/>\n",
			colour, x - 3, place_y(f, c->at[i].q1), place_y(f, c->at[i].q3));
		mark(x, place_y(f, c->at[i].ns), number, colour, to);
	}
	fprintf(to,
		"<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
		"stroke-width=\"2.5\"%s/>\n",
		WIDTH - RIGHT + 16, WIDTH - RIGHT + 42, label_y, label_y, colour, dashes);
	mark(WIDTH - RIGHT + 29, label_y, number, colour, to);
	words(to, WIDTH - RIGHT + 50, label_y + 4, "", c->name);
}

void plot_svg(const struct plan *plan, FILE *to)
{
	struct curve *curves = calloc(COLLECTED, sizeof(*curves));
	size_t count = curves ? curves_of(plan, curves, COLLECTED) : 0;
	struct frame f = frame_of(curves, count);
	struct fact facts[FACTS];
	char title[600];

	if (count)
		qsort(curves, count, sizeof(*curves), by_last);
	machine_facts(facts);
	head(to);
	if (count) {
		axes(&f, to);
		caches(&f, to);
	}
	snprintf(title, sizeof(title),
		 "Absent keys of 16 bytes, %g %% false positives, one thread of %.80s",
		 100 * plan->options.rate, facts[0].value.s);
	words(to, LEFT - 44, 24, "font-size=\"16\" font-weight=\"bold\"",
	      "Time of a question against the size of the filter");
	words(to, LEFT + 230, TOP - 14, "font-size=\"12\"", title);
	for (size_t i = 0; i < count; i++)
		draw(&f, &curves[i], i, to);
	fprintf(to, "</svg>\n");
	free(curves);
}
