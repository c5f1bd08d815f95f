/* cmd_rotate.c - bloomery rotate: begin the next slot */
#include "place.h"
#include "progress.h"
#include "values.h"

static int run(int count, char **operands)
{
	return each_filter(operands, count, blm_rotate);
}

static const struct opt *const options[] = { progress_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_rotate = {
	.name = "rotate",
	.group = ON_FILTERS,
	.summary = "begin the next slot of a window now, and forget the oldest",
	.operands = "F...",
	.least = 1, .most = -1,
	.notes = "For kinds that have slots, see 'bloomery kinds'. A slot also begins by itself, "
	"when its time has come, or when the slot before it has all the keys that it is for. If "
	"one of several filters fails, the others are rotated, too; the exit status is 2 then.",
	.example = "bloomery rotate recent",
	.options = options,
	.run = run,
};
