/* cmd_info.c - bloomery info: what a filter is, how full, how wrong */
#include "describe.h"
#include "fit.h"
#include "foreign.h"
#include "place.h"
#include "progress.h"
#include "values.h"

#include <errno.h>

static bool exact;
static const struct opt own_options[] = {
	{ 0, "full", NULL, "read all of the data, not a sample of at most 16 MiB", set_flag,
	  &exact },
	{ 0 }
};

static int show(const struct blm_filter *f)
{
	struct blm_estimate estimate;
	struct blm_info info = BLM_INFO;
	struct description d = { .info = &info, .estimate = &estimate, .filter = f };
	int r = blm_info(f, &info);

	if (r < 0)
		return fail(r);
	progress_of_calls();
	r = blm_estimate(f, exact, &estimate);
	progress_end_of_call(r);
	if (r == -EOPNOTSUPP)
		d.estimate = NULL;
	else if (r < 0)
		return fail(r);
	if (json)
		describe_json(&d);
	else
		describe(&d);
	return DONE;
}

static int run(int count, char **operands)
{
	int code = DONE;

	fit_output(14);
	for (int i = 0; i < count && code == DONE; i++) {
		struct blm_filter *f;

		code = open_filter(&f, operands[i], false, BLM_STORE_READ);
		if (code != DONE)
			break;
		code = show(f);
		blm_close(f);
	}
	return code;
}

static const struct opt *const options[] = { own_options, json_option, progress_option,
					     quiet_option, foreign_option, maker_options,
					     key_option, store_option, NULL };

const struct command cmd_info = {
	.name = "info",
	.group = ON_FILTERS,
	.summary = "show what a filter is, how full it is and how often it is wrong",
	.operands = "F...",
	.least = 1, .most = -1,
	.notes = "The rate now and the estimate of keys come from the bits of the filter. So do "
	"the facts of each kind: full counters,\nstages, levels, slots.",
	.example = "bloomery info seen --json | jq .predicted_rate",
	.options = options,
	.run = run,
};
