/* cmd_union.c - bloomery union: the OR of filters: what any of them contains */
#include "combine.h"
#include "foreign.h"
#include "place.h"
#include "progress.h"

static int run(int count, char **operands)
{
	return combine(BLM_UNION, (size_t)count, operands);
}

static const struct opt *const options[] = { combine_options, json_option, progress_option,
					     quiet_option, foreign_option, maker_options,
					     key_option, store_option, NULL };

const struct command cmd_union = {
	.name = "union",
	.group = ON_SETS,
	.summary = "make the OR of filters: what any of them contains",
	.operands = "A B... -o C | A B... --in-place",
	.least = 2, .most = -1,
	.notes = "The filters must be of one template; see 'bloomery help template'. The result "
	"equals, bit for bit, a filter that was given all the keys.",
	.example = "bloomery union monday tuesday -o both",
	.options = options,
	.run = run,
};
