/*
 * kind.h - what a kind of filter is
 *
 * One file in this folder a kind. A kind is a constant struct of functions over a part: its shape (numbers from the header,
 * checked and copied) and its bytes in the map. A kind never opens, maps, locks or hashes; whoever calls has done that.
 *
 * A function left NULL is something the kind cannot do. Nothing else says so: blm_kind_can() reads the pointers, so what a
 * kind claims and what it does cannot drift apart.
 *
 * Concurrency: unless a comment says otherwise a function may run at the same time as any other on the same bytes, in any
 * thread of any process, and any process may die in the middle of it.
 */
#ifndef BLM_KIND_H
#define BLM_KIND_H

#include "base.h"
#include "bloomery.h"
#include "hash/key.h"
#include "simd/simd.h"

enum { BLM_KIND_ARGS = 8 };

/* What a filter is made as, unless its maker says; and where the numbers of bits and probes, or an old hash, are given. */
#define BLM_DEFAULT_KIND "blocked"
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
	struct blm_shape shape;
	uint8_t *bytes;			/* in the map, aligned to 64; writable only where the filter was opened so */
	struct blm_part *sub;		/* what a composite kind is made of; its own bytes are none */
	unsigned subs;
	bool alone;			/* nobody else sees these bytes yet: changes need not be atomic */
};

/* What a pass over (some of) the data counted. Kinds add to it; zero it first. */
struct blm_census {
	uint64_t bytes;			/* read */
	uint64_t ones;			/* cells that are set */
	uint64_t blocks[513];		/* of blocked kinds: how many blocks have so many ones */
};

struct blm_kind {
	uint32_t id;			/* in the file; never reused */
	const char *name;		/* in the catalog and on the command line */
	const char *summary;		/* one line, for `bloomery kinds` */

	/* ---- Every kind ---- */

	/* Sizes for these parameters, all of which are in range; fails with words. */
	int (*plan)(struct blm_shape *ret, const struct blm_params *params);
	/* Untrusted numbers: could plan() have made them? */
	bool (*valid)(const struct blm_shape *shape);
	bool (*contains)(const struct blm_part *part, const struct blm_hashed *key);
	/* The false-positive rate with so many keys in it. */
	double (*rate_at)(const struct blm_shape *shape, uint64_t keys);

	/* ---- Kinds that take keys one by one. Return 1: changed; 0: held it already; or a negative errno ---- */
	int (*add)(struct blm_part *part, const struct blm_hashed *key);
	int (*remove)(struct blm_part *part, const struct blm_hashed *key);
	/* Add, and tell exactly one of all who race whether it was the first. */
	int (*claim)(struct blm_part *part, const struct blm_hashed *key);

	/* ---- Kinds that are made from all their keys at once ---- */
	int (*build)(struct blm_part *part, struct blm_hash *keys, const uint64_t *values, size_t count);

	/* ---- Kinds that hold a value for each key; get() returns 0 for "absent" ---- */
	int (*put)(struct blm_part *part, const struct blm_hashed *key, uint64_t value);
	int (*get)(const struct blm_part *part, const struct blm_hashed *key, uint64_t *ret);

	/*
	 * ---- Kinds where two filters of one template combine ----
	 * Over a range of the data, in pieces of 64 bytes: dst and src are what lies at the same place of two filters.
	 * unite() copes with others that write to dst, unless part->alone; intersect() is for a dst that nobody else sees.
	 */
	void (*unite)(const struct blm_part *part, void *dst, const void *src, size_t bytes);
	void (*intersect)(const struct blm_part *part, void *dst, const void *src, size_t bytes);

	/* ---- Kinds whose data tells how many keys are in it ---- */
	void (*census)(const struct blm_part *part, const void *data, size_t bytes, struct blm_census *to);
	double (*rate_of)(const struct blm_shape *shape, const struct blm_census *census);	/* the rate with these bits */
	/* Distinct keys for this share of ones; *ret_error: the standard error of that, were all the data read. */
	double (*keys_of)(const struct blm_shape *shape, double fill, double *ret_error);

	/* ---- Worth having, never needed ---- */

	/* Ask for the memory that contains() will touch. */
	void (*prefetch)(const struct blm_part *part, const struct blm_hashed *key);
	/* A loop of one's own over many keys; the bits as in blm_contains_many(), past count written as 0. */
	void (*contains_many)(const struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits);
	int  (*add_many)(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits);
	/* Bytes in which every bit must be 0, as an offset from the end: how many of the last bits are no cell's. */
	unsigned (*padding_bits)(const struct blm_shape *shape);
	/* Composite kinds: the names of their parts' kinds, in order, NULL at the end. */
	const char *const *made_of;

	bool every_family;		/* takes also families that hash a key once for each probe */
	bool forgets;			/* contains() may say no to a key that was given and not taken back */
	bool lone_writer;		/* changes are not atomic: the caller holds the writers' lock around them */
};

const struct blm_kind *blm_kind_by_name(const char *name);
const struct blm_kind *blm_kind_by_id(uint32_t id);
const struct blm_kind *blm_kind_at(size_t i);	/* NULL past the last */
unsigned blm_kind_can(const struct blm_kind *kind);

/* The names of the kinds that can do all of `can`, with commas, for messages. */
const char *blm_kinds_that_can(unsigned can, char *buffer, size_t bytes);

/*
 * Ask or change many, by whichever way the kind has: its own loop, or prefetch all and take them one by one. At most 64
 * a call: enough to hide the memory's latency, few enough to stay in the first cache.
 */
enum { BLM_BATCH = 64 };
uint64_t blm_part_contains(const struct blm_part *part, const struct blm_batch *batch);
int blm_part_add(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits);
int blm_part_claim(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits);

#endif
