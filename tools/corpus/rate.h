/* rate.h - the false-positive rate of a filter that a run asks and fills */
#ifndef BLOOMERY_CORPUS_RATE_H
#define BLOOMERY_CORPUS_RATE_H

#include <bloomery.h>

/*
 * The rate grows as a power of the number of keys. The power is that between the last two readings
 * of the filter, and the next reading is where the keys have grown by an eighth, because to
 * compute a rate takes as long as to ask for a thousand keys.
 */
struct rate_curve {
	uint64_t keys, last;	/* at the last reading; up to which the curve holds */
	double rate, power;
	bool estimated;		/* the filter does not count its keys */
};

struct rate_point {
	uint64_t keys;
	double rate;
};

/* All zeros is a curve without a reading. Where the filter cannot be read, the rate is 0. */
struct rate_point rate_now(struct rate_curve *curve, const struct blm_filter *f);

/* Of the keys that were added between both. */
double rate_between(const struct rate_point *before, const struct rate_point *after);

#endif
