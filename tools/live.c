/* live.c - the filters of a store at one moment, as a screen of top and of ls --live */
#include "json.h"
#include "live.h"
#include "numbers.h"
#include "output.h"
#include "wrap.h"

#include <math.h>
#include <time.h>

/* ---- The order ---- */

static double full(const struct look *l) { return l->capacity ? l->keys / l->capacity : 0; }
static double keys(const struct look *l) { return l->keys; }
static double pace(const struct look *l) { return l->pace; }
static double processes(const struct look *l) { return l->processes; }

static const struct order {
	const char *name;
	double (*value)(const struct look *look);	/* the largest first; NULL: by name */
} orders[] = {
	{ "name", NULL }, { "keys", keys }, { "full", full }, { "pace", pace },
	{ "open", processes },
};
static const struct order *order = &orders[0];

static int compare(const void *a, const void *b)
{
	const struct look *const *x = a, *const *y = b;
	double u = order->value ? order->value(*x) : 0, v = order->value ? order->value(*y) : 0;

	return u > v ? -1 : u < v ? 1 : strcmp((*x)->name, (*y)->name);
}

bool live_order(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(orders); i++)
		if (!strncmp(orders[i].name, name, strlen(name)) && *name) {
			order = &orders[i];
			return true;
		}
	return false;
}

/* ---- One screen ---- */

/* "never", "12 s", "5 min", "3 h", "9 d" */
static const char *show_ago(double when)
{
	static char text[24];
	double ago = difftime(time(NULL), (time_t)when);

	if (when == 0)
		return "never";
	if (ago < 100)
		snprintf(text, sizeof(text), "%.0f s", ago < 0 ? 0 : ago);
	else if (ago < 100 * 60)
		snprintf(text, sizeof(text), "%.0f min", ago / 60);
	else if (ago < 48 * 3600)
		snprintf(text, sizeof(text), "%.0f h", ago / 3600);
	else
		snprintf(text, sizeof(text), "%.0f d", ago / 86400);
	return text;
}

/* A mark for a filter that is at 80 % of its capacity, and another for one beyond it. */
static const char *mark(const struct look *look)
{
	return full(look) > 1 ? "!!" : full(look) >= 0.8 ? " !" : "  ";
}

static void print_row(FILE *out, const struct look *look, unsigned width)
{
	char name[BLM_ESCAPED_MOST * sizeof(look->name) + 1];
	const char *count = look->keys < 0x1p63 ? show_count((uint64_t)look->keys) : "-";
	int column = fprintf(out, "%14s %4.0f%% %s %8s %8s %8.3g %5d %7s  ", count,
			     100 * full(look), mark(look), show_rate(look->predicted),
			     show_rate(look->rate), look->pace, look->processes,
			     look->unread ? "?" : show_ago(look->synced));
	size_t room = !width ? SIZE_MAX : width > (unsigned)column + 8 ? width - (unsigned)column
		: 8;

	blm_escape(name, sizeof(name), look->name, strlen(look->name), "");
	fprintf(out, "%.*s\n", (int)fitting_bytes(name, room), name);
}

void print_live(FILE *out, const struct looks *looks, unsigned width, size_t rows)
{
	const struct look **sorted = calloc(looks->count + 1, sizeof(const struct look *));
	size_t shown = looks->count;
	double sum = 0;

	if (!sorted)
		return;
	for (size_t i = 0; i < looks->count; i++) {
		sorted[i] = &looks->all[i];
		sum += looks->all[i].pace;
	}
	qsort(sorted, looks->count, sizeof(*sorted), compare);
	/* two lines above, one below, and the cursor's */
	if (rows && shown > rows - 3)
		shown = rows > 4 ? rows - 4 : 1;
	fprintf(out, "%zu filters, %.3g keys/s, by %s%s\n", looks->count, sum, order->name,
		rows ? "; n k f p o: order, q: quit" : "");
	fprintf(out, "%14s %5s    %8s %8s %8s %5s %7s  %s\n", "keys", "full", "rate now",
		"promised", "keys/s", "open", "synced", "name");
	for (size_t i = 0; i < shown; i++)
		print_row(out, sorted[i], width);
	if (shown < looks->count)
		fprintf(out, "... %zu more\n", looks->count - shown);
	free(sorted);
}

void print_live_json(const struct looks *looks)
{
	for (size_t i = 0; i < looks->count; i++) {
		const struct look *look = &looks->all[i];

		json_begin();
		json_text("name", look->name);
		json_text("kind", look->kind);
		json_count("keys", (uint64_t)fmin(look->keys, 0x1p63));
		json_count("capacity", (uint64_t)fmin(look->capacity, 0x1p63));
		json_real("predicted_rate", look->predicted);
		json_real("rate", look->rate);
		json_count("bytes", (uint64_t)fmin(look->bytes, 0x1p63));
		json_count("processes", (uint64_t)look->processes);
		json_text("synced", look->synced > 0 ? show_time((uint64_t)(look->synced * 1e9))
			  : NULL);
		json_bool("dirty", look->dirty);
		json_bool("from_catalog", look->unread);
		json_end();
	}
}
