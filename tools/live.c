/* live.c - the filters of a store at one moment, as a screen of top and of ls --live */
#include "json.h"
#include "live.h"
#include "numbers.h"
#include "output.h"
#include "wrap.h"

#include <math.h>
#include <time.h>

/* ---- The order ---- */

static double full(const struct look *l) { return l->has_limit ? l->keys / l->capacity : 0; }
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

static const struct opener *opener_of(const struct looks *looks, const struct look *look)
{
	for (size_t i = 0; i < looks->opening_count; i++)
		if (&looks->all[looks->openings[i].look] == look)
			return &looks->openers[looks->openings[i].opener];
	return NULL;
}

/* "claim 1234 root +2": one of them, and how many more there are; of at most 24 columns */
static const char *show_who(const struct looks *looks, const struct look *look)
{
	static char text[25];
	const struct opener *one = opener_of(looks, look);
	char name[BLM_ESCAPED_MOST * sizeof(one->name) + 1], more[16] = "";

	if (!one)
		return "";
	blm_escape(name, sizeof(name), one->name, strlen(one->name), "");
	if (look->processes > 1)
		snprintf(more, sizeof(more), " +%d", look->processes - 1);
	snprintf(text, sizeof(text), "%.*s %d %.*s%s", (int)fitting_bytes(name, 9), name,
		 one->process, (int)fitting_bytes(one->user, 5), one->user, more);
	return text;
}

static const char *show_share(double part, double whole)
{
	static char text[16];

	snprintf(text, sizeof(text), "%.0f%%", 100 * part / whole);
	return part >= 0 && whole > 0 ? text : "-";
}

/* The columns between how full a filter is and its name. Return: how wide they are. */
static int print_pace(FILE *out, const struct looks *looks, const struct look *look,
		      unsigned width)
{
	int column = 0;

	if (has_space(width, LIVE_RATE))
		column += fprintf(out, " %8s", show_rate(look->predicted));
	if (has_space(width, LIVE_PROMISED))
		column += fprintf(out, " %8s", show_rate(look->rate));
	if (has_space(width, LIVE_PACE))
		column += fprintf(out, " %8.3g", look->pace);
	if (has_space(width, LIVE_OPEN))
		column += fprintf(out, " %5d", look->processes);
	if (has_space(width, LIVE_SYNCED))
		column += fprintf(out, " %7s", look->unread ? "?" : show_ago(look->synced));
	column += fprintf(out, "  ");
	if (width >= LIVE_PAGES)
		column += fprintf(out, "%6s  ", show_share(look->resident, look->bytes));
	if (width >= LIVE_WHO)
		column += fprintf(out, "%-24s  ", show_who(looks, look));
	return column;
}

static void print_row(FILE *out, const struct looks *looks, const struct look *look,
		      unsigned width)
{
	char name[BLM_ESCAPED_MOST * sizeof(look->name) + 1];
	const char *count = look->keys < 0x1p63 ? show_count((uint64_t)look->keys) : "-";
	bool warns = full(look) >= 0.8;
	int column = 0;
	size_t columns, bytes;

	if (has_space(width, LIVE_KEYS))
		column += fprintf(out, "%14s ", count);
	if (warns)
		begin_colour(out, full(look) > 1 ? ALARM : CAUTION);
	column += fprintf(out, "%5s %s",
			  show_share(look->keys, look->has_limit ? look->capacity : 0), mark(look));
	if (warns)
		end_colour(out);
	column += print_pace(out, looks, look, width);
	columns = !width ? SIZE_MAX : width > (unsigned)column + 8 ? width - (unsigned)column : 8;
	blm_escape(name, sizeof(name), look->name, strlen(look->name), "");
	bytes = fitting_bytes(name, columns);
	if (name[bytes])
		fprintf(out, "%.*s...\n", (int)fitting_bytes(name, columns - 3), name);
	else
		fprintf(out, "%s\n", name);
}

/* How many rows are shown: two lines stand above them, one below, and the cursor's. */
static size_t shown_rows(size_t count, size_t rows)
{
	return !rows || count <= rows - 3 ? count : rows > 4 ? rows - 4 : 1;
}

/* The first line, as much of it as fits, and the heads of the columns. */
static void print_live_head(FILE *out, const struct looks *looks, unsigned width, bool with_keys)
{
	const char *plural = looks->count == 1 ? "" : "s";
	char line[160];
	double sum = 0;

	for (size_t i = 0; i < looks->count; i++)
		sum += looks->all[i].pace;
	snprintf(line, sizeof(line), "%zu filter%s, %.3g keys/s, by %s%s", looks->count, plural,
		 sum, order->name, with_keys ? "; n k f p o: order, w: who, q: quit" : "");
	if (width && strlen(line) > width)
		*strchrnul(line, ';') = '\0';
	if (width && strlen(line) > width)
		snprintf(line, sizeof(line), "%zu filter%s", looks->count, plural);
	fprintf(out, "%s\n", line);
	if (has_space(width, LIVE_KEYS))
		fprintf(out, "%14s ", "keys");
	fprintf(out, "%5s   ", "full");
	if (has_space(width, LIVE_RATE))
		fprintf(out, " %8s", "rate now");
	if (has_space(width, LIVE_PROMISED))
		fprintf(out, " %8s", "promised");
	if (has_space(width, LIVE_PACE))
		fprintf(out, " %8s", "keys/s");
	if (has_space(width, LIVE_OPEN))
		fprintf(out, " %5s", "open");
	if (has_space(width, LIVE_SYNCED))
		fprintf(out, " %7s", "synced");
	fputs("  ", out);
	if (width >= LIVE_PAGES)
		fprintf(out, "%6s  ", "memory");
	if (width >= LIVE_WHO)
		fprintf(out, "%-24s  ", "open in");
	fputs("name\n", out);
}

void print_live(FILE *out, const struct looks *looks, unsigned width, size_t rows)
{
	const struct look **sorted = calloc(looks->count + 1, sizeof(const struct look *));
	size_t shown = shown_rows(looks->count, rows);

	if (!sorted)
		return;
	for (size_t i = 0; i < looks->count; i++)
		sorted[i] = &looks->all[i];
	qsort(sorted, looks->count, sizeof(*sorted), compare);
	print_live_head(out, looks, width, rows);
	for (size_t i = 0; i < shown; i++)
		print_row(out, looks, sorted[i], width);
	if (shown < looks->count)
		fprintf(out, "... %zu more\n", looks->count - shown);
	free(sorted);
}

/* ---- Processes ---- */

/* Of the window: with the numbers of filters, and with users. */
enum { OPENERS_COUNT = 46, OPENERS_USER = 60 };

/* Openings are in the order of the processes. */
static size_t print_opener(FILE *out, const struct looks *looks, size_t i, unsigned width,
			   size_t opening)
{
	const struct opener *o = &looks->openers[i];
	char name[BLM_ESCAPED_MOST * sizeof(struct look) + 1];
	size_t first = opening;

	while (opening < looks->opening_count && looks->openings[opening].opener == i)
		opening++;
	blm_escape(name, sizeof(name), o->name, strlen(o->name), "");
	fprintf(out, "%8d  ", o->process);
	if (has_space(width, OPENERS_USER))
		fprintf(out, "%-12s  ", o->user);
	fprintf(out, "%-15s  ", name);
	if (has_space(width, OPENERS_COUNT))
		fprintf(out, "%7zu  ", opening - first);
	for (size_t k = first; k < opening; k++) {
		const char *filter = looks->all[looks->openings[k].look].name;

		blm_escape(name, sizeof(name), filter, strlen(filter), "");
		fprintf(out, "%s%s", k > first ? ", " : "", name);
	}
	putc('\n', out);
	return opening;
}

void print_openers(FILE *out, const struct looks *looks, unsigned width, size_t rows)
{
	size_t shown = shown_rows(looks->opener_count, rows), opening = 0;

	fprintf(out, looks->opener_count == 1 ? "%zu process has filters open"
		: "%zu processes have filters open", looks->opener_count);
	if (looks->hidden)
		fprintf(out, looks->hidden == 1 ? ", %zu is hidden" : ", %zu are hidden",
			looks->hidden);
	fprintf(out, "%s\n%8s  ", rows ? "; w: filters, q: quit" : "", "process");
	if (has_space(width, OPENERS_USER))
		fprintf(out, "%-12s  ", "user");
	fprintf(out, "%-15s  ", "command");
	if (has_space(width, OPENERS_COUNT))
		fprintf(out, "%7s  ", "filters");
	fputs("names\n", out);
	for (size_t i = 0; i < shown; i++)
		opening = print_opener(out, looks, i, width, opening);
	if (shown < looks->opener_count)
		fprintf(out, "... %zu more\n", looks->opener_count - shown);
}

static void json_openers(const struct looks *looks, const struct look *look)
{
	json_open("open_by");
	for (size_t i = 0; i < looks->opening_count; i++) {
		const struct opener *o = &looks->openers[looks->openings[i].opener];

		if (&looks->all[looks->openings[i].look] != look)
			continue;
		json_open_object(NULL);
		json_count("process", (uint64_t)o->process);
		json_text("user", o->user);
		json_text("command", o->name);
		json_close_object();
	}
	json_close();
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
		json_real("resident_bytes", look->resident >= 0 ? look->resident : NAN);
		json_count("processes", (uint64_t)look->processes);
		json_openers(looks, look);
		json_text("synced", look->synced > 0 ? show_time((uint64_t)(look->synced * 1e9))
			  : NULL);
		json_bool("dirty", look->dirty);
		json_bool("from_catalog", look->unread);
		json_end();
	}
}
