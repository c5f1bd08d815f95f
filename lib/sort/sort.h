/*
 * sort.h - all keys of a filter, as hashes, from any number of threads, put into order
 *
 * They are gathered in memory; when as many are there as it holds they are put into order and
 * written to a temporary file, and the next are gathered. In the end there is one run of them all,
 * in memory or in the file, each key once, which kind/common/sorted_keys.h shows to kinds.
 */
#ifndef BLM_SORT_H
#define BLM_SORT_H

#include "kind/common/sorted_keys.h"
#include "sort/spill.h"

#include <pthread.h>

#define BLM_SORT_MEMORY ((uint64_t)1 << 30)	/* unless the caller says */

/* The phase of the work, and how much of it is done; by one thread at a time. */
struct blm_sort_progress {
	void (*tell)(void *context, const char *phase, uint64_t done, uint64_t total);
	void *context;
};

struct blm_sort {
	struct blm_sorted sorted;	/* after blm_sort_finish() */
	const struct blm_place *place;
	struct blm_sort_progress progress;
	unsigned words;			/* of a record */
	bool keep_all;
	/* in a map of pages that are taken when they are first written */
	uint64_t *records;
	size_t capacity;			/* records */
	struct blm_runs runs;
	bool has_runs;
	pthread_mutex_t mutex;		/* of what follows */
	pthread_cond_t changed;
	/* records that were given out; those of `writers` threads are not all written yet */
	size_t used;
	unsigned writers;
	/* a thread waits for the writers to leave, or empties the memory */
	bool emptying;
	int failed;			/* nothing more can be added */
	char reason[1024];
	pthread_mutex_t telling;	/* of what follows */
	const char *phase;
	uint64_t done, total;
};

/* place: the caller's, and stays. */
struct blm_sort_options {
	bool values;			/* one comes with each key */
	bool keep_all;			/* a key that comes twice is there twice */
	unsigned threads;
	uint64_t memory_bytes;		/* 0: BLM_SORT_MEMORY */
	struct blm_sort_progress progress;
};
int blm_sort_begin(struct blm_sort *ret, const struct blm_place *place,
		   const struct blm_sort_options *options);
/* Any number of threads. values NULL: there are none. */
int blm_sort_add(struct blm_sort *s, const struct blm_hash *hashes, const uint64_t *values,
		 size_t count);
/* No more come. Then s->sorted is there, until the end. */
int blm_sort_finish(struct blm_sort *s);
/* From here on s->sorted counts the work on them under this name. */
void blm_sort_phase(struct blm_sort *s, const char *phase);
void blm_sort_end(struct blm_sort *s);

#endif
