/* fresh.h - the keys of a round that no filter has, each once */
#ifndef BLOOMERY_MPI_FRESH_H
#define BLOOMERY_MPI_FRESH_H

#include "ranks.h"

struct fresh {
	struct blm_hash *hashes;
	uint32_t *slots;	/* 0: free; else the number of a hash, from 1 on */
	size_t count, most;
	unsigned bits;		/* of a slot's number */
};

void fresh_begin(struct fresh *ret, size_t most);
void fresh_end(struct fresh *f);
void fresh_clear(struct fresh *f);
/* Return: is it there already? */
bool fresh_has_or_adds(struct fresh *f, const struct blm_hash *hash);

#endif
