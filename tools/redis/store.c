/* store.c - files of the module's store: names, taking up those of an earlier run, sweeping */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { NAMES_MOST = 1000, WAIT_MS = 5000, STEP_MS = 50, PIECE = 1 << 20 };

struct blm_store *store;

/* the names that values have, as strings of their own */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *names;

/* ---- Opening ---- */

/* A child that saves data keeps the lock of a killed server for as long as the child lives. */
static int lock_directory(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; ms += STEP_MS) {
		if (errno != EWOULDBLOCK || ms >= WAIT_MS) {
			close(fd);
			return -EBUSY;
		}
		usleep(STEP_MS * 1000);
	}
	return 0;			/* the descriptor stays open */
}

int store_open(const char *dir)
{
	int r = blm_store_open(&store, dir, BLM_STORE_CREATE);

	if (r == 0)
		r = lock_directory(dir);
	if (r < 0)
		store = blm_store_close(store);
	return r;
}

/* ---- Names ---- */

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

bool store_owns(const char *name)
{
	return !strncmp(name, STORE_PREFIX, strlen(STORE_PREFIX));
}

static bool in_use(const char *name)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = tfind(name, &names, compare);
	pthread_mutex_unlock(&lock);
	return found;
}

static int use(const char *name)
{
	char *own = strdup(name);
	void *entry;

	pthread_mutex_lock(&lock);
	entry = own ? tsearch(own, &names, compare) : NULL;
	pthread_mutex_unlock(&lock);
	if (!entry)
		free(own);
	return entry ? 0 : -ENOMEM;
}

void store_forget(const char *name)
{
	char **entry, *own = NULL;

	pthread_mutex_lock(&lock);
	entry = tfind(name, &names, compare);
	if (entry) {
		own = *entry;
		tdelete(name, &names, compare);
	}
	pthread_mutex_unlock(&lock);
	free(own);
}

void store_release(const char *name, bool owned)
{
	if (!name || !owned)
		return;
	blm_store_drop(store, name);
	store_forget(name);
}

/* Bytes that a name cannot have, or that an escape begins with, are written as %XX. */
static void escape(char *to, size_t room, const char *key, size_t len)
{
	for (size_t i = 0; i < len && room > 4; i++) {
		uint8_t c = (uint8_t)key[i];
		bool plain = c > ' ' && c < 0x7f && c != '/' && c != '%' && c != '~' && c != '*'
			&& c != '?' && c != '[' && c != '\\';
		int n = snprintf(to, room, plain ? "%c" : "%%%02X", c);

		to += n;
		room -= (size_t)n;
	}
}

/* The first name of the key that no value has. Keys that are cut are told apart by a number. */
static bool find_name(char name[BLM_NAME_MAX + 1], const struct spot *spot)
{
	size_t len, begun = (size_t)snprintf(name, BLM_NAME_MAX + 1, STORE_PREFIX "%d.", spot->db),
		end;
	const char *key = redis_StringPtrLen(spot->key, &len);

	name[begun] = '\0';
	escape(name + begun, BLM_NAME_MAX - 8 - begun, key, len);
	end = strlen(name);
	for (int i = 2; in_use(name) && i < NAMES_MOST; i++)
		snprintf(name + end, BLM_NAME_MAX + 1 - end, "~%d", i);
	return !in_use(name);
}

/* ---- Files of an earlier run ---- */

/* True if a has every bit of b. Both have the same template; data of later stages come last. */
static bool holds(const struct blm_filter *a, const struct blm_filter *b)
{
	struct blm_info *info = malloc(2 * sizeof(*info));
	uint64_t *one = malloc(PIECE), *two = malloc(PIECE);
	bool good = info && one && two;

	if (good) {
		info[0] = info[1] = BLM_INFO;
		good = blm_info(a, &info[0]) == 0 && blm_info(b, &info[1]) == 0
			&& info[0].data_bytes >= info[1].data_bytes;
	}
	for (uint64_t at = 0; good && at < info[1].data_bytes; at += PIECE) {
		uint64_t left = info[1].data_bytes - at;
		size_t bytes = left < PIECE ? left : PIECE;

		good = blm_data_read(a, at, one, bytes) == 0
			&& blm_data_read(b, at, two, bytes) == 0;
		for (size_t i = 0; good && i < bytes / 8; i++)
			good = !(two[i] & ~one[i]);
	}
	free(info);
	free(one);
	free(two);
	return good;
}

/* Return: the file of that name if it can stand for what make() makes, or NULL. */
static struct blm_filter *take_up(const char *name, store_maker *make, const void *context)
{
	struct blm_filter *old, *fresh = NULL;

	if (blm_open(&old, store, name, BLM_OPEN_WRITE) < 0)
		return NULL;
	if (make(&fresh, NULL, NULL, context) < 0 || blm_same_template(old, fresh) < 0
	    || !holds(old, fresh))
		old = blm_close(old);
	blm_close(fresh);
	return old;
}

int store_make(struct value *v, const struct spot *spot, store_maker *make, const void *context)
{
	char name[BLM_NAME_MAX + 1];
	struct blm_info info = BLM_INFO;
	int r;

	if (!store || !spot->key)
		return make(&v->f, NULL, NULL, context);
	if (!find_name(name, spot))
		return -EEXIST;
	v->name = strdup(name);
	if (!v->name || use(name) < 0) {
		free(v->name);
		v->name = NULL;
		return -ENOMEM;
	}
	r = blm_store_find(store, name, &info);
	if (r != -ENOENT) {
		v->f = spot->loading && r == 0 ? take_up(name, make, context) : NULL;
		if (v->f)
			return 0;
		blm_store_drop(store, name);
	}
	r = make(&v->f, store, name, context);
	if (r < 0) {			/* no drop, which would replace the message */
		store_forget(name);
		free(v->name);
		v->name = NULL;
	}
	return r;
}

struct orphans {
	char **name;
	unsigned count, room;
};

static int note(void *context, const struct blm_info *info, int err)
{
	struct orphans *o = context;
	char **more;

	if (in_use(info->name))
		return 0;
	if (o->count == o->room) {
		more = realloc(o->name, (o->room + 64) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		o->name = more;
		o->room += 64;
	}
	o->name[o->count] = strdup(info->name);
	return o->name[o->count] ? (o->count++, 0) : -ENOMEM;
}

unsigned store_sweep(void)
{
	struct orphans o = { 0 };

	if (store)
		blm_store_list(store, STORE_PREFIX "*", note, &o);
	for (unsigned i = 0; i < o.count; i++) {
		blm_store_drop(store, o.name[i]);
		free(o.name[i]);
	}
	free(o.name);
	return o.count;
}
