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

static inline unsigned ones_of(uint64_t w)
{
	w -= w >> 1 & UINT64_C(0x5555555555555555);
	w = (w & UINT64_C(0x3333333333333333)) + (w >> 2 & UINT64_C(0x3333333333333333));
	return (unsigned)(((w + (w >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f))
			  * UINT64_C(0x0101010101010101) >> 56);
}

/* The place of the n-th set bit, from 0, of a word that has more. */
static inline unsigned nth_one(uint64_t w, unsigned n)
{
	unsigned at = 0;

	for (unsigned half = 32; half >= 8; half /= 2) {
		unsigned below = ones_of(w & ((UINT64_C(1) << half) - 1));

		if (n >= below) {
			n -= below;
			w >>= half;
			at += half;
		}
	}
	for (; n; n--)
		w &= w - 1;
	return at + (unsigned)__builtin_ctzll(w);
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

/* Two at a time: each step waits for the one before it, and that of the other goes on meanwhile. */
static inline void walk_both(const struct layout *l, struct walk *a, struct walk *b)
{
	struct walk x = *a, y = *b;
	bool both = true;

	while (both) {
		both = step(l, &x);
		both &= step(l, &y);
	}
	while (step(l, &x))
		;
	while (step(l, &y))
		;
	*a = x;
	*b = y;
}

/* Is there a number from first to last in the data? block, at: first_block() of `last`. */
static inline bool any_from(const struct layout *l, uint64_t first, uint64_t last, uint64_t block,
			    uint64_t at)
{
	const uint8_t *bytes;
	uint64_t number, distance;
	unsigned bit = l->code.low_bits;

	if (!block_for(l, first, last, block, at, &block, &number))
		return false;
	bytes = l->block + block * l->code.block_bytes;
	while (number < first && next_distance(l, bytes, &bit, &distance))
		number += distance;
	return number >= first && number <= last;
}

#endif
