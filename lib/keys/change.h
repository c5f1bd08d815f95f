/*
 * change.h - shared by the files that change a filter by keys: change.c (one file after the other,
 * until all keys are in), listed.c (keys on the allowlist)
 */
#ifndef BLM_CHANGE_H
#define BLM_CHANGE_H

#include "keys/key_batch.h"

/* May this be done to the filter's kind? 0, or -EOPNOTSUPP with a message. */
int blm_check_can(const struct blm_filter *f, const struct blm_view *view, enum blm_what what);

/*
 * Gives an error of a kind its message. new: keys that the call has added so far, which the file
 * does not count yet. Return: the error; 0 or more as it is.
 */
int blm_change_word(const struct blm_filter *f, const struct blm_view *view, int r, int64_t new);

/* The keys from the at-th on. */
struct blm_input blm_input_from(const struct blm_input *in, size_t at);

/*
 * listed.c: a claim or a removal in a filter with an allowlist, as blm_input_run(), with a message.
 */
int blm_run_listed(struct blm_filter *f, struct blm_view *view, const struct blm_input *in,
		   enum blm_what what, uint64_t *ret_bits, int64_t *ret_yes);

#endif
