/* cmd_fold.c - bloomery fold: a smaller filter from a larger one */
#include "after.h"
#include "params.h"
#include "progress.h"
#include "values.h"

static uint64_t by;
static const char *output;
static const struct opt own_options[] = {
	{ 0, "factor", "N", "to 1/N of the size; N divides the number of its blocks", set_number,
	  &by, 2, BLM_CELLS_MAX },
	{ 0, "by", "N", NULL, set_number, &by, 2, BLM_CELLS_MAX },	/* an earlier name */
	{ 'o', "output", "G", "the new filter", set_text, &output },
	{ 0 }
};

static int fold(struct blm_filter **ret, struct blm_store *store, const char *name,
		const struct blm_filter *from, unsigned mode)
{
	return blm_fold(ret, store, name, from, by, mode);
}

static int run(int count, char **operands)
{
	if (!by || !output)
		return misuse("fold: give --factor N, and -o G for the new filter");
	return after(operands[0], output, params.mode, fold);
}

static const struct opt *const options[] = { own_options, mode_option, progress_option,
					     quiet_option, key_option, store_option, NULL };

const struct command cmd_fold = {
	.name = "fold",
	.group = ON_SETS,
	.summary = "make G with 1/N of the bits of F, as if it had been given the same keys",
	.operands = "F --factor N -o G",
	.least = 1, .most = 1,
	.notes = "For a filter that was made too large, of a kind that folds; see 'bloomery "
	"kinds'. G is the filter that the same keys\nwould have made at that size. 'bloomery info "
	"G' prints its rate.",
	.example = "bloomery fold seen --factor 4 -o ./smaller.blm",
	.options = options,
	.run = run,
};
