/* ribbon_band.c - the linear equations of a layer, over GF(2) and GF(3) */
#include "kind/ribbon_band.h"

static uint32_t insert_bits(struct ribbon_band *b, uint32_t at, uint64_t row, uint32_t value)
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
		skip = (unsigned)__builtin_ctzll(row);
		row >>= skip;
		at += skip;
	}
}

/* Trits a word: 64 numbers of 0..2, where bit i of `ones` and `twos` say which. */
struct trits {
	uint64_t ones, twos;
};

static struct trits negative_if(struct trits x, bool negate)
{
	uint64_t swap = (x.ones ^ x.twos) & -(uint64_t)negate;

	return (struct trits){ x.ones ^ swap, x.twos ^ swap };
}

static struct trits sum(struct trits x, struct trits y)
{
	uint64_t t = (x.ones | y.twos) ^ (x.twos | y.ones);

	return (struct trits){ (x.twos | y.twos) ^ t, (x.ones | y.ones) ^ t };
}

static unsigned rest_of(unsigned rest, bool negate)	/* 3 is 0 */
{
	return negate ? 3 - rest : rest;
}

static uint32_t insert_trit(struct ribbon_band *b, uint32_t at, uint64_t coefficients, unsigned rest)
{
	struct trits row = { coefficients, 0 };

	for (;;) {
		bool one = row.ones & 1;
		unsigned skip;

		if (!b->ones[at]) {
			row = negative_if(row, !one);
			b->ones[at] = row.ones;
			b->twos[at] = row.twos;
			b->rests[at] = (uint8_t)(rest_of(rest % 3, !one) % 3);
			return at;
		}
		row = sum(row, negative_if((struct trits){ b->ones[at], b->twos[at] }, one));
		rest += rest_of(b->rests[at], one);
		if (!(row.ones | row.twos))
			return rest % 3 ? RIBBON_CONFLICT : RIBBON_NONE;
		skip = (unsigned)__builtin_ctzll(row.ones | row.twos);
		row.ones >>= skip;
		row.twos >>= skip;
		at += skip;
	}
}

bool blm_ribbon_insert(struct ribbon_band *band, struct ribbon_code code, uint32_t start, uint64_t coefficients, uint64_t value,
		   struct ribbon_rows *ret)
{
	struct ribbon_rows rows = { RIBBON_NONE, RIBBON_NONE };

	if (code.bits)
		rows.bits = insert_bits(band, start, coefficients, (uint32_t)(value & ((UINT64_C(1) << code.bits) - 1)));
	if (rows.bits == RIBBON_CONFLICT)
		return false;
	if (code.trit)
		rows.trit = insert_trit(band, start, coefficients, (unsigned)scale(value, 3));
	if (rows.trit == RIBBON_CONFLICT) {
		rows.trit = RIBBON_NONE;
		blm_ribbon_take_out(band, rows);
		return false;
	}
	*ret = rows;
	return true;
}

void blm_ribbon_take_out(struct ribbon_band *band, struct ribbon_rows rows)
{
	if (rows.bits != RIBBON_NONE)
		band->rows[rows.bits] = band->values[rows.bits] = 0;
	if (rows.trit != RIBBON_NONE)
		band->ones[rows.trit] = band->twos[rows.trit] = band->rests[rows.trit] = 0;
}

/*
 * ---- From the last slot to the first: each is its row's value less what the slots after it come to. One without a row is 0 ----
 * A word holds one bit of each of the 64 slots from the current one on; when that is the first of a block it is the block's word.
 */

static void solve_bits(const struct ribbon_band *b, uint32_t first, uint64_t slots, unsigned bits, uint64_t *ret_words)
{
	uint64_t window[32] = { 0 };

	for (uint64_t i = slots; i-- > 0;) {
		uint64_t row = b->rows[first + i];
		uint32_t value = b->values[first + i];

		for (unsigned j = 0; j < bits; j++) {
			uint64_t w = window[j] << 1;

			window[j] = w | ((unsigned)__builtin_parityll(w & row) ^ (value >> j & 1));
		}
		if (i % 64 == 0)
			for (unsigned j = 0; j < bits; j++)
				ret_words[i / 64 * bits + j] = htole64(window[j]);
	}
}

static void solve_trits(const struct ribbon_band *b, uint32_t first, uint64_t slots, uint8_t *ret_bytes)
{
	static const uint8_t power[5] = { 1, 3, 9, 27, 81 };
	struct trits window = { 0, 0 };

	for (uint64_t i = slots; i-- > 0;) {
		struct trits row = { b->ones[first + i], b->twos[first + i] };
		unsigned same, other, trit;

		window.ones <<= 1;
		window.twos <<= 1;
		same = (unsigned)__builtin_popcountll((row.ones & window.ones) | (row.twos & window.twos));
		other = (unsigned)__builtin_popcountll((row.ones & window.twos) | (row.twos & window.ones));
		trit = row.ones ? (b->rests[first + i] + 2 * same + other) % 3 : 0;
		window.ones |= trit == 1;
		window.twos |= trit == 2;
		ret_bytes[i / 5] = (uint8_t)(ret_bytes[i / 5] + trit * power[i % 5]);
	}
}

void blm_ribbon_solve(const struct ribbon_band *band, uint32_t first, uint64_t slots, struct ribbon_code code, uint64_t *ret_words)
{
	if (code.bits)
		solve_bits(band, first, slots, code.bits, ret_words);
	if (code.trit)
		solve_trits(band, first, slots, (uint8_t *)(ret_words + slots / 64 * code.bits));
}
