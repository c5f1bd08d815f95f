/* store.c - files of the module's store: names, taking up those of an earlier run, sweeping */
#include "earlier.h"
#include "label.h"
#include "persist.h"
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

enum { NAMES_MOST = 1000, WAIT_MS = 5000, STEP_MS = 50 };

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

/* ---- Lists ---- */

struct names {
	char **name;
	unsigned count, capacity;
};

static int names_add(struct names *n, const char *name)
{
	char **more;

	if (n->count == n->capacity) {
		more = realloc(n->name, (n->capacity + 64) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		n->name = more;
		n->capacity += 64;
	}
	n->name[n->count] = strdup(name);
	return n->name[n->count] ? (n->count++, 0) : -ENOMEM;
}

static void names_free(struct names *n)
{
	for (unsigned i = 0; i < n->count; i++)
		free(n->name[i]);
	free(n->name);
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

bool store_uses(const char *name)
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
	if (persist_files)
		persist_drop(name);
	else
		blm_store_drop(store, name);
	store_forget(name);
}

/* While the server loads its data, a file of another key may wait for its value. */
static bool waits(const char *name, const char *label)
{
	struct blm_info info = BLM_INFO;
	char has[LABEL_MOST];

	return blm_store_find(store, name, &info) == 0 && label_read(has, &info)
		&& strcmp(has, label);
}

/* The first name of the key that is free. Keys that are cut are told apart by a number. */
static bool find_name(char name[BLM_NAME_MAX + 1], const struct spot *spot)
{
	size_t len, begun = (size_t)snprintf(name, BLM_NAME_MAX + 1, STORE_PREFIX "%d.", spot->db),
		end;
	const char *key = redis_StringPtrLen(spot->key, &len);
	char label[LABEL_MOST];

	label_of(label, spot);
	name[begun] = '\0';
	name_escape(name + begun, BLM_NAME_MAX - 8 - begun, key, len);
	end = strlen(name);
	for (int i = 2; i < NAMES_MOST; i++) {
		if (!store_uses(name) && !persist_drops(name)
		    && !(spot->loading && waits(name, label)))
			return true;
		snprintf(name + end, BLM_NAME_MAX + 1 - end, "~%d", i);
	}
	return false;
}

/* ---- Labels ---- */

static void relabel(const struct value *v, const struct spot *spot)
{
	char text[LABEL_MOST];

	if (!store || !v->name || !v->owned)
		return;
	label_of(text, spot);
	label_set(v->name, text);
}

struct swap {
	int one, other;
	struct names names, labels;
};

static int note_swap(void *context, const struct blm_info *info, int err)
{
	struct swap *s = context;
	char text[LABEL_MOST], swapped[LABEL_MOST];
	int r;

	/* an earlier file that no value has yet keeps the label that it had in the end */
	if (!store_uses(info->name) || !label_read(text, info)
	    || !label_swap(swapped, text, s->one, s->other))
		return 0;
	r = names_add(&s->names, info->name);
	return r < 0 ? r : names_add(&s->labels, swapped);
}

void store_swap(int one, int other)
{
	struct swap s = { .one = one, .other = other };

	if (store)
		blm_store_list(store, STORE_PREFIX "*", note_swap, &s);
	for (unsigned i = 0; i < s.labels.count; i++)
		label_set(s.names.name[i], s.labels.name[i]);
	names_free(&s.names);
	names_free(&s.labels);
}

/* ---- Making ---- */

static int set_name(struct value *v, const char *name)
{
	v->name = strdup(name);
	if (v->name && use(name) == 0) {
		persist_keep(name);
		return 0;
	}
	free(v->name);
	v->name = NULL;
	return -ENOMEM;
}

static void unset_name(struct value *v)
{
	store_forget(v->name);
	free(v->name);
	v->name = NULL;
}

/* Return: 0 if a file of an earlier run is that of the value now, or a negative errno. */
static int take_up(struct value *v, const struct spot *spot, store_maker *make, const void *context)
{
	char label[LABEL_MOST], name[BLM_NAME_MAX + 1];
	struct blm_filter *fresh;
	int r;

	label_of(label, spot);
	if (!spot->loading || !earlier_has(label))
		return -ENOENT;
	r = make(&fresh, NULL, NULL, context);
	if (r < 0)
		return r;
	v->f = earlier_open(label, fresh, true, name);
	blm_close(fresh);
	r = v->f ? set_name(v, name) : -ENOENT;
	if (r < 0)
		v->f = blm_close(v->f);
	return r;
}

int store_reserve(struct value *v, const struct spot *spot)
{
	struct blm_info info = BLM_INFO;
	char name[BLM_NAME_MAX + 1];
	int r;

	if (!find_name(name, spot))
		return -EEXIST;
	r = set_name(v, name);
	if (r == 0 && blm_store_find(store, name, &info) != -ENOENT)
		blm_store_drop(store, name);	/* of no key, or of this one, but it lacks a bit */
	return r;
}

int store_make(struct value *v, const struct spot *spot, store_maker *make, const void *context)
{
	int r;

	if (!store || !spot->key)
		return make(&v->f, NULL, NULL, context);
	if (take_up(v, spot, make, context) == 0)
		return 0;
	r = store_reserve(v, spot);
	if (r < 0)
		return r;
	r = make(&v->f, store, v->name, context);
	if (r == 0 && !spot->copied)
		relabel(v, spot);
	if (r < 0)			/* no drop, which would replace the message */
		unset_name(v);
	return r;
}

void store_unmake(struct value *v)
{
	if (!v->name)
		return;
	blm_store_drop(store, v->name);
	unset_name(v);
}

int store_take(struct value *v, const char *name, const struct spot *spot)
{
	int r = set_name(v, name);

	if (r == 0)
		relabel(v, spot);
	return r;
}

void store_moved(struct value *v, const struct spot *spot)
{
	char label[LABEL_MOST], name[BLM_NAME_MAX + 1];
	struct blm_filter *f;

	if (!store || !v->name || !v->owned)
		return;
	label_of(label, spot);
	f = spot->loading && v->f && earlier_has(label) ? earlier_open(label, v->f, false, name)
		: NULL;
	if (f) {
		v->f = blm_close(v->f);
		blm_store_drop(store, v->name);
		unset_name(v);
		v->f = f;
		set_name(v, name);	/* without memory: as a filter in memory */
	} else {
		relabel(v, spot);
	}
}

/* ---- Sweeping ---- */

static int note(void *context, const struct blm_info *info, int err)
{
	return store_uses(info->name) || persist_drops(info->name) ? 0
		: names_add(context, info->name);
}

unsigned store_sweep(void)
{
	struct names orphans = { 0 };
	unsigned count;

	if (store)
		blm_store_list(store, STORE_PREFIX "*", note, &orphans);
	for (unsigned i = 0; i < orphans.count; i++)
		blm_store_drop(store, orphans.name[i]);
	count = orphans.count;
	names_free(&orphans);
	return count;
}
