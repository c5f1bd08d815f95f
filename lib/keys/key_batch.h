/* key_batch.h - keys as callers give them, run through a view of a filter in batches */
#ifndef BLM_INPUT_H
#define BLM_INPUT_H

#include "handle/handle.h"

enum blm_what { BLM_ASK, BLM_ADD, BLM_CLAIM, BLM_REMOVE, BLM_PUT, BLM_GET };

/* A caller's keys: of any length, of one width, packed, or hashes; the others are NULL. */
struct blm_input {
	const struct blm_key *keys;
	const uint8_t *fixed;
	size_t width;
	const uint8_t *packed;		/* the bytes of all keys */
	const uint8_t *offsets;		/* checked: count + 1 numbers, at any address */
	size_t offset_bytes;		/* of each number: 4 or 8 */
	const struct blm_hash *hashes;
	uint64_t hash_id;		/* of the filter that made the hashes */
	const uint64_t *values;		/* BLM_PUT: one a key */
	uint64_t *ret_values;		/* BLM_GET: one value a key */
	const struct blm_when *when;	/* kinds with `ages`; NULL: as all zeros */
	size_t count;
};

/* Where key `at` of packed keys begins, and the one before it ends. */
static inline uint64_t blm_offset_at(const struct blm_input *in, size_t at)
{
	uint64_t wide;
	uint32_t narrow;

	if (in->offset_bytes == sizeof(wide)) {
		memcpy(&wide, in->offsets + at * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, in->offsets + at * sizeof(narrow), sizeof(narrow));
	return narrow;
}

/*
 * Are these hashes for this view? 0, or -EMEDIUMTYPE or the error of blm_cannot_hash(), with a
 * message.
 */
int blm_input_check(const struct blm_filter *f, const struct blm_view *view,
		    const struct blm_input *in);

/* `count` keys from the at-th on, which are no hashes: the caller's, or made in `buffer`. */
const struct blm_key *blm_input_keys(const struct blm_input *in, size_t at, size_t count,
				     struct blm_key *buffer);

/*
 * All keys, one after the other. ret_bits: an answer each, in complete words, or NULL. *ret_yes:
 * how many bits of the answers are set, even if it fails in the middle. Return: 0, or the error of
 * the kind, without a message; -EKEYREVOKED if some keys were refused.
 */
int blm_input_run(struct blm_view *view, const struct blm_input *in, enum blm_what what,
		  uint64_t *ret_bits, int64_t *ret_yes);

/* Ask about all of them. Cannot fail. Return: how many answers were yes. */
int64_t blm_input_ask(const struct blm_filter *f, const struct blm_input *in, uint64_t *ret_bits);

/* Add, claim, remove or put all of them. Return: as blm_add_many() and the others. */
int64_t blm_input_change(struct blm_filter *f, const struct blm_input *in, enum blm_what what,
			 uint64_t *ret_bits);

#endif
