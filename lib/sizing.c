/* sizing.c - n, p, m, k: the formulas */
#include "sizing.h"

#include <math.h>

enum { BLOCK = 512 };

BLM_API double blm_rate_asymptotic(double bits_per_key, double probes)
{
	return pow(-expm1(-probes / bits_per_key), probes);
}

/* Goel and Gupta, "Small Subset Queries and Bloom Filters Using Ternary Associative Memories", SIGMETRICS 2010. */
BLM_API double blm_rate_bound(uint64_t cells, uint32_t probes, uint64_t keys)
{
	if (!keys)
		return 0;
	if (cells <= 1)
		return 1;
	return pow(-expm1(-(double)probes * ((double)keys + 0.5) / ((double)cells - 1)), probes);
}

static double cells_a_key(double rate, unsigned probes)
{
	return probes / -log1p(-pow(rate, 1.0 / probes));
}

unsigned blm_best_probes(double rate)
{
	double ideal = -log2(rate);
	unsigned k = ideal >= BLM_PROBES_MAX ? BLM_PROBES_MAX - 1 : ideal < 1 ? 1 : (unsigned)ideal;

	return cells_a_key(rate, k + 1) < cells_a_key(rate, k) ? k + 1 : k;
}

unsigned blm_probes_for(double bits_per_key)
{
	double ideal = bits_per_key * M_LN2;
	unsigned k = ideal >= BLM_PROBES_MAX ? BLM_PROBES_MAX - 1 : ideal < 1 ? 1 : (unsigned)ideal;

	return blm_rate_asymptotic(bits_per_key, k + 1) < blm_rate_asymptotic(bits_per_key, k) ? k + 1 : k;
}

uint64_t blm_half_full(double cells, unsigned probes)
{
	return (uint64_t)fmax(1, cells * M_LN2 / probes);
}

uint64_t blm_classic_cells(uint64_t keys, double rate, unsigned probes)
{
	double cells = ceil(1 + cells_a_key(rate, probes) * ((double)keys + 0.5));
	uint64_t m;

	if (!(cells <= (double)BLM_CELLS_MAX))
		return 0;
	/* the doubles above may be off in their last digit, and then so is m: never down */
	for (m = round_up((uint64_t)cells, 64); blm_rate_bound(m, probes, keys) > rate; m += 64)
		;
	return m <= BLM_CELLS_MAX ? m : 0;
}

/*
 * The rate of a block with j keys in it, for j = 0..: E[(X / 512)^k], where X is how many of the 512 bits are set after j k
 * independent probes. The distribution of X is carried along, a probe at a time; the mean of X alone would promise too
 * much, as the mean of a power is more than the power of the mean.
 */
struct block_rates {
	double occupied[BLOCK + 1];	/* P(X = x) */
	double power[BLOCK + 1];	/* (x / 512)^k */
	unsigned first, last;		/* where occupied[] is not negligible */
};

static void begin(struct block_rates *b, unsigned probes)
{
	memset(b->occupied, 0, sizeof(b->occupied));
	b->occupied[0] = 1;
	b->first = b->last = 0;
	for (unsigned x = 0; x <= BLOCK; x++)
		b->power[x] = pow((double)x / BLOCK, probes);
}

static void one_probe(struct block_rates *b)
{
	static const double negligible = 1e-40;

	if (b->last < BLOCK)
		b->last++;
	for (unsigned x = b->last; x > b->first; x--)
		b->occupied[x] = b->occupied[x] * x / BLOCK + b->occupied[x - 1] * (BLOCK - x + 1) / BLOCK;
	b->occupied[b->first] *= (double)b->first / BLOCK;
	while (b->first < b->last && b->occupied[b->first] < negligible)
		b->occupied[b->first++] = 0;
}

static double rate_now(const struct block_rates *b)
{
	double sum = 0;

	for (unsigned x = b->first; x <= b->last; x++)
		sum += b->occupied[x] * b->power[x];
	return fmin(sum, 1);
}

/* rates[j] for j < count; true from the first j on where a block is as good as full, which *ret_full tells. */
static void block_rates(double *rates, size_t count, unsigned probes, size_t *ret_full)
{
	struct block_rates b;

	begin(&b, probes);
	*ret_full = count;
	for (size_t j = 0; j < count; j++) {
		rates[j] = rate_now(&b);
		if (rates[j] > 1 - 1e-12) {
			*ret_full = j;
			return;
		}
		for (unsigned i = 0; i < probes; i++)
			one_probe(&b);
	}
}

/*
 * The mean over the blocks: each of `keys` keys falls into one of `blocks`, so a block's load is binomial. Summed outward
 * from the likeliest load, each weight from its neighbour's, until they no longer matter; normalised at the end.
 */
static double mixture(uint64_t blocks, uint64_t keys, const double *rates, size_t full)
{
	double n = (double)keys, odds = 1.0 / ((double)blocks - 1), weight, total = 0, sum = 0;
	uint64_t mode = (uint64_t)((n + 1) / (double)blocks);

	if (mode > keys)
		mode = keys;
	weight = 1;
	for (uint64_t j = mode; weight > 1e-30; j++) {
		total += weight;
		sum += weight * (j < full ? rates[j] : 1);
		if (j == keys)
			break;
		weight *= (n - (double)j) / ((double)j + 1) * odds;
	}
	weight = 1;
	for (uint64_t j = mode; j > 0; j--) {
		weight *= (double)j / ((n - (double)j + 1) * odds);
		if (weight < 1e-30)
			break;
		total += weight;
		sum += weight * (j - 1 < full ? rates[j - 1] : 1);
	}
	return sum / total;
}

/* Enough room for every load that matters at this mean. */
static size_t loads_for(double mean, uint64_t keys)
{
	double loads = mean + 14 * sqrt(mean) + 60;

	return loads < (double)keys + 1 ? (size_t)loads : (size_t)keys + 1;
}

/* Room for the rates of all loads that can matter; past that a block is full, whatever k is, but for one probe. */
enum { LOADS = 1 << 14 };

static double *rates_for(double mean, uint64_t keys, unsigned probes, size_t *ret_full)
{
	size_t count = loads_for(mean, keys);
	double *rates;

	if (count > LOADS)
		count = LOADS;
	rates = malloc(count * sizeof(*rates));
	if (rates)
		block_rates(rates, count, probes, ret_full);
	return rates;
}

static double rate_of_blocks(uint64_t blocks, uint64_t keys, const double *rates, size_t full)
{
	if (blocks == 1)
		return keys < full ? rates[keys] : 1;
	return mixture(blocks, keys, rates, full);
}

double blm_blocked_rate(uint64_t blocks, unsigned probes, uint64_t keys)
{
	size_t full;
	double *rates, rate = 1;

	if (!keys)
		return 0;
	rates = rates_for((double)keys / (double)blocks, keys, probes, &full);
	if (rates)
		rate = rate_of_blocks(blocks, keys, rates, full);
	free(rates);
	return rate;
}

/* The fewest blocks, below `limit`, that keep the rate with these probes; `limit` if none do. */
static uint64_t fewest(uint64_t keys, double rate, unsigned probes, uint64_t limit)
{
	uint64_t low = (uint64_t)((double)keys * -log2(rate) / BLOCK), high;	/* the information-theoretic bound */
	size_t full;
	double *rates;

	if (low < 1)
		low = 1;
	if (low >= limit)
		return limit;
	rates = rates_for((double)keys / (double)low, keys, probes, &full);
	if (!rates)
		return limit;
	for (high = low; high < limit && rate_of_blocks(high, keys, rates, full) > rate; high += high / 4 + 1)
		low = high + 1;
	if (high > limit)
		high = limit;
	while (low < high) {	/* invariant: high keeps the rate, or is the limit; below low nothing does */
		uint64_t middle = low + (high - low) / 2;

		if (rate_of_blocks(middle, keys, rates, full) > rate)
			low = middle + 1;
		else
			high = middle;
	}
	free(rates);
	return high;
}

uint64_t blm_blocks_for(uint64_t keys, double rate, uint32_t *probes)
{
	const uint64_t none = BLM_CELLS_MAX / BLOCK + 1;
	unsigned classic = blm_best_probes(rate), first = *probes ? *probes : (classic + 1) / 2, last = *probes ? *probes : classic + 1;
	uint64_t best = none;

	if (last > BLM_PROBES_MAX)
		last = BLM_PROBES_MAX;
	/* more uneven than classic, so best with fewer probes; the bits needed fall, then rise, along k */
	for (unsigned k = last; k >= first; k--) {
		uint64_t blocks = fewest(keys, rate, k, best);

		if (blocks < best) {
			best = blocks;
			*probes = k;
		}
	}
	return best < none ? best : 0;
}
