/* bench.h - what the files of the benchmark share: a subject, the works done on it, their times */
#ifndef BENCH_H
#define BENCH_H

#include <bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum { KEY_BYTES = 16, ROUNDS_MAX = 101 };

struct options {
	uint64_t keys;		/* in each filter, when the last round is over */
	double rate;
	unsigned rounds;
	size_t batch;		/* keys in one measurement */
	bool json;
	const char *dir;	/* a folder of our own */
};

/* ---- Keys ---- */

/* The keys that are the input of one measurement. Key i is the same bytes each time; i below 2^63 is one to add. */
struct keys {
	size_t count;
	uint8_t (*bytes)[KEY_BYTES];
	struct blm_key *key;
	struct blm_hash *hash;
};

enum which {
	NO_KEYS,
	ABSENT,		/* never added, never asked before */
	PRESENT,	/* of those added, at random */
	FRESH,		/* the next ones to add */
};

int keys_make(struct keys *ret, size_t count);
void keys_free(struct keys *keys);
void keys_from(struct keys *keys, size_t count, uint64_t first);
void keys_drawn(struct keys *keys, uint64_t below, uint64_t *seed);

/* A cheap generator of numbers as good as random. */
static inline uint64_t mix(uint64_t x)
{
	unsigned __int128 p = (unsigned __int128)(x ^ UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xD1342543DE82EF95);

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t below(uint64_t x, uint64_t n)
{
	return (uint64_t)((unsigned __int128)x * n >> 64);
}

/* ---- Mappings ---- */

struct line {
	uint64_t word[8];
};

/* A filter's file, mapped a second time, as the library maps it: the limits go to the very pages of the filter. */
struct mapping {
	uint8_t *reserved;
	size_t reserved_bytes;
	struct line *lines;	/* the data, without the header */
	uint64_t count;
};

/* What the system made of every mapping of a file in this process. */
struct resident {
	uint64_t bytes, huge_bytes;
};

int mapping_make(struct mapping *ret, const char *path, uint64_t bytes, uint64_t data_bytes);
void mapping_free(struct mapping *mapping);
struct resident mapping_resident(const char *path);

/* ---- Subjects and works ---- */

/* A filter under measurement. */
struct subject {
	const char *kind;
	char *path;
	struct blm_filter *f;
	struct blm_info info;
	struct mapping mapping;
	struct keys keys;
	size_t batch;
	uint64_t added;		/* keys 0 to added - 1 are in the filter */
	uint64_t asked;		/* absent keys used up */
	uint64_t seed;
	double measured_rate;	/* at the end; against info.rate_at_capacity */
	struct resident resident;
};

/* Something to time. run() returns how many answers were yes, or a negative errno. */
struct work {
	const char *name;	/* of the library's function, where it is one */
	enum which which;
	bool changes;		/* yes means that the filter changed */
	bool hashed;		/* wants the keys' hashes made beforehand */
	int64_t (*run)(struct subject *s);
};

enum { LIMIT_READ, LIMIT_CHAIN, LIMIT_OR, LIMIT_HASH, LIMITS };

extern const struct work limits[LIMITS];
extern const struct work works[];
extern const size_t work_count;

int subject_make(struct subject *ret, const char *kind, const struct options *options);
int subject_check(struct subject *s);
void subject_remove(struct subject *s);

/* ---- Times ---- */

struct sample {
	double ns;		/* of processor time for a key */
	bool disturbed;		/* others had the processor meanwhile */
};

/* A work on a subject, with its time in each round. */
struct series {
	struct subject *subject;
	const struct work *work;
	const struct series *limit;	/* the LIMITS series of the same subject */
	struct sample sample[ROUNDS_MAX];
};

size_t series_list(struct series *ret, struct subject *s);
bool stopped(void);	/* by a signal: clean up and go */
int run_round(struct series *series, size_t count, unsigned round);

/* ---- Reports ---- */

void print_machine(bool json);
void print_subject(const struct subject *s, bool json);
void print_series(const struct series *series, size_t count, const struct options *options);
void print_json_string(const char *s);

#endif
