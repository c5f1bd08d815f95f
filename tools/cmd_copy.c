/* cmd_copy.c - bloomery copy: a full copy of a filter */
#include "after.h"
#include "foreign.h"
#include "params.h"
#include "progress.h"

static int run(int count, char **operands)
{
	return after(operands[0], operands[1], params.mode, blm_copy);
}

static const struct opt *const options[] = { mode_option, foreign_option, maker_options,
					     progress_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_copy = {
	.name = "copy",
	.group = ON_FILTERS,
	.summary = "make B a full copy of A",
	.operands = "A B",
	.least = 2, .most = 2,
	.notes = "Other processes can add keys to A during the copy. B may or may not have these "
	"keys.",
	.example = "bloomery copy seen ./seen.blm",
	.options = options,
	.run = run,
};
