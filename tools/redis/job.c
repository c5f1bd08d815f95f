/* job.c - threads that run the jobs of commands */
#include "command.h"
#include "cuckoo.h"
#include "job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { NO_BLOCKING = REDIS_LUA | REDIS_MULTI | REDIS_DENY_BLOCKING };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static unsigned running;

struct job *job_new(int (*run)(struct job *), size_t room)
{
	struct job *job = calloc(1, sizeof(*job) + room * sizeof(*job->from));

	if (job) {
		job->run = run;
		job->room = room;
		job->forks = forks_seen();
	}
	return job;
}

static void release(struct job *job)
{
	job->v = value_free(job->v);
	while (job->count)
		value_free(job->from[--job->count]);
}

void job_free(struct job *job)
{
	release(job);
	free(job);
}

static void run_now(struct job *job)
{
	job->result = job->run(job);
	if (job->result < 0)
		snprintf(job->message, sizeof(job->message), "ERR %s", blm_error_message());
	release(job);
}

static void count(int change)
{
	pthread_mutex_lock(&lock);
	running += (unsigned)change;
	if (!running)
		pthread_cond_broadcast(&ended);
	pthread_mutex_unlock(&lock);
}

static void *run(void *context)
{
	struct job *job = context;

	run_now(job);
	count(-1);
	redis_UnblockClient(job->client, job);
	return NULL;
}

void jobs_wait(void)
{
	pthread_mutex_lock(&lock);
	while (running)
		pthread_cond_wait(&ended, &lock);
	pthread_mutex_unlock(&lock);
}

int job_reply(struct redis_ctx *ctx, const struct job *job)
{
	return job->result < 0 ? reply_error(ctx, job->message)
		: redis_ReplyWithSimpleString(ctx, "OK");
}

static int reply_for(struct redis_ctx *ctx, struct redis_string **argv, int argc,
		     const struct job *job)
{
	return job->reply ? job->reply(ctx, argv, argc, job) : job_reply(ctx, job);
}

static int reply(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	return reply_for(ctx, argv, argc, redis_GetBlockedClientPrivateData(ctx));
}

static void free_job(struct redis_ctx *ctx, void *job)
{
	job_free(job);
}

bool job_can_block(struct redis_ctx *ctx)
{
	return !(redis_GetContextFlags(ctx) & NO_BLOCKING);
}

bool job_start(struct redis_ctx *ctx, struct job *job)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool started;

	if (!job_can_block(ctx) || pthread_attr_init(&attr) != 0)
		return false;
	job->client = redis_BlockClient(ctx, reply, NULL, free_job, 0);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	count(1);
	started = job->client && pthread_create(&thread, &attr, run, job) == 0;
	pthread_attr_destroy(&attr);
	if (!started) {
		count(-1);
		if (job->client)
			redis_AbortBlock(job->client);
		job->client = NULL;
	}
	return started;
}

int job_run(struct redis_ctx *ctx, struct redis_string **argv, int argc, struct job *job,
	    bool small)
{
	if (!small && job_start(ctx, job))
		return REDIS_OK;
	run_now(job);
	reply_for(ctx, argv, argc, job);
	job_free(job);
	return REDIS_OK;
}
