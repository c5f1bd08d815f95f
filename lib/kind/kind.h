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
 * CHOOSE YOUR BASE. Nearly every kind begins with one of these headers, and its own file says only
 * where its cells are and what they mean. Copy the shortest kind of the row.
 *
 *   what a cell is          base                     copy            protocol
 *   ----------------------  -----------------------  --------------  ----------------------------
 *   a bit that is only set  common/bits.h            bitmap.c        BLM_SETS_BITS
 *   a number of a few bits  common/packed_cells.h    approximator.c  BLM_ATOMIC_WORDS
 *   the same, with removal  common/packed_cells.h    counting.c      BLM_SERIAL_REMOVALS
 *   a fingerprint           common/swar.h            hash_compact.c  BLM_ATOMIC_WORDS
 *   the same, with removal  common/swar.h            dleft.c         BLM_SINGLE_WRITER
 *   the same, that moves    common/relocation.h      cuckoo.c        BLM_SINGLE_WRITER_CHECKPOINT
 *   built from sorted keys  common/sorted_keys.h     golomb.c        BLM_ATOMIC_WORDS
 *   the same, in shards     common/shards.h          ribbon.c        BLM_ATOMIC_WORDS
 *   the same, XORed         common/fuse_table.h      fuse.c          BLM_ATOMIC_WORDS
 *   parts of other kinds    common/composite.h       scalable.c      as its parts need it
 *
 * The steps. `meson test -C build kind/laws kind/shapes` tries each of them:
 *
 *   1. plan(), valid(), contains(), rate_at(), and add() or build(). sizing.h has the formulas of
 *      the literature; options.h has the options, if the kind has any.
 *   2. The protocol (enum blm_protocol below): what a killed writer and a power cut leave.
 *   3. Every other thing that the kind can do, from the groups of struct blm_kind.
 *   4. Speed: common/probe_rounds.h asks many keys round by round, each round's memory at once;
 *      common/partition.h fills a new filter in the order of its memory; common/swar.h compares all
 *      cells of a word at once.
 *
 * The laws of tests/kind/ hold for every kind that is registered (kind_registry.c), by what it can
 * do. A new kind needs a test only for what it alone promises.
 *
 * Concurrency: unless a comment says otherwise a function may run at the same time as any other on
 * the same bytes, in any thread of any process, and any process may die in the middle of it.
 */
#ifndef BLM_KIND_H
#define BLM_KIND_H

#include "hash/scheme.h"
#include "kind/common/batch.h"
#include "kind/common/options.h"
#include "kind/common/sorted_keys.h"
#include "kind/part.h"

/*
 * What a filter is made as, unless its maker says; and where the numbers of bits and probes, or an
 * old hash, are given.
 */
#define BLM_DEFAULT_KIND "blocked"
#define BLM_DEFAULT_HASH "xxh3"
#define BLM_EXACT_KIND "classic"

/* What a part of a composite kind is. */
struct blm_component {
	const struct blm_kind *kind;
	uint32_t role;			/* in the part table; the composite kind's own */
	struct blm_shape shape;
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
	 * them: around them the caller holds BLM_LOCK_WRITE, exclusively, or owns the word `writer`
	 * (writer_word.h). Pages of different times are worse than keys lost, so BLM_OWN_TORN says
	 * whether there may be some.
	 */
	BLM_SERIAL_REMOVALS,
	/*
	 * Changes are not atomic: around them the caller holds BLM_LOCK_WRITE, exclusively, or owns
	 * the word `writer` (writer_word.h).
	 */
	BLM_SINGLE_WRITER,
	/*
	 * So it is here. And a file with some pages of now and some of then may lack keys that are
	 * in both, so it has an image of the data as the last sync found them (checkpoint.c). Its
	 * own words say nothing that is needed after a power cut, and changes are marked before
	 * they are made.
	 */
	BLM_SINGLE_WRITER_CHECKPOINT,
};

/*
 * A member that a kind leaves NULL or 0 is something that the kind cannot do or is not. Set those
 * of REQUIRED, and those of ADD or of BUILD; take the others where the kind has them.
 */
struct blm_kind {
	/* ======== REQUIRED ======== */

	uint32_t id;			/* in the file; never reused */
	const char *name;		/* in the catalog and on the command line */
	const char *summary;		/* one line, for `bloomery kinds` */
	/* one line: what a user must know before relying on the kind; NULL: nothing */
	const char *caveat;
	enum blm_protocol protocol;
	/*
	 * Computes the sizes for these parameters. The caller has checked that they are in range,
	 * and has put the options' values into ret->args. Fails with a message.
	 */
	int (*plan)(struct blm_shape *ret, const struct blm_params *params);
	/* Untrusted numbers: could plan() have made them? */
	bool (*valid)(const struct blm_shape *shape);
	bool (*contains)(const struct blm_part *part, const struct blm_hashed *key);
	/* The false-positive rate with `keys` keys in the filter. */
	double (*rate_at)(const struct blm_shape *shape, uint64_t keys);

	/* -------- Required where the usual does not hold -------- */

	/* the hash that it takes unless the caller says another; NULL: BLM_DEFAULT_HASH */
	const char *family;
	/* at most BLM_KIND_ARGS, the last one without a name; NULL: none */
	const struct blm_option *options;
	/* The rate where it also depends on what the keys are; NULL: it does not. */
	double (*rate_in)(const struct blm_part *part, uint64_t keys);
	/*
	 * How many of the last bits of the data belong to no cell, so that they must be 0. Where
	 * bits are in another order these are the bits with the last numbers.
	 */
	unsigned (*padding_bits)(const struct blm_shape *shape);
	/*
	 * each word of 64 bits has 64 / cell_bits cells, from the lowest bit on; its other bits
	 * must be 0
	 */
	bool cells_in_words;
	/* the bits of hash that it works from: it takes families with as many; 0: 128 */
	unsigned hash_bits;
	/* takes also families that hash a key once for each probe */
	bool every_family;
	/* takes also rules of other programs, and orders of bits (hash/scheme.h) */
	bool every_scheme;
	/*
	 * takes also rules of other programs that are alike for every m and k, because its parts
	 * have different ones
	 */
	bool some_schemes;
	/*
	 * its keys are numbers, each a cell of its own: it is never wrong, and takes families of
	 * numbers only
	 */
	bool exact;
	/* contains() may say no to a key that was added and not removed */
	bool forgets;
	/* add() finds no room at some time, and returns -EXFULL before anything changed */
	bool fills;
	/*
	 * stores the keys themselves, so it is changed by keys, not by hashes; its capacity counts
	 * keys that differ
	 */
	bool holds_keys;
	/*
	 * keeps when each key was last seen: its functions look at key->when. The caller has
	 * checked that the age asked for is at most the kind's first argument, in nanoseconds.
	 */
	bool ages;

	/* ======== ADD: kinds that take keys one by one ======== */

	/* Each returns 1: changed; 0: the filter had the key already; or a negative errno. */
	int (*add)(struct blm_part *part, const struct blm_hashed *key);
	/* 0: contains() denies the key, so nothing is changed. */
	int (*remove)(struct blm_part *part, const struct blm_hashed *key);
	/* Adds, and tells exactly one of all callers that race that it was the first. */
	int (*claim)(struct blm_part *part, const struct blm_hashed *key);
	/*
	 * Undoes or finishes what a writer that died was doing. It is called before each change of
	 * a kind that has one writer at a time.
	 */
	void (*recover)(struct blm_part *part);
	/*
	 * Doubles without the keys. grown(): the shape of twice the size; fails with a message.
	 * grow(): all that is in `from`, into `to`, which has that shape, is empty and unshared.
	 */
	int (*grown)(struct blm_shape *ret, const struct blm_shape *from);
	int (*grow)(struct blm_part *to, const struct blm_part *from);

	/* ======== BUILD: kinds that are made from all their keys at once ======== */

	/*
	 * sorted_keys.h has the keys. plan() gets the number of distinct keys as the capacity.
	 * fit(): the bytes of data, where they depend on the keys themselves; NULL: plan() knew.
	 * build(): into a part that is all zeros and unshared; fails with a message, only if memory
	 * is short or reading fails.
	 */
	int (*fit)(struct blm_shape *shape, const struct blm_sorted *keys);
	int (*build)(struct blm_part *part, const struct blm_sorted *keys);
	/*
	 * plan() may be asked for more keys than the filter is built from: then it gets the
	 * capacity that was asked for
	 */
	bool roomy;
	/*
	 * Is a key that comes twice in the filter twice? By its arguments; NULL: no. Then the
	 * hashes that build() gets may come more than once.
	 */
	bool (*counts_keys)(const uint64_t args[BLM_KIND_ARGS]);
	/*
	 * Kinds that also know keys that are not in the filter, keys->others: their number, for
	 * plan(). Then fit() and build() are called once each, with the same keys.
	 */
	void (*count_others)(uint64_t args[BLM_KIND_ARGS], uint64_t others);
	/*
	 * Those kinds are brought up to date by both lists as they are now: `from` has `had` keys.
	 * revised() changes `shape` from that of `from` to the new one, and leaves
	 * keys->others->work for revise(). revise() builds into a part of the new shape, which is
	 * all zeros and unshared. They fail with a message.
	 */
	int (*revised)(struct blm_shape *shape, const struct blm_part *from, uint64_t had,
		       const struct blm_sorted *keys);
	int (*revise)(struct blm_part *part, const struct blm_part *from,
		      const struct blm_sorted *keys);
	/* Can all data of such a filter be read, and is nothing stored behind them? */
	bool (*intact)(const struct blm_part *part);
	/*
	 * Makes one filter of others of the same template and of some keys, without all keys.
	 * merged(): its shape, from the first one's, and how many keys it has; fails with a
	 * message, -EOPNOTSUPP where it takes the keys. merge(): into a part of that shape that is
	 * all zeros and unshared.
	 */
	int (*merged)(struct blm_shape *shape, const struct blm_merging *of, uint64_t *ret_keys);
	int (*merge)(struct blm_part *part, const struct blm_merging *of);

	/* ======== VALUES: kinds that answer with more than yes or no ======== */

	/* A value for each key; get() returns 0 for "absent". */
	int (*put)(struct blm_part *part, const struct blm_hashed *key, uint64_t value);
	int (*get)(const struct blm_part *part, const struct blm_hashed *key, uint64_t *ret);
	/* Kinds that are built with values: -ERANGE, with a message, if one is too large. */
	int (*check_values)(const uint64_t args[BLM_KIND_ARGS], const uint64_t *values,
			    size_t count);
	/*
	 * Ranges of keys by a family that is `ordered`: is any key there from first[i] to last[i],
	 * those two included? A hash that is no place, or a range that ends before it begins, has
	 * none.
	 */
	void (*contains_ranges)(const struct blm_part *part, const struct blm_hash *first,
				const struct blm_hash *last, size_t count, uint64_t *ret_bits);

	/* ======== ALGEBRA: kinds whose filters of one template combine or compare ======== */

	/*
	 * Over a range of the data, in pieces of 64 bytes: dst and src are the bytes at the same
	 * place of two filters. unite() copes with others that write to dst, unless part->unshared.
	 * intersect() is for a dst that no other thread sees. Both need tally(), rate_of() and
	 * keys_of().
	 */
	void (*unite)(const struct blm_part *part, void *dst, const void *src, size_t bytes);
	void (*intersect)(const struct blm_part *part, void *dst, const void *src, size_t bytes);
	/*
	 * Folding: a key has one block, floor(its hash * blocks / 2^n), so neighbouring blocks can
	 * become one. The bits of a block, a multiple of 64; 0: the kind does not fold.
	 */
	uint32_t fold_bits;
	/* Counts cells, so that the data tells how many keys are there. No cell is in two words. */
	void (*tally)(const struct blm_part *part, const void *data, size_t bytes,
		      struct blm_tally *to);
	/* the rate with these bits */
	double (*rate_of)(const struct blm_shape *shape, const struct blm_tally *tally);
	/*
	 * The distinct keys for this share of ones. *ret_error: the standard error of that, if all
	 * data were read.
	 */
	double (*keys_of)(const struct blm_shape *shape, double fill, double *ret_error);
	/*
	 * Cells that count keys, so that two filters tell how many keys differ. differ(): adds to
	 * the sum and the squares, over a range of the data, in pieces of 64 bytes, of a minus b.
	 * difference_of(): the keys that are in one of them alone; *ret_error: the standard error.
	 */
	void (*differ)(const struct blm_part *a, const struct blm_part *b, uint64_t at,
		       size_t bytes, struct blm_tally *to);
	double (*difference_of)(const struct blm_shape *shape, const struct blm_tally *tally,
				double *ret_error);
	/*
	 * Which keys differ: each of them once, in any order, until each() does not return 0; then
	 * it returns that. -EXFULL, without a message: there are more than the size is for, and
	 * those that were given until then are not all. -ENOMEM.
	 */
	int (*differences)(const struct blm_part *a, const struct blm_part *b,
			   const struct blm_hasher *by,
			   int (*each)(void *context, const struct blm_key *key, bool in_b),
			   void *context);
	/*
	 * Data that hold those of another kind, of the same m, k and hash. become(): the words of
	 * 64 bits from the `first` on, which are cells (as bits) of that kind's filter of the same
	 * keys.
	 */
	const char *becomes;		/* its name; its cells are bits */
	void (*become)(const struct blm_part *part, uint64_t first, uint64_t *ret, size_t count);

	/* ======== SPLITTING: kinds whose filters are split into parts (common/split.h) ======== */

	/*
	 * splits: the data mean the same wherever the ranges of bytes are cut. place(): of each of
	 * these keys, where all that a question about the key looks at is, within one line of 64
	 * bytes, as an offset in the data; UINT64_MAX: nowhere. So a key belongs to one part. NULL:
	 * the cells of a key are anywhere. add_within(): for kinds without place(), those of the
	 * cells that are in bytes from `from` up to `to`; returns 1 if the key is to be counted in
	 * this part.
	 */
	bool splits;
	void (*place)(const struct blm_part *part, const struct blm_hash *hashes, size_t count,
		      uint64_t *ret);
	int (*add_within)(struct blm_part *part, const struct blm_hashed *key, uint64_t from,
			  uint64_t to);
	/*
	 * For kinds with build(): the same bytes as build(), but only those from `from` up to `to`,
	 * multiples of 64, are written. `keys` are all keys of the filter.
	 */
	int (*build_within)(struct blm_part *part, const struct blm_sorted *keys, uint64_t from,
			    uint64_t to);

	/* ======== COMPOSITE: filters of several parts, each of another kind ======== */

	/*
	 * All else works on part->sub[], which are the parts. compose(): the i-th part, by the
	 * shape of the whole; false: there is none. parts(): how many of them a new filter has.
	 * Those have the cells and probes that compose() says. Others come when the filter grows,
	 * and have those that compose() said then, on that machine. counts(): the keys in part i
	 * are in the filter (1), are not (-1), or the part has no say just now (0).
	 */
	bool (*compose)(const struct blm_shape *root, unsigned i, struct blm_component *ret);
	unsigned (*parts)(const struct blm_shape *root);
	int (*counts)(const struct blm_part *root, unsigned i);
	/*
	 * Parts that are levels: the level into which part i goes with all else that is a step
	 * farther away; false: out of reach.
	 */
	bool (*advance)(const struct blm_part *root, unsigned i, unsigned *ret_to);
	/*
	 * Kinds that are made ready for more keys now and then (extend.c, under a lock).
	 * space(): how many keys may come before that; 0: none; UINT64_MAX: time decides that.
	 * keys: how many came so far, by the count. Some kinds grow: next() says what part is
	 * appended, in proportion to those that are there, whatever the file says; false: they
	 * have come to an end. fits(): how many keys part i is for, if it has the cells for them,
	 * else about what those can have. The others have slots in a ring: begin_slot() clears the
	 * part that will be the next slot, and says which it is; when that is on the disk, turn()
	 * makes it the newest.
	 */
	uint64_t (*space)(const struct blm_part *root, uint64_t keys);
	bool (*next)(const struct blm_part *root, struct blm_component *ret);
	uint64_t (*fits)(const struct blm_part *root, unsigned i);
	unsigned (*begin_slot)(struct blm_part *root);
	void (*turn)(struct blm_part *root, uint64_t keys);

	/* ======== Speed and reports: worth having, never needed ======== */

	/*
	 * The i-th fact about this filter, other than its sizes; false: there are no more. It reads
	 * as much data as it must.
	 */
	bool (*describe)(const struct blm_part *part, unsigned i, struct blm_fact *ret);
	/* The same of a filter of this shape that is filled to its capacity, on paper. */
	bool (*foretell)(const struct blm_shape *shape, unsigned i, struct blm_fact *ret);
	/* Asks for the memory that contains() will touch. */
	void (*prefetch)(const struct blm_part *part, const struct blm_hashed *key);
	/*
	 * The i-th place that contains() looks at, from 0, and the bits that must be set there for
	 * it to look at the next (0: any). NULL: there are no more. It is for files that are not in
	 * memory: a caller asks for all places first, then looks.
	 */
	const uint64_t *(*probe)(const struct blm_part *part, const struct blm_hashed *key,
				 unsigned i, uint64_t *ret_mask);
	/* Loops of its own over many keys; batch.h has what they take and return. */
	void (*contains_many)(const struct blm_part *part, const struct blm_batch *batch,
			      uint64_t *ret_bits);
	int  (*add_many)(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits);
	int  (*claim_many)(struct blm_part *part, const struct blm_batch *batch,
			   uint64_t *ret_bits);
	/* how many keys the loops are best given at once: 128, or BLM_BATCH_LARGE; 0: BLM_BATCH */
	unsigned batch;
	/* Many keys into a part that is not shared yet, in the order of memory (partition.h). */
	const struct blm_fill *fill;
};

/* The bits of each word that are left over by cells_in_words. */
static inline uint64_t left_of_word(const struct blm_part *part)
{
	unsigned bits = part->shape.cell_bits, used = 64 / bits * bits;

	return part->kind->cells_in_words && used < 64 ? UINT64_MAX << used : 0;
}

/* Bits that are no cell's: there are none before padding_from(). */
static inline uint64_t cells_end(const struct blm_part *part)
{
	return part->shape.bytes * 8 - (part->kind->padding_bits
					? part->kind->padding_bits(&part->shape) : 0);
}

static inline uint64_t padding_from(const struct blm_part *part)
{
	return part->order_xor ? cells_end(part) / 64 * 64 : cells_end(part);
}

static inline bool is_padding(const struct blm_part *part, uint64_t bit)
{
	return (bit ^ part->order_xor) >= cells_end(part);
}

#endif
