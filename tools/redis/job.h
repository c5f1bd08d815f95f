/*
 * job.h - what a thread does for a command while the server goes on
 *
 * The thread holds the values, so their filters stay open when their keys are deleted meanwhile. It
 * lets them go before the client has the reply. A save in the main thread, and the loading of data,
 * wait for all threads: a save has what they do, and the files that they use have no holder then.
 */
#ifndef BLOOMERY_REDIS_JOB_H
#define BLOOMERY_REDIS_JOB_H

#include "value.h"

struct job {
	/* any thread. Return: 0, or a negative errno and blm_error_message() */
	int (*run)(struct job *job);
	/* the main thread, after run(). NULL: as job_reply() */
	int (*reply)(struct redis_ctx *ctx, struct redis_string **argv, int argc,
		     const struct job *job);
	/* the main thread, once the job has ended, also if its client is gone. NULL: nothing */
	void (*end)(struct redis_ctx *ctx, struct job *job);
	int db;				/* of the client */
	struct value *v;		/* held, as the others */
	struct value *made;		/* of no key yet; its file is dropped with the job */
	char name[BLM_NAME_MAX + 1];	/* to be published */
	unsigned flags;
	bool fixed;			/* full at its capacity */
	uint64_t keys;			/* of the source, when the job began */
	long long expires;		/* of the source, or -1 */
	unsigned forks;			/* of the server, when the job began */
	/* that have v and the others; capacity + 1 of them, or NULL */
	struct redis_string **key;
	uint8_t (*uuid)[16];		/* of their filters */
	struct redis_blocked *client;	/* NULL: the main thread runs the job */
	int result;
	char message[256];
	size_t count, capacity;
	struct value *from[];
};

/* @capacity: how many values it can hold besides v. NULL: out of memory */
struct job *job_new(int (*run)(struct job *), size_t capacity);
void job_free(struct job *job);

/* Can a thread run it here? Not in a transaction, a script, or while data are loaded. */
bool job_can_block(struct redis_ctx *ctx);

/* Return: false if no thread can run it; then it is still the caller's. */
bool job_start(struct redis_ctx *ctx, struct job *job);

/*
 * Runs the job, in a thread if it is not small and the client can be blocked. The job is freed once
 * the client has the reply. Return: REDIS_OK
 */
int job_run(struct redis_ctx *ctx, struct redis_string **argv, int argc, struct job *job,
	    bool small);
/* OK, or the error of the job. */
int job_reply(struct redis_ctx *ctx, const struct job *job);

/* Until no thread has a job. The main thread only. */
void jobs_wait(void);

#endif
