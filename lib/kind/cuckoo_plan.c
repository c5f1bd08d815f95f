/* cuckoo_plan.c - how large a cuckoo filter is, and how often it is wrong */
#include "kind/common/sizing.h"
#include "kind/cuckoo.h"

#include <math.h>

enum {
	BITS_LEAST = 4, BITS_MOST = 32,
	/* with fewer a fingerprint has too few other places to fill a large table */
	BITS_PLANNED = 8,
};

/* how many keys a filter may refuse before it has its capacity, on average */
static const double refused_most = 0.001;

/*
 * The first key finds no space when buckets are 0.97 full, and windows 0.95, for cells of 8 bits or
 * more.
 */
static const struct load {
	double planned, most;		/* shares of the cells */
} loads[] = { [CUCKOO_BUCKETS] = { 0.955, 0.95 }, [CUCKOO_WINDOWS] = { 0.935, 0.93 } };

static const struct load *load_of(const struct blm_shape *s)
{
	return &loads[s->args[CUCKOO_LAYOUT]];
}

/*
 * A question compares the fingerprints in two places. A bucket has 4 of them when it is full. A
 * window has one on average, because each cell is in two windows.
 */
double blm_cuckoo_rate_at(const struct blm_shape *s, uint64_t keys)
{
	double load = fmin((double)keys / (double)s->cells, 1),
	       compared = 2 * cuckoo_places_of(s).step * load;

	return -expm1(compared * log1p(-1 / (double)cuckoo_prints(s)));
}

/* For a small table the load is a matter of chance, so it gets some more cells. */
static uint64_t cells_for(const struct blm_shape *s, uint64_t keys)
{
	return round_up((uint64_t)ceil((double)keys / load_of(s)->planned
				       + 3 * sqrt((double)keys) + 48), cuckoo_places_of(s).step);
}

/*
 * Keys with the same fingerprint and the same two places fill these places, and the next such key
 * is refused. Returns how many keys are refused for that, on average.
 */
static double refused_of(const struct blm_shape *s)
{
	double sets = (double)cuckoo_prints(s) * (double)cuckoo_place_count(s) / 2,
	       keys = (double)s->capacity / sets, refused = sets;

	for (unsigned i = 0; i <= 2 * cuckoo_places_of(s).slots; i++)
		refused *= keys / (i + 1);
	return refused;
}

static bool bits_do(const struct blm_shape *s)
{
	return blm_cuckoo_rate_at(s, s->capacity) <= s->rate && refused_of(s) <= refused_most;
}

static uint64_t bytes_for(const struct blm_shape *s)
{
	return round_up((s->cells * s->cell_bits + 7) / 8, 64);
}

/* Capacity and cells, each from the other where it is not given. */
static int plan_cells(struct blm_shape *s)
{
	struct cuckoo_places places = cuckoo_places_of(s);
	uint64_t most = (uint64_t)fmax(1, floor(load_of(s)->most * (double)s->cells));

	if (s->cells % places.step)
		return blm_fail(-EINVAL, "a cuckoo filter with buckets has a multiple of %u cells, "
				"not %llu", places.slots, (unsigned long long)s->cells);
	if (s->cells && s->cells < places.slots)
		return blm_fail(-EINVAL, "a cuckoo filter has at least %u cells, not %llu",
				places.slots, (unsigned long long)s->cells);
	if (s->cells && s->capacity > most)
		return blm_fail(-EINVAL, "a cuckoo filter of %llu cells holds %llu keys, not %llu",
				(unsigned long long)s->cells, (unsigned long long)most,
				(unsigned long long)s->capacity);
	if (!s->capacity)
		s->capacity = most;
	if (!s->cells)
		s->cells = cells_for(s, s->capacity);
	if (s->cells > BLM_CELLS_MAX)
		return blm_fail(-EFBIG, "a cuckoo filter has at most 2^47 cells, too few for %llu "
				"keys", (unsigned long long)s->capacity);
	return 0;
}

int blm_cuckoo_plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells, .probes = 2, .capacity = params->capacity,
			       .rate = params->rate ? params->rate : BLM_DEFAULT_RATE };
	int r;

	memcpy(s.args, ret->args, sizeof(s.args));
	if (params->probes && params->probes != 2)
		return blm_fail(-EINVAL, "a cuckoo filter looks into 2 places, not %u",
				params->probes);
	r = plan_cells(&s);
	if (r < 0)
		return r;
	for (s.cell_bits = params->cells ? BITS_LEAST : BITS_PLANNED; s.cell_bits < BITS_MOST
	     && !bits_do(&s); s.cell_bits++)
		;
	if (blm_cuckoo_rate_at(&s, s.capacity) > s.rate)
		return blm_fail(-EFBIG, "a cuckoo filter has cells of up to %d bits, for a rate of "
				"%g; %g takes more; the kind classic has any rate", BITS_MOST,
				blm_cuckoo_rate_at(&s, s.capacity), s.rate);
	s.bytes = bytes_for(&s);
	*ret = s;
	return 0;
}

bool blm_cuckoo_valid(const struct blm_shape *s)
{
	struct cuckoo_places places = cuckoo_places_of(s);

	return s->cells >= places.slots && s->cells <= BLM_CELLS_MAX
		&& s->cells % places.step == 0 && s->probes == 2 && s->cell_bits >= BITS_LEAST
		&& s->cell_bits <= BITS_MOST && s->bytes == bytes_for(s);
}
