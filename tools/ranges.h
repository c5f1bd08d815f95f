/* ranges.h - ranges of keys, as lines have them, and the types of keys that have ranges */
#ifndef BLOOMERY_RANGES_H
#define BLOOMERY_RANGES_H

#include "lines.h"

/* The hash that keeps keys of this type in order; NULL: there is none. */
const char *hash_of_keys(const char *type);

/* The two ends of the range in a key, as ask_ranges() reads it. */
void range_of(struct blm_key *first, struct blm_key *last, const struct blm_key *key);

/*
 * Is any key of the range in each key of the batch in the filter? A range is "A..B", or A and B in
 * the first two columns; else it is the key alone, which can be a network. Return: how many are,
 * of the ranges before one that is none (batch_refuse); or -1, after a message.
 */
int64_t ask_ranges(const struct blm_filter *f, struct batch *batch);

#endif
