/*
 * column.h - what a hash of the family xxh3-column says of its key's column
 *
 * Such a key is a column, a tab, and the rest. The upper bits of `lo` are a hash of the column,
 * XORed with a multiple of `hi`: so a kind that knows can have the column's number back, and for
 * all others `lo` is as good as random.
 */
#ifndef BLM_COLUMN_H
#define BLM_COLUMN_H

#include "base/base.h"
#include "bloomery.h"

enum { COLUMN_BITS = 27 };

static inline uint64_t column_mask(uint64_t hi)
{
	return hi * UINT64_C(0x9E3779B97F4A7C15);
}

/* The number of the key's column, below 2^COLUMN_BITS. Columns can share one. */
static inline uint32_t column_of(const struct blm_hash *hash)
{
	return (uint32_t)((hash->lo ^ column_mask(hash->hi)) >> (64 - COLUMN_BITS));
}

#endif
