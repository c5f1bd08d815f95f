/*
 * ordered.h - families that do not hash: a key is a place in an order of 64 bits, for kinds that
 * answer for ranges
 *
 * `hi` is the place. `lo` is the seed in its upper 57 bits, so that a kind has the seed with every
 * key, also where keys come in order and without a hasher. The lower 7 bits of `lo` say what the
 * place is:
 *
 *	0 to 63		the place is one of intervals of 2^n places each, from 0 on, as a network is
 *			one of addresses. 0: a single place.
 *	64		the key is none of the family's: it is in no filter. `hi` says why.
 */
#ifndef BLM_ORDERED_H
#define BLM_ORDERED_H

#include "hash/hasher.h"

enum { ORDERED_SEED_BITS = 57, ORDERED_NONE = 64, ORDERED_LEVEL = 63 };

static inline struct blm_hash ordered_place(const struct blm_hasher *by, uint64_t place,
					    unsigned level)
{
	return (struct blm_hash){ .lo = by->seeds[0] << 7 | level, .hi = place };
}

static inline struct blm_hash ordered_none(const struct blm_hasher *by, uint64_t reason)
{
	return (struct blm_hash){ .lo = by->seeds[0] << 7 | ORDERED_NONE, .hi = reason };
}

static inline bool ordered_is_none(const struct blm_hash *hash)
{
	return hash->lo & ORDERED_NONE;
}

static inline unsigned ordered_level(const struct blm_hash *hash)
{
	return hash->lo & ORDERED_LEVEL;
}

/* The first and the last place of the interval. */
static inline uint64_t ordered_first(const struct blm_hash *hash)
{
	return hash->hi << ordered_level(hash);
}

static inline uint64_t ordered_last(const struct blm_hash *hash)
{
	return ordered_first(hash) | ((UINT64_C(1) << ordered_level(hash)) - 1);
}

/* Signed numbers in the order of unsigned ones. */
static inline uint64_t ordered_signed(int64_t number)
{
	return (uint64_t)number ^ UINT64_C(1) << 63;
}

/* Digits from `at` on: behind the last of them; *ret saturates. */
static inline const uint8_t *ordered_digits(const uint8_t *at, const uint8_t *end, uint64_t *ret,
					    bool *ret_too_large)
{
	for (*ret = 0, *ret_too_large = false; at < end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*ret, 10, ret)
		    || __builtin_add_overflow(*ret, (uint64_t)(*at - '0'), ret)) {
			*ret = UINT64_MAX;
			*ret_too_large = true;
		}
	return at;
}

#endif
