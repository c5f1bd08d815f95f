/* cmd_grow.c - bloomery grow: make a filter twice as large, without its keys */
#include "place.h"
#include "progress.h"
#include "values.h"

static bool force;

static int grow(struct blm_filter *f)
{
	return blm_grow(f, force ? BLM_GROW_FORCE : 0);
}

static int run(int count, char **operands)
{
	return each_filter(operands, count, grow);
}

static const struct opt grow_options[] = {
	{ 0, "force", NULL, "even if the false-positive rate goes up", set_flag, &force },
	{ 0 }
};
static const struct opt *const options[] = { grow_options, progress_option, quiet_option,
					     key_option, store_option, NULL };

const struct command cmd_grow = {
	.name = "grow",
	.group = ON_FILTERS,
	.summary = "make a filter twice as large, without its keys, in one step for all "
	  "processes",
	.operands = "F...",
	.least = 1, .most = -1,
	.notes = "For kinds that can double, see 'bloomery kinds'. For other kinds 'bloomery "
	"rebuild' makes a larger filter from the\nkeys, and a scalable filter grows by itself. "
	"Each doubling takes one bit from the fingerprints. The false-positive\nrate stays while "
	"the filter has spare bits (--with spare=N when it was made). After that each doubling "
	"doubles the\nrate, and needs --force. If one of several filters fails, those after it "
	"grow, too; the exit status is 2 then.",
	.example = "bloomery grow seen",
	.options = options,
	.run = run,
};
