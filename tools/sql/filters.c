/*
 * filters.c - the filters that a database connection has open, by their names
 */
#include "filters.h"
#include "../terms.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { HANDLES_MOST = 64, SETTLED_SECONDS = 2 };

struct filters {
	const char *say_store, *say_paths;
	char *dir;			/* NULL: chosen by the environment */
	bool paths;
	struct blm_store *read, *write;	/* NULL: not needed so far */
	struct handle *handles;		/* the one that was used last is the first */
	struct blm_info info;		/* too large for a stack */
	char message[PATH_MAX + 200];
	bool said;			/* message is what the next filters_message() returns */
	char translated[PATH_MAX + 200];
};

struct filters *filters_new(const char *say_store, const char *say_paths)
{
	struct filters *s = calloc(1, sizeof(*s));

	if (s) {
		s->say_store = say_store;
		s->say_paths = say_paths;
		s->info.size = sizeof(s->info);
	}
	return s;
}

static void forget_all(struct filters *s)
{
	while (s->handles)
		filters_forget(s, s->handles);
	s->read = blm_store_close(s->read);
	s->write = blm_store_close(s->write);
}

void filters_free(struct filters *s)
{
	forget_all(s);
	free(s->dir);
	free(s);
}

void filters_take_paths(struct filters *s, bool taken)
{
	s->paths = taken;
}

/* What the program has an option for, and no query. */
static const struct { const char *library, *query; } terms[] = {
	{ "blm_params.replace", "--force of the command build" },
	{ "BLM_STORE_ANYONE", "which queries cannot: only the program, with --anyone" },
	{ "blm_open_keyed()", "--key-file of the program, because queries take no secrets" },
};

static const char *query_terms(struct filters *s, const char *message)
{
	const char *words = message ? strstr(message, ": ") : NULL;	/* after the name */
	const char *at = NULL;
	size_t i = 0;

	while (words && i < sizeof(terms) / sizeof(*terms)
	       && !(at = strstr(words, terms[i].library)))
		i++;
	if (!at)
		return own_terms(message);
	snprintf(s->translated, sizeof(s->translated), "%.*s%s%s", (int)(at - message), message,
		 terms[i].query, at + strlen(terms[i].library));
	return s->translated;
}

const char *filters_message(struct filters *s, int r)
{
	const char *message = s->said ? s->message : query_terms(s, blm_error_message());

	s->said = false;
	return message && *message ? message : blm_strerror(r);
}

__attribute__((format(printf, 2, 3)))
static void say(struct filters *s, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(s->message, sizeof(s->message), format, arguments);
	va_end(arguments);
	s->said = true;
}

/* ---- The store ---- */

static const char *environment(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

/* The same choice as the program makes. */
static int chosen_dir(const struct filters *s, char dir[PATH_MAX])
{
	const char *chosen = s->dir ? s->dir : environment("BLOOMERY_STORE");
	const char *data = environment("XDG_DATA_HOME"), *home = environment("HOME");
	int len = 0;

	if (chosen)
		len = snprintf(dir, PATH_MAX, "%s", chosen);
	else if (data && *data == '/')
		len = snprintf(dir, PATH_MAX, "%s/bloomery", data);
	else if (home)
		len = snprintf(dir, PATH_MAX, "%s/.local/share/bloomery", home);
	return len > 0 && len < PATH_MAX ? 0 : -ENOENT;
}

int filters_use(struct filters *s, const char *dir)
{
	char *copy = dir ? strdup(dir) : NULL;

	if (dir && !copy)
		return -ENOMEM;
	forget_all(s);
	free(s->dir);
	s->dir = copy;
	return 0;
}

const char *filters_dir(const struct filters *s)
{
	const struct blm_store *open = s->write ? s->write : s->read;

	return open ? blm_store_dir(open) : s->dir;
}

static int open_store(struct filters *s, struct blm_store **ret, unsigned flags)
{
	char dir[PATH_MAX];
	int r = chosen_dir(s, dir);

	if (r < 0) {
		say(s, "no store: neither $BLOOMERY_STORE nor $HOME is set; name one with %s",
		    s->say_store);
		return r;
	}
	r = blm_store_open(ret, dir, flags);
	if (r == -ENOENT && !(flags & BLM_STORE_CREATE))
		say(s, "%s: there is no store; `bloomery create` makes one, and %s chooses "
		    "another", dir, s->say_store);
	return r;
}

int filters_place(struct filters *s, struct blm_store **store, const char *name, unsigned flags)
{
	struct blm_store **kept = flags & BLM_STORE_READ ? &s->read : &s->write;
	int r = 0;

	*store = NULL;
	s->said = false;
	if (name && strchr(name, '/')) {
		if (s->paths)
			return 0;
		say(s, "%.*s: a name has no '/'; %s allows paths", PATH_MAX, name, s->say_paths);
		return -EPERM;
	}
	if (!*kept)
		r = open_store(s, kept, flags);
	*store = *kept;
	return r;
}

/* ---- Open filters ---- */

void handle_put(struct handle *h)
{
	if (--h->holders)
		return;
	blm_close(h->f);
	free(h);
}

void filters_forget(struct filters *s, struct handle *h)
{
	struct handle **at = &s->handles;

	if (h->gone)
		return;
	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	h->gone = true;
	handle_put(h);
}

/* Moves the handle to the front of the list. Return: NULL: there is none. */
static struct handle *find(struct filters *s, const char *name, size_t len, bool write)
{
	struct handle **at = &s->handles, *h;

	while (*at && ((*at)->write != write || (*at)->len != len
		       || memcmp((*at)->name, name, len)))
		at = &(*at)->next;
	h = *at;
	if (h) {
		*at = h->next;
		h->next = s->handles;
		s->handles = h;
	}
	return h;
}

/*
 * The catalog's file, if it was changed so long ago that no later change can have the same stamp.
 * A look at it takes half a microsecond, and a question to the catalog twenty.
 */
static bool stamp_of(const struct blm_store *store, struct stamp *ret)
{
	char path[PATH_MAX];
	struct timespec now;
	struct stat st;

	*ret = (struct stamp){ 0 };
	if (snprintf(path, sizeof(path), "%s/catalog/data.mdb", blm_store_dir(store))
	    >= (int)sizeof(path) || stat(path, &st) < 0 || clock_gettime(CLOCK_REALTIME, &now) < 0)
		return false;
	if (st.st_mtim.tv_sec + SETTLED_SECONDS > now.tv_sec)
		return false;
	*ret = (struct stamp){ st.st_ino, (uint64_t)st.st_mtim.tv_sec,
		(uint64_t)st.st_mtim.tv_nsec, (uint64_t)st.st_size };
	return true;
}

/* Return: 1: the name leads to the open file; 0: it does not; or a negative errno. */
static int is_current(struct filters *s, struct blm_store *store, struct handle *h)
{
	struct stamp stamp;
	int r = blm_status(h->f);

	if (r == -ESTALE)
		return 0;
	if (r < 0 && r != -ENOENT)	/* with that a folder above the file was moved */
		return r;
	if (!store || (stamp_of(store, &stamp) && !memcmp(&stamp, &h->stamp, sizeof(stamp))))
		return 1;
	r = blm_store_find(store, h->name, &s->info);
	if (r < 0 || memcmp(s->info.uuid, h->uuid, sizeof(h->uuid)))
		return r < 0 && r != -ENOENT ? r : 0;
	h->stamp = stamp;
	return 1;
}

static int open_handle(struct filters *s, struct blm_store *store, const char *name, bool write)
{
	size_t len = strlen(name), count = 0;
	struct handle *h = calloc(1, sizeof(*h) + len + 1);
	int r;

	if (!h)
		return -ENOMEM;
	memcpy(h->name, name, len);
	h->len = len;
	h->write = write;
	r = blm_open(&h->f, store, name, write ? BLM_OPEN_WRITE : 0);
	if (r < 0) {
		free(h);
		return r;
	}
	r = blm_info(h->f, &s->info);
	if (r < 0) {
		blm_close(h->f);
		free(h);
		return r;
	}
	memcpy(h->uuid, s->info.uuid, sizeof(h->uuid));
	h->holders = 1;		/* the list */
	h->next = s->handles;
	s->handles = h;
	for (struct handle *other = h; other; other = other->next)
		if (count++ == HANDLES_MOST) {
			filters_forget(s, other);
			break;
		}
	return 0;
}

int filters_find(struct filters *s, const char *name, bool write, int64_t moment,
		 struct handle **ret)
{
	struct blm_store *store;
	struct handle *h;
	int r = filters_place(s, &store, name, write ? 0 : BLM_STORE_READ);

	if (r < 0)
		return r;
	h = find(s, name, strlen(name), write);
	if (h) {
		r = moment && h->moment == moment ? 1 : is_current(s, store, h);
		if (r < 0)	/* closing may change what the library says */
			say(s, "%s", filters_message(s, r));
		if (r <= 0)
			filters_forget(s, h);
	}
	if (!h || r == 0)
		r = open_handle(s, store, name, write);
	if (r < 0)
		return r;
	*ret = s->handles;
	s->handles->moment = moment;
	s->handles->holders++;
	return 0;
}

struct blm_key key_of_number(int64_t number, uint8_t bytes[8])
{
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)((uint64_t)number >> 8 * i);
	return (struct blm_key){ bytes, 8 };
}
