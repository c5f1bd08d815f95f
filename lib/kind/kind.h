/*
 * kind.h - what a kind of filter is
 *
 * One file in this folder a kind. A kind is a constant struct of functions over a part: its shape
 * (numbers from the header, checked and copied) and its bytes in the map. A kind never opens, maps,
 * locks or hashes; its caller has done that.
 *
 * A function left NULL is something the kind cannot do. Nothing else says so: blm_kind_can() reads
 * the pointers, so what a kind claims and what it does cannot drift apart.
 *
 * Choose your base. Nearly every kind begins with one of these headers, and says for itself only
 * where its cells are and what they mean:
 *
 *   common/bits.h          cells are bits that are only ever set: classic, blocked, split-block,
 *                          bitmap. Protocol BLM_SETS_BITS. Setting, uniting, intersecting and
 *                          counting are there.
 *   common/packed_cells.h  cells are numbers of a few bits, each changed by one compare-and-swap of
 *                          its word: counting, stable, approximator.
 *   common/relocation.h    cells hold fingerprints that move to make room: cuckoo, redis-cuckoo.
 *                          One writer at a time; readers look again when something moved.
 *   common/shards.h        built from all keys at once, from sorted hashes (sorted_keys.h), in
 *                          shards that threads build side by side: ribbon and what follows.
 *   common/fuse_table.h    such a kind whose cells are XORed: fuse, bloomier.
 *   common/composite.h     made of parts that are filters of other kinds: scalable, removable,
 *                          window, attenuated. Planning a part and asking all of them are there.
 *
 * Then choose the protocol (enum blm_protocol below), the options if it has any (options.h), and
 * the sizes (sizing.h has the field's formulas). These make it faster, and come last:
 *
 *   common/probe_rounds.h  asks many keys round by round, each round's memory at once.
 *   common/partition.h     fills a new filter in the order of its memory.
 *   common/swar.h          compares all cells of a word at once.
 *
 * The laws of tests/kind/ hold for every kind that is registered (kind_registry.c), by what it can
 * do: nothing is to be written for a new one there, but for what it alone promises.
 *
 * Concurrency: unless a comment says otherwise a function may run at the same time as any other on
 * the same bytes, in any thread of any process, and any process may die in the middle of it.
 */
#ifndef BLM_KIND_H
#define BLM_KIND_H

#include "base/base.h"
#include "bloomery.h"
#include "hash/hasher.h"
#include "hash/scheme.h"
#include "kind/common/sorted_keys.h"
#include "simd/simd.h"

enum { BLM_KIND_ARGS = 8 };

/*
 * What a filter is made as, unless its maker says; and where the numbers of bits and probes, or an
 * old hash, are given.
 */
#define BLM_DEFAULT_KIND "blocked"
#define BLM_DEFAULT_HASH "xxh3"
#define BLM_EXACT_KIND "classic"

/* Sizes, as in the header. What a cell and a probe are is each kind's to say. */
struct blm_shape {
	uint64_t cells;
	uint64_t bytes;			/* of data: a multiple of 64 */
	uint32_t probes;
	uint32_t cell_bits;
	uint64_t capacity;
	double rate;
	uint64_t args[BLM_KIND_ARGS];	/* the kind's own; else 0 */
};

struct blm_part {
	const struct blm_kind *kind;
	const struct blm_simd *simd;
	/* in the map, aligned to 64; writable only where the filter was opened so */
	uint8_t *bytes;
	/* the filter's own words, see own_word(); NULL: another program's file */
	uint64_t *own;
	/*
	 * one for each 64 KiB of bytes: set when that changed (format.h, guards); NULL: nobody
	 * wants to know
	 */
	uint8_t *marks;
	struct blm_shape shape;
	/* as the hasher's: cell c is bit c ^ flip; 0 but for kinds with every_scheme */
	uint64_t flip;
	/* what a composite kind is made of; its own bytes are none */
	struct blm_part *sub;
	unsigned subs;
	/* no other thread sees these bytes yet: changes need not be atomic */
	bool alone;
	/* the own word `cut` is to be, but this view cannot write it */
	bool cut;
};

/*
 * Words of the file that are the kind's, for what is neither data nor a parameter: which slot is
 * the newest, how often something was moved. Each has a cache line to itself; 0 in a new filter.
 * Copies of a filter have them too. Each kind says which process writes them, and how.
 */
enum { BLM_OWN_WORDS = 8 };

/*
 * One of them is used alike by the kinds of BLM_SERIAL_REMOVALS and BLM_SINGLE_WRITER_CHECKPOINT:
 *   cut        not 0: a power cut came between changes and their sync, so the data may be of pages
 *              of different times. Set by whoever opens such a file for writing, under the sync
 *              lock, before the first change; never taken away. Copies and unions of filters that
 *              have it have it too, and those of filters that were changed while they were read.
 *              And whoever unites others into a filter has set it meanwhile, under the writers'
 *              lock, exclusively: he alone takes it away, when all is there.
 */
enum { BLM_OWN_CUT = 6 };

static inline uint64_t *own_word(const struct blm_part *part, unsigned i)
{
	return part->own + 8 * i;
}

/* Was it cut? */
static inline bool is_cut(const struct blm_part *part)
{
	return part->cut || (part->own && load_acquire(own_word(part, BLM_OWN_CUT)));
}

enum { BLM_MARKED_SHIFT = 16 };	/* the bytes of a mark, as a power of 2 */

/* Say that the data at `at` changed, after it did. */
static inline void mark(const struct blm_part *part, const void *at)
{
	if (part->marks) {
		uint8_t *m = &part->marks[(uint64_t)((const uint8_t *)at - part->bytes)
					  >> BLM_MARKED_SHIFT];

		if (!__atomic_load_n(m, __ATOMIC_RELAXED))
			__atomic_store_n(m, 1, __ATOMIC_RELAXED);
	}
}

/* ... of all bytes there; at least one. */
static inline void mark_range(const struct blm_part *part, const void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += (size_t)1 << BLM_MARKED_SHIFT)
		mark(part, (const uint8_t *)at + i);
	mark(part, (const uint8_t *)at + bytes - 1);
}

/* What a part of a composite kind is. */
struct blm_component {
	const struct blm_kind *kind;
	uint32_t role;			/* in the part table; the composite kind's own */
	struct blm_shape shape;
};

/* What a pass over (some of) the data counted. Kinds add to it; zero it first. */
struct blm_tally {
	uint64_t bytes;			/* read */
	uint64_t ones;			/* cells that are set: not 0 */
	/* of blocked kinds: blocks[i]: how many blocks have i ones of 512 */
	uint64_t blocks[513];
	/* of split blocks: the sum, over them, of the product of their lanes' ones */
	unsigned __int128 lanes;
	/*
	 * The differences between the cells of two filters with counters: their sum, and the sum of
	 * their squares.
	 */
	double sum, squares;
};

/*
 * An option of a kind, other than its sizes. The value of the i-th option is args[i] of the shape,
 * so it is a part of the template.
 */
enum blm_option_form {
	BLM_OPTION_COUNT,		/* a whole number */
	/* a number with a fraction; its argument holds the bits of the double */
	BLM_OPTION_SHARE,
	/* a time; its argument is in nanoseconds, all else in seconds */
	BLM_OPTION_SPAN,
	/* one of `names`; its argument is the number of it, from 0 to `most` */
	BLM_OPTION_NAME,
};

struct blm_option {
	const char *name, *summary;
	enum blm_option_form form;
	double least, most, usual;
	const char *const *names;
	/* 0 is whatever the rate and the other options ask: where these change it is found anew */
	bool by_rate;
};

/* The input of a merge: parts of one template, keys that come in, and keys that go; NULL: none. */
struct blm_merging {
	const struct blm_part *const *from;
	size_t count;
	const struct blm_sorted *add, *remove;
};

/*
 * How processes that change one filter at the same time keep out of each other's way, and what a
 * power cut leaves. Questions take no lock in any of them.
 */
enum blm_protocol {
	/*
	 * Each change is one atomic operation on one word, of its own right; or the kind is built
	 * from all its keys at once, and nothing changes.
	 */
	BLM_ATOMIC_WORDS,
	/*
	 * Data are bits that go only from 0 to 1, by atomic OR: pages of different times lack keys
	 * at most, and more ones are never damage. Adding a key twice is adding it once.
	 */
	BLM_SETS_BITS,
	/* Other data. Adding a key twice is adding it once, as above. */
	BLM_IDEMPOTENT_ADDS,
	/*
	 * add() copes with everything. remove() and claim() look at several words and then change
	 * them: they hold BLM_LOCK_WRITE, exclusively. Pages of different times are worse than keys
	 * lost, so BLM_OWN_CUT says whether there may be some.
	 */
	BLM_SERIAL_REMOVALS,
	/* Changes are not atomic: the caller holds BLM_LOCK_WRITE around them, exclusively. */
	BLM_SINGLE_WRITER,
	/*
	 * So it is here. And a file with some pages of now and some of then may lack keys that are
	 * in both, so it has an image of the data as the last sync found them (checkpoint.c). Its
	 * own words say nothing that is needed after a power cut, and changes are marked before
	 * they are made.
	 */
	BLM_SINGLE_WRITER_CHECKPOINT,
};

struct blm_kind {
	uint32_t id;			/* in the file; never reused */
	const char *name;		/* in the catalog and on the command line */
	const char *summary;		/* one line, for `bloomery kinds` */
	/* what one must know before relying on it, in one line; NULL: nothing */
	const char *caveat;
	/* the hash that it takes unless its maker says; NULL: BLM_DEFAULT_HASH */
	const char *family;
	/* at most BLM_KIND_ARGS, the last one without a name; NULL: none */
	const struct blm_option *options;
	enum blm_protocol protocol;

	/* ---- Every kind ---- */

	/*
	 * Sizes for these parameters, all of which are in range; fails with words. ret->args are
	 * the options' values already.
	 */
	int (*plan)(struct blm_shape *ret, const struct blm_params *params);
	/* Untrusted numbers: could plan() have made them? */
	bool (*valid)(const struct blm_shape *shape);
	bool (*contains)(const struct blm_part *part, const struct blm_hashed *key);
	/* The false-positive rate with `keys` keys in it. */
	double (*rate_at)(const struct blm_shape *shape, uint64_t keys);
	/* The same where the rate also depends on what the keys are; NULL: it does not. */
	double (*rate_in)(const struct blm_part *part, uint64_t keys);

	/*
	 * ---- Kinds that take keys one by one. Return 1: changed; 0: held it already; or a
	 * negative errno ----
	 */
	int (*add)(struct blm_part *part, const struct blm_hashed *key);
	/* 0: contains() denies it, so nothing is changed. */
	int (*remove)(struct blm_part *part, const struct blm_hashed *key);
	/* Add, and tell exactly one of all who race whether it was the first. */
	int (*claim)(struct blm_part *part, const struct blm_hashed *key);
	/*
	 * Undo or finish what a writer that died was doing: called before each change of a kind
	 * that has one writer at a time.
	 */
	void (*settle)(struct blm_part *part);

	/*
	 * ---- Kinds that are made from all their keys at once (sorted_keys.h) ----
	 * plan() gets the number of distinct keys as the capacity. fit(): where the bytes of data
	 * depend on the keys themselves, what they come to; NULL: plan() knew. build(): into a part
	 * that is all zeros and alone; fails with words, for want of memory and when reading fails
	 * only.
	 */
	int (*fit)(struct blm_shape *shape, const struct blm_sorted *keys);
	int (*build)(struct blm_part *part, const struct blm_sorted *keys);
	/*
	 * Are keys that come twice in it twice? By its arguments. NULL: no. Then the hashes that
	 * build() gets may come more than once.
	 */
	bool (*counts_keys)(const uint64_t args[BLM_KIND_ARGS]);
	/*
	 * For kinds that are also told which keys are not in it, keys->others: their number, for
	 * plan(). Then fit() and build() are called once each, with the same keys.
	 */
	void (*count_others)(uint64_t args[BLM_KIND_ARGS], uint64_t others);
	/*
	 * ... and which are brought up to date by both lists as they are now: `from` has
	 * `had` keys. revised() changes `shape` from that of `from` to the new one, and leaves
	 * keys->others->work for revise(). revise() builds into a part of the new shape, which is
	 * all zeros and alone. They fail with words.
	 */
	int (*revised)(struct blm_shape *shape, const struct blm_part *from, uint64_t had,
		       const struct blm_sorted *keys);
	int (*revise)(struct blm_part *part, const struct blm_part *from,
		      const struct blm_sorted *keys);
	/* ... can all of its data be read, and is there nothing behind them? */
	bool (*whole)(const struct blm_part *part);
	/*
	 * For kinds that are built with values: fails with words, -ERANGE, if one is none by its
	 * arguments.
	 */
	int (*check_values)(const uint64_t args[BLM_KIND_ARGS], const uint64_t *values,
			    size_t count);
	/*
	 * ---- Kinds of which one is made of others of the same template, and of some keys, without
	 * all keys ---- merged(): the shape of that, from the first one's, and how many keys it
	 * has; fails with words, -EOPNOTSUPP where it takes the keys. merge(): into a part of that
	 * shape that is all zeros and alone.
	 */
	int (*merged)(struct blm_shape *shape, const struct blm_merging *of, uint64_t *ret_keys);
	int (*merge)(struct blm_part *part, const struct blm_merging *of);
	/*
	 * may be planned for more keys than it is built from: then plan() gets the capacity that
	 * was asked for
	 */
	bool roomy;

	/* ---- Kinds that hold a value for each key; get() returns 0 for "absent" ---- */
	int (*put)(struct blm_part *part, const struct blm_hashed *key, uint64_t value);
	int (*get)(const struct blm_part *part, const struct blm_hashed *key, uint64_t *ret);

	/*
	 * ---- Kinds where two filters of one template combine ----
	 * Over a range of the data, in pieces of 64 bytes: dst and src are the bytes at the same
	 * place of two filters. unite() copes with others that write to dst, unless part->alone;
	 * intersect() is for a dst that no other thread sees.
	 */
	void (*unite)(const struct blm_part *part, void *dst, const void *src, size_t bytes);
	void (*intersect)(const struct blm_part *part, void *dst, const void *src, size_t bytes);

	/*
	 * ---- Kinds that fold: a key has one block, floor(its hash * blocks / 2^n), so that
	 * neighbours can be one ---- The bits of a block, a multiple of 64; 0: it does not.
	 */
	uint32_t fold_bits;

	/*
	 * ---- Kinds that can double without their keys ----
	 * The shape of twice the size; fails with words. Then: all that is in `from`, into `to`,
	 * which has that shape, is empty and alone.
	 */
	int (*grown)(struct blm_shape *ret, const struct blm_shape *from);
	int (*grow)(struct blm_part *to, const struct blm_part *from);

	/*
	 * ---- Kinds whose data tells how many keys are in it; none of their cells is in two
	 * words ----
	 */
	void (*tally)(const struct blm_part *part, const void *data, size_t bytes,
		      struct blm_tally *to);
	/* the rate with these bits */
	double (*rate_of)(const struct blm_shape *shape, const struct blm_tally *tally);
	/*
	 * Distinct keys for this share of ones; *ret_error: the standard error of that, were all
	 * the data read.
	 */
	double (*keys_of)(const struct blm_shape *shape, double fill, double *ret_error);

	/*
	 * ---- Kinds whose cells count keys, so that two filters tell how many keys differ ----
	 * differ(): to the sum and the squares, over a range of the data, in pieces of 64 bytes, of
	 * a less b. difference_of(): the keys that are in one of them alone; *ret_error: the
	 * standard error of that.
	 */
	void (*differ)(const struct blm_part *a, const struct blm_part *b, uint64_t at,
		       size_t bytes, struct blm_tally *to);
	double (*difference_of)(const struct blm_shape *shape, const struct blm_tally *tally,
				double *ret_error);
	/*
	 * ... and which. Each of them once, in any order, key by key, until each() does not return
	 * 0, and then that. -EXFULL, without words: there are more than the size is for; those that
	 * were given until then are not all. -ENOMEM.
	 */
	int (*differences)(const struct blm_part *a, const struct blm_part *b,
			   const struct blm_hasher *by,
			   int (*each)(void *context, const struct blm_key *key, bool in_b),
			   void *context);

	/*
	 * ---- Kinds whose data hold those of another kind, of the same m, k and hash ----
	 * become: the words of 64 bits from the `first` on, which are cells (as bits) of that
	 * kind's filter of the same keys.
	 */
	const char *becomes;		/* its name; its cells are bits */
	void (*become)(const struct blm_part *part, uint64_t first, uint64_t *ret, size_t count);

	/*
	 * ---- Kinds that answer for ranges: of keys by a family that is `ordered` ----
	 * Is any key there from first[i] to last[i], those two included? A hash that is no place,
	 * or a range that ends before it begins, has none.
	 */
	void (*contains_ranges)(const struct blm_part *part, const struct blm_hash *first,
				const struct blm_hash *last, size_t count, uint64_t *ret_bits);

	/* ---- Worth having, never needed ---- */

	/*
	 * The i-th fact about this filter, other than its sizes; false: there are no more. Reads as
	 * much data as it must.
	 */
	bool (*describe)(const struct blm_part *part, unsigned i, struct blm_fact *ret);
	/* The same of a filter of this shape that is filled to its capacity, on paper. */
	bool (*foretell)(const struct blm_shape *shape, unsigned i, struct blm_fact *ret);

	/* Ask for the memory that contains() will touch. */
	void (*prefetch)(const struct blm_part *part, const struct blm_hashed *key);
	/*
	 * The i-th place that contains() looks at, from 0, and the bits that must be set there for
	 * it to look at the next (0: any). NULL: there are no more. For files that are not in
	 * memory: one asks for all that will be looked at, then looks.
	 */
	const uint64_t *(*probe)(const struct blm_part *part, const struct blm_hashed *key,
				 unsigned i, uint64_t *ret_mask);
	/*
	 * Loops of one's own over many keys; what they take and give is as for the functions at the
	 * end of this file.
	 */
	void (*contains_many)(const struct blm_part *part, const struct blm_batch *batch,
			      uint64_t *ret_bits);
	int  (*add_many)(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits);
	int  (*claim_many)(struct blm_part *part, const struct blm_batch *batch,
			   uint64_t *ret_bits);
	/* Many keys into a part that is not shared yet, in the order of memory (partition.h). */
	const struct blm_fill *fill;
	/*
	 * How many of the last bits of the data are no cell's, so that they must be 0 (where bits
	 * are in another order: of the last numbers).
	 */
	unsigned (*padding_bits)(const struct blm_shape *shape);

	/*
	 * ---- Composite kinds: filters of several parts, each of another kind; all else works on
	 * part->sub[], which are those ---- compose(): the i-th part, by the shape of the whole;
	 * false: there is none. parts(): how many of them a new filter has. Those have the cells
	 * and probes that compose() says; others come when it grows, and have those that it said
	 * then, on that machine. counts(): the keys in part i are in the filter (1), are not (-1),
	 * or it has no say just now (0).
	 */
	bool (*compose)(const struct blm_shape *whole, unsigned i, struct blm_component *ret);
	unsigned (*parts)(const struct blm_shape *whole);
	int (*counts)(const struct blm_part *whole, unsigned i);
	/*
	 * Kinds whose parts are levels: the one into which part i goes with all else that is a step
	 * farther away; false: out of reach.
	 */
	bool (*advance)(const struct blm_part *whole, unsigned i, unsigned *ret_to);

	/*
	 * ---- Kinds that are made ready for more keys now and then (extend.c, under a lock) ----
	 * room(): how many may come before that; 0: none; UINT64_MAX: that is a matter of time.
	 * keys: how many came so far, by the count. Some grow: next() says what part is appended,
	 * in proportion to those that are there, whatever the file says; false: they have come to
	 * an end. fits(): how many keys part i is for, if it has the cells for them, else about
	 * what those can have. The others have slots in a ring: begin_slot() clears the part that
	 * will be the next slot, and says which it is; when that is on the disk, turn() makes it
	 * the newest.
	 */
	uint64_t (*room)(const struct blm_part *whole, uint64_t keys);
	bool (*next)(const struct blm_part *whole, struct blm_component *ret);
	uint64_t (*fits)(const struct blm_part *whole, unsigned i);
	unsigned (*begin_slot)(struct blm_part *whole);
	void (*turn)(struct blm_part *whole, uint64_t keys);

	/*
	 * each word of 64 bits has 64 / cell_bits cells, from the lowest bit on; its other bits
	 * must be 0
	 */
	bool cells_in_words;
	/* how many keys it is best given at once: 128, or BLM_BATCH_LARGE; 0: BLM_BATCH */
	unsigned batch;
	/* that it works from: it takes families with this number of bits; 0: 128 */
	unsigned hash_bits;
	/* takes also families that hash a key once for each probe */
	bool every_family;
	/* takes also rules of other programs, and orders of bits (hash/scheme.h) */
	bool every_scheme;
	/*
	 * takes also rules of other programs that are alike for every m and k, since its parts have
	 * different ones
	 */
	bool some_schemes;
	/*
	 * its keys are numbers, each a cell of its own: never wrong, and takes none but families of
	 * numbers
	 */
	bool exact;
	/* contains() may say no to a key that was given and not taken back */
	bool forgets;
	/* add() finds no room at some time, and says -EXFULL before anything changed */
	bool fills;
	/*
	 * keys themselves, so it is changed by keys, not by hashes; its capacity is of keys that
	 * differ
	 */
	bool holds_keys;
	/*
	 * keeps when each key was last seen: its functions look at key->when. The caller has
	 * checked that the age asked for is at most the kind's first argument, in nanoseconds
	 */
	bool ages;
};

/* The bits of each word that are left over by cells_in_words. */
static inline uint64_t left_of_word(const struct blm_part *part)
{
	unsigned bits = part->shape.cell_bits, used = 64 / bits * bits;

	return part->kind->cells_in_words && used < 64 ? UINT64_MAX << used : 0;
}

/* Are its data bits that only go from 0 to 1? */
static inline bool kind_only_sets(const struct blm_kind *kind)
{
	return kind->protocol == BLM_SETS_BITS;
}

static inline bool kind_serializes_removals(const struct blm_kind *kind)
{
	return kind->protocol == BLM_SERIAL_REMOVALS;
}

/* Are pages of different times worse than keys lost, without a checkpoint to go back to? */
static inline bool kind_may_be_torn(const struct blm_kind *kind)
{
	return kind->protocol == BLM_SERIAL_REMOVALS;
}

static inline bool kind_has_single_writer(const struct blm_kind *kind)
{
	return kind->protocol == BLM_SINGLE_WRITER
		|| kind->protocol == BLM_SINGLE_WRITER_CHECKPOINT;
}

/* Is adding a key twice adding it once, whatever comes in between? */
static inline bool kind_may_add_again(const struct blm_kind *kind)
{
	return kind->protocol == BLM_SETS_BITS || kind->protocol == BLM_IDEMPOTENT_ADDS;
}

static inline bool kind_has_checkpoint(const struct blm_kind *kind)
{
	return kind->protocol == BLM_SINGLE_WRITER_CHECKPOINT;
}

/* Can the kind use keys that are hashed so? */
static inline bool kind_takes(const struct blm_kind *kind, const struct blm_family *family)
{
	if (family->number || kind->exact)
		return family->number && kind->exact;
	if (family->ordered || kind->contains_ranges)
		return family->ordered && kind->contains_ranges;
	/* they are too short, or too weak, to make cells of but by a rule */
	if (family->scheme && family->bits < 128)
		return kind->every_scheme;
	return kind->every_family || (!family->nth
				      && family->bits >= (kind->hash_bits ? kind->hash_bits : 128));
}

/* Why a filter of it cannot have its cells made so, in words; NULL: it can. */
static inline const char *kind_misfit(const struct blm_kind *kind, const struct blm_scheme *scheme,
				      uint32_t order, const struct blm_family *family,
				      uint64_t cells, uint32_t probes)
{
	if (kind->every_scheme)
		return blm_scheme_misfit(scheme, family, cells, probes);
	if (!scheme->id && !order)
		return NULL;
	if (!kind->some_schemes || order)
		return "the kind has no rule or order but its own";
	if ((scheme->by_key && !scheme->stages) || scheme->ranges)
		return "its parts have different sizes, with which the rule differs";
	return blm_scheme_misfit(scheme, family, cells, probes);
}

/* Can a filter of it be empty at first, or is it made from all its keys? */
static inline bool kind_takes_keys(const struct blm_kind *kind)
{
	return kind->add || kind->put;
}

/* Bits that are no cell's: there are none before padding_from(). */
static inline uint64_t cells_end(const struct blm_part *part)
{
	return part->shape.bytes * 8 - (part->kind->padding_bits
					? part->kind->padding_bits(&part->shape) : 0);
}

static inline uint64_t padding_from(const struct blm_part *part)
{
	return part->flip ? cells_end(part) / 64 * 64 : cells_end(part);
}

static inline bool is_padding(const struct blm_part *part, uint64_t bit)
{
	return (bit ^ part->flip) >= cells_end(part);
}

const struct blm_kind *blm_kind_by_name(const char *name);
const struct blm_kind *blm_kind_by_id(uint32_t id);
/*
 * The same, for a file: -EPROTONOSUPPORT, with words, goes to *ret_err where the kind is not known.
 */
const struct blm_kind *blm_kind_known(uint32_t id, const char *display, int *ret_err);
const struct blm_kind *blm_kind_at(size_t i);	/* NULL past the last */
unsigned blm_kind_can(const struct blm_kind *kind);

/*
 * The names of the kinds that can do all of `can`, or can use keys that are hashed so, with commas,
 * for messages.
 */
const char *blm_kinds_that_can(unsigned can, char *buffer, size_t bytes);
const char *blm_kinds_that_take(const struct blm_family *family, char *buffer, size_t bytes);

/*
 * Ask or change many, by whichever way the kind has: its own loop, or one by one. At most
 * kind_batch() a call, of this batch and of the next; bit i % 64 of ret_bits[i / 64] is the answer
 * of key i, and the bits past the last, up to a multiple of 64, are written as 0. Where one fails,
 * the bits are the answers for the keys before that.
 *
 * Most kinds are as fast with 64 keys as with 256. Those that are asked in rounds (probe_rounds.h)
 * gain by more, as each round leaves half of them, and the last ones wait for few lines at once;
 * those that are asked faster than memory answers lose, as no lines are asked for while a batch is
 * hashed. (In tests/bench: "contains_many absent" of 100m keys; the sizes that the large one must
 * fit are in readahead.h.)
 */
enum { BLM_BATCH = 256, BLM_BATCH_WORDS = BLM_BATCH / 64, BLM_BATCH_LARGE = 1024 };
static_assert(BLM_BATCH % 64 == 0 && BLM_BATCH_LARGE % 64 == 0,
	      "the answers of a batch are whole words of the bitmap");

static inline size_t kind_batch(const struct blm_kind *kind)
{
	return kind->batch ? kind->batch : BLM_BATCH;
}

void blm_part_contains(const struct blm_part *part, const struct blm_batch *batch,
		       uint64_t *ret_bits);
int blm_part_add(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits);
int blm_part_claim(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits);
int blm_part_remove(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits);
/* values: one for each key of the batch; where get says no, its value is left as it is. */
int blm_part_put(struct blm_part *part, const struct blm_batch *batch, const uint64_t *values,
		 uint64_t *ret_bits);
int blm_part_get(const struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_values,
		 uint64_t *ret_bits);

/* One by one, for kinds whose own loop does not take every family. */
void blm_part_contains_each(const struct blm_part *part, const struct blm_batch *batch,
			    uint64_t *ret_bits);

#endif
