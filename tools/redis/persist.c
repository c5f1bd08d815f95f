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
	bool going;			/* a thread is dropping it */
	char name[];
};

bool persist_files;

static bool saving;			/* an RDB file, in this process; not DUMP */
static bool replicas;			/* ... while a replica was connected */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dropped *list;
static bool dropping;			/* a thread runs drop(); atomic */

static long long server_number(struct redis_ctx *ctx, const char *section, const char *field)
{
	struct redis_info *info = redis_GetServerInfo(ctx, section);
	int err = REDIS_OK;
	long long number = info ? redis_ServerInfoGetFieldSigned(info, field, &err) : -1;

	if (info)
		redis_FreeServerInfo(ctx, info);
	return err == REDIS_OK ? number : -1;
}

static bool server_says(struct redis_ctx *ctx, const char *section, const char *field,
			const char *text)
{
	struct redis_info *info = redis_GetServerInfo(ctx, section);
	const char *has = info ? redis_ServerInfoGetFieldC(info, field) : NULL;
	bool same = has && !strcmp(has, text);

	if (info)
		redis_FreeServerInfo(ctx, info);
	return same;
}

/* ---- Saving and loading ---- */

/* The child that saves gets the event, not its parent. An unknown number counts as replicas. */
void persist_follow_save(struct redis_ctx *ctx, uint64_t sub)
{
	saving = sub != REDIS_SAVE_ENDED && sub != REDIS_SAVE_FAILED;
	replicas = saving && server_number(ctx, "replication", "connected_slaves") != 0;
}

bool persist_refers(struct redis_io *io, const struct value *v, uint8_t ret_uuid[UUID])
{
	struct blm_info info = BLM_INFO;

	if (!persist_files || !saving || replicas || !v->owned || !v->name || !v->f
	    || !redis_GetKeyNameFromIO(io))	/* BLM.DUMP, in a thread */
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
	size_t bytes = strlen(name) + 1;
	struct dropped *d = malloc(sizeof(*d) + bytes);

	if (!d)
		return;			/* the next start sweeps it */
	memcpy(d->name, name, bytes);
	d->since = time(NULL);
	d->going = false;
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

bool persist_goes(const char *name)
{
	bool goes = false;

	pthread_mutex_lock(&lock);
	for (const struct dropped *d = list; d && !goes; d = d->next)
		goes = d->going && !strcmp(d->name, name);
	pthread_mutex_unlock(&lock);
	return goes;
}

/* Takes those out of the list that a thread is dropping, or else those of that name. */
static void take_out(const char *name)
{
	struct dropped *d;

	pthread_mutex_lock(&lock);
	for (struct dropped **at = &list; (d = *at);) {
		if (name ? strcmp(d->name, name) : !d->going) {
			at = &d->next;
			continue;
		}
		*at = d->next;
		free(d);
	}
	pthread_mutex_unlock(&lock);
}

void persist_keep(const char *name)
{
	take_out(name);
}

/* Marks those whose keys went before `end`. Return: are there any? */
static bool mark(time_t end)
{
	bool any = false;

	pthread_mutex_lock(&lock);
	for (struct dropped *d = list; d; d = d->next)
		any |= d->going = d->since < end;
	pthread_mutex_unlock(&lock);
	return any;
}

/* Only this takes marked ones out, and new ones come before them, so `d` stays while it drops. */
static void *drop(void *nothing)
{
	struct dropped *d;

	pthread_mutex_lock(&lock);
	for (d = list; d; d = d->next) {
		if (!d->going)
			continue;
		pthread_mutex_unlock(&lock);
		blm_store_drop(store, d->name);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	take_out(NULL);
	__atomic_store_n(&dropping, false, __ATOMIC_RELEASE);
	return NULL;
}

static void start_drop(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool started = false;

	if (pthread_attr_init(&attr) == 0) {
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		started = pthread_create(&thread, &attr, drop, NULL) == 0;
		pthread_attr_destroy(&attr);
	}
	if (!started)
		drop(NULL);
}

/* ---- The last saves that ended well ---- */

/*
 * The server tells when its last good save ended, and how long the last one in a child took, which
 * may be a later one that failed. So the first numbers after an end count. Return: when the save
 * began, or earlier
 */
static time_t rdb_begun(struct redis_ctx *ctx)
{
	static long long last;
	static time_t begun;
	long long ended = server_number(ctx, "persistence", "rdb_last_save_time"),
		took = server_number(ctx, "persistence", "rdb_last_bgsave_time_sec");

	if (ended != last) {
		last = ended;
		begun = (time_t)(ended - (took > 0 ? took : 0) - 1);
	}
	return begun;
}

/*
 * An append-only file may begin with references, too. The server counts its rewrites when they
 * begin, so a new one began after the look before. Return: as rdb_begun()
 */
static time_t rewrite_begun(struct redis_ctx *ctx, time_t before)
{
	static long long seen;
	static time_t latest, begun;
	long long count = server_number(ctx, "persistence", "aof_rewrites");

	if (count > seen && !latest)
		latest = before;
	seen = count;
	if (latest && server_number(ctx, "persistence", "aof_rewrite_in_progress") == 0) {
		if (server_says(ctx, "persistence", "aof_last_bgrewrite_status", "ok"))
			begun = latest - 1;
		latest = 0;
	}
	return begun;
}

static void tick(struct redis_ctx *ctx, void *nothing)
{
	static time_t before = 1;
	time_t now = time(NULL), end = rdb_begun(ctx), rewritten = rewrite_begun(ctx, before);

	before = now;
	if (server_number(ctx, "persistence", "aof_enabled") != 0 && rewritten < end)
		end = rewritten;
	if (!__atomic_load_n(&dropping, __ATOMIC_ACQUIRE) && mark(end)) {
		dropping = true;
		start_drop();
	}
	redis_CreateTimer(ctx, TICK_MS, tick, NULL);
}

void persist_watch(struct redis_ctx *ctx)
{
	redis_CreateTimer(ctx, TICK_MS, tick, NULL);
}
