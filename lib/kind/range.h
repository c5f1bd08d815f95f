/*
 * range.h - the places of a range filter's keys in its data: order-preserving within a block, as
 * good as random between blocks (format-spec.md, "Kind 23: range")
 */
#ifndef BLM_KIND_RANGE_H
#define BLM_KIND_RANGE_H

#include "hash/ordered.h"
#include "kind/golomb.h"

enum { RANGE_WIDTH };		/* which of its arguments is what */
enum { RANGE_BLOCK_BITS_LEAST = 3 };

/*
 * How the places of a level of keys become numbers below `range`. a and b are 128 bits each, made
 * of the seed and the level.
 */
struct range_order {
	uint64_t range;
	unsigned block_bits;
	uint64_t key;			/* the lower word of the hash that a and b are made of */
	unsigned __int128 a, b;
};

/*
 * A block has 8 widths at least, so that few ranges need two. In a level whose keys are 2^level
 * places each a range is shorter, and so is a block: of more blocks the rate is nearer to its mean.
 */
static inline unsigned range_block_bits(uint64_t width, unsigned level)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll(8 * width - 1);

	return bits > RANGE_BLOCK_BITS_LEAST + level ? bits - level : RANGE_BLOCK_BITS_LEAST;
}

static inline uint64_t range_mix(uint64_t x)	/* splitmix64's finaliser, a bijection */
{
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

static inline void range_order_of(struct range_order *ret, const struct blm_shape *shape,
				  uint64_t key)
{
	const uint64_t step = UINT64_C(0x9E3779B97F4A7C15);

	ret->range = shape->cells;
	ret->block_bits = range_block_bits(shape->args[RANGE_WIDTH], key & ORDERED_LEVEL);
	ret->key = key;
	ret->a = (unsigned __int128)range_mix(key + step) << 64 | range_mix(key + 2 * step);
	ret->b = (unsigned __int128)range_mix(key + 3 * step) << 64 | range_mix(key + 4 * step);
}

/*
 * Where a block begins. The upper half of a x + b mod 2^128 is pairwise independent for all x of 64
 * bits (M. Dietzfelbinger, STACS 1996): so a key and a question of two blocks meet with probability
 * 1 / range, whatever the keys are. The bijection keeps that, and ends the regular steps that
 * blocks in a row would else have.
 */
static inline uint64_t range_block_at(const struct range_order *order, uint64_t block)
{
	return scale(range_mix((uint64_t)((order->a * block + order->b) >> 64)), order->range);
}

static inline uint64_t range_within(const struct range_order *order, uint64_t place)
{
	return place & ((UINT64_C(1) << order->block_bits) - 1);
}

/* The number of a place; both terms are below the range. */
static inline uint64_t range_number(const struct range_order *order, uint64_t place)
{
	uint64_t number = range_block_at(order, place >> order->block_bits)
		+ range_within(order, place);

	return number < order->range ? number : number - order->range;
}

/* The numbers of sorted keys, in order, a slice of the range at a time (range_keys.c). */
struct range_keys {
	struct golomb_numbers numbers;
	const struct blm_sorted *keys;
	struct blm_shape shape;
	bool tell;
	uint64_t *number, *spare;	/* two arrays of `capacity` */
	size_t capacity, used, at;
	uint64_t slice, slices;
	uint64_t levels;		/* bit i: a key of level i was read */
};

/*
 * Fails with words. tell: report each slice as progress. Memory is what keys say, or more where
 * many keys fall into one slice.
 */
int blm_range_keys_open(struct range_keys *ret, const struct blm_sorted *keys,
			const struct blm_shape *shape, bool tell);
void blm_range_keys_close(struct range_keys *k);

#endif
