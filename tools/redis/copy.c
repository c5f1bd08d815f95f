/*
 * copy.c - BLM.COPY: COPY whose data a thread copies
 *
 * The destination gets its value at the end, in one step. With the argument `copy-in-thread yes`
 * the server runs BLM.COPY in the place of COPY. What no thread can do goes to COPY itself: keys of
 * other types, another database, transactions, scripts, commands from a master, filters whose cells
 * change both ways, and values that are small. An access list that denies COPY denies BLM.COPY.
 *
 * COPY is replicated at the end. Its source may have more keys then, so that a replica has them in
 * the destination as well. A filter that is full at its capacity would refuse other keys there, so
 * its data are replicated if the source got keys meanwhile.
 */
#include "command.h"
#include "job.h"
#include "slow.h"
#include "store.h"

#include <string.h>

enum { ANY = 1 << SORT_FILTER | 1 << SORT_BLOOM, SMALL = 1 << 20, REPLACE = 1 };
enum { NO_USER = REDIS_REPLICATED | REDIS_LOADING | REDIS_ASYNC_LOADING };

static int run(struct job *job)
{
	return blm_copy(&job->made->f, job->made->name ? store : NULL, job->made->name,
			job->v->f, 0);
}

/*
 * Is the slot of the key here? A slot of a cluster may leave while a thread copies, and the server
 * redirects no client that waits. It refuses this call then.
 */
static bool is_here(struct redis_ctx *ctx, struct redis_string *key)
{
	struct redis_reply *reply = redis_Call(ctx, "EXISTS", "s", key);

	if (reply)
		redis_FreeCallReply(reply);
	return reply;
}

/* NULL, or why the destination cannot have the value now. */
static const char *refusal(struct redis_ctx *ctx, const struct job *job)
{
	if (!(redis_GetContextFlags(ctx) & REDIS_MASTER))
		return "READONLY the server has become a replica while it copied";
	if (redis_AvoidReplicaTraffic())
		return "TRYAGAIN writes were paused while the server copied";
	return is_here(ctx, job->key[0]) ? NULL
		: "TRYAGAIN the slot left this server while it copied";
}

static uint64_t keys_of_value(const struct value *v)
{
	struct blm_info info = BLM_INFO;

	return blm_info(v->f, &info) < 0 ? UINT64_MAX : info.keys;
}

static uint64_t keys_now(struct redis_ctx *ctx, struct redis_string *name)
{
	struct opened o = key_open(ctx, name, REDIS_READ, ANY);
	uint64_t keys = o.found == FOUND ? keys_of_value(o.v) : UINT64_MAX;

	key_close(&o);
	return keys;
}

static void replicate(struct redis_ctx *ctx, const struct job *job, long long expires)
{
	long long now;

	if (is_same(ctx, job, 1, &now) && now == expires
	    && (!job->fixed || keys_now(ctx, job->key[1]) == job->keys))
		redis_Replicate(ctx, "COPY", "ssc", job->key[1], job->key[0], "REPLACE");
	else
		replicate_data(ctx, job, expires);
}

static int reply(struct redis_ctx *ctx, struct redis_string **argv, int argc,
		 const struct job *job)
{
	const char *error = job->result < 0 ? job->message : refusal(ctx, job);
	struct job *own = (struct job *)job;
	struct redis_key *key;

	if (error)
		return reply_error(ctx, error);
	key = redis_OpenKey(ctx, job->key[0], REDIS_READ | REDIS_WRITE);
	if (redis_KeyType(key) != REDIS_KEY_EMPTY && !(job->flags & REPLACE)) {
		redis_CloseKey(key);
		return redis_ReplyWithLongLong(ctx, 0);
	}
	redis_ModuleTypeSetValue(key, value_types[job->made->sort], job->made);
	own->made = NULL;
	if (job->expires >= 0)
		redis_SetAbsExpire(key, job->expires);
	redis_CloseKey(key);
	redis_NotifyKeyspaceEvent(ctx, REDIS_NOTIFY_GENERIC, "copy_to", job->key[0]);
	replicate(ctx, job, job->expires);
	return redis_ReplyWithLongLong(ctx, 1);
}

/*
 * By COPY itself, if the access list of the client allows that. A master, and the append-only file,
 * have no user whose list there is.
 */
static int copy_plainly(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	int flags = redis_GetContextFlags(ctx);
	struct redis_reply *reply = redis_Call(ctx, "COPY", flags & NO_USER ? "!Ev" : "!CEv",
					       argv + 1, (size_t)argc - 1);

	if (!reply)
		return reply_error(ctx, "ERR BLM.COPY: the server cannot run COPY here");
	redis_ReplyWithCallReply(ctx, reply);
	redis_FreeCallReply(reply);
	return REDIS_OK;
}

static bool is_large(const struct value *v)
{
	struct blm_info info = BLM_INFO;

	return v->owned && v->f && !v->both_ways && blm_info(v->f, &info) == 0
		&& info.data_bytes >= SMALL;
}

static bool is_free(struct redis_ctx *ctx, struct redis_string *name)
{
	struct redis_key *key = redis_OpenKey(ctx, name, REDIS_READ);

	if (key)
		redis_CloseKey(key);
	return !key;
}

static bool are_equal(const struct redis_string *one, const struct redis_string *other)
{
	size_t len, length;
	const char *bytes = redis_StringPtrLen(one, &len),
		*others = redis_StringPtrLen(other, &length);

	return len == length && !memcmp(bytes, others, len);
}

/* The destination is made when the copy is there. */
static struct job *job_of(struct redis_ctx *ctx, struct redis_string **argv, bool replace)
{
	struct opened o = key_open(ctx, argv[1], REDIS_READ, ANY);
	struct redis_string *key[] = { argv[2], argv[1] };
	struct spot spot = spot_of(ctx, argv[2]);
	struct job *job = o.found == FOUND && is_large(o.v) ? job_new(run, 1) : NULL;

	if (job) {
		job->expires = redis_GetAbsExpire(o.key);
		job->v = value_hold(o.v);
		job->from[job->count++] = value_hold(o.v);
		job->fixed = o.v->fixed;
		job->keys = keys_of_value(o.v);
		job->flags = replace ? REPLACE : 0;
		job->reply = reply;
		job->made = value_like(o.v);
	}
	key_close(&o);
	if (!job)
		return NULL;
	if ((replace || is_free(ctx, argv[2])) && job->made && note_keys(ctx, job, key) == 0
	    && (!store || store_reserve(job->made, &spot) == 0))
		return job;
	job_free(job);
	return NULL;
}

int blm_copy_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	bool replace = argc == 4 && option_is(argv[3], "REPLACE");
	struct job *job = NULL;

	if (argc < 3)
		return redis_WrongArity(ctx);
	/* a command from a master has no user */
	if ((argc == 3 || replace) && !are_equal(argv[1], argv[2]) && job_can_block(ctx)
	    && !(redis_GetContextFlags(ctx) & NO_USER)
	    && may_run(ctx, "COPY", argv, argc))
		job = job_of(ctx, argv, replace);
	if (job && job_start(ctx, job))
		return REDIS_OK;
	if (job)
		job_free(job);
	return copy_plainly(ctx, argv, argc);
}

/* ---- In the place of COPY ---- */

static void redirect(struct redis_filter_ctx *filtered)
{
	static const char name[] = "BLM.COPY";

	if (redis_CommandFilterArgsCount(filtered) >= 3
	    && option_is(redis_CommandFilterArgGet(filtered, 0), "COPY"))
		redis_CommandFilterArgReplace(filtered, 0,
					      redis_CreateString(NULL, name, sizeof(name) - 1));
}

bool copy_in_thread(struct redis_ctx *ctx)
{
	return redis_RegisterCommandFilter(ctx, redirect, REDIS_FILTER_NOT_OWN_CALLS);
}
