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
	.summary = "take all keys out, in one step for everyone who has the filter open",
	.operands = "F...",
	.least = 1, .most = -1,
	.notes = "Every process that has the filter open goes over to the empty one at its next "
	"call. Name, labels and parameters stay.\nIf one of several filters fails, those after it "
	"are cleared, too; the exit status is 2 then.",
	.example = "bloomery clear tonight",
	.options = options,
	.run = run,
};
