/* cmd_put.c - bloomery put: give keys values */
#include "command.h"
#include "durable.h"
#include "load.h"
#include "place.h"
#include "progress.h"
#include "putting.h"
#include "stream.h"

static int put(struct batch *batch, void *context)
{
	struct putting *p = context;
	uint64_t changed;
	int code = put_batch(p, batch, &changed), synced = sync_if_due(p->f, changed);

	return code == DONE ? synced : code;
}

static int run(int count, char **operands)
{
	struct putting p = { 0 };
	int code = given_with_values("put");

	if (code == DONE)
		code = open_filter(&p.f, operands[0], true, 0);
	if (code == DONE)
		code = load(p.f);
	if (code != DONE)
		return code;
	keys_in_first_column();
	code = begin_syncing(p.f);
	if (code == DONE)
		code = each_batch(operands + 1, (size_t)count - 1,
				  &(struct work){ .in_turn = put, .context = &p });
	code = end_syncing(p.f, code);
	putting_end(&p);
	blm_close(p.f);
	return code;
}

static const struct opt *const options[] = { value_options, sync_option, key_options, jobs_option,
					     progress_option, load_options, quiet_option,
					     key_option,
					     store_option, NULL };

const struct command cmd_put = {
	.name = "put",
	.group = ON_KEYS,
	.summary = "give keys values: each line is a key, a tab and a whole number",
	.operands = "F [FILE...]",
	.least = 1, .most = -1,
	.notes = "For kinds that hold values, see 'bloomery kinds'. On the command line the value "
	"follows the key: --key KEY --value V. The command ends at a line without a value, or "
	"with a value that F cannot hold. All lines before that one have been put.",
	.example = "printf 'bratwurst\\t7\\n' | bloomery put prices",
	.options = options,
	.run = run,
};
