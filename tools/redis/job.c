/* job.c - threads that run the jobs of commands */
#include "command.h"
#include "cuckoo.h"
#include "job.h"
#include "store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAUSED_MS = 100 };
enum { NO_BLOCKING = REDIS_LUA | REDIS_MULTI | REDIS_DENY_BLOCKING };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static unsigned running;

struct job *job_new(int (*run)(struct job *), size_t capacity)
{
	struct job *job = calloc(1, sizeof(*job) + capacity * sizeof(*job->from));

	if (job) {
		job->run = run;
		job->capacity = capacity;
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
	if (job->made)
		store_unmake(job->made);
	value_free(job->made);
	for (size_t i = 0; job->key && i <= job->capacity; i++)
		if (job->key[i])
			redis_FreeString(NULL, job->key[i]);
	free(job->key);
	free(job->uuid);
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
	struct job *job = redis_GetBlockedClientPrivateData(ctx);
	int r = reply_for(ctx, argv, argc, job);

	if (job->end && !redis_AvoidReplicaTraffic()) {
		job->end(ctx, job);
		job->end = NULL;
	}
	return r;
}

/* A server whose writes are paused ends at once if a command replicates. */
static void end_later(struct redis_ctx *ctx, void *context)
{
	struct job *job = context;

	if (redis_AvoidReplicaTraffic()) {
		redis_CreateTimer(ctx, PAUSED_MS, end_later, job);
		return;
	}
	if (redis_SelectDb(ctx, job->db) == REDIS_OK)
		job->end(ctx, job);
	job_free(job);
}

/* Without its client the context has no database, and that of a timer has one. */
static void free_job(struct redis_ctx *ctx, void *context)
{
	struct job *job = context;

	if (job->end)
		redis_CreateTimer(ctx, 0, end_later, job);
	else
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
	job->db = redis_GetSelectedDb(ctx);
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
