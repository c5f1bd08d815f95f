/*
 * partition_pool.c - the lanes of a filter that is filled: each call has one lane to itself until
 * it ends
 */
#include "make/partition_pool.h"

/* for each thread, or twice the data, which is as good as more */
#define DEFAULT_MEMORY ((uint64_t)256 << 20)

static uint64_t memory_for(const struct blm_part *part, unsigned threads, uint64_t memory_bytes)
{
	if (memory_bytes)
		return memory_bytes / threads;
	return part->shape.bytes < DEFAULT_MEMORY / 2 ? 2 * part->shape.bytes : DEFAULT_MEMORY;
}

void blm_lanes_begin(struct blm_lanes *ret, struct blm_part *part, unsigned threads,
		     uint64_t memory_bytes, const char *display)
{
	*ret = (struct blm_lanes){ .display = display, .threads = threads };
	pthread_mutex_init(&ret->mutex, NULL);
	pthread_cond_init(&ret->given_back, NULL);
	blm_filling_begin(&ret->filling, part, memory_for(part, threads, memory_bytes));
}

void blm_lanes_end(struct blm_lanes *lanes)
{
	struct blm_lane *next;

	for (struct blm_lane *lane = lanes->idle; lane; lane = next) {
		next = lane->next;
		blm_lane_free(lane);
	}
	blm_filling_end(&lanes->filling);
	pthread_cond_destroy(&lanes->given_back);
	pthread_mutex_destroy(&lanes->mutex);
}

/* One that is there, a new one, or one that another thread gives back. */
struct blm_lane *blm_lanes_take(struct blm_lanes *l)
{
	struct blm_lane *lane;

	pthread_mutex_lock(&l->mutex);
	if (!l->idle && l->lanes < l->threads) {
		lane = blm_lane_new(&l->filling, l->filling.pieces * l->lanes / l->threads);
		if (lane) {
			lane->next = l->idle;
			l->idle = lane;
			l->lanes++;
		}
	}
	while (!l->idle && l->lanes)
		pthread_cond_wait(&l->given_back, &l->mutex);
	lane = l->idle;
	if (lane)
		l->idle = lane->next;
	else
		blm_fail(-ENOMEM, "%s: no memory to sort its keys in", l->display);
	pthread_mutex_unlock(&l->mutex);
	return lane;
}

void blm_lanes_give_back(struct blm_lanes *l, struct blm_lane *lane)
{
	pthread_mutex_lock(&l->mutex);
	lane->next = l->idle;
	l->idle = lane;
	pthread_cond_signal(&l->given_back);
	pthread_mutex_unlock(&l->mutex);
}

uint64_t blm_lanes_empty(struct blm_lanes *lanes)
{
	uint64_t counted = 0;

	for (struct blm_lane *lane = lanes->idle; lane; lane = lane->next) {
		blm_lane_empty(lane);
		counted += lane->counted;
	}
	return counted;
}
