/*
 * build.h - shared by the files that build a filter; bloomery.h has the public functions
 */
#ifndef BLM_BUILD_H
#define BLM_BUILD_H

#include "handle/allowlist_carry.h"
#include "make/new_filter.h"
#include "make/partition_pool.h"
#include "sort/sort.h"

struct blm_build {
	struct blm_place place;
	struct blm_build_options options;
	bool replace;
	struct blm_allowlist_carry *carry;	/* for the replaced allowlist; or NULL */
	struct blm_spec spec;
	struct blm_choice choice;
	uint8_t *secret;		/* in memory that is not dumped */
	struct blm_hasher hasher;
	uint64_t seeds[BLM_SEEDS_MAX];
	uint64_t hash_id;
	/* keys, before there is a file; then `sort` is in use, otherwise `staged` and `pool` */
	bool gathers;
	bool wants_values;
	struct blm_sort sort;
	/* kinds that also know keys that are not in the filter: `excluded` is in use */
	bool excludes;
	struct blm_sort excluded;
	struct blm_others others;
	uint64_t kept_free;		/* memory that gathering keys leaves free */
	struct blm_staged staged;
	struct blm_buffer_pool pool;
	/*
	 * for kinds that grow or rotate, if the size is known: the handle that extends a full
	 * filter; otherwise NULL
	 */
	struct blm_filter *growing;
};

/*
 * A caller's input: keys, or keys of one length that follow each other, or hashes; and values, or
 * none.
 */
struct blm_build_input {
	const struct blm_key *keys;
	const uint8_t *fixed;
	size_t width;
	const struct blm_hash *hashes;
	const uint64_t *values;
	size_t count;
};

/*
 * At most BLM_BATCH of them, from number `at` on; keys, hashes: arrays of that size, which the
 * result points to.
 */
struct blm_batch blm_build_batch(const struct blm_build *b, const struct blm_build_input *in,
				 size_t at, struct blm_key *keys, struct blm_hash *hashes);

/* The message for an error of a kind during an add, with the name of the file. */
int blm_build_word(const struct blm_build *b, int r);

/* ---- build_part.c ---- */

/* Can the part of a split filter be built that the parameters name? -EOPNOTSUPP, with a message. */
int blm_build_check_part(const struct blm_build *b);
/* A part of a kind that is made from all its keys at once, from the gathered keys. */
int blm_build_part(struct blm_build *b);
/* The new file is there. */
void blm_build_begin_part(struct blm_build *b);
/* Does the part own some cells of each key, not all cells of some keys? */
static inline bool builds_cells(const struct blm_build *b)
{
	return b->spec.split_parts && b->spec.of->add_within;
}
/* Add them to a part that builds_cells(). */
int blm_build_add_cells(struct blm_build *b, const struct blm_build_input *in);
/* The keys of a batch that the part owns, moved to the front of `buffer`. */
struct blm_batch blm_build_owned(const struct blm_build *b, struct blm_batch batch,
				 struct blm_hash *buffer);

/* ---- build_raw.c ---- */

/* Where raw data came without a count, estimate it. */
int blm_build_count_raw(struct blm_build *b);

#endif
