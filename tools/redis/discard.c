/* discard.c - a queue of filters that a thread closes */
#include "discard.h"

#include <pthread.h>
#include <stdbool.h>

enum {
	SMALL = 1 << 20,		/* bytes that are given back sooner than a thread begins */
	WAITING_MOST = 32,		/* each one keeps its descriptors */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct blm_filter *waiting[WAITING_MOST];
static unsigned count;
static bool running;			/* a thread empties the queue */

static struct blm_filter *next(void)
{
	struct blm_filter *f = NULL;

	pthread_mutex_lock(&lock);
	if (count)
		f = waiting[--count];
	else
		running = false;
	pthread_mutex_unlock(&lock);
	return f;
}

static void *run(void *nothing)
{
	struct blm_filter *f;

	while ((f = next()))
		blm_close(f);
	return NULL;
}

static bool start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool started;

	if (pthread_attr_init(&attr) != 0)
		return false;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	started = pthread_create(&thread, &attr, run, NULL) == 0;
	pthread_attr_destroy(&attr);
	return started;
}

/* The caller's own filter is the last one, so it closes that itself if no thread begins. */
static bool enqueue(struct blm_filter *f)
{
	bool done;

	pthread_mutex_lock(&lock);
	done = count < WAITING_MOST && (running || start());
	if (done) {
		waiting[count++] = f;
		running = true;
	}
	pthread_mutex_unlock(&lock);
	return done;
}

void discard(struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	if (!f || blm_info(f, &info) < 0 || info.data_bytes < SMALL || !enqueue(f))
		blm_close(f);
}
