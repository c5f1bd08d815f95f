/*
 * iblt.h - the cells of an invertible Bloom lookup table, for those who change them and those who
 * take two of them apart
 *
 * Numbers are words of 64 bits, little-endian. The data are a journal and, from the next multiple
 * of 64 on, the cells (format-spec.md, "Kind 20: iblt").
 *
 *   cell	word 0: in its lower 48 bits how many keys, modulo 2^48; above them the XOR of their
 *		lengths
 *		word 1: the XOR of their checks
 *		then as many words as the longest key has: the XOR of their bytes, each key with
 *		zeros behind it
 *   journal	word 0: not 0 while a change is under way; words 1 to 4: the cells that it changes;
 *		then copies of these cells from before the change
 */
#ifndef BLM_KIND_IBLT_H
#define BLM_KIND_IBLT_H

#include "kind/kind.h"

enum { IBLT_KEY_BYTES };	/* of args */

enum {
	IBLT_PROBES = 4,
	IBLT_KEY_BYTES_MOST = 4096,
	IBLT_COUNT_BITS = 48,
	IBLT_COUNT = 0, IBLT_CHECK = 1, IBLT_KEY = 2,	/* words of a cell */
	IBLT_WORDS_MOST = IBLT_KEY + IBLT_KEY_BYTES_MOST / 8,
	/* words of the journal */
	IBLT_CHANGING = 0, IBLT_NUMBERS = 1, IBLT_BEFORE = IBLT_NUMBERS + IBLT_PROBES,
};

#define IBLT_CELLS_MOST (UINT64_C(1) << 32)
#define IBLT_COUNT_MASK ((UINT64_C(1) << IBLT_COUNT_BITS) - 1)

static inline size_t iblt_words(const struct blm_shape *s)	/* of a cell */
{
	return IBLT_KEY + (s->args[IBLT_KEY_BYTES] + 7) / 8;
}

static inline uint64_t iblt_journal_bytes(const struct blm_shape *s)
{
	return round_up(8 * (IBLT_BEFORE + IBLT_PROBES * iblt_words(s)), 64);
}

static inline uint64_t *iblt_journal(const struct blm_part *part)
{
	return (uint64_t *)part->bytes;
}

static inline uint64_t *iblt_cell(const struct blm_part *part, uint64_t cell)
{
	return (uint64_t *)(part->bytes + iblt_journal_bytes(&part->shape)) + cell
		* iblt_words(&part->shape);
}

/*
 * The cells of a key, one in each quarter of the table: each by 32 bits of the hash that are its
 * own. The words of unfold() are not enough: they come from one product, so two keys would have all
 * four cells in common two to four times as often as they should, and then neither is listed.
 */
static inline uint64_t iblt_spot(const struct blm_shape *s, const struct blm_hash *hash, unsigned i)
{
	uint64_t quarter = s->cells / IBLT_PROBES,
		bits = (i < 2 ? hash->lo : hash->hi) >> 32 * (i % 2) & UINT32_MAX;

	return i * quarter + (bits * quarter >> 32);
}

/* The check that a cell with one key has. */
static inline uint64_t iblt_check(const struct blm_hash *hash)
{
	return unfold(hash->lo, hash->hi, IBLT_PROBES);
}

static inline int64_t iblt_count(uint64_t word)
{
	return (int64_t)(word << (64 - IBLT_COUNT_BITS)) >> (64 - IBLT_COUNT_BITS);
}

/* Word 0 of a cell after `more` keys were added. `lengths`: the XOR of their lengths. */
static inline uint64_t iblt_counted(uint64_t word, int64_t more, uint64_t lengths)
{
	return ((word + (uint64_t)more) & IBLT_COUNT_MASK)
		| ((word ^ lengths << IBLT_COUNT_BITS) & ~IBLT_COUNT_MASK);
}

static inline uint64_t iblt_length(uint64_t word)
{
	return word >> IBLT_COUNT_BITS;
}

/*
 * The keys that one of two tables of the same shape and hash has alone: `differences` of the kind.
 */
int blm_iblt_differences(const struct blm_part *a, const struct blm_part *b,
			 const struct blm_hasher *by,
			 int (*each)(void *context, const struct blm_key *key, bool in_b),
			 void *context);

#endif
