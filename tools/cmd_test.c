/* cmd_test.c - bloomery test: which keys a filter may contain */
#include "command.h"
#include "output.h"
#include "place.h"
#include "progress.h"
#include "stream.h"
#include "values.h"

static bool invert, count_only, silent;
static const struct opt own_options[] = {
	{ 'v', "invert", NULL, "the lines that it does not contain", set_flag, &invert },
	{ 'c', "count", NULL, "print only how many lines there are", set_flag, &count_only },
	{ 'q', "quiet", NULL, "print nothing, stop at the first line found", set_flag, &silent },
	{ 0 }
};

struct job {
	struct blm_filter *f;
	uint64_t found;
};

static int work(struct batch *batch, void *context)
{
	struct job *job = context;
	int64_t yes = blm_contains_many(job->f, batch->keys, batch->count, batch->bits);

	job->found += invert ? batch->count - (uint64_t)yes : (uint64_t)yes;
	if (silent)
		return job->found ? ENOUGH : DONE;
	return count_only ? DONE : print_lines(batch, !invert);
}

static int run(int count, char **operands)
{
	struct job job = { 0 };
	int code = open_filter(&job.f, operands[0], false, BLM_STORE_READ);

	if (code != DONE)
		return code;
	quiet = silent;
	code = each_batch(operands + 1, (size_t)count - 1, BATCH, work, &job);
	blm_close(job.f);
	if (count_only && !silent && code == DONE)
		printf("%llu\n", (unsigned long long)job.found);
	return code == DONE && !job.found ? NO : code;
}

static const struct opt *const options[] = { own_options, key_options, progress_option, key_option, store_option, NULL };

const struct command cmd_test = {
	.name = "test",
	.group = ON_KEYS,
	.summary = "print the lines whose keys a filter may contain; exit 1 if there are none",
	.operands = "F [FILE...]",
	.least = 1, .most = -1,
	.notes = "A line that is not printed is certainly not in the filter; one that is printed is wrong at the filter's rate.",
	.example = "bloomery test -v seen < urls.txt > not-seen.txt",
	.options = options,
	.run = run,
};
