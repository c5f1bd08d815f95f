/* thread.h - threads that the library starts to work for its caller */
#ifndef BLM_THREAD_H
#define BLM_THREAD_H

#include <pthread.h>

/*
 * Starts a thread that takes none of the signals meant for the program, whose own threads have
 * their handlers; those of a fault come where the fault is. Returns 0, or what pthread_create()
 * does: the caller then works without it.
 */
int blm_thread_start(pthread_t *ret, void *(*work)(void *context), void *context);

#endif
