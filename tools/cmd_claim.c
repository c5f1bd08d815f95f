/* cmd_claim.c - bloomery claim: add keys, and print those that nobody added before */
#include "command.h"
#include "output.h"
#include "params.h"
#include "progress.h"
#include "stream.h"
#include "values.h"

#include <errno.h>

static bool create;
static uint64_t batch_keys = BATCH;
static const struct opt own_options[] = {
	{ 0, "create", NULL, "make F if there is none, by the options below", set_flag, &create },
	{ 0, "batch", "N", "claim at most N keys before printing them (default: 4096)", set_number, &batch_keys, 1, 1 << 20 },
	{ 0 }
};

struct job {
	struct blm_filter *f;
	const char *name;
	uint64_t claimed;
};

static int work(struct batch *batch, void *context)
{
	struct job *job = context;
	int64_t r = blm_claim_many(job->f, batch->keys, batch->count, batch->bits);
	int code;

	if (r < 0)
		return fail(r);
	job->claimed += (uint64_t)r;
	code = print_lines(batch, true);
	warn_beyond(job->f, job->name);
	return code;
}

/* Of several that find no filter, one makes it and the others open it; it may also be dropped in between, hence again. */
static int open_or_make(struct blm_filter **ret, const char *name)
{
	const uint8_t *secret;
	struct place place;
	int code = params_check(), r, tries = 10;

	if (code == DONE)
		code = find_secret(&secret);
	if (code == DONE)
		code = find_place(&place, name, BLM_STORE_CREATE);
	if (code != DONE)
		return code;
	do {
		r = open_place(ret, &place, true, secret);
		if (r == -ENOENT)
			r = make_filter(ret, &place);
	} while (r == -EEXIST && --tries);
	return r < 0 ? fail(r) : DONE;
}

static int run(int count, char **operands)
{
	struct job job = { .name = operands[0] };
	int code;

	if (!create && params_given())
		return misuse("claim: the size and kind of a filter are given with --create only");
	code = create ? open_or_make(&job.f, job.name) : open_filter(&job.f, job.name, true, 0);
	if (code != DONE)
		return code;
	code = each_batch(operands + 1, (size_t)count - 1, batch_keys, work, &job);
	blm_close(job.f);
	return code == DONE && !job.claimed ? NO : code;
}

static const struct opt *const options[] = { own_options, size_options, make_options, key_options, progress_option,
					     quiet_option, key_option, store_option, NULL };

const struct command cmd_claim = {
	.name = "claim",
	.group = ON_KEYS,
	.summary = "add keys, and print the lines that this process was first to add; exit 1 if there are none",
	.operands = "F [FILE...]",
	.least = 1, .most = -1,
	.notes = "Of all processes that claim one new key, exactly one prints it. Answers are written before the next batch is\n"
		 "claimed, so a process that is killed takes at most one batch with it.",
	.example = "bloomery claim seen -n 10m -p 0.001 --create < urls.txt > first-seen.txt",
	.options = options,
	.run = run,
};
