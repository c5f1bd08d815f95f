/*
 * approximator.c - a value for each key: exactly it, or seldom something above it, never below
 *
 * P. Boldi and S. Vigna, "Mutable Strings in Java: Design, Implementation and Lightweight
 * Text-Search Algorithms", Science of Computer Programming 54(1), 2005, call it a compact
 * approximator. Values are of a lattice, whose least one, bottom, is what keys have that were never
 * put. put() joins the value into each cell of its key; get() meets its cells. Each cell of a key
 * is at least its value, so the answer of get() is, too. It is exact if no key with more has put
 * into one of the cells. Bloom's filter is the case of a lattice of two values. The lattices:
 *
 *	max	numbers, the greater is above: the largest value that a key was put with, or more;
 *		bottom is 0
 *	min	numbers, the lesser is above: the smallest, or less; bottom is 2^bits - 1
 *	or	sets of bits, the larger set is above: all bits that a key was put with, or some
 *		more; bottom is 0
 *
 * A cell holds how far it is above bottom, so that an empty filter is all zeros: with min it is
 * 2^bits - 1 less the value. Cells only go up, by compare-and-swap, and joining is the same in any
 * order: no lock, and no change is lost.
 */
#include "kind/common/packed_cells.h"

#include <math.h>
#include <stdio.h>

enum lattice { MAX, MIN, OR };
static const char *const lattices[] = { "max", "min", "or" };

static const struct blm_option options[] = {
	{ "bits", "bits of a value; 64 bits have as many cells as fit whole", BLM_OPTION_COUNT, 1,
	  64, 8, NULL },
	{ "lattice", "what a key has that was put twice, and what it seldom has more of",
	  BLM_OPTION_NAME, MAX, OR, MAX, lattices },
	{ 0 }
};
enum { BITS, LATTICE };		/* of args */

const struct blm_kind blm_kind_approximator;

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	return blm_cells_plan(&blm_kind_approximator, ret, params, (unsigned)ret->args[BITS]);
}

static bool valid(const struct blm_shape *s)
{
	return s->args[BITS] >= 1 && s->args[BITS] <= 64 && s->args[LATTICE] <= OR
		&& blm_cells_valid(s, (unsigned)s->args[BITS]);
}

/* ---- The lattice, of how far above bottom values are ---- */

static uint64_t join(const struct blm_part *part, uint64_t a, uint64_t b)
{
	return part->shape.args[LATTICE] == OR ? a | b : a > b ? a : b;
}

static uint64_t meet(const struct blm_part *part, uint64_t a, uint64_t b)
{
	return part->shape.args[LATTICE] == OR ? a & b : a < b ? a : b;
}

/* The other way round it is the same. */
static uint64_t above_bottom(const struct blm_part *part, uint64_t value)
{
	return part->shape.args[LATTICE] == MIN ? cell_most(part->shape.cell_bits) - value : value;
}

/* ---- Keys ---- */

static uint64_t met(const struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t value = UINT64_MAX;

	for (unsigned i = 0; i < part->shape.probes && value; i++)
		value = meet(part, value, cell_get(part, cell_at(part,
			key_cell(key, i, part->shape.cells))));
	return value;
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	return met(part, key) != 0;
}

/* Sets of bits that meet in nothing are absent though each has some. */
static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	(part->shape.args[LATTICE] == OR ? blm_part_contains_each
	 : blm_cells_contain_many)(part, batch, ret_bits);
}

static int get(const struct blm_part *part, const struct blm_hashed *key, uint64_t *ret)
{
	uint64_t value = met(part, key);

	if (value)
		*ret = above_bottom(part, value);
	return value != 0;
}

static bool raise(struct blm_part *part, struct blm_cell c, uint64_t value)
{
	uint64_t seen = load_acquire(c.word), most = cell_most(part->shape.cell_bits), old, new;

	do {
		old = seen >> c.shift & most;
		new = join(part, old, value);
		if (new == old)
			return false;
	} while (!word_swap(c.word, &seen, word_with(seen, part, c, new), part->unshared));
	mark(part, c.word);
	return true;
}

static int put(struct blm_part *part, const struct blm_hashed *key, uint64_t value)
{
	uint64_t most = cell_most(part->shape.cell_bits), above = above_bottom(part, value);
	bool changed = false, min = part->shape.args[LATTICE] == MIN;

	if (value > most || !above)
		return blm_fail(-ERANGE, "the value %llu is not %u to %llu, which a filter of this "
				"kind with bits=%u and lattice=%s can hold",
				(unsigned long long)value, !min, (unsigned long long)(most - min),
				part->shape.cell_bits,
				lattices[part->shape.args[LATTICE]]);
	for (unsigned i = 0; i < part->shape.probes; i++)
		changed |= raise(part, cell_at(part, key_cell(key, i, part->shape.cells)), above);
	return changed;
}

/* ---- Unions ---- */

static uint64_t join_words(const struct blm_part *part, uint64_t a, uint64_t b)
{
	unsigned bits = part->shape.cell_bits;
	uint64_t most = cell_most(bits), word = 0;

	if (part->shape.args[LATTICE] == OR)
		return a | b;
	for (unsigned at = 0; at + bits <= 64; at += bits)
		word |= join(part, a >> at & most, b >> at & most) << at;
	return word;
}

static void unite(const struct blm_part *part, void *dst, const void *src, size_t bytes)
{
	blm_cells_unite(part, dst, src, bytes, join_words);
}

/* ---- Facts ---- */

/*
 * A value is inexact where each cell of its key is also one of a key with a greater value. If
 * values are random, the key at share u from the top has a share u of keys above it. So the rate is
 * the mean over u of (1 - e^(-u kn/m))^k, by Simpson's rule.
 */
static bool foretell(const struct blm_shape *s, unsigned i, struct blm_fact *ret)
{
	enum { STEPS = 1000 };
	double load = (double)s->probes * (double)s->capacity / (double)s->cells, sum = 0;

	if (i > 0 || s->args[LATTICE] == OR)
		return false;
	for (int at = 0; at <= STEPS; at++)
		sum += (at == 0 || at == STEPS ? 1 : at % 2 ? 4 : 2)
			* pow(-expm1(-load * at / STEPS), s->probes);
	*ret = (struct blm_fact){ .name = "exact", .value = 1 - sum / (3 * STEPS) };
	snprintf(ret->text, sizeof(ret->text), "%.4g %% of the keys have exactly their value, if "
		 "values are at random; the others %s",
		 100 * ret->value, s->args[LATTICE] == MIN ? "less" : "more");
	return true;
}

const struct blm_kind blm_kind_approximator = {
	.id = 7,
	.name = "approximator",
	.protocol = BLM_ATOMIC_WORDS,
	.summary = "a value for each key, exactly or seldom more: the largest it was put with, the "
	"smallest, or a set of bits",
	.caveat = "a key can have more than its value (less with lattice=min), never the other "
	"way; one that was never put has a value at the filter's rate; values cannot be taken back",
	.options = options,
	.plan = plan, .valid = valid, .padding_bits = blm_cells_padding_bits, .contains = contains,
	.rate_at = blm_cells_rate_at,
	.put = put, .get = get,
	.unite = unite,
	.tally = blm_cells_tally, .rate_of = blm_cells_rate_of, .keys_of = blm_cells_keys_of,
	.becomes = "classic", .become = blm_cells_become_bits,
	.foretell = foretell,
	.prefetch = blm_cells_prefetch, .probe = blm_cells_probe, .contains_many = contains_many,
	.cells_in_words = true,
	.every_family = true,
};
