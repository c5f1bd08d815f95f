/*
 * work.c - what a worker does: fill a site, time one work on it, check the answers after the clock
 * stopped
 */
#include "bench.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One piece of keys serves all sites of a process. */
static int lend_piece(struct site *s)
{
	static struct keys piece;

	if (!piece.key) {
		int r = keys_make(&piece, PIECE);

		if (r < 0)
			return r;
	}
	s->piece = piece;
	return 0;
}

static int fill(struct site *s, uint64_t until)
{
	while (s->added < until) {
		uint64_t left = until - s->added;
		int r;

		keys_from(&s->piece, left < PIECE ? left : PIECE, s->added);
		r = stopped() ? -EINTR : s->engine->fill(s);
		if (r < 0)
			return r;
		s->added += s->piece.count;
	}
	return 0;
}

static int make(struct site *s, const struct job *job)
{
	int r = s->engine->make(s);

	s->added = 0;	/* the plan says what it will be */
	if (r == 0 && s->curve)
		return s->engine->noise(s);
	if (r == 0 && s->engine->fill)
		r = fill(s, job->added);
	if (r == 0 && s->engine->finish)
		r = s->engine->finish(s);
	return r;
}

static int open_here(struct site *s)
{
	int r = s->it ? 0 : s->engine->open ? s->engine->open(s) : -ENOENT;

	if (r == 0 && s->lines && s->way[BEST] < 0)
		touch_lines(s);
	return r;
}

static const struct work *question(const struct engine *engine)
{
	const struct work *ret = NULL;

	for (size_t i = 0; i < engine->work_count; i++)
		if (engine->works[i].which == ABSENT && engine->works[i].limit
		    && !engine->works[i].hashed)
			ret = &engine->works[i];
	return ret;
}

/* A peer may not say where its lines are. Then enough questions are asked to read nearly all. */
static void ask_until_warm(struct site *s)
{
	const struct work *ask = question(s->engine);

	for (uint64_t asked = 0; ask && asked < 4 * s->data_bytes / LINE_BYTES; asked += PIECE) {
		keys_drawn(&s->piece, PIECE, s->keys, &s->seed);
		sink = (uint64_t)ask->run(s, PIECE);
	}
}

/* What other sites left in the caches goes; what fits in comes. */
static void warm_up(struct site *s)
{
	uint64_t sum = 0;
	bool fits = s->data_bytes < 64 << 20;

	for (uint64_t i = 0; fits && i < s->line_count; i++)
		sum += s->lines[i].word[0];
	sink = sum;
	if (s->line_count)
		read_lines(s, PIECE);
	else if (fits)
		ask_until_warm(s);
}

static int prepare(struct site *s, const struct work *work, const struct job *job, size_t done)
{
	size_t count = job->count - done < PIECE ? job->count - done : PIECE;

	if (work->which == PRESENT)
		keys_drawn(&s->piece, count, job->added, &s->seed);
	else
		keys_from(&s->piece, count, job->first + done);
	return work->hashed ? blm_hash_many(s->it, s->piece.key, s->piece.count, s->piece.hash) : 0;
}

static int64_t timed(struct site *s, int64_t (*what)(struct site *, size_t), size_t count,
		     struct result *ret)
{
	double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
	int64_t yes = what(s, count);

	ret->cpu += seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
	ret->wall += seconds(CLOCK_MONOTONIC) - wall;
	return yes;
}

static int64_t in_pieces(struct site *s, const struct work *work, const struct job *job,
			 struct result *ret)
{
	int64_t yes = 0;

	warm_up(s);
	for (size_t done = 0; done < job->count; done += PIECE) {
		int64_t r = prepare(s, work, job, done);

		if (r < 0)
			return r;
		if (job->together > 1)
			work_together(job->together);
		if (work->give)
			r = work->give(s);
		if (r >= 0)
			r = timed(s, work->run, s->piece.count, ret);
		if (r < 0)
			return r;
		yes += r;
	}
	return yes;
}

/* The keys are made outside of the timed part; all else is timed. */
static int64_t made_anew(struct site *s, const struct work *work, const struct job *job,
			 struct result *ret)
{
	int64_t r = timed(s, work->begin, job->count, ret);

	if (r >= 0)
		r = in_pieces(s, work, job, ret);
	if (r >= 0)
		r = timed(s, work->finish, job->count, ret);
	return r < 0 ? r : work->check(s, job->count);
}

/*
 * The answers, known but for the false positives: at most twice the predicted rate. Filters of the
 * curve are filled with noise: half of their bits are set, and a question is answered yes with a
 * probability of 2^-k, which is above the rate of keys. So at most four times.
 */
static int check(const struct site *s, const struct work *work, size_t asked, int64_t yes)
{
	int64_t count = (int64_t)asked;
	int64_t doubtful = (int64_t)((s->curve ? 4 : 2) * s->predicted_rate * (double)count) + 10;
	int64_t least = 0, most = count;

	if (work->which == NO_KEYS || (!work->limit && !work->changes))	/* hashes are no answers */
		return 0;
	/* keys that one entry stands for are taken out at once; one seems to have been taken out */
	if (work->give)
		least = s->forgets ? count - doubtful : count;
	else if (work->which == PRESENT && work->changes)
		most = s->counts ? count : 0;
	else if (work->which == PRESENT)
		least = s->forgets ? 0 : count;
	else if (work->which == ABSENT)
		most = doubtful;
	else
		least = count - doubtful;
	if (yes >= least && yes <= most)
		return 0;
	fprintf(stderr, "bench: %s %s: %s: %lld of %lld answers were yes; %lld to %lld are right\n",
		s->name, s->label, work->name, (long long)yes, (long long)count, (long long)least,
		(long long)most);
	return -EUCLEAN;
}

/* In another filter of the same parameters, with the same keys, which is removed. */
static int64_t run_alone(struct site *s, const struct work *work, const struct job *job,
			 struct result *ret)
{
	struct site copy = *s;
	int64_t yes;

	if (asprintf(&copy.path, "%s-alone", s->path) < 0)
		return -ENOMEM;
	copy.it = NULL;
	copy.added = 0;
	yes = copy.engine->make(&copy);
	if (yes == 0)
		yes = fill(&copy, job->added);
	if (yes >= 0)
		yes = in_pieces(&copy, work, job, ret);
	if (yes >= 0 && check(&copy, work, job->count, yes) < 0)
		yes = -EUCLEAN;
	if (copy.it)
		copy.engine->close(&copy);
	unlink(copy.path);
	free(copy.path);
	s->seed = copy.seed;
	return yes;
}

static int64_t run(struct site *s, const struct job *job, struct result *ret)
{
	const struct work *work = &s->engine->works[job->work];
	int64_t yes = open_here(s);

	if (yes == 0 && work->before)
		yes = work->before(s);
	if (yes < 0)
		return yes;
	if (job->alone)
		return run_alone(s, work, job, ret);
	if (work->measure)
		return work->measure(s, ret);
	if (work->whole) {
		yes = timed(s, work->run, job->count, ret);
		return yes >= 0 && work->check ? work->check(s, job->count) : yes;
	}
	if (work->begin)
		return made_anew(s, work, job, ret);
	yes = in_pieces(s, work, job, ret);
	if (yes >= 0 && check(s, work, job->count, yes) < 0)
		return -EUCLEAN;
	return yes;
}

/* Full now: the false-positive rate, and that no key is denied, if it has any. */
static int64_t verify(struct site *s, const struct job *job)
{
	enum { QUESTIONS = 1 << 20 };
	const struct work *ask = question(s->engine);
	int64_t yes = 0, r = open_here(s);

	s->added = job->added;
	if (r == 0 && !s->engine->finish && !s->curve)
		r = fill(s, s->keys);
	for (size_t done = 0; done < QUESTIONS && r >= 0; done += PIECE) {
		keys_from(&s->piece, PIECE, job->first + done);
		yes += ask->run(s, PIECE);
		if (s->curve)
			continue;
		keys_drawn(&s->piece, PIECE, s->added, &s->seed);
		if (ask->run(s, PIECE) != PIECE && !s->forgets) {
			fprintf(stderr, "bench: %s %s denies a key that it was given\n", s->name,
				s->label);
			r = -EUCLEAN;
		}
	}
	s->measured_rate = (double)yes / QUESTIONS;
	if (s->path)
		mapping_resident(s->path, &s->resident, &s->huge);
	return r < 0 ? r : 0;
}

void work_do(struct plan *plan, const struct job *job, struct result *ret)
{
	struct site *s = &plan->sites[job->site];

	ret->yes = lend_piece(s);
	if (ret->yes == 0)
		ret->yes = job->order == MAKE  ? make(s, job)
			 : job->order == CHECK ? verify(s, job)
					       : run(s, job, ret);
	if (ret->yes < 0 && !*ret->reason)
		snprintf(ret->reason, sizeof(ret->reason), "%s",
			 ret->yes == -EUCLEAN ? "a wrong answer"
			 : s->engine == &ours || s->engine == &algebra
					 || s->engine == &likeness_of_bits
				 ? blm_error_message()
				 : strerror((int)-ret->yes));
	ret->facts = *s;
}
