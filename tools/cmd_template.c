/* cmd_template.c - bloomery template: an empty filter that combines with another */
#include "after.h"
#include "foreign.h"
#include "params.h"

static int run(int count, char **operands)
{
	return after(operands[0], operands[1], params.mode, blm_template);
}

static const struct opt *const options[] = { mode_option, foreign_option, maker_options, key_option,
					     store_option, NULL };

const struct command cmd_template = {
	.name = "template",
	.group = ON_FILTERS,
	.summary = "make an empty filter B with the parameters of A, so that the two combine",
	.operands = "A B",
	.least = 2, .most = 2,
	.notes = "Two filters that are created one after the other do not combine, even with the "
	"same options: each gets a random seed. 'bloomery info A B' prints their templates.",
	.example = "bloomery template seen tonight",
	.options = options,
	.run = run,
};
