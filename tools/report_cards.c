/* report_cards.c - filters that need a look first: how they filled up, and where their bits are */
#include "numbers.h"
#include "report.h"

#include <math.h>

/* ---- How it filled up: two drawings with one axis of time ---- */

enum { WIDE = 340, LEFT = 48, RIGHT = 330, TOP = 14, FILL_LOW = 118, RATE_LOW = 84, DOTS = 40 };

struct axes {
	double begin, now, end;		/* times */
	double least, most;		/* of the values; of rates, their logarithms */
	int low;			/* y of the least */
};

static double x_of(const struct axes *a, double when)
{
	return LEFT + (when - a->begin) / (a->end - a->begin) * (RIGHT - LEFT);
}

static double y_of(const struct axes *a, double value)
{
	return a->low - (value - a->least) / (a->most - a->least) * (a->low - TOP);
}

/* Its moments that have the value, then now. NaN: that moment has none. */
static double value_of(const struct entry *e, size_t i, bool is_rate)
{
	double rate = i < e->past_count ? e->past[i].predicted : e->predicted;

	if (!is_rate)
		return i < e->past_count ? e->past[i].keys : (double)e->keys;
	return rate > 0 ? log10(rate) : (double)NAN;
}

/* Lines join moments of one file; another file under the name begins a line of its own. */
static void print_line(FILE *out, const struct entry *e, const struct axes *a, bool is_rate)
{
	const char *uuid = "";

	fputs("<path class=\"l\" d=\"", out);
	for (size_t i = 0; i <= e->past_count; i++) {
		double value = value_of(e, i, is_rate);
		const char *own = i < e->past_count ? e->past[i].uuid : e->uuid;
		double when = i < e->past_count ? (double)e->past[i].when : a->now;

		if (isnan(value)) {
			uuid = "";
			continue;
		}
		fprintf(out, "%c%.1f %.1f", strcmp(uuid, own) ? 'M' : 'L', x_of(a, when),
			y_of(a, fmin(fmax(value, a->least), a->most)));
		uuid = own;
	}
	fputs("\"/>\n", out);
	for (size_t i = 0; i <= e->past_count && e->past_count < DOTS; i++) {
		double value = value_of(e, i, is_rate);

		if (!isnan(value))
			fprintf(out, "<circle class=\"p\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>",
				x_of(a, i < e->past_count ? (double)e->past[i].when : a->now),
				y_of(a, fmin(fmax(value, a->least), a->most)));
	}
}

static void print_tick(FILE *out, const struct axes *a, double value, const char *label)
{
	double y = y_of(a, value);

	fprintf(out, "<path class=\"g\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
		"text-anchor=\"end\">%s</text>\n", LEFT, y, RIGHT, LEFT - 4, y + 4, label);
}

/* A dotted line with its name above it. */
static void print_limit(FILE *out, const struct axes *a, double value, const char *name)
{
	double y = y_of(a, value);

	fprintf(out, "<path class=\"c\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\">%s</text>\n",
		LEFT, y, RIGHT, LEFT + 4, y - 3, name);
}

static void print_times(FILE *out, const struct entry *e, const struct axes *a)
{
	double in = full_in(e), now = x_of(a, a->now);

	fprintf(out, "<text x=\"%d\" y=\"%d\">%s</text>", LEFT, a->low + 14,
		show_date((time_t)a->begin));
	if (a->end > a->now)
		fprintf(out, "<path class=\"g\" d=\"M%.1f %dV%d\"/>", now, TOP, a->low);
	if (now > LEFT + 90 && now < RIGHT - 90)
		fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">now</text>", now,
			a->low + 14);
	if (in > 0 && a->now + in <= a->end + 1)
		fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">full %s</text>\n", RIGHT,
			a->low + 14, show_date((time_t)(a->now + in)));
	else
		fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", RIGHT,
			a->low + 14, a->end > a->now ? show_date((time_t)a->end) : "now");
}

static void print_filling(FILE *out, const struct entry *e, struct axes *a)
{
	double most = fills_up(e) ? (double)e->capacity : 1, in = full_in(e);

	for (size_t i = 0; i <= e->past_count; i++)
		most = fmax(most, value_of(e, i, false));
	a->least = 0;
	a->most = most;
	a->low = FILL_LOW;
	fprintf(out, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"keys over "
		"time\">\n", WIDE, FILL_LOW + 20, WIDE);
	for (int i = 0; i <= 2; i++)
		print_tick(out, a, most * i / 2, show_short(most * i / 2));
	if (fills_up(e))
		print_limit(out, a, (double)e->capacity, "capacity");
	if (!e->past_count)
		fprintf(out, "<path class=\"f\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x_of(a, a->begin),
			y_of(a, 0), x_of(a, a->now), y_of(a, (double)e->keys));
	print_line(out, e, a, false);
	if (in > 0 && a->end > a->now)
		fprintf(out, "<path class=\"f\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x_of(a, a->now),
			y_of(a, (double)e->keys), x_of(a, a->end),
			y_of(a, (double)e->keys + e->pace * (a->end - a->now)));
	print_times(out, e, a);
	fputs("</svg>\n", out);
}

static void print_rates(FILE *out, const struct entry *e, struct axes *a)
{
	double least = e->rate > 0 ? log10(e->rate) : 0, most = e->rate > 0 ? least : -400;
	int step;

	for (size_t i = 0; i <= e->past_count; i++) {
		double rate = value_of(e, i, true);

		least = isnan(rate) ? least : fmin(least, rate);
		most = isnan(rate) ? most : fmax(most, rate);
	}
	if (most < least)
		return;
	a->most = fmin(ceil(most + 0.01), 0);
	a->least = fmax(floor(least - 0.01), a->most - 6);
	a->low = RATE_LOW;
	step = 1 + (int)(a->most - a->least - 1) / 4;
	fprintf(out, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"predicted "
		"rate over time\">\n", WIDE, RATE_LOW + 20, WIDE);
	for (double at = a->most; at >= a->least; at -= step)
		print_tick(out, a, at, show_rate(pow(10, at)));
	if (e->rate > 0)
		print_limit(out, a, fmax(log10(e->rate), a->least), "promised");
	print_line(out, e, a, true);
	print_times(out, e, a);
	fputs("</svg>\n", out);
}

static void print_charts(FILE *out, const struct report *r, const struct entry *e)
{
	double in = full_in(e);
	struct axes a = { .now = (double)r->now };

	if (!e->past_count && !e->from_start)
		return;
	a.begin = e->past_count ? (double)e->past[0].when : (double)e->since;
	if (a.now - a.begin < 60)
		return;
	a.end = a.now;
	if (in > 0)
		a.end += fmin(in, 0.6 * (a.now - a.begin));
	fputs("<p>Keys over time; dashed: at the average pace</p>\n", out);
	print_filling(out, e, &a);
	if (!e->past_count)
		return;
	fputs("<p>Predicted rate of false positives, logarithmic</p>\n", out);
	a.end = a.now;
	print_rates(out, e, &a);
}

/* ---- Where the bits are ---- */

enum { ACROSS = 32, PIECES = 512, LEVELS = 8, BLOCK = 64, SAMPLE = 32 << 10 };

struct map {
	double fill[PIECES];
	size_t count;
	uint64_t piece_bytes;
	double least, most, middle, usual;	/* the usual distance from the middle */
};

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(const double *values, size_t count)
{
	double sorted[PIECES];

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), by_value);
	return sorted[count / 2];
}

/* Or are there several, with cells that m does not count? The padding has less than a block. */
static bool has_one_array(const struct entry *e)
{
	return e->parts == 1 && 8 * e->data_bytes - e->cells < 8 * BLOCK;
}

/* The share of the bits of a piece that are set. Bits past the last cell do not count. */
static bool read_piece(double *ret, const struct blm_filter *f, const struct entry *e, uint64_t at,
		       uint64_t bytes)
{
	static uint64_t words[SAMPLE / 8];
	uint64_t bits = 8 * bytes, ones = 0;

	memset(words, 0, sizeof(words));
	if (has_one_array(e) && 8 * at + bits > e->cells)
		bits = e->cells > 8 * at ? e->cells - 8 * at : 0;
	if (!bits || blm_data_read(f, at, words, bytes) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		ones += (uint64_t)__builtin_popcountll(words[i]);
	*ret = (double)ones / (double)bits;
	return true;
}

static bool read_map(struct map *map, const struct blm_filter *f, const struct entry *e)
{
	uint64_t blocks = (e->data_bytes + BLOCK - 1) / BLOCK;
	size_t pieces = blocks < PIECES ? (size_t)blocks : PIECES;
	double distances[PIECES];

	*map = (struct map){ .least = 1 };
	for (size_t i = 0; i < pieces; i++) {
		uint64_t at = blocks * i / pieces * BLOCK, end = blocks * (i + 1) / pieces * BLOCK;

		end = end < e->data_bytes ? end : e->data_bytes;
		map->piece_bytes = i ? map->piece_bytes : end - at;
		if (!read_piece(&map->fill[map->count], f, e, at, end - at < SAMPLE ? end - at
				: SAMPLE))
			break;
		map->least = fmin(map->least, map->fill[map->count]);
		map->most = fmax(map->most, map->fill[map->count]);
		map->count++;
	}
	if (!map->count)
		return false;
	map->middle = median(map->fill, map->count);
	for (size_t i = 0; i < map->count; i++)
		distances[i] = fabs(map->fill[i] - map->middle);
	map->usual = median(distances, map->count);
	return true;
}

/* Do its keys spread over all pieces? Not over levels or slots, and not if they are numbers. */
static bool is_even(const struct entry *e)
{
	return has_one_array(e) && !(e->can & (BLM_CAN_ADVANCE | BLM_CAN_ROTATE | BLM_GROWS
					       | BLM_EXACT));
}

/*
 * Far from the others, by eight standard deviations: those of all pieces, for blocks differ more
 * than bits do, and those of independent bits, for few pieces may agree by chance.
 */
static bool stands_out(const struct map *map, size_t i)
{
	double bits = 8 * fmin((double)map->piece_bytes, SAMPLE);
	double by_bits = 8 * sqrt(map->middle * (1 - map->middle) / bits);

	return fabs(map->fill[i] - map->middle) > fmax(fmax(12 * map->usual, by_bits), 0.01);
}

/* Runs of pieces of one level are one rectangle of the path. */
static void print_level(FILE *out, const struct map *map, int level, double low, double high)
{
	bool begun = false;

	for (size_t i = 0, run; i < map->count; i += run) {
		size_t rest = ACROSS - i % ACROSS;

		for (run = 0; run < rest && i + run < map->count; run++) {
			int own = (int)((map->fill[i + run] - low) / (high - low) * LEVELS);

			if ((own < LEVELS ? own : LEVELS - 1) != level)
				break;
		}
		if (run) {
			fprintf(out, "%sM%zu %zuh%zuv1h-%zuz", begun ? "" : "<path d=\"",
				i % ACROSS, i / ACROSS, run, run);
			begun = true;
		}
		run += !run;
	}
	if (begun)
		fprintf(out, "\" class=\"h%d\"/>\n", level);
}

static void print_key(FILE *out, double low, double high)
{
	fputs("<p class=\"key\">", out);
	for (int i = 0; i < LEVELS; i++)
		fprintf(out, "<span><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect "
			"width=\"1\" height=\"1\" class=\"h%d\"/></svg> from %.1f %%</span>", i,
			100 * (low + (high - low) * i / LEVELS));
	fputs("</p>\n", out);
}

static size_t print_crosses(FILE *out, const struct map *map)
{
	size_t count = 0;

	for (size_t i = 0; i < map->count; i++)
		if (stands_out(map, i))
			fprintf(out, "%sM%zu %zul1 1m-1 0l1 -1", count++ ? ""
				: "<path class=\"x\" d=\"", i % ACROSS, i / ACROSS);
	if (count)
		fputs("\"/>\n", out);
	return count;
}

static void print_map(FILE *out, const struct map *map, const struct entry *e)
{
	/* at least four per cent apart, or chance alone would look like something */
	double low = fmax(fmin(map->least, map->middle - 0.02), 0);
	double high = fmin(fmax(map->most, low + 0.04), 1);
	size_t across = map->count < ACROSS ? map->count : ACROSS, crosses = 0;

	low = fmin(low, high - 0.04);
	fprintf(out, "<p>Bits set in %zu pieces of %s, in the order of lines: %.2f to %.2f %%</p>\n"
		"<svg class=\"map\" viewBox=\"0 0 %zu %zu\" width=\"%zu\" shape-rendering=\""
		"crispEdges\" role=\"img\" aria-label=\"map of bits\">\n", map->count,
		show_bytes(map->piece_bytes), 100 * map->least, 100 * map->most, across,
		(map->count + ACROSS - 1) / ACROSS, 10 * across);
	for (int level = 0; level < LEVELS; level++)
		print_level(out, map, level, low, high);
	if (is_even(e))
		crosses = print_crosses(out, map);
	fputs("</svg>\n", out);
	print_key(out, low, high);
	if (e->parts > 1)
		fprintf(out, "<p class=\"d\">It has %u parts, and each has keys of its own."
			"</p>\n", e->parts);
	else if (!is_even(e))
		fputs("<p class=\"d\">Its keys do not spread evenly.</p>\n", out);
	else if (crosses)
		fprintf(out, "<p>! %zu of %zu pieces (with a cross) are far from the others, more "
			"than chance explains.</p>\n", crosses, map->count);
	else
		fputs("<p class=\"d\">No piece differs more than chance explains.</p>\n", out);
}

static void print_bits(FILE *out, const struct report *r, const struct entry *e)
{
	struct blm_filter *f;
	static struct map map;
	int err;

	if (e->cell_bits != 1 || !(e->can & BLM_CAN_ESTIMATE)) {
		fprintf(out, "<p class=\"d\">The kind %s has no bits of keys to map.</p>\n",
			e->kind);
		return;
	}
	err = blm_open(&f, r->store, e->name, 0);
	if (err < 0) {
		fputs("<p>! It cannot be opened: ", out);
		html_text(out, blm_strerror(err));
		fputs("</p>\n", out);
		return;
	}
	if (read_map(&map, f, e) && map.count == 1)
		fprintf(out, "<p class=\"d\">Its bits are one piece of %s: %s of them are set."
			"</p>\n", show_bytes(map.piece_bytes), show_share(map.least));
	else if (map.count)
		print_map(out, &map, e);
	blm_close(f);
}

/* ---- The cards ---- */

static void print_card(FILE *out, const struct report *r, const struct entry *e)
{
	double in = full_in(e);

	fputs("<article>\n<h3><bdi>", out);
	html_text(out, e->shown);
	fprintf(out, "</bdi></h3>\n<p>%s, %s keys", e->kind, show_count(e->keys));
	if (fills_up(e)) {
		fprintf(out, ", %s%.0f %% of %s", e->keys > e->capacity ? "!! "
			: full_share(e) >= 0.8 && !e->sealed ? "! " : "", 100 * full_share(e),
			show_count(e->capacity));
		if (e->keys < e->capacity && in >= 0)
			fprintf(out, "; full in %s at this pace", show_span(in));
	}
	fprintf(out, ". False positives: %s predicted, %s promised.</p>\n",
		show_rate(e->predicted), show_rate(e->rate));
	print_charts(out, r, e);
	print_bits(out, r, e);
	fputs("</article>\n", out);
}

void print_cards(FILE *out, const struct report *r)
{
	const struct entry **sorted = calloc(r->count + 1, sizeof(struct entry *));
	size_t count = r->count < REPORT_CARDS ? r->count : REPORT_CARDS;

	if (!sorted || !count) {
		free(sorted);
		return;
	}
	sort_by_urgency(r, sorted);
	fputs("<section>\n<h2>Look at these first</h2>\n<p>", out);
	if (count < r->count)
		fprintf(out, "%zu of %s filters: ", count, show_count(r->count));
	else
		fputs("The order: ", out);
	fputs("what cannot be read or is damaged, then what is beyond its capacity, then what is "
	      "full soon, then the fullest.</p>\n<div class=\"cards\">\n", out);
	for (size_t i = 0; i < count; i++)
		print_card(out, r, sorted[i]);
	fputs("</div>\n</section>\n", out);
	free(sorted);
}
