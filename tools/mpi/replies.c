/* replies.c - a bit for each hash of a round, back to the rank that sent it */
#include "replies.h"

void replies_begin(struct replies *ret, const struct exchange *x)
{
	size_t words = (x->quota + 63) / 64, n = (size_t)ranks;

	*ret = (struct replies){
		.words = words,
		.out = must_alloc(words * n, 8), .in = must_alloc(words * n, 8),
		.out_counts = must_alloc(n, sizeof(int)), .in_counts = must_alloc(n, sizeof(int)),
		.starts = must_alloc(n, sizeof(int)),
	};
	for (size_t r = 0; r < n; r++)
		ret->starts[r] = (int)(r * words);
}

void replies_end(struct replies *a)
{
	free(a->out);
	free(a->in);
	free(a->out_counts);
	free(a->in_counts);
	free(a->starts);
}

void replies_exchange(struct replies *a, const struct exchange *x, const struct side *s,
		      uint64_t *ret, size_t count)
{
	for (int r = 0; r < ranks; r++) {
		a->out_counts[r] = (s->got_counts[r] + 63) / 64;
		a->in_counts[r] = (s->sent_counts[r] + 63) / 64;
	}
	MPI_Alltoallv(a->out, a->out_counts, a->starts, MPI_UINT64_T, a->in, a->in_counts,
		      a->starts, MPI_UINT64_T, MPI_COMM_WORLD);
	if (count)
		memset(ret, 0, (count + 63) / 64 * 8);
	for (int r = 0; r < ranks; r++)
		for (size_t i = 0; i < (size_t)s->sent_counts[r]; i++) {
			uint32_t line = s->line[(size_t)r * x->quota + i];

			ret[line / 64] |= (a->in[(size_t)r * a->words + i / 64] >> i % 64 & 1)
				<< line % 64;
		}
}
