/*
 * split.h - which part of a split filter owns which bytes of its data, and so which keys
 *
 * A filter of N parts is N files with the same parameters and size. Each part holds one range of
 * the data, and zeros instead of the others, so its file is sparse. The ranges are complete units:
 * the blocks of 64 KiB that have records (layout.h), so that two parts share neither a page nor a
 * record; or lines of 64 bytes if the data have less than 1 MiB for each part. With U units, unit u
 * belongs to part u * N / U (format-spec.md, "Parts of a split filter").
 */
#ifndef BLM_KIND_SPLIT_H
#define BLM_KIND_SPLIT_H

#include "kind/kind.h"

/* What no place leads to: any part answers for it. */
#define BLM_EVERY_PART UINT32_MAX

/*
 * In a part that build_within() made: the own word with a number made from all keys of the filter,
 * so that parts of other keys are recognised. Other parts, and complete filters of these kinds,
 * have 0 there.
 */
enum { BLM_OWN_KEYS = 0 };

/* Which part of how many a file is, counted from 0, and its range of the data. */
struct blm_split {
	uint32_t part, parts;		/* parts 0: it is no part, but a whole filter */
	uint64_t from, to;
};

/* The bytes of a unit: at least 64, a divisor of 64 KiB. */
uint64_t blm_split_unit(uint64_t bytes, uint32_t parts);

/* The range of a part. */
struct blm_split blm_split_of(const struct blm_part *root, uint32_t part, uint32_t parts);

/* A share of a count, where the keys of a part are not known; all shares together are the count. */
uint64_t blm_split_share(uint64_t keys, uint32_t part, uint32_t parts);

/* The owners of many keys, for a kind with place(): the values that are the same for all keys. */
struct blm_owners {
	const struct blm_part *root;
	uint32_t parts;
	unsigned shift;			/* the bytes of a unit, as a power of 2 */
	uint64_t units, inverse;	/* inverse: (2^64 - 1) / units */
};

struct blm_owners blm_owners_of(const struct blm_part *root, uint32_t parts);
void blm_owners_find(const struct blm_owners *owners, const struct blm_hash *hashes, size_t count,
		     uint32_t *ret);
/* ... of one key */
uint32_t blm_split_owner(const struct blm_part *root, uint32_t parts, const struct blm_hash *hash);

/* Is this place the part's? */
static inline bool split_owns(const struct blm_split *split, uint64_t place)
{
	return place - split->from < split->to - split->from || place == UINT64_MAX;
}

#endif
