/* collect.h - the data of all ranks to the builder of rank 0 */
#ifndef BLOOMERY_MPI_COLLECT_H
#define BLOOMERY_MPI_COLLECT_H

#include "ranks.h"

struct collecting {
	struct blm_build *b;		/* of rank 0 */
	const struct blm_filter *from;	/* of the other ranks */
	uint64_t bytes;			/* of data of the whole filter */
	uint64_t moved;			/* bytes that this rank sent */
};

/*
 * One rank after the other: the range that it owns, or all its data.
 * @ranges: the filter that the ranks own ranges of; NULL: each has a whole filter
 */
void collect_ranges(struct collecting *c, const struct blm_filter *ranges);
/* The OR of the data. The ranks after rank 0 unite theirs on the way. */
void collect_or(struct collecting *c);

uint64_t count_of(const struct blm_filter *f);

#endif
