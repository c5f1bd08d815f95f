/* persist.c - saves that refer to files, and files that are dropped after a save */
#include "earlier.h"
#include "filter.h"
#include "persist.h"
#include "store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TICK_MS = 1000 };

struct dropped {
	struct dropped *next;
	time_t since;
	char name[];
};

bool persist_files;

static bool saving;			/* an RDB file, in this process; not DUMP */
static bool replicas;			/* ... while a replica was connected */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dropped *list;

static long long server_number(struct redis_ctx *ctx, const char *section, const char *field)
{
	struct redis_info *info = redis_GetServerInfo(ctx, section);
	int err = REDIS_OK;
	long long number = info ? redis_ServerInfoGetFieldSigned(info, field, &err) : -1;

	if (info)
		redis_FreeServerInfo(ctx, info);
	return err == REDIS_OK ? number : -1;
}

/* ---- Saving and loading ---- */

/* The child that saves gets the event, not its parent. An unknown number counts as replicas. */
static void follow_save(struct redis_ctx *ctx, struct redis_event event, uint64_t sub, void *data)
{
	saving = sub != REDIS_SAVE_ENDED && sub != REDIS_SAVE_FAILED;
	replicas = saving && server_number(ctx, "replication", "connected_slaves") != 0;
}

bool persist_refers(struct redis_io *io, const struct value *v, uint8_t ret_uuid[UUID])
{
	struct blm_info info = BLM_INFO;

	if (!persist_files || !saving || replicas || !v->owned || !v->name || !v->f)
		return false;
	if (blm_sync(v->f) < 0 || blm_info(v->f, &info) < 0 || !filter_sets_bits(info.kind)) {
		redis_LogIOError(io, "warning", "%s: the file cannot be referred to; its data are "
				 "saved: %s", v->name, blm_error_message());
		return false;
	}
	memcpy(ret_uuid, info.uuid, UUID);
	return true;
}

void persist_open(struct redis_io *io, struct value *v, const uint8_t uuid[UUID],
		  const struct spot *spot)
{
	struct blm_info info = BLM_INFO;
	char name[BLM_NAME_MAX + 1];

	if (!store || !spot->key || !earlier_by_uuid(uuid, name)
	    || blm_open(&v->f, store, name, BLM_OPEN_WRITE) < 0)
		v->f = NULL;
	if (v->f && (blm_info(v->f, &info) < 0 || !filter_sets_bits(info.kind)
		     || store_take(v, name, spot) < 0))
		v->f = blm_close(v->f);
	if (!v->f)
		redis_LogIOError(io, "warning", "the store has no file to which a key refers: the "
				 "key answers with errors");
}

/* ---- Dropping ---- */

void persist_drop(const char *name)
{
	size_t room = strlen(name) + 1;
	struct dropped *d = malloc(sizeof(*d) + room);

	if (!d)
		return;			/* the next start sweeps it */
	memcpy(d->name, name, room);
	d->since = time(NULL);
	pthread_mutex_lock(&lock);
	d->next = list;
	list = d;
	pthread_mutex_unlock(&lock);
}

bool persist_drops(const char *name)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (const struct dropped *d = list; d && !found; d = d->next)
		found = !strcmp(d->name, name);
	pthread_mutex_unlock(&lock);
	return found;
}

void persist_keep(const char *name)
{
	struct dropped *d;

	pthread_mutex_lock(&lock);
	for (struct dropped **at = &list; (d = *at);) {
		if (strcmp(d->name, name)) {
			at = &d->next;
			continue;
		}
		*at = d->next;
		free(d);
	}
	pthread_mutex_unlock(&lock);
}

/* Takes those out of the list that were dropped before `end`. */
static struct dropped *take(time_t end)
{
	struct dropped *taken = NULL, *d;

	pthread_mutex_lock(&lock);
	for (struct dropped **at = &list; (d = *at);) {
		if (d->since < end) {
			*at = d->next;
			d->next = taken;
			taken = d;
		} else {
			at = &d->next;
		}
	}
	pthread_mutex_unlock(&lock);
	return taken;
}

static void *drop(void *context)
{
	for (struct dropped *d = context, *next; d; d = next) {
		next = d->next;
		blm_store_drop(store, d->name);
		free(d);
	}
	return NULL;
}

static void start_drop(struct dropped *d)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool started = false;

	if (pthread_attr_init(&attr) == 0) {
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		started = pthread_create(&thread, &attr, drop, d) == 0;
		pthread_attr_destroy(&attr);
	}
	if (!started)
		drop(d);
}

/* The server tells when its last save ended, and how long the last one in a child took. */
static void tick(struct redis_ctx *ctx, void *nothing)
{
	long long ended, took;
	struct dropped *d;

	if (list) {
		ended = server_number(ctx, "persistence", "rdb_last_save_time");
		took = server_number(ctx, "persistence", "rdb_last_bgsave_time_sec");
		d = take((time_t)(ended - (took > 0 ? took : 0) - 1));
		if (d)
			start_drop(d);
	}
	redis_CreateTimer(ctx, TICK_MS, tick, NULL);
}

bool persist_watch(struct redis_ctx *ctx)
{
	struct redis_event save = { .id = REDIS_EVENT_PERSISTENCE, .version = 1 };

	redis_CreateTimer(ctx, TICK_MS, tick, NULL);
	return redis_SubscribeToServerEvent(ctx, save, follow_save) == REDIS_OK;
}
