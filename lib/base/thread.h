/* thread.h - threads that the library starts to work for its caller */
#ifndef BLM_THREAD_H
#define BLM_THREAD_H

#include <pthread.h>

/*
 * Starts a thread that blocks all signals meant for the program, whose own threads handle them;
 * signals of a fault arrive in the faulting thread. Returns 0, or the error of pthread_create():
 * the caller then works without the thread.
 */
int blm_thread_start(pthread_t *ret, void *(*work)(void *context), void *context);

#endif
