/* report_page.c - a page about a store: its head, the sections that are tables */
#include "numbers.h"
#include "report.h"

#include <math.h>

/* ---- The head ---- */

static void print_head(FILE *out, const struct report *r)
{
	html_begin(out, "The store", r->dir);
	fprintf(out, "<p>As of %s (all times are UTC), by bloomery " BLM_VERSION ".",
		show_time((uint64_t)r->now * 1000000000));
	if (r->pattern) {
		fputs(" Filters whose names match <bdi><code>", out);
		html_text(out, r->pattern);
		fputs("</code></bdi>.", out);
	}
	fputs("</p>\n<nav><a href=\"#planning\">capacity</a><a href=\"#verify\">findings</a><a "
	      "href=\"#fullness\">fullness</a><a href=\"#shared\">overlaps</a><a href=\"#filters\""
	      ">all filters</a></nav>\n", out);
}

/* ---- How many of what ---- */

static size_t count_of(const struct report *r, bool (*is)(const struct entry *e))
{
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		count += is(&r->all[i]);
	return count;
}

static bool is_beyond(const struct entry *e)
{
	return fills_up(e) && e->keys > e->capacity;
}

static bool is_nearly_full(const struct entry *e)
{
	return fills_up(e) && !e->sealed && full_share(e) >= 0.8 && e->keys <= e->capacity;
}

static bool is_full_soon(const struct entry *e)
{
	double in = full_in(e);

	return in >= 0 && in < 30 * DAY && e->keys < e->capacity;
}

static bool is_changed(const struct entry *e) { return e->dirty; }
static bool is_unread(const struct entry *e) { return e->unread; }
static bool is_doubtful(const struct entry *e) { return e->suspect || e->older; }

static void print_tiles(FILE *out, const struct report *r)
{
	fputs("<dl class=\"tiles\">\n", out);
	html_tile(out, show_count(r->count), "filters", "");
	html_tile(out, show_short((double)r->keys), "keys", "");
	html_tile(out, show_bytes(r->bytes), "in files", "");
	html_worry(out, count_of(r, is_beyond), "beyond capacity");
	html_worry(out, count_of(r, is_nearly_full), "80 % full or more");
	html_worry(out, count_of(r, is_full_soon), "full in 30 days");
	html_tile(out, show_count(count_of(r, is_changed)), "changed since their sync", "");
	if (count_of(r, is_unread) || r->damaged)
		html_worry(out, count_of(r, is_unread) + r->damaged, "cannot be read");
	if (count_of(r, is_doubtful))
		html_worry(out, count_of(r, is_doubtful), "older copies, failed syncs");
	fputs("</dl>\n", out);
}

static void print_fullness(FILE *out, const struct report *r)
{
	size_t counts[12] = { 0 }, most = 1;

	for (size_t i = 0; i < r->count; i++) {
		const struct entry *e = &r->all[i];
		double share = full_share(e);

		counts[!fills_up(e) ? 11 : share > 1 ? 10 : share == 1 ? 9
		       : (size_t)(10 * share)]++;
	}
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		most = counts[i] > most ? counts[i] : most;
	fputs("<section id=\"fullness\">\n<h2>How full the filters are</h2>\n<table "
	      "class=\"bars\">\n<thead><tr><th>keys / capacity</th><th class=\"n\">filters</th>"
	      "<th></th></tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		if (i < 10)
			fprintf(out, "<tr><th scope=\"row\">%zu to %zu %%</th>", 10 * i,
				10 * i + 10);
		else
			fprintf(out, "<tr><th scope=\"row\">%s</th>", i == 10 ? "beyond 100 %"
				: "no limit");
		fprintf(out, "<td class=\"n\">%s</td><td>", show_count(counts[i]));
		html_bar(out, (double)counts[i] / (double)most);
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody>\n</table>\n<p class=\"d\">No limit: filters that grow or forget, and those "
	      "without a capacity.</p>\n</section>\n", out);
}

/* ---- Capacity planning ---- */

static void print_basis(FILE *out, const struct entry *e, time_t now)
{
	fprintf(out, "%s a day %s %s", show_short(e->pace * DAY), e->from_start
		? "on average since it was made," : "in the last", show_span((double)(now
		- e->since)));
	if (e->from_start)
		fputs(" ago", out);
}

/* An hour to ten years, on a logarithmic scale; the sooner, the longer. */
static double soonness(double in)
{
	return 1 - log(fmax(in, HOUR) / HOUR) / log(10 * YEAR / HOUR);
}

static void print_planned(FILE *out, const struct report *r, const struct entry *e)
{
	double in = full_in(e);

	fputs("<tr><th scope=\"row\"><bdi>", out);
	html_short(out, e->shown, 60);
	fprintf(out, "</bdi></th><td class=\"n\">%.0f %%</td><td>", 100 * full_share(e));
	print_basis(out, e, r->now);
	if (e->keys >= e->capacity)
		fputs("</td><td>!! full</td><td>", out);
	else
		fprintf(out, "</td><td>%sfull in %s at this pace%s%s</td><td>", in < 30 * DAY
			? "! " : "", show_span(in), in < 10 * YEAR ? ", on " : "",
			in < 10 * YEAR ? show_date(r->now + (time_t)in) : "");
	html_bar(out, soonness(in));
	fputs("</td></tr>\n", out);
}

static int by_full_in(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;
	double u = full_in(*x), v = full_in(*y);

	return u < v ? -1 : u > v ? 1 : strcmp((*x)->name, (*y)->name);
}

static void print_planning(FILE *out, const struct report *r)
{
	const struct entry **filling = calloc(r->count + 1, sizeof(struct entry *));
	size_t count = 0;

	for (size_t i = 0; filling && i < r->count; i++)
		if (full_in(&r->all[i]) >= 0)
			filling[count++] = &r->all[i];
	fputs("<section id=\"planning\">\n<h2>Capacity planning</h2>\n", out);
	if (!r->history_file)
		fputs("<p>No history was given, so a pace is the average since the filter was "
		      "made. <code>bloomery watch --history FILE --every 1h</code> keeps one, and "
		      "<code>bloomery report --history FILE</code> reads it.</p>\n", out);
	if (!count) {
		fputs("<p>No filter with a limit gets keys at a pace that is known. A pace needs "
		      "at least an hour.</p>\n", out);
	} else {
		qsort(filling, count, sizeof(*filling), by_full_in);
		fputs("<table class=\"bars plan\">\n<thead><tr><th>filter</th><th "
		      "class=\"n\">full</th><th>new keys</th><th>then</th><th>how soon: 10 years "
		      "to 1 hour, logarithmic</th></tr></thead>\n<tbody>\n", out);
		for (size_t i = 0; i < count && i < REPORT_PLANNED; i++)
			print_planned(out, r, filling[i]);
		fputs("</tbody>\n</table>\n", out);
	}
	if (count > REPORT_PLANNED)
		fprintf(out, "<p>%zu more fill up later than these.</p>\n", count - REPORT_PLANNED);
	fputs("</section>\n", out);
	free(filling);
}

/* ---- All filters ---- */

static void print_labels(FILE *out, const struct entry *e)
{
	char label[BLM_LABELS_MAX + 1];

	for (const char *at = e->labels; *at; at += strcspn(at, "\n"), at += *at != 0) {
		snprintf(label, sizeof(label), "%.*s", (int)strcspn(at, "\n"), at);
		fputs("<small><bdi>", out);
		html_text(out, label);
		fputs("</bdi></small>", out);
	}
}

/* How its keys came: at most 20 points, between no keys and the most that it had. */
static void print_spark(FILE *out, const struct entry *e, time_t now)
{
	double most = (double)e->keys, span;
	size_t step = 1 + (e->past_count - 1) / 20;

	if (e->past_count < 2)
		return;
	for (size_t i = 0; i < e->past_count; i++)
		most = fmax(most, e->past[i].keys);
	span = fmax((double)(now - e->past[0].when), 1);
	fputs("<svg class=\"s\" viewBox=\"0 0 80 18\" role=\"img\" aria-label=\"keys over time\">"
	      "<path d=\"M", out);
	for (size_t i = 0; i < e->past_count; i += step)
		fprintf(out, "%.0f %.0f ", 80 * (double)(e->past[i].when - e->past[0].when) / span,
			17 - 16 * e->past[i].keys / fmax(most, 1));
	fprintf(out, "80 %.0f\"/></svg>", 17 - 16 * (double)e->keys / fmax(most, 1));
}

static void print_states(FILE *out, const struct entry *e)
{
	static const char *const words[] = { "cannot be read", "see findings", "sync failed",
		"older copy", "sealed" };
	const bool is[] = { e->unread, e->found && !e->unread, e->suspect, e->older, e->sealed };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (is[i])
			fprintf(out, "<small>%s%s</small>", i < 4 ? "! " : "", words[i]);
}

static void print_row(FILE *out, const struct report *r, const struct entry *e)
{
	double full = full_share(e), in = full_in(e);

	fputs("<tr><th scope=\"row\"><bdi>", out);
	html_text(out, e->shown);
	fputs("</bdi>", out);
	print_states(out, e);
	print_labels(out, e);
	fprintf(out, "</th><td>%s</td><td>%s%s</td><td>%s</td><td>", e->kind,
		e->estimated ? "~ " : "", show_count(e->keys), show_count(e->capacity));
	if (fills_up(e)) {
		html_bar(out, full);
		fprintf(out, "%s%.0f %%", full > 1 ? "!! " : full >= 0.8 && !e->sealed ? "! " : "",
			100 * full);
	}
	fprintf(out, "</td><td>%s</td>", e->has_fill ? show_share(e->fill.value) : "");
	fprintf(out, "<td>%s</td><td>%s</td><td data-v=\"%llu\">%s</td>", show_rate(e->predicted),
		show_rate(e->rate), (unsigned long long)e->bytes, show_bytes(e->bytes));
	if (in >= 0)
		fprintf(out, "<td data-v=\"%.0f\">%s</td>", in, in > 0 ? show_span(in) : "full");
	else
		fputs("<td></td>", out);
	if (e->synced)
		fprintf(out, "<td data-v=\"%llu\">%s%s</td><td>",
			(unsigned long long)(e->synced / 1000000000),
			show_date((time_t)(e->synced / 1000000000)), e->dirty ? " *" : "");
	else
		fprintf(out, "<td data-v=\"0\">%s</td><td>", e->dirty ? "never *" : "never");
	print_spark(out, e, r->now);
	fputs("</td></tr>\n", out);
}

static void print_table(FILE *out, const struct report *r)
{
	fputs("<section id=\"filters\">\n<h2>All filters</h2>\n<p id=\"tools\" "
	      "hidden=\"hidden\"><label>Find <input id=\"find\" type=\"search\"/></label> <span "
	      "id=\"shown\"></span> A click on the head of a column sorts by it.</p>\n<div "
	      "class=\"wide\"><table id=\"all\">\n"
	      "<thead><tr><th>filter</th><th>kind</th><th>keys</th><th>capacity</th><th>full</th>"
	      "<th>bits set</th><th>rate now</th><th>promised</th><th>size</th><th>full in</th>"
	      "<th>synced</th><th>over time</th></tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < r->count; i++)
		print_row(out, r, &r->all[i]);
	fputs("</tbody>\n</table></div>\n<p class=\"d\">!: 80 % of the capacity or more. !!: "
	      "beyond it. ~: the keys are estimated. *: changed since its sync. 'Bits set' and "
	      "'rate now' are those of <code>bloomery info</code>", out);
	if (r->not_sampled)
		fprintf(out, ", but for %s filters: their bits were not read, because the filters "
			"before them have 1 GiB of data, so the rate goes by the number of keys "
			"(<code>--full</code> reads all)", show_count(r->not_sampled));
	fputs(".</p>\n</section>\n", out);
}

/* ---- What verify found ---- */

static void print_findings(FILE *out, const struct report *r)
{
	fputs("<section id=\"verify\">\n<h2>What verify found</h2>\n", out);
	if (r->verify_signal)
		fprintf(out, "<p>! Reading the catalog ended the check by the signal %s. "
			"<code>bloomery verify</code> goes on without the catalog.</p>\n",
			sigabbrev_np(r->verify_signal));
	else if (!r->findings)
		fprintf(out, "<p>Not checked, because the store has %s of data. <code>--full"
			"</code> checks it.</p>\n", show_bytes(r->data_bytes));
	else if (r->verify_code == DONE)
		fputs("<p>Nothing is wrong. In filters that are not sealed, bits that damage "
		      "turned on cannot be seen.</p>\n", out);
	else if (!*r->findings)
		fputs("<p>! The check could not be made; <code>bloomery verify</code> says why."
		      "</p>\n", out);
	else
		fprintf(out, "<table class=\"plan\">\n<thead><tr><th>filter</th><th>file</th>"
			"<th>finding</th></tr></thead>\n<tbody>\n%s</tbody>\n</table>\n"
			"<p><code>bloomery verify --repair</code> mends what can be mended.</p>\n",
			r->findings);
	fputs("</section>\n", out);
}

void print_report(FILE *out, const struct report *r)
{
	print_head(out, r);
	print_tiles(out, r);
	if (r->damaged)
		fprintf(out, "<p>! %zu records of the catalog are damaged; <code>bloomery verify "
			"--repair</code> mends them.</p>\n", r->damaged);
	print_planning(out, r);
	print_cards(out, r);
	print_findings(out, r);
	print_fullness(out, r);
	print_overlaps(out, r);
	print_table(out, r);
	html_end(out);
}
