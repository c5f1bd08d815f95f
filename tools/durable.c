/*
 * durable.c - --sync-every: by number in the first thread, after a batch's answers are out; by the
 * clock in a thread of its own
 */
#include "durable.h"
#include "signals.h"
#include "terms.h"
#include "values.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static struct every every;
const struct opt sync_option[] = {
	{ 0, "sync-every", "N|TIME", "sync after each N changes (100k, 5M), or every so often (5s, "
	  "10min, 1h), and at the end", set_every, &every },
	{ 0 }
};

bool is_syncing(void)
{
	return every.keys || every.seconds > 0;
}

/* keys that changed the filter after the last sync for their number */
static uint64_t since;
static bool failed;		/* a sync: no more keys are taken */

/* what the first sync said that found blocks which have lost bits */
static char lost[1024];

/* Syncs by the clock, also while no key comes or none is new. */
static struct {
	struct blm_filter *f;
	pthread_t thread;
	pthread_mutex_t mutex;	/* for the rest */
	pthread_cond_t end;
	bool runs, ending, failed;
} by_clock;

static struct timespec later(struct timespec from, double seconds)
{
	long nanoseconds = from.tv_nsec + (long)((seconds - floor(seconds)) * 1e9);

	return (struct timespec){ from.tv_sec + (time_t)seconds + nanoseconds / 1000000000,
				  nanoseconds % 1000000000 };
}

static bool is_dirty(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	return blm_info(f, &info) < 0 || info.dirty;
}

/*
 * Was its file deleted, moved or displaced while keys went into it? Then the name does not lead to
 * them.
 */
static int tell_if_lost(struct blm_filter *f)
{
	int r = blm_status(f);

	return r < 0 ? fail(r) : DONE;
}

/*
 * Blocks that lost bits do not end the command: its keys are on the disk. It reports them at the
 * end. The last sync may find no bit missing any more, because later keys set others in the same
 * block.
 */
int sync_now(struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;
	char reason[sizeof(lost)];
	int r = blm_sync(f);

	if (r < 0)
		snprintf(reason, sizeof(reason), "%s", own_terms(blm_error_message()));
	if (r == -EUCLEAN && blm_info(f, &info) == 0 && info.lost_blocks) {
		if (!*lost)
			strcpy(lost, reason);
		r = 0;
	}
	return r < 0 ? broken("%s", reason) : tell_if_lost(f);
}

/* One that fails says so at once, for the input may pause; no more keys are taken then. */
static void *sync_by_clock(void *unused)
{
	struct timespec next;

	(void)unused;
	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&by_clock.mutex);
	while (!by_clock.ending && !by_clock.failed) {
		int code = DONE;

		next = later(next, every.seconds);
		while (!by_clock.ending && pthread_cond_timedwait(&by_clock.end, &by_clock.mutex,
			&next) != ETIMEDOUT)
			;
		if (by_clock.ending)
			break;
		pthread_mutex_unlock(&by_clock.mutex);
		if (is_dirty(by_clock.f))
			code = sync_now(by_clock.f);
		if (code != DONE)
			stop_reading();
		pthread_mutex_lock(&by_clock.mutex);
		by_clock.failed = code != DONE;
	}
	pthread_mutex_unlock(&by_clock.mutex);
	return NULL;
}

int begin_syncing(struct blm_filter *f)
{
	pthread_condattr_t attr;
	sigset_t before;
	int err;

	if (every.keys || every.seconds > 0)
		/*
		 * a reader that closes our output ends us after the last sync, not before it
		 * (output.c)
		 */
		signal(SIGPIPE, SIG_IGN);
	if (!(every.seconds > 0))
		return DONE;
	by_clock.f = f;
	pthread_mutex_init(&by_clock.mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&by_clock.end, &attr);
	pthread_condattr_destroy(&attr);
	block_signals(&before);
	err = pthread_create(&by_clock.thread, NULL, sync_by_clock, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	by_clock.runs = !err;
	return err ? broken("--sync-every: no thread for the clock: %s", strerror(err)) : DONE;
}

int sync_if_due(struct blm_filter *f, uint64_t changed)
{
	int code = DONE;

	since += changed;
	if (every.keys && since >= every.keys) {
		since = 0;
		code = sync_now(f);
		failed = code != DONE;
	}
	return code;
}

static void end_clock(void)
{
	if (!by_clock.runs)
		return;
	pthread_mutex_lock(&by_clock.mutex);
	by_clock.ending = true;
	pthread_cond_signal(&by_clock.end);
	pthread_mutex_unlock(&by_clock.mutex);
	pthread_join(by_clock.thread, NULL);
	by_clock.runs = false;
	failed |= by_clock.failed;
}

/*
 * Also where the command ends badly, so that all keys added or claimed until then are durable. A
 * failed sync is reported once.
 */
int end_syncing(struct blm_filter *f, int code)
{
	int r = DONE;

	end_clock();
	if (failed)
		r = FAILED;
	else if (every.keys || every.seconds > 0)
		r = sync_now(f);
	else if (code < FAILED)
		r = tell_if_lost(f);
	if (*lost)
		r = broken("%s", lost);
	return r == DONE ? code : r;
}
