/*
 * golomb.h - a set of numbers below a range, in order, as Golomb codes that can be entered anywhere
 * (format-spec.md, "Kind 15: golomb")
 *
 * The keys of a golomb filter are such numbers. A caller that has numbers already, from another
 * program's file or from two sets, makes a filter of them, and gets them out again.
 */
#ifndef BLM_KIND_GOLOMB_H
#define BLM_KIND_GOLOMB_H

#include "kind/kind.h"

extern const struct blm_kind blm_kind_golomb;

#define GOLOMB_RANGE_MOST (UINT64_C(1) << 62)

enum { GOLOMB_MODULUS, GOLOMB_COUNTED };		/* which of its arguments is what */

/* Numbers that ascend; one may come more than once. A struct of the owner's begins with this. */
struct golomb_numbers {
	int (*begin)(struct golomb_numbers *n);				/* again, from the first */
	/* 1; 0: there are no more; or a negative errno, with words */
	int (*next)(struct golomb_numbers *n, uint64_t *ret);
};

/*
 * The shape of a filter of the range shape->cells with these numbers, which are `count`; then
 * those, into a part of that shape which is zeros. Goes over the numbers once each.
 */
int blm_golomb_fit(struct blm_shape *shape, struct golomb_numbers *numbers, uint64_t count);
int blm_golomb_write(struct blm_part *part, struct golomb_numbers *numbers, uint64_t count);
/* ... but only the bytes of the data from `from` up to `to` are written. */
int blm_golomb_write_within(struct blm_part *part, struct golomb_numbers *numbers, uint64_t count,
			    uint64_t from, uint64_t to);

/* The range for a capacity; 0, with words: it is too large. modulus 0: by the rate. */
uint64_t blm_golomb_range(uint64_t capacity, double rate, uint64_t modulus);

/* The numbers of a part. */
struct golomb_cursor {
	struct golomb_numbers numbers;
	const struct blm_part *part;
	uint64_t block, high, value;
	uint64_t at;			/* the bit in the high halves */
	unsigned bit;			/* in the block, if it is inside of one */
	bool inside;
};
void blm_golomb_cursor(struct golomb_cursor *ret, const struct blm_part *part);
uint64_t blm_golomb_count(const struct blm_part *part);

/* The numbers of keys in order, read a piece at a time. tell: report each piece as progress. */
struct golomb_keys {
	struct golomb_numbers numbers;
	const struct blm_sorted *keys;
	uint64_t range, next;
	size_t at, count;
	bool tell;
	struct blm_hash hashes[1024];
};
void blm_golomb_keys(struct golomb_keys *ret, const struct blm_sorted *keys, uint64_t range,
		     bool tell);

/* How a kind that is coded so makes numbers of keys in order: open() fails with words. */
struct golomb_source {
	int (*open)(struct golomb_numbers **ret, const struct blm_sorted *keys,
		    const struct blm_shape *shape);
	void (*close)(struct golomb_numbers *n);
};

/*
 * Merges several parts into one, adds keys and takes keys out (golomb_merge.c). counted: a number
 * is there as often as in all of them together.
 */
int blm_golomb_merged(const struct golomb_source *by, struct blm_shape *shape,
		      const struct blm_merging *of, bool counted, uint64_t *ret_keys);
int blm_golomb_merge(const struct golomb_source *by, struct blm_part *part,
		     const struct blm_merging *of, bool counted);

#endif
