/*
 * single.h - one key in one call: hash and probes compiled together
 *
 * A question by way of a family and a kind is three calls through pointers: the family hashes, the
 * kind finds the block, the instruction set looks at it. single.c has functions that do all of it,
 * for the pairs of family and kind that most filters are, compiled for each instruction set. They
 * answer, and change, bit for bit what the pointers do. A pair that is not in its table has none,
 * and nothing else knows the pairs: a new kind or family needs no line here.
 */
#ifndef BLM_KIND_SINGLE_H
#define BLM_KIND_SINGLE_H

#include "kind/kind.h"

struct blm_one;
/*
 * Asks for many keys of 8 or 16 bytes that follow each other, in a filter in the cache: no line is
 * asked for ahead. ret_bits: as of contains_many() in struct blm_kind.
 */
typedef void blm_single_contains_fixed(const struct blm_one *one, const uint8_t *bytes,
				       size_t width, size_t count, uint64_t *ret_bits);
typedef bool blm_single_contains(const struct blm_one *one, const void *bytes, size_t len);

/* The same, and the key's hash, for a claim of it. */
typedef bool blm_single_ask(const struct blm_one *one, const void *bytes, size_t len,
			    struct blm_hash *ret);
/* The kind's claim() of a key that is hashed */
typedef bool blm_single_claim(const struct blm_one *one, const struct blm_hash *hash);
/* Return: as the kind's add() */
typedef int blm_single_add(const struct blm_one *one, const void *bytes, size_t len);
/* The same for a key that the caller hashed. */
typedef bool blm_single_contains_hash(const struct blm_one *one, const struct blm_hash *hash);
typedef int blm_single_add_hash(const struct blm_one *one, const struct blm_hash *hash);

/*
 * The members of a part and its hasher that such a call needs, the most needed ones in the first
 * cache line. The numbers are copies, so code that changes a part or a hasher makes this anew.
 */
struct blm_one {
	blm_single_contains *contains;	/* NULL: the view has to look at each key */
	blm_single_add *add;
	uint8_t *data;
	uint64_t units;			/* blocks, or cells where the kind has none */
	uint64_t prepared[2];		/* of the seed, for xxh3_16() or xxh3_64_16() */
	uint32_t probes;
	/* the lowest bits are set, one for each probe; for more than 31 probes: 0 */
	uint32_t lanes;
	struct blm_part *part;
	/* the next line */
	const struct blm_hasher *by;
	uint64_t seed;			/* the first; 0: the family has none */
	blm_single_ask *ask;		/* NULL: no key is claimed directly */
	blm_single_claim *claim;	/* NULL: by the kind */
	blm_single_contains_hash *contains_hash;	/* NULL: ask the kind */
	blm_single_add_hash *add_hash;	/* NULL: the family has no hashes of 128 bits */
	blm_single_contains_fixed *contains_fixed;	/* NULL: ask the kind */
};

struct blm_single {
	const struct blm_family *family;
	const struct blm_kind *kind;
	unsigned probes;		/* that a filter may have, from 1 on */
	unsigned unit_bits;
	blm_single_contains *contains;
	blm_single_add *add;
	blm_single_ask *ask;
	blm_single_claim *claim;
	blm_single_contains_hash *contains_hash;
	blm_single_add_hash *add_hash;
	blm_single_contains_fixed *contains_fixed;
};

/* For an instruction set: one table, whose last entry has no kind. */
struct blm_single_set {
	const char *name;		/* of the set, as in struct blm_simd */
	const struct blm_single *of;
};

/*
 * For a part and a hasher that stay where they are, by the part's instruction set. Where the pair
 * is not in the table, contains() and the adds call the family and the kind, the other questions
 * are NULL, and so is contains() of a kind that grows.
 */
void blm_one_make(struct blm_one *ret, struct blm_part *part, const struct blm_hasher *by);

#endif
