/* cmd_which.c - bloomery which: the filters of a bank that may hold a key */
#include "bank.h"
#include "progress.h"
#include "ranges.h"
#include "signals.h"
#include "stream.h"
#include "terms.h"
#include "values.h"

#include <errno.h>

static bool ranges;
static const struct opt own_options[] = {
	{ 0, "range", NULL, "each line is a range: A..B, or A and B in two columns; which may have "
	  "a key from A to B? For banks of range filters", set_flag, &ranges },
	{ 0 }
};

struct job {
	struct blm_bank *bank;
	uint64_t rows, words;
	uint64_t *bits;		/* the rows that may hold one key */
	uint64_t *all;		/* those that may hold all keys so far */
	bool asked;		/* about one key at least */
};

static int print_all(const struct job *job)
{
	int code = DONE;

	for (uint64_t row = 0; code == DONE && row < job->rows; row++)
		if (job->all[row / 64] >> row % 64 & 1)
			code = print_row(job->bank, row, NULL);
	return code;
}

static bool any(const struct job *job)
{
	uint64_t bits = 0;

	for (uint64_t w = 0; w < job->words; w++)
		bits |= job->all[w];
	return bits;
}

static int64_t ask_one(const struct job *job, const struct blm_key *key)
{
	struct blm_key first, last;

	if (!ranges)
		return blm_bank_which(job->bank, key->bytes, key->len, job->bits);
	range_of(&first, &last, key);
	return blm_bank_which_range(job->bank, first.bytes, first.len, last.bytes, last.len,
				    job->bits);
}

static int ask(struct batch *batch, void *context)
{
	struct job *job = context;

	for (size_t i = 0; i < batch->count; i++) {
		int64_t r = ask_one(job, &batch->keys[i]);
		char reason[MESSAGE];

		if (r == -EINVAL) {
			snprintf(reason, sizeof(reason), "is refused: %s",
				 own_terms(blm_error_message()));
			return batch_refuse(batch, i, reason);
		}
		if (r < 0)
			return fail(r);
		for (uint64_t w = 0; w < job->words; w++)
			job->all[w] = job->asked ? job->all[w] & job->bits[w] : job->bits[w];
		job->asked = true;
	}
	return batch->count && !any(job) ? ENOUGH : DONE;
}

static int run(int count, char **operands)
{
	struct job job = { 0 };
	struct blm_bank_info info;
	int code;

	if (ranges && keys_are_hex())
		return misuse("--range and --hex exclude each other: a range is written as the "
			      "keys are, A..B");
	if (ranges)
		keys_are_ranges();
	code = open_bank(&job.bank, operands[0]);
	if (code != DONE)
		return code;
	blm_bank_info(job.bank, &info);
	job.rows = info.rows;
	job.words = (info.rows + 63) / 64;
	job.bits = calloc(job.words, sizeof(*job.bits));
	job.all = calloc(job.words, sizeof(*job.all));
	code = job.bits && job.all ? DONE : broken("which: out of memory");
	if (code == DONE)
		code = each_batch(operands + 1, (size_t)count - 1,
				  &(struct work){ .in_turn = ask, .context = &job });
	if (code == DONE && !any(&job))
		code = NO;
	if (code == DONE && !stopping())	/* else there were more keys to ask about */
		code = print_all(&job);
	free(job.bits);
	free(job.all);
	blm_bank_close(job.bank);
	return code;
}

static const struct opt *const options[] = { own_options, json_option, key_options, jobs_option,
					     progress_option, quiet_option, NULL };

const struct command cmd_which = {
	.name = "which",
	.group = ON_SETS,
	.summary = "print the filters of a bank that may hold all of these keys; exit 1 if there "
	"are none",
	.operands = "BANK [FILE...]",
	.least = 1, .most = -1,
	.notes = "The answers are those of the single filters, in ascending order of their "
	"numbers of ones. Without a key nothing is\n"
	"printed. For 10,000 filters it reads at most a fiftieth of the bytes that the single "
	"questions would read. Range filters are\n"
	"asked one by one, and are printed in the order of their sizes.",
	.example = "bloomery which ./week.bank --key http://example.org/",
	.options = options,
	.run = run,
};
