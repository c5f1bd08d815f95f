/* combine.c - union and intersect: into a new filter, or into the first of them */
#include "combine.h"
#include "after.h"
#include "json.h"
#include "numbers.h"
#include "place.h"
#include "progress.h"
#include "values.h"

static const char *output;
static bool in_place;
static double max_rate;
const struct opt combine_options[] = {
	{ 'o', "output", "C", "the new filter", set_text, &output },
	{ 0, "in-place", NULL, "replace A by the result", set_flag, &in_place },
	{ 0, "max-fpr", "P", "refuse a result whose predicted false-positive rate is above P",
	  set_rate, &max_rate },
	{ 0 }
};

static int into_new(enum blm_op op, struct blm_filter **from, size_t count, double *ret_rate)
{
	struct blm_filter *made;
	struct place place;
	int code = find_place(&place, output, BLM_STORE_CREATE), r;

	if (code != DONE)
		return code;
	progress_of_calls();
	r = blm_combine(&made, place.store, place.name, op, (const struct blm_filter *const *)from,
			count, max_rate, ret_rate);
	progress_end_of_call(r);
	if (r < 0)
		return fail(r);
	blm_close(made);
	return DONE;
}

static int into_first(enum blm_op op, struct blm_filter **from, size_t count, double *ret_rate)
{
	int r;

	progress_of_calls();
	r = blm_combine_into(from[0], op, (const struct blm_filter *const *)from + 1, count - 1,
			     max_rate, ret_rate);
	progress_end_of_call(r);
	return r < 0 ? fail(r) : DONE;
}

static void report(const char *name, double rate)
{
	if (json) {
		json_begin();
		json_text("result", name);
		json_real("predicted_rate", rate);
		json_end();
	} else if (!quiet) {
		say("%s: predicted false-positive rate %s", name, show_rate(rate));
	}
}

int combine(enum blm_op op, size_t count, char **names)
{
	const char *name = output ? output : names[0];
	struct blm_filter **from;
	double rate;
	int code;

	if (!output == !in_place)
		return misuse("give either -o C, a new filter, or --in-place, to change %s",
			      names[0]);
	from = calloc(count, sizeof(struct blm_filter *));
	if (!from)
		return broken("out of memory");
	code = open_all(from, names, count, in_place, in_place ? 0 : source_flags(output));
	if (code == DONE) {
		code = in_place ? into_first(op, from, count, &rate)
			: into_new(op, from, count, &rate);
		close_all(from, count);
	}
	if (code == DONE)
		report(name, rate);
	free(from);
	return code;
}
