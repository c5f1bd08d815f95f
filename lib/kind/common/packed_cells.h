/*
 * packed_cells.h - cells of several bits in words that many processes share, for the kinds with a
 * number in each cell
 *
 * A 64-bit word has as many complete cells as fit: with n = 64 / bits, cell j is the j % n-th of
 * little-endian word j / n, counted from the lowest bits; the rest of a word stays 0. So one
 * compare-and-swap of its word changes a cell, and loses no change of its neighbours.
 */
#ifndef BLM_KIND_CELLS_H
#define BLM_KIND_CELLS_H

#include "kind/kind.h"

/* The largest value of a cell; also its mask, where it is the lowest of its word. */
static inline uint64_t cell_most(unsigned bits)
{
	return UINT64_MAX >> (64 - bits);
}

static inline unsigned cells_a_word(unsigned bits)
{
	return 64 / bits;
}

struct blm_cell {
	uint64_t *word;
	unsigned shift;
};

static inline struct blm_cell cell_at(const struct blm_part *part, uint64_t number)
{
	unsigned bits = part->shape.cell_bits, many = cells_a_word(bits);

	return (struct blm_cell){ (uint64_t *)part->bytes + number / many,
				  (unsigned)(number % many) * bits };
}

/* Acquire: a thread that sees a value also sees all stores that its writer made before. */
static inline uint64_t cell_get(const struct blm_part *part, struct blm_cell c)
{
	return load_acquire(c.word) >> c.shift & cell_most(part->shape.cell_bits);
}

/* Exchange a word; false: it has changed since it was read, and *seen is its current value. */
static inline bool word_swap(uint64_t *word, uint64_t *seen, uint64_t value, bool unshared)
{
	uint64_t old = htole64(*seen);

	if (unshared) {
		*word = htole64(value);
		return true;
	}
	if (__atomic_compare_exchange_n(word, &old, htole64(value), true, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return true;
	*seen = le64toh(old);
	return false;
}

static inline uint64_t word_with(uint64_t word, const struct blm_part *part, struct blm_cell c,
				 uint64_t value)
{
	return (word & ~(cell_most(part->shape.cell_bits) << c.shift)) | value << c.shift;
}

/* The cells of a key, each once, in the order of its probes. Returns how many. */
size_t blm_cells_of(const struct blm_part *part, const struct blm_hashed *key,
		    struct blm_cell ret[BLM_PROBES_MAX]);

/* Sizes as for classic, with cells of `bits` bits. */
int blm_cells_plan(const struct blm_kind *kind, struct blm_shape *ret,
		   const struct blm_params *params, unsigned bits);
bool blm_cells_valid(const struct blm_shape *shape, unsigned bits);
double blm_cells_rate_at(const struct blm_shape *shape, uint64_t keys);
/*
 * In the last word in use and those after it; the unused bits of the words before are not counted.
 */
unsigned blm_cells_padding_bits(const struct blm_shape *shape);

/* A cell is set if it is not 0: then the formulas are those of classic. */
bool blm_cells_contain(const struct blm_part *part, const struct blm_hashed *key);
void blm_cells_tally(const struct blm_part *part, const void *data, size_t bytes,
		      struct blm_tally *to);
double blm_cells_rate_of(const struct blm_shape *shape, const struct blm_tally *tally);
double blm_cells_keys_of(const struct blm_shape *shape, double fill, double *ret_error);
void blm_cells_become_bits(const struct blm_part *part, uint64_t first, uint64_t *ret,
			   size_t count);

void blm_cells_contain_many(const struct blm_part *part, const struct blm_batch *batch,
			    uint64_t *ret_bits);
void blm_cells_prefetch(const struct blm_part *part, const struct blm_hashed *key);
const uint64_t *blm_cells_probe(const struct blm_part *part, const struct blm_hashed *key,
				unsigned i, uint64_t *ret_mask);

/*
 * unite() for a kind whose words join by this: both words hold cells, and the result can only be a
 * word with greater or equal ones.
 */
void blm_cells_unite(const struct blm_part *part, void *dst, const void *src, size_t bytes,
		     uint64_t (*join)(const struct blm_part *part, uint64_t a, uint64_t b));

#endif
