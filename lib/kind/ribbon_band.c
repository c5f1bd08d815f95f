/* ribbon_band.c - the linear equations of a layer, over GF(2), GF(3) and GF(5) */
#include "kind/ribbon_band.h"

typedef unsigned __int128 wide;		/* a coefficient a bit */

static unsigned leading_zeros(wide row)	/* from the first slot on; row: not 0 */
{
	uint64_t low = (uint64_t)row;

	return low ? (unsigned)__builtin_ctzll(low)
		: 64 + (unsigned)__builtin_ctzll((uint64_t)(row >> 64));
}

static unsigned parity(wide x)
{
	return (unsigned)__builtin_parityll((uint64_t)x ^ (uint64_t)(x >> 64));
}

static unsigned ones(wide x)
{
	return (unsigned)__builtin_popcountll((uint64_t)x)
		+ (unsigned)__builtin_popcountll((uint64_t)(x >> 64));
}

static uint32_t insert_bits(struct ribbon_band *b, uint32_t at, wide row, uint32_t value)
{
	for (;;) {
		unsigned skip;

		if (!b->rows[at]) {
			b->rows[at] = row;
			b->values[at] = value;
			return at;
		}
		row ^= b->rows[at];
		value ^= b->values[at];
		if (!row)
			return value ? RIBBON_CONFLICT : RIBBON_NONE;
		skip = leading_zeros(row);
		row >>= skip;
		at += skip;
	}
}

/*
 * ---- 128 digits of 0..q - 1: a bit says that one is 1, or 2, 3, 4; where no bit is it is 0 ----
 * q is a constant in all calls, 3 or 5, so no code that asks for it is left; with 3, three and four
 * are not there.
 */

struct digits {
	wide one, two, three, four;
};

static inline wide any_but_zero(struct digits x)
{
	return x.one | x.two | x.three | x.four;
}

/*
 * Where x or y is the digit, and where both are: as a digit is but one, where one is a and the
 * other is b is `either.a & either.b`.
 */
static inline struct digits either(struct digits x, struct digits y)
{
	return (struct digits){ x.one | y.one, x.two | y.two, x.three | y.three, x.four | y.four };
}

static inline struct digits both(struct digits x, struct digits y)
{
	return (struct digits){ x.one & y.one, x.two & y.two, x.three & y.three, x.four & y.four };
}

static inline struct digits sum(struct digits x, struct digits y, const unsigned q)
{
	struct digits e = either(x, y), b = both(x, y);
	/* is x or y 0 there */
	wide zero = ~(any_but_zero(x) & any_but_zero(y)), t = (x.one | y.two) ^ (x.two | y.one);

	if (q == 3)
		return (struct digits){ e.two ^ t, e.one ^ t, 0, 0 };
	return (struct digits){
		(zero & e.one) | (e.two & e.four) | b.three,
		(zero & e.two) | (e.three & e.four) | b.one,
		(zero & e.three) | (e.one & e.two) | b.four,
		(zero & e.four) | (e.one & e.three) | b.two,
	};
}

/* The sum of the products of digit with digit, modulo q: of the digits 1, 2, 3 and 4. */
static inline unsigned sum_of_products(struct digits x, struct digits y, const unsigned q)
{
	struct digits e = either(x, y), b = both(x, y);

	if (q == 3)
		return (ones(b.one | b.two) + 2 * ones(e.one & e.two)) % 3;
	return (ones(b.one | b.four | (e.two & e.three)) + 2
		* ones((e.one & e.two) | (e.three & e.four))
	      + 3 * ones((e.one & e.three) | (e.two & e.four)) + 4
	      * ones(b.two | b.three | (e.one & e.four))) % 5;
}

static inline unsigned first_digit(struct digits x)
{
	return (unsigned)(x.one & 1) + 2 * (unsigned)(x.two & 1) + 3 * (unsigned)(x.three & 1) + 4
		* (unsigned)(x.four & 1);
}

/*
 * x >> skip, without the instruction that shifts two words, which is slow on many processors;
 * nearly always skip is small.
 */
static inline wide behind(wide x, unsigned skip)
{
	uint64_t low = (uint64_t)x, high = (uint64_t)(x >> 64);

	if (skip >= 64)
		return high >> (skip - 64);
	return (wide)(high >> skip) << 64 | low >> skip | high << 1 << (63 - skip);
}

/* those behind the first ones */
static inline struct digits from(struct digits x, unsigned skip)
{
	return (struct digits){ behind(x.one, skip), behind(x.two, skip), behind(x.three, skip),
				behind(x.four, skip) };
}

static inline unsigned inverse(unsigned x, const unsigned q)	/* x * x^(q - 2) is 1 */
{
	return q == 3 ? x : x * x * x % q;
}

static wide *row_at(const struct ribbon_band *b, uint64_t at)
{
	return b->digits + at * b->planes;
}

/*
 * A row times a factor, 1..q - 1: which of its planes become those of 1, 2, 3 and 4. So it needs no
 * arithmetic.
 */
static const uint8_t become[5][4] = { { 0 }, { 0, 1, 2, 3 }, { 2, 0, 3, 1 }, { 1, 3, 0, 2 },
				      { 3, 2, 1, 0 } };

static inline struct digits get_times(const struct ribbon_band *b, uint64_t at, unsigned factor,
				      const unsigned q)
{
	const uint8_t *of = become[factor];
	const wide *row = row_at(b, at);

	if (q == 3)
		return (struct digits){ row[factor - 1], row[2 - factor], 0, 0 };
	return (struct digits){ row[of[0]], row[of[1]], row[of[2]], row[of[3]] };
}

/* The other way round: a row is divided, where its planes go to by the same table. */
static inline void put_divided(struct ribbon_band *b, uint64_t at, struct digits x,
			       unsigned divisor, const unsigned q)
{
	const uint8_t *of = become[divisor];
	wide *row = row_at(b, at);

	row[q == 3 ? divisor - 1 : of[0]] = x.one;
	row[q == 3 ? 2 - divisor : of[1]] = x.two;
	if (q == 3)
		return;
	row[of[2]] = x.three;
	row[of[3]] = x.four;
}

static inline uint32_t insert(struct ribbon_band *b, uint32_t at, wide coefficients, unsigned rest,
			      const unsigned q)
{
	struct digits row = { .one = coefficients };

	for (;;) {
		unsigned lead = first_digit(row), skip;
		wide any;

		if (!(*row_at(b, at) & 1)) {
			put_divided(b, at, row, lead, q);
			b->rests[at] = (uint8_t)(rest * inverse(lead, q) % q);
			return at;
		}
		row = sum(row, get_times(b, at, q - lead, q), q);
		rest = (rest + b->rests[at] * (q - lead)) % q;
		any = any_but_zero(row);
		if (!any)
			return rest ? RIBBON_CONFLICT : RIBBON_NONE;
		skip = leading_zeros(any);
		row = from(row, skip);
		at += skip;
	}
}

static uint32_t insert_digit(struct ribbon_band *b, unsigned q, uint32_t at, wide coefficients,
			     unsigned rest)
{
	return q == 3 ? insert(b, at, coefficients, rest, 3) : insert(b, at, coefficients, rest, 5);
}

/* ---- Equations ---- */

bool blm_ribbon_insert(struct ribbon_band *band, struct ribbon_code code, uint32_t start,
		       unsigned __int128 coefficients, uint64_t value,
		       struct ribbon_rows *ret)
{
	struct ribbon_rows rows = { RIBBON_NONE, RIBBON_NONE };

	if (code.bits)
		rows.bits = insert_bits(band, start, coefficients,
					(uint32_t)(value & ((UINT64_C(1) << code.bits) - 1)));
	if (rows.bits == RIBBON_CONFLICT)
		return false;
	if (code.values)
		rows.digit = insert_digit(band, code.values, start, coefficients,
					  (unsigned)scale(value, code.values));
	if (rows.digit == RIBBON_CONFLICT) {
		rows.digit = RIBBON_NONE;
		blm_ribbon_take_out(band, rows);
		return false;
	}
	*ret = rows;
	return true;
}

void blm_ribbon_take_out(struct ribbon_band *band, struct ribbon_rows rows)
{
	if (rows.bits != RIBBON_NONE) {
		band->rows[rows.bits] = 0;
		band->values[rows.bits] = 0;
	}
	if (rows.digit != RIBBON_NONE) {
		memset(row_at(band, rows.digit), 0, band->planes * sizeof(wide));
		band->rests[rows.digit] = 0;
	}
}

/*
 * ---- From the last slot to the first: each is its row's value minus the sum of the later slots. A
 * slot without a row is 0 ----
 */

/*
 * A window holds one bit of each of the 128 slots from the current one on; when that is the first
 * of a block its low word is the block's.
 */
static void solve_bits(const struct ribbon_band *b, uint32_t first, uint64_t slots, unsigned bits,
		       uint64_t *ret_words)
{
	wide window[RIBBON_BITS_MAX] = { 0 };

	for (uint64_t i = slots; i-- > 0;) {
		wide row = b->rows[first + i];
		uint32_t value = b->values[first + i];

		for (unsigned j = 0; j < bits; j++) {
			wide w = window[j] << 1;

			window[j] = w | (parity(w & row) ^ (value >> j & 1));
		}
		if (i % 64 == 0)
			for (unsigned j = 0; j < bits; j++)
				ret_words[i / 64 * bits + j] = htole64((uint64_t)window[j]);
	}
}

static inline void solve(struct ribbon_band *b, uint32_t first, uint64_t slots, const unsigned q)
{
	struct digits window = { 0 };

	for (uint64_t i = slots; i-- > 0;) {
		struct digits row = get_times(b, first + i, 1, q);
		unsigned digit;

		window = (struct digits){ window.one << 1, window.two << 1, window.three << 1,
					  window.four << 1 };
		digit = row.one & 1 ? (b->rests[first + i] + (q - 1)
				       * sum_of_products(row, window, q)) % q : 0;
		window.one |= digit == 1;
		window.two |= digit == 2;
		window.three |= digit == 3;
		window.four |= digit == 4;
		b->rests[first + i] = (uint8_t)digit;
	}
}

void blm_ribbon_solve(struct ribbon_band *band, uint32_t first, uint64_t slots,
		      struct ribbon_code code, uint64_t *ret_words)
{
	if (code.bits)
		solve_bits(band, first, slots, code.bits, ret_words);
	if (!code.values)
		return;
	if (code.values == 3)
		solve(band, first, slots, 3);
	else
		solve(band, first, slots, 5);
	blm_ribbon_pack(ribbon_packing(code.values), band->rests + first, slots,
			ret_words + slots / 64 * code.bits);
}
