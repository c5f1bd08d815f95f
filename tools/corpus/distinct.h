/*
 * distinct.h - how many different keys there are, without keeping them
 *
 * HyperLogLog: P. Flajolet, E. Fusy, O. Gandouet, F. Meunier, "HyperLogLog: the analysis of a
 * near-optimal cardinality estimation algorithm", AofA 2007. With 2^14 registers its standard error
 * is 0.8 %.
 */
#ifndef BLOOMERY_CORPUS_DISTINCT_H
#define BLOOMERY_CORPUS_DISTINCT_H

#include <stdint.h>

enum { DISTINCT_BITS = 14, DISTINCT_REGISTERS = 1 << DISTINCT_BITS, DISTINCT_STEPS = 64 };

/* All zeros at first. */
struct distinct {
	uint8_t registers[DISTINCT_REGISTERS];
	uint64_t count;			/* keys, equal ones too */
	struct {
		double count, distinct;	/* when there were as many keys as a power of two */
	} steps[DISTINCT_STEPS];
	unsigned step_count;
};

/* @hash: all 64 bits of it as good as random */
void distinct_add(struct distinct *d, uint64_t hash);
double distinct_estimate(const struct distinct *d);

/*
 * How many there would be among `times` as many keys of the same kind. The number of different keys
 * grows as a power of the number of keys (Heaps' law), whose exponent comes from the last doubling.
 */
double distinct_among(const struct distinct *d, double times);

#endif
