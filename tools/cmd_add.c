/* cmd_add.c - bloomery add: add keys */
#include "command.h"
#include "place.h"
#include "progress.h"
#include "stream.h"
#include "values.h"

static bool count_new;
static const struct opt own_options[] = {
	{ 0, "count", NULL, "print how many of the keys were new", set_flag, &count_new },
	{ 0 }
};

struct job {
	struct blm_filter *f;
	const char *name;
	uint64_t new;
};

static int work(struct batch *batch, void *context)
{
	struct job *job = context;
	int64_t r = blm_add_many(job->f, batch->keys, batch->count, NULL);

	if (r < 0)
		return fail(r);
	job->new += (uint64_t)r;
	warn_beyond(job->f, job->name);
	return DONE;
}

static int run(int count, char **operands)
{
	struct job job = { .name = operands[0] };
	int code = open_filter(&job.f, job.name, true, 0);

	if (code != DONE)
		return code;
	code = each_batch(operands + 1, (size_t)count - 1, BATCH, work, &job);
	if (count_new && code == DONE)
		printf("%llu\n", (unsigned long long)job.new);
	blm_close(job.f);
	return code;
}

static const struct opt *const options[] = { own_options, key_options, progress_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_add = {
	.name = "add",
	.group = ON_KEYS,
	.summary = "add keys to a filter",
	.operands = "F [FILE...]",
	.least = 1, .most = -1,
	.notes = "Any number of processes may add at once. Files packed with gzip or zstd are unpacked.",
	.example = "bloomery add seen urls.txt.zst",
	.options = options,
	.run = run,
};
