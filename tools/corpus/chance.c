/*
 * chance.c - how much new text a false-positive rate removes
 *
 * A unit of m new keys is removed if at least a share t of them are false positives. Their number
 * is binomial, since the filter is wrong about each key by itself.
 */
#include "plan.h"

#include <math.h>

static double at_least(unsigned least, unsigned m, double rate)
{
	double sum = 0;

	if (!least)
		return 1;
	for (unsigned i = least; i <= m; i++)
		sum += exp(lgamma(m + 1.0) - lgamma(i + 1.0) - lgamma(m - i + 1.0) + i * log(rate)
			   + (m - i) * log1p(-rate));
	return sum < 1 ? sum : 1;
}

double removed_at(const struct text_by_keys *text, double rate, double threshold)
{
	double all = 0, removed = 0;

	for (unsigned m = 1; m <= UNIT_KEYS; m++) {
		if (!(text->bytes[m] > 0))
			continue;
		all += text->bytes[m];
		/* the product is less than a whole number by rounding alone */
		removed += text->bytes[m] * at_least((unsigned)ceil(threshold * m - 1e-9), m, rate);
	}
	all += text->bytes[0];
	return all > 0 ? removed / all : 0;
}

double rate_for(const struct text_by_keys *text, double share, double threshold)
{
	double low = log(1e-15), high = log(0.5);

	if (removed_at(text, 0.5, threshold) <= share)
		return 0.5;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (removed_at(text, exp(middle), threshold) <= share)
			low = middle;
		else
			high = middle;
	}
	return exp(low);
}
