/*
 * handle.h - a handle from the inside: what handle.c, keys.c, combine.c, estimate.c, info.c, replace.c and others share
 *
 * A handle has a view: one file, mapped, with its hasher and its parts, immutable once made. When the file turns out to have
 * been replaced, or to have grown, the thread that sees it makes a new view and swaps it in. Other threads may be in the middle of
 * a call on the old one, so it is freed at a later swap that finds nobody inside who entered before it was replaced (reclaim.h), or
 * when the handle is closed.
 */
#ifndef BLM_FILTER_H
#define BLM_FILTER_H

#include "file/mapping.h"
#include "file/ofd_lock.h"
#include "file/new_file.h"
#include "handle/reclaim.h"
#include "kind/kind.h"
#include "place/place.h"

#include <stdatomic.h>

#define BLM_NEVER UINT64_MAX	/* no good file has this state word */

struct blm_view {
	struct blm_view *older;
	uint64_t replaced;		/* the moment (reclaim.h); written under the handle's `renewing` */
	struct blm_image image;
	struct blm_constant constant;	/* as checked when the view was made */
	struct blm_hasher hasher;
	uint64_t seeds[BLM_SEEDS_MAX];	/* in this machine's order; the hasher's */
	uint8_t *secret;		/* keyed families: in memory that is not dumped; else NULL */
	uint64_t hash_id;
	bool holes;			/* the data may have holes, which the system can tell of */
	unsigned load;			/* the flags of blm_load() that it lies in memory by; written under the handle's `renewing` */
	_Atomic bool huge;		/* what comes into memory does so 2 MiB at a time */
	_Atomic uint64_t waits;		/* for that, as far as they were counted */
	struct blm_part part[BLM_PARTS_MAX];
	unsigned parts;
	struct blm_shadow_layout shadow;	/* of a file with BLM_FLAG_SHADOW */
	struct blm_part whole;		/* the filter: its only part, or what its parts are together; ask and change this */
	struct blm_lock lock;		/* BLM_LOCK_REPLACE of this file */
	pthread_mutex_t syncing;	/* BLM_LOCK_SYNC of this file, among this handle's threads */
	pthread_mutex_t writing;	/* BLM_LOCK_WRITE, likewise */
	_Atomic bool syncs, writes;	/* a thread has that lock exclusively: for those who want to know, and not to wait; written by who has it */
	pthread_mutex_t growing;	/* BLM_LOCK_GROW, likewise */
	/*
	 * The state word that the name was last looked up under. While the file's own is the same, this view is the filter;
	 * every change of state changes the word (the upper bits count), so one load and one compare tell. Where the map may be
	 * left behind by the file (image.unsure) this is BLM_NEVER, so that every call asks the file; then last_seen has it, for
	 * who holds `renewing`.
	 */
	_Atomic uint64_t seen_state;
	uint64_t last_seen;
	bool read_in;			/* another program's file, whose bits do not lie as ours do: what is mapped is a copy in memory */
	bool shows_image;		/* not the data, which a power cut left in disorder, but what the last sync found (checkpoint.h) */
	uint64_t synced_keys;		/* then the count, too, is that of the last sync */
	struct blm_told told;		/* where the file is older than the catalog: what that has. Its epoch 0: it is not; set when the view is made, 0 after a sync */
	_Atomic bool named;		/* that the name leads to this file is on the disk */
	_Atomic uint64_t asked;		/* has it a list of false positives? allowlist.c's; 0: that was not asked */
};

struct blm_carry;
struct blm_filter {
	_Atomic(struct blm_view *) view;
	struct blm_place place;
	bool write;
	bool lent;			/* its view is another's (blm_unborn_lend()), of a file that has no name yet */
	struct blm_carry *carry;	/* then: what takes note of the keys (allowlist_carry.h), or NULL */
	uint8_t *secret;		/* that the caller gave, in memory that is not dumped; or NULL: look beside the file */
	pthread_mutex_t renewing;	/* held by the thread that makes a new view */
	unsigned load;			/* blm_load()'s flags, for every view to come; under `renewing` */
	_Atomic int status;
	_Atomic unsigned lost_blocks;	/* for struct blm_info */
	/* blm_sync_every(): 0 is never. Times are CLOCK_MONOTONIC, in nanoseconds */
	_Atomic uint64_t sync_keys, sync_time, keys_since, synced_at;
	struct blm_filter *next, *previous;	/* all handles, for fork() */
};

/* Is it another program's file? Its header was then made here. */
static inline bool is_foreign(const struct blm_view *view)
{
	return (const uint8_t *)view->image.header != view->image.map;
}

/* The guard of a part of one of our own files (format.h): its records, its marks. */
static inline struct blm_block_record *records_of(const struct blm_part *part)
{
	return (struct blm_block_record *)(part->bytes - guard_bytes(part->shape.bytes));
}

static inline uint8_t *marks_of(const struct blm_part *part)
{
	return (uint8_t *)(records_of(part) + blocks_of_part(part->shape.bytes));
}

static inline struct blm_live *live_of(const struct blm_view *view)
{
	return &view->image.header->live;
}

/* Does nobody else see it yet? */
static inline void set_alone(struct blm_view *view, bool alone)
{
	for (unsigned i = 0; i < view->parts; i++)
		view->part[i].alone = alone;
	view->whole.alone = alone;
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

/*
 * Open what lies at `place`, which then belongs to the handle, or is cleared. how: what is known of it if it is of a foreign
 * format.
 */
int blm_filter_open(struct blm_filter **ret, struct blm_place *place, bool write, const uint8_t *secret, const struct blm_exchange *how);

/* A view of the file behind fd, which then belongs to it; for keyed families then unlock it. */
int blm_view_make(struct blm_view **ret, int fd, const char *shown, bool write);
int blm_view_unlock(struct blm_view *view, const struct blm_place *place, const uint8_t *given);
void blm_view_free(struct blm_view *view);

/* A hasher from template fields, and seeds[] for it to point to; what its hashes depend on, as a number. */
int blm_hasher_set(struct blm_hasher *ret, uint64_t *seeds, const struct blm_template_fields *t, const uint8_t *secret, const char *shown);
uint64_t blm_hash_id_of(const struct blm_template_fields *t);
int blm_cannot_hash(const struct blm_hasher *by, const char *shown);	/* -EOPNOTSUPP, with words: where wants_keys() */

/* What a part of it says of its keys: as counts() of a composite kind; else 1. */
static inline int blm_part_counts(const struct blm_view *view, unsigned i)
{
	return view->whole.kind->counts ? view->whole.kind->counts(&view->whole, i) : 1;
}

/*
 * view.c makes the parts of a view, view_hasher.c its hasher; validate.c the hasher's rule and what the parts are together, and checks it against the
 * template. All fail as blm_open() does. *ret_err is written where the kind is not known.
 */
const struct blm_kind *blm_view_kind(uint32_t id, const char *shown, int *ret_err);
int blm_view_set_whole(struct blm_view *view, const struct blm_contents *contents, const char *shown);
int blm_view_check_template(const struct blm_view *view, const char *shown);
int blm_hasher_set_scheme(struct blm_hasher *by, const struct blm_template_fields *t, const char *shown);

/* Where the last of its parts ends in the file. */
uint64_t blm_view_end(const struct blm_view *view);

/* How the view lies in memory: as blm_load() says, as far as it goes. */
int blm_view_load(struct blm_view *view, unsigned flags, const char *shown);
void blm_view_choose_pages(struct blm_view *view, bool huge);

/* A view of another program's file: contents are what its header comes to. The image then belongs to it. */
int blm_view_make_foreign(struct blm_view **ret, struct blm_image *image, const struct blm_contents *contents, const char *shown);

/* Give a view, which nobody else has, another constant page: its checksum and ids are made, its hasher is made anew. */
int blm_view_set_constant(struct blm_view *view, const struct blm_constant *constant, const char *shown);

/* What lies at the handle's place, unlocked; and a better view than this one, or this one. */
int blm_view_open(struct blm_view **ret, struct blm_filter *f);
struct blm_view *blm_view_renew(const struct blm_filter *f, struct blm_view *view);

static inline bool has_all_parts(const struct blm_view *view)
{
	return load_acquire(&live_of(view)->parts.word) == view->parts;
}

static inline bool is_current(struct blm_view *view)
{
	return load_acquire(&live_of(view)->state.word) == atomic_load_explicit(&view->seen_state, memory_order_relaxed)
	    && has_all_parts(view);
}

/* The view to work on: the handle's, unless the file says that it was replaced or grew. Never fails: see blm_status(). */
static inline struct blm_view *current_view(const struct blm_filter *f)
{
	struct blm_view *view = atomic_load_explicit(&((struct blm_filter *)f)->view, memory_order_acquire);

	return __builtin_expect(is_current(view), true) ? view : blm_view_renew(f, view);
}

/*
 * Operations on several filters take effect at one moment: the views of the filters that they read are all current at that moment. A view
 * that was resolved before a lock of another filter was waited for may be of a file that was replaced meanwhile. Then keys whose adds have
 * returned are missing in the result. So an operation that changes a filter resolves the others after it holds that one.
 */

/* -EBUSY where they are replaced again and again; the error of a filter that does not open any more. A dropped one is what it last was. */
int blm_views_at_once(const struct blm_view **ret, const struct blm_filter *const *from, size_t count);
int blm_view_stays(const struct blm_filter *f, const struct blm_view *view);	/* 0: it is current; -EAGAIN: not any more */

enum { BLM_TRIES = 1000 };	/* each fails only if a replacement ends within some microseconds */
int blm_keep_moving(const struct blm_filter *f);	/* -EBUSY, with words, after that many */

/*
 * A change to a filter that others may replace at any moment: between begin and end, change view's data; if end() says
 * -EAGAIN, the change may be lost with the old file, so do it again from begin(). begin() fails as blm_may_change() does: with -EBADF for
 * a read-only handle, -ESTALE for a dropped filter, as opening does where what it became does not open.
 */
int blm_may_change(const struct blm_filter *f);
int blm_change_begin(struct blm_filter *f, struct blm_view **ret);
int blm_change_end(struct blm_filter *f, struct blm_view *view);

/* The same, holding off replacements from begin to end, so that end never says "again". */
int blm_change_begin_held(struct blm_filter *f, struct blm_view **ret);
void blm_change_end_held(struct blm_filter *f, struct blm_view *view);

/*
 * By the one that fits the kind: a change that sets bits may be done twice, so it holds off nobody; any other is done once. *ret_held is
 * for end, which says "again" only of the first sort. It is for changes that bring keys which nobody can name: all go off the list (allowlist.h).
 */
int blm_change_begin_as_kind(struct blm_filter *f, struct blm_view **ret, bool *ret_held);
int blm_change_end_unnamed(struct blm_filter *f, struct blm_view *view, bool held);

/*
 * BLM_LOCK_WRITE: for kinds with lone_writer the two begin() take it, exclusively, and the two end() give it back; a change that is not
 * idempotent must not be done again, so for them begin() holds replacements off, too. It is also taken to remove from a kind with
 * lone_remover, where others are united with one that minds cuts, and where an epoch of that begins or is announced. Who reads such a
 * filter whole takes it shared (blm_still_begin()), which a read-only handle can. Who takes it of several files does so in the order of
 * their device and inode numbers.
 */
int blm_lock_writing(struct blm_filter *f, struct blm_view *view, bool exclusive);
void blm_unlock_writing(struct blm_view *view);

/* BLM_LOCK_SYNC. The descriptor is there (blm_view_fd()). */
int blm_lock_syncing(struct blm_view *view);
void blm_unlock_syncing(struct blm_view *view);

/*
 * While a filter is read whole, to be copied, joined or sent: what moves keys or takes them away is held off. Between the two the
 * caller takes no other lock of it. End: was it the same all the while? If not, a kind that minds cuts is torn in what was made of it.
 */
struct blm_still {
	struct blm_view *view;
	uint64_t counted;
	bool locked, changes;
};
int blm_still_begin(struct blm_still *ret, const struct blm_filter *f, struct blm_view *view);
bool blm_still_end(const struct blm_still *still);

/* The kind's own words, as what is made of the view has them. Before its data: what they say of that is true of what is read later. */
void blm_own_words(const struct blm_view *view, uint64_t ret[BLM_OWN]);

/* Is this the name in the file's own record? */
bool blm_says_name(const struct blm_view *view, const char *name);
/* Raise `written` to the current epoch (format.h has the protocol). */
void blm_mark_written(struct blm_live *live);

/* -EIO where pages of the view's file were missing (blm_survive_truncation()). */
int blm_check_struck(const struct blm_filter *f, const struct blm_view *view);

/*
 * 0, or a negative errno with words: -ESTALE where the file of the handle was deleted, or another one stands at its path; -ENOENT where it
 * was moved. By others than us: a handle goes over to what replaces its file by our protocol.
 */
int blm_check_standing(const struct blm_filter *f);

/* The descriptor of a view's file, opened anew in a forked child; -ESTALE: replaced since, current_view() is another now. */
int blm_view_fd(struct blm_filter *f, struct blm_view *view);

/*
 * Write back some of the map; from NULL: all of the file, and its length. The caller holds BLM_LOCK_SYNC. If that fails, here or as the
 * first to be told of a failure long ago, all pages are suspect (struct blm_live, failed). 0 or a negative errno, without words.
 */
int blm_flush(struct blm_view *view, void *from, uint64_t bytes);
/* ... of a part of the map, for who is syncing: others may announce an epoch meanwhile, and be told in our place of what failed. */
int blm_flush_among_others(struct blm_filter *f, struct blm_view *view, void *from, uint64_t bytes);
/* ... where the caller itself sees to it that a failure is noted. */
int blm_write_back(void *from, uint64_t bytes);

/*
 * May the system hold a page for clean that it did not write? The first asks the words of flushes under BLM_LOCK_SYNC, those of syncs among
 * them, the second that of flushes that announce an epoch, under BLM_LOCK_WRITE. Both are true during each such flush as well: who only
 * wants to know asks whether somebody else has that lock. synced_epoch: of the last sync record.
 */
bool blm_is_unwritten(const struct blm_live *live, uint64_t synced_epoch);
bool blm_is_unannounced(const struct blm_live *live);

/* Is it known that one that announced failed, or was killed, whoever is at work now? Then `announcing` is this: this boot's number, made even. */
bool blm_failed_to_announce(const struct blm_live *live);
uint64_t blm_failed_number(void);

/* blm_sync(), which returns 0 also where blocks have lost bits: those are in *ret_seen, which the caller makes zero. */
struct blm_seen;
int blm_sync_seeing(struct blm_filter *f, struct blm_seen *ret_seen);

/* Sync if it is time, after a change that added so many keys. */
int blm_sync_if_due(struct blm_filter *f, uint64_t keys);

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
	const struct blm_kind *of;	/* the filter's kind, and its shape; of a kind that is not composite those of its one part */
	struct blm_shape whole;
	struct blm_shape shape[BLM_PARTS_MAX];
	const struct blm_kind *kind[BLM_PARTS_MAX];	/* of each part */
	uint32_t role[BLM_PARTS_MAX];
	unsigned parts;
	uint64_t capacity;
	double rate;
	bool sparse, sealed, no_shadow;
	uint32_t origin, origin_bytes;	/* as in struct blm_constant */
	uint8_t origin_head[BLM_ORIGIN_BYTES];
	unsigned mode;
	const uint8_t *secret;		/* of a keyed family */
};

/* The making of an empty filter with these parameters, as blm_create() checks them; secret: room for BLM_SECRET_BYTES, not dumped. */
int blm_making_from(struct blm_making *ret, const struct blm_params *params, uint8_t *secret);
/*
 * The same where the number of keys is not known yet: what was chosen is kept, sizes come again when choice->params.capacity says how many
 * there are, and then from the keys themselves. What params point to is not looked at again.
 */
struct blm_choice {
	const struct blm_kind *kind;
	const struct blm_family *family;
	const struct blm_rule *rule;
	const struct blm_format *format;	/* of another program, for which it is planned; NULL: none */
	struct blm_params params;	/* as that program would have them */
	uint64_t seeds[BLM_SEEDS_MAX];	/* that the format says, to which those then lead */
	uint64_t args[BLM_KIND_ARGS];	/* of its options, as they were given */
};
int blm_making_choose(struct blm_making *ret, struct blm_choice *ret_choice, const struct blm_params *params, uint8_t *secret);
int blm_making_size(struct blm_making *making, const struct blm_choice *choice);
int blm_making_fit(struct blm_making *making, const struct blm_sorted *keys);
/* -EOPNOTSUPP, with words, for a kind of which there are no empty filters. */
int blm_check_empty(const struct blm_kind *kind, const char *shown);
/* -ENOSYS, with words, for a kind that must notice power cuts, of which an unsealed file is to be here, where the system tells no boot. */
int blm_check_boot(const struct blm_kind *kind, bool sealed, const struct blm_place *place);
int blm_know_boot_at(const struct blm_place *place);	/* as blm_know_boot() does, with words */
/* The making of a filter like this one: with all its parts, for a copy; with those of a new one. */
void blm_making_like(struct blm_making *ret, const struct blm_view *view);
void blm_making_anew(struct blm_making *ret, const struct blm_view *view);
/* ... and of one with these contents; parts of a kind that is not known are refused later, with words. */
void blm_making_of(struct blm_making *ret, const struct blm_contents *contents);

/* The entry of a part in the table, but for its place and its checksum. */
void blm_entry_of_part(struct blm_part_entry *ret, const struct blm_kind *kind, uint32_t role, const struct blm_shape *shape);

/*
 * A new file in the folder of `place`, mapped as a view whose parts are `alone` and zero, not yet visible to anybody. Fill
 * it, then publish or end it.
 */
struct blm_unborn {
	struct blm_new_file file;
	struct blm_view *view;
	bool secret_is_kept;	/* it is where the caller wants it: publish does not write it */
};
int blm_unborn_make(struct blm_unborn *ret, const struct blm_place *place, const struct blm_making *making);
/*
 * Sync and name it. over: the filter in whose place it comes (catalog.h); -ENOENT if the name leads to another by now. NULL: of
 * none; -EEXIST if the name is taken. On failure end it.
 */
int blm_unborn_publish(struct blm_unborn *unborn, const struct blm_place *place, const struct blm_yielding *over);
void blm_unborn_end(struct blm_unborn *unborn);

/* A handle on what is not published yet, for one function to fill it; end it before unborn. */
int blm_unborn_lend(struct blm_filter **ret, struct blm_unborn *unborn, const struct blm_place *place);
void blm_unborn_take_back(struct blm_unborn *unborn, struct blm_filter *lent);
/* Another view of what is lent, which has grown. */
int blm_unborn_again(struct blm_view **ret, const struct blm_filter *lent);

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
 * fill() gets the old view, which nobody can add to unnoticed while it runs. secret: of what lies there, if it is keyed; NULL: look
 * where it lies. making NULL: like the old one, and its secret is then left where it is. carry: what keys it was given (allowlist_carry.h).
 */
int blm_replace(const struct blm_place *place, const uint8_t *secret, const struct blm_making *making, const struct blm_carry *carry,
		int (*fill)(struct blm_view *view, const struct blm_view *old, void *context), void *context);
/* ... made like the old one, but for what change() does to that under the lock. */
int blm_replace_changed(const struct blm_place *place, const uint8_t *secret, const struct blm_carry *carry,
			int (*change)(struct blm_making *making, const struct blm_view *old, void *context),
			int (*fill)(struct blm_view *view, const struct blm_view *old, void *context), void *context);
/* ... by what was made before; on failure end that. */
int blm_replace_by(const struct blm_place *place, struct blm_unborn *made, const struct blm_carry *carry);

#endif
