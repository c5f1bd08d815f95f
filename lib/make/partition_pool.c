/*
 * partition_pool.c - the buffers of a filter that is filled: each call has one set of them to
 * itself until it ends
 */
#include "make/partition_pool.h"
#include "base/thread.h"

/* for each thread, or twice the data, which is as good as more */
#define DEFAULT_MEMORY ((uint64_t)256 << 20)

static uint64_t memory_for(const struct blm_part *part, unsigned threads, uint64_t memory_bytes)
{
	if (memory_bytes)
		return memory_bytes / threads;
	return part->shape.bytes < DEFAULT_MEMORY / 2 ? 2 * part->shape.bytes : DEFAULT_MEMORY;
}

void blm_buffer_pool_begin(struct blm_buffer_pool *ret, struct blm_part *part, unsigned threads,
		     uint64_t memory_bytes, const char *display)
{
	*ret = (struct blm_buffer_pool){ .display = display, .threads = threads };
	pthread_mutex_init(&ret->mutex, NULL);
	pthread_cond_init(&ret->given_back, NULL);
	blm_filling_begin(&ret->filling, part, memory_for(part, threads, memory_bytes));
}

void blm_buffer_pool_end(struct blm_buffer_pool *pool)
{
	struct blm_buffers *next;

	for (struct blm_buffers *buffers = pool->idle; buffers; buffers = next) {
		next = buffers->next;
		blm_buffers_free(buffers);
	}
	blm_filling_end(&pool->filling);
	pthread_cond_destroy(&pool->given_back);
	pthread_mutex_destroy(&pool->mutex);
}

/* A free one, a new one, or one that another thread returns. */
struct blm_buffers *blm_buffer_pool_take(struct blm_buffer_pool *pool)
{
	struct blm_buffers *buffers;

	pthread_mutex_lock(&pool->mutex);
	if (!pool->idle && pool->made < pool->threads) {
		buffers = blm_buffers_new(&pool->filling,
					  pool->filling.pieces * pool->made / pool->threads);
		if (buffers) {
			buffers->next = pool->idle;
			pool->idle = buffers;
			pool->made++;
		}
	}
	while (!pool->idle && pool->made)
		pthread_cond_wait(&pool->given_back, &pool->mutex);
	buffers = pool->idle;
	if (buffers)
		pool->idle = buffers->next;
	else
		blm_fail(-ENOMEM, "%s: no memory to sort its keys in", pool->display);
	pthread_mutex_unlock(&pool->mutex);
	return buffers;
}

void blm_buffer_pool_give_back(struct blm_buffer_pool *pool, struct blm_buffers *buffers)
{
	pthread_mutex_lock(&pool->mutex);
	buffers->next = pool->idle;
	pool->idle = buffers;
	pthread_cond_signal(&pool->given_back);
	pthread_mutex_unlock(&pool->mutex);
}

static void *empty(void *buffers)
{
	blm_buffers_empty(buffers);
	return NULL;
}

/* As many threads as have filled them; this one has the first set, and those without a thread. */
uint64_t blm_buffer_pool_empty(struct blm_buffer_pool *pool)
{
	uint64_t counted = 0;

	for (struct blm_buffers *buffers = pool->idle; buffers; buffers = buffers->next)
		buffers->apart = buffers != pool->idle && pool->filling.pieces > 1
			&& !blm_thread_start(&buffers->thread, empty, buffers);
	for (struct blm_buffers *buffers = pool->idle; buffers; buffers = buffers->next)
		if (!buffers->apart)
			blm_buffers_empty(buffers);
	for (struct blm_buffers *buffers = pool->idle; buffers; buffers = buffers->next) {
		if (buffers->apart)
			pthread_join(buffers->thread, NULL);
		counted += buffers->counted;
	}
	return counted;
}
