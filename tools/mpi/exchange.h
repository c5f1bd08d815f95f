/* exchange.h - hashes from every rank to the ranks that own their places, in rounds */
#ifndef BLOOMERY_MPI_EXCHANGE_H
#define BLOOMERY_MPI_EXCHANGE_H

#include "ranks.h"

/* What a rank tells the others in each round. */
struct word {
	uint64_t hashes;	/* that it sends to the one that reads this */
	uint64_t done;		/* it has nothing more after this round */
	uint64_t keys;		/* it has read so far */
	uint64_t busy;		/* microseconds that it spent reading and hashing */
	/* of the caller, who writes them to `sent` */
	uint64_t left;
	double rate;
};

/*
 * One round in memory. There are two: one is filled while the hashes of the other are under way.
 * Hashes to rank r are at out + r * quota, hashes from rank r at in + r * quota.
 */
struct side {
	struct blm_hash *out, *in;
	uint32_t *line;		/* of each hash in `out`, what the caller said; NULL: not wanted */
	struct word *sent, *got;
	int *sent_counts, *got_counts;
	MPI_Request request;
	bool under_way, last;	/* last: no rank has more after this round */
};

struct exchange {
	size_t quota;		/* hashes from one rank to one rank in one round */
	int *starts;		/* r * quota */
	MPI_Datatype hash;
	struct side side[2];
	bool keeps_own;		/* hashes that a rank owns itself stay in its `out` */
	uint64_t sent;		/* bytes to other ranks so far, hashes only */
};

/*
 * @round: about how many hashes a rank sends in a round
 * @lines: a line is remembered with each hash
 */
void exchange_begin(struct exchange *ret, size_t round, bool lines);
void exchange_end(struct exchange *x);

/* Empty a side. */
void exchange_clear(struct side *s);

/* One hash more. Return: false: there is no room for it in this round. */
static inline bool exchange_put(const struct exchange *x, struct side *s, int to,
				const struct blm_hash *hash, uint32_t line)
{
	uint64_t at = s->sent[to].hashes;

	if (at == x->quota)
		return false;
	s->out[(size_t)to * x->quota + at] = *hash;
	if (s->line)
		s->line[(size_t)to * x->quota + at] = line;
	s->sent[to].hashes = at + 1;
	return true;
}

/* Send what is there. All ranks call this at the same time. */
void exchange_start(struct exchange *x, struct side *s, bool done, uint64_t keys, double busy);
/* Let the messages go on while this rank computes. */
void exchange_poke(struct side *s);
void exchange_wait(struct side *s);

#endif
