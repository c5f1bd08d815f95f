/* rate.c - the rate at which new units are removed by mistake */
#include "rate.h"

#include <math.h>

enum { PARTS = 8 };	/* the curve holds while the keys grow by 1 / PARTS */

/* Of the curve from the one point to the other. Return: NAN: there is none */
static double power_between(const struct rate_point *a, const struct rate_point *b)
{
	if (!(a->keys && b->keys > a->keys && a->rate > 0 && b->rate > a->rate))
		return NAN;
	return log(b->rate / a->rate) / log((double)b->keys / (double)a->keys);
}

static struct rate_point read_filter(struct rate_curve *curve, const struct blm_filter *f)
{
	struct rate_point old = { curve->keys, curve->rate }, now = { 0 };
	struct blm_info info = BLM_INFO;

	if (blm_info(f, &info) == 0)
		now = (struct rate_point){ info.keys, info.rate_at_keys };
	curve->power = power_between(&old, &now);
	curve->keys = now.keys;
	curve->rate = now.rate;
	curve->last = isnan(curve->power) ? now.keys : now.keys + now.keys / PARTS;
	curve->estimated = info.keys_estimated;
	return now;
}

struct rate_point rate_now(struct rate_curve *curve, const struct blm_filter *f)
{
	struct rate_point now = { 0 };

	if (!curve->rate || curve->estimated || blm_count(f, &now.keys, NULL) < 0
	    || now.keys < curve->keys || now.keys > curve->last)
		return read_filter(curve, f);
	now.rate = now.keys == curve->keys ? curve->rate
		: curve->rate * pow((double)now.keys / (double)curve->keys, curve->power);
	return now;
}

double rate_between(const struct rate_point *before, const struct rate_point *after)
{
	double power = power_between(before, after), keys = (double)before->keys,
		more_keys = (double)after->keys;

	if (after->keys <= before->keys)
		return before->rate;
	if (isnan(power))
		return (before->rate + after->rate) / 2;
	return (more_keys * after->rate - keys * before->rate) / ((power + 1) * (more_keys - keys));
}
