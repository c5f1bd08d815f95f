/*
 * plan.c - which sites and rows there are, of what is there on this machine; which of them are
 * wanted
 */
#include "bench.h"
#include "child.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void plan_miss(struct plan *plan, const char *format, ...)
{
	size_t len = strlen(plan->missing);
	va_list args;

	va_start(args, format);
	vsnprintf(plan->missing + len, sizeof(plan->missing) - len, format, args);
	va_end(args);
}

/* "100m": as the program's options take it. */
void size_label(char ret[24], uint64_t keys)
{
	const char *unit = keys % 1000000 == 0 ? "m" : keys % 1000 == 0 ? "k" : "";
	uint64_t by = keys % 1000000 == 0 ? 1000000 : keys % 1000 == 0 ? 1000 : 1;

	snprintf(ret, 24, "%llu%s", (unsigned long long)(keys / by), unit);
}

/* ---- Instruction sets ---- */

/* Does the library, in a process of its own, take this set when it is named? */
static bool set_runs(const char *set)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setenv("BLOOMERY_SIMD", set, 1);
		_exit(strcmp(blm_simd(), set) != 0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)
	    && WEXITSTATUS(status) == 0;
}

static void find_sets(struct plan *plan)
{
	/* as lib/simd/meson.build has them, simplest first */
	static const char *const known[] = { SETS };
	size_t count = 0;

	for (size_t i = ARRAY_LEN(known); i-- > 0 && count < SETS_MAX;)
		if (set_runs(known[i]))
			plan->sets[count++] = known[i];
}

/* ---- Sites ---- */

/* Smaller filters have too few new keys for a row and round: row_is_alone(). */
enum { ALONE_KEYS = 1 << 19 };

/* libbloom counts its bits in an int, and RocksDB's builder keeps 8 bytes a key. */
#define PEER_KEYS_MAX (INT_MAX / 10)

static struct site *add_site(struct plan *plan, const struct engine *engine, const char *name,
			     uint64_t keys, int worker)
{
	struct site *s = &plan->sites[plan->site_count];

	if (plan->site_count == SITES_MAX)
		return NULL;
	*s = (struct site){
		.engine = engine,
		.name = name,
		.keys = keys,
		.rate = plan->options.rate,
		.worker = worker,
		.made_by = worker,
		.way = { -1, -1, -1 },
		.seed = plan->site_count << 40,
	};
	size_label(s->label, keys);
	if (asprintf(&s->path, "%s/%zu.blm", plan->dir, plan->site_count) < 0)
		return NULL;
	plan->site_count++;
	return s;
}

static void only_for_plot(struct site *s, const char *label)
{
	s->curve = true;
	snprintf(s->label, sizeof(s->label), "%s", label);
}

/* Filters of bits that combine get every row. */
static bool is_brief(const struct blm_kind_info *kind)
{
	const unsigned all = BLM_CAN_UNION | BLM_CAN_INTERSECT | BLM_CAN_ESTIMATE;

	return (kind->can & all) != all;
}

static void add_filter(struct plan *plan, const struct blm_kind_info *kind, size_t number,
		       uint64_t keys, const char *label, const char *name, const char *options)
{
	struct site *s = label && is_brief(kind) ? NULL : add_site(plan, &ours, name, keys, 0);
	int sets = 0;

	while (sets < SETS_MAX && plan->sets[sets])
		sets++;
	if (!s)
		return;
	s->kind = kind->name;
	s->options = options;
	s->brief = is_brief(kind);
	s->can = kind->can;
	s->made_by = (int)number % sets;	/* they are filled at the same time */
	if (label)
		only_for_plot(s, label);
}

/* A kind with layouts has a filter of each, which the names of its rows tell apart. */
static void add_filters(struct plan *plan, const struct blm_kind_info *kind, size_t number,
			uint64_t keys, const char *label)
{
	static const struct {
		const char *kind, *name, *options;
	} layouts[] = { { "cuckoo", "cuckoo windows", "layout=windows" },
			{ "cuckoo", "cuckoo buckets", "layout=buckets" } };
	bool any = false;

	for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
		if (strcmp(layouts[i].kind, kind->name) != 0)
			continue;
		add_filter(plan, kind, number, keys, label, layouts[i].name, layouts[i].options);
		any = true;
	}
	if (!any)
		add_filter(plan, kind, number, keys, label, kind->name, NULL);
}

static void add_peer(struct plan *plan, const struct engine *engine, uint64_t keys,
		     const char *label)
{
	struct site *s = keys <= PEER_KEYS_MAX ? add_site(plan, engine, engine->name, keys, PEERS)
					       : NULL;

	if (s && label)
		only_for_plot(s, label);
}

/* Filters of this many keys, of every kind that takes keys one by one, and of every peer. */
static void add_size(struct plan *plan, uint64_t keys, const char *label)
{
	const struct engine *const *peer;
	struct blm_kind_info kind;
	size_t peer_count;

	/* any keys */
	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++)
		if ((kind.can & (BLM_CAN_ADD | BLM_EXACT | BLM_CAN_LIST)) == BLM_CAN_ADD)
			add_filters(plan, &kind, i, keys, label);
	peer = peers(&peer_count);
	for (size_t i = 0; i < peer_count; i++)
		if (!peer[i]->slow || (!label && keys <= plan->options.keys / 10))
			add_peer(plan, peer[i], keys, label);
}

/* With the usual number of keys, where there is memory for it: filters and unions of a GiB. */
static bool has_space(const struct plan *plan)
{
	const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return plan->options.keys >= 100000000 && memory > UINT64_C(15) << 30;
}

/* From within the first cache to many times the last one. */
static void add_curve(struct plan *plan)
{
	static const struct {
		const char *label;
		uint64_t bytes;
	} points[] = { { "16KiB", 1 << 14 }, { "64KiB", 1 << 16 }, { "256KiB", 1 << 18 },
		       { "4MiB", 1 << 22 },  { "32MiB", 1 << 25 }, { "256MiB", 1 << 28 },
		       { "1GiB", 1 << 30 } };

	for (size_t i = 0; i < ARRAY_LEN(points); i++)
		if (points[i].bytes < plan->options.keys / 2 || has_space(plan))
			add_size(plan, points[i].bytes * 8 / 10, points[i].label);
}

static uint64_t between(uint64_t least, uint64_t x, uint64_t most)
{
	return x < least ? least : x > most ? most : x;
}

/* A GiB, or as much less as there are fewer keys. */
static uint64_t lines_of_union(const struct plan *plan)
{
	const uint64_t gib = (UINT64_C(1) << 30) / LINE_BYTES;

	return has_space(plan) ? gib
			      : between(1 << 10, plan->options.keys / 50, gib) & ~UINT64_C(1023);
}

static void add_sites(struct plan *plan)
{
	uint64_t keys = plan->options.keys;
	struct site *s;

	for (uint64_t part = plan->options.single ? 1000 : 100; part >= 1; part /= 10)
		add_size(plan, between(1000, keys / part, keys), NULL);
	if (plan->options.most_keys)
		add_size(plan, plan->options.most_keys, NULL);
	add_curve(plan);
	s = add_site(plan, &algebra, "union", lines_of_union(plan), 0);
	if (s)
		snprintf(s->label, sizeof(s->label), "%llu%s",
			 (unsigned long long)(s->keys >> (s->keys >> 14 ? 14 : 4)),
			 s->keys >> 14 ? "MiB" : "KiB");
	s = add_site(plan, &likeness_of_bits, "bank",
		     between(1 << 10, keys / 50, 1 << 21) & ~UINT64_C(1023), 0);
	if (s)
		snprintf(s->label, sizeof(s->label), "%llu%s",
			 (unsigned long long)(s->keys >> (s->keys >> 14 ? 14 : 4)),
			 s->keys >> 14 ? "MiB" : "KiB");
	if (!plan->options.program) {
		plan_miss(plan, "the program bloomery was not found: rows of whole programs\n");
		return;
	}
	add_site(plan, &lines_of_text, plan->options.program, between(1000, keys / 50, 5000000),
		 PROGRAMS);
	add_site(plan, &one_question, plan->options.program, between(10000, keys * 2, 200000000),
		 PROGRAMS);
}

/* ---- Rows ---- */

const char *row_unit(const struct row *row)
{
	return row->peak_of ? "MiB" : row->work->unit ? row->work->unit : "ns";
}

const char *site_name(const struct site *s)
{
	return s->engine == &lines_of_text || s->engine == &one_question ? s->engine->name
									  : s->name;
}

static const char *keys_word(const struct work *work)
{
	static const char *const words[] = {
		[NO_KEYS] = "", [ABSENT] = " absent", [PRESENT] = " present", [FRESH] = " new"
	};

	return work->limit ? words[work->which] : "";
}

static struct row *add_row(struct plan *plan, struct site *s, const struct work *work, int worker,
			   const char *set)
{
	struct row *row = &plan->rows[plan->row_count];

	if (plan->row_count == ROWS_MAX)
		return NULL;
	*row = (struct row){ .site = s, .work = work, .worker = worker, .set = set };
	snprintf(row->name, sizeof(row->name), "%s %s %s%s%s%s", site_name(s), s->label, work->name,
		 keys_word(work), set ? " " : "", set ? set : "");
	for (size_t i = 0; i < plan->row_count && work->limit; i++)
		if (plan->rows[i].site == s && !plan->rows[i].peak_of
		    && !strcmp(plan->rows[i].work->name, work->limit))
			row->limit = (struct limit){ .a = &plan->rows[i], .factor = 1 };
	plan->row_count++;
	return row;
}

/*
 * A point of the plot has few, and so have most kinds; the largest filters are not made anew in
 * every round.
 */
static bool has_work(const struct plan *plan, const struct site *s, const struct work *work)
{
	if (work->can & ~s->can || (s->brief && !work->every)
	    || (work->kind && strcmp(work->kind, s->kind ? s->kind : s->name) != 0))
		return false;
	/* a piece more must find room */
	if (work->give && s->keys < 64 * PIECE)
		return false;
	return s->curve ? work->curve : !work->check || s->keys <= plan->options.keys;
}

static void add_work(struct plan *plan, struct site *s, const struct work *work)
{
	struct row *row, *peak;

	if (work->needs && !have_program(work->needs)) {
		plan_miss(plan, "the program %s was not found: %s\n", work->needs, work->name);
		return;
	}
	if (!work->simd) {
		row = add_row(plan, s, work, s->worker, NULL);
		peak = row && s->engine == &lines_of_text ? add_row(plan, s, work, s->worker, NULL)
							  : NULL;
		if (peak) {
			strncat(peak->name, ", memory",
				sizeof(peak->name) - strlen(peak->name) - 1);
			peak->peak_of = row;
			peak->limit = (struct limit){ 0 };
		}
		return;
	}
	for (int i = 0; i < SETS_MAX && plan->sets[i] && (i == 0 || !(s->curve || s->brief)); i++)
		add_row(plan, s, work, i, plan->sets[i]);
}

/*
 * Is the row measured in a filter of its own? A small filter has room for so few new keys in each
 * row and round that a row would time the first key, and the clock. And a filter that forgets the
 * keys that were taken out of it would soon be full of those.
 */
bool row_is_alone(const struct row *row)
{
	const struct site *s = row->site;
	const struct work *work = row->work;

	return s->engine->copies && !s->curve && !work->processes
	    && ((work->which == FRESH && s->keys < ALONE_KEYS)
		|| (work->give && s->can & BLM_FORGETS));
}

/* New keys of one measurement; in the last round they make the filter full. */
size_t row_count_alone(const struct row *row)
{
	return between(1, row->site->keys / 16, 1 << 16);
}

/*
 * New keys for each row and round, so few that the filter stays nearly full, from a start that is
 * nearly so.
 */
static void share_fresh(struct plan *plan, struct site *s)
{
	uint64_t shares = 0;

	for (size_t i = 0; i < plan->row_count; i++)
		if (plan->rows[i].site == s && plan->rows[i].work->which == FRESH
		    && plan->rows[i].wanted && !row_is_alone(&plan->rows[i]))
			shares += plan->rows[i].work->processes == 2 ? 2 : 1;
	s->fresh = shares ? between(1, s->keys / 4 / (shares * plan->options.rounds), 1 << 16) : 0;
	s->added = s->keys - shares * plan->options.rounds * s->fresh;
}

/* ---- Selection ---- */

static bool matches(const char *pattern, const char *name)
{
	return !pattern
	    || (strpbrk(pattern, "*?[") ? fnmatch(pattern, name, 0) == 0
					: strstr(name, pattern) != NULL);
}

/* `row`, and what it is measured against. */
static void want(const struct row *row)
{
	struct row *own = (struct row *)(uintptr_t)row;

	if (!row || row->wanted)
		return;
	own->wanted = true;
	want(row->peak_of);
	want(row->limit.a);
}

const struct row *plan_find(const struct plan *plan, const char *format, ...)
{
	char name[96];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	for (size_t i = 0; i < plan->row_count; i++)
		if (!strcmp(plan->rows[i].name, name))
			return &plan->rows[i];
	return NULL;
}

/*
 * The larger ones of the kinds with few rows, which together take ten minutes to fill, are there
 * for those who name them.
 */
static bool matches_unnamed(const struct plan *plan, const struct row *row)
{
	return plan->options.only || !row->site->brief
	    || row->site->keys <= between(1000, plan->options.keys / 10, plan->options.keys);
}

static bool choose_single(struct plan *plan)
{
	struct goal goals[GOALS_MAX];
	size_t count = goals_list(plan, goals);
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct limit *limit = &goals[i].limit;

		if (!goals[i].single || !goals[i].row)
			continue;
		any = true;
		want(goals[i].row);
		want(limit->a), want(limit->b), want(limit->c);
		want(limit->times), want(limit->per);
	}
	return any;
}

/* The filters of one size after the other hold random bits, and need no keys. */
static bool is_of_plot(const struct plan *plan, const struct row *row)
{
	return !plan->options.curves || row->site->curve;
}

static bool choose(struct plan *plan)
{
	const char *only = plan->options.only;
	bool any = false;

	if (plan->options.single)
		return choose_single(plan);
	for (size_t i = 0; i < plan->row_count; i++)
		if (matches(only, plan->rows[i].name) && matches_unnamed(plan, &plan->rows[i])
		    && is_of_plot(plan, &plan->rows[i])) {
			want(&plan->rows[i]);
			any = true;
		}
	if (!any)
		fprintf(stderr, "bench: no row is named %s; see bench --list\n", only);
	return any;
}

int plan_make(struct plan *plan, const struct options *options)
{
	*plan = (struct plan){ .options = *options };
	snprintf(plan->dir, sizeof(plan->dir), "%s/bench-XXXXXX", options->dir);
	find_sets(plan);
	if (!plan->sets[0]) {
		fprintf(stderr, "bench: the library names no instruction set that is known here\n");
		return -ENOENT;
	}
	if (!options->list && !mkdtemp(plan->dir)) {
		fprintf(stderr, "bench: cannot make %s: %s\n", plan->dir, strerror(errno));
		return -errno;
	}
	plan_miss(plan, "%s", peers_missing());
	add_sites(plan);
	for (size_t i = 0; i < plan->site_count; i++)
		for (size_t j = 0; j < plan->sites[i].engine->work_count; j++)
			if (has_work(plan, &plan->sites[i], &plan->sites[i].engine->works[j]))
				add_work(plan, &plan->sites[i], &plan->sites[i].engine->works[j]);
	if (!choose(plan)) {
		if (!options->list)
			rmdir(plan->dir);
		return -ENOENT;
	}
	for (size_t i = 0; i < plan->site_count; i++)
		share_fresh(plan, &plan->sites[i]);
	return 0;
}
