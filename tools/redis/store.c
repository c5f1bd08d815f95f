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
enum { LABEL_KEY = 256, LABEL_MOST = 1024 };
#define LABEL "redis"
#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

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
	unsigned count, room;
};

static int names_add(struct names *n, const char *name)
{
	char **more;

	if (n->count == n->room) {
		more = realloc(n->name, (n->room + 64) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		n->name = more;
		n->room += 64;
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

/* ---- Labels ---- */

/*
 * The label of a key: its database, length, hash and first bytes. It holds all keys of at most
 * LABEL_KEY bytes apart, and longer ones by their hash.
 */
static void label_of(char ret[LABEL_MOST], const struct spot *spot)
{
	size_t len;
	const char *key = redis_StringPtrLen(spot->key, &len);
	uint64_t hash = FNV_BASIS;
	int n;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)key[i]) * FNV_PRIME;
	n = snprintf(ret, LABEL_MOST, "%d:%zu:%016llx:", spot->db, len, (unsigned long long)hash);
	escape(ret + n, LABEL_MOST - (size_t)n, key, len < LABEL_KEY ? len : LABEL_KEY);
}

/* Return: false if the file has no label of the server. */
static bool label_read(char ret[LABEL_MOST], const struct blm_info *info)
{
	size_t begun = strlen(LABEL "="), len;

	for (const char *line = info->labels, *end; (end = strchr(line, '\n')); line = end + 1) {
		len = (size_t)(end - line);
		if (len < begun || strncmp(line, LABEL "=", begun) || len - begun >= LABEL_MOST)
			continue;
		memcpy(ret, line + begun, len - begun);
		ret[len - begun] = '\0';
		return true;
	}
	return false;
}

/* A file without a label is made anew when the server loads its data the next time. */
static void label(const char *name, const char *value)
{
	if (blm_store_label(store, name, LABEL, value) < 0)
		blm_store_label(store, name, LABEL, NULL);
}

void store_relabel(const struct value *v, const struct spot *spot)
{
	char text[LABEL_MOST];

	if (!store || !v->name || !v->owned)
		return;
	label_of(text, spot);
	label(v->name, text);
}

struct swap {
	int one, other;
	struct names names, labels;
};

static int note_swap(void *context, const struct blm_info *info, int err)
{
	struct swap *s = context;
	char text[LABEL_MOST], swapped[LABEL_MOST + 16], *rest;
	int db, r;

	if (!label_read(text, info))
		return 0;
	db = (int)strtol(text, &rest, 10);
	if (db != s->one && db != s->other)
		return 0;
	snprintf(swapped, sizeof(swapped), "%d%s", db == s->one ? s->other : s->one, rest);
	r = names_add(&s->names, info->name);
	return r < 0 ? r : names_add(&s->labels, swapped);
}

void store_swap(int one, int other)
{
	struct swap s = { .one = one, .other = other };

	if (store)
		blm_store_list(store, STORE_PREFIX "*", note_swap, &s);
	for (unsigned i = 0; i < s.labels.count; i++)
		label(s.names.name[i], s.labels.name[i]);
	names_free(&s.names);
	names_free(&s.labels);
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

/* The same, if the file is that of the key, or NULL; what has the name otherwise is dropped. */
static struct blm_filter *find_old(const char *name, const struct spot *spot, store_maker *make,
				   const void *context)
{
	struct blm_info info = BLM_INFO;
	char has[LABEL_MOST], must[LABEL_MOST];
	struct blm_filter *f = NULL;
	int r = blm_store_find(store, name, &info);

	if (r == -ENOENT)
		return NULL;
	label_of(must, spot);
	if (r == 0 && spot->loading && label_read(has, &info) && !strcmp(has, must))
		f = take_up(name, make, context);
	if (!f)
		blm_store_drop(store, name);
	return f;
}

int store_make(struct value *v, const struct spot *spot, store_maker *make, const void *context)
{
	char name[BLM_NAME_MAX + 1];
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
	v->f = find_old(name, spot, make, context);
	if (v->f)
		return 0;
	r = make(&v->f, store, name, context);
	if (r == 0 && !spot->copied)
		store_relabel(v, spot);
	if (r < 0) {			/* no drop, which would replace the message */
		store_forget(name);
		free(v->name);
		v->name = NULL;
	}
	return r;
}

static int note(void *context, const struct blm_info *info, int err)
{
	return in_use(info->name) ? 0 : names_add(context, info->name);
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
