/*
 * filter.h - a handle from the inside: what filter.c, keys.c, combine.c, estimate.c, info.c and replace.c share
 *
 * A handle has a view: one file, mapped, with its hasher and its parts, immutable once made. When the file turns out to have
 * been replaced, or to have grown, the thread that sees it makes a new view and swaps it in; old views stay mapped until
 * the handle is closed, since other threads may be in the middle of a call on one.
 */
#ifndef BLM_FILTER_H
#define BLM_FILTER_H

#include "file/image.h"
#include "file/lock.h"
#include "file/publish.h"
#include "kind/kind.h"
#include "place.h"

#include <stdatomic.h>

struct blm_view {
	struct blm_view *older;
	struct blm_image image;
	struct blm_constant constant;	/* as checked when the view was made */
	struct blm_hasher hasher;
	uint64_t seeds[BLM_SEEDS_MAX];	/* in this machine's order; the hasher's */
	uint8_t *secret;		/* keyed families: in memory that is not dumped; else NULL */
	uint64_t hash_id;
	struct blm_part part[BLM_PARTS_MAX];
	unsigned parts;
	struct blm_lock lock;		/* BLM_LOCK_REPLACE of this file */
	pthread_mutex_t syncing;	/* BLM_LOCK_SYNC of this file, among this handle's threads */
	/*
	 * The state word that the name was last looked up under. While the file's own is the same, this view is the filter;
	 * every change of state changes the word (the upper bits count), so one load and one compare tell.
	 */
	_Atomic uint64_t seen_state;
};

struct blm_filter {
	_Atomic(struct blm_view *) view;
	struct blm_place place;
	bool write;
	uint8_t *secret;		/* that the caller gave, in memory that is not dumped; or NULL: look beside the file */
	pthread_mutex_t renewing;	/* held by the thread that makes a new view */
	_Atomic int status;
	struct blm_filter *next, *previous;	/* all handles, for fork() */
};

static inline struct blm_live *live_of(const struct blm_view *view)
{
	return &view->image.header->live;
}

static inline enum blm_state state_of(uint64_t word)
{
	return (enum blm_state)(word & 0xff);
}

/* Sets another state; the caller holds BLM_LOCK_REPLACE exclusively. */
static inline void set_state(struct blm_view *view, enum blm_state state)
{
	uint64_t old = load_acquire(&live_of(view)->state.word);

	store_release(&live_of(view)->state.word, ((old >> 8) + 1) << 8 | state);
	full_fence();
}

/* A view of the file behind fd, which then belongs to it; for keyed families then unlock it. */
int blm_view_make(struct blm_view **ret, int fd, const char *shown, bool write);
int blm_view_unlock(struct blm_view *view, const struct blm_place *place, const uint8_t *given);
void blm_view_free(struct blm_view *view);

/* What lies at the handle's place, unlocked; and a better view than this one, or this one. */
int blm_view_open(struct blm_view **ret, struct blm_filter *f);
struct blm_view *blm_view_renew(const struct blm_filter *f, struct blm_view *view);

static inline bool is_current(struct blm_view *view)
{
	return load_acquire(&live_of(view)->state.word) == atomic_load_explicit(&view->seen_state, memory_order_relaxed)
	    && load_acquire(&live_of(view)->parts.word) == view->parts;
}

/* The view to work on: the handle's, unless the file says that it was replaced or grew. Never fails: see blm_status(). */
static inline struct blm_view *current_view(const struct blm_filter *f)
{
	struct blm_view *view = atomic_load_explicit(&((struct blm_filter *)f)->view, memory_order_acquire);

	return __builtin_expect(is_current(view), true) ? view : blm_view_renew(f, view);
}

/*
 * A change to a filter that others may replace at any moment: between begin and end, change view's data; if end() says
 * -EAGAIN, the change may be lost with the old file, so do it again from begin(). begin() fails with -EBADF for a read-only
 * handle, -ESTALE for a dropped filter.
 */
int blm_change_begin(struct blm_filter *f, struct blm_view **ret);
int blm_change_end(struct blm_filter *f, struct blm_view *view);

/* The same, holding off replacements from begin to end, so that end never says "again". */
int blm_change_begin_held(struct blm_filter *f, struct blm_view **ret);
void blm_change_end_held(struct blm_filter *f, struct blm_view *view);

/* The descriptor of a view's file, opened anew in a forked child. */
int blm_view_fd(struct blm_filter *f, struct blm_view *view);

/* Count `n` keys that changed the filter. */
void blm_count_keys(struct blm_view *view, uint64_t n);
uint64_t blm_counted_keys(const struct blm_view *view);

/* -EOPNOTSUPP, with the names of the kinds that can. */
int blm_cannot(const struct blm_view *view, const struct blm_filter *f, const char *what, unsigned can);

/*
 * ---- Making files ----
 * What a new file is made from; then it is filled, and published. The template fields and the shapes of its parts decide
 * all else.
 */
struct blm_making {
	struct blm_template_fields template;
	struct blm_shape shape[BLM_PARTS_MAX];
	const struct blm_kind *kind[BLM_PARTS_MAX];	/* of each part */
	uint32_t role[BLM_PARTS_MAX];
	unsigned parts;
	uint64_t capacity;
	double rate;
	bool sparse;
	unsigned mode;
	const uint8_t *secret;		/* of a keyed family */
};

/* The making of an empty filter like this one. */
void blm_making_like(struct blm_making *ret, const struct blm_view *view);

/*
 * A new file in the folder of `place`, mapped as a view whose parts are `alone` and zero, not yet visible to anybody. Fill
 * it, then publish or end it.
 */
struct blm_unborn {
	struct blm_new_file file;
	struct blm_view *view;
};
int blm_unborn_make(struct blm_unborn *ret, const struct blm_place *place, const struct blm_making *making);
/*
 * Sync and name it. over: the uuid of the filter in whose place it comes; -ENOENT if the name leads to another by now. NULL: of
 * none; -EEXIST if the name is taken. On failure end it.
 */
int blm_unborn_publish(struct blm_unborn *unborn, const struct blm_place *place, const uint8_t *over);
void blm_unborn_end(struct blm_unborn *unborn);

/* A handle on what was published; takes the view out of unborn, and the place. ret NULL: none is wanted. */
int blm_unborn_handle(struct blm_filter **ret, struct blm_unborn *unborn, struct blm_place *place, const uint8_t *secret);

/*
 * Make a new filter at (store, name): unborn, fill(), publish, handle. fill NULL: it stays empty. For a name that is taken:
 * -EEXIST.
 */
int blm_make(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_making *making,
	     int (*fill)(struct blm_view *view, void *context), void *context);

/*
 * Replace what lies at `place` by what fill() makes of it, in one step for everyone else (replace.h has the protocol).
 * fill() gets the old view, which nobody can add to unnoticed while it runs.
 */
int blm_replace(const struct blm_place *place, const struct blm_making *making,
		int (*fill)(struct blm_view *view, const struct blm_view *old, void *context), void *context);

#endif
