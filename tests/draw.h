/*
 * draw.h - random numbers that are the same in every run
 *
 * A process that is forked draws other numbers than its parent and its siblings. Threads that draw
 * at the same time share the numbers in any order.
 */
#ifndef BLM_DRAW_H
#define BLM_DRAW_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static struct {
	uint64_t state;
	uint64_t forks;		/* of this process */
	unsigned depth;		/* its processes draw other numbers from depth 2 on */
	pid_t pid;
} drawn;

static inline uint64_t finalised(uint64_t x)	/* splitmix64 */
{
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

static void count_fork(void)
{
	drawn.forks++;
}

static void draw_otherwise(void)
{
	if (++drawn.depth > 1)
		drawn.state = finalised(drawn.state + drawn.forks);
	drawn.forks = 0;
	drawn.pid = getpid();
}

static __attribute__((constructor)) void begin_to_draw(void)
{
	drawn.pid = getpid();
	pthread_atfork(count_fork, NULL, draw_otherwise);
}

static inline void draw(void *to, size_t bytes)
{
	uint8_t *at = (uint8_t *)to;

	if (drawn.pid != getpid()) {	/* clone(2) calls no handler */
		drawn.pid = getpid();
		drawn.state = finalised(drawn.state + (uint64_t)drawn.pid);
	}
	for (size_t done = 0, n; done < bytes; done += n) {
		uint64_t x = finalised(__atomic_add_fetch(
			&drawn.state, UINT64_C(0x9E3779B97F4A7C15), __ATOMIC_RELAXED));

		n = bytes - done < sizeof(x) ? bytes - done : sizeof(x);
		memcpy(at + done, &x, n);
	}
}

#endif
