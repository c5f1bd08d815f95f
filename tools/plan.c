/*
 * plan.c - the size of each kind for a number of keys at a rate; the rate of Bloom's filter; the
 * table of the literature
 */
#include "plan.h"
#include "fit.h"
#include "json.h"
#include "numbers.h"
#include "terms.h"
#include "wrap.h"

#include <math.h>

/* ---- Sizes ---- */

/* The facts that only the kind knows about such a filter. */
static void facts_json(const struct blm_params *params)
{
	struct blm_fact fact;

	json_open_object("facts");
	for (size_t i = 0; blm_plan_fact(params, i, &fact) == 0; i++)
		json_real(fact.name, fact.value);
	json_close_object();
}

static void print_facts(const struct blm_params *params)
{
	struct blm_fact fact;

	for (size_t i = 0; blm_plan_fact(params, i, &fact) == 0; i++)
		printf("%-12s %s: %s\n", "", fact.name, fact.text);
}

static void size_json(const struct blm_params *params, const struct blm_plan *plan, double least)
{
	json_begin();
	json_text("kind", plan->kind);
	json_count("m", plan->cells);
	json_count("k", plan->probes);
	json_count("capacity", plan->capacity);
	json_real("rate", plan->rate);
	json_real("predicted_rate", plan->predicted_rate);
	json_real("bits_per_key", plan->bits_per_key);
	json_real("lower_bound", least);
	json_real("over_lower_bound", isfinite(least) ? plan->bits_per_key / least : NAN);
	json_count("bytes", plan->file_bytes);
	json_count("data_bytes", plan->data_bytes);
	facts_json(params);
	json_end();
}

static bool has_any(const char *name, unsigned can)
{
	struct blm_kind_info kind;

	for (size_t i = 0; name && blm_kind_list(i, &kind) == 0; i++)
		if (!strcmp(name, kind.name))
			return kind.can & can;
	return false;
}

/*
 * Is the rate that of questions about any keys, as the bound's is? Not of numbers, nor of a table
 * of what differs.
 */
static bool is_bounded(const char *name)
{
	return !has_any(name, BLM_EXACT | BLM_CAN_LIST);
}

/* Bits a key: log2(1/p), or log2(width/p) for ranges, whose cells are keys * width / p. */
static double least_of(const struct blm_plan *plan)
{
	return has_any(plan->kind, BLM_CAN_RANGE) && plan->capacity
		? log2((double)plan->cells / (double)plan->capacity) : -log2(plan->rate);
}

/* How far above the bound; "-" where it is none for them. */
static const char *show_above(const struct blm_plan *plan, double least)
{
	static char text[32];

	snprintf(text, sizeof(text), "%.4g", plan->bits_per_key / least);
	return is_bounded(plan->kind) ? text : "-";
}

/*
 * Are m and k those of cells in the file? The m of golomb and range is how many values a hash can
 * have, and they have one hash.
 */
static bool has_cells(const struct blm_plan *plan)
{
	return plan->cells / 8 <= plan->data_bytes;
}

/* A narrow window has no room for m and k, then for the bound, then for the bits a key. */
enum { WITH_BITS = 46, WITH_BOUND = 55, WITH_CELLS = 76 };

/* One row of the table, and its head: each value is a text. */
static void print_size(const char *kind, const char *m, const char *k, const char *bits,
		       const char *above, const char *size, const char *rate)
{
	unsigned width = window_width();

	printf("%-12s", kind);
	if (has_space(width, WITH_CELLS))
		printf(" %15s %4s", m, k);
	if (has_space(width, WITH_BITS))
		printf(" %10s", bits);
	if (has_space(width, WITH_BOUND))
		printf(" %8s", above);
	printf(" %11s  %s\n", size, rate);
}

static int size_of(const struct blm_params *params, const char *kind)
{
	struct blm_params one = *params;
	struct blm_plan plan;
	char probes[16], bits[32];
	double least;

	one.kind = kind;
	if (blm_plan(&plan, &one) < 0)
		return NO;
	least = least_of(&plan);
	plot_add(plan.kind, plan.bits_per_key, true);
	if (json) {
		size_json(&one, &plan, least);
		return DONE;
	}
	snprintf(probes, sizeof(probes), "%u", plan.probes);
	snprintf(bits, sizeof(bits), "%.4g", plan.bits_per_key);
	print_size(plan.kind, has_cells(&plan) ? show_number(plan.cells) : "-",
		   has_cells(&plan) ? probes : "-", bits, show_above(&plan, least),
		   show_bytes(plan.file_bytes), show_rate(plan.predicted_rate));
	print_facts(&one);
	return DONE;
}

static void size_head(const struct blm_params *params)
{
	double rate = params->rate > 0 ? params->rate : 0.01, least = -log2(rate);
	char words[256];

	if (json)
		return;
	if (!params->cells && !has_any(params->kind, BLM_EXACT | BLM_CAN_LIST | BLM_CAN_RANGE)) {
		snprintf(words, sizeof(words), "For %s keys at a rate of %s no filter takes fewer "
			 "than %.4g bits/key, log2(1/p); Bloom's, if it were infinitely large, "
			 "takes %.4g with k = %.4g.", show_number(params->capacity),
			 show_rate(rate), least, least / M_LN2, least);
		print_wrapped(stdout, words, 0, 0, "");
		putchar('\n');
	}
	print_size("kind", "m", "k", "bits/key", "x bound", "size", "rate");
}

static void other_json(const struct plan_other *other, uint64_t keys, double rate)
{
	json_begin();
	json_text("structure", other->name);
	json_text("about", other->about);
	json_count("capacity", keys);
	json_real("rate", rate);
	json_real("predicted_rate", other->rate);
	json_real("bits_per_key", other->bits_per_key);
	json_real("lower_bound", -log2(rate));
	json_real("over_lower_bound", other->bits_per_key / -log2(rate));
	json_count("bytes", (uint64_t)fmin(other->bytes, 0x1p63));
	json_end();
}

static void print_other(const struct plan_other *other, double rate)
{
	char bits[32], above[32];

	snprintf(bits, sizeof(bits), "%.4g", other->bits_per_key);
	snprintf(above, sizeof(above), "%.4g", other->bits_per_key / -log2(rate));
	print_size(other->name, "", "", bits, above,
		   show_bytes((uint64_t)fmin(other->bytes, 0x1p63)), show_rate(other->rate));
	printf("%-12s %s\n", "", other->about);
}

static void print_others(uint64_t keys, double rate)
{
	struct plan_other other;

	if (!json)
		printf("\nNo filters, to compare:\n");
	for (size_t i = 0; plan_other(i, keys, rate, &other); i++) {
		plot_add(other.name, other.bits_per_key, false);
		if (json)
			other_json(&other, keys, rate);
		else
			print_other(&other, rate);
	}
}

/* ---- What to take ---- */

/*
 * The smallest kind that can do what is needed, and does nothing that is not: a kind that forgets,
 * or that wants a value for each key, is no answer to a question that does not ask for it.
 */
static bool smallest(const struct blm_params *params, unsigned needed, unsigned unwanted,
		     struct blm_plan *ret)
{
	struct blm_kind_info kind;
	bool any = false;

	unwanted |= BLM_FORGETS | BLM_EXACT | BLM_CAN_PUT | BLM_CAN_GET | BLM_CAN_LIST
		| BLM_CAN_ADVANCE;
	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++) {
		struct blm_params one = *params;
		struct blm_plan plan;

		one.kind = kind.name;
		if ((kind.can & needed) != needed || kind.can & unwanted
		    || blm_plan(&plan, &one) < 0)
			continue;
		if (!any || plan.file_bytes < ret->file_bytes)
			*ret = plan;
		any = true;
	}
	return any;
}

static void recommend_one(const char *need, const struct blm_plan *plan)
{
	printf("  %-32s %-12s %11s\n", need, plan->kind, show_bytes(plan->file_bytes));
}

static void recommend(const struct blm_params *params)
{
	struct blm_plan plan;

	puts("\nRecommended, if");
	if (blm_plan(&plan, params) == 0)
		recommend_one("keys come one by one", &plan);
	if (smallest(params, BLM_CAN_ADD | BLM_CAN_UNION, BLM_CAN_BUILD, &plan))
		recommend_one("... and space matters most", &plan);
	if (smallest(params, BLM_CAN_REMOVE, 0, &plan))
		recommend_one("keys are removed again", &plan);
	if (smallest(params, BLM_GROWS, 0, &plan))
		recommend_one("the number of keys is not known", &plan);
	if (smallest(params, BLM_CAN_BUILD, BLM_CAN_ADD, &plan))
		recommend_one("all keys are known beforehand", &plan);
}

int plan_sizes(const struct blm_params *params, const struct plan_more *more)
{
	double rate = params->rate > 0 ? params->rate : 0.01;
	char title[128];
	struct blm_kind_info kind;
	bool any = false;

	fit_output(13);
	if (params->kind) {
		struct blm_plan plan;

		if (blm_plan(&plan, params) < 0)
			return misuse("%s", own_terms(blm_error_message()));
		size_head(params);
		return size_of(params, params->kind);
	}
	size_head(params);
	plot_add("lower bound", -log2(rate), false);
	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++) {
		if (kind.can & (BLM_EXACT | BLM_CAN_LIST))
			continue;
		if (size_of(params, kind.name) == DONE)
			any = true;
		else if (!json)
			printf("%-12s %s\n", kind.name, own_terms(blm_error_message()));
	}
	if (any && !json)
		recommend(params);
	if (more->compare)
		print_others(params->capacity, rate);
	if (more->plot)
		plot_print();
	snprintf(title, sizeof(title), "Bits a key, for %s keys at a rate of %s",
		 show_count(params->capacity), show_rate(rate));
	if (any && more->svg)
		return plot_svg(more->svg, title);
	return any ? DONE : misuse("no kind of filter keeps this rate for this number of keys "
				   "within 2^47 bits");
}

/* ---- The rate for a number of bits ---- */

int plan_rate(const struct blm_params *params, bool bound)
{
	double bits = (double)params->cells / (double)params->capacity, best = bits * M_LN2;
	double probes = params->probes ? params->probes
		: fmax(1, fmin(BLM_PROBES_MAX, round(best)));
	double rate = blm_rate_asymptotic(bits, probes),
		finite = blm_rate_bound(params->cells, (uint32_t)probes, params->capacity);

	if (json) {
		json_begin();
		json_count("m", params->cells);
		json_count("n", params->capacity);
		json_count("k", (uint64_t)probes);
		json_real("best_k", best);
		json_real("bits_per_key", bits);
		json_real("fill", -expm1(-probes / bits));
		json_real("predicted_rate", rate);
		json_real("bound", finite);
		json_end();
		return DONE;
	}
	fit_output(11);
	printf("bits/key   %.6g\nk          %.0f (best: %.4g)\nfill       %.4g\nrate       %.4g\n",
	       bits, probes, best,
	       -expm1(-probes / bits), rate);
	if (bound)
		printf("bound      %.4g\n", finite);
	return DONE;
}

/* ---- The table ---- */

/*
 * The literature prints the best k (Cao, "Bloom Filters - the math", 1998) and goes no farther than
 * one above it.
 */
static uint64_t last_column(uint64_t mn, const struct range *k)
{
	double last = ceil((double)mn * M_LN2) + 1;

	return last < (double)k->last ? (uint64_t)last : k->last;
}

static void row_json(uint64_t mn, const struct range *k)
{
	for (uint64_t i = k->first; i <= last_column(mn, k); i++) {
		json_begin();
		json_count("mn", mn);
		json_real("best_k", (double)mn * M_LN2);
		json_count("k", i);
		json_real("predicted_rate", blm_rate_asymptotic((double)mn, (double)i));
		json_end();
	}
}

static void row(uint64_t mn, const struct range *k)
{
	printf("%3llu %5.3g", (unsigned long long)mn, (double)mn * M_LN2);
	for (uint64_t i = k->first; i <= last_column(mn, k); i++)
		printf("%10s", show_rate(blm_rate_asymptotic((double)mn, (double)i)));
	putchar('\n');
}

static void table_of(const struct range *mn, const struct range *k)
{
	printf("m/n     k");
	for (uint64_t i = k->first; i <= k->last; i++)
		printf("%*sk=%llu", i < 10 ? 7 : i < 100 ? 6 : 5, "", (unsigned long long)i);
	putchar('\n');
	for (uint64_t i = mn->first; i <= mn->last; i++)
		row(i, k);
}

int plan_table(const struct range *mn, const struct range *k)
{
	enum { HEAD = 9, COLUMN = 10 };
	unsigned width = window_width();
	uint64_t fitting = width < HEAD + COLUMN ? 1 : (width - HEAD) / COLUMN;
	struct range some = *k;

	for (uint64_t i = mn->first; json && i <= mn->last; i++)
		row_json(i, k);
	if (json)
		return DONE;
	/* as many columns as fit, then the next ones below them */
	for (; some.first <= k->last; some.first = some.last + 1) {
		if (width && k->last - some.first >= fitting)
			some.last = some.first + fitting - 1;
		else
			some.last = k->last;
		if (some.first > k->first)
			putchar('\n');
		table_of(mn, &some);
	}
	return DONE;
}
