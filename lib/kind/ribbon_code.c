/*
 * ribbon_code.c - which codes a ribbon has for a rate, and which rate results
 *
 * A part of the slots has the code that just misses the rate, the rest the next one. What the shares are on average comes to the rate
 * exactly, but takes a little more than log2(1/rate) bits, since that is not a straight line: up to 0.03 bits in the middle between two codes.
 */
#include "kind/ribbon.h"

#include <math.h>

static double rate_of(struct ribbon_code code)
{
	return ldexp(code.trit ? 1.0 / 3 : 1, -(int)code.bits);
}

/* Steps of 1, 1.58, 2, 2.58, 3 ... bits from the second on. */
static struct ribbon_code code_of(unsigned step)
{
	if (step < 2)
		return (struct ribbon_code){ 0, false };
	return step % 2 ? (struct ribbon_code){ (step - 3) / 2, true } : (struct ribbon_code){ step / 2, false };
}

static uint32_t packed(struct ribbon_code code)
{
	return code.bits | (uint32_t)code.trit << 8;
}

/*
 * How many of all strangers find slots of the first code, if that has this share of each layer: those that no layer bumps before. Small
 * layers have the second code only.
 */
static double first_code_finds(const struct ribbon *r, uint64_t keys, double share)
{
	double come = 1, found = 0;
	struct ribbon_layer l;

	for (ribbon_first(r, keys, &l); !l.last; ribbon_next(r, &l)) {
		double slots = (double)ribbon_slots(&l), stay = slots / (double)l.keys, buckets = slots / RIBBON_BUCKET;

		if (buckets >= RIBBON_DIVIDED)
			found += come * stay * floor((buckets - 1) * share) / buckets;
		come *= 1 - stay;
	}
	return found;
}

/* If a layer could have the first code alone, so many strangers would find it; of these the rate wants a share. */
struct ribbon blm_ribbon_for(const struct blm_shape *shape, uint64_t keys)
{
	struct ribbon r = { 0, 0 };
	double more, less, most, share = 0;
	unsigned step = 1;

	while (step < 2 * RIBBON_BITS_MAX - 1 && rate_of(code_of(step + 1)) > shape->rate)
		step++;
	more = rate_of(code_of(step));
	less = rate_of(code_of(step + 1));
	most = first_code_finds(&r, keys, 1);
	if (step > 1 && shape->rate > less && most > 0)
		share = fmin((shape->rate - less) / (more - less) / most, 1 - 0x1p-32);
	r.share = (uint32_t)ldexp(share, 32);
	r.codes = packed(code_of(step)) | packed(code_of(step + 1)) << 16;
	return r;
}

double blm_ribbon_rate(const struct blm_shape *shape)
{
	uint64_t keys = shape->capacity / shards_of(shape);
	struct ribbon r = blm_ribbon_for(shape, keys);
	double first = first_code_finds(&r, keys, ldexp(r.share, -32));

	return first * rate_of(ribbon_code(&r, 0)) + (1 - first) * rate_of(ribbon_code(&r, 1));
}
