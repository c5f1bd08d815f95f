/*
 * rounds.c - the whole run: sites are made, every row is timed once a round, and at the end the
 * answers are checked
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static bool site_wanted(const struct plan *plan, const struct site *s)
{
	for (size_t i = 0; i < plan->row_count; i++)
		if (plan->rows[i].site == s && plan->rows[i].wanted)
			return true;
	return false;
}

static int site_number(const struct plan *plan, const struct site *s)
{
	return (int)(s - plan->sites);
}

static void take_facts(struct site *s, const struct site *facts)
{
	s->data_bytes = facts->data_bytes;
	s->bytes = facts->bytes;
	s->resident = facts->resident;
	s->huge = facts->huge;
	s->bits_per_key = facts->bits_per_key;
	s->predicted_rate = facts->predicted_rate;
	s->measured_rate = facts->measured_rate;
	s->probes = facts->probes;
}

/* All at the same time, each worker one after the other. */
static int make_sites(struct plan *plan)
{
	struct result *result = malloc(sizeof(*result));
	int r = result ? 0 : -ENOMEM;

	for (size_t i = 0; i < plan->site_count && r == 0; i++) {
		struct site *s = &plan->sites[i];

		if (site_wanted(plan, s))
			r = worker_ask(s->made_by, &(struct job){ .order = MAKE,
								  .site = (int)i,
								  .added = s->added });
	}
	for (size_t i = 0; i < plan->site_count && r == 0; i++) {
		struct site *s = &plan->sites[i];

		r = site_wanted(plan, s) ? worker_hear(s->made_by, result) : 1;
		if (r == 0 && result->yes < 0)
			plan_miss(plan, "%s %s: %s\n", s->name, s->label, result->reason);
		else if (r == 0)
			take_facts(s, &result->facts);
		if (r == 0 && result->yes < 0
		    && (s->engine == &ours || s->engine == &algebra
			|| s->engine == &likeness_of_bits)) {
			fprintf(stderr, "bench: %s %s: %s\n", s->name, s->label, result->reason);
			r = (int)result->yes;
		}
		r = r == 1 ? 0 : r;
	}
	free(result);
	return r;
}

static size_t fresh_of(const struct row *row)
{
	return row_is_alone(row) ? row_count_alone(row) : row->site->fresh;
}

/* Keys or lines of one measurement. */
static size_t count_of(const struct plan *plan, const struct row *row)
{
	return row->work->whole || row->work->begin ? row->site->keys
	     : row->work->which == FRESH	    ? fresh_of(row)
						    : plan->options.questions;
}

/*
 * How full a filter of its own is before: from three quarters on, fuller in each round, as a filter
 * becomes that all rows share.
 */
static uint64_t added_alone(const struct plan *plan, const struct row *row, unsigned round)
{
	uint64_t keys = row->site->keys, last = keys - row_count_alone(row), first = keys * 3 / 4;

	return plan->options.rounds == 1 ? last
	     : first + (last - first) * round / (plan->options.rounds - 1);
}

static int ask(const struct plan *plan, struct row *row, int worker, unsigned together,
	       unsigned round)
{
	struct site *s = row->site;
	const struct work *work = row->work;
	struct job job = {
		.order = RUN, .site = site_number(plan, s), .work = (int)(work - s->engine->works),
		.added = s->added, .count = count_of(plan, row), .together = together,
	};

	job.alone = row_is_alone(row);
	if (work->which == FRESH && job.alone) {
		job.first = job.added = added_alone(plan, row, round);
	} else if (work->which == FRESH) {
		job.first = s->added;
		s->added += job.count;
	} else {
		job.first = ABSENT_FROM + s->asked;
		s->asked += job.count;
	}
	return worker_ask(worker, &job);
}

static double value_of(const struct plan *plan, const struct row *row, const struct result *r)
{
	const struct work *work = row->work;
	double seconds = work->whole ? r->wall : r->cpu;

	return work->measure ? r->value : seconds * 1e9 / (double)count_of(plan, row);
}

static int failed(const struct row *row, const struct result *result)
{
	fprintf(stderr, "bench: %s: %s\n", row->name, result->reason);
	return (int)result->yes;
}

static int time_row(const struct plan *plan, struct row *row, unsigned round)
{
	static struct result one, two;
	bool pair = row->work->processes == 2;
	int r = ask(plan, row, row->worker, pair ? 2 : 1, round);

	if (r == 0 && pair)
		r = ask(plan, row, SECOND, 2, round);
	if (r == 0)
		r = worker_hear(row->worker, &one);
	if (r == 0 && pair)
		r = worker_hear(SECOND, &two);
	if (r < 0)
		return r;
	if (one.yes < 0 || (pair && two.yes < 0))
		return failed(row, one.yes < 0 ? &one : &two);
	row->value[round] = value_of(plan, row, &one);
	if (pair) {
		double other = value_of(plan, row, &two);

		/* for each key of both */
		row->value[round] = (other > row->value[round] ? other : row->value[round]) / 2;
	}
	row->peak[round] = one.peak;
	row->disturbed[round] = !row->work->measure
			     && (one.wall > one.cpu * 1.08 || (pair && two.wall > two.cpu * 1.08));
	return 0;
}

/*
 * So that several measurements on one machine do not disturb each other; released after every
 * round.
 */
static int take_turn(const struct plan *plan, int operation)
{
	static int fd = -1;

	if (!plan->options.lock)
		return 0;
	if (fd < 0)
		fd = open(plan->options.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || flock(fd, operation) < 0) {
		int r = -errno;

		fprintf(stderr, "bench: cannot lock %s: %s\n", plan->options.lock, strerror(-r));
		return r;
	}
	if (operation == LOCK_UN)
		usleep(100000);		/* so that those who wait get it first */
	return 0;
}

static int run_round(struct plan *plan, unsigned round)
{
	for (size_t i = 0; i < plan->row_count; i++) {
		struct row *row = &plan->rows[i];
		int r = stopped() ? -EINTR : 0;

		if (r == 0 && row->wanted && row->site->data_bytes) {
			if (row->peak_of)
				row->value[round] = row->peak_of->peak[round];
			else
				r = time_row(plan, row, round);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_sites(struct plan *plan)
{
	static struct result result;

	for (size_t i = 0; i < plan->site_count; i++) {
		struct site *s = &plan->sites[i];
		struct job job = { .order = CHECK,
				   .site = (int)i,
				   .added = s->added,
				   .first = ABSENT_FROM + s->asked };
		int r;

		if (!s->data_bytes || !s->engine->fill)
			continue;
		r = worker_ask(s->worker, &job);
		if (r == 0)
			r = worker_hear(s->worker, &result);
		if (r == 0 && result.yes < 0) {
			fprintf(stderr, "bench: %s %s: %s\n", s->name, s->label, result.reason);
			r = (int)result.yes;
		}
		if (r < 0)
			return r;
		take_facts(s, &result.facts);
	}
	return 0;
}

static void progress(const char *what, unsigned done, unsigned all)
{
	if (isatty(2))
		fprintf(stderr, "\r\033[K%s %u of %u", what, done, all);
	if (isatty(2) && done == all)
		fprintf(stderr, "\r\033[K");
}

int plan_run(struct plan *plan)
{
	int r = workers_start(plan);

	progress("filling; round", 0, plan->options.rounds);
	if (r == 0)
		r = make_sites(plan);
	for (unsigned i = 0; i < plan->options.rounds && r == 0; i++) {
		r = take_turn(plan, LOCK_EX);
		if (r == 0) {
			r = run_round(plan, i);
			take_turn(plan, LOCK_UN);
		}
		plan->rounds += r == 0;
		progress("round", i + 1, plan->options.rounds);
	}
	if (r == 0)
		r = check_sites(plan);
	workers_stop();
	return r;
}
