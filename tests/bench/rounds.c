/* rounds.c - a round: every work once, on every subject, its answers checked after the clock stopped */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int prepare(struct subject *s, const struct work *work)
{
	s->keys.count = s->batch;
	if (work->which == ABSENT) {
		keys_from(&s->keys, s->batch, (UINT64_C(1) << 63) + s->asked);
		s->asked += s->batch;
	} else if (work->which == PRESENT) {
		keys_drawn(&s->keys, s->added, &s->seed);
	} else if (work->which == FRESH) {
		keys_from(&s->keys, s->batch, s->added);
	}
	return work->hashed ? blm_hash_many(s->f, s->keys.key, s->keys.count, s->keys.hash) : 0;
}

/* What the subject before left in the caches goes, lest the first work alone pay for it. */
static void warm_up(struct subject *s)
{
	limits[LIMIT_READ].run(s);
}

/* The library's answers, known but for the false positives: at most twice the predicted rate. */
static int check(const struct subject *s, const struct work *work, int64_t yes)
{
	int64_t count = (int64_t)s->batch;
	int64_t doubtful = (int64_t)(2 * s->info.rate_at_capacity * (double)count) + 10;
	int64_t least = 0, most = count;

	if (work->which == NO_KEYS || work == &limits[LIMIT_HASH])
		return 0;
	if (work->which == PRESENT)
		least = most = work->changes ? 0 : count;
	else if (work->which == ABSENT)
		most = doubtful;
	else
		least = count - doubtful;
	if (yes >= least && yes <= most)
		return 0;
	fprintf(stderr, "bench: %s: %s: %lld of %lld answers were yes; %lld to %lld are right\n", s->kind, work->name,
		(long long)yes, (long long)count, (long long)least, (long long)most);
	return -EUCLEAN;
}

static int measure(struct subject *s, const struct work *work, struct sample *ret)
{
	double wall, cpu;
	int64_t yes = prepare(s, work);

	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
	yes = yes < 0 ? yes : work->run(s);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
	wall = seconds(CLOCK_MONOTONIC) - wall;
	if (yes < 0) {
		fprintf(stderr, "bench: %s: %s: %s\n", s->kind, work->name, blm_why());
		return (int)yes;
	}
	*ret = (struct sample){ .ns = cpu * 1e9 / (double)s->batch, .disturbed = wall > cpu * 1.08 };
	if (work->which == FRESH)
		s->added += s->batch;
	return check(s, work, yes);
}

size_t series_list(struct series *ret, struct subject *s)
{
	for (size_t i = 0; i < LIMITS + work_count; i++)
		ret[i] = (struct series){ .subject = s, .work = i < LIMITS ? &limits[i] : &works[i - LIMITS], .limit = ret };
	return LIMITS + work_count;
}

int run_round(struct series *series, size_t count, unsigned round)
{
	for (size_t i = 0; i < count; i++) {
		int r = stopped() ? -EINTR : 0;

		if (r < 0)
			return r;
		if (series[i].limit == &series[i])
			warm_up(series[i].subject);
		r = measure(series[i].subject, series[i].work, &series[i].sample[round]);
		if (r < 0)
			return r;
	}
	return 0;
}
