/*
 * ribbon_rates.c - the codes of a ribbon for a rate, and the resulting rate
 *
 * A share of the slots has the code that just misses the rate, the rest has the next code. The
 * average of the shares gives the exact rate, but takes a little more than log2(1/rate) bits,
 * because that is not a straight line: up to 0.03 bits in the middle between two codes.
 */
#include "kind/ribbon.h"

#include <math.h>

static double rate_of(struct ribbon_code code)
{
	return ldexp(code.values ? 1.0 / code.values : 1, -(int)code.bits);
}

/* For smaller rates 1/5 would save less than a thousandth, and quints take longer than trits. */
enum { BITS_WITH_QUINTS = 2 };

/*
 * The rates 1, 1/2, 1/3, 1/4, 1/5, 1/6, 1/8, 1/10, 1/12, 1/16, 1/20, 1/24, 1/32, 1/48, 1/64, 1/96
 * ...
 */
static struct ribbon_code next_code(struct ribbon_code code)
{
	if (code.values == 3)
		return (struct ribbon_code){ code.bits + 2, 0 };
	if (code.values == 5)
		return (struct ribbon_code){ code.bits + 1, 3 };
	if (code.bits >= 2 && code.bits - 2 <= BITS_WITH_QUINTS)
		return (struct ribbon_code){ code.bits - 2, 5 };
	return code.bits ? (struct ribbon_code){ code.bits - 1, 3 } : (struct ribbon_code){ 1, 0 };
}

static uint32_t packed(struct ribbon_code code)
{
	return code.bits | (uint32_t)code.values << 8;
}

/*
 * The share of absent keys that find slots of the first code, if that has this share of each layer:
 * those that no earlier layer bumps. Small layers have the second code only. Keys are bumped where
 * many start, and absent keys start everywhere alike, so a little fewer of them are bumped: 0.97
 * times as many by experiment. With 0.95 the resulting rate is rather below the requested one than
 * above.
 */
static double first_code_finds(const struct ribbon *r, uint64_t keys, double share)
{
	const double no_starts = RIBBON_WIDTH - 1;	/* at the end of each section */
	double come = 1, found = 0;
	struct ribbon_layer l;

	for (ribbon_first(r, keys, &l); !l.last; ribbon_next(r, &l)) {
		double slots = (double)ribbon_slots(&l),
			bumped = 0.95 * (1 - slots / (double)l.keys);
		double first = ribbon_sections(ribbon_slots(&l)) == 1 ? 0
			: floor((floor(slots / RIBBON_BUCKET) - 1) * share) * RIBBON_BUCKET;

		if (first > 0)
			found += come * (1 - bumped) * (first - no_starts)
				/ (slots - 2 * no_starts);
		come *= bumped;
	}
	return found;
}

/*
 * If a layer could have the first code alone, a share of the absent keys would find it; the rate
 * wants a part of that share. Without keys there is nothing to find.
 */
struct ribbon blm_ribbon_for(const struct blm_shape *shape, uint64_t keys)
{
	struct ribbon r = { 0, 0 };
	struct ribbon_code code = { 0, 0 }, next = next_code(code);
	double more, less, most, share = 0;

	while (next.bits < RIBBON_BITS_MAX && rate_of(next) > shape->rate) {
		code = next;
		next = next_code(code);
	}
	more = rate_of(code);
	less = rate_of(next);
	most = first_code_finds(&r, keys, 1);
	if (code.bits + code.values > 0 && shape->rate > less && most > 0)
		share = fmin((shape->rate - less) / (more - less) / most, 1 - 0x1p-32);
	r.share = (uint32_t)ldexp(share, 32);
	r.codes = packed(code) | packed(next) << 16;
	return r;
}

double blm_ribbon_rate(const struct blm_shape *shape)
{
	uint64_t keys = shape->capacity / shards_of(shape);
	struct ribbon r = blm_ribbon_for(shape, keys);
	double first = first_code_finds(&r, keys, ldexp(r.share, -32));

	return first * rate_of(ribbon_code(&r, 0)) + (1 - first) * rate_of(ribbon_code(&r, 1));
}
