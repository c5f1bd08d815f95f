/* handle.c - handles: opened, made, closed, and what becomes of them in a forked child */
#include "handle/exclusive.h"
#include "base/secret_memory.h"

#include <unistd.h>

/* ---- All handles of the process, for fork() ---- */

/*
 * A child shares its parent's open file descriptions, and locks belong to those: a lock that the
 * child gave back would be the parent's. So the child closes its copies and opens the files anew
 * when it next needs a lock. The maps stay: adding and asking need nothing else. The threads of the
 * parent are not in the child, so their locks are made new.
 */
static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct blm_filter *all;

static void before_fork(void)
{
	pthread_mutex_lock(&all_mutex);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&all_mutex);
}

static void after_fork_in_child(void)
{
	pthread_mutex_init(&all_mutex, NULL);
	for (struct blm_filter *f = all; f; f = f->next) {
		pthread_mutex_init(&f->renewing, NULL);
		for (struct blm_view *view = atomic_load(&f->view); view; view = view->older) {
			close(view->image.fd);
			view->image.fd = -1;
			blm_lose_exclusive(f, view);
			blm_lock_init(&view->lock);
			if (view->presence.live)
				view->lock.presence = &view->presence;
			pthread_mutex_init(&view->syncing, NULL);
			pthread_mutex_init(&view->writing, NULL);
			view->syncs = view->writes = false;
			pthread_mutex_init(&view->growing, NULL);
		}
	}
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void enlist(struct blm_filter *f)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&all_mutex);
	f->next = all;
	f->previous = NULL;
	if (all)
		all->previous = f;
	all = f;
	pthread_mutex_unlock(&all_mutex);
}

static void delist(struct blm_filter *f)
{
	pthread_mutex_lock(&all_mutex);
	if (f->next)
		f->next->previous = f->previous;
	if (f->previous)
		f->previous->next = f->next;
	else if (all == f)
		all = f->next;
	pthread_mutex_unlock(&all_mutex);
}

/* ---- Opening and closing ---- */

struct blm_filter *blm_handle_new(struct blm_place *place, bool write)
{
	struct blm_filter *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->place = *place;
	f->write = write;
	pthread_mutex_init(&f->renewing, NULL);
	*place = (struct blm_place){ 0 };
	return f;
}

void blm_handle_free(struct blm_filter *f)
{
	struct blm_view *view = atomic_load(&f->view), *older;

	for (; view; view = older) {
		older = view->older;
		blm_view_free(view);
	}
	blm_hidden_free(f->secret);
	pthread_mutex_destroy(&f->renewing);
	blm_place_clear(&f->place);
	free(f);
}

int blm_handle_keep_secret(struct blm_filter *f, const uint8_t *secret)
{
	if (!secret)
		return 0;
	f->secret = blm_hidden_new(BLM_SECRET_BYTES);
	if (!f->secret)
		return blm_fail(-ENOMEM, "%s: no memory for its secret key", f->place.display);
	blm_secret_copy(f->secret, secret);
	return 0;
}

void blm_handle_begin(struct blm_filter *f, struct blm_view *view)
{
	atomic_init(&f->view, view);
	enlist(f);
}

int blm_filter_open(struct blm_filter **ret, struct blm_place *place, bool write,
		    const uint8_t *secret)
{
	struct blm_filter *f = blm_handle_new(place, write);
	struct blm_view *view = NULL;
	int r;

	if (!f)
		return blm_fail(-ENOMEM, "out of memory");
	r = blm_handle_keep_secret(f, secret);
	if (r == 0)
		r = blm_view_open(&view, f);
	if (r == 0) {
		r = blm_ask_admission(f, view);
		if (r < 0)
			blm_view_free(view);
	}
	if (r < 0) {
		*place = f->place;
		f->place = (struct blm_place){ 0 };
		blm_handle_free(f);
		return r;
	}
	blm_handle_begin(f, view);
	*ret = f;
	return 0;
}

int blm_filter_open_at(struct blm_filter **ret, struct blm_store *store, const char *name,
		       bool write, const uint8_t *secret)
{
	struct blm_place place;
	int r = blm_place_set(&place, store, name);

	if (r < 0)
		return r;
	r = blm_filter_open(ret, &place, write, secret);
	if (r < 0)
		blm_place_clear(&place);
	return r;
}

BLM_API struct blm_filter *blm_close(struct blm_filter *f)
{
	if (f) {
		delist(f);
		blm_handle_free(f);
	}
	return NULL;
}

BLM_API int blm_status(const struct blm_filter *f)
{
	BLM_CRITICAL_SECTION;

	return blm_check_standing(f);
}

