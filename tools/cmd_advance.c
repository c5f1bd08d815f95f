/* cmd_advance.c - bloomery advance: what neighbours have, a step farther */
#include "after.h"
#include "place.h"
#include "progress.h"

static int run(int count, char **operands)
{
	struct blm_filter **f = calloc((size_t)count, sizeof(struct blm_filter *));
	int code = f ? open_all(f, operands, (size_t)count, true, 0) : broken("out of memory"), r;

	if (code == DONE) {
		progress_of_calls();
		r = blm_advance(f[0], (const struct blm_filter *const *)f + 1, (size_t)count - 1);
		progress_end_of_call(r);
		if (r < 0)
			code = fail(r);
		close_all(f, (size_t)count);
	}
	free(f);
	return code;
}

static const struct opt *const options[] = { progress_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_advance = {
	.name = "advance",
	.group = ON_SETS,
	.summary = "put level i of the neighbours into level i + 1 of F",
	.operands = "F NEIGHBOUR...",
	.least = 2, .most = -1,
	.notes = "For kinds that have levels, see 'bloomery kinds'. In a round, each node of a "
	"network advances its neighbours' filters. After as many rounds as there are levels, "
	"level i of each filter says what is i hops away.",
	.example = "bloomery advance n1 n2 n3",
	.options = options,
	.run = run,
};
