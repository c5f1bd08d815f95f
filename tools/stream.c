/*
 * stream.c - a command's work on every batch of keys of its input
 *
 * A batch goes through four steps:
 *
 *	read	a block of input, on to the end of a line: one batch after the other, by whichever
 *		thread is free
 *	split	into lines, and find the key of each: many at once
 *	ahead	what the command may do in any order, that is questions: many at once
 *	in turn	all else, that is claims, output, counts, messages: by the first thread, in the
 *		order of the input
 *
 * At first one thread does all of them. Once the input has a large piece ready at once, the first
 * three go to threads of their own (-j), so a short input or one that comes line by line starts
 * none. The batches are in a ring: batch number n in slot n % slots, which is free again when n's
 * turn is over. Signals come to the first thread alone, which writes.
 *
 * Where a step fails, its message waits for the batch's turn; so there is one message, and the
 * answers before it are out.
 */
#include "stream.h"
#include "numbers.h"
#include "place.h"
#include "progress.h"
#include "signals.h"
#include "values.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

enum {
	JOBS_MOST = 64,
	JOBS_SENSIBLE = 8,	/* reading, which one does at a time, keeps no more busy */
	/*
	 * bytes that were there at once: half of a full pipe, as a writer leaves it that waits for
	 * us
	 */
	PLENTY = 32 << 10,
};

static uint64_t jobs;
const struct opt jobs_option[] = {
	{ 'j', "jobs", "N", "threads that read and work ahead (default: one for each processor, at "
	  "most 8)", set_number, &jobs, 0, JOBS_MOST },
	{ 0 }
};

const struct opt threads_option[] = {
	{ 0, "threads", "N", "the same as -j N", set_number, &jobs, 0, JOBS_MOST },
	{ 0 }
};

struct slot {
	struct batch batch;
	sem_t free, ready;
};

struct stream {
	const struct work *work;
	const struct given *given;	/* keys of the command line */
	bool gave;		/* are they read? */
	char **files;		/* not opened yet */
	size_t left;		/* how many */
	struct source source;
	bool open, ended;	/* is there a source; is there nothing more */
	uint64_t taken;		/* bytes of the sources before this one */
	uint64_t next;		/* number of the batch to read next */
	pthread_mutex_t reading;	/* held for the read step, with all of the above */

	struct slot *slots;
	size_t count;
	pthread_t threads[JOBS_MOST];
	size_t running;

	uint64_t keys, line;	/* of batches whose turn is over: all; in this source */
	uint64_t skipped;	/* lines of theirs without a key */
	char first_skipped[WHERE + WHY];
};

static struct slot *slot_of(struct stream *s, uint64_t number)
{
	return &s->slots[number % s->count];
}

static void wait_for(sem_t *what)
{
	while (sem_wait(what) < 0 && errno == EINTR)
		;
}

/* ---- Read, split, ahead ---- */

static void next_source(struct stream *s, struct batch *b)
{
	b->code = source_open(&s->source, *s->files, s->given->option);
	b->first = s->open = b->code == DONE;
	s->files++;
	s->left--;
}

/* All of them at once: there are no more than fit on a command line. */
static void give_step(struct stream *s, struct batch *b)
{
	s->gave = b->first = true;
	if (!batch_give(b, s->given))
		b->code = broken("out of memory");
}

/*
 * The next batch. It is empty where a file is, or where reading fails, or where a signal asked to
 * stop.
 */
static void read_step(struct stream *s, struct batch *b)
{
	int r = -1;

	if (!s->open)
		next_source(s, b);
	if (b->code == DONE) {
		r = batch_read(b, b->first ? NULL : &slot_of(s, s->next + s->count - 1)->batch,
			       &s->source);
		b->source = s->source.name;
		b->taken = s->taken + s->source.taken;
	}
	if (r < 0)
		b->code = FAILED;
	if (r <= 0 && s->open) {
		s->taken += s->source.taken;
		source_close(&s->source);
		s->open = false;
	}
}

static void next_batch(struct stream *s, struct batch *b)
{
	b->code = DONE;
	b->first = false;
	b->count = b->read = 0;
	b->given = NULL;
	if (s->given->count && !s->gave)
		give_step(s, b);
	else
		read_step(s, b);
	b->last = s->ended = b->code != DONE || stopping() || (!s->open && !s->left);
	s->next++;
}

static void split_and_ahead(const struct work *work, struct batch *b)
{
	b->wrong = batch_split(b);
	if (b->count && work->ahead && !stopping())
		b->code = work->ahead(b, work->context);
}

/* Return: the slot with the next batch, ready for its turn; NULL: there is none. */
static struct slot *prepare(struct stream *s, bool alone)
{
	struct slot *slot = NULL;

	pthread_mutex_lock(&s->reading);
	if (!s->ended) {
		slot = slot_of(s, s->next);
		wait_for(&slot->free);
		hold_messages(slot->batch.message);
		slot->batch.alone = alone;
		next_batch(s, &slot->batch);
	}
	pthread_mutex_unlock(&s->reading);
	if (slot && slot->batch.code == DONE)
		split_and_ahead(s->work, &slot->batch);
	hold_messages(NULL);
	return slot;
}

static void *run_ahead(void *stream)
{
	struct slot *slot;

	while ((slot = prepare(stream, false)))
		sem_post(&slot->ready);
	return NULL;
}

/* ---- In turn ---- */

static void note_skipped(struct stream *s, const struct batch *b)
{
	if (b->skipped && !s->skipped)
		snprintf(s->first_skipped, sizeof(s->first_skipped), "%.*s: line %llu %s",
			 WHERE - 40, b->source,
			 (unsigned long long)(b->line + b->first_skipped + 1), b->why_skipped);
	s->skipped += b->skipped;
}

static int take_turn(struct stream *s, struct batch *b)
{
	char where[WHERE];
	int code = DONE;

	if (b->first)
		s->line = 0;
	b->line = s->line;
	if (b->count && b->code == DONE)
		/* also where a line after these is wrong */
		code = s->work->in_turn(b, s->work->context);
	if (b->wrong)
		batch_where(where, b, b->read);
	note_skipped(s, b);
	s->keys += b->read;
	s->line += b->read + b->skipped;
	progress_now(s->keys, b->taken);
	if (code != DONE)
		return code;
	if (b->code == FAILED)
		say("%s", b->message);
	if (b->code == DONE && b->wrong)
		return broken("%s %s", where, b->wrong);
	return b->code;
}

/* Where threads cannot be had, the first one goes on alone. */
static void start_threads(struct stream *s, size_t count)
{
	sigset_t before;

	block_signals(&before);
	while (s->running < count && pthread_create(&s->threads[s->running], NULL, run_ahead, s)
	       == 0)
		s->running++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int each_turn(struct stream *s, size_t threads)
{
	int code = DONE;

	for (uint64_t n = 0;; n++) {
		struct slot *slot = slot_of(s, n);
		bool last, plenty;

		if (s->running)
			wait_for(&slot->ready);
		else
			prepare(s, true);
		if (code == DONE && !stopping())
			code = take_turn(s, &slot->batch);
		if (code != DONE)
			/* the batches that are read already come, and end unlooked at */
			stop_reading();
		last = slot->batch.last;
		plenty = slot->batch.used >= PLENTY;
		sem_post(&slot->free);
		if (last)
			break;
		if (plenty && !s->running && threads > 1)
			start_threads(s, threads);
	}
	while (s->running)
		pthread_join(s->threads[--s->running], NULL);
	return code == ENOUGH ? DONE : code;
}

size_t jobs_wanted(void)
{
	cpu_set_t cpus;
	int count;

	if (jobs)
		return jobs;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return 1;
	count = CPU_COUNT(&cpus);
	return count < JOBS_SENSIBLE ? (size_t)count : JOBS_SENSIBLE;
}

static bool make_slots(struct stream *s, size_t count)
{
	s->slots = calloc(count, sizeof(*s->slots));
	if (!s->slots)
		return false;
	s->count = count;
	for (size_t i = 0; i < count; i++) {
		sem_init(&s->slots[i].free, 0, 1);
		sem_init(&s->slots[i].ready, 0, 0);
	}
	return true;
}

static void free_slots(struct stream *s)
{
	for (size_t i = 0; i < s->count; i++)
		batch_free(&s->slots[i].batch);
	free(s->slots);
}

/* The secret was read, and with it whatever the stream had. */
static int refuse_secrets_stream(char **files, size_t count)
{
	const char *secret = given_key_file();

	for (size_t i = 0; secret && i < count; i++)
		if (is_same_stream(secret, files[i]))
			return misuse("--key-file %s: it and the keys of %s are one stream; put "
				      "the secret into a file", secret, files[i]);
	return DONE;
}

int each_batch(char **files, size_t count, const struct work *work)
{
	char standard_input[] = "-", *alone[] = { standard_input };
	struct stream s = {
		.work = work, .given = work->given ? work->given
		: &given_keys, .files = files, .left = count,
		.reading = PTHREAD_MUTEX_INITIALIZER,
	};
	size_t threads = jobs_wanted();
	int code = keys_check();

	if (!count && !s.given->count) {
		s.files = alone;
		s.left = 1;
	}
	if (code == DONE)
		code = refuse_secrets_stream(s.files, s.left);
	if (code == DONE && !make_slots(&s, threads + 2))
		code = broken("out of memory");
	if (code == DONE) {
		catch_signals();
		progress_begin(source_total(s.files, s.left));
		code = each_turn(&s, threads);
		progress_end();
	}
	if (s.skipped && code == DONE && !quiet)
		say("%llu lines without a key were skipped; the first is %s",
		    (unsigned long long)s.skipped, s.first_skipped);
	if (s.open)
		source_close(&s.source);
	free_slots(&s);
	return code;
}

/*
 * A window has keys that it has forgotten in its count: what it has now is estimated, which costs
 * something. What it asks at once can be more than its capacity, so it is beyond it only if its
 * rate is.
 */
static bool is_beyond(const struct blm_filter *f, const struct blm_info *info,
		      struct blm_estimate *estimate)
{
	/* which is of keys that differ */
	if (info->keys <= info->capacity || info->can & (BLM_GROWS | BLM_CAN_LIST | BLM_CAN_AGE))
		return false;
	if (info->can & BLM_CAN_ROTATE)
		return blm_estimate(f, false, estimate) == 0
			&& estimate->rate.value > 1.5 * info->rate;
	/* its rate stays, however many keys come */
	if (info->can & BLM_FORGETS && info->rate_at_keys <= info->rate)
		return false;
	if (blm_estimate(f, false, estimate) < 0)
		estimate->rate.value = info->rate_at_keys;
	return true;
}

/*
 * The count is exact enough to warn by; the rate comes from the bits as they are. What the filter
 * was made for is asked once, and again where it seems to be reached: it costs as much as adding a
 * thousand keys.
 */
void warn_beyond(const struct blm_filter *f, const char *name)
{
	static uint64_t reached;
	static bool warned;
	struct blm_estimate estimate;
	struct blm_info info = BLM_INFO;
	uint64_t keys;

	if (warned || quiet || (blm_count(f, &keys, NULL) == 0 && keys <= reached)
	    || blm_info(f, &info) < 0)
		return;
	warned = is_beyond(f, &info, &estimate);
	reached = info.keys > info.capacity ? info.keys + info.capacity / 8 : info.capacity;
	if (!warned)
		return;
	say("warning: %s %s %llu keys, but was made for %llu; its false-positive rate is %s now, "
	    "and grows with each key", name,
	    info.can & BLM_CAN_ROTATE ? "got" : "holds", (unsigned long long)info.keys,
	    (unsigned long long)info.capacity, show_rate(estimate.rate.value));
}
