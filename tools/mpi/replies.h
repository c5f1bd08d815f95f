/* replies.h - a bit for each hash of a round, back to the rank that sent it */
#ifndef BLOOMERY_MPI_REPLIES_H
#define BLOOMERY_MPI_REPLIES_H

#include "exchange.h"

/* Words of bits: to rank r at `out` + r * words, as many as its hashes need. */
struct replies {
	size_t words;
	uint64_t *out, *in;
	int *out_counts, *in_counts, *starts;
};

void replies_begin(struct replies *ret, const struct exchange *x);
void replies_end(struct replies *a);

/* Where the bits for the hashes of that rank go. */
static inline uint64_t *replies_to(const struct replies *a, int to)
{
	return a->out + (size_t)to * a->words;
}

/*
 * All ranks call this with the bits for their hashes of the round.
 * @ret: bit I is the one of the hash whose line is I; there are `count` lines
 */
void replies_exchange(struct replies *a, const struct exchange *x, const struct side *s,
		      uint64_t *ret, size_t count);

#endif
