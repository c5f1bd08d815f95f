/*
 * range.h - the places of a range filter's keys in its data: order-preserving within a block, as
 * good as random between blocks (format-spec.md, "Kind 23: range")
 */
#ifndef BLM_KIND_RANGE_H
#define BLM_KIND_RANGE_H

#include "hash/ordered.h"
#include "kind/golomb.h"

enum { RANGE_WIDTH, RANGE_NEST };	/* which of its arguments is what */
enum { RANGE_BLOCK_BITS_LEAST = 3, RANGE_NEST_MOST = 16, RANGE_LEVELS = 64 };
/* Where the word of levels is in the data; a question for more blocks is answered yes. */
enum { RANGE_LEVELS_AT = 40, RANGE_BLOCKS_MOST = 1 << 16 };

/*
 * How the places of a group of levels become numbers below `range`. The levels of a group share
 * their blocks: first come the places of the lowest level, then half as many of the next one, and
 * so on. a and b are 128 bits each, made of the seed and the lowest level.
 */
struct range_order {
	uint64_t range;
	unsigned lowest, block_bits;	/* 2^block_bits places of the lowest level in a block */
	uint64_t key;			/* the lower word of the hash that a and b are made of */
	unsigned __int128 a, b;
};

static inline unsigned range_nest(const uint64_t args[BLM_KIND_ARGS])
{
	return args[RANGE_NEST] ? (unsigned)args[RANGE_NEST] : 1;
}

/*
 * A block has 8 widths at least, so that few ranges need two. In a level whose keys are 2^level
 * places each a range is shorter, and so is a block: of more blocks the rate is nearer to its mean.
 * The highest level of a group has one place in a block at least.
 */
static inline unsigned range_block_bits(const uint64_t args[BLM_KIND_ARGS], unsigned lowest)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll(8 * args[RANGE_WIDTH] - 1),
		least = RANGE_BLOCK_BITS_LEAST;

	least = range_nest(args) > least ? range_nest(args) - 1 : least;
	return bits > least + lowest ? bits - lowest : least;
}

/* The numbers of a block of a group. The lowest group, 0, has the most. */
static inline uint64_t range_block_numbers(const uint64_t args[BLM_KIND_ARGS], unsigned lowest)
{
	return UINT64_C(1) << (range_block_bits(args, lowest) + (range_nest(args) > 1));
}

static inline uint64_t range_mix(uint64_t x)	/* splitmix64's finaliser, a bijection */
{
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

/* Of the level of a key, whose lower word of the hash this is. */
static inline void range_order_of(struct range_order *ret, const struct blm_shape *shape,
				  uint64_t lo)
{
	const uint64_t step = UINT64_C(0x9E3779B97F4A7C15);
	unsigned level = lo & ORDERED_LEVEL;
	uint64_t key;

	ret->range = shape->cells;
	ret->lowest = level - level % range_nest(shape->args);
	ret->block_bits = range_block_bits(shape->args, ret->lowest);
	ret->key = key = (lo ^ level) | ret->lowest;
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

/* How many bits of a place of a level are its place within a block. */
static inline unsigned range_level_bits(const struct range_order *order, unsigned level)
{
	return order->block_bits - (level - order->lowest);
}

/* How many numbers of a group's block belong to levels below the level that has `level_bits`. */
static inline uint64_t range_numbers_below(unsigned block_bits, unsigned level_bits)
{
	return (UINT64_C(2) << block_bits) - (UINT64_C(2) << level_bits);
}

/* Where the places of a level begin in a block: behind those of the lower levels of the group. */
static inline uint64_t range_level_at(const struct range_order *order, unsigned level)
{
	return range_numbers_below(order->block_bits, range_level_bits(order, level));
}

static inline uint64_t range_within(const struct range_order *order, unsigned level,
				    uint64_t place)
{
	return range_level_at(order, level)
		+ (place & ((UINT64_C(1) << range_level_bits(order, level)) - 1));
}

/* The number of a place; both terms are below the range. */
static inline uint64_t range_number(const struct range_order *order, unsigned level,
				    uint64_t place)
{
	uint64_t number = range_block_at(order, place >> range_level_bits(order, level))
		+ range_within(order, level, place);

	return number < order->range ? number : number - order->range;
}

/* The orders of all groups. They are made where they are first needed. */
struct range_orders {
	const struct blm_shape *shape;
	uint64_t made;			/* bit i: order[i] is; i is the lowest level of a group */
	struct range_order order[RANGE_LEVELS];
};

/* key: the lower word of a hash, without its level. */
static inline const struct range_order *range_order_at(struct range_orders *orders, uint64_t key,
						       unsigned lowest)
{
	struct range_order *order = &orders->order[lowest];

	if (!(orders->made >> lowest & 1) || order->key != (key | lowest)) {
		range_order_of(order, orders->shape, key | lowest);
		orders->made |= UINT64_C(1) << lowest;
	}
	return order;
}

static inline const struct range_order *range_order_for(struct range_orders *orders,
							const struct blm_hash *hash)
{
	unsigned level = ordered_level(hash);

	return range_order_at(orders, hash->lo ^ level,
			      level - level % range_nest(orders->shape->args));
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

/* ---- Questions (range_ask.c) ---- */

/* As the members of struct blm_kind. */
bool blm_range_contains(const struct blm_part *part, const struct blm_hashed *key);
void blm_range_contains_many(const struct blm_part *part, const struct blm_batch *batch,
			     uint64_t *ret_bits);
void blm_range_contains_ranges(const struct blm_part *part, const struct blm_hash *first,
			       const struct blm_hash *last, size_t count, uint64_t *ret_bits);

#endif
