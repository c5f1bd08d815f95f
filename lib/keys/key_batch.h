/* key_batch.h - keys as callers give them, run through a view of a filter in batches */
#ifndef BLM_INPUT_H
#define BLM_INPUT_H

#include "handle/handle.h"

enum blm_what { BLM_ASK, BLM_ADD, BLM_CLAIM, BLM_REMOVE, BLM_PUT, BLM_GET };

/* A caller's keys: of any length, of one width, or hashes; the others are NULL. */
struct blm_input {
	const struct blm_key *keys;
	const uint8_t *fixed;
	size_t width;
	const struct blm_hash *hashes;
	uint64_t hash_id;		/* of the filter that made the hashes */
	const uint64_t *values;		/* BLM_PUT: one a key */
	uint64_t *ret_values;		/* BLM_GET: room for one a key */
	size_t count;
};

/* Hashes: are they for this view? 0, or -EMEDIUMTYPE or what blm_cannot_hash() says, with words. */
int blm_input_check(const struct blm_filter *f, const struct blm_view *view,
		    const struct blm_input *in);

/* `count` keys from the at-th on, which are no hashes: the caller's, or made in `room`. */
const struct blm_key *blm_input_keys(const struct blm_input *in, size_t at, size_t count,
				     struct blm_key *room);

/*
 * All of them, one after the other. ret_bits: an answer each, in whole words; NULL: nobody asks.
 * *ret_yes: how many bits of the answers are set, also where it fails in the middle. Return: 0, or
 * what the kind failed with, without words; -EKEYREVOKED where some keys were refused.
 */
int blm_input_run(struct blm_view *view, const struct blm_input *in, enum blm_what what,
		  uint64_t *ret_bits, int64_t *ret_yes);

#endif
