/*
 * random.h - a test program draws the same random numbers in every run
 *
 * The library draws seeds, secrets and temporary names from getrandom(2), which this replaces in
 * the program and in the libraries that it loads. Each test is a process of its own and begins with
 * the same numbers, so that a test of a rate has one answer. A process that a test forks draws
 * other numbers than its parent and its siblings. Threads that draw at the same time share the
 * numbers in any order. Commands that a test starts draw from the system.
 */
#ifndef BLM_RANDOM_OF_TESTS_H
#define BLM_RANDOM_OF_TESTS_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static struct {
	uint64_t state;
	uint64_t forks;		/* of this process */
	unsigned depth;		/* 0: the program, 1: a test of it, 2: a process of that test */
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

__attribute__((weak)) ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
	uint8_t *at = (uint8_t *)to;

	(void)flags;
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
	return (ssize_t)bytes;
}

#endif
