/*
 * kind.h - what a kind of filter is
 *
 * One file in this folder a kind. A kind is a constant struct of functions over a part: its shape
 * (numbers from the header, checked and copied) and its bytes in the map. A kind never opens, maps,
 * locks or hashes; its caller has done that.
 *
 * A function left NULL is something the kind cannot do. blm_kind_can() reads these pointers and
 * nothing else, so a kind's promises and its functions cannot differ.
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
 * THE TOOLS. A kind is written with these:
 *
 *   key->hash.lo, .hi               128 random bits of the key; with `hash_bits` 64, lo equals hi
 *   key_cell()                      the cell of the i-th probe (hash/hasher.h)
 *   scale(hash, n), unfold()        a number below n; further words of the hash (base/base.h)
 *   load_acquire(), load_relaxed()  a shared word, in the byte order of this machine (base/base.h)
 *   bits_set(), word_swap()         change a shared word (common/bits.h, common/packed_cells.h)
 *   mark()                          after each change of data (part.h)
 *   part->unshared                  no other thread sees the data: changes need not be atomic
 *   blm_fail()                      an error with its message (base/base.h)
 *
 * The steps. `meson test -C build kind/laws kind/shapes` tries each of them:
 *
 *   1. plan(), valid(), contains(), rate_at(), and add() or build(). sizing.h has the formulas of
 *      the literature; options.h has the options, if the kind has any.
 *   2. The protocol (enum blm_protocol below): the state after a killed writer or a power cut.
 *   3. The optional functions, from the groups of struct blm_kind.
 *   4. Speed: common/probe_rounds.h asks many keys round by round, each round's memory at once;
 *      common/partition.h fills a new filter in the order of its memory; common/swar.h compares all
 *      cells of a word at once.
 *
 * The laws of tests/kind/ test every registered kind (kind_registry.c) for each function that it
 * has. A new kind needs tests of its own only for its own promises.
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
 * The defaults of a new filter. BLM_EXACT_KIND is the default kind if the caller gives the numbers
 * of bits and probes, or an old hash.
 */
#define BLM_DEFAULT_KIND "blocked"
#define BLM_DEFAULT_HASH "xxh3"
#define BLM_EXACT_KIND "classic"

/* The plan of one part of a composite kind. */
struct blm_component {
	const struct blm_kind *kind;
	uint32_t role;			/* in the part table; the composite kind's own */
	struct blm_shape shape;
};

/* The input of a merge: parts of one template, keys to add, and keys to remove; NULL: none. */
struct blm_merging {
	const struct blm_part *const *from;
	size_t count;
	const struct blm_sorted *add, *remove;
};

/*
 * How processes that change one filter at the same time exclude each other, and the state after a
 * power cut. Questions take no lock in any protocol. Each comment begins with the kind's row in the
 * table of format-spec.md, "How kinds change".
 */
enum blm_protocol {
	/*
	 * Word kinds: each change is one atomic operation on one word, independent of other words.
	 * Built kinds: they are built from all their keys at once and never change.
	 */
	BLM_ATOMIC_WORDS = 1,
	/*
	 * Bit kinds. The data are bits that only change from 0 to 1, by atomic OR. So pages written
	 * at different times can only lack keys, and additional ones are never damage. Adding a key
	 * twice equals adding it once.
	 */
	BLM_SETS_BITS,
	/* Slot kinds. Other data. Adding a key twice equals adding it once, as above. */
	BLM_IDEMPOTENT_ADDS,
	/*
	 * Counting kinds. add() may run beside any other function. remove() and claim() read
	 * several words and then change them: around them the caller holds BLM_LOCK_WRITE,
	 * exclusively, or owns the word `writer` (writer_word.h). Pages written at different times
	 * could lose synced keys, so BLM_OWN_TORN records whether the file may have such pages.
	 */
	BLM_SERIAL_REMOVALS,
	/*
	 * Cell kinds. Changes are not atomic: around them the caller holds BLM_LOCK_WRITE,
	 * exclusively, or owns the word `writer` (writer_word.h).
	 */
	BLM_SINGLE_WRITER,
	/*
	 * Moving kinds. The same lock. A file with some older and some newer pages may lack keys
	 * that both states have, so the file keeps an image of the data as of the last sync
	 * (checkpoint.c). The kind's own words are not needed after a power cut, and the caller
	 * marks each block before it changes the block.
	 */
	BLM_SINGLE_WRITER_CHECKPOINT,
};

/*
 * NULL or 0 means that the kind cannot do it, or does not have this property. Set the members of
 * REQUIRED, and those of ADD or of BUILD; set the others if the kind supports them.
 */
struct blm_kind {
	/* ======== REQUIRED ======== */

	uint32_t id;			/* in the file; never reused */
	const char *name;		/* in the catalog and on the command line */
	const char *summary;		/* one line, for `bloomery kinds` */
	/* one line: a limitation that a user must know before relying on the kind; NULL: none */
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

	/* -------- Required if the default is wrong for the kind -------- */

	/* the default hash of the kind; NULL: BLM_DEFAULT_HASH */
	const char *family;
	/* the one of 64 bits that it takes instead where that keeps the rate (plan.c); or NULL */
	const char *short_family;
	/* at most BLM_KIND_ARGS, the last one without a name; NULL: none */
	const struct blm_option *options;
	/* The rate, for kinds where it also depends on the keys themselves; NULL: rate_at(). */
	double (*rate_in)(const struct blm_part *part, uint64_t keys);
	/*
	 * How many of the last bits of the data belong to no cell; these must be 0. In another
	 * order of bits they are the bits with the highest numbers.
	 */
	unsigned (*padding_bits)(const struct blm_shape *shape);
	/*
	 * each word of 64 bits has 64 / cell_bits cells, from the lowest bit on; its other bits
	 * must be 0
	 */
	bool cells_in_words;
	/* the bits of hash that it uses: it accepts families with that many; 0: 128 */
	unsigned hash_bits;
	/* also accepts families that hash a key once for each probe */
	bool every_family;
	/* also accepts the rules of other programs, and other orders of bits (hash/scheme.h) */
	bool every_scheme;
	/*
	 * Does a filter of this shape also accept rules of other programs that are the same for
	 * every m and k, because its parts have different m and k? NULL: none does.
	 */
	bool (*takes_schemes)(const struct blm_shape *shape);
	/*
	 * its keys are numbers, and each number has its own cell: there are no false positives, and
	 * it accepts families of numbers only
	 */
	bool exact;
	/* contains() may say no to a key that was added and not removed */
	bool forgets;
	/* add() can run out of space, and returns -EXFULL before anything changed */
	bool fills;
	/*
	 * stores the keys themselves, so callers add keys, not hashes; its capacity is the number
	 * of keys by which two filters may differ
	 */
	bool holds_keys;
	/*
	 * stores the time at which each key was last seen: its functions read key->when. The caller
	 * has checked that the requested age is at most the kind's first argument, in nanoseconds.
	 */
	bool ages;

	/* ======== ADD: kinds that take keys one by one ======== */

	/* Each returns 1: changed; 0: the filter had the key already; or a negative errno. */
	int (*add)(struct blm_part *part, const struct blm_hashed *key);
	/* 0: contains() denies the key, so nothing is changed. */
	int (*remove)(struct blm_part *part, const struct blm_hashed *key);
	/* Adds the key; of all callers that race for one key, exactly one gets 1. */
	int (*claim)(struct blm_part *part, const struct blm_hashed *key);
	/*
	 * Undoes or completes the change of a writer that died. It is called before each change of
	 * a kind with one writer at a time.
	 */
	void (*recover)(struct blm_part *part);
	/*
	 * Doubling without the keys. grown(): the shape of twice the size; fails with a message.
	 * grow(): copies all entries of `from` into `to`, which has that shape, is empty and
	 * unshared.
	 */
	int (*grown)(struct blm_shape *ret, const struct blm_shape *from);
	int (*grow)(struct blm_part *to, const struct blm_part *from);

	/* ======== BUILD: kinds that are made from all their keys at once ======== */

	/*
	 * sorted_keys.h describes the keys. plan() gets the number of distinct keys as the
	 * capacity. fit(): the bytes of data, if they depend on the keys themselves; NULL: plan()
	 * has set them. build(): into a part that is all zeros and unshared; fails with a message,
	 * and only if memory is short or reading fails.
	 */
	int (*fit)(struct blm_shape *shape, const struct blm_sorted *keys);
	int (*build)(struct blm_part *part, const struct blm_sorted *keys);
	/*
	 * plan() may get a larger capacity than the number of keys, if the caller requested one
	 */
	bool roomy;
	/*
	 * Does the filter count a key twice that is given twice? It depends on the arguments; NULL:
	 * no. If it does, build() may get a hash several times.
	 */
	bool (*counts_keys)(const uint64_t args[BLM_KIND_ARGS]);
	/*
	 * For kinds that are also given keys outside of the filter, keys->others: stores their
	 * number for plan(). fit() and build() are then called once each, with the same keys.
	 */
	void (*count_others)(uint64_t args[BLM_KIND_ARGS], uint64_t others);
	/*
	 * The same kinds are updated from both complete lists; `from` is the old filter with `had`
	 * keys. revised() changes `shape` from the shape of `from` to the new one, and leaves
	 * keys->others->work for revise(). revise() builds into a part of the new shape, which is
	 * all zeros and unshared. Both fail with a message.
	 */
	int (*revised)(struct blm_shape *shape, const struct blm_part *from, uint64_t had,
		       const struct blm_sorted *keys);
	int (*revise)(struct blm_part *part, const struct blm_part *from,
		      const struct blm_sorted *keys);
	/* Can all data of this filter be read, and is nothing stored after them? */
	bool (*intact)(const struct blm_part *part);
	/*
	 * Makes one filter from several of the same template and from some keys, without the keys
	 * of these filters. merged(): its shape, from the first filter's, and its number of keys;
	 * fails with a message, -EOPNOTSUPP if a merge would need the keys. merge(): into a part of
	 * that shape that is all zeros and unshared.
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
	 * Ranges of keys, for families with `ordered`: is there any key from first[i] to last[i],
	 * both included? The answer is no for a hash that is no place, and for a range that ends
	 * before it begins.
	 */
	void (*contains_ranges)(const struct blm_part *part, const struct blm_hash *first,
				const struct blm_hash *last, size_t count, uint64_t *ret_bits);

	/* ======== ALGEBRA: kinds whose filters of one template combine or compare ======== */

	/*
	 * Over a range of the data, in pieces of 64 bytes: dst and src are the bytes at the same
	 * offset of two filters. Others may write to dst during unite(), unless part->unshared.
	 * intersect() is for a dst that no other thread sees. Both need tally(), rate_of() and
	 * keys_of().
	 */
	void (*unite)(const struct blm_part *part, void *dst, const void *src, size_t bytes);
	void (*intersect)(const struct blm_part *part, void *dst, const void *src, size_t bytes);
	/*
	 * Folding: a key has one block, floor(its hash * blocks / 2^n), so neighbouring blocks can
	 * become one. The bits of a block, a multiple of 64; 0: the kind does not fold. plan() and
	 * valid() take every number of blocks.
	 */
	uint32_t fold_bits;
	/*
	 * Counts cells, to estimate the number of keys from the data. No cell is in two words. The
	 * bytes include the padding, if they reach to the end.
	 */
	void (*tally)(const struct blm_part *part, const void *data, size_t bytes,
		      struct blm_tally *to);
	/* the rate with these bits */
	double (*rate_of)(const struct blm_shape *shape, const struct blm_tally *tally);
	/*
	 * The number of distinct keys for this share of ones. *ret_error: the standard error of
	 * that number, if all data were read.
	 */
	double (*keys_of)(const struct blm_shape *shape, double fill, double *ret_error);
	/*
	 * For cells that count keys: the number of keys by which two filters differ. differ(): adds
	 * the differences a - b and their squares to the tally, over a range of the data, in pieces
	 * of 64 bytes. difference_of(): the number of keys in only one of the filters; *ret_error:
	 * its standard error.
	 */
	void (*differ)(const struct blm_part *a, const struct blm_part *b, uint64_t at,
		       size_t bytes, struct blm_tally *to);
	double (*difference_of)(const struct blm_shape *shape, const struct blm_tally *tally,
				double *ret_error);
	/*
	 * Calls each() once for each key that is in only one filter, in any order, until it does
	 * not return 0; then returns that value. -EXFULL, without a message: there are more such
	 * keys than the table is for, so some were not passed to each(). -ENOMEM.
	 */
	int (*differences)(const struct blm_part *a, const struct blm_part *b,
			   const struct blm_hasher *by,
			   int (*each)(void *context, const struct blm_key *key, bool in_b),
			   void *context);
	/*
	 * For data that contain the data of another kind, with the same m, k and hash. become():
	 * writes `count` words of 64 bits of that kind's filter with the same keys, from word
	 * `first` on.
	 */
	const char *becomes;		/* the name of the other kind; its cells are bits */
	void (*become)(const struct blm_part *part, uint64_t first, uint64_t *ret, size_t count);

	/* ======== SPLITTING: kinds whose filters are split into parts (common/split.h) ======== */

	/*
	 * splits: the data can be cut at any multiple of 64 bytes without a change of meaning.
	 * place(): the offset of each key's cells in the data, which are within one line of 64
	 * bytes, so that a key belongs to one part; UINT64_MAX: the key has no cells. NULL: the
	 * cells of a key are anywhere. add_within(): for kinds without place(): sets the cells of
	 * the key that are in bytes from `from` up to `to`; returns 1 if the key is to be counted
	 * in this part.
	 */
	bool splits;
	void (*place)(const struct blm_part *part, const struct blm_hash *hashes, size_t count,
		      uint64_t *ret);
	int (*add_within)(struct blm_part *part, const struct blm_hashed *key, uint64_t from,
			  uint64_t to);
	/*
	 * For kinds with build(): writes only the bytes from `from` up to `to`, multiples of 64,
	 * with the contents that build() would give them. `keys` are all keys of the filter.
	 */
	int (*build_within)(struct blm_part *part, const struct blm_sorted *keys, uint64_t from,
			    uint64_t to);

	/* ======== COMPOSITE: filters of several parts, each of another kind ======== */

	/*
	 * The other functions work on part->sub[], the parts. compose(): plans the i-th part, from
	 * the shape of the filter; false: there is no such part. parts(): how many parts a new
	 * filter has; these have the cells and probes of compose(). Parts that are appended later
	 * keep the cells and probes that compose() returned then, on that machine. counts(): the
	 * keys of part i are in the filter (1), are removed from it (-1), or do not count now (0).
	 */
	bool (*compose)(const struct blm_shape *root, unsigned i, struct blm_component *ret);
	unsigned (*parts)(const struct blm_shape *root);
	int (*counts)(const struct blm_part *root, unsigned i);
	/*
	 * For parts that are levels: the level into which part i moves when all keys are one step
	 * farther away; false: it moves out of reach.
	 */
	bool (*advance)(const struct blm_part *root, unsigned i, unsigned *ret_to);
	/*
	 * For kinds that are extended now and then (extend.c, under a lock). space(): how many keys
	 * may be added before the next extension; 0: none; UINT64_MAX: time decides. keys: how many
	 * were added so far, by the count. Kinds that grow: next() plans the part to append, in
	 * proportion to the existing parts, whatever the file claims; false: no further part is
	 * possible. fits(): how many keys part i is for, if it has the cells for them; otherwise
	 * about how many its cells can hold. Kinds with a ring of slots: begin_slot() clears the
	 * part that will be the next slot and returns its number; when the cleared part is on the
	 * disk, turn() makes it the newest slot.
	 */
	uint64_t (*space)(const struct blm_part *root, uint64_t keys);
	bool (*next)(const struct blm_part *root, struct blm_component *ret);
	uint64_t (*fits)(const struct blm_part *root, unsigned i);
	unsigned (*begin_slot)(struct blm_part *root);
	void (*turn)(struct blm_part *root, uint64_t keys);

	/* ======== Speed and reports: optional ======== */

	/*
	 * The i-th fact about this filter, other than its sizes; false: there are no more. It may
	 * read all data.
	 */
	bool (*describe)(const struct blm_part *part, unsigned i, struct blm_fact *ret);
	/* The predicted fact of a filter of this shape that is filled to its capacity. */
	bool (*foretell)(const struct blm_shape *shape, unsigned i, struct blm_fact *ret);
	/* Prefetches the memory that contains() will read. */
	void (*prefetch)(const struct blm_part *part, const struct blm_hashed *key);
	/*
	 * The i-th word that contains() reads, from 0, and the bits that must be set there for it
	 * to read the next (0: any). NULL: there are no more. It is for files that are not in
	 * memory: a caller requests all pages first, then asks.
	 */
	const uint64_t *(*probe)(const struct blm_part *part, const struct blm_hashed *key,
				 unsigned i, uint64_t *ret_mask);
	/* The kind's own loops over many keys; batch.h describes arguments and results. */
	void (*contains_many)(const struct blm_part *part, const struct blm_batch *batch,
			      uint64_t *ret_bits);
	int  (*add_many)(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits);
	int  (*claim_many)(struct blm_part *part, const struct blm_batch *batch,
			   uint64_t *ret_bits);
	/* the best number of keys for one call of the loops: 128, BLM_BATCH_LARGE; 0: BLM_BATCH */
	unsigned batch;
	/* Adds many keys to a part that is not shared yet, in the order of memory (partition.h). */
	const struct blm_fill *fill;
};

/* The unused bits of each word, for kinds with cells_in_words. */
static inline uint64_t left_of_word(const struct blm_part *part)
{
	unsigned bits = part->shape.cell_bits, used = 64 / bits * bits;

	return part->kind->cells_in_words && used < 64 ? UINT64_MAX << used : 0;
}

/* Padding: bits that belong to no cell. All of them are at padding_from() or after. */
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
