/* cmd_create.c - bloomery create: a new, empty filter */
#include "command.h"
#include "numbers.h"
#include "params.h"
#include "values.h"

static int run(int count, char **operands)
{
	struct blm_filter *f;
	struct place place;
	int code = params_check(), r;

	if (code == DONE)
		code = find_place(&place, operands[0], BLM_STORE_CREATE);
	if (code != DONE)
		return code;
	r = make_filter(&f, &place);
	if (r < 0)
		return fail(r);
	blm_close(f);
	return DONE;
}

static const struct opt *const options[] = { size_options, make_options, file_options,
					     create_options, key_option, store_option, NULL };

const struct command cmd_create = {
	.name = "create",
	.group = ON_FILTERS,
	.summary = "make a new, empty filter",
	.operands = "F",
	.least = 1, .most = 1,
	.notes = "Give -n and -p, and the size follows; or -m or -k or both, which are taken "
	"exactly (the classic kind, if no\nother is named). A keyed filter's secret is made at "
	"random, or read from --key-file, and kept apart from the filter.",
	.example = "bloomery create seen -n 10m -p 0.001",
	.options = options,
	.run = run,
};
