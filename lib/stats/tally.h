/*
 * tally.h - how many cells are set in filters, and in their union, and the keys that follow
 */
#ifndef BLM_TALLY_H
#define BLM_TALLY_H

#include "view/scan.h"

/* The OR of these bytes of part i of all views, or their AND, somewhere of one's own. */
void blm_combine_bytes(enum blm_op op, const struct blm_view *const *views, size_t count,
		       unsigned i, uint64_t at, size_t bytes, uint8_t *to);

/*
 * Count the cells of the OR of some views' part i, all of one template, without making it; one
 * alone as it is.
 */
int blm_union_tally(const struct blm_view *const *views, size_t count, unsigned i,
		    struct blm_tally *to);

/* The same of one, of the other, and of their OR, in one pass. */
int blm_pair_tally(const struct blm_view *const views[2], unsigned i, struct blm_tally to[3]);

/*
 * Converts tallies of all data to those of the range that the file owns; no change unless it is a
 * part of a split filter. The two functions above do this.
 */
void blm_tally_narrow(const struct blm_view *view, struct blm_tally *tally, unsigned count);

/* The rate of a filter whose parts have these: a question asks every part. */
double blm_rate_of_parts(const struct blm_view *view, const struct blm_tally *tally);

/* The estimated number of keys from one tally. */
struct blm_value blm_keys_of_tally(const struct blm_part *part, const struct blm_tally *tally,
				   bool *ret_saturated);

/*
 * The number of distinct keys that follows from the tallies of all its parts, rounded; of a full
 * filter the least that there can be.
 */
uint64_t blm_keys_of_parts(const struct blm_view *view, const struct blm_tally *tally);

/* The same, of its bits as they are; reads all data. -EOPNOTSUPP: this kind's do not. */
int blm_keys_of_bits(const struct blm_view *view, uint64_t *ret);

#endif
