/*
 * refuse.h - no helper for a thread that would have one: for programs that are linked with
 * --wrap=pthread_create and --wrap=aligned_alloc
 */
#ifndef BLM_TEST_REFUSE_H
#define BLM_TEST_REFUSE_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static bool refuse_threads;
/* to who asks for it as the n-th, from 1 on; set while one thread runs */
static int refuse_memory;

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *how, void *(*work)(void *),
			  void *context);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *how, void *(*work)(void *),
			  void *context);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *how, void *(*work)(void *),
			  void *context)
{
	return refuse_threads ? EAGAIN : __real_pthread_create(ret, how, work, context);
}

void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
	return refuse_memory && --refuse_memory == 0 ? NULL : __real_aligned_alloc(align, bytes);
}

#endif
