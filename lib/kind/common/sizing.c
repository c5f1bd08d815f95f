/* sizing.c - n, p, m, k: the formulas */
#include "kind/common/sizing.h"
#include "simd/block.h"

#include <math.h>

BLM_API double blm_rate_asymptotic(double bits_per_key, double probes)
{
	return pow(-expm1(-probes / bits_per_key), probes);
}

/*
 * Goel and Gupta, "Small Subset Queries and Bloom Filters Using Ternary Associative Memories",
 * SIGMETRICS 2010.
 */
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

	return blm_rate_asymptotic(bits_per_key, k + 1) < blm_rate_asymptotic(bits_per_key, k)
		? k + 1 : k;
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

double blm_classic_keys(uint64_t cells, unsigned probes, double fill, double *ret_error)
{
	double m = (double)cells, k = probes, load = -log1p(-fill);	/* nk/m */

	*ret_error = sqrt(m * (expm1(load) - load)) / k;
	return m / k * load;
}

/*
 * n keys are in one filter only, and the first filter has s more of them than the second. Each such
 * key adds k to the sum of the squares, but keys that share a cell change that. With random cells
 * the sum of the squares is k n + (s^2 - n) k^2 / m, and the sum is k s. (S. Agarwal and A.
 * Trachtenberg, "Approximating the number of differences between remote sets", ITW 2006, divide by
 * k alone, which is too much where s is large.) Keys that share cells make the error n sqrt(2/m).
 */
double blm_keys_that_differ(double cells, double each, double sum, double squares,
			    double *ret_error)
{
	double more = sum / each, keys = fabs(more);

	if (each < cells)
		keys = fmax(keys, (squares - sum * sum / cells) / (each * (1 - each / cells)));
	*ret_error = keys * sqrt(2 / cells);
	return keys;
}

/*
 * The rate of a block with j keys in it, for j = 0..: its probes are of r different bits with
 * probability different[r], and r certain bits are all set after n probes with probability set[r].
 * The last of these n was of one of the r with r / 512, and then the r - 1 others were to be set
 * before. All that is added is positive, so nothing cancels out, however small the rate. (The mean
 * of the bits that are set alone would promise too much, as the mean of a power is more than the
 * power of the mean.)
 */
struct block_rates {
	unsigned probes;
	double different[BLM_PROBES_MAX + 1], set[BLM_PROBES_MAX + 1];
};

static void begin(struct block_rates *b, unsigned probes)
{
	*b = (struct block_rates){ .probes = probes, .different = { 1 }, .set = { 1 } };
	for (unsigned i = 0; i < probes; i++) {
		for (unsigned r = i + 1; r > 0; r--)
			b->different[r] = b->different[r] * r / BLOCK_BITS + b->different[r - 1]
				* (BLOCK_BITS - r + 1) / BLOCK_BITS;
		b->different[0] = 0;
	}
}

static void one_key(struct block_rates *b)
{
	for (unsigned i = 0; i < b->probes; i++)
		for (unsigned r = b->probes; r > 0; r--)
			b->set[r] += (b->set[r - 1] - b->set[r]) * r / BLOCK_BITS;
}

static double rate_now(const struct block_rates *b)
{
	double sum = 0;

	for (unsigned r = 0; r <= b->probes; r++)
		sum += b->different[r] * b->set[r];
	return fmin(sum, 1);
}

/*
 * rates[j] for j < count; true from the first j on whose block is nearly full; *ret_full is that j.
 */
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
		one_key(&b);
	}
}

/*
 * The mean over the blocks: each of `keys` keys falls into one of `blocks`, so a block's load is
 * binomial. Summed outward from the likeliest load, each weight from its neighbour's, until they no
 * longer matter; normalised at the end.
 */
static double mixture(double blocks, uint64_t keys, const double *rates, size_t full)
{
	double n = (double)keys, odds = 1.0 / (blocks - 1), weight, total = 0, sum = 0;
	uint64_t mode = (uint64_t)((n + 1) / blocks);

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

/* Enough entries for every load that matters at this mean. */
static size_t loads_for(double mean, uint64_t keys)
{
	double loads = mean + 14 * sqrt(mean) + 60;

	return loads < (double)keys + 1 ? (size_t)loads : (size_t)keys + 1;
}

/*
 * Entries for the rates of all loads that can matter; a block with more keys is full for any k but
 * 1.
 */
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

static double rate_of_blocks(double blocks, uint64_t keys, const double *rates, size_t full)
{
	double mean = (double)keys / blocks;

	if (blocks <= 1)
		return keys < full ? rates[keys] : 1;
	/*
	 * all loads that matter are of full blocks: there may be too many of them to go through one
	 * by one
	 */
	if (mean - 14 * sqrt(mean) > (double)full)
		return 1;
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
		rate = rate_of_blocks((double)blocks, keys, rates, full);
	free(rates);
	return rate;
}

static double rate_of_equal_blocks(uint64_t blocks, uint64_t keys, const double *rates, size_t full)
{
	return rate_of_blocks((double)blocks, keys, rates, full);
}

/* The fewest blocks, from `low` to below `limit`, that keep the rate; `limit` if none do. */
static uint64_t fewest_from(uint64_t low, uint64_t limit, uint64_t keys, double rate,
			    double (*rate_of)(uint64_t blocks, uint64_t keys, const double *rates,
					      size_t full), const double *rates, size_t full)
{
	uint64_t high;

	for (high = low; high < limit && rate_of(high, keys, rates, full) > rate;
	     high += high / 4 + 1)
		low = high + 1;
	if (high > limit)
		high = limit;
	/* invariant: high keeps the rate, or is the limit; below low nothing does */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (rate_of(middle, keys, rates, full) > rate)
			low = middle + 1;
		else
			high = middle;
	}
	return high;
}

/*
 * The fewest blocks of 512 bits, below `limit`, that keep the rate with these probes; `limit` if
 * none do.
 */
static uint64_t fewest(uint64_t keys, double rate, unsigned probes, uint64_t limit)
{
	/* the information-theoretic bound */
	uint64_t low = (uint64_t)((double)keys * -log2(rate) / BLOCK_BITS), high;
	size_t full;
	double *rates;

	if (low < 1)
		low = 1;
	if (low >= limit)
		return limit;
	rates = rates_for((double)keys / (double)low, keys, probes, &full);
	if (!rates)
		return limit;
	high = fewest_from(low, limit, keys, rate, rate_of_equal_blocks, rates, full);
	free(rates);
	return high;
}

/*
 * As many probes as one word of a key's hash has places for are asked in half the time of more. A
 * filter takes that number, where it is less than the best one and costs at most 4 % more blocks.
 */
static uint64_t blocks_for_a_word(uint64_t keys, double rate, uint64_t best, uint32_t *probes)
{
	const uint64_t none = BLM_CELLS_MAX / BLOCK_BITS + 1, more = best + best / 25 + 1;
	uint64_t limit = more < none ? more : none, blocks;

	if (*probes <= PROBES_A_WORD)
		return best;
	blocks = fewest(keys, rate, PROBES_A_WORD, limit);
	if (blocks == limit)
		return best;
	*probes = PROBES_A_WORD;
	return blocks;
}

uint64_t blm_blocks_for(uint64_t keys, double rate, uint32_t *probes)
{
	const uint64_t none = BLM_CELLS_MAX / BLOCK_BITS + 1;
	unsigned classic = blm_best_probes(rate), given = *probes, first = given ? given
		: (classic + 1) / 2, last = given ? given : classic + 1;
	uint64_t best = none;

	if (last > BLM_PROBES_MAX)
		last = BLM_PROBES_MAX;
	/*
	 * more uneven than classic, so best with fewer probes; the bits needed fall, then rise,
	 * along k
	 */
	for (unsigned k = last; k >= first; k--) {
		uint64_t blocks = fewest(keys, rate, k, best);

		if (blocks < best) {
			best = blocks;
			*probes = k;
		}
	}
	if (best == none)
		return 0;
	return given ? best : blocks_for_a_word(keys, rate, best, probes);
}

/* ---- Split blocks ---- */

enum { SPLIT_LOADS = 1024 };	/* by then a block is full, to within 1e-13 */

/*
 * A lane of 32 bits gets one bit of each key, so with j keys in its block a bit is set with
 * probability 1 - (31/32)^j, in each of the 8 lanes. All bits of a key come from 32 bits of its
 * hash, which one of the j keys may share.
 */
static size_t split_rates(double rates[SPLIT_LOADS])
{
	size_t j;

	for (j = 0; j < SPLIT_LOADS; j++) {
		double unlike = pow(-expm1((double)j * log1p(-1.0 / 32)), 8);

		rates[j] = fmin(1, unlike + (1 - unlike) * (double)j * 0x1p-32);
		if (rates[j] > 1 - 1e-12)
			break;
	}
	return j;
}

/*
 * The block is chosen by a number of 32 bits: of 2^32 = q * blocks + r numbers r blocks have q + 1,
 * the others q.
 */
static double rate_of_split_blocks(uint64_t blocks, uint64_t keys, const double *rates, size_t full)
{
	double all = 0x1p32, q = (double)((UINT64_C(1) << 32) / blocks),
		r = (double)((UINT64_C(1) << 32) % blocks), more = r * (q + 1) / all;

	if (r == 0)
		return rate_of_blocks((double)blocks, keys, rates, full);
	return more * rate_of_blocks(all / (q + 1), keys, rates, full) + (1 - more)
		* rate_of_blocks(all / q, keys, rates, full);
}

double blm_split_rate(uint64_t blocks, uint64_t keys)
{
	double rates[SPLIT_LOADS];

	return keys ? rate_of_split_blocks(blocks, keys, rates, split_rates(rates)) : 0;
}

uint64_t blm_split_blocks_for(uint64_t keys, double rate)
{
	const uint64_t none = UINT64_C(1) << 31;
	uint64_t low = (uint64_t)fmin((double)keys * -log2(rate) / 256, (double)none), blocks;
	double rates[SPLIT_LOADS];
	size_t full = split_rates(rates);

	blocks = fewest_from(low ? low : 1, none, keys, rate, rate_of_split_blocks, rates, full);
	return blocks < none ? blocks : 0;
}
