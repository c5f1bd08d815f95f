/*
 * sizing.h - n, p, m, k: formulas, no state; the rates are probabilities, the sizes rounded up,
 * never down
 */
#ifndef BLM_SIZING_H
#define BLM_SIZING_H

#include "base/base.h"
#include "bloomery.h"

#define BLM_DEFAULT_RATE 0.01

/*
 * The number of probes that needs the fewest bits for this rate, or gives the lowest rate for these
 * bits. 1 to 256.
 */
unsigned blm_best_probes(double rate);
unsigned blm_probes_for(double bits_per_key);

/* How many keys set half of the cells; at least 1. */
uint64_t blm_half_full(double cells, unsigned probes);

/*
 * The fewest cells, a multiple of 64, for which blm_rate_bound() keeps the rate; 0 if more than
 * BLM_CELLS_MAX.
 */
uint64_t blm_classic_cells(uint64_t keys, double rate, unsigned probes);

/*
 * Distinct keys for this share of cells that are set; *ret_error: its standard error, were all the
 * cells seen.
 */
double blm_classic_keys(uint64_t cells, unsigned probes, double fill, double *ret_error);

/*
 * The keys that only one of two filters has whose cells count keys. sum, squares: the sums of the
 * differences between their cells, and of the squares of these differences. each: the cells of a
 * key, on average.
 */
double blm_keys_that_differ(double cells, double each, double sum, double squares,
			    double *ret_error);

/*
 * The rate of `keys` keys over blocks of 512 bits, and the fewest blocks that keep one. *probes 0:
 * chosen, and written.
 */
double blm_blocked_rate(uint64_t blocks, unsigned probes, uint64_t keys);
uint64_t blm_blocks_for(uint64_t keys, double rate, uint32_t *probes);

/*
 * The same for split blocks: 256 bits, one in each of 8 lanes of 32; at most 2^31 - 1 of them, 0 if
 * more are needed.
 */
double blm_split_rate(uint64_t blocks, uint64_t keys);
uint64_t blm_split_blocks_for(uint64_t keys, double rate);

#endif
