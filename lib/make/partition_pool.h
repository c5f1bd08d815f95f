/*
 * partition_pool.h - the lanes of a filter that is filled (kind/common/partition.h): each call has
 * one lane to itself until it ends
 *
 * There are as many as threads work at once; a thread that finds none waits for one.
 */
#ifndef BLM_LANES_H
#define BLM_LANES_H

#include "kind/common/partition.h"

struct blm_lanes {
	struct blm_filling filling;
	const char *display;		/* for messages; the owner's */
	unsigned threads;
	pthread_mutex_t mutex;		/* of what follows */
	pthread_cond_t given_back;
	struct blm_lane *idle;
	unsigned lanes;			/* that there are, idle or not */
};

/* memory_bytes: of all of them; 0: for each twice the data, at most 256 MiB. */
void blm_lanes_begin(struct blm_lanes *ret, struct blm_part *part, unsigned threads,
		     uint64_t memory_bytes, const char *display);
/* NULL: out of memory, with words */
struct blm_lane *blm_lanes_take(struct blm_lanes *lanes);
void blm_lanes_give_back(struct blm_lanes *lanes, struct blm_lane *lane);
/* All that was added is in the part; all are idle. Return: how many keys changed it, of all. */
uint64_t blm_lanes_empty(struct blm_lanes *lanes);
void blm_lanes_end(struct blm_lanes *lanes);

#endif
