/* cmd_merge.c - bloomery merge: one filter of several that were built */
#include "after.h"
#include "command.h"
#include "params.h"
#include "place.h"
#include "progress.h"
#include "stream.h"
#include "values.h"

static const char *output;
static const struct opt own_options[] = {
	{ 'o', "output", "C", "the new filter", set_text, &output },
	{ 0 }
};

static int merge(struct blm_filter **from, size_t count)
{
	struct blm_filter *made;
	struct place place;
	int code = find_place(&place, output, BLM_STORE_CREATE), r;

	if (code != DONE)
		return code;
	progress_of_calls();
	r = blm_merge(&made, place.store, place.name, (const struct blm_filter *const *)from, count,
		      params.mode);
	progress_end_of_call(r);
	if (r < 0)
		return fail(r);
	warn_beyond(made, output);
	blm_close(made);
	return DONE;
}

static int run(int count, char **operands)
{
	struct blm_filter **from;
	int code;

	if (!output)
		return misuse("merge: give -o C, the new filter");
	from = calloc((size_t)count, sizeof(struct blm_filter *));
	if (!from)
		return broken("out of memory");
	code = open_all(from, operands, (size_t)count, false, source_flags(output));
	if (code == DONE) {
		code = merge(from, (size_t)count);
		close_all(from, (size_t)count);
	}
	free(from);
	return code;
}

static const struct opt *const options[] = { own_options, mode_option, progress_option,
					     quiet_option, key_option, store_option, NULL };

const struct command cmd_merge = {
	.name = "merge",
	.group = ON_SETS,
	.summary = "make one filter from several that were built, without their keys",
	.operands = "A B... -o C",
	.least = 2, .most = -1,
	.notes = "For golomb and range filters that were built with the same -n, -p, --width and "
	"--seed. -n is the number of keys that\nall of them may have together. The result answers "
	"as the filter that 'build' makes of all the keys. Other built kinds\nneed their keys; "
	"kinds that are not built have 'union'.",
	.example = "bloomery merge ./monday ./tuesday -o ./both",
	.options = options,
	.run = run,
};
