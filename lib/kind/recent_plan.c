/* recent_plan.c - the sizes of a recent filter: cells for its keys, bits for its span and rate */
#include "kind/recent.h"

#include <math.h>

static uint64_t default_tick(uint64_t span)
{
	uint64_t most = ((UINT64_C(1) << TIME_LEAST) - 2) * 8 / 9, tick = (span + most - 1) / most;

	return tick < TICK_LEAST ? TICK_LEAST : tick;
}

double blm_recent_rate_at(const struct blm_shape *s, uint64_t keys)
{
	double load = fmin((double)keys / (double)s->cells, 1);

	return -expm1(HALVES * SLOTS * load * log1p(-ldexp(1, -(int)remainder_bits(s))));
}

/* As in cuckoo.c. */
static uint64_t cells_for(uint64_t keys)
{
	return round_up((uint64_t)ceil((double)keys / 0.955 + 3 * sqrt((double)keys) + 48),
			HALVES * SLOTS);
}

static uint64_t bytes_for(const struct blm_shape *s)
{
	return round_up(LINE * 8 + (s->cells * s->cell_bits + 7) / 8, 64);
}

static int plan_times(struct blm_shape *s)
{
	if (!s->args[TICK])
		s->args[TICK] = default_tick(s->args[SPAN]);
	if (s->args[TICK] < TICK_LEAST)
		return blm_fail(-EINVAL, "tick: a tick of a recent filter lasts at least 0.001 "
				"seconds, not %g", (double)s->args[TICK] / 1e9);
	if (s->args[TICK] > s->args[SPAN])
		return blm_fail(-EINVAL, "tick: %g seconds is more than the span of %g seconds",
				(double)s->args[TICK] / 1e9, (double)s->args[SPAN] / 1e9);
	if (time_bits(s) > TIME_MOST)
		return blm_fail(-EINVAL, "tick: a span of %g seconds has too many ticks of %g "
				"seconds; use a tick of at least %g", (double)s->args[SPAN] / 1e9,
				(double)s->args[TICK] / 1e9, (double)s->args[SPAN] / 58e12);
	return 0;
}

static int plan_bits(struct blm_shape *s, bool exactly)
{
	unsigned time = time_bits(s), bits = least_bits(time);

	if (!exactly && bits < BITS_PLANNED)
		bits = BITS_PLANNED;
	for (s->cell_bits = time + bits;
	     bits < BITS_MOST && blm_recent_rate_at(s, s->capacity) > s->rate;
	     s->cell_bits = time + ++bits)
		;
	s->cell_bits += (uint32_t)s->args[SPARE];
	if (blm_recent_rate_at(s, s->capacity) > s->rate || remainder_bits(s) > BITS_MOST)
		return blm_fail(-EFBIG, "a recent filter has remainders of up to %d bits, too "
				"few for a rate of %g with %llu spare bits", BITS_MOST,
				s->rate, (unsigned long long)s->args[SPARE]);
	return 0;
}

int blm_recent_plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells, .probes = 2, .capacity = params->capacity,
			       .rate = params->rate ? params->rate : BLM_DEFAULT_RATE };
	uint64_t most = (uint64_t)fmax(1, floor(0.95 * (double)s.cells));
	int r;

	memcpy(s.args, ret->args, sizeof(s.args));
	if (params->probes && params->probes != 2)
		return blm_fail(-EINVAL, "a recent filter looks into 2 buckets, not %u",
				params->probes);
	if (s.cells % (HALVES * SLOTS))
		return blm_fail(-EINVAL, "a recent filter has a multiple of %d cells, not %llu",
				HALVES * SLOTS, (unsigned long long)s.cells);
	if (s.cells && s.capacity > most)
		return blm_fail(-EINVAL, "a recent filter of %llu cells holds %llu keys, not %llu",
				(unsigned long long)s.cells, (unsigned long long)most,
				(unsigned long long)s.capacity);
	if (!s.capacity)
		s.capacity = most;
	if (!s.cells)
		s.cells = cells_for(s.capacity);
	if (buckets_of(&s) > BUCKETS_MOST)
		return blm_fail(-EFBIG, "a recent filter has at most 2^35 cells, too few for %llu "
				"keys", (unsigned long long)s.capacity);
	r = plan_times(&s);
	if (r == 0)
		r = plan_bits(&s, params->cells);
	s.bytes = r == 0 ? bytes_for(&s) : 0;
	if (r == 0)
		*ret = s;
	return r;
}

bool blm_recent_valid(const struct blm_shape *s)
{
	unsigned time;

	if (!s->args[SPAN] || s->args[SPAN] > UINT64_MAX / 4 || s->args[TICK] < TICK_LEAST
	    || s->args[TICK] > s->args[SPAN])
		return false;
	time = time_bits(s);
	return time <= TIME_MOST && s->cells && s->cells % (HALVES * SLOTS) == 0
		&& buckets_of(s) <= BUCKETS_MOST && s->probes == 2
		&& s->cell_bits >= time + least_bits(time) && s->cell_bits <= time + BITS_MOST
		&& s->bytes == bytes_for(s);
}

unsigned blm_recent_padding_bits(const struct blm_shape *s)
{
	return (unsigned)(s->bytes * 8 - LINE * 64 - s->cells * s->cell_bits);
}

int blm_recent_grown(struct blm_shape *ret, const struct blm_shape *from)
{
	struct blm_shape s = *from;

	if (remainder_bits(from) <= least_bits(time_bits(from)) || buckets_of(from)
	    > BUCKETS_MOST / 2 || from->capacity > BLM_CAPACITY_MAX / 2)
		return blm_fail(-EFBIG, "it cannot be doubled any more: it has %llu cells with "
				"remainders of %u bits", (unsigned long long)from->cells,
				remainder_bits(from));
	s.cells *= 2;
	s.capacity *= 2;
	s.cell_bits--;
	s.bytes = bytes_for(&s);
	*ret = s;
	return 0;
}
