/* cmd_add.c - bloomery add: add keys */
#include "answers.h"
#include "command.h"
#include "durable.h"
#include "load.h"
#include "place.h"
#include "prefixes.h"
#include "progress.h"
#include "stream.h"
#include "terms.h"
#include "values.h"

#include <errno.h>

static bool count_new;
static char prefixes_end;
static uint64_t seen_at;
static const struct opt own_options[] = {
	{ 'c', "count", NULL, "print how many keys were new", set_flag, &count_new },
	{ 0, "prefixes", "C", "add also the prefixes of each key that end before a C, for 'test "
	  "--prefix'; of a URL, with '/', its host and each folder", set_byte, &prefixes_end },
	{ 0, "at", "TIME", "when the keys were seen, like 2026-11-26T08:00:00Z; for recent filters "
	  "(default: now)", set_time, &seen_at },
	{ 0 }
};

struct job {
	struct blm_filter *f;
	const char *name;
	uint64_t new;
	_Atomic uint64_t refused;
};

/* Some keys were removed for good. All keys that were not refused are in the filter now. */
static int64_t count_refused(struct job *job, const struct batch *batch)
{
	job->refused += batch->count - (uint64_t)blm_contains_many(job->f, batch->keys,
		batch->count, NULL);
	return 0;
}

static bool is_exact(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	return blm_info(f, &info) == 0 && info.can & BLM_EXACT;
}

/*
 * One of them is none that the filter can have: which line is it? Those before it change nothing
 * when they come once more.
 */
static int refuse_line(struct job *job, struct batch *batch)
{
	char reason[MESSAGE];

	batch->yes = batch->count;
	for (size_t i = 0; i < batch->count; i++)
		if (blm_add(job->f, batch->keys[i].bytes, batch->keys[i].len) < 0) {
			snprintf(reason, sizeof(reason), "is refused: %s",
				 own_terms(blm_error_message()));
			return batch_refuse(batch, i, reason);
		}
	return fail(-EINVAL);
}

static int64_t add_keys(const struct job *job, const struct blm_key *keys, size_t count,
			uint64_t *ret_bits)
{
	const struct blm_when when = BLM_WHEN(.at = seen_at);

	return seen_at ? blm_add_at(job->f, keys, count, &when, ret_bits)
		: blm_add_many(job->f, keys, count, ret_bits);
}

static int64_t give_prefixes(const void *context, const struct prefixes *some)
{
	return add_keys(context, some->keys, some->count, NULL);
}

/*
 * The prefixes come first, so that each key which is in the filter has its own there. The first key
 * with more prefixes than PREFIXES_MOST is refused, with all keys behind it.
 */
static int add_prefixes(const struct job *job, struct batch *batch)
{
	char reason[MESSAGE];
	size_t good;
	int64_t r = each_prefix(batch->keys, batch->count, prefixes_end, give_prefixes, job, &good);

	if (r == -E2BIG) {
		snprintf(reason, sizeof(reason), "is refused: its key has more than %d prefixes; "
			 "leave it out, or add it without --prefixes", PREFIXES_MOST);
		return batch_refuse(batch, good, reason);
	}
	if (r == -ENOMEM)
		return broken("out of memory");
	return r < 0 ? fail(r) : DONE;
}

static int add(struct batch *batch, void *context)
{
	struct job *job = context;
	int code = prefixes_end ? add_prefixes(job, batch) : DONE;
	int64_t r = code == DONE ? add_keys(job, batch->keys, batch->count, batch->bits) : 0;

	if (code != DONE)
		return code;
	if (r == -EKEYREVOKED) {
		r = count_refused(job, batch);
		for (size_t i = 0; i < batch->count; i++)
			r += batch->bits[i / 64] >> i % 64 & 1;
	}
	if ((r == -EINVAL || r == -ERANGE) && is_exact(job->f))
		return refuse_line(job, batch);
	if (r < 0)
		return fail(r);
	batch->yes = (uint64_t)r;
	return DONE;
}

static int check(struct batch *batch, void *context)
{
	const struct job *job = context;

	warn_beyond(job->f, job->name);
	return sync_if_due(job->f, batch->yes);
}

/*
 * Two threads that add one key at once may both find it new. So one thread adds after the other
 * where keys are counted. It is the same where the order matters: the first key is forgotten first.
 */
static int add_and_count(struct batch *batch, void *context)
{
	struct job *job = context;
	int code = add(batch, context);

	job->new += batch->yes;
	return code == DONE ? check(batch, context) : code;
}

static bool forgets(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	return blm_info(f, &info) == 0 && info.can & BLM_FORGETS;
}

/*
 * Keys have prefixes in common. A kind that can remove keeps each as often as it is given, or takes
 * a false positive for one that it has: then removing a key takes prefixes of others with it.
 */
static int check_prefixes(const struct job *job)
{
	struct blm_info info = BLM_INFO;
	int r = prefixes_end ? blm_info(job->f, &info) : 0;

	if (r < 0)
		return fail(r);
	if (prefixes_end && info.can & BLM_EXACT)
		return misuse("--prefixes: %s is a %s filter, and its keys are numbers, which have "
			      "no prefixes", job->name, info.kind);
	if (prefixes_end && info.can & BLM_CAN_REMOVE)
		return misuse("--prefixes: %s is a %s filter, and a prefix that is removed is one "
			      "of other keys, too; use a kind that cannot remove, like blocked",
			      job->name, info.kind);
	return DONE;
}

static int run(int count, char **operands)
{
	struct job job = { .name = operands[0] };
	const struct work counting = { .in_turn = add_and_count, .context = &job };
	const struct work adding = { .ahead = add, .in_turn = check, .context = &job };
	int code = open_filter(&job.f, job.name, true, 0);

	if (code == DONE)
		code = load(job.f);
	if (code == DONE)
		code = check_prefixes(&job);
	if (code != DONE)
		return code;
	code = begin_syncing(job.f);
	if (code == DONE)
		code = each_batch(operands + 1, (size_t)count - 1,
				  count_new || forgets(job.f) ? &counting : &adding);
	code = end_syncing(job.f, code);
	if (count_new && code == DONE)
		print_count(job.new);
	if (job.refused)
		say("%s: %llu keys were not added: each was removed before, and such a filter "
		    "cannot add a removed key", job.name,
		    (unsigned long long)job.refused);
	blm_close(job.f);
	return code == DONE && job.refused ? NO : code;
}

static const struct opt *const options[] = { own_options, sync_option, json_option, key_options,
					     jobs_option, progress_option, load_options,
					     quiet_option, key_option, store_option, NULL };

const struct command cmd_add = {
	.name = "add",
	.group = ON_KEYS,
	.summary = "add keys to a filter",
	.operands = "F [FILE...]",
	.least = 1, .most = -1,
	.notes = "Any number of processes may add at the same time. Files that gzip or zstd "
	"packed are unpacked. A removable filter\nrefuses a key that was removed: the other keys "
	"are added, and the exit status is 1.",
	.example = "bloomery add seen urls.txt.zst",
	.options = options,
	.run = run,
};
