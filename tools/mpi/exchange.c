/* exchange.c - hashes from every rank to the ranks that own their places, in rounds */
#include "exchange.h"
#include "ranks_model.h"

static void side_begin(struct side *ret, const struct exchange *x, bool lines)
{
	size_t slots = x->quota * (size_t)ranks, n = (size_t)ranks;

	*ret = (struct side){
		.out = must_alloc(slots, sizeof(struct blm_hash)),
		.in = must_alloc(slots, sizeof(struct blm_hash)),
		.line = lines ? must_alloc(slots, sizeof(uint32_t)) : NULL,
		.sent = must_alloc(n, sizeof(struct word)),
		.got = must_alloc(n, sizeof(struct word)),
		.sent_counts = must_alloc(n, sizeof(int)),
		.got_counts = must_alloc(n, sizeof(int)),
		.request = MPI_REQUEST_NULL,
	};
}

static void side_end(struct side *s)
{
	free(s->out);
	free(s->in);
	free(s->line);
	free(s->sent);
	free(s->got);
	free(s->sent_counts);
	free(s->got_counts);
}

void exchange_begin(struct exchange *ret, size_t round, bool lines)
{
	*ret = (struct exchange){ .quota = ranks_quota(round, (uint32_t)ranks) };
	ret->starts = must_alloc((size_t)ranks, sizeof(int));
	for (int r = 0; r < ranks; r++)
		ret->starts[r] = (int)(ret->quota * (size_t)r);
	MPI_Type_contiguous(sizeof(struct blm_hash), MPI_BYTE, &ret->hash);
	MPI_Type_commit(&ret->hash);
	side_begin(&ret->side[0], ret, lines);
	side_begin(&ret->side[1], ret, lines);
}

void exchange_end(struct exchange *x)
{
	side_end(&x->side[0]);
	side_end(&x->side[1]);
	MPI_Type_free(&x->hash);
	free(x->starts);
}

void exchange_clear(struct side *s)
{
	for (int r = 0; r < ranks; r++)
		s->sent[r].hashes = 0;
}

void exchange_start(struct exchange *x, struct side *s, bool done, uint64_t keys, double busy)
{
	s->last = true;
	for (int r = 0; r < ranks; r++) {
		s->sent[r].done = done;
		s->sent[r].keys = keys;
		s->sent[r].busy = (uint64_t)(busy * 1e6);
		s->sent_counts[r] = (int)s->sent[r].hashes;
		x->sent += r == rank ? 0 : s->sent[r].hashes * sizeof(struct blm_hash);
	}
	MPI_Alltoall(s->sent, sizeof(struct word), MPI_BYTE, s->got, sizeof(struct word), MPI_BYTE,
		     MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++) {
		if (s->got[r].hashes > x->quota)
			give_up(broken("rank %d announces %llu hashes, more than a round has: the "
				       "ranks run different programs", r,
				       (unsigned long long)s->got[r].hashes));
		s->got_counts[r] = (int)s->got[r].hashes;
		s->last &= s->got[r].done != 0;
	}
	if (x->keeps_own)
		s->sent_counts[rank] = s->got_counts[rank] = 0;
	MPI_Ialltoallv(s->out, s->sent_counts, x->starts, x->hash, s->in, s->got_counts, x->starts,
		       x->hash, MPI_COMM_WORLD, &s->request);
	s->under_way = true;
}

void exchange_poke(struct side *s)
{
	int over;

	if (s->under_way)
		MPI_Test(&s->request, &over, MPI_STATUS_IGNORE);
}

void exchange_wait(struct side *s)
{
	if (s->under_way)
		MPI_Wait(&s->request, MPI_STATUS_IGNORE);
	s->under_way = false;
}
