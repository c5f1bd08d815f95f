/* handle.c - handles: opened, made, closed, and what becomes of them in a forked child */
#include "exchange/exchange.h"
#include "base/secret_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* ---- All handles of the process, for fork() ---- */

/*
 * A child shares its parent's open file descriptions, and locks belong to those: a lock that the child gave back would be
 * the parent's. So the child closes its copies and opens the files anew when it next needs a lock. The maps stay: adding and
 * asking need nothing else. The threads of the parent are not in the child, so their locks are made new.
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
			blm_lock_init(&view->lock);
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

static struct blm_filter *new_handle(struct blm_place *place, bool write)
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

static void free_handle(struct blm_filter *f)
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

static int keep_given_secret(struct blm_filter *f, const uint8_t *secret)
{
	if (!secret)
		return 0;
	f->secret = blm_hidden_new(BLM_SECRET_BYTES);
	if (!f->secret)
		return blm_fail(-ENOMEM, "%s: no memory for its secret key", f->place.shown);
	blm_secret_copy(f->secret, secret);
	return 0;
}

/* Our own files first: that costs them nothing. What is not ours may be another program's, which says more than our refusal. */
static int open_view(struct blm_view **ret, struct blm_filter *f, const struct blm_exchange *how)
{
	static const struct blm_exchange by_default;
	char why[512];
	int r = blm_view_open(ret, f), foreign;

	if ((r != -EBADMSG && r != -ENODATA) || f->place.store || f->place.memory)
		return r;
	snprintf(why, sizeof(why), "%s", blm_why());
	foreign = blm_foreign_view(ret, &f->place, f->write, how ? how : &by_default);
	return foreign == 1 ? blm_fail(r, "%s", why) : foreign;
}

int blm_filter_open(struct blm_filter **ret, struct blm_place *place, bool write, const uint8_t *secret, const struct blm_exchange *how)
{
	struct blm_filter *f = new_handle(place, write);
	struct blm_view *view = NULL;
	int r;

	if (!f) {
		blm_place_clear(place);
		return blm_fail(-ENOMEM, "out of memory");
	}
	r = keep_given_secret(f, secret);
	if (r == 0)
		r = open_view(&view, f, how);
	if (r < 0) {
		free_handle(f);
		return r;
	}
	atomic_init(&f->view, view);
	enlist(f);
	*ret = f;
	return 0;
}

BLM_API int blm_open_keyed(struct blm_filter **ret, struct blm_store *store, const char *name, bool write, const uint8_t *secret)
{
	struct blm_place place;
	int r;

	if (!store && !name)
		return blm_fail(-EINVAL, "a filter in memory has no name to open it by");
	r = blm_place_set(&place, store, name);
	return r < 0 ? r : blm_filter_open(ret, &place, write, secret, NULL);
}

BLM_API int blm_open(struct blm_filter **ret, struct blm_store *store, const char *name, bool write)
{
	return blm_open_keyed(ret, store, name, write, NULL);
}

BLM_API struct blm_filter *blm_close(struct blm_filter *f)
{
	if (f) {
		delist(f);
		free_handle(f);
	}
	return NULL;
}

BLM_API int blm_status(const struct blm_filter *f)
{
	BLM_INSIDE;

	return blm_check_standing(f);
}

/* ---- From a made file to a handle ---- */

int blm_unborn_handle(struct blm_filter **ret, struct blm_unborn *unborn, struct blm_place *place, const uint8_t *secret)
{
	struct blm_view *view = unborn->view;
	struct blm_filter *f;
	int r;

	unborn->view = NULL;
	blm_unborn_end(unborn);
	set_alone(view, false);
	f = ret ? new_handle(place, true) : NULL;
	if (!f) {
		blm_view_free(view);
		return ret ? blm_fail(-ENOMEM, "%s: out of memory", place->shown) : 0;
	}
	atomic_init(&f->view, view);
	r = keep_given_secret(f, secret);
	if (r < 0) {
		free_handle(f);
		return r;
	}
	enlist(f);
	*ret = f;
	return 0;
}

int blm_unborn_lend(struct blm_filter **ret, struct blm_unborn *unborn, const struct blm_place *place)
{
	struct blm_place same;
	struct blm_filter *f;
	int r = blm_place_follow(&same, place);

	if (r < 0)
		return r;
	f = new_handle(&same, true);
	if (!f) {
		blm_place_clear(&same);
		return blm_fail(-ENOMEM, "%s: out of memory", place->shown);
	}
	set_alone(unborn->view, false);	/* it may be filled by several threads */
	atomic_init(&f->view, unborn->view);
	f->lent = true;
	*ret = f;
	return 0;
}

/* By its descriptor, as it has no name yet. */
int blm_unborn_again(struct blm_view **ret, const struct blm_filter *f)
{
	const struct blm_view *now = atomic_load(&f->view);
	struct blm_view *view;
	int fd = fcntl(now->image.fd, F_DUPFD_CLOEXEC, 0);
	int r = fd < 0 ? blm_fail(-errno, "%s: %s", f->place.shown, strerror(errno)) : blm_view_make(&view, fd, f->place.shown, true);

	if (r < 0)
		return r;
	view->holes |= f->place.memory != NULL;
	r = blm_view_unlock(view, &f->place, now->secret);
	if (r < 0)
		blm_view_free(view);
	else
		*ret = view;
	return r;
}

/* As it is now, which may have grown. */
void blm_unborn_take_back(struct blm_unborn *unborn, struct blm_filter *lent)
{
	unborn->view = atomic_load(&lent->view);
	atomic_store(&lent->view, unborn->view->older);
	unborn->view->older = NULL;
	free_handle(lent);
}

int blm_make(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_making *making,
	     int (*fill)(struct blm_view *view, void *context), void *context)
{
	struct blm_unborn unborn;
	struct blm_place place;
	int r = blm_place_set(&place, store, name);

	if (r < 0)
		return r;
	r = blm_place_is_taken(&place);	/* before any space is taken; the naming itself looks again */
	if (r == 0)
		r = blm_unborn_make(&unborn, &place, making);
	if (r == 0) {
		if (fill)
			r = fill(unborn.view, context);
		if (r == 0)
			r = blm_unborn_publish(&unborn, &place, NULL);
		if (r == 0)
			r = blm_unborn_handle(ret, &unborn, &place, NULL);
		else
			blm_unborn_end(&unborn);
	}
	blm_place_clear(&place);
	return r;
}
