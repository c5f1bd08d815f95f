/* cmd_remove.c - bloomery remove: take keys out */
#include "answers.h"
#include "command.h"
#include "durable.h"
#include "load.h"
#include "place.h"
#include "progress.h"
#include "stream.h"

struct job {
	struct blm_filter *f;
	uint64_t absent;
};

/* In turn: of a key that stands twice in the input, both are taken out, if it was added twice. */
static int take_out(struct batch *batch, void *context)
{
	struct job *job = context;
	int64_t r = blm_remove_many(job->f, batch->keys, batch->count, batch->bits);
	int code;

	if (r < 0)
		return fail(r);
	job->absent += batch->count - (uint64_t)r;
	code = gather_answers(batch, false, "removed");
	if (code == DONE)
		code = print_gathered(batch);
	return code == DONE ? sync_if_due(job->f, (uint64_t)r) : code;
}

static int run(int count, char **operands)
{
	struct job job = { 0 };
	int code = open_filter(&job.f, operands[0], true, 0);

	if (code == DONE)
		code = load(job.f);
	if (code != DONE)
		return code;
	code = begin_syncing(job.f);
	if (code == DONE)
		code = each_batch(operands + 1, (size_t)count - 1,
				  &(struct work){ .in_turn = take_out, .context = &job });
	code = end_syncing(job.f, code);
	blm_close(job.f);
	return code == DONE && job.absent ? NO : code;
}

static const struct opt *const options[] = { sync_option, json_option, key_options, jobs_option,
					     progress_option, load_options, quiet_option,
					     key_option, store_option, NULL };

const struct command cmd_remove = {
	.name = "remove",
	.group = ON_KEYS,
	.summary = "remove keys, and print the lines whose keys were not in the filter or cannot "
	"be removed; exit 1 if there are some",
	.operands = "F [FILE...]",
	.least = 1, .most = -1,
	.notes = "For kinds that can remove keys, see 'bloomery kinds'. Remove only keys that "
	"were added: a false positive cannot be told\n"
	"from an added key, and its removal can hide other keys. A printed key was not in the "
	"filter, or cannot be removed\n"
	"because all of its counters are full, as after many adds of the key; 'test' still finds "
	"such a key.",
	.example = "bloomery remove sessions expired.txt",
	.options = options,
	.run = run,
};
