/* reclaim.c - which threads are inside a call */
#include "handle/reclaim.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local struct blm_thread blm_thread;
uint64_t blm_reclaim_epoch = 1;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;	/* for all the following */
static struct blm_thread *threads;
static bool some_unknown;		/* there is a thread that is not among them */
static pthread_key_t at_end;
static bool at_end_made;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forget(void *thread)
{
	struct blm_thread *t = thread;

	pthread_mutex_lock(&mutex);
	if (t->next)
		t->next->previous = t->previous;
	if (t->previous)
		t->previous->next = t->next;
	else
		threads = t->next;
	pthread_mutex_unlock(&mutex);
	t->entered = 0;
	t->gone = true;
}

/* In a forked child no other thread of the parent exists. */
static void forget_others(void)
{
	pthread_mutex_init(&mutex, NULL);
	threads = blm_thread.entered ? &blm_thread : NULL;
	blm_thread.next = blm_thread.previous = NULL;
}

static void set_up(void)
{
	at_end_made = pthread_key_create(&at_end, forget) == 0;
	pthread_atfork(NULL, NULL, forget_others);
}

static void make_known(struct blm_thread *t)
{
	pthread_once(&once, set_up);
	pthread_mutex_lock(&mutex);
	/*
	 * a thread that calls the library at its very end, after it was unregistered, might end
	 * without being unregistered again
	 */
	if (t->gone || !at_end_made || pthread_setspecific(at_end, t)) {
		some_unknown = true;
	} else {
		t->previous = NULL;
		t->next = threads;
		if (threads)
			threads->previous = t;
		threads = t;
		__atomic_store_n(&t->entered, __atomic_load_n(&blm_reclaim_epoch, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&mutex);
}

uint64_t blm_enter_slowly(void)
{
	if (blm_thread.entered)
		/* called from a call: a caller's function, a signal handler */
		return blm_thread.entered;
	make_known(&blm_thread);
	return blm_thread.entered ? BLM_NO_EPOCH : 0;
}

uint64_t blm_advance_reclaim_epoch(void)
{
	return __atomic_fetch_add(&blm_reclaim_epoch, 1, __ATOMIC_SEQ_CST);
}

static bool fence_everywhere(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) == 0)
		return true;
	return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) == 0
		&& syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) == 0;
}

uint64_t blm_oldest_reclaim_epoch(void)
{
	uint64_t oldest = BLM_NO_EPOCH;

	pthread_mutex_lock(&mutex);	/* a thread that comes later gets the new view */
	if (some_unknown || !fence_everywhere())
		oldest = 0;
	for (const struct blm_thread *t = threads; oldest && t; t = t->next) {
		uint64_t entered = __atomic_load_n(&t->entered, __ATOMIC_ACQUIRE);

		oldest = entered < oldest ? entered : oldest;
	}
	pthread_mutex_unlock(&mutex);
	return oldest;
}
