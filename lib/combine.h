/* combine.h - reading filters piece by piece, for combine.c and estimate.c */
#ifndef BLM_COMBINE_H
#define BLM_COMBINE_H

#include "filter.h"

/* Pieces small enough for the second cache, large enough to forget the loop around them. */
enum { BLM_PIECE = 256 << 10 };

/* Count the cells of the OR of some views' part i, all of one template, without making it; one alone as it is. */
int blm_union_census(const struct blm_view *const *views, size_t count, unsigned i, struct blm_census *to);

/* The rate of a filter whose parts have these: a question asks every part. */
double blm_rate_of_parts(const struct blm_view *view, const struct blm_census *census);

/* What one census says of the number of keys. */
struct blm_value blm_keys_of_census(const struct blm_part *part, const struct blm_census *census, bool *ret_saturated);

/* Where part i of a view has data that is not a hole, from `at` on: [*ret_from, *ret_to). False: none. */
bool blm_next_data(const struct blm_view *view, unsigned i, uint64_t at, uint64_t *ret_from, uint64_t *ret_to);

#endif
