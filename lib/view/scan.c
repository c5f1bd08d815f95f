/* scan.c - going over the data of filters once, piece by piece, with several threads */
#include "file/paging.h"
#include "view/scan.h"
#include "base/phase.h"
#include "base/thread.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A range is what a thread takes at a time: whole huge pages, few enough that taking one costs
 * nothing.
 */
enum { RANGE = 8 << 20, MOST_THREADS = 8 };

static _Atomic unsigned wanted_threads;

BLM_API void blm_use_threads(unsigned threads)
{
	atomic_store(&wanted_threads, threads);
}

static unsigned threads_for(uint64_t bytes)
{
	unsigned wanted = atomic_load(&wanted_threads);
	uint64_t ranges = bytes / RANGE;
	cpu_set_t set;

	if (!wanted)
		wanted = sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set)
			: 1;
	if (wanted > MOST_THREADS)
		wanted = MOST_THREADS;
	return ranges < wanted ? (unsigned)ranges + !ranges : wanted;
}

uint64_t blm_scan_bytes(const struct blm_view *view)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < view->parts; i++)
		bytes += view->part[i].shape.bytes;
	return bytes;
}

/* ---- Holes ---- */

/*
 * Behind the end of a truncated file there are no holes: missing data must be noticed, and not read
 * as zeros.
 */
static bool ends_before(int fd, uint64_t bytes)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (uint64_t)st.st_size < bytes;
}

bool blm_next_data(const struct blm_view *view, unsigned i, uint64_t at, uint64_t *ret_from,
		   uint64_t *ret_to)
{
	const struct blm_part *part = &view->part[i];
	uint64_t base = (uint64_t)(part->bytes - view->image.map);
	off_t data, hole;

	if (at >= part->shape.bytes)
		return false;
	*ret_from = at;
	*ret_to = part->shape.bytes;
	if (!view->holes || view->image.fd < 0)
		return true;
	data = lseek(view->image.fd, (off_t)(base + at), SEEK_DATA);
	if (data < 0)		/* ENXIO: only holes from here on */
		return errno != ENXIO || ends_before(view->image.fd, base + part->shape.bytes);
	if ((uint64_t)data >= base + part->shape.bytes)
		return false;
	hole = lseek(view->image.fd, data, SEEK_HOLE);
	*ret_from = ((uint64_t)data - base) / 64 * 64;
	if (hole > 0 && (uint64_t)hole < base + part->shape.bytes)
		*ret_to = round_up((uint64_t)hole - base, 64);
	return true;
}

/*
 * Where any of the views has data, from `at` on, in whole blocks: the first such stretch of [at,
 * end); `end` if none has.
 */
static uint64_t next_data(const struct blm_scan *scan, uint64_t at, uint64_t end, uint64_t *ret_to)
{
	uint64_t first = end, from, to;

	for (size_t v = 0; v < scan->count; v++)
		if (blm_next_data(scan->views[v], scan->part, at, &from, &to)
		    && from / BLM_BLOCK * BLM_BLOCK < first) {
			first = from / BLM_BLOCK * BLM_BLOCK;
			to = round_up(to, BLM_BLOCK);
			*ret_to = to < end ? to : end;
		}
	return first;
}

/* ---- Taking ranges, going over them ---- */

struct run {
	const struct blm_scan *scan;
	uint64_t bytes;
	uint64_t before;		/* of the phase, done when this part began */
	pthread_mutex_t mutex;		/* for what follows */
	/* the stretch of data that is being given out; at: its first free byte */
	uint64_t at, to;
	uint64_t zeros;			/* of holes, so far */
	/* the first failure, and its message, which is stored in the thread that had it */
	int failed;
	char reason[1024];
};

struct thread {
	struct run *run;
	struct blm_worker worker;
	pthread_t id;
};

/*
 * The next range of data for a thread. Holes are looked for from front to back, once: where many a
 * hole is, or none in much data, that takes the system long.
 */
static bool take(struct run *run, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t from, end;

	pthread_mutex_lock(&run->mutex);
	if (!run->failed && run->at == run->to && run->to < run->bytes) {
		from = next_data(run->scan, run->at, run->bytes, &run->to);
		run->zeros += from - run->at;
		run->at = from;
		if (from == run->bytes)
			run->to = from;
	}
	end = run->at / RANGE * RANGE + RANGE;
	*ret_from = run->at;
	*ret_to = run->at = run->failed ? run->at : end < run->to ? end : run->to;
	pthread_mutex_unlock(&run->mutex);
	return *ret_from < *ret_to;
}

/* Small pages are read one by one unless more are asked for at once. */
static void ask_for(const struct blm_scan *scan, uint64_t from, uint64_t to)
{
	for (size_t v = 0; v < scan->count; v++)
		if (!scan->views[v]->huge && scan->views[v]->part[scan->part].shape.bytes >= RANGE)
			blm_pages_want(scan->views[v]->part[scan->part].bytes + from, to - from);
}

static void fail(struct run *run, int err)
{
	pthread_mutex_lock(&run->mutex);
	if (!run->failed) {
		strncpy(run->reason, blm_error_message(), sizeof(run->reason) - 1);
		run->failed = err;
	}
	pthread_mutex_unlock(&run->mutex);
}

static void *work(void *context)
{
	struct thread *t = context;
	const struct blm_scan *scan = t->run->scan;
	uint64_t from, to;
	int r = 0;

	while (r == 0 && take(t->run, &from, &to)) {
		blm_phase_at(t->run->before + from);
		ask_for(scan, from, to);
		while (r == 0 && from < to) {
			size_t bytes = to - from < scan->most ? (size_t)(to - from) : scan->most;

			r = scan->piece(scan, &t->worker, from, bytes);
			from += bytes;
		}
	}
	if (r < 0)
		fail(t->run, r);
	return NULL;
}

/* ---- All of them ---- */

static void free_worker(struct blm_worker *worker)
{
	free(worker->tally);
	free(worker->buffer);
}

static bool make_worker(struct blm_worker *worker, const struct blm_scan *scan)
{
	worker->tally = calloc(scan->tallies + 1, sizeof(*worker->tally));
	worker->buffer = aligned_alloc(64, scan->most);
	if (worker->tally && worker->buffer)
		return true;
	free_worker(worker);
	return false;
}

static void count_zeros(const struct blm_scan *scan, uint64_t bytes, struct blm_tally *to)
{
	for (unsigned c = 0; c < scan->tallies; c++) {
		to[c].bytes += bytes;
		to[c].blocks[0] += bytes / 64;
	}
}

static void add_tally(struct blm_tally *to, const struct blm_tally *from)
{
	to->bytes += from->bytes;
	to->ones += from->ones;
	to->lanes += from->lanes;
	to->sum += from->sum;
	to->squares += from->squares;
	for (size_t x = 0; x < ARRAY_LEN(to->blocks); x++)
		to->blocks[x] += from->blocks[x];
}

/* The caller works too; a helper that cannot be had is done without. */
int blm_scan(const struct blm_scan *scan, struct blm_tally *to)
{
	struct run run = { .scan = scan, .bytes = scan->views[0]->part[scan->part].shape.bytes,
			   .before = blm_phase_done(),
			   .mutex = PTHREAD_MUTEX_INITIALIZER };
	unsigned wanted = threads_for(run.bytes), count = 1;
	struct thread thread[MOST_THREADS];

	thread[0] = (struct thread){ .run = &run };
	if (!make_worker(&thread[0].worker, scan))
		return blm_fail(-ENOMEM, "out of memory");
	while (count < wanted) {
		struct thread *t = &thread[count];

		*t = (struct thread){ .run = &run };
		if (!make_worker(&t->worker, scan))
			break;
		if (blm_thread_start(&t->id, work, t)) {
			free_worker(&t->worker);
			break;
		}
		count++;
	}
	work(&thread[0]);
	for (unsigned i = 0; i < count; i++) {
		if (i)
			pthread_join(thread[i].id, NULL);
		for (unsigned c = 0; c < scan->tallies; c++)
			add_tally(&to[c], &thread[i].worker.tally[c]);
		free_worker(&thread[i].worker);
	}
	count_zeros(scan, run.zeros, to);
	if (!run.failed)
		blm_phase_at(run.before + run.bytes);
	return run.failed ? blm_fail(run.failed, "%s", run.reason) : 0;
}
