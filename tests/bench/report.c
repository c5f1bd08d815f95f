/* report.c - the figures as tables in Markdown: all of them, or those of bloomery-performance(7) */
#include "bench.h"

#include <math.h>
#include <string.h>

/* Three digits or so. */
static struct text digits(double x)
{
	struct text ret;

	snprintf(ret.s, sizeof(ret.s), "%.*f",
		 fabs(x) >= 100	   ? 0
		 : fabs(x) >= 10   ? 1
		 : fabs(x) >= 0.1  ? 2
		 : fabs(x) >= 0.01 ? 3
				   : 4,
		 x);
	return ret;
}

/* ---- Everything ---- */

static void print_machine(FILE *to)
{
	struct fact facts[FACTS];

	machine_facts(facts);
	fprintf(to, "| machine | |\n|---|---|\n");
	for (size_t i = 0; i < FACTS; i++)
		fprintf(to, "| %s | %s |\n", facts[i].name, facts[i].value.s);
}

static void print_site(const struct site *s, FILE *to)
{
	double mib = 1 << 20;

	if (!s->engine->fill)
		return;
	fprintf(to, "%.*f MiB", s->data_bytes < 1 << 20 ? 3 : 1, (double)s->data_bytes / mib);
	if (s->curve)
		fprintf(to, ", half of its bits set at random");
	else
		fprintf(to, ", %.2f bits a key; false positives %.4f %%, predicted %.4f %%",
			s->bits_per_key, 100 * s->measured_rate, 100 * s->predicted_rate);
	if (s->probes)
		fprintf(to, "; %u probes", s->probes);
	if (s->engine == &ours)
		fprintf(to, "; mapped %.1f MiB, by huge pages %.1f", (double)s->resident / mib,
			(double)s->huge / mib);
	fprintf(to, "\n\n");
}

static void print_row(const struct plan *plan, const struct row *row, FILE *to)
{
	struct spread t = row_spread(plan, row), ratio = ratio_spread(plan, row, &row->limit);
	size_t skip = strlen(site_name(row->site)) + strlen(row->site->label) + 2;

	if (!t.count)
		return;
	fprintf(to, "| %s | %s | %s - %s | %s |", row->name + skip,
		digits(t.median).s, digits(t.q1).s, digits(t.q3).s, row_unit(row));
	if (ratio.count)
		fprintf(to, " %s | %s | %s - %s |", row->limit.a->work->name,
			digits(ratio.median).s, digits(ratio.q1).s, digits(ratio.q3).s);
	else
		fprintf(to, " | | |");
	fprintf(to, " %u/%u |\n", t.clean, plan->rounds);
}

static bool any_row(const struct plan *plan, const struct site *s)
{
	for (size_t i = 0; i < plan->row_count; i++)
		if (plan->rows[i].site == s && row_spread(plan, &plan->rows[i]).count)
			return true;
	return false;
}

static struct spread goal_ratio(const struct plan *plan, const struct goal *goal)
{
	return goal->row ? ratio_spread(plan, goal->row, &goal->limit) : (struct spread){ 0 };
}

static void print_goal(const struct goal *goal, const struct spread *ratio, FILE *to)
{
	fprintf(to, "| %s%s%s | %s | %s |", goal->what, goal->row ? ", " : "",
		goal->row ? goal->row->site->label : "", goal->against,
		ratio->count ? digits(ratio->median).s : "");
}

static void report_some_goals(const struct plan *plan, bool single, FILE *to)
{
	struct goal goals[GOALS_MAX];
	size_t count = goals_list(plan, goals);

	fprintf(to, "| what | against | ratio | wanted | |\n|---|---|--:|--:|---|\n");
	for (size_t i = 0; i < count; i++) {
		struct spread ratio = goal_ratio(plan, &goals[i]);

		bool met = ratio.median >= goals[i].wanted;

		if (single && !goals[i].single)
			continue;
		print_goal(&goals[i], &ratio, to);
		if (!goals[i].wanted)
			fprintf(to, " | to compare |\n");
		else
			fprintf(to, " %s | %s%s%s |\n", digits(goals[i].wanted).s,
				!ratio.count ? "not measured"
				: met	     ? "met"
					     : "not met",
				ratio.count && !met && goals[i].reason ? ": " : "",
				ratio.count && !met && goals[i].reason ? goals[i].reason : "");
	}
}

void report_goals(const struct plan *plan, FILE *to)
{
	report_some_goals(plan, false, to);
}

/* The times of these rows, too, so that each ratio can be seen as two times. */
void report_single(const struct plan *plan, FILE *to)
{
	report_some_goals(plan, true, to);
	fprintf(to, "\n| row | time | quartiles | |\n|---|--:|--:|---|\n");
	for (size_t i = 0; i < plan->row_count; i++) {
		struct spread t = row_spread(plan, &plan->rows[i]);

		if (t.count)
			fprintf(to, "| %s | %s | %s - %s | %s |\n", plan->rows[i].name,
				digits(t.median).s, digits(t.q1).s, digits(t.q3).s,
				row_unit(&plan->rows[i]));
	}
}

void report_tables(const struct plan *plan, FILE *to)
{
	print_machine(to);
	for (size_t i = 0; i < plan->site_count; i++) {
		const struct site *s = &plan->sites[i];

		if (!any_row(plan, s))
			continue;
		fprintf(to, "\n### %s, %s\n\n", site_name(s), s->label);
		print_site(s, to);
		fprintf(to, "| work | median | quartiles | unit | limit | of it | quartiles | "
			    "clean |\n|---|--:|---|---|---|--:|---|--:|\n");
		for (size_t j = 0; j < plan->row_count; j++)
			if (plan->rows[j].site == s)
				print_row(plan, &plan->rows[j], to);
	}
	fprintf(to, "\n### What is wanted\n\n");
	report_goals(plan, to);
	fprintf(to,
		"\nns: for a key, or a line of 64 bytes; of one thread's processor time, by the "
		"wall's clock for whole filters and programs.\n"
		"of it: the limit's time over the row's, median over the rounds; 1 is as fast as "
		"the limit, and more is faster.\n"
		"clean: rounds of %u in which nothing else had the processor; the others count "
		"only where these are fewer than half.\n"
		"build: a new filter in memory, all its keys, the end, page faults too.\n",
		plan->rounds);
	if (*plan->missing)
		fprintf(to, "\nLeft out:\n%s", plan->missing);
}

/* ---- The manual's ---- */

static struct text median_of(const struct plan *plan, const struct row *row)
{
	struct spread t = row ? row_spread(plan, row) : (struct spread){ 0 };

	return t.count ? digits(t.median) : (struct text){ "" };
}

static struct text ratio_of(const struct plan *plan, const struct row *row)
{
	struct spread t = row ? ratio_spread(plan, row, &row->limit) : (struct spread){ 0 };

	return t.count ? digits(t.median) : (struct text){ "" };
}

/* The row of this work, by the best instructions where that matters. */
static const struct row *best(const struct plan *plan, const struct site *s, const char *work)
{
	const struct row *row = plan_find(plan, "%s %s %s %s", s->name, s->label, work,
					  plan->sets[0]);

	return row ? row : plan_find(plan, "%s %s %s", s->name, s->label, work);
}

static void print_filter(const struct plan *plan, const struct site *s, FILE *to)
{
	const struct row *many = best(plan, s, "contains_many absent"),
			 *add = best(plan, s, "add_many new");

	if (!many)
		many = best(plan, s, "contains absent");
	if (!add)
		add = best(plan, s, "add new");
	fprintf(to, "| %s | %s | %.2f | %.2f %% | %s | %s | %s | %s | %s |\n", s->name, s->label,
		s->bits_per_key, 100 * s->measured_rate, median_of(plan, best(plan, s, "read")).s,
		median_of(plan, many).s, ratio_of(plan, many).s,
		median_of(plan, best(plan, s, "contains absent")).s, median_of(plan, add).s);
}

/* The other of our filters of that kind, by its size. */
static const struct site *site_of(const struct plan *plan, const char *kind, uint64_t keys)
{
	for (size_t i = 0; i < plan->site_count; i++) {
		const struct site *s = &plan->sites[i];

		if (s->engine == &ours && !s->curve && s->keys == keys && !strcmp(s->name, kind))
			return s;
	}
	return NULL;
}

static void print_kind(const struct plan *plan, const struct site *large, const struct site *small,
		       FILE *to)
{
	static const char *const works[] = { "contains_many absent", "contains_many present",
					     "contains absent", "add_many new" };
	const struct site *const sites[] = { small, large };

	fprintf(to, "| %s | %.1f | %.2f %% |", large->name, large->bits_per_key,
		100 * large->measured_rate);
	for (size_t i = 0; i < ARRAY_LEN(sites); i++)
		for (size_t j = 0; j < ARRAY_LEN(works); j++)
			fprintf(to, " %s |", median_of(plan, best(plan, sites[i], works[j])).s);
	fputc('\n', to);
}

/* Every kind, in the cache and beyond. */
static void print_kinds(const struct plan *plan, FILE *to)
{
	uint64_t few = plan->options.keys / 100 < 1000 ? 1000 : plan->options.keys / 100,
		 keys = plan->options.only ? plan->options.keys : 10 * few;
	char large[24], small[24];

	size_label(large, keys);
	size_label(small, few);
	fprintf(to,
		"| kind | bits a key | false positives | %s keys: absent | present | single | new "
		"| %s keys: absent | present | single | new |\n"
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
		small, large);
	for (size_t i = 0; i < plan->site_count; i++) {
		const struct site *s = &plan->sites[i];

		if (s == site_of(plan, s->name, keys) && site_of(plan, s->name, few)
		    && any_row(plan, s))
			print_kind(plan, s, site_of(plan, s->name, few), to);
	}
	fprintf(to, "\nAll kinds, asked for as many keys as they are made for: batched questions "
		    "for keys that are absent and present, single ones for\n"
		    "absent keys, and new keys, batched.\n\n");
}

/* Those that were measured, without what is wanted of them. */
static void print_ratios(const struct plan *plan, FILE *to)
{
	struct goal goals[GOALS_MAX];
	size_t count = goals_list(plan, goals);

	fprintf(to, "| what | against | ratio |\n|---|---|--:|\n");
	for (size_t i = 0; i < count; i++) {
		struct spread ratio = goal_ratio(plan, &goals[i]);

		if (ratio.count) {
			print_goal(&goals[i], &ratio, to);
			fputc('\n', to);
		}
	}
}

void report_readme(const struct plan *plan, FILE *to)
{
	struct fact facts[FACTS];

	machine_facts(facts);
	fprintf(to, "Measured on %s cores of %s (%s), %s, %s: medians of %u rounds.\n\n",
		facts[1].value.s, facts[0].value.s, facts[2].value.s, facts[3].value.s,
		facts[4].value.s, plan->rounds);
	fprintf(to, "| filter | keys | bits a key | false positives | random line | question, "
		    "batched | of the line | question, single | new key |\n"
		    "|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < plan->site_count; i++)
		if (plan->sites[i].engine->fill && !plan->sites[i].curve && !plan->sites[i].brief
		    && any_row(plan, &plan->sites[i]))
			print_filter(plan, &plan->sites[i], to);
	fprintf(to, "\nTimes are nanoseconds of one thread. Questions are for absent keys of 16 "
		    "bytes; libbloom has single calls only, and RocksDB's\n"
		    "filters take no key later. \"Of the line\": the time of reading one random "
		    "line of the same memory over that of the question.\n\n");
	print_kinds(plan, to);
	print_ratios(plan, to);
}
