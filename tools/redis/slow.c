/*
 * slow.c - commands that a thread runs while the server goes on: BLM.SYNC, BLM.UNION, BLM.PUBLISH
 *
 * The thread holds the values, so their filters stay open when their keys are deleted meanwhile.
 * A command is replicated when it begins: a replica that runs it then has each key that was added
 * before, and its later commands come after it.
 */
#include "command.h"
#include "filter.h"
#include "slow.h"
#include "store.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ANY = 1 << SORT_FILTER | 1 << SORT_BLOOM };
enum { NO_BLOCKING = REDIS_LUA | REDIS_MULTI | REDIS_DENY_BLOCKING };
enum { SMALL = 1 << 20 };		/* bytes that are combined sooner than a thread begins */

struct job {
	int (*run)(const struct job *job);
	struct value *v;		/* held, as the others */
	char name[BLM_NAME_MAX + 1];	/* to be published */
	unsigned flags;
	struct redis_blocked *client;
	int result;
	char message[256];
	size_t count, room;
	struct value *from[];
};

/* ---- Threads ---- */

static struct job *job_new(int (*run)(const struct job *), size_t room)
{
	struct job *job = calloc(1, sizeof(*job) + room * sizeof(*job->from));

	if (job) {
		job->run = run;
		job->room = room;
	}
	return job;
}

static void job_free(struct job *job)
{
	value_free(job->v);
	for (size_t i = 0; i < job->count; i++)
		value_free(job->from[i]);
	free(job);
}

static void run_now(struct job *job)
{
	job->result = job->run(job);
	if (job->result < 0)
		snprintf(job->message, sizeof(job->message), "ERR %s", blm_error_message());
}

static void *run(void *context)
{
	struct job *job = context;

	run_now(job);
	redis_UnblockClient(job->client, job);
	return NULL;
}

static int reply_result(struct redis_ctx *ctx, const struct job *job)
{
	return job->result < 0 ? reply_error(ctx, job->message)
		: redis_ReplyWithSimpleString(ctx, "OK");
}

static int reply(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	return reply_result(ctx, redis_GetBlockedClientPrivateData(ctx));
}

static void free_job(struct redis_ctx *ctx, void *job)
{
	job_free(job);
}

static bool start(struct redis_ctx *ctx, struct job *job)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool started;

	if (redis_GetContextFlags(ctx) & NO_BLOCKING || pthread_attr_init(&attr) != 0)
		return false;
	job->client = redis_BlockClient(ctx, reply, NULL, free_job, 0);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	started = job->client && pthread_create(&thread, &attr, run, job) == 0;
	pthread_attr_destroy(&attr);
	if (!started && job->client)
		redis_AbortBlock(job->client);
	return started;
}

/* The job is freed once its client has the reply. */
static int job_run(struct redis_ctx *ctx, struct job *job, bool small)
{
	if (!small && start(ctx, job))
		return REDIS_OK;
	run_now(job);
	reply_result(ctx, job);
	job_free(job);
	return REDIS_OK;
}

/* ---- BLM.SYNC ---- */

static int sync(const struct job *job)
{
	return blm_sync(job->v->f);
}

int blm_sync_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct value *v;
	struct job *job;

	if (argc != 2)
		return redis_WrongArity(ctx);
	if (!key_get(ctx, argv[1], REDIS_READ, ANY, &v))
		return REDIS_OK;
	if (!v->name)
		return reply_error(ctx, "ERR the filter is in memory; load the module with the "
				   "argument store DIR");
	job = job_new(sync, 0);
	if (!job)
		return reply_error(ctx, "ERR out of memory");
	job->v = value_hold(v);
	return job_run(ctx, job, false);
}

/* ---- BLM.UNION ---- */

static int unite(const struct job *job)
{
	int r = 0;

	for (size_t i = 0; i < job->count && r == 0; i++) {
		const struct blm_filter *from = job->from[i]->f;

		r = blm_combine_into(job->v->f, BLM_UNION, &from, 1, 0, NULL);
	}
	return r;
}

/* Return: false, and a reply, if one of the keys has no filter. */
static bool hold_sources(struct redis_ctx *ctx, struct redis_string **argv, struct job *job)
{
	struct value *v;

	while (job->count < job->room) {
		if (!key_get(ctx, argv[job->count], REDIS_READ, ANY, &v))
			return false;
		job->from[job->count++] = value_hold(v);
	}
	return true;
}

/* NULL, or why there can be no filter like that of the first source. */
static const char *no_like(struct redis_ctx *ctx, const struct value *like)
{
	struct blm_info info = BLM_INFO;

	if (blm_info(like->f, &info) == 0 && !filter_sets_bits(info.kind))
		return "ERR BLM.UNION: the server cannot save a filter of this kind; create one in "
			"the store, and attach the key to it with BLM.ATTACH";
	return no_room(ctx);
}

/* The first key, or an empty filter in it that is as the first source. NULL: there was a reply. */
static struct value *open_into(struct redis_ctx *ctx, struct redis_string *key,
			       const struct value *like)
{
	struct opened o = key_open(ctx, key, REDIS_READ | REDIS_WRITE, ANY);
	struct spot spot = spot_of(ctx, key);
	const char *error = o.found == FOUND_NONE ? no_like(ctx, like) : NULL;

	if (o.found == FOUND_NONE && !error) {
		o.v = filter_like(like, &spot);
		if (o.v)
			key_set(&o, o.v);
	}
	key_close(&o);
	if (o.found == FOUND_OTHER)
		reply_wrong_type(ctx);
	else if (error)
		reply_error(ctx, error);
	else if (!o.v)
		reply_failure(ctx, -ENOMEM);
	else if (!value_is_whole(o.v))
		reply_incomplete(ctx, o.v);
	else
		return o.v;
	return NULL;
}

/* Return: false, and a reply, if the filters do not combine. */
static bool combine(struct redis_ctx *ctx, const struct value *v, const struct job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		int r = blm_same_template(v->f, job->from[i]->f);

		if (r < 0)
			return reply_failure(ctx, r), false;
	}
	return true;
}

static uint64_t data_bytes(const struct value *v)
{
	struct blm_info info = BLM_INFO;

	return blm_info(v->f, &info) < 0 ? 0 : info.data_bytes;
}

int blm_union_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct job *job;
	struct value *into = NULL;

	if (argc < 3)
		return redis_WrongArity(ctx);
	job = job_new(unite, (size_t)argc - 2);
	if (!job)
		return reply_error(ctx, "ERR out of memory");
	if (hold_sources(ctx, argv + 2, job) && combine(ctx, job->from[0], job))
		into = open_into(ctx, argv[1], job->from[0]);
	if (!into || !combine(ctx, into, job)) {
		job_free(job);
		return REDIS_OK;
	}
	job->v = value_hold(into);
	replicate_change(ctx, into, argv, argc);
	return job_run(ctx, job, data_bytes(into) * job->count <= SMALL);
}

/* ---- BLM.PUBLISH ---- */

static int publish(const struct job *job)
{
	return blm_store_publish(store, job->name, job->v->f, 0, job->flags);
}

/* The store's file outlives the server, so the append-only file does not have the command. */
int blm_publish_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct value *v;
	struct job *job;
	char name[BLM_NAME_MAX + 1];
	size_t len;

	if (argc < 3 || argc > 4)
		return redis_WrongArity(ctx);
	if (argc == 4 && !option_is(argv[3], "WRITABLE"))
		return reply_error(ctx, "ERR the only option of BLM.PUBLISH is WRITABLE");
	if (!store_name(ctx, argv[2], name) || !key_get(ctx, argv[1], REDIS_READ, ANY, &v))
		return REDIS_OK;
	job = job_new(publish, 0);
	if (!job)
		return reply_error(ctx, "ERR out of memory");
	job->v = value_hold(v);
	job->flags = argc == 4 ? BLM_PUBLISH_WRITABLE : 0;
	snprintf(job->name, sizeof(job->name), "%s", name);
	redis_Replicate(ctx, redis_StringPtrLen(argv[0], &len), "!Av", argv + 1, (size_t)argc - 1);
	return job_run(ctx, job, false);
}
