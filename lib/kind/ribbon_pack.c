/* ribbon_pack.c - the digits of a ribbon's slots: packed, and summed up by tables */
#include "kind/ribbon_pack.h"

/* The sum of the digits of a number that are selected by the bits of c. */
#define IF(c, i, digit, values) (((c) >> (i) & 1) * ((digit) % (values)))
#define SUM3(n, c) (IF(c, 0, n, 3) + IF(c, 1, (n) / 3, 3) + IF(c, 2, (n) / 9, 3) \
		    + IF(c, 3, (n) / 27, 3) + IF(c, 4, (n) / 81, 3)) % 3
#define SUM5(n, c) (IF(c, 0, n, 5) + IF(c, 1, (n) / 5, 5) + IF(c, 2, (n) / 25, 5)) % 5
#define FOUR(SUM, n, c) SUM(n, c), SUM(n, c + 1), SUM(n, c + 2), SUM(n, c + 3)
#define EIGHT(SUM, n, c) FOUR(SUM, n, c), FOUR(SUM, n, c + 4)
#define TRITS(n) EIGHT(SUM3, n, 0), EIGHT(SUM3, n, 8), EIGHT(SUM3, n, 16), EIGHT(SUM3, n, 24)
#define QUINTS(n) EIGHT(SUM5, n, 0)
#define NUMBERS4(OF, n) OF(n), OF(n + 1), OF(n + 2), OF(n + 3)
#define NUMBERS16(OF, n) NUMBERS4(OF, n), NUMBERS4(OF, n + 4), \
			 NUMBERS4(OF, n + 8), NUMBERS4(OF, n + 12)
#define NUMBERS64(OF, n) NUMBERS16(OF, n), NUMBERS16(OF, n + 16), \
			 NUMBERS16(OF, n + 32), NUMBERS16(OF, n + 48)

/* Some n are of no trits, or quints: there are 243 and 125. */
const uint8_t blm_ribbon_sums_of_trits[256 << 5] = { NUMBERS64(TRITS, 0), NUMBERS64(TRITS, 64),
						     NUMBERS64(TRITS, 128), NUMBERS64(TRITS, 192) };
static const uint8_t sums_of_quints[128 << 3] = { NUMBERS64(QUINTS, 0), NUMBERS64(QUINTS, 64) };

/* By constants, so that the divisions are multiplications. */
static inline unsigned sum(const struct ribbon_packing p, const uint8_t *sums,
			   const uint64_t *words, uint64_t start, unsigned __int128 coefficients)
{
	unsigned skip = start % p.digits, all = 0;

	for (uint64_t number = start / p.digits; coefficients; number++) {
		uint64_t group = ribbon_group(&p, words, number),
			looked_at = (uint64_t)coefficients << skip;

		for (unsigned i = 0; i < p.digits; i += p.few) {
			unsigned last = p.digits - i < p.few ? p.digits - i : p.few;

			all += sums[group % p.radix << p.few
				    | (looked_at >> i & ((1U << last) - 1))];
			group /= p.radix;
		}
		coefficients >>= p.digits - skip;
		skip = 0;
	}
	return all % p.values;
}

unsigned blm_ribbon_digit_sum(const struct ribbon_packing *p, const uint64_t *words, uint64_t start,
			      unsigned __int128 coefficients)
{
	if (p->values == 3)
		return sum(ribbon_trits, blm_ribbon_sums_of_trits, words, start, coefficients);
	return sum(ribbon_quints, sums_of_quints, words, start, coefficients);
}

static uint64_t packed(const struct ribbon_packing *p, const uint8_t *digits, uint64_t count)
{
	uint64_t group = 0;

	for (uint64_t end = round_up(count, p->few); end; end -= p->few) {
		unsigned number = 0;

		for (uint64_t i = end; i-- > end - p->few;)
			number = number * p->values + (i < count ? digits[i] : 0);
		group = group * p->radix + number;
	}
	return group;
}

void blm_ribbon_pack(const struct ribbon_packing *p, const uint8_t *digits, uint64_t slots,
		     uint64_t *ret_words)
{
	for (uint64_t first = 0, bit = 0; first < slots; first += p->digits, bit += p->bits) {
		uint64_t group = packed(p, digits + first,
					slots - first < p->digits ? slots - first : p->digits);

		ret_words[bit / 64] |= htole64(group << bit % 64);
		if (bit % 64 + p->bits > 64)
			ret_words[bit / 64 + 1] |= htole64(group >> (64 - bit % 64));
	}
}
