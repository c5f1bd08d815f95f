/*
 * dleft_buckets.h - the cells of a d-left filter: fingerprints, the bucket that each subtable has
 * for one, and the counters and remainders of a bucket (format-spec.md, "Kind 9: d-left")
 */
#ifndef BLM_KIND_DLEFT_BUCKETS_H
#define BLM_KIND_DLEFT_BUCKETS_H

#include "kind/kind.h"

enum {
	TABLES = 4, CELLS = 8,
	COUNT_BITS = 2, COUNT_MAX = 3,
	/* bytes of a bucket's counters, before its remainders */
	COUNTS = CELLS * COUNT_BITS / 8,
	LOAD = 6,				/* keys a bucket, as planned */
	BITS_LEAST = 4, BITS_MOST = 32,		/* of a remainder */
	BUCKET_MOST = COUNTS + BITS_MOST,	/* bytes */
};
/* in a subtable: they and the remainder are one number of 64 bits */
#define BUCKETS_MOST (UINT64_C(1) << 32)

/* ---- Sizes ---- */

static inline unsigned remainder_bits(const struct blm_shape *s)
{
	return s->cell_bits - COUNT_BITS;
}

static inline uint64_t buckets_of(const struct blm_shape *s)
{
	return s->cells / (TABLES * CELLS);
}

/* ---- Fingerprints ---- */

struct print {
	uint64_t bucket, remainder;
};

static inline struct print print_of(const struct blm_shape *s, const struct blm_hash *hash)
{
	unsigned __int128 product = (unsigned __int128)hash->hi * buckets_of(s);

	return (struct print){ (uint64_t)(product >> 64),
			       (uint64_t)product >> (64 - remainder_bits(s)) };
}

/* The number that the i-th subtable adds to a bucket. */
static inline uint64_t turn_of(const struct blm_shape *s, unsigned i, uint64_t remainder)
{
	return scale(unfold(remainder, 0, i + 1), buckets_of(s));
}

static inline uint64_t bucket_in(const struct blm_shape *s, unsigned i, const struct print *print)
{
	uint64_t buckets = buckets_of(s), bucket = print->bucket + turn_of(s, i, print->remainder);

	return i * buckets + (bucket < buckets ? bucket : bucket - buckets);
}

static inline struct print print_back(const struct blm_shape *s, uint64_t bucket,
				      uint64_t remainder)
{
	uint64_t buckets = buckets_of(s),
		turn = turn_of(s, (unsigned)(bucket / buckets), remainder), here = bucket % buckets;

	return (struct print){ here >= turn ? here - turn : here + buckets - turn, remainder };
}

/* With twice the buckets, and a bit less in the remainder. */
static inline struct print print_doubled(const struct blm_shape *to, const struct print *print)
{
	uint64_t bits = remainder_bits(to);

	return (struct print){ print->bucket << 1 | print->remainder >> bits,
			       print->remainder & ((UINT64_C(1) << bits) - 1) };
}

/* ---- Buckets ---- */

static inline uint8_t *bucket_at(const struct blm_part *part, uint64_t bucket)
{
	return part->bytes + bucket * (COUNTS + remainder_bits(&part->shape));
}

/* A copy, of whole words, the counters first. */
struct bucket {
	uint64_t words[(BUCKET_MOST + 7) / 8 + 2];
	const uint8_t *bytes;
};

static inline void load_bucket(const struct blm_part *part, uint64_t bucket, struct bucket *ret)
{
	uint64_t at = bucket * (COUNTS + remainder_bits(&part->shape));
	const uint64_t *word = (const uint64_t *)part->bytes + at / 8;
	unsigned words = (unsigned)((at % 8 + COUNTS + remainder_bits(&part->shape) + 7) / 8);

	for (unsigned i = 0; i < words; i++)
		ret->words[i] = htole64(load_acquire(word + i));
	ret->bytes = (const uint8_t *)ret->words + at % 8;
}

static inline unsigned count_in(const struct bucket *b, unsigned cell)
{
	return b->bytes[cell / 4] >> cell % 4 * COUNT_BITS & COUNT_MAX;
}

static inline uint64_t remainder_in(const struct blm_shape *s, const struct bucket *b,
				    unsigned cell)
{
	unsigned bits = remainder_bits(s), bit = cell * bits;
	uint64_t value;

	memcpy(&value, b->bytes + COUNTS + bit / 8, 8);
	return le64toh(value) >> bit % 8 & ((UINT64_C(1) << bits) - 1);
}

/* The first cell with this remainder whose counter is 1 to `most`; CELLS: none. */
static inline unsigned find(const struct blm_part *part, const struct bucket *b, uint64_t remainder,
			    unsigned most)
{
	unsigned cell;

	for (cell = 0; cell < CELLS; cell++) {
		unsigned count = count_in(b, cell);

		if (count && count <= most && remainder_in(&part->shape, b, cell) == remainder)
			break;
	}
	return cell;
}

static inline void set_count(struct blm_part *part, uint64_t bucket, unsigned cell, unsigned count)
{
	uint8_t *byte = bucket_at(part, bucket) + cell / 4;
	unsigned shift = cell % 4 * COUNT_BITS;

	__atomic_store_n(byte, (uint8_t)((*byte & ~(COUNT_MAX << shift)) | count << shift),
			 __ATOMIC_RELEASE);
	mark(part, byte);
}

static inline void set_remainder(struct blm_part *part, uint64_t bucket, unsigned cell,
				 uint64_t remainder)
{
	unsigned bits = remainder_bits(&part->shape), bit = cell * bits;
	uint8_t *byte = bucket_at(part, bucket) + COUNTS + bit / 8;
	uint64_t mask = ((UINT64_C(1) << bits) - 1) << bit % 8, value = remainder << bit % 8;

	for (; mask; mask >>= 8, value >>= 8, byte++) {
		__atomic_store_n(byte, (uint8_t)((*byte & ~mask) | value), __ATOMIC_RELAXED);
		mark(part, byte);
	}
}

#endif
