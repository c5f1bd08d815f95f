/*
 * golomb_layout.h - the data of a golomb filter: the places of its parts, and how a code is read
 * (format-spec.md, "Kind 15: golomb")
 *
 * Nothing in the data is trusted: the head is checked against the bytes there are each time, and
 * whatever a block says, reading ends at its end.
 */
#ifndef BLM_KIND_GOLOMB_CODE_H
#define BLM_KIND_GOLOMB_CODE_H

#include "kind/golomb.h"

enum { GOLOMB_CODES = 32, HEAD_BYTES = 64, SAMPLE = 128, SLACK = 32, BLOCK_BYTES_MOST = 1024 };

/*
 * What the numbers are coded by. All of it is in the file, so that a reader need not know how it
 * was found.
 */
struct code {
	uint64_t divisor;	/* Golomb's m */
	unsigned low_bits;	/* of the first number of a block */
	unsigned block_bytes;
};

static inline unsigned bits_below(uint64_t n)		/* of a number below n */
{
	return n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 0;
}

/*
 * The code for `count` numbers of a range; room for the blocks is made elsewhere.
 */
struct code blm_golomb_code(uint64_t range, uint64_t count);

/* How many blocks they will take, on average. */
double blm_golomb_blocks(uint64_t range, uint64_t count);

/* ---- Where what lies ---- */

struct layout {
	struct code code;
	uint64_t range, count, blocks, highs;
	unsigned rest_bits;
	uint64_t short_ones, high_mask;
	/* where, in the vector, the SAMPLE * i-th high half begins */
	const uint32_t *samples;
	const uint64_t *vector;
	uint64_t vector_words;
	uint8_t *block;
};

static inline uint64_t highs_of(uint64_t range, unsigned low_bits)
{
	return ((range - 1) >> low_bits) + 1;
}

static inline uint64_t samples_bytes(uint64_t highs)
{
	return round_up((highs / SAMPLE + 1) * sizeof(uint32_t), 8);
}

/* The bytes of `blocks` blocks; for how many there is room, in a multiple of 64 that is no less. */
static inline unsigned __int128 bytes_for(const struct code *c, uint64_t highs, uint64_t blocks)
{
	unsigned __int128 bits = (unsigned __int128)(8 * c->block_bytes + 1) * blocks + highs;

	return HEAD_BYTES + samples_bytes(highs) + SLACK + bits / 8 + 2;
}

static inline uint64_t blocks_in(const struct code *c, uint64_t highs, uint64_t bytes)
{
	uint64_t fixed = HEAD_BYTES + samples_bytes(highs) + SLACK + highs / 8 + 4;

	return bytes > fixed ? (bytes - fixed) * 8 / (8 * c->block_bytes + 1) : 0;
}

/* Words of the vector of a filter with space for `capacity` blocks. */
static inline uint64_t vector_words_for(uint64_t highs, uint64_t capacity)
{
	return (capacity + highs) / 64 + 1;
}

/*
 * After the head: samples, vector, blocks. All follows from what the head says, and that is checked
 * against the bytes there are.
 */
static inline void set_layout(struct layout *at, const struct blm_part *part, uint64_t capacity)
{
	uint64_t rest = bits_below(at->code.divisor);

	at->rest_bits = (unsigned)rest;
	at->short_ones = (UINT64_C(1) << rest) - at->code.divisor;
	at->high_mask = (UINT64_C(1) << rest >> 1) - 1;
	at->samples = (const uint32_t *)(part->bytes + HEAD_BYTES);
	at->vector = (const uint64_t *)(part->bytes + HEAD_BYTES + samples_bytes(at->highs));
	at->vector_words = vector_words_for(at->highs, capacity);
	at->block = (uint8_t *)(at->vector + at->vector_words);
}

static inline uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, 8);
	return le64toh(word);
}

/* False: no head of ours, in a file that is damaged or worse. */
static inline bool read_layout(struct layout *at, const struct blm_part *part)
{
	uint64_t widths = word_at(part->bytes + 24), capacity = word_at(part->bytes + 32);

	at->range = part->shape.cells;
	at->count = word_at(part->bytes);
	at->blocks = word_at(part->bytes + 8);
	at->code = (struct code){ .divisor = word_at(part->bytes + 16), .low_bits =
				  (uint32_t)widths, .block_bytes = (unsigned)(widths >> 32) };
	if (!at->code.divisor || at->code.low_bits > 61 || at->code.divisor >> at->code.low_bits > 1
	    || at->code.block_bytes < 1 + at->code.low_bits / 8
	    || at->code.block_bytes > BLOCK_BYTES_MOST)
		return false;
	at->highs = highs_of(at->range, at->code.low_bits);
	if (at->blocks > capacity || capacity > part->shape.bytes
	    || bytes_for(&at->code, at->highs, capacity) > part->shape.bytes)
		return false;
	set_layout(at, part, capacity);
	return true;
}

/* ---- Bits ---- */

/* From a bit of a block on: at least 57. There are SLACK bytes behind the last block. */
static inline uint64_t bits_at(const uint8_t *block, unsigned bit)
{
	return word_at(block + bit / 8) >> bit % 8;
}

static inline uint64_t some_bits(const uint8_t *block, unsigned bit, unsigned count)
{
	uint64_t w = bits_at(block, bit);

	if (count > 57)
		w |= bits_at(block, bit + 32) << 32;
	return count ? w & (UINT64_MAX >> (64 - count)) : 0;
}

/*
 * A quotient that does not end within what can be looked at at once. Return: how many more ones
 * there are; *bit is at the zero, or the end.
 */
static inline unsigned count_ones(const uint8_t *block, unsigned *bit, unsigned end)
{
	unsigned q = 0, ones;

	do {
		ones = (unsigned)__builtin_ctzll(~bits_at(block, *bit) | UINT64_C(1) << 57);
		*bit += ones;
		q += ones;
	} while (ones == 57 && *bit < end);
	return q;
}

/*
 * The remainder in the bits that follow, and how many it has: where it needs the last of them, that
 * bit is the lowest of the number.
 */
static inline uint64_t rest_of(const struct layout *at, uint64_t w, unsigned *ret_bits)
{
	unsigned rest = at->rest_bits;
	uint64_t high = w & at->high_mask, all = 2 * high + (w >> (rest - 1) & 1) - at->short_ones;
	/* all ones if so: no branch, it would be a guess */
	uint64_t is_short = -(uint64_t)(high < at->short_ones);

	*ret_bits = rest + (unsigned)is_short;
	return all ^ ((all ^ high) & is_short);
}

/*
 * The distance whose code begins at *bit, which goes behind it. False: there is none any more, only
 * ones up to the end.
 */
static inline bool next_distance(const struct layout *at, const uint8_t *block, unsigned *bit,
				 uint64_t *ret)
{
	unsigned end = 8 * at->code.block_bytes, rest = at->rest_bits, bits;
	uint64_t w = bits_at(block, *bit < end ? *bit : 0), q, r;

	if (*bit >= end)
		return false;
	q = (uint64_t)__builtin_ctzll(~w | UINT64_C(1) << 57);
	if (__builtin_expect(q + 1 + rest <= 57, true)) {
		*bit += (unsigned)q + 1;
		w >>= q + 1;
	} else {
		*bit += (unsigned)q;
		if (q == 57)
			q += count_ones(block, bit, end);
		(*bit)++;
		if (*bit >= end + (rest < 2))
			return false;
		w = rest ? some_bits(block, *bit, rest) : 0;
	}
	r = rest ? rest_of(at, w, &bits) : 0;
	*bit += rest ? bits : 0;
	*ret = q * at->code.divisor + r;
	return *bit <= end;
}

static inline uint64_t low_of(const struct layout *at, uint64_t block)
{
	return some_bits(at->block + block * at->code.block_bytes, 0, at->code.low_bits);
}

static inline bool vector_bit(const struct layout *l, uint64_t at)
{
	return at / 64 < l->vector_words && load_relaxed(&l->vector[at / 64]) >> at % 64 & 1;
}

#endif
