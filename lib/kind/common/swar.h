/*
 * swar.h - several small numbers side by side in a word, the first in its lowest bits: compared all
 * at once
 *
 * A lane is `bits` wide. A number in every lane is that number times `low`, the lowest bit of each;
 * `high` is the highest bit of each.
 */
#ifndef BLM_KIND_LANES_H
#define BLM_KIND_LANES_H

#include "base/base.h"

struct blm_lanes {
	uint64_t low, high;
};

static inline struct blm_lanes lanes_of(unsigned count, unsigned bits)
{
	/* all ones / the ones of a lane */
	uint64_t low = (UINT64_MAX >> (64 - count * bits)) / (UINT64_MAX >> (64 - bits));

	return (struct blm_lanes){ low, low << (bits - 1) };
}

/*
 * The highest bit of each lane that is 0, and no other bit. Adding all but the highest bits never
 * carries into the next lane.
 */
static inline uint64_t lanes_zero(uint64_t word, struct blm_lanes l)
{
	uint64_t rest = l.high - l.low;		/* all bits of each lane but the highest */

	return ~(((word & rest) + rest) | word) & l.high;
}

/* Not 0 if any of them is. Bits above the last lane do not matter. */
static inline uint64_t lanes_any_zero(uint64_t word, struct blm_lanes l)
{
	return (word - l.low) & ~word & l.high;
}

/*
 * `count` bits (1 to 64), from bit `at` on, of shared words; those above are left to chance. Each
 * word is loaded (acquire) by itself.
 */
static inline uint64_t lanes_load(const uint64_t *words, uint64_t at, unsigned count)
{
	uint64_t first = load_acquire(words + at / 64),
		last = load_acquire(words + (at + count - 1) / 64);

	return first >> at % 64 | last << 1 << (63 - at % 64);
}

/*
 * Division by the number of cells of a word, 1 to 64, which is not a constant: this once, then a
 * multiplication each. Exact for numbers less than 2^57, because the rounding error of the inverse
 * then adds up to less than 1 / by.
 */
static inline uint64_t lanes_inverse(unsigned by)
{
	return ((UINT64_C(1) << 63) + by - 1) / by;
}

static inline uint64_t lanes_divide(uint64_t n, uint64_t inverse)
{
	return scale(2 * n, inverse);
}

#endif
