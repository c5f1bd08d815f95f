/* cmd_intersect.c - bloomery intersect: the AND of filters: what all of them contain */
#include "combine.h"
#include "foreign.h"
#include "place.h"
#include "progress.h"

static int run(int count, char **operands)
{
	return combine(BLM_INTERSECT, (size_t)count, operands);
}

static const struct opt *const options[] = { combine_options, json_option, progress_option,
					     quiet_option, foreign_option, maker_options,
					     key_option, store_option, NULL };

const struct command cmd_intersect = {
	.name = "intersect",
	.group = ON_SETS,
	.summary = "make the AND of filters: what all of them contain",
	.operands = "A B... -o C | A B... --in-place",
	.least = 2, .most = -1,
	.notes = "The result contains every key that all of the filters contain. Its rate is at "
	"most that of each of them, but above\nthat of a filter of the common keys alone.",
	.example = "bloomery intersect monday tuesday -o ./common.blm --max-fpr 0.01",
	.options = options,
	.run = run,
};
