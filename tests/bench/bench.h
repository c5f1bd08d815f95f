/*
 * bench.h - what the files of the benchmark share
 *
 * A site is something that holds keys: one of our filters of one size, or another library's, or the
 * files that whole programs work on. Its engine says what can be done with it: its works. A row is
 * one work on one site, timed once in every round by a worker, a process of its own for each
 * instruction set. One row's times over another's, in the same round, are what is judged.
 */
#ifndef BENCH_H
#define BENCH_H

#include <bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum {
	KEY_BYTES = 16,
	ROUNDS_MAX = 101,
	ROWS_MAX = 2048,
	SITES_MAX = 192,
	SETS_MAX = 4,
	LINE_BYTES = 64
};

struct plan;

struct options {
	uint64_t keys;		/* in the main filters; others have a tenth and a hundredth */
	uint64_t most_keys;	/* in the largest; 0: no larger ones */
	double rate;
	unsigned rounds;
	size_t questions;	/* in one measurement, at most */
	const char *only;	/* names of rows, as for fnmatch(3) */
	bool curves;		/* only the curves of the plot */
	const char *json, *svg;	/* files to write; "-": standard output; NULL: none */
	const char *lock;	/* a file to lock in each round; or NULL */
	const char *dir;	/* for files; a folder of our own in it */
	const char *program;	/* bloomery, for the rows of whole programs */
	void (*report)(const struct plan *plan, FILE *to);
	bool list;
	bool single;		/* only the rows of calls with one key, and what they are against */
};

int read_options(struct options *ret, int argc, char **argv);	/* 0, or an exit code; -1: done */

/* ---- Keys ---- */

/*
 * A piece of the keys of a measurement. Key i is the same bytes each time; i below 2^63 is one to
 * add.
 */
struct keys {
	size_t count;
	uint8_t (*bytes)[KEY_BYTES];
	struct blm_key *key;
	struct blm_hash *hash;
};

/*
 * How lines may be read: by the best of all ways, by the best that has them come into the first
 * cache, without asking for them before.
 */
enum { BEST, FIRST_CACHE, NOT_ASKED_FOR, WAYS };

enum which {
	NO_KEYS,
	ABSENT,		/* never added, never asked before */
	PRESENT,	/* of those added, at random */
	FRESH,		/* the next ones to add */
};

/*
 * keys made at a time, outside of the timed part; they are in the second cache when they are asked
 */
enum { PIECE = 8192 };
#define ABSENT_FROM (UINT64_C(1) << 63)

int keys_make(struct keys *ret, size_t count);
void keys_free(struct keys *keys);
void keys_from(struct keys *keys, size_t count, uint64_t first);
void keys_drawn(struct keys *keys, size_t count, uint64_t below, uint64_t *seed);

/* A cheap generator of numbers as good as random. */
static inline uint64_t mix(uint64_t x)
{
	unsigned __int128 p = (unsigned __int128)(x ^ UINT64_C(0x9E3779B97F4A7C15))
			    * UINT64_C(0xD1342543DE82EF95);

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t below(uint64_t x, uint64_t n)
{
	return (uint64_t)((unsigned __int128)x * n >> 64);
}

/* Half of its bits are set; another one for each `at` and each of 256 seeds. */
static inline uint64_t noise_word(unsigned seed, uint64_t at)
{
	return mix(mix(((uint64_t)seed << 40) + at));
}

/* ---- Sites, engines, works ---- */

struct line {
	uint64_t word[LINE_BYTES / 8];
};

struct site {
	const struct engine *engine;
	const char *name;	/* of the kind and its layout, or the other library */
	const char *kind, *options;	/* of our filters, as in struct blm_params */
	unsigned can;		/* what the kind can, as the library says it */
	char label[24];		/* "100m": how large */
	uint64_t keys;		/* when it is full */
	double rate;
	bool curve;		/* there for the plot only: holds random bits, not keys */
	bool brief;		/* only the works with `every` are measured */
	int made_by, worker;	/* which fills it; which does what no instruction set matters to */
	uint64_t added, asked;	/* so far */
	size_t fresh;		/* new keys in one measurement of this filter */

	/* Told by who made it; data_bytes 0: not made. */
	uint64_t data_bytes, bytes, resident, huge;
	double bits_per_key, predicted_rate, measured_rate;
	unsigned probes;
	bool counts;		/* a key that is added again changes it */
	bool forgets;		/* a key that was added may be denied */

	/* In a worker. */
	char *path;
	void *it;		/* the engine's; NULL: not open here */
	struct line *lines;	/* its data, for the limits */
	uint64_t line_count;
	struct keys piece;
	uint64_t seed;
	int way[WAYS];		/* of reading lines, the fastest here of each sort; -1: not tried */
};

struct result;

/* Something to time. */
struct work {
	const char *name;	/* of the library's function without blm_, where it is one */
	/* the work of the same site that it is measured against; NULL: none */
	const char *limit;
	enum which which;
	bool simd;		/* worth a row for each instruction set */
	bool changes;		/* yes means that the filter changed */
	bool hashed;		/* wants the keys' hashes made beforehand */
	bool curve;		/* a point of the plot */
	bool every;		/* measured of every kind that can */
	unsigned can;		/* what a kind must be able to do */
	const char *kind;	/* the only one that has it; NULL: any */
	unsigned processes;	/* how many run at once; 0: one */
	/*
	 * over all lines of the site, not keys in pieces; by the wall's clock, as threads may share
	 * it
	 */
	bool whole;

	/* Returns how many answers were yes, or a negative errno. */
	int64_t (*run)(struct site *s, size_t count);

	/*
	 * For what is made anew from as many keys as the site holds; run() gets them all, in
	 * pieces; where it is `whole`, it does all of it.
	 */
	int64_t (*begin)(struct site *s, size_t count);		/* NULL: run() is all there is */
	int64_t (*finish)(struct site *s, size_t count);
	/* outside of the timed part, and then removes it; or NULL */
	int (*check)(struct site *s, size_t count);

	int (*before)(struct site *s);		/* outside of the timed part; or NULL */
	/*
	 * adds the keys of each piece, outside of the timed part; run() removes them again; or NULL
	 */
	int (*give)(struct site *s);
	/* instead of run: a clock of its own */
	int (*measure)(struct site *s, struct result *ret);
	/* NULL: "ns" for a key or line; else "ms" or "MiB", as measure() gives */
	const char *unit;
	const char *needs;	/* a program that must be there; or NULL */
};

struct engine {
	const char *name;
	int (*make)(struct site *s);	/* new and empty, in this process; tells the facts of it */
	int (*fill)(struct site *s);	/* with the piece; NULL: nothing to fill */
	int (*finish)(struct site *s);	/* when it is full; or NULL */
	bool copies;			/* makes another one at another path, for a row alone */
	/*
	 * instead of both: half of the bits set at random, as a full filter has them; NULL: it is
	 * in no plot
	 */
	int (*noise)(struct site *s);
	/* one that another process made; NULL: it lives where it was made */
	int (*open)(struct site *s);
	void (*close)(struct site *s);
	bool slow;			/* to make: not in the largest sizes */
	const struct work *works;
	size_t work_count;
};

extern const struct engine ours, libbloom, rocksdb_bloom, rocksdb_ribbon, boost_bloom, quickbloom,
	algebra, likeness_of_bits, lines_of_text, one_question;
/* those that were found when this was built */
const struct engine *const *peers(size_t *ret_count);
const char *peers_missing(void);	/* the others, in words */

/* ORs the words of this noise to the first `bytes` of the data. */
int noise_into(struct blm_filter *f, uint64_t bytes, unsigned seed);

/* The limits: works for any site with lines. */
int64_t read_lines(struct site *s, size_t count);
int64_t read_into_first(struct site *s, size_t count);
int64_t read_not_asked_for(struct site *s, size_t count);
int64_t chain_lines(struct site *s, size_t count);
int64_t or_lines(struct site *s, size_t count);
void touch_lines(struct site *s);
extern volatile uint64_t sink;

#define WORK_READ { .name = "read", .run = read_lines, .curve = true, .every = true }

/*
 * The map of a file in this process, as its owner made it: from byte `from` to the end. NULL: there
 * is none.
 */
void *mapping_find(const char *path, uint64_t from, uint64_t to);
void mapping_resident(const char *path, uint64_t *ret_bytes, uint64_t *ret_huge);

/* ---- Workers ---- */

enum order { MAKE, RUN, CHECK, QUIT };

struct job {
	enum order order;
	int site, work;
	uint64_t first, added;
	size_t count;
	bool alone;		/* in a filter that is made and filled for this job */
	unsigned together;	/* how many begin at the same moment */
};

struct result {
	int64_t yes;		/* or a negative errno */
	double cpu, wall;	/* seconds, of all pieces */
	double value, peak;	/* of a work with a clock of its own, in its unit; MiB */
	struct site facts;	/* after MAKE and CHECK */
	char reason[256];
};

/* after the names of the sets: which peer does what */
enum { PEERS = SETS_MAX, PROGRAMS, SECOND, WORKERS };

int workers_start(const struct plan *plan);
int worker_ask(int worker, const struct job *job);
int worker_hear(int worker, struct result *ret);
void workers_stop(void);
void work_do(struct plan *plan, const struct job *job, struct result *ret);	/* in a worker */
void work_together(unsigned count);	/* returns in `count` processes at the same moment */
bool stopped(void);			/* by a signal: clean up and go */

/* ---- Rows ---- */

/*
 * What a row is measured against: factor * (a + b + c) * times / per, in each round; a NULL: factor
 * alone.
 */
struct limit {
	const struct row *a, *b, *c, *times, *per;
	double factor;
};

struct row {
	char name[96];
	struct site *site;
	const struct work *work;
	int worker;
	const char *set;	/* of instructions; NULL: does not matter */
	const struct row *peak_of;	/* the memory of that row's program */
	struct limit limit;	/* factor 0: none */
	bool wanted;
	double value[ROUNDS_MAX];
	double peak[ROUNDS_MAX];
	bool disturbed[ROUNDS_MAX];	/* others had the processor meanwhile */
};

/* What there is to do, and then what came out. */
struct plan {
	struct options options;
	char dir[256];
	const char *sets[SETS_MAX];	/* that run here, the best first; NULL at the end */
	struct site sites[SITES_MAX];
	size_t site_count;
	struct row rows[ROWS_MAX];
	size_t row_count;
	unsigned rounds;	/* done */
	char missing[2048];	/* what could not be measured and why, lines */
};

const char *row_unit(const struct row *row);
const char *site_name(const struct site *s);	/* what names of rows begin with */
bool row_is_alone(const struct row *row);
size_t row_count_alone(const struct row *row);
int plan_make(struct plan *ret, const struct options *options);
const struct row *plan_find(const struct plan *plan, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void plan_miss(struct plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));
void size_label(char ret[24], uint64_t keys);
int plan_run(struct plan *plan);

/* ---- Statistics ---- */

struct spread {
	double median, q1, q3;
	unsigned count;		/* of rounds that it is of; 0: there is none */
	unsigned clean;		/* rounds in which no other process had the processor */
};

struct spread row_spread(const struct plan *plan, const struct row *row);
struct spread ratio_spread(const struct plan *plan, const struct row *row,
			   const struct limit *limit);

/* ---- Goals ---- */

struct goal {
	char what[120], against[80];
	const struct row *row;	/* NULL: not measured */
	struct limit limit;
	double wanted;		/* the ratio; 0: told to compare with, and no more */
	bool single;		/* of calls with one key */
	const char *reason;	/* it is not reached; or NULL */
};

enum { GOALS_MAX = 80 };
size_t goals_list(const struct plan *plan, struct goal *ret);

/* ---- Reports ---- */

struct text {
	char s[256];
};

struct fact {
	const char *name;
	struct text value;
};

enum { FACTS = 8 };
void machine_facts(struct fact ret[FACTS]);

void report_tables(const struct plan *plan, FILE *to);
void report_readme(const struct plan *plan, FILE *to);
void report_goals(const struct plan *plan, FILE *to);
void report_single(const struct plan *plan, FILE *to);
void report_json(const struct plan *plan, FILE *to);
void plot_svg(const struct plan *plan, FILE *to);

#endif
