/*
 * golomb_write.c - numbers into the blocks of a golomb filter, and out again
 *
 * Goes over the numbers once to find how many blocks they fill, and once to fill them.
 */
#include "kind/golomb_layout.h"

#include <math.h>

/* ---- The code ---- */

/*
 * The quotient is q ones and a zero, the remainder r has bits_below(d) bits or one less: as many r
 * as can.
 */
static inline unsigned code_bits(uint64_t distance, uint64_t divisor, unsigned rest_bits,
				 uint64_t short_ones)
{
	uint64_t q = distance / divisor, r = distance % divisor;

	return q >= 8 * BLOCK_BYTES_MOST ? 8 * BLOCK_BYTES_MOST
		: (unsigned)q + 1 + rest_bits - (r < short_ones);
}

/* Bits of the code of a distance that is geometric, with this share of numbers taken. */
static double mean_bits(double share, uint64_t divisor)
{
	double rest = (double)bits_below(divisor),
		short_ones = ldexp(1, (int)rest) - (double)divisor, left = log1p(-share);
	/* P(r < short_ones) */
	double of_short = expm1(short_ones * left) / expm1((double)divisor * left);

	return 1 + 1 / -expm1((double)divisor * left) - 1 + rest - of_short;
}

/*
 * Golomb's m: the first for which (1 - share)^m is a half. Room for 31 codes: with 32 at most,
 * neither bits nor blocks are left over.
 */
struct code blm_golomb_code(uint64_t range, uint64_t count)
{
	double n = count ? (double)count : 1, share = fmin(n / (double)range, 0.5);
	double blocks = fmax(n / (GOLOMB_CODES - 0.5), 1);
	struct code c = { .divisor = (uint64_t)fmax(1, floor(-M_LN2 / log1p(-share) + 0.5)) };
	double bytes;

	while (c.low_bits < 61 && ldexp(1, (int)c.low_bits + 1) <= (double)range / blocks)
		c.low_bits++;
	bytes = (c.low_bits + (GOLOMB_CODES - 1.2) * mean_bits(share, c.divisor)) / 8;
	c.block_bytes = (unsigned)fmin(fmax(bytes + 0.5, 2 + c.low_bits / 8), BLOCK_BYTES_MOST - 1);
	return c;
}

/* ---- Foretelling ---- */

/*
 * The blocks that `keys` keys will take. Distances are independent and geometric, from 0 on, as
 * two keys may have one number. A code has the bits of the remainder, and e more: more than e where
 * the distance is at least e * divisor + short_ones. So the first j codes of a block fit into it
 * with a probability that a convolution tells, and the sum over all j, and 1 for the number that a
 * block begins with, is how many numbers a block has on average.
 */
double blm_golomb_blocks(uint64_t range, uint64_t count)
{
	/* a block's bits; e: about half of the codes have none, half of the others 1, and so on */
	enum { BITS_MOST = 2048, MOST = 256 };
	const struct code c = blm_golomb_code(range, count);
	double n = (double)count, away = -log1p(n / (double)range), each = 1, above = 1;
	double bits[2][BITS_MOST] = { { 1 } }, more[MOST];
	unsigned rest = bits_below(c.divisor), bits_free = 8 * c.block_bytes - c.low_bits,
		space = bits_free < BITS_MOST ? bits_free : BITS_MOST - 1, kinds;
	double short_ones = ldexp(1, (int)rest) - (double)c.divisor;

	for (kinds = 0; kinds < MOST && above > 1e-12; kinds++) {
		/* P(distance >= that) */
		double left = exp(away * (kinds * (double)c.divisor + short_ones));

		more[kinds] = above - left;
		above = left;
	}
	for (unsigned j = 1; j <= GOLOMB_CODES && j * rest <= space; j++) {
		const double *from = bits[!(j % 2)];
		double *to = bits[j % 2], fit = 0;

		for (unsigned x = 0; x <= space - j * rest; x++) {
			to[x] = 0;
			for (unsigned e = 0; e < kinds && e <= x; e++)
				to[x] += from[x - e] * more[e];
			fit += to[x];
		}
		each += fit;
	}
	return ceil(n / each);
}

/* ---- Writing ---- */

/*
 * Numbers on their way into blocks; where nothing is written they are only counted. What is before
 * the blocks is made in memory of its own, and each block in `made`. From there the bytes in the
 * range are copied to the data.
 */
struct writer {
	struct layout at;
	struct blm_part *part;		/* NULL: nothing is written */
	uint64_t from, to;		/* the range of the data that is written */
	uint64_t front;			/* bytes before the blocks */
	bool here;			/* the block that is being filled reaches into the range */
	uint8_t made[BLOCK_BYTES_MOST + SLACK];
	uint64_t capacity;			/* blocks for which there is room */
	uint64_t block, last;		/* the one that is being filled, from 1; 0: none yet */
	unsigned bit, codes;
};

static void put_bits(uint8_t *block, unsigned bit, uint64_t bits, unsigned count)
{
	while (count) {
		unsigned some = count < 32 ? count : 32;
		uint64_t word = htole64(word_at(block + bit / 8)
					| (bits & (UINT64_MAX >> (64 - some))) << bit % 8);

		memcpy(block + bit / 8, &word, 8);
		bits >>= some - 1;	/* by less than 64 */
		bits >>= 1;
		bit += some;
		count -= some;
	}
}

static void put_ones(uint8_t *block, unsigned bit, unsigned count)
{
	for (; count; count -= count < 32 ? count : 32, bit += 32)
		put_bits(block, bit, UINT32_MAX, count < 32 ? count : 32);
}

/* Bytes of the data from `at` on, as far as they are in the range. */
static void put_bytes(const struct writer *w, uint64_t at, const uint8_t *bytes, uint64_t count)
{
	uint64_t first = at < w->from ? w->from : at, end = at + count < w->to ? at + count : w->to;

	if (first < end)
		memcpy(w->part->bytes + first, bytes + (first - at), end - first);
}

/* Where the block that is being filled is in the data. */
static uint64_t block_at(const struct writer *w)
{
	return w->front + (w->block - 1) * w->at.code.block_bytes;
}

static void end_block(struct writer *w)
{
	if (!w->here)
		return;
	put_ones(w->made, w->bit, 8 * w->at.code.block_bytes - w->bit);
	put_bytes(w, block_at(w), w->made, w->at.code.block_bytes);
	w->here = false;
}

static void begin_block(struct writer *w, uint64_t number)
{
	uint64_t at;

	end_block(w);
	if (w->part) {
		at = (number >> w->at.code.low_bits) + w->block;
		((uint64_t *)w->at.vector)[at / 64] |= htole64(UINT64_C(1) << at % 64);
	}
	w->block++;
	w->bit = w->at.code.low_bits;
	w->codes = 0;
	w->here = w->part && block_at(w) < w->to
		&& block_at(w) + w->at.code.block_bytes > w->from;
	if (!w->here)
		return;
	memset(w->made, 0, w->at.code.block_bytes + SLACK);
	put_bits(w->made, 0, number, w->at.code.low_bits);
}

static void put_code(struct writer *w, uint64_t distance)
{
	uint64_t q = distance / w->at.code.divisor, r = distance % w->at.code.divisor;
	unsigned rest = w->at.rest_bits, bit = w->bit + (unsigned)q + 1;

	put_ones(w->made, w->bit, (unsigned)q);
	if (!rest)
		return;
	if (r < w->at.short_ones)
		put_bits(w->made, bit, r, rest - 1);
	else
		put_bits(w->made, bit, (r + w->at.short_ones) >> 1 | ((r + w->at.short_ones) & 1)
			 << (rest - 1), rest);
}

/*
 * The source of the numbers may change while it is read, in a map: the numbers that come now may
 * differ from those that were counted.
 */
static int put_number(struct writer *w, uint64_t number)
{
	unsigned bits = code_bits(number - w->last, w->at.code.divisor, w->at.rest_bits,
				  w->at.short_ones);

	if (!w->block || w->codes == GOLOMB_CODES || w->bit + bits > 8 * w->at.code.block_bytes) {
		if (w->block == w->capacity || number >= w->at.range)
			return blm_fail(-EUCLEAN, "the numbers of a golomb filter changed while "
					"they were read");
		begin_block(w, number);
	} else {
		if (w->here)
			put_code(w, number - w->last);
		w->bit += bits;
		w->codes++;
	}
	w->last = number;
	return 0;
}

static int put_all(struct writer *w, struct golomb_numbers *numbers)
{
	int r = numbers->begin(numbers);
	uint64_t number;

	while (r == 0 && (r = numbers->next(numbers, &number)) == 1)
		r = put_number(w, number);
	end_block(w);
	return r;
}

/* Where each SAMPLE-th high half begins: its zeros and the blocks before it. */
static void put_samples(const struct layout *at)
{
	uint32_t *samples = (uint32_t *)at->samples;
	uint64_t zeros = 0;

	for (uint64_t i = 0; i < at->vector_words; i++) {
		uint64_t w = ~le64toh(at->vector[i]);

		for (; w && zeros <= at->highs; w &= w - 1)
			if (++zeros % SAMPLE == 0 && zeros / SAMPLE <= at->highs / SAMPLE)
				samples[zeros / SAMPLE] = htole32((uint32_t)(i * 64
					+ (unsigned)__builtin_ctzll(w) + 1));
	}
}

static void begin_writer(struct writer *w, uint64_t range, uint64_t count)
{
	*w = (struct writer){ .at = { .code = blm_golomb_code(range, count), .range = range,
				      .count = count }, .capacity = UINT64_MAX };
	w->at.highs = highs_of(range, w->at.code.low_bits);
	w->at.rest_bits = bits_below(w->at.code.divisor);
	w->at.short_ones = (UINT64_C(1) << w->at.rest_bits) - w->at.code.divisor;
}

int blm_golomb_fit(struct blm_shape *shape, struct golomb_numbers *numbers, uint64_t count)
{
	struct writer w;
	unsigned __int128 bytes;
	int r;

	begin_writer(&w, shape->cells, count);
	r = put_all(&w, numbers);
	bytes = (bytes_for(&w.at.code, w.at.highs, w.block) + 4 + 63) / 64 * 64;
	if (r == 0 && (w.block + w.at.highs >= UINT32_MAX || bytes > INT64_MAX))
		return blm_fail(-EFBIG, "%llu keys are too many for a golomb filter",
				(unsigned long long)count);
	shape->bytes = (uint64_t)bytes;
	return r;
}

static void put_head(struct writer *w, uint64_t *head, uint64_t count)
{
	head[0] = htole64(count);
	head[1] = htole64(w->block);
	head[2] = htole64(w->at.code.divisor);
	head[3] = htole64((uint64_t)w->at.code.block_bytes << 32 | w->at.code.low_bits);
	head[4] = htole64(w->capacity);
}

/* Head, samples and vector need all numbers, and take about a hundredth of the data. */
static int put_front_and_blocks(struct writer *w, struct golomb_numbers *numbers, uint64_t count)
{
	struct blm_part front = { .shape = w->part->shape };
	int r;

	w->front = HEAD_BYTES + samples_bytes(w->at.highs)
		+ vector_words_for(w->at.highs, w->capacity) * sizeof(uint64_t);
	front.bytes = calloc(w->front, 1);
	if (!front.bytes)
		return blm_fail(-ENOMEM, "no memory for the index of a golomb filter");
	set_layout(&w->at, &front, w->capacity);
	r = put_all(w, numbers);
	if (r == 0) {
		put_samples(&w->at);
		put_head(w, (uint64_t *)front.bytes, count);
		put_bytes(w, 0, front.bytes, w->front);
	}
	free(front.bytes);
	return r;
}

int blm_golomb_write_within(struct blm_part *part, struct golomb_numbers *numbers, uint64_t count,
			    uint64_t from, uint64_t to)
{
	struct writer w;

	begin_writer(&w, part->shape.cells, count);
	w.capacity = blocks_in(&w.at.code, w.at.highs, part->shape.bytes);
	if (bytes_for(&w.at.code, w.at.highs, w.capacity) > part->shape.bytes)
		return blm_fail(-EUCLEAN, "the numbers of a golomb filter changed while they were "
				"read");
	w.part = part;
	w.from = from;
	w.to = to;
	return put_front_and_blocks(&w, numbers, count);
}

int blm_golomb_write(struct blm_part *part, struct golomb_numbers *numbers, uint64_t count)
{
	return blm_golomb_write_within(part, numbers, count, 0, part->shape.bytes);
}

/* ---- All the numbers ---- */

static int cursor_begin(struct golomb_numbers *n)
{
	struct golomb_cursor *c = (struct golomb_cursor *)n;

	c->block = c->high = c->value = c->at = 0;
	c->inside = false;
	return 0;
}

static int damaged(void)
{
	return blm_fail(-EUCLEAN, "the data of a golomb filter are damaged");
}

/* They ascend: otherwise one of their distances would have no end. */
static int give(struct golomb_cursor *c, const struct layout *l, uint64_t number, uint64_t *ret)
{
	if (number < c->value || number >= l->range)
		return damaged();
	*ret = c->value = number;
	return 1;
}

/* From a filter with visible damage it gives as many as can be read. */
static int cursor_next(struct golomb_numbers *n, uint64_t *ret)
{
	struct golomb_cursor *c = (struct golomb_cursor *)n;
	struct layout l = { 0 };
	uint64_t distance;

	if (!read_layout(&l, c->part))
		return damaged();
	if (c->inside && next_distance(&l, l.block + (c->block - 1) * l.code.block_bytes, &c->bit,
				       &distance))
		return give(c, &l, distance < l.range ? c->value + distance : l.range, ret);
	if (c->block >= l.blocks)
		return 0;
	for (; !vector_bit(&l, c->at); c->at++, c->high++)
		if (c->high == l.highs)
			return damaged();
	c->at++;
	c->bit = l.code.low_bits;
	c->inside = true;
	c->block++;
	return give(c, &l, c->high << l.code.low_bits | low_of(&l, c->block - 1), ret);
}

void blm_golomb_cursor(struct golomb_cursor *ret, const struct blm_part *part)
{
	*ret = (struct golomb_cursor){ .numbers = { cursor_begin, cursor_next }, .part = part };
}

uint64_t blm_golomb_count(const struct blm_part *part)
{
	return word_at(part->bytes);
}

