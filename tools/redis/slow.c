/*
 * slow.c - commands that a thread runs while the server goes on: BLM.SYNC, BLM.UNION, BLM.PUBLISH
 *
 * A command is replicated when it begins: a replica that runs it then has each key that was added
 * before, and its later commands come after it. If the server forked before a union ended, the
 * child saved a part of the union for a replica or for a new append-only file, and neither has the
 * command. So the union is replicated again at its end, and its data if a source is gone by then. A
 * save has no data of an attached filter.
 */
#include "command.h"
#include "cuckoo.h"
#include "filter.h"
#include "job.h"
#include "slow.h"
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANY = 1 << SORT_FILTER | 1 << SORT_BLOOM };
enum { SMALL = 1 << 20 };		/* bytes that are combined sooner than a thread begins */

/* ---- BLM.SYNC ---- */

static int sync(struct job *job)
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
		return reply_error(ctx, v->both_ways ? "ERR the server has filters of this kind in "
				   "memory; attach one of the store with BLM.ATTACH"
				   : "ERR the filter is in memory; load the module with the "
				   "argument store DIR");
	job = job_new(sync, 0);
	if (!job)
		return reply_error(ctx, "ERR out of memory");
	job->v = value_hold(v);
	return job_run(ctx, argv, argc, job, false);
}

/* ---- BLM.UNION ---- */

static int unite(struct job *job)
{
	int r = 0;

	for (size_t i = 0; i < job->count && r == 0; i++) {
		const struct blm_filter *from = job->from[i]->f;

		r = blm_combine_into(job->v->f, BLM_UNION, &from, 1, 0, NULL);
	}
	return r;
}

int note_keys(struct redis_ctx *ctx, struct job *job, struct redis_string **key)
{
	struct blm_info info = BLM_INFO;
	int r = 0;

	job->key = calloc(job->capacity + 1, sizeof(*job->key));
	job->uuid = calloc(job->capacity + 1, sizeof(*job->uuid));
	if (!job->key || !job->uuid)
		return -ENOMEM;
	for (size_t i = 0; i <= job->capacity && r == 0; i++) {
		r = blm_info(i ? job->from[i - 1]->f : job->v->f, &info);
		memcpy(job->uuid[i], info.uuid, sizeof(*job->uuid));
		job->key[i] = redis_HoldString(ctx, key[i]);
	}
	return r;
}

bool is_same(struct redis_ctx *ctx, const struct job *job, size_t i, long long *ret_expires)
{
	struct redis_key *key = redis_OpenKey(ctx, job->key[i], REDIS_READ);
	struct redis_type *type = key ? redis_ModuleTypeGetType(key) : NULL;
	struct blm_info info = BLM_INFO;
	const struct value *v = type && (type == value_types[SORT_FILTER]
		|| type == value_types[SORT_BLOOM]) ? redis_ModuleTypeGetValue(key) : NULL;
	bool same = v && v->f && blm_info(v->f, &info) == 0
		&& !memcmp(info.uuid, job->uuid[i], sizeof(*job->uuid));

	*ret_expires = key ? redis_GetAbsExpire(key) : -1;
	if (key)
		redis_CloseKey(key);
	return same;
}

/* Where a source is gone, the command would fail. */
void replicate_data(struct redis_ctx *ctx, const struct job *job, long long expires)
{
	struct redis_reply *reply = redis_Call(ctx, "DUMP", "s", job->key[0]);
	size_t count;
	const char *bytes = reply ? redis_CallReplyStringPtr(reply, &count) : NULL;

	if (bytes)
		redis_Replicate(ctx, "RESTORE", "slbcc", job->key[0], expires < 0 ? 0 : expires,
				bytes, count, "REPLACE", "ABSTTL");
	if (reply)
		redis_FreeCallReply(reply);
}

static void united(struct redis_ctx *ctx, struct job *job)
{
	long long expires, ignored;
	size_t i = 1;

	/* a key that is gone or has another filter was replicated as such */
	if (job->result < 0 || job->forks == forks_seen() || !is_same(ctx, job, 0, &expires))
		return;
	while (i <= job->capacity && is_same(ctx, job, i, &ignored))
		i++;
	if (i > job->capacity)
		redis_Replicate(ctx, "BLM.UNION", "v", job->key, job->capacity + 1);
	else
		replicate_data(ctx, job, expires);
}

/* Return: false, and a reply, if one of the keys has no filter. */
static bool hold_sources(struct redis_ctx *ctx, struct redis_string **argv, struct job *job)
{
	struct value *v;

	while (job->count < job->capacity) {
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
	return no_space(ctx);
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

/* A filter whose cells change both ways may be replaced by its copy while a thread has it. */
static bool any_both_ways(const struct value *into, const struct job *job)
{
	size_t i = 0;

	while (i < job->count && !job->from[i]->both_ways)
		i++;
	return into->both_ways || i < job->count;
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
	if (filter_before_change(ctx, into) < 0) {
		job_free(job);
		return reply_failure(ctx, -ENOMEM);
	}
	job->v = value_hold(into);
	if (into->owned && note_keys(ctx, job, argv + 1) == 0)
		job->end = united;
	replicate_change(ctx, into, argv, argc);
	return job_run(ctx, argv, argc, job, any_both_ways(into, job)
		       || data_bytes(into) * job->count <= SMALL);
}

/* ---- BLM.PUBLISH ---- */

static int publish(struct job *job)
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
	return job_run(ctx, argv, argc, job, v->both_ways);
}
