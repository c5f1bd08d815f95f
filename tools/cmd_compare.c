/*
 * cmd_compare.c - bloomery compare: how many keys two filters hold, and how many of them are the
 * same
 */
#include "after.h"
#include "describe.h"
#include "fit.h"
#include "foreign.h"
#include "json.h"
#include "progress.h"

static void print(const struct blm_comparison *c)
{
	fit_output(2);
	print_value("keys in A        ", &c->a, "");
	print_value("keys in B        ", &c->b, "");
	print_value("in A or B        ", &c->both, "");
	print_value("in A and B       ", &c->common, "");
	print_value("in one alone     ", &c->difference, "");
	print_value("Jaccard          ", &c->jaccard, "");
	print_value("Tanimoto of bits ", &c->tanimoto, "");
	if (c->saturated)
		puts("saturated: a filter is full, so the numbers are lower bounds");
}

static void print_json(const struct blm_comparison *c)
{
	json_begin();
	json_value("a", &c->a);
	json_value("b", &c->b);
	json_value("union", &c->both);
	json_value("intersection", &c->common);
	json_value("difference", &c->difference);
	json_value("jaccard", &c->jaccard);
	json_value("tanimoto", &c->tanimoto);
	json_bool("saturated", c->saturated);
	json_end();
}

static int run(int count, char **operands)
{
	struct blm_filter *f[2];
	struct blm_comparison c;
	int code = open_all(f, operands, 2, false, BLM_STORE_READ), r;

	if (code != DONE)
		return code;
	progress_of_calls();
	r = blm_compare(f[0], f[1], &c);
	progress_end_of_call(r);
	if (r < 0)
		code = fail(r);
	else if (json)
		print_json(&c);
	else
		print(&c);
	close_all(f, 2);
	return code;
}

static const struct opt *const options[] = { json_option, progress_option, quiet_option,
					     foreign_option, maker_options, key_option,
					     store_option, NULL };

const struct command cmd_compare = {
	.name = "compare",
	.group = ON_SETS,
	.summary = "estimate the sizes of A, B, their union, intersection and difference, and "
	"their similarity",
	.operands = "A B",
	.least = 2, .most = 2,
	.notes = "Each number comes with its standard error. The filters must be of one "
	"template. Filters with counters (counting) give the best estimate of how many keys are "
	"in only one of them: within some thousandths, even if few of many keys differ.",
	.example = "bloomery compare monday tuesday --json",
	.options = options,
	.run = run,
};
