/*
 * ribbon_pack.h - how the digits of a ribbon's slots are packed, and sums of them
 *
 * A digit is a number of 0..2 or of 0..4. A group of them is one number of some bits, and the
 * groups follow each other in the words of a section. A few digits of a group at a time are looked
 * up: 29 trits take 46 bits (1.586 each, where log2(3) is 1.585), as a number of base 243
 * with five trits to a digit; 27 quints take 63 bits (2.333, where log2(5) is 2.322), three to a
 * number of 7 bits.
 */
#ifndef BLM_KIND_RIBBON_DIGITS_H
#define BLM_KIND_RIBBON_DIGITS_H

#include "base/base.h"

struct ribbon_packing {
	unsigned values;		/* of a digit: 3 or 5 */
	unsigned digits, bits;		/* of a group */
	/* digits that are looked up together, and how many numbers they form, or an upper bound */
	unsigned few, radix;
};

static const struct ribbon_packing ribbon_trits = { 3, 29, 46, 5, 243 },
	ribbon_quints = { 5, 27, 63, 3, 128 };

static inline const struct ribbon_packing *ribbon_packing(unsigned values)
{
	return values == 3 ? &ribbon_trits : &ribbon_quints;
}

static inline uint64_t ribbon_digit_words(uint64_t slots, unsigned values)
{
	const struct ribbon_packing *p = ribbon_packing(values);

	return ((slots + p->digits - 1) / p->digits * p->bits + 63) / 64;
}

/* The word with the first bit of the group that has the digit of a slot. */
static inline uint64_t ribbon_digit_word(unsigned values, uint64_t slot)
{
	const struct ribbon_packing *p = ribbon_packing(values);

	return slot / p->digits * p->bits / 64;
}

/* A group: it can be of two words. */
static inline uint64_t ribbon_group(const struct ribbon_packing *p, const uint64_t *words,
				    uint64_t number)
{
	uint64_t bit = number * p->bits, word = load_relaxed(&words[bit / 64]) >> bit % 64;

	if (bit % 64 + p->bits > 64)
		word |= load_relaxed(&words[bit / 64 + 1]) << (64 - bit % 64);
	return word & ((UINT64_C(1) << p->bits) - 1);
}

/*
 * At n << 5 | c: the sum, modulo 3, of those trits of the number n that the bits of c choose.
 */
extern const uint8_t blm_ribbon_sums_of_trits[256 << 5];

/* The digits of `slots` slots, into words that are zeros. */
void blm_ribbon_pack(const struct ribbon_packing *p, const uint8_t *digits, uint64_t slots,
		     uint64_t *ret_words);
/*
 * The sum, modulo the number of values, of the digits from the start on where the coefficients are
 * 1. All are of slots of the section.
 */
unsigned blm_ribbon_digit_sum(const struct ribbon_packing *p, const uint64_t *words, uint64_t start,
			      unsigned __int128 coefficients);

#endif
