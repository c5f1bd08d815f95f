/*
 * packed_cells.c - shared by the kinds with a number in each cell: sizes, questions, counts
 */
#include "kind/common/packed_cells.h"
#include "kind/common/bits.h"
#include "kind/common/swar.h"
#include "kind/common/probe_rounds.h"
#include "kind/common/sizing.h"

#include <math.h>

static uint64_t words_of(uint64_t cells, unsigned bits)
{
	unsigned many = cells_a_word(bits);

	return cells / many + (cells % many != 0);
}

static uint64_t bytes_of(uint64_t cells, unsigned bits)
{
	return round_up(words_of(cells, bits) * 8, 64);
}

double blm_cells_rate_at(const struct blm_shape *s, uint64_t keys)
{
	return blm_rate_bound(s->cells, s->probes, keys);
}

int blm_cells_plan(const struct blm_kind *kind, struct blm_shape *ret,
		   const struct blm_params *params, unsigned bits)
{
	struct blm_shape s = *ret;

	s.cells = params->cells;
	s.probes = params->probes;
	s.cell_bits = bits;
	s.capacity = params->capacity;
	s.rate = params->rate;
	if (!s.cells) {
		if (!s.rate)
			s.rate = BLM_DEFAULT_RATE;
		if (!s.probes)
			s.probes = blm_best_probes(s.rate);
		s.cells = blm_classic_cells(s.capacity, s.rate, s.probes);
		if (!s.cells)
			return blm_fail(-EFBIG, "a filter of the kind %s for %llu keys at rate %g "
					"with %u probes needs more than 2^47 cells",
					kind->name, (unsigned long long)s.capacity, s.rate,
					s.probes);
	} else {
		blm_bits_plan_given(&s, blm_cells_rate_at);
	}
	s.bytes = bytes_of(s.cells, bits);
	*ret = s;
	return 0;
}

bool blm_cells_valid(const struct blm_shape *s, unsigned bits)
{
	return s->cell_bits == bits && s->cells >= 1 && s->cells <= BLM_CELLS_MAX
		&& s->bytes == bytes_of(s->cells, bits)
	    && s->probes >= 1 && s->probes <= BLM_PROBES_MAX;
}

unsigned blm_cells_padding_bits(const struct blm_shape *s)
{
	unsigned many = cells_a_word(s->cell_bits), last = (unsigned)((s->cells - 1) % many) + 1;

	return (unsigned)((s->bytes / 8 - words_of(s->cells, s->cell_bits)) * 64) + 64 - last
		* s->cell_bits;
}

size_t blm_cells_of(const struct blm_part *part, const struct blm_hashed *key,
		    struct blm_cell ret[BLM_PROBES_MAX])
{
	size_t count = 0, j;

	for (unsigned i = 0; i < part->shape.probes; i++) {
		struct blm_cell c = cell_at(part, key_cell(key, i, part->shape.cells));

		for (j = 0; j < count && (ret[j].word != c.word || ret[j].shift != c.shift); j++)
			;
		ret[j] = c;
		count += j == count;
	}
	return count;
}

bool blm_cells_contain(const struct blm_part *part, const struct blm_hashed *key)
{
	for (unsigned i = 0; i < part->shape.probes; i++)
		if (!cell_get(part, cell_at(part, key_cell(key, i, part->shape.cells))))
			return false;
	return true;
}

/* The values that are the same for all questions. */
struct reader {
	const uint64_t *words;
	uint64_t inverse, most;
	unsigned many, bits;
};

static const uint64_t *reader_word(const void *how, uint64_t cell)
{
	const struct reader *r = how;

	return r->words + lanes_divide(cell, r->inverse);
}

static bool reader_is_set(const void *how, uint64_t cell)
{
	const struct reader *r = how;
	uint64_t index = lanes_divide(cell, r->inverse);

	return load_acquire(r->words + index) >> (cell - index * r->many) * r->bits & r->most;
}

void blm_cells_contain_many(const struct blm_part *part, const struct blm_batch *batch,
			    uint64_t *ret_bits)
{
	unsigned bits = part->shape.cell_bits, many = cells_a_word(bits);
	const struct reader r = { (const uint64_t *)part->bytes, lanes_inverse(many),
				  cell_most(bits), many, bits };

	blm_ask_in_rounds(part, batch, ret_bits,
			  (struct blm_cell_reader){ reader_word, reader_is_set, &r });
}

void blm_cells_prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	/* the hashing is the larger cost by far, and would be done twice */
	if (key->by->family->nth)
		return;
	for (unsigned i = 0; i < part->shape.probes; i++)
		__builtin_prefetch(cell_at(part, key_cell(key, i, part->shape.cells)).word, 0, 2);
}

const uint64_t *blm_cells_probe(const struct blm_part *part, const struct blm_hashed *key,
				unsigned i, uint64_t *ret_mask)
{
	*ret_mask = 0;
	return i < part->shape.probes ? cell_at(part, key_cell(key, i, part->shape.cells)).word
		: NULL;
}

/* The lowest bit of each cell of a word. */
static uint64_t lowest(unsigned bits)
{
	uint64_t word = 0;

	for (unsigned i = 0; i < cells_a_word(bits); i++)
		word |= UINT64_C(1) << i * bits;
	return word;
}

/*
 * The lowest bit of each cell that is not 0. A cell's bits are brought down, twice as far at a
 * time, never from the next cell.
 */
static uint64_t cells_set(uint64_t word, unsigned bits, uint64_t low)
{
	if (bits > 32)
		return word != 0;
	if (bits > 4) {
		uint64_t set = 0, most = cell_most(bits);

		for (unsigned at = 0; at + bits <= 64; at += bits)
			set |= (uint64_t)((word >> at & most) != 0) << at;
		return set;
	}
	for (unsigned bit = 1; bit < bits; bit++)
		word |= (word >> 1 & ~(low << (bits - 1)));
	return word & low;
}

void blm_cells_tally(const struct blm_part *part, const void *data, size_t bytes,
		      struct blm_tally *to)
{
	unsigned bits = part->shape.cell_bits;
	const uint64_t *words = data;
	uint64_t low = lowest(bits);

	to->bytes += bytes;
	for (size_t i = 0; i < bytes / 8; i++) {
		uint64_t word = load_relaxed(&words[i]);

		if (word)
			to->ones += (uint64_t)__builtin_popcountll(cells_set(word, bits, low));
	}
}

double blm_cells_rate_of(const struct blm_shape *s, const struct blm_tally *c)
{
	double cells = fmin((double)(c->bytes / 8) * cells_a_word(s->cell_bits), (double)s->cells);

	return pow((double)c->ones / cells, s->probes);
}

double blm_cells_keys_of(const struct blm_shape *s, double fill, double *ret_error)
{
	return blm_classic_keys(s->cells, s->probes, fill, ret_error);
}

void blm_cells_become_bits(const struct blm_part *part, uint64_t first, uint64_t *ret, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t cell = (first + i) * 64, word = 0;

		for (unsigned bit = 0; bit < 64 && cell + bit < part->shape.cells; bit++)
			word |= (uint64_t)(cell_get(part, cell_at(part, cell + bit)) != 0) << bit;
		ret[i] = htole64(word);
	}
}

void blm_cells_unite(const struct blm_part *part, void *dst, const void *src, size_t bytes,
		     uint64_t (*join)(const struct blm_part *part, uint64_t a, uint64_t b))
{
	uint64_t *to = dst;
	const uint64_t *from = src;

	for (size_t i = 0; i < bytes / 8; i++) {
		uint64_t more = load_acquire(&from[i]), seen, all;

		if (!more)
			continue;
		seen = load_acquire(&to[i]);
		do
			all = join(part, seen, more);
		while (all != seen && !word_swap(&to[i], &seen, all, part->unshared));
		if (all != seen)
			mark(part, &to[i]);
	}
}
