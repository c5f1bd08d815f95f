/*
 * report.h - the main program of a test under the scheduler: seeded schedules, every schedule of
 * its crews, and the same schedules with each mistake, which must fail
 *
 * usage: PROGRAM [all | SCHEDULES [FIRST_SEED]]
 *	SCHEDULES: that many seeded ones and nothing else; without arguments what a suite has time
 *	for; all: every schedule of the larger crews, too
 *
 * A test defines, before it includes this file: scheduler.h and its functions; `enum mistake`, from
 * NONE to MISTAKES; and the variable `mistake`. Then it defines walk(). The crews that are for
 * every run come first.
 */
#ifndef SCHEDULE_REPORT_H
#define SCHEDULE_REPORT_H

/*
 * One schedule of a crew that the seed chooses. Return: the error at its end; NULL: none.
 */
static const char *walk(uint64_t seed);

enum { ANY_CREW = -1, FEW = 10000 };	/* schedules in which a mistake must be found */

struct named_crew {
	const char *name;
	struct crew crew;
};

struct planted {
	const char *name;
	int crew;		/* whose schedules show it; ANY_CREW: one of all, and of walk()'s */
	bool rare;		/* no seeded schedule may show it */
};

struct report {
	const char *program;
	const char *seeded;	/* what the seeded schedules show */
	const char *always;	/* what every schedule of a crew shows: behind the crew's name */
	uint64_t schedules, schedules_of_all;
	const struct named_crew *crews;
	unsigned everyday, all;		/* of the crews */
	const struct planted *mistakes;
};

static unsigned tests, failed;

static void tell(bool ok, const char *what)
{
	tests++;
	failed += !ok;
	printf("%s %u - %s\n", ok ? "ok" : "not ok", tests, what);
}

static void walk_all(const struct report *r, uint64_t schedules, uint64_t first)
{
	const char *wrong = NULL;
	uint64_t seed;

	for (seed = first; seed < first + schedules && !wrong; seed++)
		wrong = walk(seed);
	if (wrong)
		printf("# seed %llu: %s; again by: %s 1 %llu\n", (unsigned long long)seed - 1,
		       wrong, r->program, (unsigned long long)seed - 1);
	tell(!wrong, r->seeded);
}

static void explore_all(const struct report *r, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char what[200];
		uint64_t ends;
		const char *wrong = explore(&r->crews[i].crew, &ends);

		printf("# %zu states, %llu ends%s%s\n", visited_count, (unsigned long long)ends,
		       wrong ? ": " : "", wrong ? wrong : "");
		snprintf(what, sizeof(what), "in every schedule of %s%s", r->crews[i].name,
			 r->always);
		tell(!wrong, what);
	}
}

/* The error in the first schedule that shows the mistake; *ret_seed: the seed of it. */
static const char *walk_mistake(const struct report *r, const struct planted *m, uint64_t *ret_seed)
{
	const char *wrong = NULL;

	for (*ret_seed = 1; !m->rare && *ret_seed <= FEW && !wrong; ++*ret_seed)
		wrong = m->crew == ANY_CREW ? walk(*ret_seed)
					    : walk_with(&r->crews[m->crew].crew, *ret_seed);
	return wrong;
}

static const char *explore_mistake(const struct report *r, const struct planted *m)
{
	unsigned first = m->crew == ANY_CREW ? 0 : (unsigned)m->crew,
		 end = m->crew == ANY_CREW ? r->all : first + 1;
	const char *wrong = NULL;
	uint64_t ends;

	for (unsigned i = first; i < end && !wrong; i++)
		wrong = explore(&r->crews[i].crew, &ends);
	return wrong;
}

static void plant(const struct report *r, const struct planted *m, bool whole)
{
	bool explored = whole || m->crew < (int)r->everyday;
	const char *wrong, *everywhere = NULL;
	uint64_t seed;
	char what[200];

	if (m->rare && !explored)
		return;
	wrong = walk_mistake(r, m, &seed);
	if (explored)
		everywhere = explore_mistake(r, m);
	printf("# %s: %s, in schedule %llu; of all: %s\n", m->name, wrong ? wrong : "-",
	       (unsigned long long)seed - 1, everywhere ? everywhere : "-");
	snprintf(what, sizeof(what), "a schedule shows that %s", m->name);
	tell((wrong || m->rare) && (everywhere || !explored), what);
}

static int report_on(const struct report *r, int argc, char **argv)
{
	bool whole = argc > 1 && !strcmp(argv[1], "all"), few = argc < 2 || whole;
	uint64_t schedules = whole ? r->schedules_of_all
		 : few ? r->schedules : strtoull(argv[1], NULL, 10),
		 first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	walk_all(r, schedules, first);
	if (few) {
		explore_all(r, whole ? r->all : r->everyday);
		for (mistake = NONE + 1; mistake < MISTAKES; mistake++)
			plant(r, &r->mistakes[mistake], whole);
	}
	printf("1..%u\n", tests);
	return failed != 0;
}

#endif
