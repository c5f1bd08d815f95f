/*
 * golomb_search.h - where in the data of a golomb filter a number is, or one of a range
 * (format-spec.md, "Kind 15: golomb")
 *
 * A question reads a few words of the vector of high halves, and one block. Whatever the data say,
 * nothing outside of them is read, and every loop ends.
 */
#ifndef BLM_KIND_GOLOMB_SEARCH_H
#define BLM_KIND_GOLOMB_SEARCH_H

#include "kind/golomb_layout.h"

#define EACH_BYTE UINT64_C(0x0101010101010101)
#define TOP_BITS (EACH_BYTE << 7)

/* The set bits of each byte, and of all bytes below it. */
static inline uint64_t sums_of_ones(uint64_t w)
{
	w -= w >> 1 & UINT64_C(0x5555555555555555);
	w = (w & UINT64_C(0x3333333333333333)) + (w >> 2 & UINT64_C(0x3333333333333333));
	return ((w + (w >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * EACH_BYTE;
}

static inline unsigned ones_of(uint64_t w)
{
	return (unsigned)(sums_of_ones(w) >> 56);
}

/* How many bytes of `sums`, all below 128, are at most n. */
static inline unsigned bytes_up_to(uint64_t sums, unsigned n)
{
	uint64_t is = (((n * EACH_BYTE | TOP_BITS) - sums) & TOP_BITS) >> 7;

	return (unsigned)(is * EACH_BYTE >> 56);
}

/*
 * The place of the n-th set bit, from 0, of a word that has more. Without branches, which would be
 * guesses: S. Vigna, "Broadword Implementation of Rank/Select Queries", WEA 2008.
 */
static inline unsigned nth_one(uint64_t w, unsigned n)
{
	uint64_t sums = sums_of_ones(w), bits;
	unsigned at = 8 * bytes_up_to(sums, n);

	n -= (unsigned)(sums << 8 >> at) & 255;
	/* bit i in byte i */
	bits = (w >> at & 255) * EACH_BYTE & UINT64_C(0x8040201008040201);
	bits = (((bits + (TOP_BITS - EACH_BYTE)) | bits) & TOP_BITS) >> 7;
	return at + bytes_up_to(bits * EACH_BYTE, n);
}

/*
 * The place in the vector behind the n-th zero at or after `at`; its end if there are fewer. n 0:
 * `at`.
 */
static inline uint64_t behind_zeros(const struct layout *l, uint64_t at, unsigned n)
{
	while (n && at / 64 < l->vector_words) {
		uint64_t w = ~load_relaxed(&l->vector[at / 64]) >> at % 64;
		unsigned zeros = ones_of(w), here = 64 - at % 64;

		if (zeros >= n)
			return at + nth_one(w, n - 1) + 1;
		n -= zeros;
		at += here;
	}
	return at;
}

/*
 * The first block whose first number has this high half, or would come behind: *ret_at is its place
 * in the vector.
 */
static inline uint64_t first_block(const struct layout *l, uint64_t high, uint64_t *ret_at)
{
	*ret_at = behind_zeros(l, le32toh(__atomic_load_n(&l->samples[high
		/ SAMPLE], __ATOMIC_RELAXED)), (unsigned)(high % SAMPLE));
	return *ret_at - high;
}

/*
 * How many high halves a number may be behind the first of its block: all the codes that there is
 * room for, at their longest.
 */
static inline uint64_t reach(const struct layout *l)
{
	unsigned __int128 most = (unsigned __int128)(8 * l->code.block_bytes + 1) * l->code.divisor
		>> l->code.low_bits;

	return (uint64_t)most + 2;
}

static inline void prefetch_block(const struct layout *l, uint64_t block)
{
	const uint8_t *at = l->block + (block < l->blocks ? block : 0) * l->code.block_bytes;

	__builtin_prefetch(at - (block ? l->code.block_bytes : 0));
	__builtin_prefetch(at);
	__builtin_prefetch(at + l->code.block_bytes - 1);
}

/* How many blocks from this one on have the high half of the place `at` in the vector. */
static inline uint64_t run_of(const struct layout *l, uint64_t block, uint64_t at)
{
	uint64_t ones = 0, most = block < l->blocks ? l->blocks - block : 0;

	while (ones < most && at / 64 < l->vector_words) {
		uint64_t zeros = ~load_relaxed(&l->vector[at / 64]) >> at % 64;

		if (zeros)
			return ones + (unsigned)__builtin_ctzll(zeros) < most
				? ones + (unsigned)__builtin_ctzll(zeros) : most;
		ones += 64 - at % 64;
		at += 64 - at % 64;
	}
	return ones < most ? ones : most;
}

/* The set bit before the place `at` of the vector, not more than `most` zeros away. */
static inline bool one_before(const struct layout *l, uint64_t at, uint64_t most, uint64_t *ret)
{
	uint64_t from = at;

	if (at > 64 * l->vector_words)
		return false;
	while (at && from - at <= most) {
		uint64_t w = load_relaxed(&l->vector[(at - 1) / 64]) << (63 - (at - 1) % 64);

		if (w) {
			*ret = at - 1 - (unsigned)__builtin_clzll(w);
			return from - 1 - *ret <= most;
		}
		at = (at - 1) / 64 * 64;
	}
	return false;
}

/*
 * The last block whose first number is not above `last`, given the first one with that high half,
 * or behind it, and its place in the vector (first_block). False: there is none, or it is so far
 * before `first` that it has no number from there on.
 */
static inline bool block_for(const struct layout *l, uint64_t first, uint64_t last, uint64_t block,
			     uint64_t at, uint64_t *ret_block, uint64_t *ret_number)
{
	uint64_t high = last >> l->code.low_bits, low = last ^ high << l->code.low_bits;
	uint64_t run = run_of(l, block, at), before = 0, one;

	while (before < run) {			/* how many of the run are not above `last` */
		uint64_t half = before + (run - before) / 2;

		if (low_of(l, block + half) <= low)
			before = half + 1;
		else
			run = half;
	}
	if (before) {
		*ret_block = block + before - 1;
	} else {
		uint64_t most = high - (first >> l->code.low_bits) + reach(l);

		if (!block || block > l->blocks || !one_before(l, at, most, &one)
		    || at - 1 - one > high)
			return false;
		high -= at - 1 - one;
		*ret_block = block - 1;
	}
	*ret_number = high << l->code.low_bits | low_of(l, *ret_block);
	return true;
}

/* On its way through a block. */
struct walk {
	const uint8_t *block;
	uint64_t number, value;
	unsigned bit;
};

/* One step: false where it is at the number or past it, or at the end of the block. */
static inline bool step(const struct layout *l, struct walk *w)
{
	uint64_t distance;

	if (w->number >= w->value || !next_distance(l, w->block, &w->bit, &distance))
		return false;
	w->number += distance;
	return true;
}

/*
 * Two at a time, until one of them or both are at an end: each step waits for the one before it,
 * and that of the other goes on meanwhile. They are copies, which stay in registers.
 */
static inline void walk_while_both(const struct layout *l, struct walk *a, struct walk *b,
				   bool *ret_a, bool *ret_b)
{
	struct walk x = *a, y = *b;
	bool goes_x, goes_y;

	do {
		goes_x = step(l, &x);
		goes_y = step(l, &y);
	} while (goes_x & goes_y);
	*a = x;
	*b = y;
	*ret_a = goes_x;
	*ret_b = goes_y;
}

static inline void walk_both(const struct layout *l, struct walk *a, struct walk *b)
{
	bool goes_a, goes_b;

	walk_while_both(l, a, b, &goes_a, &goes_b);
	while (goes_a)
		goes_a = step(l, a);
	while (goes_b)
		goes_b = step(l, b);
}

/*
 * Numbers in a row that a question asks for. more: the next piece of the array is for the same
 * question, and its numbers are larger. The first of such pieces has `end`, the last number of all,
 * and block and at, which are first_block() of its `last`.
 */
struct piece {
	uint64_t first, last, end, block, at;
	uint32_t index;
	bool more;
};

static inline void find_piece(const struct layout *l, struct piece *p)
{
	p->block = first_block(l, p->last >> l->code.low_bits, &p->at);
}

/* To the first number of a block that is not below the piece; nowhere, if there is no block. */
static inline struct walk walk_to(const struct layout *l, const struct piece *p)
{
	uint64_t block, number;

	if (!block_for(l, p->first, p->last, p->block, p->at, &block, &number))
		return (struct walk){ .number = 1 };
	return (struct walk){ l->block + block * l->code.block_bytes, number, p->first,
			      l->code.low_bits };
}

/*
 * Goes on through a block until a piece has a number, all pieces are behind, or the block ends.
 * Return: the piece that the block ends before; NULL: *ret_yes is the answer.
 */
static inline struct piece *walk_on(const struct layout *l, struct piece *p, struct walk *w,
				    bool *ret_yes)
{
	uint64_t distance;

	for (;;) {
		while (w->number > p->last) {
			if (!p->more) {
				*ret_yes = false;
				return NULL;
			}
			p++;
		}
		if (w->number >= p->first) {
			*ret_yes = true;
			return NULL;
		}
		if (!next_distance(l, w->block, &w->bit, &distance))
			return p;
		w->number += distance;
	}
}

/*
 * Is one of the numbers of the pieces in the data? The walk is to the first piece. Pieces that are
 * close together are mostly in one block. A piece behind the end of a block is looked for anew.
 */
static inline bool any_of(const struct layout *l, struct piece *p, struct walk w)
{
	bool yes = false;

	if (w.block && w.number > p->end)
		return false;
	for (;;) {
		struct piece *next = w.block ? walk_on(l, p, &w, &yes) : p;

		if (!next)
			return yes;
		if (next == p && !p->more)
			return false;
		p = next == p ? p + 1 : next;
		find_piece(l, p);
		w = walk_to(l, p);
	}
}

#endif
