/*
 * batch.h - many keys of a part at once, by whichever way its kind has (batch.c)
 */
#ifndef BLM_BATCH_H
#define BLM_BATCH_H

#include "kind/part.h"

/*
 * Ask or change many, by whichever way the kind has: its own loop, or one by one. At most
 * kind_batch() a call, of this batch and of the next; bit i % 64 of ret_bits[i / 64] is the answer
 * of key i, and the bits past the last, up to a multiple of 64, are written as 0. Where one fails,
 * the bits are the answers for the keys before that.
 *
 * Most kinds are as fast with 64 keys as with 256. Those that are asked in rounds (probe_rounds.h)
 * gain by more, as each round leaves half of them, and the last ones wait for few lines at once;
 * those that are asked faster than memory answers lose, as no lines are asked for while a batch is
 * hashed. (In tests/bench: "contains_many absent" of 100m keys; the sizes that the large one must
 * fit are in readahead.h.)
 */
enum { BLM_BATCH = 256, BLM_BATCH_WORDS = BLM_BATCH / 64, BLM_BATCH_LARGE = 1024 };
static_assert(BLM_BATCH % 64 == 0 && BLM_BATCH_LARGE % 64 == 0,
	      "the answers of a batch are whole words of the bitmap");

/*
 * values: one for each key of the batch; where get says no, its value is left as it is.
 * kind_registry.h has contains, add, claim and remove.
 */
int blm_part_put(struct blm_part *part, const struct blm_batch *batch, const uint64_t *values,
		 uint64_t *ret_bits);
int blm_part_get(const struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_values,
		 uint64_t *ret_bits);

/* One by one, for kinds without a loop of their own, or whose loop does not take every family. */
void blm_part_contains_each(const struct blm_part *part, const struct blm_batch *batch,
			    uint64_t *ret_bits);
int blm_part_change_each(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits,
			 int (*change)(struct blm_part *, const struct blm_hashed *));

#endif
