/*
 * prefetch.h - a question, compiled into the loop over a batch of keys: where each of them is
 * looked for is asked for some keys ahead
 */
#ifndef BLM_KIND_LOOP_H
#define BLM_KIND_LOOP_H

#include "kind/kind.h"

#define BLM_INLINED static inline __attribute__((always_inline))

/* Into the second cache, which waits for more lines at once than the first. */
BLM_INLINED void blm_fetch(const void *at)
{
	__builtin_prefetch(at, 0, 2);
	/* or GCC drops calls to functions that only prefetch, which to it do nothing */
	__asm__ volatile("");
}

/* The place of a key, in units of the kind. */
enum { BLM_PLACES = 4 };

struct blm_question {
	/* and fetches */
	void (*locate)(const void *how, const struct blm_hash *hash, uint64_t ret[BLM_PLACES]);
	bool (*ask)(const void *how, const struct blm_hash *hash,
		    const uint64_t places[BLM_PLACES]);
	const void *how;		/* computed once for the complete batch */
};

BLM_INLINED void blm_ask_all(const struct blm_batch *batch, uint64_t *ret_bits,
			     struct blm_question by)
{
	enum { AHEAD = 64 };
	uint64_t places[AHEAD][BLM_PLACES];
	size_t count = batch->count;

	memset(ret_bits, 0, (count + 63) / 64 * sizeof(*ret_bits));
	for (size_t i = 0; i < count + AHEAD; i++) {
		if (i >= AHEAD)
			ret_bits[(i - AHEAD) / 64] |= (uint64_t)by.ask(by.how,
				&batch->hashes[i - AHEAD], places[i % AHEAD]) << i % 64;
		if (i < count)
			by.locate(by.how, &batch->hashes[i], places[i % AHEAD]);
	}
}

#endif
