/* cmd_clear.c - bloomery clear: take all keys out of a filter */
#include "place.h"
#include "progress.h"

static int run(int count, char **operands)
{
	return each_filter(operands, count, blm_clear);
}

static const struct opt *const options[] = { progress_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_clear = {
	.name = "clear",
	.group = ON_FILTERS,
	.summary = "remove all keys, in one step for all processes that have the filter open",
	.operands = "F...",
	.least = 1, .most = -1,
	.notes = "Every process that has the filter open uses the empty filter from its next "
	"call on. Name, labels and parameters stay.\n"
	"If one of several filters fails, those after it are cleared, too; the exit status is 2 "
	"then.",
	.example = "bloomery clear tonight",
	.options = options,
	.run = run,
};
