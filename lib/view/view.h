/*
 * view.h - one file of a filter, mapped, with its hasher and its parts
 *
 * A view is immutable once it is made, but for the words that say so. It knows its file, and
 * nothing of stores, handles or callers. Used by all that reads or changes data.
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
	 * For calls with one key, and the next line is for them, too. contains: NULL also for kinds
	 * whose number of parts changes. add: NULL where an add is more than to set bits, and where
	 * no key can be added: a sealed file, another program's, one opened for reading.
	 */
	struct blm_one one;
	/*
	 * The state word that the name was last looked up under. While the file's own is the same,
	 * this view is the filter; every change of state changes the word (the upper bits count),
	 * so one load and one compare tell. Where the map may be left behind by the file
	 * (image.unsure) this is BLM_NEVER, so that every call asks the file; then last_seen has
	 * it, for who holds `renewing`.
	 */
	_Atomic uint64_t seen_state;
	struct blm_image image;
	struct blm_view *older;
	/* the moment (reclaim.h); written under the handle's `renewing` */
	uint64_t replaced;
	/* callers that have its data by blm_data_map(), so it stays; under the same lock */
	unsigned pins;
	/*
	 * How many exclusive owners (exclusive.c) the file had when the view was made. Set once, or
	 * by an owner. A change by a handle for writing that began in this view may be lost if
	 * another owner came since. So seen_state never becomes a word of another number, and the
	 * handle goes over to a new view of the same file
	 */
	uint64_t owners;
	struct blm_constant constant;	/* as checked when the view was made */
	struct blm_hasher hasher;
	uint64_t seeds[BLM_SEEDS_MAX];	/* in this machine's order; the hasher's */
	/* keyed families: in memory that is not dumped; else NULL */
	uint8_t *secret;
	uint64_t hash_id;
	bool holes;			/* the data may have holes, which the system reports */
	/*
	 * the flags of blm_load() that it is mapped by; written under the handle's `renewing`
	 */
	unsigned load;
	_Atomic bool huge;		/* pages are read 2 MiB at a time */
	_Atomic uint64_t waits;		/* for that, as far as they were counted */
	struct blm_part part[BLM_PARTS_MAX];
	unsigned parts;
	struct blm_checkpoint_layout checkpoint;	/* of a file with BLM_FLAG_CHECKPOINT */
	/* the filter: its only part, or what its parts are together; ask and change this */
	struct blm_part root;
	unsigned can;			/* BLM_CAN_...: what blm_kind_can() says of its kind */
	struct blm_lock lock;		/* BLM_LOCK_REPLACE of this file */
	struct blm_presence presence;	/* what threads do instead of sharing that lock */
	/* BLM_LOCK_SYNC of this file, among this handle's threads */
	pthread_mutex_t syncing;
	pthread_mutex_t writing;	/* BLM_LOCK_WRITE, the same */
	/*
	 * a thread has that lock exclusively: for callers that look and do not wait; written by
	 * that thread
	 */
	_Atomic bool syncs, writes;
	pthread_mutex_t growing;	/* BLM_LOCK_GROW, the same */
	/*
	 * its description holds BLM_LOCK_EXCLUSIVE (exclusive.c). Written under BLM_LOCK_REPLACE,
	 * or before any other thread has the view
	 */
	bool exclusive;
	uint64_t last_seen;
	/*
	 * another program's file with its bits in another order: the map is a copy in memory
	 */
	bool read_in;
	/*
	 * not the data, which a power cut left in disorder, but what the last sync found
	 * (checkpoint.h)
	 */
	bool shows_image;
	uint64_t synced_keys;		/* then the count, too, is that of the last sync */
	/* which part of a split filter it is, and the bytes of the data that it owns */
	struct blm_split split;
	/* each key is looked at before it is asked for: blm_check_owned() */
	bool checks_keys;
	/*
	 * where the file is older than the catalog: what that has. Its epoch 0: it is not; set when
	 * the view is made, 0 after a sync
	 */
	struct blm_told told;
	_Atomic bool named;		/* that the name leads to this file is on the disk */
	/* has it a list of false positives? allowlist.c's; 0: that was not asked */
	_Atomic uint64_t asked;
};

/* Is it another program's file? Its header was then made here. */
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

/* Does one thread at a time change it, of one handle? Then it needs no lock for that. */
static inline bool is_exclusive(const struct blm_view *view)
{
	return view->exclusive && view->root.unshared;
}

static inline enum blm_state state_of(uint64_t word)
{
	return (enum blm_state)(word & 0xff);
}

/* The upper bits of the word count exclusive owners, the ones between every change of state. */
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

/* A view of the file behind fd, which then belongs to it; for keyed families then unlock it. */
int blm_view_make(struct blm_view **ret, int fd, const char *display, bool write);
int blm_view_unlock(struct blm_view *view, const struct blm_place *place, const uint8_t *given);
void blm_view_free(struct blm_view *view);

/*
 * A hasher from template fields, and seeds[] for it to point to; what its hashes depend on, as a
 * number.
 */
int blm_hasher_set(struct blm_hasher *ret, uint64_t *seeds, const struct blm_template_fields *t,
		   const uint8_t *secret, const char *display);
uint64_t blm_hash_id_of(const struct blm_template_fields *t);
/* -EOPNOTSUPP, with words: where wants_keys() */
int blm_cannot_hash(const struct blm_hasher *by, const char *display);

/* What a part of it says of its keys: as counts() of a composite kind; else 1. */
static inline int blm_part_counts(const struct blm_view *view, unsigned i)
{
	return view->root.kind->counts ? view->root.kind->counts(&view->root, i) : 1;
}

/*
 * view.c makes the parts of a view, and view_hasher.c its hasher. validate.c finds what the parts
 * are together, and checks it against the template. All fail as blm_open() does.
 */
int blm_view_set_whole(struct blm_view *view, const struct blm_contents *contents,
		       const char *display);
int blm_view_check_template(const struct blm_view *view, const char *display);

/*
 * owned.c: files that are parts of a split filter. set_split() is for a constant page with
 * BLM_MUST_SPLIT, once the kind is known. owns(): does the file answer for this key? True if the
 * file is no part. The others fail with -EREMOTE and words: check_owned() if a key belongs to
 * another part, in words that do not name the file; check_whole() if the file is a part.
 */
int blm_view_set_split(struct blm_view *view, const char *display);
bool blm_view_owns(const struct blm_view *view, const struct blm_hash *hash);
int blm_check_owned(const struct blm_view *view, const struct blm_hash *hashes, size_t count);
int blm_check_whole(const struct blm_view *view, const char *display);
/*
 * The range of the i-th part of the data that the file owns, as a part: all of it, if the file is
 * no part. It may have no bytes. Its cells are those whose keys belong to it.
 */
struct blm_part blm_owned_part(const struct blm_view *view, unsigned i);

/* Where the last of its parts ends in the file. */
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

/* How the view is mapped: as blm_load() says, as far as possible. */
int blm_view_load(struct blm_view *view, unsigned flags, const char *display);
void blm_view_choose_pages(struct blm_view *view, bool huge);

/*
 * A view of another program's file: contents are what its header comes to. The image then belongs
 * to it.
 */
int blm_view_make_foreign(struct blm_view **ret, struct blm_image *image,
			  const struct blm_contents *contents, const char *display);

/*
 * Gives a view that no other thread has another constant page: its checksum, its ids and its hasher
 * are made anew.
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

/* The state word that the name was looked up under (seen_state). */
static inline void set_seen(struct blm_view *view, uint64_t state)
{
	view->last_seen = state;
	atomic_store(&view->seen_state, view->image.unsure ? BLM_NEVER : state);
}

/*
 * The kind's own words, as what is made of the view has them. Before its data: what they say of
 * that is true of what is read later.
 */
void blm_own_words(const struct blm_view *view, uint64_t ret[BLM_OWN]);

/* Is this the name in the file's own record? */
bool blm_says_name(const struct blm_view *view, const char *name);
/* Count `n` keys that changed the filter. */
void blm_count_keys(struct blm_view *view, uint64_t n);
uint64_t blm_counted_keys(const struct blm_view *view);

/* -EIO where pages of the view's file were missing (blm_survive_truncation()). */
int blm_fail_sigbus(const char *display);

static inline int blm_check_sigbus(const struct blm_view *view, const char *display)
{
	return blm_sigbus_hit(view->image.map) ? blm_fail_sigbus(display) : 0;
}

/* The entry of a part in the table, but for its place and its checksum. */
void blm_entry_of_part(struct blm_part_entry *ret, const struct blm_kind *kind, uint32_t role,
		       const struct blm_shape *shape);

/* same_template.c: do these combine? -EMEDIUMTYPE with the first field that differs. */
int blm_check_template(const struct blm_view *a, const char *shown_a, const struct blm_view *b,
		       const char *shown_b);
/* The same, but they may be different parts of a split filter. */
int blm_check_parameters(const struct blm_view *a, const char *shown_a, const struct blm_view *b,
			 const char *shown_b);

#endif
