/*
 * partition_pool.h - the buffers of a filter that is filled (kind/common/partition.h): each call
 * has one set of them to itself until it ends
 *
 * There are as many sets as threads work at once; a thread that finds none waits for one.
 */
#ifndef BLM_PARTITION_POOL_H
#define BLM_PARTITION_POOL_H

#include "kind/common/partition.h"

struct blm_buffer_pool {
	struct blm_filling filling;
	const char *display;		/* for messages; the owner's */
	unsigned threads;
	pthread_mutex_t mutex;		/* of what follows */
	pthread_cond_t given_back;
	struct blm_buffers *idle;
	unsigned made;			/* sets that there are, idle or not */
};

/* memory_bytes: of all of them; 0: for each twice the data, at most 256 MiB. */
void blm_buffer_pool_begin(struct blm_buffer_pool *ret, struct blm_part *part, unsigned threads,
		     uint64_t memory_bytes, const char *display);
/* NULL: out of memory, with a message */
struct blm_buffers *blm_buffer_pool_take(struct blm_buffer_pool *pool);
void blm_buffer_pool_give_back(struct blm_buffer_pool *pool, struct blm_buffers *buffers);
/* All that was added is in the part; all are idle. Return: how many keys changed it, of all. */
uint64_t blm_buffer_pool_empty(struct blm_buffer_pool *pool);
void blm_buffer_pool_end(struct blm_buffer_pool *pool);

#endif
