/* distinct.c - HyperLogLog with 2^14 registers, and the growth of its estimate */
#include "distinct.h"

#include <math.h>

double distinct_estimate(const struct distinct *d)
{
	const double m = DISTINCT_REGISTERS;
	double sum = 0, estimate;
	unsigned zeros = 0;

	for (unsigned i = 0; i < DISTINCT_REGISTERS; i++) {
		sum += ldexp(1, -d->registers[i]);
		zeros += !d->registers[i];
	}
	estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
	if (zeros && estimate <= 2.5 * m)
		estimate = m * log(m / zeros);
	return estimate < (double)d->count ? estimate : (double)d->count;
}

void distinct_add(struct distinct *d, uint64_t hash)
{
	uint8_t *at = &d->registers[hash >> (64 - DISTINCT_BITS)];
	uint64_t rest = hash << DISTINCT_BITS | UINT64_C(1) << (DISTINCT_BITS - 1);
	uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);

	if (*at < rank)
		*at = rank;
	d->count++;
	if (!(d->count & (d->count - 1)) && d->count > 512) {
		d->steps[d->step_count].count = (double)d->count;
		d->steps[d->step_count++].distinct = distinct_estimate(d);
	}
}

double distinct_among(const struct distinct *d, double times)
{
	double now = distinct_estimate(d), count = (double)d->count, power = 1;

	for (unsigned i = 0; i < d->step_count; i++)
		if (d->steps[i].count <= count / 2)
			power = log(now / d->steps[i].distinct) / log(count / d->steps[i].count);
	power = power < 0 ? 0 : power > 1 ? 1 : power;
	return now * pow(times, power);
}
