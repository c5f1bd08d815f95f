/* cmd_claim.c - bloomery claim: add keys, and print those that are new */
#include "answers.h"
#include "command.h"
#include "durable.h"
#include "load.h"
#include "params.h"
#include "progress.h"
#include "remote.h"
#include "signals.h"
#include "stream.h"
#include "values.h"

#include <errno.h>
#include <stdatomic.h>

static bool create, same;
static uint64_t batch_keys = 4096, again_after, shards = 1;
static const char *server;
static const struct opt own_options[] = {
	{ 0, "create", NULL, "make F by the options below if it does not exist", set_flag,
	  &create },
	{ 0, "create-same", NULL, "the same, but fail if F exists and differs from the options",
	  set_flag, &same },
	{ 0, "batch", "N", "claim at most N keys before printing them (default: 4096)", set_number,
	  &batch_keys, 1, 1 << 20 },
	{ 0, "again-after", "SPAN", "also claim keys that were last seen longer ago than SPAN, "
	  "like 7d; for recent filters", set_span, &again_after },
	{ 0, "redis", "URL", "F is a key of this server with the module of Bloomery: "
	  "redis://HOST:PORT or unix:PATH", set_text, &server },
	{ 0, "shards", "N", "F consists of N keys F:0, F:1, ..., which a cluster spreads over "
	  "its nodes",
	  set_number, &shards, 1, SHARDS_MOST },
	{ 0 }
};

struct job {
	struct blm_filter *f;
	const char *name;
	uint64_t claimed;
	/* then a key that is known is remembered anew by being claimed, or may be */
	bool forgets;
	bool ages;			/* keeps when each key was seen */
	atomic_bool mostly_known;	/* were nearly all keys of the last batch? */
};

/*
 * The filter may be replaced by one with another seed at any moment: its id is the same before and
 * after, or there are no hashes.
 */
static bool hash(struct batch *batch, const struct blm_filter *f)
{
	batch->hash_id = blm_hash_id(f);
	return batch_hash_buffer(batch)
	    && blm_hash_many(f, batch->keys, batch->count, batch->hashes) == 0
	    && blm_hash_id(f) == batch->hash_id;
}

/*
 * A key that is in the filter need not be claimed. Asking first costs more than it saves where many
 * keys are new: cache lines that one core claims and another asks for move between the two.
 */
static int hash_and_ask(struct batch *batch, void *context)
{
	const struct job *job = context;
	int64_t r = -EMEDIUMTYPE;

	batch->hashed = !batch->alone && !job->ages && hash(batch, job->f);
	if (batch->alone || job->forgets || !job->mostly_known)
		return DONE;
	if (batch->hashed)
		r = blm_contains_hashes(job->f, batch->hash_id, batch->hashes, batch->count,
					batch->bits);
	if (r < 0)
		r = blm_contains_many(job->f, batch->keys, batch->count, batch->bits);
	if (r < 0)
		return fail(r);
	/* those are to be claimed */
	r = blm_allowlist_filter(job->f, batch->keys, batch->count, batch->bits);
	if (r < 0)
		return fail(r);
	batch_drop(batch);
	return DONE;
}

static int64_t claim_keys(const struct job *job, struct batch *part)
{
	const struct blm_when when = BLM_WHEN(.within = again_after);
	int64_t r = -EMEDIUMTYPE;

	if (job->ages || again_after)
		return blm_claim_again(job->f, part->keys, part->count, &when, part->bits);
	if (part->hashed)
		r = blm_claim_hashes(job->f, part->hash_id, part->hashes, part->count, part->bits);
	return r == -EMEDIUMTYPE ? blm_claim_many(job->f, part->keys, part->count, part->bits) : r;
}

static int claim_part(struct job *job, struct batch part)
{
	int64_t r = claim_keys(job, &part);
	int failed, code;

	failed = r < 0 ? fail((int)r) : DONE;
	job->claimed += r < 0 ? 0 : (uint64_t)r;
	/* also the lines that were claimed before it failed: no other process prints them */
	code = gather_answers(&part, true, "claimed");
	if (code == DONE)
		code = print_gathered(&part);
	if (failed != DONE)
		return failed;
	return code == DONE ? sync_if_due(job->f, (uint64_t)r) : code;
}

/*
 * In turn, so that of equal keys the first one is claimed, and no thread has claimed what is not
 * printed yet.
 */
static int claim(struct batch *batch, void *context)
{
	struct job *job = context;
	uint64_t before = job->claimed;
	int code = DONE;

	for (size_t at = 0; at < batch->count && code == DONE && !stopping(); at += batch_keys)
		code = claim_part(job, batch_part(batch, at, batch_keys));
	job->mostly_known = 16 * (job->claimed - before) < batch->read;
	warn_beyond(job->f, job->name);
	return code;
}

/* Rather no filter than one that is of no use here. */
static bool kind_claims(void)
{
	struct blm_kind_info kind;

	for (size_t i = 0; params.kind && blm_kind_list(i, &kind) == 0; i++)
		if (!strcmp(kind.name, params.kind))
			return kind.can & BLM_CAN_CLAIM;
	return true;
}

/* ---- At a server ---- */

struct remote_job {
	struct remote *at;
	uint64_t claimed;
};

static int claim_part_at(struct remote_job *job, struct batch part)
{
	int code = remote_claim(job->at, part.keys, part.count, part.bits), printed;

	for (size_t i = 0; i < (part.count + 63) / 64; i++)
		job->claimed += (uint64_t)__builtin_popcountll(part.bits[i]);
	/* also those before it failed, as claim_part() */
	printed = gather_answers(&part, true, "claimed");
	if (printed == DONE)
		printed = print_gathered(&part);
	return code == DONE ? printed : code;
}

static int claim_at(struct batch *batch, void *context)
{
	int code = DONE;

	for (size_t at = 0; at < batch->count && code == DONE && !stopping(); at += batch_keys)
		code = claim_part_at(context, batch_part(batch, at, batch_keys));
	return code;
}

static int run_at_server(const char *name, char **files, size_t count)
{
	struct remote_job job = { 0 };
	int code;

	if (same || again_after || is_syncing() || given_key_file() || store_given()
	    || takes_anyones() || load_given())
		return misuse("claim: --redis does not work with --create-same, --again-after, "
			      "--sync-every, --key-file, --store, --anyone, --prefault, --lock, "
			      "--pages");
	if (create && !params.capacity)
		return misuse("claim: --redis --create needs a capacity (-n)");
	code = create ? params_check() : DONE;		/* which says what --untrusted means */
	if (code == DONE && create
	    && (params.cells || params.probes || params.hash || params.scheme || params.format
		|| params.seed_count || params.tweak || params.mode || params.sparse
		|| params.no_checkpoint))
		return misuse("claim: with --redis, only -n, -p, --kind and --with describe a new "
			      "filter");
	if (code == DONE)
		code = remote_open(&job.at, server, name, (unsigned)shards);
	if (code == DONE && create)
		code = remote_create(job.at, &params);
	if (code == DONE)
		code = each_batch(files, count, &(struct work){ .in_turn = claim_at,
								.context = &job });
	remote_close(job.at);
	return code == DONE && !job.claimed ? NO : code;
}

static int run(int count, char **operands)
{
	struct job job = { .name = operands[0] };
	struct blm_info info = BLM_INFO;
	int code;

	create |= same;
	if (!create && params_given())
		return misuse("claim: size and kind are for a new filter; add --create");
	if (!kind_claims())
		return misuse("claim: filters of the kind %s cannot tell who was first; 'bloomery "
			      "kinds' says which can", params.kind);
	if (server)
		return run_at_server(operands[0], operands + 1, (size_t)count - 1);
	if (shards != 1)
		return misuse("claim: --shards is for filters of a server (--redis)");
	code = create ? open_or_make(&job.f, job.name, same)
		: open_filter(&job.f, job.name, true, 0);
	if (code == DONE)
		code = load(job.f);
	if (code != DONE)
		return code;
	job.forgets = blm_info(job.f, &info) < 0 || info.can & BLM_FORGETS;
	job.ages = info.can & BLM_CAN_AGE;
	code = begin_syncing(job.f);
	if (code == DONE)
		code = each_batch(operands + 1, (size_t)count - 1, &(struct work){ .ahead =
			hash_and_ask, .in_turn = claim, .context = &job });
	code = end_syncing(job.f, code);
	blm_close(job.f);
	return code == DONE && !job.claimed ? NO : code;
}

static const struct opt *const options[] = { own_options, json_option, sync_option, size_options,
					     make_options, file_options, key_options, jobs_option,
					     progress_option, load_options, quiet_option,
					     key_option, store_option, NULL };

const struct command cmd_claim = {
	.name = "claim",
	.group = ON_KEYS,
	.summary = "add keys, and print the lines that this process was first to add; exit 1 if "
	"there are none",
	.operands = "F [FILE...]",
	.least = 1, .most = -1,
	.notes = "If several processes claim one new key, exactly one prints it. Answers are "
	"written before the next batch is claimed, so a process that is killed loses at most one "
	"batch. If F exists, it keeps its own size, kind, hash, seed and mode, and a warning "
	"names the options that differ. Then --create needs no -n. A recent filter keeps when "
	"each key was seen: a key is claimed again after its span, or after --again-after.",
	.example = "bloomery claim seen --create -n 10m -p 0.001 < urls.txt > new.txt",
	.options = options,
	.run = run,
};
