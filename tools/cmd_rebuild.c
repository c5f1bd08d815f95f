/* cmd_rebuild.c - bloomery rebuild: a filter made anew from its keys */
#include "params.h"
#include "place.h"
#include "progress.h"
#include "putting.h"
#include "signals.h"
#include "stream.h"
#include "values.h"

#include <errno.h>

static char *from;
static const struct opt own_options[] = {
	{ 0, "from", "FILE", "the keys; - is stdin", set_text, &from },
	{ 0 }
};

/* What the old one's file is, unless it is asked for. */
static const struct opt kept_options[] = {
	{ 0, "mode", "BITS", "permission bits of the file, octal (default: those that it has)",
	  set_mode, &params.mode },
	{ 0, "sparse", NULL, "do not allocate the space now, also if it was: adding fails on a "
	  "full disk", set_flag, &params.sparse },
	{ 0, "no-checkpoint", NULL, "no checkpoint image, also if it had one: a third of the "
	  "space, but unusable after some power cuts", set_flag, &params.no_checkpoint },
	{ 0 }
};

struct job {
	struct blm_filter *f;
	struct putting putting;
	const char *name;
	int code;
};

/*
 * The beginning of a file of ours: the magic, and a version of less than three bytes, which no text
 * has there.
 */
static int refuse_filter(const struct batch *batch)
{
	static const char magic[] = "BLOOMERY";
	size_t bytes = sizeof(magic) - 1;

	if (batch->given || !batch->first || batch->used < bytes + 4
	    || memcmp(batch->text, magic, bytes) || batch->text[bytes + 3])
		return DONE;
	return broken("%s: is a filter, and keys cannot be read out of it: --from takes the keys "
		      "themselves, a line each", batch->source);
}

static int add(struct batch *batch, void *context)
{
	const struct job *job = context;
	int code = refuse_filter(batch);
	int64_t r = code == DONE ? blm_add_many(job->f, batch->keys, batch->count, NULL) : 0;

	return r < 0 ? fail(r) : code;
}

static int check(struct batch *batch, void *context)
{
	const struct job *job = context;

	(void)batch;
	warn_beyond(job->f, job->name);
	return DONE;
}

static int put(struct batch *batch, void *context)
{
	struct job *job = context;
	uint64_t changed;
	int code = refuse_filter(batch);

	code = code == DONE ? put_batch(&job->putting, batch, &changed) : code;
	return code == DONE ? check(batch, job) : code;
}

/*
 * Kinds whose keys have values are filled as by put; those that take keys without one, too, only if
 * a column of values is named.
 */
static int fill(struct blm_filter *new, void *context)
{
	struct job *job = context;
	struct work work = { .ahead = add, .in_turn = check, .context = job };
	struct blm_info info = BLM_INFO;
	int r = blm_info(new, &info);

	if (r < 0)
		return r;
	if (values_given() || (info.can & BLM_CAN_PUT && !(info.can & BLM_CAN_ADD))) {
		keys_in_first_column();
		work = (struct work){ .in_turn = put, .context = job };
	}
	job->f = job->putting.f = new;
	job->code = work.in_turn == put ? given_with_values("rebuild") : DONE;
	if (job->code == DONE)
		job->code = each_batch(&from, from ? 1 : 0, &work);
	putting_end(&job->putting);
	return job->code == DONE && !stopping() ? 0 : -ECANCELED;
}

static int run(int count, char **operands)
{
	struct job job = { .name = operands[0], .code = DONE };
	struct place place;
	int code, r;

	if (!from && !given_keys.count)
		return misuse("rebuild: the keys are needed, --from FILE or --key KEY");
	code = params_finish();
	if (code == DONE)
		code = find_place(&place, operands[0], 0);
	if (code != DONE)
		return code;
	r = blm_rebuild(place.store, place.name, &params, fill, &job);
	if (r == -ECANCELED)
		/* it said why, or was asked to stop; the filter is as it was */
		return job.code;
	return r < 0 ? fail(r) : DONE;
}

static const struct opt *const options[] = { own_options, value_options, size_options, make_options,
					     kept_options, key_options, jobs_option,
					     progress_option, quiet_option,
					     key_option, store_option, NULL };

const struct command cmd_rebuild = {
	.name = "rebuild",
	.group = ON_FILTERS,
	.summary = "make a filter again from its keys, and put it in place of the old one in one "
	"step",
	.operands = "F [--from FILE] [--key KEY]",
	.least = 1, .most = 1,
	.notes = "Kind, options, hash, capacity, rate, name, labels and mode stay as they are, "
	"unless you name others. A sparse filter\nstays sparse, and one without a checkpoint image "
	"stays without it. Other processes ask the old filter, and add to it,\nuntil the new one "
	"is complete; keys that they add before that are in the new one only if FILE has them. "
	"The lines of\nFILE are those of 'add', or those of 'put' for kinds that only take keys "
	"with values; other kinds that hold values\ntake them with --value-field. A filter is "
	"refused as FILE, because no keys can be read out of it.",
	.example = "bloomery rebuild seen --from urls.txt -n 20m -p 0.001",
	.options = options,
	.run = run,
};
