/*
 * view.h - one file of a filter, mapped, with its hasher and its parts
 *
 * A view is immutable after its creation, except for members whose comments name a writer. It knows
 * its file, but no stores, handles or callers. All code that reads or changes data uses it.
 */
#ifndef BLM_VIEW_H
#define BLM_VIEW_H

#include "file/mapping.h"
#include "file/new_file.h"
#include "file/ofd_lock.h"
#include "file/presence.h"
#include "file/sigbus.h"
#include "kind/common/split.h"
#include "kind/kind_registry.h"
#include "kind/single.h"
#include "place/place.h"

#include <stdatomic.h>

#define BLM_NEVER UINT64_MAX	/* no good file has this state word */

struct blm_view {
	/*
	 * For calls with one key, which also use the next cache line. contains is NULL for kinds
	 * whose number of parts changes. add is NULL if an add does more than setting bits, and if
	 * no key can be added: to a sealed file, another program's file, a file opened for reading.
	 */
	struct blm_one one;
	/*
	 * The state word at the last look-up of the name. While the file's word is equal, this view
	 * is current. Every change of state changes the word (the upper bits count), so one load
	 * and one comparison are enough. If the mapping may lag behind the file (image.unsure) this
	 * is BLM_NEVER, so that every call reads the file; then last_seen has the word, for the
	 * holder of `renewing`.
	 */
	_Atomic uint64_t seen_state;
	struct blm_image image;
	struct blm_view *older;
	/* when it was replaced (reclaim.h); written under the handle's `renewing` */
	uint64_t replaced;
	/* blm_data_map() callers that still use the data; written under the same lock */
	unsigned pins;
	/*
	 * How many exclusive owners (exclusive.c) the file had when the view was made. Set once, or
	 * by an owner. A change that a handle for writing began in this view may be lost if there
	 * was another owner since. So seen_state never gets a word with another number of owners,
	 * and the handle moves to a new view of the same file
	 */
	uint64_t owners;
	struct blm_constant constant;	/* as checked when the view was made */
	struct blm_hasher hasher;
	uint64_t seeds[BLM_SEEDS_MAX];	/* in this machine's order; the hasher's */
	/* keyed families: in memory outside of core dumps; otherwise NULL */
	uint8_t *secret;
	uint64_t hash_id;
	bool holes;			/* the data may have holes, which the system reports */
	/*
	 * the flags of blm_load() for this map; written under the handle's `renewing`
	 */
	unsigned load;
	_Atomic bool huge;		/* pages are read 2 MiB at a time */
	_Atomic uint64_t waits;		/* for such pages, as far as they were counted */
	struct blm_part part[BLM_PARTS_MAX];
	unsigned parts;
	struct blm_checkpoint_layout checkpoint;	/* of a file with BLM_FLAG_CHECKPOINT */
	/* the filter: its only part, or all parts as one; questions and changes use this */
	struct blm_part root;
	unsigned can;			/* BLM_CAN_...: blm_kind_can() of its kind */
	struct blm_lock lock;		/* BLM_LOCK_REPLACE of this file */
	struct blm_presence presence;	/* which threads use instead of sharing that lock */
	/* BLM_LOCK_SYNC of this file, among this handle's threads */
	pthread_mutex_t syncing;
	pthread_mutex_t writing;	/* the same for BLM_LOCK_WRITE */
	/*
	 * a thread has the lock exclusively: for callers that check without waiting; written by
	 * that thread
	 */
	_Atomic bool syncs, writes;
	pthread_mutex_t growing;	/* the same for BLM_LOCK_GROW */
	/*
	 * The epoch in which a write-back of this handle failed; 0: none since the last sync. Also
	 * in the file (struct blm_live, failed), but the system may drop that page, which it failed
	 * to write, and read it from the disk again
	 */
	_Atomic uint64_t failed;
	/*
	 * An older view of the file got a report of a failure when it was replaced: keys may be
	 * gone, and no caller knows. The next sync returns the error
	 */
	_Atomic bool untold;
	/*
	 * its file description holds BLM_LOCK_EXCLUSIVE (exclusive.c). Written under
	 * BLM_LOCK_REPLACE, or before any other thread has the view
	 */
	bool exclusive;
	uint64_t last_seen;
	/*
	 * another program's file with its bits in another order: the map is a copy in memory
	 */
	bool read_in;
	/*
	 * shows the state of the last sync instead of the data, which a power cut has mixed
	 * (checkpoint.h)
	 */
	bool shows_image;
	uint64_t synced_keys;		/* with shows_image: the count of the last sync */
	/* which part of a split filter it is, and the bytes of the data that it owns */
	struct blm_split split;
	/* each key is checked before a question or change: blm_check_owned() */
	bool checks_keys;
	/* a change by one key asks for space, and all else is as in one_key_call.c */
	bool grows;
	/* as many keys may come before such a change counts the keys again */
	_Atomic uint32_t uncounted;
	/*
	 * the catalog's numbers, if the file is older than the catalog. Epoch 0: it is not older;
	 * set when the view is made, 0 after a sync
	 */
	struct blm_told told;
	_Atomic bool named;		/* the disk has the name of this file */
	/* does it have an allowlist? Private to allowlist.c; 0: not looked up */
	_Atomic uint64_t asked;
};

/* Is it another program's file? Then its header is in memory only. */
static inline bool is_foreign(const struct blm_view *view)
{
	return (const uint8_t *)view->image.header != view->image.map;
}

/* The block records of a part of one of our own files, and its marks (file/layout.h). */
static inline struct blm_block_record *records_of(const struct blm_part *part)
{
	return (struct blm_block_record *)(part->bytes - blocksum_bytes(part->shape.bytes));
}

static inline uint8_t *marks_of(const struct blm_part *part)
{
	return (uint8_t *)(records_of(part) + blocks_of_part(part->shape.bytes));
}

static inline bool has_checkpoint(const struct blm_view *view)
{
	return le64toh(view->constant.flags) & BLM_FLAG_CHECKPOINT;
}

static inline struct blm_live *live_of(const struct blm_view *view)
{
	return &view->image.header->live;
}

/* Is this caller the only one that sees it? */
static inline void set_unshared(struct blm_view *view, bool unshared)
{
	for (unsigned i = 0; i < view->parts; i++)
		view->part[i].unshared = unshared;
	view->root.unshared = unshared;
}

/* Is one thread of one handle the only writer? Then changes need no lock. */
static inline bool is_exclusive(const struct blm_view *view)
{
	return view->exclusive && view->root.unshared;
}

static inline enum blm_state state_of(uint64_t word)
{
	return (enum blm_state)(word & 0xff);
}

/* The upper bits of the word count exclusive owners, the middle bits changes of state. */
enum { BLM_OWNERS_SHIFT = 40 };

static inline uint64_t owners_of(uint64_t word)
{
	return word >> BLM_OWNERS_SHIFT;
}

static inline bool has_new_owners(const struct blm_view *view)
{
	return owners_of(load_acquire(&live_of(view)->state.word)) != view->owners;
}

/* Sets another state; the caller holds BLM_LOCK_REPLACE exclusively. */
static inline void set_state(struct blm_view *view, enum blm_state state)
{
	uint64_t old = load_acquire(&live_of(view)->state.word);

	store_release(&live_of(view)->state.word, ((old >> 8) + 1) << 8 | state);
	full_fence();
}

/*
 * Makes a view of an open file; the view then owns fd. For keyed families, unlock it afterwards
 * with the secret.
 */
int blm_view_make(struct blm_view **ret, int fd, const char *display, bool write);
int blm_view_unlock(struct blm_view *view, const struct blm_place *place, const uint8_t *given);
void blm_view_free(struct blm_view *view);

/*
 * blm_hasher_set(): makes a hasher from template fields; `seeds` must outlive it. blm_hash_id_of():
 * a number that is equal for templates with equal hashes.
 */
int blm_hasher_set(struct blm_hasher *ret, uint64_t *seeds, const struct blm_template_fields *t,
		   const uint8_t *secret, const char *display);
uint64_t blm_hash_id_of(const struct blm_template_fields *t);
/* -EOPNOTSUPP, with a message, if wants_keys() */
int blm_cannot_hash(const struct blm_hasher *by, const char *display);

/* Do the keys of part i count? counts() of a composite kind; otherwise 1. */
static inline int blm_part_counts(const struct blm_view *view, unsigned i)
{
	return view->root.kind->counts ? view->root.kind->counts(&view->root, i) : 1;
}

/*
 * view.c makes the parts of a view, and view_hasher.c its hasher. validate.c makes the root from
 * the parts, and checks it against the template. All fail as blm_open() does.
 */
int blm_view_set_whole(struct blm_view *view, const struct blm_contents *contents,
		       const char *display);
int blm_view_check_template(const struct blm_view *view, const char *display);

/*
 * owned.c: files that are parts of a split filter. set_split() is for a constant page with
 * BLM_MUST_SPLIT, once the kind is known. owns(): does the file answer for this key? True if the
 * file is no part. The others fail with -EREMOTE and a message: check_owned() if a key belongs to
 * another part (the message does not name the file); check_whole() if the file is a part.
 */
int blm_view_set_split(struct blm_view *view, const char *display);
bool blm_view_owns(const struct blm_view *view, const struct blm_hash *hash);
int blm_check_owned(const struct blm_view *view, const struct blm_hash *hashes, size_t count);
int blm_check_whole(const struct blm_view *view, const char *display);
/*
 * The range of the i-th part that the file owns, as a part: the complete part, unless the filter is
 * split. It may have no bytes. Its cells are those whose keys belong to the file.
 */
struct blm_part blm_owned_part(const struct blm_view *view, unsigned i);

/* The end of the last part in the file. */
static inline uint64_t blm_view_end(const struct blm_view *view)
{
	uint64_t end = 0;

	for (unsigned i = 0; i < view->parts; i++) {
		uint64_t here = (uint64_t)(view->part[i].bytes - view->image.map)
			+ view->part[i].shape.bytes;

		end = here > end ? here : end;
	}
	return end;
}

/* Applies the flags of blm_load() to the map, as far as possible. */
int blm_view_load(struct blm_view *view, unsigned flags, const char *display);
void blm_view_choose_pages(struct blm_view *view, bool huge);

/*
 * Makes a view of another program's file, from the contents that a format has parsed. The view then
 * owns the image.
 */
int blm_view_make_foreign(struct blm_view **ret, struct blm_image *image,
			  const struct blm_contents *contents, const char *display);

/*
 * Replaces the constant page of a view that no other thread has, and computes its checksum, ids and
 * hasher again.
 */
int blm_view_set_constant(struct blm_view *view, const struct blm_constant *constant,
			  const char *display);

static inline bool has_all_parts(const struct blm_view *view)
{
	return load_acquire(&live_of(view)->parts.word) == view->parts;
}

static inline bool is_current(struct blm_view *view)
{
	return load_acquire(&live_of(view)->state.word)
		== atomic_load_explicit(&view->seen_state, memory_order_relaxed)
	    && has_all_parts(view);
}

/* Stores the state word at the look-up of the name (seen_state). */
static inline void set_seen(struct blm_view *view, uint64_t state)
{
	view->last_seen = state;
	atomic_store(&view->seen_state, view->image.unsure ? BLM_NEVER : state);
}

/*
 * The kind's own words for a copy of the view. Read them before the data: they then hold for data
 * that is read later.
 */
void blm_own_words(const struct blm_view *view, uint64_t ret[BLM_OWN]);

/* Is this the name in the file's own record? */
bool blm_says_name(const struct blm_view *view, const char *name);
/* Count `n` keys that changed the filter. */
void blm_count_keys(struct blm_view *view, uint64_t n);
uint64_t blm_counted_keys(const struct blm_view *view);

/* -EIO if pages of the view's file were missing (blm_survive_truncation()). */
int blm_fail_sigbus(const char *display);

static inline int blm_check_sigbus(const struct blm_view *view, const char *display)
{
	return blm_sigbus_hit(view->image.map) ? blm_fail_sigbus(display) : 0;
}

/* Fills the table entry of a part, except for its offset and its checksum. */
void blm_entry_of_part(struct blm_part_entry *ret, const struct blm_kind *kind, uint32_t role,
		       const struct blm_shape *shape);

/* same_template.c: do these combine? -EMEDIUMTYPE with the first field that differs. */
int blm_check_template(const struct blm_view *a, const char *shown_a, const struct blm_view *b,
		       const char *shown_b);
/* The same, but they may be different parts of a split filter. */
int blm_check_parameters(const struct blm_view *a, const char *shown_a, const struct blm_view *b,
			 const char *shown_b);

#endif
