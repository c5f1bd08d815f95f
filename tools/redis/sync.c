/* sync.c - syncs a file in a thread of its own, with a handle of its own */
#include "command.h"
#include "store.h"
#include "sync.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ANY = 1 << SORT_FILTER | 1 << SORT_BLOOM };
enum { NO_BLOCKING = REDIS_LUA | REDIS_MULTI | REDIS_DENY_BLOCKING };

struct job {
	struct blm_filter *f;		/* not the value's, which may be closed meanwhile */
	struct redis_blocked *client;
	int result;
	char message[256];
};

static void sync_now(struct job *job)
{
	job->result = blm_sync(job->f);
	if (job->result < 0)
		snprintf(job->message, sizeof(job->message), "ERR %s", blm_error_message());
	job->f = blm_close(job->f);
}

static void *run(void *context)
{
	struct job *job = context;

	sync_now(job);
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
	free(job);
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

int blm_sync_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct value *v;
	struct job *job;
	int r;

	if (argc != 2)
		return redis_WrongArity(ctx);
	if (!key_get(ctx, argv[1], REDIS_READ, ANY, &v))
		return REDIS_OK;
	if (!v->name)
		return reply_error(ctx, "ERR the filter is in memory; load the module with the "
				   "argument store DIR");
	job = calloc(1, sizeof(*job));
	if (!job)
		return reply_error(ctx, "ERR out of memory");
	r = blm_open(&job->f, store, v->name, BLM_OPEN_WRITE);
	if (r < 0) {
		free(job);
		return reply_failure(ctx, r);
	}
	if (start(ctx, job))
		return REDIS_OK;
	sync_now(job);
	reply_result(ctx, job);
	free(job);
	return REDIS_OK;
}
