/*
 * spill.h - records (records.h) in a temporary file, as sorted runs that are merged into one
 *
 * The file is in the folder of the future filter, where it needs 16 or 24 bytes a record. It has no
 * name, so it vanishes with its maker. A merge frees the space of its input on the way. Runs have
 * levels: an appended run has the lowest, a merged run is one above its input. So there are few
 * runs at any time, and the given memory is enough for any number of records.
 */
#ifndef BLM_RUNS_H
#define BLM_RUNS_H

#include "place/place.h"
#include "sort/records.h"

#define BLM_RUNS_MEMORY ((uint64_t)64 << 10)	/* the least to merge in */

struct blm_runs {
	struct blm_new_file file;
	const char *display;		/* the filter that they are for; the owner's */
	unsigned words;			/* of a record */
	bool keep_all;			/* also those of one key */
	uint64_t end;			/* of the data in the file */
	/* no level is above the one before it */
	struct blm_run { uint64_t at, count; unsigned level; } *run;
	size_t count, capacity;
};

/* -ENOSPC, with a message, if the disk is full. */
int blm_runs_begin(struct blm_runs *ret, const struct blm_place *place, unsigned words,
		   bool keep_all);
int blm_runs_append(struct blm_runs *runs, const uint64_t *records, size_t count);
void blm_runs_end(struct blm_runs *runs);

/* The caller's, for 8-byte words, at least BLM_RUNS_MEMORY of it. */
struct blm_memory {
	void *at;
	uint64_t bytes;
};

/* begin() gets the number of records to merge, tick() every few thousand more that were merged. */
struct blm_runs_progress {
	void (*begin)(void *context, uint64_t total);
	void (*tick)(void *context, uint64_t count);
	void *context;
};

/*
 * Merges everything into one run, in which no key is twice, unless all are kept; if there are too
 * many runs for the memory in several merges, each with its own begin(). And after each append:
 * merges as many runs of one level as possible into one. Nothing is allocated. Both fail also with
 * -ENOTUNIQ, as blm_records_unite().
 */
int blm_runs_merge(struct blm_runs *runs, const struct blm_memory *memory,
		   const struct blm_runs_progress *progress);
int blm_runs_keep_few(struct blm_runs *runs, const struct blm_memory *memory);

/* The records from .. from + count - 1 of the one run that there is. Any number of threads. */
int blm_runs_read(const struct blm_runs *runs, uint64_t from, uint64_t *ret, size_t count);

#endif
