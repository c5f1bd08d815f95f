/*
 * handle.h - a handle from the inside: its view, which is the filter now, and changes to that view
 *
 * A handle has a view: one file, mapped, with its hasher and its parts. A view does not change
 * after it is made. When the file was replaced or has grown, the first thread that notices makes a
 * new view and swaps it in. Other threads may still be in a call on the old view. It is freed at a
 * later swap, when all calls that began before its replacement have ended (reclaim.h), or when the
 * handle is closed.
 */
#ifndef BLM_HANDLE_H
#define BLM_HANDLE_H

#include "durable/dirty.h"
#include "durable/flush.h"
#include "durable/locks.h"
#include "handle/reclaim.h"
#include "view/view.h"

struct blm_allowlist_carry;
struct blm_filter {
	_Atomic(struct blm_view *) view;
	struct blm_place place;
	bool write;
	/* opened to be the only one that changes the filter (exclusive.c). Set once, at opening */
	bool exclusive;
	/* its view belongs to another handle (blm_staged_lend()), and its file has no name yet */
	bool lent;
	/* then: the record of the keys that were added (allowlist_carry.h), or NULL */
	struct blm_allowlist_carry *carry;
	/*
	 * given by the caller, in memory that is not dumped; NULL: read the secret next to the file
	 */
	uint8_t *secret;
	pthread_mutex_t renewing;	/* held by the thread that makes a new view */
	/* blm_load()'s flags, for every view to come; under `renewing` */
	unsigned load;
	_Atomic int status;
	_Atomic unsigned lost_blocks;	/* for struct blm_info */
	/* blm_sync_every(): 0 is never. Times are CLOCK_MONOTONIC, in nanoseconds */
	_Atomic uint64_t sync_keys, sync_time, keys_since, synced_at;
	struct blm_filter *next, *previous;	/* all handles, for fork() */
};

/*
 * ---- Handles ----
 * A new handle takes the place over, and knows itself among all of the process (for fork()) when it
 * has its first view. NULL: no memory.
 */
struct blm_filter *blm_handle_new(struct blm_place *place, bool write);
/* a copy; of NULL: nothing. -ENOMEM */
int blm_handle_keep_secret(struct blm_filter *f, const uint8_t *secret);
void blm_handle_begin(struct blm_filter *f, struct blm_view *view);
void blm_handle_free(struct blm_filter *f);

/*
 * Open our own file at `place`. The handle then owns the place; if that fails the caller still
 * does.
 */
int blm_filter_open(struct blm_filter **ret, struct blm_place *place, bool write,
		    const uint8_t *secret);
/* The same, by store and name. */
int blm_filter_open_at(struct blm_filter **ret, struct blm_store *store, const char *name,
		       bool write, const uint8_t *secret);

/* The file at the handle's place, unlocked; and a better view than this one, or this one. */
int blm_view_open(struct blm_view **ret, struct blm_filter *f);
struct blm_view *blm_view_renew(const struct blm_filter *f, struct blm_view *view);

/* Does the handle's name lead to this file? 1, 0, or a negative errno. */
static inline int blm_is_at_place(const struct blm_filter *f, const struct blm_view *view)
{
	return blm_place_is(&f->place, view->image.device, view->image.inode, view->constant.uuid);
}

/*
 * The view to work on: the handle's, unless the file says that it was replaced or grew. Never
 * fails: see blm_status().
 */
static inline struct blm_view *current_view(const struct blm_filter *f)
{
	struct blm_view *view = atomic_load_explicit(&((struct blm_filter *)f)->view,
						     memory_order_acquire);

	return __builtin_expect(is_current(view), true) ? view : blm_view_renew(f, view);
}

/*
 * Operations on several filters take effect at one moment: the views of the filters that they read
 * are all current at that moment. A view that was resolved before a lock of another filter was
 * waited for may be of a file that was replaced meanwhile. Then keys whose adds have returned are
 * missing in the result. So an operation that changes a filter resolves the others after it holds
 * that one.
 */

/*
 * -EBUSY where the files are replaced again and again; the error of a filter that does not open any
 * more. A dropped filter is what it last was.
 */
int blm_views_at_once(const struct blm_view **ret, const struct blm_filter *const *from,
		      size_t count);
/* 0: it is current; -EAGAIN: not any more */
int blm_view_stays(const struct blm_filter *f, const struct blm_view *view);

enum { BLM_TRIES = 1000 };	/* each fails only if a replacement ends within some microseconds */
int blm_keep_moving(const struct blm_filter *f);	/* after that many: -EBUSY, a message */

/*
 * A change to a filter that others may replace at any moment. Between begin and end the caller
 * changes the view's data. If end() returns -EAGAIN, the change may be lost with the old file, so
 * the caller repeats it from begin(). begin() fails as blm_may_change() does: -EBADF for a
 * read-only handle, -ESTALE for a dropped filter, and the error of opening where the new file does
 * not open.
 */
int blm_tell_status(const struct blm_filter *f);	/* standing.c: where something is wrong */
static inline int blm_may_change(const struct blm_filter *f)
{
	struct blm_filter *known = (struct blm_filter *)f;
	bool good = f->write && atomic_load(&known->status) == 0
		&& !blm_sigbus_hit(atomic_load(&known->view)->image.map);

	return good ? 0 : blm_tell_status(f);
}

int blm_change_begin(struct blm_filter *f, struct blm_view **ret);
int blm_change_end(struct blm_filter *f, struct blm_view *view);

/* The same, but no replacement can begin between begin and end, so end never says "again". */
int blm_change_begin_held(struct blm_filter *f, struct blm_view **ret);
void blm_change_end_held(struct blm_filter *f, struct blm_view *view);

/*
 * The same, for a thread that is present in the view's file and its only writer, in kinds that have
 * one writer or serialize removals. state: the word at which the caller learnt that the filter has
 * no allowlist (allowlist.h). False, for example if an epoch must be announced, if another thread
 * writes without the word, or if the state word has changed: use the calls above.
 */
bool blm_change_begin_alone(struct blm_filter *f, struct blm_view *view, uint64_t state);
void blm_change_end_alone(struct blm_view *view);

/*
 * Called between the two calls above, in kinds that serialize removals, for a change that only one
 * thread at a time may make. Fail with a message.
 */
int blm_lone_begin(struct blm_filter *f, struct blm_view *view);
void blm_lone_end(struct blm_view *view);

/*
 * The calls above as the kind needs them. A change that sets bits may be done twice, so it blocks
 * no replacement; any other change is done once. *ret_held is an argument of end, which returns
 * -EAGAIN only for changes that may be done twice. These functions are for changes by keys without
 * names: they remove all keys from the allowlist (allowlist.h).
 */
int blm_change_begin_as_kind(struct blm_filter *f, struct blm_view **ret, bool *ret_held);
int blm_change_end_unnamed(struct blm_filter *f, struct blm_view *view, bool held);

/*
 * While a filter is copied, combined or sent, changes that move or remove keys wait. Between the
 * two calls the caller takes no other lock of the filter. End returns whether the filter stayed the
 * same. If not, the result is marked as torn, for kinds where that matters (torn.h).
 */
struct blm_quiesced {
	struct blm_view *view;
	uint64_t counted;
	bool locked, changes;
};
int blm_quiesce_begin(struct blm_quiesced *ret, const struct blm_filter *f, struct blm_view *view);
bool blm_quiesce_end(const struct blm_quiesced *quiesced);
/* The result of end(), for the data read so far. */
bool blm_quiesce_stands(const struct blm_quiesced *quiesced);

/*
 * 0, or a negative errno with a message: -ESTALE if the file of the handle was deleted, or another
 * file is at its path; -ENOENT if it was moved. Only other programs cause these: after a
 * replacement by our protocol the handle uses the new file.
 */
int blm_check_standing(const struct blm_filter *f);

/*
 * The descriptor of a view's file; a forked child opens the file again. -ESTALE: the file was
 * replaced since, and current_view() is another view now.
 */
int blm_view_fd(struct blm_filter *f, struct blm_view *view);

/*
 * As blm_sync(), but it also returns 0 if blocks have lost bits. *ret_seen, which the caller sets
 * to zero, has those blocks.
 */
struct blm_seen;
int blm_sync_seeing(struct blm_filter *f, struct blm_seen *ret_seen);

/* Does blm_sync_every() ask for syncs? */
static inline bool blm_syncs_by_itself(struct blm_filter *f)
{
	return atomic_load_explicit(&f->sync_keys, memory_order_relaxed)
		|| atomic_load_explicit(&f->sync_time, memory_order_relaxed);
}

/* Sync if it is time, after a change that added this number of keys. */
int blm_sync_if_time(struct blm_filter *f, uint64_t keys);

/* The same for every filter: most do not sync by themselves. */
static inline int blm_sync_if_due(struct blm_filter *f, uint64_t keys)
{
	return blm_syncs_by_itself(f) ? blm_sync_if_time(f, keys) : 0;
}

/* -EOPNOTSUPP, with the names of the kinds that can. */
int blm_cannot(const struct blm_view *view, const struct blm_filter *f, const char *what,
	       unsigned can);

/*
 * Lock the file that the handle's name leads to now, in the state that the holder of the lock
 * finds. blm_lock_out() locks a given file, whether the name leads to it or not. Then no other
 * process or thread replaces, drops or claims until blm_unlock_exclusive(). They fail with a
 * message.
 */
int blm_lock_current(struct blm_filter *f, struct blm_view **ret);
int blm_lock_out(struct blm_view *view, int fd);

#endif
