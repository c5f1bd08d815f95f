/*
 * ribbon_band.h - the linear equations of a layer: each key is one, over the 128 slots from its
 * start
 *
 * They are solved one by one, by Gauss's elimination in place: a row is reduced by existing rows
 * until it begins at a slot without a row, and becomes the row of that slot. The matrix is a band,
 * so a row has 128 coefficients. Bits are equations over GF(2), with one matrix for all of them;
 * digits are over GF(3) or GF(5), with the same coefficients and a matrix of their own.
 */
#ifndef BLM_KIND_RIBBON_BAND_H
#define BLM_KIND_RIBBON_BAND_H

#include "kind/ribbon.h"

struct ribbon_band {
	/* of each slot; bit i is the coefficient of the slot + i; 0: no row begins here */
	unsigned __int128 *rows;
	uint32_t *values;
	/*
	 * A row of digits takes `planes` words: bit i of the first says that the coefficient is 1,
	 * bit i of the second that it is 2, and so on. `planes` is the most values that a digit of
	 * a section has, less 1. The first coefficient is 1, or no row begins here.
	 */
	unsigned __int128 *digits;
	unsigned planes;
	uint8_t *rests;			/* what their sums are; once they are solved, the digits */
};

/*
 * The slots of a key's rows, to remove them again in the reverse order; NONE: the row followed from
 * the others.
 */
struct ribbon_rows {
	uint32_t bits, digit;
};

enum { RIBBON_NONE = UINT32_MAX, RIBBON_CONFLICT = UINT32_MAX - 1 };

/* False: the equation contradicts the others, and nothing is changed. */
bool blm_ribbon_insert(struct ribbon_band *band, struct ribbon_code code, uint32_t start,
		       unsigned __int128 coefficients, uint64_t value,
		       struct ribbon_rows *ret);
void blm_ribbon_take_out(struct ribbon_band *band, struct ribbon_rows rows);
/*
 * The contents of the slots from `first` on, a section, into its words, which are zeros. It
 * overwrites the rests of the band.
 */
void blm_ribbon_solve(struct ribbon_band *band, uint32_t first, uint64_t slots,
		      struct ribbon_code code, uint64_t *ret_words);

#endif
