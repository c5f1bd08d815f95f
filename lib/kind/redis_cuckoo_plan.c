/* redis_cuckoo_plan.c - the sizes of a cuckoo filter of RedisBloom, and its rates */
#include "kind/common/sizing.h"
#include "kind/redis_cuckoo_chain.h"

#include <math.h>

/* Positions in a table are 32 bits wide there. */
#define TABLE_MOST (UINT64_C(1) << 32)

static bool is_power_of_2(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* How many times the buckets of the first table all have; 0: more than there may be. */
static uint64_t sum_of(unsigned tables, unsigned shift)
{
	uint64_t sum = 0;

	if (shift * (tables - 1) >= 32)
		return 0;
	for (unsigned i = 0; i < tables; i++)
		sum += UINT64_C(1) << shift * i;
	return sum;
}

/* The numbers are untrusted. False: they are not those of a chain. */
static bool find_chain(struct chain *ret, const struct blm_shape *s)
{
	uint64_t slots = s->args[REDIS_CUCKOO_BUCKET], expansion = s->args[REDIS_CUCKOO_EXPANSION],
		sum;
	struct chain c = { .slots = (unsigned)slots, .tables = s->probes / 2 };

	if (slots < 1 || slots > REDIS_CUCKOO_BUCKET_MOST || expansion > REDIS_CUCKOO_EXPANSION_MOST
	    || (expansion && !is_power_of_2(expansion))
	    || s->probes < 2 || s->probes > BLM_PROBES_MAX || s->probes % 2
	    || (!expansion && c.tables > 1) || s->cells > BLM_CELLS_MAX)
		return false;
	c.shift = expansion ? (unsigned)__builtin_ctzll(expansion) : 0;
	sum = sum_of(c.tables, c.shift);
	if (!sum || s->cells % (sum * slots))
		return false;
	c.buckets = s->cells / (sum * slots);
	*ret = c;
	return is_power_of_2(c.buckets) && c.buckets <= TABLE_MOST
		&& cells_of(&c, c.tables - 1) <= TABLE_MOST;
}

/* of a valid shape */
struct chain blm_redis_cuckoo_chain(const struct blm_shape *s)
{
	struct chain c = { 0 };

	find_chain(&c, s);
	return c;
}

uint64_t blm_redis_cuckoo_buckets(const struct blm_shape *s)
{
	return blm_redis_cuckoo_chain(s).buckets;
}

uint64_t blm_redis_cuckoo_cells(uint64_t buckets, uint64_t slots, uint64_t tables,
				uint64_t expansion)
{
	uint64_t sum;

	if (slots < 1 || slots > REDIS_CUCKOO_BUCKET_MOST || tables < 1
	    || tables > REDIS_CUCKOO_TABLES_MOST || buckets < 1 || buckets > TABLE_MOST
	    || expansion > REDIS_CUCKOO_EXPANSION_MOST || (expansion && !is_power_of_2(expansion)))
		return 0;
	/* each factor is below 2^33, 2^8 and 2^40 */
	sum = sum_of((unsigned)tables, expansion ? (unsigned)__builtin_ctzll(expansion) : 0);
	return sum && sum * slots <= BLM_CELLS_MAX / buckets ? sum * slots * buckets : 0;
}

bool blm_redis_cuckoo_valid(const struct blm_shape *s)
{
	struct chain c;

	return find_chain(&c, s) && s->cell_bits == 8 && s->bytes == round_up(s->cells, 64);
}

double blm_redis_cuckoo_rate_with(double met)
{
	return -expm1(met * log1p(-1 / 255.0));
}

/* A table is full before the next one begins. */
double blm_redis_cuckoo_rate(const struct blm_shape *s, uint64_t keys)
{
	struct chain c = blm_redis_cuckoo_chain(s);
	double met = 0;

	for (unsigned i = 0; i < c.tables && keys; i++) {
		uint64_t cells = cells_of(&c, i), here = keys < cells ? keys : cells;

		met += 2 * c.slots * (double)here / (double)cells;
		keys -= here;
	}
	return blm_redis_cuckoo_rate_with(met);
}

/*
 * The load of a large table when a key first finds no space; in a small table that is random. With
 * one cell a bucket it is also random whether three keys have the same two buckets. There are 127
 * pairs for each bucket, so the probability is one in a thousand.
 */
static double load_of(unsigned slots)
{
	static const double loads[] = { 0, 0.4, 0.82, 0.9, 0.93 };

	return loads[slots < ARRAY_LEN(loads) ? slots : ARRAY_LEN(loads) - 1];
}

static int find_size(struct blm_shape *s, unsigned slots)
{
	double keys = (double)s->capacity,
		least = keys / load_of(slots) + 3 * sqrt(keys) + 4 * slots;

	if (slots == 1)
		least = fmax(least, 0.1 * keys * sqrt(keys));
	for (s->cells = slots; s->cells <= TABLE_MOST; s->cells *= 2)
		if ((double)s->cells >= least && blm_redis_cuckoo_rate(s, s->capacity) <= s->rate)
			return 0;
	return blm_fail(-EFBIG, "a redis-cuckoo filter has up to 2^32 fingerprints of 8 bits: too "
			"few for %llu keys at a rate of %g; the kind cuckoo has longer ones",
			(unsigned long long)s->capacity, s->rate);
}

int blm_redis_cuckoo_plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells, .probes = 2, .cell_bits = 8,
			       .capacity = params->capacity, .rate = params->rate };
	unsigned slots = (unsigned)ret->args[REDIS_CUCKOO_BUCKET];
	uint64_t expansion = ret->args[REDIS_CUCKOO_EXPANSION];
	uint64_t most = (uint64_t)fmax(1, floor(load_of(slots) * (double)s.cells));
	struct chain c;
	int r = 0;

	if (params->probes && params->probes != 2)
		return blm_fail(-EINVAL, "a new cuckoo filter of RedisBloom looks into 2 buckets, "
				"not %u", params->probes);
	memcpy(s.args, ret->args, sizeof(s.args));
	while (expansion & (expansion - 1))	/* the next power of 2, as there */
		expansion += expansion & -expansion;
	s.args[REDIS_CUCKOO_EXPANSION] = expansion;
	if (s.cells && !find_chain(&c, &s))
		return blm_fail(-EINVAL, "a cuckoo filter of RedisBloom has a power of 2 of "
				"buckets of %u cells, up to 2^32 cells; not %llu cells", slots,
				(unsigned long long)s.cells);
	if (s.cells && s.capacity > most)
		return blm_fail(-EINVAL, "a cuckoo filter of RedisBloom of %llu cells, with "
				"buckets of %u, holds %llu keys, not %llu",
				(unsigned long long)s.cells,
				slots, (unsigned long long)most, (unsigned long long)s.capacity);
	if (!s.capacity)
		s.capacity = most;
	if (!s.cells) {
		s.rate = s.rate ? s.rate : BLM_DEFAULT_RATE;
		r = find_size(&s, slots);
	} else if (s.rate && blm_redis_cuckoo_rate(&s, s.capacity) > s.rate) {
		r = blm_fail(-EINVAL, "with %llu cells and %llu keys the rate is %.3g, above %g: "
			     "fingerprints have 8 bits", (unsigned long long)s.cells,
			     (unsigned long long)s.capacity, blm_redis_cuckoo_rate(&s, s.capacity),
			     s.rate);
	} else if (!s.rate) {
		s.rate = blm_redis_cuckoo_rate(&s, s.capacity);
	}
	s.bytes = round_up(s.cells, 64);
	if (r == 0)
		*ret = s;
	return r;
}
