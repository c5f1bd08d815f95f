/* stats.c - medians and quartiles of rounds, and of ratios within a round */
#include "bench.h"

#include <math.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const double *sorted, unsigned count, double q)
{
	double at = q * (count - 1);
	unsigned i = (unsigned)at;

	return i + 1 < count ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

/* Rounds in which no other process had the processor. If these are fewer than half: all rounds. */
static struct spread spread(const double *values, const bool *disturbed, unsigned rounds)
{
	double kept[ROUNDS_MAX];
	struct spread ret = { 0 };
	unsigned there = 0;

	for (unsigned i = 0; i < rounds; i++) {
		there += isfinite(values[i]) != 0;
		ret.clean += !disturbed[i] && isfinite(values[i]);
	}
	for (unsigned i = 0; i < rounds; i++)
		if (isfinite(values[i]) && (!disturbed[i] || 2 * ret.clean < there))
			kept[ret.count++] = values[i];
	if (!ret.count)
		return ret;
	qsort(kept, ret.count, sizeof(*kept), compare);
	ret.q1 = quantile(kept, ret.count, 0.25);
	ret.median = quantile(kept, ret.count, 0.5);
	ret.q3 = quantile(kept, ret.count, 0.75);
	return ret;
}

static bool measured(const struct row *row)
{
	return row->wanted && row->site->data_bytes;
}

struct spread row_spread(const struct plan *plan, const struct row *row)
{
	return measured(row) ? spread(row->value, row->disturbed, plan->rounds)
			     : (struct spread){ 0 };
}

static double limit_at(const struct limit *l, unsigned round)
{
	double sum = l->a ? l->a->value[round] + (l->b ? l->b->value[round] : 0)
				     + (l->c ? l->c->value[round] : 0)
			  : 1;

	return l->factor * sum * (l->times ? l->times->value[round] : 1)
	     / (l->per ? l->per->value[round] : 1);
}

struct spread ratio_spread(const struct plan *plan, const struct row *row,
			   const struct limit *limit)
{
	const struct row *const others[] = { limit->a, limit->b, limit->c, limit->times,
					     limit->per };
	double ratio[ROUNDS_MAX];
	bool disturbed[ROUNDS_MAX];

	if (limit->factor == 0 || !row || !measured(row))
		return (struct spread){ 0 };
	for (size_t j = 0; j < ARRAY_LEN(others); j++)
		if (others[j] && !measured(others[j]))
			return (struct spread){ 0 };
	for (unsigned i = 0; i < plan->rounds; i++) {
		ratio[i] = limit_at(limit, i) / row->value[i];
		disturbed[i] = row->disturbed[i];
		for (size_t j = 0; j < ARRAY_LEN(others); j++)
			disturbed[i] |= others[j] && others[j]->disturbed[i];
	}
	return spread(ratio, disturbed, plan->rounds);
}
