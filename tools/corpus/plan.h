/* plan.h - bloomery corpus plan: what a run will take, from a sample of its files */
#ifndef BLOOMERY_CORPUS_PLAN_H
#define BLOOMERY_CORPUS_PLAN_H

#include "corpus.h"

struct wishes {
	uint64_t sample;	/* bytes of the files, as they are packed */
	double by_mistake;	/* the share of new text that may be removed */
	const char *filter;	/* where it is to be; NULL: not known */
};

/*
 * The report goes to standard output, as JSON with --json; warnings say so where memory or disk
 * will not do. Return: an exit code, with a message where it is not DONE.
 */
int plan_corpus(struct cutter *cutter, char **names, size_t count, const struct wishes *wishes);

/* ---- chance.c ---- */

enum { UNIT_KEYS = 256 };	/* a unit with more keys is counted as one with 256 */

/* Text by how many keys its units have. */
struct text_by_keys {
	double bytes[UNIT_KEYS + 1];
};

/* The share of new text that is removed where a filter is wrong at that rate. */
double removed_at(const struct text_by_keys *text, double rate, double threshold);
/* The largest rate at which no more than the share is removed, at most 0.5. */
double rate_for(const struct text_by_keys *text, double share, double threshold);

#endif
