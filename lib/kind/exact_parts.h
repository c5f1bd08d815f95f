/*
 * exact_parts.h - a first level in parts: each is a ribbon of its own rate, for the keys of some
 * columns (format-spec.md, "Kind 21: exact")
 *
 * If the share of the keys differs by column, each share has its own best rate. The level begins
 * with an entry for each part. The columns outside of part 0 follow, and then the ribbons. The
 * second level has no parts: all keys are in it, and the others that their parts let through.
 */
#ifndef BLM_KIND_EXACT_PARTS_H
#define BLM_KIND_EXACT_PARTS_H

#include "hash/column.h"
#include "kind/exact.h"

/* In the file, little-endian. A part without keys denies all, one without bytes denies none. */
struct exact_part {
	uint64_t keys, bytes;
};
static_assert(sizeof(struct exact_part) == 16, "format-spec.md, exact");

/* A column's number, and in the lower bits its part. They ascend. */
enum { EXACT_PART_BITS = 32 - COLUMN_BITS, EXACT_PARTS_MAX = 1 << EXACT_PART_BITS };

/* The division of such a level, and its saving. */
struct exact_division {
	unsigned parts;			/* 0: it is not divided */
	uint64_t keys[EXACT_PARTS_MAX];
	double rate[EXACT_PARTS_MAX];	/* 1: the ribbon is left out; 0: there are no keys */
	uint32_t *columns;		/* entries, in order */
	uint64_t count;
	uint64_t saved;			/* bytes of both levels, about */
};

static inline uint64_t exact_table_bytes(uint64_t parts, uint64_t columns)
{
	return round_up(parts * sizeof(struct exact_part) + columns * sizeof(uint32_t),
			BLM_SHARD_ALIGN);
}

/* ---- exact_parts.c ---- */

/*
 * A kind that no file has: such a level, for questions. The shape has the parts and the number of
 * their columns as arguments.
 */
enum { EXACT_LEVEL_PARTS, EXACT_LEVEL_COLUMNS };
extern const struct blm_kind blm_exact_parts;
/* Is the level as its entries say? */
bool blm_exact_parts_valid(const struct blm_part *level);

/* ---- exact_divide.c ---- */

/*
 * By the columns of both lists, at rates of at most `most`. The caller frees ret->columns. Return:
 * 0, or a negative errno, with a message.
 */
int blm_exact_divide(struct exact_division *ret, const struct blm_sorted *keys, double most);
/* The level, in memory that the caller frees: ret_level->bytes. */
int blm_exact_build_parts(struct blm_part *ret_level, const struct exact_division *by,
			  const struct blm_sorted *keys);

#endif
